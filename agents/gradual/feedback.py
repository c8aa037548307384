"""Which part of the feedback is the answer."""

from collections import Counter
from itertools import takewhile

from .texts import SILENCE

_KEPT = 6  # unexplained texts that are compared


class Reader:
    """Finds the answer that feedback shows, by what stood before answers in earlier feedback.

    :ivar heads: what stands before an answer -> how often that was confirmed.
    """

    def __init__(self) -> None:
        self.heads: Counter[str] = Counter()
        self._open: list[str] = []

    def shown(self, feedback: str, length: int, stop: str) -> str:
        """The answer shown after a wrong one, "" where none is.

        :param length: of the answer, 0 where a stop ends it.
        """
        if not feedback:
            return ""
        if length:
            return feedback[-length:].lstrip(SILENCE)
        answer = feedback[len(self._head(feedback)) :]
        if answer == stop:
            return ""
        return answer if not stop or answer.endswith(stop) else answer + stop

    def confirm(self, said: str, feedback: str) -> None:
        """A right answer: feedback that repeats it shows its place."""
        head = feedback.removesuffix(said)
        if said and head != feedback:
            self.heads[head] += 1

    def _head(self, feedback: str) -> str:
        known = [head for head in self.heads if head and feedback.startswith(head) and feedback != head]
        if known:
            return max(known, key=len)
        if self._open and self._open[-1] != feedback:
            self._open = [*self._open, feedback][-_KEPT:]
            alike = [_shared(feedback, other) for other in self._open if other != feedback]
            head = max(alike, key=len)
            if head:
                self.heads[head] += 1
                return head
        elif not self._open:
            self._open = [feedback]
        return feedback[: feedback.rstrip(SILENCE).rfind(SILENCE) + 1]


def _shared(one: str, other: str) -> str:
    """What two texts begin with, up to its last silence."""
    same = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return same[: same.rfind(SILENCE) + 1]
