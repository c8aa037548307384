"""What is counted in MEM beyond the knowledge bases, on memories made by hand."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.agents.halma.experience import Options, experience_facts, place_codes, shown_digits
from gumption.envs.halma.memory import REACHED, VALID, Memory

Remember = Callable[..., Memory]
Panel = Callable[..., list[int]]
OPTIONS = Options(3)


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


def test_a_direction_lowers_a_colour_when_ten_moves_did(panel: Panel, remember: Remember) -> None:
    move = panel({"right": 5}), "right", (1, 1), panel({"right": 3, "left": 2})
    assert facts(remember(move, times=9), "lowers") == []
    assert facts(remember(move, times=10), "lowers") == [("right", "yellow")]
    assert facts(remember(move, times=10), "fellFrom") == [("change:yellow 5>yellow 3:right 1+1", "yellow 5")]
    assert facts(remember(move, times=10), "hasPrimitives") == [("right 1+1", "dice 1+1")]


def test_one_case_against_it_undoes_a_generalisation(panel: Panel, remember: Remember) -> None:
    falls = panel({"right": 5}), "right", (1, 1), panel({"right": 3, "up": 1})
    rises = panel({"right": 5}), "right", (2,), panel({"right": 6})
    together = remember(*[falls] * 10, rises)
    assert facts(together, "lowers") == []
    assert facts(together, "fellFrom") == []


def test_a_change_is_stated_from_the_third_time_on(panel: Panel, remember: Remember) -> None:
    usual = panel({"right": 5}), "right", (1, 1), panel({"right": 3})
    rare = panel({"right": 9}), "right", (2,), panel({"right": 7})
    assert ("change:yellow 9>yellow 7:right 2", "yellow 9") not in facts(
        remember(*[usual] * 10, *[rare] * 2), "fellFrom"
    )
    assert ("change:yellow 9>yellow 7:right 2", "yellow 9") in facts(remember(*[usual] * 10, *[rare] * 3), "fellFrom")


def test_moves_that_raise_and_moves_that_nothing_allows(panel: Panel, remember: Remember) -> None:
    back = panel({"left": 2, "up": 1}), "right", (1,), panel({"left": 3})
    stopped = panel({"left": 2}), "up", (3, 3, 3), panel({"left": 2})
    memory = remember(back, stopped, times=10)
    assert facts(memory, "raises") == [("right", "red")]
    assert ("up", "orange") in facts(memory, "stoppedWithout")
    assert ("right", "yellow") not in facts(memory, "stoppedWithout")
    assert facts(memory, "endsAs") == [("dice 3+3+3", "stopped")]


def test_a_hint_leads_where_its_panel_was_left_for_the_last_time(panel: Panel, remember: Remember) -> None:
    hinted = [panel({"up": 2, "left": 1}, goal=(0, dy), hint="up") for dy in (3, 4, 5)]
    aside, goal = panel({"right": 1}, goal=(1, 3)), panel({"down": 3})
    moves, episodes, flags = [], [], []
    for i, here in enumerate(hinted):
        moves += [(here, "left", (1,), aside), (aside, "right", (1,), here), (here, "up", (2,), goal)]
        episodes += [i] * 3
        flags += [VALID, VALID, VALID | REACHED]
    assert facts(remember(*moves, episode=episodes, flags=flags), "leadsTo") == [("triangle", "up")]
    assert facts(remember(*moves[:6], episode=episodes[:6], flags=flags[:6]), "leadsTo") == []
    failed = [VALID] * len(flags)
    assert facts(remember(*moves, episode=episodes, flags=failed), "leadsTo") == []
    # The same panel in many trials is one panel.
    again = [moves[0], moves[1], moves[2]] * 5
    fields = {"episode": np.repeat(np.arange(5), 3), "flags": [VALID, VALID, VALID | REACHED] * 5}
    assert facts(remember(*again, **fields), "leadsTo") == []


def test_a_colour_is_gone_at_the_goal_when_ten_different_goals_lack_it(panel: Panel, remember: Remember) -> None:
    moves = [
        (
            panel({"right": 1 + i % 3}, goal=(1 + i % 3, 0)),
            "right",
            (1 + i % 3,),
            panel({"left": 1 + i % 9, "up": i // 9}),
        )
        for i in range(10)
    ]
    flags = VALID | REACHED
    assert facts(remember(*moves, flags=flags), "goneAt") == [("purple", "goal"), ("yellow", "goal")]
    assert facts(remember(*moves[:9], flags=flags), "goneAt") == []
    assert facts(remember(*[moves[0]] * 20, flags=flags), "goneAt") == []


@pytest.mark.parametrize(("hint", "known"), [("up", [("lesser digit", "hint")]), ("", [])])
def test_the_lesser_digit_shows_hints(panel: Panel, remember: Remember, hint: str, known: list[object]) -> None:
    here = panel({"right": 5}, {"right": 2})
    move = here, "right", (2,), panel({"right": 3, "up": 1}, hint=hint)
    assert facts(remember(move, times=10), "shows") == known


def test_nothing_follows_from_nothing(remember: Remember, panel: Panel) -> None:
    memory = remember((panel({"left": 1}), "left", (1,), panel({"right": 1})))
    assert experience_facts(Memory(memory.records[:0], 3), OPTIONS) == []
