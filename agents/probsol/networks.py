"""The network of MaskablePPO on ProbSol. All discs share a network, and all points do, so that ids have no meaning."""

from collections.abc import Sequence
from typing import Any

import torch
from gymnasium import spaces
from torch import nn

from gumption.agents.policy import KGPolicy, Readout
from gumption.data.errors import extra
from gumption.envs.probsol.actions import COARSE, WHAT

with extra("sb3", "learning ProbSol"):
    from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

#: Widths of the features of a disc, of the whole table, and of a point.
DISC, TABLE, POINT = 64, 128, 32
#: Columns of a disc's row in the observation, and their number.
PLACED, X, Y, GOLDEN, NUMBERS = 3, 4, 5, 7, 11
#: Widths of the bells around placed discs, as shares of the table's side.
REACHES = (0.06, 0.2)
#: Of a point: map (5), x, y, placed discs near it (the observation has no place of a held disc), and the vectors from
#: the goal disc and from the target, with their lengths.
POINT_FEATURES = 5 + 2 + len(REACHES) + 6
#: Of a disc: the map (5) at its place, and the vector from the middle of the targets.
PLACE_FEATURES = 5 + 2


class TableNetwork(BaseFeaturesExtractor):
    """Map observations to (B, 128 + M + 361): a summary of the table, a logit for each disc, a logit for each point.

    Discs (B, n, M, 11) come from the n latest observations; the map is (B, 5, 19, 19). All discs share the same layers
    and attend to each other; all points share the same layers as well. `KGPolicy` mixes the scores (B, M, K) of a graph
    into the logits of the discs.
    """

    side: torch.Tensor  # (19,) places of columns and rows, as shares of the table's side
    points: torch.Tensor  # (361, 2)

    def __init__(self, observation_space: spaces.Dict, relations: Sequence[str] = (), *, kg_only: bool = False) -> None:
        """
        :param relations: names of the K scores.
        :param kg_only: choose discs by the sum of the scores.
        """
        stack, self.discs, _ = observation_space["discs"].shape  # pyright: ignore[reportGeneralTypeIssues, reportOptionalIterable]
        super().__init__(observation_space, TABLE + self.discs + COARSE * COARSE)
        seen = stack * NUMBERS + PLACE_FEATURES
        self.disc = nn.Sequential(nn.Linear(seen, DISC), nn.ReLU(), nn.Linear(DISC, DISC), nn.ReLU())
        self.attention = nn.MultiheadAttention(DISC, 4, batch_first=True)
        goal = sum(int(torch.tensor(observation_space[name].shape).prod()) for name in ("family", "constraints"))  # pyright: ignore[reportArgumentType]
        self.map = nn.Sequential(nn.AvgPool2d(4, ceil_mode=True), nn.Flatten(), nn.Linear(5 * 5 * 5, DISC), nn.ReLU())
        self.table = nn.Sequential(
            nn.Linear(2 * DISC + DISC + goal, TABLE), nn.ReLU(), nn.Linear(TABLE, TABLE), nn.ReLU()
        )
        which = Which()
        self.which = KGPolicy(which, relations, kg_only=kg_only) if relations else which
        self.point, self.point_table = nn.Linear(POINT_FEATURES, POINT), nn.Linear(TABLE, POINT)
        self.where = nn.Sequential(nn.ReLU(), nn.Linear(POINT, POINT), nn.ReLU(), nn.Linear(POINT, 1))
        for head in (which.logit, self.where[-1]):
            nn.init.normal_(head.weight, std=0.01)  # pyright: ignore[reportArgumentType]
        side = (torch.arange(COARSE) * 2 + 1.5) / 40
        self.register_buffer("side", side, persistent=False)
        points = torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1).reshape(-1, 2)
        self.register_buffer("points", points, persistent=False)

    def forward(self, observations: dict[str, torch.Tensor]) -> torch.Tensor:
        discs, grid = observations["discs"], observations["map"].float()
        there = discs[:, 0, :, :4].sum(dim=2) > 0
        rows = self.disc(torch.cat([discs.transpose(1, 2).flatten(2), self._under(discs[:, 0], grid)], dim=2))
        hidden = ~there & there.any(dim=1, keepdim=True)  # no attention to absent discs
        rows = rows + self.attention(rows, rows, rows, key_padding_mask=hidden, need_weights=False)[0]
        kept = rows * there[..., None]
        mean = kept.sum(dim=1) / there.sum(dim=1, keepdim=True).clamp(min=1)
        goal = [observations["family"].flatten(1), observations["constraints"].flatten(1)]
        table = self.table(torch.cat([mean, kept.amax(dim=1), self.map(grid), *goal], dim=1))
        which = self.which(rows, table, observations.get("scores")).logits
        points = self.point(self._around(discs[:, 0], grid)) + self.point_table(table)[:, None]
        return torch.cat([table, which, self.where(points)[..., 0]], dim=1)

    @torch.no_grad()
    def _under(self, discs: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        """Return (B, M, 7): the map at the place of each disc (5), and the vector to it from the targets' middle; 0 for
        discs that are not placed. Without these features a learner hardly learns when to CHECK."""
        placed = discs[:, :, PLACED, None]
        column, row = ((discs[:, :, each] * 20 - 0.25).long().clamp(0, COARSE - 1) for each in (X, Y))
        at = (row * COARSE + column)[:, None].expand(-1, grid.shape[1], -1)
        under = grid.flatten(2).gather(2, at).transpose(1, 2)
        area = (grid[:, 1] + grid[:, 2]).flatten(1)
        middle = area @ self.points / area.sum(dim=1, keepdim=True).clamp(min=1.0)
        way = (discs[:, :, X : Y + 1] - middle[:, None]) * (area.sum(dim=1) > 0)[:, None, None]
        return torch.cat([under, way], dim=2) * placed

    @torch.no_grad()
    def _around(self, discs: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        """Return (B, 361, 15): the features of each point, from the observation alone."""
        batch, many = len(discs), len(self.points)
        parts = [grid.flatten(2).transpose(1, 2), self.points.expand(batch, many, 2)]
        for reach in REACHES:  # a bell over x times a bell over y: (B, M, 19) each
            along, across = ((-((self.side - discs[:, :, each, None]) / reach).square()).exp() for each in (X, Y))
            parts.append(torch.bmm((across * discs[:, :, PLACED, None]).transpose(1, 2), along).reshape(batch, -1, 1))
        golden = discs[:, :, GOLDEN] * discs[:, :, PLACED]
        area = (grid[:, 1] + grid[:, 2]).flatten(1)  # targets and blocks
        for weights, places in ((golden, discs[:, :, X : Y + 1]), (area, self.points.expand(batch, many, 2))):
            total = weights.sum(dim=1, keepdim=True)
            middle = torch.bmm(weights[:, None], places)[:, 0] / total.clamp(min=1.0)
            way = (self.points[None] - middle[:, None]) * (total > 0)[..., None]
            parts += [way, way.norm(dim=2, keepdim=True)]
        return torch.cat(parts, dim=2)


class Which(nn.Module):
    """Map features of each disc (B, M, 64) and of the table (B, 128) to a logit for each disc.

    :ivar size: width of the summary for `KGPolicy`, which is the features of the table.
    """

    size = TABLE

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.logit = nn.Linear(DISC + TABLE, DISC), nn.Linear(DISC, 1)

    def forward(self, rows: torch.Tensor, table: torch.Tensor, scores: torch.Tensor | None) -> Readout:
        """Return the Readout of an agent without knowledge; the scores are ignored."""
        return self.read(rows, table)[0]

    def read(self, rows: torch.Tensor, table: torch.Tensor) -> tuple[Readout, torch.Tensor]:
        """Return the logits (B, M), with value 0, and the features of the table."""
        seen = torch.cat([rows, table[:, None].expand(-1, rows.shape[1], -1)], dim=2)
        logits = self.logit(self.hidden(seen).relu())[..., 0]
        return Readout(logits, table.new_zeros(len(table)), logits), table


class Parts(nn.Module):
    """Map features (B, 128 + M + 361) to logits of the three parts of an action (B, 7 + M + 361)."""

    def __init__(self) -> None:
        super().__init__()
        self.what = nn.Linear(TABLE, len(WHAT))
        nn.init.normal_(self.what.weight, std=0.01)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.what(features[:, :TABLE]), features[:, TABLE:]], dim=1)


class Value(nn.Module):
    """Map features to values (B, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Linear(TABLE, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.value(features[:, :TABLE])


class TablePolicy(MaskableMultiInputActorCriticPolicy):
    """The policy of MaskablePPO with `TableNetwork`, which computes the logits of discs and points itself."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings, features_extractor_class=TableNetwork, net_arch=[], ortho_init=False)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net, self.value_net = Parts(), Value()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # pyright: ignore[reportCallIssue]
