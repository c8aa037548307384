"""A pretrained SPACE model as the eyes of an agent: pictures in, object slots and boxes out, nothing to learn."""

import hashlib
import os
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gumption.data import InputError
from gumption.kg.checkpoint import load_checkpoint, pick_device

from .space import Cells, Space, SpaceOutput
from .space_config import PRESENT, SpaceConfig

KIND = "gumption/space/1"
FOLDER = "checkpoint"
MODEL = "model."  # of the names of the model's tensors in a checkpoint
AT_ONCE = 64  # pictures: the activations of more would not fit a cache, and those of thousands no memory


class Detection(NamedTuple):
    """What is seen in B pictures.

    :ivar slots: (B, N, what + 1) float32, z_what and, last, z_pres.
    :ivar boxes: (B, N, 4) float32, x0, y0, x1, y1 in pixels of the picture, y from the top; they may reach out of it.
    :ivar present: (B, N) bool, which slots are objects: those with z_pres above one half.
    """

    slots: Tensor
    boxes: Tensor
    present: Tensor


class SpaceEncoder:
    """A frozen model in evaluation mode; latents are their means, z_pres its probability, so there is no noise.

    :ivar slots: (N, what + 1), the shape of a picture's slots: (64, 33) as published.
    """

    def __init__(self, model: Space) -> None:
        self.model = model.eval().requires_grad_(False)
        self.slots = (model.config.cells, model.config.what + 1)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], device: str = "auto") -> "SpaceEncoder":
        """The model of a run directory of `pretrain_space`.

        :raises InputError: no model there, a damaged one, or one of another kind.
        """
        place = Path(folder) / FOLDER
        tensors, meta = load_checkpoint(place, KIND)
        return cls(model_of(tensors, meta.get("model"), place).to(pick_device(device)))

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the parameters, so that an agent can say which eyes it learned with."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def encode(self, pictures: np.ndarray | Tensor) -> Tensor:
        """(B, H, H, 3) uint8 -> slots (B, 64, 33) float32 on the model's device; InputError as `detect`."""
        return self.detect(pictures).slots

    @torch.no_grad()
    def detect(self, pictures: np.ndarray | Tensor) -> Detection:
        """Slots and boxes of (B, H, H, 3) uint8 pictures.

        :raises InputError: pictures of another shape or type.
        """
        found: list[Detection] = []
        for part in torch.as_tensor(self._checked(pictures)).split(AT_ONCE):
            cells = self.model.foreground.infer(self._prepared(part), 0, None)
            slots = torch.cat([cells.what, cells.presence[..., None]], dim=-1)
            found.append(Detection(slots, pixel_boxes(cells, pictures.shape[1]), cells.presence > PRESENT))
        return Detection(*(torch.cat(parts) for parts in zip(*found, strict=True)))

    @torch.no_grad()
    def explain(self, pictures: np.ndarray | Tensor) -> SpaceOutput:
        """Everything the model makes of (B, H, H, 3) uint8 pictures, reconstruction included."""
        free = self.model.config.fixed_alpha_steps
        return self.model(self._prepared(torch.as_tensor(self._checked(pictures))), free)

    def _prepared(self, pictures: Tensor) -> Tensor:
        return self.model.shrink(pictures.to(self.model.foreground.cell.device))

    def _checked(self, pictures: np.ndarray | Tensor) -> np.ndarray | Tensor:
        size = self.model.config.image_size
        shape = tuple(pictures.shape)
        whole = len(shape) == 4 and shape[1] == shape[2] and shape[3] == 3 and shape[0] and not shape[1] % size
        if not whole or str(pictures.dtype).removeprefix("torch.") != "uint8":
            raise InputError(
                f"pictures are {pictures.dtype} {shape}; this SPACE model sees uint8 (B, {size}, {size}, 3), or a "
                f"multiple of {size} along the sides"
            )
        return pictures


def pixel_boxes(cells: Cells, side: int) -> Tensor:
    """(B, N, 4) x0, y0, x1, y1 of the cells' boxes in a picture of so many pixels."""
    scale, shift = cells.where.chunk(2, dim=-1)
    return (torch.cat([shift - scale, shift + scale], dim=-1) + 1) / 2 * side


def model_of(tensors: dict[str, Tensor], config: object, where: Path) -> Space:
    """The model in a checkpoint's tensors, on the CPU; InputError where they do not fit its settings."""
    try:
        model = Space(SpaceConfig.from_json(config))
        model.load_state_dict({n.removeprefix(MODEL): t for n, t in tensors.items() if n.startswith(MODEL)})
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except RuntimeError as error:
        reason = str(error).splitlines()[1].strip()
        raise InputError(f"{where}: the tensors do not fit the model's settings ({reason})") from None
    return model
