"""Train PyKEEN's models with PyKEEN's own loops, as link predictors of gumption.

Every model that learns from triples alone can be trained. Models whose default loss is a binary cross entropy are
trained on all entities for each (subject, relation), with inverse relations, as in the papers of ConvE and TuckER
(LCWA). Other models are trained with sampled negatives (sLCWA).
"""

import gc
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import Any, cast

import torch
from pykeen.losses import BCEAfterSigmoidLoss, BCEWithLogitsLoss
from pykeen.models import LiteralModel, model_resolver
from pykeen.stoppers import Stopper
from pykeen.training import LCWATrainingLoop, SLCWATrainingLoop
from pykeen.training.callbacks import TrainingCallback
from pykeen.training.training_loop import NonFiniteLossError, NoTrainingBatchError

from gumption.data import InputError
from gumption.data.manifest import near
from gumption.data.provenance import versions
from gumption.data.settings import checked
from gumption.kg.checkpoint import pick_device
from gumption.kg.facts import Facts, is_pair, marks_of, note_trained, to_ids, triples_factory
from gumption.kg.vocabulary import Triple, Vocabulary

from .pykeen_models import PyKEENPredictor
from .ranking import evaluate_ranking
from .training_settings import TrainingSettings

# Models that need inverse relations, with their further settings. NodePiece's default aggregation is a function, which
# a checkpoint without pickles cannot hold; its paper uses "mlp".
_NEED_INVERSE: dict[str, dict[str, Any]] = {"compgcn": {}, "nodepiece": {"aggregation": "mlp"}}


def trainable_models() -> list[str]:
    """List the names of PyKEEN's models that `fit_pykeen` trains, sorted."""
    return sorted(name for name in model_resolver.lookup_dict if _refusal(name) is None)


@checked
def fit_pykeen(
    facts: Facts,
    model: str,
    *,
    vocabulary: Vocabulary | None = None,
    epochs: int = 50,
    rank: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    valid: Facts | None = None,
    known: Facts = (),
    valid_every: int = 10,
    patience: int | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: Callable[[int, str], None] | None = None,
) -> PyKEENPredictor:
    """Train a PyKEEN model with Adam. A setting of None takes PyKEEN's default for the model.

    :param model: name in upper or lower case: "rotate", "TuckER", ...; `trainable_models` lists the names.
    :param vocabulary: the labels to learn, if more than the labels of the facts.
    :param rank: the embedding dimension.
    :param batch_size: facts in a step; with LCWA, distinct (subject, relation) pairs.
    :param valid: facts whose MRR, measured every `valid_every` epochs and after the last, selects the best parameters.
    :param known: other true facts; like the training facts, they are filtered out when `valid` is ranked.
    :param patience: stop after so many measurements on `valid` without a better MRR; None never stops.
    :param progress: called after each epoch with its number and a text with its loss and MRR.
    :raises InputError: an unknown model, or a model that cannot be trained on triples; a setting out of range; no
        facts; a loss that is no longer finite.
    """
    name = model_resolver.normalize(model)
    if name not in model_resolver.lookup_dict:
        raise InputError(f"PyKEEN has no model {model!r}{near(name, trainable_models())}")
    if (reason := _refusal(name)) is not None:
        raise InputError(f"{name} cannot be trained on a graph: {reason}")
    given = {"rank": rank, "batch_size": batch_size, "learning_rate": learning_rate, "patience": patience}
    told: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    TrainingSettings(epochs=epochs, valid_every=valid_every, seed=seed, **told)  # refuses values out of range
    if vocabulary is None and is_pair(facts):
        vocabulary = facts[0]
    elif vocabulary is None:
        facts = list(cast("Iterable[Triple]", facts))
        vocabulary = Vocabulary.from_triples(facts)
    ids = to_ids(vocabulary, facts)
    if not len(ids):
        raise InputError("there are no facts to learn from")
    trained_on, chosen_by = marks_of(vocabulary, ids), None
    if valid is not None:
        chosen_by = marks_of(vocabulary, to_ids(vocabulary, valid))
        note_trained(trained_on, chosen_by, "validation facts")

    all_entities = issubclass(model_resolver.lookup(name).loss_default, (BCEAfterSigmoidLoss, BCEWithLogitsLoss))
    inverse = all_entities or name in _NEED_INVERSE
    factory = triples_factory(vocabulary, ids, inverse)
    with quiet():
        chosen = {**_NEED_INVERSE.get(name, {}), **({} if rank is None else {"embedding_dim": rank})}
        made: Any = model_resolver.make(name, chosen, triples_factory=factory, random_seed=seed)
        predictor = PyKEENPredictor(made, vocabulary, pick_device(device))
        predictor.trained_on, predictor.chosen_by = trained_on, chosen_by
        predictor.structure()  # before training, refuses a model that could not be saved
        rate: Any = {} if learning_rate is None else {"lr": learning_rate}
        kind: Any = LCWATrainingLoop if all_entities else SLCWATrainingLoop
        optimizer = torch.optim.Adam(made.get_grad_params(), **rate)
        loop = kind(model=made, triples_factory=factory, optimizer=optimizer)
        history, looks = _History(progress), None
        if valid is not None:
            true = [(vocabulary, ids), (vocabulary, to_ids(vocabulary, known, skip=True)), valid]
            looks = _Looks(predictor, valid, true, history.rows, valid_every, epochs, patience)
        try:
            with frozen_garbage():
                loop.train(
                    factory, num_epochs=epochs, batch_size=batch_size, use_tqdm=False, callbacks=history, stopper=looks
                )
        except NoTrainingBatchError:
            raise InputError(
                f"{name} is trained on whole batches only, and these facts do not fill one: lower the batch size"
            ) from None
        except NonFiniteLossError:
            raise InputError(f"the loss of {name} is no longer a finite number: lower the learning rate") from None
        except RuntimeError as error:  # a rank that does not fit the model's layers, or no memory
            raise InputError(f"PyKEEN cannot train {name} so: {error}") from None
    if looks is not None:
        made.load_state_dict(looks.best)
    predictor.origin = {
        "model": name,
        "loop": "LCWA" if all_entities else "sLCWA",
        "inverse_relations": inverse,
        "settings": {"epochs": epochs, "valid_every": valid_every, "seed": seed, **told},
        "history": history.rows,
        "versions": versions(),
    }
    return predictor


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress PyKEEN's messages about pinned memory, batch sizes, seeds and facts that its loaders leave out."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextmanager
def frozen_garbage() -> Iterator[None]:
    """Exclude existing objects from garbage collection, which PyKEEN's loop runs after each epoch.

    Blocks may be nested: an inner block quickly freezes the objects created since the outer block began.
    """
    within_another = gc.get_freeze_count() > 0
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not within_another:
            gc.unfreeze()


class _History(TrainingCallback):
    """Record the loss of each epoch and report progress."""

    def __init__(self, progress: Callable[[int, str], None] | None) -> None:
        super().__init__()
        self.rows: list[dict[str, float]] = []
        self.progress = progress

    def post_epoch(self, epoch: int, epoch_loss: float, **kwargs: Any) -> None:
        self.rows.append({"epoch": epoch, "loss": float(epoch_loss)})
        if self.progress is not None:
            looks = [row["valid_mrr"] for row in self.rows if "valid_mrr" in row]
            self.progress(epoch, f"loss {epoch_loss:.4f}" + (f", valid MRR {looks[-1]:.4f}" if looks else ""))


class _Looks(Stopper):
    """Rank validation facts every `every` epochs, keep the best parameters, and stop when `patience` is exhausted."""

    def __init__(
        self,
        predictor: PyKEENPredictor,
        valid: Facts,
        true: list[Facts],
        rows: list[dict[str, float]],
        every: int,
        last: int,
        patience: int | None,
    ) -> None:
        super().__init__()
        self.predictor, self.valid, self.true, self.rows = predictor, valid, true, rows
        self.every, self.last, self.patience = every, last, patience
        self.best: Mapping[str, torch.Tensor] = {}
        self.best_mrr, self.stale = -1.0, 0

    def should_evaluate(self, epoch: int) -> bool:
        return epoch % self.every == 0 or epoch == self.last

    def should_stop(self, epoch: int) -> bool:
        mrr = evaluate_ranking(self.predictor, self.valid, self.true)["mrr"]
        self.predictor.model.post_parameter_update()  # clear representations cached without gradients
        self.rows[-1]["valid_mrr"] = mrr
        self.stale += 1
        if mrr > self.best_mrr:
            self.best_mrr, self.stale = mrr, 0
            self.best = {name: tensor.clone() for name, tensor in self.predictor.model.state_dict().items()}
        return self.patience is not None and self.stale >= self.patience

    def get_summary_dict(self) -> Mapping[str, Any]:
        return {}


def _refusal(name: str) -> str | None:
    """Return why a model cannot be trained on triples alone; None if it can."""
    kind = model_resolver.lookup_dict[name]
    if issubclass(kind, LiteralModel):
        return "it needs numbers about each entity beside the facts"
    if name.startswith("inductive"):
        return "it needs a second graph, of entities that the first one does not have"
    if "embedding_dim" not in signature(kind.__init__).parameters:
        return "it has no embeddings to train"
    return None
