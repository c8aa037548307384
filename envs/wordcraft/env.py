"""The Gymnasium environments: a native batch, and a single one that is a batch of one."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gumption.data import InputError

from .facts import COMBINES_WITH, COMPONENT_OF, Triple
from .recipe_book import PAD
from .settings import WordCraftSettings, World, as_slot, as_slots

RENDER_MODES = ["ansi", "rgb_array"]
Arrays = dict[str, np.ndarray]


class WordCraftVectorEnv(VectorEnv[Arrays, np.ndarray, np.ndarray]):
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
        if num_envs < 1:
            raise InputError(f"num_envs is {num_envs}; it is at least 1")
        if render_mode not in (None, *RENDER_MODES):
            raise InputError(f"render_mode is {render_mode!r}; it can be {', '.join(RENDER_MODES)} or None")
        self.world = World.of(WordCraftSettings(**settings))
        self.book, self.tasks, self.split = self.world.book, self.world.tasks, self.world.split
        self.engine = self.world.engine(num_envs)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": RENDER_MODES, "render_fps": 2, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = self.world.observation_space(self.engine.slots)
        self.single_action_space = spaces.Discrete(self.engine.slots)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, dtype=bool)  # ended and not reset yet
        self._started = False
        self._first = np.zeros(num_envs, dtype=np.int16)

    # ---- the lean path

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

    def step_arrays(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One step without observations and infos; an episode that ends is followed at once by the next.

        :param actions: (B,) integers.
        :returns: reward (B,) float32, done (B,) bool, success (B,) bool, of the episodes before they were renewed.
        """
        engine = self.engine
        if not self._started:
            self._start()
        if self._over.any():  # `step` was used before, and left ended episodes for its next call to reset
            self._renew(np.flatnonzero(self._over))
            self._over[:] = False
        engine.step(as_slots(actions, self.num_envs))
        results = engine.reward.copy(), engine.done.copy(), engine.success.copy()
        self._renew(np.flatnonzero(engine.done))
        return results

    def random_actions(self) -> np.ndarray:
        """(B,) int64: in each environment a random occupied slot."""
        return self.engine.random_actions(self.np_random)

    def set_tasks(self, task_indices: np.ndarray, envs: np.ndarray | None = None) -> None:
        """Start the given tasks, with fresh distractors, in the first len(task_indices) environments or in `envs`.

        :raises InputError: more tasks than environments, or an index that `tasks` does not have.
        """
        tasks = np.asarray(task_indices, dtype=np.int64)
        columns = np.arange(len(tasks)) if envs is None else np.asarray(envs, dtype=np.int64)
        if len(columns) != len(tasks) or len(tasks) > self.num_envs:
            raise InputError(f"{len(tasks)} tasks for {min(len(columns), self.num_envs)} environments")
        if len(tasks) and not 0 <= tasks.min() <= tasks.max() < len(self.tasks):
            raise InputError(f"task indices lie between 0 and {len(self.tasks) - 1}")
        if not self._started:
            self._start()
        self.engine.set_tasks(self.np_random, tasks, columns)
        self._over[columns] = False

    def _renew(self, columns: np.ndarray) -> None:
        if len(columns) == self.num_envs:
            self.engine.renew(self.np_random)
        elif len(columns):
            self.engine.renew(self.np_random, columns)

    def _start(self) -> None:
        self.engine.renew(self.np_random)
        self._over[:] = False
        self._started = True

    # ---- Gymnasium

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Start new episodes; options as for `WordCraftEnv.reset`, and "reset_mask", (B,) bool: only these."""
        super().reset(seed=seed)
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        if mask is not None:
            mask = np.asarray(mask)
            if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
                raise InputError(f"reset_mask is an array of {self.num_envs} booleans, at least one of them true")
        columns = np.arange(self.num_envs) if mask is None else np.flatnonzero(mask)
        if seed is not None:
            self.engine.forget_drawn()
        if options:
            self.world.set_up(self.engine, columns, options)
        else:
            self._renew(columns)
        self._over[columns] = False
        self._started = self._started or mask is None
        self.engine.refused[columns] = self.engine.success[columns] = False
        return self.observe(), self._infos()

    def step(self, actions: Any) -> tuple[Arrays, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """:raises InputError: not one action per environment.
        :raises ResetNeeded: before the first reset; with autoreset disabled, after an episode that ended.
        """
        if not self._started:
            raise ResetNeeded("call reset before step")
        engine, mode = self.engine, self.autoreset_mode
        slots = as_slots(actions, self.num_envs)
        resting = self._over if mode == AutoresetMode.NEXT_STEP and self._over.any() else None
        if mode == AutoresetMode.DISABLED and self._over.any():
            raise ResetNeeded("an episode has ended: reset it, e.g. reset(options={'reset_mask': terminations})")
        self.advance(slots, resting)
        infos: dict[str, Any] = {}
        reward, terminated = engine.reward.astype(np.float64), engine.done.copy()
        if resting is not None:
            self._renew(np.flatnonzero(resting))
        self._over = terminated.copy()
        if mode == AutoresetMode.SAME_STEP and terminated.any():
            infos = self._final(terminated)
            self._renew(np.flatnonzero(terminated))
            engine.refused[terminated] = engine.success[terminated] = False
            self._over[:] = False
        infos |= self._infos()
        return self.observe(), reward, terminated, np.zeros(self.num_envs, dtype=bool), infos

    def advance(self, slots: np.ndarray, idle: np.ndarray | None = None) -> None:
        """The engine's step, remembering for `render` what was selected before it."""
        if self.render_mode is not None:
            self._first = self.engine.selection.copy()
        self.engine.step(slots, idle)

    def observe(self) -> Arrays:
        """A fresh observation of every environment, (B, ...)."""
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

    def _infos(self) -> dict[str, Any]:
        engine = self.engine
        values = {
            "success": engine.success.copy(),
            "invalid_action": engine.refused.copy(),
            "invalid_actions": engine.refusals.astype(np.int64),
            "action_mask": self.action_mask.astype(np.int8),
        }
        every = np.ones(self.num_envs, dtype=bool)
        return values | {f"_{name}": every for name in values}

    def _final(self, ended: np.ndarray) -> dict[str, Any]:
        observation, infos = self.observe(), self._infos()
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            last[i] = {name: array[i] for name, array in observation.items()}
        infos |= {name: ended for name in infos if name.startswith("_")}
        return {"final_obs": last, "_final_obs": ended, "final_info": infos, "_final_info": ended}

    def describe(self, i: int) -> dict[str, Any]:
        """The info of environment i as a single environment gives it, with names."""
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

    def action_facts(self, i: int) -> list[list[Triple]]:
        """For each slot of environment i the triples that speak for choosing it: (candidate, combinesWith, selection)
        once something is selected, and (candidate, componentOf, goal). Empty for an empty slot."""
        state = self.describe(i)
        facts: list[list[Triple]] = [
            [*((entity, COMBINES_WITH, chosen) for chosen in state["selection"]), (entity, COMPONENT_OF, state["goal"])]
            for entity in state["table"]
        ]
        return facts + [[] for _ in range(self.engine.slots - len(facts))]

    def render(self) -> tuple[Any, ...] | None:
        """One frame per environment: text ("ansi") or (H, W, 3) uint8 ("rgb_array")."""
        if self.render_mode is None:
            return None
        from .render import render

        return tuple(render(self.describe(i), self.render_mode, self._last_mix(i)) for i in range(self.num_envs))

    def _last_mix(self, i: int) -> str:
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


class WordCraftEnv(gym.Env[Arrays, np.integer]):
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

    Parameters: see `WordCraftSettings`; render_mode "ansi" or "rgb_array".
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": RENDER_MODES, "render_fps": 2}

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `WordCraftSettings`."""
        self.batch = WordCraftVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings)
        self.render_mode = render_mode
        self.book, self.tasks, self.split = self.batch.book, self.batch.tasks, self.batch.split
        self.observation_space = self.batch.single_observation_space
        self.action_space = self.batch.single_action_space
        self._slot = np.zeros(1, dtype=np.int64)
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Arrays, dict[str, Any]]:
        """Start an episode: a random task of the partition, or with options the task that they describe:
        {"goal": name, "table": names in order, "intermediates": names that give subgoal rewards (may be left out)}.

        :raises InputError: unknown name (with near ones), or a table over its size.
        """
        super().reset(seed=seed)
        batch, engine = self.batch, self.batch.engine
        if seed is not None:
            engine.forget_drawn()
        if options:
            batch.world.set_up(engine, np.zeros(1, dtype=np.int64), options)
        else:
            engine.renew(self.np_random)
        engine.refused[0] = engine.success[0] = self._over = False
        return self._observe(), batch.describe(0)

    def step(self, action: Any) -> tuple[Arrays, float, bool, bool, dict[str, Any]]:
        """:raises ResetNeeded: when the episode has ended or none was begun."""
        if self._over:
            raise ResetNeeded("the episode has ended or was never begun: call reset")
        engine = self.batch.engine
        self._slot[0] = as_slot(action)
        self.batch.advance(self._slot)
        self._over = bool(engine.done[0])
        return self._observe(), float(engine.reward[0]), self._over, False, self.batch.describe(0)

    def action_masks(self) -> np.ndarray:
        """(S,) bool: the slots that hold something, for MaskablePPO."""
        return self.batch.engine.table[:, 0] > PAD

    def action_facts(self) -> list[list[Triple]]:
        """For each slot the triples that speak for choosing it; see `WordCraftVectorEnv.action_facts`."""
        return self.batch.action_facts(0)

    def render(self) -> Any:
        """Text ("ansi") or (H, W, 3) uint8 ("rgb_array")."""
        frames = self.batch.render()
        return None if frames is None else frames[0]

    def _observe(self) -> Arrays:
        return {name: array[0] for name, array in self.batch.observe().items()}
