"""PyKEEN folders that were made to fill memory or to never end."""

import gzip
import pickle
import resource
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.kg import ComplEx
from gumption.kg.links.pykeen_models import describe, export_pykeen, load_pykeen, read_pickled_model

FACTS = [("fire", "after", "smoke"), ("smoke", "after", "rain")]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pykeen") / "model"
    export_pykeen(ComplEx.fit(FACTS, rank=2, epochs=1, device="cpu"), folder, FACTS)
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(exported, tmp_path / "model"))


def repacked(path: Path, change: Callable[[dict[str, bytes]], None], compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def with_pickle(content: bytes) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        name = next(name for name in files if name.endswith("data.pkl"))
        files[name] = content
        files[name.replace("data.pkl", "data/zz")] = bytes(1 << 16)

    return change


def model_of(value: bytes) -> bytes:
    """The pickle of a module whose attribute is the value that these opcodes leave on the stack."""
    module = b"\x80\x02cpykeen.models\nComplEx\n)\x81}("
    for name in (b"_parameters", b"_buffers", b"_modules"):
        module += b"X" + struct.pack("<I", len(name)) + name + b"}"
    return module + b"X\x05\x00\x00\x00value" + value + b"ub."


def doubled(one: bytes, two: bytes, times: int = 60) -> bytes:
    """A value that holds another twice, which holds another twice, ...; the last stays on the stack."""
    value = b"K\x01q\x00"
    for index in range(times):
        held = b"h" + bytes([index])
        value += b"0" + one + held + held + two + b"q" + bytes([index + 1])
    return value


DEEP_LISTS = b"]" * 100_000 + b"a" * 99_999
PICKLES = {
    "a list in itself": (model_of(b"]q\x00h\x00a"), "hold each other without end"),
    "lists in lists": (model_of(doubled(b"](", b"e")), "hold each other without end"),
    "deep lists": (model_of(DEEP_LISTS), "hold each other without end"),
    "tuples in tuples": (model_of(doubled(b"(", b"t")), "a tuple of tuples without end"),
    "a key that is hashed without end": (model_of(b"}" + doubled(b"(", b"t") + b"K\x01s"), "a tuple of tuples"),
    "a number to remember": (model_of(b"K\x01r\xff\xff\xff\x7f"), "remembers a value under the number 2147483647"),
    "too long": (model_of(b"X" + struct.pack("<I", 5 << 20) + b"a" * (5 << 20)), "data.pkl has more than 4 MB"),
    "many names": (
        b"\x80\x02(" + b"".join(b"cpykeen.nn\nA%d\n" % number for number in range(2_000)) + b"t.",
        "it names more than 1000 classes",
    ),
    "a long string that is not there": (model_of(b"\x8e" + struct.pack("<Q", 1 << 40) + b"a"), "or damaged"),
}


@pytest.mark.parametrize("kind", PICKLES)
def test_a_pickle_without_end(folder: Path, kind: str) -> None:
    content, message = PICKLES[kind]
    repacked(folder / "trained_model.pkl", with_pickle(content))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=f"trained_model.pkl.*{message}"):
        load_pykeen(folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB on Linux


def rebuilt(size: bytes, stride: bytes) -> bytes:
    """A tensor of this size and stride of the archive's first numbers, as the opcodes of an attribute's value."""
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x02\x00\x00\x00zzX\x03\x00\x00\x00cpuM\x00\x40tQ"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + size + stride + b"tR"


@pytest.mark.parametrize(
    "size", [b"\x8a\x06\x00\x00\x00\x00\x00\x01\x85", b"M\xff\xffK\x03\x86", b"J\xff\xff\xff\xff\x85"]
)
def test_a_tensor_larger_than_its_numbers(folder: Path, size: bytes) -> None:
    """All of its places would be the same number: a stride of 0."""
    stride = b"K\x00\x85" if size.endswith(b"\x85") else b"K\x00K\x00\x86"
    repacked(folder / "trained_model.pkl", with_pickle(model_of(rebuilt(size, stride))))
    with pytest.raises(InputError, match=r"a tensor of -?\d+ numbers, for which"):
        load_pykeen(folder)


def test_many_tensors_of_the_same_numbers(folder: Path) -> None:
    one = rebuilt(b"M\x00\x40\x85", b"K\x01\x85")  # 64 kB
    repacked(folder / "trained_model.pkl", with_pickle(model_of(b"](" + one * 20_000 + b"e")))
    with pytest.raises(InputError, match="its tensors together are much larger than what is stored for them"):
        load_pykeen(folder)


def test_a_zip_bomb_of_numbers(folder: Path) -> None:
    def change(files: dict[str, bytes]) -> None:
        name = next(name for name in files if name.endswith("data/0"))
        files[name] = bytes(1 << 26)

    repacked(folder / "trained_model.pkl", change, zipfile.ZIP_DEFLATED)
    assert (folder / "trained_model.pkl").stat().st_size < 1 << 18
    with pytest.raises(InputError, match="its parts are compressed, or overlap"):
        load_pykeen(folder)


def test_a_bomb_of_labels(folder: Path) -> None:
    (folder / "training_triples" / "entity_to_id.tsv.gz").write_bytes(gzip.compress(b"a" * (1 << 24)) * 20)
    with pytest.raises(InputError, match=r"entity_to_id.tsv.gz: a line is longer than 17 MB"):
        load_pykeen(folder)


def test_what_is_whole_still_loads(folder: Path) -> None:
    record = read_pickled_model(folder / "trained_model.pkl")
    assert describe(record, {})["class"] == "pykeen.models.unimodal.complex.ComplEx"
    assert load_pykeen(folder, device="cpu").vocabulary.entities == ("fire", "rain", "smoke")
    (folder / "trained_model.pkl").write_bytes(pickle.dumps(1))
    with pytest.raises(InputError, match=r"not a model that torch.save wrote, or damaged: File is not a zip file"):
        load_pykeen(folder)
