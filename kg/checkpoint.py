"""Checkpoints: folders with tensors.safetensors and checkpoint.json, without pickles; and states of optimisers."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.sealed import SHA256, content_hash, damaged
from gumption.data.writing import file_sha256, is_part, present_folder, whole_folder

TENSORS = "tensors.safetensors"
META = "checkpoint.json"


def save_checkpoint(
    directory: str | os.PathLike[str], tensors: Mapping[str, torch.Tensor], meta: Mapping[str, Any]
) -> None:
    """Write or replace the checkpoint in a folder. After a kill the folder holds the old or the new checkpoint.

    The JSON stores the sha256 of the tensors' file and of its own content, under "sha256".

    :param meta: metadata for json.dump; `load_checkpoint` expects a "kind" in it.
    :raises InputError: a path with other content than a checkpoint, or a tensor with NaN or infinity; the path stays
        unchanged.
    """
    directory = Path(directory)
    if all(_is_other(directory) for _ in range(3)):  # another writer may just be replacing the folder
        raise InputError(f"{directory} exists and is not a checkpoint; choose another name")
    refuse_infinite(directory, tensors, "it was not written; train with a smaller learning rate")
    with whole_folder(directory) as beside:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, beside / TENSORS)
        meta = {key: value for key, value in meta.items() if key != SHA256}
        meta[SHA256] = {TENSORS: file_sha256(beside / TENSORS), META: content_hash(meta)}
        (beside / META).write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _is_other(directory: Path) -> bool:
    """Return whether the path is a file, or a folder with content but no checkpoint."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return True
    return META not in names and not all(is_part(directory / name) for name in names)


def has_checkpoint(directory: str | os.PathLike[str]) -> bool:
    """Return whether the folder has a checkpoint for `load_checkpoint`."""
    return (present_folder(Path(directory)) / META).is_file()


def checkpoint_hash(directory: str | os.PathLike[str]) -> str:
    """Return the sha256 (hex) of the two files of a checkpoint; InputError if a file is missing."""
    folder, content = present_folder(Path(directory)), hashlib.sha256()
    try:
        for name in (META, TENSORS):
            content.update(hashlib.sha256((folder / name).read_bytes()).digest())
    except OSError as error:
        raise InputError(f"{folder}: no checkpoint there ({error.strerror or error})") from None
    return content.hexdigest()


def verified(directory: str | os.PathLike[str]) -> Any:
    """Compare the two files of a checkpoint with their hashes, and return its JSON.

    :raises InputError: no checkpoint, or a changed file.
    """
    folder = present_folder(Path(directory))
    try:
        meta = parse_json((folder / META).read_text(encoding="utf-8"))
        hashes = meta.pop(SHA256, None) if isinstance(meta, dict) else None
        for name, found in ((TENSORS, file_sha256(folder / TENSORS)), (META, content_hash(meta))):
            if not isinstance(hashes, dict) or hashes.get(name) != found:
                damaged(folder, f"the checkpoint is damaged: {name} is not the file that was written, by its sha256")
        return meta
    except OSError as error:
        raise InputError(f"{folder}: no checkpoint there ({error.strerror or error})") from None
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{folder}: the checkpoint is damaged ({error}); make it again") from None


def load_checkpoint(directory: str | os.PathLike[str], kind: str) -> tuple[dict[str, torch.Tensor], Any]:
    """Read a checkpoint: the tensors, on the CPU, and the JSON.

    :param kind: the required `meta["kind"]`.
    :raises InputError: no checkpoint, a checkpoint of another kind, a changed or broken file, or a tensor with NaN.
    """
    directory = present_folder(Path(directory))
    meta = verified(directory)
    try:
        # On some processors the rounding of a matrix product depends on the alignment of its factors in memory. Copies
        # are aligned as new tensors, tensors of a file are not. Each tensor is copied separately, so that the file's
        # pages can be freed meanwhile.
        read = load_file(directory / TENSORS)
        tensors = {name: read.pop(name).clone() for name in list(read)}
    except OSError as error:
        raise InputError(f"{directory}: no checkpoint there ({error.strerror or error})") from None
    except (ValueError, SafetensorError) as error:
        raise InputError(f"{directory}: the checkpoint is damaged ({error}); make it again") from None
    if not isinstance(meta, dict) or meta.get("kind") != kind:
        found = meta.get("kind") if isinstance(meta, dict) else None
        raise InputError(f"{directory}: a checkpoint of {found!r}, expected {kind!r}")
    refuse_infinite(directory, tensors, "train it again")
    return tensors, meta


def refuse_infinite(where: Path, tensors: Mapping[str, torch.Tensor], advice: str) -> None:
    """Raise InputError for tensors that contain NaN or infinity.

    :param where, advice: begin and end of the message.
    """
    bad = [name for name, tensor in tensors.items() if tensor.is_floating_point() and not tensor.isfinite().all()]
    if bad:
        raise InputError(f"{where}: {', '.join(sorted(bad))} holds NaN or infinity; {advice}")


def pick_device(device: str | torch.device) -> torch.device:
    """Return the device of a name; "auto" is the GPU if available, else the CPU.

    :raises InputError: a device that torch does not support or cannot use.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        probe = torch.zeros(1, device=device)
        probe.cpu()  # fails for "meta", a device without data
        return probe.device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {device!r} cannot be used ({reason}); take auto, cpu or cuda") from None


@contextmanager
def torch_threads(asked: int | None, begun: int | None = None) -> Iterator[None]:
    """Run the `with` block with `asked` threads of torch; None keeps the present number. OMP_NUM_THREADS overrides it.

    The order of sums, and so the last bits of weights, depends on this number; it must not vary with the machine's
    load.

    :param begun: the number of threads with which a resumed training began; it overrides all others.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(begun or (None if "OMP_NUM_THREADS" in os.environ else asked) or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def under(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """Return the tensors whose names begin with the prefix and a dot, by the rest of their names."""
    start = f"{prefix}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def put_weights(network: torch.nn.Module, tensors: Mapping[str, torch.Tensor], where: str | os.PathLike[str]) -> None:
    """Load a network's state.

    :param where: the beginning of error messages.
    :raises InputError: tensors of another network.
    """
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        reason = str(error).splitlines()[1].strip()
        raise InputError(f"{where}: the checkpoint does not fit the network of its config ({reason})") from None


def optimiser_tensors(optimiser: torch.optim.Optimizer, prefix: str) -> dict[str, torch.Tensor]:
    """Return the state of an optimiser as tensors PREFIX.PARAMETER.NAME."""
    return {
        f"{prefix}.{index}.{name}": torch.as_tensor(value)
        for index, state in optimiser.state_dict()["state"].items()
        for name, value in state.items()
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor], prefix: str) -> None:
    """Load the tensors of `optimiser_tensors`; without such tensors the optimiser keeps its initial state."""
    saved = optimiser.state_dict()
    for name, tensor in under(tensors, prefix).items():
        index, key = name.split(".", 1)
        saved["state"].setdefault(int(index), {})[key] = tensor
    optimiser.load_state_dict(saved)
