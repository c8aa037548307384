"""JSON files are read, or refused in a sentence."""

from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.data.reading import read_json
from gumption.data.writing import write_json


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"ö": [1, 2.5, None]})
    assert read_json(tmp_path / "a.json") == {"ö": [1, 2.5, None]}


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.json: cannot be read \(No such file or directory\)$"):
        read_json(tmp_path / "a.json")
    with pytest.raises(InputError, match=r"a\.json: no plan there \(No such file or directory\)$"):
        read_json(tmp_path / "a.json", missing="no plan there")


@pytest.mark.parametrize(("content", "reason"), [(b'{"a": ', "Expecting value"), (b"\xff", "'utf-8' codec")])
def test_a_damaged_file_is_told(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.json: not valid JSON \({reason}.*\); correct it there, or make it"):
        read_json(tmp_path / "a.json")
    with pytest.raises(InputError, match=r"\); evaluate the run again$"):
        read_json(tmp_path / "a.json", advice="evaluate the run again")
