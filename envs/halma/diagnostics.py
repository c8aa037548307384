"""Choose the digit pairs that each diagnostic test queries, from an agent's knowledge bases; build mazes with them.

Pairs are tables (10, 10, 4) bool: greater digit d1, lesser digit d2, type (direction). KB_S contains a pair once its
visits reach the threshold (paper, 3.4, D and footnote 6).

Decision: AfT and AnT tests query only unseen pairs. They exclude each pair whose sightings on panels reach the
threshold, in any colours, at valid or invalid moves, in s or s'. KB_S counts valid moves only, so it can lack such a
pair.

Decision: no two tests query the same triple (d1, d2, type). Disjoint digit pairs would leave ST-2 and AfT-3 empty:
ST-2 queries (5, 3, up) because 5 and 3 were seen with another type, and ST-1 queries them with that type. Decision: a
triple belongs to the first test whose definition it meets, even if that test does not draw it. A test's questions
therefore depend neither on a seed nor on the number of mazes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Seed, checked, shown

from .generator import count_optimal_paths, grow_branches, path_of_rank, rank_of_path, ranks_of_length, sample_maze
from .maze import DIRECTIONS, STEPS, Cell, Edge, Maze, Mazes, TestMazes, oracle_trials, panel_row, place_codes
from .rules import RULES

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBases


TESTS = ("ST-1", "ST-2", "AfT-1", "AfT-2", "AfT-3", "AfT-4", "AnT")  # in the order in which triples are assigned


def greater_pairs(knowledge: KnowledgeBases) -> np.ndarray:
    """Return (10, 10) bool: pairs d1 > d2 > 0. Panels never show a zero."""
    pairs = np.tri(knowledge.rules.side, k=-1, dtype=bool)
    pairs[:, 0] = False
    return pairs


class Pair(NamedTuple):
    """A wall at distance d1 and a crossing at distance d2, both in the direction `type`."""

    d1: int
    d2: int
    type: str


@dataclass(frozen=True)
class Diagnosis:
    """The questions of each test.

    :ivar queries: (10, 10, 4) bool by test, in the order of TESTS; the tables do not overlap.
    :ivar reasons: for each test without questions, the reason.
    """

    queries: dict[str, np.ndarray]
    reasons: dict[str, str]

    def pairs(self, test: str) -> list[Pair]:
        """Return the pairs of a test, sorted by d1, d2 and type."""
        return [Pair(int(d1), int(d2), DIRECTIONS[t]) for d1, d2, t in np.argwhere(self.queries[test])]


@checked
def diagnose(knowledge: KnowledgeBases) -> Diagnosis:
    """Assign each triple (d1, d2, type) to a test (paper, 3.4 and D)."""
    met = definitions(knowledge)
    belongs = np.zeros_like(knowledge.s)
    queries: dict[str, np.ndarray] = {}
    reasons: dict[str, str] = {}
    for test in TESTS:
        queries[test] = met[test] & ~belongs
        belongs |= queries[test]
        if not queries[test].any():
            owners = [earlier for earlier in queries if (queries[earlier] & met[test]).any()]
            reasons[test] = _why_none(test, knowledge, int(met[test].sum()), owners)
    return Diagnosis(queries, reasons)


def definitions(knowledge: KnowledgeBases) -> dict[str, np.ndarray]:
    """Return (10, 10, 4) bool by test: the triples that meet its definition. Tests may overlap here."""
    s, c, a = knowledge.s, knowledge.c, np.einsum("itjt->ijt", knowledge.a)  # a: both digits understood in this type
    seen = s.any(2, keepdims=True)
    unseen = (greater_pairs(knowledge) & ~shown_pairs(knowledge))[
        :, :, None
    ] & ~seen  # in KB_S with no type, and shown too rarely
    return {
        "ST-1": s,
        "ST-2": seen & ~s,
        "AfT-1": unseen & c,
        "AfT-2": unseen & a,
        "AfT-3": unseen & ~c & c.any(2, keepdims=True),
        "AfT-4": unseen & ~a & np.any(knowledge.a, axis=(1, 3))[:, :, None],
        "AnT": np.repeat((_transitive(known_pairs(knowledge)) & ~shown_pairs(knowledge))[:, :, None], 4, axis=2),
    }


def shown_pairs(knowledge: KnowledgeBases) -> np.ndarray:
    """Return (10, 10) bool: pairs d1 > d2 whose sightings reach the threshold, in any colours, at any moves."""
    return knowledge.sightings.sum(2) >= knowledge.threshold


def known_pairs(knowledge: KnowledgeBases) -> np.ndarray:
    """Return (10, 10) bool: pairs d1 > d2 of any knowledge base, with any types.

    The paper's KB_ST holds the pairs of ST-2, and so no pair that KB_S holds with all four types. Decision: AnT counts
    such a pair as known. Otherwise AnT would query exactly the pairs that were seen most.
    """
    return knowledge.s.any(2) | knowledge.c.any(2) | np.any(knowledge.a, axis=(1, 3))


def _transitive(known: np.ndarray) -> np.ndarray:
    """Return (10, 10): unknown pairs d1 > d3 that follow from known pairs d1 > d2 and d2 > d3.

    The result is empty if no known pair follows from two others: experience then holds no example of transitivity.
    """
    chains = known @ known  # a product of booleans: some digit lies between
    return chains & ~known & (known & chains).any()


def _why_none(test: str, knowledge: KnowledgeBases, met: int, owners: list[str]) -> str:
    """:param met: the number of triples that meet the test's definition. All belong to the tests `owners`."""
    seen = knowledge.s.any(2)
    greater = greater_pairs(knowledge)
    n_seen, unseen, pairs_in_all = int(seen.sum()), greater & ~seen, int(greater.sum())
    if test == "ST-1" or (test == "ST-2" and not n_seen):
        return f"of {pairs_in_all} pairs none is in KB_S"
    if test == "ST-2":
        return f"of {pairs_in_all} pairs {n_seen} are in KB_S, each of them with all four types"
    shown = shown_pairs(knowledge)
    if test == "AnT":
        return _why_no_analogy(known_pairs(knowledge), shown, pairs_in_all)
    if n_seen == pairs_in_all:
        return f"all {pairs_in_all} pairs are in KB_S"
    unseen &= ~shown
    n_shown = pairs_in_all - n_seen - int(unseen.sum())
    begin = f"of {pairs_in_all} pairs {n_seen} are in KB_S"
    if n_shown:
        begin += f" and {n_shown} more were shown as often"
    if n_seen + n_shown == pairs_in_all:
        return begin
    begin += f"; of the other {pairs_in_all - n_seen - n_shown}, "
    if met:
        return f"{begin}{met} (counted with types) would do, but they belong to {' and '.join(owners)}"
    causal = test in ("AfT-1", "AfT-3")
    name, pairs = ("KB_C", knowledge.c.any(2)) if causal else ("KB_A", np.any(knowledge.a, axis=(1, 3)))
    inside = int((pairs & unseen).sum())
    if not inside:
        return f"{begin}none is in {name}"
    how = {
        "AfT-2": "none with both digits understood in one type",
        "AfT-3": "each with all four types",
        "AfT-4": "each with both digits understood in all four types",
    }[test]
    return f"{begin}{inside} are in {name}, {how}"


def _why_no_analogy(known: np.ndarray, shown: np.ndarray, pairs_in_all: int) -> str:
    n_known = int(known.sum())
    if n_known == pairs_in_all:
        return f"all {pairs_in_all} pairs are known from KB_S, KB_C or KB_A"
    begin = f"of {pairs_in_all} pairs {n_known} are known from KB_S, KB_C or KB_A; "
    chains = known @ known
    if not (chains & ~known).any():
        return f"{begin}none of the other {pairs_in_all - n_known} follows from two known ones"
    if follow := int(_transitive(known).sum()):
        return f"{begin}of the other {pairs_in_all - n_known}, {follow} that two known ones entail were shown as often"
    return f"{begin}there is no template, three known pairs d1>d2, d2>d3 and d1>d3"


# ---- Test mazes that are built around a pair of digits (paper, Appendix D, "Test Problem Generation").
#
# At one stop of the oracle on the optimal path, a crossing lies d2 ahead and a wall d1 ahead. The path turns at that
# crossing; the corridor beyond it up to the wall is a deceptive branch. An agent that takes the greater digit for the
# crossing misses the hint and ends in a dead end.

MEAN_DEPTH, MEAN_BRANCHES = 5.0, 5.0  # of deceptive branches in tests (paper, A.2)
ATTEMPTS = 100  # mazes drawn for one question, until one has a new panel and asks for no other pair outside KB_S
TRAINING, RANDOM = "T", "RT"
SPLITS = (TRAINING, RANDOM, *TESTS)  # in the order of Table 1
DYNAMIC = "dynamic"  # all mazes of the diagnostic tests together, as in Figs S14 and S15


class Asked(NamedTuple):
    """The question of a test maze.

    :ivar cell: the cell whose panel shows the pair; the oracle stops there.
    :ivar panel: the panel row of that cell (11 numbers, see `panel_row`).
    :ivar seen: the number of records of MEM with the same ten digits on a panel, whatever the hint.
    :ivar sightings: the number of records of MEM that show the pair with its type. Positive for ST-1; below the
        threshold in AfT and AnT.
    :ivar others: sorted pairs outside KB_S that the oracle's first trial meets elsewhere in the maze. Not empty only if
        no maze without such pairs was drawn; a failure may then have another cause than the pair.
    """

    pair: Pair
    cell: Cell
    panel: tuple[int, ...]
    seen: int
    sightings: int
    others: tuple[Pair, ...]


@dataclass(frozen=True)
class Record:
    """A maze of a test.

    :ivar seed: the seed and the two stream numbers of the maze's generator; empty for training mazes.
    :ivar asked: the question; None in T and RT, which query no pair.
    """

    test: str
    maze: Maze
    seed: tuple[int, ...]
    asked: Asked | None


class Refused(NamedTuple):
    """A pair for which no maze could be built, with the reason."""

    pair: Pair
    reason: str


@dataclass(frozen=True)
class BuiltTest:
    """The mazes of a test.

    :ivar queries: the number of triples that the test can query; 0 for T, RT and user-defined tests.
    :ivar refused: the triples for which no maze could be built.
    :ivar reason: the reason if there are no mazes.
    :ivar maker: the function of a user-defined test, "module:name".
    """

    records: tuple[Record, ...]
    queries: int = 0
    refused: tuple[Refused, ...] = ()
    reason: str | None = None
    maker: str | None = None


#: A user-defined test: called with (knowledge, training, rng, mazes), it returns about `mazes` mazes. A maze that
#: queries a pair is returned as (maze, Pair, cell); the panel of the cell shows the pair. `draw_maze(rng, pair)` builds
#: such a maze; pass `knowledge.rules.side` if it is not 10.
OwnTest = Callable[["KnowledgeBases", Sequence[Maze], np.random.Generator, int], "Iterable[Maze | OwnQuestion]"]
OwnQuestion = tuple[Maze, Pair, Cell]


class PanelCounts:
    """Count the panels of a memory by their ten digits. Panels that differ only in the hint count as equal."""

    def __init__(self, panels: np.ndarray, counts: np.ndarray) -> None:
        """:param panels: (n, 11) int8 rows. :param counts: (n,) how often each panel occurs."""
        self._keys, which = np.unique(place_codes(panels[:, :10]), return_inverse=True)
        self._counts = np.bincount(which, weights=counts, minlength=len(self._keys)).astype(np.int64)

    def count(self, row: np.ndarray) -> int:
        key = place_codes(row[None, :10])
        at = int(np.searchsorted(self._keys, key)[0])
        return int(self._counts[at]) if at < len(self._keys) and self._keys[at] == key[0] else 0


@checked
def build_tests(
    knowledge: KnowledgeBases,
    training: Sequence[Maze],
    *,
    seed: Seed = 0,
    mazes: TestMazes = 50,
    own: Mapping[str, OwnTest] | None = None,
) -> dict[str, BuiltTest]:
    """Build T, RT and the seven diagnostic tests, in the order of SPLITS, then the user-defined tests.

    All mazes of RT and the diagnostic tests have different optimal paths, and no path of a training maze. The panel at
    a queried cell is absent from training; only if ST-1 has no such panel, a panel that occurs less often than the
    threshold is used. Decision: mazes in which the oracle meets no other pair outside KB_S are preferred, so that a
    failure is due to the queried pair.

    :param training: the mazes that the agent was trained on.
    :param mazes: the number of mazes of each test, spread evenly over its pairs.
    :param own: user-defined tests by name.
    :raises InputError: an invalid name of a user-defined test, a result of it that is not mazes, or a maze that does
        not show the pair that it queries.
    """
    for name in own or {}:
        check_own_name(name)
    diagnosis = diagnose(knowledge)
    builder = _Builder(knowledge, training, seed, mazes)
    built = {
        TRAINING: BuiltTest(tuple(Record(TRAINING, maze, (), None) for maze in training)),
        RANDOM: builder.random_split(),
    }
    for test in TESTS:
        if test in diagnosis.reasons:
            built[test] = BuiltTest((), reason=diagnosis.reasons[test])
        else:
            built[test] = builder.test(test, diagnosis.pairs(test), knowledge.threshold if test == "ST-1" else 1)
    for name, make in (own or {}).items():
        built[name] = builder.own_test(name, make, training)
    return built


def check_own_name(name: str) -> None:
    """:raises InputError: a name that is no valid file name, or that another test has."""
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*", name) is None:
        raise InputError(f"{name!r} is no name of a test: it has letters, digits, '-' and '_'")
    if name in (*SPLITS, DYNAMIC):
        raise InputError(f"{name!r} is the name of another test; give yours a name of its own")


class _Builder:
    """Build the tests. Holds the training panels, the optimal paths already used, and the random streams."""

    def __init__(self, knowledge: KnowledgeBases, training: Iterable[Maze], seed: int, mazes: int) -> None:
        self.knowledge, self.seed, self.mazes = knowledge, seed, mazes
        self.met, self.side = PanelCounts(knowledge.panels, knowledge.panel_counts), knowledge.rules.side
        self.paths = {self._rank(maze) for maze in training}
        if mazes > (left := count_optimal_paths(self.side) - len(self.paths)):
            raise InputError(
                f"mazes is {mazes}; in a box of {self.side} x {self.side} {left} optimal paths are left beside those "
                "of the training"
            )

    def _rank(self, maze: Maze) -> int:
        return rank_of_path(maze.optimal_path, self.side)

    def random_split(self) -> BuiltTest:
        records: list[Record] = []
        while len(records) < self.mazes:
            name, rng = self._stream(RANDOM, len(records))
            maze = sample_maze(rng, MEAN_DEPTH, MEAN_BRANCHES, self.side)
            while self._rank(maze) in self.paths:
                maze = sample_maze(rng, MEAN_DEPTH, MEAN_BRANCHES, self.side)
            self.paths.add(self._rank(maze))
            records.append(Record(RANDOM, maze, name, None))
        return BuiltTest(tuple(records))

    def test(self, test: str, pairs: Sequence[Pair], below: int) -> BuiltTest:
        """Build mazes for the pairs in turn, in a random order, until there are enough mazes.

        :param below: the panel of a queried cell occurs less often than this in training.
        """
        records: list[Record] = []
        refused: list[Refused] = []
        _, rng = self._stream(test)
        turns = [pairs[i] for i in rng.permutation(len(pairs))]
        while turns and len(records) < self.mazes:
            pair = turns.pop(0)
            name, rng = self._stream(test, len(records) + len(refused))
            asked = self._ask(rng, pair, below)
            if isinstance(asked, str):
                refused.append(Refused(pair, asked))
                continue
            turns.append(pair)
            records.append(Record(test, asked[0], name, asked[1]))
        reason = None if records else f"of {len(pairs)} pairs with types none could be built into a maze"
        return BuiltTest(tuple(records), len(pairs), tuple(sorted(refused)), reason)

    def own_test(self, name: str, make: OwnTest, training: Sequence[Maze]) -> BuiltTest:
        """Return the mazes of a user-defined test. The random stream depends on the seed and the test's name only."""
        key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4])
        stream = (self.seed, len(SPLITS), key)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=stream[1:]))
        given: Any = make(self.knowledge, training, rng, self.mazes)
        mazes = enumerate(given if isinstance(given, Iterable) else [given], 1)
        asked = [self._own(f"{name}: maze {number}", one) for number, one in mazes]
        records = [Record(name, maze, stream, question) for maze, question in asked]
        maker = f"{make.__module__}:{getattr(make, '__qualname__', type(make).__qualname__)}"
        return BuiltTest(tuple(records), reason=None if records else f"{maker} gave no maze", maker=maker)

    def _own(self, where: str, given: object) -> tuple[Maze, Asked | None]:
        if isinstance(given, Maze):
            return given, None
        if not (isinstance(given, tuple) and len(given) == 3 and isinstance(given[0], Maze)):
            raise InputError(f"{where} is {shown(given)}; an own test gives a Maze, or (Maze, Pair, cell)")
        try:
            maze, pair, (x, y) = given[0], Pair(*given[1]), given[2]
            t, cell = DIRECTIONS.index(pair.type), (int(x), int(y))
        except (TypeError, ValueError):
            raise InputError(
                f"{where} asks for {shown(given[1:])}; a question is a pair (wall, crossing, direction) and a cell"
            ) from None
        row = panel_row(maze, cell)
        if (row[4 + t], row[t]) != (pair.d1, pair.d2):
            raise InputError(
                f"{where} asks at {cell} for a wall {pair.d1} and a crossing {pair.d2} {pair.type}; there the wall is "
                f"{row[4 + t]} and the crossing {row[t]}"
            )
        return maze, self._asked(maze, pair, cell)

    def _ask(self, rng: np.random.Generator, pair: Pair, below: int) -> tuple[Maze, Asked] | str:
        """Draw a maze with the least seen panel, then the fewest other pairs; or return the reason for none."""
        best: tuple[Maze, Asked] | None = None
        repeated = 0
        for _ in range(ATTEMPTS):
            maze, cell = draw_maze(rng, pair, self.side)
            if self._rank(maze) in self.paths:
                repeated += 1
                continue
            asked = self._asked(maze, pair, cell)
            if best is None or (asked.seen, len(asked.others)) < (best[1].seen, len(best[1].others)):
                best = maze, asked
            if not (asked.seen or asked.others):
                break
        if best is None or best[1].seen >= below:
            return (
                f"of {ATTEMPTS} mazes drawn for it {repeated} have the optimal path of another maze "
                f"and {ATTEMPTS - repeated} a panel that was met in training"
            )
        self.paths.add(self._rank(best[0]))
        return best

    def _asked(self, maze: Maze, pair: Pair, cell: Cell) -> Asked:
        row = panel_row(maze, cell, self.knowledge.rules.panels_equal)
        sightings = int(self.knowledge.sightings[pair.d1, pair.d2, DIRECTIONS.index(pair.type)])
        others = {
            other
            for other in _met_pairs(maze)
            if other != pair and not self.knowledge.s[other.d1, other.d2, DIRECTIONS.index(other.type)]
        }
        panel = tuple(int(value) for value in row)
        return Asked(pair, cell, panel, self.met.count(row), sightings, tuple(sorted(others)))

    def _stream(self, test: str, *index: int) -> tuple[tuple[int, ...], np.random.Generator]:
        """Return a stream for a maze. The spawn key keeps it different from the streams of `sample_mazes`."""
        key = (SPLITS.index(test), *index)
        return (self.seed, *key), np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


def _met_pairs(maze: Maze) -> Iterator[Pair]:
    """Yield the pairs (wall behind a crossing) straight ahead at each stop of the oracle's first trial."""
    x, y = maze.start
    for direction, length in oracle_trials(maze, maze.side).exploring:  # such options reach across the box
        t = DIRECTIONS.index(direction)
        row = panel_row(maze, (x, y))
        if 0 < row[t] < row[4 + t]:
            yield Pair(int(row[4 + t]), int(row[t]), direction)
        x, y = x + STEPS[t][0] * length, y + STEPS[t][1] * length


# ---- Controls: random mazes of the same size as the mazes of a test.
#
# A test maze is built around a corridor, so its optimal path is short, and short paths are easy. Each test therefore
# has control mazes: random mazes with equally long paths and, as far as possible, as many dead ends and crossings.

CANDIDATES = 16  # random mazes of the same length that are drawn for each maze of a test
SHAPE = ("way", "dead ends", "crossings")


def shape_of(mazes: Mazes) -> np.ndarray:
    """Return (M, 3) int64: path length in cells, dead ends and crossings, in the order of SHAPE."""
    degree = (mazes.rows[:, :, 4:8] > 0).sum(2)
    each = np.arange(len(mazes))
    way = np.abs(mazes.rows[each, mazes.start, 8:10].astype(np.int64)).sum(1)
    ends = degree == 1
    ends[each, mazes.start] = ends[each, mazes.goal] = False
    return np.stack([way, ends.sum(1), (degree >= 3).sum(1)], axis=1)


@checked
def matched_mazes(mazes: Mazes, *, seed: Seed = 0, but: Iterable[Maze] = ()) -> Mazes:
    """Draw a random control maze for each of M mazes; maze m has an optimal path as long as that of `mazes[m]`.

    Paths are drawn uniformly from all optimal paths of that length, branches as in RT. `CANDIDATES` mazes are drawn for
    each maze, and those with the least total difference in dead ends and crossings per length are kept. All optimal
    paths differ from each other and from the paths of `mazes`. The result has the rules of `mazes`.

    :param but: more mazes whose optimal paths are excluded, such as the training mazes.
    """
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(SPLITS), 0)))
    rules, side = mazes.rules, mazes.rules.side
    taken = {rank_of_path(maze.optimal_path, side) for maze in (*mazes, *but)}
    shape = shape_of(mazes)
    found: dict[int, Maze] = {}
    for length in np.unique(shape[:, 0]).tolist():
        own = np.flatnonzero(shape[:, 0] == length)
        ranks = np.setdiff1d(ranks_of_length(length, side), list(taken))
        ranks = rng.choice(ranks, min(len(ranks), CANDIDATES * len(own)), replace=False) if len(ranks) else ranks
        drawn = [_with_branches(rng, path_of_rank(int(rank), side), side) for rank in ranks]
        if len(drawn) < len(own):
            raise InputError(
                f"there are {len(drawn)} other ways of {length} cells; {len(own)} mazes need one each: give fewer, or "
                "evaluate without matched mazes"
            )
        apart = np.abs(shape[own, None, 1:] - shape_of(Mazes(drawn, rules))[None, :, 1:]).sum(2)
        found |= {int(own[i]): drawn[j] for i, j in zip(*linear_sum_assignment(apart), strict=True)}
    return Mazes((found[m] for m in range(len(mazes))), rules)


def _with_branches(rng: np.random.Generator, path: Sequence[Cell], side: int) -> Maze:
    edges = grow_branches(rng, _edges(path), MEAN_DEPTH, MEAN_BRANCHES, side=side)
    return Maze(path[0], path[-1], edges, side=side)


def draw_maze(rng: np.random.Generator, pair: Pair, side: int = RULES.side) -> tuple[Maze, Cell]:
    """Draw a random maze that queries a pair; return it with the queried cell.

    In a box of side x side, u is the pair's direction and v the direction into which the path turns. The queried cell
    is the start, a corner of the path or a crossing on a straight stretch, with equal probabilities if the box has
    room. The crossing follows at d2 and the wall at d1. Start and goal are drawn uniformly from the cells that keep the
    path monotone; the path's moves are shuffled, so that all paths between them are equally likely.
    """
    direction = DIRECTIONS.index(pair.type)
    turn = (direction + 1 + 2 * int(rng.integers(2))) % 4
    kinds = ("start", "corner", "crossing") if pair.d1 < side - 1 else ("start", "corner")
    kind = kinds[int(rng.integers(len(kinds)))]
    u = int(rng.integers(kind == "crossing", side - pair.d1))
    v = int(rng.integers(kind == "corner", side - 1))  # the path turns, so there is a row more
    before: list[Cell] = []
    if kind == "corner":
        before = _monotone(rng, (int(rng.integers(u + 1)), int(rng.integers(v))), (u, v - 1))
    elif kind == "crossing":
        before = _monotone(rng, (int(rng.integers(u)), int(rng.integers(v + 1))), (u - 1, v))
    corridor = [(u + i, v) for i in range(pair.d1 + 1)]
    u2, v2 = u + pair.d2, v + 1
    after = _monotone(rng, (u2, v2), (int(rng.integers(u2, side)), int(rng.integers(v2, side))))
    path = [*before, *corridor[: pair.d2 + 1], *after]
    edges = _edges(path) + _edges(corridor[pair.d2 :])
    if kind == "crossing":  # a branch of one cell, from which further branches may start
        sides = [w for w in (v - 1, v + 1) if w >= 0]
        edges += _edges([(u, v), (u, sides[int(rng.integers(len(sides)))])])
    # No branch may start before the crossing or extend the corridor beyond the wall.
    closed = {*corridor[1 : pair.d2], corridor[-1]}

    origin, ahead, aside = path[0], STEPS[direction], STEPS[turn]

    def place(cell: Cell) -> Cell:
        i, j = cell[0] - origin[0], cell[1] - origin[1]
        return i * ahead[0] + j * aside[0], i * ahead[1] + j * aside[1]

    placed = [(place(a), place(b)) for a, b in edges]
    grown = grow_branches(rng, placed, MEAN_DEPTH, MEAN_BRANCHES, {place(cell) for cell in closed}, side)
    return Maze((0, 0), place(path[-1]), grown, side), place((u, v))


def _monotone(rng: np.random.Generator, first: Cell, last: Cell) -> list[Cell]:
    """Return the cells of a random monotone path to a cell with greater or equal u and v."""
    along_u, along_v = last[0] - first[0], last[1] - first[1]
    cells = [first]
    for moves_v in rng.permutation([0] * along_u + [1] * along_v):
        u, v = cells[-1]
        cells.append((u, v + 1) if moves_v else (u + 1, v))
    return cells


def _edges(cells: Sequence[Cell]) -> list[Edge]:
    return list(pairwise(cells))
