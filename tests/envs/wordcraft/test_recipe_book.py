import json

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook


def test_counts_of_the_2020_book(alchemy):
    assert len(alchemy.entities) == 700
    assert len(alchemy.recipes) == 3417
    assert len(alchemy.pairs) == 3277
    assert alchemy.labels(alchemy.roots + 1) == ["earth", "fire", "time"]
    assert len(alchemy.terminals) == 171
    assert len(alchemy.several) - 1 == 133
    assert (alchemy.several > 0).sum(axis=1).max() == 3
    assert (alchemy.pairs[:, 0] == alchemy.pairs[:, 1]).sum() == 134
    assert len(np.unique(alchemy.recipes[:, 2])) == 697
    weights = alchemy.ingredient_counts + 1
    assert weights[alchemy.entity_id("human")] / weights.sum() == pytest.approx(0.0240, abs=5e-5)
    assert weights[alchemy.entity_id("container")] / weights.sum() == pytest.approx(0.0212, abs=5e-5)


def test_a_pair_has_a_set_of_products(alchemy):
    fire, wood = alchemy.entity_id("fire"), alchemy.entity_id("wood")
    made = {alchemy.entities[i] for i in alchemy.products(fire, wood)}
    assert made == {"smoke", "campfire", "charcoal"}
    assert alchemy.products(fire, wood) == alchemy.products(wood, fire)
    for product in made:
        target = np.array([alchemy.entity_id(product) + 1])
        assert alchemy.makes(target, np.array([fire + 1]), np.array([wood + 1])).all()
    assert not alchemy.makes(np.array([0]), np.array([fire + 1]), np.array([wood + 1])).any()
    assert not alchemy.makes(np.array([0]), np.array([0]), np.array([0])).any()


def test_tables_agree_with_the_rows(book):
    size = len(book.entities) + 1
    for a in range(len(book.entities)):
        for b in range(len(book.entities)):
            listed = [p for x, y, p in book.recipes[np.argsort(book.book_order)].tolist() if {x, y} == {a, b}]
            assert list(book.products(a, b)) == listed
            code = book.single[(a + 1) * size + b + 1]
            assert code == (0 if not listed else listed[0] + 1 if len(listed) == 1 else code)
            assert (code < 0) == (len(listed) > 1)
            assert book.last_product[(a + 1) * size + b + 1] == (listed[-1] + 1 if listed else 0)
            for p in range(len(book.entities)):
                assert book.makes(np.array([p + 1]), np.array([a + 1]), np.array([b + 1]))[0] == (p in listed)
                is_component = a == p or any(a in row[:2] and row[2] == p for row in book.recipes.tolist())
                assert book.component[(p + 1) * size + a + 1] == is_component


def test_one_mix_makes_the_goal_else_the_wanted_else_the_first(book):
    def made(goal, wanted):
        a, b = (np.array([book.entity_id(x) + 1]) for x in ("wood", "fire"))
        ids = [book.entity_id(x) + 1 if x else 0 for x in wanted]
        return book.label(book.mix(a, b, np.array([book.entity_id(goal) + 1]), np.array([ids]))[0])

    assert made("charcoal", [""]) == "charcoal"
    assert made("charcoal", ["campfire"]) == "charcoal"
    assert made("house", ["wall", "campfire"]) == "campfire"
    assert made("house", ["campfire", "charcoal"]) == "charcoal"
    assert made("house", ["", "wall"]) == "smoke"


def test_rows_that_need_their_own_product_are_dropped(book):
    assert book.products(book.entity_id("mud"), book.entity_id("air")) == ()


def test_hash_ignores_the_order_of_the_file_but_not_of_the_products(book, rows):
    def again(listed):
        return RecipeBook("other", sorted({label for row in listed for label in row}), listed)

    assert again(rows).hash == book.hash
    moved = [row for row in rows if row[0] != "smoke"] + [("smoke", "fire", "wood")]
    assert again(moved).hash != book.hash
    assert again([*rows[10:14], *rows[:10], *rows[14:]]).hash == book.hash
    assert again([*rows, ("glass", "fire", "sand")]).hash == book.hash


def test_unknown_entity_names_near_ones(book):
    with pytest.raises(InputError, match="no entity 'stome'; did you mean stone"):
        book.entity_id("stome")


def test_unknown_book_names_the_known_ones():
    with pytest.raises(InputError, match=r"'alchemy'; did you mean alchemy2\?"):
        RecipeBook.load("alchemy")
    with pytest.raises(InputError, match="known books: commonsense, alchemy2"):
        RecipeBook.load("nothing like it")


def test_each_recipe_keeps_its_origin(tmp_path):
    rows = [("steam", "water", "fire"), ("mud", "water", "earth"), ("steam", "fire", "water"), ("mud", "mud", "fire")]
    origins = ["family:phase", "own", "paper", "own"]
    book = RecipeBook("small", ["water", "fire", "earth", "steam", "mud"], rows, origins)
    told = {book.entities[product]: origin for (_, _, product), origin in zip(book.recipes, book.origins, strict=True)}
    assert told == {"steam": "family:phase", "mud": "own"}, "of a recipe that is there twice the first"
    plain = RecipeBook("small", ["water", "fire", "earth", "steam", "mud"], rows)
    assert plain.origins is None
    assert plain.hash == book.hash, "the same tasks"
    assert plain != book
    with pytest.raises(InputError, match="small: 3 origins of 4 recipes; give one for each"):
        RecipeBook("small", ["water", "fire", "earth", "steam", "mud"], rows, origins[:3])
    lines = [("result", "ingredient", "ingredient", "origin"), *((*r, o) for r, o in zip(rows, origins, strict=True))]
    (tmp_path / "book.tsv").write_text("".join("\t".join(line) + "\n" for line in lines))
    (tmp_path / "book.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    for name in ("book.tsv", "book.csv"):
        assert RecipeBook.load(tmp_path / name).origins == book.origins, name


def test_a_word_may_have_a_sense():
    rows = [("bat (animal)", "cave", "mouse"), ("bat (sport)", "wood", "ball")]
    book = RecipeBook("senses", ["cave", "mouse", "wood", "ball", "bat (animal)", "bat (sport)"], rows)
    assert book.entity_id("bat (animal)") != book.entity_id("bat (sport)")
    with pytest.raises(InputError, match=r"no entity 'bat'; did you mean bat \(animal\) or bat \(sport\)"):
        book.entity_id("bat")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"bad.json: not valid JSON .*line 1"),
        ("[]", "found no entities"),
        ('{"entities": {}}', "found no entities"),
        ('{"entities": {" ": {"recipes": []}}}', "empty name"),
        ('{"entities": {"a": {"recipes": []}, "a": {"recipes": []}}}', "'a' is listed twice"),
        ('{"entities": {"a": 3}}', "entity 'a': expected"),
        ('{"entities": {"a": {"recipes": [["b"]]}}}', "entity 'a', recipe 1: a recipe is a list of two names"),
        ('{"entities": {"a": {"recipes": [["a", "a"], ["a", 3]]}}}', "recipe 2: a recipe is a list of two names"),
        ('{"entities": {"aa": {"recipes": [["ab", "aa"]]}, "abb": {}}}', "unknown ingredient 'ab'; did you mean"),
        ('{"entities": {"a": {"recipes": [["a", "a"]]}}}', "bad.json: recipe book bad: no recipe makes anything new"),
    ],
)
def test_bad_json_book(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        RecipeBook.load(path)


def test_file_problems(tmp_path):
    with pytest.raises(InputError, match="no such recipe file"):
        RecipeBook.load(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes('{"entities": {"café": {}}}'.encode("latin-1"))
    with pytest.raises(InputError, match=r"not valid JSON .*utf-8. codec"):
        RecipeBook.load(tmp_path / "latin.json")
    many = {"entities": {str(i): {"recipes": [["0", "1"]]} for i in range(32_001)}}
    (tmp_path / "many.json").write_text(json.dumps(many))
    with pytest.raises(InputError, match="at most 32000"):
        RecipeBook.load(tmp_path / "many.json")
