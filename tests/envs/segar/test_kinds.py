"""SEGAR's dials: what kinds of things are called, and what they do."""

from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs
from gumption.data import InputError
from gumption.envs.physics.entities import Tile
from gumption.envs.physics.factors import Consumes, Position, Size
from gumption.envs.record_memory import RecordMemory
from gumption.envs.segar import Memory
from gumption.envs.segar.facts import facts
from gumption.envs.segar.kinds import BALL, EXCHANGED, Dials, kinds
from gumption.envs.segar.memory import evidence

assert gumption.envs
DIALS = [dict(zip(("names", "laws"), dials, strict=True))
         for dials in product(("real", "anonymous", "shuffled"), ("real", "counterfactual"))]  # fmt: skip
EXCHANGEABLE = [kind for row, _ in EXCHANGED for kind in row]
LEVELS = {"levels": "tilesx2-medium", "num_levels": 30, "directions": 16, "observation": "state"}


def env_of(num_envs: int = 32, **settings: Any) -> Any:
    return gym.make_vec("gumption/PuttPutt-v0", num_envs=num_envs, **{**LEVELS, **settings}).unwrapped


def trace(env: Any, steps: int = 40) -> list[np.ndarray]:
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    return [env.step(rng.integers(17, size=env.num_envs))[1] for _ in range(steps)]


@pytest.mark.parametrize("dials", DIALS[1:])
def test_no_kind_that_is_exchanged_is_called_as_what_it_does(dials) -> None:
    called = Dials(**dials).called
    assert not [kind for kind in EXCHANGEABLE if called[kind.__name__] == kind.__name__]
    assert len(set(called.values())) == len(called) == len(kinds()) + 1
    if dials["names"] == "real":
        assert {name for name in called if called[name] == name} == set(called) - {k.__name__ for k in EXCHANGEABLE}


def test_a_persons_own_types_change_nothing_that_others_are_called() -> None:
    others = {kind.__name__ for kind in kinds() if kind.__module__ == Tile.__module__} | {BALL}

    def called() -> list[dict[str, str]]:
        return [{name: label for name, label in Dials(**dials).called.items() if name in others} for dials in DIALS]

    before = called()
    assert type("Aisle", (Tile,), {}) in kinds()
    assert called() == before


@pytest.mark.slow
def test_names_change_labels_alone() -> None:
    real = env_of()
    for names in ("anonymous", "shuffled"):
        other = env_of(names=names)
        assert all(np.array_equal(a, b) for a, b in zip(trace(real), trace(other), strict=True))
        assert np.array_equal(real.action_facts().subject, other.action_facts().subject)
        assert len(real.vocabulary) == len(other.vocabulary)
        called = other.dials.called
        assert [called.get(label, label) for label in real.vocabulary] == [*other.vocabulary]
        stated = {(called.get(s, s), relation, called.get(o, o)) for s, relation, o in facts(partition="all")}
        assert stated == set(facts(partition="all", names=names))


def test_by_other_laws_things_act_as_others_and_stay_where_they_are() -> None:
    real, other = env_of(), env_of(laws="counterfactual")
    assert not all(np.array_equal(a, b) for a, b in zip(trace(real), trace(other), strict=True))
    does = other.dials.does
    for before, after in zip(real._all.scenes, other._all.scenes, strict=True):
        for one, there in zip(before.entities, after.entities, strict=True):
            assert there.type is does.get(one.type, one.type)
            assert there.id == one.id
            assert all(there.factors[factor] == one.factors[factor] for factor in (Position, Size))
            assert (Consumes in there.factors) == (there.type.__name__ == "Hole")
            assert other.dials.called[there.type.__name__] == one.type.__name__
    name = real.levels.names[7]
    alone: Any = gym.make("gumption/PuttPutt-v0", **LEVELS, laws="counterfactual").unwrapped
    _, by_name = alone.reset(options={"level": name})
    _, by_number = alone.reset(options={"level": 7})
    assert by_name["scene"] == by_number["scene"]
    again = alone.reset(options={"scene": by_name["scene"]})[1]
    assert again["scene"] == by_name["scene"]  # a scene says what is in it


@pytest.mark.parametrize("levels", [None, "puttputt_default", "objectsx3-medium"])
def test_facts_follow_the_laws(levels) -> None:
    given = {} if levels is None else {"levels": levels}
    real, other = (
        {fact for fact in facts(partition="all", **given, laws=laws) if fact[1].startswith("affords")}
        for laws in ("real", "counterfactual")
    )
    called = Dials(laws="counterfactual").called
    assert other != real
    if levels is None:  # each thing by its defaults
        assert other == {(called[kind], effect, BALL) for kind, effect, _ in real}
        assert ("Hole", "affordsFallingIn", BALL) in real - other
    assert {fact for fact in other if fact[0] == "GoalTile"} == {fact for fact in real if fact[0] == "GoalTile"}


def test_a_memory_and_texts_have_the_names(tmp_path) -> None:
    env = RecordMemory(env_of(16, names="anonymous", laws="counterfactual"), tmp_path)
    trace(env)
    env.close()
    memory = Memory.load(tmp_path)
    called = set(Dials("anonymous", "counterfactual").called.values())
    assert set(memory.types[1:]) == called
    assert {one.thing for one in evidence(memory)} <= called
    single: Any = gym.make("gumption/PuttPutt-v0", render_mode="ansi", **LEVELS, names="anonymous").unwrapped
    single.reset(seed=0)
    assert not any(kind.__name__.lower() in single.render().lower() for kind in kinds())
    dialled: Any = gym.make("gumption/PuttPutt-v0", render_mode="rgb_array", **LEVELS, names="shuffled").unwrapped
    plain: Any = gym.make("gumption/PuttPutt-v0", render_mode="rgb_array", **LEVELS).unwrapped
    dialled.reset(seed=0), plain.reset(seed=0)
    assert not np.array_equal(dialled.render(), plain.render())


def test_bad_dials_are_refused() -> None:
    with pytest.raises(InputError, match="names is 'other'"):
        env_of(names="other")
    with pytest.raises(InputError, match="these levels have neither: take others, such as tilesx2-medium"):
        env_of(levels="empty-easy", laws="counterfactual")
    with pytest.raises(InputError, match="the task is about one of them: Billiards needs a Ball and a Hole"):
        gym.make("gumption/Billiards-v0", laws="counterfactual")
