"""The report of a study: what it says of people beside agents, also where there is little to say anything of."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gumption.data import InputError
from gumption.scripts.people.study import commands
from gumption.scripts.people.study.export import participants
from gumption.scripts.people.study.gathered import gathered
from gumption.scripts.people.study.report import make, markdown, write
from tests.scripts.people.study.served import write_study
from tests.scripts.people.study.studies import study
from tests.scripts.people.study.test_study_export import gathered as made_up
from tests.scripts.people.study.test_study_export import person, rows_of

PLOTS = ("success", "first_try", "attempts", "actions", "seconds", "pareto")


@pytest.mark.slow
def test_the_report_has_people_beside_agents_and_published_figures(tmp_path: Path) -> None:
    published = [{"label": "people in the paper", "block": "test", "success": 0.6, "source": "a paper, figure 1"}]
    one = study(published=published)
    everyone = made_up((person(0), 11), (person(1), 11), (person(2), 11), (person(3), 7))
    figures = make(one, everyone)
    rows = {(row["who"], row["cell"]): row for row in figures["rows"]}
    # In the made-up data stages with odd numbers are solved: 5 of the training, 9 of the test.
    assert rows["participants", "training, distractors one"]["success"][0] == 0.5
    assert rows["participants", "test, distractors one"]["success"][0] == 0.5
    assert rows["participants", "test, distractors one"]["seconds"][0] == 4.0
    for level in ("one", "three"):
        assert rows["oracle", f"test, distractors {level}"]["success"][0] == 1.0
        assert rows["random", f"test, distractors {level}"]["success"][0] < 0.9
        assert rows["people in the paper", f"test, distractors {level}"]["success"] == [0.6, None, None]
    counts = {cell: row["participants"] for (who, cell), row in rows.items() if who == "participants"}
    assert sum(counts.values()) == 4 + 3
    assert not any("practice" in cell for cell in counts)
    assert {row["question"]: row["answers"] for row in figures["answers"]} == {"hard": 3, "how": 3}
    table = markdown(figures)
    assert "people in the paper (a paper, figure 1) |  |  | 60.0% |" in table
    assert write(tmp_path / "report", one, figures) == table
    names = {path.name for path in (tmp_path / "report").iterdir()}
    plots = {f"{name}.{kind}" for name in PLOTS for kind in ("png", "svg")}
    assert names == plots | {"report.json", "table.md"}
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files than a report"):
        write(tmp_path, one, figures)


def test_a_report_and_an_export_without_data_are_refused(tmp_path: Path) -> None:
    file = str(write_study(tmp_path))
    for command in (commands.report, commands.export):
        with pytest.raises(InputError, match="holds no data of a study"):
            command(file, data=tmp_path / "none", out=tmp_path / "out")
    with pytest.raises(InputError, match="nobody has ended a task that counts"):
        make(study(), made_up((person(0), 2)))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "home.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match="cannot be read as a database"):
        gathered(study(), tmp_path / "data")


# ---- People who play the same tasks

#: Everybody has the same tasks.
TOGETHER = study(conditions=[], blocks__0__seed=1, blocks__1__seed=2)
#: The stages of the two training tasks, and of the two test tasks.
TRAINING, TEST = (5, 6), (8, 9)


def everyone(*people: dict[Any, Any]) -> list[Any]:
    """Participants who have ended all tasks.

    :param people: stage -> how its task came out, where it is not as `rows_of` has it: its "actions", "attempts",
        "success"; "upto" is the first stage that was not reached.
    """
    parts: tuple[list[Any], ...] = ([], [], [], [])
    for place, changes in enumerate(people):
        episodes, actions, answers = rows_of(place, changes.get("upto", 100), TOGETHER)
        for episode in episodes:
            change = dict(changes.get(episode.stage, {}))
            made = [one for one in actions if one.episode == episode.id]
            if (given := change.pop("actions", None)) is not None:
                about = {"episode": episode.id, "step": None, "attempt": 1, "state": "", "at": 1.0, "received": 1.0}
                made = [SimpleNamespace(number=k, action=one, **about) for k, one in enumerate(given, start=1)]
            parts[1].append(SimpleNamespace(**{**vars(episode), "result": {**episode.result, **change}}))
            parts[2].extend(made)
        parts[0].append(person(place, study=TOGETHER.hash))
        parts[3].extend(answers)
    return participants(TOGETHER, *parts)


def by_cell(figures: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["who"], row["cell"]): row for row in figures["rows"]}


def test_attempts_first_tries_and_fronts() -> None:
    first, second = TRAINING
    found = everyone(
        {first: {"success": True, "attempts": 3, "actions": ["a"] * 6}, second: {"success": True}},
        {first: {"success": False, "attempts": 2}, second: {"success": False, "actions": []}},
    )
    rows = by_cell(make(TOGETHER, found))
    people = rows["participants", "training"]
    assert people["success"][0] == 0.5
    assert people["first_try"][0] == 0.25
    assert people["attempts"][0] == (2 + 1.5) / 2
    assert people["actions"][0] == (4 + 1) / 2
    # The oracle solves both with two actions each. The second participant spends less, and solves nothing.
    assert rows["oracle", "training"]["front"] == {"means": True, "participants": 2}
    assert people["front"] == {"means": False, "participants": 1}
    assert rows["random", "training"]["front"]["participants"] <= 1


def test_consistency_is_how_alike_people_are_at_the_same_tasks() -> None:
    one, other = TRAINING
    same = {one: {"success": True, "actions": ["a"]}, other: {"success": False, "actions": ["b"]}}
    rows = by_cell(make(TOGETHER, everyone(same, same, same)))
    alike = rows["participants", "training"]["consistency"]
    assert {name: part["alpha"][0] for name, part in alike.items()} == {"success": 1.0, "first": 1.0}
    assert (alike["success"]["things"], alike["success"]["values"]) == (2, 6)
    apart = {one: {"success": False, "actions": ["c"]}, other: {"success": True, "actions": []}}
    alike = by_cell(make(TOGETHER, everyone(same, apart)))["participants", "training"]["consistency"]
    assert alike["success"]["alpha"][0] == pytest.approx(-0.5)
    assert alike["first"]["share"] == 0.0
    assert (alike["first"]["things"], alike["first"]["values"]) == (1, 2), "who did nothing began in no way"
    # Random agents at one task are as many as there are participants, and draw apart.
    random = by_cell(make(TOGETHER, everyone(*[same] * 12)))["random", "training"]["consistency"]["first"]
    assert random["share"] < 0.9


def test_people_with_tasks_of_their_own_have_no_consistency() -> None:
    told = markdown(make(study(), made_up((person(0), 11), (person(1), 11))))
    assert "No task was played by two participants, so nothing is said of consistency." in told
    assert "alpha" not in told


# ---- Little data


@pytest.mark.slow
@pytest.mark.parametrize(
    "people",
    [
        ({},),
        ({"upto": 6},),  # one task of one participant
        ({stage: {"success": False, "actions": []} for stage in (*TRAINING, *TEST)},) * 2,
        ({stage: {"success": True, "actions": ["a", "b"]} for stage in (*TRAINING, *TEST)},) * 3,
    ],
    ids=["one participant", "one task", "nobody did anything", "all alike"],
)
def test_a_report_of_little_says_what_is_true(people: tuple[dict, ...], tmp_path: Path) -> None:
    figures = make(TOGETHER, everyone(*people))
    table = markdown(figures)
    assert "nan" not in table
    assert "NaN" not in json.dumps(figures)
    row = by_cell(figures)["participants", "training"]
    assert row["participants"] == len(people)
    for name in ("success", "attempts", "actions"):
        value, low, high = row[name]
        assert (low is None) == (high is None) == (len(people) == 1), "one participant has no interval"
        assert low is None or low <= value <= high
    if len(people) == 1:
        assert row["consistency"] == {"success": None, "first": None}
    else:
        assert row["consistency"]["success"]["share"] == 1.0
        assert "not defined" in table, "alpha, of values that are all the same"
    if row["actions"][0] == 0:
        assert row["front"]["means"], "nobody spends less"
        assert row["consistency"]["first"] is None
        assert write(tmp_path / "report", TOGETHER, figures) == table
        assert {path.stem for path in (tmp_path / "report").glob("*.png")} == set(PLOTS)
