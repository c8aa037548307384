"""What `gumption bench` measures: each case times something of ours beside a yardstick in the same run, so that figures
of two machines can be compared by their ratios."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from gumption.data import InputError

from .measurement import BenchSettings, CartPoleRandom, Measurement


def env_case(settings: BenchSettings) -> Iterator[Measurement]:
    """Random valid actions in a batch and in one environment, against one Gymnasium CartPole-v1."""
    batch, single, cartpole = [], [], []
    vector, one, pole = _VectorRandom(settings), _SingleRandom(settings), CartPoleRandom()
    for play in (vector, one, pole):
        play(0.2)  # first calls pay for imports, caches and memory
    for _ in range(settings.repeats):  # in turn, so that a busy moment of the machine hits all three
        batch.append(vector(1.0))
        single.append(one(0.5))
        cartpole.append(pole(0.5))
    rate, yardstick = median(batch), median(cartpole)
    name = "one CartPole-v1, random actions"
    yield Measurement(
        f"WordCraft random steps, batch of {settings.num_envs}, depth 1, 8 distractors",
        "steps/s",
        rate,
        max(batch),
        name,
        yardstick,
        rate / yardstick,
        "5,000,000 steps/s and 30 times CartPole",
        rate >= 5e6 and rate / yardstick >= 30,
        {"episodes_per_step": vector.episodes / vector.steps, "success": vector.successes / vector.episodes},
    )
    rate = median(single)
    yield Measurement(
        "WordCraft random steps, one environment by gym.make",
        "steps/s",
        rate,
        max(single),
        name,
        yardstick,
        rate / yardstick,
        "20,000 steps/s",
        rate >= 20_000,
    )


def train_case(settings: BenchSettings) -> Iterator[Measurement]:
    """The paper's training length with evaluation, preset fast, no KG, 8 distractors; once, whatever the repeats."""
    from gumption.agents.impala import TrainConfig, train_impala

    pole = CartPoleRandom()
    pole(0.2)
    before = pole(1.0)
    config = TrainConfig(
        recipe_book=settings.recipe_book,
        num_distractors=8,
        preset="fast",
        total_steps=settings.total_steps,
        device=settings.device,
        word_vectors=settings.word_vectors,
    )
    with TemporaryDirectory() as folder:
        started = perf_counter()
        result = train_impala(config, run_dir=Path(folder) / "run", progress=False)
        seconds = perf_counter() - started
    yardstick = median([before, pole(1.0)])
    rate = settings.total_steps / seconds
    yield Measurement(
        f"training with evaluation, {settings.total_steps:,} steps on {settings.device}",
        "frames/s",
        rate,
        rate,
        "one CartPole-v1, random actions",
        yardstick,
        rate / yardstick,
        "3,000,000 steps in 60 s",
        3e6 / rate <= 60 if settings.total_steps >= 3e6 else None,
        {"seconds": seconds, "test_success": result.final["test_success"]},
    )


def complex_case(settings: BenchSettings) -> Iterator[Measurement]:
    """ComplEx on the facts of the training recipes, against PyKEEN's ComplEx for as many epochs."""
    from gumption.envs.wordcraft import facts
    from gumption.kg import ComplEx, Vocabulary, evaluate_ranking

    from .pykeen_peer import train_pykeen

    triples = list(facts(settings.recipe_book, split="train"))
    started = perf_counter()
    model = ComplEx.fit(triples, seed=0, device=settings.device)
    seconds = perf_counter() - started
    mrr = evaluate_ranking(model, triples, known=[triples])["mrr"]
    vocabulary = Vocabulary.from_triples(triples)
    ids = vocabulary.triples_to_ids(triples)
    peer = train_pykeen(vocabulary, ids, rank=128, epochs=3, batch_size=512, clock=perf_counter)
    epoch = median(peer.epoch_seconds)
    yield Measurement(
        f"ComplEx on {len(triples):,} training facts, {settings.device}",
        "s",
        seconds,
        seconds,
        "PyKEEN's ComplEx, one epoch",
        epoch,
        seconds / epoch,
        "20 s and a filtered MRR on these facts above 0.9",
        seconds < 20 and mrr > 0.9,
        {"mrr_training_facts": mrr},
    )


def help_case(settings: BenchSettings) -> Iterator[Measurement]:
    """How long `gumption --help` takes, against starting Python for nothing."""
    ours = [sys.executable, "-c", "from gumption.scripts.cli import main; main()", "--help"]
    nothing = [sys.executable, "-c", "pass"]
    _seconds(ours)  # writes the byte code once
    pairs = [(_seconds(ours), _seconds(nothing)) for _ in range(settings.repeats)]
    seconds, yardstick = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    yield Measurement(
        "gumption --help",
        "s",
        seconds,
        min(pair[0] for pair in pairs),
        "starting Python",
        yardstick,
        seconds / yardstick,
        "0.5 s",
        seconds < 0.5,
        {"seconds_beyond_python": seconds - yardstick},
    )


def kg_case(settings: BenchSettings) -> Iterator[Measurement]:
    """Training, ranking and stores of the knowledge-graph layer, beside PyKEEN and rdflib."""
    from .bench_kg import kg_case

    return kg_case(settings)


def halma_case(settings: BenchSettings) -> Iterator[Measurement]:
    """HALMA's environments, mazes, tests and training."""
    from .bench_halma import halma_case

    return halma_case(settings)


CASES: dict[str, Callable[[BenchSettings], Iterator[Measurement]]] = {
    "env": env_case,
    "train": train_case,
    "complex": complex_case,
    "kg": kg_case,
    "halma": halma_case,
    "help": help_case,
}


def find_cases(name: str | None) -> list[str]:
    """The case of that name, or all of them; InputError for another name."""
    if name is None:
        return list(CASES)
    if name not in CASES:
        raise InputError(f"no bench case is called {name!r}; known are: {', '.join(CASES)}")
    return [name]


class _VectorRandom:
    """Plays a batch of WordCraft environments with random valid actions through the lean step."""

    def __init__(self, settings: BenchSettings) -> None:
        from gumption.envs.wordcraft import WordCraftVectorEnv

        self.env = WordCraftVectorEnv(
            settings.num_envs, recipe_book=settings.recipe_book, depth=1, num_distractors=8, features=None
        )
        self.env.reset(seed=0)
        self.steps = self.episodes = self.successes = 0

    def __call__(self, seconds: float) -> float:
        """Steps per second over about so many seconds, drawing the actions included."""
        env, steps = self.env, 0
        started = perf_counter()
        while (passed := perf_counter() - started) < seconds:
            for _ in range(16):
                _, done, success = env.step_arrays(env.random_actions())
                self.episodes += int(done.sum())
                self.successes += int(success.sum())
            steps += 16 * env.num_envs
        self.steps += steps
        return steps / passed


class _SingleRandom:
    """Plays one WordCraft environment made by gym.make with random valid actions."""

    def __init__(self, settings: BenchSettings) -> None:
        import gymnasium
        import numpy as np

        import gumption.envs  # noqa: F401  registers the environments

        self.env = gymnasium.make(
            "gumption/WordCraft-v0", recipe_book=settings.recipe_book, depth=1, num_distractors=8, features=None
        )
        self.env.reset(seed=0)
        self.draws = np.random.default_rng(0).random(1024).tolist()

    def __call__(self, seconds: float) -> float:
        """Steps per second over about so many seconds, resets and drawing the actions included."""
        env, steps = self.env, 0
        _, info = env.reset()
        started = perf_counter()
        while (passed := perf_counter() - started) < seconds:
            for draw in self.draws:
                _, _, terminated, truncated, info = env.step(int(draw * len(info["table"])))
                if terminated or truncated:
                    _, info = env.reset()
            steps += len(self.draws)
        return steps / passed


def _seconds(command: Sequence[str]) -> float:
    started = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - started
