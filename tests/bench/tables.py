"""`make bench`: measure everything that has a table on a page, save it, and write the tables into the pages.

python -m tests.bench.tables            measures everything (hours), saves it under scripts/results, writes the pages
python -m tests.bench.tables bench-kg   measures one of them
python -m tests.bench.tables --pages    measures nothing, and writes all tables from what is saved
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from gumption.data import InputError
from gumption.data.writing import write_text
from gumption.scripts.experiment import find_experiment, known_experiments

from . import comparison  # noqa: F401  one of the experiments that have a table

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("data", "kg", "envs", "agents", "scripts")
RESULTS = REPOSITORY / "scripts" / "results"
PAGES = [
    "README.md",
    *sorted(str(page.relative_to(REPOSITORY)) for room in ROOMS for page in (REPOSITORY / room).rglob("README.md")),
]
# The kind of a table, the folder of its results, and the table, between its markers on a page.
KINDS = "results|brief|age|times|bench|link prediction|scale|table"
TABLE = re.compile(rf"(<!-- ({KINDS}): ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
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


def write_pages(repository: Path = REPOSITORY) -> None:
    """Put the saved table between each pair of markers."""
    for page in PAGES:
        text = (repository / page).read_text(encoding="utf-8")
        told = TABLE.sub(lambda found: found[1] + saved_table(found[2], found[3]) + found[5], text)
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
