"""`gumption play halma`: a person finds the goals of hidden mazes by coloured digits, in trials like an agent's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.data.settings import Count, Seed
from gumption.envs.halma.maze import MeanBranches, MeanDepth, NumMazes
from gumption.envs.halma.rules import RULES, OptLen, PanelsEqual, Rules, Side
from gumption.envs.priors import Laws, Names
from gumption.scripts.apps import App
from gumption.scripts.play import Record, Session, ask

if TYPE_CHECKING:
    import numpy as np

    from gumption.envs.halma.env import Measures, Outcome
    from gumption.envs.halma.signs import Signs

app = App(add_completion=False)

SCHEMA = "gumption/play-halma/1"
INTRODUCTION = """You stand in a maze that you do not see. What you see are coloured digits, none of them zero:
  {walls:<34}  how far it is to the left, up, right, down: to a wall, and where a colour has
                                      two digits, the lesser one to the nearest crossing
  {goals:<34}  how far the goal lies to the left, up, right, down
  {hints:<34}  a hint: go left, up, right, down
Type a direction and up to {most} of {parts}, which add up to a move, such as: right 1+{last}
It is made as a whole, or not at all where a wall is in the way. You have {trials} trials in each maze; the first one
explores, the others can take what you know by then. q stops; the same command goes on later."""


@app.command("halma", epilog="Example: gumption play halma --mazes 2 --trials 3 --out me.json")
def play(
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
    out: Path = Path("play.json"),
) -> None:
    """Play HALMA by the protocol of agents: trials in hidden mazes, compared with the oracle (Xie et al., 2021, 3.3).

    The result is kept after every trial, so that an interrupted game goes on where it stopped.

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
    :param out: Result file; the same command goes on with it.
    """
    settings = {
        "mazes": mazes,
        "trials": trials,
        "max_opt_len": max_opt_len,
        "mean_depth": mean_depth,
        "mean_branches": mean_branches,
        "show_maze": show_maze,
        **Rules(side, panels_equal, primitives, names, laws).changes,
    }
    game = Game(settings, seed)
    session = Session(out, game.description, mazes * trials, "trial", game.summary)
    game.replay(session.records, out)
    last = game.env.rules.primitive_names[-1]
    told = INTRODUCTION.format(most=max_opt_len, trials=trials, parts=game.parts, last=last, **game.env.signs.told)
    if session.play(told, game.play_trial):
        won, valid, efficiency = (session.result[name] for name in ("rho_g", "rho_a", "rho_p"))
        print(
            f"Done: {won:.0%} of the trials won (rho_g), {valid:.0%} of the moves valid (rho_a), "
            f"efficiency {efficiency:.0%} of the oracle's (rho_p). Result: {out}"
        )


class Game:
    """The mazes, the player's place, and the measures of finished mazes."""

    def __init__(self, settings: dict[str, Any], seed: int) -> None:
        """:raises InputError: bad settings."""
        from gumption.envs.halma import HALMAVectorEnv

        self.settings, self.trials = settings, settings["trials"]
        self.played: list[Measures] = []  # of each maze whose trials are over
        self.env = HALMAVectorEnv(
            1,
            num_mazes=settings["mazes"],
            maze_seed=seed,
            **{name: value for name, value in settings.items() if name not in ("mazes", "show_maze")},
        )
        names = self.env.rules.primitive_names
        self.parts = f"{', '.join(names[:-1])} and {names[-1]}"
        self.description = {
            "schema": SCHEMA,
            "world": "halma",
            "settings": settings,
            "mazes_hash": self.env.mazes.fingerprint,
            "seed": seed,
        }

    def summary(self, _: list[Record]) -> dict[str, float | None]:
        """Means over the mazes whose trials are all played: trials won, valid moves, efficiency (paper, 3.3)."""
        names = ("rho_g", "rho_a", "rho_p")
        if not self.played:
            return dict.fromkeys(names)
        return {name: sum(float(getattr(of, name)[0]) for of in self.played) / len(self.played) for name in names}

    def replay(self, records: list[Record], file: Path) -> None:
        """Make the moves of all records again; InputError for records that this game cannot have."""
        try:
            for number, record in enumerate(records):
                trial = self._begin(number)[1]
                for option in record["options"]:
                    self._move(option)
                self._end(trial)
        except (KeyError, TypeError) as error:
            raise InputError(f"{file}: a trial's moves cannot be made again ({error!r}); give another --out") from None

    def _begin(self, number: int) -> tuple[int, int]:
        """The maze and the trial with a number; with its first trial the maze begins."""
        import numpy as np

        from gumption.envs.halma.env import Tally

        maze, trial = divmod(number, self.trials)
        if trial == 0:
            self.env.set_mazes(np.array([maze]))
            self.tally = Tally(self.env)
        return maze, trial

    def _move(self, option: list[int]) -> Outcome:
        import numpy as np

        outcome = self.env.move(np.array([option]))
        self.tally.add(outcome)
        return outcome

    def _end(self, trial: int) -> None:
        if trial == self.trials - 1:
            self.played.append(self.tally.measures())

    def play_trial(self, done: int) -> Record | None:
        """The record of a trial by its number; None if the player stops."""
        from gumption.envs.halma import oracle_trials

        maze, trial = self._begin(done)
        record: Record = {"maze": maze, "trial": trial, "options": [], "success": False, "seconds": 0.0}
        if self.tally.over[0]:
            print(f"No steps are left in maze {maze + 1}: its trial {trial + 1} counts as failed.\n")
            self._end(trial)
            return record
        oracle = oracle_trials(self.env.mazes[maze], self.env.max_opt_len, self.env.rules)
        record["oracle"] = len(oracle.planned if trial else oracle.exploring)
        print(f"maze {maze + 1} of {self.settings['mazes']}, trial {trial + 1} of {self.trials}")
        start, stopped, over = time.monotonic(), 0, False
        trail = [self._cell()]
        while not over:
            self._show(trail)
            option = ask(partial(parse_option, max_opt_len=self.env.max_opt_len, names=self.env.rules.primitive_names))
            if option is None:
                return None
            outcome = self._move(option)
            record["options"].append(option)
            over, record["success"] = bool(outcome.trial_over[0] | outcome.done[0]), bool(outcome.reached[0])
            if not outcome.valid[0]:
                stopped += 1
                why = "a wall is in the way" if sum(option[1:]) else "the sum is zero"
                print(f"not carried out, but counted: {why}\n")
            elif not over:
                print(f"moved {self.env.rules.digits[option[1:]].sum()}\n")
                trail.append(self._cell())
        record["seconds"] = round(time.monotonic() - start, 1)
        end = "The goal" if record["success"] else "No steps are left"
        moves = f"{_moves(len(record['options']))} ({stopped} not carried out)"
        print(f"{end}, after {moves}. The oracle: {record['oracle']}.\n")
        self._end(trial)
        return record

    def _cell(self) -> tuple[int, int]:
        return self.env.mazes.cell(int(self.env.maze_index[0]), int(self.env.cell[0]))

    def _show(self, trail: list[tuple[int, int]]) -> None:
        from rich.console import Console

        from gumption.envs.halma.render import maze_lines

        if self.settings["show_maze"]:
            print("\n".join(maze_lines(self.env.mazes[int(self.env.maze_index[0])], self._cell(), trail)) + "\n")
        console = Console(highlight=False)
        for colour, rgb, shown in panel_by_colour(self.env.seen[0], self.env.signs):
            console.print(f"  {colour:<8}{shown}", style=f"rgb({rgb[0]},{rgb[1]},{rgb[2]})")


def panel_by_colour(panel: np.ndarray, signs: Signs) -> list[tuple[str, tuple[int, int, int], str]]:
    """A panel (11,), as it looks, without its meaning: colour, RGB, digits or the shape of the hint."""
    from gumption.envs.halma.visual import RGB

    items = signs.items(panel)
    lines = [
        (colour, rgb, "  ".join(shown for shown, of in items if of == colour))
        for colour, rgb in zip(signs.labels, signs.rgb, strict=False)
        if any(of == colour for _, of in items)
    ]
    return [*lines, ("hint", RGB["grey"], items[-1][0])] if panel[10] else lines


def parse_option(typed: str, max_opt_len: int, names: Sequence[str] = ("0", "1", "2", "3")) -> list[int]:
    """A direction and `max_opt_len` primitives of these names, from such as "right 2+3" or "r 2+3"; InputError for
    other texts."""
    from gumption.envs.halma.maze import DIRECTIONS

    name, _, rest = typed.strip().lower().partition(" ")
    directions = [d for d, direction in enumerate(DIRECTIONS) if name in (direction, direction[0])]
    parts = [part.strip() for part in rest.split("+")]
    if not directions or len(parts) > max_opt_len or any(part not in names for part in parts):
        raise InputError(
            f"{typed!r} is no move: left, up, right or down (or l, u, r, d), then 1 to {max_opt_len} of "
            f"{', '.join(names)} with + between them, such as right {names[-1]}+1; q stops"
        )
    return [directions[0], *map(names.index, parts), *[0] * (max_opt_len - len(parts))]


def _moves(count: int) -> str:
    return f"{count} move{'' if count == 1 else 's'}"
