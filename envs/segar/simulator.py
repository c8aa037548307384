"""The physics' simulator with SEGAR's tasks: reward and end of a scene as it is now."""

from collections.abc import Mapping, Sequence
from typing import Any

from gumption.data import InputError
from gumption.data.settings import check
from gumption.data.wording import shown
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.simulator import Preset
from gumption.envs.physics.simulator import Simulator as PhysicsSimulator
from gumption.envs.physics.state import State

from .tasks import TASKS, Standing


class Simulator(PhysicsSimulator):
    """A scene, or a batch of scenes, that moves, and tells how a task stands; see `gumption.envs.physics.simulator`.

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
        """:param device: see the simulator of the physics.
        :param task: "PuttPutt", "PuttPuttNegDist", "Invisiball" or "Billiards".
        :raises InputError: as the simulator of the physics; no such task, or a scene that lacks what the task needs.
        """
        super().__init__(scenes, preset, device)
        if check("task", task, str | None) is not None and task not in TASKS:
            raise InputError(f"there is no task {shown(task)}; there are {', '.join(TASKS)}")
        self.task = None if task is None else TASKS[task]
        if self.task is not None:
            self.task.check(self.arrays)

    def reward(self) -> Any:
        """The reward of the scene as it is now, a float; of a batch (B,)."""
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
