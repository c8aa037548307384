"""Tables of HALMA's experiments, and what they say of their rows. Runs are stood in for (conftest.py)."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from gumption.agents.halma.evaluation import MEASURES, ROWS
from gumption.scripts.papers.halma.experiments import EXPERIMENTS, KIND, OTHER_MEASURE, falls_short, rows
from gumption.scripts.results import gather

SYMBOLIC = ["MLP", "LSTM", "TRAN", "TRAN+LSTM", "graph of its own moves"]


def test_a_narrow_terminal_shows_every_figure_whole(run, no_pictures, monkeypatch, tmp_path):
    """Fifteen agents do not stand side by side in 80 columns."""
    run("halma-options", "--seeds", "1", "--episodes", "200", "--out", "there")
    monkeypatch.setenv("COLUMNS", "80")
    output = run("--report", "there")
    assert "…" not in output
    told = output.split("rho_a: valid")[0]
    assert max(map(len, told.splitlines())) <= 80
    agents = Counter(name.split(",")[0] for name in EXPERIMENTS["halma-options"].conditions)
    assert {agent: len(re.findall(rf"(?<![\w+]){re.escape(agent)},", told)) for agent in agents} == agents
    columns, figures = agents["graph of its own moves"], (len(ROWS) - 1) * len(MEASURES)  # AnT has none
    assert told.count("95.0 ± 0.0") == columns * figures * 3, "two play beside each such agent"


@pytest.mark.slow
def test_an_ablation_is_drawn_over_what_it_varies(run, tmp_path):
    output = run("halma-options", "--seeds", "1", "--episodes", "200", "--out", "there")
    assert "paper" not in output.split("written")[0].split("rho_a: valid")[0]
    names = {path.name for path in (tmp_path / "there").iterdir() if path.is_file()}
    assert names == {"plan.json", "results.json", "table.md", "ablation.png", "ablation.svg"}
    text = (tmp_path / "there" / "ablation.svg").read_text(encoding="utf-8")
    for word in ("max_opt_len", "TRAN+LSTM", "diagnostic tests"):
        assert word in text


def test_the_short_table(run, no_pictures, tmp_path):
    run("halma-table1", "--seeds", "1", "--episodes", "200", "--out", "there")
    lines = KIND.headline(gather(tmp_path / "there", EXPERIMENTS["halma-table1"])).splitlines()
    assert lines[0] == "| rho_g / rho_p, % | MLP | LSTM | TRAN | TRAN+LSTM | graph of its own moves | random | oracle |"
    assert lines[2] == f"| learner |{' MPO<br>paper TD3 |' * 4} facts of its own moves | - | - |"
    assert lines[3].startswith("| T | 40.0 / 40.0<br>paper 99.2 / 71.7 | 50.0 / 50.0<br>paper 57.2 / 50.9 |")
    assert "| AfT-3 | " in lines[9]
    assert "70.0 / 70.0<br>paper - |" in lines[9]
    assert lines[11].startswith("| AnT | -<br>paper 35.0 / 12.2 | -<br>paper 48.3 / 21.8 |")
    assert lines[11].endswith("| -<br>paper 41.7 / 22.0 | - | - | - |")
    told = KIND.markdown(EXPERIMENTS["halma-table1"], gather(tmp_path / "there", EXPERIMENTS["halma-table1"]))
    assert "- AnT: nothing follows (MLP; LSTM; TRAN; TRAN+LSTM; graph of its own moves)" in told
    assert re.search(r"^\| MLP \| 0 \| .* at a time \| 10 s \|$", told, re.MULTILINE)
    assert "The best run" not in told, "there is but one"
    assert "NaN" not in json.dumps(gather(tmp_path / "there", EXPERIMENTS["halma-table1"]))


def test_learners_are_told_apart(run, no_pictures, tmp_path):
    """Both have the paper's figures beside theirs."""
    names = [part for agent in ("MLP", "TRAN") for by in ("TD3", "MPO") for part in ("--setting", f"{agent}, {by}")]
    output = run("halma-learners", "--seeds", "1", "--out", "there", *names)
    assert re.search(r"learner +┃? *│? +│? *TD3 +│ TD3 +│ MPO +│ TD3 +│ TD3 +│ MPO", output)
    results = gather(tmp_path / "there", EXPERIMENTS["halma-learners"])
    lines = KIND.headline(results).splitlines()
    assert lines[0] == "| rho_g / rho_p, % | MLP, TD3 | MLP, MPO | TRAN, TD3 | TRAN, MPO |"
    assert lines[2] == "| learner | TD3<br>paper TD3 | MPO<br>paper TD3 | TD3<br>paper TD3 | MPO<br>paper TD3 |"
    assert lines[3].startswith(
        "| T | 40.0 / 40.0<br>paper 99.2 / 71.7 | 40.0 / 40.0<br>paper 99.2 / 71.7 | 60.0 / 60.0"
    )
    whole = KIND.markdown(EXPERIMENTS["halma-learners"], results)
    heads = ["MLP, TD3", "MLP, options drawn, TD3", "MLP, MPO", "TRAN, TD3", "TRAN, options drawn, TD3", "TRAN, MPO"]
    assert f"| test | | mazes | {' | '.join(heads)} |" in whole
    assert "Agents by TD3 take the option with the largest logits" in whole
    assert "options drawn" in output


def test_a_return_is_told_where_runs_have_one():
    test = {"mazes": 4, "reason": None, "return": {"mean": 61.25, "std": 2.0, "low": 58.0, "high": 64.0}}
    test |= {measure: {"mean": 0.5, "std": None, "low": None, "high": None} for measure in MEASURES}
    column = {"agent": "MLP", "config": {"learner": "td3"}, "runs": 2, "tests": {name: dict(test) for name in ROWS}}
    before = {**column, "config": {}, "tests": {name: dict(test) for name in ROWS}}
    for one in before["tests"].values():
        del one["return"]
    told = rows({"MLP, new": column, "MLP, old": before}, None)
    assert told[0] == ("learner", "", "", "TD3", "MPO")
    assert told[4] == ("", "return", "", "61.2 ± 2.0 (58.0 to 64.0)", "-")
    assert all(row[1] != "return" for row in rows({"MLP": before}, None))


def test_who_plays_beside_an_agent_has_a_column_after_it(run, no_pictures, tmp_path):
    run("halma-table1", "--seeds", "1", "--episodes", "200", "--out", "there", "--setting", "graph of its own moves")
    output = run("halma-table1", "--seeds", "1", "--episodes", "200", "--out", "there", "--setting", "MLP")
    results = gather(tmp_path / "there", EXPERIMENTS["halma-table1"])
    assert [column["agent"] for column in results["rows"][1]["beside"]] == ["random", "oracle"]
    assert KIND.headline(results).startswith("| rho_g / rho_p, % | MLP | graph of its own moves | random | oracle |")
    assert "random" in output
    told = KIND.markdown(EXPERIMENTS["halma-table1"], results)
    assert "its MLP has 54.9 of it on RT, where rho_g is 51.0" in told
    short = told.split("What falls short of the paper's rho_g:\n\n")[1].split("\n\n")[0].splitlines()
    assert short[0] == "- MLP, T: rho_g 40.0 against 99.2 (rho_p 40.0 against 71.7)"
    assert [line.split(":")[0] for line in short] == ["- MLP, T", "- MLP, RT", "- MLP, ST-1", "- MLP, AfT-1"]


def test_rows_that_were_saved_earlier_say_so(run, no_pictures, tmp_path):
    """Tests of earlier rows may ask for what was seen; a row of an agent that is gone stays and names its commit."""
    common = ("halma-table1", "--seeds", "1", "--episodes", "200", "--save", "kept")
    run(*common, "--out", "there", "--setting", "MLP", "--setting", "graph of its own moves")
    assert "Made with" not in (tmp_path / "kept" / "table.md").read_text()
    saved = json.loads((tmp_path / "kept" / "results.json").read_text())
    del saved["rows"][0]["beside"]
    saved["rows"][1] |= {"condition": "an agent that is gone", "commit": "dab31ddd"}
    (tmp_path / "kept" / "results.json").write_text(json.dumps(saved))
    run(*common, "--out", "other", "--setting", "LSTM")
    results = json.loads((tmp_path / "kept" / "results.json").read_text())
    assert [row["condition"] for row in results["rows"]] == ["MLP", "LSTM", "an agent that is gone"]
    told = (tmp_path / "kept" / "table.md").read_text()
    [mlp] = [line for line in told.splitlines() if line.startswith("Made with")]
    assert mlp.startswith(
        "Made with tests whose AfT and AnT could ask for pairs that panels had shown at invalid moves"
    )
    assert mlp.endswith(": MLP.")
    gone = "Kept rows, which commit dab31ddd plays and later versions cannot: an agent that is gone."
    assert gone in told
    assert KIND.page(results, "kept").rstrip().endswith(gone)


def test_ablations_tell_those_beside_an_agent_apart(run, no_pictures, tmp_path):
    run("halma-options", "--seeds", "1", "--episodes", "200", "--out", "there")
    told = (tmp_path / "there" / "table.md").read_text()
    assert "| graph of its own moves, max_opt_len 3 | random, max_opt_len 3 | oracle, max_opt_len 3 |" in told


def test_the_page_tells_what_the_saved_results_tell():
    root = Path(__file__).resolve().parents[3]
    page = (root / "envs" / "halma" / "README.md").read_text(encoding="utf-8")
    [measure] = re.findall(r"<!-- measure -->\n(.*?)<!-- end -->", page, re.DOTALL)
    assert measure == OTHER_MEASURE + "\n"
    [(name, shown)] = re.findall(r"<!-- falls short: ([\w-]+) -->\n(.*?)<!-- end -->", page, re.DOTALL)
    saved = json.loads((root / "scripts" / "papers" / "results" / name / "results.json").read_text(encoding="utf-8"))
    columns = {row["condition"]: row["column"] for row in saved["rows"]}
    assert shown.splitlines() == [f"- {one}" for one in falls_short(columns)]
    assert any(line.startswith("- LSTM, AfT-3") for line in shown.splitlines())
