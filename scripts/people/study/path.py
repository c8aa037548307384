"""A participant's path: the stages of a study, and the present stage, computed from the stored data.

Both are pure functions. The present stage is therefore the same after a reload, on another device, or after the server
was killed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .design import Design, Played, Task
from .files import Choice, Question, Study

Kind = Literal["consent", "text", "plan", "task", "quiz", "questions", "end"]
#: Names of the answers that belong to no question: the consent, and the button that leaves a page.
AGREE, NEXT = "agree", "next"
#: Name of the answer that counts wrong attempts at the quiz.
WRONG = "wrong"


@dataclass(frozen=True)
class Stage:
    """One page of the path.

    :ivar number: number of the page, from 0; `name` is its name in the export.
    :ivar questions: questions on the page.
    :ivar played: the block of a task or a plan; `task` is the episode, and `at` its number in the block, from 0.
    """

    number: int
    kind: Kind
    name: str
    text: str = ""
    questions: Sequence[Question] = ()
    played: Played | None = None
    task: Task | None = None
    at: int = 0

    @property
    def feedback(self) -> bool:
        """Whether the page shows the result of the task."""
        return self.played is not None and self.played.block.feedback


@dataclass(frozen=True)
class Kept:
    """The stored data that determines the present stage of a participant.

    :ivar answers: stage -> name -> value.
    :ivar ended: stages whose episode has ended.
    """

    answers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    ended: frozenset[int] = frozenset()

    def of(self, stage: Stage) -> Mapping[str, Any]:
        """Return name -> value of the answers of a stage."""
        return self.answers.get(stage.number, {})


@dataclass(frozen=True)
class Present:
    """The present stage of a participant.

    :ivar state: "going", "done" at the last page, or "refused" when no attempt at the quiz is left.
    """

    stage: Stage
    state: Literal["going", "done", "refused"]


def stages(study: Study, design: Design) -> list[Stage]:
    """Return all stages of a participant, in their order."""
    path: list[Stage] = []

    def add(kind: Kind, name: str, **parts: Any) -> None:
        path.append(Stage(len(path), kind, name, **parts))

    def add_block(played: Played) -> None:
        block = played.block
        name = "/".join([block.name, *(played.levels[one.name] for one in study.acting_on(block) if not one.between)])
        if block.introduction:
            add("text", name, text=block.introduction)
        for at, (task, number) in enumerate(zip(played.tasks, played.numbers, strict=True)):
            if block.before:
                add("plan", f"{name}/{number}", questions=tuple(block.before), played=played, task=task, at=at)
            add("task", f"{name}/{number}", played=played, task=task, at=at)

    add("consent", "consent")
    for page, text in enumerate(study.instructions):
        add("text", f"instructions/{page}", text=text)
    for played in design.blocks:
        if played.practice:
            add_block(played)
    if study.quiz is not None:
        add("quiz", "quiz", questions=tuple(study.quiz.questions))
    for played in design.blocks:
        if not played.practice:
            add_block(played)
    if study.questions:
        add("questions", "questions", questions=tuple(study.questions))
    add("end", "end")
    return path


def present(study: Study, path: Sequence[Stage], kept: Kept) -> Present:
    """Return the first stage that is not completed, with the state of the participant."""
    for stage in path:
        if stage.kind == "end":
            return Present(stage, "done")
        if not _done(stage, kept):
            spent = study.quiz is not None and study.quiz.tries is not None and stage.kind == "quiz"
            refused = spent and kept.of(stage).get(WRONG, 0) >= study.quiz.tries  # pyright: ignore[reportOptionalMemberAccess]
            return Present(stage, "refused" if refused else "going")
    raise AssertionError("every path has an end")


def _done(stage: Stage, kept: Kept) -> bool:
    answers = kept.of(stage)
    if stage.kind == "consent":
        return answers.get(AGREE) is True
    if stage.kind == "task":
        # Without feedback there is nothing to read after a task, and the next stage follows at once.
        return stage.number in kept.ended and (not stage.feedback or NEXT in answers)
    return NEXT in answers


def open_questions(stage: Stage, answers: Mapping[str, Any]) -> list[str]:
    """Return the names of required questions without an answer; the stage cannot be left before."""
    return [question.name for question in stage.questions if question.required and question.name not in answers]


def wrong_answers(stage: Stage, answers: Mapping[str, Any]) -> list[str]:
    """Return the names of quiz questions without the right answer."""
    assert stage.kind == "quiz"
    quiz = [question for question in stage.questions if isinstance(question, Choice)]
    return [question.name for question in quiz if answers.get(question.name) != question.right]
