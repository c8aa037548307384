"""Effects: what an agent lived becomes facts, and what follows from them, in a small world of opaque symbols."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.effects import Effects, Lived

PLACES, STEPS = 8, np.array([1, -1, 2])  # on a line; what the three actions add
GIVEN = tuple(range(1, PLACES + 1))


def line(rows: int, seed: int = 0, *, but: int = 0, steps: np.ndarray = STEPS) -> Lived:
    """Actions 1 to 3 at random places of a line: slot 0 is the place, slot 1 a colour that means nothing.

    :param but: a place at which action 3 is never tried.
    """
    rng = np.random.default_rng(seed)
    place, action = rng.integers(1, PLACES + 1, rows), rng.integers(1, 4, rows)
    tried = ~((place == but) & (action == 3))
    place, action = place[tried], action[tried]
    end = place + steps[action - 1]
    carried = (end >= 1) & (end <= PLACES)
    colour = rng.integers(1, 4, (2, len(place)))
    before = np.stack([place, colour[0]], axis=1)[:, None]
    after = np.stack([np.where(carried, end, place), colour[1]], axis=1)[:, None]
    return Lived(np.ones((len(place), 1), dtype=np.int64), before, after, action[:, None], 0 * action, carried)


def told(effects: Effects, places: np.ndarray, actions: tuple[int, ...] = (1, 2, 3)) -> tuple[np.ndarray, np.ndarray]:
    """(B, A) place after each action, 0 where no sure fact tells, and how likely it is carried out."""
    state = np.stack([places, np.full_like(places, 2)], axis=1)[:, None]
    tried = np.broadcast_to(np.array(actions)[None, :, None], (len(places), len(actions), 1))
    found = effects.predict(np.ones((len(places), 1), dtype=np.int64), state, tried)
    return np.where(found.known, found.value[..., 0], 0)[:, :, 0, 0], found.possible


def test_facts_tell_what_changes_and_what_stops() -> None:
    places = np.arange(1, PLACES + 1)
    after, possible = told(Effects.fit(line(2000)), places)
    expected = places[:, None] + STEPS
    inside = (expected >= 1) & (expected <= PLACES)
    assert np.array_equal(after, np.where(inside, expected, 0))
    assert np.array_equal(possible, inside)


def test_what_was_never_lived_follows_by_rules_that_the_miner_finds() -> None:
    effects = Effects.fit(line(2000, but=4))
    unknown, _ = told(effects, np.array([4]))
    closed = effects.closed()
    after, possible = told(closed, np.array([4]))
    assert unknown.tolist() == [[5, 3, 0]]
    assert after.tolist() == [[5, 3, 6]]
    assert possible[0, 2] == 1
    assert "action 2(x, y) <= action 0(x, z) & action 0(z, y)" in map(str, closed.rules)  # indices of actions
    assert (closed.count == 0).sum() == 2  # where it leads, and that it can be done
    assert told(effects.closed([]), np.array([4]))[0].tolist() == [[5, 3, 0]]


def test_a_law_of_one_slot_holds_for_another_that_agrees_and_no_two_values_lead_to_one() -> None:
    """Two lines in turn: the first was lived up to place 6 alone; the second, whole, shows the rest of each law."""
    ones, twos = line(2000), line(2000, seed=1)
    low = (ones.before[:, 0, 0] <= 6) & (ones.after[:, 0, 0] <= 6)
    ones = ones.only(low)
    both = []
    for lived, first in ((ones, True), (twos, False)):
        place = lived.before[:, :, :1], lived.after[:, :, :1]
        still = np.full_like(place[0], 1)
        parts = [np.concatenate([part, still] if first else [still, part], axis=2) for part in place]
        both.append(replace(lived, before=parts[0], after=parts[1], action=lived.action + (0 if first else 3)))
    life = Lived(*(np.concatenate([getattr(one, name) for one in both]) for name in Lived.__dataclass_fields__))
    effects = Effects.fit(life)
    laws, closed = effects.laws(), effects.closed().laws()
    whole = closed[3:, 1]  # the second line's
    assert laws[0, 0, 7] == 0 == laws[1, 0, 8]
    assert (closed[0, 0, 7], closed[1, 0, 8]) == (8, 7) == (whole[0, 7], whole[1, 8])
    for law in (*closed[:3, 0], *whole):
        ends = law[law > 0]
        assert len(np.unique(ends)) == len(ends)


@pytest.mark.parametrize("seed", range(3))
def test_renamed_symbols_give_the_renamed_facts(seed: int) -> None:
    """Symbols are compared for equality alone: places, colours and actions have other numbers, in another order."""
    rng, lived = np.random.default_rng(seed), line(600, seed, but=4)
    place, action = (np.append(0, 1 + rng.permutation(20))[: n + 1] for n in (PLACES, 3))
    renamed = Lived(
        lived.thing, *(np.stack([place[p[..., 0]], 30 - p[..., 1]], axis=-1) for p in (lived.before, lived.after)),
        action[lived.action], lived.episode, lived.carried,
    )  # fmt: skip
    places = np.arange(1, PLACES + 1)
    after, possible = told(Effects.fit(lived).closed(), places)
    other, can = told(Effects.fit(renamed).closed(), place[places], tuple(action[1:].tolist()))
    assert np.array_equal(other, place[after])
    assert np.array_equal(can, possible, equal_nan=True)


@pytest.mark.parametrize("steps", [(-1, 1, 2), (2, 1, -1), (-2, 2, 1)])
def test_other_laws_are_learned_as_well(steps: tuple[int, ...]) -> None:
    places = np.arange(1, PLACES + 1)
    after, _ = told(Effects.fit(line(2000, steps=np.array(steps))).closed(), places)
    expected = places[:, None] + np.array(steps)
    assert np.array_equal(after, np.where((expected >= 1) & (expected <= PLACES), expected, 0))


def test_facts_that_contradict_each_other_keep_their_counts() -> None:
    lived = line(3000)
    wrong = np.flatnonzero((lived.before[:, 0, 0] == 3) & (lived.action[:, 0] == 1))[::10]
    lived.after[wrong, 0, 0] = 8
    effects = Effects.fit(lived)
    state, action = np.array([[[3, 2]]]), np.array([[[1]]])
    found = effects.predict(np.ones((1, 1), dtype=np.int64), state, action, likeliest=2)
    assert found.value[0, 0, 0, 0].tolist() == [4, 8]
    assert not found.known[0, 0, 0, 0]
    assert found.p[0, 0, 0, 0] == pytest.approx([0.9, 0.1], abs=0.01)
    graph = KnowledgeGraph()
    name = effects.to_graph(graph, "halma/run", lambda slot, value: f"{['place', 'colour'][slot]} {value}")
    nodes = {s for s, _, _ in graph.triples(relation="hasCondition", object="place 3", graph=name)}
    ends = {
        o: s
        for s, _, o in graph.triples(relation="hasEffect", graph=name)
        if s in nodes and o in ("place 4", "place 8")
    }
    counts = {end: next(graph.triples(node, "hasVisits", graph=name))[2] for end, node in ends.items()}
    assert counts["place 8"].startswith(f'"{len(wrong)}"')


def test_a_window_learns_a_law_that_changed() -> None:
    old, new = line(3000), line(1000, 1, steps=-STEPS)
    both = Lived(*(np.concatenate([getattr(old, n), getattr(new, n)]) for n in Lived.__dataclass_fields__))
    at = np.array([4])
    assert told(Effects.fit(both), at)[0].tolist() == [[0, 0, 0]]
    assert told(Effects.fit(both, window=1000), at)[0].tolist() == [[3, 5, 2]]


def test_things_of_one_action_have_facts_of_their_own() -> None:
    """The same action moves a thing of kind 1 ahead and one of kind 2 back: the thing itself is a condition."""
    ahead, back = line(1500), line(1500, steps=-STEPS)
    kinds = np.concatenate([ahead.thing, 1 + back.thing], axis=1)
    pairs = [np.concatenate([getattr(ahead, n), getattr(back, n)], axis=1) for n in ("before", "after")]
    rows = ahead.carried & back.carried
    effects = Effects.fit(Lived(kinds, *pairs, ahead.action, ahead.episode, rows).only(rows))
    found = effects.predict(np.array([[1, 2]]), np.array([[[4, 1], [4, 1]]]), np.array([[[1]]]))
    assert found.value[0, 0, :, 0, 0].tolist() == [5, 3]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda one: one.only(slice(0)), "nothing was lived"),
        (
            lambda one: Lived(one.thing, one.before, one.after[:, :, :1], one.action, one.episode, one.carried),
            "after has",
        ),
        (lambda one: Lived(one.thing, one.before, one.after, one.action[:3], one.episode, one.carried), "action has"),
    ],
)
def test_what_is_no_life_is_refused(change: Callable[[Lived], Lived], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Effects.fit(change(line(20)))
