"""Edge channels: what a graph links, computed again by loops over labels; size, strengths and the relations kept."""

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest

from gumption.data import InputError
from gumption.kg.edges import MOST_RELATIONS, EdgeScores, preferred
from gumption.kg.vocabulary import Vocabulary

ENTITIES, OTHERS, RELATIONS = 7, 4, ("isA", "partOf", "near")


class Asked(NamedTuple):
    things: np.ndarray
    about: np.ndarray
    chosen: np.ndarray | None


def graph() -> tuple[Vocabulary, np.ndarray, np.ndarray]:
    """30 facts, some among the world's entities and some with others, and their strengths, two of them 0."""
    rng = np.random.default_rng(3)
    labels = Vocabulary([f"e{i}" for i in range(ENTITIES + OTHERS)], RELATIONS)
    facts = np.unique(rng.integers(0, (ENTITIES + OTHERS, 3, ENTITIES + OTHERS), size=(34, 3)), axis=0)
    strengths = rng.choice([0.25, 0.5, 1.0], len(facts)).astype(np.float32)
    strengths[[3, 9]] = 0.0
    return labels, facts, strengths


def expected(facts: list[tuple[int, int, int]], strength: dict, thing: int, others: list[int]) -> dict[str, float]:
    """The channels of one thing (from 0) with others, by their names without the end."""
    found: dict[str, float] = {}
    near = {e: {f[2] for f in facts if f[0] == e} | {f[0] for f in facts if f[2] == e} for e in range(11)}
    links = {m: len({e for e in range(ENTITIES) if e != m and m in near[e]}) for m in range(11)}
    for other in others:
        if thing == other:
            continue
        for s, r, o in facts:
            name = {(thing, other): RELATIONS[r], (other, thing): "^" + RELATIONS[r]}.get((s, o), "")
            if name:
                found[name] = max(found.get(name, 0.0), strength[s, r, o])
        shared = (near[thing] & near[other]) - {thing, other}
        if shared:
            found["two-step"] = max(found.get("two-step", 0.0), sum(1 / math.log1p(links[m]) for m in shared))
    return found


def test_channels_are_the_links_of_a_choice_with_its_goal_and_what_is_chosen() -> None:
    labels, ids, strengths = graph()
    scores = EdgeScores(labels, ENTITIES, ids, RELATIONS, strengths)
    facts = [tuple(row) for row, weight in zip(ids.tolist(), strengths, strict=True) if weight > 0]
    strength = dict(zip(map(tuple, ids.tolist()), strengths.tolist(), strict=True))
    rng = np.random.default_rng(1)
    things, about, chosen = (rng.integers(0, ENTITIES + 1, size=shape) for shape in ((20, 8, 2), (20, 2), (20, 1)))
    found = scores.action_scores(Asked(things, about, chosen)).numpy()
    assert found.shape == (20, 8, len(scores.relations))
    seen = set()
    for b, a in np.ndindex(found.shape[:2]):
        mine = [int(t) - 1 for t in things[b, a] if t]
        wanted = dict.fromkeys(scores.relations, 0.0)
        if set(mine) & {int(c) - 1 for c in chosen[b] if c}:
            wanted["again"] = 1.0
        else:
            wanted["known"] = float(any(t in (s, o) for t in mine for s, _, o in facts))
            for end, ids_ in (("goal", about[b]), ("chosen", chosen[b])):
                for thing in mine:
                    for name, value in expected(facts, strength, thing, [int(i) - 1 for i in ids_ if i]).items():
                        wanted[f"{end}.{name}"] = max(wanted[f"{end}.{name}"], value)
        np.testing.assert_allclose(found[b, a], list(wanted.values()), rtol=1e-5)
        seen |= {name for name, value in wanted.items() if value}
    assert seen == set(scores.relations)  # each channel was seen at work


def test_the_facts_behind_a_score_are_the_graphs() -> None:
    labels, ids, strengths = graph()
    scores = EdgeScores(labels, ENTITIES, ids, RELATIONS, strengths)
    stated = {(labels.entities[s], labels.relations[r], labels.entities[o]) for s, r, o in ids.tolist()}
    for thing, other in itertools.permutations(range(1, ENTITIES + 1), 2):
        said = scores.action_scores(Asked(np.array([[[thing]]]), np.array([[other]]), None))[0, 0]
        facts = scores.why(np.array([thing]), np.array([other]))
        assert {fact for _, fact in facts} <= stated
        direct = [fact for _, fact in facts if {fact[0], fact[2]} == {f"e{thing - 1}", f"e{other - 1}"}]
        names = [name.removeprefix("goal.") for name in scores.relations if name.startswith("goal.")]
        values = dict(zip(names, said.tolist(), strict=False))
        assert len(direct) == sum(value > 0 for name, value in values.items() if name != "two-step")
        assert len(facts) - len(direct) == 2 * (values["two-step"] > 0)
        assert {name for name, _ in facts} == {name for name, value in values.items() if value > 0}


def test_of_many_relations_those_stay_that_link_candidates() -> None:
    names = [f"r{i:02}" for i in range(MOST_RELATIONS + 6)]
    rare = [(0, r, 1) for r in range(6)]  # among candidates
    common = [(2 + i, r, 3 + i) for r in range(6, len(names)) for i in range(2 + (r > 11))]  # among the others
    facts, candidates = np.array(rare + common), np.arange(8) < 2
    kept = preferred(facts, candidates, names)
    assert len(kept) == MOST_RELATIONS
    assert set(names) - set(kept) == set(names[6:12])
    scores = EdgeScores(Vocabulary([f"e{i}" for i in range(8)], names), 8, facts, kept)
    assert scores.edges == kept
    assert scores.left_out == tuple(names[6:12])


def test_a_world_too_large_for_tables_has_channels() -> None:
    """30,000 entities: a dense table of one channel would take 3.6 GB. A thing that all know is no step."""
    size, rng = 30_000, np.random.default_rng(0)
    facts = np.stack([np.arange(size), np.zeros(size, int), rng.permutation(size)], axis=1)
    crowd = np.stack([np.arange(size), np.ones(size, int), np.full(size, size)], axis=1)
    labels = Vocabulary([f"e{i}" for i in range(size + 1)], ("near", "isA"))
    scores = EdgeScores(labels, size, np.concatenate([facts, crowd]), ("near", "isA"))
    assert scores.edges == ("near",)
    things = rng.integers(1, size + 1, size=(512, 10, 1))
    found = scores.action_scores(Asked(things, facts[things[:, 3, 0] - 1, 2][:, None] + 1, None))
    assert (found[:, 3, scores.relations.index("goal.near")] == 1).all()
    assert found[:, :, scores.relations.index("goal.near")].mean() < 0.2


def test_a_graph_that_links_nothing_is_refused() -> None:
    labels = Vocabulary(["a", "b", "x", "y"], ("isA",))
    with pytest.raises(InputError, match="no fact of the graph links two of the world's entities"):
        EdgeScores(labels, 2, np.array([[0, 0, 2], [1, 0, 3]]), ("isA",))
    shared = EdgeScores(labels, 2, np.array([[0, 0, 2], [1, 0, 2]]), ("isA",))  # both are an x
    assert shared.relations == ("goal.two-step", "chosen.two-step", "known", "again")
