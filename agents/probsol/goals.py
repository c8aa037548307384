"""The study of goals and constraints (Problem Formulation, H1 to H3) for agents: goal x layout x constraint.

Goals are the six families; layouts of one goal are different certified tasks; the constraint limits the number of
actions to a multiple of those of the certified solution. Every agent plays each task once, in one trial, and goes on
where it breaks the limit, so that what it is broken by is measured. Agents cannot read names: the study's fourth factor
is for people. They do not say plans either: in H3 the strategy of what they did stands for the plan.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gumption.data import InputError
from gumption.data.settings import Count, Positive, Seed, checked, checked_methods, shown
from gumption.envs.probsol.tasks import CONSTRAINTS, VERBS, Task
from gumption.envs.probsol.vector_env import ProbSolVectorEnv

from .measures import constraint_distances, constraint_satisfaction_rate, pareto_front, preference_order
from .players import steps

# ---- Strategies of episodes, coded from their actions, and what the study's hypotheses ask of them (spec, section 5).
#
# An episode is its actions by name, as in a solution or a record: ("grab", "b"), ("place", 10, 16), ("check",). What a
# strategy is, people wrote; who has which one, the actions say.
#
# * H1, agreement: do players of other layouts with the same goal and constraint have the same strategy, more often than
#   where strategies are shuffled among the episodes?
# * H2, entropy of strategies, -sum p log2 p: does it fall as the constraint becomes tight?
# * H3, accuracy: how often is the stated plan predicted, and each of the first three actions?
# * consistency: the share of pairs of equal (goal, constraint) with the same strategy, minus that of all pairs.


Action = Sequence[Any]
CHECK_ONLY, TURN, HOLD_AND_PULL, STORING = "check only", "turn", "hold and pull", "one by one storing"
PUSH, PROBING, ALL_AT_ONCE, PLACE_AND_WAIT = "push", "sequential probing", "all at once", "place and wait"
#: The eight strategies -> what a player with that one does; see `strategy`.
STRATEGIES = {
    CHECK_ONLY: "puts nothing on the table, takes nothing off it and turns nothing",
    TURN: "turns discs: a third of what is done, or more",
    HOLD_AND_PULL: "holds discs: a third of what is done, or more",
    STORING: "sets discs out first, if at all, and then stores one after the other",
    PUSH: "moves the disc that was put down last again: half of the placements, or more",
    PROBING: "puts down several discs, one at a time",
    ALL_AT_ONCE: "puts down several discs that lie on the table together",
    PLACE_AND_WAIT: "puts down one disc and sees what it does",
}
CURIOSITY, EMPOWERMENT, SHORTCUT, NONE = "curiosity", "empowerment", "shortcut-seeking", "none"
OVER_POLICIES = (CURIOSITY, EMPOWERMENT, SHORTCUT, NONE)
#: Verbs -> how many arguments they take; None for any number.
_ARGUMENTS: dict[str, int | None] = {**VERBS, "grab_placed": 1, "answer": None}


@dataclass
class _Deeds:
    """What was done in an episode.

    :ivar placed: the discs put down or held somewhere, in order. :ivar most: of them on the table at a time.
    :ivar stored_last: discs stored since the last placement.
    """

    placed: list[Any] = field(default_factory=list)
    holds: int = 0
    turns: int = 0
    stores: int = 0
    stored_last: int = 0
    most: int = 0


def _deeds(actions: Iterable[Action]) -> _Deeds:
    done, hand, lies = _Deeds(), None, set()
    for verb, *rest in _checked(actions):
        if verb in ("grab", "grab_placed", "hold"):
            hand = rest[0]
            lies.discard(hand)
        if verb in ("hold", "hold_at"):
            done.holds += 1
        if verb in ("place", "hold_at"):
            done.placed.append(hand)
            done.stored_last = 0
        if verb in ("place", "hold_at", "put_down"):
            lies.add(hand)
            done.most = max(done.most, len(lies))
        if verb == "store":
            lies.discard(hand)
            done.stores += 1
            done.stored_last += 1
        done.turns += verb == "turn"
    return done


@checked
def strategy(actions: Sequence[Any]) -> str:
    """The strategy of an episode: the first one of `STRATEGIES` that its actions show.

    :raises InputError: something else than actions by name.
    """
    done = _deeds(actions)
    count = len(done.placed)
    # A disc that is held at a point is placed there, and counts once.
    whole = count + done.holds + done.turns + done.stores - sum(one[0] == "hold_at" for one in actions)
    if whole == 0:
        return CHECK_ONLY
    if 3 * done.turns >= whole:
        return TURN
    if 3 * done.holds >= whole:
        return HOLD_AND_PULL
    if done.stores and done.stored_last == done.stores and (done.stores > 1 or not count):
        return STORING
    again = sum(one == other for one, other in zip(done.placed, done.placed[1:], strict=False))
    if again and 2 * again >= count:
        return PUSH
    if len(set(done.placed)) > 1:
        return PROBING if done.most == 1 else ALL_AT_ONCE
    return PLACE_AND_WAIT


@checked
def tendencies(actions: Sequence[Any]) -> np.ndarray:
    """(3,) how much of an episode's actions show curiosity, empowerment and shortcut-seeking, each from 0 to 1.

    Over-policies are measured, not built in: curiosity is the share of actions that do something for the first time,
    with that disc; empowerment the share of those that hold a disc, or turn or let go of a held one; shortcut-seeking
    the share of CHECKs, which ask whether it is enough already.

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
    """The over-policy of each episode: the tendency that lies farthest above its mean over the episodes, in standard
    deviations; "none" where no one lies one deviation above it.

    :param measured: (n, 3) of `tendencies`.
    :raises InputError: no such array.
    """
    found = np.asarray(measured, dtype=float)
    if found.ndim != 2 or found.shape[1] != len(OVER_POLICIES) - 1 or not len(found) or not np.isfinite(found).all():
        raise InputError(f"measured {found.shape} is an array (episodes, 3) of finite numbers")
    deviation = found.std(axis=0)
    above = np.where(deviation > 0, (found - found.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), 0.0)
    return [OVER_POLICIES[row.argmax()] if row.max() >= 1 else NONE for row in above]


# ---- hypotheses


class Agreement(NamedTuple):
    """H1.

    :ivar value: share of pairs of episodes with one goal and constraint and two layouts that have one strategy.
    :ivar shuffled: the same with shuffled strategies, the mean; `p` how often they reach the value or more.
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
    """Agreement between layouts against shuffled strategies.

    :param strategies, conditions, layouts: of each episode; a condition is (goal, constraint).
    :raises InputError: lists of different lengths, or no pair of one condition and two layouts.
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
    """The share of pairs of episodes of one condition (goal, constraint) with the same strategy, minus that of all
    pairs: 0 for a player whose strategies have nothing to do with goal and constraint.

    :raises InputError: lists of different lengths, or no pair of one condition.
    """
    coded, same_condition = _coded(strategies, conditions)
    first, second = np.triu_indices(len(coded), 1)
    equal, same = coded[first] == coded[second], same_condition[first, second]
    if not same.any():
        raise InputError("no two episodes have the same condition")
    return float(equal[same].mean() - equal.mean())


@checked
def entropy(strategies: Sequence[str]) -> float:
    """-sum p log2 p of the strategies, in bits: 0 where all are the same, 3 where all eight are equally frequent.

    :raises InputError: no strategies.
    """
    if not strategies:
        raise InputError("there are no strategies to tell the entropy of")
    counts = np.unique(np.array(strategies), return_counts=True)[1]
    share = counts / counts.sum()
    return float(max(0.0, -(share * np.log2(share)).sum()))


@checked
def entropy_by_tightness(strategies: Sequence[str], goals: Sequence[str], tightness: Sequence[str]) -> dict[str, float]:
    """H2: for each tightness of the constraint the mean over goals of the entropy of strategies, in bits.

    :raises InputError: lists of different lengths.
    """
    _coded(strategies, goals)
    _coded(strategies, tightness)
    groups: dict[tuple[str, str], list[str]] = {}
    for one, goal, tight in zip(strategies, goals, tightness, strict=True):
        groups.setdefault((tight, goal), []).append(one)
    levels = dict.fromkeys(tightness)
    return {
        level: float(np.mean([entropy(group) for (tight, _), group in groups.items() if tight == level]))
        for level in levels
    }


@checked
def plan_accuracy(predicted: Sequence[str], stated: Sequence[str]) -> float:
    """H3: the share of players whose stated plan, one of the eight strategies, is predicted.

    :raises InputError: lists of different lengths, or empty ones.
    """
    if len(predicted) != len(stated) or not stated:
        raise InputError(f"{len(predicted)} plans are predicted, and {len(stated)} stated; they are as many, and some")
    return float(np.mean([one == other for one, other in zip(predicted, stated, strict=True)]))


@checked
def first_actions_accuracy(predicted: Sequence[Any], done: Sequence[Any], first: Count = 3) -> float:
    """H3: the share of the first three actions that are predicted, each at its place; the mean over players.

    :param predicted, done: for each player the actions by name. An episode with fewer is compared as far as it goes.
    :raises InputError: lists of different lengths, or an episode without actions.
    """
    if len(predicted) != len(done) or not done or not all(len(episode) for episode in done):
        raise InputError(f"{len(predicted)} episodes are predicted and {len(done)} played; each has an action at least")
    shares = []
    for told, made in zip(predicted, done, strict=True):
        wanted = [tuple(action) for action in made[:first]]
        shares.append(sum(tuple(one) == other for one, other in zip(told, wanted, strict=False)) / len(wanted))
    return float(np.mean(shares))


def _coded(labels: Sequence[Any], conditions: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """(n,) numbers of labels, and (n, n) bool: which episodes have the same condition."""
    if len(labels) != len(conditions):
        raise InputError(f"{len(labels)} episodes are coded, and {len(conditions)} conditions given; they are as many")
    known = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    numbers = {condition: k for k, condition in enumerate(dict.fromkeys(conditions))}
    condition = np.array([numbers[each] for each in conditions], dtype=np.int64)
    return np.array([known[each] for each in labels], dtype=np.int64), condition[:, None] == condition


def _checked(actions: Iterable[Action]) -> list[Action]:
    found = []
    for action in actions:
        known = isinstance(action, list | tuple) and action and action[0] in _ARGUMENTS
        if not known or _ARGUMENTS[action[0]] not in (None, len(action) - 1):
            raise InputError(f"{shown(action)} is no action by name, such as ('grab', 'b') or ('check',)")
        found.append(action)
    return found


# ---- The study


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
    :ivar strategy: one of `STRATEGIES`. :ivar tendencies: of `tendencies`.
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
        of equation 7, see `left_out_likelihoods`; "difficulty": constraint -> goal -> P(g | c), of solved tasks;
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


# ---- Equation 7: which preference order and over-policy a problem solver has, given a goal and a constraint, as
# tables.
#
# lambda is the preference order, xi the over-policy, g the goal, c the constraint. The equation has two factorings:
#
#     P(lambda, xi | g, c)  ~  P(lambda) P(xi | lambda) P(c | g) P(g | lambda, xi)       "goal"
#     P(lambda, xi | g, c)  ~  P(lambda) P(xi | lambda) P(g | c) P(c | lambda, xi)       "constraint"
#
# Every factor is a table of smoothed shares, (count + a) / (total + a * number of values). Given g and c, P(c | g) and
# P(g | c) are the same for all (lambda, xi): the first factoring tells solvers apart by the goal alone, the second by
# the
# constraint alone. Either one says something of a pair (g, c) that no episode had, from episodes with one of the two.


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
        :param values: rows in which all values occur; None for `rows`.
        :raises InputError: no rows, or a value that `values` does not have.
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
            self.counts[
                tuple(_place(name, value, known[k]) for k, (name, value) in enumerate(row._asdict().items()))
            ] += 1

    def solvers(self) -> np.ndarray:
        """(L, X) P(lambda) P(xi | lambda): what is expected of any task, the frequency baseline."""
        counts = self.counts.sum(axis=(2, 3))
        return self._shares(counts.sum(axis=1), 0)[:, None] * self._shares(counts, 1)

    def difficulty(self) -> np.ndarray:
        """(G, C) P(g | c). Of solved episodes it is the share of g among those solved under c: the smaller,
        the more difficult is the goal under that constraint."""
        return self._shares(self.counts.sum(axis=(0, 1)), 0)

    def joint(self, factoring: Factoring) -> np.ndarray:
        """(L, X, G, C) P(lambda, xi, g, c), the product of the factors; it sums to 1."""
        task = self.counts.sum(axis=(0, 1))
        if factoring == "goal":
            likelihood = self._shares(self.counts.sum(axis=3), 2)[:, :, :, None]
            return self.solvers()[:, :, None, None] * self._shares(task, 1) * likelihood
        likelihood = self._shares(self.counts.sum(axis=2), 2)[:, :, None, :]
        return self.solvers()[:, :, None, None] * self._shares(task, 0) * likelihood

    def posterior(self, goal: str, constraint: str, factoring: Factoring) -> np.ndarray:
        """(L, X) P(lambda, xi | g, c).

        :raises InputError: a goal or a constraint that no row has.
        """
        g, c = _place("goal", goal, self.goals), _place("constraint", constraint, self.constraints)
        found = self.joint(factoring)[:, :, g, c]
        return found / found.sum()

    def _shares(self, counts: np.ndarray, axis: int) -> np.ndarray:
        """Smoothed shares along an axis."""
        more = counts + self.smoothing
        return more / more.sum(axis=axis, keepdims=True)


def _place(name: str, value: str, known: Sequence[str]) -> int:
    if value not in known:
        raise InputError(f"there is no {name.replace('_', ' ')} {shown(value)}; there are {', '.join(known)}")
    return list(known).index(value)


@checked
def left_out_likelihoods(rows: Sequence[Row], smoothing: Positive = 1.0) -> dict[str, float]:
    """How well the tables tell the solvers of tasks with a pair (goal, constraint) that they have not seen.

    Each pair is left out in turn, and the tables are made of the other episodes.

    :returns: for "goal", "constraint" and "frequency" (the baseline) the mean over all episodes of
        ln P(lambda, xi | g, c), in nats; 0 is the best there is.
    :raises InputError: fewer than two pairs.
    """
    pairs = sorted({(row.goal, row.constraint) for row in rows})
    if len(pairs) < 2:
        raise InputError("rows have one pair of goal and constraint; two at least are needed to leave one out")
    told: dict[str, list[float]] = {"goal": [], "constraint": [], "frequency": []}
    for pair in pairs:
        seen = [row for row in rows if (row.goal, row.constraint) != pair]
        prior = Prior(seen, smoothing, rows)
        said = {
            "goal": prior.posterior(*pair, "goal"),
            "constraint": prior.posterior(*pair, "constraint"),
            "frequency": prior.solvers(),
        }
        for row in rows:
            if (row.goal, row.constraint) == pair:
                place = prior.preferences.index(row.preference), prior.over_policies.index(row.over_policy)
                for name, table in said.items():
                    told[name].append(float(np.log(table[place])))
    return {name: float(np.mean(values)) for name, values in told.items()}
