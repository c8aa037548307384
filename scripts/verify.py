"""`gumption verify PATH`: check files against their hashes; print the versions of a run and whether it can resume.

Episodes of people in the export of a study are also replayed, since a changed action leads to another state.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, NamedTuple

import typer

from gumption.data import InputError
from gumption.data.errors import Changed
from gumption.data.sealed import HASH_ENDING, SHA256, check_hash_file, check_hash_line, hash_file

from .apps import App

STUDIES = "gumption.scripts.people.study"  # checks exports, and plays their episodes again

app = App(add_completion=False)

WHOLE, CHANGED, MISSING, UNREADABLE, UNSEALED = "unchanged", "CHANGED", "MISSING", "CANNOT BE READ", "no hash"
# The exit code of each outcome of a path, the most serious outcome first.
EXITS = {"changed": 1, "cannot be read": 3, "nothing to check": 4, "unchanged": 0}
Read = Callable[[], tuple[str, str]]  # returns a state and the kind of file
_SCHEMA = re.compile(r"gumption/([a-z]+)-splits?/\d+")


class Verdict(NamedTuple):
    """The state of a file, or of a folder that is written as a unit.

    :ivar state: WHOLE, CHANGED, MISSING, UNREADABLE, or UNSEALED if it carries no hash.
    :ivar told: its kind, or its fault.
    """

    place: str
    state: str
    told: str


@app.command(epilog="Example: gumption verify runs/guided")
def verify(paths: Annotated[list[Path], typer.Argument(metavar="PATH...")], *, json_: bool = False) -> None:
    """Check every file of a run, model, memory, split, graph, data set or export of a study against its hash.

    A graph or a table carries its hash in its first line, as a comment, or in FILE.sha256 beside it. Of a run it also
    prints which versions made it, what it depends on, and whether it can be evaluated and go on. The episodes of a
    study are played again, action by action.

    Each path has one of four outcomes, and the exit code is that of the first of these that occurs: 1 changed (a file
    differs from its hash or is missing), 3 cannot be read, 4 nothing to check (no file carries a hash), 0 unchanged.

    :param paths: Files and folders.
    :param json_: Print JSON instead of tables.
    """
    from .output import print_json, print_table, working

    reports = {}
    for path in paths:
        with working(f"verifying {path}"):
            verdicts = list(verdicts_of(path))
            reports[str(path)] = verdicts, about_run(path, verdicts) if _is_run(path) else {}
    outcomes = {path: outcome(found) for path, (found, _) in reports.items()}
    if json_:
        print_json(
            {
                path: {"outcome": outcomes[path], "files": [one._asdict() for one in found], **about}
                for path, (found, about) in reports.items()
            }
        )
    else:
        for path, (found, about) in reports.items():
            counted = ", ".join(
                f"{number} {state}"
                for state in (WHOLE, UNSEALED, CHANGED, MISSING, UNREADABLE)
                if (number := sum(one.state == state for one in found))
            )
            if found:
                print_table(["file", "state", "what"], found, f"{path}: {counted}")
            for name, told in about.items():
                print(f"{name}: {told}")
            print(f"{path}: {outcomes[path]}")
    if code := next(code for name, code in EXITS.items() if name in outcomes.values()):
        raise typer.Exit(code)


def outcome(verdicts: Sequence[Verdict]) -> str:
    """Combine the verdicts on the files of a path into an outcome, a key of `EXITS`."""
    states = {one.state for one in verdicts}
    if states & {CHANGED, MISSING}:
        return "changed"
    return "cannot be read" if UNREADABLE in states else "unchanged" if WHOLE in states else "nothing to check"


def verdicts_of(path: Path) -> Iterator[Verdict]:
    """Yield the verdict on a file or unit folder, or the verdicts on all in a folder.

    :raises InputError: the path does not exist.
    """
    from gumption.data.writing import present_folder

    path = present_folder(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder")
    known = _parts_of_run(path) if _is_run(path) else _parts_of_export(path) if path.is_dir() else {}
    for part in [path] if path.is_file() else _parts(path):
        name = path.name if part == path else part.relative_to(path).as_posix()
        yield known.pop(name, None) or _verdict(part, name)
    yield from known.values()


def _parts(folder: Path) -> Iterator[Path]:
    """Yield files, and folders that are written as a unit, in the order of their names."""
    from gumption.data.writing import is_part

    own: tuple[str, ...] = ()
    if (whole := _whole_folder(folder)) is not None:
        yield folder
        own = whole[1] or tuple(os.listdir(folder))
    for part in sorted(folder.iterdir()):
        if is_part(part) or part.name in own:
            continue
        if part.is_dir():
            yield from _parts(part)
        elif not (part.suffix == HASH_ENDING and part.with_suffix("").exists()):  # a hash is read with its file
            yield part


def _whole_folder(folder: Path) -> tuple[Read, tuple[str, ...]] | None:
    """Return the reader of a folder that is written as a unit, and the names of its files, () for all; else None."""
    from gumption.envs.memory import HEADER, RECORDS
    from gumption.kg.checkpoint import META, TENSORS, has_checkpoint, verified

    if has_checkpoint(folder):
        return (lambda: (WHOLE, f"a checkpoint, {verified(folder).get('kind')}")), (META, TENSORS)
    if (folder / HEADER).is_file():
        return (lambda: _memory(folder)), (HEADER, RECORDS)
    return ((lambda: _facts(folder)), ()) if (folder / "CURRENT").is_file() else None


def _verdict(path: Path, name: str) -> Verdict:
    if (whole := _whole_folder(path)) is not None:
        return _judged(name, whole[0])
    if path.suffix == HASH_ENDING:
        of = path.with_suffix("")
        told = f"{path.name} has its hash"
        return _verdict(of, of.name) if of.is_file() else Verdict(name.removesuffix(HASH_ENDING), MISSING, told)
    read = {".json": _json, ".jsonl": _lines}.get(path.suffix, _other_file)
    return _judged(name, lambda: read(path))


def _judged(name: str, read: Read) -> Verdict:
    """Return the verdict of a reader: a state and a kind, or an error."""
    try:
        return Verdict(name, *read())
    except Changed as error:
        return Verdict(name, CHANGED, str(error))
    except (InputError, OSError) as error:
        return Verdict(name, UNREADABLE, str(error))


# ---- Readers of each kind of file


def _memory(folder: Path) -> tuple[str, str]:
    from gumption.envs.memory import memory_of

    memory = memory_of(folder)
    if memory.warning:
        raise Changed(memory.warning)
    return WHOLE, f"a memory of {len(memory):,} transitions, {memory.layout.schema}"


def _facts(path: Path) -> tuple[str, str]:
    from gumption.kg.graph import open_graph

    with open_graph(str(path))[0] as graph:
        return UNSEALED, f"{len(graph):,} facts, content hash {graph.content_hash()[:12]}"


def _other_file(path: Path) -> tuple[str, str]:
    from gumption.data.packed import open_packed
    from gumption.kg.store.files import COMMENTED, NETWORKS, file_format

    with path.open("rb") as file:
        file.read(1)
    state = WHOLE if check_hash_file(path) else UNSEALED
    try:
        form = file_format(path)
    except InputError:  # no graph
        return state, "not read" if state == UNSEALED else f"its hash is in {hash_file(path).name}"
    with open_packed(path, lines=form.rdf is None, by_name=True) as stream:
        if form.rdf in COMMENTED and check_hash_line(stream, path):
            state = WHOLE
        elif form.rdf is None and form.ending not in NETWORKS:  # the columns of a table are known only when loading
            try:
                return state, f"{sum(1 for line in stream if line.decode()):,} lines of a table"
            except UnicodeDecodeError as error:
                raise InputError(f"{path}: no table in UTF-8 ({error.reason})") from None
    return state, _facts(path)[1]


def _json(path: Path) -> tuple[str, str]:
    from gumption.agents.run_folder import FINAL, content_of, read_final
    from gumption.data.reading import read_json
    from gumption.data.sealed import unsealed
    from gumption.envs import worlds

    content = read_json(path)
    schema = content.get("schema") if isinstance(content, dict) else None
    told = f"schema {schema}" if schema else ""
    if not isinstance(content, dict) or SHA256 not in content:
        return UNSEALED, told
    if isinstance(hashes := content[SHA256], dict):
        for name in (name for name, hash_ in hashes.items() if content_of(path.with_name(name)) != hash_):
            raise Changed(
                f"{path.with_name(name)} is missing, or it is not the file that {path.name} has the sha256 of"
            )
        return WHOLE, f"{len(hashes)} files of a data set have the sha256 that it lists"
    named = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    world = worlds.known().get(named[1]) if named else None
    if world is not None and "read_splits" in world.offers:
        world.get("read_splits")(path.parent if path.name == "manifest.json" else path)
    elif path.name == FINAL and _is_run(path.parent):
        read_final(path.parent)
    else:
        unsealed(content, path)
    return WHOLE, told


def _lines(path: Path) -> tuple[str, str]:
    from gumption.data.reading import read_text
    from gumption.data.sealed import unsealed_lines

    text = read_text(path)
    lines, seal = unsealed_lines(text, path)
    return WHOLE if seal else UNSEALED, f"{len(lines):,} lines{_played_again(lines, path)}"


def _played_again(lines: Sequence[Any], path: Path) -> str:
    """Replay the episodes of a study and return a note on them; "" for other lines.

    :raises Changed: an episode whose state or result differs when replayed.
    """
    from gumption.envs.records import SCHEMA

    episodes = [
        (line, f"{path}:{number}")
        for number, line in enumerate(lines, start=1)
        if isinstance(line, dict) and line.get("schema") == SCHEMA and "study" in line
    ]
    if not episodes:
        return ""
    if find_spec("sqlalchemy") is None:
        return "; its episodes are not played again: that needs pip install 'gumption[web]'"
    replay = resolve_name(f"{STUDIES}.replay:replay")
    here = [(line, where) for line, where in episodes if line.get("version") == version("gumption")]
    for line, where in here:
        try:
            replay(line, where)
        except InputError as error:
            raise Changed(str(error)) from None
    others = len(episodes) - len(here)
    left = f", {others:,} of another version of gumption are not" if others else ""
    return f"; {len(here):,} episodes were played again{left}"


def _parts_of_export(folder: Path) -> dict[str, Verdict]:
    """Return name -> verdict of each file with a hash in the export of a study; empty for another folder."""
    from gumption.data.reading import read_json

    export = import_module(f"{STUDIES}.export")
    if not (folder / (listing := export.ABOUT)).is_file():
        return {}
    try:
        about = read_json(folder / listing)
    except InputError:
        return {}  # the verdict on the file itself reports the error
    if not isinstance(about, dict) or not isinstance(files := about.get("files"), dict) or "study_hash" not in about:
        return {}
    whole = export.together(files) == about.get("sha256")
    found = {listing: Verdict(listing, WHOLE if whole else CHANGED, f"an export of the study {about.get('study')}")}
    for name, hash_ in files.items():
        if not (folder / name).is_file():
            found[name] = Verdict(name, MISSING, f"a file that {listing} tells of")
        elif export.sha256((folder / name).read_bytes()) != hash_:
            found[name] = Verdict(name, CHANGED, f"its sha256 is not that in {listing}")
        elif name.endswith(".jsonl"):
            found[name] = _judged(name, partial(_lines, folder / name))
        else:
            found[name] = Verdict(name, WHOLE, f"sha256 {hash_[:12]}")
    return found


# ---- Runs


def _is_run(path: Path) -> bool:
    from gumption.agents.run_folder import CHECKPOINT, FINAL, MANIFEST, METRICS
    from gumption.agents.settings import CONFIG

    return (path / CONFIG).is_file() and any((path / name).exists() for name in (MANIFEST, METRICS, FINAL, CHECKPOINT))


def _parts_of_run(run: Path) -> dict[str, Verdict]:
    """Return place -> verdict of each missing file, and of each file whose hash another file of the run stores."""
    from gumption.agents.knowledge import GRAPH, SCORES
    from gumption.agents.run_folder import CHECKPOINT, FILES, FINAL, KNOWLEDGE, MANIFEST, METRICS, content_of
    from gumption.kg import KnowledgeGraph
    from gumption.kg.checkpoint import has_checkpoint

    judged: dict[str, Verdict] = {}

    def judge(place: str, there: bool, told: str, whole: Callable[[], bool] | None = None) -> None:
        if not there or whole is not None:
            state = MISSING if not there else WHOLE if whole is None or whole() else CHANGED
            judged[place] = Verdict(place, state, told)

    manifest, said = _sealed(run / MANIFEST), _sealed(run / KNOWLEDGE / SCORES)
    judge(MANIFEST, (run / MANIFEST).is_file(), "what the run depends on is not known")
    if (run / FINAL).is_file():
        judge(METRICS, (run / METRICS).is_file(), f"the metrics that {FINAL} is of")
        judge(CHECKPOINT, has_checkpoint(run / CHECKPOINT), "what was learned")
    for field, own in manifest.get(FILES, {}).items():
        for name, about in own.items():
            told, copy = f"{field}, sha256 {about['sha256'][:12]}", run / FILES / field / name
            if about["kept"]:
                same = lambda copy=copy, about=about: content_of(copy) == about["sha256"]  # noqa: E731
                judge(f"{FILES}/{field}/{name}", copy.exists(), told, same)
            else:
                told += ": too large to be kept; name it when the run needs it"
                judged[name] = Verdict(name, UNSEALED, told)
    if manifest.get("knowledge") is not None and has_checkpoint(run / CHECKPOINT):
        judge(f"{KNOWLEDGE}/{SCORES}", (run / KNOWLEDGE / SCORES).is_file(), "the knowledge that the run learned with")
    for name in said.get("predictors", ()):
        place = run / KNOWLEDGE / name
        judge(f"{KNOWLEDGE}/{name}", has_checkpoint(place), f"a predictor that {SCORES} tells of")
    if (hash_ := said.get("graph")) is not None:
        kept, told = run / KNOWLEDGE / GRAPH, f"the facts that {SCORES} tells of, content hash {hash_[:12]}"
        judge(f"{KNOWLEDGE}/{GRAPH}", kept.is_file(), told, lambda: KnowledgeGraph.load(kept).content_hash() == hash_)
    return judged


def _sealed(path: Path) -> Mapping[str, Any]:
    """Read the content; empty if the file is missing or changed, which its own verdict reports."""
    from gumption.data.sealed import read_sealed

    try:
        found = read_sealed(path)
    except InputError:
        return {}
    return found if isinstance(found, dict) else {}


def about_run(run: Path, verdicts: list[Verdict]) -> dict[str, str]:
    """Return name -> sentence: versions and knowledge of a run, whether it can be evaluated, whether it can resume."""
    from gumption.agents.run_folder import CHECKPOINT, FINAL, MANIFEST, load_policy
    from gumption.data.provenance import versions
    from gumption.kg.checkpoint import has_checkpoint

    manifest = _sealed(run / MANIFEST)
    now, then = versions(), manifest.get("versions", {})
    other = [f"{name} {then[name]}, here {now.get(name)}" for name in then if then[name] != now.get(name)]
    told = {"versions": "; ".join(other) or "those of this machine" if then else "not known"}
    if (knowledge := manifest.get("knowledge")) is not None:
        hash_ = knowledge.get("graph") or knowledge.get("predictor") or ""
        told["knowledge"] = f"{knowledge['source']}, sha256 {hash_[:12]}, by {knowledge['by']}"
    try:
        load_policy(run)
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
