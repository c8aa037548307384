"""What tests of WordCraft share."""

import pytest

from gumption.envs.wordcraft import RecipeBook


@pytest.fixture(scope="session")
def alchemy(shared_data):
    """The recipes of Little Alchemy 2, real data."""
    return RecipeBook.load(shared_data / "alchemy2.json")
