"""The steps of a simulator on a device of torch, and what such a simulator does not do."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gumption.data import InputError
from gumption.kg.checkpoint import pick_device

from .builtin_rules import FIXED_RULES
from .factors import Alive, Collides, Done, Mass, MaxVelocity, Position, Restitution, Shape, Velocity
from .own_values import OwnValues
from .rest import RestWatch
from .rules import Rule
from .scene import Preset
from .schedule import schedule
from .state import State
from .torch_array import Numbers
from .torch_contacts import TensorMotion
from .torch_rules import TensorRule, evaluated_on_device
from .torch_state import TensorState

_INSTEAD = "make the simulator without device="


class TensorSimulation:
    """A batch of scenes that moves on a device. Nothing in a step waits for the device.

    :ivar state: the scenes there.
    """

    def __init__(self, host: State, rules: Sequence[Rule], preset: Preset, device: str) -> None:
        """:raises InputError: a device that cannot be used, or something that only the NumPy path does."""
        _refuse(host, rules, preset)
        self._host, self._values = host, OwnValues(host, rules)
        self.state = TensorState(host, Numbers(pick_device(device), torch.float64))
        live = [each for each in (TensorRule(rule, host, self.state) for rule in rules) if each.reaches]
        for each in live:  # a rule that cannot run on tensors says so before the first step
            evaluated_on_device(self.state, [each], None)
        self.state.faults.clear()
        self._schedule = schedule(live, frozenset(self.state.tensors), FIXED_RULES["move"])
        _, drifts, moves, _ = self._schedule
        self._discs = host.layout.owners([Position, Velocity])
        self._motion = TensorMotion(self.state, self._discs, moves, drifts) if len(self._discs) else None
        self._places: dict[str, tuple[Tensor, Tensor]] = {}

    def step(self) -> None:
        """Go on for a step."""
        for rules, factors in self._schedule.rounds:
            if rules:
                evaluated_on_device(self.state, rules, factors).apply()
        if self._schedule.reorders:
            self.state.order()
        if self._motion is not None:
            v, fastest = self.state.tensors[Velocity], self.state.parameters[MaxVelocity].tensor
            speed = (v[0] * v[0] + v[1] * v[1]).sqrt()
            fine = speed <= fastest
            v *= torch.where(fine, 1.0, fastest / torch.where(fine, 1.0, speed))
            self._motion.step()

    def read(self) -> None:
        """Bring the state of NumPy up to date.

        :raises InputError: two rules conflicted, or something is not finite or is outside the bounds of its factor.
        """
        self.state.read_into(self._host)
        self._host.order()
        self._values.check()
        moving = [self._host.columns[each] for each in (Position, Velocity) if each in self._host.columns]
        if not all(np.isfinite(column).all() for column in moving):
            self._host.check_finite()

    def run(self, steps: np.ndarray, watch: RestWatch) -> tuple[np.ndarray, np.ndarray]:
        """As `Simulator.run`. What rests in some scenes is put back after each step of the others; the device is asked
        once a window whether any goes on.
        """
        device, tensors = self.state.tensors[Position].device, self.state.tensors
        discs = self.state.moved(self._discs)
        most, age = torch.as_tensor(steps, device=device), torch.as_tensor(watch.age, device=device)
        near = torch.as_tensor(watch.near, device=device).to(tensors[Position].dtype)
        places = torch.as_tensor(watch.places, device=device).to(near.dtype)
        window, batch = places.shape[1], torch.arange(len(steps), device=device)
        made, rests = torch.zeros_like(most), torch.zeros(len(steps), dtype=torch.bool, device=device)
        for step in range(int(steps.max(initial=0))):
            over = rests | (made >= most)
            if step % window == 0 and bool(over.all()):
                break
            before = {factor: tensor.clone() for factor, tensor in tensors.items()}
            self.step()
            for factor, tensor in tensors.items():
                tensor.copy_(torch.where(over, before[factor], tensor))
            made, age = made + ~over, age + ~over
            now = tensors[Position][:, discs].permute(2, 1, 0)
            way = now[:, None] - places
            there = self._moving(discs)
            still = (((way * way).sum(dim=3) < (near * near)[:, None, None]) | ~there[:, None]).flatten(1)
            changed = [(before[each] != tensors[each]).any(dim=0).any(dim=0) for each in (Position, Velocity)]
            rests |= ~over & (((age >= window) & still.all(dim=1)) | ~(changed[0] | changed[1]))
            places[batch, age % window] = torch.where(over[:, None, None], places[batch, age % window], now)
            tensors[Velocity].copy_(torch.where(rests, 0.0, tensors[Velocity]))
        watch.age[:], watch.places[:] = age.cpu().numpy(), places.cpu().numpy()
        return made.cpu().numpy(), rests.cpu().numpy()

    def _moving(self, discs: "Tensor") -> "Tensor":
        """(B, n) bool: the discs that are there, alive and not done."""
        there = self.state.present[discs].T
        for factor, wanted in ((Alive, True), (Done, False)):
            if factor in self.state.tensors:
                there = there & (wanted == self.state.tensors[factor][0, discs].T)
        return there

    def at_rest(self, slow: float) -> np.ndarray:
        """(B,) bool: nothing is faster than `slow`."""
        if Velocity not in self.state.tensors:
            return np.ones(self.state.num_envs, dtype=bool)
        v = self.state.tensors[Velocity]
        return ((v * v).sum(dim=0) <= slow * slow).all(dim=0).cpu().numpy()

    def push(self, name: str, change: Any, slots: np.ndarray, scenes: np.ndarray, divided: bool) -> None:
        """Add to the velocity of an entity.

        :param change: (2,) or (n, 2), an array or a tensor.
        :param slots, scenes: (n,) where it is.
        :param divided: by its mass; where that is 0, nothing happens.
        """
        key = f"{name} {len(scenes)} {scenes[0]}"
        if key not in self._places:
            self._places[key] = self.state.moved(slots), self.state.moved(scenes)
        k, i = self._places[key]
        tensor = change if isinstance(change, Tensor) else self.state.numbers.tensor(change)
        v = self.state.tensors[Velocity]
        pushed = tensor.to(v.device, v.dtype).expand(len(scenes), 2).T
        if divided:
            mass = self.state.tensors[Mass][0][k, i]
            pushed = torch.where(mass == 0.0, 0.0, pushed / torch.where(mass == 0.0, 1.0, mass))
        v[:, k, i] += pushed


def _refuse(host: State, rules: Sequence[Rule], preset: Preset) -> None:
    """:raises InputError: what only the NumPy path does."""
    if preset != "fixed":
        raise InputError(f"the preset {preset!r} does not run on a device: take 'fixed', or {_INSTEAD}")
    answering = [rule.name for rule in rules if rule.at_contacts]
    if answering:
        raise InputError(f"the rule {answering[0]} answers contacts, which does not run on a device: {_INSTEAD}")
    discs = host.layout.owners([Position, Velocity])
    walls = np.setdiff1d(host.layout.owners([Position, Shape, Collides]), discs)
    inner = host.present[walls]
    if inner.any():
        k, i = (int(each[0]) for each in np.nonzero(inner))
        name = host.name(int(walls[k]), i)
        raise InputError(f"scene {i}: {name} is an inner wall, which does not run on a device: {_INSTEAD}")
    resting = host.parameters[Restitution] == 0.0
    if resting.any():
        i = int(np.flatnonzero(resting)[0])
        raise InputError(f"scene {i}: Restitution is 0; discs that hold one another do not run on a device: {_INSTEAD}")
