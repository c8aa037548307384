"""A saved result is older where the code that it rests on has changed its behaviour since, and says so."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rich.console import Console

from gumption.data import InputError
from gumption.data.writing import write_json
from gumption.scripts import freshness
from gumption.scripts.bench import all_cases
from gumption.scripts.experiment import known_experiments, run_experiment
from gumption.scripts.freshness import duration, fingerprints, kept_runs, made_with, same_bits, saved_files
from gumption.scripts.results import NOT_KEPT, Condition, Experiment, Job, Kind, gather, with_saved, write_report
from tests.bench import peers

CODE = '"""About."""\n\n\ndef sides():\n    """Six."""\n    return 6  # as usual\n'
RUN = "dice on a table"


class Thrown(Kind):
    title = "thrown dice"
    code: ClassVar = ("dice",)
    kept: ClassVar = (RUN,)

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        return {"mean": job.seed}

    def words(self, found: Any) -> str:
        return "thrown"

    def headline(self, results: Any) -> str:
        return "| die |\n"

    def markdown(self, experiment: Experiment, results: Any) -> str:
        return "\n".join(self.age_lines(results))


EXPERIMENT = Experiment("thrown", "-", "Dice", Thrown(), {"one": Condition(), "two": Condition()}, seeds=2)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one folder of code and data, and what one small run came to on a processor."""
    (tmp_path / "dice").mkdir()
    (tmp_path / "dice" / "engine.py").write_text(CODE)
    (tmp_path / "dice" / "sides.json").write_text("[6]")
    monkeypatch.setattr(freshness, "PACKAGE", tmp_path)
    monkeypatch.setattr(freshness, "KEPT", tmp_path / "kept.json")
    small_run(tmp_path, "a")
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_remembered() -> Any:
    """Fingerprints are worked out once a process; here files change."""
    forget()
    yield
    forget()


def forget() -> None:
    fingerprints.cache_clear()
    kept_runs.cache_clear()


def small_run(package: Path, weights: str) -> None:
    write_json(package / "kept.json", {"a processor": {RUN: {"weights": weights, "metrics": "m", "told": []}}})


def saved(package: Path, *labels: str, seeds: int = 2, runs: str = "runs") -> dict[str, Any]:
    run_experiment(Console(quiet=True), EXPERIMENT, {"device": "cpu"}, seeds, 1, package / runs, labels)
    return json.loads(json.dumps(gather(package / runs, EXPERIMENT)))


def change(package: Path, code: str, weights: str) -> None:
    (package / "dice" / "engine.py").write_text(code)
    small_run(package, weights)
    forget()


def test_comments_docstrings_and_form_change_no_fingerprint(package: Path) -> None:
    before = fingerprints(("dice",))
    assert set(before) == {"dice/engine.py", "dice/sides.json"}
    change(package, "def sides( ):\n    return (6)\n", "a")
    assert fingerprints(("dice",)) == before
    change(package, CODE.replace("return 6", "return 8"), "a")
    assert freshness.changed_files(before, fingerprints(("dice",))) == ["dice/engine.py"]
    (package / "dice" / "sides.json").write_text("[8]")
    (package / "dice" / "new.py").write_text("")
    forget()
    assert freshness.changed_files(before, fingerprints(("dice",))) == [
        "dice/engine.py",
        "dice/new.py",
        "dice/sides.json",
    ]
    with pytest.raises(FileNotFoundError, match="cards: no code and no data there"):
        fingerprints(("cards",))


def test_rows_are_older_where_code_changed_and_the_small_run_with_it(package: Path) -> None:
    results = saved(package)
    kind = EXPERIMENT.kind
    assert kind.older(results) == {}
    change(package, CODE.replace("6  #", "8  #"), "a")
    assert kind.older(results) == {}, "the small run shows that no bit changed"
    change(package, CODE.replace("6  #", "8  #"), "b")
    again = "`gumption experiment thrown --setting ROW` makes one again."
    assert kind.page(results, "thrown").endswith(f"\nAll rows were made with older code. {again}\n")
    assert kind.changed(results["formats"]) == ["dice/engine.py"]

    # A row that is made again is as today; the other one stays older, and so does one with a run from before.
    both = with_saved(saved(package, "two", runs="new"), EXPERIMENT, {"settings": {}}, folder_of(package, results))
    assert kind.age(both, "thrown") == [
        f"1 of 2 rows were made with older code; `scripts/results/thrown/table.md` names them. {again}"
    ]
    more = saved(package, "one", seeds=3)
    assert [row["condition"] for row in kind.older(more)["older code"]] == ["one", "two"]


def folder_of(package: Path, results: dict[str, Any]) -> Path:
    (package / "saved").mkdir(exist_ok=True)
    write_report(results, EXPERIMENT, package / "saved")
    return package / "saved"


def test_rows_without_a_fingerprint_are_not_known(package: Path) -> None:
    results = saved(package)
    del results["formats"]
    assert list(EXPERIMENT.kind.older(results)) == [NOT_KEPT]
    assert EXPERIMENT.kind.changed({}) == []


def test_bits_are_compared_on_processors_that_both_know() -> None:
    assert same_bits({RUN: {"a": "1", "b": "2"}}, {RUN: {"a": "1", "c": "3"}})
    assert not same_bits({RUN: {"a": "1"}}, {RUN: {"a": "2"}})
    assert not same_bits({RUN: {"a": "1"}}, {RUN: {"b": "1"}}), "no processor in common shows nothing"
    assert not same_bits({}, {RUN: {"a": "1"}})
    assert not same_bits({RUN: {"a": "1"}}, {})


def test_the_time_of_each_condition_is_kept(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of its runs together, those that were made later included."""
    from gumption.scripts import experiment as command

    monkeypatch.setattr(command, "_timed", lambda run, job, progress=False: run(job, progress) or 2.0)
    one, two = saved(package)["rows"]
    assert (one["took_s"], two["took_s"]) == (4.0, 4.0)
    one, two = saved(package, "one", seeds=3)["rows"]
    assert EXPERIMENT.kind.cost(one) == 6.0
    del two["took_s"]
    assert EXPERIMENT.kind.cost(two) is None
    assert EXPERIMENT.kind.cost({**two, "wall_s": 5.0}) == 10.0, "the mean of a run, for each seed"
    assert EXPERIMENT.kind.cost({**two, "runs": {"0": {"wall_s": 1.5}, "1": {"cpu_s": 2}}}) == 3.5
    monkeypatch.undo()
    assert command._timed(lambda job, progress: time.sleep(0.5), None) < 0.3, "waiting is not counted"
    work = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"]
    assert command._timed(lambda job, progress: subprocess.run(work, check=True), None) > 0.25, "a process started is"
    assert [duration(seconds) for seconds in (40, 720, 12600)] == ["40 s", "12 min", "3.5 h"]


def test_one_command_lists_what_is_older(package: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from gumption.scripts import experiment as command

    monkeypatch.setattr(command, "known_experiments", lambda: {"thrown": EXPERIMENT})
    results = saved(package)
    results["rows"][0]["took_s"] = 7200.0
    del results["rows"][1]["took_s"]
    folder_of(package, results)
    before = {"command": "bench", "versions": {"gumption": "0.0.1"}}
    write_json(package / "saved" / "once" / "bench.json", before)
    changed = {**before, "formats": made_with(("dice",)), "took_s": 90.0}
    small = {**before, "formats": made_with(("dice",), (RUN,)), "rows": [{"took_s": 90.0}, {"took_s": 30.0}]}
    (package / "cards").mkdir()
    (package / "cards" / "engine.py").write_text(CODE)
    gone = {**before, "formats": made_with(("cards",))}
    shutil.rmtree(package / "cards")
    change(package, CODE.replace("6  #", "8  #"), "b")
    write_json(package / "saved" / "fresh" / "bench.json", {**before, "formats": made_with(("dice",)), "took_s": 90.0})
    for name, one in (("changed", changed), ("small", small), ("gone", gone)):
        write_json(package / "saved" / name / "bench.json", one)
    monkeypatch.setenv("COLUMNS", "150")
    command.list_stale(package / "saved")
    lines = [[cell.strip() for cell in line.split("│")] for line in capsys.readouterr().out.splitlines()]
    assert ["", "saved", "2 of 2", "older", "older code: dice/engine.py", "2.0 h for 1 of them", ""] in lines
    assert any(line[1:4] == ["once", "all", "not known"] and line[5] == "not kept" for line in lines)
    assert ["", "fresh", "all", "as today", "", "", ""] in lines
    assert ["", "changed", "all", "older", "older code: dice/engine.py", "2 min", ""] in lines
    assert ["", "small", "all", "older", "older code: dice/engine.py", "2 min", ""] in lines
    assert ["", "gone", "all", "older", "older code: cards/engine.py", "not kept", ""] in lines
    command.list_stale(package)
    assert capsys.readouterr().out.count("2 of 2") == 1, "runs are no saved results"
    with pytest.raises(InputError, match="dice: no saved result there"):
        command.list_stale(package / "dice")


@pytest.mark.slow
def test_every_experiment_names_its_code_and_small_runs_that_are_kept() -> None:
    kept = json.loads(freshness.KEPT.read_text())
    for name, experiment in known_experiments().items():
        kind = experiment.kind
        assert kind.code, name
        assert fingerprints(kind.code)
        assert all(any(run in runs for runs in kept.values()) for run in kind.kept), name


def test_the_saved_results_are_listed() -> None:
    names = {path.parent.name for path in saved_files()}
    assert {"bench-halma", "halma-volume", "wordcraft-sources"} <= names


@pytest.mark.slow
def test_every_case_of_the_bench_names_the_code_whose_speed_it_measures() -> None:
    for name, case in {**all_cases(), **peers.CASES}.items():
        assert case.code, name
        assert fingerprints(case.code)
