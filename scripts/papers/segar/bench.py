"""SEGAR in `gumption bench`: the simulator, the environment with pictures, and the compilation of rules.

Rates are steps per second of CPU time, next to CartPole's; of wall time for torch, as devices run asynchronously.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter, process_time
from typing import Any

from gumption.scripts.measurement import POLE, BenchSettings, Case, Measurement, cart_pole, compared, in_turn, rate

SECONDS = 0.5
#: Levels -> target rates in batches of 64 and 512, as multiples of CartPole's steps per second.
SIMULATED = {
    "empty-medium": (2.4, 12),
    "objectsx3-medium": (1.1, 2.4),
    "tilesx3-medium": (1.9, 7.2),
    "billiards": (0.37, 0.48),
}
BATCHES = (64, 512)
LARGE = 65_536  # scenes on a GPU
PUSHES, PUSHES_IN_TORCH_ON_CPU = 50, 5  # per episode
#: Levels whose environment steps are timed, with pictures, in a batch of 64; target as a multiple of CartPole's rate.
PLAYED = ("empty-medium", "objectsx3-medium", "tilesx3-medium")
PLAYED_TARGET = 0.2
COMPILING = 26  # target: at most this multiple of the time to read the scene


def segar_case(settings: BenchSettings) -> Iterator[Measurement]:
    """Time random pushes in batches of scenes, in environments, and the compilation of rules."""
    pole, pole_by_clock = cart_pole(process_time), cart_pole()
    for name, targets in SIMULATED.items():
        for batch, target in zip(BATCHES, targets, strict=True):
            settings.tell(f"{batch} scenes of {name}")
            what = f"SEGAR, {batch} scenes of {name}, simulation steps"
            yield _rates(what, simulated(name, batch), pole, settings.repeats, target)
    yield from _on_device(settings, pole_by_clock)
    for name in PLAYED:
        settings.tell(f"64 environments of {name}")
        what = f"SEGAR, 64 environments of {name}, 64 x 64 pictures, 5 simulation steps each"
        yield _rates(what, played(name, 64), pole, settings.repeats, PLAYED_TARGET)
    settings.tell("compiling")
    yield _compiling(settings.repeats)


CASES = {"segar": Case(segar_case, title="SEGAR", code=("envs/segar", "envs/physics", "scripts/papers/segar/bench.py"))}


def simulated(name: str, batch: int) -> Callable[[float], float]:
    """Return a measurement of simulation steps per second with random pushes, as in the environments of the 2022 code;
    scenes restart after 250 steps.
    """
    import numpy as np

    from gumption.envs.physics.factors import Velocity
    from gumption.envs.physics.simulator import Simulator
    from gumption.envs.physics.state import State
    from gumption.envs.segar.configurations import draw_levels

    levels = State(draw_levels(name, n=batch).scenes)
    state = levels.select(np.arange(batch))
    simulator, rng = Simulator(state), np.random.default_rng(0)
    actor = next(slots[each] for slots in state.slot_of for each in ("golfball", "cueball") if each in slots)

    def episode() -> int:
        state.take(np.arange(batch), levels, np.arange(batch))
        for _ in range(PUSHES):
            state.columns[Velocity][:, actor] += rng.uniform(-2.0, 2.0, (2, batch))
            simulator.step(5)
        return 5 * PUSHES * batch

    return rate(episode, process_time)


def _on_device(settings: BenchSettings, pole: Callable[[float], float]) -> Iterator[Measurement]:
    """Time the same simulation in torch tensors, on the GPU if there is one."""
    import torch

    there = torch.cuda.is_available()
    label = f"torch on {torch.cuda.get_device_name()}" if there else "torch on the CPU"
    for name in SIMULATED:
        for batch in (BATCHES[-1], *([LARGE] if there else [])):
            settings.tell(f"{batch} scenes of {name}, {label}")
            what = f"SEGAR, {batch} scenes of {name}, simulation steps, {label}"
            yield _rates(what, simulated_in_torch(name, batch, "cuda" if there else "cpu"), pole, settings.repeats)


def simulated_in_torch(name: str, batch: int, device: str) -> Callable[[float], float]:
    """Like `simulated`, on a device; episodes are shorter on the CPU, where a step is slow."""
    import numpy as np
    import torch

    from gumption.envs.physics.factors import Velocity
    from gumption.envs.physics.simulator import Simulator
    from gumption.envs.physics.state import State
    from gumption.envs.segar.configurations import draw_levels

    drawn = State(draw_levels(name, n=min(batch, BATCHES[-1])).scenes)
    state = drawn.select(np.arange(batch) % drawn.num_envs)
    simulator, rng = Simulator(state, device=device), torch.Generator(device).manual_seed(0)
    actor = next(slots[each] for slots in state.slot_of for each in ("golfball", "cueball") if each in slots)
    start = {factor: column.clone() for factor, column in simulator.tensors.items()}
    v = simulator.tensors[Velocity][:, actor]
    pushes = PUSHES_IN_TORCH_ON_CPU if device == "cpu" else PUSHES

    def episode() -> int:
        for factor, column in simulator.tensors.items():
            column.copy_(start[factor])
        for _ in range(pushes):
            v.add_(torch.rand(v.shape, generator=rng, dtype=v.dtype, device=device), alpha=4.0).sub_(2.0)
            simulator.step(5)
        simulator.at_rest()  # waits until the device is done
        return 5 * pushes * batch

    return rate(episode)


def played(name: str, batch: int) -> Callable[[float], float]:
    """Return a measurement of environment steps per second with random actions."""
    import gymnasium as gym

    import gumption.envs  # noqa: F401  (registers)

    env: Any = gym.make_vec("gumption/PuttPutt-v0", num_envs=batch, autoreset_mode="SameStep", levels=name)
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(64)]

    def steps() -> int:
        for action in actions:
            env.step(action)
        return len(actions) * batch

    return rate(steps, process_time)


def _rates(
    what: str, play: Callable[[float], float], pole: Callable[[float], float], repeats: int, target: float | None = None
) -> Measurement:
    play(0.1)  # warm-up: imports, caches and memory
    ours, theirs = in_turn(repeats, partial(play, SECONDS), partial(pole, SECONDS))
    return compared(what, "steps/s", ours, POLE, theirs, target)


def _compiling(repeats: int) -> Measurement:
    """Time the matching of all rules against a scene of five entities, compared with reading the scene."""
    from gumption.envs.physics.scene import Scene
    from gumption.envs.physics.simulator import Simulator
    from gumption.envs.physics.state import State
    from gumption.envs.segar.configurations import draw_levels

    scene = draw_levels("objectsx3-medium").scenes[0]
    data = scene.to_data()
    pairs = []
    for _ in range(max(repeats, 3)):
        started = perf_counter()
        state = State([Scene.read(data)])
        read = perf_counter()
        Simulator(state)
        pairs.append((perf_counter() - read, read - started))
    ours, theirs = zip(*pairs, strict=True)
    what = "SEGAR, matching all rules against a scene of five entities"
    return compared(what, "s", ours, "reading the scene", theirs, COMPILING)
