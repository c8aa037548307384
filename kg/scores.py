"""Relation scores: link predictors frozen into tables, from which a policy gathers the scores of its actions."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gumption.data import InputError

from .predictor import LinkPredictor
from .recipe_predictor import COMBINES_WITH, COMPONENT_OF, RecipePredictor
from .vocabulary import Triple

RECIPE = "recipe"
CHANNELS = (COMBINES_WITH, COMPONENT_OF, RECIPE)
# What a table of recipes may take; 16 bits for each pair and product make this about 800 entities.
TABLE_BYTES = 1 << 29
FLOOR = -30.0  # log-probabilities end here, so that half precision and mixtures stay finite

HeldOut = Mapping[str, np.ndarray]


class RelationScores(nn.Module):
    """Scores of K channels for actions that choose a candidate, by env ids (0 is nothing, i + 1 is entity i).

    - combinesWith: L(candidate, combinesWith, selection), 0 while nothing is selected (u of Jiang et al., section 4.2).
    - componentOf: L(candidate, componentOf, goal) (v), 0 where there is no goal.
    - recipe: log p(goal | candidate, selection); while nothing is selected the log of its sum over all partners on the
      table, the candidate itself included; 0 where there is no goal.

    Calibrated, L is a log-probability: the mean of log softmax over objects and log softmax over subjects, so that a
    score means the same in every row. Raw scores of ComplEx are comparable within one query only, and an entity's
    score with itself is the largest of them; that is how the first agents came to choose the same entity twice.

    In training mode (`train()`), facts for which held-out scores were given have those, as if each had never been
    seen: a policy that learns on training facts then meets scores as good as those on unseen ones. `eval()` puts the
    predictors' own scores back.
    """

    def __init__(
        self,
        entities: Sequence[str],
        binary: LinkPredictor | None = None,
        recipe: RecipePredictor | None = None,
        *,
        channels: Sequence[str] = CHANNELS,
        calibrated: bool = True,
        held_out: HeldOut | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        """
        :param entities: labels in env-id order; each must be known to the predictors.
        :param binary: scores combinesWith and componentOf.
        :param recipe: scores recipes.
        :param channels: which scores, in this order on the last axis.
        :param calibrated: log-probabilities; False leaves the binary predictor's scores raw.
        :param held_out: for a channel an (n, 3) float array: two entity ids and the score of a binary fact
            (subject, object); for "recipe" (n, 4): pair, product, score.
        :raises InputError: an unknown channel or entity, a channel without its predictor, a table beyond TABLE_BYTES.
        """
        super().__init__()
        self.entities, self.channels = tuple(entities), tuple(channels)
        size = len(self.entities)
        self._pair_start = torch.arange(size) * size - torch.arange(size) * (torch.arange(size) + 1) // 2
        self._swaps: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        for channel in self.channels:
            if channel not in CHANNELS:
                raise InputError(f"no score is called {channel!r}; there are {', '.join(CHANNELS)}")
            source = recipe if channel == RECIPE else binary
            if source is None:
                raise InputError(f"the score {channel!r} needs a predictor that was not given")
            ids = torch.from_numpy(source.vocabulary.entity_ids(self.entities)).to(source.device)
            if channel == RECIPE:
                assert recipe is not None
                table = _recipe_table(recipe, ids)
            else:
                table = _binary_table(source, channel, ids, calibrated)
            if not table.isfinite().all():
                raise InputError(f"the predictor gives scores for {channel} that are NaN or infinite; train it again")
            table = table.to(device)
            self.register_buffer(channel, table, persistent=False)
            if held_out and channel in held_out:
                self._swaps.append(self._swap(channel, table, held_out[channel]))
        self._pair_start = self._pair_start.to(device)
        super().train(False)  # a new module says it trains; our own `train` would swap on the way out of that

    def train(self, mode: bool = True) -> "RelationScores":
        if mode != self.training:
            for table, where, ours in self._swaps:
                here = table.view(-1)[where]
                table.view(-1)[where] = ours
                ours.copy_(here)
        return super().train(mode)

    @torch.no_grad()
    def action_scores(
        self, goal: np.ndarray | torch.Tensor, table: np.ndarray | torch.Tensor, selection: np.ndarray | torch.Tensor
    ) -> torch.Tensor:
        """(B,), (B, S), (B,) integer env ids -> (B, S, K) float32 on the device; 0 at empty slots."""
        device = self._pair_start.device
        goal, table, selection = (torch.as_tensor(part).to(device, torch.int64) for part in (goal, table, selection))
        scores = [
            {COMBINES_WITH: self._combines, COMPONENT_OF: self._component, RECIPE: self._recipe}[channel](
                goal, table, selection
            )
            for channel in self.channels
        ]
        return torch.stack(scores, dim=2) * (table > 0)[..., None]

    def _combines(self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor) -> torch.Tensor:
        scores = self.get_buffer(COMBINES_WITH)[table - 1, selection[:, None] - 1]
        return scores * (selection > 0)[:, None]

    def _component(self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor) -> torch.Tensor:
        return self.get_buffer(COMPONENT_OF)[table - 1, goal[:, None] - 1] * (goal > 0)[:, None]

    def _recipe(self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor) -> torch.Tensor:
        # The partners of a candidate: what is selected, or, before that, everything on the table.
        chosen = functional.pad(selection[:, None], (0, table.shape[1] - 1))
        partner = torch.where(selection[:, None] > 0, chosen, table)
        pairs = self._pair(table[:, :, None], partner[:, None, :])
        log_p = self.get_buffer(RECIPE)[pairs, (goal - 1).clamp_min(0)[:, None, None]].float()
        scores = log_p.masked_fill((partner == 0)[:, None, :], -torch.inf).logsumexp(2).clamp_min(FLOOR)
        return scores * (goal > 0)[:, None]

    def _pair(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Row of an unordered pair of env ids; PAD stands for the first entity, and is masked by the caller."""
        low = torch.minimum(first, second).sub(1).clamp_min(0)
        high = torch.maximum(first, second).sub(1).clamp_min(0)
        return self._pair_start[low] + high

    def _swap(
        self, channel: str, table: torch.Tensor, given: np.ndarray
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        ids = torch.from_numpy(given[:, :-1].astype(np.int64))
        if channel == RECIPE:
            low, high = ids[:, :2].min(1).values, ids[:, :2].max(1).values
            where = (self._pair_start[low] + high) * len(self.entities) + ids[:, 2]
        else:
            where = ids[:, 0] * len(self.entities) + ids[:, 1]
        values = torch.from_numpy(given[:, -1].astype(np.float32)).clamp_min(FLOOR)
        return table, where.to(table.device), values.to(table.device, table.dtype)


@torch.no_grad()
def fact_scores(predictor: LinkPredictor, facts: Iterable[Triple], calibrated: bool = True) -> np.ndarray:
    """(n,) float32: what `RelationScores` holds for these facts."""
    ids = torch.from_numpy(predictor.vocabulary.triples_to_ids(facts)).to(predictor.device)
    found = [torch.empty(0)]
    for part in ids.split(1024):
        objects = predictor.object_scores(part[:, 0], part[:, 1])
        if calibrated:
            subjects = predictor.subject_scores(part[:, 1], part[:, 2])
            mean = objects.log_softmax(1).gather(1, part[:, 2:]) + subjects.log_softmax(1).gather(1, part[:, :1])
            found.append((mean / 2)[:, 0].cpu())
        else:
            found.append(objects.gather(1, part[:, 2:])[:, 0].cpu())
    return torch.cat(found).numpy()


@torch.no_grad()
def _binary_table(predictor: LinkPredictor, relation: str, ids: torch.Tensor, calibrated: bool) -> torch.Tensor:
    """(N, N) float32 scores of (row, relation, column)."""
    relations = torch.full_like(ids, predictor.vocabulary.relation_id(relation))
    objects = predictor.object_scores(ids, relations)
    if not calibrated:
        return objects[:, ids].contiguous()
    subjects = predictor.subject_scores(relations, ids)
    both = objects.log_softmax(1)[:, ids] + subjects.log_softmax(1)[:, ids].T
    return (both / 2).clamp_min(FLOOR)


@torch.no_grad()
def _recipe_table(predictor: RecipePredictor, ids: torch.Tensor) -> torch.Tensor:
    """(N (N + 1) / 2, N) float16 log p(product | pair), a row for each unordered pair."""
    size = len(ids)
    if size * (size + 1) * size > TABLE_BYTES:
        raise InputError(
            f"a table of recipes over {size} entities takes {size * (size + 1) * size >> 20} MiB, more than "
            f"{TABLE_BYTES >> 20}; take a smaller book or leave out the score {RECIPE!r}"
        )
    table = torch.empty(size * (size + 1) // 2, size, dtype=torch.float16, device=predictor.device)
    start = 0
    for first in range(size):
        partners = ids[first:]
        log_p = predictor.log_probabilities(ids[first].expand(len(partners)), partners)[:, ids]
        table[start : start + len(partners)] = log_p.clamp_min(FLOOR)
        start += len(partners)
    return table
