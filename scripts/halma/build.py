"""`gumption kg build halma`: what a run has understood."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gumption.data.settings import Count
from gumption.scripts.apps import App
from gumption.scripts.kg.output import Json, print_json, print_table, working
from gumption.scripts.kg.sources import PLACE, Update, changed_graph, check_place

app = App(add_completion=False)

EPILOG = """Example: gumption kg build halma --run runs/halma

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


@app.command(epilog=EPILOG)
def build(
    run: Annotated[Path, typer.Option(help="Folder of a run with its memory.")],
    out: Annotated[str | None, typer.Option(help=PLACE, show_default="RUN/kg.nq")] = None,
    update: Update = None,
    threshold: Annotated[Count, typer.Option(help="Visits from which on something counts as understood.")] = 3,
    beliefs: Annotated[
        bool, typer.Option("--beliefs", help="Also what a guided agent makes of it: halma/RUN/knowledge, .../inferred.")
    ] = False,
    as_json: Json = False,
) -> None:
    """The knowledge bases of a run's memory: graph halma/RUN, and where it is known from in halma/RUN/evidence.

    Other graphs there stay. Pairs are counted by the direction of both digits, and whatever their directions.
    """
    from gumption.envs.halma import KnowledgeBases, Memory
    from gumption.envs.halma.maze import DIRECTIONS
    from gumption.envs.halma.memory import FOLDER

    place = str(run / "kg.nq") if out is None else out
    check_place(place)
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
        print_json({"out": place, "graphs": graphs, **told, "pairs": counts})
        return
    rows = [(name, *row.values()) for name, row in counts.items()]
    print_table(["pairs", *DIRECTIONS, "any"], rows)
    print(f"of {len(memory):,} transitions ({memory.lost} lost) with {panels:,} different panels")
    print_table(["graph", "facts"], list(graphs.items()), f"written to {place}")
