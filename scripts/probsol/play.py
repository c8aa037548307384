"""`gumption play probsol`: a person solves a task at the terminal, by typed words."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.settings import Seed
from gumption.scripts.apps import App
from gumption.scripts.session import ask

app = App(add_completion=False)


@app.command("probsol", epilog="Example: gumption play probsol --task fishing/0 --record mine.jsonl")
def play(
    task: Annotated[str, typer.Option(help="A task, a family (one is drawn), or a file.")] = "fishing/0",
    seed: Annotated[Seed, typer.Option(help="Draws the task of several, and a shuffled law.")] = 0,
    laws: Annotated[
        str | None, typer.Option(help="real, counterfactual, inert or shuffled.  [default: the task's]")
    ] = None,
    names: Annotated[str, typer.Option(help="Of colours and names: real, anonymous or shuffled.")] = "real",
    rate: Annotated[bool, typer.Option("--rate", help="Tell how near the goal is after each action.")] = False,
    record: Annotated[
        Path | None, typer.Option(help="Append the episode to a file, for gumption probsol replay.")
    ] = None,
) -> None:
    """Play an episode of ProbSol: solve the task, check, and answer what is asked."""
    from gumption.data.writing import check_writable
    from gumption.envs.probsol.env import ProbSolEnv
    from gumption.envs.records import EpisodeFile

    if record is not None:
        check_writable(record)
    file = None if record is None else EpisodeFile(record)
    env = ProbSolEnv(task=task, laws=laws, names=names)
    env.batch.episodes = []
    env.reset(seed=seed)
    try:
        play_episode(env, rate)
    finally:
        if file is not None:
            file.append(env.batch.episodes or [env.batch.record()])
            print(f"recorded: {record}")


def play_episode(env: Any, rate: bool = False) -> float | None:
    """Play the episode that was begun in a `ProbSolEnv`; its reward, or None where the player stops.

    :param rate: tell the solution rate after each action.
    :raises InputError: the input ends before the episode does.
    """
    from gumption.envs.probsol.text import FACE

    print(f"{FACE.rules(env)}\n  q                stop\n")
    total, count, over, trial = 0.0, 0, False, 1
    info: dict[str, Any] = {}
    while not over:
        print(FACE.observe(env), end="")
        try:
            step = ask(partial(_done, env=env))
        except EOFError:
            raise InputError(f"the input ended after {count} actions, before the episode did") from None
        if step is None:
            print(f"Stopped after {count} actions.")
            return None
        _, reward, terminated, truncated, info = step
        total, count, over = total + reward, count + 1, terminated or truncated
        if rate:
            print(f"solution rate {info['solution_rate']:.3f}")
        if info["trial"] > trial and not over:
            trial = info["trial"]
            print(f"That does not solve it (solution rate {info['trial_rate']:.3f}). Trial {trial} begins.")
        print()
    print(FACE.observe(env), end="")
    print(
        f"{'Solved' if info['success'] else 'Not solved'} after {count} actions: {_ENDS.get(info['end'], info['end'])}."
    )
    return total


_ENDS = {
    "solved": "the goal is reached",
    "quiz": "an answer is wrong",
    "trials": "no trial is left",
    "max_actions": "no action is left",
    "action_number": "more actions than the limit allows",
    "action_time": "an action took longer than the limit allows",
    "trial_time": "the trial took longer than the limit allows",
    "solve_time": "the task took longer than the limit allows",
}


def _done(typed: str, env: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """Do what was typed; what a step returns."""
    from gumption.envs.probsol.text import FACE

    chosen = FACE.parse(typed, env)
    return env.answer(chosen) if isinstance(chosen, list) else env.step(chosen)
