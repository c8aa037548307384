"""The bench: every case runs for real on a small book, and its figures add up; the command writes what it measured."""

import json

import pytest
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.scripts import bench as command
from gumption.scripts.experiments import bench as cases
from gumption.scripts.experiments.bench import find_cases
from gumption.scripts.experiments.measurement import BenchSettings, Measurement, markdown_tables


@pytest.fixture
def settings(small_book) -> BenchSettings:
    """Every case small and once."""
    return BenchSettings(str(small_book), repeats=1, total_steps=4096, num_envs=64)


def check(measured: list[Measurement]) -> None:
    for one in measured:
        assert one.median > 0
        assert one.yardstick_median > 0
        assert one.ratio == pytest.approx(one.median / one.yardstick_median)
        assert one.unit in ("s", "steps/s", "frames/s")
        assert one.best >= one.median if one.unit.endswith("/s") else one.best <= one.median
        json.dumps(one.as_json(), allow_nan=False)


def test_env_case(settings):
    batch, single = cases.env_case(settings)
    check([batch, single])
    assert "batch of 64" in batch.what
    assert batch.details["episodes_per_step"] == pytest.approx(0.5, abs=0.01)  # at depth 1 every second step mixes
    assert 0 < batch.details["success"] < 0.2
    assert batch.yardstick_median == single.yardstick_median
    assert batch.met == (batch.median >= 5e6 and batch.ratio >= 30)


def test_train_case(settings, one_thread):
    (one,) = cases.train_case(settings)
    check([one])
    assert one.met is None  # too few steps to hold against the target
    assert one.median == pytest.approx(4096 / one.details["seconds"])
    assert 0 <= one.details["test_success"] <= 1


def test_complex_case(settings, one_thread):
    (one,) = cases.complex_case(settings)
    check([one])
    assert 0.5 < one.details["mrr_training_facts"] <= 1
    assert one.met == (one.median < 20 and one.details["mrr_training_facts"] > 0.9)


def test_help_case(settings):
    (one,) = cases.help_case(settings)
    check([one])
    assert one.details["seconds_beyond_python"] == pytest.approx(one.median - one.yardstick_median)


def test_names():
    assert find_cases(None) == list(cases.CASES) == ["env", "train", "complex", "kg", "halma", "help"]
    assert find_cases("help") == ["help"]
    with pytest.raises(InputError, match="called 'enf'; known are: env, train, complex, kg, halma, help"):
        find_cases("enf")


def measurement(settings: BenchSettings):
    """A case that measures nothing and tells its settings."""
    yield Measurement(
        "something fast",
        "steps/s",
        1234567.8,
        2e6,
        "a snail",
        1000.0,
        1234.5678,
        "a lot",
        True,
        {"settings": str(settings)},
    )


def in_sections(settings: BenchSettings):
    """A case with two tables, which tells what it does."""
    settings.tell("the second thing")
    for section in ("one store", "another store"):
        yield Measurement("look-ups", "s", 1.0, 1.0, "a peer", 4.0, 0.25, section=section)


def test_command_prints_and_writes(monkeypatch, tmp_path):
    monkeypatch.setattr(cases, "CASES", {"env": measurement, "help": measurement, "kg": in_sections})
    out, table = tmp_path / "deep" / "bench.json", tmp_path / "bench.md"
    arguments = ["--recipe-book", "some/where/book.json", "--repeats", "3", "--device", "cpu", "--total-steps", "7"]
    arguments += ["--wn18rr", "some/where/wn18rr", "--triples", "700", "--halma-agent", "mlp", "--halma-agent", "lstm"]
    arguments += ["--word-vectors", "vectors.bin", "--out", str(out), "--markdown", str(table)]
    monkeypatch.setattr("sys.argv", ["gumption", "bench", *arguments])
    result = CliRunner().invoke(command.app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    written = json.loads(out.read_text())
    assert list(written["cases"]) == ["env", "help", "kg"]
    assert written["recipe_book"] == "book.json"
    assert written["command"].startswith("gumption bench --recipe-book book.json --repeats 3")
    assert str(tmp_path) not in json.dumps(written)
    assert set(written) >= {"versions", "hardware", "repeats"}
    told = written["cases"]["env"][0]["details"]["settings"]
    expected = BenchSettings(
        "some/where/book.json",
        "vectors.bin",
        "cpu",
        3,
        7,
        wn18rr="some/where/wn18rr",
        triples=700,
        halma_agents=("mlp", "lstm"),
    )
    assert told == str(expected)
    assert [one["section"] for one in written["cases"]["kg"]] == ["one store", "another store"]
    assert {"pykeen", "rdflib", "pyoxigraph"} <= set(written["versions"])
    row = "| something fast | 1,234,568 steps/s | 2,000,000 steps/s | a snail: 1,000 steps/s | 1.23e+03 | a lot | yes |"
    text = table.read_text()
    assert row in text
    assert text.index("**one store**") < text.index("**another store**")
    assert "one store" in result.stdout
    assert "another store" in result.stdout

    only = CliRunner().invoke(command.app, ["help", "--out", str(out)], catch_exceptions=False)
    assert only.exit_code == 0
    assert list(json.loads(out.read_text())["cases"]) == ["help"]


def test_a_missed_and_an_unjudged_target_are_told_apart():
    missed, unjudged = (Measurement("x", "s", 1, 1, "y", 1, 1, "z", met) for met in (False, None))
    assert [line.rsplit("|", 2)[1].strip() for line in markdown_tables([missed, unjudged])[2:]] == ["no", "-"]


def test_a_shorter_duration_is_told_as_a_fraction():
    shorter, longer, slower = (
        Measurement("x", unit, 1, 1, "y", 4, share, "z")
        for unit, share in (("ms", 0.25), ("s", 4.0), ("steps/s", 0.25))
    )
    assert [line.split("|")[5].strip() for line in markdown_tables([shorter, longer, slower])[2:]] == [
        "1/4",
        "4",
        "0.25",
    ]


def test_each_section_is_a_table_under_its_heading():
    one, two, three = (Measurement(what, "s", 1, 1, "y", 1, 1, section=to) for what, to in ("aA", "bA", "cB"))
    lines = markdown_tables([one, two, three])
    assert [line for line in lines if not line.startswith("|")] == ["**A**", "", "", "**B**", ""]
    assert [line[2] for line in lines if line.startswith("| ") and " s |" in line] == ["a", "b", "c"]


def test_figures_in_lists_are_rounded_too():
    one = Measurement("x", "s", 1, 1, "y", 1, 1, details={"mrr": [1 / 3], "by": {"n3": 2 / 3}})
    assert one.as_json()["details"] == {"mrr": [0.333333], "by": {"n3": 0.666667}}
