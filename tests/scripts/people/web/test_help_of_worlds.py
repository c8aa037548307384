"""Help in worlds whose pages list no choices: of what it speaks, that it is true, and that nothing hidden is in it."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs import worlds
from gumption.envs.physics.factors import Mass, Position, Velocity
from gumption.kg import KnowledgeGraph
from gumption.scripts.people.web.helping import MOST, Adviser, Asked, adviser_of, helpless, offer_of
from gumption.scripts.people.web.views import view_of

pytestmark = pytest.mark.filterwarnings("ignore:.*mine.nq")
UNLISTED = ("halma", "gradual", "segar", "probsol")
#: Of each, settings whose first choice the world's own facts say something of.
SPOKEN: Mapping[str, dict[str, Any]] = {
    "halma": {"seed": 43}, "gradual": {"tasks": "micro11", "seed": 1}, "segar": {"seed": 53}, "probsol": {},
}  # fmt: skip


def begun(world: str, **settings: Any) -> SimpleNamespace:
    view = view_of(worlds.find(world))
    env, face = view.begin(**{**SPOKEN[world], **settings})
    return SimpleNamespace(world=worlds.find(world), view=view, env=env, face=face, settings=settings)


def adviser(one: SimpleNamespace, kg: str = "full") -> Adviser:
    return adviser_of(Asked(offer_of(kg), one.world, one.view, one.env, one.settings))


def told(one: SimpleNamespace, kg: str = "full") -> list[dict[str, Any]]:
    return adviser(one, kg).said(one.view, one.env)["choices"]


def facts_of(choices: list[dict[str, Any]]) -> list[str]:
    return [fact["fact"] for choice in choices for fact in choice["facts"]]


def rows(one: SimpleNamespace, kg: str = "full") -> list[dict[str, Any]] | str:
    """What is told, or why nothing is."""
    try:
        return told(one, kg)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("world", UNLISTED)
def test_what_is_known_of_what_can_be_done_is_told_with_its_facts(world: str) -> None:
    one = begun(world)
    assert helpless(one.world, one.view, one.env) is None
    choices = told(one)
    assert 0 < len(choices) <= MOST
    assert len({choice["label"] for choice in choices}) == len(choices)
    for choice in choices:
        assert choice["facts"], "nothing unknown is told"
        assert {fact["told"] for fact in choice["facts"]} == {"stated"}
        assert (choice["score"] is None) == (not one.view.ranked)
        if "action" in choice:
            one.view.parse(choice["action"], one.env)  # it can be made
    if one.view.ranked:
        scores = [choice["score"] for choice in choices]
        assert scores == sorted(scores, reverse=True)


def test_halma_is_told_directions_and_the_options_that_reach_the_nearest_stop() -> None:
    one = begun("halma")
    choices = told(one)
    facts = {choice["label"]: {fact["fact"] for fact in choice["facts"]} for choice in choices}
    assert facts["right"] == {"square leads to right", "purple 4 points to right", "yellow 3 indicates right"}
    assert choices[0]["label"] == "right"
    assert "action" not in choices[0]  # a direction alone is no move
    assert facts["right 3"] == {"yellow 3 affords right 3"}
    assert facts["right 2+1"] == {"yellow 3 affords right 2+1"}
    [action] = [choice["action"] for choice in choices if choice["label"] == "right 3"]
    *_, info = one.env.step(one.view.parse(action, one.env))
    assert info["valid_move"]


@pytest.mark.parametrize("laws", ["real", "counterfactual"])
@pytest.mark.parametrize("names", ["real", "anonymous", "shuffled"])
def test_an_answer_that_the_graph_knows_is_right(names: str, laws: str) -> None:
    one = begun("gradual", tasks="micro11", threshold=1, names=names, laws=laws)
    said = over = 0
    while not over and said < 20:
        [best, *_] = told(one)
        assert one.env.batch.batch.life(0).solution.answer == best["action"]
        _, reward, terminated, truncated, _ = one.env.step(best["action"])
        said, over = said + 1, terminated or truncated
        assert reward >= 0
    assert over


def test_a_disc_in_hand_is_told_near_which_others_it_can_be_put() -> None:
    one = begun("probsol", task="fishing/0")
    assert [choice["action"] for choice in told(one)] == [["grab", "b"], ["grab", "c"]]
    live = one.view.live
    live.act(one.env, one.view.parse(["grab", "b"], one.env), live.step(one.env))
    choices = told(one)
    assert choices[0]["label"] == "put b down near a"
    assert "b attracts a" in facts_of(choices[:1])
    assert all("action" not in choice for choice in choices)  # where exactly, the player says
    live.act(one.env, one.view.parse(["place", 20, 22], one.env), live.step(one.env) + 1)
    assert ["hold", "b"] in [choice["action"] for choice in told(one)]


@pytest.mark.parametrize("laws", ["real", "counterfactual"])
@pytest.mark.parametrize(
    ("names", "reached"),
    [
        ("real", "goal tile affords reaching ball"),
        ("shuffled", "fire tile affords reaching ball"),
        ("anonymous", "bdbrnq affords reaching nkrphj"),
    ],
)
def test_a_ball_is_told_what_lies_ahead_of_it_in_every_direction(names: str, reached: str, laws: str) -> None:
    one = begun("segar", seed=3, names=names, laws=laws)
    assert f" to the {reached.partition(' affords ')[0]}, " in one.face.rules(one.env)
    drawing = one.view.drawing(one.env)
    kinds = {thing["name"] for thing in drawing["things"]}
    choices = told(one)
    for choice in choices:
        [kind] = {fact["fact"].partition(" affords ")[0] for fact in choice["facts"]}
        assert kind in kinds
        place = next(thing["place"] for thing in drawing["things"] if thing["name"] == kind)
        away = np.subtract(place, drawing["start"])
        angle = np.degrees(np.arctan2(away[1], away[0])) % 360
        arcs = [arc.split(" to ") for arc in choice["label"].removeprefix("a push at ").replace("°", "").split(", ")]
        assert any((angle - float(arc[0]) + 60) % 360 <= (float(arc[-1]) - float(arc[0])) % 360 + 120 for arc in arcs)
    assert reached in facts_of(choices)
    assert len(choices) == len({fact.partition(" ")[0] for fact in facts_of(choices)})


# ---- What is hidden


@pytest.mark.parametrize("move", [None, [0.6, 0.2]])
def test_what_a_ball_weighs_and_how_fast_it_is_changes_nothing_that_is_told(move: list[float] | None) -> None:
    one, other = begun("segar"), begun("segar")
    for each in (one, other) if move else ():
        each.env.step(each.view.parse(move, each.env))
    columns = other.env.batch.state.columns
    columns[Mass][:] *= 3.0
    columns[Velocity][:] += 0.2
    assert rows(one) == rows(other)


def test_nothing_is_told_of_a_ball_that_is_not_visible() -> None:
    one = begun("segar", env="gumption/Invisiball-v0", seed=1)
    one.env.step(one.view.parse([0, 0], one.env))
    before = rows(one)
    assert before == "the graph knows nothing of what can be done here; ask at the next choice"
    slot = int(one.env.batch.state.first(one.env.batch.task.actor)[0])
    one.env.batch.state.columns[Position][:, slot] -= 0.3
    assert rows(one) == before


def test_help_in_a_maze_follows_from_the_panel_alone() -> None:
    seen: dict[str, Any] = {}
    for seed in range(200):
        one = begun("halma", seed=seed)
        drawing = one.view.drawing(one.env)
        panel = repr((drawing["panel"], drawing["hint"]))
        if panel in seen:
            assert rows(one) == rows(seen[panel])
            return
        seen[panel] = one
    raise AssertionError("no two mazes have the same panel")


def test_help_in_a_stream_is_about_a_question_that_was_seen_and_hides_what_a_task_hides() -> None:
    one = begun("gradual")
    sent = one.view.drawing(one.env)["sent"]
    for fact in facts_of(told(one)):
        question = fact.partition(" has answer ")[0]
        assert question in sent
    for tasks in ("micro5.1", "micro6"):  # which answer is right there is drawn, and has to be found out
        assert "knows nothing" in str(rows(begun("gradual", tasks=tasks)))


def test_help_on_a_table_follows_from_the_graph_and_from_what_is_seen(tmp_path: Path) -> None:
    with KnowledgeGraph() as graph:
        graph.add([("fishing/0:b", "attracts", "fishing/0:a"), ("fishing/0:c", "affords", "grabbing")], graph="mine")
        graph.save(tmp_path / "mine.nq")
    real = begun("probsol", task="fishing/0")
    other = begun("probsol", task="fishing/0", laws="counterfactual")
    expected = ["b attracts a", "c affords grabbing"]
    for one in (real, other):
        assert sorted(facts_of(told(one, str(tmp_path / "mine.nq")))) == expected
    # The world's own facts are those of the law that holds.
    assert "b attracts a" in facts_of(told(real))
    assert "b repels a" in facts_of(told(other))


def test_a_graph_of_training_knows_nothing_of_a_task_of_the_test() -> None:
    with pytest.raises(InputError, match="the graph has none of the relations that the world asks for"):
        adviser(begun("probsol", task="fishing/9"), "train")
