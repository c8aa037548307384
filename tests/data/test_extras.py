"""Without a package of an extra every help opens, and what needs it names the extra.

A process that has none of these packages imports every module, opens every help and takes the first step of every
command. For each package a fork of it, made before, lacks this one alone, and takes the steps that need it.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.data.errors import extra

REPOSITORY = Path(__file__).resolve().parents[2]
HOME = ["serve --port 0", "study serve wordcraft-human --data new --port 0"]
TRAIN = ["train probsol --task fishing/0 --run new"]
#: Package -> its extra, and what needs it: lines of a command, and functions with their arguments.
NEEDED: dict[str, tuple[str, list[Any]]] = {
    "plotly": ("html", ["kg draw facts.tsv --around fire --out fire.html"]),
    "pyarrow": ("huggingface", ["kg export facts.tsv --out data --format huggingface"]),
    "psycopg": ("postgresql", ["serve --port 0 --data postgresql+psycopg://nobody@localhost/none"]),
    "zmq": ("remote", [("gumption.envs.gradual.remote", "connect", int)]),
    "stable_baselines3": ("sb3", [*TRAIN, "train segar --run new", "segar probe new"]),
    "sb3_contrib": ("sb3", TRAIN),
    "sqlalchemy": ("web", HOME),
    "starlette": ("web", HOME),
    "uvicorn": ("web", HOME),
    "websockets": ("web", [*HOME, "study simulate wordcraft-human --players 1"]),
    "werkzeug": ("serve", ["kg serve facts.tsv --port 0"]),
    "nltk": ("wordnet", ["kg import wordnet dict --out words.nq"]),
}


class Missing:
    """As if packages were not installed."""

    def __init__(self, packages: Collection[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def outcome(words: list[str]) -> str:
    """The exit code of a command, then what it printed; an exception in place of the code."""
    from gumption.scripts import cli

    sys.argv, printed = ["gumption", *words], StringIO()
    code: Any = 0
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code
        except BaseException as error:
            code = repr(error)
    return f"{code or 0} {' '.join(printed.getvalue().split())}"


def commands(command: Any, words: list[str]) -> Iterator[tuple[list[str], Any]]:
    """The words that call a command and each one below it."""
    import typer

    yield words, command
    if hasattr(command, "list_commands"):
        context = typer.Context(command, info_name="gumption")
        for name in command.list_commands(context):
            if words == ["evaluate"]:  # which resolves runs
                yield [*words, name], None
            else:
                yield from commands(command.resolve_command(context, [name])[1], [*words, name])


def without_any() -> Iterator[str]:
    """What is wrong where none of the packages is there."""
    import typer.main

    from gumption.envs import worlds
    from gumption.scripts import cli

    for name in modules():
        with suppress(InputError):
            import_module(name)
    exec("from gumption import *; from gumption.kg import *; from gumption.agents import *", {})
    top = typer.main.get_command(cli.app)
    found = [*commands(top, [])]
    for world in worlds.WORLDS:
        found += commands(top.resolve_command(typer.Context(top), [world])[1], [world])  # pyright: ignore[reportAttributeAccessIssue]
    for words, command in found:
        if not (told := outcome([*words, "--help"])).startswith("0 Usage: "):
            yield f"gumption {' '.join(words)} --help: {told}"
        needed = []
        for one in getattr(command, "params", []):
            if one.required:
                needed += [*one.opts[: one.param_type_name == "option"], "facts.tsv/x.nq"]
        if needed and not (told := outcome([*words, *needed])).startswith(("2 ", "1 ")):
            yield f"gumption {' '.join([*words, *needed])}: {told}"


def modules() -> Iterator[str]:
    for room in ("data", "kg", "envs", "agents", "scripts"):
        for path in sorted((REPOSITORY / room).rglob("*.py")):
            if "tutorial" not in path.parts:  # files to copy
                yield ".".join(("gumption", *path.relative_to(REPOSITORY).with_suffix("").parts)).removesuffix(
                    ".__init__"
                )


def without(package: str) -> Iterator[str]:
    """What is wrong where one package is not there."""
    name, steps = NEEDED[package]
    expected = f"needs the package {package}: pip install 'gumption[{name}]'"
    for step in steps:
        if isinstance(step, str):
            told = outcome(step.split())
            right = told.startswith("2 ") and expected in told
        else:
            module, function, *arguments = step
            with pytest.raises(InputError) as error:
                getattr(import_module(module), function)(*arguments)
            told = str(error.value)
            right = expected in told
        if not right:
            yield f"{step}: {told}"


def main() -> None:

    sys.meta_path.insert(0, Missing(NEEDED))
    for name in ("torch", "numba", "matplotlib.pyplot", "optuna", "gensim.models", "pykeen.models", "rdflib", "scipy"):
        import_module(name)
    found: dict[str, list[str]] = {}
    for package in NEEDED:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            sys.meta_path[0] = Missing([package])
            with os.fdopen(write, "w") as pipe:
                json.dump([*without(package)], pipe)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            found[package] = json.load(pipe)
        os.waitpid(child, 0)
    found["all"] = [*without_any()]
    print("FOUND", json.dumps(found))


@pytest.mark.slow
def test_every_help_opens_and_every_command_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("fire\tnear\twater\nwater\tnear\tfire\nfire\tmakes\tsteam\n")
    (tmp_path / "dict").mkdir()
    for kind in ("index", "data"):
        for part in ("noun", "verb", "adj", "adv"):
            (tmp_path / "dict" / f"{kind}.{part}").write_text("")
    code = "import os, sys; from tests.data.test_extras import main; os.chdir(sys.argv[1]); main()"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.partition("FOUND")[2])
    assert found == {name: [] for name in [*NEEDED, "all"]}


def test_every_import_of_an_optional_package_names_its_extra() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = set[str]()
    for room in ("data", "kg", "envs", "agents", "scripts"):
        for path in (REPOSITORY / room).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            extras = set(re.findall(r'with extra\("(\w+)"', text))
            named |= extras
            if "tutorial" in path.parts:  # files to copy
                continue
            for package in re.findall(r"^ *(?:from|import) (\w+)", text, re.MULTILINE):
                if package in NEEDED and f'find_spec("{package}")' not in text:
                    of = {NEEDED[package][0], "serve"} if package in ("starlette", "uvicorn") else {NEEDED[package][0]}
                    assert of & extras, f"{path} imports {package}"
    assert named
    assert named <= set(project["optional-dependencies"])


def test_an_installed_package_is_imported_as_ever() -> None:
    with extra("html", "this test"):
        import json
    assert json.loads("1") == 1
