import re
import subprocess
import sys
from pathlib import Path

import pytest

import gumption.envs.wordcraft
from gumption.data import InputError
from gumption.envs.wordcraft import facts, recipe_facts
from gumption.envs.wordcraft.splits import PARTS
from gumption.kg import KnowledgeGraph
from gumption.kg.store.shapes import Report, Violation, validate

SHAPES = Path(gumption.envs.wordcraft.__file__).with_name("shapes.ttl")
ENTITY = (
    "an entity is a name and no recipe, and has the relations combinesWith, componentOf and those of commonsense only"
)
INGREDIENTS = "a recipe has one or two ingredients, and they are entities"
PRODUCT = "a recipe has a product, and it is an entity"
RECIPE = "a recipe is a node recipe:A+B that has ingredients and products only"
BOTH_WAYS = "combinesWith holds in both directions"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "book.tsv"
    path.write_text("result\tingredient\tingredient\nsteam\tfire\twater\nenergy\tfire\tfire\nrain\tcloud\twater\n")
    return path


@pytest.fixture
def world(book: Path) -> KnowledgeGraph:
    graph = KnowledgeGraph()
    graph.add(facts(book, partition="all"), graph="wordcraft/all")
    graph.add(recipe_facts(book, partition="all"), graph="wordcraft/all/recipes")
    return graph


def test_what_the_world_states_has_its_shapes(world):
    assert validate(world, SHAPES) == Report(True, 9, [])
    assert validate(world, SHAPES, "wordcraft/all").conforms
    assert validate(world, SHAPES, "wordcraft/all/recipes").checked == 3


@pytest.mark.slow
@pytest.mark.parametrize("split", ["by_recipe", "by_goal"])
def test_so_do_the_parts_of_the_shipped_book(split):
    graph = KnowledgeGraph()
    for part in PARTS:
        graph.add(facts(partition=part, split=split), graph=part)
        graph.add(recipe_facts(partition=part, split=split), graph=f"{part}/recipes")
    report = validate(graph, SHAPES)
    assert report.violations == []
    assert report.checked > 2000


@pytest.mark.parametrize(
    ("fact", "violations"),
    [
        (
            ("fire", "combinesWith", "mud"),
            [("fire", "^combinesWith", "mud", BOTH_WAYS), ("mud", "^combinesWith", "fire", BOTH_WAYS)],
        ),
        (("fire", "likes", "mud"), [("fire", "likes", "mud", ENTITY)]),
        (("fire", "componentOf", '"steam"@en'), [('"steam"@en', "", '"steam"@en', ENTITY)]),
        (("fire", "componentOf", "recipe:a+b"), [("recipe:a+b", "", "recipe:a+b", ENTITY)]),
        (("recipe:fire+water", "hasIngredient", "ice"), [("recipe:fire+water", "hasIngredient", "", INGREDIENTS)]),
        (("recipe:ice+snow", "hasProduct", "sleet"), [("recipe:ice+snow", "hasIngredient", "", INGREDIENTS)]),
        (("recipe:ice+snow", "hasIngredient", "ice"), [("recipe:ice+snow", "hasProduct", "", PRODUCT)]),
        (("recipe:fire+fire", "hasProduct", '"5"'), [("recipe:fire+fire", "hasProduct", '"5"', PRODUCT)]),
        (("recipe:fire+fire", "takes", "fire"), [("recipe:fire+fire", "takes", "fire", RECIPE)]),
    ],
)  # fmt: skip
def test_a_fact_that_does_not_fit_is_found(world, fact, violations):
    world.add([fact], graph="wrong")
    report = validate(world, SHAPES)
    assert not report.conforms
    assert report.violations == [Violation(*parts, "Violation") for parts in violations]


@pytest.mark.parametrize("ending", ["ttl", "nt", "rdf"])
def test_what_is_exported_has_them_too(world, tmp_path, ending):
    """For pyshacl itself, which sees the names' labels and the licences among the facts."""
    world.annotate("wordcraft/all", {"license": "CC0-1.0"})
    world.save(tmp_path / f"x.{ending}", labels=True)
    assert "rdf" in (tmp_path / f"x.{ending}").read_text()
    assert _pyshacl(tmp_path / f"x.{ending}") == 0
    world.add([("fire", "likes", "mud")], graph="wrong")
    world.save(tmp_path / f"x.{ending}")
    assert _pyshacl(tmp_path / f"x.{ending}") == 1


def _pyshacl(file: Path) -> int:
    command = [sys.executable, "-m", "pyshacl", "--shacl", str(SHAPES), str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False).returncode


def test_shapes_of_other_kinds(tmp_path):
    """Classes as targets, a warning, and a class that is a shape itself."""
    (tmp_path / "x.ttl").write_text("""
        @prefix sh: <http://www.w3.org/ns/shacl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        <urn:shape> a sh:NodeShape ; sh:targetClass <http://x.org/Thing> ;
            sh:property [ sh:path <http://x.org/p> ; sh:minCount 1 ; sh:severity sh:Warning ; sh:message "p" ] .
        <http://x.org/Other> a sh:NodeShape, rdfs:Class ;
            sh:property [ sh:path <http://x.org/p> ; sh:minCount 1 ; sh:message "other p" ] .
    """)
    is_a = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    graph = KnowledgeGraph()
    graph.add([("a", is_a, "http://x.org/Thing"), ("b", is_a, "http://x.org/Other")])
    report = validate(graph, tmp_path / "x.ttl")
    assert report.checked == 2
    assert report.violations == [
        Violation("a", "http://x.org/p", "", "p", "Warning"),
        Violation("b", "http://x.org/p", "", "other p", "Violation"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("@prefix sh: <x> .\n\noops", "x.ttl:3: the shapes are not Turtle"),
        ("<urn:a> <urn:b> <urn:c> .", "x.ttl has no shapes"),
        (
            "@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:s> a sh:NodeShape ; "
            "sh:targetSubjectsOf <urn:gumption:relation:componentOf> ; sh:pattern 3 , 4 ; sh:minLength 'x', 'y' .",
            "x.ttl: these shapes cannot be used: ",
        ),
        (
            "@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:s> a sh:NodeShape ; sh:targetNode <urn:none> .\n"
            "<urn:t> a sh:NodeShape ; sh:targetSubjectsOf <urn:nothing> .",
            None,
        ),
    ],
)
def test_shapes_that_cannot_be_used(world, tmp_path, content, message):
    (tmp_path / "x.ttl").write_text(content)
    if message is None:
        assert validate(world, tmp_path / "x.ttl").checked == 1
        return
    with pytest.raises(InputError, match=re.escape(message)):
        validate(world, tmp_path / "x.ttl")


def test_shapes_that_speak_of_nothing(tmp_path, world):
    graph = KnowledgeGraph()
    graph.add([("a", "b", "c")], graph="x")
    with pytest.raises(InputError, match="the shapes speak of nothing in this graph"):
        validate(graph, SHAPES)
    with pytest.raises(InputError, match="the shapes speak of nothing in the graph 'x'"):
        validate(graph, SHAPES, "x")
    with pytest.raises(InputError, match="unknown graph 'y'"):
        validate(graph, SHAPES, "y")
    with pytest.raises(InputError, match=r"cannot read the shapes .*none.ttl: No such file"):
        validate(world, tmp_path / "none.ttl")
