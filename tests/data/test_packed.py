"""Compressed files that expand without end, lines without end, archives with names of other places."""

import bz2
import gzip
import lzma
import re
import subprocess
import sys
import zipfile

import pytest

from gumption.data import InputError
from gumption.data.packed import Damaged, open_archive, open_packed
from gumption.kg import KnowledgeGraph
from gumption.kg.sources.external import import_atomic2020

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
LINE = b"water\tAtLocation\tsea\n"


@pytest.mark.parametrize("ending", PACK)
def test_a_packed_file_reads_as_what_it_holds(tmp_path, ending):
    (tmp_path / f"x{ending}").write_bytes(PACK[ending](LINE * 1000))
    (tmp_path / "x").write_bytes(PACK[ending](LINE))  # found out by its first bytes
    with open_packed(tmp_path / f"x{ending}") as file:
        assert list(file) == [LINE] * 1000
        assert file.place == (tmp_path / f"x{ending}").stat().st_size
    with open_packed(tmp_path / "x") as file:
        assert file.read() == LINE
    (tmp_path / f"plain{ending}").write_bytes(LINE)
    (tmp_path / f"cut{ending}").write_bytes(PACK[ending](LINE * 1000)[:-4])
    for name in ("plain", "cut"):
        with open_packed(tmp_path / f"{name}{ending}", by_name=True) as file, pytest.raises(Damaged):
            file.read()


@pytest.mark.slow
@pytest.mark.parametrize("ending", PACK)
def test_a_file_that_expands_to_more_than_it_may(tmp_path, ending):
    """Many packed megabytes one after the other are a packed file, too."""
    (tmp_path / f"x{ending}").write_bytes(PACK[ending](b"\n" * (1 << 24)) * 65)
    message = re.escape(f"x{ending}: it expands to more than 200 times its size and 1.1 GB")
    with open_packed(tmp_path / f"x{ending}") as file, pytest.raises(InputError, match=message):
        all(iter(lambda: file.read(1 << 20), b""))


LOADED = {
    "table": ("x.tsv.gz", "graph.load_file(path)"),
    "n-triples": ("x.nt.gz", "graph.load_file(path)"),
    "csv": ("x.csv.gz", "graph.load_file(path)"),
    "atomic": ("x.tsv.gz", "import_atomic2020(graph, [path])"),
    "conceptnet": ("x.csv.gz", "import_conceptnet(graph, path)"),
    "plain": ("x.tsv", "graph.load_file(path)"),
}


@pytest.mark.parametrize("kind", LOADED)
def test_a_line_without_end(tmp_path, kind):
    name, call = LOADED[kind]
    size = 1 << 28
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"a" * (1 << 24)) * (size >> 24))
    else:
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    program = f"""
import resource
from gumption.kg import KnowledgeGraph
from gumption.kg.sources.external import import_atomic2020
from gumption.kg.sources.external import import_conceptnet
graph, path = KnowledgeGraph(), {str(tmp_path / name)!r}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    {call}
except ValueError as error:
    print(type(error).__name__, error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    told, grown = subprocess.check_output([sys.executable, "-c", program], text=True).splitlines()
    assert told.startswith(f"InputError {tmp_path / name}: a line is longer than 17 MB")
    assert int(grown) < 120_000  # kB on Linux


@pytest.mark.parametrize("name", ["ABSOLUTE", "../secret.tsv", "data/../../secret.tsv"])
def test_a_member_of_an_archive_is_read_from_the_archive_only(tmp_path, name):
    secret = tmp_path / "secret.tsv"
    secret.write_text("secret\tAtLocation\tsafe\n")
    folder = tmp_path / "here"
    folder.mkdir()
    name = str(secret) if name == "ABSOLUTE" else name
    with zipfile.ZipFile(folder / "atomic.zip", "w") as archive:
        archive.writestr(name, LINE)
    graph = KnowledgeGraph()
    import_atomic2020(graph, [folder / "atomic.zip"])
    assert list(graph.triples()) == [("water", "AtLocation", "sea")]


def test_an_archive_beyond_the_bounds(tmp_path):
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(10_001):
            archive.writestr(f"{number}.tsv", b"")
    with pytest.raises(InputError, match=r"many.zip: the archive has 10,001 files, and no more than 10,000 are read"):
        import_atomic2020(KnowledgeGraph(), [tmp_path / "many.zip"])
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w") as archive:
        archive.writestr("train.tsv", LINE)
        archive.infolist()[0].file_size = 1 << 40  # what the archive says at its end
    with pytest.raises(InputError, match=r"bomb.zip: it expands to more than 200 times its size"):
        import_atomic2020(KnowledgeGraph(), [tmp_path / "bomb.zip"])
    (tmp_path / "x.zip").write_bytes(b"PK")
    with pytest.raises(Damaged, match="not a zip file"):
        open_archive(tmp_path / "x.zip", "x.zip")
