"""Split a label into words, so that a compound such as "acid rain" gets its vector from its parts. The maker and the
reader of word vectors share these functions, so that they agree."""

import re
from collections.abc import Container

SHORTEST_PART = 3


def tokens(label: str) -> list[str]:
    """Return the lower-case words of a label, without punctuation.

    Single letters are left out if there are longer words: the s of "frankenstein's monster" and the o of
    "jack o'lantern" have no meaning, and only some sets of word vectors have them.
    """
    words = re.findall(r"[^\s\-'.,!?\"()]+", label.lower())
    return [word for word in words if len(word) > 1] or words


def two_parts(token: str) -> list[tuple[str, str]]:
    """Return every way to cut a token into two words of at least three letters, the most even cut first."""
    cuts = range(SHORTEST_PART, len(token) - SHORTEST_PART + 1)
    return [(token[:cut], token[cut:]) for cut in sorted(cuts, key=lambda cut: (abs(2 * cut - len(token)), cut))]


def label_words(label: str, known: Container[str]) -> tuple[list[str], list[str]]:
    """Return (known words, unknown tokens) of a label, both in its order.

    The whole label is tried first ("x-ray"), then its tokens; an unknown token is cut into two known words if possible
    ("firestation" -> "fire", "station").
    """
    whole = label.lower()
    if whole in known:
        return [whole], []
    found: list[str] = []
    unknown: list[str] = []
    for token in tokens(label):
        if token in known:
            found.append(token)
            continue
        parts = next(((left, right) for left, right in two_parts(token) if left in known and right in known), None)
        if parts:
            found.extend(parts)
        else:
            unknown.append(token)
    return found, unknown
