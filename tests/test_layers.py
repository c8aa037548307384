"""The rooms import only to the left: data -> kg -> envs -> agents -> scripts."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOMS = ("data", "kg", "envs", "agents", "scripts")
REPOSITORY = Path(__file__).resolve().parents[1]
MODULES = sorted(path.relative_to(REPOSITORY) for room in ROOMS for path in (REPOSITORY / room).rglob("*.py"))


def imported_rooms(module: Path, source: str) -> Iterator[tuple[int, str]]:
    """(line, room) of every import of a gumption room, wherever in the module it stands."""
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
                yield node.lineno, parts[1]


def test_a_module_imports_only_rooms_to_its_left() -> None:
    wrong = [
        f"{module}:{line} imports gumption.{room}"
        for module in MODULES
        for line, room in imported_rooms(module, (REPOSITORY / module).read_text(encoding="utf-8"))
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
    assert [room for _, room in imported_rooms(Path("kg/graph.py"), statement)] == ["agents"]
