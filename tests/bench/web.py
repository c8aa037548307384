"""Many players at once at the web home: how long an answer takes, from the action to its acknowledgement.

python -m tests.bench.web --players 200 --seconds 20

Each player is a socket of its own that plays WordCraft, an action a second on average. The server is a process of its
own on the same machine, and keeps each action on disk before it answers.
"""

import argparse
import asyncio
import json
import random
import sqlite3
import tempfile
import time
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

from gumption.scripts.people.web.store import DATABASE
from tests.scripts.people.web.homes import heard, served

WORLD = {"type": "begin", "world": "wordcraft", "settings": {"distractors": 8}}


async def play(number: int, address: str, pause: float, end: float, waits: list[float]) -> int:
    """Play episode after episode until the end; the actions that were acknowledged.

    :param pause: seconds between actions, on average.
    :param waits: gets the seconds of each answer.
    """
    draw, acted = random.Random(number), 0
    await asyncio.sleep(draw.random() * 3)  # nobody begins at the very same moment
    headers = {"Cookie": f"gumption=player-{number:033}"}
    async with connect(f"ws://{address}/ws", origin=f"http://{address}", additional_headers=headers) as page:
        shown = await asked(page, {**WORLD, "seed": number})
        step = 0
        while time.monotonic() < end:
            await asyncio.sleep(draw.expovariate(1 / pause))
            if shown["view"]["over"]:
                shown, step = await asked(page, {**WORLD, "seed": number}), 0
            step += 1
            action = draw.choice(shown["view"]["choices"])["action"]
            message = {"type": "act", "episode": shown["episode"], "number": step, "action": action, "at": 0}
            began = time.monotonic()
            shown = await asked(page, message)
            waits.append(time.monotonic() - began)
            assert shown["number"] == step, shown
            acted += 1
    return acted


async def asked(page: ClientConnection, message: dict) -> dict:
    await page.send(json.dumps({"v": 1, **message}))
    return await heard(page)


async def play_all(players: int, address: str, pause: float, seconds: float) -> tuple[int, list[float]]:
    """The acknowledged actions of all players, and the seconds of each answer."""
    waits: list[float] = []
    end = time.monotonic() + seconds
    acted = await asyncio.gather(*(play(number, address, pause, end, waits) for number in range(players)))
    return sum(acted), sorted(waits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--pause", type=float, default=1, help="seconds between the actions of a player")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with served(Path(folder)) as home:
            acted, waits = asyncio.run(play_all(given.players, home.address, given.pause, given.seconds))
            times = Path(f"/proc/{home.process.pid}/stat").read_text().rpartition(")")[2].split()
        kept = sqlite3.connect(Path(folder) / DATABASE).execute("SELECT count(*) FROM actions").fetchone()[0]
    if kept != acted:
        raise SystemExit(f"{acted:,} actions were acknowledged, and {kept:,} kept")
    share = [waits[min(len(waits) - 1, int(len(waits) * part))] * 1000 for part in (0.5, 0.95, 0.99)]
    print(
        f"{given.players} players, {acted:,} actions in {given.seconds:g} s, all kept; answers in "
        f"{share[0]:.0f} ms (median), {share[1]:.0f} ms (95 %), {share[2]:.0f} ms (99 %); "
        f"the server took {(int(times[11]) + int(times[12])) / 100:.1f} s of CPU time"
    )


if __name__ == "__main__":
    main()
