"""The study of goals and constraints with people: its tasks, its design, its hypotheses, and the way through it."""

from collections import Counter
from itertools import pairwise
from math import ceil
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.scripts.people.probsol.study import begin, limited, options, report
from gumption.scripts.people.study.design import design
from gumption.scripts.people.study.files import find, read
from tests.scripts.people.study.served import in_process, leave, now, to_kind

STUDY = read("probsol-goals")


def cells(place: int) -> list[tuple[str, str]]:
    """(task, constraint) of a participant, in their order."""
    [goals] = [part for part in design(STUDY, place).blocks if not part.practice]
    return [(task.settings["task"], task.settings["constraint"]) for task in goals.tasks]


def test_a_limit_is_that_of_the_solution_rounded_up() -> None:
    actions = len(limited("fishing/seed-4", "none").solution)
    assert limited("fishing/seed-4", "none").constraints == {}
    assert limited("fishing/seed-4", "relaxed").constraints == {"action_number": 3 * actions}
    assert limited("fishing/seed-4", "critical").constraints == {"action_number": ceil(1.1 * actions)}
    for name in ("fishing/seed-5000000", "swimming/0", "fishing"):
        with pytest.raises(InputError, match="there is no task"):
            limited(name, "none")


def test_a_task_has_one_trial_and_tells_its_goal_alone() -> None:
    env, face = begin(task="building/seed-4", constraint="critical", names="anonymous")
    limit = limited("building/seed-4", "critical").constraints["action_number"]
    assert face.goal(env).endswith(f"At most {limit} actions a trial, 1 trial.")
    assert "seed" not in face.goal(env)
    *_, terminated, truncated, info = env.step(env.unwrapped.action_index("check"))
    assert (terminated or truncated, info["success"]) == (True, False)


def test_each_participant_plays_each_goal_twice_with_one_constraint() -> None:
    for place in range(24):
        mine = cells(place)
        assert len(set(mine)) == 12
        goals = Counter(task.partition("/")[0] for task, _ in mine)
        assert set(goals.values()) == {2}
        assert len({(task.partition("/")[0], constraint) for task, constraint in mine}) == 6
        assert set(Counter(constraint for _, constraint in mine).values()) == {4}


def test_the_whole_square_is_balanced() -> None:
    """2 names, 6 parts and 12 rows of the order: 144 participants play each task equally often at each place, under
    each name."""
    places: dict[str, Counter] = {"seen": Counter(), "new": Counter()}
    after = Counter()
    for place in range(144):
        own = design(STUDY, place)
        mine = cells(place)
        places[own.condition["name"]].update(enumerate(mine))
        after.update(pairwise(mine))
    for counted in places.values():
        assert len(counted) == 12 * 72
        assert set(counted.values()) == {1}
    assert set(after.values()) == {2}


def played(participant: int, task: str, constraint: str, plan: str, *actions: list) -> dict:
    return {
        "participant": participant,
        "settings": {"task": task, "constraint": constraint},
        "actions": [*actions, ["check"]],
        "success": participant == 1,
        "before": {"plan": next(option for option, name in options().items() if name == plan)},
    }


def test_participants_choose_among_sentences_that_name_no_strategy() -> None:
    plan = STUDY.blocks[0].before[0]
    assert options()[plan.options[0]] == "check only"
    assert not any(strategy in option for option, strategy in options().items() if strategy not in ("turn", "push"))


def test_the_hypotheses_are_about_what_people_told() -> None:
    place = ["place", 10, 12]
    tasks = [
        played(1, "fishing/seed-4", "none", "push", ["grab", "a"], place),
        played(1, "fishing/seed-310", "none", "push", ["grab", "a"], place),
        played(2, "fishing/seed-617", "none", "push", ["grab", "a"], place),
        played(2, "curling/seed-1", "critical", "check only"),
        played(1, "curling/seed-288", "critical", "check only"),
        played(1, "curling/seed-601", "critical", "turn"),
    ]
    figures, lines = report(tasks)
    assert figures["agreement"]["value"] == pytest.approx((3 + 1) / 6)
    assert figures["entropy"]["none"] == 0.0
    assert 0.9 < figures["entropy"]["critical"] < 1.0
    assert figures["kept_to_plan"] == pytest.approx(2 / 6), "those who told that they would only check did so"
    assert set(figures["foretold"]) == {"1", "2"}
    assert figures["foretold"]["2"]["goal and constraint"]["plan"] >= 0.5
    assert any("H1" in line for line in lines)
    assert any("H2, entropy of plans, constraint critical" in line for line in lines)
    assert any("H3, told plan foretold by goal and constraint" in line for line in lines)
    assert report(tasks[:1])[0] == {}


def test_who_lets_the_time_pass_has_begun_in_no_way() -> None:
    tasks = [
        played(1, "fishing/seed-4", "none", "push"),
        played(2, "fishing/seed-310", "none", "turn", ["grab", "a"]),
        {**played(3, "fishing/seed-617", "none", "turn"), "actions": []},
    ]
    figures, lines = report(tasks)
    assert set(figures["foretold"]) == {"1", "2"}
    assert figures["agreement"]["value"] == pytest.approx(1 / 3), "what was told counts, though nothing was done"
    assert figures["kept_to_plan"] == 0.0
    alone, lines = report([{**one, "participant": 1, "actions": []} for one in tasks])
    assert (alone["foretold"], alone["kept_to_plan"]) == ({}, None)
    assert "| played as they had told | - |" in lines
    assert not any("nan" in line for line in lines)
    assert report([]) == ({}, [report(tasks[:1])[1][0]])


@pytest.mark.slow
def test_the_way_through_the_study_by_check_alone(tmp_path: Path) -> None:
    with in_process(find("probsol-goals"), tmp_path) as server:
        _, cookie, _ = server.join(name="Ann")
        with server.page(cookie) as page:
            stage, plans = now(page), 0
            while stage["kind"] != "end":
                answers: dict = {}
                if stage["kind"] == "consent":
                    answers = {"agree": True}
                elif stage["kind"] == "quiz":
                    answers = {"free": "is free, and moves as the magnets say", "check": "once"}
                elif stage["kind"] == "questions":
                    answers = {"physics": "what everyone knows"}
                elif stage["kind"] == "plan":
                    plans += 1
                    assert "discs" in stage["text"] or "disc" in stage["text"]
                    assert leave(page, stage)["fields"] == ["plan"]
                    answers = {"plan": stage["questions"][0]["options"][0]}
                elif stage["kind"] == "task":
                    page.ask("go_on", episode=stage["episode"])
                    assert page.act(stage["episode"], 1, ["check"])["view"]["over"]
                stage = leave(page, stage, **answers)
            assert plans == 12
            assert to_kind(page, "end")["code"]
