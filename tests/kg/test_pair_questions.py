"""Two questions about facts of three parties: how they are drawn, and what answers come to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.scripts.papers.wordcraft.pair_questions import OPTIONS, draw_questions, pair_answers

SIZE = 30
facts = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(10, SIZE - 1)), min_size=20, max_size=60, unique=True
).map(np.array)


def looked_up(known: np.ndarray):
    """The score of an answerer that knows all facts."""
    makes = np.zeros((SIZE, SIZE, SIZE))
    a, b, product = known.T
    makes[a, b, product] = makes[b, a, product] = 5.0
    return lambda first, second: makes[first, second]


@settings(deadline=None, max_examples=20)
@given(facts, st.integers(0, 3))
def test_no_wrong_answer_is_a_right_one(known, seed) -> None:
    asked = known[::2]
    if len(np.unique(asked[:, 2])) < OPTIONS:
        return
    try:
        questions = draw_questions(asked, known, seed)
    except InputError as error:
        assert "no pairs that make nothing" in str(error)  # noqa: PT017  (most have some)
        return
    true = {(min(a, b), max(a, b), product) for a, b, product in known.tolist()}
    pairs = {(a, b) for a, b, _ in true}
    for pair, makes in zip(questions.pairs.tolist(), questions.makes.tolist(), strict=True):
        assert (tuple(pair) in pairs) == makes
    assert {tuple(pair) for pair in questions.pairs[questions.makes].tolist()} == {
        (min(a, b), max(a, b)) for a, b, _ in asked.tolist()
    }
    for pair, options in zip(questions.facts.tolist(), questions.options.tolist(), strict=True):
        assert (*pair, options[0]) in true
        assert len(set(options)) == OPTIONS
        assert not any((*pair, wrong) in true for wrong in options[1:])
    if len(questions.facts):
        assert pair_answers(looked_up(known), questions) == {"makes_anything": 1.0, "which_of_four": 1.0}
        alike = pair_answers(lambda first, second: np.zeros((len(first), SIZE)), questions)
        assert alike == {"makes_anything": 0.5, "which_of_four": 0.25}


def test_pairs_that_make_nothing_are_of_the_same_things_as_often() -> None:
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(60, size=(300, 2)), axis=1), axis=0)
    asked = np.column_stack([pairs, rng.integers(60, 80, size=len(pairs))])
    questions = draw_questions(asked, asked)
    often, of_nothing = (
        np.bincount(questions.pairs[questions.makes == makes].ravel(), minlength=60) for makes in (True, False)
    )
    assert 0.85 * often.sum() < of_nothing.sum() <= often.sum()  # a pair that is drawn twice counts once
    assert np.corrcoef(often, of_nothing)[0, 1] > 0.9


def test_the_answers_are_those_that_the_definitions_give() -> None:
    rng = np.random.default_rng(1)
    known = np.array([[a, b, 10 + (a + b) % 9] for a in range(10) for b in range(a, 10, 3)])
    questions = draw_questions(known, known)
    table = rng.normal(size=(SIZE, SIZE, SIZE)).round(1)  # some scores are equal
    found = pair_answers(lambda first, second: table[first, second], questions)
    of_pair = np.log(np.exp(table).sum(2))[questions.pairs[:, 0], questions.pairs[:, 1]]
    high, low = of_pair[questions.makes][:, None], of_pair[~questions.makes]
    assert found["makes_anything"] == pytest.approx(((high > low) + 0.5 * (high == low)).mean())
    shares = []
    for (a, b), options in zip(questions.facts.tolist(), questions.options.tolist(), strict=True):
        scores = [table[a, b, option] for option in options]
        shares.append((scores[0] == max(scores)) / scores.count(max(scores)))
    assert found["which_of_four"] == pytest.approx(np.mean(shares))


def test_what_is_refused() -> None:
    rows = np.array([[0, 1, 2], [0, 2, 3]])
    with pytest.raises(InputError, match="facts of fewer than 4 objects"):
        draw_questions(rows, rows)
    with pytest.raises(InputError, match="known is"):
        draw_questions(rows, rows[:, :2])
    every = np.array([[a, b, 10 + a + b] for a in range(6) for b in range(a, 6)])
    with pytest.raises(InputError, match="no pairs that make nothing"):
        draw_questions(every, every)
    known = np.array([[a, a + 1, 10 + a] for a in range(8)])
    questions = draw_questions(known, known)
    with pytest.raises(InputError, match="it gives a row for each"):
        pair_answers(lambda first, second: np.zeros(3), questions)
    with pytest.raises(InputError, match="NaN or infinite scores"):
        pair_answers(lambda first, second: np.full((len(first), SIZE), np.nan), questions)
