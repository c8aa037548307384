"""The graph of commonsense about the words of the book: its file, what it keeps to, and its part from WordNet."""

import hashlib
from pathlib import Path

import pytest

from gumption import data
from gumption.data import InputError
from gumption.data.manifest import shipped
from gumption.kg import KnowledgeGraph
from gumption.kg.graph import open_graph
from gumption.kg.sources import commonsense_facts as maker
from gumption.kg.sources.commonsense_facts import Fact, faults, kinds, main, read, read_senses, shortfalls

from .test_external_wordnet import write_database


@pytest.fixture(scope="module")
def facts() -> list[Fact]:
    return read(data.path("commonsense-facts"))


# ---- what ships


def test_the_graph_that_ships_keeps_to_all_that_is_asked(facts: list[Fact]) -> None:
    words = read_senses()
    assert faults(facts, words) == []
    assert shortfalls(facts, words) == []


def test_each_word_of_the_book_has_its_sense_and_its_facts(facts: list[Fact]) -> None:
    lines = data.path("commonsense").read_text(encoding="utf-8").splitlines()[1:]
    words = {word for line in lines for word in line.split("\t")[:3]}
    assert set(read_senses()) == words
    assert len(kinds(facts, words)) > 200


def test_it_is_loaded_by_its_name_with_its_licences(facts: list[Fact], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph = KnowledgeGraph.load("commonsense-facts")
    assert graph.graphs() == {origin: sum(fact[3] == origin for fact in facts) for origin in ("own", "wordnet")}
    assert len(graph) == len(facts)
    assert graph.annotations("own")["license"] == "Apache-2.0"
    said = graph.annotations("wordnet")
    assert "Princeton" in said["attribution"]
    notice = (data.path("commonsense-facts").parent / maker.LICENCE).read_text(encoding="utf-8")
    assert " ".join(notice.split()) == " ".join(said["rights"].split())
    assert "Permission to use, copy, modify and distribute" in notice
    assert open_graph("commonsense-facts#wordnet")[1] == "wordnet"
    (tmp_path / "commonsense-facts").mkdir()  # a place of this name comes first
    with pytest.raises(InputError):
        KnowledgeGraph.load("commonsense-facts")


def test_book_and_graph_are_small() -> None:
    files = [entry.path for entry in shipped().values() if entry.file.startswith(("graphs/", "recipes/"))]
    assert sum(file.stat().st_size for file in files) < 2_000_000


# ---- the file


def written(folder: Path, *lines: str) -> Path:
    file = folder / "facts.tsv"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def test_a_line_without_an_origin_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "saw\tusedFor\twood\town", "saw\tisA\ttool")
    with pytest.raises(InputError, match=r"facts.tsv:2: no origin; a fourth column says where .*: own or wordnet"):
        read(file)
    with pytest.raises(InputError, match=r"facts.tsv:1: unknown origin 'wordnets': did you mean 'wordnet'\?"):
        read(written(tmp_path, "saw\tisA\ttool\twordnets"))
    with pytest.raises(InputError, match=r"facts.tsv:1: 2 columns; a fact has subject, relation, object and origin"):
        read(written(tmp_path, "saw\tisA"))
    with pytest.raises(InputError, match=r"none.tsv: cannot be read as text"):
        read(tmp_path / "none.tsv")


def test_wrong_lines_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(
        tmp_path,
        "saw\tisA\tcutter\town",
        "saw\tusedfor\twood\town",
        "cutter\tdoes\tcut\town",
        "saw\tisA\tcutter\twordnet",
        "Saw\tisA\ttool\town",
        "saw\tmadeOf\tsaw\town",
        "glork\tisA\tblerk\town",
    )
    assert main([str(file)]) == 2
    told = capsys.readouterr()
    lines = [line.split(".tsv:")[1] for line in told.err.splitlines() if ".tsv:" in line and "tsv: " not in line]
    assert lines == [
        "2: unknown relation 'usedfor': did you mean 'usedFor'?",
        "4: the same fact as in line 1",
        "5: 'Saw' is no label: small letters, and one space between words",
        "6: 'saw' is said of itself",
        "7: 'glork' and 'blerk': neither is a word of the book or a kind of one",
    ]
    assert "7 facts; 6,000 are asked for" in told.err
    assert "words with fewer than 3 facts: acorn, actor" in told.err
    assert told.out.startswith("7 facts: 4 isA")


def test_shares_beyond_half_are_told(facts: list[Fact]) -> None:
    words = read_senses()
    isa = [fact for fact in facts if fact[1] == "isA"]
    assert any("of isA; at most 50%" in told for told in shortfalls(isa, words))
    taken = [(s, r, o, "wordnet") for s, r, o, _ in facts]
    assert any("from another source; at most 50%" in told for told in shortfalls(taken, words))


# ---- WordNet


def test_the_facts_of_wordnet_are_of_the_senses_that_are_given(tmp_path: Path) -> None:
    """A database of a few synsets: an animal, a dog with a flag, and the dog that Rex is."""
    write_database(tmp_path / "dict")
    senses = {"dog": "dog.n.01", "rex": "rex.n.01", "yeti": ""}
    found = maker.wordnet_facts(tmp_path / "dict", senses)
    assert found == [
        ("dog", "isA", "animal"),
        ("flag", "partOf", "dog"),
        ("rex", "isA", "dog"),
    ]
    assert maker.wordnet_facts(tmp_path / "dict", senses, [("flag", "partOf", "dog")]) == [found[0], found[2]]
    # "dog" is a word of the book in another sense, so the synset has its other name.
    other = maker.wordnet_facts(tmp_path / "dict", {"rex": "rex.n.01", "dog": ""})
    assert other == [("domestic dog", "isA", "animal"), ("rex", "isA", "domestic dog")]
    with pytest.raises(InputError, match=r"'dog': this WordNet has no synset 'dog.n.07'"):
        maker.wordnet_facts(tmp_path / "dict", {"dog": "dog.n.07"})
    with pytest.raises(InputError, match=r"is not WordNet's database: it lacks index.noun"):
        maker.wordnet_facts(tmp_path, senses)


def test_making_it_again_keeps_own_facts_and_states_the_licences(tmp_path: Path, monkeypatch, capsys) -> None:
    write_database(tmp_path / "dict")
    (tmp_path / "senses.tsv").write_text("dog\tdog.n.01\nrex\trex.n.01\nyeti\t-\n", encoding="utf-8")
    monkeypatch.setattr(maker, "read_senses", lambda: read_senses(tmp_path / "senses.tsv"))
    file = written(tmp_path, "dog\tdoes\tbark\town", "dog\tisA\tanimal\town", "cat\tisA\tthing\twordnet")
    assert main([str(file), "--wordnet", str(tmp_path / "dict")]) == 2  # far fewer facts than are asked for
    assert "4 facts: 2 isA, 1 does, 1 partOf, 2 own, 2 wordnet" in capsys.readouterr().out
    graph = KnowledgeGraph.load(file)
    assert set(graph.triples(graph="own")) == {("dog", "does", "bark"), ("dog", "isA", "animal")}
    assert set(graph.triples(graph="wordnet")) == {("flag", "partOf", "dog"), ("rex", "isA", "dog")}
    assert "Princeton University" in graph.annotations("wordnet")["rights"]
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    main([str(file), "--wordnet", str(tmp_path / "dict")])
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before


def test_a_wrong_table_of_senses_is_told(tmp_path: Path) -> None:
    (tmp_path / "senses.tsv").write_text("dog\tdog.n.01\ndog\t-\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"senses.tsv:2: expected a word, once, a tab and its synset"):
        read_senses(tmp_path / "senses.tsv")
