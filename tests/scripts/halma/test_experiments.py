"""HALMA's experiments: their data, and running, resuming and reporting them. Runs are stood in for here, except in the
last test, which trains."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gumption.agents.halma import training
from gumption.agents.halma.acting import OracleActor
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import EVALUATION, ROWS, label
from gumption.agents.halma.runs import train_halma
from gumption.agents.learners.parameters import TD3Parameters
from gumption.data import InputError
from gumption.envs.halma import Memory
from gumption.kg import KnowledgeGraph
from gumption.scripts.experiment import chosen_conditions, find_experiment, make_jobs
from gumption.scripts.papers.halma import experiments as of_halma
from gumption.scripts.papers.halma import graph_runs
from gumption.scripts.papers.halma.experiments import EXPERIMENTS, KIND, build_graph, inferred_pairs
from gumption.scripts.papers.halma.paper import TABLE_1
from gumption.scripts.papers.wordcraft.experiments import EXPERIMENTS as OF_WORDCRAFT
from gumption.scripts.results import Job, gather, slug

from .conftest import stand_in

SYMBOLIC = ["MLP", "LSTM", "TRAN", "TRAN+LSTM", "graph of its own moves"]


# ---- the data


@pytest.mark.parametrize(
    "experiment", [one for one in EXPERIMENTS.values() if one.kind is KIND], ids=lambda one: one.name
)
def test_experiments_are_well_formed(experiment):
    assert len({slug(name) for name in experiment.conditions}) == len(experiment.conditions)
    for name, condition in experiment.conditions.items():
        settings = {**experiment.base, **condition.settings}
        if settings["agent"] == "space":
            settings["space_model"] = "somewhere"
        config = HALMAConfig(**settings)
        assert name.split(",")[0] == label(config)
        if experiment.varied:
            assert experiment.varied[0] in condition.settings
    if experiment.name != "halma-quick":
        assert (experiment.seeds, experiment.base["episodes"]) == (5, 2000)


def test_the_paper_s_experiments_are_there():
    names = ("quick", "table1", "visual", "volume", "options", "visual-options", "learners")
    assert {name for name, one in EXPERIMENTS.items() if one.kind is KIND} == {f"halma-{name}" for name in names}
    learners = EXPERIMENTS["halma-learners"]
    assert learners.base["steps"] == 200_000, "the same for both learners"
    unscaled, of_batch = "MLP, TD3, rewards unscaled", "MLP, TD3, 32 environments, rewards unscaled"
    ways = "TD3", "TD3, 32 environments", "MPO"
    assert set(learners.conditions) == {
        *(f"{agent}, {way}" for agent in SYMBOLIC[:3] for way in ways),
        unscaled,
        of_batch,
        "MLP, TD3, 32 environments, 2,000 episodes",
    }
    assert [name for name, condition in learners.conditions.items() if condition.on_demand] == [unscaled]
    parameters = {
        name: HALMAConfig(**{**learners.base, **condition.settings}).parameters
        for name, condition in learners.conditions.items()
    }
    for agent in SYMBOLIC[:3]:
        assert parameters[f"{agent}, TD3"] == TD3Parameters(), "Table S1"
        assert parameters[f"{agent}, TD3, 32 environments"].num_envs == parameters[f"{agent}, MPO"].num_envs == 32
    assert parameters[unscaled] == TD3Parameters(reward_scale=1.0)
    assert parameters[of_batch] == replace(parameters["MLP, TD3, 32 environments"], reward_scale=1.0)
    assert {one.reward_scale for name, one in parameters.items() if name not in (unscaled, of_batch)} == {0.05}
    assert not set(EXPERIMENTS) & set(OF_WORDCRAFT)
    assert list(EXPERIMENTS["halma-table1"].conditions) == SYMBOLIC
    assert list(EXPERIMENTS["halma-visual"].conditions) == [
        "CNN+MLP",
        "CNN+MLP, fixed panels",
        "CNN+TRAN",
        "SPACE",
        "CNN+TRAN, fixed panels",
        "SPACE, fixed panels",
    ]
    varied = {
        name: sorted(
            {condition.settings[EXPERIMENTS[name].varied[0]] for condition in EXPERIMENTS[name].conditions.values()}
        )
        for name in ("halma-volume", "halma-options", "halma-visual-options")
    }
    lengths = [1, 3, 5]
    assert varied == {
        "halma-volume": [100, 300, 500, 1000], "halma-options": lengths, "halma-visual-options": lengths,
    }  # fmt: skip


def test_table_1_is_the_paper_s():
    """The figures that the specification quotes, and some of the paper's deviations."""
    assert list(TABLE_1) == ["MLP", "LSTM", "TRAN", "TRAN+LSTM", "CNN+MLP", "CNN+TRAN", "SPACE"]
    quoted = {
        "MLP": "99.2/71.7 51.0/54.9 55.0/19.9 25.0/7.4 41.7/15.1 31.7/11.7 6.7/1.5 0/0 35.0/12.2",
        "LSTM": "57.2/50.9 57.8/45.2 50.0/24.0 63.3/26.3 60.0/28.9 45.0/17.2 100/51.9 86.7/29.9 48.3/21.8",
        "TRAN": "93.9/67.9 82.8/58.1 41.7/16.3 43.3/12.2 36.7/14.0 43.3/17.9 25.0/5.8 50.0/10.0 41.7/14.5",
        "TRAN+LSTM": "72.3/64.0 54.0/40.1 66.7/35.7 78.3/34.8 58.3/27.1 71.7/35.4 - - 41.7/22.0",
    }
    for agent, figures in quoted.items():
        for test, told in zip(ROWS[:-1], figures.split(), strict=True):
            ours = [TABLE_1[agent][test][measure] for measure in ("rho_g", "rho_p")]
            if told == "-":
                assert ours == [None, None]
            else:
                assert [one[0] for one in ours] == pytest.approx([float(part) for part in told.split("/")], abs=0.0501)
    assert TABLE_1["MLP"]["T"]["rho_a"] == (94.78, 4.11)
    assert TABLE_1["SPACE"]["RT"] == {"rho_a": (41.62, 1.20), "rho_g": (3.67, 0.47), "rho_p": (2.66, 0.19)}
    assert TABLE_1["CNN+TRAN"]["AnT"]["rho_g"] is None
    assert TABLE_1["CNN+MLP"]["AnT"]["rho_g"] == (0.0, 0.0)


def test_agents_on_space_share_its_model(monkeypatch, tmp_path):
    monkeypatch.setattr(of_halma, "_pretrain", lambda job: None)
    asked_for = chosen_conditions(EXPERIMENTS["halma-visual"], [])
    jobs = KIND.prepare(make_jobs(asked_for, {"episodes": 7}, [0, 1], tmp_path), tmp_path)
    models = [job.settings.get("space_model") for job in jobs]
    assert models == [None] * 6 + [str(tmp_path / "space")] * 2
    assert {job.last for job in jobs} == {EVALUATION}
    assert jobs[-1].settings["max_opt_len"] == 1
    assert jobs[-1].directory == tmp_path / "space" / "seed-1"


# ---- running and reporting


@pytest.mark.slow
def test_command_runs_reports_and_resumes(run, tmp_path):
    output = run("halma-table1", "--seeds", "2", "--episodes", "200", "--out", "there", "--save", "kept")
    assert "10 runs, 0 complete" in output
    assert re.search(r"10/10 +graph of its own moves, seed 1: goals reached in T 95%, RT 95%", output)
    assert "paper 94.8 ± 4.1" in output
    assert "AnT: nothing follows (MLP; LSTM; TRAN; TRAN+LSTM; graph of its own moves)" in output
    results = json.loads((tmp_path / "there" / "results.json").read_text())
    rows = {row["condition"]: row for row in results["rows"]}
    assert list(rows) == SYMBOLIC
    assert rows["MLP"]["column"]["tests"]["T"]["rho_g"]["per_run"] == [0.4, 0.41]
    assert rows["MLP"]["column"]["tests"]["T"]["rho_g"]["mean"] == pytest.approx(0.405)
    assert rows["MLP"]["wall_s"] == 10.5
    assert rows["MLP"]["curve"]["episodes"] == list(range(40, 201, 20)), "those that both runs tell of"
    assert [len(values) for values in rows["MLP"]["curve"]["valid_moves"]] == [9, 9]
    assert rows["MLP"]["curve"]["valid_moves"][0][-1] == pytest.approx(0.4)
    assert results["paper"]["LSTM"]["AfT-3"]["rho_g"] == [100.0, 0.0]
    assert results["command"].startswith("gumption experiment halma-table1 --seeds 2")
    assert set(results["versions"]) >= {"gumption", "torch", "numpy", "gymnasium"}
    kept = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    assert set(kept) == {"results.json", "table.md", "table.png", "table.svg", "curves.png", "curves.svg"}
    for name, content in kept.items():
        assert str(tmp_path).encode() not in content
        assert content == (tmp_path / "there" / name).read_bytes()
    told = kept["table.md"].decode()
    assert "| T | rho_a | 8 | 40.5 ± 0.5 (40.0 to 41.0); paper 94.8 ± 4.1 |" in told
    best = told.split("best in rho_g of RT (seeds: MLP 1, LSTM 1, TRAN 1, TRAN+LSTM 1, graph of its own moves 0):")[1]
    assert "| T | 41.0 / 41.0<br>paper 99.2 / 71.7 | 51.0 / 51.0<br>paper 57.2 / 50.9 |" in best

    more = run("halma-table1", "--seeds", "3", "--episodes", "200", "--out", "there")
    assert "15 runs, 10 complete" in more
    again = json.loads((tmp_path / "there" / "results.json").read_text())
    assert again["rows"][0]["seeds"] == [0, 1, 2]
    before = (tmp_path / "there" / "table.png").read_bytes()
    (tmp_path / "there" / "table.png").unlink()
    run("--report", "there")
    assert (tmp_path / "there" / "table.png").read_bytes() == before


def test_some_agents_first_and_others_later(run, no_pictures, tmp_path):
    some = ("halma-table1", "--seeds", "1", "--episodes", "200", "--out", "there")
    assert "1 runs, 0 complete" in run(*some, "--setting", "LSTM")
    assert [row["condition"] for row in gather(tmp_path / "there", EXPERIMENTS["halma-table1"])["rows"]] == ["LSTM"]
    assert "2 runs, 1 complete" in run(*some, "--setting", "graph of its own moves", "--setting", "LSTM")
    assert [row["condition"] for row in gather(tmp_path / "there", EXPERIMENTS["halma-table1"])["rows"]] == [
        "LSTM",
        "graph of its own moves",
    ]
    with pytest.raises(
        InputError, match=r"halma-table1 has no 'GRU'; it has MLP, LSTM, TRAN, TRAN\+LSTM, graph of its own moves"
    ):
        run(*some, "--setting", "GRU")


def test_each_agent_has_the_newest_command_that_runs_it(run, no_pictures, tmp_path):
    """Also where other agents are run later in the same folder, and where all is reported again."""
    common = ("halma-table1", "--seeds", "1", "--episodes", "200", "--out", "there")
    run(*common, "--setting", "MLP", "--setting", "LSTM")
    run(*common, "--setting", "TRAN", "--setting", "LSTM")
    run("--report", "there")
    results = json.loads((tmp_path / "there" / "results.json").read_text())
    assert results["command"].endswith("--setting TRAN --setting LSTM")
    made = {row["condition"]: row.get("made") for row in results["rows"]}
    assert made["TRAN"] is made["LSTM"] is None
    assert made["MLP"] == {
        **{key: results[key] for key in ("versions", "hardware", "workers", "formats")},
        "command": results["command"].replace("TRAN", "MLP"),
    }
    told = (tmp_path / "there" / "table.md").read_text()
    assert told.index("LSTM; TRAN:\n\nCommand: ") < told.index("MLP:\n\nCommand: ")


def test_parts_of_an_experiment_are_saved_together(run, no_pictures, tmp_path):
    """Runs of two folders, as of two machines: what was saved stays, what is run again replaces it."""
    kept = tmp_path / "kept"
    common = ("halma-table1", "--seeds", "1", "--episodes", "200", "--save", "kept")
    run(*common, "--out", "here", "--setting", "TRAN", "--setting", "MLP")
    run(*common, "--out", "there", "--setting", "LSTM")
    plan = json.loads((tmp_path / "there" / "plan.json").read_text())
    two = {"workers": 2, "made": {"LSTM": {**plan["made"]["LSTM"], "workers": 2}}}  # two would have to import this
    (tmp_path / "there" / "plan.json").write_text(json.dumps({**plan, **two}))
    run("--report", "there", "--save", "kept")
    assert [row["condition"] for row in gather(tmp_path / "there", EXPERIMENTS["halma-table1"])["rows"]] == ["LSTM"]
    results = json.loads((kept / "results.json").read_text())
    rows = {row["condition"]: row for row in results["rows"]}
    assert list(rows) == ["MLP", "LSTM", "TRAN"]
    assert list(results["paper"]) == ["MLP", "LSTM", "TRAN"]
    assert "made" not in rows["LSTM"]
    assert rows["MLP"]["made"] == rows["TRAN"]["made"]
    assert rows["MLP"]["made"]["command"].endswith("--out here --setting TRAN --setting MLP")
    told = (kept / "table.md").read_text()
    newest, before = told.split("LSTM:\n\nCommand: ")[1].split("MLP; TRAN:\n\nCommand: ")
    assert "--out there --setting LSTM" in newest
    assert "--out here --setting TRAN --setting MLP" in before
    assert "2 run(s) at a time" in newest
    assert "1 run(s) at a time" in before
    run(*common, "--out", "third", "--setting", "MLP")
    again = {row["condition"]: row for row in json.loads((kept / "results.json").read_text())["rows"]}
    assert list(again) == ["MLP", "LSTM", "TRAN"]
    assert {name for name in again if "made" not in again[name]} == {"MLP"}
    assert again["TRAN"] == rows["TRAN"], "who made it stays as it was"
    assert again["LSTM"]["made"]["command"].endswith("--out there --setting LSTM")


def test_results_that_do_not_go_together_are_left_alone(run, no_pictures, tmp_path):
    run("halma-table1", "--seeds", "1", "--episodes", "200", "--out", "here", "--save", "kept", "--setting", "MLP")
    before = (tmp_path / "kept" / "results.json").read_bytes()
    with pytest.raises(InputError, match=r"kept/results\.json: no results of halma-options; save into another folder"):
        run("halma-options", "--seeds", "1", "--out", "other", "--save", "kept")
    other = ("halma-table1", "--seeds", "1", "--episodes", "300", "--out", "there", "--setting", "LSTM")
    with pytest.raises(InputError, match=r"kept/results\.json: MLP was run with other settings; save into another"):
        run(*other, "--save", "kept")
    assert (tmp_path / "kept" / "results.json").read_bytes() == before


def test_the_model_of_space_is_made_once_probed_and_reported(run, no_pictures, monkeypatch, tmp_path):
    trained = []

    def pretrained(config, run_dir, *, resume):
        trained.append((config.num_mazes, config.images, config.preset, config.steps, resume))
        run_dir.mkdir()

    matrix = {"classes": ["a", "b"], "confusion": [[0.9, 0.1], [None, None]], "confusion_std": [[0.0, 0.0]] * 2}
    read = {**matrix, "accuracy": 0.625, "accuracy_std": 0.01, "samples": 9}
    probed = dict.fromkeys(("colour", "digit", "colour_pixels", "digit_pixels"), read)
    monkeypatch.setattr("gumption.agents.halma.space_training.pretrain_space", pretrained)
    monkeypatch.setattr(
        "gumption.scripts.papers.halma.probe.probe_model",
        lambda folder: {**probed, "digits": 1200, "digits_with_slot": 1100},
    )
    arguments = ("halma-visual", "--seeds", "1", "--setting", "SPACE", "--setting", "CNN+MLP", "--out", "there")
    run(*arguments)
    assert trained == [(100, "train", "fast", of_halma.SPACE_STEPS, False)]
    results = json.loads((tmp_path / "there" / "results.json").read_text())
    assert results["probe"]["digits_with_slot"] == 1100
    told = (tmp_path / "there" / "table.md").read_text()
    assert "SPACE's slots (1,100 of 1,200 digits have one)" in told
    assert "| colour, % | 62.5 ± 1.0 | 62.5 ± 1.0 | 59.67 ± 0.58 |" in told
    assert (tmp_path / "there" / "probe.png").stat().st_size > 1_000
    run(*arguments)
    assert len(trained) == 1, "what is complete needs no model"


def test_what_does_not_stand_beside_each_other_is_refused(run, no_pictures, tmp_path):
    run("halma-table1", "--seeds", "1", "--episodes", "200", "--out", "there")
    with pytest.raises(InputError, match=r"episodes \(200 there, 300 asked for\)"):
        run("halma-table1", "--seeds", "1", "--episodes", "300", "--out", "there")
    with pytest.raises(InputError, match=r"experiment \(halma-table1 there, halma-options asked for\)"):
        run("halma-options", "--seeds", "1", "--episodes", "200", "--out", "there")
    other = tmp_path / "there" / "mlp" / "seed-3"
    other.parent.joinpath("seed-0").rename(other)
    stand_in(Job("MLP", 0, "train", {"agent": "mlp", "episodes": 9}, other.parent / "seed-0", last=EVALUATION), False)
    with pytest.raises(InputError, match="its runs have different settings"):
        gather(tmp_path / "there", EXPERIMENTS["halma-table1"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("halma-table1", "--preset", "fast"),
            "--preset is for WordCraft's experiments; halma-table1 has no use for it",
        ),
        (("halma-table1", "--total-steps", "9"), "--total-steps is for WordCraft's experiments"),
        (("halma-quick", "--recipe-book", "x.tsv"), "--recipe-book is for WordCraft's experiment"),
        (("halma-quick", "--facts", "x"), "--facts is for link prediction; halma-quick has no use for it"),
        (("wordcraft-fig2", "--episodes", "3"), "--episodes is for HALMA's experiments; wordcraft-fig2 has no use"),
        (("wordcraft-fig2", "--setting", "MLP"), "wordcraft-fig2 has no 'MLP'; it has random features, 1 distractor"),
        (("wn18rr", "--episodes", "3"), "--episodes is for HALMA's experiments; wn18rr has no use for it"),
        (("kg-scale", "--facts", "x"), "--facts is for link prediction; kg-scale has no use for it"),
    ],
)
def test_options_of_other_experiments_are_refused(run, arguments, message):
    with pytest.raises(InputError, match=message):
        run(*arguments)


def test_nothing_to_report_is_an_error(run, no_pictures, tmp_path):
    run("halma-table1", "--seeds", "1", "--episodes", "200", "--out", "there", "--setting", "MLP")
    (tmp_path / "there" / "mlp" / "seed-0" / EVALUATION).unlink()
    with pytest.raises(InputError, match="no run is complete yet"):
        gather(tmp_path / "there", EXPERIMENTS["halma-table1"])
    with pytest.raises(InputError, match=r"no plan\.json"):
        gather(tmp_path, EXPERIMENTS["halma-table1"])
    (tmp_path / "me.json").write_text("{}")
    with pytest.raises(InputError, match="--human is for WordCraft's experiments; there has no use for it"):
        run("--report", "there", "--human", "me.json")
    assert all(name in run("--list") for name in EXPERIMENTS)


def test_runs_without_metrics_are_reported_without_curves(run, no_pictures, tmp_path):
    run("halma-table1", "--seeds", "1", "--episodes", "200", "--out", "there", "--setting", "MLP")
    metrics: Path = tmp_path / "there" / "mlp" / "seed-0" / "metrics.jsonl"
    metrics.unlink()
    assert gather(tmp_path / "there", EXPERIMENTS["halma-table1"])["rows"][0]["curve"] is None
    run("--report", "there")


def test_players_stand_beside_the_strategy_that_is_gone(experiment, no_pictures, monkeypatch, tmp_path):
    """In the same new mazes; rows of the strategy are read from its file, with the commit that played them."""
    monkeypatch.setattr(graph_runs, "MAZES", 3)
    settings = ("--setting", "random", "--setting", "oracle")
    told = experiment("halma-graph", "--seeds", "1", *settings, "--out", "there", "--save", "kept")
    assert "2/2  oracle, seed 0: rho_a 100.0, rho_g 100.0, rho_p 100.0, first_trial 100.0" in told
    results = json.loads((tmp_path / "kept" / "results.json").read_text())
    rows = {row["condition"]: row for row in results["rows"]}
    assert list(rows) == ["random", "oracle", "written strategy", "written strategy, names shuffled"]
    assert rows["random"]["rho_g"]["iqm"] < 20
    assert rows["written strategy"]["rho_g"]["per_seed"] == [98.0, 99.8, 100.0, 98.0, 97.8]
    assert rows["written strategy, names shuffled"]["rho_g"]["iqm"] == 0
    page = find_experiment("halma-graph").kind.page(results, "kept")
    assert "| oracle | - | 1 | 100.0 | 100.0 | 100.0 | 100.0 |" in page
    assert "Kept rows, which commit dab31ddd plays and later versions cannot: written strategy; written" in page


def test_false_facts_exchange_the_effects_of_an_action_wherever_its_primitives_stand():
    rows = np.tile(np.arange(11) % 4, (3, 1))
    memory = Memory.of(2, rows, [[1, 2, 0], [1, 0, 2], [3, 1, 0]], rows)
    false = graph_runs.exchanged(memory, 0)
    assert np.array_equal(false.before, memory.before)
    assert np.array_equal(false.after[0], false.after[1])
    assert not np.array_equal(false.after[0], memory.after[0])
    assert not np.array_equal(false.after[0], false.after[2])


def test_find_experiment():
    assert find_experiment("halma-table1") is EXPERIMENTS["halma-table1"]
    assert list(chosen_conditions(EXPERIMENTS["halma-table1"], ["TRAN"]).conditions) == ["TRAN"]


def test_the_quick_experiment_asks_the_graph(run, no_pictures, monkeypatch, tmp_path):
    asked = []

    def graph_of(runs):
        asked.append(dict(runs))
        graph = KnowledgeGraph()
        graph.add([("red 5", "greaterThan", "red 3")], graph="halma/mlp")
        return graph

    monkeypatch.setattr(of_halma, "build_graph", graph_of)
    output = run("halma-quick", "--out", "there")
    folders = {"MLP": Path("there/mlp/seed-0"), "graph of its own moves": Path("there/graph-of-its-own-moves/seed-0")}
    assert asked == [folders]
    assert "What the agents have understood is in there/kg.nq, 1 facts." in output
    assert "Pairs that graph of its own moves knows through affordance only: 0" in output
    assert len(KnowledgeGraph.load(tmp_path / "there" / "kg.nq")) == 1


@pytest.mark.slow
def test_a_run_for_real(tmp_path, monkeypatch):
    """Nothing stood in for: a short training, its tests, and what it understood as a graph."""
    monkeypatch.setattr(of_halma, "MAZES", 2)
    monkeypatch.setattr(of_halma, "SEEDS", (0,))
    monkeypatch.setattr("gumption.agents.halma.evaluation.comparisons", lambda run: {"oracle": OracleActor})
    small = {"num_envs": 4, "batch_size": 32, "hidden_size": 16, "policy_delay": 20, "candidates": 2}
    settings = {"guided": True, "guide_interval": 4, "episodes": 4, "num_mazes": 3, "device": "cpu"}
    settings |= {"overrides": tuple((small | {"random_candidates": 1}).items())}
    job = Job("MLP + own graph", 0, "train", settings, tmp_path / "seed-0", last=EVALUATION)
    KIND.run(job, False)
    assert job.complete
    first, trained = (job.directory / EVALUATION).read_bytes(), (job.directory / "final.json").read_bytes()
    found = json.loads(first)
    assert (found["agent"], found["seeds"]) == ("MLP + own graph", [0])
    assert (found["tests"]["T"]["mazes"], found["tests"]["RT"]["mazes"]) == (3, 2)
    assert found["beside"]["oracle"]["RT"]["rho_p"]["mean"] == 1
    (job.directory / EVALUATION).unlink()
    KIND.run(job, False)
    assert (job.directory / EVALUATION).read_bytes() == first
    assert (job.directory / "final.json").read_bytes() == trained, "what is trained is not trained again"

    graph = build_graph({"MLP + own graph": job.directory})
    assert "halma/mlp-own-graph" in graph.graphs()
    pairs = inferred_pairs(graph, "MLP + own graph")
    assert all(9 >= greater > lesser >= 1 for greater, lesser in pairs)
    assert pairs == sorted(set(pairs))


@pytest.mark.slow
def test_a_life_is_tested_by_what_its_own_memory_left_open(monkeypatch, tmp_path):
    """The tests are made once for a run; each of its rows plays one of them with the facts of that memory."""
    monkeypatch.setattr(training, "FIRST_FACTS", 1_200)
    monkeypatch.setattr(graph_runs, "MAZES", 2)
    config = HALMAConfig(agent="graph", device="cpu", episodes=8, num_mazes=3, overrides=(("num_envs", 6),))
    train_halma(config, tmp_path / "life", progress=False)
    settings = {"moves": None, "agent": "graph", "device": "cpu"}
    played = {}
    for test in ("ST-1", "ST-2"):
        job = Job(test, 0, test, settings, tmp_path / test, tmp_path / "life")
        played[test] = find_experiment("halma-graph").kind.measure(job, False)
        assert played[test]["rho_a"] > 50
    assert played["ST-1"] != played["ST-2"]
    made = json.loads((tmp_path / "life" / "splits" / "manifest.json").read_text())
    assert made["knowledge"]["memory"] == Memory.load(tmp_path / "life" / "memory").fingerprint


@pytest.mark.slow
def test_facts_of_the_last_moves_follow_laws_that_changed_and_facts_of_all_do_not(
    experiment, no_pictures, monkeypatch, tmp_path
):
    for name, value in {"BEFORE": 20_000, "AFTER": (0, 20_000), "LATER": 4_000}.items():
        monkeypatch.setattr(graph_runs, name, value)
    settings = ("--setting", "all moves", "--setting", "the last 20,000 moves")
    experiment("halma-relearn", "--seeds", "1", *settings, "--out", "there", "--save", "kept")
    every, last = json.loads((tmp_path / "kept" / "results.json").read_text())["rows"]
    assert every["right"][0]["iqm"] == last["right"][0]["iqm"] == 0
    assert every["right"][1]["iqm"] < 20 < 80 < last["right"][1]["iqm"]
