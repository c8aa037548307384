"""How knowledge reaches a choice: for each candidate of each environment, the facts that would speak for it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper

from gumption.data import InputError

Fact = tuple[str, ...]


class ActionFacts(NamedTuple):
    """K facts for each of A candidate choices in B environments, as ids of the world's vocabulary (0 is nothing).

    The world only names the facts; whether they hold, knowledge says. A relation has two parties, subject and object,
    or a third one, `given`: of the recipe "water and fire make steam" water is the subject, steam the object, and fire
    is given. Where the third party is not chosen yet, `given` is 0 and `partners` says who it can be: the best counts.

    :ivar relations: K names.
    :ivar subject, object, given: (B, A, K) int64.
    :ivar partners: (B, P) int64, or None where no relation has three parties.
    """

    relations: tuple[str, ...]
    subject: np.ndarray
    object: np.ndarray
    given: np.ndarray
    partners: np.ndarray | None = None

    def labels(self, vocabulary: Sequence[str], b: int = 0) -> list[list[Fact]]:
        """For each candidate of environment b its facts in words, those without subject or object left out.

        A fact is (subject, relation, object), or (subject, relation, object, given) where something is given.
        """
        named: list[list[Fact]] = []
        rows = zip(self.subject[b].tolist(), self.object[b].tolist(), self.given[b].tolist(), strict=True)
        for subjects, objects, givens in rows:
            facts = []
            for relation, s, o, g in zip(self.relations, subjects, objects, givens, strict=True):
                if s and o:
                    third = (vocabulary[g],) if g else ()
                    facts.append((vocabulary[s], relation, vocabulary[o], *third))
            named.append(facts)
        return named

    def candidates(self, vocabulary: Sequence[str], b: int = 0) -> list[str]:
        """Names of the A candidates of environment b: each the first subject of its facts, "" where it has none."""
        found = self.subject[b]
        first = found[np.arange(len(found)), (found > 0).argmax(1)] if found.size else np.zeros(len(found), dtype=int)
        return [str(vocabulary[subject]) for subject in first.tolist()]


def action_facts(
    relations: Sequence[str],
    shape: tuple[int, int],
    parties: Sequence[tuple[np.ndarray | int, np.ndarray | int, np.ndarray | int]],
    partners: np.ndarray | None = None,
) -> ActionFacts:
    """`ActionFacts` from K triples (subject, object, given), each broadcast to `shape`, which is (B, A)."""
    arrays = np.zeros((3, *shape, len(relations)), dtype=np.int64)
    subject, object_, given = arrays
    for k, (s, o, g) in enumerate(parties):
        subject[:, :, k] = s
        object_[:, :, k] = o
        if not isinstance(g, int) or g:
            given[:, :, k] = g
    return ActionFacts(tuple(relations), subject, object_, given, partners)


# ---- What knowledge says to each candidate: a world is asked for its facts, advice for their scores, both are checked.


class Advisor(Protocol):
    """What gives the scores: `gumption.agents.Advice`, or anything of this form."""

    @property
    def relations(self) -> Sequence[str]:
        """The K names of the relations that are scored, in the order of the last axis; all are among the facts'."""
        ...

    def score(self, facts: ActionFacts) -> Any:
        """(B, A, K) float32, an array or a tensor: how well each fact holds."""
        ...


FactsFunction = Callable[[Any, Any], ActionFacts]  # (env, observation) -> facts
Ask = Callable[[Any], ActionFacts]  # observation -> facts


class ActionScores:
    """Asks for facts, checks them, has them scored, and checks and bounds the scores."""

    def __init__(
        self, ask: Ask, who: str, advice: Advisor, bound: float, num_envs: int, actions: spaces.Space[Any]
    ) -> None:
        """:param actions: of one env."""
        if not 0 < bound < np.inf:
            raise InputError(f"bound is {bound}; it is above 0 and finite")
        self._ask, self._who, self._advice = ask, who, advice
        self._bound, self._lowest = np.float32(bound), np.float32(-bound)
        self._relations, self._width = frozenset(advice.relations), len(advice.relations)
        self._num_envs, self._actions = num_envs, actions
        self._candidates = 0  # not known before the first facts

    def space(self, observation: Any) -> spaces.Box:
        """The space of one env's scores, from the facts of a first observation.

        :raises InputError: as `KGScores`.
        """
        scores = self(observation)
        self._candidates = scores.shape[1]
        if isinstance(self._actions, spaces.Discrete) and self._candidates != self._actions.n:
            raise InputError(
                f"{self._who} gave facts about {self._candidates} candidates, and the env has {self._actions.n} "
                "actions: facts speak for one action each, in their order"
            )
        return spaces.Box(self._lowest, self._bound, scores.shape[1:], np.float32)

    def __call__(self, observation: Any, columns: np.ndarray | None = None) -> np.ndarray:
        """(B, A, K) float32, or of the envs in `columns` only."""
        facts = self._checked(observation)
        if columns is not None:
            partners = None if facts.partners is None else facts.partners[columns]
            parts = facts.subject[columns], facts.object[columns], facts.given[columns]
            facts = ActionFacts(facts.relations, *parts, partners)
        try:
            scores = self._advice.score(facts)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"the advice cannot score facts: {type(error).__name__}: {error}") from error
        if not isinstance(scores, np.ndarray):
            scores = scores.cpu().numpy() if hasattr(scores, "cpu") else np.asarray(scores)
        wanted = (*facts.subject.shape[:2], self._width)
        if scores.shape != wanted:
            raise InputError(
                f"the advice gives scores of shape {scores.shape}; (environments, candidates, relations) are {wanted}"
            )
        # fmax takes the number where the other is NaN.
        bounded = np.fmax(scores if scores.dtype == np.float32 else scores.astype(np.float32), self._lowest)
        np.fmin(bounded, self._bound, out=bounded)
        asked = (facts.subject != 0) & (facts.object != 0)
        return np.where(asked[:, :, self._places(facts)], bounded, np.float32(0.0))

    def _places(self, facts: ActionFacts) -> list[int]:
        """Where the relations of the advice stand among those of the facts."""
        return [facts.relations.index(relation) for relation in self._advice.relations]

    def _checked(self, observation: Any) -> ActionFacts:
        try:
            facts = self._ask(observation)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self._who} raised {type(error).__name__}: {error}") from error
        if not isinstance(facts, ActionFacts):
            raise InputError(
                f"{self._who} gave {type(facts).__name__}; it gives gumption.envs.action_facts.ActionFacts"
            )
        if not self._relations.issubset(facts.relations):
            raise InputError(
                f"{self._who} names the relations {', '.join(facts.relations)}, and the advice scores "
                f"{', '.join(self._advice.relations)}: every relation that is scored must be among the facts"
            )
        candidates = self._candidates or (*np.shape(facts.subject), 0, 0)[1]
        shape = (self._num_envs, candidates, len(facts.relations))
        for name, ids in zip(("subject", "object", "given"), facts[1:4], strict=True):
            if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu":
                kind = ids.dtype if isinstance(ids, np.ndarray) else type(ids).__name__
                raise InputError(f"{self._who} gave {name} as {kind}; ids are integer arrays, with 0 for nothing")
            if ids.shape != shape:
                raise InputError(
                    f"{self._who} gave {name} with shape {ids.shape}; (environments, candidates, relations) are {shape}"
                )
        return facts


def _check_vocabulary(advice: Advisor, vocabulary: Sequence[str]) -> None:
    """:raises InputError: the advice tells its vocabulary, and it is another."""
    known = getattr(advice, "vocabulary", None)
    if known is not None and tuple(known) != tuple(vocabulary):
        raise InputError(
            f"the advice is for a vocabulary of {len(known)} labels that is not the env's ({len(vocabulary)}): its "
            "ids mean other things; make the advice with env.vocabulary"
        )


def check_size(advice: Any, world: Any) -> None:
    """:raises InputError: the world has got more labels since the advice was made."""
    known, vocabulary = (getattr(each, "vocabulary", ()) for each in (advice, world))
    if known and vocabulary and len(known) != len(vocabulary):
        raise InputError(
            f"the advice is for a vocabulary of {len(known)} labels, and the env's has {len(vocabulary)}: make the "
            "advice anew with env.vocabulary"
        )


def asked(env: Any, facts: FactsFunction) -> Ask:
    return lambda observation: facts(env, observation)


def stated_by_one(env: gym.Env[Any, Any], advice: Advisor) -> Ask:
    """From a single env, through its wrappers.

    :raises InputError: it has no `action_facts`, or the vocabulary is not that of the advice.
    """
    if not env.has_wrapper_attr("action_facts"):
        raise _no_facts(env)
    if env.has_wrapper_attr("vocabulary"):
        _check_vocabulary(advice, env.get_wrapper_attr("vocabulary"))
    return _asking(env.get_wrapper_attr("action_facts"), env.unwrapped, advice)


def stated_by_all(env: VectorEnv[Any, Any, Any], advice: Advisor) -> Ask:
    """From the vector env itself, or from each env of a SyncVectorEnv or AsyncVectorEnv.

    :raises InputError: neither has `action_facts`, or the vocabulary is not that of the advice.
    """
    layer: Any = env
    while not hasattr(layer, "action_facts") and isinstance(layer, VectorWrapper):
        layer = layer.env
    if hasattr(layer, "action_facts"):
        if hasattr(layer, "vocabulary"):
            _check_vocabulary(advice, layer.vocabulary)
        return _asking(layer.action_facts, layer, advice)
    call = getattr(layer, "call", None)
    if call is None or not all(call("has_wrapper_attr", "action_facts")):
        raise _no_facts(env)
    if all(call("has_wrapper_attr", "vocabulary")):
        for vocabulary in call("vocabulary"):
            _check_vocabulary(advice, vocabulary)
    return lambda _: _joined(call("action_facts"))


def _asking(action_facts: Callable[[], ActionFacts], world: Any, advice: Advisor) -> Ask:
    def ask(_: Any) -> ActionFacts:
        check_size(advice, world)
        return action_facts()

    return ask


def _joined(each: Sequence[ActionFacts]) -> ActionFacts:
    """The facts of B environments from those of each, whose B is 1."""
    first, *_ = each
    subject = np.concatenate([facts.subject for facts in each])
    object_ = np.concatenate([facts.object for facts in each])
    given = np.concatenate([facts.given for facts in each])
    partners = None if first.partners is None else np.concatenate([np.asarray(facts.partners) for facts in each])
    return ActionFacts(first.relations, subject, object_, given, partners)


def source_name(facts: FactsFunction | None) -> str:
    return "action_facts" if facts is None else f"the function {getattr(facts, '__name__', repr(facts))!r}"


def _no_facts(env: Any) -> InputError:
    return InputError(
        f"{env} has no action_facts, so nothing says which facts speak for its actions: give facts=, a function "
        "(env, observation) -> ActionFacts"
    )
