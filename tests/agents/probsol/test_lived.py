"""ProbSol's agent that plays by facts of its own tries: its life, what it learns, and that nobody told it the law."""

from dataclasses import replace

import numpy as np
import pytest

from gumption.agents.probsol.config import ProbSolConfig
from gumption.agents.probsol.evaluation import play_tasks, spread
from gumption.agents.probsol.lived import GraphPlayer, tries
from gumption.agents.probsol.training import load_run, train_probsol
from gumption.agents.run_folder import load_policy
from gumption.data import InputError
from gumption.data.writing import write_json
from gumption.envs.probsol.library import renamed
from gumption.envs.probsol.memory import Memory
from gumption.envs.probsol.tasks import read_task
from gumption.kg import KnowledgeGraph

TASKS = ("fishing/generated", "curling/generated")
SMALL = {"agent": "graph", "task": TASKS, "tries": 256, "eval_tasks": 1}
FIELDS = ("slope", "intercept", "own", "often", "shared", "facts")


def validation(family, many):
    return spread(ProbSolConfig().tasks("validation", (f"{family}/generated",)), many)


@pytest.fixture(scope="module")
def lived():
    """law -> a run of 256 tries, nothing of which is kept."""
    runs = {}

    def run(laws):
        if laws not in runs:
            runs[laws] = train_probsol(ProbSolConfig(**SMALL, laws=laws), progress=False)
        return runs[laws]

    return run


def test_tries_show_curves_and_each_law_its_own_rules(lived):
    curves = {laws: lived(laws).curves for laws in ("real", "counterfactual")}
    for one in curves.values():
        assert one.slope == pytest.approx(
            [0, -1], abs=0.01
        )  # a pull ends at the held disc, a push at reach^2 / distance
        assert one.own.tolist() == [False, True]
        assert (one.explained > 0.99).all()
    heads = {
        laws: {rule.head.relation for rule in one.rules if [atom.relation for atom in rule.body] == ["raises"] * 2}
        for laws, one in curves.items()
    }
    assert heads == {"real": {"raises"}, "counterfactual": {"lowers"}}


@pytest.mark.parametrize(
    ("family", "laws", "other"),
    [("fishing", "real", "constant"), ("curling", "real", "none"), ("curling", "counterfactual", "false")],
)
def test_the_agent_solves_tasks_that_a_player_without_its_facts_does_not(lived, family, laws, other):
    tasks, curves = validation(family, 6), lived(laws).curves
    facts, without = (
        int((play_tasks(GraphPlayer(curves, known), tasks, trials=1, laws=laws).trial > 0).sum())
        for known in ("lived", other)
    )
    assert facts >= 4
    assert without <= facts - 2


def test_the_same_seed_gives_the_same_facts_and_colours_and_names_change_no_action(lived):
    config = ProbSolConfig(**SMALL, laws="real")
    again = train_probsol(config, progress=False).curves
    for name in FIELDS:
        assert np.array_equal(getattr(again, name), getattr(lived("real").curves, name), equal_nan=True), name
    other = train_probsol(replace(config, seed=1), progress=False).curves
    assert not np.array_equal(other.facts, again.facts, equal_nan=True)
    tasks = [*validation("fishing", 2), *validation("curling", 2)]
    played = [
        play_tasks(GraphPlayer(again), [renamed(task, how) for task in tasks], trials=2) for how in ("real", "shuffled")
    ]
    assert played[0].actions.tolist() == played[1].actions.tolist()
    assert played[0].trial.tolist() == played[1].trial.tolist()


def test_a_run_keeps_its_tries_and_facts_and_is_loaded_with_them(tmp_path):
    config = ProbSolConfig(**{**SMALL, "task": ("curling/generated",), "tries": 40})
    run = train_probsol(config, tmp_path / "run", progress=False)
    made, names = tries(Memory.load(tmp_path / "run" / "memory"))
    assert 20 < len(made.pair) <= 64  # of two tables with 32 tries
    assert all(name.startswith("curling/seed-") for name in names)
    graph = KnowledgeGraph.load(tmp_path / "run" / "knowledge" / "curves.nq")
    assert len(list(graph.triples(relation="hasVisits", graph="own/curves/evidence"))) == len(run.curves.facts)
    loaded = load_run(tmp_path / "run")
    assert np.array_equal(loaded.curves.facts, run.curves.facts, equal_nan=True)
    assert loaded.final == run.final
    assert load_policy(tmp_path / "run")[0] == config
    assert train_probsol(config, tmp_path / "run", resume=True, progress=False).final == run.final


def test_a_life_in_which_nothing_moves_other_families_and_a_graph_are_refused(lived, tmp_path):
    with pytest.raises(InputError, match="tries changed a number: make other tries"):
        train_probsol(ProbSolConfig(**SMALL, laws="inert"), progress=False)
    with pytest.raises(InputError, match="agent='graph' plans by facts of its own tries: leave out kg"):
        ProbSolConfig(agent="graph", kg="full")
    shut = {"schema": 1, "name": "shut/0", "family": "FindTheDiff", "inaccessible": [[0, 0, 480, 40]], "answer": ["d"]}
    shut["objects"] = [
        {"id": one, "color": color, "mass": mass, "magnetism": "medium", "polarity": "+", "stored": cell}
        for cell, (one, color, mass) in enumerate(
            zip("abcd", ("red", "blue", "green", "pink"), ("small",) * 3 + ("large",), strict=True)
        )
    ]
    for name, task, refusal in (
        ("sandbox", {**shut, "family": "Sandbox"}, "is of the family Sandbox; agent='graph' plays Fishing, Curling"),
        ("shut", shut, "has dark areas or walls, where discs of a meeting get lost"),
    ):
        if name == "sandbox":
            del task["answer"]
        write_json(tmp_path / f"{name}.json", task)
        with pytest.raises(InputError, match=refusal):
            train_probsol(ProbSolConfig(agent="graph", task=(str(tmp_path / f"{name}.json"),)), progress=False)
    with pytest.raises(InputError, match="of the family FindTheDiff, for which the agent has no facts: it plays"):
        play_tasks(
            GraphPlayer(lived("real").curves), ProbSolConfig().tasks("validation", ("findthediff/generated",))[:1]
        )
    with pytest.raises(InputError, match="tries is 100000"):
        ProbSolConfig(agent="graph", tries=100_000)


def test_a_trial_ends_where_no_try_is_left(lived):
    discs = [
        {"id": one, "color": color, "mass": "medium", "magnetism": "medium", "polarity": "+", **where}
        for one, color, where in (("a", "red", {"at": [240, 60]}), ("b", "blue", {"stored": 0}))
    ]
    task = read_task(
        {"schema": 1, "name": "shut/0", "family": "Fishing", "objects": discs, "inaccessible": [[0, 0, 480, 480]],
         "targets": [[200, 100, 40, 40]], "goal": ["a"]}
    )  # fmt: skip
    played = play_tasks(GraphPlayer(lived("real").curves), [task], trials=3)
    assert played.trial.tolist() == [0]
    assert played.actions.tolist() == [1]  # CHECK
