"""A memory of ProbSol: what a record holds, that it is what can be seen, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.memory import OVER, REFUSED, SOLVED, TASKS, Memory
from gumption.envs.record_memory import RecordMemory

COLOURS = ("red", "green", "blue", "orange")


def task(*kinds: tuple[str, str, str], name: str = "mine/0", **more: Any) -> dict[str, Any]:
    """A sandbox with these discs (mass, magnetism, polarity) in the side bar: a, b, c, d."""
    discs = [
        {"id": "abcd"[k], "color": COLOURS[k], "mass": mass, "magnetism": magnetism, "polarity": polarity, "stored": k,
         **({"boundary": 90} if polarity == "dipole" else {})}
        for k, (mass, magnetism, polarity) in enumerate(kinds)
    ]  # fmt: skip
    return {
        "schema": 1,
        "name": name,
        "family": "Sandbox",
        "objects": discs,
        "max_obj_num": 4,
        "max_grid_num": 4,
        **more,
    }


PAIR = task(("medium", "medium", "+"), ("medium", "medium", "-"))


def do(folder: Path, given: Any, *actions: tuple[Any, ...], **settings: Any) -> Memory:
    """The memory of these actions on one table."""
    batch = ProbSolVectorEnv(1, task=given, autoreset_mode=AutoresetMode.DISABLED, **settings)
    env = RecordMemory(batch, folder)
    env.reset(seed=0)
    for action in actions:
        env.step(np.array([batch.action_index(*action)]))
    env.close()
    return Memory.load(folder)


def test_a_record_is_what_lay_where_before_and_after_an_action(tmp_path: Path) -> None:
    memory = do(tmp_path / "m", PAIR, ("grab", "a"), ("place", 10, 20), ("grab", "b"), ("place", 15, 20))
    grabs, places, _, meets = memory.records
    assert memory.tasks == (("mine/0", ("a", "b")),)
    assert (grabs["task"], grabs["episode"], grabs["trial"], grabs["flags"], grabs["action"][0]) == (0, 0, 1, 0, 0)
    assert grabs["state"].tolist() == [1, 1, 0, 0]
    assert grabs["state_after"].tolist() == [2, 1, 0, 0]
    assert places["place_after"][0].tolist() == [126, 246]
    assert places["place"].tolist() == [[0, 0]] * 4
    assert meets["place"][0].tolist() == [126, 246]
    # 60 px apart they attract each other, alike, until they touch in the middle.
    assert meets["place_after"][:2].tolist() == pytest.approx(np.array([[144, 246], [168, 246]]), abs=0.6)
    assert meets["steps"] > 30


def test_a_boundary_is_kept_while_a_disc_is_held(tmp_path: Path) -> None:
    dipole = task(("medium", "medium", "dipole"))
    actions = ("grab", "a"), ("hold_at", 10, 20), ("turn", 1), ("put_down",)
    records = do(tmp_path / "m", dipole, *actions).records
    assert records["boundary_after"][:, 0].tolist() == [0, 90, 135, 0]
    assert records["place_after"][1, 0].tolist() == [126, 246]


def test_refused_actions_and_ends_are_flagged(tmp_path: Path) -> None:
    task = {
        **PAIR, "family": "FindTheDiff", "answer": ["a"],
        "objects": [*PAIR["objects"], {**PAIR["objects"][1], "id": "c", "color": "blue", "stored": 2}],
    }  # fmt: skip
    memory = do(tmp_path / "m", task, ("store", 0), ("check",), ("grab", "a"), ("place", 3, 3), ("check",))
    assert memory.records["flags"].tolist() == [REFUSED, 0, 0, 0, OVER | SOLVED]
    assert memory.records["trial"].tolist() == [1, 1, 2, 2, 2]
    assert memory.records["reward"].tolist() == [0, 0, 0, 0, 1]


def test_a_record_holds_what_the_observation_and_the_picture_show(tmp_path: Path) -> None:
    # Two tasks that differ in hidden properties only: as long as nothing meets, records are the same.
    other = task(("small", "large", "+"), ("large", "small", "+"))
    actions = ("grab", "a"), ("hold_at", 10, 20), ("turn", 1), ("put_down",)
    one, two = (do(tmp_path / name, given, *actions).records for name, given in (("1", PAIR), ("2", other)))
    assert np.array_equal(one, two)
    batch = ProbSolVectorEnv(4, task="fishing/0", max_actions=30)
    env = RecordMemory(batch, tmp_path / "m")
    observation, info = env.reset(seed=0)
    rng, seen = np.random.default_rng(0), []
    for _ in range(25):
        before = observation["discs"].copy()
        action = np.array([rng.choice(np.flatnonzero(mask)) for mask in info["action_mask"]])
        observation, *_, info = env.step(action)
        seen += list(zip(before, observation["discs"].copy(), strict=True))
    env.close()
    for record, (before, after) in zip(Memory.load(tmp_path / "m").records, seen, strict=True):
        for discs, ending in ((before, ""), (after, "_after")):
            state, place, boundary = (record[name + ending] for name in ("state", "place", "boundary"))
            assert np.array_equal(discs[:, :4], state[:, None] == [1, 2, 3, 4])
            placed = discs[:, 3] == 1
            assert np.allclose(discs[placed, 4:6] * 480, place[placed], atol=1e-3)
            assert np.allclose(discs[:, 6] * 360, boundary)


def test_a_memory_is_gone_on_with_and_fits_its_tasks_alone(tmp_path: Path) -> None:
    do(tmp_path / "m", PAIR, ("none",))
    assert do(tmp_path / "m", PAIR, ("none",)).records["episode"].tolist() == [0, 1]
    with pytest.raises(InputError, match=r"tasks\.jsonl is not what this environment plays with"):
        do(tmp_path / "m", task(("small", "small", "+"), name="mine/1"), ("none",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not the tasks of these records; restore it from a copy"),
        ("{}\n", "not a task with its discs in each line"),
        ("no JSON\n", "not a task with its discs in each line"),
        (None, "cannot read"),
    ],
)
def test_a_damaged_list_of_tasks_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    do(tmp_path / "m", PAIR, ("none",))
    path = tmp_path / "m" / TASKS
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(InputError, match=message):
        Memory.load(tmp_path / "m")
