"""Pretraining of SPACE: same bits again and after a stop, what is in a run, the frozen encoder, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from gumption.agents.halma import space_training
from gumption.agents.halma.space import Space
from gumption.agents.halma.space_config import SpaceConfig
from gumption.agents.halma.space_encoder import SpaceEncoder
from gumption.agents.halma.space_training import PRESETS, SpaceLearning, pretrain_space, segmentation
from gumption.agents.run_folder import read_metrics
from gumption.data import InputError
from gumption.data.sealed import sealed_lines, unsealed_lines
from gumption.envs.halma import Mazes, sample_mazes
from gumption.envs.halma.visual import PanelPainter
from gumption.kg.checkpoint import save_checkpoint

SMALL = SpaceConfig(
    image_size=64,
    grid=4,
    glimpse=8,
    what=4,
    base=8,
    features=16,
    components=1,
    mask=4,
    component=4,
    hidden=4,
    background_base=8,
    boundary=1,
)


@pytest.fixture(scope="module")
def painter() -> PanelPainter:
    return PanelPainter()


@pytest.fixture(scope="module")
def mazes() -> Mazes:
    return Mazes(sample_mazes(3, seed=0))


def pretrain(mazes: Mazes | np.ndarray, painter: PanelPainter, run_dir: Path, **changes: Any) -> SpaceEncoder:
    learning = SpaceLearning(optimiser="adam", foreground_rate=1e-3)
    settings = {"steps": 4, "batch_size": 2, "config": SMALL, "learning": learning, "log_every": 1, "keep_every": 4}
    return pretrain_space(mazes, painter, run_dir=run_dir, device="cpu", progress=False, **(settings | changes))


@pytest.fixture(scope="module")
def run(mazes: Mazes, painter: PanelPainter, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four steps of a small model."""
    folder = tmp_path_factory.mktemp("space") / "run"
    pretrain(mazes, painter, folder)
    return folder


def bits(run_dir: Path) -> dict[str, Any]:
    lines = read_metrics(run_dir)
    for line in lines:
        del line["wall_s"], line["steps_per_s"]
    tensors = load_file(run_dir / "checkpoint" / "tensors.safetensors")
    return {"metrics": lines, **{name: tensor.numpy().tobytes() for name, tensor in tensors.items()}}


def test_a_run_holds_its_settings_metrics_checkpoint_and_pictures(run: Path, mazes: Mazes) -> None:
    config = json.loads((run / "config.json").read_text())
    assert config["model"] == json.loads(json.dumps(SMALL.to_json()))
    assert config["panels"]["count"] == int(mazes.inside.sum())
    assert config["images"] == "train"
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    assert all(set(space_training.MEASURES) < set(line) for line in lines)
    assert json.loads((run / "manifest.json").read_text())["parameters"] > 0
    pictures = sorted(path.name for path in (run / "plots").iterdir())
    assert pictures == ["step-000004.png"]
    with Image.open(run / "plots" / pictures[0]) as image:
        assert image.size == (1040, 520)


def test_the_loss_in_the_metrics_is_the_sum_of_its_terms(run: Path) -> None:
    for line in read_metrics(run):
        terms = -line["log_likelihood"] + line["kl_foreground"] + line["kl_background"] + 1000 * line["boundary"]
        assert line["loss"] == pytest.approx(terms, rel=1e-4)


def test_a_stop_and_a_resume_change_no_bit(run: Path, mazes: Mazes, painter: PanelPainter, tmp_path: Path) -> None:
    pretrain(mazes, painter, tmp_path / "twice", steps=2)
    path = tmp_path / "twice" / "metrics.jsonl"
    _, seal = unsealed_lines(path.read_text(), path)
    with path.open("a") as file:  # what a kill after the checkpoint would leave
        file.write(sealed_lines([read_metrics(run)[2]], seal)[0])
    torch.rand(3)  # the state of the caller's generator is of no account
    pretrain(mazes, painter, tmp_path / "twice", resume=True)
    assert bits(tmp_path / "twice") == bits(run)


def test_another_seed_gives_another_model(run: Path, mazes: Mazes, painter: PanelPainter, tmp_path: Path) -> None:
    pretrain(mazes, painter, tmp_path / "other", steps=1, keep_every=1, seed=1)
    other, mine = SpaceEncoder.load(tmp_path / "other", "cpu"), SpaceEncoder.load(run, "cpu")
    assert other.fingerprint != mine.fingerprint


def test_the_published_optimiser_learns_at_its_own_rate(mazes: Mazes, painter: PanelPainter, tmp_path: Path) -> None:
    """One step of RMSprop (alpha 0.99) moves a parameter by at most ten times its rate; one of Adam by its rate."""
    torch.manual_seed(0)
    before = Space(SMALL).state_dict()
    learned = pretrain(mazes, painter, tmp_path / "run", steps=1, keep_every=1, learning=SpaceLearning())
    after = learned.model.state_dict()
    names = [name for name in before if name.endswith("weight")]
    moved = {name: float((after[name] - before[name]).abs().max()) for name in names}
    assert 5e-5 < max(m for name, m in moved.items() if name.startswith("foreground")) < 1.05e-4
    assert 5e-4 < max(m for name, m in moved.items() if name.startswith("background")) < 1.05e-3


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_the_slots_of_the_paper(preset: str) -> None:
    encoder = SpaceEncoder(Space(PRESETS[preset][0]))
    assert encoder.slots == (64, 33)
    assert encoder.encode(np.zeros((1, 128, 128, 3), dtype=np.uint8)).shape == (1, 64, 33)


def test_rows_do_as_well_as_mazes(run: Path, mazes: Mazes, painter: PanelPainter, tmp_path: Path) -> None:
    pretrain(mazes.rows[mazes.inside], painter, tmp_path / "rows")
    assert bits(tmp_path / "rows") == bits(run)


# ---- the encoder


def test_the_encoder_gives_slots_and_boxes_without_noise(run: Path, mazes: Mazes, painter: PanelPainter) -> None:
    encoder = SpaceEncoder.load(run, "cpu")
    pictures = painter.draw(mazes.rows[mazes.inside][:70], np.random.default_rng(0))
    seen = encoder.detect(pictures)
    assert encoder.slots == (16, 5)
    assert seen.slots.shape == (70, 16, 5)
    assert seen.boxes.shape == (70, 16, 4)
    assert seen.slots.dtype == seen.boxes.dtype == torch.float32
    assert torch.equal(encoder.encode(pictures), seen.slots)
    assert torch.equal(encoder.encode(torch.from_numpy(pictures)), seen.slots)
    torch.testing.assert_close(encoder.encode(pictures[69:]), seen.slots[69:])  # whatever is beside it in the batch
    assert torch.equal(seen.present, seen.slots[..., -1] > 0.5)
    assert bool((seen.boxes[..., 2:] > seen.boxes[..., :2]).all())
    middles = (seen.boxes[..., 2:] + seen.boxes[..., :2]) / 2
    cells = torch.tensor([[16 + 32 * column, 16 + 32 * row] for row in range(4) for column in range(4)])
    assert float((middles - cells).abs().max()) <= 32  # half a cell beyond the cell, in pixels of the picture
    assert not any(parameter.requires_grad for parameter in encoder.model.parameters())


def test_the_loaded_encoder_is_the_trained_one(mazes: Mazes, painter: PanelPainter, tmp_path: Path) -> None:
    trained = pretrain(mazes, painter, tmp_path / "run", steps=1)
    loaded = SpaceEncoder.load(tmp_path / "run", "cpu")
    pictures = painter.draw(mazes.rows[mazes.inside][:2], np.random.default_rng(0))
    assert torch.equal(trained.encode(pictures), loaded.encode(pictures))
    assert trained.fingerprint == loaded.fingerprint


def test_the_segmentation_is_black_where_nothing_is(run: Path, mazes: Mazes, painter: PanelPainter) -> None:
    encoder = SpaceEncoder.load(run, "cpu")
    pictures = painter.draw(mazes.rows[mazes.inside][:1], np.random.default_rng(0))
    segments = segmentation(encoder, pictures)
    covered = (encoder.explain(pictures).foreground.alpha[:, 0] > 0.5).numpy()
    assert segments.shape == (1, 64, 64, 3)
    assert np.array_equal(segments.any(-1), covered)


@pytest.mark.parametrize(
    "pictures",
    [
        np.zeros((2, 100, 100, 3), dtype=np.uint8),
        np.zeros((2, 3, 128, 128), dtype=np.uint8),
        np.zeros((128, 128, 3), dtype=np.uint8),
        np.zeros((2, 128, 128, 3), dtype=np.float32),
        np.zeros((0, 128, 128, 3), dtype=np.uint8),
    ],
)
def test_pictures_it_cannot_see_are_refused(run: Path, pictures: np.ndarray) -> None:
    with pytest.raises(InputError, match="this SPACE model sees uint8"):
        SpaceEncoder.load(run, "cpu").encode(pictures)


# ---- what is refused


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"log_every": 0}, "log_every is 0"),
        ({"steps": 2, "log_every": 2, "keep_every": 3}, "are multiples of log_every"),
        ({"steps": 3, "log_every": 2, "keep_every": 2}, "are multiples of log_every"),
        ({"seed": -1}, "seed is -1; it is a whole number, at least 0"),
        ({"device": "abacus"}, "abacus"),
    ],
)
def test_bad_arguments_leave_nothing_behind(
    mazes: Mazes, painter: PanelPainter, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    settings = {"run_dir": tmp_path / "run", "steps": 1, "config": SMALL, "log_every": 1, "progress": False}
    with pytest.raises(InputError, match=said):
        pretrain_space(mazes, painter, **(settings | changes))
    assert not (tmp_path / "run").exists()


def test_rows_that_are_none_are_refused(painter: PanelPainter, tmp_path: Path) -> None:
    for rows in (np.zeros((0, 11), dtype=np.int8), np.zeros((3, 12), dtype=np.int8)):
        with pytest.raises(InputError, match="rows of shape"):
            pretrain(rows, painter, tmp_path / "run")


@pytest.mark.parametrize("changes", [{"optimiser": "sgd"}, {"foreground_rate": 0.0}, {"max_norm": float("inf")}])
def test_learning_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(changes))):
        replace(PRESETS["fast"][1], **changes)


def test_a_folder_in_use_is_refused(run: Path, mazes: Mazes, painter: PanelPainter, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds a run already"):
        pretrain(mazes, painter, run)
    with pytest.raises(InputError, match="another batch_size, seed"):
        pretrain(mazes, painter, run, resume=True, batch_size=3, seed=9)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to.txt").write_text("dear")
    with pytest.raises(InputError, match="letters exists and is not a run; choose another name"):
        pretrain(mazes, painter, tmp_path / "letters", resume=True)


def test_a_loss_that_is_no_number_is_told(mazes: Mazes, painter: PanelPainter, tmp_path: Path) -> None:
    wild = SpaceLearning(optimiser="adam", foreground_rate=1e30, background_rate=1e30)
    with pytest.raises(InputError, match="the loss is not a number by step"):
        pretrain(mazes, painter, tmp_path / "run", learning=wild)


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no checkpoint there"):
        SpaceEncoder.load(tmp_path / "nowhere", "cpu")


def test_a_damaged_or_foreign_checkpoint_is_told(run: Path, tmp_path: Path) -> None:
    tensors = load_file(run / "checkpoint" / "tensors.safetensors")
    meta = json.loads((run / "checkpoint" / "checkpoint.json").read_text())
    save_checkpoint(tmp_path / "a" / "checkpoint", tensors, {**meta, "kind": "gumption/complex/1"})
    with pytest.raises(InputError, match="gumption/complex/1"):
        SpaceEncoder.load(tmp_path / "a", "cpu")
    save_checkpoint(tmp_path / "b" / "checkpoint", tensors, {**meta, "model": {**meta["model"], "what": 8}})
    with pytest.raises(InputError, match="do not fit the model's settings"):
        SpaceEncoder.load(tmp_path / "b", "cpu")
    save_checkpoint(tmp_path / "c" / "checkpoint", tensors, {**meta, "model": {**meta["model"], "grid": "much"}})
    with pytest.raises(InputError, match="grid is 'much'; it is a whole number"):
        SpaceEncoder.load(tmp_path / "c", "cpu")
    torn = run.parent / "torn" / "checkpoint"
    save_checkpoint(torn, tensors, meta)
    (torn / "tensors.safetensors").write_bytes((torn / "tensors.safetensors").read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged"):
        SpaceEncoder.load(torn.parent, "cpu")
