"""What a command plays: the tasks by name, and the rules."""

from dataclasses import asdict

from gumption.data.settings import Count, Seed, settings

from .curriculum import Curriculum
from .rules import Rules
from .settings import GradualSettings


@settings
class SessionSettings(Rules):
    """What is played.

    :ivar tasks: names of tasks with commas between them, or a curriculum: "challenge", "extended", "hexadecimal",
        "small_world", or the path of a .toml or .json file.
    :ivar success_threshold: successes in a row that end a task; the challenge's is 5.
    :ivar seed: fixes all that is drawn.
    """

    tasks: tuple[str, ...] = ("challenge",)
    success_threshold: Count | None = None
    seed: Seed = 0

    def curriculum(self) -> Curriculum:
        """The tasks in order.

        :raises InputError: an unknown name, or none.
        """
        tasks = self.tasks[0] if len(self.tasks) == 1 else self.tasks
        return GradualSettings(tasks=tasks, success_threshold=self.success_threshold, **asdict(self.rules)).curriculum()
