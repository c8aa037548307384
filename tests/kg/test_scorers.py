"""Scores without a table: products worked out when they are asked for, and known facts against a set of labels."""

import os
from itertools import product as every
from pathlib import Path

import numpy as np
import pytest
import torch

from gumption.envs.action_facts import ActionFacts
from gumption.kg import NaryPredictor, NaryRelation, Vocabulary, scores
from gumption.kg.links.nary_predictor import NarySettings
from gumption.kg.scores import KnownFacts, PairProducts, PairTable, RelationScores, known_scores, pair_scorer

SIZE = 7
ENTITIES = tuple("abcdefg")
MAKES = NaryRelation("makes", "hasPart", "hasPart", "hasProduct")
GIVES = NaryRelation("gives", "hasGiver", "hasTaker", "hasGift")
Part = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]


def asked(choices: int, seed: int, with_partners: bool = True, empty: float = 0.3) -> Part:
    """(subject, object, given, partners) of 5 environments, some of which are nothing."""
    rng = np.random.default_rng(seed)

    def ids(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.integers(1, SIZE + 1, size=shape) * (rng.random(shape) >= empty))

    return ids(5, choices), ids(5, choices), ids(5, choices), ids(5, 4) if with_partners else None


@pytest.fixture(scope="module")
def predictor() -> NaryPredictor:
    """Of ten labels, in another order than the world's seven."""
    labels = ("z", *reversed(ENTITIES), "y", "x")
    rng = np.random.default_rng(0)
    rows, vectors = rng.integers(len(labels), size=(25, 3)), rng.normal(size=(len(labels), 4))
    settings = NarySettings(width=8, hidden=8, epochs=30, batch_size=8)
    return NaryPredictor.fit(rows, vectors, Vocabulary(labels, ("p", "q")), settings=settings, device="cpu")


@pytest.fixture
def both(predictor: NaryPredictor, monkeypatch: pytest.MonkeyPatch) -> tuple[PairTable, PairProducts]:
    table = pair_scorer(predictor, ENTITIES)
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", SIZE * (SIZE + 1) * SIZE - 1)
    products = pair_scorer(predictor, ENTITIES)
    assert isinstance(table, PairTable)
    assert isinstance(products, PairProducts)
    return table, products


# ---- tables of pairs


def test_a_table_that_one_process_made_is_read_by_others(
    predictor: NaryPredictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores without a file, of the process that writes it, and of one that reads it are the same bits."""
    part = asked(6, 1)
    alone = pair_scorer(predictor, ENTITIES)(*part)
    monkeypatch.setattr(scores, "TABLES", 2)
    for fit in ("a", "b", "c"):  # the tables of the last two are kept
        monkeypatch.setattr(predictor, "place", tmp_path / fit)
        assert pair_scorer(predictor, ENTITIES)(*part).equal(alone)
        os.utime(next((tmp_path / fit).glob("pairs-*.npy")), (ord(fit), ord(fit)))
    assert sorted(path.parent.name for path in tmp_path.glob("*/pairs-*")) == ["b", "c"]
    reader = pair_scorer(predictor, ENTITIES)
    monkeypatch.setattr(PairProducts, "table_columns", None)
    assert reader(*part).equal(alone)
    with pytest.raises(TypeError):
        pair_scorer(predictor, ENTITIES[::-1])(*part)  # a world that numbers them in another way


# ---- products of pairs


def test_products_of_all_pairs_are_those_of_the_table(both: tuple[PairTable, PairProducts]) -> None:
    ids = torch.tensor(list(every(range(SIZE + 1), repeat=3))).T
    subject, object_, given = (part.reshape(SIZE + 1, -1) for part in ids)
    table, products = (scorer(subject, object_, given, None) for scorer in both)
    assert table.dtype == products.dtype == torch.float32
    torch.testing.assert_close(products, table, atol=1e-2, rtol=0)
    # Without a partner nothing can be made: the floor, or 0 where there is no subject or object.
    assert ((products[given == 0] == scores.FLOOR - both[0].chance) | (products[given == 0] == 0)).all()
    assert (products[(subject == 0) | (object_ == 0)] == 0).all()
    there = (subject > 0) & (object_ > 0) & (given > 0)
    assert len(products[there].unique()) > 100


@pytest.mark.parametrize("empty", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("with_partners", [False, True])
def test_products_of_tables_are_those_of_the_table(
    both: tuple[PairTable, PairProducts], with_partners: bool, empty: float
) -> None:
    for seed in range(30):
        part = asked(6, seed, with_partners, empty)
        table, products = (scorer(*part) for scorer in both)
        torch.testing.assert_close(products, table, atol=1e-2, rtol=0)


def test_products_do_not_depend_on_what_was_asked_before_or_at_once(
    both: tuple[PairTable, PairProducts], predictor: NaryPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, used = both
    for seed in range(5):
        used(*asked(3, seed))
    monkeypatch.setattr(scores, "PAIRS_AT_ONCE", 4)
    for seed in range(5, 10):
        fresh = pair_scorer(predictor, ENTITIES)
        part = asked(6, seed)
        torch.testing.assert_close(fresh(*part), used(*part), atol=1e-5, rtol=0)


def test_products_go_where_a_module_goes(both: tuple[PairTable, PairProducts]) -> None:
    table, products = both
    scores = RelationScores(ENTITIES, {"makes": products})
    subject, object_, given, partners = asked(3, 1)
    assert partners is not None
    facts = ActionFacts(
        ("makes",), *(p.numpy()[:, :, None] for p in (subject, object_, given)), partners=partners.numpy()
    )
    found = scores.action_scores(facts)
    assert found.shape == (5, 3, 1)
    torch.testing.assert_close(found[..., 0], table(subject, object_, given, partners), atol=1e-2, rtol=0)
    assert not scores.state_dict()


# ---- facts that are known


@pytest.mark.parametrize("with_partners", [False, True])
@pytest.mark.parametrize(("parties", "either"), [(2, False), (3, False), (3, True)])
def test_known_facts_are_those_of_a_set(parties: int, either: bool, with_partners: bool) -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(1, SIZE + 1, size=(60, 3)) * np.array([1, parties == 3, 1])
    known = {tuple(row) for row in rows.tolist()}
    known |= {(g, s, o) for s, g, o in known} if either else set()
    scorer = KnownFacts(torch.from_numpy(rows), SIZE, parties=parties, either=either)
    counted = [0, 0]
    for seed in range(20):
        subject, object_, given, partners = asked(6, seed, with_partners)
        found = scorer(subject, object_, given, partners)
        assert found.dtype == torch.float32
        for b, a in np.ndindex(*found.shape):
            s, o, g = (int(part[b, a]) for part in (subject, object_, given))
            who = [g] if g or partners is None else partners[b].tolist()
            ways = [(s, 0, o)] if parties == 2 else [(s, x, o) for x in who if x]
            expected = bool(s and o and any(way in known for way in ways))
            assert found[b, a] == expected, (s, g, o, who)
            counted[expected] += 1
    assert min(counted) > 30


def test_nothing_is_known_where_nothing_was_stated() -> None:
    for parties in (2, 3):
        none = KnownFacts(torch.zeros(0, 3, dtype=torch.int64), SIZE, parties=parties)
        assert not none(*asked(6, 0)).any()


def test_facts_are_looked_up_by_relation() -> None:
    pairs, makes, gives = [(1, 0, 2), (2, 0, 2)], [(1, 2, 3), (4, 4, 5)], [(1, 2, 3)]
    rows = {"likes": pairs, MAKES: makes, GIVES: gives, "fears": []}
    known = {relation: np.array(facts, dtype=np.int64).reshape(-1, 3) for relation, facts in rows.items()}
    scores = known_scores(known, ENTITIES)
    assert scores.relations == ("likes", "makes", "gives", "fears")
    assert scores.entities == ENTITIES
    ids = np.array(list(every(range(SIZE + 1), repeat=3)), dtype=np.int64).T.reshape(3, SIZE + 1, -1)
    subject, object_, given = (np.repeat(part[:, :, None], 4, axis=2) for part in ids)
    found = scores.action_scores(ActionFacts(scores.relations, subject, object_, given)).numpy()
    facts: list[set[tuple[str, ...]]] = []
    names = ("", *ENTITIES)
    for k in range(4):
        where = np.argwhere(found[:, :, k] == 1)
        facts.append({tuple(names[part[b, a, k]] for part in (subject, given, object_)) for b, a in where.tolist()})
    # Two parties: whatever is given. Three with one role: in either order, and with itself where one party has it.
    assert facts[0] == {(s, g, "b") for s in "ab" for g in names}
    assert facts[1] == {("a", "b", "c"), ("b", "a", "c"), ("d", "d", "e")}
    assert facts[2] == {("a", "b", "c")}
    assert facts[3] == set()
    assert set(np.unique(found).tolist()) == {0.0, 1.0}
