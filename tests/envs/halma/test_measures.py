import numpy as np
import pytest

from gumption.agents.halma.acting import OracleActor, RandomActor, play
from gumption.envs.halma import HALMAVectorEnv, Mazes, sample_mazes
from gumption.envs.halma.env import Tally

LEFT, UP, RIGHT, DOWN = range(4)
EXPLORING = [(RIGHT, 2), (RIGHT, 1), (RIGHT, 1), (RIGHT, 1), (DOWN, 1), (RIGHT, 2), (DOWN, 1)]
PLANNED = [(RIGHT, 5), (DOWN, 1), (RIGHT, 2), (DOWN, 1)]
BUMP = (LEFT, 1)  # into the wall at the start


def measure(maze, moves, **settings):
    """Whether an episode of these moves is over, and its rho_a, rho_g and rho_p; what follows does not count."""
    over, found = played(maze, moves, **settings)
    return over, *(float(part[0]) for part in found[:3])


def played(maze, moves, **settings):
    env = HALMAVectorEnv(1, mazes=[maze], **settings)
    env.reset(seed=0)
    tally = Tally(env)
    for direction, length in moves:
        primitives = [min(3, max(0, length - 3 * i)) for i in range(env.max_opt_len)]
        tally.add(env.move(np.array([[direction, *primitives]])))
    return bool(tally.over[0]), tally.measures()


def test_the_oracle_s_episode(golden):
    assert measure(golden, EXPLORING + PLANNED * 9) == (True, 1.0, 1.0, 1.0)


def test_the_return_is_discounted_across_the_trials_of_an_episode(golden):
    rewards = [length + 100 * (move == len(EXPLORING)) for move, (_, length) in enumerate(EXPLORING, 1)]
    rewards += [-5, *(length + 100 * (move == len(PLANNED)) for move, (_, length) in enumerate(PLANNED, 1))]
    over, found = played(golden, [*EXPLORING, BUMP, *PLANNED, BUMP], trials=2)
    assert over
    assert found.returned == pytest.approx(sum(0.95**move * reward for move, reward in enumerate(rewards)))


def test_exploring_forever(golden):
    over, valid, reached, efficiency = measure(golden, EXPLORING * 10)
    assert (over, valid, reached) == (True, 1.0, 1.0)
    assert efficiency == pytest.approx((1 + 9 * 4 / 7) / 10)


def test_faster_than_the_oracle_is_as_good_as_the_oracle(golden):
    """Who guesses the way at once beats the exploring oracle; more than 1 is not given for it."""
    assert measure(golden, PLANNED * 10) == (True, 1.0, 1.0, 1.0)


def test_invalid_moves(golden):
    over, valid, reached, efficiency = measure(golden, [BUMP, *PLANNED] * 10)
    assert (over, reached) == (True, 1.0)
    assert valid == pytest.approx(4 / 5)
    assert efficiency == pytest.approx((1 + 9 * 4 / 5) / 10), "five moves are still under the exploring oracle's seven"


def test_trials_that_fail_or_are_not_begun_count_as_nothing(golden):
    """Two trials, then one that fails after its steps; seven are never begun."""
    over, valid, reached, efficiency = measure(
        golden, [*EXPLORING, *PLANNED, *[BUMP] * 20, *[BUMP] * 9], max_trial_steps=20, max_steps=40
    )
    assert over
    assert valid == pytest.approx(11 / 40)
    assert reached == pytest.approx(2 / 10)
    assert efficiency == pytest.approx(2 / 10)


def test_a_trial_s_length_counts_from_its_start(golden):
    over, _, reached, efficiency = measure(golden, [*[BUMP] * 4, *PLANNED, *PLANNED], trials=2)
    assert (over, reached) == (True, 1.0)
    assert efficiency == pytest.approx((7 / 8 + 1) / 2)


def test_what_follows_the_episode_does_not_count(golden):
    alone = measure(golden, EXPLORING + PLANNED * 9)
    assert measure(golden, EXPLORING + PLANNED * 9 + [BUMP] * 30) == alone


def test_an_episode_that_goes_on_is_not_over(golden):
    over, valid, reached, efficiency = measure(golden, [*EXPLORING, BUMP])
    assert (over, reached, efficiency) == (False, 0.1, 0.1)
    assert valid == pytest.approx(7 / 8)


def test_another_option_length_has_another_oracle(golden):
    one = [(RIGHT, 3), (RIGHT, 2), (DOWN, 1), (RIGHT, 2), (DOWN, 1)]
    assert measure(golden, EXPLORING + one * 9, max_opt_len=1) == (True, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("max_opt_len", [1, 3, 5])
def test_the_oracle_is_perfect_everywhere(max_opt_len):
    mazes = Mazes(sample_mazes(60, 0, 5, 5))
    env = HALMAVectorEnv(60, mazes=mazes, max_opt_len=max_opt_len)
    found = play(OracleActor(env), env, np.arange(60))
    for part in found[:3]:
        assert (part == 1).all()
    assert (found.returned > 100).all()


def test_random_options_are_hardly_ever_right():
    env = HALMAVectorEnv(40, num_mazes=40)
    found = play(RandomActor(5), env, np.arange(40))
    assert found.rho_a.mean() < 0.3
    assert found.rho_p.mean() < 0.1
    for part in found:
        assert part.shape == (40,)
    assert all(((part >= 0) & (part <= 1)).all() for part in found[:3])
    assert found.returned.mean() < 0
    again = play(RandomActor(5), env, np.arange(40))
    other = play(RandomActor(5), env, np.arange(40), seed=1)
    assert (found.rho_a == again.rho_a).all()
    assert (found.rho_a != other.rho_a).any()
