"""Splits of the certified tasks, and their files."""

import json
import shutil

import pytest

from gumption.data import InputError
from gumption.envs.probsol.library import FOLDS, certified, partition_of
from gumption.envs.probsol.splits import FORMAT, NAMES, PARTS, check_splits, make_split, write_splits
from gumption.envs.probsol.tasks import FAMILIES


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("splits") / "probsol"
    assert write_splits(folder)
    return folder


def test_a_fold_has_the_shares_that_it_says():
    seeds = list(range(5000))
    for fold in (0, 7, 9):
        parts = partition_of("Fishing", seeds, fold)
        shares = [parts.count(part) / len(parts) for part in PARTS]
        assert shares == pytest.approx([0.7, 0.1, 0.2], abs=0.02)


def test_a_seed_keeps_its_part_whichever_others_there_are():
    parts = partition_of("Curling", list(range(100)), 3)
    assert partition_of("Curling", [17, 400, 3], 3)[::2] == [parts[17], parts[3]]
    assert partition_of("Fishing", list(range(100)), 3) != parts


def test_each_seed_is_tested_by_two_of_ten_folds():
    tested = [partition_of("Building", list(range(50)), fold) for fold in range(FOLDS)]
    for k in range(50):
        assert [parts[k] for parts in tested].count("test") == 2
        assert [parts[k] for parts in tested].count("validation") == 1


def test_there_are_ten_splits_within_each_family_and_six_across():
    assert len(NAMES) == len(set(NAMES)) == 10 * len(FAMILIES) + 6
    within = make_split("fishing-fold-2")
    assert within["parameters"] == {"way": "within", "fold": 2}
    every = [task for part in PARTS for task in within[part]]
    assert sorted(every) == sorted(f"fishing/seed-{row.seed}" for row in certified()["Fishing"])
    assert all(within[part] == sorted(within[part]) for part in PARTS)
    across = make_split("across-curling")
    assert {task.split("/")[0] for task in across["test"]} == {"curling"}
    assert {task.split("/")[0] for part in PARTS[:2] for task in across[part]} == {
        family.lower() for family in FAMILIES if family != "Curling"
    }


def test_the_same_tasks_give_the_same_bytes(written, tmp_path):
    assert not write_splits(written)  # they are there already
    write_splits(tmp_path / "again")
    for name in NAMES:
        assert (tmp_path / "again" / f"{name}.json").read_bytes() == (written / f"{name}.json").read_bytes()
    content = json.loads((written / "building-fold-0.json").read_text())
    assert content["schema"] == "gumption/probsol-splits/1"
    assert len(content["sha256"]) == 64


def test_written_splits_are_read_and_checked(written):
    sizes = check_splits(written)
    assert sizes["across-fishing"]["test"] == len(certified()["Fishing"])
    path = written / "fishing-fold-0.json"
    assert FORMAT.unseal(path.read_bytes(), path) == make_split("fishing-fold-0")


def test_changed_splits_are_refused(written, tmp_path):
    folder = tmp_path / "changed"
    shutil.copytree(written, folder)
    path = folder / "curling-fold-1.json"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"curling/seed-", b"curling/sead-", 1))
    with pytest.raises(InputError, match=r"curling-fold-1\.json: .* was changed"):
        check_splits(folder)
    split = make_split("curling-fold-1")
    moved = {**split, "train": split["train"][1:], "test": sorted([*split["test"], split["train"][0]])}
    path.write_bytes(FORMAT.seal(moved))
    with pytest.raises(InputError, match=r"curling-fold-1\.json: it is not the split"):
        check_splits(folder)
    path.write_bytes(FORMAT.seal({**split, "test": sorted([*split["test"], split["train"][0]])}))
    with pytest.raises(InputError, match="a task is in two parts"):
        check_splits(folder)
    path.unlink()
    with pytest.raises(InputError, match=r"curling-fold-1\.json: cannot be read"):
        check_splits(folder)


def test_a_split_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no split 'fishing-fold-10'"):
        make_split("fishing-fold-10")
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match=r"mine\.txt"):
        write_splits(tmp_path)
