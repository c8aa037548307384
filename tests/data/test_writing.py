"""Files and folders are whole or not there."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.data.writing import check_writable, present_folder, whole_file, whole_folder, write_json, write_text

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
    assert {path.name for path in folder.parent.iterdir()} == {"deep", ".deep.lock"}
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


def test_links_are_followed_and_private_files_stay_private(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    for name in ("file", "folder", "loop"):
        (tmp_path / name).symlink_to(tmp_path / ("loop" if name == "loop" else f"real/{name}"))
    for text in ("new", "newer"):
        write_text(tmp_path / "file", text)
        with whole_folder(tmp_path / "folder") as beside:
            write_text(beside / "part", text)
        assert (tmp_path / "real" / "file").read_text() == (tmp_path / "real" / "folder" / "part").read_text() == text
    assert (tmp_path / "file").is_symlink()
    assert (tmp_path / "folder").is_symlink()
    (tmp_path / "real" / "folder").rename(tmp_path / "real" / ".folder.old")  # as after a kill between two renames
    assert present_folder(tmp_path / "folder") == tmp_path / "real" / ".folder.old"
    (tmp_path / "file").chmod(0o600)
    write_text(tmp_path / "file", "secret")
    assert (tmp_path / "real" / "file").stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="loop: Too many levels of symbolic links"):
        write_text(tmp_path / "loop", "x")


# ---- names that nothing can be written to


@pytest.mark.parametrize("write", [lambda path: write_text(path, "x"), lambda path: whole_folder(path).__enter__()])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "is a folder that is there already, and no name to write to; give a name"),
        (".", "is a folder that is there already, and no name to write to"),
        ("/", "is a folder that is there already, and no name to write to"),
        ("deep/..", "is a folder that is there already, and no name to write to"),
        ("nul\0", "holds a character that no name of a file can have; choose another name"),
        ("lone\ud800", "holds a character that no name of a file can have; choose another name"),
        ("n" * 256, "cannot write n*: File name too long"),
        ("file/inside", "cannot write file/inside: Not a directory"),
    ],
)
def test_a_name_that_is_none_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any, name: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("old")
    for refused in (write, check_writable):
        with pytest.raises(InputError, match=told):
            refused(Path(name))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert Path("file").read_text() == "old"


def test_a_name_that_is_too_long_is_told_before_its_folder_is_made(tmp_path: Path) -> None:
    for place in (tmp_path / "new" / ("n" * 256), tmp_path / ("n" * 256) / "file"):
        with pytest.raises(InputError, match=r"cannot write .*: File name too long"):
            check_writable(place)
    assert not list(tmp_path.iterdir())


def test_the_longest_names_are_written(tmp_path: Path) -> None:
    write_text(tmp_path / ("ö" * 127), "x")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["x"]


def test_text_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*file: '.ud800' in 'mud .ud800 earth' is no character"):
        write_text(tmp_path / "file", "mud \ud800 earth")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    for refused in (check_writable, lambda path: write_text(path, "x")):
        with pytest.raises(InputError, match=r"cannot write .*deep.file: "):
            refused(tmp_path / "deep" / "file")


def test_a_device_is_written_to_and_stays_one() -> None:
    write_text(Path("/dev/null"), "x")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(InputError, match="cannot write /dev/full: No space left on device"):
        write_text(Path("/dev/full"), "x")


def test_a_folder_does_not_take_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(InputError, match=r"cannot write .*file: Not a directory"), whole_folder(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "old"


# ---- several writers, and those that were killed

WRITER = """
import sys, time
from pathlib import Path
from gumption.data.writing import whole_file, whole_folder
path, make = Path(sys.argv[1]), {"file": whole_file, "folder": whole_folder}[sys.argv[2]]
with make(path) as beside:
    (beside / "part" if sys.argv[2] == "folder" else beside).write_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""


def begun(path: Path, kind: str) -> subprocess.Popen[str]:
    """A process that is writing, and ends well when its input does."""
    command = [sys.executable, "-c", WRITER, str(path), kind]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_next_writer_removes_what_a_killed_one_left_and_nothing_of_a_living_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "here"
    living, dead = begun(path, kind), begun(path, kind)
    dead.kill()
    dead.communicate()
    others = [tmp_path / ".other.00000000-1-00000000.part", tmp_path / ".here.00000000-1-00000000.part"]
    for other in others:  # of another name, and of another machine
        other.touch()
    assert len(list(tmp_path.glob(".here.*.part"))) == 3
    if kind == "file":
        write_text(path, "new")
    else:
        with whole_folder(path) as beside:
            (beside / "new").touch()
    assert len(list(tmp_path.glob(".here.*.part"))) == 2
    assert all(other.exists() for other in others)
    living.communicate()  # which writes last
    assert living.returncode == 0
    assert (path / "part" if kind == "folder" else path).read_text() == "half"
    lock = {".here.lock"} if kind == "folder" else set()
    assert {each.name for each in tmp_path.iterdir()} == {"here", *(other.name for other in others)} | lock


MANY = """
import sys
from pathlib import Path
from gumption.data.writing import whole_folder
for _ in range(100):
    with whole_folder(Path(sys.argv[1])) as beside:
        for name in ("a", "b"):
            (beside / name).write_text(sys.argv[2])
"""


def test_of_two_writers_of_a_folder_one_wins_and_none_is_mixed(tmp_path: Path) -> None:
    path = tmp_path / "here"
    writers = [
        subprocess.Popen([sys.executable, "-c", MANY, path, who], stderr=subprocess.PIPE, text=True) for who in "xy"
    ]
    for writer in writers:
        assert writer.communicate()[1] == ""
    assert (path / "a").read_text() == (path / "b").read_text()
    assert {each.name for each in tmp_path.iterdir()} == {"here", ".here.lock"}
