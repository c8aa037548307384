"""`gumption bench halma`: everything but the training runs for real, on small numbers; the training is stood in for."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gumption.agents.halma import runs as training
from gumption.agents.halma.acting import RandomActor
from gumption.data import InputError
from gumption.envs.halma import Memory, MemoryWriter
from gumption.scripts.papers.halma import bench as bench_halma
from gumption.scripts.papers.halma.bench import Settings
from gumption.scripts.papers.halma.experiments import EXPERIMENTS

SETTINGS = Settings(repeats=1, envs=8, episodes=20, slice=3)


def pole(seconds):
    """CartPole at a rate that makes figures easy to read."""
    return 100_000.0


@pytest.fixture
def no_training(monkeypatch):
    """A training that tells its config and a rate."""
    asked = []

    def train(config, *, progress):
        assert not progress, "the bench tells by itself what it does, on the same line"
        asked.append(config)
        return SimpleNamespace(final={"steps_per_s": 1234.5, "wall_s": 800.0 if config.agent == "mlp" else 901.0})

    monkeypatch.setattr(training, "train_halma", train)
    monkeypatch.setattr(bench_halma, "cart_pole", lambda: pole)
    return asked


@pytest.mark.slow
def test_every_figure_is_there(no_training):
    symbolic, visual, mazes, tests, training = bench_halma.halma_case(SETTINGS)
    for one in (symbolic, visual, mazes, tests, training):
        assert one.median > 0
        assert one.ratio == pytest.approx(one.median / one.yardstick_median)
        json.dumps(one.as_json(), allow_nan=False)
    assert (symbolic.unit, visual.unit, mazes.unit, tests.unit) == ("steps/s", "panels/s", "s", "s")
    assert "batch of 8" in symbolic.what
    assert (symbolic.met, visual.met) == (symbolic.ratio >= 2.8, visual.ratio >= 0.028)
    assert mazes.met == (mazes.ratio <= 0.18)
    assert tests.met
    assert "20 episodes" in tests.what
    assert tests.details["mazes"]["T"] == 100
    assert (mazes.target, tests.target) == ("at most 1/5.56", "at most 110")
    assert mazes.yardstick_median == 1.0, "100,000 steps of CartPole"
    assert (training.median, training.ratio) == (1234.5, 1234.5 / 100_000)
    assert "a slice of 3 episodes" in training.what
    assert [config.episodes for config in no_training] == [3]


@pytest.mark.slow
def test_whole_trainings_run_alone_where_they_are_asked_for(no_training):
    settings = replace(SETTINGS, halma_agent=["mlp", "tran"])
    told = list(bench_halma.halma_case(settings))[5:]
    assert [(one.median, one.ratio, one.target, one.met) for one in told] == [
        (800.0, 800.0, "at most 1.5e+03", True),
        (901.0, 901.0, "at most 1.5e+03", True),
    ]
    assert told[0].what == "HALMA training, MLP, 2,000 episodes on cpu: one run alone"
    assert [(config.agent, config.episodes) for config in no_training] == [("mlp", 3), ("mlp", 2000), ("tran", 2000)]


def test_an_agent_that_cannot_be_trained_is_told_before_anything_is_measured():
    settings = replace(SETTINGS, halma_agent=["mlp", "transformer"])
    with pytest.raises(InputError, match="agent is 'transformer'; it can be mlp, lstm, tran"):
        next(bench_halma.halma_case(settings))
    with pytest.raises(InputError, match="it is the folder of a pretrained model"):
        next(bench_halma.halma_case(replace(SETTINGS, halma_agent=["space"])))


def test_times_of_trainings_are_those_of_the_saved_runs():
    """The page shows them beside the bench, which does not repeat them: a copy grew old there."""
    rows = [
        {"condition": "MLP", "wall_s": 600.0, "seeds": [0, 1]},
        {
            "condition": "TRAN",
            "wall_s": 1336.4,
            "seeds": [0],
            "made": {"workers": 1, "hardware": {"cpu": "b", "cores": 4}},
        },
        {"condition": "X", "wall_s": None, "seeds": [0]},
    ]
    results = {"workers": 2, "hardware": {"cpu": "a", "cores": 2}, "rows": rows}
    assert EXPERIMENTS["halma-table1"].kind.times(results)[2:] == [
        "| MLP | 0, 1 | a, 2 cores, 2 at a time | 600 s |",
        "| TRAN | 0 | b, 4 cores, 1 at a time | 1,336 s |",
        "| X | 0 | a, 2 cores, 2 at a time | - |",
    ]


def test_a_memory_holds_whole_episodes(tmp_path):
    writer = MemoryWriter(tmp_path / "memory", 5)
    mazes = bench_halma.remember(RandomActor(5), 6, writer, first=4)
    writer.close()
    memory = Memory.load(tmp_path / "memory")
    assert sorted(set(memory.episode.tolist())) == [4, 5, 6, 7, 8, 9]
    assert len(mazes) == 100
    assert (memory.maze < 100).all()
