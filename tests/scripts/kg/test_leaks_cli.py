"""`gumption kg leaks`: how many facts of a world's test part a graph states."""

import json

import pytest

from gumption.envs.wordcraft import facts
from gumption.envs.worlds import WORLDS, Environment, World
from gumption.kg import KnowledgeGraph
from gumption.kg.rules.horn import symmetric, write_rules

WORLD = ("--world", "wordcraft")


@pytest.fixture(scope="module")
def parts():
    """The facts of each part of WordCraft as it is split by default."""
    return {part: set(facts(split=part)) for part in ("train", "test")}


def save(triples, name="given", place="kg.nq"):
    graph = KnowledgeGraph()
    graph.add(triples, graph=name)
    graph.save(place)
    return graph


def test_the_full_graph_tells_everything(gumption, parts):
    save(facts(split="all"))
    told = json.loads(gumption.ok("leaks", "kg.nq", *WORLD, "--json"))
    assert told["train"] == {"stated": len(parts["train"]), "of": len(parts["train"])}
    assert told["test"] == {"stated": len(parts["test"]), "of": len(parts["test"])}
    assert len(parts["test"]) > 100
    table = " ".join(gumption.ok("leaks", "kg.nq", *WORLD).split())
    assert f"it tells {len(parts['test'])} answers of the test" in table


def test_the_training_graph_tells_nothing(gumption, parts):
    graph = save(parts["train"])
    told = json.loads(gumption.ok("leaks", "kg.nq", *WORLD, "--json"))
    assert told == {
        "graph": "kg.nq",
        "sha256": graph.content_hash(None),
        "world": "wordcraft",
        "train": {"stated": len(parts["train"]), "of": len(parts["train"])},
        "test": {"stated": 0, "of": len(parts["test"])},
    }
    table = " ".join(gumption.ok("leaks", "kg.nq", *WORLD).split())
    assert f"kg.nq (sha256 {told['sha256'][:12]}): nothing of the test is in it" in table


def test_the_split_is_the_one_that_is_asked_for(gumption):
    """Facts of one training part may be test facts of another."""
    save(facts(split="train"))
    way = {"split_mode": "by_goal", "train_ratio": 0.5, "split_seed": 3}
    test = set(facts(split="test", **way))
    options = ("--split", "by_goal", "--train-ratio", "0.5", "--split-seed", "3")
    told = json.loads(gumption.ok("leaks", "kg.nq", *WORLD, *options, "--json"))
    assert told["test"] == {"stated": len(test & set(facts(split="train"))), "of": len(test)}
    assert told["test"]["stated"] > 0


def test_entailed_facts_count_where_they_are_written(gumption, parts):
    """The other half of a symmetric fact is an answer of the test too."""
    one, relation, other = min(
        fact
        for fact in parts["test"]
        if fact[1] == "combinesWith" and fact[0] != fact[2] and fact[::-1] in parts["test"]
    )
    save([(one, relation, other)])
    write_rules("rules.json", [symmetric(relation)])

    def told(source):
        return json.loads(gumption.ok("leaks", source, *WORLD, "--json"))["test"]["stated"]

    assert told("kg.nq") == 1
    gumption.ok("infer", "kg.nq#given", "--rules", "rules.json", "--out", "kg.nq")
    assert told("kg.nq") == 2
    assert told("kg.nq#given") == 1, "one graph is read where it is named"


def test_another_world(gumption):
    truth = set(WORLDS["halma"].get("facts")(split="test"))
    save(list(truth)[:7])
    told = json.loads(gumption.ok("leaks", "kg.nq", "--world", "halma", "--json"))
    assert told["test"] == {"stated": 7, "of": len(truth)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kg.nq", "--world", "wordcarft"), "unknown world 'wordcarft': did you mean 'wordcraft'?"),
        (("kg.nq", "--world", "mute"), "the world 'mute' states no facts"),
        (("kg.nq", "--world", "halma", "--split", "by_goal"), "'halma' are not split in such a way: leave out --split"),
        (("kg.nq", "--world", "halma", "--train-ratio", "0.5"), "in such a way: leave out --train-ratio"),
        (("kg.nq", "--world", "halma", "--split-seed", "1"), "in such a way: leave out --split-seed"),
        (("kg.nq", *WORLD, "--split", "by_colour"), "by_colour"),
        (("none.nq", *WORLD), "there is no graph at none.nq: make one with `gumption kg build`"),
        (("kg.nq#other", *WORLD), "unknown graph 'other'"),
    ],
)
def test_bad_input(gumption, monkeypatch, arguments, message):
    mute = World("mute", "Mute", "Say nothing.", "nowhere", (Environment("gumption/Mute-v0", "a:b", "a:c"),))
    monkeypatch.setitem(WORLDS, "mute", mute)
    save([("fire", "componentOf", "steam")])
    code, out, err = gumption("leaks", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
