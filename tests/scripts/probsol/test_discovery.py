"""The experiments on discovery as data, their table, and one small run; a memory becomes a graph that is mined."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.record_memory import RecordMemory
from gumption.kg import KnowledgeGraph
from gumption.scripts.experiment import find_experiment, make_jobs
from gumption.scripts.freshness import RESULTS
from gumption.scripts.papers.probsol.experiments import DIPOLES, EXPERIMENTS, GRAPH_AGENT, MONOPOLES, ORACLE

DISCOVERY_EXPERIMENT, LAWS_EXPERIMENT = EXPERIMENTS["probsol-discovery"], EXPERIMENTS["probsol-laws"]


def test_each_agent_plays_both_kinds_of_tasks_with_five_seeds() -> None:
    assert find_experiment("probsol-discovery") is DISCOVERY_EXPERIMENT
    assert find_experiment("probsol-laws") is LAWS_EXPERIMENT
    panels = [condition.panels for condition in DISCOVERY_EXPERIMENT.conditions.values()]
    assert panels == [(MONOPOLES,)] * 5 + [(DIPOLES,)] * 5
    assert DISCOVERY_EXPERIMENT.seeds == LAWS_EXPERIMENT.seeds == 5


@pytest.mark.slow
def test_a_small_run_and_its_table_beside_a_kept_row(tmp_path: Path) -> None:
    label = f"{MONOPOLES}: {GRAPH_AGENT}"
    kept = {label: DISCOVERY_EXPERIMENT.conditions[label]}
    small = replace(DISCOVERY_EXPERIMENT, conditions=kept, base={**DISCOVERY_EXPERIMENT.base, "tasks": 2, "learned": 6})
    kind, (job,) = small.kind, make_jobs(small, {}, range(1), tmp_path)
    kind.run(job, False)
    assert "solved" in kind.told(job)
    row = {"condition": label, "settings": dict(job.settings), "seeds": [0], "panels": (MONOPOLES,)}
    row |= kind.row(kept[label], {0: job.directory})
    saved = json.loads((RESULTS / "probsol-discovery" / "results.json").read_text(encoding="utf-8"))["rows"]
    oracle = next(one for one in saved if one["condition"] == f"{MONOPOLES}: {ORACLE}")
    table = kind.headline({"experiment": small.name, "title": small.title, "rows": [row, oracle]})
    assert f"| {ORACLE} | 100% (100% to 100%) | 15 | 1.00 | - |" in table
    assert f"| {row['probes_mean'] / oracle['probes_mean']:.2f} |" in table
    json.dumps(row)


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
