"""SEGAR's tasks: what the agent moves, and reward and end as functions of the state (section 4.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.settings import check, shown
from gumption.envs.physics.entities import Ball, CueBall, Entity, GoalTile, GolfBall, Hole
from gumption.envs.physics.factors import Alive, Done, Factor, Position, Velocity, Visible
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.simulator import Preset
from gumption.envs.physics.simulator import Simulator as PhysicsSimulator
from gumption.envs.physics.state import State

#: The reward for destroying the ball.
DEATH = -100.0
#: The goal is reached at this distance, in diagonals of the arena.
REACHED = 1e-2
#: A ball this close to the middle of a hole is out of the game.
POTTED = 1e-4


class Standing(NamedTuple):
    """How a task stands in B environments.

    :ivar reward: (B,) of the latest step; `over`, `success` (B,) bool; `distance` (B,) in diagonals of the arena.
    """

    reward: np.ndarray
    over: np.ndarray
    success: np.ndarray
    distance: np.ndarray


@dataclass(frozen=True)
class Task:
    """A task.

    :ivar name: of its environment.
    :ivar configuration: its usual levels.
    :ivar actor: the type of the entity that the agent moves.
    :ivar hides_actor: the actor is visible only before the first action.
    """

    name: str
    configuration: str
    actor: type[Entity]
    hides_actor: bool = False

    def standing(self, state: State) -> Standing:
        """How it stands now."""
        raise NotImplementedError

    def check(self, state: State) -> None:
        """:raises InputError: a scene lacks what the task needs."""
        raise NotImplementedError


@dataclass(frozen=True)
class PuttPutt(Task):
    """Bring the golf ball to the goal.

    :ivar squared: the reward is minus the squared distance, else minus the distance.
    :ivar fastest_at_goal: a faster ball has not reached the goal; None for any speed.
    """

    configuration: str = "empty-easy"
    actor: type[Entity] = GolfBall
    squared: bool = True
    fastest_at_goal: float | None = None

    def standing(self, state: State) -> Standing:
        """Reward -D^2 (or -D), -100 once the ball is destroyed; over when it is, or in a hole, or at the goal."""
        ball, goal = state.first_places(GolfBall), state.first_places(GoalTile)
        between = _of(state, Position, ball) - _of(state, Position, goal)
        far = np.sqrt((between * between).sum(axis=0)) / diagonal(state)
        dead, done = ~_of(state, Alive, ball)[0], _of(state, Done, ball)[0]
        reached = far <= REACHED
        if self.fastest_at_goal is not None:
            v = _of(state, Velocity, ball)
            reached &= np.sqrt((v * v).sum(axis=0)) <= self.fastest_at_goal
        reward = -(far * far if self.squared else far) + np.where(dead, DEATH, 0.0)
        return Standing(reward, dead | done | reached, reached & ~dead & ~done, far)

    def check(self, state: State) -> None:
        _check_one(state, self.name, GolfBall, GoalTile)


@dataclass(frozen=True)
class Billiards(Task):
    """Bring the balls into the holes with the cue ball."""

    name: str = "Billiards"
    configuration: str = "billiards"
    actor: type[Entity] = CueBall

    def standing(self, state: State) -> Standing:
        """Reward minus the sum over balls of the squared distance to the nearest hole, -100 once the cue ball is
        destroyed; over when it is, or in a hole, or when no ball is left.
        """
        cue = state.first_places(CueBall)
        balls, holes = state.is_a(Ball), state.is_a(Hole)
        x = state.columns[Position]
        apart = np.sqrt(((x[:, :, None] - x[:, None]) ** 2).sum(axis=0)) / diagonal(state)
        nearest = np.where(holes[None], apart, np.inf).min(axis=1)
        out = ~state.columns[Alive][0] | state.columns[Done][0] | (nearest * diagonal(state) <= POTTED)
        dead, done = ~_of(state, Alive, cue)[0], _of(state, Done, cue)[0]
        reward = -np.where(balls, nearest**2, 0.0).sum(axis=0) + np.where(dead, DEATH, 0.0)
        won = (out | ~balls).all(axis=0)
        left = np.where(balls & ~out, nearest, 0.0).sum(axis=0)
        return Standing(reward, dead | done | won, won & ~dead & ~done, left)

    def check(self, state: State) -> None:
        _check_one(state, self.name, CueBall)
        if not state.is_a(Ball).any() or not state.is_a(Hole).any(axis=0).all():
            raise InputError(f"{self.name} needs a Ball and a Hole in each scene")


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        PuttPutt("PuttPutt"),
        PuttPutt("PuttPuttNegDist", squared=False),
        PuttPutt("Invisiball", hides_actor=True, configuration="invisiball"),
        Billiards(),
    )
}


def hide(state: State, slots: np.ndarray) -> None:
    """Make the entity in one slot of each scene invisible."""
    state.columns[Visible][0, slots, np.arange(state.num_envs)] = False


def _of(state: State, factor: type[Factor], places: np.ndarray) -> np.ndarray:
    """(d, B) the factor of the entities at these `State.first_places`."""
    column = state.columns[factor]
    # An index into one axis takes less time than one into two.
    return column.reshape(len(column), -1).take(places, axis=1)


def diagonal(state: State) -> np.ndarray:
    """(B,) of the arena: the unit of distances."""
    return np.sqrt(2.0) * (state.walls[1] - state.walls[0])


def _check_one(state: State, task: str, *kinds: type[Entity]) -> None:
    for kind in kinds:
        counts = state.is_a(kind).sum(axis=0)
        if (counts != 1).any():
            i = int(np.flatnonzero(counts != 1)[0])
            raise InputError(f"{task} needs one {kind.__name__} in a scene; scene {i} has {counts[i]}")


class Simulator(PhysicsSimulator):
    """The simulator of `gumption.envs.physics.simulator`, with reward and end of a task.

    sim = Simulator({"entities": [{"type": "GolfBall"}, {"type": "GoalTile", "factors": {"Position": [0.5, 0]}}]},
                    task="PuttPutt")
    sim.step()
    sim.reward(), sim.done()
    """

    def __init__(
        self,
        scenes: Mapping[str, Any] | Scene | Sequence[Mapping[str, Any] | Scene] | State,
        preset: Preset = "fixed",
        task: str | None = None,
        device: str | None = None,
    ) -> None:
        """:param task: "PuttPutt", "PuttPuttNegDist", "Invisiball" or "Billiards".
        :raises InputError: as the simulator of the physics; no such task, or a scene that lacks what the task needs.
        """
        super().__init__(scenes, preset, device)
        if check("task", task, str | None) is not None and task not in TASKS:
            raise InputError(f"there is no task {shown(task)}; there are {', '.join(TASKS)}")
        self.task = None if task is None else TASKS[task]
        if self.task is not None:
            self.task.check(self.arrays)

    def reward(self) -> Any:
        """The reward now, a float; of a batch (B,)."""
        return self._told(self._standing().reward)

    def done(self) -> Any:
        """Whether the task is over, a bool; of a batch (B,)."""
        return self._told(self._standing().over)

    def success(self) -> Any:
        """Whether the task is solved, a bool; of a batch (B,)."""
        return self._told(self._standing().success)

    def _standing(self) -> Standing:
        if self.task is None:
            raise InputError(f"this simulator has no task; give one of {', '.join(TASKS)} as task=")
        return self.task.standing(self.arrays)

    def _told(self, values: Any) -> Any:
        return values if self.batched else values[0].item()
