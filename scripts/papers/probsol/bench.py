"""ProbSol in `gumption bench`: runs to rest, relative to the same tables step by step in arrays; and resets,
observations and masks, relative to CartPole.

Rates use wall-clock time, since the tables of a batch run on all cores; the details contain rates by CPU time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from gumption.scripts.measurement import BenchSettings, Case, Measurement, cart_pole, compared, in_turn

if TYPE_CHECKING:
    import numpy as np

    from gumption.envs.probsol.tasks import Task

DISCS, BATCH, SECONDS = 12, 256, 1.0
FEW = 16  # tables of the yardstick, which all run as long as the slowest table
ARRAYS = f"step by step in arrays, {FEW} tables"
POLE, POLE_STEPS = "1,000 steps of CartPole-v1", 1000
#: Targets, as ratios to the yardstick: of actions on two cores, of a reset, of observation and mask of all tables.
MIX, ALL, ONE, RESET, TOLD = 170, 45, 16, 0.25, 0.43
#: A workload: seconds to run -> number of actions, wall-clock seconds, seconds of CPU time.
Play = Callable[[float], tuple[int, float, float]]


def probsol_case(settings: BenchSettings) -> Iterator[Measurement]:
    """Measure random actions, tables of random discs, a single table, a reset, and observations with masks."""
    pole = cart_pole(process_time)
    what = f"ProbSol, `mix`: random open actions, 6 discs placed and 6 stored, {BATCH} tables"
    yield _rate(settings, what, mixed(BATCH), mixed(FEW, compiled=False), MIX)
    what = f"ProbSol, `all`: 12 discs put down at random places, {BATCH} tables"
    yield _rate(settings, what, thrown(BATCH), thrown(FEW, compiled=False), ALL)
    yield _rate(settings, "ProbSol, `mix`, one table", mixed(1), mixed(1, compiled=False), ONE)
    yield _duration(settings, "ProbSol, reset of a designed task", _resets(), pole, RESET)
    yield _duration(settings, f"ProbSol, observation and mask of {BATCH} tables", _told(), pole, TOLD)


CASES = {
    "probsol": Case(
        probsol_case, title="ProbSol", code=("envs/probsol", "envs/physics", "scripts/papers/probsol/bench.py")
    )
}


def table(rng: np.random.Generator, stored: int) -> Task:
    """Make a task with twelve random discs: `stored` discs in the side bar, the others at free points of the grid."""
    from math import dist

    from gumption.envs.probsol.magnets import RADIUS
    from gumption.envs.probsol.tasks import CELL, GRID, MAGNETISM, MASS, POLARITIES, read_task

    points: list[list[float]] = []
    while len(points) < DISCS:
        point = [CELL * (each + 0.5) for each in rng.integers(1, GRID - 1, 2).tolist()]
        if all(dist(point, other) >= 2 * RADIUS for other in points):
            points.append(point)
    objects = [
        {
            "id": f"d{k}", "color": f"#{k:06x}", "mass": str(rng.choice(list(MASS))),
            "magnetism": str(rng.choice(list(MAGNETISM))), "polarity": str(rng.choice(POLARITIES)),
            "boundary": 45 * int(rng.integers(8)), **({"stored": k} if k < stored else {"at": point}),
        }
        for k, point in enumerate(points)
    ]  # fmt: skip
    return read_task({"schema": 1, "name": "bench/0", "family": "Sandbox", "objects": objects})


def mixed(batch: int, compiled: bool = True) -> Play:
    """Make a workload of random open actions in environments; drawing the actions is not timed."""
    import numpy as np

    from gumption.envs.probsol.env import ProbSolVectorEnv

    rng = np.random.default_rng(0)
    env = ProbSolVectorEnv(batch, task=[table(rng, 6) for _ in range(batch)], max_actions=10**6)
    env.tables.compiled = compiled
    env.reset(seed=0)

    def draw() -> np.ndarray:
        mask = env.action_mask()
        return (rng.random(mask.shape) * mask).argmax(axis=1)

    return _timed(batch, draw, env.step)


def thrown(batch: int, compiled: bool = True) -> Play:
    """Make a workload of tables with all discs at random places, which run until they rest; each run is an action."""
    import numpy as np

    from gumption.envs.probsol.engine import LONGEST_SECONDS, Tables
    from gumption.envs.probsol.magnets import FRAMERATE

    rng = np.random.default_rng(1)
    tables = Tables([table(rng, 0) for _ in range(batch)], batch, DISCS, DISCS, compiled=compiled)
    every, longest = np.arange(batch), np.full(batch, int(LONGEST_SECONDS * FRAMERATE))

    def run(_: Any) -> None:
        tables.begin(every, every, [0] * batch)
        tables.run(longest)

    return _timed(batch, lambda: None, run)


def _timed(batch: int, draw: Callable[[], Any], act: Callable[[Any], Any]) -> Play:
    """Make a workload from calls of `act` with `batch` actions each; only `act` is timed."""

    def play(seconds: float) -> tuple[int, float, float]:
        actions, passed, used = 0, 0.0, 0.0
        while passed < seconds:
            drawn = draw()
            started, busy = perf_counter(), process_time()
            act(drawn)
            passed, used, actions = passed + perf_counter() - started, used + process_time() - busy, actions + batch
        return actions, passed, used

    return play


def _rate(settings: BenchSettings, what: str, play: Play, slow: Play, target: float) -> Measurement:
    """Time ours and the yardstick in turn; the yardstick once per two runs of ours, because it takes seconds."""
    settings.tell(what)
    play(0.1)  # the first calls include imports, compilation and allocation
    ours, theirs = [], []
    for repeat in range(settings.repeats):
        ours.append(play(SECONDS))
        if repeat % 2 == 0:
            theirs.append(slow(SECONDS))
    rates, yardsticks = ([many / passed for many, passed, _ in each] for each in (ours, theirs))
    by_cpu = {"actions a second of CPU time": median(many / used for many, _, used in ours)}
    return compared(what, "actions/s", rates, ARRAYS, yardsticks, target, details=by_cpu)


def _resets() -> Callable[[], float]:
    import gymnasium as gym

    import gumption.envs  # noqa: F401  (registers)

    env = gym.make("gumption/ProbSol-v0", task="fishing/0")

    def once() -> float:
        started = process_time()
        for _ in range(20):
            env.reset(seed=0)
        return (process_time() - started) / 20

    return once


def _told() -> Callable[[], float]:
    import numpy as np

    from gumption.envs.probsol.env import ProbSolVectorEnv

    rng = np.random.default_rng(2)
    env: Any = ProbSolVectorEnv(BATCH, task=[table(rng, 6) for _ in range(BATCH)])
    env.reset(seed=0)
    none, idle = np.full(BATCH, env.labels.num_actions - 2), np.zeros(BATCH, dtype=bool)

    def once() -> float:
        env.tables.act(none, idle)  # clears the cached mask and distance
        started = process_time()
        env.observe()
        env.action_mask()
        return process_time() - started

    return once


def _duration(
    settings: BenchSettings, what: str, once: Callable[[], float], pole: Callable[[float], float], target: float
) -> Measurement:
    settings.tell(what)
    once()
    ours, theirs = in_turn(settings.repeats, lambda: median(once() for _ in range(5)), lambda: POLE_STEPS / pole(0.2))
    return compared(what, "s", ours, POLE, theirs, target)
