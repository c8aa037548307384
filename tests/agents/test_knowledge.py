"""From what `--kg` names to scores: look-up and fit, other names of relations, rules, and what is not known."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gumption.agents.knowledge import Knowledge, LeakedFacts
from gumption.agents.settings import KnowledgeConfig
from gumption.agents.wordcraft.cross_fit import cross_fitted
from gumption.data import InputError
from gumption.data.settings import Count, Size, settings
from gumption.envs.action_facts import action_facts
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv, facts, recipe_facts
from gumption.envs.wordcraft.facts import RELATIONS
from gumption.envs.worlds import WORLDS
from gumption.kg import ComplEx, KnowledgeGraph, mine_rules
from gumption.kg.rules.mining import write_mined


@settings
class SmallFits(KnowledgeConfig):
    """Knowledge whose predictors are small by default, so that a test need not say which of them it fits."""

    kg_rank: Size = 16
    kg_epochs: Count = 30
    kg_members: Size = 1


def graph_file(path: Path, triples: Any) -> str:
    graph = KnowledgeGraph()
    graph.add(triples, graph="mine")
    graph.save(path)
    return str(path)


def knowledge(book: RecipeBook, kg: str, words: Path | None = None, **given: Any) -> Knowledge:
    return Knowledge.of(
        SmallFits(kg=kg, **given),
        WORLDS["wordcraft"],
        ("", *book.entities),
        RELATIONS,
        {"recipe_book": book},
        word_vectors=None if words is None else str(words),
    )


def score(made: Knowledge, relation: str, subject: str, object_: str, given: str = "") -> float:
    """The score of one fact."""
    entities = ("", *made.scores.entities)
    env_ids = [np.array([[entities.index(label)]]) for label in (subject, object_, given)]
    asked = action_facts(made.scores.relations, (1, 1), [tuple(env_ids)] * len(made.scores.relations))
    return float(made.scores.action_scores(asked)[0, 0, made.scores.relations.index(relation)])


# ---- look-up and fit


def test_ones_own_graph_is_looked_up_and_the_worlds_facts_are_fitted(
    book: RecipeBook, words_file: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(cache))
    file = graph_file(tmp_path / "mine.nq", facts(book, partition="train"))
    assert knowledge(book, file).about["by"] == "look-up"
    assert knowledge(book, "train", words_file).about["by"] == "fit"
    assert knowledge(book, file, kg_fit=True).about["by"] == "fit"
    looked_up = knowledge(book, "train", kg_fit=False)
    assert looked_up.about["by"] == "look-up"
    a, b, c = (book.entities[i] for i in book.recipes[0])
    every = knowledge(book, "full", kg_fit=False)
    assert score(every, "makes", a, c, b) == 1.0
    assert score(every, "makes", a, a, b) == 0.0


def test_what_a_fitted_graph_knows_nothing_of_is_neither_better_nor_worse(
    book: RecipeBook, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a fact of entities that the graph does not have scored -4.4, and one that it half knows -9.1."""
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(cache))
    kept = [fact for fact in facts(book, partition="all") if "mud" not in fact and "water" not in fact]
    made = knowledge(book, graph_file(tmp_path / "little.nq", kept), kg_fit=True)
    assert set(made.unknown["binary"]) == {"mud", "water"}
    for other in book.entities:
        for pair in ((other, "mud"), ("water", other), ("mud", "water")):
            assert score(made, "combinesWith", *pair) == 0.0
    known, relation, object_ = next(fact for fact in kept if fact[1] == "combinesWith")
    assert score(made, relation, known, object_) > 0.0
    assert min(score(made, relation, known, other) for other in book.entities) < 0.0


@pytest.mark.parametrize("by", ["fit", "look-up", "predictor"])
def test_knowledge_that_was_kept_says_the_same(
    book: RecipeBook, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(cache))
    kept = [fact for fact in facts(book, partition="all") if "mud" not in fact]
    file = graph_file(tmp_path / "mine.nq", kept)
    if by == "predictor":
        ComplEx.fit(kept, rank=8, epochs=5, device="cpu").save(tmp_path / "model")
        made = knowledge(book, str(tmp_path / "model"), kg_relations=(("componentOf", "^combinesWith"),))
    else:
        made = knowledge(book, file, kg_fit=by == "fit")
    made.save(tmp_path / "kept")
    vocabulary = ("", *book.entities)
    loaded = Knowledge.load(tmp_path / "kept", vocabulary, RELATIONS)
    env = WordCraftVectorEnv(16, recipe_book=book)
    env.reset(seed=0)
    env.step(env.info_arrays()["action_mask"].argmax(1))
    said = made.advice(vocabulary, RELATIONS)(env)
    assert (said == loaded.advice(vocabulary, RELATIONS)(env)).all()
    assert said.any()
    turned = ("", *reversed(book.entities))
    for relation in made.scores.relations:
        other = Knowledge.load(tmp_path / "kept", turned, RELATIONS)
        assert score(other, relation, "fire", "steam") == score(made, relation, "fire", "steam")


def test_an_environment_of_another_vocabulary_gets_the_scores_in_the_same_order(book: RecipeBook) -> None:
    """Once those of a graph that is looked up came in the order of the world's relations."""
    made = knowledge(book, "full", kg_fit=False, kg_scores=("componentOf", "combinesWith"))
    assert made.scores.relations == ("componentOf", "combinesWith")
    assert made.advice(("", *reversed(book.entities)), RELATIONS).relations == made.scores.relations


# ---- other names of relations


def test_a_graph_of_other_names_guides_by_a_mapping(book: RecipeBook, tmp_path: Path) -> None:
    other = {"componentOf": "ingredient_of", "combinesWith": "goes_with"}
    renamed = [(o, "made_of", s) for s, r, o in facts(book, partition="all") if r == "componentOf"]
    renamed += [(s, other[r], o) for s, r, o in facts(book, partition="all")]
    file = graph_file(tmp_path / "theirs.nq", renamed)
    with pytest.raises(InputError, match="none of the relations that the world asks for"):
        knowledge(book, file)
    with pytest.warns(LeakedFacts):
        made = knowledge(book, file, kg_relations=tuple(other.items()))
    ours = knowledge(book, "full", kg_fit=False, kg_scores=("combinesWith", "componentOf"))
    with pytest.warns(LeakedFacts):
        turned = knowledge(book, file, kg_relations=(("componentOf", "^made_of"),))
    for s in book.entities[::3]:
        for o in book.entities:
            for relation in made.scores.relations:
                assert score(made, relation, s, o) == score(ours, relation, s, o)
            assert score(turned, "componentOf", s, o) == score(ours, "componentOf", s, o)
    known = [fact for fact in facts(book, partition="test") if fact[1] == "componentOf"]
    assert turned.about["test_facts"]["stated"] == len(known)  # a leak is seen under other names


@pytest.mark.parametrize(("name", "turned"), [("ingredient_of", False), ("^made_of", True)])
def test_a_leak_of_a_predictor_is_seen_under_its_names(
    book: RecipeBook, tmp_path: Path, name: str, turned: bool
) -> None:
    """Once test facts that it was trained on under another name of their relation were not counted."""
    called = name.removeprefix("^")
    theirs = [
        (o, called, s) if turned else (s, called, o) for s, r, o in facts(book, partition="all") if r == "componentOf"
    ]
    ComplEx.fit(theirs, rank=2, epochs=1, device="cpu").save(tmp_path / "model")
    with pytest.warns(LeakedFacts, match="was trained on"):
        made = knowledge(book, str(tmp_path / "model"), kg_relations=(("componentOf", name),))
    known = {fact for fact in facts(book, partition="test") if fact[1] == "componentOf"}
    assert made.about["test_facts"]["stated"] == len(known) > 0


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (
            ("componentof", "made_of"),
            "not one of the world's: unknown relation 'componentof': did you mean 'componentOf'",
        ),
        (("componentOf", "madeof"), "not one of the graph's: unknown relation 'madeof': did you mean 'made_of'"),
    ],
)
def test_a_name_that_there_is_not_is_told(
    book: RecipeBook, tmp_path: Path, pair: tuple[str, str], message: str
) -> None:
    file = graph_file(tmp_path / "theirs.nq", [("steam", "made_of", "water")])
    with pytest.raises(InputError, match=message):
        knowledge(book, file, kg_relations=(pair,))


# ---- rules


def test_mined_rules_are_knowledge(book: RecipeBook, tmp_path: Path) -> None:
    """Half of what combines is stated, and the rule that it is symmetric."""
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"symmetric": "combinesWith"}]}))
    half = [fact for fact in facts(book, partition="all") if fact[1] == "combinesWith" and fact[0] < fact[2]]
    file = graph_file(tmp_path / "half.nq", half)
    subject, _, object_ = half[0]
    with pytest.warns(LeakedFacts):
        plain, ruled = knowledge(book, file), knowledge(book, file, kg_rules=str(rules))
    assert (score(plain, "combinesWith", object_, subject), score(ruled, "combinesWith", object_, subject)) == (0, 1)
    assert ruled.about["rules"]["entailed"] == len(half)
    assert ruled.about["rules"]["test_facts"] == "not known"  # nobody says where a person has them from


def test_rules_alone_are_applied_to_the_training_facts_and_say_what_they_were_mined_from(
    book: RecipeBook, tmp_path: Path
) -> None:
    seen = {}
    for part in ("train", "all"):
        graph = KnowledgeGraph()
        graph.add(facts(book, partition=part), graph="mine")
        mined, rules = mine_rules(graph, min_support=2), tmp_path / f"{part}.json"
        write_mined(rules, mined, graph.arrays())
        made = knowledge(book, str(rules), kg_fit=False, kg_scores=("combinesWith",))
        seen[part] = made.about["rules"]["test_facts"]
        subject, relation, object_ = next(iter(facts(book, partition="train")))
        assert score(made, "combinesWith", subject, object_) == 1.0
        assert relation == "combinesWith"
        assert made.about["rules"]["entailed"] > 0
    assert seen["train"]["stated"] == 0
    assert seen["all"]["stated"] == len(list(facts(book, partition="test")))


def test_a_damaged_file_of_rules_is_told(book: RecipeBook, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"symmetric": "combinesWith"}], "mined_from": "no base64!"}))
    with pytest.raises(InputError, match=r"rules\.json: mined_from is damaged"):
        knowledge(book, str(rules), kg_fit=False)


# ---- settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kg": "none", "kg_fit": True}, "kg_fit: that is for knowledge"),
        (
            {"kg": "none", "kg_relations": (("a", "b"),), "kg_rules": "r"},
            "kg_relations, kg_rules: that is for",
        ),
        ({"kg": "full", "kg_fit": False, "kg_calibrated": False}, "facts that are looked up have none"),
        ({"kg": "full", "kg_scores": ("makes", "makes")}, "kg_scores names 'makes' twice"),
    ],
)
def test_settings_that_disagree_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        KnowledgeConfig(**given).check_knowledge()


def test_a_predictor_is_neither_fitted_nor_ruled(book: RecipeBook, tmp_path: Path) -> None:
    ComplEx.fit(facts(book, partition="train"), rank=2, epochs=1, device="cpu").save(tmp_path / "model")
    with pytest.raises(InputError, match="model is a link predictor: kg_fit and kg_rules are for graphs"):
        knowledge(book, str(tmp_path / "model"), kg_fit=True)


def test_a_graph_of_recipes_alone_is_looked_up_by_its_recipes(book: RecipeBook, tmp_path: Path) -> None:
    made = knowledge(book, graph_file(tmp_path / "mine.nq", recipe_facts(book, partition="train")))
    assert made.scores.relations == ("makes",)


def test_names_that_a_predictor_does_not_have_are_told(book: RecipeBook, tmp_path: Path) -> None:
    ComplEx.fit(facts(book, partition="train"), rank=2, epochs=1, device="cpu").save(tmp_path / "model")
    for pair, message in (
        (("combineswith", "componentOf"), "the world's: unknown relation 'combineswith': did you mean 'combinesWith'"),
        (("combinesWith", "componentof"), "the predictor's: unknown relation 'componentof'"),
    ):
        with pytest.raises(InputError, match=message):
            knowledge(book, str(tmp_path / "model"), kg_relations=(pair,))


def test_recipes_are_left_out_of_fits_alone(book: RecipeBook, tmp_path: Path) -> None:
    made = knowledge(book, graph_file(tmp_path / "mine.nq", recipe_facts(book, partition="train")))
    with pytest.raises(InputError, match=r"the graph is looked up: add kg_fit=True \(--kg-fit\)"):
        cross_fitted(made)


def test_a_graph_is_named_whole() -> None:
    """Once kg.nq#wordcraft/train was kept as "train", which is the world's own facts."""
    for typed, kept in (("runs/kg.nq#wordcraft/train", "kg.nq#wordcraft/train"), ("there/kg.nq", "kg.nq")):
        assert KnowledgeConfig(kg=typed).to_json()["kg"] == kept


def test_of_several_that_need_a_fit_one_makes_it(small_book, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path))
    fits, fit = [], ComplEx.fit

    def slow_fit(*arguments: Any, **more: Any) -> ComplEx:
        fits.append(more["rank"])
        time.sleep(0.2)
        return fit(*arguments, **more)

    monkeypatch.setattr(ComplEx, "fit", slow_fit)
    book = RecipeBook.load(small_book)
    with ThreadPoolExecutor(2) as threads:
        made = threads.map(lambda _: knowledge(book, "train", kg_scores=("componentOf",)), range(2))
        first, second = (next(iter(one.predictors.values())) for one in made)
    assert fits == [SmallFits.kg_rank]
    fact = [next(fact for fact in facts(book, partition="train") if fact[1] == "componentOf")]
    assert first.score(fact) == second.score(fact)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"kg_scores": ("componentOf",), "kg_members": 2},
            "kg_members is a setting of NaryPredictor, .* three parties",
        ),
        ({"kg_scores": ("makes",), "kg_rank": 8}, "kg_rank is a setting of ComplEx, .* two parties"),
    ],
)
def test_a_setting_of_a_fit_that_is_not_made_is_refused(small_book, given, message) -> None:
    with pytest.raises(InputError, match=message):
        knowledge(RecipeBook.load(small_book), "train", **given)
