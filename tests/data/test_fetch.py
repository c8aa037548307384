"""Downloads by name, against a real HTTP server on the loopback interface."""

import hashlib
import http.server
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.data import InputError, fetch, manifest, path
from gumption.scripts import data as command

CONTENT = b"fire\twater\tsteam\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()

Describe = Callable[..., None]


@pytest.fixture
def server(tmp_path: Path, serve: Callable[..., str]) -> str:
    """Address of a server that offers one file, /book.tsv."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "book.tsv").write_bytes(CONTENT)
    return serve(http.server.SimpleHTTPRequestHandler, directory=str(folder))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of the test, not made yet; downloads allowed."""
    monkeypatch.setenv("GUMPTION_DATA_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("GUMPTION_OFFLINE", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def describe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Describe:
    """Make the manifest offer one set, `book`."""

    def write(urls: list[str], sha256: str | None = SHA256) -> None:
        entry = {"name": "book", "file": "book.tsv", "urls": urls, "sha256": sha256, "licence": "none", "size": "17 B",
                 "by_hand": "book.tsv of the library", "note": ""}  # fmt: skip
        file = tmp_path / "manifest.json"
        file.write_text(json.dumps({"shipped": [], "fetchable": [entry]}), encoding="utf-8")
        monkeypatch.setattr(manifest, "MANIFEST", file)

    return write


def test_a_download_is_checked_and_kept(server: str, cache: Path, describe: Describe) -> None:
    describe([f"{server}/book.tsv"])
    assert fetch("book") == cache / "book.tsv"
    assert (cache / "book.tsv").read_bytes() == CONTENT
    assert fetch("book", offline=True) == cache / "book.tsv"


def test_a_second_address_is_tried(server: str, cache: Path, describe: Describe) -> None:
    describe([f"{server}/gone.tsv", f"{server}/book.tsv"])
    assert fetch("book") == cache / "book.tsv"


def test_a_failed_download_says_where_to_put_the_file(server: str, cache: Path, describe: Describe) -> None:
    describe([f"{server}/gone.tsv"])
    with pytest.raises(InputError, match="404") as caught:
        fetch("book")
    message = str(caught.value)
    assert f"put the file here: {cache / 'book.tsv'} (sha256 {SHA256})\nit is book.tsv of the library" in message


def test_a_server_that_is_not_there(cache: Path, describe: Describe) -> None:
    describe(["http://127.0.0.1:9/book.tsv"])
    with pytest.raises(InputError, match="put the file here"):
        fetch("book")


def test_wrong_content_is_refused_and_not_kept(server: str, cache: Path, describe: Describe) -> None:
    describe([f"{server}/book.tsv"], sha256="0" * 64)
    with pytest.raises(InputError, match="put the file here"):
        fetch("book")
    assert list(cache.iterdir()) == []


def test_without_a_recorded_hash_the_one_found_is_told(
    server: str, cache: Path, describe: Describe, capsys: pytest.CaptureFixture[str]
) -> None:
    describe([f"{server}/book.tsv"], sha256=None)
    assert fetch("book") == cache / "book.tsv"
    assert f"sha256 {SHA256}, not checked" in capsys.readouterr().err


def test_offline_by_argument_and_by_environment(
    server: str, cache: Path, describe: Describe, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe([f"{server}/book.tsv"])
    with pytest.raises(InputError, match="offline"):
        fetch("book", offline=True)
    monkeypatch.setenv("GUMPTION_OFFLINE", "1")
    with pytest.raises(InputError, match="put the file here"):
        fetch("book")
    monkeypatch.setenv("GUMPTION_OFFLINE", "0")
    assert fetch("book") == cache / "book.tsv"


def test_a_file_put_by_hand_is_accepted_only_with_the_right_content(cache: Path, describe: Describe) -> None:
    describe(["http://127.0.0.1:9/book.tsv"])
    cache.mkdir()
    (cache / "book.tsv").write_bytes(CONTENT)
    assert fetch("book") == cache / "book.tsv"
    (cache / "book.tsv").write_bytes(b"something else")
    with pytest.raises(InputError, match="remove the file"):
        fetch("book")
    assert (cache / "book.tsv").read_bytes() == b"something else"


def test_a_cache_folder_that_cannot_be_made(
    server: str, tmp_path: Path, cache: Path, describe: Describe, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe([f"{server}/book.tsv"])
    (tmp_path / "file").touch()
    monkeypatch.setenv("GUMPTION_DATA_DIR", str(tmp_path / "file" / "folder"))
    with pytest.raises(InputError, match="put the file here"):
        fetch("book")


def test_unknown_names_get_near_ones() -> None:
    with pytest.raises(InputError, match="did you mean alchemy2"):
        fetch("alchemy")
    with pytest.raises(InputError, match="ships with gumption"):
        fetch("commonsense")
    with pytest.raises(InputError, match="there is commonsense, commonsense-families"):
        path("zzz")
    with pytest.raises(InputError, match="gumption data fetch alchemy2"):
        path("alchemy2")


@pytest.mark.parametrize("name", ["conceptnet", "atomic2020", "wordnet", "mnist"])
def test_the_large_sets_are_fetched_from_their_public_homes(name: str, cache: Path) -> None:
    entry = manifest.fetchable()[name]
    assert all(url.startswith("https://") and url.endswith(f"/{entry.file}") for url in entry.urls)
    with pytest.raises(InputError, match="put the file here: ") as caught:
        fetch(name, offline=True)
    assert str(cache / entry.file) in str(caught.value)
    assert ("no sha256 is recorded" in entry.note) == (entry.sha256 is None)


def test_the_real_alchemy2_put_by_hand(shared_data: Path, cache: Path) -> None:
    cache.mkdir()
    shutil.copy(shared_data / "alchemy2.json", cache)
    assert fetch("alchemy2", offline=True) == cache / "alchemy2.json"


def test_the_commands(server: str, cache: Path, describe: Describe) -> None:
    describe([f"{server}/book.tsv"])
    runner = CliRunner()
    assert "not fetched" in runner.invoke(command.app, ["list"]).output
    with pytest.raises(InputError, match="offline"):
        runner.invoke(command.app, ["fetch", "book", "--offline"], catch_exceptions=False)
    assert runner.invoke(command.app, ["fetch", "book"]).output == f"{cache / 'book.tsv'}\n"
    assert "not fetched" not in runner.invoke(command.app, ["list"]).output
