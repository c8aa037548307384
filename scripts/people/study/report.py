"""The report of a study: its participants, who may be simulated, compared with random choices, an oracle and trained
agents on the same tasks, with intervals over participants, and published results as lines.

The Pareto front is over success and actions per task. People and agents both spend actions, while the seconds of an
agent would measure the computer. Only players of the same tasks are compared. Consistency is Krippendorff's alpha of
success and of first actions, over the tasks that at least two participants have played.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gumption.agents.plots import FinalPanel, Front, Scale, plot_final_success, plot_fronts
from gumption.agents.statistics import Estimate, bootstrap_interval, krippendorff_alpha, pareto_front
from gumption.data import InputError
from gumption.data.tables import grouped
from gumption.data.writing import is_part, whole_folder
from gumption.envs import worlds
from gumption.scripts.results import table

from .design import Task, seed_of
from .export import Participant, block_of
from .files import Study
from .path import Stage
from .players import OFFERED, can_play, played

#: Measure -> (heading, format, axis label of its plot).
MEASURES = {
    "success": ("success", ".1%", "share of tasks solved"),
    "first_try": ("first try", ".1%", "share of tasks solved at the first attempt"),
    "attempts": ("attempts a task", ".2f", "attempts a task"),
    "actions": ("actions a task", ".2f", "actions a task"),
    "seconds": ("seconds a task", ".1f", "seconds a task"),
}
#: Attribute of a `Result` whose consistency is computed -> heading.
ALIKE = {"success": "success", "first": "first action"}
PARTICIPANTS = "participants"
REPORT = "report.json"
NOTES = {
    "measures": "A task that can be tried once has one attempt, and its first try decides.",
    "fronts": "The Pareto front is that of success against actions a task: nobody else solves at least as much with at "
    "most as many actions, and better in one of them. It is that of the means, and that at each participant's tasks. "
    "Whoever does nothing spends least, and is on it.",
    "consistency": "Alpha is Krippendorff's, of nominal values: 1 where all participants are alike at each task, 0 as "
    "by chance; the interval is over tasks. It is not defined where all values are the same.",
    "apart": "No task was played by two participants, so nothing is said of consistency.",
}


@dataclass(frozen=True)
class Result:
    """The result of a task, of a participant or of an agent that plays the participant's task.

    :ivar participant: number of the participant; `task` is a key that is equal for equal tasks.
    :ivar first: the first action as JSON, None without an action; `seconds` is None for agents.
    """

    participant: int
    task: str
    success: bool
    attempts: int
    actions: int
    first: str | None
    seconds: float | None = None

    @property
    def first_try(self) -> bool:
        """Whether the task was solved at the first attempt."""
        return self.success and self.attempts == 1


@dataclass(frozen=True, order=True)
class Cell:
    """A group of comparable tasks: a block in one combination of levels.

    :ivar name: such as "test, distractors one".
    """

    block: str
    levels: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return ", ".join([self.block, *(f"{condition} {level}" for condition, level in self.levels)])


def make(study: Study, everyone: Sequence[Participant], policies: Sequence[str] = ()) -> dict[str, Any]:
    """Compute the figures of a study's report.

    :param policies: policies of further agents, see gumption.scripts.people.study.players.
    :raises InputError: no task that counts has ended yet, or no such agent.
    """
    tasks = list(_ended(everyone))
    if not tasks:
        raise InputError("nobody has ended a task that counts; the report needs one at least")
    rows, points, help, known = [], [], [], {}
    for cell in sorted({cell for cell, *_ in tasks}):
        own = [(person, stage, episode) for at, person, stage, episode in tasks if at == cell]
        if any(block.help is not None for block in study.blocks if block.name == cell.block):
            help.append(_of_help(cell.name, own))
        players = {PARTICIPANTS: [_of_person(*one) for one in own]}
        for policy in _policies(own[0][1].task, policies):
            players[OFFERED.get(policy, policy)] = [_of_agent(policy, person, stage, known) for person, stage, _ in own]
        fronts = _fronts(players)
        rows += [
            {"who": who, **_about(cell), **_figures(results), "front": fronts[who]} for who, results in players.items()
        ]
        points += [{**_about(cell), **point} for point in _points(players[PARTICIPANTS])]
        for figure in study.published:
            if figure.block == cell.block:
                success = [figure.success, None, None]
                rows.append({"who": figure.label, **_about(cell), "success": success, "source": figure.source})
    own = {}
    for world in dict.fromkeys(block.world for block in study.blocks):
        if (report := worlds.find(world).get("study_report")) is not None:
            figures, lines = report(
                [_task(one, stage, episode) for _, one, stage, episode in tasks if episode.world == world]
            )
            own[world] = {"figures": figures, "lines": lines}
    return {
        "study": study.name,
        "hash": study.hash,
        "rows": rows,
        "points": points,
        "help": help,
        "answers": _answers(study, everyone),
        "worlds": own,
    }


def _task(one: Participant, stage: Stage, episode: Any) -> dict[str, Any]:
    """Return a played task in the form that the report of a world reads."""
    asked = one.answers.get(stage.number - 1, {}) if stage.played and stage.played.block.before else {}
    return {
        "participant": one.number,
        "settings": episode.settings,
        "levels": dict(stage.played.levels) if stage.played else {},
        "actions": [action.action for action in one.actions[episode.id]],
        "success": bool(episode.result.get("success")),
        "before": {name: answer.value for name, answer in asked.items()},
    }


def _ended(everyone: Sequence[Participant]) -> Iterator[tuple[Cell, Participant, Stage, Any]]:
    """Yield the ended tasks outside the practice."""
    for one in everyone:
        for number, episode in sorted(one.episodes.items()):
            stage = one.path[number]
            if episode.ended is not None and stage.played is not None and not stage.played.practice:
                yield Cell(block_of(stage), tuple(stage.played.levels.items())), one, stage, episode


def _about(cell: Cell) -> dict[str, Any]:
    return {"cell": cell.name, "block": cell.block, "levels": dict(cell.levels)}


def _policies(task: Task | None, policies: Sequence[str]) -> list[str]:
    """Return the given policies, preceded by those that the world offers if agents can act there as people do."""
    assert task is not None
    offers = worlds.find(task.world).offers
    own = ["random", *(name for name in OFFERED if name in offers)]
    return [*(own if can_play(task) else ()), *policies]


def _of_person(person: Participant, stage: Stage, episode: Any) -> Result:
    assert stage.task is not None
    actions, result = person.actions[episode.id], episode.result
    first = json.dumps(actions[0].action) if actions else None
    about = bool(result.get("success")), result["attempts"], len(actions), first
    return Result(person.number, _same(stage.task), *about, episode.ended - episode.began)


def _of_agent(policy: str, person: Participant, stage: Stage, known: dict[Any, dict[str, Any]]) -> Result:
    """Return the result of an agent at the task of a participant.

    :param known: (policy, task, seed) -> result; a cache, since participants may have the same tasks.
    """
    task = stage.task
    assert task is not None
    seed = seed_of(person.number, stage.number) if policy == "random" else 0
    key = policy, _same(task), seed
    if key not in known:
        known[key] = played(policy, task, seed)
    found = known[key]
    first = json.dumps(found["first"])
    return Result(person.number, _same(task), found["success"], found["attempts"], found["actions"], first)


def _same(task: Task) -> str:
    """Return a key of a task: its world, settings and seed as JSON."""
    return json.dumps([task.world, sorted(task.settings.items()), task.seed])


def _figures(results: Sequence[Result]) -> dict[str, Any]:
    """Return the mean of each measure over the participants' means, with bootstrap intervals over participants; and the
    consistency."""
    figures: dict[str, Any] = {"participants": len({one.participant for one in results}), "tasks": len(results)}
    for name in MEASURES:
        means = _means(results, name)
        if means:
            figures[name] = interval([*means.values()])
    for name in ALIKE:
        told = ((one.task, getattr(one, name)) for one in results)
        alike = krippendorff_alpha(grouped(pair for pair in told if pair[1] is not None).values())
        figures.setdefault("consistency", {})[name] = None if alike is None else alike.figures()
    return figures


def _means(results: Sequence[Result], name: str) -> dict[int, float]:
    """Return participant -> mean of a measure, without participants for whom it is not measured."""
    told = ((one.participant, getattr(one, name)) for one in results)
    by_person = grouped((number, float(value)) for number, value in told if value is not None)
    return {number: float(np.mean(values)) for number, values in by_person.items()}


def _points(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    """Yield success and actions per task of each participant."""
    success, actions = _means(results, "success"), _means(results, "actions")
    for number, share in success.items():
        yield {"participant": number, "success": share, "actions": actions[number]}


def _fronts(players: Mapping[str, Sequence[Result]]) -> dict[str, dict[str, Any]]:
    """Return who -> "means": on the Pareto front of the means; "participants": number of participants' fronts."""
    success, actions = ([_means(results, name) for results in players.values()] for name in ("success", "actions"))
    numbers = list(success[0])

    def front(of: Sequence[int]) -> np.ndarray:
        means = [[np.mean([values[number] for number in of]) for values in each] for each in (success, actions)]
        return pareto_front(np.array(means).T * (1.0, -1.0))

    at_each = np.sum([front([number]) for number in numbers], axis=0).tolist()
    return {
        who: {"means": there, "participants": many}
        for who, there, many in zip(players, front(numbers).tolist(), at_each, strict=True)
    }


def _answers(study: Study, everyone: Sequence[Participant]) -> list[dict[str, Any]]:
    """Return for each question the number of answers, with counts of options, or the mean of a scale."""
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
    """Return the tables as Markdown."""
    measured = [row for row in figures["rows"] if "source" not in row]
    lines = [*_measures_table(figures["rows"]), "", *_fronts_table(measured), "", *_consistency_table(measured)]
    if figures["help"]:
        heads = ["tasks", "helps a task", "success with help", "tasks", "success without", "tasks"]
        lines += ["", *table(heads, map(_help_cells, figures["help"]))]
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


def _measures_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for row in rows:
        who = f"{row['who']} ({row['source']})" if "source" in row else row["who"]
        counts = (str(row.get(name, "")) for name in ("participants", "tasks"))
        figures = (shown(row.get(name), form) for name, (_, form, _) in MEASURES.items())
        lines.append([row["cell"], who, *counts, *figures])
    heads = ["tasks", "who", "participants", "tasks played", *(heading for heading, *_ in MEASURES.values())]
    return [*table(heads, lines, left=2), "", NOTES["measures"]]


def _fronts_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for row in rows:
        there = "yes" if row["front"]["means"] else "no"
        lines.append([row["cell"], row["who"], there, f"{row['front']['participants']} of {row['participants']}"])
    heads = ["tasks", "who", "on the Pareto front", "at the tasks of participants"]
    return [*table(heads, lines, left=3), "", NOTES["fronts"]]


def _consistency_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for row in rows:
        parts = [row["consistency"][name] for name in ALIKE]
        if any(parts):
            most = max(part["things"] for part in parts if part)
            lines.append([row["cell"], row["who"], str(most), *(cell for part in parts for cell in _alike(part))])
    if not lines:
        return [NOTES["apart"]]
    heads = [f"{what} {name}" for name in ALIKE.values() for what in ("same", "alpha of")]
    return [*table(["tasks", "who", "tasks of two or more", *heads], lines, left=2), "", NOTES["consistency"]]


def _alike(part: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the share of equal pairs, and alpha, as text."""
    if part is None:
        return "", ""
    return f"{part['share']:.1%}", "not defined" if part["alpha"][0] is None else shown(part["alpha"], ".2f")


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")


def write(folder: Path, study: Study, figures: Mapping[str, Any]) -> str:
    """Write report.json, table.md and the plots as a folder, in place of an earlier report; return the tables.

    :raises InputError: the folder contains other files, or cannot be written.
    """
    if folder.is_dir() and not all(map(is_part, folder.iterdir())) and not (folder / REPORT).is_file():
        raise InputError(f"{folder}: holds other files than a report; name a new folder")
    tables = markdown(figures)
    with whole_folder(folder) as beside:
        (beside / REPORT).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        (beside / "table.md").write_text(tables, encoding="utf-8")
        for measure, (_, _, label) in MEASURES.items():
            panels = _panels(figures["rows"], measure)
            plot_final_success(panels, beside / measure, study.title, scale=_scale(measure, label, panels))
        plot_fronts(_front_panels(figures), beside / "pareto", study.title)
    return tables


def _panels(rows: Sequence[Mapping[str, Any]], measure: str) -> list[FinalPanel]:
    panels = []
    for cell in dict.fromkeys(row["cell"] for row in rows):
        own = [row for row in rows if row["cell"] == cell and measure in row]
        means = {row["who"]: row[measure] for row in own if "source" not in row}
        drawn = {who: Estimate(*(math.nan if end is None else end for end in mean)) for who, mean in means.items()}
        panels.append(FinalPanel(cell, drawn, {row["who"]: row[measure][0] for row in own if "source" in row}))
    return panels


def _front_panels(figures: Mapping[str, Any]) -> list[Front]:
    panels = []
    for panel in _panels(figures["rows"], "success"):
        own = [row for row in figures["rows"] if row["cell"] == panel.title and "source" not in row]
        means = {row["who"]: (row["actions"][0], row["success"][0]) for row in own}
        each = [(one["actions"], one["success"]) for one in figures["points"] if one["cell"] == panel.title]
        labels = {"x": MEASURES["actions"][2], "y": MEASURES["success"][2]}
        panels.append(Front(panel.title, means, {PARTICIPANTS: each}, panel.references, **labels))
    return panels


def _scale(measure: str, label: str, panels: Sequence[FinalPanel]) -> Scale:
    if MEASURES[measure][1].endswith("%"):
        return Scale(label)
    ends = [end for panel in panels for estimate in panel.rows.values() for end in estimate if math.isfinite(end)]
    return Scale(label, top=1.05 * max(ends) or 1.0, form=".2f")


# ---- Help: number of requests, and success with and without help


def _of_help(name: str, own: Sequence[Any]) -> dict[str, Any]:
    """Return the figures of help at the tasks of a cell.

    Participants choose when to request help, so a difference in success may be due to the choice of tasks.

    :param name: name of the cell.
    :param own: (participant, stage, episode) of each task.
    """
    tasks = [(person.number, len(person.helps[each.id]), bool(each.result.get("success"))) for person, _, each in own]
    found: dict[str, Any] = {"cell": name, "helps": _mean(grouped((number, given) for number, given, _ in tasks))}
    for asked, part in ((True, "with"), (False, "without")):
        success = grouped((number, won) for number, given, won in tasks if (given > 0) == asked)
        found[part] = {"tasks": sum(map(len, success.values())), "success": _mean(success)}
    return found


def _help_cells(figures: Mapping[str, Any]) -> list[str]:
    parts = ((shown(part["success"], ".1%"), str(part["tasks"])) for part in (figures["with"], figures["without"]))
    return [figures["cell"], shown(figures["helps"], ".2f"), *(cell for part in parts for cell in part)]


def interval(means: Sequence[float]) -> list[float | None]:
    """Return the mean and the ends of its bootstrap interval, which are None for too few values."""
    return [None if math.isnan(end) else round(end, 5) for end in bootstrap_interval(means)]


def _mean(by_person: Mapping[int, Sequence[float]]) -> list[float | None] | None:
    """Return the `interval` of the participants' means over tasks; None without a task."""
    return interval([float(np.mean(values)) for values in by_person.values()]) if by_person else None


def shown(estimate: Sequence[float | None] | None, form: str) -> str:
    """Return a mean as text, with its interval if it has one; "" for None."""
    if estimate is None:
        return ""
    value, low, high = estimate
    return f"{value:{form}}" + ("" if low is None else f" [{low:{form}}, {high:{form}}]")
