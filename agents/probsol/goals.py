"""The study of goals and constraints (Problem Formulation, H1 to H3) for agents: goal x layout x constraint.

Goals are the six families; layouts of one goal are different certified tasks; the constraint limits the number of
actions to a multiple of those of the certified solution. Every agent plays each task once, in one trial, and goes on
where it breaks the limit, so that what it is broken by is measured. Agents cannot read names: the study's fourth factor
is for people. They do not say plans either: in H3 the strategy of what they did stands for the plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gumption.data.settings import Seed, checked
from gumption.envs.probsol.tasks import CONSTRAINTS, Task
from gumption.envs.probsol.vector_env import ProbSolVectorEnv

from .measures import constraint_distances, constraint_satisfaction_rate, pareto_front, preference_order
from .players import steps
from .prior import Prior, Row, left_out_likelihoods
from .strategies import (
    agreement,
    consistency,
    entropy_by_tightness,
    first_actions_accuracy,
    over_policies,
    plan_accuracy,
    strategy,
    tendencies,
)

#: How tight a constraint is -> the limit, in actions of the certified solution.
TIGHTNESS = {"none": np.inf, "relaxed": 3.0, "critical": 1.1}
LAYOUTS = 4
#: Actions of which H3 asks whether they are foretold.
FIRST = 3
#: The objectives whose preference order is told.
OBJECTIVES = ("solution", "constraint")


@dataclass(frozen=True)
class Episode:
    """What an agent did in a task of the study.

    :ivar goal, layout, tightness: the task. :ivar solved: the goal was reached at CHECK.
    :ivar solution, constraint: its solution rate and constraint satisfaction rate (eq. 1 and 2).
    :ivar strategy: one of `strategies.STRATEGIES`. :ivar tendencies: of `strategies.tendencies`.
    :ivar begins: the verbs of its first three actions.
    """

    goal: str
    layout: str
    tightness: str
    solved: bool
    solution: float
    constraint: float
    strategy: str
    tendencies: tuple[float, ...]
    begins: tuple[str, ...]


def design(layouts: Mapping[str, Sequence[Task]]) -> list[tuple[str, str, str, Task]]:
    """(goal, layout, tightness, task) of all combinations.

    :param layouts: goal -> its tasks, with their solutions.
    """
    found = []
    for goal, tasks in layouts.items():
        for task in tasks:
            for tightness, times in TIGHTNESS.items():
                limit = {} if np.isinf(times) else {"action_number": times * len(task.solution)}
                # Records tell episodes apart by the names of their tasks.
                limited = replace(task, name=f"{task.name}, {tightness}", constraints=limit, quiz=())
                found.append((goal, task.name, tightness, limited))
    return found


@checked
def play_design(player: Any, cells: Sequence[tuple[str, str, str, Task]], *, seed: Seed = 0) -> list[Episode]:
    """Have a player play each task of a design once.

    :param player: as of `evaluation.play_tasks`.
    """
    tasks = [task for *_, task in cells]
    batch = ProbSolVectorEnv(
        len(tasks), autoreset_mode="Disabled", order="sequential", task=tasks, quiz=False, on_violation="go_on",
        trial_number=1, actions=getattr(player, "actions", "paper"),
    )  # fmt: skip
    batch.episodes = []
    batch.reset(seed=seed)
    rate, solved = np.zeros(len(tasks)), np.zeros(len(tasks), dtype=bool)
    values, limits = np.zeros((2, len(tasks), len(CONSTRAINTS)))
    for _, ended in steps(batch, player):
        if not ended.any():
            continue
        told, terminated = batch.info_arrays(), batch.results()[1]
        rate[ended] = np.where(terminated, told["trial_rate"], told["solution_rate"])[ended]
        solved[ended] = terminated[ended] & (told["trial_rate"][ended] == 1.0)
        values[ended], limits[ended] = told["constraints"][ended], told["limits"][ended]
    kept = CONSTRAINTS.index("action_number")
    distance = constraint_distances(values[:, [kept]], limits[:, [kept]])
    satisfied = constraint_satisfaction_rate(distance)
    done = {record["task"]["name"]: record["actions"] for record in batch.episodes}
    found = []
    for i, (goal, layout, tightness, task) in enumerate(cells):
        numbers = [action for _, _, action, _ in done[task.name] if action < batch.labels.num_actions]
        named = [label for label in (batch.label(number, i) for number in numbers) if label]
        rates = float(rate[i]), float(satisfied[i])
        leanings = tuple(tendencies(named).tolist())
        begins = tuple(verb for verb, *_ in named[:FIRST])
        found.append(Episode(goal, layout, tightness, bool(solved[i]), *rates, strategy(named), leanings, begins))
    return found


def hypotheses(episodes: Sequence[Episode]) -> dict[str, Any]:
    """What the strategies of one agent's episodes say: agreement between layouts (H1), entropy by tightness (H2), and
    consistency."""
    strategies = [one.strategy for one in episodes]
    conditions = [(one.goal, one.tightness) for one in episodes]
    return {
        "agreement": agreement(strategies, conditions, [one.layout for one in episodes])._asdict(),
        "entropy": entropy_by_tightness(
            strategies, [one.goal for one in episodes], [one.tightness for one in episodes]
        ),
        "consistency": consistency(strategies, conditions),
    }


def comparison(agents: Mapping[str, Sequence[Episode]]) -> dict[str, Any]:
    """The agents side by side.

    :returns: "front": the agents on the Pareto front of the rates of all tasks (eq. 5); "preferences": agent -> its
        preference order over OBJECTIVES; "over_policies": agent -> over-policy -> share of its episodes; "likelihoods":
        of equation 7, see `prior.left_out_likelihoods`; "difficulty": constraint -> goal -> P(g | c), of solved tasks;
        "foretold": see `foretold`.
    """
    names = list(agents)
    means = np.array([[np.mean([getattr(one, each) for one in agents[name]]) for each in OBJECTIVES] for name in names])
    vectors = np.array([[rate for one in _by_task(agents[name]) for rate in one] for name in names])
    orders = {
        name: " > ".join(" = ".join(OBJECTIVES[each] for each in group) for group in preference_order(means, k))
        for k, name in enumerate(names)
    }
    every = [one for name in names for one in agents[name]]
    lean = over_policies([one.tendencies for one in every])
    owners = [name for name in names for _ in agents[name]]
    rows = [
        Row(orders[owner], over, one.goal, one.tightness) for owner, over, one in zip(owners, lean, every, strict=True)
    ]
    solved = [row for row, one in zip(rows, every, strict=True) if one.solved]
    shares = {
        name: {over: float(np.mean([o == over for o, owner in zip(lean, owners, strict=True) if owner == name]))
               for over in dict.fromkeys(lean)}
        for name in names
    }  # fmt: skip
    difficulty: dict[str, dict[str, float]] = {}
    if solved:
        prior = Prior(solved, values=rows)
        table = prior.difficulty()
        difficulty = {
            constraint: {goal: float(table[g, c]) for g, goal in enumerate(prior.goals)}
            for c, constraint in enumerate(prior.constraints)
        }
    return {
        "front": [name for name, there in zip(names, pareto_front(vectors), strict=True) if there],
        "preferences": orders,
        "over_policies": shares,
        "likelihoods": left_out_likelihoods(rows),
        "difficulty": difficulty,
        "foretold": foretold(agents),
    }


def foretold(agents: Mapping[str, Sequence[Episode]]) -> dict[str, dict[str, dict[str, float]]]:
    """H3 for agents: how well the episodes of the others foretell those of an agent that is left out.

    The first predictor gets goal and constraint: it says what others did most often there. The other one gets the
    reward alone: it says what others did most often in episodes that solved their task, or in all if none did.

    :returns: agent -> "goal and constraint" and "reward only" -> "plan", the share of strategies foretold, and
        "actions", that of the verbs of the first three actions; {} of a single agent.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, mine in agents.items():
        others = [one for other, episodes in agents.items() if other != name for one in episodes]
        if not others:
            return {}
        rewarded = [one for one in others if one.solved] or others
        told = {
            "goal and constraint": [
                [one for one in others if (one.goal, one.tightness) == (each.goal, each.tightness)] for each in mine
            ],
            "reward only": [rewarded] * len(mine),
        }
        found[name] = {
            known: {
                "plan": plan_accuracy(
                    [_most_frequent([one.strategy for one in group]) for group in groups],
                    [one.strategy for one in mine],
                ),
                "actions": first_actions_accuracy(
                    [_by_place([one.begins for one in group]) for group in groups],
                    [[(verb,) for verb in one.begins] for one in mine],
                ),
            }
            for known, groups in told.items()
        }
    return found


def _by_place(begins: Sequence[Sequence[str]]) -> list[tuple[str]]:
    """The most frequent first verb, second verb and third verb."""
    columns = ([one[k] for one in begins if len(one) > k] for k in range(FIRST))
    return [(_most_frequent(column),) for column in columns if column]


def _most_frequent(values: Sequence[str]) -> str:
    """The first in the alphabet of equally frequent ones."""
    return min(set(values), key=lambda value: (-values.count(value), value))


def _by_task(episodes: Sequence[Episode]) -> list[tuple[float, float]]:
    """The mean solution and constraint rate of each task, in the order of goal, layout and tightness."""
    rates: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for one in episodes:
        rates.setdefault((one.goal, one.layout, one.tightness), []).append((one.solution, one.constraint))
    return [tuple(np.mean(rates[key], axis=0)) for key in sorted(rates)]
