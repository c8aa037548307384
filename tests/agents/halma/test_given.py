"""Agents that are not ours are measured as ours are."""

import numpy as np
import pytest

from gumption.agents.halma.acting import panel_rows
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import GivenAgent, columns, evaluate_splits
from gumption.data import InputError
from gumption.envs.halma import sample_mazes
from gumption.envs.halma.diagnostics import SPLITS, Record
from gumption.envs.halma.maze import justified_moves
from gumption.envs.halma.splits import Splits
from gumption.scripts.papers.halma.experiments import markdown


class Explorer:
    """Follows the meta-strategy of the oracle's first trial in every trial."""

    config = HALMAConfig()

    def actor(self):
        return self

    def act(self, percept, rng):
        return explore(panel_rows(percept.observation))


def explore(rows: np.ndarray) -> np.ndarray:
    moves = [justified_moves(row)[0] for row in rows]
    return np.array([[direction, *np.clip(length - 3 * np.arange(5), 0, 3)] for direction, length in moves])


@pytest.fixture(scope="module")
def splits() -> Splits:
    mazes = iter(sample_mazes(5, 3))
    records = {test: tuple(Record(test, next(mazes), (), None) for _ in range(n)) for test, n in (("T", 3), ("RT", 2))}
    tests = {test: {"reason": None if test in records else "nothing"} for test in SPLITS}
    return Splits(records, {"tests": tests, "knowledge": {"max_opt_len": 5, "fingerprint": "f", "memory": "m"}})


def test_a_function_is_measured_as_an_agent_of_ours(splits) -> None:
    ours = evaluate_splits(Explorer(), splits, seeds=(0, 1))
    for given in (
        lambda observation, info: explore(info["panel"]),
        lambda observation: explore(panel_rows(observation)),
        GivenAgent(lambda observation, info: explore(info["panel"][None])[0], name="mine", single=True),
    ):
        found = evaluate_splits(given, splits, seeds=(0, 1))
        assert found["tests"] == ours["tests"]
    assert found["agent"] == "mine"
    assert found["config"] == {
        "agent": "mine",
        "observation": "symbolic",
        "max_opt_len": 5,
        "images": "train",
        "panels": "redrawn",
    }
    assert list(columns([found, ours])) == ["mine", "MLP"]


def test_it_is_told_what_an_agent_perceives_and_nothing_of_where_it_is(splits) -> None:
    seen = []

    def act(observation, info):
        seen.append(info)
        return explore(info["panel"])

    evaluate_splits(act, splits, seeds=(0,))
    keys = {"first", "trial_over", "success", "reward", "action", "action_mask", "panel"}
    assert {frozenset(info) for info in seen} == {frozenset(keys)}
    assert seen[0]["first"].all()
    assert not seen[1]["first"].any()
    assert (seen[0]["action"] == 0).all()
    assert (seen[1]["action"] == explore(seen[0]["panel"])).all()
    assert any(info["success"].any() and info["trial_over"].any() for info in seen)


def test_an_agent_that_repeats_its_move_is_told_so(splits) -> None:
    found = evaluate_splits(lambda observation, info: np.zeros_like(info["action"]), splits, seeds=(0,))
    assert found["failures"] == [
        "in 100.0% of episodes of three steps or more, four of five steps repeat the action before"
    ]
    assert evaluate_splits(Explorer(), splits, seeds=(0,))["failures"] == []


def test_pictures_are_seen_where_they_are_asked_for(splits) -> None:
    shapes = set()

    def act(observation, info):
        shapes.add((observation.shape[1:], "panel" in info))
        return np.ones((len(observation), 6), dtype=int)

    evaluate_splits(
        GivenAgent(act, observation="visual"), Splits({"T": splits.records["T"][:1]}, splits.manifest), seeds=(0,)
    )
    assert shapes == {((128, 128, 3), False)}


def test_a_failure_says_in_which_step_of_which_test(splits) -> None:
    def act(observation, info):
        return None if info["trial_over"].any() else explore(info["panel"])

    with pytest.raises(InputError, match=r"act returned no action at step \d+ of T: .* shape \(3, 6\)"):
        evaluate_splits(act, splits)


def test_a_test_of_ones_own_is_scored_and_told(splits) -> None:
    records = {**splits.records, "mine": splits.records["T"][:2]}
    found = evaluate_splits(Explorer(), Splits(records, splits.manifest), seeds=(0,))
    assert found["tests"]["mine"]["mazes"] == 2
    both = columns([found, evaluate_splits(lambda observation, info: explore(info["panel"]), splits, seeds=(0,))])
    ours, theirs = both.values()
    assert ours["tests"]["mine"]["rho_g"]["mean"] == 1.0
    assert theirs["tests"]["mine"] == {"mazes": 0, "runs": 0, "reason": "the splits have no such test"}
    told = "\n".join(markdown(both, paper=False))
    assert "| mine | rho_a |" in told
    assert "mine: the splits have no such test" in told


def test_tests_and_mazes_are_chosen(splits) -> None:
    found = evaluate_splits(Explorer(), splits, seeds=(0,), tests=("T",), num_mazes=2)
    assert found["tests"]["T"]["mazes"] == 2
    assert found["tests"]["RT"] == {"mazes": 0, "reason": "not asked for"}
    with pytest.raises(InputError, match="tests is 'XT'; it can be T, RT"):
        evaluate_splits(Explorer(), splits, tests=("XT",))
