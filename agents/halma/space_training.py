"""Pretraining of SPACE on the visual panels of HALMA's training mazes (paper, sections 4 and F.3).

Metrics on top of agents/run.py (a step is an update), means over the pictures since the last line: loss;
log_likelihood, kl_foreground, kl_background and boundary in nats per picture, the boundary before its weight; objects,
the sum of z_pres; squared_error of the reconstruction, per pixel and colour.
"""

import colorsys
import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gumption.agents.run import Learner, Line, Tensors, run_learner
from gumption.agents.run_folder import RunFolder, read_config
from gumption.agents.settings import CONFIG
from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.sealed import write_sealed
from gumption.data.settings import checked
from gumption.data.writing import whole_file
from gumption.envs.halma import Mazes, sample_mazes
from gumption.envs.halma.visual import PanelPainter
from gumption.kg.checkpoint import optimiser_tensors, pick_device, restore_optimiser

from .config import PretrainingConfig
from .space import KIND, MODEL, PRESENT, Space, SpaceEncoder, SpaceOutput, model_of, pixel_boxes

OPTIMISERS = {"rmsprop": torch.optim.RMSprop, "adam": torch.optim.Adam}
MEASURES = ("loss", "log_likelihood", "kl_foreground", "kl_background", "boundary", "objects", "squared_error")
SHOWN = 8  # panels in the pictures of a run


@checked
def pretrain_space(
    config: PretrainingConfig, run_dir: str | Path, *, resume: bool = False, progress: bool = True
) -> SpaceEncoder:
    """Train a SPACE model on panels drawn anew for each step, and save it in a run directory.

    On a CPU the same config gives the same bits, also after a stop and a resume.

    :param resume: continue from the run's checkpoint; `steps` may be more than before, and `device` another.
    :param progress: report the progress on stderr, on a terminal by a bar.
    :raises InputError: a run directory in use or begun with another config; a loss that is not a number.
    """
    run_dir, begun = Path(run_dir), config
    if resume and (run_dir / CONFIG).is_file():
        begun = read_config(run_dir, PretrainingConfig)
    folder = RunFolder.of(run_dir, replace(config, steps=begun.steps, device=begun.device))
    folder.check(resume)
    learner, _, _ = run_learner(
        folder, lambda: _Pretraining(folder.path, config), title="pretraining SPACE", progress=progress
    )
    return SpaceEncoder(learner.model)


class _Pretraining(Learner):
    """The pretraining has no final figures, since a run may continue with more steps."""

    kind = KIND

    def __init__(self, path: Path, config: PretrainingConfig) -> None:
        self.path, self.config = path, config
        self.torch_device = pick_device(config.device)
        self.device = str(self.torch_device)
        self.updates, self.total = 0, config.steps
        self.measured_every, self.kept_every = config.log_interval, config.checkpoint_interval
        mazes = Mazes(sample_mazes(config.num_mazes, config.maze_seed, config.mean_depth, config.mean_branches))
        self.rows = mazes.rows[mazes.inside]
        self.painter = PanelPainter(config.images)
        torch.manual_seed(config.seed)
        self.model = Space(config.model).to(self.torch_device)
        self.model.train()
        rates = config.learning
        self.optimisers = {
            "foreground": OPTIMISERS[rates.optimiser](self.model.foreground.parameters(), lr=rates.foreground_rate),
            "background": torch.optim.Adam(self.model.background.parameters(), lr=rates.background_rate),
        }
        self.shown = self.painter.draw(self.rows[self._rng(0).integers(len(self.rows), size=SHOWN)], self._rng(0))[0]
        self.sums = torch.zeros(len(MEASURES), device=self.torch_device)
        self.batches = self._batches()

    @property
    def step(self) -> int:
        return self.updates

    def learn(self, bar: Bar) -> None:
        pictures = next(self.batches)
        generator = torch.Generator(self.torch_device).manual_seed(int(self._rng(2, self.step).integers(2**63)))
        inputs = self.model.shrink(pictures)
        output = self.model(inputs, self.step, generator)
        output.loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.learning.max_norm)
        for optimiser in self.optimisers.values():
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.sums += _measures(output, inputs)  # stays on the device, so that nothing waits for it
        self.updates += 1

    def _batches(self) -> Iterator[Tensor]:
        """Yield the pictures of each remaining step, uint8 on the device; the next are drawn while a step is computed.

        Each step has its own generator, so that a resumed run draws the same pictures.
        """

        def draw(step: int) -> Tensor:
            rng = self._rng(1, step)
            chosen = self.rows[rng.integers(len(self.rows), size=self.config.batch_size)]
            pictures = torch.from_numpy(self.painter.draw(chosen, rng)[0])
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
        draw_inference(SpaceEncoder(self.model), self.shown, self.path / "plots" / f"step-{self.step:06}.png")
        self.model.train().requires_grad_(True)
        tensors = {f"{MODEL}{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, optimiser in self.optimisers.items():
            tensors |= optimiser_tensors(optimiser, name)
        return tensors, {"step": self.step, "model": self.config.model.to_json()}

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        self.updates = meta["step"]
        self.model.load_state_dict(model_of(tensors, meta["model"], where).state_dict())
        for name, optimiser in self.optimisers.items():
            restore_optimiser(optimiser, tensors, name)

    def manifest(self) -> dict[str, Any]:
        panels = {"count": len(self.rows), "sha256": hashlib.sha256(self.rows.tobytes()).hexdigest()}
        parameters = sum(p.numel() for p in self.model.parameters())
        return {"seed": self.config.seed, "parameters": parameters, "panels": panels}

    def keep(self, path: Path) -> None:
        if read_config(path, PretrainingConfig).steps < self.total:  # the run continues beyond its original length
            write_sealed(path / CONFIG, self.config.to_json())

    def final(self, curve: list[Line]) -> None:
        return None

    def _rng(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, *purpose])


def _measures(output: SpaceOutput, inputs: Tensor) -> Tensor:
    """Return (7,) in the order of MEASURES."""
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


# ---- Pictures of SPACE's inference: input, reconstruction, detection, segmentation (paper, Fig. S12).


ROWS = ("input", "reconstruction", "detection", "segmentation")


def draw_inference(encoder: SpaceEncoder, pictures: np.ndarray, path: Path) -> None:
    """Write a PNG with a column for each of the (n, H, H, 3) uint8 pictures; the same data gives the same bytes.

    In the segmentation each object has its own colour; pixels that are background by more than half are black.
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
            x0, y0, x1, y1 = boxes[column, cell] - 0.5  # imshow puts the centre of the first pixel at 0
            frame = Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, linewidth=1, edgecolor=colours[cell])
            axes[2, column].add_patch(frame)
    for row, name in enumerate(ROWS):
        axes[row, 0].set_ylabel(name, fontsize=8)
    figure.subplots_adjust(0.03, 0.01, 0.99, 0.99, 0.03, 0.03)
    with whole_file(path) as beside:
        figure.savefig(beside, format="png", metadata={"Software": None})


def segmentation(encoder: SpaceEncoder, pictures: np.ndarray) -> np.ndarray:
    """Return (n, S, S, 3) float32: the colour of the object with the largest share in a pixel, black for background."""
    output = encoder.explain(pictures)
    with torch.no_grad():
        shares = encoder.model.foreground.shares(output.cells)
    owner = shares.argmax(1).cpu().numpy()
    shown = (output.foreground.alpha[:, 0] > 0.5).cpu().numpy()
    return (_cell_colours(shares.shape[1])[owner] * shown[..., None]).astype(np.float32)


def _cell_colours(count: int) -> np.ndarray:
    """Return (count, 3): hues a golden angle apart, so that neighbours differ."""
    return np.array([colorsys.hsv_to_rgb(i * 0.618034 % 1, 0.8, 1.0) for i in range(count)])
