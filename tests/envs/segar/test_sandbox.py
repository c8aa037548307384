"""Tasks, observations, renderers, types, factors and rules of a person's own, named "module:name"."""

import json
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import gumption.envs  # noqa: F401  (registers)
from gumption.agents.segar.config import SegarConfig
from gumption.agents.segar.runs import watch
from gumption.agents.segar.study import generalisation
from gumption.agents.segar.training import load_run, train_segar
from gumption.data import InputError
from gumption.envs.physics.entities import GolfBall
from gumption.envs.physics.factors import Position, Size, Visible
from gumption.envs.physics.initialization import Initialization
from gumption.envs.record_memory import RecordMemory
from gumption.envs.segar import Memory, Observation, Simulator, Task, memory_facts
from gumption.envs.segar.configurations import check_replay, draw_levels, level, load_levels
from gumption.envs.segar.observations import LeftOut, make_observation
from gumption.envs.segar.tasks import TASKS
from gumption.envs.segar.text import begin

MODULE = """
from typing import Tuple

import numpy as np
from gymnasium import spaces

from gumption.envs.physics.entities import GoalTile, GolfBall, SandTile
from gumption.envs.physics.factors import Factor, Parameter, Position, Size, Velocity
from gumption.envs.physics.scene import ALL_RULES
from gumption.envs.segar import Differential, Generator, IsOn, Observation, SetFactor, Task, rule
from gumption.envs.segar.tasks import PuttPutt


class Dusty(Factor, base="bool"):
    pass


class Wind(Parameter):
    pass


class DustyBall(GolfBall):
    factors = {Dusty: False}


@rule(relation=IsOn())
def gather_dust(ball: Tuple[Dusty], tile: SandTile) -> SetFactor[Dusty]:
    return SetFactor(ball[0], True)


@rule
def blow(v: Velocity, wind: Wind) -> Differential[Velocity]:
    return Differential(v, wind * [1.0, 0.0])


@rule
def jitter(v: Velocity, rng: Generator) -> Differential[Velocity]:
    return Differential(v, rng.normal(0.0, 1.0, width=2))


class DustyPutt(PuttPutt):
    def at_goal(self, state):
        return super().at_goal(state) & state.of(GolfBall, Dusty)

    def reward(self, before, action, after):
        return 1.0 * self.at_goal(after) - 0.1 * self.distance(after)


class Seen(Observation):
    space = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def observe(self, state, fresh=True):
        return state.of(GolfBall, Position).astype(np.float32)


class Grey:
    def __init__(self, resolution):
        self.resolution = resolution

    def begin(self, state, columns, seeds):
        pass

    def draw(self, state):
        return np.full((state.num_envs, self.resolution, self.resolution, 3), 128, np.uint8)


class Grow(Task):
    action_space = spaces.Discrete(3)

    def act(self, state, action):
        state.columns[Size][0, state.first(GolfBall), np.arange(state.num_envs)] += 0.05 * action

    def reward(self, before, action, after):
        return after.of(GolfBall, Size) - before.of(GolfBall, Size)

    def done(self, before, action, after):
        return after.of(GolfBall, Size) > 0.5

    def info(self, before, action, after):
        return {"size": after.of(GolfBall, Size), "chosen": action}


def putts(place):
    return {
        "numbers": [[SandTile, 1], [GoalTile, 1], [DustyBall, 1]],
        "priors": [
            {"target": "Position", "value": {"noise": place}, "entity_type": SandTile},
            {"target": "Position", "value": {"noise": "RandomTopLocation"}, "entity_type": GoalTile},
            {"target": "Position", "value": {"noise": "RandomBottomLocation"}, "entity_type": GolfBall},
        ],
        "sim": {"rules": [*ALL_RULES, gather_dust]},
    }


LEFT, RIGHT = putts("RandomLeftLocation"), putts("RandomRightLocation")
number = 3
"""


@pytest.fixture(autouse=True)
def _own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "own_sandbox.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_sandbox", raising=False)
    yield
    sys.modules.pop("own_sandbox", None)
    from gumption.envs.physics.entities import TYPES
    from gumption.envs.physics.factors import FACTORS, PARAMETERS
    from gumption.envs.physics.rules import RULES

    for known in (TYPES, FACTORS, PARAMETERS, RULES):
        for name in [name for name, each in known.items() if "own_sandbox" in _module_of(each)]:
            del known[name]


def _module_of(thing: Any) -> str:
    return str(getattr(getattr(thing, "function", thing), "__module__", ""))


def own(count: int = 2, task: Any = "own_sandbox:DustyPutt", **settings: Any) -> Any:
    given = {"levels": "own_sandbox:LEFT", "num_levels": 4, "observation": "own_sandbox:Seen", **settings}
    return gym.make_vec("gumption/SEGAR-v0", num_envs=count, task=task, **given).unwrapped


SCENE = {
    "sim": {"rules": ["move", "own_sandbox:gather_dust", "accelerate"]},
    "entities": [
        {"id": "ball", "type": "own_sandbox:DustyBall", "factors": {"Position": [-0.5, 0], "Velocity": [5, 0]}},
        {"type": "SandTile", "factors": {"Position": [0, 0], "Shape": {"kind": "circle", "size": 0.4}}},
        {"type": "GoalTile", "factors": {"Position": [0.5, 0]}},
    ],
}


@pytest.mark.slow
def test_the_goal_counts_only_after_sand_was_rolled_over() -> None:
    sim = Simulator(SCENE, task="own_sandbox:DustyPutt")
    found = []
    for _ in range(20):
        touches = sim.state()["ball"]["Position"][0] > -0.301  # by its edge
        sim.step()
        found.append((touches, sim.state()["ball"]["Dusty"], sim.reward()))
    assert [touches for touches, _, _ in found] == [dusty for _, dusty, _ in found]
    assert {dusty for _, dusty, _ in found} == {False, True}
    assert max(reward for _, _, reward in found) == pytest.approx(1.0, abs=0.01)
    clean = json.loads(json.dumps(SCENE)) | {"sim": {"rules": ["move"]}}
    sim = Simulator(clean, task="own_sandbox:DustyPutt")
    rewards = []
    for _ in range(20):
        sim.step()
        rewards.append(sim.reward())
    assert -0.01 < max(rewards) <= 0.0


@pytest.mark.slow
def test_an_own_action_changes_any_factor_and_the_reward_sees_state_before_action_and_state_after() -> None:
    env = own(task="own_sandbox:Grow")
    assert env.single_action_space == spaces.Discrete(3)
    env.reset(seed=0)
    before = env.state.of(GolfBall, Size)
    _, reward, terminated, _, info = env.step(np.array([0, 2]))
    assert reward == pytest.approx([0.0, 0.1])
    assert not terminated.any()
    assert info["size"] == pytest.approx(before + np.array([0.0, 0.1]))
    assert info["chosen"].tolist() == [0, 2]
    for _ in range(6):
        _, reward, terminated, _, _ = env.step(np.array([0, 2]))
        if terminated[1]:
            break
    assert terminated.tolist() == [False, True]
    assert not env.action_facts().subject.any()
    env.reset()
    with pytest.raises(InputError, match="out of range: it is a whole number from 0 to 2"):
        env.step(np.array([0, 3]))


def test_a_task_of_functions_is_the_same_as_a_subclass() -> None:
    def act(state: Any, action: np.ndarray) -> None:
        state.columns[Size][0, state.first(GolfBall), np.arange(state.num_envs)] += 0.05 * action

    def reward(before: Any, action: np.ndarray, after: Any) -> np.ndarray:
        return after.of(GolfBall, Size) - before.of(GolfBall, Size)

    task = Task(spaces.Discrete(3), act, reward, done=lambda before, action, after: after.of(GolfBall, Size) > 0.5)
    one, other = own(task=task), own(task="own_sandbox:Grow")
    for env in (one, other):
        env.reset(seed=0)
    for _ in range(8):
        first, second = one.step(np.array([1, 2])), other.step(np.array([1, 2]))
        for mine, its in zip(first[:4], second[:4], strict=True):
            np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("name", [name for name in TASKS if f"gumption/{name}-v0" in gym.registry])
def test_shipped_tasks_are_played_by_the_sandbox_too(name: str) -> None:
    settings = {"observation": "state", "num_levels": 2}
    one = gym.make_vec("gumption/SEGAR-v0", num_envs=2, task=name, **settings)
    other = gym.make_vec(f"gumption/{name}-v0", num_envs=2, **settings)
    for env in (one, other):
        env.reset(seed=1)
    for step in range(3):
        push = np.full((2, 2), 0.5 * step)
        for mine, its in zip(one.step(push)[:4], other.step(push)[:4], strict=True):
            np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task": "own_sandbox:number"}, "own_sandbox has no task 'number'"),
        ({"task": "Golf"}, "there is no task 'Golf'; there are PuttPutt"),
        ({"task": "no_such_module_x:A"}, "there is no module no_such_module_x here"),
        ({"task": "own_sandbox:DustyPutt()"}, "it is MODULE:NAME"),
        ({"observation": "own_sandbox:Grow"}, "own_sandbox has no subclass of Observation 'Grow'"),
        ({"observation": {"renderer": {"kind": "own_sandbox:Seen"}}}, "no class with begin and draw 'Seen'"),
        ({"levels": "own_sandbox:number"}, "own_sandbox has no distribution 'number'"),
        ({"task": "own_sandbox:Grow", "directions": 8}, "directions are of forces"),
    ],
)
def test_a_name_that_is_none_of_these_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace(")", r"\)")):
        own(**settings)


def test_answers_of_a_wrong_shape_are_refused() -> None:
    for reward, message in ((1.0, "reward of the task Task has the shape"), (np.full(2, np.nan), "is not finite")):
        env = own(task=Task(reward=lambda before, action, after, told=reward: told))
        env.reset(seed=0)
        with pytest.raises(InputError, match=message):
            env.step(np.zeros((2, 2)))
    env = own(
        task=Task(reward=lambda before, action, after: np.ones(2), info=lambda before, action, after: {"size": 1})
    )
    with pytest.raises(InputError, match="info 'size' of the task Task has the shape"):
        env.reset(seed=0)


def test_own_renderers_and_classes_of_observations() -> None:
    env = own(observation={"renderer": {"kind": "own_sandbox:Grey", "resolution": 8}})
    observation, _ = env.reset(seed=0)
    assert observation.shape == (2, 8, 8, 3)
    assert (observation == 128).all()

    class Sizes(Observation):
        space = spaces.Box(0, 9, (1,), np.float32)

        def observe(self, state: Any, fresh: bool = True) -> np.ndarray:
            return state.of(GolfBall, Size)[:, None].astype(np.float32)

    assert own(observation=Sizes).reset(seed=0)[0] == pytest.approx(0.2)
    with pytest.raises(InputError, match="has no space"):
        make_observation(type("Blind", (Observation,), {}))


def test_levels_with_own_things_are_saved_and_named_and_replay() -> None:
    levels = draw_levels("own_sandbox:LEFT", "test", n=3)
    levels.save("own.json")
    loaded = load_levels("own.json")
    check_replay(loaded)
    text = Path("own.json").read_text()
    assert "own_sandbox:DustyBall" in text
    assert "own_sandbox:gather_dust" in text
    assert level(levels.names[2]).to_data() == levels.scenes[2].to_data()
    assert levels.names[2] == "own_sandbox:LEFT/test/0/2"
    written = Initialization.read(Initialization.read(level_dict()).to_data())
    assert written.to_data() == Initialization.read(level_dict()).to_data()


def level_dict() -> Any:
    return getattr(sys.modules["own_sandbox"], "LEFT")  # noqa: B009


def test_a_subclass_of_the_golf_ball_has_its_id_and_is_seen() -> None:
    scene = draw_levels("own_sandbox:LEFT", n=1).scenes[0]
    assert [each.id for each in scene.entities if issubclass(each.type, GolfBall)] == ["golfball"]
    with pytest.warns(LeftOut, match="leaves out Dusty"):
        seen, _ = own(observation={"kind": "state", "unique_ids": ["golfball"], "n_things": 3}).reset(seed=0)
    assert seen[:, 0, 4:6].min() >= -1  # its Position


def test_what_an_observation_leaves_out_is_told() -> None:
    with pytest.warns(LeftOut, match="has 2 rows, and 1 of the 3 things"):
        own(observation={"kind": "state", "n_things": 2, "factors": ["Position", "own_sandbox:Dusty"]})
    with pytest.warns(LeftOut, match="no scene has an entity 'cueball'"):
        own(observation={"kind": "entity", "id": "cueball", "factors": ["Position", "own_sandbox:Dusty"]})


def test_invisiball_shows_the_ball_in_the_reset_observation_alone() -> None:
    seen = {"kind": "state", "unique_ids": ["golfball"], "n_things": 6}
    env = gym.make_vec("gumption/Invisiball-v0", num_envs=3, observation=seen, num_levels=2).unwrapped
    first, _ = env.reset(seed=0)
    assert first[:, 0, 4:6].min() >= -1  # its Position
    for _ in range(3):
        later = env.step(np.zeros((3, 2)))[0]
        assert (later[:, 0] == -1000).all()
        assert (later[:, 1:3] != -1000).any()
    shown = gym.make_vec("gumption/PuttPutt-v0", num_envs=3, observation=seen, num_levels=2).unwrapped
    shown.reset(seed=0)
    assert shown.step(np.zeros((3, 2)))[0][:, 0, 4:6].min() >= -1
    assert not env.state.columns[Visible][0, env.state.first(GolfBall), np.arange(3)].any()


@pytest.mark.slow
@pytest.mark.parametrize("observation", ["state", "own_sandbox:Seen"])
def test_an_own_task_trains_and_has_gap_w2_watch_and_memory(observation: str, tmp_path: Path) -> None:
    config = SegarConfig(
        task="own_sandbox:DustyPutt", levels="own_sandbox:LEFT", test="own_sandbox:RIGHT", observation=observation,
        num_levels=2, test_levels=3, num_envs=2, n_steps=8, minibatches=2, total_steps=32, eval_interval=16,
        device="cpu",
    )  # fmt: skip
    run = train_segar(config, tmp_path / "run", progress=False)
    loaded = load_run(tmp_path / "run")
    assert loaded.config.task == "own_sandbox:DustyPutt"
    if observation == "state":
        assert "own_sandbox:Dusty" in config.seen().factors
        assert config.seen().unique_ids == ("golfball", "goal")
    player = watch(tmp_path / "run")
    player.begin(0)
    assert player.decide()[1][0].question == "force"
    if observation == "state":
        found = generalisation(run, lambda env, first: np.ones((env.num_envs, 2)))["test"]
        assert found["w2"]["factors"] > 0
        assert "gap" in found


def test_an_own_task_is_recorded_and_played(tmp_path: Path) -> None:
    env = RecordMemory(own(), tmp_path / "memory")
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.zeros((2, 2)))
    env.close()
    choices = RecordMemory(own(task="own_sandbox:Grow"), tmp_path / "choices")
    choices.reset(seed=0)
    choices.step(np.array([0, 2]))
    choices.close()
    memory = Memory.load(tmp_path / "choices")
    assert memory.records["action"].tolist() == [0, 2]
    assert "force" not in (memory.records.dtype.names or ())
    assert memory_facts(memory) == []
    game, face = begin(task="own_sandbox:Grow", level="own_sandbox:LEFT/test/0/1")
    assert "a whole number from 0 to 2" in face.rules(game)
    _, _, _, _, info = game.step(face.parse("2", game))
    assert info["size"] == pytest.approx(0.3)
    assert face.told(info, False) == "the episode goes on"
    with pytest.raises(InputError, match="'7' is no action; type a whole number from 0 to 2"):
        face.parse("7", game)


RULES = ["move", "stop_condition", "accelerate"]


def drawn(**sim: Any) -> Initialization:
    return Initialization.read(
        {
            "numbers": [["GolfBall", 1], ["GoalTile", 1], ["Ball", 2]],
            "priors": [
                {"target": "Velocity", "value": [0.5, 0.2], "entity_type": "Object"},
                {"target": "Position", "value": {"noise": "RandomUniformLocation"}},
            ],
            "sim": sim,
        }
    )


def test_a_distribution_over_sets_of_rules_and_over_parameters() -> None:
    sets = [RULES, [*RULES, "own_sandbox:blow"], ["own_sandbox:jitter", *RULES]]
    wind = {"own_sandbox:Wind": {"noise": "UniformNoise", "low": 0.5, "high": 2.0}}
    found = drawn(
        rules={"noise": "RuleSets", "sets": sets}, parameters=wind, gravity={"noise": "Choice", "values": [5.0, 10.0]}
    )
    levels = draw_levels(found, n=12)
    check_replay(levels)
    levels.save("mixed.json")
    check_replay(load_levels("mixed.json"))
    named = {tuple(scene.to_data()["sim"]["rules"]) for scene in levels.scenes}
    assert named == {tuple(each) for each in sets}
    assert len({scene.sim.parameters["Wind"] for scene in levels.scenes}) == 12
    assert {scene.sim.gravity for scene in levels.scenes} == {5.0, 10.0}
    with_seed = [scene for scene in levels.scenes if "own_sandbox:jitter" in scene.to_data()["sim"]["rules"]]
    assert all(scene.sim.seed for scene in with_seed)
    # Scenes of one batch have different rules, and each goes on as it does alone, bit for bit.
    batch = Simulator(list(levels.scenes))
    batch.step(30)
    for i, scene in enumerate(levels.scenes):
        alone = Simulator(scene)
        alone.step(30)
        assert alone.arrays.scene(0).to_data() == batch.arrays.scene(i).to_data(), i
    env = own(levels=levels, task="PuttPutt")
    env.reset(seed=0, options={"level": 1})
    again = own(levels=levels, task="PuttPutt", count=5)
    again.reset(seed=5, options={"level": 1})
    for _ in range(6):
        env.step(np.zeros((2, 2)))
        again.step(np.zeros((5, 2)))
    np.testing.assert_array_equal(env.state.of(GolfBall, Position)[0], again.state.of(GolfBall, Position)[3])
    assert env.describe(0)["scene"]["sim"]["rules"] == levels.scenes[1].to_data()["sim"]["rules"]


def test_a_scene_with_other_rules_is_put_into_a_batch_and_keeps_them() -> None:
    env = own(task="PuttPutt", count=1, levels="empty-easy")
    env.reset(seed=0)
    still = json.loads(json.dumps(SCENE)) | {"sim": {"rules": []}}
    env.reset(options={"scene": still})
    env.step(np.zeros((1, 2)))
    assert env.state.of(GolfBall, Position)[0].tolist() == [-0.5, 0.0]
    env.reset(options={"scene": SCENE})
    env.step(np.zeros((1, 2)))
    assert env.state.of(GolfBall, Position)[0, 0] == pytest.approx(-0.25)


@pytest.mark.parametrize(
    ("sim", "message"),
    [
        ({"rules": ["mve"]}, "there is no rule 'mve'"),
        ({"rules": ["os:getcwd"]}, "os has no rule 'getcwd'"),
        ({"rules": {"noise": "RuleSets", "sets": []}}, "sets is empty"),
        ({"rules": {"noise": "RuleSets", "sets": [["move"]], "p": [0.5]}}, "p"),
        ({"parameters": {"Gravity": 5.0}}, "Gravity is the setting 'gravity', beside parameters"),
        ({"parameters": {"Restitution": {"noise": "UniformNoise", "low": -1, "high": 1}}}, "what is no Restitution"),
        ({"parameters": {"Restitution": {"noise": "RandomTopLocation"}}}, "Restitution cannot be drawn from"),
    ],
)
def test_a_distribution_that_cannot_be_drawn_is_refused(sim: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        drawn(**sim)


def test_a_rule_given_as_an_object_is_named_in_the_data() -> None:
    draw_levels("own_sandbox:LEFT", n=1)
    blow = sys.modules["own_sandbox"].blow
    found = drawn(rules=[*RULES, blow])
    assert found.to_data()["sim"]["rules"][-1] == "own_sandbox:blow"
    check_replay(draw_levels(found, n=2))


def test_draws_are_normal_and_independent_of_the_batch_and_the_form_of_the_rule() -> None:
    from gumption.envs.physics.draws import Generator

    rng = Generator("a", np.arange(1000), np.zeros(1000, dtype=np.int64), [np.tile(np.arange(50), (1000, 1))])
    numbers = rng.normal(1.0, 2.0, width=2)
    assert numbers.shape == (1000, 50, 2)
    assert numbers.mean() == pytest.approx(1.0, abs=0.03)
    assert numbers.std() == pytest.approx(2.0, abs=0.03)
    assert abs(np.corrcoef(numbers[..., 0].ravel(), numbers[..., 1].ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(numbers[:-1].ravel(), numbers[1:].ravel())[0, 1]) < 0.02
    one = Generator("a", np.array([7]), np.array([0]), [np.array([[3]])])
    assert one.normal(1.0, 2.0, width=2)[0, 0].tolist() == numbers[7, 3].tolist()
    whole = Generator("a", np.arange(100), np.zeros(100), [np.zeros((100, 1))]).integers(2, 5)
    assert set(whole.ravel().tolist()) == {2, 3, 4}
    assert (
        rng.row((7, 3)).random() == rng.__class__("a", np.array([7]), np.array([0]), [np.array([[3]])]).random()[0, 0]
    )
