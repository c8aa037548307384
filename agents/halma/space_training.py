"""Pretraining of SPACE on the visual panels of HALMA's training mazes (paper, sections 4 and F.3).

Metrics beside those of every run (see agents/run.py; a step is an update), means over the pictures since the last line:
loss; log_likelihood, kl_foreground, kl_background and boundary in nats a picture, the boundary before its weight;
objects, the sum of z_pres; squared_error of the reconstruction, a pixel and colour.
"""

import colorsys
import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from gumption.agents.run import Line, Tensors, run_learner
from gumption.agents.run_folder import RunFolder
from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.settings import Count, Positive, Seed, Size, checked, settings
from gumption.data.writing import whole_file
from gumption.envs.halma import Mazes
from gumption.envs.halma.visual import PanelPainter
from gumption.kg.checkpoint import optimiser_tensors, pick_device, restore_optimiser

from .space import Space, SpaceOutput
from .space_config import PRESENT, Anneal, SpaceConfig
from .space_encoder import KIND, MODEL, SpaceEncoder, model_of, pixel_boxes

OPTIMISERS = {"rmsprop": torch.optim.RMSprop, "adam": torch.optim.Adam}
MEASURES = ("loss", "log_likelihood", "kl_foreground", "kl_background", "boundary", "objects", "squared_error")
SHOWN = 8  # panels in the pictures of a run


@settings
class SpaceLearning:
    """How SPACE is trained; the defaults are the published ones.

    :ivar optimiser: of the foreground, "rmsprop" or "adam"; the background has Adam.
    :ivar foreground_rate, background_rate: learning rates.
    :ivar max_norm: of the gradient, over both.
    """

    optimiser: Literal["rmsprop", "adam"] = "rmsprop"
    foreground_rate: Positive = 1e-5
    background_rate: Positive = 1e-3
    max_norm: Positive = 1.0


# "fast" is a narrow model for two cores: pictures of 64 pixels (to a linear classifier as legible as those of 128),
# half the width, one background component (the background of a panel is black), and priors annealed within three
# thousand steps, where the published ones take twenty thousand.
PRESETS = {
    "paper": (SpaceConfig(), SpaceLearning()),
    "fast": (
        SpaceConfig(
            image_size=64,
            glimpse=16,
            base=8,
            features=64,
            components=1,
            hidden=32,
            background_base=8,
            presence_prior=Anneal(0.1, 0.001, 500, 3_000),
            temperature=Anneal(2.5, 1.0, 0, 3_000),
            scale_mean=Anneal(-1.5, -1.5, 0, 1),
            scale_std=0.3,
            fixed_alpha_steps=500,
            boundary=1,
            boundary_weight=100.0,
        ),
        SpaceLearning(optimiser="adam", foreground_rate=5e-4, background_rate=3e-3),
    ),
}


@checked
def pretrain_space(
    panels: Mazes | np.ndarray,
    painter: PanelPainter,
    *,
    run_dir: str | Path,
    steps: Count,
    batch_size: Size = 16,
    seed: Seed = 0,
    device: str = "auto",
    config: SpaceConfig | None = None,
    learning: SpaceLearning | None = None,
    log_every: Count = 50,
    keep_every: Count = 1_000,
    progress: bool = True,
    resume: bool = False,
) -> SpaceEncoder:
    """Train a SPACE model on panels drawn anew for each step, and keep it in a run directory.

    On a CPU the same arguments give the same bits, also after a stop and a resume.

    :param panels: mazes, all of whose cells are seen alike often, or rows (n, 11) as `panel_row` gives them.
    :param config, learning: the model and its training; the published ones where they are None. See `PRESETS`.
    :param log_every: steps between lines of metrics; `keep_every` between checkpoints, each with a picture in plots/.
    :param progress: tell on stderr how far it is, on a terminal by a bar.
    :param resume: go on from the run's checkpoint; `steps` may be more than before.
    :raises InputError: no panels, a value out of range, a run directory that is in use or was begun with other
        settings, a loss that is not a number.
    """
    rows = panels.rows[panels.inside] if isinstance(panels, Mazes) else np.asarray(panels)
    if rows.ndim != 2 or rows.shape[1] != 11 or not len(rows):
        raise InputError(f"panels are rows of shape (n, 11), at least one; these are {rows.shape}")
    if steps % log_every or keep_every % log_every:
        raise InputError("steps and keep_every are multiples of log_every")
    settings = {
        "world": "halma-space",
        "model": (config or SpaceConfig()).to_json(),
        "learning": asdict(learning or SpaceLearning()),
        "batch_size": batch_size,
        "seed": seed,
        "log_every": log_every,
        "keep_every": keep_every,
        "images": painter.images,
        "panels": {"count": len(rows), "sha256": hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()},
    }
    folder = RunFolder(run_dir, settings)
    folder.check(resume)
    learner, _, _ = run_learner(
        folder,
        lambda: _Pretraining(folder, rows, painter, pick_device(device), steps),
        title="pretraining SPACE",
        progress=progress,
    )
    return SpaceEncoder(learner.model)


class _Pretraining:
    """See `gumption.agents.run.Learner`; a run of more steps goes on with a shorter one, so that none is final."""

    kind, threads = KIND, None

    def __init__(
        self, folder: RunFolder, rows: np.ndarray, painter: PanelPainter, device: torch.device, steps: int
    ) -> None:
        self.folder, self.rows, self.painter = folder, rows, painter
        self.settings = settings = folder.settings
        self.torch_device, self.device, self.seed = device, str(device), settings["seed"]
        self.step, self.total = 0, steps
        self.measured_every, self.kept_every = settings["log_every"], settings["keep_every"]
        torch.manual_seed(self.seed)
        self.model = Space(SpaceConfig.from_json(settings["model"])).to(device)
        self.model.train()
        rates = SpaceLearning(**settings["learning"])
        self.optimisers = {
            "foreground": OPTIMISERS[rates.optimiser](self.model.foreground.parameters(), lr=rates.foreground_rate),
            "background": torch.optim.Adam(self.model.background.parameters(), lr=rates.background_rate),
        }
        self.max_norm = rates.max_norm
        self.shown = painter.draw(self.rows[self._rng(0).integers(len(rows), size=SHOWN)], self._rng(0))
        self.sums = torch.zeros(len(MEASURES), device=device)
        self.batches = self._batches()

    @property
    def done(self) -> int:
        return self.step

    def learn(self, bar: Bar) -> None:
        """One step of both optimisers."""
        pictures = next(self.batches)
        generator = torch.Generator(self.torch_device).manual_seed(int(self._rng(2, self.step).integers(2**63)))
        inputs = self.model.shrink(pictures)
        output = self.model(inputs, self.step, generator)
        output.loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        for optimiser in self.optimisers.values():
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.sums += _measures(output, inputs)  # stays on the device: nothing here waits for it
        self.step += 1

    def _batches(self) -> Iterator[Tensor]:
        """The pictures of each step that is left, uint8 on the device; the next are drawn while a step is computed.

        Each step has its own generator, so that a run that is resumed sees what it would have seen.
        """

        def draw(step: int) -> Tensor:
            rng = self._rng(1, step)
            chosen = self.rows[rng.integers(len(self.rows), size=self.settings["batch_size"])]
            pictures = torch.from_numpy(self.painter.draw(chosen, rng))
            return pictures.pin_memory() if self.torch_device.type == "cuda" else pictures

        with ThreadPoolExecutor(1) as pool:
            ready = pool.submit(draw, self.step)
            for step in range(self.step, self.total):
                pictures = ready.result()
                ready = pool.submit(draw, min(step + 1, self.total - 1))
                yield pictures.to(self.torch_device, non_blocking=True)

    def measure(self) -> Line:
        values: Line = dict(zip(MEASURES, (self.sums / self.measured_every).tolist(), strict=True))
        if not all(isfinite(value) for value in values.values()):
            raise InputError(f"the loss is not a number by step {self.step}; take lower learning rates")
        self.sums.zero_()
        return values

    def words(self, line: Line) -> str:
        return f"error {line['squared_error']:.4f}"

    def state(self) -> tuple[Tensors, dict[str, Any]]:
        draw_inference(SpaceEncoder(self.model), self.shown, self.folder.path / "plots" / f"step-{self.step:06}.png")
        self.model.train().requires_grad_(True)
        tensors = {f"{MODEL}{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, optimiser in self.optimisers.items():
            tensors |= optimiser_tensors(optimiser, name)
        return tensors, {"step": self.step, "model": self.settings["model"]}

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        self.step = meta["step"]
        self.model.load_state_dict(model_of(tensors, meta["model"], where).state_dict())
        for name, optimiser in self.optimisers.items():
            restore_optimiser(optimiser, tensors, name)

    def manifest(self) -> dict[str, Any]:
        return {"seed": self.seed, "parameters": sum(p.numel() for p in self.model.parameters())}

    def keep(self, path: Path) -> None:
        """Its panels are named by hash in config.json."""

    def final(self, curve: list[Line]) -> None:
        return None

    def _rng(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose])


def _measures(output: SpaceOutput, inputs: Tensor) -> Tensor:
    """(7,) in the order of MEASURES."""
    cells = output.cells
    values = (
        output.loss,
        output.log_likelihood.mean(),
        cells.kl.mean(),
        output.background.kl.mean(),
        output.boundary.mean(),
        cells.presence.sum(1).mean(),
        (output.reconstruction - inputs).square().mean(),
    )
    return torch.stack([value.detach() for value in values])


# ---- What SPACE makes of panels, as pictures: input, reconstruction, detection, segmentation (paper, Fig. S12).


ROWS = ("input", "reconstruction", "detection", "segmentation")


def draw_inference(encoder: SpaceEncoder, pictures: np.ndarray, path: Path) -> None:
    """Write a PNG with a column for each of the (n, H, H, 3) uint8 pictures; the same bytes for the same data.

    In the segmentation each object has its own colour, and what is background by more than half is black.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    output = encoder.explain(pictures)
    seen = (pictures / 255.0).astype(np.float32)
    restored = output.reconstruction.clamp(0, 1).permute(0, 2, 3, 1).cpu().numpy()
    segments = segmentation(encoder, pictures)
    present = (output.cells.presence > PRESENT).cpu().numpy()
    boxes = pixel_boxes(output.cells, pictures.shape[1]).cpu().numpy()
    colours = _cell_colours(present.shape[1])

    figure = Figure(figsize=(1.3 * len(pictures), 1.3 * len(ROWS)), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(ROWS), len(pictures), squeeze=False)
    for column in range(len(pictures)):
        for row, image in enumerate((seen, restored, seen, segments)):
            axes[row, column].imshow(image[column], interpolation="nearest")
            axes[row, column].set(xticks=[], yticks=[])
        for cell in np.flatnonzero(present[column]):
            x0, y0, x1, y1 = boxes[column, cell] - 0.5  # imshow puts the middle of the first pixel at 0
            frame = Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, linewidth=1, edgecolor=colours[cell])
            axes[2, column].add_patch(frame)
    for row, name in enumerate(ROWS):
        axes[row, 0].set_ylabel(name, fontsize=8)
    figure.subplots_adjust(0.03, 0.01, 0.99, 0.99, 0.03, 0.03)
    with whole_file(path) as beside:
        figure.savefig(beside, format="png", metadata={"Software": None})


def segmentation(encoder: SpaceEncoder, pictures: np.ndarray) -> np.ndarray:
    """(n, S, S, 3) float32: the colour of the object that has most of each pixel, black where none has half of it."""
    import torch

    output = encoder.explain(pictures)
    with torch.no_grad():
        shares = encoder.model.foreground.shares(output.cells)
    owner = shares.argmax(1).cpu().numpy()
    shown = (output.foreground.alpha[:, 0] > 0.5).cpu().numpy()
    return (_cell_colours(shares.shape[1])[owner] * shown[..., None]).astype(np.float32)


def _cell_colours(count: int) -> np.ndarray:
    """(count, 3): hues a golden angle apart, so that neighbours differ."""
    return np.array([colorsys.hsv_to_rgb(i * 0.618034 % 1, 0.8, 1.0) for i in range(count)])
