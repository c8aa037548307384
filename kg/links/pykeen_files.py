"""A trained PyKEEN model as data: read from PyKEEN's pickle without executing it, and built again from what was read.

PyKEEN saves a model whole, with torch.save: a zip archive with a pickle of the object tree and one file for each
tensor's numbers. Unpickling calls whatever the file names. Here every name it mentions becomes a `Record` that only
remembers what it was given, so nothing is called and nothing imported; `describe` then turns the records into JSON
and named tensors, and `build` makes a model of those from classes of PyKEEN and torch.nn alone.

What only training needs (the loss, regularisers, initialisers, constraints) is left out, and so are the entities'
representations that graph networks keep from the last time they scored.
"""

import importlib
import io
import math
import pickle
import zipfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import torch
from torch import nn

from gumption.data import InputError
from gumption.data.packed import Damaged, open_archive

from .pickle_bounds import check_pickle, unfolded

_LEFT_OUT = (
    "loss", "regularizer", "weight_regularizers", "initializer", "constrainer", "_random_seed",
    "enriched_embeddings", "enriched_representations",
)  # fmt: skip
# Functions that a representation may apply to its rows while it scores; nothing else is called by name.
_FUNCTIONS = frozenset(
    {"torch.nn.functional.normalize", "pykeen.utils.complex_normalize", "pykeen.nn.quaternion.normalize"}
)
_MODULES = ("pykeen.", "torch.nn.modules.")
_OBJECTS = ("pykeen.nn.", "pykeen.inverse.")
_MOST_NAMES = 1_000  # of classes and functions; PyKEEN's models have some thirty
_MOST_SHARED = 16  # tensors of one storage, on average; tied weights are two
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
    """Something that a pickle names, with the arguments, the state and the items that it would have been made of."""

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
    """Makes a Record of every name."""

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
    """The record of the model in a file that torch.save wrote, with nothing of it executed.

    :raises InputError: a missing file, or one that is no such archive.
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
    """ValueError for values nested without end, and for tensors of more numbers than were stored for them."""
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
    """The bytes of the files in it; ValueError where they are packed, or share bytes, as torch.save has none do."""
    files = archive.infolist()
    total = sum(file.file_size for file in files)
    assert archive.fp is not None
    if any(file.compress_type != zipfile.ZIP_STORED for file in files) or total > archive.fp.seek(0, io.SEEK_END):
        raise ValueError("its parts are compressed, or overlap")
    return total


def describe(model: Record, tensors: dict[str, torch.Tensor], path: str = "") -> dict[str, Any]:
    """The JSON of a module and its children: class, attributes, modules. Its tensors go into `tensors`, by path.

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
    """The module that `describe` has described, in evaluation mode.

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
    """The items of a dict or of the record of an OrderedDict."""
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
    """A value as JSON: what JSON has as it is, the rest as {"kind": ...}."""
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
    """The value that `_plain` has written."""
    if isinstance(value, list):
        return [_object(each) for each in value]
    return _KINDS[value["kind"]](value) if isinstance(value, dict) else value


def _instance(value: Mapping[str, Any]) -> Any:
    kind = _named(value["class"], _OBJECTS)
    # A module or a function would run code of its own when called; these are named tuples and plain objects.
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
    """What a dotted name stands for, where it begins with one of the prefixes."""
    if not origin.startswith(prefixes):
        raise InputError(f"{origin} is not part of PyKEEN or torch.nn: a model of such parts is not read here")
    module, _, name = origin.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise InputError(f"{origin} is not in the installed version of its package") from None
