"""The rooms import only to the left: data -> kg -> envs -> agents -> scripts; only names in text refer to the gallery
(scripts/papers) and to what serves people (scripts/people)."""

import ast
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest

from gumption.envs.worlds import ACROSS

ROOMS = ("data", "kg", "envs", "agents", "scripts")
REPOSITORY = Path(__file__).resolve().parents[1]
MODULES = sorted(path.relative_to(REPOSITORY) for room in ROOMS for path in (REPOSITORY / room).rglob("*.py"))


def imported(module: Path, source: str) -> Iterator[tuple[int, list[str]]]:
    """(line, parts of the name without gumption) of every import from gumption, wherever in the module it stands."""
    package = ["gumption", *module.parent.parts]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = package[: len(package) - node.level + 1] if node.level else []
            stem = [*stem, *(node.module or "").split(".")] if node.module else stem
            # `from gumption import kg` names the room only in the alias.
            names = [".".join([*stem, alias.name]) for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "gumption" and len(parts) > 1:
                yield node.lineno, parts[1:]


def test_a_module_imports_only_rooms_to_its_left() -> None:
    wrong = [
        f"{module}:{line} imports gumption.{room}"
        for module in MODULES
        for line, (room, *_) in imported(module, (REPOSITORY / module).read_text(encoding="utf-8"))
        if room not in ROOMS[: ROOMS.index(module.parts[0]) + 1]
    ]
    assert MODULES
    assert wrong == []


@pytest.mark.parametrize(
    "statement",
    [
        "import gumption.agents.learners.impala",
        "from gumption import agents",
        "from gumption.agents import x",
        "from ..agents import x",
        "from .. import agents",
        "def f():\n    from ..agents.learners.impala import x",
    ],
)
def test_every_way_to_import_is_seen(statement: str) -> None:
    assert [room for _, (room, *_) in imported(Path("kg/graph.py"), statement)] == ["agents"]


def may_import(module: Path, name: list[str]) -> bool:
    """Whether a module may import that: a folder of a world's papers imports no other one, except across."""
    if name[:2] == ["scripts", "people"]:
        return module.is_relative_to("scripts/people")
    if name[:2] != ["scripts", "papers"] or module.is_relative_to("scripts/people"):
        return True
    return module.is_relative_to("scripts/papers") and module.parts[2] in (*name[2:3], "across")


def test_only_names_in_text_refer_to_the_gallery_and_to_people() -> None:
    wrong = [
        f"{module}:{line} imports gumption.{'.'.join(name)}"
        for module in MODULES
        for line, name in imported(module, (REPOSITORY / module).read_text(encoding="utf-8"))
        if not may_import(module, name)
    ]
    assert wrong == []
    assert not may_import(Path("scripts/bench.py"), ["scripts", "papers", "kg", "bench"])
    assert not may_import(Path("scripts/papers/halma/bench.py"), ["scripts", "papers", "kg", "bench"])
    assert not may_import(Path("scripts/papers/halma/bench.py"), ["scripts", "people", "web"])


def test_the_names_across_worlds_are_there() -> None:
    assert all(resolve_name(place) for places in ACROSS.values() for place in places)
