"""Answers to questions about which nothing but a reward is ever heard: copies, one common answer, or one of its own."""

from .texts import is_word

_FADING = 0.9
_GIVEN_UP = 80  # failures in a row after which the instance must have changed unnoticed


def _group(question: str) -> str:
    return "letter" if is_word(question) else "digit" if question.isdigit() else "sign"


class Guesser:
    """Guesses, and learns how good each way to guess has been for each kind of question.

    :ivar trust: (way, kind of question) -> [how often right, how often wrong], recent ones count more.
    """

    def __init__(self) -> None:
        self.trust: dict[tuple[str, str], list[float]] = {}
        self.heard: dict[str, None] = {}
        self._failures = 0
        self._forget()

    def answer(self, question: str) -> str:
        """The likeliest answer."""
        if question in self._known:
            return self._known[question]
        self.heard.setdefault(question)
        self._seen.setdefault(question)
        group = _group(question)
        wrong, common = self._wrong.get(question, set()), self._common.get(group)
        everything = dict.fromkeys([*self._seen, *self.heard, *map(chr, range(32, 127))])
        free = self._rate("own", group)
        seen = 1 + sum(_group(other) == group for other in self._seen)

        def score(value: str) -> float:
            if value in wrong:
                return -1.0
            explored = (1.0 if _group(value) == group else 0.3) if value in self._seen else 0.02
            if value in self._refuted.get(group, ()):
                explored *= free
            result = explored / seen
            if value == question:
                result += self._rate("copy", group)
            if value == common:
                result += self._rate("common", group)
            return result

        return max(everything, key=score)

    def learn(self, question: str, said: str, reward: int) -> None:
        """An answer was right or wrong."""
        group = _group(question)
        common = self._common.get(group)
        if reward > 0:
            self._failures = 0
            if question not in self._known:
                self._judge("copy", group, question == said)
                if common is not None:
                    self._judge("common", group, common == said)
                    self._judge("own", group, common != said)
            self._known[question] = self._common[group] = said
            return
        self._failures += 1
        expected = self._known.get(question) == said or (common == said and self._rate("common", group) > 0.6)
        if expected or self._failures > _GIVEN_UP:
            self._forget()
            self._seen[question] = None
        elif question == said:
            self._judge("copy", group, False)
        elif common == said:
            self._judge("common", group, False)
        self._wrong.setdefault(question, set()).add(said)
        self._refuted.setdefault(group, set()).add(said)

    def _forget(self) -> None:
        """Another instance has begun."""
        self._known: dict[str, str] = {}
        self._common: dict[str, str] = {}
        self._wrong: dict[str, set[str]] = {}
        self._refuted: dict[str, set[str]] = {}
        self._seen: dict[str, None] = {}
        self._failures = 0

    def _rate(self, way: str, group: str) -> float:
        right, wrong = self.trust.get((way, group), (0, 0))
        return (right + 0.5) / (right + wrong + 1.5)

    def _judge(self, way: str, group: str, right: bool) -> None:
        counts = self.trust.setdefault((way, group), [0, 0])
        counts[:] = [count * _FADING for count in counts]
        counts[not right] += 1
