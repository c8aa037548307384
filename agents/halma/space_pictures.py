"""What SPACE makes of panels, as pictures: input, reconstruction, detection, segmentation (paper, Fig. S12)."""

import colorsys
from pathlib import Path

import numpy as np

from gumption.data.writing import whole_file

from .space_config import PRESENT
from .space_encoder import SpaceEncoder, pixel_boxes

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
