"""Pictures of HALMA's results: small files, the same bytes for the same data, other bytes for other data."""

import json

import numpy as np
import pytest
from PIL import Image

from gumption.agents.halma.evaluation import MEASURES, ROWS
from gumption.agents.halma.plots import hitmaps, plot_ablation, plot_hitmaps, plot_learning, plot_table, read_learning
from gumption.data import InputError
from gumption.envs.halma import KnowledgeBases, Memory, Primitive, Rules
from gumption.scripts.papers.halma.grammar import grammar, learned, plot_grammar


def column(value: float, runs: int = 2, missing: tuple[str, ...] = ()) -> dict:
    told = {"mean": value, "std": 0.1, "low": max(0.0, value - 0.1), "high": min(1.0, value + 0.1)}
    single = told | {"low": None, "high": None}
    return {
        "agent": "MLP",
        "runs": runs,
        "tests": {
            test: {"mazes": 0, "reason": "none"}
            if test in missing
            else {"mazes": 4, "reason": None, **dict.fromkeys(MEASURES, told if runs > 1 else single)}
            for test in ROWS
        },
    }


COLUMNS = {"MLP": column(0.5, missing=("AfT-3",)), "LSTM": column(0.0), "written strategy + KG": column(0.97, runs=1)}
PAPER = {"MLP": {"T": {"rho_a": (94.8, 4.1), "rho_g": None}, "AnT": {"rho_g": (35.0, 7.0)}}}


def test_an_ablation_shows_tests_of_one_s_own(tmp_path):
    own = column(0.4)
    own["tests"]["bushy"] = own["tests"]["T"]
    _, svg = plot_ablation({"MLP": {1: own, 3: column(0.5)}}, tmp_path / "ablation", "max_opt_len")
    assert ">bushy<" in svg.read_text(encoding="utf-8")


def lived() -> KnowledgeBases:
    """Red 5 fell to 3 by left 2 three times, and was used up by left 2+3 three times and by 3+2 once; green 4, too."""
    rows = np.zeros((4, 11), dtype=np.int8)
    rows[0, 4], rows[1, 4], rows[2, 7] = 5, 3, 4
    moves = [([0, 2, 0], 0, 1, 3), ([0, 2, 3], 0, 3, 3), ([0, 3, 2], 0, 3, 1), ([3, 3, 1], 2, 3, 3)]
    options, before, after = zip(*(move[:3] for move in moves for _ in range(move[3])), strict=True)
    return KnowledgeBases.of(Memory.of(2, rows[list(before)], list(options), rows[list(after)]))


@pytest.mark.slow
def test_hitmaps_are_the_visits_and_what_the_threshold_leaves(tmp_path):
    found = hitmaps(lived())
    assert list(found) == ["KB_S", "KB_C", "KB_A"]
    visits, inside = found["KB_C"]
    assert visits[5, 3].tolist() == [3, 0, 0, 0, 3]
    assert inside[5, 3].tolist() == [True, False, False, False, True]
    assert visits.sum() == 6
    visits, inside = found["KB_A"]
    assert visits[5, 4].tolist() == [0, 0, 0, 0, 3], "the two digits have different types"
    assert np.argwhere(inside).tolist() == [[5, 4, 4]]
    png, svg = plot_hitmaps(lived(), tmp_path / "hitmaps", "Mine")
    assert "KB_C, left: 1 pairs" in svg.read_text(encoding="utf-8")
    again, _ = plot_hitmaps(lived(), tmp_path / "again", "Mine")
    assert again.read_bytes() == png.read_bytes()


def test_the_grammar_is_that_of_appendix_b():
    graph = grammar(3)
    kinds = {level: {graph.nodes[node]["kind"] for node in graph if node[0] == level} for level, _ in graph}
    assert list(graph.successors(("scenarios", ""))) == [("panel", ""), ("options", "")]
    assert kinds == {
        "scenarios": {"or"},
        "panels": {"or"},
        "panel": {"set"},
        "colour": {"or"},
        "digit": {"terminal"},
        "options": {"or"},
        "length": {"or"},
        "option": {"and"},
        "primitive": {"terminal"},
    }
    assert [node[1] for node in graph.successors(("length", 5))] == [(2, 3), (1, 1, 3), (1, 2, 2)]
    assert {node[1] for node in graph.successors(("option", (2, 3)))} == {0, 2, 3}, "a zero fills the option up"
    assert {node[1] for node in graph.successors(("option", (1, 2, 2)))} == {1, 2}
    assert list(graph.successors(("digit", 5))) == [("length", 5)]
    assert graph.edges[("digit", 5), ("length", 5)]["relation"] == "usedUpBy"
    for _, bag in (node for node in graph if node[0] == "option"):
        assert (len(bag) <= 3, sum(bag) <= 9) == (True, True)
    assert len([node for node in grammar(5) if node[0] == "option"]) == 39


@pytest.mark.slow
def test_what_an_agent_has_learned_of_the_grammar(tmp_path):
    visits = learned(lived(), 0)
    assert visits == {
        ("digit", 5): 4,
        ("length", 5): 4,
        ("option", (2, 3)): 4,
        ("primitive", 2): 4,
        ("primitive", 3): 4,
    }
    assert set(learned(lived(), 3)) == {
        ("digit", 4),
        ("length", 4),
        ("option", (1, 3)),
        ("primitive", 1),
        ("primitive", 3),
    }
    assert learned(lived(), 1) == {}
    _, svg = plot_grammar(tmp_path / "own", lived())
    text = svg.read_text(encoding="utf-8")
    assert "left: 1 of 9 digits understood, by 1 of 9 options" in text
    assert ">2+3  (4)<" in text
    _, svg = plot_grammar(tmp_path / "world", max_opt_len=2)
    assert "all panels" in svg.read_text(encoding="utf-8")


jump = Primitive("jump", 2, lambda mazes: mazes.ahead(2))


@pytest.mark.slow
def test_hitmaps_and_grammar_of_a_world_of_other_rules(tmp_path):
    rules = Rules(side=12, primitives=f"0,1,5,{__name__}:jump")
    walls = np.zeros((4, 11), dtype=np.int8)
    walls[:3, 4] = 11, 3, 2  # to the left; 11 is used up by 5+5+1, 3 by 1+jump, and 2 by jump
    options = [[0, 2, 2, 1], [0, 1, 3, 0], [0, 3, 0, 0]]
    memory = Memory.of(3, np.repeat(walls[:3], 3, 0), np.repeat(options, 3, 0), np.repeat(walls[3:], 9, 0), rules=rules)
    knowledge = KnowledgeBases.of(memory)
    assert {name: of.shape for name, (of, _) in hitmaps(knowledge).items()} == dict.fromkeys(
        ("KB_S", "KB_C", "KB_A"), (12, 12, 5)
    )
    visits, inside = hitmaps(knowledge)["KB_A"]
    assert [(*pair, int(visits[*pair])) for pair in np.argwhere(inside)[:, :3].tolist() if pair[2] == 0] == [
        (3, 2, 0, 3), (11, 2, 0, 3), (11, 3, 0, 3)
    ]  # fmt: skip
    _, svg = plot_hitmaps(knowledge, tmp_path / "hitmaps")
    assert ">11<" in svg.read_text(encoding="utf-8")
    found = learned(knowledge, 0)
    assert {node[1]: visits for node, visits in found.items() if node[0] == "option"} == {
        (1, 2, 2): 3,
        (1, 3): 3,
        (3,): 3,
    }
    assert {node[1] for node in found if node[0] == "length"} == {11, 3, 2}
    assert set(found) <= set(grammar(3, rules))
    _, svg = plot_grammar(tmp_path / "own", knowledge)
    text = svg.read_text(encoding="utf-8")
    assert "left: 3 of 11 digits understood, by 3 of " in text
    assert ">1+jump  (3)<" in text
    _, svg = plot_grammar(tmp_path / "world", max_opt_len=2, rules=rules)
    assert ">5+jump<" in svg.read_text(encoding="utf-8")


def test_a_table_is_drawn_small_and_as_both_kinds(tmp_path):
    png, svg = plot_table(COLUMNS, tmp_path / "plots" / "table", "A title", PAPER)
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == ["table.png", "table.svg"]
    assert max(png.stat().st_size, svg.stat().st_size) < 150_000
    with Image.open(png) as image:
        assert image.width > 800
    text = svg.read_text(encoding="utf-8")
    for word in ("written strategy + KG", "AfT-3", "paper's", "A title"):
        assert word in text


@pytest.mark.slow
def test_the_same_figures_give_the_same_bytes_and_others_do_not(tmp_path):
    first, _ = plot_table(COLUMNS, tmp_path / "a")
    again, _ = plot_table(COLUMNS, tmp_path / "b")
    assert first.read_bytes() == again.read_bytes()
    for changed in (COLUMNS | {"LSTM": column(0.1)}, COLUMNS | {"MLP": column(0.5)}):
        other, _ = plot_table(changed, tmp_path / "c")
        assert other.read_bytes() != first.read_bytes()
    with_paper, _ = plot_table(COLUMNS, tmp_path / "d", published=PAPER)
    assert with_paper.read_bytes() != first.read_bytes()


@pytest.mark.slow
def test_learning_curves(tmp_path):
    episodes = list(range(100, 2001, 100))
    rng = np.random.default_rng(0)
    curves = {
        name: {
            "episodes": episodes,
            "finished_trials": np.clip(rng.normal(top, 0.3, (3, 20)), 0, 10).tolist(),
            "valid_moves": np.clip(rng.normal(top / 10, 0.03, (3, 20)), 0, 1).tolist(),
        }
        for name, top in (("MLP", 6), ("TRAN", 9))
    }
    png, svg = plot_learning(curves, tmp_path / "curves", "Learning")
    assert max(png.stat().st_size, svg.stat().st_size) < 150_000
    text = svg.read_text(encoding="utf-8")
    for word in ("finished trials of an episode", "valid moves of all moves", "episodes"):
        assert word in text
    other, _ = plot_learning({"MLP": curves["MLP"]}, tmp_path / "other")
    assert other.read_bytes() != png.read_bytes()


def test_a_run_s_learning_curve(tmp_path):
    assert read_learning(tmp_path) is None
    lines = [
        {"episode": 10, "finished_trials": 1.5, "valid_moves": 0.25},
        {"episode": 21, "finished_trials": 2, "valid_moves": 0.5},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    curve = {"episodes": [10, 21], "finished_trials": [[1.5, 2]], "valid_moves": [[0.25, 0.5]]}
    assert read_learning(tmp_path) == curve
    plot_learning({"MLP": curve}, tmp_path / "curve")


@pytest.mark.slow
def test_an_ablation(tmp_path):
    agents = {
        "MLP": {100: column(0.3), 300: column(0.5), 1000: column(0.7)},
        "LSTM": {100: column(0.4, missing=ROWS[2:]), 300: column(0.5, runs=1)},
    }
    png, svg = plot_ablation(agents, tmp_path / "ablation", "training mazes", "Volume")
    assert max(png.stat().st_size, svg.stat().st_size) < 150_000
    text = svg.read_text(encoding="utf-8")
    for word in ("training mazes", "diagnostic tests", "1,000", "LSTM", "Volume"):
        assert word in text


def test_nothing_to_draw_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="no evaluated run to plot"):
        plot_table({}, tmp_path / "x")
    with pytest.raises(InputError, match="no evaluated run to plot"):
        plot_ablation({}, tmp_path / "x", "mazes")
    with pytest.raises(InputError, match="no curve"):
        plot_learning({}, tmp_path / "x")
    assert not list(tmp_path.iterdir())
