"""The two dials of every world: what they draw, and that a real world stays what it was."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.priors import LETTERS, codes, deranged, deranged_unlike, other_than_real, relabelled
from gumption.kg import WordVectors

groups = st.lists(st.sampled_from("abc"), max_size=12)


@settings(deadline=None)
@given(groups, st.integers(0, 5))
def test_a_derangement_moves_everything_that_it_can_within_its_group(of, seed) -> None:
    other = deranged(of, seed)
    assert sorted(other.tolist()) == list(range(len(of)))
    for place, source in enumerate(other.tolist()):
        assert of[source] == of[place]
        assert (source == place) == (of.count(of[place]) == 1)
    assert np.array_equal(other, deranged([f"group {group}" for group in of], seed))  # names of groups play no part


def test_all_derangements_are_equally_likely() -> None:
    drawn = [tuple(deranged(["all"] * 4, seed).tolist()) for seed in range(1800)]
    counts = [drawn.count(one) for one in sorted(set(drawn))]
    assert len(counts) == 9  # of four things
    assert min(counts) > 200 - 60  # over four standard deviations
    assert max(counts) < 200 + 60


def test_codes_mean_nothing_and_their_order_tells_nothing() -> None:
    found = codes(500)
    assert len(set(found)) == 500
    assert all(set(code) <= set(LETTERS) for code in found)
    ranks = np.argsort(np.argsort(found))
    assert abs(np.corrcoef(ranks, np.arange(500))[0, 1]) < 0.15
    _, report = WordVectors.load().guessed_vectors(found)
    assert report.drawn == found  # of none a word vector is known, not even of a part


def test_codes_of_fewer_things_are_the_first_ones_and_none_is_taken() -> None:
    assert codes(3) == codes(9)[:3] == codes(3, seed=0) != codes(3, seed=1)
    assert codes(2, taken=codes(1)) == codes(3)[1:]


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.text(max_size=3), unique=True, max_size=8))
def test_labels_by_each_setting(labels) -> None:
    assert relabelled(labels, "real") == tuple(labels)
    shuffled = relabelled(labels, "shuffled")
    assert sorted(shuffled) == sorted(labels)
    assert len(labels) < 2 or all(one != other for one, other in zip(shuffled, labels, strict=True))
    anonymous = relabelled(labels, "anonymous")
    assert len(set(anonymous)) == len(labels)
    assert not set(anonymous) & set(labels)


def test_labels_are_exchanged_within_groups() -> None:
    assert relabelled(["red", "blue", "1", "2"], "shuffled", ["colour", "colour", "digit", "digit"]) == (
        "blue",
        "red",
        "2",
        "1",
    )


def test_only_what_is_not_real_is_told() -> None:
    assert other_than_real(names="real", laws="real") == other_than_real(laws=None) == {}
    assert other_than_real(names="shuffled", laws="real") == {"names": "shuffled"}


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="names is 'random'"):
        relabelled(["a"], "random")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="1 groups for 2 labels: one for each"):
        relabelled(["a", "b"], "shuffled", ["x"])


def test_nothing_depends_on_the_order_of_hashes() -> None:
    program = (
        "from gumption.envs.priors import deranged, relabelled\n"
        "print(deranged([('a', i % 2) for i in range(9)]).tolist(), relabelled(list('abcdef'), 'anonymous'))"
    )
    told = [
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True)
        for seed in ("1", "2")
    ]
    assert told[0].stdout == told[1].stdout != b""


@pytest.mark.parametrize("groups", ["aaaa", "aaaabbbb", "abbbbc", "aaaaaaa"])
def test_two_exchanges_leave_nothing_as_it_was(groups) -> None:
    groups = list(groups)
    first = deranged(groups)
    second = deranged_unlike(groups, first.tolist())
    for place, (one, other) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        assert groups[one] == groups[other] == groups[place]
        assert groups.count(groups[place]) == 1 or len({place, one, other}) == 3


def test_two_members_have_one_exchange_alone() -> None:
    with pytest.raises(InputError, match="the group 'b' has two members, which change places in one way alone"):
        deranged_unlike(["b", "a", "b"], [0, 1, 2])
