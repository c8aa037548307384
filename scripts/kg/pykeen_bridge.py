"""`gumption kg import-pykeen` and `export-pykeen`: models from PyKEEN and to PyKEEN."""

from pathlib import Path

from gumption.scripts.apps import App

from .sources import new_folder, read_facts

app = App()


@app.command("import-pykeen", epilog="Example: gumption kg import-pykeen results/transe --out runs/transe")
def import_pykeen(folder: Path, *, out: Path) -> None:
    """Take over a model that was trained with PyKEEN. Its pickle is read as data; nothing in it is executed.

    :param folder: A folder that PyKEEN's save_to_directory has written.
    :param out: A new folder for the model.
    """
    new_folder(out)

    from gumption.kg import load_pykeen

    predictor = load_pykeen(folder, device="cpu")
    predictor.save(out)
    print(f"{type(predictor.model).__name__} of {predictor.vocabulary!r} written to {out}")


@app.command(
    "export-pykeen",
    epilog="Example: gumption kg export-pykeen runs/complex --out results/complex --graph runs/kg.nq#wordcraft/train",
)
def export_pykeen(model: Path, *, out: Path, graph: str | None = None) -> None:
    """Write a fitted ComplEx as a folder that PyKEEN opens, with the same scores.

    :param model: The folder of a ComplEx that `gumption kg fit` has written.
    :param out: A new folder for PyKEEN.
    :param graph: Facts for training_triples: GRAPH#NAME, or GRAPH.
    """
    new_folder(out)
    facts = [] if graph is None else read_facts(graph, only=True)

    from gumption.kg import ComplEx
    from gumption.kg import export_pykeen as export

    export(ComplEx.load(model, device="cpu"), out, facts)
    print(f"written to {out}")
