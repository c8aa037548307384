"""Mined rules as a predictor, checked against a plain loop over facts."""

import numpy as np

from gumption.kg import Vocabulary, mine_rules
from gumption.kg.rules.prediction import rule_scores

SIZE = 30
VOCABULARY = Vocabulary([f"e{i:02d}" for i in range(SIZE)], ("near", "of", "part"))


def facts() -> np.ndarray:
    rng = np.random.default_rng(2)
    near = np.unique(rng.integers(SIZE, size=(120, 2)), axis=0)
    of = np.unique(rng.integers(SIZE, size=(60, 2)), axis=0)
    both = {(int(a), int(c)) for a, b in near for x, c in of if x == b}
    part = np.array(sorted(both))[rng.random(len(both)) < 0.5]
    return np.concatenate([np.insert(rows, 1, kind, axis=1) for kind, rows in enumerate((near, of, part))])


def holds(rule, x: str, y: str, known: set[tuple[str, str, str]]) -> bool:
    """Whether the body of a rule holds of x and y, by trying every entity for the third variable."""
    names = {*(v for atom in rule.body for v in atom.variables)} - {*rule.head.variables}
    for z in VOCABULARY.entities if names else [""]:
        value = dict(zip(rule.head.variables, (x, y), strict=True)) | dict.fromkeys(names, z)
        if all((value[a.subject], a.relation, value[a.object]) in known for a in rule.body):
            return not (rule.distinct and x == y)
    return False


def test_scores_are_the_log_lift_of_the_most_confident_rule_that_holds() -> None:
    ids = facts()
    mined = mine_rules((VOCABULARY, ids), min_support=5, min_confidence=0.05)
    assert {len(each.rule.body) for each in mined if each.rule.head.relation == "part"} == {1, 2}
    scores = rule_scores(mined, (VOCABULARY, ids), "part", SIZE).toarray()
    known = set(VOCABULARY.ids_to_triples(ids))
    chance = sum(relation == "part" for _, relation, _ in known) / SIZE**2
    rules = [each for each in mined if each.rule.head.relation == "part"]
    for row, x in enumerate(VOCABULARY.entities[:12]):
        for column, y in enumerate(VOCABULARY.entities):
            lifts = [np.log(each.confidence / chance) for each in rules if holds(each.rule, x, y, known)]
            assert np.isclose(scores[row, column], max([*lifts, 0.0]), atol=1e-5)


def test_other_entities_are_looked_up_and_not_scored() -> None:
    ids = facts()
    mined = mine_rules((VOCABULARY, ids), min_support=5, min_confidence=0.05)
    few = rule_scores(mined, (VOCABULARY, ids), "part", 10).toarray()
    assert few.shape == (10, 10)
    assert (few > 0).any()
    assert not rule_scores([], (VOCABULARY, ids), "part", SIZE).nnz
