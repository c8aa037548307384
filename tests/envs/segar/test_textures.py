"""Texture models: what ships and what a person gives, what textures tell, and how far models are apart."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from torch import nn

from gumption.data import InputError
from gumption.envs.segar.render import (
    align,
    close_and_far,
    cluster_distance,
    feature_models,
    random_filters,
    read_filters,
)
from gumption.envs.segar.textures import (
    SETS,
    WEIGHTS,
    from_decoder,
    load_models,
    parameter_distance,
    read_tensors,
    texture_distance,
)


def codes(count: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, (count, 12))


def test_a_texture_is_a_tile_of_the_transposed_convolution() -> None:
    torch.manual_seed(0)
    decoder = nn.ConvTranspose2d(12, 3, 5, stride=3, padding=1)
    model = from_decoder("one", decoder.weight.detach().numpy(), decoder.bias.detach().numpy())  # pyright: ignore[reportOptionalMemberAccess]
    some = codes(4)
    maps = torch.tensor(some, dtype=torch.float32)[:, :, None, None].expand(-1, -1, 10, 10)
    whole = torch.tanh(decoder(maps))[:, :, 1:-1, 1:-1].detach().numpy().transpose(0, 2, 3, 1)
    expected = np.rint((whole + 1) * 127.5)
    repeated = np.tile(model.patterns(some), (1, 9, 9, 1))[:, :27, :27]
    assert np.abs(repeated - expected[:, :27, :27]).max() <= 1


@pytest.mark.parametrize("name", sorted(SETS))
def test_the_textures_of_what_ships_tell_their_codes(name: str) -> None:
    assert len(SETS[name]) == {"baseline": 1, "five": 5, "twenty": 20}[name]
    for file, model in zip(SETS[name], load_models(name), strict=True):
        reader = nn.Conv2d(3, 12, 5, stride=3, padding=1)
        tensors = read_tensors(WEIGHTS / f"{file}.safetensors")
        reader.load_state_dict({part: torch.tensor(tensors[f"reader.{part}"]) for part in ("weight", "bias")})
        some = codes(200)
        textures = np.tile(model.patterns(some) / 127.5 - 1, (1, 5, 5, 1)).transpose(0, 3, 1, 2)
        # The reader saw textures with the pixel that a texture of a thing lacks.
        whole = np.pad(textures, ((0, 0), (0, 0), (1, 0), (1, 0)), mode="wrap")
        found = reader(torch.tensor(whole, dtype=torch.float32))[:, :, 2, 2].detach().numpy()
        assert np.square(found - some).mean() < 0.1 * np.square(some).mean()
        assert np.corrcoef(found.ravel(), some.ravel())[0, 1] > 0.95


def test_models_differ_from_each_other() -> None:
    models = load_models("five")
    apart = np.array([[texture_distance(one, other) for other in models] for one in models])
    assert (np.diag(apart) == 0).all()
    assert (apart == apart.T).all()
    assert (apart[~np.eye(5, dtype=bool)] > 0.1).all()
    assert parameter_distance(models[0], models[0]) == 0
    assert parameter_distance(models[0], models[1]) > 0.5
    (seventh,) = load_models("twenty-07")
    assert texture_distance(seventh, load_models("twenty")[1]) == 0


def test_the_distance_of_textures_is_that_of_pixels() -> None:
    black, white = (
        from_decoder(name, np.zeros((12, 3, 5, 5)), np.full(3, bias)) for name, bias in (("b", -9), ("w", 9))
    )
    assert texture_distance(black, white) == pytest.approx(1.0)
    assert parameter_distance(black, white) == pytest.approx(18 * np.sqrt(27))
    big = feature_models(np.random.default_rng(0).standard_normal((20, 3, 4, 4)), [0])[0]
    assert 0 < texture_distance(black, big) < 1
    with pytest.raises(InputError, match=r"b have 3 x 3 pixels.* 4 x 4: compare their textures"):
        parameter_distance(black, big)


def decoder(**changes: np.ndarray) -> dict[str, np.ndarray]:
    plain = {"decoder.weight": np.ones((12, 3, 5, 5), np.float32), "decoder.bias": np.zeros(3, np.float32)}
    return plain | {name.replace("_", "."): value for name, value in changes.items()}


def test_models_are_read_from_a_file_or_a_folder(tmp_path: Path) -> None:
    for name in ("b", "a"):
        save_file(decoder(), tmp_path / f"{name}.safetensors")
    assert [model.name for model in load_models(str(tmp_path))] == ["a", "b"]
    assert [model.name for model in load_models(str(tmp_path / "b.safetensors"))] == ["b"]


@pytest.mark.parametrize(
    ("tensors", "told"),
    [
        (decoder(decoder_weight=np.ones((12, 3, 3, 3), np.float32)), r"decoder.weight has the shape \(12, 3, 3, 3\)"),
        (decoder(decoder_bias=np.array([0, np.nan, 0], np.float32)), r"decoder.bias .* finite numbers"),
        ({"decoder.weight": decoder()["decoder.weight"]}, "there is no decoder.bias"),
    ],
)
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, tensors: Any, told: str) -> None:
    path = tmp_path / "x.safetensors"
    save_file(tensors, path)
    with pytest.raises(InputError, match=f"x.safetensors: {told}"):
        load_models(str(path))


def test_a_place_without_models_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no 'twelve'.*or give a path"):
        load_models("twelve")
    with pytest.raises(InputError, match=r"has no \.safetensors file"):
        load_models(str(tmp_path))
    (tmp_path / "text.safetensors").write_text("no tensors")
    with pytest.raises(InputError, match=r"text\.safetensors: cannot be read as safetensors"):
        load_models(str(tmp_path / "text.safetensors"))


# ---- features of filters


def test_models_of_features_are_aligned_and_of_a_seed() -> None:
    filters = random_filters(0)
    models, again = feature_models(filters, [0, 1, 2]), feature_models(filters, [0, 1, 2])
    for model, other in zip(models, again, strict=True):
        np.testing.assert_array_equal(model.weights, other.weights)
        assert sorted(set(model.labels.tolist())) == list(range(12))
        assert model.weights.shape == (3, 3, 3, 12)
    shared = [(model.labels == models[0].labels).mean() for model in models[1:]]
    mixed = [(np.roll(np.arange(12), 1)[model.labels] == models[0].labels).mean() for model in models[1:]]
    assert min(shared) > max(mixed)
    assert (feature_models(filters, [1])[0].weights != models[0].weights).any()


def test_matching_gives_clusters_the_numbers_of_the_reference() -> None:
    reference = np.repeat(np.arange(12), 3)
    for first in range(0, 33, 3):
        labels = (reference * 5 + 7) % 12
        labels[[first, 35]] = labels[[35, first]]  # one thing of each of two clusters is in the other
        assert (align(labels, reference) != reference).nonzero()[0].tolist() == [first, 35]


def test_close_and_far_models_are_those_of_the_distance_of_clusters() -> None:
    models = feature_models(random_filters(3), range(5))
    close, far = close_and_far(models, 2)
    assert cluster_distance(models[0], models[0]) == pytest.approx(0, abs=1e-5)
    apart = {model.name: cluster_distance(models[0], model) for model in models[1:]}
    assert sorted(apart, key=lambda name: apart[name]) == [model.name for model in close + far]
    assert max(apart[model.name] for model in close) <= min(apart[model.name] for model in far)
    with pytest.raises(InputError, match="3 close and 3 far models of 4 others"):
        close_and_far(models, 3)


def test_the_distance_of_clusters_by_hand() -> None:
    """Two filters of one cluster, one of which another model has in another cluster."""
    filters = np.zeros((13, 3, 3, 3))
    for i in range(13):
        filters[i, i % 3, i // 3 % 3, i // 9] = 1.0
    one, other = feature_models(filters, [0])[0], feature_models(filters, [0])[0]
    pair = [i for i in range(13) if (one.labels == one.labels[i]).sum() == 2]
    assert len(pair) == 2
    moved, target = pair[0], next(i for i in range(13) if i not in pair)
    other.labels = one.labels.copy()
    other.labels[moved] = one.labels[target]
    gap = float(np.linalg.norm(one.filters[moved] - one.filters[target]))
    lost = float(np.linalg.norm(one.filters[pair[0]] - one.filters[pair[1]]))
    assert cluster_distance(one, other) == pytest.approx(gap / np.sqrt(2) + lost / np.sqrt(2), rel=1e-6)


def test_filters_are_read_from_either_kind_of_file(tmp_path: Path) -> None:
    filters = random_filters(1).astype(np.float32)
    np.save(tmp_path / "f.npy", filters)
    save_file({"conv.weight": filters, "fc.weight": np.ones((4, 4), np.float32)}, tmp_path / "f.safetensors")
    for name in ("f.npy", "f.safetensors"):
        np.testing.assert_array_equal(read_filters(tmp_path / name), filters)


@pytest.mark.parametrize(
    "filters",
    [
        np.ones((64, 3, 3, 3)),
        random_filters(0)[:11],
        random_filters(0)[:, :2],
        random_filters(0)[..., :2],
        random_filters(0) * np.inf,
        np.full((64, 3, 3, 3), "a"),
    ],
    ids=["constant", "eleven", "two channels", "not square", "infinite", "text"],
)
def test_what_are_no_filters_is_refused(tmp_path: Path, filters: np.ndarray) -> None:
    np.save(tmp_path / "f.npy", filters)
    with pytest.raises(InputError, match=r"f.npy has 0 arrays of filters, and needs one: at least 12 different"):
        read_filters(tmp_path / "f.npy")
    with pytest.raises(InputError, match="give at least 12 different filters"):
        feature_models(filters, [0])


def test_a_file_without_filters_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.npy").write_text("none")
    with pytest.raises(InputError, match=r"f\.npy: cannot be read as \.npy"):
        read_filters(tmp_path / "f.npy")
    with pytest.raises(InputError, match=r"f\.pt: filters are read from \.npy and \.safetensors files"):
        read_filters(tmp_path / "f.pt")
    with pytest.raises(InputError, match="0 seeds"):
        feature_models(random_filters(0), [])
