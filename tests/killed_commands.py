"""A program that kills a command of gumption at each of its writes, and sees whether the same command then ends well.

It reads a case as JSON from stdin and writes {"kills", "writes", "problems"}. Each command runs in a child of this
process, which imports what the first one needed. Python's audit events of files that are opened to be written, renamed,
made or removed, and calls that change a store of facts, are counted; the child kills itself at the n-th, for each n.
"""

import importlib
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate"}
STORE = {"add", "bulk_extend", "bulk_load", "clear_graph", "extend", "flush", "remove", "remove_graph", "update"}
CLOCK = {"wall_s", "steps_per_s", "seconds", "sha256", "metrics.jsonl"}  # and what depends on it
UNLIKE = ("events.out", "LOCK")  # named after the time, or no content


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


def call(folder: Path, command: list[str], die_at: int | None = None) -> tuple[int, str, int]:
    """Run a command in a folder: exit code, what it printed, how many writes it began."""
    count = folder.with_name("count")

    def work() -> bytes:
        from gumption.scripts import cli

        os.chdir(folder)
        out = os.open(folder.with_name("out"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        numbers = os.open(count, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        sys.argv = ["gumption", *command]
        seen = 0

        def write() -> None:
            nonlocal seen
            if seen == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1
            os.pwrite(numbers, str(seen).encode(), 0)

        def audit(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "open":
                path, _, flags = arguments
                if flags & (os.O_WRONLY | os.O_RDWR) and not str(path).startswith(("/dev/", "/proc/")):
                    write()
            elif event in CHANGES:
                write()

        def profile(_: Any, event: str, called: Any) -> None:
            if event == "c_call" and called.__name__ in STORE and "pyoxigraph" in repr(called):
                write()

        sys.addaudithook(audit)
        sys.setprofile(profile)
        try:
            cli.main()
        except SystemExit as ended:
            sys.setprofile(None)
            return json.dumps([int(ended.code or 0), list(sys.modules)]).encode()
        return b""

    code, ended = in_child(work)
    if ended:
        code, modules = json.loads(ended)
        for module in set(modules).difference(sys.modules):  # so that the next child need not import them
            with suppress(ImportError):
                importlib.import_module(module)
    return code, folder.with_name("out").read_text(errors="replace"), int(count.read_text() or 0)


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
        elif not path.name.startswith(UNLIKE) and not (path.parent / "CURRENT").exists():
            data = path.read_bytes()
            if path.suffix in (".json", ".jsonl"):
                lines = data.decode().splitlines() if path.suffix == ".jsonl" else [data.decode()]
                found[name] = [without_clock(json.loads(line)) for line in lines]
            else:
                found[name] = data.hex()
    return json.dumps(found, sort_keys=True)


def facts(folder: Path) -> Any:
    from gumption.kg import KnowledgeGraph

    with KnowledgeGraph(folder, read_only=True) as graph:
        return [graph.graphs(), {name: sorted(graph.triples(graph=name)) for name in graph.graphs()}, len(graph)]


def difference(whole: str, killed: str) -> str | None:
    if whole == killed:
        return None
    one, other = json.loads(whole), json.loads(killed)
    return ", ".join(name for name in sorted({*one, *other}) if one.get(name, 0) != other.get(name, 0))


def main() -> None:
    case = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    work = Path(case["work"])
    base, whole, killed = work / "base", work / "whole" / "at", work / "killed" / "at"
    for command in case["before"]:
        code, told, _ = call(base, command)
        assert code == 0, told
    shutil.copytree(base, whole)
    code, told, writes = call(whole, case["command"])
    assert code == 0, told
    _, wanted = in_child(lambda: content(whole).encode())
    problems, kills = [], 0
    for number in range(case["first"], writes, case["every"]):
        shutil.rmtree(killed, ignore_errors=True)
        shutil.copytree(base, killed)
        code, told, _ = call(killed, case["command"], number)
        kills += code == -signal.SIGKILL
        again, told, _ = call(killed, case["again"])
        status, found = in_child(lambda: content(killed).encode())
        if again or status:
            problems.append(f"killed at write {number}: the same command ends with {again}: {told[-400:]}")
        elif differs := difference(wanted.decode(), found.decode()):
            problems.append(f"killed at write {number}: not the same: {differs}")
    print(json.dumps({"kills": kills, "writes": writes, "problems": problems}))


if __name__ == "__main__":
    main()
