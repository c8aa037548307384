"""The shipped recipe book keeps its promises, and its checker finds every kind of fault."""

import re
import subprocess
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from gumption.data.errors import InputError
from gumption.data.recipe_check import Recipe, basic_entities, check_recipes, count_recipes, main, read_recipes_tsv

BOOK = Path(str(files("gumption.data"))) / "recipes" / "commonsense.tsv"

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
]


@pytest.fixture(scope="module")
def book() -> list[Recipe]:
    return read_recipes_tsv(BOOK)


def kinds(rows: list[Recipe]) -> list[str]:
    return [problem.kind for problem in check_recipes(rows)]


def write(folder: Path, *lines: str) -> Path:
    file = folder / "book.tsv"
    file.write_text("\n".join(("result\tingredient\tingredient", *lines, "")), encoding="utf-8")
    return file


def test_shipped_book_has_no_problem(book: list[Recipe]) -> None:
    assert check_recipes(book) == []


def test_shipped_book_counts(book: list[Recipe]) -> None:
    counts = count_recipes(book)
    assert 680 <= counts.entities <= 760
    assert 2200 <= counts.recipes <= 2600
    assert 4 <= counts.basic <= 12
    assert 0.20 <= counts.terminals / counts.entities <= 0.25
    pairs = len({tuple(sorted(row[1:])) for row in book})
    assert 0.03 <= counts.ambiguous_pairs / pairs <= 0.05
    assert 0.03 <= counts.self_combinations / counts.recipes <= 0.04


def test_shipped_book_has_several_ways_to_a_result(book: list[Recipe]) -> None:
    ways = Counter(result for result, _, _ in book)
    assert 3 <= len(book) / len(ways) <= 4
    assert min(ways.values()) >= 2
    assert max(ways.values()) <= 10


def test_shipped_book_is_sorted_and_mostly_single_words(book: list[Recipe]) -> None:
    assert book == sorted(book)
    assert all(a <= b for _, a, b in book)
    labels = {label for row in book for label in row}
    assert sum(" " in label for label in labels) <= 0.12 * len(labels)


def test_shipped_book_holds_table_3(book: list[Recipe]) -> None:
    made = {(result, *sorted((a, b))) for result, a, b in book}
    wanted = set()
    for line in TABLE_3.strip().splitlines():
        result, combinations = line.split(": ")
        for combination in combinations.split(", "):
            wanted.add((result, *sorted(combination.split(" + "))))
    assert len(wanted) == 52
    assert wanted <= made


def test_clean_rows_have_no_problem() -> None:
    assert check_recipes(CLEAN) == []
    assert basic_entities(CLEAN) == ("air", "earth", "fire", "water")
    counts = count_recipes([*CLEAN, ("fog", "fire", "water"), ("lake", "water", "water")])
    assert str(counts) == ("10 entities, 6 recipes, 4 basic, 5 terminals, 1 ambiguous pairs, 1 self-combinations")


def test_finds_duplicate_in_either_order() -> None:
    problems = check_recipes([*CLEAN, ("steam", "water", "fire")])
    assert [(problem.kind, problem.row) for problem in problems] == [("duplicate", 4)]


def test_finds_own_result_among_ingredients() -> None:
    assert kinds([*CLEAN, ("mud", "mud", "water")]) == ["own result"]


def test_finds_words_out_of_reach() -> None:
    problems = check_recipes([*CLEAN, ("hen", "egg", "fire"), ("egg", "hen", "air")])
    assert [problem.kind for problem in problems] == ["unreachable", "unreachable"]
    assert "'hen'" in problems[0].message
    assert "'egg'" in problems[1].message


def test_finds_too_few_and_too_many_basic_words() -> None:
    assert kinds(CLEAN[:2]) == ["basic"]
    many: list[Recipe] = [("all", "water", f"word{letter}") for letter in "abcdefghijkl"]
    assert kinds(many) == ["basic"]


@pytest.mark.parametrize("label", ["Steam", "hot  spring", " steam", "steam ", "steam2", "co_op", "-ray", "x--ray"])
def test_finds_malformed_labels(label: str) -> None:
    assert "label" in kinds([*CLEAN, (label, "air", "mud")])


@pytest.mark.parametrize("label", ["x-ray", "jack o'lantern", "hot spring"])
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
        ("steam\tfire\twater\tearth", "4 columns"),
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
    with pytest.raises(InputError, match="holds no recipe"):
        read_recipes_tsv(empty)


def test_command_prints_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*CLEAN, ("mud", "mud", "water")]
    file = write(tmp_path, *("\t".join(row) for row in rows))
    assert main([str(file)]) == 2
    assert f"{file}:6: own result: 'mud'" in capsys.readouterr().err
    assert main([str(write(tmp_path, "steam\tfire"))]) == 2
    assert ":2: 2 columns" in capsys.readouterr().err


def test_command_runs_as_module() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "gumption.data.recipe_check", str(BOOK)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert re.search(r"\d+ entities, \d+ recipes, \d+ basic, \d+ terminals", result.stdout)
