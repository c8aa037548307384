"""Who lies on whom, in torch tensors; the same formulas as in geometry.py."""

import torch
from torch import Tensor

from .factors import Floor, Position, Size
from .geometry import EPS
from .state import CIRCLE, POLYGON
from .torch_state import TensorState


def is_on(state: TensorState, whole: bool) -> Tensor:
    """(N, N, B) bool; see `geometry.is_on`."""
    n, batch = state.slots, state.num_envs
    floors, placed = state.host.marks(Floor), state.host.marks(Position)
    things, tiles, grounds = ((~floors & placed).nonzero()[0], floors.nonzero()[0], (~placed).nonzero()[0])
    found = torch.zeros((n, n, batch), dtype=torch.bool, device=state.numbers.device)
    i = state.numbers.tensor(things)
    if len(things) and len(tiles):
        j = state.numbers.tensor(tiles)
        over, inside = _lies_on(state, i, j)
        over = over & state.present[i][:, None] & state.present[j]
        rank = torch.where(over, state.rank[j], n)
        top = over & (rank == rank.amin(dim=1, keepdim=True))
        found[i[:, None], j] = top & inside if whole else top
    if len(things) and len(grounds) and not whole:
        j = state.numbers.tensor(grounds)
        found[i[:, None], j] = state.present[i][:, None] & state.present[j]
    return found


def overlaps(state: TensorState) -> Tensor:
    """(N, N, B) bool; see `geometry.overlaps`."""
    placed = state.numbers.tensor(state.host.marks(Position))[:, None]
    there = state.present & placed
    slots = torch.arange(state.slots, device=state.numbers.device)
    over, _ = _lies_on(state, slots, slots)
    round_one = (state.kinds == POLYGON)[:, None] & (state.kinds != POLYGON)
    over = torch.where(round_one, over.transpose(0, 1), over)
    return over & there[:, None] & there & (slots[:, None] != slots)[..., None]


def _lies_on(state: TensorState, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
    """(n, m, B) whether circles (or points) i and j overlap, or the centre of i is inside polygon j; and whether i lies
    inside j as a whole.
    """
    size, x = _size(state), state.tensors[Position]
    apart = x[:, i][:, :, None] - x[:, j][:, None]
    radius = torch.where(state.kinds[i] == CIRCLE, size[i] / 2, 0.0)[:, None]
    distance = (apart[0] * apart[0] + apart[1] * apart[1]).sqrt()
    circle, half = state.kinds[j] == CIRCLE, size[j] / 2
    over, inside = circle & (distance <= half + radius + EPS), circle & (distance <= half - radius)
    if not state.polygons:
        return over, inside
    polygon, depth = state.kinds[j] == POLYGON, _depth(state, apart, j, size)
    return over | polygon & (depth >= 0.0), inside | polygon & (depth >= radius)


def _size(state: TensorState) -> Tensor:
    return state.tensors[Size][0] if Size in state.tensors else torch.zeros_like(state.drawn_size)


def _depth(state: TensorState, point: Tensor, j: Tensor, size: Tensor) -> Tensor:
    """(n, m, B) how far points (2, n, m, B), relative to the positions of polygons j, lie inside; else negative."""
    scale = size[j] / state.drawn_size[j]
    corners = state.corners[:, :, j] * scale
    count, most = state.corner_counts[j], len(corners)
    numbers = torch.arange(most, device=count.device)[:, None, None]
    there = numbers < count
    last = (numbers - 1).expand(there.shape).clone()
    last[0] = (count - 1).clamp(min=0)
    before = corners.gather(0, last[:, None].expand(corners.shape))
    edge = corners - before
    ex, ey = edge[:, 0, None], edge[:, 1, None]
    left = ex * (point[1] - before[:, 1, None]) - ey * (point[0] - before[:, 0, None])
    length = (edge[:, 0] * edge[:, 0] + edge[:, 1] * edge[:, 1]).sqrt()[:, None]
    counts = there[:, None] & (length > 0.0)
    away = torch.where(counts, left / torch.where(counts, length, 1.0), torch.inf).amin(dim=0)
    outside = (there[:, None] & (left < 0.0)).any(dim=0)
    return torch.where(outside, -1.0, away)
