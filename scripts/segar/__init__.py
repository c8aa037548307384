"""`gumption segar`: the distributions of SEGAR's levels, and how far they are apart."""

import typer

from . import axes

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Measure the distributions of SEGAR's levels.")
app.add_typer(axes.app)
