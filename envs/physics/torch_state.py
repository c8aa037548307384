"""The state of a batch of scenes in torch tensors; what never changes stays in arrays of NumPy."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from gumption.data import InputError

from .factors import Factor, Order
from .relations import Relation
from .state import POLYGON, State
from .torch_array import Numbers, TensorArray

_NEVER = torch.iinfo(torch.int64).max


class TensorState:
    """The columns of a `State` on a device.

    Names and shapes are those of `State`, so that rules and conditions read it in the same way.

    :ivar host: the state as it was at the start; only what never changes is read from it.
    :ivar tensors: root factor -> (d, N, B).
    :ivar columns, parameters: the same and (B,), as arrays for rules.
    :ivar corners: (V, 2, N, B); :ivar corner_counts, kinds, drawn_size, rank: (N, B).
    :ivar of_texts: relations that concern texts, (N, 1, B).
    :ivar faults: what went wrong on the device.
    """

    def __init__(self, host: State, numbers: Numbers) -> None:
        self.host, self.numbers = host, numbers
        self.layout, self.slots, self.num_envs = host.layout, host.slots, host.num_envs
        self.scenes, self.slot_of = host.scenes, host.slot_of
        self.tensors: dict[type[Factor], Tensor] = {root: self.moved(column) for root, column in host.columns.items()}
        self.columns = {root: TensorArray(tensor, numbers) for root, tensor in self.tensors.items()}
        self.parameters = {each: TensorArray(self.moved(values), numbers) for each, values in host.parameters.items()}
        self.present, self.walls = self.moved(host.present), self.moved(host.walls)
        self.kinds, self.drawn_size = self.moved(host.kinds), self.moved(host.drawn_size)
        self.corners, self.corner_counts = self.moved(host.corners), self.moved(host.corner_counts)
        self.rank, self._insertion = self.moved(host.rank), self.moved(host.insertion)
        self.polygons = bool((host.kinds == POLYGON).any())
        self.of_texts: dict[Relation, Tensor] = {}
        self.faults = Faults(numbers.device)

    def moved(self, array: np.ndarray) -> Tensor:
        """A copy on the device; real numbers have its dtype."""
        kind = {"b": torch.bool, "i": torch.int64, "f": self.numbers.real}[array.dtype.kind]
        return torch.tensor(np.ascontiguousarray(array), dtype=kind, device=self.numbers.device)

    def view(self, factor: type[Factor]) -> TensorArray:
        """(B, N, d) of the factor's column."""
        return self.columns[factor.root].transpose(2, 1, 0)

    def order(self) -> None:
        """Recompute `rank`: some Order changed."""
        key = torch.full_like(self.rank, _NEVER)
        if Order in self.tensors:
            has = self.numbers.tensor(self.host.marks(Order))
            key = torch.where(self.present & has[:, None], self.tensors[Order][0], key)
        sequence = self._insertion.argsort(dim=0)
        for by in (key, (~self.present).long()):
            sequence = sequence.gather(0, by.gather(0, sequence).argsort(dim=0, stable=True))
        self.rank.copy_(sequence.argsort(dim=0))

    def read_into(self, state: State) -> None:
        """Copy the columns into a state of NumPy, whose columns cannot be written after that.

        :raises InputError: something went wrong on the device since it was read last.
        """
        self.faults.check()
        for root, tensor in self.tensors.items():
            column = tensor.cpu().numpy().astype(state.columns[root].dtype)
            column.flags.writeable = False
            state.columns[root] = column


class Faults:
    """What goes wrong on a device, kept there until a person reads the state: telling it at once would wait for it."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._found: dict[str, tuple[Tensor, Callable[[int], str]]] = {}

    def add(self, name: str, where: Tensor, told: Callable[[int], str]) -> None:
        """Keep the place of the first fault of a kind.

        :param where: bool, true at faults.
        :param told: the message for an index into `where`, flattened.
        """
        if name not in self._found:
            self._found[name] = torch.full((), _NEVER, device=self._device), told
        flat = where.reshape(-1)
        places = torch.arange(len(flat), device=self._device)
        first = torch.where(flat, places, _NEVER).amin()
        self._found[name][0].copy_(torch.minimum(self._found[name][0], first))

    def clear(self) -> None:
        """Forget all."""
        self._found.clear()

    def check(self) -> None:
        """:raises InputError: there was a fault."""
        for first, told in self._found.values():
            place = int(first)
            if place != _NEVER:
                raise InputError(told(place))
