"""Players that learn nothing, and the solvers behind the scripted ones."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from gumption.agents.evaluation import evaluate_policy
from gumption.agents.probsol.evaluation import TRIALS
from gumption.agents.probsol.players import DoNothing, Naive, Random, Scripted, Solved, play
from gumption.agents.probsol.solvers import solve
from gumption.data import InputError
from gumption.envs import worlds
from gumption.envs.probsol.certification import OUTCOMES, replay, solves
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.generators import generate, generate_many
from gumption.envs.probsol.library import certified, designed, find_tasks
from gumption.envs.probsol.tasks import DISCOVERY, FAMILIES, TOOL_USE, Task
from gumption.scripts.papers.probsol.certifier import certify


def begun(tasks, trials=1, copies=1, **settings):
    """A batch with a table for each task (and copies of it), begun."""
    tasks = [replace(task, constraints={"trial_number": trials}, quiz=()) for task in tasks]
    batch = ProbSolVectorEnv(
        len(tasks) * copies, task=tasks, order="sequential", observation="paper", autoreset_mode="Disabled", **settings
    )
    batch.reset(seed=0)
    return batch


def few(family: str, many: int = 4) -> list[Task]:
    rows = certified()[family]
    return [row.task() for row in rows[:: max(len(rows) // many, 1)][:many]]


def test_random_policies_play_open_actions_and_each_table_draws_for_itself():
    tasks = few("Fishing", 2)
    batch, player = begun(tasks), Random([5, 6])
    played = []
    player.begin(batch)
    for _ in range(12):
        played.append(player.act(batch))
        batch.make_step(played[-1], np.zeros(2, dtype=bool))
    assert batch.tables.refused.sum() == 0
    alone, player = begun(tasks[1:]), Random([6])
    player.begin(alone)
    for actions in played:
        action = player.act(alone)
        assert action[0] == actions[1]
        alone.make_step(action, np.zeros(1, dtype=bool))


def test_random_policies_try_every_open_action():
    batch = begun([designed("Fishing")[0]], copies=300)
    player = Random(0)
    player.begin(batch)
    mask = batch.action_mask()[0]
    assert set(player.act(batch).tolist()) == set(np.flatnonzero(mask).tolist())


def test_do_nothing_solves_nothing():
    for family in FAMILIES:
        assert not play(begun(few(family, 3)), DoNothing()).any()


def test_the_naive_policy_sets_discs_straight_and_checks():
    for family in FAMILIES:
        batch = begun(few(family, 2), copies=3)
        play(batch, Naive(0))
        assert batch.tables.refused.sum() == 0
        tables, task = batch.tables, batch.task(0)
        if family in DISCOVERY:
            assert (tables.where[0] == 4).sum() == len(task.answer) or tables.actions[0] == 0
    twins = [play(begun([designed("Building")[k]], copies=30), Naive(0)).mean() for k in (2, 3)]
    assert twins[0] < twins[1]  # the second one has heavy discs that hardly move


def test_an_episode_without_a_limit_of_trials_is_refused():
    batch = ProbSolVectorEnv(1, task=replace(designed("Fishing")[0], constraints={}))
    batch.reset(seed=0)
    with pytest.raises(InputError, match="'fishing/0' has no limit of trials"):
        play(batch, DoNothing())


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_solutions_are_played(family):
    assert play(begun(few(family, 6)), Solved()).all()
    assert play(begun(designed(family), trials=3), Solved()).all()


@pytest.mark.slow
def test_scripted_players_solve_nine_of_ten_designed_tasks_without_the_recorded_solutions():
    solved = [
        play(begun([replace(task, solution=()) for task in designed(family)], trials=3), Scripted()).mean()
        for family in FAMILIES
    ]
    assert np.mean(solved) >= 0.9
    assert min(solved) >= 0.6


@pytest.mark.parametrize("family", TOOL_USE)
def test_scripted_players_solve_designed_tasks_of_tool_use(family):
    tasks = [replace(task, solution=()) for task in designed(family)[:5]]
    assert play(begun(tasks, trials=3), Scripted()).all()


@pytest.mark.parametrize("family", DISCOVERY)
def test_the_scripted_player_of_discovery_finds_the_answer_by_probing(family):
    tasks = [replace(task, solution=()) for task in few(family, 40)]
    batch = begun(tasks, trials=3)
    assert play(batch, Scripted()).mean() >= 0.97
    assert batch.tables.refused.sum() == 0


def test_the_scripted_player_of_discovery_does_not_know_the_answer():
    """With another answer written into the file it does the same things."""
    task = generate("FindTheDiff", 3)
    other = replace(task, answer=tuple(one for one in task.ids if one not in task.answer)[: len(task.answer)])
    played = []
    for each in (task, other):
        batch, player = begun([each]), Scripted()
        player.begin(batch)
        actions = []
        for _ in range(60):
            actions.append(int(player.act(batch)[0]))
            batch.make_step(np.array(actions[-1:]), np.zeros(1, dtype=bool))
        played.append(actions)
    assert played[0] == played[1]


@pytest.mark.slow
@pytest.mark.parametrize("family", TOOL_USE)
def test_a_search_finds_solutions_that_solve_and_the_same_ones_again(family):
    tasks = [task for task, _ in generate_many(family, range(5000, 5006))]
    found = [solve(task) for task in tasks]
    solved = [k for k in range(len(tasks)) if found[k]]
    assert len(solved) >= 4
    assert replay([tasks[k] for k in solved], [found[k] for k in solved]).solved.all()
    assert solve(tasks[solved[0]]) == found[solved[0]]


def test_what_cannot_be_solved_has_no_solution():
    task = designed("Fishing")[0]
    deep = replace(task, objects=tuple(replace(disc, polarity="+") for disc in task.objects), solution=())
    assert solve(deep) == ()
    wrong = replace(task, solution=(("grab", "b"), ("place", 30, 30), ("check",)))
    assert solves(task, solve(wrong))  # a recorded solution that does not solve is not taken


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_comes_to_the_same_whichever_others_are_tried_beside_it(family):
    rows = certify(family, range(6000, 6006))
    assert certify(family, [6003]) == [rows[3]]
    assert {row.outcome for row in rows} <= set(OUTCOMES)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_shipped_seeds_are_certified_again(family):
    rows = certified()[family][:: len(certified()[family]) // 3][:3]
    again = certify(family, [row.seed for row in rows])
    assert [(row.outcome, row.hash, row.chance) for row in again] == [
        (row.outcome, row.hash, row.chance) for row in rows
    ]


@pytest.mark.slow
def test_a_policy_of_ones_own_plays_the_test_tasks_as_a_run_does():
    """Before, it played fishing/0 alone, whose quiz no step can answer, so that nothing could solve it."""
    table = gym.make("gumption/ProbSol-v0", task="fishing/0").unwrapped
    table.reset(seed=0)
    plan = [table.action_index(*name) for name in (("grab", "b"), ("place", 10, 16), ("check",))]

    def act(observation, info):
        act.step = 0 if info["first"] else act.step + 1
        return plan[act.step]

    found = evaluate_policy(act, "probsol", task="fishing/0", episodes=2, single=True)
    assert (found["success"], found["steps"]) == (1.0, 3.0)
    entry = worlds.find("probsol").environments[0]
    batch = gym.make_vec(entry.id, num_envs=3, **entry.held_out).unwrapped
    batch.reset(seed=0)
    assert [batch.task(i).name for i in range(3)] == [task.name for task in find_tasks("generated", "test")[:3]]
    assert {task.constraints["trial_number"] for task in batch.tasks} == {TRIALS}
