"""How a signal ends a command: in one line, with its exit code, and with nothing half written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

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
    begun = time.monotonic()
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    assert time.monotonic() - begun < 50
