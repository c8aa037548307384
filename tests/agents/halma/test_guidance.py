"""The guided agent: what knowledge makes it do, and that without knowledge it does nothing."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gumption.agents.halma.acting import Percept, first_percept, next_percept, panel_rows, play
from gumption.agents.halma.knowledge import HALMAKnowledge
from gumption.agents.halma.scoring import KnowledgeActor, StrategyGuide
from gumption.data import InputError
from gumption.envs.halma import Maze, Mazes, one_hot, oracle_trials, sample_mazes
from gumption.envs.halma.env import HALMAVectorEnv
from gumption.envs.halma.maze import DIRECTIONS
from gumption.envs.halma.memory import Memory

Experienced = Callable[[int], Memory]
Newborn = Callable[[int], HALMAKnowledge]
Panel = Callable[..., list[int]]


@pytest.fixture(scope="module")
def knowing(experienced: Experienced) -> Callable[[int], HALMAKnowledge]:
    known: dict[int, HALMAKnowledge] = {}
    return lambda t: known.setdefault(t, known.get(t) or HALMAKnowledge.of_memory(experienced(t)))


def at(row: list[int], max_opt_len: int = 3) -> Percept:
    """An episode begins at a panel."""
    rows = np.array([row], dtype=np.int8)
    no = np.zeros(1, dtype=bool)
    return Percept(one_hot(rows), np.zeros((1, 1 + max_opt_len), dtype=np.int64), np.zeros(1), no, no, ~no)


def choice(knowledge: HALMAKnowledge, row: list[int]) -> tuple[str, int]:
    actor = KnowledgeActor(knowledge, knowledge.options.max_opt_len)
    option = actor.act(at(row, knowledge.options.max_opt_len), np.random.default_rng(0))[0]
    return DIRECTIONS[option[0]], int(option[1:].sum())


def nothing(guide: StrategyGuide) -> np.ndarray:
    """No choice is made yet."""
    return np.zeros((guide.num_envs, 0), dtype=np.int64)


def all_biases(guide: StrategyGuide, max_opt_len: int) -> list[np.ndarray]:
    chosen = np.arange(guide.num_envs * (1 + max_opt_len)).reshape(-1, 1 + max_opt_len) % 4
    return [guide.bias(chosen[:, :t]) for t in range(1 + max_opt_len)]


@pytest.mark.parametrize("max_opt_len", [1, 5])
def test_without_knowledge_every_bias_is_exactly_zero(newborn: Newborn, max_opt_len: int) -> None:
    env = HALMAVectorEnv(16, max_opt_len=max_opt_len)
    env.reset(seed=0)
    guide, percept = StrategyGuide(newborn(max_opt_len), 16), first_percept(env)
    for _ in range(40):
        guide.observe(percept)
        for bias in all_biases(guide, max_opt_len):
            assert bias.dtype == np.float32
            assert bias.tobytes() == bytes(bias.nbytes)  # not even -0
        options = env.random_actions()
        percept = next_percept(env, options, env.move(options))


def test_without_knowledge_options_are_drawn_uniformly(newborn: Newborn) -> None:
    env = HALMAVectorEnv(512, max_opt_len=2)
    env.reset(seed=0)
    actor, rng, counts = KnowledgeActor(newborn(2), 2), np.random.default_rng(0), np.zeros((4, 4, 4))
    percept = first_percept(env)
    for _ in range(50):
        options = actor.act(percept, rng)
        np.add.at(counts, tuple(options.T), 1)
        percept = next_percept(env, options, env.move(options))
    expected = 512 * 50 / 64
    assert ((counts - expected) ** 2 / expected).sum() < 103.4  # chi-square, 63 degrees of freedom, p = 0.001


def test_the_papers_example(knowing: Callable[[int], HALMAKnowledge], paper_maze: Maze) -> None:
    env = HALMAVectorEnv(1, mazes=[paper_maze], max_opt_len=5)
    env.reset(seed=0)
    actor, rng, percept = KnowledgeActor(knowing(5), 5), np.random.default_rng(0), first_percept(env)
    trials: list[list[tuple[str, int]]] = [[] for _ in range(10)]
    for _ in range(7 + 9 * 4):
        option = actor.act(percept, rng)
        outcome = env.move(option)
        trials[int(outcome.trial[0])].append((DIRECTIONS[option[0, 0]], int(option[0, 1:].sum())))
        percept = next_percept(env, option, outcome)
    right, down = "right", "down"
    assert trials[0] == [(right, 2), (right, 1), (right, 1), (right, 1), (down, 1), (right, 2), (down, 1)]
    assert trials[1:] == [[(right, 5), (down, 1), (right, 2), (down, 1)]] * 9


@pytest.mark.slow
@pytest.mark.parametrize("max_opt_len", [1, 3, 5])
def test_an_experienced_agent_does_as_the_oracle(knowing: Callable[[int], HALMAKnowledge], max_opt_len: int) -> None:
    mazes = Mazes(sample_mazes(60, 99, mean_depth=5))
    env = HALMAVectorEnv(60, mazes=mazes, max_opt_len=max_opt_len)
    measures = play(KnowledgeActor(knowing(max_opt_len), max_opt_len), env, np.arange(60))
    assert measures.rho_a.mean() > 0.99
    assert measures.rho_g.mean() > 0.98
    assert measures.rho_p.mean() > 0.95


def test_it_stops_at_the_lesser_digit_because_it_knows_which_that_is(
    knowing: Callable[[int], HALMAKnowledge], panel: Panel
) -> None:
    row = panel({"right": 8, "left": 2}, {"right": 6}, goal=(9, 4))
    knowledge = knowing(5)
    assert choice(knowledge, row) == ("right", 6)
    ignorant = replace(knowledge, greater=np.zeros_like(knowledge.greater))
    scores = StrategyGuide(ignorant, 1)
    scores.observe(at(row, 5))
    assert scores.scores[0, 2, 6] == scores.scores[0, 2, 8] > 0
    assert scores.scores[0, 2, 7] == 0
    unaware = StrategyGuide(replace(knowledge, lesser_shows_hint=False), 1)
    unaware.observe(at(row, 5))
    assert unaware.scores[0, 2, 6] == unaware.scores[0, 2, 8]
    assert unaware.scores[0, 2, 9] == -1


def test_hints_and_goals_lead_only_who_understands_them(knowing: Callable[[int], HALMAKnowledge], panel: Panel) -> None:
    knowledge = knowing(5)
    row = panel({"right": 3, "up": 4, "left": 1}, goal=(2, 5), hint="up")
    assert choice(knowledge, row) == ("up", 4)
    guide = StrategyGuide(replace(knowledge, leads_to=np.zeros((4, 4), dtype=bool)), 1)
    guide.observe(at(row, 5))
    bias = guide.bias(nothing(guide))[0]
    assert bias[1] == bias[2] > bias[0] > 0 > bias[3]
    guide = StrategyGuide(
        replace(knowledge, leads_to=np.zeros((4, 4), dtype=bool), reaches_goal=np.zeros(8, dtype=bool)), 1
    )
    guide.observe(at(row, 5))
    bias = guide.bias(nothing(guide))[0]
    assert bias[0] == bias[1] == bias[2] > 0 > bias[3]


def test_the_goal_straight_ahead_is_a_stop(knowing: Callable[[int], HALMAKnowledge], panel: Panel) -> None:
    assert choice(knowing(5), panel({"down": 6, "up": 1}, goal=(0, -4))) == ("down", 4)
    assert choice(knowing(5), panel({"down": 6, "up": 1}, goal=(1, -4))) == ("down", 6)


def test_a_distance_beyond_one_option_is_gone_in_several(
    knowing: Callable[[int], HALMAKnowledge], panel: Panel
) -> None:
    assert choice(knowing(1), panel({"left": 7}, goal=(-9, 0))) == ("left", 3)


def test_a_bias_is_the_best_score_that_a_choice_leaves(knowing: Callable[[int], HALMAKnowledge]) -> None:
    knowledge = knowing(3)
    env = HALMAVectorEnv(32, max_opt_len=3, mean_depth=5)
    env.reset(seed=3)
    guide, percept = StrategyGuide(knowledge, 32), first_percept(env)
    options = np.array(list(itertools.product(range(4), repeat=3)))
    measured = knowledge.measure[knowledge.options.of(options)]
    kinds = np.where(measured > 0, measured, np.where(knowledge.stopped[knowledge.options.of(options)], 10, 0))
    for _ in range(8):
        guide.observe(percept)
        score = guide.scores[:, :, kinds].reshape(32, 4, 4, 4, 4)
        assert np.array_equal(guide.bias(nothing(guide)), score.max((2, 3, 4)))
        direction = guide.bias(nothing(guide)).argmax(1)
        chosen = np.zeros((32, 0), dtype=np.int64)
        here = score[np.arange(32), direction]
        for t in range(3):
            bias = guide.bias(np.concatenate([direction[:, None], chosen], axis=1))
            assert np.array_equal(bias, here.reshape(32, 4, -1).max(2))
            primitive = bias.argmax(1) if t else percept.observation[:, 4, 10:14].argmax(1)
            here = here[np.arange(32), primitive]
            chosen = np.concatenate([chosen, primitive[:, None]], axis=1)
        acted = np.concatenate([direction[:, None], chosen], axis=1)
        percept = next_percept(env, acted, env.move(acted))


def test_it_finds_out_of_a_dead_end(knowing: Callable[[int], HALMAKnowledge]) -> None:
    """Every trial's first moves are random: they miss hints and end in branches."""
    mazes = Mazes(sample_mazes(40, 5, mean_depth=5))
    env = HALMAVectorEnv(40, mazes=mazes, max_opt_len=3)
    env.reset(seed=0)
    env.set_mazes(np.arange(40))
    actor, rng, percept = KnowledgeActor(knowing(3), 3), np.random.default_rng(0), first_percept(env)
    reached = np.zeros(40, dtype=bool)
    for step in range(60):
        options = actor.act(percept, rng)
        if step < 20:
            options = rng.integers([[0, 0, 0, 0]], [[4, 4, 2, 2]], size=(40, 4))
        outcome = env.move(options)
        reached |= outcome.reached & (step >= 20)
        percept = next_percept(env, options, outcome)
    assert reached.mean() > 0.95


def test_new_knowledge_takes_over_in_the_middle_of_an_episode(
    knowing: Callable[[int], HALMAKnowledge], newborn: Newborn, paper_maze: Maze
) -> None:
    env = HALMAVectorEnv(1, mazes=[paper_maze], max_opt_len=5)
    env.reset(seed=0)
    actor, rng, percept = KnowledgeActor(newborn(5), 5), np.random.default_rng(0), first_percept(env)
    for step in range(40):
        if step == 20:
            actor.guide.knowledge = knowing(5)
        option = actor.act(percept, rng)
        outcome = env.move(option)
        percept = next_percept(env, option, outcome)
    assert env.trial[0] >= 1


def test_the_same_seed_gives_the_same_episodes(knowing: Callable[[int], HALMAKnowledge]) -> None:
    mazes = Mazes(sample_mazes(10, 7, mean_depth=5))

    def once() -> list[int]:
        env = HALMAVectorEnv(10, mazes=mazes, max_opt_len=5)
        env.reset(seed=0)
        actor, rng, percept, all_options = KnowledgeActor(knowing(5), 5), np.random.default_rng(4), None, []
        percept = first_percept(env)
        for _ in range(20):
            options = actor.act(percept, rng)
            all_options += options.ravel().tolist()
            percept = next_percept(env, options, env.move(options))
        return all_options

    assert once() == once()


def test_a_guide_may_begin_in_the_middle_of_an_episode(knowing: Callable[[int], HALMAKnowledge], panel: Panel) -> None:
    row = panel({"right": 8, "left": 2}, {"right": 6}, goal=(9, 4))
    begun = at(row)
    late = begun._replace(first=~begun.first, action=np.array([[2, 1, 0, 0]]), reached=begun.first)
    fresh, other = StrategyGuide(knowing(3), 1), StrategyGuide(knowing(3), 1)
    fresh.observe(begun)
    other.observe(late)
    assert np.array_equal(fresh.scores, other.scores)


def test_a_guide_goes_on_from_saved_episodes(knowing: Callable[[int], HALMAKnowledge]) -> None:
    env = HALMAVectorEnv(16, max_opt_len=3)
    env.reset(seed=2)
    guide, percept, rng = StrategyGuide(knowing(3), 16), first_percept(env), np.random.default_rng(0)
    other: StrategyGuide | None = None
    for step in range(60):
        guide.observe(percept)
        if step == 30:
            other = StrategyGuide(knowing(3), 16)
            other.episodes.load_state_dict(guide.episodes.state_dict())
        elif other is not None:
            other.observe(percept)
            assert np.array_equal(guide.scores, other.scores)
        direction = guide.bias(nothing(guide)).argmax(1)
        options = np.concatenate([direction[:, None], rng.integers(3, size=(16, 3))], axis=1)
        percept = next_percept(env, options, env.move(options))
    assert not np.array_equal(guide.scores, StrategyGuide(knowing(3), 16).scores)


def test_panels_are_read_from_observations() -> None:
    rows = Mazes(sample_mazes(5, 0)).rows.reshape(-1, 11)
    assert np.array_equal(panel_rows(one_hot(rows)), rows)


def test_pictures_are_told_to_have_no_digits(newborn: Newborn) -> None:
    percept = at([0] * 11)._replace(observation=np.zeros((1, 128, 128, 3), dtype=np.uint8))
    with pytest.raises(InputError, match='play with observation="symbolic"'):
        StrategyGuide(newborn(3), 1).observe(percept)


def test_knowledge_of_other_options_is_told(newborn: Newborn) -> None:
    with pytest.raises(InputError, match="options of up to 3 primitives, not 5"):
        KnowledgeActor(newborn(3), 5)


def test_the_oracle_moves_alike_in_the_papers_example(paper_maze: Maze) -> None:
    trials = oracle_trials(paper_maze, 5)
    assert (len(trials.exploring), len(trials.planned)) == (7, 4)
