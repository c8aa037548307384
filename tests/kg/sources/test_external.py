"""Importers of ConceptNet and ATOMIC 2020, on lines as those projects write them."""

import gzip
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.sources.external import (
    CONCEPTNET_RELATIONS,
    conceptnet_entities,
    conceptnet_form,
    import_atomic2020,
    import_conceptnet,
)
from gumption.kg.sources.weights import add_weighted, fact_weights, weighted_relation
from gumption.kg.vocabulary import WEIGHTS


def assertion(relation: str, start: str, end: str, weight: float = 1.0, license: str = "cc:by-sa/4.0") -> str:
    """A line of ConceptNet's file of assertions."""
    details = {"dataset": "/d/test", "license": license, "sources": [{"contributor": "/s/me"}], "weight": weight}
    return f"/a/[{relation}/,{start}/,{end}/]\t{relation}\t{start}\t{end}\t{json.dumps(details)}"


ASSERTIONS = [
    assertion("/r/Antonym", "/c/fr/chaud", "/c/fr/froid"),
    assertion("/r/AtLocation", "/c/en/ice_cream", "/c/en/freezer", 2.0, "cc:by/4.0"),
    assertion("/r/ExternalURL", "/c/en/ice_cream", "http://dbpedia.org/resource/Ice_cream"),
    assertion("/r/IsA", "/c/en/ice_cream", "/c/en/dessert", 0.5),
    assertion("/r/IsA", "/c/en/ice_cream/n/wn/food", "/c/en/dessert/n/wn/food", 2.828),
    assertion("/r/RelatedTo", "/c/en/cold", "/c/fr/froid"),
    assertion("/r/RelatedTo", "/c/en/salon_des_refusés", "/c/en/display"),
    assertion("/r/dbpedia/genre", "/c/en/blue_train", "/c/en/jazz", 0.5),
]
ENGLISH = [
    ("blue train", "dbpedia/genre", "jazz"),
    ("ice cream", "AtLocation", "freezer"),
    ("ice cream", "IsA", "dessert"),
    ("salon des refusés", "RelatedTo", "display"),
]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def lines(*rows: str, name: str = "assertions.csv") -> Path:
        path = tmp_path / name
        text = "".join(f"{row}\n" for row in rows).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return lines


def weights_of(graph: KnowledgeGraph, name: str) -> dict[tuple[str, str, str], float]:
    vocabulary, ids = graph.arrays(name)
    rounded = [round(weight, 3) for weight in fact_weights(graph, name).tolist()]
    return dict(zip(vocabulary.ids_to_triples(ids), rounded, strict=True))


@pytest.mark.parametrize("name", ["assertions.csv", "assertions.csv.gz"])
def test_the_english_assertions_with_their_weights_and_licences(write, name, graph):
    done = import_conceptnet(graph, write(*ASSERTIONS, name=name))
    assert list(graph.triples(graph="conceptnet")) == ENGLISH
    assert (done.graph, done.lines, done.kept, done.new) == ("conceptnet", 8, 4, 4)
    assert done.dropped == {"external address": 1, "not in en": 2, "stated before": 1}
    assert list(weights_of(graph, "conceptnet").values()) == [0.5, 2.0, 2.828, 1.0]
    said = graph.annotations("conceptnet")
    assert said["license"].startswith("CC BY-SA 4.0")
    assert "Commonsense Computing Initiative" in said["attribution"]
    assert said["rights"].endswith("cc:by-sa/4.0: 4, cc:by/4.0: 1")
    assert graph.annotations("conceptnet/weights") == said


def test_the_licence_goes_into_an_export(write, tmp_path):
    graph = KnowledgeGraph()
    import_conceptnet(graph, write(*ASSERTIONS))
    graph.save(tmp_path / "kg.nq")
    assert KnowledgeGraph.load(tmp_path / "kg.nq").annotations("conceptnet") == graph.annotations("conceptnet")


def test_options_choose_among_the_assertions(write):
    def chosen(**options) -> list[tuple[str, str, str]]:
        graph = KnowledgeGraph()
        import_conceptnet(graph, write(*ASSERTIONS), name="cn", **options)
        return list(graph.triples(graph="cn"))

    assert chosen(language="fr") == [("chaud", "Antonym", "froid")]
    assert chosen(relations=["AtLocation"]) == [ENGLISH[1]]
    assert chosen(min_weight=1.5) == [ENGLISH[1], ENGLISH[2]]
    assert ("ice cream/n/wn/food", "IsA", "dessert/n/wn/food") in chosen(senses=True)
    url = "http://dbpedia.org/resource/Ice_cream"
    assert chosen(relations=["ExternalURL"]) == [("ice cream", "ExternalURL", url)]
    everything = chosen(language=None)
    assert ("/c/en/cold", "RelatedTo", "/c/fr/froid") in everything
    assert ("/c/en/ice_cream", "IsA", "/c/en/dessert") in everything
    assert ("/c/en/ice_cream/n/wn/food", "IsA", "/c/en/dessert/n/wn/food") in chosen(language=None, senses=True)


def test_a_second_import_adds_nothing_and_the_largest_weight_stays(write):
    graph = KnowledgeGraph()
    import_conceptnet(graph, write(*ASSERTIONS))
    later = write(assertion("/r/IsA", "/c/en/ice_cream", "/c/en/dessert", 1.25), name="later.csv")
    assert import_conceptnet(graph, later).new == 0
    assert weights_of(graph, "conceptnet")["ice cream", "IsA", "dessert"] == 2.828


BAD = {
    "columns": ("one\ttwo", "expected 5 columns separated by tabs, found 2"),
    "relation": (assertion("IsA", "/c/en/a", "/c/en/b"), "expected a relation /r/NAME"),
    "start": (assertion("/r/IsA", "a", "/c/en/b"), "a concept /c/LANGUAGE/TERM in columns 2 and 3"),
    "end": (assertion("/r/IsA", "/c/en/a", "b"), "the end, in column 4, is no concept"),
    "no term": (assertion("/r/IsA", "/c/en/a", "/c/en/"), "'/c/en/' is no concept"),
    "no end": (assertion("/r/ExternalURL", "/c/en/a", ""), "the end, in column 4, is empty"),
    "json": ("/a/\t/r/IsA\t/c/en/a\t/c/en/b\t{", "Expecting property name"),
    "no weight": ("/a/\t/r/IsA\t/c/en/a\t/c/en/b\t{}", "no JSON object with a finite number as its weight"),
    "beyond a float32": ('/a/\t/r/IsA\t/c/en/a\t/c/en/b\t{"weight": 1e39}', "no JSON object with a finite number"),
    "not a number": ('/a/\t/r/IsA\t/c/en/a\t/c/en/b\t{"weight": NaN}', "no JSON object with a finite number"),
    "endless": ('/a/\t/r/IsA\t/c/en/a\t/c/en/b\t{"weight": Infinity}', "no JSON object with a finite number"),
}


@pytest.mark.parametrize(("line", "problem"), BAD.values(), ids=BAD)
def test_a_malformed_assertion_is_told_with_its_line_and_nothing_is_added(write, line, problem):
    file = write(ASSERTIONS[1], line, ASSERTIONS[3])
    graph = KnowledgeGraph()
    relations = [*CONCEPTNET_RELATIONS]
    with pytest.raises(InputError, match=r"assertions.csv:2: ") as caught:
        import_conceptnet(graph, file, relations=relations)
    assert problem in str(caught.value)
    assert "--skip-bad" in str(caught.value)
    assert graph.graphs() == {}
    done = import_conceptnet(graph, file, relations=relations, skip_bad=1)
    assert (done.lines, done.kept, done.dropped) == (3, 2, {"malformed": 1})


def test_text_that_is_not_utf_8_is_malformed(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(ASSERTIONS[1].encode() + b"\n" + assertion("/r/IsA", "/c/en/a", "/c/en/b").encode("utf-16")[2:])
    with pytest.raises(InputError, match=r"a.csv:2: "):
        import_conceptnet(KnowledgeGraph(), file)


def test_one_more_malformed_line_than_allowed(write):
    file = write(ASSERTIONS[1], "x", "y", "z")
    with pytest.raises(InputError, match=r"csv:4: .*so far: 3, tolerated: 2"):
        import_conceptnet(KnowledgeGraph(), file, skip_bad=2)


def test_files_that_cannot_be_read(write, tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*nowhere.csv: No such file"):
        import_conceptnet(KnowledgeGraph(), tmp_path / "nowhere.csv")
    whole = write(*ASSERTIONS * 50, name="whole.csv.gz").read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(whole[:-30])
    with pytest.raises(InputError, match=r"cut.csv.gz:\d+: the compressed file is broken or cut short"):
        import_conceptnet(KnowledgeGraph(), tmp_path / "cut.csv.gz")
    for content in ("", "fire\tburns\twood\n"):
        with pytest.raises(InputError, match="not a file of ConceptNet"):
            conceptnet_form(write(content, name="other.tsv"))


def test_no_place_for_what_is_read(write, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"cannot keep what was read in .*nowhere: No such file"):
        import_conceptnet(KnowledgeGraph(), write(*ASSERTIONS))


def test_an_unknown_relation_gets_near_names(write):
    with pytest.raises(InputError, match="unknown ConceptNet relation 'PartsOf': did you mean 'PartOf'"):
        import_conceptnet(KnowledgeGraph(), write(*ASSERTIONS), relations=["PartsOf"])


TAB = ["ice_cream\tisa\tdessert", "blue_train\tgenre\tjazz", "hard_bop\tnothasproperty\tslow"]


def test_the_tab_form(write):
    graph = KnowledgeGraph()
    done = import_conceptnet(graph, write(*TAB, name="part.tsv"), relations=["IsA", "NotHasProperty"])
    assert list(graph.triples()) == [("hard bop", "NotHasProperty", "slow"), ("ice cream", "IsA", "dessert")]
    assert done.dropped == {"another relation": 1}
    assert fact_weights(graph, "conceptnet").tolist() == [1.0, 1.0]
    assert list(graph.graphs()) == ["conceptnet"]
    assert conceptnet_entities(write(*TAB, name="part.tsv.gz")) == sorted(
        ["blue train", "dessert", "hard bop", "ice cream", "jazz", "slow"]
    )


def test_what_the_tab_form_refuses(write):
    for options in ({"min_weight": 1.0}, {"language": "fr"}, {"senses": True}):
        with pytest.raises(InputError, match="neither languages nor weights nor senses"):
            import_conceptnet(KnowledgeGraph(), write(*TAB, name="part.tsv"), **options)
    for line, problem in (("a\tisa", "expected head, relation and tail"), ("a\tisaa\tb", "did you mean 'isa'")):
        with pytest.raises(InputError, match=r"part.tsv:4: ") as caught:
            import_conceptnet(KnowledgeGraph(), write(*TAB, line, name="part.tsv"))
        assert problem in str(caught.value)


@given(st.lists(st.sampled_from([*ASSERTIONS, "malformed", "a\tb\tc\td\te"]), max_size=20))
def test_the_counts_add_up(tmp_path_factory, lines):
    file = tmp_path_factory.mktemp("counts") / "a.csv"
    file.write_text("".join(f"{line}\n" for line in [ASSERTIONS[0], *lines]))
    graph = KnowledgeGraph()
    done = import_conceptnet(graph, file, skip_bad=20)
    assert done.lines == len(lines) + 1 == done.kept + sum(done.dropped.values())
    facts = list(graph.triples(graph="conceptnet"))
    assert done.new == len(facts) <= done.kept
    english = {ASSERTIONS[1]: 1, ASSERTIONS[3]: 2, ASSERTIONS[4]: 2, ASSERTIONS[6]: 3, ASSERTIONS[7]: 0}  # in ENGLISH
    assert facts == sorted({ENGLISH[english[line]] for line in lines if line in english})


def test_reading_takes_little_memory_whatever_the_size_of_the_file(write):
    file = write(*ASSERTIONS[3:4] * 15_000)
    tracemalloc.start()
    done = import_conceptnet(KnowledgeGraph(), file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert done.dropped == {"stated before": 14_999}
    assert file.stat().st_size > 2.5e6
    assert peak < 2e6


def test_progress_tells_the_bytes_read(write):
    told: list[int] = []
    file = write(*ASSERTIONS * 5000)
    conceptnet_entities(file, progress=told.append)
    assert len(told) == 4
    assert 0.9 * file.stat().st_size < sum(told) <= file.stat().st_size


def test_the_real_tab_form(shared_data):
    graph = KnowledgeGraph()
    done = import_conceptnet(
        graph, shared_data / "conceptnet_subgraph.tsv", relations=["IsA", "MadeOf", "dbpedia/genus"]
    )
    assert (done.lines, done.kept, done.new) == (160_319, 11_044, 11_044)
    assert done.dropped == {"another relation": 149_275}
    assert ("brownie", "IsA", "dog") in set(graph.triples())


ATOMIC = [
    "PersonX accepts PersonY's offer\txNeed\tto be offered ___",
    "bread\tObjectUse\tmake french toast",
    "bread\tObjectUse\tnone",
    "PersonX abandons ___\toEffect\t",
]


def test_atomic_2020_has_a_graph_for_each_split(write):
    graph = KnowledgeGraph()
    files = [write(*ATOMIC, name="train.tsv"), write(*ATOMIC[:3], name="dev.tsv.gz")]
    train, dev = import_atomic2020(graph, files)
    assert graph.graphs() == {"atomic/dev": 2, "atomic/train": 2}
    assert list(graph.triples(graph="atomic/train")) == [
        ("PersonX accepts PersonY's offer", "xNeed", "to be offered ___"),
        ("bread", "ObjectUse", "make french toast"),
    ]
    assert (train.lines, train.kept, train.dropped) == (4, 2, {"no tail": 2})
    assert (dev.lines, dev.kept, dev.new) == (3, 2, 2)
    assert graph.annotations("atomic/dev")["license"].startswith("CC BY 4.0")
    import_atomic2020(graph, files[:1], name="uses", relations=["ObjectUse"])
    assert graph.graphs()["uses/train"] == 1


def test_atomic_2020_out_of_its_zip(write, tmp_path):
    with zipfile.ZipFile(tmp_path / "atomic.zip", "w") as archive:
        archive.writestr("data/train.tsv", "\n".join(ATOMIC))
        archive.writestr("data/test.tsv", "a\tb")
        archive.writestr("__MACOSX/data/._train.tsv", "shadow")
        archive.writestr("data/LICENSE", "text")
    graph = KnowledgeGraph()
    with pytest.raises(InputError, match=r"atomic.zip/data/test.tsv:1: expected head, relation and tail"):
        import_atomic2020(graph, [tmp_path / "atomic.zip"])
    assert graph.graphs() == {}
    assert import_atomic2020(graph, [tmp_path / "atomic.zip" / "data" / "train.tsv"])[0].kept == 2
    with pytest.raises(InputError, match=r"cannot read .*There is no item named 'data/dev.tsv' in the archive"):
        import_atomic2020(graph, [tmp_path / "atomic.zip" / "data" / "dev.tsv"])
    (tmp_path / "text").touch()
    with pytest.raises(InputError, match=r"text/train.tsv:1: the compressed file is broken .*not a zip file"):
        import_atomic2020(graph, [tmp_path / "text" / "train.tsv"])
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(InputError, match=r"empty.zip has no .tsv file in it"):
        import_atomic2020(graph, [tmp_path / "empty.zip"])


def test_what_atomic_refuses(write, tmp_path):
    file = write(*ATOMIC, "bread\tUsedFor\ttoast", name="train.tsv")
    with pytest.raises(InputError, match=r"train.tsv:5: unknown ATOMIC 2020 relation 'UsedFor'"):
        import_atomic2020(KnowledgeGraph(), [file])
    assert import_atomic2020(KnowledgeGraph(), [file], skip_bad=1)[0].dropped == {"malformed": 1, "no tail": 2}
    with pytest.raises(InputError, match="unknown ATOMIC 2020 relation 'xwant': did you mean 'xWant'"):
        import_atomic2020(KnowledgeGraph(), [file], relations=["xwant"])
    with pytest.raises(InputError, match="two of these files would be one graph"):
        import_atomic2020(KnowledgeGraph(), [file, tmp_path / "other" / "train.tsv.gz"])


def test_weights_in_every_home(graph):
    facts = [("a b", "IsA", "c"), ("d", "IsA", "c"), ("e", "Used: for", "é"), ("x", "IsA", "y")]
    assert add_weighted(graph, facts, [2.5, 1.0, 1e-7, 0.1], "g") == 4
    assert fact_weights(graph, "g").tolist() == np.array([2.5, 1.0, 1e-7, 0.1], np.float32).tolist()
    graph.remove([("x", "IsA", "y")], graph="g")
    assert fact_weights(graph, "g").tolist() == np.array([2.5, 1.0, 1e-7], np.float32).tolist()
    weights = graph.query(
        "SELECT ?s ?o ?weight { GRAPH ?w { ?s ?r ?o . ?r rdfs:subPropertyOf ?relation ; gum:weight ?weight } }",
        w="g" + WEIGHTS,
        relation="urn:gumption:relation:IsA",
    )
    assert [(row["s"], row["weight"]) for row in weights] == [("a b", 2.5), ("x", 0.1)]


LABEL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=3)


@given(
    st.dictionaries(st.tuples(LABEL, LABEL, LABEL), st.floats(-(2.0**90), 2.0**90, width=32), max_size=12, min_size=1)
)
def test_weights_come_back_aligned_with_the_facts(weights):
    graph = KnowledgeGraph()
    add_weighted(graph, list(weights), list(weights.values()), "g")
    vocabulary, ids = graph.arrays("g")
    expected = [weights[fact] for fact in vocabulary.ids_to_triples(ids)]
    found = fact_weights(graph, "g")
    assert found.dtype == np.float32
    assert found.tolist() == expected


def test_weights_that_cannot_be():
    for weight in (float("nan"), float("inf"), 1e39):
        with pytest.raises(InputError, match="has to be a finite number"):
            weighted_relation("IsA", weight)
    with pytest.raises(InputError, match="there are 1 facts and 2 weights"):
        add_weighted(KnowledgeGraph(), [("a", "b", "c")], [1.0, 2.0], "g")
