"""`gumption segar`: levels, their distributions, and models of textures."""

import typer

from . import axes, level, renderers, stress

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Levels of SEGAR, their distributions, models of textures, and an agent that knowledge guides.",
)
for part in (level, axes, renderers, stress):
    app.add_typer(part.app)
