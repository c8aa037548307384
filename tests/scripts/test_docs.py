"""The documentation's site: every page, every public name, nothing from the network."""

import logging
import re
from pathlib import Path

import pytest

import gumption.agents
import gumption.kg
from gumption.envs.worlds import WORLDS
from gumption.scripts import docs


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the built site."""
    return docs.build_site(tmp_path_factory.mktemp("build")).parent


@pytest.mark.slow
def test_the_site_is_complete(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {"index.html", *(f"{room}/index.html" for room in docs.ROOMS)} <= pages
    assert {f"envs/{world}/index.html" for world in WORLDS} <= pages
    for room in (gumption.kg, gumption.agents):
        text = (site / f"api/{room.__name__.removeprefix('gumption.')}.html").read_text(encoding="utf-8")
        for name in room.__all__:
            assert f"{room.__name__}.{name}" in text, name


@pytest.mark.slow
def test_the_site_loads_nothing_from_the_network(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe)[^>]* src=\"?(?:https?:)?//[^ >]*", text), path
        assert not re.findall(r"<link [^>]*rel=\"?stylesheet[^>]*href=\"?(?:https?:)?//[^ >]*", text), path


def test_a_field_of_several_names_becomes_one_for_each() -> None:
    text = "    :param a, b: (n,) rows\n        that go on; see\n\n        `f`.\n    :param c: x\n"
    changed = docs.SEVERAL_NAMES.sub(docs.one_name_each, text)
    assert changed == (
        "    :param a: (n,) rows\n        that go on; see\n    :param b: (n,) rows\n        that go on; see\n\n"
        "        `f`.\n    :param c: x\n"
    )


def test_public_names_are_those_of_all_or_of_the_module_itself() -> None:
    assert docs.public_names("gumption.kg") == gumption.kg.__all__
    assert "build_site" in docs.public_names("gumption.scripts.docs")
    assert not {"Path", "_copy_page"} & set(docs.public_names("gumption.scripts.docs"))


@pytest.mark.slow
def test_a_broken_link_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = docs._copy_page

    def broken(page: Path, pages: Path) -> None:
        copy(page, pages)
        with (pages / page.relative_to(docs.REPOSITORY)).open("a", encoding="utf-8") as file:
            file.write("\n[nowhere](nowhere.md)\n")

    monkeypatch.setattr(docs, "_copy_page", broken)
    monkeypatch.setattr(docs, "reference_packages", list)  # what takes most of the time
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    with pytest.raises(SystemExit):
        docs.build_site(tmp_path)
