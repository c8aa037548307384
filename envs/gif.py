"""Write animated GIFs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.data.writing import whole_file

if TYPE_CHECKING:
    from PIL.Image import Image


def save_gif(path: str | Path, frames: "Sequence[Image]", durations: Sequence[int], *, optimize: bool = True) -> None:
    """Write frames as a GIF that repeats without end.

    :param durations: milliseconds of each frame.
    :param optimize: let Pillow reduce the file's size (its option `optimize`).
    :raises InputError: the file cannot be written.
    """
    more = {} if optimize else {"optimize": False}
    with whole_file(Path(path)) as beside:
        frames[0].save(
            beside, format="GIF", save_all=True, append_images=frames[1:], duration=list(durations), loop=0, **more
        )
