"""`gumption segar`: tools of SEGAR."""

import typer

from . import renderers

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Tools of SEGAR: models of textures.")
app.add_typer(renderers.app)


@app.callback()
def commands() -> None:
    """Keeps the names of the commands, also where there is one."""
