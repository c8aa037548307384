"""Implement Gymnasium's two interfaces once, for every world that steps a whole batch in arrays."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, get_args

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gumption.data import InputError
from gumption.data.settings import Seed, Size, check, checked, checked_methods, shown, whole_numbers
from gumption.kg import NaryRelation

from .action_facts import ActionFacts, PlanningProblem
from .memory import Layout

# ---- Check actions of a batch and of a single environment: integers, or real numbers of a box.


def as_actions(actions: Any, space: spaces.Space[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Check and return actions (B, ...), int64 or, if the space of one environment is a `Box`, float64 clipped to it.

    :raises InputError: not one action per environment, or an action outside the space.
    """
    if isinstance(space, spaces.Box):
        return _in_box(actions, space, shape, "actions")
    chosen = _as_array("actions", actions)
    if chosen.shape != shape:
        raise InputError(f"actions have shape {chosen.shape}, expected {shape}: one action per environment")
    return _in_range(chosen, space, "actions")


def as_action(action: Any, space: spaces.Space[Any]) -> Any:
    """Check and return the action of a single environment, as `as_actions`.

    :raises InputError: no action of the space.
    """
    if isinstance(space, spaces.Box):
        return _in_box(action, space, space.shape, "the action")
    if type(action) is int and isinstance(space, spaces.Discrete) and 0 <= action - int(space.start) < space.n:
        return action
    chosen = _as_array("the action", action)
    if chosen.shape != space.shape and (space.shape or chosen.size != 1):
        raise InputError(f"the action has shape {chosen.shape}, expected {space.shape}")
    return _in_range(chosen.reshape(space.shape or ()), space, "the action")


def _in_range(chosen: np.ndarray, space: spaces.Space[Any], what: str) -> np.ndarray:
    """Return the actions, (..., shape of the space), as int64; raise InputError unless all are in the space."""
    if chosen.dtype.kind not in "iu" and not (chosen.dtype == object and all(type(one) is int for one in chosen.flat)):
        raise InputError(f"{what}: {shown(chosen)} is of {chosen.dtype}; actions are whole numbers")
    low, high = 0, 1  # bounds of MultiBinary
    if isinstance(space, spaces.Discrete):
        low, high = space.start, space.start + space.n - 1
    elif isinstance(space, spaces.MultiDiscrete):
        low, high = space.start, space.start + space.nvec - 1
    if chosen.dtype == object:  # numbers too large for NumPy's integers
        low, high = (np.asarray(bound).astype(object) for bound in (low, high))
    # Two numbers decide for most actions, which is faster than comparing with the bounds of each part.
    if chosen.size and (chosen.min() < np.max(low) or chosen.max() > np.min(high)):
        outside = np.argwhere((chosen < low) | (chosen > high))
        if len(outside):
            place = tuple(outside[0].tolist())
            least, most = (np.broadcast_to(bound, chosen.shape)[place] for bound in (low, high))
            at = f" at {', '.join(map(str, place))}" if place else ""
            raise InputError(
                f"{what}: {chosen[place]}{at} is out of range: it is a whole number from {least} to {most}"
            )
    return np.ascontiguousarray(chosen, dtype=np.int64).reshape(chosen.shape)


def _as_array(what: str, given: Any) -> np.ndarray:
    try:
        return np.asarray(given)
    except (ValueError, TypeError):
        raise InputError(f"{what}: {shown(given)} is no array") from None


def _in_box(given: Any, space: spaces.Box, shape: tuple[int, ...], what: str) -> np.ndarray:
    chosen = _as_array(what, given)
    if chosen.shape != shape or chosen.dtype.kind not in "iuf":
        raise InputError(f"{what}: shape {chosen.shape} of {chosen.dtype}; expected are numbers of shape {shape}")
    if not np.isfinite(chosen).all():
        raise InputError(f"{what}: {shown(given)} has numbers that are not finite")
    return np.clip(chosen.astype(np.float64), space.low, space.high)


RenderMode = Literal["ansi", "rgb_array"]
RENDER_MODES = [*get_args(RenderMode)]
#: Methods whose arguments are not checked: they check them themselves, or only gumption calls them, at each step.
UNCHECKED = ("__init__", "set_up", "advance", "renew", "memory_fields")
Arrays = dict[str, np.ndarray]
Numbers = np.ndarray | Sequence[int]
Observation = Arrays | np.ndarray


class Recorder(Protocol):
    """Makes the steps of a batch in place of its `advance`, and stores the transitions; see `RecordMemory`."""

    def step(self, actions: np.ndarray, idle: np.ndarray | None) -> None:
        """Make a step, as `NativeVectorEnv.advance`."""
        ...


class NativeVectorEnv(VectorEnv[Any, np.ndarray, np.ndarray]):
    """A batch of episodes with autoreset in the three modes of Gymnasium. A world implements the methods that raise
    NotImplementedError here. Each environment takes one action: an integer, a vector of integers, or a point of a box.
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        checked_methods(cls, UNCHECKED)

    def __init__(
        self,
        num_envs: int,
        render_mode: str | None,
        autoreset_mode: AutoresetMode | str,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
    ) -> None:
        """Build the batch's spaces from the spaces of one environment."""
        self.num_envs = num_envs
        self.render_mode = render_mode
        if not isinstance(autoreset_mode, AutoresetMode):
            autoreset_mode = check("autoreset_mode", autoreset_mode, Literal["NextStep", "SameStep", "Disabled"])
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": RENDER_MODES, "render_fps": 2, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(action_space, num_envs)
        self._action_shape = (num_envs, *(action_space.shape or ()))
        self._over = np.zeros(num_envs, dtype=bool)  # ended and not reset yet
        self._started = False
        self.recorder: Recorder | None = None
        #: Records of ended episodes, appended by worlds whose episodes can be replayed; None to keep no records.
        self.episodes: list[dict[str, Any]] | None = None
        #: Under SAME_STEP autoreset, called with (B,) bool of the ended episodes, before new ones replace them.
        self.before_renewal: Callable[[np.ndarray], None] | None = None

    #: Entries of a state: hashes that must match on loading, and arrays whose lengths vary.
    HASHES: ClassVar[tuple[str, ...]] = ()
    LENGTHS_VARY: ClassVar[tuple[str, ...]] = ()

    # ---- to be implemented by a world

    def advance(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        """Step all environments except the idle ones; actions (B, ...) int64, or float64 for a box; idle (B,) bool."""
        raise NotImplementedError

    def results(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return reward (B,) float32, terminated and truncated (B,) bool of the latest step; 0 and False if idle."""
        raise NotImplementedError

    def renew(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        """Start new episodes in the (n,) ascending columns, and clear their results of the latest step."""
        raise NotImplementedError

    def forget_drawn(self) -> None:
        """Drop episodes drawn in advance, because the generator was seeded."""

    def set_up(self, columns: np.ndarray, options: Mapping[str, Any], rng: np.random.Generator) -> None:
        """Start episodes in the columns from the state that reset options describe; otherwise as `renew`."""
        raise NotImplementedError

    def observe(self) -> Observation:
        """Return a new observation of every environment, (B, ...)."""
        raise NotImplementedError

    def info_arrays(self) -> Arrays:
        """Return the infos of every environment, (B, ...)."""
        raise NotImplementedError

    def describe(self, i: int) -> dict[str, Any]:
        """Return the info of environment i in the form of a single environment, with names."""
        raise NotImplementedError

    @property
    def vocabulary(self) -> Sequence[str]:
        """The labels of the ids of `action_facts`; the first is "", no entity."""
        raise NotImplementedError

    @property
    def relations(self) -> Sequence[str | NaryRelation]:
        """The relations of `action_facts`; relations of more than two parties have their roles."""
        raise NotImplementedError

    def action_facts(self, chosen: np.ndarray | None = None) -> ActionFacts:
        """Return the facts that would support each candidate of the next choice.

        :param chosen: (B, t), the part of an action chosen so far, if actions are decoded in steps.
        """
        raise NotImplementedError

    def right_choices(self) -> np.ndarray:
        """Return (B, A) bool: the choices that lead to the goal, for supervised learning and for an oracle.

        :raises InputError: the world does not provide them.
        """
        raise InputError(f"{type(self).__name__} does not state which choices are right: learn from its rewards")

    def planning_problem(self) -> PlanningProblem:
        """Return the input of planning, for a world with a relation of three parties that produces.

        :raises InputError: the world has no such relation.
        """
        raise InputError(f"{type(self).__name__} has no relation that produces, so there is nothing to look ahead by")

    def _state(self) -> dict[str, Any]:
        """Return everything that later steps depend on, except the generator: arrays, and texts (hashes, JSON)."""
        raise NotImplementedError

    def _go_on(self, state: Mapping[str, Any]) -> None:
        """Restore a result of `_state`, whose entries and shapes are already checked."""
        raise NotImplementedError

    def draw_frame(self, i: int, mode: RenderMode) -> Any:
        """Render environment i as text ("ansi") or a picture (H, W, 3) uint8 ("rgb_array")."""
        raise NotImplementedError

    def _check_place(self, i: int) -> None:
        if not 0 <= i < self.num_envs:
            raise InputError(f"i is {i}; the environments of this batch are 0 to {self.num_envs - 1}")

    def _columns(self, envs: Numbers | None, count: int) -> np.ndarray:
        """Return (count,) int64: `envs`, or the first `count` environments; raise InputError for another number."""
        columns = np.arange(min(count, self.num_envs)) if envs is None else whole_numbers("envs", envs, None)
        if len(columns) != count:
            raise InputError(f"{count} episodes for {len(columns)} environments")
        for i in columns.tolist():
            self._check_place(i)
        return columns

    def state_dict(self) -> dict[str, Any]:
        """Return the state for an exact resume: arrays, with "waiting" (B,) bool, and texts, with "rng" (generator)."""
        rng = json.dumps(self.np_random.bit_generator.state)
        return {"waiting": self._over.copy(), **self._state(), "rng": rng}

    @checked
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state of `state_dict`; later steps are equal to the bit. Raise InputError for a damaged state, and
        for a state of another world, other settings or another batch size; the environment is then unchanged."""
        mine = self.state_dict()
        self._check_state(state, mine)
        try:
            self._take(state)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            self._take(mine)
            raise InputError(f"the state is damaged: {error!r}") from None
        self._started = True

    def _take(self, state: Mapping[str, Any]) -> None:
        self._go_on(state)
        self._over[:] = state["waiting"]
        self.np_random.bit_generator.state = json.loads(state["rng"])
        self.info_arrays()  # fails if numbers are out of range

    def _check_state(self, state: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
        """:raises InputError: a state that lacks an entry of `mine`, or has it with another hash, type or shape."""
        if missing := sorted(set(mine).difference(state)):
            raise InputError(f"not the state of such an environment: {', '.join(missing)} missing")
        for name in self.HASHES:
            if type(state[name]) is str and state[name] != mine[name]:
                other = f"other {name}" if name.endswith("s") else f"another {name}"
                raise InputError(f"the saved environment has {other} ({state[name][:12]}, here {mine[name][:12]})")
        for name, ours in mine.items():  # "waiting" is first, to report another batch size
            theirs = state[name] if type(state[name]) is str else _as_array(name, state[name])
            forms = [
                "text" if isinstance(one, str)
                else f"shape {one.shape if name not in self.LENGTHS_VARY else one.ndim} of {one.dtype}"
                for one in (theirs, ours)
            ]  # fmt: skip
            if forms[0] != forms[1]:
                if name == "waiting" and np.ndim(theirs) == 1:
                    raise InputError(f"the saved environment is a batch of {len(theirs)}, here {self.num_envs}")
                raise InputError(f"the saved environment has {name} as {forms[0]}, here {forms[1]}")

    # ---- to be implemented by a world whose transitions can be stored

    @property
    def memory_layout(self) -> Layout | None:
        """The layout of a record of its memory; None if it keeps no memory."""
        return None

    def episode_begins(self) -> np.ndarray:
        """Return (B,) bool: the environments whose episode has had no step yet."""
        raise NotImplementedError

    def memory_before(self) -> tuple[np.ndarray, ...]:
        """Return copies of the state before a step, as far as a record holds it."""
        raise NotImplementedError

    def memory_fields(
        self, before: tuple[np.ndarray, ...], actions: np.ndarray, episode: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return the fields of the layout, (B, ...) each, for the latest step.

        :param before: result of `memory_before` before that step; `episode` (B,) counts over the whole memory.
        """
        raise NotImplementedError

    def memory_files(self) -> Mapping[str, str]:
        """Return the files that records refer to, name -> text; the same object while their content is the same."""
        raise NotImplementedError

    # ---- Gymnasium

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes. Options are the single environment's, and "reset_mask" (B,) bool: reset only these.

        :param seed: of the generator that draws all episodes; or a list with a seed for each environment. Environment i
            then begins with the same episode as a single environment reset with seed i (except HALMA's pictures of
            panels, and sets in sequential order, which go on as without seeds). Later episodes are drawn by one
            generator, which the list seeds. None in a list: draw from that generator.
        """
        seed, options = _checked_reset(seed, options, self.num_envs)
        seeds = seed if isinstance(seed, list) else []
        super().reset(seed=seed if isinstance(seed, int) else None)
        if given := [one for one in seeds if one is not None]:
            # The key makes it differ from the generator of a single seed, since SeedSequence pads with zeros.
            self.np_random = np.random.default_rng(np.random.SeedSequence(given, spawn_key=(1,)))
        mask = options.pop("reset_mask", None)
        if mask is not None:
            mask = _as_array("reset_mask", mask)
            if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
                raise InputError(f"reset_mask is an array of {self.num_envs} booleans, at least one of them true")
        columns = np.arange(self.num_envs) if mask is None else np.flatnonzero(mask)
        if seed is not None:
            self.forget_drawn()
        parts = [(columns[k : k + 1], seeds[i]) for k, i in enumerate(columns.tolist())] if seeds else [(columns, None)]
        for part, own in parts:
            rng = self.np_random if own is None else np.random.default_rng(own)
            if options:
                self.set_up(part, options, rng)
            else:
                self.renew(part, rng)
        self._over[columns] = False
        self._started = self._started or mask is None
        return self.observe(), self._infos()

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """:raises InputError: not one action of the space per environment; no environment has made a step.
        :raises ResetNeeded: before the first reset; after the end of an episode if autoreset is disabled.
        """
        if not self._started:
            raise ResetNeeded("call reset before step")
        chosen = as_actions(actions, self.single_action_space, self._action_shape)
        waiting = self._over.any()
        if waiting and self.autoreset_mode == AutoresetMode.DISABLED:
            raise ResetNeeded("an episode has ended: reset it, e.g. reset(options={'reset_mask': terminations})")
        resting = self._over if waiting else None
        self.make_step(chosen, resting)
        reward, terminated, truncated = (part.copy() for part in self.results())
        if resting is not None:
            self.renew(np.flatnonzero(resting), self.np_random)
        self._over = terminated | truncated
        infos: dict[str, Any] = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._over.any():
            infos = self._final(self._over)
            if self.before_renewal is not None:
                self.before_renewal(self._over)
            self.renew(np.flatnonzero(self._over), self.np_random)
            self._over = np.zeros(self.num_envs, dtype=bool)
        return self.observe(), reward.astype(np.float64), terminated, truncated, infos | self._infos()

    def _infos(self) -> dict[str, Any]:
        values = self.info_arrays()
        every = np.ones(self.num_envs, dtype=bool)
        return values | {f"_{name}": every for name in values}

    def _final(self, ended: np.ndarray) -> dict[str, Any]:
        observation, values = self.observe(), self.info_arrays()
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            last[i] = _row(observation, int(i))
        infos = values | {f"_{name}": ended for name in values}
        return {"final_obs": last, "_final_obs": ended, "final_info": infos, "_final_info": ended}

    def render(self) -> tuple[Any, ...] | None:
        """Return one frame per environment: text ("ansi") or (H, W, 3) uint8 ("rgb_array")."""
        mode = self.render_mode
        return None if mode is None else tuple(self.draw_frame(i, mode) for i in range(self.num_envs))  # pyright: ignore[reportArgumentType]

    def make_step(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        """Call `advance`, through the recorder if there is one."""
        if self.recorder is None:
            self.advance(actions, idle)
        else:
            self.recorder.step(actions, idle)

    # ---- steps without observations and infos

    def step_arrays(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Make one step without observations and infos; the next episode starts within the step that ends one.

        :param actions: (B, ...), see `step`.
        :returns: reward (B,) float32, done (B,) bool, success (B,) bool, from before ended episodes were renewed.
        """
        self.start()
        if self._over.any():  # episodes that `step` ended and left for its next call to reset
            self.renew(np.flatnonzero(self._over), self.np_random)
            self._over[:] = False
        self.make_step(as_actions(actions, self.single_action_space, self._action_shape))
        reward, terminated, truncated = self.results()
        results = reward.copy(), terminated | truncated, self.success.copy()
        ended = np.flatnonzero(results[1])
        if len(ended):
            self.renew(ended, self.np_random)
        return results

    @property
    def success(self) -> np.ndarray:
        """(B,) bool: the environments whose latest step reached the aim of the world."""
        raise NotImplementedError

    def start(self) -> None:
        """Start episodes in all environments, unless they have been started."""
        if not self._started:
            self.renew(np.arange(self.num_envs), self.np_random)
            self._started = True


class NativeEnv(gym.Env[Any, Any]):
    """A single environment: a batch of one without its batch axis. Stepping after the end raises ResetNeeded."""

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 2}  # noqa: RUF012  (Gymnasium's own form)

    def __init__(self, batch: NativeVectorEnv) -> None:
        self.batch = batch
        self.render_mode = batch.render_mode
        self.observation_space = batch.single_observation_space
        self.action_space = batch.single_action_space
        kind = np.float64 if isinstance(self.action_space, gym.spaces.Box) else np.int64
        self._action = np.zeros((1, *(self.action_space.shape or ())), dtype=kind)
        self._column = np.zeros(1, dtype=np.int64)
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        seed, options = _checked_reset(seed, options)
        super().reset(seed=seed)
        if seed is not None:
            self.batch.forget_drawn()
        if options:
            self.batch.set_up(self._column, options, self.np_random)
        else:
            self.batch.renew(self._column, self.np_random)
        self._over = False
        return _row(self.batch.observe(), 0), self.batch.describe(0)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """:raises InputError: no action of the space; the state is unchanged.
        :raises ResetNeeded: the episode has ended, or none was begun.
        """
        if self._over:
            raise ResetNeeded("the episode has ended or was never begun: call reset")
        self._action[0] = as_action(action, self.action_space)
        self.batch.make_step(self._action)
        reward, terminated, truncated = (part.item() for part in self.batch.results())
        self._over = terminated or truncated
        return _row(self.batch.observe(), 0), reward, terminated, truncated, self.batch.describe(0)

    def render(self) -> Any:
        return None if self.render_mode is None else self.batch.draw_frame(0, self.render_mode)  # pyright: ignore[reportArgumentType]

    @property
    def vocabulary(self) -> Sequence[str]:
        return self.batch.vocabulary

    @property
    def relations(self) -> Sequence[str | NaryRelation]:
        return self.batch.relations

    def action_masks(self) -> np.ndarray:
        """Return (A,) bool: allowed actions, for MaskablePPO; for a `MultiDiscrete` the masks of its parts in turn."""
        return self.batch.info_arrays()["action_mask"][0].astype(bool)

    def action_facts(self, chosen: np.ndarray | None = None) -> ActionFacts:
        """Return the facts of the batch, B = 1."""
        return self.batch.action_facts(chosen)

    def planning_problem(self) -> PlanningProblem:
        """Return the planning problem of the batch, B = 1."""
        return self.batch.planning_problem()


def _row(observation: Observation, i: int) -> Any:
    if isinstance(observation, dict):
        return {name: array[i] for name, array in observation.items()}
    return observation[i]


def _checked_reset(seed: Any, options: Any, num_envs: int | None = None) -> tuple[Any, dict[str, Any]]:
    """:param num_envs: size of a batch, which also takes a list of that many seeds; None for a single environment."""
    if isinstance(seed, np.ndarray):
        seed = seed.tolist()
    if num_envs is not None and isinstance(seed, list | tuple):
        if len(seed) != num_envs:
            raise InputError(f"seed is {shown(seed)}; it is a seed, or a list of {num_envs}, one for each environment")
        seed = [None if one is None else check("seed", one, Seed) for one in seed]
    elif seed is not None:
        seed = check("seed", seed, Seed)
    if options is None:
        return seed, {}
    if not isinstance(options, Mapping):
        raise InputError(f"options is {shown(options)}; it is a dict of reset options or None")
    return seed, dict(options)


def check_batch(num_envs: int, render_mode: str | None) -> None:
    """:raises InputError: no environment in the batch, or an unknown render mode."""
    check("num_envs", num_envs, Size)
    check("render_mode", render_mode, RenderMode | None)
