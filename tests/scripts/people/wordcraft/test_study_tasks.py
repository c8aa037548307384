"""The tasks of a study of WordCraft are those of `gumption play wordcraft`."""

import pytest

from gumption.data import InputError
from gumption.scripts.people.wordcraft.game import begin, game


def test_tasks_and_tables_are_those_of_the_game() -> None:
    played = game(distractors=3, seed=5, train_tasks=6, test_tasks=6)
    for place, part, number in ((1, "train", 1), (5, "train", 5), (6, "test", 0), (11, "test", 5)):
        env, _ = begin(distractors=3, part=part, tasks=6, number=number, seed=5)  # pyright: ignore[reportArgumentType]
        state = played.begin(place)[0].batch.describe(0)
        assert env.batch.describe(0)["table"] == state["table"]
        assert env.batch.describe(0)["goal"] == state["goal"]
        record = played.record(place, env, [])
        assert (record["part"], record["goal"], record["table"]) == (part, state["goal"], state["table"])


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
