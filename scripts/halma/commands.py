"""HALMA's commands: `gumption train halma`, `gumption kg build halma`, `gumption splits halma`, and those of
`gumption halma` that take a close look at its agents.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gumption.agents.halma.config import HALMAConfig
from gumption.data import InputError
from gumption.data.settings import Count, Seed, Share, Size
from gumption.envs.halma.maze import NumMazes
from gumption.scripts.apps import App, from_config, refuse_foreign
from gumption.scripts.kg.output import Json, print_json, print_table, working
from gumption.scripts.kg.sources import PLACE, Update, changed_graph, check_place
from gumption.scripts.worlds import Resume, Run

from . import mazes as of_mazes

if TYPE_CHECKING:
    from gumption.agents.halma.failures import MazeFailures
    from gumption.envs.halma.splits import Experience, Splits

    Read = Callable[..., Experience]

app = App(
    no_args_is_help=True, add_completion=False, help="Draw, generate and measure HALMA's mazes; see where agents fail."
)
app.add_typer(of_mazes.app)

FLAGS = {"num_mazes": "mazes"}


@from_config(HALMAConfig, flags=FLAGS, skip=("world",))
def train(config: HALMAConfig, run: Run = Path("runs/halma"), resume: Resume = False) -> None:
    """Train an agent and keep what it experienced: diagnostic splits are made of that.

    Example: gumption train halma --agent mlp --guided --episodes 300 --run runs/halma
    """
    from gumption.agents.halma.runs import train_td3

    final = train_td3(config, run, resume=resume).final
    print(
        f"finished {final['finished_trials']:.1f} of 10 trials an episode, {final['valid_moves']:.1%} of moves valid; "
        f"{final['episodes']:,} episodes, {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; "
        f"the run is in {run}"
    )


@app.command(epilog="Example: gumption halma pretrain --steps 2000 --run runs/space")
def pretrain(
    *,
    run: Run = Path("runs/space"),
    steps: Count = 20_000,
    preset: str = "paper",
    batch_size: Size = 16,
    mazes: NumMazes = 100,
    maze_seed: Seed = 0,
    images: str = "train",
    seed: Seed = 0,
    device: str = "auto",
    resume: Resume = False,
) -> None:
    """Pretrain SPACE on the panels of HALMA's training mazes: the eyes of the agent space.

    :param steps: Updates.
    :param preset: The model: paper, or fast, a narrower one for a CPU.
    :param batch_size: Panels in an update.
    :param mazes: Training mazes whose panels are drawn.
    :param maze_seed: Which ones.
    :param images: Handwriting: train, or train-full (all of MNIST).
    :param seed: Fixes everything.
    :param device: auto, cpu or cuda.
    """
    from gumption.agents.halma.space_training import PRESETS, pretrain_space
    from gumption.envs.halma import Mazes, sample_mazes
    from gumption.envs.halma.visual import PanelPainter

    if preset not in PRESETS:
        raise InputError(f"preset is {preset!r}; it can be {', '.join(PRESETS)}")
    config, learning = PRESETS[preset]
    pretrain_space(
        Mazes(sample_mazes(mazes, maze_seed)),
        PanelPainter(images),
        run_dir=run,
        steps=steps,
        batch_size=batch_size,
        seed=seed,
        device=device,
        config=config,
        learning=learning,
        resume=resume,
    )
    print(f"pretrained on panels of {mazes} mazes, {steps:,} steps; the model is in {run}")


def build(
    *,
    run: Path,
    out: Annotated[str | None, typer.Option(help=PLACE, show_default="RUN/kg.nq")] = None,
    update: Update = None,
    threshold: Count = 3,
    beliefs: bool = False,
    as_json: Json = False,
) -> None:
    """The knowledge bases of a run's memory: graph halma/RUN, and where it is known from in halma/RUN/evidence.

    Other graphs there stay. Pairs are counted by the direction of both digits, and whatever their directions.

    Example: gumption kg build halma --run runs/halma

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

    :param run: Folder of a run with its memory.
    :param threshold: Visits from which on something counts as understood.
    :param beliefs: Also what a guided agent makes of it: halma/RUN/knowledge, .../inferred.
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


def splits(
    context: typer.Context,
    *,
    run: Path | None = None,
    memory: Path | None = None,
    out: Path | None = None,
    check: Path | None = None,
    seed: Seed = 0,
    mazes: Count = 50,
    threshold: Count = 3,
    force: bool = False,
) -> None:
    """Make tests of what an agent has not seen but could infer, each with its reason, or check such tests.

    T holds the mazes it was trained on, RT random ones; ST ask about digits in new combinations and colours, AfT about
    pairs inferred from what moves did, AnT about pairs that follow by transitivity. The same experience and seed give
    the same bytes.

    Example: gumption splits halma --run runs/halma --out splits/halma --seed 0

    Example: gumption splits halma --memory memories/mine --out splits/mine

    :param run: Folder of a run with its memory.
    :param memory: Instead of --run: a folder that RecordMemory wrote, of any agent.
    :param out: Folder for the tests: a file each, and a manifest.
    :param check: Instead of --out: check the tests in this folder against the experience.
    :param seed: Fixes every maze.
    :param mazes: Mazes of each test.
    :param threshold: Visits from which on something counts as understood.
    :param force: Replace other tests in the folder.
    """
    from gumption.envs.halma.splits import read_memory, read_run

    if run is not None and memory is None:
        read: Read = partial(read_run, run)
    elif memory is not None and run is None:
        read = partial(read_memory, memory)
    else:
        raise InputError("give either --run, a run of gumption, or --memory, a folder that RecordMemory wrote")
    if check is not None and out is None:
        refuse_foreign(context, dict.fromkeys(("seed", "mazes", "threshold", "force"), "--out"), "", "--check")
        _check(read, check)
    elif out is not None and check is None:
        with working("reading what the agent has seen"):
            from gumption.envs.halma.splits import make_splits

            experience = read(threshold=threshold)
        _warn(experience.warning)
        with working("making the tests"):
            made = make_splits(experience, out, seed=seed, mazes=mazes, force=force)
        _show(made, f"{out}: made and checked")
    else:
        raise InputError("give either --out, a folder to write the tests to, or --check, a folder to check")


def _check(read: Read, folder: Path) -> None:
    with working("reading what the agent has seen"):
        from gumption.envs.halma.splits import check_splits, load_splits

        made = load_splits(folder)
        experience = read(threshold=made.manifest["parameters"]["threshold"])
    _warn(experience.warning)
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


@app.command(epilog="Example: gumption halma probe runs/space --panels 2000 --plot probe.png")
def probe(
    model: Path,
    *,
    panels: Count = 2_000,
    seed: Seed = 0,
    images: str = "test",
    plot: Path | None = None,
    as_json: Json = False,
) -> None:
    """What a linear classifier reads off the slots of a SPACE model, and off the pixels of the digits themselves.

    :param model: Folder of a pretrained SPACE model, as `gumption halma pretrain` makes.
    :param panels: How many are looked at, of mazes that were held out.
    :param seed: Draws the mazes.
    :param images: Handwriting: test, train, or test-full (all of MNIST).
    :param plot: Picture of the confusion matrices.
    """
    from gumption.agents.halma.probe import plot_probe, probe_model

    with working("looking at panels"):
        told = probe_model(model, panels=panels, images=images, seed=seed)
    if plot is not None:
        plot_probe(told, plot)
    if as_json:
        print_json(told)
        return
    shown = [
        (name, *(f"{told[key]['accuracy']:.1%} ± {told[key]['accuracy_std']:.1%}" for key in (name, f"{name}_pixels")))
        for name in ("colour", "digit")
    ]
    print_table(["accuracy", "of the slots", "of the pixels"], shown)
    print(f"{told['digits_with_slot']:,} of {told['digits']:,} digits have a slot, mean IoU {told['mean_iou']:.2f}")


@app.command(epilog="Example: gumption halma failures runs/halma --test RT --plot failures.png")
def failures(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    *,
    test: str = "RT",
    seeds: Count = 3,
    below: Share = 0.5,
    plot: Path | None = None,
    as_json: Json = False,
) -> None:
    """Where agents fail, maze by maze: what they do in trials that miss the goal, and whether training showed it.

    "seen": training showed the digits of the panel together; "goal elsewhere": the same walls and crossings, but never
    with the goal there; "new": not even these.

    :param runs: Folder of a run that has its tests in RUN/splits.
    :param test: Which test: T, RT or a diagnostic one.
    :param seeds: How often the test is played, seeds 0, 1, ...
    :param below: Tell of the mazes where a smaller share of the trials reach the goal.
    :param plot: Draw the worst mazes and where the moves were made, .png and .svg.
    """
    from dataclasses import asdict

    from gumption.agents.halma.failures import find_failures, plot_failures
    from gumption.agents.halma.runs import load_run
    from gumption.envs.halma.splits import load_splits, read_run
    from gumption.scripts.halma.evaluate import picture_stem, splits_of

    stem = None if plot is None else picture_stem(plot)
    found = {}
    for run in runs:
        with working(f"playing {test} of {run}"):
            splits = load_splits(splits_of(run))
            if test not in splits:
                raise InputError(f"{run} has no test {test!r}; it has {', '.join(splits)}")
            panels = read_run(run).knowledge.panels
            for told in find_failures(load_run(run), splits[test], test, panels, range(seeds)):
                found[f"{run} {told.maze}"] = splits[test][told.maze], told
    worst = dict(sorted(found.items(), key=lambda one: one[1][1].reached))
    worst = {
        name if len(runs) > 1 else str(one[1].maze): one
        for name, one in worst.items()
        if one[1].reached < below * one[1].trials
    }
    drawn = [] if stem is None or not worst else plot_failures(worst, stem, f"{test}: goals reached, of all trials")
    if as_json:
        print_json({name: asdict(told) for name, (_, told) in found.items()})
        return
    _print_failures(test, [told for _, told in found.values()], {name: told for name, (_, told) in worst.items()})
    for path in drawn:
        print(f"saved: {path}")


def _print_failures(test: str, found: list[MazeFailures], worst: dict[str, MazeFailures]) -> None:
    from collections import Counter

    from gumption.agents.halma.failures import FAMILIARITIES, MOST

    rows = []
    for name, told in worst.items():
        maze = name, f"{told.reached} of {told.trials}"
        if not told.haunts:
            rows.append((*maze, "-", "-", "-", "-"))
        for haunt in told.haunts:
            tried = f"{' '.join(map(str, haunt.move))}, {haunt.move_share:.0%}"
            right = ", ".join(f"{direction} {length}" for direction, length in haunt.justified) or "-"
            rows.append((*maze, f"{haunt.cell}, {haunt.share:.0%}", tried, right, haunt.familiarity))
            maze = "", ""
    if rows:
        columns = ["maze", "goals reached", "cell, share of moves", "tried there", "justified", "panel was"]
        print_table(columns, rows, "The cells where trials that miss the goal spend most moves.")
    reached, trials = sum(told.reached for told in found), sum(told.trials for told in found)
    print(f"{test}: {reached:,} of {trials:,} trials reached the goal; {len(worst)} of {len(found)} mazes are listed")
    if worst:
        astray, stuck = (
            sum(getattr(told, name) >= MOST for told in worst.values()) for name in ("astray", "to_and_fro")
        )
        showed = Counter(told.haunts[0].familiarity for told in worst.values() if told.haunts)
        seen = ", ".join(f"{name} in {showed[name]}" for name in FAMILIARITIES)
        print(
            f"at least {MOST:.0%} of the moves of failed trials began off the optimal path, in dead ends: in {astray}"
        )
        print(f"... began in one of two cells, to and fro: in {stuck}")
        print(f"training showed the panel of the commonest cell: {seen}")
