"""ComplEx: its score and its objective as the papers write them, what it can learn, and what it refuses."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.envs.wordcraft import facts
from gumption.kg import ComplEx, KnowledgeGraph, Vocabulary, evaluate_ranking
from gumption.kg.links import complex as complex_module
from gumption.kg.links import training
from gumption.kg.vocabulary import Triple

# Five entities, two relations, queries with one to three answers, and a fact about an entity and itself.
SMALL = [
    *(("a", "r", x) for x in "bcd"),
    *(("b", "r", x) for x in "ae"),
    *[("c", "q", "a"), ("e", "q", "e"), ("d", "q", "a"), ("e", "r", "a"), ("c", "q", "b")],
]
QUICK: dict[str, Any] = {"rank": 4, "epochs": 3, "batch_size": 4, "device": "cpu"}


def complex_rows(rows: torch.Tensor) -> torch.Tensor:
    real, imaginary = rows.chunk(2, dim=1)
    return torch.complex(real, imaginary)


def same_bits(one: ComplEx, other: ComplEx) -> bool:
    return torch.equal(one.entity, other.entity) and torch.equal(one.relation, other.relation)


# ---- the model


@pytest.mark.parametrize("reciprocal", [True, False])
def test_score_is_equation_1(reciprocal: bool) -> None:
    rng = np.random.default_rng(0)
    vocabulary = Vocabulary.from_triples(SMALL)
    model = ComplEx(
        vocabulary,
        torch.from_numpy(rng.normal(size=(5, 6))).float(),
        torch.from_numpy(rng.normal(size=(4 if reciprocal else 2, 6))).float(),
    )
    assert (model.rank, model.reciprocal) == (3, reciprocal)
    e, r = complex_rows(model.entity).numpy(), complex_rows(model.relation).numpy()
    everything = [(s, p, o) for s in range(5) for p in range(2) for o in range(5)]
    phi = [sum(e[s, k] * r[p, k] * e[o, k].conjugate() for k in range(3)).real for s, p, o in everything]
    found = model.score(vocabulary.ids_to_triples(np.array(everything)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, phi, rtol=1e-4, atol=1e-5)
    assert model.score([]).shape == (0,)

    # Subjects: through the reciprocal relation, or by the same phi.
    for p in range(2):
        for o in range(5):
            if reciprocal:
                expected = [(e[o] * r[2 + p] * e[s].conj()).sum().real for s in range(5)]
            else:
                expected = [(e[s] * r[p] * e[o].conj()).sum().real for s in range(5)]
            answers = model.predict(relation="qr"[p], object="abcde"[o], k=9)
            assert [label for label, _, _ in answers] == ["abcde"[s] for s in np.argsort(expected)[::-1]]
            np.testing.assert_allclose([score for _, score, _ in answers], sorted(expected)[::-1], rtol=1e-4, atol=1e-5)


def test_predict_gives_the_best_answers_and_their_probabilities() -> None:
    model = ComplEx.fit(SMALL, rank=8, epochs=40, n3=0, device="cpu")
    answers = model.predict(subject="a", relation="r", k=3)
    assert {label for label, _, _ in answers} == {"b", "c", "d"}
    assert [score for _, score, _ in answers] == sorted((score for _, score, _ in answers), reverse=True)
    everything = model.predict(subject="a", relation="r", k=100)
    assert len(everything) == 5
    assert everything[:3] == answers
    assert sum(probability for _, _, probability in everything) == pytest.approx(1)
    np.testing.assert_allclose(
        [score for _, score, _ in everything],
        model.score([("a", "r", label) for label, _, _ in everything]),
        rtol=1e-5,
    )
    assert {label for label, _, _ in model.predict(relation="q", object="a", k=2)} == {"c", "d"}


# ---- the objective


def naive_objective(
    entity: torch.Tensor, relation: torch.Tensor, n3: float, reciprocal: bool, relation_weight: float, weighting: str
) -> torch.Tensor:
    """Fact by fact and direction by direction: cross entropy over all entities, and the cubes of the three moduli.

    Reciprocal: Lacroix et al. (2018), section 3.2 and equation 4; else equation 2 of Jiang et al. (2020). The
    relation's cross entropy is that of Chen et al. (2021), equation 2; reciprocal facts are facts like any other there.
    """
    e, r = complex_rows(entity), complex_rows(relation)
    facts = Vocabulary.from_triples(SMALL).triples_to_ids(SMALL).tolist()
    asked = Counter((s, p) for s, p, _ in facts), Counter((p, o) for _, p, o in facts)
    losses = []
    for s, p, o in facts:
        back = r[2 + p] if reciprocal else r[p]
        objects = (e[s] * r[p] * e.conj()).sum(1).real
        subjects = (e[o] * back * e.conj()).sum(1).real if reciprocal else (e * back * e[o].conj()).sum(1).real
        share = (1 / asked[0][s, p], 1 / asked[1][p, o]) if weighting == "query" else (1, 1)
        losses.append(share[0] * (objects.logsumexp(0) - objects[o]) + share[1] * (subjects.logsumexp(0) - subjects[s]))
        losses.extend(share[0] * n3 * row.abs().pow(3).sum() for row in (e[s], r[p], e[o]))
        losses.extend(share[1] * n3 * row.abs().pow(3).sum() for row in (e[o], back, e[s]))
        for weight, (a, kind, b) in zip(share, [(s, p, o), (o, 2 + p, s)][: 1 + reciprocal], strict=False):
            relations = (e[a] * r * e[b].conj()).sum(1).real
            losses.append(weight * relation_weight * (relations.logsumexp(0) - relations[kind]))
    return torch.stack(losses).sum() / (sum(map(len, asked)) if weighting == "query" else 2 * len(SMALL))


@pytest.mark.slow
@pytest.mark.parametrize("reciprocal", [True, False])
@pytest.mark.parametrize(("n3", "relation_weight"), [(0.0, 0.0), (0.02, 0.0), (0.1, 0.0), (0.02, 0.5)])
@pytest.mark.parametrize("weighting", ["fact", "query"])
@pytest.mark.parametrize("answers", ["entries", "rows", "rows in parts"])
def test_training_follows_the_gradient_of_the_objective_of_single_facts(
    reciprocal: bool, n3: float, relation_weight: float, weighting: str, answers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if answers != "entries":  # what a large graph meets
        monkeypatch.setattr(complex_module, "BY_ENTRY", 0)
    if answers == "rows in parts":
        monkeypatch.setattr(training, "LOGITS_BYTES", 1)
    settings: dict[str, Any] = {"rank": 3, "batch_size": 100, "n3": n3, "reciprocal": reciprocal, "device": "cpu"}
    settings |= {"relation_weight": relation_weight, "weighting": weighting}
    start = ComplEx.fit(SMALL, epochs=1, learning_rate=1e-30, **settings)  # a step too small to change anything
    entity, relation = (rows.double().requires_grad_() for rows in (start.entity, start.relation))
    optimiser = torch.optim.Adagrad([entity, relation], lr=0.1)
    for _ in range(8):
        optimiser.zero_grad()
        naive_objective(entity, relation, n3, reciprocal, relation_weight, weighting).backward()
        optimiser.step()
    model = ComplEx.fit([*SMALL, *SMALL[:3]], epochs=8, learning_rate=0.1, **settings)  # a repeated fact counts once
    torch.testing.assert_close(model.entity.double(), entity.detach(), rtol=0, atol=2e-5)
    torch.testing.assert_close(model.relation.double(), relation.detach(), rtol=0, atol=2e-5)
    assert (model.entity - start.entity).abs().mean() > 0.1


# ---- what it learns


@pytest.mark.parametrize(
    ("epochs", "told"), [(1, "after epoch 1 numbers of the model"), (5, "after epoch 2 the loss is nan")]
)
def test_a_training_that_diverges_is_refused(epochs: int, told: str) -> None:
    with pytest.raises(InputError, match=f"the training diverges: {told}.*; learning_rate is 1e\\+300, give a smaller"):
        ComplEx.fit(SMALL, rank=4, epochs=epochs, learning_rate=1e300, device="cpu")


@pytest.mark.slow
def test_learns_the_recipe_graph_by_heart() -> None:
    train = list(facts("commonsense", partition="all"))
    model = ComplEx.fit(train, rank=64, epochs=20, batch_size=256, n3=1e-3, device="cpu")
    assert evaluate_ranking(model, train, known=[train])["mrr"] > 0.99


@pytest.mark.parametrize("reciprocal", [True, False])
def test_predicting_relations_beside_entities_makes_relations_easier_to_tell(reciprocal: bool) -> None:
    train, _, _ = order_and_neighbours()
    settings: dict[str, Any] = {"rank": 8, "epochs": 8, "batch_size": 64, "reciprocal": reciprocal, "device": "cpu"}

    def told_apart(weight: float) -> float:
        model = ComplEx.fit(train, relation_weight=weight, **settings)
        facts = {(s, o) for s, p, o in train if p == "above"}.symmetric_difference(
            (s, o) for s, p, o in train if p == "beside"
        )  # pairs with one relation only
        true = [(s, p, o) for s, p, o in train if (s, o) in facts]
        other = [(s, "beside" if p == "above" else "above", o) for s, p, o in true]
        return float((model.score(true) > model.score(other)).mean())

    assert told_apart(1.0) > told_apart(0.0) + 0.02


def test_low_precision_learns_as_well() -> None:
    train, _, beside = order_and_neighbours()
    model = ComplEx.fit(train, rank=16, epochs=40, batch_size=64, precision="bfloat16", device="cpu")
    assert model.entity.dtype == torch.float32
    assert evaluate_ranking(model, train, known=[train])["mrr"] > 0.98
    assert evaluate_ranking(model, beside, known=[train, beside])["mrr"] > 0.8


def order_and_neighbours() -> tuple[list[Triple], list[Triple], list[Triple]]:
    """Of 24 entities in a row: who is above whom (one way only) and who is beside whom (both ways); a fifth of the
    first and a quarter of the second halves of pairs are held out."""
    labels = [f"e{number:02}" for number in range(24)]
    pairs = [(s, o) for number, s in enumerate(labels) for o in labels[number + 1 :]]
    rng = np.random.default_rng(0)
    beside = [pair for pair in pairs if rng.random() < 0.25]
    train = [(s, "above", o) for number, (s, o) in enumerate(pairs) if number % 5]
    train += [(s, "beside", o) for s, o in beside]
    train += [(o, "beside", s) for number, (s, o) in enumerate(beside) if number % 4]
    return train, [(s, "above", o) for s, o in pairs[::5]], [(o, "beside", s) for s, o in beside[::4]]


@pytest.mark.parametrize("reciprocal", [True, False])
def test_learns_that_one_relation_is_symmetric_and_another_is_not(reciprocal: bool) -> None:
    train, above, beside = order_and_neighbours()
    model = ComplEx.fit(train, rank=16, epochs=40, batch_size=64, reciprocal=reciprocal, device="cpu")
    assert evaluate_ranking(model, train, known=[train])["mrr"] > 0.99
    assert evaluate_ranking(model, beside, known=[train, beside])["mrr"] > 0.85  # the other way round, never seen
    seen = [fact for fact in train if fact[1] == "above"]
    assert (model.score(seen) > model.score([(o, p, s) for s, p, o in seen])).all()
    assert (model.score(above) > model.score([(o, p, s) for s, p, o in above])).mean() > 0.75


# ---- options


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("rank", 5),
        ("epochs", 4),
        ("batch_size", 3),
        ("learning_rate", 0.05),
        ("n3", 0.1),
        ("reciprocal", False),
        ("seed", 1),
        ("relation_weight", 0.5),
        ("weighting", "query"),
        ("precision", "bfloat16"),
        ("vocabulary", Vocabulary.from_triples(SMALL).extended([("z", "r", "z")])),
    ],
)
def test_every_option_has_an_effect(option: str, value: Any) -> None:
    default = ComplEx.fit(SMALL, **QUICK)
    assert same_bits(default, ComplEx.fit(SMALL, **QUICK))
    assert not same_bits(default, ComplEx.fit(SMALL, **{**QUICK, option: value}))


def test_the_order_of_the_facts_does_not_matter() -> None:
    assert same_bits(ComplEx.fit(SMALL, **QUICK), ComplEx.fit(iter(SMALL[::-1]), **QUICK))


def test_training_leaves_the_random_numbers_of_others_alone() -> None:
    state = torch.get_rng_state()
    ComplEx.fit(SMALL, **QUICK)
    assert torch.equal(torch.get_rng_state(), state)


def test_valid_keeps_the_best_epoch() -> None:
    train, above, beside = order_and_neighbours()
    valid, known = [*above, *beside], [train, above, beside]
    settings: dict[str, Any] = {"rank": 16, "batch_size": 64, "n3": 0.0, "device": "cpu"}
    looked = {epochs: ComplEx.fit(train, epochs=epochs, **settings) for epochs in (10, 15, 20, 30, 40)}
    mrr = {epochs: evaluate_ranking(model, valid, known=known)["mrr"] for epochs, model in looked.items()}
    best = max((10, 20, 30, 40), key=lambda epochs: mrr[epochs])
    assert best < 40, "a test with nothing to choose"
    kept = ComplEx.fit(train, epochs=40, valid=valid, **settings)
    assert same_bits(kept, looked[best])
    seen = {row["epoch"]: row["valid_mrr"] for row in kept.origin["history"] if "valid_mrr" in row}
    assert seen == pytest.approx({epochs: mrr[epochs] for epochs in (10, 20, 30, 40)})
    assert mrr[15] > mrr[10]
    assert same_bits(ComplEx.fit(train, epochs=15, valid=valid, **settings), looked[15])  # the last one counts too


def test_patience_stops_after_so_many_looks_without_a_better_one() -> None:
    train, above, beside = order_and_neighbours()
    settings: dict[str, Any] = {"rank": 16, "batch_size": 64, "n3": 0.0, "device": "cpu", "valid": [*above, *beside]}
    patient = ComplEx.fit(train, epochs=40, valid_every=5, **settings)
    looks = [row["valid_mrr"] for row in patient.origin["history"] if "valid_mrr" in row]
    best = looks.index(max(looks))
    assert best + 2 < len(looks) - 1, "a test with nothing to stop"
    stopped = ComplEx.fit(train, epochs=40, valid_every=5, patience=2, **settings)
    assert len(stopped.origin["history"]) == 5 * (best + 3)
    assert same_bits(stopped, patient)


def test_learns_from_a_graph_or_one_of_its_parts() -> None:
    graph = KnowledgeGraph()
    graph.add(SMALL, graph="small")
    graph.add([("x", "r", "y")], graph="other")
    assert same_bits(ComplEx.fit(graph, graph="small", **QUICK), ComplEx.fit(SMALL, **QUICK))
    assert ComplEx.fit(graph, **QUICK).vocabulary.entities == tuple("abcdexy")
    wide = Vocabulary.from_triples(SMALL).extended([("z", "s", "z")])
    model = ComplEx.fit(graph, graph="small", vocabulary=wide, **QUICK)
    assert same_bits(model, ComplEx.fit(SMALL, vocabulary=wide, **QUICK))
    assert model.score([("z", "s", "a")]).shape == (1,)


# ---- saving, and bad input


@pytest.mark.parametrize("reciprocal", [True, False])
def test_save_and_load(tmp_path: Path, reciprocal: bool) -> None:
    model = ComplEx.fit(SMALL, **QUICK, reciprocal=reciprocal)
    model.save(tmp_path / "model")
    loaded = ComplEx.load(tmp_path / "model", device="cpu")
    assert same_bits(model, loaded)
    assert loaded.vocabulary == model.vocabulary
    assert loaded.origin == model.origin
    assert loaded.origin["settings"]["reciprocal"] == reciprocal
    assert [row["epoch"] for row in loaded.origin["history"]] == [1, 2, 3]
    assert loaded.score(SMALL).tolist() == model.score(SMALL).tolist()
    assert loaded.predict(relation="q", object="a") == model.predict(relation="q", object="a")
    with pytest.raises(InputError, match="no checkpoint there"):
        ComplEx.load(tmp_path / "other")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank": 0}, "rank is 0; it is a whole number from 1 to 1,000,000"),
        ({"device": "nonsense"}, "device 'nonsense' cannot be used"),
        ({"graph": "small"}, "named graph 'small' is asked for, but triples were given"),
        ({"vocabulary": Vocabulary([*"abcd"], [*"qr"])}, "unknown entity 'e'"),
        ({"valid": [("a", "r", "nobody")]}, "unknown entity 'nobody'"),
        ({"valid": []}, "no test facts"),
    ],
)
def test_bad_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ComplEx.fit(SMALL, **{**QUICK, **changes})


def test_nothing_to_learn_from() -> None:
    graph = KnowledgeGraph()
    for source in ([], graph):
        with pytest.raises(InputError, match="there are no facts to learn from"):
            ComplEx.fit(source, **QUICK)
    graph.add(SMALL, graph="small")
    for vocabulary in (None, Vocabulary.from_triples(SMALL)):
        with pytest.raises(InputError, match="smal"):
            ComplEx.fit(graph, graph="smal", vocabulary=vocabulary, **QUICK)


def test_questions_that_have_no_answer() -> None:
    model = ComplEx.fit([("fire", "meets", "water"), ("water", "meets", "earth")], **QUICK)
    with pytest.raises(InputError, match="unknown entity 'watre': did you mean 'water'"):
        model.score([("fire", "meets", "watre")])
    with pytest.raises(InputError, match="unknown relation 'meet': did you mean 'meets'"):
        model.predict(subject="fire", relation="meet")
    for wrong in ({"subject": "fire"}, {"relation": "meets"}, {"subject": "fire", "object": "fire"}):
        with pytest.raises(InputError, match="predict needs a relation and either a subject or an object"):
            model.predict(**wrong)
    with pytest.raises(InputError, match="predict needs a relation"):
        model.predict(subject="fire", relation="meets", object="water")
    with pytest.raises(InputError, match="k is 0"):
        model.predict(subject="fire", relation="meets", k=0)
