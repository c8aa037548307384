"""The experiments of the HALMA paper (Xie et al., 2021) as data: agents and settings.

Figures S9, S14 and S15 are pictures: what the text says of them is quoted. A run trains an agent, makes the tests that
fit what it has seen, and plays them: its directory has what training leaves, splits/ and, last, evaluation.json. A run
that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from gumption.agents.halma.evaluation import EVALUATION, GUIDED, agents_of
from gumption.data import InputError
from gumption.data.reading import read_json
from gumption.data.settings import Count, settings
from gumption.data.writing import write_json
from gumption.scripts.results import FINAL, Condition, Experiment, Job, Kind, Row, slug, table

from .table import TABLE_S4, Overview, markdown, published_of, short

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

SPLITS = "splits"  # of a run
SPACE = "space"  # of an experiment: the pretrained model
PROBE = "probe.json"  # of the model: what a linear classifier reads off its slots
SPACE_STEPS = 3_000
MAZES = 50  # of RT and of each diagnostic test (F.1)
SEEDS = (0, 1, 2)  # with which each test is played (F.1)
POINTS = 100  # of a saved learning curve, at most
_BEFORE_EXCLUSION = (
    "Made before AfT and AnT left out pairs that panels had shown at invalid moves, so that some of their questions "
    "had been seen"
)
_BEFORE_HONESTY = (
    "Made before a guided agent's evidence was limited to what it observed, and without those that play beside it"
)


@settings
class Options:
    """Of the command line, for HALMA's experiments alone."""

    episodes: Annotated[
        Count | None,
        typer.Option(help="Episodes of each training.  (default: the paper's 2,000; halma-quick: 1,000)"),
    ] = None


class HALMARuns(Kind):
    """HALMA's experiments."""

    title = "HALMA's experiments"
    options = Options
    last = EVALUATION
    rests_on: ClassVar = {"splits": "gumption.envs.halma.splits:SCHEMA"}

    def settings(self, options: Options, device: str) -> dict[str, Any]:
        """The device, and the episodes where they were given."""
        return {"device": device} | ({} if options.episodes is None else {"episodes": options.episodes})

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """The jobs; agents on SPACE are given the experiment's model, which is pretrained and probed where one of them
        is not complete yet."""
        model = str(out / SPACE)
        jobs = [
            replace(job, settings={**job.settings, "space_model": model}) if job.settings["agent"] == "space" else job
            for job in jobs
        ]
        wanted = next((job for job in jobs if job.settings["agent"] == "space" and not job.complete), None)
        if wanted is not None:
            _pretrain(wanted)
        return jobs

    def run(self, job: Job, progress: bool) -> None:
        """Train, make the tests, play them. A training goes on where it was stopped; one that is complete is kept."""
        from gumption.agents.halma.config import HALMAConfig
        from gumption.agents.halma.evaluation import comparisons, evaluate_splits, save_evaluation
        from gumption.agents.halma.runs import load_run, train_td3
        from gumption.envs.halma.splits import make_splits, read_run

        if (job.directory / FINAL).is_file():
            run = load_run(job.directory)
        else:
            run = train_td3(HALMAConfig(**job.settings), job.directory, resume=True, progress=progress)
        splits = make_splits(read_run(job.directory), job.directory / SPLITS, seed=job.seed, mazes=MAZES)
        evaluation = evaluate_splits(run, splits, seeds=SEEDS, beside=comparisons(run))
        save_evaluation(job.directory / EVALUATION, evaluation)

    def words(self, found: Mapping[str, Any]) -> str:
        tests = found["tests"]
        shown = (f"{test} {tests[test]['rho_g']['mean']:.0%}" for test in tests if tests[test]["mazes"])
        return f"goals reached in {', '.join(shown)}"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """A column of Table 1, those of agents beside it, that of the best run, and the curves.

        :raises InputError: runs with different settings.
        """
        from gumption.agents.halma.evaluation import columns, load_evaluation
        from gumption.agents.halma.plots import read_learning
        from gumption.agents.run_folder import read_final

        evaluations = {seed: load_evaluation(run / EVALUATION) for seed, run in runs.items()}
        grouped = columns(list(evaluations.values()))
        if len(agents_of(grouped)) > 1:
            folder = next(iter(runs.values())).parent
            raise InputError(f"{folder}: its runs have different settings; remove those of another")
        column, *beside = grouped.values()
        best = None
        if len(runs) > 1:  # the run that reaches most goals in random mazes, alone in its column
            seed = max(evaluations, key=lambda one: evaluations[one]["tests"]["RT"]["rho_g"]["mean"])
            best = {"seed": seed, "column": next(iter(agents_of(columns([evaluations[seed]])).values()))}
        walls = [wall for run in runs.values() if (wall := read_final(run).get("wall_s")) is not None]
        return {
            "column": column,
            "beside": beside,
            "best": best,
            "wall_s": round(sum(walls) / len(walls), 1) if walls else None,
            "curve": _curve([read_learning(run) for run in runs.values()]),
        }

    def more(self, rows: Sequence[Row], directory: Path | None, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The paper's columns, and what the probe of SPACE's model found."""
        probe = saved.get("probe")
        if directory is not None and (directory / SPACE / PROBE).is_file():
            probe = read_json(directory / SPACE / PROBE)
        return {"paper": published_of(_columns(rows)), "probe": probe}

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        """Table 1 with the paper's figures, the best runs, what training took, the probe, and notes on older rows."""
        from gumption.agents.halma import prior

        rows, paper = results["rows"], experiment.varied is None
        lines = [*markdown(_columns(rows), paper), ""]
        if best := {row["condition"]: row["best"] for row in rows if paper and row["best"]}:
            seeds = ", ".join(f"{name} {one['seed']}" for name, one in best.items())
            told = f"The best run of each agent, as the paper reports it; best in rho_g of RT (seeds: {seeds}):"
            lines += [told, "", *short({name: one["column"] for name, one in best.items()}), ""]
        costs = ([row["condition"], ", ".join(map(str, row["seeds"])), _seconds(row["wall_s"])] for row in rows)
        lines += [*table(["agent", "seeds", "training, mean wall time"], costs, left=2), ""]
        if results["probe"]:
            lines += [*_probe_table(results["probe"]), ""]
        before = [row for row in rows if "beside" not in row]
        guided = [row for row in rows if row["column"]["agent"] == GUIDED]
        notes = {_BEFORE_EXCLUSION: before, _BEFORE_HONESTY: [row for row in guided if "beside" not in row]}
        for note, labels in notes.items():
            if labels:
                lines += [f"{note}: {', '.join(row['condition'] for row in labels)}.", ""]
        return [*lines, *prior.told(), ""] if guided else lines

    def headline(self, results: Mapping[str, Any]) -> str:
        """rho_g and rho_p of each test."""
        return "\n".join(short(_columns(results["rows"]))) + "\n"

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> Overview:
        """Table 1, with what to read it by."""
        return Overview(_columns(results["rows"]), experiment.varied is None, results["title"])

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Table 1 and learning curves, or the agents over what the experiment varies; and the probe of SPACE."""
        from gumption.agents.halma.plots import plot_ablation, plot_learning, plot_table
        from gumption.agents.halma.probe import plot_probe

        written: list[Path] = []
        rows, heading = results["rows"], f"{results['figure']}: {results['title']}"
        if experiment.varied:
            setting, label = experiment.varied
            agents: dict[str, dict[Any, Mapping[str, Any]]] = {}
            for row in rows:
                agents.setdefault(row["column"]["agent"], {})[row["settings"][setting]] = row["column"]
            written += plot_ablation(agents, directory / "ablation", label, heading)
        else:
            written += plot_table(agents_of(_columns(rows)), directory / "table", heading, results["paper"])
            curves = {row["condition"]: row["curve"] for row in rows}
            if any(curves.values()):
                written += plot_learning(curves, directory / "curves", heading)
        if results["probe"]:
            plot_probe(results["probe"], directory / "probe.png")
            written.append(directory / "probe.png")
        return written


KIND = HALMARuns()


def _pretrain(job: Job) -> None:
    """Train and probe the SPACE model that a job wants."""
    from gumption.agents.halma.config import HALMAConfig
    from gumption.agents.halma.probe import probe_model
    from gumption.agents.halma.space_training import PRESETS, pretrain_space
    from gumption.envs.halma import Mazes, sample_mazes
    from gumption.envs.halma.visual import PanelPainter

    config = HALMAConfig(**job.settings)
    mazes = Mazes(sample_mazes(config.num_mazes, config.maze_seed, config.mean_depth, config.mean_branches))
    model, learning = PRESETS["fast"]
    folder = Path(job.settings["space_model"])
    painter = PanelPainter(config.images)
    pretrain_space(
        mazes, painter, run_dir=folder, steps=SPACE_STEPS, device=config.device, config=model, learning=learning,
        resume=folder.is_dir(),
    )  # fmt: skip
    if not (folder / PROBE).is_file():
        write_json(folder / PROBE, probe_model(folder))


def _seconds(wall: float | None) -> str:
    return "-" if wall is None else f"{wall:,.0f} s"


def _probe_table(probe: Mapping[str, Any]) -> list[str]:
    """Table S4 in Markdown."""
    slots = f"{probe['digits_with_slot']:,} of {probe['digits']:,} digits have one"
    lines = []
    for name, (paper, spread) in TABLE_S4.items():
        found = (probe[key] for key in (name, f"{name}_pixels"))
        ours = [f"{100 * one['accuracy']:.1f} ± {100 * one['accuracy_std']:.1f}" for one in found]
        lines.append([f"{name}, %", *ours, f"{paper} ± {spread}"])
    return table(["linear probe", f"SPACE's slots ({slots})", "pixels", "the paper's slots"], lines)


def _columns(rows: Sequence[Row]) -> dict[str, Mapping[str, Any]]:
    """By name; those that played beside an agent come after it, and are told apart as it is."""
    found: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        found[row["condition"]] = row["column"]
        told = row["condition"].removeprefix(row["column"]["agent"])
        found |= {column["agent"] + told: column for column in row.get("beside", ())}
    return found


def _curve(runs: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Finished trials and valid moves of every run over the episodes that all runs have; None where there are none.

    Several episodes may end in one step, so each run has figures of other episodes: between them they are interpolated.
    """
    import numpy as np

    told = [run for run in runs if run is not None]
    if len(told) < len(runs):
        return None
    low, high = max(run["episodes"][0] for run in told), min(run["episodes"][-1] for run in told)
    at = [episode for episode in told[0]["episodes"] if low <= episode <= high]
    kept = at[:: -(-len(at) // POINTS)]
    kept += [at[-1]] * (kept[-1] != at[-1])
    return {"episodes": kept} | {
        key: [np.interp(kept, run["episodes"], run[key][0]).round(4).tolist() for run in told]
        for key in ("finished_trials", "valid_moves")
    }


def ask_graph(runs: Mapping[str, Path], folder: Path) -> list[str]:
    """Put the knowledge bases of runs into one graph, save it as kg.nq, and tell what was inferred."""
    graph = build_graph(runs)
    graph.save(folder / "kg.nq")
    lines = ["", f"What the agents have understood is in {folder / 'kg.nq'}, {len(graph):,} facts."]
    for label in runs:
        pairs = inferred_pairs(graph, label)
        shown = ", ".join(f"{d1} > {d2}" for d1, d2 in pairs[:12]) + (" ..." if len(pairs) > 12 else "")
        lines.append(f"Pairs that {label} knows through affordance only: {len(pairs)}  {shown}")
    return lines


def build_graph(runs: Mapping[str, Path]) -> KnowledgeGraph:
    """A graph of the knowledge bases of runs, each in the named graph halma/NAME."""
    from gumption.envs.halma import KnowledgeBases, Memory
    from gumption.envs.halma.memory import FOLDER
    from gumption.kg import KnowledgeGraph

    graph = KnowledgeGraph()
    for name, run in runs.items():
        KnowledgeBases.of(Memory.load(run / FOLDER)).add_to(graph, slug(name))
    return graph


def inferred_pairs(graph: KnowledgeGraph, name: str) -> list[tuple[int, int]]:
    """The pairs that a run of `build_graph` knows through affordance only: with no types in KB_S or KB_C."""
    from gumption.envs.halma.knowledge_base import THROUGH_AFFORDANCE_ONLY

    answers = graph.query(THROUGH_AFFORDANCE_ONLY, run=slug(name))
    return sorted((int(answer["greater"]), int(answer["lesser"])) for answer in answers)


# ---- The experiments


BASE = {"episodes": 2000}
_PLAIN: dict[str, dict[str, Any]] = {
    "MLP": {"agent": "mlp"},
    "LSTM": {"agent": "lstm"},
    "TRAN": {"agent": "tran"},
    "TRAN+LSTM": {"agent": "tran+lstm"},
}
_GUIDED: dict[str, dict[str, Any]] = {"written strategy + KG": {"agent": "mlp", "guided": True}}
_SYMBOLIC = {**_PLAIN, **_GUIDED}
_VISUAL: dict[str, dict[str, Any]] = {
    "CNN+MLP": {"agent": "cnn+mlp"},
    "CNN+MLP, fixed panels": {"agent": "cnn+mlp", "panels": "fixed"},
    "CNN+TRAN": {"agent": "cnn+tran"},
    "SPACE": {"agent": "space"},
}


def _conditions(agents: Mapping[str, Mapping[str, Any]]) -> dict[str, Condition]:
    return {name: Condition(settings) for name, settings in agents.items()}


def _over(setting: str, values: Sequence[int], words: str) -> dict[str, Condition]:
    """Every symbolic agent with every value of a setting."""
    return {
        f"{name}, {words.format(value)}": Condition({**settings, setting: value})
        for name, settings in _SYMBOLIC.items()
        for value in values
    }


_TABLE_CLAIMS = (
    "Section 4: all symbolic agents reach goals in random mazes about as well as in training mazes; in the diagnostic "
    "tests the MLP agent degrades most, agents with an LSTM keep their success but not the length of their ways, and "
    "the efficiency of all is disconcertingly low: agents do not understand the concept space."
)
_GUIDED_NOTE = (
    'The agent "written strategy + KG" is ours. People wrote its strategy and the rules; its facts are counted in its '
    "own memory. Beside it stand its knowledge without a network, its network before training and without knowledge, "
    "random options and the oracle, in its own tests; the agent without knowledge is MLP, in tests of its own."
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "halma-quick",
            "Table 1 in minutes",
            "An agent without and with its own knowledge graph, shortly trained",
            KIND,
            _conditions({"MLP": _PLAIN["MLP"], **_GUIDED}),
            _TABLE_CLAIMS,
            "Trained for half of the paper's 2,000 episodes, with one seed. " + _GUIDED_NOTE,
            seeds=1,
            base={"episodes": 1000},
            finish=ask_graph,
        ),
        Experiment(
            "halma-table1",
            "Table 1, symbolic",
            "Generalization tests made for what each agent has seen",
            KIND,
            _conditions(_SYMBOLIC),
            _TABLE_CLAIMS,
            _GUIDED_NOTE,
            base=BASE,
        ),
        Experiment(
            "halma-visual",
            "Table 1, visual",
            "Agents that see panels of handwritten digits, max_opt_len 1",
            KIND,
            _conditions(_VISUAL),
            "Section 4: under visual observation all agents fail the generalization tests, even in the easiest setup; "
            "SPACE agents perform worse than CNN+TRAN agents even under random split.",
            "Panels are redrawn at each look. With fixed panels each cell of a maze has one picture, as we read the "
            "100 mazes 'along with their visual panels' of the paper; tests show their mazes in other handwriting, "
            "each cell in one picture too. Its exploration is counted in updates, see FIXED_PANELS in "
            "agents/halma/config.py. SPACE is pretrained once, on redrawn panels of the training mazes, for all seeds "
            "of its agent.",
            base={**BASE, "max_opt_len": 1},
        ),
        Experiment(
            "halma-volume",
            "Figure S14",
            "More training mazes",
            KIND,
            _over("num_mazes", (100, 300, 500, 1000), "{} mazes"),
            "Section G.1: all agents gain from increased exposure; the rate of goals reached in the diagnostic tests "
            "rises from 30-60 % to 80 %; from 300 mazes on the distinction between inductive biases vanishes; the "
            "efficiency reaches only around 50 % at best; valid moves reach around 90 % in random split for the "
            "stateless agent with 1,000 mazes.",
            _GUIDED_NOTE,
            base=BASE,
            varied=("num_mazes", "training mazes"),
        ),
        Experiment(
            "halma-options",
            "Figure S15",
            "Longer options",
            KIND,
            _over("max_opt_len", (1, 3, 5), "max_opt_len {}"),
            "Section G.2: performance degrades on all measures as max_opt_len increases; the efficiency drops "
            "significantly from max_opt_len 3 on in the diagnostic tests.",
            _GUIDED_NOTE,
            base=BASE,
            varied=("max_opt_len", "max_opt_len"),
        ),
    )
}
