"""The shipped words have the properties that tasks count on, and lists of one's own are checked."""

from collections import Counter
from pathlib import Path

import pytest

from gumption.data import InputError, manifest
from gumption.envs.gradual.mapping_tasks import SYNONYMS, filtered, load_words

PLAIN = [f"{first}{second}" for first in "bcdfghjklmnpqstvwxyz" for second in "bcdfghjklmnpqstvwxyz"]  # 400 words


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


def test_a_list_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    for text in ("\n".join(PLAIN), "\ufeff" + "\r\n".join(PLAIN) + "\r\n"):
        file.write_bytes(text.encode())
        assert load_words(file) == tuple(PLAIN)
    file.write_text("\n".join([*PLAIN, "naïve", "old-fashioned", "FALSE"]), encoding="utf-8")
    assert load_words(file)[-3:] == ("naïve", "old-fashioned", "FALSE")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*PLAIN, "bb"], r"words.txt:401: 'bb' stands in line 1 already; remove one of the two"),
        (["bb", "", "cc"], r"words.txt:2: the line is empty; remove it"),
        ([], r"words.txt:1: the line is empty"),
        (["bb", "two words"], r"words.txt:2: 'two words' holds a space; write one word a line"),
        (["bb\t"], r"words.txt:1: 'bb\\t' holds a space"),
        (["b.b"], r"words.txt:1: 'b.b' holds '.', which ends an answer or cannot be seen; remove it"),
        (["b\0b"], r"holds '\\x00', which ends an answer or cannot be seen"),
        (["bb", "żaba"], r"words.txt:2: 'żaba' holds 'ż', which is no character of latin-1 and so no single byte"),
        (
            [*PLAIN[1:], "word"],
            r"words.txt: 399 words remain without those that hold a synonym of an order, such as `or`; "
            r"add words until there are 400",
        ),
    ],
)
def test_a_bad_list(tmp_path: Path, lines: list[str], message: str) -> None:
    file = tmp_path / "words.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_words(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent.txt: cannot be read \(No such file or directory\); check the path"):
        load_words(tmp_path / "absent.txt")
    (tmp_path / "latin.txt").write_bytes("naïve".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin.txt: not UTF-8 text \(.* at byte 2\); save it as UTF-8"):
        load_words(tmp_path / "latin.txt")
