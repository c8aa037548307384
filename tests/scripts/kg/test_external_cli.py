"""`gumption kg import` and `gumption kg link`, as they are called."""

import json
from pathlib import Path

import pytest

from gumption.kg import KnowledgeGraph
from gumption.kg.sources.external import CONCEPTNET

DETAILS = json.dumps({"weight": 2.0, "license": "cc:by/4.0"})
ASSERTIONS = f"""a\t/r/IsA\t/c/en/ice_cream\t/c/en/dessert\t{DETAILS}
b\t/r/UsedFor\t/c/en/yard\t/c/en/playing\t{DETAILS}
c\t/r/IsA\t/c/fr/glace\t/c/fr/dessert\t{DETAILS}
"""
TAB = "ice_cream\tisa\tdessert\nyard\tusedfor\tplaying\ntrain\tisa\tvehicle\nwolf\tisa\tanimal\n"
BOOK = "result\tingredient\tingredient\ntrainyard\tice cream\twolves\nxyzzy\ttrainyard\tice cream\n"


@pytest.fixture
def gumption(gumption, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """`gumption kg` in a folder with the files above."""
    monkeypatch.setenv("GUMPTION_DATA_DIR", str(tmp_path / "cache"))
    for name, text in (("assertions.csv", ASSERTIONS), ("part.tsv", TAB), ("book.tsv", BOOK)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return gumption


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.strip("│").split("│")] for row in table.splitlines() if row.startswith("│")]


def test_import_conceptnet_into_a_file_keeps_what_was_in_it(gumption, tmp_path):
    gumption.ok("build", "wordcraft", "--recipe-book", "book.tsv", "--out", "kg.nq")
    out = gumption.ok("import", "conceptnet", "assertions.csv", "--out", "kg.nq")
    assert cells(out) == [
        ["conceptnet", "lines read", "3"],
        ["", "dropped: not in en", "1"],
        ["", "kept", "2"],
        ["", "new facts", "2"],
    ]
    graph = KnowledgeGraph.load(tmp_path / "kg.nq")
    assert graph.graphs().keys() == {"wordcraft/all", "wordcraft/all/recipes", "conceptnet", "conceptnet/weights"}


def test_import_conceptnet_into_a_folder_with_every_option(gumption, tmp_path):
    options = ["--graph", "cn", "--language", "all", "--relations", "IsA", "--min-weight", "1", "--senses"]
    with (tmp_path / "assertions.csv").open("a") as file:
        file.write("broken\n")
    out = gumption.ok("import", "conceptnet", "assertions.csv", "--out", "g", *options, "--skip-bad", "1", "--json")
    dropped = {"another relation": 1, "malformed": 1}
    assert json.loads(out) == [{"graph": "cn", "lines": 4, "kept": 2, "dropped": dropped, "new": 2}]
    with KnowledgeGraph(tmp_path / "g") as graph:
        assert list(graph.triples(graph="cn")) == [
            ("/c/en/ice_cream", "IsA", "/c/en/dessert"),
            ("/c/fr/glace", "IsA", "/c/fr/dessert"),
        ]


def test_a_malformed_line_is_exit_code_2_and_leaves_no_file(gumption, tmp_path):
    with (tmp_path / "assertions.csv").open("a") as file:
        file.write("broken\n")
    code, out, err = gumption("import", "conceptnet", "assertions.csv", "--out", "kg.nq")
    assert (code, out) == (2, "")
    assert "assertions.csv:4: expected 5 columns" in err
    assert not (tmp_path / "kg.nq").exists()


def test_a_file_of_an_unknown_kind_is_refused_before_the_import(gumption):
    code, _, err = gumption("import", "conceptnet", "nowhere.csv", "--out", "kg.xyz")
    assert code == 2
    assert "kg.xyz" in err


def test_import_atomic2020(gumption, tmp_path):
    for name in ("train.tsv", "dev.tsv"):
        (tmp_path / name).write_text("bread\tObjectUse\ttoast\nbread\tHasProperty\tsoft\nbread\tObjectUse\tnone\n")
    options = ["--graph", "at", "--relations", "ObjectUse"]
    out = gumption.ok("import", "atomic2020", "train.tsv", "dev.tsv", "--out", "kg.tsv", *options)
    assert [row for row in cells(out) if row[0]] == [["at/train", "lines read", "3"], ["at/dev", "lines read", "3"]]
    assert KnowledgeGraph.load(tmp_path / "kg.tsv").graphs() == {"at/dev": 1, "at/train": 1}


def test_import_wordnet_says_what_it_needs(gumption):
    code, _, err = gumption("import", "wordnet", ".", "--out", "kg.nq")
    assert code == 2
    assert "is not WordNet's database" in err


def test_link_shows_how_many_found_a_partner(gumption):
    gumption.ok("build", "wordcraft", "--recipe-book", "book.tsv", "--out", "mine.nq")
    out = gumption.ok("link", "mine.nq", "part.tsv")
    assert cells(out) == [
        ["exact", "1", "25.0%", "ice cream"],
        ["lemma", "1", "25.0%", "wolves -> wolf"],
        ["compound", "1", "25.0%", "trainyard -> yard (0.44)"],
        ["nearest", "0", "0.0%", ""],
        ["none", "1", "25.0%", "xyzzy"],
    ]
    assert "3 of 4 entities of mine.nq (75.0%) have a partner among the 8 of part.tsv" in " ".join(out.split())


def test_link_the_graphs_of_one_store(gumption, tmp_path):
    gumption.ok("build", "wordcraft", "--recipe-book", "book.tsv", "--out", "g")
    gumption.ok("import", "conceptnet", "assertions.csv", "--out", "g")
    options = ["--methods", "exact", "--methods", "lemma", "--out", "g", "--json"]
    answer = json.loads(gumption.ok("link", "wordcraft/all", "conceptnet", *options))
    assert answer["targets"] == 4
    assert answer["coverage"] == {"exact": 1, "lemma": 0, "compound": 0, "nearest": 0, "none": 3}
    assert answer["links"][0] == {"label": "ice cream", "target": "ice cream", "method": "exact", "score": 1.0}
    with KnowledgeGraph(tmp_path / "g") as graph:
        match = "http://www.w3.org/2004/02/skos/core#exactMatch"
        assert list(graph.triples(graph="links/all/conceptnet")) == [("ice cream", match, "ice cream")]
        said = graph.annotations("links/all/conceptnet")
        assert said["license"] == graph.annotations("conceptnet")["license"] == CONCEPTNET["license"]
        assert said["description"].startswith("made by gumption kg link: exact, lemma; cosine of at least 0.6")


def test_the_name_conceptnet_is_the_fetched_file(gumption, tmp_path):
    code, _, err = gumption("link", "wordcraft", "conceptnet")
    assert code == 2
    assert "gumption data fetch conceptnet" in err
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "conceptnet-assertions-5.7.0.csv.gz").write_text(ASSERTIONS)
    out = gumption.ok("link", "wordcraft", "conceptnet", "--methods", "exact")
    assert "among the 4 of conceptnet" in " ".join(out.split())


def test_link_two_graphs_in_files(gumption):
    gumption.ok("import", "conceptnet", "assertions.csv", "--out", "cn.nq", "--graph", "cn")
    gumption.ok("build", "wordcraft", "--recipe-book", "book.tsv", "--out", "kg.tsv")
    for targets in ("cn.nq", "cn.nq#cn"):
        gumption.ok("link", "kg.tsv", targets, "--out", "links.nq", "--graph", "mine")
        assert "among the 4 of" in " ".join(gumption.ok("link", "kg.tsv#wordcraft/all", targets).split())
    links = KnowledgeGraph.load("links.nq")
    assert links.graphs() == {"mine": 2, "mine/weights": 3}  # of one spelling, and of near vectors
    assert links.annotations("mine")["attribution"] == CONCEPTNET["attribution"]


def test_what_link_refuses(gumption):
    code, _, err = gumption("link", "wordcraft", "nowhere")
    assert (code, "'nowhere' is neither a graph of --out nor a file" in err) == (2, True)
    code, _, err = gumption("link", "wordcraft", "part.tsv", "--vectors", "v.bin", "--methods", "exact")
    assert (code, "--vectors are for the method nearest" in err) == (2, True)
    for option in ("--update", "--graph"):
        code, _, err = gumption("link", "wordcraft", "part.tsv", option, "x")
        assert (code, "say where links are written" in err) == (2, True)
    code, _, err = gumption("link", "wordcraft", "part.tsv", "--vectors", "v.bin")
    assert (code, "v.bin: no such file of word vectors" in err) == (2, True)
    code, _, err = gumption("link", "wordcraft", "part.tsv", "--min-cosine", "2")
    assert (code, "--min-cosine is 2.0; it is a number from" in err) == (2, True)
