"""Agents in the tests that were made for them, and runs as columns of Table 1."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest

from gumption.agents.halma.acting import Actor, OracleActor, RandomActor, panel_rows
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import (
    DYNAMIC,
    MEASURES,
    ROWS,
    agents_of,
    columns,
    evaluate_splits,
    images,
    label,
    load_evaluation,
    play_test,
    save_evaluation,
)
from gumption.data import InputError
from gumption.data.sealed import write_sealed
from gumption.envs.halma import HALMAVectorEnv, Mazes, sample_mazes
from gumption.envs.halma.diagnostics import SPLITS, Record, matched_mazes, shape_of
from gumption.envs.halma.maze import justified_moves
from gumption.envs.halma.splits import Splits
from gumption.scripts.papers.halma.experiments import markdown


class Explorer:
    """Follows the meta-strategy of the oracle's first trial in every trial: what its measures are is known."""

    def act(self, percept, rng):
        moves = [justified_moves(row)[0] for row in panel_rows(percept.observation)]
        return np.array([[direction, *np.clip(length - 3 * np.arange(5), 0, 3)] for direction, length in moves])


@dataclass
class Run:
    """A run as far as it is tested."""

    made: Actor
    config: HALMAConfig = field(default_factory=HALMAConfig)

    def actor(self) -> Actor:
        return self.made


def make_splits(max_opt_len: int = 5, **mazes: int) -> Splits:
    """Splits with so many mazes by test, which ask nothing."""
    drawn = sample_mazes(sum(mazes.values()), 3)
    records = {}
    for test, count in mazes.items():
        test = test.replace("_", "-")
        records[test] = tuple(Record(test, drawn.pop(), (), None) for _ in range(count))
    tests = {test: {"reason": None if test in records else f"nothing for {test}"} for test in SPLITS}
    knowledge = {"max_opt_len": max_opt_len, "fingerprint": "f" * 64, "memory": "m" * 64}
    return Splits(records, {"tests": tests, "knowledge": knowledge})


@pytest.fixture(scope="module")
def explored():
    """The splits of the module, and how the explorer does in them."""
    splits = make_splits(T=6, RT=5, ST_1=4, AnT=3)
    return splits, evaluate_splits(Run(Explorer()), splits)


def efficiency(mazes: Mazes) -> np.ndarray:
    """rho_p of exploring in all of ten trials."""
    return (1 + 9 * mazes.planned(5) / mazes.exploring(5)) / 10


def test_the_explorer_is_as_good_as_the_closed_form_says(explored):
    splits, found = explored
    assert found["agent"] == "MLP"
    assert found["seeds"] == [0, 1, 2]
    assert HALMAConfig.from_json(found["config"]) == HALMAConfig()
    assert list(found["tests"]) == list(ROWS)
    for test in splits:
        told = found["tests"][test]
        assert (told["mazes"], told["reason"]) == (len(splits[test]), None)
        for measure in ("rho_a", "rho_g"):
            assert (told[measure]["mean"], told[measure]["std"]) == (1.0, 0.0)
            assert told[measure]["per_seed"] == [1.0] * 3
        expected = efficiency(splits[test])
        assert told["rho_p"]["per_maze"] == pytest.approx(expected.tolist(), abs=1e-5)
        assert told["rho_p"]["mean"] == pytest.approx(expected.mean(), abs=1e-5)
        assert told["return"]["mean"] > 100, "of every trial 100, the first hardly discounted"
        assert expected.min() <= told["rho_p"]["low"] <= told["rho_p"]["mean"] <= told["rho_p"]["high"] <= 1


def test_tests_without_mazes_say_why(explored):
    _, found = explored
    assert found["tests"]["AfT-3"] == {"mazes": 0, "reason": "nothing for AfT-3"}
    bare = evaluate_splits(Run(Explorer()), make_splits(T=1), seeds=(4,))
    assert bare["tests"][DYNAMIC] == {"mazes": 0, "reason": "none of the diagnostic tests has mazes"}
    told = bare["tests"]["T"]["rho_p"]
    assert told["low"] is told["high"] is told["std"] is None, "one maze has no interval, one seed no deviation"


def test_the_diagnostic_tests_together_are_all_their_mazes(explored):
    splits, found = explored
    together = found["tests"][DYNAMIC]
    assert together["mazes"] == 7
    every = np.concatenate([efficiency(splits[test]) for test in ("ST-1", "AnT")])
    assert together["rho_p"]["per_maze"] == pytest.approx(every.tolist(), abs=1e-5)
    assert together["rho_p"]["mean"] == pytest.approx(every.mean(), abs=1e-5)


def test_seeds_are_told_apart():
    splits = make_splits(T=4)
    played = []
    found = evaluate_splits(Run(RandomActor(5)), splits, seeds=(3, 5), keep=lambda test, _: played.append(test))
    assert played == ["T"]
    told = found["tests"]["T"]["rho_a"]
    assert told["per_seed"][0] != told["per_seed"][1]
    assert told["mean"] == pytest.approx(np.mean(told["per_seed"]), abs=1e-5)
    assert told["std"] == pytest.approx(np.std(told["per_seed"]), abs=1e-5)
    assert found == evaluate_splits(Run(RandomActor(5)), splits, seeds=(3, 5))
    again = evaluate_splits(Run(RandomActor(5)), splits, seeds=(5,))["tests"]["T"]["rho_a"]
    assert again["per_seed"] == told["per_seed"][1:], "a seed gives the same whatever other seeds there are"
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_visual_agents_see_handwriting_that_was_kept_for_tests():
    config = HALMAConfig(agent="cnn+mlp", max_opt_len=1)
    assert [images(config, test) for test in ("T", "RT", "AnT")] == ["train", "test", "test"]
    full = HALMAConfig(agent="cnn+mlp", images="train-full")
    assert [images(full, test) for test in ("T", "ST-1")] == ["train-full", "test-full"]

    class Sees(RandomActor):
        def act(self, percept, rng):
            seen.append(percept.observation)
            return super().act(percept, rng)

    mazes = Mazes(sample_mazes(2, 0))
    first = {}
    for test in ("T", "RT"):
        seen: list[np.ndarray] = []
        played = play_test(Run(Sees(1), config), mazes, test, [0])
        assert played.shape == (4, 1, 2)
        assert seen[0].shape == (2, 128, 128, 3)
        first[test] = seen[0]
    assert (first["T"] != first["RT"]).any(), "the same cells, drawn with other images"


@pytest.mark.slow
def test_an_agent_of_fixed_panels_is_tested_with_them():
    class Sees(RandomActor):
        def act(self, percept, rng):
            seen.append(percept.observation)
            return super().act(percept, rng)

    mazes = Mazes(sample_mazes(2, 0))
    config = HALMAConfig(agent="cnn+mlp", max_opt_len=1, panels="fixed")
    trained_on = HALMAVectorEnv(2, mazes=mazes, observation="visual", panels="fixed", order="sequential").reset()[0]
    for test in ("T", "RT"):
        seen: list[np.ndarray] = []
        play_test(Run(Sees(1), config), mazes, test, [0, 1])
        begun = [pictures for pictures in seen if np.array_equal(pictures, seen[0])]
        assert len(begun) > 2, "with each seed, and wherever nobody moved"
        assert np.array_equal(seen[0], trained_on) == (test == "T"), "the training's own pictures, or other handwriting"


@pytest.mark.parametrize(
    ("seeds", "max_opt_len", "message"),
    [
        ((), 5, "no seeds; give at least one"),
        ((0,), 3, "the splits were made for options of 3 primitives and the run has 5: give the run its own splits"),
    ],
)
def test_bad_evaluations(seeds, max_opt_len, message):
    with pytest.raises(InputError, match=message):
        evaluate_splits(Run(Explorer()), make_splits(max_opt_len, T=1), seeds=seeds)


# ---- controls: random mazes of the same shape


@pytest.mark.slow
def test_random_mazes_of_the_same_shape_stand_beside_generated_tests(explored):
    splits, alone = explored
    made = Splits({**splits.records, "mine": splits.records["RT"]}, splits.manifest)
    found = evaluate_splits(Run(Explorer()), made, matched=True, beside={"random": lambda _: RandomActor(5)})
    told = found["tests"]
    assert {test for test in told if "matched" in told[test]} == {"ST-1", "AnT", "mine", DYNAMIC}
    for test, mazes in splits.items():
        if test in ("ST-1", "AnT"):
            control = matched_mazes(mazes, but=splits["T"])
            assert told[test]["matched"]["rho_p"]["per_maze"] == pytest.approx(efficiency(control).tolist(), abs=1e-5)
            way = told[test]["matched"]["shape"]["way"]
            assert way["test"] == way["random"] == pytest.approx(shape_of(mazes)[:, 0].mean(), abs=1e-5)
            assert way["difference"] == 0
    both = [told[test]["matched"]["rho_p"]["per_maze"] for test in ("ST-1", "AnT", DYNAMIC)]
    assert both[2] == both[0] + both[1]
    assert not any("matched" in one for one in found["beside"]["random"].values()), (
        "only the run's own actor plays them"
    )
    for test in ("T", "ST-1"):
        same = {key: value for key, value in told[test].items() if key != "matched"}
        assert same == alone["tests"][test], "the tests themselves are played as without controls"
    column = columns([found, {**found, "config": {**found["config"], "seed": 1}}])["MLP"]["tests"]["AnT"]
    assert column["matched"]["runs"] == 2
    assert column["matched"]["shape"] == told["AnT"]["matched"]["shape"]


@pytest.mark.slow
def test_a_table_shows_controls_where_an_agent_has_played_them(explored):
    splits, alone = explored
    found = evaluate_splits(Run(Explorer()), splits, matched=True)
    text = "\n".join(markdown(columns([found]), paper=True))
    assert "| ST-1, matched | rho_a | 4 | 100.0 ± 0.0" in text
    assert "| all diagnostic, matched | rho_a | 7 |" in text
    assert '"Matched" are random mazes with ways as long' in text
    assert "- MLP: ST-1 and its matched random mazes: way " in text
    assert "matched" not in "\n".join(markdown(columns([alone]), paper=True)).lower()
    other = {**alone, "config": {**alone["config"], "agent": "lstm"}, "agent": "LSTM"}
    text = "\n".join(markdown(columns([found, other]), paper=False))
    assert "| ST-1, matched | rho_a | 0 to 4 | 100.0 ± 0.0 (100.0 to 100.0) | - |" in text


def test_tests_of_different_readings_are_different_columns(explored):
    splits, _ = explored
    literal = Splits(splits.records, {**splits.manifest, "parameters": {"seed": 0, "knowledge_base": "literal"}})
    runs = [evaluate_splits(Run(Explorer()), of, seeds=(0,), tests=["T"]) for of in (splits, literal)]
    assert "choices" not in runs[0]
    assert runs[1]["choices"] == {"knowledge_base": "literal"}
    assert list(columns(runs)) == ["MLP", "MLP, knowledge_base literal"]


# ---- columns


def evaluation(value: float, *, missing: tuple[str, ...] = (), **settings) -> dict:
    """An evaluation in which every figure of every test is `value`."""
    config = HALMAConfig(**settings)
    told = {"mean": value, "std": 0.0, "low": value, "high": value, "per_seed": [value], "per_maze": [value] * 2}
    tests = {
        test: {"mazes": 0, "reason": f"no {test}"}
        if test in missing
        else {"mazes": 2, "reason": None} | {measure: dict(told) for measure in MEASURES}
        for test in ROWS
    }
    return {"agent": label(config), "config": json.loads(json.dumps(config.to_json())), "tests": tests}


def test_runs_of_one_agent_are_one_column():
    values = [0.2, 0.4, 0.9]
    found = columns([evaluation(value, seed=seed) for seed, value in enumerate(values)])
    assert list(found) == ["MLP"]
    column = found["MLP"]
    assert column["runs"] == 3
    assert "seed" not in column["config"]
    told = column["tests"]["ST-2"]
    assert (told["mazes"], told["runs"], told["reason"]) == (6, 3, None)
    assert told["rho_g"]["mean"] == pytest.approx(0.5)
    assert told["rho_g"]["std"] == pytest.approx(np.std(values), abs=1e-5)
    assert told["rho_g"]["per_run"] == values
    assert 0.2 <= told["rho_g"]["low"] < 0.5 < told["rho_g"]["high"] <= 0.9


def test_one_run_is_told_as_it_is():
    column = columns([evaluation(0.3)])["MLP"]
    assert column["tests"]["T"]["rho_a"] == {"mean": 0.3, "std": 0.0, "low": 0.3, "high": 0.3}


def test_a_test_that_some_runs_do_not_have():
    runs = [evaluation(0.5, seed=0, missing=("AfT-1", "AnT")), evaluation(0.7, seed=1, missing=("AnT",))]
    tests = columns(runs)["MLP"]["tests"]
    assert (tests["AfT-1"]["runs"], tests["AfT-1"]["reason"]) == (1, "no AfT-1")
    assert tests["AfT-1"]["rho_p"]["mean"] == 0.7
    assert tests["AnT"] == {"mazes": 0, "runs": 0, "reason": "no AnT"}


def test_agents_are_told_apart_by_what_they_differ_in():
    runs = [
        evaluation(0.1, agent="lstm"),
        evaluation(0.2, num_mazes=300),
        evaluation(0.3),
        evaluation(0.4, seed=1),
        evaluation(0.5, guided=True),
        evaluation(0.6, agent="tran+lstm"),
    ]
    assert list(columns(runs)) == [
        "LSTM",
        "MLP, num_mazes 300",
        "MLP, num_mazes 100",
        "MLP + own graph",
        "TRAN+LSTM",
    ]
    assert columns(runs)["MLP, num_mazes 100"]["runs"] == 2


def test_who_played_beside_a_guided_agent_comes_after_it():
    def guided(value: float, **settings):
        found = evaluation(value, guided=True, **settings)
        return {**found, "beside": {"random": evaluation(0.0)["tests"], "oracle": evaluation(1.0)["tests"]}}

    found = columns([guided(0.8), guided(0.9, seed=1), evaluation(0.3)])
    assert list(found) == ["MLP + own graph", "random", "oracle", "MLP"]
    assert found["oracle"]["beside"] == "MLP + own graph"
    assert (found["oracle"]["agent"], found["oracle"]["runs"]) == ("oracle", 2)
    assert found["oracle"]["tests"]["T"]["rho_g"]["per_run"] == [1.0, 1.0]
    assert list(agents_of(found)) == ["MLP + own graph", "MLP"]
    apart = columns([guided(0.8), guided(0.9, num_mazes=300)])
    assert list(apart)[3:] == [f"{name}, num_mazes 300" for name in ("MLP + own graph", "random", "oracle")]
    assert list(columns([guided(0.8), evaluation(0.9, guided=True, seed=1)])) == ["MLP + own graph"]


@pytest.mark.slow
def test_others_play_the_same_tests(explored):
    splits, alone = explored
    found = evaluate_splits(Run(Explorer()), splits, beside={"random": lambda _: RandomActor(5), "oracle": OracleActor})
    assert found["tests"] == alone["tests"]
    assert found["beside"]["oracle"]["RT"]["rho_p"]["mean"] == 1
    assert found["beside"]["random"]["RT"]["rho_g"]["mean"] < 0.5
    assert found["beside"]["random"]["AfT-3"] == alone["tests"]["AfT-3"]


# ---- files


def test_a_file_gives_the_evaluation_back(tmp_path, explored):
    save_evaluation(tmp_path / "evaluation.json", explored[1])
    assert load_evaluation(tmp_path / "evaluation.json") == explored[1]


def test_an_evaluation_from_before_fixed_panels_stands_beside_newer_ones(tmp_path, explored):
    older = json.loads(json.dumps(explored[1]))
    del older["config"]["panels"]
    save_evaluation(tmp_path / "evaluation.json", older)
    assert len(columns([explored[1], load_evaluation(tmp_path / "evaluation.json")])) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"evaluation\.json: no evaluation there: evaluate the run first \(No such file or directory\)"),
        ("{", r"evaluation\.json: not valid JSON \(.*\); evaluate the run again"),
        ('{"schema": "gumption/halma-evaluation/0"}', r"no evaluation of schema gumption/halma-evaluation/1; evaluate"),
        ("[]", "no evaluation of schema"),
    ],
)
def test_files_that_are_none(tmp_path, content, message):
    if content is not None and content.startswith('{"'):
        write_sealed(tmp_path / "evaluation.json", json.loads(content))
    elif content is not None:
        (tmp_path / "evaluation.json").write_text(content)
    with pytest.raises(InputError, match=message):
        load_evaluation(tmp_path / "evaluation.json")
