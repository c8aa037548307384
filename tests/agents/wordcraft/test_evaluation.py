"""How success is counted, and the numbers behind each choice of an episode."""

import numpy as np
import pytest
import torch

from gumption.agents.evaluation import steps
from gumption.agents.policy import Policy
from gumption.agents.watch import SHOWN, PolicyPlayer, play_steps
from gumption.agents.wordcraft.evaluation import (
    MAX_BATCH,
    evaluation_env,
    play_tasks,
    player_of,
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


@pytest.mark.parametrize(("mixing", "depth"), [("linear", 1), ("linear", 2), ("softmax", 1)])
def test_the_logit_of_a_slot_is_the_weighted_sum_of_what_is_shown(configure, mixing: str, depth: int) -> None:
    policy = guided(configure(kg="full", kg_scores=SCORES, mixing=mixing, depth=depth)).eval()
    env = WordCraftVectorEnv(1, **SHOWN, **configure(depth=depth).env_settings("train"))
    for step in play_steps(PolicyPlayer(policy, env), episodes=8, pictures=False):
        if not step.choices:  # the end of an episode
            continue
        (choice,) = step.choices
        # The scores of a policy that has learned nothing weigh alike, and its network no more than one of them.
        attention, *others = choice.weights.values()
        assert [*choice.weights] == ["attention", *SCORES]
        assert others == pytest.approx([1.0 if mixing == "linear" else 0.25] * 3)
        assert 0 < attention <= others[0] + 1e-6
        logits = np.array([candidate.logit for candidate in choice.candidates])
        assert choice.chosen == logits.argmax()
        powers = np.exp(logits - logits.max())
        np.testing.assert_allclose([one.probability for one in choice.candidates], powers / powers.sum(), rtol=1e-4)
        for one in choice.candidates:
            parts = {"attention": one.own, **{score.relation: score.value for score in one.scores}}
            assert one.logit == pytest.approx(sum(choice.weights[name] * parts[name] for name in parts), abs=1e-4)


def test_a_choice_among_equals_is_the_same_in_a_batch_of_any_size(configure) -> None:
    """Tables of which the graph knows nothing, so that chance decides; in an app, too, which plays one at a time."""
    config = configure(kg="full", kg_fit=False, kg_scores=("componentOf",), agent="graph")
    rng, made = np.random.default_rng(0), WordCraftVectorEnv(1, **config.env_settings("train"))
    entities, size = made.book.entities, 30
    tables = [rng.permutation(entities)[:6].tolist() for _ in range(size)]
    options = [{"goal": goal, "table": table} for goal, *table in tables]

    def chosen(batch: int, order: np.ndarray) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        player = player_of("kg_only", config)
        for rows in np.split(order, range(batch, size, batch)):
            env = WordCraftVectorEnv(len(rows), **config.env_settings("train"), autoreset_mode="Disabled")
            env.reset(seed=0)
            for place, row in enumerate(rows.tolist()):
                env.reset(options={**options[row], "reset_mask": np.arange(len(rows)) == place})
            both = np.stack([actions for actions, _ in steps(player, env)], axis=1)
            found |= dict(zip(rows.tolist(), both.tolist(), strict=True))
        return found

    expected = chosen(size, np.arange(size))
    first, second = zip(*expected.values(), strict=True)
    assert len(set(first)) > 2
    assert sum(one != other for one, other in zip(first, second, strict=True)) > size / 2
    for batch in (1, 7):
        assert chosen(batch, rng.permutation(size)) == expected

    policy = player_of("kg_only", config).policy
    for row in range(5):
        env = WordCraftVectorEnv(1, **SHOWN, **config.env_settings("train"))
        player = PolicyPlayer(policy, env, options=options[row])
        shown = [step.choices[0].chosen for step in play_steps(player, episodes=1, pictures=False) if step.choices]
        assert shown == expected[row]
