"""Rules of graphs of which facts are missing: disjoint relations, and the confidence that counts contradictions."""

import itertools
import json
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.kg import KnowledgeGraph, Vocabulary
from gumption.kg.rules.horn import Rule, read_rules
from gumption.kg.rules.inference import infer
from gumption.kg.rules.mining import MinedRule, mine_rules, write_mined

Triples = set[tuple[str, str, str]]
ALL = {"min_support": 1, "min_head_coverage": 0.0, "min_confidence": 0.0}


def arrays(triples):
    vocabulary = Vocabulary.from_triples(triples)
    return vocabulary, vocabulary.triples_to_ids(sorted(triples))


def by_text(mined):
    return {str(each.rule): each for each in mined}


# ---- magnets on tables, of which some pairs were tried


class Magnets:
    """Tables of discs, each disc with one of two poles and, unrelated to it, one of two colours.

    :ivar facts: of the pairs that were tried, in both directions. Poles and colours are tried independently.
    :ivar true: of all pairs of each table.
    """

    def __init__(self, opposites_attract: bool, known: float, tables: int = 60, discs: int = 6) -> None:
        draw = random.Random(0)
        self.facts: Triples = set()
        self.true: Triples = set()
        for table in range(tables):
            poles, colours = ([draw.randrange(2) for _ in range(discs)] for _ in range(2))
            for a, b in itertools.combinations(range(discs), 2):
                attracts = (poles[a] != poles[b]) == opposites_attract
                for relation in (
                    "attracts" if attracts else "repels",
                    "likeColoured" if colours[a] == colours[b] else "unlikeColoured",
                ):
                    ends = f"table {table} disc {a}", f"table {table} disc {b}"
                    both_ways = {(ends[0], relation, ends[1]), (ends[1], relation, ends[0])}
                    self.true |= both_ways
                    if draw.random() < known:
                        self.facts |= both_ways


def algebra(like: str, unlike: str) -> set[str]:
    """The compositions that hold where `like` joins two of a kind and `unlike` two of different kinds."""
    return {
        f"{like}(x, y) <= {like}(x, z) & {like}(z, y) & x != y",
        f"{like}(x, y) <= {unlike}(x, z) & {unlike}(z, y) & x != y",
        f"{unlike}(x, y) <= {like}(x, z) & {unlike}(z, y)",
        f"{unlike}(x, y) <= {unlike}(x, z) & {like}(z, y)",
    }


def compositions(mined: list[MinedRule]) -> dict[str, MinedRule]:
    """Those r(x, y) <= b(x, z) & c(z, y): for symmetric relations each other chain is one of them turned."""
    return {text: each for text, each in by_text(mined).items() if "(x, z)" in text and "(z, y)" in text}


@pytest.mark.parametrize("known", [0.7, 0.4])
@pytest.mark.parametrize("opposites_attract", [True, False])
def test_true_rules_of_a_world_that_is_known_in_part_are_certain(opposites_attract, known):
    world = Magnets(opposites_attract, known)
    found = compositions(mine_rules(arrays(world.facts), min_confidence=0))
    like, unlike = ("repels", "attracts") if opposites_attract else ("attracts", "repels")
    true = algebra(like, unlike) | algebra("likeColoured", "unlikeColoured")
    assert true < found.keys()
    for text, each in found.items():
        if text in true:
            assert each.contradiction_confidence == 1.0
            assert each.contradictions == 0 < each.support
            # AMIE's confidence cannot be much more than the share of the pairs that are known.
            assert each.confidence == pytest.approx(known, abs=0.1)
        else:
            assert each.contradiction_confidence < 0.7
    head = found[f"{like}(x, y) <= {like}(x, z) & {like}(z, y) & x != y"]
    assert [str(atom) for atom in head.contradicted_by] == [f"{unlike}(x, y)", f"{unlike}(y, x)"]


def test_two_laws_give_two_algebras():
    """The same code finds in each world its own law; names do not matter."""
    certain = [
        compositions(
            mine_rules(
                arrays(Magnets(opposites_attract, 0.7).facts), min_confidence=0, min_contradiction_confidence=0.99
            )
        ).keys()
        for opposites_attract in (True, False)
    ]
    colours = algebra("likeColoured", "unlikeColoured")
    assert certain[0] - colours == algebra("repels", "attracts")
    assert certain[1] - colours == algebra("attracts", "repels")
    assert not (certain[0] & certain[1]) - colours


def test_what_the_rules_entail_is_true(tmp_path):
    """From facts to a file of rules to entailed facts, with one threshold."""
    world = Magnets(opposites_attract=True, known=0.7)
    graph = KnowledgeGraph()
    graph.add(world.facts, graph="g")
    write_mined(tmp_path / "rules.json", mine_rules(graph, "g", min_confidence=0, min_contradiction_confidence=0.99))
    result = infer(graph, read_rules(tmp_path / "rules.json"), "g")
    entailed = set(graph.triples(graph="g/inferred"))
    assert entailed <= world.true - world.facts  # nothing repels itself
    assert result.entailed > 0.9 * len(world.true - world.facts)


# ---- a relation that excludes its own inverse


def test_an_asymmetric_relation_contradicts_itself_turned_round():
    draw = random.Random(0)
    facts = {
        (f"{table}.{a}", "heavierThan", f"{table}.{b}")
        for table in range(60)
        for a, b in itertools.combinations(range(6), 2)
        if draw.random() < 0.7
    }
    found = by_text(mine_rules(arrays(facts), min_confidence=0))
    chain = found["heavierThan(x, y) <= heavierThan(x, z) & heavierThan(z, y)"]
    assert [str(atom) for atom in chain.contradicted_by] == ["heavierThan(y, x)"]
    assert (chain.contradiction_confidence, chain.contradictions) == (1.0, 0)
    assert chain.confidence < 0.8
    # Of two that are both lighter, or both heavier, than a third either may be the heavier one: each pair that is known
    # is a hit in one direction and a contradiction in the other.
    for text in (
        "heavierThan(x, y) <= heavierThan(z, x) & heavierThan(z, y) & x != y",
        "heavierThan(x, y) <= heavierThan(x, z) & heavierThan(y, z) & x != y",
    ):
        assert found[text].contradictions == found[text].support
        assert found[text].contradiction_confidence == 0.5
    assert "heavierThan(x, y) <= heavierThan(y, x)" not in found


# ---- relations that are not disjoint


def random_pairs(draw: random.Random, number: int, entities: int) -> set[tuple[str, str]]:
    return {(str(draw.randrange(entities)), str(draw.randrange(entities))) for _ in range(number)}


def test_relations_that_share_pairs_keep_the_figures_of_amie():
    draw = random.Random(0)
    known = random_pairs(draw, 300, 25)
    facts = {(x, draw.choice("rs"), y) for x, y in sorted(known)} | {(x, "r", y) for x, y in sorted(known)[:1]}
    mined = mine_rules(arrays(facts | {(x, "s", y) for x, y in sorted(known)[:1]}), **ALL)
    assert mined
    for each in mined:
        assert each.contradicted_by == ()
        assert (each.contradictions, each.contradiction_confidence) == (0, each.pca_confidence)
    without = mine_rules(arrays(facts), **ALL)  # the one shared pair kept r and s from being disjoint
    assert any(each.contradicted_by for each in without)


def test_few_facts_or_other_entities_are_no_evidence():
    draw = random.Random(0)
    # Each pair has one relation. Were they independent, r and s would have four of the 10,000 pairs in common.
    scattered = {(x, draw.choice("rs"), y) for x, y in sorted(random_pairs(draw, 400, 100))}
    apart = {(f"{kind}{x}", kind, f"{kind}{y}") for kind in "rs" for x, y in random_pairs(draw, 300, 20)}
    small = {(f"{x}", draw.choice("rs"), f"{y}") for x, y in itertools.combinations(range(7), 2)}
    for facts in scattered, apart, small:
        mined = mine_rules(arrays(facts), **ALL)
        assert mined
        assert not any(atom.relation != each.rule.head.relation for each in mined for atom in each.contradicted_by)


# ---- against counting everything


def oriented_pairs(facts: Triples) -> dict[str, set[tuple[str, str]]]:
    """ "r(x, y)" and "r(y, x)" -> the pairs (x, y) of which it is stated."""
    pairs: dict[str, set[tuple[str, str]]] = {}
    for s, r, o in facts:
        pairs.setdefault(f"{r}(x, y)", set()).add((s, o))
        pairs.setdefault(f"{r}(y, x)", set()).add((o, s))
    return pairs


def are_disjoint(first: set[tuple[str, str]], second: set[tuple[str, str]], expected: Fraction) -> bool:
    """The criterion, pair by pair."""
    if first & second:
        return False
    near = first | second
    near |= {(y, x) for x, y in near}
    x_of, y_of = ({pair[side] for pair in first} & {pair[side] for pair in second} for side in (0, 1))
    entities = {x for x, _ in near}
    joined = {
        (x, y)
        for x, y in itertools.product(x_of, y_of)
        if x != y and any((x, z) in near and (z, y) in near for z in entities)
    }
    return bool(joined) and Fraction(len(first & joined) * len(second & joined), len(joined)) >= expected


def body_pairs(rule: Rule, pairs: dict[str, set[tuple[str, str]]]) -> set[tuple[str, str]]:
    entities = {e for some in pairs.values() for pair in some for e in pair}
    found = set()
    for x, y, z in itertools.product(entities, repeat=3):
        value = {"x": x, "y": y, "z": z}
        if all((value[a.subject], value[a.object]) in pairs[f"{a.relation}(x, y)"] for a in rule.body):
            found.add((x, y))
    return found


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")),
        st.sets(st.sampled_from("rstu"), min_size=1, max_size=2),
        min_size=4,
        max_size=20,
    ),
    st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(3, 2)]),
)
def test_contradictions_are_those_of_counting_everything(stated, expected):
    facts = {(x, relation, y) for (x, y), relations in stated.items() for relation in relations}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gumption.kg.rules.mining.EXPECTED", float(expected))
        mined = mine_rules(arrays(facts), **ALL)
    pairs = oriented_pairs(facts)
    for each in mined:
        of_head = pairs[f"{each.rule.head.relation}(x, y)"]
        by = {atom for atom, others in pairs.items() if are_disjoint(of_head, others, expected)}
        assert {str(atom) for atom in each.contradicted_by} == by
        against = set().union(*(pairs[atom] for atom in by))
        if all(x != y for x, y in of_head):
            against = {(x, y) for x, y in against if x != y}
        assert each.contradictions == len(body_pairs(each.rule, pairs) & against)
        total = each.support + each.contradictions
        assert each.contradiction_confidence == (each.support / total if by else each.pca_confidence)


@pytest.mark.parametrize("place", ["mining.PATHS", "mining.STEPS"])
def test_large_counts_are_made_in_pieces(place, monkeypatch):
    facts = Magnets(opposites_attract=True, known=0.7, tables=20).facts
    whole = mine_rules(arrays(facts), **ALL)
    assert any(each.contradictions for each in whole)
    monkeypatch.setattr(f"gumption.kg.rules.{place}", 10)
    assert mine_rules(arrays(facts), **ALL) == whole


# ---- files


def test_a_file_keeps_the_figure_and_older_files_are_read(tmp_path):
    facts = Magnets(opposites_attract=True, known=0.7, tables=20).facts
    mined = mine_rules(arrays(facts), min_confidence=0)
    path = tmp_path / "rules.json"
    write_mined(path, mined)
    assert read_rules(path) == tuple(each.rule for each in mined)
    content = json.loads(path.read_text())
    assert content["rules"][0]["figures"] == mined[0].figures()
    assert mined[0].figures()["contradicted_by"] == [str(atom) for atom in mined[0].contradicted_by]
    for entry in content["rules"]:  # as mining wrote them before
        for name in ("contradiction_confidence", "contradictions", "contradicted_by"):
            del entry["figures"][name]
    path.write_text(json.dumps(content))
    assert read_rules(path) == tuple(each.rule for each in mined)


@pytest.mark.slow
def test_kinship_terms_exclude_each_other():
    """Each of two people has one term for the other. What is found disjoint is checked on facts that were not read."""
    from pykeen.datasets import get_dataset

    dataset = get_dataset(dataset="kinships")
    names, terms = dataset.training.entity_id_to_label, dataset.training.relation_id_to_label
    facts = {(names[s], terms[r], names[o]) for s, r, o in dataset.training.mapped_triples.tolist()}
    held_out = oriented_pairs({(names[s], terms[r], names[o]) for s, r, o in dataset.testing.mapped_triples.tolist()})
    excluded = {(str(each.rule.head), str(by)) for each in mine_rules(arrays(facts)) for by in each.contradicted_by}
    assert len(excluded) > 100
    stated = oriented_pairs(facts)
    broken = [pair for pair in excluded if held_out[pair[0]] & (stated[pair[1]] | held_out[pair[1]])]
    assert len(broken) < 0.05 * len(excluded)
