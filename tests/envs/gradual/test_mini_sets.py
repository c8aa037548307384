"""Questions of the mini sets: right labels, nothing to learn from lengths, and the recorded mixes with the quirks."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from gumption.data import InputError
from gumption.envs.gradual import member
from gumption.envs.gradual.mini_tasks import (
    ALPHABET,
    Description,
    Question,
    draw_description,
    draw_string,
    false_string,
    fitting_length,
    judge_production,
    produce,
    sample,
    true_string,
)

from .test_descriptions import descriptions

NUMBER = 4000


@cache
def questions(set_number: int, upstream_quirks: bool = False) -> list[Question]:
    draw = random.Random(set_number)
    return [sample(set_number, draw, upstream_quirks=upstream_quirks) for _ in range(NUMBER)]


def length_p_value(asked: list[Question]) -> float:
    """Of the hypothesis that lengths are the same for true and for false strings."""
    count = Counter((len(question.string), question.label) for question in asked)
    common = [length for length in {length for length, _ in count} if count[length, True] + count[length, False] > 20]
    return float(chi2_contingency([[count[length, label] for length in common] for label in (True, False)]).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("set_number", range(6))
def test_labels_are_right_in_both_readings_and_even(set_number: int) -> None:
    asked = questions(set_number)
    for description, string, label in asked:
        assert string
        assert member(description, string) is member(description, string, strict=True) is label
    assert sum(question.label for question in asked) / NUMBER == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("set_number", range(6))
def test_lengths_tell_nothing_of_the_label(set_number: int) -> None:
    assert length_p_value(questions(set_number)) > 0.001


@pytest.mark.slow
@pytest.mark.parametrize("set_number", [0, 1, 2, 3, 5])
def test_lengths_of_upstream_do(set_number: int) -> None:
    assert length_p_value(questions(set_number, upstream_quirks=True)) < 1e-6


def test_lengths_tell_nothing_of_the_label_of_one_description() -> None:
    draw = random.Random(0)
    for text in ("ABC", "AB or C", "AB and CDE", "A and BB and not CD and anything", "anything and not ABC"):
        description = Description.parse(text)
        asked = [Question(description, *draw_string(4, description, draw)) for _ in range(NUMBER)]
        assert length_p_value(asked) > 0.001


@pytest.mark.parametrize(
    ("set_number", "most", "operators", "anything", "negated", "shortest", "longest"),
    [
        (0, 1, {"and"}, 0, 0, 1, 2),
        (1, 1, {"and"}, 0, 0, 1, 12),
        (2, 3, {"and", "or"}, 0.05, 0, 1, 12),
        (3, 3, {"and"}, 0.5, 0, 1, 30),
        # A description without any negation, 0.292 of all, allows other letters half of the time.
        (4, 3, {"and"}, 0.854, 0.708, 1, 30),
    ],
)
def test_descriptions_are_those_of_the_set(
    set_number: int, most: int, operators: set[str], anything: float, negated: float, shortest: int, longest: int
) -> None:
    asked = questions(set_number)
    drawn = [question.description for question in asked]
    assert {description.operator for description in drawn} == operators
    assert max(len(description.plain) + len(description.forbidden) for description in drawn) == most
    assert sum(description.anything for description in drawn) / NUMBER == pytest.approx(anything, abs=0.03)
    assert sum(bool(description.forbidden) for description in drawn) / NUMBER == pytest.approx(negated, abs=0.03)
    lengths = {len(gram) for description in drawn for gram in (*description.plain, *description.forbidden)}
    assert lengths == ({1} if set_number == 0 else {1, 2, 3})
    found = {len(question.string) for question in asked}
    assert (min(found), max(found)) == (shortest, longest)
    for description in drawn:
        assert not {*"".join(description.plain)} & {*"".join(description.forbidden)}


def test_set_5_mixes_the_sets_1_to_4() -> None:
    drawn = [question.description for question in questions(5)]
    assert sum(description.operator == "or" for description in drawn) / NUMBER == pytest.approx(0.158, abs=0.03)
    assert sum(bool(description.forbidden) for description in drawn) / NUMBER == pytest.approx(0.177, abs=0.03)


def test_set_0_has_longer_strings_for_two_letters() -> None:
    draw = random.Random(0)
    drawn = [draw_string(0, draw_description(0, draw, letters=2), draw) for _ in range(300)]
    assert {len(string) for string, _ in drawn} == {2, 4, 6}


def test_a_seed_gives_the_same_questions() -> None:
    assert [sample(5, random.Random(7)) for _ in range(3)] == [sample(5, random.Random(7)) for _ in range(3)]


def faults(set_number: int, wanted: Callable[[Description], bool], upstream_quirks: bool) -> dict[str, float]:
    """Shares of the kinds of fault in false strings."""
    kinds: Counter[str] = Counter()
    for description, string, label in questions(set_number, upstream_quirks):
        if not label and string and wanted(description):
            if any(gram in string for gram in description.forbidden):
                kinds["forbidden"] += 1
            elif description.operator == "and" and not all(gram in string for gram in description.plain):
                several = len(description.plain) > 1 or description.anything
                kinds["missing" if several else "broken"] += 1
            if not description.anything:
                kinds["foreign" if {*string} & {*description.foreign} else "own"] += 1
    return {kind: kinds[kind] / (kinds["foreign"] + kinds["own"] or kinds.total()) for kind in kinds}


@pytest.mark.slow
@pytest.mark.parametrize("upstream_quirks", [True, False])
def test_false_strings_mix_the_faults_that_are_recorded(upstream_quirks: bool) -> None:
    def shares(set_number: int, wanted: Callable[[Description], bool]) -> dict[str, float]:
        return faults(set_number, wanted, upstream_quirks)

    assert shares(1, lambda _: True)["foreign"] == pytest.approx(0.7, abs=0.06)
    assert shares(2, lambda description: len(description.plain) > 1)["foreign"] == pytest.approx(0.56, abs=0.06)
    several = shares(3, lambda description: len(description.plain) > 1 and not description.anything)
    assert several["missing"] == pytest.approx(0.5, abs=0.12)
    assert several["foreign"] == pytest.approx(0.29, abs=0.09)
    both = shares(4, lambda description: len(description.plain) == len(description.forbidden) == 1)
    assert both["forbidden"] == pytest.approx(0.49, abs=0.1)
    assert both["missing"] == pytest.approx(0.51, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("set_number", range(6))
def test_quirks_keep_labels_right_but_for_the_empty_string(set_number: int) -> None:
    for description, string, label in questions(set_number, True):
        assert member(description, string) is (label or not string)
        assert string or (str(description) == "anything" and not label)


@pytest.mark.slow
def test_quirks_leak_lengths_and_send_empty_strings() -> None:
    count = Counter((len(question.string), question.label) for question in questions(0, True))
    assert {length for length, label in count if label} == {2, 3}
    assert {length for length, label in count if not label} == {1, 2}
    for set_number, most in ((1, 13), (2, 13), (3, 44), (4, 44)):
        asked = questions(set_number, True)
        assert 1 not in {len(question.string) for question in asked}
        assert max(len(question.string) for question in asked if question.label) <= most
    empty = [sum(not question.string for question in questions(number, True)) / NUMBER for number in (2, 5)]
    assert empty == [pytest.approx(0.028, abs=0.01), pytest.approx(0.007, abs=0.005)]


@pytest.mark.slow
@pytest.mark.parametrize(("set_number", "share"), [(0, 0.0), (1, 0.009), (2, 0.01), (3, 0.013), (4, 0.007), (5, 0.009)])
def test_quirks_draw_strings_on_which_the_readings_differ(set_number: int, share: float) -> None:
    asked = [question for question in questions(set_number, True) if question.string]
    differ = [each for each in asked if each.label is not member(each.description, each.string, strict=True)]
    assert len(differ) / NUMBER == pytest.approx(share, abs=0.006)
    assert all(each.label for each in differ)


@given(descriptions(), st.integers(-1, 12), st.integers(0, 2**32))
def test_strings_have_the_wanted_length_and_label(description: Description, length: int, seed: int) -> None:
    draw = random.Random(seed)  # an adversary's draws would exhaust the tries
    fitting = fitting_length(description, length)
    assert fitting >= max(length, 1)
    for make, label in ((true_string, True), (false_string, False)):
        for wanted in (length, fitting):
            try:
                string = make(description, wanted, draw)
            except InputError:
                # Only where n-grams get in each other's way, or every string fits, none may exist at that length.
                assert wanted != fitting or description.forbidden or (description.always_true and not label)
            else:
                assert len(string) == wanted
                assert member(description, string) is label
                assert member(description, string, strict=True) is label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("anything", False),
        ("A or anything", False),
        (" or ".join(ALPHABET), False),
        ("AB and not A and anything", True),
        ("A and not A and anything", True),
        (" and ".join(["anything", *(f"not {letter}" for letter in ALPHABET)]), True),
    ],
)
def test_strings_that_do_not_exist(text: str, label: bool) -> None:
    description, kind = Description.parse(text), "true" if label else "false"
    message = f"no {kind} string of 5 letters was found; try another length, or a description that some strings fit"
    with pytest.raises(InputError, match=message):
        (true_string if label else false_string)(description, 5, random.Random(0))
    if str(label) not in text and not description.always_true:
        with pytest.raises(InputError, match=f"no {kind} string"):
            [draw_string(4, description, random.Random(seed), upstream_quirks=True) for seed in range(20)]


@pytest.mark.parametrize("set_number", range(6))
def test_what_is_produced_is_right(set_number: int) -> None:
    draw = random.Random(0)
    for _ in range(300):
        description = draw_description(set_number, draw)
        assert judge_production(description, [produce(description, draw)])


def test_productions_are_judged() -> None:
    assert judge_production("AB or C", ["ABC"])
    assert judge_production("AB or C", ["C", "AB"], distinct=2)
    assert not judge_production("AB or C", ["C", "C"], distinct=2)
    assert not judge_production("AB or C", ["C"], distinct=2)
    assert not judge_production("AB or C", ["C", "AB"])
    assert not judge_production("AB or C", ["C", "A"], distinct=2)
    for nothing in ("", "c", "C.", " C", "C1"):
        assert not judge_production("C or anything", [nothing])
    with pytest.raises(InputError, match="is no term"):
        judge_production("c", ["C"])
