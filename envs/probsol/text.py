"""The text interface: the rules, a table as text, and typed actions, which are parsed or refused with a reason.

Terminal play and language models use it. The text has the content of a picture, and no hidden property.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import shown

from .engine import Tables
from .geometry import ABSENT, GRABBED, HELD, PLACED, STORED
from .magnets import BOUNDARIES
from .tasks import CELL, CONSTRAINTS, GRID, VERBS, Task

#: Letters of dark, target, block, building and wall, the order of `TaskArrays.maps`; later letters hide earlier ones.
SIGNS = ":+=-#"
_LEGEND = ". open   : dark   + target   * target in the dark   = block   - building   # wall"
_ROWS = GRID // 2  # because a letter in a terminal is twice as high as wide
_BOUNDARY_NAMES = {theta: name for name, theta in BOUNDARIES.items()}
_ENDED = {
    "solved": "the goal is reached",
    "quiz": "an answer is wrong",
    "trials": "no trial is left",
    "max_actions": "no action is left",
    "action_number": "more actions than the limit allows",
    "action_time": "an action took longer than the limit allows",
    "trial_time": "the trial took longer than the limit allows",
    "solve_time": "the task took longer than the limit allows",
}

ABOUT = """\
Discs are magnets: they pull or push one another, and the table brakes them. Nobody tells you how heavy or how strong
a disc is, or what pole it has; a colour says nothing of it. A disc of two poles is a dipole: its boundary lies between
them, and only a held disc shows it. You have one hand."""
RULES = f"""\
{ABOUT}
  grab b           take disc b in hand, from the side bar or from the table
  place 10 16      set the disc in hand down, free, at column 10 and row 16 (0 to 39, row 0 at the top)
  hold b           hold disc b where it lies: it pulls and pushes, and nothing moves it
  hold_at 10 16    hold the disc in hand at that point
  turn 1           turn the held disc by 45 degrees counter-clockwise, turn -1 by 45 degrees clockwise
  put_down         let go of the held disc where it is     take_up   take the held disc in hand
  store 3          put the disc in hand into cell 3 of the side bar
  none             wait for half a second
  check            hand your solution in; on a table that does not solve the task it begins the next trial
  answer b; a c    answer the questions that come once the task is solved, with ; between the answers
After each action the world runs until it rests. Discs in the dark cannot be touched, and none can be put there. A
colour stands for a disc, too: grab purple."""


@dataclass
class TextFace:
    """The text interface for players that read and type; `env` is a `ProbSolEnv` with the paper's actions.

    :ivar rate: report the solution rate after each action.
    """

    rate: bool = False

    def rules(self, env: Any) -> str:
        """Return the commands that a player can type, and the goal."""
        return f"{RULES}\n\n{goal_text(env.unwrapped.batch.task())}"

    def observe(self, env: Any) -> str:
        """Return the visible table as text; see `table_text`."""
        batch = env.unwrapped.batch
        return table_text(batch.tables, batch.task(), 0, batch.describe(0))

    def parse(self, typed: str, env: Any) -> int | list[list[str]]:
        """Return the number of a typed action, or the answers to the quiz: a list of ids for each question.

        :raises InputError: not an action, or a closed action, with the reason.
        """
        batch = env.unwrapped.batch
        task = batch.task()
        verb, *words = typed.replace("put down", "put_down").replace("take up", "take_up").split() or [""]
        verb = verb.lower()
        if verb == "hold" and len(words) == 2:
            verb = "hold_at"
        if verb == "answer":
            return _answers(" ".join(words), task, bool(batch.waits[0]))
        if verb not in VERBS:
            raise InputError(f"{shown(typed)} is no action; type one of {', '.join([*VERBS, 'answer'])}")
        arguments: list[Any] = words or (["1"] if verb == "turn" else [])
        if verb in ("grab", "hold"):
            arguments = [_disc(" ".join(words), task)]
        else:
            for k, word in enumerate(arguments):
                try:
                    arguments[k] = int(word)
                except ValueError:
                    raise InputError(f"{shown(typed)}: {shown(word)} is no whole number") from None
        return open_action(batch, verb, *arguments)

    def told(self, info: Mapping[str, Any], over: bool = False) -> str:
        """Return the outcome of an action as text, from its info."""
        if info["end"]:
            return f"ended: {_ENDED.get(info['end'], info['end'])}"
        if info["trial"] > 1 and not info["step"] and not info["constraints"]["action_number"]["value"]:
            return f"that does not solve it (solution rate {info['trial_rate']:.3f}), trial {info['trial']} begins"
        return f"solution rate {info['solution_rate']:.3f}" if self.rate else ""


FACE = TextFace()


def open_action(batch: Any, verb: str, *arguments: Any) -> int:
    """Return the number of an action from its verb and arguments, on table 0 of a batch.

    :raises InputError: not an action, or a closed action, with the reason.
    """
    action = batch.action_index(verb, *arguments)
    if not batch.action_mask()[0, action]:
        raise InputError(_closed(verb, arguments, batch.tables, batch.task()))
    return action


def goal_text(task: Task) -> str:
    """Return the goal as a sentence, followed by limits and the number of questions."""
    limits = [_limit_text(name, limit) for name, limit in task.constraints.items()]
    told = [goal_sentence(task), *([f"At most {', '.join(limits)}."] if limits else []), questions_text(task)]
    return " ".join(filter(None, told))


def _limit_text(name: str, limit: float) -> str:
    end = "" if limit == 1 else "s"
    return {
        "action_time": f"{limit:g} second{end} before an action",
        "action_number": f"{limit:g} action{end} a trial",
        "trial_time": f"{limit:g} second{end} a trial",
        "trial_number": f"{limit:g} trial{end}",
        "solve_time": f"{limit:g} second{end} in all",
    }[name]


def goal_sentence(task: Task) -> str:
    """Return the goal as a sentence."""
    color = {disc.id: f"{disc.name} ({disc.color})" if disc.name else disc.color for disc in task.objects}
    golden = ", ".join(color[each] for each in task.goal)
    return {
        "Fishing": f"Bring the golden-boxed disc ({golden}) out of the dark to rest in a red target area.",
        "Curling": "Send discs into the dark until each red target area holds one at rest.",
        "FindTheDiff": "Of the discs first stored, leave on the table those that differ from the rest, no others.",
        "FindTheSame": "Of the discs first stored, leave on the table those that are all alike, no others.",
        "Building": f"Set up discs so that one rests in each of the {len(task.blocks)} red blocks, and stays there.",
        "Modifying": f"Change the grey building until a disc rests in each of the {len(task.blocks)} red blocks.",
    }.get(task.family, "A table to try things out on.")


def questions_text(task: Task) -> str:
    """Return a sentence with the number of questions; "" if there are none."""
    return f"Then answer {len(task.quiz)} question{'s' * (len(task.quiz) > 1)}." if task.quiz else ""


def table_text(tables: Tables, task: Task, i: int, info: Mapping[str, Any]) -> str:
    """Describe table i: goal, limits, a map of 40 x 20 letters, and a line for each disc. Points are columns and rows.

    :param info: of the table.
    """
    marks = disc_marks(task)
    state = []
    for name in CONSTRAINTS[1:]:
        now = info["constraints"][name]
        limit = "" if now["limit"] is None else f" of {now['limit']:g}"
        state.append(f"{name.replace('_', ' ')} {now['value']:.4g}{limit}{' s' if name.endswith('time') else ''}")
    end = f"   ended: {info['end']}" if info["end"] else ""
    lines = [info["goal"], ", ".join(state) + end, *_map(tables, task, i, marks), _LEGEND]
    for k, disc in enumerate(task.objects):
        if tables.where[i, k] != ABSENT:
            name = f"{disc.color}, {disc.name}" if disc.name else disc.color
            mark = disc.id if marks[k] == disc.id else f"{marks[k]} = {disc.id}"
            golden = ", golden box" if disc.id in task.goal else ""
            lines.append(f"{mark} ({name}{golden}): {_whereabouts(tables, i, k)}")
    if info["quiz"]:
        lines.append(
            "The goal is reached. Type answer, and the discs that answer each question, with ; between questions:"
        )
        lines += [f"{number}. {each['text']}" for number, each in enumerate(info["quiz"], start=1)]
    return "\n".join(lines) + "\n"


def disc_marks(task: Task) -> list[str]:
    """Return a letter for each disc of a task: its id if that is a single letter, else the next free letter."""
    letters = iter([chr(code) for first, last in ("az", "AZ", "09") for code in range(ord(first), ord(last) + 1)])
    own = {disc.id for disc in task.objects if len(disc.id) == 1}
    return [disc.id if disc.id in own else next(each for each in letters if each not in own) for disc in task.objects]


def _map(tables: Tables, task: Task, i: int, marks: Sequence[str]) -> list[str]:
    layers = tables.data.maps[tables.rows[i]].reshape(5, _ROWS, 2, GRID).max(axis=2) > 0
    signs = np.full((_ROWS, GRID), ".")
    for layer, sign in zip(layers, SIGNS, strict=True):
        signs[layer] = sign
    signs[layers[0] & layers[1]] = "*"
    for k in range(len(task.objects)):
        if tables.where[i, k] in (PLACED, HELD):
            column, row = (tables.place[i, k] / CELL).astype(int).clip(0, GRID - 1)
            signs[row // 2, column] = marks[k]
    ruler = "   " + "".join(f"{column:<5}" for column in range(0, GRID, 5))
    return [ruler.rstrip(), *(f"{2 * row:2} {''.join(line)}" for row, line in enumerate(signs))]


def _whereabouts(tables: Tables, i: int, k: int) -> str:
    state = tables.where[i, k]
    if state == STORED:
        return f"in cell {tables.cell[i, k] - 1} of the side bar"
    if state == GRABBED:
        return "in your hand"
    column, row = (tables.place[i, k] / CELL - 0.5).tolist()
    at = f"at {column:.1f} {row:.1f}"
    if state == PLACED:
        return at
    theta = int(tables.theta[i, k]) * 45
    return f"held {at}, its boundary {_BOUNDARY_NAMES[theta % 180]} ({theta} degrees)"


def _disc(typed: str, task: Task) -> str:
    """Return the id of the disc with an id, a colour or a name."""
    if typed in task.ids:
        return typed
    wanted = typed.lower()
    found = [disc.id for disc in task.objects if wanted and wanted in (disc.color.lower(), disc.name.lower())]
    if len(found) != 1:
        there = ", ".join(f"{disc.id} ({disc.color})" for disc in task.objects)
        raise InputError(f"{shown(typed)} {'stands for several discs' if found else 'is no disc'}; there are {there}")
    return found[0]


def _answers(typed: str, task: Task, waits: bool) -> list[list[str]]:
    if not waits:
        raise InputError("there is nothing to answer: the questions come once CHECK finds the goal reached")
    parts = [part.replace(",", " ").split() for part in typed.split(";")]
    if len(parts) != len(task.quiz):
        raise InputError(f"{len(parts)} answers to {len(task.quiz)} questions; type them with ; between, as b; a c")
    return [[_disc(word, task) for word in part] for part in parts]


def _closed(verb: str, arguments: Sequence[Any], tables: Tables, task: Task) -> str:
    """Return the reason why an action is closed on table 0."""
    hand = int(tables.hand[0])
    holds = hand > 0 and tables.where[0, hand - 1] == HELD
    mine = task.ids[hand - 1] if hand else ""
    if tables.waits[0]:
        return "the goal is reached, and the questions are open: answer them"
    if verb in ("grab", "hold"):
        state = tables.where[0, task.ids.index(arguments[0])]
        if hand:
            return f"you have {mine} {'on hold' if holds else 'in hand'}: set it down or store it first"
        if state == STORED:
            return f"{arguments[0]} is in the side bar: grab it, then hold_at a point"
        return f"{arguments[0]} lies in the dark, where you cannot touch it"
    if verb in ("put_down", "take_up", "turn"):
        return "you hold no disc: hold one first"
    if verb == "check":
        return f"you have {mine} in hand: set it down or store it first"
    if not hand or holds:
        return "you have no disc in hand: grab one first" if not hand else f"you hold {mine}: take_up or put_down first"
    if verb == "store":
        return f"cell {arguments[0]} is taken"
    return (
        f"point {arguments[0]} {arguments[1]} is closed: a disc there would overlap a wall, an edge or another disc, "
        "or lie in the dark"
    )
