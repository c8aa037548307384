"""Facts about where options led, from an agent's own memory; the agent plans its way to the goal with them.

A fact is (place, leadsOn, next place) with an option as condition. A place is the panel seen there, so places of two
mazes with equal panels are one place, and an option may lead from it to either successor. The goal's panel is never
shown; "the goal" is where an option ended that reached it. A choice of the planning problem is a whole option: an
action is decoded in steps, and a direction alone leads nowhere.
"""

from collections.abc import Iterator

import numpy as np

from gumption.data import InputError
from gumption.envs.action_facts import PlanningProblem
from gumption.kg import NaryRelation

from .knowledge_base import Triple, option_codes, option_label
from .maze import place_codes
from .memory import REACHED, Memory
from .signs import signs

HAS_PLACE, HAS_OPTION, HAS_NEXT = "hasPlace", "hasOption", "hasNext"
LEADS_ON = NaryRelation("leadsOn", HAS_PLACE, HAS_OPTION, HAS_NEXT)
GOAL = "the goal"


class Routes:
    """The valid moves of a memory, without the moves whose end the agent did not see.

    :ivar vocabulary: labels: the empty label, the goal, places, options.
    :ivar options: (A, 1 + T) int64 actions, one for each option that was carried out; the candidates, in this order.
    :ivar rows: (n, 3) int64 distinct ids (place, option, next place).
    """

    def __init__(self, memory: Memory) -> None:
        """:raises InputError: a memory without such a move."""
        reached = (memory.flags & REACHED) != 0
        used = memory.valid & (reached | memory.seen_after)
        if not used.any():
            raise InputError(f"none of the {len(memory):,} moves of the memory led on: there is no way to plan by")
        before, after, option = memory.before[used], memory.after[used], memory.option[used].astype(np.int64)
        came, seen = place_codes(before), ~reached[used]
        went = place_codes(after)
        self._codes, first = np.unique(np.concatenate([came, went[seen]]), return_index=True)
        panels = np.concatenate([before, after[seen]])[first]
        rules = memory.rules
        moves = np.stack([option[:, 0], option_codes(option, rules.count)], axis=1)
        distinct, first, which = np.unique(moves, axis=0, return_index=True, return_inverse=True)
        self.options = option[first]
        labels = [option_label(direction, code, rules) for direction, code in distinct.tolist()]
        called = signs(rules)
        looks = map(called.items, called.panels(panels))
        places = ["place " + ", ".join(f"{colour} {item}" for item, colour in items) for items in looks]
        self.vocabulary = ("", GOAL, *places, *labels)
        self._first = 2 + len(places)  # of the options
        following = np.where(seen, 2 + self._codes.searchsorted(went), 1)
        rows = np.stack([2 + self._codes.searchsorted(came), self._first + which.reshape(-1), following], axis=1)
        self.rows = np.unique(rows, axis=0)

    def facts(self) -> Iterator[Triple]:
        """Yield the facts as triples."""
        for place, option, following in self.rows.tolist():
            node = f"{self.vocabulary[place]}: {self.vocabulary[option]}"
            yield node, HAS_PLACE, self.vocabulary[place]
            yield node, HAS_OPTION, self.vocabulary[option]
            yield node, HAS_NEXT, self.vocabulary[following]

    def problem(self, panels: np.ndarray, left: np.ndarray) -> PlanningProblem:
        """Return the planning problem of the current panels.

        :param panels: (B, 11) shown now; a panel unknown to the memory is an empty place.
        :param left: (B,) moves left in the trial."""
        codes = place_codes(panels)
        place = np.minimum(self._codes.searchsorted(codes), len(self._codes) - 1)
        count = len(panels)
        return PlanningProblem(
            LEADS_ON.name,
            np.where(self._codes[place] == codes, 2 + place, 0)[:, None],
            np.ones(count, dtype=np.int64),
            np.tile(self._first + np.arange(len(self.options)), (count, 1)),
            np.zeros((count, 0), dtype=np.int64),
            np.zeros((count, 0, 3), dtype=np.int64),
            left,
            keeps=False,
        )
