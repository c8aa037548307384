"""`gumption gradual`: agents in Gradual's stream of bytes, their steps, what they lived through, and how they learn."""

import typer

from . import pretrain, run, validate, watch

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Run agents through Gradual's curriculum, watch and validate them."
)
app.add_typer(run.app)
app.add_typer(pretrain.app)
app.add_typer(validate.app)
app.add_typer(watch.app)
