"""Relation scores: frozen scorers, from link predictors or known facts, which score the choices of a policy."""

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.settings import checked_methods
from gumption.data.writing import sole_writer, whole_file

from .action_facts import ActionFacts
from .facts import NaryRelation, relation_name, stated_name
from .links.nary_predictor import PairPredictor
from .links.predictor import LinkPredictor
from .names import Names
from .vocabulary import unknown_label

# ---- Scorers of a relation: tables if they fit, else scores computed at each call; known facts as sorted keys.
#
# A scorer is a module whose arguments are ids of a world's vocabulary (0 is nothing, i + 1 is entity i):
#
#     scorer(subject, object, given, partners) -> (B, A) float32
#
# subject, object and given are (B, A) int64; `partners` (B, P) are the candidates for `given` where it is 0, and the
# best candidate counts (both choices must be right, so the best pair counts, not the sum over pairs). Arguments and
# result are all tensors or all NumPy arrays, with bit-identical values: for few choices torch's dispatch takes longer
# than the look-up.
#
# A calibrated score is log p - log 1/N: the log ratio of the fact's probability to that of a uniform draw from N
# entities. 0 is neutral: it is the score if subject or object is nothing, or the predictor lacks an entity.

VERSION = 2  # version of the scores' definition; scores of version 1 were log p
RULE = 1  # version of the rule that a score supports a thing only once, see `RelationScores`; earlier there was no rule

FLOOR = -30.0  # least log-probability, so that half precision and mixtures stay finite
PAIRS_AT_ONCE = 1 << 14  # pairs per batch, which bounds memory


class BinaryTable(nn.Module):
    """Hold the scores of all facts (row, relation, column) in a dense table (N, N)."""

    table: torch.Tensor

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("table", table, persistent=False)

    def forward(self, subject: Any, object: Any, given: Any, partners: Any) -> Any:
        return _as(self.table, subject)[subject - 1, object - 1] * ((object > 0) & (subject > 0))


class PairTable(nn.Module):
    """Hold log p(object | unordered pair of subject and given) in a float16 table with a row for each object and a
    column for each pair. In this layout the pairs of a choice lie close together.

    :ivar chance: log 1/N, which is subtracted; entries of unknown entities equal it.
    """

    _table: torch.Tensor
    _pair_start: torch.Tensor

    def __init__(
        self, table: torch.Tensor, chance: float, products: "PairProducts | None" = None, place: Path | None = None
    ) -> None:
        """
        :param products: computes the columns at first use, all pairs of a first entity together, so that their values
            do not depend on the time of the first use; None if the table is whole.
        :param place: the file of the whole table, which the first process writes and others read.
        """
        super().__init__()
        self.chance, self._products, self._place = chance, products, place
        self._made = np.zeros(len(table), dtype=bool)
        self.register_buffer("_table", table, persistent=False)
        self.register_buffer("_pair_start", pair_starts(len(table)).to(table.device), persistent=False)

    @property
    def table(self) -> torch.Tensor:
        """The whole table, (N, N (N + 1) / 2) float16.

        :raises InputError: log-probabilities that are NaN or infinite.
        """
        return self.made(np.arange(len(self._table)))

    @torch.no_grad()
    def made(self, first: np.ndarray) -> torch.Tensor:
        """Return the table with at least the columns of pairs of these first entities, from 0; errors as `table`."""
        products = self._products  # read once: another thread may make the last columns meanwhile
        if products is not None and not self._made[first].all():
            missing = np.unique(first[~self._made[first]])
            if others_soon := len(missing) + self._made.sum() > len(self._made) // 2:
                missing = np.flatnonzero(~self._made)
            if self._place is not None and (others_soon or self._place.exists()):
                self._share(products, self._place)
            if not self._made[missing].all():
                self._make(products, missing)
            if self._made.all():
                self._products = None
        return self._table

    def _make(self, products: "PairProducts", missing: np.ndarray, wanted: torch.Tensor | None = None) -> None:
        with Bar(len(missing), "scores of pairs") as bar:
            for done, one in enumerate(missing.tolist(), start=1):
                others = torch.arange(one, len(self._made), device=self._table.device)
                others = others if wanted is None else others[wanted[one, one:].to(others.device)]
                columns = products.table_columns(torch.full_like(others, one), others)
                self._table[:, self._pair_start[one] + others] = columns.T
                self._made[one] = True
                bar.show(done)

    def _share(self, products: "PairProducts", place: Path) -> None:
        """Read the table from its file, which the first process writes; all processes then share its memory."""
        with sole_writer(place):
            if not place.exists():
                self._make(products, np.flatnonzero(~self._made))
                with suppress(InputError), whole_file(place) as part, part.open("wb") as file:  # the disk may be full
                    np.save(file, self._table.numpy())
                tables = sorted(place.parent.parent.glob(f"*/{TABLE}*"), key=lambda path: path.stat().st_mtime)
                for old in tables[:-TABLES]:
                    old.unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                self._table = torch.from_numpy(np.load(place, mmap_mode="c"))
                self._made[:] = True

    def _apply(self, *arguments: Any, **more: Any) -> Self:
        self._table, self._products = self.table, None  # only a whole table moves to another device
        return super()._apply(*arguments, **more)

    def forward(self, subject: Any, object: Any, given: Any, partners: Any) -> Any:
        of, partner = _kind(subject), _paired(subject, given, partners)
        low, high = of.minimum(subject[:, :, None], partner) - 1, of.maximum(subject[:, :, None], partner) - 1
        made = self._table if self._products is None else self.made(np.maximum(np.asarray(low), 0))
        table = _as(made, subject)
        # Nothing has the id -1 here; its entry of the table does not count. A flat look-up is torch's fastest gather on
        # the CPU.
        pairs = _as(self._pair_start, subject)[low] + high
        log_p = table.take((object - 1)[:, :, None] * table.shape[1] + pairs)
        log_p = log_p.astype(np.float32) if of is np else log_p.float()
        return (_best(log_p, partner) - self.chance) * ((object > 0) & (subject > 0))


class PairProducts(nn.Module):
    """Compute the scores of `PairTable` at each call, if the table would be too large. The normaliser of a pair's
    probabilities is kept: at most N (N + 1) / 2 numbers for each network."""

    _normaliser: torch.Tensor
    _pair_start: torch.Tensor
    _ids: torch.Tensor
    _known: torch.Tensor

    def __init__(self, predictor: PairPredictor, ids: torch.Tensor, known: torch.Tensor) -> None:
        """
        :param ids: (N,) int64, the predictor's id of each entity.
        :param known: (N,) bool, whether the predictor has the entity.
        """
        super().__init__()
        self.predictor, self.chance = predictor, float(torch.tensor(chance_of(predictor)).half())
        size = len(ids)
        unknown = torch.full((size * (size + 1) // 2, predictor.members), torch.nan, device=ids.device)
        self.register_buffer("_normaliser", unknown, persistent=False)
        self.register_buffer("_pair_start", pair_starts(size).to(ids.device), persistent=False)
        self.register_buffer("_ids", ids, persistent=False)
        self.register_buffer("_known", known, persistent=False)

    def forward(
        self, subject: torch.Tensor, object: torch.Tensor, given: torch.Tensor, partners: torch.Tensor | None
    ) -> torch.Tensor:
        partner = _paired(subject, given, partners)
        low = torch.minimum(subject[:, :, None], partner).sub(1)
        high = torch.maximum(subject[:, :, None], partner).sub(1)
        product = (object - 1)[:, :, None].expand_as(low)
        size, known = len(self._ids), self._known
        there = (low >= 0) & (product >= 0) & known[low] & known[high] & known[product]
        asked = there.nonzero(as_tuple=True)
        # A pair occurs in several choices and in both orders; compute it once.
        keys, place = torch.unique((low[asked] * size + high[asked]) * size + product[asked], return_inverse=True)
        log_p = torch.full(low.shape, self.chance, device=low.device)
        log_p[asked] = self._log_probability(keys // size // size, keys // size % size, keys % size)[place]
        return (_best(log_p.clamp_min(FLOOR), partner) - self.chance) * ((object > 0) & (subject > 0))

    def table_columns(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return (n, N) float16, the `PairTable` columns of n pairs; `chance` where an entity is unknown.

        :param first, second: (n,) int64 entities from 0.
        :raises InputError: log-probabilities that are NaN or infinite.
        """
        ids, known = self._ids, self._known
        log_p = self.predictor.log_probabilities(ids[first], ids[second])[:, ids].clamp_min(FLOOR)
        rows = _of_known(log_p, known, self.chance, known[first] & known[second]).half()
        return _finite(rows, "the objects of pairs", rows.device)

    def _log_probability(self, first: torch.Tensor, second: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
        pairs = self._pair_start[first] + second
        ids, predictor = self._ids, self.predictor
        new = torch.unique(pairs[self._normaliser[pairs, 0].isnan()])
        if len(new):
            # The first columns of the pairs {i, i}, {i, i + 1}, ...
            begins = self._pair_start + torch.arange(len(ids), device=new.device)
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
    """Score a known fact 1 (or `weight`) and any other 0, without learning. Facts are stored as sorted keys, so
    millions fit.

    The key of a fact is (subject * (N + 1) + given) * (N + 1) + object; given is 0 in a relation of two parties.
    """

    keys: torch.Tensor

    def __init__(self, facts: torch.Tensor, size: int, *, parties: int, either: bool = False) -> None:
        """
        :param facts: (n, 3) int64 rows (subject, given, object) of ids from 1.
        :param size: N, the number of entities.
        :param parties: 2 or 3.
        :param either: whether the order of subject and given does not matter.
        """
        super().__init__()
        self.size, self.parties, self.either, self.weight = size + 1, parties, either, 1.0
        self.register_buffer("keys", torch.unique(self._key(*facts.T)), persistent=False)

    def rows(self) -> np.ndarray:
        """Return the facts as (n, 3) int64 (subject, given, object), sorted."""
        keys = self.keys.cpu().numpy()
        return np.stack([keys // self.size // self.size, keys // self.size % self.size, keys % self.size], axis=1)

    def forward(self, subject: Any, object: Any, given: Any, partners: Any) -> Any:
        there = (object > 0) & (subject > 0)
        if self.parties == 2:
            known = self._known(self._key(subject, 0, object))
        else:
            partner = _paired(subject, given, partners)
            known = (self._known(self._key(subject[:, :, None], partner, object[:, :, None])) & (partner > 0)).any(2)
        return (known & there) * (np.float32(self.weight) if _kind(subject) is np else self.weight)

    def _key(self, subject: Any, given: Any, object: Any) -> Any:
        if self.either:
            of = _kind(subject)
            subject, given = of.minimum(subject, given), of.maximum(subject, given)
        return (subject * self.size + given) * self.size + object

    def _known(self, wanted: Any) -> Any:
        keys = _as(self.keys, wanted)
        if not len(keys):
            return wanted < 0
        return keys[_kind(wanted).searchsorted(keys[:-1], wanted)] == wanted


class HeldOut(nn.Module):
    """Score with `held_out`, predictors that were not trained on the fact, in training mode; otherwise with `whole`."""

    def __init__(self, whole: nn.Module, held_out: nn.Module) -> None:
        super().__init__()
        self.whole, self.held_out = whole, held_out

    @property
    def now(self) -> nn.Module:
        """The scorer for the present mode."""
        return self.held_out if self.training else self.whole

    def forward(self, subject: Any, object: Any, given: Any, partners: Any) -> Any:
        return self.now(subject, object, given, partners)


def pair_starts(size: int) -> torch.Tensor:
    """Return (N,) int64 starts: in a table of pairs the unordered pair {i, j}, i <= j, has the column start[i] + j."""
    ids = torch.arange(size)
    return ids * size - ids * (ids + 1) // 2


def _kind(ids: Any) -> Any:
    """Return the module with the functions for these arrays: NumPy or torch."""
    return np if isinstance(ids, np.ndarray) else torch


def _as(tensor: torch.Tensor, ids: Any) -> Any:
    """Return the tensor as an array of the same kind as the ids."""
    return tensor.numpy() if isinstance(ids, np.ndarray) else tensor


def _paired(subject: Any, given: Any, partners: Any) -> Any:
    """Return (B, A, P), the partner or the possible partners of each candidate; 0 for none."""
    open_ = (given == 0) & (subject > 0)
    # If `given` is complete, each candidate has a single partner. The check is free on the CPU only.
    if partners is None or ((_kind(given) is np or given.device.type == "cpu") and not open_.any()):
        return given[:, :, None]
    return _kind(given).where(open_[:, :, None], partners[:, None, :], given[:, :, None])


def chance_of(predictor: LinkPredictor) -> float:
    """Return log 1/N of a predictor of N entities."""
    return -math.log(len(predictor.vocabulary.entities))


def _best(scores: Any, partner: Any) -> Any:
    """Return (B, A), the best score (B, A, P) over the partners; `FLOOR` without partners."""
    of = _kind(scores)
    return of.amax(of.where(partner == 0, FLOOR, scores), 2)


FEW = 256  # choices times relations up to which NumPy is faster than torch; a single gather always is
SMALL_TABLE = 1 << 22  # entries up to which a table is copied, with a row and a column of zeros for nothing (id 0)

LookUp = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]


def quick_form(scorer: nn.Module) -> tuple[LookUp, bool] | None:
    """Return a NumPy function (subject, object, given, partners) -> (B, A) float32 with the scorer's values, and if it
    beats torch for any number of choices: a single gather from a table whose first row and column are 0. Return None if
    the scorer has no such form."""
    if isinstance(scorer, HeldOut):
        return quick_form(scorer.now)
    if not isinstance(scorer, BinaryTable | PairTable | KnownFacts):
        return None
    if any(buffer.device.type != "cpu" for buffer in scorer.buffers()):
        return None
    if isinstance(scorer, BinaryTable) and scorer.table.numel() <= SMALL_TABLE:
        table = np.pad(scorer.table.numpy(), ((1, 0), (1, 0)))
    elif isinstance(scorer, KnownFacts) and scorer.parties == 2 and scorer.size**2 <= SMALL_TABLE:
        keys, table = scorer.keys.numpy(), np.zeros((scorer.size, scorer.size), dtype=np.float32)
        table[keys // scorer.size**2, keys % scorer.size] = scorer.weight  # relations of two parties: given is 0
    else:
        return scorer.forward, False
    return lambda subject, object_, given, partners: table[subject, object_], True


# ---- Scores


# The maximum size of a table of pairs and products: at 16 bits an entry, about 860 entities. Beyond it scores are
# computed at each call. A table of a relation of two parties may be four times as large, for about 25,000 entities.
TABLE_BYTES = 5 << 27
TABLE, TABLES = "pairs-", 4  # prefix of the file of a table's scores, and the number of such files that are kept


#: The facts that use a thing twice: relation -> (n, 2) int64 rows (thing, object) of env ids. They stand for (thing,
#: relation, thing) with two parties, and for (thing, given itself, relation, object) with three.
Repeats = Mapping[str, np.ndarray]


@checked_methods
class RelationScores(nn.Module):
    """Score the facts that support a choice, with a scorer for each of K relations.

    In training mode (`train()`) a scorer that holds facts out (`HeldOut`) scores a fact by predictors that were not
    trained on it: scores of training facts are then no better than scores of unseen facts.

    A score supports a thing only once. A candidate that is already chosen gets, for each relation, the least score
    among the environment's candidates, unless one of its facts is in `repeats`.

    :ivar entities: N labels; env id i + 1 is entities[i].
    :ivar relations: K names.
    :ivar repeats: for any relations, scored or not; if some have three parties, which state the whole fact, only these.
    """

    def __init__(
        self, entities: Sequence[str], scorers: Mapping[str, nn.Module], repeats: Repeats | None = None
    ) -> None:
        """
        :param scorers: a scorer for each relation, such as a `PairTable`.
        :param repeats: see `Repeats`; None if no fact uses a thing twice.
        """
        super().__init__()
        self.entities, self.relations = tuple(entities), tuple(scorers)
        self.repeats = dict(repeats or {})
        self.scorers = nn.ModuleList(scorers.values())
        self._quick: tuple[tuple[LookUp, bool] | None, ...] | None = None  # built at first use
        self.eval()

    def train(self, mode: bool = True) -> Self:
        self._quick = None
        return super().train(mode)

    def _apply(self, *arguments: Any, **more: Any) -> Self:
        self._quick = None  # the tables move
        return super()._apply(*arguments, **more)

    def twin(self) -> "RelationScores":
        """Return a copy that shares the scorers' tables but has its own training mode."""
        other = copy(self)
        other._modules = {"scorers": nn.ModuleList(copy(scorer) for scorer in self.scorers)}
        return other.eval()

    def action_scores(self, facts: ActionFacts) -> torch.Tensor:
        """Return (B, A, K) float32 on the device of the scorers, 0 where a fact has no subject or no object. The facts
        may contain relations that are not scored.

        :raises InputError: a scored relation without facts.
        """
        scores = self._first_scores(facts)
        again = facts.again
        if not again.any():
            return scores
        again &= ~self._repeated(facts, again)
        there = torch.from_numpy(facts.named > 0).to(scores.device)[:, :, None]
        least = scores.masked_fill(~there, torch.inf).amin(1, keepdim=True)
        return torch.where(torch.from_numpy(again).to(scores.device)[:, :, None], least, scores)

    def _repeated(self, facts: ActionFacts, again: np.ndarray) -> np.ndarray:
        """Return (B, A) bool: candidates that are already chosen and have a fact that uses them twice."""
        at = np.nonzero(again)
        repeated = np.zeros(again.shape, dtype=bool)
        for k, relation in enumerate(facts.relations):
            rows = self.repeats.get(stated_name(relation))
            if rows is None or not len(rows):
                continue
            subject, object_, given = (part[*at, k] for part in (facts.subject, facts.object, facts.given))
            size = len(self.entities) + 1
            stated = np.isin(subject * size + object_, rows[:, 0] * size + rows[:, 1])
            repeated[at] |= stated & ((given == 0) | (given == subject))
        return repeated

    def _first_scores(self, facts: ActionFacts) -> torch.Tensor:
        """Return `action_scores` for the case that nothing is chosen yet."""
        for relation in self.relations:
            if relation not in facts.relations:
                raise InputError(
                    f"the scores are of {', '.join(self.relations)}, and the choices are about "
                    f"{', '.join(facts.relations)}: nothing speaks for a choice by {relation!r}"
                )
        columns = [facts.relations.index(relation) for relation in self.relations]
        if not columns:
            return torch.empty(*facts.subject.shape[:2], 0, device=self.device)
        if self._quick is None:
            self._quick = tuple(quick_form(scorer) for scorer in self.scorers)
        few, forms = facts.subject.size <= FEW, [form for form in self._quick if form is not None]
        if len(forms) < len(columns) or not (few or all(always for _, always in forms)):
            return self._gathered(columns, facts)
        scores = np.empty((*facts.subject.shape[:2], len(columns)), dtype=np.float32)
        for place, (k, (look_up, _)) in enumerate(zip(columns, forms, strict=True)):
            parts = facts.subject[:, :, k], facts.object[:, :, k], facts.given[:, :, k]
            scores[:, :, place] = look_up(*parts, facts.partners)
        return torch.from_numpy(scores)

    @torch.no_grad()
    def _gathered(self, columns: Sequence[int], facts: ActionFacts) -> torch.Tensor:
        device = self.device
        partners = None if facts.partners is None else torch.from_numpy(facts.partners).to(device)
        scores = []
        for k, scorer in zip(columns, self.scorers, strict=True):
            parts = (torch.from_numpy(part[:, :, k]).to(device) for part in (facts.subject, facts.object, facts.given))
            scores.append(scorer(*parts, partners))
        return torch.stack(scores, dim=2)

    @property
    def device(self) -> torch.device:
        """The device of the scores."""
        return next(iter(self.buffers()), torch.empty(0)).device


@torch.no_grad()
def binary_scorer(
    predictor: LinkPredictor,
    relation: str,
    entities: Sequence[str],
    *,
    calibrated: bool = True,
    unknown: Collection[str] = (),
    device: torch.device | str = "cpu",
) -> BinaryTable:
    """Compute the table of a relation of two parties.

    A calibrated score is the mean of log softmax over objects and log softmax over subjects, minus log 1/N, so that
    scores are comparable across rows. Raw scores of ComplEx are comparable within a query only, and an entity's score
    with itself is the largest. Scores of unknown entities are 0.

    :param unknown: entities of the predictor to treat as unknown.
    :raises InputError: the predictor lacks the relation or all entities (with near matches); scores that are not
        finite; a table larger than four times TABLE_BYTES.
    """
    ids, known = _ids(predictor, entities, unknown)
    relations = torch.full_like(ids, predictor.vocabulary.relation_id(relation))
    if (needed := 4 * len(ids) ** 2) > 4 * TABLE_BYTES:
        raise InputError(
            f"a table of {relation} over {len(ids)} entities takes {needed >> 20} MiB, more than "
            f"{4 * TABLE_BYTES >> 20}: leave this relation out"
        )
    rows = predictor.questions_at_once()
    if not calibrated:
        parts = [
            predictor.object_scores(s, r)[:, ids] for s, r in zip(ids.split(rows), relations.split(rows), strict=True)
        ]
        return BinaryTable(_finite(_of_known(torch.cat(parts), known, 0.0), relation, device))
    both = torch.zeros(len(ids), len(ids), device=predictor.device)
    for place in torch.arange(len(ids), device=ids.device).split(rows):
        some = ids[place], relations[: len(place)]
        both[place] += predictor.object_scores(*some).log_softmax(1)[:, ids]
        both[:, place] += predictor.subject_scores(some[1], some[0]).log_softmax(1)[:, ids].T
    ratios = (both / 2).clamp_min(FLOOR) - chance_of(predictor)
    return BinaryTable(_finite(_of_known(ratios, known, 0.0), relation, device))


@torch.no_grad()
def pair_scorer(
    predictor: PairPredictor,
    entities: Sequence[str],
    *,
    wanted: torch.Tensor | None = None,
    unknown: Collection[str] = (),
    device: torch.device | str = "cpu",
) -> PairTable | PairProducts:
    """Make the scorer log p(object | pair) - log 1/N of a relation of three parties: a table if it fits into
    TABLE_BYTES, else computed at each call. On the CPU, columns of the table are computed at first use.

    :param wanted: (N, N) bool, the pairs for the table; the entries of other pairs stay 0.
    :param unknown: as in `binary_scorer`.
    """
    ids, known = _ids(predictor, entities, unknown)
    size = len(ids)
    if size * (size + 1) * size > TABLE_BYTES:
        return PairProducts(predictor.to(device), ids.to(device), known.to(device))
    products = PairProducts(predictor, ids, known)
    table = torch.zeros(size, size * (size + 1) // 2, dtype=torch.float16, device=predictor.device)
    if wanted is None:
        place = None
        if predictor.place is not None and table.device.type == "cpu":
            of = hashlib.sha256(ids.numpy().tobytes() + known.numpy().tobytes()).hexdigest()
            place = predictor.place / f"{TABLE}{of[:16]}.npy"
        made = PairTable(table, products.chance, products, place)
        return made if torch.device(device) == table.device == torch.device("cpu") else made.to(device)
    made = PairTable(table, products.chance)
    made._make(products, np.arange(size), wanted)
    return made.to(device)


def _of_known(
    table: torch.Tensor, known: torch.Tensor, neutral: float, rows: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the table with `neutral` in the rows and columns of unknown entities."""
    if known.all():
        return table
    rows = known if rows is None else rows
    return table.masked_fill(~(rows[:, None] & known), neutral)


def known_scores(
    rows: Mapping[str | NaryRelation, np.ndarray],
    entities: Sequence[str],
    device: torch.device | str = "cpu",
    repeats: Repeats | None = None,
) -> RelationScores:
    """Score by plain look-up: 1 for a known fact, 0 for any other.

    :param rows: the facts of each relation, (n, 3) int64 env ids (subject, given, object); given is 0 in a relation of
        two parties.
    :param repeats: the graph's facts that use a thing twice; see `RelationScores`.
    """
    scorers: dict[str, nn.Module] = {}
    for relation, facts in rows.items():
        nary = isinstance(relation, NaryRelation)
        either = nary and relation.subject == relation.given
        parties = 3 if nary else 2
        scorer = KnownFacts(torch.from_numpy(facts), len(entities), parties=parties, either=either)
        scorers[relation_name(relation)] = scorer.to(device)
    return RelationScores(entities, scorers, repeats)


def _ids(
    predictor: LinkPredictor, entities: Sequence[str], unknown: Collection[str]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (N,) int64, the predictor's id of each entity (0 if it lacks it), and (N,) bool, whether it has it."""
    mine = predictor.vocabulary.entities
    called, left_out = Names(predictor.vocabulary).known(entities), frozenset(unknown)
    known = [entity in called and entity not in left_out for entity in entities]
    if not any(known):
        near = unknown_label("entity", entities[0], mine)
        raise InputError(f"the predictor knows none of the world's {len(entities)} entities: {near}")
    labels = [called[entity] if there else mine[0] for entity, there in zip(entities, known, strict=True)]
    ids = predictor.vocabulary.entity_ids(labels)
    return torch.from_numpy(ids).to(predictor.device), torch.tensor(known, device=predictor.device)


def _finite(table: torch.Tensor, what: str, device: torch.device | str) -> torch.Tensor:
    if not table.isfinite().all():
        raise InputError(f"the predictor gives scores for {what} that are NaN or infinite; train it again")
    return table.to(device)
