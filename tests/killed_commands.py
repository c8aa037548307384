"""A program that takes what a command of gumption leaves when it is killed at any of its writes, and sees whether the
same command then ends well.

It reads a chain of commands as JSON from stdin and writes what it found for each. A command runs once in a child of
this process; before each of its writes the child copies the folder, which is what a kill at that moment would leave.
From each copy that differs from the others the command runs again, in a child of its own, which imports nothing that an
earlier one needed. Some kills are carried out. Where a file only grows, one more copy has half of what was added.

Writes are Python's audit events of files that are opened to be written, renamed, made or removed, and calls that change
a store of facts or a database.
"""

import gzip
import hashlib
import importlib
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate"}
STORES = {
    "pyoxigraph": {
        "add", "bulk_extend", "bulk_load", "clear_graph", "extend", "flush", "remove", "remove_graph", "update",
    },
    "sqlite3": {"commit"},
}  # fmt: skip
CLOCK = {"wall_s", "cpu_s", "took_s", "steps_per_s", "seconds", "sha256", "metrics.jsonl"}  # and what depends on it
TIMED = {"table.md"}  # files with times in their text
UNLIKE = ("events.out", "LOCK")  # named after the time, or no content
AT_END = "999999"
Step = dict[str, Any]
PART = re.compile(r"-\d+-[0-9a-f]+\.part")


def in_child(work: Callable[[], bytes]) -> tuple[int, bytes]:
    """What `work` gives in a process of its own, and how that ended: an exit code, or a signal as a negative number."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writer, work())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        told = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told


def call(
    folder: Path, step: Step, at_write: Callable[[int], None] | None = None, again: bool = False
) -> tuple[int, str, str]:
    """Run a command in a folder: its exit code, what it printed and what the folder then holds.

    :param at_write: is told the number of each write before it.
    """

    def work() -> bytes:
        from gumption.scripts import cli

        os.chdir(folder)
        out = os.open(folder.with_name("out"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        if step["typed"]:
            os.dup2(os.open(step["typed"], os.O_RDONLY), 0)
            sys.stdin = os.fdopen(0)
        sys.argv = ["gumption", *step["again" if again else "command"]]
        if at_write is not None:
            watch_writes(at_write)
        code = 1
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            sys.setprofile(None)
        return json.dumps([code, list(sys.modules), content(folder) if at_write is None else ""]).encode()

    code, ended = in_child(work)
    held = ""
    if ended:
        code, modules, held = json.loads(ended)
        for module in modules:  # so that the next child need not import them; in the order in which it did
            if module not in sys.modules:
                with suppress(ImportError, AttributeError):
                    importlib.import_module(module)
    return code, folder.with_name("out").read_text(errors="replace"), held


def watch_writes(at_write: Callable[[int], None]) -> None:
    seen, busy = 0, False

    def write() -> None:
        nonlocal seen, busy
        if not busy:
            busy = True
            at_write(seen)
            seen += 1
            busy = False

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & (os.O_WRONLY | os.O_RDWR) and not str(path).startswith(("/dev/", "/proc/")):
                write()
        elif event in CHANGES:
            write()

    def profile(_: Any, event: str, called: Any) -> None:
        if event == "c_call" and not busy:
            for module, names in STORES.items():
                if called.__name__ in names and module in repr(called):
                    write()

    sys.addaudithook(audit)
    sys.setprofile(profile)


def copies_of(folder: Path, into: Path) -> Callable[[int], None]:
    """Called at each write, copies the folder where it has changed."""
    last: Any = None

    def at_write(number: int) -> None:
        nonlocal last
        copy = into / f"{number:06}"
        for _ in range(50):  # the threads of a store write and remove files, also while they are copied
            with suppress(OSError):
                now = _listed(folder)
                if now == last:
                    return
                shutil.copytree(folder, copy)
                if _listed(folder) == now:
                    last = now
                    return
            shutil.rmtree(copy, ignore_errors=True)
        raise AssertionError(f"{folder} does not stand still")

    return at_write


def _listed(folder: Path) -> list[Any]:
    seen = [(path, path.stat()) for path in sorted(folder.rglob("*"))]
    return [(path, stat.st_size, stat.st_mtime_ns) for path, stat in seen]


def killing(die_at: int) -> Callable[[int], None]:
    def at_write(number: int) -> None:
        if number == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    return at_write


def files(folder: Path) -> dict[str, bytes]:
    """Every file by its name, in which the writer's number counts for nothing."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {PART.sub(".part", str(path.relative_to(folder))): path.read_bytes() for path in paths}


def distinct(copies: Path) -> Iterator[Path]:
    """The folders that differ, and after each one where a file grows until the next, one with half of that."""
    known = set()
    folders = sorted(copies.iterdir())
    for folder, later in zip(folders, [*folders[1:], None], strict=True):
        held = files(folder)
        digest = hashlib.sha256(repr(sorted(held.items())).encode()).digest()
        if digest not in known:
            known.add(digest)
            yield folder
        if later is None:
            return
        grown = files(later)
        for name, content in held.items():
            after = grown.get(name, b"")
            whole = (
                name.endswith(".part") or (folder / name).with_name("CURRENT").exists()
            )  # what nobody reads, or a store
            if content and not whole and len(after) > len(content) and after.startswith(content):
                half = copies / f"{folder.name}-{len(content)}"
                shutil.copytree(folder, half)
                (half / name).write_bytes(after[: (len(content) + len(after)) // 2])
                yield half


def without_clock(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_clock(inner) for key, inner in value.items() if key not in CLOCK}
    return [without_clock(inner) for inner in value] if isinstance(value, list) else value


def content(folder: Path) -> str:
    """All that a folder holds, but for what tells the time; a folder of Oxigraph is the facts in it."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            found[name] = facts(path) if (path / "CURRENT").exists() else None
        elif not path.name.startswith(UNLIKE) and path.suffix != ".lock" and not (path.parent / "CURRENT").exists():
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            if path.name in TIMED:
                found[name] = True
            elif path.suffix == ".db":
                found[name] = trials(path)
            elif path.suffix in (".json", ".jsonl"):
                lines = data.decode().splitlines() if path.suffix == ".jsonl" else [data.decode()]
                found[name] = [without_clock(json.loads(line)) for line in lines]
            else:
                found[name] = data.hex()
    return json.dumps(found, sort_keys=True)


def trials(database: Path) -> Any:
    """What the complete trials of a search drew and reached; the database also has times, and trials that failed."""
    drawn = (
        "SELECT param_name, param_value, value FROM trials JOIN trial_params USING (trial_id) "
        "JOIN trial_values USING (trial_id) WHERE state = 'COMPLETE' ORDER BY trial_id, param_name"
    )
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(drawn).fetchall()


def facts(folder: Path) -> Any:
    from gumption.kg import KnowledgeGraph

    with KnowledgeGraph(folder, read_only=True) as graph:
        return [graph.graphs(), {name: sorted(graph.triples(graph=name)) for name in graph.graphs()}, len(graph)]


def difference(whole: str, killed: str) -> str | None:
    if whole == killed:
        return None
    one, other = json.loads(whole), json.loads(killed)
    return ", ".join(name for name in sorted({*one, *other}) if one.get(name, 0) != other.get(name, 0))


def lost(base: Path, whole: Path, left: Path) -> list[str]:
    """What was there before, the command leaves as it is, and a kill would take away."""
    before, after, now = files(base), files(whole), files(left)
    stores = [path.parent for path in whole.rglob("CURRENT")]
    return [
        name for name, content in before.items()
        if after.get(name) == content != now.get(name) and not any(one in (whole / name).parents for one in stores)
    ]  # fmt: skip


def try_command(work: Path, step: Step, kills: int) -> dict[str, Any]:
    base, whole, killed, copies = (work / name / "at" for name in ("base", "whole", "killed", "copies"))
    started = sum(os.times()[:4])
    for folder in (whole, killed, copies):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, whole)
    code, told, wanted = call(whole, step)
    assert code == 0, told
    shutil.copytree(base, killed)
    copies.mkdir()
    code, told, _ = call(killed, step, copies_of(killed, copies))
    assert code == 0, told
    shutil.copytree(killed, copies / AT_END)  # a kill after the last write
    problems: list[str] = []
    states = died = 0

    def check(where: str) -> None:
        if gone := lost(base, whole, killed):
            problems.append(f"{where}: {', '.join(gone)} lost")
        ended, told, found = call(killed, step, again=True)
        # A command may refuse to begin anew where all is complete.
        if not found or (differs := difference(wanted, found)):
            what = differs if found else "no answer"
            problems.append(f"{where}: the same command ends with {ended}, not the same: {what}: {told[-400:]}")

    for folder in distinct(copies):
        states += 1
        shutil.rmtree(killed, ignore_errors=True)
        shutil.copytree(folder, killed)
        check(f"at write {folder.name}")
    numbers = sorted(int(folder.name) for folder in copies.iterdir() if folder.name.isdecimal())[:-1]
    for number in numbers[-1 :: -max(1, len(numbers) // kills)][:kills]:
        shutil.rmtree(killed, ignore_errors=True)
        shutil.copytree(base, killed)
        code, _, _ = call(killed, step, killing(number))
        died += code == -signal.SIGKILL
        check(f"killed at write {number}")
    shutil.rmtree(base)
    whole.rename(base)
    seconds = sum(os.times()[:4]) - started  # of the processor, also of children
    told = " ".join(step["command"])
    return {"command": told, "states": states, "kills": died, "seconds": seconds, "problems": problems}


def main() -> None:
    case = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    work = Path(case["work"])
    for name in ("whole", "killed", "copies"):
        (work / name).mkdir()
    found = []
    for step in case["chain"]:
        if step["whole"]:
            code, told, _ = call(work / "base" / "at", step)
            assert code == 0, told
        else:
            found.append(try_command(work, step, case["kills"]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
