"""HALMA's dials: what signs look like, what they are called, and what they indicate."""

from itertools import product

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs
from gumption.agents.halma.acting import panel_rows
from gumption.data import InputError
from gumption.envs.halma import HALMAVectorEnv, KnowledgeBases, Memory, Rules, sample_mazes
from gumption.envs.halma.facts import facts
from gumption.envs.halma.maze import ALL_COLOURS, DIRECTIONS, SHAPES, Mazes
from gumption.envs.halma.render import draw
from gumption.envs.halma.signs import signs
from gumption.envs.record_memory import RecordMemory
from gumption.kg import KnowledgeGraph

assert gumption.envs
DIALS = [dict(zip(("names", "laws"), dials, strict=True))
         for dials in product(("real", "anonymous", "shuffled"), ("real", "counterfactual"))]  # fmt: skip
DIALLED = DIALS[1:]


@pytest.mark.parametrize("dials", DIALS)
@pytest.mark.parametrize("side", [10, 14])
def test_what_a_panel_shows_can_be_told_from_how_it_looks(dials, side) -> None:
    rows = Mazes(sample_mazes(20, 0, side=side), Rules(side, **dials)).places
    looks = signs(Rules(side, **dials))
    panels = looks.panels(rows)
    assert np.array_equal(looks.truth(panels), rows)
    assert np.array_equal(np.count_nonzero(panels, axis=1), np.count_nonzero(rows, axis=1))
    assert np.array_equal(panels, rows) == (dials == DIALS[0])


@pytest.mark.parametrize("dials", DIALLED)
def test_no_sign_of_a_direction_is_the_real_one(dials) -> None:
    called = signs(Rules(**dials))
    for d in range(4):
        assert (called.colour(d), called.goal_colour(d)) != (ALL_COLOURS[d], ALL_COLOURS[4 + d])
        assert not {called.colour(d), called.goal_colour(d), called.shape(d)} & {ALL_COLOURS[d], ALL_COLOURS[4 + d],
                                                                                SHAPES[d]}  # fmt: skip
    kept = dials["names"] == "real"
    assert all((called.value(v) == str(v)) == kept for v in range(1, 10))
    assert len(set(called.labels)) == 8 + 4 + 9


@pytest.mark.parametrize("dials", DIALLED)
def test_the_way_through_a_maze_is_the_same_and_its_panels_are_others(dials) -> None:
    real, other = HALMAVectorEnv(32, num_mazes=8), HALMAVectorEnv(32, num_mazes=8, **dials)
    first, second = (env.reset(seed=0)[0] for env in (real, other))
    rng = np.random.default_rng(0)
    for _ in range(40):
        assert np.array_equal(other.signs.truth(panel_rows(second)), panel_rows(first))
        options = rng.integers(4, size=(32, 6))
        first, *told = real.step(options)[:4]
        second, *same = other.step(options)[:4]
        assert all(np.array_equal(a, b) for a, b in zip(told, same, strict=True))
        assert np.array_equal(real.action_facts().subject, other.action_facts().subject)  # the same ids of other labels
    assert real.mazes.fingerprint != other.mazes.fingerprint


@pytest.mark.parametrize("dials", DIALS)
def test_pictures_infos_and_words_agree(dials) -> None:
    env = gym.make("gumption/HALMA-v0", observation="visual", render_mode="ansi", **dials).unwrapped
    picture, info = env.reset(seed=1)
    items = {(str(digit["value"]), digit["colour"]) for digit in info["digits"]}
    boxes = {(box["class"], box["colour"]): box["box"] for box in info["boxes"]}
    assert items == {item for item in boxes if item[1] != "grey"}
    assert {item[0] for item in boxes if item[1] == "grey"} == {info["hint"]} - {None}
    called = env.batch.signs
    for (_, colour), (x0, y0, x1, y1) in boxes.items():
        if colour != "grey":
            ink = picture[y0:y1, x0:x1].reshape(-1, 3)
            assert np.abs(ink[ink.sum(1).argmax()].astype(int) - called.rgb[called.labels.index(colour)]).max() < 60
    for digit in info["digits"]:
        d = DIRECTIONS.index(digit["direction"])
        assert digit["colour"] == (called.goal_colour if digit["kind"] == "goal" else called.colour)(d)
    text = env.render()
    assert all(colour in text and value in text for value, colour in items)
    maze, rules = env.mazes[0], env.batch.rules
    real = draw(maze, maze.start, "rgb_array", rules=Rules())
    assert np.array_equal(draw(maze, maze.start, "rgb_array", rules=rules), real) == (dials == DIALS[0])


@pytest.mark.parametrize("dials", DIALLED)
def test_facts_are_the_real_ones_by_other_labels(dials) -> None:
    real, other = set(facts(partition="all")), set(facts(partition="all", **dials))
    assert len(real) == len(other)
    called = signs(Rules(**dials))
    digits = {f"{ALL_COLOURS[d]} {v}": f"{called.colour(d)} {called.value(v)}" for v in range(1, 10) for d in range(4)}
    digits |= {
        f"{ALL_COLOURS[4 + d]} {v}": f"{called.goal_colour(d)} {called.value(v)}"
        for v in range(1, 10)
        for d in range(4)
    }
    digits |= {SHAPES[d]: called.shape(d) for d in range(4)}
    digits |= {str(v): called.value(v) for v in range(1, 10)} | {ALL_COLOURS[d]: called.colour(d) for d in range(4)}
    assert {(digits.get(s, s), relation, digits.get(o, o)) for s, relation, o in real} == other
    told = {"indicates", "pointsTo", "leadsTo"}
    assert not {fact for fact in real & other if fact[1] in told}  # what is known of the real world misleads


@pytest.mark.parametrize("dials", DIALLED)
def test_knowledge_bases_of_a_memory_come_back_from_their_graph(dials, tmp_path) -> None:
    env = RecordMemory(HALMAVectorEnv(64, num_mazes=8, max_opt_len=1, **dials), tmp_path)
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(300):
        env.step(env.action_space.sample())
    env.close()
    memory = Memory.load(tmp_path)
    assert (memory.rules.names, memory.rules.laws) == (dials["names"], dials["laws"])
    bases, graph = KnowledgeBases.of(memory), KnowledgeGraph()
    assert bases.s.any()
    assert bases.understood.any()
    assert set(bases.facts()) <= set(facts(partition="all", **dials))
    bases.add_to(graph, "me")
    assert KnowledgeBases.from_graph(graph, "halma/me").fingerprint == bases.fingerprint


def test_bad_dials_are_refused(tmp_path) -> None:
    for wrong in ({"names": "other"}, {"laws": "none"}, {"laws": "shuffled"}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} is"):
            HALMAVectorEnv(1, **wrong)
    env = RecordMemory(HALMAVectorEnv(2, num_mazes=2, names="shuffled"), tmp_path / "memory")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.close()
    assert [*facts(tmp_path, partition="all", names="shuffled")] == [*facts(tmp_path, partition="all")]
    with pytest.raises(InputError, match=r"names is 'anonymous', and the run .* has 'shuffled'"):
        facts(tmp_path, partition="all", names="anonymous")
    with pytest.raises(InputError, match=r"the mazes are of the paper's rules, not of \{'laws': 'counterfactual'\}"):
        HALMAVectorEnv(1, mazes=Mazes(sample_mazes(1, 0)), laws="counterfactual")
