"""The package itself: quick to import, with the public names of its rooms, and as a command."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import gymnasium as gym
import pytest

import gumption
import gumption.agents
import gumption.kg
from gumption.envs import worlds

IMPORT = """
import sys, time
start = time.process_time()
import gumption
own, names = time.process_time() - start, list(sys.modules)
import numpy
print(own / (time.process_time() - start - own), *names)
"""


def python(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_importing_it_takes_less_time_than_importing_numpy_and_imports_nothing_heavy() -> None:
    outputs = [python("-c", IMPORT).stdout.split() for _ in range(3)]
    assert min(float(ratio) for ratio, *_ in outputs) < 1
    assert not {"torch", "numpy", "gymnasium", "rdflib", "typer"}.intersection(outputs[0])


def test_the_names_of_design_can_be_imported_from_it() -> None:
    from gumption import ComplEx, InputError, KnowledgeGraph, evaluate, train_impala

    assert KnowledgeGraph is gumption.kg.KnowledgeGraph
    assert ComplEx is gumption.kg.ComplEx
    assert train_impala is gumption.agents.train_impala
    assert evaluate is gumption.agents.evaluate
    assert issubclass(InputError, ValueError)


def test_it_has_every_public_name_of_kg_and_agents() -> None:
    for room in (gumption.kg, gumption.agents):
        for name in room.__all__:
            assert getattr(gumption, name) is getattr(room, name)
            assert name in dir(gumption)
    # The rooms' names do not hide each other.
    assert not set(gumption.kg.__all__) & set(gumption.agents.__all__)


@pytest.mark.parametrize("world", worlds.WORLDS)
def test_facts_is_a_function_in_each_world(world: str) -> None:
    """Whatever was imported before: a module of the same name would take its place."""
    read = f"import gumption.envs.{world}.facts; from gumption.envs.{world} import facts; print(callable(facts))"
    assert python("-c", read).stdout == "True\n"


def test_rooms_are_attributes_without_an_import_of_their_own() -> None:
    done = python("-c", "import gumption; print(gumption.kg.KnowledgeGraph.__name__, gumption.data.path.__name__)")
    assert done.stdout.split() == ["KnowledgeGraph", "path"]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'gumption' has no attribute 'ComplexModel'"):
        _ = gumption.ComplexModel  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ImportError, match="cannot import name 'ComplexModel'"):
        from gumption import ComplexModel  # noqa: F401  # pyright: ignore[reportAttributeAccessIssue]


def test_the_version_is_that_of_the_installed_package() -> None:
    assert gumption.__version__ == version("gumption")


@pytest.mark.parametrize("options", [(), ("-P",)])
def test_python_m_gumption_is_the_command(options: tuple[str, ...], tmp_path: Path) -> None:
    done = python(*options, "-m", "gumption", "--version", cwd=tmp_path)
    assert done.stdout == f"gumption {version('gumption')}\n"


def test_an_environment_is_made_without_an_import() -> None:
    """Gymnasium has no plugins since 1.0: `MODULE:ID` imports the module that registers the environment."""
    code = "import gymnasium as gym; print(gym.make('gumption.envs:gumption/WordCraft-v0').spec.id)"
    assert python("-c", code).stdout == "gumption/WordCraft-v0\n"
    # The day this fails, Gymnasium loads plugins again, and ours can be one.
    assert not hasattr(gym.envs.registration, "load_plugin_envs")
