"""Which facts would speak for the next byte: (question hasAnswer answer) and (symbol followedBy symbol)."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gumption.envs.action_facts import ActionFacts, action_facts

from .facts import FOLLOWED_BY, HAS_ANSWER, answered_facts, symbol
from .task import STOP

RELATIONS = (HAS_ANSWER, FOLLOWED_BY)
_BYTES = 256


class StreamFacts:
    """The facts of B streams. For a byte that would go on with an answer speaks that the question has the answer which
    is then complete, or is but for its full stop; and that the byte follows the one that was sent last.
    """

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """ "" for nothing, the 256 symbols, and the questions and answers of the tasks that hide nothing."""
        told = {label for question, _, answer in answered_facts() for label in (question, answer)}
        symbols = [symbol(byte) for byte in range(_BYTES)]
        return ("", *symbols, *sorted(told.difference(symbols)))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.vocabulary)}

    def __call__(self, questions: Sequence[str], answers: Sequence[str], sent: np.ndarray) -> ActionFacts:
        """
        :param questions, answers: of each stream the running question, and what has been said in answer to it.
        :param sent: (B,) uint8.
        """
        ids = self._ids
        asked = np.array([ids.get(question, 0) for question in questions])[:, None]
        answered = np.array([self._completed(answer) if question in ids else _NONE
                             for question, answer in zip(questions, answers, strict=True)])  # fmt: skip
        symbols = 1 + np.arange(_BYTES)
        shape = (len(questions), _BYTES)
        return action_facts(
            RELATIONS,
            shape,
            [(np.where(answered > 0, asked, 0), answered, 0), (1 + sent[:, None].astype(int), symbols, 0)],
        )

    def _completed(self, said: str) -> list[int]:
        """Per byte the id of the answer that it completes, 0 for none."""
        ids = self._ids
        texts = [said + chr(byte) for byte in range(_BYTES)]
        return [ids.get(text, 0) if text.endswith(STOP) else ids.get(text + STOP, 0) for text in texts]


_NONE = [0] * _BYTES
