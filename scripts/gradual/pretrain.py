"""`gumption gradual pretrain`: the recurrent agent, trained by V-trace."""

from __future__ import annotations

from pathlib import Path

from gumption.agents.gradual.recurrent_config import RecurrentConfig
from gumption.scripts.apps import App, from_config
from gumption.scripts.worlds import Resume, Run

app = App(add_completion=False)


@app.command("pretrain", epilog="Example: gumption gradual pretrain --tasks micro4 --steps 200000 --run runs/lstm")
@from_config(RecurrentConfig, skip=("world",), make=RecurrentConfig)
def pretrain(config: RecurrentConfig, run: Run = Path("runs/recurrent"), resume: Resume = False) -> None:
    """Train the recurrent agent on many streams at once; `gumption gradual run --agent RUN` plays it."""
    from gumption.agents.gradual.recurrent import train_recurrent

    final = train_recurrent(config, run, resume=resume)
    print(
        f"{final['tasks']:.1f} tasks passed by a stream, {final['right']:.1f} right answers in a thousand steps; "
        f"{final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )
