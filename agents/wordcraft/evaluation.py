"""Zero-shot success: every task of a partition, several tables each, the best action always."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gumption.data.settings import Count, Seed, Whole, checked
from gumption.envs.wordcraft import WordCraftVectorEnv

from .policy import Policy

MAX_BATCH = 4096
Act = Callable[[WordCraftVectorEnv], np.ndarray]


def evaluation_env(settings: dict[str, Any], tasks: int, *, alternatives: bool = False) -> WordCraftVectorEnv:
    """An environment for `play`, with room for so many tasks at a time."""
    return WordCraftVectorEnv(min(max(tasks, 1), MAX_BATCH), **{**settings, "alternatives": alternatives})


@checked
def play(act: Act, env: WordCraftVectorEnv, tasks: np.ndarray, draws: Count = 1, seed: Seed = 0) -> dict[str, float]:
    """Play `draws` tables of each task; parameters as of `play_episodes`.

    :returns: "success", the share of episodes in which the goal was made, and "same_slot_twice", the share lost after
        selecting one slot twice in the first mix.
    """
    won, lost_on_same = play_episodes(act, env, tasks, draws, seed)
    return {"success": int(won.sum()) / len(won), "same_slot_twice": int(lost_on_same.sum()) / len(won)}


@checked
def play_episodes(
    act: Act, env: WordCraftVectorEnv, tasks: np.ndarray, draws: Count = 1, seed: Seed = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Play `draws` tables of each task, by a function from the environment to the (B,) slots to choose.

    :param tasks: (n,) indices into `env.tasks`.
    :returns: (n * draws,) bool, the goal was made; it was not, after selecting one slot twice in the first mix. The
        episodes of a task stand together.
    """
    env.reset(seed=seed)
    episodes = np.repeat(tasks, draws)
    won, lost_on_same = np.zeros((2, len(episodes)), dtype=bool)
    for start in range(0, len(episodes), env.num_envs):
        part = episodes[start : start + env.num_envs]
        env.set_tasks(part)
        over = np.zeros(env.num_envs, dtype=bool)
        over[len(part) :] = True  # these environments play on, uncounted
        success = np.zeros_like(over)
        choices: list[np.ndarray] = []
        while not over.all():
            choices.append(act(env))
            _, done, made = env.step_arrays(choices[-1])
            success |= made & ~over
            over |= done
        here = slice(start, start + len(part))
        won[here] = success[: len(part)]
        lost_on_same[here] = ((choices[0] == choices[1]) & ~success)[: len(part)]
    return won, lost_on_same


@torch.no_grad()
@checked
def success_rate(
    policy: Policy, env: WordCraftVectorEnv, tasks: np.ndarray, draws: Count = 1, seed: Seed = 0
) -> dict[str, float]:
    """`play` with a policy's most probable actions; the policy is left in the mode it was in."""
    was_training = policy.training
    policy.eval()
    found = play(lambda env: policy(policy.read(env)).logits.argmax(1).cpu().numpy(), env, tasks, draws, seed)
    policy.train(was_training)
    return found


@torch.no_grad()
@checked
def explain_episode(
    policy: Policy, env: WordCraftVectorEnv, task: Whole | None = None, seed: Seed = 0
) -> list[dict[str, Any]]:
    """One greedy episode told step by step.

    :param env: with one environment; its partition decides which task is drawn where none is given.
    :returns: for each step goal, table, selection and chosen as names, "success" after it, and "slots": for each
        entity on the table its attention, its relation scores by name, the mixed logit and the probability.
    """
    policy.eval()
    env.reset(seed=seed)
    if task is not None:
        env.set_tasks(np.array([task]))
    steps: list[dict[str, Any]] = []
    done = False
    while not done:
        told = env.describe(0)
        state = policy.read(env)
        readout = policy(state)
        probabilities = readout.logits.softmax(1)[0].tolist()
        channels = () if policy.advice is None else policy.advice.relations
        slots = [
            {
                "entity": name,
                "attention": float(readout.attention[0, slot]),
                **{channel: float(state.scores[0, slot, k]) for k, channel in enumerate(channels)},
                "mixed": float(readout.logits[0, slot]),
                "probability": probabilities[slot],
            }
            for slot, name in enumerate(told["table"])
        ]
        best = int(readout.logits[0].argmax())
        _, over, won = env.step_arrays(np.array([best]))
        done = bool(over[0])
        steps.append(
            {
                "goal": told["goal"],
                "table": told["table"],
                "selection": told["selection"],
                "chosen": told["table"][best],
                "success": bool(won[0]),
                "slots": slots,
            }
        )
    return steps
