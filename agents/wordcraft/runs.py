"""Runs of WordCraft: loaded to act again, and evaluated on the tasks of their split."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from torch import nn

from gumption.agents.evaluation import Greedy, Player
from gumption.agents.policy import Policy
from gumption.agents.run import RunResult
from gumption.agents.run_folder import read_config, read_final, read_metrics
from gumption.agents.setup import load_policy as load_world_policy
from gumption.agents.setup import untrained
from gumption.data import InputError
from gumption.data.settings import Count, Seed, Whole, checked
from gumption.envs.wordcraft import WordCraftVectorEnv
from gumption.envs.wordcraft.splits import Split, what_is_tested
from gumption.envs.wordcraft.tasks import Depth

from .config import TrainConfig
from .evaluation import all_tasks, evaluation_env, oracle, play_tasks, random_slots, task_figures, what_was_played

Baseline = Literal["random", "oracle", "kg_only", "untrained", "without_kg"]


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
    return load_world_policy(run_dir, TrainConfig, network=network, recipe_book=recipe_book, device=device)


def success_sentence(split: str | Split, final: Mapping[str, float]) -> str:
    """What a finished run came to: "success on unseen recipes 61.2% (512 tasks; training tasks 98.7%)".

    :param split: as in `what_is_tested`.
    :param final: "test_success" and "train_success", shares, and "test_tasks", their number.
    """
    tested = what_is_tested(split)
    beside = (
        f"training tasks {final['train_success']:.1%}" if tested != what_is_tested("none") else "none was set aside"
    )
    return f"success on {tested} {final['test_success']:.1%} ({final['test_tasks']:,} tasks; {beside})"


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
    """How often a run's policy makes the goal of the tasks of a part of its own split, the best action always.

    Beside it: the network before training, its knowledge alone, the trained network without it, random choices, and the
    true recipes (oracle).

    :param run: a run directory, or the result of `train_impala`.
    :param partition: train, test or all.
    :param draws: tables per task.
    :param seed: of the tables.
    :param num_distractors, depth: other than in training.
    :param alternatives: tables may offer other ways to the goal.
    :param recipe_book: the file of the run's book, if it does not ship.
    :param device: other than in training: auto, cpu or cuda.
    :param network: see `load_policy`.
    :returns: "success" with its 95 % bootstrap interval over the tasks, "low" and "high", "same_slot_twice", "tasks",
        "episodes", and the settings; "players": name -> the same figures of those that the run is compared with.
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
    env = evaluation_env(settings, len(tasks), alternatives=alternatives)
    players = {**_players(config, policy), "random": random_slots, "oracle": oracle}
    found = {name: task_figures(play_tasks(player, env, tasks, draws, seed), draws) for name, player in players.items()}
    split = env.split.parameters["mode"]
    told = {"partition": partition, "num_distractors": changed.num_distractors, "depth": changed.depth}
    return {
        **found["trained"],
        "tasks": len(tasks),
        "episodes": len(tasks) * draws,
        **told,
        "alternatives": alternatives,
        "seed": seed,
        "players": found,
        "about": what_was_played(len(tasks), draws, partition, split, changed.num_distractors, changed.depth),
    }


def _players(config: TrainConfig, policy: Policy) -> dict[str, Player]:
    """A policy and those to compare it with: the network that a training begins with, the knowledge alone, and the
    policy without it."""
    found: dict[str, Player] = {"trained": Greedy(policy)}
    state = policy.network.state_dict()
    has_words = any(name.endswith("encoder.features") for name in state)
    if has_words and not config.kg_only:  # else it is a network of a person's own, or none is trained
        found["untrained"] = untrained(config, policy.advice, state)
        if policy.advice is not None:
            alone = replace(config, kg_only=True, cross_fit=False, mixing="linear")
            found["knowledge only"] = untrained(alone, policy.advice, state)
            found["knowledge taken away"] = Greedy(policy, without_knowledge=True)
    return found


@checked
def baseline(
    name: Baseline, config: TrainConfig, policy: Policy | None = None, *, episodes_per_task: Count = 10, seed: Seed = 0
) -> dict[str, float]:
    """What a training of a config is compared with; figures as of `all_tasks`.

    :param name: "random"; "oracle", which sees the true recipes; "kg_only", by the config's relation scores alone,
        nothing is learned (C.4); "untrained", by the network with which training begins, with the config's knowledge if
        it has any; "without_kg", by `policy`, every relation score that it reads being 0.
    :raises InputError: "kg_only" or "without_kg" without knowledge.
    """
    if name in ("random", "oracle"):
        return all_tasks(random_slots if name == "random" else oracle, config, episodes_per_task, seed)
    config = replace(config, cross_fit=False)  # held-out scores are for learning
    if name == "kg_only":
        config = replace(config, kg_only=True, mixing="linear")
    if name == "without_kg" and config.kg == "none":
        raise InputError("this policy has no knowledge that could be taken away")
    player = Greedy(policy, without_knowledge=True) if name == "without_kg" else untrained(config, None)
    return all_tasks(player, config, episodes_per_task, seed)
