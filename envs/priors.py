"""The two dials of every world: what of a success is knowledge brought along, and what is learned.

`names` says what things are called: by their real names, by codes without meaning, or by each other's names. `laws`
says what holds of them: the real laws, or others in their place. Whoever plays by what words mean loses with the names
and with the laws; whoever learns what is so loses with neither.

The draw of a world is always the same, whatever the seeds of its splits and episodes: `SEED` fixes it. So a world with
other names or laws is one world, with one content hash, and rungs differ in nothing else. Where a dial is not "real",
it is part of what a task's hash or a file's parameters cover (`other_than_real`); where it is, these are as they always
were.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Seed, Whole, checked
from gumption.data.tables import grouped

Names = Literal["real", "anonymous", "shuffled"]
Laws = Literal["real", "counterfactual"]
SEED = 0
CODE_LENGTH = 6
#: No vowels: no code is a word or has one in it, so that no word vector is known of it.
LETTERS = "bcdfghjklmnpqrstvwxz"


def other_than_real(**dials: str | None) -> dict[str, str]:
    """The dials that are not "real" (or None), for a hash or the parameters of a file: {} of a real world, whose hash
    then stays what it was before there were dials.

        {**parameters, **other_than_real(names=names, laws=laws)}
    """
    return {name: value for name, value in dials.items() if value is not None and value != "real"}


@checked
def deranged(groups: Sequence[Hashable], seed: Seed = SEED) -> np.ndarray:
    """(n,) int64 `other`: the place whose thing each place gets. Each place gets another one of its own group than
    itself, all such exchanges being equally likely; the only member of a group keeps its own.

    :param groups: of each place: what may be exchanged has the same. Groups count in the order in which they first
        come; what they are called plays no part.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    members = grouped((group, place) for place, group in enumerate(groups))
    other = np.arange(len(groups), dtype=np.int64)
    for places in map(np.array, members.values()):
        if len(places) > 1:
            # About one permutation of e leaves nothing in its place.
            while ((drawn := rng.permutation(places)) == places).any():
                pass
            other[places] = drawn
    return other


@checked
def codes(count: Whole, taken: Iterable[str] = (), seed: Seed = SEED) -> tuple[str, ...]:
    """So many distinct codes of `CODE_LENGTH` letters, which are no words. Their sorted order tells nothing of their
    order. The first n of more codes are the codes of n.

    :param taken: labels that no code may be, such as the real names.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    used, found = set(taken), list[str]()
    while len(found) < count:
        code = "".join(LETTERS[place] for place in rng.integers(len(LETTERS), size=CODE_LENGTH))
        if code not in used:
            used.add(code)
            found.append(code)
    return tuple(found)


@checked
def relabelled(
    labels: Sequence[str], names: Names, groups: Sequence[Hashable] | None = None, seed: Seed = SEED
) -> tuple[str, ...]:
    """The labels as a setting of `names` has them, in the same order: the labels themselves ("real"), codes
    ("anonymous"), or each another one of its group ("shuffled").

    :param groups: as of `deranged`: which labels may be exchanged; None for all.
    :raises InputError: not one group for each label.
    """
    if groups is not None and len(groups) != len(labels):
        raise InputError(f"{len(groups)} groups for {len(labels)} labels: one for each")
    if names == "anonymous":
        return codes(len(labels), labels, seed)
    if names == "shuffled":
        others = deranged([None] * len(labels) if groups is None else groups, seed).tolist()
        return tuple(str(labels[place]) for place in others)
    return tuple(labels)


@checked
def deranged_unlike(groups: Sequence[Hashable], unlike: Sequence[int]) -> np.ndarray:
    """(n,) int64 as `deranged`, and no place gets what `unlike` gives it: another exchange, so that two dials together
    leave nothing as it was.

    :param unlike: (n,) an exchange as of `deranged`.
    :raises InputError: a group of two, which have one exchange alone.
    """
    if lone := next((group for group in groups if list(groups).count(group) == 2), None):
        raise InputError(f"the group {lone!r} has two members, which change places in one way alone")
    seed, found = SEED + 1, deranged(groups, SEED + 1)
    alone = np.array([list(groups).count(group) == 1 for group in groups], dtype=bool)
    while ((found == np.asarray(unlike)) & ~alone).any():
        seed += 1
        found = deranged(groups, seed)
    return found
