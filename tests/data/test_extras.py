"""What needs a package that is not installed says how to install it."""

import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.kg import Vocabulary
from gumption.kg.views.analysis import neighbourhood
from gumption.kg.views.pictures import draw_neighbourhood
from gumption.scripts.kg.commands import app

REPOSITORY = Path(__file__).resolve().parents[2]


def take_away(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """As if the package were not installed."""
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # what the import system takes for "not there"


def test_an_interactive_picture_needs_the_extra_html(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take_away(monkeypatch, "plotly")
    facts = [("fire", "componentOf", "steam")]
    vocabulary = Vocabulary.from_triples(facts)
    around = neighbourhood(vocabulary, vocabulary.triples_to_ids(facts), "steam")
    with pytest.raises(InputError, match=r"\(\.html\) needs the package plotly: pip install 'gumption\[html\]'"):
        draw_neighbourhood(around, tmp_path / "steam.html")
    assert list(tmp_path.iterdir()) == []


def test_wordnet_needs_the_extra_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    take_away(monkeypatch, "nltk")
    monkeypatch.delitem(sys.modules, "gumption.kg.sources.wordnet", raising=False)
    with pytest.raises(InputError, match=r"WordNet needs the package nltk: pip install 'gumption\[wordnet\]'"):
        import_module("gumption.kg.sources.wordnet")


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "websockets", "werkzeug"])
def test_serving_needs_the_extra_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    take_away(monkeypatch, package)
    import_anew = ("gumption.scripts.web.sparql", "gumption.scripts.web.security", "uvicorn.protocols.websockets.")
    for name in [name for name in sys.modules if name.startswith(import_anew)]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "kg.tsv").write_text("fire\tnear\twater\n")
    done = CliRunner().invoke(app, ["serve", str(tmp_path / "kg.tsv"), "--port", "0"])
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == f"a SPARQL server needs the package {package}: pip install 'gumption[serve]'"


def test_an_installed_package_is_imported_as_ever() -> None:
    with extra("html", "this test"):
        import json
    assert json.loads("1") == 1


def test_the_extras_that_messages_name_are_those_of_the_project() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {
        name
        for room in ("data", "kg", "envs", "agents", "scripts")
        for path in (REPOSITORY / room).rglob("*.py")
        for name in re.findall(r'with extra\("(\w+)"', path.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= set(project["optional-dependencies"])
