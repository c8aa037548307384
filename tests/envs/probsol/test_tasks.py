"""Tasks as files: what is read, and what is refused with file, field and reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.envs.probsol import read_task
from tests.probsol_examples import disc, fishing, make, task


def changed(**more: Any) -> dict[str, Any]:
    return fishing(**more)


def with_disc(**more: Any) -> dict[str, Any]:
    given = fishing()
    given["objects"][0] |= more
    return given


SQUARE = [[100, 100], [140, 100], [140, 140], [100, 140]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (changed(schema=2), "schema: is 2, and 1 is read here; a newer gumption wrote it"),
        (changed(schema="1"), "schema: is '1', and 1 is read here"),
        (changed(family="Fisching"), "family: is 'Fisching'; did you mean 'Fishing'?"),
        (changed(name=""), "name: is ''; it is a text"),
        (changed(gaol=["a"]), "gaol: is no field of a Fishing task; did you mean 'goal'?"),
        (changed(blocks=[SQUARE]), "blocks: is no field of a Fishing task"),
        (changed(friction=-1), "friction: is -1; it is a number from 0"),
        (changed(friction=float("nan")), "friction: is nan; it is a finite number"),
        (changed(laws="reel"), "laws: is 'reel'; did you mean 'real'?"),
        (changed(rotation=1), "rotation: is 1; it is True or False"),
        (changed(max_obj_num=1), "objects: has 2 discs; a task has 1 to max_obj_num, which is 1"),
        (changed(max_grid_num=0), "max_grid_num: is 0; it is a whole number from 1 to 64"),
        (changed(objects="a"), "objects: is 'a'; it is a list"),
        (changed(objects=[]), "objects: has 0 discs"),
        (changed(objects=[3]), r"objects\[0\]: is 3; it is an object"),
        (with_disc(mas="large"), r"objects\[0\]: has no 'mas'; did you mean 'mass'?"),
        (with_disc(mass="huge"), r"objects\[0\].mass: is 'huge'; it can be small, medium, large, extremely large"),
        (with_disc(magnetism=1), r"objects\[0\].magnetism: is 1; it can be small"),
        (with_disc(polarity="plus"), r"objects\[0\].polarity: is 'plus'; it can be \+, -, dipole"),
        (with_disc(color="purpel"), r"objects\[0\].color: is 'purpel', which is no colour; did you mean 'purple'?"),
        (with_disc(id="b"), r"objects\[1\].id: is 'b', as that of objects\[0\] is"),
        (with_disc(color="darkblue"), r"objects\[1\].color: is 'darkblue', as that of objects\[0\] is"),
        (with_disc(boundary=30), r"objects\[0\].boundary: is 30; it is 0, 45, ..., 315 degrees"),
        (with_disc(boundary="upright"), r"objects\[0\].boundary: is 'upright'; it can be vertical"),
        (with_disc(stored=1), r"objects\[0\]: has either 'at', a place in px, or 'stored'"),
        (with_disc(at=[5, 100]), r"objects\[0\].at: is \[5, 100\], where the disc overlaps the edge"),
        (with_disc(at=[500, 100]), r"objects\[0\].at: has \[500, 100\], which is outside the table"),
        (with_disc(at=[float("nan"), 1]), r"objects\[0\].at: is nan; it is a finite number"),
        (with_disc(at=[1]), r"objects\[0\].at: has \[1\]; it is \[x, y\] in px"),
        (changed(walls=[[120, 145, 20, 20]]), r"objects\[0\].at: is \[126, 138\], where the disc overlaps walls\[0\]"),
        (changed(targets=[[400, 400, 100, 50]]), r"targets\[0\]: is \[400, 400, 100, 50\], which is not within"),
        (changed(targets=[[400, 400, -10, 50]]), r"targets\[0\]: is -10 px wide and 50 px high; both are positive"),
        (changed(targets=[[1, 2, 3]]), r"targets\[0\]: is \[1, 2, 3\]; it is \[x, y, width, height\]"),
        (changed(targets=[]), "targets: is empty or missing; a Fishing task has some"),
        (changed(goal=["z"]), r"goal\[0\]: is 'z'; it can be a, b"),
        (changed(goal=["a", "a"]), "goal: names a disc twice"),
        (changed(constraints={"time": 3}), "constraints: has no 'time'"),
        (changed(constraints={"action_number": 0}), "constraints.action_number: is 0; it is a whole number from 1"),
        (changed(constraints={"trial_time": -1}), "constraints.trial_time: is -1; it is a number, at least 0"),
        (changed(constraints={"solve_time": 0}), "constraints.solve_time: is 0, which nobody can keep"),
        (changed(solution=[["grap", "b"]]), r"solution\[0\]: is 'grap'; did you mean 'grab'?"),
        (changed(solution=[["grab"]]), r"solution\[0\]: gives 'grab' 0 arguments; it takes 1"),
        (changed(solution=[["place", 40, 0]]), r"solution\[0\]: is 40; it is a whole number from 0 to 39"),
        (changed(solution=[["turn", 2]]), r"solution\[0\]: turns by 2; it is 1 or -1"),
        (changed(solution=[["answer", ["a"]]]), r"solution\[0\]: answers 1 questions, and the quiz has 0"),
        (changed(solution=[[]]), r"solution\[0\]: is empty"),
        (changed(classes={"mass": {"small": -1}}), r"classes.mass.small: is -1; it is a number from 0.01 to 1,000"),
        (
            task("Sandbox", disc("a", (100, 100)), disc("b", (110, 100))),
            r"objects\[1\].at: overlaps objects\[0\]: their centres are 10 px apart",
        ),
        (task("Sandbox", disc("a", 0), disc("b", 0)), r"objects\[1\].stored: is 0, as that of objects\[0\] is"),
        (task("Building", disc("a", 0), blocks=[[[0, 0], [9, 9], [9, 0], [0, 9]]]), r"blocks\[0\]: crosses itself"),
        (task("Building", disc("a", 0), blocks=[[[0, 0], [9, 9]]]), r"blocks\[0\]: has 2 corners; a block has 3 to 32"),
        (task("Building", disc("a", 0), blocks=[[[0, 0], [0, 0], [9, 9]]]), r"blocks\[0\]: has two equal corners"),
        (task("Building", disc("a", 0), blocks=[SQUARE] * 13), "blocks: has 13 blocks; a shape has at most 12"),
        (task("Modifying", disc("a", 0), blocks=[SQUARE]), "building: is empty or missing"),
        (
            task("FindTheDiff", disc("a", 0), disc("b", (99, 99)), answer=["b"]),
            r"answer\[0\]: is 'b', which is not stored at the start",
        ),
        (task("FindTheSame", disc("a", 0), answer=["a"]), "answer: names every disc that is stored at the start"),
    ],
)
def test_what_is_wrong_with_a_task_is_told(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(given), encoding="utf-8")
    with pytest.raises(InputError, match=f"mine.json: {message}"):
        read_task(path)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("[1, 2", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine.json: not valid JSON \(.*line 1 column .*\); correct it there"):
        read_task(tmp_path / "mine.json")
    with pytest.raises(InputError, match=r"the task: 3 is no task; it is a JSON object"):
        read_task(3)
    with pytest.raises(InputError, match="there is no task 'fishing/99', nor such a file; did you mean 'fishing/"):
        make("fishing/99")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no task in this folder"):
        make(str(tmp_path / "empty"))


def test_a_task_is_written_as_it_was_read(tmp_path: Path) -> None:
    one = read_task(fishing(quiz=[{"ask": "mass", "which": "largest"}], constraints={"trial_number": 3}))
    path = tmp_path / "again.json"
    path.write_text(json.dumps(one.to_json()), encoding="utf-8")
    assert read_task(path) == one
    assert read_task(path).hash == one.hash
    assert read_task(fishing(friction=21)).hash != read_task(fishing()).hash
    assert read_task(fishing(solution=[], name="other")).hash == read_task(fishing()).hash


def test_a_folder_is_many_tasks(tmp_path: Path) -> None:
    for k in (0, 1, 2):
        path = tmp_path / f"{k}.json"
        path.write_text(json.dumps(fishing(name=f"mine/{k}", friction=20 + k)), encoding="utf-8")
    env = make(str(tmp_path), order="sequential")
    names = [env.reset()[1]["task"] for _ in range(4)]
    assert names == ["mine/1", "mine/2", "mine/0", "mine/1"]  # the first was begun by `make`
    assert env.reset(options={"task": str(tmp_path / "2.json")})[1]["task"] == "mine/2"


def test_names_are_a_dial() -> None:
    given = fishing()
    given["objects"][0]["name"] = "dax"
    looks = {how: make(given, names=how).batch.task(0).objects for how in ("real", "anonymous", "shuffled")}
    assert [one.color for one in looks["real"]] == ["purple", "darkblue"]
    assert not {one.color for one in looks["anonymous"]} & {"purple", "darkblue"}
    assert [one.name for one in looks["anonymous"]] == ["", ""]
    assert sorted((one.color, one.name) for one in looks["shuffled"]) == [("darkblue", ""), ("purple", "dax")]
    assert all([one.id for one in objects] == ["a", "b"] for objects in looks.values())
