"""Pictures in a row as an animated GIF."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.data.writing import whole_file

if TYPE_CHECKING:
    from PIL.Image import Image


def save_gif(path: str | Path, frames: "Sequence[Image]", durations: Sequence[int], *, optimize: bool = True) -> None:
    """Write the frames, each shown for so many milliseconds, over and over.

    :param optimize: leave out what does not change; without it each frame is kept, also one like that before.
    :raises InputError: the file cannot be written.
    """
    with whole_file(Path(path)) as beside:
        more = {} if optimize else {"optimize": False}
        frames[0].save(
            beside, format="GIF", save_all=True, append_images=frames[1:], duration=list(durations), loop=0, **more
        )
