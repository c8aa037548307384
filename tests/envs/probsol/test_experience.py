"""What meetings show, the graph with its evidence, and that no law is written there."""

import re
from pathlib import Path

import pytest

import gumption.agents.probsol as agents
import gumption.envs.probsol as envs
from gumption.envs.probsol.knowledge_base import add_memory, evidence, meetings
from gumption.envs.probsol.tasks import MAGNETISM, MASS
from gumption.kg import KnowledgeGraph

from .test_memory import PAIR, do, task


def meet(first: str, second: str, cells: int, held: bool = False) -> list[tuple]:
    """Put two stored discs side by side, and store them again."""
    put = ("hold_at" if held else "place", 12, 20)
    took = [("take_up",)] if held else [("grab", first)]
    return [("grab", second), ("place", 12 + cells, 20), ("grab", first), put, *took, ("store", "abcd".index(first)),
            ("grab", second), ("store", "abcd".index(second))]  # fmt: skip


def facts(folder: Path, given: dict, *actions: tuple) -> list[str]:
    """Facts without the name of the task: "a attracts b"."""
    return [" ".join(fact).replace("mine/0:", "") for fact, *_ in evidence(do(folder, given, *actions))]


def test_free_discs_that_come_together_attract_and_equal_ones_move_as_far(tmp_path: Path) -> None:
    memory = do(tmp_path / "m", PAIR, *meet("a", "b", 5))
    (met,) = meetings(memory)
    assert (met.first, met.second, met.held, met.distance) == ("mine/0:a", "mine/0:b", False, 60.0)
    assert met.nearer.tolist() == pytest.approx([18, 18], abs=0.5)
    assert met.touching
    assert [" ".join(fact).replace("mine/0:", "") for fact, *_ in evidence(memory)] == [
        "a attracts b", "a movedAsFarAs b", "a reached b", "b attracts a", "b movedAsFarAs a", "b reached a"
    ]  # fmt: skip
    known = {" ".join(one.fact): one for one in evidence(memory)}["mine/0:a reached mine/0:b"]
    assert (known.visits, known.episodes, known.distances) == (1, 1, (60.0, 60.0))
    assert known.amounts[0] == pytest.approx(18, abs=0.5)


def test_the_lighter_of_two_moves_farther(tmp_path: Path) -> None:
    given = task(("small", "medium", "+"), ("medium", "medium", "-"))
    assert "a movedFartherThan b" in facts(tmp_path / "m", given, *meet("b", "a", 5))


def test_equal_poles_repel_and_far_discs_stay(tmp_path: Path) -> None:
    given = task(("medium", "medium", "+"), ("medium", "medium", "+"))
    found = facts(tmp_path / "m", given, *meet("a", "b", 9))
    assert {"a repels b", "b repels a", "a movedAsFarAs b"} <= set(found)
    assert facts(tmp_path / "far", given, *meet("a", "b", 20)) == ["a stayedBy b", "b stayedBy a"]
    # What moved once did not stay.
    assert "a stayedBy b" not in facts(tmp_path / "both", given, *meet("a", "b", 20), *meet("a", "b", 9))


def test_a_held_disc_moves_the_other_one_and_says_nothing_of_masses(tmp_path: Path) -> None:
    found = facts(tmp_path / "m", PAIR, *meet("a", "b", 5, held=True))
    assert found == ["a attracts b", "b attracts a", "b reached a"]


def test_two_discs_that_did_the_same_beside_a_third_are_told_from_one_that_did_not(tmp_path: Path) -> None:
    given = task(*[("large", "medium", "+")] * 2, ("large", "small", "+"), ("medium", "medium", "+"))
    actions = [action for each in "abc" for action in meet(each, "d", 7)]
    found = facts(tmp_path / "m", given, *actions)
    assert {"a didAs b", "b didAs a", "a didOtherwiseThan c", "c didOtherwiseThan b"} <= set(found)
    assert not [fact for fact in found if "acted" in fact]


def test_the_stronger_of_two_held_discs_acts_more(tmp_path: Path) -> None:
    given = task(("large", "large", "+"), ("small", "small", "+"), ("small", "large", "+"), ("medium", "medium", "+"))
    actions = [action for each in "abc" for action in meet(each, "d", 9, held=True)]
    found = facts(tmp_path / "m", given, *actions)
    assert {"a actedMoreThan b", "c actedMoreThan b", "a actedAsMuchAs c"} <= set(found)
    # The one draws and the other drives off: how much cannot be compared, unless one does not move it.
    other = task(("large", "large", "-"), ("small", "small", "+"), ("small", "large", "+"), ("medium", "medium", "+"))
    near = facts(tmp_path / "n", other, *meet("a", "d", 9, held=True), *meet("c", "d", 9, held=True))
    assert not [fact for fact in near if "acted" in fact]
    far = [action for each in "ab" for action in meet(each, "d", 12, held=True)]
    assert "a actedMoreThan b" in facts(tmp_path / "f", other, *far)


def test_discs_that_are_turned_half_round_keep_what_they_do_or_change_it(tmp_path: Path) -> None:
    def lying(*poles: str) -> dict:
        given = task(*[("medium", "medium", pole) for pole in poles])
        for disc in given["objects"]:
            disc.update({"boundary": 0} if disc["polarity"] == "dipole" else {})  # along the line of meetings
        return given

    def both_ways(first: str) -> list[tuple]:
        one, cell = meet(first, "d", 5, held=True), "abcd".index(first)
        return [*one, ("grab", first), ("hold_at", 12, 20), *[("turn", 1)] * 4, ("take_up",), ("store", cell), *one]

    def signs(name: str, given: dict, *actions: tuple) -> list[str]:
        return [fact for fact in facts(tmp_path / name, given, *actions) if "SignAs" in fact]

    every = [action for each in "abc" for action in both_ways(each)]
    assert signs("m", lying("+", "-", "dipole", "+"), *every) == ["a keptSignAs b", "b keptSignAs a"]
    assert signs("n", lying("dipole", "-", "dipole", "+"), *every) == ["a changedSignAs c", "c changedSignAs a"]
    once = [action for each in "ab" for action in meet(each, "d", 5, held=True)]
    assert signs("o", lying("+", "-", "dipole", "+"), *once) == []


def test_with_a_third_disc_on_the_table_nothing_is_concluded(tmp_path: Path) -> None:
    given = task(*[("medium", "medium", "+")] * 3)
    actions = [("grab", "a"), ("place", 3, 3), *meet("b", "c", 5)]
    # c lay beside a alone before b came; of b nothing is known.
    assert facts(tmp_path / "m", given, *actions) == ["a stayedBy c", "c stayedBy a"]


def test_a_memory_in_a_graph_with_its_evidence(tmp_path: Path) -> None:
    memory = do(tmp_path / "m", PAIR, *meet("a", "b", 5), *meet("a", "b", 9))
    graph = KnowledgeGraph()
    counts = add_memory(graph, memory, "ada")
    assert counts == {"probsol/ada": 6, "probsol/ada/evidence": 6 * 10}
    asked = "SELECT ?px { ?e gum:hasRelation ?r ; gum:hasSubject ?a ; gum:hasLeastDistance ?px }"
    (found,) = graph.query(asked, a="mine/0:a", r="attracts")
    assert found["px"] == 60
    assert add_memory(graph, memory, "ada") == counts
    assert graph.annotations("probsol/ada")["memory"] == memory.fingerprint


@pytest.mark.parametrize(
    "path",
    [Path(envs.__path__[0]) / name for name in ("knowledge_base.py", "memory.py")]
    + [Path(agents.__path__[0]) / name for name in ("lived.py", "discovery.py")],
    ids=lambda path: path.name,
)
def test_no_law_is_written_where_experience_becomes_knowledge(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    numbers = [f"{number:g}".lstrip("0") for number in (*MASS.values(), *MAGNETISM.values()) if number * 2 % 1]
    for number in (*numbers, "155", "480500"):
        assert not re.search(rf"(?<!\d){re.escape(number)}(?!\d)", text.replace("0.", ".")), number
    assert not re.search(r"COUPLING|LAWS\b|MASS\b(?<!SAME_MASS)|\bMAGNETISM\b|DIPOLE_CUT|Coupling", text)
    # No rule relates what is seen to anything: rules come from mining.
    assert not re.search(r"\b(composition|transitive|symmetric|inverse)\(", text)
    assert "read_rules" not in text
