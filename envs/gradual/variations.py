"""Vary the words, signs or feedback of tasks: where an agent then fails, it relied on the original.

A variation is data, and a file of variations (TOML or JSON) is a list of them:

    [[variation]]
    name = "other words"
    words = {say = "utter", spell = "letters"}    # exchanged as whole words, in both directions of the stream

    [[variation]]
    name = "other signs"
    characters = {"." = "x"}                      # exchanged in both directions of the stream

    [[variation]]
    name = "other feedback"                       # replaces the feedback of tasks with feedback
    right = "yes ;"
    wrong = "no, {answer} it was ;"
"""

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Len

from gumption.data import InputError
from gumption.data.settings import checked, settings

from .curriculum import Table, check_template, names_of, read_table
from .dials import reworded
from .session import Agent
from .task import Task

_WORD = re.compile("[A-Za-z_]+")
SHIPPED = Path(__file__).parent / "variations.toml"


@settings
class Variation:
    """How tasks are varied. Both kinds of exchange go both ways, so that nothing becomes ambiguous.

    :ivar words: word -> the word that it changes places with; runs of letters and "_".
    :ivar characters: character -> the one that it changes places with.
    :ivar right, wrong: the feedback on a right or a wrong answer, with {answer} for the expected one; None for the
        task's own.
    """

    name: str
    words: tuple[tuple[str, str], ...] = ()
    characters: tuple[tuple[str, str], ...] = ()
    right: str | None = None
    wrong: str | None = None

    def __post_init__(self) -> None:
        """:raises InputError: an invalid or repeated word or character, or a template with a wrong name."""
        for what, pairs, fits in (
            ("a word of letters and _", self.words, _WORD.fullmatch),
            ("one character with a code below 256", self.characters, lambda text: len(text) == 1 and ord(text) < 256),
        ):
            named = [one for pair in pairs for one in pair]
            for one in named:
                if not fits(one):
                    raise InputError(f"the variation {self.name!r} exchanges {one!r}, which is not {what}")
                if named.count(one) > 1:
                    raise InputError(f"the variation {self.name!r} exchanges {one!r} more than once")
        for text in (self.right, self.wrong):
            if text is not None and (other := [name for name in names_of(check_template(text)) if name != "answer"]):
                raise InputError(f"the variation {self.name!r} has {{{other[0]}}} in its feedback; it knows {{answer}}")

    def task(self, task: Task) -> Task:
        """Return the task with other words and other feedback."""
        if not (self.words or self.right or self.wrong):
            return task
        both = {**dict(self.words), **{new: old for old, new in self.words}}

        def exchanged(text: str) -> str:
            return _WORD.sub(lambda word: both.get(word[0], word[0]), text)

        return reworded(task, exchanged, exchanged, self.right, self.wrong)

    def agent(self, agent: Agent) -> Agent:
        """Return an agent that sees and sends exchanged characters."""
        table = {ord(one): ord(other) for one, other in (*self.characters, *(pair[::-1] for pair in self.characters))}
        if not table:
            return agent

        def hear(reward: int, byte: int) -> int:
            said = agent(reward, table.get(byte, byte))
            return table.get(said, said)

        return hear


@checked
def load_variations(source: str | PathLike | None = None) -> list[Variation]:
    """Load the variations of a file, or the variations that ship with gumption.

    :raises InputError: the file does not exist or is wrong; the message names the file, the variation and the key.
    """
    table = read_table(SHIPPED if source is None else Path(source))
    table.known(("variation",))
    found: list[Variation] = []
    for number, content in enumerate(table.get("variation", Annotated[list[Mapping[str, Any]], Len(1)]), 1):
        one = Table(f"{table.place}: variation {content.get('name', number)!r}", content)
        one.known(("name", "words", "characters", "right", "wrong"))
        name = one.get("name", str)
        if any(name == other.name for other in found):
            raise InputError(f"{one.place}: there is one of this name already")
        pairs = {key: tuple(one.get(key, Mapping[str, str], {}).items()) for key in ("words", "characters")}
        found.append(Variation(name, **pairs, **{key: one.get(key, str, None) for key in ("right", "wrong")}))
    return found
