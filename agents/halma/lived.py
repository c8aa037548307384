"""A HALMA agent without a network: it plans by facts about the effects of its own moves.

    player = GraphPlayer(Outlook.of(Memory.load("RUN/memory")))
    options = player.act(percept, rng)

Built in are the action space (an option is a direction and a sequence of primitives) and the panels, as opaque symbols.
The rest is learned: the slots that identify a place (every action changes them by a law), what stops a move, which
directions open at a place not seen yet, where the goal is, and which signs point to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement as bags
from pathlib import Path
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.envs.halma.memory import FOLDER, REACHED, Memory, lived
from gumption.envs.halma.rules import Rules
from gumption.kg.effects import Effects, Lived
from gumption.kg.value_iteration import Transitions

from .acting import Percept, panel_rows

HORIZON = 40  # number of moves that a plan looks ahead
LIKELY, UNLIKELY = 0.3, 0.02  # probabilities of moves: above, a plan examines the end; below, it omits the move
SURE = 0.98  # upper bound of a guessed probability
POINTS, SIGNS = 0.9, 8  # a slot's signs point the way if this share of at least this many rows agrees
INFORMATION = 0.5  # value of a place that may be the goal, as long as the goal is unknown
POSSIBLE = 1e-6  # least probability of a move that no fact excludes
GUESS = 0.5  # probability of a move without any evidence
MOST_PLACES = 1 << 14  # places of a maze


class Guess:
    """P(y) of rows of symbols (n, S): logistic regression on the symbol in each slot."""

    def __init__(self, size: int, rows: np.ndarray, y: np.ndarray) -> None:
        """:param y: (n,) bool."""
        self._size, self._model, self._p = size, None, (y.sum() + 0.5) / (len(y) + 1)
        if 0 < y.sum() < len(y):
            from sklearn.linear_model import LogisticRegression

            self._model = LogisticRegression(C=0.3, max_iter=200).fit(self._hot(rows), y)

    def _hot(self, rows: np.ndarray) -> Any:
        from scipy.sparse import csr_array

        n, slots = rows.shape
        at = rows + np.arange(slots) * self._size
        return csr_array((np.ones(at.size), at.ravel(), np.arange(0, at.size + 1, slots)), (n, slots * self._size))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return np.full(len(rows), self._p) if self._model is None else self._model.predict_proba(self._hot(rows))[:, 1]


@dataclass(frozen=True, eq=False)
class Outlook:
    """The facts of single primitives learned from a memory, and their consequences for options and places.

    :ivar effects: facts of (direction, primitive), closed.
    :ivar slots: the slots that identify a place; a place is the number of their values, P places, 0 for none.
    :ivar options: (O, 1 + T) int64: for each direction, the shortest option of each effect.
    :ivar leads: (P, O) int64, the next place; 0 if no fact determines it.
    :ivar goal: the goal's place; 0 if no move reached it.
    :ivar visited: (P,) bool: a place of this kind was seen.
    :ivar usual: (P, O) float32, the probability that an option is carried out at a place without other evidence.
    :ivar far: (O,) the same probability if the option's direction is open.
    :ivar points: (S, V, D) float64: by slot and symbol, the confidence that a direction leads to the goal.
    :ivar fine: (D, primitives, M): for each direction and primitive, the longest sequence of primitives with the same
        effect, padded with zeros; it passes the places on the way.
    :ivar aside: by direction and primitive: guesses of the directions open at its end, from the panel before.
    """

    effects: Effects
    rules: Rules
    slots: np.ndarray
    options: np.ndarray
    leads: np.ndarray
    goal: int
    visited: np.ndarray
    usual: np.ndarray
    far: np.ndarray
    points: np.ndarray
    fine: np.ndarray
    aside: dict[tuple[int, int], list[Guess]] = field(repr=False)

    @classmethod
    def of(cls, memory: Memory, window: int | None = None) -> Outlook:
        """Learn from a memory.

        :param window: use only the last `window` moves.
        :raises InputError: a memory too short for a fact that identifies places."""
        life = lived(memory).only(slice(-window if window else 0, None))
        single = single_moves(life)
        effects = Effects.fit(single).closed()
        slots = np.flatnonzero(effects.tells)
        if not len(slots) or effects.size ** len(slots) > MOST_PLACES:
            moved = int(single.carried.sum())
            raise InputError(
                f"the memory is too short: of its {len(memory):,} moves {moved:,} were carried out with one primitive, "
                "and no slot of the panel changes by a law under all of them; let the agent live longer, such as "
                "--steps 20000"
            )
        made = _Making(effects, memory.rules, slots, memory.max_opt_len)
        options, leads = made.options()
        usual, far = made.usual(single, options)
        aside = made.aside(life)
        visited = np.zeros(len(leads), dtype=bool)
        visited[made.places(life.before[:, 0])] = True
        visited[0] = True
        reached = (life.after[:, 0, -1] == 2) & life.carried
        ends = made.ends(life.before[reached, 0], life.action[reached])
        ends = ends[ends > 0]
        goal = int(np.bincount(ends).argmax()) if len(ends) else 0
        points = made.points(memory, life) if len(ends) else np.zeros((life.before.shape[2], effects.size, 4))
        return cls(effects, memory.rules, slots, options, leads, goal, visited, usual, far, points, made.fine, aside)

    def forgotten(self) -> Outlook:
        """Return the outlook without facts: only the slots that identify a place remain."""
        usual, points = np.full_like(self.usual, GUESS), np.zeros_like(self.points)
        visited, leads = np.zeros_like(self.visited), np.zeros_like(self.leads)
        effects = replace(self.effects, sure=np.zeros_like(self.effects.sure))
        return replace(
            self, effects=effects, leads=leads, goal=0, visited=visited, usual=usual, points=points, aside={}
        )

    def places(self, panels: np.ndarray) -> np.ndarray:
        return places(panels, self.slots, self.effects.size)

    def pointed(self, panels: np.ndarray) -> np.ndarray:
        """Return (n, O): factors that reduce each option if signs on panels (n, S) point in another direction."""
        confidence = self.points[np.arange(panels.shape[1]), panels].max(1)  # (n, D)
        best = confidence.max(1, keepdims=True)
        left = np.where(confidence < best, 1 - best, 1.0)
        return left[:, self.options[:, 0]]


def single_moves(life: Lived) -> Lived:
    """Return the moves with one primitive; their actions are (direction, primitive)."""
    action = np.stack([life.action[:, 0], life.action[:, 1:].max(1)], axis=1)
    return replace(life, action=action).only((life.action[:, 1:] > 0).sum(1) == 1)


def places(panels: np.ndarray, slots: np.ndarray, size: int) -> np.ndarray:
    """Return (n,) int64 places of panels (n, S); 0 if one of the slots is not seen."""
    values = panels[:, slots]
    number = np.zeros(len(panels), dtype=np.int64)
    for value in values.T:
        number = number * size + value
    return np.where((values > 0).all(1), number, 0)


def walk(effects: Effects, panels: np.ndarray, options: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Predict options (n, 1 + T) at panels (n, S) by facts: the probability that they are carried out (n,), NaN if no
    fact determines it, and the panel (n, S) at the end, 0 if unknown."""
    state, p = panels, np.ones(len(panels))
    for part in options[:, 1:].T:
        on = np.flatnonzero(part)
        if len(on):
            found = effects.predict(
                np.ones((len(on), 1), dtype=np.int64), state[on, None],
                np.stack([options[on, 0], part[on]], axis=1)[:, None],
            )  # fmt: skip
            state = state.copy()
            state[on] = np.where(found.known, found.value[..., 0], 0)[:, 0, 0]
            p[on] = np.where(p[on] < UNLIKELY, p[on], p[on] * found.possible[:, 0])  # a stopped move stays stopped
    return p, state


def last_step(
    effects: Effects, fine: np.ndarray, panels: np.ndarray, options: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the panels (n, S) before the last primitive of options (n, 1 + T) in `fine` steps, and that primitive."""
    each, parts = np.arange(len(options)), options[:, 1:].copy()
    last = parts.shape[1] - 1 - (parts[:, ::-1] > 0).argmax(1)
    end = fine[options[:, 0], parts[each, last]]
    parts[each, last] = 0
    final = (end > 0).sum(1) - 1
    part = end[each, np.maximum(final, 0)]
    end = end.copy()
    end[each, np.maximum(final, 0)] = 0
    return walk(effects, panels, np.concatenate([options[:, :1], parts, end], axis=1))[1], part


class _Making:
    def __init__(self, effects: Effects, rules: Rules, slots: np.ndarray, most: int) -> None:
        self.effects, self.rules, self.slots, self.most = effects, rules, slots, most
        self.directions = int(effects.actions[:, 0].max()) + 1
        self.laws = np.concatenate([effects.laws(), np.zeros((1, effects.slots, effects.size), dtype=np.int64)])
        values = [effects.size] * len(slots)
        self.grid = np.stack(np.unravel_index(np.arange(effects.size ** len(slots)), values), axis=1)
        self.fine = self._fine()

    def places(self, panels: np.ndarray) -> np.ndarray:
        return places(panels, self.slots, self.effects.size)

    def ends(self, panels: np.ndarray, options: np.ndarray) -> np.ndarray:
        return self.places(walk(self.effects, panels, options)[1])

    def _leads(self, direction: int, parts: Sequence[int]) -> np.ndarray:
        """Return (P,) int64: the place to which a sequence of primitives leads from each place; 0 if unknown."""
        value, size = self.grid, self.effects.size
        for k in self.effects.index(np.array([[direction, part] for part in parts])):
            value = np.stack([self.laws[k, s][v] for s, v in zip(self.slots, value.T, strict=True)], axis=1)
        return np.where((value > 0).all(1), value @ size ** np.arange(len(self.slots))[::-1], 0)

    def options(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the shortest option of each effect on places, and where each leads: (O, 1 + T), (P, O)."""
        options: list[list[int]] = []
        leads: list[np.ndarray] = []
        for direction in range(self.directions):
            for length in range(1, self.most + 1):
                for bag in bags(range(self.rules.count - 1, 0, -1), length):
                    to = self._leads(direction, bag)
                    if to.any() and not any(_one_effect(to, other) for other in leads):
                        options.append([direction, *bag, *[0] * (self.most - length)])
                        leads.append(to)
        return np.array(options), np.stack(leads, axis=1)

    def _fine(self) -> np.ndarray:
        """See `Outlook.fine`."""
        most = self.rules.count - 1
        fine = np.zeros((self.directions, self.rules.count, most), dtype=np.int64)
        for direction in range(self.directions):
            for part in range(1, self.rules.count):
                own = self._leads(direction, [part])
                same = [
                    bag
                    for length in range(1, most + 1)
                    for bag in bags(range(1, self.rules.count), length)
                    if bag == (part,) or (own.any() and _one_effect(own, self._leads(direction, bag)))
                ]
                fine[direction, part, : len(same[-1])] = same[-1]
        return fine

    def open(self, panels: np.ndarray) -> np.ndarray:
        """Return (m, D) bool: some action in the direction is carried out."""
        actions = np.broadcast_to(self.effects.actions, (len(panels), *self.effects.actions.shape))
        possible = self.effects.predict(np.ones((len(panels), 1), dtype=np.int64), panels[:, None], actions).possible
        likely = np.nan_to_num(possible, nan=0.0) > GUESS
        return np.stack([likely[:, self.effects.actions[:, 0] == d].any(1) for d in range(self.directions)], axis=1)

    def usual(self, single: Lived, options: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how likely options are carried out without evidence of the place (P, O), and in an open direction."""
        panels = np.unique(single.before[:, 0], axis=0)
        opens = self.open(panels)
        few = np.random.default_rng(0).permutation(len(panels))[:500]
        p = walk(self.effects, np.repeat(panels[few], len(options), axis=0), np.tile(options, (len(few), 1)))[0]
        is_open = opens[few][:, options[:, 0]]
        far = (np.nan_to_num(p).reshape(is_open.shape) * is_open).sum(0) / np.maximum(is_open.sum(0), 1)
        about = [Guess(self.effects.size, panels[:, self.slots], one)(self.grid) for one in opens.T]
        usual = np.stack(about, axis=1)[:, options[:, 0]] * far
        return np.maximum(usual, POSSIBLE).astype(np.float32), far

    def aside(self, life: Lived) -> dict[tuple[int, int], list[Guess]]:
        """See `Outlook.aside`; uses all moves whose end was seen."""
        life = life.only(np.flatnonzero(life.carried & (life.after[:, 0, 0] > 0)))
        opens = self.open(life.after[:, 0])
        last, final = last_step(self.effects, self.fine, life.before[:, 0], life.action)
        aside = {}
        for direction in range(self.directions):
            for part in range(1, self.rules.count):
                rows = (life.action[:, 0] == direction) & (final == part)
                if rows.any():
                    aside[direction, part] = [Guess(self.effects.size, last[rows], one) for one in opens[rows].T]
        return aside

    def points(self, memory: Memory, life: Lived) -> np.ndarray:
        """Return (S, V, D): for the places of trials that reached the goal, the direction in which each was last left
        or passed. See `signs_of`."""
        own = slice(len(memory) - len(life), None)
        trial = memory.episode[own].astype(np.int64) * (1 << 16) + memory.trial[own]
        life = replace(life, episode=trial).only(np.isin(trial, trial[(memory.flags[own] & REACHED) != 0]))
        here = self.places(life.before[:, 0])
        moved = np.flatnonzero(life.carried)
        steps = self.fine[life.action[moved, :1], life.action[moved, 1:]].reshape(len(moved), -1)
        at, direction = here[moved], life.action[moved, 0]
        passed, table = [], np.stack([self._leads(d, [p]) if p else np.arange(len(self.grid))
                                      for d in range(self.directions) for p in range(self.rules.count)])  # fmt: skip
        for part in steps.T:
            passed.append(np.where(part > 0, at, 0))
            at = table[direction * self.rules.count + part, at]
        left = np.stack(passed, axis=1)  # (m, steps)
        order = np.arange(left.size)[::-1]
        rows, place = moved[order // left.shape[1]], left.reshape(-1)[order]
        kept = np.unique(np.stack([life.episode[rows], place], axis=1), axis=0, return_index=True)[1]
        rows, place = rows[kept], place[kept]
        looks, first = np.unique(np.stack([life.episode, here], axis=1), axis=0, return_index=True)
        known = (looks[:, 0] << 20) + looks[:, 1]
        asked = (life.episode[rows] << 20) + place
        at = np.minimum(known.searchsorted(asked), len(known) - 1)
        seen = (known[at] == asked) & (place > 0)
        panels, way = life.before[first[at[seen]], 0], life.action[rows[seen], 0]
        slots = panels.shape[1]
        count = np.zeros((slots, self.effects.size, self.directions))
        np.add.at(count, (np.arange(slots), panels, way[:, None]), 1)
        return signs_of(count)


def signs_of(count: np.ndarray) -> np.ndarray:
    """Find the slots that point the way, from counts (S, V, D) of the direction taken at each symbol: apart from the
    commonest symbol, which mostly stands for an empty slot, the rows of each symbol agree on a direction.

    :returns: (S, V, D) float64, the confidence that a symbol points that way.
    """
    rows = count.sum(2)  # (S, V)
    others = np.where((rows > 1) & (np.arange(rows.shape[1]) != rows.argmax(1)[:, None]), rows, 0)
    agreeing, total = (count.max(2) * (others > 0)).sum(1), others.sum(1)
    confidence = np.where((agreeing >= POINTS * total) & (total >= SIGNS), agreeing / (total + 1), 0)
    pointing = (count == count.max(2, keepdims=True)) & (others > 0)[..., None]
    return pointing * confidence[:, None, None]


def _one_effect(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two options lead to the same places wherever both are known."""
    both = (one > 0) & (other > 0)
    return bool(both.any() and (one[both] == other[both]).all())


def memory_of_run(run: Path, upto: int | None = None) -> Memory:
    """Return the memory of a run, or its first `upto` records.

    :raises InputError: a run without a memory, or with fewer records.
    """
    memory = Memory.load(run / FOLDER)
    if upto is not None and len(memory) < upto:
        raise InputError(f"{run / FOLDER} has {len(memory):,} records, but the run's facts are of {upto:,}")
    return replace(memory, records=memory.records[:upto])


class GraphPlayer:
    """Plan in each maze over the seen places, which are certain, and the places that facts make likely.

    A move that contradicts the known laws adds its law for the rest of the episode.

    :ivar values: (B, P, O) of each option at each place; `p` the probability that it is carried out, `leads` its end.
    :ivar seen: (B, P) bool; `goal`, `here` (B,) int64 places, 0 for none; `chosen` (B,) int64, 1 + the option.
    :ivar panels: (B, S) int64, the current panels.
    """

    def __init__(self, outlook: Outlook) -> None:
        self.outlook = outlook
        self.rules, self.max_opt_len = outlook.rules, outlook.options.shape[1] - 1
        self._begun = 0

    def _begin(self, envs: np.ndarray, size: int) -> None:
        look = self.outlook
        if self._begun != size:
            many, options = look.leads.shape
            self.p = np.zeros((size, many, options), dtype=np.float32)
            self.failed = np.zeros((size, many, options), dtype=bool)
            self.leads = np.zeros((size, many, options), dtype=np.int64)
            self.seen, self.guessed = np.zeros((2, size, many), dtype=bool)
            self.values = np.zeros((size, many, options))  # of the plan
            self.goal, self.here, self.chosen, self.last_place, self.last_option = np.zeros((5, size), dtype=np.int64)
            self._begun, envs = size, np.arange(size)
        self.p[envs], self.leads[envs], self.goal[envs] = look.usual, look.leads, look.goal
        for part in (self.failed, self.seen, self.guessed, self.values, self.here, self.chosen, self.last_place):
            part[envs] = 0

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        look, size = self.outlook, len(percept.first)
        panels = panel_rows(percept.observation) + self.rules.side
        panels = np.concatenate([panels, np.zeros((size, 1), dtype=np.int64)], axis=1)
        self.panels = panels = np.where(panels < look.effects.size, panels, 0)
        self._begin(np.flatnonzero(percept.first), size)
        each, now = np.arange(size), look.places(panels)
        learned = self._learn(percept, now)
        new = np.flatnonzero(~self.seen[each, now])
        if len(new):
            self._look(new, panels[new], now[new])
        again = np.union1d(new, learned)
        if len(again):
            self._think(again)
        self.here = now
        values = self.values[each, now]
        choice = np.where(values.max(1) > 0, 1 + values.argmax(1), 0)
        lost = np.flatnonzero(choice == 0)
        if len(lost):
            p = self.p[lost, now[lost]] + 1e-3
            choice[lost] = 1 + (p / p.max(1, keepdims=True) * rng.random(p.shape)).argmax(1)
        self.chosen = choice
        return look.options[choice - 1]

    def _learn(self, percept: Percept, now: np.ndarray) -> np.ndarray:
        """Record where the latest moves led; return the environments in which the outcome was unexpected."""
        moved = np.flatnonzero((self.chosen > 0) & ~percept.first)
        before, option = self.here[moved], self.chosen[moved] - 1
        led = self.leads[moved, before, option]
        reached, over = percept.reached[moved], percept.trial_over[moved]
        stopped = (now[moved] == before) & ~over
        unlike = ~stopped & ~over & (led != now[moved]) & (now[moved] > 0)
        for env, place, one, to in zip(moved[unlike], before[unlike], option[unlike], now[moved[unlike]], strict=True):
            self._law(env, one, place, to)
        made = reached | ~(stopped | over)
        new = (made & (self.p[moved, before, option] < 1)) | stopped
        self.failed[moved[stopped], before[stopped], option[stopped]] = True
        self.p[moved[new], before[new], option[new]] = made[new]
        met = reached & (self.goal[moved] == 0)
        self.goal[moved[met]] = led[met]
        self.last_place[moved[met]], self.last_option[moved[met]] = before[met], option[met]
        return moved[new | met | unlike]

    def _law(self, env: int, option: int, place: int, to: int) -> None:
        """Add the law of an option that led from a place to another: a slot with this value always changes likewise."""
        size, slots = self.outlook.effects.size, len(self.outlook.slots)
        shape = [size] * slots
        leads = self.leads[env, :, option].reshape(shape)
        parts = np.unravel_index(place, shape), np.unravel_index(to, shape)
        at = np.stack(np.unravel_index(leads, shape))  # (slots, V, ...)
        known = np.zeros((slots, size), dtype=np.int64)
        for s in range(slots):
            known[s] = np.moveaxis(at[s], s, 0).reshape(size, -1).max(1)
            known[s, parts[0][s]] = parts[1][s]
        whole = np.ix_(*known) if slots > 1 else (known[0],)
        there = np.logical_and.reduce(np.broadcast_arrays(*(part > 0 for part in whole)))
        self.leads[env, :, option] = np.where(
            there, np.ravel_multi_index(np.broadcast_arrays(*whole), shape), 0
        ).ravel()

    def _look(self, envs: np.ndarray, panels: np.ndarray, here: np.ndarray) -> None:
        """Record new places: the moves that their panels allow, and the places that facts make likely beyond."""
        look = self.outlook
        count = len(look.options)
        options = np.tile(look.options, (len(envs), 1))
        p, after = walk(look.effects, np.repeat(panels, count, axis=0), options)
        p = np.where(np.isnan(p), look.usual[np.repeat(here, count), np.tile(np.arange(count), len(envs))], p)
        p = p.reshape(len(envs), count) * ~self.failed[envs, here]
        self.p[envs, here] = p * look.pointed(panels)
        self.seen[envs, here] = True
        to = self.leads[envs, here]  # (n, O)
        row, option = np.nonzero((p > LIKELY) & (to > 0))
        place = to[row, option]
        fresh = ~self.seen[envs[row], place] & ~self.guessed[envs[row], place] & (place != self.goal[envs[row]])
        row, option, place = row[fresh], option[fresh], place[fresh]
        if not len(row):
            return
        at = row * count + option
        opens = np.full((len(row), 4), GUESS)
        last, final = last_step(look.effects, look.fine, panels[row], look.options[option])
        for (direction, part), guess in look.aside.items():
            mine = np.flatnonzero((look.options[option, 0] == direction) & (final == part))
            if len(mine):
                opens[mine] = np.stack([one(last[mine]) for one in guess], axis=1)
        lawful = look.effects.lawful[look.effects.index(np.stack([look.options[option, 0], final], axis=1))]
        decided = walk(
            look.effects, np.repeat(np.where(lawful, after[at], 0), count, axis=0), np.tile(look.options, (len(at), 1))
        )[0]
        decided = decided.reshape(len(at), count)
        guessed = np.minimum(opens[:, look.options[:, 0]] * look.far, SURE)
        env = envs[row]
        self.p[env, place] = np.where(np.isnan(decided), guessed, decided) * ~self.failed[env, place]
        self.guessed[env, place] = True

    def _join(self, envs: np.ndarray) -> None:
        """Make an option certain if certain moves in its direction lead in turn to its end: an option is its primitives
        in turn, whether they are moved at once or not."""
        env, place = np.nonzero(self.seen[envs])
        row = np.cumsum(self.seen[envs], axis=1) - 1  # a seen place's number in its maze
        direction, to = self.outlook.options[:, 0], self.leads[envs[env], place]
        there = self.seen[envs[env, None], to] & (to > 0)
        link = np.zeros((len(envs), direction.max() + 1, row.max() + 1, row.max() + 1), dtype=np.float32)
        i, option = np.nonzero(there & (self.p[envs[env], place] == 1))
        link[env[i], direction[option], row[env[i], place[i]], row[env[i], to[i, option]]] = 1
        while (longer := np.minimum(link + link @ link, 1)).sum() > link.sum():
            link = longer
        i, option = np.nonzero(there & (self.p[envs[env], place] > 0))
        joined = link[env[i], direction[option], row[env[i], place[i]], row[env[i], to[i, option]]] > 0
        self.p[envs[env[i[joined]]], place[i[joined]], option[joined]] = 1

    def _choices(self, env: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p and ends (n, O) of the options at n places: the probability that a plan gives each, 0 for an option
        that it omits, and the place at its end, 0 if the plan ends there: at the goal, or with an end to examine."""
        look, row = self.outlook, np.arange(len(env))
        to, goal = self.leads[env, place], self.goal[env]
        lost = (goal == 0) & (self.last_place[env] == 0)  # the goal is unknown
        new = ~(look.visited[to] | self.seen[env[:, None], to])
        unknown = ((to == 0) | new) & lost[:, None]
        ends = unknown | ((to > 0) & (to == goal[:, None]))
        met = row[(self.last_place[env] == place) & (place > 0)]
        ends[met, self.last_option[env[met]]] = True
        p = np.where(ends | (to > 0), self.p[env, place], 0) * np.where(unknown, INFORMATION, 1.0)
        return np.where(p > UNLIKELY, p, 0), np.where(ends, 0, to)

    def _think(self, envs: np.ndarray) -> None:
        """Plan anew from every seen place, in one value iteration over the places within reach in these mazes."""
        self._join(envs)
        within, options = self.seen[envs], len(self.outlook.options)
        which, there = np.nonzero(within)
        parts = []
        while len(which):
            p, to = self._choices(envs[which], there)
            parts.append((which, there, p, to))
            fresh = np.zeros_like(within)
            row, option = np.nonzero((p > 0) & (to > 0))
            fresh[which[row], to[row, option]] = True
            which, there = np.nonzero(fresh & ~within)
            within |= fresh
        seen = len(parts[0][0])
        which, there, p, to = (np.concatenate(part) for part in zip(*parts, strict=True))
        state = np.zeros(within.shape, dtype=np.int64)  # its number in the plan, in which the goal is 1
        state[which, there] = 2 + np.arange(len(which))
        base, (row, option) = 2 + len(which), np.nonzero(p)
        size, end = base + options, to[row, option]
        product = np.where(end > 0, state[which[row], end], 1)
        keys = (2 + row) * size + base + option
        known = Transitions(size, keys, np.arange(len(keys) + 1), product, p[row, option])
        one, nothing = np.ones(seen, dtype=np.int64), np.zeros((seen, 0, 3), dtype=np.int64)
        candidates = np.tile(base + np.arange(options), (seen, 1))
        subject = (2 + np.arange(seen))[:, None]
        values = known.values(subject, one, candidates, nothing[..., 0], nothing, HORIZON * one)
        self.values[envs[which[:seen]], there[:seen]] = np.where(p[:seen] > 0, values, 0)
