"""The look-ups in NumPy give what the scorers of torch give."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from gumption.envs.action_facts import ActionFacts
from gumption.kg import scores
from gumption.kg.scores import BinaryTable, HeldOut, KnownFacts, PairTable, RelationScores

SIZE = 6
ENTITIES = tuple("abcdef")
RELATIONS = ("likes", "knows", "makes", "mixes", "joins", "held", "none")


def scorers() -> dict[str, nn.Module]:
    rng = torch.Generator().manual_seed(0)
    table = torch.randn(SIZE, SIZE, generator=rng)
    pairs = torch.randn(SIZE, SIZE * (SIZE + 1) // 2, generator=rng).half() * 20
    rows = torch.randint(1, SIZE + 1, (12, 3), generator=rng)
    return {
        "likes": BinaryTable(table),
        "knows": KnownFacts(rows * torch.tensor([1, 0, 1]), SIZE, parties=2),
        "makes": PairTable(pairs, -1.75),
        "mixes": KnownFacts(rows.sort(1).values, SIZE, parties=3, either=True),
        "joins": KnownFacts(rows, SIZE, parties=3),
        "held": HeldOut(BinaryTable(table + 1), BinaryTable(table + 2)),
        "none": KnownFacts(rows[:0], SIZE, parties=2),
    }


def asked(choices: int, seed: int, with_partners: bool = True) -> ActionFacts:
    """Facts of 2 environments, some parties of which are nothing."""
    rng = np.random.default_rng(seed)
    subject, object_, given = rng.integers(0, SIZE + 1, size=(3, 2, choices, len(RELATIONS)))
    partners = rng.integers(0, SIZE + 1, size=(2, 4)) if with_partners else None
    return ActionFacts(RELATIONS, subject, object_, given * rng.integers(0, 2, given.shape), partners)


def by_torch(found: RelationScores, facts: ActionFacts) -> torch.Tensor:
    partners = None if facts.partners is None else torch.from_numpy(facts.partners)
    each = []
    for k, scorer in enumerate(found.scorers):
        parts = (torch.from_numpy(part[:, :, k]) for part in (facts.subject, facts.object, facts.given))
        each.append(scorer(*parts, partners))
    return torch.stack(each, dim=2)


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Fails where the scorers are asked."""

    def refuse(*_: Any) -> None:
        raise AssertionError("torch was asked")

    return lambda: monkeypatch.setattr(RelationScores, "_gathered", refuse)


@pytest.mark.parametrize("small_table", [0, 1 << 20])
@pytest.mark.parametrize("with_partners", [False, True])
@pytest.mark.parametrize("train", [False, True])
def test_a_few_choices(
    small_table: int, with_partners: bool, train: bool, no_torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "SMALL_TABLE", small_table)
    found = RelationScores(ENTITIES, scorers()).train(train)
    no_torch()
    for seed in range(20):
        facts = asked(5, seed, with_partners)
        quick = found.action_scores(facts)
        assert quick.dtype == torch.float32
        assert torch.equal(quick, by_torch(found, facts))


def test_the_mode_of_training_is_followed() -> None:
    found = RelationScores(ENTITIES, scorers())
    facts = asked(5, 0)
    whole = found.action_scores(facts)[:, :, RELATIONS.index("held")]
    held_out = found.train().action_scores(facts)[:, :, RELATIONS.index("held")]
    there = torch.from_numpy((facts.subject > 0) & (facts.object > 0))[:, :, RELATIONS.index("held")]
    assert there.any()
    assert torch.allclose(held_out[there], whole[there] + 1)
    assert torch.equal(found.eval().action_scores(facts)[:, :, RELATIONS.index("held")], whole)


def test_many_choices_of_small_tables_are_gathered(no_torch: Any) -> None:
    tables = {name: scorer for name, scorer in scorers().items() if name in ("likes", "knows", "held")}
    found = RelationScores(ENTITIES, tables)
    facts = asked(scores.FEW, 1)
    expected = RelationScores(ENTITIES, scorers()).action_scores(facts)
    no_torch()
    columns = [RELATIONS.index(name) for name in tables]
    assert torch.equal(found.action_scores(facts), expected[:, :, columns])


def test_tables_that_were_moved_are_looked_up_where_they_are() -> None:
    found = RelationScores(ENTITIES, {"likes": BinaryTable(torch.ones(SIZE, SIZE))})
    facts = asked(3, 2)
    before = found.action_scores(facts)
    assert found.double().action_scores(facts).tolist() == before.tolist()
    assert found.to("meta").action_scores(facts).is_meta
