"""Advice: scores, from knowledge, of each candidate choice in a batch of environments (Jiang et al., 2020).

    advice = Advice(graph, env.vocabulary, env.relations)
    scores = advice(env)                     # (B, A, K) float32: K scores of each candidate
    advice.why(0, 2)                         # the facts behind the scores of candidate 2 in environment 0

The world lists the facts that would support a choice (`env.action_facts`). Advice scores how likely these facts hold.
A policy mixes the scores into its logits (policy.py); `KGScores` adds them to an observation.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from gumption.data import InputError
from gumption.data.settings import checked_methods, shown
from gumption.envs.action_facts import ActionFacts, Fact, PlanningProblem, check_size
from gumption.kg import KnowledgeGraph, NaryRelation, Vocabulary
from gumption.kg.checkpoint import pick_device
from gumption.kg.edges import CHOSEN, GOAL, EdgeScores, preferred
from gumption.kg.facts import (
    FactTable,
    distinct,
    label_numbers,
    marks,
    moved,
    nary_rows,
    pair_marks,
    relation_labels,
    relation_name,
    stated_name,
)
from gumption.kg.links.nary_predictor import PairPredictor
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.mapping import INVERSE, under_names
from gumption.kg.names import Names
from gumption.kg.scores import (
    FLOOR,
    BinaryTable,
    KnownFacts,
    RelationScores,
    Repeats,
    binary_scorer,
    known_scores,
    pair_scorer,
)
from gumption.kg.sources.weights import fact_weights
from gumption.kg.vocabulary import LINKS, nearest_labels, unknown_label

from .settings import CHANNELS, EDGES, WORDS, Repeat
from .transcript import open_transcript

if TYPE_CHECKING:
    from gumption.kg.planning import Planner
    from gumption.kg.shortfall import Shortfall

Relation = str | NaryRelation
Source = KnowledgeGraph | LinkPredictor | RelationScores | EdgeScores
BINARY = "binary"  # key of the predictor of all relations of two parties
PLAN = "plan"  # name of the look-ahead scores, which replace the scores of the relation that produces
PAIRS_AT_A_TIME = 1 << 22  # (thing, product) pairs whose marks are looked up at once; bounds their memory


@checked_methods
class Advice:
    """Scores of K relations for the choices of a world.

    A KnowledgeGraph is looked up: 1 for a fact that it contains, entailed facts included, else 0. A LinkPredictor
    gives log-ratios to chance for the relations that it covers, and 0 for entities that it lacks. RelationScores and
    EdgeScores are used unchanged. With the relations ("edges",), or ("edges", "words"), each relation of a graph is a
    channel of its own; see `gumption.kg.edges`.

    With look-ahead, the scores `PLAN` replace the scores of the relation that produces. They score a choice by the best
    derivation of the goal that can still follow it (`gumption.kg.planning`): the plain value if facts are looked up, a
    log-ratio to chance for a predictor.

    Facts that supported choosing a thing do not support choosing it again; see `RelationScores`.

    :ivar scores: the RelationScores or EdgeScores; in `train()` mode the held-out ones, if there are any.
    :ivar channels: K names, also called `relations`; `asked` are the scored relations, empty for edges.
    :ivar said: (B, A, K) float32, the latest scores.
    :ivar report: which entities the source and the world do not share, in a sentence; "" if they share all.
    :ivar repeat: "rule", or "paper": as in Jiang et al. (2020), facts also support a repeated choice.
    """

    def __init__(
        self,
        source: Source,
        vocabulary: Sequence[str],
        relations: Sequence[Relation],
        *,
        graph: str | None = None,
        look_ahead: "bool | Planner" = False,
        beside: Collection[Fact] = (),
        repeat: Repeat = "rule",
        device: torch.device | str = "cpu",
    ) -> None:
        """
        :param vocabulary: of the environment; the first label stands for nothing.
        :param relations: of the environment, or some of them.
        :param graph: the named graph to look up in a KnowledgeGraph; None for all.
        :param look_ahead: whether scores look ahead, by the first relation of three parties; or your own planner.
        :param beside: facts of other relations that the scores were made from; see `links`.
        :raises InputError: a source that has none of the relations or none of the entities, with near matches;
            look-ahead without a relation of three parties.
        """
        self.vocabulary, device = tuple(vocabulary), pick_device(device)
        self.report = ""
        self.scores: Any
        if isinstance(source, KnowledgeGraph) and relations and set(CHANNELS).issuperset(relations):
            named, name = under_names(source, graph, vocabulary[1:], (), weigh=fact_weights)
            links = [fact for link in LINKS.values() for fact in named.triples(relation=link)]
            facts = FactTable.of(named, name, fact_weights).about({*vocabulary[1:]}, links)
            self.scores = edge_scores(facts, vocabulary[1:], relations, device=device)
        elif isinstance(source, KnowledgeGraph):
            named = under_names(source, graph, vocabulary[1:], relation_labels(relations))
            stated = StatedFacts.of(FactTable.of(*named), vocabulary[1:], relations)
            self.report = stated.report
            self.scores = stated.look_up(stated.relations, device)
        elif isinstance(source, LinkPredictor):
            names = names_of(source, relations)
            scored = scored_relations(source, relations, names)
            if not scored:
                asked, has = ", ".join(map(relation_name, relations)), ", ".join(source.vocabulary.relations[:5])
                raise InputError(f"the predictor has none of the relations {asked}; it has {has}")
            key = scored[0] if isinstance(source, PairPredictor) else BINARY
            repeats = marked_repeats(source, vocabulary[1:], relations, names)
            self.scores = predictor_scores(
                {key: source}, vocabulary[1:], scored, names=names, repeats=repeats, device=device
            )
            self.report = lacking(source, vocabulary[1:])
        else:
            if source.entities != self.vocabulary[1:]:
                raise InputError("the scores are of other entities than the world's vocabulary: make them from it")
            self.scores = source
        self.produces, self.repeat = produced_by(relations), repeat
        self._beside = tuple(beside)
        self.planner: Planner | None = None
        if look_ahead:
            none = np.zeros((0, 3), dtype=np.int64)
            self.planner = planner_of(self.scores, self.produces, none) if look_ahead is True else look_ahead
        planned = self.produces if self.planner else None
        self.asked = () if isinstance(self.scores, EdgeScores) else self.scores.relations
        self.channels = tuple(PLAN if name == planned else name for name in self.scores.relations)
        self.relations = self.channels
        self._problem: PlanningProblem | None = None
        self._shortfalls: dict[int, Shortfall | None] = {}  # environment -> shortfall, for the latest scores
        self._of_three = {relation.name for relation in relations if isinstance(relation, NaryRelation)}
        self._asked: ActionFacts | None = None
        self.said = torch.empty(0)

    def __call__(self, env: Any, chosen: Any = None) -> torch.Tensor:
        """Return the scores of each candidate in the present state of `env`.

        :param env: a Gymnasium environment of the world, single or vector, or a native batch; it has `action_facts`.
        :param chosen: (B, t) the part of an action chosen so far, for worlds that choose in steps.
        :returns: (B, A, K) float32; 0 where a fact has no subject or no object.
        :raises InputError: not an environment of a world, or an environment whose vocabulary has grown since.
        """
        world = getattr(env, "unwrapped", env)
        if not hasattr(world, "action_facts"):
            raise InputError(f"env is {shown(env)}; it is an environment with `action_facts`")
        check_size(self, world)
        problem = None if self.planner is None else world.planning_problem()
        return self.score(world.action_facts(chosen), problem)

    def score(self, facts: ActionFacts, problem: PlanningProblem | None = None) -> torch.Tensor:
        """Return (B, A, K) float32 scores of the facts that support each candidate.

        :param problem: of the same environments, for scores that look ahead.
        :raises InputError: look-ahead without a problem, or with a problem of another relation or shape.
        """
        if isinstance(self.scores, EdgeScores):
            said = self.scores.action_scores(facts, self.repeat == "rule")
        else:
            said = self.scores.action_scores(facts if self.repeat == "rule" else facts._replace(chosen=None))
        if self.planner is not None:
            if problem is None:
                raise InputError("these scores look ahead: give the planning problem, too, or call advice(env)")
            if problem.relation != self.produces:
                raise InputError(
                    f"the advice plans by {self.produces!r}, and in this world {problem.relation!r} produces"
                )
            if problem.candidates.shape != said.shape[:2]:
                raise InputError(
                    f"the planning problem has (B, A) {problem.candidates.shape} candidates, and the choice "
                    f"{tuple(said.shape[:2])}: where an action is chosen in steps, ask a "
                    "gumption.kg.planning.Planner for the values of whole ones"
                )
            k = self.relations.index(PLAN)
            said[:, :, k] = self._planned(self.planner, problem, said[:, :, k])
        self._asked, self.said, self._problem = facts, said, problem
        self._shortfalls.clear()
        if (kept := open_transcript()) is not None:
            kept.advise(facts, said.cpu().numpy())
        return said

    def _planned(self, planner: "Planner", problem: PlanningProblem, last_step: torch.Tensor) -> torch.Tensor:
        """Return (B, A) look-ahead scores. :param last_step: (B, A) of the relation that produces; breaks ties."""
        from gumption.kg.planning import DOUBT

        values = torch.from_numpy(planner.values(problem, held_out=self.scores.training)).to(last_step.device)
        scorer = self.scores.scorers[self.relations.index(PLAN)]
        if isinstance(scorer, KnownFacts):
            return values
        chance = -math.log(len(self.vocabulary) - 1)
        there = torch.from_numpy(problem.candidates > 0).to(last_step.device)
        p = values + DOUBT * (last_step + chance).exp()
        return (p.log().clamp_min(FLOOR) - chance) * there

    def why(self, b: int, a: int) -> list[tuple[Fact, float]]:
        """Return the facts behind the latest scores of candidate a in environment b, with the scores; highest first.

        A fact of two parties is (subject, relation, object). A fact of three parties ends with the third party, or ""
        if that is not chosen yet; its score is then the score with the best third party. The facts behind a look-ahead
        score are a derivation of the goal, in its order, or none if no derivation is known.

        :raises InputError: no scores were computed yet, or no such environment or candidate.
        """
        if self._asked is None:
            raise InputError("ask for scores first: advice(env)")
        environments, candidates = self._asked.subject.shape[:2]
        if not (0 <= b < environments and 0 <= a < candidates):
            raise InputError(
                f"b is {b} and a is {a}; {environments} environments with {candidates} candidates were asked"
            )
        asked, found = self._asked, []
        if isinstance(self.scores, EdgeScores):
            found = [(fact, score) for score, facts in self.edges(b, a).values() for fact in facts]
            return sorted(found, key=lambda pair: -pair[1])
        for k, relation in enumerate(self.relations):
            if relation == PLAN and self.planner is not None and self._problem is not None:
                uses = self.planner.derivation(self._problem, b, a, held_out=self.scores.training)
                if not uses and self._problem.candidates[b, a] and (short := self._shortfall(b)):
                    uses = list(short.uses)
                for (one, other), product, _ in uses:
                    fact = self.vocabulary[one], self.produces, self.vocabulary[product], self.vocabulary[other]
                    found.append((fact, float(self.said[b, a, k])))
                continue
            place = asked.relations.index(relation)
            s, o, g = (int(part[b, a, place]) for part in (asked.subject, asked.object, asked.given))
            if s and o:
                third = (self.vocabulary[g],) if relation in self._of_three else ()
                found.append(((self.vocabulary[s], relation, self.vocabulary[o], *third), float(self.said[b, a, k])))
        return sorted(found, key=lambda pair: -pair[1])

    def edges(self, b: int, a: int) -> dict[str, tuple[float, list[Fact]]]:
        """Return the edge channels that are not 0 for candidate a in environment b: name -> (latest score, facts behind
        it). Empty for scores other than edges."""
        if not isinstance(self.scores, EdgeScores) or self._asked is None or self._asked.things is None:
            return {}
        scores = zip(self.channels, self.said[b, a].tolist(), strict=True)
        found: dict[str, tuple[float, list[Fact]]] = {name: (score, []) for name, score in scores if score}
        for end, others in ((GOAL, self._asked.about), (CHOSEN, self._asked.chosen)):
            facts = () if others is None else self.scores.why(self._asked.things[b, a], others[b])
            for channel, fact in facts:
                if (name := f"{end}.{channel}") in found:
                    found[name][1].append(fact)
        return found

    def links(self, fact: Fact) -> list[Fact]:
        """Return the facts of other relations that link a party of a fact to its object. They give a reason for a fact
        that no source contains: "parrot foundAt jungle" for the fact that jungle and bird make a parrot.

        :raises InputError: a fact without subject, relation and object.
        """
        if len(fact) < 3:
            raise InputError(f"the fact is {shown(fact)}; it has a subject, a relation and an object at least")
        subject, _, object_, *given = fact
        parties = {subject, *given} - {object_}
        return [link for link in self._beside if object_ in link[::2] and not parties.isdisjoint(link[::2])]

    def falls_short(self, b: int) -> str:
        """Return a sentence on why no choice of environment b leads to the goal, with the closest attempt; "" if one
        does, or if the latest scores do not look ahead."""
        short = self._shortfall(b)
        if short is None or self._problem is None:
            return ""
        return short.told(self.vocabulary, self.vocabulary[int(self._problem.goal[b])], self.produces)

    def _shortfall(self, b: int) -> "Shortfall | None":
        if self.planner is None or self._problem is None or not self._problem.goal[b]:
            return None
        if b not in self._shortfalls:
            self._shortfalls[b] = self.planner.shortfall(self._problem, b, held_out=self.scores.training)
        return self._shortfalls[b]


def produced_by(relations: Sequence[Relation]) -> str:
    """Return the name of the first relation of three parties, by which scores look ahead; "" if there is none."""
    return next((relation.name for relation in relations if isinstance(relation, NaryRelation)), "")


def planner_of(scores: RelationScores, relation: str, facts: np.ndarray, *, complete: bool = False) -> "Planner":
    """Return a planner that reads these scores.

    :param relation: the relation that produces.
    :param facts, complete: see `Planner.of`.
    :raises InputError: scores without that relation.
    """
    from gumption.kg.planning import Planner

    if relation not in scores.relations:
        has = ", ".join(scores.relations)
        raise InputError(f"look_ahead needs scores of a relation of three parties, which produces; these are of {has}")
    scorer = scores.scorers[scores.relations.index(relation)]
    return Planner.of(scorer, len(scores.entities) + 1, facts, complete)


def lacking(predictor: LinkPredictor, entities: Sequence[str]) -> str:
    """Return a sentence on how many of the world's entities a predictor covers; "" if it covers all."""
    known = len(Names(predictor.vocabulary).known(entities))
    return f"the predictor knows {known} of the world's {len(entities)} entities" if known < len(entities) else ""


def names_of(predictor: LinkPredictor, relations: Sequence[Relation]) -> dict[str, str]:
    """Map each relation of two parties to its name in the predictor, where the names differ."""
    mine = [stated_name(relation) for relation in relations if isinstance(relation, str)]
    known = {} if isinstance(predictor, PairPredictor) else Names(predictor.vocabulary).known(mine, "relation")
    return {relation: name for relation, name in known.items() if name != relation}


def scored_relations(predictor: LinkPredictor, relations: Sequence[Relation], names: Mapping[str, str]) -> list[str]:
    """Return the relations that a predictor scores: the first of three parties for a PairPredictor, else all of two.

    :param names: relation -> its name in the predictor, where the names differ; see `INVERSE`.
    """
    if isinstance(predictor, PairPredictor):
        return [relation.name for relation in relations if isinstance(relation, NaryRelation)][:1]
    known = predictor.vocabulary.relations
    called = {r: _called(r, names).removeprefix(INVERSE) for r in relations if isinstance(r, str)}
    return [relation for relation, name in called.items() if name in known]


def _called(relation: str, names: Mapping[str, str]) -> str:
    """Return a relation's name in a predictor, maybe prefixed with `INVERSE`. :param names: see `scored_relations`."""
    name = stated_name(relation)
    return names.get(name, name)


def predictor_scores(
    predictors: Mapping[str, LinkPredictor],
    entities: Sequence[str],
    relations: Sequence[str],
    *,
    calibrated: bool = True,
    names: Mapping[str, str] | None = None,
    unknown: Mapping[str, Collection[str]] | None = None,
    repeats: Repeats | None = None,
    device: torch.device | str = "cpu",
) -> RelationScores:
    """Return frozen scores of relations over the world's entities.

    :param predictors: `BINARY`, or the name of a relation of three parties -> its predictor.
    :param calibrated: use log-ratios to chance for relations of two parties instead of the predictor's raw scores.
    :param names: see `scored_relations`.
    :param unknown: key of `predictors` -> entities whose facts score 0.
    :param repeats: see `RelationScores`.
    """
    scorers: dict[str, nn.Module] = {}
    unknown = unknown or {}
    for relation in relations:
        predictor, called = predictors.get(relation), _called(relation, names or {})
        if isinstance(predictor, PairPredictor):
            scorers[relation] = pair_scorer(predictor, entities, unknown=unknown.get(relation, ()), device=device)
            continue
        scorer = binary_scorer(
            predictors[BINARY],
            called.removeprefix(INVERSE),
            entities,
            calibrated=calibrated,
            unknown=unknown.get(BINARY, ()),
            device=device,
        )
        scorers[relation] = BinaryTable(scorer.table.T.contiguous()) if called.startswith(INVERSE) else scorer
    return RelationScores(entities, scorers, repeats)


def marked_repeats(
    predictor: LinkPredictor,
    entities: Sequence[str],
    relations: Sequence[Relation],
    names: Mapping[str, str] = MappingProxyType({}),
) -> Repeats:
    """Return the facts with a repeated entity that a predictor was trained on; none if it does not record its facts.

    :param names: see `scored_relations`.
    """
    marked = predictor.trained_on
    if marked is None:
        return {}
    called = Names(predictor.vocabulary).known(entities)
    labels = label_numbers([called.get(entity, entity) for entity in entities])
    if isinstance(predictor, PairPredictor):
        (name,) = scored_relations(predictor, relations, names) or ("",)
        rows = []
        for block in np.array_split(np.arange(len(labels)), 1 + len(labels) ** 2 // PAIRS_AT_A_TIME):
            twice = pair_marks(labels[block, None], labels[block, None], labels)
            thing, object_ = np.nonzero(np.isin(twice, marked))
            rows.append(np.stack([block[thing], object_], axis=1))
        return {name: np.concatenate(rows) + 1}
    repeats = {}
    for relation in scored_relations(predictor, relations, names):
        (number,) = label_numbers([_called(relation, names).removeprefix(INVERSE)])
        thing = np.flatnonzero(np.isin(marks(labels, number, labels), marked)) + 1
        repeats[stated_name(relation)] = np.stack([thing, thing], axis=1)
    return repeats


# ---- A graph's facts of a world's relations


@dataclass(frozen=True, eq=False)
class StatedFacts:
    """The facts of a graph, with the world's entities first in the vocabulary.

    :ivar vocabulary: the world's N entities in its order, then the graph's other entities, sorted, without nodes.
    :ivar ids: (n, 3) int64, distinct and sorted: all facts of two parties, also of relations that the world does not
        use, but without the roles of nodes.
    :ivar rows: for each relation of three parties that has facts, (m, 3) int64 rows (subject, given, object).
    :ivar relations: the world's relations that the graph has.
    :ivar report: which entities the graph and the world do not share, in a sentence; "" if they share all.
    :ivar size: N.
    """

    vocabulary: Vocabulary
    ids: np.ndarray
    rows: dict[str, np.ndarray]
    relations: tuple[Relation, ...]
    report: str
    size: int

    @classmethod
    def of(cls, table: FactTable, entities: Sequence[str], relations: Sequence[Relation]) -> "StatedFacts":
        """Collect the facts of a table for a world.

        :raises InputError: none of the relations, or none of the world's entities in their facts; with near matches.
        """
        nary = tuple(r for r in relations if isinstance(r, NaryRelation))
        roles = tuple(dict.fromkeys(role for r in nary for role in r.roles))
        labels, vocabulary = _vocabularies(entities, table, roles)
        ids = distinct(labels, moved(labels, table.vocabulary, table.ids))
        of_node = ids[:, 1] >= len(vocabulary.relations)
        facts, nodes = ids[~of_node], ids[of_node]
        rows = {r.name: found for r in nary if len(found := nary_rows(labels, nodes, r))}
        stated = set(vocabulary.relations)
        there = tuple(r for r in relations if (stated_name(r) in stated if isinstance(r, str) else r.name in rows))
        if not there:
            raise InputError(_no_relation(relations, set(labels.relations)))
        asked = [vocabulary.relations.index(stated_name(r)) for r in there if isinstance(r, str)]
        parties = [facts[np.isin(facts[:, 1], asked)][:, [0, 2]].ravel(), *(found.ravel() for found in rows.values())]
        used = np.unique(np.concatenate(parties))
        report = _report(vocabulary, used, len(entities))
        return cls(vocabulary, facts, rows, there, report, len(entities))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The world's entities that no fact mentions."""
        parties = [self.ids[:, [0, 2]].ravel(), *(rows.ravel() for rows in self.rows.values())]
        known = np.isin(np.arange(self.size), np.concatenate(parties))
        return tuple(self.vocabulary.entities[i] for i in np.flatnonzero(~known).tolist())

    @property
    def repeats(self) -> Repeats:
        """The facts that use an entity of the world twice: of relations of three parties if there are any, since they
        include the product; else of all relations of two parties."""
        if self.rows:
            three = {
                name: rows[(rows < self.size).all(1) & (rows[:, 0] == rows[:, 1])] for name, rows in self.rows.items()
            }
            return {name: rows[:, [0, 2]] + 1 for name, rows in three.items()}
        two = self.ids[(self.ids[:, 0] == self.ids[:, 2]) & (self.ids[:, 0] < self.size)]
        return {
            self.vocabulary.relations[at]: two[two[:, 1] == at][:, [0, 2]] + 1 for at in np.unique(two[:, 1]).tolist()
        }

    def look_up(self, relations: Sequence[Relation], device: torch.device | str = "cpu") -> RelationScores:
        """Return scores that look up the facts of some of `relations`."""
        rows = {relation: self.world_rows(relation) for relation in relations}
        return known_scores(rows, self.vocabulary.entities[: self.size], device, self.repeats)

    def world_rows(self, relation: Relation) -> np.ndarray:
        """Return (n, 3) int64 rows (subject, given, object) of a relation's facts between the world's entities, as env
        ids: 1 to N, and 0 as the `given` of a relation of two parties."""
        if isinstance(relation, NaryRelation):
            rows = self.rows[relation.name]
            return rows[(rows < self.size).all(1)] + 1
        place = self.vocabulary.relations.index(stated_name(relation))
        facts = self.ids[(self.ids[:, 1] == place) & (self.ids[:, [0, 2]] < self.size).all(1)]
        return np.stack([facts[:, 0] + 1, np.zeros(len(facts), dtype=np.int64), facts[:, 2] + 1], axis=1)


def edge_scores(
    table: FactTable,
    entities: Sequence[str],
    scores: Sequence[Relation] = (EDGES,),
    *,
    candidates: Collection[str] | None = None,
    edges: Sequence[str] | None = None,
    vectors: np.ndarray | None = None,
    device: torch.device | str = "cpu",
) -> EdgeScores:
    """Return the edge channels of a graph for a world, weighted by the strengths of its facts.

    :param scores: some of "edges" and "words"; without "edges" the words are the only channels.
    :param candidates: the entities of training tasks, on which relations are selected; None for all entities.
    :param edges: the relations to use as channels, instead of those that link most candidates.
    :param vectors: (N, F) word vectors; None for the shipped vectors, if words are used.
    :raises InputError: no fact links two of the world's entities; the message lists its facts.
    """
    if WORDS in scores and vectors is None:
        from gumption.kg import WordVectors

        vectors = WordVectors.load().guessed_vectors(entities)[0]
    table = table if EDGES in scores else table.only(np.zeros(0, dtype=np.int64))
    labels, _ = _vocabularies(entities, table, ())
    facts = moved(labels, table.vocabulary, table.ids)
    training = np.array([candidates is None or label in candidates for label in entities], dtype=bool)
    chosen = preferred(facts, training, labels.relations) if edges is None else edges
    try:
        return EdgeScores(labels, len(entities), facts, chosen, table.strengths, vectors).to(pick_device(device))
    except InputError as error:
        others = labels.entities[len(entities) :][:3]
        near = "; ".join(unknown_label("entity", label, entities) for label in others)
        has = f"{len(facts):,} facts of {', '.join(labels.relations[:8])} ({near})" if len(facts) else "no facts"
        raise InputError(
            f"{error}; it has {has}: gumption kg link or --kg-map names the entities of the world that they stand for"
        ) from None


def _vocabularies(entities: Sequence[str], table: FactTable, roles: Sequence[str]) -> tuple[Vocabulary, Vocabulary]:
    """Return a vocabulary of all labels of the facts, and its first part, without nodes and their roles."""
    labels, ids = table.vocabulary, table.ids
    of_node = table.of_relations(roles)
    stated = {labels.entities[i] for i in np.unique(np.concatenate([ids[~of_node, 0], ids[:, 2]])).tolist()}
    nodes = {labels.entities[i] for i in np.unique(ids[of_node, 0]).tolist()}
    kinds = {labels.relations[i] for i in np.unique(ids[:, 1]).tolist()}
    mine = (*entities, *sorted(stated - set(entities)))
    relations = sorted(kinds - set(roles))
    everything = Vocabulary(
        (*mine, *sorted(nodes - set(mine))), (*relations, *(role for role in roles if role in kinds))
    )
    return everything, Vocabulary(mine, relations)


def _no_relation(relations: Sequence[Relation], stated: set[str]) -> str:
    wanted = [r if isinstance(r, str) else f"{r.name} (nodes with {', '.join(r.roles)})" for r in relations]
    near = dict.fromkeys(other for label in relation_labels(relations) for other in nearest_labels(label, stated, 1))
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    has = ", ".join(sorted(stated)[:8]) or "no facts at all"
    return f"the graph has none of the relations that the world asks for: {'; '.join(wanted)}. It has {has}{hint}"


def _report(vocabulary: Vocabulary, used: np.ndarray, size: int) -> str:
    """Describe the entities that graph and world do not share. :raises InputError: they share none."""
    foreign = [vocabulary.entities[i] for i in used[used >= size].tolist()]
    known = len(used) - len(foreign)
    mine = vocabulary.entities[:size]
    near = "; ".join(unknown_label("entity", label, mine).removeprefix("unknown entity ") for label in foreign[:3])
    if not known:
        raise InputError(
            f"the graph's facts are about {len(foreign)} entities, none of them one of the world's {size}: {near}"
        )
    told = [f"the graph knows {known} of the world's {size} entities"] if known < size else []
    if foreign:
        told.append(f"{len(foreign)} of its entities {'is' if len(foreign) == 1 else 'are'} not the world's ({near})")
    return ", and ".join(told)
