"""`gumption play WORLD`: a person plays a world in the terminal; by the protocol that agents are compared with where
the world has one, else step by step in whatever environment it has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import typer

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import Seed

from .apps import App
from .worlds import world_group

MOST = 40  # candidates that are listed; where there are more, what is typed is looked up
Record = dict[str, Any]
Choice = TypeVar("Choice")


def general(world: Any) -> typer.Typer:
    """The command for a world that offers none: one episode, in words.

    Its options are the parameters of the world's `begin`, or the environment and the seed; and a file for the episode
    where the world can play episodes again.
    """
    begin, first = begin_of(world), world.environments[0]

    def play(*, record: Path | None = None, **given: Any) -> None:
        from gumption.data.writing import check_writable
        from gumption.envs.records import EpisodeFile

        if record is not None:
            check_writable(record, new_folder=False)
        file = None if record is None else EpisodeFile(record)
        env, face = begin(**given)
        try:
            play_episode(env, face)
        finally:
            if file is not None:
                file.append(env.batch.episodes or [env.batch.record()])
                print(f"recorded: {record}")

    options = list(inspect.signature(begin, eval_str=True).parameters.values())
    play.__doc__ = inspect.getdoc(begin)
    if hasattr(world.load(first.vector, "environment"), "record"):
        options.append(inspect.signature(play, eval_str=True).parameters["record"])
        play.__doc__ += f"\n:param record: Append the episode to a file, for `gumption {world.name} replay`."  # pyright: ignore[reportOperatorIssue]
    play.__signature__ = inspect.Signature(options)  # pyright: ignore[reportFunctionMemberAccess]
    app = App(add_completion=False)
    app.command(epilog=f"Example: gumption play {world.name} --seed 1")(play)
    return app


def begin_of(world: Any) -> Callable[..., tuple[Any, Any]]:
    """The world's own `begin`, or a general one: keyword arguments -> (environment, text face) of a new episode."""
    if (own := world.get("begin")) is not None:
        return own
    first = world.environments[0]

    def begin(*, env: str = first.id, seed: Seed = 0) -> tuple[Any, Any]:
        """Play an episode step by step: a number, or the name of a candidate, at each prompt; q stops.

        :param env: Id of the environment.
        :param seed: Decides what is left to chance.
        """
        return begin_episode(world, env, seed)

    return begin


def begin_episode(world: Any, env: str, seed: int, **settings: Any) -> tuple[Any, Any]:
    """An episode of one of the world's environments, and its text face.

    :param env: its id.
    :param settings: of the environment.
    :raises InputError: the world has no such environment, or bad settings.
    """
    ids = {environment.id: environment for environment in world.environments}
    if env not in ids:
        raise InputError(f"--env is {env!r}; the world {world.name!r} has {', '.join(ids)}")
    made = world.load(ids[env].single, "environment")(render_mode="ansi", **settings)
    made.reset(seed=seed)
    return made, world.get("text") or Numbers()


def play_episode(env: Any, face: Any = None) -> float | None:
    """Play the episode that was begun in a single environment; its reward, or None where the player stops.

    :param face: rules, observations and actions in words (`text` of a world's entry); by default actions are
        numbers and names.
    :raises InputError: the input ends before the episode does, or actions that nobody can type.
    """
    face = face or Numbers()
    print(f"{face.rules(env)}\nq stops.\n".lstrip())
    total, steps, over, info = 0.0, 0, False, {}

    def act(typed: str) -> Any:
        chosen = face.parse(typed, env)
        return env.answer(chosen) if isinstance(chosen, list) else env.step(chosen)

    while not over:
        print(face.observe(env), end="")
        try:
            step = ask(act)
        except EOFError:
            raise InputError(f"the input ended after {steps} steps, before the episode did") from None
        if step is None:
            print(f"Stopped after {steps} steps; reward {total:.3g}.")
            return None
        _, reward, terminated, truncated, info = step
        steps, total, over = steps + 1, total + float(reward), bool(terminated or truncated)
        told = face.told(info, bool(terminated))
        print(f"reward {float(reward):.3g}, so far {total:.3g}{told and '; '}{told}\n")
    print(env.render(), end="")
    won = " with success" if info.get("success") else ""
    print(f"The episode ended{won} after {steps} steps; reward {total:.3g}.")
    return total


class Numbers:
    """Any environment in words: an action is a number, or the name of its candidate in `action_facts`."""

    def rules(self, env: Any) -> str:
        return ""

    def observe(self, env: Any) -> str:
        names, mask = candidates(env), open_actions(env)
        if names is None:
            return env.render()
        listed = [f"{a} {name}" for a, name in enumerate(names) if mask is None or mask[a]]
        told = ", ".join(listed) if len(listed) <= MOST else f"one of {len(listed)}, by its name"
        return f"{env.render()}choose: {told}\n"

    def parse(self, typed: str, env: Any) -> Any:
        return parse_action(typed, env, candidates(env), open_actions(env))

    def told(self, info: Any, over: bool) -> str:
        return ""


def candidates(env: Any) -> list[str] | None:
    """Names of the actions: their candidates in `action_facts`, else numbers; None for other spaces than Discrete."""
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
    """The typed action: a number or a name, or the numbers of a vector.

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


# ---- Games of several episodes, which a file keeps.


class Session:
    """Plays a game record by record and writes each to the file, so that an interrupted game goes on later.

    :ivar records: those played so far.
    """

    def __init__(
        self,
        out: Path,
        game: dict[str, Any],
        total: int,
        unit: str,
        summary: Callable[[list[Record]], dict[str, float | None]],
    ) -> None:
        """:param game: schema, world, settings and seed, which identify the game in its file.
        :param total: records of a finished game; `unit` is the word for one of them.
        :param summary: results by name, of the records so far; the first is the one that counts.
        :raises InputError: the file holds another game, or a finished one.
        """
        self.out, self.total, self.unit, self._summary = out, total, unit, summary
        self.result: dict[str, Any] = {**game, "player": "person", "records": []}
        if out.exists():
            self._continue()

    @property
    def records(self) -> list[Record]:
        return self.result["records"]

    def play(self, introduction: str, play_one: Callable[[int], Record | None]) -> bool:
        """Play the remaining records; returns whether the game is finished.

        :param play_one: given the number of a record, plays it; None where the player stops.
        :raises InputError: the input ended before the game did.
        """
        if self.records:
            print(f"Going on with {self.unit} {len(self.records) + 1} of {self.total}.\n")
        else:
            print(f"{introduction}\n")
        while (done := len(self.records)) < self.total:
            so_far = f"after {done} of {self.total} {self.unit}s"
            try:
                record = play_one(done)
            except EOFError:
                self.save()
                raise InputError(f"the input ended {so_far}; {self.out} keeps them, the same command goes on") from None
            if record is None:
                self.save()
                print(f"Stopped {so_far}; {self.out} keeps them, the same command goes on.")
                return False
            self.records.append(record)
            self.save()
        return True

    def save(self) -> None:
        from gumption.data.writing import write_json

        self.result |= self._summary(self.records)
        self.result["complete"] = len(self.records) == self.total
        write_json(self.out, self.result)

    def _continue(self) -> None:
        try:
            found = parse_json(self.out.read_text(encoding="utf-8"))
            records, complete = found["records"], found["complete"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.out}: not a result of gumption play ({error}); give another --out") from None
        different = [name for name in self.result if name != "records" and found.get(name) != self.result[name]]
        if different:
            raise InputError(
                f"{self.out}: holds another game ({', '.join(different)} not the same); give another --out"
            )
        if complete:
            name = next(iter(self._summary([])))
            raise InputError(f"{self.out}: this game is finished ({name} {found[name]:.0%}); give another --out")
        self.result["records"] = records


# ---- The prompt.


def ask(parse: Callable[[str], Choice]) -> Choice | None:
    """The answer of the player at a prompt, which is repeated after an error; None to stop.

    :param parse: reads what was typed; InputError says why it cannot.
    :raises EOFError: the input has ended.
    """
    while (typed := read_line("> ").strip()).lower() not in ("q", "quit"):
        try:
            return parse(typed)
        except InputError as error:
            print(error)
    return None


def read_line(prompt: str) -> str:
    """A line of the input.

    :raises EOFError: it has ended, or is closed.
    """
    try:
        return input(prompt)
    except RuntimeError:  # what Python raises where there is no standard input
        raise EOFError from None


app = world_group(
    "play",
    "Play a world yourself in the terminal.",
    general,
    epilog="Example: gumption play wordcraft --partition test",
)
