"""SEGAR's tasks: effects of actions on factors, and reward and termination from states and actions (section 4.4)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from gumption.data import InputError
from gumption.data.modules import of_module
from gumption.data.settings import shown
from gumption.envs.physics.entities import Ball, CueBall, Entity, GoalTile, GolfBall, Hole
from gumption.envs.physics.factors import Alive, Done, Mass, Mobile, Position, Velocity, Visible
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.simulator import Preset
from gumption.envs.physics.simulator import Simulator as PhysicsSimulator
from gumption.envs.physics.state import State

#: The reward for destroying the ball.
DEATH = -100.0
#: Maximal distance at which the goal counts as reached, in diagonals of the arena.
REACHED = 1e-2
#: A ball at most this far from the centre of a hole is out of the game.
POTTED = 1e-4


class Task:
    """A task: an action space, the effect of actions on factors, and reward and termination as functions of states and
    actions. Define your own as a subclass, or from functions:

        Task(spaces.Discrete(2), act=grow_or_wait, reward=size_of_the_ball)

    Each function handles B environments at once. `before` is the state before the action, `after` the state at the end
    of the environment's step; `done` is called after each step of the simulation. `before` keeps its values until the
    next step. An action is (B, ...): int64 for discrete spaces, float64 for a box.

    :cvar action_space: of a single environment; None for forces on the actor, as the environment's settings define.
    :cvar actor: type of the entity that forces move, and that infos and memories describe; subclasses count.
    :cvar levels: default levels: any value that the setting `levels` of an environment accepts.
    :cvar usual: default settings of an environment for this task.
    :cvar only_visible: omit invisible entities from observations of factors, as in pictures.
    """

    action_space: spaces.Space[Any] | None = None
    actor: type[Entity] = GolfBall
    levels: Any = "empty-easy"
    usual: Mapping[str, Any] = {}
    only_visible = False

    def __init__(
        self,
        action_space: spaces.Space[Any] | None = None,
        act: Callable[[State, np.ndarray], None] | None = None,
        reward: Callable[[State, np.ndarray, State], Any] | None = None,
        done: Callable[[State, np.ndarray, State], Any] | None = None,
        info: Callable[[State, np.ndarray, State], Mapping[str, Any]] | None = None,
        success: Callable[[State, np.ndarray, State], Any] | None = None,
        actor: type[Entity] | None = None,
        levels: Any = None,
        name: str | None = None,
    ) -> None:
        """Keep the class's own value for each argument that is None."""
        given = {
            "action_space": action_space, "act": act, "reward": reward, "done": done, "info": info, "success": success,
            "actor": actor, "levels": levels,
        }  # fmt: skip
        self.__dict__.update({each: value for each, value in given.items() if value is not None})
        self.name = name or type(self).__name__
        if not isinstance(self.action_space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | None):
            raise InputError(
                f"the task {self.name} has the action space {shown(self.action_space)}; it is a Box, Discrete or "
                "MultiDiscrete"
            )

    def act(self, state: State, action: np.ndarray) -> None:
        """Apply the actions to the factors; by default a force (B, 2) changes the actor's velocity by force / mass. A
        destroyed or immobile actor does not move."""
        state.columns[Velocity][:, state.first(self.actor), np.arange(state.num_envs)] += action.T * self.push(state)

    def push(self, state: State) -> np.ndarray:
        """Return (B,), the change of the actor's velocity per unit of force."""
        mine = np.arange(state.num_envs)
        alive, mobile, mass = (state.columns[one][0, state.first(self.actor), mine] for one in (Alive, Mobile, Mass))
        return np.where(alive & mobile & (mass > 0), 1.0 / np.where(mass > 0, mass, 1.0), 0.0)

    def reward(self, before: State, action: np.ndarray, after: State) -> Any:
        """Return the reward of the step, (B,)."""
        raise NotImplementedError

    def done(self, before: State, action: np.ndarray, after: State) -> Any:
        """Return (B,) bool, whether the episode terminates; by default never, so that only `max_steps` ends it."""
        return np.zeros(after.num_envs, dtype=bool)

    def success(self, before: State, action: np.ndarray, after: State) -> Any:
        """Return (B,) bool, whether the task is solved, called when an episode ends; by default never."""
        return np.zeros(after.num_envs, dtype=bool)

    def info(self, before: State, action: np.ndarray, after: State) -> Mapping[str, Any]:
        """Return additional infos by name, each (B, ...)."""
        return {}

    def check(self, state: State) -> None:
        """Check the scenes. :raises InputError: a scene lacks an entity that the task needs; by default the actor."""
        check_number(state, self, self.actor)


def check_number(state: State, task: Task, kind: type[Entity], *, only: bool = False) -> None:
    """Count a type. :raises InputError: a scene has no entity of the type, or, with `only`, more than one."""
    counts = state.is_a(kind).sum(axis=0)
    wrong = (counts != 1) if only else (counts == 0)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        wanted = f"one {kind.__name__}" if only else f"a {kind.__name__}"
        raise InputError(f"{task.name} needs {wanted} in a scene; scene {i} has {counts[i]}")


class PuttPutt(Task):
    """Bring the golf ball to the goal.

    :cvar squared: whether the reward is minus the squared distance, else minus the distance.
    :cvar reached: maximal distance at which the goal counts as reached, in diagonals of the arena.
    :cvar fastest_at_goal: maximal speed at which the goal counts as reached; None for any speed.
    """

    squared = True
    reached = REACHED
    fastest_at_goal: float | None = None

    def distance(self, state: State) -> np.ndarray:
        """Return (B,), the distance from the ball to the goal in diagonals of the arena."""
        x, y = (state.of(GolfBall, Position) - state.of(GoalTile, Position)).T
        return np.sqrt(x * x + y * y) / diagonal(state)

    def at_goal(self, state: State) -> np.ndarray:
        """Return (B,) bool, whether the ball has reached the goal, slowly enough."""
        reached = self.distance(state) <= self.reached
        if self.fastest_at_goal is not None:
            v = state.of(GolfBall, Velocity)
            reached &= np.sqrt((v * v).sum(axis=1)) <= self.fastest_at_goal
        return reached

    def reward(self, before: State, action: np.ndarray, after: State) -> np.ndarray:
        """Return -D^2 (or -D), -100 more once the ball is destroyed."""
        far = self.distance(after)
        return -(far * far if self.squared else far) + np.where(after.of(GolfBall, Alive), 0.0, DEATH)

    def done(self, before: State, action: np.ndarray, after: State) -> np.ndarray:
        """Terminate once the ball is destroyed, in a hole, or at the goal."""
        return ~after.of(GolfBall, Alive) | after.of(GolfBall, Done) | self.at_goal(after)

    def success(self, before: State, action: np.ndarray, after: State) -> np.ndarray:
        return self.at_goal(after) & after.of(GolfBall, Alive) & ~after.of(GolfBall, Done)

    def info(self, before: State, action: np.ndarray, after: State) -> dict[str, np.ndarray]:
        return {"distance": self.distance(after)}

    def check(self, state: State) -> None:
        for kind in (GolfBall, GoalTile):
            check_number(state, self, kind, only=True)


class PuttPuttNegDist(PuttPutt):
    """Bring the golf ball to the goal; the reward is minus the distance."""

    squared = False


class Gates(PuttPutt):
    """Bring the golf ball through the gate that lets it through, to the goal.

    In PuttPutt falling into a hole ends all costs, so that it pays. Here the reward is 1 at the goal, -1 for a lost
    ball, plus half of the decrease in distance, and -0.01 per step.
    """

    levels = "gates-2"
    usual = {"directions": 16, "max_steps": 30, "observation": "names"}  # noqa: RUF012
    reached = 0.05

    def reward(self, before: State, action: np.ndarray, after: State) -> np.ndarray:
        lost = ~after.of(GolfBall, Alive) | after.of(GolfBall, Done)
        nearer = self.distance(before) - self.distance(after)
        return 1.0 * self.success(before, action, after) - lost + 0.5 * nearer - 0.01


class Invisiball(PuttPutt):
    """Bring a golf ball, which is visible only before the first action, to the goal."""

    levels = "invisiball"
    only_visible = True

    def act(self, state: State, action: np.ndarray) -> None:
        super().act(state, action)
        state.columns[Visible][0, state.first(self.actor), np.arange(state.num_envs)] = False


class Billiards(Task):
    """Bring the balls into the holes with the cue ball."""

    actor = CueBall
    levels = "billiards"

    def nearest(self, state: State) -> np.ndarray:
        """Return (N, B), the distance of each thing to the nearest hole in diagonals of the arena."""
        x = state.columns[Position]
        apart = np.sqrt(((x[:, :, None] - x[:, None]) ** 2).sum(axis=0)) / diagonal(state)
        return np.where(state.is_a(Hole)[None], apart, np.inf).min(axis=1)

    def left(self, state: State, nearest: np.ndarray) -> np.ndarray:
        """Return (N, B) bool, which things are balls still in the game."""
        potted = nearest * diagonal(state) <= POTTED
        return state.is_a(Ball) & state.columns[Alive][0] & ~state.columns[Done][0] & ~potted

    def reward(self, before: State, action: np.ndarray, after: State) -> np.ndarray:
        """Return minus the sum over balls of the squared distance to the nearest hole, -100 more once the cue ball is
        destroyed."""
        squares = np.where(after.is_a(Ball), self.nearest(after) ** 2, 0.0).sum(axis=0)
        return -squares + np.where(after.of(CueBall, Alive), 0.0, DEATH)

    def done(self, before: State, action: np.ndarray, after: State) -> np.ndarray:
        """Terminate once the cue ball is destroyed or in a hole, or no ball is left."""
        lost = ~after.of(CueBall, Alive) | after.of(CueBall, Done)
        return lost | ~self.left(after, self.nearest(after)).any(axis=0)

    def success(self, before: State, action: np.ndarray, after: State) -> np.ndarray:
        playing = after.of(CueBall, Alive) & ~after.of(CueBall, Done)
        return playing & ~self.left(after, self.nearest(after)).any(axis=0)

    def info(self, before: State, action: np.ndarray, after: State) -> dict[str, np.ndarray]:
        nearest = self.nearest(after)
        return {"distance": np.where(self.left(after, nearest), nearest, 0.0).sum(axis=0)}

    def check(self, state: State) -> None:
        check_number(state, self, CueBall, only=True)
        if not state.is_a(Ball).any() or not state.is_a(Hole).any(axis=0).all():
            raise InputError(f"{self.name} needs a Ball and a Hole in each scene")


TASKS: dict[str, Task] = {kind.__name__: kind() for kind in (PuttPutt, PuttPuttNegDist, Gates, Invisiball, Billiards)}


def read_task(given: Any) -> Task:
    """Return the task of a name in `TASKS`, of "module:name", or the task itself; a class is called without arguments.

    :raises InputError: no such task.
    """
    if isinstance(given, str):
        if given in TASKS:
            return TASKS[given]
        if ":" not in given:
            raise InputError(
                f"there is no task {shown(given)}; there are {', '.join(TASKS)}, and one of your own is MODULE:NAME"
            )
        given = of_module(given, "task", _is_task, "task")
    if not _is_task(given):
        raise InputError(f"task is {shown(given)}; it is a Task, or the name of one")
    return given() if isinstance(given, type) else given


def _is_task(given: Any) -> bool:
    return isinstance(given, Task) or (isinstance(given, type) and issubclass(given, Task))


def diagonal(state: State) -> np.ndarray:
    """Return the diagonal of the arena, (B,), the unit of distances."""
    return np.sqrt(2.0) * (state.walls[1] - state.walls[0])


class Simulator(PhysicsSimulator):
    """The simulator of `gumption.envs.physics.simulator`, with actions, reward and termination of a task.

    sim = Simulator({"entities": [{"type": "GolfBall"}, {"type": "GoalTile", "factors": {"Position": [0.5, 0]}}]},
                    task="PuttPutt")
    sim.act([1.0, 0.0])
    sim.step(5)
    sim.reward(), sim.done()
    """

    def __init__(
        self,
        scenes: Mapping[str, Any] | Scene | Sequence[Mapping[str, Any] | Scene] | State,
        preset: Preset = "fixed",
        task: str | Task | None = None,
        device: str | None = None,
    ) -> None:
        """:param task: "PuttPutt", "PuttPuttNegDist", "Gates", "Invisiball", "Billiards", or your own.
        :raises InputError: as the physics simulator; no such task, or a scene lacks an entity that the task needs.
        """
        super().__init__(scenes, preset, device)
        self.task = None if task is None else read_task(task)
        self._before: tuple[State, np.ndarray] | None = None
        if self.task is not None:
            self.task.check(self.arrays)

    def act(self, action: Any) -> None:
        """Apply an action; (B, ...) for a batch. Reward and termination then refer to the steps after it.

        :raises InputError: no task, a simulator on a device, or an action of another shape or without numbers.
        """
        task, state = self._with_task(), self.arrays
        if self.device is not None:
            raise InputError("actions change arrays of NumPy: make the simulator without device=")
        shape = (2,) if task.action_space is None else task.action_space.shape or ()
        try:
            given = np.asarray(action)
        except (ValueError, TypeError):  # rows of several lengths
            given = np.array(None)
        given = given if self.batched else given[None]
        if given.shape != (state.num_envs, *shape) or given.dtype.kind not in "iuf":
            raise InputError(f"the action is {shown(action)}; it is numbers of the shape {shape} for each scene")
        self._before = state.snapshot(), given
        task.act(state, given)

    def reward(self) -> Any:
        """Return the current reward, a float; (B,) for a batch."""
        return self._told("reward", float)

    def done(self) -> Any:
        """Return whether the task has terminated, a bool; (B,) for a batch."""
        return self._told("done", bool)

    def success(self) -> Any:
        """Return whether the task is solved, a bool; (B,) for a batch."""
        return self._told("success", bool)

    def _with_task(self) -> Task:
        if self.task is None:
            raise InputError(f"this simulator has no task; give one of {', '.join(TASKS)} as task=")
        return self.task

    def _told(self, question: str, kind: type) -> Any:
        task, state = self._with_task(), self.arrays
        if self._before is None:
            shape = (2,) if task.action_space is None else task.action_space.shape or ()
            self._before = state.snapshot(), np.zeros((state.num_envs, *shape))
        values = of_task(task, question, *self._before, state).astype(kind)
        return values if self.batched else values[0].item()


def of_task(task: Task, question: str, before: State, action: np.ndarray, after: State) -> np.ndarray:
    """Call a task's function, "reward", "done" or "success", and return its values (B,).

    :raises InputError: another shape, or a reward that is not finite.
    """
    found = np.asarray(getattr(task, question)(before, action, after))
    if found.shape != (after.num_envs,) or found.dtype.kind not in "biuf":
        raise InputError(
            f"{question} of the task {task.name} has the shape {found.shape} of {found.dtype}; it is a number for each "
            f"of the {after.num_envs} environments, of the shape ({after.num_envs},)"
        )
    if question == "reward" and not np.isfinite(found).all():
        raise InputError(f"reward of the task {task.name} is not finite: {shown(found)}")
    return found if question == "reward" else found.astype(bool, copy=False)
