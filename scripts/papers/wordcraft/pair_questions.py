"""Two questions about n-ary facts, also usable in studies with people: does a pair make anything, and which object?

The questions are drawn from facts on which the answerer was not trained. Frequencies do not give the answers away:
pairs that make nothing contain the same things equally often as pairs that make something, and wrong answers are drawn
from the objects of the other facts by their frequency.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Seed, checked, whole_numbers

#: (n,) and (n,) int64 ids, the two parties of n pairs -> (n, N), a score of each of N objects: log p(object | pair) up
#: to a constant, or any other score that grows with it.
PairScore = Callable[[np.ndarray, np.ndarray], np.ndarray]
OPTIONS = 4
ROUNDS = 100  # maximum number of draws until a pair makes nothing, or an option is wrong
PAIRS_AT_ONCE = 256  # pairs per batch of scores (n, N)


@dataclass(frozen=True, eq=False)
class PairQuestions:
    """
    :ivar pairs: (n, 2) int64 ids; `makes` (n,) bool, whether they make anything.
    :ivar facts: (m, 2) int64 pairs; `options` (m, 4) int64, four objects for each pair, the first of them right.
    """

    pairs: np.ndarray
    makes: np.ndarray
    facts: np.ndarray
    options: np.ndarray


@checked
def draw_questions(asked: np.ndarray, known: np.ndarray, seed: Seed = 0) -> PairQuestions:
    """Draw questions about some facts.

    :param asked: (n, 3) int64 rows (party, party, object), the facts of a test part to draw questions from.
    :param known: (m, 3) int64, all true facts, to exclude them from wrong answers. The order of the two parties does
        not matter.
    :raises InputError: facts of fewer than four objects, or of almost all pairs.
    """
    asked, known = (_ordered(name, rows) for name, rows in (("asked", asked), ("known", known)))
    everything = np.concatenate([asked, known])
    size = int(everything.max()) + 1 if len(asked) else 0
    if len(np.unique(asked[:, 2])) < OPTIONS:
        raise InputError(f"asked has facts of fewer than {OPTIONS} objects: there are no wrong answers to draw from")
    rng = np.random.Generator(np.random.PCG64(seed))
    true_pairs = np.unique(everything[:, 0] * size + everything[:, 1])
    true_facts = np.unique((everything[:, 0] * size + everything[:, 1]) * size + everything[:, 2])

    pairs = np.unique(asked[:, :2], axis=0)
    nothing = pairs.copy()
    wrong = np.arange(len(pairs))
    for _ in range(ROUNDS):
        nothing[wrong, 1] = nothing[rng.permutation(wrong), 1]
        low, high = np.sort(nothing, axis=1).T
        wrong = np.flatnonzero(np.isin(low * size + high, true_pairs))
        if len(wrong) < 2:
            break
    nothing = np.unique(np.sort(np.delete(nothing, wrong, axis=0), axis=1), axis=0)

    if not len(nothing):
        raise InputError("asked has facts of almost every pair of its parties: there are no pairs that make nothing")

    options = np.repeat(asked[:, 2:], OPTIONS, axis=1)
    of_pair = (asked[:, 0] * size + asked[:, 1])[:, None] * size
    told = np.ones(len(asked), dtype=bool)
    for column in range(1, OPTIONS):
        wrong = np.arange(len(asked))
        for _ in range(ROUNDS):
            options[wrong, column] = rng.choice(asked[:, 2], len(wrong))
            drawn = options[wrong, column, None]
            bad = np.isin(of_pair[wrong] + drawn, true_facts)[:, 0] | (options[wrong, :column] == drawn).any(axis=1)
            wrong = wrong[bad]
        told[wrong] = False
    return PairQuestions(
        np.concatenate([pairs, nothing]),
        np.arange(len(pairs) + len(nothing)) < len(pairs),
        asked[told, :2],
        options[told],
    )


@checked
def pair_answers(score: PairScore, questions: PairQuestions) -> dict[str, float]:
    """Measure how well a score answers the questions.

    :returns: "makes_anything", the probability that a pair that makes something scores higher than a pair that makes
        nothing (AUC; ties count a half), with the log-sum-exp of scores over objects as a pair's score;
        "which_of_four", the share of facts whose object has the highest score of the four (k-way ties count 1/k).
    :raises InputError: scores of another shape, or scores that are not finite.
    """
    from scipy.special import logsumexp
    from scipy.stats import rankdata

    anything = np.concatenate([np.asarray(logsumexp(part, axis=1)) for _, part in _scored(score, questions.pairs)])
    of_options = np.concatenate(
        [np.take_along_axis(part, questions.options[rows], axis=1) for rows, part in _scored(score, questions.facts)]
    )
    best = of_options == of_options.max(axis=1, keepdims=True)
    makes = questions.makes
    below = rankdata(anything)[makes] - rankdata(anything[makes])  # lower-scored pairs that make nothing
    return {
        "makes_anything": float(below.mean() / (len(makes) - makes.sum())),
        "which_of_four": float((best[:, 0] / best.sum(axis=1)).mean()),
    }


def _scored(score: PairScore, pairs: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        rows = slice(start, start + PAIRS_AT_ONCE)
        first, second = pairs[rows].T
        found = np.asarray(score(first, second), dtype=np.float64)
        if found.ndim != 2 or len(found) != len(first):
            raise InputError(f"score gives an array {found.shape} for {len(first)} pairs: it gives a row for each")
        if not np.isfinite(found).all():
            raise InputError("score gives NaN or infinite scores: give -30 or so where something is impossible")
        yield rows, found


def _ordered(name: str, rows: np.ndarray) -> np.ndarray:
    """Return (n, 3) distinct rows with the pair in ascending order."""
    rows = whole_numbers(name, rows, None, 3).copy()
    rows[:, :2] = np.sort(rows[:, :2], axis=1)
    return np.unique(rows, axis=0)
