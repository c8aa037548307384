"""Train link predictors: batches of distinct queries, Adagrad, regularisers, validation, checkpoints."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import isfinite
from time import monotonic
from typing import Any, Generic, Protocol, Self, TypeVar, cast

import numpy as np
import torch
from torch import distributed
from torch.nn import functional

from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.provenance import versions
from gumption.data.settings import NonNegative, check, checked_methods
from gumption.kg.checkpoint import has_checkpoint, load_checkpoint, save_checkpoint, torch_threads
from gumption.kg.facts import Facts, is_pair, learnable, marks_of, note_trained, to_ids
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Triple, Vocabulary, checked_triples

from .predictor import LinkPredictor
from .ranking import evaluate_ranking
from .training_settings import TrainingSettings

# ---- Training by several processes (torchrun), each of which holds a slice of the entities.


@contextmanager
def processes(device: str = "auto") -> Iterator[tuple[str, bool]]:
    """Join the process group under torchrun: NCCL with one GPU per process, else Gloo. Otherwise do nothing.

    Yields this process's device, and whether it is the first process, which writes files and messages.
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
    """The entities of this process: ids low to high - 1 of N; all N for a single process."""

    def __init__(self, entities: int) -> None:
        self.alone = not (distributed.is_available() and distributed.is_initialized())
        self.processes = 1 if self.alone else distributed.get_world_size()
        number = 0 if self.alone else distributed.get_rank()
        self.first = number == 0
        self.entities = entities
        self.low = entities * number // self.processes
        self.high = entities * (number + 1) // self.processes

    def mine(self, ids: torch.Tensor) -> torch.Tensor:
        """Return a bool mask of the ids in the slice."""
        return (ids >= self.low) & (ids < self.high)

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Sum over all processes, in place."""
        if not self.alone:
            distributed.all_reduce(values)
        return values

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Take the maximum over all processes, in place."""
        if not self.alone:
            distributed.all_reduce(values, distributed.ReduceOp.MAX)
        return values

    def rows(self, table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Return (n, width) rows of the whole table; `table` is this process's slice of it."""
        if self.alone:
            return table.index_select(0, ids)
        mine = self.mine(ids)
        found = table.index_select(0, (ids - self.low).where(mine, 0))
        return self.sum(found * mine[:, None])

    def add(self, table: torch.Tensor, ids: torch.Tensor, rows: torch.Tensor) -> None:
        """Add rows in place to the ids of the slice; each other id is handled by its own process."""
        if not self.alone:
            mine = self.mine(ids)  # other rows are added as zeros: selecting rows would wait for the GPU
            ids, rows = (ids - self.low).where(mine, 0), rows * mine[:, None]
        table.index_add_(0, ids, rows)

    def whole(self, table: torch.Tensor) -> torch.Tensor:
        """Gather the slices of all processes to (N, width)."""
        if self.alone:
            return table
        longest = -(-self.entities // self.processes)
        padded = functional.pad(table, (0, 0, 0, longest - len(table)))
        parts = [torch.empty_like(padded) for _ in range(self.processes)]
        distributed.all_gather(parts, padded)
        bounds = [self.entities * number // self.processes for number in range(self.processes + 1)]
        return torch.cat([part[: high - low] for part, low, high in zip(parts, bounds, bounds[1:], strict=False)])

    def agreed(self, value: float) -> float:
        """Return the first process's value in all processes."""
        if self.alone:
            return value
        told = torch.tensor([value], dtype=torch.float64)
        if distributed.get_backend() == "nccl":
            told = told.cuda()
        distributed.broadcast(told, 0)
        return float(told)


# ---- The distinct queries that facts answer, (s, p, ?) and (?, p, o), with all their answers.


class Queries:
    """The distinct queries of some facts: query i is (anchor[i], kind[i]), its answers are
    answer[first[i] : first[i + 1]]. Kind p < R queries objects of relation p, kind R + p its subjects.

    :ivar facts: the number of distinct facts; each fact answers two queries.
    """

    def __init__(self, ids: np.ndarray, relations: int, by_query: bool = False) -> None:
        """
        :param ids: (n, 3) int64 facts.
        :param by_query: give each query the weight 1; otherwise each fact.
        """
        self.by_query = by_query
        ids = np.unique(ids, axis=0)
        self.facts = len(ids)
        rows = np.concatenate([ids, np.stack([ids[:, 2], ids[:, 1] + relations, ids[:, 0]], axis=1)])
        rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
        first = np.flatnonzero(new)
        self.anchor, self.kind, self.answer = rows[first, 0], rows[first, 1], rows[:, 2].copy()
        self.first = np.append(first, len(rows))

    def __len__(self) -> int:
        return len(self.anchor)

    def epoch(
        self, rng: np.random.Generator, size: int, device: torch.device, most: int
    ) -> "Iterator[tuple[int, list[QueryPart]]]":
        """Yield all queries once, in random order: each batch's total weight, and the batch in parts of at most `most`
        queries. The arrays are copied to the device once per epoch."""
        order = rng.permutation(len(self))
        counts = np.diff(self.first)[order]
        ends = np.concatenate([[0], np.cumsum(counts)])
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], counts)
        answers = self.answer[np.repeat(self.first[:-1][order], counts) + within]
        rows = np.repeat(np.arange(len(order)), counts)
        totals = counts.astype(np.float32)
        weights = 1 / totals if self.by_query else np.ones_like(totals)
        columns = [self.anchor[order], self.kind[order], totals * weights, rows, answers, weights[rows]]
        anchor, kind, total, row, answer, weight = (torch.from_numpy(column).to(device) for column in columns)
        for start in range(0, len(order), size):
            stop = min(start + size, len(order))
            parts = []
            for low in range(start, stop, most):
                high = min(low + most, stop)
                facts = slice(int(ends[low]), int(ends[high]))
                chosen = slice(low, high)
                asked = anchor[chosen], kind[chosen], total[chosen]
                parts.append(QueryPart(*asked, row[facts] - low, answer[facts], weight[facts]))
            yield stop - start if self.by_query else int(ends[stop] - ends[start]), parts


@dataclass(frozen=True)
class QueryPart:
    """B queries and their n answers.

    :ivar anchor, kind: (B,) int64.
    :ivar total: (B,) float32, the weight of a query, the sum of the weights of its answers.
    :ivar row, answer: (n,) int64, the row of an answer's query in the part, and the answer's entity.
    :ivar weight: (n,) float32, the weight of an answer.
    """

    anchor: torch.Tensor
    kind: torch.Tensor
    total: torch.Tensor
    row: torch.Tensor
    answer: torch.Tensor
    weight: torch.Tensor


# ---- Regularisers: penalties of the embeddings of each fact.


@checked_methods
@dataclass(frozen=True)
class Regularizer(ABC):
    """A penalty on each factor (embedding) of a fact, added to the fact's loss in training.

    :ivar weight: the coefficient of the penalty.
    :raises InputError: a weight that is no number of at least 0.
    """

    weight: NonNegative

    @abstractmethod
    def penalty(self, factor: torch.Tensor) -> torch.Tensor:
        """Compute penalties: (n, width) real or complex embeddings -> (n,)."""

    def gradient(self, factor: torch.Tensor) -> tuple[float, torch.Tensor]:
        """Return a number and (n, width) rows whose product is the gradient of the summed penalties, by autograd.

        The caller multiplies the number into the weights of the rows, which saves a pass over the embeddings.
        """
        with torch.enable_grad():
            leaf = factor.detach().requires_grad_()
            return 1.0, torch.autograd.grad(self.penalty(leaf).sum(), leaf)[0].contiguous()


@checked_methods
class N3(Regularizer):
    """The nuclear 3-norm, weight * sum of |z|^3 (Lacroix et al., 2018)."""

    def penalty(self, factor: torch.Tensor) -> torch.Tensor:
        return self.weight * factor.abs().pow(3).sum(-1)

    def gradient(self, factor: torch.Tensor) -> tuple[float, torch.Tensor]:
        # The square root of z * conj(z) is several times faster than torch's abs of complex numbers.
        return 3 * self.weight, factor * (factor * factor.conj()).real.sqrt()


@checked_methods
class F2(Regularizer):
    """The squared Frobenius norm, weight * sum of |z|^2, which Lacroix et al. (2018) compare with N3."""

    def penalty(self, factor: torch.Tensor) -> torch.Tensor:
        return self.weight * factor.abs().pow(2).sum(-1)

    def gradient(self, factor: torch.Tensor) -> tuple[float, torch.Tensor]:
        return 2 * self.weight, factor


def n3_beside(n3: float | None, regularizer: Regularizer | None) -> float:
    """Return the weight of N3 in a fit: by default that of `TrainingSettings`, or 0 if a regulariser replaces N3.

    :raises InputError: both n3 and a regulariser.
    """
    if regularizer is None:
        return TrainingSettings.n3 if n3 is None else n3
    if n3:
        raise InputError(f"n3 is {n3}, the weight of N3, and {regularizer} is given in its place: give one of them")
    return 0.0


# ---- The matrix product of the scores, by torch's faster library.


def against_all(queries: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Compute `queries @ rows.T`: (B, D) and (N, D) -> (B, N); on a CPU by oneDNN for float32 without a gradient.

    On a CPU torch multiplies with MKL, which uses half of the vector units of non-Intel processors. oneDNN, which
    torch uses for convolutions, takes less than half the time there at the same precision.
    """
    if (
        queries.device.type == "cpu"
        and queries.dtype == rows.dtype == torch.float32
        and len(queries)
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and not (torch.is_grad_enabled() and (queries.requires_grad or rows.requires_grad))
    ):
        return torch.ops.mkldnn._linear_pointwise(queries.contiguous(), rows.contiguous(), None, "none", [], "")
    return queries @ rows.T


# ---- The loop

LOGITS_BYTES = 1 << 28  # a batch with more logits is processed in parts
#: Up to this many multiplications per batch (queries by all entities), train with one thread. On two busy cores,
#: training on 135 entities took 0.5 s with one thread and 4 to 11 s with two; on 700 entities 0.6 s and 4 to 6 s.
ONE_THREAD = 1 << 27


class Step(Protocol):
    """One step of Adagrad, summed over the parts of a batch."""

    def add(self, part: QueryPart, scale: float) -> torch.Tensor:
        """Add the gradient of some queries, their weights times `scale`; returns their weighted loss, on the device."""
        ...

    def apply(self) -> None:
        """Update the parameters."""
        ...


class Training(ABC):
    """The state of a training: parameters, Adagrad's sums, order of batches. `run_epoch` trains one more epoch.

    :ivar parameters: the learned tensors by name; "entity" has the rows of this process's slice.
    :ivar regularizer: None for no penalty.
    :ivar told: the settings and the regulariser that replaces N3, as plain JSON.
    """

    score_bytes = 4  # per score of a query, while its gradient is computed

    def __init__(
        self,
        ids: np.ndarray,
        entities: int,
        relations: int,
        settings: TrainingSettings,
        device: torch.device,
        regularizer: Regularizer | None = None,
    ) -> None:
        """
        :param ids: (n, 3) int64 facts.
        :param regularizer: replaces N3(settings.n3).
        """
        self.settings, self.device, self.relations = settings, device, relations
        self.told = {**asdict(settings), "regularizer": None if regularizer is None else str(regularizer)}
        regularizer = N3(settings.n3) if regularizer is None else regularizer
        self.regularizer = regularizer if regularizer.weight else None
        self.queries = Queries(ids, relations, settings.weighting == "query")
        self.slice = EntitySlice(entities)
        generator = torch.Generator().manual_seed(settings.seed)  # on the CPU: the same start on every device
        self.parameters = self._begin(generator)
        # The fused implementation is the fastest on the CPU.
        self.optimiser = torch.optim.Adagrad(
            self.parameters.values(), lr=settings.learning_rate, fused=device.type == "cpu" or None
        )
        self.shuffle = np.random.Generator(np.random.PCG64(settings.seed))
        self.epoch = 0

    @property
    def threads(self) -> int | None:
        """Return the number of torch's CPU threads, None for torch's default. It depends on the size of the job alone,
        so that a busy machine computes the same bits."""
        queries = min(self.settings.batch_size, len(self.queries))
        return 1 if queries * self.slice.entities * 2 * self.settings.rank <= ONE_THREAD else None

    @abstractmethod
    def _begin(self, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """Create the parameters before the first epoch, on the device."""

    @abstractmethod
    def _step(self) -> Step:
        """Start the next step of Adagrad."""

    @abstractmethod
    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the current parameters of the model, for all entities."""

    def run_epoch(self) -> float:
        """Train on all queries once. Return the mean loss per fact or query (`weighting`), without penalties."""
        settings = self.settings
        most = max(1, LOGITS_BYTES // (self.score_bytes * max(1, self.slice.high - self.slice.low)))
        total = torch.zeros((), device=self.device)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if settings.precision == "tf32" else "highest")
        try:
            for weight, parts in self.queries.epoch(self.shuffle, settings.batch_size, self.device, most):
                step = self._step()
                for part in parts:
                    total += step.add(part, 1.0 / weight)
                step.apply()
        finally:
            torch.set_float32_matmul_precision(before)
        self.epoch += 1
        return float(total) / (len(self.queries) if self.queries.by_query else 2 * self.queries.facts)

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Return everything that the next epoch depends on: tensors (of all entities) and plain JSON."""
        tensors = {}
        for name, parameter in self.parameters.items():
            for kind, value in (("parameter", parameter), ("sum", self.optimiser.state[parameter]["sum"])):
                tensors[f"{kind}.{name}"] = self.slice.whole(value) if name == "entity" else value
        return tensors, {"epoch": self.epoch, "shuffle": self.shuffle.bit_generator.state}

    @torch.no_grad()
    def restore(self, tensors: dict[str, torch.Tensor], state: dict[str, Any]) -> None:
        """Load a state that `state` returned.

        :raises InputError: a state with other parameters.
        """
        for name, parameter in self.parameters.items():
            for kind, value in (("parameter", parameter), ("sum", self.optimiser.state[parameter]["sum"])):
                saved = tensors.get(f"{kind}.{name}", torch.empty(0))
                held = saved[self.slice.low : self.slice.high] if name == "entity" else saved
                if held.shape != value.shape:
                    raise InputError(
                        f"the state of training holds another {name!r} than the model: choose another folder"
                    )
                value.copy_(held)
        self.epoch = state["epoch"]
        self.shuffle.bit_generator.state = state["shuffle"]


# ---- One fit, from facts to model: validation, early stopping, checkpoints, progress.


Fitted = TypeVar("Fitted", bound=LinkPredictor)


@dataclass(frozen=True)
class TrainingFacts:
    """Facts for training and validation, (n, 3) int64 each.

    :ivar valid: facts whose MRR chooses the best parameters, or None.
    :ivar known: other true facts, left out when `valid` is ranked.
    """

    vocabulary: Vocabulary
    ids: np.ndarray
    valid: np.ndarray | None
    known: np.ndarray

    @classmethod
    def read(
        cls,
        graph_or_triples: KnowledgeGraph | Facts,
        graph: str | None,
        vocabulary: Vocabulary | None,
        valid: Sequence[Triple] | None,
        known: Facts,
        literals: bool = False,
    ) -> Self:
        """Convert labels to ids in `vocabulary`, by default the vocabulary of the facts.

        :param literals: keep facts of a KnowledgeGraph with literals.
        :raises InputError: no facts, an unknown label, or `known` without `valid`.
        """
        check("vocabulary", vocabulary, Vocabulary | None)
        vocabulary, ids = _arrays(graph_or_triples, graph, vocabulary, literals)
        looked_at = None if valid is None else vocabulary.triples_to_ids(valid)
        if looked_at is not None and not len(looked_at):
            raise InputError("there are no test facts to rank in `valid`; leave it out or give some")
        others = to_ids(vocabulary, known, skip=True)
        if looked_at is None and len(others):
            raise InputError("`known` is left out when `valid` is ranked: give `valid`, too")
        return cls(vocabulary, ids, looked_at, others)


class Run(Generic[Fitted]):
    """One fit: a training with its facts, its history and the best parameters so far."""

    def __init__(
        self,
        make: Callable[..., Fitted],
        facts: TrainingFacts,
        training: Training,
        state_kind: str,
        words: np.ndarray | None = None,
    ) -> None:
        """
        :param make: called as make(vocabulary, origin=..., and the tensors by name); returns the model.
        :param state_kind: the "kind" of the training's checkpoints.
        :param words: the word vectors used in training, for its fingerprint.
        """
        self.make, self.facts, self.training, self.state_kind = make, facts, training, state_kind
        vocabulary = facts.vocabulary
        fingerprint = hashlib.sha256(vocabulary.hash.encode() + np.unique(facts.ids, axis=0).tobytes())
        if words is not None:
            fingerprint.update(words.tobytes())
        self.fingerprint = fingerprint.hexdigest()
        self.marks = marks_of(vocabulary, facts.ids)
        self.chosen_by = None if facts.valid is None else marks_of(vocabulary, facts.valid)
        if self.chosen_by is not None:
            note_trained(self.marks, self.chosen_by, "validation facts")
        self.history: list[dict[str, float]] = []
        self.best: dict[str, torch.Tensor] = {}
        self.best_mrr = -1.0
        self.stale = 0  # measurements on `valid` since the best MRR

    def train(self, folder: str | os.PathLike[str] | None, seconds: float, progress: bool) -> Fitted:
        """Train to the end and return the best model.

        :param folder: folder for the state, written every `seconds`; training resumes from a state in it.
        """
        training, epochs = self.training, self.training.settings.epochs
        if folder is not None and training.slice.agreed(float(has_checkpoint(folder))):
            self._restore(folder)
        with torch_threads(training.threads), Bar(epochs, "fitting", progress) as bar:
            saved = monotonic()
            while not self._finished():
                self._epoch()
                bar.show(training.epoch, self._told())
                due = self._finished() or monotonic() - saved >= seconds
                if folder is not None and training.slice.agreed(float(due)):
                    self._save(folder)
                    saved = monotonic()
        found = self.best or training.tensors()
        if not all(bool(tensor.isfinite().all()) for tensor in found.values()):
            raise self._diverged("numbers of the model are not finite")
        return self._model(found)

    def _diverged(self, how: str) -> InputError:
        return InputError(
            f"the training diverges: after epoch {self.training.epoch} {how}; learning_rate is "
            f"{self.training.settings.learning_rate:g}, give a smaller one"
        )

    def _finished(self) -> bool:
        settings = self.training.settings
        stale = settings.patience is not None and self.stale >= settings.patience
        return self.training.epoch >= settings.epochs or stale

    def _epoch(self) -> None:
        loss = self.training.run_epoch()
        if not isfinite(loss):
            raise self._diverged(f"the loss is {loss}")
        epoch, settings, valid = self.training.epoch, self.training.settings, self.facts.valid
        self.history.append({"epoch": epoch, "loss": loss})
        if valid is None or (epoch % settings.valid_every and epoch != settings.epochs):
            return
        tensors, held = self.training.tensors(), self.training.slice
        mrr = 0.0
        if held.first:
            vocabulary, known = self.facts.vocabulary, np.concatenate([self.facts.ids, self.facts.known])
            mrr = evaluate_ranking(self._model(tensors), (vocabulary, valid), known=[(vocabulary, known)])["mrr"]
        mrr = held.agreed(mrr)
        self.history[-1]["valid_mrr"] = mrr
        self.stale += 1
        if mrr > self.best_mrr:
            self.best_mrr, self.stale = mrr, 0
            self.best = {name: tensor.clone() for name, tensor in tensors.items()}

    def _told(self) -> str:
        looks = [row["valid_mrr"] for row in self.history if "valid_mrr" in row]
        return f"loss {self.history[-1]['loss']:.4f}" + (f", valid MRR {looks[-1]:.4f}" if looks else "")

    def _model(self, tensors: dict[str, torch.Tensor]) -> Fitted:
        where = {name: tensor.to(self.training.device) for name, tensor in tensors.items()}
        origin = {
            "settings": self.training.told,
            "facts": self.fingerprint,
            "history": self.history,
            "versions": versions(),
        }
        made = self.make(self.facts.vocabulary, origin=origin, **where)
        made.trained_on, made.chosen_by = self.marks, self.chosen_by
        return made

    def _restore(self, folder: str | os.PathLike[str]) -> None:
        tensors, meta = load_checkpoint(folder, self.state_kind)
        if meta["facts"] != self.fingerprint:
            raise InputError(f"{folder} is the state of training on other facts: choose another folder")
        ours, theirs = self._comparable(), meta["settings"]
        if differing := [name for name in ours if theirs.get(name) != ours[name]]:
            listed = ", ".join(f"{name} {theirs.get(name)!r} there, {ours[name]!r} here" for name in differing)
            raise InputError(f"{folder} is the state of training with other settings: {listed}")
        self.training.restore(tensors, meta)
        if self.training.epoch > self.training.settings.epochs:
            raise InputError(
                f"{folder} has gone through {self.training.epoch} epochs: give at least as many, or remove it"
            )
        self.history, self.best_mrr, self.stale = meta["history"], meta["best_mrr"], meta["stale"]
        self.best = {name[5:]: tensor for name, tensor in tensors.items() if name.startswith("best.")}

    def _save(self, folder: str | os.PathLike[str]) -> None:
        tensors, state = self.training.state()
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        found = {"history": self.history, "best_mrr": self.best_mrr, "stale": self.stale}
        meta = {"kind": self.state_kind, "facts": self.fingerprint, "settings": self._comparable(), **state, **found}
        if self.training.slice.first:
            save_checkpoint(folder, tensors, meta)
        self.training.slice.agreed(0.0)  # a barrier: all processes wait until the state is written

    def _comparable(self) -> dict[str, Any]:
        """Return the values that must be equal to resume: all settings but epochs and patience, and hashes of the
        validation and known facts, which selected the best parameters."""
        same = {name: value for name, value in self.training.told.items() if name not in ("epochs", "patience")}
        valid, known = self.facts.valid, self.facts.known
        return {**same, "valid": None if valid is None else _hash(valid), "known": _hash(known) if len(known) else None}


def _hash(ids: np.ndarray) -> str:
    """Compute the sha256 (hex) of a set of facts."""
    return hashlib.sha256(np.unique(ids, axis=0).tobytes()).hexdigest()


def _arrays(
    facts: KnowledgeGraph | Facts, graph: str | None, vocabulary: Vocabulary | None, literals: bool
) -> tuple[Vocabulary, np.ndarray]:
    if is_pair(facts):
        vocabulary, ids = facts[0], to_ids(vocabulary or facts[0], facts)
    elif isinstance(facts, KnowledgeGraph):
        theirs, ids = learnable(*facts.arrays(graph), literals)
        if vocabulary is not None:
            ids = vocabulary.triples_to_ids(theirs.ids_to_triples(ids))
        vocabulary = vocabulary or theirs
    elif graph is not None:
        raise InputError(f"the named graph {graph!r} is asked for, but triples were given; give a KnowledgeGraph")
    else:
        triples = checked_triples(cast("Iterable[Triple]", facts))
        vocabulary = vocabulary or Vocabulary.from_triples(triples)
        ids = vocabulary.triples_to_ids(triples)
    if not len(ids):
        raise InputError("there are no facts to learn from" + (f" in the graph {graph!r}" if graph else ""))
    return vocabulary, ids
