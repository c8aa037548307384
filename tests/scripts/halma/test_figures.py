"""`gumption halma hitmaps`, `grammar` and `figure`: the paper's figures from experience and from saved results."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from gumption.envs.halma import Mazes, MemoryWriter, sample_mazes
from gumption.scripts import cli
from gumption.scripts.papers.halma.figures import FIGURES, SAVED, draw_figure


@pytest.fixture
def gumption(monkeypatch, capsys, tmp_path):
    """Call the command line in a folder with a memory of a few moves, in memories/mine and of a run in runs/mine."""
    mazes = Mazes(sample_mazes(2, 0))
    rows = np.zeros((2, 11), dtype=np.int8)
    rows[0, 4] = 5
    for folder, place in (("memories/mine", "."), ("runs/mine", "memory")):
        mazes.save(tmp_path / folder / "mazes.jsonl")
        with MemoryWriter(tmp_path / folder / place, 2) as memory:
            zeros = np.zeros(3, dtype=np.int64)
            memory.append(rows[[0] * 3], np.array([[0, 2, 3]] * 3), rows[[1] * 3], zeros, zeros, zeros, zeros + 1)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gumption", "halma", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("hitmaps", "--run", "runs/mine"),
        ("hitmaps", "--memory", "memories/mine", "--knowledge-base", "literal", "--last-panel", "dropped"),
        ("grammar", "--memory", "memories/mine"),
        ("grammar", "--max-opt-len", "2"),
    ],
)
def test_figures_of_experience(gumption, arguments):
    assert gumption(*arguments, "--plot", "a.png") == (0, "saved: a.png\nsaved: a.svg\n", "")
    text = Path("a.svg").read_text(encoding="utf-8")
    literal = "literal" in arguments
    assert (f"{'literal' if literal else 'strict'} knowledge bases" in text) is (arguments[0] == "hitmaps")
    assert ("left: 1 of 9 digits understood" in text) is (arguments[:2] == ("grammar", "--memory"))


@pytest.mark.slow
def test_curves_are_those_of_the_saved_runs(gumption):
    code, out, err = gumption("figure", "S10", "--plot", "s10.svg")
    assert (code, err) == (0, "")
    assert out.startswith("results of halma-options: MLP, max_opt_len 1, ")
    text = Path("s10.svg").read_text(encoding="utf-8")
    assert "max_opt_len 3" in text
    results = json.loads((SAVED / "halma-options" / "results.json").read_text())
    last = {row["condition"]: np.mean([run[-1] for run in row["curve"]["valid_moves"]]) for row in results["rows"]}
    assert f"MLP {last['MLP, max_opt_len 3']:.0%}" in text
    gumption("figure", "S11", "--plot", "s11.svg")
    assert Path("s11.svg").read_bytes() != Path("s10.svg").read_bytes()


@pytest.mark.parametrize("name", ["S14", "S15"])
def test_ablations_are_those_of_the_saved_runs(tmp_path, name):
    (png, svg), results = draw_figure(name, tmp_path / "figure")
    assert png.is_file()
    text = svg.read_text(encoding="utf-8")
    assert f"Figure {name}: {results['title']}" in text
    assert all(agent in text for agent in ("MLP", "TRAN+LSTM"))


@pytest.mark.slow
def test_figure_s16_is_drawn_where_its_experiment_was_run(tmp_path):
    """Its results are not saved with this version."""
    results = json.loads((SAVED / "halma-options" / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps({**results, "experiment": "halma-visual-options"}))
    (png, _), _ = draw_figure("S16", tmp_path / "s16", tmp_path)
    assert png.is_file()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("figure", "S5", "--plot", "a.png"), f"'S5' is drawn from no results; figures that are: {', '.join(FIGURES)}"),
        (("figure", "S14", "--plot", "a.pdf"), "cannot write a.pdf: choose a name that ends in .png or .svg"),
        (("figure", "S14", "--plot", "a.png", "--results", "runs"), "there are no results of halma-volume"),
        (
            ("figure", "S14", "--plot", "a.png", "--results", str(SAVED / "halma-options")),
            "results of halma-options; figure S14 shows halma-volume",
        ),
        (("hitmaps", "--plot", "a.png"), "give either --run, a run of gumption, or --memory"),
        (("hitmaps", "--memory", "none", "--plot", "a.png"), "none: no memory of transitions there"),
        (("grammar", "--plot", "a.gif"), "cannot write a.gif: choose a name that ends in .png or .svg"),
        (
            ("grammar", "--memory", "memories/mine", "--max-opt-len", "3", "--plot", "a.png"),
            "--max-opt-len, --side and --primitives are for the world's grammar; an agent's experience has its own",
        ),
    ],
)
def test_bad_calls(gumption, arguments, told):
    code, out, err = gumption(*arguments)
    assert (code, out) == (2, "")
    assert told in err
