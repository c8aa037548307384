"""Bodies, actors and critics of Table 1's agents: shapes, memory, and what options are likely."""

import itertools

import numpy as np
import pytest
import torch

from gumption.agents.halma.acting import first_percept
from gumption.agents.halma.config import SYMBOLIC, VISUAL, HALMAConfig
from gumption.agents.halma.networks import (
    ActorNetwork,
    Body,
    CriticNetwork,
    make_perception,
    make_player,
)
from gumption.agents.learners.replay import Memo
from gumption.envs.halma import HALMAVectorEnv, Mazes, one_hot, sample_mazes

SMALL = (("hidden_size", 16),)


def config(agent: str, **settings) -> HALMAConfig:
    model = "eyes" if agent == "space" else None
    return HALMAConfig(agent=agent, space_model=model, overrides=SMALL, **settings)


def features(agent: str, n: int, moves: int) -> torch.Tensor:
    rng = np.random.default_rng(0)
    if agent == "space":
        return torch.from_numpy(rng.random((n, moves, 64, 33), dtype=np.float32))
    if agent in VISUAL:
        return torch.from_numpy(rng.integers(256, size=(n, moves, 128, 128, 3), dtype=np.uint8))
    mazes = Mazes(sample_mazes(3, 0))
    rows = mazes.rows[mazes.inside][rng.integers(60, size=(n, moves))]
    return torch.from_numpy(one_hot(rows))


def _nothing() -> tuple[torch.Tensor, ...]:
    """Option, reward and beginning before one observation."""
    return torch.zeros(1, 1, 2, dtype=torch.int64), torch.zeros(1, 1), torch.ones(1, 1, dtype=torch.bool)


def inputs(agent: str, n: int, moves: int, tokens: int = 6) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(1)
    first = torch.zeros(n, moves, dtype=torch.bool)
    return features(agent, n, moves), torch.randint(4, (n, moves, tokens)), 10 * torch.randn(n, moves), first


@pytest.mark.parametrize("agent", SYMBOLIC + VISUAL)
def test_every_agent_learns_with_all_its_parameters(agent):
    torch.manual_seed(0)
    chosen = config(agent)
    actor, critic = ActorNetwork(chosen), CriticNetwork(chosen)
    moves = inputs(agent, 2, 3)
    made, _ = actor.body(*moves, actor.body.start(2))
    assert made.shape == (2, 3, 16)
    options = actor.decode(made.flatten(0, 1))
    assert options.shape == (6, 6)
    assert options.dtype == torch.int64
    assert ((options >= 0) & (options < 4)).all()
    actor.log_likelihood(made.flatten(0, 1), options[:, None]).sum().backward()
    values = critic(critic.body(*moves, critic.body.start(2))[0].flatten(0, 1), options)
    assert [value.shape for value in values] == [(6,), (6,)]
    (values[0] - 2 * values[1]).sum().backward()
    for name, parameter in itertools.chain(actor.named_parameters(), critic.named_parameters()):
        assert parameter.grad is not None, name
        assert name.endswith("norm_think.bias") or parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("agent", ["lstm", "tran+lstm"])
def test_a_sequence_at_once_is_the_same_as_move_by_move(agent):
    torch.manual_seed(0)
    body = Body(config(agent))
    moves = inputs(agent, 2, 5)
    at_once, last = body(*moves, body.start(2))
    memo = body.start(2)
    for k in range(5):
        made, memo = body(*(part[:, k : k + 1] for part in moves), memo)
        assert torch.allclose(made[:, 0], at_once[:, k], atol=2e-2 if agent == "tran+lstm" else 1e-6)
    assert torch.allclose(memo.hidden, last.hidden, atol=2e-2)


def test_an_lstm_forgets_where_an_episode_begins_and_only_there():
    torch.manual_seed(0)
    body = Body(config("lstm"))
    symbols, action, reward, first = inputs("lstm", 2, 4)
    first[0, 2] = True
    made, _ = body(symbols, action, reward, first, body.start(2))
    anew, _ = body(symbols[:, 2:], action[:, 2:], reward[:, 2:], first[:, 2:], body.start(2))
    assert torch.equal(made[0, 2:], anew[0])
    assert not torch.equal(made[1, 2:], anew[1])


def test_an_agent_without_an_lstm_sees_the_panel_alone():
    torch.manual_seed(0)
    body = Body(config("mlp"))
    symbols, action, reward, first = inputs("mlp", 2, 3)
    made, memo = body(symbols, action, reward, first, body.start(2))
    other, _ = body(symbols, 3 - action, -reward, ~first, Memo(torch.zeros(2, 0), torch.zeros(2, 0)))
    assert torch.equal(made, other)
    assert memo.hidden.shape == (2, 0)


def test_relations_make_the_same_of_a_panel_alone_and_of_one_among_others():
    torch.manual_seed(0)
    encoder = Body(config("tran")).encoder
    panels = features("tran", 40, 1)[:, 0]
    with torch.no_grad():
        together = encoder(panels)
        alone = torch.cat([encoder(panel[None]) for panel in panels])
    assert together.std(0).max() > 0.05
    assert torch.allclose(together, alone, atol=1e-2)


def test_slots_that_hold_no_object_are_not_looked_at():
    torch.manual_seed(0)
    encoder = Body(config("space")).encoder
    slots = torch.rand(5, 64, 33)
    slots[..., -1] = 0.1
    slots[:4, [3, 40], -1] = 0.9
    others = slots.clone()
    others[:4, [0, 20, 63], :-1] = 0.5
    with torch.no_grad():
        before, after = encoder(slots), encoder(others)
        others[:4, 3, :-1] = 0.5
        seen = encoder(others)
    assert torch.equal(before, after)
    assert (seen[:4] != before[:4]).any(1).all()
    assert before[4].isfinite().all()  # none of its slots holds an object


def test_options_are_drawn_as_likely_as_the_actor_says():
    torch.manual_seed(0)
    actor = ActorNetwork(config("mlp", max_opt_len=1))
    made = torch.randn(1, 16)
    every = torch.tensor(list(itertools.product(range(4), repeat=2)))
    with torch.no_grad():
        for parameter in (actor.direction.weight, actor.primitive.weight, actor.told):
            parameter.mul_(4)  # far from uniform
        chances = actor.log_likelihood(made, every[None]).exp()[0]
        drawn, again = (actor.decode(made.expand(20_000, -1), generator=torch.Generator()) for _ in range(2))
    assert chances.sum().item() == pytest.approx(1, abs=1e-5)
    assert chances.max() > 2 / 16
    frequencies = torch.bincount(drawn @ torch.tensor([4, 1]), minlength=16) / 20_000
    assert torch.allclose(frequencies, chances, atol=0.015)
    assert torch.equal(drawn, again)


def test_td3_s_agents_take_the_likeliest_option_and_explore_any():
    torch.manual_seed(0)
    chosen = config("mlp", max_opt_len=1, learner="td3")
    network = ActorNetwork(chosen)
    perception = make_perception(chosen, torch.device("cpu"))
    player, drawing = (make_player(chosen, network, perception, drawn=drawn) for drawn in (False, True))
    env = HALMAVectorEnv(500, num_mazes=1, max_opt_len=1)
    env.reset(seed=0)
    percept, rng = first_percept(env), np.random.default_rng(0)
    player.greedy = drawing.greedy = 1.0
    same = player.act(percept, rng)
    made, _ = network.body(torch.from_numpy(percept.observation[:1, None]), *_nothing(), network.body.start(1))
    options, chances = network.distribution(made[:, 0])
    assert (same[:, 0] == options[chances.argmax(), 0].item()).all()
    assert np.array_equal(same, player.act(percept, rng))
    assert len(np.unique(drawing.act(percept, rng), axis=0)) > 1
    for actor in (player, drawing):
        actor.greedy = 0.0
        explored = actor.act(percept, rng)[:, 0] == same[0, 0]
        assert explored.mean() == pytest.approx(1 / 4, abs=0.06), "not half of them in the direction of its own option"


def test_advice_is_asked_with_the_choices_made_and_added_to_the_logits():
    torch.manual_seed(0)
    actor = ActorNetwork(config("mlp", max_opt_len=2))
    made, asked = torch.randn(3, 16), []

    def advice(chosen: torch.Tensor) -> torch.Tensor:
        asked.append(chosen.clone())
        bias = torch.zeros(3, 4)
        bias[:, (chosen.shape[1] + 1) % 4] = 1000.0
        return bias

    options = actor.decode(made, bias=advice)
    assert options.tolist() == [[1, 2, 3]] * 3
    assert [part.tolist() for part in asked] == [[[]] * 3, [[1]] * 3, [[1, 2]] * 3]
    nothing = actor.decode(made, generator=torch.Generator(), bias=lambda chosen: torch.zeros(3, 4))
    assert torch.equal(nothing, actor.decode(made, generator=torch.Generator()))
