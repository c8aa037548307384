"""A study on the web home: sign-in, the pages of a participant's path, and the messages of these pages.

The present stage is computed only from the stored data. After a reload, on another device, or after the server was
killed, a participant therefore continues at the same stage.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal
from weakref import WeakValueDictionary

from pydantic import Field, JsonValue

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.reading import parse_json
from gumption.data.settings import unknown
from gumption.scripts.people.web import security
from gumption.scripts.people.web import store as tables
from gumption.scripts.people.web.episodes import Episode, new_id
from gumption.scripts.people.web.messages import LONGEST, Message, by_type
from gumption.scripts.people.web.server import Home, Socket, page
from gumption.scripts.people.web.views import View

from . import tasks
from .design import design
from .export import completion_code
from .files import Study
from .links import Secret
from .path import AGREE, NEXT, WRONG, Kept, Stage, open_questions, present, stages, wrong_answers

with extra("web", "a study"):
    import sqlalchemy as sql
    from starlette.requests import Request
    from starlette.responses import JSONResponse, RedirectResponse, Response
    from starlette.routing import BaseRoute, Mount, Route
    from starlette.staticfiles import StaticFiles

PAGES = Path(__file__).with_name("pages")
LONGEST_NAME = 100
#: Data that is stored about every participant, for the consent page.
ALWAYS_KEPT = (
    "your actions and answers, and when you gave them",
    "when your pages were connected to this server",
    "which version of the study you were given, and how far you came",
)
HELP_KEPT = "which help you asked for, and when"
KEPT_BY_SIGN_IN = {
    "name": "the name that you type",
    "link": "the number of your personal link, which this server does not know as a name",
    "recruiting": "what the recruiting service says in your link: {parameters}",
}


class StudyNow(Message):
    """Request the present stage."""

    type: Literal["study_now"] = "study_now"


class StudyAnswer(Message):
    """Store answers of a stage, which can be changed until it is left. `at` is the participant's clock in ms."""

    type: Literal["study_answer"] = "study_answer"
    stage: Annotated[int, Field(ge=0, le=100_000)]
    answers: Annotated[dict[Annotated[str, Field(max_length=60)], JsonValue], Field(max_length=100)]
    at: Annotated[float, Field(allow_inf_nan=False, ge=-1e15, le=1e15)]


class StudyNext(StudyAnswer):
    """Leave the stage with these answers."""

    type: Literal["study_next"] = "study_next"  # pyright: ignore[reportIncompatibleVariableOverride]


class StudyQuit(Message):
    """Give up the task of a stage."""

    type: Literal["study_quit"] = "study_quit"
    stage: Annotated[int, Field(ge=0, le=100_000)]


class StudyWithdraw(Message):
    """Withdraw consent: all data of the participant is deleted."""

    type: Literal["study_withdraw"] = "study_withdraw"


class Refusal(InputError):
    """The reason why a stage cannot be left, and the names of the questions concerned (`fields`).

    :ivar tries_left: attempts left after a wrong answer in a quiz with limited attempts; otherwise None.
    """

    def __init__(self, reason: str, fields: Sequence[str] = (), tries_left: int | None = None) -> None:
        super().__init__(reason)
        self.fields, self.tries_left = list(fields), tries_left


@dataclass(frozen=True)
class Here:
    """The stored state of a participant.

    :ivar row: row in the table of people; `kept`: data that determines the stage; `episodes`: stage -> id.
    """

    row: Any
    kept: Kept
    episodes: Mapping[int, str]

    def ended(self, stage: int) -> Here:
        """Return a copy in which the episode of a stage has ended."""
        return replace(self, kept=Kept(self.kept.answers, self.kept.ended | {stage}))


class StudyPart:
    """The part of a server that runs a study.

    :ivar messages: see gumption.scripts.people.web.server.Part.
    :ivar routes: routes of its pages.
    """

    messages: Mapping[str, type[Message]] = by_type(StudyNow, StudyAnswer, StudyNext, StudyQuit, StudyWithdraw)

    def __init__(self, home: Home, study: Study, secret: Secret) -> None:
        """:raises InputError: the store holds people of another study, or of another version of this study."""
        self.home, self.study, self.secret = home, study, secret
        self.routes: Sequence[BaseRoute] = [
            Route("/", RedirectResponse("/study", 303), methods=["GET"]),
            Route("/study", self._page),
            Route("/study/s/{token}", self._page),
            Route("/study/join", self._join, methods=["POST"]),
            Route("/study/leave", self._leave, methods=["POST"]),
            Mount("/study/pages", StaticFiles(directory=PAGES)),
        ]
        self._guesses = security.Guesses()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._places: dict[str, int] = {}
        self._known: dict[str, str] = {}  # identity by link or recruiting service -> person
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
        home.episodes.arrange, home.episodes.deadline_of = self._arrange, self._deadline_of

    def _path(self, place: int) -> list[Stage]:
        return stages(self.study, design(self.study, place))

    # ---- Sign-in

    async def _page(self, request: Request) -> Response:
        return page(PAGES / "study.html", request)

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
        cookie = security.new_secret()  # other devices of the participant have to sign in again
        await self.home.store.write(
            sql.update(tables.people).where(tables.people.c.id == person).values(key=security.hashed(cookie))
        )
        response = JSONResponse({"next": "/study"})
        security.set_cookie(response, cookie, secure=request.url.scheme == "https")
        return response

    async def _sign_in(self, given: Mapping[str, Any], address: str) -> str:
        """Return the id of the person who signs in, new or returning.

        :raises PermissionError: a link that this server did not create, or too many wrong links.
        :raises InputError: the name, a parameter or the link is missing.
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
            for parameter in self.study.parameters:
                value = given.get(parameter)
                if not isinstance(value, str) or not re.fullmatch(r"[\w.:@-]{1,200}", value, re.ASCII):
                    raise InputError(f"the address has no {parameter}; open the link of the recruiting service again")
                found[parameter] = value
            return await self._comes(found)
        raise InputError("open the personal link that you were given")

    async def _comes(self, given: dict[str, Any]) -> str:
        """Return the id of the participant with this identity; a new identity gets a new participant."""
        identity = _identity(self.study, given)
        if identity not in self._known:
            person = self._known[identity] = new_id()  # before any await, for a second click
            try:
                await self._newcomer("", given, person)
            except BaseException:
                del self._known[identity]
                raise
        return self._known[identity]

    async def _newcomer(self, name: str, given: dict[str, Any], person: str | None = None) -> str:
        person, now, people = person or new_id(), tables.now(), tables.people
        # The place is computed in the transaction that takes it, and only one thread writes: places are unique.
        next_place = sql.select(sql.func.coalesce(sql.func.max(people.c.place) + 1, 0)).scalar_subquery()
        await self.home.store.write(
            sql.insert(people).values(
                id=person, study=self.study.hash, place=next_place, name=name, given=given, began=now, seen=now
            )
        )
        [place] = await self.home.store.rows(sql.select(people.c.place).where(people.c.id == person))
        self._places[person] = place.place
        condition = dict(design(self.study, place.place).condition)
        await self.home.store.write(sql.update(people).where(people.c.id == person).values(condition=condition))
        return person

    async def _leave(self, request: Request) -> Response:
        """Replace the cookie, so that the next participant can use the same computer."""
        response = JSONResponse({"next": "/study"})
        security.set_cookie(response, security.new_secret(), secure=request.url.scheme == "https")
        return response

    # ---- Messages

    async def handle(self, socket: Socket, message: Message) -> None:
        """Handle a message of the study, and send the present stage, or the reason why it cannot be left."""
        if socket.person is None or socket.person not in self._places:
            sign_in = {"by": self.study.sign_in, "parameters": self.study.parameters}
            await socket.send({"type": "study_stage", "kind": "join", **self._about(), "sign_in": sign_in})
            return
        lock = self._locks.setdefault(socket.person, asyncio.Lock())
        async with lock:
            here = await asyncio.to_thread(self._here, socket.person)
            try:
                here = await self._take(here, message)
            except Refusal as error:
                stage = getattr(message, "stage", None)
                told = {"stage": stage, "reason": str(error), "fields": error.fields, "tries_left": error.tries_left}
                await socket.send({"type": "study_refused", **told})
                return
            if type(message) is StudyAnswer:
                await socket.send({"type": "study_saved", "stage": message.stage, "names": list(message.answers)})
            else:
                await socket.send(await self._shown(here))

    async def _take(self, here: Here, message: Message) -> Here:
        """Apply a message, and return the participant's state after it."""
        if here.row.state == "withdrawn":
            return here
        if isinstance(message, StudyWithdraw):
            await self._withdraw(here.row)
            return await asyncio.to_thread(self._here, here.row.id)
        if isinstance(message, StudyAnswer):
            return await self._answer(here, message)
        if isinstance(message, StudyQuit):
            now = present(self.study, self.path(here.row.place), here.kept)
            if now.stage.number == message.stage and now.stage.kind == "task":
                await self.home.episodes.end(await self._episode(here, now.stage), end="quit")
                return here.ended(message.stage)
        return here

    async def _answer(self, here: Here, message: StudyAnswer) -> Here:
        kept = here.kept
        now = present(self.study, self.path(here.row.place), kept)
        if message.stage < now.stage.number or now.state != "going":
            return here  # the stage was left before: the message is a duplicate
        if message.stage > now.stage.number:
            raise Refusal("that page comes later; go on with the present one")
        stage, leaves = now.stage, isinstance(message, StudyNext)
        values = _checked(stage, message.answers)
        if leaves:
            values |= await self._leaving(here.row.id, stage, kept, _filled({**kept.of(stage), **values}), message.at)
        then = await self._save(here, stage, values, message.at)
        if leaves and (wrong := values.get(WRONG)):
            names = wrong_answers(stage, then.kept.of(stage))
            tries = None if self.study.quiz is None else self.study.quiz.tries
            if tries is None or wrong < tries:
                told = "one answer is" if len(names) == 1 else f"{len(names)} answers are"
                left = None if tries is None else tries - wrong
                raise Refusal(f"{told} not right: read the instructions again", names, left)
        return then

    async def _leaving(
        self, person: str, stage: Stage, kept: Kept, answers: Mapping[str, Any], at: float
    ) -> dict[str, Any]:
        """Return the answers to store when a stage is left; raise Refusal if it cannot be left."""
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
            again = bool(before) and before[0].at == at  # the same attempt, sent twice after a lost connection
            return {WRONG: kept.of(stage).get(WRONG, 0) + (not again)}
        return {NEXT: True}

    async def _save(self, here: Here, stage: Stage, values: Mapping[str, Any], at: float) -> Here:
        """Write answers and the participant's progress in one transaction; return the new state."""
        row, received, table = here.row, tables.now(), tables.answers
        written: list[Any] = []
        for name, value in values.items():
            mine = (table.c.person == row.id) & (table.c.stage == stage.number) & (table.c.name == name)
            written.append(sql.delete(table).where(mine))
            if value is not None:
                about = {"person": row.id, "stage": stage.number, "name": name}
                written.append(sql.insert(table).values(**about, value=value, at=at, received=received))
        answers = {**here.kept.answers, stage.number: _filled({**here.kept.of(stage), **values})}
        kept = Kept(answers, here.kept.ended)
        then = present(self.study, self.path(row.place), kept)
        await self.home.store.write(*written, _moved(row, then.stage.number, then.state, received))
        return replace(here, kept=kept)

    async def _withdraw(self, row: Any) -> None:
        """Delete all data of a person. An empty row remains, which marks the place as withdrawn."""
        stays = {"id": row.id, "study": row.study, "place": row.place, "key": row.key, "state": "withdrawn"}
        empty = {"name": "", "given": {}, "condition": {}, "began": 0.0, "seen": 0.0}
        await self.home.episodes.forget(row.id, sql.insert(tables.people).values(**stays, **empty))
        # Forget the identity, too: a person who signs in with it again is a new participant.
        self._known = {identity: person for identity, person in self._known.items() if person != row.id}

    # ---- The present stage

    async def _shown(self, here: Here) -> dict[str, Any]:
        """Return the participant's present stage as a message; end its episode first if its time is over."""
        row = here.row
        about = {"type": "study_stage", **self._about(), "participant": row.place + 1}
        if row.state == "withdrawn":
            return {**about, "kind": "withdrawn", "again": self.study.sign_in == "name"}
        path = self.path(row.place)
        while True:
            now = present(self.study, path, here.kept)
            stage, answers = now.stage, dict(here.kept.of(now.stage))
            about |= {"stage": stage.number, "stages": len(path), "kind": stage.kind, "answers": answers}
            if now.state == "refused":
                return {**about, "kind": "refused", "again": self.study.sign_in == "name"}
            if stage.kind != "task":
                return {**about, **await self._page_of(stage, here)}
            episode = await self._episode(here, stage)
            over = episode.look()
            if over and stage.number not in here.kept.ended:  # ended by an action after the store was read, or by time
                await self.home.episodes.end(episode)
                here = here.ended(stage.number)
            elif over or episode.deadline is None or tables.now() <= episode.deadline:
                return {**about, **self._task_page(stage, episode)}
            else:
                await self.home.episodes.end(episode)

    async def _page_of(self, stage: Stage, here: Here) -> dict[str, Any]:
        study, row = self.study, here.row
        questions = [question.model_dump(exclude={"right"}) for question in stage.questions]
        match stage.kind:
            case "consent":
                helps = [HELP_KEPT] if study.helped else []
                given = KEPT_BY_SIGN_IN[study.sign_in].format(parameters=", ".join(study.parameters))
                return {
                    "text": study.consent.text,
                    "keeps": [*ALWAYS_KEPT, *helps, given, *study.consent.keeps],
                    "contact": study.consent.contact,
                    "agree": study.consent.agree,
                    "back": f"/study/s/{self.secret.link('back', row.id)}",
                }
            case "plan":
                return {"text": await asyncio.to_thread(goal_of, stage), "questions": questions, **_titled(stage)}
            case "quiz":
                tries = study.quiz.tries if study.quiz else None
                wrong = here.kept.of(stage).get(WRONG, 0)
                left = None if tries is None else tries - wrong
                return {"questions": questions, "instructions": study.instructions, "wrong": wrong, "tries_left": left}
            case "end":
                if row.state != "done":  # not stored yet if a task without feedback came before the last page
                    await self.home.store.write(_moved(row, stage.number, "done", tables.now()))
                code = completion_code(study, row.id, self.secret)
                again = study.sign_in == "name"
                return {"text": study.end.text, "code": code, "back": study.end.back, "again": again}
        return {"text": stage.text, "questions": questions}

    def _task_page(self, stage: Stage, episode: Episode) -> dict[str, Any]:
        left = None if episode.deadline is None else max(0.0, episode.deadline - tables.now())
        return {
            **_titled(stage),
            "episode": episode.id,
            "world": episode.world,
            "view": view_file(episode.world, episode.view),
            "feedback": stage.feedback,
            "left_s": left,
            "over": episode.over,
        }

    async def _episode(self, here: Here, stage: Stage) -> Episode:
        """Return the episode of a stage, and begin it if needed."""
        if (id := here.episodes.get(stage.number)) is not None:
            return await self.home.episodes.find(id, here.row.id)
        assert stage.task is not None
        task = stage.task
        return await self.home.episodes.begin(
            person=here.row.id, world=task.world, settings=task.settings, seed=task.seed, stage=stage.number
        )

    def _arrange(self, episode: Episode) -> None:
        """Hide the result of a task without feedback, and offer help."""
        stage = self.path(self._places[episode.person])[episode.stage]
        assert stage.played is not None
        if not stage.feedback:
            episode.veil = Veil()
        if stage.played.block.help is not None:
            episode.offer = tasks.offered(stage.played.block.help)

    def _deadline_of(self, episode: Any) -> float | None:
        """Return the deadline of an episode or its row, None without a limit. Time also runs without a connection."""
        played = self.path(self._places[episode.person])[episode.stage].played
        if played is None or played.block.time_limit_s is None:
            return None
        live = self.home.episodes.entry(episode.world, episode.stage)[0].live is not None
        return episode.began + played.block.time_limit_s / (self.home.episodes.real_time.speed if live else 1.0)

    def _here(self, person: str) -> Here:
        """Read the state of a participant from the store."""
        answers, episodes, people = tables.answers, tables.episodes, tables.people
        read = self.home.store.read
        [row] = read(sql.select(people).where(people.c.id == person))
        values: dict[int, dict[str, Any]] = {}
        for one in read(sql.select(answers).where(answers.c.person == person)):
            values.setdefault(one.stage, {})[one.name] = one.value
        own = sql.select(episodes.c.id, episodes.c.stage, episodes.c.ended).where(episodes.c.person == person)
        begun = read(own)
        ended = frozenset(one.stage for one in begun if one.ended is not None)
        return Here(row, Kept(values, ended), {one.stage: one.id for one in begun})

    def _about(self) -> dict[str, Any]:
        return {"title": self.study.title, "study": self.study.hash[:16]}


def view_file(world: str, view: View) -> str | None:
    """Return the address of the view.js of a world; None if the general drawing is used."""
    own = view.folder is not None and (view.folder / "view.js").is_file()
    return f"/views/{world}/view.js" if own else None


class Veil:
    """Hides the result of a task: after the last action, the drawing before that action stays."""

    def __init__(self) -> None:
        self._drawing: dict[str, Any] = {"kind": "text", "text": "This task is over."}

    def __call__(self, view: dict[str, Any]) -> dict[str, Any]:
        """Return the view without the result, as the participant may see it."""
        hidden = {**view, "told": "", "reward": 0.0, "success": None}
        if view["over"]:
            return {**hidden, "drawing": self._drawing, "text": "", "choices": []}
        self._drawing = view["drawing"]
        return hidden


def goal_of(stage: Stage) -> str:
    """Return the goal of a task, which a participant reads before the task itself is shown."""
    assert stage.task is not None
    env, face = tasks.begin(stage.task)
    goal = getattr(face, "goal", face.rules)
    return goal(env)


def _titled(stage: Stage) -> dict[str, Any]:
    assert stage.played is not None
    return {"name": stage.played.block.title, "at": stage.at + 1, "of": len(stage.played.tasks)}


def _checked(stage: Stage, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked answers, None for an open question; raise Refusal for an invalid or unknown answer."""
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


def _moved(row: Any, stage: int, state: str, when: float) -> Any:
    """Return the statement that stores the progress of a participant."""
    people = tables.people
    return sql.update(people).where(people.c.id == row.id).values(stage=stage, state=state, seen=when)


def _filled(answers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answers.items() if value is not None}


def _identity(study: Study, given: Mapping[str, Any]) -> str:
    """Return the identity of a participant as one text, from link number or recruiting parameters."""
    name = study.recruiting.identity if study.recruiting else "link"
    return f"{name} {given[name]}"


def _refused(status: int, reason: str) -> Response:
    return JSONResponse({"reason": reason}, status)
