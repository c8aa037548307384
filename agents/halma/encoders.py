"""The inductive biases of Table S2: how an agent makes a vector of what it observes.

Features are what the replay buffer keeps: (..., 11, 19) uint8 symbols, (..., 128, 128, 3) uint8 pictures, or
(..., 64, 33) float32 slots of SPACE. All layers have ReLU and `size` units unless said otherwise.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from .config import HALMAConfig
from .space_config import PRESENT

ROWS, COLUMNS = 11, 19
SLOTS, SLOT_SIZE = 64, 33
HEADS, LAYERS = 4, 4
ZERO = 9  # the column of a value that is not shown
MASKED = -1e9


class Memo(NamedTuple):
    """What an LSTM carries from move to move: (n, size) each, both empty (n, 0) for an agent without one."""

    hidden: torch.Tensor
    cell: torch.Tensor


class Body(nn.Module):
    """Encoder and decoder of an agent: from n sequences of K observations to (n, K, size)."""

    def __init__(self, config: HALMAConfig) -> None:
        super().__init__()
        size = config.learner.hidden_size
        self.size = size
        self.encoder = ENCODERS[config.agent.removesuffix("+lstm")](size)
        self.memory = LSTM(size, 1 + config.max_opt_len) if config.recurrent else None

    def start(self, n: int) -> Memo:
        """The memo of n agents that remember nothing."""
        where = next(self.parameters())
        width = self.size if self.memory is not None else 0
        return Memo(where.new_zeros(n, width), where.new_zeros(n, width))

    def forward(
        self, features: torch.Tensor, action: torch.Tensor, reward: torch.Tensor, first: torch.Tensor, memo: Memo
    ) -> tuple[torch.Tensor, Memo]:
        """
        :param features: (n, K, ...).
        :param action: (n, K, 1 + T) int64, the option before each observation; `reward` (n, K) what it brought.
        :param first: (n, K) bool, where an episode begins.
        :param memo: before the first observation.
        :returns: (n, K, size), and the memo after the last observation.
        """
        n, moves = first.shape
        made = self.encoder(features.flatten(0, 1)).view(n, moves, -1)
        return (made, memo) if self.memory is None else self.memory(made, action, reward, first, memo)


class LSTM(nn.Module):
    """An LSTM with layer normalisation (Ba et al., 2016), fed with the previous option and reward as in Wang et al.
    (2016), which forgets where an episode begins.

    Decision: what it reads of the panel is normalised, and its output is added to that. As an encoder begins, panels
    differ less in its features than options do; without both an agent learns from its own options before it has
    learned from panels: after 260 episodes TRAN+LSTM finished 0.35 of 10 trials, with both 5.
    """

    REWARD_SCALE = 0.01  # the goal's reward becomes 1

    def __init__(self, size: int, tokens: int) -> None:
        super().__init__()
        self.given = nn.Linear(size + 4 * tokens + 1, 4 * size)
        self.kept = nn.Linear(size, 4 * size, bias=False)
        self.norm_seen = nn.LayerNorm(size)
        self.norm_given, self.norm_kept = nn.LayerNorm(4 * size), nn.LayerNorm(4 * size)
        self.norm_cell = nn.LayerNorm(size)

    def forward(
        self, made: torch.Tensor, action: torch.Tensor, reward: torch.Tensor, first: torch.Tensor, memo: Memo
    ) -> tuple[torch.Tensor, Memo]:
        options = functional.one_hot(action, 4).flatten(2).to(made.dtype)
        inputs = torch.cat([self.norm_seen(made), options, self.REWARD_SCALE * reward[..., None]], 2)
        given = self.norm_given(self.given(inputs))
        on = (~first).to(made.dtype)[..., None]
        hidden, cell = memo
        outputs = []
        for k in range(made.shape[1]):
            hidden, cell = hidden * on[:, k], cell * on[:, k]
            gates = given[:, k] + self.norm_kept(self.kept(hidden))
            write, forget, read, value = gates.chunk(4, 1)
            cell = torch.sigmoid(forget + 1) * cell + torch.sigmoid(write) * torch.tanh(value)
            hidden = torch.sigmoid(read) * torch.tanh(self.norm_cell(cell))
            outputs.append(hidden)
        return made + torch.stack(outputs, 1), Memo(hidden, cell)


class Relations(nn.Module):
    """Four self-attention layers that share their parameters, with four heads and layer normalisation, then the
    maximum over the tokens (Zambaldi et al., 2019). Each token carries a one-hot index (F.1)."""

    index: torch.Tensor

    def __init__(self, tokens: int, width: int, size: int) -> None:
        super().__init__()
        self.register_buffer("index", torch.eye(tokens), persistent=False)
        self.enter = nn.Linear(width + tokens, size)
        self.ask = nn.Linear(size, 3 * size)
        self.join = nn.Linear(size, size)
        self.think = _layers(size, size, size, last=False)
        self.norm_join, self.norm_think = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, tokens: torch.Tensor, shown: torch.Tensor | None = None) -> torch.Tensor:
        """(n, tokens, width) -> (n, size). Products are bfloat16, which costs a third of float32 here.

        :param shown: (n, tokens) bool, at least one of each n: the tokens that there are; None for all.
        """
        tokens = torch.cat([tokens, self.index.to(tokens.dtype).expand(len(tokens), -1, -1)], 2)
        if shown is None:
            shown = torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
        elif tokens.device.type == "cpu":  # a graphics card computes all tokens sooner than it tells how many there are
            shown, order = shown.sort(dim=1, descending=True, stable=True)
            upto = int(shown.sum(1).max())
            shown = shown[:, :upto]
            tokens = tokens.gather(1, order[:, :upto, None].expand(-1, -1, tokens.shape[2]))
        n, count, _ = tokens.shape
        with torch.autocast(tokens.device.type, torch.bfloat16):
            state = self.enter(tokens)
            for _ in range(LAYERS):
                query, key, value = self.ask(state).view(n, count, 3, HEADS, -1).unbind(2)
                # Written out: the fused kernel takes twice as long for so few and so narrow tokens.
                logits = torch.einsum("nihd,njhd->nhij", query, key) * query.shape[-1] ** -0.5
                weight = logits.masked_fill(~shown[:, None, None], MASKED).softmax(-1)
                seen = torch.einsum("nhij,njhd->nihd", weight, value).flatten(2)
                state = self.norm_join(state + self.join(seen))
                state = self.norm_think(state + self.think(state))
        return state.float().masked_fill(~shown[..., None], MASKED).amax(1)


class SymbolMLP(nn.Module):
    """MLP on the symbols of a panel."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layers = _layers(ROWS * COLUMNS, size, size)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        return self.layers(symbols.flatten(1).to(torch.float32))


class SymbolTransformer(nn.Module):
    """The Transformer agent's: relations between the symbols that the panel shows, then an MLP.

    Decision: zeros are no tokens, since "only non-zero distances" are displayed (3.1). With all 11 the maximum over the
    tokens is nearly that of those that are always the same; the features hardly differ, and ReLUs die of it.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.relations = Relations(ROWS, COLUMNS, size)
        self.layers = _layers(size, size, size)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        if symbols.device.type != "cpu":  # a graphics card would have to wait for how many differ
            return self._read(symbols)
        panels, which = symbols.unique(dim=0, return_inverse=True)
        return self._read(panels)[which]

    def _read(self, symbols: torch.Tensor) -> torch.Tensor:
        shown = (symbols != 0).any(2)
        shown[:, :10] &= symbols[:, :10, ZERO] == 0
        return self.layers(self.relations(symbols.to(torch.float32), shown))


class PanelCNN(nn.Module):
    """Convolutions down to one vector, then a layer."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.convolutions = _convolutions((3, 32, 6, 4, 0), (32, 64, 6, 4, 0), (64, 128, 7, 1, 0))
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(128, size), nn.ReLU())

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.layers(_see(self.convolutions, pictures))


class PanelTransformer(nn.Module):
    """Convolutions down to 4 x 4 slots, relations between them, then an MLP."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.convolutions = _convolutions((3, 32, 4, 4, 0), (32, 64, 4, 4, 0), (64, 128, 3, 2, 1))
        self.relations = Relations(16, 128, size)
        self.layers = _layers(size, size, size)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        slots = _see(self.convolutions, pictures).flatten(2).transpose(1, 2)
        return self.layers(self.relations(slots))


class SlotTransformer(nn.Module):
    """Relations between the slots of a pretrained SPACE model, then an MLP.

    Decision: slots whose z_pres says that nothing is there are no tokens, as zeros are none of symbols.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.relations = Relations(SLOTS, SLOT_SIZE, size)
        self.layers = _layers(size, size, size)

    def forward(self, slots: torch.Tensor) -> torch.Tensor:
        presence = slots[..., -1]
        shown = presence > PRESENT
        shown |= presence == presence.amax(1, keepdim=True)  # something there must be
        return self.layers(self.relations(slots, shown))


ENCODERS: dict[str, type[nn.Module]] = {
    "mlp": SymbolMLP,
    "lstm": SymbolMLP,
    "tran": SymbolTransformer,
    "cnn+mlp": PanelCNN,
    "cnn+tran": PanelTransformer,
    "space": SlotTransformer,
}


def _layers(inputs: int, hidden: int, outputs: int, *, last: bool = True) -> nn.Sequential:
    layers = [nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs)]
    return nn.Sequential(*layers, nn.ReLU()) if last else nn.Sequential(*layers)


def _convolutions(*kernels: tuple[int, int, int, int, int]) -> nn.Sequential:
    """Each by input filters, output filters, kernel size, stride and padding, as in Table S2."""
    return nn.Sequential(*(layer for kernel in kernels for layer in (nn.Conv2d(*kernel), nn.ReLU())))


def scale_pictures(pictures: torch.Tensor) -> torch.Tensor:
    """uint8 of any shape as bfloat16 in 0..1."""
    return pictures.to(torch.bfloat16).div_(255)


def _see(convolutions: nn.Sequential, pictures: torch.Tensor) -> torch.Tensor:
    """Convolutions of (n, 128, 128, 3) uint8 or, scaled, bfloat16; products are bfloat16, as in `Relations`."""
    scaled = scale_pictures(pictures) if pictures.dtype == torch.uint8 else pictures
    with torch.autocast(pictures.device.type, torch.bfloat16):
        return convolutions(scaled.permute(0, 3, 1, 2)).float()
