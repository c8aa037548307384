"""A HALMA agent to look at."""

import numpy as np
import pytest
import torch

from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.networks import ActorNetwork, NetworkActor, make_perception
from gumption.agents.halma.watch import HALMAPlayer
from gumption.agents.watch import play_steps
from gumption.data import InputError
from gumption.envs.halma import HALMAVectorEnv


def network(max_opt_len: int = 3) -> ActorNetwork:
    torch.manual_seed(0)
    return ActorNetwork(HALMAConfig(max_opt_len=max_opt_len, device="cpu")).eval()


def test_the_distribution_is_that_of_the_likelihood() -> None:
    actor = network()
    made = torch.randn(1, actor.enter.in_features)
    options, probability = actor.distribution(made)
    assert options.shape == (4**4, 4)
    assert len(np.unique(options.numpy(), axis=0)) == 4**4
    assert probability.sum().item() == pytest.approx(1, abs=1e-5)
    expected = actor.log_likelihood(made, options[None]).exp()[0]
    torch.testing.assert_close(probability, expected, rtol=1e-4, atol=1e-7)


def test_the_distribution_with_advice_is_what_is_drawn() -> None:
    actor = network(1)
    made = torch.randn(1, actor.enter.in_features)

    def advice(chosen: torch.Tensor) -> torch.Tensor:
        if not chosen.shape[1]:
            return torch.tensor([[2.0, 0.0, 0.0, -2.0]]).expand(len(chosen), 4)
        return torch.nn.functional.one_hot(chosen[:, 0], 4) * 3.0

    options, probability = actor.distribution(made, advice)
    drawn = actor.decode(made.expand(20_000, -1), bias=advice, generator=torch.Generator().manual_seed(0))
    share = torch.bincount(4 * drawn[:, 0] + drawn[:, 1], minlength=16) / 20_000
    assert torch.equal(4 * options[:, 0] + options[:, 1], torch.arange(16))
    torch.testing.assert_close(share, probability, rtol=0, atol=0.015)


def player(maze: int = 0, trials: int = 1) -> HALMAPlayer:
    config = HALMAConfig(max_opt_len=3, device="cpu")
    env = HALMAVectorEnv(
        1, num_mazes=2, max_opt_len=3, trials=trials, max_steps=12, render_mode="ansi", autoreset_mode="Disabled"
    )
    actor = NetworkActor(network(), make_perception(config, torch.device("cpu")), 0.0, torch.Generator())
    return HALMAPlayer(actor, env, maze)


def test_steps_of_an_agent_without_knowledge() -> None:
    steps = list(play_steps(player(), seed=0))
    assert len(steps) == 13
    direction, length = steps[0].choices
    assert [one.label for one in direction.candidates] == ["left", "up", "right", "down"]
    assert sum(one.probability for one in direction.candidates) == pytest.approx(1, abs=1e-5)
    assert all(one.own == one.probability and not one.scores for one in direction.candidates)
    assert length.question == f"how far {direction.candidates[direction.chosen].label}"
    assert steps[0].told.endswith(("moved", "not carried out: a wall is in the way, or the sum is zero"))
    assert steps[0].picture is not None
    assert steps[0].picture.shape == (780, 1230, 3)
    again = list(play_steps(player(), seed=0, pictures=False))
    assert [step.told for step in again] == [step.told for step in steps], "the seed decides"


def test_a_maze_that_is_not_there() -> None:
    with pytest.raises(InputError, match="maze is 7; these are 2, from 0 to 1"):
        player(maze=7)
