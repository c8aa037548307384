"""Knowledge of a run: from the source in `--kg` to the scores that guide a policy, in every world; saved with the run.

    source (graph, model, rules, the world's own part) -> FactTable -> StatedFacts -> look-up or fit -> RelationScores
        -> Advice -> logits

A predictor of `gumption kg fit` or of PyKEEN needs no facts. A second graph (`--kg-beside`) is looked up, in addition
to fitted scores. Its facts are scored on the same scale: the log of how much likelier a training fact is in the graph
than by chance. A second graph without relations of the world feeds the fits instead (see outside.py).
"""

import hashlib
import json
import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gumption.data import InputError, Note
from gumption.data.sealed import damaged, read_sealed, write_sealed
from gumption.envs.worlds import World
from gumption.kg import KnowledgeGraph, NaryRelation, WordVectors, load_predictor
from gumption.kg.checkpoint import checkpoint_hash, has_checkpoint, load_checkpoint, pick_device, save_checkpoint
from gumption.kg.facts import FactTable, relation_labels, relation_name, stated_name
from gumption.kg.graph import open_graph, shipped_graph
from gumption.kg.leaks import Fact, Leaks, count_leaks, count_marked
from gumption.kg.links.nary_predictor import PairPredictor
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.mapping import INVERSE, NameMap, under_names
from gumption.kg.names import Names
from gumption.kg.scores import VERSION, HeldOut, KnownFacts, PairProducts, PairTable, RelationScores, Repeats
from gumption.kg.sources.weights import add_weighted, fact_weights
from gumption.kg.vocabulary import LINKS, unknown_label

from .advice import (
    BINARY,
    Advice,
    Relation,
    StatedFacts,
    edge_scores,
    lacking,
    marked_repeats,
    names_of,
    planner_of,
    predictor_scores,
    produced_by,
    scored_relations,
)
from .fits import Fits
from .settings import CHANNELS, EDGES, FED, OWN, WORDS, KnowledgeConfig, Repeat, place_name

if TYPE_CHECKING:
    from gumption.kg.planning import Planner

    from .outside import Outside

GRAPH, SCORES = "graph.nq", "scores.json"
VECTORS = "gumption/word-vectors/1"  # kind of a checkpoint
#: Replaces the count of leaks if a predictor or rules do not record their training facts.
NOT_KNOWN = "not known"
#: Fields of `Knowledge` that a run saves as JSON; predictors, facts and vectors are saved separately.
KEPT = ("relations", "weights", "names", "unknown", "calibrated", "about", "certain", "beside", "repeats", "kinds")


class UnknownEntities(Note):
    """Some entities of the world are not in the graph, or some of the graph are not in the world."""


class LeakedFacts(Note):
    """A graph or a predictor's training facts contain facts of the world's test part, the answers."""


@dataclass(eq=False)
class Request:
    """A run's request for knowledge: its config and its world.

    :ivar entities, relations: of the world's environment.
    :ivar played: settings of the environment on which the world's facts depend.
    :ivar word_vectors: a file, for fits of relations of three parties; None for the shipped vectors.
    :ivar of_rules, of_model: whether the source is a file of rules, which are applied to the world's own facts, or a
        link predictor; `own`, whether the facts are the world's own.
    :ivar channels: kinds of edge channels that replace relations; `weigh` then computes the weights of their facts.
    :ivar wanted: the relations named in the config; empty if the knowledge decides.
    """

    config: KnowledgeConfig
    world: World
    entities: tuple[str, ...]
    relations: Sequence[Relation]
    played: Mapping[str, Any]
    word_vectors: str | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        """:raises InputError: scores of a relation that the world does not have."""
        source = self.config.kg
        self.of_rules = source.endswith(".json") and Path(source).is_file()
        self.own, self.of_model = source in OWN or self.of_rules, source not in OWN and has_checkpoint(Path(source))
        self.channels = set(CHANNELS).intersection(self.config.kg_scores)
        self.weigh = fact_weights if self.channels else None
        names = () if self.channels else self.config.kg_scores
        self.wanted = [relation for name in names for relation in _of_name(name, self.relations)]

    @cached_property
    def test(self) -> Collection[Fact] | None:
        """The facts of the world's test part; empty if its split has none, None in a world without facts."""
        if self.world.get("facts") is None:
            return None
        try:
            return self.world.asked(**self.played)
        except InputError:
            return frozenset()

    @property
    def train(self) -> list[Fact]:
        """The world's training facts; empty in a world without facts."""
        return [] if self.world.get("facts") is None else [*self.world.facts("train", **self.played)]

    def learned(
        self,
        trained_on: np.ndarray | None,
        names: Mapping[str, str],
        entities: Mapping[str, str] = MappingProxyType({}),
        source: str | None = None,
    ) -> dict[str, int] | str:
        """Count the test facts that a predictor or mined rules were trained on, or return `NOT_KNOWN`; warn of any.

        :param names, entities: the world's name of a relation or an entity -> its name in the training facts, under
            which a fact counts too.
        """
        called = {
            fact: _as_called(fact, names.get(fact[1], fact[1]), entities) for fact in self.test or () if len(fact) == 3
        }
        leaks = count_marked(trained_on, self.test or (), called)
        if leaks is None:
            return NOT_KNOWN
        warn_of_leaks(source or self.config.kg, leaks._asdict(), "was trained on")
        return leaks._asdict()


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Scores for the choices of a world, and their source: looked-up facts, link predictors, or both.

    :ivar relations: the names of the scored relations.
    :ivar scores: `RelationScores` or `EdgeScores`, computed from the other fields.
    :ivar facts: looked up; None if only predictors score.
    :ivar weights: looked-up relation -> the score of a fact.
    :ivar predictors, names, unknown, calibrated: see `predictor_scores`. Unknown entities are those without facts and,
        where words describe entities, those without a vector.
    :ivar about: for a run's manifest: "source", the sha256 (hex) of "graph" or "predictor", and "by", the kind of
        scores. For a source other than the world's own facts also the number of "test_facts" that it contains, entails
        or was trained on, or "not known".
    :ivar fits: the fitted facts, and the predictors of all or part of them; None without a fit.
    :ivar certain: relation of three parties -> its fitted facts (subject, given, object); look-ahead prefers them to
        the predictor's scores of the same pair.
    :ivar beside: the facts between two of the world's entities in a graph that feeds the fits.
    :ivar repeats: relation -> the pairs (thing, object) of the facts that use a thing twice; see `RelationScores`.
    :ivar kinds: "edges" and "words", if the scores are such channels; `facts` are then the edges, and `words` the
        vector of each entity.
    """

    relations: Sequence[str]
    scores: Any = None
    facts: FactTable | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    predictors: Mapping[str, LinkPredictor] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    unknown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    calibrated: bool = True
    about: dict[str, Any] = field(default_factory=dict)
    fits: Fits | None = None
    certain: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    beside: Sequence[Fact] = ()
    repeats: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    kinds: Sequence[str] = ()
    words: Mapping[str, np.ndarray] = field(default_factory=dict)
    _planners: dict[tuple[str, ...], "Planner"] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls,
        config: KnowledgeConfig,
        world: World,
        vocabulary: Sequence[str],
        relations: Sequence[Relation],
        played: Mapping[str, Any] | None = None,
        *,
        word_vectors: str | None = None,
        device: str = "cpu",
        kept: Path | None = None,
    ) -> "Knowledge":
        """Build the knowledge that a run's config names.

        :param vocabulary: of the world's environment; `relations` too.
        :param played: settings of the environment, on which the world's facts may depend.
        :param word_vectors: a file, for fits of relations of three parties; None for the shipped vectors.
        :param kept: folder of the saved knowledge of a resumed run, which is loaded if a source no longer exists.
        :raises InputError: a source that does not exist or does not fit the world; relations that it does not have.
        """
        named = (config.kg, config.kg_map, config.kg_beside)
        places = [place for place in named if place is not None and place not in OWN]
        there = all("://" in place or Path(shipped_graph(place.partition("#")[0])).exists() for place in places)
        if not there and kept is not None and (kept / SCORES).is_file():
            return cls.load(kept, vocabulary, relations, device)
        given = tuple(vocabulary[1:]), relations, world.played(played or {}), word_vectors, device
        request = Request(config, world, *given)
        two = config.kg_beside is not None or config.kg_sources
        made = cls._of_two(request) if two else cls._of_source(request)
        return made if made.kinds else replace(made, scores=made._scores(vocabulary, relations, device))

    @classmethod
    def _of_source(cls, request: Request, outside: "Outside | None" = None) -> "Knowledge":
        """Build the knowledge of one source, without scores. :param outside: further sources of its fits."""
        source = request.config.kg
        if not source:
            raise InputError("kg is empty; name a graph, a model or a file of rules, or take train, full or none")
        if not request.of_model:
            inputs = request, *read_facts(request)
            return cls._of_edges(*inputs) if request.channels else cls._of_facts(*inputs, outside)
        if request.channels:
            raise InputError(f"{source} is a predictor, and kg_scores takes the edges of a graph: name a graph")
        if outside is not None:
            raise InputError(f"{source} is a predictor that is fitted already: {_FEEDS}")
        return cls._of_predictor(request)

    @classmethod
    def _of_two(cls, request: Request) -> "Knowledge":
        """Build the knowledge of fitted facts and a second graph. The graph feeds the fits if sources are named or if
        it has no relation of the world, even under other names or by rules; otherwise it is looked up."""
        from .outside import Outside

        config, place = request.config, request.config.kg_beside
        own, other = (replace(request, config=one) for one in config.apart())
        if place is None:
            return cls._of_source(own, Outside(config.kg_sources))
        if other.own or other.of_model:
            if config.kg_sources:
                raise InputError(f"kg_beside is {place}: kg_sources takes a graph of other facts than the world's")
            return cls._of_source(own)._with(cls._of_source(other), request)
        facts, about = read_facts(other)
        renamed = config.kg_rules or config.kg_relations or config.kg_map
        states = facts.of_relations(relation_labels(request.relations)).any()
        if not config.kg_sources and (renamed or states):
            return cls._of_source(own)._with(cls._of_facts(other, facts, about), request)
        kept = facts.about({*request.entities})
        if not len(kept.ids):
            raise InputError(f"{place}: none of its facts is about one of the world's {len(request.entities)} entities")
        if request.test is not None:
            linked = _linked(request.test, {fact[::2] for fact in kept.triples()})
            about["linked_test_facts"] = Leaks(linked, len(request.test))._asdict()
        return cls._of_source(own, Outside(config.kg_sources or FED, kept, about))

    @classmethod
    def _of_edges(cls, request: Request, facts: FactTable, about: dict[str, Any]) -> "Knowledge":
        kinds, entities = request.config.kg_scores, request.entities
        near = facts.about({*entities}) if EDGES in kinds else facts.only(np.zeros(0, dtype=np.int64))
        facts = near if len(near.ids) or EDGES not in kinds else facts  # all facts, for the error message
        candidates = {label for fact in request.train for label in fact[::2]} or None
        vectors = WordVectors.load(request.word_vectors).guessed_vectors(entities)[0] if WORDS in kinds else None
        scores = edge_scores(facts, entities, kinds, candidates=candidates, vectors=vectors, device=request.device)
        about |= {"by": "edges", "facts": len(facts.ids), "edges": [*scores.edges], "left_out": [*scores.left_out]}
        if EDGES in kinds and scores.known < len(entities):
            text = f"{about['source']}: the graph knows {scores.known} of the world's {len(entities)} entities"
            warnings.warn(text, UnknownEntities, stacklevel=3)
        if scores.left_out:
            text = f"{about['source']}: the {len(scores.edges)} relations that link most things are channels, not"
            warnings.warn(f"{text} {', '.join(scores.left_out)}", UnknownEntities, stacklevel=3)
        words = {} if scores.vectors is None else dict(zip(entities, scores.vectors, strict=True))
        return cls(scores.relations, scores, facts, about=about, kinds=tuple(kinds), words=words)

    @classmethod
    def _of_facts(
        cls, request: Request, facts: FactTable, about: dict[str, Any], outside: "Outside | None" = None
    ) -> "Knowledge":
        """Build the knowledge of facts under the world's names, looked up or fitted."""
        config, source = request.config, request.config.kg
        stated = StatedFacts.of(facts, request.entities, request.relations)
        if not request.own and stated.report:
            warnings.warn(f"{source}: {stated.report}", UnknownEntities, stacklevel=2)
        chosen = _chosen(request.wanted, stated, source)
        about["facts"] = len(stated.ids) + sum(map(len, stated.rows.values()))
        fit = config.kg_fit if config.kg_fit is not None else request.own and request.world.fitted
        about["by"] = "fit" if fit else "look-up"
        if outside is not None:
            if not fit or not any(isinstance(relation, NaryRelation) for relation in chosen):
                raise InputError(f"{source}: {_FEEDS}: add kg_fit=True (--kg-fit), and a graph of such facts")
            about |= {"sources": outside.sources} | ({"beside": outside.about} if outside.about else {})
        if fit:
            _refuse_unread(config, *chosen)
            return cls._fitted(request, stated, chosen, about, outside)
        if not config.kg_calibrated:
            raise InputError("raw scores are a link predictor's; a graph that is looked up has none: add kg_fit=True")
        _refuse_unread(config)
        names = [*map(relation_name, chosen)]
        kept = replace(facts, ids=facts.ids[facts.of_relations(relation_labels(chosen))])
        repeats = _in_words(stated.repeats, request.entities)
        return cls(names, facts=kept, weights=dict.fromkeys(names, 1.0), about=about, repeats=repeats)

    @classmethod
    def _fitted(
        cls,
        request: Request,
        stated: StatedFacts,
        relations: Sequence[Relation],
        about: dict[str, Any],
        outside: "Outside | None",
    ) -> "Knowledge":
        names, entities = list(map(relation_name, relations)), request.entities
        if not request.config.kg_calibrated and all(isinstance(relation, NaryRelation) for relation in relations):
            raise InputError(
                f"only scores of two parties can be raw; those of {', '.join(names)} are log-ratios always"
            )
        given = stated, request.config, request.word_vectors, request.device
        fits = Fits(*given) if outside is None else outside.fits(*given)
        predictors = dict[str, LinkPredictor]()
        for relation in relations:
            if isinstance(relation, NaryRelation):
                predictors[relation.name] = fits.nary(relation.name)
            elif BINARY not in predictors:
                predictors[BINARY] = fits.complex()
        of_no_vector: tuple[str, ...] = ()
        if set(predictors) - {BINARY}:
            vectors, of_no_vector = fits.words
            mine = np.ascontiguousarray(vectors[: len(entities)], dtype=np.float32)
            about["word_vectors"] = hashlib.sha256(mine.tobytes()).hexdigest()
        unknown = {
            name: [label for label in stated.unknown if name == BINARY or label in of_no_vector] for name in predictors
        }
        words = {*entities}
        beside = () if outside is None else {fact for fact in outside.facts.triples() if words.issuperset(fact[::2])}
        return cls(
            names,
            predictors=predictors,
            unknown=unknown,
            calibrated=request.config.kg_calibrated,
            about=about,
            fits=fits,
            certain={
                relation.name: [[entities[i - 1] for i in row] for row in stated.world_rows(relation).tolist()]
                for relation in relations
                if isinstance(relation, NaryRelation)
            },
            beside=sorted(beside),
            repeats=_in_words(stated.repeats, entities),
        )

    def _with(self, other: "Knowledge", request: Request) -> "Knowledge":
        """Join these fitted scores with the scores of a looked-up graph."""
        if self.facts is not None or other.facts is None:
            raise InputError(
                "kg_beside names a graph that is looked up beside fitted scores: two graphs that are looked up are put "
                "into one (gumption kg load), and of two that are fitted one has its own run"
            )
        if both := set(self.relations).intersection(other.relations):
            raise InputError(f"kg and kg_beside both score {', '.join(sorted(both))}: name others with kg_scores")
        train, weights = request.train, {}
        for relation in other.relations:
            linked = {(s, o) for s, _, o in other.facts.triples(relation=relation)}
            weights[relation] = _lift(linked, {(s, o) for s, r, o in train if r == relation}, request.entities)
        about = {**self.about, "beside": {**other.about, "weights": weights}}
        repeats = {**other.repeats, **self.repeats}
        # Facts of three parties include the product: if there are any, use only these.
        whole = {one.name: repeats[one.name] for one in request.world.get("nary") or () if one.name in repeats}
        relations = *self.relations, *other.relations
        more = {"weights": weights, "about": about, "repeats": whole or repeats}
        return replace(self, relations=relations, facts=other.facts, **more)

    @classmethod
    def _of_predictor(cls, request: Request) -> "Knowledge":
        config, source, relations, entities = request.config, request.config.kg, request.relations, request.entities
        if config.kg_fit is not None or config.kg_map is not None or config.kg_rules is not None:
            raise InputError(f"{source} is a link predictor: kg_fit and kg_rules are for graphs, and so is kg_map")
        _refuse_unread(config)
        predictor = load_predictor(source, request.device)
        nary = isinstance(predictor, PairPredictor)
        if nary and config.kg_relations:
            raise InputError(
                f"{source} predicts facts of three parties, which have no other names: leave out kg_relations"
            )
        known, found = predictor.vocabulary.relations, Names(predictor.vocabulary)
        names = names_of(predictor, relations)
        ours = relation_labels(r for r in relations if isinstance(r, str))
        names |= _called(config.kg_relations, ours, found, "predictor")
        wanted = request.wanted
        has = scored_relations(predictor, wanted or relations, names)
        lacks = [name for name in map(relation_name, wanted or relations) if name not in has]
        if not has or (wanted and lacks):
            lacked = names.get(stated_name(lacks[0]), stated_name(lacks[0])).removeprefix(INVERSE)
            raise InputError(f"the predictor {source}: {unknown_label('relation', lacked, known)}")
        about: dict[str, Any] = {"source": place_name(source), "predictor": checkpoint_hash(source), "by": "predictor"}
        if request.test is not None:
            about["test_facts"] = request.learned(predictor.trained_on, names, found.known(entities))
        if report := lacking(predictor, entities):
            warnings.warn(f"{source}: {report}", UnknownEntities, stacklevel=3)
        repeats = _in_words(marked_repeats(predictor, entities, relations, names), entities)
        more = {"names": names, "calibrated": config.kg_calibrated, "about": about, "repeats": repeats}
        return cls(has, predictors={has[0] if nary else BINARY: predictor}, **more)

    def advice(
        self,
        vocabulary: Sequence[str],
        relations: Sequence[Relation],
        *,
        look_ahead: bool = False,
        repeat: Repeat = "rule",
    ) -> Advice:
        """Return advice for an environment with this vocabulary, with its own training mode.

        :param look_ahead, repeat: see `Advice`.
        :raises InputError: look-ahead without a relation of three parties.
        """
        if tuple(vocabulary[1:]) == self.scores.entities:
            scores = self.scores if self.kinds else self.scores.twin()
        else:
            scores = self._scores(vocabulary, relations, str(self.scores.device))
        if look_ahead and tuple(vocabulary) not in self._planners:
            self._planners[tuple(vocabulary)] = self._planner(scores, vocabulary, relations)
        planner = look_ahead and self._planners[tuple(vocabulary)]
        return Advice(scores, vocabulary, relations, look_ahead=planner, beside=self.beside, repeat=repeat)

    def produces(self, relation: str, uses: int) -> bool:
        """Return whether the scorer of a relation allows look-ahead over this number of its uses."""
        from gumption.kg.planning import MOST_ON_THE_FLY

        scorer = dict(zip(self.scores.relations, self.scores.scorers, strict=True)).get(relation)
        on_the_fly = isinstance(scorer, PairProducts) and uses <= MOST_ON_THE_FLY
        return on_the_fly or isinstance(scorer, KnownFacts | PairTable | HeldOut)

    def _planner(self, scores: RelationScores, vocabulary: Sequence[str], relations: Sequence[Relation]) -> "Planner":
        name = produced_by(relations)
        ids = {label: i for i, label in enumerate(vocabulary)}
        rows = [[ids[label] for label in fact] for fact in self.certain.get(name, ()) if ids.keys() >= set(fact)]
        facts = np.array(rows, dtype=np.int64).reshape(-1, 3)
        # "full" has all facts of the world: no other recipe exists.
        return planner_of(scores, name, facts, complete=self.about.get("source") == "full")

    def _scores(self, vocabulary: Sequence[str], relations: Sequence[Relation], device: str) -> Any:
        """Compute the scores for an environment with this vocabulary."""
        entities = vocabulary[1:]
        if self.kinds:
            assert self.facts is not None
            none = np.zeros_like(next(iter(self.words.values()), np.zeros(0)))
            vectors = np.stack([self.words.get(label, none) for label in entities]) if self.words else None
            edges = self.about["edges"]
            return edge_scores(self.facts, entities, self.kinds, edges=edges, vectors=vectors, device=device)
        scorers: dict[str, torch.nn.Module] = {}
        by_name = {relation_name(relation): relation for relation in relations}
        if looked_up := [by_name[name] for name in self.relations if name in self.weights]:
            assert self.facts is not None
            stated = StatedFacts.of(self.facts, entities, looked_up)
            found = stated.look_up(stated.relations, pick_device(device))
            for name, scorer in zip(found.relations, found.scorers, strict=True):
                assert isinstance(scorer, KnownFacts)
                scorers[name], scorer.weight = scorer, self.weights[name]
        if fitted := [name for name in self.relations if name not in self.weights]:
            more: dict[str, Any] = {"calibrated": self.calibrated, "names": self.names, "unknown": self.unknown}
            found = predictor_scores(self.predictors, entities, fitted, **more, device=device)
            scorers |= zip(found.relations, found.scorers, strict=True)
        ids = {label: i for i, label in enumerate(vocabulary)}
        repeats = {}
        for name, pairs in self.repeats.items():
            rows = [(ids[thing], ids[object_]) for thing, object_ in pairs if thing in ids and object_ in ids]
            repeats[name] = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return RelationScores(entities, {name: scorers[name] for name in self.relations}, repeats)

    def save(self, folder: Path) -> None:
        """Save the looked-up facts and the predictors, so that the run can be evaluated without the source."""
        folder.mkdir(parents=True, exist_ok=True)
        graph = None if self.facts is None else graph_of(self.facts)
        if graph is not None:
            graph.save(folder / GRAPH)
        for name, predictor in self.predictors.items():
            predictor.save(folder / name)  # pyright: ignore[reportAttributeAccessIssue]
        if self.words:
            tensors = {"vectors": torch.from_numpy(np.stack([*self.words.values()]))}
            save_checkpoint(folder / WORDS, tensors, {"kind": VECTORS, "entities": [*self.words]})
        kept = {name: getattr(self, name) for name in KEPT} | {"version": VERSION, "predictors": [*self.predictors]}
        write_sealed(folder / SCORES, kept | {"graph": None if graph is None else graph.content_hash()})

    @classmethod
    def load(
        cls, folder: Path, vocabulary: Sequence[str], relations: Sequence[Relation], device: str = "cpu"
    ) -> "Knowledge":
        """Load the knowledge that `save` wrote, for an environment with this vocabulary.

        :raises InputError: knowledge that is missing, damaged, of other entities, or of another version of the scores.
        """
        said = read_sealed(folder / SCORES, missing="the run has no such knowledge: it is damaged, or older")
        try:
            if said.get("version") != VERSION:
                raise InputError(f"{folder}: the scores of an older gumption mean something else; train again")
            predictors = {name: load_predictor(folder / name, device) for name in said["predictors"]}
            parts, hash_ = {name: said[name] for name in KEPT}, said["graph"]
            parts["beside"] = [tuple(fact) for fact in said["beside"]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{folder}: not the knowledge of a run ({error})") from None
        graph = None if hash_ is None else KnowledgeGraph.load(folder / GRAPH)
        if graph is not None and graph.content_hash() != hash_:
            damaged(folder / GRAPH, f"these are not the facts that {SCORES} tells of")
        facts = None if graph is None else FactTable.of(graph, None, fact_weights if parts["kinds"] else None)
        tensors, named = load_checkpoint(folder / WORDS, VECTORS) if WORDS in parts["kinds"] else ({}, {})
        words = dict(zip(named["entities"], tensors["vectors"].numpy(), strict=True)) if named else {}
        kept = cls(**parts, facts=facts, predictors=predictors, words=words)
        return replace(kept, scores=kept._scores(vocabulary, relations, device))


def graph_of(facts: FactTable) -> KnowledgeGraph:
    """Return a graph in memory with these facts, and their strengths, if any, as weights."""
    graph, triples = KnowledgeGraph(), facts.vocabulary.ids_to_triples(facts.ids)
    if facts.strengths is None:
        graph.add(triples, graph="stated")
    else:
        add_weighted(graph, triples, facts.strengths.tolist(), "stated")
    return graph


def _in_words(repeats: Repeats, labels: Sequence[str]) -> dict[str, Any]:
    """Convert repeats from env ids to pairs of labels."""
    return {
        name: [(labels[thing - 1], labels[object_ - 1]) for thing, object_ in rows.tolist()]
        for name, rows in repeats.items()
    }


# ---- leaks


def warn_of_leaks(source: str, leaks: Mapping[str, int], verb: str = "states") -> None:
    """Warn if a graph, or the training facts of a predictor, contain test facts."""
    if leaks["stated"]:
        text = f"{source} {verb} {leaks['stated']:,} of the {leaks['of']:,} facts of the test: success there is no"
        warnings.warn(f"{text} proof that the agent infers them", LeakedFacts, stacklevel=3)


def _as_called(fact: Fact, name: str, entities: Mapping[str, str]) -> Fact:
    """Rename the parties and the relation of a fact; swap the parties if the name begins with `INVERSE`."""
    subject, object_ = (entities.get(party, party) for party in fact[::2])
    return (object_, name.removeprefix(INVERSE), subject) if name.startswith(INVERSE) else (subject, name, object_)


# ---- from a source to facts


def read_facts(request: Request) -> tuple[FactTable, dict[str, Any]]:
    """Read a source's facts under the world's names, add those that rules entail, and describe them for a manifest.

    :raises InputError: a source that does not exist; names or rules that do not fit it.
    """
    config, source, own = request.config, request.config.kg, request.own
    rules = source if request.of_rules else config.kg_rules and _rules_file(config.kg_rules, request.world)
    if own and config.kg_map is not None:
        raise InputError(f"kg_map is for a graph of your own, and kg is {source}: leave it out")
    part = OWN.get(source, "train")
    graph, name = (_own_graph(request.world, part, request.played), None) if own else open_graph(source)
    about: dict[str, Any] = {"source": place_name(source)}
    with graph:
        about["graph"] = graph.content_hash(name)
        named = _named(request, graph, name, about) if not own or config.kg_relations else (graph, name)
        if not own and request.test is not None:
            about["test_facts"] = count_leaks(*named, request.test or (), request.world.get("nary") or ())._asdict()
            warn_of_leaks(source, about["test_facts"])
        links = () if own else [fact for link in LINKS.values() for fact in named[0].triples(relation=link)]
        facts = FactTable.of(*named, request.weigh)
    if links:
        facts = facts.about({*request.entities}, links)
    if config.kg_shuffled is not None:
        about["shuffled"] = config.kg_shuffled
        order = np.random.Generator(np.random.PCG64(config.kg_shuffled)).permutation(len(request.entities))
        others = [(request.entities[place],) for place in order.tolist()]
        facts = facts.relabelled(dict(zip(request.entities, others, strict=True)))
    return (facts if rules is None else _entailed(request, facts, rules, about)), about


def _entailed(request: Request, facts: FactTable, file: str, about: dict[str, Any]) -> FactTable:
    """Add the facts that a file of rules entails; in a table with strengths, with their confidences."""
    from gumption.kg import infer, read_rules
    from gumption.kg.rules.horn import rules_to_json
    from gumption.kg.rules.mining import mined_from

    rules, graph = read_rules(file), graph_of(replace(facts, strengths=None))
    inferred = infer(graph, rules, None, "entailed")
    if inferred.entailed:
        vocabulary, ids = graph.arrays("entailed")
        sure, uncertain = np.ones(len(ids), dtype=np.float32), dict(inferred.uncertain)
        if uncertain:
            sure[:] = [uncertain.get(fact, 1.0) for fact in vocabulary.ids_to_triples(ids)]
        more = FactTable(vocabulary, ids, None if facts.strengths is None else sure)
        facts = FactTable.joined([facts, more])
    hash_ = hashlib.sha256(json.dumps(rules_to_json(rules)).encode()).hexdigest()
    about["rules"] = {"file": Path(file).name, "sha256": hash_, "entailed": inferred.entailed}
    if request.test is not None:
        names = dict(request.config.kg_relations)
        about["rules"]["test_facts"] = request.learned(mined_from(file), names, source=file)
        if not request.own:
            leaks = count_leaks(facts, None, request.test or (), request.world.get("nary") or ())
            about["rules"]["entailed_test_facts"] = leaks._asdict()
    return facts


def _own_graph(world: World, part: str, given: Mapping[str, Any]) -> KnowledgeGraph:
    """Return a graph in memory with a part of the world's own facts."""
    if world.get("facts") is None:
        raise InputError(f"the world {world.name!r} states no facts: give a graph of your own")
    graph = KnowledgeGraph()
    if (nodes := world.get("node_facts")) is not None:
        graph.add(nodes(partition=part, **given), graph=f"{world.name}/{part}{world.nodes[0]}")
    graph.add(world.facts(part, **given), graph=f"{world.name}/{part}")
    return graph


def _named(
    request: Request, graph: KnowledgeGraph, name: str | None, about: dict[str, Any]
) -> tuple[KnowledgeGraph | FactTable, str | None]:
    """Rename a graph to the world's names, by the config's map and names of relations.

    :param about: description of the graph for a manifest; the hash of the map is added.
    :raises InputError: as `under_names`; a map of another graph.
    """
    config, labels, given = request.config, relation_labels(request.relations), NameMap()
    if config.kg_map is not None:
        given = NameMap.load(Path(config.kg_map))
        given.check(about["graph"], config.kg_map, about["source"])
        about["map"] = hashlib.sha256(Path(config.kg_map).read_bytes()).hexdigest()
    pairs = _called(config.kg_relations, labels, Names(graph, name, language=given.language), "graph")
    called = {mine: label for mine, label in given.relations.items() if mine in labels}
    entities = {entity: label for entity, label in given.entities.items() if entity in request.entities}
    given = replace(given, relations=called, entities=entities)
    return under_names(graph, name, request.entities, labels, given, pairs, request.weigh)


def _rules_file(rules: str, world: World) -> str:
    """Return a file of rules: `rules` itself, or the world's shipped rules of this name."""
    import gumption.envs

    own = {
        path.name.partition(".")[0]: path for path in Path(gumption.envs.__path__[0]).glob(f"{world.name}/*.rules.json")
    }
    if rules.isidentifier() and not Path(rules).exists() and own:
        if rules not in own:
            raise InputError(f"kg_rules: {unknown_label('rules', rules, own)}, or give a file")
        return str(own[rules])
    return rules


def _lift(linked: Collection[tuple[str, str]], train: Collection[tuple[str, str]], entities: Sequence[str]) -> float:
    """Return log(P(linked | training fact) / P(linked)) over pairs of entities; 0 if that is negative, or if no
    training fact is linked."""
    mine = set(entities)
    pairs = {pair for pair in linked if mine.issuperset(pair)}
    hits = len(pairs.intersection(train))
    return max(0.0, math.log(hits / len(train) / (len(pairs) / len(mine) ** 2))) if hits else 0.0


_FEEDS = "kg_sources and a graph beside of other relations than the world's feed predictors of facts of three parties"


def _linked(asked: Collection[Fact], ends: Collection[tuple[str, ...]]) -> int:
    """Count the facts whose object is linked, by any fact in any direction, to each other party."""
    links = {frozenset(pair) for pair in ends}
    return sum(
        all(frozenset((party, fact[-1])) in links for party in ((fact[0],) if len(fact) == 3 else fact[1:-1]))
        for fact in asked
    )


def _called(pairs: Sequence[tuple[str, str]], ours: Collection[str], names: Names, whose: str) -> list[tuple[str, str]]:
    """Replace the second name of each pair by the label in the graph or predictor.

    :param pairs: (the world's name of a relation, the other name, maybe prefixed with `INVERSE`).
    :raises InputError: a name that the world, or the graph or predictor, does not have, with near matches.
    """
    found = []
    for mine, called in pairs:
        if mine not in ours:
            raise InputError(f"kg_relations: not one of the world's: {unknown_label('relation', mine, ours)}")
        relation = called.removeprefix(INVERSE)
        try:
            found.append((mine, called.removesuffix(relation) + names.relation(relation)))
        except InputError as error:
            raise InputError(f"kg_relations: not one of the {whose}'s: {error}") from None
    return found


def _chosen(wanted: Sequence[Relation], stated: StatedFacts, source: str) -> Sequence[Relation]:
    """Choose the relations to score: the wanted relations, else all of three parties, which hold whole facts, else
    all."""
    if lacks := [relation_name(relation) for relation in wanted if relation not in stated.relations]:
        has = ", ".join(map(relation_name, stated.relations))
        raise InputError(f"the graph {source} has no facts of {', '.join(lacks)}; it has {has}")
    of_three = [relation for relation in stated.relations if isinstance(relation, NaryRelation)]
    return wanted or of_three or stated.relations


def _refuse_unread(config: KnowledgeConfig, *fitted: Relation) -> None:
    """:raises InputError: settings of a predictor that none of the `fitted` relations uses."""
    of_three = [isinstance(relation, NaryRelation) for relation in fitted]
    for name in config.fit_settings():
        called, parties = ("ComplEx", "two") if name in config.COMPLEX else ("NaryPredictor", "three")
        if name != "seed" and (parties == "three") not in of_three:
            raise InputError(
                f"kg_{name} is a setting of {called}, and here none is fitted: score relations of {parties} parties "
                "(kg_scores), and fit them (kg_fit=True)"
            )


def _of_name(name: str, relations: Sequence[Relation]) -> Sequence[Relation]:
    """Return the relations of a name; a name without a place matches each place (see `gumption.kg.facts.PLACE`)."""
    places = [relation for relation in relations if isinstance(relation, str) and stated_name(relation) == name]
    return places or [_relation(name, relations)]


def _relation(name: str, relations: Sequence[Relation]) -> Relation:
    for relation in relations:
        if relation_name(relation) == name:
            return relation
    raise InputError(unknown_label("relation", name, map(relation_name, relations)))
