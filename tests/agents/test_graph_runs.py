"""Runs that a person's own graph or predictor guides: from the file to the result, kept with the run."""

import json
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gumption.agents import TrainConfig, evaluate, train_impala
from gumption.agents.knowledge import LeakedFacts, UnknownEntities
from gumption.agents.run import RunResult
from gumption.agents.run_folder import RunFolder, load_policy
from gumption.data import InputError
from gumption.data.sealed import write_sealed
from gumption.envs.wordcraft import RecipeBook, facts, make_split, recipe_facts
from gumption.kg import ComplEx, KnowledgeGraph, NaryPredictor, Vocabulary, WordVectors, infer
from gumption.kg.links.nary_predictor import NarySettings
from gumption.kg.rules.horn import Atom, Rule

SMALL: dict[str, Any] = {"total_steps": 512, "eval_interval": 256, "final_draws": 4}
FITTED = {**SMALL, "kg_fit": True}
MakeFile = Callable[..., Path]


def train(config: TrainConfig, run_dir: Path | None = None, **arguments: Any) -> RunResult:
    return train_impala(config, run_dir=run_dir, progress=False, **arguments)


def manifest(run_dir: Path) -> dict[str, Any]:
    return json.loads((run_dir / "manifest.json").read_text())["knowledge"]


@pytest.fixture
def make_graph(book: RecipeBook, tmp_path: Path) -> MakeFile:
    """A file mine.nq with facts of a part of the book: all of them, or of training recipes."""

    def make(part: str = "all", name: str = "mine.nq", extra: tuple = ()) -> Path:
        graph = KnowledgeGraph()
        graph.add(facts(book, partition=part), graph="pairs")
        graph.add(recipe_facts(book, partition=part), graph="recipes")
        graph.add(extra, graph="extra")
        graph.save(tmp_path / name)
        return tmp_path / name

    return make


@pytest.fixture(scope="module")
def own(configure, cache: Path) -> dict[str, dict[str, float]]:
    """What the same knowledge gives as the world's own facts: final figures of kg="train" and "full"."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GUMPTION_CACHE_DIR", str(cache))
        return {kg: train(configure(kg=kg, **SMALL)).final for kg in ("train", "full")}


def without_clock(final: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in final.items() if name not in ("wall_s", "steps_per_s")}


# ---- a graph, wherever it lies


@pytest.mark.parametrize(("part", "kg"), [("all", "full"), ("train", "train")])
def test_the_worlds_facts_in_a_file_guide_as_the_worlds_facts(
    configure, own: dict[str, Any], make_graph: MakeFile, part: str, kg: str
) -> None:
    result = train(configure(kg=str(make_graph(part)), **FITTED))
    assert result.policy.advice.relations == ("makes",)
    assert without_clock(result.final) == without_clock(own[kg])


def test_one_graph_of_a_file_is_named_after_a_hash(configure, own: dict[str, Any], make_graph: MakeFile) -> None:
    file = make_graph()
    recipes = train(configure(kg=f"{file}#recipes", **FITTED))
    assert without_clock(recipes.final) == without_clock(own["full"])
    pairs = train(configure(kg=f"{file}#pairs", **FITTED))
    assert pairs.policy.advice.relations == ("combinesWith", "componentOf")  # all that there is
    with pytest.raises(InputError, match=r"recipe'.*did you mean 'recipes'"):
        train(configure(kg=f"{file}#recipe", **FITTED))
    with pytest.raises(InputError, match="the name of a graph is missing after #"):
        train(configure(kg=f"{file}#", **FITTED))


def test_a_folder_is_read_as_a_file_is(configure, own: dict[str, Any], book: RecipeBook, tmp_path: Path) -> None:
    with KnowledgeGraph(tmp_path / "store") as graph:
        graph.add(recipe_facts(book, partition="all"), graph="recipes")
    result = train(configure(kg=str(tmp_path / "store"), **FITTED), tmp_path / "run")
    assert without_clock(result.final) == without_clock(own["full"])
    assert json.loads((tmp_path / "run" / "config.json").read_text())["kg"] == "store"


def test_an_endpoint_is_read_as_a_file_is(configure, own: dict[str, Any], book: RecipeBook, endpoint: str) -> None:
    with KnowledgeGraph(f"{endpoint}/query", update=f"{endpoint}/update") as graph:
        graph.add(recipe_facts(book, partition="all"), graph="recipes")
        graph.add([("mud", "likes", "rain")], graph="other")
    for place in (f"{endpoint}/query", f"{endpoint}/query#recipes"):
        assert without_clock(train(configure(kg=place, **FITTED)).final) == without_clock(own["full"])
    with pytest.raises(InputError, match=r"none of the relations that the world asks for: .* It has likes"):
        train(configure(kg=f"{endpoint}/query#other", **FITTED))


def test_entailed_facts_guide_too(configure, book: RecipeBook, tmp_path: Path) -> None:
    """The graph states (product, madeFrom, ingredient); that the ingredient is a componentOf the product follows."""
    graph = KnowledgeGraph()
    stated = [(o, "madeFrom", s) for s, r, o in facts(book, partition="all") if r == "componentOf"]
    graph.add(stated, graph="mine")
    graph.save(tmp_path / "stated.nq")
    infer(graph, [Rule(Atom("componentOf", "x", "y"), (Atom("madeFrom", "y", "x"),))], "mine")
    graph.save(tmp_path / "mine.nq")
    with pytest.raises(InputError, match=r"has none of the relations that the world asks for: .* It has madeFrom"):
        train(configure(kg=str(tmp_path / "stated.nq"), **FITTED))
    result = train(configure(kg=str(tmp_path / "mine.nq"), **FITTED), tmp_path / "run")
    assert result.policy.advice.relations == ("componentOf",)
    about, of = manifest(tmp_path / "run"), len(set(facts(book, partition="test")))
    assert about["facts"] == 2 * len(stated)
    assert 0 < about["test_facts"]["stated"] < about["test_facts"]["of"]
    assert about["test_facts"]["of"] > of  # the recipes, too


def test_chosen_scores_that_the_graph_lacks_are_told(configure, make_graph: MakeFile) -> None:
    both = train(configure(kg=str(make_graph()), kg_scores=("makes", "componentOf"), **FITTED))
    assert both.policy.advice.relations == ("makes", "componentOf")
    with pytest.raises(InputError, match=r"mine\.nq#pairs has no facts of makes; it has combinesWith, componentOf"):
        train(configure(kg=f"{make_graph()}#pairs", kg_scores=("makes",), **FITTED))


@pytest.mark.slow
def test_cross_fitting_takes_a_graph_of_recipes(configure, make_graph: MakeFile) -> None:
    file, scores = make_graph("train"), ("componentOf", "makes")
    mine, theirs = (
        train(configure(kg=kg, kg_scores=scores, cross_fit=True, **FITTED)).final for kg in (str(file), "train")
    )
    assert without_clock(mine) == without_clock(theirs)
    with pytest.raises(InputError, match="cross_fit leaves recipes out, and the knowledge has none"):
        train(configure(kg=f"{file}#pairs", cross_fit=True, **FITTED))


def test_foreign_entities_are_told_and_learned_from(
    configure, own: dict[str, Any], make_graph: MakeFile, book_file: Path, words_file: Path, tmp_path: Path
) -> None:
    foreign = [("r", "hasIngredient", "watr"), ("r", "hasIngredient", "qqq"), ("r", "hasProduct", "mud")]
    config = configure(kg=str(make_graph(extra=tuple(foreign))), **FITTED)
    with pytest.warns(UnknownEntities, match=r"mine\.nq: 2 of its entities are not .* \('qqq': .*'watr': .* 'water'"):
        result = train(config, tmp_path / "run")
    assert result.final["test_success"] > 0.8
    # The word vectors are those of the run, though it had more of them.
    found = evaluate(tmp_path / "run", recipe_book=str(book_file), draws=4, seed=1)
    assert found["success"] == result.final["test_success"]


# ---- a predictor


def test_a_complex_folder_guides(configure, book: RecipeBook, book_file: Path, tmp_path: Path) -> None:
    ComplEx.fit(facts(book, partition="all"), rank=32, device="cpu").save(tmp_path / "model")
    config = configure(kg=str(tmp_path / "model"), **SMALL)
    result = train(config, tmp_path / "run")
    assert result.policy.advice.relations == ("combinesWith", "componentOf")
    assert result.final["test_success"] > train(configure(**SMALL)).final["test_success"]
    about = manifest(tmp_path / "run")
    assert about["source"] == "model"
    assert len(about["predictor"]) == 64
    asked = len(list(facts(book, partition="test")))
    assert about["test_facts"] == {"stated": asked, "of": asked + len(make_split(book).test_recipes)}
    shutil.rmtree(tmp_path / "model")
    found = evaluate(tmp_path / "run", recipe_book=str(book_file), draws=4, seed=1)
    assert found["success"] == result.final["test_success"]


def test_another_predictor_of_the_same_words_is_another_run(configure, book: RecipeBook, tmp_path: Path) -> None:
    known = list(facts(book, partition="all"))
    config = configure(kg=str(tmp_path / "model"), **SMALL)
    for seed in (0, 1):
        shutil.rmtree(tmp_path / "model", ignore_errors=True)
        ComplEx.fit(known, rank=4, epochs=2, seed=seed, device="cpu").save(tmp_path / "model")
        if seed == 0:
            train(config, tmp_path / "run")
            (tmp_path / "run" / "final.json").unlink()
    with pytest.raises(InputError, match=r"was begun with other knowledge \(another predictor\)"):
        train(config, tmp_path / "run", resume=True)


def test_a_predictor_of_recipes_guides(
    configure, own: dict[str, Any], book: RecipeBook, words_file: Path, tmp_path: Path
):
    vectors = WordVectors.load(words_file).vectors(book.entities)
    vocabulary = Vocabulary(book.entities, ("makes: pair", "makes: part"))
    fitted = NaryPredictor.fit(np.unique(book.recipes, axis=0), vectors, vocabulary, members=TrainConfig().kg_members,
                               device="cpu")  # fmt: skip
    fitted.save(tmp_path / "model")
    result = train(configure(kg=str(tmp_path / "model"), **SMALL))
    assert result.policy.advice.relations == ("makes",)
    assert result.final["test_success"] == pytest.approx(own["full"]["test_success"], abs=0.1)


def test_a_predictor_of_other_words_or_relations_is_told(configure, book: RecipeBook, tmp_path: Path) -> None:
    some = [fact for fact in facts(book, partition="all") if "mud" not in fact]
    ComplEx.fit(some, rank=2, epochs=1, device="cpu").save(tmp_path / "words")
    with pytest.warns(UnknownEntities, match=r"words: the predictor knows 32 of the world's 33 entities"):
        lacking = train(configure(kg=str(tmp_path / "words"), **SMALL)).policy
    mud = book.entities.index("mud")
    for scorer in lacking.advice.scores.scorers:
        assert not scorer.table[mud].any() | scorer.table[:, mud].any()  # neither for nor against it
        assert scorer.table.any()
    ComplEx.fit([("mud", "combineswith", "sky")], rank=2, epochs=1, device="cpu").save(tmp_path / "relations")
    with pytest.raises(InputError, match="relations: unknown relation 'combinesWith': did you mean 'combineswith'"):
        train(configure(kg=str(tmp_path / "relations"), **SMALL), tmp_path / "run")
    ComplEx.fit(facts(book, partition="all"), rank=2, epochs=1, device="cpu").save(tmp_path / "pairs")
    with pytest.raises(InputError, match="pairs: unknown relation 'makes'"):
        train(configure(kg=str(tmp_path / "pairs"), kg_scores=("makes",), **SMALL), tmp_path / "run")
    settings = NarySettings(width=4, hidden=4, epochs=1)
    rows, vectors = np.array([[0, 1, 2]]), np.eye(4)
    few = Vocabulary(("dirt", "sky9", "rains", "sun9"), ("p", "q"))
    NaryPredictor.fit(rows, vectors, few, settings=settings, device="cpu").save(tmp_path / "few")
    with pytest.raises(InputError, match=r"knows none of the world's 33 entities: unknown entity 'air'"):
        train(configure(kg=str(tmp_path / "few"), **SMALL), tmp_path / "run")
    assert not (tmp_path / "run").exists()


# ---- what the run keeps


def test_the_manifest_tells_what_guided_and_what_leaked(
    configure, book: RecipeBook, make_graph: MakeFile, words_file: Path, tmp_path: Path
) -> None:
    of = len(list(facts(book, partition="test"))) + len(make_split(book).test_recipes)
    seen = {}
    for part in ("train", "all"):
        file = make_graph(part, f"{part}.nq")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            train(configure(kg=str(file), **FITTED), tmp_path / part)
        leaks = [str(one.message) for one in told if one.category is LeakedFacts]
        said = f"{file} states {of} of the {of} facts of the test: success there is no proof that the agent infers them"
        assert leaks == ([said] if part == "all" else [])
        about = manifest(tmp_path / part)
        with KnowledgeGraph.load(file) as graph:
            assert about["graph"] == graph.content_hash()
        assert about["source"] == f"{part}.nq"
        assert len(about["word_vectors"]) == 64
        seen[part] = about["test_facts"]
    assert seen["train"] == {"stated": 0, "of": of}
    assert seen["all"] == {"stated": of, "of": of}
    train(configure(kg="train", **SMALL), tmp_path / "own")
    assert "test_facts" not in manifest(tmp_path / "own")


def test_a_run_outlives_its_graph(configure, make_graph: MakeFile, book_file: Path, tmp_path: Path) -> None:
    file = make_graph()
    config = configure(kg=str(file), kg_scores=("makes", "componentOf"), **FITTED)
    result = train(config, tmp_path / "run")
    file.unlink()
    (tmp_path / "run").rename(tmp_path / "moved")
    assert (tmp_path / "moved" / "knowledge" / "makes" / "checkpoint.json").is_file()
    found = evaluate(tmp_path / "moved", recipe_book=str(book_file), draws=4, seed=1)
    assert found["success"] == result.final["test_success"]
    _, policy = load_policy(tmp_path / "moved", recipe_book=str(book_file))
    assert policy.advice.relations == ("makes", "componentOf")
    assert str(tmp_path).encode() not in (tmp_path / "moved" / "config.json").read_bytes()


@pytest.mark.parametrize("settings", [FITTED, SMALL], ids=["fitted", "looked up"])
def test_a_stopped_run_goes_on_without_its_graph(
    configure, make_graph: MakeFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    file = make_graph("train")
    config = configure(kg=str(file), **settings)
    whole = train(config, tmp_path / "whole")
    save, saved = RunFolder.save, []

    def save_and_stop(self: RunFolder, tensors: Any, meta: Any) -> None:
        save(self, tensors, meta)
        saved.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "save", save_and_stop)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "stopped")
    monkeypatch.setattr(RunFolder, "save", save)
    assert saved
    assert not (tmp_path / "stopped" / "final.json").exists()
    about = manifest(tmp_path / "stopped")
    file.unlink()
    assert without_clock(train(config, tmp_path / "stopped", resume=True).final) == without_clock(whole.final)
    assert manifest(tmp_path / "stopped") == about == manifest(tmp_path / "whole")


def test_a_run_is_not_resumed_with_another_graph(
    configure, make_graph: MakeFile, book: RecipeBook, tmp_path: Path
) -> None:
    config = configure(kg=str(make_graph("train")), **FITTED)
    whole = train(config, tmp_path / "run")
    (tmp_path / "run" / "final.json").unlink()
    before = {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()}
    make_graph("all")  # a file of the same name
    with pytest.raises(InputError, match=r"run was begun with other knowledge \(another graph, test_facts, facts\)"):
        train(config, tmp_path / "run", resume=True)
    with pytest.raises(InputError, match="was begun with another kg; choose another name"):
        train(replace(config, kg="full"), tmp_path / "run", resume=True)
    assert {file: file.read_bytes() for file in before} == before
    make_graph("train")
    assert without_clock(train(config, tmp_path / "run", resume=True).final) == without_clock(whole.final)


def test_scores_of_an_older_version_are_not_mixed_in(configure, book_file: Path, tmp_path: Path) -> None:
    train(configure(kg="train", **SMALL), tmp_path / "run")
    kept = tmp_path / "run" / "knowledge" / "scores.json"
    said = json.loads(kept.read_text())
    said["version"] = 1
    write_sealed(kept, {name: value for name, value in said.items() if name != "sha256"})
    with pytest.raises(InputError, match="the scores of an older gumption mean something else; train again"):
        evaluate(tmp_path / "run", recipe_book=str(book_file))


@pytest.mark.parametrize("harm", ["missing", "damaged", "scores"])
def test_damaged_knowledge_of_a_run_is_told(configure, book_file: Path, tmp_path: Path, harm: str) -> None:
    train(configure(kg="train", **SMALL), tmp_path / "run")
    kept = tmp_path / "run" / "knowledge"
    if harm == "missing":
        shutil.rmtree(kept / "makes")
    elif harm == "damaged":
        tensors = kept / "makes" / "tensors.safetensors"
        tensors.write_bytes(tensors.read_bytes()[:-100])
    else:
        write_sealed(kept / "scores.json", {"version": 2, "relations": ["makes"]})
    message = {"missing": "no checkpoint", "damaged": "is damaged", "scores": "not the knowledge of a run"}[harm]
    with pytest.raises(InputError, match=message):
        evaluate(tmp_path / "run", recipe_book=str(book_file))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"there is no graph at .*mine\.nq: make one with"),
        ("<a> <b> .", r"mine\.nq"),
        ("", "It has no facts at all"),
    ],
)
def test_a_graph_that_is_none_is_told_and_nothing_written(
    configure, tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "mine.nq").write_text(content)
    with pytest.raises(InputError, match=message):
        train(configure(kg=str(tmp_path / "mine.nq"), **FITTED), tmp_path / "run")
    assert not (tmp_path / "run").exists()
