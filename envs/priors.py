"""Change names and laws of a world, to separate an agent's prior knowledge from what it learns.

`names` sets the labels of entities: real names, codes without meaning, or names exchanged among entities. `laws` sets
the facts about them: the real laws, or changed ones. An agent that relies on the meaning of words gets worse under
both changes; an agent that learns the facts of the world gets worse under neither.

`SEED` alone fixes the draw, whatever the seeds of splits and episodes. So a world with other names or laws is a single
world with a single content hash, and differs from the real world in nothing else. A setting other than "real" enters
the hash of a task or the parameters of a file (`other_than_real`); "real" leaves them unchanged.
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
#: No vowels, so that no code is or contains a word, and no word vector exists for it.
LETTERS = "bcdfghjklmnpqrstvwxz"


def other_than_real(**dials: str | None) -> dict[str, str]:
    """Return the settings that are neither "real" nor None, for a hash or the parameters of a file. They are {} for the
    real world, whose hash is the same as without these settings.

        {**parameters, **other_than_real(names=names, laws=laws)}
    """
    return {name: value for name, value in dials.items() if value is not None and value != "real"}


@checked
def deranged(groups: Sequence[Hashable], seed: Seed = SEED) -> np.ndarray:
    """Draw a permutation (n,) int64 that moves each index to another index of its group, uniformly among all such
    permutations (derangements). The only member of a group keeps its place.

    :param groups: group of each index. The draw depends on the order in which groups first occur, not on their names.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    members = grouped((group, place) for place, group in enumerate(groups))
    other = np.arange(len(groups), dtype=np.int64)
    for places in map(np.array, members.values()):
        if len(places) > 1:
            # About one permutation in e = 2.718... is a derangement.
            while ((drawn := rng.permutation(places)) == places).any():
                pass
            other[places] = drawn
    return other


@checked
def codes(count: Whole, taken: Iterable[str] = (), seed: Seed = SEED) -> tuple[str, ...]:
    """Draw `count` distinct codes of `CODE_LENGTH` letters, which are no words. Their order is independent of their
    sorted order. The first n codes are the same for every `count` of at least n.

    :param taken: labels that no code may equal, such as the real names.
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
    """Return the labels under a setting of `names`, in the same order: the labels themselves ("real"), codes
    ("anonymous"), or for each another label of its group ("shuffled").

    :param groups: group of each label, as in `deranged`; None for a single group.
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
    """Draw a permutation (n,) int64 as `deranged` that also differs from `unlike` at every index (except a group's only
    member), so that names and laws changed together leave nothing unchanged.

    :param unlike: (n,) a permutation of `deranged`.
    :raises InputError: a group of two, which has a single derangement.
    """
    if lone := next((group for group in groups if list(groups).count(group) == 2), None):
        raise InputError(f"the group {lone!r} has two members, which change places in one way alone")
    seed, found = SEED + 1, deranged(groups, SEED + 1)
    alone = np.array([list(groups).count(group) == 1 for group in groups], dtype=bool)
    while ((found == np.asarray(unlike)) & ~alone).any():
        seed += 1
        found = deranged(groups, seed)
    return found
