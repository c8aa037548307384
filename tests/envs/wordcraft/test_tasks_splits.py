import itertools
import re
from dataclasses import replace
from unittest import mock

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs import worlds
from gumption.envs.wordcraft import RecipeBook, Split, enumerate_tasks, facts, make_split, recipe_facts
from gumption.envs.wordcraft import tasks as tasks_module
from gumption.envs.wordcraft.split_check import check_split
from gumption.envs.wordcraft.splits import KINDS, PARTS, resolve_split, set_aside_together
from gumption.envs.wordcraft.tasks import _expand_from_goals

# by_family is tested below: it needs a book with families
REAL = np.random.PCG64
MODES = ["by_recipe", "by_recipe_train_all_goals", "by_goal", "by_goal_train_terminals", "by_task"]


@pytest.mark.parametrize(
    ("depth", "tasks", "without_shortcuts", "goals", "base_sizes"),
    [
        (1, 3417, 3417, 697, {2: 3280, 1: 137}),
        (2, 35280, 35280 - 8167, 696, {3: 31095, 2: 4141, 1: 44}),
        (3, 421438, None, 696, None),
    ],
)
def test_counts_of_the_2020_book(alchemy, depth, tasks, without_shortcuts, goals, base_sizes):
    listed = enumerate_tasks(alchemy, depth, shortcuts=True)
    assert len(listed) == tasks
    assert len(np.unique(listed.goal)) == goals
    sizes = np.bincount((listed.base > 0).sum(axis=1))
    if base_sizes:
        assert {size: count for size, count in enumerate(sizes.tolist()) if count} == base_sizes
    filtered = enumerate_tasks(alchemy, depth)
    assert len(filtered) == without_shortcuts if without_shortcuts else len(filtered) < tasks


def test_tasks_are_all_acyclic_sets_of_recipes(book):
    """Against a slow enumeration: choose one recipe for some entities, keep the connected acyclic choices."""
    rows = [tuple(row) for row in book.recipes.tolist()]
    for depth in (1, 2, 3):
        expected = set()
        for chosen in itertools.combinations(rows, depth):
            products = {row[2] for row in chosen}
            if len(products) < depth:
                continue
            used = {x for row in chosen for x in row[:2]}
            goals = products - used
            if len(goals) != 1 or _has_cycle(chosen):
                continue
            expected.add((goals.pop(), chosen))
        tasks = enumerate_tasks(book, depth, shortcuts=True)
        found = [
            (int(tasks.goal[i]) - 1, tuple(tuple(row) for row in book.recipes[tasks.recipes[i]].tolist()))
            for i in range(len(tasks))
        ]
        assert len(found) == len(set(found))
        assert set(found) == expected
        for i in range(len(tasks)):
            chosen = found[i][1]
            products = {row[2] for row in chosen}
            assert set(tasks.base[i][tasks.base[i] > 0] - 1) == {x for row in chosen for x in row[:2]} - products
            assert set(tasks.intermediates[i] - 1) == products - {found[i][0]}


def _has_cycle(chosen):
    needs = {row[2]: set(row[:2]) for row in chosen}
    while needs:
        free = [product for product, used in needs.items() if not used & set(needs)]
        if not free:
            return True
        for product in free:
            del needs[product]
    return False


def test_shortcuts_are_the_tasks_that_fewer_mixes_solve(book):
    def solvable(known, goal, wanted, mixes):
        for a, b in itertools.combinations_with_replacement(sorted(known), 2):
            made = book.mix(*(np.array([x]) for x in (a, b, goal)), np.array([wanted]))[0]
            if made == goal:
                return True
            left = [w if w != made else 0 for w in wanted]
            if made and mixes > 1 and solvable(known | {int(made)}, goal, left, mixes - 1):
                return True
        return False

    for depth in (2, 3):
        everything, filtered = enumerate_tasks(book, depth, shortcuts=True), enumerate_tasks(book, depth)
        kept = {(int(filtered.goal[i]), tuple(filtered.recipes[i])) for i in range(len(filtered))}
        for i in range(len(everything)):
            known = {int(x) for x in everything.base[i] if x}
            short = solvable(known, int(everything.goal[i]), everything.intermediates[i].tolist(), depth - 1)
            assert ((int(everything.goal[i]), tuple(everything.recipes[i])) in kept) == (not short)


def test_task_in_labels(book):
    tasks = enumerate_tasks(book, 2)
    listed = {(tasks[i].goal, tasks[i].base, tasks[i].intermediates) for i in range(len(tasks))}
    assert ("brick", ("earth", "fire", "water"), ("mud",)) in listed
    assert ("house", ("brick",), ("wall",)) in listed
    with pytest.raises(InputError, match="depth is 7; it is a whole number from 1 to 6"):
        enumerate_tasks(book, 7)
    with pytest.raises(InputError, match="no task of depth 2"):
        enumerate_tasks(RecipeBook("tiny", ["a", "b", "c"], [("c", "a", "b")]), 2)


@pytest.mark.parametrize("depth", [4, 5])
def test_deeper_tasks_are_drawn_and_are_acyclic_sets_of_recipes(alchemy, depth):
    tasks = enumerate_tasks(alchemy, depth, shortcuts=True)
    filtered = enumerate_tasks(alchemy, depth)
    assert 9_000 < len(tasks) <= 10_000
    assert len(np.unique(tasks.recipes, axis=0)) == len(tasks)
    assert 1_000 < len(filtered) < len(tasks)
    for drawn in (tasks, filtered):
        for index in range(0, len(drawn), 500):
            rows = [tuple(row) for row in alchemy.recipes[drawn.recipes[index]].tolist()]
            products, used = {row[2] for row in rows}, {x for row in rows for x in row[:2]}
            assert len(products) == depth
            assert products - used == {int(drawn.goal[index]) - 1}
            assert products - {int(drawn.goal[index]) - 1} == {int(x) - 1 for x in drawn.intermediates[index]}
            assert used - products == {int(x) - 1 for x in drawn.base[index] if x}
            assert not _has_cycle(rows)


def test_the_draw_of_a_deep_task_is_uniform_at_each_step():
    """A goal of two recipes; one of its ingredients has three recipes, the other one: the four ways are alike."""
    rows = [("g", "x", "y"), ("x", "a", "b"), ("x", "a", "c"), ("x", "b", "c"), ("y", "d", "e"), ("g", "h", "h")]
    book = RecipeBook("ways", sorted({name for row in rows for name in row}), rows)
    *_, used = _expand_from_goals(book, 2, 1)
    counts = {}
    for number in range(4000):
        with mock.patch.object(tasks_module.np.random, "PCG64", lambda _, number=number: REAL(number)):
            *_, used = _expand_from_goals(book, 2, 1)
        for way in map(tuple, used.tolist()):
            counts[way] = counts.get(way, 0) + 1
    assert len(counts) == 4  # g is drawn once in six, as the recipe x + y; the other recipes end at once
    assert all(abs(count / 4000 - 1 / 24) < 0.01 for count in counts.values())


@pytest.mark.parametrize("depth", [4, 5])
def test_a_deep_task_can_be_solved_and_not_by_fewer_mixes(book, depth):
    def fewest(known, goal, wanted, mixes):
        for a, b in itertools.combinations_with_replacement(sorted(known), 2):
            made = book.mix(*(np.array([x]) for x in (a, b, goal)), np.array([wanted]))[0]
            if made == goal:
                return True
            left = [w if w != made else 0 for w in wanted]
            if made and made not in known and mixes > 1 and fewest(known | {int(made)}, goal, left, mixes - 1):
                return True
        return False

    tasks = enumerate_tasks(book, depth, shortcuts=True)
    kept = {tuple(row) for row in enumerate_tasks(book, depth).recipes.tolist()} if depth == 4 else set()
    for index in range(0, len(tasks), 7):
        known = {int(x) for x in tasks.base[index] if x}
        goal, wanted = int(tasks.goal[index]), tasks.intermediates[index].tolist()
        assert fewest(known, goal, wanted, depth)
        if depth == 4:
            assert (tuple(tasks.recipes[index].tolist()) in kept) == (not fewest(known, goal, wanted, depth - 1))


def test_the_parts_of_deep_tasks_are_those_of_their_recipes(alchemy):
    split = make_split(alchemy, depth=4)
    flat = make_split(alchemy, depth=1)
    tasks = enumerate_tasks(alchemy, 4)
    part_of = {tuple(row): part for part in PARTS for row in flat.recipes(part).tolist()}
    for part in PARTS:
        for index in split.tasks(part)[::20].tolist():
            parts = {part_of[tuple(row)] for row in alchemy.recipes[tasks.recipes[index]].tolist()}
            assert max(parts, key=PARTS.index) == part
    env = gym.make_vec("gumption/WordCraft-v0", num_envs=64, recipe_book=alchemy, depth=4, split=split).unwrapped
    env.reset(seed=0)
    assert set(env.task_index.tolist()) <= set(split.train_tasks.tolist())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("depth", [1, 2])
def test_parts_are_disjoint_and_leak_nothing(alchemy, mode, depth):
    split = make_split(alchemy, mode, 0.8, seed=3, depth=depth)
    train, held, test = ({tuple(row) for row in split.recipes(part).tolist()} for part in PARTS)
    assert not train & test | train & held | held & test
    assert sum(len(split.tasks(part)) for part in PARTS) == len(split.tasks("all"))
    assert split.parts == PARTS
    tasks = enumerate_tasks(alchemy, depth)
    used = {tuple(row) for row in alchemy.recipes[np.unique(tasks.recipes[split.train_tasks])].tolist()}
    assert used <= train
    pairs = [{row[:2] for row in part} for part in (train, held, test)]
    goals = [{row[2] for row in part} for part in (train, held, test)]
    if mode.startswith("by_recipe"):
        assert not pairs[0] & pairs[1] | (pairs[0] | pairs[1]) & pairs[2]
        assert len(train | held | test) == 3417
        assert len(split.tasks("all")) + sum(split.left_out.values()) == len(tasks)
    if mode == "by_recipe":
        assert [len(part) for part in pairs] == [2098, 524, 655]  # 64, 16 and 20 % of 3277
    if mode == "by_recipe_train_all_goals":
        assert len(goals[0]) == 697
    if mode.startswith("by_goal"):
        assert not goals[0] & goals[1] | (goals[0] | goals[1]) & goals[2]
        assert [len(part) for part in goals] == [447, 111, 139]
        for part, seen in (("validation", train), ("test", train | held)):
            assert not {int(g) for g in tasks.goal[split.tasks(part)]} & {row[2] + 1 for row in seen}
    if mode == "by_goal_train_terminals":
        assert set(alchemy.terminals.tolist()) <= goals[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("depth", [1, 2])
def test_the_test_part_is_the_same_with_validation_in_training(alchemy, mode, depth):
    split, last = (make_split(alchemy, mode, 0.8, 3, depth, fit_validation=fit) for fit in (False, True))
    assert np.array_equal(last.test_tasks, split.test_tasks)
    assert np.array_equal(last.test_recipes, split.test_recipes)
    inner = np.concatenate([split.recipes("train"), split.recipes("validation")])
    assert np.array_equal(np.unique(inner, axis=0), last.train_recipes)
    assert set(split.tasks("train")) | set(split.tasks("validation")) <= set(last.train_tasks)
    assert last.parts == ("train", "test")
    assert last.parameters == split.parameters
    with pytest.raises(InputError, match="no validation part: it is a part of training here; gumption"):
        last.tasks("validation")
    if mode == "by_task":
        assert len(last.train_tasks) + last.left_out["train"] == -(-len(enumerate_tasks(alchemy, depth)) * 4 // 5)


# What gumption 0.2 made, whose splits had two parts: the rows of saved results have these test tasks.
SECOND_VERSION = {
    "by_recipe": "5a192b42f86bd3c89a959c157de4b4947603ad49358060a0fa5c1492c0698920",
    "by_goal": "6ad4f848561c4b965af1da4cbc18f51bc323d1b7ed32b44b15a12fa704cea907",
    "by_task": "224a59547b82a506676246e90ba65f1238e1b8d4630d91450e60d4fd464379fa",
}


@pytest.mark.parametrize("mode", SECOND_VERSION)
def test_the_test_part_of_a_seed_is_that_of_two_part_splits(alchemy, mode):
    assert make_split(alchemy, mode, 0.8, seed=1, fit_validation=True).hash == SECOND_VERSION[mode]


def with_origins(book, origin):
    """The book again, each of its recipes with the origin that a function gives to its row."""
    rows = [[book.entities[i] for i in row] for row in book.recipes.tolist()]
    again = RecipeBook("families", book.entities, [(c, a, b) for a, b, c in rows])
    again.origins = tuple(origin(number) for number in range(len(again)))
    return again


ORIGINS = ("family:tools", "own", "family:cooking", "family:weather", "paper", "family:tools", "family:beasts")


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_families_are_held_out_whole(alchemy, depth, seed):
    book = with_origins(alchemy, lambda row: ORIGINS[row % 7] if row % 2 else f"family:more {row % 13}")
    split = make_split(book, "by_family", 0.8, seed=seed, depth=depth)
    assert check_split(split, book) == []
    part_of = {tuple(row): part for part in PARTS for row in split.recipes(part).tolist()}
    assert len(part_of) == len(book)
    where = {}
    for row, origin in zip(book.recipes.tolist(), book.origins, strict=True):
        where.setdefault(origin, set()).add(part_of[tuple(row)])
    assert all(len(parts) == 1 for parts in where.values())
    assert where["own"] == where["paper"] == {"train"}
    held = [sum(parts == {part} for origin, parts in where.items() if origin.startswith("family:")) for part in PARTS]
    assert held == [12, 2, 3]  # of 17 families 14 are outside the test, of these 12 outside validation
    tasks = enumerate_tasks(book, depth)
    test = {tuple(row) for row in split.test_recipes.tolist()}
    for index in split.test_tasks[::50].tolist():
        assert {tuple(row) for row in book.recipes[tasks.recipes[index]].tolist()} & test


def test_what_is_set_aside_together(book):
    book = with_origins(book, lambda row: "own" if row % 3 else f"family:{row % 2}")
    rows = book.recipes
    assert set_aside_together(book, "by_recipe") is None
    by_goal, by_family = (set_aside_together(book, mode) for mode in ("by_goal", "by_family"))
    assert by_goal(rows).tolist() == rows[:, 2].tolist()
    families = by_family(rows)
    assert {(origin, group) for origin, group in zip(book.origins, families.tolist(), strict=True)} == {
        ("own", -1), ("family:0", 0), ("family:1", 1)
    }  # fmt: skip
    assert by_family(rows[:, [1, 0, 2]]).tolist() == families.tolist(), "a recipe has no order"
    assert by_family(np.array([[0, 0, 0], [500, 1, 2]])).tolist() == [-1, -1], "facts of another graph"


def test_a_split_by_family_needs_families(book):
    for origins in (None, ("own",) * 35):
        plain = with_origins(book, lambda row: "own")
        plain.origins = origins
        with pytest.raises(InputError, match="families names no families, so it has no split by_family; write family:"):
            make_split(plain, "by_family")
    one = with_origins(book, lambda row: "family:all")
    with pytest.raises(InputError, match=r"leaves test_tasks empty"):
        make_split(one, "by_family")


def test_a_task_that_a_recipe_of_the_other_part_solves_is_left_out() -> None:
    """Wheel + wheel and wheel + seat make a bicycle: whichever of the two is for testing, the other's task knows it."""
    rows = [("bicycle", "wheel", "wheel"), ("bicycle", "seat", "wheel"), ("chair", "seat", "wood")]
    book = RecipeBook("wheels", ["bicycle", "chair", "seat", "wheel", "wood"], rows)
    tasks = enumerate_tasks(book)
    assert [tasks[i].recipes[0] for i in range(3)] == [
        ("seat", "wheel", "bicycle"),
        ("wheel", "wheel", "bicycle"),
        ("seat", "wood", "chair"),
    ]
    # Wheel + wheel is for testing, and in no training task.
    split = make_split(book, train_ratio=0.6, seed=1, fit_validation=True)
    assert (split.train_tasks.tolist(), split.test_tasks.tolist()) == ([2], [1])
    assert split.left_out == {"train": 1, "test": 0}
    assert len(split.train_recipes) == 2
    # Seat + wood is for testing, and nothing else makes a chair.
    split = make_split(book, train_ratio=0.6, seed=0, fit_validation=True)
    assert split.left_out == {"train": 0, "test": 0}
    with pytest.raises(InputError, match="leaves test_tasks empty"):  # seat + wheel is, and wheel + wheel solves it
        make_split(book, train_ratio=0.6, seed=3, fit_validation=True)


@pytest.mark.parametrize("mode", ["by_recipe", "by_recipe_train_all_goals"])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("seed", [3, 6])
def test_no_task_is_left_out_that_the_check_lets_pass(book, mode, depth, seed):
    split = make_split(book, mode, 0.6, seed=seed, depth=depth, fit_validation=True)
    unseen = {tuple(book.entities[i] for i in row) for row in split.test_recipes.tolist()}
    tasks = enumerate_tasks(book, depth)
    left_out = {"train": 0, "test": 0}
    for i in np.setdiff1d(np.arange(len(tasks)), split.tasks("all")).tolist():
        part = "test" if unseen.intersection(tasks[i].recipes) else "train"
        left_out[part] += 1
        back = replace(split, **{f"{part}_tasks": np.union1d(getattr(split, f"{part}_tasks"), [i])})
        (fault,) = check_split(back, book)
        assert re.match(
            rf"(training|test) task {i} \(.*\) is solved (with .*, a test recipe|by earlier parts alone: )", fault
        )
    assert split.left_out == left_out
    assert sum(left_out.values())
    inner = make_split(book, mode, 0.6, seed=seed, depth=depth)
    assert len(inner.tasks("all")) + sum(inner.left_out.values()) == len(tasks)
    held = {tuple(book.entities[i] for i in row) for row in inner.validation_recipes.tolist()}
    for i in np.setdiff1d(split.train_tasks, inner.tasks("all")).tolist():
        part = "validation" if held.intersection(tasks[i].recipes) else "train"
        back = replace(inner, **{f"{part}_tasks": np.union1d(getattr(inner, f"{part}_tasks"), [i])})
        (fault,) = check_split(back, book)
        assert re.match(rf".* task {i} .* is solved (with .*, a validation recipe|by earlier parts alone: )", fault)


def test_a_file_by_the_rules_of_2020_loads_and_fails_the_check(book, tmp_path):
    split = make_split(book, train_ratio=0.6, seed=6, depth=2, fit_validation=True)
    tasks = enumerate_tasks(book, 2)
    unseen = {tuple(book.entities[i] for i in row) for row in split.test_recipes.tolist()}
    test = [i for i in range(len(tasks)) if unseen.intersection(tasks[i].recipes)]
    train = np.setdiff1d(np.arange(len(tasks)), test)
    first = replace(split, train_tasks=train, test_tasks=np.array(test), left_out=None)
    first.save(tmp_path / "first.json")
    assert b'"schema":"gumption/wordcraft-split/1"' in (tmp_path / "first.json").read_bytes()
    assert Split.load(tmp_path / "first.json", book).hash == first.hash != split.hash
    env = gym.make("gumption/WordCraft-v0", recipe_book=book, depth=2, split=str(tmp_path / "first.json"))
    assert env.unwrapped.split.hash == first.hash
    assert any("is solved" in fault for fault in check_split(first, book))


def test_a_file_for_the_last_fit_loads_and_any_split_gives_it(book, tmp_path):
    last = make_split(book, train_ratio=0.6, seed=6, fit_validation=True)
    last.save(tmp_path / "second.json")
    assert b'"schema":"gumption/wordcraft-split/2"' in (tmp_path / "second.json").read_bytes()
    assert check_split(Split.load(tmp_path / "second.json", book), book) == []
    assert resolve_split(book, tmp_path / "second.json", 0.8, 0, 1, False, False, True).hash == last.hash
    make_split(book, train_ratio=0.6, seed=6).save(tmp_path / "third.json")
    assert resolve_split(book, tmp_path / "third.json", 0.8, 0, 1, False, False, True).hash == last.hash


@pytest.mark.parametrize("mode", MODES)
def test_split_depends_on_seed_and_sorted_data_alone(book, rows, mode):
    first = make_split(book, mode, 0.7, seed=1)
    other_file = RecipeBook("other", sorted({x for row in rows for x in row}), [*rows[11:], *rows[:11]])
    assert make_split(other_file, mode, 0.7, seed=1).hash == first.hash
    assert any(make_split(book, mode, 0.7, seed=seed).hash != first.hash for seed in range(2, 6))


def test_modes_at_a_low_ratio(alchemy):
    split = make_split(alchemy, "by_recipe_train_all_goals", 0.2, seed=0)
    assert len(np.unique(split.train_recipes[:, 2])) == 697
    assert set(np.unique(split.train_recipes)) == set(range(700))
    plain = make_split(alchemy, "by_recipe", 0.2, seed=0)
    assert len(np.unique(plain.train_recipes[:, 2])) < 697


def test_bad_splits(book):
    with pytest.raises(InputError, match="mode is 'by_colour'; it can be by_recipe"):
        make_split(book, "by_colour")
    for ratio in (0.0, 1.0, 1.5, float("nan")):
        with pytest.raises(InputError, match=r"train_ratio is .*(it is a (finite )?number above 0|use split='none')"):
            make_split(book, train_ratio=ratio)
    with pytest.raises(InputError, match="leaves test_tasks empty"):
        make_split(book, train_ratio=0.99)
    with pytest.raises(InputError, match="leaves test_tasks empty"):
        make_split(book, "by_goal_train_terminals", train_ratio=0.999)
    tiny = RecipeBook("tiny", list("abcdefg"), [(c, "a", "b") for c in "cdefg"] + [("g", "a", x) for x in "bcde"])
    assert make_split(tiny, "by_recipe", 0.7).parts == ("train", "test")  # three pairs outside the test: too few
    with pytest.raises(InputError, match="'by_recipe' has no validation part; use partition='train'"):
        make_split(tiny, "by_recipe", 0.7).tasks("validation")
    everything = make_split(book, "none")
    assert everything.tasks("train").tolist() == everything.tasks("all").tolist() == list(range(35))
    with pytest.raises(InputError, match="'none' has no test part"):
        everything.tasks("test")
    with pytest.raises(InputError, match="partition is 'dev'"):
        everything.tasks("dev")


@pytest.mark.parametrize("mode", [*MODES, "none"])
def test_split_file(book, tmp_path, mode):
    split = make_split(book, mode, 0.7, seed=5, depth=2, shortcuts=True)
    split.save(tmp_path / "split.json")
    loaded = Split.load(tmp_path / "split.json", book)
    assert loaded.hash == split.hash
    assert loaded.parameters == split.parameters
    for part in PARTS:
        for kind in KINDS:
            assert np.array_equal(loaded.of(kind, part), split.of(kind, part))
    assert [file.name for file in tmp_path.iterdir()] == ["split.json"]


def test_changed_split_file(book, tmp_path):
    path = tmp_path / "split.json"
    make_split(book, seed=5, train_ratio=0.7).save(path)
    text = path.read_bytes()
    for position in range(0, len(text), 7):
        changed = bytearray(text)
        changed[position] ^= 1
        path.write_bytes(bytes(changed))
        with pytest.raises(InputError, match=r"split\.json"):
            Split.load(path, book)
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        Split.load(tmp_path / "none.json")
    path.write_bytes(text)
    other = RecipeBook("tiny", ["a", "b", "c"], [("c", "a", "b")])
    with pytest.raises(InputError, match=r"made for the recipe book small .* not for tiny"):
        Split.load(path, other)


def test_resolve_split(book, tmp_path):
    split = make_split(book, "by_recipe", 0.7, seed=5)
    split.save(tmp_path / "split.json")
    for source in (split, tmp_path / "split.json", str(tmp_path / "split.json")):
        assert resolve_split(book, source, 0.5, 1, 1, False).hash == split.hash
    assert resolve_split(book, None, 0.8, 0, 1, False).parameters["mode"] == "none"
    with pytest.raises(InputError, match="made with depth=1, the environment has 2"):
        resolve_split(book, split, 0.8, 0, 2, False)
    with pytest.raises(InputError, match="or a split file ending in"):
        resolve_split(book, "by_colour", 0.8, 0, 1, False)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stated", [facts, recipe_facts])
def test_facts_leak_nothing(alchemy, mode, stated):
    split = make_split(alchemy, mode, 0.8, seed=2)
    train, held, test, everything = (
        list(stated(alchemy, partition=part, split=mode, split_seed=2)) for part in (*PARTS, "all")
    )
    for part in (train, held, test, everything):
        assert part == sorted(set(part))
    # A recipe node that has products of two parts has its ingredients in both.
    shared = [(set(train) & set(held)), (set(train) | set(held)) & set(test)]
    assert {relation for facts_of_two in shared for _, relation, _ in facts_of_two} <= {"hasIngredient"}
    assert stated is recipe_facts or not any(shared)
    assert len(train) + len(held) + len(test) - sum(map(len, shared)) == len(everything)
    assert set(train) | set(held) | set(test) == set(everything)
    last = list(stated(alchemy, partition="train", split=mode, split_seed=2, fit_validation=True))
    assert last == sorted({*train, *held})
    assert list(stated(alchemy, partition="test", split=mode, split_seed=2, fit_validation=True)) == test
    implied = set()
    for a, b, c in split.train_recipes.tolist():
        x, y, z = (alchemy.entities[i] for i in (a, b, c))
        if stated is facts:
            implied |= {(x, "combinesWith", y), (y, "combinesWith", x), (x, "componentOf", z), (y, "componentOf", z)}
        else:
            node = f"recipe:{x}+{y}"
            implied |= {(node, "hasIngredient", x), (node, "hasIngredient", y), (node, "hasProduct", z)}
    assert set(train) == implied
    assert list(stated(alchemy, partition="train", split=split)) == train


@pytest.mark.parametrize("mode", MODES)
def test_every_recipe_of_the_test_is_asked_for_leaks_whole(alchemy, mode):
    split = make_split(alchemy, mode, 0.8, seed=2)
    rows = {part: {tuple(row) for row in split.of("recipes", part).tolist()} for part in PARTS}
    asked = worlds.find("wordcraft").asked("test", recipe_book=alchemy, split=split)
    recipes = {tuple(fact[1:]) for fact in asked if fact[0] == "makes"}
    wanted = rows["test"] - rows["train"] - rows["validation"]
    assert recipes == {(*sorted(alchemy.entities[i] for i in (a, b)), alchemy.entities[c]) for a, b, c in wanted}


def test_facts_of_a_small_book(book):
    everything = list(facts(book, partition="all"))
    assert ("fire", "componentOf", "energy") in everything
    assert ("fire", "combinesWith", "fire") in everything
    assert ("mud", "combinesWith", "air") not in everything
    nodes = [triple for triple in recipe_facts(book, partition="all") if triple[0] == "recipe:fire+wood"]
    assert nodes == [
        ("recipe:fire+wood", "hasIngredient", "fire"),
        ("recipe:fire+wood", "hasIngredient", "wood"),
        ("recipe:fire+wood", "hasProduct", "campfire"),
        ("recipe:fire+wood", "hasProduct", "charcoal"),
        ("recipe:fire+wood", "hasProduct", "smoke"),
    ]
    with pytest.raises(TypeError):
        facts(book)
    with pytest.raises(InputError, match="partition is 'by_recipe'; it can be train, validation, test, all"):
        facts(book, partition="by_recipe")
    with pytest.raises(InputError, match="'none' has no test part"):
        facts(book, partition="test", split="none")
    with pytest.raises(InputError, match="'none' has no validation part"):
        facts(book, partition="validation", split="none")


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    ratio=st.floats(0.5, 0.7),
    mode=st.sampled_from([m for m in MODES if m != "by_recipe_train_all_goals"]),
)
def test_any_split_covers_and_separates(book, seed, ratio, mode):
    split = make_split(book, mode, ratio, seed)
    parts = [{tuple(row) for row in split.of("recipes", part).tolist()} for part in PARTS]
    assert len(set().union(*parts)) == sum(map(len, parts)) == 35
    assert not set(facts(book, partition="train", split=split)) & set(facts(book, partition="test", split=split))
