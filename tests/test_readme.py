"""The examples of the README and of the pages in the rooms run, and their tables are those of the saved results.

Convention: the fenced `python` and `bash` blocks of a page run in order, in one temporary folder and one Python
namespace. A block whose first line starts with `# long` is not run; its commands must still exist. A `console` block
shows lines of what the block before it prints, in their order; `…` stands for what differs from run to run. Blocks of
any other language (`text`, ...) are left alone.

`python -m tests.bench.tables --pages` writes the tables anew after a change of the results or of their form.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gumption.envs.worlds import known
from gumption.scripts.cli import COMMANDS
from gumption.scripts.experiment import find_experiment
from tests.bench.tables import BENCHES, EXPERIMENTS, LISTED, PAGES, TABLE, saved_table, worlds_table, write_pages

REPOSITORY = Path(__file__).resolve().parents[1]
ROOMS = ("data", "kg", "envs", "agents", "scripts")
RESULTS = REPOSITORY / "scripts" / "papers" / "results"
HALMA_TABLES = {"halma-graph", "halma-learners", "halma-quick", "halma-relearn", "halma-table1", "halma-visual"}
WIDTH = "100"  # of the terminal that the pages show
FENCE = re.compile(r"^```(python|bash|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Their blocks take more than about 20 seconds.
SLOW = {
    "README.md",
    "agents/README.md",
    "envs/gradual/README.md",
    "envs/halma/README.md",
    "envs/probsol/README.md",
    "envs/segar/README.md",
    "envs/wordcraft/README.md",
    "kg/README.md",
    "scripts/README.md",
    "scripts/people/study/README.md",
    "scripts/papers/tutorial/README.md",
}


def text_of(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def blocks_of(page: str) -> list[tuple[int, str, str]]:
    """(line in the page of the block's first line, language, text)."""
    text = text_of(page)
    return [(text.count("\n", 0, match.start(2)) + 1, match[1], match[2]) for match in FENCE.finditer(text)]


def is_long(text: str) -> bool:
    return text.startswith("# long")


def test_the_readme_is_short() -> None:
    assert len(text_of("README.md").splitlines()) <= 150


def test_each_room_and_each_world_has_a_page() -> None:
    worlds = {path.parent for path in (REPOSITORY / "envs").glob("*/env.py")}
    folders = {REPOSITORY / room for room in ROOMS} | worlds
    assert {str((folder / "README.md").relative_to(REPOSITORY)) for folder in folders} <= set(PAGES)


def unprinted(shown: str, printed: str) -> list[str]:
    """The lines of a console block that do not come, in their order, in what was printed, but for spaces."""
    lines = iter([" ".join(line.split()) for line in printed.splitlines()])
    missing = []
    for line in shown.splitlines():
        wanted = re.compile(re.escape(" ".join(line.split())).replace("…", ".*"))
        if not any(map(wanted.fullmatch, lines)):
            missing.append(line)
    return missing


def test_a_console_block_is_compared_line_by_line() -> None:
    printed = "┃ model   ┃ seconds ┃\n│ complex │ 1.8     │\n│ other │ 2 │\n"
    assert unprinted("┃ model ┃ seconds ┃\n│ other   │ … │\n", printed) == []
    assert unprinted("│ complex │ 1.9 │\n", printed) == ["│ complex │ 1.9 │"]
    assert unprinted("│ other │ 2 │\n│ complex │ 1.8 │\n", printed) == ["│ complex │ 1.8 │"], "their order counts"


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow) if page in SLOW else page for page in PAGES]
)
def test_the_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", WIDTH)
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = None  # by the block before
    for line, language, text in blocks_of(page):
        if is_long(text):
            printed = None
        elif language == "console":
            assert printed is None or unprinted(text, printed) == [], f"{page}:{line}\n{printed}"
        elif language == "python":
            # Blank lines in front make a traceback show the page's own line numbers.
            exec(compile("\n" * (line - 1) + text, page, "exec"), namespace)
        else:
            command = ["bash", "-euo", "pipefail", "-c", text]
            done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
            assert done.returncode == 0, f"{page}:{line}\n{text}\n{done.stdout}\n{done.stderr}"
            printed = done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_long_blocks_exist(page: str) -> None:
    makefile = text_of("Makefile")
    for line, language, text in blocks_of(page):
        if language != "bash" or not is_long(text):
            continue
        for name in re.findall(r"^gumption ([\w-]+)", text, re.MULTILINE):
            assert name in COMMANDS or known()[name].get("tools"), f"{page}:{line}: gumption {name}"
        for name in re.findall(r"^make ([\w-]+)", text, re.MULTILINE):
            assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"{page}:{line}: make {name}"


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_to_files_of_the_repository(page: str) -> None:
    for target in re.findall(
        r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    ):
        if not target.startswith(("http:", "https:", "#")):
            assert (REPOSITORY / page).parent.joinpath(target.split("#")[0]).exists(), f"{page}: {target}"


GRADUAL_TABLES = ("gradual-curriculum", "gradual-validation", "gradual-variations")
SEGAR_TABLES = ("segar-auxiliary", "segar-gap", "segar-gates", "segar-hidden-mass", "segar-information")
PROBSOL_TABLES = ("probsol-discovery", "probsol-families", "probsol-goals", "probsol-graph", "probsol-laws")


@pytest.mark.slow
@pytest.mark.parametrize("saved", EXPERIMENTS, ids=lambda path: path.parent.name)
def test_the_saved_tables_are_made_of_the_saved_results(saved: Path) -> None:
    results = json.loads(saved.read_text(encoding="utf-8"))
    chosen = find_experiment(results["experiment"])
    assert saved.parent.name.startswith(chosen.name)
    assert chosen.kind.markdown(chosen, results) == (saved.parent / "table.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_are_those_of_the_saved_results(page: str) -> None:
    for _, kind, name, table, _ in TABLE.findall(text_of(page)):
        assert table == saved_table(kind, name), f"{page}: {kind}: {name}"


def test_make_bench_writes_the_tables_into_the_pages(tmp_path: Path) -> None:
    for page in PAGES:
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text(re.sub(r"^\|.*\n", "", text_of(page), flags=re.MULTILINE), encoding="utf-8")
    write_pages(tmp_path)
    for page in PAGES:
        tables = [table for _, _, _, table, _ in TABLE.findall((tmp_path / page).read_text(encoding="utf-8"))]
        assert tables == [table for _, _, _, table, _ in TABLE.findall(text_of(page))]


def test_each_saved_bench_has_a_command_that_makes_it() -> None:
    assert sorted(BENCHES) == sorted(path.parent.name for path in RESULTS.glob("*/bench.md"))


def test_the_table_of_the_worlds_is_that_of_the_list() -> None:
    """`python -m tests.bench.tables --pages` writes it anew."""
    [(_, table, _)] = LISTED.findall(text_of("README.md"))
    assert table == worlds_table()


def test_no_page_has_a_table_that_is_not_compared() -> None:
    elsewhere = "end|worlds|items|figures|measure|falls short"  # the last two in the tests of HALMA
    for page in PAGES:
        markers = re.findall(rf"<!-- (?!{elsewhere})(.*?) -->", text_of(page))
        assert [f"{kind}: {name}" for _, kind, name, _, _ in TABLE.findall(text_of(page))] == markers, page


def test_every_headline_is_shown_once() -> None:
    shown = sorted((kind, name) for page in PAGES for _, kind, name, _, _ in TABLE.findall(text_of(page)))
    benches = [("bench", path.parent.name) for path in RESULTS.glob("*/bench.md")]
    headlines = [
        ("results", name)
        for name in (
            *(
                "little-alchemy",
                "wordcraft-ablation",
                "wordcraft-fig2",
                "wordcraft-fig2-2020",
                "wordcraft-fig3",
                "wordcraft-fig3-2020",
                "wordcraft-fig5",
                "wordcraft-fig6",
                "wordcraft-fig7",
                "wordcraft-depth",
                "wordcraft-priors",
                "wordcraft-sources",
                "wordcraft-living",
                "wordcraft-living-2020",
                "wordcraft-edges",
                "wordcraft-sources-2020",
            ),
            "graph-at-work",
            *(*HALMA_TABLES, *GRADUAL_TABLES, *SEGAR_TABLES, *PROBSOL_TABLES),
        )
    ]
    assert shown == sorted(
        [
            *benches,
            *(("age", name) for name in ("halma-options", "halma-volume")),
            ("brief", "graph-at-work"),
            ("times", "halma-table1"),
            *headlines,
            ("link prediction", "link-prediction"),
            ("link prediction", "wn18rr"),
            ("scale", "kg-scale"),
            ("table", "kitchen"),
        ]
    )
