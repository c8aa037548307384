"""Episodes under the server: each is an environment and its view; its kept actions bring it back after a crash.

Help that was given changes no state: its rows say what was shown, and what it has cost.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from gumption.data import InputError
from gumption.data.errors import extra

from . import store as tables
from .helping import Adviser, Advisers, Asked, Helped, Offer
from .live import Clock, RealTime
from .store import Store
from .views import View, view_of

with extra("web", "the web home"):
    import sqlalchemy as sql

KEPT = 1000  # episodes in memory; those left alone longest are brought back from disk when they are asked for
QUICK = 0.002  # seconds of a step that holds nobody up
SEEDS = 2**31  # drawn seeds are below
_log = logging.getLogger(__name__)
#: Ends a process once the server is gone, whose end of the pipe closes then, even if it was killed.
_WITH_SERVER = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
"""


def new_id() -> str:
    """128 random bits."""
    return secrets.token_hex(16)


class UnknownEpisode(InputError):
    """There is no such episode of this person; whose it is stays untold."""


class Unkept(Exception):
    """An action, or a help, could not be kept; the episode goes on from what was."""


class Made(NamedTuple):
    """Where an action was made.

    :ivar step: of the physics, in real time; `attempt` is that at the task, from 1.
    :ivar state: the hash of the state before it.
    """

    step: int | None
    attempt: int
    state: str


class Holder(Protocol):
    """The socket at which an episode is played."""

    def lose(self, episode: str) -> None:
        """Tell it that the episode goes on elsewhere."""
        ...


class Episode:
    """An episode: a single environment with its view.

    :ivar stage: of a study, from 1 on; 0 outside one.
    :ivar number: actions so far.
    :ivar reward: the sum of theirs; `told` is what the last one came to, in words; `success` is None where the world
        has none.
    :ivar holder: the socket that plays it; `clock`: its time while it does, in real time.
    :ivar lock: held while an action is made and written.
    :ivar veil: makes what the player sees of what there is to see, where a study hides some.
    :ivar began: in seconds since 1970; `deadline` is when no action is taken any more, None without one.
    :ivar offer: the help that its player may ask for, None without any; `helps` are those that were given.
    """

    def __init__(
        self,
        id: str,
        person: str,
        world: str,
        view: View,
        begin: Callable[..., tuple[Any, Any]],
        settings: Mapping[str, Any],
        seed: int,
        stage: int = 0,
    ) -> None:
        """:raises InputError: settings that the world refuses."""
        self.id, self.person, self.world, self.stage = id, person, world, stage
        self.view, self.settings, self.seed = view, dict(settings), seed
        self.env, self.face = begin(**settings, seed=seed)
        self.number, self.reward, self.told, self.over = 0, 0.0, "", False
        self.success: bool | None = None
        self.holder: Holder | None = None
        self.clock: Clock | None = None
        self.lock = asyncio.Lock()
        self.began = tables.now()
        self.veil: Callable[[dict[str, Any]], dict[str, Any]] | None = None
        self.deadline: float | None = None
        self.offer: Offer | None = None
        self.helps: list[Helped] = []

    def act(self, action: Any, step: int | None = None) -> Made:
        """Make an action; where it was made.

        :param action: JSON, as the view parses it.
        :param step: until which time passes before, when the episode is brought back.
        :raises InputError: it is none, or a closed one, or the episode is over; nothing has happened then.
        """
        live = self.view.live
        if live is not None and not self.over:
            step = self._pass(step)
        if self.over:
            raise InputError("the episode is over")
        chosen = self.view.parse(action, self.env)
        made = Made(step, self.attempt, self.view.state(self.env))
        if live is not None and step is not None:
            if self.clock is None:
                live.act(self.env, chosen, step)
            else:
                self.clock.act(chosen)
            self.number += 1
            self.told = self.face.told(self._look(), self.over)
            return made
        # A list answers questions of the world; a step takes anything else.
        came = self.env.answer(chosen) if isinstance(chosen, list) else self.env.step(chosen)
        _, reward, terminated, truncated, info = came
        self.number += 1
        self.reward += float(reward)
        self.over = bool(terminated or truncated)
        self.success = _success(info)
        self.told = self.face.told(info, bool(terminated))
        return made

    @property
    def attempt(self) -> int:
        """The how-manieth attempt at the task this is, from 1."""
        return 1 if self.view.attempt is None else self.view.attempt(self.env)

    def _pass(self, step: int | None) -> int:
        """Let time pass until a step, or up to now; the step."""
        live = self.view.live
        assert live is not None
        if step is not None:
            live.advance([self.env], [step])
        else:
            step = live.step(self.env) if self.clock is None else self.clock.now()
        self._look()
        return step

    def _look(self) -> Mapping[str, Any]:
        """Read what time has brought."""
        assert self.view.live is not None
        self.reward, self.over, info = self.view.live.state(self.env)
        self.success = _success(info)
        return info

    def look(self) -> bool:
        """Whether the episode is over, in real time also by time alone."""
        if self.view.live is not None and not self.over:
            if self.clock is not None:
                self.clock.now()
            self._look()
        return self.over

    def restore(self, row: Any) -> None:
        """Put the end of an episode that is over back, where it was not an action that ended it."""
        if row.ended is None or self.over:
            return
        self.success = row.result["success"]
        if self.view.live is not None and "step" in row.result:
            self._pass(row.result["step"])
        self.over = True

    def shown(self) -> dict[str, Any]:
        """What the player sees, in JSON."""
        self.look()
        choices = [] if self.over else self.view.choices(self.env)
        view = {
            "drawing": self.view.drawing(self.env),
            "text": self.face.observe(self.env) if self.view.text else "",
            "rules": self.face.rules(self.env),
            "choices": choices,
            "told": self.told,
            "steps": self.number,
            "reward": self.reward - self.paid,
            "over": self.over,
            "success": self.success,
            "help": self._help(),
            "action": self.view.action or ("choices" if choices else "typed"),
        }
        return view if self.veil is None else self.veil(view)

    def result(self) -> dict[str, Any]:
        """What the episode came to, with the hash of its last state; in real time with the physics step."""
        live = {} if self.view.live is None else self.view.live.result(self.env)
        reward = self.reward - self.paid
        came = {"steps": self.number, "attempts": self.attempt, "reward": reward, "success": self.success}
        helps = {"helps": len(self.helps), "paid": self.paid} if self.helps else {}
        return {**came, **helps, "state": self.view.state(self.env), **live}

    # ---- help

    @property
    def paid(self) -> float:
        """For help so far."""
        return sum(one.price for one in self.helps)

    def helped(self) -> Helped | None:
        """The help that was given at the present choice."""
        return self.helps[-1] if self.helps and self.helps[-1].after == self.number else None

    def has_helped(self, number: int, after: int) -> bool:
        """Whether help of this number, or at this choice, was given."""
        return number <= len(self.helps) or (after == self.number and self.helped() is not None)

    def refuse_help(self, number: int, after: int) -> None:
        """:raises InputError: no further help is given at this choice."""
        if self.offer is None:
            raise InputError("there is no help in this episode")
        if self.look():
            raise InputError("the episode is over")
        if after != self.number:
            raise InputError(f"help was asked for after action {after}, and the episode is after action {self.number}")
        if number > len(self.helps) + 1:
            raise InputError(f"the number is {number}; the next help of the episode has {len(self.helps) + 1}")
        if self.offer.at_most is not None and len(self.helps) >= self.offer.at_most:
            raise InputError(f"all help is used: {self.offer.at_most} in an episode")

    def _help(self) -> dict[str, Any] | None:
        """What the page tells of help: its price, how much there is, and what was said at this choice."""
        if self.offer is None:
            return None
        helped = self.helped()
        said = None if helped is None else helped.said["choices"]
        return {"price": self.offer.price, "at_most": self.offer.at_most, "used": len(self.helps), "said": said}


def _success(info: Mapping[str, Any]) -> bool | None:
    success = info.get("success")
    return None if success is None else bool(success)


def replayed(
    row: Any, kept: Sequence[Any], view: View, begin: Callable[..., tuple[Any, Any]], helps: Sequence[Any] = ()
) -> Episode:
    """The episode of a row of the store, with its kept actions made again.

    :param helps: rows of those that were given in it, in their order.
    :raises InputError: the world refuses what it once took: it was another version.
    """
    episode = Episode(row.id, row.person, row.world, view, begin, row.settings, row.seed, row.stage)
    for action in kept:
        try:
            episode.act(action.action, action.step)
        except InputError as error:
            raise InputError(f"action {action.number} of the episode cannot be made again ({error})") from None
    episode.began = row.began
    episode.helps = [Helped(one.number, one.after, one.said, one.price) for one in helps]
    episode.restore(row)
    return episode


class Episodes:
    """All episodes of a server, those in memory and those on disk.

    :ivar real_time: the loop of live episodes.
    :ivar arrange: is called with each episode that comes into memory, for what a study has to say of it.
    :ivar deadline_of: when the time of an episode, or of a row of the store, is over; None without a limit.
    :ivar timed: by id, what waits for the deadline of an episode.
    :ivar offers: help in episodes outside a study, by world; `advisers` give it.
    """

    def __init__(self, store: Store, worlds: Callable[[str], Any]) -> None:
        """:param worlds: finds a world by its name."""
        self.store, self.real_time = store, RealTime()
        self.arrange: Callable[[Episode], None] | None = None
        self.deadline_of: Callable[[Any], float | None] = lambda _: None
        self.timed: dict[str, asyncio.Task[None]] = {}
        self._late = asyncio.Lock()
        self.offers: Mapping[str, Offer] = {}
        self.advisers = Advisers(self.make)
        self._worlds = worlds
        # One thread makes environments: what two threads import for the first time at once may be there in part only.
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="maker")
        self._steppers = ThreadPoolExecutor(2, thread_name_prefix="stepper")
        self._quick: set[str] = set()  # worlds whose latest step was
        self._prepared: dict[Callable[[], None], asyncio.Future[None]] = {}
        self._preparing = threading.Lock()  # of what this process imports, as above
        self._here: OrderedDict[str, Episode] = OrderedDict()
        self._coming: dict[str, asyncio.Task[Episode]] = {}

    async def begin(
        self,
        *,
        person: str,
        world: str,
        settings: Mapping[str, Any],
        seed: int | None = None,
        stage: int = 0,
    ) -> Episode:
        """A new episode, which is on disk.

        :raises InputError: no such world, or settings that it refuses.
        """
        seed = secrets.randbelow(SEEDS) if seed is None else seed
        view, begin = self.entry(world, stage)
        await self.prepare(view)
        episode = await self.make(Episode, new_id(), person, world, view, begin, settings, seed, stage)
        row = sql.insert(tables.episodes).values(
            id=episode.id, person=person, stage=stage, world=world, settings=dict(settings), seed=seed,
            began=episode.began,
        )  # fmt: skip
        await self.store.write(row)
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
        row = found[0]
        kept, helps = await self.kept(id)
        view, begin = self.entry(row.world, row.stage)
        await self.prepare(view)
        episode = await self.make(replayed, row, kept, view, begin, helps)
        self._keep(episode)
        return episode

    async def kept(self, id: str) -> list[list[Any]]:
        """The rows of the actions and of the helps of an episode, in their order."""
        found = (sql.select(each).where(each.c.episode == id) for each in (tables.actions, tables.helps))
        return [await self.store.rows(rows.order_by("number")) for rows in found]

    def entry(self, name: str, stage: int | None) -> tuple[View, Callable[..., tuple[Any, Any]]]:
        """The view of a world, and what begins its episodes."""
        world = self._worlds(name)
        view = view_of(world)
        return view, (world.get("study") if stage else None) or view.begin

    def take(self, episode: Episode, holder: Holder) -> None:
        """Let a socket play the episode; the one that did so before is told."""
        before, episode.holder = episode.holder, holder
        _stop(episode)
        if before is not None and before is not holder:
            before.lose(episode.id)

    def leave(self, episode: Episode, holder: Holder) -> None:
        """The socket plays the episode no longer."""
        if episode.holder is holder:
            episode.holder = None
            _stop(episode)

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
            received = tables.now()
            _refuse_late(episode, received)
            try:
                made = await self._run(episode, episode.act, action)
                row = sql.insert(tables.actions).values(
                    episode=episode.id, number=episode.number, action=action, **made._asdict(), at=at, received=received
                )
                await self.store.write(row, *([_ended(episode, received)] if episode.over else []))
            except InputError:
                raise
            except BaseException as error:  # what is in memory may be ahead of the disk: it is brought back from there
                self.drop(episode)
                if isinstance(error, Exception):
                    raise Unkept("the action could not be kept; the episode goes on from the one before") from error
                raise

    async def help(self, episode: Episode, number: int, after: int, at: float) -> None:
        """Give and keep help at the present choice, once: whoever asks for it again is shown it, and pays nothing.

        :param number: of the help; `after` is the number of the latest action.
        :raises InputError: it is refused, and nothing was kept.
        :raises Unkept: it could not be written.
        """
        if episode.has_helped(number, after):
            return
        episode.refuse_help(number, after)
        try:
            adviser = await asyncio.shield(self._adviser(episode))
        except Exception:  # the server's log tells it
            reason = "there is no help here: its knowledge cannot be read, or knows nothing of such choices"
            raise InputError(reason) from None
        async with episode.lock:
            if episode.has_helped(number, after):
                return
            episode.refuse_help(number, after)
            received = tables.now()
            _refuse_late(episode, received)
            asked = partial(adviser.said, episode.view, episode.env)
            loop, live = asyncio.get_running_loop(), episode.view.live is not None  # this thread moves what is live
            said = asked() if live else await loop.run_in_executor(self._steppers, asked)
            assert episode.offer is not None
            given = Helped(number, after, said, episode.offer.price)
            row = sql.insert(tables.helps).values(episode=episode.id, at=at, received=received, **given._asdict())
            try:
                await self.store.write(row)
            except BaseException as error:  # what is in memory may be behind the disk
                self.drop(episode)
                if isinstance(error, Exception):
                    raise Unkept("the help could not be kept; the episode goes on without it") from error
                raise
            episode.helps.append(given)

    def _adviser(self, episode: Episode) -> asyncio.Task[Adviser]:
        """Who helps in an episode to which help is offered."""
        assert episode.offer is not None
        world = self._worlds(episode.world)
        return self.advisers.come(Asked(episode.offer, world, episode.view, episode.env, episode.settings))

    async def end(self, episode: Episode, **more: Any) -> None:
        """Write the end of an episode that no action has ended, once.

        :param more: further entries of its result.
        """
        async with episode.lock:
            if not episode.over or episode.view.live is not None:
                now = tables.now()
                if episode.deadline is not None and now > episode.deadline:
                    now, more = episode.deadline, {"end": "time"}
                await self.store.write(_ended(episode, now, more))
            episode.over = True
            _stop(episode)

    async def resume(self) -> None:
        """See to the deadlines of the episodes that were going on when the server was stopped."""
        table = tables.episodes
        for row in await self.store.rows(sql.select(table).where(table.c.ended.is_(None), table.c.stage > 0)):
            self._time(row.id, row.person, self.deadline_of(row))

    def _time(self, id: str, person: str, deadline: float | None) -> None:
        """End an episode at its deadline, whoever is connected then."""
        if deadline is not None and id not in self.timed:
            self.timed[id] = task = asyncio.create_task(self._end_in_time(id, person, deadline))
            task.add_done_callback(lambda _: self.timed.pop(id, None))

    async def _end_in_time(self, id: str, person: str, deadline: float) -> None:
        while (left := deadline - tables.now()) >= 0:
            await asyncio.sleep(left + 0.001)
        try:
            table = tables.episodes
            async with self._late:  # after a restart there may be many, and others want to play
                if await self.store.rows(sql.select(table.c.id).where(table.c.id == id, table.c.ended.is_(None))):
                    await self.end(await self.find(id, person))
        except Exception:
            _log.exception("an episode could not be ended at its deadline; it is ended when its player comes back")

    async def shown(self, episode: Episode) -> dict[str, Any]:
        """As `Episode.shown`, in the thread of its environment."""
        return await self._run(episode, episode.shown)

    async def forget(self, person: str, *then: Any) -> None:
        """Delete a person and all that is kept of them; as `Store.forget`."""
        for episode in [one for one in self._here.values() if one.person == person]:
            async with episode.lock:
                episode.over = True
                self.drop(episode)
        await self.store.forget(person, *then)

    def _keep(self, episode: Episode) -> None:
        if not episode.stage:
            episode.offer = self.offers.get(episode.world)
        if self.arrange is not None:
            self.arrange(episode)
        episode.deadline = self.deadline_of(episode)
        if not episode.over:
            self._time(episode.id, episode.person, episode.deadline)
        if episode.offer is not None and not episode.over:  # before it is asked for: that takes seconds
            self._adviser(episode)
        self._here[episode.id] = episode
        for id, other in list(self._here.items())[: max(0, len(self._here) - KEPT)]:
            if other.holder is None and not other.lock.locked():
                del self._here[id]

    def drop(self, episode: Episode) -> None:
        """Let go of what is in memory; the next to ask for it gets what is on disk."""
        if self._here.get(episode.id) is episode:
            del self._here[episode.id]
        _stop(episode)

    async def make(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a function, in the one thread that makes environments."""
        return await asyncio.get_running_loop().run_in_executor(self._maker, function, *args)

    async def _run(self, episode: Episode, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a function of an episode: here where its world is quick or in real time, else in a thread.

        A thread has to wait for this one at both ends, which takes longer than most steps.
        """
        if episode.view.live is not None:
            return function(*args)
        if episode.world in self._quick:
            result, seconds = _timed(function, *args)
        else:
            loop = asyncio.get_running_loop()
            result, seconds = await loop.run_in_executor(self._steppers, _timed, function, *args)
        (self._quick.add if seconds < QUICK else self._quick.discard)(episode.world)
        return result

    @property
    def preparing(self) -> bool:
        """Whether a world is being made ready."""
        return not all(ready.done() for ready in self._prepared.values())

    async def prepare(self, view: View) -> None:
        """Make a world ready, once; returns when it is."""
        if view.prepare is None:
            return
        if (ready := self._prepared.get(view.prepare)) is None:
            ready = self._prepared[view.prepare] = asyncio.get_running_loop().create_future()
            # A daemon: a server that is stopped meanwhile need not wait.
            threading.Thread(target=self._prepare, args=(view.prepare, ready), name="prepare", daemon=True).start()
        await asyncio.shield(ready)

    def _prepare(self, prepare: Callable[[], None], ready: asyncio.Future[None]) -> None:
        # Compiling holds up all threads of a process.
        call = f"{_WITH_SERVER}\nfrom {prepare.__module__} import {prepare.__name__} as prepare; prepare()"
        with subprocess.Popen([sys.executable, "-c", call], stdin=subprocess.PIPE) as process:
            process.wait()
        with self._preparing, suppress(Exception):  # whoever plays the world is told
            prepare()
        with suppress(RuntimeError):  # the server has ended
            ready.get_loop().call_soon_threadsafe(ready.set_result, None)

    def close(self) -> None:
        """Finish what is being done."""
        self._maker.shutdown(cancel_futures=True)
        self._steppers.shutdown(cancel_futures=True)


def _timed(function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """The result of a function, and the seconds that it took of the processor."""
    began = time.thread_time()
    return function(*args), time.thread_time() - began


def _ended(episode: Episode, when: float, more: Mapping[str, Any] = MappingProxyType({})) -> Any:
    row = sql.update(tables.episodes).where(tables.episodes.c.id == episode.id, tables.episodes.c.ended.is_(None))
    return row.values(ended=when, result={**episode.result(), **more})


def _stop(episode: Episode) -> None:
    if episode.clock is not None:
        episode.clock.stop()
        episode.clock = None


def _refuse_late(episode: Episode, now: float) -> None:
    if episode.deadline is not None and now > episode.deadline:
        raise InputError("the time for this task is over")


def _unknown() -> UnknownEpisode:
    return UnknownEpisode("there is no such episode of yours here; begin a new one")
