"""Episodes under the server: each is an environment and its view; its kept actions bring it back after a crash."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Protocol

import sqlalchemy as sql

from gumption.data import InputError

from . import store as tables
from .store import Store
from .views import View, view_of

KEPT = 1000  # episodes in memory; those left alone longest are brought back from disk when they are asked for
SEEDS = 2**31  # drawn seeds are below


def new_id() -> str:
    """128 random bits."""
    return secrets.token_hex(16)


class UnknownEpisode(InputError):
    """There is no such episode of this person; whose it is stays untold."""


class Unkept(Exception):
    """An action could not be kept; the episode goes on from what was."""


class Holder(Protocol):
    """The socket at which an episode is played."""

    async def lose(self, episode: str) -> None:
        """Tell it that the episode goes on elsewhere."""
        ...


class Episode:
    """An episode: a single environment with its view.

    :ivar number: actions so far.
    :ivar reward: their sum; `told` is what the last one came to, in words; `success` is None where the world has none.
    :ivar began: in seconds since 1970; `deadline` is when its time is over, None without a limit.
    :ivar veil: what a study makes of a view before it is shown, such as hiding the result.
    :ivar holder: the socket that plays it.
    :ivar lock: held while an action is made and written.
    """

    def __init__(
        self, id: str, person: str, world: str, view: View, settings: Mapping[str, Any], seed: int, stage: int = 0
    ) -> None:
        """:raises InputError: settings that the world refuses."""
        self.id, self.person, self.world, self.stage = id, person, world, stage
        self.view, self.settings, self.seed = view, dict(settings), seed
        self.env, self.face = view.begin(**settings, seed=seed)
        self.number, self.reward, self.told, self.over = 0, 0.0, "", False
        self.success: bool | None = None
        self.began = time.time()
        self.deadline: float | None = None
        self.veil: Callable[[dict[str, Any]], dict[str, Any]] | None = None
        self.holder: Holder | None = None
        self.lock = asyncio.Lock()

    def act(self, action: Any) -> None:
        """Make an action.

        :param action: JSON, as the view parses it.
        :raises InputError: it is none, or a closed one, or the episode is over; nothing has happened then.
        """
        if self.over:
            raise InputError("the episode is over")
        chosen = self.view.parse(action, self.env)
        # A list answers questions of the world; a step takes anything else.
        made = self.env.answer(chosen) if isinstance(chosen, list) else self.env.step(chosen)
        _, reward, terminated, truncated, info = made
        self.number += 1
        self.reward += float(reward)
        self.over = bool(terminated or truncated)
        success = info.get("success")
        self.success = None if success is None else bool(success)
        self.told = self.face.told(info, bool(terminated))

    def shown(self) -> dict[str, Any]:
        """What the player sees, in JSON."""
        choices = [] if self.over else self.view.choices(self.env)
        view = {
            "drawing": self.view.drawing(self.env),
            "text": "" if self.view.text is None else self.view.text(self.env),
            "rules": self.face.rules(self.env),
            "choices": choices,
            "told": self.told,
            "steps": self.number,
            "reward": self.reward,
            "over": self.over,
            "success": self.success,
            "action": self.view.action or ("choices" if choices else "typed"),
        }
        return view if self.veil is None else self.veil(view)

    def result(self) -> dict[str, Any]:
        """What the episode came to."""
        return {"steps": self.number, "reward": self.reward, "success": self.success}


def replayed(row: Any, kept: Sequence[Any], view: View) -> Episode:
    """The episode of a row of the store, with its kept actions made again.

    :raises InputError: the world refuses what it once took: it was another version.
    """
    episode = Episode(row.id, row.person, row.world, view, row.settings, row.seed, row.stage)
    episode.began = row.began
    for action in kept:
        try:
            episode.act(action.action)
        except InputError as error:
            raise InputError(f"action {action.number} of the episode cannot be made again ({error})") from None
    if row.ended is not None and not episode.over:  # its time was over
        episode.over, episode.success = True, row.result["success"]
    return episode


class Episodes:
    """All episodes of a server, those in memory and those on disk.

    :ivar arrange: called with each episode that comes into memory, for what a study has to say of it.
    """

    def __init__(self, store: Store, workers: Executor, worlds: Callable[[str], Any]) -> None:
        """:param workers: make environments and their steps; `worlds` finds a world by its name."""
        self.store = store
        self.arrange: Callable[[Episode], None] | None = None
        self._workers, self._worlds = workers, worlds
        self._here: OrderedDict[str, Episode] = OrderedDict()
        self._coming: dict[str, asyncio.Task[Episode]] = {}

    async def begin(
        self, *, person: str, world: str, settings: Mapping[str, Any], seed: int | None = None, stage: int = 0
    ) -> Episode:
        """A new episode, which is on disk.

        :raises InputError: no such world, or settings that it refuses.
        """
        seed = secrets.randbelow(SEEDS) if seed is None else seed
        view = self._view(world, stage)
        episode = await self._run(Episode, new_id(), person, world, view, settings, seed, stage)
        await self.store.write(
            sql.insert(tables.episodes).values(
                id=episode.id, person=person, stage=stage, world=world, settings=dict(settings), seed=seed,
                began=episode.began,
            )
        )  # fmt: skip
        self._keep(episode)
        return episode

    async def find(self, id: str, person: str | None) -> Episode:
        """An episode of a person, brought back from disk where it is not in memory.

        :raises UnknownEpisode: this person has none of this id.
        """
        episode = self._here.get(id)
        if episode is None:
            task = self._coming.get(id)
            if task is None:
                task = self._coming[id] = asyncio.create_task(self._bring(id, person))
                task.add_done_callback(lambda _: self._coming.pop(id, None))
            episode = await asyncio.shield(task)
        if episode.person != person:
            raise _unknown()
        self._here.move_to_end(id)
        return episode

    async def _bring(self, id: str, person: str | None) -> Episode:
        found = await self.store.rows(sql.select(tables.episodes).where(tables.episodes.c.id == id))
        if not found or found[0].person != person:
            raise _unknown()
        kept = await self.store.rows(
            sql.select(tables.actions).where(tables.actions.c.episode == id).order_by(tables.actions.c.number)
        )
        view = self._view(found[0].world, found[0].stage)
        episode = await self._run(replayed, found[0], kept, view)
        self._keep(episode)
        return episode

    async def take(self, episode: Episode, holder: Holder) -> None:
        """Let a socket play the episode; the one that did so before is told."""
        before, episode.holder = episode.holder, holder
        if before is not None and before is not holder:
            await before.lose(episode.id)

    def leave(self, episode: Episode, holder: Holder) -> None:
        """The socket plays the episode no longer."""
        if episode.holder is holder:
            episode.holder = None

    async def act(self, episode: Episode, number: int, action: Any, at: float) -> None:
        """Make and keep an action with the number that comes next; one that was made before is not made again.

        :raises InputError: it is refused, and nothing was kept.
        :raises Unkept: it was made, and could not be written.
        """
        async with episode.lock:
            if number <= episode.number:
                return
            if number > episode.number + 1:
                raise InputError(f"the number is {number}; the next action of the episode has {episode.number + 1}")
            received = time.time()
            if episode.deadline is not None and received > episode.deadline and not episode.over:
                raise InputError("the time for this task is over")
            try:
                await self._run(episode.act, action)
                await self.store.write(*self._rows(episode, action, at, received))
            except InputError:
                raise
            except BaseException as error:  # what is in memory may be ahead of the disk: it is brought back from there
                self._here.pop(episode.id, None)
                if isinstance(error, Exception):
                    raise Unkept("the action could not be kept; the episode goes on from the one before") from error
                raise

    async def end(self, episode: Episode, **more: Any) -> None:
        """End an episode as it stands, unsolved; `more` is kept with its result."""
        async with episode.lock:
            if episode.over:
                return
            result = {**episode.result(), "success": False, **more}
            ended = sql.update(tables.episodes).where(tables.episodes.c.id == episode.id)
            await self.store.write(ended.values(ended=time.time(), result=result))
            episode.over, episode.success = True, False

    async def shown(self, episode: Episode) -> dict[str, Any]:
        """As `Episode.shown`, made in a thread."""
        return await self._run(episode.shown)

    def _rows(self, episode: Episode, action: Any, at: float, received: float) -> list[Any]:
        rows: list[Any] = [
            sql.insert(tables.actions).values(
                episode=episode.id, number=episode.number, action=action, at=at, received=received
            )
        ]
        if episode.over:
            ended = sql.update(tables.episodes).where(tables.episodes.c.id == episode.id)
            rows.append(ended.values(ended=received, result=episode.result()))
        return rows

    def _view(self, world: str, stage: int) -> View:
        """The view of a world; in a study, which counts stages, with the world's own way to begin tasks."""
        entry = self._worlds(world)
        view, own = view_of(entry), entry.get("study") if stage else None
        return view if own is None else replace(view, begin=own)

    def _keep(self, episode: Episode) -> None:
        if self.arrange is not None:
            self.arrange(episode)
        self._here[episode.id] = episode
        for id, other in list(self._here.items())[: max(0, len(self._here) - KEPT)]:
            if other.holder is None and not other.lock.locked():
                del self._here[id]

    async def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._workers, function, *args)


def _unknown() -> UnknownEpisode:
    return UnknownEpisode("there is no such episode of yours here; begin a new one")
