"""What is remembered of an episode: places, ways, and the plan that a way to the goal becomes."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gumption.agents.halma.episodic import NONE, EpisodicMemory
from gumption.agents.halma.knowledge import HALMAKnowledge

LEFT, UP, RIGHT, DOWN = range(4)
Step = tuple[int, int, int]  # direction, value, where it leads


def arithmetic(known: bool = True) -> HALMAKnowledge:
    """All sums up to 9 and all opposites, or nothing."""
    a, b = np.indices((10, 10))
    sums = np.where((a > 0) & (b > 0) & (a + b <= 9), a + b, 0) * known
    differences = np.where((b > 0) & (a > b), a - b, 0) * known
    opposite = np.roll(np.eye(4, dtype=bool), 2, axis=0) & known
    return cast(HALMAKnowledge, SimpleNamespace(sums=sums, differences=differences, opposite=opposite))


def place(number: int) -> np.ndarray:
    row = np.zeros((1, 11), dtype=np.int64)
    row[0, 8] = number
    return row


@pytest.fixture
def travel() -> Callable[..., EpisodicMemory]:
    """An episode that starts at place 0 and reaches the goal with its last step, after which it is at 0 again."""

    def go(*steps: Step, knowledge: HALMAKnowledge | None = None, memory: EpisodicMemory | None = None) -> Any:
        knowledge = knowledge or arithmetic()
        yes, no = np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
        if memory is None:
            memory = EpisodicMemory(1)
            memory.observe(place(0), np.zeros(1, dtype=int), np.zeros(1, dtype=int), no, no, yes, knowledge)
        for direction, value, to in steps:
            over = yes if to == 0 else no
            memory.observe(place(to), np.array([direction]), np.array([value]), over, over, no, knowledge)
        return memory

    return go


def plan(memory: EpisodicMemory) -> tuple[int, int]:
    return int(memory.pending_direction[0]), int(memory.pending_value[0])


def test_moves_in_one_line_become_one(travel: Callable[..., Any]) -> None:
    memory = travel((RIGHT, 2, 1), (RIGHT, 1, 2), (RIGHT, 2, 3), (DOWN, 1, 0))
    assert plan(memory) == (RIGHT, 5)
    assert plan(travel((RIGHT, 5, 3), memory=memory)) == (DOWN, 1)
    # A place on the way where it stops nevertheless tells what is left from there.
    assert plan(travel((DOWN, 1, 0), (RIGHT, 2, 1), memory=memory)) == (RIGHT, 3)


def test_moves_stay_apart_where_their_sum_is_unknown(travel: Callable[..., Any]) -> None:
    memory = travel((RIGHT, 2, 1), (RIGHT, 1, 2), (DOWN, 1, 0), knowledge=arithmetic(known=False))
    assert plan(memory) == (RIGHT, 2)
    assert plan(travel((RIGHT, 2, 1), memory=memory)) == (RIGHT, 1)


def test_a_way_there_and_back_is_left_out(travel: Callable[..., Any]) -> None:
    memory = travel((UP, 3, 1), (DOWN, 3, 7), (UP, 3, 1), (DOWN, 3, 7), (RIGHT, 2, 2), (UP, 1, 0))
    assert plan(memory) == (DOWN, 3) or plan(memory) == (UP, 3)
    round_trip = travel((RIGHT, 2, 1), (UP, 3, 2), (DOWN, 3, 1), (RIGHT, 4, 0))
    assert plan(round_trip) == (RIGHT, 6)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([(RIGHT, 5, 1), (LEFT, 2, 2), (UP, 1, 0)], (RIGHT, 3)),  # too far, and back
        ([(RIGHT, 2, 1), (LEFT, 5, 2), (UP, 1, 0)], (RIGHT, 2)),  # a negative length is none
        ([(RIGHT, 7, 1), (RIGHT, 7, 2), (UP, 1, 0)], (RIGHT, 7)),  # more than any digit
    ],
)
def test_a_move_too_far_is_shortened(travel: Callable[..., Any], steps: list[Step], expected: tuple[int, int]) -> None:
    assert plan(travel(*steps)) == expected


def test_a_shorter_way_replaces_the_plan_and_a_longer_one_does_not(travel: Callable[..., Any]) -> None:
    memory = travel((UP, 1, 1), (RIGHT, 1, 2), (UP, 1, 3), (RIGHT, 1, 0))
    assert plan(memory) == (UP, 1)
    shorter = travel((RIGHT, 2, 4), (UP, 2, 0), memory=memory)
    assert plan(shorter) == (RIGHT, 2)
    assert plan(travel((UP, 1, 1), (RIGHT, 1, 2), (UP, 1, 3), (RIGHT, 1, 0), memory=memory)) == (RIGHT, 2)


def test_what_is_left_of_a_planned_move_is_carried_on(travel: Callable[..., Any]) -> None:
    memory = travel((RIGHT, 7, 1), (UP, 1, 0))
    travel((RIGHT, 3, 5), memory=memory)
    assert plan(memory) == (RIGHT, 4)
    travel((UP, 1, 6), memory=memory)
    assert plan(memory) == (NONE, 0)


def test_a_move_that_leads_nowhere_is_remembered_as_failed(travel: Callable[..., Any]) -> None:
    memory = travel((RIGHT, 3, 1), (RIGHT, 4, 1), (UP, 2, 2))
    assert memory.failed[0].nonzero()[0].tolist() == [1]
    assert memory.failed[0, 1, RIGHT, 4]
    assert memory.tried[0, 1, UP, 2] == 1
    assert memory.tried[0, 1, RIGHT].sum() == 0
    assert memory.came[0] == UP


def test_episodes_are_apart_and_forgotten(travel: Callable[..., Any]) -> None:
    knowledge, memory = arithmetic(), EpisodicMemory(2)
    no, both = np.zeros(2, dtype=bool), np.ones(2, dtype=bool)
    start = np.concatenate([place(0), place(0)])
    zeros = np.zeros(2, dtype=np.int64)
    memory.observe(start, zeros, zeros, no, no, both, knowledge)
    only = np.array([True, False])
    moves = np.array([RIGHT, UP]), np.array([2, 1])
    memory.observe(np.concatenate([place(0), place(3)]), *moves, only, only, no, knowledge)
    assert memory.pending_direction.tolist() == [RIGHT, NONE]
    assert memory.plan_value[0].max() == 2
    memory.observe(start, zeros, zeros, no, no, only, knowledge)
    assert memory.pending_direction.tolist() == [NONE, NONE]
    assert not memory.tried[0].any()
    assert memory.tried[1, 0, UP, 1] == 1
