"""Use PyKEEN's models as link predictors, and export our ComplEx to PyKEEN.

Folders that PyKEEN wrote are read without executing their pickle. Our checkpoints of such models consist of safetensors
and JSON, like all others.
"""

import csv
import importlib
import io
import math
import os
import pickle
import pickletools
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeGuard

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from gumption.data.errors import InputError, Note, located
from gumption.data.packed import Damaged, open_archive, open_packed
from gumption.data.settings import checked, checked_methods
from gumption.data.writing import whole_folder, write_json
from gumption.kg.checkpoint import load_checkpoint, pick_device, refuse_infinite, save_checkpoint
from gumption.kg.facts import Facts, marks_of, to_ids, triples_factory
from gumption.kg.vocabulary import Vocabulary

from .predictor import LinkPredictor, marks_to_tensors, take_marks

if TYPE_CHECKING:
    from pykeen.models import Model
    from pykeen.pipeline import PipelineResult

    from .complex import ComplEx


KIND = "gumption/pykeen/1"
MODEL, TRIPLES, STATE, CONFIG = "trained_model.pkl", "training_triples", "model_state.pt", "config.json"


@checked_methods
class PyKEENPredictor(LinkPredictor):
    """A model of PyKEEN (TransE, RotatE, ConvE, ...) with the labels of its ids.

    PyKEEN's `predict_t` and `predict_h` compute the scores: a model trained with inverse triples predicts subjects as
    objects of the inverse relation.

    :ivar model: in evaluation mode; its N entities and R relations (without inverses) match the vocabulary.
    :ivar origin: record of a training by `fit_pykeen`, as plain JSON; otherwise empty.
    """

    def __init__(
        self,
        model: "Model",
        vocabulary: Vocabulary,
        device: str | torch.device | None = None,
        origin: dict[str, Any] | None = None,
    ) -> None:
        """
        :param device: None keeps the model's device.
        :raises InputError: a vocabulary whose size differs from the model's.
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
        """Wrap the trained model of `pykeen.pipeline.pipeline(...)`.

        :raises InputError: a result whose triples have no labels.
        """
        factory: Any = result.training
        if not hasattr(factory, "entity_to_id"):
            raise InputError("the result's triples have ids only: train PyKEEN on a TriplesFactory with labels")
        ids = factory.entity_to_id, factory.relation_to_id
        return cls(result.model, Vocabulary(*(_in_order(each, len(each), "the result") for each in ids)))

    @torch.no_grad()
    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return self.model.predict_t(torch.stack([subjects, relations], dim=1)).float()

    @torch.no_grad()
    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return self.model.predict_h(torch.stack([relations, objects], dim=1)).float()

    @cached_property
    def score_bytes(self) -> int:  # type: ignore[override]  # measured at the first use
        """Return 4 plus twice a query's largest array per entity (many models compute N x dimensions per query)."""
        one = torch.zeros(1, dtype=torch.int64, device=self.device)
        with _LargestArray() as seen:
            self.object_scores(one, one)
            self.subject_scores(one, one)
        return 4 + 2 * -(-seen.bytes // len(self.vocabulary.entities))

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write a checkpoint folder (safetensors and JSON, no pickle), replacing an existing folder.

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
        save_checkpoint(directory, tensors | marks_to_tensors(self), meta)

    def structure(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """Return the modules and attributes of the model as JSON, and its tensors by path.

        :raises InputError: a model with parts that are neither PyKEEN's nor data.
        """
        pickled = io.BytesIO()
        torch.save(self.model, pickled)
        tensors: dict[str, torch.Tensor] = {}
        return describe(read_pickled_model(pickled), tensors), tensors

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "auto") -> "PyKEENPredictor":
        """Read a folder written by `save`.

        :raises InputError: a checkpoint that is missing, damaged or of another kind, or holds NaN.
        """
        tensors, meta = load_checkpoint(directory, KIND)
        marks = take_marks(tensors)
        model, vocabulary = _build(meta["model"], tensors, directory), Vocabulary.from_json(meta["vocabulary"])
        loaded = cls(model, vocabulary, pick_device(device), meta.get("origin"))
        vars(loaded).update(marks)
        return loaded


@checked
def load_pykeen(folder: str | os.PathLike[str], device: str = "auto") -> PyKEENPredictor:
    """Load the model from a folder of PyKEEN's `PipelineResult.save_to_directory` or of `export_pykeen`.

    Its pickle is read as data; no code in it is executed.

    :raises InputError: a missing or damaged part, weights that are NaN, a model with parts that are not PyKEEN's.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    for part, option in ((MODEL, "save_replicates"), (f"{TRIPLES}/entity_to_id.tsv.gz", "save_training")):
        if not (folder / part).is_file():
            raise InputError(f"{folder}: {part} is missing; save the result with save_to_directory(..., {option}=True)")
    tensors: dict[str, torch.Tensor] = {}
    record = read_pickled_model(folder / MODEL)
    with located(folder / MODEL):
        structure = describe(record, tensors)
    refuse_infinite(folder, tensors, "train it again")
    labels = [_read_labels(folder / TRIPLES / f"{kind}_to_id.tsv.gz") for kind in ("entity", "relation")]
    return PyKEENPredictor(_build(structure, tensors, folder), Vocabulary(*labels), pick_device(device))


@checked
def export_pykeen(model: "ComplEx", folder: str | os.PathLike[str], facts: Facts = ()) -> None:
    """Write a folder that PyKEEN opens: a pykeen.models.ComplEx with the same scores.

    `trained_model.pkl` and `training_triples/` are as in `PipelineResult.save_to_directory`. `model_state.pt` is the
    state dict of the model described in `config.json`, for readers that load no pickled models. Reciprocal relations
    become inverse triples. PyKEEN reads some labels, for example "NA" and "null", back as nan.

    :param facts: the facts for `training_triples`, from which PyKEEN builds its filters; usually the training facts.
        A Note counts the training facts that are missing.
    :raises InputError: a folder that exists, or facts with other labels.
    """
    import pykeen.models

    folder = Path(folder)
    if folder.exists():
        raise InputError(f"{folder} exists already: choose a new folder")
    vocabulary = model.vocabulary
    ids = to_ids(vocabulary, facts)
    absent = [] if model.trained_on is None else np.setdiff1d(model.trained_on, marks_of(vocabulary, ids))
    if len(absent) or not len(ids):
        warnings.warn(
            f"{len(ids):,} training triples are written, and {len(absent):,} facts of the fit are not among them: a "
            "filter made of them leaves out too little; give the facts of the fit, on the command line by --graph",
            Note,
            stacklevel=2,
        )
    factory = triples_factory(vocabulary, ids, inverse=model.reciprocal)
    # Any seed will do: the weights are replaced below.
    settings: dict[str, Any] = {"embedding_dim": model.rank, "random_seed": 0}
    theirs: Any = pykeen.models.ComplEx(triples_factory=factory, **settings)
    relation = model.relation
    if model.reciprocal:  # PyKEEN interleaves them: relation 2r and its inverse 2r + 1
        relation = torch.stack(relation.chunk(2), dim=1).flatten(0, 1)
    with torch.no_grad():
        for module, rows in (
            (theirs.entity_representations[0], model.entity),
            (theirs.relation_representations[0], relation),
        ):
            # PyKEEN has (real, imaginary) pairs; here real parts come first, then imaginary parts.
            module._embeddings.weight.copy_(torch.stack(rows.chunk(2, dim=1), dim=2).flatten(1))
    refuse_infinite(folder, theirs.state_dict(), "it was not written; train the model again")
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
    """Measure the largest array allocated by operations within the block."""

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
    """Return whether the value is a tensor with a storage; R-GCN's sparse tensors have none."""
    return isinstance(value, torch.Tensor) and value.layout == torch.strided


def _build(structure: Any, tensors: dict[str, torch.Tensor], folder: Any) -> Any:
    from pykeen.models import Model

    try:
        model = build(structure, tensors)
    # A RecursionError is a RuntimeError.
    except (KeyError, TypeError, AttributeError, IndexError, RuntimeError) as error:
        raise InputError(f"{folder}: the model cannot be built again ({error})") from None
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    if not isinstance(model, Model):
        raise InputError(f"{folder}: {type(model).__name__} is not a model of PyKEEN's")
    return model


def _read_labels(path: Path) -> list[str]:
    """Read the labels of PyKEEN's table of ids (a gzipped TSV with columns id and label), in the order of the ids."""
    try:
        with io.TextIOWrapper(open_packed(path), encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not rows or rows[0] != ["id", "label"] or any(len(row) != 2 for row in rows):
        raise InputError(f"{path}: expected two columns, id and label")
    return _in_order({label: identifier for identifier, label in rows[1:]}, len(rows) - 1, str(path))


def _in_order(ids: Any, count: int, where: str) -> list[str]:
    labels = {str(identifier): label for label, identifier in ids.items()}
    if set(labels) != {str(number) for number in range(count)}:
        raise InputError(f"{where}: the ids are not 0 to {count - 1}, one for each label")
    return [labels[str(number)] for number in range(count)]


# ---- Bounds on pickles, and on the values read from them.
#
# A few hundred bytes can describe a value that contains itself, or a chain of values that each contain the next one
# twice. Visiting or hashing such a value does not end.


PICKLE_BYTES = 1 << 22  # pickles of PyKEEN's models have some 20,000
VALUES, DEPTH = 1_000_000, 200

_REMEMBER = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE")
_RECALL = ("GET", "BINGET", "LONG_BINGET")


def check_pickle(content: bytes) -> None:
    """Raise ValueError for a pickle that would fill memory, or hash a tuple without end, while it is read.

    The weight of a tuple is the number of values in it, repetitions included. Lists and dicts have weight 1, because
    they cannot be hashed and may grow later; `unfolded` bounds them afterwards.
    """
    if len(content) > PICKLE_BYTES:
        raise ValueError(f"its data.pkl has more than {PICKLE_BYTES >> 20} MB")
    stack: list[int | None] = []  # weights; None is a mark
    memo: dict[int, int | None] = {}
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name in _REMEMBER:
            index = len(memo) if argument is None else int(argument)
            if index > len(content):
                raise ValueError(f"it remembers a value under the number {index}")
            memo[index] = stack[-1]
        elif opcode.name in _RECALL:
            assert argument is not None
            stack.append(memo[int(argument)])
        else:
            weight = 1 + _taken(stack, opcode)
            if opcode.name == "MARK":
                stack.append(None)
            else:
                stack += [weight if "TUPLE" in opcode.name or opcode.name == "DUP" else 1] * len(opcode.stack_after)
            if weight > VALUES:
                raise ValueError("it holds a tuple of tuples without end")


def _taken(stack: list[int | None], opcode: pickletools.OpcodeInfo) -> int:
    """Pop an opcode's values from the stack and return the sum of their weights."""
    before = opcode.stack_before
    taken: list[int | None] = []
    count = len(before)
    if pickletools.markobject in before:
        while (top := stack.pop()) is not None:
            taken.append(top)
        count = before.index(pickletools.markobject)
    taken += [stack.pop() for _ in range(count)]
    return sum(weight or 1 for weight in taken)


def unfolded(value: Any, parts: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """Yield a value and all values in it, repetitions included; raise ValueError for too many or too deep values.

    :param parts: returns the values directly within a value.
    """
    waiting = [(value, 0)]
    seen = 0
    while waiting:
        found, depth = waiting.pop()
        yield found
        below = [(part, depth + 1) for part in parts(found)]
        seen += len(below)
        if depth > DEPTH or seen > VALUES:
            raise ValueError("its values hold each other without end")
        waiting += below


# ---- A trained PyKEEN model as data: read from PyKEEN's pickle without executing it, then rebuilt.
#
# PyKEEN saves a whole model with torch.save: a zip archive with a pickle of the object tree and a file of numbers for
# each tensor. Unpickling calls any function named in the file. Here every name becomes a `Record` that only stores its
# arguments, so that nothing is called or imported. `describe` converts the records to JSON and named tensors, and
# `build` rebuilds the model from them with classes of PyKEEN and torch.nn only.
#
# Parts used only in training (loss, regularisers, initialisers, constraints) are left out, and so are entity
# representations cached by graph networks.


_LEFT_OUT = (
    "loss", "regularizer", "weight_regularizers", "initializer", "constrainer", "_random_seed",
    "enriched_embeddings", "enriched_representations",
)  # fmt: skip
# Functions that a representation may apply to its rows while scoring; no other function is called by name.
_FUNCTIONS = frozenset(
    {"torch.nn.functional.normalize", "pykeen.utils.complex_normalize", "pykeen.nn.quaternion.normalize"}
)
_MODULES = ("pykeen.", "torch.nn.modules.")
_OBJECTS = ("pykeen.nn.", "pykeen.inverse.")
_MOST_NAMES = 1_000  # of classes and functions; PyKEEN's models have some thirty
_MOST_SHARED = 16  # average number of tensors per storage; tied weights have two
_STORAGES = {
    "torch.DoubleStorage": torch.float64,
    "torch.FloatStorage": torch.float32,
    "torch.HalfStorage": torch.float16,
    "torch.BFloat16Storage": torch.bfloat16,
    "torch.LongStorage": torch.int64,
    "torch.IntStorage": torch.int32,
    "torch.BoolStorage": torch.bool,
    "torch.ComplexFloatStorage": torch.complex64,
    "torch.ComplexDoubleStorage": torch.complex128,
}


class Record:
    """A class or function named in a pickle, or a call of it, with its arguments, state and items."""

    origin = ""

    def __new__(cls, *arguments: Any, **named: Any) -> "Record":
        record = object.__new__(cls)
        record.arguments, record.named, record.state, record.items = arguments, named, {}, []
        return record

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *arguments: Any, **named: Any) -> "Record":
        called = Record(*arguments, **named)
        called.origin = f"{self.origin}(...)"
        return called

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items.append((key, value))

    def append(self, value: Any) -> None:
        self.items.append(value)

    def extend(self, values: Any) -> None:
        self.items.extend(values)

    arguments: tuple[Any, ...]
    named: dict[str, Any]
    state: Any
    items: list[Any]


class _Inert(pickle.Unpickler):
    """An unpickler that turns every name into a Record."""

    def __init__(self, file: IO[bytes], archive: zipfile.ZipFile, prefix: str) -> None:
        super().__init__(file)
        self._archive, self._prefix = archive, prefix
        self._storages: dict[str, torch.Tensor] = {}
        self._kinds: dict[str, type[Record]] = {}

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        origin = f"{module_name}.{global_name}"
        if origin not in self._kinds:
            if len(self._kinds) >= _MOST_NAMES:
                raise ValueError(f"it names more than {_MOST_NAMES} classes and functions")
            self._kinds[origin] = type("Record", (Record,), {"origin": origin})
        return self._kinds[origin]

    def persistent_load(self, pid: Any, /) -> Any:
        _, storage, key, _, length = pid
        dtype = _STORAGES.get(storage.origin)
        if dtype is None:
            raise ValueError(f"tensors of {storage.origin} are not read here")
        if key not in self._storages:
            content = bytearray(self._archive.read(f"{self._prefix}/data/{key}"))
            self._storages[key] = torch.frombuffer(content, dtype=dtype) if content else torch.empty(0, dtype=dtype)
        if len(self._storages[key]) < length:
            raise ValueError(f"the numbers of tensor {key} are cut short")
        return self._storages[key]


def read_pickled_model(source: Path | IO[bytes]) -> Record:
    """Read the model in a file written by torch.save as a Record, without executing anything.

    :raises InputError: a missing file, or a file that is no such archive.
    """
    try:
        with open_archive(source, str(source)) as archive:
            names = [name for name in archive.namelist() if name.endswith("/data.pkl") or name == "data.pkl"]
            if len(names) != 1:
                raise ValueError("no data.pkl in it")
            stored = _stored_bytes(archive)
            pickled = archive.read(names[0])
            check_pickle(pickled)
            model = _Inert(io.BytesIO(pickled), archive, names[0].rpartition("/")[0]).load()
            _check_values(model, stored)
    except Damaged as error:
        raise InputError(f"{source}: not a model that torch.save wrote, or damaged: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror or error}") from None
    except (zipfile.BadZipFile, pickle.UnpicklingError, EOFError, KeyError, ValueError, TypeError, AttributeError,
            IndexError, OverflowError, MemoryError) as error:  # fmt: skip
        if isinstance(error, InputError):
            raise
        reason = f": {error}" if str(error) else ""
        raise InputError(f"{source}: not a model that torch.save wrote, or damaged{reason}") from None
    if not isinstance(model, Record) or not isinstance(model.state, dict) or "_modules" not in model.state:
        raise InputError(f"{source}: holds no model")
    return model


def _check_values(model: Any, stored: int) -> None:
    """Raise ValueError for values nested without end, and for tensors with more numbers than are stored."""
    numbers = 0
    for value in unfolded(model, _parts):
        if isinstance(value, Record) and value.origin == "torch._utils._rebuild_tensor_v2":
            storage, _, size = value.arguments[:3]
            count = math.prod(size)
            if not isinstance(storage, torch.Tensor) or not 0 <= count <= len(storage):
                raise ValueError(f"a tensor of {count} numbers, for which {len(storage)} are stored")
            numbers += count * storage.element_size()
            if numbers > _MOST_SHARED * stored:
                raise ValueError("its tensors together are much larger than what is stored for them")


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Record):
        return (value.arguments, value.named, value.state, value.items)
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    return value if isinstance(value, (list, tuple, set, frozenset)) else ()


def _stored_bytes(archive: zipfile.ZipFile) -> int:
    """Return the bytes of an archive's files; ValueError if compressed or overlapping (torch.save writes neither)."""
    files = archive.infolist()
    total = sum(file.file_size for file in files)
    assert archive.fp is not None
    if any(file.compress_type != zipfile.ZIP_STORED for file in files) or total > archive.fp.seek(0, io.SEEK_END):
        raise ValueError("its parts are compressed, or overlap")
    return total


def describe(model: Record, tensors: dict[str, torch.Tensor], path: str = "") -> dict[str, Any]:
    """Convert a module and its children to JSON: class, attributes, modules. Store the tensors in `tensors`, by path.

    :raises InputError: an attribute that is not data.
    """
    state = model.state
    own = nn.Module().__dict__.keys()
    here = f"{path}." if path else ""
    names: dict[str, list[str]] = {}
    for kind in ("_parameters", "_buffers"):
        found = {name: tensor for name, value in _pairs(state[kind]) if (tensor := _tensor(value)) is not None}
        tensors.update({here + name: tensor for name, tensor in found.items()})
        names[kind] = list(found)
        names["none"] = names.get("none", []) + [name for name, value in _pairs(state[kind]) if value is None]
    return {
        "class": model.origin,
        "attributes": {
            name: None if name.endswith(_LEFT_OUT) else _plain(value, here + name)
            for name, value in state.items()
            if name not in own
        },
        "parameters": names["_parameters"],
        "buffers": names["_buffers"],
        "absent": names["none"],
        "modules": {
            name: None if child is None or name.endswith(_LEFT_OUT) else describe(child, tensors, here + name)
            for name, child in _pairs(state["_modules"])
        },
    }


def build(structure: Mapping[str, Any], tensors: Mapping[str, torch.Tensor], path: str = "") -> nn.Module:
    """Rebuild the module that `describe` converted, in evaluation mode.

    :raises InputError: a class or function that is not PyKEEN's or torch's, or not in the installed version.
    """
    kind = _named(structure["class"], _MODULES)
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise InputError(f"{structure['class']} is not a model or a part of one")
    here = f"{path}." if path else ""
    module = kind.__new__(kind)
    nn.Module.__init__(module)
    module.__dict__.update({name: _object(value) for name, value in structure["attributes"].items()})
    for name in structure["parameters"]:
        module.register_parameter(name, nn.Parameter(tensors[here + name], requires_grad=False))
    for name in structure["buffers"]:
        module.register_buffer(name, tensors[here + name])
    for name in structure["absent"]:
        module.register_parameter(name, None)
    for name, child in structure["modules"].items():
        module.add_module(name, None if child is None else build(child, tensors, here + name))
    return module.eval()


def _pairs(value: Any) -> list[tuple[str, Any]]:
    """Return the items of a dict or of the record of an OrderedDict."""
    return list(value.items()) if isinstance(value, dict) else value.items


def _tensor(value: Any) -> torch.Tensor | None:
    if value is None:
        return None
    if isinstance(value, Record) and value.origin == "torch._utils._rebuild_parameter":
        value = value.arguments[0]
    if not isinstance(value, Record) or value.origin != "torch._utils._rebuild_tensor_v2":
        raise InputError(f"a tensor kept as {getattr(value, 'origin', type(value).__name__)} is not read here")
    storage, offset, size, stride = value.arguments[:4]
    try:
        return torch.as_strided(storage, size, stride, offset).clone()
    except (RuntimeError, TypeError) as error:
        raise InputError(f"a tensor that does not fit its numbers: {str(error).splitlines()[0]}") from None


def _plain(value: Any, where: str) -> Any:
    """Convert a value to JSON: types that JSON has stay as they are, others become {"kind": ...}."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"kind": "float", "value": str(value)}
    if isinstance(value, list):
        return [_plain(each, where) for each in value]
    if isinstance(value, tuple):
        return {"kind": "tuple", "items": [_plain(each, where) for each in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"kind": "dict", "items": {key: _plain(each, where) for key, each in value.items()}}
    if isinstance(value, type) and issubclass(value, Record) and value.origin in _FUNCTIONS:
        return {"kind": "function", "name": value.origin}
    if isinstance(value, Record) and value.origin == "functools.partial":
        function, arguments, named, _ = value.state
        arguments, named = _plain(arguments, where), _plain(named, where)
        return {"kind": "partial", "function": _plain(function, where), "arguments": arguments, "named": named}
    if isinstance(value, Record) and value.origin == "torch.Size":
        return {"kind": "tuple", "items": list(value.arguments[0])}
    if isinstance(value, Record) and value.origin.startswith(_OBJECTS) and isinstance(value.state, dict):
        return {
            "kind": "object",
            "class": value.origin,
            "arguments": [_plain(each, where) for each in value.arguments],
            "state": {name: _plain(each, where) for name, each in value.state.items()},
        }
    what = getattr(value, "origin", type(value).__name__)
    raise InputError(f"the model's {where} is a {what}, which a checkpoint without pickles cannot hold")


def _object(value: Any) -> Any:
    """Rebuild a value that `_plain` converted."""
    if isinstance(value, list):
        return [_object(each) for each in value]
    return _KINDS[value["kind"]](value) if isinstance(value, dict) else value


def _instance(value: Mapping[str, Any]) -> Any:
    kind = _named(value["class"], _OBJECTS)
    # Calling a module or a function would run its own code. Named tuples and plain objects are safe.
    if not isinstance(kind, type) or issubclass(kind, nn.Module):
        raise InputError(f"{value['class']} is not a kind of value that a model holds")
    made = kind.__new__(kind, *(_object(each) for each in value["arguments"]))
    for name, each in value["state"].items():
        object.__setattr__(made, name, _object(each))
    return made


def _function(value: Mapping[str, Any]) -> Any:
    if value["name"] not in _FUNCTIONS:
        raise InputError(f"{value['name']} is not a function that a model may call")
    return _named(value["name"], ("torch.", "pykeen."))


_KINDS = {
    "float": lambda value: float(value["value"]),
    "tuple": lambda value: tuple(_object(each) for each in value["items"]),
    "dict": lambda value: {key: _object(each) for key, each in value["items"].items()},
    "function": _function,
    "partial": lambda value: partial(
        _function(value["function"]), *_object(value["arguments"]), **_object(value["named"])
    ),
    "object": _instance,
}


def _named(origin: str, prefixes: tuple[str, ...]) -> Any:
    """Import the object with a dotted name; raise InputError unless it has one of the prefixes."""
    if not origin.startswith(prefixes):
        raise InputError(f"{origin} is not part of PyKEEN or torch.nn: a model of such parts is not read here")
    module, _, name = origin.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise InputError(f"{origin} is not in the installed version of its package") from None
