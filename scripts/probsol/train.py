"""`gumption train probsol`: MaskablePPO, which a graph advises with --kg."""

from __future__ import annotations

from pathlib import Path

from gumption.agents.probsol.config import ProbSolConfig
from gumption.scripts.apps import App, from_config
from gumption.scripts.worlds import Resume, Run

app = App(add_completion=False)

EPILOG = """Example: gumption train probsol --task fishing/generated --steps 200000 --run runs/fishing

With knowledge: gumption train probsol --kg full --run runs/guided
"""


@app.command(epilog=EPILOG)
@from_config(ProbSolConfig, skip=("world",))
def train(config: ProbSolConfig, run: Run = Path("runs/probsol"), resume: Resume = False) -> None:
    """Train MaskablePPO on the training part of some tasks, and tell what it solves.

    It acts in three parts: what to do, with which disc, where. A graph, if there is one (--kg), advises which disc.
    What it solves is told of validation tasks: those of the test part are for `gumption evaluate`.
    """
    from gumption.agents.probsol.training import train_probsol

    final = train_probsol(config, run, resume=resume).final
    print(
        f"solved in one trial: {final['train_solved']:.1%} of the training tasks, {final['validation_solved']:.1%} of "
        f"validation tasks; {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )
