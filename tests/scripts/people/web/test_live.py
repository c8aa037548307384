"""The loop of live episodes, with a small world that counts steps."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from gumption.scripts.people.web.live import FRAMES, Clock, RealTime


class Ball:
    """A ball that rolls for so many steps after each push; a trial is over after a push of 0."""

    def __init__(self, rolls: int = 30, limit: int | None = None) -> None:
        self.rolls, self.limit = rolls, limit
        self.step, self.until, self.over, self.waits = 0, rolls, False, False
        self.calls = 0


class Balls:
    rate = 60

    def prepare(self) -> None:
        pass

    def step(self, env: Ball) -> int:
        return env.step

    def due(self, env: Ball) -> int | None:
        if env.over or env.waits:
            return None
        return env.step + 1 if env.step < env.until else env.limit

    def frame(self, env: Ball) -> dict[str, Any]:
        return {"step": env.step, "over": env.over}

    def advance(self, envs: Sequence[Ball], steps: Sequence[int]) -> None:
        for env, step in zip(envs, steps, strict=True):
            env.calls += 1
            if env.rolls < 0:
                raise ValueError("the ball is lost")
            if not env.waits:
                env.step = step
            env.over |= env.limit is not None and step >= env.limit

    def act(self, env: Ball, action: Any, step: int) -> None:
        self.advance([env], [step])
        if action == "anew":
            env.step = 0
        env.until, env.waits = env.step + env.rolls, action == "wait"

    def state(self, env: Ball) -> tuple[float, bool, dict[str, Any]]:
        return 0.0, env.over, {}

    def result(self, env: Ball) -> dict[str, Any]:
        return {"step": env.step}


LIVE = Balls()


def run(play: Callable[[RealTime], Awaitable[None]]) -> None:
    """Play while the loop runs."""

    async def both() -> None:
        time = RealTime()
        loop = asyncio.create_task(time.run())
        try:
            await play(time)
        finally:
            loop.cancel()

    asyncio.run(both())


def hearing(clock: Clock) -> tuple[list[dict[str, Any]], "asyncio.Task[None]"]:
    """The frames that a page gets."""
    frames: list[dict[str, Any]] = []

    async def hear() -> None:
        async for frame in clock.frames():
            frames.append(frame)

    return frames, asyncio.create_task(hear())


def test_frames_come_while_something_moves_and_none_at_rest() -> None:
    async def play(time: RealTime) -> None:
        ball = Ball(rolls=30)
        frames, _ = hearing(time.watch(LIVE, ball))
        await asyncio.sleep(0.8)
        steps = [frame["step"] for frame in frames]
        assert steps == sorted(set(steps))
        assert 30 <= steps[-1] <= 34
        assert len(frames) >= 0.5 * 30 * 0.8  # half a second of 40 a second, on a busy machine
        assert len(frames) <= 0.5 * FRAMES + 3
        calls = ball.calls
        await asyncio.sleep(0.2)
        assert ball.calls == calls

    run(play)


def test_time_at_rest_is_counted_at_the_next_action() -> None:
    async def play(time: RealTime) -> None:
        ball = Ball(rolls=0)
        clock = time.watch(LIVE, ball)
        await asyncio.sleep(0.5)
        assert ball.step == 0
        step = clock.now()
        assert 28 <= step <= 45
        assert clock.act("push") == step
        clock.act("anew")
        assert clock.present() <= 1

    run(play)


def test_a_limit_of_time_ends_an_episode_at_rest() -> None:
    async def play(time: RealTime) -> None:
        ball = Ball(rolls=0, limit=20)
        frames, task = hearing(time.watch(LIVE, ball))
        await asyncio.wait_for(task, 5)
        assert frames[-1] == {"step": ball.step, "over": True}
        assert 20 <= ball.step <= 30

    run(play)


def test_a_world_that_waits_does_not_make_up_for_it() -> None:
    async def play(time: RealTime) -> None:
        ball = Ball(rolls=2)
        clock = time.watch(LIVE, ball)
        clock.act("wait")
        await asyncio.sleep(0.4)
        step = clock.now()
        assert step <= 3
        ball.waits = False
        assert clock.present() <= step + 2

    run(play)


def test_time_stops_with_its_page() -> None:
    async def play(time: RealTime) -> None:
        ball = Ball(rolls=1000)
        clock = time.watch(LIVE, ball)
        _, task = hearing(clock)
        await asyncio.sleep(0.2)
        clock.stop()
        await asyncio.wait_for(task, 5)
        stopped = ball.step
        await asyncio.sleep(0.2)
        assert ball.step == stopped > 0
        again = time.watch(LIVE, ball)
        assert again.present() <= stopped + 2
        again.stop()

    run(play)


def test_who_is_slow_misses_frames_and_not_the_last_one() -> None:
    async def play(time: RealTime) -> None:
        steps = []
        async for frame in time.watch(LIVE, Ball(rolls=20, limit=30)).frames():
            steps.append(frame["step"])
            await asyncio.sleep(0.2)
        assert len(steps) <= 5
        assert steps[-1] >= 30

    run(play)


def test_a_failure_ends_its_own_episode_alone() -> None:
    async def play(time: RealTime) -> None:
        good, bad = Ball(rolls=1000), Ball(rolls=1000)
        frames, _ = hearing(time.watch(LIVE, good))
        _, task = hearing(time.watch(LIVE, bad))
        await asyncio.sleep(0.1)
        bad.rolls = -1
        with pytest.raises(ValueError, match="the ball is lost"):
            await asyncio.wait_for(task, 5)
        heard = len(frames)
        await asyncio.sleep(0.2)
        assert len(frames) > heard + 2

    run(play)


def test_many_at_once_are_passed_together() -> None:
    async def play(time: RealTime) -> None:
        passed: list[int] = []

        class Together(Balls):
            def advance(self, envs: Sequence[Ball], steps: Sequence[int]) -> None:
                passed.append(len(envs))
                super().advance(envs, steps)

        live = Together()
        clocks = [time.watch(live, Ball(rolls=1000)) for _ in range(20)]
        await asyncio.sleep(0.3)
        assert max(passed) == 20
        for clock in clocks:
            clock.stop()

    run(play)


def test_time_can_pass_faster_for_those_who_are_simulated() -> None:
    async def play(time: RealTime) -> None:
        time.speed = 20.0
        ball = Ball(rolls=600)  # ten seconds of a person
        frames, _ = hearing(time.watch(LIVE, ball))
        await asyncio.sleep(1.0)
        assert 600 <= frames[-1]["step"] <= 600 + 3 * 20
        limited = Ball(rolls=0, limit=600)
        _, task = hearing(time.watch(LIVE, limited))
        await asyncio.wait_for(task, 2)
        assert limited.over

    run(play)
