"""Numeric effects: curves are recovered from tries, an untried pair gets its number and its kind from facts of other
pairs, and what fits no curve is reported and not used."""

import numpy as np
import pytest

from gumption.data import InputError, Note
from gumption.kg import KnowledgeGraph
from gumption.kg.curves import KINDS, LOWERS, RAISES, Curves, Pairs, Tries

THINGS, TABLES = 6, 12


def world(rng, sign=1.0, slope=-1.0):
    """(after, raises, reach) of things on tables: each has a sign, a strength and a weight. Like signs raise the number
    to reach^(1 - slope) before^slope, unlike ones lower it to 20."""
    signs, strength, weight = rng.choice([-1, 1], (TABLES, THINGS)), *rng.normal(0, 0.3, (2, TABLES, THINGS))
    reach = np.exp(4.5 + strength[:, :, None] / 3 + weight[:, None, :])
    raises = signs[:, :, None] * signs[:, None, :] * sign > 0

    def after(table, one, other, before):
        ends = np.where(raises[table, one, other], reach[table, one, other] ** (1 - slope) * before**slope, 20.0)
        return np.where(before < reach[table, one, other], ends, before)

    return after, raises, reach


def tried(rng, after, many=600, noise=0.001):
    """Tries of random pairs, each at two numbers."""
    table, one, shift = (
        rng.integers(TABLES, size=many),
        rng.integers(THINGS, size=many),
        rng.integers(1, THINGS, size=many),
    )
    table, one, other = (np.repeat(part, 2) for part in (table, one, (one + shift) % THINGS))
    before = rng.uniform(25, 150, len(table))
    changed = after(table, one, other, before)
    changed = np.where(changed == before, before, changed * np.exp(rng.normal(0, noise, len(table))))
    pair = np.stack([table * THINGS + one, table * THINGS + other], axis=1)
    return Tries(pair, before, changed, np.ones(len(table), dtype=bool))


@pytest.mark.parametrize("slope", [-1.0, 0.4])
def test_the_curves_and_the_numbers_of_pairs_are_recovered(slope):
    rng = np.random.default_rng(1)
    after, raises, reach = world(rng, slope=slope)
    made = tried(rng, after)
    curves = Curves.fit(made)
    assert curves.slope == pytest.approx([0, slope], abs=0.02)
    assert np.exp(curves.intercept[0]) == pytest.approx(20, rel=0.01)
    assert curves.own.tolist() == [False, True]
    assert (curves.explained > 0.99).all()
    one, other, kind, number, _ = curves.facts.T
    place = (one // THINGS).astype(int), (one % THINGS).astype(int), (other % THINGS).astype(int)
    assert (raises[place] == kind).all()
    exact = kind == 1
    assert np.exp(number[exact]) == pytest.approx(reach[place][exact], rel=0.03)
    assert np.isnan(number[~exact]).all()


def test_a_pair_that_never_met_gets_number_and_kind_from_others_and_false_facts_mislead():
    rng = np.random.default_rng(2)
    after, raises, reach = world(rng)
    curves = Curves.fit(tried(rng, after))
    errors = {"prior": [], "facts": [], "false": []}
    for table in range(TABLES):
        for own in {*map(tuple, raises[table])}:  # the things of one sign
            alike = np.flatnonzero(own).tolist()
            if len(alike) < 4:
                continue
            first, *others = alike
            known = {name: Pairs(curves, THINGS) for name in errors}
            ends = {other: float(after(table, first, other, np.array(30.0))) for other in others}
            for k, other in enumerate(others):
                known["facts"].see(first, other, 30.0, ends[other])
                known["false"].see(first, other, 30.0, ends[others[k - 1]])  # numbers exchanged among pairs
            assert (known["facts"].kinds()[others[0], others[1:], 1] > 0.9).all()  # by mined rules
            for name, pairs in known.items():
                mean = pairs.reaches()[0]
                errors[name] += [mean[a, b] - np.log(reach[table, a, b]) for a in others for b in others if a != b]
            assert not known["facts"].predict_numbers(others[0], others[1], np.array([40.0]))[2][0]
    assert len(errors["facts"]) > 20
    off = {name: float(np.sqrt(np.mean(np.square(values)))) for name, values in errors.items()}
    assert off["facts"] < 0.6 * off["prior"]
    assert off["false"] > off["prior"]


def test_a_pair_that_met_is_known_and_predicted():
    rng = np.random.default_rng(2)
    after, raises, reach = world(rng)
    one, other = (int(k[0]) for k in np.nonzero(raises[0] & ~np.eye(THINGS, dtype=bool) & (reach[0] > 60)))
    pairs = Pairs(Curves.fit(tried(rng, after)), THINGS)
    pairs.see(one, other, 30.0, float(after(0, one, other, np.array(30.0))))
    mean, sd, known = pairs.predict_numbers(one, other, np.array([45.0]))
    assert known[0]
    assert mean[0] == pytest.approx(reach[0, one, other] ** 2 / 45, rel=0.1)
    assert sd[0] < 0.3 * mean[0]


def test_reversed_laws_give_the_reversed_rules_and_renamed_things_the_same():
    rng = np.random.default_rng(3)
    of = {}
    for sign in (1.0, -1.0):
        made = tried(np.random.default_rng(5), world(np.random.default_rng(4), sign)[0])
        of[sign] = {str(rule) for rule in Curves.fit(made).rules}
        renamed = made._replace(pair=rng.permutation(TABLES * THINGS)[made.pair])
        assert {str(rule) for rule in Curves.fit(renamed).rules} == of[sign]
    swapped = {text.replace(LOWERS, "_").replace(RAISES, LOWERS).replace("_", RAISES) for text in of[1.0]}
    assert "raises(x, y) <= raises(x, z) & raises(y, z) & x != y" in of[1.0]
    assert swapped == of[-1.0]


def test_what_was_bounded_only_stays_within_its_bounds():
    rng = np.random.default_rng(6)
    curves = Curves.fit(tried(rng, world(rng)[0]))
    pairs = Pairs(curves, 2)
    pairs.see(0, 1, 60.0, 20.0)
    pairs.see(0, 1, 90.0, 90.0)
    levels = np.exp(pairs.levels()[1][0, 1])
    assert (levels >= 60).all()
    assert (levels <= 90).all()
    mean, sd, _ = pairs.predict_numbers(0, 1, np.array([50.0, 100.0]))
    assert mean == pytest.approx([20, 100], rel=0.25)  # a twentieth is left to the other kind
    assert sd[1] == pytest.approx(0, abs=2)
    stopped = Pairs(curves, 2)
    stopped.see(0, 1, 40.0, 200.0, free=False)
    assert np.isnan(stopped.point[0, 1])
    assert np.exp(stopped.low[0, 1]) == pytest.approx((40 * 200) ** 0.5, rel=0.02)


def test_numbers_that_follow_no_curve_are_reported_and_not_used():
    rng = np.random.default_rng(7)
    made = tried(rng, world(rng)[0])
    drawn = made._replace(after=rng.permutation(made.after))
    with pytest.warns(Note, match="explains .*% of its variance in .* tries, so it is not used"):
        curves = Curves.fit(drawn)
    assert not curves.fits.all()
    still = made._replace(after=made.before)
    with pytest.raises(InputError, match="none of 1200 tries changed a number"):
        Curves.fit(still)


def test_facts_are_stated_with_counts_and_reaches_in_place_of_older_ones():
    rng = np.random.default_rng(8)
    made = tried(rng, world(rng)[0])
    curves, graph = Curves.fit(made), KnowledgeGraph()
    names = [f"thing {k}" for k in range(TABLES * THINGS)]
    name = curves.to_graph(graph, "own", names)
    assert curves.to_graph(graph, "own", names) == name
    stated = {relation for _, relation, _ in graph.triples(graph=name)}
    assert stated == {*KINDS}
    assert len(list(graph.triples(relation="hasVisits", graph=f"{name}/evidence"))) == len(curves.facts)
    assert len(list(graph.triples(relation="hasReach", graph=f"{name}/evidence"))) == int(
        (curves.facts[:, 2] == 1).sum()
    )
