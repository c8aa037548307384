"""Provide Gradual's Gymnasium environments: many streams in arrays, and a single stream as a batch of size 1."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.native import Arrays, NativeEnv, NativeVectorEnv, RenderMode, check_batch

from .batch import Batch
from .engine import Life, TaskRecord
from .facts import FOLLOWED_BY, HAS_ANSWER, answered_facts, symbol
from .render import History
from .settings import GradualSettings, read_options
from .task import STOP, Rules

BYTES = 256


class GradualVectorEnv(NativeVectorEnv):
    """Run many streams at once: `GradualEnv` with a leading batch axis. Observations and actions are (B,) bytes.

    Infos hold `success` and `listening`, (B,) bool, and `action_mask`, (B, 256) int8; `describe(i)` returns the rest.

    :ivar batch: the streams; `records(i)` returns the statistics of stream i.
    :ivar dials: the rules on which labels depend.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        """:raises InputError: bad settings; see `GradualSettings`."""
        check_batch(num_envs, render_mode)
        self.settings = GradualSettings(**settings)
        self.curriculum = self.settings.curriculum()
        self.dials = Rules(names=self.settings.names, laws=self.settings.laws)
        super().__init__(num_envs, render_mode, autoreset_mode, spaces.Discrete(BYTES), spaces.Discrete(BYTES))
        self.batch = Batch(num_envs)
        self.steps = np.zeros(num_envs, dtype=np.int64)
        self._reward = np.zeros(num_envs, dtype=np.float32)
        self._terminated, self._truncated = np.zeros((2, num_envs), dtype=bool)
        self._history = None if render_mode is None else History(num_envs)

    @property
    def success(self) -> np.ndarray:
        """Return (B,) bool: whether the latest step passed the last task."""
        return self._terminated

    def records(self, i: int) -> list[TaskRecord]:
        """Return the statistics of the tasks of stream i so far, in order."""
        self._check_place(i)
        self.batch.settle()
        stream = self.batch.streams[i]
        return [] if stream is None else stream.life.records

    def random_actions(self) -> np.ndarray:
        """Draw (B,) int64 bytes uniformly."""
        return self.np_random.integers(BYTES, size=self.num_envs)

    # The methods of NativeVectorEnv.

    def advance(self, actions: np.ndarray, idle: np.ndarray | None = None) -> None:
        self.batch.step(actions.astype(np.uint8), idle)
        active = np.ones(self.num_envs, dtype=bool) if idle is None else ~idle
        self.steps += active
        self._terminated = self.batch.over & active
        self._reward = self.batch.reward.astype(np.float32)
        if self.settings.upstream_quirks:
            self._reward[self._terminated] = 0  # the program of 2017 ended before it sent this reward
        limit = self.settings.max_steps
        self._truncated = np.zeros_like(active) if limit is None else active & (self.steps >= limit) & ~self._terminated
        if self._history is not None:
            self._history.add(actions, self.batch.byte, self.batch.reward, active)

    def results(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._reward, self._terminated, self._truncated

    def renew(self, columns: np.ndarray, rng: np.random.Generator) -> None:
        self._begin(columns, [self._life(self.curriculum.tasks, rng) for _ in range(len(columns))])

    def set_up(self, columns: np.ndarray, options: Mapping[str, Any], rng: np.random.Generator) -> None:
        tasks, hidden, questions = read_options(options, self.curriculum.tasks)
        self._begin(columns, [self._life(tasks, rng, hidden, questions) for _ in range(len(columns))])

    def observe(self) -> np.ndarray:
        return self.batch.byte.astype(np.int64)

    def info_arrays(self) -> Arrays:
        return {
            "success": self.success.copy(),
            "listening": self.batch.listening(),
            "action_mask": np.ones((self.num_envs, BYTES), dtype=np.int8),
        }

    def describe(self, i: int) -> dict[str, Any]:
        self._check_place(i)
        life = self.batch.life(i)
        return {
            "task": life.task.name,
            "instance": life.record.instances,
            "question": life.question,
            "listening": bool(self.batch.listening()[i]),
            "success": bool(self.success[i]),
            "action_mask": np.ones(BYTES, dtype=np.int8),
        }

    @property
    def vocabulary(self) -> Sequence[str]:
        return _vocabulary(self.dials)

    @property
    def relations(self) -> Sequence[str]:
        return RELATIONS

    def action_facts(self, chosen: np.ndarray | None = None) -> ActionFacts:
        ids, questions = _ids(self.dials), self.batch.questions()
        asked = np.array([ids.get(question, 0) for question in questions])[:, None]
        answered = np.zeros((self.num_envs, BYTES), dtype=np.int64)  # the id of the answer that each byte completes
        for row, question, answer in zip(answered, questions, self.batch.answers(), strict=True):
            if question in ids:
                texts = [answer + chr(byte) for byte in range(BYTES)]
                row[:] = [ids.get(text, 0) if text.endswith(STOP) else ids.get(text + STOP, 0) for text in texts]
        stated = (np.where(answered > 0, asked, 0), answered, 0)
        follows = (1 + self.batch.byte[:, None].astype(int), 1 + np.arange(BYTES), 0)
        return action_facts(RELATIONS, (self.num_envs, BYTES), [stated, follows])

    def draw_frame(self, i: int, mode: RenderMode) -> Any:
        self._check_place(i)
        if self._history is None:
            raise InputError("the environment was made without render_mode, so it keeps nothing to draw")
        return self._history.draw(i, mode)

    def _state(self) -> dict[str, Any]:
        return {**self.batch.state(), "steps": self.steps.copy()}

    def _go_on(self, state: Mapping[str, Any]) -> None:
        tasks = {task.name: task for task in self.curriculum.tasks}
        self.batch.restore(state, tasks, self.curriculum.success_threshold)
        self.steps[:] = state["steps"]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy by construction from settings and state, because streams hold generators; the rendering starts empty.

        :raises InputError: RecordMemory records the environment.
        """
        if self.recorder is not None:
            raise InputError("an environment that RecordMemory keeps cannot be copied: copy the one within it")
        made = {"render_mode": self.render_mode, "autoreset_mode": self.autoreset_mode}
        settings = {field.name: getattr(self.settings, field.name) for field in fields(self.settings)}
        begun = any(stream is not None for stream in self.batch.streams)
        return _copied, (type(self), self.num_envs, made | settings, self.state_dict() if begun else None)

    def _life(self, tasks: Sequence[Any], rng: np.random.Generator, *first: Any) -> Life:
        return Life(tasks, self.curriculum.success_threshold, int(rng.integers(2**63)), *first)

    def _begin(self, columns: np.ndarray, lives: Sequence[Life]) -> None:
        self.batch.begin(columns.tolist(), lives)
        self.steps[columns] = 0
        self._reward[columns] = 0
        self._terminated[columns] = self._truncated[columns] = False
        if self._history is not None:
            self._history.begin(columns, self.batch.byte)


def _copied(
    kind: type[GradualVectorEnv], num_envs: int, settings: dict[str, Any], state: Mapping[str, Any] | None
) -> GradualVectorEnv:
    copy = kind(num_envs, **settings)
    if state is not None:
        copy.load_state_dict(state)
    return copy


class GradualEnv(NativeEnv):
    """Learn a curriculum of tasks in a stream of bytes (GoodAI, 2017: General AI Challenge, Gradual Learning).

    Description: an episode is a curriculum in a single stream. At each step the environment sends a byte, and the agent
    replies with a byte; silence is the space. No mark shows where a task, an instance or a question begins. A
    micro-task's instance hides a rule, and ends after ten right answers in a row; solved instances in a row end a task.

    Observation: the byte of the environment, Discrete(256). Actions: the byte of the agent, Discrete(256).

    Reward: for the last action: 1 for a right and -1 for a wrong answer, when it ends; -1 for each byte out of turn,
    which also restarts the row of ten; in the mini-tasks 1 for a right answer, when its feedback has ended.

    Termination: the last task has been passed; the observation is then a space. Truncation: after `max_steps`.

    Info: `task`, `instance` (its number within the task, from 1), `question`, `listening` (the next action is part of
    an answer), `success`, `action_mask` (all bytes). They are for people: no agent should learn from them.

    Reset options: `task` (the name of the first task), and of its first instance `mapping` (key -> answer), `context`
    (other hidden data, by name) and `questions` (its first questions).
    """

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `GradualSettings`."""
        super().__init__(
            GradualVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings)
        )

    def records(self) -> list[TaskRecord]:
        """Return the statistics of the tasks so far, in order."""
        return self.batch.records(0)  # pyright: ignore[reportAttributeAccessIssue]


# ---- Facts that support the next byte: the question has the answer that the byte completes, except perhaps the full
# stop; and the byte follows the last byte of the environment.

RELATIONS = (HAS_ANSWER, FOLLOWED_BY)


@cache
def _vocabulary(dials: Rules) -> tuple[str, ...]:
    """Return "" for no label, the 256 symbols, and the questions and answers of tasks without hidden data."""
    labels = {label for question, _, answer in answered_facts(dials) for label in (question, answer)}
    symbols = [symbol(byte) for byte in range(BYTES)]
    return ("", *symbols, *sorted(labels.difference(symbols)))


@cache
def _ids(dials: Rules) -> dict[str, int]:
    return {label: place for place, label in enumerate(_vocabulary(dials))}
