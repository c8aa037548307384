"""`gumption probsol replay`: a recorded episode played again, state by state, and kept as an animation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.data.settings import Count
from gumption.scripts.apps import App

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PIL.Image import Image

app = App()

#: Physics steps between two frames; how long a frame is shown, and longer after an action and at the end, in ms.
EVERY, MILLISECONDS, AFTER_ACTION, AT_END = 3, 50, 450, 2000


@app.command(epilog="Example: gumption probsol replay mine.jsonl --gif mine.gif")
def replay(file: Path, *, episode: Count | None = None, gif: Path | None = None) -> None:
    """Play a recorded episode again; each state has to be what it was, bit for bit.

    :param file: Episodes, as --record and RecordMemory keep them.
    :param episode: Which of them, from 1.  [default: the last]
    :param gif: Save it as an animation.
    """
    from gumption.data.writing import check_writable
    from gumption.envs.records import read_episodes

    if gif is not None:
        check_writable(gif, new_folder=False)
    episodes = read_episodes(file)
    if not episodes:
        raise InputError(f"{file} holds no episode")
    number = len(episodes) if episode is None else episode
    if number > len(episodes):
        raise InputError(f"--episode is {number}, and {file} has {len(episodes)} episode{'s' * (len(episodes) > 1)}")
    record = episodes[number - 1]
    told = animate(record, gif, f"{file}:{number}")
    result = record["result"]
    print(
        f"{record['task']['name']}: {len(record['actions'])} actions, each found the state that it had; "
        f"{result['end'] or 'not ended'} in trial {result['trials']}, {result['solve_time']:.1f} s"
    )
    if told:
        print(f"saved: {gif}, {told} frames")


def animate(record: Mapping[str, Any], gif: Path | None, where: str = "the record") -> int:
    """Play a record again, and save it as an animation if a path is given; how many frames it has."""
    from PIL import Image as images

    from gumption.envs.gif import save_gif
    from gumption.envs.probsol.render import painted, picture_size, shapes
    from gumption.envs.probsol.replay import replay as play_again

    frames: list[Image] = []
    durations: list[int] = []
    count = -1

    def look(env: Any, done: str) -> None:
        nonlocal count
        drawn = painted(shapes(env.tables, env.task()), picture_size(env.tables.cells))
        # The first frame has the colours of all discs, each on few pixels, which other methods would mix.
        method = None if frames else images.Quantize.MAXCOVERAGE
        frame = drawn.quantize(256, method, palette=frames[0] if frames else None, dither=images.Dither.NONE)
        acted, count = count != int(env.tables.actions[0]), int(env.tables.actions[0])
        if frames and frame == frames[-1]:
            durations[-1] += MILLISECONDS
        else:
            frames.append(frame)
            durations.append(AFTER_ACTION if acted else MILLISECONDS)

    play_again(record, where, None if gif is None else look, EVERY)
    if gif is None:
        return 0
    durations[-1] += AT_END
    save_gif(gif, frames, durations)
    return len(frames)
