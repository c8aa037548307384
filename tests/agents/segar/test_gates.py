"""Walls of gates: what decides is known of a type by its name alone, and types of the test are met in no training."""

from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gumption.agents.segar.config import SegarConfig
from gumption.agents.segar.evaluation import make_env, play_levels, scripted, through_gates
from gumption.agents.segar.lives import live
from gumption.envs.segar.configurations import WALLS, draw_levels, level
from gumption.envs.segar.facts import BURNING, FALLING, SLOWING, facts
from gumption.envs.segar.kinds import GATES, THROUGH, gates
from gumption.kg import KnowledgeGraph

HARM = (FALLING, BURNING, SLOWING)
OF_PART = {part: {kind.__name__ for kind, (other, _) in GATES.items() if other == part} for part in ("train", "test")}


def gates_of(scene: Any) -> list[Any]:
    return [entity.type for entity in scene.entities if entity.type in GATES]


@cache
def harmful(**given: Any) -> set[str]:
    return {thing for thing, effect, _ in facts(partition="all", **given) if effect in HARM and thing != "Block"}


def walls(levels: str, count: int = 60, **settings: Any) -> Any:
    given = {"task": "Gates", "levels": levels, "partition": "test", "num_levels": count, **settings}
    return gym.make_vec("gumption/SEGAR-v0", num_envs=count, **given).unwrapped


def success(player: Any, *given: Any, **settings: Any) -> float:
    return float(play_levels(player, walls(*given, **settings))["success"].mean())


@pytest.mark.parametrize("name", WALLS)
def test_each_wall_has_one_gate_that_lets_through_and_parts_share_no_type(name: str) -> None:
    met = {}
    for part in ("train", "test"):
        scenes = draw_levels(name, part, n=80).scenes
        assert all([GATES[kind][1] for kind in gates_of(scene)].count(THROUGH) == 1 for scene in scenes)
        assert all(len(gates_of(scene)) == 3 for scene in scenes)
        met[part] = {kind for scene in scenes for kind in gates_of(scene)}
        assert {GATES[kind][1] for kind in met[part]} == {THROUGH, *WALLS[name]}
        assert {GATES[kind][0] for kind in met[part]} == {part}
        assert level(f"{name}/{part}/0/79").to_data() == scenes[79].to_data()
    assert not met["train"] & met["test"]


def test_names_are_seen_and_tell_nothing_of_what_a_gate_does() -> None:
    real, *others = (walls("gates-3", 20, names=names) for names in ("real", "shuffled", "anonymous"))
    rng = np.random.default_rng(0)
    pushes = rng.integers(17, size=(20, 20))

    def played(env: Any) -> tuple[np.ndarray, np.ndarray]:
        first = env.reset(seed=0)[0]
        return first, np.array([env.step(each)[1] for each in pushes])

    seen, rewards = played(real)
    for env in others:
        first, same = played(env)
        assert np.array_equal(same, rewards)
        assert np.array_equal(first[:, :6], seen[:, :6])  # ball and goal
        assert not np.array_equal(first, seen)
        assert np.array_equal(first[:, 6:].sum(axis=1), np.full(20, 3.0))
    # A gate that swallows is seen as one that lets the ball through would be under its name.
    scene = draw_levels("gates-2", "test").scenes[0].to_data()
    swallows, through = gates("test", "swallows")[0].__name__, gates("test", THROUGH)[0].__name__
    alike = []
    for name in (swallows, through):
        first = next(one for one in scene["entities"] if one["type"].startswith("Gate"))
        first.update(type=name, factors={"Position": first["factors"]["Position"]})
        env = walls("gates-2", 1)
        alike.append(env.reset(options={"scene": scene})[0][0])
    assert (alike[0] != alike[1]).sum() == 2
    stated = {fact for fact in facts(partition="all", levels="gates-3") if fact[0] in OF_PART["test"]}
    assert {relation for _, relation, _ in stated if not relation.startswith("affords")} == {"actsBy"}


@pytest.mark.parametrize("name", WALLS)
def test_facts_of_a_part_are_those_of_its_types(name: str) -> None:
    of = {part: list(facts(partition=part, levels=name)) for part in ("train", "test", "all")}
    assert not [fact for fact in of["train"] if fact[0] in OF_PART["test"]]
    assert {fact[0] for fact in of["test"]} <= OF_PART["test"]
    assert set(of["train"]) | set(of["test"]) == set(of["all"])
    assert ("GoalTile", "affordsReaching", "ball") in of["train"]
    does_harm = {kind.__name__ for kind, (_, deed) in GATES.items() if deed in WALLS[name]}
    assert harmful(levels=name) == does_harm
    assert not [fact for fact in facts(partition="all") if fact[0] in OF_PART["train"] | OF_PART["test"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", WALLS)
def test_who_ignores_the_gates_or_has_false_facts_fails_and_true_facts_lead_through(name: str) -> None:
    assert success(scripted, name) < 0.45
    assert success(through_gates(harmful(levels=name)), name) > 0.93
    assert success(through_gates(harmful(levels=name, names="shuffled")), name) < 0.45
    assert success(through_gates(harmful(levels=name, laws="counterfactual")), name) < 0.3
    by_other_laws = {"laws": "counterfactual", "names": "anonymous"}
    assert success(through_gates(harmful(levels=name, **by_other_laws)), name, **by_other_laws) > 0.93


def test_what_a_life_shows_is_true_and_has_every_gate_that_does_harm(tmp_path: Path) -> None:
    shown = {name: set(live(tmp_path / name, name, "test", 6_400, 1)) for name in WALLS}
    for name, found in shown.items():
        assert found < set(facts(partition="all", levels=name))
        assert {thing for thing, *_ in found} & OF_PART["test"] == harmful(levels=name) & OF_PART["test"]
    assert {effect for _, effect, _ in shown["gates-3"]} == {*HARM, "affordsReaching"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.LeakedFacts")
@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_a_run_keeps_its_knowledge_and_plays_with_another_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("stable_baselines3")
    from gumption.agents.segar.runs import evaluate
    from gumption.agents.segar.training import load_run, train_segar

    monkeypatch.chdir(tmp_path)
    graph = KnowledgeGraph()
    graph.add(facts(partition="all", levels="gates-2"), graph="gates")
    graph.save("mine.nq")
    sizes = {"num_levels": 8, "test_levels": 20, "num_envs": 8, "n_steps": 4, "total_steps": 32, "eval_interval": 32}
    train_segar(SegarConfig(task="Gates", observation="names", kg="mine.nq", device="cpu", **sizes), Path("run"))
    Path("mine.nq").unlink()
    run = load_run(Path("run"))
    found = evaluate(Path("run"))["players"]
    assert {"trained", "knowledge taken away", "untrained", "random", "scripted", "oracle"} <= set(found)
    assert evaluate(Path("run"), kg="none")["players"]["trained"] == found["knowledge taken away"]
    goal = KnowledgeGraph()
    goal.add([("GoalTile", "affordsReaching", "ball")])
    goal.save("goal.nq")
    seen = []

    def kept(observation: Any, deterministic: bool) -> Any:
        seen.append(observation["kg_scores"])
        return np.zeros(20, dtype=np.int64), None

    monkeypatch.setattr(run.policy, "predict", kept)
    env = make_env("Gates", run.config.draw("test"), run.config.seen())
    env.reset(seed=0)
    for player in (run.player, run.advised("goal.nq").player, run.advised("none").player):
        player(env, np.ones(20, dtype=bool))
    reaching = [k for k, name in enumerate(run.setup.advice.relations) if name.startswith("affordsReaching")]
    assert np.array_equal(seen[0][:, :, reaching], seen[1][:, :, reaching])
    assert seen[0].sum() > seen[1].sum() == seen[1][:, :, reaching].sum() > seen[2].sum() == 0
