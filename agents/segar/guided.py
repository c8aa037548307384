"""Agents that choose among pushes of PuttPutt, with knowledge and without, and the graphs that compare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import pi
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Tuple  # noqa: UP035  (as the paper's hints)

import gymnasium as gym
import numpy as np
import torch

from gumption.agents.advice import Advice
from gumption.agents.evaluation import Player
from gumption.agents.knowledge import Knowledge
from gumption.agents.settings import WorldConfig
from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.settings import Count, Seed, Size, checked
from gumption.envs import worlds
from gumption.envs.action_facts import ActionFacts
from gumption.envs.kg_wrapper import KG_SCORES, KGScores
from gumption.envs.physics.conditions import Contains, IsOn
from gumption.envs.physics.factors import Consumes, Done, Heat, Mass, Mobile, Visible
from gumption.envs.physics.rules import Rule, SetFactor, read_rule
from gumption.envs.priors import Laws, Names, other_than_real
from gumption.envs.record_memory import RecordMemory
from gumption.envs.segar.configurations import Split, draw_levels
from gumption.envs.segar.env import SegarVectorEnv
from gumption.envs.segar.facts import BALL, BURNING, FALLING, MEETING, REACHING, askable, facts
from gumption.envs.segar.memory import Memory, add_memory, memory_facts
from gumption.envs.segar.tasks import REACHED, diagonal
from gumption.kg import KnowledgeGraph
from gumption.kg.facts import PLACE, stated_name
from gumption.kg.scores import BinaryTable, RelationScores

ID = "gumption/PuttPutt-v0"
DIRECTIONS = 16
#: The ball, the goal and the tiles as numbers. It does not show which tile is a hole.
OBSERVATION = {
    "kind": "multimodal",
    "parts": {
        "ball": {"kind": "entity", "id": "golfball", "factors": ["Position", "Velocity", "Mass"]},
        "goal": {"kind": "entity", "id": "goal", "factors": ["Position"]},
        "tiles": {"kind": "tiles", "n_things": 4, "factors": ["Position", "Heat", "Friction"], "unique_ids": ["goal"]},
    },
}
#: The weights that people chose for the relations at the first place; at each further place they count half as much.
BY_HAND = {REACHING: 2.0, BURNING: -1.0, FALLING: -3.0}
#: The bound of scores in an observation. Look-up in a graph gives 0 or 1, and 0 for pushes that meet nothing.
BOUND = 1.0


@checked
def env_settings(
    levels: str,
    level_seed: Seed,
    num_levels: Size = 100,
    partition: Split = "train",
    names: Names = "real",
    laws: Laws = "real",
) -> dict[str, Any]:
    """Settings of an environment in which these agents play."""
    return {
        "levels": levels,
        "level_seed": level_seed,
        "num_levels": num_levels,
        "partition": partition,
        "directions": DIRECTIONS,
        "observation": OBSERVATION,
        **other_than_real(names=names, laws=laws),
    }


def level_env(where: Mapping[str, Any], partition: Split) -> Any:
    """An environment for each level; `where` are arguments of `env_settings`."""
    settings = env_settings(**where, partition=partition)
    return gym.make_vec(ID, num_envs=settings["num_levels"], **settings)


def advice_of(config: WorldConfig) -> Advice:
    """The advice of the config's knowledge."""
    env: Any = gym.make_vec(ID, num_envs=1, **dict(config.env)).unwrapped
    world = worlds.find(config.world)
    knowledge = Knowledge.of(config, world, env.vocabulary, env.relations, dict(config.env), device=config.device)
    return knowledge.advice(env.vocabulary, env.relations)


class PushOracle(Advice):
    """An oracle of pushes without a graph: 1 for a push after which the straight way leads over the goal's middle, by
    geometry alone, from the places of ball and goal, the ball's velocity and its mass in `OBSERVATION`.
    """

    def __init__(self) -> None:
        scores = RelationScores(["goal"], {"leadsOver": BinaryTable(torch.ones(1, 1))})
        super().__init__(scores, ["", "goal"], scores.relations)

    def __call__(self, env: Any, chosen: Any = None) -> torch.Tensor:
        """(B, A, 1) float32."""
        return self.score(self.facts(env, env.unwrapped.observe()))

    def facts(self, env: Any, seen: Mapping[str, np.ndarray]) -> ActionFacts:
        """(goal leadsOver goal) for these pushes. :param seen: (B, ...) an observation of `env`."""
        batch, ball = env.unwrapped, np.asarray(seen["ball"], dtype=float)
        turns = 2 * pi * np.arange(DIRECTIONS) / DIRECTIONS
        forces = np.concatenate([np.zeros((2, 1)), [np.cos(turns), np.sin(turns)]], axis=1) * batch.settings.action_max
        v = ball[:, 2:4, None] + forces / np.maximum(ball[:, 4:5, None], 1e-9)  # (B, 2, A)
        way = (np.asarray(seen["goal"], dtype=float) - ball[:, :2])[:, :, None]
        along, across = (v * way).sum(axis=1), v[:, 0] * way[:, 1] - v[:, 1] * way[:, 0]
        near = np.abs(across) <= REACHED * diagonal(batch.state)[:, None] * np.sqrt((v * v).sum(axis=1))
        leads = ((along > 0) & near).astype(np.int64)[:, :, None]
        return ActionFacts(self.relations, leads, leads, np.zeros_like(leads))


def by_hand(relations: Sequence[str]) -> dict[str, float]:
    """The weight of each relation by `BY_HAND`."""
    places = {relation: int(relation.partition(PLACE)[2]) for relation in relations}
    return {one: BY_HAND.get(stated_name(one), 0.0) / 2 ** (place - 1) for one, place in places.items()}


def follows_scores(advice: Advice, weights: Mapping[str, float] | None = None) -> Player:
    """A player that takes the push with the highest weighted sum of scores, one of the best at random, and learns
    nothing.

    :param weights: of the relations, 0 for the others; None adds up all scores as they are.
    """
    given = weights if weights is not None else dict.fromkeys(advice.relations, 1.0)
    factors = np.array([given.get(relation, 0.0) for relation in advice.relations])

    def player(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
        sums = advice(env).numpy() @ factors
        best = np.isclose(sums, sums.max(axis=1, keepdims=True))
        return np.where(best, env.np_random.random(sums.shape), -1.0).argmax(axis=1)

    return player


@checked
def train_ppo(
    settings: Mapping[str, Any], advice: Advice | None, total_steps: Count, seed: Seed, **parameters: Any
) -> Any:
    """PPO of Stable-Baselines3 on the same observations and pushes.

    :param settings: of the environment.
    :param advice: adds its scores to the observation.
    :param parameters: of PPO, where they differ from its defaults.
    """
    with extra("sb3", "PPO"):
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import VecNormalize

    from gumption.envs.sb3_adapter import SB3VecEnv

    env: Any = gym.make_vec(ID, num_envs=64, autoreset_mode="SameStep", **settings)
    asked = advice.facts if isinstance(advice, PushOracle) else None
    batch = SB3VecEnv(env if advice is None else KGScores(env, advice, asked, bound=BOUND))
    scaled = VecNormalize(batch, norm_obs=False)  # else the -100 of a ball that is destroyed drowns all other rewards
    return PPO("MultiInputPolicy", scaled, seed=seed, device="cpu", **parameters).learn(total_steps)


def ppo_player(model: Any, advice: Advice | None) -> Player:
    """A player that takes the most probable push of a model of `train_ppo`, trained with this advice."""

    def player(env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
        seen: Any = env.observe()
        if advice is not None:
            seen[KG_SCORES] = advice(env).numpy().clip(-BOUND, BOUND)
        return model.predict(seen, deterministic=True)[0]

    return player


# ---- Graphs beside the world's own facts: false ones, ones that say less, and one that was lived through


def swallow(
    thing: Tuple[Mobile, Done, Visible],  # noqa: UP006
    hot: Tuple[Heat],  # noqa: UP006
) -> Tuple[SetFactor[Done], SetFactor[Visible], SetFactor[Mobile]]:  # noqa: UP006
    """What lies on a hot tile as a whole falls in."""
    mobile, done, visible = thing
    (heat,) = hot
    falls = mobile & (heat > 0)
    return SetFactor(done, True, falls), SetFactor(visible, False, falls), SetFactor(mobile, False, falls)


def scorch(thing: Tuple[Mass, Mobile], hole: Tuple[Consumes]) -> SetFactor[Mass]:  # noqa: UP006
    """What lies over a hole loses 1 % of its mass in a step."""
    m, mobile = thing
    return SetFactor(m, 0.99 * m, where=mobile)


#: Built-in rules -> what takes their place: what is hot swallows, and a hole burns.
EXCHANGED: dict[str, Rule] = {"apply_burn": read_rule(scorch, IsOn()), "consume": read_rule(swallow, Contains())}

Facts = list[tuple[str, str, str]]
GOAL_FACT = ("GoalTile", REACHING, BALL)


def types_alone() -> Facts:
    """Which type of thing is met, without what it affords: an effect for each type of the tiles levels, an arbitrary
    one, so that each score tells one type.
    """
    names = ("GoalTile", "SandTile", "MagmaTile", "FireTile", "Hole")
    return [(name, effect, BALL) for name, effect in zip(names, MEETING.values(), strict=True)]


def facts_without_goal(levels: str, num_levels: int, level_seed: int) -> Facts:
    """All facts of these levels but that of the goal."""
    stated = facts(partition="all", levels=levels, num_levels=num_levels, level_seed=level_seed)
    return [fact for fact in stated if fact != GOAL_FACT]


def facts_of_other_rules(levels: str, num_levels: int, level_seed: int) -> Facts:
    """The facts of these levels under the rules `EXCHANGED`."""
    drawn = draw_levels(levels, "train", n=num_levels, seed=level_seed)
    scenes = []
    for scene in drawn.scenes:
        rules = tuple(EXCHANGED.get(one, one) if isinstance(one, str) else one for one in scene.sim.rules)
        scenes.append(replace(scene, sim=replace(scene.sim, rules=rules)))
    return list(facts(partition="all", levels=replace(drawn, scenes=tuple(scenes))))


def facts_of_random_play(levels: str, num_levels: int, level_seed: int) -> Facts:
    """What 9,600 steps of random forces on these levels show; see `memory_facts`."""
    where = {"levels": levels, "num_levels": num_levels, "level_seed": level_seed, "observation": "state"}
    env = gym.make_vec(ID, num_envs=64, **where)
    with TemporaryDirectory() as folder:
        return memory_facts(play_at_random(env, Path(folder) / "memory", 9_600, level_seed))


def play_at_random(env: Any, folder: Path, steps: int, seed: int) -> Memory:
    """The memory of so many steps of random forces, each at most 1, or of random pushes; it stays in the folder."""
    env, rng = RecordMemory(env, folder), np.random.default_rng(seed)
    count, pushes = env.num_envs, env.unwrapped.settings.directions
    env.reset(seed=seed)
    for _ in range(-(-steps // count)):
        env.step(rng.integers(pushes + 1, size=count) if pushes else rng.uniform(-1, 1, (count, 2)).astype(np.float32))
    env.close()
    return Memory.load(folder)


@checked
def live(folder: Path, levels: str, partition: Split, steps: Count, seed: Seed) -> Facts:
    """Push at random between gates, and keep the memory (in memory/) and what it shows (graph.nq), which is returned.

    :param partition: whose types of gates are met. :param steps: of 16 environments together.
    :param seed: of the levels and the pushes; evaluations have test levels with the seed 0.
    """
    if (folder / "memory").exists():
        raise InputError(f"{folder} holds a memory already, and facts would be counted twice: name another folder")
    where = {"task": "Gates", "levels": levels, "partition": partition, "num_levels": 200, "level_seed": seed}
    env = gym.make_vec("gumption/SEGAR-v0", num_envs=16, **where)
    memory, graph = play_at_random(env, folder / "memory", steps, seed), KnowledgeGraph()
    add_memory(graph, memory, folder.resolve().name)
    graph.save(folder / "graph.nq")
    return memory_facts(memory)


def lived_facts(steps: int, levels: str, num_levels: int, level_seed: int) -> Facts:
    """The facts of training, and what so many steps of random pushes in levels of another seed show of types of the
    test."""
    with TemporaryDirectory() as folder:
        lived = live(Path(folder), levels, "test", steps, level_seed + 1)
    return [*facts(partition="train", levels=levels), *lived]


#: Name -> the facts of a graph, for (levels, num_levels, level_seed).
GRAPHS: dict[str, Callable[[str, int, int], Facts]] = {
    "one-fact": lambda *_: [GOAL_FACT],
    "types": lambda *_: types_alone(),
    "everything": lambda *_: askable(),
    "no-goal": facts_without_goal,
    "other-rules": facts_of_other_rules,
    "memory": facts_of_random_play,
    "exchanged": lambda levels, *_: list(facts(partition="all", levels=levels, names="shuffled")),
    "other-laws": lambda levels, *_: list(facts(partition="all", levels=levels, laws="counterfactual")),
    **{f"lived-{steps}": partial(lived_facts, steps) for steps in (400, 1_600, 6_400)},
}
