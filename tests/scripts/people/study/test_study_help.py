"""Help in a study: checked, told before it is asked for, priced, refused where there is none, in all that comes out."""

import asyncio
import csv
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.scripts.people.study import commands
from gumption.scripts.people.study.export import files
from gumption.scripts.people.study.files import read
from gumption.scripts.people.study.gathered import gathered
from gumption.scripts.people.study.links import Secret
from gumption.scripts.people.study.replay import replay
from gumption.scripts.people.study.report import make, markdown
from gumption.scripts.people.study.simulate import simulate
from gumption.scripts.people.study.tasks import check_worlds
from tests.scripts.people.study.served import StudyServer, in_process, leave, now, to_kind, write_study
from tests.scripts.people.study.studies import study
from tests.scripts.people.web.homes import Page

pytestmark = pytest.mark.filterwarnings("ignore:.*mine.nq")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that knows of one thing that it goes into many others."""
    file = tmp_path_factory.mktemp("graph") / "mine.nq"
    with KnowledgeGraph() as mine:
        mine.add([("fire", "componentOf", "steam"), ("water", "componentOf", "mud")], graph="mine")
        mine.save(file)
    return file


def helped(graph: Path, **terms: Any) -> dict[str, Any]:
    """Changes of the small study: help in its practice-free block `training`, and none in `test`."""
    return {
        "practice": [],
        "quiz": None,
        "questions": [],
        "blocks__0__help": {"kg": str(graph), "price": 0.25, "at_most": 1, **terms},
    }


@pytest.fixture
def server(graph: Path, tmp_path: Path) -> Iterator[StudyServer]:
    with in_process(write_study(tmp_path, **helped(graph)), tmp_path / "data") as serving:
        yield serving


def ask(page: Page, stage: dict[str, Any], number: int, after: int) -> dict[str, Any]:
    return page.ask("help", episode=stage["episode"], number=number, after=after, at=time.time() * 1000)


def first_word(page: Page, stage: dict[str, Any]) -> str:
    return page.ask("go_on", episode=stage["episode"])["view"]["drawing"]["table"][0]


def test_a_task_with_help_from_the_first_page_to_the_report(server: StudyServer, graph: Path, tmp_path: Path) -> None:
    _, cookie, _ = server.join(name="Ada")
    with server.page(cookie) as page:
        assert "which help you asked for, and when" in now(page)["keeps"]
        task = to_kind(page, "task")
        before = page.ask("go_on", episode=task["episode"])["view"]
        assert before["help"] == {"price": 0.25, "at_most": 1, "used": 0, "said": None}
        shown = ask(page, task, 1, 0)
        assert (shown["view"]["reward"], shown["view"]["help"]["used"]) == (-0.25, 1)
        assert {one["label"] for one in shown["view"]["help"]["said"]} == set(before["drawing"]["table"])
        assert ask(page, task, 2, 0) == shown
        page.act(task["episode"], 1, first_word(page, task))
        used = ask(page, task, 2, 1)
        assert (used["type"], used["reason"]) == ("help_refused", "all help is used: 1 in an episode")
        page.act(task["episode"], 2, first_word(page, task))
        without = leave(page, now(page))  # the second task of the block, in which no help is asked for
        for number in (1, 2):
            page.act(without["episode"], number, first_word(page, without))
        assert leave(page, now(page))["kind"] == "text"
        test = to_kind(page, "task")
        first_word(page, test)
        helpless = ask(page, test, 1, 0)
        assert (helpless["type"], helpless["reason"]) == ("help_refused", "there is no help in this episode")
    one = server.ask("/experimenter/participants/1")[1]
    assert [each["helps"] for each in one["episodes"]] == [1, 0, 0]
    status, then = server.ask(f"/experimenter/replay/{task['episode']}/0")
    assert (status, then["helped"]) == (200, [0])
    assert (then["help"]["price"], then["help"]["choices"]) == (0.25, shown["view"]["help"]["said"])
    assert server.ask(f"/experimenter/replay/{task['episode']}/1")[1]["help"] is None

    kept = read(tmp_path / "study.json")
    everyone = gathered(kept, tmp_path / "data")
    content = files(kept, everyone, Secret.of(tmp_path / "data"))
    rows = list(csv.DictReader(io.StringIO(content["episodes.csv"])))
    assert [(row["helps"], row["help_price"]) for row in rows] == [("1", "0.25"), ("0", "0"), ("0", "0")]
    assert float(rows[0]["reward"]) <= -0.25 + 1
    book = {row["column"]: row for row in csv.DictReader(io.StringIO(content["codebook.csv"]))}
    assert "how often help from the graph was asked for" in book["helps"]["meaning"]
    assert "taken from the reward" in book["help_price"]["meaning"]
    assert book["reward"]["meaning"] == "sum of the rewards, less help_price"
    records = [one for line in content["episodes.jsonl"].splitlines() if "helps" in (one := json.loads(line))]
    [given] = records[0]["helps"]
    assert {name: given[name] for name in ("number", "after", "price")} == {"number": 1, "after": 0, "price": 0.25}
    assert (given["choices"], given["knowledge"]["source"]) == (shown["view"]["help"]["said"], "mine.nq")
    assert records[1]["helps"] == []
    for record in records:
        replay(record, "a record")  # states, result and price are those of here

    figures = make(kept, everyone)
    [cell] = figures["help"]
    assert (cell["cell"].split(",")[0], cell["helps"][0]) == ("training", 0.5)
    assert (cell["with"]["tasks"], cell["without"]["tasks"]) == (1, 1)
    table = markdown(figures)
    assert "| tasks | helps a task | success with help | tasks | success without | tasks |" in table
    assert "| 0.50 |" in table


@pytest.mark.parametrize("policy", ["random", "oracle"])
def test_simulated_players_ask_in_every_second_task_that_offers_help(graph: Path, tmp_path: Path, policy: str) -> None:
    file = write_study(tmp_path, **helped(graph))
    with in_process(file, tmp_path / "data") as server:
        asyncio.run(simulate(read(file), f"http://{server.address}", 3, policy, chaos=True))
    everyone = gathered(read(file), tmp_path / "data")
    [cell, *_] = make(read(file), everyone)["help"]
    assert cell["with"]["tasks"] == cell["without"]["tasks"] > 0


def test_a_study_without_help_has_no_columns_of_it() -> None:
    content = files(study(), [], None, now=0.0)  # pyright: ignore[reportArgumentType]
    assert "help" not in content["episodes.csv"] + content["codebook.csv"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"blocks__0__help__price": -1}, "blocks[0].help.price: input should be greater than or equal to 0; it is -1"),
     ({"blocks__0__help__at_most": 0}, "blocks[0].help.at_most: input should be greater than or equal to 1; it is 0"),
     ({"blocks__0__help__cost": 1}, "blocks[0].help: it has no 'cost'"),
     ({"blocks__0__help": {"price": 1.0}}, "blocks[0].help.kg: it is missing")],
)  # fmt: skip
def test_wrong_terms_are_told_by_their_field(changes: dict[str, Any], reason: str, graph: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as told:
        read(write_study(tmp_path, **{**helped(graph), **changes}))
    assert reason in str(told.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"blocks__0__help__kg": "nosuch.nq"}, "blocks[0].help: there is no graph at nosuch.nq"),
     ({"blocks__0__help__kg": "none"}, "blocks[0].help: kg is none: help needs knowledge"),
     ({"blocks__0__help__rules": "linkd"}, "blocks[0].help: kg_rules: unknown rules 'linkd': did you mean 'linked'?"),
     ({"blocks__0__help__relations": {"partOf": "x"}}, "blocks[0].help: kg_relations: not one of the world's"),
     ({"blocks__1": {"name": "maze", "title": "Maze", "world": "halma", "tasks": 1, "conditions": [],
                     "help": {"kg": "train"}}},
      "blocks[1].help: the graph has none of the relations that the world asks for: leadsTo")],
)  # fmt: skip
def test_help_that_cannot_be_given_is_told_by_the_check(
    changes: dict[str, Any], reason: str, graph: Path, tmp_path: Path
) -> None:
    file = write_study(tmp_path, **{**helped(graph), **changes})
    with pytest.raises(InputError) as told:
        check_worlds(read(file), file)
    assert reason in str(told.value)


def test_a_setting_that_a_world_cannot_do_without_is_asked_for() -> None:
    block = {"name": "table", "title": "Table", "world": "probsol", "tasks": 1, "conditions": []}
    with pytest.raises(InputError, match=r"blocks\[0\].settings: task is missing; a task of the world 'probsol'"):
        check_worlds(study(blocks=[block]), "study.json")


def test_the_commands_tell_the_terms_and_the_leaks(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(write_study(tmp_path, **helped(graph)))
    commands.check(file, json_=True)
    line = json.loads(capsys.readouterr().out)["help"]
    assert line.startswith("training: mine.nq (look-up, 2 facts): it states ")
    assert line.endswith(" test facts")
    commands.preview(file, tasks=1)
    told = capsys.readouterr().out
    assert told.count(f"help from {graph}: each costs 0.25 of the reward, at most 1 in a task") == 1
    free = str(write_study(tmp_path, **helped(graph, price=0.0, at_most=None)))
    commands.preview(free, tasks=1)
    assert f"help from {graph}: free" in capsys.readouterr().out
