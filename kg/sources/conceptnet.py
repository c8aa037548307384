"""ConceptNet 5 (Speer, Chin and Havasi, "ConceptNet 5.5: An Open Multilingual Graph of General Knowledge", AAAI 2017).

Two forms are read. *Assertions*, the project's own file, has five columns separated by tabs: the URIs of the assertion,
of the relation, of its start and of its end, and JSON with weight, license, dataset, sources and surfaceText. The *tab
form* is that of the part of ConceptNet which the text games of TWC (Murugesan et al., AAAI 2021) ship: head, relation
in lower case, tail, with underscores in the concepts and no weights.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import NonNegative, Whole, checked
from gumption.kg.vocabulary import unknown_label

from .external import Imported, Progress, Tally, WeightedFact, read_lines, store
from .weights import LARGEST

if TYPE_CHECKING:
    from gumption.kg.graph import KnowledgeGraph

# The relations of ConceptNet 5.7: those its wiki explains, the negated ones, and what it takes from DBPedia.
RELATIONS = (
    "Antonym", "AtLocation", "CapableOf", "Causes", "CausesDesire", "CreatedBy", "DefinedAs", "DerivedFrom", "Desires",
    "DistinctFrom", "Entails", "EtymologicallyDerivedFrom", "EtymologicallyRelatedTo", "ExternalURL", "FormOf", "HasA",
    "HasContext", "HasFirstSubevent", "HasLastSubevent", "HasPrerequisite", "HasProperty", "HasSubevent", "InstanceOf",
    "IsA", "LocatedNear", "MadeOf", "MannerOf", "MotivatedByGoal", "NotCapableOf", "NotDesires", "NotHasProperty",
    "NotUsedFor", "ObstructedBy", "PartOf", "ReceivesAction", "RelatedTo", "SimilarTo", "SymbolOf", "Synonym",
    "UsedFor", "dbpedia/capital", "dbpedia/field", "dbpedia/genre", "dbpedia/genus", "dbpedia/influencedBy",
    "dbpedia/knownFor", "dbpedia/language", "dbpedia/leader", "dbpedia/occupation", "dbpedia/product",
)  # fmt: skip
EXTERNAL_URL = "ExternalURL"

ABOUT = {
    "source": "ConceptNet 5 (https://conceptnet.io)",
    # What its page "Copying and sharing ConceptNet" says of the whole, and the sentence that it asks for.
    "license": "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/)",
    "attribution": (
        "This work includes data from ConceptNet 5, which was compiled by the Commonsense Computing Initiative. "
        "ConceptNet 5 is freely available under the Creative Commons Attribution-ShareAlike license (CC BY SA 4.0) "
        "from https://conceptnet.io. The included data was created by contributors to Commonsense Computing projects, "
        "contributors to Wikimedia projects, Games with a Purpose, Princeton University's WordNet, DBPedia, OpenCyc, "
        "and Umbel."
    ),
}

_BY_LOWER_CASE = {name.lower().removeprefix("dbpedia/"): name for name in RELATIONS}
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

    A concept /c/en/ice_cream/n/wn/food becomes the entity "ice cream", a relation /r/IsA the relation "IsA". Assertions
    that differ in senses alone become one fact, which has the largest of their weights as long as the file has them in
    its own order, sorted by URI.

    :param language: both ends have to be in it. None takes all; entities are then named by URI ("/c/en/ice_cream"),
        because the same word means other things in other languages.
    :param relations: take these only. ExternalURL, a link to another data set, is left out unless it is named here.
    :param min_weight: leave out assertions with a smaller weight.
    :param senses: keep them in the entities: "ice cream/n/wn/food". Not by default: few concepts have one, and words of
        a task have none, so that a sense would only keep facts about one word apart.
    :param skip_bad: how many malformed lines to pass over.
    :raises InputError: with file and line for a malformed line; a relation that ConceptNet does not have; an option
        that the tab form has nothing for; a file that is neither form.
    """
    known = set(RELATIONS)
    for relation in relations or ():
        if relation not in known:
            raise InputError(unknown_label("ConceptNet relation", relation, RELATIONS))
    wanted = None if relations is None else frozenset(relations)
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
        said = dict(ABOUT)
        if licences:
            counts = ", ".join(f"{licence}: {n}" for licence, n in sorted(licences.items()))
            said["rights"] = f"licences of the assertions read, as each names its own: {counts}"
        return said

    return store(graph, name, facts, tally, about)


@checked
def conceptnet_entities(
    path: str | PathLike[str], *, skip_bad: Whole = 0, progress: Progress | None = None
) -> list[str]:
    """The English entities of a file of ConceptNet, sorted, as `import_conceptnet` names them, without a graph."""
    tally = Tally(Path(path), skip_bad)
    lines = read_lines(tally, progress)
    if conceptnet_form(path) == "tab":
        facts = _tab_form(lines, tally, None)
    else:
        facts = _assertions(lines, tally, "en", None, None, False, Counter())
    return sorted({entity for subject, _, object_, _ in facts for entity in (subject, object_)})


def conceptnet_form(path: str | PathLike[str]) -> str:
    """Which form of ConceptNet a file has, "assertions" or "tab", from its first lines; InputError for neither."""
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
            # Most lines of the whole file end here, before anything costly.
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
    """What makes a concept's URI a label; it remembers the most recent ones."""

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
    """Weight and licence; ValueError for what is no JSON object with a weight that a float32 can hold."""
    found = parse_json(details)
    weight = found.get("weight") if isinstance(found, dict) else None
    if not isinstance(weight, (int, float)) or not abs(weight) <= LARGEST:  # nor is NaN
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
