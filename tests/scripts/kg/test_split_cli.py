"""`gumption kg export` to the folder of a data set."""

import hashlib
import json
import re

import numpy as np

from gumption.kg import KnowledgeGraph
from gumption.scripts.kg.parts import read_parts

FACTS = [(f"thing {i}", f"r{i % 3}", f"thing {i * 7 % 50}") for i in range(50)]
FACTS += [(f"thing {i}", "r0", f"thing {(i + 1) % 50}") for i in range(50)] + [("thing 1", "says", '"5, \\"x\\""@en')]
EXPORT = ("export", "kg.nq#a", "--literals")


def test_a_data_set_that_we_and_pykeen_read(gumption, tmp_path):
    from pykeen.triples import TriplesFactory

    graph = KnowledgeGraph()
    graph.add(FACTS, graph="a")
    graph.annotate("a", {"license": "CC0-1.0"})
    graph.save(tmp_path / "kg.nq")
    assert gumption.ok(*EXPORT, "--out", "set", "--validation-ratio", "0.05", "--seed", "3").endswith(
        "valid 5, test 10 facts written to set\n"
    )
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert manifest["shares"] == {"valid": 0.05, "test": 0.1}
    assert manifest["seed"] == 3
    assert manifest["content_hash"] == graph.content_hash("a")
    for file, sha256 in manifest["sha256"].items():
        assert hashlib.sha256((tmp_path / "set" / file).read_bytes()).hexdigest() == sha256
    vocabulary, ids = read_parts(tmp_path / "set")
    assert manifest["facts"] == {part: len(rows) for part, rows in ids.items()}
    parts = [fact for rows in ids.values() for fact in vocabulary.ids_to_triples(rows)]
    assert sorted(parts) == list(graph.triples())
    assert len(np.unique(ids["train"][:, [0, 2]])) == len(vocabulary.entities) == manifest["entities"]
    assert "CC0-1.0" in (tmp_path / "set" / "test.txt.license").read_text()
    train = TriplesFactory.from_path(tmp_path / "set" / "train.txt")
    assert train.num_entities == len(vocabulary.entities)
    quoted = {entity for entity in vocabulary.entities if entity.startswith('"')}  # PyKEEN takes quotation marks away
    assert set(vocabulary.entities) - set(train.entity_to_id) == quoted
    test = TriplesFactory.from_path(
        tmp_path / "set" / "test.txt", entity_to_id=train.entity_to_id, relation_to_id=train.relation_to_id
    )
    assert test.num_triples == 10
    again = json.loads(gumption.ok(*EXPORT, "--out", "two", "--validation-ratio", "0.05", "--seed", "3", "--json"))
    assert again == manifest
    assert json.loads(gumption.ok(*EXPORT, "--out", "three", "--json"))["sha256"] != manifest["sha256"]


def test_data_sets_that_cannot_be_made(gumption, tmp_path):
    graph = KnowledgeGraph()
    graph.add([("a", "r", "b"), ("c", "r", "d"), ("a", "r", "d")], graph="a")
    graph.save(tmp_path / "kg.nq")
    (tmp_path / "quoted.tsv").write_text('"a\tr\tb\n')
    (tmp_path / "there").mkdir()
    for out, options, message in (
        ("there", (), "there exists already: choose a new folder"),
        ("set", ("--validation-ratio", "0", "--test-ratio", "0.9"), "can be set aside, the others are the only ones"),
        ("set", ("--test-ratio", "nan"), "--test-ratio is nan; it is a finite number, at least 0 and below 1"),
        ("set", ("--validation-ratio", "0.6", "--test-ratio", "0.5"), "shares are at least 0 and below 1 in all"),
        ("set", ("--seed", "-1"), "--seed is -1; it is a whole number, at least 0"),
        ("x.nq", ("--seed", "1"), "--validation-ratio, --test-ratio, --seed and --format are for a folder"),
    ):
        code, _, err = gumption("export", "kg.nq", "--out", out, *options)
        assert code == 2
        assert message in err
    code, _, err = gumption("export", "quoted.tsv", "--out", "set")
    assert code == 2
    assert "the label '\"a' begins with a quotation mark that nothing closes" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kg.nq", "quoted.tsv", "there"]


def test_facts_that_follow_from_each_other_are_in_one_part(gumption, tmp_path):
    draw = np.random.default_rng(0)
    pairs = {(int(a), int(b)) for a, b in draw.integers(40, size=(300, 2)) if a < b}
    facts = [(f"x{a}", "parent", f"x{b}") for a, b in pairs] + [(f"x{b}", "child", f"x{a}") for a, b in pairs]
    facts += [(f"x{int(a)}", "likes", f"x{int(b)}") for a, b in draw.integers(40, size=(300, 2))]
    graph = KnowledgeGraph()
    graph.add(facts, graph="a")
    graph.save(tmp_path / "kg.nq")
    told = gumption.ok("export", "kg.nq", "--out", "set")
    relations = (
        "(2 inverse, near-duplicate or symmetric relations: child (inverse of parent); parent (inverse of child))"
    )
    assert re.search(rf"^0 of \d+ test facts follow from a training fact {re.escape(relations)}$", told, re.MULTILINE)
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert manifest["alike"][0] == {"relation": "child", "other": "parent", "kind": "inverse", "share": 1.0}
    vocabulary, ids = read_parts(tmp_path / "set")
    sides = {
        part: {frozenset(fact[::2]) for fact in vocabulary.ids_to_triples(rows) if fact[1] != "likes"}
        for part, rows in ids.items()
    }
    assert sum(map(len, sides.values())) == len(set().union(*sides.values()))
    assert sum(map(len, ids.values())) == len(graph)
    for part in ("valid", "test"):
        assert 0 <= round(0.1 * len(graph)) - len(ids[part]) <= 1
    assert sides["test"]
    apart = json.loads(gumption.ok("export", "kg.nq", "--out", "apart", "--split-families", "--json"))
    vocabulary, ids = read_parts(tmp_path / "apart")
    known = {frozenset(fact[::2]) for fact in vocabulary.ids_to_triples(ids["train"]) if fact[1] != "likes"}
    test = [fact for fact in vocabulary.ids_to_triples(ids["test"]) if fact[1] != "likes"]
    assert apart["test_facts_that_follow"] == sum(frozenset(fact[::2]) in known for fact in test) > 0


def test_what_was_drawn_before_is_drawn_again_where_no_relations_are_alike(gumption, tmp_path):
    graph = KnowledgeGraph()
    graph.add(FACTS, graph="a")
    graph.save(tmp_path / "kg.nq")
    one, other = (
        json.loads(gumption.ok("export", "kg.nq", "--out", out, "--json", "--literals", *more))
        for out, more in (("one", ()), ("other", ("--split-families",)))
    )
    assert one == other
    assert one["alike"] == []
