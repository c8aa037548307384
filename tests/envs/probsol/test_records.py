"""Records of episodes: what they hold, that replays give the same states, and what is refused."""

import copy
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gumption.data import InputError, Note
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.library import find_tasks
from gumption.envs.probsol.replay import recorded_solution, replay
from gumption.envs.record_memory import RecordMemory
from gumption.envs.records import EPISODES, SCHEMA, EpisodeFile, read_episodes
from tests.probsol_examples import disc, fishing, task

CROWD = task("Sandbox", *(disc(id, (60 + 55 * k, 200 + 20 * (k % 3)), polarity="+-"[k % 2]) for k, id in
                          enumerate("abcdef")), disc("g", 0, polarity="dipole", boundary=45), disc("h", 1))  # fmt: skip


def begun(given: Any, **settings: Any) -> ProbSolVectorEnv:
    """A batch of one that keeps its episodes."""
    env = ProbSolVectorEnv(1, autoreset_mode="Disabled", task=given, **settings)
    env.episodes = []
    env.reset(seed=0)
    return env


def step(env: ProbSolVectorEnv, *names: tuple[Any, ...]) -> None:
    for verb, *arguments in names:
        env.step(np.array([env.action_index(verb, *arguments)]))


@pytest.fixture(scope="module")
def solved() -> dict[str, Any]:
    """The record of the solution of fishing/0."""
    return recorded_solution(find_tasks("fishing/0")[0])


def test_a_record_says_what_was_done_and_what_came_of_it(solved: dict[str, Any]) -> None:
    assert json.loads(json.dumps(solved)) == solved
    assert (solved["schema"], solved["world"], solved["env"]) == (SCHEMA, "probsol", "gumption/ProbSol-v0")
    assert (solved["version"], solved["law"]) == (version("gumption"), "real")
    assert solved["task"] == {"name": "fishing/0", "hash": find_tasks("fishing/0")[0].hash}
    assert [action[:3] for action in solved["actions"]] == [
        [0, 1, 1], [1, 1, 698], [54, 1, 3255], [54, 1, [["b"], ["a", "c"]]]
    ]  # fmt: skip
    result = solved["result"]
    assert (result["end"], result["solved"], result["reward"], result["trials"]) == ("solved", True, 1.0, 1)
    assert (result["actions"], result["step"], result["solve_time"]) == (3, 54, pytest.approx(3 + 54 / 60))


def test_a_replay_ends_in_the_same_state(solved: dict[str, Any]) -> None:
    seen: list[str] = []
    env = replay(solved, look=lambda env, done: seen.append(done))
    assert env.state_hash() == solved["result"]["state"]
    assert list(dict.fromkeys(seen)) == ["", "grab b", "place 10 16", "check", "answer b; a c"]
    assert replay(solved, every=1).state_hash() == replay(solved, every=1000).state_hash()


@pytest.mark.parametrize("laws", ["real", "counterfactual", "inert", "shuffled"])
def test_a_task_that_does_not_ship_is_in_its_record(laws: str) -> None:
    env = begun(CROWD, laws=laws, names="anonymous", max_actions=6)
    step(env, ("hold", "a"), ("turn", 1), ("put_down",), ("grab", "g"), ("place", 35, 30), ("none",))
    [record] = env.episodes or []
    assert record["result"]["end"] == "max_actions"
    assert record["task"]["content"]["objects"][0]["color"] == "steelblue"
    assert "solution" not in record["task"]["content"]
    assert replay(json.loads(json.dumps(record))).save()["table"] == env.save()["table"]


def test_actions_of_the_small_form_are_kept_as_the_papers() -> None:
    env = begun(CROWD, actions="objects", max_actions=3)
    for action in ([0, 6, 200], [0, 7, 30], [3, 0, 0], [4, 3, 0]):  # place g; store g and place h; turn a; no disc held
        if not env._over[0]:
            env.step(np.array([action]))
    [record] = env.episodes or []
    assert len(record["actions"]) >= 3
    assert replay(record).state_hash() == env.state_hash()


def test_several_trials_and_what_is_refused_are_replayed() -> None:
    env = begun(fishing(constraints={"trial_number": 2}))
    step(env, ("place", 3, 3), ("grab", "b"), ("place", 30, 30), ("check",), ("none",), ("check",))
    [record] = env.episodes or []
    assert (record["result"]["end"], record["result"]["trials"]) == ("trials", 2)
    assert [action[1] for action in record["actions"]] == [1, 1, 1, 1, 2, 2]
    again = replay(record)
    assert again.describe(0)["refused"] == env.describe(0)["refused"]


@pytest.mark.parametrize(
    ("constraints", "end"),
    [({"action_number": 1}, "action_number"), ({"trial_time": 2.5, "solve_time": 2.2}, "trial_time")],
)
def test_a_broken_limit_is_replayed(constraints: dict[str, Any], end: str) -> None:
    env = begun(fishing(constraints=constraints))
    step(env, ("grab", "b"), ("place", 10, 16))
    [record] = env.episodes or []
    assert record["result"]["end"] == end
    assert replay(record).describe(0)["end"] == end


# ---- real time


def test_time_in_parts_is_time_as_a_whole() -> None:
    """Bit for bit, where six discs pull and push one another."""
    parts, whole = (begun(CROWD) for _ in range(2))
    for env in (parts, whole):
        env.act_now(env.action_index("grab", "g"))
        env.act_now(env.action_index("place", 20, 22))
    for at in (1, 2, 4, 9, 40, 41, 77, 400):
        parts.pass_time(at)
    whole.pass_time(400)
    assert parts.save() == whole.save()
    assert (parts.observe()["discs"] == whole.observe()["discs"]).all()
    assert not np.array_equal(parts.tables.place[0, 0], (60, 200))


def test_one_can_act_while_discs_move_and_a_record_keeps_the_step() -> None:
    env = begun(CROWD)
    env.pass_time(7)
    assert env.tables.speed.max() > 5
    env.act_now(env.action_index("hold", "c"))
    env.pass_time(31)
    env.act_now(env.action_index("turn", 1))
    env.act_now(env.action_index("put_down"))
    env.act_now(10**6)  # there is no such action
    env.pass_time(90)
    record = env.record()
    assert [action[0] for action in record["actions"]] == [7, 31, 31, 31]
    assert (record["result"]["end"], env.describe(0)["refused"]) == ("", 1)
    places = []
    again = replay(json.loads(json.dumps(record)), look=lambda env, _: places.append(env.tables.place[0, 0].copy()))
    assert again.save()["table"] == env.save()["table"]
    assert len({place.tobytes() for place in places}) > 20


def test_a_whole_task_is_solved_in_real_time() -> None:
    env = begun("fishing/0")
    env.act_now(env.action_index("grab", "b"))
    env.pass_time(20)
    env.act_now(env.action_index("place", 10, 16))
    env.pass_time(500)
    env.act_now(env.action_index("check"))
    env.pass_time(600)  # nothing happens while questions are open
    assert env.tables.steps[0] == 500
    _, reward, *_ = env.answer(0, [["b"], ["a", "c"]])
    assert reward == 1.0
    [record] = env.episodes or []
    assert replay(record).state_hash() == env.state_hash()
    with pytest.raises(InputError, match="the episode of table 0 has ended or was never begun: reset it"):
        env.act_now(0)


def test_real_time_only_goes_on() -> None:
    env = begun(CROWD)
    env.pass_time(9)
    with pytest.raises(InputError, match="step 3 of the trial is over: the table is at step 9"):
        env.pass_time(3)
    with pytest.raises(InputError, match="i is 1; the environments of this batch are 0 to 0"):
        env.pass_time(30, 1)
    with pytest.raises(InputError, match="never begun"):
        ProbSolVectorEnv(1, task=CROWD).act_now(0)


def test_the_others_of_a_batch_stand_still() -> None:
    env = ProbSolVectorEnv(3, autoreset_mode="Disabled", task=CROWD)
    env.reset(seed=0)
    before = [env.state_hash(i) for i in range(3)]
    env.act_now(env.action_index("hold", "c"), 1)
    env.pass_time(40, 1)
    assert [env.state_hash(i) == before[i] for i in range(3)] == [True, False, True]


# ---- refused


def changed(record: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {**copy.deepcopy(record), **parts}


def test_records_that_cannot_be_replayed(solved: dict[str, Any]) -> None:
    name = solved["task"]["name"]
    moved = copy.deepcopy(solved["actions"])
    moved[2][3] = "0" * 16
    late = copy.deepcopy(solved["actions"])
    late[1][0] = 2
    back = copy.deepcopy(solved["actions"])
    back[2][0] = 0
    result = solved["result"]
    for parts, message in (
        ({"version": "0.0.9"}, "r: version: gumption 0.0.9 wrote it, and this is .*; replay it with that version"),
        ({"env": "gumption/HALMA-v0"}, "r: env: is 'gumption/HALMA-v0'; episodes of gumption/ProbSol-v0 are"),
        ({"task": {"name": name, "hash": "1" * 64}}, "r: task: the task 'fishing/0' was changed since: its hash is"),
        ({"task": {"name": "fishing/999", "hash": ""}}, "r: task.name: there is no task 'fishing/999'"),
        ({"task": {"name": name, "hash": "", "content": {"schema": 2}}}, "r: task.content: schema: is 2"),
        ({"actions": moved}, "r: actions\\[2\\]: check at step 54 found another state than it does here"),
        ({"actions": late}, "r: actions\\[1\\]: place 10 16 at step 2 found another state"),
        ({"actions": back}, "step 0 of the trial is over"),
        ({"actions": [["x"]]}, "r: is damaged"),
        ({"law": "counterfactual"}, "r: actions\\[2\\]: check at step .* found another state"),
        ({"result": {**result, "state": "0"}}, "r: result: the end at step 54 found another state"),
        ({"result": {**result, "end": "quiz"}}, "r: result.end: is 'quiz', and here it is 'solved'"),
        ({"settings": {}}, "r: is damaged: KeyError\\('names'\\)"),
    ):
        with pytest.raises(InputError, match=message):
            replay(changed(solved, **parts), "r")


def test_only_an_episode_that_was_kept_from_its_beginning_has_a_record() -> None:
    env = ProbSolVectorEnv(1, task=CROWD)
    env.reset(seed=0)
    with pytest.raises(InputError, match="the beginning of this episode was not kept: set `episodes` to a list"):
        env.record()


def test_a_task_without_a_solution_has_no_record_of_it() -> None:
    from gumption.envs.probsol import read_task

    with pytest.raises(InputError, match="the task 'mine/0' has no recorded solution"):
        recorded_solution(read_task(CROWD))


# ---- files


def test_a_file_is_gone_on_with_and_sealed(tmp_path: Path, solved: dict[str, Any]) -> None:
    path = tmp_path / "new" / "a.jsonl"
    EpisodeFile(path).append([solved])
    file = EpisodeFile(path)
    file.append([])
    file.append([solved, changed(solved, seed=5)])
    assert [each["seed"] for each in read_episodes(path)] == [solved["seed"], solved["seed"], 5]
    text = path.read_text()
    path.write_text(text.replace('"seed": 5', '"seed": 6'))
    with pytest.raises(InputError, match=r"a\.jsonl:3: its content does not match its sha256"):
        read_episodes(path)
    path.write_text("".join(text.splitlines(keepends=True)[1:]))
    with pytest.raises(InputError, match=r"a\.jsonl:1: its content does not match its sha256"):
        EpisodeFile(path)


def test_what_a_crash_cut_short_is_left_out_and_written_over(tmp_path: Path, solved: dict[str, Any]) -> None:
    path = tmp_path / "a.jsonl"
    EpisodeFile(path).append([solved, solved])
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    with pytest.warns(Note, match=r"a\.jsonl: its last line was cut short, and is left out"):
        assert len(read_episodes(path)) == 1
    with pytest.warns(Note):
        file = EpisodeFile(path)
    file.append([solved])
    assert path.read_bytes() == content


def test_files_that_are_refused(tmp_path: Path, solved: dict[str, Any]) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(InputError, match=r"a\.jsonl: cannot be read"):
        read_episodes(path)
    for content, message in (
        (b"{\n", "a.jsonl:1: not valid JSON"),
        (b"\xff\xfe\n", "a.jsonl: no text in UTF-8"),
        (b"3\n", "a.jsonl:1: schema: is None"),
        (b'{"schema": "gumption/episode/9"}\n', "schema: is 'gumption/episode/9', and gumption/episode/1 is read here"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            read_episodes(path)
    with pytest.raises(InputError, match="cannot write"):
        EpisodeFile(tmp_path / "a.jsonl" / "b.jsonl").append([solved])


def test_a_memory_keeps_the_episodes_beside_its_records(tmp_path: Path) -> None:
    batch = gym.make_vec("gumption/ProbSol-v0", num_envs=4, task=CROWD, max_actions=3, autoreset_mode="SameStep")
    env = RecordMemory(batch, tmp_path)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(7):
        mask = env.unwrapped.action_mask()
        env.step(np.array([rng.choice(np.flatnonzero(row)) for row in mask]))
    env.recording.flush()
    assert len(read_episodes(tmp_path / EPISODES)) == 8
    env.close()
    for number, record in enumerate(read_episodes(tmp_path / EPISODES)):
        assert replay(record, f"{number}").state_hash() == record["result"]["state"]


def test_a_world_that_tells_no_episodes_has_no_such_file(tmp_path: Path) -> None:
    env = RecordMemory(gym.make("gumption/HALMA-v0", num_mazes=2), tmp_path)
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.action_space.sample())
    env.close()
    assert not (tmp_path / EPISODES).exists()
