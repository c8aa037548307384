"""Frozen scores of one relation's facts: tables while they fit, known facts as sorted keys, products where they do not.

A scorer is a module that is called with ids of a world's vocabulary (0 is nothing, i + 1 is entity i):

    scorer(subject, object, given, partners) -> (B, A) float32

subject, object and given are (B, A) int64; `partners` (B, P) says who may be given where `given` is 0, and the best of
them counts (both choices must be right, so the best pair counts, not the sum over pairs). Where subject or object is
nothing the score is 0.
"""

import torch
from torch import nn
from torch.nn import functional

from .links.nary_predictor import NaryPredictor

FLOOR = -30.0  # log-probabilities end here, so that half precision and mixtures stay finite
PAIRS_AT_ONCE = 1 << 14  # of a product of scores: bounds its memory


class BinaryTable(nn.Module):
    """Scores of every fact (row, relation, column) as a dense table (N, N)."""

    table: torch.Tensor

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("table", table, persistent=False)

    def forward(
        self, subject: torch.Tensor, object: torch.Tensor, given: torch.Tensor, partners: torch.Tensor | None
    ) -> torch.Tensor:
        return self.table[subject - 1, object - 1] * ((object > 0) & (subject > 0))


class PairTable(nn.Module):
    """log p(object | unordered pair of subject and given) as a table with a row for each object and a column for each
    pair, float16: pairs of one choice are then looked up near each other."""

    table: torch.Tensor
    _pair_start: torch.Tensor

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("table", table, persistent=False)
        self.register_buffer("_pair_start", pair_starts(len(table)).to(table.device), persistent=False)

    def forward(
        self, subject: torch.Tensor, object: torch.Tensor, given: torch.Tensor, partners: torch.Tensor | None
    ) -> torch.Tensor:
        partner = _partners(subject, given, partners)
        low = torch.minimum(subject[:, :, None], partner).sub(1).clamp_min(0)
        high = torch.maximum(subject[:, :, None], partner).sub(1).clamp_min(0)
        pairs = self._pair_start[low] + high
        # A flat look-up is the fastest gather that torch has on the CPU.
        log_p = self.table.take((object - 1).clamp_min(0)[:, :, None] * self.table.shape[1] + pairs).float()
        return _best(log_p, partner).clamp_min(FLOOR) * ((object > 0) & (subject > 0))


class PairProducts(nn.Module):
    """The scores of `PairTable` where the table would be too large: worked out when they are asked for. What a pair's
    probabilities are divided by is kept once it was needed: N (N + 1) / 2 numbers for each network, at most."""

    _normaliser: torch.Tensor
    _pair_start: torch.Tensor
    _ids: torch.Tensor

    def __init__(self, predictor: NaryPredictor, ids: torch.Tensor) -> None:
        """:param ids: (N,) int64, the predictor's id of each entity."""
        super().__init__()
        self.predictor = predictor
        size = len(ids)
        unknown = torch.full((size * (size + 1) // 2, predictor.members), torch.nan, device=ids.device)
        self.register_buffer("_normaliser", unknown, persistent=False)
        self.register_buffer("_pair_start", pair_starts(size).to(ids.device), persistent=False)
        self.register_buffer("_ids", ids, persistent=False)

    def forward(
        self, subject: torch.Tensor, object: torch.Tensor, given: torch.Tensor, partners: torch.Tensor | None
    ) -> torch.Tensor:
        partner = _partners(subject, given, partners)
        low = torch.minimum(subject[:, :, None], partner).sub(1)
        high = torch.maximum(subject[:, :, None], partner).sub(1)
        product = (object - 1)[:, :, None].expand_as(low)
        asked = ((low >= 0) & (product >= 0)).nonzero(as_tuple=True)
        size = len(self._ids)
        # A pair stands on a table twice, and in several choices: each is worked out once.
        keys, place = torch.unique((low[asked] * size + high[asked]) * size + product[asked], return_inverse=True)
        log_p = torch.full(low.shape, -torch.inf, device=low.device)
        log_p[asked] = self._log_probability(keys // size // size, keys // size % size, keys % size)[place]
        return _best(log_p, partner).clamp_min(FLOOR) * ((object > 0) & (subject > 0))

    def _log_probability(self, first: torch.Tensor, second: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
        pairs = self._pair_start[first] + second
        ids, predictor = self._ids, self.predictor
        new = torch.unique(pairs[self._normaliser[pairs, 0].isnan()])
        if len(new):
            begins = self._pair_start + torch.arange(
                len(ids), device=new.device
            )  # of the pairs {i, i}, {i, i + 1}, ...
            low = torch.searchsorted(begins, new, right=True) - 1
            high = new - self._pair_start[low]
            for part in torch.arange(len(new), device=new.device).split(PAIRS_AT_ONCE):
                self._normaliser[new[part]] = predictor.normalisers(ids[low[part]], ids[high[part]])
        found = [
            predictor.log_probability(ids[a], ids[b], ids[c], self._normaliser[pair])
            for a, b, c, pair in zip(
                *(part.split(PAIRS_AT_ONCE) for part in (first, second, product, pairs)), strict=True
            )
        ]
        return torch.cat(found) if found else torch.empty(0, device=first.device)


class KnownFacts(nn.Module):
    """1 for a fact that is known, 0 for any other: nothing is learned. Facts are sorted keys, so they may be millions.

    The key of a fact is (subject * (N + 1) + given) * (N + 1) + object, and given is 0 where there is no third party.
    """

    keys: torch.Tensor

    def __init__(self, facts: torch.Tensor, size: int, *, parties: int, either: bool = False) -> None:
        """
        :param facts: (n, 3) int64 rows (subject, given, object) of ids from 1.
        :param size: N, how many entities there are.
        :param parties: 2 or 3.
        :param either: the order of subject and given does not matter.
        """
        super().__init__()
        self.size, self.parties, self.either = size + 1, parties, either
        self.register_buffer("keys", torch.unique(self._key(*facts.T)), persistent=False)

    def forward(
        self, subject: torch.Tensor, object: torch.Tensor, given: torch.Tensor, partners: torch.Tensor | None
    ) -> torch.Tensor:
        there = (object > 0) & (subject > 0)
        if self.parties == 2:
            return (self._known(self._key(subject, torch.zeros_like(given), object)) & there).float()
        partner = _partners(subject, given, partners)
        keys = self._key(subject[:, :, None], partner, object[:, :, None])
        return ((self._known(keys) & (partner > 0)).any(2) & there).float()

    def _key(self, subject: torch.Tensor, given: torch.Tensor, object: torch.Tensor) -> torch.Tensor:
        if self.either:
            subject, given = torch.minimum(subject, given), torch.maximum(subject, given)
        return (subject * self.size + given) * self.size + object

    def _known(self, keys: torch.Tensor) -> torch.Tensor:
        if not len(self.keys):
            return torch.zeros_like(keys, dtype=torch.bool)
        place = torch.searchsorted(self.keys, keys).clamp_max(len(self.keys) - 1)
        return self.keys[place] == keys


class HeldOut(nn.Module):
    """In training mode the scores of predictors that have not seen the fact, else those of the whole."""

    def __init__(self, whole: nn.Module, held_out: nn.Module) -> None:
        super().__init__()
        self.whole, self.held_out = whole, held_out

    def forward(
        self, subject: torch.Tensor, object: torch.Tensor, given: torch.Tensor, partners: torch.Tensor | None
    ) -> torch.Tensor:
        return (self.held_out if self.training else self.whole)(subject, object, given, partners)


def pair_starts(size: int) -> torch.Tensor:
    """(N,) int64: the column of the unordered pair {i, j}, i <= j, in a table of pairs is start[i] + j."""
    ids = torch.arange(size)
    return ids * size - ids * (ids + 1) // 2


def _partners(subject: torch.Tensor, given: torch.Tensor, partners: torch.Tensor | None) -> torch.Tensor:
    """(B, A, P): who is given to each candidate, or may be; 0 where there is nobody."""
    open_ = (given == 0) & (subject > 0)
    # With everything given there is one partner each. Asked on the CPU only, where the answer costs nothing.
    if partners is None or (given.device.type == "cpu" and not open_.any()):
        return given[:, :, None]
    chosen = functional.pad(given[:, :, None], (0, partners.shape[1] - 1))
    return torch.where(open_[:, :, None], partners[:, None, :], chosen)


def _best(scores: torch.Tensor, partner: torch.Tensor) -> torch.Tensor:
    return scores.masked_fill(partner == 0, -torch.inf).amax(2)
