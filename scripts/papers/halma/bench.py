"""HALMA's cases of `gumption bench`: environments, mazes, tests made from a memory, and training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from gumption.data.settings import Count, settings
from gumption.scripts.measurement import POLE, BenchSettings, Case, Measurement, cart_pole, compared, in_turn, rate

if TYPE_CHECKING:
    from gumption.agents.halma.acting import Actor
    from gumption.agents.halma.config import HALMAConfig
    from gumption.envs.halma.memory import MemoryWriter

MANY_STEPS = 100_000  # steps of CartPole, to compare durations with
FULL_EPISODES, FULL_LIMIT = 2_000, 1_500  # one training on two cores; limit as a multiple of MANY_STEPS of CartPole
Play = Callable[[float], float]


@settings
class Settings(BenchSettings):
    """:ivar envs, episodes, slice: environments, episodes of the memory that tests are made for, and of the training
    that is measured."""

    halma_agent: Annotated[
        list[str] | None,
        typer.Option(help="Also time a whole training of this agent (minutes), alone; may be given again."),
    ] = None
    envs: Count = 1024
    episodes: Count = 2_000
    slice: Count = 64


def halma_case(settings: Settings) -> Iterator[Measurement]:
    """Measure random steps with symbols and with panels, 100 mazes, the tests of a whole run, and training.

    :raises InputError: an agent for a whole training that is unknown, or that needs a pretrained model.
    """
    from gumption.agents.halma.config import HALMAConfig

    whole = [
        HALMAConfig(agent=agent, episodes=FULL_EPISODES, device=settings.device)  # pyright: ignore[reportArgumentType]
        for agent in settings.halma_agent or ()
    ]
    pole = cart_pole()
    yield from _environments(settings, pole)
    yield _mazes(settings, pole)
    yield _tests(settings, pole)
    yield _training(settings, pole)
    for config in whole:
        yield _whole_training(config, settings, pole)


CASES = {
    "halma": Case(
        halma_case,
        Settings,
        "HALMA",
        code=("envs/halma", "agents/halma", "agents/learners", "scripts/papers/halma/bench.py"),
    )
}


def _environments(settings: Settings, pole: Play) -> Iterator[Measurement]:
    from gumption.envs.halma import HALMAVectorEnv

    def random_steps(num_envs: int, kind: str) -> Play:
        env = HALMAVectorEnv(num_envs, observation=kind)
        env.reset(seed=0)

        def step() -> int:
            env.step(env.random_actions())
            return num_envs

        return rate(step)

    shown = min(settings.envs, 64)
    symbolic, visual = random_steps(settings.envs, "symbolic"), random_steps(shown, "visual")
    for play in (symbolic, visual):
        play(0.1)  # the first calls include imports, caches and memory
    settings.tell("random steps")
    ours, panels, theirs = in_turn(settings.repeats, partial(symbolic, 1.0), partial(visual, 1.0), partial(pole, 0.5))
    what = f"HALMA random steps, symbolic, batch of {settings.envs}, observations and infos included"
    yield compared(what, "steps/s", ours, POLE, theirs, 2.8)
    what = f"HALMA random steps, visual, batch of {shown}, panels drawn"
    yield compared(what, "panels/s", panels, POLE, theirs, 0.028)


def _mazes(settings: Settings, pole: Play) -> Measurement:
    from gumption.envs.halma import Mazes, sample_mazes

    taken = []
    for seed in range(settings.repeats + 1):
        started = perf_counter()
        Mazes(sample_mazes(100, seed))
        taken.append(perf_counter() - started)
    taken.pop(0)  # includes imports
    return _duration("100 mazes and the panels of all their cells", taken, pole(0.5), 0.18)


def _tests(settings: Settings, pole: Play) -> Measurement:
    """Measure making tests. Half of the memory is random, half is of an agent that plans by facts of the first half."""
    from gumption.agents.halma.acting import RandomActor
    from gumption.agents.halma.lived import GraphPlayer, Outlook
    from gumption.envs.halma import Memory
    from gumption.envs.halma.maze import MAZES
    from gumption.envs.halma.memory import FOLDER, MemoryWriter
    from gumption.envs.halma.splits import make_splits, read_run

    episodes = settings.episodes
    settings.tell(f"a memory of {episodes:,} episodes")
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with closing(MemoryWriter(run / FOLDER, 5)) as writer:
            mazes = remember(RandomActor(5), episodes // 2, writer, first=0)
        mazes.save(run / MAZES)
        seen = Memory.load(run / FOLDER)
        knowing = GraphPlayer(Outlook.of(seen))
        with closing(MemoryWriter(run / FOLDER, 5, keep=len(seen))) as writer:
            remember(knowing, episodes - episodes // 2, writer, first=episodes // 2)
        taken, transitions, made = [], 0, {}
        for repeat in range(min(settings.repeats, 3)):
            settings.tell(f"tests for {episodes:,} episodes, {repeat + 1}")
            started = perf_counter()
            experience = read_run(run)
            splits = make_splits(experience, Path(folder) / f"splits-{repeat}", seed=repeat)
            taken.append(perf_counter() - started)
            transitions = experience.knowledge.records
            made = {test: len(splits[test]) for test in splits}
    return _duration(
        f"tests for a memory of {episodes:,} episodes ({transitions:,} moves, half of them at random), checked",
        taken,
        pole(0.5),
        110,
        {"mazes": made},
    )


def _training(settings: Settings, pole: Play) -> Measurement:
    from gumption.agents.halma.config import HALMAConfig
    from gumption.agents.halma.runs import train_halma

    settings.tell(f"a slice of training, {settings.slice} episodes")
    before = pole(0.5)
    final = train_halma(HALMAConfig(agent="mlp", episodes=settings.slice, device=settings.device), progress=False).final
    theirs = [before, pole(0.5)]
    what = f"HALMA training, MLP agent, a slice of {settings.slice} episodes on {settings.device}"
    return compared(what, "steps/s", [final["steps_per_s"]], POLE, theirs)


def _whole_training(config: HALMAConfig, settings: Settings, pole: Play) -> Measurement:
    """Measure one agent's whole training alone, with all cores."""
    from gumption.agents.halma.evaluation import label
    from gumption.agents.halma.runs import train_halma

    settings.tell(f"a whole training, {label(config)}, {config.episodes:,} episodes: minutes")
    before = pole(0.5)
    seconds = train_halma(config, progress=False).final["wall_s"]
    return _duration(
        f"HALMA training, {label(config)}, {config.episodes:,} episodes on {config.device}: one run alone",
        [seconds],
        (before + pole(0.5)) / 2,
        FULL_LIMIT,
    )


def _duration(
    what: str, taken: list[float], pole: float, limit: float, details: dict[str, Any] | None = None
) -> Measurement:
    """Compare seconds with the duration of MANY_STEPS steps of CartPole at the rate `pole`."""
    yardstick = f"{MANY_STEPS:,} steps of CartPole-v1"
    return compared(what, "s", taken, yardstick, [MANY_STEPS / pole], limit, details=details or {})


def remember(actor: Actor, episodes: int, writer: MemoryWriter, first: int) -> Any:
    """Play `episodes` episodes in the 100 mazes of seed 0, record every move, and return the `Mazes`.

    :param first: number of the first episode.
    """
    from gumption.agents.halma.acting import first_percept, next_percept
    from gumption.envs.halma import HALMAVectorEnv
    from gumption.envs.halma.memory import flags

    env = HALMAVectorEnv(min(episodes, 250))
    env.reset(seed=first)
    rng = np.random.default_rng(first)
    number = first + np.arange(env.num_envs)
    begun, percept = first + env.num_envs, first_percept(env)
    while (playing := number < first + episodes).any():
        options = actor.act(percept, rng)
        outcome = env.move(options)
        marks = flags(outcome.valid, outcome.reached, outcome.trial_over | outcome.done)
        records = (outcome.before, options, outcome.after, outcome.maze, outcome.trial, number, marks)
        writer.append(*(part[playing] for part in records))
        number[outcome.done] = begun + np.arange(outcome.done.sum())
        begun += int(outcome.done.sum())
        percept = next_percept(env, options, outcome)
    return env.mazes
