"""How large the product is, how much of it commands execute, and how it is written: python -m tests.measures

measures.json holds the ceiling of each figure; tests/test_house.py compares. `--write` records the figures of today.
`python -m tests.measures "kg load"` lists the files of a journey by the number of their lines that it executes.
"""

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from gumption.envs.worlds import WORLDS

REPOSITORY = Path(__file__).resolve().parents[1]
CEILINGS = Path(__file__).with_suffix(".json")
ROOMS = ("data", "kg", "envs", "agents", "scripts")
#: A number, or the names of exceptions, of which none may be added.
Figure = int | list[str]

# ---- Lines of each part

#: Part -> its files. The files of the gallery that lie outside scripts/papers are named until they move there.
PARTS = {
    "people": re.compile(r"scripts/people/.*"),
    "gallery": re.compile(
        r"""scripts/papers/.* | agents/halma/plots\.py | agents/probsol/discovery\.py | agents/segar/(probe|study)\.py
        | envs/\w+/\w*measures\.py | data/(blind_reading|make_\w+|recipe_check)\.py""",
        re.VERBOSE,
    ),
    "command": re.compile(r"scripts/.*"),
    "library": re.compile(r"(data|kg|envs|agents)/.*"),
}


@cache
def product() -> dict[str, str]:
    """File -> text of each Python file of the product."""
    paths = sorted(path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py"))
    return {str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8") for path in paths}


def lines() -> dict[str, Figure]:
    """Lines of Python by part, and those of JavaScript and CSS."""
    counts = Counter(dict.fromkeys(PARTS, 0))
    for path, text in product().items():
        part = next(part for part, files in PARTS.items() if files.fullmatch(path))
        counts[part] += len(text.splitlines())
    others = {"people, JavaScript and CSS": ("scripts", "*.js", "*.css"), "tests": ("tests", "*.py")}
    for part, (room, *patterns) in others.items():
        paths = [path for pattern in patterns for path in (REPOSITORY / room).rglob(pattern)]
        counts[part] = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    return {f"lines of {part}": count for part, count in counts.items()}


# ---- Exceptions to two rules of ruff, and class names with two meanings

LIMITS = {"C901": "lint.mccabe.max-complexity=15", "PLR0913": "lint.pylint.max-args=8"}
#: A class name that may recur once per world, in the same role.
ROLES = {"Task", "Memory", "Split", "Config", "Env"}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def trees() -> dict[str, ast.Module]:
    return {path: ast.parse(text) for path, text in product().items()}


@cache
def definitions(path: str) -> list[tuple[str, Definition]]:
    """(qualified name, node) of each function and class of a file."""

    def inside(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Definition):
                yield prefix + child.name, child
                yield from inside(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.stmt):
                yield from inside(child, prefix)

    return list(inside(trees()[path], ""))


@cache
def public() -> set[str]:
    """The names that a package exports or the entry of a world offers."""
    names = {place.partition(":")[2] for world in WORLDS.values() for place in world.offers.values()}
    for path, tree in trees().items():
        for node in tree.body if path.endswith("__init__.py") else ():
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                names |= set(ast.literal_eval(node.value)) if node.targets[0].id == "__all__" else set()
    return names


def exempt(path: str, name: str, node: Definition, rule: str) -> bool:
    """Whether a function is a compiled kernel, or its parameters are those of a command or of a public name."""
    kernel = any("njit" in ast.dump(decorator) for decorator in node.decorator_list)
    command = path.startswith("scripts/") and re.fullmatch(r"[a-z]\w*", name)
    return kernel or (rule == "PLR0913" and bool(command or name.split(".")[0] in public()))


def exceptions() -> dict[str, Figure]:
    """The functions that are too complex or have too many parameters."""
    names: dict[str, list[str]] = {rule: [] for rule in LIMITS}
    limits = [word for limit in LIMITS.values() for word in ("--config", limit)]
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--ignore-noqa", "--exit-zero", *limits]
    command += ["--select", ",".join(LIMITS), "--output-format", "json", *ROOMS]
    printed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for fault in json.loads(printed):
        path = str(Path(fault["filename"]).relative_to(REPOSITORY))
        [(name, node)] = [pair for pair in definitions(path) if pair[1].lineno == fault["location"]["row"]]
        if not exempt(path, name, node, fault["code"]):
            names[fault["code"]].append(name)
    return {f"exceptions to {rule}": sorted(some) for rule, some in names.items()}


def class_names() -> dict[str, Figure]:
    """The names of classes that have two meanings: two files define one, and `ROLES` does not allow it."""
    places: dict[str, Counter[str]] = {}
    for path, tree in trees().items():
        world = path.split("/")[1] if path.split("/")[1] in WORLDS else ""
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, Counter())[world if node.name in ROLES else ""] += 1
    return {"class names with two meanings": sorted(name for name, some in places.items() if max(some.values()) > 1)}


# ---- Words of docstrings and comments

DIALECT = re.compile(r"\b(?:told|tells|asked|says|what is|those of|beside|found)\b", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]+")


def prose(path: str) -> str:
    """The docstrings and comments of a file."""
    nodes = [trees()[path], *(node for _, node in definitions(path))]
    tokens = tokenize.generate_tokens(io.StringIO(product()[path]).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return " ".join(" ".join([*(ast.get_docstring(node, clean=False) or "" for node in nodes), *comments]).split())


def dialect() -> dict[str, Figure]:
    """Dialect words in 10,000 words, by folder: one of data, kg, envs, agents and scripts, or the next below it."""
    counts: dict[str, Counter[str]] = {}
    for path in product():
        room, inner, *_ = path.split("/")
        folder = f"{room}/{inner}" if inner in {*WORLDS, "papers", "people"} else room
        text = prose(path)
        counts.setdefault(folder, Counter()).update(dialect=len(DIALECT.findall(text)), all=len(WORD.findall(text)))
    return {
        f"dialect words of {folder}": round(1e4 * n["dialect"] / max(n["all"], 1))
        for folder, n in sorted(counts.items())
    }


# ---- Results on pages


def pages() -> dict[str, Figure]:
    """How many figures of results each page states that no generated table on it holds."""
    from tests.test_page_figures import PAGES, outside_tables

    texts = {page: (REPOSITORY / page).read_text(encoding="utf-8") for page in PAGES}
    return {f"results outside tables of {page}": len(outside_tables(text)) for page, text in texts.items()}


# ---- Lines that are executed

FACTS = "".join(
    f"{first}\tcomponentOf\t{made}\n{second}\tcomponentOf\t{made}\n{first}\tcombinesWith\t{second}\n"
    for first, second, made in (("fire", "water", "steam"), ("water", "earth", "mud"))
)
COMMAND = """
import sys
from gumption.data import progress
from gumption.scripts.cli import main
progress.SECONDS = float("inf")  # so that no line depends on a clock
sys.argv = "gumption {}".split()
main()
"""
STEPS = """
import gymnasium as gym, numpy as np
import gumption.envs
from gumption.envs.worlds import WORLDS
made = WORLDS[{!r}].environments[0]
env = gym.make(made.id, **made.small)
space, (_, info) = env.action_space, env.reset(seed=0)
space.seed(0)
for _ in range(8):
    mask = info["action_mask"]
    if hasattr(space, "nvec"):
        mask = tuple(np.split(mask, np.cumsum(space.nvec)[:-1]))
    *_, terminated, truncated, info = env.step(space.sample() if hasattr(space, "low") else space.sample(mask))
    if terminated or truncated:
        _, info = env.reset()
"""
#: Journey -> its program; they run in this order and in one folder, which has six facts in facts.tsv.
JOURNEYS = {
    "kg load": COMMAND.format("kg load kg.nq facts.tsv"),
    "train wordcraft --kg": COMMAND.format(
        "train wordcraft --kg facts.tsv --run run --device cpu --depth 1 --distractors 3 --steps 256"
        " --eval-interval 256 --final-draws 1"
    ),
    "evaluate": COMMAND.format("evaluate run --draws 1"),
    "splits": COMMAND.format("splits wordcraft --out splits.json"),
    **{f"env.step of {world}": STEPS.format(world) for world in WORLDS},
}
TRACED = """
import json, os, sys, threading
rooms, out, program, seen = tuple(json.loads(sys.argv[1])), sys.argv[2], sys.argv[3], set()
def note(frame, event, argument):
    if event == "line":
        seen.add((frame.f_code.co_filename, frame.f_lineno))
    return note
def enter(frame, event, argument):
    return note if frame.f_code.co_filename.startswith(rooms) else None
threading.settrace(enter)
sys.settrace(enter)
try:
    exec(program)
finally:
    sys.settrace(None)
    with open(out, "w") as file:
        json.dump(sorted(seen), file)
"""


@cache
def statements(path: str) -> dict[int, int | None]:
    """Line -> first line of the statement that it belongs to, so that the form of a statement does not count; None for
    docstrings."""
    first: dict[int, int | None] = {}
    for node in ast.walk(trees()[path]):  # what is within a statement comes after it
        if isinstance(node, ast.stmt):
            last = node.body[0].lineno - 1 if hasattr(node, "body") else node.end_lineno
            docstring = isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
            first |= dict.fromkeys(range(node.lineno, last + 1), None if docstring else node.lineno)
    return first


def executed(*journeys: str) -> dict[str, Counter[str]]:
    """Journey -> file -> number of distinct statements that a process of its own executes, imports included."""
    rooms = json.dumps([f"{REPOSITORY / room}{os.sep}" for room in ROOMS])
    counts = {}
    with TemporaryDirectory() as folder:
        (Path(folder) / "facts.tsv").write_text(FACTS, encoding="utf-8")
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GUMPTION_CACHE_DIR": folder, "GUMPTION_OFFLINE": "1"}
        for journey in journeys or JOURNEYS:
            print(f"{journey} ...", file=sys.stderr)
            plain = [sys.executable, "-c", JOURNEYS[journey]]
            traced = [sys.executable, "-c", TRACED, rooms, "seen.json", JOURNEYS[journey]]
            # A first run compiles the physics, which a second one finds compiled.
            for command in [plain, traced] if journey.startswith("env.step") else [traced]:
                done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
                assert done.returncode == 0, f"{journey}: {done.stderr}"
            seen = json.loads((Path(folder) / "seen.json").read_text(encoding="utf-8"))
            places = {(str(Path(file).relative_to(REPOSITORY)), line) for file, line in seen}
            first = {(path, statements(path).get(line, line)) for path, line in places if path in product()}
            counts[journey] = Counter(path for path, line in first if line is not None)
    return counts


# ---- The figures and their ceilings

TARGETS = {
    "lines of library": 60_000,
    "lines of command": 6_500,
    "lines of gallery": 17_000,
    "lines of people": 7_200,
    "lines of people, JavaScript and CSS": 5_100,
    "lines of tests": 66_000,
    "lines executed by kg load": 1_400,
    "lines executed by train wordcraft --kg": 4_200,
}


def of_source() -> dict[str, Figure]:
    """The figures that files show, in a few seconds."""
    return {**lines(), **exceptions(), **class_names(), **dialect(), **pages()}


def of_journeys() -> dict[str, Figure]:
    """The lines that journeys execute, in some minutes."""
    return {f"lines executed by {journey}": counts.total() for journey, counts in executed().items()}


def risen(figures: Mapping[str, Figure], ceilings: Mapping[str, Figure]) -> list[str]:
    """A sentence for each figure above its ceiling."""
    faults = []
    for what, figure in figures.items():
        ceiling = ceilings.get(what, type(figure)())
        if isinstance(figure, list):
            added = Counter(figure) - Counter(ceiling)
            fault = f"{', '.join(sorted(added.elements()))} joined" if added else ""
        else:
            fault = f"{figure:,} now, {ceiling:,} at most" if figure > ceiling else ""
        if fault:
            faults.append(
                f"{what}: {fault}. Lower it, or raise the ceiling (python -m tests.measures --write) and say why in "
                "CHANGELOG.md"
            )
    return faults


def main(*arguments: str) -> None:
    if arguments and arguments[0] in JOURNEYS:
        for file, count in executed(*(name for name in JOURNEYS if name in arguments))[arguments[0]].most_common():
            print(f"{count:>6} {file}")
        return
    figures = {**of_source(), **of_journeys()}
    ceilings = json.loads(CEILINGS.read_text(encoding="utf-8")) if CEILINGS.exists() else {}
    for what, figure in figures.items():
        target = f"; the target is {TARGETS[what]:,}" if what in TARGETS else ""
        names = f": {', '.join(figure)}" if isinstance(figure, list) else ""
        number, most = (len(one) if isinstance(one, list) else one for one in (figure, ceilings.get(what, 0)))
        print(f"{what:<50} {number:>7,}   at most {most:,}{target}{names}")
    if "--write" in arguments:
        CEILINGS.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
