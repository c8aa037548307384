"""Actor and critic over options (Figs S7 and S8): both go through an option choice by choice, direction first.

An option of T primitives is T + 1 choices of four.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from .config import HALMAConfig
from .encoders import Body

CHOICES = 4


# Scores that are mixed into an actor's logits: what to add (B, 4) to those of the next choice, given the choices made
# so far, (B, t) int64.
Advice = Callable[[torch.Tensor], torch.Tensor]


class Actor(nn.Module):
    """Body, and a decoder whose hidden state starts at zero and is told each choice that was made."""

    def __init__(self, config: HALMAConfig) -> None:
        super().__init__()
        size = config.learner.hidden_size
        self.body = Body(config)
        self.enter = nn.Linear(size, size)
        self.told = nn.Parameter(torch.randn(CHOICES, size) / 2)
        self.carry = nn.Linear(size, size, bias=False)
        self.direction = nn.Linear(size, CHOICES)
        self.primitive = nn.Linear(size, CHOICES)
        self.steps = 1 + config.max_opt_len

    def decode(
        self, made: torch.Tensor, *, generator: torch.Generator | None = None, advice: Advice | None = None
    ) -> torch.Tensor:
        """Options (n, 1 + T) int64 for vectors (n, size) of the body, each choice drawn from its probabilities.

        :param generator: of the draws; None for torch's own.
        """
        given = self.enter(made)
        hidden, told = torch.zeros_like(given), torch.zeros_like(given)
        chosen = torch.empty(len(given), 0, dtype=torch.int64, device=given.device)
        for step in range(self.steps):
            hidden = torch.relu(given + told + self.carry(hidden))
            logits = self._logits(step, hidden)
            if advice is not None:
                logits = logits + advice(chosen)
            noise = torch.empty_like(logits).exponential_(generator=generator).log()
            choice = (logits - noise).argmax(1)  # the Gumbel-max trick
            told = functional.embedding(choice, self.told)
            chosen = torch.cat([chosen, choice[:, None]], 1)
        return chosen

    def distribution(self, made: torch.Tensor, advice: Advice | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """All options and their probabilities, for one vector (1, size) of the body.

        :returns: options (4^(1 + T), 1 + T) int64 and probabilities (4^(1 + T),), which sum to 1.
        """
        given = self.enter(made)
        hidden, told = torch.zeros_like(given), torch.zeros_like(given)
        chosen = torch.empty(1, 0, dtype=torch.int64, device=given.device)
        total = torch.zeros(1, device=given.device)
        each = torch.arange(CHOICES, device=given.device)
        for step in range(self.steps):
            hidden = torch.relu(given + told + self.carry(hidden))
            logits = self._logits(step, hidden)
            if advice is not None:
                logits = logits + advice(chosen)
            total = (total[:, None] + logits.log_softmax(1)).flatten()
            count = len(chosen)
            chosen = torch.cat([chosen.repeat_interleave(CHOICES, 0), each.repeat(count)[:, None]], 1)
            hidden, told = hidden.repeat_interleave(CHOICES, 0), self.told.repeat(count, 1)
        return chosen, total.exp()

    def log_likelihood(self, made: torch.Tensor, options: torch.Tensor) -> torch.Tensor:
        """log of the probability (n, C) of each of C options (n, C, 1 + T) for vectors (n, size) of the body."""
        given = self.enter(made)[:, None]
        hidden = torch.zeros_like(given).expand(-1, options.shape[1], -1)
        told = torch.zeros_like(given)
        total = torch.zeros((), device=given.device)
        for step in range(self.steps):
            hidden = torch.relu(given + told + self.carry(hidden))
            choice = options[..., step]
            total = total + self._logits(step, hidden).log_softmax(-1).gather(-1, choice[..., None]).squeeze(-1)
            told = functional.embedding(choice, self.told)
        return total

    def _logits(self, step: int, hidden: torch.Tensor) -> torch.Tensor:
        return (self.primitive if step else self.direction)(hidden)


class Critic(nn.Module):
    """Twin values of an option. They share the body, and decode with parameters of their own."""

    def __init__(self, config: HALMAConfig) -> None:
        super().__init__()
        self.body = Body(config)
        size, steps = config.learner.hidden_size, 1 + config.max_opt_len
        self.values = nn.ModuleList(ValueDecoder(size, steps) for _ in range(2))

    def forward(self, made: torch.Tensor, options: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both values (...) of options (..., 1 + T) for vectors (..., size) of the body; dimensions broadcast."""
        first, second = (value(made, options) for value in self.values)
        return first, second


class ValueDecoder(nn.Module):
    """A hidden state that starts from the body's vector, takes in one choice after the other and ends in a value.

    Each choice has weights of its own and is added, so that all of them are read at once.
    """

    def __init__(self, size: int, steps: int) -> None:
        super().__init__()
        self.enter = nn.Linear(size, size)
        self.choices = nn.Linear(CHOICES * steps, size, bias=False)
        self.layers = nn.Sequential(nn.ReLU(), nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 1))

    def forward(self, made: torch.Tensor, options: torch.Tensor) -> torch.Tensor:
        """(...) values of options (..., 1 + T)."""
        choices = functional.one_hot(options, CHOICES).flatten(-2).to(made.dtype)
        return self.layers(self.enter(made) + self.choices(choices)).squeeze(-1)
