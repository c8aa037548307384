"""`gumption play`: a person plays a world in the terminal, by the protocol that agents are compared with."""

import typer

from . import halma, wordcraft

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Play a world yourself in the terminal.")
app.add_typer(wordcraft.app)
app.add_typer(halma.app)
