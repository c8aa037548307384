"""The draws of an instance, and questions dealt from a deck."""

from collections import Counter
from itertools import islice
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gumption.envs.gradual.task import Deal, Draws


def test_the_generator_is_that_of_mmix() -> None:
    draws = Draws(0)
    draws.below(2)
    assert draws.state == 1442695040888963407
    draws.below(2)
    assert draws.state == (1442695040888963407 * 6364136223846793005 + 1442695040888963407) % 2**64


@given(st.integers(0, 2**64 - 1), st.integers(1, 200))
def test_bits_are_as_many_as_asked_for(seed: int, bits: int) -> None:
    assert 0 <= Draws(seed).getrandbits(bits) < 2**bits
    assert Draws(seed).getrandbits(bits) == Draws(seed).getrandbits(bits)


def test_numbers_are_uniform() -> None:
    draws = Draws(0)
    counts = Counter(draws.below(7) for _ in range(70_000))
    assert sorted(counts) == list(range(7))
    assert all(abs(count - 10_000) < 500 for count in counts.values())  # five deviations
    assert abs(sum(draws.random() for _ in range(10_000)) - 5_000) < 150
    assert sorted(draws.sample("abcdef", 6)) == list("abcdef")


def test_going_on_from_a_state() -> None:
    first, second = Draws(5), Draws(6)
    first.choice("abc")
    second.state = first.state
    assert [first.below(100) for _ in range(20)] == [second.below(100) for _ in range(20)]


@given(st.text(min_size=1, max_size=12, alphabet="abcdefghijkl"), st.integers(1, 5), st.integers(0, 2**64 - 1))
def test_each_deck_holds_all_questions(keys: str, times: int, seed: int) -> None:
    questions = sorted(set(keys))
    deal = Deal(questions, Draws(seed), times)
    for _ in range(3):
        assert Counter(islice(deal, len(questions) * times)) == Counter(questions * times)


def test_a_deck_is_shuffled_evenly() -> None:
    first = Counter(next(Deal("abcde", Draws(seed), 5)) for seed in range(5_000))
    fifth = Counter(list(islice(Deal("abcde", Random(seed), 5), 5))[-1] for seed in range(5_000))
    for counts in (first, fifth):
        assert all(abs(counts[question] - 1_000) < 150 for question in "abcde")


def test_cards_can_go_back_at_once() -> None:
    counts = Counter(islice(Deal("abcde", Draws(2), 1, 1), 5_000))
    assert all(abs(counts[question] - 1_000) < 150 for question in "abcde")
