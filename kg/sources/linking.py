"""Link the words of a graph to the entities of another: which ConceptNet concept matches the task's "trainyard"?

The methods run in this order, each on the labels that earlier methods did not link:

- exact: the same text, apart from case, underscores, hyphens and runs of spaces;
- lemma: the same words in their dictionary form (simplemma), "wolves" and "wolf", "melted ice" and "melting ice", or
  written together or apart, "milk shake" and "milkshake";
- compound: the head of a compound, in English on the right: "trainyard" is a yard, if both "train" and "yard" are
  targets; "strawberry ice cream" is an ice cream; the head of "house of cards" is "house", of "bat (animal)" "bat".
  Compounds such as "hot dog" are linked wrongly; the relation of the link marks the method;
- nearest: the target with the smallest cosine distance (1 - cosine) between its word vector and the label's; a distance
  above a threshold is refused. All words of a name need a vector: without its unknown word "nucleic acid" would look
  like "acid". A small distance does not prove the same meaning: "life" is near "lifework".

A label gets one link, possibly without a target. Of several targets the label's own spelling is preferred, then the
first in sorted order, so that the order of the arguments does not matter.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, cast

import numpy as np
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.label_words import label_words, tokens, two_parts
from gumption.data.settings import checked
from gumption.kg.vocabulary import LINKS, WEIGHTS, unknown_label

from .weights import add_weighted

if TYPE_CHECKING:
    from gumption.kg.graph import KnowledgeGraph

    from .words import WordVectors

METHODS = ("exact", "lemma", "compound", "nearest")
REFUSED, NONE = "refused", "none"
KINDS = (*METHODS, REFUSED, NONE)
MAX_DISTANCE = 0.4
Distance = Annotated[float, Ge(0), Le(2)]
DECIMALS = 5  # of cosines
# Numbers of targets and of labels whose cosines are in memory at a time (64 MB).
CHUNK, BLOCK = 1 << 14, 1 << 10

_GAP = re.compile(r"[\s_-]+")
_SENSE = re.compile(r" \([^()]+\)$")
_PREPOSITION = re.compile(r" (?:of|in|on|at|for|from|with|to|by) ")


@dataclass(frozen=True)
class Link:
    """A label and its target.

    :ivar target: None if no method links the label.
    :ivar method: without a target, "refused" if the nearest target is too far, else "none".
    :ivar score: 1 for exact and lemma; the target's length relative to the label's (in letters, at most 1) for
        compound; the cosine with the nearest target for nearest and refused; 0 for none.
    """

    label: str
    target: str | None
    method: str
    score: float

    @property
    def distance(self) -> float | None:
        """Return the cosine distance to the nearest target, from 0 to 2, for nearest and refused; else None."""
        return round(1 - self.score, DECIMALS) if self.method in ("nearest", REFUSED) else None


@checked
def link(
    labels: Iterable[str],
    targets: Iterable[str],
    *,
    vectors: "WordVectors | None" = None,
    methods: Sequence[str] = METHODS,
    max_distance: Distance = MAX_DISTANCE,
) -> list[Link]:
    """Link each distinct label; returns the links in sorted order.

    :param targets: the other graph's entities; a million take seconds.
    :param vectors: word vectors for nearest, which is skipped without them.
    :param methods: the methods to try, always in the order of METHODS.
    :param max_distance: the largest cosine distance that nearest accepts; 0 allows only the same direction.
    :raises InputError: an unknown method, or a distance outside [0, 2].
    """
    for method in methods:
        if method not in METHODS:
            raise InputError(unknown_label("method of linking", method, METHODS))
    open_labels = sorted(set(labels))
    names = sorted(set(targets))
    index = _Index(names)
    found: dict[str, Link] = {}
    for method, find in (("exact", index.exact), ("lemma", index.lemma), ("compound", index.compound)):
        if method in methods:
            if method == "lemma":
                index.prepare_lemmas(open_labels)
            for label in open_labels:
                if (target := find(label)) is not None:
                    score = 1.0
                    if method == "compound":
                        score = min(1.0, len(_letters(_folded(target))) / len(_letters(_folded(label))))
                    found[label] = Link(label, target, method, score)
            open_labels = [label for label in open_labels if label not in found]
    if "nearest" in methods and vectors is not None:
        found |= {each.label: each for each in _nearest(open_labels, names, vectors, max_distance)}
    every = sorted(set(open_labels) | set(found))
    return [found.get(label, Link(label, None, NONE, 0.0)) for label in every]


@checked
def coverage(links: Sequence[Link]) -> dict[str, int]:
    """Count the labels by method, in the order of METHODS, then "refused" and "none"."""
    counts = Counter(each.method for each in links)
    return {method: counts[method] for method in KINDS}


@checked
def add_links(graph: "KnowledgeGraph", links: Iterable[Link], name: str) -> int:
    """Add links to a named graph such as "links/wordcraft/conceptnet"; returns the number of new links.

    `LINKS` maps each method to a relation; the score becomes the fact's weight (weights.py). With both graphs in the
    same store, a query follows the links between them:

        PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
        SELECT ?ingredient ?concept ?use {
          GRAPH ?task  { ?ingredient gum:componentOf ?goal }
          GRAPH ?links { ?ingredient skos:exactMatch|skos:closeMatch|skos:broadMatch ?concept }
          GRAPH ?other { ?concept gum:UsedFor ?use }
        }

    with `task="wordcraft/train", links="links/wordcraft/conceptnet", other="conceptnet", goal="acid rain"`.
    """
    made = [each for each in links if each.target is not None]
    facts = [(each.label, LINKS[each.method], str(each.target)) for each in made]
    return add_weighted(graph, facts, [each.score for each in made], name)


@checked
def remove_links(graph: "KnowledgeGraph", labels: Iterable[str], targets: Iterable[str], name: str) -> int:
    """Remove the links, and their weights, from labels to targets in a named graph; returns the number of links."""
    labels, targets, relations = frozenset(labels), frozenset(targets), frozenset(LINKS.values())
    made = [
        (label, relation, target)
        for label, relation, target in graph.triples(graph=name)
        if relation in relations and label in labels and target in targets
    ]
    pairs = {(label, target) for label, _, target in made}
    weights = [fact for fact in graph.triples(graph=name + WEIGHTS) if (fact[0], fact[2]) in pairs]
    graph.remove(weights, graph=name + WEIGHTS)
    return graph.remove(made, graph=name)


class _Index:
    """An index of the targets by spelling and by dictionary form."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._by_spelling: dict[str, str] = {}
        for target in targets:
            self._by_spelling.setdefault(_folded(target), target)
        self._targets = frozenset(targets)
        self._by_lemma: dict[str, str] = {}
        self._by_letters: dict[str, str] = {}

    def prepare_lemmas(self, labels: Collection[str]) -> None:
        """Index the dictionary forms of the targets that a label could match.

        An inflected word has the first letter of its dictionary form, with few exceptions such as "went", so that most
        of a million targets can be skipped.
        """
        forms = [_lemma(_folded(label)) for label in labels]
        initials = {tuple(word[:1] for word in form.split(" ")) for form in forms}
        letters = {_letters(_folded(label)) for label in labels}
        for spelling, target in self._by_spelling.items():
            if tuple(word[:1] for word in spelling.split(" ")) in initials:
                self._by_lemma.setdefault(_lemma(spelling), target)
            if (together := _letters(spelling)) in letters:
                self._by_letters.setdefault(together, target)

    def exact(self, label: str) -> str | None:
        return label if label in self._targets else self._by_spelling.get(_folded(label))

    def lemma(self, label: str) -> str | None:
        form = _lemma(_folded(label))
        # Prefer a target in dictionary form to an inflected target.
        return self._by_spelling.get(form) or self._by_letters.get(_letters(_folded(label))) or self._by_lemma.get(form)

    def compound(self, label: str) -> str | None:
        phrase = _PREPOSITION.split(_SENSE.sub("", _folded(label)))[0]
        words = phrase.split(" ")
        if phrase != _folded(label) and (whole := self._known(phrase)):
            return whole
        for start in range(1, len(words)):
            if head := self._known(" ".join(words[start:])):
                return head
        if len(words) == 1:
            for left, right in two_parts(phrase):
                if self._known(left) and (head := self._known(right)):
                    return head
        return None

    def _known(self, phrase: str) -> str | None:
        return self._by_spelling.get(phrase) or self._by_spelling.get(_lemma(phrase))


def _folded(label: str) -> str:
    """Return the label in lower case, with single spaces for underscores, hyphens and spaces."""
    return _GAP.sub(" ", label.casefold()).strip()


def _letters(spelling: str) -> str:
    return spelling.replace(" ", "")


def _lemma(spelling: str) -> str:
    return " ".join(map(_word_lemma(), spelling.split(" ")))


@lru_cache(maxsize=1)
def _word_lemma() -> Callable[[str], str]:
    from simplemma import lemmatize

    @lru_cache(maxsize=200_000)
    def lemma(word: str) -> str:
        return lemmatize(word, lang="en").casefold() if word else ""

    return lemma


def _nearest(
    labels: Sequence[str], targets: Sequence[str], vectors: "WordVectors", max_distance: float
) -> Iterable[Link]:
    """Link each label with a vector to the nearest of the sorted targets, or refuse that target."""
    from scipy.sparse import csr_array

    word_ids = cast("Mapping[str, int]", vectors.keyed.key_to_index)
    words = vectors.keyed.vectors.astype(np.float32, copy=False)  # (words, dimensions)

    # A million targets consist of far fewer distinct words.
    in_words = lru_cache(maxsize=200_000)(lambda word: label_words(word, word_ids))

    def words_of(name: str) -> list[str]:
        """Return the words of a name as `label_words` does; an empty list if any word has no vector."""
        if name.lower() in word_ids:
            return [name.lower()]
        known: list[str] = []
        for word in tokens(name):
            found, unknown = in_words(word)
            if unknown:
                return []
            known += found
        return known

    def unit_rows(names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return (k, dimensions) unit vectors of the names with vectors, and the (k,) int64 indices of these names.

        The product of a sparse table of words with the vectors sums the words of all names. The sums have the direction
        of the means that `WordVectors.vectors` computes.
        """
        parts = [words_of(name.replace("_", " ")) for name in names]
        ends = np.cumsum([0, *map(len, parts)])
        columns = np.fromiter((word_ids[word] for part in parts for word in part), np.int64, ends[-1])
        table = csr_array((np.ones(len(columns), np.float32), columns, ends), shape=(len(names), len(words)))
        sums = table @ words
        lengths = np.linalg.norm(sums, axis=1)
        rows = np.flatnonzero(lengths)
        return sums[rows] / lengths[rows, None], rows

    wanted, which = unit_rows(labels)
    best = np.full(len(wanted), -np.inf, dtype=np.float32)
    choice = np.zeros(len(wanted), dtype=np.int64)
    for start in range(0, len(targets) if len(wanted) else 0, CHUNK):
        units, rows = unit_rows(targets[start : start + CHUNK])
        if not len(rows):
            continue
        for first in range(0, len(wanted), BLOCK):
            block = slice(first, first + BLOCK)
            # Rounding makes targets with the same words in another order tie, so that the first target is taken.
            cosines = np.round(wanted[block] @ units.T, DECIMALS)
            at = cosines.argmax(axis=1)
            largest = cosines[np.arange(len(cosines)), at]
            better = largest > best[block]
            best[block][better] = largest[better]
            choice[block][better] = start + rows[at[better]]
    for row, (cosine, target) in enumerate(zip(best.tolist(), choice.tolist(), strict=True)):
        if cosine == -np.inf:  # no target has a vector
            continue
        label, score = labels[int(which[row])], round(cosine, DECIMALS)
        refused = round(1 - score, DECIMALS) > max_distance
        yield Link(label, None, REFUSED, score) if refused else Link(label, targets[target], "nearest", score)
