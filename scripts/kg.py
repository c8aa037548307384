"""`gumption kg`: build, query and export graphs; fit a link predictor on one, ask it and evaluate it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Build, query, fit, predict, evaluate and export graphs."
)
build = typer.Typer(no_args_is_help=True, help="Build a graph from what a world states.")
app.add_typer(build, name="build")

PARTS = ("all", "train", "test")
RECIPES = "/recipes"  # ends the name of a graph that holds recipes as nodes, which no link predictor is trained on

Source = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A .nq, .trig, .ttl or .tsv file, a folder or an http address; #NAME picks one graph.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@build.command(epilog="Example: gumption kg build wordcraft --out runs/kg.nq --split train --split test")
def wordcraft(
    out: Annotated[str, typer.Option(help="A .nq, .trig, .ttl or .tsv file, a folder, or an endpoint's http address.")],
    update: Annotated[str | None, typer.Option(help="The endpoint's address for updates.")] = None,
    recipe_book: Annotated[str, typer.Option(help="Name of a shipped recipe book, or a file.")] = "commonsense",
    split: Annotated[list[str] | None, typer.Option(help="all (the default), train or test; may be repeated.")] = None,
    split_mode: Annotated[str, typer.Option(help="How train and test are drawn.")] = "by_recipe",
    train_ratio: Annotated[float, typer.Option(help="Share of the training part.")] = 0.8,
    split_seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    as_json: Json = False,
) -> None:
    """The facts of a recipe book: graph wordcraft/PART, and each recipe as a node in wordcraft/PART/recipes."""
    from gumption.data import InputError
    from gumption.envs.wordcraft import facts, recipe_facts
    from gumption.kg import KnowledgeGraph
    from gumption.kg.files import file_format

    parts = list(dict.fromkeys(split or ["all"]))
    if unknown := [part for part in parts if part not in PARTS]:
        raise InputError(f"--split {unknown[0]!r} is not one of {', '.join(PARTS)}")
    into_file = Path(out).suffix != "" and not _is_address(out)
    if into_file:
        file_format(Path(out))
    how: dict[str, Any] = {"split_mode": split_mode, "train_ratio": train_ratio, "split_seed": split_seed}
    stated = {}
    for part in parts:
        stated[f"wordcraft/{part}"] = list(facts(recipe_book, split=part, **how))
        stated[f"wordcraft/{part}{RECIPES}"] = list(recipe_facts(recipe_book, split=part, **how))

    with KnowledgeGraph(None if into_file else out, update=update) as graph:
        for name, triples in stated.items():
            graph.add(triples, graph=name)
        if into_file:
            graph.save(out)
        counts = graph.graphs()
    if as_json:
        _print_json({"out": out, "graphs": counts})
    else:
        _print_table(["graph", "facts"], list(counts.items()), f"written to {out}")


@app.command(
    epilog="Example: gumption kg query runs/kg.nq 'SELECT ?x { ?x gum:componentOf ?goal }' --bind goal='acid rain'"
)
def query(
    source: Source,
    sparql: Annotated[str, typer.Argument(help="SELECT, ASK, CONSTRUCT or DESCRIBE; gum: and ent: are declared.")],
    bind: Annotated[list[str] | None, typer.Option(help="VARIABLE=LABEL; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Ask a graph a question in SPARQL."""
    from gumption.data import InputError

    labels = dict(_binding(text) for text in bind or ())
    graph, name = _open(source)
    with graph:
        if name is not None:
            raise InputError(f"a query sees all graphs: leave out #{name} and ask for GRAPH ?g {{ ... }} with g={name}")
        answer = graph.query(sparql, **labels)
    if as_json:
        _print_json(answer)
    elif isinstance(answer, bool):
        print("yes" if answer else "no")
    elif answer and isinstance(answer[0], dict):
        _print_table(list(answer[0]), [tuple(row.values()) for row in answer], _count(answer, "row"))
    elif answer:
        _print_table(["subject", "relation", "object"], answer, _count(answer, "fact"))
    else:
        print("nothing found")


@app.command(epilog="Example: gumption kg fit runs/kg.nq#wordcraft/train --out runs/complex")
def fit(
    source: Source,
    out: Annotated[Path, typer.Option(help="A new folder for the model.")],
    rank: Annotated[int, typer.Option(help="Complex dimensions of an embedding.")] = 128,
    epochs: Annotated[int, typer.Option(help="Passes over the facts.")] = 50,
    batch_size: Annotated[int, typer.Option(help="Queries in a batch.")] = 512,
    learning_rate: Annotated[float, typer.Option(help="Step size of Adagrad.")] = 0.1,
    n3: Annotated[float, typer.Option(help="Weight of the nuclear 3-norm.")] = 1e-2,
    reciprocal: Annotated[bool, typer.Option(help="Learn each relation in both directions.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the first embeddings and the batches.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Fit the link predictor ComplEx on one named graph. Without #NAME it is the only one, recipe nodes apart."""
    from gumption.data import InputError

    if out.exists():
        raise InputError(f"{out} exists already: choose a new folder for the model")
    graph, name = _open(source)
    with graph:
        name = name or _only_graph(graph, source)

        from gumption.kg import ComplEx  # imports torch: after everything that can be wrong with the input

        settings: dict[str, Any] = {
            "rank": rank, "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "n3": n3,
            "reciprocal": reciprocal, "seed": seed, "device": device,
        }  # fmt: skip
        model = ComplEx.fit(graph, graph=name, **settings)
    model.save(out)
    print(f"fitted on {name}, written to {out}")


@app.command(epilog="Example: gumption kg predict runs/complex --subject fire --relation combinesWith -k 10")
def predict(
    model: Annotated[Path, typer.Argument(help="The folder of a fitted model.")],
    relation: Annotated[str, typer.Option(help="A relation's label.")],
    subject: Annotated[str | None, typer.Option(help="An entity's label: asks for objects.")] = None,
    object_: Annotated[str | None, typer.Option("--object", help="An entity's label: asks for subjects.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many.")] = 10,
    as_json: Json = False,
) -> None:
    """The k entities that most probably complete a fact."""
    from gumption.data import InputError

    if (subject is None) == (object_ is None):
        raise InputError("give either --subject or --object: the other one is what is predicted")

    from gumption.kg import ComplEx

    found = ComplEx.load(model).predict(subject=subject, relation=relation, object=object_, k=k)
    if as_json:
        _print_json([{"label": label, "score": score, "probability": p} for label, score, p in found])
    else:
        rows = [(label, f"{score:.3f}", f"{p:.4f}") for label, score, p in found]
        _print_table(["object" if object_ is None else "subject", "score", "probability"], rows)


@app.command(
    epilog="Example: gumption kg evaluate runs/complex --test kg.nq#wordcraft/test --known kg.nq#wordcraft/train"
)
def evaluate(
    model: Annotated[Path, typer.Argument(help="The folder of a fitted model.")],
    test: Annotated[str, typer.Option(help="The graph whose facts are ranked: GRAPH#NAME, or GRAPH if it has one.")],
    known: Annotated[list[str] | None, typer.Option(help="True facts, GRAPH or GRAPH#NAME; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Filtered ranking of test facts, both sides: mean reciprocal rank and hits."""
    facts = _facts(test, only=True)
    others = [_facts(source, only=False) for source in known or ()]

    from gumption.kg import ComplEx, evaluate_ranking

    figures = evaluate_ranking(ComplEx.load(model), facts, known=[facts, *others])
    if as_json:
        _print_json({"facts": len(facts), **figures})
    else:
        rows = [(name, f"{value:.4f}") for name, value in figures.items()]
        _print_table(["figure", "value"], rows, _count(facts, "test fact"))


@app.command(epilog="Example: gumption kg export runs/kg.nq#wordcraft/train --out train.tsv")
def export(
    source: Source,
    out: Annotated[Path, typer.Option(help="A .nq, .trig, .ttl or .tsv file.")],
) -> None:
    """Write a graph, or the one that #NAME picks, to a file of another kind."""
    from gumption.kg import KnowledgeGraph

    graph, name = _open(source)
    with graph:
        if name is not None:
            vocabulary, ids = graph.arrays(name)
            chosen = KnowledgeGraph()
            chosen.add(vocabulary.ids_to_triples(ids), graph=name)
        else:
            chosen = graph
        chosen.save(out)
        print(f"{_count(chosen, 'fact')} written to {out}")


def _open(source: str) -> "tuple[KnowledgeGraph, str | None]":
    """The graph at a file, folder or address that exists, and the name after #, if any."""
    from gumption.data import InputError
    from gumption.kg import KnowledgeGraph

    place, mark, name = (source, "", "") if Path(source).exists() else source.partition("#")
    if mark and not name:
        raise InputError(f"{source}: the name of a graph is missing after #")
    if _is_address(place) or Path(place).is_dir():
        return KnowledgeGraph(place), name or None
    if not Path(place).is_file():
        raise InputError(f"there is no graph at {place}: make one with `gumption kg build`")
    return KnowledgeGraph.load(place), name or None


def _facts(source: str, only: bool) -> list[tuple[str, str, str]]:
    """The facts of the named graph; without a name of all graphs but recipe nodes, where `only` one is allowed."""
    graph, name = _open(source)
    with graph:
        if name is None and only:
            name = _only_graph(graph, source)
        names = [name] if name is not None else _binary_graphs(graph)
        arrays = [graph.arrays(each) for each in names]
        return sorted({fact for vocabulary, ids in arrays for fact in vocabulary.ids_to_triples(ids)})


def _binary_graphs(graph: "KnowledgeGraph") -> list[str]:
    return [name for name in graph.graphs() if not name.endswith(RECIPES)]


def _only_graph(graph: "KnowledgeGraph", source: str) -> str:
    from gumption.data import InputError

    names = _binary_graphs(graph)
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"{source} has no facts")
    raise InputError(f"{source} has several graphs ({', '.join(names)}): name one, as in {source}#{names[0]}")


def _binding(text: str) -> tuple[str, str]:
    from gumption.data import InputError

    variable, mark, label = text.partition("=")
    if not variable or not mark:
        raise InputError(f"--bind {text!r}: expected VARIABLE=LABEL, such as goal=mud")
    return variable.lstrip("?$"), label


def _is_address(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def _count(things: Any, name: str) -> str:
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


def _print_table(columns: list[str], rows: list[Any], caption: str | None = None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(caption=caption, caption_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        # Text, because a label may look like rich's markup.
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    Console().print(table)
