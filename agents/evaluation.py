"""Measure any agent in every world: players x episodes -> rows.

A player is a function (env, first) -> actions. `env` is a native batch of environments in its present state, `first`
(B,) bool marks where an episode begins, and the actions are (B, ...). A trained policy is a player (`Greedy`), and so
is your own function (`GivenPlayer`). The baselines of every table are players too: random choices, knowledge alone, an
untrained network, and a trained network with its knowledge set to 0.
"""

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.data import InputError, Note
from gumption.data.modules import failure
from gumption.data.progress import Bar
from gumption.data.settings import Count, Seed, checked
from gumption.envs import worlds
from gumption.envs.native import NativeVectorEnv, as_actions

from .statistics import bootstrap_interval
from .transcript import failures, open_transcript, transcript

Player = Callable[[Any, np.ndarray], np.ndarray]
Rows = dict[str, np.ndarray]  # name of a figure -> (n,) values, a value for each episode
#: Called with the number of an episode that has ended, and its row.
Tell = Callable[[int, dict[str, Any]], None]
#: Called with a row to keep when an episode or a test ends.
Keep = Callable[[dict[str, Any]], None]
#: The most environments in a batch.
SIDE_BY_SIDE = 512
#: The most steps of an evaluation, over all environments; it then ends with unfinished episodes.
MOST_STEPS = 250_000


class Measure(Protocol):
    """A world's own figures of episodes, an episode for each environment, in addition to return, success and steps."""

    def add(self, env: Any, actions: np.ndarray, playing: np.ndarray) -> None:
        """Count a step of the environments with `playing` (B,) True, before ended episodes are replaced."""
        ...

    def rows(self) -> Rows:
        """Return the figures of the episodes, (B,) each."""
        ...


def steps(player: Player, env: Any, episodes: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Play the episode that each environment has begun, or `episodes` in all. Each environment plays an equal share, so
    that short episodes are not overrepresented.

    The next episode begins in the same step, in the next step, or never, by the environment's autoreset_mode.
    `env.results()` and the environment's infos describe the latest step.

    :returns: after each step the actions (B, ...), and (B,) bool: the step belongs to an episode that counts.
    """
    env.start()
    kept = open_transcript()
    size, mode = env.num_envs, env.autoreset_mode
    shape = (size, *(env.single_action_space.shape or ()))
    count = size if episodes is None else episodes
    left = np.full(size, count // size) + (np.arange(size) < count % size)  # episodes left for each environment
    first, resting = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
    while left.any():
        actions = as_actions(player(env, first), env.single_action_space, shape)
        playing = (left > 0) & ~resting
        if kept is not None:
            kept.choose(env, actions, first, playing)
        if mode == AutoresetMode.DISABLED:
            env.make_step(actions, ~playing)
        else:
            env.make_step(actions, resting if resting.any() else None)
        _, terminated, truncated = env.results()
        over = terminated | truncated
        if kept is not None:
            kept.end(over & playing, env.success)
        yield actions, playing
        left -= over & playing
        begin = {AutoresetMode.SAME_STEP: over, AutoresetMode.NEXT_STEP: resting}.get(mode, np.zeros_like(over))
        if begin.any():
            env.renew(np.flatnonzero(begin), env.np_random)
        first, resting = begin, over if mode == AutoresetMode.NEXT_STEP else resting


def play(
    player: Player,
    env: Any,
    episodes: int | None = None,
    *,
    measure: Measure | None = None,
    tell: Tell | None = None,
    most_steps: int | None = None,
) -> Rows:
    """Play episodes as `steps` does.

    :param measure: counts further figures; then each environment plays a single episode.
    :param tell: called when an episode ends.
    :param most_steps: of all environments together, after which play stops.
    :returns: "return", the sum of an episode's rewards; "success" bool, it reached the aim of the world; "steps";
        "ended" bool; and the rows of `measure`.
    """
    size = env.num_envs
    count = size if episodes is None else episodes
    rows = {
        "return": np.zeros(count),
        "success": np.zeros(count, dtype=bool),
        "steps": np.zeros(count, dtype=np.int64),
        "ended": np.zeros(count, dtype=bool),
    }
    number, made = np.arange(size), 0  # of the episode that each environment plays
    for actions, playing in steps(player, env, episodes):
        reward, terminated, truncated = env.results()
        at = number[playing]
        rows["return"][at] += reward[playing]
        rows["success"][at] |= env.success[playing]
        rows["steps"][at] += 1
        if measure is not None:
            measure.add(env, actions, playing)
        over = playing & (terminated | truncated)
        rows["ended"][number[over]] = True
        if tell is not None:
            for episode in number[over].tolist():
                tell(episode, {name: values[episode].item() for name, values in rows.items() if name != "ended"})
        number[over] += size
        made += size
        if most_steps is not None and made >= most_steps:
            break
    more = {} if measure is None else measure.rows()
    return rows | {name: values[:count] for name, values in more.items()}


def loaded(run: Any, load: Callable[..., Any], **places: Any) -> Any:
    """Load a run in a folder; return the result of a training unchanged.

    :param places: arguments of `load`; None leaves an argument out.
    :raises InputError: arguments for a run in memory.
    """
    if not hasattr(run, "config"):
        return load(run, **places)
    if named := [name for name, place in places.items() if place is not None]:
        raise InputError(f"{', '.join(named)} is for a run in a folder: this one is in memory")
    return run


def compared(players: Mapping[str, Any], figures: Callable[[Any], Any]) -> dict[str, Any]:
    """Return {"players": name -> figures of that player, "failures": sentences on the choices of the first player}."""
    (name, own), *others = players.items()
    with transcript() as kept:
        rows = {name: figures(own)}
    return {"players": rows | {name: figures(player) for name, player in others}, "failures": failures(kept)}


def means(rows: Rows, *names: str) -> dict[str, float]:
    return {name: float(rows[name].mean()) for name in names}


def ends(values: np.ndarray) -> tuple[float | None, float | None]:
    """Return the 95 % bootstrap interval of the mean of values (n,), or (None, None) for a single value."""
    if len(values) < 2:
        return None, None
    estimate = bootstrap_interval(values, resamples=max(100, min(5000, 20_000_000 // len(values))))
    return round(estimate.low, 5), round(estimate.high, 5)


# ---- players


class Greedy:
    """Plays the most probable choices of a policy in eval mode, and restores its mode; see `most_probable`.

    :param policy: `policy.read(env)` returns a state, `policy(state)` its Readout.
    :param without_knowledge: set every score that the policy reads to 0.
    """

    def __init__(self, policy: Any, *, without_knowledge: bool = False) -> None:
        self.policy, self.without_knowledge = policy, without_knowledge
        self._steps = np.zeros(0, dtype=np.int64)  # (B,) steps of the present episodes

    def __call__(self, env: Any, first: np.ndarray) -> np.ndarray:
        import torch

        was_training = self.policy.training
        if was_training:
            self.policy.eval()
        with torch.no_grad():
            state = self.policy.read(env, known=False) if self.without_knowledge else self.policy.read(env)
            logits = self.logits(state)
        if was_training:
            self.policy.train()
        self._steps = (
            np.where(first, 0, self._steps + 1) if len(self._steps) == len(first) else np.zeros_like(first, int)
        )
        return most_probable(logits, state.seen, self._steps)

    def logits(self, state: Any) -> Any:
        """Return a (B, A) tensor; the candidate with the highest value is chosen."""
        return self.policy(state).logits


def most_probable(logits: Any, seen: Sequence[Any], steps: np.ndarray) -> np.ndarray:
    """Return (B,) int64, the candidate with the highest logit. A hash of the network's inputs, the step and the
    candidate breaks ties, so that the choice does not depend on the size of the batch.

    :param logits: (B, A) tensor.
    :param seen: tensors (B, ...), the inputs of the network.
    :param steps: (B,) int64, steps of the episode before this one.
    """
    values = logits.cpu().numpy()
    chosen = values.argmax(1)
    best = values == values.max(1, keepdims=True)
    tied = np.flatnonzero(best.sum(1) > 1)
    if len(tied):
        key = _mixed(steps[tied].astype(np.uint64))
        for part in seen:
            row = np.ascontiguousarray(part[tied].cpu().numpy()).reshape(len(tied), -1).view(np.uint8)
            weights = _mixed(np.arange(row.shape[1], dtype=np.uint64)) | np.uint64(1)
            key = _mixed(key + (row * weights).sum(1, dtype=np.uint64))
        lots = _mixed(key[:, None] + _mixed(np.arange(values.shape[1], dtype=np.uint64))) >> np.uint64(1)
        chosen[tied] = np.where(best[tied], lots.astype(np.int64), -1).argmax(1)
    return chosen


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Hash each number (uint64) with the finaliser of splitmix64 (Steele et al., 2014)."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def random_player(env: Any, first: np.ndarray) -> np.ndarray:
    """Draw one of the open choices uniformly."""
    mask = env.info_arrays()["action_mask"].astype(bool)
    return np.where(mask, env.np_random.random(mask.shape), -1.0).argmax(1)


class GivenPlayer:
    """Your own function as a player; each of its actions is checked.

    It is called as policy(observation, info), or as policy(observation) if it takes one argument. For a batch,
    observation, each entry of info and the returned actions have a leading axis of B. A policy for a single environment
    (`single`) gets them without that axis, one episode after the other. info["first"] marks where an episode begins: a
    policy with a memory clears it there.

    :param space: of one action.
    :param name: in messages and tables.
    :param where: for messages: "RT" makes "step 3 of RT".
    """

    def __init__(
        self,
        policy: Callable[..., Any],
        space: gym.Space[Any],
        *,
        single: bool = False,
        name: str | None = None,
        where: str = "an episode",
    ) -> None:
        """:raises InputError: not a function, or a function without arguments."""
        self.name = name or name_of(policy)
        if not callable(policy):
            raise InputError(f"the policy {self.name} is no function; give one, (observation, info) -> action")
        self.policy, self.single, self.space, self.where = policy, single, space, where
        self.arguments = _arguments(policy, self.name)
        self.step = 0

    def __call__(self, env: Any, first: np.ndarray) -> np.ndarray:
        """:raises InputError: the policy fails, or returns no actions of the space."""
        # `describe` adds no batch axis, and `actions` removes a batch axis.
        told = {name: [value] for name, value in env.describe(0).items()} if self.single else env.info_arrays()
        return self.actions(env.observe(), {**told, "first": first}, env.num_envs)

    def actions(self, observation: Any, info: dict[str, Any], count: int) -> np.ndarray:
        """Return the policy's actions, (count, ...).

        :param observation, info: with a leading axis of `count`.
        :raises InputError: the policy fails, or returns no actions of the space.
        """
        self.step = 1 if info["first"].all() else self.step + 1
        where = f"step {self.step} of {self.where}"
        if self.single:
            observation, info = _first(observation), _first(info)
        try:
            given = self.policy(*(observation, info)[: self.arguments])
        except (Exception, SystemExit) as error:
            raise failure(f"the policy {self.name} failed at {where}", error) from error
        return self._checked(given, count, where)

    def _checked(self, given: Any, count: int, where: str) -> np.ndarray:
        space: Any = self.space
        box = isinstance(space, spaces.Box)
        one = tuple(space.shape or ())
        shape = one if self.single else (count, *one)
        wanted = f"it is to return {'numbers' if box else 'integers'} of the shape {shape}"
        if given is None:
            raise InputError(f"the policy {self.name} returned no action at {where}: {wanted}")
        if isinstance(given, tuple) and len(given) == 2 and given[1] is None:
            raise InputError(
                f"the policy {self.name} returned a pair at {where}, as predict of Stable-Baselines3 does: give a "
                "function that returns its first part, lambda observation: model.predict(observation)[0]"
            )
        try:
            chosen = np.asarray(given)
        except (ValueError, TypeError, RuntimeError) as error:
            raise InputError(f"the policy {self.name} returned no array at {where} ({error})") from None
        if chosen.shape != shape:
            hint = ""
            if not self.single and chosen.shape == one:
                hint = "; one that acts in a single environment is given with single=True (--single)"
            raise InputError(f"the policy {self.name} returned the shape {chosen.shape} at {where}: {wanted}{hint}")
        if chosen.dtype.kind == "f" and np.isnan(chosen).any():
            raise InputError(f"the policy {self.name} returned NaN at {where}: {wanted}")
        if chosen.dtype.kind not in ("iuf" if box else "iu"):
            raise InputError(f"the policy {self.name} returned {chosen.dtype} at {where}: {wanted}")
        rows = chosen[None] if self.single else chosen
        choices = np.asarray(space.nvec if isinstance(space, spaces.MultiDiscrete) else getattr(space, "n", 0))
        low, high = (space.low, space.high) if box else (0, choices - 1)
        outside = (rows < low) | (rows > high)
        if outside.any():
            row = rows[np.argwhere(outside)[0][0]]
            raise InputError(f"the policy {self.name} returned {row.tolist()} at {where}, which is outside {space}")
        return rows.astype(np.float64 if box else np.int64)


def name_of(policy: Any) -> str:
    return getattr(policy, "__qualname__", type(policy).__name__)


def _arguments(policy: Callable[..., Any], name: str) -> int:
    """Return how many of (observation, info) a policy takes: 1 or 2."""
    try:
        parameters = inspect.signature(policy).parameters.values()
    except (ValueError, TypeError):  # written in C, without a signature
        return 2
    if any(one.kind == one.VAR_POSITIONAL for one in parameters):
        return 2
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    required = [one for one in positional if one.default is one.empty]
    if not positional or len(required) > 2:
        raise InputError(f"the policy {name} takes {len(required)} arguments; it is to take (observation, info)")
    return 2 if len(required) == 2 or "info" in (one.name for one in positional[1:2]) else 1


def _first(values: Any) -> Any:
    """Remove the batch axis from a batch of size 1."""
    return {name: value[0] for name, value in values.items()} if isinstance(values, dict) else values[0]


# ---- Your own policy in any world


@contextmanager
def telling(episodes: int, keep: Keep | None, progress: bool) -> Iterator[Tell]:
    """Yield a function for `play` to call when episodes end: it keeps their rows, and shows their number on stderr."""
    done = 0
    with Bar(episodes, "playing", progress) as bar:

        def tell(episode: int, row: dict[str, Any]) -> None:
            nonlocal done
            done += 1
            bar.show(done)
            if keep is not None:
                keep({"episode": episode, **row})

        yield tell


@checked
def evaluate_policy(
    policy: Callable[..., Any],
    world: str,
    *,
    environment: str | None = None,
    episodes: Count = 500,
    seed: Seed = 0,
    single: bool = False,
    name: str | None = None,
    keep: Keep | None = None,
    progress: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Play held-out episodes with a policy of your own; see `GivenPlayer`.

    :param world: its name.
    :param environment: which of the world's environments, by its id; without it the first.
    :param episodes: how many are played.
    :param seed: of the episodes.
    :param keep: called with each episode as it ends.
    :param progress: tell on stderr how many have ended.
    :param settings: of the environment.
    :returns: "success", "return" and "steps", means, with the 95 % bootstrap interval of the success, "low" and "high"
        (None for one episode); and the settings.
    :raises InputError: no such world, environment or setting, or a policy that returns no actions.
    """
    entries = {one.id: one for one in worlds.find(world).environments}
    if environment is not None and environment not in entries:
        raise InputError(f"environment is {environment!r}; {world} has {', '.join(entries)}")
    entry = entries[environment or next(iter(entries))]
    size = 1 if single else min(episodes, SIDE_BY_SIDE)
    given = {**entry.held_out, **settings}
    try:
        made: Any = gym.make_vec(entry.id, num_envs=size, autoreset_mode="SameStep", **given)
    except TypeError as error:
        raise InputError(f"{entry.id} cannot be made with {', '.join(given)}: {error}") from None
    env = made.unwrapped
    env.reset(seed=seed)
    player = GivenPlayer(policy, env.single_action_space, single=single, name=name)
    with telling(episodes, keep, progress) as tell, transcript() as kept:
        rows = play(player, env, episodes, tell=tell)
    low, high = ends(rows["success"].astype(float))
    figures = means(rows, "success", "return", "steps") | {"low": low, "high": high}
    told = ", ".join(f"{name}={value}" for name, value in given.items())
    return {
        "policy": player.name,
        "environment": entry.id,
        **figures,
        "episodes": episodes,
        "seed": seed,
        "settings": given,
        "players": {player.name: figures},
        "failures": failures(kept),
        "about": f"{episodes:,} episodes of {entry.id}" + (f", {told}" if told else ""),
    }


@checked
def success_rate(player: Player, env: NativeVectorEnv, episodes: Count, seed: Seed = 0) -> float:
    """Return the share of episodes that reach the aim of the world; see `play`.

    After `MOST_STEPS` steps, unfinished episodes count with their present success, and a note reports their number.
    """
    env.reset(seed=seed)
    rows = play(player, env, episodes, most_steps=MOST_STEPS)
    if unfinished := int((~rows["ended"]).sum()):
        warnings.warn(
            f"an evaluation ends after {MOST_STEPS:,} steps: {unfinished} of {episodes} episodes had not ended, and "
            "count as they stood",
            Note,
            stacklevel=3,
        )
    return int(rows["success"].sum()) / episodes
