"""`gumption live wordcraft`: let an agent live in the open-ended game; its graph grows with the recipes it sees."""

from __future__ import annotations

from pathlib import Path

from gumption.agents.wordcraft.living import GRAPH, LifeConfig
from gumption.scripts.apps import from_config
from gumption.scripts.worlds import Resume, Run


@from_config(LifeConfig, skip=("world",))
def live(config: LifeConfig, run: Run = Path("runs/life"), resume: Resume = False) -> None:
    """Mix things, remember what they make, and choose the next mix by what the graph of these memories makes likely.

    The run has the memory, the graph (RUN/graph.nq, with who saw what, how often, and when first) and the figures;
    `gumption kg query RUN/graph.nq` asks it, also while the agent lives, and `gumption watch RUN` shows it grow.

    Example: gumption live wordcraft --mixes 300 --run runs/life
    """
    from gumption.agents.wordcraft.living import live as lived
    from gumption.agents.wordcraft.living import summary

    life = lived(config, run, resume, tell=print)
    print(f"{summary(life)}; what it knows is in {run / GRAPH}")
