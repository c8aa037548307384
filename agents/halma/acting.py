"""Percepts of agents, their play, the guide that reads facts in a graph, and the agents that learn nothing."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from gumption.agents.evaluation import steps
from gumption.data import InputError
from gumption.data.settings import Seed, checked
from gumption.envs.halma.env import HALMAVectorEnv, Measures, Outcome, Tally
from gumption.envs.halma.facts import HALMAFacts
from gumption.envs.halma.maze import oracle_options
from gumption.envs.halma.rules import RULES, Rules
from gumption.envs.halma.signs import signs

if TYPE_CHECKING:
    from gumption.agents.advice import Advice


class Percept(NamedTuple):
    """The input of B agents.

    :ivar observation: (B, 11, 19) or (B, 128, 128, 3) uint8.
    :ivar action: (B, 1 + T) int64, the previous option, zeros when an episode begins; `reward` (B,) float32 is its
        reward.
    :ivar reached, trial_over: (B,) bool: the previous option ended on the goal; it ended a trial.
    :ivar first: (B,) bool: an episode begins.
    """

    observation: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    reached: np.ndarray
    trial_over: np.ndarray
    first: np.ndarray


class Actor(Protocol):
    """Choose options (B, 1 + T) int64. The memory of an environment is reset where `first` is set."""

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray: ...


# (generator, options (n, 1 + T)) -> exploratory options in their place.
Explore = Callable[[np.random.Generator, np.ndarray, Rules], np.ndarray]

# Map the environments of a test to an actor in them.
MakeActor = Callable[[HALMAVectorEnv], Actor]


def panel_rows(observation: np.ndarray) -> np.ndarray:
    """Decode (B, 11, 19) uint8 symbolic observations, whose width depends on the side, to (B, 11) int64 panel rows;
    InputError for other observations."""
    if observation.shape[1:2] != (11,) or observation.ndim != 3:
        raise InputError(
            f"knowledge is about digits, and an observation of shape {observation.shape[1:]} has none: "
            'play with observation="symbolic"'
        )
    rows = observation.argmax(-1)
    rows[:, :10] -= observation.shape[2] // 2
    rows[:, 10] = np.where(observation[:, 10].any(-1), rows[:, 10] + 1, 0)
    return rows


def first_percept(env: HALMAVectorEnv) -> Percept:
    """Return the percept at the start of all episodes."""
    no = np.zeros(env.num_envs, dtype=bool)
    options = np.zeros((env.num_envs, 1 + env.max_opt_len), dtype=np.int64)
    return Percept(env.observe(), options, no.astype(np.float32), no, no, ~no)


def next_percept(env: HALMAVectorEnv, options: np.ndarray, outcome: Outcome) -> Percept:
    """Return the percept after a move, or at the start of the next episode if the move ended one."""
    on = ~outcome.done
    reached, trial_over = outcome.reached & on, outcome.trial_over & on
    return Percept(env.observe(), options * on[:, None], outcome.reward * on, reached, trial_over, outcome.done)


@checked
def moves_of(
    actor: Actor, env: HALMAVectorEnv, mazes: np.ndarray, seed: Seed = 0
) -> Iterator[tuple[np.ndarray, Outcome]]:
    """Play an episode in each of the mazes; yield options (B, 1 + T) and their outcomes, move by move.

    :param env: with as many environments as mazes, and autoreset in the same step.
    :param mazes: (B,) indices into `env.mazes`.
    :param seed: seed of the agent's and of the environment's draws.
    """
    env.reset(seed=seed)
    env.set_mazes(mazes)
    return _moves(actor, env, np.random.default_rng(seed))


def _moves(actor: Actor, env: HALMAVectorEnv, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, Outcome]]:
    before = env.memory_before()
    percept = first_percept(env)
    outcome: Outcome | None = None

    def act(env: HALMAVectorEnv, first: np.ndarray) -> np.ndarray:
        nonlocal before, percept
        if outcome is not None:
            percept = next_percept(env, options, outcome)
        before = env.memory_before()
        return actor.act(percept, rng)

    for options, _ in steps(act, env):
        outcome = env.outcome(before)
        yield options, outcome


@checked
def play(actor: Actor, env: HALMAVectorEnv, mazes: np.ndarray, seed: Seed = 0) -> Measures:
    """Return the measures of one episode in each of the mazes; parameters as in `moves_of`."""
    moves = moves_of(actor, env, mazes, seed)  # starts the episodes
    tally = Tally(env)
    for _, outcome in moves:
        tally.add(outcome)
    return tally.measures()


def random_options(rng: np.random.Generator, count: int, max_opt_len: int, rules: Rules = RULES) -> np.ndarray:
    """Draw random options (n, 1 + T) int64: the number of primitives, then each of them, the rest zero.

    Decision: "up to max_opt_len primitives" (3.1). If all T were drawn, options of one or two cells, which most panels
    afford, would be rare: with 5 primitives 1 option in 100 is valid, here 5.
    """
    most = 4 if rules.count == 4 else [4, *[rules.count] * max_opt_len]
    options = rng.integers(most, size=(count, 1 + max_opt_len))
    options[:, 1:] *= np.arange(max_opt_len) < rng.integers(1, max_opt_len + 1, size=(count, 1))
    return options


def other_options(rng: np.random.Generator, options: np.ndarray, rules: Rules = RULES) -> np.ndarray:
    """Draw options to explore in place of options (n, 1 + T): random options, half of them in the same direction.

    The choice of an option has two levels (3.1): lengths are explored in directions known to be right.
    """
    drawn = random_options(rng, len(options), options.shape[1] - 1, rules)
    same = rng.random(len(options)) < 0.5
    drawn[same, 0] = options[same, 0]
    return drawn


def any_options(rng: np.random.Generator, options: np.ndarray, rules: Rules = RULES) -> np.ndarray:
    """Draw random options to explore in place of options (n, 1 + T), as epsilon-greedy exploration does (Table S1)."""
    return random_options(rng, len(options), options.shape[1] - 1, rules)


def explored(
    rng: np.random.Generator,
    options: np.ndarray,
    greedy: float,
    rules: Rules = RULES,
    explore: Explore = other_options,
) -> np.ndarray:
    """Keep each of the options (n, 1 + T) with probability `greedy`; replace the rest by `explore`."""
    elsewhere = rng.random(len(options)) >= greedy
    return np.where(elsewhere[:, None], explore(rng, options, rules), options)


class RandomActor:
    """Play random options, as in exploration."""

    def __init__(self, max_opt_len: int, rules: Rules = RULES) -> None:
        self.max_opt_len, self.rules = max_opt_len, rules

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        return random_options(rng, len(percept.first), self.max_opt_len, self.rules)


class OracleActor:
    """Play the oracle of section 3.3, the reference; it reads the state of the environments."""

    def __init__(self, env: HALMAVectorEnv) -> None:
        self.env = env
        trials = [oracle_options(maze, env.max_opt_len, env.rules) for maze in env.mazes]
        longest = max(len(trial) for pair in trials for trial in pair)
        # Index: maze, trial (first or later) and step.
        self.options = np.zeros((len(trials), 2, longest, 1 + env.max_opt_len), dtype=np.int64)
        for m, pair in enumerate(trials):
            for later, trial in enumerate(pair):
                self.options[m, later, : len(trial)] = trial

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        env = self.env
        return self.options[env.maze_index, np.minimum(env.trial, 1), env.trial_steps]


# ---- Agents guided by a graph


class GraphGuide:
    """Score a choice by the sum of the advice's scores, one for each relation of `HALMAFacts`.

    guide.observe(percept)                           # once a step
    logits = logits + weight * guide.bias(chosen)    # for each choice in turn, with the choices before it
    """

    def __init__(self, knowledge: "Advice", max_opt_len: int, rules: Rules = RULES) -> None:
        self.knowledge = knowledge
        self._facts, self._signs = HALMAFacts(max_opt_len, rules), None if rules.plain_signs else signs(rules)
        self._rows = np.zeros((0, 11), dtype=np.int64)

    def observe(self, percept: Percept) -> None:
        """Read the panels of the agents; InputError for visual panels."""
        panels = panel_rows(percept.observation)
        self._rows = panels if self._signs is None else self._signs.truth(panels)

    def bias(self, chosen: np.ndarray) -> np.ndarray:
        """Return (B, 4) float32: the score of each direction, or of each primitive after the chosen ones. For a graph
        with exact lookup, a score is the number of the choice's facts in the graph.

        :param chosen: (B, t) int64, the option so far: empty, or a direction and t - 1 primitives.
        """
        rows = np.broadcast_to(self._rows, (len(chosen), self._rows.shape[1]))  # one panel may have many options
        return self.knowledge.score(self._facts.facts(rows, chosen)).sum(2).numpy(force=True)


class KnowledgeActor:
    """Act by the scores alone: at each decoding step, draw uniformly among the choices with the highest score."""

    def __init__(self, knowledge: "Advice", max_opt_len: int, rules: Rules = RULES) -> None:
        self.max_opt_len, self.guide = max_opt_len, GraphGuide(knowledge, max_opt_len, rules)

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        self.guide.observe(percept)
        chosen = np.zeros((len(percept.first), 0), dtype=np.int64)
        for _ in range(1 + self.max_opt_len):
            bias = self.guide.bias(chosen)
            best = bias == bias.max(1, keepdims=True)
            chosen = np.concatenate([chosen, (rng.random(bias.shape) * best).argmax(1)[:, None]], axis=1)
        return chosen
