"""`gumption kg build halma`: from a run's memory to answers."""

import inspect
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from gumption.data.writing import is_part
from gumption.envs.halma import KnowledgeBases, Memory, MemoryWriter
from gumption.envs.halma.knowledge_base import THROUGH_AFFORDANCE_ONLY
from gumption.kg import KnowledgeGraph
from gumption.scripts.halma.commands import build

# (s, option, s', valid), rows of crossings and walls by direction, goal and hint.
MOVES = [
    ([3, 0, 0, 0, 5, 0, 0, 0, 1, 1, 0], [0, 2, 0, 0], [1, 0, 0, 0, 3, 0, 0, 0, 1, 1, 0], 1),  # red 3 and 5, left 2
    ([0, 0, 0, 0, 0, 0, 5, 0, 1, 1, 0], [2, 2, 3, 0], [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0], 1),  # yellow 5, right 2+3
    ([0, 0, 0, 0, 0, 9, 0, 0, 1, 1, 0], [1, 3, 3, 3], [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0], 1),  # orange 9, up 3+3+3
    ([0, 0, 0, 3, 0, 0, 0, 5, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 3, 0, 0, 0, 5, 1, 1, 0], 0),  # green 3 and 5, a wall
] * 3


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "halma"
    before, option, after, flags = (np.array(field) for field in zip(*MOVES, strict=True))
    zeros = np.zeros(len(MOVES), dtype=np.int64)
    with MemoryWriter(folder / "memory", 3) as writer:
        writer.append(before, option, after, zeros, zeros, zeros, flags)
    return folder


def test_the_knowledge_bases_go_into_the_store_and_are_counted(gumption, run):
    told = gumption.ok("build", "halma", "--run", "runs/halma")
    rows = {line.split("│")[1].strip(): line.split("│")[2:-1] for line in told.splitlines() if line.startswith("│")}
    cells = {name: [int(cell) for cell in row] for name, row in rows.items()}
    assert cells == {
        "KB_S": [1, 0, 0, 0, 1],
        "KB_C": [2, 0, 0, 0, 2],
        "KB_A": [0, 0, 0, 0, 1],
        "KB_AC": [2, 0, 0, 0, 3],
        "halma/halma": [len(KnowledgeBases.of(Memory.load(run / "memory")).facts())],
        "halma/halma/evidence": [len(KnowledgeBases.of(Memory.load(run / "memory")).evidence("halma"))],
    }
    assert "of 12 transitions (0 lost) with 6 different panels" in told
    assert "written to runs/halma/kg.nq" in told
    stored = KnowledgeBases.from_graph(KnowledgeGraph.load(run / "kg.nq"), "halma/halma")
    assert stored.fingerprint == KnowledgeBases.of(Memory.load(run / "memory")).fingerprint


def test_a_store_of_one_s_own_and_a_threshold(gumption, run, tmp_path):
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add([("fire", "componentOf", "steam")], graph="wordcraft/train")
    arguments = ("build", "halma", "--run", "runs/halma", "--out", "kg", "--threshold", "4", "--json")
    told = json.loads(gumption.ok(*arguments))
    assert told["pairs"]["KB_C"] == {"left": 0, "up": 0, "right": 0, "down": 0, "any": 0}
    assert {name: told[name] for name in ("out", "records", "lost", "panels", "understood")} == {
        "out": "kg",
        "records": 12,
        "lost": 0,
        "panels": 6,
        "understood": 0,
    }
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert graph.graphs() == {**told["graphs"], "wordcraft/train": 1}
        assert KnowledgeBases.from_graph(graph, "halma/halma").threshold == 4
        first = graph.content_hash()
    gumption.ok(*arguments)
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert graph.content_hash() == first


def test_the_questions_of_the_help_have_answers(gumption, run):
    gumption.ok("build", "halma", "--run", "runs/halma")
    commands = [part for part in inspect.getdoc(build).split("\n\n") if part.startswith("gumption ")]
    answers = [json.loads(gumption.ok(*shlex.split(command)[2:], "--json")) for command in commands]
    assert answers == [
        [{"greater": "9", "lesser": "5"}],
        [{"greater": "3", "lesser": "1", "only": "red"}],
        [{"option": "right 2+3", "visits": 3}],
    ]
    asked = gumption.ok("query", "runs/halma/kg.nq", "--bind", "run=halma", THROUGH_AFFORDANCE_ONLY, "--json")
    assert json.loads(asked) == answers[0], "what the experiments ask is what the help says"


@pytest.mark.slow
def test_the_graph_can_be_validated_and_models_train_on_its_binary_facts_only(gumption, run):
    gumption.ok("build", "halma", "--run", "runs/halma")
    assert "conforms to halma" in gumption.ok("validate", "runs/halma/kg.nq", "--shapes", "halma")
    settings = ("--epochs", "1", "--rank", "2", "--device", "cpu")
    gumption.ok("fit", "runs/halma/kg.nq", "--out", "model", *settings)
    objects = json.loads(
        gumption.ok("predict", "model", "--subject", "red 5", "--relation", "greaterThan", "-k", "99", "--json")
    )
    labels = {row["label"] for row in objects}
    assert "orange 9" in labels
    assert not any(label.startswith(("inequality:", "use:", '"')) for label in labels)


def test_a_memory_cut_short_is_told_and_used(gumption, run):
    with (run / "memory" / "records.bin").open("ab") as file:
        file.write(b"torn")
    code, out, err = gumption("build", "halma", "--run", "runs/halma")
    assert code == 0
    assert "of 12 transitions (1 lost)" in out
    assert err.startswith(
        "warning: runs/halma/memory/records.bin: the end was cut short, as by a crash; records lost: "
    )
    assert err.endswith("1 (4 bytes left of them), whole records kept: 12\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--run", "runs/other"), "runs/other/memory: no memory of transitions there (header.json is missing)"),
        (("--run", "runs/halma", "--threshold", "0"), "--threshold is 0; it is a whole number, at least 1"),
        (("--run", "runs/halma", "--out", "x.xlsx"), "x.xlsx: a graph's file ends in"),
        (("--run", "runs/halma", "--update", "http://x.org"), "update='http://x.org' goes with the http"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(gumption, run, tmp_path, arguments, message):
    before = sorted(path for path in tmp_path.rglob("*") if not is_part(path))
    code, out, err = gumption("build", "halma", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert sorted(path for path in tmp_path.rglob("*") if not is_part(path)) == before
