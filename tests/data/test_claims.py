"""One process at a time writes a file: others wait or are told, and nothing of anybody's is lost."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gumption.data import InputError, writing
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


def test_a_lock_is_for_every_user_and_lies_where_links_lead(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.nq").symlink_to(tmp_path / "real" / "a.nq")
    before = os.umask(0o077)
    try:
        with sole_writer(tmp_path / "link.nq"), sole_writer(tmp_path / "real" / "a.nq"):  # blocks of a thread nest
            assert [path.name for path in (tmp_path / "real").iterdir()] == [".a.nq.lock"]
    finally:
        os.umask(before)
    assert (tmp_path / "real" / ".a.nq.lock").stat().st_mode & 0o777 == 0o666


def test_without_a_lock_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    KnowledgeGraph().save(tmp_path / "a.nq")
    before = (tmp_path / "a.nq").read_bytes()
    monkeypatch.setattr(writing.fcntl, "flock", no_locks)
    with pytest.raises(InputError, match=r"cannot write .*a\.nq\.lock: No locks available"):
        KnowledgeGraph().save(tmp_path / "a.nq")
    with pytest.raises(InputError, match=r"cannot write .*kg\.lock: No locks available"):
        KnowledgeGraph(tmp_path / "kg")
    assert (tmp_path / "a.nq").read_bytes() == before
    assert not (tmp_path / "kg").exists()


@pytest.mark.parametrize("read", ["load", "load_file"])
def test_a_file_that_others_changed_is_merged_or_kept(tmp_path: Path, read: str) -> None:
    """Also where one of them writes by a link."""
    place, link = tmp_path / "a.nq", tmp_path / "b.nq"
    link.symlink_to(place)
    KnowledgeGraph().save(place)
    one = KnowledgeGraph.load(place) if read == "load" else KnowledgeGraph()
    if read == "load_file":
        with pytest.warns(match="has no facts"):
            one.load_file(place)
    other = KnowledgeGraph.load(link)
    for graph, fact in ((one, ("a", "r", "b")), (other, ("b", "r", "c"))):
        graph.add([fact])
    other.save(link)
    with pytest.raises(InputError, match=r"a\.nq was changed after this graph had read it: .*merge=True"):
        one.save(place)
    assert len(KnowledgeGraph.load(place)) == 1
    one.save(place, merge=True)
    one.save(place)  # its own change counts as read
    assert len(one) == len(KnowledgeGraph.load(place)) == 2
    with pytest.raises(InputError, match=r"merge=True keeps all that .* has: save all graphs, not only 'default'"):
        one.save(place, "default", merge=True)


FORKED = """
import os, sys
from gumption.data import InputError
from gumption.kg import KnowledgeGraph
graph = KnowledgeGraph(sys.argv[1])
graph.add([("a", "r", "b")])
child = os.fork()
if child == 0:
    for use in (
        lambda: graph.add([("c", "r", "d")]), lambda: len(graph), lambda: list(graph.triples()),
        lambda: graph.dataset.add(()), lambda: KnowledgeGraph(sys.argv[1]), lambda: KnowledgeGraph(sys.argv[1] + "2"),
    ):
        try:
            use()
        except InputError as error:
            assert "before this process was forked" in str(error), error
        else:
            os._exit(1)
    graph.close()
    os._exit(0)  # as multiprocessing does; the engine's own end crashes in a fork
assert os.waitpid(child, 0)[1] == 0
assert graph.add([("a", "r", "b"), ("e", "r", "f")]) == 1
graph.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_graph_on_disk_is_refused_in_a_fork(tmp_path: Path) -> None:
    """Whose parent goes on with it."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "kg")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    with KnowledgeGraph(tmp_path / "kg", read_only=True) as graph:
        assert sorted(graph.triples()) == [("a", "r", "b"), ("e", "r", "f")]


def test_a_busy_folder_is_waited_for(tmp_path: Path) -> None:
    KnowledgeGraph(tmp_path / "kg").close()
    with held_elsewhere(tmp_path / "kg") as holder:
        with pytest.raises(InputError, match="it is in use: close it there first, or open it with read_only=True"):
            KnowledgeGraph(tmp_path / "kg", wait=0)
        KnowledgeGraph(tmp_path / "kg", read_only=True).close()  # takes no lock
        assert holder.stdin is not None
        threading.Timer(0.3, holder.stdin.close).start()
        KnowledgeGraph(tmp_path / "kg", wait=60).close()


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
