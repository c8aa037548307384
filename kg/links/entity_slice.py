"""The entities that one of several processes holds, where link prediction is trained by more than one (torchrun)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import distributed
from torch.nn import functional


@contextmanager
def processes(device: str = "auto") -> Iterator[tuple[str, bool]]:
    """Join the other processes of a torchrun, if this is one of them: NCCL on GPUs, a GPU each, else Gloo.

    Gives the device for this process, and whether it is the first, which is the one to write and to tell.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield device, True
        return
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield device, distributed.get_rank() == 0
    finally:
        distributed.destroy_process_group()


class EntitySlice:
    """The entities that this process holds: ids low to high - 1 of N; all of them where it is the only one."""

    def __init__(self, entities: int) -> None:
        self.alone = not (distributed.is_available() and distributed.is_initialized())
        self.processes = 1 if self.alone else distributed.get_world_size()
        number = 0 if self.alone else distributed.get_rank()
        self.first = number == 0
        self.entities = entities
        self.low = entities * number // self.processes
        self.high = entities * (number + 1) // self.processes

    def mine(self, ids: torch.Tensor) -> torch.Tensor:
        """Which of these ids are held here (bool)."""
        return (ids >= self.low) & (ids < self.high)

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over all processes, in place."""
        if not self.alone:
            distributed.all_reduce(values)
        return values

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """The largest over all processes, in place."""
        if not self.alone:
            distributed.all_reduce(values, distributed.ReduceOp.MAX)
        return values

    def rows(self, table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """(n, width) rows of the table whose slice is held here, wherever they are held."""
        if self.alone:
            return table.index_select(0, ids)
        mine = self.mine(ids)
        found = table.index_select(0, (ids - self.low).where(mine, 0))
        return self.sum(found * mine[:, None])

    def add(self, table: torch.Tensor, ids: torch.Tensor, rows: torch.Tensor) -> None:
        """Add rows to those of the slice that is held here; the others are another process's."""
        if not self.alone:
            mine = self.mine(ids)  # others' rows are added as zeros: leaving them out would wait for a GPU
            ids, rows = (ids - self.low).where(mine, 0), rows * mine[:, None]
        table.index_add_(0, ids, rows)

    def whole(self, table: torch.Tensor) -> torch.Tensor:
        """(N, width) the slices of all processes."""
        if self.alone:
            return table
        longest = -(-self.entities // self.processes)
        padded = functional.pad(table, (0, 0, 0, longest - len(table)))
        parts = [torch.empty_like(padded) for _ in range(self.processes)]
        distributed.all_gather(parts, padded)
        bounds = [self.entities * number // self.processes for number in range(self.processes + 1)]
        return torch.cat([part[: high - low] for part, low, high in zip(parts, bounds, bounds[1:], strict=False)])

    def agreed(self, value: float) -> float:
        """The first process's value, in all of them."""
        if self.alone:
            return value
        told = torch.tensor([value], dtype=torch.float64)
        if distributed.get_backend() == "nccl":
            told = told.cuda()
        distributed.broadcast(told, 0)
        return float(told)
