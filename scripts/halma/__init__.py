"""`gumption halma`: HALMA's mazes drawn, generated and measured, and a close look at its agents."""

import typer

from . import agents, mazes, pretrain

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Draw, generate and measure HALMA's mazes; see where agents fail."
)
app.add_typer(mazes.app)
app.add_typer(agents.app)
app.add_typer(pretrain.app)
