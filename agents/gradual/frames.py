"""A question as programs see it: what its kind has in common is literal, the rest is content."""

from dataclasses import dataclass
from functools import lru_cache

from .operations import LIST, PIECE, SIGN, TEXT, Program, Value
from .texts import SILENCE, Tokens, is_sign, tokens, words

_RUNS, _WORDS = 4, 5

#: The leaves of programs and their kinds.
LEAVES: dict[Program, str] = {
    ("question",): TEXT,
    ("content",): LIST,
    **{("content", place): PIECE for place in (0, 1, 2, -1)},
    **{("word", place): PIECE for place in range(_WORDS)},
    **{("run", place): SIGN for place in range(_RUNS)},
    ("sign",): SIGN,
    ("nothing",): SIGN,
    ("space",): SIGN,
    ("domain",): PIECE,
}


@dataclass(frozen=True)
class Frame:
    """A question cut by a guard.

    :ivar content: the tokens that are not literal. :ivar runs: the literal tokens between them.
    """

    question: str
    words: Tokens
    content: Tokens
    runs: Tokens

    def leaf(self, program: Program, domain: str) -> Value:
        """The value of a leaf.

        :param domain: the characters that questions of this kind have had as content.
        """
        name = program[0]
        if name == "question":
            return self.question
        if name == "content":
            return self.content if len(program) == 1 else _item(self.content, program[1])
        if name == "word":
            return _item(self.words, program[1])
        if name == "run":
            return _item(self.runs, program[1])
        if name == "sign":
            return next(filter(is_sign, self.question), None)
        if name == "domain":
            return domain or None
        return "" if name == "nothing" else " "


def _item(items: Tokens, place: int) -> str | None:
    return items[place] if -len(items) <= place < len(items) else None


@lru_cache(maxsize=1 << 15)
def frame(question: str, guard: frozenset[str]) -> Frame:
    """Cut a question.

    :param guard: the tokens that are literal.
    """
    parts = tokens(question)
    runs, run = [], ""
    for token in parts:
        if token in guard:
            run += token
        elif run:
            runs.append(run)
            run = ""
    content = tuple(token for token in parts if token not in guard and token != SILENCE)
    return Frame(question, words(question), content, (*runs, run) if run else tuple(runs))
