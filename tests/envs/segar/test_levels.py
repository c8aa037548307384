"""Levels by name and in files."""

import json
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.envs.physics.initialization import Initialization, Prior
from gumption.envs.physics.noise import UniformNoise
from gumption.envs.physics.scene import Scene
from gumption.envs.segar.configurations import (
    FORMAT,
    Levels,
    check_disjoint,
    check_replay,
    draw_levels,
    level,
    load_levels,
)

NAME = "objectsx2-hard"


def data(levels: Levels) -> list[Any]:
    return [scene.to_data() for scene in levels.scenes]


def test_a_level_is_replayed_by_its_name() -> None:
    for preset in ("fixed", "compat"):
        levels = draw_levels(NAME, "test", n=5, seed=7, preset=preset)
        assert [level(name).to_data() for name in levels.names] == data(levels)
    assert levels.names[3] == "objectsx2-hard@compat/test/7/3"
    assert draw_levels(NAME, "train", n=2, first=5).names == ("objectsx2-hard/train/0/5", "objectsx2-hard/train/0/6")


def test_levels_do_not_depend_on_how_many_are_drawn() -> None:
    many = data(draw_levels(NAME, n=10))
    assert data(draw_levels(NAME, n=3, first=4)) == many[4:7]


def test_parts_seeds_and_configurations_have_streams_of_their_own() -> None:
    sets = [
        draw_levels(name, split, n=20, seed=seed)
        for name in ("empty-medium", "empty-hard")
        for split in ("train", "test")
        for seed in (0, 1)
    ]
    everything = [json.dumps(each["entities"]) for levels in sets for each in data(levels)]
    assert len(set(everything)) == len(everything) == 160
    for place, levels in enumerate(sets):
        for other in sets[:place]:
            check_disjoint(levels, other)


def test_a_level_in_both_parts_is_told() -> None:
    levels = draw_levels("empty-hard", n=3)
    with pytest.raises(InputError, match="level empty-hard/train/0/1 is the same as empty-hard/train/0/1"):
        check_disjoint(levels, draw_levels("empty-hard", n=1, first=1))


@pytest.mark.parametrize("preset", ["fixed", "compat"])
def test_levels_are_written_and_read(preset: Any, tmp_path: Path) -> None:
    levels = draw_levels("tilesx2-medium", "test", n=4, seed=3, first=2, preset=preset)
    path = tmp_path / "levels.json"
    assert levels.save(path)
    assert not levels.save(path)
    again = load_levels(path)
    assert data(again) == data(levels)
    assert again.names == levels.names
    check_replay(again)
    with pytest.raises(InputError, match="holds something else"):
        draw_levels("tilesx2-medium", n=1).save(path)
    assert draw_levels("tilesx2-medium", n=1).save(path, force=True)


def test_a_distribution_of_ones_own_is_in_the_file(tmp_path: Path) -> None:
    own = Initialization([("GolfBall", 1)], [Prior("Mass", UniformNoise(1, 2))])  # pyright: ignore[reportArgumentType]
    levels = draw_levels(own, n=3)
    levels.save(tmp_path / "own.json")
    again = load_levels(tmp_path / "own.json")
    assert again.names[0] == "own/train/0/0"
    assert again.initialization.to_data() == own.to_data()
    check_replay(again)
    other = Initialization([("GolfBall", 1)], [Prior("Mass", UniformNoise(1, 3))])  # pyright: ignore[reportArgumentType]
    assert data(draw_levels(other, n=3)) != data(levels)


def test_levels_that_another_hand_changed_do_not_replay() -> None:
    levels = draw_levels("empty-hard", n=2)
    changed = levels.scenes[1].to_data()
    changed["entities"][0]["factors"]["Position"] = [0.5, 0.5]
    other = Levels(
        levels.name, levels.initialization, levels.split, levels.seed, 0, (levels.scenes[0], Scene.read(changed))
    )
    check_replay(levels)
    with pytest.raises(InputError, match="level empty-hard/train/0/1 differs when it is drawn again"):
        check_replay(other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content["parameters"].update(levels=9), "its levels are not those that its parameters say"),
        (lambda content: content["parameters"].update(seed=1), "its levels are not those that its parameters say"),
        (lambda content: content["parameters"].update(split="exam"), "split is 'exam'; it can be train, test"),
        (lambda content: content.pop("levels"), "no levels .KeyError"),
        (lambda content: content["levels"][0].pop("scene"), "no levels .KeyError"),
        (lambda content: content.update(initialization={"numbers": 3}), "numbers is 3"),
        (
            lambda content: content["levels"][1]["scene"]["entities"][0].update(type="Bal"),
            "empty-hard/train/0/1: entity 0: there is no entity type 'Bal'",
        ),
    ],
)
def test_a_file_of_something_else_is_told(change: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "levels.json"
    draw_levels("empty-hard", n=2).save(path)
    content = FORMAT.unseal(path.read_bytes(), path)
    change(content)
    path.write_bytes(FORMAT.seal(content))
    with pytest.raises(InputError, match=message):
        load_levels(path)


def test_a_changed_byte_is_told(tmp_path: Path) -> None:
    path = tmp_path / "levels.json"
    draw_levels("empty-hard", n=2).save(path)
    path.write_bytes(path.read_bytes().replace(b'"Mass":1.0', b'"Mass":2.0', 1))
    with pytest.raises(InputError, match="does not match its sha256"):
        load_levels(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_levels(tmp_path / "none.json")


@pytest.mark.parametrize(
    "name", ["empty-easy", "empty-easy/exam/0/0", "empty-easy/train/x/0", "empty-easy@old/train/0/0"]
)
def test_what_is_no_name_of_a_level_is_told(name: str) -> None:
    with pytest.raises(InputError, match=f"'{name}' is no name of a level; such a name is CONFIGURATION/train"):
        level(name)


def test_a_level_that_cannot_be_placed_is_named() -> None:
    packed = Initialization([("Ball", 2)])  # both in the middle
    with pytest.raises(InputError, match="level 4 of the distribution: ball_0 and ball_1 could not be placed"):
        draw_levels(packed, first=4)
