import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv, enumerate_tasks, make_split
from gumption.envs.wordcraft.engine import EpisodeSampler, _sorting_network


def sampler(book, depth=1, distractors=2, uniform=False, alternatives=False, **more):
    tasks = enumerate_tasks(book, depth)
    return EpisodeSampler(tasks, distractors, uniform=uniform, alternatives=alternatives, **more)


def generator(seed=0):
    return np.random.Generator(np.random.PCG64(seed))


def ways(book, known, task):
    """Pairs of the known env ids with a distractor in them that can make the goal or an intermediate."""
    own = set(task["base"]) | set(task["wanted"])
    return [
        (a, b)
        for a, b in itertools.combinations_with_replacement(sorted(known), 2)
        if not {a, b} <= own and {p + 1 for p in book.products(a - 1, b - 1)} & {task["goal"], *task["wanted"]}
    ]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("alternatives", [False, True])
def test_tables(book, depth, alternatives):
    drawn = sampler(book, depth, 6, alternatives=alternatives)
    tasks = drawn.tasks
    episodes = drawn.draw_random(generator(), np.arange(len(tasks), dtype=np.int32), 1500)
    found = fewer = 0
    for task, column in zip(episodes.task, episodes.table.T, strict=True):
        table = column[column > 0].tolist()
        assert (column[len(table) :] == 0).all()
        assert len(set(table)) == len(table)
        own = {
            "goal": int(tasks.goal[task]),
            "base": [x for x in tasks.base[task].tolist() if x],
            "wanted": tasks.intermediates[task].tolist(),
        }
        assert set(own["base"]) <= set(table)
        assert not {own["goal"], *own["wanted"]} & set(table)
        fewer += len(table) < len(own["base"]) + 6
        found += bool(ways(book, {*table, *own["wanted"]}, own))
    assert fewer == 0
    assert found > 0 if alternatives else found == 0


def test_training_tables_do_not_depend_on_recipes_outside_training(alchemy):
    """Where the products of all other recipes are exchanged, training tables and what training pairs make stay."""
    split = make_split(alchemy, fit_validation=True)
    test = split.test_recipes
    shifted = np.concatenate([test[:, :2], np.roll(test[:, 2:], 1, axis=0)], axis=1)
    rows = np.concatenate([split.train_recipes, shifted[(shifted[:, :2] != shifted[:, 2:]).all(axis=1)]])
    names = alchemy.entities
    other = RecipeBook("other", names, [(names[c], names[a], names[b]) for a, b, c in rows.tolist()])
    found = []
    for book in (alchemy.only(alchemy.recipes), other):
        same = [tuple(row) for row in split.train_recipes.tolist()]
        tasks = enumerate_tasks(book)
        chosen = [i for i, row in enumerate(book.recipes[tasks.recipes[:, 0]].tolist()) if tuple(row) in set(same)]
        known = book.only(split.train_recipes)
        drawn = EpisodeSampler(tasks, 8, uniform=False, alternatives=False, known=known)
        found.append(drawn.draw(generator(), np.array(chosen, dtype=np.int32)).table)
        assert not np.array_equal(drawn.weights, book.ingredient_counts + 1)
    assert np.array_equal(*found)


def test_in_training_there_are_training_recipes_alone(alchemy):
    """A drawn training episode is played by these; a task that is set up by hand by the whole book."""
    env = WordCraftVectorEnv(256, recipe_book=alchemy, num_distractors=8, autoreset_mode="Disabled")
    split, tasks = env.split, env.tasks
    train = {tuple(row) for row in split.train_recipes.tolist()}
    made = 0
    for seed in range(4):
        env.reset(seed=seed)
        first, second = env.random_actions(), env.random_actions()
        pairs = np.sort(np.stack([env.table[np.arange(256), slot] for slot in (first, second)], axis=1) - 1, axis=1)
        env.step(first)
        env.step(second)
        for pair, product in zip(pairs.tolist(), env.engine.product.tolist(), strict=True):
            assert not product or (*pair, product - 1) in train
            made += product > 0
    assert made > 10
    env.reset(seed=0)
    chosen = split.test_tasks[:256]
    env.set_tasks(chosen)
    for column in (0, 1):
        row = alchemy.recipes[tasks.recipes[chosen, 0], column] + 1
        env.step((env.table == row[:, None]).argmax(axis=1))
    assert env.success.all()
    a, b, c = (alchemy.entities[i] for i in split.test_recipes[0])
    env.reset(seed=0, options={"goal": c, "table": [a, b]} if a != b else {"goal": c, "table": [a]})
    env.step(np.zeros(256, dtype=np.int64))
    env.step(np.full(256, int(a != b)))
    assert env.success.all()


def test_the_2020_rules_play_by_all_recipes(alchemy):
    env = WordCraftVectorEnv(1, recipe_book=alchemy, rules="2020")
    assert env.engine.known is alchemy
    assert np.array_equal(env.engine.sampler.weights, alchemy.ingredient_counts + 1)
    assert env.split.parts == ("train", "test")


def test_a_book_without_enough_harmless_entities_gives_fewer_distractors():
    entities = ["goal", *"abcdef"]
    rows = [("goal", x, y) for x, y in itertools.combinations_with_replacement("abcde", 2)]
    book = RecipeBook("dense", entities, rows)
    drawn = sampler(book, 1, 3)
    tables = drawn.draw_random(generator(), np.arange(15, dtype=np.int32), 200).table
    harmless = {book.entity_id("f") + 1}
    for column, base in zip(tables.T, [1] * 200, strict=True):
        assert base <= np.count_nonzero(column) <= 3
        assert harmless <= set(column.tolist())
    with pytest.raises(InputError, match=r"num_distractors is 5; .* between 0 and 4"):
        sampler(book, 1, 5)
    with pytest.raises(InputError, match="num_distractors is -1"):
        sampler(book, 1, -1)


def expected_shares(book, tasks, task, weights, first=None):
    """Probability of each acceptable distractor of a depth-1 task, given the one drawn before."""
    goal, base = int(tasks.goal[task]), {int(x) for x in tasks.base[task] if x}
    known = base | ({first} if first else set())
    ids = [x for x in range(1, len(book.entities) + 1) if x != goal and x not in known]
    ids = [x for x in ids if not any(goal - 1 in book.products(x - 1, y - 1) for y in known | {x})]
    total = sum(weights[x - 1] for x in ids)
    return {x: weights[x - 1] / total for x in ids}


@pytest.mark.parametrize("uniform", [False, True])
def test_distractors_are_drawn_by_weight_one_after_the_other(book, uniform):
    drawn = sampler(book, 1, 2, uniform=uniform)
    tasks = drawn.tasks
    labels = [tasks[i].goal for i in range(len(tasks))]
    task = labels.index("charcoal")
    count = 60_000
    table = drawn.draw(generator(3), np.full(count, task, dtype=np.int32)).table
    base = {int(x) for x in tasks.base[task]}
    pairs: dict[frozenset, int] = {}
    for column in table.T.tolist():
        pair = frozenset(x for x in column if x and x not in base)
        pairs[pair] = pairs.get(pair, 0) + 1
    weights = np.ones(len(book.entities)) if uniform else book.ingredient_counts + 1
    chances: dict[frozenset, float] = {}
    for first, p in expected_shares(book, tasks, task, weights).items():
        for second, q in expected_shares(book, tasks, task, weights, first).items():
            chances[frozenset((first, second))] = chances.get(frozenset((first, second)), 0.0) + p * q
    assert set(pairs) <= set(chances)
    spread = [(pairs.get(pair, 0) - count * p) / np.sqrt(count * p) for pair, p in chances.items()]
    chi_square, freedom = float(np.square(spread).sum()), len(chances) - 1
    assert abs(chi_square - freedom) < 5 * np.sqrt(2 * freedom)


def test_the_exhaustive_draw_has_the_same_distribution(book, monkeypatch):
    drawn = sampler(book, 1, 1)
    task = [drawn.tasks[i].goal for i in range(len(drawn.tasks))].index("brick")
    monkeypatch.setattr("gumption.envs.wordcraft.engine.TRIES", 0)
    count = 20_000
    table = drawn.draw(generator(1), np.full(count, task, dtype=np.int32)).table
    base = {int(x) for x in drawn.tasks.base[task]}
    shares = expected_shares(book, drawn.tasks, task, book.ingredient_counts + 1)
    found = np.bincount([x for x in table.T.reshape(-1).tolist() if x and x not in base], minlength=29)
    for entity, p in shares.items():
        assert abs(found[entity] - count * p) < 5 * np.sqrt(count * p)
    assert sum(found) == count


def test_the_2020_draw_repeats_entities(book):
    table = sampler(book, 1, 8, as_2020=True).draw_random(generator(), np.arange(30, dtype=np.int32), 300).table
    assert any(len(set(column)) < len(column) for column in (c[c > 0].tolist() for c in table.T))


def test_the_table_is_shuffled_uniformly(book):
    drawn = sampler(book, 1, 3)
    count = 50_000
    episodes = drawn.draw(generator(), np.zeros(count, dtype=np.int32))
    for entity in drawn.tasks.base[0]:
        places = (episodes.table == entity).sum(axis=1)
        assert np.abs(places - count / 5).max() < 5 * np.sqrt(count * 0.16)


@pytest.mark.parametrize("size", range(1, 17))
def test_sorting_network(size):
    rng = generator(size)
    for _ in range(50):
        row = rng.integers(0, 9, size=size).tolist()
        expected = sorted(row)
        for low, high in _sorting_network(size):
            row[low], row[high] = min(row[low], row[high]), max(row[low], row[high])
        assert row == expected


TRACE = """
import hashlib, sys
import numpy as np
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv, facts, make_split
rows = [tuple(line.split(",")) for line in sys.argv[1].split(";")]
book = RecipeBook("small", list(dict.fromkeys(x for row in rows for x in row)), rows)
digest = hashlib.sha256(repr([make_split(book, m, 0.6, 4).hash for m in ("by_recipe", "by_goal", "by_task")]).encode())
digest.update(repr(list(facts(book, partition="train", train_ratio=0.6))).encode())
env = WordCraftVectorEnv(16, recipe_book=book, depth=2, num_distractors=4, train_ratio=0.6)
env.reset(seed=7)
for _ in range(200):
    reward, done, success = env.step_arrays(env.random_actions())
    for array in (reward, done, success, env.table, env.goal, env.task_index):
        digest.update(np.ascontiguousarray(array).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_same_seed_same_episodes_under_two_hash_seeds(rows):
    listed = ";".join(",".join(row) for row in rows)
    digests = {
        subprocess.run(
            [sys.executable, "-c", TRACE, listed],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(digests) == 1


def test_environments_of_a_batch_have_different_streams(book):
    env = WordCraftVectorEnv(64, recipe_book=book, num_distractors=3)
    env.reset(seed=0)
    assert len(set(map(tuple, env.table.tolist()))) > 50
