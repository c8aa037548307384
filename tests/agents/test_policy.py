"""Scores in a policy: equations 3 to 5 written out, their special cases, and batches with real relation scores."""

import itertools

import pytest
import torch

from gumption.agents import KGPolicy, SelfAttentionActorCritic
from gumption.agents.policy import MASKED, Readout
from gumption.agents.wordcraft.networks import EntityEncoder
from gumption.data import InputError
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.wordcraft import RecipeBook, facts
from gumption.kg import ComplEx, RelationScores
from gumption.kg.scores import binary_scorer

ENTITIES, WIDTH, SLOTS, BATCH = 12, 7, 5, 8
CHANNELS = ("combinesWith", "componentOf", "makes")
States = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def states(channels: int = 3, entities: int = ENTITIES) -> States:
    """Goal, table with an empty last slot in every other row, selection in all but every third, random scores."""
    generator = torch.Generator().manual_seed(0)
    goal = torch.randint(1, entities + 1, (BATCH,), generator=generator)
    table = torch.stack([torch.randperm(entities, generator=generator)[:SLOTS] + 1 for _ in range(BATCH)])
    table[::2, -1] = 0
    selection = table[:, 1] * (torch.arange(BATCH) % 3 > 0)
    return goal, table, selection, torch.randn(BATCH, SLOTS, channels, generator=generator)


def attention(entities: int = ENTITIES, weights: str = "softmax") -> SelfAttentionActorCritic:
    torch.manual_seed(0)
    features = torch.cat([torch.zeros(1, WIDTH), torch.randn(entities, WIDTH)])
    return SelfAttentionActorCritic(EntityEncoder(features), key_size=5, value_size=4, weights=weights)


def learned(policy: KGPolicy) -> KGPolicy:
    """With a mixture that depends on the state, as after some training."""
    torch.manual_seed(1)
    torch.nn.init.normal_(policy.mlp[-1].weight)  # pyright: ignore[reportArgumentType]
    return policy


def alike(found: Readout, expected: Readout) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one is other is None or torch.equal(one, other)


@pytest.mark.parametrize("weights", ["softmax", "logits"])
@pytest.mark.parametrize("mixing", ["linear", "softmax"])
@torch.no_grad()
def test_logits_are_the_mixture_of_equations_3_to_5(mixing: str, weights: str) -> None:
    policy = learned(KGPolicy(attention(weights=weights), CHANNELS, mixing=mixing, hidden_size=6))
    goal, table, selection, scores = states()
    found = policy(goal, table, selection, scores)
    alone = policy.attention(goal, table, selection, scores)
    x = policy.attention.encoder.features
    mixtures = set()
    for row in range(BATCH):
        there = [slot for slot in range(SLOTS) if table[row, slot]]
        alpha = alone.attention[row, there]
        a = alpha.softmax(0) if weights == "softmax" else alpha
        summary = torch.zeros(6)
        for slot, weight in zip(there, a, strict=True):
            summary += weight * (policy.transform.weight @ x[table[row, slot]])
        mixture = policy.mlp(summary + policy.transform.bias)
        if mixing == "softmax":
            mixture = mixture.exp() / mixture.exp().sum()
        for slot in there:
            beta = mixture[0] * alone.attention[row, slot]
            for k in range(3):
                beta = beta + mixture[1 + k] * scores[row, slot, k]
            torch.testing.assert_close(found.logits[row, slot], beta, atol=1e-5, rtol=1e-5)
        mixtures.add(round(float(mixture[1]), 4))
    assert len(mixtures) > 1
    assert torch.equal(found.value, alone.value)  # scores guide the choice; the value is that of the attention
    assert torch.equal(found.attention, alone.attention)
    assert (found.logits[table == 0] == MASKED).all()


@torch.no_grad()
def test_without_scores_it_is_the_attention_network() -> None:
    query = states(channels=0)
    alike(learned(KGPolicy(attention(), ()))(*query), attention()(*query))


@pytest.mark.parametrize("count", [1, 2, 3])
@torch.no_grad()
def test_kg_only_is_the_sum_of_the_scores(count: int) -> None:
    for channels in itertools.combinations(CHANNELS, count):
        goal, table, selection, scores = states(count)
        found = learned(KGPolicy(attention(), channels, kg_only=True))(goal, table, selection, scores)
        there = table > 0
        torch.testing.assert_close(found.logits[there], scores.sum(2)[there])
        assert (found.logits[~there] == MASKED).all()


@pytest.mark.parametrize("k", [0, 1, 2])
@torch.no_grad()
def test_each_score_alone_is_the_mixture_with_weight_on_it_alone(k: int) -> None:
    goal, table, selection, scores = states()
    every = KGPolicy(attention(), CHANNELS)
    last = every.mlp[-1]
    last.bias[1:] = torch.eye(3)[k]  # pyright: ignore[reportIndexIssue]
    one = KGPolicy(attention(), CHANNELS[k : k + 1])
    expected = one(goal, table, selection, scores[..., [k]])
    found = every(goal, table, selection, scores)
    for one, wanted in zip(found[:3], expected[:3], strict=True):
        torch.testing.assert_close(one, wanted)
    torch.testing.assert_close(found.mixture, torch.cat([torch.ones(1), torch.eye(3)[k]]).expand(len(goal), 4))


@torch.no_grad()
def test_it_begins_by_adding_scores_to_the_attention() -> None:
    goal, table, selection, scores = states()
    found = KGPolicy(attention(), CHANNELS)(goal, table, selection, scores)
    there = table > 0
    torch.testing.assert_close(found.logits[there], (found.attention + scores.sum(2))[there])


@pytest.mark.parametrize("mixing", ["linear", "softmax"])
def test_attention_learns_before_the_mixture_depends_on_it(mixing: str) -> None:
    policy = KGPolicy(attention(), CHANNELS, mixing=mixing)
    policy(*states()).logits.log_softmax(1)[:, 0].sum().backward()
    for layer in (policy.attention.query_goal, policy.attention.query_selection, policy.attention.key):
        assert layer.weight.grad is not None
        assert layer.weight.grad.any()
    last = policy.mlp[-1]
    assert isinstance(last, torch.nn.Linear)
    assert last.bias.grad is not None
    assert last.bias.grad.all()


@torch.no_grad()
def test_softmax_mixing_is_a_convex_combination() -> None:
    goal, table, selection, _ = states()
    policy = learned(KGPolicy(attention(), CHANNELS, mixing="softmax"))
    there = table > 0
    nothing = policy(goal, table, selection, torch.zeros(BATCH, SLOTS, 3))
    of_attention = (nothing.logits / nothing.attention)[there]
    of_scores = []
    for k in range(3):
        found = policy(goal, table, selection, torch.eye(3)[k].expand(BATCH, SLOTS, 3))
        of_scores.append((found.logits - nothing.logits)[there])
    mixture = torch.stack([of_attention, *of_scores])
    assert (mixture > 0).all()
    torch.testing.assert_close(mixture.sum(0), torch.ones(int(there.sum())), atol=1e-4, rtol=0)


@torch.no_grad()
def test_a_product_learns_alone_and_acts_by_both() -> None:
    goal, table, selection, scores = states()
    policy = KGPolicy(attention(), CHANNELS, mixing="product")
    alone = policy.attention(goal, table, selection, scores)
    alike(policy.train()(goal, table, selection, scores), alone)
    found = policy.eval()(goal, table, selection, scores)
    there = table > 0
    torch.testing.assert_close(found.logits[there], (alone.attention / 4 + scores.sum(2))[there])
    assert (found.logits[~there] == MASKED).all()
    assert found.mixture is not None
    assert found.mixture.tolist() == [[0.25, 1.0, 1.0, 1.0]] * BATCH


@pytest.mark.parametrize("mixing", ["linear", "softmax"])
def test_the_gradient_of_a_choice_reaches_mixture_and_attention(mixing: str) -> None:
    policy = learned(KGPolicy(attention(), CHANNELS, mixing=mixing))
    policy(*states()).logits.log_softmax(1)[:, 0].sum().backward()
    for name, parameter in policy.named_parameters():
        reached = parameter.grad is not None and parameter.grad.isfinite().all() and parameter.grad.any()
        read_by_value_only = name.startswith(("attention.value", "attention.transform"))
        assert bool(reached) != read_by_value_only, name


def asked(goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor) -> ActionFacts:
    """What would speak for each slot: (candidate, combinesWith, selection) and (candidate, componentOf, goal)."""
    g, t, s = (part.numpy() for part in (goal[:, None], table, selection[:, None]))
    return action_facts(CHANNELS[:2], t.shape, [(t, s, 0), (t, g, 0)])


def test_a_row_of_a_batch_with_its_scores_is_what_it_is_alone(book: RecipeBook) -> None:
    """B15 of the 2020 code: in batches, rows were scored against the selections of other rows."""
    fitted = ComplEx.fit(facts(book, partition="all"), rank=4, epochs=5, device="cpu")
    scores = RelationScores(book.entities, {name: binary_scorer(fitted, name, book.entities) for name in CHANNELS[:2]})
    goal, table, selection, _ = states(entities=len(book.entities))
    policy = learned(KGPolicy(attention(len(book.entities)), CHANNELS[:2])).requires_grad_(False)
    together = policy(goal, table, selection, scores.action_scores(asked(goal, table, selection)))
    for row in range(BATCH):
        one = goal[[row]], table[[row]], selection[[row]]
        alone = policy(*one, scores.action_scores(asked(*one)))
        for part, whole in zip(alone, together, strict=True):
            torch.testing.assert_close(part[0], whole[row], atol=1e-5, rtol=1e-5)
    # The check can fail: the selections of other rows do make other logits.
    wrong = policy(goal, table, selection, scores.action_scores(asked(goal, table, selection.roll(1))))
    assert not torch.allclose(wrong.logits, together.logits, atol=1e-2)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InputError, match="mixing is 'max'; it can be linear, softmax, product"):
        KGPolicy(attention(), CHANNELS, mixing="max")
    with pytest.raises(InputError, match="needs at least one score"):
        KGPolicy(attention(), (), kg_only=True)
