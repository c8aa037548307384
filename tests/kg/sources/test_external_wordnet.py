"""The importer of WordNet, on a database of a few synsets in the format that wndb(5WN) describes."""

from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.sources.wordnet import HAS_LEMMA, import_wordnet

# Key -> (part of speech, lemmas, pointers (symbol, key, "0000" or source and target lemma)).
SYNSETS = {
    "animal": ("n", ["animal"], []),
    "dog": ("n", ["dog", "domestic_dog"], [("@", "animal", "0000"), ("%p", "flag", "0000")]),
    "flag": ("n", ["flag", "dog"], []),
    "rex": ("n", ["Rex"], [("@i", "dog", "0000")]),
    "chase": ("v", ["chase"], [("+", "dog", "0101"), ("$", "follow", "0000")]),
    "follow": ("v", ["follow"], []),
    "wet": ("a", ["wet"], [("!", "dry", "0101")]),
    "dry": ("a", ["dry"], [("!", "wet", "0101")]),
    "damp": ("s", ["damp"], [("&", "wet", "0000")]),
}
HEADER = "  1 This software is provided by Princeton University.  \n  2   \n  3 Copyright, all rights reserved.  \n"
FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


def write_database(folder: Path) -> None:
    """data.* and index.* of SYNSETS; a synset's name is the byte offset of its line."""
    folder.mkdir()
    file_of = {key: "a" if part == "s" else part for key, (part, _, _) in SYNSETS.items()}

    def line(key: str, offsets: dict[str, int]) -> str:
        part, lemmas, pointers = SYNSETS[key]
        words = " ".join(f"{lemma} 0" for lemma in lemmas)
        marks = "".join(
            f"{symbol} {offsets[other]:08d} {SYNSETS[other][0]} {which} " for symbol, other, which in pointers
        )
        frames = "01 + 02 00 " if part == "v" else ""
        return (
            f"{offsets[key]:08d} 03 {part} {len(lemmas):02x} {words} {len(pointers):03d} {marks}{frames}| a gloss  \n"
        )

    offsets = dict.fromkeys(SYNSETS, 0)
    for name in FILES:
        at = len(HEADER)
        for key in (key for key in SYNSETS if file_of[key] == name):
            offsets[key] = at
            at += len(line(key, offsets))  # eight digits whatever the offsets are
    for name, file in FILES.items():
        keys = [key for key in SYNSETS if file_of[key] == name]
        (folder / f"data.{file}").write_text(HEADER + "".join(line(key, offsets) for key in keys))
        places: dict[str, list[int]] = {}
        for key in keys:
            for lemma in SYNSETS[key][1]:
                places.setdefault(lemma.lower(), []).append(offsets[key])
        rows = [
            f"{lemma} {name} {len(where)} 0 {len(where)} 0 {' '.join(f'{at:08d}' for at in where)}  \n"
            for lemma, where in sorted(places.items())
        ]
        (folder / f"index.{file}").write_text(HEADER + "".join(rows))
    for path in folder.iterdir():
        path.chmod(0o644)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    write_database(tmp_path / "dict")
    return tmp_path / "dict"


def test_synsets_their_lemmas_and_their_relations(database):
    graph = KnowledgeGraph()
    done = import_wordnet(graph, database)
    facts = list(graph.triples())
    assert [fact for fact in facts if fact[1] != HAS_LEMMA] == [
        ("chase.v.01", "derivationallyRelated", "dog.n.01"),
        ("chase.v.01", "verbGroup", "follow.v.01"),
        ("damp.s.01", "similarTo", "wet.a.01"),
        ("dog.n.01", "hypernym", "animal.n.01"),
        ("dog.n.01", "partMeronym", "flag.n.01"),
        ("dry.a.01", "antonym", "wet.a.01"),
        ("rex.n.01", "instanceHypernym", "dog.n.01"),
        ("wet.a.01", "antonym", "dry.a.01"),
    ]
    assert [s for s, _, _ in graph.triples(object="dog")] == ["dog.n.01", "flag.n.01"]
    assert ("dog.n.01", HAS_LEMMA, "domestic dog") in facts
    assert ("rex.n.01", HAS_LEMMA, "Rex") in facts
    assert (done.lines, done.kept, done.dropped, done.new) == (9, 9, {}, len(facts))


def test_the_notice_goes_along(database):
    graph = KnowledgeGraph()
    import_wordnet(graph, database, name="wn")
    said = graph.annotations("wn")
    assert said["rights"] == ("This software is provided by Princeton University.\n\nCopyright, all rights reserved.")
    assert "WordNet License" in said["license"]


def test_the_folder_is_readable_for_nltk_during_the_import_alone(database):
    import nltk.data

    before = list(nltk.data.path)
    import_wordnet(KnowledgeGraph(), database)
    assert nltk.data.path == before


def test_what_is_no_database(database, tmp_path):
    with pytest.raises(InputError, match=r"is not WordNet's database: it lacks index.noun, .*unpack it first"):
        import_wordnet(KnowledgeGraph(), tmp_path)
    text = (database / "data.noun").read_text()
    (database / "data.noun").write_text(text.replace("03 n 01 animal", "zz n 01 animal"))
    graph = KnowledgeGraph()
    with pytest.raises(InputError, match=r"dict is a broken WordNet database, after \d synsets: .*zz"):
        import_wordnet(graph, database)
    assert graph.graphs() == {}


def test_files_that_others_may_write_are_refused(database):
    (database / "data.noun").chmod(0o666)
    with pytest.raises(InputError, match=r"cannot read WordNet in .*writable"):
        import_wordnet(KnowledgeGraph(), database)
