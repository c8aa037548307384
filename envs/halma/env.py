"""Environments of HALMA, and measures of the episodes played in them."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.data.settings import Count, Seed, refuse_unknown, settings, shown, whole_numbers
from gumption.envs.action_facts import ActionFacts, PlanningProblem
from gumption.envs.memory import Layout
from gumption.envs.native import Arrays, NativeEnv, NativeVectorEnv, Numbers, RenderMode, as_actions, check_batch
from gumption.envs.priors import Laws, Names

from .facts import RELATIONS, HALMAFacts
from .generator import sample_mazes
from .maze import (
    DIRECTIONS,
    Images,
    Maze,
    Mazes,
    MeanBranches,
    MeanDepth,
    NumMazes,
    Observation,
    Order,
    Panels,
    one_hot,
)
from .memory import Memory, flags, layout
from .routes import Routes
from .rules import PAPERS_PRIMITIVES, RULES, OptLen, PanelsEqual, Rules, Side
from .signs import Signs, signs
from .visual import DIGITS, PICTURE, FixedPanels, PanelPainter, make_painter

PAPERS = "the paper's"
DISCOUNT = 0.95  # gamma (Table S3)


class Outcome(NamedTuple):
    """The result of one move of B environments, before any of them starts a new trial or episode.

    :ivar before, after: (B, 11) int8 panel rows of the cells before and after the move.
    :ivar reward: (B,) float32.
    :ivar valid, reached, trial_over, done: (B,) bool: the move was carried out; it ended on the goal; it ended the
        trial; it ended the episode.
    :ivar maze, trial: (B,) int64: the maze, and the number of earlier trials of the episode.
    """

    before: np.ndarray
    after: np.ndarray
    reward: np.ndarray
    valid: np.ndarray
    reached: np.ndarray
    trial_over: np.ndarray
    done: np.ndarray
    maze: np.ndarray
    trial: np.ndarray


@settings
class HALMASettings:
    """The keyword arguments of the environments; the defaults are the paper's (Table S3).

    :ivar mazes: a `Mazes`, a list of `Maze`, or a JSON Lines file; None for mazes that are sampled.
    :ivar num_mazes, maze_seed, mean_depth, mean_branches, adjusted: of mazes that are sampled, see `sample_mazes`.
    :ivar side, panels_equal, primitives: the rules of the world, see `Rules`. `Mazes` bring their own with them.
    :ivar order: each episode plays a maze drawn at "random", or the next one ("sequential").
    :ivar observation: "symbolic" or "visual".
    :ivar panels: visual panels are "redrawn" at each look, or "fixed": each cell of a maze has one picture, the same in
        every environment.
    :ivar images: handwriting of visual panels: "train" or "test", of the digits that ship, or "train-full" or
        "test-full", of all of MNIST.
    :ivar painter: of visual panels: "digits", handwritten ones, or "module:name" of a function of one's own, see
        `make_painter`.
    :ivar names: "real" digits, colours and shapes; "shuffled", each shown and called as another of its kind; or
        "anonymous", so that they look and are called like nothing that is known.
    :ivar laws: "counterfactual": colours and shapes indicate other directions than in the "real" world.
    :ivar max_opt_len: T, primitives of an option.
    :ivar trials, max_steps: an episode ends after so many trials (N) or steps (L).
    :ivar max_trial_steps: a trial ends after so many steps (H).
    :ivar goal_reward, invalid_penalty: rewards for reaching the goal, and for a move that is not carried out.
    :ivar progress_reward: times the decrease of the Manhattan distance to the goal.
    """

    # A memory stores the mazes and the rules instead of these settings, and no pictures.
    CONTENT: ClassVar = (
        "mazes", "num_mazes", "maze_seed", "mean_depth", "mean_branches", "adjusted", "side", "panels_equal",
        "primitives", "painter", "names", "laws",
    )  # fmt: skip

    mazes: Mazes | Sequence[Maze] | str | PathLike[str] | None = None
    num_mazes: NumMazes = 100
    maze_seed: Seed = 0
    mean_depth: MeanDepth = 2
    mean_branches: MeanBranches = 5
    adjusted: bool = False
    side: Side = RULES.side
    panels_equal: PanelsEqual = RULES.panels_equal
    primitives: str = PAPERS_PRIMITIVES
    order: Order = "random"
    observation: Observation = "symbolic"
    panels: Panels = "redrawn"
    images: Images = "train"
    painter: str = DIGITS
    names: Names = "real"
    laws: Laws = "real"
    max_opt_len: OptLen = 5
    trials: Count = 10
    max_steps: Count = 500
    max_trial_steps: Count = 200
    goal_reward: float = 100.0
    invalid_penalty: float = -5.0
    progress_reward: float = 1.0

    def __post_init__(self) -> None:
        if self.panels != "redrawn" and self.observation != "visual":
            raise InputError(f"panels={self.panels!r} is for observation='visual': symbols are not drawn")
        if self.painter != DIGITS and self.observation != "visual":
            raise InputError(f"painter={shown(self.painter)} is for observation='visual': symbols are not drawn")

    def load_mazes(self) -> Mazes:
        """:raises InputError: no mazes, a file without mazes, or mazes of other rules."""
        rules = Rules(self.side, self.panels_equal, self.primitives, self.names, self.laws)
        if isinstance(self.mazes, Mazes):
            if rules not in (RULES, self.mazes.rules):
                theirs = self.mazes.rules.changes or "the paper's rules"
                raise InputError(f"the mazes are of {theirs}, not of {rules.changes}; leave the latter out")
            return self.mazes
        if isinstance(self.mazes, str | PathLike):
            return Mazes.load(Path(self.mazes), rules)
        if self.mazes is not None:
            return Mazes(self.mazes, rules)
        drawn = sample_mazes(
            self.num_mazes, self.maze_seed, self.mean_depth, self.mean_branches, side=self.side, adjusted=self.adjusted
        )
        return Mazes(drawn, rules)


class HALMAVectorEnv(NativeVectorEnv):
    """A batch of HALMA episodes in arrays with a leading batch axis. See `HALMAEnv` for the game and its settings.

    :ivar mazes: the `Mazes` that are played; `max_opt_len` as set; `rules` of the world, taken from the mazes.
    :ivar maze_index, cell: (B,) int64: the maze, and the cell's index in it; `rows` (B, 11) int8 the panel row of that
        cell. These arrays are the state itself: copy them before you store them.
    :ivar signs: how panels look in this world, and the names of the signs on them.
    :ivar landed: (B, 11) int8, the panel row where the latest move ended, before a new trial resets the agent;
        `landed_at` (B,) int64 the index of that cell.
    :ivar valid, reached, trial_over: (B,) bool, of the latest move: it was carried out; it ended on the goal; it ended
        a trial.
    :ivar trial, trial_steps, steps: (B,) int64: earlier trials of the episode, steps of this trial and of the episode.

    Infos hold arrays: `maze`, `trial`, `trial_steps` (B,) int64, `success`, `valid_move`, `trial_over` (B,) bool,
    `cell` (B, 2) int64, `panel` (B, 11) int8 (see `panel_row`), `landed_cell` and `landed_panel` (the same, where the
    latest move ended), `action_mask`, and for visual panels of handwritten digits `boxes` (B, 11, 4) int16: x0, y0, x1,
    y1 of the item of each place in the row. `describe(i)` returns names.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        """:raises InputError: bad settings; see `HALMASettings`."""
        check_batch(num_envs, render_mode)
        self.settings = HALMASettings(**settings)
        self.mazes = self.settings.load_mazes()
        self._drawn_from = len(self.mazes)  # episodes do not draw the mazes that reset options add later
        self.max_opt_len, self.rules = self.settings.max_opt_len, self.mazes.rules
        self.signs: Signs = signs(self.rules)
        _ = self.rules.parts  # raises InputError for an invalid primitive
        self.painter = None
        if self.settings.observation == "visual":
            self.painter = make_painter(self.settings.painter, self.settings.images, self.rules)
        self._show_mazes()
        space = (
            spaces.Box(0, 1, (11, self.rules.columns), np.uint8)
            if self.painter is None
            else spaces.Box(0, 255, PICTURE, np.uint8)
        )
        self._choices = np.array([len(DIRECTIONS)] + [self.rules.count] * self.max_opt_len)
        self._most = 4 if self.rules.count == 4 else self._choices  # one number is compared faster
        self._mask = int(self._choices.sum())
        self._walks, self._plain = self.rules.walks_only, self.rules.plain
        options = spaces.MultiDiscrete(self._choices)
        super().__init__(num_envs, render_mode, autoreset_mode, space, options)
        (
            self.maze_index, self.cell, self.trial, self.trial_steps, self.steps, self.landed_at,
        ) = np.zeros((6, num_envs), dtype=np.int64)  # fmt: skip
        self.landed = np.zeros((num_envs, 11), dtype=np.int8)
        self.valid, self.reached, self.trial_over = np.zeros((3, num_envs), dtype=bool)
        self._reward = np.zeros(num_envs, dtype=np.float32)
        self._terminated, self._truncated = np.zeros((2, num_envs), dtype=bool)
        self._each = np.arange(num_envs)
        self._next_maze = 0
        self._painting: np.random.Generator | None = None
        self._pictures = np.zeros((0, *PICTURE), dtype=np.uint8)  # as observed last, where panels are drawn
        self._boxes = np.zeros((0, 11, 4), dtype=np.int16)
        self._trail: list[list[int]] = [[] for _ in range(num_envs)]  # of the trial, for `render`
        self._routes: Routes | None = None

    def _show_mazes(self) -> None:
        """Compute how the panels of all mazes look."""
        rows = self.mazes.rows
        panels = rows if self.rules.plain_signs else self.signs.panels(rows)
        self._looks = panels.reshape(-1, 11)
        self._fixed: FixedPanels | None = None
        if self.painter is not None and self.settings.panels == "fixed":
            self._fixed = FixedPanels(self.mazes, self.painter, panels)

    # ---- the state

    @property
    def rows(self) -> np.ndarray:
        mazes = self.mazes
        return mazes.places.take(self.maze_index * mazes.cells + self.cell, axis=0)  # faster than an index per axis

    @property
    def seen(self) -> np.ndarray:
        """(B, 11) int8: the panels as shown, see `Signs.panels`; equal to `rows` if names and laws are real."""
        return self._looks.take(self.places(), axis=0)

    @property
    def success(self) -> np.ndarray:
        return self.reached

    def places(self) -> np.ndarray:
        """Return (B,) int64: maze and cell of each environment as one number, mazes.cells * maze + cell."""
        return self.maze_index * self.mazes.cells + self.cell

    def pictures(self, places: np.ndarray) -> np.ndarray:
        """Return the fixed panels (n, 128, 128, 3) uint8 of places (n,).

        :raises InputError: panels are not fixed.
        """
        if self._fixed is None:
            raise InputError("only panels='fixed' has pictures of places: others are drawn anew at each look")
        return self._fixed.draw(*np.divmod(places, self.mazes.cells))[0]

    def random_actions(self) -> np.ndarray:
        """Return (B, 1 + T) int64: options drawn uniformly."""
        return self.np_random.integers(self._most, size=(self.num_envs, 1 + self.max_opt_len))

    def set_mazes(self, indices: Numbers, envs: Numbers | None = None) -> None:
        """Start episodes in the given mazes, in the first len(indices) environments or in `envs`.

        :raises InputError: more mazes than environments, or an index that `mazes` does not have.
        """
        chosen = whole_numbers("indices", indices, None)
        columns = self._columns(envs, len(chosen))
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(self.mazes):
            raise InputError(f"maze indices lie between 0 and {len(self.mazes) - 1}")
        self.start()
        self._begin(columns, chosen)
        self._over[columns] = False

    def move(self, options: np.ndarray) -> Outcome:
        """Make one step without observations and infos. After a finished episode, the next starts at once.

        :param options: (B, 1 + T) integers.
        :raises InputError: an option out of range.
        """
        self.start()
        if self._over.any():
            self.renew(np.flatnonzero(self._over), self.np_random)
            self._over[:] = False
        before = self.memory_before()
        self.make_step(as_actions(options, self.single_action_space, self._action_shape))
        outcome = self.outcome(before)
        if outcome.done.any():
            self.renew(np.flatnonzero(outcome.done), self.np_random)
        return outcome

    def outcome(self, before: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Outcome:
        """Return the outcome of the latest move. `before` is the result of `memory_before` before that move."""
        rows, maze, trial = before
        latest = (self.landed, self._reward, self.valid, self.reached, self.trial_over)
        after, reward, valid, reached, trial_over = (part.copy() for part in latest)
        done = self._terminated | self._truncated
        return Outcome(rows, after, reward, valid, reached, trial_over, done, maze, trial)

    # ---- hooks of NativeVectorEnv

    def advance(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        settings, mazes = self.settings, self.mazes
        direction = actions[:, 0]
        before = self.rows
        if self._walks:
            length = (actions[:, 1:] if self._plain else self.rules.digits[actions[:, 1:]]).sum(1)
            valid = (length > 0) & (length <= before[self._each, 4 + direction])
            if idle is not None:
                valid &= ~idle
            self.cell += np.where(valid, mazes.offsets.take(direction) * length, 0)
        else:
            end = self.cell  # where the primitives lead, one after the other; -1 if a primitive is impossible
            for part in actions[:, 1:].T:
                there = mazes.landings[part, self.maze_index, np.maximum(end, 0), direction]
                end = np.where(end >= 0, there, -1).astype(np.int64)
            valid = (end >= 0) & (end != self.cell)
            if idle is not None:
                valid &= ~idle
            self.cell = np.where(valid, end, self.cell)
        self.valid = valid
        self.landed_at = self.cell.copy()
        landed = self.landed = self.rows
        self.reached = valid & (landed[:, 8] == 0) & (landed[:, 9] == 0)
        gain = np.abs(before[:, 8:10]).sum(1) - np.abs(landed[:, 8:10]).sum(1)
        reward = settings.progress_reward * gain + settings.goal_reward * self.reached
        reward += np.where(valid, 0.0, settings.invalid_penalty)
        active = 1 if idle is None else (~idle).astype(np.int64)
        self.steps += active
        self.trial_steps += active
        self.trial_over = self.reached | (self.trial_steps >= settings.max_trial_steps)
        if idle is not None:
            reward[idle] = 0
            self.trial_over &= ~idle
        self._reward = reward.astype(np.float32)
        if self.render_mode is not None:
            self._remember()
        over = self.trial_over
        self.trial += over
        self.trial_steps[over] = 0
        self.cell[over] = mazes.start[self.maze_index[over]]
        self._terminated = over & (self.trial >= settings.trials)
        self._truncated = (self.steps >= settings.max_steps) & ~self._terminated
        if idle is not None:
            self._truncated &= ~idle

    def _remember(self) -> None:
        """Record the cells of the current trial for `render`, until the first move of the next trial."""
        for i in range(self.num_envs):
            if self.trial_steps[i] == 1:
                self._trail[i] = [int(self.mazes.start[self.maze_index[i]])]
            self._trail[i].append(int(self.cell[i]))

    def results(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._reward, self._terminated, self._truncated

    def renew(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        count = self._drawn_from
        if self.settings.order == "random":
            chosen = rng.integers(count, size=len(columns))
        else:
            chosen = (self._next_maze + np.arange(len(columns))) % count
            self._next_maze = (self._next_maze + len(columns)) % count
        self._prepare_painting(rng)
        self._begin(columns, chosen)

    def _begin(self, columns: np.ndarray, mazes: np.ndarray) -> None:
        self.maze_index[columns] = mazes
        self.cell[columns] = self.mazes.start[mazes]
        for counter in (self.trial, self.trial_steps, self.steps):
            counter[columns] = 0
        for mark in (self.valid, self.reached, self.trial_over, self._terminated, self._truncated):
            mark[columns] = False
        self._reward[columns] = 0
        self.landed = self.landed.copy()  # infos hold the previous array
        self.landed[columns] = self.rows[columns]
        self.landed_at[columns] = self.cell[columns]
        for i in columns.tolist() if self.render_mode is not None else ():
            self._trail[i] = [int(self.cell[i])]

    def forget_drawn(self) -> None:
        self._painting = None
        self._next_maze = 0

    def _prepare_painting(self, rng: np.random.Generator) -> None:
        if self.painter is not None and self._fixed is None and self._painting is None:
            self._painting = np.random.default_rng(rng.integers(2**63))

    def set_up(self, columns: np.ndarray, options: Mapping[str, Any], rng: np.random.Generator) -> None:
        refuse_unknown("reset", options, ["maze"])
        maze = options["maze"]
        if isinstance(maze, int | np.integer) and not isinstance(maze, bool):
            if not 0 <= maze < len(self.mazes):
                raise InputError(f"maze is {maze}; there are {len(self.mazes)} mazes")
            index = int(maze)
        else:
            maze = maze if isinstance(maze, Maze) else Maze.from_json(maze)
            if maze not in self.mazes.mazes:
                self.mazes = Mazes([*self.mazes, maze], self.rules)
                self._show_mazes()
            index = self.mazes.mazes.index(maze)
        self._prepare_painting(rng)
        self._begin(columns, np.full(len(columns), index))

    @property
    def memory_layout(self) -> Layout:
        return layout(self.max_opt_len, **self.rules.changes)

    def episode_begins(self) -> np.ndarray:
        return self.steps == 0

    def memory_before(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.rows, self.maze_index.copy(), self.trial.copy()

    def memory_fields(
        self, before: tuple[np.ndarray, ...], actions: np.ndarray, episode: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        rows, maze, trial = before
        return rows, actions, self.landed, maze, trial, episode, flags(self.valid, self.reached, self.trial_over)

    def memory_files(self) -> Mapping[str, str]:
        return self.mazes.files

    def observe(self) -> np.ndarray:
        if self.painter is None:
            return one_hot(self.seen, self.rules.side)
        if self._fixed is not None:
            self._pictures, self._boxes = self._fixed.draw(self.maze_index, self.cell)
            return self._pictures.copy()
        assert self._painting is not None
        self._pictures, self._boxes = self.painter.draw(self.seen, self._painting)
        return self._pictures.copy()

    def info_arrays(self) -> Arrays:
        corner, place = self.mazes.corner.take(self.maze_index, axis=0), self.mazes.place
        info = {
            "maze": self.maze_index.copy(),
            "trial": self.trial.copy(),
            "trial_steps": self.trial_steps.copy(),
            "success": self.reached.copy(),
            "valid_move": self.valid.copy(),
            "trial_over": self.trial_over.copy(),
            "cell": corner + place.take(self.cell, axis=0),
            "panel": self.rows,
            "landed_cell": corner + place.take(self.landed_at, axis=0),
            "landed_panel": self.landed,
            "action_mask": np.ones((self.num_envs, self._mask), dtype=np.int8),
        }
        return info | {"boxes": self._boxes.copy()} if isinstance(self.painter, PanelPainter) else info

    def describe(self, i: int) -> dict[str, Any]:
        self._check_place(i)
        maze, row = int(self.maze_index[i]), self.rows[i]
        cell = landed = self.mazes.cell(maze, int(self.cell[i]))
        if self.landed_at[i] != self.cell[i]:
            landed = self.mazes.cell(maze, int(self.landed_at[i]))
        info: dict[str, Any] = {
            "maze": maze, "cell": cell, "digits": [digit._asdict() for digit in self.signs.digits(row)],
            "hint": self.signs.hint(row), "panel": row.copy(), "landed_cell": landed,
            "landed_panel": self.landed[i].copy(), "trial": int(self.trial[i]),
            "trial_steps": int(self.trial_steps[i]), "success": bool(self.reached[i]),
            "valid_move": bool(self.valid[i]), "trial_over": bool(self.trial_over[i]),
            "action_mask": np.ones(self._mask, dtype=np.int8),
        }  # fmt: skip
        if isinstance(self.painter, PanelPainter):
            seen = self.seen[i]
            info["boxes"] = [
                {"class": item, "colour": colour, "box": tuple(int(v) for v in box)}
                for (item, colour), box in zip(self.signs.items(seen), self._boxes[i][seen != 0], strict=True)
            ]
        return info

    @cached_property
    def _facts(self) -> HALMAFacts:
        return HALMAFacts(self.max_opt_len, self.rules)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self._facts.vocabulary

    @property
    def relations(self) -> tuple[str, ...]:
        return RELATIONS

    def action_facts(self, chosen: np.ndarray | None = None) -> ActionFacts:
        """Return the facts that support each direction or, for the chosen part of an option (B, t), each next
        primitive; see facts.py. Knowledge decides whether the facts hold.

        :raises InputError: a part of another shape, or out of range.
        """
        if chosen is not None:
            chosen = whole_numbers("chosen", chosen, self.num_envs, None)
            if chosen.shape[1] > self.max_opt_len:
                raise InputError(
                    f"chosen has shape {chosen.shape}; it is the part of an option that is chosen in each of "
                    f"{self.num_envs} environments: (B, t), t from 0 to {self.max_opt_len}"
                )
            if ((chosen < 0) | (chosen >= self._choices[: chosen.shape[1]])).any():
                raise InputError(
                    f"chosen holds something else than a direction, 0 to 3, and primitives, 0 to {self.rules.count - 1}"
                )
        return self._facts.facts(self.rows, chosen)

    def recall(self, memory: Memory) -> Routes:
        """Plan by an agent's own memory: `planning_problem` then uses its places and options.

        :returns: the facts of the memory, their vocabulary, and the action of each candidate.
        :raises InputError: a memory of another world, or without a usable move (see `Routes`).
        """
        differ = []
        if memory.max_opt_len != self.max_opt_len:
            differ.append(f"its options have {memory.max_opt_len} primitives, here {self.max_opt_len}")
        if memory.rules != self.rules:
            differ.append(f"its rules are {memory.rules.changes or PAPERS}, here {self.rules.changes or PAPERS}")
        if differ:
            raise InputError(f"the memory is of another world: {'; '.join(differ)}")
        self._routes = Routes(memory)
        return self._routes

    def planning_problem(self) -> PlanningProblem:
        """Return the planning problem of the recalled memory: leadsOn maps a place and an option to the next place.

        :raises InputError: no memory was recalled.
        """
        if self._routes is None:
            raise InputError("a HALMA agent plans by its own memory, and there is none yet: env.recall(memory)")
        settings = self.settings
        left = np.minimum(settings.max_trial_steps - self.trial_steps, settings.max_steps - self.steps)
        return self._routes.problem(self.rows, left)

    def draw_frame(self, i: int, mode: RenderMode) -> Any:
        from .render import draw

        self._check_place(i)
        maze = int(self.maze_index[i])
        cells = [self.mazes.cell(maze, index) for index in self._trail[i]]
        ended = bool(self._terminated[i] | self._truncated[i])
        # After the last trial of an episode, show the agent where it ended, not back at the start.
        cell = cells[-1] if ended else self.mazes.cell(maze, int(self.cell[i]))
        picture = None if self.painter is None or ended else self._pictures[i]
        return draw(self.mazes[maze], cell, mode, trail=cells, picture=picture, rules=self.rules)

    # ---- saving

    _STATE = ("maze_index", "cell", "trial", "trial_steps", "steps", "landed", "valid", "reached", "trial_over")

    def _state(self) -> dict[str, Any]:
        return {name: getattr(self, name).copy() for name in self._STATE} | {
            "painting": json.dumps(self._painting and self._painting.bit_generator.state),
            "next_maze": str(self._next_maze), "mazes": self.mazes.fingerprint,
        }  # fmt: skip

    HASHES = ("mazes",)

    def _go_on(self, state: Mapping[str, Any]) -> None:
        for name in self._STATE:
            getattr(self, name)[:] = state[name]
        self._next_maze = int(state["next_maze"])
        if (painting := json.loads(state["painting"])) is not None:
            self._painting = np.random.default_rng()
            self._painting.bit_generator.state = painting


class HALMAEnv(NativeEnv):
    """Find the goal of a hidden maze by coloured digits (Xie et al., 2021, sections 3.1 to 3.3).

    Description: the agent stands in a cell of a maze. A panel shows the distances to the wall and to the nearest
    crossing in each direction (red left, orange up, yellow right, green down), the offset of the goal (cyan left, blue
    up, purple right, white down), and at crossings a shape for the direction to take (circle left, triangle up,
    square right, pentagon down). Only non-zero distances are shown.

    Observation: "symbolic" Box (11, 19) uint8, one-hot: rows 0-3 crossing, 4-7 wall, each left, up, right, down; 8, 9
    goal dx, dy; column value + 9 (2 side - 1 columns, value + side - 1). Row 10 is the hint, columns 0-3 by direction,
    all zeros without a hint.
    "visual" Box (128, 128, 3) uint8: the same as handwritten MNIST digits of random size and place, redrawn for each
    observation, or with panels="fixed" once for each cell of each maze.

    Actions: MultiDiscrete([4] + [4] * max_opt_len): a direction (left, up, right, down) and an option of max_opt_len
    primitives of 0 to 3 cells (the indices of the primitives in the settings). The agent moves by their sum. If a wall
    is in the way or the sum is 0, the move is invalid and the agent stays. Other numbers raise InputError. User-defined
    primitives are carried out one after the other; the move is invalid if one of them is impossible, or if they end in
    the cell where they began.

    Reward: 100 for ending on the goal; -5 for an invalid move; 1.0 * (Manhattan distance to the goal before - after).

    Termination: an episode is one maze. A trial ends on the goal or after 200 steps and returns the agent to the
    start; this is no termination. The episode is terminated after 10 trials and truncated after 500 steps.

    Info: maze, cell, digits and hint that the panel shows, panel (the true row, see `panel_row`), landed_cell and
    landed_panel (where the latest move ended, before the end of a trial resets the agent), trial, trial_steps, success
    (the latest move ended on the goal), valid_move, trial_over, action_mask (all choices are open, also those that a
    wall stops), and for panels of handwritten digits the boxes of all items.

    Reset options: {"maze": a Maze, its JSON, or an index of the set} plays that maze.

    Parameters: see `HALMASettings`; render_mode "ansi" or "rgb_array".
    """

    batch: HALMAVectorEnv

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `HALMASettings`."""
        super().__init__(HALMAVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings))

    @property
    def mazes(self) -> Mazes:
        """The mazes that are played."""
        return self.batch.mazes


# ---- Measures of an agent in each maze, against the oracle (paper, section 3.3).


class Measures(NamedTuple):
    """Measures of M episodes, each (M,) float64; shares lie between 0 and 1.

    :ivar rho_a: valid moves / all moves.
    :ivar rho_g: successful trials / N; trials that were not begun count as failed.
    :ivar rho_p: mean over the N trials of the oracle's length / the trial's length, at most 1; 0 for a failed or
        unstarted trial (decision). The oracle explores in its first trial and follows its plan in the others.
    :ivar returned: the discounted return of the episode, across its trials (equation 1).
    """

    rho_a: np.ndarray
    rho_g: np.ndarray
    rho_p: np.ndarray
    returned: np.ndarray


class Tally:
    """Count, move by move, the measures of the current episode of each environment of a batch."""

    def __init__(self, env: HALMAVectorEnv) -> None:
        """Create the tally when the episodes begin."""
        self.trials = env.settings.trials
        planned, exploring = env.mazes.planned(env.max_opt_len), env.mazes.exploring(env.max_opt_len)
        self.oracle = np.stack([exploring[env.maze_index], planned[env.maze_index]])
        self.moves, self.valid, self.successes, self.length = np.zeros((4, env.num_envs), dtype=np.int64)
        self.efficiency, self.returned = np.zeros((2, env.num_envs))
        self.over = np.zeros(env.num_envs, dtype=bool)

    def add(self, outcome: Outcome) -> None:
        """Count one move of every environment whose episode is not over."""
        playing = ~self.over
        self.returned += playing * DISCOUNT**self.moves * outcome.reward
        self.moves += playing
        self.length += playing
        self.valid += playing & outcome.valid
        won = playing & outcome.reached
        self.successes += won
        oracle = np.where(outcome.trial == 0, self.oracle[0], self.oracle[1])
        self.efficiency += won * np.minimum(oracle / np.maximum(self.length, 1), 1.0)
        self.length[outcome.trial_over] = 0
        self.over |= outcome.done

    def measures(self) -> Measures:
        """Return the measures of the episodes."""
        moves = np.maximum(self.moves, 1)
        shares = self.valid / moves, self.successes / self.trials, self.efficiency / self.trials
        return Measures(*shares, self.returned)
