"""The agent of a run in one maze, for `gumption watch`: its options, their probabilities, and the supporting facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gumption.agents.advice import PLAN
from gumption.agents.watch import SHOWN, Candidate, Choice, Player, Score, in_words
from gumption.data import InputError
from gumption.data.settings import Count, Whole
from gumption.envs.halma import HALMAVectorEnv
from gumption.envs.halma.diagnostics import TRAINING
from gumption.envs.halma.maze import DIRECTIONS
from gumption.envs.halma.splits import load_splits

from .acting import Percept, first_percept
from .config import learned_by
from .evaluation import images
from .lived import GraphPlayer, walk
from .networks import NetworkActor
from .runs import LivedRun, load_run

FARTHEST = 9  # cells: a longer option leads out of every maze
CARRIED_OUT = "carried out"
SLOTS = (
    *(f"{kind} {direction}" for kind in ("crossing", "wall") for direction in DIRECTIONS), "goal across", "goal up",
    "hint",
)  # fmt: skip


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
    kind = LivedPlayer if isinstance(loaded, LivedRun) else HALMAPlayer
    return kind(loaded.actor(), env, maze, learned_by(config.to_json()))


class HALMAPlayer(Player):
    """Play one maze by an actor's own options, without exploration.

    An option is shown as its direction and its length, each with the summed probability of all such options.
    """

    actor: Any

    def __init__(self, actor: NetworkActor | GraphPlayer, env: HALMAVectorEnv, maze: int, learner: str = "MPO") -> None:
        """
        :param learner: the name of the learner that trained the network.
        :raises InputError: no such maze.
        """
        if not 0 <= maze < len(env.mazes):
            raise InputError(f"maze is {maze}; these are {len(env.mazes)}, from 0 to {len(env.mazes) - 1}")
        super().__init__(env, options={"maze": maze})
        self.actor, self.own = actor, f"network alone, {learner}"
        if isinstance(actor, NetworkActor):
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
        """Return the choices of a direction and of a length, for a vector (1, size) of the body."""
        network, guide = self.actor.network, self.actor.guide
        options, alone = (part.cpu().numpy() for part in network.distribution(made))
        mixed = alone if guide is None else network.distribution(made, self.actor.bias)[1].cpu().numpy()
        if self.actor.deterministic:
            mixed = (options == self._options).all(1).astype(float)
        direction, length = int(self._options[0, 0]), int(self._options[0, 1:].sum())

        def candidate(label: str, within: np.ndarray, which: np.ndarray, scores: tuple[Score, ...]) -> Candidate:
            """Return the candidate that stands for a subset of the options."""
            likely, own = (float(p[within & which].sum() / max(p[within].sum(), 1e-30)) for p in (mixed, alone))
            return Candidate(label, likely, own, scores)

        every, there, lengths = np.ones(len(options), dtype=bool), options[:, 0] == direction, options[:, 1:].sum(1)
        ways = [
            candidate(name, every, options[:, 0] == way, self._about_direction(way))
            for way, name in enumerate(DIRECTIONS)
        ]
        reachable = sorted({length, *range(1, min(FARTHEST, int(lengths[there].max())) + 1)})
        parts = [candidate(f"{n} cell{'s' * (n != 1)}", there, lengths == n, ()) for n in reachable]
        return (
            Choice("direction", tuple(ways), direction, self.own),
            Choice(f"how far {DIRECTIONS[direction]}", tuple(parts), reachable.index(length), self.own),
        )

    def _about_direction(self, way: int) -> tuple[Score, ...]:
        guide = self.actor.guide
        if guide is None:
            return ()
        guide.bias(np.zeros((1, 0), dtype=np.int64))  # `why` returns the facts of the latest query
        return tuple(Score(fact[1], score, (in_words(fact),)) for fact, score in guide.knowledge.why(0, way))


class LivedPlayer(HALMAPlayer):
    """Play one maze by the plan of an agent without a network. Candidates are in the order of the plan."""

    actor: GraphPlayer

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        player, options = self.actor, self.actor.outlook.options
        self._options = player.act(self._percept, self._rng)
        here, chosen = player.here[0], player.chosen[0] - 1
        order = np.lexsort((-player.p[0, here], -player.values[0, here]))
        best = [next(int(o) for o in order if options[o, 0] == way) for way in range(len(DIRECTIONS))]
        best[options[chosen, 0]] = chosen
        far = [int(o) for o in order if options[o, 0] == options[chosen, 0]]
        names = player.rules.primitive_names
        lengths = ["+".join(names[part] for part in options[o, 1:] if part) for o in far]
        return self._options, (
            self._choice("direction", best, chosen, list(DIRECTIONS), 1),
            self._choice(f"how far {DIRECTIONS[options[chosen, 0]]}", far, chosen, lengths, None),
        )

    def _choice(self, question: str, options: list[int], chosen: int, labels: list[str], facts: int | None) -> Choice:
        """:param facts: number of facts of each candidate; None for all."""
        player, here = self.actor, self.actor.here[0]
        values, carried = player.values[0, here], player.p[0, here]
        candidates = []
        for o, label in zip(options, labels, strict=True):
            plan = Score(PLAN, float(values[o]), tuple(facts_of(player, o))[:facts])
            candidates.append(
                Candidate(label, float(o == chosen), scores=(plan, Score(CARRIED_OUT, float(carried[o]))))
            )
        lost = "" if values.max() > 0 else "no way to the goal is known: a likely move is drawn"
        return Choice(question, tuple(candidates), options.index(chosen), note=lost)


def facts_of(player: GraphPlayer, option: int) -> Iterator[str]:
    """Describe an option at the agent's place in words: where it leads, and, for each primitive in turn, whether
    it is carried out and how it changes the slots that identify the place."""
    look, side, to = player.outlook, player.rules.side, int(player.leads[0, player.here[0], option])
    kind = "that was seen" if player.seen[0, to] else "that was not seen"
    yield f"leads to {'an unknown place' if to == 0 else 'the goal' if to == player.goal[0] else f'a place {kind}'}"
    direction, state = int(look.options[option, 0]), player.panels[:1]
    for part in look.options[option, 1:]:
        if not part:
            return
        step, name = np.array([[direction, part]]), f"{DIRECTIONS[direction]} {player.rules.primitive_names[part]}"
        for effect, condition, value, count, confidence in look.effects.why(state[0], step[0]):
            if effect not in (*look.slots, look.effects.slots) or condition.get(effect) == value:
                continue
            where = " and ".join(f"{SLOTS[slot]} is {seen - side}" for slot, seen in condition.items())
            became = f"{SLOTS[effect]} becomes {value - side}" if effect < len(SLOTS) else CARRIED_OUT
            became = f"not {became}" if effect == look.effects.slots and value == 1 else became
            lived = f"lived {count:,} times" if count else f"inferred, {confidence:.2f}"
            yield f"{name}{f' where {where}' if where else ''}: {became} ({lived})"
        state = walk(look.effects, state, step)[1]
