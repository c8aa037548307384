"""What the server answers to requests: pages, data, files, other sites, tokens, and half a request."""

import http.client
import json
import os
import re
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from gumption.data.listening import is_loopback
from gumption.envs import worlds
from gumption.scripts import cli
from gumption.scripts.people.web import commands
from gumption.scripts.people.web.security import HEADERS
from tests.scripts.people.web.homes import SECRET, Served, served

HTML = "text/html,*/*"


@pytest.fixture
def gumption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int | str | None, str, str]]:
    """`gumption serve` in an empty folder: exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr("sys.argv", ["gumption", "serve", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, *capsys.readouterr()

    return run


Run = Callable[..., tuple[int | str | None, str, str]]


# ---- Pages and data.


@pytest.mark.parametrize("path", ["/", "/play/wordcraft"])
def test_a_page_gives_a_cookie_that_no_script_and_no_other_site_can_use(home: Served, path: str) -> None:
    status, headers, body = home.get(path)
    assert (status, body[:15].lower()) == (200, "<!doctype html>")
    cookie = headers["set-cookie"]
    assert re.match(r"gumption=[\w-]{43};", cookie)
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "set-cookie" not in home.get(path, cookie=f"gumption={SECRET}")[1]


@pytest.mark.parametrize("path", ["/", "/api/worlds", "/pages/style.css", "/nothing", "/play/nowhere"])
def test_every_answer_has_the_headers_that_keep_a_page_safe(home: Served, path: str) -> None:
    headers = {name.lower(): value for name, value in home.get(path)[1].items()}
    assert {name.lower(): value for name, value in HEADERS.items()}.items() <= headers.items()
    assert headers["content-security-policy"].startswith("default-src 'self'; img-src 'self' data:; style-src 'self';")


def test_the_worlds_are_data(home: Served) -> None:
    status, _, body = home.get("/api/worlds")
    listed = json.loads(body)
    assert status == 200
    assert listed["runs"] == []
    assert [entry["name"] for entry in listed["worlds"]] == list(worlds.WORLDS)
    for entry in listed["worlds"]:
        world = worlds.WORLDS[entry["name"]]
        assert (entry["title"], entry["about"], entry["source"]) == (world.title, world.about, world.source)
        assert entry["environments"] == [environment.id for environment in world.environments]
        if entry["view"] is not None:
            assert home.get(entry["view"])[0] == 200


def test_a_world_without_a_picture_of_its_own_is_drawn(home: Served) -> None:
    connection = http.client.HTTPConnection(home.host, home.port, timeout=60)
    connection.request("GET", "/pictures/wordcraft.png")
    answer = connection.getresponse()
    assert answer.getheader("content-type") == "image/png"
    assert answer.read(8) == b"\x89PNG\r\n\x1a\n"
    connection.close()
    assert home.get("/pictures/chess.png")[0] == 404


def test_runs_in_a_folder_are_listed(impatient: Served) -> None:
    found = json.loads(impatient.get("/api/worlds")[2])["runs"]
    assert {(run["name"], run["world"], run["state"]) for run in found} == {
        ("a", "wordcraft", "done"),
        ("deep/b", "halma", "going"),
    }


@pytest.mark.parametrize("path", ["/nothing", "/play/chess", "/play/<script>", "/pages/no.js", "/views/chess/view.js"])
def test_what_is_not_there_is_told_on_a_page(home: Served, path: str) -> None:
    status, headers, body = home.get(path.replace("<", "%3C").replace(">", "%3E"), accept=HTML)
    assert status == 404
    assert headers["content-type"].startswith("text/html")
    assert "there is no such page here" in body
    assert "{{" not in body
    assert home.get(path.replace("<", "%3C").replace(">", "%3E"))[2] == "Not found: there is no such page here\n"


@pytest.mark.parametrize(
    "path",
    [
        "/pages/../server.py", "/pages/%2e%2e/server.py", "/pages/..%2fserver.py", "/pages//etc/passwd",
        "/pages/%2fetc%2fpasswd", "/pages/..%5cserver.py", "/pages/%00", "/views/wordcraft/__init__.py",
        "/views/wordcraft/..%2f..%2fweb%2fpages%2fstyle.css", "/views/wordcraft/%2e%2e/%2e%2e/web/pages/style.css",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_files_of_pages(home: Served, path: str) -> None:
    assert home.get(path)[0] in (400, 404)


# ---- Other hosts and other sites.


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "[", "192.168.1.1", "127.0.0.1.nip.io"])
def test_another_name_of_the_host_is_refused(home: Served, host: str) -> None:
    status, _, body = home.get("/", host=host)
    assert status in (400, 421)
    assert "gumption" not in body


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.1:99", "[::1]", "LOCALHOST:80"])
def test_names_of_this_machine_are_known(home: Served, host: str) -> None:
    assert home.get("/", host=host)[0] == 200


def test_another_site_posts_nothing(home: Served) -> None:
    for origin in ("http://evil.example", "null", ""):
        status, _, body = home.get("/", "POST", "x", origin=origin)
        assert (status, body) == (403, "Another site: only pages of this server may send this\n")
    assert home.get("/", "POST", "x", origin=f"http://{home.address}")[0] == 405


def test_other_names_are_given(impatient: Served) -> None:
    assert impatient.get("/", host="LAB.example:8000")[0] == 200
    assert impatient.get("/", host="www.lab.example.")[0] == 200
    assert impatient.get("/", host="labs.example")[0] == 421


# ---- Half a request.


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"POST / HTTP/1.1\r\n"])
def test_half_a_request_times_out(impatient: Served, sent: bytes) -> None:
    with socket.create_connection((impatient.host, impatient.port)) as half:
        half.sendall(sent)
        half.settimeout(10)
        assert half.recv(100).startswith(b"HTTP/1.1 408 ")
        assert half.recv(100) == b""


def test_a_connection_is_used_again_before_it_times_out(impatient: Served) -> None:
    connection = http.client.HTTPConnection(impatient.host, impatient.port, timeout=10)
    for _ in range(3):
        connection.request("GET", "/pages/style.css")
        answer = connection.getresponse()
        assert answer.read()
        assert answer.status == 200
        time.sleep(0.3)
    connection.close()


# ---- Tokens.


@pytest.mark.slow
def test_a_token_opens_the_home_and_is_not_guessed(tmp_path: Path) -> None:
    file = tmp_path / "secret" / "token"
    with served(tmp_path / "home", "--token-file", str(file)) as home:
        token = file.read_text().strip()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert home.path == f"/?token={token}"
        assert home.get("/")[0] == 401
        assert "open the link that the owner" in home.get("/", accept=HTML)[2]
        assert home.get("/api/worlds")[0] == 401
        status, headers, _ = home.get(f"/?token={token}")
        assert (status, headers["location"]) == (303, "/")
        door = headers["set-cookie"].partition(";")[0]
        assert token not in door
        assert "HttpOnly" in headers["set-cookie"]
        assert home.get("/", cookie=door)[0] == 200
        with pytest.raises(Exception, match="401"), home.page():
            pass
        for _ in range(10):
            assert home.get("/?token=guess")[0] == 401
        status, _, body = home.get(f"/?token={token}")  # whoever guesses is not heard even when right
        assert (status, body) == (429, "Too many guesses: wait a minute before you try another token\n")
        assert home.get("/", cookie=door)[0] == 200


@pytest.mark.slow
def test_others_are_let_in_with_a_word_and_a_token_alone(tmp_path: Path, gumption: Run) -> None:
    for host in ("0.0.0.0", "", "::"):
        code, _, told = gumption("--host", host, "--port", "0", "--data", "home")
        assert (code, "say --open-to-others, and give a --token-file" in told) == (2, True)
    code, _, told = gumption("--host", "0.0.0.0", "--open-to-others", "--data", "home")
    assert (code, "--open-to-others needs a --token-file" in told) == (2, True)
    assert not (tmp_path / "home").exists()
    options = ("--host", "0.0.0.0", "--open-to-others", "--token-file", str(tmp_path / "token"))
    with served(tmp_path / "home", *options) as home:
        token = (tmp_path / "token").read_text().strip()
        door = home.get(f"/?token={token}")[1]["set-cookie"].partition(";")[0]
        for host in ("192.168.1.7:8000", socket.gethostname()):  # an address is no name that a site could give itself
            assert home.get("/", host=host, cookie=door)[0] == 200
        assert home.get("/", host="evil.example", cookie=door)[0] == 421


@pytest.mark.parametrize(
    ("content", "reason"), [("short", "at least 20 letters"), ("two words in a long token", "at least 20 letters")]
)
def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path, gumption: Run, content: str, reason: str) -> None:
    (tmp_path / "token").write_text(content)
    code, _, told = gumption("--port", "0", "--token-file", "token")
    assert (code, reason in told) == (2, True)
    code, _, told = gumption("--port", "0", "--token-file", str(tmp_path))
    assert (code, "cannot be read or made" in told) == (2, True)


# ---- The command.


def test_the_schema_of_the_messages_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    commands.home(SimpleNamespace(invoked_subcommand=None), schema=True)  # pyright: ignore[reportArgumentType]
    schema = json.loads(capsys.readouterr().out)
    assert set(schema) == {"page", "server"}
    assert set(schema["page"]["discriminator"]["mapping"]) == {"begin", "go_on", "act", "help", "leave"}
    from_server = {"shown", "refused", "help_refused", "frame", "error", "preparing"}
    assert set(schema["server"]["discriminator"]["mapping"]) == from_server


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--port", "70000"], "--port is 70000"),
        (["--port", "1", "gradual"], "--port is of the home; options of the world stand behind its name"),
        (["--runs", "nowhere"], "--runs nowhere: there is no such folder"),
        (["--data", "mysql://a/b"], "no such database is served"),
        (["--data", "postgresql+psycopg://127.0.0.1:1/no"], "cannot be used as a database"),
        (["--data", "://"], "no address of a database"),
        (["--host", "203.0.113.7", "--open-to-others", "--token-file", "token"], "cannot listen at 203.0.113.7"),
        (["chess"], "unknown world 'chess'"),
        (["wordcraft"], "the world 'wordcraft' offers no such command"),
    ],
)
def test_options_that_are_none_are_refused(gumption: Run, options: list[str], reason: str) -> None:
    code, _, told = gumption(*options)
    assert (code, reason in told) == (2, True), told


def test_a_port_that_is_taken_is_told(home: Served, gumption: Run) -> None:
    code, _, told = gumption("--port", str(home.port))
    assert (code, "choose another --port" in told) == (2, True)


@pytest.mark.slow
def test_a_server_that_is_stopped_ends_at_once_and_says_so(tmp_path: Path) -> None:
    with served(tmp_path) as home, home.page() as page:
        assert page.ask("begin", world="wordcraft")["type"] == "shown"
        home.process.terminate()
        assert home.process.wait(10) == 143


@pytest.mark.slow
def test_an_idle_server_rests(home: Served) -> None:
    assert is_loopback(home.host)
    home.get("/")
    hertz = os.sysconf("SC_CLK_TCK")

    def used() -> float:
        user, system = Path(f"/proc/{home.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / hertz

    while True:  # what it makes ready at its start has an end
        before = used()
        time.sleep(1)
        if used() - before <= 0.02:
            break
    before = used()
    time.sleep(3)
    assert used() - before <= 0.03
