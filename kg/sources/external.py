"""Import ATOMIC 2020 and ConceptNet; with the reading, counting and storing that wordnet.py shares.

An importer writes the facts of its source to a temporary file and loads that file into the graph at the end. Memory
stays bounded, and a malformed line leaves the graph unchanged.
"""

import re
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, islice
from operator import itemgetter
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from gumption.data import InputError, Note
from gumption.data.packed import Damaged, open_archive, open_packed
from gumption.data.reading import parse_json
from gumption.data.settings import NonNegative, Whole, checked
from gumption.kg.vocabulary import WEIGHTS, Triple, unknown_label

from .weights import LARGEST, describe_relation, weighted_relation

if TYPE_CHECKING:
    from gumption.kg.graph import KnowledgeGraph

MALFORMED, REPEATED = "malformed", "stated before"

Progress = Callable[[int], object]  # called with the number of bytes read since the last call
WeightedFact = tuple[str, str, str, float]

_LINES_PER_CALL = 10_000  # lines between two calls of a Progress
# Characters of a field that have to be escaped in files.py's format.
_ESCAPES = str.maketrans({"\\": "\\\\", "\r": "\\r", "\ufeff": "\\uFEFF"})


@dataclass(frozen=True)
class Imported:
    """The result of importing a source.

    :ivar graph: the name of the graph with its facts.
    :ivar lines: number of lines read, the sum of `kept` and `dropped`.
    :ivar kept: number of lines whose facts were added to the graph or already there.
    :ivar dropped: reason -> number of lines left out.
    :ivar new: number of facts that were not in the graph before.
    """

    graph: str
    lines: int
    kept: int
    dropped: Mapping[str, int]
    new: int


@dataclass
class Tally:
    """Count the lines of a source and the dropped lines.

    :ivar source: the file; for a file in a zip archive, the path with the archive as a folder ("data.zip/train.tsv").
    :ivar skip_bad: the number of malformed lines to skip; the next malformed line is an error.
    :ivar archive, member: the zip archive and the name of the file in it; None for other files.
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
        """Count the current line as malformed; raise InputError with file and line beyond `skip_bad`."""
        self.dropped[MALFORMED] += 1
        if self.dropped[MALFORMED] > self.skip_bad:
            raise InputError(
                f"{self.source}:{self.lines}: {problem} (malformed lines so far: {self.dropped[MALFORMED]}, "
                f"tolerated: {self.skip_bad}; skip_bad, on the command line --skip-bad, raises that)"
            )

    def imported(self, name: str, new: int) -> Imported:
        if not (kept := self.lines - self.dropped.total()):
            warnings.warn(f"{self.source}: no fact of its {self.lines:,} lines was kept", Note, stacklevel=3)
        return Imported(name, self.lines, kept, dict(sorted(self.dropped.items())), new)


def read_lines(tally: Tally, progress: Progress | None = None) -> Iterator[bytes]:
    """Yield the lines of a file, plain or compressed, without line ends; each line is counted before it is yielded.

    :raises InputError: a file that cannot be read, compressed data that is broken or beyond the bounds of packed.py.
    """
    place: int | None = None  # position at the last call; a member of an archive does not begin at 0
    try:
        with open_packed(tally.archive or tally.source, tally.member) as file:
            for line in file:
                tally.lines += 1
                yield line.rstrip(b"\r\n")
                if place is None:
                    place = file.place
                elif progress is not None and tally.lines % _LINES_PER_CALL == 0:
                    progress(file.place - place)
                    place = file.place
    except Damaged as error:
        raise InputError(
            f"{tally.source}:{tally.lines + 1}: the compressed file is broken or cut short ({error}): fetch it again"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {tally.source}: {error.strerror or error}") from None


def store(
    graph: "KnowledgeGraph", name: str, facts: Iterable[WeightedFact], tally: Tally, about: Callable[[], dict[str, str]]
) -> Imported:
    """Read all facts, then add them, their weights and the annotations to the graph.

    Among consecutive facts with the same subject and relation, equal facts are merged with the largest weight. Without
    facts the graph stays unchanged.

    :param about: returns the annotations; called after the last fact.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="gumption-import-") as folder:
            stated, weighted = Path(folder, "facts.tsv"), Path(folder, "weights.tsv")
            with stated.open("wb") as facts_out, weighted.open("wb") as weights_out:
                _write(facts, tally, facts_out, weights_out)
            if not stated.stat().st_size:
                return tally.imported(name, 0)
            graph.annotate(name, about())
            new = graph.load_file(stated, name, header=False)
            if weighted.stat().st_size:
                graph.annotate(name + WEIGHTS, about())
                graph.load_file(weighted, name + WEIGHTS, header=False)
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
    """Yield (subject, relation, object -> weight) for each run of facts with the same subject and relation."""
    for (subject, relation), run in groupby(facts, key=itemgetter(0, 1)):
        objects: dict[str, float] = {}
        for _, _, object_, weight in run:
            if object_ in objects:
                tally.drop(REPEATED)
                weight = max(weight, objects[object_])
            objects[object_] = weight
        yield subject, relation, objects


def _row(triple: Triple) -> bytes:
    return ("\t".join(triple).translate(_ESCAPES) + "\n").encode()


# ---- ATOMIC 2020 (Hwang et al., "(Comet-)Atomic 2020: On Symbolic and Neural Commonsense Knowledge Graphs", AAAI
# 2021).
#
# Files have three columns separated by tabs, without a header: head, relation, tail. PersonX, PersonY and the blank
# "___" of an event are kept. A tail "none" is no fact: annotators wrote it if nothing applies.

_PACKED = re.compile(r"\.(gz|bz2|xz)$")
# Table 1 of the paper: relations of physical entities, events, social interaction.
ATOMIC_RELATIONS = (
    "AtLocation", "CapableOf", "Desires", "HasProperty", "MadeUpOf", "NotDesires", "ObjectUse",
    "Causes", "HasSubEvent", "HinderedBy", "isAfter", "isBefore", "isFilledBy", "xReason",
    "oEffect", "oReact", "oWant", "xAttr", "xEffect", "xIntent", "xNeed", "xReact", "xWant",
)  # fmt: skip
ATOMIC = {
    "source": "ATOMIC 2020 (https://allenai.org/data/atomic-2020)",
    "license": "CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/)",
    "attribution": (
        "ATOMIC 2020 by Jena D. Hwang, Chandra Bhagavatula, Ronan Le Bras, Jeff Da, Keisuke Sakaguchi, Antoine "
        "Bosselut and Yejin Choi (Allen Institute for AI and University of Washington)"
    ),
}


@checked
def import_atomic2020(
    graph: "KnowledgeGraph",
    paths: Iterable[str | PathLike[str]],
    *,
    name: str = "atomic",
    relations: Collection[str] | None = None,
    skip_bad: Whole = 0,
    progress: Progress | None = None,
) -> list[Imported]:
    """Add each file of ATOMIC 2020 to its own named graph, for example train.tsv to "atomic/train".

    :param paths: .tsv files, plain or compressed (gzip, bzip2, xz); a zip archive stands for the .tsv files in it.
    :param relations: import only these.
    :param skip_bad: the number of malformed lines to skip in each file.
    :raises InputError: with file and line: a malformed line, a relation that ATOMIC does not have. Earlier files have
        been added.
    """
    wanted = _wanted(relations, "ATOMIC 2020", ATOMIC_RELATIONS)
    tallies = [tally for path in paths for tally in _atomic_files(Path(path), skip_bad)]
    names = [f"{name}/{_PACKED.sub('', tally.source.name).removesuffix('.tsv')}" for tally in tallies]
    if len(set(names)) < len(names):
        raise InputError(f"two of these files would be one graph: {', '.join(names)}")
    done = []
    for tally, split in zip(tallies, names, strict=True):
        facts = _atomic_facts(read_lines(tally, progress), tally, wanted)
        done.append(store(graph, split, facts, tally, ATOMIC.copy))
    return done


def _wanted(relations: Collection[str] | None, of: str, known: Sequence[str]) -> frozenset[str] | None:
    for relation in relations or ():
        if relation not in known:
            raise InputError(unknown_label(f"{of} relation", relation, known))
    return None if relations is None else frozenset(relations)


def _atomic_files(path: Path, skip_bad: int) -> Sequence[Tally]:
    if not (path.is_file() and zipfile.is_zipfile(path)):
        return [Tally(path, skip_bad)]
    try:
        with open_archive(path, str(path)) as archive:
            # Archives made on a Mac have an extra file ._NAME for each file.
            members = [each for each in sorted(archive.namelist()) if PurePosixPath(each).match("[!.]*.tsv")]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    if not members:
        raise InputError(f"{path} has no .tsv file in it: is it the archive of ATOMIC 2020?")
    return [Tally(Path(f"{path}/{member}"), skip_bad, archive=path, member=member) for member in members]


def _atomic_facts(lines: Iterable[bytes], tally: Tally, wanted: frozenset[str] | None) -> Iterator[WeightedFact]:
    known = frozenset(ATOMIC_RELATIONS)
    for line in lines:
        try:
            columns = [column.strip() for column in line.decode().split("\t")]
            if len(columns) != 3 or not columns[0]:
                raise ValueError(f"expected head, relation and tail separated by tabs: {columns}")
            head, relation, tail = columns
            if relation not in known:
                raise ValueError(unknown_label("ATOMIC 2020 relation", relation, ATOMIC_RELATIONS))
        except ValueError as error:
            tally.malformed(str(error))
            continue
        if wanted is not None and relation not in wanted:
            tally.drop("another relation")
        elif tail.lower() in ("", "none"):
            tally.drop("no tail")
        else:
            yield head, relation, tail, 1.0


# ---- ConceptNet 5 (Speer, Chin and Havasi, "ConceptNet 5.5: An Open Multilingual Graph of General Knowledge", AAAI
# 2017).
#
# There are two forms. *Assertions*, ConceptNet's own file, has five columns separated by tabs: the URIs of assertion,
# relation, start and end, and JSON with weight, license, dataset, sources and surfaceText. The *tab form* comes from
# the text games of TWC (Murugesan et al., AAAI 2021): head, relation in lower case, tail, with underscores in the
# concepts and without weights.

# The relations of ConceptNet 5.7: from its wiki, negated relations, and relations from DBPedia.
CONCEPTNET_RELATIONS = (
    "Antonym", "AtLocation", "CapableOf", "Causes", "CausesDesire", "CreatedBy", "DefinedAs", "DerivedFrom", "Desires",
    "DistinctFrom", "Entails", "EtymologicallyDerivedFrom", "EtymologicallyRelatedTo", "ExternalURL", "FormOf", "HasA",
    "HasContext", "HasFirstSubevent", "HasLastSubevent", "HasPrerequisite", "HasProperty", "HasSubevent", "InstanceOf",
    "IsA", "LocatedNear", "MadeOf", "MannerOf", "MotivatedByGoal", "NotCapableOf", "NotDesires", "NotHasProperty",
    "NotUsedFor", "ObstructedBy", "PartOf", "ReceivesAction", "RelatedTo", "SimilarTo", "SymbolOf", "Synonym",
    "UsedFor", "dbpedia/capital", "dbpedia/field", "dbpedia/genre", "dbpedia/genus", "dbpedia/influencedBy",
    "dbpedia/knownFor", "dbpedia/language", "dbpedia/leader", "dbpedia/occupation", "dbpedia/product",
)  # fmt: skip
EXTERNAL_URL = "ExternalURL"

CONCEPTNET = {
    "source": "ConceptNet 5 (https://conceptnet.io)",
    # The licence and the attribution required by its page "Copying and sharing ConceptNet".
    "license": "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/)",
    "attribution": (
        "This work includes data from ConceptNet 5, which was compiled by the Commonsense Computing Initiative. "
        "ConceptNet 5 is freely available under the Creative Commons Attribution-ShareAlike license (CC BY SA 4.0) "
        "from https://conceptnet.io. The included data was created by contributors to Commonsense Computing projects, "
        "contributors to Wikimedia projects, Games with a Purpose, Princeton University's WordNet, DBPedia, OpenCyc, "
        "and Umbel."
    ),
}

_BY_LOWER_CASE = {name.lower().removeprefix("dbpedia/"): name for name in CONCEPTNET_RELATIONS}
_COLUMNS = {5: "assertions", 3: "tab"}


@checked
def import_conceptnet(
    graph: "KnowledgeGraph",
    path: str | PathLike[str],
    *,
    name: str = "conceptnet",
    language: str | None = "en",
    relations: Collection[str] | None = None,
    min_weight: NonNegative | None = None,
    senses: bool = False,
    skip_bad: Whole = 0,
    progress: Progress | None = None,
) -> Imported:
    """Add a file of ConceptNet, plain or compressed, to a named graph, with weights (see weights.py) and licences.

    The concept /c/en/ice_cream/n/wn/food becomes the entity "ice cream", the relation /r/IsA becomes "IsA". Assertions
    that differ only in senses become one fact with the largest of their weights, if the file is sorted by URI, as
    ConceptNet's files are.

    :param language: language of both concepts. None imports all languages and names entities by URI
        ("/c/en/ice_cream"), because equal words may have other meanings in other languages.
    :param relations: import only these. ExternalURL, a link to another data set, is left out unless listed here.
    :param min_weight: leave out assertions with a smaller weight.
    :param senses: keep senses in the entities: "ice cream/n/wn/food". Few concepts have a sense and words of a task
        have none, so that senses separate facts about the same word.
    :param skip_bad: the number of malformed lines to skip.
    :raises InputError: with file and line: a malformed line; a relation that ConceptNet does not have; an option that
        does not apply to the tab form; a file of neither form.
    """
    wanted = _wanted(relations, "ConceptNet", CONCEPTNET_RELATIONS)
    tally = Tally(Path(path), skip_bad)
    lines = read_lines(tally, progress)
    licences: Counter[str] = Counter()
    if conceptnet_form(path) == "tab":
        if language != "en" or min_weight is not None or senses:
            raise InputError(f"{path} has neither languages nor weights nor senses: leave out the options for them")
        facts = _tab_form(lines, tally, wanted)
    else:
        facts = _assertions(lines, tally, language, wanted, min_weight, senses, licences)

    def about() -> dict[str, str]:
        said = dict(CONCEPTNET)
        if licences:
            counts = ", ".join(f"{licence}: {n}" for licence, n in sorted(licences.items()))
            said["rights"] = f"licences of the assertions read, as each names its own: {counts}"
        return said

    return store(graph, name, facts, tally, about)


@checked
def conceptnet_entities(
    path: str | PathLike[str], *, skip_bad: Whole = 0, progress: Progress | None = None
) -> list[str]:
    """List the sorted English entities of a file of ConceptNet, named as by `import_conceptnet`."""
    tally = Tally(Path(path), skip_bad)
    lines = read_lines(tally, progress)
    if conceptnet_form(path) == "tab":
        facts = _tab_form(lines, tally, None)
    else:
        facts = _assertions(lines, tally, "en", None, None, False, Counter())
    return sorted({entity for subject, _, object_, _ in facts for entity in (subject, object_)})


def conceptnet_form(path: str | PathLike[str]) -> str:
    """Detect the form of a file of ConceptNet by its first lines, "assertions" or "tab"; InputError for neither."""
    for line in islice(read_lines(Tally(Path(path))), 1000):
        columns = line.split(b"\t")
        form = _COLUMNS.get(len(columns))
        if form == "assertions" and columns[1].startswith(b"/r/"):
            return form
        if form == "tab" and columns[1].decode(errors="replace").lower() in _BY_LOWER_CASE:
            return form
    raise InputError(
        f"{path}:1: not a file of ConceptNet: expected five columns separated by tabs (assertion, relation, start, "
        "end, JSON) or three (head, relation, tail)"
    )


def _assertions(
    lines: Iterable[bytes],
    tally: Tally,
    language: str | None,
    wanted: frozenset[str] | None,
    min_weight: float | None,
    senses: bool,
    licences: Counter[str],
) -> Iterator[WeightedFact]:
    prefix = b"/c/" if language is None else f"/c/{language}/".encode()
    label = _labels(language, senses)
    relation_names: dict[bytes, str] = {}
    other_language = f"not in {language}"
    for line in lines:
        columns = line.split(b"\t")
        if len(columns) != 5:
            tally.malformed(f"expected 5 columns separated by tabs, found {len(columns)}")
            continue
        _, relation_uri, start, end, details = columns
        if not (relation_uri.startswith(b"/r/") and start.startswith(b"/c/")):
            tally.malformed("expected a relation /r/NAME and a concept /c/LANGUAGE/TERM in columns 2 and 3")
            continue
        try:
            relation = relation_names.get(relation_uri)
            if relation is None:
                relation = relation_names[relation_uri] = relation_uri[3:].decode()
            if relation not in wanted if wanted is not None else relation == EXTERNAL_URL:
                tally.drop("external address" if relation == EXTERNAL_URL else "another relation")
                continue
            # Most lines of the full file are dropped here, before costly steps.
            outside = relation == EXTERNAL_URL
            if not start.startswith(prefix) or not (outside or end.startswith(prefix)):
                if not (outside or end.startswith(b"/c/")):
                    raise ValueError("the end, in column 4, is no concept /c/LANGUAGE/TERM")
                tally.drop(other_language)
                continue
            subject = label(start)
            object_ = end.decode() if outside else label(end)
            if not object_:
                raise ValueError("the end, in column 4, is empty")
            weight, licence = _details(details)
        except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
            tally.malformed(str(error))
            continue
        if min_weight is not None and weight < min_weight:
            tally.drop(f"weight below {min_weight:g}")
            continue
        licences[licence] += 1
        yield subject, relation, object_, weight


def _labels(language: str | None, senses: bool) -> Callable[[bytes], str]:
    """Return a cached function from a concept's URI to its label."""

    @lru_cache(maxsize=100_000)
    def label(uri: bytes) -> str:
        _, _, tongue, *rest = uri.decode().split("/")
        if not (tongue and rest and rest[0]):
            raise ValueError(f"{uri.decode()!r} is no concept /c/LANGUAGE/TERM")
        if language is None:
            return "/".join(("/c", tongue, *(rest if senses else rest[:1])))
        return "/".join([rest[0].replace("_", " "), *(rest[1:] if senses else ())])

    return label


def _details(details: bytes) -> tuple[float, str]:
    """Return weight and licence; ValueError unless it is a JSON object with a weight that a float32 can represent."""
    found = parse_json(details)
    weight = found.get("weight") if isinstance(found, dict) else None
    if not isinstance(weight, (int, float)) or not abs(weight) <= LARGEST:  # also true for NaN
        raise ValueError("column 5 is no JSON object with a finite number as its weight")
    return weight, str(found.get("license", "none named"))


def _tab_form(lines: Iterable[bytes], tally: Tally, wanted: frozenset[str] | None) -> Iterator[WeightedFact]:
    for line in lines:
        try:
            columns = [column.strip() for column in line.decode().split("\t")]
            if len(columns) != 3 or not all(columns):
                raise ValueError(f"expected head, relation and tail separated by tabs, none of them empty: {columns}")
            head, lower_case, tail = columns
            relation = _BY_LOWER_CASE.get(lower_case.lower())
            if relation is None:
                raise ValueError(unknown_label("ConceptNet relation", lower_case, _BY_LOWER_CASE))
        except ValueError as error:
            tally.malformed(str(error))
            continue
        if relation not in wanted if wanted is not None else relation == EXTERNAL_URL:
            tally.drop("external address" if relation == EXTERNAL_URL else "another relation")
            continue
        yield head.replace("_", " "), relation, tail.replace("_", " "), 1.0
