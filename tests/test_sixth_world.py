"""A world in one small folder of the tests gets everything that serves all worlds, without a change elsewhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.envs import worlds
from gumption.envs.worlds import Environment, World

TESTS = Path(__file__).resolve().parent
SMALL = ["--steps", "24576", "--eval-interval", "8192", "--eval-episodes", "60", "--device", "cpu"]


@pytest.fixture
def gumption(tmp_path: Path):
    """Runs `gumption` where a person works who has added the world."""

    def run(*arguments: str, typed: str = "", code: int = 0, world: str = "shelf") -> str:
        environment = {
            **os.environ,
            "GUMPTION_WORLDS": f"sixth.{world}",
            "PYTHONPATH": str(TESTS),
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "240",
        }
        done = subprocess.run(
            [sys.executable, "-m", "gumption.scripts.cli", *arguments],
            cwd=tmp_path, env=environment, input=typed, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.slow
def test_it_is_listed_built_trained_evaluated_and_watched(gumption, tmp_path: Path) -> None:
    assert "Put things where they belong." in gumption("train", "--help")
    assert "shelf/all" in gumption("kg", "build", "shelf", "--out", "kg.nq", "--partition", "all")
    assert "cupboard" in gumption("kg", "query", "kg.nq", "SELECT ?x { ?t gum:belongsIn ?x }", "--bind", "t=cup")
    alone = gumption("train", "shelf", "--run", "alone", *SMALL)
    guided = gumption("train", "shelf", "--kg", "kg.nq", "--run", "guided", *SMALL)
    success = [json.loads((tmp_path / run / "final.json").read_text()) for run in ("alone", "guided")]
    assert success[0]["train_success"] > 0.9, alone
    assert success[1]["test_success"] > 0.9, guided
    assert success[0]["test_success"] < 0.7  # things that it never met: nothing tells it where they belong
    assert "success" in gumption("evaluate", "guided", "--episodes", "60")
    told = json.loads(gumption("evaluate", "guided", "--episodes", "60", "--json"))
    assert told["success"] == pytest.approx(1.0)
    assert told["random"] < 0.6
    assert told["failures"] == []
    (tmp_path / "kg.nq").unlink()  # the run keeps what it depends on
    assert json.loads(gumption("evaluate", "guided", "--episodes", "60", "--json")) == told
    manifest = json.loads((tmp_path / "guided" / "manifest.json").read_text())
    assert len(manifest["knowledge"]["graph"]) == 64
    page = tmp_path / "watched.html"
    gumption("watch", "guided", "--out", str(page))
    assert "belongsIn" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_graph_of_strangers_guides_it_by_its_edges(gumption, tmp_path: Path) -> None:
    """Its relation is another, and backwards, and what it is worth is counted by rewards of random play."""
    places = {"cupboard": ("cup", "plate", "bowl"), "shelf": ("book", "map", "atlas"), "wardrobe": ("shirt", "coat")}
    rows = [f"{place},holds,{thing}" for place, things in places.items() for thing in (*things, "dust")]
    (tmp_path / "rows.csv").write_text("\n".join(["subject,relation,object", *rows]) + "\n", encoding="utf-8")
    gumption("kg", "load", "strangers.nq", "rows.csv", "--header")
    for run, agent in (("alone", "graph"), ("run", "network")):
        gumption("train", "shelf", "--kg", "strangers.nq", "--scores", "edges", "--run", run, "--agent", agent, *SMALL)
        assert json.loads((tmp_path / run / "final.json").read_text())["test_success"] > 0.9
    (tmp_path / "strangers.nq").unlink()
    told = gumption("evaluate", "run", "--episodes", "60", "--json")
    assert json.loads(told.splitlines()[0])["success"] > 0.9, told
    gumption("watch", "run", "--out", "watched.html")


@pytest.mark.slow
def test_a_maze_of_ones_own_is_planned_through(gumption, tmp_path: Path) -> None:
    gumption("kg", "build", "maze", "--out", "kg.nq", "--partition", "all", world="maze")
    gumption("train", "maze", "--kg", "kg.nq", "--agent", "graph", "--run", "run", *SMALL, world="maze")
    told = json.loads(gumption("evaluate", "run", "--episodes", "60", "--json", world="maze"))
    assert told["failures"] == []
    assert told["success"] == pytest.approx(1.0)
    assert told["random"] < 0.6
    reset = ("--reset", "room=room 00", "--reset", "goal=room 01", "--out", "watched.html")
    gumption("watch", "run", *reset, world="maze")
    page = (tmp_path / "watched.html").read_text(encoding="utf-8")
    assert "room 00 with south leads on room 10" in page
    assert "room 11 with north leads on room 01" in page


def test_a_person_plays_it(gumption) -> None:
    assert "belong" in gumption("play", "shelf", "--seed", "0", typed="1\n")


@pytest.mark.slow
def test_its_speed_is_measured(gumption) -> None:
    assert "gumption/Shelf-v0" in " ".join(gumption("bench", "shelf", "--repeats", "1").split())


def test_what_it_does_not_offer_is_told(gumption) -> None:
    assert "the world 'shelf' offers no" in gumption("splits", "shelf", code=2)
    assert "did you mean 'shelf'" in gumption("train", "shelv", code=2)
    assert "acts by a graph alone: add kg" in gumption("train", "shelf", "--agent", "graph", code=2)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("nowhere.at_all:facts", "no module nowhere.at_all"),
        ("gumption.envs.worlds:missing", "gumption.envs.worlds has no 'missing'"),
    ],
)
def test_an_entry_that_names_what_is_not_there_is_told(place: str, expected: str) -> None:
    world = World("odd", "Odd", "Nothing.", "-", (Environment("odd-v0", "a:b", "a:c"),), {"facts": place})
    with pytest.raises(InputError, match=f"the world 'odd' names '{place}' as its facts: {expected}"):
        world.get("facts")


def test_bad_entries_are_told() -> None:
    with pytest.raises(InputError, match="has no environment"):
        World("odd", "Odd", "Nothing.", "-", ())
    environments = (Environment("odd-v0", "a:b", "a:c"),)
    with pytest.raises(InputError, match="offers 'fact', which nothing asks for; did you mean 'facts'"):
        World("odd", "Odd", "Nothing.", "-", environments, {"fact": "a:b"})
    name = next(iter(worlds.WORLDS))
    with pytest.raises(InputError, match=f"there is a world '{name}' already"):
        worlds.add(World(name, "Odd", "Nothing.", "-", environments))


def test_a_world_without_facts_has_none_of_any_part() -> None:
    world = World("odd", "Odd", "Nothing.", "-", (Environment("odd-v0", "a:b", "a:c"),))
    with pytest.raises(InputError, match="the world 'odd' states no facts"):
        world.facts("train")


def test_a_module_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUMPTION_WORLDS", "no_such_world")
    with pytest.raises(InputError, match="GUMPTION_WORLDS names 'no_such_world', and there is no such module here"):
        worlds.known()
