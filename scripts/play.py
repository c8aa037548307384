"""`gumption play WORLD`: play any world in the terminal: an episode in words, or a game of several episodes, stored in
a file, by the protocol that agents are compared with."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any, TypeVar

import typer

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import Seed

from .apps import App
from .worlds import world_group

MOST = 40  # candidates in a list; of more, the player types the name
WIDTH = 120  # longer lines of rules are wrapped
Record = dict[str, Any]
Choice = TypeVar("Choice")


def general(world: Any) -> typer.Typer:
    """Return the command of a world: its game (`play`), or an episode (`begin`), with their parameters as options."""
    game, first = world.get("play"), world.environments[0]
    begin = begin_of(world) if game is None else game

    def play(*, record: Path | None = None, out: Path = Path("play.json"), **settings: Any) -> None:
        from gumption.data.writing import check_writable
        from gumption.envs.records import EpisodeFile

        if game is not None:
            play_game(game(**settings), out)
            return
        if record is not None:
            check_writable(record, new_folder=False)
        file = None if record is None else EpisodeFile(record)
        env, face = begin(**settings)
        try:
            play_episode(env, face)
        finally:
            if file is not None:
                file.append(env.batch.episodes or [env.batch.record()])
                print(f"recorded: {record}")

    options = [
        one.replace(kind=one.KEYWORD_ONLY) for one in inspect.signature(begin, eval_str=True).parameters.values()
    ]
    own = inspect.signature(play, eval_str=True).parameters
    play.__doc__ = inspect.getdoc(begin) or ""
    if game is not None:
        options.append(own["out"])
        play.__doc__ += "\n:param out: Result file, kept after each action; the same command continues the game."
    elif hasattr(world.load(first.vector, "environment"), "record"):
        options.append(own["record"])
        play.__doc__ += f"\n:param record: Append the episode to a file, for `gumption {world.name} replay`."
    play.__signature__ = inspect.Signature(options)  # pyright: ignore[reportFunctionMemberAccess]
    app = App(add_completion=False)
    app.command(epilog=f"Example: gumption play {world.name} --seed 1")(play)
    return app


def begin_of(world: Any) -> Callable[..., tuple[Any, Any]]:
    """Return the world's own `begin`, or a general one: keyword arguments -> (environment, text face) of an episode."""
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
    """Start an episode in an environment of the world; return the environment and its text face.

    :param env: id of the environment.
    :param settings: of the environment.
    :raises InputError: the world has no such environment, or bad settings.
    """
    ids = {environment.id: environment for environment in world.environments}
    if env not in ids:
        raise InputError(f"--env is {env!r}; the world {world.name!r} has {', '.join(ids)}")
    made = world.load(ids[env].single, "environment")(render_mode="ansi", **settings)
    made.reset(seed=seed)
    return made, world.get("text") or Numbers()


def play_episode(
    env: Any,
    face: Any = None,
    *,
    feedback: bool = True,
    introduce: bool = True,
    log: Callable[[Any], None] = lambda action: None,
) -> float | None:
    """Play an episode that has begun in a single environment; return its reward, or None if the player stops.

    :param face: rules, observations and actions in words (`text` of a world's entry); by default actions are
        numbers and names.
    :param feedback: show rewards, outcomes and the last state.
    :param introduce: show the rules first.
    :param log: called with each action of the player.
    :raises InputError: the input ends before the episode, or actions cannot be typed.
    """
    face = face or Numbers()
    quit_word = getattr(face, "quit", "q")
    if introduce:
        rules = "\n".join(fill(line, WIDTH) for line in face.rules(env).splitlines())
        print(f"{rules}\n{quit_word} stops.\n".lstrip())
    total, steps, over, info = 0.0, 0, False, {}

    def act(typed: str) -> Any:
        action = face.parse(typed, env)
        return action, env.answer(action) if isinstance(action, list) else env.step(action)

    while not over:
        print(face.observe(env), end="")
        try:
            step = ask(act, quit_word)
        except EOFError:
            raise InputError(f"the input ended after {steps} steps, before the episode did") from None
        if step is None:
            print(f"Stopped after {steps} steps; reward {total:.3g}.")
            return None
        action, (_, reward, terminated, truncated, info) = step
        log(action)
        reward = float(reward) + 0.0  # turns -0.0 into 0.0
        steps, total, over = steps + 1, total + reward, bool(terminated or truncated)
        if feedback:
            told = face.told(info, bool(terminated))
            print(f"reward {reward:.3g}, so far {total:.3g}{told and '; '}{told}\n")
    if feedback:
        print((env.render_mode == "ansi" and env.render()) or "", end="")
        won = " with success" if info.get("success") else ""
        print(f"The episode ended{won} after {steps} steps; reward {total:.3g}.")
    return total


class Numbers:
    """The text face of any environment: an action is a number, or the name of its candidate in `action_facts`."""

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
        return parse_action(typed.strip(), env, candidates(env), open_actions(env))

    def told(self, info: Any, over: bool) -> str:
        return ""


def candidates(env: Any) -> list[str] | None:
    """Return names of the actions: their candidates in `action_facts`, else numbers; None unless Discrete."""
    from gymnasium.spaces import Discrete

    if not isinstance(env.action_space, Discrete):
        return None
    count = int(env.action_space.n)
    facts = getattr(env, "action_facts", None)
    names = [] if facts is None else facts().candidates(env.vocabulary)
    return [name or f"action {a}" for a, name in enumerate(names if len(names) == count else [""] * count)]


def open_actions(env: Any) -> Any:
    """Return the mask of a Discrete action space, or None if the environment has none."""
    masks = getattr(env, "action_masks", None)
    return None if masks is None else masks()


def parse_action(typed: str, env: Any, names: list[str] | None, mask: Any) -> Any:
    """Parse an action: a number or a name, or the numbers of a vector.

    :raises InputError: not an action, or not available now.
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


# ---- Games of several episodes, stored in a file.


@dataclass(frozen=True)
class Game:
    """A game of several episodes by the protocol of agents.

    :ivar about: schema, world, settings and seed, which identify the game in its file.
    :ivar unit: the word for an episode, such as "task".
    :ivar headings: printed above the episodes, one per episode.
    :ivar begin: number of an episode -> (environment, text face); the same number begins the same episode.
    :ivar record: (number, environment, actions) -> record of a finished episode for the file, including "success".
    :ivar summary: records of finished episodes -> figures by name; the first figure is the result.
    :ivar done: the last line, formatted with these figures; `after` follows each episode, formatted with its record.
    :ivar feedback: number of an episode -> whether the player sees rewards and outcomes.
    """

    about: dict[str, Any]
    unit: str
    headings: Sequence[str]
    begin: Callable[[int], tuple[Any, Any]]
    record: Callable[[int, Any, Sequence[Any]], Record]
    summary: Callable[[Sequence[Record]], dict[str, float | None]]
    done: str
    after: str = ""
    feedback: Callable[[int], bool] = lambda number: True


def play_game(game: Game, out: Path) -> None:
    """Play the episodes that are missing in the file; write the file after each action.

    :raises InputError: the file holds another game or a finished one, or the input ends before the game.
    """
    from gumption.data.writing import write_json

    result: dict[str, Any] = {**game.about, "player": "person", "records": []}
    if out.exists():
        result["records"] = _kept_records(game, result, out)
    records, count = result["records"], len(game.headings)
    first = sum("success" in record for record in records)

    def save() -> None:
        finished = [record for record in records if "success" in record]
        write_json(out, result | game.summary(finished) | {"complete": len(finished) == count})

    if records:
        print(f"Continuing with {game.unit} {first + 1} of {count}.\n")
    for number in range(first, count):
        env, face = game.begin(number)
        if number == len(records):
            records.append({"actions": [], "seconds": 0.0})
        record = records[number]
        ended = _make_again(env, record["actions"], out)
        print(game.headings[number])
        start = time.monotonic() - record["seconds"]

        def log(action: Any, record: Record = record, start: float = start) -> None:
            record["actions"].append(action.tolist() if hasattr(action, "tolist") else action)
            record["seconds"] = round(time.monotonic() - start, 1)
            save()

        so_far = f"{out} keeps {number} of {count} {game.unit}s and what was done since; the same command continues"
        if not ended:
            try:
                feedback, introduce = game.feedback(number), number == first
                reward = play_episode(env, face, feedback=feedback, introduce=introduce, log=log)
            except InputError as error:
                save()
                raise InputError(f"{error}; {so_far}") from None
            if reward is None:
                save()
                print(so_far)
                return
        record |= game.record(number, env, record["actions"])
        save()
        print(game.after.format(**record))
    print(f"Done: {game.done.format(**game.summary(records))}. Result: {out}")


def _make_again(env: Any, actions: Sequence[Any], out: Path) -> bool:
    """Repeat the actions of an unfinished episode; return whether it has ended.

    :raises InputError: they are not actions of this episode.
    """
    import numpy as np

    over = False
    for action in actions:
        try:
            _, _, terminated, truncated, _ = env.step(action if isinstance(action, int) else np.array(action))
        except (InputError, ValueError, TypeError) as error:
            raise InputError(f"{out}: its actions cannot be made again ({error}); give another --out") from None
        over = bool(terminated or truncated)
    return over


def _kept_records(game: Game, result: dict[str, Any], out: Path) -> list[Record]:
    """Read the records in the file of a game."""
    try:
        kept = parse_json(out.read_text(encoding="utf-8"))
        records, complete = kept["records"], kept["complete"]
        different = [name for name in result if name != "records" and kept.get(name) != result[name]]
        begun = [(record["actions"], record["seconds"]) for record in records if "success" not in record]
        if not different and not complete and len(begun) < 2:
            game.summary([record for record in records if "success" in record])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{out}: not a result of gumption play ({error!r}); give another --out") from None
    if different:
        raise InputError(f"{out}: holds another game ({', '.join(different)} not the same); give another --out")
    if complete:
        name = next(iter(game.summary([])))
        raise InputError(f"{out}: this game is finished ({name} {kept[name]:.0%}); give another --out")
    return records


# ---- The prompt.


def ask(parse: Callable[[str], Choice], quit_word: str = "q") -> Choice | None:
    """Return the answer of the player at a prompt, which is repeated after an error; None to stop.

    :param parse: parses the typed text; raises InputError with the reason if it cannot.
    :param quit_word: typed to stop; longer than a letter in a world where a letter can be an answer.
    :raises EOFError: the input has ended or is closed.
    """
    while True:
        try:
            typed = input("> ")
        except RuntimeError:  # raised by Python without a standard input
            raise EOFError from None
        if typed.strip().lower() in (quit_word, f"{quit_word}uit"):
            return None
        try:
            return parse(typed)
        except InputError as error:
            print(error)


app = world_group(
    None,
    "Play a world yourself in the terminal.",
    general,
    epilog="Example: gumption play wordcraft --distractors 8 --out me.json",
)
