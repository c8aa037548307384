"""Files into stores: every format, bad lines, bounded memory, and what kills or fills up leaves behind."""

import gzip
import os
import re
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.store import files as files_module
from gumption.kg.store.endpoint import EndpointStore
from gumption.kg.store.files import SkippedLines

STEAM = [("fire", "componentOf", "steam"), ("water", "componentOf", "steam")]
ENT, GUM = "urn:gumption:entity:", "urn:gumption:relation:"
LINE = f"<{ENT}fire> <{GUM}componentOf> <{ENT}steam> .\n"


def write_many(path: Path, number: int) -> None:
    lines = (f"<{ENT}e{i}> <{GUM}r{i % 7}> <{ENT}e{i * 31 % number}> .\n" for i in range(number))
    path.write_text("".join(lines))


@pytest.mark.parametrize("ending", ["nt", "nq", "ttl", "trig", "tsv", "txt", "csv", "nt.gz", "tsv.gz", "csv.gz"])
def test_every_format_is_loaded_and_saved(graph, tmp_path, ending):
    named = ending.removesuffix(".gz") in ("nq", "trig", "tsv", "txt", "csv")
    source = KnowledgeGraph()
    source.add([*STEAM, ("fire", "heat", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>')], graph="a")
    source.add(STEAM[:1])
    file = tmp_path / f"x.{ending}"
    source.save(file)
    graph.add(STEAM[:1], graph="a")
    assert graph.load_file(file) == 3
    assert graph.load_file(file) == 0
    assert graph.graphs() == ({"a": 3, "default": 1} if named else {"a": 1, "default": 3})
    assert graph.content_hash() == source.content_hash()
    assert graph.load_file(file, graph="mine") == {"nq": 0, "trig": 0, "tsv": 1, "txt": 1, "csv": 1}.get(
        ending.removesuffix(".gz"), 3
    )
    beside = {f"{file.name}.sha256"} if ending.removesuffix(".gz") in ("tsv", "txt", "csv", "rdf", "jsonld") else set()
    assert {*os.listdir(tmp_path)} - {"graph", ".graph.lock"} == {file.name, *beside}


def test_one_graph_is_saved(tmp_path):
    graph = KnowledgeGraph()
    graph.add(STEAM, graph="a")
    graph.add([("mud", "componentOf", "brick")], graph="b")
    graph.save(tmp_path / "a.nq", "a")
    assert KnowledgeGraph.load(tmp_path / "a.nq").graphs() == {"a": 2}
    with pytest.raises(InputError, match="unknown graph 'c'"):
        graph.save(tmp_path / "c.nq", "c")


def test_what_crosses_a_block_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(files_module, "BLOCK", 100)  # a line or two
    write_many(tmp_path / "x.nt", 500)
    text = (tmp_path / "x.nt").read_text().replace("<urn:gumption:entity:", "").replace("<urn:gumption:relation:", "")
    (tmp_path / "x.tsv").write_text(text.replace("> .", "").replace("> ", "\t"))
    blank = "_:b <urn:x> _:c .\n"
    (tmp_path / "y.nt").write_text(blank + (tmp_path / "x.nt").read_text() + blank)
    graph = KnowledgeGraph()
    assert graph.load_file(tmp_path / "x.nt") == 500
    assert graph.load_file(tmp_path / "x.tsv") == 0
    assert graph.load_file(tmp_path / "y.nt") == 1
    (tmp_path / "y.nt.gz").write_bytes(gzip.compress((tmp_path / "y.nt").read_bytes()))
    assert graph.load_file(tmp_path / "y.nt.gz") == 0
    (tmp_path / "bad.nt").write_text((tmp_path / "x.nt").read_text() + "oops\n")
    with pytest.raises(InputError, match=re.escape("bad.nt:501: ")):
        graph.load_file(tmp_path / "bad.nt")


BAD = {
    "nt": (LINE, "<urn:a> oops .\n", f"<{ENT}a> <{GUM}b> << <urn:x> <urn:y> <urn:z> >> .\n"),
    "nq": (LINE, "oops\n", "<urn:a> <urn:b> <urn:c> <urn:d> <urn:e> .\n"),
    "tsv": ("fire\tcomponentOf\tsteam\n", "fire\n", "a\tb\tc\td\te\n"),
    "csv": ("fire,componentOf,steam\n", 'fire,"componentOf"x,steam\n', "a,b,c,d,e\n"),
}


@pytest.mark.parametrize("ending", BAD)
def test_bad_lines_are_skipped_up_to_a_number(graph, tmp_path, ending):
    good, bad, worse = BAD[ending]
    file = tmp_path / f"x.{ending}"
    file.write_text(good + bad + good.replace("fire", "water") + worse)
    with pytest.raises(InputError, match=re.escape(f"{file}:2: ")):
        graph.load_file(file)
    with pytest.raises(InputError, match=rf"x.{ending}:4: .*this is bad line 2, and 1 may be skipped"):
        graph.load_file(file, skip_bad=1)
    assert graph.graphs() == {}
    told = rf"^2 bad lines were skipped: .*x.{ending}:2: .*; .*x.{ending}:4: "
    with pytest.warns(SkippedLines, match=told):
        assert graph.load_file(file, skip_bad=2) == 2
    assert list(graph.triples()) == STEAM
    file.write_text(good)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert graph.load_file(file, skip_bad=2) == 0


def test_bytes_that_are_no_text_can_be_skipped(tmp_path):
    (tmp_path / "x.tsv").write_bytes(b"a\tb\tc\n\xff\tb\tc\n")
    with pytest.warns(SkippedLines, match=r"^1 bad line was skipped: .*x.tsv:2: the text is not UTF-8"):
        assert KnowledgeGraph().load_file(tmp_path / "x.tsv", skip_bad=1) == 1


@pytest.mark.parametrize(
    ("name", "content", "skip_bad", "message"),
    [
        ("x.ttl", b"", 1, "x.ttl: only N-Triples, N-Quads, TSV and CSV have one fact a line"),
        ("x.nt", b"", -1, "skip_bad is -1; it is a whole number, at least 0"),
        ("x.nt.gz", gzip.compress(LINE.encode() * 99, mtime=0)[:-12], 0, "x.nt.gz: the compressed file is cut off"),
        ("x.nt.gz", LINE.encode(), 0, "x.nt.gz: Not a gzipped file"),
        ("x.nt.gz", gzip.compress(b"oops\n", mtime=0), 0, "x.nt.gz:1: "),
        ("x.gz", b"", 0, "x.gz: a graph's file ends in .nq, .nt, .trig, .ttl"),
    ],
)
def test_files_that_cannot_be_loaded(graph, tmp_path, name, content, skip_bad, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=re.escape(message)):
        graph.load_file(tmp_path / name, skip_bad=skip_bad)
    assert graph.graphs() == {}


def test_an_error_in_the_middle_leaves_nothing(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(type(graph._store), "batch", 10)
    graph.add(STEAM, graph="a")
    lines = "".join(f"<urn:gumption:entity:e{i}> <urn:x:r> <urn:x:y> .\n" for i in range(95))
    for name, text in (("x.nt", f"{lines}oops .\n"), ("x.ttl", f"{lines}<urn:a> x:y <urn:b> .\n")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=re.escape(f"{name}:96: ")):
            graph.load_file(tmp_path / name)
        assert graph.graphs() == {"a": 2}
    (tmp_path / "x.nt").write_text(lines)
    assert graph.load_file(tmp_path / "x.nt") == 95


def test_an_endpoint_that_fails_in_the_middle_says_what_was_written(endpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(EndpointStore, "batch", 10)
    write_many(tmp_path / "x.nt", 95)
    graph = KnowledgeGraph(f"{endpoint}/query", update=f"{endpoint}/update")
    update, calls = graph._store._send, []

    def failing(text: str) -> None:
        calls.append(text)
        if len(calls) == 4:  # after the mark of the graph and two batches
            raise InputError("the SPARQL endpoint does not answer")
        update(text)

    monkeypatch.setattr(graph._store, "_send", failing)
    message = r"does not answer \(\d+ quads of the file were written before; the same call can be made again\)"
    with pytest.raises(InputError, match=message):
        graph.load_file(tmp_path / "x.nt")
    assert len(graph) == 20
    assert graph.load_file(tmp_path / "x.nt") == 75
    assert len(graph) == 95


# Processes that are killed, that run out of memory or of disk.

LOADING = """
import sys
from gumption.kg import KnowledgeGraph
from gumption.kg.store import stores
from gumption.kg.store.stores import LocalStore
LocalStore.batch, stores.LARGE = int(sys.argv[3]), int(sys.argv[4])
change = LocalStore.change
def told(*args):
    change(*args)
    print("batch", flush=True)
LocalStore.change = told
graph = KnowledgeGraph(sys.argv[1])
print("open", flush=True)
graph.load_file(sys.argv[2], graph="a")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("batch", "lines", "large"), [(4_000, 1, 1 << 40), (4_000, 3, 1 << 40), (500, 9, 1 << 40), (1, 1, 1)]
)
def test_a_killed_load_leaves_a_graph_that_the_same_load_completes(tmp_path, batch, lines, large):
    """In batches, and at once."""
    write_many(tmp_path / "x.nt", 30_000)
    command = [sys.executable, "-c", LOADING, str(tmp_path / "kg"), str(tmp_path / "x.nt"), str(batch), str(large)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(lines):
            assert process.stdout.readline()
        process.kill()
        assert process.wait() == -9
    with KnowledgeGraph(tmp_path / "kg", read_only=True) as graph:
        there = graph.graphs().get("a", 0)
        assert there < 30_000
        assert there % batch == 0
        assert len(graph) == there
        if there:
            assert graph.content_hash("a") == graph.content_hash()
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert graph.load_file(tmp_path / "x.nt", graph="a") == 30_000 - there
        assert len(graph) == graph.graphs()["a"] == 30_000


PEAK = """
import resource, sys
from gumption.kg import KnowledgeGraph
from gumption.kg.store.stores import LocalStore
LocalStore.batch = 5_000
with KnowledgeGraph(sys.argv[1]) as graph:
    new = graph.load_file(sys.argv[2])
print(new, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["nt.gz", "ttl"])
def test_memory_stays_bounded_while_the_file_grows(tmp_path, ending):
    peaks = []
    for number in (10_000, 60_000):
        write_many(tmp_path / "x.nt", number)
        content = (tmp_path / "x.nt").read_bytes()
        (tmp_path / f"x.{ending}").write_bytes(gzip.compress(content, 1, mtime=0) if ending == "nt.gz" else content)
        command = [sys.executable, "-c", PEAK, str(tmp_path / f"kg{number}"), str(tmp_path / f"x.{ending}")]
        new, peak = map(int, subprocess.check_output(command, text=True).split())
        assert new == number
        peaks.append(peak)
    # 50,000 more facts: as Python objects they would be some 60 MB.
    assert peaks[1] - peaks[0] < 25


def limited(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`gumption kg` where no file may grow beyond 100 kB: writing fails as on a full disk, with a real error."""
    program = "import sys; from gumption.scripts import cli; sys.argv[0] = 'gumption'; cli.main()"
    return subprocess.run(
        [sys.executable, "-c", program, "kg", *arguments],
        cwd=cwd, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )  # fmt: skip


@pytest.mark.slow
def test_a_disk_that_is_full(tmp_path):
    write_many(tmp_path / "x.nt", 3_000)
    for name in ("out.nq", "out.tsv.gz", "out.rdf"):
        (tmp_path / name).write_text("what was there before")
    before = sorted(os.listdir(tmp_path))
    for name in ("out.nq", "out.rdf"):
        done = limited("export", "x.nt", "--out", name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"error: cannot write {name}: File too large\n"
        assert (tmp_path / name).read_text() == "what was there before"
    assert [name for name in sorted(os.listdir(tmp_path)) if not name.endswith(".lock")] == before
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add(STEAM)
    done = limited("load", "kg", "x.nt", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write the knowledge graph kg: ")
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert list(graph.triples()) == STEAM
        assert graph.load_file(tmp_path / "x.nt") == 3_000


def test_a_real_table_of_another_ending(shared_data, tmp_path):
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert graph.load_file(shared_data / "wn18rr" / "valid.txt", graph="valid") == 3034
        assert graph.graphs() == {"valid": 3034}
        assert len(graph.arrays("valid")[0].relations) == 11
