"""Filtered ranks: PyKEEN's figures to the last digits, and a loop that writes the definition out."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg import ComplEx, Vocabulary, evaluate_ranking
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.links.ranking import filtered_ranks
from gumption.kg.vocabulary import Triple

HITS = (1, 3, 10)


class Table(LinkPredictor):
    """Scores read from two arrays (N, R, N): of objects and of subjects, both indexed [subject, relation, object]."""

    def __init__(self, objects: np.ndarray, subjects: np.ndarray) -> None:
        entities = [f"e{number:03}" for number in range(len(objects))]
        self.vocabulary = Vocabulary(entities, [f"r{number}" for number in range(objects.shape[1])])
        self.objects, self.subjects = torch.from_numpy(objects).float(), torch.from_numpy(subjects).float()
        self.device = torch.device("cpu")

    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return self.objects[subjects, relations]

    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return self.subjects[:, relations, objects].T

    def triples(self, ids: np.ndarray) -> list[Triple]:
        return self.vocabulary.ids_to_triples(ids)


def naive(table: Table, test: np.ndarray, known: np.ndarray) -> dict[str, float]:
    """Each fact and side on its own: drop the other true answers, sort, take the mean place among equals."""
    true = {tuple(row) for row in [*test.tolist(), *known.tolist()]}
    ranks = []
    for s, p, o in sorted({tuple(row) for row in test.tolist()}):
        size = range(len(table.objects))
        sides = (
            (table.objects[s, p], o, [x for x in size if (s, p, x) not in true]),
            (table.subjects[:, p, o], s, [x for x in size if (x, p, o) not in true]),
        )
        for scores, target, rivals in sides:
            best = 1 + sum(bool(scores[x] > scores[target]) for x in rivals)
            worst = 1 + sum(bool(scores[x] >= scores[target]) for x in rivals)
            ranks.append((best + worst) / 2)
    return {
        "mrr": float(np.mean([1 / rank for rank in ranks])),
        **{f"hits@{k}": float(np.mean([rank <= k for rank in ranks])) for k in HITS},
    }


@st.composite
def cases(draw: st.DrawFn) -> tuple[Table, np.ndarray, np.ndarray]:
    size, relations = draw(st.integers(1, 14)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = draw(st.integers(1, 6))  # few levels: many ties
    shape = (size, relations, size)
    table = Table(rng.integers(levels, size=shape), rng.integers(levels, size=shape))

    def rows(least: int) -> np.ndarray:
        number = draw(st.integers(least, 40))
        return np.stack([rng.integers(high, size=number) for high in shape], axis=1)

    return table, rows(1), rows(0)


@given(cases())
@settings(max_examples=60, deadline=None)
def test_agrees_with_the_definition(case: tuple[Table, np.ndarray, np.ndarray]) -> None:
    table, test, known = case
    found = evaluate_ranking(table, table.triples(test), known=[table.triples(known[::2]), table.triples(known[1::2])])
    assert found == pytest.approx(naive(table, test, known), abs=1e-12)


def test_any_budget_of_memory_gives_the_same_ranks() -> None:
    rng = np.random.default_rng(0)
    table = Table(rng.normal(size=(40, 2, 40)), rng.normal(size=(40, 2, 40)))
    test = np.argwhere(rng.random((40, 2, 40)) < 0.3)
    whole = evaluate_ranking(table, table.triples(test))
    assert whole == pytest.approx(naive(table, test, test), abs=1e-12)
    for memory in (2_500, 10_000, 1 << 20):
        assert evaluate_ranking(table, table.triples(test), memory=memory) == whole


def test_ids_of_the_predictors_vocabulary_are_taken_as_they_are() -> None:
    rng = np.random.default_rng(1)
    table = Table(rng.normal(size=(9, 2, 9)), rng.normal(size=(9, 2, 9)))
    test, known = np.argwhere(rng.random((9, 2, 9)) < 0.2), np.argwhere(rng.random((9, 2, 9)) < 0.4)
    expected = evaluate_ranking(table, table.triples(test), known=[table.triples(known)])
    same = Vocabulary(table.vocabulary.entities, table.vocabulary.relations)  # equal, not identical
    assert evaluate_ranking(table, (same, test), known=[(table.vocabulary, known)]) == expected
    assert evaluate_ranking(table, (same, test[::-1]), known=[table.triples(known), (same, known)]) == expected


def test_figures_by_side_and_by_relation() -> None:
    rng = np.random.default_rng(2)
    table = Table(rng.normal(size=(12, 3, 12)), rng.normal(size=(12, 3, 12)))
    test = np.argwhere(rng.random((12, 3, 12)) < 0.1)
    test = test[test[:, 1] != 1]
    ranks = filtered_ranks(table, table.triples(test))
    assert ranks.facts.tolist() == test.tolist()
    sides, relations = ranks.by_side(), ranks.by_relation()
    assert list(sides) == ["object", "subject"]
    for figure in ("mrr", "hits@1", "hits@3", "hits@10"):
        assert ranks.figures()[figure] == pytest.approx((sides["object"][figure] + sides["subject"][figure]) / 2)
    swapped = Table(table.subjects.numpy().transpose(2, 1, 0), table.objects.numpy().transpose(2, 1, 0))
    assert filtered_ranks(swapped, swapped.triples(test[:, ::-1])).by_side()["object"] == sides["subject"]
    assert list(relations) == ["r0", "r2"]
    for name, part in relations.items():
        mine = test[test[:, 1] == int(name[1])]
        assert part == pytest.approx({"facts": len(mine), **naive(table, mine, mine)}, abs=1e-12)


class Large(LinkPredictor):
    """Scores over many entities, made from their numbers alone; counts the rows it is asked for."""

    def __init__(self, size: int) -> None:
        self.vocabulary = Vocabulary([str(number) for number in range(size)], ["r"])
        self.device = torch.device("cpu")
        self.rows: list[int] = []

    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        self.rows.append(len(subjects))
        return torch.arange(float(len(self.vocabulary.entities))).repeat(len(subjects), 1)

    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return self.object_scores(objects, relations)


def test_memory_stays_under_the_budget(tmp_path: Path) -> None:
    size, facts, budget = 50_000, 120, 8 << 20
    model = Large(size)
    ids = np.stack([np.arange(facts), np.zeros(facts, int), np.arange(facts)[::-1] * 7], axis=1)
    # One question has 30,000 known answers, so that indices count beside scores.
    known = np.stack([np.zeros(30_000, int), np.zeros(30_000, int), np.arange(30_000)], axis=1)
    test, true = (model.vocabulary, ids), [(model.vocabulary, known)]
    with torch.profiler.profile(profile_memory=True) as profile:
        filtered_ranks(model, test, true, memory=budget)
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = [event["args"] for event in trace["traceEvents"] if event["name"] == "[memory]"]
    levels = [event["Total Allocated"] for event in events]
    assert len(levels) > 20
    beside = 8 * 8 * (len(ids) + len(known))  # the facts themselves, which no budget makes fewer
    assert budget / 2 < max(levels) - levels[0] < budget + beside
    assert set(model.rows) != {1}  # as many at a time as fit
    assert sum(model.rows) == 2 * facts


def test_facts_that_share_a_question_are_scored_once() -> None:
    model = Large(50)
    facts = [(str(number % 5), "r", str(number)) for number in range(20)]
    filtered_ranks(model, facts)
    assert model.rows == [5, 20]


def test_infinite_scores_have_ranks() -> None:
    scores = np.array([-np.inf, -np.inf, np.inf, 0.0, np.inf]).reshape(1, 1, 5).repeat(5, axis=0)
    table = Table(scores, scores)
    found = filtered_ranks(table, [("e000", "r0", f"e00{number}") for number in (0, 2, 3)])
    assert found.object.tolist() == [2.5, 1.5, 2.0]


@pytest.mark.parametrize("size", [1, 4, 7])
def test_constant_scores_rank_in_the_middle(size: int) -> None:
    table = Table(np.zeros((size, 1, size)), np.zeros((size, 1, size)))
    found = evaluate_ranking(table, [("e000", "r0", "e000")])
    assert found["mrr"] == pytest.approx(2 / (size + 1))
    assert [found[f"hits@{k}"] for k in HITS] == [float((size + 1) / 2 <= k) for k in HITS]


def test_known_answers_are_left_out_on_their_side_only() -> None:
    scores = np.zeros((5, 1, 5))
    scores[0, 0] = [1, 2, 3, 4, 5]
    scores[:, 0, 1] = [2, 9, 8, 0, 0]
    table = Table(scores, scores)
    test = [("e000", "r0", "e001")]
    assert evaluate_ranking(table, test)["mrr"] == pytest.approx((1 / 4 + 1 / 3) / 2)
    objects = [("e000", "r0", "e004"), ("e000", "r0", "e003")]
    assert evaluate_ranking(table, test, known=[objects])["mrr"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert evaluate_ranking(table, test, known=[objects[:1], objects[1:]]) == evaluate_ranking(
        table, test, known=[objects]
    )
    subjects = [("e001", "r0", "e001")]
    assert evaluate_ranking(table, test, known=[objects, subjects])["mrr"] == pytest.approx(1 / 2)
    # Test facts filter one another, and a fact given twice counts once.
    assert evaluate_ranking(table, [*test, *objects])["mrr"] > evaluate_ranking(table, test)["mrr"]
    assert evaluate_ranking(table, test * 3) == evaluate_ranking(table, test)


def test_known_facts_with_foreign_labels_do_not_matter() -> None:
    table = Table(np.zeros((3, 1, 3)), np.zeros((3, 1, 3)))
    test = [("e000", "r0", "e001")]
    foreign = [("e000", "r0", "dragon"), ("e000", "eats", "e002"), ("dragon", "r0", "e001")]
    assert evaluate_ranking(table, test, known=[foreign]) == evaluate_ranking(table, test)


def test_facts_may_come_from_iterators() -> None:
    table = Table(np.arange(9.0).reshape(3, 1, 3), np.zeros((3, 1, 3)))
    test = [("e000", "r0", "e001"), ("e002", "r0", "e001")]

    def once() -> Iterator[Triple]:
        yield from test

    assert evaluate_ranking(table, once(), known=[once()]) == evaluate_ranking(table, test, known=[test])


def test_bad_input() -> None:
    table = Table(np.zeros((3, 1, 3)), np.zeros((3, 1, 3)))
    with pytest.raises(InputError, match="there are no test facts to rank"):
        evaluate_ranking(table, [])
    with pytest.raises(InputError, match="unknown entity 'e00': did you mean"):
        evaluate_ranking(table, [("e00", "r0", "e001")])
    with pytest.raises(InputError, match="known is one set of facts; give a list"):
        evaluate_ranking(table, [("e000", "r0", "e001")], known=(table.vocabulary, np.zeros((1, 3), dtype=np.int64)))  # type: ignore[arg-type]
    other = Vocabulary(["e000", "e001", "e003"], ["r0"])
    for kind in ("test", "known"):
        facts = {"test": (table.vocabulary, np.zeros((1, 3), dtype=np.int64)), "known": []}
        bad = (other, np.zeros((1, 3), dtype=np.int64))
        facts[kind] = bad if kind == "test" else [bad]
        with pytest.raises(
            InputError, match=r"the facts are ids of Vocabulary\(3 entities .*: give the facts as label"
        ):
            evaluate_ranking(table, **facts)
    with pytest.raises(InputError, match="ids outside their vocabulary"):
        evaluate_ranking(table, (table.vocabulary, np.array([[0, 1, 0]])))
    with pytest.raises(InputError, match="memory is 10 bytes, but one query takes 88: allow at least that"):
        evaluate_ranking(table, [("e000", "r0", "e001")], memory=10)
    table.objects[0, 0, 2] = float("nan")
    with pytest.raises(InputError, match="scores that are NaN"):
        evaluate_ranking(table, [("e000", "r0", "e001")])


@pytest.mark.parametrize(("name", "reciprocal"), [("Nations", True), ("UMLS", False)])
def test_agrees_with_pykeen(name: str, reciprocal: bool) -> None:
    # PyKEEN takes its time to import, and looks at PYSTOW_HOME (tests/conftest.py) when it does.
    import pykeen.datasets
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import Model

    class Wrapped(Model):
        """Our predictor as a model of PyKEEN's."""

        def __init__(self, ours: ComplEx, **kwargs) -> None:
            super().__init__(**kwargs)
            self.ours = ours
            self.weight = torch.nn.Parameter(torch.zeros(1))  # tells PyKEEN the device

        def score_t(self, hr_batch: torch.Tensor, **_) -> torch.Tensor:
            return self.ours.object_scores(hr_batch[:, 0], hr_batch[:, 1])

        def score_h(self, rt_batch: torch.Tensor, **_) -> torch.Tensor:
            return self.ours.subject_scores(rt_batch[:, 0], rt_batch[:, 1])

        def _get_entity_len(self, **_) -> int:
            return self.num_entities

        def _unasked(self, *_, **__):
            raise NotImplementedError

        score_hrt = score_r = collect_regularization_term = _reset_parameters_ = _unasked

    data = getattr(pykeen.datasets, name)()
    mapped = [part.mapped_triples for part in (data.training, data.validation, data.testing)]
    vocabulary = Vocabulary(list(data.training.entity_to_id), list(data.training.relation_to_id))
    train, valid, test = (vocabulary.ids_to_triples(part.numpy()) for part in mapped)
    model = ComplEx.fit(train, rank=8, epochs=6, reciprocal=reciprocal, vocabulary=vocabulary, device="cpu")
    # Coarse scores, so that the treatment of ties shows.
    model.entity, model.relation = (model.entity * 4).round(), (model.relation * 4).round()
    results = RankBasedEvaluator(filtered=True).evaluate(
        Wrapped(model, triples_factory=data.training),
        mapped_triples=mapped[2],
        additional_filter_triples=mapped[:2],
        batch_size=64,
        use_tqdm=False,
    )
    ranks = filtered_ranks(model, test, known=[train, valid, test])
    for side, name in (("object", "tail"), ("subject", "head")):
        figures = {"mrr": results.get_metric(f"{name}.realistic.inverse_harmonic_mean_rank")}
        figures |= {f"hits@{k}": results.get_metric(f"{name}.realistic.hits_at_{k}") for k in HITS}
        assert ranks.by_side()[side] == pytest.approx(figures, abs=1e-7)
    relation = next(iter(ranks.by_relation()))
    one = mapped[2][mapped[2][:, 1] == vocabulary.relation_id(relation)]
    part = RankBasedEvaluator(filtered=True).evaluate(
        Wrapped(model, triples_factory=data.training),
        mapped_triples=one,
        additional_filter_triples=mapped,
        batch_size=64,
        use_tqdm=False,
    )
    found = ranks.by_relation()[relation]
    assert found["facts"] == len(one)
    assert found["mrr"] == pytest.approx(part.get_metric("both.realistic.inverse_harmonic_mean_rank"), abs=1e-7)
    ours = evaluate_ranking(model, test, known=[train, valid, test])
    theirs = {"mrr": results.get_metric("both.realistic.inverse_harmonic_mean_rank")}
    theirs |= {f"hits@{k}": results.get_metric(f"both.realistic.hits_at_{k}") for k in HITS}
    assert ours == pytest.approx(theirs, abs=1e-7)  # PyKEEN takes the mean of float32 ranks
    assert 0.1 < ours["mrr"] < 0.9
    without_ties = results.get_metric("both.optimistic.inverse_harmonic_mean_rank")
    assert without_ties > ours["mrr"] + 1e-3  # there were ties to treat


@pytest.mark.parametrize("reciprocal", [True, False])
def test_score_of_a_side_ranks_as_the_ranking_does(reciprocal: bool) -> None:
    rng = np.random.default_rng(3)
    labels = [f"e{index}" for index in range(12)]
    facts = sorted({(labels[a], "r", labels[b]) for a, b in rng.integers(12, size=(40, 2))})
    model = ComplEx.fit(facts[::2] + facts[1::4], rank=4, epochs=5, reciprocal=reciprocal, device="cpu")
    known = set(facts)
    seen = [fact for fact in facts if {fact[0], fact[2]} <= set(model.vocabulary.entities)]
    ranks = filtered_ranks(model, seen, [facts])
    for at, (subject, relation, object_) in enumerate(model.vocabulary.ids_to_triples(ranks.facts)):
        for side, found in (("object", ranks.object), ("subject", ranks.subject)):
            rivals = [
                (subject, relation, each) if side == "object" else (each, relation, object_)
                for each in model.vocabulary.entities
            ]
            rivals = [fact for fact in rivals if fact not in known]
            [truth], scores = model.score([(subject, relation, object_)], side), model.score(rivals, side)
            assert found[at] == 1 + (scores > truth).sum() + (scores == truth).sum() / 2
    assert evaluate_ranking(model, seen, [facts])["mrr"] == pytest.approx(
        float(np.concatenate([1 / ranks.object, 1 / ranks.subject]).mean())
    )
