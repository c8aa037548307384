"""The README's examples run.

Convention: fenced `python` and `bash` blocks run in the order of the README, in one temporary folder and one Python
namespace. A block whose first line starts with `# long` is not run; its commands must still exist. Blocks of any other
language (`console`, `text`, ...) are pictures of output and are left alone.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gumption.scripts.cli import COMMANDS
from gumption.scripts.experiments import halma_report, link_prediction, report

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "scripts" / "experiments" / "results"
HALMA_TABLES = {"halma-table1", "halma-visual"}
FENCE = re.compile(r"^```(python|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def readme_blocks() -> list[tuple[int, str, str]]:
    """(line in the README of the block's first line, language, text)."""
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    found = FENCE.finditer(readme)
    return [(readme.count("\n", 0, match.start(2)) + 1, match[1], match[2]) for match in found]


def is_long(text: str) -> bool:
    return text.startswith("# long")


def test_the_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [block for block in readme_blocks() if not is_long(block[2])]
    assert {language for _, language, _ in blocks} == {"python", "bash"}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, language, text in blocks:
        if language == "python":
            # Blank lines in front make a traceback show the README's own line numbers.
            exec(compile("\n" * (line - 1) + text, "README.md", "exec"), namespace)
        else:
            command = ["bash", "-euo", "pipefail", "-c", text]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            assert done.returncode == 0, f"README.md:{line}\n{text}\n{done.stdout}\n{done.stderr}"


def test_the_commands_of_long_blocks_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for line, language, text in readme_blocks():
        if language != "bash" or not is_long(text):
            continue
        for name in re.findall(r"^gumption ([\w-]+)", text, re.MULTILINE):
            assert name in COMMANDS, f"README.md:{line}: gumption {name}"
        for name in re.findall(r"^make ([\w-]+)", text, re.MULTILINE):
            assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"README.md:{line}: make {name}"


def test_the_tables_are_those_of_the_saved_results() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- results: ([\w-]+) -->\n(.*?)<!-- end -->", readme, re.DOTALL)
    of_halma = {path.parent.name for path in RESULTS.glob("halma-*/results.json")}
    assert {name for name, _ in shown} == {"wordcraft-fig2", "wordcraft-fig3"} | (of_halma & HALMA_TABLES)
    for name, table in shown:
        saved = json.loads((RESULTS / name / "results.json").read_text(encoding="utf-8"))
        headline = halma_report.headline if name in HALMA_TABLES else report.headline
        assert table == headline(saved)


def test_the_speeds_are_those_of_the_saved_benches() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"<!-- bench: ([\w-]+) -->\n(.*?)<!-- end -->", readme, re.DOTALL))
    assert set(shown) == {path.parent.name for path in RESULTS.glob("*/bench.md")}
    for name, table in shown.items():
        assert table == (RESULTS / name / "bench.md").read_text(encoding="utf-8")


def test_the_figures_of_link_prediction_are_the_saved_ones() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    [(name, shown)] = re.findall(r"<!-- link prediction: ([\w-]+) -->\n(.*?)<!-- end -->", readme, re.DOTALL)
    saved = json.loads((RESULTS / name / "results.json").read_text(encoding="utf-8"))
    assert shown == link_prediction.headline(saved)
    [scale] = re.findall(r"<!-- kg-scale -->\n(.*?)<!-- end -->", readme, re.DOTALL)
    assert scale == (RESULTS / "kg-scale" / "table.md").read_text(encoding="utf-8")
