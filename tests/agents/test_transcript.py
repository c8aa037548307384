"""What a transcript counts of a world that is made up, and the failures that are reported."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.agents import Advice
from gumption.agents.evaluation import play
from gumption.agents.transcript import Transcript, failures, open_transcript, transcript
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.kg import RelationScores
from gumption.kg.scores import BinaryTable

A, B, GOAL = 1, 2, 3
LABELS = ("", "a", "b", "goal", "c")


class Hands:
    """A native batch in which two of the things a, b and c are taken up, one after the other; that is an episode.

    :param whole: each choice is an action of its own: nothing is taken up before.
    """

    vocabulary, relations = LABELS, ("fits",)
    single_action_space = spaces.Discrete(3)
    things = np.array([A, B, 4])

    def __init__(
        self, num_envs: int, length: int = 2, whole: bool = False, mode: AutoresetMode = AutoresetMode.DISABLED
    ) -> None:
        self.num_envs, self.length, self.whole, self.autoreset_mode = num_envs, length, whole, mode
        self.np_random = np.random.default_rng(0)
        self.held, self.steps = np.zeros((2, num_envs), dtype=np.int64)
        self.success = np.zeros(num_envs, dtype=bool)
        self.closed, self.over = np.zeros(3, dtype=bool), np.zeros(num_envs, dtype=bool)

    @property
    def unwrapped(self) -> "Hands":
        return self

    def start(self) -> None:
        pass

    def make_step(self, actions: np.ndarray, idle: np.ndarray | None) -> None:
        active = np.ones(self.num_envs, dtype=bool) if idle is None else ~idle
        self.held = np.where(active, self.things[actions], self.held)
        self.steps += active
        self.over = active & (self.steps >= self.length)

    def results(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.zeros(self.num_envs), self.over, np.zeros(self.num_envs, dtype=bool)

    def renew(self, columns: np.ndarray, rng: Any) -> None:
        self.held[columns] = self.steps[columns] = 0

    def info_arrays(self) -> dict[str, np.ndarray]:
        return {"action_mask": np.tile(~self.closed, (self.num_envs, 1)).astype(np.int8)}

    def action_facts(self, chosen: Any = None) -> ActionFacts:
        held = None if self.whole else self.held[:, None]
        return action_facts(self.relations, (self.num_envs, 3), [(self.things[None], GOAL, 0)], chosen=held)


def says(*scores: float) -> Advice:
    """Of a, b and c that they fit the goal."""
    table = torch.zeros(4, 4)
    table[[A - 1, B - 1, 3], GOAL - 1] = torch.tensor(scores, dtype=torch.float32)
    return Advice(RelationScores(LABELS[1:], {"fits": BinaryTable(table)}), LABELS, ("fits",))


def played(env: Hands, *plan: list[int], episodes: int | None = None, advice: Advice | None = None) -> Transcript:
    """The transcript of steps with these actions of each environment, again and again."""
    made = 0

    def player(env: Hands, first: np.ndarray) -> np.ndarray:
        nonlocal made
        if advice is not None:
            advice(env)
        made += 1
        return np.array(plan[(made - 1) % len(plan)])

    with transcript() as kept:
        play(player, env, episodes)
    return kept


def test_who_chooses_one_thing_twice() -> None:
    kept = played(Hands(4), [0, 0, 1, 2], [0, 1, 1, 0])
    assert (kept.counts["episodes"], kept.counts["twice"], kept.counts["choices"]) == (4, 2, 8)
    assert failures(kept) == ["50.0% of episodes choose one thing twice"]
    assert failures(played(Hands(4), [0, 0, 1, 2], [1, 1, 2, 0])) == []
    assert failures(played(Hands(4, whole=True), [0, 0, 1, 2], [0, 1, 1, 0])) == [], "no part of a choice comes first"


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_episodes_are_counted_whatever_follows_an_end(mode: AutoresetMode) -> None:
    """The first environment chooses a thing twice, the second never; a step that only begins an episode is none."""
    plan = [[0, 0], [0, 1], [2, 2]] if mode == AutoresetMode.NEXT_STEP else [[0, 0], [0, 1]]
    episodes = 2 if mode == AutoresetMode.DISABLED else 6
    kept = played(Hands(2, mode=mode), *plan, episodes=episodes)
    assert kept.counts["episodes"] == episodes
    assert kept.counts["choices"] == 2 * episodes
    assert kept.counts["twice"] == episodes / 2


def test_who_repeats_one_action_for_a_whole_episode() -> None:
    kept = played(Hands(3, length=4, whole=True), [0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 0, 2])
    assert (kept.counts["long"], kept.counts["loops"]) == (3, 2)
    sentence = "in 66.7% of episodes of three steps or more, four of five steps repeat the action before"
    assert failures(kept) == [sentence]
    assert failures(played(Hands(3, whole=True), [0, 1, 2])) == [], "two steps are no loop"


def test_what_leads_to_success_is_no_failure() -> None:
    env = Hands(4)
    env.success[:] = [True, False, True, False]
    kept = played(env, [0, 0, 1, 2], [0, 0, 1, 1])
    assert (kept.counts["twice"], kept.counts["episodes"]) == (1, 4)
    env = Hands(4, length=3, whole=True)
    env.success[:] = [True, False, True, False]
    kept = played(env, [0, 0, 1, 2])
    assert (kept.counts["loops"], kept.counts["long"]) == (2, 4)


def test_who_is_refused() -> None:
    env = Hands(4)
    env.closed[1] = True
    kept = played(env, [0, 1, 2, 0], [2, 2, 0, 2])
    assert (kept.counts["refused"], kept.counts["choices"]) == (1, 8)
    assert failures(kept) == ["12.5% of choices are refused: the action mask rules them out"]


def test_advice_by_which_no_choice_is_better() -> None:
    kept = played(Hands(2), [0, 1], [1, 2], advice=says(1, 1, 1))
    assert (kept.counts["advised"], kept.counts["undecided"]) == (4, 4)
    assert failures(kept) == ["in 100.0% of choices no score differs between the candidates"]
    kept = played(Hands(2), [0, 1], [1, 2], advice=says(1, 1, 0))
    # a and b are as good, and better than c; once a is held, only b is better, and once b is held, only a.
    assert (kept.counts["advised"], kept.counts["undecided"]) == (4, 0)
    assert failures(played(Hands(2), [0, 1], [1, 2], advice=says(1, 0, 0))) == [
        "in 25.0% of choices no score differs between the candidates"
    ], "where a is held"


def test_one_candidate_alone_is_no_choice() -> None:
    kept = Transcript()
    subject = np.array([[A, 0, 0], [A, B, 0]])
    kept.advise(action_facts(("fits",), (2, 3), [(subject, GOAL, 0)]), np.zeros((2, 3, 1)))
    env = Hands(2)
    kept.choose(env, np.zeros(2, dtype=np.int64), np.ones(2, dtype=bool), np.ones(2, dtype=bool))
    assert (kept.counts["advised"], kept.counts["undecided"]) == (1, 1)


@pytest.mark.parametrize(("twice", "told"), [(0, []), (9, []), (10, ["10.0%"]), (100, ["100.0%"])])
def test_what_happens_in_a_tenth_is_reported(twice: int, told: list[str]) -> None:
    kept = Transcript()
    kept.counts.update(episodes=100, twice=twice)
    assert failures(kept) == [f"{share} of episodes choose one thing twice" for share in told]


def test_nothing_is_kept_without_a_transcript_or_after_it() -> None:
    with transcript() as outer:
        with transcript() as inner:
            play(lambda env, first: np.zeros(2, dtype=np.int64), Hands(2))
        assert open_transcript() is outer
    assert open_transcript() is None
    assert (outer.counts["episodes"], inner.counts["episodes"]) == (0, 2)
    before = inner.counts.copy()
    play(lambda env, first: np.zeros(2, dtype=np.int64), Hands(2))
    assert inner.counts == before
    assert failures(outer) == []


class Pushes(Hands):
    """Actions are numbers, which name nothing."""

    single_action_space = spaces.Box(-1.0, 1.0, (2,))

    def make_step(self, actions: np.ndarray, idle: np.ndarray | None) -> None:
        super().make_step(np.zeros(self.num_envs, dtype=np.int64), idle)


def test_actions_that_are_no_choice_among_candidates_are_counted() -> None:
    env, same = Pushes(2, length=3), np.zeros((2, 2), dtype=np.float32)
    other = np.array([[0.0, 0.0], [0.0, 0.5]], dtype=np.float32)
    plan = iter([same, same, other])
    with transcript() as kept:
        play(lambda env, first: next(plan), env)
    assert (kept.counts["long"], kept.counts["loops"]) == (2, 1)
    assert kept.counts["twice"] == kept.counts["refused"] == 0
