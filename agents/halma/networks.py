"""Networks of HALMA's agents: the encoders of Table S2, actor and critic over options, and a network as an actor.

Features are the content of the replay buffer: (..., 11, 19) uint8 symbols, (..., 128, 128, 3) uint8 pictures, or
(..., 64, 33) float32 slots of SPACE. All layers have ReLU and `size` units unless stated otherwise. Actor and critic
(Figs S7 and S8) process an option of T primitives as T + 1 choices of four, direction first. In a world of other rules,
the number of symbol columns and of primitives follows the rules.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gumption.agents.advice import Advice
from gumption.agents.learners.replay import Memo

from .acting import Explore, GraphGuide, Percept, any_options, explored, other_options
from .config import HALMAConfig
from .space import PRESENT, SpaceEncoder

ROWS = 11
SLOTS, SLOT_SIZE = 64, 33
HEADS, LAYERS = 4, 4
MASKED = -1e9
CHOICES = 4  # of a direction

# Maps the choices made so far, (B, t) int64, to an addend (B, 4) for the logits of the next choice.
Bias = Callable[[torch.Tensor], torch.Tensor]


class Body(nn.Module):
    """An agent's encoder, with its LSTM if it has one: from n sequences of K observations to (n, K, size)."""

    def __init__(self, config: HALMAConfig) -> None:
        super().__init__()
        size = config.parameters.hidden_size
        self.size = size
        name = config.agent.removesuffix("+lstm")
        self.encoder = SYMBOLS[name](size, config.rules.columns) if name in SYMBOLS else PANELS[name](size)
        choices = max(CHOICES, config.rules.count)
        self.memory = LSTM(size, 1 + config.max_opt_len, choices) if config.recurrent else None

    def start(self, n: int) -> Memo:
        """Return the memo of n agents at the start of an episode."""
        zeros = next(self.parameters()).new_zeros(n, self.size if self.memory is not None else 0)
        return Memo(zeros, zeros.clone())

    def forward(
        self, features: torch.Tensor, action: torch.Tensor, reward: torch.Tensor, first: torch.Tensor, memo: Memo
    ) -> tuple[torch.Tensor, Memo]:
        """
        :param features: (n, K, ...).
        :param action: (n, K, 1 + T) int64, the option before each observation; `reward` (n, K) is its reward.
        :param first: (n, K) bool: an episode begins.
        :param memo: memo before the first observation.
        :returns: (n, K, size), and the memo after the last observation.
        """
        n, moves = first.shape
        made = self.encoder(features.flatten(0, 1)).view(n, moves, -1)
        return (made, memo) if self.memory is None else self.memory(made, action, reward, first, memo)


class LSTM(nn.Module):
    """An LSTM with layer normalisation (Ba et al., 2016) that also reads the previous option and reward, as in Wang et
    al. (2016), and whose state is reset where an episode begins.

    Decision: the panel's features are normalised, and the output is added to them. In the features of an untrained
    encoder, panels differ less than options do. Without both measures an agent learns from its own options before it
    learns from panels: after 260 episodes TRAN+LSTM finished 0.35 of 10 trials, with both 5.
    """

    REWARD_SCALE = 0.01  # the goal's reward becomes 1

    def __init__(self, size: int, tokens: int, choices: int) -> None:
        super().__init__()
        self.choices = choices
        self.given = nn.Linear(size + choices * tokens + 1, 4 * size)
        self.kept = nn.Linear(size, 4 * size, bias=False)
        self.norm_seen = nn.LayerNorm(size)
        self.norm_given, self.norm_kept = nn.LayerNorm(4 * size), nn.LayerNorm(4 * size)
        self.norm_cell = nn.LayerNorm(size)

    def forward(
        self, made: torch.Tensor, action: torch.Tensor, reward: torch.Tensor, first: torch.Tensor, memo: Memo
    ) -> tuple[torch.Tensor, Memo]:
        options = functional.one_hot(action, self.choices).flatten(2).to(made.dtype)
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
    """Four self-attention layers with shared parameters, four heads and layer normalisation, then the maximum over the
    tokens (Zambaldi et al., 2019). Each token carries a one-hot index (F.1)."""

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

        :param shown: (n, tokens) bool, the tokens that exist, at least one in each n; None for all.
        """
        tokens = torch.cat([tokens, self.index.to(tokens.dtype).expand(len(tokens), -1, -1)], 2)
        if shown is None:
            shown = torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
        elif tokens.device.type == "cpu":  # a GPU computes all tokens faster than it reports their number
            shown, order = shown.sort(dim=1, descending=True, stable=True)
            upto = int(shown.sum(1).max())
            shown = shown[:, :upto]
            tokens = tokens.gather(1, order[:, :upto, None].expand(-1, -1, tokens.shape[2]))
        n, count, _ = tokens.shape
        with torch.autocast(tokens.device.type, torch.bfloat16):
            state = self.enter(tokens)
            for _ in range(LAYERS):
                query, key, value = self.ask(state).view(n, count, 3, HEADS, -1).unbind(2)
                # Explicit products: the fused kernel takes twice as long for so few and so narrow tokens.
                logits = torch.einsum("nihd,njhd->nhij", query, key) * query.shape[-1] ** -0.5
                weight = logits.masked_fill(~shown[:, None, None], MASKED).softmax(-1)
                seen = torch.einsum("nhij,njhd->nihd", weight, value).flatten(2)
                state = self.norm_join(state + self.join(seen))
                state = self.norm_think(state + self.think(state))
        return state.float().masked_fill(~shown[..., None], MASKED).amax(1)


class SymbolMLP(nn.Module):
    def __init__(self, size: int, columns: int) -> None:
        super().__init__()
        self.layers = _layers(ROWS * columns, size, size)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        return self.layers(symbols.flatten(1).to(torch.float32))


class SymbolTransformer(nn.Module):
    """Relations between the symbols that the panel shows, then an MLP.

    Decision: zeros are no tokens, since "only non-zero distances" are displayed (3.1). With all 11 tokens, the tokens
    common to all panels would make up nearly the whole maximum: features hardly differ, and ReLUs die.
    """

    def __init__(self, size: int, columns: int) -> None:
        super().__init__()
        self.zero = columns // 2  # the column of a value that is not shown
        self.relations = Relations(ROWS, columns, size)
        self.layers = _layers(size, size, size)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        if symbols.device.type != "cpu":  # a GPU would have to wait for the number of distinct panels
            return self._read(symbols)
        panels, which = symbols.unique(dim=0, return_inverse=True)
        return self._read(panels)[which]

    def _read(self, symbols: torch.Tensor) -> torch.Tensor:
        shown = (symbols != 0).any(2)
        shown[:, :10] &= symbols[:, :10, self.zero] == 0
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

    Decision: slots without an object, by their z_pres, are no tokens.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.relations = Relations(SLOTS, SLOT_SIZE, size)
        self.layers = _layers(size, size, size)

    def forward(self, slots: torch.Tensor) -> torch.Tensor:
        presence = slots[..., -1]
        shown = presence > PRESENT
        shown |= presence == presence.amax(1, keepdim=True)  # at least one token
        return self.layers(self.relations(slots, shown))


SYMBOLS: dict[str, Callable[[int, int], nn.Module]] = {"mlp": SymbolMLP, "lstm": SymbolMLP, "tran": SymbolTransformer}
PANELS: dict[str, Callable[[int], nn.Module]] = {
    "cnn+mlp": PanelCNN,
    "cnn+tran": PanelTransformer,
    "space": SlotTransformer,
}


def _layers(inputs: int, hidden: int, outputs: int, *, last: bool = True) -> nn.Sequential:
    layers = [nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs)]
    return nn.Sequential(*layers, nn.ReLU()) if last else nn.Sequential(*layers)


def _convolutions(*kernels: tuple[int, int, int, int, int]) -> nn.Sequential:
    """:param kernels: input filters, output filters, kernel size, stride and padding, as in Table S2."""
    return nn.Sequential(*(layer for kernel in kernels for layer in (nn.Conv2d(*kernel), nn.ReLU())))


def scale_pictures(pictures: torch.Tensor) -> torch.Tensor:
    """Scale uint8 pictures of any shape to bfloat16 in 0..1."""
    return pictures.to(torch.bfloat16).div_(255)


def _see(convolutions: nn.Sequential, pictures: torch.Tensor) -> torch.Tensor:
    """Apply convolutions to (n, 128, 128, 3) uint8 or scaled bfloat16; products are bfloat16, as in `Relations`."""
    scaled = scale_pictures(pictures) if pictures.dtype == torch.uint8 else pictures
    with torch.autocast(pictures.device.type, torch.bfloat16):
        return convolutions(scaled.permute(0, 3, 1, 2)).float()


# ---- Actor and critic


class ActorNetwork(nn.Module):
    """A body, and a decoder whose hidden state starts at zero and reads each choice as it is made (Fig. S7)."""

    def __init__(self, config: HALMAConfig) -> None:
        super().__init__()
        size = config.parameters.hidden_size
        self.body = Body(config)
        self.enter = nn.Linear(size, size)
        self.told = nn.Parameter(torch.randn(max(CHOICES, config.rules.count), size) / 2)
        self.carry = nn.Linear(size, size, bias=False)
        self.direction = nn.Linear(size, CHOICES)
        self.primitive = nn.Linear(size, config.rules.count)
        self.steps, self.rules = 1 + config.max_opt_len, config.rules

    def decode(
        self,
        made: torch.Tensor,
        *,
        generator: torch.Generator | None = None,
        bias: Bias | None = None,
        drawn: bool = True,
    ) -> torch.Tensor:
        """Return options (n, 1 + T) int64 for vectors (n, size) of the body: drawn with `generator` or torch's own, or,
        choice by choice, the likeliest."""
        given = self.enter(made)
        hidden, previous = torch.zeros_like(given), torch.zeros_like(given)
        chosen = torch.empty(len(given), 0, dtype=torch.int64, device=given.device)
        for step in range(self.steps):
            hidden = torch.relu(given + previous + self.carry(hidden))
            logits = self._logits(step, hidden)
            if bias is not None:
                logits = logits + bias(chosen)
            if drawn:  # the Gumbel-max trick
                logits = logits - torch.empty_like(logits).exponential_(generator=generator).log()
            choice = logits.argmax(1)
            previous = functional.embedding(choice, self.told)
            chosen = torch.cat([chosen, choice[:, None]], 1)
        return chosen

    def relaxed(self, made: torch.Tensor, temperature: float) -> torch.Tensor:
        """Draw options as one-hot choices (n, 1 + T, C) float32 with the gradient of a softmax at a temperature
        (straight-through Gumbel-softmax). C is the largest number of choices in a step; others are padded with 0."""
        given = self.enter(made)
        hidden, previous = torch.zeros_like(given), torch.zeros_like(given)
        choices = []
        for step in range(self.steps):
            hidden = torch.relu(given + previous + self.carry(hidden))
            choice = functional.gumbel_softmax(self._logits(step, hidden), temperature, hard=True)
            choices.append(functional.pad(choice, (0, len(self.told) - choice.shape[1])))
            previous = choices[-1] @ self.told
        return torch.stack(choices, 1)

    def distribution(self, made: torch.Tensor, bias: Bias | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return all options (4 P^T, 1 + T) int64 and their probabilities (4 P^T,) for one vector (1, size)."""
        given = self.enter(made)
        hidden, previous = torch.zeros_like(given), torch.zeros_like(given)
        chosen = torch.empty(1, 0, dtype=torch.int64, device=given.device)
        total = torch.zeros(1, device=given.device)
        for step in range(self.steps):
            hidden = torch.relu(given + previous + self.carry(hidden))
            logits = self._logits(step, hidden)
            if bias is not None:
                logits = logits + bias(chosen)
            total = (total[:, None] + logits.log_softmax(1)).flatten()
            count, choices = len(chosen), logits.shape[1]
            each = torch.arange(choices, device=given.device)
            chosen = torch.cat([chosen.repeat_interleave(choices, 0), each.repeat(count)[:, None]], 1)
            hidden, previous = hidden.repeat_interleave(choices, 0), self.told[:choices].repeat(count, 1)
        return chosen, total.exp()

    def log_likelihood(self, made: torch.Tensor, options: torch.Tensor) -> torch.Tensor:
        """Return (n, C) float32: for each of C options (n, C, 1 + T), its log-likelihood given vectors (n, size)."""
        given = self.enter(made)[:, None]
        hidden = torch.zeros_like(given).expand(-1, options.shape[1], -1)
        previous = torch.zeros_like(given)
        total = torch.zeros((), device=given.device)
        for step in range(self.steps):
            hidden = torch.relu(given + previous + self.carry(hidden))
            choice = options[..., step]
            total = total + self._logits(step, hidden).log_softmax(-1).gather(-1, choice[..., None]).squeeze(-1)
            previous = functional.embedding(choice, self.told)
        return total

    def _logits(self, step: int, hidden: torch.Tensor) -> torch.Tensor:
        return (self.primitive if step else self.direction)(hidden)


class CriticNetwork(nn.Module):
    """Twin values of an option (Fig. S8): one body, two decoders."""

    def __init__(self, config: HALMAConfig) -> None:
        super().__init__()
        self.body = Body(config)
        size, steps = config.parameters.hidden_size, 1 + config.max_opt_len
        choices = max(CHOICES, config.rules.count)
        self.values = nn.ModuleList(ValueDecoder(size, steps, choices) for _ in range(2))

    def forward(self, made: torch.Tensor, options: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return both values (...) of options for vectors (..., size) of the body; dimensions broadcast.

        :param options: (..., 1 + T) int64, or one-hot choices (..., 1 + T, C) float32.
        """
        first, second = (value(made, options) for value in self.values)
        return first, second


class ValueDecoder(nn.Module):
    """The value of an option. Each choice has its own weights, which are added to the body's vector."""

    def __init__(self, size: int, steps: int, count: int) -> None:
        super().__init__()
        self.count = count  # number of alternatives of a choice
        self.enter = nn.Linear(size, size)
        self.choices = nn.Linear(count * steps, size, bias=False)
        self.layers = nn.Sequential(nn.ReLU(), nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 1))

    def forward(self, made: torch.Tensor, options: torch.Tensor) -> torch.Tensor:
        choices = options if options.is_floating_point() else functional.one_hot(options, self.count).to(made.dtype)
        return self.layers(self.enter(made) + self.choices(choices.flatten(-2))).squeeze(-1)


# ---- A network as an actor


class Perception(NamedTuple):
    """:ivar shape, dtype: shape and dtype of the features of one observation.
    :ivar read: (B, ...) uint8 observations -> (B, *shape) features on the device.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    read: Callable[[np.ndarray], torch.Tensor]


def make_perception(config: HALMAConfig, device: torch.device) -> Perception:
    """Return the features of a config: symbols or pictures themselves, or slots of the SPACE agent's pretrained model.

    :raises InputError: `space_model` names no model.
    """
    if config.space_model is not None:
        eyes = SpaceEncoder.load(config.space_model, str(device))
        return Perception(eyes.slots, torch.float32, eyes.encode)
    shape = (ROWS, config.rules.columns) if config.observation == "symbolic" else (128, 128, 3)
    return Perception(shape, torch.uint8, lambda observation: torch.from_numpy(observation).to(device))


class NetworkActor:
    """Play an option of a network with probability `greedy`, else an exploratory option.

    :ivar deterministic: take the network's likeliest option; else draw.
    :ivar explore: returns the exploratory options.
    :ivar generator: generator of the network's options, reseeded when all episodes begin; None for torch's own, as in
        training.
    :ivar features: features of the latest percept.
    """

    def __init__(
        self,
        network: ActorNetwork,
        perception: Perception,
        greedy: float,
        generator: torch.Generator | None = None,
        *,
        deterministic: bool = False,
        explore: Explore = other_options,
    ) -> None:
        self.network, self.perception, self.greedy, self.generator = network, perception, greedy, generator
        self.deterministic, self.explore = deterministic, explore
        self.features = torch.empty(0)
        self.memo: Memo | None = None
        self.guide: GraphGuide | None = None
        self.guide_weight = 0.0

    def memo_of(self, percept: Percept) -> Memo:
        """Return the network's memo before it reads a percept."""
        if self.memo is None or len(self.memo.hidden) != len(percept.first):
            self.memo = self.network.body.start(len(percept.first))
        return self.memo

    @torch.no_grad()
    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        if self.generator is not None and percept.first.all():
            self.generator.manual_seed(int(rng.integers(2**63)))
        self.features = self.perception.read(percept.observation)
        where = self.features.device
        action, reward, first = (
            torch.from_numpy(part).to(where)[:, None] for part in (percept.action, percept.reward, percept.first)
        )
        made, self.memo = self.network.body(self.features[:, None], action, reward, first, self.memo_of(percept))
        bias = None
        if self.guide is not None:
            self.guide.observe(percept)
            bias = self.bias
        drawn, rules = not self.deterministic, self.network.rules
        options = self.network.decode(made[:, 0], generator=self.generator, bias=bias, drawn=drawn).cpu().numpy()
        return explored(rng, options, self.greedy, rules, self.explore)

    def bias(self, chosen: torch.Tensor) -> torch.Tensor:
        """Return (B, 4), the guide's addend to the logits of the next choice after the choices made so far (B, t)."""
        assert self.guide is not None
        return self.guide_weight * torch.from_numpy(self.guide.bias(chosen.cpu().numpy())).to(chosen.device)

    def consult(self, knowledge: Advice, weight: float) -> None:
        """Add the scores of a graph's facts to the logits from now on."""
        self.guide = GraphGuide(knowledge, self.network.steps - 1, self.network.rules)
        self.guide_weight = weight


def make_player(
    config: HALMAConfig,
    network: ActorNetwork,
    perception: Perception,
    generator: torch.Generator | None = None,
    *,
    drawn: bool = False,
) -> NetworkActor:
    """Return an actor as it plays at the end of its training. TD3's takes the likeliest option and explores any.

    :param drawn: draw TD3's options too, as the target of its critic does.
    """
    td3 = config.learner == "td3"
    return NetworkActor(
        network,
        perception,
        config.parameters.greedy_last,
        generator,
        deterministic=td3 and not drawn,
        explore=any_options if td3 else other_options,
    )
