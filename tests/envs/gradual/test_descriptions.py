"""The language of descriptions, and which strings fit one: the automaton against rules written out without one."""

import pickle
import string as letters_of

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.gradual import member
from gumption.envs.gradual.mini_tasks import Description

GRAMS = st.text("ABC", min_size=1, max_size=3)


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    """Descriptions over few letters, so that n-grams overlap, hold each other and forbid each other."""
    plain = draw(st.lists(GRAMS, max_size=3))
    operator = draw(st.sampled_from(("and", "or")))
    forbidden = draw(st.lists(GRAMS, max_size=2)) if operator == "and" else []
    anything = bool(forbidden) or not plain or draw(st.booleans())
    terms = [*plain, *(f"not {gram}" for gram in forbidden), *["anything"] * anything]
    return Description(tuple(draw(st.permutations(terms))), operator)


def covers(description: Description, string: str) -> bool:
    """The covering reading, position by position."""
    if any(gram in string for gram in description.forbidden):
        return False
    if description.operator == "and" and not all(gram in string for gram in description.plain):
        return False
    covered = {
        start + offset
        for gram in description.plain
        for start in range(len(string))
        if string.startswith(gram, start)
        for offset in range(len(gram))
    }
    return description.anything or len(covered) == len(string)


def concatenates(description: Description, string: str) -> bool:
    """The strict reading: every way to cut the string is tried."""
    if any(gram in string for gram in description.forbidden):
        return False

    def rest(start: int, used: frozenset[str]) -> bool:
        if start == len(string):
            if description.operator == "or":
                return description.anything or bool(used)
            return used == frozenset(description.plain)
        return (description.anything and rest(start + 1, used)) or any(
            rest(start + len(gram), used | {gram}) for gram in description.plain if string.startswith(gram, start)
        )

    return rest(0, frozenset())


@given(descriptions(), st.text("ABCD", max_size=9))
def test_the_automata_agree_with_the_rules(description: Description, string: str) -> None:
    assert member(description, string) == covers(description, string)
    assert member(description, string, strict=True) == concatenates(description, string)


@given(descriptions(), st.data())
def test_the_automata_agree_on_strings_made_of_the_n_grams(description: Description, data: st.DataObject) -> None:
    grams = [*description.plain, *description.forbidden, "A"]
    string = "".join(data.draw(st.lists(st.sampled_from(grams), max_size=4)))
    assert member(description, string) == covers(description, string)
    assert member(description, string, strict=True) == concatenates(description, string)


@given(descriptions(), st.text("ABC", min_size=1, max_size=9))
def test_the_strict_reading_accepts_no_more(description: Description, string: str) -> None:
    assert member(description, string) or not member(description, string, strict=True)


@given(descriptions())
def test_a_text_and_its_description_are_the_same(description: Description) -> None:
    again = Description.parse(str(description))
    assert again == description
    assert hash(again) == hash(description)
    assert pickle.loads(pickle.dumps(description)) == description
    assert member(str(description), "ABC") == member(description, "ABC")


@pytest.mark.parametrize(
    ("description", "string", "covering", "strict"),
    [
        ("XYX", "XYX", True, True),
        ("XYX", "XYXYX", True, False),
        ("XYX", "XYXXYX", True, True),
        ("XYX", "XYXY", False, False),
        ("XX", "XXX", True, False),
        ("XX", "X", False, False),
        ("AB or BC", "ABC", True, False),
        ("AB or BC", "ABBC", True, True),
        ("AB or BC", "AB", True, True),
        ("AB or BC", "AC", False, False),
        ("AB and BC", "ABC", True, False),
        ("AB and BC", "BCAB", True, True),
        ("AB and BC", "AB", False, False),
        ("AB and BC", "ABDBC", False, False),
        ("AB and BC and anything", "ABDBC", True, True),
        ("AB and BC and anything", "DABCD", True, False),
        ("anything and AB", "B", False, False),
        ("anything and not AB", "BA", True, True),
        ("anything and not AB", "DABD", False, False),
        ("C and not AB and anything", "AC", True, True),
        ("C and not AB and anything", "CAB", False, False),
        ("AB and not ABC and anything", "ABAB", True, True),
        ("A and not A and anything", "A", False, False),
        ("A or anything", "QQ", True, True),
        ("ABCDE or ABCDEFG", "ABCDEFGABCDE", True, True),
        # The empty string.
        ("A or B", "", True, False),
        ("A", "", False, False),
        ("A and B", "", False, False),
        ("anything", "", True, True),
        ("A and anything", "", False, False),
        ("anything and not A", "", True, True),
    ],
)
def test_known_strings(description: str, string: str, covering: bool, strict: bool) -> None:
    assert member(description, string) is covering
    assert member(Description.parse(description), string, strict=True) is strict


def test_long_strings_and_n_grams() -> None:
    assert member("AB and CDE", "ABCDE" * 20_000)
    assert not member("AB and CDE", "ABCDE" * 20_000 + "A")
    assert member(letters_of.ascii_uppercase, letters_of.ascii_uppercase * 2, strict=True)


def test_what_a_description_holds() -> None:
    description = Description.parse("AB and not C and anything and AB and not DE and not C")
    assert str(description) == "AB and not C and anything and not DE"
    assert description.plain == ("AB",)
    assert description.forbidden == ("C", "DE")
    assert description.anything
    assert description.foreign == "FGHIJKLMNOPQRSTUVWXYZ"
    assert Description.parse("A and A") == Description.parse("A or A") == Description.parse("A")
    assert not description.always_true
    assert not Description.parse("AB or C").always_true
    assert Description.parse("anything").always_true
    assert Description.parse("A or anything").always_true


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "description '', column 1: a term is missing; give an n-gram such as AB, or `anything`"),
        ("A and B or C", "column 9: `or` follows `and`; join all terms by the same of the two"),
        ("A or B or C and D", "column 13: `and` follows `or`"),
        ("A or not BC", "column 6: `not BC` stands beside `or`; join the terms by `and`"),
        ("A or not BC or anything", "column 6: `not BC` stands beside `or`"),
        ("not A", "column 1: `not A` needs the term `anything`; add ` and anything`"),
        ("AB and not C", "column 8: `not C` needs the term `anything`"),
        ("A and b", "column 7: 'b' is no term; write an n-gram in capital letters, `not` and an n-gram, or `anything`"),
        ("A and Ä", "column 7: 'Ä' is no term"),
        ("A1", "column 1: 'A1' is no term"),
        ("A B", "column 1: 'A B' is no term"),
        ("A\n", "column 1: 'A\\n' is no term"),
        ("Anything", "column 1: 'Anything' is no term"),
        ("anything and not anything", "column 14: 'not anything' is no term"),
        ("anything and not", "column 14: `not` stands alone; name an n-gram after it"),
        ("A  and B", "column 1: a space too many; put one space between words"),
        (" A", "column 1: a space too many"),
        ("AB and  B", "column 8: a space too many"),
        ("A and", "column 1: 'A and' lacks a term before or after its operator; put a term on either side"),
        ("or A", "column 1: 'or A' lacks a term"),
        ("A and and B", "column 7: 'and B' lacks a term"),
        ("A and ", "column 7: a term is missing"),
    ],
)
def test_what_is_no_description(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        Description.parse(text)
    assert message in str(error.value)
    assert str(error.value).startswith(f"description {text!r}, column ")
    with pytest.raises(InputError):
        member(text, "A")


def test_a_description_without_terms() -> None:
    with pytest.raises(InputError, match="a term is missing"):
        Description(())


@pytest.mark.parametrize("string", ["a", "Ab", "A B", "A.", "Ä", "1"])
def test_what_is_no_string(string: str) -> None:
    for strict in (False, True):
        with pytest.raises(InputError, match="is no capital letter from A to Z; strings have no others"):
            member("anything", string, strict)
