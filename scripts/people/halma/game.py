"""The game of `gumption play halma`: a person finds the goals of hidden mazes by coloured digits, in trials like an
agent's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gumption.data.settings import Count, Seed
from gumption.envs.halma import HALMAEnv, oracle_trials
from gumption.envs.halma.env import Tally
from gumption.envs.halma.maze import MeanBranches, MeanDepth, NumMazes
from gumption.envs.halma.rules import RULES, OptLen, PanelsEqual, Rules, Side
from gumption.envs.priors import Laws, Names
from gumption.scripts.people.halma import Face
from gumption.scripts.play import Game, Record

MEASURES = ("rho_g", "rho_a", "rho_p")


def game(
    *,
    mazes: NumMazes = 3,
    trials: Count = 10,
    max_opt_len: OptLen = 5,
    mean_depth: MeanDepth = 2,
    mean_branches: MeanBranches = 5,
    side: Side = RULES.side,
    panels_equal: PanelsEqual = RULES.panels_equal,
    primitives: str = RULES.primitives,
    names: Names = RULES.names,
    laws: Laws = RULES.laws,
    seed: Seed = 0,
    show_maze: bool = False,
) -> Game:
    """Play HALMA by the protocol of agents: trials in hidden mazes, compared with the oracle (Xie et al., 2021, 3.3).

    :param mazes: How many mazes.
    :param trials: Trials in each maze; agents have 10.
    :param max_opt_len: Numbers in a move: 5, or as in the ablation 1 or 3.
    :param mean_depth: Of dead ends, in cells: 2 for training, 5 in tests.
    :param mean_branches: Dead ends of a maze.
    :param side: Mazes fit into a box of so many cells both ways.
    :param panels_equal: Where a crossing is as far as the wall: both digits, or one, the wall's.
    :param primitives: With commas between: numbers of cells, and MODULE:NAME of your own.
    :param names: Real digits, colours and shapes; anonymous ones; or shuffled among their kind.
    :param laws: Counterfactual: colours and shapes indicate other directions.
    :param seed: Draws the mazes.
    :param show_maze: Show the maze too, which agents never see.
    """
    rules = Rules(side, panels_equal, primitives, names, laws)
    settings = {"trials": trials, "max_opt_len": max_opt_len, "mean_depth": mean_depth, "mean_branches": mean_branches}
    settings |= rules.changes
    mode = "ansi" if show_maze else None
    env = HALMAEnv(num_mazes=mazes, maze_seed=seed, render_mode=mode, **settings)
    about = {
        "schema": "gumption/play-halma/2",
        "world": "halma",
        "settings": {"mazes": mazes, "show_maze": show_maze, **settings},
        "mazes_hash": env.mazes.fingerprint,
        "seed": seed,
    }

    def begin(number: int) -> tuple[Any, Any]:
        env.reset(seed=seed, options={"maze": number})
        return env, Face(env)

    def record(number: int, _: Any, actions: Sequence[list[int]]) -> Record:
        """Replay a maze's moves; return their measures, and the number of moves of the oracle in each trial."""
        env.batch.set_mazes(np.array([number]))
        tally = Tally(env.batch)
        for action in actions:
            tally.add(env.batch.move(np.array([action])))
        shares = {name: float(getattr(tally.measures(), name)[0]) for name in MEASURES}
        oracle = oracle_trials(env.mazes[number], max_opt_len, rules)
        best = {"exploring": len(oracle.exploring), "planned": len(oracle.planned), "moves": len(actions)}
        return {"maze": number, "success": shares["rho_g"] == 1, **shares, **best}

    after = (
        "{rho_g:.0%} of the trials won in {moves} moves; the oracle explores in {exploring} and then takes {planned}.\n"
    )
    done = (
        "{rho_g:.0%} of the trials won (rho_g), {rho_a:.0%} of the moves valid (rho_a), "
        "efficiency {rho_p:.0%} of the oracle's (rho_p)"
    )
    headings = [f"maze {number + 1} of {mazes}, {trials} trials" for number in range(mazes)]
    return Game(about, "maze", headings, begin, record, summary, done=done, after=after)


def summary(records: Sequence[Record]) -> dict[str, float | None]:
    """Return means over the finished mazes: trials won, valid moves, efficiency (paper, 3.3)."""
    if not records:
        return dict.fromkeys(MEASURES)
    return {name: sum(record[name] for record in records) / len(records) for name in MEASURES}
