"""Advice: what knowledge says to each candidate choice of a batch of environments (Jiang et al., 2020, section 4.2).

    advice = Advice(graph, env.vocabulary, env.relations)
    scores = advice(env)                     # (B, A, K) float32: K scores of each candidate
    advice.why(0, 2)                         # the facts behind those of candidate 2 in environment 0

The world says which facts would speak for a choice (`env.action_facts`), the knowledge how likely they hold. A policy
mixes the scores into its logits (policy.py), `KGScores` puts them into an observation; both ask here.
"""

from collections.abc import Sequence
from typing import Any

import torch

from gumption.data import InputError
from gumption.data.settings import checked, checked_methods
from gumption.data.wording import shown
from gumption.envs.action_facts import ActionFacts, Fact, check_size
from gumption.kg import KnowledgeGraph, NaryRelation
from gumption.kg.checkpoint import pick_device
from gumption.kg.facts import relation_name
from gumption.kg.links.nary_predictor import NaryPredictor
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.scores import RelationScores, binary_scorer, known_scores, pair_scorer

from .stated_facts import StatedFacts

Source = KnowledgeGraph | LinkPredictor | RelationScores


@checked_methods
class Advice:
    """Scores of K relations for the choices of a world.

    A KnowledgeGraph is looked up: 1 for a fact that it states, entailed facts in it included, 0 for any other. A
    LinkPredictor gives log-ratios to chance of the relations that it knows, and 0 where it does not know an entity.
    RelationScores are taken as they are.

    :ivar scores: the RelationScores that are asked; its `train()` and `eval()` say whether facts are held out.
    :ivar relations: K names.
    :ivar report: what of the world the source does not know, in a sentence; "" where nothing is to be told.
    """

    def __init__(
        self,
        source: Source,
        vocabulary: Sequence[str],
        relations: Sequence[str | NaryRelation],
        *,
        graph: str | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        """
        :param vocabulary: of the environment; the first label is nothing.
        :param relations: of the environment, or some of them.
        :param graph: the named graph of a KnowledgeGraph that is looked up; None for all.
        :raises InputError: a source that has none of the relations or none of the entities, with near matches.
        """
        self.vocabulary, device = tuple(vocabulary), pick_device(device)
        self.report = ""
        if isinstance(source, KnowledgeGraph):
            stated = StatedFacts.of(source, graph, vocabulary[1:], relations)
            self.report = stated.report
            rows = {relation: stated.world_rows(relation) for relation in stated.relations}
            self.scores = known_scores(rows, vocabulary[1:], device)
        elif isinstance(source, LinkPredictor):
            self.scores = predictor_scores(source, vocabulary[1:], relations, device=device)
            self.report = lacking(source, vocabulary[1:])
        else:
            if source.entities != self.vocabulary[1:]:
                raise InputError("the scores are of other entities than the world's vocabulary: make them from it")
            self.scores = source
        self.relations = self.scores.relations
        self._of_three = {relation.name for relation in relations if isinstance(relation, NaryRelation)}
        self._asked: ActionFacts | None = None
        self._said = torch.empty(0)

    def __call__(self, env: Any, chosen: Any = None) -> torch.Tensor:
        """What is said to each candidate of `env` as it is now.

        :param env: a Gymnasium environment, single or vector, of the world, or a batch; its `action_facts` is asked.
        :param chosen: (B, t) the part of an action chosen so far, for worlds that choose in steps.
        :returns: (B, A, K) float32; 0 where a fact has no subject or no object.
        :raises InputError: something else than an environment of a world, or one that has got more labels since.
        """
        world = getattr(env, "unwrapped", env)
        if not hasattr(world, "action_facts"):
            raise InputError(f"env is {shown(env)}; it is an environment with `action_facts`")
        check_size(self, world)
        return self.score(world.action_facts(chosen))

    def score(self, facts: ActionFacts) -> torch.Tensor:
        """(B, A, K) float32 of the facts that speak for each candidate."""
        self._asked, self._said = facts, self.scores.action_scores(facts)
        return self._said

    def why(self, b: int, a: int) -> list[tuple[Fact, float]]:
        """The facts behind the scores of candidate a in environment b when they were last asked for, and the scores;
        the greatest first.

        A fact of two parties is (subject, relation, object). One of three parties has the third at its end, or "" where
        that is not chosen yet: its score is then that of the best third party there is.

        :raises InputError: nothing was asked yet, or not of such an environment or candidate.
        """
        if self._asked is None:
            raise InputError("ask for scores first: advice(env)")
        environments, candidates = self._asked.subject.shape[:2]
        if not (0 <= b < environments and 0 <= a < candidates):
            raise InputError(
                f"b is {b} and a is {a}; {environments} environments with {candidates} candidates were asked"
            )
        asked, found = self._asked, []
        for k, relation in enumerate(self.relations):
            place = asked.relations.index(relation)
            s, o, g = (int(part[b, a, place]) for part in (asked.subject, asked.object, asked.given))
            if s and o:
                third = (self.vocabulary[g],) if relation in self._of_three else ()
                found.append(((self.vocabulary[s], relation, self.vocabulary[o], *third), float(self._said[b, a, k])))
        return sorted(found, key=lambda pair: -pair[1])


def lacking(predictor: LinkPredictor, entities: Sequence[str]) -> str:
    """What of the world's entities a predictor does not know, in a sentence; "" where it knows all."""
    known = len(set(entities).intersection(predictor.vocabulary.entities))
    return f"the predictor knows {known} of the world's {len(entities)} entities" if known < len(entities) else ""


@checked
def predictor_scores(
    predictor: LinkPredictor,
    entities: Sequence[str],
    relations: Sequence[str | NaryRelation],
    *,
    calibrated: bool = True,
    device: torch.device | str = "cpu",
) -> RelationScores:
    """Scores of those relations that a predictor knows: of three parties a NaryPredictor's, of two any other's.

    :raises InputError: none of them, or none of the entities.
    """
    if isinstance(predictor, NaryPredictor):
        nary = [relation for relation in relations if isinstance(relation, NaryRelation)]
        scorers: dict[str, Any] = {r.name: pair_scorer(predictor, entities, device=device) for r in nary[:1]}
    else:
        known = [r for r in relations if isinstance(r, str) and r in predictor.vocabulary.relations]
        scorers = {r: binary_scorer(predictor, r, entities, calibrated=calibrated, device=device) for r in known}
    if not scorers:
        has = ", ".join(predictor.vocabulary.relations[:5])
        raise InputError(
            f"the predictor has none of the relations {', '.join(map(relation_name, relations))}; it has {has}"
        )
    return RelationScores(entities, scorers)
