"""Episodes: trials, limits, quizzes, rewards, observations, masks, saving."""

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from gumption.data import InputError
from tests.probsol_examples import disc, fishing, make, play, task

SOLVE = (("grab", "b"), ("place", 10, 16), ("check",))
FAIL = (("grab", "b"), ("place", 30, 30), ("check",))


def test_the_magnet_of_fishing_comes_out() -> None:
    """The spec's example: a rests at (126, 169.5)."""
    env = make(fishing())
    _, reward, terminated, _, info = play(env, *SOLVE)
    assert (reward, terminated, info["end"], info["success"]) == (1.0, True, "solved", True)
    a = env.table()[0]
    assert (a["x"], a["y"]) == pytest.approx((126, 169.5), abs=0.05)
    assert info["solution_rate"] == 1.0
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_numbers_of_actions_are_the_papers() -> None:
    env = make("fishing/0")
    M = G = 12
    N = 3 * M + G + 3208
    assert env.action_space == gym.spaces.Discrete(N)
    named = {
        ("grab", "b"): 1, ("hold", "a"): 2 * M, ("store", 3): 3 * M + 3, ("place", 10, 16): 3 * M + G + 650,
        ("hold_at", 39, 39): 3 * M + G + 3199, ("put_down",): N - 6, ("take_up",): N - 5, ("turn", -1): N - 4,
        ("turn", 1): N - 3, ("none",): N - 2, ("check",): N - 1,
    }  # fmt: skip
    for name, number in named.items():
        assert env.action_index(*name) == number
        assert env.label(number) == name
    assert env.action_index("grab", "a") == M  # where it is: on the table
    assert env.label(M) == ("grab_placed", "a")
    assert env.label(N - 8) == env.label(N - 7) == ()
    assert not env.action_masks()[[N - 8, N - 7]].any()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (("jump",), "there is no action 'jump'"),
        (("grab", "z"), "there is no disc 'z'; there are a, b"),
        (("place", 40, 0), "a column or row is 40; it is 0 to 39"),
        (("store", 12), "a cell is 12; it is 0 to 11"),
        (("turn", 3), "'turn' takes 1 or -1"),
        (("place", 1), "'place' takes 2 arguments, and 1 are given"),
    ],
)
def test_actions_that_there_are_not(name: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(fishing()).action_index(*name)


def test_a_closed_action_is_refused_and_counted() -> None:
    env = make(fishing())
    before = env.save()
    *_, info = env.step(env.action_index("place", 10, 16))  # nothing is in hand
    *_, info = env.step(env.action_index("grab", "a"))  # it lies in the dark
    assert info["refused"] == 2
    assert info["constraints"]["action_number"]["value"] == 0
    assert env.save()["table"] | {"refused": 0} == before["table"]


def test_which_actions_are_open() -> None:
    env = make(
        task("Sandbox", disc("a", (102, 102)), disc("b", 0), disc("c", (300, 60)), inaccessible=[[240, 0, 240, 120]])
    )
    M, first = 12, 48

    def opened() -> set[Any]:
        return {env.label(int(k)) for k in np.flatnonzero(env.action_masks())}

    assert opened() == {("grab_placed", "a"), ("grab", "b"), ("hold", "a"), ("none",), ("check",)}
    play(env, ("grab", "b"))
    assert ("check",) not in opened()
    assert {name for name in opened() if name[0] == "store"} == {("store", k) for k in range(M)}
    places = env.action_masks()[first : first + 1600].reshape(40, 40)
    assert not places[[0, 39]].any()
    assert not places[:, [0, 39]].any()
    inside = [(row, column) for row in range(40) for column in range(40) if places[row, column]]
    assert all(np.hypot(12 * c + 6 - 102, 12 * r + 6 - 102) >= 24 for r, c in inside)
    assert places[8, 6] == (np.hypot(12 * 6 + 6 - 102, 12 * 8 + 6 - 102) >= 24)
    assert not places[:10, 20:].any()  # the dark
    assert np.array_equal(env.action_masks()[first + 1600 : first + 3200].reshape(40, 40), places)
    play(env, ("hold_at", 30, 30))
    assert opened() == {("put_down",), ("take_up",), ("turn", -1), ("turn", 1), ("none",)}
    play(env, ("turn", 1), ("put_down",))
    assert env.table()[1]["boundary"] == 45
    assert ("store", 0) not in opened()


def test_the_edge_takes_156_points() -> None:
    env = make(task("Sandbox", disc("b", 0)))
    play(env, ("grab", "b"))
    assert env.action_masks()[48 : 48 + 1600].sum() == 1600 - 156


def test_a_failed_check_begins_another_trial() -> None:
    env = make(fishing(constraints={"trial_number": 2}))
    start = env.save()["table"]
    _, reward, terminated, _, info = play(env, *FAIL)
    assert (reward, terminated, info["trial"], info["step"]) == (0.0, False, 2, 0)
    assert info["trial_rate"] == pytest.approx(1 - 26 / (480 * 2**0.5))
    assert info["constraints"]["solve_time"]["value"] > 3.0  # goes on
    again = env.save()["table"]
    for name in ("where", "cell", "theta", "hand", "factors", "steps", "actions"):
        assert again[name] == start[name]
    _, reward, terminated, _, info = play(env, *FAIL)
    assert (reward, terminated, info["end"]) == (0.0, True, "trials")


def test_the_limit_of_trials_can_be_set_for_all_tasks() -> None:
    env = make(fishing(constraints={"trial_number": 2}), trial_number=1)
    _, _, terminated, _, info = play(env, *FAIL)
    assert (terminated, info["end"], info["constraints"]["trial_number"]["limit"]) == (True, "trials", 1)
    _, info = env.reset(options={"task": fishing(name="another")})
    assert (info["task"], info["constraints"]["trial_number"]["limit"]) == ("another", 1)
    with pytest.raises(InputError, match="trial_number is 0"):
        make(fishing(), trial_number=0)


def test_no_limit_of_trials() -> None:
    env = make(fishing(), max_actions=5)
    for _ in range(4):
        assert not play(env, ("check",))[2]
    assert env.step(env.action_index("none"))[4]["trial"] == 5


@pytest.mark.parametrize(
    ("limits", "end"),
    [({"action_number": 2}, "action_number"), ({"trial_time": 3.5}, "trial_time"), ({"solve_time": 3.5}, "solve_time")],
)
def test_a_broken_limit_ends_the_episode(limits: dict[str, float], end: str) -> None:
    env = make(fishing(constraints=limits))
    told = [env.step(env.action_index(*action)) for action in SOLVE[: 3 if end == "action_number" else 2]]
    if end != "action_number":
        told.append(env.step(env.action_index("none")))
    _, reward, terminated, _, info = told[-1]
    assert (reward, terminated, info["end"], info["success"]) == (0.0, True, end, False)
    on = make(fishing(constraints=limits), on_violation="go_on")
    _, reward, terminated, _, info = play(on, *SOLVE[:2], ("none",), ("check",))
    assert (reward, terminated, info["end"], info["success"]) == (0.0, True, "solved", False)
    assert info["constraints"][end]["excess"] > 0


def test_a_limit_that_no_action_keeps_is_refused() -> None:
    with pytest.raises(InputError, match=r"constraints.action_time is 0.5, and every action takes 1 s here"):
        make(fishing(constraints={"action_time": 0.5}))
    make(fishing(constraints={"action_time": 0.5}), action_seconds=0.25)


def test_too_many_actions_truncate() -> None:
    env = make(fishing(), max_actions=3)
    for k in range(3):
        *_, truncated, info = env.step(env.action_index("none") if k else 0)
    assert truncated
    assert info["end"] == "max_actions"


def test_the_rate_as_reward() -> None:
    env = make(fishing(constraints={"trial_number": 1}), reward="solution_rate")
    assert play(env, *FAIL)[1] == pytest.approx(1 - 26 / (480 * 2**0.5))


QUIZ = [{"ask": "mass", "which": "largest"}, {"ask": "pair", "same": "magnetism"}]


def quizzed(**settings: Any) -> Any:
    given = fishing(quiz=QUIZ)
    given["objects"].append(disc("c", 1, mass="small"))
    return make(given, **settings)


def test_a_quiz_follows_a_solved_table() -> None:
    env = quizzed()
    with pytest.raises(InputError, match="no quiz is open"):
        env.answer([["b"], ["a", "c"]])
    _, reward, terminated, _, info = play(env, *SOLVE)
    assert (reward, terminated, len(info["quiz"])) == (0.0, False, 2)
    assert {env.label(int(k)) for k in np.flatnonzero(info["action_mask"])} == {("none",)}
    before = env.save()["table"]
    play(env, ("none",))
    assert env.save()["table"] == before
    kept = env.save()
    _, reward, terminated, _, info = env.answer([["b"], ["a", "c"]])
    assert (reward, terminated, info["end"]) == (1.0, True, "solved")
    env.restore(kept)
    _, reward, terminated, _, info = env.answer([["a"], ["a", "c"]])
    assert (reward, terminated, info["end"], info["success"]) == (0.0, True, "quiz", False)


def test_a_quiz_may_be_left_out() -> None:
    assert play(quizzed(quiz=False), *SOLVE)[1:3] == (1.0, True)


def test_a_batch_answers_one_table() -> None:
    given = fishing(quiz=[{"ask": "mass", "which": "largest"}])
    envs: Any = gym.make_vec("gumption/ProbSol-v0", num_envs=3, task=given).unwrapped
    envs.reset(seed=0)
    for action in SOLVE:
        envs.step(np.full(3, envs.action_index(*action)))
    _, reward, terminated, _, info = envs.answer(1, [["b"]])
    assert (reward, terminated, info["end"]) == (1.0, True, "solved")
    _, rewards, _, _, infos = envs.step(np.full(3, envs.action_index("none")))
    assert rewards.tolist() == [0, 0, 0]
    assert infos["trial"].tolist() == [1, 1, 1]
    assert envs.waits.tolist() == [True, False, True]  # the one that was answered began anew


# ---- distances, hand-worked from A.1


def rate(env: Any) -> float:
    return env.batch.describe(0)["solution_rate"]


def test_nothing_done_is_no_solution() -> None:
    inside = fishing(objects=[disc("a", (126, 190)), disc("b", 0)])
    assert rate(make(inside)) == 0.0  # though a lies in the target: s = rho


def test_fishing_is_the_mean_over_goal_discs() -> None:
    given = task(
        "Fishing", disc("a", (100, 300)), disc("b", (300, 300)), disc("c", 0),
        targets=[[80, 280, 40, 40], [300, 400, 50, 50]], goal=["a", "b"], laws="inert",
    )  # fmt: skip
    env = make(given)
    play(env, ("grab", "c"), ("place", 20, 5))
    assert rate(env) == pytest.approx(1 - (0 + 100 / (480 * 2**0.5)) / 2)
    play(env, ("grab", "b"), ("store", 3))
    assert rate(env) == pytest.approx(1 - (0 + 1) / 2)  # a disc that is not placed has distance 1


def test_curling_is_the_mean_over_targets() -> None:
    given = task("Curling", disc("a", 0), disc("b", 1), targets=[[60, 60, 24, 24], [300, 60, 24, 24]], laws="inert")
    env = make(given)
    play(env, ("grab", "a"), ("place", 5, 5))  # (66, 66)
    assert rate(env) == pytest.approx(1 - (0 + (300 - 66) / (480 * 2**0.5)) / 2)
    play(env, ("grab", "b"), ("place", 25, 5))
    assert rate(env) == 1.0


@pytest.mark.parametrize(
    ("table", "distance"),
    [
        ("ab", 0),
        ("a", 2 / 8),
        ("ac", 1 / 8),
        ("abc", 2 / 8),
        ("cd", 2 / 8),
        ("acd", 3 / 8),
        ("abcd", 4 / 8),
        ("", 4 / 8),
    ],
)
def test_discovery_is_an_edit_distance(table: str, distance: float) -> None:
    """Weights: add 2, substitute 1, delete 2, over 2 n with n = 4 discs first stored."""
    given = task("FindTheDiff", *(disc(name, k) for k, name in enumerate("abcd")), disc("e", (30, 450)),
                 answer=["a", "b"], laws="inert")  # fmt: skip
    env = make(given)
    play(env, ("hold", "e"), ("turn", 1), ("put_down",))  # so that an empty table is not the start
    for k, name in enumerate(table):
        play(env, ("grab", name), ("place", 5 + 5 * k, 10))
    assert rate(env) == pytest.approx(1 - distance)


def test_a_disc_serves_one_block() -> None:
    block = [[100, 100], [140, 100], [140, 140], [100, 140]]
    near = [[120, 100], [160, 100], [160, 140], [120, 140]]
    env = make(task("Building", disc("a", 0), disc("b", 1), blocks=[block, near], laws="inert"))
    play(env, ("grab", "a"), ("place", 10, 9))  # (126, 114) lies in both
    assert rate(env) == pytest.approx(1 - (0 + 1) / 2)
    play(env, ("grab", "b"), ("place", 30, 9))
    assert rate(env) == pytest.approx(1 - (0 + (366 - 160) / (480 * 2**0.5)) / 2)


# ---- observations


def test_the_papers_observation() -> None:
    env = make(fishing(), observation="paper")
    first, _ = env.reset()
    assert first.shape == (84,)
    assert first[:7].tolist() == pytest.approx([0, 0, 0, 1, 126 / 480, 138 / 480, 0])
    assert first[7:14].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert not first[14:].any()
    held = play(env, ("grab", "b"), ("hold_at", 30, 30), ("turn", -1))[0]
    assert held[7:14].tolist() == [0, 0, 1, 0, 0, 0, 315 / 360]
    won = play(env, ("take_up",), *SOLVE[1:])[0]
    assert (won == 1).all()


def test_the_full_observation() -> None:
    env = make(fishing(constraints={"action_number": 3, "trial_time": 500}))
    seen = play(env, *SOLVE[:2])[0]
    assert seen in env.observation_space
    assert seen["discs"][:, 7].tolist() == [1] + [0] * 11
    assert seen["discs"][:, 8].tolist() == [0, 1] + [0] * 10
    assert seen["discs"][0, 10] == pytest.approx(31.53 / 480, abs=1e-4)  # a came down
    assert seen["family"].tolist() == [1, 0, 0, 0, 0, 0]
    assert seen["constraints"][1].tolist() == pytest.approx([0.003, 2 / 3])
    assert seen["constraints"][0].tolist() == [-1, -1]
    dark, target = seen["map"][:2]
    assert dark.sum() == 40 * 13 + 0  # rows whose centres lie above 160 px
    assert target[14, 8] == 1
    assert target.sum() == 25


def test_hidden_properties_are_in_no_observation() -> None:
    """Two tables that differ in what is hidden alone look the same until something moves."""
    one = task("Sandbox", disc("a", (100, 100)), disc("b", (300, 300)))
    two = task(
        "Sandbox", disc("a", (100, 100), mass="large", magnetism="small", polarity="dipole"), disc("b", (300, 300))
    )
    for form in ("paper", "full"):
        first, second = make(one, observation=form), make(two, observation=form)
        for action in (("hold", "a"), ("turn", 1), ("put_down",), ("grab", "a"), ("store", 0)):
            left, right = (env.step(env.action_index(*action)) for env in (first, second))
            for name in left[0] if form == "full" else (slice(None),):
                assert np.array_equal(left[0][name], right[0][name])
            assert np.array_equal(left[4]["action_mask"], right[4]["action_mask"])


# ---- saving


def test_a_saved_state_goes_on_bit_for_bit() -> None:
    env = make(fishing())
    play(env, ("grab", "b"), ("hold_at", 10, 14), ("none",), ("put_down",))
    kept = json.loads(json.dumps(env.save()))
    rest = [("grab", "b"), ("place", 12, 17), ("none",), ("check",)]
    told = [env.step(env.action_index(*action)) for action in rest]
    table = env.table()
    other = make(fishing())
    other.restore(kept)
    again = [other.step(other.action_index(*action)) for action in rest]
    assert other.table() == table
    assert [step[1:4] for step in told] == [step[1:4] for step in again]
    assert other.save() == env.save()


def test_states_that_do_not_fit() -> None:
    env, other = make(fishing()), make(fishing(friction=21))
    kept = env.save()
    with pytest.raises(InputError, match="the state is of the task 'mine/0', and the table has 'mine/0'"):
        other.restore(kept)
    with pytest.raises(InputError, match=r"is no state of schema 1"):
        env.restore({**kept, "schema": 2})
    with pytest.raises(InputError, match="the state is damaged"):
        env.restore({**kept, "table": {**kept["table"], "where": "x"}})
    assert env.save() == kept


def test_a_batch_is_saved_and_goes_on() -> None:
    def made() -> Any:
        return gym.make_vec(
            "gumption/ProbSol-v0", num_envs=5, task="fishing/0", laws="shuffled", max_actions=9
        ).unwrapped

    def random_steps(envs: Any, rng: np.random.Generator) -> list[Any]:
        told = []
        for _ in range(25):
            mask = envs.action_mask()
            _, reward, *_ = envs.step(np.where(mask, rng.random(mask.shape), -1).argmax(1))
            told.append((reward.tolist(), [envs.save(i) for i in range(5)]))
        return told

    one, two = made(), made()
    one.reset(seed=4)
    random_steps(one, np.random.default_rng(0))
    state = one.state_dict()
    rest = random_steps(one, np.random.default_rng(1))
    two.reset(seed=9)
    two.load_state_dict(state)
    assert random_steps(two, np.random.default_rng(1)) == rest


def test_a_batch_is_its_members() -> None:
    """A table in a batch goes as it goes alone."""
    given = [fishing(), task("Sandbox", *(disc(name, k) for k, name in enumerate("abcdef")))]
    envs: Any = gym.make_vec(
        "gumption/ProbSol-v0", num_envs=2, task=given, order="sequential", max_actions=99
    ).unwrapped
    envs.reset(seed=0)
    alone = [make(one, max_obj_num=12, max_actions=99) for one in given]
    rng = np.random.default_rng(0)
    for _ in range(30):
        mask = envs.action_mask().copy()
        mask[:, -1] = False
        actions = np.where(mask, rng.random(mask.shape), -1).argmax(1)
        envs.step(actions)
        for i, env in enumerate(alone):
            env.step(actions[i])
            assert env.table() == envs.table(i)


# ---- laws, options, settings


def test_laws_are_a_dial() -> None:
    def meets(law: str) -> float:
        env = make(task("Sandbox", disc("a", (200, 200)), disc("b", 0, polarity="-")), laws=law)
        play(env, ("grab", "b"), ("place", 20, 16))
        return env.table()[1]["x"] - env.table()[0]["x"]

    before = 12 * 20 + 6 - 200
    assert meets("real") < before
    assert meets("inert") == before
    assert meets("counterfactual") > before
    env = make(fishing(), laws="shuffled")
    found = {env.reset(options={"seed": k}) and env.save()["table"]["law"] for k in range(20)}
    assert found == {"real", "counterfactual", "inert"}


def test_reset_options() -> None:
    env = make(fishing())
    _, info = env.reset(options={"task": fishing(name="mine/1", walls=[[300, 300, 20, 20]])})
    assert info["task"] == "mine/1"
    with pytest.raises(InputError, match=r"reset has no 'tusk'; did you mean 'task'\?"):
        env.reset(options={"tusk": 1})
    with pytest.raises(InputError, match="which is 2 tasks; give one"):
        env.reset(options={"task": [fishing(), fishing(name="mine/2")]})
    many = [disc("a", k) | {"id": f"d{k}", "color": f"#0000{k:02x}"} for k in range(13)]
    with pytest.raises(InputError, match="has 13 discs and 13 cells of the side bar; these tables have room for 12"):
        env.reset(options={"task": task("Sandbox", *many, max_obj_num=13, max_grid_num=13)})
    with pytest.raises(InputError, match="seed is -1"):
        env.reset(options={"seed": -1})


def test_the_form_in_three_parts() -> None:
    env = make(fishing(), actions="objects")
    assert env.action_space == gym.spaces.MultiDiscrete([7, 12, 361])
    column, row = 10, 16
    where = (row // 2) * 19 + (column - 1) // 2  # the nearest of every other point: (9, 17)
    env.step([0, 1, where])
    b = env.table()[1]
    assert (b["state"], b["x"]) == ("placed", pytest.approx(12 * 9 + 6, abs=20))
    *_, info = env.step([2, 0, 0])  # a lies in the dark, or came out: then it is stored
    assert info["refused"] in (0, 1)
    env.reset()
    env.step([1, 1, where])
    assert env.table()[1]["state"] == "held"
    env.step([3, 1, 0])
    assert env.table()[1]["boundary"] == 45
    env.step([4, 0, 0])
    assert env.table()[1]["state"] == "placed"
    *_, info = env.step([4, 0, 0])
    assert info["refused"] == 1
    env.step([2, 1, 0])
    assert env.table()[1]["state"] == "stored"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"observation": "rgb"}, "observation is 'rgb'; it can be paper, full"),
        ({"task": []}, "task is an empty list"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        gym.make("gumption/ProbSol-v0", **settings)
