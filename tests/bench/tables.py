"""`make bench`: measure everything that has a table on a page, save it, and write the tables into the pages.

python -m tests.bench.tables            measures everything (hours), saves it, writes the pages
python -m tests.bench.tables bench-kg   measures one of them
python -m tests.bench.tables --pages    measures nothing, and writes all tables from what is saved: of the results, of
                                        the worlds (README.md), and of the items of each document (items.toml)
"""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

from gumption.data import InputError
from gumption.data.writing import write_text
from gumption.envs.worlds import WORLDS
from gumption.scripts.experiment import find_experiment, known_experiments

from . import comparison  # noqa: F401  one of the experiments that have a table

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("data", "kg", "envs", "agents", "scripts")
RESULTS = REPOSITORY / "scripts" / "papers" / "results"
PAGES = [
    "README.md",
    *sorted(str(page.relative_to(REPOSITORY)) for room in ROOMS for page in (REPOSITORY / room).rglob("README.md")),
]
# The kind of a table, the folder of its results, and the table, between its markers on a page.
KINDS = "results|brief|age|times|bench|link prediction|scale|table"
TABLE = re.compile(rf"(<!-- ({KINDS}): ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
#: The table of the worlds, or of the items of a document, between its markers on a page.
LISTED = re.compile(r"(<!-- (?:worlds|items) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
STATES = ("works", "differs", "not")
UNSEEN = ("config", "load", "evaluate_policy", "read_splits")  # offers of a world that only commands use
#: What makes the table of each folder of results. `gumption bench kg` became `python -m tests.bench recipes kg`.
BENCHES = {
    "bench": "-m gumption bench env train help",
    "bench-kg": "-m tests.bench complex recipes kg",
    "bench-large": "-m tests.bench large",
    "bench-rules": "-m gumption bench rules",
    **{f"bench-{world}": f"-m gumption bench {world}" for world in ("gradual", "halma", "probsol", "segar")},
}


def _of_experiment(path: Path) -> bool:
    return json.loads(path.read_text(encoding="utf-8")).get("experiment") in known_experiments()


#: What is saved of each experiment; one may have been run several times, say on several recipe books.
EXPERIMENTS = [path for path in sorted(RESULTS.glob("*/results.json")) if _of_experiment(path)]


def saved_table(kind: str, name: str) -> str:
    """The Markdown that a page shows between its markers."""
    if kind == "bench":
        return (RESULTS / name / "bench.md").read_text(encoding="utf-8")
    if kind in ("scale", "table"):
        return (RESULTS / name / "table.md").read_text(encoding="utf-8")
    results = json.loads((RESULTS / name / "results.json").read_text(encoding="utf-8"))
    of = find_experiment(results["experiment"]).kind
    if kind == "brief":
        return of.brief(results)  # pyright: ignore[reportAttributeAccessIssue]
    if kind == "age":
        return "".join(f"{name}: {line}\n" for line in of.age(results, name))
    if kind == "times":
        return "\n".join(of.times(results)) + "\n"  # pyright: ignore[reportAttributeAccessIssue]
    return of.page(results, name)


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
    path = REPOSITORY / "envs" / world / "items.toml"
    if not path.is_file():
        return []
    return [Item(*row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["items"]]


def items_table(items: list[Item]) -> str:
    """A Markdown table of the items, for the page of their world."""
    counts = ", ".join(f"{sum(one.state == state for one in items)} {state}" for state in STATES)
    lines = [f"{len(items)} items: {counts}.", "", "| in the document | what | here | | why |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for one in items:
        where = ", ".join(f"`{part}`" for part in one.where.split(", ") if part)
        lines.append(f"| {one.place} | {one.what} | {where} | {one.state} | {one.why} |")
    return "\n".join([*lines, ""])


def worlds_table() -> str:
    """A Markdown table of the worlds, for README.md."""
    lines = ["| world | what one does there | environments | offers | document |", "| --- | --- | --- | --- | --- |"]
    for name, world in WORLDS.items():
        ids = ", ".join(f"`{environment.id}`" for environment in world.environments)
        offers = ", ".join(dict.fromkeys(o.removesuffix("_command") for o in world.offers if o not in UNSEEN))
        page = f"[{world.title}](envs/{name}/README.md)"
        lines.append(f"| {page} | {world.about} | {ids} | {offers} | {world.source} |")
    return "\n".join([*lines, ""])


def write_pages(repository: Path = REPOSITORY) -> None:
    """Put the present table between each pair of markers."""
    listed = {"README.md": worlds_table()}
    listed |= {f"envs/{world}/README.md": items_table(items) for world in WORLDS if (items := read_items(world))}
    for page in PAGES:
        text = (repository / page).read_text(encoding="utf-8")
        told = TABLE.sub(lambda found: found[1] + saved_table(found[2], found[3]) + found[5], text)
        told = LISTED.sub(lambda found, page=page: found[1] + listed[page] + found[3], told)
        if told != text:
            write_text(repository / page, told)


def write_tables() -> None:
    """Write table.md of each saved experiment anew, and the pages."""
    for saved in EXPERIMENTS:
        results = json.loads(saved.read_text(encoding="utf-8"))
        chosen = find_experiment(results["experiment"])
        write_text(saved.parent / "table.md", chosen.kind.markdown(chosen, results))
    write_pages()


def measure(names: list[str]) -> None:
    """Run the benches of these folders of results, or of all of them.

    :raises InputError: a folder that no bench makes.
    """
    for name in names or BENCHES:
        if name not in BENCHES:
            raise InputError(f"no bench makes the table {name!r}; known are: {', '.join(BENCHES)}")
    for name in names or BENCHES:
        written = [f"--out={RESULTS / name / 'bench.json'}", f"--markdown={RESULTS / name / 'bench.md'}"]
        subprocess.run([sys.executable, *shlex.split(BENCHES[name]), *written], cwd=REPOSITORY, check=True)


if __name__ == "__main__":
    if sys.argv[1:] != ["--pages"]:
        try:
            measure(sys.argv[1:])
        except InputError as error:
            sys.exit(f"error: {error}")
    write_tables()
