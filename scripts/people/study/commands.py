"""`gumption study`: check, preview and serve a study, simulate participants, export and report what was gathered."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.listening import Port, check_reach, listen, shown_address
from gumption.data.reading import read_text
from gumption.data.settings import Count, Seed, Whole
from gumption.scripts.apps import App, NewFolder
from gumption.scripts.output import Json, count, print_json, print_table

if TYPE_CHECKING:
    from .files import Study

Links = Annotated[int, Ge(0), Le(10_000)]
Players = Annotated[int, Ge(1), Le(10_000)]
Speed = Annotated[float, Ge(1), Le(100)]

app = App(
    no_args_is_help=True,
    add_completion=False,
    help="Run a study with people in browsers, from its file to the report.",
    epilog="Example: gumption study serve wordcraft-human --data runs/my-study",
)


@app.command(epilog="Example: gumption study check my-study.toml")
def check(file: str, *, json_: Json = False) -> None:
    """Check a study's file, its worlds, their settings and tasks, and say what is wrong with which field.

    :param file: A TOML or JSON file, or the name of a study that ships: wordcraft-human.
    """
    study = _read(file)
    summary = _summary(study)
    if json_:
        print_json(summary)
        return
    print(f"{study.title}: {study.name} is as it should be")
    print_table(["what", "how much"], [[name, value] for name, value in summary.items()])


def _read(file: str) -> Study:
    """Read the study of a file, and check its worlds."""
    from .files import find, read
    from .tasks import check_worlds

    study = read(file)
    check_worlds(study, find(file))
    return study


def _summary(study: Study) -> dict[str, Any]:
    from .design import design
    from .path import stages
    from .tasks import helpers

    path = stages(study, design(study, 0))
    conditions = [
        f"{one.name} ({'between' if one.between else 'within'}: {', '.join(one.levels)})" for one in study.conditions
    ]
    blocks = [
        f"{block.name}: {count(range(block.count // block.sets), 'task')} of {block.world}"
        for block in study.all_blocks
    ]
    return {
        "sign-in": study.sign_in,
        "conditions": "; ".join(conditions) or "none",
        "blocks": "; ".join(blocks),
        "pages": len(path),
        "tasks": sum(stage.kind == "task" for stage in path),
        **({"help": "; ".join(f"{block}: {line}" for block, line in helpers(study).items())} if study.helped else {}),
        "hash": study.hash,
    }


@app.command(epilog="Example: gumption study preview wordcraft-human --participant 2")
def preview(file: str, *, participant: Count = 1, tasks: Whole = 2) -> None:
    """Print a participant's pages in their order, without a server.

    :param file: The study.
    :param participant: Whose; conditions and orders differ between participants.
    :param tasks: So many tasks of each block are shown; of the others the number is told.
    """
    from .design import design
    from .path import stages
    from .tasks import begin

    study = _read(file)
    own = design(study, participant - 1)
    told = ", ".join(f"{name} {level}" for name, level in own.condition.items())
    print(f"{study.title}\nparticipant {participant}" + (f", {told}" if told else ""))
    path, left_out = stages(study, own), 0
    for stage in path:
        if stage.task is not None and stage.at >= tasks:
            left_out += stage.kind == "task"
            continue
        if left_out:
            print(f"\n... {count(range(left_out), 'task')} more")
            left_out = 0
        print(f"\n---- page {stage.number + 1} of {len(path)}: {stage.name} ({stage.kind})")
        if stage.kind == "consent":
            print(study.consent.text.strip())
        elif stage.kind == "end":
            print(study.end.text.strip())
        elif stage.task is not None:
            env, face = begin(stage.task)
            print(f"{stage.task.world} {json.dumps(dict(stage.task.settings))}, seed {stage.task.seed}")
            print(face.rules(env).strip() if stage.kind == "plan" else face.observe(env).rstrip())
            if stage.kind == "task" and (help := stage.played.block.help if stage.played else None):
                print(f"help from {help.kg}: {help.terms}")
        elif stage.text:
            print(stage.text.strip())
        for question in stage.questions:
            options = getattr(question, "options", None)
            print(f"  {question.name}: {question.text.strip()}" + (f" [{' | '.join(options)}]" if options else ""))


@app.command(epilog="Example: gumption study serve wordcraft-human --data runs/my-study")
def serve(
    file: str,
    *,
    data: Path = Path("runs/study"),
    database: str | None = None,
    host: str = "127.0.0.1",
    port: Port = 8001,
    name: list[str] | None = None,
    open_to_others: bool = False,
    links: Links = 0,
) -> None:
    """Serve a study until Ctrl-C. The same command goes on with it.

    What a participant does is on disk before their page says so. The experimenter's page shows who takes part, replays
    episodes and exports.

    :param file: The study.
    :param data: Folder for what participants do, the experimenter's token, and the links.
    :param database: Keep what they do in a database instead, postgresql+psycopg://USER@HOST/DATABASE.
    :param host: The address to listen at; 127.0.0.1 is for this machine only.
    :param port: 0 for any that is free.
    :param name: Another name of this machine, by which browsers ask for it; may be given again.
    :param open_to_others: Listen at an address that others reach.
    :param links: Make so many further personal links first, and print them.
    """
    from gumption.scripts.people.web.commands import server_of

    from .running import application
    from .tasks import helpers

    study = _read(file)
    check_reach(host, open_to_others)
    if links and study.sign_in != "link":
        raise InputError(f'--links: this study\'s sign_in is "{study.sign_in}"; links are for sign_in = "link"')
    listening = listen(host, port, "--host")
    with listening, application(study, data, database=database, host=host, names=name or []) as (served, token, given):
        address = f"http://{shown_address(listening)}"
        for block, line in helpers(study).items():
            print(f"help in {block}: {line}")
        for link in given.more(links) if links else ():
            print(f"{address}/study/s/{link}")
        print(f"participants: {address}/study")
        print(f"experimenter: {address}/experimenter#{token.text}")
        print("Ctrl-C ends it; the same command goes on", flush=True)
        server_of(served).run(sockets=[listening])


@app.command(epilog="Example: gumption study export wordcraft-human --data runs/my-study --out runs/export")
def export(
    file: str, *, data: Path = Path("runs/study"), database: str | None = None, out: NewFolder, json_: Json = False
) -> None:
    """Write what was gathered: CSV, JSON Lines of the episodes, a codebook, and a hash of it all.

    It can be done while the server runs.

    :param file: The study.
    :param data: Folder of `gumption study serve`.
    :param database: Its database, where it has one.
    :param out: Folder, which is replaced where it holds an export.
    """
    from .export import ABOUT, files, write
    from .files import read
    from .gathered import gathered
    from .links import Secret

    study = read(file)
    content = files(study, gathered(study, database or data), Secret.of(data))
    write(out, content)
    about = json.loads(content[ABOUT])
    if json_:
        print_json(about)
        return
    states = ", ".join(f"{number} {state}" for state, number in about["states"].items() if number)
    people = count(range(about["participants"]), "participant")
    kept = (count(range(about[f"{name}s"]), name) for name in ("episode", "action"))
    print(f"{people} ({states or 'none yet'}), {', '.join(kept)}: {out}")
    print(f"sha256 {about['sha256']}")


@app.command(epilog="Example: gumption study simulate wordcraft-human --players 10 --policy random --chaos")
def simulate(
    file: str,
    *,
    players: Players = 10,
    policy: str = "random",
    chaos: bool = False,
    url: str | None = None,
    links: Path | None = None,
    data: Path | None = None,
    seed: Seed = 0,
    at_once: Players = 50,
    speed: Speed = 1.0,
    json_: Json = False,
) -> None:
    """Send simulated participants through a study, by the addresses and sockets that people use.

    :param file: The study.
    :param players: How many.
    :param policy: How they play: random, oracle (told the solutions), scripted (people wrote it), or run:FOLDER.
    :param chaos: They lose connections, load pages again, open second tabs, send twice, and have clocks that jump.
    :param url: Address of a running server.  [default: one of its own]
    :param links: The file links.csv of that server, where the study is entered by personal links.
    :param data: Folder of the own server.  [default: one that is thrown away]
    :param seed: Of all that is random.
    :param at_once: Players at the same time.
    :param speed: So many times as fast as a clock time passes in worlds in real time, on the own server.
    """
    from .running import application, in_thread
    from .simulate import simulate as send

    study = _read(file)
    for option, typed in (("--data", data is not None), ("--speed", speed != 1.0)):
        if url is not None and typed:
            raise InputError(f"{option} is of an own server, and --url names a running one; give one of them")
    with ExitStack() as stack:
        if url is None:
            folder = data or Path(stack.enter_context(TemporaryDirectory()))
            served, _, given = stack.enter_context(application(study, folder, speed=speed))
            tokens = given.more(players) if study.sign_in == "link" else []
            url = stack.enter_context(in_thread(served))
        else:
            tokens = _tokens(links) if study.sign_in == "link" else []
        identities = _identities(study, players, tokens, seed)
        report = asyncio.run(
            send(
                study, url, players, policy, chaos=chaos, seed=seed, at_once=at_once, identities=identities, speed=speed
            )
        )
        figures = report.figures()
    if json_:
        print_json(figures)
    else:
        print_table(["figure", "value"], [[name.replace("_", " "), value] for name, value in figures.items()])


def _tokens(links: Path | None) -> list[str]:
    if links is None:
        raise InputError("--links is missing: the study is entered by personal links; name links.csv in its --data")
    return [line.partition(",")[2] for line in read_text(links, "ascii").splitlines()]


def _identities(study: Study, players: int, tokens: list[str], seed: int) -> list[dict[str, str]] | None:
    """Return the sign-in data of each player; None for made-up names."""
    if study.sign_in == "link":
        if len(tokens) < players:
            raise InputError(f"--players is {players}; there are {len(tokens)} links")
        return [{"token": token} for token in tokens[:players]]
    if study.recruiting is not None:
        return [dict.fromkeys(study.recruiting.parameters, f"simulated-{seed}-{k}") for k in range(players)]
    return None


@app.command(epilog="Example: gumption study report wordcraft-human --data runs/my-study --out runs/report")
def report(
    file: str,
    *,
    data: Path = Path("runs/study"),
    database: str | None = None,
    run: list[Path] | None = None,
    out: NewFolder,
    json_: Json = False,
) -> None:
    """Make tables and plots of people beside random choices, an oracle and agents on the same tasks.

    :param file: The study.
    :param data: Folder of `gumption study serve`.
    :param database: Its database, where it has one.
    :param run: A trained run to play the participants' tasks; may be given again.
    :param out: Folder, which is replaced where it holds a report.
    """
    from .files import read
    from .gathered import gathered
    from .report import make, write

    study = read(file)
    figures = make(study, gathered(study, database or data), [f"run:{one}" for one in run or []])
    table = write(out, study, figures)
    if json_:
        print_json(figures)
    else:
        print(f"{table}\nThe report is in {out}")
