"""`gumption kg stats`, `draw` and `path`, as they are called."""

import json
from pathlib import Path

import pytest

from gumption.kg import KnowledgeGraph

BOOK = """result\tingredient\tingredient
steam\tfire\twater
mud\tearth\twater
brick\tfire\tmud
cloud\tair\tsteam
acid rain\tcloud\tsmoke
smoke\tair\tfire
pond\tlake\twater
lake\tpond\twater
wall\tbrick\tbrick
"""


@pytest.fixture
def gumption(gumption, tmp_path: Path):
    """`gumption kg` in a folder with kg.nq, the graph of BOOK."""
    (tmp_path / "book.tsv").write_text(BOOK)
    gumption.ok("build", "wordcraft", "--recipe-book", "book.tsv", "--out", "kg.nq")
    return gumption


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.strip("│").split("│")] for row in table.splitlines() if row.startswith("│")]


def test_stats_leave_recipe_nodes_out_and_tell_the_depth(gumption):
    out = gumption.ok("stats", "kg.nq", "--top", "2")
    assert cells(out) == [
        ["combinesWith", "17", "11", "11", "1.55", "1.55", "N-N", "100%"],
        ["componentOf", "17", "11", "9", "1.55", "1.89", "N-N", "12%"],
        ["water", "4", "8"],
        ["fire", "3", "6"],
        ["0", "4"],
        ["1", "3"],
        ["2", "2"],
        ["3", "2"],
        ["never", "2"],
    ]
    captions = " ".join(out.split())  # they are as wide as their tables
    assert "34 facts, 13 entities, 2 relations, 1 component, the largest with 13 entities" in captions
    assert "9 recipes of 13 things from air, earth, fire, water" in captions


def test_stats_as_json(gumption):
    found = json.loads(gumption.ok("stats", "kg.nq", "--top", "1", "--json"))
    assert list(found) == ["facts", "entities", "relations", "components", "degrees", "top", "recipes"]
    assert found["components"] == {"count": 1, "sizes": {"13": 1}}
    assert sum(int(degree) * count for degree, count in found["degrees"]["in"].items()) == found["facts"]
    assert found["top"] == [{"entity": "water", "in": 4, "out": 8}]
    assert found["recipes"] == {
        "recipes": 9,
        "things": 13,
        "basic": ["air", "earth", "fire", "water"],
        "depth": {"0": 4, "1": 3, "2": 2, "3": 2},
        "unreachable": ["lake", "pond"],
    }
    given = json.loads(gumption.ok("stats", "kg.nq", "--basic", "water", "--basic", "lake", "--json"))
    assert given["recipes"]["basic"] == ["lake", "water"]
    assert given["recipes"]["depth"] == {"0": 2, "1": 1}


def test_stats_of_one_graph_of_a_graph_without_recipes_and_with_an_inverse(gumption, tmp_path):
    nodes = json.loads(gumption.ok("stats", "kg.nq#wordcraft/all/recipes", "--json"))
    assert [row["relation"] for row in nodes["relations"]] == ["hasIngredient", "hasProduct"]
    assert nodes["recipes"]["things"] == 13
    graph = KnowledgeGraph()
    graph.add([("ann", "parentOf", "cid"), ("cid", "childOf", "ann"), ("[red]x[/red]", "childOf", "bob")])
    graph.save(tmp_path / "family.nq")
    out = gumption.ok("stats", "family.nq")
    assert cells(out)[1] == ["parentOf", "1", "1", "1", "1.00", "1.00", "1-1", "0%"]
    assert cells(out)[2:4] == [["childOf", "parentOf", "50%"], ["parentOf", "childOf", "100%"]]
    assert "[red]x[/red]" in out
    assert "recipes" not in out


def test_a_folder_is_read_while_another_has_it_open(gumption, tmp_path):
    with KnowledgeGraph(tmp_path / "graph") as held:
        held.add([("fire", "componentOf", "steam")])
        found = json.loads(gumption.ok("path", "graph", "--from", "steam", "--to", "fire", "--json"))
    assert found["steps"] == [[["fire", "componentOf", "steam"]]]


def test_stats_draw_a_picture(gumption, tmp_path):
    gumption.ok("stats", "kg.nq", "--plot", "plots/s.png", "--json")
    assert (tmp_path / "plots/s.png").stat().st_size > 10_000


@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_draw(gumption, tmp_path, ending):
    out = gumption.ok("draw", "kg.nq", "--around", "steam", "--hops", "1", "--out", f"steam.{ending}")
    assert out == f"5 entities and 10 facts drawn to steam.{ending}\n"
    if ending != "png":
        text = (tmp_path / f"steam.{ending}").read_text(encoding="utf-8")
        assert "cloud" in text
        assert "recipe:" not in text


def test_draw_tells_what_it_left_out(gumption):
    out = gumption.ok("draw", "kg.nq", "--around", "fire", "--hops", "2", "--max-nodes", "4", "--out", "x.svg")
    assert out.startswith("4 entities and ")
    assert out.endswith("drawn to x.svg, 9 more entities left out (--max-nodes)\n")
    nodes = gumption.ok("draw", "kg.nq#wordcraft/all/recipes", "--around", "recipe:fire+water", "--out", "x.svg")
    assert nodes == "4 entities and 3 facts drawn to x.svg\n"


def test_path_to_a_goal(gumption):
    out = gumption.ok("path", "kg.nq", "--goal", "acid rain")
    assert cells(out) == [
        ["1", "air + fire", "smoke", "1"],
        ["2", "fire + water", "steam", "1"],
        ["3", "air + steam", "cloud", "2"],
        ["4", "cloud + smoke", "acid rain", "3"],
    ]
    assert "4 combinations; no way is shorter" in out
    found = json.loads(gumption.ok("path", "kg.nq", "--goal", "wall", "--json"))
    assert found["minimal"] is True
    assert found["steps"][-1] == {"ingredients": ["brick", "brick"], "product": "wall", "generation": 3}
    given = json.loads(gumption.ok("path", "kg.nq", "--goal", "wall", "--basic", "brick", "--quick", "--json"))
    assert [step["product"] for step in given["steps"]] == ["wall"]
    assert gumption.ok("path", "kg.nq", "--goal", "fire") == "fire is a basic entity: there is nothing to combine\n"


def test_a_quick_path_says_what_is_not_proven(gumption, tmp_path):
    rows = [("s", "s", "p"), ("s", "s", "q"), ("s", "s", "r"), ("f", "w", "s1"), ("s1", "f", "s2"), ("s2", "f", "s")]
    for x in "pqr":
        rows += [(f"{x}0", "f", f"{x}1"), (f"{x}1", "f", f"{x}2"), (f"{x}2", "f", x)]
    rows += [("p", "q", "t"), ("t", "r", "goal")]
    graph = KnowledgeGraph()
    for number, (a, b, c) in enumerate(rows):
        node = f"recipe {number}"
        graph.add([(node, "hasIngredient", a), (node, "hasIngredient", b), (node, "hasProduct", c)])
    graph.save(tmp_path / "shared.nq")
    quick = gumption.ok("path", "shared.nq", "--goal", "goal", "--quick")
    assert "11 combinations; any way has at least 5" in quick


def test_path_between_entities(gumption):
    out = gumption.ok("path", "kg.nq", "--from", "wall", "--to", "acid rain")
    assert cells(out) == [
        ["1", "wall", "<-componentOf--", "brick"],
        ["2", "brick", "<-componentOf--", "fire"],
        ["3", "fire", "--componentOf->", "smoke"],
        ["4", "smoke", "--componentOf->", "acid rain"],
    ]
    assert "4 steps" in out
    found = json.loads(gumption.ok("path", "kg.nq", "--from", "fire", "--to", "steam", "--json"))
    assert found == {"from": "fire", "to": "steam", "steps": [[["fire", "componentOf", "steam"]]]}
    assert gumption.ok("path", "kg.nq", "--from", "fire", "--to", "fire") == "fire is where the path begins and ends\n"


@pytest.mark.parametrize("command", ["stats", "draw", "path"])
def test_the_help_ends_with_an_example(gumption, command):
    assert f"Example: gumption kg {command} runs/kg.nq" in gumption.ok(command, "--help")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("stats", "none.nq"), "there is no graph at none.nq"),
        (("stats", "empty.nq"), "empty.nq has no facts"),
        (("stats", "kg.nq", "--plot", "s.html"), "cannot write s.html: choose a name that ends in .png or .svg"),
        (("stats", "kg.nq", "--basic", "watr", "--plot", "s.svg"), "unknown entity 'watr': did you mean 'water'"),
        (("stats", "family.nq", "--basic", "ann"), "the graph has no recipes"),
        (("draw", "kg.nq", "--around", "steem", "--out", "x.svg"), "unknown entity 'steem': did you mean 'steam'"),
        (("draw", "empty.nq", "--around", "steam", "--out", "x.svg"), "empty.nq has no facts"),
        (
            ("draw", "kg.nq", "--around", "steam", "--out", "x.gif"),
            "cannot write x.gif: choose a name that ends in .svg",
        ),
        (("draw", "kg.nq", "--around", "steam", "--out", "x.svg", "--hops", "0"), "hops is 0"),
        (
            ("draw", "kg.nq", "--around", "steam", "--out", "x.svg", "--max-nodes", "1"),
            "--max-nodes is 1; it is a whole number from 2 to 300",
        ),
        (("draw", "kg.nq", "--around", "steam", "--out", "kg.nq/x.svg"), "cannot write kg.nq/x.svg"),
        (("path", "kg.nq"), "give either --goal, or --from and --to"),
        (("path", "kg.nq", "--from", "fire"), "give either --goal, or --from and --to"),
        (("path", "kg.nq", "--goal", "mud", "--to", "fire"), "give either --goal, or --from and --to"),
        (("path", "kg.nq", "--from", "fire", "--to", "mud", "--quick"), "--basic and --quick go with --goal"),
        (("path", "kg.nq", "--goal", "acid"), "unknown entity 'acid'"),
        (
            ("path", "kg.nq", "--goal", "pond"),
            "'pond' cannot be made from the basic entities (air, earth,",
        ),
        (("path", "kg.nq#wordcraft/all", "--goal", "mud"), "the graph has no recipes"),
        (("path", "empty.nq", "--goal", "mud"), "empty.nq has no facts"),
        (("path", "family.nq", "--from", "ann", "--to", "bob"), "they are in different components of the graph"),
        (("path", "family.nq", "--from", "ann", "--to", "cidd"), "unknown entity 'cidd': did you mean 'cid'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(gumption, tmp_path, arguments, message):
    KnowledgeGraph().save(tmp_path / "empty.nq")
    family = KnowledgeGraph()
    family.add([("ann", "parentOf", "cid"), ("bob", "childOf", "dee")])
    family.save(tmp_path / "family.nq")
    assert message in gumption.refused(*arguments)


def test_too_many_entities_for_a_picture_are_refused(gumption):
    code, _, err = gumption("draw", "kg.nq", "--around", "steam", "--out", "x.svg", "--max-nodes", "301")
    assert code == 2
    assert "--max-nodes is 301" in err
    assert "300" in err


def test_recipe_nodes_are_drawn_as_dots(gumption, tmp_path):
    out = gumption.ok("draw", "kg.nq#wordcraft/all/recipes", "--around", "mud", "--out", "mud.svg")
    assert out == "5 entities and 6 facts with 2 n-ary facts drawn to mud.svg\n"
    text = (tmp_path / "mud.svg").read_text()
    assert "recipe:" not in text
    assert text.count(">hasIngredient<") == 5  # four lines and the legend
    assert "n-ary" not in gumption.ok("draw", "kg.nq", "--around", "mud", "--out", "mud.svg")
