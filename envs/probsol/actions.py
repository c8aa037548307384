"""Convert actions between numbers and labels, and decode the form "objects", which has three parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import shown

from .engine import CHECK, NONE, POINTS, PUT_DOWN, TAKE_UP, TURN, TURN_BACK, Tables
from .geometry import GRABBED, HELD, PLACED, STORED
from .tasks import GRID, VERBS, Task

_LAST = {"put_down": PUT_DOWN, "take_up": TAKE_UP, "none": NONE, "check": CHECK}
#: Verbs of the form "objects".
WHAT = ("place", "hold", "store", "turn", "put_down", "none", "check")
#: Points of the form "objects": every second column and row of the grid, without the edges.
COARSE = GRID // 2 - 1
WHERE = np.array([(2 * row + 1) * GRID + 2 * column + 1 for row in range(COARSE) for column in range(COARSE)])


class Labels:
    """Convert actions on tables of M discs and G cells."""

    def __init__(self, discs: int, cells: int) -> None:
        self.discs, self.cells = discs, cells
        self.first_point = 3 * discs + cells
        self.num_actions = self.first_point + 2 * POINTS + 8

    def action_index(self, task: Task, verb: str, *arguments: Any) -> int:
        """Return the number of an action, such as ("grab", "a"), ("place", 10, 12), ("turn", -1) or ("check",).

        "grab" takes a stored disc, "grab_placed" a disc on the table, as in `label`.

        :raises InputError: no such verb, disc, cell or point.
        """
        name = "grab" if verb == "grab_placed" else verb
        if name not in VERBS:
            raise InputError(f"there is no action {shown(verb)}; there are {', '.join(VERBS)}")
        if len(arguments) != VERBS[name]:
            raise InputError(f"{verb!r} takes {VERBS[name]} arguments, and {len(arguments)} are given")
        if name in ("grab", "hold"):
            if arguments[0] not in task.ids:
                raise InputError(f"there is no disc {shown(arguments[0])}; there are {', '.join(task.ids)}")
            row = 2 if name == "hold" else 1 if verb == "grab_placed" else 0
            return row * self.discs + task.ids.index(arguments[0])
        if name == "store":
            return 3 * self.discs + self._within("a cell", arguments[0], self.cells)
        if name in ("place", "hold_at"):
            column, row = (self._within("a column or row", each, GRID) for each in arguments)
            return self.first_point + (POINTS if name == "hold_at" else 0) + row * GRID + column
        if name == "turn":
            if arguments[0] not in (-1, 1):
                raise InputError(f"'turn' takes 1 or -1, for 45 degrees, not {shown(arguments[0])}")
            return self.num_actions + (TURN if arguments[0] == 1 else TURN_BACK)
        return self.num_actions + _LAST[name]

    def index_on(self, tables: Tables, i: int, task: Task, verb: str, *arguments: Any) -> int:
        """As `action_index`, but "grab" also takes a disc that is placed on table i."""
        if verb == "grab" and arguments and arguments[0] in task.ids:
            placed = tables.where[i, task.ids.index(arguments[0])] == PLACED
            verb = "grab_placed" if placed else "grab"
        return self.action_index(task, verb, *arguments)

    def label(self, task: Task, action: int) -> tuple[Any, ...]:
        """Return the verb and the arguments of an action; "grab_placed" for a disc on the table, () if reserved.

        :raises InputError: no such action.
        """
        if not 0 <= action < self.num_actions:
            raise InputError(f"action is {shown(action)}; it is 0 to {self.num_actions - 1}")
        if action < 3 * self.discs:
            row, disc = divmod(action, self.discs)
            named = task.ids[disc] if disc < len(task.ids) else f"disc {disc}"
            return ("grab", "grab_placed", "hold")[row], named
        if action < self.first_point:
            return "store", action - 3 * self.discs
        if action < self.first_point + 2 * POINTS:
            held, point = divmod(action - self.first_point, POINTS)
            row, column = divmod(point, GRID)
            return ("place", "hold_at")[held], column, row
        back = action - self.num_actions
        if back in (TURN_BACK, TURN):
            return "turn", 1 if back == TURN else -1
        return next(((verb,) for verb, number in _LAST.items() if number == back), ())

    def _within(self, what: str, value: Any, count: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < count:
            raise InputError(f"{what} is {shown(value)}; it is 0 to {count - 1}")
        return int(value)

    # ---- the form "objects"

    def parts(self) -> np.ndarray:
        """Return the (3,) numbers of choices of the form "objects": what, which disc, where."""
        return np.array([len(WHAT), self.discs, len(WHERE)])

    def part_masks(self, tables: Tables) -> np.ndarray:
        """Return the (B, 7 + M + 361) bool mask: choices of a part that are open for some choice of the others."""
        mask, waits = tables.mask(), tables.waits
        free_hand = tables.hand == 0
        held = (tables.where == HELD).any(axis=1)
        discs = (tables.where == STORED) | (tables.where == GRABBED) | (tables.where == HELD)
        discs |= (tables.where == PLACED) & (mask[:, self.discs : 2 * self.discs] | ~free_hand[:, None])
        always = np.ones_like(waits)
        what = np.stack([*[~waits] * 4, held & ~waits, always, free_hand & ~waits], axis=1)
        allowed = tables.data.allowed[tables.rows][:, WHERE]
        return np.concatenate([what, discs, allowed], axis=1)

    def decoded(self, tables: Tables, i: int, action: Sequence[int]) -> list[int]:
        """Return the sequence of actions that an action of the form "objects" stands for; [] if it is impossible."""
        what, disc, where = WHAT[action[0]], int(action[1]), int(WHERE[action[2]])
        last, hand, state = self.num_actions, int(tables.hand[i]), int(tables.where[i, disc])
        if what in ("none", "check"):
            return [last + _LAST[what]]
        if what == "put_down":
            return [last + PUT_DOWN]
        done: list[int] = []
        if hand and hand - 1 != disc:  # the hand is freed first
            holds = tables.where[i, hand - 1] == HELD
            done.append(last + PUT_DOWN if holds else self.free_cell(tables, i))
        if what == "turn":
            if state == PLACED:
                done.append(2 * self.discs + disc)
            return [*done, last + TURN] if state in (PLACED, HELD) else []
        if state in (STORED, PLACED):
            done.append(disc + (self.discs if state == PLACED else 0))
        elif state == HELD:
            done.append(last + TAKE_UP)
        elif state != GRABBED:
            return []
        if what == "store":
            return [*done, self.free_cell(tables, i)]
        return [*done, self.first_point + (POINTS if what == "hold" else 0) + where]

    def free_cell(self, tables: Tables, i: int) -> int:
        """Return the action that stores the disc in hand in the first free cell of table i."""
        taken = set(tables.cell[i].tolist())
        return 3 * self.discs + next((cell for cell in range(self.cells) if cell + 1 not in taken), 0)
