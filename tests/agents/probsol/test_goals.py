"""The study of goals and constraints: its design, what is kept of an episode, what is told of several agents."""

import numpy as np
import pytest

from gumption.agents.probsol.players import DoNothing, Scripts, Solved
from gumption.envs.probsol.engine import NONE
from gumption.envs.probsol.library import find_tasks
from gumption.scripts.papers.probsol.goals import Episode, comparison, design, foretold, hypotheses, play_design


class Slow(Scripts):
    """The solution, after ten actions that do nothing."""

    def __init__(self):
        super().__init__(self._script)

    def _script(self, batch, i):
        yield from [batch.labels.num_actions + NONE] * 10
        yield from (action for action in batch.task(i).solution if action[0] != "answer")


@pytest.fixture(scope="module")
def cells():
    return design({"Fishing": find_tasks("fishing/0")})


def test_the_limit_of_actions_is_a_multiple_of_the_solutions(cells):
    [none, relaxed, critical] = cells
    actions = len(none[3].solution)
    assert [each[2] for each in cells] == ["none", "relaxed", "critical"]
    assert "action_number" not in none[3].constraints
    assert relaxed[3].constraints["action_number"] == 3 * actions
    assert critical[3].constraints["action_number"] == pytest.approx(1.1 * actions)


@pytest.mark.slow
def test_a_broken_limit_is_measured_and_the_episode_goes_on(cells):
    solved, slow, nothing = (play_design(player, cells) for player in (Solved(), Slow(), DoNothing()))
    assert [(one.solved, one.solution, one.constraint) for one in solved] == [(True, 1.0, 1.0)] * 3
    assert [(one.solved, one.solution, one.constraint) for one in nothing] == [(False, 0.0, 1.0)] * 3
    assert [one.solved for one in slow] == [True] * 3
    actions = 10 + sum(action[0] != "answer" for action in cells[0][3].solution)
    limits = [3.0 * len(cells[0][3].solution), 1.1 * len(cells[0][3].solution)]
    distance = [min(max(actions - limit, 0.0) / (limits[0] - limits[1]), 1.0) for limit in limits]
    assert [one.constraint for one in slow] == pytest.approx([1.0, 1 - distance[0], 1 - distance[1]])
    assert {one.strategy for one in solved} == {"place and wait"}
    assert {one.strategy for one in nothing} == {"check only"}


def episode(
    goal, layout, tightness, rates, strategy="push", solved=True, tendencies=(0.5, 0.2, 0.3), begins=("grab", "place")
):
    return Episode(goal, layout, tightness, solved, *rates, strategy, tendencies, begins)


def test_goal_and_constraint_foretell_what_depends_on_them_and_the_reward_alone_does_not():
    def agent(solves):
        strategies, begins = {"a": "push", "b": "turn"}, {"a": ("grab", "place"), "b": ("hold", "turn", "turn")}
        return [episode(goal, layout, "none", (0.0, 0.0), strategies[goal], goal in solves, begins=begins[goal])
                for goal in "ab" for layout in "xy"]  # fmt: skip

    told = foretold({"one": agent("b"), "two": agent("b")})
    assert told["one"] == told["two"]
    assert told["one"]["goal and constraint"] == {"plan": 1.0, "actions": 1.0}
    assert told["one"]["reward only"] == {"plan": 0.5, "actions": 0.5}  # what solved b is expected everywhere
    assert foretold({"one": agent("ab")}) == {}
    placed, told = (
        {name: [episode("a", "x", "none", (0.0, 0.0), "push", begins=verbs)] for name, verbs in verbs.items()}
        for verbs in (
            {"one": ("grab", "place", "check"), "two": ("grab", "check", "place")},
            {"one": ("grab", "place"), "two": ("grab",)},
        )
    )
    assert foretold(placed)["one"]["reward only"]["actions"] == pytest.approx(1 / 3)  # each counts at its place
    assert foretold(told)["one"]["reward only"]["actions"] == 1 / 2
    unsolved = foretold({"one": agent(""), "two": agent("")})["one"]["reward only"]
    assert unsolved["plan"] == 0.5  # both are as frequent: the first in the alphabet is said


def every(rates, **more):
    return [episode(goal, layout, tight, rates, **more)
            for goal in "ab" for layout in "xy" for tight in ("none", "critical")]  # fmt: skip


def test_hypotheses_are_told_of_one_agent():
    strategies = {"a": "push", "b": "turn"}
    told = hypotheses(
        [episode(goal, layout, "none", (1, 1), one) for goal, one in strategies.items() for layout in "xy"]
    )
    assert told["agreement"]["value"] == 1.0
    assert told["entropy"] == {"none": 0.0}
    assert told["consistency"] == pytest.approx(1 - 2 / 6)


def test_agents_are_compared_by_what_they_reach():
    agents = {"solves": every((1.0, 0.5)), "keeps": every((0.2, 1.0), solved=False), "neither": every((0.1, 0.4))}
    told = comparison(agents)
    assert told["front"] == ["solves", "keeps"]
    assert told["preferences"]["solves"] == "solution > constraint"
    assert told["preferences"]["keeps"] == "constraint > solution"
    assert set(told["likelihoods"]) == {"goal", "constraint", "frequency"}
    for shares in told["difficulty"].values():
        assert sum(shares.values()) == pytest.approx(1.0)
    for shares in told["over_policies"].values():
        assert sum(shares.values()) == pytest.approx(1.0)
    assert comparison({"keeps": agents["keeps"]})["difficulty"] == {}
    assert np.isfinite(list(told["likelihoods"].values())).all()
