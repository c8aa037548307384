"""`gumption experiment`: run one of the papers' experiments, go on with one that was stopped, or report one again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import refuse_foreign

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(add_completion=False)


# Options that are of use to some experiments only.
_WORDCRAFT, _HALMA, _LINKS, _SCALE = "WordCraft's experiments", "HALMA's experiments", "link prediction", "kg-scale"
_OWNERS = {
    **dict.fromkeys(("recipe_book", "word_vectors", "total_steps", "preset", "human"), _WORDCRAFT),
    "episodes": _HALMA,
    "facts": _LINKS,
}


@app.command(epilog="Example: gumption experiment halma-quick --workers 2")
def experiment(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which experiment; --list names them.")] = None,
    recipe_book: Annotated[
        str, typer.Option(help="Name of a recipe book, or a file (.tsv, or .json in the form of the 2020 release).")
    ] = "commonsense",
    word_vectors: Annotated[
        str | None, typer.Option(help="File with word vectors; without it, the ones that ship or were fetched.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs per condition, seeds 0, 1, ...  [default: the experiment's own]")
    ] = None,
    total_steps: Annotated[
        int | None,
        typer.Option(min=1, help="WordCraft: steps of each training.  [default: the paper's 3,000,000]"),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, help="HALMA: episodes of each training.  [default: the paper's 2,000]"),
    ] = None,
    preset: Annotated[str, typer.Option(help="WordCraft: fast (tuned) or paper (Table 1's parameters).")] = "fast",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    workers: Annotated[int, typer.Option(min=1, help="Runs at a time, each in a process with its share of cores.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder of the runs.  [default: runs/NAME]")] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Also write results, table and plots into this folder. HALMA: what it has of agents that were not run "
            "here stays, so that an experiment may be run in parts."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Run nothing: write results, table and plots of this folder's runs anew.")
    ] = None,
    human: Annotated[
        list[Path] | None, typer.Option(help="Result of `gumption play wordcraft` to draw in; may be given again.")
    ] = None,
    facts: Annotated[
        Path | None, typer.Option(help="Link prediction: folder of train.txt, valid.txt and test.txt.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(help="Link prediction, HALMA: only this setting or agent; may be given again."),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
) -> None:
    """Run one of the papers' experiments: every condition with several seeds, then a table and plots.

    Runs that are complete are kept: after a stop, the same command goes on where it was.
    """
    from rich.console import Console

    from gumption.data import InputError

    from .experiments import halma, link_prediction, wordcraft_runs

    console = Console()
    if list_all:
        _list_experiments(console)
        return
    if report is not None:
        _report(console, report, save, human or [])
        return
    if name is None:
        raise InputError("name an experiment, for example wordcraft-fig3; `gumption experiment --list` names them all")
    links = link_prediction.LINK_PREDICTION
    kinds = dict.fromkeys(halma.EXPERIMENTS, _HALMA) | dict.fromkeys(links, _LINKS) | {"kg-scale": _SCALE}
    refuse_foreign(context, _OWNERS, kinds.get(name, _WORDCRAFT), name)
    folder = out or Path("runs") / name
    if name == "kg-scale":
        from .experiments import scale

        _tell(console, scale.run([folder, *([save] if save else [])]))
        return
    if name in links:
        _predict_links(console, links[name], facts, setting, seeds, device, workers, folder, save)
        return
    if name in halma.EXPERIMENTS:
        _test_halma(console, name, setting or [], seeds, episodes, device, workers, folder)
        _report(console, folder, save, [])
        return
    chosen = wordcraft_runs.find_experiment(name)
    if setting:
        raise InputError(f"--setting is for {_LINKS} and {_HALMA}; {name} has no use for it")
    common: dict[str, Any] = {"recipe_book": recipe_book, "preset": preset, "device": device}
    common["total_steps"] = total_steps or chosen.total_steps
    if word_vectors is not None:
        common["word_vectors"] = word_vectors
    _run(console, chosen, common, range(seeds or chosen.seeds), workers, folder)
    _report(console, folder, save, human or [])


def _run(console: Console, chosen: Any, common: dict[str, Any], seeds: range, workers: int, folder: Path) -> None:
    from gumption.envs.wordcraft import RecipeBook, make_split

    from .experiments.jobs import make_jobs, run_jobs, write_plan
    from .experiments.wordcraft_runs import FIXED, plan_header, read_final, run_job

    book = RecipeBook.load(common["recipe_book"])
    split = make_split(book, chosen.base["split"], chosen.base["train_ratio"], 0, chosen.base["depth"])
    write_plan(folder, chosen, common, plan_header(book, split, common["device"], workers), FIXED)
    jobs = make_jobs(chosen, common, seeds, folder)
    done = _announce(console, chosen, jobs)
    for job, seconds in run_jobs(jobs, workers, run_job):
        done += 1
        success = read_final(job.directory)["test_success"]
        console.print(f"{done:>4}/{len(jobs)}  {job.label}, seed {job.seed}: {success:.3f} in {seconds:.0f} s")


def _announce(console: Console, chosen: Any, jobs: list[Any]) -> int:
    """Tell what is run; how many of the jobs are complete."""
    done = sum(job.complete for job in jobs)
    console.print(
        f"[bold]{chosen.name}[/bold]: {chosen.title} ({chosen.figure}); {len(jobs)} runs, {done} complete",
        soft_wrap=True,
    )
    return done


def _test_halma(
    console: Console,
    name: str,
    agents: list[str],
    seeds: int | None,
    episodes: int | None,
    device: str,
    workers: int,
    folder: Path,
) -> None:
    from gumption.agents.halma.evaluation import EVALUATION, load_evaluation

    from .experiments import halma_runs
    from .experiments.jobs import run_jobs, write_plan

    chosen = halma_runs.find_experiment(name)
    common = {"episodes": episodes or chosen.episodes, "device": device}
    asked = halma_runs.find_experiment(name, agents)
    write_plan(folder, chosen, common, halma_runs.plan_header(device, workers, asked.conditions, folder))
    jobs = halma_runs.halma_jobs(asked, common, range(seeds or chosen.seeds), folder)
    done = _announce(console, chosen, jobs)
    halma_runs.pretrain(jobs)
    for job, seconds in run_jobs(jobs, workers, halma_runs.run_job):
        done += 1
        tests = load_evaluation(job.directory / EVALUATION)["tests"]
        told = ", ".join(f"{test} {tests[test]['rho_g']['mean']:.0%}" for test in tests if tests[test]["mazes"])
        line = f"{done:>4}/{len(jobs)}  {job.label}, seed {job.seed}: goals reached in {told}; {seconds:.0f} s"
        console.print(line, soft_wrap=True)
    if chosen.graph:
        _ask_graph(console, {job.label: job.directory for job in jobs if job.seed == 0}, folder / "kg.nq")


def _ask_graph(console: Console, runs: dict[str, Path], store: Path) -> None:
    """Put the knowledge bases of runs into a graph, save it, and ask it what was inferred."""
    from .experiments.halma_runs import build_graph, inferred_pairs

    graph = build_graph(runs)
    graph.save(store)
    console.print(f"\nWhat the agents have understood is in {store}, {len(graph):,} facts.", soft_wrap=True)
    for label in runs:
        pairs = inferred_pairs(graph, label)
        shown = ", ".join(f"{d1} > {d2}" for d1, d2 in pairs[:12]) + (" ..." if len(pairs) > 12 else "")
        console.print(f"Pairs that {label} knows through affordance only: {len(pairs)}  {shown}", soft_wrap=True)


def _predict_links(
    console: Console,
    chosen: Any,
    facts: Path | None,
    settings: list[str] | None,
    seeds: int | None,
    device: str,
    workers: int,
    folder: Path,
    save: Path | None,
) -> None:
    from gumption.data import InputError

    from .experiments.jobs import FINAL, read_json
    from .experiments.link_prediction import gather, run, write_report

    if facts is None:
        raise InputError(f"give the folder of {chosen.name}'s train.txt, valid.txt and test.txt with --facts")
    for job, seconds in run(
        chosen, settings or list(chosen.settings)[:1], facts, range(seeds or chosen.seeds), device, workers, folder
    ):
        mrr = read_json(job.directory / FINAL)["test"]["mrr"]
        console.print(f"{job.label}, seed {job.seed}: test MRR {mrr:.4f} in {seconds:.0f} s")
    results = gather(chosen, folder, device, workers)
    for place in [folder, *([save] if save is not None else [])]:
        _tell(console, write_report(results, place))


def _report(console: Console, folder: Path, save: Path | None, people: list[Path]) -> None:
    from gumption.data import InputError

    from .experiments import halma, halma_report, report
    from .experiments.jobs import read_plan

    plan = read_plan(folder)
    ours = plan["experiment"] in halma.EXPERIMENTS
    if ours and people:
        raise InputError(f"--human is for {_WORDCRAFT}; {folder} has no use for it")
    results = halma_report.gather(folder) if ours else report.gather(folder, people=people)
    write = halma_report.write_report if ours else report.write_report
    written = write(results, folder)
    if save is not None:
        results = halma_report.with_saved(results, plan, save) if ours else results
        written += write(results, save)
    console.print(halma_report.overview(results) if ours else _overview(results))
    _tell(console, written)


def _tell(console: Console, written: Iterable[Path]) -> None:
    for path in written:
        console.print(f"written: {path}", soft_wrap=True, highlight=False)


def _overview(results: Any) -> Any:
    """The main columns of the table, narrow enough for a terminal."""
    from rich.table import Table

    from .experiments.report import number, panels, target, with_interval

    table = Table("condition", "seeds", "success (95 %)", "2020 code", "target", title=results["title"])
    for panel, rows in panels(results).items():
        table.add_section()
        table.add_row(f"[bold]{panel}[/bold]")
        for row in rows:
            success, before = with_interval(row["success"]), number(row["measured_2020"], ".3f")
            table.add_row(row["condition"], str(len(row["seeds"])), success, before, target(row))
    return table


def _list_experiments(console: Console) -> None:
    from rich.table import Table

    from .experiments import halma, wordcraft
    from .experiments.link_prediction import LINK_PREDICTION

    table = Table("name", "figure", "what", "conditions")
    for one in [*wordcraft.EXPERIMENTS.values(), *halma.EXPERIMENTS.values()]:
        table.add_row(one.name, one.figure, one.title, str(len(one.conditions)))
    for one in LINK_PREDICTION.values():
        table.add_row(one.name, "-", one.title, str(len(one.settings)))
    table.add_row("kg-scale", "-", "What of a graph fits where, from bytes and rates measured here", "1")
    console.print(table)
