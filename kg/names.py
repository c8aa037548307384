"""Find an entity or a relation of a graph by the name that a person or a world uses.

    names = Names(graph)
    names.entity("fire")                        # "fire", or "http://example.org/e7" with the rdfs:label "fire"
    names.relation("ex:isMadeFrom")             # with prefixes={"ex": "http://example.org/"}

The first of these levels with a match decides:

1. the label itself or its IRI ("fire", "urn:gumption:entity:fire", "http://example.org/e7");
2. a prefixed name, with `PREFIXES` and the caller's prefixes ("schema:Person");
3. the text of rdfs:label, skos:prefLabel or schema:name, in the requested language, else without a language, else in
   any language;
4. the local name of an IRI, after its last "#", "/" or ":", decoded.

Several matches within a level are an error, and so is no match.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Literal
from urllib.parse import unquote

from gumption.data import InputError
from gumption.data.tables import grouped

from .facts import FactTable
from .graph import KnowledgeGraph
from .vocabulary import ENTITY, PREFIXES, RDFS_LABEL, RELATION, SKOS, Vocabulary, iri_to_label, unknown_label

Kind = Literal["entity", "relation"]
OTHER_SCHEMA = "http://schema.org/"  # many files use it instead of https
NAMING = (RDFS_LABEL, SKOS + "prefLabel", PREFIXES["schema"] + "name", OTHER_SCHEMA + "name")
_SPACES = {"entity": ENTITY, "relation": RELATION}
_LITERAL = re.compile(r'"(.*)"(?:@([A-Za-z0-9-]+)|\^\^<.*>)?', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_CONTROL = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_LOCAL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")


class Names:
    """Look up the names of the entities and relations of a graph. The index is built at the first look-up.

    :param source: a graph, its facts, or a vocabulary, which has only labels and local names.
    :param graph: a named graph; only its labels are returned, but their names are read from all named graphs.
    :param language: the preferred language of names, such as "de"; next come names without a language.
    :param prefixes: prefix -> namespace, in addition to `PREFIXES`.
    :param naming: relations from an entity to its names.
    """

    def __init__(
        self,
        source: KnowledgeGraph | FactTable | Vocabulary,
        graph: str | None = None,
        *,
        language: str | None = None,
        prefixes: Mapping[str, str] = MappingProxyType({}),
        naming: Sequence[str] = NAMING,
    ) -> None:
        self._source, self._graph, self._naming = source, graph, naming
        self._language = (language or "").lower()
        self._locals: dict[Kind, dict[str, list[str]]] = {}
        self._prefixes = [*PREFIXES.items(), ("schema", OTHER_SCHEMA), *prefixes.items()]

    def entity(self, name: str) -> str:
        """Return the label of the entity with this name; InputError for none (with near names) or several."""
        return self._one(name, "entity")

    def relation(self, name: str) -> str:
        """Return the label of the relation with this name; InputError as `entity`."""
        return self._one(name, "relation")

    def label(self, name: str, kind: Kind = "entity") -> str:
        """As `entity` or `relation`, but return the name itself if nothing has it, such as after a removal."""
        return self.known([name], kind).get(name, name)

    def known(self, names: Iterable[str], kind: Kind = "entity") -> dict[str, str]:
        """Map each name with a match to its label.

        :raises InputError: several labels for a name.
        """
        found = self.found(names, kind)
        if several := next((name for name, labels in found.items() if len(labels) > 1), None):
            raise InputError(_several(several, kind, found[several]))
        return {name: labels[0] for name, labels in found.items() if labels}

    def found(self, names: Iterable[str], kind: Kind = "entity") -> dict[str, list[str]]:
        """Map each name to its `matches`."""
        self._labels  # noqa: B018  (one read of all labels is faster than a query per name)
        return {name: self.matches(name, kind) for name in names}

    def matches(self, name: str, kind: Kind = "entity") -> list[str]:
        """Return the sorted labels of the first level with a match; an empty list if no level has one."""
        for level in self._levels:
            labels = level(name, kind)
            # An IRI that is also a relation counts as an entity only if nothing else matches.
            if len(labels) > 1 and kind == "entity":
                labels = labels - self._relations or labels
            if labels:
                return sorted(labels)
        return []

    def meanings(self, name: str) -> set[str]:
        """Return the labels of entities that match at any level, in any language."""
        others = {label for _, label in self._by_name.get(name, ()) if label in self._labels["entity"]}
        return others.union(*(level(name, "entity") for level in self._levels))

    def spellings(self) -> dict[str, str]:
        """Map each name that `entity` resolves to its entity, except literals, blank nodes and IRIs of relations."""
        found = {label: label for label in self._labels["entity"] if not label.startswith(('"', "_:", "<<("))}
        iris = {label for label in found if _is_foreign(label)}
        found = {label: label for label in found.keys() - iris}
        iris -= self._relations
        for name in {*self._by_name, *self._by_local("entity")} - found.keys():
            labels = self.matches(name)
            if len(labels) == 1 and labels[0] in iris:
                found[name] = labels[0]
        return found

    def _one(self, name: str, kind: Kind) -> str:
        labels = self.matches(name, kind)
        if len(labels) > 1:
            raise InputError(_several(name, kind, labels))
        if not labels:
            known = {label for label in self._labels[kind] if not label.startswith('"')}.union(self._by_local(kind))
            known.update(text for text, rows in self._by_name.items() if any(self._is(row[1], kind) for row in rows))
            raise InputError(unknown_label(kind, name, sorted(known)))
        return labels[0]

    # ---- the levels

    @property
    def _levels(self) -> tuple[Callable[[str, Kind], set[str]], ...]:
        return self._exact, self._prefixed, self._called, self._local

    def _exact(self, name: str, kind: Kind) -> set[str]:
        if self._is(name, kind):
            return {name}
        iri = name[1:-1] if name.startswith("<") and name.endswith(">") else name
        label = iri_to_label(iri, _SPACES[kind]) if ":" in iri and not iri.startswith(('"', "_:", "<(")) else ""
        return {label} if label and self._is(label, kind) else set()

    def _prefixed(self, name: str, kind: Kind) -> set[str]:
        prefix, mark, local = name.partition(":")
        iris = [space + local for known, space in self._prefixes if mark and known == prefix]
        return set().union(*(self._exact(iri, kind) for iri in iris))

    def _called(self, name: str, kind: Kind) -> set[str]:
        rows = self._by_name.get(name, ())
        if kind == "relation" or self._graph is not None:  # else: a subject of the graph
            rows = [row for row in rows if row[1] in self._labels[kind]]
        best = min((rank for rank, _ in rows), default=0)
        return {label for rank, label in rows if rank == best}

    def _local(self, name: str, kind: Kind) -> set[str]:
        return set(self._by_local(kind).get(name, ()))

    # ---- the index; each part is built when it is first needed

    def _is(self, label: str, kind: Kind) -> bool:
        """Return whether the graph has this label, without reading a whole graph for a single look-up."""
        source = self._source
        if kind == "relation":
            return label in self._relations
        if not isinstance(source, KnowledgeGraph) or "_labels" in self.__dict__:
            return label in self._labels["entity"]
        if not label.startswith('"') and next(source.triples(subject=label, graph=self._graph), None):
            return True
        return next(source.triples(object=label, graph=self._graph), None) is not None

    @cached_property
    def _labels(self) -> dict[str, frozenset[str]]:
        source = self._source
        vocabulary = source if isinstance(source, Vocabulary) else source.arrays(self._graph)[0]
        return {"entity": frozenset(vocabulary.entities), "relation": frozenset(vocabulary.relations)}

    @cached_property
    def _relations(self) -> frozenset[str]:
        source = self._source
        if not isinstance(source, KnowledgeGraph) or "_labels" in self.__dict__ or self._graph is not None:
            return self._labels["relation"]
        return frozenset(row["r"] for row in source.query("SELECT DISTINCT ?r { ?s ?r ?o }"))

    @cached_property
    def _by_name(self) -> dict[str, set[tuple[int, str]]]:
        """Map each text to pairs (rank of its language, label) of the entities and relations with this name."""
        found: defaultdict[str, set[tuple[int, str]]] = defaultdict(set)
        if isinstance(self._source, Vocabulary):
            return found
        for relation in self._naming:
            for label, _, object_ in self._source.triples(relation=relation):
                text, language = text_of(object_)
                is_asked = bool(self._language) and f"{language}-".startswith(f"{self._language}-")
                found[text].add((0 if is_asked else 1 if not language else 2, label))
        return dict(found)

    def _by_local(self, kind: Kind) -> dict[str, list[str]]:
        """Map each local name to its labels."""
        if kind not in self._locals:
            labels = self._labels["entity"] if kind == "entity" else self._relations
            self._locals[kind] = grouped((name, label) for label in labels if (name := local_name(label)))
        return self._locals[kind]


def text_of(label: str) -> tuple[str, str]:
    """Return the text of a literal and its language ("" for none); any other label is a text without a language."""
    if label.startswith('"') and label.find('"', 1) == len(label) - 1 > 0 and "\\" not in label:
        return label[1:-1], ""  # the common case
    match = _LITERAL.fullmatch(label) if label.startswith('"') else None
    if match is None:
        return label, ""
    text = _ESCAPE.sub(_unescaped, match[1]) if "\\" in match[1] else match[1]
    return text, (match[2] or "").lower()


def local_name(label: str) -> str:
    """Return the part of a foreign IRI after its last "#", "/" or ":", decoded; "" for any other label."""
    return unquote(re.split("[#/:]", label.rstrip(">"))[-1]) if _is_foreign(label) else ""


def prefixed(label: str) -> str:
    """Shorten an IRI with its prefix in `PREFIXES`, for tables; return any other label unchanged."""
    for prefix, namespace in PREFIXES.items():
        if label.startswith(namespace) and _LOCAL.fullmatch(label, len(namespace)):
            return f"{prefix}:{label.removeprefix(namespace)}"
    return label


def _is_foreign(label: str) -> bool:
    return label.startswith(("http://", "https://", "urn:", "<")) and not label.startswith("<<(")


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _CONTROL.get(match[3], match[3])


def _several(name: str, kind: Kind, labels: Sequence[str]) -> str:
    few = ", ".join(labels[:3]) + ", ..." * (len(labels) > 3)
    kinds = "entities" if kind == "entity" else "relations"
    return f"{name!r} names {len(labels):,} {kinds}, {few}: give the IRI of the one that is meant"
