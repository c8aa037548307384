"""The shipped words have the properties that tasks count on."""

from collections import Counter

import pytest

from gumption.data import manifest
from gumption.envs.gradual.micro_tasks import SYNONYMS, filtered, load_words


def test_the_shipped_words() -> None:
    words = load_words()
    assert len(words) == len(set(words)) == 2395
    assert words.index("I") < 30
    assert all(word.isascii() and word.isalpha() and (word.islower() or word == "I") for word in words)
    lengths = Counter(map(len, words))
    assert (min(lengths), max(lengths)) == (1, 15)
    assert lengths.most_common(1)[0][0] == 4
    assert sum(map(len, words)) / len(words) == pytest.approx(5.8, abs=0.05)
    assert sum(map(len, words[:200])) / 200 < 4.5
    synonyms = {synonym for names in SYNONYMS.values() for synonym in names}
    assert synonyms - set(words) == {"together with", "&", "/"}


def test_the_manifest_states_their_licence() -> None:
    entry = manifest.shipped()["gradual-words"]
    assert entry.licence == "Apache-2.0"
    assert entry.path.read_text().split() == list(load_words())


def test_filtered_words_hold_no_synonym() -> None:
    words = load_words()
    left = filtered(words)
    assert 2000 < len(left) < len(words)
    assert list(left) == sorted(left, key=words.index)
    for word in ("or", "word", "land", "essay", "I"):
        assert (word in filtered((word,))) == (word == "I")
