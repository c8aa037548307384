"""Agents over plain TCP and pipes, agents that are started, and what a run reports."""

import socket
import sys
import time
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gumption.data import InputError, Note
from gumption.envs.gradual import Result, Session, challenge
from gumption.envs.gradual import remote as module
from gumption.envs.gradual.remote import Host, RemoteSettings, StartedAgent, connect, play

# An agent in two bytes and one: it says back what it hears, and ends as it is told to at its tenth byte.
PIPED = """
import os, sys
number = 0
while pair := os.read(0, 2):
    number += 1
    if number == 10:
        ENDING
    os.write(1, pair[1:])
"""
CONNECTED = """
import sys
from gumption.envs.gradual.remote import connect
said = []
def agent(reward, byte):
    if not said:
        print("said on standard error")  # and not among the bytes
        said.append(byte)
    return byte
connect(agent, int(sys.argv[2]) if len(sys.argv) > 2 else 0, transport=sys.argv[1])
"""


def program(folder: Path, text: str, *arguments: str) -> str:
    """The command of a program."""
    (folder / "an agent.py").write_text(text)
    return " ".join([sys.executable, f"'{folder / 'an agent.py'}'", *arguments])


def run(**settings: Any) -> Result:
    """A run with an agent that is started."""
    chosen = RemoteSettings(**{"port": 0, "tasks": ("micro4",), "timeout": 20.0, **settings})
    with Host(chosen) as host, host.agent(print) as wire:
        return play(chosen, wire, lambda _: None)


@pytest.mark.parametrize("transport", ["zeromq", "tcp", "pipe"])
def test_a_program_plays_as_it_would_in_this_process(tmp_path: Path, transport: str) -> None:
    tasks = ("micro4", "micro5.3")
    result = run(command=program(tmp_path, CONNECTED, transport), transport=transport, tasks=tasks, max_steps=3_000)
    curriculum = RemoteSettings(tasks=tasks).curriculum()
    assert result == Session(curriculum.tasks, lambda _, byte: byte, max_steps=3_000).run()
    assert result.tasks[0].passed


def test_the_bytes_of_plain_tcp(environment, curriculum) -> None:
    curriculum("copy")
    running = environment(transport="tcp", final_notice=True, max_steps=5)
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        for said, told in ((b"", b"\x00\xe9"), (b"x", b"\xff."), (b"\xe9", b"\x01+"), (b" ", b"\x00;")):
            raw.sendall(said)
            assert raw.recv(64) == told
        raw.sendall(b" ")
        assert raw.recv(64) == b"\x00", "the last reward, without a byte"
        assert raw.recv(64) == b""
    assert running.ended().results[0].reward == 0


def test_nobody_is_let_in_while_an_agent_plays(environment) -> None:
    running = environment(transport="tcp")
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.recv(2)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", running.port))
        with pytest.raises(InputError, match=f"no environment waits at 127.0.0.1, port {running.port}"):
            connect(lambda *_: 0, running.port, transport="tcp")
    assert running.ended().results[0].error == "the agent disconnected"


def test_an_agent_may_be_given_months(environment) -> None:
    running = environment(transport="tcp", timeout=10_000_000.0, max_steps=2)
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.recv(2)
        time.sleep(0.1)
        raw.sendall(b"a")
        assert running.ended().results[0].ended == "steps"


def test_two_bytes_for_one_end_the_run(environment) -> None:
    running = environment(transport="tcp")
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.recv(2)
        raw.sendall(b"ab")
        told = "the agent answered a byte with 2 bytes, b'ab'; it has to be one"
        assert running.ended().results[0].error == told


@pytest.mark.parametrize("transport", ["zeromq", "tcp"])
def test_our_client_learns_of_the_end(environment, transport: str) -> None:
    running = environment(transport=transport, tasks=("micro4",))
    assert connect(lambda _, byte: byte, running.port, transport=transport) == 49, "the last reward is not sent"
    running = environment(transport=transport, tasks=("micro4",), final_notice=True)
    assert connect(lambda _, byte: byte, running.port, transport=transport) == 50
    (result,) = running.ended().results
    assert (result.reward, result.solved) == (50, True)


@pytest.mark.parametrize("transport", ["zeromq", "tcp"])
@pytest.mark.parametrize("said", [256, -1, "a"])
def test_our_client_sends_bytes_alone(environment, transport: str, said: Any) -> None:
    running = environment(transport=transport)
    with pytest.raises(InputError, match=f"the agent said {said!r}: it has to be a byte"):
        connect(lambda *_: said, running.port, transport=transport)
    assert running.ended().results[0].ended == "agent"


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        ("sys.exit(3)", "the agent ended with exit code 3"),
        ("os.kill(os.getpid(), 9)", "the agent ended by signal 9"),
        ("os.close(1); os.close(0); import time; time.sleep(60)", "the agent disconnected"),
        (
            "os.write(1, b'lost'); import time; time.sleep(60)",
            "the agent answered a byte with 4 bytes, b'lost'; it has to be one",
        ),
        ("import time; time.sleep(60)", "the agent gave no answer within 1.5 s"),
    ],
    ids=["exit", "kill", "close", "print", "sleep"],
)
def test_a_started_agent_that_fails(tmp_path: Path, monkeypatch, ending: str, told: str) -> None:
    monkeypatch.setattr(module, "GRACE", 0.1)
    monkeypatch.setattr("gumption.envs.gradual.remote._DYING", 0.1 if "close" in ending else 5.0)
    result = run(command=program(tmp_path, PIPED.replace("ENDING", ending)), transport="pipe", timeout=1.5)
    assert (result.ended, result.steps) == ("agent", 10)
    assert (result.error or "").startswith(told)


def test_the_programs_that_an_agent_started_end_with_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "GRACE", 0.1)
    ending = f"""
        import subprocess, signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "60"])
        open({str(tmp_path / "child")!r}, "w").write(str(child.pid))
    """
    result = run(command=program(tmp_path, PIPED.replace("ENDING", ending.strip())), transport="pipe", max_steps=20)
    assert result.ended == "steps"
    status = Path(f"/proc/{(tmp_path / 'child').read_text()}/stat")
    deadline = time.monotonic() + 5
    while status.exists() and status.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"command": "/no/such/agent --fast"}, "the agent '/no/such/agent' cannot be started: No such file"),
        ({"command": "true"}, "the agent ended with exit code 0 before it connected to port"),
        ({"command": "sleep 60", "timeout": 0.3}, "the agent did not connect to port"),
        ({"command": "say 'hello"}, '--command "say \'hello" cannot be split into words: No closing quotation'),
        ({"command": " "}, "--command is empty"),
        ({"transport": "pipe"}, "--transport pipe needs --command"),
        ({"address": "192.0.2.1"}, "cannot listen at 192.0.2.1, port 0"),
        ({"transport": "udp"}, "transport is 'udp'; it can be zeromq, tcp, pipe"),
    ],
)
def test_what_cannot_begin_is_told(monkeypatch, settings: dict[str, Any], told: str) -> None:
    monkeypatch.setattr(module, "GRACE", 0.1)
    with pytest.raises(InputError) as problem:
        run(**settings)
    assert told in str(problem.value)


@pytest.mark.slow
def test_a_started_agent_that_connects_and_never_begins(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "GRACE", 0.1)
    monkeypatch.setattr("gumption.envs.gradual.remote.HELLO_SECONDS", 0.1)
    silent = """
        import sys, time, zmq
        pair = zmq.Context().socket(zmq.PAIR)
        pair.connect("tcp://127.0.0.1:" + sys.argv[1])
        time.sleep(60)
    """
    with pytest.raises(InputError, match=r"the agent did not connect to port \d+ and begin within 1.5 s"):
        run(command=program(tmp_path, dedent(silent)), timeout=1.5)


def test_a_port_in_use_and_two_ways_that_do_not_go_together() -> None:
    with Host(RemoteSettings(port=0)) as host:
        assert host.place is not None
        port = int(host.place.rpartition(":")[2])
        with pytest.raises(InputError, match=rf"cannot listen at 127\.0\.0\.1, port {port} .*: choose another --port"):
            Host(RemoteSettings(port=port))
    with pytest.raises(InputError, match=r"--keep waits for agents that others start: .* --command"):
        Host(RemoteSettings(port=0, command="agent"), keep=True)


def test_an_address_that_others_reach_is_warned_of() -> None:
    with pytest.warns(Note, match=r"everybody who reaches \* can be the agent: there is no password"):
        Host(RemoteSettings(port=0, address="*", transport="tcp")).__exit__(None, None, None)


class Scripted:
    """A wire without a socket."""

    def __init__(self, says: Any) -> None:
        self.ask = says


def test_a_run_reports_from_its_begin_to_its_end() -> None:
    reports: list[Result] = []
    settings = RemoteSettings(tasks=("micro4",), max_steps=400)

    def slowly(_reward: int, _byte: int) -> int:
        time.sleep(0.002)
        return 32

    result = play(settings, Scripted(slowly), reports.append)  # type: ignore[arg-type]
    assert [report.ended for report in reports] == ["running"] * (len(reports) - 1) + ["steps"]
    assert len(reports) > 2
    assert reports[0].steps == 1
    assert [one.steps for one in reports] == sorted(one.steps for one in reports)
    assert reports[-1] == result


def test_a_run_that_is_broken_off_reports_what_it_has_come_to() -> None:
    reports: list[Result] = []
    asked = iter(range(100))

    def interrupted(_reward: int, _byte: int) -> int:
        if next(asked) == 30:
            raise KeyboardInterrupt
        return 32

    with pytest.raises(KeyboardInterrupt):
        play(RemoteSettings(tasks=("micro4",)), Scripted(interrupted), reports.append)  # type: ignore[arg-type]
    assert (reports[-1].ended, reports[-1].steps) == ("stopped", 31)


def test_the_time_is_limited_to_the_step() -> None:
    def slowly(_reward: int, _byte: int) -> int:
        time.sleep(0.05)
        return 32

    result = play(RemoteSettings(max_seconds=0.2), Scripted(slowly), lambda _: None)  # type: ignore[arg-type]
    assert (result.ended, result.error) == ("seconds", None)
    assert 3 <= result.steps <= 6


def test_an_agent_over_zeromq_needs_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "zmq", None)
    with pytest.raises(
        InputError, match=r"an agent over ZeroMQ needs the package zmq: pip install 'gumption\[remote\]'"
    ):
        connect(lambda *_: 0)


@pytest.mark.parametrize(
    ("tasks", "told"), [(("micro4x",), "has no 'micro4x'; did you mean 'micro4'"), ((), "has at least one task")]
)
def test_tasks_that_are_not_there(tasks: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError, match=told):
        RemoteSettings(tasks=tasks).curriculum()


def test_the_challenge_is_what_is_played_by_default() -> None:
    assert RemoteSettings().curriculum() == challenge()
    assert RemoteSettings(success_threshold=2, early_stop=True).curriculum().success_threshold == 2


# ---- Agents that are called, and copied, like those of this process.

COUNTING = """
import os
number = 0
while pair := os.read(0, 2):
    number += pair[0] == 1
    os.write(1, bytes([97 + number]))
"""
DRAWING = """
import os, random
while pair := os.read(0, 2):
    os.write(1, bytes([97 + random.SystemRandom().randrange(26)]))
"""


def started(folder: Path, text: str, **settings: Any) -> StartedAgent:
    return StartedAgent(RemoteSettings(**{"command": program(folder, text), "transport": "pipe", **settings}))


def test_a_started_agent_is_copied_by_the_same_stream(tmp_path: Path) -> None:
    with closing(started(tmp_path, COUNTING)) as agent:
        assert [agent(reward, 0) for reward in (0, 1, -1, 1)] == [97, 98, 98, 99]
        with closing(deepcopy(agent)) as copy, closing(deepcopy(copy)) as other:
            assert copy(1, 5) == copy(0, 5) == other(1, 5) == 100
            assert agent(0, 5) == 99, "it has not heard what the copies heard"


def test_several_agents_that_connect_run_at_a_time(tmp_path: Path) -> None:
    command = program(tmp_path, CONNECTED, "tcp")
    with closing(started(tmp_path, CONNECTED, command=command, transport="tcp")) as agent:
        assert agent(0, 65) == 65
        with closing(deepcopy(agent)) as copy:
            assert (copy(1, 66), agent(0, 67)) == (66, 67)


def test_a_started_agent_that_says_something_else_is_no_copy(tmp_path: Path) -> None:
    with closing(started(tmp_path, DRAWING)) as agent:
        for _ in range(40):
            agent(0, 0)
        told = "cannot be copied: it heard the same stream again, and said .* at step .* has to come from a fixed seed"
        with pytest.raises(InputError, match=told):
            deepcopy(agent)


def test_a_started_agent_that_ends_or_has_no_command_is_told(tmp_path: Path) -> None:
    with (
        closing(started(tmp_path, "import os, sys; os.read(0, 2); sys.exit(4)")) as agent,
        pytest.raises(InputError, match="the agent ended with exit code 4"),
    ):
        agent(0, 65)
    with pytest.raises(InputError, match="needs --command"):
        StartedAgent(RemoteSettings())
