"""The sentence of a result follows from the split."""

import pytest

from gumption.agents.wordcraft.evaluation import success_sentence
from gumption.agents.wordcraft.setup import WordCraftSetup
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, make_split
from gumption.envs.wordcraft.splits import MODES, what_is_tested

FINAL = {"test_success": 0.2734, "test_tasks": 1234, "train_success": 0.9}


@pytest.mark.parametrize("mode", MODES)
def test_every_way_to_split_says_what_was_tested(mode: str, book: RecipeBook, tmp_path) -> None:
    words = {
        "by_recipe": "unseen recipes",
        "by_goal": "unseen goals",
        "by_task": "unseen tasks",
        "none": "training tasks",
    }
    expected = next(said for start, said in words.items() if mode.startswith(start))
    split = make_split(book, mode)
    split.save(tmp_path / "split.json")
    assert what_is_tested(mode) == what_is_tested(split) == what_is_tested(str(tmp_path / "split.json")) == expected


def test_the_sentence() -> None:
    assert success_sentence("by_goal", FINAL) == "success on unseen goals 27.3% (1,234 tasks; training tasks 90.0%)"
    assert success_sentence("none", FINAL) == "success on training tasks 27.3% (1,234 tasks; none was set aside)"


def test_progress_says_what_it_is_of(configure) -> None:
    for split, said in (("by_goal", "unseen goals"), ("none", "training tasks")):
        assert WordCraftSetup(configure(split=split)).headline == ("test_success", said)


def test_neither_a_mode_nor_a_file_is_an_error() -> None:
    with pytest.raises(InputError, match="by_recipy: cannot"):
        what_is_tested("by_recipy")
