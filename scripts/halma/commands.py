"""HALMA's commands: `gumption train halma`, `gumption kg build halma` and `gumption splits halma`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.agents.halma.config import HALMAConfig, learned_by
from gumption.data import InputError
from gumption.data.modules import of_module
from gumption.data.settings import Count, Seed, settings
from gumption.envs.halma.knowledge_base import THRESHOLD, LastPanel, Reading
from gumption.envs.halma.maze import DIRECTIONS
from gumption.scripts.apps import (
    NewFolder,
    from_config,
    refuse_foreign,
)
from gumption.scripts.kg.sources import PLACE, Update, Wait, changed_graph, check_place
from gumption.scripts.output import Json, print_json, print_table, working
from gumption.scripts.worlds import Resume, Run

if TYPE_CHECKING:
    from gumption.envs.halma.splits import Experience, Splits

FLAGS = {"num_mazes": "mazes"}


@settings
class Understanding:
    """From what on an agent's experience counts as understood (Appendix D).

    :ivar threshold: visits from which on something counts as understood.
    :ivar knowledge_base: how Appendix D is read: strict (own axis, exact length), or literal, as it is written.
    :ivar last_panel: whether s' of a trial's last move counts, at the goal: no agent is shown it.
    """

    threshold: Count = THRESHOLD
    knowledge_base: Reading = "strict"
    last_panel: LastPanel = "counted"


understood = from_config(Understanding, into="understanding")


@from_config(HALMAConfig, flags=FLAGS, skip=("world",))
def train(config: HALMAConfig, run: Run = Path("runs/halma"), resume: Resume = False) -> None:
    """Train an agent and keep what it experienced: diagnostic splits are made of that.

    Example: gumption train halma --agent mlp --guided --episodes 300 --run runs/halma
    """
    from gumption.agents.halma.runs import train_halma

    final = train_halma(config, run, resume=resume).final
    print(
        f"learned by {learned_by(config.to_json())}: finished {final['finished_trials']:.1f} of 10 trials an episode, "
        f"{final['valid_moves']:.1%} of moves valid; "
        f"{final['episodes']:,} episodes, {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; "
        f"the run is in {run}"
    )


def splits_of(run: Path, given: Path | None = None) -> Path:
    """Return the folder of a run's tests, its own by default; InputError if it has none."""
    own = run / "splits"
    if given is None and not own.is_dir():
        raise InputError(
            f"{run} has no tests of its own in {own}: make them with `gumption splits halma --run {run} --out {own}`, "
            "or name others with --splits"
        )
    return given or own


def warn_of_others(run: Path, tests: Any) -> None:
    from gumption.envs.halma.memory import FOLDER, Memory

    made_for = tests.manifest["knowledge"]["memory"]
    if not (run / FOLDER).is_dir() or Memory.load(run / FOLDER).fingerprint != made_for:
        print(f"warning: {run}: these tests were made for what another run has seen", file=sys.stderr)


@understood
def build(
    *,
    run: Path,
    understanding: Understanding,
    out: Annotated[str | None, typer.Option(help=PLACE, show_default="RUN/kg.nq")] = None,
    update: Update = None,
    wait: Wait = 5,
    as_json: Json = False,
) -> None:
    """Write the knowledge bases of a run's memory into the graph halma/RUN, and their evidence into halma/RUN/evidence.

    Other graphs there stay. Pairs are counted by the direction of both digits, and in any directions.

    Example: gumption kg build halma --run runs/halma

    Questions about such a run (its labels are described in gumption.envs.halma.knowledge_base):

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

    :param run: Folder of a run with its memory.
    """
    from gumption.envs.halma import KnowledgeBases, Memory
    from gumption.envs.halma.memory import FOLDER

    place = str(run / "kg.nq") if out is None else out
    check_place(place)
    with working("reading what the agent has seen"):
        memory = Memory.load(run / FOLDER)
        bases = KnowledgeBases.of(memory, **asdict(understanding))
    _warn(memory.warning)
    with changed_graph(place, update, wait) as graph, working(f"writing {place}"):
        graphs = bases.add_to(graph, run.resolve().name)
    counts, panels = bases.counts(), len(bases.panels)
    if as_json:
        sizes = {"records": len(memory), "lost": memory.lost, "panels": panels}
        understood = int(bases.understood.sum())
        print_json({"out": place, "graphs": graphs, **sizes, "understood": understood, "pairs": counts})
        return
    rows = [(name, *row.values()) for name, row in counts.items()]
    print_table(["pairs", *DIRECTIONS, "any"], rows)
    print(f"of {len(memory):,} transitions ({memory.lost} lost) with {panels:,} different panels")
    print_table(["graph", "facts"], list(graphs.items()), f"written to {place}")


@understood
def splits(
    context: typer.Context,
    *,
    understanding: Understanding,
    run: Path | None = None,
    memory: Path | None = None,
    out: NewFolder | None = None,
    check: Path | None = None,
    seed: Seed = 0,
    mazes: Count = 50,
    own: list[str] | None = None,
    force: bool = False,
) -> None:
    """Make tests of what an agent has not seen but could infer, or check such tests.

    T holds the mazes it was trained on, RT random ones; ST ask about digits in new combinations and colours, AfT about
    pairs inferred from the effects of moves, AnT about pairs that follow by transitivity. The same experience and seed
    give the same bytes.

    Example: gumption splits halma --run runs/halma --out splits/halma --seed 0

    Example: gumption splits halma --memory memories/mine --out splits/mine

    Example: gumption splits halma --run runs/halma --out splits/halma --own my_tests:detours

    :param run: Folder of a run with its memory.
    :param memory: Instead of --run: a folder that RecordMemory wrote, of any agent.
    :param out: Folder for the tests: a file each, and a manifest.
    :param check: Instead of --out: check the tests in this folder against the experience.
    :param seed: Fixes every maze.
    :param mazes: Mazes of each test.
    :param own: Also a test of your own, MODULE:FUNCTION; it is called with (knowledge, training, rng, mazes), gives
        mazes, and is named after the function; may be given again.
    :param force: Replace other tests in the folder.
    """
    if check is not None and out is None:
        made_with = ("seed", "mazes", *(field.name for field in fields(Understanding)), "own", "force")
        refuse_foreign(context, dict.fromkeys(made_with, "--out"), "", "--check")
        _check(run, memory, check)
    elif out is not None and check is None:
        from gumption.envs.halma.splits import make_splits

        experience = experience_of(run, memory, **asdict(understanding))
        with working("making the tests"):
            tests = {place.rpartition(":")[2]: of_module(place, "--own") for place in own or ()}
            made = make_splits(experience, out, seed=seed, mazes=mazes, own=tests, force=force)
        _show(made, f"{out}: made and checked")
    else:
        raise InputError("give either --out, a folder to write the tests to, or --check, a folder to check")


def experience_of(run: Path | None, memory: Path | None, **choices: Any) -> Experience:
    """Read an agent's experience from one of the two folders with these choices."""
    from gumption.envs.halma.splits import read_memory, read_run

    read, folder = (read_memory, memory) if run is None else (read_run, run)
    if folder is None or None not in (run, memory):
        raise InputError("give either --run, a run of gumption, or --memory, a folder that RecordMemory wrote")
    with working("reading what the agent has seen"):
        experience = read(folder, **choices)
    _warn(experience.warning)
    return experience


def _check(run: Path | None, memory: Path | None, folder: Path) -> None:
    from gumption.envs.halma.splits import check_splits, load_splits

    made = load_splits(folder)
    experience = experience_of(run, memory, threshold=made.manifest["parameters"]["threshold"], **made.choices)
    with working("checking the tests"):
        faults = check_splits(made, experience.knowledge, experience.mazes)
    for fault in faults:
        print(fault)
    if faults:
        raise typer.Exit(1)
    _show(made, f"{folder}: every maze asks what it claims")


def _warn(warning: str | None) -> None:
    if warning:
        print(f"warning: {warning}", file=sys.stderr)


def _show(made: Splits, caption: str) -> None:
    rows = []
    for test, entry in made.manifest["tests"].items():
        why = [entry["reason"]] if entry["reason"] else []
        why += [f"{pair[0]}>{pair[1]}, {type_}: {reason}" for pair, type_, reason in map(dict.values, entry["refused"])]
        pairs = f"{entry['pairs']} of {entry['queries']}" if entry["queries"] else "-"
        rows.append((test, pairs, entry["mazes"] or "-", "; ".join(why)))
    print_table(["test", "pairs", "mazes", "why none"], rows, caption)


def report_saved(paths: Iterable[Path]) -> None:
    for path in paths:
        print(f"saved: {path}")
