"""`gumption kg build WORLD`: a graph of what a world states, or of what a run has understood of it."""

from gumption.scripts.world_commands import general_build
from gumption.scripts.worlds import world_group

app = world_group(
    "build",
    "Build a graph from what a world states, or a run has understood of it.",
    general_build,
    epilog="Example: gumption kg build wordcraft --out kg.nq --partition train",
)
