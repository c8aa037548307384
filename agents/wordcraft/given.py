"""Agents that are not ours in WordCraft: how often a function of a user's makes the goal of tasks of a partition."""

from typing import Any

import numpy as np

from gumption.agents.given_policy import GivenPolicy, Policy
from gumption.agents.statistics import bootstrap_interval
from gumption.data.settings import Count, Seed, checked
from gumption.envs.wordcraft import WordCraftVectorEnv

from .evaluation import evaluation_env, play_episodes


@checked
def evaluate_policy(
    policy: Policy,
    *,
    partition: str = "test",
    draws: Count = 10,
    seed: Seed = 0,
    single: bool = False,
    name: str | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Play `draws` tables of each task of a partition with a policy (observation, info) -> slot; see `GivenPolicy`.

    Observation and info are those of the environment (`WordCraftVectorEnv`; with `single` `WordCraftEnv`, whose info
    has names), and info["first"] says where an episode begins.

    :param settings: of the environment, see `WordCraftSettings`; `split` may be a split file.
    :param single: the policy is for one environment: its observation, info and slot have no leading axis.
    :returns: "success", with "low" and "high" the 95 % bootstrap interval over the tasks (None for one task),
        "same_slot_twice", "tasks", "episodes", the settings, and the split's parameters and sha256.
    :raises InputError: bad settings, or a policy that returns no slots.
    """
    settings = {**settings, "partition": partition}
    alternatives = settings.pop("alternatives", False)
    split = WordCraftVectorEnv(1, **settings).split
    tasks = split.tasks(partition)
    env = evaluation_env(settings, 1 if single else len(tasks) * draws, alternatives=alternatives)
    given = GivenPolicy(policy, env.single_action_space, single=single, name=name)
    step = 0

    def act(env: WordCraftVectorEnv) -> np.ndarray:
        nonlocal step
        first = env.episode_begins()
        step = 1 if first.all() else step + 1
        # What `describe` gives is without the leading axis, which `single` takes off again.
        told = {key: [value] for key, value in env.describe(0).items()} if single else env.info_arrays()
        return given.actions(env.observe(), {**told, "first": first}, env.num_envs, f"step {step} of an episode")

    won, lost_on_same = play_episodes(act, env, tasks, draws, seed)
    per_task = won.reshape(-1, draws).mean(axis=1)
    interval = bootstrap_interval(per_task, resamples=max(100, min(5000, 20_000_000 // len(tasks))))
    alone = len(tasks) < 2
    return {
        "policy": given.name,
        "success": int(won.sum()) / len(won),
        "low": None if alone else round(interval.low, 5),
        "high": None if alone else round(interval.high, 5),
        "same_slot_twice": int(lost_on_same.sum()) / len(won),
        "tasks": len(tasks),
        "episodes": len(won),
        "partition": partition,
        "draws": draws,
        "seed": seed,
        "alternatives": alternatives,
        "num_distractors": env.world.settings.num_distractors,
        "split": {**split.parameters, "sha256": split.hash},
    }
