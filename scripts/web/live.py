"""Real time: worlds that move between actions, and one loop for all their episodes on a server.

Time is counted in steps of a world's physics. It passes while a page watches, so that a player who reloads, or whose
server was restarted, goes on at the very step. A world at rest has no ticks.

An action is done at the present step of the server, not at the step which the page saw. Frames have already shown what
came after that one, and a page that named an earlier step could act with hindsight. Records keep the server's step,
from which replays find the same states.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from math import floor
from typing import Any, Protocol

from gumption.data.tables import grouped

#: Frames a second while something moves.
FRAMES = 40


class Live(Protocol):
    """What a world brings to be played in real time; `env` is what its view begins.

    :ivar rate: steps of the physics a second.
    """

    rate: int

    def step(self, env: Any) -> int:
        """The present step; it may go back to 0 at an action, which begins a new trial."""
        ...

    def due(self, env: Any) -> int | None:
        """The next step at which something happens by itself: the very next one while something moves, that of a broken
        time limit, or None."""
        ...

    def frame(self, env: Any) -> dict[str, Any]:
        """What the page draws anew while something moves, as small JSON; it has the "step", and whether the episode is
        "over"."""
        ...

    def advance(self, envs: Sequence[Any], steps: Sequence[int]) -> None:
        """Let time pass in each environment until a step. It stands still where an episode is over or waits."""
        ...

    def act(self, env: Any, action: Any, step: int) -> None:
        """Let time pass until a step, and do an action there."""
        ...

    def state(self, env: Any) -> tuple[float, bool, dict[str, Any]]:
        """The reward of the episode, whether it is over, and its info as a step gives it."""
        ...

    def result(self, env: Any) -> dict[str, Any]:
        """What is kept of an episode that is over, beside reward and success, as small JSON; it has the "step"."""
        ...


class RealTime:
    """The loop of a server; `run` is a task of its event loop, in whose thread all calls are made.

    :ivar speed: how many times as fast as a clock time passes: 1 for people, more for simulated ones.
    """

    speed = 1.0

    def __init__(self) -> None:
        self._moving: dict[Clock, None] = {}
        self._some = asyncio.Event()

    def watch(self, live: Live, env: Any) -> "Clock":
        """Let the time of an episode pass from now on."""
        return Clock(self, live, env)

    async def run(self) -> None:
        """Go on for ever; without an episode that moves it sleeps.

        It takes half of the time at most: with more than that to do there are fewer frames, and time goes on as before.
        """
        now = asyncio.get_running_loop().time
        while True:
            await self._some.wait()
            began = now()
            self._tick()
            took = now() - began
            await asyncio.sleep(max(1.0 / FRAMES - took, took))

    def moves(self, clock: "Clock", whether: bool) -> None:
        """Tick for an episode, or leave it alone."""
        if whether:
            self._moving[clock] = None
        else:
            self._moving.pop(clock, None)
        if self._moving:
            self._some.set()
        else:
            self._some.clear()

    def _tick(self) -> None:
        for clocks in grouped((id(clock.live), clock) for clock in self._moving).values():
            targets = [clock.present() for clock in clocks]
            try:
                clocks[0].live.advance([clock.env for clock in clocks], targets)
            except Exception:  # of one of them, which ends that one alone
                for clock, target in zip(clocks, targets, strict=True):
                    clock.advance(target)
            for clock in clocks:
                clock.look()


class Clock:
    """The time of an episode while a page watches it."""

    def __init__(self, time: RealTime, live: Live, env: Any) -> None:
        self.live, self.env = live, env
        self._time, self._now = time, asyncio.get_running_loop().time
        self._rate = live.rate * time.speed  # steps a second of the clock
        self._zero = self._now() - live.step(env) / self._rate  # when step 0 was
        self._news, self._stopped = asyncio.Event(), False
        self._timer: asyncio.TimerHandle | None = None
        self._error: Exception | None = None
        self.look()

    def present(self) -> int:
        """The step to which time has come by the clock."""
        return max(floor((self._now() - self._zero) * self._rate), self.live.step(self.env))

    def now(self) -> int:
        """Let time pass up to now; the present step."""
        present = self.present()
        self.advance(present)
        if (step := self.live.step(self.env)) < present:  # the world waits
            self._zero = self._now() - step / self._rate
        self.look()
        return step

    def act(self, action: Any) -> int:
        """Do an action; the step at which it was done, to which `now` has let time pass."""
        step = self.live.step(self.env)
        self.live.act(self.env, action, step)
        if (after := self.live.step(self.env)) != step:
            self._zero = self._now() - after / self._rate
        self.look()
        return step

    def stop(self) -> None:
        """Let time pass up to now, when nobody watches any more."""
        if not self._stopped:
            self._stopped = True
            if self._error is None:
                self.advance(self.present())
        self._set_timer(None)
        self._time.moves(self, False)
        self._news.set()

    async def frames(self) -> AsyncIterator[dict[str, Any]]:
        """The newest frame each time that there is one, until the episode is over or the clock stops.

        Whoever is slow to take one misses those in between.

        :raises Exception: whatever the world raised while time passed.
        """
        while True:
            await self._news.wait()
            self._news.clear()
            if self._error is not None:
                raise self._error
            if self._stopped:
                return
            frame = self.live.frame(self.env)
            yield frame
            if frame["over"]:
                return

    def advance(self, step: int) -> None:
        """Let time pass until a step; an error ends the clock."""
        try:
            self.live.advance([self.env], [step])
        except Exception as error:
            self._error = error
            self.stop()

    def look(self) -> None:
        """Tell the present frame, and find out when the next thing happens."""
        if self._stopped:
            return
        self._news.set()
        live, step = self.live, self.live.step(self.env)
        due = live.due(self.env)
        soon = due is not None and due - step <= self._rate / FRAMES + 1
        self._time.moves(self, soon)
        self._set_timer(None if due is None or soon else self._zero + due / self._rate)

    def _set_timer(self, at: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop() if at is not None else None
        self._timer = None if loop is None or at is None else loop.call_at(at, self.now)
