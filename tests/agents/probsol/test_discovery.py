"""The agent of the discovery families: kinds of discs from comparisons, what it believes, and how it plays."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gumption.agents.probsol.discovery import (
    WORTH,
    Arranging,
    Belief,
    Curious,
    Learned,
    Meeting,
    compare,
    find_tasks,
    learn,
    learn_from,
    live_through,
)
from gumption.agents.probsol.lived import GraphPlayer
from gumption.agents.probsol.players import steps
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.library import renamed
from gumption.envs.probsol.tasks import Task, read_task

TURNED = {"+": "-", "-": "+", "dipole": "dipole"}


def test_tasks_that_show_only_some_levels_are_arranged_so_that_equal_kinds_do_equal_things() -> None:
    rng, size = np.random.default_rng(0), (3, 2, 2)
    kinds = [rng.choice(12, 6, replace=False) for _ in range(40)]
    orders, rows = [], []
    for task, chosen in enumerate(kinds):
        levels = np.array(np.unravel_index(chosen, size))
        orders.append(np.stack([np.unique(each, return_inverse=True)[1] for each in levels], axis=1))
        rows += [(task, a, b, 0, 12 * chosen[a] + chosen[b]) for a in range(6) for b in range(6) if a != b]
    arranged = Arranging(orders, np.array(rows))
    pairs = set(zip(np.concatenate(kinds).tolist(), np.concatenate(arranged.kinds).tolist(), strict=True))
    assert len(pairs) == 12  # one kind for each
    assert all(a // 2 == b // 2 for a, b in pairs)  # orders are kept, classes may be exchanged


def known(kinds: int, outcomes: np.ndarray, prior: np.ndarray) -> Learned:
    """Of one way to meet, whose outcome (K, K) is certain."""
    numbers = {(number,): number for number in range(1, int(outcomes.max()) + 1)}
    value, traits = outcomes[None, :, :, None], np.arange(kinds)[:, None].repeat(3, 1)
    often = np.bincount(outcomes.ravel())
    sizes = {("FindTheDiff", 1): 3, ("FindTheDiff", 2): 1, ("FindTheSame", 2): 2, ("FindTheSame", 3): 1}
    return Learned(None, numbers, often, value, np.ones(value.shape), traits, prior, sizes, {})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("family", ["FindTheDiff", "FindTheSame"])
def test_beliefs_are_those_of_counting_every_assignment_of_kinds(family: str) -> None:
    outcomes = np.array([[1, 2, 3], [2, 1, 3], [4, 4, 5]])
    learned = known(3, outcomes, np.array([0.5, 0.3, 0.2]))
    belief = Belief(learned, family, 5)
    met = [(0, 1, 2), (2, 3, 3), (1, 2, 2)]
    for one, other, number in met:
        belief.add(Meeting(one, other, 0), (number,))
    wanted = np.zeros((len(belief.answers), 3))
    for kinds in product(range(3), repeat=5):
        likely = np.prod([learned.likelihood(0, (number,))[kinds[a], kinds[b]] for a, b, number in met])
        for answer, alike in enumerate(belief.alike):
            mine = {kind for kind, same in zip(kinds, alike, strict=True) if same}
            others = [kind for kind, same in zip(kinds, alike, strict=True) if not same]
            if len(mine) == 1 and not mine & set(others):
                (kind,) = mine
                wanted[answer, kind] += belief.chance[answer] * learned.prior[[kind, *others]].prod() * likely
    chances = belief.chances()
    assert chances == pytest.approx(wanted / wanted.sum(), abs=1e-6)
    drawn, kinds = belief.draw(np.random.default_rng(0))
    for one, other, number in met:
        assert (outcomes[kinds[:, one], kinds[:, other]] == number).mean() > 0.95
    assert np.bincount(drawn, minlength=len(chances)) / len(drawn) == pytest.approx(chances.sum(1), abs=0.08)


def test_it_makes_the_meeting_that_tells_and_none_where_none_does() -> None:
    rng, prior = np.random.default_rng(0), np.array([0.5, 0.5])
    tells = known(2, np.array([[1, 2], [3, 4]]), prior)
    goal, kinds = Belief(tells, "FindTheDiff", 4).draw(rng)
    meetings, gains = Belief(tells, "FindTheDiff", 4).gains(goal, kinds, set(), rng)
    assert gains.max() > WORTH
    assert all(met.first != met.second for met in meetings)
    blind = known(2, np.ones((2, 2), dtype=np.int64), prior)
    assert Belief(blind, "FindTheDiff", 4).gains(goal, kinds, set(), rng)[1].max() <= WORTH


@pytest.fixture(scope="module")
def learned() -> Learned:
    return learn_from("monopoles", "real", 60, 0)


@pytest.mark.slow
def test_it_solves_tasks_by_facts_that_it_lived_and_not_by_false_ones(learned: Learned) -> None:
    tasks = find_tasks("monopoles", 8, 50_000)
    lived, false, none = (compare(GraphPlayer(None, one, learned), tasks, "real") for one in ("lived", "false", "none"))
    assert lived["solved"].mean() >= 0.9
    assert lived["right"].mean() >= 0.9
    assert lived["probes"].mean() < 18
    assert false["solved"].mean() <= 0.5
    assert none["probes"].sum() == 0
    assert none["solved"].mean() <= 0.3


@pytest.mark.slow
def test_new_names_and_turned_poles_change_nothing() -> None:
    def other(task: Task) -> Task:
        discs = [replace(disc, polarity=TURNED[disc.polarity]) for disc in task.objects]
        return renamed(replace(task, objects=tuple(discs)), "shuffled")

    lived, tasks = find_tasks("monopoles", 8, 100_000), find_tasks("monopoles", 2, 50_000)
    one = compare(GraphPlayer(None, learned=learn(lived)), tasks, "real")
    turned = learn([other(task) for task in lived])
    two = compare(GraphPlayer(None, learned=turned), [other(task) for task in tasks], "real")
    assert all(np.array_equal(one[name], two[name]) for name in one)


def one_odd(**more) -> Task:
    """Five equal discs in the side bar, and one that is heavier."""
    colors = ("red", "blue", "green", "yellow", "purple", "orange")
    discs = [
        {"id": one, "color": color, "mass": "medium", "magnetism": "medium", "polarity": "+", "stored": cell}
        for cell, (one, color) in enumerate(zip("abcdef", colors, strict=True))
    ]
    discs[3]["mass"] = "large"
    task = {"schema": 1, "name": "odd/0", "family": "FindTheDiff", "objects": discs, "answer": ["d"]}
    return read_task({**task, "max_obj_num": 6, "max_grid_num": 6, **more})


def probed(learned: Learned, task: Task, **settings) -> tuple[ProbSolVectorEnv, GraphPlayer]:
    """Played to the end, with so many trials."""
    batch = ProbSolVectorEnv(1, autoreset_mode="Disabled", task=task, **{"trial_number": 9, **settings})
    player = GraphPlayer(None, learned=learned)
    batch.reset(seed=0)
    for _ in steps(batch, player):
        pass
    assert not batch.tables.refused.any()
    return batch, player


@pytest.mark.slow
def test_where_the_actions_of_a_trial_run_out_it_goes_on_in_the_next_one(learned: Learned) -> None:
    whole, one = probed(learned, one_odd())
    parts, other = probed(learned, one_odd(), max_actions=50)
    assert (whole.success[0], whole.tables.trials[0]) == (True, 1)
    assert parts.success[0]
    assert 1 < parts.tables.trials[0] < 9
    assert one.tables[0].belief.met[:2] == other.tables[0].belief.met[:2]


@pytest.mark.slow
def test_discs_meet_where_more_of_the_table_is_accessible(learned: Learned) -> None:
    for dark in ((0, 0, 480, 40), (440, 0, 40, 480)):
        assert probed(learned, one_odd(inaccessible=[list(dark)]))[0].success[0]
    # Dark all round: what is repelled from the middle comes to rest where no hand can take it.
    frame = [[0, 0, 480, 200], [0, 280, 480, 200], [0, 200, 150, 80], [330, 200, 150, 80]]
    batch, player = probed(learned, one_odd(inaccessible=frame), trial_number=2)
    assert batch.tables.trials[0] > 1
    assert len(player.tables[0].belief.met) > 1


def test_a_life_is_the_same_on_a_row_and_on_a_column_and_with_the_same_seed() -> None:
    lives = []
    for dark in ((0, 0, 480, 40), (0, 0, 40, 480), (0, 0, 480, 40)):
        player = Curious(3, 6)
        live_through([one_odd(inaccessible=[list(dark)], constraints={"trial_number": 1})], player)
        lives.append((player.rows, player.outcomes))
    assert lives[0] == lives[1] == lives[2]
