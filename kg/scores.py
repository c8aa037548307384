"""Relation scores: link predictors frozen into tables, from which a policy gathers the scores of its actions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gumption.data import InputError

from .predictor import LinkPredictor
from .recipe_predictor import COMBINES_WITH, COMPONENT_OF, RecipePredictor

RECIPE = "recipe"
CHANNELS = (COMBINES_WITH, COMPONENT_OF, RECIPE)
# What a table of recipes may take; 16 bits for each pair and product make this about 800 entities.
TABLE_BYTES = 1 << 29
FLOOR = -30.0  # log-probabilities end here, so that half precision and mixtures stay finite


@dataclass(frozen=True)
class CrossFit:
    """Predictors that each have not seen one fold of the facts, to score training facts as if they were unseen.

    :ivar binary, recipe: one predictor for each of K folds, or empty.
    :ivar folds: for each channel (N, N) int: which predictor scores an entry. For combinesWith and recipe the entry is
        the (symmetric) pair, for componentOf (ingredient, product). A fact belongs to the fold it is left out of; an
        entry that is no fact may belong to any.
    """

    binary: Sequence[LinkPredictor]
    recipe: Sequence[RecipePredictor]
    folds: dict[str, np.ndarray]


class RelationScores(nn.Module):
    """Scores of K channels for actions that choose a candidate, by env ids (0 is nothing, i + 1 is entity i).

    - combinesWith: L(candidate, combinesWith, selection), 0 while nothing is selected (u of Jiang et al., section 4.2).
    - componentOf: L(candidate, componentOf, goal) (v).
    - recipe: log p(goal | candidate, selection); while nothing is selected that of the best partner on the table, the
      candidate itself included. (Both choices must be right, so the best pair counts, not the sum over pairs.)

    Calibrated, L is a log-probability: the mean of log softmax over objects and log softmax over subjects, so that a
    score means the same in every row. Raw scores of ComplEx are comparable within one query only, and an entity's
    score with itself is the largest of them; that is how the first agents came to choose the same entity twice.

    In training mode (`train()`), with a CrossFit, every entry is scored by the predictor that has not seen its fold: a
    policy that learns on training facts then meets scores as good as those on unseen ones. In evaluation mode the
    predictors given first score everything.
    """

    _pair_start: torch.Tensor

    def __init__(
        self,
        entities: Sequence[str],
        binary: LinkPredictor | None = None,
        recipe: RecipePredictor | None = None,
        *,
        channels: Sequence[str] = CHANNELS,
        calibrated: bool = True,
        cross_fit: CrossFit | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        """
        :param entities: labels in env-id order; each must be known to the predictors.
        :param binary: scores combinesWith and componentOf.
        :param recipe: scores recipes.
        :param channels: which scores, in this order on the last axis.
        :param calibrated: log-probabilities; False leaves the binary predictor's scores raw.
        :raises InputError: an unknown channel or entity, a channel without its predictor, a table beyond TABLE_BYTES,
            or scores that are not finite.
        """
        super().__init__()
        self.entities, self.channels = tuple(entities), tuple(channels)
        size = len(self.entities)
        ids = torch.arange(size)
        self.register_buffer("_pair_start", (ids * size - ids * (ids + 1) // 2).to(device), persistent=False)
        self._cross_fit = cross_fit is not None
        for channel in self.channels:
            if channel not in CHANNELS:
                raise InputError(f"no score is called {channel!r}; there are {', '.join(CHANNELS)}")
            if (recipe if channel == RECIPE else binary) is None:
                raise InputError(f"the score {channel!r} needs a predictor that was not given")
            self._freeze(channel, self._table(channel, binary, recipe, calibrated, None), device)
            if cross_fit is not None:
                parts = cross_fit.recipe if channel == RECIPE else cross_fit.binary
                table: torch.Tensor | None = None
                for fold, part in enumerate(parts):
                    mine = torch.from_numpy(cross_fit.folds[channel] == fold)
                    rows = self._table(channel, part, part, calibrated, mine)
                    where = mine[*torch.triu_indices(size, size)] if channel == RECIPE else mine
                    table = rows if table is None else torch.where(where.to(rows.device), rows, table)
                assert table is not None
                self._freeze(f"held_out_{channel}", table, device)
        self.eval()

    def _freeze(self, name: str, table: torch.Tensor, device: torch.device | str) -> None:
        if not table.isfinite().all():
            raise InputError(f"the predictor gives scores for {name} that are NaN or infinite; train it again")
        self.register_buffer(name, table.to(device), persistent=False)

    def _table(
        self,
        channel: str,
        binary: LinkPredictor | None,
        recipe: LinkPredictor | None,
        calibrated: bool,
        wanted: torch.Tensor | None,
    ) -> torch.Tensor:
        """The table of a channel; `wanted` (N, N) bool says which pairs a table of recipes must fill."""
        if channel == RECIPE:
            assert isinstance(recipe, RecipePredictor)
            return _recipe_table(recipe, _ids(recipe, self.entities), wanted)
        assert binary is not None
        return _binary_table(binary, channel, _ids(binary, self.entities), calibrated)

    def _frozen(self, channel: str) -> torch.Tensor:
        return self.get_buffer(f"held_out_{channel}" if self.training and self._cross_fit else channel)

    @torch.no_grad()
    def action_scores(
        self, goal: np.ndarray | torch.Tensor, table: np.ndarray | torch.Tensor, selection: np.ndarray | torch.Tensor
    ) -> torch.Tensor:
        """(B,), (B, S), (B,) integer env ids -> (B, S, K) float32 on the device; 0 at empty slots, and for
        scores of a goal where there is none."""
        device = self._pair_start.device
        ids = [torch.as_tensor(part).to(device, torch.int64) for part in (goal, table, selection)]
        score = {COMBINES_WITH: self._combines, COMPONENT_OF: self._component, RECIPE: self._recipe}
        scores = torch.stack([score[channel](*ids) for channel in self.channels], dim=2)
        return scores * (ids[1] > 0)[..., None]

    def _combines(self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor) -> torch.Tensor:
        scores = self._frozen(COMBINES_WITH)[table - 1, selection[:, None] - 1]
        return scores * (selection > 0)[:, None]

    def _component(self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor) -> torch.Tensor:
        return self._frozen(COMPONENT_OF)[table - 1, goal[:, None] - 1] * (goal > 0)[:, None]

    def _recipe(self, goal: torch.Tensor, table: torch.Tensor, selection: torch.Tensor) -> torch.Tensor:
        # The partners of a candidate: what is selected, or, before that, everything on the table.
        chosen = functional.pad(selection[:, None], (0, table.shape[1] - 1))
        partner = torch.where(selection[:, None] > 0, chosen, table)
        # All have a selection: one partner each. Asked on the CPU only, where the answer costs nothing.
        if partner.device.type == "cpu" and not partner[:, 1:].any():
            partner = partner[:, :1]
        pairs = self._pair(table[:, :, None], partner[:, None, :])
        table_of_goal = self._frozen(RECIPE)  # flat look-ups: the fastest gather that torch has on the CPU
        log_p = table_of_goal.take((goal - 1).clamp_min(0)[:, None, None] * table_of_goal.shape[1] + pairs).float()
        scores = log_p.masked_fill((partner == 0)[:, None, :], -torch.inf).amax(2).clamp_min(FLOOR)
        return scores * (goal > 0)[:, None]

    def _pair(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Row of an unordered pair of env ids; PAD stands for the first entity, and is masked by the caller."""
        low = torch.minimum(first, second).sub(1).clamp_min(0)
        high = torch.maximum(first, second).sub(1).clamp_min(0)
        return self._pair_start[low] + high


def _ids(predictor: LinkPredictor, entities: Sequence[str]) -> torch.Tensor:
    return torch.from_numpy(predictor.vocabulary.entity_ids(entities)).to(predictor.device)


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
def _recipe_table(predictor: RecipePredictor, ids: torch.Tensor, wanted: torch.Tensor | None) -> torch.Tensor:
    """(N, N (N + 1) / 2) float16 log p(product | pair), a column for each unordered pair; 0 where it is not wanted.

    Products are rows: the pairs on one table are then looked up near each other.
    """
    size = len(ids)
    if size * (size + 1) * size > TABLE_BYTES:
        raise InputError(
            f"a table of recipes over {size} entities takes {size * (size + 1) * size >> 20} MiB, more than "
            f"{TABLE_BYTES >> 20}; take a smaller book or leave out the score {RECIPE!r}"
        )
    table = torch.zeros(size, size * (size + 1) // 2, dtype=torch.float16, device=predictor.device)
    start = 0
    for first in range(size):
        chosen = torch.arange(size - first) if wanted is None else wanted[first, first:].nonzero()[:, 0]
        partners = ids[first + chosen.to(ids.device)]
        log_p = predictor.log_probabilities(ids[first].expand(len(partners)), partners)[:, ids]
        table[:, start + chosen.to(ids.device)] = log_p.clamp_min(FLOOR).half().T
        start += size - first
    return table
