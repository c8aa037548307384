"""Where a text ends that the environment says: rules, and how they are found from texts whose end is known."""

from collections.abc import Sequence
from dataclasses import dataclass

from .texts import is_sign

ENOUGH = 3  # texts that a rule has to fit


@dataclass(frozen=True)
class EndRule:
    """A text ends with its `length`-th byte, or with the first `end` behind the first `after`.

    :ivar length: 0 where the other two tell. :ivar after: "" where nothing has to come before.
    """

    length: int = 0
    end: str = ""
    after: str = ""

    def reached(self, text: str) -> bool:
        """Whether a text is complete with its last byte."""
        if self.length:
            return len(text) == self.length
        if not text or text[-1] != self.end:
            return False
        start = text.find(self.after) + 1 if self.after else 0
        if self.after and not start:
            return False
        return text.find(self.end, start) == len(text) - 1

    def fits(self, text: str) -> bool:
        """Whether it says of a whole text that it ends with its last byte, and not before."""
        if self.length:
            return len(text) == self.length
        return self.reached(text)


def fitting(texts: Sequence[str], known: Sequence[EndRule]) -> EndRule | None:
    """A rule that all of these texts obey: one that was of use before, else a new one; signs rather than lengths."""
    if len(texts) < ENOUGH:
        return None
    for rule in known:
        if all(rule.fits(text) for text in texts):
            return rule
    end = texts[0][-1]
    if len(texts[0]) > 1 and is_sign(end) and all(text[-1] == end for text in texts):
        common = [char for char in dict.fromkeys(texts[0][:-1]) if is_sign(char)]
        for after in [*sorted(common, key=lambda char: char == end), ""]:
            rule = EndRule(end=end, after=after)
            if all(rule.fits(text) for text in texts):
                return rule
    if len({len(text) for text in texts}) == 1:
        return EndRule(length=len(texts[0]))
    return None
