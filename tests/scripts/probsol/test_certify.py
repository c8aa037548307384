"""`gumption probsol certify`, `pack` and `check`, and `gumption splits probsol`."""

import json
import sys

import pytest

from gumption.envs.probsol.certification import OUTCOMES
from gumption.envs.probsol.library import read_rows
from gumption.scripts import cli


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """The command line in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def called(*words):
        monkeypatch.setattr(sys, "argv", ["gumption", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capsys.readouterr())

    return called


def fishing(**more):
    task = {
        "schema": 1, "name": "mine/0", "family": "Fishing", "friction": 20, "laws": "real",
        "objects": [
            {"id": "a", "color": "purple", "mass": "medium", "magnetism": "medium", "polarity": "+", "at": [126, 138]},
            {"id": "b", "color": "blue", "mass": "extremely large", "magnetism": "large", "polarity": "-", "stored": 0},
        ],
        "max_obj_num": 12, "max_grid_num": 12, "inaccessible": [[0, 0, 480, 160]], "targets": [[96, 164, 60, 60]],
        "goal": ["a"], "walls": [], "constraints": {"trial_number": 3}, "quiz": [{"ask": "mass", "which": "largest"}],
        "solution": [["grab", "b"], ["place", 10, 16], ["check"], ["answer", ["b"]]],
    }  # fmt: skip
    return {**task, **more}


def test_outcomes_are_counted_in_order_and_a_file_is_gone_on_with(call, tmp_path):
    code, out, err = call("probsol", "certify", "--family", "findthesame", "--seeds", "0:3", "--out", "a.jsonl")
    assert code == 0, err
    words = [line.split() for line in out.splitlines()]
    assert [word for word, _ in words] == list(OUTCOMES)
    assert sum(int(count) for _, count in words) == 3
    assert "findthesame: 3 of 3 seeds" in err
    first = read_rows(tmp_path / "a.jsonl")
    code, out, err = call("probsol", "certify", "--family", "findthesame", "--seeds", "0:5", "--out", "a.jsonl")
    assert sum(int(line.split()[1]) for line in out.splitlines()) == 5
    rows = read_rows(tmp_path / "a.jsonl")
    assert rows[:3] == first
    code, again, err = call("probsol", "certify", "--family", "findthesame", "--seeds", "0:5", "--out", "a.jsonl")
    assert (again, err) == (out, "")  # nothing is missing
    code, out, err = call("probsol", "pack", "a.jsonl", "--out", "b.jsonl.gz", "--most", "2")
    assert code == 0, err
    assert "findthesame 2" in out
    assert [row.seed for row in read_rows(tmp_path / "b.jsonl.gz")] == [
        row.seed for row in rows if row.outcome == "certified"
    ][:2]


@pytest.mark.parametrize("seeds", ["5", "5:5", "7:2", "a:b", "-1:2"])
def test_seeds_that_are_no_range_are_refused(call, seeds):
    code, _, err = call("probsol", "certify", "--family", "fishing", f"--seeds={seeds}")
    assert code != 0
    assert "A:B" in err


def test_families_are_checked(call):
    code, _, err = call("probsol", "certify", "--family", "fishin", "--seeds", "0:2")
    assert code != 0
    assert "fishing" in err


def test_check_tells_what_a_solution_comes_to(call, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(fishing()))
    code, out, _ = call("probsol", "check", "mine.json")
    assert code == 0
    told, _, chance = out.partition("; ")
    assert told == "mine.json: mine/0, Fishing: solved, solution rate 1, 3 actions, end: solved"
    assert chance in ("0 of 50 random policies solve it\n", "1 of 50 random policies solve it\n")


@pytest.mark.slow
def test_check_tells_how_difficult_shipped_and_easy_tasks_are(call, tmp_path):
    code, out, _ = call("probsol", "check", "curling")
    assert code == 0
    shares = {
        line.split(":")[1].split(",")[0].strip(): int(line.split("; ")[1].split()[0]) for line in out.splitlines()
    }
    assert list(shares) == [f"curling/{k}" for k in range(10)]
    assert 0 < max(shares.values()) < 10
    easy = fishing(targets=[[0, 160, 480, 320]], solution=[], quiz=[])
    del easy["inaccessible"]  # what lies on the table can be put anywhere
    (tmp_path / "easy.json").write_text(json.dumps(easy))
    _, out, _ = call("probsol", "check", "easy.json")
    assert int(out.split("; ")[1].split()[0]) > 10
    sandbox = fishing(family="Sandbox", solution=[], quiz=[])
    for name in ("goal", "targets", "inaccessible"):
        del sandbox[name]
    (tmp_path / "sandbox.json").write_text(json.dumps(sandbox))
    assert "random policies" not in call("probsol", "check", "sandbox.json")[1]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"solution": [["grab", "b"], ["place", 30, 30], ["check"]]}, "not solved, solution rate 0.9"),
        ({"solution": [["check"], ["check"], ["check"]]}, "3 actions, end: trials"),
        ({"solution": [["check"]] * 4}, "the episode is over before solution[3], check"),
        ({"solution": [["place", 3, 3]]}, "solution[0], place is not open then"),
        ({"solution": [["answer", ["b"]]]}, "solution[0], answer: no quiz is open"),
        ({"solution": [["grab", "b"], ["place", 10, 16], ["check"]]}, "end: waiting for the answers"),
        ({"solution": [["grab", "b"], ["place", 10, 16], ["check"], ["answer", ["a"]]]}, "not solved"),
        ({"goal": ["z"]}, "goal[0]: is 'z'"),
        ({"schema": 2}, "schema: is 2"),
    ],
)
def test_check_tells_what_is_wrong(call, tmp_path, more, told):
    (tmp_path / "mine.json").write_text(json.dumps(fishing(**more)))
    code, out, _ = call("probsol", "check", "mine.json")
    assert code == 1
    assert out.startswith("mine.json: ")
    assert told in out


def test_check_tells_of_starts_that_move_and_of_fragile_solutions(call, tmp_path):
    moving = fishing()
    moving["objects"][1] = {**moving["objects"][1], "at": [126, 200]}
    del moving["objects"][1]["stored"]
    moving |= {"solution": [], "quiz": []}
    (tmp_path / "moving.json").write_text(json.dumps(moving))
    code, out, _ = call("probsol", "check", "moving.json")
    assert code == 0
    assert "a task, without a recorded solution" in out
    assert "the start is not at rest" in out
    edge = fishing(targets=[[96, 169.5, 60, 60]])  # the disc comes to rest a hair's breadth within
    (tmp_path / "edge.json").write_text(json.dumps(edge))
    _, out, _ = call("probsol", "check", "edge.json")
    assert "the solution is fragile" in out
    (tmp_path / "empty").mkdir()
    code, _, err = call("probsol", "check", "empty")
    assert code != 0
    assert "no task in this folder" in err
    code, out, _ = call("probsol", "check", "none.json")
    assert code == 1
    assert "none.json" in out


def test_splits_are_made_and_checked(call, tmp_path):
    code, out, err = call("splits", "probsol", "--out", "made")
    assert code == 0, err
    assert "across-modifying" in out
    assert len(list((tmp_path / "made").iterdir())) == 66
    code, out, err = call("splits", "probsol", "--check", "made")
    assert code == 0, err
    for words in ([], ["--out", "a", "--check", "made"], ["--check", "made", "--force"]):
        code, _, err = call("splits", "probsol", *words)
        assert code != 0
        assert "--check" in err
