"""Files and folders are whole or not there."""

import subprocess
import sys
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.data.writing import present_folder, whole_file, whole_folder, write_json, write_text

# A limit on the size of files stands for a disk that is full.
FULL = """
import resource, sys
from pathlib import Path
from gumption.data.writing import write_text
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
write_text(Path(sys.argv[1]), "x" * 5000)
"""


def fail_in_the_middle(path: Path) -> None:
    path.write_text("half", encoding="utf-8")
    raise ZeroDivisionError


def test_a_file_and_its_folders_are_made_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "file.json"
    write_json(path, {"ö": [1, 2.5]})
    assert path.read_text(encoding="utf-8").endswith("}\n")
    write_text(path, "ü\n")
    assert path.read_bytes() == "ü\n".encode()
    assert [other.name for other in path.parent.iterdir()] == ["file.json"]


def test_nothing_is_left_of_what_failed(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")
    with pytest.raises(ZeroDivisionError), whole_file(path) as beside:
        fail_in_the_middle(beside)
    assert path.read_text(encoding="utf-8") == "old"
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*folder: Is a directory"):
        write_text(tmp_path / "folder", "text")
    with pytest.raises(InputError, match=r"cannot write .*file\.txt.x: "):
        write_text(path / "x", "text")
    assert sorted(other.name for other in tmp_path.iterdir()) == ["file.txt", "folder"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=False)
    assert "InputError: cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert path.read_text(encoding="utf-8") == "old"
    assert [other.name for other in tmp_path.iterdir()] == ["file.txt"]


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "deep"
    for name in ("a", "b"):
        with whole_folder(folder) as beside:
            (beside / name).write_text(name, encoding="utf-8")
        assert [path.name for path in folder.iterdir()] == [name]
    assert [path.name for path in folder.parent.iterdir()] == ["deep"]
    assert present_folder(folder) == folder
    folder.rename(folder.with_name(".deep.old"))  # as after a kill between two renames
    assert present_folder(folder) == folder.with_name(".deep.old")
    assert present_folder(tmp_path / "other") == tmp_path / "other"


def test_a_folder_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with whole_folder(folder) as beside:
        (beside / "a").touch()
    with pytest.raises(ZeroDivisionError), whole_folder(folder) as beside:
        fail_in_the_middle(beside / "b")
    with pytest.raises(InputError, match=r"cannot write .*folder: No such file"), whole_folder(folder) as beside:
        (beside / "missing" / "b").touch()
    assert [path.name for path in folder.iterdir()] == ["a"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(InputError, match=r"cannot write .*folder.a.x: "), whole_folder(folder / "a" / "x"):
        pass
