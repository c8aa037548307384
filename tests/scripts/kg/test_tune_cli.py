"""`gumption kg tune`: the same search twice, one that is killed, its best settings, and what it refuses."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import optuna
import pytest

from gumption.kg import ComplEx, KnowledgeGraph

TUNE = ("tune", "--rank", "2", "--rank", "4", "--epochs", "4", "--valid-every", "2", "--device", "cpu")
CYCLE = [(f"e{i}", "next", f"e{(i + 1) % 12}") for i in range(12)]
INVERSE = [(b, "last", a) for a, _, b in CYCLE]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A data set of three parts."""
    folder = tmp_path / "cycle"
    folder.mkdir()
    for part, facts in (("train", [*CYCLE, *INVERSE[:6]]), ("valid", INVERSE[6:9]), ("test", INVERSE[9:])):
        lines = ["\t".join(fact) + "\n" for fact in facts]
        (folder / f"{part}.txt").write_text("".join(lines), encoding="utf-8")
    return str(folder)


def trials_of(out: str) -> list[dict[str, str]]:
    return list(csv.DictReader((Path(out) / "trials.csv").read_text(encoding="utf-8").splitlines()))


def kept(out: str) -> list[bytes]:
    return [(Path(out) / file).read_bytes() for file in ("best.json", "trials.csv")]


@pytest.mark.slow
def test_one_seed_gives_one_search_whether_it_is_stopped_or_not(gumption, folder: str) -> None:
    told = gumption.ok(*TUNE, "--dataset", folder, "--trials", "12", "--out", "whole")
    assert "trial 12 of 12: rank " in told
    rows = trials_of("whole")
    assert [row["trial"] for row in rows] == [str(number) for number in range(1, 13)]
    assert {row["rank"] for row in rows} == {"2", "4"}
    best = max(rows, key=lambda row: float(row["valid_mrr"]))
    settings = json.loads(Path("whole/best.json").read_text(encoding="utf-8"))
    assert settings["learning_rate"] == float(best["learning_rate"])
    # Where it was stopped, it goes on as it would have; a trial that was under way is drawn again.
    assert "trial 5 of 5" in gumption.ok(*TUNE, "--dataset", folder, "--trials", "5", "--out", "parts")
    study = optuna.load_study(study_name=None, storage="sqlite:///parts/study.db")
    study.ask({"rank": optuna.distributions.CategoricalDistribution((2, 4))})
    Path("parts/training-3").mkdir()
    told = gumption.ok(*TUNE, "--dataset", folder, "--trials", "12", "--out", "parts")
    assert told.startswith("5 trials are complete\ntrial 6 of 12: ")
    assert kept("parts") == kept("whole")
    assert sorted(path.name for path in Path("parts").iterdir()) == [
        "best.json", "study.db", "trials.csv", "trials.csv.sha256",
    ]  # fmt: skip
    # Another seed searches elsewhere.
    gumption.ok(*TUNE, "--dataset", folder, "--trials", "2", "--out", "other", "--seed", "1")
    assert kept("other")[1].splitlines()[1] != kept("whole")[1].splitlines()[1]
    # The best settings, fitted, give the model that was best.
    fit = ("fit", "--dataset", folder, "--device", "cpu", "--settings", "whole/best.json", "--out", "model")
    assert f"best valid MRR {float(best['valid_mrr']):.4f}" in gumption.ok(*fit)


@pytest.mark.slow
def test_a_graph_with_a_validation_part_and_no_test_facts(gumption) -> None:
    graph = KnowledgeGraph()
    for name, facts in (("train", [*CYCLE, *INVERSE[:6]]), ("valid", INVERSE[6:9]), ("others", INVERSE[9:])):
        graph.add(facts, graph=name)
    graph.save("kg.nq")
    tune = (*TUNE, "kg.nq#train", "--valid", "kg.nq#valid", "--trials", "1")
    gumption.ok(*tune, "--out", "alone")
    gumption.ok(*tune, "--known", "kg.nq#others", "--out", "field")
    [alone], [field] = trials_of("alone"), trials_of("field")
    told = json.loads(Path("alone/best.json").read_text(encoding="utf-8"))
    model = ComplEx.fit([*CYCLE, *INVERSE[:6]], valid=INVERSE[6:9], device="cpu", **told)
    assert float(alone["valid_mrr"]) == max(row.get("valid_mrr", 0) for row in model.origin["history"])
    assert float(field["valid_mrr"]) >= float(alone["valid_mrr"])
    error = gumption.refused(*TUNE, "kg.nq#train", "--out", "other")
    assert "settings are chosen by validation facts: give --valid" in error


def test_other_searches_in_the_same_folder_are_refused(gumption, folder: str) -> None:
    gumption.ok(*TUNE, "--dataset", folder, "--trials", "1", "--out", "search")
    again = (*TUNE, "--dataset", folder, "--trials", "2", "--out", "search")
    assert "holds a search with other seed (0, not 3)" in gumption.refused(*again, "--seed", "3")
    assert "holds a search with other ranks ([2, 4], not [2, 4, 8])" in gumption.refused(*again, "--rank", "8")
    Path(folder, "valid.txt").write_text("e1\tlast\te0\n", encoding="utf-8")
    assert "holds a search with other facts" in gumption.refused(*again)
    Path("full").mkdir()
    other = (*TUNE, "--dataset", folder, "--out")
    assert "full exists and holds no search: choose another folder" in gumption.refused(*other, "full")
    assert "--rank is 0; it is a whole number from 1 to" in gumption.refused(*other, "new", "--rank", "0")


@pytest.mark.slow
def test_a_killed_search_goes_on_to_the_same_end(gumption, folder: str) -> None:
    longer = (*TUNE[:-4], "--epochs", "400", "--valid-every", "100", "--device", "cpu", "--dataset", folder)
    command = [sys.executable, "-m", "gumption", "kg", *longer, "--trials", "3", "--out", "killed"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("trial 1 of 3: ")
        time.sleep(0.3)  # the next trial is under way
        os.kill(running.pid, signal.SIGKILL)
    gumption.ok(*longer, "--trials", "3", "--out", "killed")
    gumption.ok(*longer, "--trials", "3", "--out", "whole")
    assert kept("killed") == kept("whole")
