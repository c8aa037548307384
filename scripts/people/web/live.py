"""Real time: worlds that move between actions, and one loop for all their episodes on a server.

Time is counted in physics steps of a world. It passes only while a page watches, so after a reload or a restart of the
server the episode continues at the same step. A world at rest has no ticks.

An action is made at the present step of the server, not at the step that the page displayed. Otherwise a page could
name an earlier step and act on frames that it has already seen. Records store the server's step, so that a replay
reaches the same states.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from math import floor
from typing import Any, Protocol

from gumption.data.tables import grouped

#: Frames a second while something moves.
FRAMES = 40


class Live(Protocol):
    """Interface of a world that is played in real time; `env` is the environment that its view begins.

    :ivar rate: physics steps per second.
    """

    rate: int

    def step(self, env: Any) -> int:
        """Return the present step; an action that begins a new trial may reset it to 0."""
        ...

    def due(self, env: Any) -> int | None:
        """Return the next step at which the state changes without an action: the next step while something moves, the
        step of a time limit, or None."""
        ...

    def frame(self, env: Any) -> dict[str, Any]:
        """Return the moving part of the drawing as small JSON, with the "step" and whether the episode is "over"."""
        ...

    def advance(self, envs: Sequence[Any], steps: Sequence[int]) -> None:
        """Advance the time of each environment to a step. It does not advance where an episode is over or waits."""
        ...

    def act(self, env: Any, action: Any, step: int) -> None:
        """Advance the time to a step, and make an action there."""
        ...

    def state(self, env: Any) -> tuple[float, bool, dict[str, Any]]:
        """Return the reward of the episode, whether it is over, and its info in the form that a step returns."""
        ...

    def result(self, env: Any) -> dict[str, Any]:
        """Return the result of a finished episode apart from reward and success, as small JSON with the "step"."""
        ...


class RealTime:
    """The real-time loop of a server; `run` is a task of the event loop, and all calls are made in its thread.

    :ivar speed: world seconds per real second: 1 for people, more for simulated players.
    """

    speed = 1.0

    def __init__(self) -> None:
        self._moving: dict[Clock, None] = {}
        self._some = asyncio.Event()

    def watch(self, live: Live, env: Any) -> "Clock":
        """Start the clock of an episode, and return it."""
        return Clock(self, live, env)

    async def run(self) -> None:
        """Run the loop forever; it sleeps while no episode moves.

        It uses at most half of the thread's time: under more load there are fewer frames, at the same world speed.
        """
        now = asyncio.get_running_loop().time
        while True:
            await self._some.wait()
            began = now()
            self._tick()
            took = now() - began
            await asyncio.sleep(max(1.0 / FRAMES - took, took))

    def moves(self, clock: "Clock", whether: bool) -> None:
        """Add an episode to the loop, or remove it."""
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
            except Exception:  # raised by one environment; advance each alone, so that only that episode ends
                for clock, target in zip(clocks, targets, strict=True):
                    clock.advance(target)
            for clock in clocks:
                clock.look()


class Clock:
    """The clock of an episode while a page watches it."""

    def __init__(self, time: RealTime, live: Live, env: Any) -> None:
        self.live, self.env = live, env
        self._time, self._now = time, asyncio.get_running_loop().time
        self._rate = live.rate * time.speed  # steps a second of the clock
        self._zero = self._now() - live.step(env) / self._rate  # the time of step 0
        self._news, self._stopped = asyncio.Event(), False
        self._timer: asyncio.TimerHandle | None = None
        self._error: Exception | None = None
        self.look()

    def present(self) -> int:
        """Return the step that corresponds to the present time."""
        return max(floor((self._now() - self._zero) * self._rate), self.live.step(self.env))

    def now(self) -> int:
        """Advance the episode to the present time, and return its step."""
        present = self.present()
        self.advance(present)
        if (step := self.live.step(self.env)) < present:  # the world waits
            self._zero = self._now() - step / self._rate
        self.look()
        return step

    def act(self, action: Any) -> int:
        """Make an action at the step that `now` has reached, and return that step."""
        step = self.live.step(self.env)
        self.live.act(self.env, action, step)
        if (after := self.live.step(self.env)) != step:
            self._zero = self._now() - after / self._rate
        self.look()
        return step

    def stop(self) -> None:
        """Advance the episode to the present time and stop the clock, when no page watches any more."""
        if not self._stopped:
            self._stopped = True
            if self._error is None:
                self.advance(self.present())
        self._set_timer(None)
        self._time.moves(self, False)
        self._news.set()

    async def frames(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the newest frame whenever the state has changed, until the episode is over or the clock stops.

        A slow consumer skips the frames in between.

        :raises Exception: any error of the world while time advanced.
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
        """Advance the episode to a step; an error stops the clock."""
        try:
            self.live.advance([self.env], [step])
        except Exception as error:
            self._error = error
            self.stop()

    def look(self) -> None:
        """Announce a new frame, and schedule the next change of the state."""
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
