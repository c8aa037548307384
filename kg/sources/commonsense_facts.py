"""Commonsense about the words of the recipe book, beside its recipes: the checks of the graph that ships, and the maker
of its part from WordNet.

    python -m gumption.kg.sources.commonsense_facts                          # check the graph that ships
    python -m gumption.kg.sources.commonsense_facts FILE --wordnet dict      # make its facts of WordNet anew

Each line is a fact and its origin: subject, relation, object, origin, separated by tabs. Facts of origin `own` are
written by hand in the file. Facts of origin `wordnet` are extracted from the database files of WordNet 3.0 (`gumption
data fetch wordnet` downloads 3.1, whose senses are numbered differently). For each word, in the sense listed in
`wordnet_senses.tsv`, they are its hypernyms up to the top, its parts and wholes, and its substances.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gumption.data import InputError, path
from gumption.data.errors import extra
from gumption.data.manifest import ROOT
from gumption.data.tables import FACT
from gumption.kg.vocabulary import Triple, unknown_label

NAME = "commonsense-facts"
SENSES = ROOT / "graphs" / "wordnet_senses.tsv"
REFUSED = ROOT / "graphs" / "wordnet_refused.tsv"  # facts of WordNet, reviewed and rejected as not commonsense
LICENCE = "WORDNET-LICENSE.txt"  # in the folder of the graph
IS_A, PART_OF, MADE_OF = "isA", "partOf", "madeOf"
RELATIONS = (IS_A, PART_OF, MADE_OF, "usedFor", "foundAt", "does", "hasProperty")
OWN, WORDNET = "own", "wordnet"
ORIGINS = (OWN, WORDNET)
#: Requirements on the graph: minimum number of facts in all, per relation, per word; maximum share of facts of origins
#: other than `own`, and of isA.
MIN_FACTS, MIN_OF_RELATION, MIN_OF_WORD, MAX_SHARE = 6_000, 300, 3, 0.5
LABEL = re.compile(r"[a-z0-9]+(?:[ '-][a-z0-9]+)*(?: \([a-z]+\))?")
NO_SENSE = "-"

Fact = tuple[str, str, str, str]  # subject, relation, object, origin
Synset = Any  # nltk's class, which has no type annotations


# ---- The file


def read(file: Path) -> list[Fact]:
    """Read the facts of a file with their origins, in order: fact i is on line i + 1.

    :raises InputError: a file that cannot be read; with its number, a line without four columns or a known origin.
    """
    facts: list[Fact] = []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read as text ({error})") from None
    for number, line in enumerate(lines, start=1):
        cells = line.split("\t")
        if len(cells) == 3:
            raise InputError(
                f"{file}:{number}: no origin; a fourth column says where the fact is from: {' or '.join(ORIGINS)}"
            )
        if len(cells) != 4:
            raise InputError(f"{file}:{number}: {len(cells)} columns; a fact has {', '.join(FACT.parts)} and origin")
        if cells[3] not in ORIGINS:
            raise InputError(f"{file}:{number}: {unknown_label('origin', cells[3], ORIGINS)}")
        facts.append((cells[0], cells[1], cells[2], cells[3]))
    return facts


def faults(facts: Sequence[Fact], words: Collection[str]) -> list[tuple[int, str]]:
    """List the numbers of wrong lines, with the reason.

    :param words: the words of the book; each fact must contain a word, or a kind (hypernym) of a word.
    """
    known, found = set(words) | kinds(facts, words), []
    seen: dict[Triple, int] = {}
    for line, (subject, relation, object_, _) in enumerate(facts, start=1):
        fact = subject, relation, object_
        if relation not in RELATIONS:
            found.append((line, unknown_label("relation", relation, RELATIONS)))
        elif bad := next((label for label in (subject, object_) if not LABEL.fullmatch(label)), None):
            found.append((line, f"{bad!r} is no label: small letters, and one space between words"))
        elif subject == object_:
            found.append((line, f"{subject!r} is said of itself"))
        elif fact in seen:
            found.append((line, f"the same fact as in line {seen[fact]}"))
        elif not known & {subject, object_}:
            found.append((line, f"{subject!r} and {object_!r}: neither is a word of the book or a kind of one"))
        seen.setdefault(fact, line)
    return found


def kinds(facts: Sequence[Fact], words: Collection[str]) -> set[str]:
    """Return the kinds of the words: everything reached by one or more isA facts, without the words themselves."""
    of: defaultdict[str, set[str]] = defaultdict(set)
    for subject, relation, object_, _ in facts:
        if relation == IS_A:
            of[subject].add(object_)
    reached, waiting = set(), list(words)
    while waiting:
        new = of[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached - set(words)


def shortfalls(facts: Sequence[Fact], words: Collection[str]) -> list[str]:
    """Describe the requirements that the graph does not meet; an empty list if it meets all."""
    of_relation = Counter(relation for _, relation, _, _ in facts)
    taken = sum(origin != OWN for _, _, _, origin in facts)
    of_word = Counter(label for subject, _, object_, _ in facts for label in {subject, object_})
    told = [] if len(facts) >= MIN_FACTS else [f"{len(facts):,} facts; {MIN_FACTS:,} are asked for"]
    told += [
        f"{of_relation[relation]} facts of {relation}; {MIN_OF_RELATION} are asked for"
        for relation in RELATIONS
        if of_relation[relation] < MIN_OF_RELATION
    ]
    shares = {"from another source": taken, f"of {IS_A}": of_relation[IS_A]}
    told += [
        f"{many / len(facts):.1%} {which}; at most {MAX_SHARE:.0%} are allowed"
        for which, many in shares.items()
        if many > MAX_SHARE * len(facts)
    ]
    if few := sorted(word for word in words if of_word[word] < MIN_OF_WORD):
        told.append(f"{len(few)} words with fewer than {MIN_OF_WORD} facts: {', '.join(few)}")
    return told


# ---- WordNet

#: Synsets too general to be informative: the search for hypernyms ends there.
TOP = frozenset(
    f"{name}.n.{sense:02d}"
    for name, sense in (
        ("abstraction", 6), ("act", 2), ("agent", 3), ("article", 2), ("artifact", 1), ("assets", 1), ("attribute", 2),
        ("causal_agent", 1), ("change", 1), ("cognition", 1), ("commodity", 1), ("communication", 2), ("condition", 1),
        ("consumer_goods", 1), ("content", 5), ("durable_goods", 1), ("entity", 1), ("event", 1), ("expanse", 3),
        ("fundamental_quantity", 1), ("group", 1), ("happening", 1), ("indefinite_quantity", 1), ("infinite", 1),
        ("instrumentality", 3), ("location", 1), ("magnitude", 1), ("matter", 3), ("measure", 2), ("medium", 1),
        ("molecule", 1), ("natural_object", 1), ("object", 1), ("part", 1), ("part", 3), ("phenomenon", 1),
        ("physical_entity", 1), ("point", 2), ("process", 6), ("property", 2), ("psychological_feature", 1),
        ("region", 1), ("relation", 1), ("representation", 2), ("round_shape", 1), ("small_indefinite_quantity", 1),
        ("standard", 1), ("state", 2), ("substance", 1), ("substance", 7), ("system_of_measurement", 1), ("thing", 8),
        ("thing", 12), ("transferred_property", 1), ("unit", 6), ("ware", 1), ("whole", 2), ("yield", 3),
    )
)  # fmt: skip


def read_senses(file: Path = SENSES) -> dict[str, str]:
    """Read word of the book -> its synset, "" if WordNet has none; InputError with the line."""
    senses: dict[str, str] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        word, tab, synset = line.partition("\t")
        if not tab or not synset or word in senses:
            raise InputError(f"{file}:{number}: expected a word, once, a tab and its synset, or {NO_SENSE} for none")
        senses[word] = "" if synset == NO_SENSE else synset
    return senses


class WordNetFacts:
    """Extract WordNet's facts about words in chosen senses.

    The label of a synset is the word of the book with this sense. Other synsets are labelled by the first of their
    lemmas whose most frequent sense is the synset, which consists of `plain` words and is no word of the book. A synset
    without a label is skipped in the search for hypernyms.
    """

    def __init__(self, reader: Any, senses: Mapping[str, str], plain: frozenset[str]) -> None:
        """:raises InputError: a sense that WordNet does not have."""
        with extra("wordnet", "WordNet"):
            from nltk.corpus.reader.wordnet import WordNetError

        self.words: dict[str, list[str]] = {}  # synset -> words of the book
        self._plain, self._reader = plain, reader
        for word, synset in senses.items():
            if synset:
                try:
                    reader.synset(synset)
                except (WordNetError, ValueError):
                    raise InputError(f"{word!r}: this WordNet has no synset {synset!r}") from None
                self.words.setdefault(synset, []).append(word)
        self._taken = {word.partition(" (")[0] for word in senses}
        self.label = cache(self._label)

    def facts(self, refused: Collection[Triple] = ()) -> list[Triple]:
        """Return each fact once, in sorted order.

        isA links a word to its nearest kinds (labelled hypernyms), these to theirs, and a word to each word of the book
        among its hypernyms. In part and substance facts both labels are words of the book, kinds or single plain words.
        A word also inherits those parts of its hypernyms that are words of the book.

        :param refused: facts to leave out, with everything reached only through them.
        """
        found: set[Triple] = set()
        waiting, seen = [self._reader.synset(name) for name in self.words], set[str]()
        while waiting:
            synset = waiting.pop()
            if synset.name() in seen:
                continue
            seen.add(synset.name())
            for kind in self._kinds(synset):
                new = {(word, IS_A, str(self.label(kind))) for word in self._labels(synset)}.difference(refused)
                found |= new
                waiting += [kind] if new else []
        known = {label for subject, _, object_ in found for label in (subject, object_)}
        more: set[Triple] = set()
        for name, words in self.words.items():
            synset = self._reader.synset(name)
            more |= {fact for fact in self._parts(synset) if all(x in known or " " not in x for x in fact[::2])}
            above = set(synset.closure(lambda kind: (*kind.hypernyms(), *kind.instance_hypernyms())))
            more |= {
                (word, IS_A, kind) for word in words for other in above for kind in self.words.get(other.name(), ())
            }
            for other in above:
                parts = (part for meronym in other.part_meronyms() for part in self.words.get(meronym.name(), ()))
                more |= {(part, PART_OF, word) for part in parts for word in words}
        found |= more.difference(refused)
        return sorted(fact for fact in found if fact[0] != fact[2])

    def _labels(self, synset: Synset) -> list[str]:
        label = self.label(synset)
        return self.words.get(synset.name()) or ([label] if label else [])

    def _kinds(self, synset: Synset) -> Iterator[Synset]:
        """Yield the nearest hypernyms that have a label."""
        for kind in (*synset.hypernyms(), *synset.instance_hypernyms()):
            if kind.name() in TOP:
                continue
            if self.label(kind):
                yield kind
            else:
                yield from self._kinds(kind)

    def _parts(self, synset: Synset) -> Iterator[Triple]:
        for relation, wholes, parts in (
            (PART_OF, (*synset.part_holonyms(), *synset.member_holonyms()), synset.part_meronyms()),
            (MADE_OF, synset.substance_meronyms(), synset.substance_holonyms()),
        ):
            for word in self.words[synset.name()]:
                yield from ((word, relation, other) for whole in wholes for other in self._labels(whole))
                yield from ((other, relation, word) for part in parts for other in self._labels(part))

    def _label(self, synset: Synset) -> str | None:
        if synset.name() in self.words:
            return self.words[synset.name()][0]
        for lemma in synset.lemma_names():
            label = lemma.replace("_", " ")
            first = self._reader.synsets(lemma, "n")[0].name() == synset.name()
            if first and LABEL.fullmatch(label) and label not in self._taken and self._plain.issuperset(label.split()):
                return label
        return None


def wordnet_facts(folder: Path, senses: Mapping[str, str], refused: Collection[Triple] = ()) -> list[Triple]:
    """Extract the facts of `WordNetFacts` from WordNet's database files.

    :raises InputError: missing files, or a sense that is not in them.
    """
    from .wordnet import opened
    from .words import WordVectors

    plain = frozenset(map(str, WordVectors.load().keyed.key_to_index))
    with opened(folder) as reader:
        return WordNetFacts(reader, senses, plain).facts(refused)


def make(file: Path, folder: Path) -> list[Fact]:
    """Replace the WordNet facts of a file. Write the annotations of both origins and WordNet's licence to its folder.
    Return all facts.

    :raises InputError: a wrong file, or no database of WordNet.
    """
    from gumption.kg import KnowledgeGraph

    from .wordnet import about, notice

    own = {(s, r, o) for s, r, o, origin in read(file) if origin == OWN}
    rows = (line.split("\t") for line in REFUSED.read_text(encoding="utf-8").splitlines())
    refused: list[Triple] = [(subject, relation, object_) for subject, relation, object_ in rows]
    made = [fact for fact in wordnet_facts(folder, read_senses(), refused) if fact not in own]
    graph = KnowledgeGraph()
    graph.add(own, graph=OWN)
    graph.add(made, graph=WORDNET)
    graph.annotate(OWN, {"source": "written for gumption", "license": "Apache-2.0"})
    graph.annotate(WORDNET, about(folder))
    graph.save(file)
    (file.parent / LICENCE).write_text(notice(folder / "data.noun") + "\n", encoding="utf-8")
    return read(file)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="the graph; the one that ships if none is given")
    parser.add_argument("--wordnet", type=Path, help="folder with WordNet's data.noun and so on: make its part anew")
    chosen: Any = parser.parse_args(arguments)
    try:
        file, words = chosen.file or path(NAME), read_senses()
        facts = read(file) if chosen.wordnet is None else make(file, chosen.wordnet)
        problems = [f"{file}:{line}: {fault}" for line, fault in faults(facts, words)]
        problems += [f"{file}: {told}" for told in shortfalls(facts, words)]
    except InputError as error:
        problems, facts = [f"error: {error}"], []
    for problem in problems:
        print(problem, file=sys.stderr)
    if facts:
        of_relation = Counter(relation for _, relation, _, _ in facts)
        of_origin = Counter(origin for _, _, _, origin in facts)
        told = [f"{many:,} {name}" for name, many in (*of_relation.most_common(), *of_origin.most_common())]
        print(f"{len(facts):,} facts: {', '.join(told)}")
    return 2 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
