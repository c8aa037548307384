"""WordCraft in `gumption bench`: its environment, a whole training, and link prediction on the facts of its recipes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from gumption.scripts.measurement import CartPoleRandom, Case, Measurement

from .bench_settings import Settings

TITLE = "WordCraft"


def env_case(settings: Settings) -> Iterator[Measurement]:
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


def train_case(settings: Settings) -> Iterator[Measurement]:
    """The paper's training length with evaluation, preset fast, no KG, 8 distractors; once, whatever the repeats."""
    from gumption.agents.impala import train_impala
    from gumption.agents.wordcraft.config import TrainConfig

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


def complex_case(settings: Settings) -> Iterator[Measurement]:
    """ComplEx on the facts of the training recipes, against PyKEEN's ComplEx for as many epochs."""
    from gumption.envs.wordcraft import facts
    from gumption.kg import ComplEx, Vocabulary, evaluate_ranking
    from gumption.scripts.kg.pykeen_peer import train_pykeen

    triples = list(facts(settings.recipe_book, partition="train"))
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


def recipes_case(settings: Settings) -> Iterator[Measurement]:
    """Training on the facts of the recipe book, which has no validation facts, as the case kg does on other graphs."""
    from gumption.envs.wordcraft import facts
    from gumption.scripts.kg.bench_training import FactSets, training_case

    train, test = (list(facts(settings.recipe_book, partition=split)) for split in ("train", "test"))
    return training_case(settings, [FactSets("Recipe graph", train, test, [])])


def kg_scores_case(settings: Settings) -> Iterator[Measurement]:
    """Graph scores as a part of the observation."""
    from .bench_scores import kg_scores_case

    return kg_scores_case(settings)


CASES = {
    "env": Case(env_case, Settings, TITLE),
    "train": Case(train_case, Settings, TITLE),
    "complex": Case(complex_case, Settings, TITLE),
    "kg-scores": Case(kg_scores_case, Settings, TITLE),
    "recipes": Case(recipes_case, Settings, TITLE, beside="kg"),
}


class _VectorRandom:
    """Plays a batch of WordCraft environments with random valid actions through the lean step."""

    def __init__(self, settings: Settings) -> None:
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

    def __init__(self, settings: Settings) -> None:
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
