"""The players of the experiment halma-graph: the agent that plans by facts of its own moves, and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gumption.agents.halma.evaluation import MEASURES, ORACLE, RANDOM
from gumption.data.reading import read_json
from gumption.scripts.results import HEADER, Condition, Job, Kind, Row, figure, panels, seeds, spread, summary, table

if TYPE_CHECKING:
    from gumption.agents.halma.acting import Actor
    from gumption.agents.halma.config import HALMAConfig
    from gumption.envs.halma import HALMAVectorEnv, Memory

MAZES = 50
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
        "seeds": seeds,
        **{heading: spread(name, ".1f") for name, heading in FIGURES.items()},
    }
    code = ("envs/halma", "agents/halma", "kg/effects.py", "kg/value_iteration.py", "kg/rules")
    drawn = ("rho_p", "paths", FIGURES["rho_p"])

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        """Live, if the method is to train, and play the mazes: with all trials, and with the first alone."""
        from gumption.agents.halma.acting import play
        from gumption.agents.halma.config import HALMAConfig
        from gumption.agents.halma.runs import train_halma
        from gumption.envs.halma import HALMAVectorEnv, Mazes, sample_mazes

        given = dict(job.settings)
        moves = given.pop("moves", None)
        config = HALMAConfig(**given)
        if job.method in ("train", NETWORK):
            train_halma(config, job.directory, resume=True, progress=progress)
        mazes = Mazes(sample_mazes(MAZES, NEW_MAZES + job.seed, mean_depth=5), config.rules)
        played = {}
        for trials in (10, 1):
            env = HALMAVectorEnv(MAZES, mazes=mazes, trials=trials, autoreset_mode="SameStep")
            played[trials] = play(_player(job, config, env, moves), env, np.arange(MAZES), job.seed)
        shares = {name: getattr(played[10], name) for name in MEASURES} | {"first_trial": played[1].rho_p}
        return {"moves": moves, **{name: round(100 * float(share.mean()), 2) for name, share in shares.items()}}

    def words(self, found: Mapping[str, Any]) -> str:
        return ", ".join(f"{name} {found[name]:.1f}" for name in FIGURES)

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        runs = [found[seed] for seed in sorted(found, key=int)]
        return {"moves": runs[0]["moves"], **{name: summary([run[name] for run in runs]) for name in FIGURES}}

    def more_rows(self, options: Any, plan: Mapping[str, Any], rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the rows of the hand-written strategy, in the same mazes, after 200,000 random moves."""
        kept = read_json(STRATEGY)
        found = []
        for names in ("real", "shuffled"):
            runs = {str(run["seed"]): run for run in kept["rows"]
                    if (run.get("moves"), run["names"], run["laws"]) == (200_000, names, "real")}  # fmt: skip
            found.append({
                "condition": "written strategy" + ", names shuffled" * (names == "shuffled"),
                "settings": {"names": names}, "seeds": [*map(int, runs)], "panels": list(rows[0]["panels"]),
                "commit": kept["commit"], "made": {**{key: plan.get(key) for key in HEADER}, "command": kept["about"]},
                **self.figures(Condition(), runs),
            })  # fmt: skip
        return found

    def headline(self, results: Mapping[str, Any]) -> str:
        [(panel, rows)] = panels(results).items()
        lines = table([self.named, *self.columns], [self.cells(row, rows, panel, self.columns) for row in rows])
        return "\n".join(lines) + "\n"


def _player(job: Job, config: HALMAConfig, env: HALMAVectorEnv, moves: int | None) -> Actor:
    from gumption.agents.halma.acting import OracleActor, RandomActor
    from gumption.agents.halma.lived import GraphPlayer, Outlook, memory_of_run
    from gumption.agents.halma.runs import load_run

    if job.method in (RANDOM, ORACLE):
        return RandomActor(config.max_opt_len, config.rules) if job.method == RANDOM else OracleActor(env)
    if job.method == NETWORK:
        return load_run(job.directory).actor()
    memory = memory_of_run(job.directory if job.source is None else job.source_run(), moves)
    outlook = Outlook.of(exchanged(memory, job.seed) if job.method == "false" else memory)
    return GraphPlayer(outlook.forgotten() if job.method == "taken away" else outlook)


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


def _by(moves: int | None, method: str = "train", of: str | None = None, **settings: Any) -> Condition:
    """Return a player of `GraphRuns` by the first `moves` of a life, its own or of another condition."""
    return Condition({"moves": moves, **settings}, method, ("new mazes",), of)


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
}
