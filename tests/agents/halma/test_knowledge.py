"""What follows from a memory, by which rules, and that nothing else is known."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gumption.agents.halma.experience import OptionBags, experience_facts
from gumption.agents.halma.knowledge import HALMAKnowledge, add_knowledge, default_rules, seen_facts
from gumption.data import InputError
from gumption.envs.halma.maze import ALL_COLOURS, DIRECTIONS, SHAPES
from gumption.envs.halma.memory import Memory
from gumption.kg import KnowledgeGraph

Remember = Callable[..., Memory]
Panel = Callable[..., list[int]]

YELLOW, GREEN = 2, 3
TABLES = (
    "greater", "sums", "measure", "stopped", "lowers", "raises", "stopped_without", "opposite", "leads_to",
    "reaches_goal", "lesser_shows_hint",
)  # fmt: skip


def facts_of(known: HALMAKnowledge) -> Iterator[tuple[str, str, str]]:
    """The fact behind each entry of the tables."""
    for colour, table in zip(ALL_COLOURS, known.greater, strict=True):
        for a, b in np.argwhere(table).tolist():
            yield f"{colour} {a}", "greaterThan", f"{colour} {b}"
    for a, b in np.argwhere(known.sums).tolist():
        yield f"{a} and {b}", "equals", str(known.sums[a, b])
    for option in np.flatnonzero(known.measure).tolist():
        yield known.options.names[option], "measures", str(known.measure[option])
    for relation, table, subjects, objects in (
        ("endsAs", known.stopped[:, None], known.options.names, ("stopped",)),
        ("lowers", known.lowers, DIRECTIONS, ALL_COLOURS),
        ("raises", known.raises, DIRECTIONS, ALL_COLOURS),
        ("stoppedWithout", known.stopped_without, DIRECTIONS, ALL_COLOURS),
        ("opposite", known.opposite, DIRECTIONS, DIRECTIONS),
        ("leadsTo", known.leads_to, SHAPES, DIRECTIONS),
        ("reaches", known.reaches_goal[:, None], ALL_COLOURS, ("goal",)),
    ):
        for i, j in np.argwhere(table).tolist():
            yield subjects[i], relation, objects[j]
    if known.lesser_shows_hint:
        yield "lesser digit", "shows", "hint"


def without(*names: str) -> list[Any]:
    rules = [rule for rule in default_rules() if rule.name not in names]
    assert len(rules) == len(default_rules()) - len(names)
    return rules


def measure(knowledge: HALMAKnowledge, *primitives: int) -> int:
    return int(knowledge.measure[knowledge.options.bags.index(primitives)])


@pytest.fixture(scope="module")
def walks(panel: Panel, remember: Remember) -> Memory:
    """Thirty times: yellow 5 to yellow 3 by right 2, and on by right 1+2 to the wall, where no move to the right is
    carried out; yellow 3 to yellow 1 by right 2, and yellow 2 used up by it."""
    return remember(
        (panel({"right": 5}), "right", (2,), panel({"right": 3, "left": 2})),
        (panel({"right": 3, "left": 2}), "right", (1, 2), panel({"left": 5})),
        (panel({"right": 3, "left": 2}), "right", (2,), panel({"left": 4, "right": 1})),
        (panel({"right": 2}), "right", (2,), panel({"left": 2})),
        (panel({"left": 5}), "right", (3,), panel({"left": 5})),
        times=30,
    )


@pytest.mark.parametrize("max_opt_len", [1, 3, 5])
def test_an_empty_memory_knows_nothing(newborn: Callable[[int], HALMAKnowledge], max_opt_len: int) -> None:
    knowledge = newborn(max_opt_len)
    for name in TABLES:
        assert not np.any(getattr(knowledge, name)), name
    assert not np.any(knowledge.differences)
    assert list(facts_of(knowledge)) == []
    assert len(knowledge.measure) == len(OptionBags(max_opt_len))


def test_what_one_colour_taught_holds_in_the_others_by_a_rule_alone(walks: Memory) -> None:
    knowledge = HALMAKnowledge.of_memory(walks)
    assert knowledge.greater[:, 5, 3].all()
    rules = without("the order of values holds in every colour")
    alone = HALMAKnowledge.of_memory(walks, rules=rules)
    assert np.flatnonzero(alone.greater[:, 5, 3]).tolist() == [YELLOW]


def test_order_is_transitive_by_a_rule_alone(panel: Panel, remember: Remember) -> None:
    # Two panels show 9 > 6 and 6 > 4 in different colours; nothing was ever moved between them.
    moves = [
        (panel({"right": 9, "left": 1}, {"right": 6}), "left", (1,), panel({"up": 1})),
        (panel({"up": 6, "left": 1}, {"up": 4}), "left", (1,), panel({"up": 1})),
    ]
    memory = remember(*moves, times=3)
    assert HALMAKnowledge.of_memory(memory).greater[GREEN, 9, 4]
    assert not HALMAKnowledge.of_memory(memory, rules=without("transitive(greaterThan)")).greater[:, 9, 4].any()
    unlifted = without("the order of digits is that of their values")
    assert not HALMAKnowledge.of_memory(memory, rules=unlifted).greater[:, 9, 4].any()


def test_options_measure_what_they_use_up_and_sum_up(walks: Memory) -> None:
    knowledge = HALMAKnowledge.of_memory(walks)
    assert measure(knowledge, 2) == 2
    assert measure(knowledge, 1, 2) == 3
    assert knowledge.sums[3, 2] == knowledge.sums[2, 3] == 5
    assert knowledge.sums[1, 2] == 3
    assert knowledge.differences[5, 3] == 2
    assert knowledge.differences[3, 2] == 1
    # Nobody has tried 2+2 or 1; 2 and 2 were never summed up.
    assert measure(knowledge, 2, 2) == measure(knowledge, 1) == knowledge.sums[2, 2] == 0


def test_an_option_never_tried_folds_into_sums(panel: Panel, remember: Remember, walks: Memory) -> None:
    more = remember((panel({"right": 4}), "right", (2,), panel({"right": 2, "left": 2})), times=30)
    memory = replace(walks, records=np.concatenate([walks.records, more.records]))
    assert measure(HALMAKnowledge.of_memory(memory), 2, 2) == 4
    rules = without("an option measures the sum of its rest and its last primitive")
    assert measure(HALMAKnowledge.of_memory(memory, rules=rules), 2, 2) == 0


def test_opposite_directions_follow_from_what_they_do(panel: Panel, remember: Remember) -> None:
    memory = remember(
        (panel({"right": 5, "left": 1}), "right", (2,), panel({"right": 3, "left": 3})),
        (panel({"right": 3, "left": 3}), "left", (2,), panel({"right": 5, "left": 1})),
        times=30,
    )
    knowledge = HALMAKnowledge.of_memory(memory)
    expected = np.zeros((4, 4), dtype=bool)
    expected[0, 2] = expected[2, 0] = True
    assert knowledge.opposite.tolist() == expected.tolist()
    rules = without("directions are opposite where one raises what the other lowers")
    assert not HALMAKnowledge.of_memory(memory, rules=rules).opposite.any()


def test_two_measures_of_one_option_are_none(walks: Memory, panel: Panel, remember: Remember) -> None:
    graph = KnowledgeGraph()
    name = add_knowledge(graph, "run", walks)
    graph.add([("dice 1+2", "measures", "7")], graph=name)
    assert measure(HALMAKnowledge.of(graph, name), 1, 2) == 0


def test_an_explanation_goes_down_to_what_was_lived_through(panel: Panel, remember: Remember) -> None:
    memory = remember((panel({"up": 1}, goal=(0, 8)), "up", (2,), panel({"down": 1}, goal=(0, 6))), times=30)
    assert str(HALMAKnowledge.of_memory(memory).why("yellow 8", "greaterThan", "yellow 6")).splitlines() == [
        "  1. change:blue 8>blue 6:up 2 fellFrom blue 8   [stated]",
        "  2. change:blue 8>blue 6:up 2 fellTo blue 6   [stated]",
        "  3. blue 8 greaterThan blue 6   [what fell was greater before from 1, 2]",
        "  4. blue 8 hasValue 8   [stated]",
        "  5. blue 6 hasValue 6   [stated]",
        "  6. 8 greaterThan 6   [the order of digits is that of their values from 3, 4, 5]",
        "  7. yellow 8 hasValue 8   [stated]",
        "  8. yellow 6 hasValue 6   [stated]",
        "  9. yellow 8 greaterThan yellow 6   [the order of values holds in every colour from 6, 7, 8]",
    ]


@pytest.mark.slow
def test_every_entry_has_a_proof_that_ends_in_the_memory(experienced: Callable[[int], Memory]) -> None:
    memory = experienced(3)
    knowledge = HALMAKnowledge.of_memory(memory)
    options = OptionBags(3)
    lived = set(experience_facts(memory, options))
    by_relation = defaultdict(list)
    for fact in facts_of(knowledge):
        by_relation[fact[1]].append(fact)
    assert len(by_relation) == 11
    rng = np.random.default_rng(0)
    for facts in by_relation.values():
        for i in rng.permutation(len(facts))[:6]:
            stated = {step.fact for step in knowledge.why(*facts[i]).steps if step.rule is None}
            assert stated & lived, facts[i]
            assert stated <= lived | set(seen_facts(options)), facts[i]


def test_everything_known_is_true(experienced: Callable[[int], Memory]) -> None:
    for max_opt_len in (1, 3):
        knowledge = HALMAKnowledge.of_memory(experienced(max_opt_len))
        colour, a, b = np.nonzero(knowledge.greater)
        assert (a > b).all()
        assert len(np.unique(colour)) == 8
        a, b = np.nonzero(knowledge.sums)
        assert (knowledge.sums[a, b] == a + b).all()
        known = knowledge.measure > 0
        lengths = np.array([sum(bag) for bag in knowledge.options.bags])
        assert (knowledge.measure[known] == lengths[known]).all()
        assert known.sum() >= 3
        own = np.concatenate([np.eye(4), np.eye(4)], axis=1).astype(bool)
        assert (knowledge.lowers == own).all()
        assert (knowledge.raises == np.roll(own, 2, axis=0)).all()
        assert (knowledge.leads_to <= np.eye(4, dtype=bool)).all()
        assert knowledge.reaches_goal.tolist() == [colour in ALL_COLOURS[4:] for colour in ALL_COLOURS]


def test_the_same_memory_gives_the_same_knowledge(experienced: Callable[[int], Memory]) -> None:
    memory = experienced(3)
    one, other = HALMAKnowledge.of_memory(memory), HALMAKnowledge.of_memory(memory)
    assert one.fingerprint == other.fingerprint
    for name in TABLES:
        assert np.array_equal(getattr(one, name), getattr(other, name))
    less = HALMAKnowledge.of_memory(replace(memory, records=memory.records[:2000]))
    assert less.fingerprint != one.fingerprint
    assert HALMAKnowledge.of_memory(memory, rules=[]).fingerprint != one.fingerprint


def test_a_graph_that_is_filled_anew_forgets_what_it_held(walks: Memory) -> None:
    graph = KnowledgeGraph()
    name = add_knowledge(graph, "run", walks)
    assert name == "halma/run/knowledge"
    assert HALMAKnowledge.of(graph, name).greater.any()
    add_knowledge(graph, "run", replace(walks, records=walks.records[:0]))
    assert list(facts_of(HALMAKnowledge.of(graph, name))) == []


def test_the_threshold_is_that_of_the_knowledge_bases(walks: Memory) -> None:
    assert HALMAKnowledge.of_memory(walks, threshold=30).greater.any()
    assert not HALMAKnowledge.of_memory(walks, threshold=31).greater.any()


def test_a_graph_without_knowledge_is_told() -> None:
    with pytest.raises(InputError, match=r"'halma/run' holds no agent's knowledge; make one of its memory"):
        HALMAKnowledge.of(KnowledgeGraph(), "halma/run")
