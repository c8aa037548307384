"""Knowledge of a run: from what `--kg` names to the scores that guide a policy, in every world, kept with the run.

    facts(partition=...), or a graph -> relations under the world's names, rules -> StatedFacts -> look-up or fit
        -> RelationScores -> Advice -> logits

A predictor of `gumption kg fit` or of PyKEEN needs no facts. A graph beside fitted scores is looked up; a fact of it
counts what a fitted score counts, the log of how much likelier a training fact is there than by chance. One that states
none of the world's relations feeds the fits instead (see outside.py).
"""

import hashlib
import json
import math
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gumption.data import InputError, Note
from gumption.data.sealed import damaged, read_sealed, write_sealed
from gumption.envs.worlds import World
from gumption.kg import (
    KnowledgeGraph,
    NaryRelation,
    WordVectors,
    load_predictor,
)
from gumption.kg.checkpoint import checkpoint_hash, has_checkpoint, load_checkpoint, pick_device, save_checkpoint
from gumption.kg.facts import relation_labels, relation_name, stated_name
from gumption.kg.graph import open_graph, shipped_graph
from gumption.kg.leaks import Fact, Leaks, count_leaks, count_marked
from gumption.kg.links.nary_predictor import PairPredictor
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.mapping import INVERSE, NameMap, under_names
from gumption.kg.names import Names
from gumption.kg.scores import VERSION, HeldOut, KnownFacts, PairProducts, PairTable, RelationScores
from gumption.kg.sources.weights import add_weighted
from gumption.kg.vocabulary import LINKS, unknown_label

from .advice import (
    BINARY,
    Advice,
    Relation,
    StatedFacts,
    copied,
    edge_scores,
    lacking,
    marked_repeats,
    names_of,
    planner_of,
    predictor_scores,
    produced_by,
    scored_relations,
    shuffled,
    under_words,
)
from .fits import Fits, FitSettings
from .settings import CHANNELS, EDGES, FED, OWN, WORDS, KnowledgeConfig, Repeat, place_name

if TYPE_CHECKING:
    from gumption.kg.planning import Planner

    from .outside import Outside

GRAPH, SCORES = "graph.nq", "scores.json"
VECTORS = "gumption/word-vectors/1"  # of a checkpoint
#: The count of leaks where a predictor or rules do not say what they were trained on.
NOT_KNOWN = "not known"


class UnknownEntities(Note):
    """A graph does not know all entities of the world, or the world not all of the graph's."""


class LeakedFacts(Note):
    """A graph or a predictor knows facts of the world's test part, and so gives the agent answers."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Scores for the choices of a world, and their source: a graph that is looked up, or link predictors, or both.

    :ivar graph: looked up; None where predictors alone score.
    :ivar weights: relation that is looked up -> the score of a fact.
    :ivar predictors, names, unknown, calibrated: see `predictor_scores`. Unknown are entities that no fact is about
        and, where words describe entities, of which no vector is known.
    :ivar about: for a run's manifest: "source", the sha256 (hex) of "graph" or "predictor", whether the scores come
        "by" look-up or fit, and, of what is not made of the world's own facts, how many of the "test_facts" it states,
        entails or was trained on, or "not known".
    :ivar stated, fits: the facts that were fitted, and the predictors of them or of parts of them; None without a fit.
    :ivar certain: relation of three parties -> its facts (subject, given, object) that were fitted; looking ahead they
        win over what the predictor says of the same pair.
    :ivar beside: the facts between two of the world's entities in a graph that feeds the fits.
    :ivar repeats: relation -> the pairs (thing, object) of the facts that use a thing twice; see `RelationScores`.
    :ivar kinds: "edges" and "words", where the scores are such channels; the graph then has the facts of the edges,
        and `words` the vector of each entity.
    """

    scores: Any
    graph: KnowledgeGraph | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    predictors: Mapping[str, LinkPredictor] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    unknown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    calibrated: bool = True
    about: dict[str, Any] = field(default_factory=dict)
    stated: StatedFacts | None = None
    fits: "Fits | None" = None
    certain: Mapping[str, Sequence[tuple[str, str, str]]] = field(default_factory=dict)
    beside: Sequence[Fact] = ()
    repeats: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
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
        fit_settings: "FitSettings | None" = None,
        device: str = "cpu",
        outside: "Outside | None" = None,
    ) -> "Knowledge":
        """The knowledge that a run's config names.

        :param vocabulary: of the world's environment; `relations` too.
        :param played: settings of the environment, on which the world's facts may depend.
        :param word_vectors: a file, for fits of relations of three parties; None for the vectors that ship.
        :param outside: what feeds these fits beside facts and word vectors; else the config says that.
        :raises InputError: a source that is not there or does not fit the world; relations that it does not have.
        """
        if config.kg_beside is not None or config.kg_sources:
            fitted = KnowledgeConfig(
                kg=config.kg, kg_fit=config.kg_fit, kg_scores=config.kg_scores, kg_calibrated=config.kg_calibrated,
                **{f"kg_{name}": value for name, value in config.fit_settings().items()},
            )  # fmt: skip
            more = {"word_vectors": word_vectors, "fit_settings": fit_settings, "device": device}
            outside = _outside(config, relations, world, vocabulary[1:], world.played(played or {}))
            if outside is not None:
                return cls.of(fitted, world, vocabulary, relations, played, outside=outside, **more)
            assert config.kg_beside is not None
            beside = KnowledgeConfig(
                kg=config.kg_beside, kg_fit=False, kg_map=config.kg_map, kg_rules=config.kg_rules,
                kg_relations=config.kg_relations, kg_shuffled=config.kg_shuffled,
            )  # fmt: skip
            one, other = (cls.of(each, world, vocabulary, relations, played, **more) for each in (fitted, beside))
            return one._with(other, world, world.played(played or {}))
        channels = set(CHANNELS).intersection(config.kg_scores)
        wanted = [relation for name in config.kg_scores if not channels for relation in _of_name(name, relations)]
        given, source = world.played(played or {}), config.kg
        if not source:
            raise InputError("kg is empty; name a graph, a model or a file of rules, or take train, full or none")
        if source not in OWN and has_checkpoint(Path(source)):
            if channels:
                raise InputError(f"{source} is a predictor, and kg_scores takes the edges of a graph: name a graph")
            if outside is not None:
                raise InputError(f"{source} is a predictor that is fitted already: {_FEEDS}")
            return cls._of_predictor(config, world, vocabulary[1:], relations, wanted, given, device)
        is_rules = source.endswith(".json") and Path(source).is_file()
        rules_file = source if is_rules else config.kg_rules and _rules_file(config.kg_rules, world)
        own, has_facts = source in OWN or is_rules, world.get("facts") is not None
        if own and config.kg_map is not None:
            raise InputError(f"kg_map is for a graph of your own, and kg is {source}: leave it out")
        graph, name = (_own_graph(world, OWN.get(source, "train"), given), None) if own else open_graph(source)
        about: dict[str, Any] = {"source": place_name(source)}
        with graph:
            about["graph"] = graph.content_hash(name)
            if not own or config.kg_relations:
                graph, name = _named(graph, name, config, about, vocabulary[1:], relations)
            if not own and has_facts:
                leaks = count_leaks(graph, name, _asked(world, given), world.get("nary") or ())
                about["test_facts"] = leaks._asdict()
                warn_of_leaks(source, leaks)
            if not own and any(True for link in LINKS.values() for _ in graph.triples(relation=link)):
                graph, name = under_words(graph, name, vocabulary[1:], weights=bool(channels)), None
            if config.kg_shuffled is not None:
                about["shuffled"] = config.kg_shuffled
                graph, name = shuffled(graph, name, vocabulary[1:], config.kg_shuffled), None
            if rules_file is not None:
                from gumption.kg import infer, read_rules
                from gumption.kg.rules.horn import rules_to_json
                from gumption.kg.rules.mining import mined_from

                graph, name = copied(graph, name), None
                rules = read_rules(rules_file)
                inferred = infer(graph, rules, None, "entailed")
                entailed = inferred.entailed
                if channels and inferred.uncertain:
                    facts, confidences = zip(*inferred.uncertain, strict=True)
                    add_weighted(graph, facts, confidences, "entailed")
                hash_ = hashlib.sha256(json.dumps(rules_to_json(rules)).encode()).hexdigest()
                about["rules"] = {"file": Path(rules_file).name, "sha256": hash_, "entailed": entailed}
                if has_facts:
                    about["rules"]["test_facts"] = _learned(
                        rules_file, mined_from(rules_file), world, given, dict(config.kg_relations)
                    )
                if has_facts and not own:
                    asked = _asked(world, given)
                    entails = count_leaks(graph, name, asked, world.get("nary") or ())
                    about["rules"]["entailed_test_facts"] = entails._asdict()
            if channels:
                training = world.facts("train", **given) if has_facts else None
                kept = under_words(graph, name, vocabulary[1:], weights=True) if EDGES in channels else KnowledgeGraph()
                if EDGES in channels and not len(kept):
                    kept = graph  # the error names what it has
                return cls._of_edges(kept, config.kg_scores, vocabulary[1:], about, training, (word_vectors, device))
            stated = StatedFacts.of(graph, name, vocabulary[1:], relations)
            if not own and stated.report:
                warnings.warn(f"{source}: {stated.report}", UnknownEntities, stacklevel=2)
            chosen = _chosen(wanted, stated, source)
            about["facts"] = len(stated.ids) + sum(map(len, stated.rows.values()))
            fit = config.kg_fit if config.kg_fit is not None else own and world.fitted
            about["by"] = "fit" if fit else "look-up"
            if outside is not None:
                if not fit or not any(isinstance(relation, NaryRelation) for relation in chosen):
                    raise InputError(f"{source}: {_FEEDS}: add kg_fit=True (--kg-fit), and a graph of such facts")
                about |= {"sources": outside.sources} | ({"beside": outside.about} if outside.about else {})
            if not fit:
                if not config.kg_calibrated:
                    raise InputError(
                        "raw scores are a link predictor's; a graph that is looked up has none: add kg_fit=True"
                    )
                _refuse_unread(config)
                kept = copied(graph, name, relation_labels(chosen))
                weights = dict.fromkeys(map(relation_name, chosen), 1.0)
                scores = stated.look_up(chosen, pick_device(device))
                return cls(scores, kept, weights, about=about, repeats=_repeats_in_words(scores))
        _refuse_unread(config, *chosen)
        given_to = stated, fit_settings or FitSettings(**config.fit_settings()), word_vectors, device
        fits = Fits(*given_to) if outside is None else outside.fits(*given_to)
        fitted = cls._fitted(fits, chosen, vocabulary[1:], config.kg_calibrated, about)
        mine = set(vocabulary[1:])
        beside = () if outside is None else {fact for fact in outside.graph.triples() if mine.issuperset(fact[::2])}
        return replace(fitted, beside=sorted(beside))

    @classmethod
    def _of_edges(
        cls,
        graph: KnowledgeGraph,
        kinds: Sequence[str],
        entities: Sequence[str],
        about: dict[str, Any],
        training: Iterable[Fact] | None,
        how: tuple[str | None, str],
    ) -> "Knowledge":
        """
        :param kinds: see `edge_scores`.
        :param training: facts of the training part, whose entities are its candidates.
        :param how: a file of word vectors, or None; and the device.
        """
        candidates = None if training is None else {label for fact in training for label in fact[::2]}
        vectors = WordVectors.load(how[0]).guessed_vectors(entities)[0] if WORDS in kinds else None
        scores = edge_scores(graph, entities, kinds, candidates=candidates, vectors=vectors, device=how[1])
        known = scores.known
        about |= {"by": "edges", "facts": len(graph), "edges": [*scores.edges], "left_out": [*scores.left_out]}
        if EDGES in kinds and known < len(entities):
            text = f"{about['source']}: the graph knows {known} of the world's {len(entities)} entities"
            warnings.warn(text, UnknownEntities, stacklevel=3)
        if scores.left_out:
            text = f"{about['source']}: the {len(scores.edges)} relations that link most things are channels, not"
            warnings.warn(f"{text} {', '.join(scores.left_out)}", UnknownEntities, stacklevel=3)
        words = {} if scores.vectors is None else dict(zip(entities, scores.vectors, strict=True))
        return cls(scores, graph, about=about, kinds=tuple(kinds), words=words)

    @classmethod
    def _fitted(
        cls,
        fits: "Fits",
        relations: Sequence[Relation],
        entities: Sequence[str],
        calibrated: bool,
        about: dict[str, Any],
    ) -> "Knowledge":
        names = list(map(relation_name, relations))
        if not calibrated and all(isinstance(relation, NaryRelation) for relation in relations):
            raise InputError(
                f"only scores of two parties can be raw; those of {', '.join(names)} are log-ratios always"
            )
        stated, predictors = fits.stated, dict[str, LinkPredictor]()
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
        scores = predictor_scores(
            predictors,
            entities,
            names,
            calibrated=calibrated,
            unknown=unknown,
            repeats=stated.repeats,
            device=fits.device,
        )
        certain = {name: _labelled(stated, name) for name in names if name in stated.rows}
        made = cls(scores, None, {}, predictors, {}, unknown, calibrated, about, stated, fits, certain)
        return replace(made, repeats=_repeats_in_words(scores))

    def _with(self, other: "Knowledge", world: World, given: Mapping[str, Any]) -> "Knowledge":
        """Fitted scores, and beside them those of a graph that is looked up."""
        if self.graph is not None or other.graph is None:
            raise InputError(
                "kg_beside names a graph that is looked up beside fitted scores: two graphs that are looked up are put "
                "into one (gumption kg load), and of two that are fitted one has its own run"
            )
        if both := set(self.scores.relations).intersection(other.scores.relations):
            raise InputError(f"kg and kg_beside both score {', '.join(sorted(both))}: name others with kg_scores")
        train = list(world.facts("train", **given)) if world.get("facts") is not None else []
        weights = {}
        for relation in other.scores.relations:
            linked = {(s, o) for s, _, o in other.graph.triples(relation=relation)}
            weights[relation] = _lift(linked, {(s, o) for s, r, o in train if r == relation}, self.scores.entities)
        scorers = dict(zip(self.scores.relations, self.scores.scorers, strict=True))
        scorers |= zip(other.scores.relations, other.scores.scorers, strict=True)
        about = {**self.about, "beside": {**other.about, "weights": weights}}
        repeats = {**other.scores.repeats, **self.scores.repeats}
        # Of facts of three parties these alone, where there are some: they say what is made of the two.
        whole = {one.name: repeats[one.name] for one in world.get("nary") or () if one.name in repeats}
        scores = _weighted(RelationScores(self.scores.entities, scorers, whole or repeats), weights)
        said = _repeats_in_words(scores)
        return replace(self, scores=scores, graph=other.graph, weights=weights, about=about, repeats=said)

    @classmethod
    def _of_predictor(
        cls,
        config: KnowledgeConfig,
        world: World,
        entities: Sequence[str],
        relations: Sequence[Relation],
        wanted: Sequence[Relation],
        given: Mapping[str, Any],
        device: str,
    ) -> "Knowledge":
        source = config.kg
        if config.kg_fit is not None or config.kg_map is not None or config.kg_rules is not None:
            raise InputError(f"{source} is a link predictor: kg_fit and kg_rules are for graphs, and so is kg_map")
        _refuse_unread(config)
        predictor = load_predictor(source, device)
        nary = isinstance(predictor, PairPredictor)
        if nary and config.kg_relations:
            raise InputError(
                f"{source} predicts facts of three parties, which have no other names: leave out kg_relations"
            )
        known, found = predictor.vocabulary.relations, Names(predictor.vocabulary)
        names = names_of(predictor, relations)
        ours = relation_labels(r for r in relations if isinstance(r, str))
        names |= _called(config.kg_relations, ours, found, "predictor")
        has = scored_relations(predictor, wanted or relations, names)
        lacks = [name for name in map(relation_name, wanted or relations) if name not in has]
        if not has or (wanted and lacks):
            lacked = names.get(stated_name(lacks[0]), stated_name(lacks[0])).removeprefix(INVERSE)
            raise InputError(f"the predictor {source}: {unknown_label('relation', lacked, known)}")
        predictors: dict[str, LinkPredictor] = {has[0] if nary else BINARY: predictor}
        about: dict[str, Any] = {"source": place_name(source), "predictor": checkpoint_hash(source), "by": "predictor"}
        if world.get("facts") is not None:
            theirs = found.known(entities)
            about["test_facts"] = _learned(source, predictor.trained_on, world, given, names, theirs)
        if report := lacking(predictor, entities):
            warnings.warn(f"{source}: {report}", UnknownEntities, stacklevel=3)
        calibrated = config.kg_calibrated
        repeats = marked_repeats(predictor, entities, relations, names)
        scores = predictor_scores(
            predictors, entities, has, calibrated=calibrated, names=names, repeats=repeats, device=device
        )
        made = cls(scores, None, {}, predictors, names, {}, calibrated, about)
        return replace(made, repeats=_repeats_in_words(scores))

    @classmethod
    def of_run(
        cls,
        kept: Path | None,
        config: KnowledgeConfig,
        world: World,
        vocabulary: Sequence[str],
        relations: Sequence[Relation],
        *played: Any,
        device: str = "cpu",
        **more: Any,
    ) -> "Knowledge":
        """As `of`, or, where the source is not there any more, the knowledge that a run has kept.

        :param kept: where the run that goes on keeps it; None for a run that begins.
        :raises InputError: as `of` and `load`.
        """
        named = (config.kg, config.kg_map, config.kg_beside)
        places = [place for place in named if place is not None and place not in OWN]
        there = all("://" in place or Path(shipped_graph(place.partition("#")[0])).exists() for place in places)
        if there or kept is None or not (kept / SCORES).is_file():
            return cls.of(config, world, vocabulary, relations, *played, device=device, **more)
        return cls.load(kept, vocabulary, relations, device)

    def advice(
        self,
        vocabulary: Sequence[str],
        relations: Sequence[Relation],
        *,
        look_ahead: bool = False,
        repeat: Repeat = "rule",
    ) -> Advice:
        """Advice for an environment with this vocabulary; whether it is in training mode is its own.

        :param look_ahead, repeat: see `Advice`.
        :raises InputError: nothing to look ahead by.
        """
        if tuple(vocabulary[1:]) == self.scores.entities:
            scores = self.scores if self.kinds else self.scores.twin()
        else:
            scores = self._scores(vocabulary, relations, self.scores.relations, str(self.scores.device))
        if look_ahead and tuple(vocabulary) not in self._planners:
            self._planners[tuple(vocabulary)] = self._planner(scores, vocabulary, relations)
        planner = look_ahead and self._planners[tuple(vocabulary)]
        return Advice(scores, vocabulary, relations, look_ahead=planner, beside=self.beside, repeat=repeat)

    def produces(self, relation: str, uses: int) -> bool:
        """Whether a relation is scored in a way by which so many uses of it can be looked ahead."""
        from gumption.kg.planning import MOST_ON_THE_FLY

        scorer = dict(zip(self.scores.relations, self.scores.scorers, strict=True)).get(relation)
        on_the_fly = isinstance(scorer, PairProducts) and uses <= MOST_ON_THE_FLY
        return on_the_fly or isinstance(scorer, KnownFacts | PairTable | HeldOut)

    def _planner(self, scores: RelationScores, vocabulary: Sequence[str], relations: Sequence[Relation]) -> "Planner":
        name = produced_by(relations)
        ids = {label: i for i, label in enumerate(vocabulary)}
        rows = [[ids[label] for label in fact] for fact in self.certain.get(name, ()) if ids.keys() >= set(fact)]
        facts = np.array(rows, dtype=np.int64).reshape(-1, 3)
        # The world's own facts, all of them, are all that there is.
        return planner_of(scores, name, facts, complete=self.about.get("source") == "full")

    def _scores(
        self, vocabulary: Sequence[str], relations: Sequence[Relation], names: Sequence[str], device: str
    ) -> Any:
        """The scores of these names for an environment with this vocabulary."""
        if self.kinds:
            assert self.graph is not None
            none = np.zeros_like(next(iter(self.words.values()), np.zeros(0)))
            vectors = np.stack([self.words.get(label, none) for label in vocabulary[1:]]) if self.words else None
            edges = self.about["edges"]
            return edge_scores(self.graph, vocabulary[1:], self.kinds, edges=edges, vectors=vectors, device=device)
        scorers: dict[str, torch.nn.Module] = {}
        if looked_up := [_relation(name, relations) for name in names if name in self.weights]:
            assert self.graph is not None
            stated = StatedFacts.of(self.graph, None, vocabulary[1:], looked_up)
            found = stated.look_up(stated.relations, pick_device(device))
            scorers |= zip(found.relations, found.scorers, strict=True)
        if fitted := [name for name in names if name not in self.weights]:
            found = predictor_scores(
                self.predictors,
                vocabulary[1:],
                fitted,
                calibrated=self.calibrated,
                names=self.names,
                unknown=self.unknown,
                device=device,
            )
            scorers |= zip(found.relations, found.scorers, strict=True)
        ids = {label: i for i, label in enumerate(vocabulary)}
        repeats = {}
        for name, pairs in self.repeats.items():
            rows = [(ids[thing], ids[object_]) for thing, object_ in pairs if thing in ids and object_ in ids]
            repeats[name] = np.array(rows, dtype=np.int64).reshape(-1, 2)
        made = RelationScores(vocabulary[1:], {name: scorers[name] for name in names}, repeats)
        return _weighted(made, self.weights)

    def save(self, folder: Path) -> None:
        """Keep the graph that is looked up, or the predictors, so that the run can be evaluated without the source."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.graph is not None:
            self.graph.save(folder / GRAPH)
        for name, predictor in self.predictors.items():
            predictor.save(folder / name)  # pyright: ignore[reportAttributeAccessIssue]
        if self.words:
            tensors = {"vectors": torch.from_numpy(np.stack([*self.words.values()]))}
            save_checkpoint(folder / WORDS, tensors, {"kind": VECTORS, "entities": [*self.words]})
        said = {
            "version": VERSION,
            "relations": self.scores.relations,
            "graph": None if self.graph is None else self.graph.content_hash(),
            "weights": dict(self.weights),
            "predictors": sorted(self.predictors),
            "names": dict(self.names),
            "unknown": dict(self.unknown),
            "calibrated": self.calibrated,
            "about": self.about,
            "certain": dict(self.certain),
            "beside": list(self.beside),
            "repeats": dict(self.repeats),
            "kinds": self.kinds,
        }
        write_sealed(folder / SCORES, said)

    @classmethod
    def load(
        cls, folder: Path, vocabulary: Sequence[str], relations: Sequence[Relation], device: str = "cpu"
    ) -> "Knowledge":
        """The knowledge that `save` kept, for an environment with this vocabulary.

        :raises InputError: no knowledge there, or damaged, or of other entities, or of another version of the scores.
        """
        said = read_sealed(folder / SCORES, missing="the run has no such knowledge: it is damaged, or older")
        try:
            if said.get("version") != VERSION or "repeats" not in said:
                raise InputError(f"{folder}: the scores of an older gumption mean something else; train again")
            predictors = {name: load_predictor(folder / name, device) for name in said["predictors"]}
            scored, hash_, about = said["relations"], said["graph"], said.get("about", {})
            weights = said.get("weights", dict.fromkeys(scored if hash_ else (), 1.0))
            parts = predictors, said["names"], said["unknown"], said["calibrated"], about
            certain = {name: [tuple(fact) for fact in facts] for name, facts in said.get("certain", {}).items()}
            beside, kinds = [tuple(fact) for fact in said.get("beside", ())], said.get("kinds", ())
            repeats = {name: [(thing, object_) for thing, object_ in pairs] for name, pairs in said["repeats"].items()}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{folder}: not the knowledge of a run ({error})") from None
        graph = None if hash_ is None else KnowledgeGraph.load(folder / GRAPH)
        if graph is not None and graph.content_hash() != hash_:
            damaged(folder / GRAPH, f"these are not the facts that {SCORES} tells of")
        tensors, named = load_checkpoint(folder / WORDS, VECTORS) if WORDS in kinds else ({}, {})
        words = dict(zip(named["entities"], tensors["vectors"].numpy(), strict=True)) if named else {}
        more = {"certain": certain, "beside": beside, "repeats": repeats, "kinds": kinds, "words": words}
        kept = cls(RelationScores((), {}), graph, weights, *parts, **more)
        return replace(kept, scores=kept._scores(vocabulary, relations, scored, device))


def _repeats_in_words(scores: RelationScores) -> dict[str, list[tuple[str, str]]]:
    """The repeats of scores as pairs of labels."""
    labels = scores.entities
    return {
        name: [(labels[thing - 1], labels[object_ - 1]) for thing, object_ in rows.tolist()]
        for name, rows in scores.repeats.items()
    }


def _labelled(stated: StatedFacts, relation: str) -> list[tuple[str, str, str]]:
    """The facts of a relation of three parties among the world's entities, as labels (subject, given, object)."""
    labels, rows = stated.vocabulary.entities, stated.rows[relation]
    return [(labels[s], labels[g], labels[o]) for s, g, o in rows[(rows < stated.size).all(1)].tolist()]


# ---- leaks


def warn_of_leaks(source: str, leaks: Leaks, verb: str = "states") -> None:
    """Warn of the test facts in a graph, or in the training facts of a predictor."""
    if leaks.stated:
        text = f"{source} {verb} {leaks.stated:,} of the {leaks.of:,} facts of the test: success there is no proof"
        warnings.warn(f"{text} that the agent infers them", LeakedFacts, stacklevel=3)


def _learned(
    source: str,
    trained_on: np.ndarray | None,
    world: World,
    given: Mapping[str, Any],
    names: Mapping[str, str],
    entities: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, int] | str:
    """The test facts that a predictor or mined rules were trained on, as the manifest has them; warns of any.

    :param names, entities: the world's name of a relation or an entity -> the other one under which a fact that was
        learned counts, too.
    """
    asked = _asked(world, given)
    called = {fact: _as_called(fact, names.get(fact[1], fact[1]), entities) for fact in asked if len(fact) == 3}
    leaks = count_marked(trained_on, asked, called)
    if leaks is None:
        return NOT_KNOWN
    warn_of_leaks(source, leaks, "was trained on")
    return leaks._asdict()


def _as_called(fact: Fact, name: str, entities: Mapping[str, str]) -> Fact:
    """The fact under other names of its parties and its relation, that perhaps after `INVERSE`."""
    subject, object_ = (entities.get(party, party) for party in fact[::2])
    return (object_, name.removeprefix(INVERSE), subject) if name.startswith(INVERSE) else (subject, name, object_)


def _asked(world: World, given: Mapping[str, Any]) -> Collection[Fact]:
    """The facts of the world's test; none where its split has no test part."""
    try:
        return world.asked(**given)
    except InputError:
        return frozenset()


# ---- graphs


def _own_graph(world: World, part: str, given: Mapping[str, Any]) -> KnowledgeGraph:
    """A graph in memory of a part of the world's own facts."""
    if world.get("facts") is None:
        raise InputError(f"the world {world.name!r} states no facts: give a graph of your own")
    graph = KnowledgeGraph()
    if (nodes := world.get("node_facts")) is not None:
        graph.add(nodes(partition=part, **given), graph=f"{world.name}/{part}{world.nodes[0]}")
    graph.add(world.facts(part, **given), graph=f"{world.name}/{part}")
    return graph


def _named(
    graph: KnowledgeGraph,
    name: str | None,
    config: KnowledgeConfig,
    about: dict[str, Any],
    entities: Sequence[str],
    relations: Sequence[Relation],
) -> tuple[KnowledgeGraph, str | None]:
    """The graph under the world's names, by the config's map and names of relations.

    :param about: of the graph, for a manifest; the hash of the map is added.
    :raises InputError: as `under_names`; a map of another graph.
    """
    labels, given = relation_labels(relations), NameMap()
    if config.kg_map is not None:
        given = NameMap.load(Path(config.kg_map))
        given.check(about["graph"], config.kg_map, about["source"])
        about["map"] = hashlib.sha256(Path(config.kg_map).read_bytes()).hexdigest()
    pairs = _called(config.kg_relations, labels, Names(graph, name, language=given.language), "graph")
    called = {mine: label for mine, label in given.relations.items() if mine in labels}
    mine = set(entities)
    named = {entity: label for entity, label in given.entities.items() if entity in mine}
    return under_names(graph, name, entities, labels, replace(given, relations=called, entities=named), pairs)


def _rules_file(rules: str, world: World) -> str:
    """The file of rules, or that of the world's rules of this name."""
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
    """The log of how much likelier a training fact is among the linked pairs of entities than any pair is; 0 where it
    is not likelier, or nothing is known."""
    mine = set(entities)
    pairs = {pair for pair in linked if mine.issuperset(pair)}
    hits = len(pairs.intersection(train))
    return max(0.0, math.log(hits / len(train) / (len(pairs) / len(mine) ** 2))) if hits else 0.0


def _weighted(scores: RelationScores, weights: Mapping[str, float]) -> RelationScores:
    """The same scores, once the facts that are looked up have their weights."""
    for name, scorer in zip(scores.relations, scores.scorers, strict=True):
        if isinstance(scorer, KnownFacts):
            scorer.weight = weights[name]
    return scores


_FEEDS = "kg_sources and a graph beside of other relations than the world's feed predictors of facts of three parties"


def _outside(
    config: KnowledgeConfig, relations: Sequence[Relation], world: World, words: Sequence[str], given: Mapping[str, Any]
) -> "Outside | None":
    """What the config says that feeds predictors; the graph is read, and its leaks are counted. None where no source is
    named and the graph beside is one to look up: it states relations of the world, by itself or by names or rules."""
    from .outside import Outside

    place = config.kg_beside
    if place is None:
        return Outside(config.kg_sources)
    renamed = config.kg_rules or config.kg_relations or config.kg_map
    if not config.kg_sources and (renamed or place in OWN or place.endswith(".json") or has_checkpoint(Path(place))):
        return None
    graph, name = open_graph(place)
    with graph:
        labels, names = () if config.kg_sources else relation_labels(relations), Names(graph, name)
        if any(names.matches(label, "relation") for label in labels):
            return None
        about: dict[str, Any] = {"source": place_name(place), "graph": graph.content_hash(name)}
        graph, name = _named(graph, name, config, about, words, relations)
        asked = _asked(world, given) if world.get("facts") is not None else None
        if asked is not None:
            leaks = count_leaks(graph, name, asked, world.get("nary") or ())
            about["test_facts"] = leaks._asdict()
            warn_of_leaks(place, leaks)
        kept = under_words(graph, name, words)
    if config.kg_shuffled is not None:
        about["shuffled"] = config.kg_shuffled
        kept = shuffled(kept, None, words, config.kg_shuffled)
    if not len(kept):
        raise InputError(f"{place}: none of its facts is about one of the world's {len(words)} entities")
    if asked is not None:
        linked = _linked(asked, {fact[::2] for fact in kept.triples()})
        about["linked_test_facts"] = Leaks(linked, len(asked))._asdict()
    return Outside(config.kg_sources or FED, kept, about)


def _linked(asked: Collection[Fact], ends: Collection[tuple[str, ...]]) -> int:
    """How many of the asked facts have their object linked, by any fact in any direction, to each other party."""
    links = {frozenset(pair) for pair in ends}
    return sum(
        all(frozenset((party, fact[-1])) in links for party in ((fact[0],) if len(fact) == 3 else fact[1:-1]))
        for fact in asked
    )


def _called(pairs: Sequence[tuple[str, str]], ours: Collection[str], names: Names, whose: str) -> list[tuple[str, str]]:
    """The pairs of names of relations, with the graph's or predictor's labels.

    :param pairs: (the world's name, the other's, perhaps after `INVERSE`).
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
    """The relations that are scored: those that are wanted, else those of three parties, which say the whole fact, else
    all that there are."""
    if lacks := [relation_name(relation) for relation in wanted if relation not in stated.relations]:
        has = ", ".join(map(relation_name, stated.relations))
        raise InputError(f"the graph {source} has no facts of {', '.join(lacks)}; it has {has}")
    of_three = [relation for relation in stated.relations if isinstance(relation, NaryRelation)]
    return wanted or of_three or stated.relations


def _refuse_unread(config: KnowledgeConfig, *fitted: Relation) -> None:
    """:raises InputError: settings of a predictor that no relation needs of those that are `fitted`."""
    of_three = [isinstance(relation, NaryRelation) for relation in fitted]
    for name in config.fit_settings():
        called, parties = ("ComplEx", "two") if name in config.COMPLEX else ("NaryPredictor", "three")
        if name != "seed" and (parties == "three") not in of_three:
            raise InputError(
                f"kg_{name} is a setting of {called}, and here none is fitted: score relations of {parties} parties "
                "(kg_scores), and fit them (kg_fit=True)"
            )


def _of_name(name: str, relations: Sequence[Relation]) -> Sequence[Relation]:
    """The relation of a name, or, of a name without a place (see `PLACE` of gumption.kg.facts), that of each place."""
    places = [relation for relation in relations if isinstance(relation, str) and stated_name(relation) == name]
    return places or [_relation(name, relations)]


def _relation(name: str, relations: Sequence[Relation]) -> Relation:
    for relation in relations:
        if relation_name(relation) == name:
            return relation
    raise InputError(unknown_label("relation", name, map(relation_name, relations)))
