"""Models of PyKEEN as link predictors, and our ComplEx as one of theirs.

PyKEEN's own folders come in without their pickle being executed (pykeen_files.py); our checkpoint of such a model is
a folder like any other here, safetensors and JSON.
"""

import csv
import io
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gumption.data import InputError
from gumption.data.packed import open_packed
from gumption.data.settings import checked, checked_methods
from gumption.data.writing import whole_folder, write_json
from gumption.kg.checkpoint import load_checkpoint, pick_device, save_checkpoint
from gumption.kg.vocabulary import Vocabulary

from .fact_ids import Facts, to_ids
from .predictor import LinkPredictor
from .pykeen_files import build, describe, read_pickled_model

if TYPE_CHECKING:
    from pykeen.models import Model
    from pykeen.pipeline import PipelineResult

    from .complex import ComplEx

KIND = "gumption/pykeen/1"
MODEL, TRIPLES, STATE, CONFIG = "trained_model.pkl", "training_triples", "model_state.pt", "config.json"


@checked_methods
class PyKEENPredictor(LinkPredictor):
    """A model of PyKEEN's (TransE, RotatE, ConvE, ...) with the labels of its ids.

    Scores are those of PyKEEN's `predict_t` and `predict_h`: a model trained with inverse triples predicts subjects as
    the objects of the inverse relation.

    :ivar model: in evaluation mode; its N entities and R relations (inverse ones not counted) are the vocabulary's.
    :ivar origin: how it was trained, as plain JSON, where `fit_pykeen` trained it; else empty.
    """

    def __init__(
        self,
        model: "Model",
        vocabulary: Vocabulary,
        device: str | torch.device | None = None,
        origin: dict[str, Any] | None = None,
    ) -> None:
        """
        :param device: where to score, None for where the model is.
        :raises InputError: a vocabulary of another size than the model's.
        """
        sizes = model.num_entities, model.num_real_relations
        if sizes != (len(vocabulary.entities), len(vocabulary.relations)):
            raise InputError(
                f"the model has {sizes[0]} entities and {sizes[1]} relations, its labels are {vocabulary!r}"
            )
        self.vocabulary = vocabulary
        self.origin = origin or {}
        if device is not None:
            model = model.to(pick_device(device))
        self.model = model.eval()
        self.device = next((each.device for each in (*model.parameters(), *model.buffers())), torch.device("cpu"))

    @classmethod
    def from_result(cls, result: "PipelineResult") -> "PyKEENPredictor":
        """The trained model of `pykeen.pipeline.pipeline(...)`.

        :raises InputError: a result whose triples have no labels.
        """
        factory: Any = result.training
        if not hasattr(factory, "entity_to_id"):
            raise InputError("the result's triples have ids only: train PyKEEN on a TriplesFactory with labels")
        return cls(result.model, _vocabulary(factory.entity_to_id, factory.relation_to_id, "the result"))

    @torch.no_grad()
    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return self.model.predict_t(torch.stack([subjects, relations], dim=1)).float()

    @torch.no_grad()
    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return self.model.predict_h(torch.stack([relations, objects], dim=1)).float()

    @cached_property
    def score_bytes(self) -> int:  # type: ignore[override]  # measured when first asked for
        """Twice the largest array that one query makes (many models make one number per entity and dimension)."""
        one = torch.zeros(1, dtype=torch.int64, device=self.device)
        with _LargestArray() as seen:
            self.object_scores(one, one)
            self.subject_scores(one, one)
        return 4 + 2 * -(-seen.bytes // len(self.vocabulary.entities))

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write a checkpoint folder (safetensors and JSON, no pickle), replacing one that is there.

        :raises InputError: a model with parts that are neither PyKEEN's nor data.
        """
        import pykeen.version

        structure, tensors = self.structure()
        meta = {
            "kind": KIND,
            "pykeen": pykeen.version.VERSION,
            "model": structure,
            "vocabulary": self.vocabulary.to_json(),
            "origin": self.origin,
        }
        save_checkpoint(directory, tensors, meta)

    def structure(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """What the model is made of as JSON, and its tensors by path.

        :raises InputError: a model with parts that are neither PyKEEN's nor data.
        """
        pickled = io.BytesIO()
        torch.save(self.model, pickled)
        tensors: dict[str, torch.Tensor] = {}
        return describe(read_pickled_model(pickled), tensors), tensors

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "auto") -> "PyKEENPredictor":
        """Read what `save` wrote.

        :raises InputError: where it is missing, damaged or of another kind, or holds NaN.
        """
        tensors, meta = load_checkpoint(directory, KIND)
        model, vocabulary = _build(meta["model"], tensors, directory), Vocabulary.from_json(meta["vocabulary"])
        return cls(model, vocabulary, pick_device(device), meta.get("origin"))


@checked
def load_pykeen(folder: str | os.PathLike[str], device: str = "auto") -> PyKEENPredictor:
    """The model in a folder of PyKEEN's `PipelineResult.save_to_directory` or of `export_pykeen`.

    Its pickle is read as data: nothing in it is executed.

    :raises InputError: a part that is missing or damaged, weights that are NaN, a model that is not all PyKEEN's.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    for part, option in ((MODEL, "save_replicates"), (f"{TRIPLES}/entity_to_id.tsv.gz", "save_training")):
        if not (folder / part).is_file():
            raise InputError(f"{folder}: {part} is missing; save the result with save_to_directory(..., {option}=True)")
    tensors: dict[str, torch.Tensor] = {}
    record = read_pickled_model(folder / MODEL)
    try:
        structure = describe(record, tensors)
    except InputError as error:
        raise InputError(f"{folder / MODEL}: {error}") from None
    bad = sorted(name for name, tensor in tensors.items() if tensor.is_floating_point() and not tensor.isfinite().all())
    if bad:
        raise InputError(f"{folder}: {', '.join(bad)} holds NaN or infinity; train it again")
    labels = [_read_labels(folder / TRIPLES / f"{kind}_to_id.tsv.gz") for kind in ("entity", "relation")]
    return PyKEENPredictor(_build(structure, tensors, folder), Vocabulary(*labels), pick_device(device))


@checked
def export_pykeen(model: "ComplEx", folder: str | os.PathLike[str], facts: Facts = ()) -> None:
    """Write a folder that PyKEEN opens: a pykeen.models.ComplEx with the same scores.

    `trained_model.pkl` and `training_triples/` are what `PipelineResult.save_to_directory` writes;
    `model_state.pt` is the state dict alone, for the model that `config.json` describes, for those who load no
    pickles of models. With reciprocal relations it is a model with inverse triples. PyKEEN itself reads some labels,
    such as "NA" and "null", back as nan.

    :param facts: what `training_triples` shall hold, usually what the model was fitted on.
    :raises InputError: a folder that exists, or facts of other labels.
    """
    import pykeen.models
    from pykeen.triples import TriplesFactory

    folder = Path(folder)
    if folder.exists():
        raise InputError(f"{folder} exists already: choose a new folder")
    vocabulary = model.vocabulary
    ids = to_ids(vocabulary, facts)
    factory = TriplesFactory(
        mapped_triples=torch.from_numpy(ids),
        entity_to_id={label: index for index, label in enumerate(vocabulary.entities)},
        relation_to_id={label: index for index, label in enumerate(vocabulary.relations)},
        create_inverse_triples=model.reciprocal,
    )
    settings: dict[str, Any] = {
        "embedding_dim": model.rank,
        "random_seed": 0,
    }  # the seed of weights that are replaced at once
    theirs: Any = pykeen.models.ComplEx(triples_factory=factory, **settings)
    relation = model.relation
    if model.reciprocal:  # theirs are interleaved: 2r and its inverse 2r + 1
        relation = torch.stack(relation.chunk(2), dim=1).flatten(0, 1)
    with torch.no_grad():
        for module, rows in (
            (theirs.entity_representations[0], model.entity),
            (theirs.relation_representations[0], relation),
        ):
            # Theirs are (real, imaginary) pairs, ours the real parts and then the imaginary ones.
            module._embeddings.weight.copy_(torch.stack(rows.chunk(2, dim=1), dim=2).flatten(1))
    with whole_folder(folder) as beside:
        factory.to_path_binary(beside / TRIPLES)
        torch.save(theirs.state_dict(), beside / STATE)  # not save_state, whose pickles are not for weights_only=True
        torch.save(theirs, beside / MODEL)
        write_json(
            beside / CONFIG,
            {
                "metadata": {"title": "ComplEx of gumption", "vocabulary": vocabulary.hash},
                "pipeline": {
                    "model": "ComplEx",
                    "model_kwargs": settings,
                    "dataset_kwargs": {"create_inverse_triples": model.reciprocal},
                },
            },
        )


class _LargestArray(TorchDispatchMode):
    """Watches which array of those that are made is the largest."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        inputs = {id(each.untyped_storage()) for each in args if _dense(each)}
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if _dense(each) and id(each.untyped_storage()) not in inputs:
                self.bytes = max(self.bytes, each.untyped_storage().nbytes())
        return result


def _dense(value: Any) -> TypeGuard[torch.Tensor]:
    """Whether it is a tensor with a storage; R-GCN's sparse ones have none."""
    return isinstance(value, torch.Tensor) and value.layout == torch.strided


def _build(structure: Any, tensors: dict[str, torch.Tensor], folder: Any) -> Any:
    from pykeen.models import Model

    try:
        model = build(structure, tensors)
    except (
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        RuntimeError,
    ) as error:  # RecursionError is one of the last
        raise InputError(f"{folder}: the model cannot be built again ({error})") from None
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    if not isinstance(model, Model):
        raise InputError(f"{folder}: {type(model).__name__} is not a model of PyKEEN's")
    return model


def _read_labels(path: Path) -> list[str]:
    """The labels of PyKEEN's table of ids (a gzipped TSV with the columns id and label), in the order of the ids."""
    try:
        with io.TextIOWrapper(open_packed(path), encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not rows or rows[0] != ["id", "label"] or any(len(row) != 2 for row in rows):
        raise InputError(f"{path}: expected two columns, id and label")
    return _in_order({label: identifier for identifier, label in rows[1:]}, len(rows) - 1, str(path))


def _vocabulary(entities: Any, relations: Any, where: str) -> Vocabulary:
    return Vocabulary(_in_order(entities, len(entities), where), _in_order(relations, len(relations), where))


def _in_order(ids: Any, count: int, where: str) -> list[str]:
    labels = {str(identifier): label for label, identifier in ids.items()}
    if set(labels) != {str(number) for number in range(count)}:
        raise InputError(f"{where}: the ids are not 0 to {count - 1}, one for each label")
    return [labels[str(number)] for number in range(count)]
