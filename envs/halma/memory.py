"""MEM: the transitions (s, option, s') of HALMA's agents, stored in the files that `gumption.envs.memory` describes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gumption.data.settings import Whole, checked, checked_methods
from gumption.envs.memory import FOLDER, HEADER, RECORDS, Field, Layout, TransitionMemory, TransitionWriter
from gumption.envs.priors import Laws, Names
from gumption.kg.effects import Lived

from .rules import RULES, OptLen, PanelsEqual, Rules, Side
from .signs import signs

__all__ = ["FOLDER", "HEADER", "REACHED", "RECORDS", "TRIAL_OVER", "VALID", "Memory", "MemoryWriter", "layout", "lived"]

SCHEMA = "gumption/halma-memory/1"
VALID, REACHED, TRIAL_OVER = 1, 2, 4  # bits of `flags`


@checked
def layout(
    max_opt_len: OptLen,
    *,
    side: Side = RULES.side,
    panels_equal: PanelsEqual = RULES.panels_equal,
    primitives: str = RULES.primitives,
    names: Names = RULES.names,
    laws: Laws = RULES.laws,
) -> Layout:
    """Return the record layout, 38 + max_opt_len bytes. Its settings hold changes of the paper's rules."""
    rules = Rules(side, panels_equal, primitives, names, laws)
    fields = [
        ("before", "i1", (11,)),
        ("option", "i1", (1 + max_opt_len,)),
        ("after", "i1", (11,)),
        ("maze", "<i4"),
        ("trial", "<i2"),
        ("episode", "<i4"),
        ("flags", "u1"),
    ]
    return Layout(SCHEMA, fields, {"max_opt_len": max_opt_len, **rules.changes})


def flags(valid: np.ndarray, reached: np.ndarray, trial_over: np.ndarray) -> np.ndarray:
    """Return (n,) uint8 bits of three (n,) bool arrays."""
    return (VALID * valid + REACHED * reached + TRIAL_OVER * trial_over).astype(np.uint8)


@checked_methods
@dataclass(frozen=True, eq=False)
class Memory(TransitionMemory):
    """The transitions of a run. The transitions of one environment are in chronological order; `episode` numbers
    episodes over the whole run, so the moves of a trial are the records of one (episode, trial), in order.

    :ivar records: (n,) of `layout(max_opt_len).record_type`; each field is also a property.
    """

    SCHEMA = SCHEMA
    LAYOUT = staticmethod(layout)

    @classmethod
    def of(
        cls,
        max_opt_len: OptLen,
        before: Sequence[Any],
        option: Any,
        after: Any,
        maze: Any = 0,
        trial: Any = 0,
        episode: Any = 0,
        flags: Any = VALID,
        rules: Rules = RULES,
    ) -> "Memory":
        """Build a memory without a file. The arguments are the fields below; each of the last four may be a scalar.

        :param rules: rules of the world.
        """
        made = layout(max_opt_len, **rules.changes)
        fields = dict(zip(made.names, (before, option, after, maze, trial, episode, flags), strict=True))
        return cls(made.records(len(before), **fields), made)

    @property
    def max_opt_len(self) -> int:
        """The number of primitives of an option."""
        return self.layout.settings["max_opt_len"]

    @cached_property
    def rules(self) -> Rules:
        """The rules of the world of the memory."""
        return Rules(**{name: value for name, value in self.layout.settings.items() if name != "max_opt_len"})

    before = Field("(n, 11) int8 panel rows of s.")
    option = Field("(n, 1 + max_opt_len) int8: direction and primitives.")
    after = Field("(n, 11) int8 panel rows of s', where the move ended (of a trial's last move, where it landed).")
    maze = Field("(n,) int32 index of the maze in the set of mazes.")
    trial = Field("(n,) int16 index of the trial in its episode.")
    episode = Field("(n,) int32 number of the episode in the run.")
    flags = Field("(n,) uint8 bits: VALID, REACHED (the goal), TRIAL_OVER (by the end of its episode, too).")

    @property
    def seen_after(self) -> np.ndarray:
        """(n,) bool: the agent observed s'; after a trial's last move it returns to the start without seeing s'."""
        return (self.flags & TRIAL_OVER) == 0

    @property
    def valid(self) -> np.ndarray:
        """(n,) bool: the move was carried out."""
        return (self.flags & VALID) != 0

    @property
    def direction(self) -> np.ndarray:
        """(n,) int64 index of the option's direction."""
        return self.option[:, 0].astype(np.int64)

    @property
    def length(self) -> np.ndarray:
        """(n,) int64: the sum of the digits of the option's primitives."""
        parts = self.option[:, 1:]
        return (parts if self.rules.plain else self.rules.digits[parts]).sum(1, dtype=np.int64)


@checked_methods
class MemoryWriter(TransitionWriter):
    """Append transitions to the memory of a run: `append(before, option, after, maze, trial, episode, flags)`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        max_opt_len: OptLen,
        *,
        keep: Whole | None = None,
        rules: Rules = RULES,
    ) -> None:
        """As `TransitionWriter`, for options of `max_opt_len` primitives in a world of these rules."""
        super().__init__(folder, layout(max_opt_len, **rules.changes), keep=keep)


def lived(memory: Memory) -> Lived:
    """Return the moves that an agent saw, as symbols from 1 on. Panels appear as shown, so shuffled names give other
    symbols. The goal's panel is not seen; the last slot of `after` holds whether a move reached the goal (1 no, 2 yes).
    """
    rules = memory.rules
    called = signs(rules)
    before, after = (called.panels(part).astype(np.int64) + rules.side for part in (memory.before, memory.after))
    after[~memory.seen_after] = 0
    reached = 1 + ((memory.flags & REACHED) != 0)[:, None]
    thing = np.ones((len(memory), 1), dtype=np.int64)
    panels = np.concatenate([before, np.zeros_like(reached)], axis=1), np.concatenate([after, reached], axis=1)
    before, after = (panel[:, None] for panel in panels)
    action, episode = memory.option.astype(np.int64), memory.episode.astype(np.int64)
    return Lived(thing, before, after, action, episode, memory.valid)
