"""The tasks of a study of WordCraft are those of `gumption play wordcraft`."""

import pytest

from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook
from gumption.scripts.wordcraft.play import Game, begin, lay_table

SETTINGS = {"depth": 1, "num_distractors": 3, "split": "by_recipe", "train_ratio": 0.8, "split_seed": 0}


@pytest.mark.parametrize("part", ["train", "test"])
def test_tasks_and_tables_are_those_of_the_game(part: str) -> None:
    game = Game(RecipeBook.load("commonsense"), SETTINGS, 5, {"train": 6, "test": 6})
    for number in (0, 1, 5):
        lay_table(game.envs[part], game.chosen[part][number], part, number, 5)
        env, _ = begin(distractors=3, part=part, tasks=6, number=number, seed=5)
        assert env.batch.describe(0)["table"] == game.envs[part].describe(0)["table"]
        assert env.batch.describe(0)["goal"] == game.envs[part].describe(0)["goal"]


def test_a_failure_is_told_with_one_way_and_a_success_with_what_was_made() -> None:
    env, face = begin(distractors=1, number=2)
    recipe = env.tasks[int(env.batch.task_index[0])].recipes[0]
    table = env.batch.describe(0)["table"]
    wrong = next(slot for slot, name in enumerate(table) if name not in recipe[:2])
    *_, info = env.step(wrong)
    assert face.told(info, False) == ""
    *_, info = env.step(wrong)
    assert face.told(info, True).endswith(f"One way was {recipe[0]} + {recipe[1]}, which makes {recipe[2]}.")
    env, face = begin(distractors=1, number=2)
    for name in recipe[:2]:
        *_, info = env.step(table.index(name))
    assert face.told(info, True) == f"{recipe[0]} + {recipe[1]} makes {recipe[2]}."


def test_a_number_beyond_the_drawn_tasks_and_too_many_tasks_are_refused() -> None:
    with pytest.raises(InputError, match="number is 6; 6 tasks are drawn"):
        begin(tasks=6, number=6)
    with pytest.raises(InputError, match=r"tasks is 1000000; the split has \d+"):
        begin(tasks=1_000_000)
