"""Players of the open-ended game, the learner on it, and the table of things made."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gumption.agents.evaluation import random_player, steps
from gumption.agents.learners.impala import ImpalaLearner
from gumption.agents.run import opened, run_learner
from gumption.agents.settings import WorldConfig
from gumption.data import InputError
from gumption.envs.wordcraft import LittleAlchemyVectorEnv, RecipeBook
from gumption.scripts.papers.wordcraft import alchemy
from gumption.scripts.papers.wordcraft.alchemy_players import (
    AlchemySetup,
    Sampling,
    Untried,
    combining_scores,
    things_made,
)
from gumption.scripts.papers.wordcraft.outside import EXPERIMENTS
from gumption.scripts.results import Job


def game(book: RecipeBook, games: int = 4, **settings: Any) -> LittleAlchemyVectorEnv:
    return LittleAlchemyVectorEnv(games, recipe_book=book, autoreset_mode="Disabled", **settings)


def mixed(player: Any, env: LittleAlchemyVectorEnv, mixes: int) -> list[list[tuple[int, int]]]:
    """The pairs that each game mixes."""
    env.reset(seed=0)
    pairs: list[list[tuple[int, int]]] = [[] for _ in range(env.num_envs)]
    before = env.selection.copy()
    for number, (actions, _) in enumerate(steps(player, env), start=1):
        for i, action in enumerate(actions.tolist()):
            if before[i]:
                pairs[i].append((min(int(before[i]) - 1, action), max(int(before[i]) - 1, action)))
        before = env.selection.copy()
        if number == 2 * mixes:
            break
    return pairs


@pytest.mark.parametrize("scored", [False, True])
def test_no_pair_is_mixed_twice_and_everything_is_made(book: RecipeBook, scored: bool) -> None:
    env = game(book)
    size = len(book.entities)
    scores = np.random.default_rng(0).random((size, size)) if scored else None
    pairs = mixed(Untried(scores, 1), env, 150)
    assert all(len(set(mine)) == len(mine) == 150 for mine in pairs)
    assert (pairs[0] == pairs[1]) == scored  # games of a random order differ, those of an order of scores do not
    env = game(book, max_steps=2 * size * size)
    made = things_made(Untried(scores, 1), env, [2 * size * size])
    assert (made[:, 0] == (env.reachable & ~env.basic).sum(axis=1)).all()


def test_the_best_scored_of_the_known_pairs_comes_first(book: RecipeBook) -> None:
    env = game(book, 1)
    size = len(book.entities)
    scores = np.zeros((size, size))
    known = np.flatnonzero(env.basic)
    for rank, (a, b) in enumerate([(known[0], known[1]), (known[2], known[2]), (known[1], known[3])]):
        scores[a, b] = scores[b, a] = 9 - rank
    assert mixed(Untried(scores), env, 3) == [[tuple(sorted(pair)) for pair in
        [(known[0], known[1]), (known[2], known[2]), (known[1], known[3])]]]  # fmt: skip


def test_things_are_counted_by_steps(book: RecipeBook) -> None:
    env = game(book, 8)
    made = things_made(random_player, env, [2, 40, 200], seed=3)
    assert made.shape == (8, 3)
    assert (np.diff(made, axis=1) >= 0).all()
    assert made[:, 0].max() <= 1
    assert made[:, 2].sum() > made[:, 1].sum() > 0
    assert np.array_equal(made, things_made(random_player, game(book, 8), [2, 40, 200], seed=3))


def test_knowledge_of_all_facts_makes_more_than_no_knowledge(
    book: RecipeBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path))
    env = game(book)
    scores = combining_scores("full", env)
    assert np.array_equal(scores, scores.T)
    known = things_made(Untried(scores), game(book), [60]).mean()
    assert known > 2 * things_made(Untried(), game(book), [60]).mean()


def test_a_learner_plays_it(book_file: Path, book: RecipeBook, tmp_path: Path) -> None:
    config = WorldConfig(
        "wordcraft", env=(("recipe_book", str(book_file)), ("max_steps", 40)), total_steps=2048, eval_interval=1024
    )
    folder = opened(tmp_path / "run", config, resume=False)
    learner, curve, final = run_learner(folder, lambda: ImpalaLearner(config, AlchemySetup(config)), progress=False)
    assert [line["step"] for line in curve] == [1024, 2048]
    assert final["made"] > 0
    made = things_made(Sampling(learner.policy.eval(), 0), game(book, 8), [40])
    assert made.mean() > 0
    assert np.array_equal(made, things_made(Sampling(learner.policy, 0), game(book, 8), [40]))


def test_a_stopped_learner_goes_on_to_the_same_bits(
    book_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = (("recipe_book", str(book_file)), ("max_steps", 40))
    config = WorldConfig("wordcraft", env=env, total_steps=2048, eval_interval=1024)

    def run(folder: Path, resume: bool) -> tuple[list[float], Any]:
        learner, curve, final = run_learner(
            opened(folder, config, resume), lambda: ImpalaLearner(config, AlchemySetup(config)), progress=False
        )
        weights = [float(weight.double().sum()) for weight in learner.policy.network.parameters()]
        return weights, ([line["made"] for line in curve], final["made"])

    whole, real = run(tmp_path / "whole", False), ImpalaLearner.learn

    def dies(self: ImpalaLearner, bar: Any) -> None:
        if self.step >= 1536:
            raise KeyboardInterrupt
        real(self, bar)

    monkeypatch.setattr(ImpalaLearner, "learn", dies)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", False)
    monkeypatch.undo()
    assert run(tmp_path / "killed", True) == whole


def test_the_state_of_another_game_is_refused(book: RecipeBook) -> None:
    env = game(book)
    env.reset(seed=0)
    state = env.state_dict()
    with pytest.raises(InputError, match="is a batch of 4, here 3"):
        game(book, 3).load_state_dict(state)
    other = RecipeBook("other", ["a", "b", "c"], [("c", "a", "b")])
    with pytest.raises(InputError, match="has another book"):
        game(other).load_state_dict(state)
    with pytest.raises(InputError):
        env.load_state_dict({"discovered": state["discovered"]})


@pytest.mark.slow
def test_the_experiment_measures_each_kind_of_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, book_file: Path
) -> None:
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(alchemy, "LEARNING_STEPS", 1024)
    monkeypatch.setattr(alchemy, "GAMES", 2)
    experiment, rows = EXPERIMENTS["little-alchemy"], []
    for label, condition in experiment.conditions.items():
        settings = {"recipe_book": str(book_file), "device": "cpu", **condition.settings}
        found = experiment.kind.measure(Job(label, 0, condition.method, settings, tmp_path / label), False)
        assert list(found["made"]) == ["100", "500", "1000", "2000"]
        assert experiment.kind.words(found).endswith("things made in 2,000 steps")
        figures = experiment.kind.figures(condition, {"0": found})
        rows.append({"condition": label, "panels": list(condition.panels), "seeds": [0], **figures})
    head, _, *lines = experiment.kind.headline({"rows": rows}).splitlines()
    assert head == "| player | 100 steps | 500 steps | 1,000 steps | 2,000 steps |"
    assert len(lines) == len(experiment.conditions) == 6
