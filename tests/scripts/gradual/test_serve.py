"""`gumption serve gradual`: real commands, their records, and how they end."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.data.sealed import read_sealed
from gumption.envs.gradual.remote import RemoteSettings, connect
from gumption.envs.gradual.session import Result
from gumption.scripts.measurement import BenchSettings
from gumption.scripts.papers.gradual import commands
from gumption.scripts.papers.gradual.bench import remote_measurements
from gumption.scripts.papers.gradual.commands import Record

COMMAND = [sys.executable, "-m", "gumption", "serve", "gradual", "--out", "me.json"]
ECHO = "import os\nwhile pair := os.read(0, 2): os.write(1, pair[1:])"
DYING = ECHO.replace("while", "import sys; os.read(0, 2); sys.exit(4)\nwhile")
STALLING = "import os\nwhile os.read(0, 2): pass"


def agent(text: str) -> list[str]:
    return ["--transport", "pipe", "--command", shlex.join([sys.executable, "-c", text])]


def begin(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *options], cwd=folder, env={**os.environ, "COLUMNS": "200"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(path: Path) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return read_sealed(path)


def test_a_run_ends_with_a_table_and_a_record(tmp_path: Path) -> None:
    serving = begin(tmp_path, *agent(ECHO), "--tasks", "micro4", "--seed", "3", "--threshold", "2")
    out, err = serving.communicate(timeout=60)
    assert (serving.returncode, err) == (0, "")
    assert "all tasks passed after 20 steps, reward +20; the record is me.json" in out
    assert [part.strip() for part in out.splitlines()[3].split("│")][1:-1] == [
        "micro4", "passed", "20", "+20", "2 of 2", "20 of 20"
    ]  # fmt: skip
    record = read_sealed(tmp_path / "me.json")
    assert (record["world"], record["ended"], record["error"]) == ("gradual", "solved", None)
    assert (record["steps"], record["reward"], record["average_reward"]) == (20, 20, 1.0)
    assert [task["task"] for task in record["tasks"]] == ["micro4"]
    assert record["settings"]["tasks"] == ["micro4"]
    assert (record["settings"]["seed"], record["settings"]["success_threshold"]) == (3, 2)
    assert record["command"].startswith("gumption serve gradual --out me.json --transport pipe --command ")
    assert record["versions"]["gumption"]
    assert record["wall_s"] > 0


def test_an_agent_that_fails_leaves_a_record_beside_the_first(tmp_path: Path) -> None:
    (tmp_path / "me.json").write_text("mine")
    serving = begin(tmp_path, *agent(DYING), "--tasks", "micro4")
    out, err = serving.communicate(timeout=60)
    assert serving.returncode == 2
    assert "the agent failed after 1 steps" in out
    told = "error: the agent ended with exit code 4 (at step 1, in micro4); me-2.json is the record of the run\n"
    assert err == told
    record = read_sealed(tmp_path / "me-2.json")
    assert (record["ended"], record["error"]) == ("agent", "the agent ended with exit code 4")
    assert (tmp_path / "me.json").read_text() == "mine"


@pytest.mark.parametrize(("number", "code", "ended"), [(15, 143, "stopped"), (2, 130, "stopped"), (9, -9, "running")])
def test_a_run_that_is_stopped_has_a_record(tmp_path: Path, number: int, code: int, ended: str) -> None:
    serving = begin(tmp_path, *agent(STALLING))
    wait_for(tmp_path / "me.json")
    os.kill(serving.pid, number)
    _, err = serving.communicate(timeout=60)
    assert serving.returncode == code
    assert err.count("\n") == (code > 0)
    record = read_sealed(tmp_path / "me.json")
    assert (record["ended"], record["steps"]) == (ended, 1)


def test_one_agent_after_the_other(tmp_path: Path) -> None:
    serving = begin(tmp_path, "--keep", "--port", "0", "--transport", "tcp", "--tasks", "micro4", "--final-notice")
    assert serving.stdout is not None
    line = serving.stdout.readline()
    assert line.startswith("an agent can connect to 127.0.0.1:")
    port = int(line.split()[5].rpartition(":")[2])
    with pytest.raises(InputError, match="the agent said 256"):
        connect(lambda *_: 256, port, transport="tcp")
    for _ in range(2):
        assert connect(lambda _, byte: byte, port, transport="tcp") == 50
    serving.send_signal(signal.SIGTERM)
    _, err = serving.communicate(timeout=60)
    assert serving.returncode == 143
    assert "the agent disconnected (at step 1, in micro4); me.json is the record of the run" in err
    ends = [read_sealed(tmp_path / name)["ended"] for name in ("me.json", "me-2.json", "me-3.json")]
    assert ends == ["agent", "solved", "solved"]


def test_a_record_is_kept_up_to_date_every_few_seconds(tmp_path: Path, monkeypatch) -> None:
    command = "'/a b/python' /home/me/agent.py --model=/models/large.bin"
    record = Record(tmp_path / "run.json", RemoteSettings(command=command))
    record.update(Result(1, 0, (), "running"))
    first = (tmp_path / "run.json").read_bytes()
    record.update(Result(2, 0, (), "running"))
    assert (tmp_path / "run.json").read_bytes() == first, "not at every report"
    monkeypatch.setattr(commands, "_BETWEEN", 0.0)
    record.update(Result(3, 0, (), "running"))
    assert read_sealed(tmp_path / "run.json")["steps"] == 3
    assert read_sealed(tmp_path / "run.json")["settings"]["command"] == "python agent.py --model=large.bin"
    assert "/home" not in json.dumps(read_sealed(tmp_path / "run.json"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tasks", "micro99"], "the curriculum has no 'micro99'"),
        (["--transport", "udp"], "--transport is 'udp'; it can be zeromq, tcp, pipe"),
        (["--timeout", "0"], "--timeout is 0.0; it is a number above 0"),
        (["--out", "/"], "cannot write /: choose a name that ends in .json"),
    ],
)
def test_what_is_wrong_is_told_before_anything_begins(tmp_path: Path, options: list[str], told: str) -> None:
    serving = begin(tmp_path, *options)
    out, err = serving.communicate(timeout=60)
    assert (serving.returncode, out) == (2, "")
    assert told in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_its_speed_is_measured() -> None:
    zeromq, *others = remote_measurements(BenchSettings(repeats=1), steps=500)
    assert (zeromq.unit, zeromq.target) == ("steps/s", "at least 2")
    assert zeromq.met == (zeromq.ratio >= 2)
    assert [one.what.rpartition(" ")[2] for one in others] == ["tcp", "pipe"]
    for one in (zeromq, *others):
        assert one.ratio == pytest.approx(one.median / one.yardstick_median)
        assert one.median > 0
