"""What every registered world keeps to: the list of worlds is read, and none is named here."""

import copy
import json
import os
import pickle
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordVideo

import gumption.envs  # noqa: F401  (registers)
from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs import worlds
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.native import NativeEnv
from gumption.envs.worlds import Environment, World
from gumption.kg import KnowledgeGraph, RelationScores
from gumption.kg.facts import relation_labels, relation_name
from gumption.kg.scores import BinaryTable

ENVIRONMENTS = list(worlds.environments())
LOOKS = [
    pytest.param(environment, {**environment.small, **look}, id=f"{environment.id} {look or ''}".strip())
    for _, environment in ENVIRONMENTS
    for look in ({}, *environment.variants)
]
WITH_FACTS = [pytest.param(world, id=world.name) for world in worlds.known().values() if "facts" in world.offers]
PLAY = """
import hashlib, json, sys
import gymnasium as gym, numpy as np
import gumption.envs
def take(part):
    for array in part.values() if isinstance(part, dict) else [part]:
        told.update(np.ascontiguousarray(array).tobytes())
for name, settings in json.loads(sys.argv[1]):
    envs = gym.make_vec(name, num_envs=4, **settings)
    told = hashlib.sha256()
    take(envs.reset(seed=5)[0])
    envs.action_space.seed(5)
    own = getattr(envs.unwrapped, "random_actions", envs.action_space.sample)
    for _ in range(40):
        observation, reward, *_ = envs.step(own())
        take(observation)
        take(reward)
    told.update(repr(sorted(gym.make(name, **settings).reset(seed=1)[1].items(), key=str)).encode())
    facts = envs.unwrapped.action_facts()
    told.update(repr((facts.labels(envs.unwrapped.vocabulary), envs.unwrapped.vocabulary[:50])).encode())
    print(name, settings, told.hexdigest())
"""


def choose(env: Any, mask: np.ndarray, rng: np.random.Generator) -> Any:
    """A random action that the mask allows: a choice, or one for each part of it; in a box any."""
    if isinstance(env.action_space, gym.spaces.Discrete):
        return int(rng.choice(np.flatnonzero(mask)))
    if isinstance(env.action_space, gym.spaces.Box):
        return rng.uniform(env.action_space.low, env.action_space.high).astype(env.action_space.dtype)
    parts = np.split(mask, np.cumsum(env.action_space.nvec)[:-1])
    return np.array([rng.choice(np.flatnonzero(part)) for part in parts])


def trace(env: Any, seed: int, steps: int = 60) -> list[Any]:
    """Masks, rewards and ends of random valid play."""
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=seed)
    seen = []
    for _ in range(steps):
        mask = info["action_mask"]
        _, reward, terminated, truncated, info = env.step(choose(env, mask, rng))
        seen.append((mask.tolist(), reward, terminated, truncated))
        if terminated or truncated:
            _, info = env.reset()
    return seen


@pytest.mark.parametrize("world", worlds.known().values(), ids=lambda world: world.name)
def test_facts_of_a_world_is_a_function_whatever_is_imported_first(world: World) -> None:
    name = f"gumption.envs.{world.name}"
    code = f"import {name}.facts, {name}.env; from {name} import facts; print(type(facts).__name__)"
    played = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert played.stdout.strip() == "function", played.stderr


@pytest.mark.parametrize(("environment", "settings"), LOOKS)
def test_environments(environment: Environment, settings: Mapping[str, Any]) -> None:
    env: Any = gym.make(environment.id, **settings).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for unit in ("symmetric and normalized", "is -infinity", "is infinity"):  # forces and velocities have units
            warnings.filterwarnings("ignore", message=f".*{unit}")
        check_env(env)
    assert isinstance(env, NativeEnv)
    assert trace(env, 3) == trace(gym.make(environment.id, **settings).unwrapped, 3)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert info["action_mask"].dtype == np.int8
    assert np.array_equal(info["action_mask"], env.action_masks())
    assert env.action_masks().dtype == bool
    text = type(env).__doc__ or ""
    assert all(part in text for part in ("Description:", "Observation", "Actions:", "Reward", "Termination:", "Info:"))


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "settings"), LOOKS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_copies_go_on_as_the_original_does(environment: Environment, settings: Mapping[str, Any], copied: Any) -> None:
    for env in (gym.make(environment.id, **settings), gym.make_vec(environment.id, num_envs=3, **settings)):
        env.reset(seed=1)
        env.action_space.seed(1)
        begun = env.step(env.action_space.sample())
        again = copied(env)
        for _ in range(5):
            if env.unwrapped is not env and (begun[2] or begun[3]):  # a single env, whose episode has ended
                assert repr(env.reset()) == repr(again.reset())
            action = env.action_space.sample()
            begun = env.step(action)
            assert repr(begun) == repr(again.step(action))


@pytest.mark.parametrize(("environment", "settings"), LOOKS)
def test_stable_baselines3_takes_them(environment: Environment, settings: Mapping[str, Any]) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checker.check_env(gym.make(environment.id, **settings).unwrapped, warn=False)


@pytest.mark.parametrize(("environment", "settings"), LOOKS)
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_autoreset(environment: Environment, settings: Mapping[str, Any], mode: AutoresetMode) -> None:
    """The modes differ in when the next episode begins, and in what is told of the one that ended."""
    envs = gym.make_vec(environment.id, num_envs=3, autoreset_mode=mode, **settings)
    envs.reset(seed=2)
    rng = np.random.default_rng(1)
    ended = False
    for _ in range(700):
        mask = envs.unwrapped.info_arrays()["action_mask"]
        actions = np.stack([choose(_Single(envs), row, rng) for row in mask])
        _, _, terminated, truncated, infos = envs.step(actions)
        over = terminated | truncated
        if over.any():
            ended = True
            if mode == AutoresetMode.SAME_STEP:
                assert np.array_equal(infos["_final_obs"], over)
                assert all((infos["final_obs"][i] is not None) == over[i] for i in range(3))
            elif mode == AutoresetMode.DISABLED:
                with pytest.raises(gym.error.ResetNeeded):
                    envs.step(actions)
                envs.reset(options={"reset_mask": over})
            break
    assert ended


class _Single:
    """The action space of one of a batch, for `choose`."""

    def __init__(self, envs: Any) -> None:
        self.action_space = envs.single_action_space


@pytest.mark.parametrize(("environment", "settings"), LOOKS)
def test_actions_that_are_none_of_the_space_are_refused_and_nothing_happens(
    environment: Environment, settings: Mapping[str, Any]
) -> None:
    single, envs = gym.make(environment.id, **settings).unwrapped, gym.make_vec(environment.id, num_envs=2, **settings)
    space = single.action_space
    action = space.sample()
    wrong: list[Any] = [None, "1", [], np.nan, True, {}, object(), np.zeros((2, 2, 2))]
    if not isinstance(space, gym.spaces.Box):  # whose numbers are clipped to its bounds
        most = space.n if isinstance(space, gym.spaces.Discrete) else space.nvec
        wrong += [action * 0 + bad for bad in (-1, 10**9, -(2**62))] + [action * 0 + most, action + 0.5]
        wrong += [np.full(np.shape(action), 10**30, dtype=object), np.full(np.shape(action), 2**63, dtype=np.uint64)]
    single.reset(seed=0)
    envs.reset(seed=0)
    before = repr((single.batch.describe(0), envs.unwrapped.info_arrays()))
    for bad in wrong:
        with pytest.raises(InputError):
            single.step(bad)
        for step in (envs.step, envs.unwrapped.step_arrays):
            for actions in (bad, [action, None if bad is True else bad]):  # NumPy reads [3, True] as numbers
                with pytest.raises(InputError):
                    step(actions)
    assert repr((single.batch.describe(0), envs.unwrapped.info_arrays())) == before


def lives(envs: Any, steps: int = 12) -> list[Any]:
    """Masks, rewards and ends of the same play from where the environments are now."""
    rng, seen = np.random.default_rng(0), []
    for _ in range(steps):
        mask = mask_of(envs.unwrapped)
        seen += [mask, *envs.step(np.stack([choose(_Single(envs), row, rng) for row in mask]))[1:4]]
    return [part.tolist() for part in seen]


@pytest.mark.parametrize(("environment", "settings"), LOOKS)
def test_each_environment_begins_with_the_episode_of_its_own_seed(
    environment: Environment, settings: Mapping[str, Any]
) -> None:
    def begun(i: int, env: Any) -> str:
        facts = env.action_facts(parts_of_choices(envs.unwrapped)[0] if env is envs else None)
        return repr([part[i].tolist() for part in (facts.subject, facts.object, facts.given)])

    envs: Any = gym.make_vec(environment.id, num_envs=3, **settings)
    envs.reset(seed=[7, 3, 7])
    alone = gym.make(environment.id, **settings).unwrapped
    for i, seed in enumerate([7, 3, 7]):
        alone.reset(seed=seed)
        assert begun(i, envs.unwrapped) == begun(0, alone)
    played = lives(envs)
    envs.reset(seed=np.array([7, 3, 7]))
    assert lives(envs) == played
    envs.reset(seed=[1, 5, 2])
    kept = begun(0, envs.unwrapped), begun(2, envs.unwrapped)
    envs.reset(seed=[None, 3, 8], options={"reset_mask": np.array([False, True, False])})
    alone.reset(seed=3)
    assert begun(1, envs.unwrapped) == begun(0, alone)
    assert (begun(0, envs.unwrapped), begun(2, envs.unwrapped)) == kept
    for seeds in ([1, 2], [1, 2, -1], [1, 2, "x"], [1, 2, 0.5], [], [[1], [2], [3]]):
        with pytest.raises(InputError, match="seed"):
            envs.reset(seed=seeds)


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "settings"), LOOKS)
@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_frames(environment: Environment, settings: Mapping[str, Any], mode: str) -> None:
    env = gym.make(environment.id, render_mode=mode, **settings).unwrapped
    env.reset(seed=0)
    frame: Any = env.render()
    assert isinstance(frame, str) if mode == "ansi" else frame.dtype == np.uint8
    envs = gym.make_vec(environment.id, num_envs=3, render_mode=mode, **settings)
    envs.reset(seed=0)
    assert len(envs.render() or ()) == 3


def test_gymnasium_records_a_video(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    environment = ENVIRONMENTS[0][1]
    env = RecordVideo(gym.make(environment.id, render_mode="rgb_array", **environment.small), str(tmp_path / "videos"))
    env.reset(seed=0)
    while not any(env.step(env.action_space.sample())[2:4]):
        pass
    env.close()
    assert (tmp_path / "videos" / "rl-video-episode-0.mp4").stat().st_size > 1_000


@pytest.mark.slow
def test_the_order_of_hashes_does_not_matter() -> None:
    looks = json.dumps([(environment.id, dict(settings)) for environment, settings in (look.values for look in LOOKS)])
    told = [
        subprocess.run(
            [sys.executable, "-c", PLAY, looks],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for seed in ("1", "2")
    ]
    assert len(told[0]) == len(LOOKS)
    assert told[0] == told[1]


# ---- knowledge


def parts_of_choices(env: Any) -> list[np.ndarray | None]:
    """For worlds that choose in steps a part of an action of each length, else None alone."""
    if isinstance(env.single_action_space, gym.spaces.Discrete | gym.spaces.Box):
        return [None]
    actions = env.single_action_space.nvec
    rng = np.random.default_rng(0)
    whole = rng.integers(actions, size=(env.num_envs, len(actions)))
    return [whole[:, :t] for t in range(len(actions))]


@pytest.mark.parametrize(("environment", "settings"), LOOKS)
def test_action_facts_are_ids_of_the_vocabulary(environment: Environment, settings: Mapping[str, Any]) -> None:
    envs = gym.make_vec(environment.id, num_envs=5, **settings).unwrapped
    envs.reset(seed=0)
    single = gym.make(environment.id, **settings).unwrapped
    vocabulary, names = envs.vocabulary, [relation_name(relation) for relation in envs.relations]
    assert vocabulary[0] == ""
    assert len(set(vocabulary)) == len(vocabulary)
    single.reset(seed=0)
    assert single.vocabulary == vocabulary
    assert len(single.action_facts().subject) == 1
    stated = 0
    for chosen in parts_of_choices(envs):
        facts = envs.action_facts(chosen)
        assert facts.relations == tuple(names)
        shape = facts.subject.shape
        assert shape[0] == 5
        assert shape[2] == len(names)
        for ids in (facts.subject, facts.object, facts.given):
            assert ids.shape == shape
            assert ids.dtype == np.int64
            assert 0 <= ids.min() <= ids.max() < len(vocabulary)
        for b in range(5):  # the label form says the same, one label at a time
            labels = facts.labels(vocabulary, b)
            assert len(labels) == shape[1]
            for a, named in enumerate(labels):
                pairs = [(facts.subject[b, a, k], names[k], facts.object[b, a, k]) for k in range(shape[2])]
                expected = [(vocabulary[s], name, vocabulary[o]) for s, name, o in pairs if s and o]
                assert [fact[:3] for fact in named] == expected
                stated += len(named)
    after = envs.unwrapped
    if stated == 0:  # nothing speaks for the first choice of an episode: the second has facts
        after.step(np.stack([choose(_Single(envs), row, np.random.default_rng(0)) for row in mask_of(after)]))
        stated = sum(map(len, after.action_facts().labels(vocabulary, 0)))
    assert stated


@pytest.mark.parametrize(("environment", "settings"), LOOKS)
def test_scores_are_as_they_are_said_where_nothing_is_chosen(
    environment: Environment, settings: Mapping[str, Any]
) -> None:
    """What fills a role already has ids of the vocabulary. The scores of environments where nothing does, and so those
    of worlds whose choices are whole actions, are the scorer's to the bit."""
    envs = gym.make_vec(environment.id, num_envs=5, **settings).unwrapped
    envs.reset(seed=0)
    size, names = len(envs.vocabulary) - 1, list(map(relation_name, envs.relations))
    table = BinaryTable(torch.randn(size, size, generator=torch.Generator().manual_seed(0)))
    scores = RelationScores(envs.vocabulary[1:], dict.fromkeys(names, table))
    rng, plain = np.random.default_rng(0), 0
    for _ in range(4):
        for prefix in parts_of_choices(envs):
            facts = envs.action_facts(prefix)
            chosen = facts.chosen
            assert chosen.dtype.kind in "iu"
            assert (chosen.ndim, len(chosen)) == (2, 5)
            assert 0 <= chosen.min(initial=0) <= chosen.max(initial=0) < len(envs.vocabulary)
            found, expected = (scores.action_scores(one) for one in (facts, facts._replace(chosen=None)))
            none = ~chosen.any(axis=1)
            assert torch.equal(found[none], expected[none])
            plain += int(none.sum())
        envs.step(np.stack([choose(_Single(envs), row, rng) for row in mask_of(envs)]))
    assert plain


def mask_of(envs: Any) -> np.ndarray:
    return envs.info_arrays()["action_mask"]


@pytest.mark.parametrize("world", WITH_FACTS)
def test_training_facts_hold_nothing_of_the_test(world: World) -> None:
    parts = {part: set(world.facts(part)) for part in ("train", "test", "all")}
    assert parts["train"]
    assert parts["test"]
    assert not parts["train"] & parts["test"]
    assert parts["train"] | parts["test"] <= parts["all"]
    assert list(world.facts("train")) == sorted(parts["train"])
    with pytest.raises(TypeError):
        world.get("facts")()
    with pytest.raises(InputError):
        world.facts("nowhere")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "environment"),
    [
        pytest.param(world, environment, id=environment.id)
        for world, environment in ENVIRONMENTS
        if environment.margin is not None
    ],
)
def test_an_agent_that_follows_all_facts_alone_is_better_than_a_random_one(
    world: World, environment: Environment
) -> None:
    graph = KnowledgeGraph()
    graph.add(world.facts("all"))
    envs = gym.make_vec(environment.id, num_envs=64, **environment.small).unwrapped
    advice = Advice(graph, envs.vocabulary, envs.relations)
    guided, random = (mean_reward(envs, given) for given in (advice, None))
    assert environment.margin is not None
    assert guided > random + environment.margin, (guided, random)


# ---- the two dials


BY_NAMES = [pytest.param(world, one, names, id=f"{one.id} {names}")
            for world, one in ENVIRONMENTS for names in ("anonymous", "shuffled")]  # fmt: skip
WITH_MARGIN = [pytest.param(world, one, id=one.id) for world, one in ENVIRONMENTS if one.margin is not None]


def lived(environment: Environment, steps: int = 40, **dials: str) -> tuple[Any, list[np.ndarray]]:
    """An environment of 4, and the masks, rewards and ends of random play in it. Where actions are letters themselves,
    which names exchange, no letter that is said with this seed is right by any name."""
    envs = gym.make_vec(environment.id, num_envs=4, **{**environment.small, **dials}).unwrapped
    envs.reset(seed=1)
    rng, told = np.random.default_rng(0), []
    for _ in range(steps):
        mask = mask_of(envs)
        actions = np.stack([choose(_Single(envs), row, rng) for row in mask])
        told += [mask, *envs.step(actions)[1:4]]
    return envs, told


def differ(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> bool:
    return not all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("world", "environment", "names"), BY_NAMES)
def test_names_change_what_things_are_called_and_nothing_else(
    world: World, environment: Environment, names: str
) -> None:
    (real, before), (other, after) = lived(environment), lived(environment, names=names)
    assert not differ(before, after)
    assert (real.single_action_space, real.relations) == (other.single_action_space, other.relations)
    assert len(real.vocabulary) == len(other.vocabulary)
    one, same = real.action_facts(), other.action_facts()
    assert one.subject.shape == same.subject.shape
    assert np.array_equal(one.subject > 0, same.subject > 0)
    called = {name: world.played({"names": name}) for name in ("real", names)}
    stated = [Counter(relation for _, relation, _ in world.facts("all", **given)) for given in called.values()]
    assert stated[0] == stated[1]


@pytest.mark.slow
@pytest.mark.parametrize(("world", "environment"), [pytest.param(*each, id=each[1].id) for each in ENVIRONMENTS])
def test_laws_change_what_happens_or_what_is_true_or_are_refused(world: World, environment: Environment) -> None:
    try:
        after = lived(environment, laws="counterfactual")[1]
    except InputError as error:
        assert str(error).startswith("laws='counterfactual' ")  # noqa: PT017  (a world may refuse it, and say why)
        return
    asked = world.played({"laws": "counterfactual"})
    true, other = (set(world.facts("all", **given)) for given in ({}, asked))
    assert true != other or differ(lived(environment)[1], after)


@pytest.mark.parametrize(("world", "environment"), [pytest.param(*each, id=each[1].id) for each in ENVIRONMENTS])
def test_a_dial_has_no_other_settings(world: World, environment: Environment) -> None:
    for dial in ("names", "laws"):
        with pytest.raises(InputError, match=f"{dial} is 'surreal'"):
            gym.make(environment.id, **{**environment.small, dial: "surreal"})


@pytest.mark.slow
@pytest.mark.parametrize(("world", "environment"), WITH_MARGIN)
def test_facts_of_the_world_itself_are_worth_the_same_by_all_names_and_those_of_the_real_one_less(
    world: World, environment: Environment
) -> None:
    assert environment.margin is not None

    def worth(dials: Mapping[str, str], known: Mapping[str, str]) -> float:
        envs = gym.make_vec(environment.id, num_envs=32, **{**environment.small, **dials}).unwrapped
        graph = KnowledgeGraph()
        graph.add(world.facts("all", **world.played(known)))
        return mean_reward(envs, Advice(graph, envs.vocabulary, envs.relations), 100)

    def asked(known: Mapping[str, str]) -> set[tuple[str, str, str]]:
        named = relation_labels(gym.make(environment.id, **environment.small).unwrapped.relations)
        return {fact for fact in world.facts("all", **world.played(known)) if fact[1] in named}

    real = worth({}, {})
    for dials in ({"names": "shuffled"}, {"names": "anonymous"}):
        assert worth(dials, dials) == real
    for dials in ({"names": "shuffled"}, {"laws": "counterfactual"}):
        mine, brought = worth(dials, dials), worth(dials, {})
        if asked(dials) == asked({}):  # what is asked for does not depend on the dial
            assert brought == mine
        else:  # where facts are worth little, other things may be told to be as good
            assert brought < mine if environment.margin > 0.1 else brought <= mine


def mean_reward(envs: Any, advice: Advice | None, steps: int = 200) -> float:
    """Reward a step of choices that the facts speak most for, ties broken at random, or of random open ones."""
    envs.reset(seed=3)
    rng, total = np.random.default_rng(0), 0.0
    for _ in range(steps):
        parts = 1 if isinstance(envs.single_action_space, gym.spaces.Discrete) else len(envs.single_action_space.nvec)
        chosen = np.zeros((envs.num_envs, 0), dtype=np.int64)
        for _ in range(parts):
            given = chosen if parts > 1 else None
            shape = envs.action_facts(given).subject.shape[:2]
            scores = np.zeros(shape) if advice is None else advice(envs, given).sum(2).numpy()
            noise = rng.random(shape) * 0.01
            if parts == 1:
                noise = np.where(mask_of(envs).astype(bool), noise, -np.inf)
            chosen = np.concatenate([chosen, (scores + noise).argmax(1)[:, None]], axis=1)
        reward, *_ = envs.step_arrays(chosen if parts > 1 else chosen[:, 0])
        total += float(reward.mean())
    return total / steps


@pytest.mark.parametrize(("environment", "settings"), LOOKS)
def test_scores_of_nothing_are_neutral(environment: Environment, settings: Mapping[str, Any]) -> None:
    """Whatever is known, a fact without a subject or an object has the score 0, and all others what is said of them."""

    class Sure:
        def __init__(self, relations: Sequence[str]) -> None:
            self.relations = tuple(relations)

        def score(self, facts: Any) -> np.ndarray:
            return np.full(facts.subject.shape, -3.0, dtype=np.float32)

    env: Any = gym.make_vec(environment.id, num_envs=4, **settings)
    env.reset(seed=0)
    asked = env.unwrapped.action_facts()
    scored = KGScores(env, Sure(asked.relations))
    observation, _ = scored.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(10):
        facts = env.unwrapped.action_facts()
        nothing = (facts.subject == 0) | (facts.object == 0)
        assert np.array_equal(observation["kg_scores"], np.where(nothing, 0.0, -3.0))
        mask = env.unwrapped.info_arrays()["action_mask"]
        actions = np.stack([choose(_Single(env), row, rng) for row in mask])
        observation, *_ = scored.step(actions)
