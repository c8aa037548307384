"""What an entity does to a ball that meets it: facts that follow from rules and factors, and what lies in which
direction.
"""

from collections.abc import Sequence

import numpy as np

from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.physics.entities import TYPES, Object, Thing, Tile
from gumption.envs.physics.factors import (
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
from gumption.envs.physics.state import State

#: What an entity affords a ball, each a relation, so that a policy weighs it by itself; see `afforded`.
BURNING, FALLING, SLOWING, BOUNCING = "affordsBurning", "affordsFallingIn", "affordsSlowing", "affordsBouncing"
PULLING, TURNING, SPEEDING, REACHING = "affordsPulling", "affordsTurning", "affordsSpeeding", "affordsReaching"
EFFECTS = (BURNING, FALLING, SLOWING, BOUNCING, PULLING, TURNING, SPEEDING, REACHING)
GOAL = "GoalTile"
BALL = "ball"


def afforded(kind: type[Thing]) -> list[str]:
    """What an entity type affords a ball that meets it, by its default factors and the built-in rules."""
    mine = kind.all_factors

    def has(factor: type[Factor]) -> bool:
        return bool(mine.get(factor))

    found = {
        BURNING: has(Heat),
        FALLING: Consumes in mine,
        SLOWING: has(Friction) or mine.get(StoredEnergy, 0.0) < 0,
        BOUNCING: issubclass(kind, Object),
        PULLING: has(Charge) and issubclass(kind, Object),
        TURNING: has(Magnetism),
        SPEEDING: mine.get(StoredEnergy, 0.0) > 0,
        REACHING: kind.__name__ == GOAL,
    }
    return [effect for effect, there in found.items() if there]


def kinds() -> list[type[Thing]]:
    """The entity types that can be met, by name."""
    found = [kind for kind in TYPES.values() if issubclass(kind, Thing) and kind not in (Thing, Object, Tile)]
    return sorted(found, key=lambda kind: kind.__name__)


class Affordances:
    """The facts that speak for directions: (the type of what is met there first, affords..., ball).

    :ivar vocabulary: "" for nothing, entity types and the ball.
    """

    relations = EFFECTS

    def __init__(self) -> None:
        self.vocabulary: Sequence[str] = ("", *(kind.__name__ for kind in kinds()), BALL)

    def __call__(self, state: State, actors: np.ndarray, directions: np.ndarray, reach: float) -> ActionFacts:
        """
        :param actors: (B,) slots of what the agent moves.
        :param directions: (A, 2) unit vectors; (0, 0) meets nothing.
        :param reach: things that are further away are not met.
        """
        met = first_met(state, actors, directions, reach)
        ids = {name: place for place, name in enumerate(self.vocabulary)}
        by_type = np.array([ids.get(kind.__name__, 0) for kind in state.type_list])
        batch = np.arange(state.num_envs)[:, None]
        subject = np.where(met >= state.slots, 0, by_type[state.types[np.minimum(met, state.slots - 1), batch]])
        parties = [(subject, ids[BALL], 0) for _ in EFFECTS]
        return action_facts(self.relations, met.shape, parties)


def first_met(state: State, actors: np.ndarray, directions: np.ndarray, reach: float) -> np.ndarray:
    """(B, A) the slot of the first thing on the straight way from each actor; N where there is none.

    A thing is as wide as its Size; what is dead or done is not met.
    """
    x, size = state.columns[Position], state.columns[Size][0]
    batch = np.arange(state.num_envs)
    own, radius = x[:, actors, batch], size[actors, batch] / 2
    away = x - own[:, None]
    along = np.einsum("ad,dnb->anb", directions, away)
    across = np.abs(directions[:, :1, None] * away[1] - directions[:, 1:, None] * away[0])
    there = state.present & (state.kinds != 0) & (np.arange(state.slots)[:, None] != actors)
    for factor, gone in ((Alive, False), (Done, True)):
        if factor in state.columns:
            owners = state.layout.owners([factor])
            there[owners] &= state.columns[factor][0, owners] != gone
    wide = size / 2 + np.where(_collides(state), radius, 0.0)
    ways = (directions != 0).any(axis=1)[:, None, None]
    hit = ways & there & (across <= wide) & (along > 0) & (along - wide <= reach)
    distance = np.where(hit, along - wide, np.inf)
    return np.where(hit.any(axis=1), distance.argmin(axis=1), state.slots).T


def _collides(state: State) -> np.ndarray:
    """(N, B): what touches by its edge; on tiles the middle of the ball counts."""
    return state.is_a(Object)
