"""What the importers of other projects' commonsense graphs share: reading lines, counting, storing.

The importers are in conceptnet.py, atomic.py and wordnet.py. Each reads its source line by line into a file beside the
system's temporary files and hands that to the graph once the source has been read to its end: memory stays bounded,
and a malformed line leaves the graph as it was.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gumption.data import InputError
from gumption.data.packed import Damaged, open_packed
from gumption.kg.vocabulary import Triple

from .weights import WEIGHTS, describe_relation, weighted_relation

if TYPE_CHECKING:
    from gumption.kg.graph import KnowledgeGraph

MALFORMED, REPEATED = "malformed", "stated before"

Progress = Callable[[int], object]  # called now and then with the bytes of the source that were read since
WeightedFact = tuple[str, str, str, float]

_TOLD_EVERY = 10_000  # lines between two calls of a Progress
# What a field of a tab-separated line can hold that files.py has an escape for.
_ESCAPES = str.maketrans({"\\": "\\\\", "\r": "\\r", "\ufeff": "\\uFEFF"})


@dataclass(frozen=True)
class Imported:
    """What came of one source.

    :ivar graph: name of the graph that its facts are in.
    :ivar lines: what was read; `kept` and `dropped` add up to it.
    :ivar kept: lines whose fact was handed to the graph.
    :ivar dropped: reason -> lines left out for it.
    :ivar new: facts that the graph did not have yet.
    """

    graph: str
    lines: int
    kept: int
    dropped: Mapping[str, int]
    new: int


@dataclass
class Tally:
    """Counts the lines of one source and says what is wrong with one of them.

    :ivar source: the file; one in a zip archive is named as if the archive were a folder ("data.zip/train.tsv").
    :ivar skip_bad: how many malformed lines are passed over; the next one is an error.
    :ivar member: the file's name in the archive, where `source` was made of the two.
    """

    source: Path
    skip_bad: int = 0
    archive: Path | None = None
    member: str | None = None
    lines: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if self.archive is None:
            self.archive = next((parent for parent in self.source.parents if parent.is_file()), None)
            self.member = self.source.relative_to(self.archive).as_posix() if self.archive else None

    def drop(self, reason: str) -> None:
        self.dropped[reason] += 1

    def malformed(self, problem: str) -> None:
        """Count the present line as malformed; InputError with file and line where that is one too many."""
        self.dropped[MALFORMED] += 1
        if self.dropped[MALFORMED] > self.skip_bad:
            raise InputError(
                f"{self.source}:{self.lines}: {problem} (malformed lines so far: {self.dropped[MALFORMED]}, "
                f"tolerated: {self.skip_bad}; skip_bad, on the command line --skip-bad, raises that)"
            )

    def imported(self, name: str, new: int) -> Imported:
        kept = self.lines - self.dropped.total()
        return Imported(name, self.lines, kept, dict(sorted(self.dropped.items())), new)


def read_lines(tally: Tally, progress: Progress | None = None) -> Iterator[bytes]:
    """The lines of a file, plain or compressed, without their ends; each is counted before it is given.

    :raises InputError: a file that cannot be read, or compressed data that is broken or beyond the bounds of packed.py.
    """
    told: int | None = None  # up to where in the file; a member of an archive does not begin at 0
    try:
        with open_packed(tally.archive or tally.source, tally.member) as file:
            for line in file:
                tally.lines += 1
                yield line.rstrip(b"\r\n")
                if told is None:
                    told = file.place
                elif progress is not None and tally.lines % _TOLD_EVERY == 0:
                    progress(file.place - told)
                    told = file.place
    except Damaged as error:
        raise InputError(
            f"{tally.source}:{tally.lines + 1}: the compressed file is broken or cut short ({error}): fetch it again"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {tally.source}: {error.strerror or error}") from None


def store(
    graph: "KnowledgeGraph", name: str, facts: Iterable[WeightedFact], tally: Tally, about: Callable[[], dict[str, str]]
) -> Imported:
    """Read all facts, then add them, their weights and what is to be said about them to the graph.

    Facts that follow each other with the same subject and relation may repeat: the largest weight stays.

    :param about: called after the last fact: the annotations, which may depend on what was read.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="gumption-import-") as folder:
            stated, weighted = Path(folder, "facts.tsv"), Path(folder, "weights.tsv")
            with stated.open("wb") as facts_out, weighted.open("wb") as weights_out:
                _write(facts, tally, facts_out, weights_out)
            graph.annotate(name, about())
            new = graph.load_file(stated, name) if stated.stat().st_size else 0
            if weighted.stat().st_size:
                graph.annotate(name + WEIGHTS, about())
                graph.load_file(weighted, name + WEIGHTS)
    except OSError as error:
        raise InputError(f"cannot keep what was read in {tempfile.gettempdir()}: {error.strerror or error}") from None
    return tally.imported(name, new)


def _write(facts: Iterable[WeightedFact], tally: Tally, facts_out: IO[bytes], weights_out: IO[bytes]) -> None:
    relations: dict[tuple[str, float], str] = {}  # small: pairs of relation and weight
    for subject, relation, objects in _merged(facts, tally):
        for object_, weight in objects.items():
            facts_out.write(_row((subject, relation, object_)))
            if weight != 1:
                if (relation, weight) not in relations:
                    relations[relation, weight] = weighted_relation(relation, weight)
                weights_out.write(_row((subject, relations[relation, weight], object_)))
    for meaning in sorted(set(relations.values())):
        weights_out.writelines(map(_row, describe_relation(meaning)))


def _merged(facts: Iterable[WeightedFact], tally: Tally) -> Iterator[tuple[str, str, dict[str, float]]]:
    """(subject, relation, object -> weight) for each run of facts with the same subject and relation."""
    present: tuple[str, str] | None = None
    objects: dict[str, float] = {}
    for subject, relation, object_, weight in facts:
        if (subject, relation) != present:
            if present is not None:
                yield *present, objects
            present, objects = (subject, relation), {}
        if object_ in objects:
            tally.drop(REPEATED)
            weight = max(weight, objects[object_])
        objects[object_] = weight
    if present is not None:
        yield *present, objects


def _row(triple: Triple) -> bytes:
    return ("\t".join(triple).translate(_ESCAPES) + "\n").encode()
