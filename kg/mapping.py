"""Map the names of a graph to the names of a world: propose the map by evidence, save it, rename facts by it.

    proposal = propose(graph, None, entities, relations, facts("train"))
    proposal.map.save("map.toml")
    facts, _ = under_names(graph, None, entities, relations, NameMap.load("map.toml"))

A relation of the graph is matched to a relation of the world by the pairs of entities that both hold, on the world's
training facts alone; spelling only breaks ties.
"""

import json
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from rapidfuzz import fuzz
from scipy import sparse

from gumption.data import InputError
from gumption.data.tables import grouped
from gumption.data.writing import write_text

from .facts import FactTable, NaryRelation, relation_labels, stated_name
from .graph import KnowledgeGraph
from .names import Names, local_name
from .vocabulary import Triple, Vocabulary

INVERSE = "^"  # prefix of a relation's name: subject and object are exchanged, as in a SPARQL path
#: Evidence for a relation: the least number of pairs of training facts, and the least multiple of chance.
FEWEST, LIFT = 5, 3
ROLES = 16  # maximum number of relations tried as roles of n-ary facts: those with the most facts
CROWD = 8  # maximum number of parties of a node in a relation; a node with more, such as a class, is no fact


@dataclass(frozen=True)
class NameMap:
    """Hold a graph's names for the relations and entities of a world that `Names` does not resolve.

    :ivar relations: the world's name -> the graph's name, with the prefix `INVERSE` if inverted.
    :ivar entities: the world's name -> the graph's name, "" if no entity of the graph stands for it.
    :ivar graph: the content hash of the graph; "" for any graph.
    :ivar language: the language of names, see `Names`; "" for none.
    """

    relations: Mapping[str, str] = field(default_factory=dict)
    entities: Mapping[str, str] = field(default_factory=dict)
    graph: str = ""
    language: str = ""

    def save(self, path: Path) -> None:
        """Write the map as TOML."""
        lines = ["# What a graph calls the relations and entities of a world.", f"graph = {_quoted(self.graph)}"]
        lines += [f"language = {_quoted(self.language)}"] if self.language else []
        for mine, called in self.relations.items():
            relation, turned = called.removeprefix(INVERSE), str(called.startswith(INVERSE)).lower()
            lines += ["", f"[relations.{_quoted(mine)}]", f"relation = {_quoted(relation)}", f"inverse = {turned}"]
        lines += ["", "[entities]  # an empty text: none"] if self.entities else []
        lines += [f"{_quoted(mine)} = {_quoted(called)}" for mine, called in self.entities.items()]
        write_text(path, "\n".join(lines) + "\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a map from a file; InputError if the file is no map."""
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
            rows, entities = content.pop("relations", {}), content.pop("entities", {})
            graph, language = content.pop("graph"), content.pop("language", "")
            relations = {mine: INVERSE * row.pop("inverse", False) + row.pop("relation") for mine, row in rows.items()}
            texts = (graph, language, *relations.values(), *entities.values())
            if content or any(rows.values()) or not all(isinstance(text, str) for text in texts):
                raise ValueError("a name that no map has, or a value that is no text")
        except OSError as error:
            raise InputError(f"cannot read the map {path}: {error.strerror}") from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is no map of names: {error}; make one with `gumption kg map`") from None
        return cls(relations, entities, graph, language)

    def check(self, graph: str, path: str, source: str) -> None:
        """:raises InputError: the map is for a graph with another content hash."""
        if self.graph and self.graph != graph:
            raise InputError(
                f"the map {path} is for a graph with the hash {self.graph[:12]}, and {source} has {graph[:12]}: make "
                "one for this graph with `gumption kg map`"
            )


def under_names(
    graph: KnowledgeGraph,
    name: str | None,
    entities: Sequence[str],
    relations: Collection[str],
    given: NameMap | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    weigh: Callable[[Any, str], np.ndarray] | None = None,
) -> tuple[KnowledgeGraph | FactTable, str | None]:
    """Return the graph, or a table of its facts under a world's names if these differ from the graph's names.

    The table leaves out facts with literals. It also holds the facts of a renamed relation under the graph's own name,
    unless the map uses that name for another relation.

    :param name: a named graph; None for all graphs except weights and provenance.
    :param relations: the world's labels of relations.
    :param pairs: (the world's relation, the graph's label, perhaps after `INVERSE`); they override the map.
    :param weigh: as in `FactTable.of`.
    :raises InputError: an ambiguous name in the graph; a name in the map that the graph lacks.
    """
    given = given or NameMap()
    names = Names(graph, name, language=given.language)
    said = {**given.relations, **dict(pairs)}
    try:
        called = names.known(entity for entity in entities if entity not in given.entities)
        kinds = [*names.known((relation for relation in relations if relation not in said), "relation").items()]
    except InputError as error:
        raise InputError(f"{error}, in a map of names (`gumption kg map`)") from None
    called |= {mine: names.entity(label) for mine, label in given.entities.items() if label}
    kinds += pairs
    mapped = given.relations.keys() - dict(pairs).keys()
    for mine in sorted(mapped):
        relation = given.relations[mine].removeprefix(INVERSE)
        kinds.append((mine, given.relations[mine].removesuffix(relation) + names.relation(relation)))
    words = grouped((label, mine) for mine, label in called.items())
    for mine in given.entities:  # the same label in the graph is another thing
        words.setdefault(mine, [])
    if all(label == mine for mine, label in (*called.items(), *kinds)) and all(words.values()):
        return graph, name
    others = {mine for mine, label in kinds if mine in mapped and label != mine}  # in the graph: other relations
    table = FactTable.of(graph, name, weigh)
    literal = np.array([label[0] == '"' for label in table.vocabulary.entities], dtype=bool)
    table = table.only(~literal[table.ids[:, 2]]).relabelled(words)
    labels = table.vocabulary.relations
    more = dict.fromkeys(mine for mine, _ in kinds if mine not in labels)
    table = replace(table, vocabulary=Vocabulary(table.vocabulary.entities, (*labels, *more)))
    parts = [table.only(~table.of_relations(others))]
    for mine, label in kinds:
        if label != mine:
            rows = table.only(table.of_relations((label.removeprefix(INVERSE),)))
            ids = rows.ids[:, [2, 1, 0]] if label.startswith(INVERSE) else rows.ids.copy()
            ids[:, 1] = table.vocabulary.relations.index(mine)
            parts.append(replace(rows, ids=ids))
    return FactTable.joined(parts), None


# ---- A proposal


class Evidence(NamedTuple):
    """The match of a relation of the world in the graph, with its evidence.

    :ivar called: the graph's name of the relation, with the prefix `INVERSE` if inverted; "" for no match.
    :ivar links: the number of pairs of the world's entities that the graph's relation links; `right` of them are among
        the `of` training pairs whose entities the graph has. For a role, these are pairs of parties of a fact.
    :ivar by_name: whether the name is the only evidence.
    """

    called: str
    links: int = 0
    right: int = 0
    of: int = 0
    by_name: bool = False


@dataclass(frozen=True)
class Proposal:
    """A map of names and the evidence for it.

    :ivar evidence: the world's relation or role -> its match.
    :ivar several: the world's entity -> the several entities of the graph with this name; the map leaves it out.
    :ivar known: the number of the world's entities that the graph has; `size`: the number of all of them.
    """

    map: NameMap
    evidence: Mapping[str, Evidence]
    several: Mapping[str, Sequence[str]]
    known: int
    size: int


def propose(
    graph: KnowledgeGraph,
    name: str | None,
    entities: Sequence[str],
    relations: Sequence[str | NaryRelation],
    train: Iterable[Triple],
    language: str = "",
) -> Proposal:
    """Propose a graph's names for a world's relations and entities.

    :param train: the world's training facts, including the nodes of n-ary facts.
    :raises InputError: as `KnowledgeGraph.arrays`.
    """
    names = Names(graph, name, language=language)
    vocabulary, ids = graph.arrays(name)
    found = names.found(entities)
    several = {entity: labels for entity, labels in found.items() if len(labels) > 1}
    known = {entity: labels[0] for entity, labels in found.items() if len(labels) == 1}
    facts = grouped((relation, (subject, object_)) for subject, relation, object_ in train)
    links = _Links.of(vocabulary, ids, known)
    evidence: dict[str, Evidence] = {}
    for relation in relations:
        if isinstance(relation, NaryRelation):
            evidence |= links.roles(relation, facts)
        else:
            mine = stated_name(relation)
            evidence[mine] = links.relation(mine, facts.get(mine, ()), names.matches(mine, "relation"))
    for mine in relation_labels(relations):
        labels = names.matches(mine, "relation")
        if not evidence[mine].called and len(labels) == 1:
            evidence[mine] = evidence[mine]._replace(called=labels[0], by_name=True)
    called = {mine: each.called for mine, each in evidence.items() if each.called}
    named = NameMap(called, dict.fromkeys(several, ""), graph.content_hash(name), language)
    return Proposal(named, evidence, several, len(known), len(entities))


class _Links:
    """The facts of a graph about the W entities of a world that it has.

    :ivar pairs: relation, also with the prefix `INVERSE` -> sorted keys s * W + o of its facts between two of them.
    :ivar parties: relation, likewise -> (things, W) counts of its facts from other things, such as nodes, to entities.
    """

    def __init__(self, place: Mapping[str, int], pairs: Mapping[str, np.ndarray], parties: Mapping[str, Any]) -> None:
        self.place, self.pairs, self.parties = place, pairs, parties

    @classmethod
    def of(cls, vocabulary: Vocabulary, ids: np.ndarray, known: Mapping[str, str]) -> Self:
        """:param known: the world's entity -> the graph's entity."""
        size, things = len(known), len(vocabulary.entities)
        at = {label: number for number, label in enumerate(known.values())}
        word = np.array([at.get(label, -1) for label in vocabulary.entities], dtype=np.int64)
        ids = ids[((word[ids[:, 0]] >= 0) | (word[ids[:, 2]] >= 0))]
        ids = ids[ids[:, 1].argsort(kind="stable")]
        pairs, parties = {}, {}
        for rows in np.split(ids, np.flatnonzero(np.diff(ids[:, 1])) + 1) if len(ids) else ():
            label = vocabulary.relations[rows[0, 1]]
            for name, one, other in ((label, rows[:, 0], rows[:, 2]), (INVERSE + label, rows[:, 2], rows[:, 0])):
                both = (word[one] >= 0) & (word[other] >= 0)
                pairs[name] = np.unique(word[one[both]] * size + word[other[both]])
                node = (word[one] < 0) & (word[other] >= 0)
                node &= np.bincount(one[node], minlength=things)[one] <= CROWD
                parties[name] = sparse.csr_array(
                    (np.ones(node.sum()), (one[node], word[other[node]])), shape=(things, size)
                )
        return cls({entity: number for number, entity in enumerate(known)}, pairs, parties)

    def keys(self, pairs: Iterable[tuple[str, str]]) -> np.ndarray:
        """Return the sorted keys of pairs of the world's entities, without pairs with an entity the graph lacks."""
        at, size = self.place, len(self.place)
        return np.unique([at[one] * size + at[other] for one, other in pairs if one in at and other in at])

    def relation(self, mine: str, train: Iterable[tuple[str, str]], named: Collection[str]) -> Evidence:
        """Return the evidence for a relation of two parties. If no relation has enough, return that of the best
        candidate (one of `named` if the graph has it) without a name."""
        facts = self.keys(train)
        best = max((self._rank(mine, name, links, facts) for name, links in self.pairs.items()), default=None)
        if best is not None and best[0] > 0:
            return _evidence(best[-1], self.pairs[best[-1]], facts)
        candidates = [self.pairs[label] for label in named if label in self.pairs] or [*self.pairs.values()]
        return _evidence("", max(candidates, key=lambda links: np.isin(links, facts).sum(), default=facts[:0]), facts)

    def roles(self, relation: NaryRelation, train: Mapping[str, Iterable[tuple[str, str]]]) -> dict[str, Evidence]:
        """Return the evidence for the roles of an n-ary relation: relations of the graph from a node to the parties."""
        parties = {role: grouped(train.get(role, ())) for role in relation.roles}

        def joined(role: str, other: str) -> np.ndarray:
            by, to = parties[role], parties[other]
            return self.keys((one, two) for node, ones in by.items() for one in ones for two in to.get(node, ()))

        most = sorted(self.parties, key=lambda name: (-self.parties[name].nnz, name))[:ROLES]
        many = {name: self.parties[name] for name in most if self.parties[name].nnz}
        first, facts = relation.subject, joined(relation.subject, relation.object)
        ranked = (
            (*self._rank(first, one, links, facts)[:2], one, other, links)
            for one in many
            for other in many
            if one.removeprefix(INVERSE) != other.removeprefix(INVERSE)
            for links in (self._joined(many[one], many[other]),)
        )
        best = max(ranked, key=lambda row: row[:2], default=None)
        if best is None or best[0] <= 0:
            return {role: Evidence("") for role in relation.roles}
        _, _, one, other, links = best
        found = {first: _evidence(one, links, facts), relation.object: _evidence(other, links, facts)}
        if relation.given != first:
            facts, rest = joined(first, relation.given), [name for name in many if name not in (one, other)]
            third = {name: self._joined(many[one], many[name]) for name in rest}
            ranks = (self._rank(relation.given, name, links, facts) for name, links in third.items())
            last = max(ranks, default=(0.0, 0.0, ""))
            found[relation.given] = _evidence(last[-1], third[last[-1]], facts) if last[0] > 0 else Evidence("")
        return found

    def _joined(self, one: Any, other: Any) -> np.ndarray:
        """Return the sorted keys of the pairs of parties of a common node."""
        pairs = (one.T @ other).tocoo()
        return np.unique(pairs.row.astype(np.int64) * len(self.place) + pairs.col)

    def _rank(self, mine: str, called: str, links: np.ndarray, facts: np.ndarray) -> tuple[float, float, str]:
        """Return the F1 of these links as facts (0 if chance explains it), the similarity of names, and the name."""
        right = np.isin(links, facts).sum()
        chance = len(links) * len(facts) / max(len(self.place), 1) ** 2
        enough = right >= max(min(FEWEST, len(facts)), 2) and right >= LIFT * chance
        label = called.removeprefix(INVERSE)
        like = fuzz.ratio(local_name(label) or label, mine) - called.startswith(INVERSE)
        return (2 * right / (len(links) + len(facts)) if enough else 0.0), like, called


def _evidence(called: str, links: np.ndarray, facts: np.ndarray) -> Evidence:
    return Evidence(called, len(links), int(np.isin(links, facts).sum()), len(facts))


def _quoted(text: str) -> str:
    """Return the text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
