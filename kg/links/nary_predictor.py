"""Predict facts of three parties, p(object | unordered pair of subject and given), from word vectors.

A recipe is such a fact: its ingredients are the pair, its product is the object. Four binary triples cannot express it:
that rain and smoke combine and are both components of acid rain does not mean that they make it. This predictor models
the whole fact. The embedding of an entity x is f(x) = A w(x) + u(x) as an ingredient and g(x) = B w(x) + v(x) as a
product, where w is its word vector and u, v are free. h(a, b) = MLP([f(a) + f(b); f(a) * f(b)]) embeds a pair and does
not depend on the order. Then

    p(c | {a, b}) = softmax over all products and "nothing" of h(a, b) . g(c) + bias(c).

"Nothing" is learned from pairs that are no known recipe. Many of these are self-pairs, so that the model does not
assume that an entity combines with itself. Dropout of whole free embeddings also trains the word part alone, which
predicts entities without training facts.
"""

import os
from abc import abstractmethod
from math import ceil
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gumption.data import InputError
from gumption.data.settings import (
    Count,
    NonNegative,
    Positive,
    Seed,
    Share,
    Size,
    SmallShare,
    checked_methods,
    settings,
    whole_numbers,
)
from gumption.kg.checkpoint import load_checkpoint, pick_device, save_checkpoint
from gumption.kg.facts import pair_marks_of
from gumption.kg.vocabulary import Vocabulary

from .predictor import LinkPredictor, marks_to_tensors, take_marks

KIND = "gumption/nary-predictor/1"


@settings
class NarySettings:
    """
    :ivar width, hidden: of embeddings and of the MLP's hidden layer.
    :ivar epochs, batch_size, learning_rate, weight_decay: AdamW under a one-cycle schedule; batches of known pairs.
    :ivar word_dropout: share of the coordinates of word vectors dropped in training.
    :ivar free_dropout: share of the entities whose free embedding is dropped in a step.
    :ivar hidden_dropout: in the MLP.
    :ivar negatives: pairs that make nothing, drawn anew in each step, for each known pair.
    :ivar self_pairs: share of them that are an entity with itself.
    """

    width: Size = 128
    hidden: Size = 256
    epochs: Count = 40
    batch_size: Count = 256
    learning_rate: Positive = 1e-2
    weight_decay: NonNegative = 0.3
    word_dropout: SmallShare = 0.3
    free_dropout: SmallShare = 0.1
    hidden_dropout: SmallShare = 0.5
    negatives: NonNegative = 1.0
    self_pairs: Share = 0.2


@checked_methods
class PairPredictor(LinkPredictor):
    """Predict p(object | unordered pair) over N entities.

    As a link predictor it has two relations. The first (for recipes: combinesWith) links the parties of a pair; its
    score is the log-probability that they make anything. The second (componentOf) links a party to a product; its
    score is the log of the product's probability summed over all partners.

    :ivar vocabulary: the entities and these two relations.
    :ivar place: a cache folder in which results computed with this predictor may be kept for other processes.
    """

    place: Path | None = None
    _binary: tuple[torch.Tensor, torch.Tensor] | None = None

    @property
    @abstractmethod
    def members(self) -> int:
        """Return M, the number of normalisers of a pair."""

    @abstractmethod
    def log_probabilities(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return log p(product | pair): (B,) and (B,) int64 ids -> (B, N + 1) float32; the last column is "nothing"."""

    @abstractmethod
    def normalisers(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return the log normalisers for `log_probability`: (B,) and (B,) int64 ids of pairs -> (B, M)."""

    @abstractmethod
    def log_probability(
        self, first: torch.Tensor, second: torch.Tensor, product: torch.Tensor, normalisers: torch.Tensor
    ) -> torch.Tensor:
        """Return log p(product | pair) of single products, (B,), from the `normalisers` (B, M) of the pairs."""

    @abstractmethod
    def to(self, device: torch.device | str) -> "PairPredictor":
        """Return the predictor on another device."""

    def count_trained(self, ids: np.ndarray, what: str) -> int | None:
        return None

    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return self._table(relations, lambda table: table[subjects])

    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return self._table(relations, lambda table: table[:, objects].T)

    def _table(self, relations: torch.Tensor, rows) -> torch.Tensor:
        pair, part = self._tables()
        return torch.where((relations == 0)[:, None], rows(pair), rows(part))

    @torch.no_grad()
    def _tables(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the (N, N) scores of each relation, computed at the first call in one pass over all pairs."""
        if self._binary is not None:
            return self._binary
        size = len(self.vocabulary.entities)
        combines = torch.empty(size, size, device=self.device)
        component = torch.empty(size, size, device=self.device)
        everything = torch.arange(size, device=self.device)
        for entity in range(size):
            log_p = self.log_probabilities(torch.full_like(everything, entity), everything)
            combines[entity] = log_p[:, :size].logsumexp(1)
            component[entity] = log_p[:, :size].logsumexp(0)
        self._binary = combines, component
        return self._binary


@checked_methods
class NaryPredictor(PairPredictor):
    """An ensemble of M networks over N entities; its probability of a product is the mean over the networks."""

    def __init__(self, vocabulary: Vocabulary, networks: "_Networks", device: torch.device) -> None:
        self.vocabulary = vocabulary
        self.networks = networks.to(device).eval().requires_grad_(False)
        self.device = device

    @property
    def members(self) -> int:
        return self.networks.members

    def to(self, device: torch.device | str) -> "NaryPredictor":
        moved = NaryPredictor(self.vocabulary, self.networks, pick_device(device))
        moved.trained_on = self.trained_on
        return moved

    @classmethod
    def fit(
        cls,
        rows: np.ndarray,
        vectors: np.ndarray,
        vocabulary: Vocabulary,
        *,
        members: Size = 3,
        settings: NarySettings | None = None,
        seed: Seed = 0,
        device: str = "auto",
    ) -> "NaryPredictor":
        """Train on facts (subject, given, object), all networks at once.

        :param rows: (n, 3) int64 ids of entities.
        :param vectors: (N, F) word vectors of the entities; other entities cannot be scored later.
        :param vocabulary: N entities and the two relations of the predictor.
        :param members: networks in the ensemble.
        :raises InputError: no facts, ids outside the vocabulary, or vectors that do not fit the entities.
        """
        rows, words = _check(rows, vectors, vocabulary)
        share = np.ones((members, len(np.unique(rows[:, :2], axis=0))), dtype=bool)
        networks = _train(rows, words, share, settings or NarySettings(), seed, device)
        fitted = cls(vocabulary, networks, pick_device(device))
        fitted.trained_on = pair_marks_of(vocabulary, rows)
        return fitted

    @classmethod
    def fit_folds(
        cls,
        rows: np.ndarray,
        vectors: np.ndarray,
        vocabulary: Vocabulary,
        fold_of_row: np.ndarray,
        *,
        members: Size = 2,
        settings: NarySettings | None = None,
        seed: Seed = 0,
        device: str = "auto",
    ) -> "list[NaryPredictor]":
        """Train a predictor for each fold k = 0, 1, ... on the facts of the other folds, all at once (cross-fitting).

        :param fold_of_row: (n,) int; facts of one pair share a fold.
        :raises InputError: as `fit`; folds that do not fit the facts.
        """
        rows, words = _check(rows, vectors, vocabulary)
        fold_of_row = whole_numbers("fold_of_row", fold_of_row, None)
        if len(fold_of_row) != len(rows):
            raise InputError(f"{len(fold_of_row)} folds for {len(rows)} facts: one for each")
        pairs, pair_of = np.unique(rows[:, :2], axis=0, return_inverse=True)
        fold_of_pair = np.empty(len(pairs), dtype=np.int64)
        fold_of_pair[pair_of] = fold_of_row
        if (fold_of_pair[pair_of] != fold_of_row).any():
            raise InputError("facts of one pair lie in different folds: each would be seen by the other's predictor")
        folds = int(fold_of_pair.max()) + 1
        if folds < 2:
            raise InputError("all facts lie in one fold, which leaves none to learn from; make at least two")
        share = np.repeat(fold_of_pair != np.arange(folds)[:, None], members, axis=0)
        networks = _train(rows, words, share, settings or NarySettings(), seed, device)
        parts = (networks.part(slice(fold * members, (fold + 1) * members)) for fold in range(folds))
        fitted: list[NaryPredictor] = [cls(vocabulary, part, pick_device(device)) for part in parts]
        for fold, part in enumerate(fitted):
            part.trained_on = pair_marks_of(vocabulary, rows[fold_of_row != fold])
        return fitted

    @torch.no_grad()
    def log_probabilities(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        members = self.networks.members
        log_p = self.networks(first.expand(members, -1), second.expand(members, -1)).log_softmax(2)
        return log_p[0] if members == 1 else log_p.logsumexp(0) - np.log(members)

    @torch.no_grad()
    def normalisers(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        members = self.members
        return self.networks(first.expand(members, -1), second.expand(members, -1)).logsumexp(2).T

    @torch.no_grad()
    def log_probability(
        self, first: torch.Tensor, second: torch.Tensor, product: torch.Tensor, normalisers: torch.Tensor
    ) -> torch.Tensor:
        members = self.members
        scores = self.networks.of_products(first.expand(members, -1), second.expand(members, -1), product)
        return (scores - normalisers.T).logsumexp(0) - np.log(members)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write a checkpoint folder (safetensors and JSON), replacing an existing folder."""
        meta = {"kind": KIND, "vocabulary": self.vocabulary.to_json()}
        save_checkpoint(directory, self.networks.state_dict() | marks_to_tensors(self), meta)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "auto") -> "NaryPredictor":
        """Read a folder written by `save`; raises InputError if it is missing, damaged or of another kind."""
        tensors, meta = load_checkpoint(directory, KIND)
        marks = take_marks(tensors)
        loaded = cls.of_tensors(Vocabulary.from_json(meta["vocabulary"]), tensors, pick_device(device))
        vars(loaded).update(marks)
        return loaded

    @classmethod
    def of_tensors(
        cls, vocabulary: Vocabulary, tensors: dict[str, torch.Tensor], device: torch.device
    ) -> "NaryPredictor":
        """Build a predictor from the parameters of its networks (a state_dict).

        :raises InputError: other tensors.
        """
        try:
            networks = _Networks.of(tensors)
        except (KeyError, RuntimeError, ValueError) as error:
            raise InputError(f"these tensors are not the parameters of a NaryPredictor: {error}") from None
        return cls(vocabulary, networks, device)


class _Networks(nn.Module):
    """M networks in one module: every parameter has a leading axis of M."""

    words: torch.Tensor

    def __init__(self, members: int, words: torch.Tensor, width: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.members, (self.entities, features) = members, words.shape
        self.register_buffer("words", words)

        def normal(*shape: int, scale: float) -> nn.Parameter:
            return nn.Parameter(torch.randn(members, *shape, generator=generator) * scale)

        self.ingredient_words = normal(features, width, scale=(3 * features) ** -0.5)
        self.product_words = normal(features, width, scale=(3 * features) ** -0.5)
        self.ingredient_free = normal(self.entities, width, scale=0.1)
        self.product_free = normal(self.entities, width, scale=0.1)
        self.layer1 = normal(2 * width, hidden, scale=(6 * width) ** -0.5)
        self.bias1 = nn.Parameter(torch.zeros(members, 1, hidden))
        self.layer2 = normal(hidden, width, scale=(3 * hidden) ** -0.5)
        self.bias2 = nn.Parameter(torch.zeros(members, 1, width))
        self.product_bias = nn.Parameter(torch.zeros(members, 1, self.entities))
        self.nothing = normal(width, 1, scale=(3 * width) ** -0.5)
        self.nothing_bias = nn.Parameter(torch.zeros(members, 1, 1))
        self.nothing_if_same = nn.Parameter(torch.zeros(members, 1, 1))

    @classmethod
    def of(cls, tensors: dict[str, torch.Tensor]) -> "_Networks":
        """Build networks from a state_dict."""
        members, _, width = tensors["ingredient_words"].shape
        networks = cls(members, tensors["words"], width, tensors["layer1"].shape[2], torch.Generator())
        networks.load_state_dict(tensors)
        return networks

    def part(self, chosen: slice) -> "_Networks":
        """Return a slice of the networks."""
        return _Networks.of({name: t if name == "words" else t[chosen] for name, t in self.state_dict().items()})

    def forward(self, first: torch.Tensor, second: torch.Tensor, dropout: "NarySettings | None" = None) -> torch.Tensor:
        """Compute logits: (M, B) and (M, B) int64 ids -> (M, B, N + 1); the last column is "nothing"."""
        ingredient = self._embed(self.ingredient_words, self.ingredient_free, dropout)
        product = self._embed(self.product_words, self.product_free, dropout)
        pair = self._pair(ingredient, first, second, dropout)
        products = pair @ product.mT + self.product_bias
        nothing = pair @ self.nothing + self.nothing_bias + self.nothing_if_same * (first == second)[..., None]
        return torch.cat([products, nothing], dim=2)

    def of_products(self, first: torch.Tensor, second: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
        """Compute the logit of one product for each pair: (M, B), (M, B) and (B,) int64 ids -> (M, B)."""
        ingredient = self._embed(self.ingredient_words, self.ingredient_free, None)
        products = self._embed(self.product_words, self.product_free, None)[:, product]
        return (self._pair(ingredient, first, second, None) * products).sum(2) + self.product_bias[:, 0, product]

    def _pair(
        self, ingredient: torch.Tensor, first: torch.Tensor, second: torch.Tensor, dropout: "NarySettings | None"
    ) -> torch.Tensor:
        """Compute h of each pair, (M, B, width); `ingredient` (M, N, width) is f of all entities."""
        offset = torch.arange(self.members, device=first.device)[:, None] * self.entities
        flat = ingredient.flatten(0, 1)
        a, b = functional.embedding(first + offset, flat), functional.embedding(second + offset, flat)
        hidden = (torch.cat([a + b, a * b], dim=2) @ self.layer1 + self.bias1).relu()
        if dropout is not None:
            hidden = functional.dropout(hidden, dropout.hidden_dropout)
        return hidden @ self.layer2 + self.bias2

    def _embed(self, words: torch.Tensor, free: torch.Tensor, dropout: "NarySettings | None") -> torch.Tensor:
        """Compute the embeddings of all entities, (M, N, width)."""
        if dropout is None:
            return self.words @ words + free
        kept = functional.dropout(self.words.expand(self.members, -1, -1), dropout.word_dropout)
        keep = functional.dropout(torch.ones_like(free[..., :1]), dropout.free_dropout)
        return kept @ words + free * keep


def _check(rows: np.ndarray, vectors: np.ndarray, vocabulary: Vocabulary) -> tuple[np.ndarray, torch.Tensor]:
    """Return (n, 3) ids with each pair in ascending order, and standardised (N, F) word vectors."""
    if len(vocabulary.relations) != 2:
        raise InputError(f"the predictor answers two relations, and the vocabulary has {len(vocabulary.relations)}")
    rows, size = whole_numbers("rows", rows, None, 3).copy(), len(vocabulary.entities)
    if not len(rows):
        raise InputError("there are no facts of three parties to learn from")
    if not 0 <= rows.min() <= rows.max() < size:
        raise InputError(f"the facts hold ids outside their vocabulary of {size} entities")
    if vectors.ndim != 2 or len(vectors) != size or not np.isfinite(vectors).all():
        raise InputError(f"word vectors of shape {vectors.shape} for {size} entities: one finite row for each")
    rows[:, :2].sort(axis=1)
    words = torch.from_numpy(np.asarray(vectors, dtype=np.float32))
    return rows, (words - words.mean(0)) / words.std(0).clamp_min(1e-6)


def _train(
    rows: np.ndarray, words: torch.Tensor, share: np.ndarray, settings: NarySettings, seed: int, device: str
) -> _Networks:
    """Train M networks, each on its share of the P distinct pairs: share is (M, P) bool."""
    where = pick_device(device)
    members, size = len(share), len(words)
    pairs, pair_of = np.unique(rows[:, :2], axis=0, return_inverse=True)
    target = torch.zeros(len(pairs), size)
    target[torch.from_numpy(pair_of), torch.from_numpy(rows[:, 2])] = 1.0
    target = (target / target.sum(1, keepdim=True)).to(where)
    known = torch.zeros(members, size * size, dtype=torch.bool)
    for member, mine in enumerate(share):
        for a, b in (pairs[mine].T, pairs[mine].T[::-1]):
            known[member, torch.from_numpy(a * size + b)] = True
    known, ingredients = known.to(where), torch.from_numpy(pairs).to(where)

    generator = torch.Generator().manual_seed(seed)
    networks = _Networks(members, words, settings.width, settings.hidden, generator).to(where)
    largest = int(share.sum(1).max())
    steps = ceil(largest / settings.batch_size)
    optimiser = torch.optim.AdamW(
        networks.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, foreach=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.learning_rate, total_steps=settings.epochs * steps, pct_start=0.1
    )
    order = np.random.Generator(np.random.PCG64(seed))
    with torch.random.fork_rng(devices=[] if where.type == "cpu" else [where]):
        torch.manual_seed(seed)
        for _ in range(settings.epochs):
            # A network with a smaller share repeats some of its pairs within an epoch.
            epoch = np.stack([np.resize(order.permutation(np.flatnonzero(mine)), largest) for mine in share])
            for batch in torch.from_numpy(epoch).to(where).split(settings.batch_size, dim=1):
                loss = _loss(networks, ingredients[batch], target[batch], known, settings)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
    return networks


def _loss(
    networks: _Networks, pairs: torch.Tensor, target: torch.Tensor, known: torch.Tensor, settings: NarySettings
) -> torch.Tensor:
    """Compute the cross entropy of the products of known pairs (M, B, 2), plus of "nothing" for random other pairs."""
    members, count, size = len(pairs), pairs.shape[1], networks.entities
    negatives = int(count * settings.negatives)
    other = torch.randint(size, (2, members, negatives), device=pairs.device)
    same = torch.rand(members, negatives, device=pairs.device) < settings.self_pairs
    first, second = other[0], torch.where(same, other[0], other[1])
    unknown = (~known.gather(1, first * size + second)).float()
    scores = networks(
        torch.cat([pairs[..., 0], first], dim=1), torch.cat([pairs[..., 1], second], dim=1), dropout=settings
    )
    log_p = scores.log_softmax(2)
    made = -(target * log_p[:, :count, :size]).sum(2).mean(1)
    nothing = -(unknown * log_p[:, count:, size]).sum(1) / unknown.sum(1).clamp_min(1.0)
    return (made + nothing).sum()  # the networks share no parameter: the sum trains each on its own loss
