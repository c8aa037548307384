"""SEGAR as triples: entity and factor types, what rules read and write, and what things afford.

The causal facts follow from the rules' hints, so that a rule of your own is among them as soon as it is defined.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from gumption.data.settings import Seed, checked
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.physics.entities import TYPES, Entity, GoalTile, Object, Thing, Tile
from gumption.envs.physics.factors import (
    FACTORS,
    PARAMETERS,
    Alive,
    Charge,
    Consumes,
    Done,
    Factor,
    Friction,
    Heat,
    Magnetism,
    Position,
    Size,
    StoredEnergy,
)
from gumption.envs.physics.rules import FIXED_RULES, RULES, Rule
from gumption.envs.physics.state import State

from .tasks import REACHED, diagonal

#: What an entity affords a ball, each a relation, so that a policy weighs it by itself; see `afforded`.
BURNING, FALLING, SLOWING, BOUNCING = "affordsBurning", "affordsFallingIn", "affordsSlowing", "affordsBouncing"
PULLING, TURNING, SPEEDING, REACHING = "affordsPulling", "affordsTurning", "affordsSpeeding", "affordsReaching"
EFFECTS = (BURNING, FALLING, SLOWING, BOUNCING, PULLING, TURNING, SPEEDING, REACHING)
BALL = "ball"
#: Where the worlds lie, and of these modules the ones whose types and factors are SEGAR's.
_WORLDS, _OURS = "gumption.envs.", ("gumption.envs.segar.", "gumption.envs.physics.")


def is_ours(kind: type[Entity] | type[Factor]) -> bool:
    """Whether an entity type or factor is SEGAR's or a person's own, and not of another world on the same physics: the
    facts must not depend on which worlds were imported.
    """
    return not kind.__module__.startswith(_WORLDS) or kind.__module__.startswith(_OURS)


def afforded(kind: type[Thing]) -> list[str]:
    """The affordances of an entity type for a ball that meets it, by its default factors and the built-in rules."""
    mine = kind.all_factors
    found = {
        BURNING: mine.get(Heat),
        FALLING: Consumes in mine,
        SLOWING: mine.get(Friction) or mine.get(StoredEnergy, 0.0) < 0,
        BOUNCING: issubclass(kind, Object),
        PULLING: mine.get(Charge) and issubclass(kind, Object),
        TURNING: mine.get(Magnetism),
        SPEEDING: mine.get(StoredEnergy, 0.0) > 0,
        REACHING: issubclass(kind, GoalTile),
    }
    return [effect for effect, there in found.items() if there]


def kinds() -> list[type[Thing]]:
    """The entity types that can be met, by name."""
    met = (kind for kind in TYPES.values() if issubclass(kind, Thing) and kind not in (Thing, Object, Tile))
    found = [kind for kind in met if is_ours(kind)]
    return sorted(found, key=lambda kind: kind.__name__)


def askable() -> list[tuple[str, str, str]]:
    """Every fact that can be asked about a push, true or not."""
    return [(kind.__name__, effect, BALL) for kind in kinds() for effect in EFFECTS]


class Affordances:
    """The facts that speak for pushes: (type of the thing that the ball meets, affords..., ball).

    The ball is assumed to roll straight on to the first thing on its way. The goal is a case of its own, as rolling
    over its edge does not reach it: the subject of `affordsReaching` is the goal where the way leads over its middle,
    also behind other things, and nothing elsewhere.

    :ivar vocabulary: "" for nothing, entity types and the ball.
    """

    relations = EFFECTS

    def __init__(self) -> None:
        self.vocabulary: Sequence[str] = ("", *(kind.__name__ for kind in kinds()), BALL)

    def __call__(self, state: State, actors: np.ndarray, velocities: np.ndarray) -> ActionFacts:
        """:param actors: (B,) slots of what the agent pushes. :param velocities: (B, A, 2) that it has after a push."""
        ids = {name: place for place, name in enumerate(self.vocabulary)}
        by_type = np.array([ids.get(kind.__name__, 0) for kind in state.type_list])
        batch = np.arange(state.num_envs)[:, None]

        def labels(slots: np.ndarray) -> np.ndarray:
            return np.where(slots >= state.slots, 0, by_type[state.types[np.minimum(slots, state.slots - 1), batch]])

        first, goal = map(labels, straight_ahead(state, actors, velocities))
        parties = [(goal if effect == REACHING else first, ids[BALL], 0) for effect in EFFECTS]
        return action_facts(self.relations, velocities.shape[:2], parties)


def straight_ahead(state: State, actors: np.ndarray, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The things ahead of actors at each of A velocities: (B, A) the slot of the first thing, as wide as its Size, and
    that of the goal where the way leads over its middle; N for none. Dead and done entities are left out.

    :param actors: (B,) slots. :param velocities: (B, A, 2); an actor at rest meets nothing.
    """
    x, size = state.columns[Position], state.columns[Size][0]
    batch = np.arange(state.num_envs)
    away = x - x[:, actors, batch][:, None]
    vx, vy = velocities.transpose(2, 1, 0)[:, :, None]
    speed = np.sqrt(vx * vx + vy * vy)
    speed[speed == 0] = 1.0
    along = (vx * away[0] + vy * away[1]) / speed  # (A, N, B) of the middle of each thing
    across = np.abs(vx * away[1] - vy * away[0]) / speed
    there = state.present & (state.kinds != 0) & (np.arange(state.slots)[:, None] != actors)
    for factor, gone in ((Alive, False), (Done, True)):
        if factor in state.columns:
            owners = state.layout.owners([factor])
            there[owners] &= state.columns[factor][0, owners] != gone
    ahead = there & (along > 0)
    # Objects touch by their edges; on a tile the middle of the ball counts.
    wide = size / 2 + np.where(state.is_a(Object), size[actors, batch] / 2, 0.0)

    def nearest(hit: np.ndarray, distance: np.ndarray) -> np.ndarray:
        return np.where(hit.any(axis=1), np.where(hit, distance, np.inf).argmin(axis=1), state.slots).T

    reached = ahead & state.is_a(GoalTile) & (across <= REACHED * diagonal(state))
    return nearest(ahead & (across <= wide), along - wide), nearest(reached, along)


SUBTYPE_OF, HAS_FACTOR = "subtypeOf", "hasFactor"
READS, WRITES, CAN_CHANGE, DEPENDS_ON = "reads", "writes", "canChange", "dependsOn"
Triple = tuple[str, str, str]


@checked
def facts(*, partition: Literal["train", "test", "all"], split_seed: Seed = 0) -> Iterator[Triple]:
    """The facts of the world, distinct and sorted.

    (type subtypeOf type) and (type hasFactor factor) of entities, (factor subtypeOf factor), (rule reads factor), (rule
    writes factor), (rule dependsOn parameter), (factor canChange factor) where a rule reads the one and writes the
    other, and (entity type affords... ball). Of what things afford "train" has four in five, drawn by the seed, and
    "test" the rest; all other facts are in "train".

    :param partition: "train", "test" or "all".
    """
    from random import Random

    known = {*_types(), *causal_facts({**FIXED_RULES, **RULES}.values())}
    afford = sorted((kind.__name__, effect, BALL) for kind in kinds() for effect in afforded(kind))
    chosen = set(Random(split_seed).sample(afford, round(0.8 * len(afford))))
    if partition == "test":
        return iter([fact for fact in afford if fact not in chosen])
    return iter(sorted({*known, *(afford if partition == "all" else chosen)}))


def causal_facts(rules: Iterable[Rule]) -> Iterator[Triple]:
    """Which factors each rule reads and writes, and so which can change which."""
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
    for kind in filter(is_ours, TYPES.values()):
        for parent in kind.__bases__:
            if issubclass(parent, Entity):
                yield kind.__name__, SUBTYPE_OF, parent.__name__
        for factor in kind.all_factors:
            yield kind.__name__, HAS_FACTOR, factor.__name__
    for factor in filter(is_ours, [*FACTORS.values(), *PARAMETERS.values()]):
        for parent in factor.__bases__:
            if issubclass(parent, Factor) and parent is not Factor:
                yield factor.__name__, SUBTYPE_OF, parent.__name__
