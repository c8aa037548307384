"""Bad days: pages that never read, thousands of connections, a full disk, a clock that is set back, and databases that
cannot be used."""

import base64
import os
import resource
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gumption.data import InputError
from gumption.envs import worlds
from gumption.scripts.people.web import store as tables
from gumption.scripts.people.web.store import DATABASE, SCHEMA, Store
from tests.scripts.people.web.browser import Visitor, chromium
from tests.scripts.people.web.homes import SECRET, Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Page as BrowserPage

NOBODY = 65534


def shake_hands(home: Served) -> socket.socket:
    """A WebSocket without anybody who reads or answers at its end."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(20)
    raw.connect((home.host, home.port))
    lines = (
        "GET /ws HTTP/1.1", f"Host: {home.address}", f"Origin: http://{home.address}", "Connection: Upgrade",
        "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}",
        f"Cookie: gumption={SECRET}",
    )  # fmt: skip
    raw.sendall("\r\n".join((*lines, "", "")).encode())
    assert raw.recv(12) == b"HTTP/1.1 101"
    return raw


def frame(text: str) -> bytes:
    """A text frame of a client; a mask of zeros leaves the text as it is."""
    return b"\x81\xfe" + len(text).to_bytes(2, "big") + bytes(4) + text.encode()


def memory(home: Served) -> float:
    """MB that the server has in memory."""
    status = Path(f"/proc/{home.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def sockets(home: Served) -> int:
    """Open ones of the server. Its database is not counted: each thread opens the files when it first works."""
    count = 0
    for descriptor in Path(f"/proc/{home.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            count += os.readlink(descriptor).startswith("socket:")
    return count


@pytest.mark.slow
def test_a_page_that_never_reads_is_cut_off_and_holds_nobody_up(tmp_path: Path) -> None:
    with served(tmp_path, constants={"security.UNREAD": 8.0}) as home:
        with home.page() as page:
            for world in worlds.WORLDS:  # which are ready then, and take no more memory
                page.ask("begin", world=world)
            episode = page.ask("begin", world="wordcraft", settings={"distractors": 600}, seed=1)["episode"]
        before, open_before = memory(home), sockets(home)
        raw = shake_hands(home)
        go_on = frame(f'{{"v": 1, "type": "go_on", "episode": "{episode}"}}'.ljust(200))
        raw.sendall(go_on * 60)  # what may come at once
        for _ in range(24):  # 3 MB of answers, more than the system keeps for the connection
            time.sleep(0.5)
            raw.sendall(go_on * 10)
        assert sockets(home) > open_before, "it is not cut off yet"
        with home.page() as page:  # which takes the episode over, and does not wait
            assert page.ask("go_on", episode=episode)["type"] == "shown"
        until = time.monotonic() + 20
        while sockets(home) > open_before:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert memory(home) - before < 20
        raw.close()


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """A process that is begun may have 256 files open, until it asks for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 5000:
        pytest.skip(f"the system lets a process open {hard} files; this test needs 5000")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_two_thousand_connections_that_say_nothing_are_let_go(tmp_path: Path, few_descriptors: None) -> None:
    constants = {"security.FIRST_REQUEST": 5.0, "server.FIRST_MESSAGE": 5.0, "server.SOCKETS": 2000}
    with served(tmp_path, constants=constants) as home, ExitStack() as open_ones:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        home.get("/")
        before, open_before = memory(home), sockets(home)
        for number in range(2000):
            silent = shake_hands(home) if number % 2 else socket.create_connection((home.host, home.port))
            open_ones.enter_context(silent)
        assert home.get("/")[0] == 200
        until = time.monotonic() + 30
        while sockets(home) > open_before + 5:
            assert time.monotonic() < until, sockets(home)
            time.sleep(0.2)
        assert memory(home) - before < 150
        with home.page("n" * 40) as page:
            assert page.ask("begin", world="wordcraft")["type"] == "shown"


@contextmanager
def full_disk(home: Served, folder: Path) -> Iterator[None]:
    """The server cannot make its files longer."""
    wal = folder / f"{DATABASE}-wal"
    resource.prlimit(home.process.pid, resource.RLIMIT_FSIZE, (wal.stat().st_size, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(home.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.mark.slow
def test_on_a_full_disk_no_action_is_called_kept(tmp_path: Path) -> None:
    with served(tmp_path) as home, home.page() as page:
        begun = page.ask("begin", world="wordcraft", seed=7)
        episode, word = begun["episode"], begun["view"]["drawing"]["table"][0]
        with full_disk(home, tmp_path):
            refused = page.act(episode, 1, word)
            assert (refused["type"], refused["kind"]) == ("error", "failed")
            assert "could not be kept" in refused["reason"]
            assert page.ask("begin", world="wordcraft")["kind"] == "failed"
            assert page.ask("go_on", episode=episode)["number"] == 0
        assert page.ask("go_on", episode=episode)["number"] == 0
        assert page.act(episode, 1, word)["number"] == 1


@pytest.mark.slow
def test_a_page_keeps_what_a_full_disk_could_not(tmp_path: Path) -> None:
    with served(tmp_path) as home, chromium() as browser:
        visitor = Visitor(browser, home.address)
        page: BrowserPage = visitor.open("/play/wordcraft?seed=7")
        with full_disk(home, tmp_path):
            page.locator(".words-card").first.click()
            page.get_by_text("Not saved: the server cannot write now. 1 action kept here").wait_for()
            assert page.locator("#steps").inner_text() == "0"
        page.locator("#state[data-state=saved]").wait_for()
        assert page.locator("#steps").inner_text() == "1"
        visitor.leave()


def test_a_clock_that_is_set_back_lengthens_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables.now()
    assert abs(before - time.time()) < 5
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert before <= tables.now() < before + 60


@pytest.mark.parametrize(
    ("change", "version"),
    [
        (f"UPDATE versions SET schema = {SCHEMA + 1}", SCHEMA + 1),
        ("DROP TABLE versions", 0),
        ("DELETE FROM versions", 0),
    ],
)
def test_tables_of_another_version_are_refused(tmp_path: Path, change: str, version: int) -> None:
    Store(tmp_path).close()
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / DATABASE) as database:
        database.execute(change)
    for _ in range(2):  # the folder is let go
        with pytest.raises(InputError, match=rf"its tables have version {version}, and this gumption reads"):
            Store(tmp_path)


@pytest.mark.parametrize("made", ["versions", None])
def test_a_start_that_was_killed_is_made_good(tmp_path: Path, made: str | None) -> None:
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / DATABASE) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            database.execute(f"DELETE FROM {name}" if name == made else f"DROP TABLE {name}")
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / DATABASE) as database:
        assert list(database.execute("SELECT schema FROM versions")) == [(SCHEMA,)]
        assert {"people", "actions"} <= {row[0] for row in database.execute("SELECT name FROM sqlite_master")}


@pytest.mark.slow
def test_a_second_server_is_refused_in_clear_words(tmp_path: Path) -> None:
    with served(tmp_path):
        command = [sys.executable, "-m", "gumption.scripts.cli", "serve", "--port", "0", "--data", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{tmp_path}: another process is writing there" in done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_folder_without_permission_to_write_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    program = (
        "import os, sys; from gumption.data import InputError; from gumption.scripts.people.web.store import Store\n"
        f"import sqlite3, sqlalchemy.dialects.sqlite; os.setuid({NOBODY})\n"
        f"try:\n    Store({str(tmp_path)!r})\nexcept InputError as error:\n    sys.exit(str(error))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == f"cannot write {tmp_path / DATABASE}: no permission to write in {tmp_path}"
