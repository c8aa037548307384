"""A study's server as a process of its own, and participants of it without a browser."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gumption.scripts.people.study.files import read
from gumption.scripts.people.study.running import application, in_thread
from tests.scripts.people.study.studies import small
from tests.scripts.people.web.homes import Page, Served

GUMPTION = [sys.executable, "-m", "gumption.scripts.cli", "study"]
JSON = {"Content_Type": "application/json"}


def write_study(folder: Path, **changes: Any) -> Path:
    path = folder / "study.json"
    path.write_text(json.dumps(small(**changes)), encoding="utf-8")
    return path


class StudyServer(Served):
    """As `Served`, with the experimenter's token and the links that were printed."""

    token: str
    links: list[str]

    def join(self, **identity: Any) -> tuple[int, str, dict[str, Any]]:
        """Sign in: status, secret of the cookie, answer."""
        status, headers, body = self.post("/study/join", identity)
        cookie = headers.get("set-cookie", "").partition(";")[0].removeprefix("gumption=")
        return status, cookie, body

    def post(self, path: str, content: Any, **headers: str) -> tuple[int, Any, Any]:
        given = {"Origin": f"http://{self.address}", **JSON, **headers}
        status, found, body = self.get(path, "POST", json.dumps(content), **given)
        return status, found, json.loads(body) if body.startswith("{") else body

    def ask(self, path: str, token: str | None = None) -> tuple[int, Any]:
        """What the experimenter's page asks for."""
        status, _, body = self.get(path, Authorization=f"Bearer {self.token if token is None else token}")
        return status, json.loads(body)


@contextmanager
def in_process(
    study: Path | str, data: Path, links: int = 0, database: str | None = None, speed: float = 1.0
) -> Iterator[StudyServer]:
    """A server in a thread of this process, which begins at once; it cannot be killed."""
    with application(read(study), data, database=database, speed=speed) as served:
        given = served.links.more(links) if links else []
        with in_thread(served.app) as address:
            server = StudyServer(None, address.removeprefix("http://"), "/study")  # pyright: ignore[reportArgumentType]
            server.token, server.links = served.token.text, given
            yield server


@contextmanager
def serving(study: Path, data: Path, *options: str) -> Iterator[StudyServer]:
    command = [*GUMPTION, "serve", str(study), "--data", str(data), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines = []
        while "Ctrl-C" not in (line := process.stdout.readline()):
            assert line, process.wait()
            lines.append(line.strip())
        address = lines[-2].removeprefix("participants: http://").removesuffix("/study")
        server = StudyServer(process, address, "/study")
        server.token = lines[-1].partition("#")[2]
        server.links = [line.rpartition("/")[2] for line in lines[:-2]]
        yield server
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def leave(page: Page, stage: dict[str, Any], **answers: Any) -> dict[str, Any]:
    """Press a page's button; what the server answers."""
    return page.ask("study_next", stage=stage["stage"], answers=answers, at=time.time() * 1000)


def now(page: Page) -> dict[str, Any]:
    """The present stage."""
    return page.ask("study_now")


def to_kind(page: Page, kind: str) -> dict[str, Any]:
    """Go on by right answers until a page of this kind; it."""
    stage = now(page)
    while stage["kind"] != kind:
        stage = pass_by(page, stage)
    return stage


def pass_by(page: Page, stage: dict[str, Any]) -> dict[str, Any]:
    """Do what a stage asks for; the next one."""
    match stage["kind"]:
        case "consent":
            return leave(page, stage, agree=True)
        case "quiz":
            return leave(page, stage, how_many="two")
        case "questions":
            return leave(page, stage, hard=5)
        case "task":
            play(page, stage)
            return leave(page, stage) if stage["feedback"] else now(page)
    return leave(page, stage)


def play(page: Page, stage: dict[str, Any], upto: int = 2) -> dict[str, Any]:
    """Choose the first word on the table, up to so many actions; what is shown then."""
    shown = page.ask("go_on", episode=stage["episode"])
    while shown["number"] < upto and not shown["view"]["over"]:
        word = shown["view"]["drawing"]["table"][0]
        shown = page.act(stage["episode"], shown["number"] + 1, word)
    return shown
