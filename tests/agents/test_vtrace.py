"""V-trace against its definition (Espeholt et al., 2018, equation 1), written as sums and products."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.agents.learners.impala import vtrace

Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def definition(
    rewards: list[float], discounts: list[float], values: list[float], ratios: list[float]
) -> tuple[list[float], list[float]]:
    """One environment. `values` has one entry more than the rest: that of the state after the last step.

    v_s = V(x_s) + sum over t >= s of (product over s <= i < t of gamma_i c_i) delta_t, where
    delta_t = rho_t (r_t + gamma_t V(x_{t+1}) - V(x_t)), rho = c = min(1, ratio).
    """
    steps = len(rewards)
    clipped = [min(1.0, ratio) for ratio in ratios]
    deltas = [clipped[t] * (rewards[t] + discounts[t] * values[t + 1] - values[t]) for t in range(steps)]
    targets = []
    for s in range(steps):
        total = values[s]
        for t in range(s, steps):
            trace = 1.0
            for i in range(s, t):
                trace *= discounts[i] * clipped[i]
            total += trace * deltas[t]
        targets.append(total)
    following = [*targets[1:], values[-1]]
    advantages = [clipped[t] * (rewards[t] + discounts[t] * following[t] - values[t]) for t in range(steps)]
    return targets, advantages


@st.composite
def unrolls(draw: st.DrawFn) -> Tensors:
    steps, batch = draw(st.integers(1, 6)), draw(st.integers(1, 3))

    def numbers(low: float, high: float, rows: int = steps) -> torch.Tensor:
        values = draw(st.lists(st.floats(low, high), min_size=rows * batch, max_size=rows * batch))
        return torch.tensor(values, dtype=torch.float64).view(rows, batch)

    over = torch.tensor(draw(st.lists(st.booleans(), min_size=steps * batch, max_size=steps * batch)))
    discounts = numbers(0, 1) * ~over.view(steps, batch)
    return numbers(-1, 1), discounts, numbers(-3, 3), numbers(-3, 3, 1)[0], numbers(0, 4)


@given(unrolls())
@settings(max_examples=100, deadline=None)
def test_targets_and_advantages_are_those_of_the_definition(unroll: Tensors) -> None:
    rewards, discounts, values, bootstrap, ratios = unroll
    targets, advantages = vtrace(rewards, discounts, values, bootstrap, ratios)
    for b in range(rewards.shape[1]):
        expected = definition(
            rewards[:, b].tolist(),
            discounts[:, b].tolist(),
            [*values[:, b].tolist(), float(bootstrap[b])],
            ratios[:, b].tolist(),
        )
        torch.testing.assert_close(targets[:, b], torch.tensor(expected[0], dtype=torch.float64))
        torch.testing.assert_close(advantages[:, b], torch.tensor(expected[1], dtype=torch.float64))


def test_on_policy_one_step_is_the_td_target() -> None:
    rewards, values, bootstrap = torch.tensor([[1.0, -0.1]]), torch.tensor([[0.3, 0.7]]), torch.tensor([2.0, 5.0])
    targets, advantages = vtrace(rewards, torch.tensor([[0.9, 0.0]]), values, bootstrap, torch.ones(1, 2))
    torch.testing.assert_close(targets, torch.tensor([[1.0 + 0.9 * 2.0, -0.1]]))
    torch.testing.assert_close(advantages, targets - values)


def test_on_policy_targets_are_the_returns() -> None:
    generator = torch.Generator().manual_seed(0)
    rewards, values = torch.randn(2, 5, 4, generator=generator)
    bootstrap = torch.randn(4, generator=generator)
    targets, _ = vtrace(rewards, torch.full((5, 4), 0.9), values, bootstrap, torch.full((5, 4), 1.0))
    for this, reward, following in zip(targets, rewards, [*targets[1:], bootstrap], strict=True):
        torch.testing.assert_close(this, reward + 0.9 * following)


def test_the_end_of_an_episode_cuts_the_trace() -> None:
    discounts, ratios = torch.tensor([[0.99], [0.0], [0.99]]), torch.ones(3, 1)

    def found(last_reward: float, last_value: float, bootstrap: float) -> tuple[torch.Tensor, torch.Tensor]:
        values = torch.tensor([[0.1], [0.2], [last_value]])
        return vtrace(torch.tensor([[0.0], [1.0], [last_reward]]), discounts, values, torch.tensor([bootstrap]), ratios)

    targets, advantages = found(0.5, 0.3, 0.4)
    other_targets, other_advantages = found(9.0, -7.0, 8.0)
    assert torch.equal(targets[:2], other_targets[:2])
    assert torch.equal(advantages[:2], other_advantages[:2])
    torch.testing.assert_close(targets[:2], torch.tensor([[0.99], [1.0]]))  # what the episode gave, and no more


@pytest.mark.parametrize("ratio", [1.0, 1.5, 100.0])
def test_ratios_above_one_count_as_one(ratio: float) -> None:
    generator = torch.Generator().manual_seed(1)
    rewards, values = torch.randn(2, 3, 2, generator=generator)
    rest = (torch.full((3, 2), 0.9), values, torch.zeros(2))
    for one, other in zip(
        vtrace(rewards, *rest, torch.full((3, 2), ratio)), vtrace(rewards, *rest, torch.ones(3, 2)), strict=True
    ):
        assert torch.equal(one, other)


def test_an_action_that_the_policy_never_takes_teaches_nothing() -> None:
    values = torch.tensor([[0.3, 0.7], [0.1, 0.2]])
    targets, advantages = vtrace(torch.ones(2, 2), torch.ones(2, 2), values, torch.ones(2), torch.zeros(2, 2))
    assert torch.equal(targets, values)
    assert not advantages.any()
