"""The bench: every case runs for real on a small book, and its figures add up; the command writes what it measured."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.envs.worlds import Environment, World
from gumption.scripts import bench as cases
from gumption.scripts import bench as command
from gumption.scripts.bench import find_cases
from gumption.scripts.measurement import BenchSettings, Case, Measurement, compared, markdown_tables
from gumption.scripts.papers.halma.bench import Settings as OfHALMA
from gumption.scripts.papers.kg import bench as of_graphs
from gumption.scripts.papers.wordcraft import bench as wordcraft
from gumption.scripts.papers.wordcraft.bench import Settings as OfWordCraft


@pytest.fixture
def settings(small_book) -> OfWordCraft:
    """Every case small and once."""
    return OfWordCraft(repeats=1, recipe_book=str(small_book), total_steps=4096, num_envs=64)


def check(measured: list[Measurement]) -> None:
    for one in measured:
        assert one.median > 0
        assert one.yardstick_median > 0
        assert one.ratio == pytest.approx(one.median / one.yardstick_median)
        assert one.unit in ("s", "steps/s", "frames/s")
        assert one.best >= one.median if one.unit.endswith("/s") else one.best <= one.median
        json.dumps(one.as_json(), allow_nan=False)


@pytest.mark.slow
def test_env_case(settings):
    batch, single = wordcraft.env_case(settings)
    check([batch, single])
    assert "batch of 64" in batch.what
    assert batch.details["episodes_per_step"] == pytest.approx(0.5, abs=0.01)  # at depth 1 every second step mixes
    assert 0 < batch.details["success"] < 0.2
    assert batch.yardstick_median == single.yardstick_median
    assert (batch.target, batch.met) == ("at least 30", batch.ratio >= 30)


@pytest.mark.slow
def test_train_case(settings):
    (one,) = wordcraft.train_case(settings)
    check([one])
    assert one.met is None  # too few steps to hold against the target
    assert one.median == pytest.approx(4096 / one.details["seconds"])
    assert 0 <= one.details["test_success"] <= 1


@pytest.mark.slow
def test_kg_scores_case(settings):
    one, batch, adapter = wordcraft.kg_scores_case(settings)
    check([one, batch, adapter])
    assert one.ratio < 1
    assert batch.median > one.median
    assert adapter.ratio > 1
    assert one.details["times_cartpole"] == pytest.approx(one.median / one.details["cartpole"])


def test_help_case(settings):
    (one,) = cases.help_case(settings)
    check([one])
    assert one.median > one.yardstick_median
    assert (one.target, one.met) == ("at most 26", one.ratio <= 26)


def test_names():
    assert list(find_cases()) == [
        "env",
        "train",
        "kg-scores",
        "plan",
        "halma",
        "gradual",
        "segar",
        "probsol",
        "rules",
        "help",
    ]
    assert list(find_cases("help", "halma")) == ["help", "halma"]
    assert list(find_cases("wordcraft")) == ["env", "train", "kg-scores", "plan"]
    with pytest.raises(InputError, match="called 'enf'; known are: env, train, kg-scores, plan, halma"):
        find_cases("enf")


PLACE = "gumption.envs.wordcraft.env"
OTHER = World(
    "other",
    "Other",
    "Nothing of its own.",
    "nowhere",
    (Environment("gumption/WordCraft-v0", f"{PLACE}:WordCraftEnv", f"{PLACE}:WordCraftVectorEnv"),),
)


def test_a_world_without_cases_is_measured_with_random_steps(monkeypatch):
    monkeypatch.setattr(cases, "known", lambda: {"other": OTHER})
    monkeypatch.setattr(cases, "SECONDS", 0.05)
    found = find_cases("other")
    assert list(found) == ["other"]
    single, batch = found["other"].measure(BenchSettings(repeats=2))
    check([single, batch])
    assert single.what == "gumption/WordCraft-v0 random steps, one environment by gym.make"
    assert batch.what == f"gumption/WordCraft-v0 random steps, batch of {cases.BATCH}"
    assert single.yardstick_median == batch.yardstick_median


def test_a_world_without_masks_is_played_all_the_same():
    assert all(play("CartPole-v1")(0.05) > 0 for play in (cases.random_batch, cases.random_steps))


def test_two_cases_of_one_name_are_refused(monkeypatch):
    monkeypatch.setattr(wordcraft, "CASES", {"rules": Case(wordcraft.env_case)})
    with pytest.raises(InputError, match="two bench cases are called 'rules'"):
        find_cases()


def measurement(settings: OfWordCraft | OfHALMA):
    """A case that measures nothing and tells its settings."""
    details = {"settings": str(settings)}
    yield Measurement("something fast", "steps/s", 1234567.8, 2e6, "a snail", 1000.0, 1234.5678, "a lot", True, details)


def in_sections(settings: BenchSettings):
    """A case with two tables, which tells what it does."""
    settings.tell("the second thing")
    for section in ("one store", "another store"):
        details = {"settings": str(settings)}
        yield Measurement("look-ups", "s", 1.0, 1.0, "a peer", 4.0, 0.25, details=details, section=section)


@pytest.fixture
def stand_ins(monkeypatch):
    """Cases that measure nothing, with the options of the real ones."""
    found = {
        "env": Case(measurement, OfWordCraft, "WordCraft"),
        "halma": Case(measurement, OfHALMA, "HALMA"),
        "rules": Case(in_sections),
        "help": Case(measurement, code=("scripts/cli.py",)),
    }
    monkeypatch.setattr(cases, "all_cases", lambda: found)


def test_command_prints_and_writes(stand_ins, monkeypatch, tmp_path):
    out, table = tmp_path / "deep" / "bench.json", tmp_path / "bench.md"
    arguments = ["--recipe-book", "some/where/book.json", "--repeats", "3", "--device", "cpu", "--total-steps", "7"]
    arguments += ["--halma-agent", "mlp", "--halma-agent", "lstm"]
    arguments += ["--word-vectors", "vectors.bin", "--out", str(out), "--markdown", str(table)]
    monkeypatch.setattr("sys.argv", ["gumption", "bench", *arguments])
    result = CliRunner().invoke(command.app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    written = json.loads(out.read_text())
    assert list(written["cases"]) == ["env", "halma", "rules", "help"]
    assert (written["recipe_book"], written["halma_agent"]) == ("book.json", ["mlp", "lstm"])
    assert written["command"].startswith("gumption bench --recipe-book book.json --repeats 3")
    assert set(written) >= {"versions", "hardware", "repeats"}
    assert written["formats"] == {}, "not all cases name their code"
    told = {case: ones[0]["details"]["settings"] for case, ones in written["cases"].items()}
    assert told["env"] == str(
        OfWordCraft(repeats=3, recipe_book="some/where/book.json", word_vectors="vectors.bin", total_steps=7)
    )
    assert told["halma"] == str(OfHALMA(repeats=3, halma_agent=["mlp", "lstm"]))
    assert told["help"] == str(BenchSettings(repeats=3))
    assert [one["section"] for one in written["cases"]["rules"]] == ["one store", "another store"]
    assert {"pykeen", "rdflib", "pyoxigraph"} <= set(written["versions"])
    row = "| something fast | 1,234,568 steps/s | 2,000,000 steps/s | a snail: 1,000 steps/s | 1.23e+03 | a lot | yes |"
    text = table.read_text()
    assert row in text
    assert text.index("**one store**") < text.index("**another store**")
    assert "one store" in result.stdout
    assert "another store" in result.stdout

    only = CliRunner().invoke(command.app, ["help", "--out", str(out)], catch_exceptions=False)
    assert only.exit_code == 0
    written = json.loads(out.read_text())
    assert list(written["cases"]) == ["help"]
    assert written["formats"]["places"] == ["scripts/cli.py", "scripts/measurement.py"]
    assert written["took_s"] >= 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("help", "--recipe-book", "x.tsv"), "--recipe-book is for WordCraft; help has no use for it"),
        (("env", "--halma-agent", "mlp"), "--halma-agent is for HALMA; env has no use for it"),
    ],
)
def test_options_of_other_cases_are_refused(stand_ins, arguments, message):
    with pytest.raises(InputError, match=message):
        CliRunner().invoke(command.app, list(arguments), catch_exceptions=False)


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


def test_rule_mining_is_measured_on_a_graph_with_the_counts_of_fb15k_237(monkeypatch):
    shape = of_graphs.Shape(1000, 12, 1500, derived=0.5)
    vocabulary, ids = of_graphs.draw_graph(shape)
    assert (len(vocabulary.entities), len(vocabulary.relations), len(np.unique(ids, axis=0))) == (1000, 12, 1500)
    assert of_graphs.Shape(14_541, 237, 310_116, derived=0.2) == of_graphs.FB15K_237
    monkeypatch.setattr(of_graphs, "FB15K_237", shape)
    (row,) = of_graphs.CASES["rules"].measure(BenchSettings())
    assert row.ratio == pytest.approx(row.median / row.yardstick_median)
    assert row.what == "mining rules from 1,500 facts of 12 relations"
    assert row.details["rules"] > 10
    assert (row.yardstick, row.target, row.met) == ("1,000,000 steps of CartPole-v1", "at most 8", True)


def test_repeats_are_compared_by_their_medians_and_their_ratio_is_held_against_a_limit():
    slow, fast = (compared("x", unit, [3.0, 1.0, 2.0], "y", [4.0, 4.0], 0.5) for unit in ("s", "steps/s"))
    assert [(one.median, one.best, one.ratio, one.met) for one in (slow, fast)] == [
        (2, 1, 0.5, True),
        (2, 3, 0.5, True),
    ]
    assert (slow.target, fast.target) == ("at most 1/2", "at least 0.5")
    assert [compared("x", unit, [2.1], "y", [1.0], 2).met for unit in ("s", "steps/s")] == [False, True]
    assert compared("x", "s", [1.0], "y", [1.0]).met is None


@pytest.mark.parametrize("machine", [1 / 3, 1, 3])
def test_a_slower_machine_gets_the_same_verdict(machine, monkeypatch):
    """Seconds are so many times as long there, of ours and of the yardstick alike."""
    clock = iter(range(100))
    monkeypatch.setattr(cases, "perf_counter", lambda: next(clock) ** 2 * machine)
    monkeypatch.setattr(cases.subprocess, "run", lambda *_, **__: None)
    (row,) = cases.help_case(BenchSettings(repeats=3))
    assert (row.target, row.met, row.ratio) == ("at most 26", True, pytest.approx(13 / 17))
    rates, yardsticks = [6 / machine, 5 / machine], [2 / machine]
    assert [compared("x", "steps/s", rates, "y", yardsticks, limit).met for limit in (2.7, 2.8)] == [True, False]
