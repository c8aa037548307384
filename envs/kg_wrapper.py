"""Add knowledge scores of each action to the observation, for any world and any learner."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, overload

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from gumption.data import InputError
from gumption.data.settings import checked

from .action_facts import ActionFacts, PlanningProblem, check_size

KG_SCORES = "kg_scores"
PARTS = ("ids", "features", "masks", "scores")


class Advisor(Protocol):
    """A source of scores: `gumption.agents.Advice`, or any object of this form. If it plans, it has `planner`, and
    `score` takes a planning problem too. `asked` (default: `relations`) names for each scored relation the relation of
    the facts that it scores; it is empty for advice that reads no facts of the world, but the edges of a graph."""

    @property
    def relations(self) -> Sequence[str]:
        """K scored relations, in the order of the last axis. Without `asked`, all must be relations of the facts."""
        ...

    def score(self, facts: ActionFacts) -> Any:
        """Return the score of each fact, (B, A, K) float32, an array or a tensor."""
        ...


FactsFunction = Callable[[Any, Any], ActionFacts]  # (env, observation) -> facts
# observation -> facts, and the planning problem if the advice plans
Ask = Callable[[Any], tuple[ActionFacts, PlanningProblem | None]]


@overload
def KGScores(
    env: gym.Env[Any, Any],
    advice: Advisor,
    facts: FactsFunction | None = None,
    bound: float = 20.0,
    observation: Collection[str] = PARTS,
) -> "SingleKGScores": ...
@overload
def KGScores(
    env: VectorEnv[Any, Any, Any],
    advice: Advisor,
    facts: FactsFunction | None = None,
    bound: float = 20.0,
    observation: Collection[str] = PARTS,
) -> "VectorKGScores": ...
@checked
def KGScores(
    env: gym.Env[Any, Any] | VectorEnv[Any, Any, Any],
    advice: Advisor,
    facts: FactsFunction | None = None,
    bound: float = 20.0,
    observation: Collection[str] = PARTS,
) -> Any:
    """Wrap `env` to add `kg_scores` to its observation: for each of A candidates the scores of K facts that support it.

    `kg_scores` is (A, K) float32, for a vector env (B, A, K), within +-bound, so that the space is finite. A fact
    without a subject or an object, as in an empty slot, has the score 0. This is neutral: it adds nothing to logits,
    and equals the score of a fact that a graph does not state. A NaN score becomes -bound. Scores are added to a Dict
    observation; any other observation becomes Dict{"observation", "kg_scores"}. Infos are unchanged, except that the
    observations in `final_obs` get their scores too.

    :param env: a Gymnasium env or vector env, wrapped or not. It is reset once here, to count its candidates. A vector
        env with SAME_STEP autoreset must be native or come with `facts`, since the final state of an episode is not
        available after such a step.
    :param advice: for example `Advice(graph, env.vocabulary, env.relations)`.
    :param facts: (env, observation) -> ActionFacts, for an env without `action_facts`; B is 1 for a single env, and for
        a vector env observation and facts are batches. With SAME_STEP autoreset it is called with final observations as
        well, and must depend on the observation alone.
    :param bound: largest magnitude of a score, because log-probabilities are unbounded.
    :param observation: the parts that the learner sees, some of: "ids" (entries of integers), "masks" (binary entries,
        and entries whose name ends in "mask"), "features" (all other entries: real numbers, pictures) and "scores".
    :raises InputError: an env without `action_facts`, and no function; a function that fails, or facts of another form
        or shape; a relation of the advice that is no relation of the facts, or advice made for another vocabulary; an
        empty observation. Facts and scores are checked at every step.
    """
    if isinstance(env, VectorEnv):
        return VectorKGScores(env, advice, facts, bound, observation)
    return SingleKGScores(env, advice, facts, bound, observation)


class SingleKGScores(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A single env with `kg_scores`; see `KGScores`. `gym.make(env.spec)` makes it again, with the same advice."""

    def __init__(
        self, env: gym.Env[Any, Any], advice: Advisor, facts: FactsFunction | None, bound: float, parts: Collection[str]
    ) -> None:
        RecordConstructorArgs.__init__(
            self, advice=advice, facts=facts, bound=bound, parts=parts, _disable_deepcopy=True
        )
        gym.Wrapper.__init__(self, env)
        ask = (lambda seen: (facts(env, seen), None)) if facts else _stated_by_one(env, advice)
        self._scores = _ActionScores(ask, facts, advice, bound, 1, env.action_space)
        first, _ = env.reset()
        self._view = _View(env.observation_space, parts, self._scores.space(first))
        self.observation_space = self._view.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._seen(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._seen(observation), reward, terminated, truncated, info

    @property
    def action_masks(self) -> Callable[[], np.ndarray]:
        """The `action_masks` method of the wrapped env, for MaskablePPO; AttributeError if it has none."""
        return self.env.get_wrapper_attr("action_masks")

    def _seen(self, observation: Any) -> dict[str, Any]:
        return self._view(observation, self._scores(observation)[0] if self._view.scored else None)


class VectorKGScores(VectorWrapper[Any, Any, Any, Any, Any]):
    """A vector env with `kg_scores`; see `KGScores`."""

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        advice: Advisor,
        facts: FactsFunction | None,
        bound: float,
        parts: Collection[str],
    ) -> None:
        super().__init__(env)
        ask = (lambda seen: (facts(env, seen), None)) if facts else _stated_by_all(env, advice)
        self._from_observation = facts is not None
        self._scores = _ActionScores(ask, facts, advice, bound, env.num_envs, env.single_action_space)
        self._last: np.ndarray | None = None  # (n, A, K) scores of the episodes ended by the latest step
        if not self._from_observation and env.metadata.get("autoreset_mode") == AutoresetMode.SAME_STEP:
            if not hasattr(env.unwrapped, "before_renewal"):
                raise InputError(
                    f"{env} starts the next episode within the step, and cannot be asked about the end of the last "
                    "one: use autoreset_mode NEXT_STEP, or put KGScores around each single env"
                )
            env.unwrapped.before_renewal = self._keep  # type: ignore[attr-defined]
        first, _ = env.reset()
        self._view = _View(env.single_observation_space, parts, self._scores.space(first))
        self.single_observation_space = self._view.space
        self.observation_space = batch_space(self._view.space, env.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, infos = self.env.reset(seed=seed, options=options)
        return self._seen(observation), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, reward, terminated, truncated, infos = self.env.step(actions)
        if "final_obs" in infos:
            infos = {**infos, "final_obs": self._finals(observation, infos["final_obs"], infos["_final_obs"])}
        return self._seen(observation), reward, terminated, truncated, infos

    def _seen(self, observation: Any) -> dict[str, Any]:
        return self._view(observation, self._scores(observation) if self._view.scored else None)

    def _keep(self, ended: np.ndarray) -> None:
        """Store the scores of ended episodes, (B,) bool; a native env calls this before the next episodes start."""
        if self._view.scored:
            self._last = self._scores(None, np.flatnonzero(ended))

    def _finals(self, observation: Any, finals: np.ndarray, ended: np.ndarray) -> np.ndarray:
        """Return the final observations of ended episodes, (B,) object, with their scores."""
        columns = np.flatnonzero(ended)
        scores = self._last
        if self._view.scored and self._from_observation:
            scores = self._scores(_replaced(observation, finals, columns), columns)
        seen = np.full(len(finals), None, dtype=object)
        for row, i in enumerate(columns):
            seen[i] = self._view(finals[i], None if scores is None else scores[row])
        return seen


class _ActionScores:
    """Computes facts and their scores, checks both, and bounds the scores."""

    def __init__(
        self,
        ask: Ask,
        facts: FactsFunction | None,
        advice: Advisor,
        bound: float,
        num_envs: int,
        actions: spaces.Space[Any],
    ) -> None:
        """
        :param facts: the function that `ask` calls, for messages; None for the env's own `action_facts`.
        :param actions: action space of one env.
        """
        if not 0 < bound < np.inf:
            raise InputError(f"bound is {bound}; it is above 0 and finite")
        self._who = "action_facts" if facts is None else f"the function {getattr(facts, '__name__', repr(facts))!r}"
        self._ask, self._advice = ask, advice
        self._bound, self._lowest = np.float32(bound), np.float32(-bound)
        self._asked = tuple(getattr(advice, "asked", advice.relations))
        self._num_envs, self._actions = num_envs, actions
        self._candidates = 0  # not known before the first facts

    def space(self, observation: Any) -> spaces.Box:
        """Return the space of one env's scores, from the facts of a first observation.

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
        """Return scores (B, A, K) float32, or only the rows of the envs in `columns`."""
        facts, problem = self._checked(observation)
        if columns is not None:
            facts = facts.of(columns)
            if problem is not None:
                problem = problem.with_arrays(part[columns] for part in problem.arrays)
        try:
            advice: Any = self._advice
            scores = advice.score(facts) if problem is None else advice.score(facts, problem)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"the advice cannot score facts: {type(error).__name__}: {error}") from error
        if not isinstance(scores, np.ndarray):
            scores = scores.cpu().numpy() if hasattr(scores, "cpu") else np.asarray(scores)
        wanted = (*facts.subject.shape[:2], len(self._advice.relations))
        if scores.shape != wanted:
            raise InputError(
                f"the advice gives scores of shape {scores.shape}; (environments, candidates, relations) are {wanted}"
            )
        # If one argument is NaN, fmax returns the other.
        bounded = np.fmax(scores if scores.dtype == np.float32 else scores.astype(np.float32), self._lowest)
        np.fmin(bounded, self._bound, out=bounded)
        if not self._asked:
            return bounded
        asked = (facts.subject != 0) & (facts.object != 0)
        places = [facts.relations.index(relation) for relation in self._asked]
        return np.where(asked[:, :, places], bounded, np.float32(0.0))

    def _checked(self, observation: Any) -> tuple[ActionFacts, PlanningProblem | None]:
        try:
            facts, problem = self._ask(observation)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self._who} raised {type(error).__name__}: {error}") from error
        if not isinstance(facts, ActionFacts):
            raise InputError(
                f"{self._who} gave {type(facts).__name__}; it gives gumption.envs.action_facts.ActionFacts"
            )
        if not set(self._asked).issubset(facts.relations):
            raise InputError(
                f"{self._who} names the relations {', '.join(facts.relations)}, and the advice scores "
                f"{', '.join(self._asked)}: every relation that is scored must be among the facts"
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
        chosen = facts.chosen
        if chosen is not None and not (
            isinstance(chosen, np.ndarray) and chosen.dtype.kind in "iu" and chosen.shape[:-1] == shape[:1]
        ):
            kind = f"{chosen.dtype}, shape {chosen.shape}" if isinstance(chosen, np.ndarray) else type(chosen).__name__
            raise InputError(
                f"{self._who} gave chosen as {kind}; it is ({self._num_envs}, C) integers, the ids of the things that "
                "fill a role already, 0 for none"
            )
        return facts, problem


def _check_vocabulary(advice: Advisor, vocabulary: Sequence[str]) -> None:
    """:raises InputError: the advice has a vocabulary, and it differs."""
    known = getattr(advice, "vocabulary", None)
    if known is not None and tuple(known) != tuple(vocabulary):
        raise InputError(
            f"the advice is for a vocabulary of {len(known)} labels that is not the env's ({len(vocabulary)}): its "
            "ids mean other things; make the advice with env.vocabulary"
        )


def _stated_by_one(env: gym.Env[Any, Any], advice: Advisor) -> Ask:
    """Return the `Ask` of a single env, whose attributes are looked up through its wrappers.

    :raises InputError: the env has no `action_facts`, or its vocabulary differs from the advice's.
    """
    if not env.has_wrapper_attr("action_facts"):
        raise _no_facts(env)
    if env.has_wrapper_attr("vocabulary"):
        _check_vocabulary(advice, env.get_wrapper_attr("vocabulary"))
    plan = env.get_wrapper_attr("planning_problem") if _plans(advice) else None
    return _asking(env.get_wrapper_attr("action_facts"), plan, env.unwrapped, advice)


def _stated_by_all(env: VectorEnv[Any, Any, Any], advice: Advisor) -> Ask:
    """Return the `Ask` of a vector env, or of all envs in a SyncVectorEnv or AsyncVectorEnv.

    :raises InputError: neither has `action_facts`, or the vocabulary differs from the advice's.
    """
    layer: Any = env
    while not hasattr(layer, "action_facts") and isinstance(layer, VectorWrapper):
        layer = layer.env
    if hasattr(layer, "action_facts"):
        if hasattr(layer, "vocabulary"):
            _check_vocabulary(advice, layer.vocabulary)
        plan: Any = layer.planning_problem if _plans(advice) else None  # type: ignore[attr-defined]
        return _asking(layer.action_facts, plan, layer, advice)
    call = getattr(layer, "call", None)
    if call is None or not all(call("has_wrapper_attr", "action_facts")):
        raise _no_facts(env)
    if all(call("has_wrapper_attr", "vocabulary")):
        for vocabulary in call("vocabulary"):
            _check_vocabulary(advice, vocabulary)
    plans = _plans(advice)

    def ask(_: Any) -> tuple[ActionFacts, PlanningProblem | None]:
        facts = _joined(call("action_facts"))
        if not plans:
            return facts, None
        each = call("planning_problem")
        parts = zip(*(problem.arrays for problem in each), strict=True)
        return facts, each[0].with_arrays(map(np.concatenate, parts))

    return ask


def _plans(advice: Advisor) -> bool:
    return getattr(advice, "planner", None) is not None


def _asking(
    action_facts: Callable[[], ActionFacts], plan: Callable[[], PlanningProblem] | None, world: Any, advice: Advisor
) -> Ask:
    def ask(_: Any) -> tuple[ActionFacts, PlanningProblem | None]:
        check_size(advice, world)
        return action_facts(), None if plan is None else plan()

    return ask


def _joined(each: Sequence[ActionFacts]) -> ActionFacts:
    """Join the facts of single environments (B = 1) into the facts of a batch."""
    columns = zip(*(facts[1:] for facts in each), strict=True)
    joined: list[Any] = [None if parts[0] is None else np.concatenate(parts) for parts in columns]
    return ActionFacts(each[0].relations, *joined)


def _no_facts(env: Any) -> InputError:
    return InputError(
        f"{env} has no action_facts, so nothing says which facts speak for its actions: give facts=, a function "
        "(env, observation) -> ActionFacts"
    )


class _View:
    """Selects the parts of an observation, and the scores, that the learner sees.

    :ivar space: observation space of one env.
    :ivar scored: whether the learner sees scores.
    """

    def __init__(self, space: spaces.Space[Any], parts: Collection[str], scores: spaces.Box) -> None:
        unknown = [part for part in ([parts] if isinstance(parts, str) else parts) if part not in PARTS]
        if unknown or isinstance(parts, str):
            raise InputError(f"observation is {parts!r}; it is a collection of some of {', '.join(PARTS)}")
        self._is_dict = isinstance(space, spaces.Dict)
        entries = dict(space.spaces) if isinstance(space, spaces.Dict) else {"observation": space}
        if KG_SCORES in entries:
            raise InputError(f"the observation has {KG_SCORES} already: KGScores is put around an env once")
        kept = {name: entry for name, entry in entries.items() if _part(name, entry) in parts}
        self._names = tuple(kept)
        self._all = len(kept) == len(entries)
        self.scored = "scores" in parts
        if not kept and not self.scored:
            raise InputError(
                f"nothing of the observation is {' or '.join(parts) or 'kept'}: it has {', '.join(entries)}"
            )
        self.space = spaces.Dict({**kept, KG_SCORES: scores} if self.scored else kept)

    def __call__(self, observation: Any, scores: np.ndarray | None) -> dict[str, Any]:
        if not self._is_dict:
            seen = {"observation": observation} if self._all else {}
        elif self._all:
            seen = dict(observation)
        else:
            seen = {name: observation[name] for name in self._names}
        if scores is not None:
            seen[KG_SCORES] = scores
        return seen


def _part(name: str, space: spaces.Space[Any]) -> str:
    if isinstance(space, spaces.MultiBinary) or name.endswith("mask"):
        return "masks"
    numbers = isinstance(space, spaces.Box) and space.dtype is not None and space.dtype.kind in "iu"
    picture = numbers and space.dtype == np.uint8
    ids = isinstance(space, spaces.Discrete | spaces.MultiDiscrete) or (numbers and not picture)
    return "ids" if ids else "features"


def _replaced(observation: Any, finals: Sequence[Any] | np.ndarray, columns: np.ndarray) -> Any:
    """Return the batch of observations with the rows `columns` taken from `finals`."""
    if isinstance(observation, dict):
        return {
            name: _replaced(batch, [final[name] if final else None for final in finals], columns)
            for name, batch in observation.items()
        }
    changed = observation.copy()
    changed[columns] = np.array([finals[i] for i in columns])
    return changed
