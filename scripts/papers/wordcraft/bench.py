"""WordCraft in `gumption bench`: the environment, a whole training, graph scores in observations, and planning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated, Any

import typer

from gumption.data.settings import Count, settings
from gumption.scripts.measurement import POLE, BenchSettings, Case, Measurement, cart_pole, compared, in_turn, rate

SCORED, SB3_ENVS = 1024, 64  # environments in a batch with scores, and in a batch for Stable-Baselines3
PIECE = 32  # steps between two readings of the clock
FULL_STEPS = 3_000_000
HERE = "scripts/papers/wordcraft/bench.py"


@settings
class Settings(BenchSettings):
    """:ivar num_envs: environments in a batch."""

    recipe_book: Annotated[str, typer.Option(help="Name of a recipe book, or a file.")] = "commonsense"
    word_vectors: Annotated[str | None, typer.Option(help="File with word vectors, for the training case.")] = None
    total_steps: Annotated[Count, typer.Option(help="Steps of the training case.")] = FULL_STEPS
    num_envs: Count = 4096

    @property
    def world(self) -> dict[str, Any]:
        """The keyword arguments of an environment."""
        return {"recipe_book": self.recipe_book, "depth": 1, "num_distractors": 8, "features": None}


def env_case(settings: Settings) -> Iterator[Measurement]:
    """Measure random valid actions in a batch and in one environment, against one Gymnasium CartPole-v1."""
    import gymnasium

    import gumption.envs  # noqa: F401  registers the environments
    from gumption.envs.wordcraft import WordCraftVectorEnv

    env = WordCraftVectorEnv(settings.num_envs, **settings.world)
    env.reset(seed=0)
    counts = {"steps": 0, "episodes": 0, "success": 0}

    def steps() -> int:
        for _ in range(16):
            _, done, success = env.step_arrays(env.random_actions())
            counts["episodes"] += int(done.sum())
            counts["success"] += int(success.sum())
        counts["steps"] += 16 * env.num_envs
        return 16 * env.num_envs

    vector, one, pole = rate(steps), single(gymnasium.make("gumption/WordCraft-v0", **settings.world)), cart_pole()
    for play in (vector, one):
        play(0.2)  # warm-up: the first calls include imports, caches and memory
    timings = partial(vector, 1.0), partial(one, 0.5), partial(pole, 0.5)
    batches, singles, poles = in_turn(settings.repeats, *timings)
    shares = {
        "episodes_per_step": counts["episodes"] / counts["steps"],
        "success": counts["success"] / counts["episodes"],
    }
    what = f"WordCraft random steps, batch of {settings.num_envs}, depth 1, 8 distractors"
    yield compared(what, "steps/s", batches, POLE, poles, 30, details=shares)
    yield compared("WordCraft random steps, one environment by gym.make", "steps/s", singles, POLE, poles, 0.11)


def train_case(settings: Settings) -> Iterator[Measurement]:
    """Measure a training of the paper's length with evaluation, preset fast, no KG, 8 distractors; without repeats."""
    from gumption.agents.learners.impala import train_impala
    from gumption.agents.wordcraft.config import TrainConfig

    pole = cart_pole()
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
    frames = settings.total_steps / seconds
    what = f"training with evaluation, {settings.total_steps:,} steps on {settings.device}"
    limit = 0.3 if settings.total_steps >= FULL_STEPS else None
    details = {"seconds": seconds, "test_success": result.final["test_success"]}
    yield compared(what, "frames/s", [frames], POLE, [before, pole(1.0)], limit, details=details)


def kg_scores_case(settings: Settings) -> Iterator[Measurement]:
    """Measure random valid actions with and without scores of a training-facts graph, against CartPole-v1."""
    plays = {**_plays(settings), "pole": cart_pole()}
    for play in plays.values():
        play(0.2)  # warm-up: the first calls include imports, caches and memory
    taken = in_turn(settings.repeats, *(partial(play, 0.5) for play in plays.values()))
    rates = dict(zip(plays, taken, strict=True))
    for name, plain, what, yardstick in (
        ("one", "one without", "KGScores on one WordCraft environment", "the same environment without scores"),
        ("batch", "batch without", f"KGScores on a batch of {SCORED}", "the same batch without scores"),
        (
            "adapter",
            "one env each",
            f"SB3VecEnv on a batch of {SB3_ENVS} with KGScores",
            f"DummyVecEnv of {SB3_ENVS} with KGScores",
        ),
    ):
        if name in rates:
            pole = median(rates["pole"])
            details = {"cartpole": pole, "times_cartpole": median(rates[name]) / pole}
            yield compared(what, "steps/s", rates[name], yardstick, rates[plain], details=details)


def plan_case(settings: Settings) -> Iterator[Measurement]:
    """Measure choices by looking ahead with the training facts and their predictor, against CartPole-v1."""
    import numpy as np

    from gumption.agents.wordcraft.config import TrainConfig
    from gumption.agents.wordcraft.setup import WordCraftSetup

    pole = cart_pole()
    for depth, target in ((2, 1.1), (3, 0.11)):
        config = TrainConfig(
            recipe_book=settings.recipe_book, word_vectors=settings.word_vectors, depth=depth, kg="train",
            agent="graph", device=settings.device,
        )  # fmt: skip
        setup = WordCraftSetup(config, num_envs=settings.num_envs)
        env, advice = setup.env, setup.advice
        assert advice is not None
        assert advice.planner is not None
        planner = advice.planner
        env.reset(seed=0)

        def choices(env: Any = env, planner: Any = planner) -> int:
            values = planner.values(env.planning_problem())
            env.step(np.where(env.table > 0, values, -1.0).argmax(1))
            return len(values)

        ours = rate(choices)
        ours(0.5)  # warm-up: compiles
        taken, poles = in_turn(settings.repeats, partial(ours, 2.0), partial(pole, 0.5))
        what = f"WordCraft looking ahead, depth {depth}, 8 distractors"
        yield compared(what, "choices/s", taken, POLE, poles, target)


CASES = {
    "env": Case(env_case, Settings, "WordCraft", code=("envs/wordcraft", HERE)),
    "train": Case(
        train_case, Settings, "WordCraft", code=("envs/wordcraft", "agents/wordcraft", "agents/learners", HERE)
    ),
    "kg-scores": Case(
        kg_scores_case, Settings, "WordCraft", code=("envs/wordcraft", "envs/kg_wrapper.py", "kg/scores.py", HERE)
    ),
    "plan": Case(
        plan_case, Settings, "WordCraft", code=("envs/wordcraft", "kg/planning.py", "kg/planning_kernels.py", HERE)
    ),
}


def single(env: Any) -> Callable[[float], float]:
    """Return the `rate` of one environment with random valid actions, including resets."""
    import numpy as np

    draws = np.random.default_rng(0).random(PIECE).tolist()
    told = [env.reset(seed=0)[1]]

    def steps() -> int:
        for draw in draws:
            _, _, terminated, truncated, told[0] = env.step(int(draw * len(told[0]["table"])))
            if terminated or truncated:
                told[0] = env.reset()[1]
        return PIECE

    return rate(steps)


def batch(env: Any, actions: Callable[[], Any]) -> Callable[[float], float]:
    """Return the `rate` of a batch of environments with actions from `actions()`."""
    env.reset()

    def steps() -> int:
        for _ in range(PIECE):
            env.step(actions())
        return PIECE * env.num_envs

    return rate(steps)


def _plays(settings: Settings) -> dict[str, Callable[[float], float]]:
    import numpy as np

    from gumption.agents import Advice
    from gumption.envs.kg_wrapper import KGScores
    from gumption.envs.wordcraft import WordCraftEnv, WordCraftVectorEnv, facts
    from gumption.kg import KnowledgeGraph

    graph = KnowledgeGraph()
    graph.add(facts(settings.recipe_book, partition="train"))
    plain = WordCraftEnv(**settings.world)
    advice = Advice(graph, plain.vocabulary, plain.relations)
    without, scored, small = (
        WordCraftVectorEnv(number, autoreset_mode="SameStep", **settings.world) for number in (SCORED, SCORED, SB3_ENVS)
    )
    plays = {
        "one": single(KGScores(WordCraftEnv(**settings.world), advice)),
        "one without": single(plain),
        "batch": batch(KGScores(scored, advice), scored.random_actions),
        "batch without": batch(without, without.random_actions),
    }
    if find_spec("stable_baselines3") is None:  # an optional dependency
        return plays
    from stable_baselines3.common.vec_env import DummyVecEnv

    from gumption.envs.sb3_adapter import SB3VecEnv

    dummy = DummyVecEnv([lambda: KGScores(WordCraftEnv(**settings.world), advice)] * SB3_ENVS)
    actions = np.zeros(SB3_ENVS, dtype=np.int64)
    return plays | {
        "adapter": batch(SB3VecEnv(KGScores(small, advice)), small.random_actions),
        "one env each": batch(dummy, lambda: actions),
    }
