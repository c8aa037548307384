"""What a graph says to each action, as a part of the observation: for any world and any learner."""

from collections.abc import Callable, Collection
from typing import Any, overload

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from gumption.data import InputError

from .action_facts import ActionScores, Advisor, FactsFunction, asked, source_name, stated_by_all, stated_by_one

KG_SCORES = "kg_scores"
PARTS = ("ids", "features", "masks", "scores")


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
def KGScores(
    env: Any,
    advice: Advisor,
    facts: FactsFunction | None = None,
    bound: float = 20.0,
    observation: Collection[str] = PARTS,
) -> Any:
    """`env` with `kg_scores` in its observation: for each of A candidates the scores of K facts that speak for it.

    `kg_scores` is (A, K) float32, of a vector env (B, A, K), within +-bound, so that the space is finite. Where nothing
    is asked (a fact without a subject or without an object, as in an empty slot) the score is 0, which is neutral: it
    adds nothing to logits, and is what a graph says of a fact that it does not state. A score that is NaN is -bound.
    Scores are added to a Dict observation; any other observation becomes Dict{"observation", "kg_scores"}. Infos stay
    as they are, but for `final_obs`, which are observations and get their scores too.

    :param env: a Gymnasium env or vector env, wrapped or not. It is reset once here, to see how many candidates it has.
        A vector env with autoreset in the same step must be native, or `facts` be given: after such a step nothing else
        knows the state in which an episode ended.
    :param advice: what scores facts, for example `Advice(graph, env.vocabulary, env.relations)`.
    :param facts: (env, observation) -> ActionFacts, where the env has no `action_facts` of its own; B is 1 for a single
        env, and for a vector env observation and facts are batches. With autoreset in the same step it is asked about
        final observations as well, and must answer from the observation alone.
    :param bound: largest magnitude of a score: log-probabilities have no bound of their own. A graph says 0 or 1.
    :param observation: what the learner sees, some of: "ids" (entries of integers), "masks" (binary entries, and those
        whose name ends in "mask"), "features" (all other entries: real numbers, pictures) and "scores".
    :raises InputError: an env without `action_facts`, and no function; facts of another form or shape, or an error in
        what gives them; a relation of the advice that is not among those of the facts, or an advice made for another
        vocabulary; nothing of the observation is left. Facts and scores are checked at every step.
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
        ask = asked(env, facts) if facts else stated_by_one(env, advice)
        self._scores = ActionScores(ask, source_name(facts), advice, bound, 1, env.action_space)
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
        """The method of that name of the env below, for MaskablePPO; AttributeError where it has none."""
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
        ask = asked(env, facts) if facts else stated_by_all(env, advice)
        self._from_observation = facts is not None
        self._scores = ActionScores(ask, source_name(facts), advice, bound, env.num_envs, env.single_action_space)
        self._last: np.ndarray | None = None  # (n, A, K) scores of the episodes that the latest step ended
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
        """Called by a native env between the end of episodes and the start of the next; ended is (B,) bool."""
        if self._view.scored:
            self._last = self._scores(None, np.flatnonzero(ended))

    def _finals(self, observation: Any, finals: np.ndarray, ended: np.ndarray) -> np.ndarray:
        """The observations (B,) object that ended episodes, with their scores."""
        columns = np.flatnonzero(ended)
        scores = self._last
        if self._view.scored and self._from_observation:
            scores = self._scores(_replaced(observation, finals, columns), columns)
        seen = np.full(len(finals), None, dtype=object)
        for row, i in enumerate(columns):
            seen[i] = self._view(finals[i], None if scores is None else scores[row])
        return seen


class _View:
    """What the learner sees of an observation and of the scores.

    :ivar space: of one env.
    :ivar scored: whether scores are seen.
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


def _replaced(observation: Any, finals: np.ndarray, columns: np.ndarray) -> Any:
    """The batch of observations with the rows `columns` taken from `finals`."""
    if isinstance(observation, dict):
        parts = {name: np.array([finals[i][name] for i in columns]) for name in observation}
        return {name: _replaced_rows(batch, parts[name], columns) for name, batch in observation.items()}
    return _replaced_rows(observation, np.array([finals[i] for i in columns]), columns)


def _replaced_rows(batch: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    changed = batch.copy()
    changed[columns] = rows
    return changed
