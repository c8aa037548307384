"""How success is counted, and one episode told with the numbers behind it."""

import numpy as np
import pytest
import torch

from gumption.agents.policy import Policy
from gumption.agents.wordcraft.evaluation import (
    MAX_BATCH,
    evaluation_env,
    explain_episode,
    play_tasks,
    shares,
    success_rate,
)
from gumption.agents.wordcraft.setup import WordCraftSetup
from gumption.envs.wordcraft import WordCraftVectorEnv

SCORES = ("combinesWith", "componentOf", "makes")


def env_of(config, size: int = 8, partition: str = "train") -> WordCraftVectorEnv:
    env = evaluation_env(config.env_settings(partition), size)
    env.reset(seed=0)
    return env


def guided(config) -> Policy:
    setup = WordCraftSetup(config)
    torch.manual_seed(0)
    return setup.policy()


@pytest.mark.parametrize("size", [3, 8, 64])
def test_every_task_is_played_as_often_as_asked_whatever_the_batch(configure, size: int) -> None:
    env = env_of(configure(), size)
    tasks = env.split.train_tasks
    seen: list[np.ndarray] = []

    def act(env: WordCraftVectorEnv, first: np.ndarray) -> np.ndarray:
        if not env.selection.any():
            seen.append(env.task_index.copy())
        return env.random_actions()

    play_tasks(act, env, tasks, draws=3)
    batches = -(-len(tasks) * 3 // env.num_envs)
    assert len(seen) == batches
    counted = np.concatenate(seen)[: len(tasks) * 3]
    assert counted.tolist() == np.repeat(tasks, 3).tolist()


@pytest.mark.parametrize("size", [3, 8, 64])
def test_success_is_the_share_of_goals_made(configure, size: int) -> None:
    env = env_of(configure(num_distractors=2), size)
    tasks = env.split.train_tasks

    def act(env: WordCraftVectorEnv, first: np.ndarray) -> np.ndarray:
        """Solve tasks of even index, and select the first slot twice in the others."""
        a, b, _ = (env.book.recipes[env.tasks.recipes[env.task_index, 0]] + 1).T
        wanted = np.where(env.selection == a, b, a)
        return np.where(env.task_index % 2, 0, (env.table == wanted[:, None]).argmax(1))

    found = shares(play_tasks(act, env, tasks, draws=2, seed=4))
    even = int((tasks % 2 == 0).sum())
    lucky = [  # something twice that makes the goal, as wall + wall makes house
        task for task in tasks if task % 2 and len(env.tasks[task].base) == 1
    ]
    assert len(lucky) <= 4
    assert even <= found["success"] * len(tasks) <= even + len(lucky)
    assert found["same_slot_twice"] == pytest.approx(1 - found["success"])
    assert found == shares(play_tasks(act, env, tasks, draws=2, seed=4))


def test_environments_for_evaluation_are_not_larger_than_needed(configure) -> None:
    settings = configure().env_settings("test")
    assert evaluation_env(settings, 7).num_envs == 7
    assert evaluation_env(settings, 0).num_envs == 1
    assert evaluation_env(settings, 10**6).num_envs == MAX_BATCH


def test_a_policy_is_left_in_its_mode_and_measured_without_dropout(configure) -> None:
    config = configure({"dropout": 0.9})
    env = env_of(config)
    policy = guided(config)
    for mode in (True, False):
        policy.train(mode)
        first = success_rate(policy, env, env.split.train_tasks, draws=4)
        assert policy.training == mode
        assert first == success_rate(policy, env, env.split.train_tasks, draws=4)


def test_another_seed_is_another_set_of_tables(configure) -> None:
    config = configure()
    env = env_of(config)
    policy = guided(config)
    tasks = env.split.train_tasks
    one, other = (success_rate(policy, env, tasks, draws=20, seed=seed) for seed in (0, 1))
    assert one != other
    assert one["success"] == pytest.approx(other["success"], abs=0.1)


# ---- an episode in words


@pytest.mark.parametrize("depth", [1, 2])
def test_an_episode_is_told_with_the_numbers_behind_each_choice(configure, depth: int) -> None:
    config = configure(kg="full", kg_scores=SCORES, depth=depth)
    env = env_of(config, 1)
    policy = guided(config)
    outcomes = set()
    for task in env.split.train_tasks[:12].tolist():
        steps = explain_episode(policy, env, task, seed=2)
        told = env.tasks[task]
        assert 2 <= len(steps) <= 4 * depth
        assert steps[0]["selection"] == []
        assert set(told.base) <= set(steps[0]["table"])
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            assert step["goal"] == told.goal
            assert step["chosen"] in step["table"]
            assert [slot["entity"] for slot in step["slots"]] == step["table"]
            probabilities = [slot["probability"] for slot in step["slots"]]
            assert sum(probabilities) == pytest.approx(1)
            best = max(step["slots"], key=lambda slot: slot["mixed"])
            assert best["entity"] == step["chosen"]
            assert best["probability"] == max(probabilities)
            powers = np.exp([slot["mixed"] - best["mixed"] for slot in step["slots"]])
            np.testing.assert_allclose(probabilities, powers / powers.sum(), rtol=1e-4)
            for slot in step["slots"]:
                # The mixture of a policy that has learned nothing is 1 for the attention and for each score.
                assert slot["mixed"] == pytest.approx(slot["attention"] + sum(slot[name] for name in SCORES), abs=1e-4)
                assert (slot["combinesWith"] == 0) == (step["selection"] == [])
            if following is not None:
                assert not step["success"]
                assert following["selection"] == ([] if step["selection"] else [step["chosen"]])
        outcomes.add(steps[-1]["success"])
        if steps[-1]["success"] and depth == 1:
            assert (steps[-1]["selection"][0], steps[-1]["chosen"]) in {
                pair for a, b, _ in told.recipes for pair in ((a, b), (b, a))
            }
    assert True in outcomes


def test_the_mixture_of_the_policy_is_the_one_told(configure) -> None:
    config = configure(kg="full", kg_scores=("makes",), mixing="softmax")
    env = env_of(config, 1)
    step = explain_episode(guided(config), env, seed=3)[0]
    assert len({slot["mixed"] for slot in step["slots"]}) > 1
    for slot in step["slots"]:  # softmax of equal numbers: half attention, half score
        assert slot["mixed"] == pytest.approx((slot["attention"] + slot["makes"]) / 2, abs=1e-4)


def test_without_knowledge_the_mixed_logit_is_the_attention(configure) -> None:
    env = env_of(configure(), 1, partition="test")
    steps = explain_episode(guided(configure()), env, seed=1)
    assert all(slot["mixed"] == slot["attention"] for step in steps for slot in step["slots"])
    assert set(steps[0]["slots"][0]) == {"entity", "attention", "mixed", "probability"}
    goals = {env.tasks[task].goal for task in env.split.test_tasks}
    assert steps[0]["goal"] in goals
    assert steps == explain_episode(guided(configure()), env, seed=1)
