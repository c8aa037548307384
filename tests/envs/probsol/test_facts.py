"""ProbSol's true facts: of discs by their law, of areas, of quizzes; in parts that have none in common."""

from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs.probsol
from gumption.agents.knowledge import Knowledge
from gumption.agents.settings import KnowledgeConfig
from gumption.data import InputError
from gumption.envs.probsol import facts, read_task, task_facts
from gumption.envs.probsol.facts import part_of
from gumption.envs.probsol.library import partition_of
from gumption.envs.probsol.tasks import Task
from gumption.envs.worlds import WORLDS
from gumption.kg import KnowledgeGraph
from gumption.kg.store.shapes import validate

SHAPES = Path(gumption.envs.probsol.__file__).with_name("shapes.ttl")
COLORS = ["red", "green", "blue", "orange", "black", "purple"]


def disc(id: str, mass: str, magnetism: str, polarity: str, **where: Any) -> dict[str, Any]:
    color = COLORS["abcdef".index(id)]
    return {"id": id, "color": color, "mass": mass, "magnetism": magnetism, "polarity": polarity, **where}


def building(*discs: dict[str, Any], **more: Any) -> Task:
    blocks = [[[100, 100], [136, 100], [136, 136], [100, 136]], [[300, 300], [330, 300], [315, 345]]]
    return read_task(
        {"schema": 1, "name": "mine/0", "family": "Building", "objects": discs, "blocks": blocks, **more}, "mine.json"
    )


def mixed(**more: Any) -> Task:
    return building(
        disc("a", "medium", "medium", "+", at=[60, 60]), disc("b", "large", "small", "-", at=[200, 60]),
        disc("c", "medium", "medium", "+", stored=0), disc("d", "small", "large", "dipole", boundary=90, stored=1),
        **more,
    )  # fmt: skip


TASK_FILE = mixed().to_json()


def stated(task: Task, relation: str, laws: Any = None) -> set[tuple[str, str]]:
    """(subject, object) of a relation, without the name of the task."""
    return {
        (s.removeprefix("mine/0:"), o.removeprefix("mine/0:")) for s, r, o in task_facts(task, laws) if r == relation
    }


def both(*pairs: str) -> set[tuple[str, str]]:
    return {(one, other) for pair in pairs for one, other in (pair, pair[::-1])}


def test_facts_of_two_discs() -> None:
    task = mixed()
    assert stated(task, "attracts") == both("ab", "bc")
    assert stated(task, "repels") == both("ac")
    assert stated(task, "samePolarity") == both("ac")
    assert stated(task, "differsFrom") == both("ab", "ad", "bc", "bd", "cd")
    assert stated(task, "heavierThan") == {("b", "a"), ("b", "c"), ("b", "d"), ("a", "d"), ("c", "d")}
    assert stated(task, "strongerThan") == {("a", "b"), ("c", "b"), ("d", "a"), ("d", "b"), ("d", "c")}


def test_the_law_decides_who_attracts_whom() -> None:
    assert stated(mixed(), "attracts", "counterfactual") == stated(mixed(), "repels")
    assert stated(mixed(), "repels", "counterfactual") == stated(mixed(), "attracts")
    assert stated(mixed(laws="counterfactual"), "repels") == both("ab", "bc")
    for laws in ("inert", "shuffled"):
        assert not stated(mixed(), "attracts", laws) | stated(mixed(), "repels", laws)
        assert {effect for _, effect in stated(mixed(), "affords", laws)} == {"grabbing"}


@pytest.mark.parametrize("laws", ["real", "counterfactual"])
def test_what_is_stated_happens(laws: str) -> None:
    """Two discs are set down 60 px apart: those that are said to attract come nearer, those that repel go away."""
    task = mixed()
    for one, other in combinations("abc", 2):
        given = task.to_json()
        given["objects"] = [each for each in given["objects"] if each["id"] in (one, other)]
        for each, x in zip(given["objects"], (210, 270), strict=True):
            each.pop("stored", None)
            each["at"] = [x, 250]
        env: Any = gym.make("gumption/ProbSol-v0", task=given, laws=laws).unwrapped
        env.reset(seed=0)
        env.step(env.action_index("hold", one))
        env.step(env.action_index("put_down"))
        left, right = env.table()
        apart = np.hypot(left["x"] - right["x"], left["y"] - right["y"])
        assert (one, other) in stated(task, "attracts" if apart < 60 else "repels", laws)


def test_what_discs_afford() -> None:
    def afforded(task: Task, laws: Any = None) -> dict[str, set[str]]:
        found = stated(task, "affords", laws)
        return {id: {effect for one, effect in found if one == id} for id in task.ids}

    dark = mixed(inaccessible=[[0, 0, 100, 100]])
    assert afforded(dark) == {
        "a": {"moving", "pulling"},  # it lies in the dark
        "b": {"moving", "pulling", "grabbing"},
        "c": {"moving", "pulling", "grabbing"},
        "d": {"moving", "pulling", "grabbing", "turning"},
    }
    alike = building(disc("a", "medium", "medium", "+", stored=0), disc("b", "medium", "medium", "+", stored=1))
    assert afforded(alike)["a"] == {"moving", "grabbing"}  # equal poles pull nothing
    assert afforded(alike, "counterfactual")["a"] == {"moving", "pulling", "grabbing"}
    rough = building(*map(dict, alike.to_json()["objects"]), friction=900)
    assert afforded(rough)["a"] == {"grabbing"}  # K / 24^2 = 834 px/s^2 is less than the friction


def test_areas_and_the_points_in_them() -> None:
    task = mixed(inaccessible=[[80, 80, 100, 100]])
    assert stated(task, "hasBlock") == {("mine/0", "mine/0/block 0"), ("mine/0", "mine/0/block 1")}
    assert stated(task, "hasDark") == {("mine/0", "mine/0/dark 0")}
    assert dict(stated(task, "hasAccess")) == {
        "mine/0/block 0": "inaccessible", "mine/0/block 1": "accessible", "mine/0/dark 0": "inaccessible",
    }  # fmt: skip
    inside = stated(task, "inside")
    square = {(c, r) for c in range(40) for r in range(40) if 100 <= 12 * c + 6 <= 136 and 100 <= 12 * r + 6 <= 136}
    assert {point for point, area in inside if area == "mine/0/block 0"} == {f"point {c} {r}" for c, r in square}
    assert ("point 25 25", "mine/0/block 1") in inside  # (306, 306) lies in the triangle, (306, 330) beside it
    assert ("point 25 27", "mine/0/block 1") not in inside


def test_the_quiz_and_its_answers_can_be_asked_of_the_graph() -> None:
    quiz = [{"ask": "mass", "which": "largest"}, {"ask": "pair", "same": "magnetism"},
            {"ask": "boundary", "which": "vertical"}]  # fmt: skip
    graph = KnowledgeGraph()
    graph.add(task_facts(mixed(quiz=quiz)), graph="mine")
    rows = graph.query(
        "SELECT ?disc WHERE { ?task gum:hasQuestion ?q . ?q gum:asksFor ?what . ?q gum:hasAnswer ?disc }", what="mass"
    )
    assert [row["disc"] for row in rows] == ["mine/0:b"]
    rows = graph.query("SELECT ?x WHERE { ?q gum:asksSame ?what . ?q gum:hasAnswer ?p . ?p gum:hasMember ?x }")
    assert sorted(row["x"] for row in rows) == ["mine/0:a", "mine/0:c"]
    asked = graph.query("SELECT ?a WHERE { ?q gum:asksFor ?what . ?q gum:hasAnswer ?a }", what="boundary")
    assert asked == []  # the player turns discs: nothing is true of it before CHECK


def test_the_designed_tasks_are_stated_in_parts() -> None:
    train, everything = list(facts(partition="train")), set(facts(partition="all"))
    assert train == sorted(set(train))
    assert ("fishing/0:b", "attracts", "fishing/0:a") in train
    parts = [set(facts(partition=part)) for part in ("train", "validation", "test")]
    assert set.union(*parts) == everything
    assert all(not one & other for one, other in permutations(parts, 2))
    assert ("fishing/0:b", "repels", "fishing/0:a") in set(facts(partition="train", laws="counterfactual"))


def test_parts_of_tasks() -> None:
    def part(name: str, family: str = "Building", fold: int = 0) -> str:
        return part_of(replace(mixed(), name=name, family=family), fold)

    assert [part(f"building/{k}") for k in (0, 7, 8, 9, 12)] == ["train", "train", "validation", "test", "test"]
    assert part("mine/9") == part("fishing/9") == part("building/seed-x") == "train"  # a person's own
    seeds = list(range(40))
    for fold in (0, 3):
        parts = [part(f"building/seed-{seed}", fold=fold) for seed in seeds]
        assert parts == partition_of("Building", seeds, fold)
        assert set(parts) == {"train", "validation", "test"}


def test_facts_of_a_persons_own_tasks() -> None:
    told = list(facts(partition="train", task=[mixed().to_json(), "fishing/0"]))
    assert set(task_facts(mixed())) < set(told)
    assert ("fishing/0:b", "attracts", "fishing/0:a") in told
    assert list(facts(partition="test", task=mixed())) == []


def test_a_runs_facts_are_of_the_tasks_that_it_plays() -> None:
    settings = {"task": ["fishing/0"], "partition": "train", "fold": 2, "laws": "inert", "quiz": False}
    assert WORLDS["probsol"].played(settings) == {"task": ["fishing/0"], "fold": 2, "laws": "inert"}
    envs: Any = gym.make_vec("gumption/ProbSol-v0", num_envs=1, task=TASK_FILE).unwrapped
    config, world = KnowledgeConfig(kg="train"), WORLDS["probsol"]
    known = Knowledge.of(config, world, envs.vocabulary, envs.relations, {"task": TASK_FILE})
    assert ("mine/0:a", "attracts", "mine/0:b") in set(known.facts.triples())


def test_the_facts_fit_the_shapes() -> None:
    graph = KnowledgeGraph()
    graph.add(facts(partition="all"), graph="designed")
    asked = [{"ask": "mass", "which": "large"}, {"ask": "pair", "same": "polarity"}]
    graph.add(task_facts(mixed(quiz=asked, inaccessible=[[80, 80, 100, 100]])), graph="mine")
    report = validate(graph, SHAPES)
    assert report.conforms, report
    assert report.checked is not None
    assert report.checked > 10


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        (("mine/0:a", "hasPolarity", "-"), "one polarity"),
        (("mine/0:a", "hasMass", "heavy"), "one class of mass"),
        (("mine/0:a", "repels", "mine/0:b"), "attracts and repels the same one"),
        (("mine/0:a", "affords", "eating"), "affords grabbing, moving"),
        (("mine/0:a", "dreamsOf", "mine/0:b"), "nothing else is said of it"),
        (("mine/0/block 0", "hasAccess", "inaccessible"), "accessible or inaccessible"),
        (("mine/0", "hasFamily", "Golf"), "one of the six families"),
    ],
)
def test_what_does_not_fit_the_shapes_is_found(fact: tuple[str, str, str], message: str) -> None:
    graph = KnowledgeGraph()
    graph.add([*task_facts(mixed()), fact], graph="mine")
    report = validate(graph, SHAPES)
    assert not report.conforms
    assert any(message in violation.message for violation in report.violations), report


@pytest.mark.parametrize("bad", [{"partition": "nowhere"}, {"partition": "train", "laws": "none"}])
def test_an_unknown_part_or_law(bad: Any) -> None:
    with pytest.raises(InputError, match=r"partition|laws"):
        facts(**bad)
