"""ATOMIC 2020 (Hwang et al., "(Comet-)Atomic 2020: On Symbolic and Neural Commonsense Knowledge Graphs", AAAI 2021).

Files of three columns separated by tabs, without a header: head, relation, tail. PersonX, PersonY and the blank "___"
of an event stay as they are; a tail "none", which says that the annotator saw nothing to say, is no fact.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from gumption.data import InputError
from gumption.data.packed import is_archive, open_archive
from gumption.data.settings import Whole, checked
from gumption.kg.vocabulary import unknown_label

from .external import Imported, Progress, Tally, WeightedFact, read_lines, store

if TYPE_CHECKING:
    from gumption.kg.graph import KnowledgeGraph

_PACKED = re.compile(r"\.(gz|bz2|xz)$")
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
    """Add files of ATOMIC 2020 to named graphs, each to its own: train.tsv to "atomic/train".

    :param paths: .tsv files, plain or compressed (gzip, bzip2, xz); a zip archive stands for the .tsv files in it.
    :param relations: take these only.
    :param skip_bad: how many malformed lines of each file to pass over.
    :raises InputError: with file and line for a malformed line; a relation that ATOMIC does not have. The files before
        that one have been added.
    """
    for relation in relations or ():
        if relation not in RELATIONS:
            raise InputError(unknown_label("ATOMIC 2020 relation", relation, RELATIONS))
    wanted = None if relations is None else frozenset(relations)
    tallies = [tally for path in paths for tally in _files(Path(path), skip_bad)]
    names = [f"{name}/{_PACKED.sub('', tally.source.name).removesuffix('.tsv')}" for tally in tallies]
    if len(set(names)) < len(names):
        raise InputError(f"two of these files would be one graph: {', '.join(names)}")
    done = []
    for tally, split in zip(tallies, names, strict=True):
        facts = _facts(read_lines(tally, progress), tally, wanted)
        done.append(store(graph, split, facts, tally, ABOUT.copy))
    return done


def _files(path: Path, skip_bad: int) -> Sequence[Tally]:
    if not is_archive(path):
        return [Tally(path, skip_bad)]
    try:
        with open_archive(path, str(path)) as archive:
            # Archives made on a Mac have a shadow ._NAME of each file.
            members = [each for each in sorted(archive.namelist()) if PurePosixPath(each).match("[!.]*.tsv")]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    if not members:
        raise InputError(f"{path} has no .tsv file in it: is it the archive of ATOMIC 2020?")
    return [Tally(Path(f"{path}/{member}"), skip_bad, archive=path, member=member) for member in members]


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
