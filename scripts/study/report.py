"""The report of a study: people beside random choices, an oracle and trained agents on the very same tasks, with
intervals over participants, and published figures as lines."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gumption.agents.plots import FinalPanel, Scale, plot_final_success
from gumption.agents.statistics import Estimate, bootstrap_interval
from gumption.data import InputError
from gumption.data.writing import whole_folder
from gumption.envs import worlds
from gumption.scripts.web.views import view_of

from . import helped
from .export import Participant, block_of
from .files import Study
from .helped import mean_of, shown
from .path import Stage
from .players import played

#: Name -> (heading, format, label of the axis of its plot).
MEASURES = {
    "success": ("success", ".1%", "share of tasks solved"),
    "actions": ("actions a task", ".2f", "actions a task"),
    "seconds": ("seconds a task", ".1f", "seconds a task"),
}
REPORT = "report.json"


@dataclass(frozen=True)
class Cell:
    """Tasks that are compared: those of a block in one combination of levels.

    :ivar name: "test, distractors one".
    """

    block: str
    levels: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return ", ".join([self.block, *(f"{condition} {level}" for condition, level in self.levels)])


def make(study: Study, everyone: Sequence[Participant], policies: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of a study.

    :param policies: of further agents, see gumption.scripts.study.players.
    :raises InputError: nobody has ended a task yet, or no such agent.
    """
    tasks = list(_ended(study, everyone))
    if not tasks:
        raise InputError("nobody has ended a task that counts; the report needs one at least")
    rows, help = [], []
    with_help = {block.name for block in study.blocks if block.help is not None}
    for cell in _cells(tasks):
        own = [(person, stage, episode) for at, person, stage, episode in tasks if at == cell]
        if cell.block in with_help:
            help.append(helped.figures(cell.name, own))
        rows.append({"who": "people", **_about(cell), **_figures(_of_people(own))})
        for policy in _policies(study, cell, policies):
            results = _of_agent(policy, own)
            rows.append({"who": policy, **_about(cell), **_figures(results)})
        for figure in study.published:
            if figure.block == cell.block:
                success = [figure.success, None, None]
                rows.append({"who": figure.label, **_about(cell), "success": success, "source": figure.source})
    found = {"study": study.name, "hash": study.hash, "rows": rows, "help": help, "answers": _answers(study, everyone)}
    own = {}
    for world in dict.fromkeys(block.world for block in study.blocks):
        if (report := worlds.find(world).get("study_report")) is not None:
            figures, lines = report(
                [_task(one, stage, episode) for _, one, stage, episode in tasks if episode.world == world]
            )
            own[world] = {"figures": figures, "lines": lines}
    return {**found, "worlds": own}


def _task(one: Participant, stage: Stage, episode: Any) -> dict[str, Any]:
    """A played task, as a world's own report reads it."""
    asked = one.answers.get(stage.number - 1, {}) if stage.played and stage.played.block.before else {}
    return {
        "participant": one.number,
        "settings": episode.settings,
        "levels": dict(stage.played.levels) if stage.played else {},
        "actions": [action.action for action in one.actions[episode.id]],
        "success": bool(episode.result.get("success")),
        "before": {name: answer.value for name, answer in asked.items()},
    }


def _ended(study: Study, everyone: Sequence[Participant]) -> Iterator[tuple[Cell, Participant, Stage, Any]]:
    """The tasks that count and have ended."""
    for one in everyone:
        for number, episode in sorted(one.episodes.items()):
            stage = one.path[number]
            if episode.ended is not None and stage.played is not None and not stage.played.practice:
                yield Cell(block_of(stage), tuple(stage.played.levels.items())), one, stage, episode


def _cells(tasks: Sequence[Any]) -> list[Cell]:
    return list(dict.fromkeys(sorted((cell for cell, *_ in tasks), key=lambda cell: (cell.block, cell.levels))))


def _about(cell: Cell) -> dict[str, Any]:
    return {"cell": cell.name, "block": cell.block, "levels": dict(cell.levels)}


def _policies(study: Study, cell: Cell, policies: Sequence[str]) -> list[str]:
    world = next(block.world for block in study.all_blocks if block.name == cell.block)
    if view_of(worlds.find(world)).live is not None:
        return []  # in real time a task depends on when an agent acts
    oracle = ["oracle"] if "oracle" in worlds.find(world).offers else []
    return ["random", *oracle, *policies]


#: Participant -> a figure of each of their tasks.
Results = Mapping[str, Mapping[int, Sequence[float]]]


def _of_people(own: Sequence[Any]) -> Results:
    found: dict[str, dict[int, list[float]]] = {name: {} for name in MEASURES}
    for person, _, episode in own:
        found["success"].setdefault(person.number, []).append(bool(episode.result.get("success")))
        found["actions"].setdefault(person.number, []).append(len(person.actions[episode.id]))
        found["seconds"].setdefault(person.number, []).append(episode.ended - episode.began)
    return found


def _of_agent(policy: str, own: Sequence[Any]) -> Results:
    """As of people, on the tasks that each participant played."""
    found: dict[str, dict[int, list[float]]] = {"success": {}, "actions": {}}
    for person, stage, _ in own:
        result = played(policy, stage.task)
        for name, values in found.items():
            values.setdefault(person.number, []).append(result[name])
    return found


def _figures(results: Results) -> dict[str, Any]:
    """Means over participants, each the mean of their tasks, with bootstrap intervals over participants."""
    figures: dict[str, Any] = {}
    for name, by_person in results.items():
        figures["participants"], figures["tasks"] = len(by_person), sum(map(len, by_person.values()))
        figures[name] = mean_of(by_person)
    return figures


def _answers(study: Study, everyone: Sequence[Participant]) -> list[dict[str, Any]]:
    """How often each answer was given; the mean of scales."""
    found = []
    asked = [("questions", question) for question in study.questions]
    asked += [(block.name, question) for block in study.blocks for question in block.before]
    for where, question in asked:
        given = [
            names[question.name].value
            for one in everyone
            for stage, names in one.answers.items()
            if question.name in names and _page(one.path[stage]) == where
        ]
        row = {"page": where, "question": question.name, "text": question.text.strip(), "answers": len(given)}
        if question.kind == "choice":
            row["counts"] = {option: Counter(given)[option] for option in question.options}
        elif question.kind == "scale" and given:
            row["mean"] = [None if math.isnan(end) else round(end, 4) for end in bootstrap_interval(given)]
        found.append(row)
    return found


def _page(stage: Stage) -> str:
    return stage.kind if stage.played is None else block_of(stage)


# ---- Files


def markdown(figures: Mapping[str, Any]) -> str:
    """The tables as Markdown."""
    headings = " | ".join(heading for heading, *_ in MEASURES.values())
    lines = [f"| tasks | who | participants | tasks played | {headings} |"]
    lines.append(f"| --- | --- | ---: | ---: |{' ---: |' * len(MEASURES)}")
    for row in figures["rows"]:
        cells = [shown(row.get(name), form) for name, (_, form, _) in MEASURES.items()]
        who = f"{row['who']} ({row['source']})" if "source" in row else row["who"]
        about = [row["cell"], who, str(row.get("participants", "")), str(row.get("tasks", ""))]
        lines.append(f"| {' | '.join([*about, *cells])} |")
    lines += helped.lines(figures["help"])
    told = [row for row in figures["answers"] if row["answers"]]
    if told:
        lines += ["", "| page | question | answers | what was answered |", "| --- | --- | ---: | --- |"]
    for row in told:
        if "counts" in row:
            said = ", ".join(f"{option}: {number}" for option, number in row["counts"].items())
        else:
            said = shown(row["mean"], ".2f") if "mean" in row else "in words, see the export"
        lines.append(f"| {row['page']} | {_plain(row['text'])} | {row['answers']} | {_plain(said)} |")
    for own in figures["worlds"].values():
        lines += ["", *own["lines"]]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")


def write(folder: Path, study: Study, figures: Mapping[str, Any]) -> str:
    """Write report.json, table.md and the plots into a folder, which they replace; the tables.

    :raises InputError: a folder with other things in it, or one that cannot be written.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / REPORT).is_file():
        raise InputError(f"{folder}: holds other files than a report; name a new folder")
    table = markdown(figures)
    with whole_folder(folder) as beside:
        (beside / REPORT).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        (beside / "table.md").write_text(table, encoding="utf-8")
        for measure, (_, _, label) in MEASURES.items():
            panels = _panels(figures["rows"], measure)
            plot_final_success(panels, beside / measure, study.title, scale=_scale(measure, label, panels))
    return table


def _panels(rows: Sequence[Mapping[str, Any]], measure: str) -> list[FinalPanel]:
    panels = []
    for cell in dict.fromkeys(row["cell"] for row in rows):
        own = [row for row in rows if row["cell"] == cell and measure in row]
        drawn = {row["who"]: _estimate(row[measure]) for row in own if "source" not in row}
        lines = {row["who"]: row[measure][0] for row in own if "source" in row}
        panels.append(FinalPanel(cell, drawn, lines))
    return panels


def _scale(measure: str, label: str, panels: Sequence[FinalPanel]) -> Scale:
    if measure == "success":
        return Scale(label)
    ends = [end for panel in panels for estimate in panel.rows.values() for end in estimate if math.isfinite(end)]
    return Scale(label, top=1.05 * max(ends) or 1.0, form=".2f")


def _estimate(values: Sequence[float | None]) -> Estimate:
    return Estimate(*(math.nan if value is None else value for value in values))
