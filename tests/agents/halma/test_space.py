"""SPACE's parts against closed forms, torch's own and naive computations; that it learns, and comes back from disk."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import distributions as dist
from torch.nn import functional as F

from gumption.agents.halma.config import Anneal, SpaceConfig
from gumption.agents.halma.space import (
    Background,
    CompDecoder,
    Foreground,
    Space,
    bernoulli_kl,
    cut_glimpses,
    gaussian_kl,
    gaussian_log_density,
    mixture_log_likelihood,
    place_glimpses,
    relaxed_bernoulli,
    sample,
    stick_breaking,
)
from gumption.data import InputError

SMALL = SpaceConfig(
    image_size=64,
    grid=4,
    glimpse=8,
    what=8,
    base=8,
    features=16,
    components=2,
    mask=4,
    component=4,
    hidden=8,
    background_base=8,
    boundary=1,
)


def noise(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def panels(count: int = 2, side: int = 64) -> torch.Tensor:
    """Black with a bright square each: (count, 3, side, side)."""
    pictures = torch.zeros(count, 3, side, side)
    for i in range(count):
        left = 8 + 12 * i
        pictures[i, i % 3, 20:32, left : left + 12] = 1.0
    return pictures


@pytest.fixture(scope="module")
def model() -> Space:
    torch.manual_seed(0)
    return Space(SMALL)


# ---- the spatial transformer


def test_a_glimpse_lands_where_z_where_says() -> None:
    """Scale 1/4 and shift (1/2, -1/4) of 64 pixels: 16 pixels around (48, 24)."""
    canvas = place_glimpses(torch.ones(1, 1, 8, 8), torch.tensor([[[0.25, 0.25, 0.5, -0.25]]]), 64)[0, 0]
    expected = torch.zeros(64, 64)
    expected[16:32, 40:56] = 1.0
    inner = expected.clone()
    inner[16], inner[31], inner[:, 40], inner[:, 55] = 0, 0, 0, 0
    assert torch.equal(canvas > 0, F.max_pool2d(expected[None], 3, 1, 1)[0] * (canvas > 0) > 0)
    assert canvas[inner > 0] == pytest.approx(1.0)
    assert canvas[~(F.max_pool2d(expected[None], 3, 1, 1)[0] > 0)].abs().max() == 0


def test_a_glimpse_is_not_mirrored_or_turned() -> None:
    glimpse = torch.zeros(1, 1, 8, 8)
    glimpse[0, 0, 0, 7] = 1.0  # its top right
    canvas = place_glimpses(glimpse, torch.tensor([[[0.5, 0.5, 0.0, 0.0]]]), 64)[0, 0]
    y, x = np.unravel_index(int(canvas.argmax()), (64, 64))
    assert 16 <= y < 20
    assert 44 <= x < 48


where_boxes = st.tuples(*(st.floats(0.1, 0.9) for _ in range(2)), *(st.floats(-1.1, 1.1) for _ in range(2)))


@settings(max_examples=25, deadline=None)
@given(st.lists(where_boxes, min_size=1, max_size=4), st.integers(0, 99))
def test_placing_and_cutting_are_those_of_grid_sample(boxes: list[tuple[float, ...]], seed: int) -> None:
    where = torch.tensor([boxes])  # one picture
    count = len(boxes)
    glimpses = torch.rand(count, 3, 8, 8, generator=noise(seed))
    pictures = torch.rand(1, 3, 32, 32, generator=noise(seed))
    scale, shift = where[0].chunk(2, dim=1)
    forward = torch.cat([torch.diag_embed(scale), shift[..., None]], dim=2)
    backward = torch.cat([torch.diag_embed(1 / scale), (-shift / scale)[..., None]], dim=2)
    placed = F.grid_sample(glimpses, F.affine_grid(backward, [count, 3, 32, 32], False), align_corners=False)
    cut = F.grid_sample(
        pictures.expand(count, -1, -1, -1), F.affine_grid(forward, [count, 3, 8, 8], False), align_corners=False
    )
    torch.testing.assert_close(place_glimpses(glimpses, where, 32), placed, rtol=0, atol=2e-4)
    torch.testing.assert_close(cut_glimpses(pictures, where, 8), cut, rtol=0, atol=2e-4)


def test_each_picture_gives_its_own_glimpses() -> None:
    pictures = torch.stack([torch.full((3, 32, 32), value) for value in (0.25, 0.75)])
    where = torch.tensor([0.2, 0.2, 0.0, 0.0]).expand(2, 3, 4)
    assert cut_glimpses(pictures, where, 8).mean((1, 2, 3)).tolist() == pytest.approx([0.25] * 3 + [0.75] * 3)


def test_a_cell_places_its_box_within_half_a_cell_of_it(model: Space) -> None:
    zero = torch.zeros(1, 16, 2)
    middle = model.foreground.place(zero, zero)[0, :, 2:]
    assert middle[0].tolist() == [-0.75, -0.75]  # the top left of 4 x 4 cells
    assert middle[1].tolist() == [-0.25, -0.75]  # the next in its row
    far = model.foreground.place(zero, zero + 100)[0, :, 2:]
    assert (far - middle).flatten().tolist() == pytest.approx([0.5] * 32)
    assert model.foreground.place(zero, zero)[0, 0, :2].tolist() == [0.5, 0.5]


# ---- distributions


numbers = st.floats(-3, 3)
positive = st.floats(0.05, 4)


@settings(max_examples=30, deadline=None)
@given(numbers, positive, numbers, positive)
def test_the_gaussian_divergence_is_torchs(mean: float, std: float, prior_mean: float, prior_std: float) -> None:
    mine = gaussian_kl(torch.tensor(mean), torch.tensor(std), prior_mean, prior_std)
    theirs = dist.kl_divergence(dist.Normal(mean, std), dist.Normal(prior_mean, prior_std))
    assert float(mine) == pytest.approx(float(theirs), rel=1e-4, abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.floats(-8.8, 8.8), st.floats(1e-4, 0.99))
def test_the_bernoulli_divergence_is_torchs(logit: float, prior: float) -> None:
    mine = bernoulli_kl(torch.tensor(logit), prior)
    theirs = dist.kl_divergence(dist.Bernoulli(logits=torch.tensor(logit)), dist.Bernoulli(torch.tensor(prior)))
    assert float(mine) == pytest.approx(float(theirs), rel=1e-3, abs=1e-5)


def test_the_density_is_torchs() -> None:
    value, mean = torch.rand(2, 50, generator=noise())
    torch.testing.assert_close(gaussian_log_density(value, mean, 0.15), dist.Normal(mean, 0.15).log_prob(value))


def test_samples_have_the_distribution_they_should() -> None:
    drawn = sample(torch.full((20_000,), 2.0), torch.full((20_000,), 0.5), noise())
    assert float(drawn.mean()) == pytest.approx(2.0, abs=0.02)
    assert float(drawn.std()) == pytest.approx(0.5, abs=0.02)
    present = relaxed_bernoulli(torch.full((20_000,), 1.0), 0.7, noise())
    # Whatever the temperature, a concrete sample is above one half as often as the Bernoulli variable is 1.
    assert float((present > 0.5).float().mean()) == pytest.approx(1 / (1 + math.exp(-1)), abs=0.01)
    sharp = relaxed_bernoulli(torch.full((2_000,), 1.0), 0.05, noise())
    assert float(((sharp < 0.05) | (sharp > 0.95)).float().mean()) > 0.9


def test_without_a_generator_latents_are_their_means() -> None:
    assert sample(torch.tensor([3.0]), torch.tensor([9.0]), None).item() == 3.0
    assert relaxed_bernoulli(torch.tensor([0.0]), 2.5, None).item() == 0.5


def test_shares_of_the_background_sum_to_one() -> None:
    shares = stick_breaking(torch.randn(2, 3, 1, 4, 4, generator=noise())).exp()
    torch.testing.assert_close(shares.sum(1), torch.ones(2, 1, 4, 4))
    torch.testing.assert_close(stick_breaking(torch.zeros(1, 2, 1, 1, 1)).exp().flatten().tolist(), [0.5, 0.25, 0.25])
    assert stick_breaking(torch.zeros(1, 0, 1, 1, 1)).exp().flatten().tolist() == [1.0]


def test_the_likelihood_is_the_mixture_of_equation_1() -> None:
    """Against sums of densities, pixel by pixel, with torch's distributions."""
    config = SMALL
    pictures = torch.rand(2, 3, 4, 4, generator=noise(1))
    front = Foreground(
        torch.rand(2, 3, 4, 4, generator=noise(2)), torch.rand(2, 1, 4, 4, generator=noise(3)), torch.zeros(2)
    )
    behind = Background(
        torch.rand(2, 3, 3, 4, 4, generator=noise(4)),
        torch.randn(2, 3, 1, 4, 4, generator=noise(5)).log_softmax(1),
        torch.zeros(2),
    )
    expected = []
    for b in range(2):
        total = 0.0
        for y in range(4):
            for x in range(4):
                value = pictures[b, :, y, x].double()
                alpha = front.alpha[b, 0, y, x].double()
                density = alpha * dist.Normal(front.mean[b, :, y, x].double(), 0.15).log_prob(value).sum().exp()
                for k in range(3):
                    share = behind.log_share[b, k, 0, y, x].double().exp()
                    colours = dist.Normal(behind.mean[b, k, :, y, x].double(), 0.15).log_prob(value).sum().exp()
                    density = density + (1 - alpha) * share * colours
                total += float(density.log())
        expected.append(total)
    assert mixture_log_likelihood(pictures, front, behind, config).tolist() == pytest.approx(expected, rel=1e-4)


# ---- the model


def test_shapes(model: Space) -> None:
    output = model(panels(3), 0, noise())
    cells = output.cells
    assert cells.presence.shape == cells.presence_logit.shape == cells.depth.shape == (3, 16)
    assert cells.where.shape == (3, 16, 4)
    assert cells.what.shape == (3, 16, 8)
    assert output.foreground.mean.shape == output.reconstruction.shape == (3, 3, 64, 64)
    assert output.foreground.alpha.shape == (3, 1, 64, 64)
    assert output.background.mean.shape == (3, 2, 3, 64, 64)
    assert output.log_likelihood.shape == output.boundary.shape == cells.kl.shape == output.background.kl.shape == (3,)
    assert output.loss.shape == ()


def test_the_published_size_has_slots_of_33_numbers() -> None:
    config = SpaceConfig()
    assert (config.cells, config.what + 1) == (64, 33)


def test_the_loss_is_equation_6(model: Space) -> None:
    output = model(panels(), 0, noise())
    terms = -output.log_likelihood + output.cells.kl + output.background.kl + 1000 * output.boundary
    assert output.loss.item() == pytest.approx(terms.mean().item())
    assert bool((output.cells.kl > 0).all())
    assert bool((output.background.kl > 0).all())


def test_gradients_reach_every_parameter(model: Space) -> None:
    model.zero_grad()
    model(panels(), 0, noise()).loss.backward()
    without = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()]
    still = [n for n, p in model.named_parameters() if p.grad is not None and not p.grad.abs().max() > 0]
    assert (without, still) == ([], [])


def test_the_same_generator_gives_the_same_bits(model: Space) -> None:
    first, second, other = (model(panels(), 0, noise(seed)) for seed in (4, 4, 5))
    assert torch.equal(first.reconstruction, second.reconstruction)
    assert not torch.equal(first.reconstruction, other.reconstruction)


def test_shares_of_objects_sum_to_the_foregrounds_share(model: Space) -> None:
    cells = model.foreground.infer(panels(), 0, None)
    shares = model.foreground.shares(cells)
    assert shares.shape == (2, 16, 64, 64)
    torch.testing.assert_close(shares.sum(1, keepdim=True), model.foreground.render(cells).alpha, rtol=0, atol=1e-5)


def test_the_nearer_object_covers_the_other(model: Space) -> None:
    glimpses = torch.zeros(1, 2, 4, 8, 8)
    glimpses[0, 0, 0], glimpses[0, 1, 1], glimpses[:, :, 3] = 1.0, 1.0, 1.0  # opaque red and green
    where = torch.tensor([0.5, 0.5, 0.0, 0.0]).expand(1, 2, 4)
    for depth, (red, green) in (((-3.0, 3.0), (1, 0)), ((3.0, -3.0), (0, 1))):
        drawn, weight = model.foreground._place(glimpses, where, torch.tensor([depth]))
        middle = (weight * drawn).sum(1)[0, :, 32, 32]
        assert middle.tolist() == pytest.approx([red, green, 0, 1], abs=1e-3)


def test_at_first_the_foreground_has_the_same_share_everywhere(model: Space) -> None:
    pictures, last = panels(2), SMALL.fixed_alpha_steps - 1
    with torch.no_grad():
        fixed, free = (model(pictures, step, noise()).foreground.alpha for step in (last, last + 1))
    assert (fixed == SMALL.fixed_alpha).all()
    assert free.std() > 0
    torch.testing.assert_close(free, model.foreground.render(model(pictures, last + 1, noise()).cells).alpha)


def test_the_component_decoder_is_a_convolution_over_the_broadcast_vector() -> None:
    decoder = CompDecoder(64, 8, 4).eval()
    component = torch.randn(2, 4, generator=noise())
    axis = torch.linspace(-1, 1, 72)
    rows, columns = torch.meshgrid(axis, axis, indexing="ij")
    places = torch.stack([columns, rows]).expand(2, -1, -1, -1)
    naive = torch.cat([component[:, :, None, None].expand(-1, -1, 72, 72), places], dim=1)
    with torch.no_grad():
        expected = torch.sigmoid(decoder.stack(decoder.broadcast(naive)))
        torch.testing.assert_close(decoder(component), expected, rtol=0, atol=1e-5)
    assert expected.shape == (2, 3, 64, 64)


@pytest.mark.slow
def test_it_learns_one_panel() -> None:
    torch.manual_seed(1)
    model = Space(SMALL)
    pictures = panels(2)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    errors = []
    for step in range(60):
        output = model(pictures, SMALL.fixed_alpha_steps + step, noise(step))
        optimiser.zero_grad()
        output.loss.backward()
        optimiser.step()
        errors.append(float((output.reconstruction.detach() - pictures).square().mean()))
    assert np.mean(errors[-5:]) < np.mean(errors[:5]) / 5


# ---- settings


def test_annealed_values() -> None:
    anneal = Anneal(0.1, 0.5, 100, 200)
    assert [anneal.at(step) for step in (0, 100, 150, 200, 999)] == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.5])


def test_the_settings_come_back_from_json() -> None:
    assert SpaceConfig.from_json(SMALL.to_json()) == SMALL


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"image_size": 100}, "image_size is 100"),
        ({"grid": 7}, "grid 7"),
        ({"presence_prior": Anneal(0.1, 0.0, 0, 1)}, "presence_prior"),
        ({"temperature": Anneal(0.0, 1.0, 0, 1)}, "temperature"),
        ({"boundary": 16}, "boundary"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        SpaceConfig(**changes)


def test_settings_of_something_else_are_refused() -> None:
    with pytest.raises(InputError, match="colour"):
        SpaceConfig.from_json({**SMALL.to_json(), "colour": 1})
    with pytest.raises(InputError, match="not the settings"):
        SpaceConfig.from_json(None)
