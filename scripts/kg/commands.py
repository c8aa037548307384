"""`gumption kg`: build, load, query and link graphs; fit, query and evaluate link predictors."""

from pkgutil import resolve_name

import typer

from . import analysis, external, fit, infer, predict, sources, store

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Build, load, query, link and draw graphs; fit link predictors on them and ask these.",
)
app.add_typer(sources.build_app, name="build")
app.add_typer(store.app)
app.add_typer(fit.app)
app.add_typer(predict.app)
app.add_typer(external.app)
app.add_typer(analysis.app)
app.add_typer(infer.app)
app.add_typer(resolve_name("gumption.scripts.people.web.endpoint:app"))
