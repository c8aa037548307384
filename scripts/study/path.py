"""A participant's path: the stages of a study, and the stage that follows from what is in the store.

Both are pure. A reload, another device or a server that was killed therefore changes nothing: the present stage is
found anew from what was kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .design import Design, Played, Task
from .files import Choice, Question, Study

Kind = Literal["consent", "text", "plan", "task", "quiz", "questions", "end"]
#: Answers that the pages give beside those to questions: consent, and that a page was left by its button.
AGREE, NEXT = "agree", "next"
#: Wrong attempts at the quiz.
WRONG = "wrong"


@dataclass(frozen=True)
class Stage:
    """One page of the path.

    :ivar number: from 0; `name` is what the export calls it.
    :ivar questions: that are asked on it.
    :ivar played: the block of a task or a plan; `task` the episode, and `at` its number within the block from 0.
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
        """Whether the participant is told the result of the task."""
        return self.played is not None and self.played.block.feedback


@dataclass(frozen=True)
class Kept:
    """What the store has of a participant.

    :ivar answers: stage -> name -> value.
    :ivar ended: stages whose episode has ended.
    """

    answers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    ended: frozenset[int] = frozenset()

    def of(self, stage: Stage) -> Mapping[str, Any]:
        """The answers of a stage."""
        return self.answers.get(stage.number, {})


@dataclass(frozen=True)
class Present:
    """Where a participant is.

    :ivar state: "going", "done" at the last page, or "refused" where the quiz has no try left.
    """

    stage: Stage
    state: Literal["going", "done", "refused"]


def stages(study: Study, design: Design) -> list[Stage]:
    """The whole path of a participant."""
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
    """The first stage that is not done."""
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
        # Without feedback there is nothing to read after a task, and the next one follows.
        return stage.number in kept.ended and (not stage.feedback or NEXT in answers)
    return NEXT in answers


def open_questions(stage: Stage, answers: Mapping[str, Any]) -> list[str]:
    """Names of the questions that have to be answered before the stage can be left."""
    return [question.name for question in stage.questions if question.required and question.name not in answers]


def wrong_answers(stage: Stage, answers: Mapping[str, Any]) -> list[str]:
    """Names of the quiz's questions whose answer is not the right one."""
    assert stage.kind == "quiz"
    quiz = [question for question in stage.questions if isinstance(question, Choice)]
    return [question.name for question in quiz if answers.get(question.name) != question.right]
