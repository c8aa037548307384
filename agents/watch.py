"""The steps of an episode as data: the state, the candidates, what spoke for each of them, and what came of the choice.

A `Player` is an agent in its environment. `play_steps` lets it play and gives the steps; `print_steps` shows them in
the terminal, and watch_files.py as an animation or a page. A world whose choices have steps has a Player of its own in
its folder; `PolicyPlayer` serves the others.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import Count, Seed, checked

from .policy import MASKED
from .run_folder import world_of
from .setup import load_policy

if TYPE_CHECKING:
    from .advice import Advice

MOST = 8  # candidates of a choice that the terminal shows
SHOWN: dict[str, Any] = {
    "render_mode": "ansi",
    "autoreset_mode": "Disabled",
}  # settings of the environment of a `Player`


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
    :ivar weights: lambda (Jiang et al., 2020, equation 5) by `own` and by relation: the mixed logit is the sum of what
        these weigh; {} where nothing is mixed by weights.
    """

    question: str
    candidates: tuple[Candidate, ...]
    chosen: int
    own: str = "attention"
    weights: Mapping[str, float] = field(default_factory=dict)

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


# ---- A policy as a player.


class PolicyPlayer:
    """Plays the most probable actions of a policy that reads an environment, gives logits and may be advised.

    :ivar env: see `Player`.
    """

    def __init__(
        self,
        policy: Any,
        env: Any,
        *,
        question: str = "action",
        options: Mapping[str, Any] | None = None,
        labels: Sequence[str] | None = None,
        outcome: Callable[[Any], str] | None = None,
    ) -> None:
        """
        :param policy: `policy.read(env)` is a state, `policy(state)` its Readout; `policy.advice` an `Advice` or None.
        :param question: what is chosen.
        :param options: of each reset.
        :param labels: the name of each candidate; without it the `action_facts` of the environment name them.
        :param outcome: says in words what the latest step of the environment came to.
        """
        self.policy, self.env, self.question, self.options = policy, env, question, dict(options or {})
        self._labels, self._outcome = labels, outcome

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed, options=self.options)

    @torch.no_grad()
    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        readout = self.policy(self.policy.read(self.env))
        logits, advice = readout.logits[0], self.policy.advice
        probabilities = logits.softmax(0).tolist()
        best = int(logits.argmax())
        names = self._labels or self.env.action_facts().candidates(self.env.vocabulary)
        places = [a for a, logit in enumerate(logits.tolist()) if logit > MASKED / 2]
        candidates = tuple(
            Candidate(
                names[a] or f"action {a}",
                probabilities[a],
                float(readout.attention[0, a]),
                () if advice is None else scores_of(advice, a),
                float(logits[a]),
            )
            for a in places
        )
        weights: dict[str, float] = {}
        if readout.mixture is not None and advice is not None:
            weights = dict(zip(("attention", *advice.relations), readout.mixture[0].tolist(), strict=True))
        return np.array([best]), (Choice(self.question, candidates, places.index(best), weights=weights),)

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        told = "" if self._outcome is None else self._outcome(self.env)
        return told, bool(infos["success"][0]) if "success" in infos else False


def scores_of(advice: Advice, candidate: int) -> tuple[Score, ...]:
    """What was last said of a candidate of the first environment, in the order of the relations."""
    said = sorted(advice.why(0, candidate), key=lambda pair: advice.relations.index(pair[0][1]))
    return tuple(Score(fact[1], score, (in_words(fact) + "?",)) for fact, score in said)


def watch(run: Path, *, partition: Literal["train", "test"] = "test", reset: list[str] | None = None) -> PolicyPlayer:
    """The agent of a run in the first environment of its world.

    :param partition: train, or test: what training did not show.
    :param reset: NAME=VALUE, an option of the reset; may be repeated.
    """
    world = world_of(run)
    entry = world.environments[0]
    options = dict(map(_named_value, reset or ()))
    config, policy = load_policy(run, device="cpu")
    settings = {**dict(config.env), **(entry.held_out if partition == "test" else {})}
    make = world.load(entry.vector, "environment")
    return PolicyPlayer(policy, make(1, **SHOWN, **settings), options=options)


def _named_value(typed: str) -> tuple[str, Any]:
    """ "goal=mud" -> ("goal", "mud"); a value that is JSON is read as such."""
    name, sign, value = typed.partition("=")
    if not sign or not name:
        raise InputError(f"--reset {typed}: give NAME=VALUE")
    try:
        return name, parse_json(value)
    except ValueError:
        return name, value


# ---- Steps in the terminal.


def print_steps(
    steps: Iterable[Step],
    console: Console,
    *,
    delay: float = 0.0,
    wait: Callable[[], bool] | None = None,
) -> None:
    """Print steps one after the other: the state, then each choice as a table of its likeliest candidates.

    :param delay: seconds between two steps.
    :param wait: is called between two steps instead; playing stops where it returns False.
    """
    for number, step in enumerate(steps):
        if number:
            if wait is not None:
                if not wait():
                    return
            else:
                time.sleep(delay)
        console.print(told(step))


def told(step: Step) -> RenderableType:
    """A step as rich shows it."""
    title = f"episode {step.episode}, step {step.number}" if step.choices else f"episode {step.episode}, the end"
    parts: list[RenderableType] = [Panel(escape(step.text.rstrip("\n")), title=title, title_align="left")]
    parts += [choice_table(choice) for choice in step.choices]
    parts.append(f"[bold {'green' if step.success else 'default'}]{escape(step.told)}[/]\n")
    return Group(*parts)


def choice_table(choice: Choice, most: int = MOST) -> Table:
    """What speaks for each of the likeliest candidates, at most so many."""
    relations = choice.relations
    owned = any(one.own is not None for one in choice.candidates)
    mixed = any(one.logit is not None for one in choice.candidates)
    facts = any(score.facts for one in choice.candidates for score in one.scores)
    table = Table(title=f"{escape(choice.question)}?", title_justify="left", title_style="")
    table.add_column("candidate")
    for name, shown in (
        (choice.own, owned),
        *((f"KG: {relation}", True) for relation in relations),
        ("mixed", mixed),
        ("probability", True),
    ):
        if shown:
            table.add_column(escape(name), justify="right")
    if facts:
        table.add_column("facts")
    for one, chosen in choice.likeliest(most):
        by_relation = {score.relation: score for score in one.scores}
        row = [("> " if chosen else "  ") + escape(one.label)]
        row += [_figure(one.own)] if owned else []
        row += [_figure(by_relation[r].value if r in by_relation else None) for r in relations]
        row += [_figure(one.logit)] if mixed else []
        row.append(f"{one.probability:.1%}")
        if facts:
            row.append(escape("; ".join(fact for score in one.scores for fact in score.facts)))
        table.add_row(*row, style="bold" if chosen else None)
    if choice.weights:
        weights = [_figure(choice.weights.get(name)) for name in ([choice.own] if owned else []) + relations]
        table.add_row("  lambda, the weight of each", *weights, style="dim")
    if (left := len(choice.candidates) - most) > 0:
        table.caption = f"and {left} less likely"
    return table


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
