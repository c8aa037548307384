"""The one writer of split files: what is written is read back, and any changed byte is found."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.split_files import SplitFormat, read_file, write_file, write_folder

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
)
CONTENTS = st.dictionaries(st.text(max_size=4).filter(lambda key: key not in ("schema", "sha256")), VALUES, max_size=4)
FORMATS = [
    SplitFormat("gumption/test-splits/1", sort_keys=sort_keys, ensure_ascii=ensure_ascii, indent=indent)
    for sort_keys in (False, True)
    for ensure_ascii in (False, True)
    for indent in (None, 1)
]


@settings(max_examples=40, deadline=None)
@given(CONTENTS, st.sampled_from(FORMATS), st.data())
def test_what_is_sealed_is_unsealed_and_a_changed_bit_found(content, form, data) -> None:
    sealed = form.seal(content)
    assert form.unseal(sealed, Path("x")) == content
    assert form.seal(form.unseal(sealed, Path("x"))) == sealed
    place, bit = data.draw(st.integers(0, len(sealed) - 1)), data.draw(st.integers(0, 7))
    changed = bytearray(sealed)
    changed[place] ^= 1 << bit
    with pytest.raises(InputError, match=r"^x: .* make it again"):
        form.unseal(bytes(changed), Path("x"))


def test_the_sha256_is_that_of_the_line_without_it() -> None:
    form = SplitFormat("gumption/test-splits/1", indent=1)
    told = json.loads(form.seal({"b": 1, "a": [2]}))
    line = '{"schema":"gumption/test-splits/1","b":1,"a":[2]}\n'
    assert told.pop("sha256") == hashlib.sha256(line.encode()).hexdigest()
    assert list(told) == ["schema", "b", "a"]


def test_another_schema_is_told() -> None:
    sealed = SplitFormat("gumption/test-splits/2").seal({})
    with pytest.raises(InputError, match=r"schema is 'gumption/test-splits/2', expected 'gumption/test-splits/1'"):
        SplitFormat("gumption/test-splits/1").unseal(sealed, Path("x"))


def test_a_file_is_left_alone_or_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "split.json"
    assert write_file(path, b"one")
    made = path.stat().st_ino
    assert not write_file(path, b"one")
    with pytest.raises(InputError, match="holds something else; choose another name, or replace it with --force"):
        write_file(path, b"two")
    assert (path.read_bytes(), path.stat().st_ino) == (b"one", made)
    assert write_file(path, b"two", force=True)
    assert read_file(path) == b"two"
    with pytest.raises(InputError, match=r"deep: cannot be read \(Is a directory\)"):
        write_file(tmp_path / "deep", b"one")
    with pytest.raises(InputError, match=r"none: cannot be read \(No such file or directory\); make it again"):
        read_file(tmp_path / "none")


def test_a_folder_is_whole_and_no_others_files_are_lost(tmp_path: Path) -> None:
    folder, possible = tmp_path / "splits", {"a", "b"}
    assert write_folder(folder, {"a": b"1", "b": b"2"}, possible)
    assert not write_folder(folder, {"a": b"1", "b": b"2"}, possible)
    with pytest.raises(InputError, match="holds other splits"):
        write_folder(folder, {"a": b"1"}, possible)
    assert write_folder(folder, {"a": b"1"}, possible, force=True)
    assert [path.name for path in folder.iterdir()] == ["a"]
    (folder / "mine").touch()
    with pytest.raises(InputError, match="holds mine, which belongs to no splits"):
        write_folder(folder, {"a": b"3"}, possible, force=True)
