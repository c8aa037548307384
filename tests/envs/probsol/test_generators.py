"""Tasks that are made from seeds, and the file of the certified ones."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.probsol.certification import holding, replay, solves, start_distance, still
from gumption.envs.probsol.generators import Decision, finish, generate, generate_many
from gumption.envs.probsol.library import Row, certified, find_tasks, generated, read_rows, write_rows
from gumption.envs.probsol.tasks import CRAFTING, DISCOVERY, FAMILIES, read_task

SEEDS = range(3000, 3006)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_gives_one_task_whichever_others_are_made_beside_it(family):
    made = generate_many(family, SEEDS)
    assert generate(family, SEEDS[3]) == made[3][0]
    assert len({task.hash for task, _ in made}) == len(SEEDS)
    for seed, (task, decision) in zip(SEEDS, made, strict=True):
        assert task.name == f"{family.lower()}/seed-{seed}"
        assert finish(family, seed, decision) == task
        assert read_task(json.loads(json.dumps(task.to_json()))) == task


@pytest.mark.parametrize("family", FAMILIES)
def test_a_start_is_at_rest_and_not_solved(family):
    tasks = [task for task, _ in generate_many(family, SEEDS)]
    assert still(tasks).all()
    assert start_distance(tasks).all()


@pytest.mark.slow
@pytest.mark.parametrize("family", CRAFTING)
def test_a_shape_is_what_discs_came_to_rest_in(family):
    tasks = [task for task, _ in generate_many(family, SEEDS)]
    assert all(len(task.blocks) >= 4 for task in tasks)
    told = replay(tasks, [task.solution for task in tasks])
    assert told.solved.all()
    assert not told.refused.any()
    assert holding(tasks, [task.solution for task in tasks]).mean() >= 0.8


@pytest.mark.parametrize("family", DISCOVERY)
def test_discs_of_discovery_are_alike_as_the_family_says(family):
    for task, _ in generate_many(family, range(40)):
        kinds = {disc.id: (disc.mass, disc.magnetism, disc.polarity) for disc in task.objects}
        named = {kinds[one] for one in task.answer}
        others = [kind for one, kind in kinds.items() if one not in task.answer]
        assert all(disc.stored is not None for disc in task.objects)
        if family == "FindTheDiff":
            assert len(set(others)) == 1
            assert not named & set(others)
            assert len(kinds) >= (8 if len(task.answer) == 1 else 6)
        else:
            assert len(named) == 1
            assert len(task.answer) >= 2
            assert len(set(others)) == len(others)
            assert not named & set(others)


def test_each_trial_of_a_solution_begins_at_the_start():
    task = read_task(find_tasks("curling/0")[0])
    first = [action for action in task.solution if action[0] != "answer"]
    assert solves(task, first)
    assert not solves(task, first[: first.index(("check",)) + 1])
    told = replay([task], [first[:-1]])
    assert not told.solved[0]  # the goal is reached, and nobody has checked it
    assert told.tables.distance()[0] == 0.0
    assert not solves(task, [("place", 3, 3), *first])  # nothing is in hand: refused


# ---- the file that ships


@pytest.mark.parametrize("family", FAMILIES)
def test_certified_seeds_ship_and_a_sample_of_their_solutions_solves(family):
    rows = certified()[family]
    assert len(rows) >= 1000
    assert all(row.outcome == "certified" and row.chance <= 0.05 for row in rows)
    assert [row.seed for row in rows] == sorted({row.seed for row in rows})
    sample = [row.task() for row in rows[:: len(rows) // 10]]
    told = replay(sample, [task.solution for task in sample])
    assert told.solved.all()
    assert not told.refused.any()
    assert holding(sample, [task.solution for task in sample]).all()
    assert still(sample).all()


@pytest.mark.slow
def test_generated_tasks_are_found_by_name_and_part():
    tasks = find_tasks("findthesame/generated")
    assert tasks == generated("FindTheSame")
    parts = [find_tasks("findthesame/generated", part, 4) for part in ("train", "validation", "test")]
    assert sorted(task.name for part in parts for task in part) == sorted(task.name for task in tasks)
    assert len(find_tasks("generated")) == sum(len(certified()[family]) for family in FAMILIES)


def test_another_task_than_the_certified_one_is_refused():
    row = certified()["Fishing"][0]
    with pytest.raises(InputError, match=rf"fishing/seed-{row.seed} .* another task"):
        replace(row, hash="0" * 16).task()


def test_rows_are_written_and_read_again(tmp_path):
    path, packed = tmp_path / "rows.jsonl", tmp_path / "rows.jsonl.gz"
    rows = [certified()[family][k] for family in ("Modifying", "Fishing") for k in (1, 0)]
    rows.append(Row("Curling", 7, "unsolved", Decision(0), (), "ab", 0.02))
    write_rows(path, rows)
    write_rows(packed, rows[::-1])
    assert gzip.decompress(packed.read_bytes()) == path.read_bytes()
    read = read_rows(path)
    assert read == read_rows(packed)
    assert [(row.family, row.outcome) for row in read] == [
        ("Fishing", "certified"), ("Fishing", "certified"), ("Curling", "unsolved"), ("Modifying", "certified"),
        ("Modifying", "certified"),
    ]  # fmt: skip
    assert set(read) == set(rows)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{}\n", "holds no certified seeds of schema"),
        ('{"schema": "gumption/probsol-certified/1"}\n["Fishing", 1]\n', "line 2: "),
        (
            '{"schema": "gumption/probsol-certified/1"}\n["Fishin", 1, "certified", [0, [], []], "check", 1, "a", 0]\n',
            "line 2: no row of a seed",
        ),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, content, reason):
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=reason) as told:
        read_rows(path)
    assert str(path) in str(told.value)
    with pytest.raises(InputError, match="cannot be read"):
        read_rows(tmp_path / "none.jsonl")


def test_a_solution_that_is_almost_out_of_reach_is_fragile():
    task = find_tasks("fishing/0")[0]
    rows = np.arange(14, 24)
    solutions = [(("grab", "b"), ("place", 10, int(row)), ("check",)) for row in rows]
    told = replay([task] * len(rows), solutions)
    holds = holding([task] * len(rows), solutions)
    assert (told.solved >= holds).all()
    assert holds.any()
    assert not holds.all()
