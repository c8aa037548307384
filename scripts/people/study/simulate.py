"""Simulated participants: they sign in, answer and play through the same addresses and sockets as people.

In real-time worlds they act when nothing moves any more, after a time computed in their own copy of the task. With
chaos they also lose connections in the middle of an action, reload the page, open second tabs, send messages twice and
have clocks that jump. Each participant must still end with a complete row, and with each action stored once.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import requests

from gumption.data import InputError
from gumption.data.errors import extra

from .design import Task, design
from .files import Study
from .path import stages
from .players import Agent, can_play, player_of

with extra("web", "a simulated study"):
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import ConnectionClosed, InvalidHandshake
    from websockets.typing import Origin

#: Probability of a mishap before each message, with chaos.
MISHAP = 0.06
MISHAPS = ("cut", "cut after sending", "reload", "second tab", "twice", "slow")
#: Text answers that a spreadsheet, a page or a database could misinterpret.
WORDS = ("by trying", "=1+1", "<script>alert(1)</script>", "'; DROP TABLE answers; --", 'two\nlines, "quoted"')
ANSWER_WITHIN_S = 30.0
MOST_TRIES = 200


@dataclass
class Report:
    """Counts and times of a simulation.

    :ivar done: participants who reached the last page; `actions` and `mishaps` are totals.
    :ivar waits: seconds from each action to its acknowledgement.
    """

    done: int = 0
    actions: int = 0
    mishaps: int = 0
    codes: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """Return a summary of plain numbers; waits as median and 95th percentile in ms."""
        waits = sorted(self.waits)
        return {
            "done": self.done,
            "actions": self.actions,
            "mishaps": self.mishaps,
            "codes": len(set(self.codes)),
            "answer_ms_median": round(1000 * waits[len(waits) // 2], 1) if waits else None,
            "answer_ms_95": round(1000 * waits[int(0.95 * (len(waits) - 1))], 1) if waits else None,
        }


async def simulate(
    study: Study,
    root: str,
    players: int,
    policy: str,
    *,
    chaos: bool = False,
    seed: int = 0,
    at_once: int = 50,
    identities: list[dict[str, str]] | None = None,
    speed: float = 1.0,
) -> Report:
    """Send simulated players through the study of a running server, and return a report.

    :param root: the server's address, such as http://127.0.0.1:8001.
    :param policy: see gumption.scripts.people.study.players.
    :param at_once: maximum number of concurrent players.
    :param identities: sign-in data of each player; None for made-up names.
    :param speed: world seconds per real second on the server, in real-time worlds.
    :raises InputError: no such policy, or the server cannot be reached or refuses.
    """
    for block in study.all_blocks:
        player_of(policy, block.world)
    for played in design(study, 0).blocks:
        if not can_play(played.tasks[0]):
            world = played.block.world
            raise InputError(f"{played.block.name}: agents do not act in the world {world!r} as people do in a browser")
    report, places = Report(), asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        identity = identities[number] if identities else {"name": f"=player {number}"}
        async with places:
            rng = random.Random(f"{seed} {number}")
            await _Player(study, root, policy, identity, rng, chaos, report, speed).take_part()

    tasks = [asyncio.create_task(one(number)) for number in range(players)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    return report


class _Cut(Exception):
    """The connection was cut; the player continues with a new connection."""


class _Player:
    """A simulated participant, with its cookie, its socket and its unacknowledged action."""

    def __init__(
        self,
        study: Study,
        root: str,
        policy: str,
        identity: dict[str, str],
        rng: random.Random,
        chaos: bool,
        report: Report,
        speed: float,
    ) -> None:
        self.study, self.root, self.policy, self.identity = study, root.rstrip("/"), policy, identity
        self.rng, self.chaos, self.report, self.speed = rng, chaos, report, speed
        self.cookie, self.socket = "", None
        self.old: list[ClientConnection] = []  # tabs that were left open
        self.pending: dict[str, Any] | None = None  # sent but unacknowledged action, which a browser keeps
        self.made: dict[str, list[Any]] = {}  # acknowledged actions by episode

    async def take_part(self) -> None:
        self.cookie = await asyncio.to_thread(sign_in, self.root, self.identity)
        try:
            for _ in range(MOST_TRIES):
                try:
                    address, headers = "ws" + self.root.removeprefix("http") + "/ws", {"Cookie": self.cookie}
                    self.socket = await connect(
                        address, origin=Origin(self.root), additional_headers=headers, compression=None
                    )
                    await self._go_through()
                    self.report.done += 1
                    return
                except (_Cut, ConnectionClosed, InvalidHandshake, OSError, TimeoutError):
                    await asyncio.sleep(self.rng.uniform(0.01, 0.1))
            raise InputError(f"a player did not get through in {MOST_TRIES} connections; is {self.root} overloaded?")
        finally:
            for socket in (self.socket, *self.old):
                if socket is not None:
                    socket.transport.abort()

    async def _go_through(self) -> None:
        stage = await self._ask({"type": "study_now"}, "study_stage")
        while not self._is_last(stage):
            if stage["kind"] in ("join", "withdrawn", "refused"):
                raise InputError(f"a player is at the page {stage['kind']!r}, from which nothing follows")
            if stage["kind"] == "task":
                await self._play(stage)
                after = {"type": "study_next", "stage": stage["stage"], "answers": {}, "at": self._clock()}
                stage = await self._ask(after if stage["feedback"] else {"type": "study_now"}, "study_stage")
            else:
                answers = {"agree": True} if stage["kind"] == "consent" else self._answers(stage)
                after = {"type": "study_next", "stage": stage["stage"], "answers": answers, "at": self._clock()}
                stage = await self._ask(after, "study_stage", "study_refused")
                if stage["type"] == "study_refused":
                    stage = await self._ask({"type": "study_now"}, "study_stage")
        self.report.codes.append(stage["code"])

    def _is_last(self, stage: dict[str, Any]) -> bool:
        if self.pending is not None and stage.get("episode") != self.pending["episode"]:
            # The next page was sent, so the last action of the task was accepted, and only its answer was lost.
            self.pending = None
            self.report.actions += 1
        return stage["kind"] == "end"

    def _answers(self, stage: dict[str, Any]) -> dict[str, Any]:
        right = {question.name: question.right for question in self.study.quiz.questions} if self.study.quiz else {}
        found: dict[str, Any] = {}
        for question in stage.get("questions", ()):
            name = question["name"]
            if question["kind"] == "choice":
                wrong = self.chaos and stage.get("wrong") == 0 and self.rng.random() < 0.2
                known = stage["kind"] == "quiz" and not wrong
                found[name] = right[name] if known else self.rng.choice(question["options"])
            elif question["kind"] == "scale":
                found[name] = self.rng.randint(question["low"], question["high"])
            else:
                found[name] = self.rng.choice(WORDS)[: question["longest"]]
        return found

    # ---- A task

    async def _play(self, stage: dict[str, Any]) -> None:
        id = stage["episode"]
        shown = await self._ask({"type": "go_on", "episode": id}, "shown", episode=id)
        made = self.made.setdefault(id, [])
        self._acknowledge(id, shown)
        task = self._task(stage)
        help = shown["view"]["help"]
        # Help at the first choice of every second task, so that a trial run has tasks with it and without it.
        if help and stage["stage"] % 2 and not (help["used"] or shown["number"] or shown["view"]["over"]):
            asks = {"type": "help", "episode": id, "number": 1, "after": 0, "at": self._clock()}
            helped = await self._ask(asks, "shown", "help_refused", episode=id)
            shown = helped if helped["type"] == "shown" else shown
        agent, seconds = Agent(self.policy, task, self.rng.getrandbits(53)), 0.0
        for action in made[: shown["number"]]:
            agent.choose()
            *_, seconds = agent.make(action)
        while not shown["view"]["over"]:
            await self._rest(seconds / self.speed)
            number, action = shown["number"] + 1, agent.choose()
            if self.pending is None:
                self.pending = {"type": "act", "episode": id, "number": number, "action": action, "at": self._clock()}
            sent = time.monotonic()
            shown = await self._ask(self.pending, "shown", "refused", episode=id)
            if shown["type"] == "refused":  # its time is over
                self.pending = None
                return
            self.report.waits.append(time.monotonic() - sent)
            before = len(made)
            self._acknowledge(id, shown)
            for action in made[before:]:
                *_, seconds = agent.make(action)

    async def _rest(self, seconds: float) -> None:
        """Wait for `seconds`, until nothing moves any more, and read and drop the messages meanwhile."""
        assert self.socket is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while seconds:
                    await self.socket.recv()

    def _acknowledge(self, id: str, shown: dict[str, Any]) -> None:
        pending = self.pending
        if pending is not None and pending["episode"] == id and pending["number"] <= shown["number"]:
            self.made[id].append(pending["action"])
            self.report.actions += 1
            self.pending = None

    def _task(self, stage: dict[str, Any]) -> Task:
        """Return the task of a stage, from the design of the participant."""
        task = stages(self.study, design(self.study, stage["participant"] - 1))[stage["stage"]].task
        assert task is not None
        return task

    # ---- Messages and mishaps

    async def _ask(self, message: dict[str, Any], *answers: str, episode: str | None = None) -> dict[str, Any]:
        """Send a message, and return the first answer of these types; with chaos, a mishap may occur.

        :raises _Cut: a mishap, or an error of the episode.
        """
        assert self.socket is not None
        mishap = self.rng.choice(MISHAPS) if self.chaos and self.rng.random() < MISHAP else ""
        self.report.mishaps += bool(mishap)
        text = json.dumps({"v": 1, **message})
        if mishap == "slow":
            await asyncio.sleep(self.rng.uniform(0.05, 0.3))
        if mishap in ("cut", "reload"):
            self.socket.transport.abort()
            raise _Cut
        if mishap == "second tab":
            self.old.append(self.socket)
            if len(self.old) > 3:
                self.old.pop(0).transport.abort()
            raise _Cut
        await self.socket.send(text)
        if mishap == "cut after sending":
            await asyncio.sleep(self.rng.uniform(0, 0.02))
            self.socket.transport.abort()
            raise _Cut
        if mishap == "twice":
            await self.socket.send(text)
        async with asyncio.timeout(ANSWER_WITHIN_S):
            while True:
                answer = json.loads(await self.socket.recv())
                if episode is not None and answer.get("episode") not in (episode, None):
                    continue
                if episode is not None and answer["type"] == "error":
                    raise _Cut
                if answer["type"] in answers:
                    if answer["type"] == "shown" and message["type"] == "act" and answer["number"] < message["number"]:
                        continue
                    return answer

    def _clock(self) -> float:
        """Return the participant's clock in ms; with chaos, a quarter of the readings are wrong by up to ten days."""
        jump = self.rng.choice((0, 0, 0, 1)) * self.rng.uniform(-1, 1) * 864e6 if self.chaos else 0
        return time.time() * 1000 + jump


def sign_in(root: str, identity: dict[str, str]) -> str:
    """Sign in, and return the cookie as a header.

    :raises InputError: the server cannot be reached, or refuses.
    """
    address, headers = f"{root}/study/join", {"Origin": root}
    try:
        with requests.Session() as session:
            session.trust_env = False  # the server is reached without a proxy, as its sockets are
            response = session.post(address, json=identity, headers=headers, timeout=ANSWER_WITHIN_S)
    except requests.RequestException as error:
        raise InputError(f"{root}: cannot be reached ({error})") from None
    if response.status_code != 200:
        reason: Any = response.status_code
        with suppress(ValueError, KeyError, TypeError):
            reason = response.json()["reason"]
        raise InputError(f"{root}: refuses the sign-in ({reason})")
    return response.headers["Set-Cookie"].partition(";")[0]
