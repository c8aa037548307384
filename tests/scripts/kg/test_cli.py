"""`gumption kg`, as it is called: arguments in, text and exit code out."""

import json
from pathlib import Path

import pytest

from gumption.envs.wordcraft import facts, recipe_facts
from gumption.kg import KnowledgeGraph

BOOK = """result\tingredient\tingredient
steam\tfire\twater
mud\tearth\twater
brick\tfire\tmud
cloud\tair\tsteam
acid rain\tcloud\tsmoke
smoke\tair\tfire
lava\tearth\tfire
stone\tair\tlava
dust\tair\tearth
glass\tfire\tdust
"""


@pytest.fixture
def graph_file(tmp_path: Path) -> str:
    graph = KnowledgeGraph()
    graph.add([("fire", "componentOf", "steam"), ("cloud", "componentOf", "acid rain")], graph="wordcraft/train")
    graph.add([("earth", "componentOf", "[red]mud[/red]")], graph="wordcraft/test")
    graph.save(tmp_path / "kg.nq")
    return "kg.nq"


def test_build_states_each_part_in_its_own_graph(gumption, tmp_path):
    (tmp_path / "book.tsv").write_text(BOOK)
    out = gumption.ok(
        "build", "wordcraft", "--out", "runs/kg.nq", "--recipe-book", "book.tsv", "--partition", "train",
        "--partition", "test", "--train-ratio", "0.7", "--split-seed", "3", "--json",
    )  # fmt: skip
    graph = KnowledgeGraph.load(tmp_path / "runs/kg.nq")
    assert json.loads(out) == {"out": "runs/kg.nq", "graphs": graph.graphs()}
    how = {"recipe_book": tmp_path / "book.tsv", "train_ratio": 0.7, "split_seed": 3}
    for part in ("train", "test"):
        assert list(graph.triples(graph=f"wordcraft/{part}")) == list(facts(partition=part, **how))
        assert list(graph.triples(graph=f"wordcraft/{part}/recipes")) == list(recipe_facts(partition=part, **how))
    default = list(facts(tmp_path / "book.tsv", partition="train"))
    assert list(graph.triples(graph="wordcraft/train")) != default


@pytest.mark.slow
def test_the_validation_part_can_be_a_part_of_training(gumption, tmp_path):
    def built(name, *parts):
        options = [word for part in ("train", "test", *parts) for word in ("--partition", part)]
        fit = () if parts else ("--fit-validation",)
        gumption.ok("build", "wordcraft", "--out", name, *options, *fit)
        graph = KnowledgeGraph.load(tmp_path / name)
        return {part: set(graph.triples(graph=f"wordcraft/{part}")) for part in ("train", "validation", "test")}, graph

    plain, _ = built("plain.nq")
    parts, graph = built("kg.nq", "validation")
    assert list(graph.graphs()) == [
        f"wordcraft/{part}{end}" for part in ("test", "train", "validation") for end in ("", "/recipes")
    ]
    assert parts["test"] == plain["test"]
    assert not parts["train"] & parts["validation"]
    assert parts["train"] | parts["validation"] == plain["train"]
    assert 0.1 < len(parts["validation"]) / len(plain["train"]) < 0.2


def test_build_into_a_folder(gumption, tmp_path):
    (tmp_path / "book.tsv").write_text(BOOK)
    table = gumption.ok("build", "wordcraft", "--out", "runs/kg", "--recipe-book", "book.tsv")
    assert "wordcraft/all/recipes" in table
    assert "written to runs/kg" in table
    asked = ("SELECT ?x { ?x gum:componentOf ?goal }", "--bind", "goal=acid rain", "--json")
    assert json.loads(gumption.ok("query", "runs/kg", *asked)) == [{"x": "cloud"}, {"x": "smoke"}]


def test_query_answers_as_a_table_or_as_json(gumption, graph_file):
    select = "SELECT ?x ?g { GRAPH ?g { ?x gum:componentOf ?goal } }"
    table = gumption.ok("query", graph_file, select)
    assert "cloud" in table
    assert "wordcraft/test" in table
    assert "3 rows" in table
    rows = gumption.ok(
        "query", graph_file, select, "--bind", "goal=acid rain", "--bind", "?g=wordcraft/train", "--json"
    )
    assert json.loads(rows) == [{"x": "cloud", "g": "wordcraft/train"}]
    assert gumption.ok("query", graph_file, "ASK { ent:fire gum:componentOf ent:steam }") == "yes\n"
    assert gumption.ok("query", graph_file, "ASK { ent:steam gum:componentOf ent:fire }") == "no\n"
    assert gumption.ok("query", graph_file, "ASK { ?s ?p ?o }", "--json") == "true\n"
    said = "nothing found\nunknown relation 'componentof': did you mean 'componentOf'?\n"
    assert gumption.ok("query", graph_file, "SELECT ?x { ?x gum:componentof ?y. ?x gum:componentOf ?z }") == said
    near = "unknown relation 'componentof': did you mean 'componentOf'?\n"
    assert gumption.ok("query", graph_file, "ASK { ?x (gum:makes|^gum:componentof)+ ?y }").endswith(near)
    by_iri = "PREFIX r: <urn:gumption:relation:> SELECT ?x { ?x r:componentof ?y }"
    assert gumption.ok("query", graph_file, by_iri) == said
    counted = "SELECT (COUNT(*) AS ?n) { ?x <urn:gumption:relation:componentof> ?y }"
    assert gumption.ok("query", graph_file, counted).endswith(f"1 row\n{near}")
    construct = "CONSTRUCT { ?y gum:madeOf ?x } WHERE { ?x gum:componentOf ?y }"
    table = gumption.ok("query", graph_file, construct)
    assert "3 facts" in table
    assert "[red]mud[/red]" in table
    assert ["steam", "madeOf", "fire"] in json.loads(gumption.ok("query", graph_file, construct, "--json"))


def test_export_one_graph_or_all(gumption, graph_file, tmp_path):
    assert gumption.ok("export", graph_file, "--out", "all.tsv") == "3 facts written to all.tsv\n"
    out = gumption.ok("export", f"{graph_file}#wordcraft/test", "--out", "test.trig")
    assert out == "1 fact written to test.trig\n"
    assert (tmp_path / "all.tsv").read_text().splitlines()[0] == "earth\tcomponentOf\t[red]mud[/red]\twordcraft/test"
    assert KnowledgeGraph.load(tmp_path / "test.trig").graphs() == {"wordcraft/test": 1}


def test_fit_predict_evaluate(gumption, tmp_path):
    (tmp_path / "book.tsv").write_text(BOOK)
    gumption.ok("build", "wordcraft", "--out", "kg.nq", "--recipe-book", "book.tsv")
    settings = ("--rank", "16", "--epochs", "60", "--batch-size", "32", "--learning-rate", "0.2", "--n3", "0.001")
    out = gumption.ok("fit", "kg.nq", "--out", "model", *settings, "--no-reciprocal", "--seed", "1", "--device", "cpu")
    assert out.startswith("fitted on wordcraft/all: 40 facts")
    assert out.endswith("written to model\n")
    asked = ("predict", "model", "--subject", "fire", "--relation", "componentOf", "-k", "3")
    found = json.loads(gumption.ok(*asked, "--json"))
    assert len(found) == 3
    assert set(found[0]) == {"label", "score", "probability"}
    assert found[0]["label"] in {"steam", "brick", "smoke", "lava", "glass"}
    assert found[0]["label"] in gumption.ok(*asked)
    subjects = json.loads(gumption.ok("predict", "model", "--object", "mud", "--relation", "componentOf", "--json"))
    assert {row["label"] for row in subjects[:2]} == {"earth", "water"}
    test = ("--test", "kg.nq#wordcraft/all")
    code, out, err = gumption("evaluate", "model", *test, "--known", "kg.nq", "--json")
    figures = json.loads(out)
    assert (code, figures["trained_on"]) == (0, 40)
    assert err.startswith("note: 40 of the 40 test facts are training facts of the model")
    assert figures["facts"] == len(list(facts(tmp_path / "book.tsv", partition="all")))
    assert figures["mrr"] > 0.8
    assert "hits@10" in gumption("evaluate", "model", *test)[1]


def test_fitting_again_gives_the_same_model(gumption, graph_file, tmp_path):
    for name in ("one", "two", "other"):
        seed = "5" if name == "other" else "4"
        settings = ("--epochs", "2", "--rank", "4", "--seed", seed, "--device", "cpu")
        gumption.ok("fit", f"{graph_file}#wordcraft/train", "--out", name, *settings)
    scores = [
        gumption.ok("predict", name, "--subject", "fire", "--relation", "componentOf", "--json")
        for name in ("one", "two", "other")
    ]
    assert scores[0] == scores[1]
    assert scores[0] != scores[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("query", "none.nq", "ASK {}"), "there is no graph at none.nq: make one with `gumption kg build`"),
        (("query", "kg.nq", "SELECT ?x {"), "SPARQL syntax error at line 1, column 12"),
        (("query", "kg.nq", "ASK { ?s ?p ?o }", "--bind", "goal"), "--bind 'goal': expected VARIABLE=LABEL"),
        (("query", "kg.nq", "ASK { ?s ?p ?o }", "--bind", "x=y"), "the query has no variable ?x to bind"),
        (("query", "kg.nq#wordcraft/test", "ASK {}"), "a query sees all graphs: leave out #wordcraft/test"),
        (("query", "kg.nq#", "ASK {}"), "kg.nq#: the name of a graph is missing after #"),
        (("export", "kg.nq", "--out", "x.xlsx"), "x.xlsx: a graph's file ends in"),
        (("export", "kg.nq#wordcraft/tset", "--out", "x.nq"), "unknown graph 'wordcraft/tset': did you mean"),
        (("fit", "kg.nq", "--out", "m"), "kg.nq has several graphs (wordcraft/test, wordcraft/train): name one, as in"),
        (("fit", "empty.nq", "--out", "m"), "empty.nq has no facts"),
        (("fit", "kg.nq", "--out", "empty.nq"), "cannot write empty.nq: it is a file; name a folder"),
        (("evaluate", "m", "--test", "kg.nq"), "kg.nq has several graphs (wordcraft/test, wordcraft/train): name one"),
        (("evaluate", "m", "--test", "kg.nq#x"), "unknown graph 'x'"),
        (("evaluate", "m", "--test", "kg.nq#wordcraft/test", "--known", "none.nq"), "there is no graph at none.nq"),
        (("predict", "m", "--relation", "componentOf"), "give either --subject or --object"),
        (("build", "wordcraft", "--out", "x.nq", "--partition", "dev"), "--partition 'dev' is not one of all"),
        (
            ("build", "wordcraft", "--out", "x.nq", "--split", "dev", "--partition", "test"),
            "--split is 'dev'; it can be by_recipe",
        ),
        (
            ("build", "wordcraft", "--out", "x.nq", "--partition", "validation", "--fit-validation"),
            "the split 'by_recipe' has no validation part: it is a part of training here",
        ),
        (("build", "wordcraft", "--out", "x.xlsx"), "x.xlsx: a graph's file ends in"),
        (("build", "wordcraft", "--out", "x.nq", "--recipe-book", "none.tsv"), "none.tsv"),
        (
            ("build", "wordcraft", "--out", "x.nq", "--update", "http://x.org"),
            "update='http://x.org' goes with the http",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(gumption, graph_file, tmp_path, arguments, message):
    KnowledgeGraph().save(tmp_path / "empty.nq")
    assert message in gumption.refused(*arguments)
