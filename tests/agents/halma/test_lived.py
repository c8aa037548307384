"""The HALMA agent without a network: it plans by facts of what its own moves changed."""

import json
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gumption.agents.halma import training
from gumption.agents.halma.acting import RandomActor, moves_of, play
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import comparisons, label
from gumption.agents.halma.lived import GraphPlayer, Outlook
from gumption.agents.halma.runs import LivedRun, load_run, train_halma
from gumption.agents.halma.training import Living
from gumption.agents.halma.watch import watch
from gumption.agents.watch import play_steps
from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.envs.halma import HALMAVectorEnv, Mazes, Memory, sample_mazes
from gumption.envs.halma.maze import Maze
from gumption.envs.halma.memory import flags
from gumption.envs.halma.rules import Rules

REAL = Rules()


@cache
def life(rules: Rules, moves: int) -> Memory:
    """A life at random."""
    env = HALMAVectorEnv(50, mazes=Mazes(sample_mazes(100, 0), rules), autoreset_mode="SameStep")
    env.reset(seed=0)
    rng, actor = np.random.default_rng(0), RandomActor(5, rules)
    episode, begun, parts = np.arange(50), 50, []
    for _ in range(moves // 50):
        options = actor.act(_first(50), rng)
        made = env.move(options)
        marks = flags(made.valid, made.reached, made.trial_over | made.done)
        parts.append((made.before, options, made.after, made.maze, made.trial, episode.copy(), marks))
        episode[made.done] = begun + np.arange(made.done.sum())
        begun += made.done.sum()
    return Memory.of(5, *(np.concatenate(part) for part in zip(*parts, strict=True)), rules=rules)


def _first(size: int):
    class Percept:
        first = np.ones(size, dtype=bool)

    return Percept()


def played(outlook: Outlook, mazes: int = 6) -> list[list[float]]:
    env = HALMAVectorEnv(mazes, mazes=Mazes(sample_mazes(mazes, 777, 5, 5), outlook.rules), autoreset_mode="SameStep")
    return [part.tolist() for part in play(GraphPlayer(outlook), env, np.arange(mazes))]


@pytest.mark.slow
def test_it_finds_goals_whatever_symbols_are_called() -> None:
    """Renamed symbols give the very same moves: no rule about digits, colours, shapes or directions is written."""
    outlook = Outlook.of(life(REAL, 200_000))
    valid, goals, efficiency, _ = played(outlook)
    assert (min(valid), min(goals)) == (1.0, 1.0)
    assert np.mean(efficiency) > 0.95
    assert outlook.points.any(2).nonzero()[0].tolist() == [10] * 4  # hints point the way, of all slots
    renamed = Outlook.of(life(Rules(names="shuffled", laws="counterfactual"), 200_000))
    assert played(renamed)[:3] == [valid, goals, efficiency]
    false = replace(renamed, rules=REAL)  # facts about other symbols
    assert np.mean(played(false, 2)[1]) < 0.5


@pytest.mark.slow
def test_where_the_goal_is_unknown_it_looks_for_it() -> None:
    """In 10,000 moves at random no goal was met, and laws near it were never seen: both are learned in the maze."""
    outlook = Outlook.of(life(REAL, 10_000))
    assert outlook.goal == 0
    assert np.mean(played(outlook, 3)[1]) > 0.8


@pytest.mark.slow
def test_moves_made_in_turn_are_one_option_in_later_trials() -> None:
    """In mazes with corners further off than the walls of its life, it joins the moves of the first trial."""
    outlook = Outlook.of(life(REAL, 50_000))
    corridors = Mazes([Maze((0, 0), (1, 9), pairwise([*((0, y) for y in range(10)), (1, 9)]))], REAL)
    env = HALMAVectorEnv(1, mazes=corridors, autoreset_mode="SameStep")
    lengths = [0]
    for _, outcome in moves_of(GraphPlayer(outlook), env, np.zeros(1, dtype=int)):
        lengths[-1] += 1
        lengths += [0] * int(outcome.trial_over[0])
    assert lengths[1:10] == [2] * 9


def test_a_memory_too_short_is_refused_with_what_would_help() -> None:
    with pytest.raises(InputError, match=r"the memory is too short: of its 100 moves .* let the agent live longer"):
        Outlook.of(life(REAL, 100))


def small(**settings) -> HALMAConfig:
    given = {
        "episodes": 8,
        "log_interval": 1,
        "checkpoint_interval": 2,
        "num_mazes": 3,
        "overrides": (("num_envs", 6),),
    }
    return HALMAConfig(agent="graph", device="cpu", **{**given, **settings})


@pytest.mark.slow
def test_a_run_goes_on_from_its_checkpoint_with_the_same_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "FIRST_FACTS", 1_200)
    run = train_halma(small(), tmp_path / "whole", progress=False)
    assert isinstance(run, LivedRun)
    assert run.curve[-1]["valid_moves"] > 0.5  # at random 8 % are
    learn, checkpoint = Living.learn, tmp_path / "stopped" / "checkpoint" / "checkpoint.json"

    def stop(self: Living, bar: Bar) -> None:
        if checkpoint.is_file() and self.memory.count > json.loads(checkpoint.read_text())["memory"] + 60:
            raise KeyboardInterrupt
        learn(self, bar)

    with monkeypatch.context() as patch:
        patch.setattr(Living, "learn", stop)
        with pytest.raises(KeyboardInterrupt):
            train_halma(small(), tmp_path / "stopped", progress=False)
    train_halma(small(), tmp_path / "stopped", resume=True, progress=False)
    whole, stopped = ((tmp_path / name / "memory" / "records.bin").read_bytes() for name in ("whole", "stopped"))
    assert whole == stopped
    loaded = load_run(tmp_path / "stopped")
    assert (label(loaded.config), sorted(comparisons(loaded))) == ("graph of its own moves", ["oracle", "random"])
    env = HALMAVectorEnv(3, mazes=loaded.mazes, autoreset_mode="SameStep")
    assert play(loaded.actor(), env, np.arange(3)).rho_g.mean() > 0.8
    steps = list(play_steps(watch(tmp_path / "whole", trials=3), pictures=False))
    assert steps[-1].success
    for direction, length in (step.choices for step in steps[:-1]):
        for choice in (direction, length):
            plan = [one.scores[0].value for one in choice.candidates]
            assert plan[choice.chosen] == max(plan), "it follows its plan"
            assert choice.candidates[choice.chosen].probability == 1
        assert length.question == f"how far {direction.candidates[direction.chosen].label}"
    facts = " ".join(steps[0].choices[1].candidates[steps[0].choices[1].chosen].scores[0].facts)
    assert re.match(
        r"leads to .* where goal (across|up) is -?\d: goal (across|up) becomes -?\d \(lived .* times\)", facts
    )
    assert "carried out (lived" in facts


@pytest.mark.parametrize("other", [{"guided": True}, {"learner": "td3"}, {"objective": "episode"}])
def test_it_trains_no_network(other: dict[str, object]) -> None:
    with pytest.raises(InputError, match="agent='graph' plans by its own facts"):
        small(**other)
