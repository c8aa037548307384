"""SEGAR as triples: entity and factor types, factors that rules read and write, and affordances of things.

Affordances are derived from the rules and factors of the levels: the simulator runs a ball that meets a thing, and the
same ball without the thing. Rules, factors and types of your own are included.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import dist
from os import PathLike
from random import Random
from typing import Any, Literal

import numpy as np
from numba import njit

from gumption.data.settings import NonNegative, Seed, Size, checked
from gumption.data.tables import grouped
from gumption.envs.action_facts import ActionFacts
from gumption.envs.physics.entities import TYPES, Entity, GoalTile, GolfBall
from gumption.envs.physics.factors import (
    FACTORS,
    PARAMETERS,
    WIDTHS,
    Acceleration,
    Alive,
    Collides,
    Done,
    Factor,
    Mass,
    Order,
    Position,
    Shape,
    Velocity,
    Visible,
)
from gumption.envs.physics.factors import Size as Width
from gumption.envs.physics.initialization import Initialization
from gumption.envs.physics.rules import FIXED_RULES, RULES, Rule
from gumption.envs.physics.scene import EntityData, Preset, Scene
from gumption.envs.physics.shapes import circle
from gumption.envs.physics.simulator import Simulator
from gumption.envs.physics.state import POLYGON, State
from gumption.envs.priors import Laws, Names
from gumption.kg.facts import PLACE

from .configurations import WALLS, Levels, configuration, find_levels
from .kinds import BALL, GATES, Dials, Gate, has_gates, is_ours, kinds
from .tasks import TASKS, Task, of_task, read_task

#: Increase when `action_facts` queries other relations, or the facts of the same levels change.
VERSION = 2
Triple = tuple[str, str, str]


# ---- Things on the path of a ball


#: Number of things on the path of a push that facts describe.
PLACES = 3


class Affordances:
    """Compute the facts relevant to each push: (type of the thing that the ball meets, affords..., ball).

    The ball is assumed to roll in a straight line. The query `affordsBurning@1` concerns the first thing on its path,
    `affordsBurning@2` the second, and so on; a graph states `affordsBurning`. The goal counts as a thing.

    :ivar vocabulary: "" for nothing, then the labels of entity types and of the ball.
    :ivar types: names of the entity types in the physics, at the index of their label in the vocabulary.
    :ivar relations: each effect at each of `PLACES` places.
    """

    def __init__(self, rules: Iterable[Rule], dials: Dials | None = None) -> None:
        """:param rules: rules of the levels; see `effects`. :param dials: labels of the types; None for real names."""
        dials = dials or Dials()
        called = dials.called
        self.types: Sequence[str] = ("", *(kind.__name__ for kind in kinds(dials.with_gates)))
        self.vocabulary: Sequence[str] = ("", *(called[name] for name in (*self.types[1:], BALL)))
        asked = effects(rules)
        self.relations = tuple(f"{effect}{PLACE}{place + 1}" for place in range(PLACES) for effect in asked)

    def __call__(self, state: State, actors: np.ndarray, velocities: np.ndarray) -> ActionFacts:
        """:param actors: (B,) slots of the pushed entity. :param velocities: (B, A, 2) velocity after each push."""
        by_type, ball = self.numbers(state), len(self.types)
        slots = things_met(state, actors, velocities)
        there = slots < state.slots
        kinds_met = state.types[np.where(there, slots, 0), np.arange(state.num_envs)[:, None, None]]
        things = np.where(there, by_type[kinds_met], 0)
        subject = np.repeat(things, len(self.relations) // PLACES, axis=2)
        none = np.zeros((len(subject), 0), dtype=np.int64)  # a push is a complete action, without earlier choices
        about = np.full((len(subject), 1), ball)
        parties = subject, np.full_like(subject, ball), np.zeros_like(subject)
        return ActionFacts(self.relations, *parties, chosen=none, things=things, about=about)

    def numbers(self, state: State) -> np.ndarray:
        """Return, for each type of a state, the index of its label in the vocabulary; 0 if it has none."""
        ids = {name: place for place, name in enumerate(self.types)}
        return np.array([ids.get(kind.__name__, 0) for kind in state.type_list])


def things_met(state: State, actors: np.ndarray, velocities: np.ndarray, places: int = PLACES) -> np.ndarray:
    """Return (B, A, places), the slots of the things that actors meet at each of A velocities, nearest first; N: none.

    An actor meets a tile if its straight path crosses the tile, and a colliding thing if the actor's edge touches it;
    the thing's centre lies ahead. Dead, done and invisible things are left out.

    :param actors: (B,) slots. :param velocities: (B, A, 2); an actor at rest meets nothing.
    """
    size = state.columns[Width][0]
    there = state.present & (state.kinds != 0) & (np.arange(state.slots)[:, None] != actors)
    for factor, gone in ((Alive, False), (Done, True), (Visible, False)):
        if factor in state.columns:
            owners = state.layout.owners([factor])
            there[owners] &= state.columns[factor][0, owners] != gone
    scale = size / state.drawn_size if state.polygons_scale else np.ones_like(size)
    found = np.full((*velocities.shape[:2], places), state.slots)
    _meet(
        found, velocities, actors, state.columns[Position], size, there, state.marks(Collides), state.kinds == POLYGON,
        state.corners, state.corner_counts, scale,
    )  # fmt: skip
    return found


@njit(cache=True)
def _meet(found, velocities, actors, place, size, there, collides, polygons, corners, counts, scale):
    """Fill `found` (B, A, places) with the slots of the things met; see `things_met`."""
    batch, candidates, places = found.shape
    begins = np.empty(places)
    for b in range(batch):
        x, y, ball = place[0, actors[b], b], place[1, actors[b], b], size[actors[b], b] / 2
        for a in range(candidates):
            vx, vy = velocities[b, a, 0], velocities[b, a, 1]
            speed = np.sqrt(vx * vx + vy * vy)
            if speed == 0.0:
                continue
            vx, vy = vx / speed, vy / speed
            begins[:] = np.inf
            for n in range(there.shape[0]):
                away_x, away_y = place[0, n, b] - x, place[1, n, b] - y
                along, across = vx * away_x + vy * away_y, vx * away_y - vy * away_x
                if not there[n, b] or along <= 0.0:
                    continue
                grown = ball if collides[n] else 0.0
                if polygons[n, b]:
                    points = corners[: counts[n, b], :, n, b] * scale[n, b]
                    begin = _polygon_begins(vx, vy, along, across, grown, points)
                else:
                    radius = size[n, b] / 2 + grown
                    begin = along - np.sqrt(radius * radius - across * across) if abs(across) <= radius else np.inf
                for rank in range(places):  # insertion sort of the nearest things
                    if begin < begins[rank]:
                        begins[rank + 1 :] = begins[rank : places - 1].copy()
                        found[b, a, rank + 1 :] = found[b, a, rank : places - 1].copy()
                        begins[rank], found[b, a, rank] = begin, n
                        break


@njit(cache=True)
def _polygon_begins(vx, vy, along, across, grown, points):
    """Return the distance along a path to a polygon enlarged by `grown`; inf if the path misses the polygon.

    :param along, across: coordinates of its centre. :param points: (V, 2) corners relative to the centre.
    """
    lowest, highest, front, begin = np.inf, -np.inf, np.inf, np.inf
    x, y = points[-1]
    last_along, last_across = along + vx * x + vy * y, across + vx * y - vy * x
    for x, y in points:
        mine_along, mine_across = along + vx * x + vy * y, across + vx * y - vy * x
        lowest, highest, front = min(lowest, mine_across), max(highest, mine_across), min(front, mine_along)
        if mine_across * last_across <= 0.0 and mine_across != last_across:
            share = mine_across / (mine_across - last_across)
            begin = min(begin, mine_along + share * (last_along - mine_along))
        last_along, last_across = mine_along, mine_across
    if lowest > grown or highest < -grown:
        return np.inf
    return (begin if begin < np.inf else front) - grown


# ---- Affordances, derived from the rules


LESS, MORE, TURNED = "Less", "More", "Turned"
#: (change, factor) of a ball that meets a thing -> relation. Other pairs are named like "affordsLessCharge".
MEETING: Mapping[tuple[str, type[Factor]], str] = {
    (LESS, Mass): "affordsBurning",
    (MORE, Done): "affordsFallingIn",
    (LESS, Velocity): "affordsSlowing",
    (MORE, Velocity): "affordsSpeeding",
    (TURNED, Velocity): "affordsBouncing",
}
#: The same for a ball near a thing: the thing sets a resting ball in motion, or deflects a ball that moves past.
NEAR = {(MORE, Velocity): "affordsPulling", (TURNED, Velocity): "affordsTurning"}
REACHING = "affordsReaching"  # the task succeeds when the ball lies at the centre of the thing
BURNING, FALLING, SLOWING = (MEETING[one] for one in ((LESS, Mass), (MORE, Done), (LESS, Velocity)))
EFFECTS = (*MEETING.values(), *NEAR.values(), REACHING)
#: Factors left out because their change follows from a change of Velocity or Done.
_TOLD = (Position, Acceleration, Visible)
#: Number of steps of a probe, and the relative tolerance of rounding.
_STEPS, _ROUNDING = 3, 1e-9


def _effect(change: str, root: type[Factor]) -> str:
    return MEETING.get((change, root)) or f"affords{change}{root.__name__}"


def effects(rules: Iterable[Rule]) -> tuple[str, ...]:
    """Return the relations affords... that are possible under these rules: `EFFECTS`, and a relation for each change of
    another factor that a custom rule writes.
    """
    found = list(EFFECTS)
    for rule in rules:
        for _, factor in () if rule.name in FIXED_RULES else rule.returns:
            if factor.root not in _TOLD and factor.root.belongs_to is None:
                changes = (LESS, MORE, TURNED) if factor.base == "vector" else (LESS, MORE)
                found += [_effect(change, factor.root) for change in changes]
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class _Probe:
    """A ball and a thing of a scene, to simulate the effect of the thing on the ball."""

    scene: Scene
    ball: EntityData
    thing: EntityData

    @property
    def signature(self) -> tuple[Any, ...]:
        """Return the key of probes with equal effects: rules, types, and the signs of factors and parameters."""
        signs = [
            (each.type, *sorted((factor.__name__, _sign(value)) for factor, value in each.factors.items()
                                if factor.root.base in WIDTHS and factor.root not in (Position, Order, Width)))
            for each in (self.ball, self.thing)
        ]  # fmt: skip
        parameters = sorted((each.__name__, _sign(value)) for each, value in self.scene.sim.values().items())
        return self.scene.sim.rules, *signs, *parameters

    def scenes(self) -> list[Scene]:
        """Return four situations with the thing, then the same without it. The ball meets the thing; meets it off
        centre (for a tile: as a ball too wide to lie entirely on it); rests near it; moves past it.
        """
        sim = self.scene.sim
        wide, thick = (each.factors.get(Width, 0.0) for each in (self.thing, self.ball))
        touching, speed = (wide + thick) / 2, min(1.0, sim.max_velocity / 2)
        gap, far, room = speed / sim.framerate / 2, touching + thick, 10 * (wide + thick + speed)
        arena = replace(sim, boundaries=(-room, room))
        thing = _with(self.thing, {Position: (0.0, 0.0)})
        if Collides in self.thing.factors:
            aside = (-0.8 * touching - gap, -0.6 * touching) if thing.factors[Shape]["kind"] == "circle" else (-far, 0)
            meeting: list[dict[type[Factor], Any]] = [{Position: (-touching - gap, 0.0)}, {Position: aside}]
        else:
            size = 3 * (wide + thick)
            meeting = [{Position: (0.0, 0.0)}, {Position: (0.0, 0.0), Width: size, Shape: circle(size)}]
        situations = [{**one, Velocity: (speed, 0.0)} for one in meeting]
        situations += [{Position: (-far, 0.0), Velocity: velocity} for velocity in ((0.0, 0.0), (0.0, speed))]
        balls = [_with(self.ball, changes) for changes in situations]
        return [Scene(arena, (ball, *others)) for others in ((thing,), ()) for ball in balls]


def _with(entity: EntityData, changes: Mapping[type[Factor], Any]) -> EntityData:
    return replace(entity, factors={**entity.factors, **changes})


def _sign(value: Any) -> Any:
    return tuple(map(_sign, value)) if isinstance(value, tuple) else (value > 0) - (value < 0)


#: (entity type, affords..., ball) -> the rules without which the fact does not hold; empty if no rule causes it.
Afforded = dict[Triple, tuple[str, ...]]


def afforded(scenes: Sequence[Scene], task: Task, preset: Preset = "fixed") -> tuple[Afforded, list[Rule]]:
    """Return the affordances of the things in scenes, and all rules of the scenes.

    The widest thing represents all things of its type whose factors have the same signs.

    :param task: defines the moved thing, and success.
    """
    widest: dict[tuple[Any, ...], _Probe] = {}
    reached: dict[type[Entity], _Probe] = {}
    for scene in scenes:
        ball = next((one for one in scene.entities if issubclass(one.type, task.actor)), None)
        for thing in scene.entities:
            if ball is None or thing is ball or Position not in thing.factors:
                continue
            probe = _Probe(scene, ball, thing)
            known = widest.setdefault(probe.signature, probe)
            if thing.factors.get(Width, 0.0) > known.thing.factors.get(Width, 0.0):
                widest[probe.signature] = probe
            reached.setdefault(thing.type, probe)
    by_rules = grouped((probe.scene.sim.rules, probe) for probe in widest.values())
    found: Afforded = dict.fromkeys(_reaching(list(reached.values()), task), ())
    all_rules: dict[str, Rule] = {}
    for probes in by_rules.values():
        shown, rules = _shown(probes, preset)
        all_rules |= {rule.name: rule for rule in rules}
        causes: dict[Triple, list[str]] = {fact: [] for fact in shown}
        for rule in rules:
            if len(rule.patterns) > 1:
                others = tuple(one for one in rules if one is not rule)
                fewer = [
                    replace(probe, scene=replace(probe.scene, sim=replace(probe.scene.sim, rules=others)))
                    for probe in probes
                ]
                without, _ = _shown(fewer, preset)
                for fact in shown - without:
                    causes[fact].append(rule.name)
        found |= {fact: tuple(dict.fromkeys([*found.get(fact, ()), *names])) for fact, names in causes.items()}
    return found, list(all_rules.values())


def _shown(probes: Sequence[_Probe], preset: Preset) -> tuple[set[Triple], list[Rule]]:
    """Return the facts that a simulation of probes with the same rules shows, and these rules."""
    state = State([scene for probe in probes for scene in probe.scenes()])
    sim, batch = Simulator(state, preset), np.arange(state.num_envs)
    actors = np.array([slots[scene.entities[0].id] for slots, scene in zip(state.slot_of, state.scenes, strict=True)])
    asked = effects(sim.rules)

    def looked() -> dict[type[Factor], np.ndarray]:
        """Return factor -> (d, probes, 2, situations); the axis of length 2 is with and without the thing."""
        columns = {each: column[:, actors, batch] for each, column in state.columns.items() if each not in _TOLD}
        return {each: values.reshape(len(values), len(probes), 2, -1) for each, values in columns.items()}

    mine = {factor.root for probe in probes for factor in probe.ball.factors}
    start, found = looked(), set[Triple]()
    for _ in range(_STEPS):
        sim.step()
        now = looked()
        plays = now[Alive][0] & ~now[Done][0] if {Alive, Done} <= mine else np.ones(now[Velocity].shape[1:], dtype=bool)
        for factor in mine.intersection(now):
            valid = plays.all(axis=1) if factor is Velocity else np.ones(plays[:, 0].shape, dtype=bool)
            for change, there in _changes(start[factor], now[factor]).items():
                for p, situation in np.argwhere(there & valid).tolist():
                    name = _effect(change, factor) if situation < 2 else NEAR.get((change, factor))
                    if name in asked and (situation == 3) == (name == NEAR[TURNED, Velocity]):
                        found.add((probes[p].thing.type.__name__, name, BALL))
    return found, sim.rules


def _changes(start: np.ndarray, now: np.ndarray) -> dict[str, np.ndarray]:
    """Return change -> (probes, situations) bool: whether the thing decreases or increases a factor, or turns a vector.
    The value must differ both from its start and from the value without the thing.

    :param start, now: (d, probes, 2, situations), with and without the thing.
    """
    before, after = (np.sqrt((each.astype(float) ** 2).sum(axis=0)) if len(each) > 1 else each[0].astype(float)
                     for each in (start, now))  # fmt: skip
    mine, other = after[:, 0], after[:, 1]
    least = _ROUNDING * (1.0 + np.abs(other))
    found = {
        LESS: (mine < other - least) & (mine < before[:, 0] - least),
        MORE: (mine > other + least) & (mine > before[:, 0] + least),
    }
    if len(now) > 1:
        (ax, ay), (bx, by) = now[:, :, 0], now[:, :, 1]
        turned = (np.abs(ax * by - ay * bx) > least * mine * other) | (ax * bx + ay * by < 0)
        found[TURNED] = turned & (mine > 0) & (other > 0)
    return found


def _reaching(probes: Sequence[_Probe], task: Task) -> Iterator[Triple]:
    """Yield the types at whose centre the task succeeds; thing and ball go to the corner farthest from others."""
    if not probes:
        return
    placed = []
    for probe in probes:
        rest = [one for one in probe.scene.entities if one is not probe.ball and one is not probe.thing]
        others = [one.factors[Position] for one in rest if Position in one.factors]
        corners = list(product(probe.scene.sim.boundaries, repeat=2))
        corner = max(corners, key=lambda one: min((dist(one, other) for other in others), default=0.0))
        ball = _with(probe.ball, {Position: corner, Velocity: (0.0, 0.0)})
        placed.append(replace(probe.scene, entities=(ball, _with(probe.thing, {Position: corner}), *rest)))
    state = State(placed)
    success = of_task(task, "success", state, np.zeros((state.num_envs, 2)), state)
    reached = [probe.thing.type for probe, done in zip(probes, success, strict=True) if done]
    yield from ((kind.__name__, REACHING, BALL) for kind in reached)


# ---- Facts of the world


SUBTYPE_OF, HAS_FACTOR = "subtypeOf", "hasFactor"
READS, WRITES, CAN_CHANGE, DEPENDS_ON, ACTS_BY = "reads", "writes", "canChange", "dependsOn", "actsBy"


@checked
def facts(
    *,
    partition: Literal["train", "test", "all"],
    levels: str | PathLike[str] | Mapping[str, Any] | Initialization | Levels | None = None,
    num_levels: Size = 100,
    level_seed: Seed = 0,
    friction: NonNegative | None = None,
    preset: Preset = "fixed",
    task: str | Task | None = None,
    split_seed: Seed = 0,
    names: Names = "real",
    laws: Laws = "real",
) -> Iterator[Triple]:
    """Return the facts of the world on these levels, distinct and sorted.

    Types: (type subtypeOf type), (type hasFactor factor), (factor subtypeOf factor). Rules of the levels: (rule reads
    factor), (rule writes factor), (rule dependsOn parameter), (factor canChange factor) if a rule reads the first and
    writes the second. Affordances: (type affords... ball), and (type actsBy rule) if an affordance depends on the rule.
    "train" has four in five affordances, drawn by the seed, and "test" the rest; of gates each part has the affordances
    of its own types. All other facts are in "train".

    :param levels: as in the environments; the training levels are drawn from it. None for each type of thing with its
        default factors under the built-in rules, and for all defined rules.
    :param num_levels, level_seed, friction, preset: as in the environments.
    :param task: as in `gumption/SEGAR-v0`; None for the first task that moves a thing of the levels.
    :param names, laws: names and effects of the types, as in the environments; see `Dials`.
    :raises InputError: no such levels or task.
    """
    scenes = _scenes(levels, num_levels, level_seed, preset)
    dials = Dials(names, laws, has_gates(scenes))
    scenes = dials.exchanged(scenes, scenes)
    if friction is not None:
        scenes = [replace(scene, sim=replace(scene.sim, friction=friction)) for scene in scenes]
    actors = {entity.type for entity in scenes[0].entities}
    fits = next((one for one in TASKS.values() if one.actor in actors), TASKS["PuttPutt"])
    found, rules = afforded(scenes, fits if task is None else read_task(task), preset)
    if levels is None:
        rules = list({**FIXED_RULES, **RULES}.values())
    afford = sorted(found)
    chosen = set(Random(split_seed).sample(afford, round(0.8 * len(afford))))
    if dials.with_gates:
        of_test = {kind.__name__ for kind, (part, _) in GATES.items() if part == "test"}
        chosen = {fact for fact in afford if fact[0] not in of_test}
    parts: dict[str, set[Triple]] = {
        part: {*there, *((fact[0], ACTS_BY, rule) for fact in there for rule in found[fact])}
        for part, there in (("train", chosen), ("test", set(afford) - chosen), ("all", set(afford)))
    }
    stated = parts["test"] - parts["train"] if partition == "test" else {*_types(), *parts[partition]}
    called = {(dials.called.get(s, s), relation, dials.called.get(o, o)) for s, relation, o in stated}
    return iter(sorted(called if partition == "test" else {*called, *causal_facts(rules)}))


def _scenes(levels: Any, num_levels: int, level_seed: int, preset: Preset) -> Sequence[Scene]:
    """Return the training levels of an environment with these settings; see `facts`."""
    name = levels.name if isinstance(levels, Levels) else levels
    if levels is None or (isinstance(name, str) and name in WALLS):
        ball = {"type": "GolfBall", "factors": {"Position": [-0.5, -0.5]}}
        goal = {"type": "GoalTile", "factors": {"Position": [0.5, 0.5]}}
        all_types = kinds()
        if name is not None:
            both = {kind for split in ("train", "test") for kind in configuration(name, preset, split).kinds}
            all_types = [kind for kind in kinds(with_gates=True) if kind in both.difference((GolfBall, GoalTile))]
        return [Scene.read({"entities": [ball, goal, {"type": kind}]}) for kind in all_types]
    return find_levels(levels, "train", n=num_levels, seed=level_seed, preset=preset).scenes


def causal_facts(rules: Iterable[Rule]) -> Iterator[Triple]:
    """Yield the factors that each rule reads and writes, its parameters, and the changes that follow (canChange)."""
    for rule in rules:
        factors = {factor for pattern in rule.patterns for factor in pattern.factors}
        for pattern in rule.patterns:
            factors.update(pattern.entity_type.all_factors if pattern.entity_type is not None else ())
        read = sorted({factor.__name__ for factor in factors})
        written = sorted({factor.__name__ for _, factor in rule.returns})
        yield from ((rule.name, READS, factor) for factor in read)
        yield from ((rule.name, WRITES, factor) for factor in written)
        for argument in rule.arguments:
            if not isinstance(argument, int):
                yield rule.name, DEPENDS_ON, argument.__name__
        yield from ((cause, CAN_CHANGE, effect) for cause in read for effect in written)


def _types() -> Iterator[Triple]:
    for kind in (one for one in TYPES.values() if is_ours(one) and not issubclass(one, Gate)):
        for parent in kind.__bases__:
            if issubclass(parent, Entity):
                yield kind.__name__, SUBTYPE_OF, parent.__name__
        for factor in kind.all_factors:
            yield kind.__name__, HAS_FACTOR, factor.__name__
    for factor in filter(is_ours, [*FACTORS.values(), *PARAMETERS.values()]):
        for parent in factor.__bases__:
            if issubclass(parent, Factor) and parent is not Factor:
                yield factor.__name__, SUBTYPE_OF, parent.__name__
