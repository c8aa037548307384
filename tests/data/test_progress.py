"""How far something is: lines where stderr is no terminal, a bar where it is one."""

import os
import pty
import subprocess
import sys

import pytest

from gumption.data import progress
from gumption.data.progress import Bar


class Clock:
    """Time that passes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "monotonic", clock)
    return clock


def lines_of(clock: Clock, capsys: pytest.CaptureFixture[str], total: int, seconds: float) -> list[str]:
    """What is printed about work of so many steps that take so many seconds each."""
    with Bar(total, "fitting") as bar:
        for step in range(1, total + 1):
            clock.now += seconds
            bar.show(step, f"loss {1 / step:.2f}")
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def test_long_work_has_about_ten_lines(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(clock, capsys, 200, 3.0)
    assert len(lines) == 11
    assert lines[0] == "fitting: 1 of 200, loss 1.00, 3 s"
    assert lines[1] == "fitting: 20 of 200, loss 0.05, 60 s"
    assert lines[-1] == "fitting: 200 of 200, loss 0.01, 600 s"


def test_a_bar_within_another_does_not_show(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Bar(3, "runs") as runs:
        assert lines_of(clock, capsys, 3, 5.0) == []
        clock.now += 5
        runs.show(1)
    assert capsys.readouterr().err == "runs: 1 of 3, 20 s\n"
    assert len(lines_of(clock, capsys, 3, 5.0)) == 3


def test_lines_are_two_seconds_apart(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of(clock, capsys, 1000, 0.001) == []
    lines = lines_of(clock, capsys, 1000, 0.0065)
    assert [line.rpartition(", ")[2] for line in lines] == ["2 s", "4 s", "6 s"]
    slow = lines_of(clock, capsys, 3, 1000.0)
    assert slow[-1] == "fitting: 3 of 3, loss 0.33, 3000 s"
    assert len(slow) == 3


def test_nothing_is_told_where_nobody_asks(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Bar(5, "fitting", visible=False) as bar:
        clock.now += 60
        bar.show(3, "half")
    assert capsys.readouterr() == ("", "")
    with Bar(5, "objects") as bar:
        clock.now += 60
        bar.show(3)
    assert capsys.readouterr().err == "objects: 3 of 5, 60 s\n"


FIT = """
import sys
from gumption.data import progress
from gumption.kg import ComplEx, DistMult
progress.SECONDS = 0
train = [(f"n{a}", "next", f"n{a + 1}") for a in range(9)]
for model in (ComplEx, DistMult):
    model.fit(train, rank=2, epochs=20, device="cpu", progress=sys.argv[1] == "told")
"""


@pytest.mark.slow
@pytest.mark.parametrize("told", ["told", "quiet"])
def test_a_fit_tells_lines_to_a_pipe(told: str) -> None:
    done = subprocess.run([sys.executable, "-c", FIT, told], capture_output=True, text=True, timeout=60, check=True)
    lines = done.stderr.splitlines()
    assert done.stdout == ""
    assert len(lines) == (22 if told == "told" else 0)
    assert all(line.startswith("fitting: ") and ", loss " in line for line in lines)


@pytest.mark.slow
def test_a_terminal_has_a_bar() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen([sys.executable, "-c", FIT, "told"], stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 1 << 16):
            shown += piece
    except OSError:  # the other end is closed
        pass
    assert process.wait() == 0
    os.close(ours)
    assert b"100%" in shown
    assert b"fitting: " not in shown
