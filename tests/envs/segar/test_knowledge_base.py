"""What a memory of SEGAR shows of what tiles afford: golden steps, random play against the factors of the scenes, and
the graph.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gumption.envs.segar
from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs.physics.entities import Hole
from gumption.envs.physics.factors import Friction, Heat
from gumption.envs.record_memory import RecordMemory
from gumption.envs.segar import Memory, add_memory, facts, memory_evidence, memory_facts
from gumption.envs.segar.env import PuttPuttVectorEnv
from gumption.envs.segar.memory import CONSUMED, INSIDE, OVER, OWN_SCENE, SUCCESS, evidence, layout
from gumption.kg import KnowledgeGraph
from gumption.kg.store.shapes import validate

SHAPES = Path(gumption.envs.segar.__file__).with_name("shapes.ttl")
TYPES = ("", "GolfBall", "SandTile", "MagmaTile", "Charger")
BALL, SAND, MAGMA, CHARGER = 1, 2, 3, 4
BURNS, SLOWS = ("MagmaTile", "affordsBurning", "ball"), ("SandTile", "affordsSlowing", "ball")
FALLS, REACHES = ("SandTile", "affordsFallingIn", "ball"), ("SandTile", "affordsReaching", "ball")


def memory(*steps: dict[str, Any], kinds: tuple[int, ...] = (BALL, SAND, MAGMA)) -> Memory:
    """A memory of steps of a ball of mass 1 that rolls with speed 1 along x, loses 0.1, and is on the bare floor
    before and after, but for what is given; each is an episode of level 0.
    """
    usual = {"mass": 1.0, "mass_after": 1.0, "velocity_after": [0.9, 0.0], "position_after": [0.05, 0.0]}
    told = [{**usual, **step} for step in steps]
    velocity = np.zeros((len(steps), len(kinds), 2))
    velocity[:, 0] = np.reshape([step.pop("speed", [1.0, 0.0]) for step in told], (-1, 2))
    names = {name for step in told for name in step}
    fields = {name: np.array([step.get(name, 0) for step in told]) for name in names - {"force"}}
    fields["force"] = np.reshape([step.get("force", [0, 0]) for step in told], (-1, 2))
    fields.setdefault("episode", np.arange(len(steps)))
    made = layout(len(kinds), "x")
    records = made.records(len(steps), **{"type": kinds, "size": 1.0, "velocity": velocity, **fields})
    return Memory(records, made, levels=("one", "two"), types=TYPES)


FLOOR: dict[str, Any] = {}
ON_SAND, ON_MAGMA = {"top": 1, "top_after": 1}, {"top": 2, "top_after": 2}
BURNT = {"mass_after": 0.9}
SLOWED = {"velocity_after": [0.5, 0.0]}


def test_a_mass_that_falls_on_one_tile_is_burning_from_three_sightings_on() -> None:
    assert memory_facts(memory(*[{**ON_MAGMA, **BURNT}] * 2)) == []
    assert memory_facts(memory(*[{**ON_MAGMA, **BURNT}] * 2), threshold=2) == [BURNS]
    assert memory_facts(memory(*[{**ON_MAGMA, **BURNT}] * 3)) == [BURNS]


def test_an_effect_that_most_meetings_do_not_show_is_no_fact() -> None:
    often = [{**ON_MAGMA, **BURNT}] * 9
    assert memory_facts(memory(*often, ON_MAGMA)) == [BURNS]
    assert memory_facts(memory(*often, ON_MAGMA), share=0.95) == []
    assert memory_facts(memory(*often, ON_MAGMA, ON_MAGMA)) == []
    assert memory_facts(memory(*often, ON_MAGMA, ON_MAGMA), share=0.5) == [BURNS]


def test_a_step_from_one_tile_to_another_explains_nothing() -> None:
    between = {"top": 1, "top_after": 2, **BURNT, **SLOWED}
    off = {"top": 2, "top_after": 0, **BURNT, **SLOWED}
    assert memory_facts(memory(*[FLOOR] * 5, *[between] * 5, *[off] * 5)) == []


def test_what_falls_in_on_its_way_has_fallen_into_the_tile_where_it_ended() -> None:
    fell = {"top": 2, "top_after": 1, "flags": CONSUMED | OVER}
    assert memory_facts(memory(*[fell] * 3)) == [FALLS]
    assert memory_facts(memory(*[fell] * 3, *[{**ON_SAND, "flags": INSIDE}] * 3)) == []
    assert memory_facts(memory(*[fell] * 3, *[ON_SAND] * 3)) == [FALLS]  # on its edge nothing falls in


def test_a_task_that_is_done_near_the_middle_of_a_tile_is_reaching() -> None:
    done = {**ON_SAND, "flags": SUCCESS | OVER}
    assert memory_facts(memory(*[done] * 3)) == [REACHES]
    assert memory_facts(memory(*[done] * 3, *[{**ON_SAND, "position_after": [0.06, 0]}] * 9)) == [REACHES]
    assert memory_facts(memory(*[done] * 3, *[{**ON_SAND, "position_after": [0.04, 0]}] * 9)) == []


SLOW = {**ON_SAND, **SLOWED}


@pytest.mark.parametrize(
    ("steps", "stated"),
    [
        ([FLOOR] * 3 + [SLOW] * 3, True),
        ([SLOW] * 3, False),  # what the floor takes is not known
        ([{**FLOOR, "level": 1}] * 3 + [SLOW] * 3, False),  # nor from another level
        ([SLOWED] * 3 + [FLOOR, FLOOR] + [SLOW] * 3, False),  # the floor takes as much
        ([FLOOR] * 3 + [ON_SAND] * 3, False),
        ([FLOOR] * 3 + [{**ON_SAND, "speed": [0.5, 0], "force": [0.5, 0], **SLOWED}] * 3, True),
        ([FLOOR] * 3 + [{**SLOW, "speed": [0, 0], "force": [0.5, 0]}] * 3, False),  # it was pushed, not slowed
        ([FLOOR] * 3 + [{**ON_SAND, "velocity_after": [0.3, 0.4]}] * 3, False),  # it was turned
        ([FLOOR] * 3 + [{**ON_SAND, "velocity_after": [-0.5, 0]}] * 3, False),  # it bounced
        ([FLOOR] * 3 + [{**ON_SAND, "velocity_after": [0, 0]}] * 3, True),  # it was stopped
        ([FLOOR] * 3 + [{**SLOW, "speed": [5, 0]}] * 3, False),  # faster than was ever seen: a limit may apply
        ([FLOOR] * 3 + [{**SLOW, "flags": OVER}] * 3, False),  # the step was cut short
    ],
)
def test_slowing_is_a_loss_of_speed_beyond_that_on_the_bare_floor_of_the_level(steps: list, stated: bool) -> None:
    fast = {"speed": [2.0, 0], "velocity_after": [1.9, 0], "top": 1, "top_after": 2}  # what speeds were seen
    assert (SLOWS in memory_facts(memory(fast, *steps))) == stated


def test_nothing_is_slowing_where_another_thing_may_have_done_it() -> None:
    steps = [FLOOR] * 3 + [SLOW] * 3
    seen = {"top": 2, "top_after": 2, "speed": [2.0, 0], "velocity_after": [1.9, 0]}
    assert memory_facts(memory(seen, *steps)) == [SLOWS]
    assert memory_facts(memory(*[{**step, "speed": [0.95, 0]} for step in steps], kinds=(BALL, SAND, CHARGER))) == []


def test_scenes_of_ones_own_are_compared_within_an_episode() -> None:
    seen = {"top": 2, "top_after": 2, "speed": [2.0, 0], "velocity_after": [1.9, 0], "episode": 0}
    steps = [{**step, "level": OWN_SCENE, "episode": 0} for step in [FLOOR] * 3 + [SLOW] * 3]
    assert memory_facts(memory(seen, *steps)) == [SLOWS]
    apart = [{**step, "episode": number} for number, step in enumerate(steps)]
    assert memory_facts(memory(seen, *apart)) == []


def test_evidence_counts_meetings_steps_episodes_and_levels() -> None:
    burnt = {**ON_MAGMA, **BURNT}
    lived = memory({**burnt, "episode": 4}, {**burnt, "episode": 4}, {**burnt, "episode": 5, "level": 1}, ON_MAGMA)
    (found,) = (one for one in evidence(lived) if one.effect == "affordsBurning")
    assert found == ("MagmaTile", "affordsBurning", 4, 3, 2, 2)
    assert evidence(memory()) == memory_facts(memory()) == memory_evidence(memory(), "ada") == []


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=30), st.integers(1, 9), st.floats(0, 1))
def test_more_is_asked_for_less_is_stated(steps: list[tuple[int, bool]], threshold: int, share: float) -> None:
    lived = memory(*({"top": top, "top_after": top, "mass_after": 0.9 if burnt else 1.0} for top, burnt in steps))
    some = set(memory_facts(lived, threshold=threshold, share=share))
    assert set(memory_facts(lived, threshold=threshold + 1, share=share)) <= some
    assert set(memory_facts(lived, threshold=threshold, share=min(1.0, share + 0.1))) <= some
    assert {fact[0] for fact in some} <= {TYPES[(BALL, SAND, MAGMA)[top]] for top, _ in steps}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Memory, PuttPuttVectorEnv]:
    """A memory of random play, and the environment."""
    folder = tmp_path_factory.mktemp("lived") / "memory"
    env = RecordMemory(PuttPuttVectorEnv(64, levels="tilesx3-medium", num_levels=20, observation="state"), folder)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(150):
        env.step(rng.uniform(-1, 1, (64, 2)).astype(np.float32))
    env.close()
    return Memory.load(folder), env.unwrapped


def test_random_play_finds_what_the_scenes_say_and_nothing_else(lived) -> None:
    memory, env = lived
    tiles = [entity for scene in env.levels.scenes for entity in scene.entities if Heat in entity.factors]
    hot = {tile.type.__name__ for tile in tiles if tile.factors[Heat]}
    rough = {tile.type.__name__ for tile in tiles if tile.factors[Friction]}
    holes = {tile.type.__name__ for tile in tiles if issubclass(tile.type, Hole)}
    # In these levels the heat and the friction of all tiles but the goal are drawn, whatever their type.
    assert hot == rough == {"FireTile", "Hole", "MagmaTile", "SandTile"}
    told = memory_facts(memory)
    assert set(told) == {
        *((kind, "affordsBurning", "ball") for kind in hot),
        *((kind, "affordsSlowing", "ball") for kind in rough),
        *((kind, "affordsFallingIn", "ball") for kind in holes),
        ("GoalTile", "affordsReaching", "ball"),
    }
    assert told == sorted(told)
    stated = facts(partition="all", levels="tilesx3-medium", num_levels=20)
    assert set(told) == {fact for fact in stated if fact[1].startswith("affords")}  # the rules say the same
    assert all(one.shown in (0, one.met) for one in evidence(memory))


def test_a_graph_can_be_asked_and_advises(lived) -> None:
    memory, _ = lived
    graph = KnowledgeGraph()
    graph.add([("old", "affordsBurning", "ball")], graph="segar/ada")
    counts = add_memory(graph, memory, "ada")
    assert counts == dict(graph.graphs())
    assert not list(graph.triples(subject="old"))
    assert set(graph.triples(graph="segar/ada")) == set(memory_facts(memory))
    assert add_memory(graph, memory, "ada") == counts
    assert graph.annotations("segar/ada")["memory"] == memory.fingerprint
    add_memory(graph, memory, "bob")
    rows = graph.query(
        "SELECT ?who ?shown ?met ?episodes ?levels { GRAPH ?g { ?n gum:hasThing ?thing ; gum:hasEffect ?effect ; "
        "gum:ofRun ?who ; gum:hasVisits ?shown ; gum:hasMeetings ?met ; gum:hasEpisodes ?episodes ; "
        "gum:hasLevels ?levels } } ORDER BY ?who",
        thing="Hole",
        effect="affordsFallingIn",
    )
    (one,) = (one for one in evidence(memory) if (one.thing, one.effect) == ("Hole", "affordsFallingIn"))
    assert one.shown > 50
    counted = [str(n) for n in (one.shown, one.met, one.episodes, one.levels)]
    assert [list(map(str, row.values())) for row in rows] == [["ada", *counted], ["bob", *counted]]

    env = PuttPuttVectorEnv(1, directions=4, observation="state", num_levels=1)
    things = [("golfball", "GolfBall", [0, 0]), ("goal", "GoalTile", [0.6, 0]), ("hole", "Hole", [0, 0.6])]
    entities = [{"id": id, "type": kind, "factors": {"Position": place}} for id, kind, place in things]
    env.reset(options={"scene": {"entities": entities}})
    advice = Advice(graph, env.vocabulary, env.relations)
    said = {tuple(np.array(advice.relations)[row.numpy() > 0]) for row in advice(env)[0]}
    assert said == {(), ("affordsReaching@1",), ("affordsBurning@1", "affordsFallingIn@1", "affordsSlowing@1")}


def test_evidence_fits_the_shapes_beside_the_facts_of_the_world(lived) -> None:
    graph = KnowledgeGraph()
    graph.add(facts(partition="all"), graph="segar")
    before = validate(graph, SHAPES).checked
    add_memory(graph, lived[0], "ada")
    report = validate(graph, SHAPES)
    assert report.conforms, report
    assert report.checked > before
    graph.add([("evidence:bob:Hole affordsBurning", "hasThing", "Hole")], graph="segar/bob/evidence")
    assert not validate(graph, SHAPES).conforms


@pytest.mark.parametrize("settings", [{"threshold": 0}, {"share": 1.5}, {"share": "most"}])
def test_settings_out_of_range_are_told(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(settings))}"):
        memory_facts(memory(), **settings)
