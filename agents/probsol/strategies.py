r"""Strategies of episodes, coded from their actions, and what the study's hypotheses ask of them (spec, section 5).

An episode is its actions by name, as in a solution or a record: ("grab", "b"), ("place", 10, 16), ("check",). What a
strategy is, people wrote; who has which one, the actions say.

* H1, agreement: do players of other layouts with the same goal and constraint have the same strategy, more often than
  where strategies are shuffled among the episodes?
* H2, entropy of strategies, -sum p log2 p: does it fall as the constraint becomes tight?
* H3, accuracy: how often is the stated plan predicted, and each of the first three actions?
* consistency: the share of pairs of equal (goal, constraint) with the same strategy, minus that of all pairs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.data.wording import shown
from gumption.envs.probsol.tasks import VERBS

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
