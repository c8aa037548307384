"""Agents that were written for the challenge: stock ZeroMQ clients, and the bytes on the wire."""

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zmq

from gumption.envs.gradual import remote

GREETING = b"\xff" + bytes(7) + b"\x01\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x1a\x05READY\x0bSocket-Type\x00\x00\x00\x04PAIR"


class Client:
    """What a program of 2017 does."""

    def __init__(self, context: "zmq.Context[Any]", port: int, hello: str | None = "hello", **options: Any) -> None:
        self.pair = context.socket(zmq.PAIR)
        for name, value in {"linger": 0, "rcvtimeo": 10_000, **options}.items():
            setattr(self.pair, name, value)
        self.pair.connect(f"tcp://127.0.0.1:{port}")
        if hello is not None:
            self.pair.send_string(hello)

    def step(self) -> tuple[str, str]:
        reward = self.pair.recv_string()
        assert not self.pair.rcvmore
        return reward, self.pair.recv_string()

    def say(self, text: str) -> tuple[str, str]:
        self.pair.send_string(text)
        return self.step()


@pytest.fixture
def client() -> Iterator[Callable[..., Client]]:
    context = zmq.Context()
    running: list[Client] = []  # one that nobody holds is closed

    def start(*arguments: Any, **options: Any) -> Client:
        running.append(Client(context, *arguments, **options))
        return running[-1]

    yield start
    context.destroy(linger=0)


@pytest.fixture(autouse=True)
def small(curriculum) -> None:
    curriculum("copy")


def test_the_first_steps_are_those_of_the_program_of_2017(environment, client) -> None:
    running = environment(max_steps=10)
    agent = client(running.port)
    assert agent.step() == ("0", "é")
    told = [agent.say(said) for said in (" ", "x", " ", " ", " ", "é", "x", " ")]
    assert told == [
        ("0", "."), ("-1", "-"), ("0", ";"), ("0", "é"), ("0", "."), ("1", "+"), ("-1", ";"), ("0", "é")
    ]  # fmt: skip
    agent.pair.send_string(" ")
    assert not agent.pair.poll(300), "there is no message at the end"
    (result,) = running.ended().results
    assert (result.steps, result.reward, result.ended) == (10, -1, "steps")


def test_the_last_reward_and_an_empty_message_are_sent_where_that_is_asked_for(environment, client) -> None:
    running = environment(final_notice=True)
    agent = client(running.port)
    reward, byte = agent.step()
    rewards = [reward]
    while byte:
        reward, byte = agent.say("é" if byte == "." else " ")
        rewards.append(reward)
    (result,) = running.ended().results
    assert result.solved
    assert rewards.count("1") == result.reward == 10


def test_the_delayed_reward_of_mini_tasks(environment, client, curriculum) -> None:
    curriculum("yes", "copy")
    for quirks, words in ((True, ["False", "True"]), (False, ["0", "1"])):
        running = environment(upstream_quirks=quirks, max_steps=60)
        agent = client(running.port)
        told = [agent.step()]
        for said in " no." + " " * 5 + "yes." + " " * 6:
            told.append(agent.say(said))
        text = "".join(byte for _, byte in told)
        first = [place for place, byte in enumerate(text) if byte in "?é"]
        assert [told[place][0] for place in first] == ["0", *words], told
        assert {reward for reward, byte in told if byte not in "?é"} == {"0"}
        agent.pair.close()
        running.ended()


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (b"", "answered ''; it has to be one character with a code below 256"),
        (b"ab", "answered 'ab'; it has to be one character"),
        ("Ā".encode(), "answered 'Ā'; it has to be one character with a code below 256"),
        (b"\xe9", "answered b'\\xe9', which is not UTF-8"),
        (b"x" * 300, "answered 'xxx"),
        (b"x" * 100_000, "a message of 100,000 bytes; it has to be one character"),
        ([b"a", b"b"], "a message of several parts; each of its messages has one"),
    ],
    ids=["empty", "longer", "256", "latin-1", "long", "huge", "parts"],
)
def test_rubbish_ends_the_run_with_a_record(environment, client, reply: Any, told: str) -> None:
    running = environment()
    agent = client(running.port)
    agent.step()
    agent.say(" ")
    agent.pair.send_multipart(reply if isinstance(reply, list) else [reply])
    (result,) = running.ended().results
    assert (result.ended, result.steps) == ("agent", 2)
    assert told in result.error


def test_two_answers_at_once_end_the_run(environment) -> None:
    running = environment()
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.sendall(GREETING + READY + b"\0\5hello")
        exactly(raw, len(GREETING + READY) + 7)
        raw.sendall(b"\0\1a\0\1b")
        assert "sent more than one message before it was asked for the second" in running.ended().results[0].error


def test_an_answer_in_pieces_is_one(environment) -> None:
    running = environment(max_steps=2)
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.sendall(GREETING + READY + b"\0\5hello")
        exactly(raw, len(GREETING + READY) + 7)
        for part in (b"\0\2\xc3", b"\xa9"):
            raw.sendall(part)
            time.sleep(0.05)
        assert running.ended().results[0].error is None


def test_an_agent_that_leaves_ends_the_run(environment, client) -> None:
    running = environment()
    agent = client(running.port)
    agent.step()
    agent.pair.close()
    (result,) = running.ended().results
    assert (result.ended, result.error) == ("agent", "the agent disconnected")


@pytest.mark.parametrize("heartbeat", [0, 50])
def test_an_agent_that_stalls_ends_the_run_though_its_socket_is_alive(environment, client, heartbeat: int) -> None:
    running = environment(timeout=0.4)
    agent = client(running.port, heartbeat_ivl=heartbeat)
    agent.step()
    (result,) = running.ended().results
    assert result.ended == "agent"
    assert result.error in ("the agent gave no answer within 0.4 s", "the agent gave no whole answer within 0.4 s")


def test_an_agent_whose_socket_asks_for_signs_of_life_gets_them(environment, client) -> None:
    running = environment(max_steps=3)
    agent = client(running.port, heartbeat_ivl=50, heartbeat_timeout=100)
    agent.step()
    for _ in range(2):
        time.sleep(0.3)  # the socket would close the connection
        agent.pair.send_string(" ")
    assert running.ended().results[0].ended == "steps"


@pytest.mark.parametrize(
    ("hello", "told"),
    [("hullo", "began with 'hullo'; the first message that it sends is 'hello'"), ("", "began with ''")],
)
def test_who_says_anything_but_hello_is_turned_away(environment, client, hello: str, told: str) -> None:
    running = environment()
    client(running.port, hello)
    assert told in running.ended().problems[0]


def test_another_kind_of_socket_is_turned_away(environment, client) -> None:
    running = environment()
    with zmq.Context() as context:
        dealer = context.socket(zmq.DEALER)
        dealer.connect(f"tcp://127.0.0.1:{running.port}")
        assert running.ended().problems == ["the agent's ZeroMQ socket is no PAIR: it has to be one"]
        context.destroy(linger=0)


def test_what_is_no_zeromq_is_turned_away(environment) -> None:
    running = environment()
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert "speaks no ZeroMQ of 2012 or later: its first bytes are b'GET / HTTP'" in running.ended().problems[0]


def test_a_password_is_no_use(environment) -> None:
    running = environment()
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.sendall(GREETING.replace(b"NULL\0", b"PLAIN"))
        assert "asks for the security 'PLAIN'; it has to be NULL" in running.ended().problems[0]


def test_who_says_nothing_keeps_nobody_waiting(environment, client, monkeypatch) -> None:
    monkeypatch.setattr(remote, "HELLO_SECONDS", 0.3)
    running = environment(max_steps=2)
    silent = client(running.port, None, reconnect_ivl=-1)
    while not running.told:
        time.sleep(0.01)
    socket.create_connection(("127.0.0.1", running.port)).close()
    agent = client(running.port)
    agent.step()
    agent.pair.send_string(" ")
    assert running.ended().results[0].ended == "steps"
    assert running.told[0] == "an agent connected and said no hello within 0.3 s"
    assert "an agent connected and left before it said hello" in running.told
    silent.pair.close()


def test_a_second_agent_waits_for_its_turn_where_more_than_one_is_wanted(environment, client) -> None:
    running = environment(runs=2, max_steps=3)
    first, second = client(running.port), None
    first.step()
    second = client(running.port)
    assert not second.pair.poll(200)
    first.say(" ")
    first.pair.send_string(" ")
    assert second.step() == ("0", "é")
    second.pair.send_string("too long")
    assert [result.ended for result in running.ended().results] == ["steps", "agent"]


def test_the_bytes_on_the_wire(environment) -> None:
    running = environment(max_steps=2)
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.sendall(GREETING)
        assert exactly(raw, 64) == GREETING
        raw.sendall(READY)
        assert exactly(raw, len(READY)) == READY
        raw.sendall(b"\x00\x05hello")
        assert raw.recv(64) == b"\x00\x010" + b"\x00\x02\xc3\xa9", "both messages come at once"
        raw.sendall(b"\x00\x01a")
        assert raw.recv(64) == b""


def test_an_older_zeromq_connects(environment) -> None:
    running = environment(max_steps=2)
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.sendall(b"\xff" + bytes(7) + b"\x01\x7f")
        assert exactly(raw, 10) == b"\xff" + bytes(7) + b"\x01\x7f"
        raw.sendall(b"\x01\x00" + b"\x00\x00" + b"\x00\x05hello")
        assert exactly(raw, 4) == b"\x01\x00\x00\x00"
        assert raw.recv(64) == b"\x00\x010" + b"\x00\x02\xc3\xa9"
        raw.sendall(b"\x00\x01a")
        assert running.ended().results[0].ended == "steps"


def exactly(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        received += connection.recv(count - len(received))
    return received
