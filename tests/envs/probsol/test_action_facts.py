"""Which facts speak for an action: about the disc in hand, what it would come near, and where it would lie."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs  # noqa: F401  (registers)
from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.probsol import facts, read_task, task_facts
from gumption.kg import KnowledgeGraph

TASK: dict[str, Any] = {
    "schema": 1, "name": "mine/0", "family": "Curling",
    "objects": [
        {"id": "a", "color": "red", "mass": "medium", "magnetism": "medium", "polarity": "+", "at": [102, 102]},
        {"id": "b", "color": "blue", "mass": "large", "magnetism": "medium", "polarity": "+", "at": [402, 102]},
        {"id": "c", "color": "green", "mass": "medium", "magnetism": "medium", "polarity": "-", "stored": 0},
    ],
    "targets": [[60, 300, 60, 60], [360, 300, 60, 60]], "inaccessible": [[0, 280, 480, 200]],
    "max_obj_num": 4, "max_grid_num": 3,
}  # fmt: skip
NEAR = ("attracts", "repels", "heavierThan", "differsFrom")


def table(task: Any = TASK, **settings: Any) -> Any:
    env: Any = gym.make("gumption/ProbSol-v0", task=task, **settings).unwrapped
    env.reset(seed=0)
    return env


def said(env: Any, *action: Any) -> list[tuple[str, str, str]]:
    """The facts that speak for an action, without the name of the task."""
    asked = env.action_facts().labels(env.vocabulary)[env.action_index(*action)]
    return [(s.removeprefix("mine/0:"), r, o.removeprefix("mine/0:")) for s, r, o in asked]


def met(one: str, other: str) -> list[tuple[str, str, str]]:
    return [(one, relation, other) for relation in NEAR]


def test_a_stored_disc_is_asked_about_with_the_first_one_on_the_table() -> None:
    assert said(table(), "grab", "c") == [*met("c", "a"), ("c", "affords", "grabbing")]
    assert said(table(), "grab", "a") == [("a", "affords", "grabbing")]  # b lies 300 px away
    assert said(table(), "hold", "a") == [("a", "affords", "pulling")]


def test_a_stored_disc_is_asked_about_with_the_golden_one() -> None:
    env = table("fishing/0")
    asked = env.action_facts().labels(env.vocabulary)[env.action_index("grab", "c")]
    assert ("fishing/0:c", "attracts", "fishing/0:a") in asked


@pytest.mark.slow
def test_nothing_can_be_put_down_by_a_free_hand_and_nothing_grabbed_by_a_full_one() -> None:
    env = table()
    assert said(env, "place", 8, 10) == said(env, "hold_at", 8, 10) == said(env, "turn", 1) == []
    assert said(env, "store", 1) == said(env, "none") == said(env, "check") == []
    env.step(env.action_index("grab", "c"))
    assert said(env, "grab", "c") == said(env, "put_down") == said(env, "check") == []


def test_a_placement_meets_the_nearest_disc_within_120_px_and_the_nearest_area() -> None:
    env = table()
    env.step(env.action_index("grab", "c"))
    left, right = "mine/0/target 0", "mine/0/target 1"
    assert said(env, "place", 8, 15) == [
        *met("c", "a"), ("c", "affords", "moving"), ("point 8 15", "inside", left)
    ]  # fmt: skip
    assert said(env, "hold_at", 33, 15) == [
        *met("c", "b"), ("c", "affords", "pulling"), ("point 33 15", "inside", right)
    ]  # fmt: skip
    # (102, 222) is 120 px from a, (102, 210) 108 px.
    assert [fact[2] for fact in said(env, "place", 8, 18)] == ["moving", left]
    assert [fact[2] for fact in said(env, "place", 8, 17)] == ["a"] * 4 + ["moving", left]


def test_a_held_disc_is_turned_and_let_go() -> None:
    env = table()
    env.step(env.action_index("grab", "c"))
    env.step(env.action_index("hold_at", 8, 15))
    here = said(env, "put_down")[0][2]
    assert here in ("a", "")
    assert said(env, "turn", 1) == said(env, "turn", -1) == [*met("c", "a"), ("c", "affords", "turning")]
    assert said(env, "take_up") == [*met("c", "a"), ("c", "affords", "grabbing")]
    assert said(env, "put_down") == [*met("c", "a"), ("c", "affords", "moving")]


def test_which_facts_are_asked_tells_nothing_of_hidden_properties() -> None:
    """Tasks that differ only in what cannot be seen are asked about in the same facts, as long as they look the same;
    their true facts differ."""
    other: Any = {**TASK, "objects": [
        {**disc, "mass": "small", "magnetism": "large", "polarity": "dipole"} for disc in TASK["objects"]
    ]}  # fmt: skip
    assert set(task_facts(read_task(TASK))) != set(task_facts(read_task(other)))
    for actions in ("paper", "objects"):
        envs = [table(task, actions=actions, laws="inert") for task in (TASK, other)]
        assert envs[0].vocabulary == envs[1].vocabulary
        rng = np.random.default_rng(1)
        for _ in range(12):
            parts = [None] if actions == "paper" else [rng.integers([7, 4, 361])[None, :t] for t in range(3)]
            for part in parts:
                one, two = (env.action_facts(part) for env in envs)
                assert all(np.array_equal(mine, yours) for mine, yours in zip(one[1:4], two[1:4], strict=True))
            mask = envs[0].action_masks()
            if actions == "paper":
                action = rng.choice(np.flatnonzero(mask[:-1]))
            else:
                action = [rng.integers(4), rng.integers(3), rng.integers(361)]
            for env in envs:
                env.step(action)


def test_the_form_of_objects_asks_the_same_of_a_placement_as_the_papers() -> None:
    whole, parts = table(), table(actions="objects")
    whole.step(whole.action_index("grab", "c"))
    asked = whole.action_facts()
    for what, verb in ((0, "place"), (1, "hold_at")):
        assert not parts.action_facts().subject.any()  # what is done says nothing yet of a disc
        discs = parts.action_facts(np.array([[what]])).labels(parts.vocabulary)
        assert [fact[:1] for facts in discs for fact in facts[-1:]] == [("mine/0:a",), ("mine/0:b",), ("mine/0:c",)]
        points = parts.action_facts(np.array([[what, 2]]))
        assert points.subject.shape == (1, 361, 6)
        for where in (0, 100, 360):
            row, column = divmod(where, 19)
            action = whole.action_index(verb, 2 * column + 1, 2 * row + 1)
            for name in ("subject", "object"):
                assert np.array_equal(getattr(points, name)[0, where], getattr(asked, name)[0, action])
    for what in (4, 5, 6):  # put down, none and check name no disc
        assert not parts.action_facts(np.array([[what, 2]])).subject.any()


def test_a_batch_asks_what_each_table_asks() -> None:
    envs: Any = gym.make_vec("gumption/ProbSol-v0", num_envs=3, task=[TASK, "fishing/0"], order="sequential").unwrapped
    envs.reset(seed=0)
    envs.step(envs.labels.action_index(envs.task(0), "grab", "c") * np.array([1, 0, 1]))
    asked = envs.action_facts()
    for i in range(3):
        single = table([TASK, "fishing/0"], order="sequential")
        single.reset(options={"task": envs.task(i)})
        single.restore(envs.save(i))
        assert single.vocabulary == envs.vocabulary
        alone = single.action_facts()
        for k in (1, 2):
            assert np.array_equal(asked[k][i], alone[k][0])


def test_true_facts_guide_and_false_ones_mislead() -> None:
    env = table("fishing/0")
    env.step(env.action_index("grab", "b"))
    near, far = env.action_index("place", 10, 16), env.action_index("place", 30, 30)
    scores = {}
    for laws in ("real", "counterfactual"):
        graph = KnowledgeGraph()
        graph.add(facts(partition="train", laws=laws), graph=laws)
        advice = Advice(graph, env.vocabulary, env.relations)
        told = advice(env)[0]
        scores[laws] = {name: told[near, k].item() for k, name in enumerate(advice.relations)}
        assert told[far].sum() == scores[laws]["affords"] == 1  # it meets nothing there, but would move
        assert advice.why(0, near)[0][1] == 1
    assert scores["real"]["attracts"] == 1
    assert scores["real"]["inside"] == 1
    assert scores["counterfactual"].get("attracts", 0) == 0
    assert scores["counterfactual"]["repels"] == 1
    scored = KGScores(gym.make("gumption/ProbSol-v0", task="fishing/0"), advice)
    observation, _ = scored.reset(seed=0)
    assert observation in scored.observation_space
    assert observation["kg_scores"].shape == (3256, len(advice.relations))


def test_another_task_adds_its_labels_and_old_advice_is_refused() -> None:
    env = gym.make("gumption/ProbSol-v0", task="fishing/0")
    env.reset(seed=0)
    graph = KnowledgeGraph()
    graph.add(facts(partition="train"), graph="train")
    graph.add(task_facts(read_task(TASK)), graph="mine")
    before = env.unwrapped.vocabulary
    advice = Advice(graph, before, env.unwrapped.relations)
    scored = KGScores(env, advice)
    env.reset(options={"task": TASK})
    assert env.unwrapped.vocabulary[: len(before)] == before
    assert "mine/0:a" in env.unwrapped.vocabulary[len(before) :]
    for ask in (lambda: advice(env), lambda: scored.reset(options={"task": TASK})):
        with pytest.raises(InputError, match=r"make the advice anew with env\.vocabulary"):
            ask()
    again = Advice(graph, env.unwrapped.vocabulary, env.unwrapped.relations)
    assert again(env).sum() > 0


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([[0, 1, 2]], "it is what was chosen so far, 0 to 2 parts"),
        ([[7]], "holds something else than 0 to 6"),
        ([[0, 4]], "holds something else than 0 to 3"),
        ([[0.5]], "whole numbers"),
    ],
)
def test_bad_parts_of_an_action_are_refused(chosen: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        table(actions="objects").action_facts(np.array(chosen))


def test_the_papers_actions_have_no_parts() -> None:
    with pytest.raises(InputError, match="is one choice"):
        table().action_facts(np.zeros((1, 1), dtype=int))
