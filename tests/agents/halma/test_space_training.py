"""Pretraining of SPACE: same bits again and after a stop, what is in a run, the frozen encoder, and what is refused."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from gumption.agents.halma import space_training
from gumption.agents.halma.config import PRESETS, PretrainingConfig, SpaceLearning
from gumption.agents.halma.space import Space, SpaceEncoder
from gumption.agents.halma.space_training import pretrain_space, segmentation
from gumption.agents.run_folder import read_config, read_metrics
from gumption.data import InputError
from gumption.data.sealed import sealed_lines, unsealed_lines
from gumption.envs.halma import Mazes, sample_mazes
from gumption.envs.halma.visual import PanelPainter
from gumption.kg.checkpoint import save_checkpoint

MODEL = {
    "image_size": 64,
    "grid": 4,
    "glimpse": 8,
    "what": 4,
    "base": 8,
    "features": 16,
    "components": 1,
    "mask": 4,
    "component": 4,
    "hidden": 4,
    "background_base": 8,
    "boundary": 1,
}
SMALL = PretrainingConfig(
    steps=4,
    batch_size=2,
    num_mazes=3,
    log_interval=1,
    checkpoint_interval=4,
    overrides=(*MODEL.items(), ("optimiser", "adam"), ("foreground_rate", 1e-3)),
    device="cpu",
)


@pytest.fixture(scope="module")
def painter() -> PanelPainter:
    return PanelPainter()


@pytest.fixture(scope="module")
def mazes() -> Mazes:
    return Mazes(sample_mazes(3, seed=0))


def pretrain(run_dir: Path, *, resume: bool = False, **changes: Any) -> SpaceEncoder:
    """With a small model; `overrides` are beside those of SMALL."""
    overrides = dict(SMALL.overrides) | changes.pop("overrides", {})
    config = replace(SMALL, overrides=tuple(overrides.items()), **changes)
    return pretrain_space(config, run_dir, progress=False, resume=resume)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four steps of a small model."""
    folder = tmp_path_factory.mktemp("space") / "run"
    pretrain(folder)
    return folder


def bits(run_dir: Path) -> dict[str, Any]:
    lines = read_metrics(run_dir)
    for line in lines:
        del line["wall_s"], line["steps_per_s"]
    tensors = load_file(run_dir / "checkpoint" / "tensors.safetensors")
    return {"metrics": lines, **{name: tensor.numpy().tobytes() for name, tensor in tensors.items()}}


def test_a_run_holds_its_settings_metrics_checkpoint_and_pictures(run: Path, mazes: Mazes) -> None:
    config = json.loads((run / "config.json").read_text())
    assert PretrainingConfig.from_json({name: config[name] for name in SMALL.to_json()}) == SMALL
    assert config["images"] == "train"
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    assert all(set(space_training.MEASURES) < set(line) for line in lines)
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["parameters"] > 0
    assert manifest["panels"]["count"] == int(mazes.inside.sum())
    pictures = sorted(path.name for path in (run / "plots").iterdir())
    assert pictures == ["step-000004.png"]
    with Image.open(run / "plots" / pictures[0]) as image:
        assert image.size == (1040, 520)


def test_the_loss_in_the_metrics_is_the_sum_of_its_terms(run: Path) -> None:
    for line in read_metrics(run):
        terms = -line["log_likelihood"] + line["kl_foreground"] + line["kl_background"] + 1000 * line["boundary"]
        assert line["loss"] == pytest.approx(terms, rel=1e-4)


@pytest.mark.slow
def test_a_stop_and_a_resume_change_no_bit(run: Path, tmp_path: Path) -> None:
    pretrain(tmp_path / "twice", steps=2)
    path = tmp_path / "twice" / "metrics.jsonl"
    _, seal = unsealed_lines(path.read_text(), path)
    with path.open("a") as file:  # what a kill after the checkpoint would leave
        file.write(sealed_lines([read_metrics(run)[2]], seal)[0])
    torch.rand(3)  # the state of the caller's generator is of no account
    pretrain(tmp_path / "twice", resume=True)
    assert bits(tmp_path / "twice") == bits(run)


@pytest.mark.slow
def test_another_seed_gives_another_model(run: Path, tmp_path: Path) -> None:
    pretrain(tmp_path / "other", steps=1, checkpoint_interval=1, seed=1)
    other, mine = SpaceEncoder.load(tmp_path / "other", "cpu"), SpaceEncoder.load(run, "cpu")
    assert other.fingerprint != mine.fingerprint


def test_the_published_optimiser_learns_at_its_own_rate(tmp_path: Path) -> None:
    """One step of RMSprop (alpha 0.99) moves a parameter by at most ten times its rate; one of Adam by its rate."""
    torch.manual_seed(0)
    before = Space(SMALL.model).state_dict()
    learned = pretrain(tmp_path / "run", steps=1, checkpoint_interval=1, overrides=asdict(SpaceLearning()))
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


@pytest.mark.slow
def test_a_run_goes_on_for_more_steps_by_itself(run: Path, tmp_path: Path) -> None:
    pretrain(tmp_path / "longer", steps=2, checkpoint_interval=2)
    pretrain(tmp_path / "longer", steps=4, checkpoint_interval=2, resume=True)
    kept = read_config(tmp_path / "longer", PretrainingConfig)
    assert kept == replace(SMALL, checkpoint_interval=2)
    assert bits(tmp_path / "longer") == bits(run)


# ---- the encoder


def test_the_encoder_gives_slots_and_boxes_without_noise(run: Path, mazes: Mazes, painter: PanelPainter) -> None:
    encoder = SpaceEncoder.load(run, "cpu")
    pictures = painter.draw(mazes.rows[mazes.inside][:70], np.random.default_rng(0))[0]
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
    trained = pretrain(tmp_path / "run", steps=1)
    loaded = SpaceEncoder.load(tmp_path / "run", "cpu")
    pictures = painter.draw(mazes.rows[mazes.inside][:2], np.random.default_rng(0))[0]
    assert torch.equal(trained.encode(pictures), loaded.encode(pictures))
    assert trained.fingerprint == loaded.fingerprint


def test_the_segmentation_is_black_where_nothing_is(run: Path, mazes: Mazes, painter: PanelPainter) -> None:
    encoder = SpaceEncoder.load(run, "cpu")
    pictures = painter.draw(mazes.rows[mazes.inside][:1], np.random.default_rng(0))[0]
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
        ({"steps": 2, "log_interval": 2, "checkpoint_interval": 3}, "are multiples of log_interval"),
        ({"steps": 3, "log_interval": 2, "checkpoint_interval": 2}, "are multiples of log_interval"),
        ({"world": "halma"}, "a run of the world 'halma', not of halma-space"),
        ({"overrides": {"momentum": 0.9}}, "SPACE has no 'momentum'; it has"),
        ({"overrides": {"temperature": 2.5}}, "the settings of a SPACE model are of the wrong type"),
        ({"device": "abacus"}, "abacus"),
    ],
)
def test_bad_arguments_leave_nothing_behind(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        pretrain(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("changes", [{"optimiser": "sgd"}, {"foreground_rate": 0.0}, {"max_norm": float("inf")}])
def test_learning_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(changes))):
        replace(PRESETS["fast"][1], **changes)


def test_a_folder_in_use_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds a run already"):
        pretrain(run)
    with pytest.raises(InputError, match="another batch_size, seed"):
        pretrain(run, resume=True, batch_size=3, seed=9)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to.txt").write_text("dear")
    with pytest.raises(InputError, match="letters exists and is not a run; choose another name"):
        pretrain(tmp_path / "letters", resume=True)


def test_a_loss_that_is_no_number_is_told(tmp_path: Path) -> None:
    wild = {"foreground_rate": 1e30, "background_rate": 1e30}
    with pytest.raises(InputError, match="the loss is not a number by step"):
        pretrain(tmp_path / "run", overrides=wild)


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
