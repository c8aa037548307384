"""Knowledge bases: memories of a few moves whose tables follow from the paper's rules (Appendix D) by hand."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.halma import HALMAVectorEnv, KnowledgeBases, Memory
from gumption.envs.halma.memory import REACHED, TRIAL_OVER, VALID

LEFT, UP, RIGHT, DOWN = range(4)
Move = tuple[np.ndarray, list[int], np.ndarray, int]


def panel(goal: tuple[int, int] = (3, 3), hint: int = 0, **digits: tuple[int, int]) -> np.ndarray:
    """A row: left=(3, 5) is a crossing 3 and a wall 5 to the left."""
    row = np.zeros(11, dtype=np.int8)
    for name, (crossing, wall) in digits.items():
        direction = ("left", "up", "right", "down").index(name)
        row[direction], row[4 + direction] = crossing, wall
    row[8:10], row[10] = goal, hint
    return row


def memory_of(*moves: Move) -> Memory:
    """A memory of moves (s, direction and primitives, s', flags)."""
    before, options, after, flags = zip(*moves, strict=True)
    padded = [option + [0] * (6 - len(option)) for option in options]
    return Memory.of(5, np.array(before), np.array(padded), np.array(after), flags=np.array(flags))


def entries(table: np.ndarray) -> dict[tuple[int, ...], int]:
    """What is not zero."""
    return {tuple(place): int(table[tuple(place)]) for place in np.argwhere(table).tolist()}


def test_red_5_and_red_3_in_one_panel_then_left_2():
    """Appendix D: two digits in one panel are semantics; red 5, then left 2, then red 3 is causality."""
    move = (panel(left=(3, 5)), [LEFT, 2], panel(left=(1, 3), right=(0, 2)), VALID)
    known = KnowledgeBases.of(memory_of(move))
    assert entries(known.semantics) == {(5, 3, LEFT): 1}  # nothing was decided at s' yet
    assert entries(known.sightings) == {(5, 3, LEFT): 1, (3, 1, LEFT): 1}
    assert entries(known.causality) == {(5, 3, LEFT): 1, (3, 1, LEFT): 1}  # the wall from 5, the crossing from 3
    assert entries(known.affordance) == {}
    assert len(known.affordance_options) == 0


def test_up_2_and_3_uses_up_orange_5():
    """Appendix D: exploiting the affordance of orange 5 with up 2+3, of orange 3 with up 3."""
    known = KnowledgeBases.of(
        memory_of(
            (panel(up=(0, 5)), [UP, 2, 3], panel(down=(0, 5)), VALID),
            (panel(up=(0, 5)), [UP, 2, 0, 0, 3], panel(down=(0, 5)), VALID),  # zeros move nothing: the same option
            (panel(up=(0, 5)), [UP, 3, 2], panel(down=(0, 5)), VALID),  # another one, with the same effect
            (panel(up=(3, 9)), [UP, 3], panel(up=(0, 6)), VALID),
        ),
        threshold=1,
    )
    assert entries(known.affordance) == {(5, UP): 3, (3, UP): 1}
    two_three, three_two = 2 * 4 + 3, 3 * 4 + 2
    uses = [[3, UP, UP, 3, 1], [5, UP, UP, two_three, 2], [5, UP, UP, three_two, 1]]
    assert known.affordance_options.tolist() == uses
    assert entries(known.causality) == {(9, 6, UP): 1}
    assert entries(known.a) == {(5, UP, 3, UP): 1}


def test_digits_behind_rise_by_the_option_s_length():
    """Causality is defined "within each type and its inverse" (Definition 15)."""
    move = (panel(right=(0, 6), left=(1, 2)), [RIGHT, 1, 2], panel(right=(0, 3), left=(4, 5)), VALID)
    known = KnowledgeBases.of(memory_of(move))
    assert entries(known.causality) == {(6, 3, RIGHT): 1, (4, 1, LEFT): 1, (5, 2, LEFT): 1}


@pytest.mark.parametrize(
    ("before", "option", "after"),
    [
        # A crossing that comes up after the one that was passed: 1 to 4 is no change by 2, nor is 5 to 2.
        ({"left": (1, 9)}, [LEFT, 2], {"left": (4, 7)}),
        ({"left": (5, 9)}, [LEFT, 2], {"left": (2, 7)}),
        # Behind, a crossing that was stepped over is nearer than the one before.
        ({"right": (3, 4), "left": (2, 9)}, [LEFT, 2], {"right": (1, 6), "left": (0, 7)}),
    ],
)
def test_another_crossing_is_no_causality(before, option, after):
    known = KnowledgeBases.of(memory_of((panel(**before), option, panel(**after), VALID)))
    assert known.causality[[4, 5, 3], [1, 2, 1]].sum() == 0
    assert known.causality[9, 7, LEFT] == 1


def test_digits_of_other_directions_say_nothing_about_a_move():
    known = KnowledgeBases.of(memory_of((panel(left=(0, 5)), [UP, 2], panel(left=(0, 3), up=(0, 1)), VALID)))
    assert entries(known.causality) == {}
    assert entries(known.affordance) == {}


@pytest.mark.parametrize(
    ("before", "after", "used"),
    [
        ({"left": (2, 6)}, {"left": (0, 4)}, 1),
        ({"left": (2, 6)}, {"left": (3, 4)}, 1),  # the next crossing is another digit
        ({"left": (2, 2)}, {}, 1),  # crossing and wall at once: one visit
        ({"left": (2, 6)}, {"left": (2, 4)}, 0),  # the panel shows red 2 as before
        ({"left": (2, 4)}, {"left": (0, 2)}, 0),  # now of the wall
        ({"left": (0, 6)}, {"left": (0, 4)}, 0),
        ({"right": (0, 2)}, {"right": (0, 4)}, 0),  # gone, and not by going there
    ],
)
def test_a_digit_is_used_up_when_the_option_is_as_long_and_it_is_gone(before, after, used):
    known = KnowledgeBases.of(memory_of((panel(**before), [LEFT, 1, 1], panel(**after), VALID)))
    assert entries(known.affordance) == ({(2, LEFT): 1} if used else {})


# ---- Appendix D to the letter: no axis and no length is named


def literal(*moves: Move, **settings) -> KnowledgeBases:
    return KnowledgeBases.of(memory_of(*moves), 1, knowledge_base="literal", **settings)


@pytest.mark.parametrize(
    ("before", "option", "after", "changed", "gone"),
    [
        # Up a side corridor: the wall to the left is another one. Strict counts nothing at all.
        ({"left": (0, 5)}, [UP, 2], {"left": (0, 3), "down": (0, 2)}, {(5, 3, LEFT)}, set()),
        # A crossing was passed, and the next one is 4 away.
        ({"left": (1, 9)}, [LEFT, 2], {"left": (4, 7)}, {(9, 7, LEFT), (4, 1, LEFT)}, set()),
        # Out of a corridor: red 5 is gone, though nobody went 5 to the left.
        ({"left": (0, 5), "up": (0, 3)}, [UP, 3], {"down": (0, 3)}, set(), {(5, LEFT, UP), (3, UP, UP)}),
        # Past a crossing by more than its distance: red 2 is gone.
        ({"left": (2, 6)}, [LEFT, 3], {"left": (0, 3)}, {(6, 3, LEFT)}, {(2, LEFT, LEFT)}),
        # Crossing and wall show one value: one visit.
        ({"left": (2, 2)}, [LEFT, 2], {}, set(), {(2, LEFT, LEFT)}),
        # The panel shows red 2 as before, now of the wall.
        ({"left": (2, 4)}, [LEFT, 2], {"left": (0, 2)}, {(4, 2, LEFT)}, set()),
        # Strict counts red 2 as used up; by the text it changed into 3.
        ({"left": (2, 6)}, [LEFT, 2], {"left": (3, 4)}, {(6, 4, LEFT), (3, 2, LEFT)}, set()),
        # As strict: red 5, left 5.
        ({"left": (0, 5)}, [LEFT, 3, 2], {"right": (0, 5)}, set(), {(5, LEFT, LEFT)}),
    ],
)
def test_literal_knowledge_bases_are_what_appendix_d_says(before, option, after, changed, gone):
    known = literal((panel(**before), option, panel(**after), VALID))
    assert set(entries(known.causality)) == changed
    assert {tuple(row[:3]) for row in known.affordance_options.tolist()} == gone
    assert known.affordance_options[:, 4].tolist() == [1] * len(gone)
    assert set(entries(known.understood)) == {(digit, type_) for digit, type_, _ in gone}


def test_where_strict_and_literal_differ():
    aside = [(panel(left=(0, 5), up=(0, 3)), [UP, 3], panel(left=(0, 4), down=(0, 3)), VALID)] * 3
    strict = KnowledgeBases.of(memory_of(*aside))
    assert (entries(strict.c), entries(strict.understood)) == ({}, {(3, UP): 1})
    told = KnowledgeBases.of(memory_of(*aside), knowledge_base="literal")
    assert (entries(told.c), entries(told.understood)) == ({(5, 4, LEFT): 1}, {(3, UP): 1})
    assert entries(told.semantics) == entries(strict.semantics)
    assert (told.knowledge_base, told.choices) == ("literal", {"knowledge_base": "literal"})
    assert told.fingerprint != strict.fingerprint


def test_an_option_that_made_a_digit_of_another_direction_disappear_keeps_its_own():
    known = literal((panel(left=(0, 5), up=(0, 3)), [UP, 1, 2], panel(down=(0, 3)), VALID))
    assert ("red 5", "affords", "up 1+2") in known.facts()
    assert ("red 5", "indicates", "left") in known.facts()
    assert ("up 1+2", "hasDirection", "up") in known.facts()
    assert ("use:r:red 5:up 1+2", "hasOption", "up 1+2") in known.evidence("r")


def test_what_an_invalid_move_shows_is_no_change_in_either_reading():
    rest = panel(left=(3, 5))
    for reading in ("strict", "literal"):
        known = KnowledgeBases.of(memory_of((rest, [UP, 3], rest, 0)), 1, knowledge_base=reading)
        assert not known.causality.any()
        assert not known.affordance.any()


@pytest.mark.parametrize("reading", ["strict", "literal"])
def test_the_panel_at_the_goal_is_counted_or_dropped(reading):
    """s' of a trial's last move is never shown to the agent."""
    goal = panel(goal=(0, 0), right=(3, 7), left=(0, 2))
    into = (panel(right=(2, 9)), [RIGHT, 2], goal, VALID | REACHED | TRIAL_OVER)
    counted = KnowledgeBases.of(memory_of(into), 1, knowledge_base=reading)
    dropped = KnowledgeBases.of(memory_of(into), 1, knowledge_base=reading, last_panel="dropped")
    assert entries(counted.sightings) == {(9, 2, RIGHT): 1, (7, 3, RIGHT): 1}
    assert entries(dropped.sightings) == {(9, 2, RIGHT): 1}
    assert (9, 7, RIGHT) in entries(counted.causality)
    assert not dropped.causality.any()
    assert (len(counted.panels), len(dropped.panels)) == (2, 1)
    assert not dropped.affordance.any()
    assert entries(dropped.semantics) == entries(counted.semantics) == {(9, 2, RIGHT): 1}
    on = (*into[:3], VALID)  # a move that ends no trial counts in any case
    assert entries(KnowledgeBases.of(memory_of(on), 1, last_panel="dropped").causality)


def test_the_first_reading_has_the_fingerprint_that_it_always_had():
    """Splits and graphs that were made before there were two readings are of strict knowledge bases."""
    moves = [
        (panel(goal=(0, 0), left=(3, 5)), [LEFT, 2], panel(goal=(0, 0), left=(1, 3)), VALID),
        (panel(goal=(0, 0), up=(0, 5)), [UP, 2, 3], panel(goal=(0, 0), down=(0, 5)), VALID | REACHED | TRIAL_OVER),
    ]
    known = KnowledgeBases.of(memory_of(*moves), 1)
    assert known.fingerprint == "5e7bf1ba1bd0dcbc766236ef64d921a15836d3a355d917c2c5e42a10e7505897"
    others = [
        KnowledgeBases.of(memory_of(*moves), 1, knowledge_base="literal"),
        KnowledgeBases.of(memory_of(*moves), 1, last_panel="dropped"),
        KnowledgeBases.of(memory_of(*moves), 1, knowledge_base="literal", last_panel="dropped"),
    ]
    assert len({known.fingerprint, *(one.fingerprint for one in others)}) == 4


def test_readings_that_there_are_not():
    with pytest.raises(InputError, match="knowledge_base is 'wide'; it can be strict, literal"):
        KnowledgeBases.of(memory_of((panel(), [UP, 1], panel(), VALID)), knowledge_base="wide")
    with pytest.raises(InputError, match="last_panel is 'seen'; it can be counted, dropped"):
        KnowledgeBases.of(memory_of((panel(), [UP, 1], panel(), VALID)), last_panel="seen")


def test_an_invalid_move_is_seen_and_not_understood():
    rest = panel(left=(3, 5))
    known = KnowledgeBases.of(
        memory_of(*[(rest, [UP, 3], rest, 0)] * 200, (rest, [LEFT, 0], rest, TRIAL_OVER)),
    )
    assert entries(known.semantics) == {}
    assert entries(known.sightings) == {(5, 3, LEFT): 201}
    assert known.panels.tolist() == [rest.tolist()]
    assert known.panel_counts.tolist() == [201]


def test_one_digit_twice_has_no_order():
    known = KnowledgeBases.of(memory_of((panel(left=(4, 4)), [LEFT, 1], panel(left=(3, 3)), VALID)))
    assert entries(known.semantics) == {}
    assert entries(known.sightings) == {}
    assert entries(known.causality) == {(4, 3, LEFT): 1}  # one visit, though crossing and wall both fell


def test_goal_digits_are_in_no_knowledge_base():
    before, after = panel(goal=(5, -2), right=(0, 9)), panel(goal=(2, -2), right=(0, 6), left=(0, 3), hint=2)
    known = KnowledgeBases.of(memory_of((before, [RIGHT, 3], after, VALID | REACHED)))
    assert entries(known.causality) == {(9, 6, RIGHT): 1}
    assert entries(known.shown) == {(9, RIGHT): 1, (6, RIGHT): 1, (3, LEFT): 1}


def test_the_threshold_is_three_visits_unless_said_otherwise():
    move = (panel(left=(3, 5)), [LEFT, 2], panel(left=(1, 3)), VALID)
    use = (panel(down=(0, 1)), [DOWN, 1], panel(), VALID)
    twice = memory_of(move, move, use, use)
    for known in (KnowledgeBases.of(twice), KnowledgeBases.of(memory_of(move, move, move, use), 4)):
        assert not known.s.any()
        assert not known.c.any()
        assert not known.understood.any()
    for known in (KnowledgeBases.of(memory_of(move, move, move, use, use, use)), KnowledgeBases.of(twice, 2)):
        assert entries(known.s) == {(5, 3, LEFT): 1}
        assert entries(known.c) == {(3, 1, LEFT): 1, (5, 3, LEFT): 1}
        assert entries(known.understood) == {(1, DOWN): 1}
    with pytest.raises(InputError, match="threshold is 0; it is a whole number, at least 1"):
        KnowledgeBases.of(twice, 0)


def test_pairs_of_affordance_may_be_of_two_types():
    use = [(panel(left=(0, 5)), [LEFT, 3, 2], panel(), VALID), (panel(up=(0, 3)), [UP, 3], panel(), VALID)]
    known = KnowledgeBases.of(memory_of(*use * 3))
    assert entries(known.a) == {(5, LEFT, 3, UP): 1}
    assert known.counts()["KB_A"] == {"left": 0, "up": 0, "right": 0, "down": 0, "any": 1}
    assert known.counts()["KB_AC"]["any"] == 1


def test_counts_by_direction():
    moves = [
        (panel(left=(3, 5)), [LEFT, 2], panel(left=(1, 3)), VALID),
        (panel(up=(3, 5)), [UP, 3], panel(up=(0, 2)), VALID),
        (panel(up=(0, 2)), [UP, 2], panel(), VALID),
    ]
    assert KnowledgeBases.of(memory_of(*moves * 3)).counts() == {
        "KB_S": {"left": 1, "up": 1, "right": 0, "down": 0, "any": 1},
        "KB_C": {"left": 2, "up": 1, "right": 0, "down": 0, "any": 3},
        "KB_A": {"left": 0, "up": 1, "right": 0, "down": 0, "any": 1},
        "KB_AC": {"left": 2, "up": 2, "right": 0, "down": 0, "any": 4},
    }


def test_an_empty_memory_knows_nothing():
    nothing = np.zeros((0, 11), dtype=np.int8)
    known = KnowledgeBases.of(Memory.of(5, nothing, np.zeros((0, 6)), nothing))
    assert not any(table.any() for table in (known.semantics, known.sightings, known.causality, known.affordance))
    assert known.panels.shape == (0, 11)
    assert known.affordance_options.shape == (0, 5)
    assert known.facts() == []
    assert known.evidence("r") == []


def by_hand(memory: Memory) -> dict[str, Counter]:
    """The rules once more, record by record and with nothing but Python."""
    told: dict[str, Counter] = {name: Counter() for name in ("semantics", "sightings", "causality", "uses", "panels")}
    for before, option, after, flags in zip(memory.before, memory.option, memory.after, memory.flags, strict=True):
        s, s_next = before.tolist(), after.tolist()
        direction, length = int(option[0]), sum(option[1:].tolist())
        told["panels"].update({tuple(s), tuple(s_next)})
        seen = [{(max(r[d], r[4 + d]), min(r[d], r[4 + d]), d) for d in range(4)} for r in (s, s_next)]
        shown = [{(d1, d2, d) for d1, d2, d in pairs if d1 > d2 > 0} for pairs in seen]
        told["sightings"].update(shown[0] | shown[1])
        if not flags & VALID:
            continue
        told["semantics"].update(shown[0])
        changed = set()
        for slot in range(8):
            d, old, new = slot % 4, s[slot], s_next[slot]
            falls = d == direction and old - new == length
            rises = d == (direction + 2) % 4 and new - old == length
            if old and new and length and (falls or rises):
                changed.add((max(old, new), min(old, new), d))
        told["causality"].update(changed)
        here = (s[direction], s[4 + direction])
        there = (s_next[direction], s_next[4 + direction])
        if length and length in here and length not in there:
            told["uses"][(length, direction, "".join(str(p) for p in option[1:].tolist() if p))] += 1
    return told


def assert_as_by_hand(memory: Memory) -> None:
    known, told = KnowledgeBases.of(memory), by_hand(memory)
    for name in ("semantics", "sightings", "causality"):
        assert entries(getattr(known, name)) == told[name]
    uses = {(d, x, np.base_repr(code, 4)): n for d, x, _, code, n in known.affordance_options.tolist()}
    assert uses == told["uses"]
    assert known.affordance.sum() == sum(told["uses"].values())
    panels = {tuple(row): count for row, count in zip(known.panels.tolist(), known.panel_counts.tolist(), strict=True)}
    assert panels == told["panels"]
    assert list(panels) == sorted(panels)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(1, 5), st.integers(0, 10**6))
def test_tables_are_what_the_rules_give_record_by_record(count, max_opt_len, seed):
    rng = np.random.default_rng(seed)
    rows = np.zeros((2, count, 11), dtype=np.int8)
    rows[..., :8] = rng.integers(0, 10, (2, count, 8)) * (rng.random((2, count, 8)) < 0.7)
    rows[..., 8:10] = rng.integers(-9, 10, (2, count, 2))
    rows[..., 10] = rng.integers(0, 5, (2, count))
    option = rng.integers(0, 4, (count, 1 + max_opt_len))
    # Random rows rarely fit a move: make most slots change as moves do.
    length, way = option[:, 1:].sum(1), option[:, 0]
    for slot in range(8):
        sign = np.where(way == slot % 4, -1, np.where(way == (slot + 2) % 4, 1, 0))
        moved = np.clip(rows[0, :, slot] + sign * length, 0, 9)
        rows[1, :, slot] = np.where(rng.random(count) < 0.7, moved, rows[1, :, slot])
    flags = rng.integers(0, 8, count)
    assert_as_by_hand(Memory.of(max_opt_len, rows[0], option, rows[1], flags=flags))


def test_the_memory_of_an_agent_that_wanders():
    rng = np.random.default_rng(3)
    env = HALMAVectorEnv(32, num_mazes=20, maze_seed=5)
    env.reset(seed=1)
    parts = []
    for _ in range(60):
        before = env.rows.copy()
        option = rng.choice([0, 1, 2, 3], p=[0.6, 0.2, 0.1, 0.1], size=(32, 6))
        option[:, 0] = rng.integers(0, 4, 32)
        env.step(option)
        parts.append((before, option, env.landed.copy(), env.valid * VALID))
    before, option, after, flags = (np.concatenate(field) for field in zip(*parts, strict=True))
    memory = Memory.of(5, before, option, after, flags=flags)
    assert_as_by_hand(memory)
    known = KnowledgeBases.of(memory, 1)
    assert known.c.sum() > 10
    assert known.understood.sum() > 10
    # In mazes every valid move makes the walls before and behind it change by its length, or uses one up.
    walls = memory.before[memory.valid, 4 + memory.direction[memory.valid]]
    assert (walls >= memory.length[memory.valid]).all()
    assert set(np.argwhere(known.s)[:, 2]) == {LEFT, UP, RIGHT, DOWN}


def test_the_fingerprint_tells_memories_and_thresholds_apart():
    move = (panel(left=(3, 5)), [LEFT, 2], panel(left=(1, 3)), VALID)
    other = (panel(left=(3, 5)), [LEFT, 1, 1], panel(left=(1, 3)), VALID)
    one, same = KnowledgeBases.of(memory_of(move)), KnowledgeBases.of(memory_of(move))
    assert one.fingerprint == same.fingerprint
    others = [KnowledgeBases.of(memory_of(move), 2), KnowledgeBases.of(memory_of(other))]
    assert len({one.fingerprint, *(known.fingerprint for known in others)}) == 3
