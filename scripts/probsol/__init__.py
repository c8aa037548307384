"""`gumption probsol`: tasks, their certificates and splits, records, and pictures of solutions."""

import typer

from . import certify, check, log, probe, replay, strip

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Tasks of ProbSol, their certificates and splits, records, and pictures of solutions.",
)
for part in (certify, check, log, probe, replay, strip):
    app.add_typer(part.app)
