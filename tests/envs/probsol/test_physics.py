"""The magnets' physics against closed forms, which are computed here from the specification's formulas."""

import json
from itertools import combinations_with_replacement, product
from math import atan2, cos, hypot, pi, radians, sin, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.physics.factors import Alive, Mobile, Position, Velocity
from gumption.envs.physics.simulator import Simulator
from gumption.envs.probsol.engine import SLOW, scene_of
from gumption.envs.probsol.magnets import Arm, Spin
from gumption.envs.probsol.tasks import read_task
from tests.probsol_examples import disc, make, play, task

#: The specification's numbers: K in px^3/s^2, friction in px/s^2, px of the two cuts and of a dipole's arm.
K, FRICTION, CUT, DIPOLE_CUT, ARM, RADIUS, TABLE = 20 * 155**2, 20.0, 24.0, 12.0, 6.0, 12.0, 480.0
MASS = {"small": 0.5, "medium": 1.0, "large": 2.0, "extremely large": 4.0}
MAGNETISM = {"small": 0.71, "medium": 1.0, "large": 1.41}
THETAS = tuple(range(0, 360, 45))
DT = 1 / 60


def simulator(*tables: dict[str, Any], coupling: float = K, framerate: int = 60) -> Simulator:
    """The tables of these tasks."""
    return Simulator([scene_of(read_task(each), coupling, framerate) for each in tables])


def places(sim: Simulator, discs: int) -> np.ndarray:
    """(B, n, 2) px."""
    return sim.arrays.columns[Position][:, :discs].transpose(2, 1, 0).copy()


def push(sim: Simulator, disc_number: int, vx: float, vy: float = 0.0) -> None:
    sim.arrays.columns[Velocity][:, disc_number, :] = [[vx], [vy]]


def rest(sim: Simulator, seconds: float = 20.0, framerate: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Let it run as after an action: rest is less than 0.01 px in half a second. (steps, which rest), both (B,)."""
    steps = np.full(sim.arrays.num_envs, round(seconds * framerate))
    return sim.run(steps, sim.watch(SLOW, framerate // 2))


def random_table(seed: int, count: int, low: float = 12.0, high: float = 468.0, dipoles: bool = True) -> dict[str, Any]:
    """Discs of any classes at random places that do not overlap, at rest."""
    rng = np.random.default_rng([seed, count])
    at: list[tuple[float, float]] = []
    while len(at) < count:
        x, y = rng.uniform(low, high, 2).tolist()
        if all(hypot(x - a, y - b) >= 24.5 for a, b in at):
            at.append((x, y))
    polarities = ["+", "-", "dipole"] if dipoles else ["+", "-"]
    discs = [
        disc(
            "abcdefghijkl"[k], place, mass=str(rng.choice(list(MASS))), magnetism=str(rng.choice(list(MAGNETISM))),
            polarity=str(rng.choice(polarities)), boundary=int(rng.choice(THETAS)),
        )
        for k, place in enumerate(at)
    ]  # fmt: skip
    return task("Sandbox", *discs)


def charges(data: dict[str, Any]) -> list[list[tuple[np.ndarray, float]]]:
    """The poles of each disc of a table: where they lie from its centre, and their magnetism."""
    found = []
    for each in data["objects"]:
        q, theta = MAGNETISM[each["magnetism"]], radians(each.get("boundary", 0))
        arm = ARM * np.array([cos(theta), -sin(theta)])  # y points downwards
        both = [(arm, q), (-arm, -q)]
        found.append(both if each["polarity"] == "dipole" else [(np.zeros(2), q if each["polarity"] == "+" else -q)])
    return found


def accelerations(data: dict[str, Any]) -> np.ndarray:
    """(n, 2) px/s^2 by the law, pole by pole."""
    poles, at = charges(data), [np.array(each["at"]) for each in data["objects"]]
    found = np.zeros((len(at), 2))
    for source, target in product(range(len(at)), repeat=2):
        cut = DIPOLE_CUT if len(poles[source]) == 2 or len(poles[target]) == 2 else CUT
        for (arm1, q1), (arm2, q2) in product(poles[source], poles[target]):
            if source != target:
                way = at[target] + arm2 - at[source] - arm1
                r = float(np.hypot(*way))
                mass = MASS[data["objects"][target]["mass"]]
                found[target] += K * q1 * q2 / (mass * max(r, cut) ** 2) * way / r
    return found


# ---- the law


@pytest.mark.parametrize("seed", range(12))
def test_accelerations_are_the_sum_over_poles(seed: int) -> None:
    """One step without friction: velocities are the acceleration times dt. All orientations and masses occur."""
    data = {**random_table(seed, 6, 100, 380), "friction": 0}
    sim = simulator(data)
    sim.step()
    far = [hypot(*np.subtract(a["at"], b["at"])) for a, b in combinations_with_replacement(data["objects"], 2)]
    if all(each == 0 or each > 30 for each in far):  # none may touch
        velocity = sim.arrays.columns[Velocity][:, :6, 0].T
        assert velocity / DT == pytest.approx(accelerations(data), rel=1e-11, abs=1e-10)


def test_poles_nearer_than_the_cut_pull_as_at_the_cut() -> None:
    """Side by side at 24 px the + poles of two dipoles lie 12 px apart; at 16 px, reached by moving one, 4 px."""
    pair = [
        disc("a", (200, 240), polarity="dipole", boundary=0),
        disc("b", (224, 240), polarity="dipole", boundary=180),
    ]
    sim = simulator({**task("Sandbox", *pair), "friction": 0})
    pulls = []
    for x in (224, 216):
        pair[1]["at"] = [x, 240]
        sim.arrays.columns[Position][:, :2, 0] = [[200, x], [240, 240]]
        sim.arrays.columns[Velocity][:] = 0.0
        sim.step()  # they are pushed apart only afterwards, and nothing presses them together
        expected = accelerations(task("Sandbox", *pair))[1, 0]
        assert sim.arrays.columns[Velocity][0, 1, 0] / DT == pytest.approx(expected)
        pulls.append(expected - K / 12**2)  # what the nearest poles add is the same
    assert pulls[0] != pulls[1]
    assert min(pulls) < 0


@pytest.mark.parametrize(("boundary", "about"), [(0, 83.0), (90, 65.0)])
def test_a_dipole_acts_on_a_medium_disc_up_to_a_distance(boundary: int, about: float) -> None:
    """End-on about 83 px, side-on about 65 px; the limit is where the formula's acceleration is k."""

    def table(r: float) -> dict[str, Any]:
        dipole = disc("a", (150, 240), mass="extremely large", polarity="dipole", boundary=boundary)
        return task("Sandbox", dipole, disc("b", (150 + r, 240)))

    low, high = 40.0, 120.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if hypot(*accelerations(table(middle))[1]) > FRICTION else (low, middle)
    assert low == pytest.approx(about, abs=1)
    sim = simulator(table(low - 1), table(low + 1))
    before = places(sim, 2)
    sim.step(30)
    moved = np.hypot(*(places(sim, 2) - before)[:, 1].T)
    assert moved[0] > 0.01
    assert moved[1] == 0.0


def limits() -> list[tuple[str, str, str, str, float]]:
    """For all pairs of classes, the distance below which the disc that sets off first sets off."""
    found = []
    for q1, q2 in combinations_with_replacement(MAGNETISM, 2):
        for m1, m2 in combinations_with_replacement(MASS, 2):
            limit = 155 * sqrt(MAGNETISM[q1] * MAGNETISM[q2] / min(MASS[m1], MASS[m2]))
            found.append((q1, q2, m1, m2, limit))
    return found


def test_pairs_meet_below_the_limit_and_stay_above_it() -> None:
    """All classes of both discs, set down at rest: 60 pairs 1 px below the limit, half way, and 1 px above it."""
    cases = limits()
    assert (min(case[4] for case in cases), max(case[4] for case in cases)) == pytest.approx((55, 309), abs=1)

    def table(q1: str, q2: str, m1: str, m2: str, r: float) -> dict[str, Any]:
        one = disc("a", (240 - r / 2, 240), magnetism=q1, mass=m1)
        return task("Sandbox", one, disc("b", (240 + r / 2, 240), magnetism=q2, mass=m2, polarity="-"))

    def apart(share: float, more: float) -> np.ndarray:
        """(60,) px between the two at rest."""
        sim = simulator(*(table(*case[:4], share * case[4] + more) for case in cases))
        assert rest(sim)[1].all()
        at = places(sim, 2)
        return np.hypot(*(at[:, 1] - at[:, 0]).T)

    assert apart(1, -1) == pytest.approx(24, abs=0.5)
    assert apart(0.6, 0) == pytest.approx(24, abs=0.5)
    assert apart(1, 1).tolist() == pytest.approx([case[4] + 1 for case in cases], abs=1e-9)


@pytest.mark.parametrize(("one", "other"), [("+", "+"), ("+", "-")])
def test_two_free_magnets_keep_energy_and_momentum(one: str, other: str) -> None:
    """E = m1 v1^2 / 2 + m2 v2^2 / 2 + K q1 q2 / r, without friction: off by the integration's error, which shrinks with
    the step. Momentum is kept to rounding.
    """
    pair = (
        disc("a", (140, 200), mass="large", polarity=one),
        disc("b", (300, 240), mass="small", magnetism="large", polarity=other),
    )
    masses, qq = np.array([2.0, 0.5]), 1.41 * (1 if one == other else -1)

    def energy(sim: Simulator) -> tuple[float, np.ndarray]:
        at, v = places(sim, 2)[0], sim.arrays.columns[Velocity][:, :2, 0].T
        r = float(np.hypot(*(at[1] - at[0])))
        return float((masses * (v * v).sum(axis=1)).sum() / 2 + K * qq / r), (masses[:, None] * v).sum(axis=0)

    errors = []
    for framerate in (60, 120, 240):
        sim = simulator({**task("Sandbox", *pair), "friction": 0}, framerate=framerate)
        push(sim, 1, 10.0, 40.0)
        begun, momentum = energy(sim)
        sim.step(framerate * 3 // 4)
        now, later = energy(sim)
        assert later == pytest.approx(momentum, abs=1e-10)
        errors.append(abs(now - begun) / (K * 1.41 / 165))
    assert errors[0] < 0.02
    assert errors[2] < 0.35 * errors[0]


@pytest.mark.parametrize(("v", "k"), [(7.0, 20.0), (60.0, 20.0), (130.0, 20.0), (60.0, 35.0), (170.0, 35.0)])
def test_the_stopping_distance(v: float, k: float) -> None:
    """v^2 / (2 k), less at most what the first step covers: friction acts before the disc moves."""
    sim = simulator({**task("Sandbox", disc("a", (20, 240), mass="small")), "friction": k})
    push(sim, 0, v)
    steps, rests = rest(sim)
    x, y = places(sim, 1)[0, 0]
    assert rests[0]
    assert y == 240
    assert v * v / (2 * k) - v * DT / 2 - 1e-9 <= x - 20 + k * DT * DT
    assert x - 20 <= v * v / (2 * k)
    assert steps[0] <= v / k / DT + 32


def test_laws() -> None:
    """Counterfactual: the mirrored sign. Inert: nothing."""
    apart = {}
    for law in ("real", "counterfactual", "inert"):
        for polarity in "+-":
            data = task("Sandbox", disc("a", (180, 240)), disc("b", (282, 240), polarity=polarity), disc("c", 0))
            env = make(data, laws=law)
            play(env, ("grab", "c"), ("store", 3), ("none",), ("hold", "a"), ("put_down",))
            x = [each["x"] for each in env.table()]
            apart[law, polarity] = x[1] - x[0]
    assert apart["real", "-"] == apart["counterfactual", "+"] == pytest.approx(24, abs=0.5)
    assert apart["real", "+"] == apart["counterfactual", "-"] > 110
    assert apart["inert", "+"] == apart["inert", "-"] == 102


# ---- contacts, the edges and walls


def test_discs_never_overlap_by_half_a_pixel() -> None:
    """Twelve discs, thrown as well, looked at after each step."""
    tables = [random_table(seed, 12) for seed in range(8)]
    sim = simulator(*tables)
    rng = np.random.default_rng(0)
    sim.arrays.columns[Velocity][:, :12] = rng.normal(0, 200, (2, 12, 8))
    upper, watch = np.triu_indices(12, 1), sim.watch(SLOW)
    for _ in range(500):
        sim.run(np.ones(8, dtype=np.int64), watch)
        at = places(sim, 12)
        gaps = np.hypot(*(at[:, upper[0]] - at[:, upper[1]]).transpose(2, 0, 1)) - 24
        assert gaps.min() >= -0.5
        assert at.min() >= 12 - 1e-6
        assert at.max() <= 468 + 1e-6


@pytest.mark.parametrize("v", [90.0, 3000.0])
def test_edges_and_walls_stop_discs(v: float) -> None:
    """Both stop what comes straight on; along an edge the other component goes on."""
    walled = task("Sandbox", disc("a", (100, 240)), walls=[[300, 100, 6, 280]])
    sim = simulator(task("Sandbox", disc("a", (430, 240))), walled)
    push(sim, 0, v * 3)
    rest(sim)
    assert places(sim, 1)[:, 0].tolist() == [pytest.approx([468, 240]), pytest.approx([288, 240])]
    slide = simulator(task("Sandbox", disc("a", (468, 100))))
    push(slide, 0, 50.0, 50.0)
    rest(slide)
    assert places(slide, 1)[0, 0] == pytest.approx([468, 100 + 50**2 / 40], abs=0.5)


def test_a_collision_is_inelastic_and_keeps_momentum() -> None:
    """A disc of 1 at 100 px/s meets one of 4 at rest; both go on at 20 px/s without friction."""
    data = task("Sandbox", disc("a", (100, 240)), disc("b", (150, 240), mass="extremely large"))
    sim = simulator({**data, "friction": 0}, coupling=0.0)
    push(sim, 0, 100.0)
    sim.step(60)
    assert sim.arrays.columns[Velocity][0, :2, 0] == pytest.approx([20, 20], abs=1e-9)
    at = places(sim, 2)[0]
    assert at[1, 0] - at[0, 0] == pytest.approx(24, abs=1e-6)


# ---- the hand


def test_a_held_disc_is_as_if_nailed() -> None:
    """It pulls, and is pulled and hit without moving."""
    pulled = task("Sandbox", disc("a", (240, 240)), disc("b", (300, 240), polarity="-"))
    hit = task("Sandbox", disc("a", (240, 240)), disc("b", (300, 240)))
    sim = simulator(pulled, hit)
    sim.arrays.columns[Mobile][0, 0] = False
    sim.arrays.columns[Velocity][0, 1, 1] = -900.0
    rest(sim)
    at = places(sim, 2)
    assert (at[:, 0] == [240, 240]).all()
    assert at[0, 1] == pytest.approx([264, 240], abs=0.5)
    assert at[1, 1, 0] > 300  # it was stopped, and pushed back by the law


def test_what_is_put_down_is_free_again() -> None:
    env = make(task("Sandbox", disc("a", (180, 240)), disc("b", (282, 240), mass="extremely large")))
    play(env, ("hold", "a"))
    assert (env.table()[0]["x"], env.table()[0]["state"]) == (pytest.approx(env.table()[0]["x"]), "held")
    before = env.table()[0]["x"]
    play(env, ("none",))
    assert env.table()[0]["x"] == before
    play(env, ("put_down",))
    assert env.table()[0]["x"] < before - 10


def test_a_grabbed_disc_has_no_force_and_no_contact() -> None:
    """b flies straight through where a was, as if there were no a."""
    data = task("Sandbox", disc("a", (200, 240)), disc("b", (120, 240), polarity="-"))
    sim, alone = simulator(data), simulator(task("Sandbox", disc("b", (120, 240), polarity="-")))
    sim.arrays.columns[Alive][0, 0] = False
    for each, number in ((sim, 1), (alone, 0)):
        push(each, number, 80.0)
        rest(each)
    assert places(sim, 2)[0, 1].tolist() == places(alone, 1)[0, 0].tolist()
    assert places(sim, 2)[0, 0].tolist() == [200, 240]
    assert places(sim, 2)[0, 1, 0] > 260


# ---- tasks in which forces turn dipoles


def turning(*discs: dict[str, Any], **more: Any) -> Simulator:
    """A table with rotation."""
    return simulator({**task("Sandbox", *discs), "rotation": True, **more})


def theta(sim: Simulator, number: int = 0) -> float:
    """Where the + pole of a disc lies, in radians, counter-clockwise from the right."""
    x, y = sim.arrays.columns[Arm][:, number, 0]
    return atan2(-y, x)


PAIR = (
    disc("a", (200, 240), polarity="dipole", boundary=90),
    disc("b", (300, 240), polarity="-", mass="extremely large", magnetism="large"),
)


def test_forces_turn_a_dipole_as_its_moment_of_inertia_says() -> None:
    """M R^2 / 2 times the angular acceleration is the sum over poles of r x F; without friction, in the first step."""
    sim = turning(*PAIR, friction=0)
    sim.step()
    moment = 0.0
    for sign in (1, -1):  # the poles at (0, -6) and (0, 6) from the centre; both forces point along the line to b
        way = np.array([-100.0, -6.0 * sign])
        force = K * sign * -1.41 / (way @ way) * way / np.sqrt(way @ way)
        moment += -(-6.0 * sign) * force[0]  # r x F, with r = (0, -6 sign)
    assert sim.arrays.columns[Spin][0, 0, 0] / DT == pytest.approx(moment / (1.0 * RADIUS**2 / 2), rel=1e-9)
    assert moment > 0  # from the x axis to the y axis, which points downwards: the + pole turns to b


def test_friction_stops_turning() -> None:
    """By 4/3 k / R: from the spin w it turns by w^2 / (2 * 4/3 k / R), less at most what a step covers."""
    sim = turning(PAIR[0])
    slows = 4 / 3 * FRICTION / RADIUS
    sim.arrays.columns[Spin][0, 0] = -2.0
    steps, rests = rest(sim)
    assert rests[0]
    turned = theta(sim) - pi / 2
    assert 2.0**2 / (2 * slows) - 2.0 * DT <= turned <= 2.0**2 / (2 * slows)
    assert np.hypot(*sim.arrays.columns[Arm][:, 0, 0]) == pytest.approx(ARM, rel=1e-12)
    assert steps[0] >= 2.0 / slows / DT  # it does not rest while it turns, though no disc moves


def test_what_is_turned_by_less_than_friction_stays() -> None:
    """Side-on at r: the moment about 2 * 6 K q2 / r^2, whose limit lies between these two distances."""
    limit = sqrt(2 * ARM * K * 1.41 / (4 * RADIUS**2 / 2) / (4 / 3 * FRICTION / RADIUS))  # of a mass of 4
    for r, turns in ((0.98 * limit, True), (1.02 * limit, False)):
        sim = turning(
            disc("a", (12, 240), polarity="dipole", boundary=90, mass="extremely large"),
            disc("b", (12 + r, 240), polarity="-", mass="extremely large", magnetism="large"),
        )
        sim.step(30)
        assert (theta(sim) < pi / 2) is turns


@pytest.mark.slow
def test_turning_gains_no_energy() -> None:
    """Two dipoles without friction that swing: energy of motion and of turning, and K q1 q2 / r of the poles."""
    sim = turning(
        disc("a", (200, 240), polarity="dipole", boundary=90, mass="extremely large"),
        disc("b", (250, 250), polarity="dipole", boundary=45, mass="extremely large"),
        friction=0,
    )
    energies = []
    for _ in range(240):
        sim.step(5)
        at, arms = places(sim, 2)[0], sim.arrays.columns[Arm][:, :2, 0].T
        v, spin = sim.arrays.columns[Velocity][:, :2, 0], sim.arrays.columns[Spin][0, :2, 0]
        potential = sum(
            K * s * t / np.hypot(*(at[1] + t * arms[1] - at[0] - s * arms[0])) for s in (1, -1) for t in (1, -1)
        )
        energies.append(4 / 2 * (v * v).sum() + 4 * RADIUS**2 / 4 * (spin * spin).sum() + potential)
        if np.hypot(*(at[1] - at[0])) < 26:
            break
    assert np.abs(np.diff(energies)).max() < 0.05 * abs(energies[0])
    assert abs(energies[-1] - energies[0]) < 0.1 * abs(energies[0])


def test_a_held_dipole_does_not_turn_and_theta_is_told_by_the_nearest_eighth() -> None:
    data = {**task("Sandbox", *PAIR), "rotation": True}
    env = make(data)
    play(env, ("hold", "a"), ("none",), ("none",))
    assert env.table()[0]["boundary"] == 90
    state = json.loads(json.dumps(env.save()))
    play(env, ("put_down",))
    told = env.table()
    assert told[0]["boundary"] in (0, 45)
    again = make(data)
    again.restore(state)
    play(again, ("put_down",))
    assert again.table() == told
    assert again.save() == env.save()


def test_tasks_with_and_without_rotation_are_not_in_one_batch() -> None:
    with pytest.raises(InputError, match="rotation is false, and that of 'mine/0' is not"):
        make([{**task("Sandbox", *PAIR), "rotation": True}, task("Sandbox", *PAIR)])


# ---- rest


def test_tables_of_twelve_come_to_rest_and_stay() -> None:
    """At least 97 % of 200 within 20 s; 60 steps more move nothing by 0.01 px, but for what creeps with less than
    0.01 px in 30 steps: it goes twice as far in 60.
    """
    sim = simulator(*(random_table(seed, 12) for seed in range(200)))
    rests = rest(sim)[1]
    assert rests.mean() >= 0.97
    before = places(sim, 12)
    sim.run(np.full(200, 60), sim.watch(SLOW, 1000))
    moved = np.hypot(*(places(sim, 12) - before)[rests].T)
    assert moved.max() < 0.02
    assert (moved.max(axis=0) < 0.01).mean() >= 0.98


def test_a_disc_that_turns_around_does_not_rest() -> None:
    """Thrown away from one that pulls it back, it comes again to where it was within half a second, and goes on."""
    sim = simulator(task("Sandbox", disc("a", (240, 240), mass="extremely large"), disc("b", (330, 240), polarity="-")))
    push(sim, 1, 15.0)
    _, rests = rest(sim)
    assert rests[0]
    assert places(sim, 2)[0, 1, 0] - places(sim, 2)[0, 0, 0] == pytest.approx(24, abs=0.5)


@pytest.mark.parametrize(("count", "share"), [(2, 1.0), (3, 0.9)])
def test_with_half_the_step_discs_come_to_rest_at_the_same_places(count: int, share: float) -> None:
    """Less than 1 px away: two discs off the walls always, three in 90 % of random tables."""
    tables = [random_table(seed, count, 100, 380) for seed in range(150)]
    found = []
    for framerate in (60, 120):
        sim = simulator(*tables, framerate=framerate)
        assert rest(sim, framerate=framerate)[1].mean() >= 0.97
        found.append(places(sim, count))
    off_walls = ((found[0] > 13) & (found[0] < 467)).all(axis=(1, 2))
    assert off_walls.sum() > 100
    near = np.hypot(*(found[0] - found[1])[off_walls].T).max(axis=0) < 1
    assert near.mean() >= share


# ---- symmetry and determinism


def mirrored(data: dict[str, Any], how: str) -> dict[str, Any]:
    """The table seen in a mirror: "x" left and right, "xy" columns and rows exchanged."""
    turned = []
    for each in data["objects"]:
        x, y = each["at"]
        at, theta = ([TABLE - x, y], 180 - each["boundary"]) if how == "x" else ([y, x], 270 - each["boundary"])
        turned.append({**each, "at": at, "boundary": theta % 360})
    return {**data, "objects": turned}


def test_tables_with_rows_and_columns_exchanged_stay_so_bit_for_bit() -> None:
    """Sums of squares and products are the same bits in both orders; only the two edges at a corner have an order."""
    tables = [random_table(seed, 1 + seed % 12, 110, 370) for seed in range(60)]
    found = []
    for chosen in (tables, [mirrored(each, "xy") for each in tables]):
        sim = simulator(*chosen)
        rest(sim)
        found.append(sim.arrays.columns[Position][:, :12].copy())
    there = np.array([[k < 1 + seed % 12 for seed in range(60)] for k in range(12)])
    in_corner = ((np.minimum(found[0], TABLE - found[0]) < 12.5).all(axis=0) & there).any(axis=0)
    assert in_corner.mean() < 0.5
    assert np.array_equal(found[0][:, :, ~in_corner], found[1][::-1][:, :, ~in_corner])


def test_mirrored_tables_stay_mirrored() -> None:
    """480 - x is rounded, so left and right agree up to rounding that grows: 1e-6 px for up to three discs."""
    tables = [random_table(seed, 1 + seed % 3) for seed in range(90)]
    found = []
    for chosen in (tables, [mirrored(each, "x") for each in tables]):
        sim = simulator(*chosen)
        rest(sim)
        found.append(places(sim, 3))
    found[1][..., 0] = TABLE - found[1][..., 0]
    there = np.array([[k < 1 + seed % 3 for k in range(3)] for seed in range(90)])
    assert np.abs(found[0] - found[1])[there].max() < 1e-6


def test_same_actions_give_the_same_states_across_saving_and_in_a_batch() -> None:
    """Bit for bit: twice, with a restart from JSON after each action, and as a member of a batch."""
    import gymnasium as gym

    data = random_table(5, 8, 60, 420)
    for each, cell in zip(data["objects"][:3], range(3), strict=True):
        del each["at"]
        each["stored"] = cell
    alone, again, batch = make(data), make(data), gym.make_vec("gumption/ProbSol-v0", num_envs=3, task=data).unwrapped
    batch.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(25):
        mask = alone.action_masks().copy()
        mask[-1] = False
        action = int(rng.choice(np.flatnonzero(mask)))
        alone.step(action)
        fresh = make(data)
        fresh.restore(json.loads(json.dumps(again.save())))
        again = fresh
        again.step(action)
        others = [int(rng.choice(np.flatnonzero(batch.action_mask()[i][:-1]))) for i in (0, 2)]
        batch.step(np.array([others[0], action, others[1]]))
        assert alone.table() == again.table() == batch.table(1)
        assert alone.save() == again.save()


@pytest.mark.slow
@given(seed=st.integers(0, 2**31), count=st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_any_table_keeps_its_discs_apart_on_the_table_and_the_two_ways_agree(seed: int, count: int) -> None:
    data = random_table(seed, count)
    one, two = simulator(data), simulator(data)
    steps = np.array([60])
    assert one.run(steps, one.watch(SLOW), compiled=True)[0] == two.run(steps, two.watch(SLOW), compiled=False)[0]
    at = places(one, count)[0]
    assert at.tobytes() == places(two, count)[0].tobytes()
    assert at.min() >= 12 - 1e-6
    assert at.max() <= 468 + 1e-6
    assert all(hypot(*(at[i] - at[j])) >= 23.5 for i in range(count) for j in range(i))
