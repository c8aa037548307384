"""A session with an agent that is another program, from the first byte to the record."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import monotonic

from gumption.data import InputError

from .remote import RemoteSettings
from .session import Agent, Result, Session
from .stream import Stream
from .wire import Wire

EVERY = 0.5  # seconds between two reports


def play(settings: RemoteSettings, wire: Wire, report: Callable[[Result], None]) -> Result:
    """Play with the agent at the other end of the wire; whatever it does ends the run, and nothing else.

    :param report: is given what the run has come to: at its begin, now and then, and at its end, however it ends.
    """
    curriculum = settings.curriculum()
    ends = inf if settings.max_seconds is None else monotonic() + settings.max_seconds
    look, paid, late = 0.0, 0, False

    def agent(reward: int, byte: int) -> int:
        nonlocal look, paid, late
        now = monotonic()
        if now >= look:
            report(session.so_far())
            look = min(now + EVERY, ends)
        if now >= ends:
            late = True
            raise InputError("the time is up")
        paid += reward
        return ask(reward, byte)

    session = Session(
        curriculum.tasks,
        agent,
        success_threshold=curriculum.success_threshold,
        seed=settings.seed,
        max_steps=settings.max_steps,
    )
    ask = _with_words(wire.ask, session.stream) if settings.upstream_quirks else wire.ask
    try:
        result = session.run()
    except BaseException:
        report(session.so_far("stopped"))
        raise
    if late:
        result = replace(result, ended="seconds", error=None)
    report(result)
    if settings.final_notice and result.ended != "agent":
        wire.end(result.reward - paid)
    return result


def _with_words(ask: Agent, stream: Stream) -> Agent:
    """As the program of 2017: the reward of a mini-task, which comes with the next instance, is True or False."""
    mini = False

    def asked(reward: int, byte: int) -> int:
        nonlocal mini
        if stream.age == 1:  # the first byte of an instance
            if mini:
                reward = bool(reward)
            mini = stream.life.task.cycle == "mini"
        return ask(reward, byte)

    return asked
