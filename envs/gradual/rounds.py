"""Rounds of question, answer and feedback whose answers are judged in arrays."""

import numpy as np

from .task import Solution

WIDTH = 16  # bytes of a text; a round with a longer one is judged alone

#: One round; a text is two words of eight bytes. The answer is padded with zeros. Feedback stands at the end of its
#: words, so that the next question can stand right behind it. `talk` counts the bytes of a text up to its last one that
#: is no space.
ROUND = np.dtype([
    ("wrong", "u8", 2), ("right", "u8", 2), ("answer", "u8", 2), ("question", "u8", 2), ("wrong_length", "u1"),
    ("wrong_talk", "u1"), ("right_length", "u1"), ("right_talk", "u1"), ("needed", "u1"), ("length", "u1"),
    ("talk", "u1"), ("spare", "u1"),
])  # fmt: skip


def packed(question: str, solution: Solution, noise: str | None) -> bytes:
    """A round as `ROUND` has it; b"" where its answer takes more than a comparison, or something is still to be drawn.

    :param noise: before the feedback; None where none has been drawn.
    """
    if solution.accepts is not None or solution.opens is not None or (noise is None and solution.noise != (0,)):
        return b""
    if max(len(solution.right), len(solution.wrong)) > 1:
        return b""
    answer, before = solution.answer, noise or ""
    wrong, right = (before + text[0] if text else "" for text in (solution.wrong, solution.right))
    if max(len(answer), len(question), len(wrong), len(right)) > WIDTH or not answer:
        return b""
    texts = f"{wrong:>{WIDTH}}{right:>{WIDTH}}{answer:\0<{WIDTH}}{question:{WIDTH}}"
    figures = (
        len(wrong), len(wrong.rstrip(" ")), len(right), len(right.rstrip(" ")), len(answer), len(question),
        len(question.rstrip(" ")), 0,
    )  # fmt: skip
    return texts.encode("latin-1") + bytes(figures)
