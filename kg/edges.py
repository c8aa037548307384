"""Edge channels: a separate score for each relation of a graph, in each direction, for each choice.

A graph from elsewhere states none of a world's relations, and the value of its own relations for a choice is unknown.
So each relation is a channel, and a policy learns the weights (`gumption.agents.policy`). Channels of a candidate:

    goal.isA  goal.^isA  ...  goal.two-step       links with the goal of the choice: (candidate, isA, goal), and back
    chosen.isA  chosen.^isA  ...  chosen.two-step links with things already chosen
    known                                         1 if the graph states a fact of the candidate
    again                                         1 if the candidate is already chosen; its other channels are 0 then
    goal.words  chosen.words                      cosines of word vectors, if these are used
"""

from collections.abc import Sequence

import numpy as np
import torch
from scipy import sparse
from torch import nn

from gumption.data import InputError

from .action_facts import ActionFacts
from .mapping import INVERSE
from .vocabulary import Vocabulary

MOST_RELATIONS = 64
#: Maximum number of pairs of links that form two-step links; beyond it, the middle things with most links are left out.
MOST_STEPS = 1 << 24
TWO_STEP, KNOWN, AGAIN, WORDS = "two-step", "known", "again", "words"
GOAL, CHOSEN = "goal", "chosen"


class EdgeScores(nn.Module):
    """Channels of the edges between the entities of a world: sorted keys of linked pairs, and the links of each pair.

    A fact takes about 80 bytes and a two-step link 28. A look-up is a binary search for each pair of a candidate and
    a goal or a chosen thing, for any number of relations.

    :ivar entities: N labels; env id i + 1 is entities[i].
    :ivar edges: the R relations that have channels.
    :ivar left_out: the other relations that link entities of the world.
    :ivar relations: names of the K channels.
    :ivar vectors: (N, F) word vectors, or None.
    """

    _keys: torch.Tensor
    _starts: torch.Tensor
    _channels: torch.Tensor
    _strengths: torch.Tensor
    _known: torch.Tensor
    _vectors: torch.Tensor

    def __init__(
        self,
        vocabulary: Vocabulary,
        size: int,
        facts: np.ndarray,
        edges: Sequence[str],
        strengths: np.ndarray | None = None,
        vectors: np.ndarray | None = None,
    ) -> None:
        """
        :param vocabulary: vocabulary of the facts; its first N = `size` entities are the world's.
        :param facts: (n, 3) int64 (subject, relation, object) from 0.
        :param edges: the relations for channels, if they link entities of the world; see `preferred`.
        :param strengths: (n,) float32 confidences, by default 1; a fact with a strength of 0 or less is no link.
        :param vectors: (N, F) float32 word vectors, for the channels of words.
        :raises InputError: no fact links two of the world's entities in one step or two, and there are no vectors.
        """
        super().__init__()
        self.entities, self._vocabulary, self.vectors = vocabulary.entities[:size], vocabulary, vectors
        if strengths is not None:
            facts, strengths = facts[strengths > 0], strengths[strengths > 0]
        self._facts = facts
        of_two = (facts[:, [0, 2]] < size).all(1) & (facts[:, 0] != facts[:, 2])
        linking = np.unique(facts[of_two, 1]).tolist()
        self.edges = tuple(name for name in edges if name in {vocabulary.relations[r] for r in linking})
        self.left_out = tuple(vocabulary.relations[r] for r in linking if vocabulary.relations[r] not in self.edges)
        place = np.full(len(vocabulary.relations), -1)
        place[[vocabulary.relations.index(name) for name in self.edges]] = np.arange(len(self.edges))
        direct = of_two & (place[facts[:, 1]] >= 0)
        s, r, o = facts[direct].T
        weight = np.ones(len(s), dtype=np.float32) if strengths is None else strengths[direct]
        one, other, steps = _two_steps(facts, size)
        if not len(s) and not len(one) and vectors is None:
            raise InputError("no fact of the graph links two of the world's entities, by itself or in two steps")
        self._two_step = 2 * len(self.edges)
        channels = np.concatenate([2 * place[r], 2 * place[r] + 1, np.full(len(one), self._two_step)])
        pairs = np.concatenate([s * size + o, o * size + s, one * size + other])
        weights = np.concatenate([weight, weight, steps])
        order = np.lexsort((channels, pairs))
        keys, starts = np.unique(pairs[order], return_index=True)
        known = np.zeros(size + 1, dtype=np.float32)
        known[1:][np.unique(facts[:, [0, 2]][facts[:, [0, 2]] < size])] = 1.0
        self._most = int(np.diff(starts, append=len(pairs)).max(initial=0))  # largest number of links of a pair
        unit = np.zeros((size + 1, 0), dtype=np.float32)
        if vectors is not None:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            unit = np.pad(vectors / np.maximum(lengths, 1e-9), ((1, 0), (0, 0))).astype(np.float32)
        arrays = {
            "_keys": keys, "_starts": np.append(starts, len(pairs)), "_channels": channels[order],
            "_strengths": weights[order].astype(np.float32), "_known": known, "_vectors": unit,
        }  # fmt: skip
        for name, array in arrays.items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        of_links = [*(back + name for name in self.edges for back in ("", INVERSE)), TWO_STEP]
        links = [f"{end}.{name}" for end in (GOAL, CHOSEN) for name in of_links]
        of_words = [] if vectors is None else [f"{GOAL}.{WORDS}", f"{CHOSEN}.{WORDS}"]
        self.relations = (*links, KNOWN, AGAIN, *of_words)
        self.eval()

    @property
    def known(self) -> int:
        """The number of entities with a fact in the graph."""
        return int(self._known.sum())

    @property
    def device(self) -> torch.device:
        return self._keys.device

    @torch.no_grad()
    def action_scores(self, facts: ActionFacts, once: bool = True) -> torch.Tensor:
        """Return (B, A, K) float32. If a choice or a goal is about several things, the strongest link counts.

        :param once: whether all channels but `again` are 0 for things already chosen.
        :raises InputError: choices that name no things.
        """
        if facts.things is None or facts.about is None:
            raise InputError(
                "edges are read between the things of a choice, its goal and what is chosen, and this world does not "
                "state them: give `things` and `about` in its action_facts"
            )
        things, about = (torch.from_numpy(part).to(self.device) for part in (facts.things, facts.about))
        chosen = about[:, :0] if facts.chosen is None else torch.from_numpy(facts.chosen).to(self.device)
        again = ((things[..., None] == chosen[:, None, None]) & (things[..., None] > 0)).flatten(2).any(2, keepdim=True)
        parts = [self._links(things, about), self._links(things, chosen), self._known[things].amax(2, keepdim=True)]
        parts += [again.float()]
        if self.vectors is not None:
            parts += [self._cosines(things, about), self._cosines(things, chosen)]
        scores = torch.cat(parts, dim=2)
        if not once:
            return scores
        others = torch.arange(len(self.relations), device=self.device) != self.relations.index(AGAIN)
        return scores.masked_fill(again & others, 0.0)

    def _links(self, things: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        """Return (B, A, 2R + 1), the strength of the links of each candidate with any of (B, G) others."""
        (b, a), width = things.shape[:2], self._two_step + 1
        one, other = things[:, :, :, None], others[:, None, None, :]
        key = (one - 1) * len(self.entities) + other - 1
        pairs = torch.where((one > 0) & (other > 0), key, -1).reshape(b, a, -1).contiguous()
        scores = torch.zeros(b, a, width, device=self.device)
        if not len(self._keys) or not pairs.numel():
            return scores
        at = torch.searchsorted(self._keys, pairs).clamp_max(len(self._keys) - 1)
        start = self._starts[at]
        end = torch.where(self._keys[at] == pairs, self._starts[at + 1], start)
        link = start[..., None] + torch.arange(self._most, device=self.device)
        there = link < end[..., None]
        link = link.clamp_max(len(self._channels) - 1)
        strength = self._strengths[link] * there
        return scores.scatter_reduce(2, self._channels[link].view(b, a, -1), strength.view(b, a, -1), "amax")

    def _cosines(self, things: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        """Return (B, A, 1): cosines of word vectors, summed over others and averaged over the things of a choice."""
        mine, theirs = self._vectors[things].sum(2), self._vectors[others].sum(1)
        return (mine @ theirs[:, :, None]) / (things > 0).sum(2).clamp_min(1)[..., None]

    def why(self, things: np.ndarray, others: np.ndarray) -> list[tuple[str, tuple[str, str, str]]]:
        """Return the facts that link the things of a choice with others, by env ids, each with its channel without
        "goal." or "chosen."; for two steps, those through the neighbour with the fewest links."""
        facts, names = [], self._vocabulary
        for one in things[things > 0].tolist():
            for other in others[others > 0].tolist():
                scores = self._links(torch.tensor([[[one]]]).to(self.device), torch.tensor([[other]]).to(self.device))
                for channel in scores[0, 0].nonzero()[:, 0].tolist():
                    for s, r, o in self._behind(one - 1, other - 1, channel).tolist():
                        fact = names.entities[s], names.relations[r], names.entities[o]
                        facts.append((self.relations[channel].removeprefix(f"{GOAL}."), fact))
        return facts

    def _behind(self, one: int, other: int, channel: int) -> np.ndarray:
        """Return (n, 3), the facts behind a channel of the links of two entities from 0."""
        s, r, o = self._facts.T
        if channel < self._two_step:
            one, other = (other, one) if channel % 2 else (one, other)
            place = self._vocabulary.relations.index(self.edges[channel // 2])
            return self._facts[(s == one) & (r == place) & (o == other)][:1]
        mine, theirs = (np.concatenate([o[s == end], s[o == end]]) for end in (one, other))
        shared = np.intersect1d(mine, theirs)
        shared = shared[(shared != one) & (shared != other)]
        links = [int(((s == middle) | (o == middle)).sum()) for middle in shared.tolist()]
        middle = shared[int(np.argmin(links))]
        steps = [((s == end) & (o == middle)) | ((s == middle) & (o == end)) for end in (one, other)]
        return np.concatenate([self._facts[step][:1] for step in steps])


def preferred(facts: np.ndarray, candidates: np.ndarray, relations: Sequence[str]) -> tuple[str, ...]:
    """Select the relations, at most `MOST_RELATIONS`, with the most links between candidates; ties go to the relation
    with more links between entities of the world. They keep their order.

    :param facts: (n, 3) int64, as in `EdgeScores`; `candidates` (N,) bool, the world's entities in training tasks.
    """
    of_two = (facts[:, [0, 2]] < len(candidates)).all(1)
    among = of_two & np.append(candidates, False)[np.minimum(facts[:, [0, 2]], len(candidates))].all(1)
    most, some = (np.bincount(facts[rows, 1], minlength=len(relations)) for rows in (among, of_two))
    best = np.lexsort((-some, -most))[:MOST_RELATIONS]
    return tuple(relations[int(r)] for r in np.sort(best))


def _two_steps(facts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs of the world's entities with a common neighbour, (m,), (m,) from 0, and their strength (m,)
    float32: the sum of 1 / log(1 + links) over the neighbours (Adamic and Adar, 2003), so that a neighbour of all
    things adds little."""
    things = int(facts[:, [0, 2]].max(initial=-1)) + 1
    ends = np.concatenate([facts[:, [0, 2]], facts[:, [2, 0]]])
    ends = np.unique(ends[(ends[:, 0] < size) & (ends[:, 0] != ends[:, 1])], axis=0)
    degrees = np.bincount(ends[:, 1], minlength=things)
    order = np.argsort(degrees, kind="stable")
    kept = np.zeros(things, dtype=bool)
    kept[order[np.cumsum(degrees[order].astype(np.int64) ** 2) <= MOST_STEPS]] = True
    ends = ends[kept[ends[:, 1]] & (degrees[ends[:, 1]] > 1)]
    weights = 1 / np.log1p(degrees[ends[:, 1]])
    links = sparse.csr_array((np.sqrt(weights), (ends[:, 0], ends[:, 1])), shape=(size, max(things, 1)))
    shared = sparse.coo_array(links @ links.T)
    apart = shared.row != shared.col
    return shared.row[apart].astype(np.int64), shared.col[apart].astype(np.int64), shared.data[apart].astype(np.float32)
