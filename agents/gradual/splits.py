"""Where feedback ends and the next question begins, within what the environment says between two turns."""

from collections.abc import Sequence
from math import log

from .ends import EndRule
from .texts import SILENCE, is_sign, kind, shape, tokens

_FADING = 0.9  # a step of forgetting, so that about ten texts count
_FORGOTTEN = 1e-3
_KNOWN = 3.0  # times that feedback has ended with a character, from which on it counts


class Splitter:
    """Cuts a text into feedback and question by how questions began and feedback ended before.

    :ivar starts, shapes: how often a question began with a token, and had a shape; recent ones count more.
    :ivar ends: how often feedback ended with a character, apart for rewards that come late.
    """

    def __init__(self) -> None:
        self.starts: dict[str, float] = {}
        self.ends: dict[bool, dict[str, float]] = {False: {}, True: {}}
        self.shapes: dict[str, float] = {}
        self.offsets: dict[int, int] = {}

    def learn(self, texts: Sequence[str], rule: EndRule, length: int) -> None:
        """A rule was found for these texts, which silence of so many bytes followed.

        Texts of one length are cut behind a sign that all of them have, else the feedback is as long as the answer.
        """
        if not rule.length:
            return
        signs = [place for place, char in enumerate(texts[0][:-1]) if is_sign(char)]
        common = [place for place in signs if all(text[place] == texts[0][place] for text in texts)]
        self.offsets[rule.length] = common[-1] + 1 if common else min(length, rule.length - 1)

    def place(self, text: str, rule: EndRule | None, boundary: int, first: bool, late: bool) -> int:
        """Where the question begins.

        :param boundary: where a late reward came, 0 where none did. :param first: nothing was judged before.
        :param late: rewards come late.
        """
        if first or rule is None:
            place = 0
        elif boundary:
            place = boundary
        elif rule.length:
            place = min(self.offsets.get(rule.length, 0), len(text) - 1)
        else:
            places = [0, *(place for place in range(1, len(text)) if not text[place - 1].isalnum())]
            place = max(places, key=lambda place: self._score(text, place, rule, late))
        _count(self.starts, _start(text[place:]))
        _count(self.shapes, shape(text[place:]))
        if place:
            _count(self.ends[late], text[place - 1])
        return place

    def body(self, feedback: str, stop: str) -> str:
        """Feedback without silence around it and the sign that ends it."""
        text = feedback.strip(SILENCE)
        if text and is_sign(text[-1]) and text[-1] != stop and text[-1] in self.ends[False]:
            return text[:-1]
        return text

    def _score(self, text: str, place: int, rule: EndRule, late: bool) -> float:
        prior = 0.02
        if place:
            char, ends = text[place - 1], self.ends[late]
            prior = min(1, ends.get(char, 0)) + (0.2 if is_sign(char) else 0.1 if late else 0.02)
            prior += 0.5 * (char == rule.after and not late)
            known = {end for end, times in ends.items() if times > _KNOWN}
            if known & set(text[: place - 1]):  # feedback ended at the first of these
                prior *= 0.1
        start, looks = self.starts.get(_start(text[place:]), 0), self.shapes.get(shape(text[place:]), 0)
        return log(prior) + log(min(1, start) + 0.03) + log(min(1, looks) + 1)


def _start(question: str) -> str:
    first = tokens(question.lstrip(SILENCE) or SILENCE)[0]
    return kind(first) if first[0].isdigit() else first


def _count(counts: dict[str, float], key: str) -> None:
    for other in list(counts):
        counts[other] *= _FADING
        if counts[other] < _FORGOTTEN:
            del counts[other]
    counts[key] = counts.get(key, 0) + 1
