"""`gumption kg import` and `gumption kg link`, as they are called."""

import json
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

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
        ["compound", "1", "25.0%", "trainyard -> yard"],
        ["nearest", "0", "0.0%", ""],
        ["refused", "0", "0.0%", ""],
        ["none", "1", "25.0%", "xyzzy"],
    ]
    assert "3 of 4 entities of mine.nq (75.0%) have a partner among the 8 of part.tsv" in " ".join(out.split())
    assert "--max-distance" not in out


@pytest.fixture
def near(gumption, tmp_path: Path):
    """`gumption kg link` of four labels to "north" and "blank" by vectors at known distances, with more options."""
    vectors = KeyedVectors(2)
    words = {"north": [0, 1], "up": [0, 2], "steep": [3, 4], "slope": [1, 1], "east": [1, 0]}
    vectors.add_vectors(list(words), np.array(list(words.values()), dtype=np.float32))
    vectors.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    (tmp_path / "mine.tsv").write_text("up\tr\tsteep\nslope\tr\teast\nunheard\tr\tup\n")
    (tmp_path / "far.tsv").write_text("north\tr\tblank\n")
    return lambda *options: gumption.ok("link", "mine.tsv", "far.tsv", "--vectors", "v.bin", *options)


def test_link_shows_the_farthest_first_and_max_distance_refuses(near):
    out = near()
    assert cells(out) == [
        ["exact", "0", "0.0%", ""],
        ["lemma", "0", "0.0%", ""],
        ["compound", "0", "0.0%", ""],
        ["nearest", "3", "60.0%", "slope -> north (0.29)"],
        ["", "", "", "steep -> north (0.20)"],
        ["", "", "", "up -> north (0.00)"],
        ["refused", "1", "20.0%", "east (1.00)"],
        ["none", "1", "20.0%", "unheard"],
    ]
    told = " ".join(out.split())
    assert "3 of 5 entities of mine.tsv (60.0%) have a partner among the 2 of far.tsv. 3 links by nearest word" in told
    assert "--max-distance D refuses those farther away than D (now 0.4)" in told
    assert cells(near("--max-distance", "0.25"))[3:7] == [
        ["nearest", "2", "40.0%", "steep -> north (0.20)"],
        ["", "", "", "up -> north (0.00)"],
        ["refused", "2", "40.0%", "slope (0.29)"],
        ["", "", "", "east (1.00)"],
    ]
    assert cells(near("--max-distance", "0"))[3] == ["nearest", "1", "20.0%", "up -> north (0.00)"]
    assert cells(near("--max-distance", "2"))[3] == ["nearest", "4", "80.0%", "east -> north (1.00)"]


def test_json_of_link_has_the_kinds_and_distances(near):
    answer = json.loads(near("--max-distance", "0.25", "--json"))
    assert answer["coverage"] == {"exact": 0, "lemma": 0, "compound": 0, "nearest": 2, "refused": 2, "none": 1}
    assert answer["links"] == [
        {"label": "east", "target": None, "method": "refused", "score": 0.0, "distance": 1.0},
        {"label": "slope", "target": None, "method": "refused", "score": 0.70711, "distance": 0.29289},
        {"label": "steep", "target": "north", "method": "nearest", "score": 0.8, "distance": 0.2},
        {"label": "unheard", "target": None, "method": "none", "score": 0.0, "distance": None},
        {"label": "up", "target": "north", "method": "nearest", "score": 1.0, "distance": 0.0},
    ]


def test_a_link_that_is_refused_now_leaves_the_graph(near):
    near("--out", "links.nq")
    assert KnowledgeGraph.load("links.nq").graphs() == {"links/mine/far": 3, "links/mine/far/weights": 6}
    near("--out", "links.nq", "--max-distance", "0")
    graph = KnowledgeGraph.load("links.nq")
    related = "http://www.w3.org/2004/02/skos/core#relatedMatch"
    assert list(graph.triples(graph="links/mine/far")) == [("up", related, "north")]
    assert "cosine distance up to 0 by" in graph.annotations("links/mine/far")["description"]


def test_link_the_graphs_of_one_store(gumption, tmp_path):
    gumption.ok("build", "wordcraft", "--recipe-book", "book.tsv", "--out", "g")
    gumption.ok("import", "conceptnet", "assertions.csv", "--out", "g")
    options = ["--methods", "exact", "--methods", "lemma", "--out", "g", "--json"]
    answer = json.loads(gumption.ok("link", "wordcraft/all", "conceptnet", *options))
    assert answer["targets"] == 4
    assert answer["coverage"] == {"exact": 1, "lemma": 0, "compound": 0, "nearest": 0, "refused": 0, "none": 3}
    exact = {"label": "ice cream", "target": "ice cream", "method": "exact", "score": 1.0, "distance": None}
    assert answer["links"][0] == exact
    with KnowledgeGraph(tmp_path / "g") as graph:
        match = "http://www.w3.org/2004/02/skos/core#exactMatch"
        assert list(graph.triples(graph="links/all/conceptnet")) == [("ice cream", match, "ice cream")]
        said = graph.annotations("links/all/conceptnet")
        assert said["license"] == graph.annotations("conceptnet")["license"] == CONCEPTNET["license"]
        assert said["description"] == "made by gumption kg link: exact, lemma"


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
    for distance in ("-0.1", "2.1"):
        code, _, err = gumption("link", "wordcraft", "part.tsv", "--max-distance", distance)
        assert (code, f"--max-distance is {distance}; it is a number from 0 to 2" in err) == (2, True)
    code, _, err = gumption("link", "wordcraft", "part.tsv", "--max-distance", "0.2", "--methods", "exact")
    assert (code, "--max-distance is for the method nearest" in err) == (2, True)
    Path("empty.ttl").write_text("")
    code, _, err = gumption("link", "empty.ttl", "part.tsv", "--methods", "exact")
    assert (code, "empty.ttl has no entities to link" in err) == (2, True)


def test_a_source_without_facts_makes_no_graph(gumption, tmp_path):
    (tmp_path / "empty.tsv").write_text("")
    for place in (tmp_path / "x.nq", tmp_path / "folder"):
        code, out, err = gumption("import", "atomic2020", str(tmp_path / "empty.tsv"), "--out", str(place))
        assert (code, out) == (2, "")
        assert "empty.tsv: no fact of its 0 lines was kept" in err
        assert "error: no fact was kept, so nothing was written: name a file of this source that has facts" in err
        assert not place.exists()
