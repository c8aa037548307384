"""The shipped recipe book keeps its promises, and its checker finds every kind of fault."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from gumption.data import path
from gumption.data.errors import InputError
from gumption.data.manifest import shipped
from gumption.data.recipe_check import (
    basic_entities,
    book_counts,
    check_recipes,
    check_shipped,
    count_recipes,
    generations,
    main,
)
from gumption.data.recipe_files import Recipe, Recipes, read_families, read_recipes_json, read_recipes_tsv

# Table 3 (appendix D) of Jiang et al., "WordCraft", 2020: every example recipe of the paper, in lower case.
TABLE_3 = """
airplane: bird + metal, bird + steel
alcohol: fruit + time, juice + time
batter: flour + milk
cereal: wheat + milk
catnip: cat + plant
charcoal: fire + wood
dew: water + grass, fog + grass
farmer: human + field, human + plant
geyser: steam + earth
glacier: ice + mountain
hay bale: hay + hay
iced tea: ice + tea
ivy: plant + wall
juice: water + fruit, pressure + fruit
kite: wind + paper, sky + paper
lake: water + pond, river + dam
milk: farmer + cow, cow + human
milk shake: milk + ice cream
narwhal: unicorn + ocean, unicorn + water
oasis: desert + water
paper: wood + pressure
pasta: flour + egg
rainbow: rain + sun, rain + light
reindeer: santa + wild animal, livestock + santa
sand castle: sand + castle
santa: human + christmas tree
scythe: blade + grass, blade + wheat
telescope: glass + sky, glass + star, glass + space
umbrella: tool + rain, rain + fabric
volcano: lava + earth, lava + mountain
wallet: leather + money
watch: human + clock
x-ray: light + bone, light + skeleton
yogurt: milk + bacteria
zombie: corpse + life
"""

# Four basic words and a few recipes without any fault; each test below plants one.
CLEAN: list[Recipe] = [
    ("steam", "fire", "water"),
    ("mud", "earth", "water"),
    ("dust", "air", "earth"),
    ("brick", "fire", "mud"),
    ("wind", "air", "fire"),
]


@pytest.fixture(scope="module")
def book() -> Recipes:
    return read_recipes_tsv(path("commonsense"))


def kinds(rows: list[Recipe]) -> list[str]:
    return [problem.kind for problem in check_recipes(rows)]


def write(folder: Path, *lines: str) -> Path:
    file = folder / "book.tsv"
    file.write_text("\n".join(("result\tingredient\tingredient", *lines, "")), encoding="utf-8")
    return file


def test_the_shipped_book_keeps_its_rules(book: Recipes) -> None:
    assert check_shipped(book.rows, book.origins, read_families(path("commonsense-families"))) == []


def test_the_shipped_book_is_sorted(book: Recipes) -> None:
    assert book.rows == sorted(book.rows)
    assert all(a <= b for _, a, b in book.rows)


def test_the_shipped_book_holds_table_3(book: Recipes) -> None:
    wanted = set()
    for line in TABLE_3.strip().splitlines():
        result, combinations = line.split(": ")
        for combination in combinations.split(", "):
            wanted.add((result, *sorted(combination.split(" + "))))
    assert len(wanted) == 52
    told = zip(book.rows, book.origins or [], strict=True)
    assert {(result, *sorted((a, b))) for (result, a, b), origin in told if origin == "paper"} == wanted


def test_the_manifest_counts_origins_and_what_stands_in_the_2020_book(book: Recipes, shared_data: Path) -> None:
    counts = book_counts(book, read_recipes_json(shared_data / "alchemy2.json")[1])
    assert shipped()["commonsense"].counts == counts
    of_origins = sum(count for what, count in counts.items() if what.startswith("of origin "))
    assert of_origins == counts["recipes"] == len(book.rows)


def test_clean_rows_have_no_problem() -> None:
    assert check_recipes(CLEAN) == []
    assert basic_entities(CLEAN) == ("air", "earth", "fire", "water")
    counts = count_recipes([*CLEAN, ("fog", "fire", "water"), ("lake", "water", "water")])
    assert str(counts) == (
        "11 entities, 7 recipes, 4 basic, 6 terminals, 2 generations, 1 ambiguous pairs, 1 self-combinations"
    )


def test_finds_duplicate_in_either_order() -> None:
    problems = check_recipes([*CLEAN, ("steam", "water", "fire")])
    assert [(problem.kind, problem.row) for problem in problems] == [("duplicate", len(CLEAN))]


def test_finds_own_result_among_ingredients() -> None:
    assert kinds([*CLEAN, ("mud", "mud", "water")]) == ["own result"]


def test_generations_are_rounds_of_mixing() -> None:
    rows = [
        *CLEAN,
        ("brick", "steam", "steam"),
        ("wall", "brick", "brick"),
        ("hen", "egg", "fire"),
        ("egg", "hen", "air"),
    ]
    made = generations(rows)
    assert {made[label] for label in ("air", "earth", "fire", "water")} == {0}
    assert (made["mud"], made["brick"], made["wall"]) == (1, 2, 3)
    assert not {"hen", "egg"} & set(made)


def test_finds_words_out_of_reach() -> None:
    problems = check_recipes([*CLEAN, ("hen", "egg", "fire"), ("egg", "hen", "air")])
    assert [problem.kind for problem in problems] == ["unreachable", "unreachable", "backward"]
    assert "'hen'" in problems[0].message
    assert "'egg'" in problems[1].message


def test_finds_two_things_of_which_each_makes_the_other() -> None:
    problems = check_recipes([*CLEAN, ("steam", "water", "wind"), ("wind", "air", "steam"), ("wind", "steam", "steam")])
    (backward,) = [problem for problem in problems if problem.kind == "backward"]
    assert backward.row == len(CLEAN) + 1
    assert backward.message == "air + steam -> wind, and water + wind -> steam: keep one way of the two"


def test_finds_an_ingredient_that_the_result_alone_makes() -> None:
    """Wall needs brick by way of tower; another way to tower mends it."""
    rows = [*CLEAN, ("tower", "brick", "brick"), ("hill", "tower", "mud"), ("brick", "hill", "fire")]
    assert [(problem.kind, problem.message) for problem in check_recipes(rows)] == [
        ("circular", "hill + fire -> brick: nothing makes 'hill' without 'brick'")
    ]
    assert kinds([*rows, ("hill", "earth", "earth")]) == []


def test_finds_things_of_a_single_recipe_that_nothing_makes() -> None:
    (orphan,) = check_recipes([*CLEAN, ("glass", "fire", "snad")])
    assert (orphan.kind, orphan.row) == ("orphan", len(CLEAN))
    assert orphan.message == "nothing makes 'snad', and fire + snad -> glass alone uses it"


def test_finds_words_of_two_senses() -> None:
    (sense,) = check_recipes([*CLEAN, ("bat", "air", "mud")])
    assert sense.message == "'bat' means several things: say which, as 'bat (animal)' or 'bat (sport)'"
    both = check_recipes([*CLEAN, ("vine (plant)", "air", "mud"), ("vine", "air", "brick")])
    assert [(problem.kind, problem.message) for problem in both] == [
        ("sense", "'vine' stands beside 'vine (plant)': say which is meant")
    ]
    assert kinds([*CLEAN, ("bat (animal)", "air", "mud"), ("bat (sport)", "air", "brick")]) == []


@pytest.mark.parametrize(
    ("origins", "families", "problems"),
    [
        (None, None, []),
        (["own", "paper", "family:heat", "family:heat", "own"], {"heat": "a thing + fire = the hot thing"}, []),
        (["own", "", "own", "own", "own"], None, [("origin", 1, "no origin: it is paper, own or family:NAME")]),
        (["own", "book", "own", "own", "own"], None, [("origin", 1, "'book' is no origin: it is paper, own or fam")]),
        (["own", "own", "own", "own", "family:cold"], {}, [("family", 4, "'cold' is a family without a rule")]),
        (["own"] * 4 + ["family:heat"], {"heat": ""}, [("family", None, "'heat' is a family without a rule")]),
        (["own"] * 5, {"heat": "hot things"}, [("family", None, "'heat' is a family without members")]),
        (None, {"heat": "hot"}, [("origin", None, "the book has no origins, and so its families no members")]),
    ],
)
def test_finds_origins_and_families_that_do_not_go_together(
    origins: list[str] | None, families: dict[str, str] | None, problems: list[tuple[str, int | None, str]]
) -> None:
    found = check_recipes(CLEAN, origins, families)
    assert [(problem.kind, problem.row) for problem in found] == [(kind, row) for kind, row, _ in problems]
    assert all(problem.message.startswith(text) for problem, (_, _, text) in zip(found, problems, strict=True))


def test_finds_where_a_book_breaks_a_rule_of_the_shipped_one() -> None:
    letters = [f"{a}{b}" for a in "abcdef" for b in "abcdefghijklm"]
    rows = [(f"x{one}{other}", one, other) for one, other in pairwise(letters)]
    many = [*rows, *((f"z{one}{other}", "aa", f"x{one}{other}") for one in letters[:13] for other in letters[:13])]
    families = {"x": "one thing", "z": "another"}
    told = [problem.message for problem in check_shipped(many, ["family:x"] * len(many), families)]
    for text in (
        "235 basic entities, at most 20: aa, ab,",
        "170 recipes use 'aa', at most 150",
        "the family 'x' has 100.0% of the recipes, at most 6%",
        "1 families, at least 40",
        "1.00 recipes a product, 5 to 6 on average",
        "2 generations, at least 8",
    ):
        assert any(text in message for message in told), (text, told)


@pytest.mark.parametrize(
    "label", ["Steam", "hot  spring", " steam", "steam ", "steam2", "co_op", "-ray", "x--ray", "bat()", "bat(animal)"]
)
def test_finds_malformed_labels(label: str) -> None:
    assert "label" in kinds([*CLEAN, (label, "air", "mud")])


@pytest.mark.parametrize("label", ["x-ray", "jack o'lantern", "hot spring", "file (for nails)"])
def test_accepts_compounds(label: str) -> None:
    assert kinds([*CLEAN, (label, "air", "mud")]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x-ray", "x ray"),
        ("snow man", "snowman"),
        ("cat", "cats"),
        ("box", "boxes"),
        ("berry", "berries"),
        ("gray", "grey"),
        ("donut", "doughnut"),
        ("harbor", "harbours"),
        ("caterpillar", "caterpiller"),
        ("restaurant", "restauran"),
        ("bats (animal)", "bat (animal)"),
    ],
)
def test_finds_spelling_variants(one: str, other: str) -> None:
    assert kinds([*CLEAN, (one, "air", "mud"), (other, "air", "brick")]) == ["spelling"]


@pytest.mark.parametrize(
    ("one", "other"), [("glass", "glasses"), ("gas", "glass"), ("mountain", "fountain"), ("bus", "bush")]
)
def test_leaves_different_words_alone(one: str, other: str) -> None:
    assert kinds([*CLEAN, (one, "air", "mud"), (other, "air", "brick")]) == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("steam\tfire", "2 columns"),
        ("steam\tfire\twater\town", "4 columns where the header has 3"),
        ("", "0 columns"),
        ("steam\t\twater", "empty cell"),
        ("steam\tfire\t ", "empty cell"),
    ],
)
def test_bad_row_is_named_by_its_line(tmp_path: Path, row: str, reason: str) -> None:
    file = write(tmp_path, "mud\tearth\twater", row, "dust\tair\tearth")
    with pytest.raises(InputError, match=f"{re.escape(str(file))}:3: .*{reason}"):
        read_recipes_tsv(file)


def test_unreadable_files_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_recipes_tsv(tmp_path / "absent.tsv")
    with pytest.raises(InputError, match="holds no recipe"):
        read_recipes_tsv(write(tmp_path))
    headless = tmp_path / "headless.tsv"
    headless.write_text("steam\tfire\twater\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"headless\.tsv:1: the first line must be the header"):
        read_recipes_tsv(headless)
    latin = tmp_path / "latin.tsv"
    latin.write_bytes("result\tingredient\tingredient\ncaf\xe9\tbean\twater\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_recipes_tsv(latin)
    empty = tmp_path / "empty.tsv"
    empty.write_bytes(b"")
    with pytest.raises(InputError, match=r"empty\.tsv:1: it is empty; the first line must be the header"):
        read_recipes_tsv(empty)


def test_command_prints_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*CLEAN, ("mud", "mud", "water")]
    file = write(tmp_path, *("\t".join(row) for row in rows))
    assert main([str(file)]) == 2
    assert f"{file}:7: own result: 'mud'" in capsys.readouterr().err
    assert main([str(write(tmp_path, "steam\tfire"))]) == 2
    assert ":2: 2 columns" in capsys.readouterr().err


def test_the_command_checks_the_shipped_book_and_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gumption.data.recipe_check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"commonsense: \d+ entities, \d+ recipes, \d+ basic, \d+ terminals", done.stdout)
    file = tmp_path / "own.tsv"
    rows = ("\t".join((*row, "family:heat")) for row in CLEAN)
    file.write_text("\n".join(("result\tingredient\tingredient\torigin", *rows, "")))
    families = tmp_path / "families.tsv"
    families.write_text("family\trule\nheat\thot things\n")
    assert main([str(file), "--families", str(families)]) == 0
    families.write_text("family\trule\nheat\thot things\ncold\tcold things\n")
    assert main([str(file), "--families", str(families)]) == 2
    assert f"{file}: family: 'cold' is a family without members\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: it is empty; the first line must be the header family<TAB>rule"),
        ("heat\thot\n", "1: the first line must be the header family<TAB>rule"),
        ("family\trule\nheat\n", "2: 1 columns where the header has 2"),
        ("family\trule\nheat\thot\nheat\twarm\n", "3: 'heat' is there twice"),
        ("family\trule\n\thot\n", "2: '' is no family"),
    ],
)
def test_a_bad_file_of_families(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "families.tsv").write_text(text)
    with pytest.raises(InputError, match=re.escape(f"families.tsv:{message}")):
        read_families(tmp_path / "families.tsv")
