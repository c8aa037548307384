"""MNIST: the part that ships, its maker, and the full set where somebody has put it."""

import gzip
import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gumption.data import InputError, manifest
from gumption.data.make_mnist import COUNTS, make, read_full
from gumption.data.manifest import file_sha256, verify
from gumption.data.mnist import PARTS, load_digits

Full = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def full() -> Full:
    """A set of the full set's form: just enough digits, each image told apart by its pixels."""
    rng = np.random.default_rng(0)
    arrays: Full = {}
    for part in PARTS:
        labels = rng.permutation(np.repeat(np.arange(10, dtype=np.uint8), COUNTS[part] + 20))
        arrays |= {f"x_{part}": rng.integers(0, 256, (len(labels), 28, 28), dtype=np.uint8), f"y_{part}": labels}
    return arrays


def write_idx(folder: Path, arrays: Full, write: Callable[[Path, bytes], object], suffix: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, name in (("train", "train"), ("test", "t10k")):
        for kind, axes, letter in (("images", 3, "x"), ("labels", 1, "y")):
            array = arrays[f"{letter}_{part}"]
            head = bytes([0, 0, 8, axes]) + np.array(array.shape, ">i4").tobytes()
            write(folder / f"{name}-{kind}-idx{axes}-ubyte{suffix}", head + array.tobytes())
    return folder


@pytest.mark.parametrize("part", PARTS)
def test_the_shipped_digits(part) -> None:
    images, labels = load_digits(part)
    assert (images.shape, images.dtype) == ((10 * COUNTS[part], 28, 28), np.uint8)
    assert labels.dtype == np.uint8
    assert np.bincount(labels).tolist() == [COUNTS[part]] * 10
    # What is known of MNIST: 20 px digits inside a margin, black paper, about 13 % ink.
    assert (images.max((1, 2)) > 200).all()
    assert 0.11 < images.mean() / 255 < 0.15
    assert images[:, :2].mean() < 1
    assert images[labels == 1].mean() < 0.75 * images[labels == 0].mean()


def test_no_image_is_in_both_parts_or_there_twice() -> None:
    (train, _), (test, _) = load_digits("train"), load_digits("test")
    images = [image.tobytes() for image in (*train, *test)]
    assert len(set(images)) == len(images)


def test_the_shipped_file_is_small_and_the_one_of_the_manifest() -> None:
    entry = manifest.shipped()["mnist-subset"]
    verify(entry)
    assert entry.path.stat().st_size < 1_000_000
    assert entry.licence == "CC-BY-SA-3.0"


def test_digits_can_be_read_by_a_simple_rule() -> None:
    """Nearest mean image of the train part names most of the test part: the labels belong to the images."""
    (train, known), (test, asked) = load_digits("train"), load_digits("test")
    means = np.array([train[known == digit].mean(0).ravel() for digit in range(10)])
    distances = ((test.reshape(-1, 1, 784) - means[None]) ** 2).sum(2)
    assert (distances.argmin(1) == asked).mean() > 0.75


def test_the_maker_reads_every_form_of_the_full_set_alike(full: Full, tmp_path: Path) -> None:
    np.savez(tmp_path / "mnist.npz", **full)  # pyright: ignore[reportArgumentType]
    plain = write_idx(tmp_path / "plain", full, Path.write_bytes)
    packed = write_idx(tmp_path / "packed", full, lambda path, b: path.write_bytes(gzip.compress(b)), ".gz")
    results = set()
    for source in (tmp_path / "mnist.npz", plain, packed, plain):
        make(source, tmp_path / "out" / "subset.npz")
        results.add((tmp_path / "out" / "subset.npz").read_bytes())
    assert len(results) == 1
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["subset.npz"]
    with np.load(tmp_path / "out" / "subset.npz") as arrays:
        for part in PARTS:
            labels = arrays[f"{part}_labels"]
            assert labels.tolist() == np.repeat(np.arange(10), COUNTS[part]).tolist()
            where = {image.tobytes(): i for i, image in enumerate(full[f"x_{part}"])}
            places = np.array([where[image.tobytes()] for image in arrays[f"{part}_images"]])
            assert (full[f"y_{part}"][places] == labels).all()
            of_sevens = np.flatnonzero(full[f"y_{part}"] == 7)
            ranks = np.searchsorted(of_sevens, places[labels == 7])
            assert ranks[0] == 0
            assert set(np.diff(ranks)) == {1, 2}, "equally far apart, as far as whole numbers allow"


def test_the_command(full: Full, tmp_path: Path) -> None:
    source = write_idx(tmp_path / "full", full, Path.write_bytes)
    command = [sys.executable, "-m", "gumption.data.make_mnist", "--out", str(tmp_path / "s.npz"), "--source"]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert file_sha256(tmp_path / "s.npz") in done.stdout
    done = subprocess.run([*command, str(tmp_path / "absent")], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def test_bad_sources(full: Full, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    source = write_idx(tmp_path / "full", full, Path.write_bytes)
    images = source / "train-images-idx3-ubyte"
    content = images.read_bytes()
    for broken, message in (
        (content[:-1], "cannot read MNIST"),
        (content[:3], "cannot read MNIST"),
        (b"\0\0\x0d" + content[3:], "no IDX file of bytes"),
        (content[:4] + np.array([2200, 14, 56], ">i4").tobytes() + content[16:], "are no digits"),
    ):
        images.write_bytes(broken)
        with pytest.raises(InputError, match=message):
            make(source, out)
    images.unlink()
    with pytest.raises(InputError, match=r"train-images-idx3-ubyte.gz: cannot read MNIST .*check --source"):
        make(source, out)
    (tmp_path / "text.npz").write_text("digits")
    with pytest.raises(InputError, match="cannot read x_train and y_train"):
        read_full(tmp_path / "text.npz", "train")
    fewer = {name: array[:100] for name, array in full.items()}
    np.savez(tmp_path / "few.npz", **fewer)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="images of 0, 200 are wanted"):
        make(tmp_path / "few.npz", out)
    assert not out.exists()


def test_another_part() -> None:
    with pytest.raises(InputError, match="part is 'valid'; it can be train or test"):
        load_digits("valid")  # pyright: ignore[reportArgumentType]


def test_a_damaged_or_missing_shipped_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(manifest.shipped()["mnist-subset"].path.read_bytes())
    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    with pytest.raises(InputError, match=r"mnist-subset.npz: sha256 is no file, the manifest says .*; reinstall"):
        load_digits("train")
    content[1000] ^= 1
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "mnist-subset.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"mnist-subset.npz: sha256 is .*; reinstall"):
        load_digits("train")


def test_the_full_set_put_by_hand(full: Full, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUMPTION_DATA_DIR", str(tmp_path))
    with pytest.raises(InputError, match=f"put the file here: {tmp_path / 'mnist.npz'}"):
        load_digits("test", full=True)
    (tmp_path / "mnist.npz").write_text("something else")
    with pytest.raises(InputError, match="remove the file and fetch again"):
        load_digits("test", full=True)
    np.savez(tmp_path / "mnist.npz", **full)  # pyright: ignore[reportArgumentType]
    content = (tmp_path / "mnist.npz").read_bytes()
    listed = tmp_path / "manifest.json"
    real = manifest.fetchable()["mnist"].sha256
    assert real is not None
    text = manifest.MANIFEST.read_text(encoding="utf-8")
    listed.write_text(text.replace(real, hashlib.sha256(content).hexdigest()), encoding="utf-8")
    monkeypatch.setattr(manifest, "MANIFEST", listed)
    for part in PARTS:
        images, labels = load_digits(part, full=True)
        assert np.array_equal(images, full[f"x_{part}"])
        assert np.array_equal(labels, full[f"y_{part}"])
