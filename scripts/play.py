"""`gumption play WORLD`: a person plays a world in the terminal; by the protocol that agents are compared with where
the world has one, else step by step in whatever environment it has."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.settings import Seed
from gumption.scripts.apps import App

from .session import ask
from .worlds import world_group

MOST = 40  # candidates that are listed; where there are more, what is typed is looked up


def general(world: Any) -> typer.Typer:
    """The command for a world that offers none: one episode in one of its environments, as text."""
    app = App(add_completion=False)
    first = world.environments[0].id

    @app.command(epilog=f"Example: gumption play {world.name} --seed 1")
    def play(
        env: Annotated[str, typer.Option(help="Id of the environment.")] = first,
        seed: Annotated[Seed, typer.Option(help="Decides what is left to chance.")] = 0,
    ) -> None:
        """Play an episode step by step: a number, or the name of a candidate, at each prompt; q stops."""
        ids = {environment.id: environment for environment in world.environments}
        if env not in ids:
            raise InputError(f"--env is {env!r}; the world {world.name!r} has {', '.join(ids)}")
        play_episode(world.load(ids[env].single, "environment")(render_mode="ansi"), seed)

    return app


def play_episode(env: Any, seed: int = 0) -> float | None:
    """Play one episode of a single environment; its reward, or None where the player stops.

    :raises InputError: the input ends before the episode does, or actions that nobody can type.
    """
    env.reset(seed=seed)
    total, steps, over, info = 0.0, 0, False, {}
    while not over:
        print(env.render(), end="")
        names, mask = candidates(env), open_actions(env)
        if names is not None:
            listed = [f"{a} {name}" for a, name in enumerate(names) if mask is None or mask[a]]
            print("choose: " + (", ".join(listed) if len(listed) <= MOST else f"one of {len(listed)}, by its name"))
        try:
            action = ask(partial(parse_action, env=env, names=names, mask=mask))
        except EOFError:
            raise InputError(f"the input ended after {steps} steps, before the episode did") from None
        if action is None:
            print(f"Stopped after {steps} steps; reward {total:g}.")
            return None
        _, reward, terminated, truncated, info = env.step(action)
        steps, total, over = steps + 1, total + float(reward), bool(terminated or truncated)
        print(f"reward {float(reward):g}\n")
    print(env.render(), end="")
    won = " with success" if info.get("success") else ""
    print(f"The episode ended{won} after {steps} steps; reward {total:g}.")
    return total


def candidates(env: Any) -> list[str] | None:
    """Names of the actions, by the facts about them, else numbers; None where an action is no single number."""
    from gymnasium.spaces import Discrete

    if not isinstance(env.action_space, Discrete):
        return None
    count = int(env.action_space.n)
    facts = getattr(env, "action_facts", None)
    names = [] if facts is None else facts().candidates(env.vocabulary)
    return [name or f"action {a}" for a, name in enumerate(names if len(names) == count else [""] * count)]


def open_actions(env: Any) -> Any:
    """The mask of a Discrete action space, or None where the environment has none."""
    masks = getattr(env, "action_masks", None)
    return None if masks is None else masks()


def parse_action(typed: str, env: Any, names: list[str] | None, mask: Any) -> Any:
    """The action that was typed: a number or a name, or as many numbers as an action has.

    :raises InputError: it is no action, or one that is not open now.
    """
    import numpy as np
    from gymnasium.spaces import Box, MultiDiscrete

    if names is not None:
        if typed.isascii() and typed.isdigit() and int(typed) < len(names):
            action = int(typed)
        elif typed in names:
            action = names.index(typed)
        else:
            raise InputError(f"{typed!r} is neither a candidate nor a number from 0 to {len(names) - 1}; q stops")
        if mask is not None and not mask[action]:
            raise InputError(f"{typed!r} cannot be chosen now")
        return action
    space = env.action_space
    if not isinstance(space, MultiDiscrete | Box) or len(space.shape) != 1:
        raise InputError(f"actions are {space}: these cannot be typed")
    try:
        action = np.array([float(part) for part in typed.split()]).astype(space.dtype)
    except ValueError:
        action = np.array([])
    if action.shape != space.shape or not space.contains(action):
        raise InputError(f"{typed!r} is no action; it is {space.shape[0]} numbers with spaces between, of {space}")
    return action


app = world_group(
    "play",
    "Play a world yourself in the terminal.",
    general,
    epilog="Example: gumption play wordcraft --partition test",
)
