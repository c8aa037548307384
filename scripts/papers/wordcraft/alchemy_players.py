"""Players of the open-ended game, Little Alchemy, and the number of things they make over time."""

from heapq import heappop, heappush
from typing import Any

import numpy as np
import torch

from gumption.agents.evaluation import steps
from gumption.agents.knowledge import Knowledge
from gumption.agents.policy import Policy
from gumption.agents.settings import WorldConfig
from gumption.agents.setup import Setup
from gumption.data.settings import Count, Seed, checked
from gumption.envs import worlds
from gumption.envs.action_facts import action_facts
from gumption.envs.wordcraft import LittleAlchemyVectorEnv
from gumption.envs.wordcraft.facts import COMBINES_WITH

WORLD = "wordcraft"
GAMES = 8  # played for each measurement


class AlchemySetup(Setup):
    """The open-ended game for a learner; see `Setup`. No part is held out: the measure is the number of things made."""

    place = 1
    measured = property(lambda self: ("made", GAMES))

    def words(self, line: Any) -> str:
        return f"{line['made']:.0f} things made"

    def measure(self, policy: Policy) -> dict[str, float]:
        return self.final(policy)

    def final(self, policy: Policy) -> dict[str, float]:
        """Return the mean number of things made per game, over `GAMES` games with sampled actions."""
        env = self.make_env(GAMES, autoreset_mode="Disabled")
        made = things_made(Sampling(policy, self.config.seed), env, [env.max_steps], self.config.seed)
        return {"made": float(made.mean())}


class Sampling:
    """Samples a policy's actions as in training; in a deterministic game greedy actions would only repeat."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self.policy, self.generator = policy, torch.Generator().manual_seed(seed)

    @torch.no_grad()
    def __call__(self, env: LittleAlchemyVectorEnv, first: np.ndarray) -> np.ndarray:
        chances = self.policy(self.policy.read(env)).logits.softmax(1).cpu()
        return torch.multinomial(chances, 1, generator=self.generator)[:, 0].numpy()


class Untried:
    """Mixes the next untried pair of known things, in the order of scores or in a random order."""

    def __init__(self, scores: np.ndarray | None = None, seed: int = 0) -> None:
        """:param scores: (N, N), of pairs of entity ids, highest first; None for a random order."""
        self.scores, self.rng = scores, np.random.Generator(np.random.PCG64(seed))
        self.waiting: list[list[tuple[float, int, int]]] = []
        self.seen = self.second = np.zeros(0)

    def __call__(self, env: LittleAlchemyVectorEnv, first: np.ndarray) -> np.ndarray:
        if not self.waiting:
            self.waiting = [[] for _ in first]
            self.seen, self.second = np.zeros_like(env.discovered), np.zeros(len(first), dtype=np.int64)
        for game in np.flatnonzero(first).tolist():
            self.waiting[game], self.seen[game] = [], False
        actions = self.second.copy()
        for game in np.flatnonzero(env.selection == 0).tolist():
            self._learn_of_new(game, env.discovered[game])
            if self.waiting[game]:
                _, actions[game], self.second[game] = heappop(self.waiting[game])
        return actions

    def _learn_of_new(self, game: int, known: np.ndarray) -> None:
        for thing in np.flatnonzero(known & ~self.seen[game]).tolist():
            self.seen[game, thing] = True
            partners = np.flatnonzero(self.seen[game])
            ranks = self.rng.random(len(partners)) if self.scores is None else -self.scores[thing, partners]
            for rank, partner in zip(ranks.tolist(), partners.tolist(), strict=True):
                heappush(self.waiting[game], (rank, thing, partner))


@checked
def combining_scores(kg: str, env: LittleAlchemyVectorEnv, seed: Seed = 0) -> np.ndarray:
    """Return (N, N) float32, the scores by the knowledge `kg` that two things combine, summed over both orders."""
    config = WorldConfig(WORLD, kg=kg, kg_seed=seed)
    played = {"recipe_book": env.book}
    knowledge = Knowledge.of(config, worlds.find(WORLD), env.vocabulary, env.relations, played)
    size = len(env.book.entities)
    one, other = np.broadcast_arrays(np.arange(1, size + 1)[:, None], np.arange(1, size + 1))
    asked = action_facts((COMBINES_WITH,), (size, size), [(one, other, 0)])
    table = knowledge.scores.action_scores(asked)[..., 0].cpu().numpy()
    return table + table.T


@checked
def things_made(player: Any, env: LittleAlchemyVectorEnv, at: list[Count], seed: Seed = 0) -> np.ndarray:
    """Play a game in each environment.

    :param player: see `gumption.agents.evaluation`.
    :param at: numbers of steps, two for each mix; a game that has made everything keeps its number.
    :returns: (B, len(at)) int64, things made by then, without the basic things.
    """
    env.reset(seed=seed)
    made = np.zeros((env.num_envs, len(at)), dtype=np.int64)
    ends = np.array(at)
    for number, _ in enumerate(steps(player, env), start=1):
        made[:, ends >= number] = (env.discovered & ~env.basic).sum(axis=1)[:, None]
        if number >= ends.max():
            break
    return made
