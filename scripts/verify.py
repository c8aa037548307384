"""`gumption verify PATH`: whether files are what was written, and what a run depends on and can still do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gumption.data import InputError

from .apps import App

if TYPE_CHECKING:
    from gumption.envs.worlds import World

app = App(add_completion=False)

WHOLE, CHANGED, MISSING, UNSEALED = "whole", "CHANGED", "MISSING", "no hash"
_SCHEMA = re.compile(r"gumption/([a-z]+)-splits?/\d+")


class Verdict(NamedTuple):
    """What is known of one file, or of a folder that is written as one.

    :ivar state: WHOLE, CHANGED, MISSING, or UNSEALED for what carries no hash and can be read.
    :ivar told: what it is, or what is wrong with it.
    """

    place: str
    state: str
    told: str


@app.command(epilog="Example: gumption verify runs/guided")
def verify(paths: list[Path], *, json_: bool = False) -> None:
    """Check every file of a run, model, memory, store, split or graph against its hash.

    Of a run it also tells which versions made it, what it depends on, and whether it can be evaluated and go on. The
    exit code is 1 where something is changed or missing.

    :param paths: Files and folders.
    :param json_: Print JSON instead of tables.
    """
    from .kg.output import print_json, print_table, working

    reports = {}
    for path in paths:
        with working(f"verifying {path}"):
            verdicts = list(verdicts_of(path))
            reports[str(path)] = verdicts, about_run(path, verdicts) if _is_run(path) else {}
    if json_:
        print_json(
            {path: {"files": [one._asdict() for one in found], **about} for path, (found, about) in reports.items()}
        )
    else:
        for path, (found, about) in reports.items():
            counted = ", ".join(
                f"{number} {state}"
                for state in (WHOLE, UNSEALED, CHANGED, MISSING)
                if (number := sum(one.state == state for one in found))
            )
            print_table(["file", "state", ""], found, f"{path}: {counted}")
            for name, told in about.items():
                print(f"{name}: {told}")
    if any(one.state in (CHANGED, MISSING) for found, _ in reports.values() for one in found):
        raise typer.Exit(1)


def verdicts_of(path: Path) -> Iterator[Verdict]:
    """Of a file or folder, or of each one in the folder.

    :raises InputError: nothing there.
    """
    from gumption.data.writing import present_folder

    path = present_folder(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder")
    if path.is_file():
        yield _verdict(path, path.name)
        return
    if (told := _whole_folder(path)) is not None:
        yield _judged(path.name, told)
        return
    for part in _parts(path):
        yield _verdict(part, part.relative_to(path).as_posix())
    if _is_run(path):
        yield from _files_of_run(path)


def _parts(folder: Path) -> Iterator[Path]:
    """Files, and folders that are written as one, in the order of their names."""
    from gumption.data.writing import is_part

    for part in sorted(folder.iterdir()):
        if is_part(part):
            continue
        if part.is_dir() and _whole_folder(part) is None:
            yield from _parts(part)
        else:
            yield part


def _whole_folder(folder: Path) -> Any:
    """What reads a folder that is written as one; None for any other."""
    from gumption.envs.memory import HEADER
    from gumption.kg.checkpoint import has_checkpoint

    if has_checkpoint(folder):
        return lambda: _checkpoint(folder)
    if (folder / HEADER).is_file():
        return lambda: _memory(folder)
    return (lambda: _facts(folder)) if (folder / "CURRENT").is_file() else None


def _verdict(path: Path, name: str) -> Verdict:
    if path.is_dir():
        return _judged(name, _whole_folder(path))
    readers = {".json": _json, ".jsonl": _lines}
    read = readers.get(path.suffix, _facts if _is_graph(path) else None)
    return Verdict(name, UNSEALED, "not read") if read is None else _judged(name, lambda: read(path))


def _judged(name: str, read: Any) -> Verdict:
    """What reading it gives: a state and what it is, or an error."""
    try:
        state, told = read()
    except InputError as error:
        return Verdict(name, CHANGED, str(error))
    return Verdict(name, state, told)


# ---- what reads each kind of file


def _checkpoint(folder: Path) -> tuple[str, str]:
    from gumption.kg.checkpoint import verified

    return WHOLE, f"a checkpoint, {verified(folder).get('kind')}"


def _memory(folder: Path) -> tuple[str, str]:
    from gumption.envs.memory import memory_of

    memory = memory_of(folder)
    if memory.warning:
        raise InputError(memory.warning)
    return WHOLE, f"a memory of {len(memory):,} transitions, {memory.layout.schema}"


def _facts(path: Path) -> tuple[str, str]:
    from gumption.kg.graph import open_graph

    with open_graph(str(path))[0] as graph:
        return UNSEALED, f"{len(graph):,} facts, content hash {graph.content_hash()[:12]}"


def _is_graph(path: Path) -> bool:
    from gumption.kg.store.files import file_format

    try:
        file_format(path)
    except InputError:
        return False
    return True


def _json(path: Path) -> tuple[str, str]:
    from gumption.agents.run_folder import FINAL, read_final
    from gumption.data.reading import read_json
    from gumption.data.sealed import SHA256, unsealed

    content = read_json(path)
    schema = content.get("schema") if isinstance(content, dict) else None
    told = f"schema {schema}" if schema else ""
    if not isinstance(content, dict) or SHA256 not in content:
        return UNSEALED, told
    if (world := _world_of_splits(schema)) is not None:
        world.get("read_splits")(path.parent if path.name == "manifest.json" else path)
    elif path.name == FINAL and _is_run(path.parent):
        read_final(path.parent)
    else:
        unsealed(content, path)
    return WHOLE, told


def _world_of_splits(schema: Any) -> World | None:
    from gumption.envs import worlds

    named = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    world = worlds.known().get(named[1]) if named else None
    return world if world is not None and "read_splits" in world.offers else None


def _lines(path: Path) -> tuple[str, str]:
    from gumption.data.sealed import unsealed_lines

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    lines, seal = unsealed_lines(text, path)
    return WHOLE if seal else UNSEALED, f"{len(lines):,} lines"


# ---- runs


def _is_run(path: Path) -> bool:
    from gumption.agents.run_folder import MANIFEST
    from gumption.agents.settings import CONFIG

    return (path / CONFIG).is_file() and (path / MANIFEST).is_file()


def _files_of_run(run: Path) -> Iterator[Verdict]:
    """The copies of files that the config names, by the hashes in the manifest, and what was looked up."""
    from gumption.agents.knowledge import GRAPH, SCORES
    from gumption.agents.run_folder import FILES, KNOWLEDGE, MANIFEST, content_of
    from gumption.kg import KnowledgeGraph

    manifest, said = _sealed(run / MANIFEST), _sealed(run / KNOWLEDGE / SCORES)
    for field, own in manifest.get(FILES, {}).items():
        for name, about in own.items():
            copy, told = run / FILES / field / name, f"{field}, sha256 {about['sha256'][:12]}"
            if not about["kept"]:
                yield Verdict(name, UNSEALED, f"{told}: too large to be kept; name it when the run needs it")
            elif not copy.exists():
                yield Verdict(copy.relative_to(run).as_posix(), MISSING, told)
            else:
                state = WHOLE if content_of(copy) == about["sha256"] else CHANGED
                yield Verdict(copy.relative_to(run).as_posix(), state, told)
    if (hash_ := said.get("graph")) is not None:
        kept = run / KNOWLEDGE / GRAPH
        if not kept.is_file():
            yield Verdict(f"{KNOWLEDGE}/{GRAPH}", MISSING, f"the facts that {SCORES} tells of")
        elif KnowledgeGraph.load(kept).content_hash() != hash_:
            yield Verdict(f"{KNOWLEDGE}/{GRAPH}", CHANGED, f"not the facts that {SCORES} tells of")


def _sealed(path: Path) -> Mapping[str, Any]:
    """The content; nothing where it is not there or is changed, which its own verdict tells."""
    from gumption.data.sealed import read_sealed

    try:
        found = read_sealed(path)
    except InputError:
        return {}
    return found if isinstance(found, dict) else {}


def about_run(run: Path, verdicts: list[Verdict]) -> dict[str, str]:
    """What made a run, what it depends on, and what it can still do, in sentences."""
    from gumption.agents.run_folder import CHECKPOINT, FINAL, MANIFEST, world_of
    from gumption.agents.setup import load_policy
    from gumption.data.provenance import versions
    from gumption.kg.checkpoint import has_checkpoint

    manifest = _sealed(run / MANIFEST)
    now, then = versions(), manifest.get("versions", {})
    other = [f"{name} {then[name]}, here {now.get(name)}" for name in then if then[name] != now.get(name)]
    told = {"versions": "those of this machine" if not other else "; ".join(other)}
    if (knowledge := manifest.get("knowledge")) is not None:
        hash_ = knowledge.get("graph") or knowledge.get("predictor") or ""
        told["knowledge"] = f"{knowledge['source']}, sha256 {hash_[:12]}, by {knowledge['by']}"
    try:
        load = world_of(run).get("load") or load_policy
        load(run)
    except InputError as error:
        told["can be evaluated"] = f"no: {error}"
    else:
        told["can be evaluated"] = "yes"
    broken = [one.place for one in verdicts if one.state in (CHANGED, MISSING)]
    if (run / FINAL).is_file():
        told["can go on"] = "no: it is complete"
    elif broken:
        told["can go on"] = f"no: {', '.join(broken)}"
    else:
        told["can go on"] = "yes, with --resume" if has_checkpoint(run / CHECKPOINT) else "yes, from its beginning"
    return told
