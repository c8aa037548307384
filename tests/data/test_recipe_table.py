"""Recipe books out of people's own tables: what is read, what is left out, and what is wrong in which line."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.data.recipe_files import read_recipe_table
from gumption.envs.wordcraft import RecipeBook
from gumption.scripts import data as command

HOUSE = """makes,first,second,note
Tea,water,tea leaves,
"toast, buttered",toast,butter,hot
toast,bread,fire,
toast,fire,bread,again
stew,stew,water,
colour,pot,water,
color,pot,fire,
"""


def recipes(path: Path, text: str | bytes, *options: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr, or the message, of `gumption data recipes`."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = CliRunner().invoke(command.app, ["recipes", str(path), "--out", str(path.with_name("book.tsv")), *options])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        assert isinstance(done.exception, InputError)
        return 2, done.stdout, str(done.exception)
    return done.exit_code, done.stdout, done.stderr


def test_a_book_is_made_and_told_about(tmp_path: Path) -> None:
    code, out, err = recipes(tmp_path / "house.csv", HOUSE, "--columns", "makes,first,second")
    assert code == 0
    assert out == (
        f"{tmp_path}/book.tsv: 11 entities, 6 of them made by no recipe; 5 recipes; 5 tasks of depth 1\n"
    )  # fmt: skip
    lines = [line.removeprefix(f"note: {tmp_path}/house.csv:") for line in err.splitlines()]
    assert lines[0] == "5: duplicate: fire + bread -> toast is there already, first as recipe 3; left out"
    assert lines[1] == "6: own result: 'stew' is among its own ingredients; left out"
    assert lines[-1] == "8: spelling: 'color' and 'colour' look like one word in two spellings; keep one"
    text = (tmp_path / "book.tsv").read_text()
    assert text.startswith("result\tingredient\tingredient\nTea\twater\ttea leaves\ntoast, buttered\ttoast\tbutter\n")
    book = RecipeBook.load(tmp_path / "book.tsv")
    assert len(book) == 5
    assert book.label(book.products(book.entity_id("bread"), book.entity_id("fire"))[0] + 1) == "toast"


ZOO = """makes,first,second,origin
water bird,bird,water,family:habitat
water bird,bat,water,family:habitat
bird,egg,sun,own
egg,bird,sun,paper
bat (sport),wood,handel,family:tool
fish,water,water bird,
"""


def test_all_that_is_a_fault_in_any_book_is_told(tmp_path: Path) -> None:
    families = tmp_path / "families.tsv"
    families.write_text("family\trule\nhabitat\ta place + an animal = an animal of that place\ntaming\t\n")
    text = ZOO.replace("water bird,\n", "water bird,own\n")
    code, out, err = recipes(
        tmp_path / "zoo.csv", text, "--columns", "makes,first,second,origin", "--families", str(families)
    )
    assert code == 0
    assert "6 recipes" in out
    told = [line.removeprefix(f"note: {tmp_path}/") for line in err.splitlines()]
    for line in (
        "zoo.csv:2: unreachable: 'bird' cannot be made from the basic entities",
        "zoo.csv:5: backward: bird + sun -> egg, and egg + sun -> bird: keep one way of the two",
        "zoo.csv:6: orphan: nothing makes 'handel', and wood + handel -> bat (sport) alone uses it",
        "zoo.csv:3: sense: 'bat' stands beside 'bat (sport)': say which is meant",
        "zoo.csv:6: family: 'tool' is a family without a rule",
        "families.tsv: family: 'taming' is a family without a rule",
        "families.tsv: family: 'taming' is a family without members",
    ):
        assert line in told, (line, told)
    assert RecipeBook.load(tmp_path / "book.tsv").origins is not None
    assert (tmp_path / "book.tsv").read_text().splitlines()[1] == "water bird\tbird\twater\tfamily:habitat"
    with_gap = recipes(tmp_path / "zoo.csv", ZOO, "--columns", "makes,first,second,origin")
    assert "zoo.csv:7: the cell of the origin, column 4 (origin), is empty" in with_gap[2]
    lost = recipes(tmp_path / "zoo.csv", text, "--columns", "1,2,3", "--header")
    assert RecipeBook.load(tmp_path / "book.tsv").origins is None, lost


def test_an_ingredient_that_the_product_alone_makes_is_told(tmp_path: Path) -> None:
    text = "product,a,b\nbrick,mud,fire\ntower,brick,brick\nhill,tower,mud\nbrick,hill,fire\n"
    _, _, err = recipes(tmp_path / "x.csv", text)
    assert "x.csv:5: circular: hill + fire -> brick: nothing makes 'hill' without 'brick'" in err


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("x.csv", "product,ingredient 1,ingredient 2\nmud, water ,earth\n\nsteam,water,fire\n", ()),
        ("x.csv", "\ufeffIngredient 2,Result,Ingredient 1,n\nearth,mud,water,1\nfire,steam,water,2\n", ()),
        ("x.csv", "result,ingredient,ingredient\r\nmud,water,earth\r\nsteam,water,fire\r\n", ()),
        ("x.csv", "a,b,makes\nwater,earth,mud\nwater,fire,steam\n", ("--columns", "3,1,2", "--header")),
        ("x.csv", "mud,water,earth\nsteam,water,fire\n", ("--no-header",)),
        ("x.tsv", "mud\twater\tearth\nsteam\twater\tfire\n", ("--no-header",)),
        ("x.csv", "product;ingredient 1;ingredient 2\nmud;water;earth\nsteam;water;fire\n", ()),
        ("x.txt", "result\tingredient\tingredient\r\nmud\twater\tearth\r\nsteam\twater\tfire\r\n", ()),
    ],
)
def test_tables_of_all_kinds(tmp_path: Path, name: str, text: str, options: tuple[str, ...]) -> None:
    assert recipes(tmp_path / name, text, *options)[0] == 0
    expected = "result\tingredient\tingredient\nmud\twater\tearth\nsteam\twater\tfire\n"
    assert (tmp_path / "book.tsv").read_text() == expected


def test_a_csv_file_is_a_book_too(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("product,ingredient 1,ingredient 2\nmud,water,earth\nsteam,water,fire\n")
    (tmp_path / "own.tsv").write_text("result\tingredient\tingredient\nmud\twater\tearth\nsteam\twater\tfire\n")
    assert RecipeBook.load(tmp_path / "own.csv") == RecipeBook.load(tmp_path / "own.tsv")
    (tmp_path / "own.csv").write_text("mud,water,earth\n")
    with pytest.raises(InputError, match=r"own\.csv:1: mud, water, earth may be a header\. Say"):
        RecipeBook.load(tmp_path / "own.csv")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "mud,water,earth\n",
            (),
            "x.csv:1: mud, water, earth may be a header. Say whether it is one: --header or --no-",
        ),
        ("a,b,c\n", ("--columns", "a,b,d"), "x.csv:1: there is no column 'd'"),
        ("a,b,c\n", ("--columns", "a\nb"), "the columns are 'a\\nb': give the names of 3 different ones"),
        ("product,a,b,c\n", (), "x.csv:1: the header is product, a, b, c: say which columns are product, first ingr"),
        ("product,a,b\nmud,water\nmud,water, \n", (), "2 rows of {path} are no recipes:\n{path}:2: 2 cells where"),
        ("product,a,b\nmud,water\nmud,water, \n", (), "{path}:3: the cell of the second ingredient, column 3 (b), is"),
        ('product,a,b\nmud,"wa\nter",b\n', (), "{path}:2: the label 'wa\\nter' holds a tab or a line break"),
        (b"product,a,b\nmud,\xff,b\n", (), "{path}:2: the text is not UTF-8"),
        ('product,a,b\nmud,"x"y,b\n', (), "{path}:2: not a row of CSV"),
        ("product,a,b\n" + "x\n" * 30, (), "... and 10 more"),
        ("product,a,b\n", (), "x.csv: holds no recipe"),
        ("", (), "x.csv: holds no recipe"),
        ("product,a,b\nmud,mud,b\n", (), "no recipe makes anything new"),
        ("product,a,b\nmud,x,b\n", ("--out", "book.nq"), "cannot write book.nq: choose a name that ends in .tsv"),
    ],
)
def test_what_is_wrong_is_told_and_no_book_is_left(tmp_path: Path, text, options, message: str) -> None:
    path = tmp_path / "x.csv"
    code, out, told = recipes(path, text, *options)
    assert (code, out) == (2, "")
    assert message.format(path=path) in told
    assert [each.name for each in tmp_path.iterdir()] == ["x.csv"]


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read \(No such file"):
        read_recipe_table(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"a table of recipes ends in \.csv, \.tsv, \.txt"):
        read_recipe_table(tmp_path / "x.json")
    (tmp_path / "x.tsv").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8 text"):
        read_recipe_table(tmp_path / "x.tsv")
    text = "result\tingredient\tingredient\nmud\twater\tearth\n"
    assert re.search("the command reads it", recipes(tmp_path / "book.tsv", text)[2])
    assert (tmp_path / "book.tsv").read_text() == text
