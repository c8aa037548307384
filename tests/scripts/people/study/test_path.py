"""The stage of a participant follows from what is in the store, and from nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.scripts.people.study.design import design
from gumption.scripts.people.study.path import (
    AGREE,
    NEXT,
    WRONG,
    Kept,
    Stage,
    open_questions,
    present,
    stages,
    wrong_answers,
)
from tests.scripts.people.study.studies import study

STUDY = study()
PATH = stages(STUDY, design(STUDY, 0))


def done(stage: Stage) -> tuple[dict, bool]:
    """What a participant who has done the stage leaves: answers, and whether its episode has ended."""
    return ({AGREE: True} if stage.kind == "consent" else {NEXT: True}), stage.kind == "task"


def test_the_stages_of_a_study_in_their_order() -> None:
    assert [(stage.kind, stage.name) for stage in PATH] == [
        ("consent", "consent"),
        ("text", "instructions/0"),
        ("text", "instructions/1"),
        ("task", "practice/0"),
        ("quiz", "quiz"),
        ("task", "training/0"),
        ("task", "training/1"),
        ("text", "test"),
        ("task", "test/0"),
        ("task", "test/1"),
        ("questions", "questions"),
        ("end", "end"),
    ]
    assert [stage.number for stage in PATH] == list(range(len(PATH)))


def test_a_plan_is_asked_before_each_task_of_its_block() -> None:
    asked = [{"kind": "text", "name": "plan", "text": "How will you try?"}]
    one = study(blocks__0__before=asked)
    kinds = [(stage.kind, stage.at) for stage in stages(one, design(one, 0)) if stage.name.startswith("training")]
    assert kinds == [("plan", 0), ("task", 0), ("plan", 1), ("task", 1)]


@given(st.data())
@settings(max_examples=60)
def test_the_present_stage_is_the_first_that_is_not_done_whatever_else_is_kept(data: st.DataObject) -> None:
    have = data.draw(st.sets(st.sampled_from(PATH[:-1]).map(lambda stage: stage.number)))
    answers = {number: done(PATH[number])[0] for number in have}
    ended = frozenset(number for number in have if done(PATH[number])[1])
    now = present(STUDY, PATH, Kept(answers, ended))
    first = next(number for number in range(len(PATH)) if number not in have)
    assert now.stage.number == first
    assert now.state == ("done" if first == len(PATH) - 1 else "going")


@given(st.data())
@settings(max_examples=40)
def test_what_is_kept_in_addition_never_leads_back(data: st.DataObject) -> None:
    some = data.draw(st.sets(st.integers(0, len(PATH) - 2)))
    more = some | data.draw(st.sets(st.integers(0, len(PATH) - 2)))

    def at(have: set[int]) -> int:
        answers = {number: done(PATH[number])[0] for number in have}
        return present(STUDY, PATH, Kept(answers, frozenset(have))).stage.number

    assert at(some) <= at(more)


def before(name: str) -> dict:
    """Answers of all stages before the one of that name."""
    number = next(stage.number for stage in PATH if stage.name == name)
    return {stage.number: done(stage)[0] for stage in PATH[:number]}


def test_a_task_with_feedback_is_left_by_its_button_and_one_without_by_its_end() -> None:
    for name, goes_on in (("training/0", False), ("test/0", True)):
        stage = next(one for one in PATH if one.name == name)
        earlier = frozenset(range(stage.number))
        assert present(STUDY, PATH, Kept(before(name), earlier)).stage == stage
        now = present(STUDY, PATH, Kept(before(name), earlier | {stage.number}))
        assert now.stage.number == stage.number + goes_on


def test_consent_has_to_be_given() -> None:
    assert present(STUDY, PATH, Kept({0: {AGREE: False, NEXT: True}})).stage.number == 0


def test_who_has_no_try_left_at_the_quiz_may_not_go_on() -> None:
    [quiz] = [stage for stage in PATH if stage.kind == "quiz"]
    for wrong, state in ((2, "going"), (3, "refused")):
        kept = Kept({**before("quiz"), quiz.number: {WRONG: wrong}}, frozenset(range(quiz.number)))
        now = present(STUDY, PATH, kept)
        assert (now.stage, now.state) == (quiz, state)
    assert wrong_answers(quiz, {"how_many": "one"}) == ["how_many"]
    assert wrong_answers(quiz, {"how_many": "two"}) == []
    endless = study(quiz__tries=None)
    path = stages(endless, design(endless, 0))
    kept = Kept({**before("quiz"), quiz.number: {WRONG: 99}}, frozenset(range(quiz.number)))
    assert present(endless, path, kept).state == "going"


def test_open_questions_are_the_required_ones() -> None:
    [asked] = [stage for stage in PATH if stage.kind == "questions"]
    assert open_questions(asked, {}) == ["hard"]
    assert open_questions(asked, {"hard": 3}) == []
