"""Worlds of other rules: equal digits, other sizes, primitives and pictures of one's own, adjusted sets of mazes."""

import sys
from itertools import pairwise

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs
from gumption.agents.halma.acting import OracleActor, RandomActor, panel_rows, play
from gumption.data import InputError
from gumption.envs.halma import (
    Experience,
    HALMAVectorEnv,
    KnowledgeBases,
    Maze,
    Mazes,
    Memory,
    MemoryWriter,
    Primitive,
    Rules,
    check_splits,
    count_optimal_paths,
    load_splits,
    make_splits,
    oracle_trials,
    panel_row,
    read_memory,
    sample_mazes,
)
from gumption.envs.halma.diagnostics import Pair, draw_maze, matched_mazes, shape_of
from gumption.envs.halma.facts import HALMAFacts, facts
from gumption.envs.halma.generator import PanelStatistics, sample_statistics
from gumption.envs.halma.rules import RULES
from gumption.envs.record_memory import RecordMemory
from gumption.kg import KnowledgeGraph

LEFT, UP, RIGHT, DOWN = range(4)
assert gumption.envs


def over(mazes):
    return mazes.ahead(2)


jump = Primitive("jump", 2, over)
short = Primitive("short", 1, lambda mazes: np.zeros(3, dtype=int))
outside = Primitive("outside", 1, lambda mazes: np.full((len(mazes), mazes.cells, 4), mazes.cells - 1))
nameless = Primitive("two words", 2, over)
JUMPING = f"0,1,2,3,{__name__}:jump"


def paint(rows, images, rng):
    """A grey picture, as bright as the wall to the right is far; tests are brighter."""
    pictures = np.zeros((len(rows), 128, 128, 3), dtype=np.uint8)
    pictures += (10 * rows[:, 4 + RIGHT] + 100 * (images == "test"))[:, None, None, None].astype(np.uint8)
    return pictures + rng.integers(0, 2, size=(len(rows), 1, 1, 1), dtype=np.uint8)


def paint_badly(rows, images, rng):
    return np.zeros((len(rows), 64, 64, 3), dtype=np.uint8)


# ---- Panels where a crossing is as far as the wall


def test_the_published_example_shows_one_digit_where_two_are_equal(golden):
    """A.3: frame (f) has "only one digit" to the right, where crossing and wall are both 2 cells away; likewise (g)."""
    at_f, at_g = (5, -1), (7, -1)
    both, one = (panel_row(golden, at_f, shown) for shown in ("both", "one"))
    assert (both[RIGHT], both[4 + RIGHT]) == (2, 2)
    assert (one[RIGHT], one[4 + RIGHT]) == (0, 2), "the wall's row is kept"
    g = panel_row(golden, at_g, "one")
    assert all(g[d] == 0 or g[d] != g[4 + d] for d in range(4))
    env = gym.make("gumption/HALMA-v0", mazes=[golden], panels_equal="one")
    env.reset(seed=0)
    for length in (2, 1, 1, 1):
        env.step([RIGHT, length, 0, 0, 0, 0])
    observation, _, _, _, info = env.step([DOWN, 1, 0, 0, 0, 0])
    assert [digit["value"] for digit in info["digits"] if digit["colour"] == "yellow"] == [2]
    assert np.array_equal(panel_rows(observation[None])[0], one)
    visual = gym.make("gumption/HALMA-v0", mazes=[golden], panels_equal="one", observation="visual")
    _, info = visual.reset(seed=0)
    assert len(info["boxes"]) == np.count_nonzero(panel_row(golden, golden.start, "one"))
    assert oracle_trials(golden, 5, Rules(panels_equal="one")) == oracle_trials(golden, 5)


def test_panels_of_mazes_are_those_of_single_cells():
    mazes = sample_mazes(5, 1)
    for shown in ("both", "one"):
        found = Mazes(mazes, Rules(panels_equal=shown))
        for m, maze in enumerate(mazes):
            for cell in maze.cells:
                assert np.array_equal(found.rows[m, found.index(m, cell)], panel_row(maze, cell, shown))
    assert Mazes(mazes).fingerprint != Mazes(mazes, Rules(panels_equal="one")).fingerprint


# ---- A memory, knowledge bases and tests in such worlds


@pytest.mark.parametrize("rules", [{"panels_equal": "one"}, {"side": 7}, {"side": 12}, {"primitives": JUMPING}])
def test_a_memory_carries_the_rules_to_knowledge_bases_and_tests(tmp_path, rules):
    env = RecordMemory(HALMAVectorEnv(40, num_mazes=10, maze_seed=3, **rules), tmp_path / "memory")
    env.reset(seed=0)
    batch = env.unwrapped
    oracle = OracleActor(batch)
    for _ in range(30):
        options = batch.random_actions()
        known = (part[:20] for part in (batch.maze_index, np.minimum(batch.trial, 1), batch.trial_steps))
        options[:20] = oracle.options[tuple(known)]
        env.step(options)
    env.close()
    made = read_memory(tmp_path / "memory")
    assert made.knowledge.rules == made.mazes.rules == Rules(**rules)
    splits = make_splits(made, tmp_path / "splits", mazes=2)
    loaded = load_splits(tmp_path / "splits")
    assert loaded.rules == Rules(**rules)
    assert all(splits.manifest["parameters"][name] == value for name, value in rules.items())
    assert check_splits(loaded, made.knowledge, made.mazes) == []
    literal = read_memory(tmp_path / "memory", knowledge_base="literal", last_panel="dropped")
    own = make_splits(literal, tmp_path / "own", mazes=2, own={"asking": asking})
    assert (own.rules, own.choices) == (loaded.rules, literal.knowledge.choices)
    controls = matched_mazes(own["asking"], but=made.mazes)
    assert shape_of(controls)[:, 0].tolist() == shape_of(own["asking"])[:, 0].tolist()
    for mazes in (*loaded.values(), own["asking"], controls):
        player = HALMAVectorEnv(len(mazes), mazes=mazes, autoreset_mode="SameStep")
        assert player.rules == Rules(**rules)
        played = play(OracleActor(player), player, np.arange(player.num_envs))
        assert played.rho_g.min() == played.rho_p.min() == played.rho_a.min() == 1
    for known in (made.knowledge, literal.knowledge):
        graph = KnowledgeGraph()
        known.add_to(graph, "mine")
        back = KnowledgeBases.from_graph(graph, "halma/mine")
        assert (back.fingerprint, back.rules, back.choices) == (known.fingerprint, known.rules, known.choices)


def asking(knowledge, training, rng, mazes):
    """A test of one's own: a wall 3 and a crossing 2 above."""
    for _ in range(mazes):
        maze, cell = draw_maze(rng, Pair(3, 2, "up"), knowledge.rules.side)
        yield maze, Pair(3, 2, "up"), cell


def test_the_rules_count_in_the_fingerprint_of_a_memory():
    rows = np.zeros((1, 11), dtype=np.int8)
    plain = Memory.of(1, rows, [[RIGHT, 1]], rows)
    assert plain.layout.settings == {"max_opt_len": 1}, "headers of the paper's rules stay as they were"
    others = [Rules(panels_equal="one"), Rules(side=8), Rules(primitives=JUMPING)]
    prints = {Memory.of(1, rows, [[RIGHT, 1]], rows, rules=rules).fingerprint for rules in others}
    assert len(prints | {plain.fingerprint}) == 4


def test_a_memory_made_without_the_wrapper(tmp_path):
    """From infos alone: `landed_panel` is s' also where a trial ended and the agent was put back."""
    env = gym.make("gumption/HALMA-v0", num_mazes=3)
    recorded = RecordMemory(gym.make("gumption/HALMA-v0", num_mazes=3), tmp_path / "recorded")
    mazes, own = env.unwrapped.mazes, MemoryWriter(tmp_path / "own", 5)
    _, info = env.reset(seed=0)
    recorded.reset(seed=0)
    oracle, ends = OracleActor(env.unwrapped.batch), 0
    for _ in range(60):
        option = oracle.act(None, np.random.default_rng(0))[0]
        trial = info["trial"]
        before, (*_, done, cut, info) = info["panel"], env.step(option)
        recorded.step(option)
        flags = info["valid_move"] + 2 * info["success"] + 4 * (info["trial_over"] or done or cut)
        own.append(*(np.array([part]) for part in (before, option, info["landed_panel"], 0, trial, 0, flags)))
        if info["trial_over"]:
            ends += 1
            assert info["landed_cell"] == mazes[info["maze"]].goal
            assert info["cell"] == mazes[info["maze"]].start
        if done or cut:
            break
    own.close()
    recorded.close()
    mazes.save(tmp_path / "own" / "mazes.jsonl")
    assert ends > 2
    mine, theirs = (Memory.load(tmp_path / name) for name in ("own", "recorded"))
    for field in ("before", "option", "after", "trial", "flags"):
        assert np.array_equal(getattr(mine, field), getattr(theirs, field)), field
    found = read_memory(tmp_path / "own")
    same = Experience(KnowledgeBases.of(mine), mazes)
    assert found.knowledge.fingerprint == same.knowledge.fingerprint


# ---- Primitives


def test_a_jump_leads_over_what_lies_between():
    """A U of cells: from its left end to its right end there is no door."""
    way = [(0, 1), (0, 0), (1, 0), (2, 0), (2, 1)]
    maze = Maze((0, 0), (2, 1), list(pairwise(way)))
    rules = Rules(primitives=JUMPING)
    env = HALMAVectorEnv(1, mazes=[maze], primitives=JUMPING)
    assert env.single_action_space.nvec.tolist() == [4, *[5] * 5]
    env.reset(seed=0)
    outcome = env.move(np.array([[UP, 1, 0, 0, 0, 0]]))
    assert outcome.valid.all()
    outcome = env.move(np.array([[RIGHT, 4, 0, 0, 0, 0]]))
    assert outcome.valid.all()
    assert outcome.reached.all()
    for option in ([RIGHT, 4, 4, 0, 0, 0], [UP, 4, 0, 0, 0, 0], [RIGHT, 0, 0, 0, 0, 0], [LEFT, 3, 0, 0, 0, 0]):
        assert not env.move(np.array([option])).valid.any()
    trials = oracle_trials(maze, 1, rules)
    assert [move.direction for move in trials.planned] in (["up", "right"], ["right", "up"])
    assert Mazes([maze], rules).planned(1).tolist() == [2]
    assert Mazes([maze]).planned(1).tolist() == [2]


@pytest.mark.slow
@pytest.mark.parametrize("primitives", ["0,1,2,3", "0,1", "0,1,4", "0,2,1,7"])
@pytest.mark.parametrize("max_opt_len", [1, 2])
def test_the_yardstick_of_walks_is_the_shortest_way(primitives, max_opt_len):
    """In closed form as by a search over all options."""
    from gumption.envs.halma.rules import fewest_options

    mazes = Mazes(sample_mazes(10, 4), Rules(primitives=primitives))
    ends = zip(mazes.start.tolist(), mazes.goal.tolist(), strict=True)
    searched = [len(fewest_options(mazes.landings[:, m], *pair, max_opt_len)) for m, pair in enumerate(ends)]
    assert mazes.planned(max_opt_len).tolist() == searched
    env = HALMAVectorEnv(10, mazes=mazes, max_opt_len=max_opt_len, autoreset_mode="SameStep", max_steps=10_000)
    assert play(OracleActor(env), env, np.arange(10)).rho_p.min() == 1
    assert 0 <= play(RandomActor(max_opt_len, env.rules), env, np.arange(10)).rho_a.mean() < 1


def test_the_facts_of_a_jump():
    rules = Rules(primitives=JUMPING)
    world = HALMAFacts(2, rules)
    assert {"right 2+jump", "right jump", "up jump+jump"} <= set(world.vocabulary)
    row = np.zeros((1, 11), dtype=np.int8)
    row[0, 4 + RIGHT] = 4
    told = world.facts(row, np.array([[RIGHT, 4]]))
    words = {
        (world.vocabulary[s], world.vocabulary[o])
        for s, o in zip(told.subject[0, :, 3], told.object[0, :, 3], strict=True)
    }
    assert ("yellow 4", "right jump+jump") in words
    assert ("yellow 4", "right jump+2") in words
    assert HALMAFacts(5).vocabulary == HALMAFacts(5, RULES).vocabulary
    assert ("yellow 3", "affords", "right 1+2") in set(facts(partition="all"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"primitives": "1,2,3"}, "they begin with 0"),
        ({"primitives": "0,2"}, "have 1 among them"),
        ({"primitives": "0,1,1"}, "none twice"),
        ({"primitives": "0,1,two"}, "primitives have 'two'; each is a number of cells or MODULE:NAME"),
        ({"primitives": "0,1,02"}, "primitives have '02'; a walk is of 0 to 25 cells"),
        ({"primitives": f"0,1,{__name__}:over"}, "has no Primitive 'over'"),
        ({"primitives": "0,1,no_such_module:jump"}, "there is no module no_such_module here"),
        ({"primitives": f"0,1,{__name__}:nameless"}, "its name is 'two words'"),
        ({"primitives": f"0,1,{__name__}:jump,{__name__}:again"}, "primitives have jump twice"),
        ({"side": 3}, "side is 3"),
        ({"side": 12, "observation": "visual"}, "handwritten digits show distances up to 9"),
        ({"painter": f"{__name__}:paint"}, "painter=.* is for observation='visual'"),
        ({"side": 4, "num_mazes": 1000}, "in a box of 4 x 4 there are"),
        ({"mazes": Mazes(sample_mazes(1, 0)), "panels_equal": "one"}, "the mazes are of the paper's rules, not of"),
        ({"mazes": sample_mazes(1, 0, side=8)}, "is for boxes of side 8, not 10; give side=8"),
    ],
)
def test_rules_that_are_none(settings, message):
    sys.modules[__name__].again = jump
    with pytest.raises(InputError, match=message):
        HALMAVectorEnv(1, **settings)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("short", r"the primitive short gives \(3,\) of int64; where it ends is an array \(2, 100, 4\)"),
        ("outside", "the primitive outside ends at 99 in maze 0"),
    ],
)
def test_primitives_that_lead_nowhere(name, message):
    env = HALMAVectorEnv(1, num_mazes=2, primitives=f"0,1,{__name__}:{name}")
    env.reset(seed=0)
    with pytest.raises(InputError, match=message):
        env.step(np.array([[RIGHT, 2, 0, 0, 0, 0]]))


# ---- Sizes


@pytest.mark.parametrize("side", [4, 10, 26])
def test_a_world_of_another_size(side):
    env = HALMAVectorEnv(8, num_mazes=8, side=side, autoreset_mode="SameStep")
    observation, _ = env.reset(seed=0)
    assert observation.shape == (8, 11, 2 * side - 1)
    assert np.array_equal(panel_rows(observation), env.rows)
    assert play(OracleActor(env), env, np.arange(8)).rho_p.min() == 1
    assert Maze.from_json(env.mazes[0].to_json()) == env.mazes[0]
    assert ("side" in env.mazes[0].to_json()) == (side != 10)
    assert count_optimal_paths() == 738_980


# ---- Pictures of one's own


@pytest.mark.parametrize("panels", ["redrawn", "fixed"])
def test_a_painter_of_ones_own(panels):
    world = {"observation": "visual", "num_mazes": 3, "side": 12, "painter": f"{__name__}:paint", "panels": panels}
    env = HALMAVectorEnv(4, **world)
    shown, info = env.reset(seed=0)
    assert "boxes" not in info
    assert np.array_equal(shown[:, 0, 0, 0] // 2 * 2, 10 * env.rows[:, 4 + RIGHT] // 2 * 2)
    if panels == "fixed":
        again, _ = HALMAVectorEnv(4, **world).reset(seed=0)
        assert np.array_equal(shown, again)
    tests, _ = HALMAVectorEnv(4, **world | {"images": "test"}).reset(seed=0)
    assert tests.min() >= 100
    with pytest.raises(InputError, match=r"painter .*:paint_badly gives \(\d+, 64, 64, 3\) of uint8"):
        HALMAVectorEnv(4, **world | {"painter": f"{__name__}:paint_badly"}).reset(seed=0)


# ---- Adjusted sets (Appendix C)


@pytest.mark.slow
def test_adjusted_sets_have_uniform_colours_and_no_full_panel():
    plain, adjusted = sample_statistics(3), sample_statistics(3, adjusted=True)
    walls, goal, usual, most, ones, nines = adjusted.claims
    assert walls.met.all()
    assert goal.met.all()
    assert goal.values.max() < 0.03 < plain.claims[1].values.min()
    assert usual.met.all()
    assert most.met.all()
    assert ones.met.all()
    assert not nines.met.any(), "an erratum: paths that are drawn uniformly have more"


def test_adjusted_mazes_are_turned_ones_of_the_same_draw():
    few, many = sample_mazes(20, 5, adjusted=True), sample_mazes(40, 5, adjusted=True)
    assert many[:20] == few
    assert len(set(many)) == 40
    drawn = {_shape(maze) for maze in sample_mazes(60, 5)}
    assert {_shape(maze) for maze in few} <= drawn
    assert PanelStatistics.of([Mazes(few)]).panels[:, 9:].sum() == 0


def _shape(maze):
    """The same for all turns of a maze."""
    turns = [(a, b, c, d) for a, b, c, d in ((1, 0, 0, 1), (0, 1, 1, 0))]
    found = []
    for a, b, c, d in turns:
        for sx in (1, -1):
            for sy in (1, -1):
                moved = [
                    sorted((sx * (a * x + b * y), sy * (c * x + d * y)) for x, y in edge)
                    for edge in (*maze.edges, (maze.start, maze.goal))
                ]
                found.append((sorted(moved[:-1]), moved[-1]))
    return str(min(found))
