"""The subcommands of `gumption halma`: SPACE, probes, failures, the figures of the paper, and single mazes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gumption.agents.halma.config import PretrainingConfig
from gumption.data import InputError
from gumption.data.settings import Count, Seed, Share
from gumption.data.writing import whole_file
from gumption.envs.halma.maze import ALL_COLOURS, MeanBranches, MeanDepth, Move, NumMazes
from gumption.envs.halma.rules import RULES, OptLen, PanelsEqual, Rules, Side
from gumption.envs.priors import Laws, Names
from gumption.scripts.apps import (
    App,
    NewGif,
    NewJson,
    NewLines,
    NewPlot,
    NewPng,
    from_config,
)
from gumption.scripts.halma.commands import (
    FLAGS,
    Understanding,
    experience_of,
    report_saved,
    splits_of,
    understood,
    warn_of_others,
)
from gumption.scripts.output import Json, print_json, print_table, working
from gumption.scripts.worlds import Resume, Run

if TYPE_CHECKING:
    from gumption.envs.halma.generator import PanelStatistics

    from .failures import MazeFailures

app = App(
    no_args_is_help=True, add_completion=False, help="Draw, generate and measure HALMA's mazes; see where agents fail."
)
DrawSeed = Annotated[Seed, typer.Option(help="Draws the mazes.")]
Depth = Annotated[MeanDepth, typer.Option(help="Mean depth of dead ends in cells: 2 for training, 5 in tests.")]
Branches = Annotated[MeanBranches, typer.Option(help="Mean number of dead ends of a maze.")]
BoxSide = Annotated[Side, typer.Option(help="Mazes fit into a box of so many cells both ways.")]
Equal = Annotated[
    PanelsEqual, typer.Option(help="Where a crossing is as far as the wall: both digits, or one, the wall's.")
]
Adjusted = Annotated[
    bool,
    typer.Option("--adjusted", help="Turn mazes so that colours are uniform; none has a panel of more than 8 digits."),
]
Primitives = Annotated[
    str, typer.Option(help="With commas between: numbers of cells, and MODULE:NAME of your own, after 0,1.")
]


@app.command(epilog="Example: gumption halma pretrain --steps 2000 --run runs/space")
@from_config(PretrainingConfig, flags=FLAGS, skip=("world",))
def pretrain(config: PretrainingConfig, run: Run = Path("runs/space"), resume: Resume = False) -> None:
    """Pretrain SPACE on the panels of HALMA's training mazes: the perception of the agent space."""
    from gumption.agents.halma.space_training import pretrain_space

    pretrain_space(config, run, resume=resume)
    print(f"pretrained on panels of {config.num_mazes} mazes, {config.steps:,} steps; the model is in {run}")


def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    *,
    splits: Path | None = None,
    tests: str | None = None,
    seeds: Count = 3,
    matched: bool = True,
    space_model: Path | None = None,
    paper: bool = False,
    plot: NewPlot | None = None,
    device: str | None = None,
    as_json: Json = False,
) -> None:
    """Play the tests that `gumption splits` made for a run.

    Several runs of one agent with different seeds become one column of the paper's Table 1. Beside a guided agent stand
    its knowledge alone, its network before training and without knowledge, random options and the oracle; beside an
    agent trained by TD3, which takes the option with the largest logits, its network with options drawn. Plots go to
    RUN/plots.

    Example: gumption evaluate runs/halma --splits splits/halma --paper --plot table.png

    :param runs: Folder of a run, as `gumption train` leaves it.
    :param splits: Folder of tests, for all runs.  [default: RUN/splits of each]
    :param tests: The names of those that are played, with commas between, such as RT.  [default: all]
    :param seeds: How often each test is played, seeds 0, 1, ...
    :param matched: Beside each generated test, also play random mazes of the same shape.
    :param space_model: The run's SPACE model, if it was moved.
    :param paper: Show the paper's figures beside.
    :param plot: Draw the table into this file, .png and .svg.
    :param device: Other than in training: auto, cpu or cuda.
    """
    from rich.console import Console

    from gumption.agents.halma.evaluation import agents_of, columns, comparisons, evaluate_splits
    from gumption.agents.halma.plots import plot_learning, plot_table, read_learning
    from gumption.agents.halma.runs import load_run
    from gumption.envs.halma.splits import load_splits

    from .experiments import Overview, published_of

    stem = None if plot is None else plot.with_suffix("")
    chosen = None if tests is None else [name.strip() for name in tests.split(",")]
    evaluations, drawn = [], []
    for run in runs:
        with working(f"reading {run}"):
            made = load_splits(splits_of(run, splits))
            warn_of_others(run, made)
            agent = load_run(run, device=device, space_model=None if space_model is None else str(space_model))
        with working(f"playing the tests of {run}"):
            beside = comparisons(agent)
            evaluations.append(
                evaluate_splits(agent, made, seeds=range(seeds), tests=chosen, matched=matched, beside=beside)
            )
        alone = agents_of(columns(evaluations[-1:]))
        drawn += plot_table(alone, run / "plots" / "table", published=published_of(alone))
        if curve := read_learning(run):
            drawn += plot_learning(dict.fromkeys(alone, curve), run / "plots" / "curves")
    table = columns(evaluations)
    if stem is not None:
        drawn += plot_table(agents_of(table), stem, published=published_of(table) if paper else None)
    if as_json:
        failed = {str(run): one["failures"] for run, one in zip(runs, evaluations, strict=True)}
        print_json({"columns": table, "failures": failed, "plots": [str(path) for path in drawn]})
        return
    console = Console()
    console.print(Overview(table, paper), highlight=False)
    for run, one in zip(runs, evaluations, strict=True):
        for failure in one["failures"]:
            console.print(f"note: {run}: {failure}", soft_wrap=True, highlight=False)
    for path in drawn:
        console.print(f"written: {path}", soft_wrap=True, highlight=False)


@app.command(epilog="Example: gumption halma probe runs/space --panels 2000 --plot probe.png")
def probe(
    model: Path,
    *,
    panels: Count = 2_000,
    seed: Seed = 0,
    images: str = "test",
    plot: NewPlot | None = None,
    as_json: Json = False,
) -> None:
    """The accuracy of a linear classifier on the slots of a SPACE model, and on the pixels of the digits themselves.

    :param model: Folder of a pretrained SPACE model, as `gumption halma pretrain` makes.
    :param panels: Number of panels, of held-out mazes.
    :param seed: Draws the mazes.
    :param images: Handwriting: test, train, or test-full (all of MNIST).
    :param plot: Picture of the confusion matrices.
    """
    from .probe import plot_probe, probe_model

    with working("looking at panels"):
        found = probe_model(model, panels=panels, images=images, seed=seed)
    if plot is not None:
        plot_probe(found, plot)
    if as_json:
        print_json(found)
        return
    rows = []
    for name in ("colour", "digit"):
        of_slots, of_pixels = found[name], found[f"{name}_pixels"]
        rows.append((name, *(f"{one['accuracy']:.1%} ± {one['accuracy_std']:.1%}" for one in (of_slots, of_pixels))))
    print_table(["accuracy", "of the slots", "of the pixels"], rows)
    print(f"{found['digits_with_slot']:,} of {found['digits']:,} digits have a slot, mean IoU {found['mean_iou']:.2f}")


@app.command(epilog="Example: gumption halma failures runs/halma --test RT --plot failures.png")
def failures(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    *,
    test: str = "RT",
    seeds: Count = 3,
    below: Share = 0.5,
    plot: NewPlot | None = None,
    as_json: Json = False,
) -> None:
    """Where agents fail, maze by maze: the moves of trials that miss the goal, and whether training showed the panels.

    "seen": training showed the digits of the panel together; "goal elsewhere": the same walls and crossings, but never
    with the goal there; "new": not even these.

    :param runs: Folder of a run that has its tests in RUN/splits.
    :param test: Which test: T, RT or a diagnostic one.
    :param seeds: How often the test is played, seeds 0, 1, ...
    :param below: List the mazes where a smaller share of the trials reach the goal.
    :param plot: Draw the worst mazes with the places of these moves, .png and .svg.
    """
    from gumption.agents.halma.runs import load_run
    from gumption.envs.halma.splits import load_splits, read_run

    from .failures import find_failures, plot_failures

    stem = None if plot is None else plot.with_suffix("")
    found = {}
    for run in runs:
        with working(f"playing {test} of {run}"):
            splits = load_splits(splits_of(run))
            if test not in splits:
                raise InputError(f"{run} has no test {test!r}; it has {', '.join(splits)}")
            panels = read_run(run).knowledge.panels
            for one in find_failures(load_run(run), splits[test], test, panels, range(seeds)):
                found[f"{run} {one.maze}"] = splits[test][one.maze], one
    worst = dict(sorted(found.items(), key=lambda one: one[1][1].reached))
    worst = {
        name if len(runs) > 1 else str(one[1].maze): one
        for name, one in worst.items()
        if one[1].reached < below * one[1].trials
    }
    drawn = [] if stem is None or not worst else plot_failures(worst, stem, f"{test}: goals reached, of all trials")
    if as_json:
        print_json({name: asdict(one) for name, (_, one) in found.items()})
        return
    _print_failures(test, [one for _, one in found.values()], {name: one for name, (_, one) in worst.items()})
    report_saved(drawn)


def _print_failures(test: str, found: list[MazeFailures], worst: dict[str, MazeFailures]) -> None:
    from collections import Counter

    from .failures import FAMILIARITIES, MOST

    rows = []
    for name, one in worst.items():
        maze = name, f"{one.reached} of {one.trials}"
        if not one.haunts:
            rows.append((*maze, "-", "-", "-", "-"))
        for haunt in one.haunts:
            tried = f"{' '.join(map(str, haunt.move))}, {haunt.move_share:.0%}"
            right = ", ".join(f"{direction} {length}" for direction, length in haunt.justified) or "-"
            rows.append((*maze, f"{haunt.cell}, {haunt.share:.0%}", tried, right, haunt.familiarity))
            maze = "", ""
    if rows:
        columns = ["maze", "goals reached", "cell, share of moves", "tried there", "justified", "panel was"]
        print_table(columns, rows, "The cells where trials that miss the goal spend most moves.")
    reached, trials = sum(one.reached for one in found), sum(one.trials for one in found)
    print(f"{test}: {reached:,} of {trials:,} trials reached the goal; {len(worst)} of {len(found)} mazes are listed")
    if worst:
        astray, stuck = (sum(getattr(one, name) >= MOST for one in worst.values()) for name in ("astray", "to_and_fro"))
        showed = Counter(one.haunts[0].familiarity for one in worst.values() if one.haunts)
        seen = ", ".join(f"{name} in {showed[name]}" for name in FAMILIARITIES)
        off = "of the moves of failed trials began off the optimal path, in dead ends"
        print(f"at least {MOST:.0%} {off}: in {astray}")
        print(f"... began in one of two cells, to and fro: in {stuck}")
        print(f"training showed the panel of the commonest cell: {seen}")


# ---- the paper's figures


@app.command(epilog="Example: gumption halma hitmaps --run runs/halma --plot hitmaps.png")
@understood
def hitmaps(
    *,
    plot: NewPlot,
    understanding: Understanding,
    run: Path | None = None,
    memory: Path | None = None,
) -> None:
    """Draw how often each pair of digits was visited, by knowledge base and direction (Xie et al., 2021, Fig. S6).

    :param plot: The picture, .png and .svg.
    :param run: Folder of a run with its memory.
    :param memory: Instead of --run: a folder that RecordMemory wrote, of any agent.
    """
    from gumption.agents.halma.plots import plot_hitmaps

    stem = plot.with_suffix("")
    knowledge = experience_of(run, memory, **asdict(understanding)).knowledge
    title = f"Visits of pairs of digits, {understanding.knowledge_base} knowledge bases"
    report_saved(plot_hitmaps(knowledge, stem, title))


@app.command(epilog="Example: gumption halma grammar --run runs/halma --plot grammar.png")
@understood
def grammar(
    *,
    plot: NewPlot,
    understanding: Understanding,
    run: Path | None = None,
    memory: Path | None = None,
    max_opt_len: OptLen | None = None,
    side: BoxSide = RULES.side,
    primitives: Primitives = RULES.primitives,
) -> None:
    """Draw the And-Or grammar of panels, options and what options do to digits (Xie et al., 2021, Appendix B, Fig. 2).

    Without an agent's experience it is the world's; with it, those of its options are lit that the agent has learned.

    :param plot: The picture, .png and .svg.
    :param run: Folder of a run with its memory.
    :param memory: Instead of --run: a folder that RecordMemory wrote, of any agent.
    :param max_opt_len: Primitives of the world's options.  [default: 5]
    """
    from .grammar import plot_grammar

    stem = plot.with_suffix("")
    if run is None and memory is None:
        rules, title = Rules(side, primitives=primitives), "The And-Or grammar of HALMA"
        report_saved(plot_grammar(stem, max_opt_len=max_opt_len or 5, rules=rules, title=title))
        return
    if (max_opt_len, side, primitives) != (None, RULES.side, RULES.primitives):
        raise InputError(
            "--max-opt-len, --side and --primitives are for the world's grammar; an agent's experience has its own"
        )
    knowledge = experience_of(run, memory, **asdict(understanding)).knowledge
    report_saved(plot_grammar(stem, knowledge, title="Options that used up digits, and how often"))


@app.command(epilog="Example: gumption halma figure S10 --plot s10.png")
def figure(name: Annotated[str, typer.Argument(metavar="NAME")], *, plot: NewPlot, results: Path | None = None) -> None:
    """Draw a figure of Xie et al. (2021) from results: S9, S10, S11 (learning curves), S14, S15, S16 (ablations).

    :param name: The figure.
    :param plot: The picture, .png and .svg.
    :param results: Folder of an experiment, with results.json.  [default: the saved results of this version]
    """
    from .figures import draw_figure

    paths, shown = draw_figure(name, plot.with_suffix(""), results)
    print(f"results of {shown['experiment']}: {', '.join(row['condition'] for row in shown['rows'])}")
    report_saved(paths)


# ---- mazes


@app.command(epilog="Example: gumption halma maze --seed 3 --gif oracle.gif")
def maze(
    *,
    seed: DrawSeed = 0,
    mean_depth: Depth = 2,
    mean_branches: Branches = 5,
    file: Path | None = None,
    line: Count = 1,
    side: BoxSide = RULES.side,
    panels_equal: Equal = RULES.panels_equal,
    primitives: Primitives = RULES.primitives,
    names: Names = RULES.names,
    laws: Laws = RULES.laws,
    max_opt_len: OptLen = 5,
    gif: NewGif | None = None,
    png: NewPng | None = None,
    json: NewJson | None = None,
) -> None:
    """Draw a maze with the panel of its start, and list the oracle's moves of its first and its later trials.

    :param file: Take a maze of this file instead (JSON, or JSON Lines with a maze a line).
    :param line: Which line of the file.
    :param names: Real digits, colours and shapes; anonymous ones; or shuffled among their kind.
    :param laws: Counterfactual: colours and shapes indicate other directions.
    :param max_opt_len: Primitives of the oracle's options.
    :param gif: Save the oracle's first trial as an animation.
    :param png: Save the panel of the start beside the maze.
    :param json: Save the maze, for --file and for reset options.
    """
    from gumption.envs.halma import Mazes, oracle_trials, sample_mazes
    from gumption.envs.halma.render import draw, trial_gif

    rules = Rules(side, panels_equal, primitives, names, laws)
    if file is None:
        drawn = sample_mazes(1, seed, mean_depth, mean_branches, side=side)[0]
    else:
        mazes = Mazes.load(file, rules)
        if line > len(mazes):
            raise InputError(f"--line is {line}; {file} has {len(mazes)}")
        drawn = mazes[line - 1]
    trials = oracle_trials(drawn, max_opt_len, rules)
    ends = sum(drawn.degree(cell) == 1 for cell in drawn.cells if cell not in (drawn.start, drawn.goal))
    far = len(drawn.optimal_path) - 1
    print(f"{len(drawn.cells)} cells, {len(drawn.crossings)} crossings, {ends} dead ends, {far} cells to the goal\n")
    print(draw(drawn, drawn.start, "ansi", rules=rules))
    print(f"oracle, first trial: {_listed(trials.exploring)}")
    print(f"oracle, then:        {_listed(trials.planned)}")
    if json is not None:
        Mazes([drawn]).save(json)
    if png is not None:
        from PIL import Image

        with whole_file(png) as beside:
            Image.fromarray(draw(drawn, drawn.start, "rgb_array", rules=rules)).save(beside, format="PNG")
    if gif is not None:
        trial_gif(gif, drawn, trials.exploring, rules=rules)
    report_saved(filter(None, (json, png, gif)))


def _listed(moves: list[Move]) -> str:
    count = f"{len(moves)} move{'' if len(moves) == 1 else 's'}"
    return f"{', '.join(f'{direction} {length}' for direction, length in moves)} ({count})"


@app.command(epilog="Example: gumption halma generate --count 50 --mean-depth 5 --seed 1 --out mazes.jsonl")
def generate(
    *,
    out: NewLines,
    count: NumMazes = 100,
    seed: DrawSeed = 0,
    mean_depth: Depth = 2,
    mean_branches: Branches = 5,
    side: BoxSide = RULES.side,
    adjusted: Adjusted = False,
) -> None:
    """Sample mazes into a file for the environment's `mazes`, each checked by following the oracle to the goal.

    :param out: File to write: JSON Lines, a maze a line.
    :param count: How many, each another one.
    """
    from gumption.envs.halma import Mazes, check_unambiguous, sample_mazes

    with working(f"{count} mazes"):
        mazes = sample_mazes(count, seed, mean_depth, mean_branches, side=side, adjusted=adjusted)
        for drawn in mazes:
            check_unambiguous(drawn)
        Mazes(mazes).save(out)
    print(f"{out}: {count} maze{'' if count == 1 else 's'}, all of them trees on which the oracle never has a choice")


@app.command(epilog="Example: gumption halma statistics --sets 10 --plot statistics.png")
def statistics(
    *,
    sets: Count = 10,
    mazes: NumMazes = 100,
    seed: Seed = 0,
    mean_depth: Depth = 2,
    mean_branches: Branches = 5,
    side: BoxSide = RULES.side,
    panels_equal: Equal = RULES.panels_equal,
    adjusted: Adjusted = False,
    file: Path | None = None,
    plot: NewPng | None = None,
) -> None:
    """Count colours and digits over the panels of all cells, and say set by set which of the paper's claims hold (Xie
    et al., 2021, Appendix C, Fig. S5).

    :param sets: How many sets of mazes.
    :param mazes: Mazes of a set.
    :param seed: Draws the first set; the next ones have the next seeds.
    :param file: Measure the mazes of this file instead, as one set.
    :param plot: Save the four plots of Fig. S5 as a PNG file.
    """
    from gumption.envs.halma import Mazes
    from gumption.envs.halma.generator import PanelStatistics, sample_statistics, save_plot

    with working("panels"):
        rules = Rules(side, panels_equal)
        if file is not None:
            found = PanelStatistics.of([Mazes.load(file, rules)])
        else:
            found = sample_statistics(sets, mazes, seed, mean_depth, mean_branches, rules=rules, adjusted=adjusted)
        if plot is not None:
            save_plot(found, plot)
    _print_statistics(found)
    if plot is not None:
        print(f"saved: {plot}")


def _print_statistics(found: PanelStatistics) -> None:
    from gumption.envs.halma.generator import MOST

    for title, names, counts in (
        ("colour", ALL_COLOURS, found.colours),
        ("digits in a panel", range(MOST + 1), found.panels),
        ("digit", range(1, 1 + found.digits.shape[1]), found.digits),
    ):
        of_all = counts.sum()
        rows = [
            (name, f"{mean:.1f}", f"{deviation:.1f}", f"{mean * len(counts) / of_all:.1%}")
            for name, mean, deviation in zip(names, counts.mean(0), counts.std(0), strict=True)
        ]
        print_table([title, "mean", "standard deviation", "share"], rows)
    rows = []
    for claim in found.claims:
        least, most = claim.values.min(), claim.values.max()
        form = ".1%" if most < 2 else ",.0f"
        rows.append((claim.text, f"{claim.met.sum()} of {len(claim.met)}", f"{least:{form}}", f"{most:{form}}"))
    print_table(["the paper of each set", "sets where it holds", "least", "most"], rows)
    walls, goal = found.unevenness
    fit, most = found.log_fit, max(count for count in range(MOST + 1) if found.panels[:, count].any())
    print(f"panels of 3 to 6 digits: {found.share(3, 6).mean():.1%}; the most digits of a panel: {most}")
    print(f"commonest colour above the rarest: {walls:.1%} of walls and crossings, {goal:.1%} of the goal's")
    print(f"log10 of a digit's count: {fit.intercept:.2f} {fit.slope:+.3f} x digit, R² {fit.r_squared:.3f}")
