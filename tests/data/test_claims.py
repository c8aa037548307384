"""One process at a time writes a file: others wait or are told, and nothing of anybody's is lost."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.data.writing import sole_writer
from gumption.kg import KnowledgeGraph
from gumption.kg.store.stores import undone_if_new

HOLDER = """
import sys
from pathlib import Path
from gumption.data.writing import sole_writer
with sole_writer(Path(sys.argv[1]), wait=0):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process is writing there; it ends when its input does."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


def gumption(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gumption.scripts.cli", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_another_writer_is_told(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path / "a.nq"):
        with (
            pytest.raises(InputError, match=r"a\.nq: another process is writing there"),
            sole_writer(tmp_path / "a.nq", wait=0),
        ):
            pass
        with sole_writer(tmp_path / "b.nq", wait=0):
            pass  # another file is free
    with sole_writer(tmp_path / "a.nq", wait=0):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {".a.nq.lock", ".b.nq.lock"}


@pytest.mark.slow
def test_loads_into_one_file_lose_nothing(tmp_path: Path) -> None:
    """Each of three reads the file, adds its facts and replaces it; they begin while a fourth process writes there."""
    place = tmp_path / "all.nq"
    for part in range(3):
        (tmp_path / f"{part}.tsv").write_text("".join(f"{part}\tnextTo\t{part}-{i}\n" for i in range(50)))
    with held_elsewhere(place) as holder:
        loads = [gumption("kg", "load", str(place), str(tmp_path / f"{part}.tsv")) for part in range(3)]
        for load in loads:  # none of them is done while another one writes
            with pytest.raises(subprocess.TimeoutExpired):
                load.wait(timeout=0.5)
        assert not place.exists()
        assert holder.stdin is not None
        holder.stdin.close()
    for load in loads:
        out, err = load.communicate(timeout=60)
        assert (load.returncode, err) == (0, "")
        assert "50 new from" in out
    assert len(KnowledgeGraph.load(place)) == 150


def test_a_folder_that_another_one_made_first_is_not_removed(tmp_path: Path) -> None:
    """Both saw no folder; the slower one is refused, while the quicker one has not yet written a fact."""
    slower = ExitStack()
    slower.enter_context(undone_if_new(tmp_path / "kg"))
    quicker = KnowledgeGraph(tmp_path / "kg")
    with pytest.raises(InputError, match="it is in use"), slower:
        KnowledgeGraph(tmp_path / "kg")
    quicker.add([("fire", "componentOf", "steam")], graph="mine")
    quicker.close()
    with KnowledgeGraph(tmp_path / "kg", read_only=True) as graph:
        assert len(graph) == 1


def test_a_new_folder_without_facts_is_removed(tmp_path: Path) -> None:
    made = ExitStack()
    made.enter_context(undone_if_new(tmp_path / "kg"))
    KnowledgeGraph(tmp_path / "kg").close()
    assert (tmp_path / "kg").exists()
    with pytest.raises(InputError), made:
        raise InputError("nothing was read")
    assert not (tmp_path / "kg").exists()


def test_two_fits_into_one_folder(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("a\tnextTo\tb\nb\tnextTo\tc\n")
    with held_elsewhere(tmp_path / "model"):
        fit = gumption("kg", "fit", str(tmp_path / "facts.tsv"), "--out", str(tmp_path / "model"), "--rank", "2")
        _, err = fit.communicate(timeout=60)
    assert fit.returncode == 2
    assert "model: another process is writing there; wait for it, or choose another name" in err
    assert not (tmp_path / "model").exists()
