"""The demo runs for real, on a part of the shipped book and for a moment: every stage, then again from its runs."""

import json
import re

import pytest
from typer.testing import CliRunner

from gumption.data import InputError, progress
from gumption.scripts.papers.wordcraft import demo as command
from gumption.scripts.papers.wordcraft.demo import (
    AHEAD,
    GUIDED_STEPS,
    LAST,
    QUICK_STEPS,
    STEPS,
    product_ranks,
    settings,
)


@pytest.fixture
def run(monkeypatch, tmp_path, small_book):
    """Call the demo on the small book; returns what it printed."""
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr(progress, "SECONDS", 0)  # a bar that shows shows at once

    def call(*arguments: str) -> str:
        every = ["--recipe-book", str(small_book), "--workers", "1", "--quick", *arguments]
        monkeypatch.setattr("sys.argv", ["gumption", "demo", *every])
        result = CliRunner().invoke(command.app, every, catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    return call


def end_of(told: str) -> list[str]:
    """What the demo tells from its result on, without the progress that a busy machine shows."""
    lines = told[told.index("6. Result") : told.index("Done in")].splitlines()
    return [line for line in lines if not re.search(r"scores of pairs: \d+ of|compiling the planner", line)]


def place(told: str, words: str) -> int:
    assert told.count(words) == 1, words
    return told.index(words)


@pytest.mark.slow
def test_every_stage_then_again_from_its_runs(run, tmp_path):
    first = run("--seeds", "2", "--out", str(tmp_path / "out"))
    titles = (
        *("Recipes", "Knowledge graph", "Link prediction", "One guided episode"),
        *("Agents", "Result", "One episode", "Looking ahead"),
    )
    places = [place(first, f"{number}. {title} ") for number, title in enumerate(titles, start=1)]
    assert places == sorted(places)
    query, prediction, guided, agents, result = places[1:6]
    assert "The answer:" in first[query:prediction]
    assert re.search(r"MRR \d\.\d{3} on these, \d\.\d{3} on the ", first[prediction:guided])
    assert re.search(r"\w \+ .* makes .*: solved\.", first[guided:agents]), "a graph of all facts has each recipe"
    assert "28 runs, 0 complete: minutes" in first[agents:result]
    assert not re.search(r"\d+ of \d+, |\d/28", first[agents:result]), "one line of progress, no more"
    assert len(re.findall(r"MRR \d\.\d{3}", first[result:])) == 2
    cpu, own, others = map(int, re.search(
        r"Done in \d+ s, with (\d+) s of CPU time: (\d+) s of this process and (\d+) s of those that it started",
        first[result:],
    ).groups())  # fmt: skip
    assert own > 0
    assert own + others == pytest.approx(cpu, abs=1)
    assert re.search(r"(\w+) \+ (\w+) (makes|does not make)", first)
    assert f"Plot of success over steps: {tmp_path / 'out' / 'curves.png'}" in first
    assert (tmp_path / "out" / "curves.png").stat().st_size < 150_000

    results = json.loads((tmp_path / "out" / "results.json").read_text())
    rows = {row["condition"]: row["success"]["mean"] for row in results["rows"]}
    assert rows["oracle"] == 1.0
    assert rows["random policy"] < 0.2
    assert rows["full KG"] > rows["random policy"]
    assert len(results["rows"]) == 14
    assert str(tmp_path) not in json.dumps(results)
    assert rows[AHEAD] > rows[LAST]
    assert f"two mixes, the graph of the training facts solves {rows[AHEAD]:.0%} looking ahead" in first
    assert re.search(r"The derivation that the graph finds: .+ makes .+; then .+ makes .+\.", first)
    for label in ("training-facts KG", "full KG"):
        alone, whole = f"{rows[f'{label}, KG only']:.1%}", f"{rows[label]:.1%}"
        said = f"What learning adds to the {label}: its knowledge alone, with nothing learned, solves {alone}, the "
        assert f"{said}trained agent solves {whole}" in first
        svg = (tmp_path / "out" / "curves.svg").read_text(encoding="utf-8")
        assert f"{label} {rows[label]:.0%}" in svg, "the plot tells the figure of the table"

    again = run("--seeds", "2", "--out", str(tmp_path / "out"))
    assert "28 of 28 runs are complete" in again
    assert "remove that folder to start again" in again
    assert end_of(first) == end_of(again)


@pytest.mark.slow
def test_a_folder_of_other_runs_is_refused(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="not empty and holds no experiment"):
        run("--out", str(tmp_path / "mine"))


def test_quick_and_full_differ_in_steps_alone():
    quick, full = (settings("commonsense", one)[0] for one in (True, False))
    steps = {"no KG": STEPS, "training-facts KG": GUIDED_STEPS, "full KG": GUIDED_STEPS}
    for label, one in full.conditions.items():
        other = {**quick.conditions[label].settings}
        if (whole := steps.get(quick.conditions[label].of or label)) is not None:
            assert (other.pop("total_steps"), one.settings["total_steps"]) == (QUICK_STEPS, whole)
            assert one.settings["eval_interval"] == whole // 5
            assert other.pop("eval_interval") == QUICK_STEPS // 5
        assert other.items() <= one.settings.items()


def test_product_ranks_leave_other_products_out():
    import numpy as np
    import torch

    class Scores:
        """Entity i is the product of any pair with a score of i."""

        entities, relations = ("a", "b", "c", "d"), ("makes",)

        def action_scores(self, facts):
            assert facts.subject.shape == (4, 1, 1)
            assert (facts.subject > 0).all()
            assert (facts.given > 0).all()
            return torch.from_numpy(facts.object).float()

    recipes = np.array([[0, 1, 1], [0, 1, 3], [0, 0, 2]])
    assert product_ranks(Scores(), recipes).tolist() == [2, 1, 2]
    assert torch.is_grad_enabled()
