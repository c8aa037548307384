"""MaskablePPO on ProbSol: the same seed gives the same bits, also after a stop; what it sees and is rewarded for."""

import json
from unittest import mock

import numpy as np
import pytest
import torch

from gumption.agents.advice import Advice
from gumption.agents.probsol.config import ProbSolConfig
from gumption.agents.probsol.evaluation import compare, play_tasks
from gumption.agents.probsol.networks import TABLE, TableNetwork
from gumption.agents.probsol.players import DoNothing, Random, Solved, steps
from gumption.agents.probsol.runs import evaluate
from gumption.agents.probsol.training import (
    Latest,
    ProbSolSetup,
    TrainingTables,
    load_run,
    train_probsol,
)
from gumption.agents.run import own_random_numbers
from gumption.agents.run_folder import read_final
from gumption.agents.transcript import failures, transcript
from gumption.data import InputError
from gumption.data.writing import write_json
from gumption.envs.probsol.engine import CHECK
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.facts import facts
from gumption.envs.probsol.library import find_tasks
from gumption.envs.probsol.tasks import read_task
from gumption.kg import KnowledgeGraph

TIMES = ("wall_s", "steps_per_s")
SMALL = {"num_envs": 4, "n_steps": 16, "batch_size": 32, "total_steps": 192, "eval_interval": 64, "device": "cpu"}


def easy(number):
    """Two discs in the side bar, and a target of a third of the table, where one of them is to lie."""
    left = 20 * number
    discs = [
        {"id": one, "color": color, "mass": "medium", "magnetism": "medium", "polarity": "+", "stored": cell}
        for cell, (one, color) in enumerate((("a", "red"), ("b", "blue")))
    ]
    task = {"schema": 1, "name": f"easy/{number}", "family": "Curling", "objects": discs, "max_obj_num": 3}
    return read_task({**task, "max_grid_num": 3, "targets": [[left, 40, 200, 380]]})


@pytest.fixture
def config(tmp_path):
    """Makes a config on three easy tasks; the arguments replace settings of a small one."""
    for number in range(3):
        write_json(tmp_path / "tasks" / f"{number}.json", easy(number).to_json())
    return lambda **settings: ProbSolConfig(**{**SMALL, "task": (str(tmp_path / "tasks"),), **settings})


@pytest.mark.slow
def test_a_loaded_run_plays_as_the_trained_one_and_not_as_the_untrained_one(tmp_path, config):
    run, tasks = train_probsol(config(), tmp_path / "run", progress=False), [easy(k) for k in range(9)]
    with mock.patch.object(ProbSolConfig, "tasks", autospec=True, side_effect=ProbSolConfig.tasks) as read:
        loaded = load_run(tmp_path / "run")
    assert read.call_count == 1
    assert loaded.final == read_final(tmp_path / "run")
    players = run.players()
    first, again, other = (
        play_tasks(each, tasks) for each in (players["trained"], loaded.players()["trained"], players["untrained"])
    )
    assert np.array_equal(first.actions, again.actions)
    assert np.array_equal(first.rate, again.rate)
    assert not np.array_equal(first.actions, other.actions)
    assert not np.array_equal(first.actions, play_tasks(run.players(seed=1)["trained"], tasks).actions)


@pytest.mark.slow
def test_the_learner_learns_what_random_actions_seldom_do(config):
    run = train_probsol(config(num_envs=32, n_steps=32, batch_size=256, total_steps=24_576), progress=False)
    tasks = [easy(k) for k in range(10)] * 4
    trained, random = (play_tasks(each, tasks).figures() for each in (run.players()["trained"], Random(0)))
    assert trained["solved"] > random["solved"] + 0.3, (trained, random)
    assert trained["auccess"] > random["auccess"] + 0.2


def test_a_trial_as_long_as_those_of_its_training_ends_with_check(config):
    run, batch = ProbSolSetup(config(max_actions=6)).untrained(), tables(easy(0), trial_number=4)
    player, longest, checked = run.players()["trained"], 0, []
    for _ in steps(batch, player):
        longest = max(longest, int(batch.tables.actions.max()))
        checked.append(batch.tables.trials.copy())
    assert longest <= 6 + 3  # what is decided last takes three of the paper's actions at most
    assert (checked[-1] > 1).all()


# ---- knowledge


def attracting(number):
    """A goal disc in the dark, one that attracts it and one that repels it."""
    task = easy(number).to_json()
    discs = [{**disc, "polarity": pole} for disc, pole in zip(task["objects"], "+-", strict=True)]
    goal = {**discs[0], "id": "g", "color": "green", "polarity": "+", "at": [126, 100]}
    del goal["stored"]
    task |= {"family": "Fishing", "name": f"attracting/{number}", "goal": ["g"], "inaccessible": [[0, 0, 480, 160]]}
    return read_task({**task, "objects": [*discs, goal], "targets": [[96, 164, 60, 60]]})


@pytest.fixture
def advised(tmp_path):
    """Makes a config on a task in which a graph tells two discs apart."""
    write_json(tmp_path / "attracting.json", attracting(0).to_json())
    return lambda **settings: ProbSolConfig(
        **{**SMALL, "task": (str(tmp_path / "attracting.json"),), "kg": "full", **settings}
    )


def test_scores_are_what_the_graph_says_of_putting_each_disc_down(advised):
    [task] = advised().tasks("train")
    batch, graph = tables(task), KnowledgeGraph()
    graph.add(facts(partition="all", task=task), graph="true")
    advice = Advice(graph, batch.vocabulary, batch.relations)
    latest = Latest(batch, 2, advice)
    seen = latest.see(batch.observe(), np.ones(2, dtype=bool))["scores"]
    assert seen.shape == (2, *latest.space["scores"].shape) == (2, 3, len(advice.relations))
    told = {relation: seen[0, :, k].tolist() for k, relation in enumerate(advice.relations)}
    assert told["attracts"] == [0.0, 1.0, 0.0]
    assert told["repels"] == [1.0, 0.0, 0.0]
    assert not np.any(told["inside"])


def test_discs_are_chosen_by_the_sum_of_their_scores_alone_if_that_is_asked_for(advised):
    run, logits = ProbSolSetup(advised(kg_only=True)).untrained(), []
    run.policy.policy.features_extractor.register_forward_hook(
        lambda network, seen, out: logits.append((out[:, TABLE : TABLE + 3], seen[0]["scores"].sum(dim=2)))
    )
    for name in ("trained", "knowledge taken away"):
        batch, player = tables(attracting(0)), run.players()[name]
        player.begin(batch)
        player.act(batch)
    (guided, sums), (without, nothing) = logits
    assert torch.equal(guided, sums)
    assert guided.any()
    assert not without.any()
    assert not nothing.any()


@pytest.mark.slow
def test_a_run_keeps_its_knowledge_and_is_stopped_and_loaded_with_it(tmp_path, advised):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run = train_probsol(advised(), whole, progress=False)
    about = json.loads((whole / "manifest.json").read_text())["knowledge"]
    kept = KnowledgeGraph.load(whole / "knowledge" / "graph.nq")
    assert about["by"] == "look-up"
    assert {relation for _, relation, _ in kept.triples()} <= set(
        run.setup.knowledge.scores.relations
    )  # what is asked of it
    assert json.loads((whole / "knowledge" / "scores.json").read_text())["graph"] == kept.content_hash()
    train_probsol(advised(total_steps=64), stopped, progress=False)
    loaded = load_run(whole)
    for name, player in run.players().items():
        one, other = (play_tasks(each, [attracting(0)]) for each in (player, loaded.players()[name]))
        assert np.array_equal(one.actions, other.actions), name
    (whole / "knowledge" / "graph.nq").write_text("")
    with pytest.raises(InputError, match=r"these are not the facts that scores\.json tells of"):
        load_run(whole)


def test_knowledge_that_is_none_of_this_world_is_refused(tmp_path, advised):
    graph = KnowledgeGraph()
    graph.add([("fire", "componentOf", "steam")], graph="other")
    graph.save(tmp_path / "other.nq")
    with pytest.raises(InputError, match="none of the relations"):
        train_probsol(advised(kg=str(tmp_path / "other.nq")), progress=False)
    with pytest.raises(InputError, match="kg_only: that is for knowledge"):
        advised(kg="none", kg_only=True)


# ---- what it sees


def tables(task, **settings):
    made = ProbSolVectorEnv(2, autoreset_mode="SameStep", task=task, actions="objects", quiz=False, **settings)
    made.reset(seed=0)
    return made


def test_the_latest_observations_come_first_and_a_trial_begins_without_any():
    batch, every, none = tables(easy(0)), np.ones(2, dtype=bool), np.zeros(2, dtype=bool)
    latest = Latest(batch, 3)
    first = latest.see(batch.observe(), every)
    assert first["discs"].shape == (2, 3, 3, 11)
    assert first["map"].shape == (2, 5, 19, 19)
    assert not first["discs"][:, 1:].any()
    assert latest.space["discs"].shape == (3, 3, 11)
    batch.step(np.array([[0, 0, 180], [5, 0, 0]]))
    second = latest.see(batch.observe(), none)
    assert np.array_equal(second["discs"][:, 1], first["discs"][:, 0])
    assert second["discs"][0, 0, 0, 3] == 1  # placed
    third = latest.see(batch.observe(), np.array([True, False]))
    assert not third["discs"][0, 1:].any()
    assert third["discs"][1, 1:].any()


def test_the_reward_is_1_for_a_solved_task_and_the_change_of_the_solution_rate():
    batch = tables(easy(0), trial_number=1)
    training = TrainingTables(batch, 2, progress=0.5)
    training.reset()
    inside, outside = 9 * 19 + 4, 9 * 19 + 18  # of the target
    _, reward, done, _ = training.step(np.array([[0, 0, inside], [0, 0, outside]]))
    rate = training.adapter.infos["solution_rate"]
    assert rate[0] == 1.0 > rate[1] > 0.5
    assert reward == pytest.approx(0.5 * rate)
    assert not done.any()
    _, reward, done, infos = training.step(np.array([[6, 0, 0], [0, 0, inside]]))
    assert reward == pytest.approx([1.0, 0.5 * (1 - rate[1])])
    assert done.tolist() == [True, False]
    assert infos[0]["terminal_observation"]["discs"].shape == (2, 3, 11)


def test_it_is_no_progress_that_something_changes():
    batch = tables("fishing/0", trial_number=1)
    training = TrainingTables(batch, 2, progress=1.0)
    training.reset()
    _, reward, _, _ = training.step(np.array([[0, 2, 18 * 19 + 18], [0, 1, 7 * 19 + 4]]))
    assert reward[0] == pytest.approx(0.0, abs=1e-6)  # far away, and the goal disc stays where it was
    assert reward[1] > 0.0  # it comes nearer


def test_the_network_knows_discs_by_what_is_seen_of_them_alone():
    batch = tables("fishing/0")
    latest = Latest(batch, 2)
    seen = {
        name: torch.from_numpy(part).float()
        for name, part in latest.see(batch.observe(), np.ones(2, dtype=bool)).items()
    }
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    with own_random_numbers(), torch.no_grad():
        network = TableNetwork(latest.space).eval()
        one = network(seen)
        other = network({**seen, "discs": seen["discs"][:, :, order]})
    assert one.shape == (2, TABLE + 12 + 361)
    there = seen["discs"][0, 0, :, :4].sum(1) > 0
    assert torch.allclose(
        one[:, TABLE:][:, order][:, there[order]], other[:, TABLE : TABLE + 12][:, there[order]], atol=1e-5
    )
    assert torch.allclose(one[:, TABLE + 12 :], other[:, TABLE + 12 :], atol=1e-5)


# ---- players and tasks


class FailsFirst(Solved):
    """CHECK at once in the first trial, then the solution."""

    def _script(self, batch, i):
        yield batch.labels.num_actions + CHECK
        yield from super()._script(batch, i)


def test_what_players_solve_is_told_by_trial():
    tasks = find_tasks("fishing/0")
    solution = [action for action in tasks[0].solution if action[0] != "answer"]
    played = play_tasks(Solved(), tasks)
    assert (played.trial.tolist(), played.actions.tolist(), played.rate.tolist()) == ([1], [len(solution)], [1.0])
    assert played.figures() == {"solved": 1.0, "auccess": 1.0, "rate": 1.0, "actions": len(solution)}
    later = play_tasks(FailsFirst(), tasks)
    assert (later.trial.tolist(), later.actions.tolist(), later.rate.tolist()) == ([2], [len(solution)], [0.0])
    figures = later.figures()
    assert figures["solved"] == 0.0
    assert figures["auccess"] == pytest.approx(1 - np.log(2) / np.log(11))  # w_1 = ln 2 of sum ln 11
    assert play_tasks(DoNothing(), tasks, trials=3).figures() == {
        "solved": 0.0, "auccess": 0.0, "rate": 0.0, "actions": None,
    }  # fmt: skip


def test_families_are_told_apart_and_together():
    found = compare({"do nothing": DoNothing()}, [easy(0), easy(1), *find_tasks("fishing/0")])
    assert {family: told["tasks"] for family, told in found["do nothing"].items()} == {
        "Fishing": 1, "Curling": 2, "all": 3,
    }  # fmt: skip
    low, high = (found["do nothing"]["all"][end] for end in ("low", "high"))
    assert low == 0.0
    assert high == pytest.approx(1.959964**2 / (3 + 1.959964**2))  # none of three


def test_a_run_is_evaluated_beside_players_that_learn_nothing(config):
    run = train_probsol(config(total_steps=64), progress=False)
    found = evaluate(run, num_tasks=2)
    assert list(found["players"]) == ["trained", "untrained", "random", "do nothing", "scripted (people wrote it)"]
    assert (found["tasks"], found["partition"]) == (2, "")  # files are in every part
    assert found["players"]["scripted (people wrote it)"]["Curling"]["solved"] == 1.0
    with transcript() as kept:
        compare({"trained": run.players(0)["trained"]}, run.config.tasks("test"), laws=run.config.laws)
    assert kept.counts["episodes"] > 0
    assert found["failures"] == failures(kept)
    with pytest.raises(InputError, match="device is for a run in a folder"):
        evaluate(run, device="cpu")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"world": "segar"}, "world is 'segar'; a run of ProbSol's learner has 'probsol'"),
        ({"task": ()}, "task is empty; it names one task at least"),
        ({"batch_size": 48}, "batch_size is 48; it divides num_envs . n_steps = 64"),
        ({"stack": 0}, "stack is 0"),
    ],
)
def test_bad_settings_are_refused_by_name(config, settings, told):
    with pytest.raises(InputError, match=told):
        config(**settings)


def test_a_folder_of_another_config_is_refused(tmp_path, config):
    train_probsol(config(total_steps=64), tmp_path / "run", progress=False)
    with pytest.raises(InputError, match="begun with another seed"):
        train_probsol(config(total_steps=64, seed=1), tmp_path / "run", resume=True, progress=False)
    with pytest.raises(InputError, match="no task"):
        config(task=("fishing/99",)).tasks("train")
