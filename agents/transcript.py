"""Record an agent's choices, in any world, and report failures in them.

    with transcript() as kept:
        rows = play(player, env)
    failures(kept)                    # ["97.2% of episodes choose one thing twice"]

The loop that plays every world (`gumption.agents.evaluation.steps`) and `Advice`, which every guided agent queries,
write into the open transcript. It keeps counts, not choices, so that a long evaluation uses no more memory.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from gumption.envs.action_facts import ActionFacts

#: The smallest share of episodes or choices at which a failure is reported.
REPORTED = 0.1
LOOP = 0.8  # share of an episode's steps; an exploring agent sometimes leaves a loop


class Transcript:
    """Counts of an agent's actions.

    :ivar counts: "episodes" and "choices" in all; "twice", unsuccessful episodes that choose the same thing twice;
        "long", episodes of three steps or more; "loops", unsuccessful long episodes in which four of five steps repeat
        the previous action; "refused", choices that the action mask rules out; "advised", choices with scores;
        "undecided", advised choices in which no score differs between the candidates.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._asks = True  # whether a choice in this world can repeat an earlier one
        self._advised: list[tuple[np.ndarray, np.ndarray]] = []
        self._last = self._steps = self._repeats = self._twice = np.zeros(0)

    def advise(self, facts: ActionFacts, scores: np.ndarray) -> None:
        """Record scores (B, A, K) of the candidates of B environments. A single candidate is not a choice."""
        there = facts.subject.any(axis=2, keepdims=True)
        high = np.where(there, scores, -np.inf).max(1, initial=-np.inf)
        low = np.where(there, scores, np.inf).min(1, initial=np.inf)
        self._advised.append((there.sum(axis=(1, 2)) > 1, ~(high > low).any(1)))

    def choose(self, env: Any, actions: np.ndarray, first: np.ndarray, playing: np.ndarray) -> None:
        """Record actions (B, ...) before the environments make them.

        :param first: (B,) bool, an episode begins; `playing` (B,) bool, the step counts.
        """
        if len(self._steps) != len(first) or first.all():
            self._last, self._steps = actions.copy(), np.zeros(len(first), dtype=np.int64)
            self._repeats, self._twice = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=bool)
        self._steps[first], self._repeats[first], self._twice[first] = 0, 0, False
        self._repeats += ~first & (actions == self._last).all(axis=tuple(range(1, actions.ndim)))
        self._steps += 1
        self._last = actions.copy()
        if actions.ndim == 1:
            self._choose_one(env, actions, playing)
        self.counts["choices"] += int(playing.sum())
        for choice, undecided in self._advised:
            counted = choice & playing if len(choice) == len(playing) else choice
            self.counts["advised"] += int(counted.sum())
            self.counts["undecided"] += int((counted & undecided).sum())
        self._advised.clear()

    def _choose_one(self, env: Any, actions: np.ndarray, playing: np.ndarray) -> None:
        """Record actions as `choose` does, in a world where an action is one of A candidates."""
        rows = np.arange(len(actions))
        if self._asks:
            facts = env.action_facts()
            self._asks = facts.chosen is not None and facts.chosen.shape[1] > 0
            if self._asks:
                self._twice |= facts.again[rows, np.clip(actions, 0, facts.again.shape[1] - 1)]
        mask = env.info_arrays().get("action_mask")
        if mask is not None and mask.ndim == 2:
            self.counts["refused"] += int((mask[rows, np.clip(actions, 0, mask.shape[1] - 1)] == 0)[playing].sum())

    def end(self, over: np.ndarray, success: np.ndarray) -> None:
        """Record the episodes that ended with the latest step, `over` (B,) bool, and their `success` (B,) bool, which
        excludes "twice" and "loops"."""
        failed, long = over & ~success, over & (self._steps >= 3)
        self.counts["episodes"] += int(over.sum())
        self.counts["twice"] += int(self._twice[failed].sum())
        self.counts["long"] += int(long.sum())
        self.counts["loops"] += int((self._repeats >= LOOP * (self._steps - 1))[long & failed].sum())


_OPEN: ContextVar[Transcript | None] = ContextVar("transcript", default=None)


def open_transcript() -> Transcript | None:
    """Return the open transcript, or None."""
    return _OPEN.get()


@contextmanager
def transcript() -> Iterator[Transcript]:
    """Open a transcript: within the context, all play and advice is counted in it."""
    kept = Transcript()
    before = _OPEN.set(kept)
    try:
        yield kept
    finally:
        _OPEN.reset(before)


def failures(kept: Transcript) -> list[str]:
    """Return sentences on the failures in at least a tenth of the episodes or choices."""
    counts = kept.counts
    found = (
        ("twice", "episodes", "{} of episodes choose one thing twice"),
        ("loops", "long", "in {} of episodes of three steps or more, four of five steps repeat the action before"),
        ("refused", "choices", "{} of choices are refused: the action mask rules them out"),
        ("undecided", "advised", "in {} of choices no score differs between the candidates"),
    )
    return [
        words.format(f"{counts[name] / counts[of]:.1%}")
        for name, of, words in found
        if counts[of] and counts[name] >= REPORTED * counts[of]
    ]
