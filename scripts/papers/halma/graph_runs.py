"""The players of the experiment halma-graph: the agent that plans by facts of its own moves, and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gumption.agents.halma.evaluation import ORACLE, RANDOM
from gumption.data.reading import read_json
from gumption.envs.halma.diagnostics import SPLITS
from gumption.scripts.results import HEADER, Condition, Job, Kind, Row, figure, number, panels, spread, summary, table

if TYPE_CHECKING:
    from gumption.agents.halma.acting import Actor
    from gumption.agents.halma.config import HALMAConfig
    from gumption.agents.halma.lived import Outlook
    from gumption.envs.halma import HALMAVectorEnv, Mazes, Memory
    from gumption.envs.priors import Laws
    from gumption.kg.effects import Lived
    from gumption.scripts.results import Experiment

MAZES = 50
NEW, OWN = "new mazes", "tests of its own memory"  # panels
FIGURES = {
    "rho_a": "rho_a: valid moves, %", "rho_g": "rho_g: goals, %", "rho_p": "rho_p: paths, %",
    "first_trial": "first trial, % of the oracle's",
}  # fmt: skip
NEW_MAZES = 900  # added to the seed, draws the mazes of `GraphRuns`
STRATEGY = Path(__file__).parents[1] / "results" / "halma-strategy" / "rows.json"


class GraphRuns(Kind):
    """Players of new mazes with dead ends of mean depth 5, 10 trials each; every seed has its own mazes and life."""

    title = "HALMA's experiment on lived facts"
    last = "played.json"
    named = "player"
    columns: ClassVar = {
        "moves lived": figure("moves", ",d"),
        "seeds": lambda row, rows: str(sum(share is not None for share in row["rho_p"]["per_seed"])),
        **{heading: spread(name, ".1f") for name, heading in FIGURES.items()},
    }
    code = ("envs/halma", "agents/halma", "kg/effects.py", "kg/value_iteration.py", "kg/rules")
    drawn = ("rho_p", "paths", FIGURES["rho_p"])

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        """Live, if the method is to train, and play the mazes."""
        from gumption.agents.halma.acting import moves_of
        from gumption.agents.halma.config import HALMAConfig
        from gumption.agents.halma.evaluation import env_of
        from gumption.agents.halma.runs import train_halma
        from gumption.envs.halma.env import Tally

        given = dict(job.settings)
        moves = given.pop("moves", None)
        config = HALMAConfig(**given)
        if job.method in ("train", NETWORK):
            train_halma(config, job.directory, resume=True, progress=progress)
        if not (mazes := _mazes(job, config)):
            return dict.fromkeys(("moves", *FIGURES))
        env = env_of(config, mazes, "RT")
        plays = moves_of(_player(job, config, env, moves), env, np.arange(len(mazes)), job.seed)
        tally, first = Tally(env), np.zeros(len(mazes))
        for _, outcome in plays:
            before = tally.efficiency.copy()
            tally.add(outcome)
            first += (outcome.trial == 0) * (tally.efficiency - before)
        shares = tally.measures()._asdict() | {"first_trial": first}
        return {"moves": moves, **{name: round(100 * float(shares[name].mean()), 2) for name in FIGURES}}

    def words(self, found: Mapping[str, Any]) -> str:
        return ", ".join(f"{name} {number(found[name], '.1f')}" for name in FIGURES)

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        runs = [found[seed] for seed in sorted(found, key=int)]
        moves = next((run["moves"] for run in runs if run["moves"]), None)
        return {"moves": moves, **{name: summary([run[name] for run in runs]) for name in FIGURES}}

    def more_rows(self, options: Any, plan: Mapping[str, Any], rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the rows of the hand-written strategy, in the same mazes, after 200,000 random moves."""
        kept = read_json(STRATEGY)
        found = []
        for names in ("real", "shuffled"):
            runs = {str(run["seed"]): run for run in kept["rows"]
                    if (run.get("moves"), run["names"], run["laws"]) == (200_000, names, "real")}  # fmt: skip
            found.append({
                "condition": "written strategy" + ", names shuffled" * (names == "shuffled"),
                "settings": {"names": names}, "seeds": [*map(int, runs)], "panels": [NEW],
                "commit": kept["commit"], "made": {**{key: plan.get(key) for key in HEADER}, "command": kept["about"]},
                **self.figures(Condition(), runs),
            })  # fmt: skip
        return found

    def headline(self, results: Mapping[str, Any]) -> str:
        tables = (
            table([panel, *self.columns], [self.cells(row, rows, panel, self.columns) for row in rows])
            for panel, rows in panels(results).items()
        )
        return "\n\n".join(map("\n".join, tables)) + "\n"

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Leave out tests that no memory gives."""
        rows = [row for row in results["rows"] if row["rho_p"]["iqm"] is not None]
        return super().plots(experiment, {**results, "rows": rows}, directory)


def _mazes(job: Job, config: HALMAConfig) -> Mazes | None:
    """Return the mazes that a job plays: new ones, or a test made from the memory of its source, None without any."""
    from gumption.envs.halma import Mazes, sample_mazes
    from gumption.envs.halma.splits import load_splits, make_splits, read_run

    if job.method not in SPLITS:
        return Mazes(sample_mazes(MAZES, NEW_MAZES + job.seed, mean_depth=5), config.rules)
    run = job.source_run()
    made = run / "splits"
    tests = load_splits(made) if made.is_dir() else make_splits(read_run(run), made, seed=job.seed, mazes=MAZES)
    return tests.get(job.method)


def _player(job: Job, config: HALMAConfig, env: HALMAVectorEnv, moves: int | None) -> Actor:
    from gumption.agents.halma.acting import OracleActor, RandomActor
    from gumption.agents.halma.lived import GraphPlayer
    from gumption.agents.halma.runs import load_run

    if job.method in (RANDOM, ORACLE):
        return RandomActor(config.max_opt_len, config.rules) if job.method == RANDOM else OracleActor(env)
    if job.method == NETWORK:
        return load_run(job.directory).actor()
    run = job.directory if job.source is None else job.source_run()
    outlook = _outlook(run, moves, job.method == "false", job.seed)
    return GraphPlayer(outlook.forgotten() if job.method == "taken away" else outlook)


@lru_cache(maxsize=5)
def _outlook(run: Path, moves: int | None, false: bool, seed: int) -> Outlook:
    from gumption.agents.halma.lived import Outlook, memory_of_run

    memory = memory_of_run(run, moves)
    return Outlook.of(exchanged(memory, seed) if false else memory)


def exchanged(memory: Memory, seed: int) -> Memory:
    """Return the memory with exchanged effects of each action: the symbols that a slot of the panel shows after it are
    permuted, by a separate permutation for each slot, direction and bag of primitives."""
    rng, records, side = np.random.default_rng(seed), memory.records.copy(), memory.rules.side
    bags = np.concatenate([memory.option[:, :1], np.sort(memory.option[:, 1:], axis=1)], axis=1)
    options, option = np.unique(bags, axis=0, return_inverse=True)
    for slot, (lowest, count) in enumerate([(0, side)] * 8 + [(1 - side, 2 * side - 1)] * 2 + [(0, 5)]):
        other = rng.permuted(np.tile(np.arange(count), (len(options), 1)), axis=1)
        after = records["after"][:, slot]
        after[:] = other[option.reshape(-1), after - lowest] + lowest
    return replace(memory, records=records)


def _by(moves: int | None, method: str = "train", of: str | None = None, panel: str = NEW, **more: Any) -> Condition:
    """Return a player of `GraphRuns` by the first `moves` of a life, its own or of another condition."""
    return Condition({"moves": moves, **more}, method, (panel,), of)


NETWORK = "network"
_LIFE, _NO_GRAPH = "graph, own life", "no graph: MLP, MPO"
#: Map conditions to their labels in the table of all worlds.
AT_WORK = {
    _NO_GRAPH: "no graph",
    _LIFE: "graph and learning",
    f"{_LIFE}, its first part": "lived",
    "graph, false facts": "false facts",
    "graph, knowledge taken away": "knowledge taken away",
}
PLAYERS = {
    RANDOM: _by(None, RANDOM),
    _NO_GRAPH: _by(None, NETWORK, agent="mlp", episodes=2000, steps=None),
    f"{_LIFE}, longer": replace(_by(200_000, steps=200_000), on_demand=True),
    _LIFE: _by(50_000),
    f"{_LIFE}, its first part": _by(20_000, "part", _LIFE),
    f"{_LIFE}, names shuffled": _by(20_000, names="shuffled", steps=20_000),
    f"{_LIFE}, laws counterfactual": _by(20_000, laws="counterfactual", steps=20_000),
    "graph, false facts": _by(50_000, "false", _LIFE),
    "graph, knowledge taken away": _by(50_000, "taken away", _LIFE),
    ORACLE: _by(None, ORACLE),
    **{f"{OWN}: {test}": _by(50_000, test, _LIFE, OWN) for test in SPLITS},
}


# ---- A law that changes


BEFORE, AFTER = 40_000, (0, 2_500, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 40_000)
LATER = 10_000  # moves after the last of AFTER, which are predicted


class Relearning(Kind):
    """Facts of random moves whose laws change once: how many moves of later life they predict."""

    title = "HALMA's experiment on laws that change"
    last = "relearned.json"
    named = "facts of"
    code = ("envs/halma", "agents/halma/lived.py", "agents/halma/acting.py", "kg/effects.py", "kg/rules")

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        from gumption.agents.halma.lived import single_moves
        from gumption.kg.effects import Effects, Lived

        parts = [_at_random(BEFORE, "real", job.seed), _at_random(AFTER[-1] + LATER, "counterfactual", job.seed)]
        life = Lived(*(np.concatenate([getattr(part, name) for part in parts]) for name in Lived.__dataclass_fields__))
        slots = Effects.fit(single_moves(parts[1])).tells
        later = single_moves(life.only(slice(-LATER, None)))
        later = later.only(later.carried & (later.after[:, 0, -1] == 1))
        right = []
        for moves in AFTER:
            known = life.only(slice(0, BEFORE + moves))
            effects = Effects.fit(single_moves(known.only(slice(-(job.settings["window"] or 0), None)))).closed()
            predicted = effects.predict(later.thing, later.before, later.action[:, None])
            same = predicted.known & (predicted.value[..., 0] == later.after[:, None])
            possible = np.nan_to_num(predicted.possible[:, 0]) > 0.5
            right.append(round(100 * float((same[:, 0, 0, slots].all(1) & possible).mean()), 2))
        return {"right": right}

    def words(self, found: Mapping[str, Any]) -> str:
        return f"right after {AFTER[-1]:,} moves: {found['right'][-1]:.1f} %"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        runs = [run["right"] for run in found.values()]
        return {"right": [summary(values) for values in zip(*runs, strict=True)]}

    def headline(self, results: Mapping[str, Any]) -> str:
        heads = [self.named, *(f"{moves:,}" for moves in AFTER)]
        lines = [[row["condition"], *(f"{at['iqm']:.0f}" for at in row["right"])] for row in results["rows"]]
        return "\n".join(table(heads, lines)) + "\n"

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        return [*self.headline(results).splitlines(), ""]

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        from gumption.agents.plots import Line, Panel, Scale, plot_curves

        rows = {row["condition"]: np.transpose([at["per_seed"] for at in row["right"]]) for row in results["rows"]}
        lines = [Line(name, AFTER, values) for name, values in rows.items()]
        scale = Scale("moves predicted right, %", 100.0, ".0f", "moves since the laws changed")
        return list(plot_curves([Panel("", lines, scale=scale)], directory / "relearned", results["title"]))


def _at_random(moves: int, laws: Laws, seed: int) -> Lived:
    """Return moves at random in 100 training mazes, of 100 agents at a time."""
    from gumption.agents.halma.acting import random_options
    from gumption.envs.halma import HALMAVectorEnv, Mazes, Memory, sample_mazes
    from gumption.envs.halma.memory import flags, lived
    from gumption.envs.halma.rules import Rules

    rng, rules = np.random.default_rng(seed), Rules(laws=laws)
    env = HALMAVectorEnv(100, mazes=Mazes(sample_mazes(100, seed), rules), autoreset_mode="SameStep")
    env.reset(seed=seed)
    parts = []
    for _ in range(moves // 100):
        options = random_options(rng, 100, env.max_opt_len, rules)
        made = env.move(options)
        marks = flags(made.valid, made.reached, made.trial_over | made.done)
        parts.append((made.before, options, made.after, made.maze, made.trial, np.arange(100), marks))
    columns: list[Any] = [np.concatenate(part) for part in zip(*parts, strict=True)]
    return lived(Memory.of(env.max_opt_len, *columns, rules=rules))


WINDOWS = {"all moves": None} | {f"the last {moves:,} moves": moves for moves in (20_000, 10_000, 5_000)}
RELEARNING = {name: Condition({"window": window}, "fit") for name, window in WINDOWS.items()}
