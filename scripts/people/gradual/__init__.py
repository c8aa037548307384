"""Gradual in a browser: a terminal in which a person answers a stream of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Seed, shown
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.gradual.engine import SPACE
from gumption.envs.gradual.env import BYTES, RELATIONS, GradualEnv
from gumption.envs.gradual.facts import answered_facts
from gumption.envs.gradual.render import WIDTH, rows_of_text
from gumption.envs.priors import Laws, Names
from gumption.scripts.people.web.views import View

SHOWN = 512  # bytes of the stream that travel to the page
LONGEST = 100  # bytes of an answer
RULES = """\
You see the latest bytes of a stream: what comes in, below it what you said, and whether that was rewarded (+) or \
punished (-). Nothing marks where a task or a question begins: find out what is wanted.
When it is your turn, type an answer; an empty one says a space, which is silence. While the other side talks, silence \
is said for you."""


class Conversation(gym.Wrapper):
    """The stream in whole answers: a step says the bytes of a text, then silence until it is the player's turn again.

    :ivar sent, said: the latest bytes; all but the last of `sent` have a reply in `said` and its reward in `rewards`.
    :ivar unsaid: of the latest text, bytes that came after the answer was complete, and were not said.
    """

    def __init__(self, env: GradualEnv) -> None:
        super().__init__(env)
        self.action_space = gym.spaces.Text(LONGEST, min_length=0)
        self.sent, self.said, self.rewards, self.unsaid = bytearray(), bytearray(), [], 0
        self._over, self._info = False, {}

    @property
    def batch(self) -> Any:
        return self.env.unwrapped.batch  # pyright: ignore[reportAttributeAccessIssue]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        byte, self._info = self.env.reset(seed=seed, options=options)
        self.sent, self.said, self.rewards, self.unsaid = bytearray([byte]), bytearray(), [], 0
        self._over = False
        self._listen()
        return self.sent[-1], self._info

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Say a text, at least a space; its reward is the sum over the bytes."""
        before, text = len(self.rewards), action.encode("latin-1") or b" "
        self.unsaid = 0
        terminated = truncated = False
        for number, byte in enumerate(text):
            if number and not self.batch.batch.answers()[0]:
                self.unsaid = len(text) - number
                break
            terminated, truncated = self._say(byte)
            if self._over:
                break
        if not self._over:
            terminated, truncated = self._listen()
        reward = float(sum(self.rewards[before:]))
        del self.sent[:-SHOWN], self.said[: -SHOWN + 1], self.rewards[: -SHOWN + 1]
        return self.sent[-1], reward, terminated, truncated, self._info

    def _listen(self) -> tuple[bool, bool]:
        """Say silence while the other side talks."""
        ends = False, False
        while not (self._over or self.batch.batch.listening()[0]):
            ends = self._say(SPACE)
        return ends

    def _say(self, byte: int) -> tuple[bool, bool]:
        sent, reward, terminated, truncated, self._info = self.env.step(byte)
        self.said.append(byte)
        self.rewards.append(round(float(reward)))
        self.sent.append(sent)
        self._over = terminated or truncated
        return terminated, truncated


class Face:
    """An episode in words."""

    quit = "/q"  # a single letter may be an answer

    def __init__(self, env: Conversation) -> None:
        self._env, self._passed = env, 0

    def rules(self, env: Any) -> str:
        return RULES

    def observe(self, env: Any) -> str:
        rows = rows_of_text(bytes(env.sent[-WIDTH:]), bytes(env.said[1 - WIDTH :]), env.rewards[1 - WIDTH :])
        records = env.batch.records(0)
        place = f"{records[-1].task}, task {len(records)} of {len(env.batch.curriculum.tasks)}"
        return f"{rows}\n{place}: {records[-1].right} of {records[-1].questions} answers right\n"

    def parse(self, typed: str, env: Any) -> str:
        return parse(typed, env)

    def told(self, info: Mapping[str, Any], over: bool) -> str:
        if over:
            return "all tasks are passed"
        records = self._env.batch.records(0)
        told = []
        if len(records) - 1 > self._passed:
            told.append(f"{records[self._passed].task} is passed; another task has begun")
        self._passed = len(records) - 1
        if self._env.unsaid:
            told.append("the beginning of what you typed was already the answer: the rest was not said")
        return "; ".join(told)


def begin(
    *,
    tasks: str = "challenge",
    threshold: Count | None = None,
    names: Names = "real",
    laws: Laws = "real",
    seed: Seed = 0,
) -> tuple[Conversation, Face]:
    """Answer a stream of bytes, and find out what it wants.

    :param tasks: Names of tasks with commas between them, or a curriculum that ships.
    :param threshold: Successes in a row that pass a task.  [default: the curriculum's]
    :param names: Real words; anonymous ones, in other letters; or shuffled, which mean what others of their kind do.
    :param laws: real, or counterfactual: a question has the answer of another one.
    :param seed: Fixes all that is drawn.
    """
    listed = tasks.split(",")
    chosen = listed[0] if len(listed) == 1 else tuple(listed)
    made = Conversation(GradualEnv(tasks=chosen, success_threshold=threshold, names=names, laws=laws))
    made.reset(seed=seed)
    return made, Face(made)


def drawing(env: Any) -> dict[str, Any]:
    """The latest bytes of either side as text (a character a byte) with the rewards, and the figures of the task."""
    records = env.batch.records(0)
    record = records[-1]
    return {
        "kind": "stream",
        "sent": env.sent.decode("latin-1"),
        "said": env.said.decode("latin-1"),
        "rewards": env.rewards,
        "task": record.task,
        "number": len(records),
        "tasks": len(env.batch.curriculum.tasks),
        "right": record.right,
        "questions": record.questions,
    }


def parse(action: Any, env: Any) -> str:
    """The text that is said.

    :raises InputError: no text, one that is too long, or a character that is no byte.
    """
    if not isinstance(action, str):
        raise InputError(f"the action is {shown(action)}; it is a text")
    if len(action) > LONGEST:
        raise InputError(f"that has {len(action)} characters; an answer has at most {LONGEST}")
    try:
        action.encode("latin-1")
    except UnicodeEncodeError as error:
        raise InputError(f"{action[error.start]!r} is no byte: a character's code is at most 255") from None
    return action


def helped(env: Any) -> Iterator[tuple[ActionFacts, dict[int, dict[str, Any]]]]:
    """Help speaks of the answers to the present question, and of what follows the latest symbol."""
    batch = env.batch
    labels = batch.vocabulary
    ids = {label: place for place, label in enumerate(labels)}
    answers = sorted({ids[answer] for _, _, answer in answered_facts(batch.dials)})
    asked, none = ids.get(batch.batch.questions()[0], 0), (0, 0, 0)
    told = {a: {"label": labels[answer], "action": labels[answer]} for a, answer in enumerate(answers)}
    yield action_facts(RELATIONS, (1, len(answers)), [(asked, np.array(answers), 0), none]), told
    # A symbol's place in the vocabulary is one more than its byte.
    symbols = [byte for byte in range(BYTES) if chr(byte).isprintable()]
    told = {a: {"label": chr(byte), "action": chr(byte)} for a, byte in enumerate(symbols)}
    follows = 1 + int(env.sent[-1]), 1 + np.array(symbols), 0
    yield action_facts(RELATIONS, (1, len(symbols)), [none, follows]), told


VIEW = View(begin, drawing, parse, folder=Path(__file__).parent, text=True, action="own", helped=helped)
