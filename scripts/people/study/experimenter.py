"""The experimenter's page: participants and their progress, episodes step by step, personal links, the export.

Each data request carries the experimenter's token in its Authorization header. The page reads the token from the
fragment of its address, which browsers do not send.
"""

from __future__ import annotations

import asyncio
import io
import time
import zipfile
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.scripts.people.web import security
from gumption.scripts.people.web import store as tables
from gumption.scripts.people.web.episodes import replayed
from gumption.scripts.people.web.server import page

from .export import Participant, files, participants
from .gathered import TABLES
from .links import Links
from .path import present
from .serving import PAGES, StudyPart, view_file

with extra("web", "a study"):
    import sqlalchemy as sql
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import BaseRoute, Route

#: Seconds for which the table is cached, since reading it is slow in a large study.
FRESH_S = 2.0
MOST_LINKS = 10_000


class ExperimenterPages:
    """The pages of a study's server for the experimenter."""

    def __init__(self, part: StudyPart, token: security.Token, links: Links) -> None:
        """:param links: the personal links of the study."""
        self._part, self._token, self._links = part, token, links
        self._table: tuple[float, dict[str, Any]] | None = None
        self.routes: Sequence[BaseRoute] = [
            Route("/experimenter", self._page),
            Route("/experimenter/table", self._behind(self._people)),
            Route("/experimenter/participants/{number:int}", self._behind(self._participant)),
            Route("/experimenter/replay/{episode}/{step:int}", self._behind(self._replay)),
            Route("/experimenter/export", self._behind(self._export)),
            Route("/experimenter/links", self._behind(self._more_links), methods=["POST"]),
        ]

    def _behind(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that requires the token before it calls `answer`."""

        async def guarded(request: Request) -> Response:
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            known = self._token.known(given or None, security.address_of(request.scope))
            if known is None:
                return JSONResponse({"reason": "there were too many wrong tokens; wait a minute"}, 429)
            if not known:
                return JSONResponse({"reason": "this is for the experimenter: open the link that the server told"}, 401)
            return await answer(request)

        return guarded

    async def _page(self, request: Request) -> Response:
        return page(PAGES / "experimenter.html", request)

    async def _everyone(self) -> list[Participant]:
        store = self._part.home.store
        rows = [await store.rows(sql.select(table)) for table in TABLES]
        return await asyncio.to_thread(participants, self._part.study, *rows)

    async def _people(self, _: Request) -> Response:
        if self._table is None or time.monotonic() - self._table[0] > FRESH_S:
            everyone = await self._everyone()
            self._table = time.monotonic(), await asyncio.to_thread(self._summary, everyone)
        return JSONResponse(self._table[1], headers={"Cache-Control": "no-store"})

    def _summary(self, everyone: Sequence[Participant]) -> dict[str, Any]:
        study, now = self._part.study, tables.now()
        rows = []
        for one in everyone:
            state = one.state(study, now)
            where = present(study, one.path, one.kept).stage
            over = {block.name: one.solved(block.name) for block in study.all_blocks}
            rows.append(
                {
                    "participant": one.number,
                    "state": state,
                    "condition": {} if state == "withdrawn" else dict(one.design.condition),
                    "stage": where.number,
                    "stages": len(one.path),
                    "page": where.name,
                    "minutes": None if state == "withdrawn" else (one.seen() - one.row.began) / 60,
                    "seen_s": None if state == "withdrawn" else now - one.seen(),
                    "blocks": {block: {"done": len(each), "solved": sum(each)} for block, each in over.items()},
                }
            )
        sizes = {block.name: block.count // block.sets for block in study.all_blocks}
        return {
            "title": study.title,
            "hash": study.hash,
            "sign_in": study.sign_in,
            "links": self._links.count,
            "blocks": {block.name: {"title": block.title, "tasks": sizes[block.name]} for block in study.all_blocks},
            "participants": rows,
        }

    async def _participant(self, request: Request) -> Response:
        number = request.path_params["number"]
        one = next((one for one in await self._everyone() if one.number == number), None)
        if one is None:
            return JSONResponse({"reason": "there is no such participant"}, 404)
        episodes = [
            {
                "episode": episode.id,
                "name": one.path[stage].name,
                "actions": len(one.actions[episode.id]),
                "helps": len(one.helps[episode.id]),
                "seconds": None if episode.ended is None else episode.ended - episode.began,
                "success": None if episode.ended is None else bool(episode.result.get("success")),
            }
            for stage, episode in sorted(one.episodes.items())
        ]
        answers = [
            {"page": one.path[stage].name, "name": name, "value": answer.value}
            for stage, names in sorted(one.answers.items())
            for name, answer in sorted(names.items())
        ]
        return JSONResponse({"participant": number, "episodes": episodes, "answers": answers})

    async def _replay(self, request: Request) -> Response:
        """Respond with the view of an episode after `step` actions, by a replay of its stored actions."""
        store, step = self._part.home.store, request.path_params["step"]
        id = request.path_params["episode"]
        found = await store.rows(sql.select(tables.episodes).where(tables.episodes.c.id == id))
        if not found:
            return JSONResponse({"reason": "there is no such episode"}, 404)
        [row] = found
        actions, helps = await self._part.home.episodes.kept(id)
        entry = self._part.home.episodes.entry(row.world, row.stage)
        try:
            episode = await asyncio.to_thread(replayed, row, actions[:step], *entry, ended=step >= len(actions))
            shown = await asyncio.to_thread(episode.shown)
        except InputError as error:
            return JSONResponse({"reason": str(error)}, 409)
        made = actions[step - 1] if 1 <= step <= len(actions) else None
        about = {
            "view_file": view_file(row.world, entry[0]),
            "step": min(step, len(actions)),
            "steps": len(actions),
            "action": None if made is None else made.action,
            "seconds": None if made is None else made.received - row.began,
            "helped": [help.after for help in helps],
            "help": next(({"price": one.price, **one.said} for one in helps if one.after == step), None),
        }
        return JSONResponse({"view": shown, **about})

    async def _export(self, _: Request) -> Response:
        everyone = await self._everyone()
        content = await asyncio.to_thread(files, self._part.study, everyone, self._part.secret)
        name = self._part.study.name
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, text in content.items():
                archive.writestr(f"{name}/{file}", text)
        headers = {"Content-Disposition": f'attachment; filename="{name}.zip"', "Cache-Control": "no-store"}
        return Response(buffer.getvalue(), media_type="application/zip", headers=headers)

    async def _more_links(self, request: Request) -> Response:
        try:
            count = int((await request.body())[:20])
        except ValueError:
            count = 0
        if not 1 <= count <= MOST_LINKS - self._links.count:
            return JSONResponse({"reason": f"give a number of links; there can be {MOST_LINKS} in all"}, 400)
        root = f"{request.url.scheme}://{request.headers['host']}"
        made = await asyncio.to_thread(self._links.more, count)
        return JSONResponse({"links": [f"{root}/study/s/{token}" for token in made]})
