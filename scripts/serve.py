"""`gumption serve WORLD`: agents that are programs of their own play a world."""

from .worlds import world_group

app = world_group(
    "serve",
    "Let an agent that is a program of its own play a world.",
    epilog="Example: gumption serve gradual --tasks micro1,micro2 --port 5556",
)
