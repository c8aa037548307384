"""`gumption kg build`: graphs of what a world states, or of what a run has understood of it."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .output import Json, print_json, print_table, working
from .sources import FILES, RECIPES, Update, changed_graph, is_address

app = typer.Typer(no_args_is_help=True, help="Build a graph from what a world states, or a run has understood of it.")

PARTS = ("all", "train", "test")
PLACE = f"A {FILES}, a folder, or an endpoint's http address."


@app.command(epilog="Example: gumption kg build wordcraft --out runs/kg.nq --split train --split test")
def wordcraft(
    out: Annotated[str, typer.Option(help=PLACE)],
    update: Update = None,
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

    parts = list(dict.fromkeys(split or ["all"]))
    if unknown := [part for part in parts if part not in PARTS]:
        raise InputError(f"--split {unknown[0]!r} is not one of {', '.join(PARTS)}")
    _check_place(out)
    how: dict[str, Any] = {"split_mode": split_mode, "train_ratio": train_ratio, "split_seed": split_seed}
    stated = {}
    for part in parts:
        stated[f"wordcraft/{part}"] = list(facts(recipe_book, split=part, **how))
        stated[f"wordcraft/{part}{RECIPES}"] = list(recipe_facts(recipe_book, split=part, **how))

    with changed_graph(out, update, anew=True) as graph:
        for name, triples in stated.items():
            graph.add(triples, graph=name)
        counts = graph.graphs()
    if as_json:
        print_json({"out": out, "graphs": counts})
    else:
        print_table(["graph", "facts"], list(counts.items()), f"written to {out}")


HALMA_EPILOG = """Example: gumption kg build halma --run runs/halma

Questions about such a run (more on them in gumption.envs.halma.facts):

Which pairs were inferred through affordance only?

gumption kg query runs/halma/kg.nq --bind run=halma 'SELECT DISTINCT ?greater ?lesser {
?n gum:ofRun ?run ; gum:inKnowledgeBase ent:KB_A ; gum:hasGreater/gum:hasValue ?greater ;
gum:hasLesser/gum:hasValue ?lesser FILTER NOT EXISTS { ?m gum:ofRun ?run ; gum:inKnowledgeBase ?other ;
gum:hasGreater/gum:hasValue ?greater ; gum:hasLesser/gum:hasValue ?lesser FILTER(?other != ent:KB_A) } }'

Which pairs were seen in panels with one colour only?

gumption kg query runs/halma/kg.nq --bind run=halma 'SELECT ?greater ?lesser (SAMPLE(?colour) AS ?only) {
?n gum:ofRun ?run ; gum:hasSightings ?times ; gum:hasGreater ?digit ; gum:hasLesser/gum:hasValue ?lesser .
?digit gum:hasColour ?colour ; gum:hasValue ?greater } GROUP BY ?greater ?lesser
HAVING (COUNT(DISTINCT ?colour) = 1)'

Through which options was yellow 5 understood?

gumption kg query runs/halma/kg.nq --bind run=halma --bind digit='yellow 5' 'SELECT ?option ?visits {
?use gum:ofRun ?run ; gum:hasDigit ?digit ; gum:hasOption ?option ; gum:hasVisits ?visits } ORDER BY DESC(?visits)'
"""


@app.command(epilog=HALMA_EPILOG)
def halma(
    run: Annotated[Path, typer.Option(help="Folder of a run with its memory.")],
    store: Annotated[str | None, typer.Option(help=PLACE, show_default="RUN/kg.nq")] = None,
    update: Update = None,
    threshold: Annotated[int, typer.Option(help="Visits from which on something counts as understood.")] = 3,
    beliefs: Annotated[
        bool, typer.Option("--beliefs", help="Also what a guided agent makes of it: halma/RUN/knowledge, .../inferred.")
    ] = False,
    as_json: Json = False,
) -> None:
    """The knowledge bases of a run's memory: graph halma/RUN, and where it is known from in halma/RUN/evidence.

    Other graphs of the store stay. Pairs are counted by the direction of both digits, and whatever their directions.
    """
    from gumption.envs.halma import KnowledgeBases, Memory
    from gumption.envs.halma.maze import DIRECTIONS
    from gumption.envs.halma.memory import FOLDER

    place = str(run / "kg.nq") if store is None else store
    _check_place(place)
    with working("reading what the agent has seen"):
        memory = Memory.load(run / FOLDER)
        bases = KnowledgeBases.of(memory, threshold)
    if memory.warning:
        print(f"warning: {memory.warning}", file=sys.stderr)
    with changed_graph(place, update) as graph, working(f"writing {place}"):
        graphs = bases.add_to(graph, run.resolve().name)
        if beliefs:
            from gumption.agents.halma.knowledge import HALMAKnowledge, add_knowledge

            name = add_knowledge(graph, run.resolve().name, memory, threshold=threshold)
            HALMAKnowledge.of(graph, name)
            graphs |= {known: count for known, count in graph.graphs().items() if known.startswith(name)}
    counts, panels = bases.counts(), len(bases.panels)
    if as_json:
        told = {
            "records": len(memory),
            "lost": memory.lost,
            "panels": panels,
            "understood": int(bases.understood.sum()),
        }
        print_json({"store": place, "graphs": graphs, **told, "pairs": counts})
        return
    rows = [(name, *row.values()) for name, row in counts.items()]
    print_table(["pairs", *DIRECTIONS, "any"], rows)
    print(f"of {len(memory):,} transitions ({memory.lost} lost) with {panels:,} different panels")
    print_table(["graph", "facts"], list(graphs.items()), f"written to {place}")


def _check_place(place: str) -> None:
    """InputError, before anything is worked out, for a file of a kind that no graph is written to."""
    from gumption.kg.files import file_format

    if Path(place).suffix and not Path(place).is_dir() and not is_address(place):
        file_format(Path(place))
