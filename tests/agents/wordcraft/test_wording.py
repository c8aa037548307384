"""The sentence of a result follows from the split."""

import re

import pytest

from gumption.agents.wordcraft.evaluation import success_sentence, what_was_played
from gumption.agents.wordcraft.setup import WordCraftSetup
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, make_split
from gumption.envs.wordcraft.splits import what_is_tested
from tests.envs.wordcraft.test_split_check import MODES

FINAL = {"test_success": 0.2734, "test_low": 0.2, "test_high": 0.35, "test_tasks": 1234, "train_success": 0.9}
OF_VALIDATION = {"validation_success": 0.3, "validation_tasks": 987}


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
    assert success_sentence("by_recipe", {**FINAL, **OF_VALIDATION}) == (
        "success on unseen recipes 27.3% (1,234 tasks; validation 30.0%; training tasks 90.0%)"
    )
    assert success_sentence("none", FINAL) == "success on training tasks 27.3% (1,234 tasks; none was set aside)"


def test_few_tasks_are_told_with_their_interval() -> None:
    few = {**FINAL, "test_tasks": 99, "validation_success": 1.0, "validation_tasks": 1}
    assert success_sentence("by_goal", few) == (
        "success on unseen goals 27.3% (20.0% to 35.0%: only 99 tasks) "
        "(validation 100.0% (only 1 task); training tasks 90.0%)"
    )
    assert what_was_played(99, 2, "test", "by_goal", 1, 1).endswith("over the tasks, which are few: fewer than 100")
    assert what_was_played(100, 2, "test", "by_goal", 1, 1).endswith("the interval is over the tasks")


def test_progress_says_what_it_is_of(configure) -> None:
    made = WordCraftSetup(configure(split="by_goal"))
    line = made.measure(made.policy().eval())
    tasks = len(made.env.split.tasks("validation"))
    assert re.fullmatch(rf"validation \d+\.\d% \(\d+\.\d% to \d+\.\d%: only {tasks} tasks\)", made.words(line)), (
        made.words(line)
    )
    made = WordCraftSetup(configure(split="none"))
    assert re.fullmatch(r"training tasks \d+\.\d%", made.words(made.measure(made.policy().eval())))


def test_neither_a_mode_nor_a_file_is_an_error() -> None:
    with pytest.raises(InputError, match="by_recipy: cannot"):
        what_is_tested("by_recipy")
