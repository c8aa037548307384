"""The experiments on discovery as data, their tables, and one small run; a memory becomes a graph that is mined."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.record_memory import RecordMemory
from gumption.kg import KnowledgeGraph
from gumption.scripts.experiment import find_experiment, make_jobs
from gumption.scripts.probsol.experiments import DIPOLES, EXPERIMENTS, MONOPOLES, ORACLE

DISCOVERY_EXPERIMENT, LAWS_EXPERIMENT = EXPERIMENTS["probsol-discovery"], EXPERIMENTS["probsol-laws"]


def test_each_strategy_plays_both_kinds_of_tasks_with_five_seeds() -> None:
    assert find_experiment("probsol-discovery") is DISCOVERY_EXPERIMENT
    assert find_experiment("probsol-laws") is LAWS_EXPERIMENT
    panels = [condition.panels for condition in DISCOVERY_EXPERIMENT.conditions.values()]
    assert panels == [(MONOPOLES,)] * 7 + [(DIPOLES,)] * 7
    assert DISCOVERY_EXPERIMENT.seeds == LAWS_EXPERIMENT.seeds == 5


@pytest.mark.slow
def test_a_small_run_and_its_table(tmp_path: Path) -> None:
    kept = {k: v for k, v in DISCOVERY_EXPERIMENT.conditions.items() if k.startswith(MONOPOLES) and "oracle" in k}
    small = replace(DISCOVERY_EXPERIMENT, conditions=kept, base={"laws": "real", "tasks": 4, "learned": 12})
    kind, rows = small.kind, []
    for job in make_jobs(small, {}, range(2), tmp_path):
        kind.run(job, False)
        assert "solved" in kind.told(job)
    for label, condition in kept.items():
        runs = {seed: tmp_path / "monopoles-oracle-knows-the-law" / f"seed-{seed}" for seed in range(2)}
        rows.append(
            {
                "condition": label,
                "settings": dict(condition.settings),
                "seeds": [0, 1],
                "panels": condition.panels,
                **kind.row(condition, runs),
            }
        )
    results = {"experiment": small.name, "title": small.title, "rows": rows}
    table = kind.headline(results)
    assert f"| {ORACLE} | 100% (100% to 100%) |" in table
    assert "| 1.00 | - |" in table
    json.dumps(rows)


def test_a_memory_becomes_a_graph_of_facts_that_rules_are_mined_from(gumption) -> None:
    batch = ProbSolVectorEnv(4, task="findthediff/0")
    env = RecordMemory(batch, "memories/ada")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        pairs = np.array([rng.permutation(4)[:2] for _ in range(4)])
        first = batch.labels.first_point
        for action in (pairs[:, 0], np.full(4, first + 815), pairs[:, 1], np.full(4, first + 819)):
            env.step(action)
        env.reset(seed=0)
    env.close()
    told = gumption.ok("build", "probsol", "--memory", "memories/ada", "--out", "mine.nq")
    assert "probsol/ada/evidence" in told
    facts = KnowledgeGraph.load("mine.nq")
    assert {"attracts", "repels"} & {relation for _, relation, _ in facts.triples(graph="probsol/ada")}
    mined = gumption.ok("mine", "mine.nq#probsol/ada", "--min-support", "2", "--out", "rules.json")
    assert "rules" in mined
