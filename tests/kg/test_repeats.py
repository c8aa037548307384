"""A score speaks for a thing once: what is chosen already against the definition, for facts of any relations."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import event, given, settings
from hypothesis import strategies as st
from torch import nn

from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.kg import RelationScores
from gumption.kg.scores import FEW, BinaryTable, KnownFacts, PairTable, known_scores

SIZE = 5
ENTITIES = tuple("abcde")
TWO, AT_PLACES, THREE = ("likes", "knows"), ("at@1", "at@2"), ("makes", "mixes")
RELATIONS = (*TWO, *AT_PLACES, *THREE)  # of the facts; a graph states both of the places as "at"
STATED = (*TWO, "at", *THREE)


def scorers() -> dict[str, nn.Module]:
    """A scorer of each kind; one relation of the facts is not scored."""
    rng = torch.Generator().manual_seed(0)
    rows = torch.randint(1, SIZE + 1, (20, 3), generator=rng)
    return {
        "knows": KnownFacts(rows * torch.tensor([1, 0, 1]), SIZE, parties=2),
        "at@2": BinaryTable(torch.randn(SIZE, SIZE, generator=rng)),
        "makes": PairTable(torch.randn(SIZE, SIZE * (SIZE + 1) // 2, generator=rng).half() * 9, -1.5),
        "mixes": KnownFacts(rows, SIZE, parties=3),
        "likes": BinaryTable(torch.randn(SIZE, SIZE, generator=rng)),
    }


@dataclass
class Choice:
    """Facts of A candidates in each of B environments, what is chosen there, and what may be used twice."""

    facts: ActionFacts
    repeats: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.array(rows, dtype=np.int64).reshape(-1, 2) for name, rows in self.repeats.items()}

    def expected(self, plain: list) -> list:
        """The definition, one score at a time, from the scores where nothing is chosen."""
        facts, scores = self.facts, [[list(row) for row in rows] for rows in plain]
        for b, rows in enumerate(plain):
            things = [next((s for s in subjects if s), 0) for subjects in facts.subject[b].tolist()]
            there = [a for a, thing in enumerate(things) if thing]
            for a in there:
                if things[a] not in facts.chosen[b].tolist() or self.pairs_with_itself(b, a):
                    continue
                for k in range(len(rows[a])):
                    scores[b][a][k] = min(rows[other][k] for other in there)
        return scores

    def pairs_with_itself(self, b: int, a: int) -> bool:
        for k, relation in enumerate(RELATIONS):
            subject, object_, given = (int(part[b, a, k]) for part in self.facts[1:4])
            if (subject, object_) in self.repeats.get(relation.split("@")[0], []) and given in (0, subject):
                return True
        return False


@st.composite
def choices(draw: st.DrawFn) -> Choice:
    size, candidates = draw(st.sampled_from([(1, 1), (2, 4), (6, 4), (12, 5)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (size, candidates, len(RELATIONS))
    object_, given = rng.integers(0, SIZE + 1, size=(2, *shape))
    given[:, :, : len(TWO + AT_PLACES)] = 0
    subject = rng.integers(0, SIZE + 1, size=shape[:2])[:, :, None] * (rng.random(shape) < 0.8)
    partners = rng.integers(0, SIZE + 1, size=(size, 3))
    chosen = rng.integers(0, SIZE + 1, size=(size, draw(st.integers(0, 3))))
    pairs = st.lists(st.tuples(st.integers(1, SIZE), st.integers(1, SIZE)), max_size=8)
    repeats = draw(st.dictionaries(st.sampled_from(STATED), pairs))
    return Choice(ActionFacts(RELATIONS, subject, object_, given, partners, chosen), repeats)


@given(choices(), st.booleans())
@settings(max_examples=300)
def test_what_is_chosen_gets_the_least_score_unless_it_pairs_with_itself(choice: Choice, quick: bool) -> None:
    scores = RelationScores(ENTITIES, scorers(), choice.arrays())
    facts = choice.facts
    if not quick:  # the way by torch, which many choices take
        copies = -(-(FEW + 1) // facts.subject.size)
        facts = ActionFacts(
            RELATIONS, *(part if part is None else np.concatenate([part] * copies) for part in facts[1:])
        )
        assert facts.subject.size > FEW
    plain = scores.action_scores(facts._replace(chosen=None))
    found = scores.action_scores(facts)
    assert (found.dtype, found.shape) == (torch.float32, plain.shape)
    assert found.tolist() == Choice(facts, choice.repeats).expected(plain.tolist())
    event(f"a score is lowered: {not torch.equal(found, plain)}")


@given(choices())
def test_where_nothing_is_chosen_scores_are_as_they_were(choice: Choice) -> None:
    scores, facts = RelationScores(ENTITIES, scorers(), choice.arrays()), choice.facts
    plain = RelationScores(ENTITIES, scorers()).action_scores(facts._replace(chosen=None))
    for nothing in (np.zeros_like(facts.chosen), np.zeros((len(facts.subject), 0), dtype=np.int64)):
        assert torch.equal(scores.action_scores(facts._replace(chosen=nothing)), plain)


def knows(table: list[int], chosen: int, goal: int = 5) -> ActionFacts:
    """ "x knows goal" for each x of one table."""
    parts = np.array([table]), goal, 0
    return action_facts(("knows",), (1, len(table)), [parts], chosen=np.array([[chosen]]))


@pytest.mark.parametrize(("repeats", "expected"), [({}, [0, 1, 0]), ({"knows": [(1, 5)]}, [1, 1, 0])])
def test_facts_that_are_looked_up_speak_once(repeats: dict[str, list[tuple[int, int]]], expected: list[int]) -> None:
    rows = np.array([[1, 0, 5], [2, 0, 5]])
    pairs = {name: np.array(some) for name, some in repeats.items()}
    scores = known_scores({"knows": rows}, ENTITIES, repeats=pairs)
    assert scores.action_scores(knows([1, 2, 3], 0))[0, :, 0].tolist() == [1, 1, 0]
    assert scores.action_scores(knows([1, 2, 3], 1))[0, :, 0].tolist() == expected
    assert scores.action_scores(knows([0, 1, 0], 1))[0, :, 0].tolist() == [0, 1, 0], "there is nothing else to choose"


def test_a_third_party_that_is_another_thing_is_no_repetition() -> None:
    """The recipe of a and b does not say that a is used twice, and that of a and a does."""
    scores = RelationScores(ENTITIES, scorers(), {"mixes": np.array([[1, 5]])})
    for given_, lowered in ((1, False), (2, True)):
        table = np.array([[1, 3]])
        facts = action_facts(tuple(scores.relations), (1, 2), [(table, 5, given_)] * 5, chosen=np.array([[1]]))
        plain = scores.action_scores(facts._replace(chosen=None))
        found = scores.action_scores(facts)
        assert torch.equal(found[0, 0], plain.amin(1)[0]) == lowered
        assert torch.equal(found, plain) != lowered


def test_exceptions_do_not_depend_on_what_is_scored() -> None:
    scorer = KnownFacts(torch.tensor([[1, 0, 5]]), SIZE, parties=2)
    parties = [(np.array([[1, 3]]), 5, int(name in THREE)) for name in RELATIONS]
    facts = action_facts(RELATIONS, (1, 2), parties, chosen=np.array([[1]]))
    for repeats, expected in (({}, [0, 0]), ({"mixes": np.array([[1, 5]])}, [1, 0])):
        scores = RelationScores(ENTITIES, {"knows": scorer}, repeats)
        assert scores.action_scores(facts)[0, :, 0].tolist() == expected
