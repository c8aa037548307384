"""How large the product is and how much of it two commands call, on one page: python -m tests.measures

python -m tests.measures load|train lists the functions. tests/test_house.py keeps what is reached from growing again.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).resolve().parents[1]
ROOMS = ("data", "kg", "envs", "agents", "scripts")
NOT_COUNTED = "probsol"  # a world that came later than the targets
FACTS = "".join(
    f"{one}\tcomponentOf\t{made}\n{two}\tcomponentOf\t{made}\n{one}\tcombinesWith\t{two}\n"
    for one, two, made in (("fire", "water", "steam"), ("water", "earth", "mud"))
)
LOAD = ("kg", "load", "kg.nq", "facts.tsv")
TRAIN = (
    *("train", "wordcraft", "--kg", "facts.tsv", "--run", "run", "--device", "cpu", "--depth", "1"),
    *("--distractors", "3", "--steps", "256", "--eval-interval", "256", "--final-draws", "1"),
)
#: What it is -> the most that was reached, which is lowered whenever a figure falls, and the target.
MOST = {
    "files called by `train wordcraft --kg G`": (68, 60),
    "functions called by `train wordcraft --kg G`": (694, 400),
    "files called by `kg load` of six facts": (23, 25),
    "functions called by `kg load` of six facts": (176, 100),
    "lines of the product": (89_614, 58_000),
    "files of the product": (332, 300),
    "lines of the longest file": (771, 800),
}
# Runs a command and writes which functions of the product it calls, by file and first line.
_PROFILED = """
import json, os, sys, threading
rooms, out, called = json.loads(sys.argv[1]), sys.argv[2], set()
def note(frame, event, argument):
    if event == "call":
        called.add(frame.f_code)
from gumption.scripts.cli import main
sys.argv = ["gumption", *sys.argv[3:]]
threading.setprofile(note)
sys.setprofile(note)
try:
    main()
finally:
    sys.setprofile(None)
    own = [code for code in called if code.co_filename.startswith(tuple(rooms)) and not code.co_name.startswith("<")]
    with open(out, "w") as file:
        json.dump(sorted({(code.co_filename, code.co_qualname, code.co_firstlineno) for code in own}), file)
"""


@dataclass(frozen=True)
class Called:
    """What of the product a command calls.

    :ivar functions: (file, name, first line) of each function, method and class body, as a profiler counts them, but
        for lambdas and comprehensions.
    """

    functions: list[tuple[str, str, int]]

    @property
    def files(self) -> list[str]:
        """The files that these functions are in."""
        return sorted({file for file, _, _ in self.functions})


def called_by(*arguments: str) -> Called:
    """Run `gumption ARGUMENTS` in a folder of its own, with six facts in facts.tsv."""
    rooms = [f"{REPOSITORY / room}{os.sep}" for room in ROOMS]
    with TemporaryDirectory() as folder:
        (Path(folder) / "facts.tsv").write_text(FACTS, encoding="utf-8")
        command = [sys.executable, "-c", _PROFILED, json.dumps(rooms), "called.json", *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        rows = json.loads((Path(folder) / "called.json").read_text(encoding="utf-8"))
    return Called([(str(Path(file).relative_to(REPOSITORY)), name, line) for file, name, line in rows])


def product() -> dict[str, int]:
    """File -> lines of each Python file of the product."""
    paths = [path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py")]
    lines = {path.relative_to(REPOSITORY): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    return {str(path): count for path, count in lines.items() if NOT_COUNTED not in path.parts}


def measured(train: bool = True) -> dict[str, int]:
    """The figures of `MOST`.

    :param train: without it, those of the training, which take half a minute, are left out.
    """
    lines, figures = product(), {}
    for name, arguments in (("train wordcraft --kg G`", TRAIN), ("kg load` of six facts", LOAD))[not train :]:
        called = called_by(*arguments)
        figures[f"files called by `{name}"] = len(called.files)
        figures[f"functions called by `{name}"] = len(called.functions)
    return {
        **figures,
        "lines of the product": sum(lines.values()),
        "files of the product": len(lines),
        "lines of the longest file": max(lines.values()),
    }


if __name__ == "__main__":
    commands = {"load": LOAD, "train": TRAIN}
    if sys.argv[1:]:
        for file, name, line in called_by(*commands[sys.argv[1]]).functions:
            print(f"{file}:{line} {name}")
    else:
        for what, figure in measured().items():
            most, target = MOST[what]
            print(f"{what:<45} {figure:>7,}   at most {most:,}; the target is {target:,}")
