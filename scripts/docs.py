"""Build the documentation site from a checkout: the pages of the rooms, and a reference from the docstrings.

python -m gumption.scripts.docs             builds the site (`make docs`)
python -m gumption.scripts.docs --worlds    writes the table of the worlds into README.md, and onto the page of each
                                            world the items of its document and where they are here (items.toml)
"""

import logging
import re
import shutil
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from gumption.data.errors import extra
from gumption.data.writing import write_text

REPOSITORY = Path(__file__).resolve().parents[1]
ROOMS = ("data", "kg", "envs", "agents", "scripts")
PACKAGES = ("gumption.data", "gumption.kg", "gumption.envs.worlds", "gumption.envs.kg_wrapper", "gumption.agents")
PAGE = "README.md"
# The head of a page of the reference: the docstring of the module.
REFERENCE = """# {module}

::: {module}
    options:
      members: false
      show_root_heading: false
      show_root_toc_entry: false
"""
UNSEEN = ("config", "load", "evaluate_policy", "read_splits")  # offers of a world that only commands use
WIDE = ".md-grid { max-width: 80rem; }\n"  # for code with lines of up to 120 characters
ITEMS = "items.toml"
STATES = ("works", "differs", "not")
ITEMS_TABLE = re.compile(r"(<!-- items -->\n).*?(<!-- end -->)", re.DOTALL)
WORLDS_TABLE = re.compile(r"(<!-- worlds -->\n).*?(<!-- end -->)", re.DOTALL)
# Matches a docstring field that describes several names at once: indentation, kind, names and text.
SEVERAL_NAMES = re.compile(r"^( *):(param|ivar) (\w+(?:, \w+)+):(.*(?:\n\1 +\S.*)*)", re.MULTILINE)


def build_site(out: Path) -> Path:
    """Build the site; a broken link or reference raises mkdocs' Abort.

    :param out: folder for `pages/`, `source/` and `site/`, which are replaced.
    :returns: the first page of the site.
    """
    with extra("docs", "the site"):
        from mkdocs.commands.build import build
        from mkdocs.config import load_config

    pages, source, site = out / "pages", out / "source", out / "site"
    for folder in (pages, source, site):
        shutil.rmtree(folder, ignore_errors=True)
    room_pages = {room: sorted((REPOSITORY / room).rglob(PAGE), key=_depth) for room in ROOMS}
    for page in [REPOSITORY / PAGE, *(page for found in room_pages.values() for page in found)]:
        _copy_page(page, pages)
    write_text(pages / "wide.css", WIDE)
    api = [_write_reference(name, pages) for name in reference_packages()]
    navigation: list[Any] = [{"gumption": PAGE}]
    for room, found in room_pages.items():
        navigation.append({room: [page.relative_to(REPOSITORY).as_posix() for page in found]})
    navigation.append({"Python API": api})

    # The reader of docstrings needs the source in a folder with the package's name.
    _copy_source(source / "gumption")
    sys.path.insert(0, str(source))
    try:
        places = {"docs_dir": str(pages), "site_dir": str(site)}
        build(load_config(str(REPOSITORY / "mkdocs.yml"), nav=navigation, strict=True, **places))
    finally:
        sys.path.remove(str(source))
    return site / "index.html"


def reference_packages() -> list[str]:
    """Return the modules whose public names the reference describes: the rooms, and one module per world."""
    from gumption.envs.worlds import WORLDS

    worlds = [f"gumption.envs.{name}" for name in WORLDS]
    return [*PACKAGES[:-1], *worlds, *PACKAGES[-1:]]


def worlds_table() -> str:
    """Return a Markdown table of the worlds; the README shows it between the markers `worlds` and `end`."""
    from gumption.envs.worlds import WORLDS

    lines = ["| world | what one does there | environments | offers | document |", "| --- | --- | --- | --- | --- |"]
    for name, world in WORLDS.items():
        ids = ", ".join(f"`{environment.id}`" for environment in world.environments)
        offers = ", ".join(dict.fromkeys(o.removesuffix("_command") for o in world.offers if o not in UNSEEN))
        page = f"[{world.title}](envs/{name}/README.md)"
        lines.append(f"| {page} | {world.about} | {ids} | {offers} | {world.source} |")
    return "\n".join([*lines, ""])


class Item(NamedTuple):
    """A mechanism, task, figure, table, equation or appendix of a world's document.

    :ivar place: its place in the document.
    :ivar where: its place here: public names ("gumption.kg.ComplEx"), commands ("gumption kg fit") and saved
        results ("segar-gap"), separated by commas.
    :ivar state: whether it works as in the document, differs, or is missing.
    :ivar why: the reason why it differs or is missing.
    """

    place: str
    what: str
    where: str
    state: str
    why: str


def read_items(world: str) -> list[Item]:
    """Read the items of a world's document from its items.toml; none if it has no such file."""
    path = REPOSITORY / "envs" / world / ITEMS
    if not path.is_file():
        return []
    return [Item(*row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["items"]]


def items_table(items: list[Item]) -> str:
    """Return a Markdown table of the items; the page of their world shows it between the markers `items` and `end`."""
    counts = ", ".join(f"{sum(one.state == state for one in items)} {state}" for state in STATES)
    lines = [f"{len(items)} items: {counts}.", "", "| in the document | what | here | | why |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for one in items:
        where = ", ".join(f"`{part}`" for part in one.where.split(", ") if part)
        lines.append(f"| {one.place} | {one.what} | {where} | {one.state} | {one.why} |")
    return "\n".join([*lines, ""])


def write_worlds(repository: Path) -> None:
    """Write the table of the worlds between its markers in the README, and tables of items into the worlds' pages."""
    from gumption.envs.worlds import WORLDS

    readme = repository / PAGE
    text = readme.read_text(encoding="utf-8")
    write_text(readme, WORLDS_TABLE.sub(lambda found: found[1] + worlds_table() + found[2], text))
    for world in WORLDS:
        if items := read_items(world):
            page, table = repository / "envs" / world / PAGE, items_table(items)
            text = page.read_text(encoding="utf-8")
            write_text(page, ITEMS_TABLE.sub(lambda found, table=table: found[1] + table + found[2], text))


def public_names(module: str) -> list[str]:
    """Return `__all__` of a module, else its own classes and functions without an underscore."""
    found = import_module(module)
    own = [name for name, value in vars(found).items() if getattr(value, "__module__", None) == module]
    return list(getattr(found, "__all__", [name for name in own if not name.startswith("_")]))


def _depth(page: Path) -> tuple[int, str]:
    return len(page.parts), str(page)


def _copy_page(page: Path, pages: Path) -> None:
    """Copy a page and its pictures under their paths in the repository."""
    text = page.read_text(encoding="utf-8")
    pictures = [(page.parent / name).resolve() for name in re.findall(r"!\[[^\]]*\]\(([^)#:]+)\)", text)]
    for path in [page, *pictures]:
        target = pages / path.relative_to(REPOSITORY)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _write_reference(module: str, pages: Path) -> str:
    """Write the page of a module's public names; return its path among the pages."""
    path = pages / "api" / f"{module.removeprefix('gumption.')}.md"
    names = [f"\n::: {module}.{name}\n" for name in public_names(module)]
    write_text(path, REFERENCE.format(module=module) + "".join(names))
    return path.relative_to(pages).as_posix()


def _copy_source(target: Path) -> None:
    for path in [REPOSITORY / "__init__.py", *(path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py"))]:
        source = path.read_text(encoding="utf-8")
        write_text(target / path.relative_to(REPOSITORY), SEVERAL_NAMES.sub(one_name_each, source))


def one_name_each(field: re.Match[str]) -> str:
    """Split `:param a, b: text` into one field per name, since the reader of docstrings takes one name per field."""
    indent, kind, names, text = field.groups()
    return "\n".join(f"{indent}:{kind} {name}:{text}" for name in names.split(", "))


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    if sys.argv[1:] == ["--worlds"]:
        write_worlds(REPOSITORY)
    else:
        print(f"open {build_site(REPOSITORY / 'build')}")
