"""ATOMIC 2020 (Hwang et al., "(Comet-)Atomic 2020: On Symbolic and Neural Commonsense Knowledge Graphs", AAAI 2021).

Files of three columns separated by tabs, without a header: head, relation, tail. PersonX, PersonY and the blank "___"
of an event stay as they are; a tail "none", which says that the annotator saw nothing to say, is no fact.
"""

import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.data import InputError
from gumption.kg.vocabulary import unknown_label

from .external import Imported, Progress, Tally, WeightedFact, read_lines, store

if TYPE_CHECKING:
    from gumption.kg.graph import KnowledgeGraph

# Table 1 of the paper: about physical things, about events, about people.
RELATIONS = (
    "AtLocation", "CapableOf", "Desires", "HasProperty", "MadeUpOf", "NotDesires", "ObjectUse",
    "Causes", "HasSubEvent", "HinderedBy", "isAfter", "isBefore", "isFilledBy", "xReason",
    "oEffect", "oReact", "oWant", "xAttr", "xEffect", "xIntent", "xNeed", "xReact", "xWant",
)  # fmt: skip
ABOUT = {
    "source": "ATOMIC 2020 (https://allenai.org/data/atomic-2020)",
    "license": "CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/)",
    "attribution": (
        "ATOMIC 2020 by Jena D. Hwang, Chandra Bhagavatula, Ronan Le Bras, Jeff Da, Keisuke Sakaguchi, Antoine "
        "Bosselut and Yejin Choi (Allen Institute for AI and University of Washington)"
    ),
}


def import_atomic2020(
    graph: "KnowledgeGraph",
    paths: Iterable[str | PathLike[str]],
    *,
    name: str = "atomic",
    relations: Collection[str] | None = None,
    skip_bad: int = 0,
    progress: Progress | None = None,
) -> list[Imported]:
    """Add files of ATOMIC 2020 to named graphs, each to its own: train.tsv to "atomic/train".

    :param paths: .tsv files, plain or gzip; a zip archive stands for the .tsv files in it.
    :param relations: take these only.
    :param skip_bad: how many malformed lines of each file to pass over.
    :raises InputError: with file and line for a malformed line; a relation that ATOMIC does not have. The files before
        that one have been added.
    """
    for relation in relations or ():
        if relation not in RELATIONS:
            raise InputError(unknown_label("ATOMIC 2020 relation", relation, RELATIONS))
    wanted = None if relations is None else frozenset(relations)
    files = [file for path in paths for file in _files(Path(path))]
    names = [f"{name}/{file.name.removesuffix('.gz').removesuffix('.tsv')}" for file in files]
    if len(set(names)) < len(names):
        raise InputError(f"two of these files would be one graph: {', '.join(names)}")
    done = []
    for file, split in zip(files, names, strict=True):
        tally = Tally(file, skip_bad)
        facts = _facts(read_lines(tally, progress), tally, wanted)
        done.append(store(graph, split, facts, tally, ABOUT.copy))
    return done


def _files(path: Path) -> Sequence[Path]:
    if not (path.is_file() and zipfile.is_zipfile(path)):
        return [path]
    members = [Path(member) for member in sorted(zipfile.ZipFile(path).namelist())]
    # Archives made on a Mac have a shadow ._NAME of each file.
    found = [path / member for member in members if member.suffix == ".tsv" and not member.name.startswith(".")]
    if not found:
        raise InputError(f"{path} has no .tsv file in it: is it the archive of ATOMIC 2020?")
    return found


def _facts(lines: Iterable[bytes], tally: Tally, wanted: frozenset[str] | None) -> Iterator[WeightedFact]:
    known = frozenset(RELATIONS)
    for line in lines:
        try:
            columns = [column.strip() for column in line.decode().split("\t")]
            if len(columns) != 3 or not columns[0]:
                raise ValueError(f"expected head, relation and tail separated by tabs: {columns}")
            head, relation, tail = columns
            if relation not in known:
                raise ValueError(unknown_label("ATOMIC 2020 relation", relation, RELATIONS))
        except ValueError as error:
            tally.malformed(str(error))
            continue
        if wanted is not None and relation not in wanted:
            tally.drop("another relation")
        elif tail.lower() in ("", "none"):
            tally.drop("no tail")
        else:
            yield head, relation, tail, 1.0
