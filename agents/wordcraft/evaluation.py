"""Players of WordCraft's tasks, and their success rates; trained runs are compared with baselines.

Success is zero-shot, on every task of a part, with several tables for each task.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from gumption.agents import setup
from gumption.agents.advice import Advice
from gumption.agents.evaluation import GivenPlayer, Greedy, Keep, Player, Rows, Tell, compared, ends, play, telling
from gumption.agents.policy import Policy
from gumption.agents.run import RunResult
from gumption.agents.settings import GRAPH, Repeat
from gumption.agents.transcript import failures, transcript
from gumption.data import InputError
from gumption.data.settings import Count, Seed, Size, Whole, checked
from gumption.envs.priors import Laws, Names, other_than_real
from gumption.envs.wordcraft import WordCraftVectorEnv
from gumption.envs.wordcraft.splits import FEW, Split, TrainRatio, what_is_tested
from gumption.envs.wordcraft.tasks import Depth

from .config import TrainConfig

MAX_BATCH = 4096
#: The players of a table. "train": a trained policy; "untrained": the network before training, with its knowledge;
#: "kg_only": that knowledge alone, without learning (C.4); "without_kg": the trained policy with every score 0;
#: "random"; "oracle", which reads the true recipes.
Method = Literal["train", "untrained", "kg_only", "without_kg", "random", "oracle"]
Baseline = Literal["random", "oracle", "kg_only", "untrained", "without_kg"]


def evaluation_env(settings: dict[str, Any], tasks: int, *, alternatives: bool = False) -> WordCraftVectorEnv:
    """Make an environment for `play_tasks`, a batch of up to `MAX_BATCH` for this number of tasks."""
    size = min(max(tasks, 1), MAX_BATCH)
    return WordCraftVectorEnv(size, autoreset_mode="SameStep", **{**settings, "alternatives": alternatives})


class _SameSlot:
    """Detects episodes that select the same slot twice in the first mix; see `gumption.agents.evaluation.Measure`."""

    def __init__(self) -> None:
        self.choices: list[np.ndarray] = []

    def add(self, env: WordCraftVectorEnv, actions: np.ndarray, playing: np.ndarray) -> None:
        if len(self.choices) < 2:
            self.choices.append(actions)

    def rows(self) -> Rows:
        return {"same_slot_twice": self.choices[0] == self.choices[1]}


@checked
def play_tasks(
    player: Any, env: WordCraftVectorEnv, tasks: np.ndarray, draws: Count = 1, seed: Seed = 0, tell: Tell | None = None
) -> Rows:
    """Play `draws` tables of each task.

    :param player: see `gumption.agents.evaluation`; its actions are (B,) slots.
    :param tasks: (n,) indices into `env.tasks`.
    :param tell: called when an episode ends.
    :returns: (n * draws,) "success" bool, the goal was made; "same_slot_twice" bool, it was not, and the first mix
        selected the same slot twice; and the other rows of `play`. The episodes of a task are consecutive.
    """
    env.reset(seed=seed)
    episodes = np.repeat(tasks, draws)
    parts: list[Rows] = []
    for start in range(0, len(episodes), env.num_envs):
        part = episodes[start : start + env.num_envs]
        env.set_tasks(part)

        def of_batch(number: int, row: dict[str, Any], start: int = start) -> None:
            assert tell is not None
            tell(start + number, {"task": int(episodes[start + number]), **row})

        parts.append(play(player, env, len(part), measure=_SameSlot(), tell=None if tell is None else of_batch))
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    rows["same_slot_twice"] &= ~rows["success"]
    return rows


def shares(rows: Rows) -> dict[str, float]:
    """Return the shares "success" and "same_slot_twice" of episodes."""
    return {name: int(rows[name].sum()) / len(rows[name]) for name in ("success", "same_slot_twice")}


def task_figures(rows: Rows, draws: int) -> dict[str, float | None]:
    """Return `shares` and the 95 % bootstrap interval of the success over the tasks, "low" and "high"."""
    low, high = ends(rows["success"].reshape(-1, draws).mean(axis=1))
    return {**shares(rows), "low": low, "high": high}


@checked
def success_rate(
    policy: Policy, env: WordCraftVectorEnv, tasks: np.ndarray, draws: Count = 1, seed: Seed = 0
) -> dict[str, float]:
    """Return the shares of `play_tasks` with a policy's most probable actions."""
    return shares(play_tasks(Greedy(policy), env, tasks, draws, seed))


def oracle(env: WordCraftVectorEnv, first: np.ndarray) -> np.ndarray:
    """Return for each environment the slot of a needed ingredient, or of the other one if the first is selected."""
    one, other = env.needed()
    wanted = np.where(env.selection == one, other, one)
    return (env.table == wanted[:, None]).argmax(1)


@checked
def evaluate_policy(
    policy: Any,
    *,
    split: Any = "by_recipe",
    train_ratio: TrainRatio = 0.8,
    split_seed: Seed = 0,
    partition: str = "test",
    num_tasks: Size | None = None,
    draws: Count = 10,
    num_distractors: Whole = 1,
    depth: Depth = 1,
    alternatives: bool = False,
    recipe_book: Any = "commonsense",
    names: Names = "real",
    laws: Laws = "real",
    features: str | None = None,
    seed: Seed = 0,
    single: bool = False,
    name: str | None = None,
    keep: Keep | None = None,
    progress: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Play the tasks of a part with a policy of your own, (observation, info) -> slot; see `GivenPlayer`.

    Observation and info are those of the environment (`WordCraftVectorEnv`; with `single` `WordCraftEnv`, whose info
    has names), and info["first"] says where an episode begins.

    :param split: a way of splitting, or a file of `gumption splits`.
    :param train_ratio, split_seed: of a split that is not a file.
    :param partition: train, validation, test or all.
    :param num_tasks: at most so many, evenly spread.
    :param draws: tables per task.
    :param num_distractors: entities on the table that the task does not need.
    :param depth: mixes that a task needs, 1 to 6.
    :param alternatives: tables may offer other ways.
    :param recipe_book: name of a shipped recipe book, or a file.
    :param names: what things are called: real, anonymous (codes) or shuffled (each other's names).
    :param laws: real, or counterfactual: recipes make each other's products.
    :param features: also in the observation: glove, random or onehot.
    :param seed: of the tables.
    :param single: the policy is for one environment: its observation, info and slot have no leading axis.
    :param keep: called with each episode as it ends.
    :param progress: tell on stderr how many have ended.
    :param settings: others of the environment, see `WordCraftSettings`.
    :returns: "success", with "low" and "high" the 95 % bootstrap interval over the tasks (None for one task),
        "same_slot_twice", "tasks", "episodes", the settings (of names and laws those that are not real), and the
        split's parameters and sha256.
    :raises InputError: bad settings, or a policy that returns no slots.
    """
    settings |= {
        "split": split, "train_ratio": train_ratio, "split_seed": split_seed, "partition": partition,
        "num_distractors": num_distractors, "depth": depth, "recipe_book": recipe_book, "features": features,
        "names": names, "laws": laws,
    }  # fmt: skip
    made = WordCraftVectorEnv(1, **settings).split
    tasks = some_tasks(made.tasks(partition), num_tasks)
    env = evaluation_env(settings, 1 if single else len(tasks) * draws, alternatives=alternatives)
    player = GivenPlayer(policy, env.single_action_space, single=single, name=name)
    with telling(len(tasks) * draws, keep, progress) as tell, transcript() as kept:
        rows = play_tasks(player, env, tasks, draws, seed, tell)
    figures = task_figures(rows, draws)
    return {
        "policy": player.name,
        **figures,
        "tasks": len(tasks),
        "episodes": len(tasks) * draws,
        "partition": partition,
        "draws": draws,
        "seed": seed,
        "alternatives": alternatives,
        "num_distractors": num_distractors,
        "depth": depth,
        **other_than_real(names=names, laws=laws),
        "split": {**made.parameters, "sha256": made.hash},
        "players": {player.name: figures},
        "failures": failures(kept),
        "about": what_was_played(len(tasks), draws, partition, made.parameters["mode"], num_distractors, depth),
    }


def what_was_played(tasks: int, draws: int, partition: str, mode: str, num_distractors: int, depth: int) -> str:
    part = "tasks" if partition == "all" else f"{partition} tasks"
    where = f"{part} ({mode}, {num_distractors} distractors, depth {depth})"
    few = f", which are few: fewer than {FEW}" if tasks < FEW else ""
    return f"{tasks * draws:,} episodes of {tasks:,} {where}; the interval is over the tasks{few}"


MOST = 10_000  # the most tasks of a part that are played; at depth 3 there are hundreds of thousands


def some_tasks(tasks: np.ndarray, count: int | None) -> np.ndarray:
    """Return at most `count` of the tasks, evenly spread; None for all."""
    return tasks if count is None else tasks[np.linspace(0, len(tasks) - 1, min(count, len(tasks))).astype(np.int64)]


# ---- The players of a table


def player_of(
    method: Method,
    config: TrainConfig,
    policy: Policy | None = None,
    *,
    advice: Advice | None = None,
    known: Mapping[str, torch.Tensor] | None = None,
) -> Player:
    """Return the player of a table row, for `gumption evaluate` and every experiment.

    :param policy: a trained policy, for "train" and "without_kg".
    :param advice: replaces the config's knowledge, for "kg_only" and "untrained"; `known` as in `Setup`.
    :raises InputError: "kg_only" or "without_kg" without knowledge.
    """
    if method in ("random", "oracle"):
        return oracle if method == "oracle" else lambda env, first: env.random_actions()
    if method in ("kg_only", "without_kg") and config.kg == "none" and advice is None:
        raise InputError("this agent has no knowledge to play alone, or to be taken away")
    if method in ("train", "without_kg"):
        return Greedy(policy, without_knowledge=method == "without_kg")
    config = replace(config, cross_fit=False)  # held-out scores are only for training
    if method == "kg_only":
        config = replace(config, agent=GRAPH, mixing="linear")
    return setup.untrained(config, advice, known)


# ---- Trained runs


def with_few(figures: Mapping[str, Any], part: str, tasks: int) -> str:
    """Format the success on a part; with fewer than `FEW` tasks, also their number and the 95 % interval over them:
    "61.2%", "50.0% (35.2% to 64.8%: only 42 tasks)".

    :param figures: PART_success, PART_low and PART_high, shares.
    """
    told = f"{figures[f'{part}_success']:.1%}"
    if tasks >= FEW:
        return told
    low, high = (figures.get(f"{part}_{end}") for end in ("low", "high"))
    interval = "" if low is None or high is None else f"{low:.1%} to {high:.1%}: "
    return f"{told} ({interval}only {tasks} task{'s' if tasks > 1 else ''})"


def success_sentence(split: str | Split, final: Mapping[str, Any]) -> str:
    """Format a finished run's result: "success on unseen recipes 61.2% (512 tasks; validation 60.9%; training tasks
    98.7%)".

    :param split: as in `what_is_tested`.
    :param final: the final figures of a run.
    """
    tested, tasks = what_is_tested(split), int(final["test_tasks"])
    beside = [f"training tasks {final['train_success']:.1%}"]
    if "validation_success" in final:
        beside.insert(0, f"validation {with_few(final, 'validation', int(final['validation_tasks']))}")
    if tested == what_is_tested("none"):
        beside = ["none was set aside"]
    if tasks >= FEW:
        beside.insert(0, f"{tasks:,} tasks")
    return f"success on {tested} {with_few(final, 'test', tasks)} ({'; '.join(beside)})"


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
    repeat: Repeat | None = None,
    recipe_book: str | None = None,
    device: str | None = None,
    network: nn.Module | None = None,
) -> dict[str, Any]:
    """How often a run's policy, by its most probable actions, makes the goals of a part of its own split.

    Beside it: the network before training, its knowledge alone, the trained network without it, random choices, and the
    true recipes (oracle).

    :param run: a run directory, or the result of `train_impala`.
    :param partition: train, validation, test or all.
    :param draws: tables per task.
    :param seed: of the tables.
    :param num_distractors, depth: other than in training.
    :param alternatives: tables may offer other ways to the goal.
    :param repeat: other than in training: rule, or paper; see `GuidedConfig`.
    :param recipe_book: the file of the run's book, if it does not ship.
    :param device: other than in training: auto, cpu or cuda.
    :param network: see `load_policy`.
    :returns: "success" with its 95 % bootstrap interval over the tasks, "low" and "high", "same_slot_twice", "tasks",
        "episodes", and the settings; "players": name -> the same figures of those that the run is compared with;
        "failures", sentences on the run's choices.
    :raises InputError: as `load_policy`; an agent="mlp" on tables of another size.
    """
    config, policy = setup.policy_of(run, recipe_book=recipe_book, device=device, network=network, repeat=repeat)
    changed = replace(
        config,
        num_distractors=config.num_distractors if num_distractors is None else num_distractors,
        depth=config.depth if depth is None else depth,
    )
    if config.agent == "mlp" and (changed.num_distractors, changed.depth) != (config.num_distractors, config.depth):
        raise InputError("the simple MLP plays only tables of the size it was trained on")
    settings = changed.env_settings(partition)
    tasks = some_tasks(WordCraftVectorEnv(1, **settings).split.tasks(partition), MOST)
    env = evaluation_env(settings, len(tasks), alternatives=alternatives)
    state = policy.network.state_dict()
    rows: dict[str, Method] = {"trained": "train"}
    has_words = any(name.endswith("encoder.features") for name in state)
    if has_words and not config.kg_only:  # otherwise your own network, or nothing is trained
        rows["untrained"] = "untrained"
        if policy.advice is not None:
            rows |= {"knowledge only": "kg_only", "knowledge taken away": "without_kg"}
    rows |= {"random": "random", "oracle": "oracle"}

    players = {name: player_of(of, config, policy, advice=policy.advice, known=state) for name, of in rows.items()}
    found = compared(players, lambda player: task_figures(play_tasks(player, env, tasks, draws, seed), draws))
    split = env.split.parameters["mode"]
    return {
        **found["players"]["trained"],
        "tasks": len(tasks),
        "episodes": len(tasks) * draws,
        "partition": partition,
        "num_distractors": changed.num_distractors,
        "depth": changed.depth,
        **other_than_real(names=config.names, laws=config.laws),
        "alternatives": alternatives,
        "seed": seed,
        **found,
        "about": what_was_played(len(tasks), draws, partition, split, changed.num_distractors, changed.depth),
    }


@checked
def baseline(name: Baseline, config: TrainConfig, policy: Policy | None = None, *, seed: Seed = 0) -> dict[str, Any]:
    """Return a baseline's figures on test and training tasks, and on test tables that may offer other ways to the goal.

    :param config: its `final_draws` is the number of tables for each task.
    :param name, policy: see `player_of`.
    """
    player, draws = player_of(name, config, policy), config.final_draws
    found: list[dict[str, float]] = []
    rows: Rows = {}
    tasks = np.zeros(0)
    for partition, alternatives in (("train", False), ("test", True), ("test", False)):
        settings = config.env_settings(partition)
        tasks = some_tasks(WordCraftVectorEnv(1, **settings).split.tasks(partition), MOST)
        env = evaluation_env(settings, len(tasks), alternatives=alternatives)
        rows = play_tasks(player, env, tasks, draws, seed)
        found.append(shares(rows))
    train, open_tables, _ = found
    test = task_figures(rows, draws)  # the last part is the test
    return {
        "test_success": test["success"],
        "test_low": test["low"],
        "test_high": test["high"],
        "test_tasks": len(tasks),
        "train_success": train["success"],
        "test_success_alternatives": open_tables["success"],
        "same_slot_twice": test["same_slot_twice"],
    }
