"""Experiments: their data, running and resuming them, and the report. The runs themselves are stood in for here;
tests/agents trains for real, and one test at the end runs a whole small experiment."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.data.provenance import command_line
from gumption.data.sealed import write_sealed
from gumption.scripts import experiment as command
from gumption.scripts.experiment import find_experiment, make_jobs, run_jobs
from gumption.scripts.freshness import RESULTS
from gumption.scripts.papers.wordcraft import living as of_wordcraft
from gumption.scripts.papers.wordcraft.experiments import (
    EXPERIMENTS,
    KIND,
    PAPER_SCORES,
    WordCraftRuns,
    what_learning_adds,
)
from gumption.scripts.results import Job, gather, slug, write_report

ENTITIES = {f"thing{i}": {"id": i, "recipes": [[f"thing{i - 2}", f"thing{i - 1}"]] if i > 1 else []} for i in range(32)}
TASKS = 42  # of the test part
LEVELS = {"none": 0.4, "train": 0.6, "full": 0.9}


def stand_in(job: Job, progress: bool) -> None:
    """A run whose success depends on its condition and seed in a known way."""
    if job.source is not None:
        assert (job.source / "final.json").is_file(), f"{job.label} came before what it looks into"
    level = {"random": 0.02, "oracle": 1.0, "kg_only": 0.5, "untrained": 0.45, "without_kg": 0.1}.get(
        job.method, LEVELS.get(job.settings.get("kg", "none"), 0)
    )
    success = min(1.0, level + 0.01 * job.seed)
    job.directory.mkdir(parents=True)
    curve: dict[str, Any] = {}
    if job.method == "train":
        steps = range(0, job.settings["total_steps"] + 1, 100)
        curve["test_curve"] = [[step, success * step / steps[-1]] for step in steps]
    final = {
        "test_success": success, "test_low": 0.1, "test_high": 0.9, "test_tasks": TASKS, "train_success": success,
        "test_success_alternatives": success, "wall_s": 2.0, **curve,
    }  # fmt: skip
    write_sealed(job.directory / "final.json", final)


@pytest.fixture
def book(tmp_path) -> Path:
    path = tmp_path / "book.json"
    path.write_text(json.dumps({"entities": ENTITIES}))
    return path


@pytest.fixture
def run(monkeypatch, experiment, book):
    """Call the command with the stand-in for runs; returns what it printed."""
    monkeypatch.setattr(WordCraftRuns, "run", lambda kind, job, progress: stand_in(job, progress))
    return experiment


OF_TASKS = {name: experiment for name, experiment in EXPERIMENTS.items() if experiment.kind is KIND}


@pytest.mark.parametrize("experiment", OF_TASKS.values(), ids=list(OF_TASKS))
def test_experiments_are_well_formed(experiment):
    assert len({slug(label) for label in experiment.conditions}) == len(experiment.conditions)
    assert experiment.seeds >= 5
    assert experiment.base["total_steps"] == 3_000_000
    panels = {panel for condition in experiment.conditions.values() for panel in condition.panels}
    for panel in panels:
        methods = {c.method for c in experiment.conditions.values() if panel in c.panels}
        assert {"random", "oracle"} <= methods
        counts = {c.settings["num_distractors"] for c in experiment.conditions.values() if panel in c.panels}
        assert len(counts) == 1
    for condition in experiment.conditions.values():
        for figure in (condition.known, condition.target):
            assert figure is None or 0 < figure <= 1


def test_every_figure_of_the_paper_is_there():
    assert set(OF_TASKS) == {f"wordcraft-fig{number}" for number in (2, 3, 5, 6, 7)} | {"wordcraft-ablation"}
    with pytest.raises(InputError, match=r"no experiment is called 'fig2'; known are: wordcraft-fig2.*kg-scale"):
        find_experiment("fig2")


@pytest.mark.slow
def test_command_runs_reports_and_resumes(run, tmp_path, book):
    arguments = ("wordcraft-fig3", "--recipe-book", str(book), "--seeds", "2", "--total-steps", "400")
    output = run(*arguments, "--out", str(tmp_path / "there"), "--save", "kept")
    conditions = len(EXPERIMENTS["wordcraft-fig3"].conditions)
    assert f"{conditions * 2} runs, 0 complete" in output
    assert f"{conditions * 2}/{conditions * 2}" in output

    results = json.loads((tmp_path / "there" / "results.json").read_text())
    rows = {row["condition"]: row for row in results["rows"]}
    assert list(rows) == list(EXPERIMENTS["wordcraft-fig3"].conditions)
    assert rows["no KG, 8 distractors"]["success"]["per_seed"] == [0.4, 0.41]
    assert rows["no KG, 8 distractors"]["success"]["mean"] == pytest.approx(0.405)
    assert rows["no KG, 8 distractors"]["curve"]["steps"] == [0, 100, 200, 300, 400]
    assert rows["random policy, 8 distractors"]["curve"] is None
    assert results["recipe_book"] == "book"
    assert len(results["recipe_book_hash"]) == 64
    assert results["command"].startswith("gumption experiment wordcraft-fig3 --recipe-book book.json")
    assert set(results["versions"]) >= {"gumption", "torch", "numpy", "gymnasium"}
    assert set(results["hardware"]) >= {"cpu", "cores"}
    kept = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    assert set(kept) == {"results.json", "table.md", "curves.png", "curves.svg", "final.png", "final.svg"}
    for name, content in kept.items():
        assert str(tmp_path).encode() not in content
        assert content == (tmp_path / "there" / name).read_bytes()
    assert "| no KG | 2 | 0.405 (0.400 to 0.410) |" in kept["table.md"].decode()

    more = run("wordcraft-fig3", "--recipe-book", str(book), "--seeds", "3", "--total-steps", "400", "--out", "there")
    assert f"{conditions * 3} runs, {conditions * 2} complete" in more
    assert json.loads((tmp_path / "there" / "results.json").read_text())["rows"][0]["seeds"] == [0, 1, 2]


@pytest.mark.slow
def test_report_repeats_the_same_files(run, tmp_path, book):
    run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "2", "--total-steps", "200")
    folder = tmp_path / "runs" / "wordcraft-fig2"
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for name in before:
        if name != "plan.json":
            (folder / name).unlink()
    run("--report", str(folder))
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_folder_of_other_settings_is_refused_and_left_alone(run, tmp_path, book):
    run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "200", "--out", "there")
    plan = (tmp_path / "there" / "plan.json").read_bytes()
    with pytest.raises(InputError, match=r"total_steps \(200 there, 300 asked for\)"):
        run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "300", "--out", "there")
    with pytest.raises(InputError, match=r"experiment \(wordcraft-fig2 there, wordcraft-fig3 asked for\)"):
        run("wordcraft-fig3", "--recipe-book", str(book), "--total-steps", "200", "--out", "there")
    other = ENTITIES | {"other": {"id": 99, "recipes": [["thing1", "thing1"]]}}
    book.write_text(json.dumps({"entities": other}))
    with pytest.raises(InputError, match="recipe_book_hash"):
        run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "200", "--out", "there")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        run("wordcraft-fig2", "--recipe-book", str(book), "--out", "other")
    assert (tmp_path / "there" / "plan.json").read_bytes() == plan
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["letter.txt"]


def test_nothing_to_report_is_an_error(run, tmp_path):
    with pytest.raises(InputError, match=r"no plan\.json"):
        run("--report", str(tmp_path))
    with pytest.raises(InputError, match="name an experiment"):
        run()
    assert "wordcraft-ablation" in run("--list")


def test_error_keeps_complete_runs_and_the_next_call_does_the_rest(tmp_path):
    experiment = EXPERIMENTS["wordcraft-fig2"]
    jobs = make_jobs(experiment, {"total_steps": 100}, [0, 1], tmp_path)
    ran = []

    def breaks_at_third(job: Job, progress: bool) -> None:
        if len(ran) == 2:
            raise RuntimeError("killed")
        stand_in(job, progress)
        ran.append(job)

    with pytest.raises(RuntimeError, match="killed"):
        list(run_jobs(jobs, 1, breaks_at_third))
    assert [job for job in jobs if job.complete] == ran == jobs[:2]
    rest = [job for job, _ in run_jobs(jobs, 1, stand_in)]
    assert rest == jobs[2:]
    assert all(job.complete for job in jobs)


@pytest.mark.slow
def test_workers_run_every_job(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # where the workers find the stand-in by its module
    jobs = make_jobs(EXPERIMENTS["wordcraft-fig2"], {"total_steps": 100}, [0], tmp_path)
    done = list(run_jobs(jobs, 2, stand_in))
    assert {job.label for job, _ in done} == {job.label for job in jobs}
    assert all(job.complete for job in jobs)
    assert all(seconds >= 0 for _, seconds in done)


def dies(job: Job, progress: bool) -> None:
    """A run whose process is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_worker_is_told_and_the_next_call_does_the_rest(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    jobs = make_jobs(EXPERIMENTS["wordcraft-fig2"], {"total_steps": 100}, [0], tmp_path)
    with pytest.raises(InputError, match="fewer --workers"):
        list(run_jobs(jobs, 2, dies))
    assert len(list(run_jobs(jobs, 2, stand_in))) == len(jobs)


def lasts(job: Job, progress: bool) -> None:
    """A run that says in which process it is, and does not end by itself."""
    job.directory.mkdir(parents=True)
    (job.directory / "process").write_text(str(os.getpid()))
    time.sleep(600)


@pytest.mark.slow
def test_workers_end_with_an_experiment_that_is_killed(tmp_path):
    begin = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); from pathlib import Path; "
        "from tests.scripts.test_experiment import EXPERIMENTS, lasts, make_jobs, run_jobs; "
        f"jobs = make_jobs(EXPERIMENTS['wordcraft-fig2'], {{'total_steps': 100}}, [0], Path({str(tmp_path)!r})); "
        "list(run_jobs(jobs, 2, lasts))"
    )
    whole = subprocess.Popen([sys.executable, "-c", begin])

    def workers() -> list[int]:
        return [int(one.read_text() or 0) for one in tmp_path.rglob("process")]

    def goes_on(worker: int) -> bool:
        with suppress(OSError):  # one that ended may stay as a zombie, where nobody asks how
            return Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        return False

    def until(reached: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not reached():
            assert time.monotonic() < end, "the processes did not come that far"
            time.sleep(0.1)

    try:
        until(lambda: len(workers()) == 2 and all(workers()))
    finally:
        whole.kill()
        whole.wait()
    until(lambda: not any(map(goes_on, workers())))


def test_jobs_carry_the_settings_of_their_condition(tmp_path):
    jobs = make_jobs(EXPERIMENTS["wordcraft-fig6"], {"total_steps": 7, "device": "cpu"}, [0, 4], tmp_path)
    assert [job.seed for job in jobs[:4]] == [0, 4, 0, 4]
    job = next(job for job in jobs if job.label == "full KG, both scores" and job.seed == 4)
    assert job.settings["kg"] == "full"
    assert job.settings["num_distractors"] == 1
    assert job.settings["kg_scores"] == ("combinesWith", "componentOf")
    assert (job.settings["seed"], job.settings["total_steps"], job.settings["train_ratio"]) == (4, 7, 0.8)
    assert job.directory == tmp_path / "full-kg-both-scores" / "seed-4"


@pytest.mark.parametrize("name", ["wordcraft-fig3", "wordcraft-fig6", "wordcraft-fig7", "wordcraft-ablation"])
def test_beside_each_guided_agent_is_what_its_knowledge_does_alone(name):
    """Knowledge only, the network before training, the trained network without knowledge: of the same settings."""
    conditions = EXPERIMENTS[name].conditions
    guided = {label: one for label, one in conditions.items() if one.method == "train" and one.settings["kg"] != "none"}
    assert guided
    for label, one in guided.items():
        of_it = [other for other in conditions.values() if other.of == label]
        beside = {other.method: other.settings for other in of_it if "repeat" not in other.settings}
        as_paper = [other for other in of_it if "repeat" in other.settings]
        assert [(other.method, other.settings) for other in as_paper] == [
            ("kg_only", {**beside["kg_only"], "repeat": "paper"}) for _ in as_paper
        ]
        assert beside["untrained"] == beside["without_kg"] == one.settings
        assert "kg_only" in beside or "cross-fitted" in label, "while it learns alone are scores held out"
        assert beside.get("kg_only", {}).items() <= one.settings.items()


def test_jobs_that_look_into_a_run_are_given_it_and_come_last(tmp_path):
    jobs = make_jobs(EXPERIMENTS["wordcraft-fig3"], {"total_steps": 100}, [0, 1], tmp_path)
    one = next(job for job in jobs if job.method == "without_kg" and job.seed == 1)
    assert one.label == "training-facts KG, both scores, cross-fitted, KG taken away, 8 distractors"
    assert one.source == tmp_path / "training-facts-kg-both-scores-cross-fitted-8-distractors" / "seed-1"
    ran = [job for job, _ in run_jobs(list(reversed(jobs)), 1, stand_in)]
    assert [job.source is None for job in ran] == sorted((job.source is None for job in jobs), reverse=True)


def test_a_trained_network_is_needed_to_take_its_knowledge_away(tmp_path):
    jobs = make_jobs(EXPERIMENTS["wordcraft-fig3"], {"total_steps": 100}, [0], tmp_path)
    job = next(job for job in jobs if job.method == "without_kg")
    with pytest.raises(InputError, match="which is not complete: run that condition first"):
        KIND.run(job, False)


@pytest.mark.slow
def test_conditions_that_are_new_join_a_folder(run, monkeypatch, tmp_path, book):
    """The experiment has grown since: what was run stays, bit for bit, and the new rows are run."""
    before = EXPERIMENTS["wordcraft-fig3"]
    old = {label: one for label, one in before.conditions.items() if one.of is None}
    arguments = ("wordcraft-fig3", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "200", "--out", "there")
    with monkeypatch.context() as patch:
        patch.setattr(of_wordcraft, "EXPERIMENTS", {before.name: replace(before, conditions=old)})
        assert f"{len(old)} runs, 0 complete" in run(*arguments)
    kept = {path: path.read_bytes() for path in (tmp_path / "there").glob("*/seed-0/*")}
    assert len(gather(tmp_path / "there", before)["rows"]) == len(old)
    assert f"{len(before.conditions)} runs, {len(old)} complete" in run(*arguments)
    assert all(path.read_bytes() == content for path, content in kept.items())
    rows = json.loads((tmp_path / "there" / "results.json").read_text())["rows"]
    assert [row["condition"] for row in rows] == list(before.conditions)
    told = (tmp_path / "there" / "table.md").read_text()
    assert "KG taken away: the trained network with every score set to 0." in told


@pytest.mark.slow
def test_some_conditions_alone_and_saved_together(run, tmp_path, book):
    common = ("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "200", "--save", "kept")
    run(*common, "--out", "one", "--setting", "GloVe, 1 distractor")
    run(*common, "--out", "two", "--setting", "oracle, 1 distractor")
    rows = json.loads((tmp_path / "kept" / "results.json").read_text())["rows"]
    assert [row["condition"] for row in rows] == ["GloVe, 1 distractor", "oracle, 1 distractor"]
    assert rows[0]["made"]["command"].endswith("--setting 'GloVe, 1 distractor'")
    with pytest.raises(InputError, match="wordcraft-fig2 has no 'GloVe'; it has random features, 1 distractor"):
        run(*common, "--out", "one", "--setting", "GloVe")
    book.write_text(json.dumps({"entities": ENTITIES | {"other": {"id": 99, "recipes": [["thing1", "thing1"]]}}}))
    with pytest.raises(InputError, match=r"kept/results\.json: its recipe_book_hash is another one"):
        run(*common, "--out", "three", "--setting", "GloVe, 1 distractor")
    (tmp_path / "kept" / "results.json").write_text('{"experiment": "wordcraft-fig2", "rows": [{"label": "x"}]}')
    with pytest.raises(InputError, match="written by an older version"):
        run(*common, "--out", "four", "--setting", "GloVe, 1 distractor")


@pytest.mark.parametrize(
    ("trained", "said"),
    [
        (0.6164, "solves 61.6%, the trained agent solves 61.6%, just as many"),
        (0.64, "solves 61.6%, the trained agent solves 64.0%, 2.4 points more than that"),
        (0.5, "solves 61.6%, the trained agent solves 50.0%, 11.6 points fewer than that"),
    ],
)
def test_what_learning_adds_is_said_as_it_is(trained, said):
    rows = [
        {"condition": label, "method": method, "of": of, "settings": settings, "success": {"mean": mean}}
        for label, method, of, settings, mean in (
            ("KG", "train", None, {}, trained),
            ("KG, KG only", "kg_only", "KG", {"repeat": "rule"}, 0.616),
            ("KG, KG only, repeat as in the paper", "kg_only", "KG", {"repeat": "paper"}, 0.2),
            ("KG, untrained", "untrained", "KG", {}, 0.61),
            ("KG, KG taken away", "without_kg", "KG", {}, 0.1),
        )
    ]
    rest = "before training it solves 61.0%; trained and with its knowledge taken away 10.0%."
    assert what_learning_adds(rows[0], rows) == f"its knowledge alone, with nothing learned, {said}; {rest}"
    assert what_learning_adds(rows[0], rows[:1]) == ""


def test_two_experiments_of_one_name_are_refused(monkeypatch):
    monkeypatch.setattr(of_wordcraft, "EXPERIMENTS", {"kg-scale": EXPERIMENTS["wordcraft-fig2"]})
    with pytest.raises(InputError, match="two experiments are called 'kg-scale'"):
        find_experiment("kg-scale")


def test_command_line_keeps_no_folder():
    line = command_line(
        ["experiment", "x", "--out", "/somewhere/deep/out", "--recipe-book=../data/a.json", "--seeds", "5"]
    )
    assert line == "gumption experiment x --out out --recipe-book=a.json --seeds 5"


def test_command_line_can_be_written_whatever_was_given():
    assert command_line(["experiment", "x", "--out", "\udc80"]) == r"gumption experiment x --out '\udc80'"


@pytest.mark.slow
def test_few_test_tasks_and_whose_network_it_is_are_told(run, tmp_path, book):
    run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "200", "--out", "there")
    experiment = EXPERIMENTS["wordcraft-fig2"]
    told = experiment.kind.markdown(experiment, gather(tmp_path / "there", experiment))
    few = "the test part has only 42 tasks, and over these tasks the interval is 0.100 to 0.900."
    assert f"- GloVe, 8 distractors: {few}" in told
    assert "Preset fast: our network and parameters" in told
    assert "Preset paper" not in told
    run("wordcraft-fig2", "--recipe-book", str(book), "--preset", "paper", "--seeds", "1", "--total-steps", "200",
        "--out", "paper")  # fmt: skip
    told = experiment.kind.markdown(experiment, gather(tmp_path / "paper", experiment))
    assert "Preset paper: the paper's network and parameters (section 4, Tables 1 and 2)." in told


def test_what_the_ablation_says_of_the_paper_stands_in_the_paper():
    """It states no numbers; those of the authors' code are called so."""
    told = (RESULTS / "wordcraft-ablation-2020" / "table.md").read_text()
    claims = next(line for line in told.splitlines() if line.startswith("The paper: "))
    assert not re.search(r"0\.\d", claims)
    assert "The authors' code, run again, ended at 0.18" in told
    for experiment in ("wordcraft-fig3", "wordcraft-fig6", "wordcraft-fig7"):
        of_both = {
            label: condition
            for label, condition in EXPERIMENTS[experiment].conditions.items()
            if condition.settings.get("kg") == "train" and condition.settings.get("kg_scores") == PAPER_SCORES
        }
        assert of_both or experiment == "wordcraft-fig6"
        assert all(condition.settings["cross_fit"] for condition in of_both.values()), experiment


def test_broken_files_of_a_run_are_named(run, tmp_path, book):
    run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "200", "--out", "there")
    final = next((tmp_path / "there").glob("glove-1*/seed-0/final.json"))
    final.write_text("{half a li\n")
    with pytest.raises(InputError, match=r"final\.json: not valid JSON"):
        gather(tmp_path / "there", EXPERIMENTS["wordcraft-fig2"])
    write_sealed(final, {})
    with pytest.raises(InputError, match="no test_success"):
        gather(tmp_path / "there", EXPERIMENTS["wordcraft-fig2"])


@pytest.mark.slow
def test_report_of_one_seed_has_no_interval(run, tmp_path, book):
    run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "200", "--out", "there")
    results = gather(tmp_path / "there", EXPERIMENTS["wordcraft-fig2"])
    assert "NaN" not in json.dumps(results)
    assert "| GloVe | 1 | 0.400 | 0.400 |" in KIND.markdown(EXPERIMENTS["wordcraft-fig2"], results)
    write_report(results, EXPERIMENTS["wordcraft-fig2"], tmp_path / "again")


def game(split_hash: str, distractors: int, won: int) -> dict:
    """A finished game of `gumption play`, as its file has it, with so many of four test tasks solved."""
    record = {"part": "test", "chosen": ["thing1", "thing2"], "seconds": 2.0}
    return {
        "schema": "gumption/play/1",
        "complete": True,
        "settings": {"num_distractors": distractors},
        "split_hash": split_hash,
        "seed": 3,
        "train_success": 0.5,
        "records": [{**record, "success": number < won} for number in range(4)],
    }


@pytest.mark.slow
def test_a_person_is_drawn_in(run, tmp_path, book):
    run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "2", "--total-steps", "200", "--out", "there")
    before = (tmp_path / "there" / "curves.png").read_bytes()
    split_hash = json.loads((tmp_path / "there" / "plan.json").read_text())["split_hash"]
    (tmp_path / "me.json").write_text(json.dumps(game(split_hash, 8, won=3)))
    run("--report", "there", "--human", "me.json")
    row = json.loads((tmp_path / "there" / "results.json").read_text())["rows"][-1]
    assert (row["condition"], row["panels"]) == ("person, 8 distractors", ["8 distractors"])
    assert row["success"]["mean"] == 0.75
    assert 0.2 < row["success"]["low"] < 0.75 < row["success"]["high"] <= 1
    assert row["wall_s"] == 8.0
    assert (tmp_path / "there" / "curves.png").read_bytes() != before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"complete": False}, "no finished game"),
        ({"split_hash": "0" * 64}, "another split"),
        ({"settings": {"num_distractors": 3}}, "3 distractors, which none"),
    ],
)
def test_a_game_that_does_not_compare_is_refused(run, tmp_path, book, change, message):
    run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "200", "--out", "there")
    split_hash = json.loads((tmp_path / "there" / "plan.json").read_text())["split_hash"]
    (tmp_path / "me.json").write_text(json.dumps(game(split_hash, 8, won=3) | change))
    with pytest.raises(InputError, match=message):
        run("--report", "there", "--human", "me.json")
    with pytest.raises(InputError, match=message):
        run("wordcraft-fig2", "--recipe-book", str(book), "--seeds", "1", "--out", "new", "--human", "me.json")
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_small_experiment_for_real(tmp_path, monkeypatch, book):
    """Nothing stood in for: four short trainings and the baselines, on a book whose labels need no word vectors."""
    arguments = ["wordcraft-fig5", "--recipe-book", str(book), "--seeds", "1", "--total-steps", "2048", "--out", "real"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(of_wordcraft, "EXPERIMENTS", {"wordcraft-fig5": without_glove(EXPERIMENTS["wordcraft-fig5"])})
    result = CliRunner().invoke(command.app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    rows = {row["condition"]: row for row in json.loads((tmp_path / "real" / "results.json").read_text())["rows"]}
    assert rows["oracle, 1 distractor"]["success"]["mean"] == 1.0
    for label in ("simple MLP, random features, 2 distractors", "self-attention, random features, 2 distractors"):
        assert rows[label]["curve"]["steps"][-1] >= 2048
        assert rows[label]["steps_per_s"] > 0
        assert rows[label]["success_alternatives"]["mean"] >= 0


def without_glove(experiment):
    """The experiment without the conditions that read word vectors."""
    kept = {label: one for label, one in experiment.conditions.items() if one.settings.get("features") != "glove"}
    return replace(experiment, conditions=kept)


@pytest.mark.parametrize(("book", "shown"), [("alchemy2.json", "0.414"), ("commonsense", "-"), ("mine.tsv", "-")])
def test_figures_of_the_2020_book_stand_beside_that_book_alone(book, shown):
    saved = json.loads((RESULTS / "wordcraft-fig3-2020" / "results.json").read_text())
    row = {**saved["rows"][0], "measured_2020": 0.414, "target": 0.5}
    row["settings"] = {**row["settings"], "recipe_book": book}
    columns = EXPERIMENTS["wordcraft-fig3"].kind.columns
    assert columns["2020 code"](row, [row]) == shown
    assert (columns["target"](row, [row]) == "-") == (shown == "-")
