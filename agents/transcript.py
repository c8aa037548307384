"""What an agent chose, in any world, and the failures that show in it.

    with transcript() as kept:
        rows = play(player, env)
    failures(kept)                    # ["97.2% of episodes choose one thing twice"]

The loop by which every world plays (`gumption.agents.evaluation.steps`) and `Advice`, which every guided agent queries,
write into the open transcript. It keeps counts, not choices, so that a long evaluation takes no memory.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from gumption.envs.action_facts import ActionFacts

#: The share of episodes or choices from which a failure is reported.
REPORTED = 0.1
LOOP = 0.8  # share of an episode's steps; an agent that explores leaves a loop now and then


class Transcript:
    """Counts of what an agent does.

    :ivar counts: "episodes" and "choices" in all; the episodes without success that choose one thing "twice"; the
        "long" ones, of three steps or more, and those of them without success in which four of five steps repeat the
        action before, "loops"; the choices that the action mask rules out, "refused"; the choices that are "advised",
        and those of them where no score differs between the candidates, "undecided".
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._asks = True  # whether the world's choices may name a thing that is chosen already
        self._advised: list[tuple[np.ndarray, np.ndarray]] = []
        self._last = self._steps = self._repeats = self._twice = np.zeros(0)

    def advise(self, facts: ActionFacts, scores: np.ndarray) -> None:
        """Note advice: scores (B, A, K) of the candidates of B environments. One candidate alone is no choice."""
        there = facts.subject.any(axis=2, keepdims=True)
        high = np.where(there, scores, -np.inf).max(1, initial=-np.inf)
        low = np.where(there, scores, np.inf).min(1, initial=np.inf)
        self._advised.append((there.sum(axis=(1, 2)) > 1, ~(high > low).any(1)))

    def choose(self, env: Any, actions: np.ndarray, first: np.ndarray, playing: np.ndarray) -> None:
        """Note actions (B, ...) of environments that have not made them yet.

        :param first: (B,) bool, an episode begins; `playing` (B,) bool, whose step counts.
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
        """As `choose`, of a world in which an action is one of A candidates."""
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
        """Note whose episodes (B,) bool ended with the latest step, and where the aim of the world is reached: what
        leads there is no failure."""
        failed, long = over & ~success, over & (self._steps >= 3)
        self.counts["episodes"] += int(over.sum())
        self.counts["twice"] += int(self._twice[failed].sum())
        self.counts["long"] += int(long.sum())
        self.counts["loops"] += int((self._repeats >= LOOP * (self._steps - 1))[long & failed].sum())


_OPEN: ContextVar[Transcript | None] = ContextVar("transcript", default=None)


def open_transcript() -> Transcript | None:
    """The transcript to write into, if there is one."""
    return _OPEN.get()


@contextmanager
def transcript() -> Iterator[Transcript]:
    """Within it what is played and advised is kept in the transcript."""
    kept = Transcript()
    before = _OPEN.set(kept)
    try:
        yield kept
    finally:
        _OPEN.reset(before)


def failures(kept: Transcript) -> list[str]:
    """What goes wrong in a tenth of the episodes or choices at least, in sentences."""
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
