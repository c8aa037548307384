"""The house: no cycles, no world named in a shared module, no file too long, one place for each thing."""

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gumption.envs.worlds import WORLDS
from tests import measures
from tests.measures import CEILINGS, of_journeys, of_source, risen

ROOMS = ("data", "kg", "envs", "agents", "scripts")
REPOSITORY = Path(__file__).resolve().parents[1]
FILES = sorted(path.relative_to(REPOSITORY) for room in ROOMS for path in (REPOSITORY / room).rglob("*.py"))
MODULES = {".".join(["gumption", *path.with_suffix("").parts]).removesuffix(".__init__"): path for path in FILES}
TESTS = sorted(path.relative_to(REPOSITORY) for path in (REPOSITORY / "tests").rglob("*.py"))
PAGES = [
    Path("README.md"),
    *(p.relative_to(REPOSITORY) for room in ROOMS for p in (REPOSITORY / room).rglob("README.md")),
]
LONGEST = 800
# The list of worlds names them; the demo is one world's story; public names and the help name some.
MAY_NAME_WORLDS = {"envs/worlds.py", "agents/__init__.py", "scripts/cli.py"}
# Data that ships, and what makes it, is of the worlds that it serves.
DATA_ROOM = "data"


def imports(module: str, path: Path) -> Iterator[str]:
    """The gumption modules that a module imports, within functions and for types only, too."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*stem, *((node.module or "").split(".") if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names] + [base]
        else:
            continue
        # `from gumption.kg import X` of a package's lazy names is an import of the package alone.
        yield from (name for name in names if name in MODULES and name != module)


def lazily_named(path: Path) -> bool:
    """A package whose names are imported when they are asked for imports nothing by itself."""
    return path.name == "__init__.py" and "__getattr__" in (REPOSITORY / path).read_text(encoding="utf-8")


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components with more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = []
            while not component or component[-1] != node:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def test_no_module_imports_itself_through_others() -> None:
    graph = {module: set() if lazily_named(path) else set(imports(module, path)) for module, path in MODULES.items()}
    assert cycles(graph) == []


def test_a_cycle_is_seen() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def shared(path: Path) -> bool:
    """Whether a file serves all worlds: it lies in no world's folder."""
    return not any(world in path.parts for world in WORLDS) and path.parts[0] != DATA_ROOM


def named_worlds(source: str) -> set[str]:
    """The worlds that code names, in names, strings or imports; what prose in comments and docstrings tells of them as
    an example does not count."""
    tree = ast.parse(source)
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    words: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            words.append(node.id)
        elif isinstance(node, ast.Attribute):
            words.append(node.attr)
        elif isinstance(node, ast.alias):
            words.append(node.name)
        elif isinstance(node, ast.ImportFrom):
            words.append(node.module or "")
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            words.append(node.name)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in prose
            and not re.match(r"(?s)\s*Example", node.value)
        ):
            words.append(node.value)
    text = " ".join(words).lower()
    return {world for world in WORLDS if world in text}


def text_of(path: Path) -> str:
    return (REPOSITORY / path).read_text(encoding="utf-8")


def test_a_shared_module_names_no_world() -> None:
    bound = [path for path in FILES if shared(path) and str(path) not in MAY_NAME_WORLDS]
    assert {str(path): named for path in bound if (named := named_worlds(text_of(path)))} == {}


def test_a_named_world_is_seen() -> None:
    assert named_worlds('from gumption.envs.halma import x\nprint("WordCraft")') == {"halma", "wordcraft"}
    assert named_worlds('"""About halma."""\nx = "Example: gumption train halma"') == set()


def test_a_file_can_be_read_in_a_sitting() -> None:
    lengths = {str(path): len(text_of(path).splitlines()) for path in (*FILES, *TESTS)}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def named_in(text: str) -> set[str]:
    """The dotted names of the package in a text: `gumption.kg.ComplEx`; IRIs and files are none."""
    return {name.rstrip(".") for name in re.findall(r"(?<![\w:/.-])gumption(?:\.[A-Za-z_]\w*)+", text)}


def exists(name: str) -> bool:
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        module = ".".join(parts[:end])
        if module in MODULES or module == "gumption":
            found: Any = import_module(module)
            try:
                for attribute in parts[end:]:
                    found = getattr(found, attribute)
            except AttributeError:
                return False
            return True
    return False


def test_what_a_page_or_a_docstring_names_exists() -> None:
    """A module that was merged or renamed leaves no name behind."""
    named = {(str(path), name) for path in (*FILES, *PAGES) for name in named_in(text_of(path))}
    assert {(path, name) for path, name in named if not exists(name)} == set()


def test_a_name_that_is_not_there_is_seen() -> None:
    assert named_in("see gumption.kg.ComplEx.fit. urn:gumption.x") == {"gumption.kg.ComplEx.fit"}
    assert exists("gumption.kg.ComplEx.fit")
    assert not exists("gumption.kg.Complex")
    assert not exists("gumption.kg.store.reading")


def ceilings() -> dict[str, Any]:
    return json.loads(CEILINGS.read_text(encoding="utf-8"))


def test_no_figure_of_the_source_rises() -> None:
    """`python -m tests.measures` shows all figures."""
    assert risen(of_source(), ceilings()) == []


@pytest.mark.slow
def test_no_journey_executes_more() -> None:
    figures = of_journeys()
    assert risen(figures, ceilings()) == []
    assert 500 < figures["lines executed by kg load"] < figures["lines executed by train wordcraft --kg"]


def test_a_small_product_has_these_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    source = {
        "envs/halma/tasks.py": '"""It tells of a task."""\n\nclass Task: ...\nclass Table: ...\n',
        "envs/segar/tasks.py": "class Task: ...\nclass Table(\n    Task\n): ...  # what is asked\n",
        "scripts/papers/halma/bench.py": "@njit\ndef _kernel(): ...\n",
    }
    monkeypatch.setattr(measures, "product", lambda: source)
    for name in ("trees", "definitions", "statements"):
        monkeypatch.setattr(measures, name, getattr(measures, name).__wrapped__)
    assert {"lines of library": 8, "lines of gallery": 2}.items() <= measures.lines().items()
    assert measures.class_names() == {"class names with two meanings": ["Table"]}
    words = {"envs/halma": 2000, "envs/segar": 6667, "scripts/papers": 0}
    assert measures.dialect() == {f"dialect words of {folder}": count for folder, count in words.items()}
    assert measures.statements("envs/segar/tasks.py") == {1: 1, 2: 2, 3: 2, 4: 4}
    [(name, kernel)] = measures.definitions("scripts/papers/halma/bench.py")
    assert measures.exempt("kg/a.py", name, kernel, "C901")
    kernel.decorator_list.clear()
    assert not measures.exempt("scripts/papers/halma/bench.py", name, kernel, "PLR0913")
    assert measures.exempt("scripts/papers/halma/bench.py", "run", kernel, "PLR0913")


def test_a_figure_may_fall_and_what_rises_is_named() -> None:
    assert risen({"lines": 3, "names": ["A"]}, {"lines": 3, "names": ["A", "B"]}) == []
    for figures, fault in (({"lines": 4}, "lines: 4 now, 3 at most"), ({"names": ["A", "A"]}, "names: A joined")):
        [message] = risen(figures, {"lines": 3, "names": ["A", "B"]})
        assert message.startswith(f"{fault}. Lower it, or raise the ceiling")
    assert risen({"of a new folder": 1}, {})[0].startswith("of a new folder: 1 now, 0 at most")
