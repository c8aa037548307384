"""`gumption serve`: the web home; `gumption serve WORLD`: a world for agents that are programs of their own."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import typer

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.listening import Port, check_reach, is_loopback, listen, shown_address
from gumption.scripts.apps import was_typed
from gumption.scripts.worlds import world_group


def home(
    context: typer.Context,
    *,
    host: str = "127.0.0.1",
    port: Port = 8000,
    data: str = "runs/home",
    runs: Path | None = None,
    name: list[str] | None = None,
    open_to_others: bool = False,
    token_file: Path | None = None,
    kg: list[str] | None = None,
    kg_rules: list[str] | None = None,
    kg_relations: list[str] | None = None,
    kg_map: list[str] | None = None,
    schema: bool = False,
) -> None:
    """Serve the web home, where people play the worlds in a browser; or let a program play a world.

    What people did is on disk before their page says so. With the name of a world it is served for agents that are
    programs of their own.

    :param host: The address to listen at; 127.0.0.1 is for this machine only.
    :param port: 0 for any that is free.
    :param data: Folder for what people did, or postgresql+psycopg://USER@HOST/DATABASE.
    :param runs: Folder of runs, which the home lists.
    :param name: Another name of this machine, by which browsers ask for it; may be given again.
    :param open_to_others: Listen at an address that others reach; they need the token.
    :param token_file: File with the token that others need; it is made where it is missing.
    :param kg: WORLD=VALUE: players of this world may ask for help from this knowledge, free. The value is one of `--kg`
        of `gumption train`: train, full, a graph, the folder of a model, or a file of rules.
    :param kg_rules: WORLD=VALUE: a file of rules, or the world's of this name, which are applied to that graph.
    :param kg_relations: WORLD=NAME=THEIRS: what that graph or model calls a relation of the world.
    :param kg_map: WORLD=FILE: a file of `gumption kg map` for that graph.
    :param schema: Print the JSON schema of the messages, and stop.
    """
    if context.invoked_subcommand is not None:
        typed = [one for one in context.command.params if one.name is not None and was_typed(context, one.name)]
        if typed:
            raise InputError(f"{typed[0].opts[0]} is of the home; options of the world stand behind its name")
        return
    if schema:
        from .messages import schema as schema_of

        print(json.dumps(schema_of(), indent=1))
        return
    from .helping import read_offers
    from .security import Token
    from .server import Home, described_worlds, make_app
    from .store import Store

    offers = read_offers(kg or [], kg_rules or [], kg_relations or [], kg_map or [])
    check_reach(host, open_to_others, " and give a --token-file,")
    if not is_loopback(host) and token_file is None:
        raise InputError("--open-to-others needs a --token-file: who does not know its token is not let in")
    if runs is not None and not runs.is_dir():
        raise InputError(f"--runs {runs}: there is no such folder")
    token = None if token_file is None else Token(token_file)
    listening = listen(host, port, "--host")
    with listening:
        served = Home(Store(data), token=token, runs=runs)
        served.episodes.offers, served.episodes.advisers.tell = offers, partial(print, flush=True)
        application = make_app(served, host=host, names=name or [], guarded=token is not None)
        described_worlds()  # imports their views, before the first request
        address = f"http://{shown_address(listening)}/"
        word = "" if token is None else f"?token={token.text}"
        print(f"the home is at {address}{word} ; Ctrl-C ends it", flush=True)
        server_of(application).run(sockets=[listening])


def server_of(app: Any) -> Any:
    """Return the uvicorn server of an application; its `run(sockets=[...])` serves until Ctrl-C."""
    with extra("web", "the web home"):
        import uvicorn

    from .messages import LONGEST
    from .security import ImpatientProtocol, ImpatientSocket

    allow_connections()
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, proxy_headers=False,
        http=ImpatientProtocol, ws=ImpatientSocket, ws_max_size=LONGEST,
        ws_per_message_deflate=False,  # frames in real time are small and many
        timeout_graceful_shutdown=2, timeout_keep_alive=20,
    )  # fmt: skip
    return uvicorn.Server(config)


def allow_connections() -> None:
    """Raise this process's limit of open files and connections to the maximum that the system allows."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


app = world_group(
    "serve",
    "Serve the web home, where people play the worlds in a browser; or let a program play a world.",
    alone=home,
    epilog="Examples: gumption serve --port 8000; gumption serve gradual --tasks micro1,micro2 --port 5556",
)
