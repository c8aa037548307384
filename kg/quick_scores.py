"""The look-ups of scorers.py in NumPy: for a handful of choices torch's dispatch takes longer than the look-up.

Each form gives the same bits as its scorer; all but small tables share its memory.
"""

from collections.abc import Callable

import numpy as np
from torch import nn

from .scorers import FLOOR, BinaryTable, HeldOut, KnownFacts, PairTable

# Choices times relations; for more, torch is the faster, but for a `Gather`.
FEW = 256

# Up to so many entries a table is copied with a row and a column for nothing, which then need not be masked.
SMALL_TABLE = 1 << 22

LookUp = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]


def quick_form(scorer: nn.Module) -> LookUp | None:
    """(subject, object, given, partners) -> (B, A) float32, as the scorer on the CPU; None where there is no such
    form."""
    if any(buffer.device.type != "cpu" for buffer in scorer.buffers()):
        return None
    if isinstance(scorer, HeldOut):
        return quick_form(scorer.held_out if scorer.training else scorer.whole)
    if isinstance(scorer, BinaryTable):
        return _binary(scorer)
    if isinstance(scorer, PairTable):
        return _pairs(scorer)
    return _known(scorer) if isinstance(scorer, KnownFacts) else None


def _binary(scorer: BinaryTable) -> LookUp:
    table = scorer.table.numpy()
    if len(table) ** 2 <= SMALL_TABLE:
        return Gather(np.pad(table, ((1, 0), (1, 0))))

    def look_up(s: np.ndarray, o: np.ndarray, g: np.ndarray, partners: np.ndarray | None) -> np.ndarray:
        return table[s - 1, o - 1] * ((o > 0) & (s > 0))

    return look_up


class Gather:
    """A look-up that is one gather from a table (N + 1, N + 1) by ids, whose first row and column are 0. It is the
    faster one for any number of choices."""

    def __init__(self, table: np.ndarray) -> None:
        self._table = table

    def __call__(self, s: np.ndarray, o: np.ndarray, g: np.ndarray, partners: np.ndarray | None) -> np.ndarray:
        return self._table[s, o]


def _pairs(scorer: PairTable) -> LookUp:
    table, start = scorer.table.numpy(), scorer.get_buffer("_pair_start").numpy()

    def look_up(s: np.ndarray, o: np.ndarray, g: np.ndarray, partners: np.ndarray | None) -> np.ndarray:
        partner = _partners(s, g, partners)
        low = np.maximum(np.minimum(s[:, :, None], partner) - 1, 0)
        high = np.maximum(np.maximum(s[:, :, None], partner) - 1, 0)
        log_p = table[np.maximum(o - 1, 0)[:, :, None], start[low] + high].astype(np.float32)
        best = np.where(partner == 0, np.float32(-np.inf), log_p).max(axis=2)
        return np.maximum(best, np.float32(FLOOR)) * ((o > 0) & (s > 0))

    return look_up


def _known(scorer: KnownFacts) -> LookUp:
    keys, size = scorer.keys.numpy(), scorer.size
    three, either = scorer.parties == 3, scorer.either
    if not three and size * size <= SMALL_TABLE:
        table = np.zeros((size, size), dtype=np.float32)
        table[keys // (size * size), keys % size] = 1  # nothing is given: a key is subject * size^2 + object
        return Gather(table)

    def known(wanted: np.ndarray) -> np.ndarray:
        if not len(keys):
            return np.zeros(wanted.shape, dtype=bool)
        return keys[np.minimum(keys.searchsorted(wanted), len(keys) - 1)] == wanted

    def look_up(s: np.ndarray, o: np.ndarray, g: np.ndarray, partners: np.ndarray | None) -> np.ndarray:
        there = (o > 0) & (s > 0)
        if not three:
            return (known(s * (size * size) + o) & there).astype(np.float32)
        first, partner = s[:, :, None], _partners(s, g, partners)
        low, high = (np.minimum(first, partner), np.maximum(first, partner)) if either else (first, partner)
        found = known((low * size + high) * size + o[:, :, None]) & (partner > 0)
        return (found.any(axis=2) & there).astype(np.float32)

    return look_up


def _partners(s: np.ndarray, g: np.ndarray, partners: np.ndarray | None) -> np.ndarray:
    """(B, A, P) as scorers.py has them."""
    open_ = (g == 0) & (s > 0)
    if partners is None or not open_.any():
        return g[:, :, None]
    chosen = np.zeros((*g.shape, partners.shape[1]), dtype=g.dtype)
    chosen[:, :, 0] = g
    return np.where(open_[:, :, None], partners[:, None, :], chosen)
