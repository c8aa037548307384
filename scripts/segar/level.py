"""`gumption segar level`: a level drawn by its name, and played by somebody who learns nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gumption.data.settings import Count, Seed
from gumption.scripts.apps import App

app = App()

PlayerName = Literal["scripted", "random", "no action"]
TaskName = Literal["PuttPutt", "Invisiball", "Billiards"]
MILLISECONDS = 50  # of a frame: a step of the environment, as long as in the world


@app.command(epilog="Example: gumption segar level objectsx3-hard/test/0/7 --gif level.gif")
def level(
    name: Annotated[str, typer.Argument(help="CONFIGURATION/train|test/SEED/NUMBER.")] = "objectsx3-hard/train/0/0",
    task: Annotated[TaskName, typer.Option(help="What is to be done in it.")] = "PuttPutt",
    player: Annotated[PlayerName, typer.Option(help="Who plays it, for the animation.")] = "scripted",
    steps: Annotated[Count, typer.Option(help="The longest that the episode may be.")] = 50,
    seed: Annotated[Seed, typer.Option(help="Of a random player.")] = 0,
    gif: Annotated[Path | None, typer.Option(help="Save an episode as an animation.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Save the scene, for reset options.")] = None,
) -> None:
    """Draw a level, and tell how an episode in it ends."""
    from gumption.agents.segar.evaluation import BASELINES
    from gumption.data.writing import check_writable, write_json
    from gumption.envs import worlds

    for path in (gif, json):
        if path is not None:
            check_writable(path)
    entry = next(each for each in worlds.find("segar").environments if each.id == f"gumption/{task}-v0")
    env = worlds.find("segar").load(entry.vector, "environment")(
        1, render_mode="rgb_array", autoreset_mode="Disabled", observation="state", num_levels=1, max_steps=steps
    )
    env.reset(seed=seed, options={"level": name})
    print(env.draw_frame(0, "ansi"), end="")
    if json is not None:
        write_json(json, env.state.scene(0).to_data())
    frames, total, over = [env.draw_frame(0, "rgb_array")], 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = env.step(BASELINES[player](env, env.episode_begins()))
        frames.append(env.draw_frame(0, "rgb_array"))
        total, over = total + float(reward[0]), bool(terminated[0] or truncated[0])
    success = "with success" if env.success[0] else "without success"
    print(f"{player}: {len(frames) - 1} steps, {success}; return {total:.3g}")
    if gif is not None:
        _save(gif, frames)
    for path in (json, gif):
        if path is not None:
            print(f"saved: {path}")


def _save(path: Path, frames: list[object]) -> None:
    from PIL import Image

    from gumption.envs.gif import save_gif

    pictures = [Image.fromarray(frame) for frame in frames]  # pyright: ignore[reportArgumentType]
    durations = [MILLISECONDS] * (len(pictures) - 1) + [20 * MILLISECONDS]
    save_gif(path, pictures, durations)
