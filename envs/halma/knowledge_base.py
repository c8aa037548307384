"""Knowledge bases: what a run's memory shows that its agent has understood (paper, section 3.4 and Appendix D).

KB_S (semantics), KB_C (causality) and KB_A (affordance) as tables of visit counts over digits and directions. The
paper's rules leave choices open; these are the decisions, in one place:

- *Which panels count for KB_S.* KB_S "tracks the agent's understood configurations", and section 3.4 assumes that
  "valid decisions in experience were made upon understanding inequality configurations". So a visit of a pair is a
  valid decision made at a panel that shows it: s of a valid move. s of an invalid move was seen and not understood; an
  agent that runs into a wall two hundred times would otherwise pass any threshold. s' was seen too, but it is s of the
  next record and counts there: counted in both, a pair met twice would pass a threshold of 3 (footnote 6: what random
  exploration did should not). What was *seen*, whatever was decided there, is kept beside it: `sightings` counts the
  records that show a pair in s or in s', valid or not, and `panels` the whole panels. AfT and AnT, which ask what an
  agent has not seen, ask those (diagnostics.py).
- *A pair of KB_S* is a crossing and a wall digit of one direction that differ (one digit twice has no order).
- *KB_C* counts a digit that changes from s to s' by the option's length, in the option's own direction (it falls) and
  in the opposite one (it rises): affordance and causality are partial relations, "defined within each type and its
  inverse" (Definitions 13 and 15). Crossing and wall digits are followed apart. A crossing digit that changes by
  another amount belongs to another crossing, which says nothing about the option. The two digits' difference is thus
  always the option's length.
- *KB_A* counts a digit of the option's own direction whose value is the option's length and which is gone in s': no
  crossing or wall digit of its colour shows that value any more. Both digits showing one value is one visit.
- *The pairs of KB_A* are all understood digits d1 > d2; their types may differ.
- *The threshold* (3 visits) is applied when a table is asked for what is understood; the counts are kept as they are.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, checked_methods

from .choices import Direction, Shown
from .kb_graph import EVIDENCE, THRESHOLD, binary_facts, evidence_facts, read_tables, write_graph
from .maze import DIRECTIONS
from .memory import Memory

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

    from .kb_graph import Triple

SCHEMA = "gumption/halma-knowledge/1"


@checked_methods
@dataclass(frozen=True, eq=False)
class KnowledgeBases:
    """The knowledge bases of a memory. Directions are indices into DIRECTIONS; index 0 of a digit's axis stays empty.

    :ivar semantics: (10, 10, 4) int64 [greater, lesser, direction], valid decisions at panels that show the pair.
    :ivar sightings: (10, 10, 4) int64, records that show the pair in s or s'.
    :ivar causality: (10, 10, 4) int64, valid moves that turned one digit of the pair into the other.
    :ivar affordance: (10, 4) int64 [digit, direction], valid moves that used the digit up.
    :ivar affordance_options: (k, 4) int64 rows digit, direction, option code, visits: how it was used up, sorted. The
        codes are those of `option_codes`; visits add up to `affordance`.
    :ivar shown: (10, 4) bool [digit, direction], the digit is in some panel of the memory.
    :ivar threshold: visits from which on a pair or a digit counts as understood.
    :ivar records: how many transitions the memory has.
    :ivar max_opt_len: primitives of an option.
    :ivar memory: fingerprint of the memory.
    """

    semantics: np.ndarray
    sightings: np.ndarray
    causality: np.ndarray
    affordance: np.ndarray
    affordance_options: np.ndarray
    shown: np.ndarray
    threshold: int
    records: int
    max_opt_len: int
    memory: str
    _panels: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, memory: Memory, threshold: Count = THRESHOLD) -> "KnowledgeBases":
        """The knowledge bases of a memory; an empty memory gives empty ones.

        :raises InputError: a threshold below 1.
        """
        before, after = np.ascontiguousarray(memory.before), np.ascontiguousarray(memory.after)
        valid, direction, length = memory.valid, memory.direction, memory.length
        panels, counts = _distinct_panels(before, after)
        options = _used_up(before, after, valid, direction, length, option_codes(memory.option))
        affordance = np.zeros((10, 4), dtype=np.int64)
        np.add.at(affordance, (options[:, 0], options[:, 1]), options[:, 3])
        return cls(
            semantics=_shown_pairs(before[valid]),
            sightings=_shown_pairs(before, after),
            causality=_changes(before, after, valid, direction, length),
            affordance=affordance,
            affordance_options=options,
            shown=_shown_digits(panels),
            threshold=threshold,
            records=len(memory),
            max_opt_len=memory.max_opt_len,
            memory=memory.fingerprint,
            _panels=(panels, counts),
        )

    @property
    def panels(self) -> np.ndarray:
        """(n, 11) int8 distinct panel rows of the memory, sorted.

        :raises InputError: the knowledge bases come from a graph, which has no panels.
        """
        return self._from_memory()[0]

    @property
    def panel_counts(self) -> np.ndarray:
        """(n,) int64: how many records have each of `panels` as s or s'. Raises InputError as `panels`."""
        return self._from_memory()[1]

    @cached_property
    def s(self) -> np.ndarray:
        """(10, 10, 4) bool: KB_S, the pairs visited often enough."""
        return self.semantics >= self.threshold

    @cached_property
    def c(self) -> np.ndarray:
        """(10, 10, 4) bool: KB_C. The options' length is greater - lesser, by definition."""
        return self.causality >= self.threshold

    @cached_property
    def understood(self) -> np.ndarray:
        """(10, 4) bool: digits used up often enough."""
        return self.affordance >= self.threshold

    @cached_property
    def a(self) -> np.ndarray:
        """(10, 4, 10, 4) bool [greater, its direction, lesser, its direction]: KB_A."""
        greater = np.arange(10)[:, None, None, None] > np.arange(10)[:, None]
        return self.understood[:, :, None, None] & self.understood & greater

    def in_s(self, d1: Shown, d2: Shown, direction: Direction | None = None) -> bool:
        """Whether d1 > d2 is in KB_S, with this type or with any."""
        return bool(self.s[d1, d2].any() if direction is None else self.s[d1, d2, direction])

    def in_c(self, d1: Shown, d2: Shown, direction: Direction | None = None) -> bool:
        """Whether d1 > d2 is in KB_C, with this type or with any."""
        return bool(self.c[d1, d2].any() if direction is None else self.c[d1, d2, direction])

    def in_a(self, d1: Shown, d2: Shown, direction: Direction | None = None) -> bool:
        """Whether d1 > d2 is in KB_A, with both digits understood in this type, or in any two."""
        return bool(self.a[d1, :, d2].any() if direction is None else self.a[d1, direction, d2, direction])

    @cached_property
    def fingerprint(self) -> str:
        """sha256 (hex) of the tables, the threshold and the memory's fingerprint; from a graph it is the same."""
        settings = json.dumps([SCHEMA, self.threshold, self.records, self.max_opt_len, self.memory])
        digest = hashlib.sha256(settings.encode())
        for table in (self.semantics, self.sightings, self.causality, self.affordance_options, self.shown):
            digest.update(table.astype("<i8").tobytes())
        return digest.hexdigest()

    def facts(self) -> "list[Triple]":
        """The binary facts, sorted: what rules apply to and models train on (facts.py says which)."""
        return binary_facts(self)

    def evidence(self, run: str) -> "list[Triple]":
        """The nodes that say where the facts are known from, sorted; they are named after the run."""
        return evidence_facts(self, run)

    def add_to(self, graph: "KnowledgeGraph", run: str) -> dict[str, int]:
        """Put both into a graph, as halma/RUN and halma/RUN/evidence, in place of what these held; name -> facts."""
        return write_graph(self, graph, run)

    @classmethod
    def from_graph(cls, graph: "KnowledgeGraph", name: str) -> "KnowledgeBases":
        """The knowledge bases that `add_to` put into a graph; they have no `panels`, which stay with the memory.

        :param name: of the graph, halma/RUN.
        :raises InputError: no such graph, one that says something else than a run's knowledge bases, or one that was
            changed since.
        """
        bases = cls(**read_tables(graph, name))
        if bases.fingerprint != graph.annotations(name + EVIDENCE).get("fingerprint"):
            raise InputError(
                f"{name}: this graph was changed after it was made of a run's memory: its fingerprint does not fit; "
                "make it anew with `gumption kg build halma`"
            )
        return bases

    def counts(self) -> dict[str, dict[str, int]]:
        """How many pairs each knowledge base has with both digits of a direction, and "any": whatever the types."""
        same = np.einsum("aibi->abi", self.a)
        tables: dict[str, tuple[np.ndarray, Any]] = {
            "KB_S": (self.s, self.s.any(2)),
            "KB_C": (self.c, self.c.any(2)),
            "KB_A": (same, self.a.any((1, 3))),
            "KB_AC": (same | self.c, self.a.any((1, 3)) | self.c.any(2)),
        }
        return {
            name: {
                **dict(zip(DIRECTIONS, table.sum((0, 1)).tolist(), strict=True)),
                "any": int(pairs.sum()),
            }
            for name, (table, pairs) in tables.items()
        }

    def _from_memory(self) -> tuple[np.ndarray, np.ndarray]:
        if self._panels is None:
            raise InputError(
                "these knowledge bases were read from a graph, which has no panels; make them of the run's memory: "
                'KnowledgeBases.of(Memory.load("RUN/memory"))'
            )
        return self._panels


def option_codes(options: np.ndarray) -> np.ndarray:
    """(n,) int64: the primitives of (n, 1 + T) options as one number each: base 4, in order, zeros left out.

    Zeros move nothing, so 2+0+3 and 2+3 are one option; 3+2 is another, with the same effect (paper, 3.2).
    """
    codes = np.zeros(len(options), dtype=np.int64)
    for primitive in options[:, 1:].T:
        codes = np.where(primitive > 0, codes * 4 + primitive, codes)
    return codes


def _distinct_panels(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of both, sorted, and how many records have each in one of them."""
    # A row as one number, in mixed radix: eight distances, two offsets from -9 to 9, the hint.
    radices = np.array([10] * 8 + [19, 19, 5])
    weights = np.append(np.cumprod(radices[:0:-1])[::-1], 1)
    lowest = np.array([0] * 8 + [-9, -9, 0])
    s, s_next = ((rows - lowest) @ weights for rows in (before, after))
    codes, counts = np.unique(np.concatenate([s, s_next[s_next != s]]), return_counts=True)
    return (codes[:, None] // weights % radices + lowest).astype(np.int8), counts


def _shown_pairs(*panels: np.ndarray) -> np.ndarray:
    """(10, 10, 4): how many records show a pair, in any of their panels (n, 11)."""
    total = np.zeros((10, 10, 4), dtype=np.int64)
    for direction in range(4):
        codes = []
        for rows in panels:
            crossing, wall = rows[:, direction].astype(np.int64), rows[:, 4 + direction].astype(np.int64)
            pair = np.maximum(crossing, wall) * 10 + np.minimum(crossing, wall)
            codes.append(np.where((crossing > 0) & (wall > 0) & (crossing != wall), pair, 0))
        total[..., direction] = _count_once(codes)
    return total


def _changes(
    before: np.ndarray, after: np.ndarray, valid: np.ndarray, direction: np.ndarray, length: np.ndarray
) -> np.ndarray:
    """(10, 10, 4): how many valid moves turned one digit of a direction into the other; see the module."""
    total = np.zeros((10, 10, 4), dtype=np.int64)
    for d in range(4):
        towards = np.where(direction == d, 1, np.where(direction == (d + 2) % 4, -1, 0))
        codes = []
        for slot in (d, 4 + d):
            old, new = before[:, slot].astype(np.int64), after[:, slot].astype(np.int64)
            moved = valid & (towards != 0) & (length > 0) & (old > 0) & (new > 0) & (old - new == towards * length)
            codes.append(np.where(moved, np.maximum(old, new) * 10 + np.minimum(old, new), 0))
        total[..., d] = _count_once(codes)
    return total


def _count_once(codes: list[np.ndarray]) -> np.ndarray:
    """(10, 10): records per pair code greater * 10 + lesser; one that has a pair in both of its lists counts once."""
    first, *rest = codes
    total = np.bincount(first, minlength=100)
    for second in rest:
        total = total + np.bincount(second[second != first], minlength=100)
    total[0] = 0  # no pair
    return total.reshape(10, 10)


def _used_up(
    before: np.ndarray,
    after: np.ndarray,
    valid: np.ndarray,
    direction: np.ndarray,
    length: np.ndarray,
    codes: np.ndarray,
) -> np.ndarray:
    """(k, 4) int64 sorted rows digit, direction, option code, visits."""
    each = np.arange(len(before))
    there, still = (
        (rows[each, direction] == length) | (rows[each, 4 + direction] == length) for rows in (before, after)
    )
    used = valid & (length > 0) & there & ~still
    # One number a row: sorting it is many times faster than sorting rows.
    size = int(codes.max(initial=0)) + 1
    found, visits = np.unique((length[used] * 4 + direction[used]) * size + codes[used], return_counts=True)
    return np.stack([found // (4 * size), found // size % 4, found % size, visits], axis=1)


def _shown_digits(panels: np.ndarray) -> np.ndarray:
    """(10, 4) bool: digits of distances in panels (n, 11)."""
    shown = np.zeros((10, 4), dtype=bool)
    for slot in range(8):
        shown[panels[:, slot], slot % 4] = True
    shown[0] = False
    return shown
