"""The words that tasks ask about, in the order of their frequency, and the synonyms of the words that give orders."""

from pathlib import Path

from gumption import data
from gumption.data import InputError

# Tasks take words up to the 400th of the filtered list.
FEWEST = 400
SYNONYMS: dict[str, tuple[str, ...]] = {
    "say": ("say", "print", "write"),
    "and": ("and", "together with", "&", "also"),
    "or": ("or", "alternative", "/"),
    "after": ("after", "behind", "next"),
    "union": ("union", "consolidate", "joint"),
    "exclude": ("exclude", "prohibit", "ignore", "remove"),
}


def load_words(path: Path | None = None) -> tuple[str, ...]:
    """The words of a file with one word a line, the most frequent first.

    :param path: a UTF-8 text file; None for the list that ships with gumption.
    :raises InputError: a file that cannot be read; a line that is empty, that is there before or that holds a character
        which no word has, with its number; fewer than 400 words after `filtered`.
    """
    path = path or data.path("gradual-words")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None
    lines: dict[str, int] = {}
    for number, word in enumerate(text.removesuffix("\n").split("\n"), start=1):
        if fault := _fault(word):
            raise InputError(f"{path}:{number}: {fault}")
        if word in lines:
            raise InputError(f"{path}:{number}: {word!r} stands in line {lines[word]} already; remove one of the two")
        lines[word] = number
    words = tuple(lines)
    if len(left := filtered(words)) < FEWEST:
        raise InputError(
            f"{path}: {len(left)} words remain without those that hold a synonym of an order, such as `or`; "
            f"add words until there are {FEWEST}"
        )
    return words


def filtered(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that hold no synonym of an order, not even inside, as `word` holds `or`; their order is kept."""
    synonyms = [synonym for names in SYNONYMS.values() for synonym in names]
    return tuple(word for word in words if not any(synonym in word for synonym in synonyms))


def _fault(word: str) -> str | None:
    """What keeps a line from being a word, and what to do."""
    if not word:
        return "the line is empty; remove it"
    if any(character.isspace() for character in word):
        return f"{word!r} holds a space; write one word a line"
    for character in word:
        if character == "." or not character.isprintable():
            return f"{word!r} holds {character!r}, which ends an answer or cannot be seen; remove it"
        if ord(character) > 255:
            return f"{word!r} holds {character!r}, which is no character of latin-1 and so no single byte; remove it"
    return None
