"""`gumption gradual`: agents in Gradual's stream of bytes, their steps, and whether they learn gradually."""

import typer

from . import run, validate

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Run agents through Gradual's curriculum, and validate them."
)
app.add_typer(run.app)
app.add_typer(validate.app)
