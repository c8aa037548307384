"""What each document tells, item by item: where it is here exists, and the page of the world shows the table."""

from pathlib import Path

import pytest
import typer
import typer.core
from typer.main import get_command

from gumption.envs.worlds import WORLDS
from gumption.scripts.cli import app
from gumption.scripts.experiment import known_experiments
from tests.bench.tables import LISTED, PAGES, REPOSITORY, RESULTS, STATES, Item, items_table, read_items, write_pages
from tests.test_house import exists

WITH_ITEMS = [world for world in WORLDS if read_items(world)]


def is_command(words: list[str]) -> bool:
    """Whether the commands are there, and the options of the last one."""
    command, options = get_command(app), {word for word in words if word.startswith("-")}
    names = [word for word in words[1:] if word not in options]
    while isinstance(command, typer.core.TyperGroup) and names:
        try:
            _, command, names = command.resolve_command(typer.Context(command), names)
        except Exception:  # click's words for a command that is not there
            return False
    if words[1] == "experiment" and names and names[0] not in known_experiments():
        return False
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return options <= known and not isinstance(command, typer.core.TyperGroup)


def is_there(where: str) -> bool:
    """Whether a public name, a command or a saved result exists."""
    if where.startswith("gumption."):
        return exists(where) and not where.rpartition(".")[2].startswith("_")
    if where.startswith("gumption "):
        return is_command(where.split())
    return any((RESULTS / where).glob("*.json"))


def faults(item: Item) -> list[str]:
    parts = [part for part in item.where.split(", ") if part]
    wrong = [f"{part} is not there" for part in parts if not is_there(part)]
    if item.state not in STATES:
        wrong.append(f"{item.state!r} is none of {STATES}")
    if item.state != "not" and not parts:
        wrong.append("what is there is somewhere")
    if (item.state == "works") == bool(item.why):
        wrong.append("what differs or is not there says why, and what works needs no reason")
    if not (item.place and item.what):
        wrong.append("where the document tells what?")
    return wrong


def test_each_world_with_a_document_has_its_items() -> None:
    assert list(WORLDS) == WITH_ITEMS


@pytest.mark.parametrize("world", WITH_ITEMS)
def test_what_an_item_names_exists(world: str) -> None:
    items = read_items(world)
    wrong = {f"{one.place}: {one.what}": found for one in items if (found := faults(one))}
    assert wrong == {}
    assert len({(one.place, one.what) for one in items}) == len(items)


@pytest.mark.parametrize("world", WITH_ITEMS)
def test_the_page_shows_the_items(world: str) -> None:
    """`python -m tests.bench.tables --pages` writes them anew."""
    [(_, table, _)] = LISTED.findall((REPOSITORY / "envs" / world / "README.md").read_text(encoding="utf-8"))
    assert table == items_table(read_items(world))


def test_a_name_that_is_gone_and_a_missing_reason_are_told() -> None:
    good = Item("Figure 1", "an episode", "gumption.envs.wordcraft.WordCraftEnv, wordcraft-edges", "works", "")
    assert faults(good) == []
    assert faults(good._replace(where="gumption.envs.wordcraft.Nothing")) == [
        "gumption.envs.wordcraft.Nothing is not there"
    ]
    assert faults(good._replace(where="gumption play wordcraft --distractors, gumption kg fit")) == []
    gone = "gumption kg dance, gumption experiment fig2, gumption train wordcraft --nothing, wordcraft-fig99"
    assert faults(good._replace(where=gone)) == [
        "gumption kg dance is not there",
        "gumption experiment fig2 is not there",
        "gumption train wordcraft --nothing is not there",
        "wordcraft-fig99 is not there",
    ]
    assert faults(good._replace(state="not"))[0].startswith("what differs or is not there says why")
    assert faults(good._replace(where=""))[0] == "what is there is somewhere"


def test_the_table_is_markdown() -> None:
    items = [Item("Figure 1", "an episode", "gumption play wordcraft, wordcraft-edges", "differs", "masked")]
    assert items_table(items).splitlines() == [
        "1 items: 0 works, 1 differs, 0 not.",
        "",
        "| in the document | what | here | | why |",
        "| --- | --- | --- | --- | --- |",
        "| Figure 1 | an episode | `gumption play wordcraft`, `wordcraft-edges` | differs | masked |",
    ]


def test_one_command_writes_all_tables(tmp_path: Path) -> None:
    """That of the worlds, and the items of each world; what else is on a page stays."""
    emptied = []
    for page in map(Path, PAGES):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        text, count = LISTED.subn(r"\1an older table\n\3", (REPOSITORY / page).read_text(encoding="utf-8"))
        (tmp_path / page).write_text(text, encoding="utf-8")
        emptied += [page] * count
    assert emptied == [Path("README.md"), *(Path("envs") / world / "README.md" for world in sorted(WITH_ITEMS))]
    write_pages(tmp_path)
    for page in PAGES:
        assert (tmp_path / page).read_bytes() == (REPOSITORY / page).read_bytes()
