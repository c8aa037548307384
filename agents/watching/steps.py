"""The steps of an episode as data: the state, the candidates, what spoke for each of them, and what came of the choice.

A `Player` is an agent in its environment. `play_steps` lets it play and gives the steps; gif.py, page.py and
terminal.py show them. Nothing here knows a world: a world whose choices need more words has a Player of its own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from gumption.data.settings import Count, Seed, checked


class Score(NamedTuple):
    """What knowledge says to a candidate by one relation.

    :ivar facts: in words, those that the value is about.
    """

    relation: str
    value: float
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """Something that can be chosen.

    :ivar own: what the network alone gives it; `Choice.own` says what that is.
    :ivar scores: of knowledge, at most one for each relation.
    :ivar logit: all of it mixed; None where a candidate stands for several actions.
    :ivar probability: of being chosen, in [0, 1].
    """

    label: str
    probability: float
    own: float | None = None
    scores: tuple[Score, ...] = ()
    logit: float | None = None


@dataclass(frozen=True)
class Choice:
    """One choice of an action, which may take several, such as a direction and a length.

    :ivar question: what is chosen, e.g. "direction".
    :ivar chosen: index into `candidates`.
    :ivar own: the name of the candidates' `own`.
    """

    question: str
    candidates: tuple[Candidate, ...]
    chosen: int
    own: str = "attention"

    @property
    def relations(self) -> list[str]:
        """The relations that say something to any candidate, in their order."""
        return list(dict.fromkeys(score.relation for one in self.candidates for score in one.scores))

    def likeliest(self, most: int) -> list[tuple[Candidate, bool]]:
        """At most so many candidates, the likeliest first, and whether each is the chosen one, which is among them."""
        order = sorted(range(len(self.candidates)), key=lambda i: -self.candidates[i].probability)
        kept = order[:most]
        if self.chosen not in kept:
            kept[-1] = self.chosen
        return [(self.candidates[i], i == self.chosen) for i in kept]


@dataclass(frozen=True)
class Step:
    """A state, what the agent chose in it and what came of that.

    :ivar episode, number: which one, both from 1.
    :ivar text: the state as the environment renders it to text.
    :ivar picture: (H, W, 3) uint8, the state; None where no pictures were asked for.
    :ivar choices: empty in the last step of an episode, which shows how it ended.
    :ivar outcome: what came of the choices, in words; may be "".
    :ivar reward: of the choices; in the last step that of the episode.
    :ivar success: the choices reached what the world is about; in the last step whether any did.
    """

    episode: int
    number: int
    text: str
    picture: np.ndarray | None
    choices: tuple[Choice, ...]
    outcome: str
    reward: float
    success: bool

    @property
    def told(self) -> str:
        """The choices or the end, in a line."""
        if not self.choices:
            return f"the end of the episode: {'success' if self.success else 'no success'}, reward {self.reward:g}"
        action = ", ".join(choice.candidates[choice.chosen].label for choice in self.choices)
        return f"{action}: {self.outcome}" if self.outcome else f"{action} (reward {self.reward:g})"


class Player(Protocol):
    """An agent in an environment.

    :ivar env: a vector environment with one environment, autoreset disabled and a render mode.
    """

    env: Any

    def begin(self, seed: int) -> None:
        """Begin an episode; the seed decides what is left to chance."""
        ...

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        """The action to take now, (1, ...) integers, and how it was chosen."""
        ...

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        """What the latest step came to in words, and whether it was a success, from the infos of that step."""
        ...


@checked
def play_steps(player: Player, *, seed: Seed = 0, episodes: Count = 1, pictures: bool = True) -> Iterator[Step]:
    """The steps of so many episodes, one at a time as they are played; each episode ends with a step without choices.

    :param seed: of the first episode; each further one adds 1.
    """
    for episode in range(1, episodes + 1):
        player.begin(seed + episode - 1)
        total, won, number, over, outcome = 0.0, False, 0, False, ""
        while not over:
            number += 1
            text, picture = _frames(player.env, pictures)
            action, choices = player.decide()
            _, rewards, terminated, truncated, infos = player.env.step(action)
            reward, over = float(rewards[0]), bool(terminated[0] | truncated[0])
            outcome, success = player.outcome(infos)
            total, won = total + reward, won or success
            yield Step(episode, number, text, picture, choices, outcome, reward, success)
        yield Step(episode, number + 1, *_frames(player.env, pictures), (), outcome, total, won)


def _frames(env: Any, pictures: bool) -> tuple[str, np.ndarray | None]:
    """The state as text and, where it is asked for, as a picture."""
    found = []
    for mode in ("ansi", "rgb_array") if pictures else ("ansi",):
        env.render_mode = mode
        found.append(env.render()[0])
    return found[0], found[1] if pictures else None


def in_words(fact: Sequence[str]) -> str:
    """A fact as a sentence. Two parties: "water combines with earth", "water is component of mud". Three: "water with
    earth makes mud", or "water with something makes mud" where the third is "", not chosen yet."""
    subject, relation, object_, *third = fact
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", relation).lower()
    verb = words if words.partition(" ")[0].endswith("s") else f"is {words}"
    partner = "".join(f" with {party or 'something'}" for party in third)
    return f"{subject}{partner} {verb} {object_}"
