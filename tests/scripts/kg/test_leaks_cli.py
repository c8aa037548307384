"""`gumption kg leaks`: how many facts of a world's test part a graph states."""

import json
from pathlib import Path

import pytest

from gumption.envs.wordcraft import RecipeBook, facts, make_split, recipe_facts
from gumption.envs.wordcraft.facts import binary_facts
from gumption.envs.worlds import WORLDS, Environment, World
from gumption.kg import ComplEx, KnowledgeGraph
from gumption.kg.rules.horn import symmetric, write_rules

WORLD = ("--world", "wordcraft")


@pytest.fixture(scope="module")
def parts():
    """The facts of training, and those that recipes of the test entail and training does not state (validation may)."""
    train, test, made = set(facts(partition="train")), set(), dict[str, dict[str, list[str]]]()
    for recipe, role, thing in recipe_facts(partition="test"):
        made.setdefault(recipe, {}).setdefault(role, []).append(thing)
    for roles in made.values():
        one, other = (roles["hasIngredient"] * 2)[:2]
        test |= {(one, "combinesWith", other), (other, "combinesWith", one)}
        test |= {(each, "componentOf", product) for each in (one, other) for product in roles["hasProduct"]}
    return {"train": train, "test": test - train}


@pytest.fixture(scope="module")
def recipes():
    """How many recipes each part has: each is a fact of three parties, beside those of two that it entails."""
    return {
        part: sum(role == "hasProduct" for _, role, _ in recipe_facts(partition=part)) for part in ("train", "test")
    }


def save(triples, name="given", place="kg.nq"):
    graph = KnowledgeGraph()
    graph.add(triples, graph=name)
    graph.save(place)
    return graph


@pytest.mark.slow
def test_the_full_graph_tells_everything(gumption, parts, recipes):
    save([*facts(partition="all"), *recipe_facts(partition="all")])
    told = json.loads(gumption.ok("leaks", "kg.nq", *WORLD, "--json"))
    for part in ("train", "test"):
        everything = len(parts[part]) + recipes[part]
        assert told[part] == {"stated": everything, "of": everything}
    table = " ".join(gumption.ok("leaks", "kg.nq", *WORLD).split())
    assert f"it tells {len(parts['test']) + recipes['test']} answers of the test" in table


def test_a_graph_of_two_parties_does_not_state_recipes(gumption, parts, recipes):
    save(facts(partition="all"))
    told = json.loads(gumption.ok("leaks", "kg.nq", *WORLD, "--json"))
    assert told["test"] == {"stated": len(parts["test"]), "of": len(parts["test"]) + recipes["test"]}


@pytest.mark.parametrize("name", ["given/recipes", "other"])
def test_a_graph_of_recipes_as_nodes_tells_what_they_entail(gumption, parts, recipes, name):
    save(recipe_facts(partition="test"), name)
    told = json.loads(gumption.ok("leaks", "kg.nq", *WORLD, "--json"))
    everything = len(parts["test"]) + recipes["test"]
    assert recipes["test"] > 100
    assert told["test"] == {"stated": everything, "of": everything}


@pytest.mark.parametrize("named", ["rdf-schema#label", "core#altLabel", "core#exactMatch", "owl#sameAs"])
def test_other_names_of_an_entity_count(gumption, parts, named):
    """A graph of IRIs says which words they stand for; the same fact twice is one leak."""
    subject, relation, object_ = min(parts["test"])
    predicate = {"core": "2004/02/skos/core", "owl": "2002/07/owl"}.get(named.partition("#")[0], "2000/01/rdf-schema")
    ending = named.partition("#")[2]
    is_label = named.endswith(("label", "Label"))

    def named_as(label):
        return json.dumps(label) if is_label else f"<urn:gumption:entity:{label.replace(' ', '%20')}>"

    lines = [
        "<http://example.org/1> <http://example.org/2> <http://example.org/3> .",
        *(
            f"<http://example.org/{number}> <http://www.w3.org/{predicate}#{ending}> {named_as(label)} ."
            for number, label in ((1, subject), (3, object_))
        ),
        f"<http://example.org/2> <http://www.w3.org/2000/01/rdf-schema#label> {json.dumps(relation)} .",
    ]
    Path("kg.nt").write_text("\n".join(lines) + "\n")
    assert json.loads(gumption.ok("leaks", "kg.nt", *WORLD, "--json"))["test"]["stated"] == 1


@pytest.mark.slow
def test_the_training_graph_tells_nothing(gumption, parts, recipes):
    graph = save(parts["train"])
    told = json.loads(gumption.ok("leaks", "kg.nq", *WORLD, "--json"))
    assert told == {
        "graph": "kg.nq",
        "sha256": graph.content_hash(None),
        "world": "wordcraft",
        "train": {"stated": len(parts["train"]), "of": len(parts["train"]) + recipes["train"]},
        "test": {"stated": 0, "of": len(parts["test"]) + recipes["test"]},
    }
    table = " ".join(gumption.ok("leaks", "kg.nq", *WORLD).split())
    assert f"kg.nq (sha256 {told['sha256'][:12]}): nothing of the test is in it" in table


def test_the_split_is_the_one_that_is_asked_for(gumption):
    """Facts of one training part may be test facts of another."""
    save(facts(partition="train"))
    way = {"split": "by_goal", "train_ratio": 0.5, "split_seed": 3}
    book = RecipeBook.load("commonsense")
    recipes = make_split(book, "by_goal", 0.5, 3).test_recipes
    test = binary_facts(book, recipes) - set(facts(partition="train", **way))
    options = ("--split", "by_goal", "--train-ratio", "0.5", "--split-seed", "3")
    told = json.loads(gumption.ok("leaks", "kg.nq", *WORLD, *options, "--json"))
    assert told["test"] == {"stated": len(test & set(facts(partition="train"))), "of": len(test) + len(recipes)}
    assert told["test"]["stated"] > 0


@pytest.mark.slow
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


@pytest.mark.parametrize("part", ["train", "all"])
def test_a_predictor_tells_what_it_was_trained_on(gumption, parts, recipes, part):
    ComplEx.fit(facts(partition=part), rank=2, epochs=1, device="cpu").save("model")
    told = json.loads(gumption.ok("leaks", "model", *WORLD, "--json"))
    stated = 0 if part == "train" else len(parts["test"])
    assert told["test"] == {"stated": stated, "of": len(parts["test"]) + recipes["test"]}
    assert told["train"]["stated"] == len(parts["train"])


def test_a_predictor_that_does_not_say_on_what_it_was_trained_is_not_clean(gumption):
    model = ComplEx.fit([("fire", "componentOf", "steam")], rank=2, epochs=1, device="cpu")
    model.trained_on = None
    model.save("model")
    said = "model does not say on what it was trained: what it knows of the test is not known"
    assert said in gumption.refused("leaks", "model", *WORLD)


def test_another_world(gumption):
    truth = set(WORLDS["halma"].get("facts")(partition="test"))
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


def test_a_book_of_ones_own(gumption, tmp_path):
    rows = "".join(f"made {i}\tpart {i}\tpart {i + 1}\n" for i in range(20))
    (tmp_path / "book.tsv").write_text(f"result\tingredient\tingredient\n{rows}")
    save(facts(recipe_book=str(tmp_path / "book.tsv"), partition="all"))
    own = ("--setting", "recipe_book=book.tsv", "--setting", "split_seed=1")
    told = json.loads(gumption.ok("leaks", "kg.nq", *WORLD, *own, "--json"))
    assert told["test"]["stated"] > 0
    assert told["test"]["of"] < 100
    assert json.loads(gumption.ok("leaks", "kg.nq", *WORLD, "--json"))["test"]["stated"] == 0
    for setting, message in (
        ("recipe_bok=x", "--setting: unknown setting 'recipe_bok': did you mean 'recipe_book'"),
        ("recipe_book", "'recipe_book' is not NAME=VALUE"),
        ("partition=test", "--setting: unknown setting 'partition'"),
    ):
        code, _, err = gumption("leaks", "kg.nq", *WORLD, "--setting", setting)
        assert code == 2
        assert message in err
