"""The designed tasks that ship."""

import numpy as np
import pytest

from gumption.envs.probsol.certification import holding, replay, solves, still
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.library import designed
from gumption.envs.probsol.tasks import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_there_are_ten_at_rest_with_room_for_twelve(family):
    tasks = designed(family)
    assert [task.name for task in tasks] == [f"{family.lower()}/{k}" for k in range(len(tasks))]
    assert len(tasks) >= 10
    assert len({task.hash for task in tasks}) == len(tasks)
    assert all((task.family, task.max_obj_num, task.max_grid_num) == (family, 12, 12) for task in tasks)
    assert still(tasks).all()


def by_length(tasks):
    """Places of the tasks, those with the shortest solutions first: without compiled code each action takes long."""
    return sorted(range(len(tasks)), key=lambda k: len(tasks[k].solution))


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_solutions_solve_on_both_paths_with_the_same_bits(family):
    tasks = designed(family)
    solutions = [task.solution for task in tasks]
    compiled = replay(tasks, solutions)
    assert compiled.solved.all()
    assert not compiled.refused.any()
    assert holding(tasks, solutions).all()
    short = by_length(tasks)[:1]
    slow = replay([tasks[k] for k in short], [solutions[k] for k in short], compiled=False)
    assert slow.solved.all()
    np.testing.assert_array_equal(slow.tables.place, compiled.tables.place[short])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_long_solutions_solve_on_both_paths_with_the_same_bits(family):
    tasks = [designed(family)[k] for k in by_length(designed(family))[1:]]
    solutions = [task.solution for task in tasks]
    one, other = (replay(tasks, solutions, compiled=compiled) for compiled in (True, False))
    assert other.solved.all()
    np.testing.assert_array_equal(one.tables.place, other.tables.place)


@pytest.mark.parametrize("family", FAMILIES)
def test_matched_pairs_look_alike_and_need_another_strategy(family):
    tasks = designed(family)

    def picture(task):
        discs = [(disc.id, disc.color, disc.name, disc.at, disc.stored) for disc in task.objects]
        areas = task.inaccessible, task.walls, task.targets, task.goal, task.blocks, task.building
        return discs, areas, task.constraints, task.quiz

    for one, other in ((2, 3), (4, 5)):
        assert picture(tasks[one]) == picture(tasks[other])
        assert not solves(tasks[other], tasks[one].solution)


def test_quizzes_are_answered_rightly():
    for family in FAMILIES:
        for task in designed(family):
            if not task.quiz:
                continue
            batch = ProbSolVectorEnv(1, task=task)
            batch.reset(seed=0)
            for verb, *arguments in task.solution[:-1]:
                batch.make_step(np.array([batch.action_index(verb, *arguments)]))
            assert batch.waits[0], task.name
            verb, *answers = task.solution[-1]
            assert verb == "answer"
            _, reward, terminated, _, info = batch.answer(0, answers)
            assert (reward, terminated, info["end"]) == (1.0, True, "solved"), task.name


def test_the_showcases_are_those_of_the_paper():
    heavy = next(disc for disc in designed("Fishing")[0].objects if disc.color == "darkblue")
    assert heavy.mass == "extremely large"
    curling = designed("Curling")[0]
    assert sum(action == ("check",) for action in curling.solution) == 2  # the first trial fails
    yellow = next(disc.id for disc in curling.objects if disc.color == "yellow")
    assert curling.solution[-3] == ("grab", yellow)  # and is stored back at the end
    assert curling.solution[-2][0] == "store"
    diff = designed("FindTheDiff")[0]
    blue = next(disc for disc in diff.objects if disc.color == "blue")
    assert diff.answer == (blue.id,)
    assert {disc.polarity for disc in diff.objects if disc is not blue} == {"+"}
    for number, color in ((0, "orange"), (1, "red")):
        task = designed("FindTheSame")[number]
        held = next(disc for disc in task.objects if disc.color == color)
        grab = task.solution.index(("grab", held.id))
        assert held.polarity == "dipole"
        assert task.solution[grab + 1][0] == "hold_at"
        assert number == 0 or task.solution[grab + 2][0] == "turn"
    for family in ("Building", "Modifying"):
        simple, complex_ = designed(family)[:2]
        assert len(complex_.blocks) > len(simple.blocks)
