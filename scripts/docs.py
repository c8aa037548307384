"""Build the documentation site from a checkout (`make docs`): the pages of the rooms, and a reference from the
docstrings.
"""

import logging
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

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
WIDE = ".md-grid { max-width: 80rem; }\n"  # for code with lines of up to 120 characters
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
    for path in [REPOSITORY / "__init__.py", *(path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py"))]:
        text = SEVERAL_NAMES.sub(one_name_each, path.read_text(encoding="utf-8"))
        write_text(source / "gumption" / path.relative_to(REPOSITORY), text)
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


def one_name_each(field: re.Match[str]) -> str:
    """Split `:param a, b: text` into one field per name, since the reader of docstrings takes one name per field."""
    indent, kind, names, text = field.groups()
    return "\n".join(f"{indent}:{kind} {name}:{text}" for name in names.split(", "))


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    print(f"open {build_site(REPOSITORY / 'build')}")
