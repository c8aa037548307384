"""ProbSol's Gymnasium environments: episodes on a batch of tables, with trials, constraints, quizzes, rewards and
observations. The environment of a single table is a batch of size 1."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.data.sealed import content_hash
from gumption.data.settings import Seed, check, refuse_unknown, shown, whole_numbers
from gumption.envs.action_facts import ActionFacts
from gumption.envs.memory import Layout
from gumption.envs.native import Arrays, NativeEnv, NativeVectorEnv, Observation, RenderMode, check_batch
from gumption.envs.records import episode

from .actions import Labels
from .engine import FRAMERATE, LAW_NAMES, NONE, Tables
from .facts import RELATIONS, Affordances
from .geometry import ABSENT, GRABBED, HELD, PLACED, STORED
from .library import is_shipped
from .magnets import TABLE, Arm
from .memory import OVER, REFUSED, SOLVED, TASKS, layout, visible
from .quiz import is_right, questions
from .render import pixels
from .settings import ProbSolSettings
from .tasks import CONSTRAINTS, FAMILIES, Task
from .text import TextFace, goal_text, table_text

#: The reasons why an episode ends; info["end"] of a batch holds their indices.
ENDS = ("", "solved", *CONSTRAINTS, "trials", "quiz", "max_actions")
_OPTIONS = ("task", "seed")
#: The settings on which the course of an episode depends, besides its task and law.
_KEPT_SETTINGS = ("names", "quiz", "reward", "on_violation", "max_actions", "action_seconds")
#: The fields of a task in info["goal_data"].
_GOAL = ("family", "goal", "targets", "blocks", "building", "constraints")
_STATES = {STORED: "stored", GRABBED: "grabbed", HELD: "held", PLACED: "placed"}
STATE_SCHEMA = 1


class ProbSolVectorEnv(NativeVectorEnv):
    """A batch of environments; see `ProbSolEnv`."""

    def __init__(
        self,
        num_envs: int = 1,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        """:raises InputError: bad settings; see `ProbSolSettings`."""
        check_batch(num_envs, render_mode)
        self.settings = ProbSolSettings(**settings)
        self.tasks = list(self.settings.load_tasks())
        discs = self.settings.max_obj_num or max(task.max_obj_num for task in self.tasks)
        cells = self.settings.max_grid_num or max(task.max_grid_num for task in self.tasks)
        self.tables = Tables(self.tasks, num_envs, discs, cells)
        self.labels = Labels(discs, cells)
        full = {
            "discs": spaces.Box(-1.0, 1.0, (discs, 11), np.float32),
            "map": spaces.Box(0, 1, (5, 40, 40), np.uint8),
            "family": spaces.Box(0.0, 1.0, (len(FAMILIES),), np.float32),
            "constraints": spaces.Box(-1.0, 2.0, (len(CONSTRAINTS), 2), np.float32),
        }
        paper = spaces.Box(0.0, 1.0, (7 * discs,), np.float32)
        whole = self.settings.actions == "paper"
        super().__init__(
            num_envs,
            render_mode,
            autoreset_mode,
            spaces.Dict(full) if self.settings.observation == "full" else paper,
            spaces.Discrete(self.labels.num_actions) if whole else spaces.MultiDiscrete(self.labels.parts()),
        )
        self._next = 0
        self._affordances: Affordances | None = None  # made on first use
        self._files: tuple[int, dict[str, str]] | None = None  # number of tasks, and the file that lists them
        self._reward = np.zeros(num_envs, dtype=np.float32)
        self._terminated, self._truncated = np.zeros(num_envs, dtype=bool), np.zeros(num_envs, dtype=bool)
        self._end = np.zeros(num_envs, dtype=np.int64)
        #: (B,) the solution rate of the last trial that ended.
        self.trial_rate = np.zeros(num_envs)
        self._excess = np.zeros((num_envs, len(CONSTRAINTS)))
        self._asks = np.zeros(num_envs, dtype=bool)
        self._seeds = np.zeros(num_envs, dtype=np.int64)
        #: The actions of each episode, as in `record`; None if its beginning was not kept.
        self._done: list[list[Any] | None] = [None] * num_envs
        self._waited = np.zeros(num_envs, dtype=np.int64)  # NONEs while a quiz is open
        self._acted = np.zeros(num_envs, dtype=np.int64)  # the step of the trial at the last action
        self._families = np.concatenate([np.eye(len(FAMILIES)), np.zeros((1, len(FAMILIES)))]).astype(np.float32)

    # ---- episodes

    def advance(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        idle = np.zeros(self.num_envs, dtype=bool) if idle is None else idle
        self._reward[:], self._terminated[:], self._truncated[:] = 0.0, False, False
        if self.settings.actions == "paper":
            self._act(actions, idle)
            self._keep_ended()
            return
        plans = [[] if idle[i] else self.labels.decoded(self.tables, i, actions[i]) for i in range(self.num_envs)]
        refused = np.array([not plan for plan in plans]) & ~idle
        for k in range(max(map(len, plans), default=0)):
            goes = np.array([len(plan) > k for plan in plans]) & ~self._terminated & ~self._truncated
            self._act(np.array([plan[k] if len(plan) > k else 0 for plan in plans]), ~goes)
        self._keep(refused, np.full(self.num_envs, self.labels.num_actions))
        self.tables.refused += refused
        self._check_length(refused)
        self._keep_ended()

    def _act(self, actions: np.ndarray, idle: np.ndarray, *, time_goes_on: bool = True) -> None:
        """Carry out an action of the form "paper" on each table that is not idle, and run the physics.

        :param time_goes_on: False: no time passes, and only CHECK checks limits; `pass_time` checks them as well.
        """
        self._keep(~idle, actions)
        none = (actions == self.labels.num_actions + NONE) & ~idle
        waiting = self.waits & none
        self._waited += waiting
        self._check_length(waiting)
        idle = idle | waiting  # while a quiz is open, NONE changes nothing
        check, most = self.tables.act(actions, idle)
        if time_goes_on:
            self.tables.run(most, none & ~waiting)
        self._check_constraints(~idle if time_goes_on else check)
        if check.any():
            self._end_trials(check & ~self._terminated)
        self._acted = np.where(idle, self._acted, self.tables.steps)
        self._check_length(~idle)

    def _end_trials(self, check: np.ndarray) -> None:
        distance = self.tables.distance()
        self.trial_rate[check] = 1.0 - distance[check]
        solved = check & (distance == 0.0)
        self.tables.wait(solved & self._asks)
        self._finish(solved & ~self._asks, "solved", True)
        if self.settings.reward == "solution_rate":
            self._reward[check] = self.trial_rate[check]
        failed = check & (distance > 0.0)
        limit = self.tables.data.limits[self.tables.rows, CONSTRAINTS.index("trial_number")]
        out = failed & (self.tables.trials >= limit)
        self._finish(out, "trials", False)
        if len(again := np.flatnonzero(failed & ~out)):
            self.tables.next_trial(again)

    def _finish(self, which: np.ndarray, end: str, solved: bool) -> None:
        self._terminated |= which
        self._end[which] = ENDS.index(end)
        if solved and self.settings.reward == "solved":
            self._reward[which] = ~self._violated()[which]

    def _violated(self) -> np.ndarray:
        return np.any(self._excess > 0, axis=1)

    def _check_constraints(self, acted: np.ndarray) -> None:
        limits = self.tables.data.limits[self.tables.rows]
        excess = np.where(acted[:, None] & np.isfinite(limits), self.constraint_values() - limits, 0.0)
        excess[:, CONSTRAINTS.index("trial_number")] = 0.0  # the last trial ends the episode
        broken = excess > 1e-9
        self._excess = np.maximum(self._excess, np.where(broken, excess, 0.0))
        if self.settings.on_violation == "end" and broken.any():
            for k, name in enumerate(CONSTRAINTS):
                self._finish(broken[:, k] & ~self._terminated, name, False)

    def _check_length(self, acted: np.ndarray) -> None:
        used = self.tables.actions + self.tables.refused + self._waited
        over = acted & (used >= self.settings.max_actions) & ~self._terminated
        self._truncated |= over
        self._end[over] = ENDS.index("max_actions")

    def constraint_values(self) -> np.ndarray:
        """Return (B, 5): the present value of each of `CONSTRAINTS`, times in seconds."""
        tables, action = self.tables, self.settings.action_seconds or 0.0
        trial = tables.steps / FRAMERATE + action * tables.actions
        before = tables.steps_before / FRAMERATE + action * tables.actions_before
        first = np.full(self.num_envs, action)
        if self.settings.action_seconds is None:
            first = (tables.steps - self._acted) / FRAMERATE
        return np.stack([first, tables.actions, trial, tables.trials, before + trial], axis=1)

    def results(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._reward, self._terminated, self._truncated

    @property
    def success(self) -> np.ndarray:
        return self._terminated & (self._end == ENDS.index("solved")) & ~self._violated()

    def renew(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        many = len(self.tasks)
        if self.settings.order == "sequential":
            rows = (self._next + np.arange(len(columns))) % many
            self._next = int(self._next + len(columns)) % many
        else:
            rows = rng.integers(many, size=len(columns))
        self._begin(columns, rows, rng.integers(2**31, size=len(columns)))

    def set_up(self, columns: np.ndarray, options: Mapping[str, Any], rng: np.random.Generator) -> None:
        """Begin episodes by options: "task", a single task as in `ProbSolSettings`, and "seed", for a shuffled law."""
        refuse_unknown("reset", options, _OPTIONS)
        seeds = rng.integers(2**31, size=len(columns))
        if "seed" in options:
            seeds[:] = check("seed", options["seed"], Seed)
        rows = rng.integers(len(self.tasks), size=len(columns))
        if "task" in options:
            rows[:] = self._row(options["task"])
        self._begin(columns, rows, seeds)

    def _row(self, given: Any) -> int:
        """Return the index of a task in `tasks`; add the task if it is new."""
        own = self.settings
        found = ProbSolSettings(
            task=given, names=own.names, partition=own.partition, fold=own.fold, trial_number=own.trial_number
        )
        task, *others = found.load_tasks()
        if others:
            raise InputError(f"the reset option 'task' is {shown(given)}, which is {len(others) + 1} tasks; give one")
        self.settings.checked_task(task)
        if task not in self.tasks:
            self.tables.use([*self.tasks, task])
            self.tasks.append(task)
        return self.tasks.index(task)

    def _begin(self, columns: np.ndarray, rows: np.ndarray, seeds: np.ndarray) -> None:
        named = [self.settings.laws or self.tasks[row].laws for row in rows.tolist()]
        laws = [
            int(np.random.default_rng([seed, 3]).integers(len(LAW_NAMES)))
            if law == "shuffled"
            else LAW_NAMES.index(law)
            for law, seed in zip(named, seeds.tolist(), strict=True)
        ]
        self.tables.begin(columns, rows, laws)
        self._excess[columns], self.trial_rate[columns], self._end[columns] = 0.0, 0.0, 0
        self._waited[columns] = self._acted[columns] = 0
        self._asks[columns] = [self.settings.quiz and bool(self.tasks[row].quiz) for row in rows.tolist()]
        self._seeds[columns] = seeds
        for i in columns.tolist():
            self._done[i] = None if self.episodes is None else []
        self._reward[columns], self._terminated[columns], self._truncated[columns] = 0.0, False, False

    # ---- quizzes

    @property
    def waits(self) -> np.ndarray:
        """Return (B,) bool: the goal is reached, and the quiz is open."""
        return self.tables.waits

    def quiz(self, i: int = 0) -> list[dict[str, Any]]:
        """Return the questions of table i, which open once its goal is reached; [] if there are none."""
        self._check_place(i)
        return questions(self.task(i)) if self._asks[i] else []

    def answer(self, i: int, answers: Sequence[Sequence[str]]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Answer the quiz of table i with a list of ids for each question, exactly two ids for a pair.

        :returns: observation, reward, terminated, truncated and info, as `ProbSolEnv.step`.
        :raises InputError: no quiz is open, or `answers` does not hold one list of ids for each question.
        """
        self._check_place(i)
        if not self.waits[i]:
            raise InputError("no quiz is open: it opens when CHECK finds the goal reached")
        right = is_right(self.task(i), answers, (self.tables.theta[i] * 45).tolist())
        one = np.arange(self.num_envs) == i
        self._keep(one, [list(map(list, answers))] * self.num_envs)
        self.tables.wait(one, False)
        self._reward[i] = 0.0
        self._finish(one, "solved" if right else "quiz", right)
        self._over[i] = True
        self._keep_ended()
        seen = self.observe()
        row = {name: part[i] for name, part in seen.items()} if isinstance(seen, dict) else seen[i]
        return row, float(self._reward[i]), True, False, self.describe(i)

    # ---- in real time: actions at a step of the physics, and time that passes between them

    def act_now(self, action: int, i: int = 0) -> None:
        """Carry out an action of the form "paper" on table i, even while discs move there; no time passes.

        `results` and `describe` return its outcome. An unknown action is refused and counted as well.

        :raises InputError: the episode has ended, or none was begun.
        """
        self._check_place(i)
        if self._over[i] or not self.tables.trials[i]:
            raise InputError(f"the episode of table {i} has ended or was never begun: reset it")
        self._reward[i], self._terminated[i], self._truncated[i] = 0.0, False, False
        actions, others = np.full(self.num_envs, action), np.arange(self.num_envs) != i
        self._act(actions, others, time_goes_on=False)
        self._over[i] = self._terminated[i] | self._truncated[i]
        self._keep_ended()

    def pass_time(self, step: int, i: int = 0) -> None:
        """Run table i up to a physics step of its trial; do nothing while its quiz is open.

        Several calls lead to the same states as a single call, bit for bit.

        :raises InputError: the step lies in the past.
        """
        self._check_place(i)
        more = step - int(self.tables.steps[i])
        if more < 0:
            raise InputError(f"step {step} of the trial is over: the table is at step {self.tables.steps[i]}")
        if self.waits[i]:
            return
        one = np.arange(self.num_envs) == i
        self.tables.run(np.where(one, more, 0), one)
        self._check_constraints(one & ~self._terminated)
        self._over[i] |= self._terminated[i]
        self._keep_ended()

    # ---- records

    def record(self, i: int = 0) -> dict[str, Any]:
        """Return the episode of table i up to now, in the form of `gumption.envs.records`; `replay` repeats it.

        :raises InputError: its beginning was not kept: `episodes` was None when it began.
        """
        self._check_place(i)
        done = self._done[i]
        if done is None:
            raise InputError("the beginning of this episode was not kept: set `episodes` to a list before the reset")
        task, tables, settings = self.task(i), self.tables, self.settings
        content = {name: part for name, part in task.to_json().items() if name != "solution"}
        named = {"name": task.name, "hash": task.hash}
        kept = {name: getattr(settings, name) for name in _KEPT_SETTINGS}
        result = {
            "end": ENDS[int(self._end[i])], "solved": bool(self.success[i]), "reward": float(self._reward[i]),
            "trials": int(tables.trials[i]), "actions": int(tables.actions[i] + tables.actions_before[i]),
            "solve_time": float(self.constraint_values()[i, CONSTRAINTS.index("solve_time")]),
            "step": int(tables.steps[i]), "state": self.state_hash(i),
        }  # fmt: skip
        return episode(
            "probsol", "gumption/ProbSol-v0",
            settings={"max_obj_num": tables.discs, "max_grid_num": tables.cells, **kept},
            task=named if is_shipped(task, settings.names) else {**named, "content": content},
            seed=int(self._seeds[i]), law=LAW_NAMES[tables.law[i]], actions=list(done), result=result,
        )  # fmt: skip

    def state_hash(self, i: int = 0) -> str:
        """Hash the discs on table i, in its side bar and in hand to 16 hexadecimal digits."""
        tables = self.tables
        numbers = [tables.hand[i], tables.steps[i], tables.trials[i]]
        arms = tables.state.columns[Arm][:, : tables.discs, i]  # where forces turn dipoles, theta is rounded
        parts = [tables.where[i], tables.cell[i], tables.theta[i], numbers, tables.place[i], tables.velocity[i], arms]
        content = b"".join(np.ascontiguousarray(part).astype("<f8").tobytes() for part in parts)
        return hashlib.sha256(content).hexdigest()[:16]

    def _keep(self, which: np.ndarray, actions: Any) -> None:
        """Append actions of some tables and the states before them; answers are lists, other actions numbers."""
        for i in np.flatnonzero(which).tolist() if self.episodes is not None else ():
            if (done := self._done[i]) is not None:
                action = actions[i] if isinstance(actions[i], list) else int(actions[i])
                done.append([int(self.tables.steps[i]), int(self.tables.trials[i]), action, self.state_hash(i)])

    def _keep_ended(self) -> None:
        """Append the records of the episodes that have ended to `episodes`."""
        if self.episodes is None:
            return
        for i in np.flatnonzero(self._terminated | self._truncated).tolist():
            if self._done[i] is not None:
                self.episodes.append(self.record(i))
                self._done[i] = None

    # ---- knowledge

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Return the labels of effects, grid points, and the tasks' discs and areas. A reset to a new task appends
        labels; advice must then be made again."""
        return self._knowledge().vocabulary

    @property
    def relations(self) -> tuple[str, ...]:
        return RELATIONS

    def action_facts(self, chosen: np.ndarray | None = None) -> ActionFacts:
        """See `Affordances`; A is N, or with actions="objects" the size of the part after `chosen` (B, t)."""
        if self.settings.actions == "objects":
            parts = self.labels.parts().tolist()
            chosen = np.zeros((self.num_envs, 0), dtype=np.int64) if chosen is None else chosen
            chosen = whole_numbers("chosen", chosen, self.num_envs, None)
            if (given := chosen.shape[1]) >= len(parts):
                raise InputError(
                    f"chosen has shape {chosen.shape}; it is what was chosen so far, 0 to {len(parts) - 1} parts"
                )
            for k, many in enumerate(parts[:given]):
                if ((chosen[:, k] < 0) | (chosen[:, k] >= many)).any():
                    raise InputError(f"chosen[:, {k}] holds something else than 0 to {many - 1}")
        elif chosen is not None:
            raise InputError("chosen is for actions='objects'; an action of the form 'paper' is one choice")
        return self._knowledge()(self.tables, chosen)

    def _knowledge(self) -> Affordances:
        known = self._affordances
        if known is None or known.tasks < len(self.tasks):
            known = self._affordances = Affordances(self.tasks, known.vocabulary if known else ())
        return known

    # ---- what a player sees, and the truth

    def task(self, i: int = 0) -> Task:
        """Return the task of table i."""
        self._check_place(i)
        return self.tasks[int(self.tables.rows[i])]

    def observe(self) -> Observation:
        tables, data = self.tables, self.tables.data
        where = tables.where
        there = where != ABSENT
        seen = np.zeros((self.num_envs, tables.discs, 11), dtype=np.float32)
        for k, state in enumerate((STORED, GRABBED, HELD, PLACED)):
            seen[:, :, k] = where == state
        placed = (where == PLACED)[..., None]
        seen[:, :, 4:6] = np.clip(np.where(placed, tables.place / TABLE, 0.0), 0.0, 1.0)
        seen[:, :, 6] = np.where(where == HELD, tables.theta / 8, 0.0)
        if self.settings.observation == "paper":
            flat = np.ascontiguousarray(seen[:, :, :7]).reshape(self.num_envs, -1)
            flat[self.success] = 1.0
            return flat
        rows = tables.rows
        seen[:, :, 7] = data.golden[rows]
        seen[:, :, 8] = data.concerned[rows] & there
        seen[:, :, 9:] = np.clip(np.where(placed, tables.moved / TABLE, 0.0), -1.0, 1.0)
        limits = data.limits[rows]
        finite = np.isfinite(limits)
        share = np.where(finite, self.constraint_values() / np.where(finite, limits, 1.0), -1.0)
        constraints = np.stack([np.where(finite, limits / 1000.0, -1.0), share], axis=2)
        return {
            "discs": seen,
            "map": data.maps[rows],
            "family": self._families[data.family[rows]],
            "constraints": np.clip(constraints, -1.0, 2.0).astype(np.float32),
        }

    def action_mask(self) -> np.ndarray:
        """Return the open actions: (B, N) bool, or with actions="objects" (B, sum of the sizes of its parts)."""
        return self.tables.mask() if self.settings.actions == "paper" else self.labels.part_masks(self.tables)

    def info_arrays(self) -> Arrays:
        return {
            "success": self.success,
            "action_mask": self.action_mask().astype(np.int8),
            "solution_rate": 1.0 - self.tables.distance(),
            "trial_rate": self.trial_rate.copy(),
            "constraints": self.constraint_values(),
            "limits": self.tables.data.limits[self.tables.rows],
            "excess": self._excess.copy(),
            "refused": self.tables.refused.copy(),
            "trial": self.tables.trials.copy(),
            "step": self.tables.steps.copy(),
            "quiz": self.waits.copy(),
            "end": self._end.copy(),
        }

    def describe(self, i: int) -> dict[str, Any]:
        task, now = self.task(i), {name: values[i] for name, values in self.info_arrays().items()}
        constraints = {
            name: {"limit": limit if isfinite(limit) else None, "value": value, "excess": excess}
            for name, limit, value, excess in zip(
                CONSTRAINTS, *(now[part].tolist() for part in ("limits", "constraints", "excess")), strict=True
            )
        }
        return {
            "task": task.name,
            "family": task.family,
            "goal": goal_text(task),
            "goal_data": {name: part for name, part in task.to_json().items() if name in _GOAL},
            "success": bool(now["success"]),
            "action_mask": now["action_mask"],
            "solution_rate": float(now["solution_rate"]),
            "trial_rate": float(now["trial_rate"]),
            "constraints": constraints,
            **{name: int(now[name]) for name in ("refused", "trial", "step")},
            "quiz": self.quiz(i) if self.waits[i] else [],
            "end": ENDS[int(now["end"])],
        }

    def draw_frame(self, i: int, mode: RenderMode) -> Any:
        if mode == "ansi":
            return table_text(self.tables, self.task(i), i, self.describe(i))
        return pixels(self.tables, self.task(i), i)

    def table(self, i: int = 0) -> list[dict[str, Any]]:
        """Return the hidden state of each disc of table i: id, x, y (px), vx, vy (px/s), state, boundary (degrees)."""
        self._check_place(i)
        if not self.tables.trials[i]:
            raise ResetNeeded("no episode has begun on this table: call reset")
        tables, place, velocity = self.tables, self.tables.place[i].tolist(), self.tables.velocity[i].tolist()
        return [
            {"id": disc.id, "x": place[k][0], "y": place[k][1], "vx": velocity[k][0], "vy": velocity[k][1],
             "state": _STATES[int(tables.where[i, k])], "boundary": int(tables.theta[i, k]) * 45}
            for k, disc in enumerate(self.task(i).objects)
        ]  # fmt: skip

    def label(self, action: int, i: int = 0) -> tuple[Any, ...]:
        """Return the verb and the arguments of an action of the form "paper"."""
        return self.labels.label(self.task(i), int(action))

    def action_index(self, verb: str, *arguments: Any, i: int = 0) -> int:
        """Return the number of an action; "grab" takes a disc from the side bar or from the table."""
        return self.labels.index_on(self.tables, i, self.task(i), verb, *arguments)

    # ---- the fields of a memory

    @property
    def memory_layout(self) -> Layout:
        return layout(self.tables.discs, self.tables.cells, self.settings.actions)

    def episode_begins(self) -> np.ndarray:
        tables = self.tables
        return (tables.trials == 1) & (tables.actions + tables.refused == 0) & ~self.waits

    def memory_before(self) -> tuple[np.ndarray, ...]:
        tables = self.tables
        counts = tables.rows, tables.trials, tables.steps_before + tables.steps, tables.refused
        return *(each.copy() for each in counts), *visible(tables)

    def memory_fields(
        self, before: tuple[np.ndarray, ...], actions: np.ndarray, episode: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        rows, trials, steps, refused, *seen = before
        tables = self.tables
        reward, terminated, truncated = self.results()
        was_refused = (tables.refused > refused) & (tables.trials == trials)
        flags = OVER * (terminated | truncated) + SOLVED * self.success + REFUSED * was_refused
        ran = tables.steps_before + tables.steps - steps
        action = actions.reshape(self.num_envs, -1)
        return (rows, episode, trials, action, reward, flags, ran, *seen, *visible(tables))

    def memory_files(self) -> Mapping[str, str]:
        if self._files is None or self._files[0] != len(self.tasks):
            lines = ({"task": task.name, "discs": list(task.ids), "hash": task.hash} for task in self.tasks)
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            self._files = len(self.tasks), {TASKS: text}
        return self._files[1]

    # ---- saving

    _EPISODE = ("_waited", "trial_rate", "_end", "_excess", "_asks", "_acted")

    def save(self, i: int = 0) -> dict[str, Any]:
        """Return the state of table i as data for JSON; `restore` continues from it, bit for bit."""
        self._check_place(i)
        task = self.task(i)
        counts = {name.strip("_"): getattr(self, name)[i].tolist() for name in self._EPISODE}
        return {"schema": STATE_SCHEMA, "task": task.name, "hash": task.hash, **counts, "table": self.tables.save(i)}

    def restore(self, state: Mapping[str, Any], i: int = 0) -> None:
        """Set table i to a state from `save`.

        :raises InputError: not a state, a state of another schema, or a state of another task than the table's.
        """
        self._check_place(i)
        if not isinstance(state, Mapping) or state.get("schema") != STATE_SCHEMA:
            raise InputError(f"{shown(state)} is no state of schema {STATE_SCHEMA}, as save gives")
        task = self.task(i)
        if state.get("hash") != task.hash:
            raise InputError(
                f"the state is of the task {shown(state.get('task'))}, and the table has {task.name!r}: "
                "reset it with that task first"
            )
        before = self.save(i)
        try:
            self._put_back(state, i)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            self._put_back(before, i)
            raise InputError(f"the state is damaged: {error!r}") from None
        self._reward[i], self._terminated[i], self._truncated[i] = 0.0, False, False
        self._over[i], self._started = False, True

    def _put_back(self, state: Mapping[str, Any], i: int) -> None:
        self.tables.restore(i, state["table"])
        for name in self._EPISODE:
            getattr(self, name)[i] = state[name.strip("_")]

    def _state(self) -> dict[str, Any]:
        return {
            "tables": json.dumps([self.save(i) for i in range(self.num_envs)]),
            "rows": self.tables.rows.copy(),
            "next": np.array(self._next),
            "tasks": content_hash([[task.name, task.hash] for task in self.tasks]),
        }

    HASHES = ("tasks",)

    def _go_on(self, state: Mapping[str, Any]) -> None:
        self._begin(np.arange(self.num_envs), np.asarray(state["rows"]), np.zeros(self.num_envs, dtype=np.int64))
        for i, kept in enumerate(json.loads(state["tables"])):
            self.restore(kept, i)
        self._next = int(state["next"])


class ProbSolEnv(NativeEnv):
    """Magnets on a table whose mass, magnetism and polarity are hidden (Shi et al., ProbSol Worlds).

    Description: discs lie on a table of 480 x 480 px or in a side bar. The player grabs, places, stores, holds and
    turns them; opposite poles attract, equal poles repel, friction slows discs. Six families of tasks: Fishing, Curling
    (tool use), FindTheDiff, FindTheSame (discovery), Building, Modifying (crafting); and Sandbox without a goal.

    Observation: "full" (default) a Dict: "discs" (M, 11), in order stored, grabbed, held, placed, x / 480, y / 480 (0
    unless placed), boundary / 360 (0 unless held), golden, first stored, dx / 480, dy / 480 since the last action;
    "map" (5, 40, 40) uint8: dark, target, block, building, wall; "family" (6,); "constraints" (5, 2): limit / 1000, and
    the present value over the limit, -1 without a limit. "paper": the first seven of each disc, (7 M,); ones if solved.

    Actions: "paper" (default) Discrete(3 M + G + 3208), see `gumption.envs.probsol.engine`; "objects"
    MultiDiscrete([7, M, 361]): verb (place, hold, store, turn, put down, none, check), disc, point.
    After each action the physics runs until all discs rest, at most 20 s; after NONE, 0.5 s. An action that the mask
    closes is refused: it has no effect, and `refused` counts it.

    Reward: 1 at the CHECK with the goal reached (with a quiz, at the right answers) within all limits, else 0.

    Termination: solved, out of trials, a broken limit, or a wrong answer. Truncation: `max_actions` in a trial.

    Info: `task`, `family`, `goal` (text), `goal_data`, `success`, `solution_rate` (1 - d of the present table),
    `trial_rate` (of the last trial that ended), `constraints` (limit, value, excess of each), `refused`, `trial`,
    `step` (of the physics, 60 a second), `quiz` (open questions), `end` (the reason), `action_mask`.

    Reset options: `task` (a name, a file or its content) and `seed` (draws the law if laws="shuffled").
    """

    batch: ProbSolVectorEnv

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `ProbSolSettings`."""
        super().__init__(
            ProbSolVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings)
        )

    def table(self) -> list[dict[str, Any]]:
        """Return the hidden state, which no observation contains; see `ProbSolVectorEnv.table`."""
        return self.batch.table(0)

    def quiz(self) -> list[dict[str, Any]]:
        """Return the questions of the task."""
        return self.batch.quiz(0)

    def answer(self, answers: Sequence[Sequence[str]]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Answer the open quiz with a list of ids for each question; return the same tuple as `step`."""
        result = self.batch.answer(0, answers)
        self._over = True
        return result

    def save(self) -> dict[str, Any]:
        """Return the state as data for JSON."""
        return self.batch.save(0)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state, bit for bit; raise InputError for the state of another task."""
        self.batch.restore(state, 0)
        self._over = False

    def label(self, action: int) -> tuple[Any, ...]:
        """Return the verb and the arguments of an action: ("place", 10, 12)."""
        return self.batch.label(action, 0)

    def action_index(self, verb: str, *arguments: Any) -> int:
        """Return the number of an action from its verb and arguments: action_index("place", 10, 12)."""
        return self.batch.action_index(verb, *arguments, i=0)


def begin(
    *, task: str = "fishing/0", seed: Seed = 0, laws: str | None = None, names: str = "real", rate: bool = False
) -> tuple[ProbSolEnv, TextFace]:
    """Play an episode of ProbSol: solve the task, check, and answer the quiz.

    :param task: A task, a family (one is drawn), or a file.
    :param seed: Draws the task of several, and a shuffled law.
    :param laws: real, counterfactual, inert or shuffled.  [default: the task's]
    :param names: Of colours and names: real, anonymous or shuffled.
    :param rate: Tell how near the goal is after each action.
    """
    env = ProbSolEnv(render_mode="ansi", task=task, laws=laws, names=names)
    env.batch.episodes = []  # keeps the episode
    env.reset(seed=seed)
    return env, TextFace(rate)
