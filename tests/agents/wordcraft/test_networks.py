"""The self-attention actor-critic against section 4.1 written out slot by slot, and what must hold for any network."""

import math

import pytest
import torch
from torch import nn

from gumption.agents import SelfAttentionActorCritic
from gumption.agents.policy import MASKED, Readout
from gumption.agents.wordcraft.networks import EntityEncoder, MLPActorCritic
from gumption.data import InputError

ENTITIES, WIDTH, SLOTS, BATCH = 12, 7, 6, 9
Ids = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
NO_SCORES = torch.empty(BATCH, SLOTS, 0)


@pytest.fixture
def states() -> Ids:
    """Tables with two to six entities and empty slots behind; every third state has nothing selected."""
    generator = torch.Generator().manual_seed(1)
    goal = torch.randint(1, ENTITIES + 1, (BATCH,), generator=generator)
    table = torch.stack([torch.randperm(ENTITIES, generator=generator)[:SLOTS] + 1 for _ in range(BATCH)])
    table[torch.arange(SLOTS) >= torch.randint(2, SLOTS + 1, (BATCH, 1), generator=generator)] = 0
    selection = table[:, 0] * (torch.arange(BATCH) % 3 > 0)
    return goal, table, selection


def encoder(width: int = 0, dropout: float = 0.0, seed: int = 0) -> EntityEncoder:
    torch.manual_seed(seed)
    features = torch.cat([torch.zeros(1, WIDTH), torch.randn(ENTITIES, WIDTH)])
    return EntityEncoder(features, width, dropout)


def network(weights: str = "softmax", gated: bool = False, width: int = 0) -> SelfAttentionActorCritic:
    return SelfAttentionActorCritic(encoder(width), key_size=5, value_size=4, weights=weights, gated=gated)


def ask(policy: nn.Module, states: Ids) -> Readout:
    return policy(*states, torch.empty(*states[1].shape, 0))


def softmax(numbers: list[float]) -> list[float]:
    powers = [math.exp(x - max(numbers)) for x in numbers]
    return [x / sum(powers) for x in powers]


def value_of(policy: SelfAttentionActorCritic, weights: list[float], rows: list[torch.Tensor]) -> float:
    """MLP(alpha^T W(x_table)), W without its bias: that belongs to the first layer of the MLP."""
    summary = sum(
        (a * (policy.transform.weight @ x) for a, x in zip(weights, rows, strict=True)), torch.zeros(policy.value_size)
    )
    return float(policy.value(summary + policy.transform.bias))


@pytest.mark.parametrize("weights", ["softmax", "logits"])
@torch.no_grad()
def test_logits_and_value_are_those_of_the_paper(states: Ids, weights: str) -> None:
    policy = network(weights)
    found = ask(policy, states)
    # Q is one linear map of [x_goal; x_selection; 0]: the second selection is empty whenever an action is chosen.
    q = torch.cat([policy.query_goal.weight, policy.query_selection.weight, torch.zeros(5, WIDTH)], dim=1)
    x = policy.encoder.features
    for row, (goal, table, selection) in enumerate(zip(*(part.tolist() for part in states), strict=True)):
        query = q @ torch.cat([x[goal], x[selection], torch.zeros(WIDTH)]) + policy.query_goal.bias
        there = [entity for entity in table if entity]
        keys = [policy.key.weight @ x[entity] + policy.key.bias for entity in there]
        alpha = [float(query @ key) / math.sqrt(5) for key in keys]
        torch.testing.assert_close(found.logits[row, : len(there)], torch.tensor(alpha), atol=1e-5, rtol=1e-5)
        read_as = softmax(alpha) if weights == "softmax" else alpha
        expected = value_of(policy, read_as, [x[entity] for entity in there])
        assert float(found.value[row]) == pytest.approx(expected, abs=1e-5)
    assert torch.equal(found.attention, found.logits)


@torch.no_grad()
def test_a_gated_query_adds_the_product_of_goal_and_selection(states: Ids) -> None:
    policy = network(gated=True)
    goal, table, selection = states
    x = policy.encoder.features
    query = policy.query_goal(x[goal]) + policy.query_selection(x[selection])
    query = query + policy.gate_goal(x[goal]) * policy.gate_selection(x[selection])
    expected = (query[:, None] * policy.key(x[table])).sum(2) / math.sqrt(5)
    there = table > 0
    torch.testing.assert_close(ask(policy, states).logits[there], expected[there], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("weights", ["softmax", "logits"])
@torch.no_grad()
def test_the_order_of_the_table_only_orders_the_logits(states: Ids, weights: str, gated: bool) -> None:
    policy = network(weights, gated, width=6)
    order = torch.randperm(SLOTS, generator=torch.Generator().manual_seed(3))
    goal, table, selection = states
    before, after = ask(policy, states), ask(policy, (goal, table[:, order], selection))
    torch.testing.assert_close(after.logits, before.logits[:, order])
    torch.testing.assert_close(after.value, before.value)


def all_networks() -> list[nn.Module]:
    return [
        network(weights, gated, width) for weights in ("softmax", "logits") for gated, width in ((False, 0), (True, 6))
    ] + [MLPActorCritic(encoder(), SLOTS), MLPActorCritic(encoder(6), SLOTS, hidden_size=8)]


@torch.no_grad()
def test_empty_slots_are_never_chosen(states: Ids) -> None:
    for policy in all_networks():
        found = ask(policy, states)
        empty = states[1] == 0
        assert (found.logits[empty] == MASKED).all()
        assert (found.logits.softmax(1)[empty] == 0).all()
        assert (found.logits[~empty].abs() < 1e3).all()
        assert found.value.isfinite().all()


@torch.no_grad()
def test_what_is_beyond_the_table_changes_nothing(states: Ids) -> None:
    goal, table, selection = states
    for policy in (network("softmax"), network("logits")):
        narrow = ask(policy, states)
        wide = ask(policy, (goal, torch.cat([table, torch.zeros(BATCH, 3, dtype=torch.int64)], dim=1), selection))
        torch.testing.assert_close(wide.value, narrow.value)
        torch.testing.assert_close(wide.logits[:, :SLOTS], narrow.logits)


@torch.no_grad()
def test_a_row_of_a_batch_is_what_it_is_alone(states: Ids) -> None:
    for policy in all_networks():
        together = ask(policy, states)
        for row in range(BATCH):
            alone = ask(policy, (states[0][[row]], states[1][[row]], states[2][[row]]))
            for part, whole in zip(alone, together, strict=True):
                assert (part is None) == (whole is None)  # the mixture of a network that mixes no score in
                if part is not None:
                    torch.testing.assert_close(part[0], whole[row], atol=1e-5, rtol=1e-5)


def test_gradients_are_finite_and_reach_every_parameter(states: Ids) -> None:
    for policy in all_networks():
        found = ask(policy, states)
        log_policy = found.logits.log_softmax(1)
        entropy = -(log_policy.exp() * log_policy).sum(1)
        (log_policy[:, 0].sum() + entropy.sum() + found.value.sum()).backward()
        for name, parameter in policy.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.any(), name


def test_an_encoder_without_a_width_is_the_frozen_features() -> None:
    frozen = encoder()
    assert torch.equal(frozen(), frozen.features)
    assert frozen.size == WIDTH
    assert not list(frozen.parameters())


@torch.no_grad()
def test_learned_representations_are_projection_mlp_and_free_embedding() -> None:
    learned = encoder(width=4, dropout=0.5).eval()
    assert learned.size == 4
    first, second = learned.mlp[0], learned.mlp[2]
    for entity, found in enumerate(learned()):
        x = learned.features[entity]
        hidden = (first.weight @ x + first.bias).clamp_min(0)
        expected = learned.project.weight @ x + second.weight @ hidden + second.bias + learned.free.weight[entity]
        torch.testing.assert_close(found, expected if entity else torch.zeros(4))


@torch.no_grad()
def test_dropout_is_for_training_and_drops_whole_free_embeddings() -> None:
    learned = encoder(width=4, dropout=0.5)
    learned.train()
    assert not torch.equal(learned(), learned())
    assert (learned()[0] == 0).all()
    learned.eval()
    assert torch.equal(learned(), learned())
    undropped = encoder(width=4, dropout=0.0).train()
    assert torch.equal(undropped(), learned())
    for part in (learned.project, learned.mlp):  # what is left is the free embeddings: each whole, twice, or not there
        for parameter in part.parameters():
            parameter.zero_()
    free = learned.train()()[1:]
    whole = torch.isclose(free, 2 * learned.free.weight[1:]).all(1)
    assert (whole | (free == 0).all(1)).all()
    assert 0 < int(whole.sum()) < ENTITIES


def test_the_simple_mlp_sees_positions(states: Ids) -> None:
    policy = MLPActorCritic(encoder(), SLOTS, hidden_size=8)
    assert policy.hidden.in_features == WIDTH * (2 + SLOTS)
    assert policy.hidden.out_features == 8
    found = ask(policy, states)
    assert found.logits.shape == (BATCH, SLOTS)
    assert found.value.shape == (BATCH,)
    goal, table, selection = states
    x = policy.encoder.features
    seen = torch.cat([x[goal], x[selection], x[table].flatten(1)], dim=1)
    hidden = (seen @ policy.hidden.weight.T + policy.hidden.bias).clamp_min(0)
    there = table > 0
    torch.testing.assert_close(found.logits[there], policy.policy(hidden)[there])
    torch.testing.assert_close(found.value, policy.value(hidden)[:, 0])
    swapped = ask(policy, (goal, table[:, [1, 0, 2, 3, 4, 5]], selection))
    assert not torch.allclose(swapped.value, found.value)


def test_unknown_weights_are_refused() -> None:
    with pytest.raises(InputError, match="weights is 'mean'; it can be softmax, logits"):
        network("mean")
