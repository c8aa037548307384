"""Episodes of the web server: an environment with its view, restored after a crash by a replay of its stored actions.

Help does not change the state of an environment: its rows hold the content shown and its price.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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

KEPT = 1000  # episodes in memory; the least recently used ones are dropped, and restored from disk on demand
QUICK = 0.002  # seconds: a faster step may run in the thread of the event loop
SEEDS = 2**31  # exclusive upper bound of drawn seeds
_log = logging.getLogger(__name__)
#: Code that ends a subprocess when the server ends: the server's end of the pipe closes, even if the server was killed.
_WITH_SERVER = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
"""


def new_id() -> str:
    """Return 128 random bits as 32 hexadecimal digits."""
    return secrets.token_hex(16)


class UnknownEpisode(InputError):
    """This person has no episode of this id. The message does not reveal whether another person has."""

    def __init__(self) -> None:
        super().__init__("there is no such episode of yours here; begin a new one")


class Unkept(Exception):
    """An action or a help could not be stored; the episode continues from its last stored state."""


class Made(NamedTuple):
    """The point of an episode at which an action was made.

    :ivar step: physics step, in real time; `attempt` is the number of the attempt at the task, from 1.
    :ivar state: hash of the state before the action.
    """

    step: int | None
    attempt: int
    state: str


class Holder(Protocol):
    """The socket that plays an episode."""

    def lose(self, episode: str) -> None:
        """Notify the socket that another socket now plays the episode."""
        ...


class Episode:
    """An episode: a single environment with its view.

    :ivar stage: stage of a study, from 1 on; 0 outside a study.
    :ivar number: number of actions so far.
    :ivar reward: sum of rewards so far; `told` is the outcome of the last action in words; `success` is None where the
        world does not define it.
    :ivar holder: the socket that plays the episode; `clock`: its clock meanwhile, in real time.
    :ivar lock: held while an action is made and written.
    :ivar veil: maps the full view to the view of the player, where a study hides parts; None otherwise.
    :ivar began: in seconds since 1970; `deadline` is the time after which actions are refused, None without a limit.
    :ivar offer: help available to the player, None without any; `helps` are the helps given so far.
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
        """:raises InputError: the world refuses the settings."""
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
        """Make an action and return the point at which it was made.

        :param action: JSON, as the view parses it.
        :param step: physics step to which time is advanced first, in a replay.
        :raises InputError: no valid or open action, or the episode is over; the state is unchanged then.
        """
        live = self.view.live
        if live is not None and not self.over:
            step = self._pass(step)
        if self.over:
            raise InputError("the episode is over")
        chosen = self.view.parse(action, self.env)
        made = Made(step, self.view.attempt(self.env), self.view.state(self.env))
        if live is not None and step is not None:
            if self.clock is None:
                live.act(self.env, chosen, step)
            else:
                self.clock.act(chosen)
            self.number += 1
            self.told = self.face.told(self._look(), self.over)
            return made
        # A list holds answers to the world's questions; any other action is a step.
        came = self.env.answer(chosen) if isinstance(chosen, list) else self.env.step(chosen)
        _, reward, terminated, truncated, info = came
        self.number += 1
        self.reward += float(reward)
        self.over = bool(terminated or truncated)
        self.success = _success(info)
        self.told = self.face.told(info, bool(terminated))
        return made

    def _pass(self, step: int | None) -> int:
        """Advance time to a step, or to the present for None; return the step."""
        live = self.view.live
        assert live is not None
        if step is not None:
            live.advance([self.env], [step])
        else:
            step = live.step(self.env) if self.clock is None else self.clock.now()
        self._look()
        return step

    def _look(self) -> Mapping[str, Any]:
        """Update reward, end and success from the world's state; return its info."""
        assert self.view.live is not None
        self.reward, self.over, info = self.view.live.state(self.env)
        self.success = _success(info)
        return info

    def look(self) -> bool:
        """Return whether the episode is over. In real time it can end without an action."""
        if self.view.live is not None and not self.over:
            if self.clock is not None:
                self.clock.now()
            self._look()
        return self.over

    def restore(self, row: Any) -> None:
        """Restore the end of an episode that something other than an action has ended, from its row."""
        if row.ended is None or self.over:
            return
        self.success = row.result["success"]
        if self.view.live is not None and "step" in row.result:
            self._pass(row.result["step"])
        self.over = True

    def shown(self) -> dict[str, Any]:
        """Return the view of the player, as JSON."""
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
        """Return the result of the episode, with the hash of its last state; in real time with the physics step."""
        live = {} if self.view.live is None else self.view.live.result(self.env)
        reward = self.reward - self.paid
        attempts = self.view.attempt(self.env)
        came = {"steps": self.number, "attempts": attempts, "reward": reward, "success": self.success}
        helps = {"helps": len(self.helps), "paid": self.paid} if self.helps else {}
        return {**came, **helps, "state": self.view.state(self.env), **live}

    # ---- help

    @property
    def paid(self) -> float:
        """The sum of the prices of all helps so far."""
        return sum(one.price for one in self.helps)

    def helped(self) -> Helped | None:
        """Return the help that was given at the present choice, None without any."""
        return self.helps[-1] if self.helps and self.helps[-1].after == self.number else None

    def has_helped(self, number: int, after: int) -> bool:
        """Return whether help of this number, or at this choice, was given."""
        return number <= len(self.helps) or (after == self.number and self.helped() is not None)

    def refuse_help(self, number: int, after: int) -> None:
        """:raises InputError: further help at this choice is not allowed."""
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
        """Return the state of help for the page: price, limit, number used, and the help at the present choice."""
        if self.offer is None:
            return None
        helped = self.helped()
        said = None if helped is None else helped.said["choices"]
        return {"price": self.offer.price, "at_most": self.offer.at_most, "used": len(self.helps), "said": said}


def _success(info: Mapping[str, Any]) -> bool | None:
    success = info.get("success")
    return None if success is None else bool(success)


def replayed(
    row: Any,
    kept: Sequence[Any],
    view: View,
    begin: Callable[..., tuple[Any, Any]],
    helps: Sequence[Any] = (),
    ended: bool = True,
) -> Episode:
    """Restore the episode of a row of the store by a replay of its stored actions.

    :param helps: rows of the helps given in the episode, in their order.
    :param ended: also restore an end that no action caused.
    :raises InputError: the world refuses an action that it once accepted, because its version differs.
    """
    episode = Episode(row.id, row.person, row.world, view, begin, row.settings, row.seed, row.stage)
    for action in kept:
        try:
            episode.act(action.action, action.step)
        except InputError as error:
            raise InputError(f"action {action.number} of the episode cannot be made again ({error})") from None
    episode.began = row.began
    episode.helps = [Helped(one.number, one.after, one.said, one.price) for one in helps]
    if ended:
        episode.restore(row)
    return episode


class Episodes:
    """All episodes of a server, in memory and on disk.

    :ivar real_time: the loop of live episodes.
    :ivar arrange: called with each episode that enters memory, so that a study can set its veil and its help.
    :ivar deadline_of: maps an episode, or its row of the store, to its deadline; None without a limit.
    :ivar timed: id -> task that waits for the deadline of the episode.
    :ivar offers: world -> help in episodes outside a study; `advisers` compute it.
    """

    def __init__(self, store: Store, worlds: Callable[[str], Any]) -> None:
        """:param worlds: returns the world of a name."""
        self.store, self.real_time = store, RealTime()
        self.arrange: Callable[[Episode], None] | None = None
        self.deadline_of: Callable[[Any], float | None] = lambda _: None
        self.timed: dict[str, asyncio.Task[None]] = {}
        self._late = asyncio.Lock()
        self.offers: Mapping[str, Offer] = {}
        self.advisers = Advisers(self.make)
        self._worlds = worlds
        # One thread makes environments: two threads that import a module at once may see it half initialized.
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="maker")
        self._steppers = ThreadPoolExecutor(2, thread_name_prefix="stepper")
        self._quick: set[str] = set()  # worlds whose latest step took less than QUICK
        self._prepared: dict[Callable[[], None], asyncio.Future[None]] = {}
        self._preparing = threading.Lock()  # serializes the imports of `_prepare` in this process, for the same reason
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
        """Begin an episode, store it, and return it.

        :raises InputError: no such world, or the world refuses the settings.
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
        """Return an episode of a person, from memory or restored from disk.

        :raises UnknownEpisode: this person has no episode of this id.
        """
        episode = self._here.get(id)
        if episode is None:
            task = self._coming.get(id)
            if task is None:
                task = self._coming[id] = asyncio.create_task(self._bring(id, person))
                task.add_done_callback(lambda _: self._coming.pop(id, None))
            episode = await asyncio.shield(task)
        if episode.person != person:
            raise UnknownEpisode
        self._here.move_to_end(id)
        return episode

    async def _bring(self, id: str, person: str | None) -> Episode:
        found = await self.store.rows(sql.select(tables.episodes).where(tables.episodes.c.id == id))
        if not found or found[0].person != person:
            raise UnknownEpisode
        row = found[0]
        kept, helps = await self.kept(id)
        view, begin = self.entry(row.world, row.stage)
        await self.prepare(view)
        episode = await self.make(replayed, row, kept, view, begin, helps)
        self._keep(episode)
        return episode

    async def kept(self, id: str) -> list[list[Any]]:
        """Return the rows of the actions and of the helps of an episode, each in their order."""
        found = (sql.select(each).where(each.c.episode == id) for each in (tables.actions, tables.helps))
        return [await self.store.rows(rows.order_by("number")) for rows in found]

    def entry(self, name: str, stage: int | None) -> tuple[View, Callable[..., tuple[Any, Any]]]:
        """Return the view of a world and the function that begins its episodes: in a study its `study`, if defined."""
        world = self._worlds(name)
        view = view_of(world)
        return view, (world.get("study") if stage else None) or view.begin

    def take(self, episode: Episode, holder: Holder) -> None:
        """Let a socket play the episode, and notify the socket that played it before."""
        before, episode.holder = episode.holder, holder
        _stop(episode)
        if before is not None and before is not holder:
            before.lose(episode.id)

    def leave(self, episode: Episode, holder: Holder) -> None:
        """Release the episode from a socket that no longer plays it."""
        if episode.holder is holder:
            episode.holder = None
            _stop(episode)

    async def act(self, episode: Episode, number: int, action: Any, at: float) -> None:
        """Make and store the next action. An action whose number was made before is ignored.

        :raises InputError: the action is refused; nothing was stored.
        :raises Unkept: the action was made but could not be written.
        """
        async with episode.lock:
            if number <= episode.number:
                return
            if number > episode.number + 1:
                raise InputError(f"the number is {number}; the next action of the episode has {episode.number + 1}")
            received = tables.now()
            _refuse_late(episode, received)
            with self._kept(episode, "the action could not be kept; the episode goes on from the one before"):
                made = await self._run(episode, episode.act, action)
                row = sql.insert(tables.actions).values(
                    episode=episode.id, number=episode.number, action=action, **made._asdict(), at=at, received=received
                )
                await self.store.write(row, *([_ended(episode, received)] if episode.over else []))

    @contextmanager
    def _kept(self, episode: Episode, otherwise: str) -> Iterator[None]:
        """Drop the episode if the block fails to store its change, since memory and disk may differ then.

        :raises Unkept: with the message `otherwise`.
        """
        try:
            yield
        except InputError:
            raise
        except BaseException as error:
            self.drop(episode)
            if isinstance(error, Exception):
                raise Unkept(otherwise) from error
            raise

    async def help(self, episode: Episode, number: int, after: int, at: float) -> None:
        """Give and store help at the present choice, once: a second request shows the same help and costs nothing.

        :param number: number of the help; `after` is the number of the latest action.
        :raises InputError: the help is refused; nothing was stored.
        :raises Unkept: the help could not be written.
        """
        if episode.has_helped(number, after):
            return
        episode.refuse_help(number, after)
        try:
            adviser = await asyncio.shield(self._adviser(episode))
        except Exception:  # the cause is in the server's log
            reason = "there is no help here: its knowledge cannot be read, or knows nothing of such choices"
            raise InputError(reason) from None
        async with episode.lock:
            if episode.has_helped(number, after):
                return
            episode.refuse_help(number, after)
            received = tables.now()
            _refuse_late(episode, received)
            asked = partial(adviser.said, episode.view, episode.env)
            loop, live = asyncio.get_running_loop(), episode.view.live is not None  # live worlds move in this thread
            said = asked() if live else await loop.run_in_executor(self._steppers, asked)
            assert episode.offer is not None
            given = Helped(number, after, said, episode.offer.price)
            row = sql.insert(tables.helps).values(episode=episode.id, at=at, received=received, **given._asdict())
            with self._kept(episode, "the help could not be kept; the episode goes on without it"):
                await self.store.write(row)
            episode.helps.append(given)

    def _adviser(self, episode: Episode) -> asyncio.Task[Adviser]:
        """Return the task that makes the adviser of an episode with an offer of help."""
        assert episode.offer is not None
        world = self._worlds(episode.world)
        return self.advisers.come(Asked(episode.offer, world, episode.view, episode.env, episode.settings))

    async def end(self, episode: Episode, **more: Any) -> None:
        """Write the end of an episode that no action has ended, once.

        :param more: further entries of the result.
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
        """Schedule the deadlines of the episodes that were unfinished when the server stopped."""
        table = tables.episodes
        for row in await self.store.rows(sql.select(table).where(table.c.ended.is_(None), table.c.stage > 0)):
            self._time(row.id, row.person, self.deadline_of(row))

    def _time(self, id: str, person: str, deadline: float | None) -> None:
        """Schedule the end of an episode at its deadline, whether or not a player is connected then."""
        if deadline is not None and id not in self.timed:
            self.timed[id] = task = asyncio.create_task(self._end_in_time(id, person, deadline))
            task.add_done_callback(lambda _: self.timed.pop(id, None))

    async def _end_in_time(self, id: str, person: str, deadline: float) -> None:
        while (left := deadline - tables.now()) >= 0:
            await asyncio.sleep(left + 0.001)
        try:
            table = tables.episodes
            async with self._late:  # one at a time: after a restart there may be many, and play must go on
                if await self.store.rows(sql.select(table.c.id).where(table.c.id == id, table.c.ended.is_(None))):
                    await self.end(await self.find(id, person))
        except Exception:
            _log.exception("an episode could not be ended at its deadline; it is ended when its player comes back")

    async def shown(self, episode: Episode) -> dict[str, Any]:
        """Return `Episode.shown`, computed in the thread of its environment."""
        return await self._run(episode, episode.shown)

    async def forget(self, person: str, *then: Any) -> None:
        """Delete a person and all their data, in memory and as `Store.forget` does."""
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
        if episode.offer is not None and not episode.over:  # load the knowledge in advance: that takes seconds
            self._adviser(episode)
        self._here[episode.id] = episode
        for id, other in list(self._here.items())[: max(0, len(self._here) - KEPT)]:
            if other.holder is None and not other.lock.locked():
                del self._here[id]

    def drop(self, episode: Episode) -> None:
        """Drop an episode from memory; the next request restores it from disk."""
        if self._here.get(episode.id) is episode:
            del self._here[episode.id]
        _stop(episode)

    async def make(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function in the one thread that makes environments, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._maker, function, *args)

    async def _run(self, episode: Episode, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function of an episode and return its result; in a pool thread if its world is slow, else in this one.

        The switch to another thread and back takes longer than most steps. Real-time worlds always run in this thread.
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
        """Whether any world is still being prepared."""
        return not all(ready.done() for ready in self._prepared.values())

    async def prepare(self, view: View) -> None:
        """Prepare a world, once; return when it is ready."""
        if view.prepare is None:
            return
        if (ready := self._prepared.get(view.prepare)) is None:
            ready = self._prepared[view.prepare] = asyncio.get_running_loop().create_future()
            # A daemon thread: a server that stops meanwhile does not wait for it.
            threading.Thread(target=self._prepare, args=(view.prepare, ready), name="prepare", daemon=True).start()
        await asyncio.shield(ready)

    def _prepare(self, prepare: Callable[[], None], ready: asyncio.Future[None]) -> None:
        # Compile in a subprocess first, because compilation blocks all threads of a process.
        call = f"{_WITH_SERVER}\nfrom {prepare.__module__} import {prepare.__name__} as prepare; prepare()"
        with subprocess.Popen([sys.executable, "-c", call], stdin=subprocess.PIPE) as process:
            process.wait()
        with self._preparing, suppress(Exception):  # the error returns when somebody plays the world
            prepare()
        with suppress(RuntimeError):  # the server has ended
            ready.get_loop().call_soon_threadsafe(ready.set_result, None)

    def close(self) -> None:
        """Finish the running calls, cancel the queued ones, and stop the threads."""
        self._maker.shutdown(cancel_futures=True)
        self._steppers.shutdown(cancel_futures=True)


def _timed(function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Return the result of a function and its processor time in seconds."""
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
