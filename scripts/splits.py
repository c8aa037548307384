"""`gumption splits WORLD`: tests or split files of a world, made or checked by the command that the world offers."""

from .worlds import world_group

app = world_group(
    "splits",
    "Make the tests that fit what an agent has seen, or split files, or check them.",
    epilog="Example: gumption splits halma --run runs/halma --out runs/halma/splits",
)
