"""SEGAR's environments: one simulator steps a batch of levels as a batch of scenes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import pi
from os import PathLike
from typing import Annotated, Any, ClassVar
from zlib import crc32

import numpy as np
from annotated_types import Ge, Le
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.data.sealed import content_hash
from gumption.data.settings import Count, NonNegative, Positive, Seed, Size, refuse_unknown, settings, shown
from gumption.envs.action_facts import ActionFacts
from gumption.envs.memory import Layout as MemoryLayout
from gumption.envs.native import Arrays, NativeEnv, NativeVectorEnv, Observation, RenderMode, check_batch
from gumption.envs.physics.factors import Acceleration, Alive, Done, Mass, Position, Velocity
from gumption.envs.physics.initialization import Initialization, fix_overlaps
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.simulator import Preset, Simulator
from gumption.envs.physics.state import Layout, State
from gumption.envs.priors import Laws, Names

from .configurations import Levels, Split, find_levels, level
from .facts import Affordances
from .kinds import Dials, has_gates
from .memory import (
    CONSUMED,
    DESTROYED,
    INSIDE,
    OVER,
    OWN_SCENE,
    SUCCESS,
    check_room,
    count_things,
    layout,
    level_file,
    seen,
    top_tile,
)
from .observations import Observation as OneObservation
from .observations import ObservationSettings, make_observation
from .render import RendererSettings, draw_frame
from .tasks import TASKS, Task, of_task, read_task


@settings
class SegarSettings:
    """The keyword arguments of SEGAR's environments.

    :ivar levels: the name of a configuration such as "objectsx2-hard", a distribution of your own or its "module:name",
        a file of levels, or `Levels`; None for the usual ones of the task.
    :ivar partition: "train" or "test" levels, where they are drawn.
    :ivar num_levels, level_seed: how many levels are drawn, by which seed. Each episode plays one of them, which makes
        them an epistemic POMDP (section 5).
    :ivar observation: "rgb", "state" or another kind, or settings such as {"kind": "state", "hidden": ["Mass"]}; see
        `ObservationSettings`. One of your own is a subclass of `gumption.envs.segar.Observation`, or its "module:name".
    :ivar resolution: pixels of a side, of the observation "rgb".
    :ivar directions: 0: an action is a force in a box; n: 0 is no force, and 1 to n are forces of `action_max` in n
        directions, counter-clockwise from the right.
    :ivar action_max: the largest force along an axis.
    :ivar sub_steps: steps of the simulation in a step of the environment; the force acts before the first.
    :ivar max_steps: an episode is cut off after so many steps; with "compat" after one more, in which nothing moves.
    :ivar friction, wall_damping: of the scenes, in place of those of the levels.
    :ivar preset: "fixed" or "compat"; see `Simulator`. With "compat" textures are drawn anew in each episode, and
        overlapping things of a level are moved as in the code of 2022.
    :ivar names: "real" names of types, "anonymous" ones, or "shuffled" among tiles and among objects.
    :ivar laws: "counterfactual": tiles do what other tiles do, and objects what other objects do. See `Dials`.
    """

    # A memory stores the content of these settings, not their names.
    CONTENT: ClassVar = ("levels", "partition", "num_levels", "level_seed")

    levels: str | PathLike[str] | Mapping[str, Any] | Initialization | Levels | None = None
    partition: Split = "train"
    num_levels: Size = 100
    level_seed: Seed = 0
    observation: str | Mapping[str, Any] | ObservationSettings | type[OneObservation] = "rgb"
    resolution: Size = 64
    directions: Annotated[int, Ge(0), Le(360)] = 0
    action_max: Positive = 2.0
    sub_steps: Count = 5
    max_steps: Count = 50
    friction: NonNegative | None = None
    wall_damping: NonNegative | None = None
    preset: Preset = "fixed"
    names: Names = "real"
    laws: Laws = "real"

    def __post_init__(self) -> None:
        if self.directions in (1, 2):
            raise InputError(f"directions is {self.directions}; it is 0, or at least 3")

    def observer(self, only_visible: bool) -> OneObservation:
        """Return the observation of a batch; see `make_observation`."""
        given = self.observation
        if given == "rgb":
            given = ObservationSettings(renderer=RendererSettings(resolution=self.resolution, preset=self.preset))
        return make_observation(given, only_visible, Dials(self.names, self.laws, with_gates=True))

    def load_levels(self, usual: Any) -> Levels:
        """Return the levels to play.

        :param usual: the task's levels, used if the setting `levels` is None.
        :raises InputError: no such configuration or file, or scenes that cannot be placed.
        """
        given = usual if self.levels is None else self.levels
        return find_levels(given, self.partition, n=self.num_levels, seed=self.level_seed, preset=self.preset)


@settings
class SandboxSettings(SegarSettings):
    """The keyword arguments of `gumption/SEGAR-v0`: those of the other ids, and the task.

    :ivar task: "PuttPutt" or another name of a task, a `Task`, or "module:name" of your own.
    """

    task: str | Task | type[Task] = "PuttPutt"


#: Number of push directions that facts describe if actions are forces in a box.
DIRECTIONS = 8
_OPTIONS = ("scene", "level")


class SegarVectorEnv(NativeVectorEnv):
    """A batch of environments; the classes of single environments below document rewards and termination.

    :cvar task_name: name of the task; None if the settings name it.
    """

    task_name: ClassVar[str | None] = None
    settings: SegarSettings

    def __init__(
        self,
        num_envs: int = 1,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        """:raises InputError: bad settings; see `SegarSettings`."""
        check_batch(num_envs, render_mode)
        if self.task_name is None:
            self.task = read_task(settings.get("task", SandboxSettings.task))
            self.settings = SandboxSettings(**{**self.task.usual, **settings})
        else:
            self.settings, self.task = SegarSettings(**settings), TASKS[self.task_name]
        self._compat = self.settings.preset == "compat"
        self.levels = self.settings.load_levels(self.task.levels)
        self.dials = Dials(self.settings.names, self.settings.laws, has_gates(self.levels.scenes))
        self._observation = self.settings.observer(self.task.only_visible)
        self._fresh = False
        count = self.settings.directions or DIRECTIONS
        turns = 2 * pi * np.arange(count) / count
        #: (A, 2) unit vectors; the first vector is zero if "no force" is an action.
        self._directions = np.stack([np.cos(turns), np.sin(turns)], axis=1)
        bound = self.settings.action_max
        action_space: spaces.Space[Any] = spaces.Box(-bound, bound, (2,), np.float32)
        if self.settings.directions:
            self._directions = np.concatenate([np.zeros((1, 2)), self._directions])
            action_space = spaces.Discrete(len(self._directions))
        self._forces = self.task.action_space is None
        if self.task.action_space is not None:
            if self.settings.directions:
                raise InputError(f"directions are of forces; the actions of the task {self.task.name} are its own")
            action_space = self.task.action_space
        #: Number of candidate actions, for masks and facts.
        self._choices = int(action_space.n) if isinstance(action_space, spaces.Discrete) else len(self._directions)
        super().__init__(num_envs, render_mode, autoreset_mode, self._observation.space, action_space)
        seeds = [crc32(name.encode()) for name in self.levels.names]
        scenes = [
            self._adapted(scene, seed) for scene, seed in zip(self._by_laws(self.levels.scenes), seeds, strict=True)
        ]
        self._seeds = seeds
        self._things = max(count_things(scene) for scene in scenes)
        self.level = np.zeros(num_envs, dtype=np.int64)
        self.steps = np.zeros(num_envs, dtype=np.int64)
        self._idle = np.zeros(num_envs, dtype=bool)
        self._look = np.zeros(num_envs, dtype=np.int64)
        self._all = State(scenes)
        self._check_laws()
        self._play(self._all.select(np.zeros(num_envs, dtype=np.int64)))
        self._affordances = Affordances(self.simulator.rules, self.dials)

    # ---- episodes

    def advance(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        self._idle = np.zeros(self.num_envs, dtype=bool) if idle is None else idle.copy()
        given = self._given(actions)
        task, state, before = self.task, self.state, self._before
        frozen = self._idle | (self._compat & (self.steps >= self.settings.max_steps))
        kept: list[tuple[np.ndarray, list[np.ndarray]]] = []
        if frozen.any():
            kept.append(_copied(state, frozen))
            if self._forces:
                given = np.where(frozen[:, None], 0.0, given)
        before.renew(state)
        task.act(state, given)
        ended = np.zeros(self.num_envs, dtype=bool)
        for _ in range(self.settings.sub_steps):
            self.simulator.step()
            over = of_task(task, "done", before, given, state) & ~frozen
            if over.any():
                kept.append(_copied(state, over))
                ended, frozen = ended | over, frozen | over
            if frozen.all():
                break
        for columns, copies in kept:
            state.put_back(columns, copies)
        self._action, self._ended = given, ended
        self._reward = np.array(of_task(task, "reward", before, given, state), dtype=np.float64)
        self.steps[~self._idle] += 1
        _, terminated, truncated = self.results()
        ends = terminated | truncated
        self._success = of_task(task, "success", before, given, state) & ends if ends.any() else ends
        self._fresh = True

    def results(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        playing = ~self._idle
        reward = np.where(playing, self._reward, 0.0).astype(np.float32)
        over = self._ended & playing
        # In the code of 2022 an episode has one more step, in which nothing moves.
        return reward, over, (self.steps >= self.settings.max_steps + self._compat) & playing & ~over

    def renew(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        rows = rng.integers(len(self.levels), size=len(columns))
        self._put(columns, self._all, rows, rows, self._looks([self._seeds[row] for row in rows.tolist()], rng))

    def set_up(self, columns: np.ndarray, options: Mapping[str, Any], rng: np.random.Generator) -> None:
        """Start episodes from reset options: "scene", as data, or "level", a name or number of this batch's levels."""
        refuse_unknown("reset", options, _OPTIONS)
        if len(options) > 1:
            raise InputError(f"reset options are {shown(dict(options))}; one of {' and '.join(_OPTIONS)} is given")
        number, scene = len(self.levels), options.get("scene")
        chosen = options.get("level")
        if isinstance(chosen, (int, np.integer)) and not isinstance(chosen, bool):
            if not 0 <= chosen < len(self.levels):
                raise InputError(f"level is {chosen}; there are levels 0 to {len(self.levels) - 1}")
            rows = np.full(len(columns), int(chosen))
            looks = self._looks([self._seeds[int(chosen)]] * len(columns), rng)
            self._put(columns, self._all, rows, rows, looks)
            return
        seed = 0 if scene is not None else crc32(str(chosen).encode(errors="replace"))
        # A scene is played as it is; a level is played under the laws of this environment.
        given = self._by_laws([level(chosen)])[0] if scene is None else Scene.read(scene, "scene")  # pyright: ignore[reportArgumentType]
        read = self._adapted(given, seed)
        self.task.check(State([read]))
        if self.recorder is not None:
            check_room(read, self._things, self._affordances.types)
        try:
            one = State([read], self.state.layout)
        except InputError:
            self._make_room(read, columns)
            one = State([read], self.state.layout)
        looks = self._looks([seed] * len(columns), rng)
        self._put(columns, one, np.zeros(len(columns), dtype=np.int64), np.full(len(columns), number), looks)

    @property
    def success(self) -> np.ndarray:
        return self._success & ~self._idle

    # ---- observations

    def observe(self) -> Observation:
        fresh, self._fresh = self._fresh, False
        return self._observation.observe(self.state, fresh)

    def info_arrays(self) -> Arrays:
        actor = self.task.actor
        told = {each.__name__.lower(): self.state.of(actor, each) for each in self._told}
        told |= self.task.info(self._before, self._action, self.state)
        return {
            "success": self.success,
            **{name: self._info(name, values) for name, values in told.items()},
            "level": self.level.copy(),
            "action_mask": np.ones((self.num_envs, self._choices), dtype=np.int8),
        }

    def _info(self, name: str, values: Any) -> np.ndarray:
        found = np.asarray(values)
        if found.shape[:1] != (self.num_envs,):
            raise InputError(
                f"info {name!r} of the task {self.task.name} has the shape {found.shape}; its first axis is the "
                f"{self.num_envs} environments"
            )
        return found.astype(np.float32) if found.dtype == np.float64 else found

    def describe(self, i: int) -> dict[str, Any]:
        self._check_place(i)
        info = {name: values[i] for name, values in self.info_arrays().items()}
        own = int(self.level[i]) == len(self.levels)
        return {
            **{name: value if np.ndim(value) else value.item() for name, value in info.items()},
            "level": "" if own else self.levels.names[int(self.level[i])],
            "scene": self.state.scene(i).to_data(),
        }

    @property
    def vocabulary(self) -> Sequence[str]:
        return self._affordances.vocabulary

    @property
    def relations(self) -> Sequence[str]:
        return self._affordances.relations

    def action_facts(self, chosen: np.ndarray | None = None) -> ActionFacts:
        return self._affordances(self.state, self._actors, self.pushed())

    def pushed(self) -> np.ndarray:
        """Return (B, A, 2), the actor's velocity after a force in each direction; 0 if the task's actions are not
        forces."""
        if not self._forces:
            return np.zeros((self.num_envs, self._choices, 2))
        forces = self._directions * self.settings.action_max
        before = self.state.columns[Velocity][:, self._actors, np.arange(self.num_envs)].T
        return before[:, None] + forces * self.task.push(self.state)[:, None, None]

    def draw_frame(self, i: int, mode: RenderMode) -> Any:
        self._check_place(i)
        return draw_frame(self.state, i, mode, self.dials)

    # ---- memory

    @property
    def memory_layout(self) -> MemoryLayout:
        return layout(self._things, self._scenes_hash, None if self._forces else self._action_shape[1:])

    def episode_begins(self) -> np.ndarray:
        return self.steps == 0

    def memory_before(self) -> tuple[np.ndarray, ...]:
        return seen(self.state, self._actors, self._things, self._affordances.numbers(self.state))

    def memory_fields(
        self, before: tuple[np.ndarray, ...], actions: np.ndarray, episode: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        slots, *things, inside = before
        columns, at = self.state.columns, (self._actors, np.arange(self.num_envs))
        destroyed, consumed = ~columns[Alive][0][at], columns[Done][0][at]
        reward, terminated, truncated = self.results()
        flags = DESTROYED * destroyed + CONSUMED * consumed + SUCCESS * self.success + INSIDE * inside
        flags += OVER * (terminated | truncated)
        level = np.where(self.level == len(self.levels), OWN_SCENE, self.level)
        after = (columns[Position][:, *at].T, columns[Velocity][:, *at].T, columns[Mass][0][at])
        top, _ = top_tile(self.state, self._actors, slots)
        return (level, episode, self._given(actions), reward, flags, *things, *after, top)

    def memory_files(self) -> Mapping[str, str]:
        return self._level_file

    @cached_property
    def _level_file(self) -> dict[str, str]:
        return level_file(self.levels.names, self._scenes_hash, self.vocabulary)

    @cached_property
    def _scenes_hash(self) -> str:
        return content_hash([scene.to_data() for scene in self._all.scenes])

    # ---- saving

    _STATE = ("level", "steps", "_look", "_idle")

    def _state(self) -> dict[str, Any]:
        """Return the state without earlier frames; raise InputError if an episode plays a scene from reset options."""
        if (self.level == len(self.levels)).any():
            raise InputError("only levels of the environment can be saved; an episode plays a scene of reset options")
        moving = {factor.__name__: column.copy() for factor, column in self.state.columns.items()}
        asked = self._before, self._action, self.state
        first = of_task(self.task, "reward", *asked)  # for episodes without a step so far
        standing = {
            "reward": np.where(self.steps == 0, first, self._reward),
            "over": self._ended.copy(),
            "success": self._success.copy(),
            **{name: values for name, values in self.task.info(*asked).items() if name == "distance"},
        }
        return {name.strip("_"): getattr(self, name).copy() for name in self._STATE} | {
            **{f"factor.{name}": column for name, column in moving.items()},
            **{f"standing.{name}": part for name, part in standing.items()},
            "time": self.simulator.time.copy(),
            "levels": self._scenes_hash,
        }

    HASHES = ("levels",)

    def _go_on(self, state: Mapping[str, Any]) -> None:
        rows = np.asarray(state["level"])
        self._put(np.arange(self.num_envs), self._all, rows, rows, np.asarray(state["look"]).tolist())
        for factor, column in self.state.columns.items():
            column[:] = state[f"factor.{factor.__name__}"]
        self.state.order()
        for name in self._STATE:
            getattr(self, name)[:] = state[name.strip("_")]
        self._reward, self._ended, self._success = (
            np.array(state[f"standing.{name}"]) for name in ("reward", "over", "success")
        )
        self.simulator.time[:] = state["time"]
        self._before.renew(self.state)

    # ---- inside

    def _given(self, actions: np.ndarray) -> np.ndarray:
        """Return the task's actions (B, ...); forces are (B, 2)."""
        if not self._forces or not self.settings.directions:
            return actions
        return self._directions[actions] * self.settings.action_max

    def _looks(self, seeds: list[int], rng: np.random.Generator) -> list[int]:
        """Return the texture seeds: the levels' own; with "compat" new seeds per episode, as in the code of 2022."""
        return rng.integers(2**32, size=len(seeds)).tolist() if self._compat else seeds

    def _by_laws(self, scenes: Sequence[Scene]) -> list[Scene]:
        return self.dials.exchanged(scenes, self.levels.scenes)

    def _check_laws(self) -> None:
        """Check the levels. :raises InputError: they lack an entity of the task, perhaps due to counterfactual laws."""
        try:
            self.task.check(self._all)
        except InputError as error:
            if not self.dials.does:
                raise
            raise InputError(
                f"laws='counterfactual' exchanges what tiles do, and what objects do, and the task is about one of "
                f"them: {error}"
            ) from None

    def _adapted(self, scene: Scene, seed: int) -> Scene:
        if self._compat:
            scene = fix_overlaps(scene, np.random.default_rng(seed))
        changes = {
            name: value for name in ("friction", "wall_damping") if (value := getattr(self.settings, name)) is not None
        }
        return replace(scene, sim=replace(scene.sim, **changes)) if changes else scene

    def _play(self, state: State) -> None:
        """Continue with a state that has one scene per environment."""
        self.task.check(state)
        self.state = state
        self.simulator = Simulator(state, preset=self.settings.preset)
        self._actors = state.first(self.task.actor)
        self._before = state.snapshot()
        self._action = np.zeros((self.num_envs, *((2,) if self._forces else self._action_shape[1:])))
        self._reward = np.zeros(self.num_envs)
        self._ended, self._success = np.zeros((2, self.num_envs), dtype=bool)
        mine = {factor.root for factor in self.task.actor.all_factors}
        self._told = [each for each in (Mass, Velocity, Acceleration, Alive) if each in mine]
        self._observation.begin(state, np.arange(self.num_envs), self._look.tolist())

    def _make_room(self, scene: Scene, columns: np.ndarray) -> None:
        """Enlarge the layout of the batch, so that a scene with other entities than the levels fits these columns."""
        others = set(range(self.num_envs)).difference(columns.tolist())
        playing = [self.state.scene(i) if i in others else self._all.scenes[0] for i in range(self.num_envs)]
        layout, time = Layout.of([*self._all.scenes, *playing, scene]), self.simulator.time
        self._all = State(self._all.scenes, layout)
        self._observation = self.settings.observer(self.task.only_visible)
        self._play(State(playing, layout))
        self.simulator.time[:] = time

    def _put(
        self, columns: np.ndarray, scenes: State, rows: np.ndarray, levels: np.ndarray, seeds: Sequence[int]
    ) -> None:
        self.state.take(columns, scenes, rows)
        self.simulator.time[columns] = 0.0
        self.level[columns], self.steps[columns], self._look[columns] = levels, 0, seeds
        self._actors = self.state.first(self.task.actor)
        self._before.renew(self.state, columns)
        self._action = self._action.copy()
        self._action[columns] = 0
        self._reward[columns] = 0.0
        self._ended[columns] = self._success[columns] = False
        self._observation.begin(self.state, columns, seeds)


def _copied(state: State, which: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the columns of the masked scenes, and copies of their arrays that steps change."""
    columns = np.flatnonzero(which)
    return columns, state.moving(columns)


# ---- Environments of each task; a single environment is a batch of size 1.


class PuttPuttVectorEnv(SegarVectorEnv):
    """See `PuttPuttEnv`."""

    task_name = "PuttPutt"


class PuttPuttNegDistVectorEnv(SegarVectorEnv):
    """See `PuttPuttNegDistEnv`."""

    task_name = "PuttPuttNegDist"


class InvisiballVectorEnv(SegarVectorEnv):
    """See `InvisiballEnv`."""

    task_name = "Invisiball"


class BilliardsVectorEnv(SegarVectorEnv):
    """See `BilliardsEnv`."""

    task_name = "Billiards"


class SegarEnv(NativeEnv):
    """A task in SEGAR's sandbox, by default PuttPutt, or a task of your own (Hjelm et al., 2022, SEGAR, section 4).

    Description: rules change the factors of the entities in a scene. A task defines the effect of actions on factors,
    the reward and the end of an episode. Each episode plays one of `num_levels` scenes of a distribution.

    Observation: "rgb" Box (64, 64, 3) uint8, in textures that show factors; or the factors as numbers, or both, or any
    function of the states of your own; see `ObservationSettings`.

    Actions: the task's; by default Box (2,) float32 within +-`action_max`: a force on the actor, as in `PuttPuttEnv`.
    The simulator then makes `sub_steps` steps of 0.01 s.

    Reward: a function of the task of the state before the action, the action, and the state after it.

    Termination: `done` of the task. Truncation: after `max_steps`.

    Info: `success`; `mass`, `velocity`, `acceleration` and `alive` of the actor, as far as it has these factors; infos
    of the task; `level`, `scene` and `action_mask` as in `PuttPuttEnv`; the scene names its rules.

    Reset options: `level` or `scene`, as in `PuttPuttEnv`.
    """

    batched: type[SegarVectorEnv] = SegarVectorEnv
    batch: SegarVectorEnv

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `SegarSettings`."""
        super().__init__(self.batched(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings))

    @property
    def simulator(self) -> Simulator:
        return self.batch.simulator


class PuttPuttEnv(SegarEnv):
    """Bring a golf ball to the goal, past objects and over tiles (Hjelm et al., 2022, SEGAR, section 4.4).

    Description: a ball lies on a table between walls, with a goal. Most configurations add charged, magnetic, speeding
    and slowing objects that it collides with, or tiles (sand, magma, fire, holes) that it rolls over. The simulator
    defines the motion. Each episode plays one of `num_levels` scenes drawn from a distribution: an epistemic POMDP.
    Training and test levels come from different random streams.

    Observation: "rgb" Box (64, 64, 3) uint8, in textures that show factors; or the factors as numbers, or both; see
    `ObservationSettings`.

    Actions: Box (2,) float32 within +-`action_max`: a force on the ball, which changes its velocity by force / mass at
    once. With `directions`=n Discrete(n + 1): no force, or one of n directions. `sub_steps` steps of 0.01 s follow.

    Reward: -D^2, D the distance from ball to goal in diagonals of the arena; -100 more once the ball is destroyed.

    Termination: D <= 0.01, or the ball is destroyed or fell into a hole. Truncation: after `max_steps`.

    Info: `success` (the goal was reached), `distance` (D), `mass`, `velocity`, `acceleration`, `alive` of the ball,
    `level` (its name; in a batch its number), `scene` (as data), `action_mask` (over directions, always all ones).

    Reset options: `level` (a name such as "objectsx2-hard/test/0/17", or a number of this environment's levels) or
    `scene` (as data).
    """

    batched = PuttPuttVectorEnv


class PuttPuttNegDistEnv(SegarEnv):
    """PuttPutt with another reward (Hjelm et al., 2022, SEGAR).

    Description: as `PuttPuttEnv`. Observation, Actions: as there.

    Reward: -D, D the distance from ball to goal in diagonals of the arena; -100 more once the ball is destroyed.

    Termination: D <= 0.01, or the ball is destroyed or fell into a hole. Truncation: after `max_steps`.

    Info: see `PuttPuttEnv`.
    """

    batched = PuttPuttNegDistVectorEnv


class InvisiballEnv(SegarEnv):
    """PuttPutt with an invisible ball (Hjelm et al., 2022, SEGAR, section 4.4).

    Description: the ball is visible only before the first action. The ball and other objects are charged, so that
    their motion reveals its position. Observation, Actions: see `PuttPuttEnv`.

    Reward: -D^2, D the distance from ball to goal in diagonals of the arena; -100 more once the ball is destroyed.

    Termination: D <= 0.01, or the ball is destroyed or fell into a hole. Truncation: after `max_steps`.

    Info: see `PuttPuttEnv`.
    """

    batched = InvisiballVectorEnv


class BilliardsEnv(SegarEnv):
    """Bring ten balls into holes by collisions with a cue ball (Hjelm et al., 2022, SEGAR, section 4.4).

    Description: ten balls in a triangle, a hole in each corner, and a cue ball that forces act on. Observation,
    Actions: see `PuttPuttEnv`.

    Reward: minus the sum over balls of the squared distance to the nearest hole, in diagonals of the arena; -100 more
    once the cue ball is destroyed.

    Termination: the cue ball is destroyed or in a hole, or no other ball is left. Truncation: after `max_steps`.

    Info: see `PuttPuttEnv`; `distance` is the sum over the balls still in the game.
    """

    batched = BilliardsVectorEnv
