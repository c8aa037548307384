"""Mined rules: their figures by hand, against counting everything, and on real graphs in seconds."""

import itertools
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.wordcraft import facts
from gumption.kg import KnowledgeGraph, Vocabulary
from gumption.kg.rules.horn import Atom, Rule, read_rules
from gumption.kg.rules.inference import infer
from gumption.kg.rules.mining import MinedRule, mine_rules, write_mined
from gumption.scripts.papers.kg.bench import FB15K_237, draw_graph
from tests.processor import cost

Triples = set[tuple[str, str, str]]
ALL = {"min_support": 1, "min_head_coverage": 0.0, "min_confidence": 0.0}


def arrays(triples):
    vocabulary = Vocabulary.from_triples(triples)
    return vocabulary, vocabulary.triples_to_ids(sorted(triples))


def by_text(mined):
    return {str(each.rule): each for each in mined}


def test_figures_by_hand():
    """Three parents with a brother each; two of the uncles are stated, one for a child with another uncle stated."""
    stated = {
        ("ann", "parent", "bob"), ("cid", "parent", "dan"), ("eve", "parent", "fay"),
        ("bob", "brother", "ben"), ("dan", "brother", "dov"), ("fay", "brother", "flo"),
        ("ann", "uncle", "ben"), ("cid", "uncle", "dov"), ("cid", "uncle", "max"),
    }  # fmt: skip
    mined = by_text(mine_rules(arrays(stated), **ALL))
    # Body: (ann, ben), (cid, dov), (eve, flo), of which two are stated. The facts have 2 x (ann, cid) and 3 y, so it is
    # y of which something has to be known; of flo it is not stated whose uncle he is.
    uncle = mined["uncle(x, y) <= parent(x, z) & brother(z, y)"]
    assert (uncle.support, uncle.body_size) == (2, 3)
    assert (uncle.head_coverage, uncle.confidence, uncle.pca_confidence) == (2 / 3, 2 / 3, 1.0)
    parent = mined["parent(x, y) <= uncle(x, z) & brother(y, z)"]
    assert (parent.support, parent.body_size, parent.pca_confidence) == (2, 2, 1.0)
    body = (Atom("parent", "x", "z"), Atom("brother", "z", "y"))
    assert uncle.rule == Rule(Atom("uncle", "x", "y"), body, confidence=2 / 3)
    # Nothing is disjoint with uncle, so the last figure is the PCA confidence.
    figures = "support 2  head coverage 0.67  confidence 0.67  PCA confidence 1.00  contradiction confidence 1.00"
    assert str(uncle) == f"uncle(x, y) <= parent(x, z) & brother(z, y)  {figures}"


def test_completeness_is_asked_of_the_side_with_fewer_ends():
    stated = {("a", "b", "u"), ("a", "b", "v"), ("c", "b", "w"), ("a", "h", "u"), ("d", "h", "x")}
    few_subjects = by_text(mine_rules(arrays({*stated, ("d", "h", "y")}), **ALL))["h(x, y) <= b(x, y)"]
    assert (few_subjects.support, few_subjects.body_size) == (1, 3)
    assert few_subjects.pca_confidence == 1.0  # h has 2 x and 3 y; of u, v, w it is known of u alone
    few_objects = by_text(mine_rules(arrays(stated), **ALL))["h(x, y) <= b(x, y)"]
    assert few_objects.pca_confidence == 1 / 2  # as many of both: of a it is known, so (a, u) and (a, v) count


def test_a_longer_rule_has_to_say_more():
    stated = {(str(i), r, str(i + 1)) for i in range(0, 8, 2) for r in "bc"} | {("0", "h", "1"), ("2", "h", "3")}
    assert "h(x, y) <= b(x, y) & c(x, y)" not in by_text(mine_rules(arrays(stated), **ALL))
    better = stated - {("6", "c", "7"), ("4", "b", "5")}
    rule = by_text(mine_rules(arrays(better), **ALL))["h(x, y) <= b(x, y) & c(x, y)"]
    assert (rule.support, rule.body_size, rule.confidence) == (2, 2, 1.0)


def counted(stated: Triples) -> dict[str, tuple[int, int, int]]:
    """Rule -> support, body size, PCA body size, by trying all pairs and middles.

    AMIE's counts, but for x = y, which is no pair of a body for a head without a fact r(x, x).
    """
    entities = sorted({e for s, _, o in stated for e in (s, o)})
    relations = sorted({r for _, r, _ in stated})
    pairs = {r: {(s, o) for s, q, o in stated if q == r} for r in relations}

    def holds(atom: Atom, binding: dict[str, str]) -> bool:
        return (binding[atom.subject], binding[atom.object]) in pairs[atom.relation]

    def ends(body: tuple[Atom, ...]) -> set[tuple[str, str]]:
        found = set()
        for x, y, z in itertools.product(entities, entities, entities):
            if all(holds(atom, {"x": x, "y": y, "z": z}) for atom in body):
                found.add((x, y))
        return found

    def oriented(a: str, b: str) -> list[Atom]:
        return [Atom(r, a, b) for r in relations] + [Atom(r, b, a) for r in relations]

    single = [(atom,) for atom in oriented("x", "y")]
    chains = list(itertools.product(oriented("x", "z"), oriented("z", "y")))
    double = list(itertools.combinations(oriented("x", "y"), 2))
    sizes = {body: ends(body) for body in [*single, *chains, *double]}
    result = {}
    for relation in relations:
        head = Atom(relation, "x", "y")
        subjects, objects = {s for s, _ in pairs[relation]}, {o for _, o in pairs[relation]}
        irreflexive = all(s != o for s, o in pairs[relation])
        counting = {body: {p for p in found if p[0] != p[1] or not irreflexive} for body, found in sizes.items()}
        for body, found in counting.items():
            support = len(found & pairs[relation])
            if head in body or not support:
                continue
            if body in double:
                alone = max(len(counting[(atom,)] & pairs[relation]) / len(counting[(atom,)]) for atom in body)
                if support / len(found) <= alone:
                    continue
            known = {
                pair for pair in found if (pair[1] in objects if len(objects) > len(subjects) else pair[0] in subjects)
            }
            distinct = found != sizes[body]
            result[str(Rule(head, body, distinct=distinct))] = (support, len(found), len(known))
    return result


@settings(max_examples=50, deadline=None)
@given(
    st.sets(
        st.tuples(st.sampled_from("abcde"), st.sampled_from(["r", "s", "t"]), st.sampled_from("abcde")),
        min_size=1,
        max_size=18,
    ),
    st.integers(1, 3),
    *[st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 1.0])] * 3,
)
def test_figures_are_those_of_counting_everything(stated, support, coverage, confidence, pca_confidence):
    mined = mine_rules(
        arrays(stated),
        min_support=support,
        min_head_coverage=coverage,
        min_confidence=confidence,
        min_pca_confidence=pca_confidence,
    )
    found = {str(each.rule): (each.support, each.body_size, each.support / each.pca_confidence) for each in mined}
    assert len(found) == len(mined)
    facts_of = Counter(relation for _, relation, _ in stated)
    expected = {
        text: (both, size, known)
        for text, (both, size, known) in counted(stated).items()
        if both >= support
        and both / facts_of[text[: text.index("(")]] >= coverage
        and both / size >= confidence
        and both / known >= pca_confidence
    }
    assert found.keys() == expected.keys()
    for text, figures in expected.items():
        assert found[text] == pytest.approx(figures)


@pytest.mark.parametrize("place", ["mining.PATHS", "mining.STEPS"])
def test_large_counts_are_made_in_pieces(place, monkeypatch):
    draw = random.Random(2)
    stated = {(str(draw.randrange(30)), draw.choice("rst"), str(draw.randrange(30))) for _ in range(200)}
    for thresholds in ALL, {**ALL, "min_confidence": 0.3}:
        whole = mine_rules(arrays(stated), **thresholds)
        with monkeypatch.context() as patch:
            patch.setattr(f"gumption.kg.rules.{place}", 10)
            assert mine_rules(arrays(stated), **thresholds) == whole


def test_thresholds_and_order():
    draw = random.Random(3)
    stated = {(str(draw.randrange(9)), draw.choice("rst"), str(draw.randrange(9))) for _ in range(90)}
    everything = mine_rules(arrays(stated), **ALL)
    assert everything == sorted(everything, key=lambda each: (-each.confidence, -each.support, str(each.rule)))
    for name, figure, value in (
        ("min_support", "support", 9),
        ("min_head_coverage", "head_coverage", 0.4),
        ("min_confidence", "confidence", 0.5),
        ("min_pca_confidence", "pca_confidence", 0.5),
        ("min_contradiction_confidence", "contradiction_confidence", 0.5),
    ):
        kept = mine_rules(arrays(stated), **{**ALL, name: value})
        assert kept == [each for each in everything if getattr(each, figure) >= value]
        assert 0 < len(kept) < len(everything)


def test_mined_rules_can_be_applied(tmp_path):
    """What is missing is predicted: from a mined rule, through a file, to entailed facts."""
    stated = {(f"{k}{i}", "partOf", f"{k}{i + 1}") for k in "abcd" for i in range(2)}
    stated |= {(f"{k}0", "within", f"{k}2") for k in "abc"}
    graph = KnowledgeGraph()
    graph.add(stated, graph="g")
    mined = mine_rules(graph, "g", min_support=3, min_confidence=0.7)
    write_mined(tmp_path / "rules.json", mined)
    rules = read_rules(tmp_path / "rules.json")
    assert rules == tuple(each.rule for each in mined)
    assert str(rules[-1]) == "within(x, y) <= partOf(x, z) & partOf(z, y)"
    infer(graph, [rule for rule in rules if rule.head.relation == "within"], "g")
    assert list(graph.triples(graph="g/inferred")) == [("d0", "within", "d2")]
    with pytest.raises(InputError, match=r"cannot write .*: Is a directory"):
        write_mined(tmp_path, mined)


def test_a_graph_and_its_arrays_give_the_same():
    graph = KnowledgeGraph()
    graph.add([("a", "r", "b"), ("b", "r", "a")], graph="g")
    graph.add([("c", "s", "d")], graph="other")
    assert mine_rules(graph, "g", **ALL) == mine_rules(graph.arrays("g"), **ALL)
    done: list[tuple[int, int]] = []
    mine_rules(graph, "g", **ALL, progress=lambda *counts: done.append(counts))
    assert done == [(i + 1, done[-1][1]) for i in range(done[-1][1])]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_support": 0}, "min_support is 0; it is a whole number, at least 1"),
        ({}, "there are no facts to mine rules from"),
    ],
)
def test_bad_input(settings, message):
    with pytest.raises(InputError, match=message):
        mine_rules(arrays(set()), **settings)


# ---- real graphs


def test_wordcraft_combines_both_ways():
    (found,) = mine_rules(arrays(set(facts(partition="all"))), min_confidence=0.5)
    assert str(found.rule) == "combinesWith(x, y) <= combinesWith(y, x)"
    assert found.confidence == found.head_coverage == 1.0


@pytest.mark.parametrize("name", ["umls", "kinships"])
def test_dense_graphs_against_counting(name):
    """Some of the rules that are found, counted again from the triples."""
    from pykeen.datasets import get_dataset

    training = get_dataset(dataset=name).training
    entities, relations = training.entity_id_to_label, training.relation_id_to_label
    stated = {(entities[s], relations[r], entities[o]) for s, r, o in training.mapped_triples.tolist()}
    mined = mine_rules(arrays(stated), min_confidence=0.5)
    assert len(mined) > 100
    pairs: dict[str, set] = {}
    for s, r, o in stated:
        pairs.setdefault(r, set()).add((s, o))
    for each in random.Random(0).sample(mined, 10):
        check_counts(each, pairs)


def test_wordnet_takes_little_time(shared_data):
    lines = (shared_data / "wn18rr/train.txt").read_text().splitlines()
    stated = {tuple(line.split("\t")) for line in lines}
    graph = arrays(stated)
    mined = []
    assert cost(lambda: mined.extend(mine_rules(graph, min_confidence=0.3))) < 300
    pairs: dict[str, set] = {}
    for s, r, o in stated:
        pairs.setdefault(r, set()).add((s, o))
    found = by_text(mined)
    both_ways = found["_derivationally_related_form(x, y) <= _derivationally_related_form(y, x)"]
    assert both_ways.support == sum(
        (o, s) in pairs[both_ways.rule.head.relation] for s, o in pairs[both_ways.rule.head.relation]
    )
    for each in mined:
        check_counts(each, pairs)


@pytest.mark.slow
def test_a_graph_like_fb15k_237_takes_little_time():
    """Its counts and hubs; a chain through a hub has millions of pairs."""
    vocabulary, ids = draw_graph(FB15K_237)
    assert np.bincount(ids[:, [0, 2]].ravel()).max() > 7000
    mined = []
    assert cost(lambda: mined.extend(mine_rules((vocabulary, ids)))) < 900
    assert len(mined) > 1000
    pairs: dict[str, set] = {}
    for s, r, o in ids.tolist():
        pairs.setdefault(vocabulary.relations[r], set()).add((s, o))
    for each in random.Random(0).sample(mined, 50):
        check_counts(each, pairs)


@pytest.mark.slow
def test_a_graph_like_fb15k_in_four_gigabytes():
    """Each body of its 1,345 relations beside each head would be 78 GB of numbers."""
    program = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from gumption.kg.rules.mining import mine_rules
from gumption.scripts.papers.kg.bench import Shape, draw_graph
graph = draw_graph(Shape(14_951, 1_345, 592_213, derived=0.5))
print(len(mine_rules(graph, min_support=50, min_head_coverage=0.2, min_confidence=0.5)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1000


def check_counts(mined: MinedRule, pairs: dict) -> None:
    """Support, body size and contradictions of a rule, counted with sets."""
    sides = []
    for atom in mined.rule.body:
        start = "x" if "x" in atom.variables else "z"
        turned = atom.subject != start
        sides.append({(o, s) for s, o in pairs[atom.relation]} if turned else pairs[atom.relation])
    if len(sides) == 1:
        found = sides[0]
    elif "z" not in mined.rule.body[0].variables:
        found = sides[0] & sides[1]
    else:
        after: dict[str, set] = {}
        for z, y in sides[1]:
            after.setdefault(z, set()).add(y)
        found = {(x, y) for x, z in sides[0] for y in after.get(z, ())}
    head = pairs[mined.rule.head.relation]
    # A head without a fact r(x, x) says nothing of x = y, and the rule says so where its body holds for some x = y.
    assert mined.rule.distinct == (any(x == y for x, y in found) and all(x != y for x, y in head))
    if mined.rule.distinct:
        found = {(x, y) for x, y in found if x != y}
    assert (mined.support, mined.body_size) == (len(found & head), len(found))
    assert mined.confidence == pytest.approx(len(found & head) / len(found))
    assert mined.head_coverage == pytest.approx(len(found & head) / len(head))
    against = set()
    for atom in mined.contradicted_by:
        against |= {(x, y) if atom.subject == "x" else (y, x) for x, y in pairs[atom.relation]}
    assert not head & against
    assert mined.contradictions == len(found & against)
    if mined.contradicted_by:
        assert mined.contradiction_confidence == mined.support / (mined.support + mined.contradictions)
    else:
        assert mined.contradiction_confidence == mined.pca_confidence
