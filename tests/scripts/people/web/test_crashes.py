"""kill -9 of the server: no acknowledged action is lost, none is taken twice, and each session goes on."""

import asyncio
import json
import random
import socket
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from gumption.envs import worlds
from gumption.scripts.people.web import store as tables
from gumption.scripts.people.web.episodes import replayed
from gumption.scripts.people.web.store import Store
from gumption.scripts.people.web.views import view_of
from tests.scripts.people.web.homes import heard, served

#: World, settings, and actions to draw from beside those that the view lists.
GAMES: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("wordcraft", {"env": "gumption/LittleAlchemy-v0"}, []),
    ("halma", {}, ["right 1", "left 1+1", "up 2", "down 3"]),
    ("gradual", {"tasks": "micro5.1"}, ["a", "b.", ""]),
    ("segar", {}, [[0.5, 0.5], [-1, 0.25]]),
]


class Player:
    """Plays one episode to a number of actions, whatever happens to the server.

    :ivar acknowledged: the actions of which the server said that they are kept, by number.
    """

    def __init__(self, number: int, port: int, actions: int, draw: random.Random) -> None:
        self.world, self.settings, self._more = GAMES[number % len(GAMES)]
        self._port, self._actions, self._draw = port, actions, draw
        self._cookie = f"player-{number:033}"
        self.episode = ""
        self.view: dict[str, Any] = {}
        self.acknowledged: dict[int, Any] = {}
        self._sent: dict[int, Any] = {}  # not acknowledged yet

    @property
    def done(self) -> bool:
        return len(self.acknowledged) == self._actions or bool(self.view and self.view["over"])

    async def play(self) -> None:
        while not self.done:
            try:
                async with connect(
                    f"ws://127.0.0.1:{self._port}/ws", origin=f"http://127.0.0.1:{self._port}",
                    additional_headers={"Cookie": f"gumption={self._cookie}"},
                ) as page:  # fmt: skip
                    await self._play(page)
            except (OSError, WebSocketException):
                await asyncio.sleep(0.1)

    async def _play(self, page: Any) -> None:
        how = {"type": "go_on", "episode": self.episode} if self.episode else self._begin()
        await page.send(json.dumps({"v": 1, **how}))
        await self._hear(page)
        for number, action in self._sent.items():  # once more, in order
            await self._say(page, number, action)
        for _ in range(len(self._sent)):
            await self._hear(page)
        while not self.done:
            number = max(self.acknowledged, default=0) + 1
            self._sent[number] = self._choose()
            await self._say(page, number, self._sent[number])
            await self._hear(page)
            await asyncio.sleep(self._draw.random() * 0.05)

    def _begin(self) -> dict[str, Any]:
        return {"type": "begin", "world": self.world, "settings": self.settings, "seed": 7}

    def _choose(self) -> Any:
        return self._draw.choice([choice["action"] for choice in self.view["choices"]] or self._more)

    async def _say(self, page: Any, number: int, action: Any) -> None:
        at = time.time() * 1000
        message = {"type": "act", "episode": self.episode, "number": number, "action": action, "at": at}
        await page.send(json.dumps({"v": 1, **message}))

    async def _hear(self, page: Any) -> None:
        answer = await heard(page)
        assert answer["type"] == "shown", answer.get("reason")
        self.episode, self.view = answer["episode"], answer["view"]
        assert answer["number"] >= max(self.acknowledged, default=0), "an acknowledged action was lost"
        for number in [number for number in self._sent if number <= answer["number"]]:
            self.acknowledged[number] = self._sent.pop(number)


async def play_through_kills(data: Path, sessions: int, actions: int, kills: int, draw: random.Random) -> list[Player]:
    """Players who have played to the end on a server that was killed so many times."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    players = [Player(number, port, actions, random.Random(draw.random())) for number in range(sessions)]
    playing = asyncio.gather(*(player.play() for player in players))
    for number in range(kills + 1):
        with served(data, "--port", str(port)) as server:
            if number == kills:
                await playing
            else:
                await asyncio.sleep(draw.random())
                server.kill()
    return players


def check(data: Path, players: list[Player]) -> None:
    store = Store(data)
    try:
        rows = {row.id: row for row in store.read(sql.select(tables.episodes))}
        for player in players:
            kept = store.read(
                sql.select(tables.actions).where(tables.actions.c.episode == player.episode).order_by("number")
            )
            assert player.done
            assert [row.number for row in kept] == list(range(1, len(kept) + 1))
            assert {row.number: row.action for row in kept} == player.acknowledged
            row = rows[player.episode]
            view = view_of(worlds.find(row.world))
            again = replayed(row, kept, view, view.begin).shown()
            assert json.loads(json.dumps(again)) == player.view
        total = store.read(sql.select(sql.func.count()).select_from(tables.actions))[0][0]
        assert total == sum(len(player.acknowledged) for player in players)
    finally:
        store.close()


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    players = asyncio.run(play_through_kills(tmp_path, sessions=5, actions=20, kills=3, draw=random.Random(1)))
    check(tmp_path, players)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_fifty_sessions_and_twenty_kills(tmp_path: Path) -> None:
    players = asyncio.run(play_through_kills(tmp_path, sessions=50, actions=100, kills=20, draw=random.Random(2)))
    check(tmp_path, players)
