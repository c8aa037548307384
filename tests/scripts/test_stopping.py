"""How a signal ends a command: in one line, with its exit code, and with nothing half written."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from textwrap import indent

import pytest

# A command that writes a file, and gets a signal in the midst of it.
WRITING = """
import os, sys, time, gumption.data
from pathlib import Path
from gumption.data.writing import whole_file
from gumption.scripts.cli import main
place = Path(sys.argv[1])
def fetch(*_, **__):
    with whole_file(place) as beside:
        beside.write_text("half")
        os.kill(os.getpid(), SIGNAL)
        time.sleep(60)
gumption.data.fetch = fetch
sys.argv = ["gumption", "data", "fetch", "alchemy2"]
main()
"""


@pytest.mark.parametrize(("number", "code", "name"), [(signal.SIGTERM, 143, "SIGTERM"), (signal.SIGINT, 130, "Ctrl-C")])
def test_a_signal_is_one_line_and_leaves_nothing_half_written(
    tmp_path: Path, number: signal.Signals, code: int, name: str
) -> None:
    (tmp_path / "file").write_text("old")
    command = [sys.executable, "-c", WRITING.replace("SIGNAL", str(int(number))), str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code
    assert done.stderr == f"stopped by {name}: what was saved so far is whole\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


WORKERS = """
import gumption.data, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from gumption.scripts.cli import main
def fetch(*_, **__):
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        waiting = pool.submit(time.sleep, 600)
        while not waiting.running():
            time.sleep(0.01)
        print("ready", flush=True)
        while not waiting.done():  # a signal just before a wait without an end is seen by Python when that ends
            time.sleep(0.05)
gumption.data.fetch = fetch
sys.argv = ["gumption", "data", "fetch", "alchemy2"]
if __name__ == "__main__":
    main()
"""


def test_sigterm_ends_the_workers_too(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WORKERS)
    process = subprocess.Popen([sys.executable, tmp_path / "program.py"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=60) == 143


# Programs whose workers are busy or wait, each as its command begins them.
OF_WORKERS = {
    "bench gradual": """
from gumption.scripts.papers.gradual import bench
from gumption.scripts.measurement import Measurement
bench.TASKS, bench.SECONDS = (), 60
settings = bench.Settings(streams=2)
object.__setattr__(settings, "tell", lambda text: print("ready", flush=True))
next(bench.gradual_case(settings))
""",
}


def children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def runs(process: int) -> bool:
    with suppress(OSError):  # one that ended may stay as a zombie, where nobody asks how
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end, "the processes did not come that far"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="lists children by /proc")
@pytest.mark.parametrize("command", OF_WORKERS)
def test_workers_end_with_a_command_that_is_killed(tmp_path: Path, command: str) -> None:
    (tmp_path / "program.py").write_text("if __name__ == '__main__':\n" + indent(OF_WORKERS[command], "    "))
    process = subprocess.Popen(
        [sys.executable, tmp_path / "program.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        until(lambda: any("spawn_main" in Path(f"/proc/{one}/cmdline").read_text() for one in children(process.pid)))
        time.sleep(2 if command == "bench gradual" else 0)  # its workers begin with their first work
        workers = children(process.pid)
        assert len(workers) >= 2  # and what keeps track of resources
    finally:
        process.kill()
        process.wait()
    until(lambda: not any(map(runs, workers)))
