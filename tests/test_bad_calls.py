"""Every public function, class and method, found by itself: whatever one argument is, the call does its work or ends in
one clear InputError, soon, and has written nothing."""

import inspect
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from math import inf
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.envs import segar, worlds
from gumption.kg import KnowledgeGraph
from tests.examples import Examples
from tests.wrong_values import WRONG

LONGEST_S = 20
#: Of the calls that are drawn: what fixes them, how many they are, and how many the quick tests make.
SEED, COUNT, QUICK = 32, 600, 150
#: Counts of what is done one after the other: large ones are work, not nonsense.
WORK = {"steps", "total_steps", "epochs", "episodes", "trials", "count", "samples", "repeats", "n"}
# What a world implements, if it has it, and gumption alone calls, with arrays that it has checked.
IMPLEMENTED = {
    "advance",
    "make_step",
    "renew",
    "memory_fields",
    "set_up",
    "episode_begins",
    "memory_before",
    "memory_files",
}
# A person writes subclasses of these, or gets one in a rule: gumption alone calls their methods, with
# the state of a simulation.
OF_A_STATE = (segar.Generator, segar.IsOn, segar.Observation, segar.Task)
# Works with data that does not ship, or with an environment of another kind: that the example is refused is right.
REFUSED = {
    "kg.import_wordnet",
    "envs.halma.HALMAVectorEnv.pictures",
    "envs.halma.HALMAVectorEnv.planning_problem",
    "envs.halma.HALMAVectorEnv.recall",
    "envs.wordcraft.LittleAlchemyEnv.planning_problem",
    "envs.wordcraft.LittleAlchemyVectorEnv.planning_problem",
}
# What looks up ids at each step reads no array to check it first, nor is one read that may lie on a GPU.
GATHERS = {"choose", "makes", "mix", "pictures"}


class Call(NamedTuple):
    """A public function, or a public method or the constructor of a public class."""

    package: str
    owner: Any
    name: str

    def __str__(self) -> str:
        kind = f"{self.owner.__name__}." if inspect.isclass(self.owner) else ""
        return f"{self.package.removeprefix('gumption.')}.{kind}{self.name}"

    def on(self, examples: Examples) -> Callable[..., Any]:
        """The function to call, of an example where it is a method of objects."""
        if self.name == "__init__":
            return self.owner
        if inspect.isclass(self.owner) and inspect.isfunction(inspect.getattr_static(self.owner, self.name)):
            return getattr(examples.objects[self.owner](), self.name)
        return getattr(self.owner, self.name)


def is_ours(function: Any) -> bool:
    return (getattr(inspect.unwrap(function), "__module__", None) or "").startswith("gumption.")


def methods(package: str, cls: type[Any]) -> Iterator[Call]:
    is_settings = vars(cls).get("__settings__") is cls  # tests/test_bad_settings.py makes those
    if not inspect.isabstract(cls) and is_ours(cls.__init__) and not is_settings:
        yield Call(package, cls, "__init__")
    for name in dir(cls):
        found = inspect.getattr_static(cls, name)
        of_class = isinstance(found, classmethod | staticmethod)
        if not of_class and (not inspect.isfunction(found) or inspect.isabstract(cls)):
            continue
        public = not name.startswith("_") or name == "__call__"
        if public and name not in IMPLEMENTED and is_ours(getattr(cls, name)):
            yield Call(package, cls, name)


def calls() -> Iterator[Call]:
    """All that the rooms and the worlds name in their `__all__`; a method that classes share once."""
    seen = set()
    for package in ("data", "kg", "agents", *(f"envs.{world}" for world in worlds.WORLDS)):
        module = import_module(f"gumption.{package}")
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isclass(one) and not issubclass(one, (BaseException, *OF_A_STATE)):
                for call in methods(package, one):
                    function = inspect.unwrap(getattr(one, call.name))
                    if function not in seen:
                        seen.add(function)
                        yield call
            elif inspect.isfunction(inspect.unwrap(one)):
                yield Call(package, module, name)


CALLS = list(calls())
SLOW = {
    "kg.fit_pykeen",
    "agents.train_halma",
    "envs.halma.check_splits",
}  # a tenth of a second for each value
every_call = pytest.mark.parametrize(
    "call", [pytest.param(one, id=str(one), marks=[pytest.mark.slow] * (str(one) in SLOW)) for one in CALLS]
)


class Endless(BaseException):
    """A call that takes too long."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Examples]:
    folder = tmp_path_factory.mktemp("examples")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setenv("GUMPTION_CACHE_DIR", str(folder / "cache"))
        patch.setenv("GUMPTION_DATA_DIR", str(folder / "fetched"))
        yield Examples(folder)


def arguments(call: Call, function: Callable[..., Any], examples: Examples) -> dict[str, Any]:
    """A valid value for each parameter that needs one."""
    given = {}
    for name, one in inspect.signature(function).parameters.items():
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            given[name] = examples.argument(str(call), name, call.owner)
    return given | examples.besides(str(call))


def run(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Call it, with what can only be given by place by place; of an iterator take the first."""
    by_place: list[Any] = []
    for name, one in inspect.signature(function).parameters.items():
        if name in given and one.kind in (one.POSITIONAL_ONLY, one.VAR_POSITIONAL):
            by_place += given[name] if isinstance(given[name], tuple) else [given[name]]
            given = {other: value for other, value in given.items() if other != name}
    with at_most(LONGEST_S):
        made = function(*by_place, **given)
        if isinstance(made, Iterator):
            next(made, None)
        elif isinstance(made, KnowledgeGraph):
            made.close()


def content(folder: Path) -> set[tuple[Path, int]]:
    return {(path, path.stat().st_size) for path in folder.rglob("*")}


@pytest.mark.slow
@every_call
def test_a_call_with_one_wrong_argument_works_or_is_refused(
    call: Call, examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function = call.on(examples)
    with pytest.raises(InputError) if str(call) in REFUSED else nullcontext():
        run(function, arguments(call, function, examples))
    faults = [
        fault
        for name in parameters(function)
        for told, value in WRONG.items()
        if (fault := fault_of(call, name, told, value, examples, tmp_path))
    ]
    assert not faults, "\n".join(faults)


def parameters(function: Callable[..., Any]) -> dict[str, str]:
    """Those that a wrong value is given to, and their annotations."""
    return {
        name: str(one.annotation)
        for name, one in inspect.signature(function).parameters.items()
        if one.kind is not one.VAR_KEYWORD and not (one.kind is one.VAR_POSITIONAL and "Tensor" in str(one.annotation))
    }


def fault_of(call: Call, name: str, told: str, value: Any, examples: Examples, folder: Path) -> str | None:
    """What is wrong with how a call takes a value for a parameter: neither its work nor one clear InputError."""
    function = call.on(examples)
    hint = str(inspect.signature(function).parameters[name].annotation)
    if callable(value) and "Callable" in hint:
        return None  # what it raises is its own
    if isinstance(value, torch.Tensor | np.ndarray) and (call.name in GATHERS or "Tensor" in hint):
        return None
    given = arguments(call, function, examples) | {name: value}
    before = content(folder)
    try:
        run(function, given)
    except InputError as error:
        message = str(error)
        if "pydantic" in message or len(message) > 1500 or not message:
            return f"{call} {name}={told}: told {message[:200]!r}"
        if content(folder) != before:
            return f"{call} {name}={told}: refused, and left {content(folder) - before}"
    except BaseException as error:
        return f"{call} {name}={told}: {type(error).__name__}: {str(error)[:100]}"
    return None


@pytest.mark.parametrize(
    "part",
    [slice(QUICK), pytest.param(slice(QUICK, COUNT), marks=pytest.mark.slow)],
    ids=["some", "the-others"],
)
def test_calls_that_are_drawn_work_or_are_refused(
    part: slice, examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the values above: numbers that are allowed and too large for memory, and places that are none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "noise").write_bytes(bytes(range(256)))
    places = {name: tmp_path / name for name in ("folder", "noise", "missing", "noise/below")}
    large = {"10**12": 10**12, "2**53": 2**53, "1e300": 1e300, "-1e300": -1e300, "5e-324": 5e-324, "0": 0, "-inf": -inf}
    rng = Random(SEED)
    quick = {call: parameters(call.on(examples)) for call in CALLS if str(call) not in SLOW}
    drawn: dict[tuple[Call, str, str], Any] = {}
    while len(drawn) < COUNT:
        call = rng.choice(list(quick))
        if quick[call]:
            name = rng.choice(list(quick[call]))
            hint = quick[call][name]
            values = WRONG | places if "Path" in hint or "str" in hint else WRONG
            if name not in WORK and any(word in hint for word in ("int", "float", "Count", "Size", "Whole")):
                values = WRONG | large
            told = rng.choice(list(values))
            drawn[call, name, told] = values[told]
    faults = [fault_of(*one, value, examples, tmp_path) for one, value in list(drawn.items())[part]]
    assert not any(faults), "\n".join(filter(None, faults))


def test_the_public_names_are_found() -> None:
    found = set(map(str, CALLS))
    assert len(found) > 150
    assert {"kg.mine_rules", "kg.KnowledgeGraph.add", "data.fetch", "envs.halma.Maze.hint"} <= found
