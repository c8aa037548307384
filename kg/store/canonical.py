"""Canonical names for blank nodes (RDFC-1.0, W3C 2024), so that equal graphs have equal hashes.

Each group of blank nodes that facts connect is named separately, because the time grows with the square or more of the
nodes that look alike. Oxigraph names them; groups with nodes that look alike run in a process that is killed after
SECONDS. This file is also the program of that process and imports nothing of gumption.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyoxigraph as ox

from gumption.data.tables import grouped

SECONDS = 10
ALIKE = 500  # maximum number of blank nodes of a group that share a first-degree hash (RDFC-1.0, section 4.6)


class TooAlike(Exception):
    """The blank nodes cannot be distinguished within the bounds."""


def canonical(triples: Iterable[ox.Triple]) -> list[list[ox.Triple]]:
    """Return the triples in groups that share no blank node, each with canonical names and sorted.

    :raises TooAlike: more than ALIKE nodes of a group look alike, or the time limit is exceeded.
    """
    named, alike = [], []
    for group in _groups(triples):
        looks = Counter(_looks(group).values())
        (alike if any(number > 1 for number in looks.values()) else named).append(group)
        if sum(number for number in looks.values() if number > 1) > ALIKE:
            raise TooAlike(f"more than {ALIKE} blank nodes that are connected look alike")
    named = list(map(_named, named))
    if not alike:
        return named
    request = json.dumps([_text(group) for group in alike]).encode()
    try:
        # -P: modules in the program's folder must not hide others of the same name.
        command = [sys.executable, "-P", __file__]
        done = subprocess.run(command, input=request, stdout=subprocess.PIPE, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise TooAlike(f"blank nodes look so much alike that {SECONDS} seconds did not suffice to name them") from None
    if done.returncode:
        raise TooAlike("blank nodes look so much alike that the process that names them ended")
    return named + [_parsed(text) for text in json.loads(done.stdout)]


def blank_nodes(term: Any) -> Iterator[ox.BlankNode]:
    """Yield the blank nodes of a term or a triple, including those in triple terms."""
    if isinstance(term, ox.BlankNode):
        yield term
    elif isinstance(term, ox.Triple):
        yield from blank_nodes(term.subject)
        yield from blank_nodes(term.object)


def _groups(triples: Iterable[ox.Triple]) -> list[list[ox.Triple]]:
    root: dict[ox.BlankNode, ox.BlankNode] = {}

    def find(node: ox.BlankNode) -> ox.BlankNode:
        while (above := root.setdefault(node, node)) != node:
            root[node] = node = root[above]
        return node

    first = []
    for triple in triples:
        one, *others = blank_nodes(triple)
        first.append((triple, one))
        for other in others:
            root[find(other)] = find(one)
    return list(grouped((find(node), triple) for triple, node in first).values())


def _looks(group: Sequence[ox.Triple]) -> dict[ox.BlankNode, tuple[str, ...]]:
    """Map each blank node to its facts with itself as _:a and others as _:z, the input of its first-degree hash."""
    facts = grouped((node, str(_renamed(triple, node))) for triple in group for node in set(blank_nodes(triple)))
    return {node: tuple(sorted(texts)) for node, texts in facts.items()}


def _renamed(term: Any, node: ox.BlankNode) -> Any:
    if isinstance(term, ox.BlankNode):
        return ox.BlankNode("a" if term == node else "z")
    if isinstance(term, ox.Triple):
        return ox.Triple(_renamed(term.subject, node), term.predicate, _renamed(term.object, node))
    return term


def _named(group: Iterable[ox.Triple]) -> list[ox.Triple]:
    dataset = ox.Dataset(ox.Quad(*triple) for triple in group)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return sorted((quad.triple for quad in dataset), key=str)


def _text(group: Iterable[ox.Triple]) -> str:
    return (ox.serialize(group, format=ox.RdfFormat.N_TRIPLES) or b"").decode()


def _parsed(text: str) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES)]


if __name__ == "__main__":
    print(json.dumps([_text(_named(_parsed(text))) for text in json.load(sys.stdin)]))
