"""The agent of a run in one maze, for `gumption watch`: its options, how likely they were, and what spoke for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gumption.agents.watch import SHOWN, Candidate, Choice, Player, Score, in_words
from gumption.data import InputError
from gumption.data.settings import Count, Whole
from gumption.envs.halma import HALMAVectorEnv
from gumption.envs.halma.diagnostics import TRAINING
from gumption.envs.halma.maze import ALL_COLOURS, COLOURS, DIRECTIONS, SHAPES, row_digits
from gumption.envs.halma.splits import load_splits

from .acting import Percept, first_percept
from .config import learned_by
from .evaluation import images
from .experience import LEADS_TO
from .knowledge import HALMAKnowledge
from .networks import NetworkActor
from .runs import HALMARun, load_run
from .scoring import GraphGuide

FARTHEST = 9  # cells: a longer option leads out of every maze
MEMORY = "own memory"  # of a guided agent, as the name of its scores


def watch(
    run: Path, *, partition: str = "train", maze: Whole = 0, trials: Count = 2, space_model: str | None = None
) -> HALMAPlayer:
    """The agent of a run in one maze.

    :param partition: Which mazes: train, those of its training, or a test of RUN/splits, such as RT.
    :param maze: Which of these mazes, from 0.
    :param trials: How often it has to find the goal; 10 in training.
    :param space_model: The run's SPACE model, if it was moved.
    """
    loaded = load_run(run, device="cpu", space_model=space_model)
    if not isinstance(loaded, HALMARun):
        raise InputError(
            f"{run} is of agent='graph', which has no network to watch; `gumption evaluate {run}` plays it"
        )
    config, test, mazes = loaded.config, TRAINING, loaded.mazes
    if partition != "train":
        if not (run / "splits").is_dir():
            raise InputError(f"{run} has no tests in {run / 'splits'}: `gumption splits halma` makes them of a run")
        splits = load_splits(run / "splits")
        if partition not in splits:
            raise InputError(f"--partition is {partition!r}; it can be train, {', '.join(splits)}")
        test, mazes = partition, splits[partition]
    seen: dict[str, Any] = {}
    if config.observation == "visual":
        seen = {"images": images(config, test), "painter": config.painter}
    seen |= {"observation": config.observation, "max_opt_len": config.max_opt_len, "trials": trials}
    env = HALMAVectorEnv(1, mazes=mazes, **SHOWN, **seen)
    return HALMAPlayer(loaded.actor(), env, maze, learned_by(config.to_json()))


class HALMAPlayer(Player):
    """Plays one maze by an actor's own options, without exploration.

    An option is shown as its direction and its length, each with the summed probability of all such options.
    """

    def __init__(self, actor: NetworkActor, env: HALMAVectorEnv, maze: int, learner: str = "MPO") -> None:
        """
        :param learner: the name of the learner that trained the network.
        :raises InputError: no such maze.
        """
        if not 0 <= maze < len(env.mazes):
            raise InputError(f"maze is {maze}; these are {len(env.mazes)}, from 0 to {len(env.mazes) - 1}")
        super().__init__(env, options={"maze": maze})
        self.actor, self.own = actor, f"network alone, {learner}"
        actor.greedy = 1.0

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self._rng = np.random.default_rng(seed)
        self._percept = first_percept(self.env)

    @torch.no_grad()
    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        made: list[torch.Tensor] = []
        body = self.actor.network.body
        handle = body.register_forward_hook(lambda _module, _inputs, result: made.append(result[0][:, 0]))
        try:
            self._options = self.actor.act(self._percept, self._rng)
        finally:
            handle.remove()
        return self._options, self._explain(made[0])

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        env = self.env
        reached, over = bool(env.reached[0]), bool(env.trial_over[0])
        reward, no = env.results()[0].astype(np.float32), np.zeros(1, dtype=bool)
        self._percept = Percept(env.observe(), self._options, reward, env.reached.copy(), env.trial_over.copy(), no)
        blocked = "not carried out: a wall is in the way, or the sum is zero"
        move = "the goal" if reached else "moved" if env.valid[0] else blocked
        return move + f"; trial {int(env.trial[0])} is over" * over, reached

    def _explain(self, made: torch.Tensor) -> tuple[Choice, ...]:
        """The choices of a direction and of a length, for a vector (1, size) of the body."""
        network, guide = self.actor.network, self.actor.guide
        options, alone = (part.cpu().numpy() for part in network.distribution(made))
        mixed = alone if guide is None else network.distribution(made, self.actor.bias)[1].cpu().numpy()
        if self.actor.deterministic:
            mixed = (options == self._options).all(1).astype(float)
        direction, length = int(self._options[0, 0]), int(self._options[0, 1:].sum())

        def candidate(label: str, within: np.ndarray, which: np.ndarray, scores: tuple[Score, ...]) -> Candidate:
            """A share of some of the options."""
            likely, own = (float(p[within & which].sum() / max(p[within].sum(), 1e-30)) for p in (mixed, alone))
            return Candidate(label, likely, own, scores)

        every, there, lengths = np.ones(len(options), dtype=bool), options[:, 0] == direction, options[:, 1:].sum(1)
        ways = [
            candidate(name, every, options[:, 0] == way, self._about_direction(way))
            for way, name in enumerate(DIRECTIONS)
        ]
        reachable = sorted({length, *range(1, min(FARTHEST, int(lengths[there].max())) + 1)})
        parts = [
            candidate(f"{n} cell{'s' * (n != 1)}", there, lengths == n, self._about_length(direction, n))
            for n in reachable
        ]
        return (
            Choice("direction", tuple(ways), direction, self.own),
            Choice(f"how far {DIRECTIONS[direction]}", tuple(parts), reachable.index(length), self.own),
        )

    def _about_direction(self, way: int) -> tuple[Score, ...]:
        guide = self.actor.guide
        if guide is None:
            return ()
        # No choice of an option is made yet; of the scores for that, `why` gives the facts.
        bias = float(guide.bias(np.zeros((1, 0), dtype=np.int64))[0, way])
        if isinstance(guide, GraphGuide):
            return tuple(Score(fact[1], score, (in_words(fact),)) for fact, score in guide.knowledge.why(0, way))
        return (Score(MEMORY, bias, tuple(known_of_direction(guide.knowledge, self.env.seen[0], way))),)

    def _about_length(self, direction: int, length: int) -> tuple[Score, ...]:
        guide = self.actor.guide
        if (
            guide is None
            or isinstance(guide, GraphGuide)
            or not 1 <= length <= FARTHEST
            or not guide.attainable[length]
        ):
            return ()
        facts = tuple(known_of_length(guide.knowledge, self.env.seen[0], direction, length))
        return (Score(MEMORY, float(guide.scores[0, direction, length]), facts),)


def known_of_direction(knowledge: HALMAKnowledge, row: np.ndarray, way: int) -> Iterator[str]:
    """The knowledge about a direction that applies to a panel (11,) as it looks, in words."""
    shown = {digit.colour for digit in row_digits(row)}
    direction = DIRECTIONS[way]
    if row[10] and knowledge.leads_to[row[10] - 1, way]:
        yield in_words((SHAPES[row[10] - 1], LEADS_TO, direction))
    for c, colour in enumerate(ALL_COLOURS):
        if colour in shown and knowledge.lowers[way, c] and knowledge.reaches_goal[c]:
            yield f"{direction} lowers {colour}, which is used up at the goal"
        if colour in COLOURS and colour not in shown and knowledge.stopped_without[way, c]:
            yield f"{direction} is stopped where no {colour} is shown"


def known_of_length(knowledge: HALMAKnowledge, row: np.ndarray, direction: int, length: int) -> Iterator[str]:
    """The knowledge about a length and the digits that a panel row (11,) shows in its direction, in words."""
    colour = COLOURS[direction]
    values = sorted({digit.value for digit in row_digits(row) if digit.colour == colour})
    if len(values) == 2 and values[0] == length and knowledge.lesser_shows_hint:
        yield "the lesser digit shows a hint"
    for value in values:
        if knowledge.greater[direction, length, value]:
            yield f"{colour} {length} is greater than {colour} {value}"
        elif knowledge.greater[direction, value, length]:
            yield f"{colour} {value} is greater than {colour} {length}"
