"""What a result is compared with: random choices, knowledge without learning, learning without knowledge, and the true
recipes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.envs.wordcraft import WordCraftVectorEnv

from .config import TrainConfig
from .evaluation import evaluation_env, play, success_rate
from .policy import Policy
from .setup import WordCraftSetup

Figures = dict[str, float]


@checked
def random_success(config: TrainConfig, episodes_per_task: Count = 10, seed: Seed = 0) -> Figures:
    """Choosing among the occupied slots, each alike."""
    return _both(config, lambda env, tasks: play(_random_actions, env, tasks, episodes_per_task, seed))


@checked
def oracle_success(config: TrainConfig, episodes_per_task: Count = 10, seed: Seed = 0) -> Figures:
    """Choosing by the recipe book: each mix is one that the task's own recipes say."""
    return _both(config, lambda env, tasks: play(_oracle_actions, env, tasks, episodes_per_task, seed))


@checked
def kg_only_success(config: TrainConfig, episodes_per_task: Count = 10, seed: Seed = 0) -> Figures:
    """Choosing by the config's relation scores alone; nothing is learned (C.4)."""
    config = replace(config, kg_only=True, cross_fit=False, mixing="linear")
    policy = WordCraftSetup(config).policy()
    return _both(config, lambda env, tasks: success_rate(policy, env, tasks, episodes_per_task, seed))


@checked
def untrained_success(config: TrainConfig, episodes_per_task: Count = 10, seed: Seed = 0) -> Figures:
    """Choosing by the network with which training begins, with the config's knowledge if it has any."""
    setup = WordCraftSetup(replace(config, cross_fit=False))  # held-out scores are for learning
    with torch.random.fork_rng(devices=[] if not torch.cuda.is_available() else None):
        torch.manual_seed(config.seed)
        policy = setup.policy()
    return _both(config, lambda env, tasks: success_rate(policy, env, tasks, episodes_per_task, seed))


@torch.no_grad()
@checked
def without_knowledge_success(
    config: TrainConfig, policy: Policy, episodes_per_task: Count = 10, seed: Seed = 0
) -> Figures:
    """Choosing by a trained policy whose knowledge is taken away: every relation score that it reads is 0.

    :raises InputError: a policy without knowledge.
    """
    if config.kg == "none":
        raise InputError("this policy has no knowledge that could be taken away")
    policy.eval()

    def act(env: WordCraftVectorEnv) -> np.ndarray:
        state = policy.read(env)
        readout = policy(state._replace(scores=torch.zeros_like(state.scores)))
        return readout.logits.argmax(1).cpu().numpy()

    return _both(config, lambda env, tasks: play(act, env, tasks, episodes_per_task, seed))


def _both(config: TrainConfig, measure: Callable[[WordCraftVectorEnv, np.ndarray], Figures]) -> Figures:
    """The figures of a finished run: on test and training tasks, and where tables may offer another way."""
    found: list[Figures] = []
    for partition, alternatives in (("test", False), ("train", False), ("test", True)):
        settings = config.env_settings(partition)
        tasks = WordCraftVectorEnv(1, **settings).split.tasks(partition)
        found.append(measure(evaluation_env(settings, len(tasks), alternatives=alternatives), tasks))
    return {
        "test_success": found[0]["success"],
        "train_success": found[1]["success"],
        "test_success_alternatives": found[2]["success"],
        "same_slot_twice": found[0]["same_slot_twice"],
    }


def _random_actions(env: WordCraftVectorEnv) -> np.ndarray:
    return env.random_actions()


def _oracle_actions(env: WordCraftVectorEnv) -> np.ndarray:
    """For each environment the slot of an ingredient of the first recipe of its task whose product is still to make
    and whose ingredients are on the table; the second ingredient once the first is selected."""
    recipes = env.tasks.recipes[env.task_index]  # (B, depth), rows of the book
    a, b, product = (np.moveaxis(env.book.recipes[recipes], 2, 0) + 1).astype(np.int64)
    table = env.table

    def there(entity: np.ndarray) -> np.ndarray:
        return (table[:, None, :] == entity[..., None]).any(2)

    open_now = there(a) & there(b) & ~there(product)
    row = np.arange(len(table))
    chosen = open_now.argmax(1)
    first, second = a[row, chosen], b[row, chosen]
    wanted = np.where(env.selection == 0, first, np.where(env.selection == first, second, first))
    return (table == wanted[:, None]).argmax(1)
