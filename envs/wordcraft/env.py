"""WordCraft's Gymnasium environments: a native batch, and a single one that is a batch of one."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.data.settings import whole_numbers
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.memory import Layout
from gumption.envs.native import Arrays, NativeEnv, NativeVectorEnv, Numbers, check_batch
from gumption.kg import NaryRelation

from .facts import RELATION_NAMES, RELATIONS
from .memory import DONE, REFUSED, SUCCESS, entity_file, layout
from .recipe_book import PAD
from .settings import WordCraftSettings, World


class WordCraftVectorEnv(NativeVectorEnv):
    """Many WordCraft episodes at once, in arrays. The game, its observation and its keyword arguments are those of
    `WordCraftEnv`, with a leading batch axis.

    :ivar book, tasks, split: the RecipeBook, the TaskList of the depth, and the Split.
    :ivar goal: (B,), `table` (B, S), `selection` (B,) int16 env ids; `task_index` (B,) int32 into `tasks`, -1 for an
        episode set by options; `action_mask` (B, S) bool. Views of the state as it is now: copy what you keep.

    Infos hold arrays: `success`, `invalid_action` (B,) bool, `invalid_actions` (B,) int64 of the episode, and
    `action_mask` (B, S) int8. Names are in `describe(i)`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        """:raises InputError: bad settings; see `WordCraftSettings`."""
        check_batch(num_envs, render_mode)
        self.world = World.of(WordCraftSettings(**settings))
        self.settings = self.world.settings
        self.book, self.tasks, self.split = self.world.book, self.world.tasks, self.world.split
        self.engine = self.world.engine(num_envs)
        space = self.world.observation_space(self.engine.slots)
        super().__init__(num_envs, render_mode, autoreset_mode, space, spaces.Discrete(self.engine.slots))
        self._first = np.zeros(num_envs, dtype=np.int16)  # what was selected before the step, for `render`
        self._never = np.zeros(num_envs, dtype=bool)  # the limits of an episode are part of the task: no truncation

    # ---- the state

    @property
    def goal(self) -> np.ndarray:
        return self.engine.goal

    @property
    def table(self) -> np.ndarray:
        return self.engine.table.T

    @property
    def selection(self) -> np.ndarray:
        return self.engine.selection

    @property
    def task_index(self) -> np.ndarray:
        return self.engine.task

    @property
    def action_mask(self) -> np.ndarray:
        return self.engine.occupied().T

    @property
    def success(self) -> np.ndarray:
        return self.engine.success

    def random_actions(self) -> np.ndarray:
        """(B,) int64: in each environment a random occupied slot."""
        return self.engine.random_actions(self.np_random)

    def set_tasks(self, task_indices: Numbers, envs: Numbers | None = None) -> None:
        """Start the given tasks, with fresh distractors, in the first len(task_indices) environments or in `envs`.

        :raises InputError: more tasks than environments, or an index that `tasks` does not have.
        """
        tasks = whole_numbers("task_indices", task_indices, None)
        columns = self._columns(envs, len(tasks))
        if len(tasks) and not 0 <= tasks.min() <= tasks.max() < len(self.tasks):
            raise InputError(f"task indices lie between 0 and {len(self.tasks) - 1}")
        self.start()
        if not len(tasks):
            return
        self.engine.set_tasks(self.np_random, tasks, columns)
        self._over[columns] = False

    # ---- what NativeVectorEnv asks for

    def advance(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        if self.render_mode is not None:
            self._first[:] = self.engine.selection
        self.engine.step(actions, idle)

    def results(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.engine.reward, self.engine.done, self._never

    def renew(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        self.engine.renew(rng, None if len(columns) == self.num_envs else columns)

    def forget_drawn(self) -> None:
        self.engine.forget_drawn()

    def set_up(self, columns: np.ndarray, options: Mapping[str, Any], rng: np.random.Generator) -> None:
        self.world.set_up(self.engine, columns, options)

    @property
    def memory_layout(self) -> Layout:
        return layout(self.engine.slots, self.book.hash)

    def episode_begins(self) -> np.ndarray:
        return self.engine.steps == 0

    def memory_before(self) -> tuple[np.ndarray, ...]:
        return self.table.copy(), self.selection.copy()

    def memory_fields(
        self, before: tuple[np.ndarray, ...], actions: np.ndarray, episode: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        engine, (table, selection) = self.engine, before
        flags = SUCCESS * engine.success + DONE * engine.done + REFUSED * engine.refused
        slot = np.clip(actions, -1, 2**31 - 1)
        made = (engine.picked, engine.product, engine.reward, engine.task)
        return (engine.goal, table, selection, slot, *made, episode, flags)

    def memory_files(self) -> Mapping[str, str]:
        return self._entity_file

    @cached_property
    def _entity_file(self) -> dict[str, str]:
        return entity_file(self.book)

    def observe(self) -> Arrays:
        engine, features = self.engine, self.world.features
        selection = np.zeros((self.num_envs, 2), dtype=np.int64)
        selection[:, 0] = engine.selection
        observation = {
            "goal_index": engine.goal.astype(np.int64),
            "table_index": np.ascontiguousarray(engine.table.T, dtype=np.int64),
            "selection_index": selection,
        }
        observation["action_mask"] = (observation["table_index"] > PAD).astype(np.int8)
        if features is not None:
            for name in ("goal", "table", "selection"):
                observation[f"{name}_features"] = features.take(observation[f"{name}_index"], axis=0)
        return observation

    def info_arrays(self) -> Arrays:
        engine = self.engine
        return {
            "success": engine.success.copy(),
            "invalid_action": engine.refused.copy(),
            "invalid_actions": engine.refusals.astype(np.int64),
            "action_mask": self.action_mask.astype(np.int8),
        }

    def describe(self, i: int) -> dict[str, Any]:
        self._check_place(i)
        engine, names = self.engine, self.world.names
        column = engine.table[:, i]
        selected = int(engine.selection[i])
        return {
            "goal": names[engine.goal[i]],
            "table": [names[entity] for entity in column[: engine.count[i]].tolist()],
            "selection": [names[selected]] if selected else [],
            "success": bool(engine.success[i]),
            "invalid_action": bool(engine.refused[i]),
            "invalid_actions": int(engine.refusals[i]),
            "action_mask": (column > PAD).astype(np.int8),
        }

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self.world.names

    @property
    def relations(self) -> tuple[str | NaryRelation, ...]:
        return RELATIONS

    def action_facts(self, chosen: np.ndarray | None = None) -> ActionFacts:
        """For each slot what would speak for choosing it: (candidate, combinesWith, selection) once something is
        selected, (candidate, componentOf, goal), and (candidate, makes, goal) given the selection or, before there is
        one, given anything on the table."""
        engine = self.engine
        table = engine.table.T.astype(np.int64)
        there = table > PAD
        selection = np.where(there, engine.selection[:, None], 0)
        goal = np.where(there, engine.goal[:, None], 0)
        parties = [(table, selection, 0), (table, goal, 0), (table, goal, selection)]
        return action_facts(RELATION_NAMES, table.shape, parties, partners=table)

    def draw_frame(self, i: int, mode: str) -> Any:
        from .render import render

        return render(self.describe(i), mode, self.last_mix(i))

    def last_mix(self, i: int) -> str:
        self._check_place(i)
        engine, name = self.engine, self.book.label
        if engine.refused[i]:
            return "refused: that slot holds nothing"
        if not engine.steps[i] or not engine.picked[i] or not self._first[i]:
            return ""
        made = f"makes {name(engine.product[i])}" if engine.product[i] else "makes nothing"
        return f"{name(self._first[i])} + {name(engine.picked[i])} {made}"

    # ---- saving

    def state_dict(self) -> dict[str, Any]:
        """State for an exact resume: arrays, and the strings "rng" (JSON), "book" and "split" (hashes)."""
        return self.engine.state_dict() | {
            "over": self._over.copy(),
            "rng": json.dumps(self.np_random.bit_generator.state),
            "book": self.book.hash,
            "split": self.split.hash,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """:raises InputError: a state of another book, split or number of environments."""
        self._check_state(state, self.state_dict())
        for name, mine in (("book", self.book.hash), ("split", self.split.hash)):
            if state[name] != mine:
                raise InputError(f"the saved environment has another {name} ({state[name][:12]}, here {mine[:12]})")
        if np.shape(state["table"]) != self.engine.table.shape:
            raise InputError(
                f"the saved environment has (slots, envs) {np.shape(state['table'])}, here {self.engine.table.shape}"
            )
        self.engine.load_state_dict(state)
        self._over = np.array(state["over"], dtype=bool)
        self.np_random.bit_generator.state = json.loads(state["rng"])
        self._started = True


class WordCraftEnv(NativeEnv):
    """Make the goal entity by combining two entities on a table (Jiang et al., 2020, section 3).

    Description: the table shows the base entities of a task and distractors, in random order. Selecting two (the same
    one twice, too) mixes them. If the recipe book has a product for the pair it joins the table: the goal if the pair
    can make it, else an intermediate of the task that is not made yet, else the first in the order of the book. The
    selection is then empty again.

    Observation (Dict of env ids: 0 is nothing, i + 1 is entity i of `book.entities`):
        goal_index; table_index (S,), S = depth + 1 + num_distractors + mixes; selection_index (2,);
        action_mask (S,) int8, the slots that hold something; with `features` also
        goal_features (F,), table_features (S, F), selection_features (2, F) float32.

    Actions: Discrete(S), the slot to select. A slot that holds nothing, or does not exist, is refused: nothing is
    selected, a step is used, `info["invalid_action"]` is true.

    Reward "shaped": +1 for the goal; for the first making of an intermediate of the task +1 (0 with
    `subgoal_rewards=False`), 0 for making it again; -0.1 for any other mix. "sparse": 1 for the goal, else 0.

    Termination: the goal is made, or max_mix_steps mixes, or twice as many steps.

    Info: goal, table and selection as names, success, invalid_action, invalid_actions (in this episode), action_mask.

    Reset options: {"goal": name, "table": names in order, "intermediates": names that give subgoal rewards (may be
    left out)} set up that task; an unknown name or a table over its size is an InputError.

    Parameters: see `WordCraftSettings`; render_mode "ansi" or "rgb_array".
    """

    batch: WordCraftVectorEnv

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `WordCraftSettings`."""
        super().__init__(
            WordCraftVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings)
        )
        self.book, self.tasks, self.split = self.batch.book, self.batch.tasks, self.batch.split

    def action_masks(self) -> np.ndarray:
        """(S,) bool: the slots that hold something, for MaskablePPO."""
        return self.batch.engine.table[:, 0] > PAD
