"""Runs to rest: the compiled loop of a scene gives the bits of the steps one by one, whatever the rules."""

# ruff: noqa: UP006, UP035  (the paper's hints)

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Tuple

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics import compiled_runs
from gumption.envs.physics.compiled_rules import CompiledRule
from gumption.envs.physics.compiled_runs import CompiledRun, NotTraced, compiled
from gumption.envs.physics.factors import (
    Acceleration,
    Alive,
    Charge,
    Density,
    Drag,
    Factor,
    Mass,
    Mobile,
    Parameter,
    Position,
    Velocity,
    norm,
    tangent,
    unit,
)
from gumption.envs.physics.rules import Aggregate, Differential, Normal, SetFactor
from gumption.envs.physics.simulator import Simulator
from gumption.envs.probsol import magnets
from tests.physics_scenes import scene


class Swirl(Parameter, default=3.0):
    """Of the tests' rules."""


class Sail(Factor, base="float", default=1.0):
    """Of some discs only."""


class SailedDisc(magnets.Disc):
    """A disc beside others that have no sail."""

    factors = {Sail: 1.0}  # noqa: RUF012


def table(seed: int, count: int, walls: bool = False, **more: Any) -> dict[str, Any]:
    """A table of magnets as data: random places, velocities, masses, poles, some held, some off the table."""
    rng = np.random.default_rng(seed)
    cells = rng.permutation(64)[:count]
    entities: list[dict[str, Any]] = []
    for k, cell in enumerate(cells.tolist()):
        q, dipole = float(rng.choice([-1.41, -0.71, 1.0])), rng.random() < 0.4
        turn = rng.integers(8) * np.pi / 4
        factors = {
            "Position": [60 * (cell % 8) + rng.uniform(18, 42), 60 * (cell // 8) + rng.uniform(18, 42)],
            "Velocity": (rng.normal(0, 60, 2) * (rng.random() < 0.5)).tolist(),
            "Mass": float(rng.choice([0.5, 1.0, 4.0])), "Pole": q, "OtherPole": -q if dipole else 0.0,
            "Arm": [6 * np.cos(turn), 6 * np.sin(turn)] if dipole else [0.0, 0.0],
            "Alive": bool(rng.random() < 0.9), "Mobile": bool(rng.random() < 0.85),
        }  # fmt: skip
        entities.append({"id": f"d{k}", "type": more.get("kind", "Disc"), "factors": factors})
    if walls:
        bar = {"kind": "polygon", "vertices": [[-60, -5], [60, -5], [60, 5], [-60, 5]]}
        entities += [
            {"id": "bar", "type": "Block", "factors": {"Position": [240, 240], "Shape": bar}},
            {
                "id": "post",
                "type": "Block",
                "factors": {"Position": [100, 300], "Shape": {"kind": "circle", "size": 20}},
            },
        ]
    return scene(
        *entities, framerate=60.0, boundaries=[0, 480], wall_damping=more.get("damping", 0.0), max_velocity=1e6,
        min_velocity=0.0, rules=more.get("rules", magnets.RULES),
        parameters={"Restitution": more.get("restitution", 0.0), **more.get("parameters", {})},
    )  # fmt: skip


def everything(sim: Simulator) -> dict[str, np.ndarray]:
    """All that a run changes."""
    return {each.__name__: column for each, column in sim.arrays.columns.items()} | {"time": sim.time}


def ran(scenes: list[dict[str, Any]], steps: int, compiled: bool, part: int | None = None) -> Any:
    """(state, steps made, which rest, what the watch knows) after a run, or a run in parts."""
    sim = Simulator(scenes)
    watch, made = sim.watch(0.02), np.zeros(len(scenes), dtype=np.int64)
    rests = np.zeros(len(scenes), dtype=bool)
    while ((made < steps) & ~rests).any():
        most = np.where(rests, 0, np.minimum(part or steps, steps - made))
        more, now = sim.run(most, watch, compiled=compiled)
        made, rests = made + more, rests | now
    return everything(sim), made, rests, (watch.places, watch.age)


def same(one: Any, two: Any) -> None:
    """Bit for bit, NaN and signs of zeros included."""
    for name in one[0]:
        assert one[0][name].tobytes() == two[0][name].tobytes(), name
    for a, b in zip(one[1:3], two[1:3], strict=True):
        assert a.tolist() == b.tolist()
    assert [each.tobytes() for each in one[3]] == [each.tobytes() for each in two[3]]


def pull_and_swirl(
    one: Tuple[Position, Mass, Alive], other: Tuple[Position, Velocity, Mass, Acceleration, Alive], k: Swirl
) -> Aggregate[Acceleration]:
    """Any rule of pairs in NumPy's words."""
    (x1, m1, there), (x2, v2, m2, a, here) = one, other
    apart = x2 - x1
    near = np.maximum(norm(apart), 20.0)
    pull = np.where(near < 150.0, -4e4 * unit(apart) * m1 / np.square(near), 0.0)
    swirl = k * tangent(v2) / np.minimum(near, 100.0) - np.sign(v2) * np.abs(x1 - 240) / 100
    return Aggregate(a, (pull + swirl) / m2, where=there & here & ~((m1 > 3) & (near >= 200)) & (near != 55))


def to_the_middle(x: Position, a: Acceleration, m: Mass, mobile: Mobile) -> Aggregate[Acceleration]:
    """A rule of single entities."""
    away = x - [240.0, 240.0]
    return Aggregate(a, -away / m, where=mobile & (norm(away) > 30))


def thick_air(v: Velocity, drag: Drag, density: Density) -> Aggregate[Drag]:
    """A drag that grows with the speed."""
    return Aggregate(drag, density * norm(v) / 10)


OWN = (pull_and_swirl, to_the_middle, magnets.table_friction, "accelerate", "move")


@pytest.mark.parametrize("restitution", [0.0, 1.0])
@pytest.mark.parametrize("walls", [False, True])
def test_the_loop_gives_the_bits_of_the_steps(restitution: float, walls: bool) -> None:
    counts = (12, 1, 2, 3, 5, 8)
    scenes = [table(k, n, walls, restitution=restitution, damping=0.1) for k, n in enumerate(counts)]
    same(ran(scenes, 260, True), ran(scenes, 260, False))


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_a_persons_own_rules_run_in_the_loop(restitution: float) -> None:
    calls = []

    def counted(x: Position, a: Acceleration, m: Mass, mobile: Mobile) -> Aggregate[Acceleration]:
        calls.append(1)
        return to_the_middle(x, a, m, mobile)

    rules = (pull_and_swirl, counted, magnets.table_friction, "accelerate", "move")
    scenes = [table(10 + n, n, True, rules=rules, restitution=restitution) for n in (1, 4, 12)]
    one = ran(scenes, 150, True)
    assert len(calls) == 1  # it was traced, and not called in the steps
    same(one, ran(scenes, 150, False))


@pytest.mark.slow
def test_more_targets_than_fit_side_by_side() -> None:
    """Of 64 discs and more the loops over targets have several parts."""
    scenes = [table(3, 64, rules=OWN)]
    scenes[0]["entities"] += [{**each, "id": f"more {each['id']}"} for each in table(4, 9)["entities"]]
    same(ran(scenes, 12, True), ran(scenes, 12, False))


@pytest.mark.parametrize("part", [1, 7, 37])
def test_a_run_in_parts_is_the_run_as_a_whole(part: int) -> None:
    scenes = [table(20 + n, n) for n in (2, 6, 9)]
    whole = ran(scenes, 900, True)
    same(whole, ran(scenes, 900, True, part))
    assert whole[2].any()


def test_a_batch_is_its_scenes_alone_whatever_the_threads() -> None:
    scenes = [table(30 + k, 1 + k % 12) for k in range(40)]  # enough for two threads
    state, made, rests, _ = ran(scenes, 700, True)
    for k in (0, 11, 25, 39):
        alone = ran([scenes[k]], 700, True)
        assert (made[k], rests[k]) == (alone[1][0], alone[2][0])
        count = len(scenes[k]["entities"])
        for name in ("Position", "Velocity"):
            assert state[name][:, :count, k].tobytes() == alone[0][name][:, :count, 0].tobytes()


def test_what_rests_has_no_velocity_and_no_scene_runs_longer_than_told() -> None:
    scenes = [table(k, 4) for k in range(6)]
    state, made, rests, _ = ran(scenes, 1200, True)
    assert rests.all()
    assert (made < 1200).all()
    assert not state["Velocity"].any()
    assert ran(scenes, 10, True)[1].max() == 10


def test_a_rule_that_gives_what_is_not_finite_is_told_by_both_ways() -> None:
    def explode(a: Acceleration, m: Mass) -> Aggregate[Acceleration]:
        return Aggregate(a, 1e300 * m * m * 1e10)

    for way in (True, False):
        with np.errstate(over="ignore"), pytest.raises(InputError, match=r"'d0' a (Velocity|Acceleration|Position)"):
            ran([table(1, 1, rules=(explode, "accelerate", "move"))], 5, way)


# ---- rules that have no such form run step by step


def _relative(v: Velocity) -> Differential[Velocity]:
    return Differential(v, -0.1 * v)


def _burn(m: Mass) -> SetFactor[Mass]:
    return SetFactor(m, np.maximum(m * 0.99, 0.5))


def _three(one: Tuple[Position], two: Tuple[Position], three: Tuple[Position, Acceleration]) -> Aggregate[Acceleration]:
    return Aggregate(three[1], (one[0] + two[0] - 2 * three[0]) * 0.001)


def _typed(thing: magnets.Disc) -> Aggregate[Acceleration]:
    return Aggregate(thing[Acceleration], -0.1 * thing[Velocity])  # pyright: ignore[reportIndexIssue]


def _branch(v: Velocity, a: Acceleration) -> Aggregate[Acceleration]:
    if norm(v) > 10:
        return Aggregate(a, -v)
    return Aggregate(a, 0.5 * v)


def _arrays(v: Velocity, a: Acceleration) -> Aggregate[Acceleration]:
    return Aggregate(a, -np.asarray(v))


def _index(v: Velocity, a: Acceleration) -> Aggregate[Acceleration]:
    return Aggregate(a, -v[..., [1, 0]])


def _options(v: Velocity, a: Acceleration) -> Aggregate[Acceleration]:
    return Aggregate(a, np.multiply(v, -0.5, dtype=np.float64))


def _reduced(v: Velocity, a: Acceleration) -> Aggregate[Acceleration]:
    return Aggregate(a, -np.add.reduce(v, axis=-1, keepdims=True))


def _rare(v: Velocity, a: Acceleration) -> Aggregate[Acceleration]:
    return Aggregate(a, -np.cbrt(v))


def _function(v: Velocity, a: Acceleration) -> Aggregate[Acceleration]:
    return Aggregate(a, -np.clip(v, -1.0, 1.0))


def _constant(v: Velocity, a: Acceleration) -> Aggregate[Acceleration]:
    return Aggregate(a, -v * np.ones((1, 1, 2)))


def _sailed(thing: Tuple[Velocity, Sail, Acceleration]) -> Aggregate[Acceleration]:
    v, sail, a = thing
    return Aggregate(a, -sail * v)


def _method(v: Velocity, a: Acceleration) -> Aggregate[Acceleration]:
    return Aggregate(a, -np.sqrt((v * v).sum(axis=-1, keepdims=True)))


def _answer(
    one: Tuple[Velocity, Charge], two: Tuple[Velocity, Charge], n: Normal
) -> Tuple[SetFactor[Velocity], SetFactor[Velocity]]:
    return SetFactor(one[0], two[0]), SetFactor(two[0], one[0])


REFUSED = {
    _relative: "changes more than accelerations",
    _burn: "changes more than accelerations",
    _three: "more than two entities",
    _typed: "names an entity type",
    _branch: "it needs a value",
    _arrays: "it needs an array",
    _index: "the index",
    _options: "multiply with options",
    _reduced: "add with options",
    _rare: "the function cbrt",
    _function: "the function clip",
    _constant: "the constant",
    _method: "no attribute 'sum'",
    _sailed: "concerns others than all discs",
}


def mixed(rule: Any) -> dict[str, Any]:
    """A table with two kinds of discs."""
    data = table(2, 4, rules=(rule, magnets.table_friction, "accelerate", "move"))
    data["entities"][1]["type"] = "SailedDisc"
    return data


@pytest.mark.parametrize(("rule", "reason"), REFUSED.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_rules_without_such_a_form_run_step_by_step(rule: Any, reason: str) -> None:
    sim = Simulator(mixed(rule))
    rules = [CompiledRule(each, sim.arrays, False) for each in sim.rules]
    with pytest.raises(NotTraced, match=reason):
        CompiledRun(sim.arrays, rules, np.zeros(0, dtype=np.int64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rule with `if` is slow, and says so
        same(ran([mixed(rule)], 40, True), ran([mixed(rule)], 40, False))


def test_relations_contacts_and_scenes_without_motion_run_step_by_step() -> None:
    ball = {"id": "a", "type": "Ball", "factors": {"Position": [0, 0], "Velocity": [1, 0], "Charge": 1.0}}
    other = {"id": "b", "type": "Ball", "factors": {"Position": [0.5, 0.02], "Charge": 1.0}}
    sand = {"id": "s", "type": "SandTile", "factors": {"Position": [0.2, 0]}}
    for rules in (["apply_friction", "accelerate", "move"], [_answer, "accelerate", "move"], ["accelerate"]):
        data = scene(ball, other, sand, rules=rules)
        same(ran([data], 60, True), ran([data], 60, False))


# ---- the compiled functions of laws


def source(number: str) -> str:
    """A law that sets the first acceleration."""
    return f"def law(n, present, f, p, room, lanes):\n    f[0, 0] = {number}\n"


def result(law: Any) -> float:
    f = np.zeros((1, 1))
    law(1, np.ones(1, dtype=bool), f, np.zeros(1), np.zeros((1, 1)), np.zeros(1))
    return f[0, 0]


def test_a_law_is_compiled_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, text: str) -> None:
        raise InputError(f"{path} cannot be written")

    monkeypatch.setattr(compiled_runs, "write_text", refuse)
    assert result(compiled(source("2.5"))) == 2.5


@pytest.mark.slow
def test_two_processes_compile_the_same_law_at_once(tmp_path: Path) -> None:
    """Nothing is kept of it from before."""
    program = f"""
import numpy as np
from gumption.envs.physics.compiled_runs import compiled
f = np.zeros((1, 1))
compiled({source("7.25")!r})(1, np.ones(1, dtype=bool), f, np.zeros(1), np.zeros((1, 1)), np.zeros(1))
print(f[0, 0])
"""
    command, place = [sys.executable, "-c", program], {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=place) for _ in range(2)]
    assert [each.communicate()[0].strip() for each in running] == ["7.25", "7.25"]


def test_only_objects_that_move_are_run() -> None:
    made, rests = Simulator(scene({"id": "t", "type": "Tile"})).run(np.array([5]), Simulator(scene()).watch())
    assert (made.tolist(), rests.tolist()) == ([0], [True])
