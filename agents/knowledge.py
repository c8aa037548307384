"""Knowledge of a run: from a graph or a predictor to the scores that guide a policy, kept with the run.

    facts(partition=...) -> KnowledgeGraph -> StatedFacts -> Fits -> RelationScores -> Advice -> logits

The graph may be of a world's own facts ("train", "full"), or a person's: a file, a folder, an endpoint. A folder that
`gumption kg fit` or PyKEEN left is a predictor already. All of them come through `Knowledge.of`.
"""

import hashlib
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from gumption.data import InputError, Note
from gumption.data.sealed import read_sealed, write_sealed
from gumption.kg import KnowledgeGraph, NaryRelation, load_predictor
from gumption.kg.checkpoint import checkpoint_hash, has_checkpoint
from gumption.kg.leaks import Fact, Leaks, asked_facts, count_leaks, count_learned
from gumption.kg.links.nary_predictor import NaryPredictor
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.nary import relation_name
from gumption.kg.places import open_graph
from gumption.kg.scores import RelationScores, binary_scorer, pair_scorer
from gumption.kg.vocabulary import Triple, unknown_label

from .fits import Fits, FitSettings
from .stated_facts import StatedFacts

#: Words of `--kg` that stand for a graph of the world's own facts.
OWN = {"train": "train", "full": "all"}
SCORES = "scores.json"
#: Of the leaks of a predictor that does not say on what it was trained.
NOT_KNOWN = "not known"
BINARY = "binary"  # the predictor of all relations of two parties
#: Graph name -> facts of one part ("train", "test" or "all") of a world.
PartFacts = Callable[[str], Mapping[str, Iterable[Triple]]]


class UnknownEntities(Note):
    """A graph does not know all entities of the world, or the world not all of the graph's."""


class LeakedFacts(Note):
    """A graph or a predictor knows facts of the world's test part: an agent that it guides has been told answers."""


def warn_of_leaks(source: str, leaks: Leaks, verb: str = "states") -> None:
    """Tell of the test facts in a graph, or in what a predictor was trained on."""
    if leaks.stated:
        text = f"{source} {verb} {leaks.stated:,} of the {leaks.of:,} facts of the test: success there is no proof"
        warnings.warn(f"{text} that the agent infers them", LeakedFacts, stacklevel=2)


def learned_leaks(source: str, predictor: LinkPredictor, asked: Collection[Fact]) -> dict[str, int] | str:
    """What a manifest says of the test facts that a predictor was trained on, and a warning where there are some."""
    leaks = count_learned(predictor, asked)
    if leaks is None:
        return NOT_KNOWN
    warn_of_leaks(source, leaks, "was trained on")
    return leaks._asdict()


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Scores, and what they were made of.

    :ivar scores: of the relations that were asked for.
    :ivar predictors: BINARY, or the name of a relation of three parties -> its predictor.
    :ivar stated: the facts of the graph, where there was one.
    :ivar fits: of these facts, to fit others to parts of them.
    :ivar calibrated: whether the scores of two parties are log-probabilities.
    :ivar about: for a run's manifest.
    """

    scores: RelationScores
    predictors: dict[str, LinkPredictor]
    stated: StatedFacts | None
    fits: Fits | None
    calibrated: bool
    about: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        source: str,
        part_facts: PartFacts,
        entities: Sequence[str],
        relations: Sequence[str | NaryRelation],
        *,
        wanted: Sequence[str] = (),
        calibrated: bool = True,
        settings: FitSettings | None = None,
        vectors: Callable[[Sequence[str]], np.ndarray],
        device: str = "cpu",
    ) -> "Knowledge":
        """
        :param source: "train", "full", a graph (file, folder, address, perhaps with #NAME), or a predictor's folder.
        :param part_facts: the world's facts of a part, by graph.
        :param wanted: names of the relations to score; empty for those of three parties, which say the whole fact, or,
            where the source has none of these, all of two.
        :param vectors: word vectors of labels, for relations of three parties.
        :raises InputError: a source that is not there or does not fit the world.
        """
        chosen = [_relation(name, relations) for name in wanted]
        if source not in OWN and has_checkpoint(Path(source)):
            asked = _asked(part_facts, relations)
            return cls._of_predictor(
                source, asked, entities, chosen or list(relations), bool(wanted), calibrated, device
            )
        graph, name = own_graph(part_facts, OWN[source]) if source in OWN else open_graph(source)
        with graph:
            stated = StatedFacts.of(graph, name, entities, relations)
            leaks = None
            if source not in OWN:
                leaks = count_leaks(graph, name, _asked(part_facts, relations), _nary(relations))
        if source not in OWN and stated.report:
            warnings.warn(f"{source}: {stated.report}", UnknownEntities, stacklevel=1)
        if lacks := [relation_name(r) for r in chosen if r not in stated.relations]:
            has = ", ".join(map(relation_name, stated.relations))
            raise InputError(f"the graph {source} has no facts of {', '.join(lacks)}; it has {has}")
        chosen = chosen or [r for r in stated.relations if isinstance(r, NaryRelation)] or list(stated.relations)
        if not calibrated and all(isinstance(relation, NaryRelation) for relation in chosen):
            names = ", ".join(map(relation_name, chosen))
            raise InputError(f"only scores of two parties can be raw; {names} is a log-probability always")
        fits = Fits(stated, settings or FitSettings(), lambda: vectors(stated.vocabulary.entities), device)
        predictors: dict[str, LinkPredictor] = {}
        for relation in chosen:
            if isinstance(relation, NaryRelation):
                predictors[relation.name] = fits.nary(relation.name)
            elif BINARY not in predictors:
                predictors[BINARY] = fits.complex()
        names = [relation_name(relation) for relation in chosen]
        about: dict[str, Any] = {
            "source": source if source in OWN else Path(source).name,
            "graph": stated.graph_hash,
            "facts": len(stated.ids) + sum(map(len, stated.rows.values())),
        }
        if leaks is not None:
            about["test_facts"] = leaks._asdict()
            warn_of_leaks(source, leaks)
        if any(isinstance(relation, NaryRelation) for relation in chosen):
            about["word_vectors"] = vectors_hash(fits.vectors[: len(entities)])
        return cls(frozen(predictors, entities, names, calibrated, device), predictors, stated, fits, calibrated, about)

    @classmethod
    def _of_predictor(
        cls,
        source: str,
        asked: Collection[Fact],
        entities: Sequence[str],
        chosen: Sequence[str | NaryRelation],
        named: bool,
        calibrated: bool,
        device: str,
    ) -> "Knowledge":
        predictor = load_predictor(source, device)
        nary = isinstance(predictor, NaryPredictor)
        has = [
            relation_name(r)
            for r in chosen
            if (isinstance(r, NaryRelation) if nary else isinstance(r, str) and r in predictor.vocabulary.relations)
        ]
        if not has or (named and len(has) < len(chosen)):
            lacks = next(relation_name(r) for r in chosen if relation_name(r) not in has)
            raise InputError(
                f"the predictor {source}: {unknown_label('relation', lacks, predictor.vocabulary.relations)}"
            )
        predictors: dict[str, LinkPredictor] = {has[0] if nary else BINARY: predictor}
        about: dict[str, Any] = {"source": Path(source).name, "predictor": checkpoint_hash(source)}
        about["test_facts"] = learned_leaks(source, predictor, asked)
        return cls(frozen(predictors, entities, has, calibrated, device), predictors, None, None, calibrated, about)

    def save(self, folder: Path) -> None:
        """Keep the predictors, so that the run can be evaluated without making them again."""
        for name, predictor in self.predictors.items():
            predictor.save(folder / name)  # pyright: ignore[reportAttributeAccessIssue]
        said = {
            "relations": self.scores.relations,
            "calibrated": self.calibrated,
            "predictors": sorted(self.predictors),
        }
        write_sealed(folder / SCORES, said)


def has_knowledge(folder: Path) -> bool:
    """Whether `Knowledge.save` was completed there."""
    return (folder / SCORES).is_file()


def load_scores(folder: Path, entities: Sequence[str], device: str) -> RelationScores:
    """The scores that `Knowledge.save` kept; InputError where they are damaged or of other entities."""
    try:
        said = read_sealed(folder / SCORES)
        predictors = {name: load_predictor(folder / name, device) for name in said["predictors"]}
        relations, calibrated = said["relations"], said["calibrated"]
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder}: not the knowledge of a run ({error})") from None
    return frozen(predictors, entities, relations, calibrated, device)


def frozen(
    predictors: Mapping[str, LinkPredictor],
    entities: Sequence[str],
    relations: Sequence[str],
    calibrated: bool,
    device: str,
) -> RelationScores:
    """The scores of relations by their predictors, ready to be gathered."""
    scorers: dict[str, nn.Module] = {}
    for relation in relations:
        predictor = predictors.get(relation)
        if isinstance(predictor, NaryPredictor):
            scorers[relation] = pair_scorer(predictor, entities, device=device)
        else:
            binary = predictors[BINARY]
            scorers[relation] = binary_scorer(binary, relation, entities, calibrated=calibrated, device=device)
    return RelationScores(entities, scorers)


def own_graph(part_facts: PartFacts, part: str) -> tuple[KnowledgeGraph, None]:
    """A graph in memory of a part of the world's own facts."""
    graph = KnowledgeGraph()
    for name, triples in part_facts(part).items():
        graph.add(triples, graph=name)
    return graph, None


def _asked(part_facts: PartFacts, relations: Sequence[str | NaryRelation]) -> Collection[Fact]:
    """What the test asks and the training part does not say."""
    test, train = (chain.from_iterable(part_facts(part).values()) for part in ("test", "train"))
    return asked_facts(test, train, _nary(relations))


def _nary(relations: Sequence[str | NaryRelation]) -> list[NaryRelation]:
    return [relation for relation in relations if isinstance(relation, NaryRelation)]


def vectors_hash(vectors: np.ndarray) -> str:
    """sha256 (hex) of word vectors."""
    return hashlib.sha256(np.ascontiguousarray(vectors, dtype=np.float32).tobytes()).hexdigest()


def _relation(name: str, relations: Sequence[str | NaryRelation]) -> str | NaryRelation:
    for relation in relations:
        if relation_name(relation) == name:
            return relation
    raise InputError(unknown_label("relation", name, map(relation_name, relations)))
