"""A product of experts for p(object | pair): a recipe predictor and sources that score one party, or abstain.

    log p(c | {a, b}) = u log p_words(c | {a, b}) + sum_i [s_i(a, c) + s_i(b, c) + v_i both_i(a, b, c)] + bias - log Z

p_words is a `NaryPredictor`. s_i(x, c), a weighted sum of the features of source i, scores x as a party of a fact with
the object c. both_i is 1 if source i has features for both parties. If it abstains, its terms are 0 and the other
sources decide. Sources are links of an external graph, or rules mined from such a graph and known facts. An entity
paired with itself counts as one party.

The weights (a log-linear pool, Genest and Zidek 1986; products of small experts: Piriyakulkij et al., 2025) maximise
the likelihood of facts held out from the sources (cross-fitting). Objects of known facts have their own weights,
because the predictor was trained on other facts with the same object.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked, checked_methods, whole_numbers
from gumption.kg.checkpoint import load_checkpoint, pick_device, save_checkpoint
from gumption.kg.facts import pair_marks_of
from gumption.kg.vocabulary import Vocabulary

from .nary_predictor import NaryPredictor, PairPredictor
from .predictor import marks_to_tensors, take_marks

KIND = "gumption/experts/1"
VERSION = 2  # raised when the code learns different weights from the same sources
PREDICTOR = "predictor"  # the source that scores whole facts
UNSEEN, SEEN = 0, 1  # objects without a known fact, and with a known fact
AT_ONCE = 1 << 21  # maximum number of scores (held-out pairs times objects) from which weights are learned
DECAY = 1e-2  # weight of the squared parameters, added to the mean loss; chosen on validation recipes
STEPS = 50  # of the optimiser (L-BFGS)
TABLE = 1 << 27  # maximum entries of a source's table: 11,585 entities
SELF_PAIRS = 0.2  # share of self-pairs among the pairs that make nothing; as in `NarySettings`

Parts = Mapping[str, Sequence[sparse.csr_array]]  # source -> its features, (N, N) with the party in the row


@dataclass(frozen=True)
class Sources:
    """The sources built from one set of known facts.

    :ivar predictor: scores whole facts; None without that source.
    :ivar parts: the features of the other sources.
    """

    predictor: NaryPredictor | None
    parts: Parts


@checked_methods
class Experts(PairPredictor):
    """A frozen product of experts over N entities.

    :ivar sources: the names of its sources.
    :ivar weights: the learned weights: "bias" and "sources" (by name), each for objects without and with known facts;
        "nothing": the bias of the answer "nothing" and the weight of the predictor for it.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        predictor: NaryPredictor | None,
        tensors: Mapping[str, torch.Tensor],
        weights: Mapping[str, Any],
        device: torch.device,
    ) -> None:
        self.vocabulary, self.device, self.weights = vocabulary, device, dict(weights)
        self.predictor = None if predictor is None else predictor.to(device)
        self.tensors = {name: tensor.to(device) for name, tensor in tensors.items()}

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self.weights["sources"])

    @property
    def members(self) -> int:
        return 1 + (0 if self.predictor is None else self.predictor.members)

    def to(self, device: torch.device | str) -> "Experts":
        moved = Experts(self.vocabulary, self.predictor, self.tensors, self.weights, pick_device(device))
        moved.trained_on = self.trained_on
        return moved

    @classmethod
    def fit(
        cls,
        rows: np.ndarray,
        vocabulary: Vocabulary,
        folds: np.ndarray,
        whole: Sources,
        held_out: Sequence[Sources],
        *,
        seed: Seed = 0,
        device: str = "auto",
    ) -> "Experts":
        """Learn the weights of the sources.

        :param rows: (n, 3) int64 known facts (subject, given, object), ids of the vocabulary.
        :param vocabulary: N entities and the two relations of a `PairPredictor`.
        :param folds: (n,) int, the fold of each fact; see `mixed_folds`.
        :param whole: the sources, built from all facts.
        :param held_out: for each fold the same sources, built without its facts.
        :raises InputError: no source, other sources in a fold, features of another shape or not finite; folds that do
            not match the facts.
        """
        rows, folds = whole_numbers("rows", rows, None, 3), whole_numbers("folds", folds, None)
        if len(rows) != len(folds) or not len(rows) or set(np.unique(folds).tolist()) != set(range(len(held_out))):
            raise InputError(f"{len(rows)} facts in {len(np.unique(folds))} folds, and sources without {len(held_out)}")
        for fold in (whole, *held_out):
            _check(fold, whole, len(vocabulary.entities))
        weights = _learn(rows, folds, whole, held_out, len(vocabulary.entities), seed)
        return cls.of(rows, vocabulary, whole, weights, device)

    @classmethod
    def of(
        cls, rows: np.ndarray, vocabulary: Vocabulary, sources: Sources, weights: Mapping[str, Any], device: str
    ) -> "Experts":
        """Build experts from weights learned earlier with the same sources.

        :param rows: (n, 3) the facts from which the sources were built.
        """
        size = len(vocabulary.entities)
        if sources.parts and size**2 > TABLE:
            raise InputError(
                f"a source has a table of {size:,} x {size:,} entities, which is too large: keep the predictor alone"
            )
        seen = torch.full((size,), UNSEEN)
        seen[torch.from_numpy(np.unique(rows[:, 2]))] = SEEN
        value = torch.zeros(len(sources.parts), size, size)
        said = torch.zeros(len(sources.parts), size, size, dtype=torch.bool)
        for place, (name, features) in enumerate(sources.parts.items()):
            of_source = torch.tensor(weights["sources"][name]["features"])[seen].T
            for feature, weight in zip(features, of_source, strict=True):
                dense = torch.from_numpy(feature.toarray().astype(np.float32))
                value[place] += dense * weight
                said[place] |= dense != 0
        both = [torch.tensor(weights["sources"][name]["both"])[seen] for name in sources.parts]
        of_predictor = weights["sources"].get(PREDICTOR, (0.0, 0.0))
        tensors = {
            "bias": torch.tensor(weights["bias"])[seen],
            "nothing": torch.tensor(weights["nothing"]),
            "predictor": torch.tensor(of_predictor)[seen],
            "value": value,
            "said": said,
            "both": torch.stack(both) if both else torch.zeros(0, size),
        }
        made = cls(vocabulary, sources.predictor, tensors, weights, pick_device(device))
        made.trained_on = pair_marks_of(vocabulary, rows)
        return made

    @torch.no_grad()
    def log_probabilities(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return self._scores(first, second).log_softmax(1)

    @torch.no_grad()
    def normalisers(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        own = self._scores(first, second).logsumexp(1, keepdim=True)
        return own if self.predictor is None else torch.cat([self.predictor.normalisers(first, second), own], dim=1)

    @torch.no_grad()
    def log_probability(
        self, first: torch.Tensor, second: torch.Tensor, product: torch.Tensor, normalisers: torch.Tensor
    ) -> torch.Tensor:
        added = self.shares(first, second, product, normalisers)
        return sum(added.values(), self.tensors["bias"][product]) - normalisers[:, -1]

    @torch.no_grad()
    def shares(
        self, first: torch.Tensor, second: torch.Tensor, product: torch.Tensor, normalisers: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        """Return each source's contribution to the scores: (B,) ids of pairs and products -> (B,) float32, 0 where the
        source abstains."""
        found: dict[str, torch.Tensor] = {}
        if self.predictor is not None:
            normalisers = self.predictor.normalisers(first, second) if normalisers is None else normalisers[:, :-1]
            log_p = self.predictor.log_probability(first, second, product, normalisers)
            found[PREDICTOR] = self.tensors["predictor"][product] * log_p
        parts = zip(*(self.tensors[name] for name in ("value", "said", "both")), strict=True)
        for name, (value, said, both) in zip([n for n in self.sources if n != PREDICTOR], parts, strict=True):
            other = (first != second) & said[second, product]
            together = both[product] * (said[first, product] & other)
            found[name] = value[first, product] + value[second, product] * other + together
        return found

    def _scores(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return (B, N + 1) unnormalised log-probabilities; the last column is "nothing"."""
        tensors = self.tensors
        scores = tensors["bias"].expand(len(first), -1)
        nothing = tensors["nothing"][0].expand(len(first), 1)
        if self.predictor is not None:
            log_p = self.predictor.log_probabilities(first, second)
            scores = scores + tensors["predictor"] * log_p[:, :-1]
            nothing = nothing + tensors["nothing"][1] * log_p[:, -1:]
        for value, said, both in zip(tensors["value"], tensors["said"], tensors["both"], strict=True):
            other = (first != second)[:, None] & said[second]
            scores = scores + value[first] + value[second] * other + both * (said[first] & other)
        return torch.cat([scores, nothing], dim=1)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write a checkpoint folder (safetensors and JSON), replacing an existing folder."""
        inside = {} if self.predictor is None else self.predictor.networks.state_dict()
        tensors = {f"predictor.{name}": tensor for name, tensor in inside.items()} | self.tensors
        meta = {"kind": KIND, "vocabulary": self.vocabulary.to_json(), "weights": self.weights}
        save_checkpoint(directory, tensors | marks_to_tensors(self), meta)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "auto") -> "Experts":
        """Read a folder written by `save`; raises InputError if it is missing, damaged or of another kind."""
        tensors, meta = load_checkpoint(directory, KIND)
        marks, where = take_marks(tensors), pick_device(device)
        vocabulary, mark = Vocabulary.from_json(meta["vocabulary"]), "predictor."
        inside = {name.removeprefix(mark): tensors.pop(name) for name in list(tensors) if name.startswith(mark)}
        predictor = NaryPredictor.of_tensors(vocabulary, inside, where) if inside else None
        loaded = cls(vocabulary, predictor, tensors, meta["weights"], where)
        vars(loaded).update(marks)
        return loaded


@checked
def mixed_folds(rows: np.ndarray, folds: Count = 5, seed: Seed = 0) -> np.ndarray:
    """Assign each fact to a fold, (n,) int64, so that held-out facts have unseen and seen objects. For half of the
    objects, all facts share a fold; facts of the other objects lie in random folds. Facts of one pair share a fold.

    :param rows: (n, 3) int64 facts (subject, given, object).
    """
    pairs, first, pair_of = np.unique(np.sort(rows[:, :2], axis=1), axis=0, return_index=True, return_inverse=True)
    count = max(2, min(folds, len(pairs)))
    if len(pairs) < 2:
        raise InputError("the facts are of one pair alone: none can be held out")
    rng = np.random.Generator(np.random.PCG64(seed))
    objects, object_of = np.unique(rows[first, 2], return_inverse=True)
    together = rng.permutation(len(objects)) % 2 == 0
    of_object, of_pair = rng.permutation(len(objects)) % count, rng.permutation(len(pairs)) % count
    fold = np.where(together[object_of], of_object[object_of], of_pair)
    return np.unique(fold, return_inverse=True)[1][pair_of].astype(np.int64)


def _check(fold: Sources, whole: Sources, size: int) -> None:
    if whole.predictor is None and not whole.parts:
        raise InputError("there is no source: give a predictor, or parts")
    if (fold.predictor is None) != (whole.predictor is None) or list(fold.parts) != list(whole.parts):
        raise InputError("the sources of a fold are not those of the whole: make them of the same")
    for name, features in fold.parts.items():
        if len(features) != len(whole.parts[name]) or any(each.shape != (size, size) for each in features):
            raise InputError(f"the source {name!r} has features of another shape: {len(features)} for {size} entities")
        if not all(np.isfinite(each.data).all() for each in features):
            raise InputError(
                f"the source {name!r} says NaN or infinity of some entities; where it knows nothing it says 0"
            )


# ---- Weights


class _Weights:
    """The parameters to learn; their rows are for `UNSEEN` and `SEEN` objects."""

    def __init__(self, whole: Sources) -> None:
        counts = {name: len(features) for name, features in whole.parts.items()}
        self.names, self.counts, self.has_predictor = list(counts), list(counts.values()), whole.predictor is not None

        def zeros(*shape: int) -> torch.Tensor:
            return torch.zeros(*shape, dtype=torch.float64, requires_grad=True)

        self.predictor = torch.ones(2, dtype=torch.float64, requires_grad=True)
        self.features, self.both, self.bias = zeros(2, sum(self.counts)), zeros(2, len(counts)), zeros(2)
        self.nothing, self.nothing_weight = zeros(1), torch.ones(1, dtype=torch.float64, requires_grad=True)

    def parameters(self) -> list[torch.Tensor]:
        learned = [self.features, self.both, self.bias, self.nothing]
        return learned + ([self.predictor, self.nothing_weight] if self.has_predictor else [])

    def penalty(self) -> torch.Tensor:
        return (self.features**2).sum() + (self.both**2).sum() + ((self.predictor - 1) ** 2).sum()

    def to_json(self) -> dict[str, Any]:
        """Return the parameters in the form of `Experts.weights`."""
        found: dict[str, Any] = {PREDICTOR: self.predictor.tolist()} if self.has_predictor else {}
        parts = zip(self.names, self.features.split(self.counts, 1), self.both.T, strict=True)
        found |= {name: {"features": of.tolist(), "both": both.tolist()} for name, of, both in parts}
        nothing = torch.cat([self.nothing, self.nothing_weight]).tolist()
        return {"bias": self.bias.tolist(), "nothing": nothing, "sources": found}


@dataclass(frozen=True)
class _Asked:
    """Pairs whose products are held out, with the features of the sources.

    :ivar target: (P, N + 1) distribution over the products; `log_p`: (P, N + 1) of the predictor, or None.
    :ivar seen: (P, N) int64, `UNSEEN` or `SEEN` for each object, by the facts outside the pair's fold.
    :ivar place, feature, value: (m,) the features that are not 0: flat index in (P, N), number of the feature, value.
    :ivar both: for each source (k,) flat indices where it has features for both parties.
    """

    target: torch.Tensor
    log_p: torch.Tensor | None
    seen: torch.Tensor
    place: torch.Tensor
    feature: torch.Tensor
    value: torch.Tensor
    both: list[torch.Tensor]

    def loss(self, weights: _Weights) -> torch.Tensor:
        pairs, objects = self.seen.shape
        scores = weights.bias[self.seen].flatten()
        nothing = weights.nothing.expand(pairs, 1)
        if self.log_p is not None:
            scores = scores + weights.predictor[self.seen].flatten() * self.log_p[:, :-1].flatten()
            nothing = nothing + weights.nothing_weight * self.log_p[:, -1:]
        kind = self.seen.flatten()
        scores = scores.index_add(0, self.place, weights.features[kind[self.place], self.feature] * self.value)
        for source, place in enumerate(self.both):
            scores = scores.index_add(0, place, weights.both[kind[place], source])
        log_p = torch.cat([scores.view(pairs, objects), nothing], dim=1).log_softmax(1)
        return -(self.target * log_p).sum() / pairs


def _learn(
    rows: np.ndarray, folds: np.ndarray, whole: Sources, held_out: Sequence[Sources], size: int, seed: int
) -> dict[str, Any]:
    asked = _asked(rows, folds, whole, held_out, size, seed)
    weights = _Weights(whole)
    optimiser = torch.optim.LBFGS(weights.parameters(), max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        value = asked.loss(weights) + DECAY * weights.penalty()
        value.backward()
        return value

    optimiser.step(loss)
    return weights.to_json()


@torch.no_grad()
def _asked(
    rows: np.ndarray, folds: np.ndarray, whole: Sources, held_out: Sequence[Sources], size: int, seed: int
) -> _Asked:
    """Collect known pairs and random pairs that make nothing, with features of the sources of a fold without them."""
    rng = np.random.Generator(np.random.PCG64(seed))
    pairs, pair_of = np.unique(np.sort(rows[:, :2], axis=1), axis=0, return_inverse=True)
    fold_of = np.empty(len(pairs), dtype=np.int64)
    fold_of[pair_of] = folds
    if (fold_of[pair_of] != folds).any():
        raise InputError("facts of one pair lie in different folds: each would be seen by the other's sources")
    target = np.zeros((len(pairs), size + 1))
    target[pair_of, rows[:, 2]] = 1
    target /= target.sum(1, keepdims=True)
    others = rng.integers(size, size=(len(pairs), 2))
    same = rng.random(len(others)) < SELF_PAIRS
    others[same, 1] = others[same, 0]
    others.sort(axis=1)
    others = others[~np.isin(others[:, 0] * size + others[:, 1], pairs[:, 0] * size + pairs[:, 1])]
    makes_nothing = np.zeros((len(others), size + 1))
    makes_nothing[:, size] = 1
    pairs, target = np.concatenate([pairs, others]), np.concatenate([target, makes_nothing])
    fold_of = np.concatenate([fold_of, rng.integers(len(held_out), size=len(others))])
    kept = np.sort(rng.permutation(len(pairs))[: max(1, AT_ONCE // size)])
    pairs, target, fold_of = pairs[kept], target[kept], fold_of[kept]

    seen = np.zeros((len(held_out), size), dtype=np.int64)
    for fold in range(len(held_out)):
        seen[fold, rows[folds != fold, 2]] = SEEN
    log_p = None if whole.predictor is None else torch.empty(len(pairs), size + 1, dtype=torch.float64)
    places, kinds, values, both = [], [], [], [[] for _ in whole.parts]
    for fold, sources in enumerate(held_out):
        mine = np.flatnonzero(fold_of == fold)
        first, second = pairs[mine].T
        two = sparse.diags_array((first != second).astype(np.float32))
        if log_p is not None and sources.predictor is not None:
            ids = (torch.from_numpy(part).to(sources.predictor.device) for part in (first, second))
            log_p[mine] = sources.predictor.log_probabilities(*ids).cpu().double()
        number = 0
        for source, features in enumerate(sources.parts.values()):
            said = sparse.csr_array((size, size), dtype=np.float32)
            for feature in features:
                of_pair = sparse.coo_array(feature[first] + two @ feature[second])
                places.append(mine[of_pair.row] * size + of_pair.col)
                values.append(of_pair.data)
                kinds.append(np.full(len(of_pair.data), number))
                said, number = sparse.csr_array(said + (feature != 0)), number + 1
            together = sparse.coo_array(said[first].multiply(two @ said[second]))
            both[source].append(mine[together.row] * size + together.col)

    def joined(parts: Sequence[np.ndarray], kind: type) -> torch.Tensor:
        return torch.from_numpy(np.concatenate([np.zeros(0), *parts]).astype(kind))

    return _Asked(
        torch.from_numpy(target),
        log_p,
        torch.from_numpy(seen[fold_of]),
        joined(places, np.int64),
        joined(kinds, np.int64),
        joined(values, np.float64),
        [joined(part, np.int64) for part in both],
    )
