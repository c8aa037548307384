"""Every public function, class and method, found by itself: whatever one argument is, the call does its work or ends in
one clear InputError, soon, and has written nothing."""

import inspect
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from importlib import import_module
from itertools import product
from math import inf
from pathlib import Path
from pkgutil import iter_modules
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest
import torch

from gumption.agents import Advice, evaluation, run_folder, statistics
from gumption.data import InputError
from gumption.data.sealed import write_sealed
from gumption.envs import segar, worlds
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.record_memory import RecordMemory
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
    "envs.wordcraft.LittleAlchemyVectorEnv.right_choices",
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


# ---- Environments, what wraps them and what measures agents in them: each value above for each argument, and states,
# options, masks and runs of other worlds.

OF_WORLDS = [*worlds.environments()]
#: Of each environment, and of what is outside them all: how many calls are drawn for the quick tests, and for the slow.
DRAWN = {"quick": 12, "slow": 120}
REFUSALS = (InputError, gym.error.ResetNeeded)


#: Reset options, each of some world.
OPTIONS: dict[str, Any] = {
    "goal": "mud", "table": ["water"], "intermediates": [], "discovered": ["mud"], "maze": 0, "task": "micro1",
    "mapping": {}, "context": {}, "questions": [], "level": 0, "scene": {}, "seed": 1,
}  # fmt: skip


@cache
def batch_of(name: str) -> Any:
    small = next(one.small for _, one in OF_WORLDS if one.id == name)
    batch = gym.make_vec(name, num_envs=2, render_mode="ansi", **small).unwrapped
    batch.reset(seed=0)
    return batch


def calls_of_environment(environment: worlds.Environment) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls of a batch and of a single environment."""
    batch = batch_of(environment.id)
    single = gym.make(environment.id, **environment.small).unwrapped
    by_place = [name for name in ("describe", "last_mix", "records", "task", "table", "save", "record", "quiz", "label")
                if inspect.isfunction(getattr(type(batch), name, None))]  # fmt: skip
    mine = batch.state_dict()
    values = {**WRONG, "-2": -2, "2": 2, "10**9": 10**9, "mask of 3": np.ones(3, dtype=bool)}
    for told, value in values.items():
        for env in (single, batch):
            kind = type(env).__name__
            yield f"{kind}.reset options={told}", partial(env.reset, options=value)
            yield f"{kind}.reset seed={told}", partial(env.reset, seed=value)
            yield f"{kind}.step {told}", partial(env.step, value)
            yield f"{kind}.action_facts {told}", partial(env.action_facts, value)
            for name in OPTIONS:
                yield f"{kind}.reset {name}={told}", partial(env.reset, options={name: value})
        yield f"reset seed=[1, {told}]", partial(batch.reset, seed=[1, value])
        yield f"reset_mask={told}", partial(batch.reset, options={"reset_mask": value})
        yield f"draw_frame {told}", partial(batch.draw_frame, value, "ansi")
        yield f"draw_frame mode={told}", partial(batch.draw_frame, 0, value)
        yield f"load_state_dict {told}", partial(batch.load_state_dict, value)
        for name in by_place:
            yield f"{name}({told})", partial(getattr(batch, name), value)
        for name in mine:
            yield f"state with {name}={told}", partial(batch.load_state_dict, {**mine, name: value})
    for name, value in OPTIONS.items():
        yield f"reset {name}", partial(batch.reset, options={name: value})
        yield f"reset {name} of one", partial(single.reset, options={name: value, "reset_mask": [True]})
    for _, other in OF_WORLDS:
        yield f"state of {other.id}", partial(batch.load_state_dict, batch_of(other.id).state_dict())
        yield f"settings of {other.id}", partial(gym.make, environment.id, **other.small)
        yield f"settings of {other.id} in a batch", partial(gym.make_vec, environment.id, num_envs=2, **other.small)
    for name in mine:
        yield f"state without {name}", partial(batch.load_state_dict, {key: mine[key] for key in mine if key != name})
        longer = np.repeat(mine[name], 2, axis=-1) if isinstance(mine[name], np.ndarray) else mine[name] * 2
        yield f"state with a longer {name}", partial(batch.load_state_dict, {**mine, name: longer})


@pytest.mark.parametrize("how_many", ["quick", pytest.param("slow", marks=pytest.mark.slow)])
@pytest.mark.parametrize("environment", [pytest.param(one, id=one.id) for _, one in OF_WORLDS])
def test_bad_calls_of_environments_are_refused_and_change_nothing(
    environment: worlds.Environment, how_many: str
) -> None:
    batch, faults = batch_of(environment.id), []
    for told, call in Random(SEED).sample([*calls_of_environment(environment)], DRAWN[how_many]):
        batch.reset(seed=0)
        before = repr(batch.info_arrays())
        try:
            call()
            batch.step(batch.action_space.sample())  # where it was no bad call, the environment goes on
        except REFUSALS as error:
            if repr(batch.info_arrays()) != before or not 0 < len(str(error)) < 1500:
                faults.append(f"{told}: refused, but changed: {str(error)[:200]}")
        except BaseException as error:
            faults.append(f"{told}: {type(error).__name__}: {str(error)[:200]}")
    assert not faults, "\n".join(faults)


def test_closed_environments_and_such_as_never_began_are_refused_or_work() -> None:
    for _, environment in OF_WORLDS:
        single = gym.make(environment.id, **environment.small).unwrapped
        batch = gym.make_vec(environment.id, num_envs=2, **environment.small)
        for env in (single, batch):
            for name, method in inspect.getmembers(env, inspect.ismethod):
                if name[0] != "_" and name not in IMPLEMENTED | {"reset", "step", "close", "start"} and is_ours(method):
                    with suppress(*REFUSALS, TypeError if inspect.signature(method).parameters else InputError):
                        method()
        with pytest.raises(gym.error.ResetNeeded):
            single.step(single.action_space.sample())
        with pytest.raises(gym.error.ResetNeeded):
            batch.step(batch.action_space.sample())
        single.reset(seed=0)
        for env in (single, batch):
            env.close()
            env.close()
        assert single.render() is None
        single.step(single.action_space.sample())  # nothing is held that closing could give back
        single.reset(seed=0)


def calls_around() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls of wrappers, of what evaluates agents, and of what loads runs, memories and splits."""

    def batch() -> Any:
        return gym.make_vec("gumption/WordCraft-v0", num_envs=2, autoreset_mode="SameStep")

    own = batch().unwrapped
    own.reset(seed=0)
    graph = KnowledgeGraph()
    graph.add([("water", "componentOf", "mud")])
    advice, points = Advice(graph, own.vocabulary, own.relations), np.arange(10.0)
    others = {"another environment": gym.make("CartPole-v1"), "another batch": gym.make_vec("CartPole-v1", num_envs=2),
              "the environment": gym.make("gumption/WordCraft-v0"), "a file": Path("noise"), "a folder": Path(),
              **{f"a run of {name}": Path(name) for name in worlds.WORLDS}}  # fmt: skip
    offered = [(world.name, offer, world.get(offer)) for world in worlds.WORLDS.values()
               for offer in ("load", "evaluate", "read_splits", "memory")]  # fmt: skip
    for told, value in {**WRONG, **others}.items():
        yield f"KGScores env={told}", partial(KGScores, value, advice)
        yield f"KGScores advice={told}", lambda value=value: KGScores(batch(), value).reset(seed=0)
        yield f"KGScores observation={told}", lambda value=value: KGScores(batch(), advice, observation=value)
        yield f"RecordMemory env={told}", partial(RecordMemory, value, "kept")
        yield f"RecordMemory directory={told}", lambda value=value: RecordMemory(batch(), value).close()
        yield f"advice env={told}", partial(advice, value)
        yield f"advice chosen={told}", partial(advice, own, value)
        yield f"Advice source={told}", partial(Advice, value, own.vocabulary, own.relations)
        yield f"Advice vocabulary={told}", partial(Advice, graph, value, own.relations)
        yield f"Advice relations={told}", partial(Advice, graph, own.vocabulary, value)
        if not callable(value):
            yield f"success_rate player={told}", partial(evaluation.success_rate, value, own, 2)
            yield f"evaluate_policy {told}", partial(evaluation.evaluate_policy, value, "wordcraft", episodes=2)
        yield f"success_rate env={told}", partial(evaluation.success_rate, evaluation.random_player, value, 2)
        for single in (True, False):
            yield (
                f"evaluate_policy -> {told}",
                partial(
                    evaluation.evaluate_policy, lambda *_, value=value: value, "wordcraft", episodes=2, single=single
                ),
            )
        for name in ("environment", "seed", "single", "depth", "nonsense"):
            yield f"evaluate_policy {name}={told}", partial(
                evaluation.evaluate_policy, lambda seen, _: seen["goal_index"] * 0, "wordcraft", episodes=2,
                **{name: value},
            )  # fmt: skip
        for one in (statistics.interquartile_mean, statistics.bootstrap_interval, statistics.curve_band,
                    statistics.pareto_front, statistics.krippendorff_alpha):  # fmt: skip
            yield f"{one.__name__} {told}", partial(one, value)
        for two in (statistics.probability_of_improvement, statistics.wilson_interval, statistics.inliers,
                    statistics.correlation, statistics.centred, statistics.best_fit):  # fmt: skip
            yield f"{two.__name__} first {told}", partial(two, value, points)
            yield f"{two.__name__} second {told}", partial(two, points, value)
        for load in (run_folder.read_metrics, run_folder.read_final, run_folder.world_of, run_folder.load_policy):
            yield f"{load.__name__} {told}", partial(load, value)
        for world, offer, function in offered:
            if function is not None:
                yield f"{offer} of {world} {told}", partial(getattr(function, "load", function), value)


@pytest.mark.parametrize(
    "part", [slice(100), pytest.param(slice(100, 700), marks=pytest.mark.slow)], ids=["some", "more"]
)
def test_bad_calls_around_environments_are_refused(
    part: slice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noise").write_bytes(bytes(range(256)))
    for number, name in enumerate(worlds.WORLDS):  # runs whose configs lack all but the world
        (tmp_path / name).mkdir()
        write_sealed(tmp_path / name / "config.json", {"world": name if number else ["x"]})
    faults = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for told, call in Random(SEED).sample([*calls_around()], 700)[part]:
            try:
                with at_most(LONGEST_S):
                    call()
            except InputError as error:
                if not 0 < len(str(error)) < 1500:
                    faults.append(f"{told}: {str(error)[:200]!r}")
            except BaseException as error:
                faults.append(f"{told}: {type(error).__name__}: {str(error)[:200]}")
    assert not faults, "\n".join(faults)


# ---- Within the worlds: whatever checks its arguments, of every module, with values of all kinds for all of them.

#: What calls functions of its caller, waits for another program, or measures for as long as the sizes say.
NOT_ALONE = {
    "agents.gradual.validation.gradual_learning",
    "agents.gradual.validation.forgetting",
    "envs.gradual.remote.connect",
    "envs.segar.measures.axes_table",
}


def is_checked(function: Any) -> bool:
    """Whether `gumption.data.settings` wraps it, as `checked` and `settings` do."""
    return inspect.isfunction(function) and function.__code__.co_filename.endswith("data/settings.py")


def checked_calls() -> dict[str, Callable[..., Any]]:
    """The functions, constructors and class methods of all modules of all worlds that check their arguments."""
    made: dict[str, Callable[..., Any]] = {}
    for room, world in product(("envs", "agents"), worlds.WORLDS):
        package = import_module(f"gumption.{room}.{world}")
        for module in [import_module(one.name) for one in iter_modules(package.__path__, f"{package.__name__}.")]:
            for name, one in vars(module).items():
                path = f"{module.__name__}.{name}".removeprefix("gumption.")
                if name.startswith("_") or getattr(one, "__module__", None) != module.__name__ or path in NOT_ALONE:
                    continue
                if is_checked(one) or (inspect.isclass(one) and is_checked(vars(one).get("__init__"))):
                    made[path] = one
                for method, kept in vars(one).items() if inspect.isclass(one) else ():
                    if isinstance(kept, classmethod | staticmethod) and is_checked(kept.__func__):
                        made[f"{path}.{method}"] = getattr(one, method)
    return made


@pytest.mark.parametrize(
    "part", [slice(120), pytest.param(slice(120, 1500), marks=pytest.mark.slow)], ids=["some", "more"]
)
def test_bad_calls_within_worlds_work_or_are_refused(
    part: slice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "cache"))
    functions, rng, faults = checked_calls(), Random(SEED), list[str]()
    drawn: list[tuple[str, dict[str, str]]] = []
    for path in rng.choices(sorted(functions), k=1500):
        ones = inspect.signature(functions[path]).parameters.values()
        named = [one for one in ones if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        optional = [one.name for one in named if one.default is not one.empty]
        names = [one.name for one in named if one.default is one.empty] + rng.sample(optional, min(1, len(optional)))
        drawn.append((path, {name: rng.choice(list(WRONG)) for name in names}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, kinds in drawn[part]:
            try:
                run(functions[path], {name: WRONG[kind] for name, kind in kinds.items()})
            except InputError as error:
                if not 0 < len(str(error)) < 1500:
                    faults.append(f"{path} {kinds}: {str(error)[:200]!r}")
            except BaseException as error:
                faults.append(f"{path} {kinds}: {type(error).__name__}: {str(error)[:200]}")
    assert not faults, "\n".join(faults)


def test_the_public_names_are_found() -> None:
    within = checked_calls()
    assert len(within) > 150
    assert {"agents.segar.evaluation.play_levels", "agents.wordcraft.config.TrainConfig"} <= {*within}
    found = set(map(str, CALLS))
    assert len(found) > 150
    assert {"kg.mine_rules", "kg.KnowledgeGraph.add", "data.fetch", "envs.halma.Maze.hint"} <= found
