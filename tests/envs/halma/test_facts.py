"""Knowledge bases as triples: what they state, what can be asked of them, and that nothing is lost on the way."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import gumption.envs.halma
from gumption.data import InputError
from gumption.envs.halma import KnowledgeBases, Memory, MemoryWriter, facts
from gumption.envs.halma.knowledge_base import THROUGH_AFFORDANCE_ONLY
from gumption.envs.halma.memory import FOLDER, TRIAL_OVER, VALID
from gumption.envs.memory import integer
from gumption.kg import KnowledgeGraph, infer
from gumption.kg.rules.horn import Atom, Rule, transitive
from gumption.kg.store.shapes import validate

SHAPES = Path(gumption.envs.halma.__file__).with_name("shapes.ttl")
LEFT, UP, RIGHT, DOWN = range(4)


def row(**digits: tuple[int, int]) -> list[int]:
    """left=(3, 5): a crossing 3 and a wall 5 to the left."""
    values = [digits.get(name, (0, 0)) for name in ("left", "up", "right", "down")]
    return [*(crossing for crossing, _ in values), *(wall for _, wall in values), 1, 1, 0]


@pytest.fixture(scope="module")
def memory() -> Memory:
    """Three times: red 5 with 3, left 2; orange 5 used up; yellow 7 used up; green 5 with 3 seen and run into a wall.
    Once: orange 5 used up in another way, yellow 1 used up.
    """
    moves = [
        (row(left=(3, 5)), [LEFT, 2, 0, 0], row(left=(1, 3)), 1),
        (row(up=(0, 5)), [UP, 2, 0, 3], row(), 1),
        (row(right=(0, 7)), [RIGHT, 3, 3, 1], row(), 1),
        (row(down=(3, 5)), [UP, 1, 0, 0], row(down=(3, 5)), 0),
    ] * 3 + [(row(up=(0, 5)), [UP, 3, 2, 0], row(), 1), (row(right=(0, 1)), [RIGHT, 0, 1, 0], row(), 1)]
    before, options, after, flags = zip(*moves, strict=True)
    return Memory.of(3, np.array(before), np.array(options), np.array(after), flags=np.array(flags))


@pytest.fixture(scope="module")
def known(memory) -> KnowledgeBases:
    return KnowledgeBases.of(memory)


@pytest.fixture
def graph(known) -> KnowledgeGraph:
    graph = KnowledgeGraph()
    known.add_to(graph, "first run")
    return graph


@pytest.fixture(scope="module")
def run(memory, tmp_path_factory) -> Path:
    """A run directory with that memory."""
    folder = tmp_path_factory.mktemp("runs") / "first run"
    keep(memory, folder / FOLDER)
    return folder


def keep(memory: Memory, folder: Path) -> None:
    with MemoryWriter(folder, 3) as writer:
        writer.append(*(getattr(memory, n) for n in ("before", "option", "after", "maze", "trial", "episode", "flags")))


def test_the_binary_facts_are_what_was_seen_and_understood(known):
    digits = ["red 1", "red 3", "red 5", "orange 5", "yellow 1", "yellow 7", "green 3", "green 5"]
    assert known.facts() == sorted(
        [
            *((digit, "hasColour", digit.split()[0]) for digit in digits),
            *((digit, "hasValue", digit.split()[1]) for digit in digits),
            ("red 5", "greaterThan", "red 3"),  # KB_S and KB_C
            ("red 3", "greaterThan", "red 1"),  # KB_C
            ("yellow 7", "greaterThan", "orange 5"),  # KB_A; yellow 1 was used up once only
            ("orange 5", "indicates", "up"),
            ("yellow 7", "indicates", "right"),
            ("orange 5", "affords", "up 2+3"),
            ("orange 5", "affords", "up 3+2"),
            ("yellow 7", "affords", "right 3+3+1"),
            *((option, "hasDirection", option.split()[0]) for option in ("up 2+3", "up 3+2", "right 3+3+1")),
            *((option, "hasPrimitives", f"dice {option.split()[1]}") for option in ("up 2+3", "up 3+2", "right 3+3+1")),
        ]
    )


def test_each_pair_of_a_knowledge_base_and_each_use_is_a_node(known):
    told: dict[str, dict[str, str]] = {}
    for node, role, value in known.evidence("r"):
        told.setdefault(node, {})[role] = value

    def inequality(kind: str, greater: str, lesser: str, types: str, visits: int, **more: str) -> dict[str, str]:
        types = types.split()
        return {
            "ofRun": "r",
            "hasEvidence": kind,
            "hasGreater": greater,
            "hasLesser": lesser,
            "hasGreaterType": types[0],
            "hasLesserType": types[-1],
            "hasVisits": integer(visits),
            **more,
        }

    def use(digit: str, option: str, visits: int) -> dict[str, str]:
        return {"ofRun": "r", "hasDigit": digit, "hasOption": option, "hasVisits": integer(visits)}

    s, c, a = ({"inKnowledgeBase": name} for name in ("KB_S", "KB_C", "KB_A"))
    seen, apart = {"hasSightings": integer(3)}, {"hasDifference": integer(2)}
    assert told == {
        "inequality:r:semantics:red 5>red 3": inequality("semantics", "red 5", "red 3", "left", 3, **s, **seen),
        "inequality:r:semantics:red 3>red 1": inequality("semantics", "red 3", "red 1", "left", 0, **seen),
        "inequality:r:semantics:green 5>green 3": inequality("semantics", "green 5", "green 3", "down", 0, **seen),
        "inequality:r:causality:red 5>red 3": inequality("causality", "red 5", "red 3", "left", 3, **c, **apart),
        "inequality:r:causality:red 3>red 1": inequality("causality", "red 3", "red 1", "left", 3, **c, **apart),
        "inequality:r:affordance:yellow 7>orange 5": inequality(
            "affordance", "yellow 7", "orange 5", "right up", 3, **a
        ),
        "use:r:orange 5:up 2+3": use("orange 5", "up 2+3", 3),
        "use:r:orange 5:up 3+2": use("orange 5", "up 3+2", 1),
        "use:r:yellow 7:right 3+3+1": use("yellow 7", "right 3+3+1", 3),
        "use:r:yellow 1:right 1": use("yellow 1", "right 1", 1),
    }


@pytest.mark.parametrize("file", ["kb.nq", "kb.trig.gz", "kb.tsv", None])
def test_a_graph_gives_the_knowledge_bases_back(known, graph, tmp_path, file):
    if file is not None:
        graph.save(tmp_path / file)
        graph = KnowledgeGraph.load(tmp_path / file)
    back = KnowledgeBases.from_graph(graph, "halma/first run")
    for name in ("semantics", "sightings", "causality", "affordance", "affordance_options", "shown", "s", "c", "a"):
        np.testing.assert_array_equal(getattr(back, name), getattr(known, name), err_msg=name)
    for name in ("threshold", "records", "max_opt_len", "memory", "fingerprint"):
        assert getattr(back, name) == getattr(known, name)
    assert back.facts() == known.facts()
    assert back.evidence("r") == known.evidence("r")
    for name in ("panels", "panel_counts"):
        with pytest.raises(InputError, match=r"read from a graph, which has no panels; make them of the run's memory"):
            getattr(back, name)


def test_a_graph_gives_literal_knowledge_bases_back(tmp_path):
    """With options of another direction than the digit's, and without what no agent saw."""
    row = np.zeros((5, 11), dtype=np.int8)
    row[0, [4, 5]], row[1, 7], row[2, [4, 5]], row[3, [4, 7]] = (5, 3), 3, (5, 3), (4, 3)
    memory = Memory.of(2, row[[0, 2, 0]], [[1, 1, 2], [1, 3, 0], [1, 3, 0]], row[[1, 3, 4]], flags=[1, 1, 7])
    known = KnowledgeBases.of(memory, 1, knowledge_base="literal", last_panel="dropped")
    graph = KnowledgeGraph()
    known.add_to(graph, "r")
    assert ("red 5", "affords", "up 1+2") in set(graph.triples(graph="halma/r"))
    assert graph.annotations("halma/r")["knowledgeBase"] == "literal"
    graph.save(tmp_path / "kb.nq")
    back = KnowledgeBases.from_graph(KnowledgeGraph.load(tmp_path / "kb.nq"), "halma/r")
    assert (back.fingerprint, back.choices) == (known.fingerprint, known.choices)
    assert back.choices == {"knowledge_base": "literal", "last_panel": "dropped"}
    assert back.affordance_options.tolist() == known.affordance_options.tolist()


def test_the_graph_says_what_it_was_made_of(known, graph):
    for name in ("halma/first run", "halma/first run/evidence"):
        assert graph.annotations(name) == {
            "fingerprint": known.fingerprint,
            "maxOptLen": "3",
            "memory": known.memory,
            "records": "14",
            "run": "first run",
            "source": "the memory of the run first run",
            "threshold": "3",
        }


def test_writing_again_replaces_and_other_graphs_stay(known, memory, graph):
    graph.add([("fire", "componentOf", "steam")], graph="wordcraft/train")
    known.add_to(graph, "second")
    before = graph.content_hash()
    stricter = KnowledgeBases.of(memory, 4)
    assert stricter.add_to(graph, "first run") == {
        "halma/first run": len(stricter.facts()),
        "halma/first run/evidence": len(stricter.evidence("first run")),
    }
    assert list(graph.triples(graph="halma/first run")) == stricter.facts()
    assert KnowledgeBases.from_graph(graph, "halma/first run").threshold == 4
    assert KnowledgeBases.from_graph(graph, "halma/second").fingerprint == known.fingerprint
    known.add_to(graph, "first run")
    assert graph.content_hash() == before


def test_a_graph_that_is_none_or_was_changed(graph):
    with pytest.raises(
        InputError, match=r"no graph 'halma/x/evidence' of knowledge bases; make it with `gumption kg b"
    ):
        KnowledgeBases.from_graph(graph, "halma/x")
    node = "inequality:first run:causality:red 5>red 3"
    graph.remove([(node, "hasVisits", integer(3))])
    graph.add([(node, "hasVisits", integer(9))], graph="halma/first run/evidence")
    with pytest.raises(InputError, match="halma/first run: this graph was changed after it was made of a run's memory"):
        KnowledgeBases.from_graph(graph, "halma/first run")


@pytest.mark.parametrize(
    ("graph_name", "fact", "told"),
    [
        ("/evidence", ("some", "hasVisits", "many"), "some"),
        ("/evidence", ("inequality:x", "hasEvidence", "semantics"), "inequality:x"),
        ("/evidence", ("use:first run:yellow 1:right 1", "hasVisits", integer(2)), "use:first run:yellow 1:right 1"),
        ("", ("blue 5", "hasValue", "5"), "blue 5"),
        ("", ("red 12", "hasValue", "12"), "red 12"),
    ],
)
def test_a_graph_of_something_else_is_told(graph, graph_name, fact, told):
    graph.add([fact], graph=f"halma/first run{graph_name}")
    with pytest.raises(InputError, match=f"'{re.escape(told)}' does not belong to knowledge bases; `gumption kg v"):
        KnowledgeBases.from_graph(graph, "halma/first run")


def test_a_graph_without_what_is_said_about_it(graph, tmp_path):
    graph.save(tmp_path / "kb.tsv")
    about = tmp_path / "kb.tsv.license"
    about.write_text("".join(line for line in about.read_text().splitlines(True) if "threshold" not in line))
    with pytest.raises(InputError, match=r"annotations threshold, records, maxOptLen and memory are missing or wrong"):
        KnowledgeBases.from_graph(KnowledgeGraph.load(tmp_path / "kb.tsv"), "halma/first run")


def test_pairs_through_affordance_only_are_those_of_the_run(memory, graph):
    KnowledgeBases.of(memory, 1).add_to(graph, "another run")
    assert graph.query(THROUGH_AFFORDANCE_ONLY, run="first run") == [{"greater": "7", "lesser": "5"}]
    assert len(graph.query(THROUGH_AFFORDANCE_ONLY, run="another run")) == 3  # with yellow 1 too


def test_rules_make_more_of_it(graph):
    """Transitivity, and that five is two and three (knowledge_base.py says how)."""
    equals = Rule(
        Atom("equals", "v", "p"),
        (Atom("hasValue", "x", "v"), Atom("affords", "x", "o"), Atom("hasPrimitives", "o", "p")),
    )
    infer(graph, [transitive("greaterThan"), equals], "halma/first run")
    assert set(graph.triples(graph="halma/first run/inferred")) == {
        ("red 5", "greaterThan", "red 1"),
        ("5", "equals", "dice 2+3"),
        ("5", "equals", "dice 3+2"),
        ("7", "equals", "dice 3+3+1"),
    }


def test_the_parts_of_the_world(run, known):
    train, test, truth = (list(facts(run, partition=part)) for part in ("train", "test", "all"))
    assert train == known.facts()
    assert sorted(train + test) == truth
    assert ("green 9", "greaterThan", "red 1") in test
    assert ("green 6", "affords", "down 3+1+2") in test
    assert ("green 8", "affords", "down 3+3+1+1") not in truth  # of four primitives; the run's options have three
    assert ("red 5", "greaterThan", "orange 5") not in truth
    assert sum(relation == "greaterThan" for _, relation, _ in truth) == 36 * 16  # 36 pairs of digits, types for both
    assert len(list(facts(run, partition="train", threshold=1))) > len(train)


def test_the_parts_follow_how_the_appendix_is_read(tmp_path):
    """A move up after which red fell from 5 to 3, three times, as the last of a trial."""
    move = row(left=(0, 5)), [UP, 2, 0, 0], row(left=(0, 3)), VALID + TRIAL_OVER
    before, options, after, flags = zip(*[move] * 3, strict=True)
    memory = Memory.of(3, np.array(before), np.array(options), np.array(after), flags=np.array(flags))
    keep(memory, tmp_path / FOLDER)
    pair = ("red 5", "greaterThan", "red 3")
    found = {
        choices: pair in set(facts(tmp_path, partition="train", knowledge_base=choices[0], last_panel=choices[1]))
        for choices in itertools.product(("strict", "literal"), ("counted", "dropped"))
    }
    assert [choices for choices, there in found.items() if there] == [("literal", "counted")]


def test_without_a_run_nothing_is_known_but_what_is_plain_to_see():
    train, test, truth = (list(facts(partition=part)) for part in ("train", "test", "all"))
    assert {relation for _, relation, _ in train} == {"hasValue", "hasColour"}
    assert len(train) == 72
    assert sorted(train + test) == truth
    options = {option for option, relation, _ in truth if relation == "hasPrimitives"}
    assert len(options) == 4 * (3 + 9 + 27 + 66 + 96)  # sums up to nine of one to five primitives
    assert ("green 9", "affords", "down 3+3+1+1+1") in truth


def test_parts_and_runs_that_are_none(tmp_path):
    with pytest.raises(InputError, match="partition is 'dev'; name the part whose facts you want: train, test or all"):
        facts(partition="dev")
    with pytest.raises(InputError, match="no memory of transitions there"):
        facts(tmp_path, partition="train")


@pytest.mark.slow
def test_the_graphs_have_their_shapes(graph):
    report = validate(graph, SHAPES)
    assert report.violations == []
    assert report.conforms
    assert report.checked == 8 + 3 + 6 + 3 + 4  # digits, options, inequalities, their kinds of evidence, uses
    assert validate(graph, SHAPES, "halma/first run").conforms
    assert validate(graph, SHAPES, "halma/first run/evidence").conforms


def inequality(**changes: str | None) -> dict[str, str | None]:
    """The roles of a node of KB_C, some of them changed or (None) left out."""
    roles = {"ofRun": "x", "hasEvidence": "causality", "inKnowledgeBase": "KB_C", "hasDifference": integer(2)}
    roles |= {"hasGreater": "red 5", "hasLesser": "red 3", "hasGreaterType": "left", "hasLesserType": "left"}
    return {**roles, "hasVisits": integer(3), **changes}


def use(**changes: str | None) -> dict[str, str | None]:
    return {"ofRun": "x", "hasDigit": "red 2", "hasOption": "left 1+1", "hasVisits": integer(3), **changes}


VISITS = "visits are one whole number from 0"
FITS = "the greater digit is greater, types are those of colours, and knowledge base and difference fit"
BROKEN_NODES = [
    (inequality(hasVisits=None), VISITS),
    (inequality(hasVisits="often"), VISITS),
    (inequality(hasVisits=integer(-1)), VISITS),
    (inequality(ofRun=None), "a node is of one run"),
    (inequality(hasEvidence="hearsay"), "the evidence of an inequality is semantics, causality or affordance"),
    (inequality(hasEvidence=None), "the evidence of an inequality is semantics, causality or affordance"),
    (inequality(hasGreater="blue 5"), "an inequality has one greater digit: red, orange, yellow or green from 2"),
    (inequality(hasLesser=None), "an inequality has one lesser digit: red, orange, yellow or green from 1"),
    (inequality(hasGreaterType="forth"), "the type of the greater digit is left, up, right or down"),
    (inequality(hasLesserType=None), "the type of the lesser digit is left, up, right or down"),
    (inequality(inKnowledgeBase="KB_X"), "an inequality is in one of KB_S, KB_C and KB_A, or in none"),
    (inequality(hasSightings=integer(0)), "sightings are a whole number from 1"),
    (inequality(hasDifference=integer(0)), "a difference is a whole number from 1"),
    (
        inequality(likes="red 1"),
        "an inequality is a node inequality:RUN:EVIDENCE:GREATER>LESSER and has no other relations than facts.py says",
    ),
    (inequality(hasDifference=integer(3)), FITS),
    (inequality(hasDifference=None), FITS),
    (inequality(hasLesser="red 7", hasDifference=None), FITS),
    (inequality(hasLesser="green 3"), FITS),
    (inequality(hasGreaterType="up"), FITS),
    (inequality(hasLesser="green 3", hasLesserType="down"), FITS),  # types differ in KB_A only
    (inequality(inKnowledgeBase="KB_S"), FITS),
    (use(hasDigit=None), "a use has one digit: red, orange, yellow or green from 1"),
    (use(hasOption="left 0+4"), "a use has one option: a direction and primitives other than 0"),
    (use(hasVisits=None), VISITS),
    (use(likes="red 1"), "a use is a node use:RUN:DIGIT:OPTION that has a run, a digit, an option and visits only"),
    ({"hasVisits": integer(1)}, "what has visits is an inequality with evidence, or the use of a digit by an option"),
]
GOOD_NODES = [
    inequality(),
    inequality(inKnowledgeBase=None, hasVisits=integer(0)),
    inequality(hasEvidence="semantics", inKnowledgeBase="KB_S", hasDifference=None, hasSightings=integer(7)),
    inequality(
        hasEvidence="affordance", inKnowledgeBase="KB_A", hasDifference=None, hasLesser="green 3", hasLesserType="down"
    ),
    use(),
]  # fmt: skip


@pytest.mark.slow
def test_nodes_that_do_not_fit_are_found_and_no_others():
    graph, wrong = KnowledgeGraph(), {}
    for number, (roles, message) in enumerate([*BROKEN_NODES, *((roles, None) for roles in GOOD_NODES)]):
        node = f"{'use' if 'hasOption' in roles else 'inequality'}:{number}"
        graph.add([(node, role, value) for role, value in roles.items() if value is not None], graph="halma/x/evidence")
        if message is not None:
            wrong[node] = message
    found: dict[str, set[str]] = {}
    for violation in validate(graph, SHAPES).violations:
        node = violation.value if violation.message == FITS else violation.subject
        found.setdefault(node, set()).add(violation.message)
    assert found.keys() == wrong.keys()
    for node, message in wrong.items():
        assert message in found[node], node


VALUE = "a digit has one value, a whole number from 1"
NAMED = "a digit is named after its colour and value, and is greater than digits of lesser value"


def test_binary_facts_that_do_not_fit_are_found(graph):
    changes = [
        (("red 1", "hasValue", "1"), ("red 1", "hasValue", "2"), ("red 1", NAMED)),
        (("red 5", "hasColour", "red"), None, ("red 5", "a digit has one colour: red, orange, yellow or green")),
        (("green 3", "hasValue", "3"), ("green 3", "hasValue", "x"), ("green 3", VALUE)),
        (None, ("green 3", "greaterThan", "green 5"), ("green 3", NAMED)),
        (None, ("red 3", "greaterThan", "red 5"), ("red 3", "of two digits one at most is greater than the other")),
        (None, ("red 5", "greaterThan", "4"), ("4", "a digit is red, orange, yellow or green from 1")),
        (None, ("orange 5", "indicates", "left"), ("orange 5", "a digit indicates one of left, up, right and down")),
        (None, ("orange 5", "affords", "up 0"), ("up 0", "an option is a direction and primitives other than 0")),
        (
            None,
            ("orange 5", "affords", "up 1"),
            ("up 1", "an option has one direction: left, up, right or down"),
        ),
        (
            ("up 2+3", "hasPrimitives", "dice 2+3"),
            None,
            ("up 2+3", "an option has one sequence of primitives other than 0: dice 1+2"),
        ),
    ]  # fmt: skip
    for gone, new, _ in changes:
        graph.remove([gone] if gone else [], graph="halma/first run")
        graph.add([new] if new else [], graph="halma/first run")
    report = validate(graph, SHAPES, "halma/first run")
    found = {(violation.subject, violation.message) for violation in report.violations}
    assert [expected for *_, expected in changes if expected not in found] == []
