"""The linear probe of object slots (paper, F.3, Table S4, Fig. S13).

Panels are drawn with the boxes of their digits. Each digit gets the slot whose box overlaps its own the most; a linear
SVM learns colour and digit from 70% of these slots and is tested on the rest. The baseline is the same classifier on as
many principal components of the pixels inside the true boxes. If it is accurate on pixels and not on slots, the latent
space is at fault.

Decision: only slots that the encoder marks as present are predictions. All 64 cells of SPACE have a box, and the boxes
of absent cells, which draw nothing, would overlap with nearly every digit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.data.writing import whole_file
from gumption.envs.halma import Mazes, sample_mazes
from gumption.envs.halma.maze import ALL_COLOURS, row_digits
from gumption.envs.halma.visual import PanelPainter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIGIT_CLASSES = tuple(str(digit) for digit in range(1, 10))
PENALTY = 10.0  # C of the SVM
TRAIN_SHARE = 0.7
SPLITS = 10
GLIMPSE = 16  # side in pixels of a true box's scaled content
AT_ONCE = 256  # panels
HELD_OUT = 1_000_000  # seed of the mazes, reserved: no training uses it


class SlotEncoder(Protocol):
    """An encoder whose slots have boxes, such as SpaceEncoder."""

    def detect(self, pictures: np.ndarray) -> Any:
        """(B, H, H, 3) uint8 -> .slots (B, N, D), .boxes (B, N, 4) x0, y0, x1, y1 in pixels, .present (B, N) bool."""
        ...


class Probed(NamedTuple):
    """The digits of panels.

    :ivar latents: (n, D) float32, the slot of each digit that has one.
    :ivar pixels: (n_all, 768) float32 in 0..1, the content of every digit's true box.
    :ivar colour, digit: (n_all,) int64, indices of ALL_COLOURS and DIGIT_CLASSES, of every digit.
    :ivar found: (n_all,) bool, which digits have a slot; `overlap` (n_all,) its IoU.
    :ivar objects: the number of present slots.
    """

    latents: np.ndarray
    pixels: np.ndarray
    colour: np.ndarray
    digit: np.ndarray
    found: np.ndarray
    overlap: np.ndarray
    objects: int


@dataclass(frozen=True)
class ProbeResult:
    """A linear classifier's results on held-out data, over the random splits.

    :ivar accuracy: (splits,) in 0..1.
    :ivar confusion: (splits, k, k), the share of class i that was classified as j; NaN for a class without test data in
        a split.
    :ivar count: number of samples, `classes_seen` (k,) samples of each class.
    """

    classes: tuple[str, ...]
    accuracy: np.ndarray
    confusion: np.ndarray
    count: int
    classes_seen: np.ndarray

    def to_json(self) -> dict[str, Any]:
        """Return means and standard deviations over the splits, for json.dump; null for a class without test data."""
        has = np.isfinite(self.confusion)
        with np.errstate(invalid="ignore"):
            mean = np.where(has, self.confusion, 0.0).sum(0) / has.sum(0)
            std = np.sqrt((np.where(has, self.confusion - mean, 0.0) ** 2).sum(0) / has.sum(0))
        return {
            "classes": list(self.classes),
            "samples": self.count,
            "samples_of_class": self.classes_seen.tolist(),
            "splits": len(self.accuracy),
            "accuracy": float(self.accuracy.mean()),
            "accuracy_std": float(self.accuracy.std()),
            "confusion": _nulls(mean),
            "confusion_std": _nulls(std),
        }


@checked
def linear_probe(
    encoder: SlotEncoder, mazes: Mazes | np.ndarray, painter: PanelPainter, *, panels: Count = 2_000, seed: Seed = 0
) -> dict[str, Any]:
    """Probe an encoder's slots, and as a baseline the pixels of the true boxes.

    :param mazes: mazes whose cells' panels are drawn, or rows (n, 11); the paper uses held-out mazes.
    :returns: for json.dump: the number of digits with a slot, and a `ProbeResult.to_json` each of "colour", "digit",
        "colour_pixels" and "digit_pixels".
    :raises InputError: no rows, too few panels, or too few digits with a slot.
    """
    rows = mazes.rows[mazes.inside] if isinstance(mazes, Mazes) else np.asarray(mazes)
    if rows.ndim != 2 or rows.shape[1] != 11 or not len(rows):
        raise InputError(f"the probe needs rows of shape (n, 11), not {rows.shape}")
    rng = np.random.default_rng(seed)
    probed = look(encoder, rows[rng.integers(len(rows), size=panels)], painter, rng)
    found = probed.found
    results: dict[str, ProbeResult] = {}
    for name, labels, classes in (("colour", probed.colour, ALL_COLOURS), ("digit", probed.digit, DIGIT_CLASSES)):
        results[name] = classify(probed.latents, labels[found], classes, seed)
        width = probed.latents.shape[1]
        results[f"{name}_pixels"] = classify(probed.pixels, labels, classes, seed, components=width)
    return {
        "panels": panels,
        "digits": len(found),
        "digits_with_slot": int(found.sum()),
        "mean_iou": float(probed.overlap[found].mean()),
        "digits_at_iou_half": float((probed.overlap >= 0.5).mean()),
        "present_slots_per_panel": probed.objects / panels,
        "images": painter.images,
        "seed": seed,
        **{name: result.to_json() for name, result in results.items()},
    }


@checked
def probe_model(folder: str | Path, *, panels: Count = 2_000, images: str = "test", seed: Seed = 0) -> dict[str, Any]:
    """Run `linear_probe` on a pretrained SPACE model, with panels of 100 mazes like those in the diagnostic tests.

    :raises InputError: no model in the folder, or a model that detects too few digits.
    """
    from gumption.agents.halma.space import SpaceEncoder

    held_out = Mazes(sample_mazes(100, HELD_OUT, mean_depth=5))
    return linear_probe(SpaceEncoder.load(folder), held_out, PanelPainter(images), panels=panels, seed=seed)


def look(encoder: SlotEncoder, rows: np.ndarray, painter: PanelPainter, rng: np.random.Generator) -> Probed:
    """Draw the panels of rows (n, 11) and assign each digit its slot. Hints are left out."""
    parts: list[tuple[np.ndarray, ...]] = []
    objects = 0
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        pictures, boxes = painter.draw(some, rng)
        seen = encoder.detect(pictures)
        slots, predicted, present = map(_array, (seen.slots, seen.boxes, seen.present))
        objects += int(present.sum())
        slot, overlap = assign_slots(predicted, present, boxes[:, :10])
        panel, place = np.nonzero(some[:, :10])
        digits = [digit for row in some for digit in row_digits(row)]
        colour = np.array([ALL_COLOURS.index(digit.colour) for digit in digits], dtype=np.int64)
        value = np.array([digit.value - 1 for digit in digits], dtype=np.int64)
        pixels = true_pixels(pictures, panel, boxes[panel, place])
        parts.append((slots[panel, slot[panel, place]], pixels, colour, value, overlap[panel, place]))
    chosen, pixels, colour, value, overlap = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    found = overlap > 0
    return Probed(chosen[found], pixels, colour, value, found, overlap, objects)


def iou(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return (..., N, M): intersection over union of boxes (..., N, 4) and others (..., M, 4).

    Boxes are x0, y0, x1, y1; a box without area has 0 with everything.
    """
    a, b = boxes[..., :, None, :].astype(np.float64), others[..., None, :, :].astype(np.float64)
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    shared = sides.clip(0).prod(-1)
    areas = [(box[..., 2:] - box[..., :2]).clip(0).prod(-1) for box in (a, b)]
    union = areas[0] + areas[1] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def assign_slots(predicted: np.ndarray, present: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Assign to each true box (B, M, 4) the present slot with the greatest IoU, from boxes (B, N, 4), present (B, N).

    :returns: slot (B, M) int64, and its IoU (B, M). If it is 0, no present slot overlaps, and the slot is arbitrary.
    """
    overlap = np.where(present[:, :, None], iou(predicted, truth), 0.0)
    return overlap.argmax(1), overlap.max(1)


def true_pixels(pictures: np.ndarray, panel: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return the square around each box, scaled: (m, GLIMPSE * GLIMPSE * 3) float32 in 0..1.

    :param panel: (m,) index of the picture (n, H, H, 3) that contains each of the boxes (m, 4).
    """
    import torch

    from gumption.agents.halma.space import cut_glimpses

    edges = torch.from_numpy(boxes.astype(np.float32)) / pictures.shape[1] * 2 - 1
    scale = (edges[:, 2:] - edges[:, :2]).amax(1, keepdim=True).expand(-1, 2) / 2
    where = torch.cat([scale, (edges[:, 2:] + edges[:, :2]) / 2], dim=1)
    own = torch.from_numpy(pictures[panel]).permute(0, 3, 1, 2).float() / 255
    return cut_glimpses(own, where[:, None], GLIMPSE).flatten(1).numpy()


def classify(
    samples: np.ndarray, labels: np.ndarray, classes: tuple[str, ...], seed: int = 0, components: int | None = None
) -> ProbeResult:
    """Fit a linear SVM on random splits: C = 10, balanced classes, 70% for training, 10 splits (paper, F.3).

    :param samples: (n, D) float; each number is scaled to mean 0 and variance 1 over the training part.
    :param labels: (n,) indices of `classes`.
    :param components: first reduce the samples to this number of principal components of the training part.
    :raises InputError: fewer than ten samples, or a single class.
    """
    from sklearn.decomposition import PCA
    from sklearn.metrics import confusion_matrix
    from sklearn.model_selection import ShuffleSplit
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    if len(samples) < 10 or len(np.unique(labels)) < 2:
        raise InputError(
            f"{len(samples)} digits with a slot, of {len(np.unique(labels))} classes: too few to probe; draw more "
            "panels, or train the encoder until it finds digits"
        )
    accuracies, confusions = [], []
    splits = ShuffleSplit(SPLITS, train_size=TRAIN_SHARE, random_state=seed)
    for train, test in splits.split(samples):
        # The preceding map is linear, so the classifier stays linear.
        steps = [] if components is None else [PCA(min(components, len(train)), svd_solver="covariance_eigh")]
        machine = SVC(C=PENALTY, kernel="linear", class_weight="balanced", cache_size=500)
        reader = make_pipeline(*steps, StandardScaler(), machine).fit(samples[train], labels[train])
        guessed = reader.predict(samples[test])
        counts = confusion_matrix(labels[test], guessed, labels=np.arange(len(classes))).astype(np.float64)
        of_class = counts.sum(1, keepdims=True)
        accuracies.append(counts.trace() / counts.sum())
        confusions.append(np.divide(counts, of_class, out=np.full_like(counts, np.nan), where=of_class > 0))
    seen = np.bincount(labels, minlength=len(classes))
    return ProbeResult(classes, np.array(accuracies), np.array(confusions), len(samples), seen)


def plot_probe(results: Mapping[str, Any], path: Path) -> None:
    """Draw the confusion matrices as in Fig. S13, rows the true class; the same data gives the same bytes.

    :param results: results of `linear_probe`.
    :param path: its ending determines the format.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 5.4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, title in zip(figure.subplots(1, 2), ("colour", "digit"), strict=True):
        _draw_confusion(axes, title, results[title])
    with whole_file(path) as beside:
        figure.savefig(beside, format=path.suffix.removeprefix("."), metadata={"Software": None})


def _draw_confusion(axes: "Axes", title: str, found: Mapping[str, Any]) -> None:
    mean, std = (100 * np.array(found[name], dtype=np.float64) for name in ("confusion", "confusion_std"))
    axes.imshow(np.nan_to_num(mean), cmap="Blues", vmin=0, vmax=100)
    ticks = range(len(found["classes"]))
    axes.set_xticks(ticks, found["classes"], rotation=45)
    axes.set_yticks(ticks, found["classes"])
    axes.set(xlabel="taken for", ylabel="is")
    axes.set_title(f"{title}: {found['accuracy']:.1%} ± {found['accuracy_std']:.1%} of {found['samples']}")
    for i, j in np.argwhere(np.isfinite(mean)):
        ink = "white" if mean[i, j] > 55 else "black"
        axes.text(j, i, f"{mean[i, j]:.0f}\n±{std[i, j]:.0f}", ha="center", va="center", fontsize=6, color=ink)


def _nulls(matrix: np.ndarray) -> list[list[float | None]]:
    return [[float(value) if np.isfinite(value) else None for value in row] for row in matrix]


def _array(values: Any) -> np.ndarray:
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)
