"""The classes that a checkpoint keeps: another formula with parameters of the same names is refused."""

from pathlib import Path

import pytest
import torch

from gumption.agents.policy import FlatActorCritic, KGPolicy
from gumption.agents.run import SavedNetwork, classes, put_network
from gumption.data import InputError


class Mine(KGPolicy):
    """Another formula over the same parameters."""


def network(kind: type[KGPolicy] = KGPolicy) -> KGPolicy:
    return kind(FlatActorCritic(3, 2, 4), ("makes",), hidden_size=4)


def saved(**changed: str) -> SavedNetwork:
    made = network()
    return SavedNetwork(made.state_dict(), classes(made) | changed)


def test_a_class_of_ours_is_the_same_in_whatever_module_a_version_has_it() -> None:
    before = saved(attention="gumption.agents.setup:FlatActorCritic")
    here = network()
    put_network(here, before, Path("run"))
    for name, weights in here.state_dict().items():
        assert torch.equal(weights, before.weights[name])


@pytest.mark.parametrize("there", ["gumption.agents.policy:Other", "elsewhere:FlatActorCritic"])
def test_another_class_is_refused(there: str) -> None:
    with pytest.raises(InputError, match=f"run was trained with {there} as attention of the network, and here that is"):
        put_network(network(), saved(attention=there), Path("run"))


def test_a_formula_of_ones_own_is_refused_where_the_run_has_ours() -> None:
    with pytest.raises(InputError, match=r"was trained with gumption\.agents\.policy:KGPolicy as the network"):
        put_network(network(Mine), saved(), Path("run"))
