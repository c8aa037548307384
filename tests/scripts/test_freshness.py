"""A saved result keeps the commit that it was made with, and one command lists what has changed since."""

import json
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
from gumption.scripts.experiment import known_experiments, list_stale, run_experiment
from gumption.scripts.freshness import PACKAGE, changed_since, commit, duration, made_with, saved_files
from gumption.scripts.results import (
    NOT_KEPT,
    OLDER_CODE,
    Condition,
    Experiment,
    Job,
    Kind,
    gather,
    with_saved,
    write_report,
)
from tests.bench import peers

CODE = "def sides():\n    return 6\n"


class Thrown(Kind):
    title = "thrown dice"
    code: ClassVar = ("dice",)

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        return {"mean": job.seed}

    def words(self, found: Any) -> str:
        return "thrown"

    def headline(self, results: Any) -> str:
        return "| die |\n"

    def markdown(self, experiment: Experiment, results: Any) -> str:
        return "\n".join(self.age_lines(results))


EXPERIMENT = Experiment("thrown", "-", "Dice", Thrown(), {"one": Condition(), "two": Condition()}, seeds=2)


def git(place: Path, *words: str) -> None:
    who = ["-c", "user.name=one", "-c", "user.email=one@example.org"]
    subprocess.run(["git", *who, *words], cwd=place, check=True, capture_output=True)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one folder of code and data."""
    (tmp_path / "dice").mkdir()
    (tmp_path / "dice" / "engine.py").write_text(CODE)
    (tmp_path / "dice" / "sides.json").write_text("[6]")
    (tmp_path / ".gitignore").write_text("runs\nnew\nsaved\n")
    monkeypatch.setattr(freshness, "PACKAGE", tmp_path)
    git(tmp_path, "init", "-q")
    committed(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_remembered() -> Any:
    """The history is read once a process; here it goes on."""
    forget()
    yield
    forget()


def forget() -> None:
    commit.cache_clear()
    changed_since.cache_clear()


def committed(package: Path) -> str:
    git(package, "add", ".")
    git(package, "commit", "-q", "--message", "a change")
    forget()
    return str(commit())


def saved(package: Path, *labels: str, seeds: int = 2, runs: str = "runs") -> dict[str, Any]:
    run_experiment(Console(quiet=True), EXPERIMENT, {"device": "cpu"}, seeds, 1, package / runs, labels)
    return json.loads(json.dumps(gather(package / runs, EXPERIMENT)))


def folder_of(package: Path, results: dict[str, Any]) -> Path:
    (package / "saved").mkdir(exist_ok=True)
    write_report(results, EXPERIMENT, package / "saved")
    return package / "saved"


def test_files_of_figures_that_have_changed_since_a_commit(package: Path) -> None:
    first = str(commit())
    assert made_with(("dice",)) == {"places": ["dice"], "commit": first}
    assert changed_since(first, ("dice",)) == []
    (package / "dice" / "README.md").write_text("Six.")
    (package / "dice" / "plots.py").write_text(CODE)
    (package / "cards.py").write_text(CODE)
    git(package, "mv", "dice/sides.json", "dice/faces.json")
    second = committed(package)
    assert changed_since(first, ("dice",)) == [], "a page, a plot, other code, and a file that only moved"
    (package / "dice" / "engine.py").write_text(CODE.replace("6", "8"))
    forget()
    assert commit() == f"{second}-dirty"
    assert changed_since(first, ("dice",)) == changed_since(f"{second}-dirty", ("dice",)) == ["dice/engine.py"]
    assert changed_since(first, ("cards.py",)) == ["cards.py"]
    assert changed_since("0" * 7, ("dice",)) is None, "a commit that is not there"
    assert changed_since(f"--output={package / 'written'}", ("dice",)) is None
    assert not (package / "written").exists(), "what a saved file names is no option of git"


def test_a_listed_commit_changes_no_figure(package: Path) -> None:
    first = str(commit())
    git(package, "mv", "dice/engine.py", "dice/rules.py")
    (package / "dice" / "rules.py").write_text(f"import re\n\n{CODE}")
    committed(package)
    assert changed_since(first, ("dice",)) == ["dice/engine.py", "dice/rules.py"]
    moving = subprocess.run(["git", "rev-parse", "HEAD"], cwd=package, capture_output=True, text=True, check=True)
    (package / freshness.MOVED).parent.mkdir(parents=True)
    (package / freshness.MOVED).write_text(moving.stdout)
    committed(package)
    assert changed_since(first, ("dice",)) == []
    (package / "dice" / "rules.py").write_text(CODE.replace("6", "8"))
    forget()
    assert changed_since(first, ("dice",)) == ["dice/engine.py", "dice/rules.py"], "a change after the move"


def test_rows_keep_the_commit_that_they_were_made_with(package: Path) -> None:
    results, kind, first = saved(package), EXPERIMENT.kind, commit()
    assert results["formats"] == {"places": ["dice"], "commit": first}
    assert kind.older(results) == {}
    (package / "dice" / "engine.py").write_text(CODE.replace("6", "8"))
    second = committed(package)
    both = with_saved(saved(package, "two", runs="new"), EXPERIMENT, {"settings": {}}, folder_of(package, results))
    one, two = both["rows"]
    assert (one["made"]["formats"]["commit"], both["formats"]["commit"]) == (first, second)
    assert "made" not in two

    one["made"]["formats"]["older"] = True
    assert kind.older(both) == {OLDER_CODE: [one]}
    assert kind.page(both, "thrown").endswith(
        "\n1 of 2 rows were made with older code; `scripts/papers/results/thrown/table.md` names them. "
        "`gumption experiment thrown --setting ROW` makes one again.\n"
    )
    del one["made"]["formats"]["commit"], one["made"]["formats"]["older"]
    assert kind.older(both) == {NOT_KEPT: [one]}


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


def test_one_command_lists_what_has_changed(package: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from gumption.scripts import experiment as command

    monkeypatch.setattr(command, "known_experiments", lambda: {"thrown": EXPERIMENT})
    results, first = saved(package), commit()
    results["rows"][0]["took_s"] = 7200.0
    before = {"command": "bench", "versions": {"gumption": "0.0.1"}}
    for name, formats in {
        "once": {},
        "old": {**made_with(("dice",)), "older": True},
        "bench": made_with(("dice",)),
    }.items():
        write_json(package / "saved" / name / "bench.json", {**before, "formats": formats, "rows": [{"took_s": 90.0}]})
    (package / "dice" / "engine.py").write_text(CODE.replace("6", "8"))
    committed(package)
    both = with_saved(saved(package, "two", runs="new"), EXPERIMENT, {"settings": {}}, folder_of(package, results))
    folder_of(package, both)
    monkeypatch.setenv("COLUMNS", "150")
    list_stale(package / "saved")
    lines = [[cell.strip() for cell in line.split("│")][1:-1] for line in capsys.readouterr().out.splitlines()]
    assert ["saved", "1 of 2", f"since {first}: dice/engine.py", "2.0 h"] in lines
    assert any(line[:3] == ["saved", "1 of 2", "nothing"] for line in lines)
    assert ["bench", "all", f"since {first}: dice/engine.py", "2 min"] in lines
    assert ["old", "all", OLDER_CODE, "2 min"] in lines
    assert any(line[:2] == ["once", "all"] and line[2].startswith("code whose commit") for line in lines)
    with pytest.raises(InputError, match="dice: no saved result there"):
        list_stale(package / "dice")
    (package / ".git").rename(package / "gone")
    forget()
    with pytest.raises(InputError, match="compares saved results with the history of git: run it in a checkout"):
        list_stale(package / "saved")


def test_every_experiment_names_its_code() -> None:
    for name, experiment in known_experiments().items():
        assert experiment.kind.code, name
        assert all((PACKAGE / place).exists() for place in experiment.kind.code), name


def test_the_saved_results_are_listed() -> None:
    names = {path.parent.name for path in saved_files()}
    assert {"bench-halma", "halma-volume", "wordcraft-sources"} <= names


def test_every_case_of_the_bench_names_the_code_whose_speed_it_measures() -> None:
    for name, case in {**all_cases(), **peers.CASES}.items():
        assert case.code, name
        assert all((PACKAGE / place).exists() for place in case.code), name
