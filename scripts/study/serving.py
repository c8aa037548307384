"""A study on the web home: sign-in, the pages of a participant's path, and the messages that they send.

What a participant sees follows from what is in the store and from nothing else, so a page that is loaded again, another
device and a server that was killed all show the very stage at which they left.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal
from weakref import WeakValueDictionary

import sqlalchemy as sql
from pydantic import Field, JsonValue
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import unknown
from gumption.envs import worlds
from gumption.scripts.web import security
from gumption.scripts.web import store as tables
from gumption.scripts.web.episodes import Episode, new_id
from gumption.scripts.web.messages import LONGEST, Message
from gumption.scripts.web.server import Home, Socket
from gumption.scripts.web.views import View, view_of

from . import tasks
from .design import design
from .export import completion_code
from .files import Study
from .links import Secret
from .path import AGREE, NEXT, WRONG, Kept, Stage, open_questions, present, stages, wrong_answers

PAGES = Path(__file__).with_name("pages")
LONGEST_NAME = 100
#: What is kept of every participant, for the consent page.
ALWAYS_KEPT = (
    "your actions and answers, and when you gave them",
    "which version of the study you were given, and how far you came",
)
KEPT_BY_SIGN_IN = {
    "name": "the name that you type",
    "link": "the number of your personal link, which this server does not know as a name",
    "recruiting": "what the recruiting service says in your link: {parameters}",
}


class StudyNow(Message):
    """Asks for the present stage."""

    type: Literal["study_now"] = "study_now"


class StudyAnswer(Message):
    """Answers of a stage, which can be changed until it is left. `at` is the participant's clock in ms."""

    type: Literal["study_answer"] = "study_answer"
    stage: Annotated[int, Field(ge=0, le=100_000)]
    answers: Annotated[dict[Annotated[str, Field(max_length=60)], JsonValue], Field(max_length=100)]
    at: Annotated[float, Field(allow_inf_nan=False, ge=-1e15, le=1e15)]


class StudyNext(StudyAnswer):
    """The stage is left, with these answers."""

    type: Literal["study_next"] = "study_next"  # pyright: ignore[reportIncompatibleVariableOverride]


class StudyQuit(Message):
    """The participant gives the task of a stage up."""

    type: Literal["study_quit"] = "study_quit"
    stage: Annotated[int, Field(ge=0, le=100_000)]


class StudyWithdraw(Message):
    """Consent is withdrawn: what was kept is deleted."""

    type: Literal["study_withdraw"] = "study_withdraw"


class Refusal(InputError):
    """Why a stage cannot be left, and the questions that it is about."""

    def __init__(self, reason: str, fields: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.fields = list(fields)


class StudyPart:
    """The part of a server that runs a study.

    :ivar routes, messages: see gumption.scripts.web.server.Part.
    """

    messages: Mapping[str, type[Message]] = {
        "study_now": StudyNow,
        "study_answer": StudyAnswer,
        "study_next": StudyNext,
        "study_quit": StudyQuit,
        "study_withdraw": StudyWithdraw,
    }

    def __init__(self, home: Home, study: Study, secret: Secret) -> None:
        """:raises InputError: the store holds people of another study, or of another version of this one."""
        self.home, self.study, self.secret = home, study, secret
        self.routes: Sequence[BaseRoute] = [
            Route("/", _to_study),
            Route("/study", self._page),
            Route("/study/s/{token}", self._page),
            Route("/study/join", self._join, methods=["POST"]),
            Route("/study/leave", self._leave, methods=["POST"]),
            Mount("/study/pages", StaticFiles(directory=PAGES)),
        ]
        self._guesses = security.Guesses()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._places: dict[str, int] = {}
        self._known: dict[str, str] = {}  # who a link or a recruiting service's id belongs to
        for person in home.store.read(sql.select(tables.people)):
            if person.study != study.hash:
                raise InputError(
                    f"{home.store.place}: holds participants of another study, or of this one before its file was "
                    "changed; give another --data"
                )
            self._places[person.id] = person.place
            if person.given:
                self._known[_identity(study, person.given)] = person.id
        self.path = lru_cache(maxsize=4096)(self._path)
        home.episodes.arrange = self._arrange

    def _path(self, place: int) -> list[Stage]:
        return stages(self.study, design(self.study, place))

    # ---- Sign-in

    async def _page(self, request: Request) -> Response:
        response = FileResponse(PAGES / "study.html", headers={"Cache-Control": "no-store"})
        if security.cookie_of(request.headers) is None:
            security.set_cookie(response, security.new_secret(), secure=request.url.scheme == "https")
        return response

    async def _join(self, request: Request) -> Response:
        body = await request.body()
        try:
            given = parse_json(body) if len(body) <= LONGEST else None
        except ValueError:
            given = None
        if not isinstance(given, dict):
            return _refused(400, "the sign-in is no JSON object")
        address = security.address_of(request.scope)
        try:
            person = await self._sign_in(given, address)
        except PermissionError as error:
            return _refused(403, str(error))
        except InputError as error:
            return _refused(400, str(error))
        cookie = security.new_secret()  # a device that was signed in elsewhere signs in anew
        await self.home.store.write(
            sql.update(tables.people).where(tables.people.c.id == person).values(key=security.hashed(cookie))
        )
        response = JSONResponse({"next": "/study"})
        security.set_cookie(response, cookie, secure=request.url.scheme == "https")
        return response

    async def _sign_in(self, given: Mapping[str, Any], address: str) -> str:
        """The id of who signs in: a newcomer, or one who comes again.

        :raises PermissionError: a link that this server did not give, or too many of them.
        :raises InputError: no name, or a parameter that is missing.
        """
        token = given.get("token")
        if token is not None:
            if self._guesses.too_many(address):
                raise PermissionError("there were too many wrong links from your address; wait a minute")
            opened = self.secret.opened(token) if isinstance(token, str) else None
            if opened is not None and opened[0] == "back" and opened[1] in self._places:
                return opened[1]
            if opened is not None and opened[0] == "invited" and self.study.sign_in == "link":
                return await self._comes({"link": int(opened[1])})
            self._guesses.add(address)
            raise PermissionError("this link leads to nothing here; open the whole link that you were given")
        if self.study.sign_in == "name":
            name = given.get("name")
            name = " ".join(name.split()) if isinstance(name, str) else ""
            if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
                raise InputError(f"type a name of at most {LONGEST_NAME} letters")
            return await self._newcomer(name, {})
        if self.study.recruiting is not None:
            found = {}
            for parameter in self.study.recruiting.parameters:
                value = given.get(parameter)
                if not isinstance(value, str) or not re.fullmatch(r"[\w.:@-]{1,200}", value, re.ASCII):
                    raise InputError(f"the address has no {parameter}; open the link of the recruiting service again")
                found[parameter] = value
            return await self._comes(found)
        raise InputError("open the personal link that you were given")

    async def _comes(self, given: dict[str, Any]) -> str:
        """Who has this identity: one participant for each."""
        identity = _identity(self.study, given)
        if identity not in self._known:
            person = self._known[identity] = new_id()  # before anything is waited for: a second click finds it
            try:
                await self._newcomer("", given, person)
            except BaseException:
                del self._known[identity]
                raise
        return self._known[identity]

    async def _newcomer(self, name: str, given: dict[str, Any], person: str | None = None) -> str:
        person, now, people = person or new_id(), time.time(), tables.people
        # The one writer finds the place in the transaction that takes it.
        next_place = sql.select(sql.func.coalesce(sql.func.max(people.c.place) + 1, 0)).scalar_subquery()
        await self.home.store.write(
            sql.insert(people).values(
                id=person, study=self.study.hash, place=next_place, name=name, given=given, began=now, seen=now
            )
        )
        row = await self._row(person)
        self._places[person] = row.place
        condition = dict(design(self.study, row.place).condition)
        await self.home.store.write(sql.update(people).where(people.c.id == person).values(condition=condition))
        return person

    async def _leave(self, request: Request) -> Response:
        """The next participant sits down at the same computer."""
        response = JSONResponse({"next": "/study"})
        security.set_cookie(response, security.new_secret(), secure=request.url.scheme == "https")
        return response

    # ---- Messages

    async def handle(self, socket: Socket, message: Message) -> None:
        """Answer with the present stage, or with why it cannot be left."""
        if socket.person is None or socket.person not in self._places:
            await socket.send({"type": "study_stage", "kind": "join", **self._about(), "sign_in": self._sign_in_with()})
            return
        lock = self._locks.setdefault(socket.person, asyncio.Lock())
        async with lock:
            try:
                await self._take(socket.person, message)
            except Refusal as error:
                stage = getattr(message, "stage", None)
                told = {"stage": stage, "reason": str(error), "fields": error.fields}
                await socket.send({"type": "study_refused", **told})
                if error.fields or isinstance(message, StudyAnswer):
                    return
            if type(message) is StudyAnswer:
                await socket.send({"type": "study_saved", "stage": message.stage, "names": list(message.answers)})
            else:
                await socket.send(await self._shown(socket.person))

    async def _take(self, person: str, message: Message) -> None:
        row = await self._row(person)
        if row.state == "withdrawn":
            return
        if isinstance(message, StudyWithdraw):
            await self._withdraw(row)
        elif isinstance(message, StudyAnswer):
            await self._answer(row, message)
        elif isinstance(message, StudyQuit):
            now = present(self.study, self.path(row.place), await self._kept(person))
            if now.stage.number == message.stage and now.stage.kind == "task":
                await self.home.episodes.end(await self._episode(row, now.stage), end="quit")

    async def _answer(self, row: Any, message: StudyAnswer) -> None:
        path, kept = self.path(row.place), await self._kept(row.id)
        now = present(self.study, path, kept)
        if message.stage < now.stage.number or now.state != "going":
            return  # it was left before: a message that was sent again
        if message.stage > now.stage.number:
            raise Refusal("that page comes later; go on with the present one")
        stage, leaves = now.stage, isinstance(message, StudyNext)
        values = _checked(stage, message.answers)
        if leaves:
            values |= await self._leaving(row.id, stage, kept, _filled({**kept.of(stage), **values}), message.at)
        await self._save(row, stage, kept, values, message.at)
        if leaves and (wrong := values.get(WRONG)):
            names = wrong_answers(stage, {**kept.of(stage), **values})
            if self.study.quiz and self.study.quiz.tries is not None and wrong >= self.study.quiz.tries:
                return
            raise Refusal(f"{len(names)} of your answers are not right: read the instructions again", names)

    async def _leaving(
        self, person: str, stage: Stage, kept: Kept, answers: Mapping[str, Any], at: float
    ) -> dict[str, Any]:
        """What is kept when a stage is left; Refusal where it cannot be."""
        if stage.kind == "consent":
            if answers.get(AGREE) is not True:
                raise Refusal("without your consent the study does not begin", [AGREE])
            return {}
        if stage.kind == "task" and stage.number not in kept.ended:
            raise Refusal("the task is not over")
        if names := open_questions(stage, answers):
            raise Refusal("some questions are still open", names)
        if stage.kind == "quiz" and wrong_answers(stage, answers):
            table = tables.answers
            mine = (table.c.person == person) & (table.c.stage == stage.number) & (table.c.name == WRONG)
            before = await self.home.store.rows(sql.select(table.c.at).where(mine))
            again = bool(before) and before[0].at == at  # the same attempt, sent again after a lost connection
            return {WRONG: kept.of(stage).get(WRONG, 0) + (not again)}
        return {NEXT: True}

    async def _save(self, row: Any, stage: Stage, kept: Kept, values: Mapping[str, Any], at: float) -> None:
        received, table = time.time(), tables.answers
        written: list[Any] = []
        for name, value in values.items():
            mine = (table.c.person == row.id) & (table.c.stage == stage.number) & (table.c.name == name)
            written.append(sql.delete(table).where(mine))
            if value is not None:
                about = {"person": row.id, "stage": stage.number, "name": name}
                written.append(sql.insert(table).values(**about, value=value, at=at, received=received))
        answers = {**kept.answers, stage.number: _filled({**kept.of(stage), **values})}
        then = present(self.study, self.path(row.place), Kept(answers, kept.ended))
        people = tables.people
        written.append(
            sql.update(people)
            .where(people.c.id == row.id)
            .values(seen=received, stage=then.stage.number, state=then.state)
        )
        await self.home.store.write(*written)

    async def _withdraw(self, row: Any) -> None:
        """Delete what was kept of a person. A row without data stays: that someone at this place has withdrawn."""
        stays = {"id": row.id, "study": row.study, "place": row.place, "key": row.key, "state": "withdrawn"}
        empty = {"name": "", "given": {}, "condition": {}, "began": 0.0, "seen": 0.0}
        await self.home.episodes.forget(row.id, sql.insert(tables.people).values(**stays, **empty))

    # ---- The present stage

    async def _shown(self, person: str) -> dict[str, Any]:
        """The stage that the participant sees now, as a message."""
        row = await self._row(person)
        about = {"type": "study_stage", **self._about(), "participant": row.place + 1}
        if row.state == "withdrawn":
            return {**about, "kind": "withdrawn", "again": self.study.sign_in == "name"}
        path = self.path(row.place)
        while True:
            kept = await self._kept(person)
            now = present(self.study, path, kept)
            stage = now.stage
            about |= {"stage": stage.number, "stages": len(path), "kind": stage.kind, "answers": dict(kept.of(stage))}
            if now.state == "refused":
                return {**about, "kind": "refused", "again": self.study.sign_in == "name"}
            if stage.kind != "task":
                return {**about, **await self._page_of(stage, row, kept)}
            episode = await self._episode(row, stage)
            if episode.deadline is None or time.time() <= episode.deadline or episode.over:
                return {**about, **self._task_page(stage, episode)}
            await self.home.episodes.end(episode, end="time")

    async def _page_of(self, stage: Stage, row: Any, kept: Kept) -> dict[str, Any]:
        study = self.study
        questions = [question.model_dump(exclude={"right"}) for question in stage.questions]
        match stage.kind:
            case "consent":
                return {
                    "text": study.consent.text,
                    "keeps": [*ALWAYS_KEPT, self._kept_by_sign_in(), *study.consent.keeps],
                    "contact": study.consent.contact,
                    "agree": study.consent.agree,
                    "back": f"/study/s/{self.secret.link('back', row.id)}",
                }
            case "plan":
                return {"text": await asyncio.to_thread(goal_of, stage), "questions": questions, **_titled(stage)}
            case "quiz":
                tries = study.quiz.tries if study.quiz else None
                wrong = kept.of(stage).get(WRONG, 0)
                left = None if tries is None else tries - wrong
                return {"questions": questions, "instructions": study.instructions, "wrong": wrong, "tries_left": left}
            case "end":
                await self._is_done(row)
                code = completion_code(study, row.id, self.secret)
                again = study.sign_in == "name"
                return {"text": study.end.text, "code": code, "back": study.end.back, "again": again}
        return {"text": stage.text, "questions": questions}

    async def _is_done(self, row: Any) -> None:
        """Keep that the last page was reached, where a task without feedback was the last before it."""
        if row.state != "done":
            people, now = tables.people, time.time()
            last = len(self.path(row.place)) - 1
            await self.home.store.write(
                sql.update(people).where(people.c.id == row.id).values(state="done", stage=last, seen=now)
            )

    def _task_page(self, stage: Stage, episode: Episode) -> dict[str, Any]:
        left = None if episode.deadline is None else max(0.0, episode.deadline - time.time())
        return {
            **_titled(stage),
            "episode": episode.id,
            "world": episode.world,
            "view": view_file(episode.world, episode.view),
            "feedback": stage.feedback,
            "left_s": left,
            "over": episode.over,
        }

    async def _episode(self, row: Any, stage: Stage) -> Episode:
        """The episode of a stage, begun where it was not."""
        table = tables.episodes
        mine = (table.c.person == row.id) & (table.c.stage == stage.number)
        found = await self.home.store.rows(sql.select(table.c.id).where(mine))
        if found:
            return await self.home.episodes.find(found[0].id, row.id)
        assert stage.task is not None
        task = stage.task
        episode = await self.home.episodes.begin(
            person=row.id, world=task.world, settings=task.settings, seed=task.seed, stage=stage.number
        )
        people = tables.people
        await self.home.store.write(
            sql.update(people).where(people.c.id == row.id).values(stage=stage.number, seen=episode.began)
        )
        return episode

    def _arrange(self, episode: Episode) -> None:
        """Hide the result of a task without feedback, and end it in time."""
        stage = self.path(self._places[episode.person])[episode.stage]
        assert stage.played is not None
        if not stage.feedback:
            episode.veil = without_result
        limit = stage.played.block.time_limit_s
        episode.deadline = None if limit is None else episode.began + limit

    async def _kept(self, person: str) -> Kept:
        answers, episodes = tables.answers, tables.episodes
        said = await self.home.store.rows(sql.select(answers).where(answers.c.person == person))
        over = await self.home.store.rows(
            sql.select(episodes.c.stage).where((episodes.c.person == person) & episodes.c.ended.is_not(None))
        )
        values: dict[int, dict[str, Any]] = {}
        for one in said:
            values.setdefault(one.stage, {})[one.name] = one.value
        return Kept(values, frozenset(one.stage for one in over))

    async def _row(self, person: str) -> Any:
        [row] = await self.home.store.rows(sql.select(tables.people).where(tables.people.c.id == person))
        return row

    def _about(self) -> dict[str, Any]:
        return {"title": self.study.title, "study": self.study.hash[:16]}

    def _sign_in_with(self) -> dict[str, Any]:
        parameters = self.study.recruiting.parameters if self.study.recruiting else []
        return {"by": self.study.sign_in, "parameters": parameters}

    def _kept_by_sign_in(self) -> str:
        parameters = ", ".join(self.study.recruiting.parameters) if self.study.recruiting else ""
        return KEPT_BY_SIGN_IN[self.study.sign_in].format(parameters=parameters)


def view_file(world: str, view: View) -> str | None:
    """The address of the file with which a page draws a world; None where the general drawing does."""
    own = view.folder is not None and (view.folder / "view.js").is_file()
    return f"/views/{world}/view.js" if own else None


def without_result(view: dict[str, Any]) -> dict[str, Any]:
    """The view of a task whose result is not told: once it is over nothing of it is shown."""
    hidden = {**view, "told": "", "reward": 0.0, "success": None}
    if view["over"]:
        hidden |= {"drawing": {"kind": "text", "text": "This task is over."}, "text": "", "choices": []}
    return hidden


def goal_of(stage: Stage) -> str:
    """What a participant reads before the first action, with the task itself covered: its goal."""
    assert stage.task is not None
    env, face = tasks.begin(stage.task)
    goal = view_of(worlds.find(stage.task.world)).drawing(env).get("goal")
    return goal if isinstance(goal, str) else face.rules(env)


def _titled(stage: Stage) -> dict[str, Any]:
    assert stage.played is not None
    return {"name": stage.played.block.title, "at": stage.at + 1, "of": len(stage.played.tasks)}


def _checked(stage: Stage, given: Mapping[str, Any]) -> dict[str, Any]:
    """The answers, each to a question of the stage; None for those that are left open."""
    questions = {question.name: question for question in stage.questions}
    found = {}
    for name, value in given.items():
        if stage.kind == "consent" and name == AGREE and isinstance(value, bool):
            found[name] = value
        elif name not in questions:
            raise Refusal(unknown("this page", name, questions))
        elif value is None or value == "":
            found[name] = None
        else:
            try:
                questions[name].check(value)
            except InputError as error:
                raise Refusal(str(error), [name]) from None
            found[name] = value
    return found


def _filled(answers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answers.items() if value is not None}


def _identity(study: Study, given: Mapping[str, Any]) -> str:
    """Who it is that was sent with these parameters, in one text."""
    name = study.recruiting.identity if study.recruiting else "link"
    return f"{name} {given[name]}"


async def _to_study(_: Request) -> Response:
    return RedirectResponse("/study", 303)


def _refused(status: int, reason: str) -> Response:
    return JSONResponse({"reason": reason}, status)
