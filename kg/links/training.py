"""The training of all models of links: batches of distinct queries, Adagrad, regularisers, validation, checkpoints."""

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
    """Join the other processes of a torchrun, if this is one of them: NCCL on GPUs, a GPU each, else Gloo.

    Gives the device for this process, and whether it is the first, which writes files and messages.
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
    """The entities of this process: ids low to high - 1 of N; all of them where it is the only one."""

    def __init__(self, entities: int) -> None:
        self.alone = not (distributed.is_available() and distributed.is_initialized())
        self.processes = 1 if self.alone else distributed.get_world_size()
        number = 0 if self.alone else distributed.get_rank()
        self.first = number == 0
        self.entities = entities
        self.low = entities * number // self.processes
        self.high = entities * (number + 1) // self.processes

    def mine(self, ids: torch.Tensor) -> torch.Tensor:
        """Whether each id is in the slice (bool)."""
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
        """(n, width) rows of the whole table, of which `table` is the slice."""
        if self.alone:
            return table.index_select(0, ids)
        mine = self.mine(ids)
        found = table.index_select(0, (ids - self.low).where(mine, 0))
        return self.sum(found * mine[:, None])

    def add(self, table: torch.Tensor, ids: torch.Tensor, rows: torch.Tensor) -> None:
        """Add rows to those of the slice; the others are left to their processes."""
        if not self.alone:
            mine = self.mine(ids)  # others' rows are added as zeros: a selection would wait for a GPU
            ids, rows = (ids - self.low).where(mine, 0), rows * mine[:, None]
        table.index_add_(0, ids, rows)

    def whole(self, table: torch.Tensor) -> torch.Tensor:
        """(N, width) the slices of all processes together."""
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


# ---- The distinct queries that facts answer, (s, p, ?) and (?, p, o), with all their answers.


class Queries:
    """The distinct queries of some facts: query i is (anchor[i], kind[i]), its answers are
    answer[first[i] : first[i + 1]]. Kind p < R asks for objects of relation p, kind R + p for its subjects.

    :ivar facts: how many distinct facts there are; each is an answer twice.
    """

    def __init__(self, ids: np.ndarray, relations: int, by_query: bool = False) -> None:
        """
        :param ids: (n, 3) int64 facts.
        :param by_query: whether each query weighs 1, else each fact.
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
        """All queries once, in random order: for each batch its total weight, and the batch in parts of at most `most`
        queries. The arrays go to the device once for the whole epoch."""
        order = rng.permutation(len(self))
        counts = np.diff(self.first)[order]
        ends = np.concatenate([[0], np.cumsum(counts)])
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], counts)
        answers = self.answer[np.repeat(self.first[:-1][order], counts) + within]
        rows = np.repeat(np.arange(len(order)), counts)
        # Either each fact has the same weight, or each query.
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
    :ivar total: (B,) float32, the weight of a query, the sum of those of its answers.
    :ivar row, answer: (n,) int64, an answer's query within the part, and its entity.
    :ivar weight: (n,) float32.
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
    """A penalty that training adds to the loss of each fact, for each of the fact's factors.

    :ivar weight: the factor of the penalty.
    :raises InputError: a weight that is no number of at least 0.
    """

    weight: NonNegative

    @abstractmethod
    def penalty(self, factor: torch.Tensor) -> torch.Tensor:
        """(n, width) real or complex embeddings -> (n,) the penalty of each."""

    def gradient(self, factor: torch.Tensor) -> tuple[float, torch.Tensor]:
        """A number and (n, width) whose product is the gradient of the summed penalties, here by autograd.

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
        # The root of a product is several times faster than torch's abs of complex numbers.
        return 3 * self.weight, factor * (factor * factor.conj()).real.sqrt()


@checked_methods
class F2(Regularizer):
    """The squared Frobenius norm, weight * sum of |z|^2, which Lacroix et al. (2018) compare with N3."""

    def penalty(self, factor: torch.Tensor) -> torch.Tensor:
        return self.weight * factor.abs().pow(2).sum(-1)

    def gradient(self, factor: torch.Tensor) -> tuple[float, torch.Tensor]:
        return 2 * self.weight, factor


def n3_beside(n3: float | None, regularizer: Regularizer | None) -> float:
    """The weight of N3 in a fit: by default that of the settings, or 0 where a regulariser takes its place.

    :raises InputError: both are given.
    """
    if regularizer is None:
        return TrainingSettings.n3 if n3 is None else n3
    if n3:
        raise InputError(f"n3 is {n3}, the weight of N3, and {regularizer} is given in its place: give one of them")
    return 0.0


# ---- The matrix product of the scores, by the faster of torch's libraries.


def against_all(queries: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """(B, D) and (N, D) float32 -> (B, N) float32, `queries @ rows.T`; no gradient flows through it on a CPU.

    On a CPU torch multiplies by MKL, which uses half of the vector units of other makers' processors; oneDNN, which
    torch has for convolutions, takes less than half the time there at the same precision.
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
#: Multiplications of a batch's queries with all entities up to which a training takes one thread. On two busy cores a
#: training of 135 entities took 0.5 s with one thread and 4 to 11 s with two, of 700 entities 0.6 s and 4 to 6 s.
ONE_THREAD = 1 << 27


class Step(Protocol):
    """One step of Adagrad, made of the parts of a batch."""

    def add(self, part: QueryPart, scale: float) -> torch.Tensor:
        """Add the gradient of some queries, their weights times `scale`; the weighted sum of their losses, on the
        device."""
        ...

    def apply(self) -> None:
        """Change the parameters."""
        ...


class Training(ABC):
    """Parameters, Adagrad's sums and the order of batches; `run_epoch` takes them one epoch further.

    :ivar parameters: the learned tensors by name; "entity" has the rows of this process's slice.
    :ivar regularizer: None where nothing is penalised.
    :ivar told: the settings with the given regulariser, as plain JSON.
    """

    score_bytes = 4  # of each score of a query while its gradient is computed

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
        :param regularizer: in place of N3(settings.n3).
        """
        self.settings, self.device, self.relations = settings, device, relations
        self.told = {**asdict(settings), "regularizer": None if regularizer is None else str(regularizer)}
        regularizer = N3(settings.n3) if regularizer is None else regularizer
        self.regularizer = regularizer if regularizer.weight else None
        self.queries = Queries(ids, relations, settings.weighting == "query")
        self.slice = EntitySlice(entities)
        generator = torch.Generator().manual_seed(settings.seed)  # on the CPU, so that every device starts alike
        self.parameters = self._begin(generator)
        # Fused, it is the fastest on the CPU.
        self.optimiser = torch.optim.Adagrad(
            self.parameters.values(), lr=settings.learning_rate, fused=device.type == "cpu" or None
        )
        self.shuffle = np.random.Generator(np.random.PCG64(settings.seed))
        self.epoch = 0

    @property
    def threads(self) -> int | None:
        """Of torch on a CPU; None for torch's own number. The size of the job alone decides: a busy machine gives the
        same bits."""
        queries = min(self.settings.batch_size, len(self.queries))
        return 1 if queries * self.slice.entities * 2 * self.settings.rank <= ONE_THREAD else None

    @abstractmethod
    def _begin(self, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """The parameters before the first epoch, on the device."""

    @abstractmethod
    def _step(self) -> Step:
        """The next step of Adagrad."""

    @abstractmethod
    def tensors(self) -> dict[str, torch.Tensor]:
        """The present parameters of the model, for all entities."""

    def run_epoch(self) -> float:
        """One pass over all queries; the mean loss of a fact or of a query (`weighting`), without penalties."""
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
        """Everything that the next epoch depends on: tensors (of all entities) and plain JSON."""
        tensors = {}
        for name, parameter in self.parameters.items():
            for kind, value in (("parameter", parameter), ("sum", self.optimiser.state[parameter]["sum"])):
                tensors[f"{kind}.{name}"] = self.slice.whole(value) if name == "entity" else value
        return tensors, {"epoch": self.epoch, "shuffle": self.shuffle.bit_generator.state}

    @torch.no_grad()
    def restore(self, tensors: dict[str, torch.Tensor], state: dict[str, Any]) -> None:
        """Load what `state` gave.

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


# ---- One fit from its facts to the model: validation, early stopping, checkpoints, progress.


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
        """Labels as ids, in the given vocabulary or in that of the facts.

        :param literals: whether facts of a KnowledgeGraph with literals are kept.
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
    """One fit: a training with its facts, history and best parameters so far."""

    def __init__(
        self,
        make: Callable[..., Fitted],
        facts: TrainingFacts,
        training: Training,
        state_kind: str,
        words: np.ndarray | None = None,
    ) -> None:
        """
        :param make: makes the model of (vocabulary, origin=..., and the tensors of the training by their names).
        :param state_kind: the "kind" of checkpoints of the training.
        :param words: the word vectors of the training, for its fingerprint.
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
        self.stale = 0  # looks at `valid` since the best one

    def train(self, folder: str | os.PathLike[str] | None, seconds: float, progress: bool) -> Fitted:
        """Train to the end; the best model.

        :param folder: for the state, written every so many seconds; training resumes from one that is there.
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
        self.training.slice.agreed(0.0)  # no process goes on before the state is there

    def _comparable(self) -> dict[str, Any]:
        """What must be the same to resume: all settings but epochs and patience, and the facts of validation, by which
        the best parameters were chosen."""
        same = {name: value for name, value in self.training.told.items() if name not in ("epochs", "patience")}
        valid, known = self.facts.valid, self.facts.known
        return {**same, "valid": None if valid is None else _hash(valid), "known": _hash(known) if len(known) else None}


def _hash(ids: np.ndarray) -> str:
    """sha256 (hex) of facts as a set."""
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
