"""The data of a study as files: CSV for spreadsheets and statistics, JSON Lines of the episodes in the form of
gumption.envs.records, and a codebook that explains each column.

Rows come from the tables of the store. Stages, conditions and tasks are computed from the study and each participant's
place.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.sealed import sealed_lines
from gumption.data.tables import grouped
from gumption.data.writing import is_part, whole_folder
from gumption.envs import worlds
from gumption.envs.records import episode as record

from .design import Design, design
from .files import Question, Study
from .links import Secret
from .path import AGREE, NEXT, WRONG, Kept, Stage, present, stages

Row = dict[str, Any]
#: The file that contains the hashes of all other files.
ABOUT = "export.json"
#: A spreadsheet reads cells with these first characters as formulas, full-width forms included.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
#: Characters that are invisible or reorder text, and a backslash that would be read as the escape of such a character.
HIDDEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\\(?=u[0-9a-f]{4})"
)
STATES = {
    "going": "takes part now",
    "dropped out": "was not seen for the study's dropped_after_s",
    "done": "has reached the last page",
    "refused": "had no try left at the quiz",
    "withdrawn": "has withdrawn consent; all data were deleted",
}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    :ivar kind: "text", "number", "truth" or "JSON".
    """

    name: str
    kind: str
    meaning: str


@dataclass(frozen=True)
class Participant:
    """A participant with all stored data.

    :ivar row: row in the table of people; `episodes` by stage, `actions` and `helps` by episode, `answers` by stage
        and name; `connections` in the order of their beginning.
    :ivar kept: the data that determines the present stage.
    """

    row: Any
    design: Design
    path: Sequence[Stage]
    episodes: Mapping[int, Any]
    actions: Mapping[str, Sequence[Any]]
    answers: Mapping[int, Mapping[str, Any]]
    kept: Kept
    helps: Mapping[str, Sequence[Any]]
    connections: Sequence[Any]

    def solved(self, block: str) -> list[bool]:
        """Return for each ended task of a block whether it was solved."""
        own = [one for stage, one in self.episodes.items() if block_of(self.path[stage]) == block]
        return [bool(one.result.get("success")) for one in own if one.ended is not None]

    def away(self, episode: Any) -> float:
        """Return the seconds of an ended episode during which no page of the participant was connected."""
        seconds, here = 0.0, episode.began
        for one in self.connections:
            seconds += max(0.0, min(one.came, episode.ended) - here)
            here = max(here, one.left)
        return seconds + max(0.0, episode.ended - here)

    @property
    def number(self) -> int:
        """The number of the participant, from 1, in the order of sign-in."""
        return self.row.place + 1

    def seen(self) -> float:
        """Return the time of the participant's last activity, in seconds since 1970."""
        received = [one.received for of in (self.actions, self.helps) for rows in of.values() for one in rows[-1:]]
        return max([self.row.seen, *(one.began for one in self.episodes.values()), *received])

    def state(self, study: Study, now: float) -> str:
        """Return the state of the participant, a key of `STATES`."""
        if self.row.state == "withdrawn":
            return "withdrawn"
        state = present(study, self.path, self.kept).state
        return "dropped out" if state == "going" and now - self.seen() > study.dropped_after_s else state


def participants(
    study: Study,
    people: Iterable[Any],
    episodes: Iterable[Any],
    actions: Iterable[Any],
    answers: Iterable[Any],
    helps: Iterable[Any] = (),
    connections: Iterable[Any] = (),
) -> list[Participant]:
    """Return all participants who have begun the study, in the order of sign-in.

    :param people, episodes, actions, answers, helps, connections: rows of the store's tables.
    """
    connected = grouped((one.person, one) for one in sorted(connections, key=lambda one: one.came))
    of_person: dict[str, dict[int, Any]] = {}
    for one in episodes:
        of_person.setdefault(one.person, {})[one.stage] = one
    of_episode, helps_of = _by_episode(actions), _by_episode(helps)
    given: dict[str, dict[int, dict[str, Any]]] = {}
    for one in answers:
        given.setdefault(one.person, {}).setdefault(one.stage, {})[one.name] = one
    found = []
    for row in sorted((one for one in people if one.study == study.hash), key=lambda one: one.place):
        own, mine = design(study, row.place), of_person.get(row.id, {})
        said = given.get(row.id, {})
        values = {stage: {name: one.value for name, one in names.items()} for stage, names in said.items()}
        kept = Kept(values, frozenset(stage for stage, one in mine.items() if one.ended is not None))
        made = {one.id: of_episode.get(one.id, []) for one in mine.values()}
        helped = {one.id: helps_of.get(one.id, []) for one in mine.values()}
        found.append(
            Participant(row, own, stages(study, own), mine, made, said, kept, helped, connected.get(row.id, []))
        )
    return found


def _by_episode(rows: Iterable[Any]) -> dict[str, list[Any]]:
    """Return episode -> its rows in the order of their numbers."""
    return grouped((one.episode, one) for one in sorted(rows, key=lambda one: one.number))


# ---- Tables


def people_table(
    study: Study, everyone: Sequence[Participant], secret: Secret, now: float
) -> tuple[list[Column], list[Row]]:
    """Return the columns of the table of participants, and a row for each participant.

    :param secret: secret of the data folder, from which completion codes are computed.
    """
    sent = study.parameters
    columns = [
        Column("participant", "number", "number of the participant, from 1, in the order of their coming"),
        Column("state", "text", "; ".join(f"{state}: {meaning}" for state, meaning in STATES.items())),
        Column("name", "text", "the name that was typed at the sign-in"),
        *(Column(name, "text", f"the parameter {name} of the recruiting service's address") for name in sent),
        *(
            Column(one.name, "text", f"condition between participants: one of {', '.join(one.levels)}")
            for one in study.conditions
            if one.between
        ),
        Column("stage", "number", "pages of the study that were left; the same as stages at the end"),
        Column("stages", "number", "pages of the study"),
        Column("began", "number", "when they signed in, in seconds since 1970"),
        Column("seen", "number", "when something last came from them, in seconds since 1970"),
        Column("minutes", "number", "from began to seen"),
        Column("completion_code", "text", "the code on the last page, of those who reached it"),
    ]
    for block in study.all_blocks:
        columns += [
            Column(f"{block.name}_tasks", "number", f"tasks of the block {block.name} that have ended"),
            Column(
                f"{block.name}_success", "number", f"the share of these that was solved, from 0 to 1 ({block.world})"
            ),
        ]
    if study.quiz:
        columns.append(Column("quiz_wrong", "number", "attempts at the quiz with a wrong answer"))
    columns += [_question_column(question) for question in study.questions]
    rows = []
    for one in everyone:
        state, where = one.state(study, now), present(study, one.path, one.kept).stage.number
        seen = one.seen()
        row: Row = {
            "participant": one.number,
            "state": state,
            "name": one.row.name or "",
            **{name: (one.row.given or {}).get(name, "") for name in sent},
            "stage": len(one.path) if state == "done" else where,
            "stages": len(one.path),
            "began": one.row.began,
            "seen": seen,
            "minutes": round((seen - one.row.began) / 60, 2),
            "completion_code": completion_code(study, one.row.id, secret) if state == "done" else "",
        }
        if state != "withdrawn":
            row |= one.design.condition
        for block in study.all_blocks:
            solved = one.solved(block.name)
            row[f"{block.name}_tasks"] = len(solved)
            row[f"{block.name}_success"] = sum(solved) / len(solved) if solved else None
        for stage in one.path:
            said = one.answers.get(stage.number, {})
            if stage.kind == "quiz":
                row["quiz_wrong"] = said[WRONG].value if WRONG in said else 0
            elif stage.kind == "questions":
                row |= {
                    question.name: said[question.name].value for question in stage.questions if question.name in said
                }
        rows.append(row)
    return columns, rows


def completion_code(study: Study, person: str, secret: Secret) -> str:
    """Return the code on the last page of a participant."""
    return study.end.code or secret.code("completion", person)


#: Columns about help, in a study that has help.
HELPS = (
    Column("helps", "number", "how often help from the graph was asked for; what was shown is in episodes.jsonl"),
    Column("help_price", "number", "what these helps cost together, which is taken from the reward"),
)


def episodes_table(study: Study, everyone: Sequence[Participant]) -> tuple[list[Column], list[Row]]:
    """Return the columns of the table of episodes, and a row for each episode, ended or not."""
    before = {question.name: question for block in study.all_blocks for question in block.before}
    columns = [
        Column("participant", "number", "number of the participant"),
        Column("stage", "number", "page of the participant's path, from 0"),
        Column("block", "text", "name of the block"),
        Column("practice", "truth", "whether it belongs to the practice, which no result counts"),
        *(Column(one.name, "text", f"condition: one of {', '.join(one.levels)}") for one in study.conditions),
        Column("at", "number", "how-manieth task of the block for this participant, from 0"),
        Column("task", "number", "number of the task in the study's file, from 0"),
        Column("feedback", "truth", "whether the result was told"),
        Column("world", "text", "name of the world"),
        Column("settings", "JSON", "settings of the world"),
        Column("seed", "number", "seed of the episode; with the settings it makes the same task again"),
        Column("began", "number", "when it was first shown, in seconds since 1970, by the server's clock"),
        Column("ended", "number", "when its last action came in or its time was over; empty where it is not over"),
        Column("seconds", "number", "from began to ended"),
        Column("away", "number", "seconds of these in which no page of the participant was connected to the server"),
        Column("actions", "number", "actions that were made"),
        Column("attempts", "number", "attempts at the task, the last one included; 1 where there can be one alone"),
        Column("reward", "number", "sum of the rewards" + (", less help_price" if study.helped else "")),
        *(HELPS if study.helped else ()),
        Column("success", "truth", "whether it was solved; empty where it is not over"),
        Column("end", "text", "time: the time limit ended it; quit: the participant gave up; empty otherwise"),
        *(_question_column(question, f"before_{name}") for name, question in before.items()),
    ]
    rows = []
    for one in everyone:
        for number, episode in sorted(one.episodes.items()):
            stage, result = one.path[number], episode.result or {}
            assert stage.played is not None
            plan = one.answers.get(number - 1, {}) if stage.played.block.before else {}
            over, helps = episode.ended is not None, one.helps[episode.id] if study.helped else []
            rows.append(
                {
                    "participant": one.number,
                    "stage": number,
                    "block": block_of(stage),
                    "practice": stage.played.practice,
                    **stage.played.levels,
                    "at": stage.at,
                    "task": stage.played.numbers[stage.at],
                    "feedback": stage.feedback,
                    "world": episode.world,
                    "settings": episode.settings,
                    "seed": episode.seed,
                    "began": episode.began,
                    "ended": episode.ended,
                    "seconds": round(episode.ended - episode.began, 3) if over else None,
                    "away": round(one.away(episode), 3) if over else None,
                    "actions": len(one.actions[episode.id]),
                    "attempts": result.get("attempts"),
                    "reward": result.get("reward"),
                    **({"helps": len(helps), "help_price": sum(each.price for each in helps)} if study.helped else {}),
                    "success": bool(result.get("success")) if over else None,
                    "end": result.get("end", ""),
                    **{f"before_{name}": answer.value for name, answer in plan.items() if name in before},
                }
            )
    return columns, rows


def actions_table(everyone: Sequence[Participant]) -> tuple[list[Column], list[Row]]:
    """Return the columns of the table of actions, and a row for each action."""
    columns = [
        Column("participant", "number", "number of the participant"),
        Column("stage", "number", "page of the participant's path, which names the episode"),
        Column("number", "number", "how-manieth action of the episode, from 1"),
        Column("action", "JSON", "the action in the world's own form"),
        Column("step", "number", "physics step at which it was taken, in worlds in real time"),
        Column("attempt", "number", "how-manieth attempt at the task it belongs to, from 1"),
        Column("state", "text", "hash of the state before it, which a replay finds again"),
        Column("at", "number", "the participant's clock, in ms since 1970"),
        Column("received", "number", "the server's clock, in seconds since 1970"),
    ]
    rows = [
        {
            "participant": one.number,
            "stage": stage,
            "action": json.dumps(action.action),
            **{name: getattr(action, name) for name in ("number", "step", "attempt", "state", "at", "received")},
        }
        for one in everyone
        for stage, episode in sorted(one.episodes.items())
        for action in one.actions[episode.id]
    ]
    return columns, rows


def answers_table(everyone: Sequence[Participant]) -> tuple[list[Column], list[Row]]:
    """Return the columns of the table of answers, and a row for each answer or pressed button."""
    columns = [
        Column("participant", "number", "number of the participant"),
        Column("stage", "number", "page of the participant's path, from 0"),
        Column("page", "text", "name of the page"),
        Column("name", "text", f"name of the question; {AGREE}: the box of the consent, {NEXT}: the page was left, "
               f"{WRONG}: wrong attempts at the quiz"),
        Column("value", "JSON", "the answer"),
        Column("at", "number", "the participant's clock, in ms since 1970"),
        Column("received", "number", "the server's clock, in seconds since 1970"),
    ]  # fmt: skip
    rows = [
        {
            "participant": one.number,
            "stage": stage,
            "page": one.path[stage].name,
            "name": name,
            "value": json.dumps(answer.value),
            "at": answer.at,
            "received": answer.received,
        }
        for one in everyone
        for stage, names in sorted(one.answers.items())
        for name, answer in sorted(names.items())
    ]
    return columns, rows


def records(study: Study, everyone: Sequence[Participant]) -> list[dict[str, Any]]:
    """Return the ended episodes, in the form of gumption.envs.records."""
    found = []
    for one in everyone:
        for number, episode in sorted(one.episodes.items()):
            stage = one.path[number]
            if episode.ended is None or stage.played is None:
                continue
            first = worlds.find(episode.world).environments[0].id
            made = [[action.step, action.attempt, action.action, action.state] for action in one.actions[episode.id]]
            parts = {"settings": episode.settings, "task": stage.name, "seed": episode.seed, "actions": made}
            about = {"study": study.hash, "participant": one.number, "block": block_of(stage), "stage": number}
            if study.helped:
                about["helps"] = [_help(given) for given in one.helps[episode.id]]
            env = episode.settings.get("env", first)
            found.append(record(episode.world, env, **parts, result=episode.result, **about, **stage.played.levels))
    return found


def _help(given: Any) -> dict[str, Any]:
    """Return a help as a record: number, number of actions before, price, times, content and source."""
    about = {"number": given.number, "after": given.after, "price": given.price}
    return {**about, "at": given.at, "received": given.received, **given.said}


def block_of(stage: Stage) -> str:
    return "" if stage.played is None else stage.played.block.name


def _question_column(question: Question, name: str = "") -> Column:
    kind = "number" if question.kind == "scale" else "text"
    asked = " ".join(question.text.split())
    range_ = {
        "choice": lambda: f"one of {' | '.join(question.options)}",  # pyright: ignore[reportAttributeAccessIssue]
        "scale": lambda: f"from {question.low} ({question.low_label}) to {question.high} ({question.high_label})",  # pyright: ignore[reportAttributeAccessIssue]
        "text": lambda: "in words",
    }[question.kind]()
    return Column(name or question.name, kind, f'"{asked}", {range_}')


# ---- Files


def cell(value: Any) -> str | int | float:
    """Return a value as a cell of CSV. Text that a spreadsheet would run as a formula gets the prefix '.

    `HIDDEN` characters are escaped as in JSON: \\u202e. So is a backslash that could be read as such an escape.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text


def as_csv(columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """Return a table as CSV text (RFC 4180), with a header line of column names."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow([cell(column.name) for column in columns])
    for row in rows:
        writer.writerow([cell(row.get(column.name)) for column in columns])
    return file.getvalue()


def files(study: Study, everyone: Sequence[Participant], secret: Secret, now: float | None = None) -> dict[str, str]:
    """Return name -> content of all files of an export; export.json contains their sha256 and that of the export."""
    now = time.time() if now is None else now
    tables = {
        "participants": people_table(study, everyone, secret, now),
        "episodes": episodes_table(study, everyone),
        "actions": actions_table(everyone),
        "answers": answers_table(everyone),
    }
    content = {f"{name}.csv": as_csv(columns, rows) for name, (columns, rows) in tables.items()}
    content["episodes.jsonl"] = sealed_lines(records(study, everyone))[0]
    explained = [
        {"file": f"{name}.csv", "column": column.name, "type": column.kind, "meaning": column.meaning}
        for name, (columns, _) in tables.items()
        for column in columns
    ]
    book = [Column(name, "text", "") for name in ("file", "column", "type", "meaning")]
    content["codebook.csv"] = as_csv(book, explained)
    content["study.json"] = study.model_dump_json(indent=1, by_alias=True, exclude_none=True) + "\n"
    hashes = {name: sha256(text.encode()) for name, text in sorted(content.items())}
    about = {
        "study": study.name,
        "study_hash": study.hash,
        "participants": len(everyone),
        "states": {state: sum(one.state(study, now) == state for one in everyone) for state in STATES},
        "episodes": len(tables["episodes"][1]),
        "actions": len(tables["actions"][1]),
        "files": hashes,
        "sha256": together(hashes),
    }
    content[ABOUT] = json.dumps(about, indent=1) + "\n"
    return content


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def together(hashes: Mapping[str, str]) -> str:
    """Return the hash of an export, computed over the names and hashes of its files."""
    return sha256(json.dumps(hashes, sort_keys=True).encode())


def write(folder: Path, content: Mapping[str, str]) -> None:
    """Write the files of an export as a folder, and replace an earlier export there.

    :raises InputError: the folder contains other files, or cannot be written.
    """
    if folder.is_dir() and not all(map(is_part, folder.iterdir())) and not (folder / ABOUT).is_file():
        raise InputError(f"{folder}: holds other files than an export; name a new folder")
    with whole_folder(folder) as beside:
        for name, text in content.items():
            (beside / name).write_text(text, encoding="utf-8", newline="")
