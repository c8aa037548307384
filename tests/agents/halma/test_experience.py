"""What a guided agent counts in MEM, on memories made by hand and on those of random moves."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.agents.halma.acting import RandomActor
from gumption.agents.halma.experience import OptionBags, experience_facts, shown_digits
from gumption.agents.halma.knowledge import HALMAKnowledge
from gumption.envs.halma import HALMAVectorEnv
from gumption.envs.halma.maze import DIRECTIONS, GOAL_COLOURS, SHAPES, place_codes
from gumption.envs.halma.memory import REACHED, TRIAL_OVER, VALID, Memory

from .conftest import live

Remember = Callable[..., Memory]
Panel = Callable[..., list[int]]
Move = tuple[list[int], str, tuple[int, ...], list[int]]
OPTIONS = OptionBags(3)


def facts(memory: Memory, relation: str) -> list[tuple[str, str]]:
    return [(s, o) for s, r, o in experience_facts(memory, OPTIONS) if r == relation]


def test_options_are_bags_of_primitives() -> None:
    assert OPTIONS.names[:5] == ["dice 0", "dice 1", "dice 2", "dice 3", "dice 1+1"]
    assert len(OPTIONS) == 20
    either = OPTIONS.of(np.array([[2, 0, 3], [3, 2, 0], [0, 3, 2]]))
    assert [OPTIONS.names[i] for i in either] == ["dice 2+3"] * 3
    assert OPTIONS.names[OPTIONS.extended[OPTIONS.of(np.array([3])), 1]] == "dice 1+3"
    assert OPTIONS.extended[4, 0] == 4


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 8, *[st.integers(-9, 9)] * 2, st.integers(0, 4)), min_size=2))
def test_places_have_one_code_where_their_panels_are_the_same(rows: list[tuple[int, ...]]) -> None:
    codes = place_codes(np.array(rows, dtype=np.int8))
    assert len(set(codes.tolist())) == len(set(rows))


def test_digits_are_shown_by_colour(panel: Panel) -> None:
    row = panel({"left": 5, "up": 2}, {"left": 3}, goal=(-4, 7))
    shown = shown_digits(np.array(row, dtype=np.int8))
    expected = np.zeros((8, 2), dtype=np.int64)
    expected[0] = 3, 5  # red
    expected[1, 1] = 2  # orange
    expected[4, 0], expected[5, 0] = 4, 7  # cyan, blue
    assert shown.tolist() == expected.tolist()


def test_a_direction_lowers_a_colour_when_thirty_moves_did(panel: Panel, remember: Remember) -> None:
    move = panel({"right": 5}), "right", (1, 1), panel({"right": 3, "left": 2})
    assert facts(remember(move, times=29), "lowers") == []
    assert facts(remember(move, times=30), "lowers") == [("right", "yellow")]
    assert facts(remember(move, times=30), "fellFrom") == [("change:yellow 5>yellow 3:right 1+1", "yellow 5")]
    assert facts(remember(move, times=30), "hasPrimitives") == [("right 1+1", "dice 1+1")]


def test_one_case_against_it_undoes_a_generalisation(panel: Panel, remember: Remember) -> None:
    falls = panel({"right": 5}), "right", (1, 1), panel({"right": 3, "up": 1})
    rises = panel({"right": 5}), "right", (2,), panel({"right": 6})
    together = remember(*[falls] * 30, rises)
    assert facts(together, "lowers") == []
    assert facts(together, "fellFrom") == []


def test_a_change_is_stated_from_the_third_time_on(panel: Panel, remember: Remember) -> None:
    usual = panel({"right": 5}), "right", (1, 1), panel({"right": 3})
    rare = panel({"right": 9}), "right", (2,), panel({"right": 7})
    assert ("change:yellow 9>yellow 7:right 2", "yellow 9") not in facts(
        remember(*[usual] * 30, *[rare] * 2), "fellFrom"
    )
    assert ("change:yellow 9>yellow 7:right 2", "yellow 9") in facts(remember(*[usual] * 30, *[rare] * 3), "fellFrom")


def facts_of(memory: Memory, records: np.ndarray) -> list[tuple[str, str, str]]:
    return experience_facts(replace(memory, records=records), OPTIONS)


def test_where_the_last_move_of_a_trial_ended_is_no_evidence(panel: Panel, remember: Remember) -> None:
    """The agent was put back at a start before it saw it."""
    move = panel({"right": 5}), "right", (1, 1), panel({"right": 3, "left": 2})
    memory = remember(move, times=30)
    seen = [VALID] * 29
    assert facts(remember(move, times=30, flags=[*seen, VALID | TRIAL_OVER]), "lowers") == []
    assert facts(remember(move, times=30, flags=[*seen, VALID | TRIAL_OVER | REACHED]), "lowers") == []
    assert facts(remember(move, times=31, flags=[*seen, VALID, VALID | TRIAL_OVER]), "lowers") == [("right", "yellow")]
    # Whatever stands there in MEM: the facts are the same, and those of KB_C and KB_A are not used.
    other = memory.records.copy()
    flags = [VALID, VALID | TRIAL_OVER, VALID | TRIAL_OVER | REACHED] * 10
    other["flags"] = flags
    changed = other.copy()
    changed["after"][np.array(flags) != VALID] = panel({"down": 7}, {"down": 3}, hint="up")
    assert facts_of(memory, other) == facts_of(memory, changed)


def test_moves_that_raise_and_moves_that_nothing_allows(panel: Panel, remember: Remember) -> None:
    back = panel({"left": 2, "up": 1}), "right", (1,), panel({"left": 3})
    along = panel({"up": 2}), "up", (1,), panel({"up": 1})
    stopped = panel({"left": 2}), "up", (3, 3, 3), panel({"left": 2})
    memory = remember(back, along, stopped, times=30)
    assert facts(memory, "raises") == [("right", "red")]
    assert ("up", "orange") in facts(memory, "stoppedWithout")
    assert ("right", "yellow") not in facts(memory, "stoppedWithout")
    assert facts(memory, "endsAs") == [("dice 3+3+3", "stopped")]


@pytest.mark.parametrize(("stopped_at_it", "known"), [(0, True), (23, True), (25, False)])
def test_that_no_move_is_carried_out_without_a_colour_is_no_chance(
    panel: Panel, remember: Remember, stopped_at_it: int, known: bool
) -> None:
    """Of 30 moves at a panel with the colour, so many are stopped: then 30 without it may well be stopped, too."""
    here, without = panel({"up": 2, "left": 1}), panel({"left": 2})
    carried_out = [(here, "up", (1,), panel({"up": 1}))] * (30 - stopped_at_it)
    stopped = [(here, "up", (3,), here)] * stopped_at_it
    memory = remember(*carried_out, *stopped, *[(without, "up", (1,), without)] * 30)
    assert (("up", "orange") in facts(memory, "stoppedWithout")) is known
    fewer = remember(*carried_out, *stopped, *[(without, "up", (1,), without)] * 29)
    assert ("up", "orange") not in facts(fewer, "stoppedWithout")


def ways(panel: Panel) -> list[Move]:
    """What it takes to know that right is about yellow: it lowers it, and without it no move is carried out."""
    here, wall = panel({"right": 7}), panel({"left": 9})
    return [*[(here, "right", (1,), panel({"right": 6, "left": 1}))] * 30, *[(wall, "right", (1,), wall)] * 30]


def test_an_option_is_about_the_one_digit_that_is_gone_after_it(panel: Panel, remember: Remember) -> None:
    used = panel({"right": 5}), "right", (3, 2), panel({"left": 5})
    assert facts(remember(*ways(panel), *[used] * 2), "affords") == []
    memory = remember(*ways(panel), *[used] * 3)
    assert facts(memory, "affords") == [("yellow 5", "right 2+3")]
    assert ("right 2+3", "dice 2+3") in facts(memory, "hasPrimitives")
    # Of two digits it is not told which was used up; nor is a digit used up that moves can pass over.
    two = panel({"right": 5}, {"right": 3}), "right", (3, 2), panel({"left": 5})
    assert facts(remember(*ways(panel), *[two] * 9), "affords") == []
    passed = panel({"right": 6}, goal=(2, 0)), "right", (3,), panel({"right": 3}, goal=(-1, 0))
    assert facts(remember(*ways(panel), *[passed] * 30), "affords") == []


def test_a_digit_is_not_compared_with_the_sum_of_dice(panel: Panel, remember: Remember) -> None:
    """In a world where "1+1" uses up a yellow 5, that is what is learned."""
    used = panel({"right": 5}), "right", (1, 1), panel({"left": 5})
    hint = panel({"right": 8}, {"right": 5}), "right", (1, 1), panel({"right": 3}, hint="up")
    memory = remember(*ways(panel), *[used] * 3, *[hint] * 30)
    assert facts(memory, "affords") == [("yellow 5", "right 1+1")]
    assert facts(memory, "shows") == [("lesser digit", "hint")]
    assert HALMAKnowledge.of_memory(memory).measure[OPTIONS.bags.index((1, 1))] == 5


def led(panel: Panel, right: int, wrong: int) -> dict[str, Any]:
    """The moves of trials that left `right` panels with a triangle upwards, for ever, and `wrong` ones to the left."""
    goal = panel({"down": 3})
    moves, episodes, flags = [], [], []
    for i in range(right + wrong):
        here = panel({"up": 2, "left": 1 + i // 9}, goal=(i % 9, 3), hint="up")
        aside = panel({"right": 1, "up": 1}, goal=(i % 9, 4 + i // 9))
        moves += [(here, "left", (1,), aside), (aside, "right", (1,), here)]
        moves += [(here, "up" if i < right else "left", (2,), goal)]
        episodes += [i] * 3
        flags += [VALID, VALID, VALID | REACHED | TRIAL_OVER]
    return {"moves": moves, "episode": episodes, "flags": flags}


@pytest.mark.parametrize(("right", "wrong", "known"), [(6, 0, False), (7, 0, True), (10, 4, False), (24, 6, True)])
def test_a_hint_leads_where_its_panel_was_left_for_the_last_time(
    panel: Panel, remember: Remember, right: int, wrong: int, known: bool
) -> None:
    """At more than half of the panels, for certain: the lower end of Wilson's 99 % interval of 7 of 7 is 51 %."""
    lived = led(panel, right, wrong)
    moves = lived.pop("moves")
    assert facts(remember(*moves, **lived), "leadsTo") == [("triangle", "up")] * known
    failed = [VALID] * len(moves)
    assert facts(remember(*moves, episode=lived["episode"], flags=failed), "leadsTo") == []


def test_a_panel_that_was_met_in_many_trials_is_one_case(panel: Panel, remember: Remember) -> None:
    lived = led(panel, 1, 0)
    memory = remember(*lived["moves"] * 20, episode=np.repeat(np.arange(20), 3), flags=lived["flags"] * 20)
    assert facts(memory, "leadsTo") == []


@pytest.mark.slow
def test_hints_never_mislead_in_memories_of_random_moves() -> None:
    """A quarter of the last ways out leads elsewhere; a bare count misled in 3 of 24 such memories."""
    true = dict(zip(SHAPES, DIRECTIONS, strict=True))
    known = 0
    for seed in range(6):
        env = HALMAVectorEnv(64, num_mazes=100, maze_seed=200 + seed, max_opt_len=(1, 1, 3)[seed % 3])
        memory, options = live(RandomActor(env.max_opt_len), env, 2000, seed, 0.0), OptionBags(env.max_opt_len)
        for records in (64_000, 128_000):
            found = experience_facts(replace(memory, records=memory.records[:records]), options)
            led = [(s, o) for s, r, o in found if r == "leadsTo"]
            assert all(true[shape] == direction for shape, direction in led), (seed, records)
            assert all(s in GOAL_COLOURS for s, r, _ in found if r == "reaches"), (seed, records)
            known += len(led)
    assert known > 5, "else nothing was tried"


def goals(panel: Panel, count: int, wall: int = 0) -> list[Move]:
    """Moves to the right of one, from so many different panels, that end on the goal, which may lie at a wall."""
    panels = [{"right": wall or 1 + i % 5, "up": 1 + i % 9, "down": 1 + i // 9} for i in range(count)]
    return [(panel(shown, goal=(1, 0)), "right", (1,), panel({"left": 9})) for shown in panels]


def test_the_goal_is_where_a_colour_was_used_up_from_ten_panels(panel: Panel, remember: Remember) -> None:
    one = panel({"right": 1}), "right", (1,), panel({"left": 9})
    nearer = panel({"right": 5}, goal=(3, 0)), "right", (2,), panel({"right": 3}, goal=(1, 0))
    before = [*ways(panel), *[one] * 3, *[nearer] * 30]

    def known(last: list[Move], flag: int = VALID | REACHED | TRIAL_OVER) -> list[tuple[str, str]]:
        flags = [VALID] * 30 + [0] * 30 + [VALID] * 33 + [flag] * len(last)
        return facts(remember(*before, *last, flags=flags), "reaches")

    assert known(goals(panel, 10)) == [("purple", "goal")]
    assert known(goals(panel, 9)) == known(goals(panel, 9) * 3) == []
    assert known(goals(panel, 10), VALID | TRIAL_OVER) == []
    passed = [(panel({"right": 5, "up": 3}, goal=(2, 0)), "right", (1,), panel({"left": 9}))]
    assert known(goals(panel, 10) + passed) == [], "once another digit than the option's was shown"
    assert known(goals(panel, 10, wall=1)) == [("purple", "goal")], "yellow too was used up, as it is at every wall"


@pytest.mark.parametrize(("hint", "known"), [("up", [("lesser digit", "hint")]), ("", [])])
def test_the_lesser_digit_shows_hints(panel: Panel, remember: Remember, hint: str, known: list[object]) -> None:
    two = panel({"right": 2}), "right", (2,), panel({"left": 2})
    move = panel({"right": 5}, {"right": 2}), "right", (2,), panel({"right": 3, "up": 1}, hint=hint)
    assert facts(remember(*ways(panel), *[two] * 3, *[move] * 30), "shows") == known
    assert facts(remember(*ways(panel), *[two] * 3, *[move] * 29), "shows") == []
    assert facts(remember(*ways(panel), *[move] * 30), "shows") == [], "nothing has shown what the option is about"


def test_nothing_follows_from_nothing(remember: Remember, panel: Panel) -> None:
    memory = remember((panel({"left": 1}), "left", (1,), panel({"right": 1})))
    assert experience_facts(replace(memory, records=memory.records[:0]), OPTIONS) == []
