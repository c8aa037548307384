"""The simulator: in each step apply the rules, then move things with collisions, for one scene or a batch of scenes."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data.errors import InputError, did_you_mean, located
from gumption.data.settings import Count, NonNegative, Positive, Size, Whole, check, checked, shown
from gumption.data.writing import write_text

from .compat import COMPAT_RULES, CompatMotion
from .compiled_rules import CompiledRule, check_conflicts, evaluated, schedule
from .factors import Acceleration, Alive, Done, Factor, Framerate, Mass, MaxVelocity, Position, Velocity
from .motion import WINDOW, Motion, OwnValues, RestWatch
from .rules import FIXED_RULES, Aggregate, Differential, Rule, known_rule
from .scene import Preset, Scene
from .state import POLYGON, State

if TYPE_CHECKING:
    from torch import Tensor

    from .compiled_runs import CompiledRun
    from .torch_simulation import TensorSimulation


Pair = Sequence[float] | np.ndarray


class Simulator:
    """Simulate a scene, or a batch of scenes.

        sim = Simulator({"entities": [{"id": "a", "type": "Ball", "factors": {"Velocity": [1, 0]}}]})
        sim.step(100)
        sim.state()["a"]["Position"]

    A step of dt = 1 / framerate applies the rules for all factors but Velocity and Position to one state, then the
    rules for Velocity; it limits speeds to MaxVelocity, and moves discs, with collisions.

    :ivar preset: "fixed" (corrected) or "compat" (SEGAR's code of 2022, faults included).
    :ivar device: torch device of the scenes; None for NumPy.
    :ivar time: (B,) seconds since the start.
    """

    def __init__(
        self,
        scenes: Mapping[str, Any] | Scene | Sequence[Mapping[str, Any] | Scene] | State,
        preset: Preset = "fixed",
        device: str | None = None,
    ) -> None:
        """:param scenes: one scene, or a sequence as a batch, as data (see `Scene.read`).
        :param device: "cuda", "cpu" or "auto" for torch tensors on this device; None for NumPy arrays.
        :raises InputError: a malformed scene, an unknown rule, rules that are certain to conflict, a shape that cannot
            move, or a feature that a device or "compat" does not support, such as different rules in one batch.
        """
        self.preset: Preset = check("preset", preset, Preset)
        self.device = check("device", device, str | None)
        self.batched = isinstance(scenes, State) or (
            isinstance(scenes, Sequence) and not isinstance(scenes, (str, Mapping))
        )
        if isinstance(scenes, State):
            self._arrays = scenes if device is None else scenes.select(np.arange(scenes.num_envs))
        else:
            listed: Sequence[Any] = scenes if self.batched else [scenes]  # pyright: ignore[reportAssignmentType]
            named = [f"scene {i}" for i in range(len(listed))] if self.batched else ["the scene"]
            read = [Scene.read(each, where) for each, where in zip(listed, named, strict=True)]
            self._arrays = State(read)
        self._simulation: TensorSimulation | None = None
        self.arrays.polygons_scale = self.preset == "fixed"
        self.time = np.zeros(self.arrays.num_envs)
        self._discs = self.arrays.layout.owners([Position, Velocity])
        #: Vectors of discs that are constant at rest, and all factors that a step without effect leaves unchanged.
        self._watched: list[type[Factor]] = [Position]
        self._integrated: list[type[Factor]] = [Position, Velocity]
        bad = self.arrays.kinds[self._discs] == POLYGON
        if bad.any():
            k, i = (int(each[0]) for each in np.nonzero(bad))
            name = self.arrays.name(int(self._discs[k]), i)
            raise InputError(f"scene {i}: {name} moves and is a polygon; only circles can move and collide")
        self.rules, self._laws = _read_rules(self.arrays.layout.laws, self.preset)
        self._draws = any(rule.draws for rule in self.rules)
        if self.device is None:
            self._compile()
        else:
            from . import torch_simulation

            self._simulation = torch_simulation.TensorSimulation(self._arrays, self.rules, self.preset, self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        """Recompile the rules in a copy, since compiled rules hold views of the arrays."""
        return _copied, (self.arrays, self.preset, self.device, self.batched, self.time)

    @property
    def arrays(self) -> State:
        """Return the state in arrays. With a device it is a read-only copy, and reading waits for the device.

        :raises InputError: in an earlier step on the device two rules conflicted, or a value became infinite.
        """
        if self._simulation is not None:
            self._simulation.read()
        return self._arrays

    @property
    def tensors(self) -> "dict[type[Factor], Tensor]":
        """Return root factor -> writable tensor (d, N, B), as `arrays.columns`; raise InputError without a device."""
        if self._simulation is None:
            raise InputError("the simulator has no device, and no tensors: give one as device=, or read arrays.columns")
        return self._simulation.state.tensors

    # ---- running

    def step(self, n: Count = 1) -> None:
        """Advance by n steps.

        :raises InputError: two rules conflict, or a custom rule returns a number outside the bounds of its factor; with
            "compat" also if the code of 2022 fails.
        """
        for _ in range(check("n", n, Count)):
            self._step()

    @checked
    def run_until_rest(self, max_seconds: Positive, slow: Positive = 1e-4, window: Count = WINDOW) -> np.ndarray:
        """Run each scene until it rests or the time is over; the velocities of a scene at rest are set to 0.

        A scene rests when a step changes nothing, or when during the last `window` steps no disc was farther from its
        current position than the distance covered at the speed `slow` in that time.

        :returns: (B,) bool, which scenes rest.
        """
        steps = np.minimum(max_seconds * self._arrays.parameters[Framerate], 2.0**62)  # larger numbers overflow int64
        return self.run(steps.astype(np.int64), self.watch(slow, window))[1]

    @checked
    def watch(self, slow: Positive = 1e-4, window: Size = WINDOW) -> RestWatch:
        """Return a watch for `run` that starts from the current state; see `run_until_rest`."""
        return RestWatch.begin(self.places(), slow * window / self._arrays.parameters[Framerate], window)

    def places(self) -> np.ndarray:
        """Return (2, n, B), vectors that a watch compares: positions, and others that rules change (orientations)."""
        columns = self.arrays.columns
        if not len(self._discs):
            return np.zeros((2, 0, self._arrays.num_envs))
        return np.concatenate([columns[each][:, self._discs] for each in self._watched], axis=1)

    @checked
    def run(self, steps: np.ndarray, watch: RestWatch, *, compiled: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Run each scene until it rests, for at most `steps` steps; `run_until_rest` defines rest.

        :param steps: (B,) int64.
        :param watch: is updated, so that a run in parts equals one whole run.
        :param compiled: use the compiled loop if the rules have one; the results are equal bit for bit.
        :returns: (B,) int64 steps made, (B,) bool which scenes rest.
        :raises InputError: as `step`.
        """
        if steps.shape != (self._arrays.num_envs,) or steps.dtype.kind not in "iu":
            raise InputError(
                f"steps is {shown(steps)}; it is {self._arrays.num_envs} whole numbers, one for each scene"
            )
        if not len(self._discs):
            return np.zeros(len(steps), dtype=np.int64), np.ones(len(steps), dtype=bool)
        if self._simulation is not None:
            made, rests = self._simulation.run(steps, watch)
            self.time += made / self._arrays.parameters[Framerate]
            return made, rests
        if compiled and (loop := self._compiled_run) is not None:
            return loop(steps, watch, self.time)
        state, made, rests = self._arrays, np.zeros(len(steps), dtype=np.int64), np.zeros(len(steps), dtype=bool)
        kept: list[tuple[np.ndarray, list[np.ndarray], np.ndarray]] = []
        over = made >= steps

        def keep(columns: np.ndarray) -> None:
            kept.append((columns, state.moving(columns), self.time[columns]))

        keep(np.flatnonzero(over))
        while not over.all():
            before = [state.columns[each].copy() for each in self._integrated]
            self._step()
            after, places = [state.columns[each] for each in self._integrated], self.places()
            same = np.all([(old == new).all(axis=(0, 1)) for old, new in zip(before, after, strict=True)], axis=0)
            ended = np.zeros(len(steps), dtype=bool)
            for b in np.flatnonzero(~over).tolist():
                made[b] += 1
                near = watch.look(b, places[:, :, b].T, np.tile(self._moving(b), len(self._watched)))
                rests[b] = near or same[b]
                ended[b] = rests[b] or made[b] >= steps[b]
            state.columns[Velocity][:, :, ended & rests] = 0.0
            keep(np.flatnonzero(ended))
            over |= ended
        for columns, copies, times in kept:
            state.put_back(columns, copies)
            self.time[columns] = times
        return made, rests

    @checked
    def at_rest(self, slow: Positive = 1e-4) -> np.ndarray:
        """Return (B,) bool, whether no disc is faster than `slow`."""
        if self._simulation is not None:
            return self._simulation.at_rest(slow)
        if not len(self._discs):
            return np.ones(self.arrays.num_envs, dtype=bool)
        v = self.arrays.columns[Velocity]
        return ((v * v).sum(axis=0) <= slow * slow).all(axis=0)

    def add_force(self, name: str, force: "Pair | Tensor", i: Whole | None = None) -> None:
        """Push an entity: change its velocity by force / mass at once.

        :param force: (2,), or (B, 2) for a batch. On a device it may be a tensor, which stays on the device: its values
            are not checked, and an entity without mass does not move.
        :param i: index of a scene; None for the whole batch.
        :raises InputError: no such entity, an entity without a mass, or a force that is not finite or far too large.
        """
        if self._simulation is not None:
            self._push_there(name, force, i, Mass)
            return
        for k, slot, push in self._pushes(name, force, i, Mass):
            mass = self.arrays.columns[Mass][0, slot, k]
            if mass == 0.0:
                raise InputError(f"{name!r} has no mass, so that a force cannot move it; use add_velocity")
            if not np.abs(push).max() <= Velocity.most * mass:
                raise InputError(f"the force {shown(force)} is too large for {name!r}, whose mass is {mass}")
            self.arrays.columns[Velocity][:, slot, k] += push / mass

    def add_velocity(self, name: str, velocity: "Pair | Tensor", i: Whole | None = None) -> None:
        """Change an entity's velocity at once; arguments as in `add_force`."""
        if self._simulation is not None:
            self._push_there(name, velocity, i, Velocity)
            return
        for k, slot, change in self._pushes(name, velocity, i, Velocity):
            self.arrays.columns[Velocity][:, slot, k] += change

    # ---- reading and saving

    def state(self) -> dict[str, dict[str, Any]]:
        """Return the current entities: id -> factor -> value.

        A single scene has plain values. A batch has arrays (B,) or (B, 2), with nan or False if a scene has no such
        entity; shapes and texts are lists.
        """
        if not self.batched:
            entities = self.arrays.scene(0).entities
            return {each.id: {one.__name__: value for one, value in each.factors.items()} for each in entities}
        scenes = self.scenes()
        found: dict[str, dict[str, Any]] = {}
        for i, scene in enumerate(scenes):
            for entity in scene.entities:
                mine = found.setdefault(entity.id, {})
                for factor, value in entity.factors.items():
                    mine.setdefault(factor.__name__, _gap(factor, len(scenes)))[i] = value
        return found

    def scenes(self) -> list[Scene]:
        """Return the current scenes."""
        arrays = self.arrays
        return [arrays.scene(i) for i in range(arrays.num_envs)]

    @checked
    def save(self, path: str | Path) -> None:
        """Write the state as JSON; `load` continues from it bit for bit. Raise InputError if the file is unwritable."""
        scenes = [scene.to_data() for scene in self.scenes()]
        kept = {"preset": self.preset, "batched": self.batched, "time": self.time.tolist(), "scenes": scenes}
        write_text(Path(path), json.dumps(kept, indent=1) + "\n")

    @classmethod
    @checked
    def load(cls, path: str | Path) -> "Simulator":
        """Return a simulator that continues from a saved state.

        :raises InputError: no such file, another kind of file, a malformed scene, or an undefined rule.
        """
        try:
            kept = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read as a saved simulator: {error}") from None
        if not isinstance(kept, dict) or set(kept) != {"preset", "batched", "time", "scenes"}:
            raise InputError(f"{path} is no saved simulator: it has preset, batched, time and scenes")
        scenes = check(f"{path}: scenes", kept["scenes"], list)
        times = check(f"{path}: time", kept["time"], tuple[NonNegative, ...])
        batched = check(f"{path}: batched", kept["batched"], bool)
        if len(times) != len(scenes) or not (batched or len(scenes) == 1):
            raise InputError(f"{path} is no saved simulator: it has {len(scenes)} scenes and {len(times)} times")
        with located(path):
            made = cls(scenes if batched else scenes[0], preset=kept["preset"])
        made.time[:] = times
        return made

    # ---- a step

    def _compile(self) -> None:
        exact = self.preset == "compat"
        self._fixed = not exact
        if exact and (contacts := [rule.name for rule in self.rules if rule.at_contacts]):
            raise InputError(
                f"the rule {contacts[0]} answers contacts, which the code of 2022 cannot; the preset 'fixed' does"
            )
        rules = [
            CompiledRule(rule, self.arrays, exact, laws) for rule, laws in zip(self.rules, self._laws, strict=True)
        ]
        answering = [each for each in rules if each.rule.at_contacts]
        live = [each for each in rules if each.reaches and not each.rule.at_contacts]
        numeric = frozenset(self.arrays.columns)
        if exact:  # the code of 2022 lists changing factors at import, so that custom factors never change
            numeric = frozenset(each for each in numeric if each.__module__ == Factor.__module__)
        move = (COMPAT_RULES if exact else FIXED_RULES)["move"]
        self._schedule = schedule(live, numeric, move)
        self._own_values = OwnValues(self.arrays, [rule for rule in self.rules if not rule.at_contacts])
        _, drifts, moves, _ = self._schedule
        for rules, _ in self._schedule.rounds:
            check_conflicts(self.arrays, rules, self._fixed)
        self._motion: Motion | CompatMotion | None = None
        self._live, self._answering = live, answering
        for kind, factor in (one for each in live for one in each.rule.returns):
            root = factor.root
            if kind is not Aggregate and root not in (*self._integrated, Acceleration):
                self._watched += [root] * (root.base == "vector")
                self._integrated += [root] * (root.base == "vector" or kind is Differential)
        if len(self._discs) and exact:
            self._motion = CompatMotion(self.arrays, moves)
        elif len(self._discs):
            moving = [laws for rule, laws in zip(self.rules, self._laws, strict=True) if rule is move]
            by_law = np.any([np.zeros(len(self.arrays.layout.laws), dtype=bool), *moving], axis=0)
            self._motion = Motion(self.arrays, by_law, drifts, answering)

    @cached_property
    def _compiled_run(self) -> "CompiledRun | None":
        """Return the compiled loop of `run`; None if the rules have none."""
        if not isinstance(self._motion, Motion) or self._answering or len(self._arrays.layout.laws) > 1:
            return None
        from .compiled_runs import CompiledRun, NotTraced

        with suppress(NotTraced):
            return CompiledRun(self._arrays, self._live, self._motion.blocks)
        return None

    def _step(self) -> None:
        if self._simulation is not None:
            self._simulation.step()
        else:
            self._step_arrays()
        self.time += 1.0 / self._arrays.parameters[Framerate]

    def _step_arrays(self) -> None:
        (rules, factors), (rules_of_velocity, velocity) = self._schedule.rounds
        if self._draws:
            self.arrays.moments[:] = np.rint(self.time * self.arrays.parameters[Framerate])
        if rules:
            evaluated(self.arrays, rules, factors, self._fixed).apply()
        if rules_of_velocity:
            with nullcontext() if self._motion is None else self._motion.holding():
                evaluated(self.arrays, rules_of_velocity, velocity, self._fixed).apply()
        self._own_values.check()
        if self._schedule.reorders:
            self.arrays.order()
        if self._motion is not None:
            from .contacts import limit_speeds

            if not limit_speeds(self.arrays.columns[Velocity], self.arrays.parameters[MaxVelocity]):
                self.arrays.check_finite()
            self._motion.step()

    def _moving(self, b: int) -> np.ndarray:
        """Return (n,) bool, the discs of scene b that are present, alive and not done."""
        state, discs = self._arrays, self._discs
        there = state.present[discs, b].copy()
        for factor, wanted in ((Alive, True), (Done, False)):
            if factor in state.columns:
                there &= state.columns[factor][0, discs, b] == wanted
        return there

    def _push_there(self, name: str, given: "Pair | Tensor", i: int | None, factor: type[Factor]) -> None:
        assert self._simulation is not None
        shape = getattr(given, "shape", ())
        of_torch = type(given).__module__ == "torch"
        if of_torch and shape not in {(2,), (self._arrays.num_envs, 2)}:
            raise InputError(
                f"a tensor {tuple(shape)} is no pair of numbers, and none of {self._arrays.num_envs} pairs"
            )
        found = self._pushes(name, (0.0, 0.0) if of_torch else given, i, factor)
        scenes, slots = np.array([each[0] for each in found]), np.array([each[1] for each in found])
        change = given if of_torch else np.stack([each[2] for each in found])
        if of_torch and i is not None and len(shape) == 2:
            change = change[i : i + 1]
        self._simulation.push(name, change, slots, scenes, factor is Mass)

    def _pushes(self, name: str, given: "Pair | Tensor", i: int | None, factor: type[Factor]) -> Any:
        state = self._arrays
        name = check("name", name, str)
        try:
            push = np.asarray(given)
        except (TypeError, ValueError):
            push = np.zeros(0)
        fits = push.shape in {(2,), (state.num_envs, 2)} and push.dtype.kind in "iuf"
        if not fits or not np.abs(push).max() <= Velocity.most:
            raise InputError(
                f"{shown(given)} is no pair of finite numbers, and no array of {state.num_envs} pairs; no number is "
                f"beyond {Velocity.most:g}"
            )
        chosen = range(state.num_envs) if i is None else [check("i", i, Whole)]
        owners = set(state.layout.owners([factor, Velocity]).tolist())
        found = []
        for k in chosen:
            slot = state.slot_of[k].get(name) if k < state.num_envs else None
            if slot is None:
                hint = did_you_mean(name, state.slot_of[0])
                raise InputError(f"scene {k} has no entity {name!r}{hint and f'; {hint}'}")
            if slot not in owners:
                raise InputError(f"{name!r} has no {factor.__name__} and Velocity: it cannot be pushed")
            found.append((k, slot, push if push.ndim == 1 else push[k]))
        return found


def _copied(state: State, preset: Preset, device: str | None, batched: bool, time: np.ndarray) -> Simulator:
    copy = Simulator(state, preset, device)
    copy.batched, copy.time = batched, time
    return copy


def _read_rules(laws: Sequence[Sequence[Any]], preset: Preset) -> tuple[list[Rule], list[np.ndarray]]:
    """Return the rules of all sets in a common order that preserves the order of each set; and for each rule (L,) bool,
    the sets it belongs to. If sets order two rules differently, one rule occurs twice."""
    if len(laws) > 1 and preset == "compat":
        raise InputError("scenes with different rules are in one batch, which 'compat' does not play; 'fixed' does")
    found: list[Rule] = []
    members: list[np.ndarray] = []
    for number, law in enumerate(laws):
        after = 0
        rules = [known_rule(each, COMPAT_RULES if preset == "compat" else FIXED_RULES) for each in law]
        names = [each.name for each in rules]
        for rule, name in zip(rules, names, strict=True):
            if names.count(name) > 1:
                raise InputError(f"the rule {name!r} is named twice")
            place = next((at for at in range(after, len(found)) if found[at] == rule), None)
            if place is None:
                place = after
                found.insert(place, rule)
                members.insert(place, np.zeros(len(laws), dtype=bool))
            members[place][number] = True
            after = place + 1
    return found, members


def _gap(factor: type[Factor], batch: int) -> Any:
    match factor.base:
        case "vector":
            return np.full((batch, 2), np.nan)
        case "float" | "int":
            return np.full(batch, np.nan)
        case "bool":
            return np.zeros(batch, dtype=bool)
        case _:
            return [None] * batch
