"""Runs of WordCraft: loaded to act again, and evaluated on the tasks of their split."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from gumption.agents.knowledge import Knowledge
from gumption.agents.learner_state import put_network, saved_network
from gumption.agents.run import RunResult
from gumption.agents.run_folder import KNOWLEDGE, RunFolder, read_config, read_final, read_metrics
from gumption.data import InputError
from gumption.data.settings import Count, Seed, Whole, checked
from gumption.envs.wordcraft import WordCraftVectorEnv
from gumption.envs.wordcraft.tasks import Depth
from gumption.kg.checkpoint import pick_device

from .config import TrainConfig
from .evaluation import evaluation_env, success_rate
from .policy import Policy, build_policy


def load_result(run_dir: str | Path) -> RunResult:
    """A complete run, without its policy; InputError where it is not complete."""
    run_dir = Path(run_dir)
    final = read_final(run_dir)
    return RunResult(read_config(run_dir, TrainConfig), final, read_metrics(run_dir), run_dir)


def load_policy(
    run_dir: str | Path,
    *,
    recipe_book: str | None = None,
    device: str | None = None,
    network: nn.Module | None = None,
) -> tuple[TrainConfig, Policy]:
    """The policy of a run's last checkpoint, ready to act, with the knowledge that the run keeps.

    :param recipe_book: where this file is, if the run was not on what ships; config.json has its name.
    :param network: that of your own which the run was trained with, if it was.
    :raises InputError: no run there, another book, split or network than it was trained with, or a
        damaged checkpoint.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, TrainConfig, recipe_book=recipe_book, device=device)
    env = WordCraftVectorEnv(1, **config.env_settings("train"))
    saved = saved_network(RunFolder.of(run_dir, config), book=env.book.hash, split=env.split.hash)
    advice = None
    if config.kg != "none":
        where = str(pick_device(config.device))
        knowledge = Knowledge.load(run_dir / KNOWLEDGE, env.vocabulary, env.relations, where)
        advice = knowledge.advice(env.vocabulary, env.relations)
    features = next((tensor for name, tensor in saved.weights.items() if name.endswith("encoder.features")), None)
    if features is None and network is None:
        raise InputError(f"{run_dir}: trained with a network that its config does not name; give that one: network=")
    # The words are known by the vectors that the network was trained with.
    policy = build_policy(config, env, np.empty(0) if features is None else features.numpy(), advice, network)
    put_network(policy.network, saved, run_dir)
    return config, policy.eval()


@checked
def evaluate(
    run: "str | Path | RunResult",
    *,
    partition: str = "test",
    draws: Count = 10,
    seed: Seed = 0,
    num_distractors: Whole | None = None,
    depth: Depth | None = None,
    alternatives: bool = False,
    recipe_book: str | None = None,
    device: str | None = None,
    network: nn.Module | None = None,
) -> dict[str, Any]:
    """Greedy success of a run's policy on the tasks of a partition of its own split.

    :param run: a run directory, or the result of `train_impala`.
    :param draws: tables per task.
    :param num_distractors, depth: other tables than those it was trained on.
    :param alternatives: let tables offer other ways to the goal.
    :param recipe_book, device, network: see `load_policy`; for a run that is loaded.
    :returns: "success", "same_slot_twice", "episodes", and the settings.
    :raises InputError: as `load_policy`; an agent="mlp" on tables of another size.
    """
    if isinstance(run, RunResult) and run.policy is not None:
        if recipe_book or device or network:
            raise InputError("recipe_book, device and network are for a run directory: this policy is in memory")
        config, policy = run.config, run.policy
    else:
        where = run.run_dir if isinstance(run, RunResult) else run
        if where is None:
            raise InputError("this result has neither a policy nor a run directory")
        config, policy = load_policy(where, recipe_book=recipe_book, device=device, network=network)
    changed = replace(
        config,
        num_distractors=config.num_distractors if num_distractors is None else num_distractors,
        depth=config.depth if depth is None else depth,
    )
    if config.agent == "mlp" and (changed.num_distractors, changed.depth) != (config.num_distractors, config.depth):
        raise InputError("the simple MLP plays only tables of the size it was trained on")
    settings = changed.env_settings(partition)
    tasks = WordCraftVectorEnv(1, **settings).split.tasks(partition)
    found = success_rate(policy, evaluation_env(settings, len(tasks), alternatives=alternatives), tasks, draws, seed)
    told = {"partition": partition, "num_distractors": changed.num_distractors, "depth": changed.depth}
    return {**found, "episodes": len(tasks) * draws, **told, "alternatives": alternatives, "seed": seed}
