"""Import WordNet (Miller, "WordNet: A Lexical Database for English", CACM 1995; Fellbaum 1998) with nltk.

Entities are synsets with nltk's names, "dog.n.01" (first lemma, part of speech, number of the sense), and lemmas:
(dog.n.01, hasLemma, dog) links a word to its synsets. Of two inverse relations only one is stored: hypernym, not
hyponym; meronym, not holonym. Relations between lemmas of two synsets (antonym, derivationallyRelated, ...) are stored
between the synsets, as in WN18RR.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.settings import checked

from .external import Imported, Tally, WeightedFact, store

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    from gumption.kg.graph import KnowledgeGraph

HAS_LEMMA = "hasLemma"
# Relation -> method of nltk's Synset; the comments are names in WN18RR.
SYNSET_RELATIONS = {
    "hypernym": "hypernyms",  # _hypernym
    "instanceHypernym": "instance_hypernyms",  # _instance_hypernym
    "memberMeronym": "member_meronyms",  # _member_meronym
    "partMeronym": "part_meronyms",  # _has_part
    "substanceMeronym": "substance_meronyms",
    "attribute": "attributes",
    "entails": "entailments",
    "causes": "causes",
    "similarTo": "similar_tos",  # _similar_to
    "verbGroup": "verb_groups",  # _verb_group
}
# Relations of lemmas; some of them also exist for synsets.
LEMMA_RELATIONS = {
    "antonym": "antonyms",
    "derivationallyRelated": "derivationally_related_forms",  # _derivationally_related_form
    "pertainsTo": "pertainyms",
    "alsoSee": "also_sees",  # _also_see
    "topicDomain": "topic_domains",  # _synset_domain_topic_of
    "regionDomain": "region_domains",  # the inverse of _member_of_domain_region
    "usageDomain": "usage_domains",  # the inverse of _member_of_domain_usage
}
_NEEDED = ("index.noun", "index.verb", "index.adj", "index.adv", "data.noun", "data.verb", "data.adj", "data.adv")
# nltk's reader also opens these files, which some distributions lack: names of lexicographers' files, irregular
# inflections. No fact depends on them.
_FILLED_IN = {
    "lexnames": "".join(f"{number:02d}\tunnamed\t0\n" for number in range(100)),
    **{f"{part}.exc": "" for part in ("noun", "verb", "adj", "adv")},
}


@checked
def import_wordnet(graph: "KnowledgeGraph", folder: str | PathLike[str], *, name: str = "wordnet") -> Imported:
    """Add WordNet's database files (data.noun, index.noun, ...) to a named graph, with Princeton's notice.

    nltk keeps all synsets in memory while it reads (0.6 GB for WordNet 3.1).

    :returns: counts of synsets in place of lines.
    :raises InputError: missing or broken files, or files that nltk refuses because others may write them.
    """
    folder = Path(folder)
    _check(folder)
    tally = Tally(folder)
    return store(graph, name, _facts(folder, tally), tally, lambda: about(folder))


def about(folder: Path) -> dict[str, str]:
    """Return the annotations of a graph with WordNet's facts: source, licence, attribution, notice."""
    said = notice(folder / "data.noun")
    return {
        "source": "WordNet (https://wordnet.princeton.edu)",
        "license": "WordNet License (https://wordnet.princeton.edu/license-and-commercial-use)",
        "attribution": "Princeton University, WordNet (https://wordnet.princeton.edu)",
        # The licence requires its notice in every copy.
        **({"rights": said} if said else {}),
    }


def _check(folder: Path) -> None:
    missing = [file for file in _NEEDED if not (folder / file).is_file()]
    if missing:
        raise InputError(
            f"{folder} is not WordNet's database: it lacks {', '.join(missing)}. The folder is called dict in the "
            "archive that `gumption data fetch wordnet` gets: unpack it first"
        )


@contextmanager
def opened(folder: Path) -> Iterator["WordNetCorpusReader"]:
    """Open a folder with nltk's reader in a `with` block; files on which no fact depends may be missing.

    :raises InputError: missing files, or files that nltk refuses because others may write them; no nltk.
    """
    with extra("wordnet", "WordNet"):
        import nltk.data
        from nltk.corpus.reader.wordnet import WordNetCorpusReader, WordNetError

    class Reader(WordNetCorpusReader):
        def open(self, file: str) -> Any:
            if file in _FILLED_IN and not Path(str(self._root), file).is_file():
                return io.StringIO(_FILLED_IN[file])
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the map to WordNet 3.0, which is for other languages and needs nltk's own copy."""

    _check(folder)
    place = str(folder.resolve())
    nltk.data.path.append(place)  # nltk reads no other folders
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about missing other languages
            reader = Reader(place, None)
        yield reader
    except PermissionError as error:
        raise InputError(f"cannot read WordNet in {folder}: {error}") from None
    except WordNetError as error:  # callers may lack nltk, so raise a built-in class
        raise LookupError(*error.args) from error
    finally:
        nltk.data.path.remove(place)


def _facts(folder: Path, tally: Tally) -> Iterator[WeightedFact]:
    try:
        with opened(folder) as reader:
            for synset in reader.all_synsets():
                tally.lines += 1
                yield from _about_synset(synset)
    except InputError:
        raise
    except (AssertionError, LookupError, ValueError, RuntimeError) as error:
        raise InputError(f"{folder} is a broken WordNet database, after {tally.lines} synsets: {error}") from None


def _about_synset(synset: Any) -> Iterator[WeightedFact]:
    subject = synset.name()
    lemmas = synset.lemmas()
    for lemma in dict.fromkeys(lemma.name().replace("_", " ") for lemma in lemmas):
        yield subject, HAS_LEMMA, lemma, 1.0
    for relation, method in SYNSET_RELATIONS.items():
        for other in sorted({found.name() for found in getattr(synset, method)()}):
            yield subject, relation, other, 1.0
    for relation, method in LEMMA_RELATIONS.items():
        others = {found.synset().name() for lemma in lemmas for found in getattr(lemma, method)()}
        if hasattr(synset, method):
            others |= {found.name() for found in getattr(synset, method)()}
        for other in sorted(others):
            yield subject, relation, other, 1.0


def notice(file: Path) -> str:
    """Read the licence at the top of a database file, whose lines begin with two spaces and a number."""
    with file.open(encoding="utf-8", errors="replace") as content:
        lines = takewhile(lambda line: line.startswith("  "), content)
        return "\n".join("".join(line.split(maxsplit=1)[1:]).strip() for line in lines)
