"""Agents at the tasks of ProbSol's study: recorded solutions, the scripted solver, trained runs, random actions."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.probsol.env import ProbSolEnv
from gumption.scripts.people.probsol.study import begin
from gumption.scripts.people.study.design import Task, design
from gumption.scripts.people.study.export import files
from gumption.scripts.people.study.files import read
from gumption.scripts.people.study.gathered import gathered
from gumption.scripts.people.study.links import Secret
from gumption.scripts.people.study.players import Agent, played
from gumption.scripts.people.study.report import make
from gumption.scripts.people.study.simulate import simulate
from gumption.scripts.probsol.players import oracle, run_player
from gumption.scripts.verify import verdicts_of
from tests.scripts.people.study.served import in_process, write_study

STUDY = read("probsol-goals")


def task(name: str, **settings: str) -> Task:
    return Task("probsol", {"task": name, **settings}, 0)


@pytest.mark.slow
def test_the_oracle_solves_each_task_of_the_study_within_its_limit() -> None:
    [goals] = STUDY.blocks
    for name, constraint in sorted(set(zip(goals.each["task"], goals.each["constraint"], strict=True)))[::6]:
        found = played("oracle", task(name, constraint=constraint), 0)
        assert (found["success"], found["attempts"]) == (True, 1), (name, constraint)
        assert found["first"][0] in ("grab", "grab_placed", "hold")


def test_tables_that_take_turns_have_players_of_their_own() -> None:
    agents = [Agent("oracle", task(name), 0) for name in ("fishing/seed-4", "curling/seed-288", "fishing/seed-4")]
    made: list[list] = [[], [], []]
    solved = [False] * 3
    while not all(solved):
        for k, agent in enumerate(agents):
            if not solved[k]:
                made[k].append(agent.choose())
                _, solved[k], seconds = agent.make(made[k][-1])
                assert 0 <= seconds <= 20
    assert made[0] == made[2] != made[1]
    assert len(oracle._of) >= 3


def test_random_and_scripted_players_play_to_the_end() -> None:
    found = [played("random", task("fishing/seed-4"), seed) for seed in range(4)]
    assert len({one["actions"] for one in found}) > 1, "each seed draws apart"
    assert played("scripted", task("fishing/seed-4"), 0)["success"]
    probed = played("scripted", task("findthesame/seed-820"), 0)
    assert (probed["success"], probed["actions"] > 20) == (True, True), "it probes discs; nobody told it the answer"


@pytest.mark.slow
def test_a_trained_run_acts_in_the_form_of_people(tmp_path: Path) -> None:
    from gumption.agents.probsol.config import ProbSolConfig
    from gumption.agents.probsol.training import train_probsol

    small = {"num_envs": 2, "n_steps": 8, "batch_size": 8, "epochs": 1, "total_steps": 16, "eval_interval": 16}
    config = ProbSolConfig(task=("fishing/0",), eval_tasks=1, device="cpu", **small)
    train_probsol(config, tmp_path / "run", progress=False)
    player = run_player(tmp_path / "run")
    env, _ = begin(task="fishing/0")
    actions, over = [], False
    while not over:
        action = player(env.batch, np.array([not actions]))
        assert env.action_masks()[action[0]] or env.label(int(action[0])) in (("none",), ("check",))
        actions.append(env.label(int(action[0])))
        *_, terminated, truncated, _ = env.step(int(action[0]))
        over = terminated or truncated
    assert env.batch.settings.actions == "paper"
    assert {verb for verb, *_ in actions} <= {"grab", "grab_placed", "hold", "place", "hold_at", "store", "turn",
                                              "put_down", "take_up", "none", "check"}  # fmt: skip
    with pytest.raises(InputError, match="learned on tables of 12 discs, and the study's have 14"):
        player(ProbSolEnv(task="fishing/0", max_obj_num=14).batch, np.array([True]))


@pytest.mark.slow
def test_agents_take_part_in_real_time_and_stand_in_the_report(tmp_path: Path) -> None:
    """Two participants, with chaos, twenty times as fast as people; one task of each kind of time."""
    block = {"name": "goals", "title": "Task", "world": "probsol", "seed": 0, "each": {
        "task": ["fishing/seed-4", "modifying/seed-879"], "constraint": ["critical", "none"]}}  # fmt: skip
    file = write_study(tmp_path, blocks=[block], practice=[], conditions=[])
    with in_process(file, tmp_path / "data", speed=20.0) as server:
        sent = simulate(read(file), f"http://{server.address}", 2, "oracle", chaos=True, seed=1, speed=20.0)
        report = asyncio.run(sent)
    assert report.done == 2
    everyone = gathered(read(file), tmp_path / "data")
    episodes = [episode for one in everyone for episode in one.episodes.values()]
    assert [episode.result["success"] for episode in episodes] == [True] * 4
    made = [action for one in everyone for actions in one.actions.values() for action in actions]
    assert len(made) == report.actions
    assert all(isinstance(action.action, list) and action.step is not None for action in made), "named as people do"
    figures = make(read(file), everyone)
    rows = {row["who"]: row for row in figures["rows"]}
    assert set(rows) == {"participants", "random", "oracle", "scripted (people wrote it)"}
    assert rows["participants"]["actions"] == rows["oracle"]["actions"]
    assert rows["participants"]["consistency"]["first"]["alpha"][0] == 1.0
    content = files(read(file), everyone, Secret.of(tmp_path / "data"))
    (tmp_path / "episodes.jsonl").write_text(content["episodes.jsonl"])
    [verdict] = verdicts_of(tmp_path / "episodes.jsonl")
    assert (verdict.state, verdict.told) == ("unchanged", "4 lines; 4 episodes were played again")
    assert design(read(file), 0).blocks[0].tasks == design(read(file), 1).blocks[0].tasks
