"""Players of WordCraft's tasks, how often they make the goal, and one episode told step by step.

Success is zero-shot: every task of a part, several tables each.
"""

from typing import Any

import numpy as np
import torch

from gumption.agents.evaluation import GivenPlayer, Greedy, Keep, Rows, Tell, ends, play, telling
from gumption.agents.policy import Policy
from gumption.data.settings import Count, Seed, Size, Whole, checked
from gumption.envs.wordcraft import WordCraftVectorEnv
from gumption.envs.wordcraft.splits import TrainRatio
from gumption.envs.wordcraft.tasks import Depth

from .config import TrainConfig

MAX_BATCH = 4096


def evaluation_env(settings: dict[str, Any], tasks: int, *, alternatives: bool = False) -> WordCraftVectorEnv:
    """An environment for `play_tasks`, with room for so many tasks at a time."""
    size = min(max(tasks, 1), MAX_BATCH)
    return WordCraftVectorEnv(size, autoreset_mode="SameStep", **{**settings, "alternatives": alternatives})


class _SameSlot:
    """Counts who selects one slot twice in the first mix; see `gumption.agents.evaluation.Measure`."""

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
    :returns: (n * draws,) "success" bool, the goal was made; "same_slot_twice" bool, it was not, after selecting one
        slot twice in the first mix; and what `play` gives besides. The episodes of a task stand together.
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
    """The shares "success" and "same_slot_twice" of episodes."""
    return {name: int(rows[name].sum()) / len(rows[name]) for name in ("success", "same_slot_twice")}


def task_figures(rows: Rows, draws: int) -> dict[str, float | None]:
    """`shares`, with the 95 % bootstrap interval of the success over the tasks, "low" and "high"."""
    low, high = ends(rows["success"].reshape(-1, draws).mean(axis=1))
    return {**shares(rows), "low": low, "high": high}


@checked
def success_rate(
    policy: Policy, env: WordCraftVectorEnv, tasks: np.ndarray, draws: Count = 1, seed: Seed = 0
) -> dict[str, float]:
    """The shares of `play_tasks` with a policy's most probable actions."""
    return shares(play_tasks(Greedy(policy), env, tasks, draws, seed))


def random_slots(env: WordCraftVectorEnv, first: np.ndarray) -> np.ndarray:
    """One of the occupied slots, each alike."""
    return env.random_actions()


def oracle(env: WordCraftVectorEnv, first: np.ndarray) -> np.ndarray:
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
    one, other = a[row, chosen], b[row, chosen]
    wanted = np.where(env.selection == one, other, one)
    return (table == wanted[:, None]).argmax(1)


@checked
def all_tasks(player: Any, config: TrainConfig, episodes_per_task: Count = 10, seed: Seed = 0) -> dict[str, float]:
    """The figures of a finished run, of any player: on test and training tasks, and on tables that may offer other ways
    to the goal."""
    found = []
    for partition, alternatives in (("test", False), ("train", False), ("test", True)):
        settings = config.env_settings(partition)
        tasks = WordCraftVectorEnv(1, **settings).split.tasks(partition)
        env = evaluation_env(settings, len(tasks), alternatives=alternatives)
        found.append(shares(play_tasks(player, env, tasks, episodes_per_task, seed)))
    return {
        "test_success": found[0]["success"],
        "train_success": found[1]["success"],
        "test_success_alternatives": found[2]["success"],
        "same_slot_twice": found[0]["same_slot_twice"],
    }


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
    :param partition: train, test or all.
    :param num_tasks: at most so many, evenly spread.
    :param draws: tables per task.
    :param num_distractors: entities on the table that the task does not need.
    :param depth: mixes that a task needs, 1 to 3.
    :param alternatives: tables may offer other ways.
    :param recipe_book: name of a shipped recipe book, or a file.
    :param features: also in the observation: glove, random or onehot.
    :param seed: of the tables.
    :param single: the policy is for one environment: its observation, info and slot have no leading axis.
    :param keep: called with each episode as it ends.
    :param progress: tell on stderr how many have ended.
    :param settings: others of the environment, see `WordCraftSettings`.
    :returns: "success", with "low" and "high" the 95 % bootstrap interval over the tasks (None for one task),
        "same_slot_twice", "tasks", "episodes", the settings, and the split's parameters and sha256.
    :raises InputError: bad settings, or a policy that returns no slots.
    """
    settings |= {
        "split": split, "train_ratio": train_ratio, "split_seed": split_seed, "partition": partition,
        "num_distractors": num_distractors, "depth": depth, "recipe_book": recipe_book, "features": features,
    }  # fmt: skip
    made = WordCraftVectorEnv(1, **settings).split
    tasks = some_tasks(made.tasks(partition), num_tasks)
    env = evaluation_env(settings, 1 if single else len(tasks) * draws, alternatives=alternatives)
    player = GivenPlayer(policy, env.single_action_space, single=single, name=name)
    with telling(len(tasks) * draws, keep, progress) as tell:
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
        "split": {**made.parameters, "sha256": made.hash},
        "players": {player.name: figures},
        "about": what_was_played(len(tasks), draws, partition, made.parameters["mode"], num_distractors, depth),
    }


def what_was_played(tasks: int, draws: int, partition: str, mode: str, num_distractors: int, depth: int) -> str:
    """In words."""
    part = "tasks" if partition == "all" else f"{partition} tasks"
    where = f"{part} ({mode}, {num_distractors} distractors, depth {depth})"
    return f"{tasks * draws:,} episodes of {tasks:,} {where}; the interval is over the tasks"


def some_tasks(tasks: np.ndarray, count: int | None) -> np.ndarray:
    """At most so many of the tasks, evenly spread."""
    return tasks if count is None else tasks[np.linspace(0, len(tasks) - 1, min(count, len(tasks))).astype(np.int64)]


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
