"""The study of goals and constraints (Problem Formulation, H1 to H3) for agents: goal x layout x constraint.

Goals are the six families; layouts of a goal are different certified tasks; the constraint limits the number of actions
to a multiple of the length of the certified solution. Every agent plays each task once, in one trial, and continues
after it breaks the limit, so that the excess is measured. The study's fourth factor, names, is for people: agents
cannot read names. Agents state no plans either: in H3 the strategy of their actions replaces the plan.

- H1, agreement: do players of other layouts with the same goal and constraint have the same strategy more often than
  if strategies are shuffled among the episodes?
- H2, entropy of strategies, -sum p log2 p: does it fall as the constraint becomes tight?
- H3, accuracy: how often is the stated plan predicted, and each of the first three actions?
- Consistency: the share of equal strategies among pairs of equal (goal, constraint), minus the share among all pairs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gumption.agents.probsol.measures import constraint_distances, constraint_satisfaction_rate, preference_order
from gumption.agents.probsol.players import steps
from gumption.agents.statistics import pareto_front
from gumption.data import InputError
from gumption.data.settings import Count, Positive, Seed, checked, checked_methods, shown
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.tasks import CONSTRAINTS, VERBS, Task

# ---- Strategies and over-policies of episodes. An episode is its actions by name, as in a solution or a record:
# ("grab", "b"), ("place", 10, 16), ("check",). People wrote the definitions of the strategies.


CHECK_ONLY, TURN, HOLD_AND_PULL, STORING = "check only", "turn", "hold and pull", "one by one storing"
PUSH, PROBING, ALL_AT_ONCE, PLACE_AND_WAIT = "push", "sequential probing", "all at once", "place and wait"
#: The eight strategies with their descriptions; see `strategy`.
STRATEGIES = {
    CHECK_ONLY: "puts nothing on the table, takes nothing off it and turns nothing",
    TURN: "turns discs: a third of the actions on discs, or more",
    HOLD_AND_PULL: "holds discs: a third of the actions on discs, or more",
    STORING: "sets discs out first, if at all, and then stores one after the other",
    PUSH: "moves the disc that was put down last again: half of the placements, or more",
    PROBING: "puts down several discs, one at a time",
    ALL_AT_ONCE: "puts down several discs that lie on the table together",
    PLACE_AND_WAIT: "puts down one disc and sees what it does",
}
OVER_POLICIES = ("curiosity", "empowerment", "shortcut-seeking", "none")
#: Verbs -> number of arguments; None for any number.
_ARGUMENTS: dict[str, int | None] = {**VERBS, "grab_placed": 1, "answer": None}


@checked
def strategy(actions: Sequence[Any]) -> str:
    """Classify the strategy of an episode: the first of `STRATEGIES` that its actions match.

    :raises InputError: `actions` holds something else than actions by name.
    """
    placed: list[Any] = []  # the discs put down or held somewhere, in order
    hand, lies, most_together, stores_last = None, set(), 0, 0  # stores_last: stores after the last placement
    verbs = [verb for verb, *_ in _checked(actions)]
    for verb, *rest in actions:
        if verb in ("grab", "grab_placed", "hold"):
            hand = rest[0]
            lies.discard(hand)
        elif verb in ("place", "hold_at", "put_down"):
            lies.add(hand)
            most_together = max(most_together, len(lies))
            if verb != "put_down":
                placed.append(hand)
                stores_last = 0
        elif verb == "store":
            lies.discard(hand)
            stores_last += 1
    turns, stores, holds = verbs.count("turn"), verbs.count("store"), verbs.count("hold")
    whole = len(placed) + holds + turns + stores
    holds += verbs.count("hold_at")  # after `whole`, which already counts hold_at as a placement
    if whole == 0:
        return CHECK_ONLY
    if 3 * turns >= whole:
        return TURN
    if 3 * holds >= whole:
        return HOLD_AND_PULL
    if stores and stores_last == stores and (stores > 1 or not placed):
        return STORING
    again = sum(one == other for one, other in pairwise(placed))
    if again and 2 * again >= len(placed):
        return PUSH
    if len(set(placed)) > 1:
        return PROBING if most_together == 1 else ALL_AT_ONCE
    return PLACE_AND_WAIT


@checked
def tendencies(actions: Sequence[Any]) -> np.ndarray:
    """Return (3,), the shares of an episode's actions that count as curiosity, empowerment and shortcut-seeking.

    Curious actions apply a verb to a disc for the first time; empowering actions hold a disc, or turn or release a held
    disc; shortcuts are CHECKs, which test whether the goal is already reached.

    :raises InputError: as `strategy`, or no actions.
    """
    seen: set[tuple[Any, Any]] = set()
    hand, new, controls, checks = None, 0, 0, 0
    done = _checked(actions)
    if not done:
        raise InputError("an episode without actions shows no tendency")
    for verb, *rest in done:
        if verb in ("grab", "grab_placed", "hold"):
            hand = rest[0]
        disc = hand if verb not in ("none", "check", "answer") else None
        new += disc is not None and (verb, disc) not in seen
        seen.add((verb, disc))
        controls += verb in ("hold", "hold_at", "turn", "put_down", "take_up")
        checks += verb == "check"
    return np.array([new, controls, checks]) / len(done)


def over_policies(measured: ArrayLike) -> list[str]:
    """Return the over-policy of each episode: the tendency that lies farthest above its mean over the episodes, in
    standard deviations; "none" if no tendency is at least one deviation above its mean.

    :param measured: (n, 3) of `tendencies`.
    :raises InputError: an array of another shape, or numbers that are not finite.
    """
    found = np.asarray(measured, dtype=float)
    if found.ndim != 2 or found.shape[1] != len(OVER_POLICIES) - 1 or not len(found) or not np.isfinite(found).all():
        raise InputError(f"measured {found.shape} is an array (episodes, 3) of finite numbers")
    deviation = found.std(axis=0)
    above = np.where(deviation > 0, (found - found.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), 0.0)
    return [OVER_POLICIES[row.argmax() if row.max() >= 1 else -1] for row in above]


# ---- hypotheses


class Agreement(NamedTuple):
    """The result of H1.

    :ivar value: among pairs of episodes of equal goal and constraint in two layouts, the share of equal strategies.
    :ivar shuffled: its mean with shuffled strategies. :ivar p: how often shuffled strategies reach the value.
    """

    value: float
    shuffled: float
    p: float


@checked
def agreement(
    strategies: Sequence[str],
    conditions: Sequence[Any],
    layouts: Sequence[Any],
    resamples: Count = 2000,
    seed: Seed = 0,
) -> Agreement:
    """Test the agreement between layouts against shuffled strategies.

    :param strategies, conditions, layouts: of each episode; a condition is (goal, constraint).
    :raises InputError: lists of different lengths, or no pair of equal condition and different layouts.
    """
    coded, same_condition = _coded(strategies, conditions)
    where, _ = _coded(layouts, conditions)
    first, second = np.triu_indices(len(coded), 1)
    pairs = same_condition[first, second] & (where[first] != where[second])
    first, second = first[pairs], second[pairs]
    if not len(first):
        raise InputError("no two episodes have the same condition and different layouts")
    value = (coded[first] == coded[second]).mean()
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(coded) for _ in range(resamples)]
    shuffled = np.array([(one[first] == one[second]).mean() for one in drawn])
    p = (1 + (shuffled >= value).sum()) / (1 + resamples)
    return Agreement(float(value), float(shuffled.mean()), float(p))


@checked
def consistency(strategies: Sequence[str], conditions: Sequence[Any]) -> float:
    """Return the share of equal strategies among pairs of episodes of equal condition (goal, constraint), minus the
    share among all pairs: 0 if a player's strategies do not depend on goal and constraint.

    :raises InputError: lists of different lengths, or no pair of equal condition.
    """
    coded, same_condition = _coded(strategies, conditions)
    first, second = np.triu_indices(len(coded), 1)
    equal, same = coded[first] == coded[second], same_condition[first, second]
    if not same.any():
        raise InputError("no two episodes have the same condition")
    return float(equal[same].mean() - equal.mean())


@checked
def entropy(strategies: Sequence[str]) -> float:
    """Return -sum p log2 p of the strategies in bits: 0 if all are the same, 3 if all eight are equally frequent.

    :raises InputError: no strategies.
    """
    if not strategies:
        raise InputError("there are no strategies, so they have no entropy")
    counts = np.unique(np.array(strategies), return_counts=True)[1]
    share = counts / counts.sum()
    return float(max(0.0, -(share * np.log2(share)).sum()))


@checked
def entropy_by_tightness(strategies: Sequence[str], goals: Sequence[str], tightness: Sequence[str]) -> dict[str, float]:
    """Compute H2: for each tightness of the constraint, the mean over goals of the entropy of strategies, in bits.

    :raises InputError: lists of different lengths.
    """
    _coded(strategies, goals)
    _coded(strategies, tightness)
    groups: dict[str, dict[str, list[str]]] = {}
    for one, goal, tight in zip(strategies, goals, tightness, strict=True):
        groups.setdefault(tight, {}).setdefault(goal, []).append(one)
    return {tight: float(np.mean([*map(entropy, by_goal.values())])) for tight, by_goal in groups.items()}


def _coded(labels: Sequence[Any], conditions: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) indices of labels, and (n, n) bool: two episodes have the same condition."""
    if len(labels) != len(conditions):
        raise InputError(f"{len(labels)} episodes are coded, and {len(conditions)} conditions given; they are as many")
    known = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    numbers = {condition: k for k, condition in enumerate(dict.fromkeys(conditions))}
    condition = np.array([numbers[each] for each in conditions], dtype=np.int64)
    return np.array([known[each] for each in labels], dtype=np.int64), condition[:, None] == condition


def _checked(actions: Iterable[Any]) -> list[Sequence[Any]]:
    found = list(actions)
    for action in found:
        known = isinstance(action, list | tuple) and action and action[0] in _ARGUMENTS
        if not known or _ARGUMENTS[action[0]] not in (None, len(action) - 1):
            raise InputError(f"{shown(action)} is no action by name, such as ('grab', 'b') or ('check',)")
    return found


# ---- The study


#: Tightness of the constraint -> the limit of actions as a multiple of the certified solution's length.
TIGHTNESS = {"none": np.inf, "relaxed": 3.0, "critical": 1.1}
LAYOUTS = 4
#: Number of actions that H3 predicts.
FIRST = 3
#: The objectives of a preference order.
OBJECTIVES = ("solution", "constraint")


@dataclass(frozen=True)
class Episode:
    """An agent's episode in a task of the study.

    :ivar goal, layout, tightness: the task. :ivar solved: the goal was reached at CHECK.
    :ivar solution, constraint: solution rate and constraint satisfaction rate (eq. 1 and 2).
    :ivar strategy, tendencies: see the functions. :ivar begins: the verbs of the first three actions.
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
    """Return (goal, layout, tightness, task) of all combinations.

    :param layouts: goal -> its tasks, with their solutions.
    """
    found = []
    for goal, tasks in layouts.items():
        for task in tasks:
            for tightness, times in TIGHTNESS.items():
                limit = {} if np.isinf(times) else {"action_number": times * len(task.solution)}
                # Records identify episodes by the names of their tasks.
                limited = replace(task, name=f"{task.name}, {tightness}", constraints=limit, quiz=())
                found.append((goal, task.name, tightness, limited))
    return found


@checked
def play_design(player: Any, cells: Sequence[tuple[str, str, str, Task]], *, seed: Seed = 0) -> list[Episode]:
    """Play each task of a design once.

    :param player: as in `evaluation.play_tasks`.
    """
    if not all(isinstance(cell, tuple) and isinstance(cell[-1], Task) for cell in cells):
        raise InputError(f"cells are {shown(cells)}; each is (goal, layout, tightness, task)")
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
        infos, terminated = batch.info_arrays(), batch.results()[1]
        rate[ended] = np.where(terminated, infos["trial_rate"], infos["solution_rate"])[ended]
        solved[ended] = terminated[ended] & (infos["trial_rate"][ended] == 1.0)
        values[ended], limits[ended] = infos["constraints"][ended], infos["limits"][ended]
    limited = [CONSTRAINTS.index("action_number")]
    satisfied = constraint_satisfaction_rate(constraint_distances(values[:, limited], limits[:, limited]))
    done = {record["task"]["name"]: record["actions"] for record in batch.episodes}
    found = []
    for i, (goal, layout, tightness, task) in enumerate(cells):
        numbers = [action for _, _, action, _ in done[task.name] if action < batch.labels.num_actions]
        named = [label for label in (batch.label(number, i) for number in numbers) if label]
        outcome = bool(solved[i]), float(rate[i]), float(satisfied[i])
        style = strategy(named), tuple(tendencies(named).tolist()), tuple(verb for verb, *_ in named[:FIRST])
        found.append(Episode(goal, layout, tightness, *outcome, *style))
    return found


def hypotheses(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Compute agreement between layouts (H1), entropy by tightness (H2), and consistency of an agent's episodes."""
    strategies, goals, tightness, layouts = (
        [getattr(one, name) for one in episodes] for name in ("strategy", "goal", "tightness", "layout")
    )
    conditions = list(zip(goals, tightness, strict=True))
    return {
        "agreement": agreement(strategies, conditions, layouts)._asdict(),
        "entropy": entropy_by_tightness(strategies, goals, tightness),
        "consistency": consistency(strategies, conditions),
    }


def comparison(agents: Mapping[str, Sequence[Episode]]) -> dict[str, Any]:
    """Compare the agents.

    :returns: "front": the agents on the Pareto front of the rates of all tasks (eq. 5); "preferences": agent -> its
        preference order over OBJECTIVES; "over_policies": agent -> over-policy -> share of its episodes; "likelihoods":
        of equation 7, see `left_out_likelihoods`; "difficulty": constraint -> goal -> P(g | c), of solved tasks;
        "foretold": see `foretold`.
    """
    names = list(agents)
    means = np.array([[np.mean([getattr(one, each) for one in agents[name]]) for each in OBJECTIVES] for name in names])
    vectors = np.array([_rates_by_task(agents[name]) for name in names])
    orders = {
        name: " > ".join(" = ".join(OBJECTIVES[each] for each in group) for group in preference_order(means, k))
        for k, name in enumerate(names)
    }
    every = [(name, one) for name in names for one in agents[name]]
    lean = over_policies([one.tendencies for _, one in every])
    rows = [Row(orders[name], over, one.goal, one.tightness) for (name, one), over in zip(every, lean, strict=True)]
    solved = [row for row, (_, one) in zip(rows, every, strict=True) if one.solved]
    shares: dict[str, dict[str, float]] = {}
    for name in names:
        mine = [over for (owner, _), over in zip(every, lean, strict=True) if owner == name]
        shares[name] = {over: mine.count(over) / len(mine) for over in dict.fromkeys(lean)}
    difficulty: dict[str, dict[str, float]] = {}
    if solved:
        prior = Prior(solved, values=rows)
        columns = zip(prior.constraints, prior.difficulty().T.tolist(), strict=True)
        difficulty = {constraint: dict(zip(prior.goals, column, strict=True)) for constraint, column in columns}
    return {
        "front": [name for name, there in zip(names, pareto_front(vectors), strict=True) if there],
        "preferences": orders,
        "over_policies": shares,
        "likelihoods": left_out_likelihoods(rows),
        "difficulty": difficulty,
        "foretold": foretold(agents),
    }


def foretold(agents: Mapping[str, Sequence[Episode]]) -> dict[str, dict[str, dict[str, float]]]:
    """Compute H3 for agents: predict the episodes of each agent from the episodes of the other agents.

    The first predictor uses goal and constraint: it predicts the most frequent behaviour of the others there. The
    second uses only the reward: it predicts their most frequent behaviour in solved episodes, or in all if none is.

    :returns: agent -> "goal and constraint" and "reward only" -> "plan", the share of its strategies that are
        predicted, and "actions", the same for the verbs of its first three actions; {} for a single agent.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, mine in agents.items():
        others = [one for other, episodes in agents.items() if other != name for one in episodes]
        if not others:
            return {}
        rewarded = [one for one in others if one.solved] or others
        alike = [[one for one in others if (one.goal, one.tightness) == (each.goal, each.tightness)] for each in mine]
        known = {"goal and constraint": alike, "reward only": [rewarded] * len(mine)}
        found[name] = {what: _predicted(groups, mine) for what, groups in known.items()}
    return found


def _predicted(groups: Sequence[Sequence[Episode]], mine: Sequence[Episode]) -> dict[str, float]:
    """Return the shares of strategies and of first verbs, at their place, that are the most frequent ones of a group of
    other episodes; :param groups: one for each episode."""
    plans, begins = [], []
    for group, one in zip(groups, mine, strict=True):
        plans.append(_most_frequent([other.strategy for other in group]) == one.strategy)
        columns = ([other.begins[k] for other in group if len(other.begins) > k] for k in range(len(one.begins)))
        usual = [_most_frequent(column) if column else "" for column in columns]
        begins.append(np.mean([verb == other for verb, other in zip(one.begins, usual, strict=True)]))
    return {"plan": float(np.mean(plans)), "actions": float(np.mean(begins))}


def _most_frequent(values: Sequence[str]) -> str:
    """Return the most frequent value, the alphabetically first if there are several."""
    return min(set(values), key=lambda value: (-values.count(value), value))


def _rates_by_task(episodes: Sequence[Episode]) -> list[float]:
    """Return the mean solution rate and constraint rate of each task, in the order of goal, layout and tightness."""
    rates: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for one in episodes:
        rates.setdefault((one.goal, one.layout, one.tightness), []).append((one.solution, one.constraint))
    return [rate for key in sorted(rates) for rate in np.mean(rates[key], axis=0)]


# ---- Equation 7: the preference order lambda and the over-policy xi of a problem solver, given a goal g and a
# constraint c. It has two factorings:
#
#     P(lambda, xi | g, c)  ~  P(lambda) P(xi | lambda) P(c | g) P(g | lambda, xi)       "goal"
#     P(lambda, xi | g, c)  ~  P(lambda) P(xi | lambda) P(g | c) P(c | lambda, xi)       "constraint"
#
# Every factor is a table of smoothed shares, (count + a) / (total + a * number of values). For fixed g and c, P(c | g)
# and P(g | c) are the same for all (lambda, xi): the first factoring distinguishes solvers only by the goal, the second
# only by the constraint. Both predict for a pair (g, c) without episodes, from episodes with only g or only c.


Factoring = Literal["goal", "constraint"]


class Row(NamedTuple):
    """An episode: its solver's preference order and over-policy, and its task's goal and constraint."""

    preference: str
    over_policy: str
    goal: str
    constraint: str


@checked_methods
class Prior:
    """The tables of equation 7.

    :ivar preferences, over_policies, goals, constraints: the L, X, G and C values, sorted.
    :ivar counts: (L, X, G, C) of episodes.
    """

    def __init__(self, rows: Sequence[Row], smoothing: Positive = 1.0, values: Sequence[Row] | None = None) -> None:
        """
        :param smoothing: a, the count that is added to every value.
        :param values: rows that contain all values; None for `rows`.
        :raises InputError: no rows, or a value that is not in `values`.
        """
        known = [sorted(set(column)) for column in zip(*(values or rows), strict=True)]
        if not rows or len(known) != len(Row._fields):
            raise InputError(
                f"rows are {shown(rows)}; there is one (preference, over-policy, goal, constraint) at least"
            )
        self.preferences, self.over_policies, self.goals, self.constraints = known
        self.smoothing = smoothing
        self.counts = np.zeros([len(each) for each in known])
        for row in rows:
            self.counts[tuple(map(_place, Row._fields, row, known))] += 1

    def solvers(self) -> np.ndarray:
        """Return (L, X) P(lambda) P(xi | lambda), the same for all tasks: the frequency baseline."""
        counts = self.counts.sum(axis=(2, 3))
        return self._shares(counts.sum(axis=1), 0)[:, None] * self._shares(counts, 1)

    def difficulty(self) -> np.ndarray:
        """Return (G, C) P(g | c). For solved episodes this is the share of g among the episodes solved under c: a goal
        with a smaller share is more difficult under that constraint."""
        return self._shares(self.counts.sum(axis=(0, 1)), 0)

    def joint(self, factoring: Factoring) -> np.ndarray:
        """Return (L, X, G, C) P(lambda, xi, g, c), the product of the factors; it sums to 1."""
        task, solvers = self.counts.sum(axis=(0, 1)), self.solvers()[:, :, None, None]
        if factoring == "goal":
            return solvers * self._shares(task, 1) * self._shares(self.counts.sum(axis=3), 2)[:, :, :, None]
        return solvers * self._shares(task, 0) * self._shares(self.counts.sum(axis=2), 2)[:, :, None, :]

    def posterior(self, goal: str, constraint: str, factoring: Factoring) -> np.ndarray:
        """Return (L, X) P(lambda, xi | g, c).

        :raises InputError: a goal or a constraint that no row has.
        """
        g, c = _place("goal", goal, self.goals), _place("constraint", constraint, self.constraints)
        found = self.joint(factoring)[:, :, g, c]
        return found / found.sum()

    def _shares(self, counts: np.ndarray, axis: int) -> np.ndarray:
        """Return smoothed shares along an axis."""
        more = counts + self.smoothing
        return more / more.sum(axis=axis, keepdims=True)


def _place(name: str, value: str, known: Sequence[str]) -> int:
    if value not in known:
        raise InputError(f"there is no {name.replace('_', ' ')} {shown(value)}; there are {', '.join(known)}")
    return list(known).index(value)


@checked
def left_out_likelihoods(rows: Sequence[Row], smoothing: Positive = 1.0) -> dict[str, float]:
    """Measure how well the tables predict the solvers of a pair (goal, constraint) from episodes of all other pairs.

    :returns: for "goal", "constraint" and "frequency" (the baseline) the mean over all episodes of
        ln P(lambda, xi | g, c), in nats; 0 is the best possible value.
    :raises InputError: fewer than two pairs.
    """
    pairs = sorted({(row.goal, row.constraint) for row in rows})
    if len(pairs) < 2:
        raise InputError("rows have one pair of goal and constraint; two at least are needed to leave one out")
    found: dict[str, list[float]] = {"goal": [], "constraint": [], "frequency": []}
    for pair in pairs:
        prior = Prior([row for row in rows if (row.goal, row.constraint) != pair], smoothing, rows)
        tables = prior.posterior(*pair, "goal"), prior.posterior(*pair, "constraint"), prior.solvers()
        for row in rows:
            if (row.goal, row.constraint) == pair:
                place = prior.preferences.index(row.preference), prior.over_policies.index(row.over_policy)
                for values, table in zip(found.values(), tables, strict=True):
                    values.append(float(np.log(table[place])))
    return {name: float(np.mean(values)) for name, values in found.items()}
