"""A book under other names and other laws: the same game, called otherwise, or another one of the same shape."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import gumption.envs  # noqa: F401  (registers the environments)
from gumption.data import InputError
from gumption.envs.priors import LETTERS, relabelled
from gumption.envs.wordcraft import (
    LittleAlchemyVectorEnv,
    RecipeBook,
    Split,
    WordCraftVectorEnv,
    enumerate_tasks,
    facts,
    make_split,
    recipe_facts,
)
from gumption.envs.wordcraft.env import entity_features
from gumption.envs.wordcraft.split_check import check_split
from gumption.envs.wordcraft.splits import MODES
from gumption.kg import WordVectors

NAMES = ("anonymous", "shuffled")
THINGS = 12


@st.composite
def books(draw) -> RecipeBook:
    """Small books without order, in which a pair may make several things and a thing be made in several ways."""
    ids = st.integers(0, THINGS - 1)
    rows = draw(st.lists(st.tuples(ids, ids, ids), min_size=12, max_size=30, unique=True))
    listed = [(f"thing {c}", f"thing {a}", f"thing {b}") for a, b, c in rows if c not in (a, b)]
    assume(listed)
    things = sorted({thing for row in listed for thing in row})
    return RecipeBook("drawn", draw(st.permutations(things)), listed)


few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def renamed(book: RecipeBook, names: str) -> dict[str, str]:
    """Label in the real book -> label in the book under other names."""
    return dict(zip(book.entities, book.under(names).entities, strict=True))


@few
@given(books(), st.sampled_from(NAMES))
def test_facts_of_the_renamed_book_are_the_renamed_facts(book, names) -> None:
    of, other = renamed(book, names), book.under(names)
    for partition in ("train", "test", "all"):
        try:
            here = list(facts(book, partition=partition, train_ratio=0.6))
        except InputError:
            continue  # too small for a test part
        there = list(facts(book, partition=partition, train_ratio=0.6, names=names))
        assert there == sorted((of[s], r, of[o]) for s, r, o in here)
        assert there == list(facts(other, partition=partition, train_ratio=0.6))
        of_node = {f"recipe:{a}+{b}": f"recipe:{of[a]}+{of[b]}" for a in of for b in of} | of
        nodes = recipe_facts(book, partition=partition, train_ratio=0.6)
        assert list(recipe_facts(other, partition=partition, train_ratio=0.6)) == sorted(
            (of_node[s], r, of_node[o]) for s, r, o in nodes
        )


@few
@given(books(), st.sampled_from(NAMES), st.sampled_from([1, 2]))
def test_tasks_and_splits_are_the_same_by_number(book, names, depth) -> None:
    other = book.under(names)
    assert np.array_equal(other.recipes, book.recipes)
    assert np.array_equal(other.single, book.single)
    try:
        mine = enumerate_tasks(book, depth)
        splits = [make_split(book, mode, 0.6, 3, depth) for mode in ("by_recipe", "by_goal", "by_task")]
    except InputError:
        return  # too small for such tasks, or for a test part
    theirs = enumerate_tasks(other, depth)
    for part in ("goal", "base", "intermediates", "recipes"):
        assert np.array_equal(getattr(mine, part), getattr(theirs, part))
    for split in splits:
        again = make_split(other, split.parameters["mode"], 0.6, 3, depth)
        for part in ("train", "validation", "test"):
            assert np.array_equal(again.of("tasks", part), split.of("tasks", part))
            assert np.array_equal(again.of("recipes", part), split.of("recipes", part))
        assert again.parameters == split.parameters
        assert again.hash != split.hash  # of another book
        assert not check_split(again, other)


@few
@given(books(), st.sampled_from(("real", *NAMES)))
def test_counterfactual_laws_keep_the_shape_of_a_book(book, names) -> None:
    try:
        other = book.under(names, "counterfactual")
    except InputError as error:
        assert "no two products of one generation" in str(error)  # noqa: PT017  (most books have some)
        return
    laws = book.under(laws="counterfactual")
    assert np.array_equal(other.recipes, laws.recipes)
    assert other.entities == relabelled(book.entities, names)
    assert other.hash != book.hash
    assert len(other) == len(book)
    assert np.array_equal(other.pairs, book.pairs)
    assert np.array_equal(other.generations, book.generations)
    assert np.array_equal(other.terminals, book.terminals)
    assert np.array_equal(other.roots, book.roots)
    made = np.bincount(book.recipes[:, 2], minlength=len(book.entities))
    made_there = np.bincount(other.recipes[:, 2], minlength=len(book.entities))
    exchanged: dict[int, int] = {}
    for a, b in book.pairs.tolist():
        here, there = book.products(a, b), other.products(a, b)
        assert not {a, b} & set(there)
        for one, instead in zip(here, there, strict=True):  # in book order, and everywhere the same in its place
            assert exchanged.setdefault(one, instead) == instead
            assert book.generations[one] == book.generations[instead]
            assert made_there[instead] == made[one]
    assert len(set(exchanged.values())) == len(exchanged)


def test_almost_nothing_stays_what_it_was_in_the_shipped_book() -> None:
    book = RecipeBook.load("commonsense")
    other = book.under(laws="counterfactual")
    assert (other.generations >= 0).all()  # each thing can still be made
    there = set(map(tuple, other.recipes.tolist()))
    same = {row for row in map(tuple, book.recipes.tolist()) if row in there}
    alone = np.flatnonzero(np.bincount(book.generations) == 1)  # generations of one thing, which keeps its place
    assert {int(book.generations[row[2]]) for row in same} <= set(alone.tolist())


def test_a_real_book_is_what_it_was() -> None:
    book = RecipeBook.load("commonsense")
    assert book.hash == "d16ec765a37969c0388bced9d1eb484168cb7e608a3950aef0b5b47b651afa57"
    assert book.under() is book.under("real", "real") is book
    env = WordCraftVectorEnv(1, recipe_book=book)
    assert env.split.hash == make_split(book).hash
    assert set(env.split.parameters) == {"mode", "train_ratio", "seed", "depth", "shortcuts"}
    assert (book.names, book.laws, book.name, book.real_names) == ("real", "real", "commonsense", book.entities)


def test_a_book_has_one_hash_under_each_names_and_laws(book) -> None:
    every = [book.under(names, laws) for names in ("real", *NAMES) for laws in ("real", "counterfactual")]
    assert len({one.hash for one in every}) == 6
    assert [one.hash for one in every] == [
        book.under(names, laws).hash for names in ("real", *NAMES) for laws in ("real", "counterfactual")
    ]
    assert every[-1].name == f"{book.name}, names shuffled, laws counterfactual"
    assert every[-1].real_names == book.entities


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("rules", ["correct", "2020"])
def test_the_game_is_the_same_under_every_name(book, names, rules) -> None:
    of = renamed(book, names)
    how = {"recipe_book": book, "num_distractors": 3, "depth": 2, "rules": rules}
    envs = [WordCraftVectorEnv(8, **how), WordCraftVectorEnv(8, **how, names=names)]
    for env in envs:
        env.reset(seed=4)
    for _ in range(20):
        real, other = (env.describe(0) for env in envs)
        assert other["goal"] == of[real["goal"]]
        assert other["table"] == [of[thing] for thing in real["table"]]
        asked = [env.action_facts() for env in envs]
        for part in ("subject", "object", "given"):
            assert np.array_equal(getattr(asked[0], part), getattr(asked[1], part))
        actions = envs[0].random_actions()
        one, two = (env.step_arrays(actions) for env in envs)
        assert all(map(np.array_equal, one, two))
    with pytest.raises(InputError, match="has no entity"):
        envs[1].reset(options={"goal": book.entities[0] if names == "anonymous" else "none", "table": ["x"]})


def test_little_alchemy_begins_with_the_same_things() -> None:
    book, names = RecipeBook.load("commonsense"), "shuffled"
    real, other = (LittleAlchemyVectorEnv(1, recipe_book=book, names=each) for each in ("real", names))
    assert np.array_equal(real.basic, other.basic)
    assert np.array_equal(real.reachable, other.reachable)
    assert other.describe(0)["table"] == [renamed(book, names)[thing] for thing in real.describe(0)["table"]]
    assert "water" in real.describe(0)["table"]
    counterfactual = LittleAlchemyVectorEnv(1, recipe_book=book, laws="counterfactual")
    assert np.array_equal(real.reachable, counterfactual.reachable)
    assert not np.array_equal(real.book.recipes, counterfactual.book.recipes)


@pytest.mark.filterwarnings("ignore:.*have no vector of their own")
def test_words_are_those_of_other_things_or_mean_nothing(book) -> None:
    words = WordVectors.load()
    shuffled = entity_features(book.under("shuffled"), "glove")
    assert np.array_equal(shuffled[1:], words.guessed_vectors(book.under("shuffled").entities)[0])
    assert not np.array_equal(shuffled, entity_features(book, "glove"))
    codes = book.under("anonymous").entities
    assert all(set(code) <= set(LETTERS) for code in codes)
    assert words.guessed_vectors(codes)[1].drawn == codes
    # What is drawn at random without a name is drawn as ever: by number.
    assert np.array_equal(entity_features(book, "random"), entity_features(book.under("shuffled"), "random"))


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "by_family"])
def test_splits_of_a_counterfactual_book_keep_their_parts_apart(book, mode) -> None:
    other = book.under("shuffled", "counterfactual")
    split = make_split(other, mode, 0.7, 0)
    assert not check_split(split, other)
    if mode == "by_recipe":  # the same pairs are set aside
        real = make_split(book, mode, 0.7, 0)
        assert np.array_equal(np.unique(split.test_recipes[:, :2], axis=0), np.unique(real.test_recipes[:, :2], axis=0))


def test_a_part_of_a_renamed_book_has_its_ids(book) -> None:
    other = book.under("shuffled", "counterfactual")
    part = other.only(other.recipes[::2])
    assert part.entities == other.entities
    assert part.real_names == other.real_names
    assert np.array_equal(part.recipes, other.recipes[::2])
    assert (part.names, part.laws) == ("shuffled", "counterfactual")


def test_what_is_refused(book, tmp_path) -> None:
    for dial, value in (("names", "codes"), ("laws", "shuffled")):
        with pytest.raises(InputError, match=f"{dial} is '{value}'"):
            WordCraftVectorEnv(1, recipe_book=book, **{dial: value})
        with pytest.raises(InputError, match=f"{dial} is '{value}'"):
            gym.make("gumption/LittleAlchemy-v0", recipe_book=book, **{dial: value})
    with pytest.raises(InputError, match="is not the real one: give that, and names and laws with it"):
        book.under("shuffled").under("anonymous")
    assert book.under("shuffled").under("shuffled") == book.under("shuffled").under() == book.under("shuffled")
    row = [("steam", "water", "fire")]
    with pytest.raises(InputError, match="no two products of one generation"):
        RecipeBook("tiny", ["fire", "water", "steam"], row).under(laws="counterfactual")
    with pytest.raises(InputError, match="real_names gives one for each entity"):
        RecipeBook("tiny", ["fire", "water", "steam"], row, real_names={"fire": "air"})
    make_split(book.under("shuffled")).save(tmp_path / "split.json")
    with pytest.raises(InputError, match=r"made for the recipe book .*, names shuffled .*, not for"):
        WordCraftVectorEnv(1, recipe_book=book, split=tmp_path / "split.json")
    env = WordCraftVectorEnv(1, recipe_book=book, split=tmp_path / "split.json", names="shuffled")
    assert env.split.hash == Split.load(tmp_path / "split.json").hash
