"""What is kept: SQLite in a folder and a real PostgreSQL server."""

import asyncio
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from gumption.data import InputError
from gumption.scripts.people.web import store as tables
from gumption.scripts.people.web.store import DATABASE, Store
from tests.scripts.people.web.homes import served

HOW = "install a PostgreSQL server for this test: apt-get install postgresql"
ADA = "a" * 32
BOB = "b" * 32


def test_only_the_owner_reads_what_people_did(tmp_path: Path) -> None:
    """Also in a folder and a database that were there before; a folder with other files keeps its mode."""
    (tmp_path / "empty").mkdir(mode=0o755)
    (tmp_path / "shared").mkdir(mode=0o755)
    (tmp_path / "shared" / "notes.txt").touch()
    for name, mode in (("new", 0o700), ("empty", 0o700), ("new", 0o700), ("shared", 0o755)):
        store = Store(tmp_path / name)
        files = [path for path in (tmp_path / name).iterdir() if path.name.startswith(DATABASE)]
        assert len(files) == 3
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
        assert (tmp_path / name).stat().st_mode & 0o777 == mode
        store.close()
        (tmp_path / name / DATABASE).chmod(0o644)


def _programs() -> Path | None:
    """The folder of pg_ctl and initdb."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    on_path = shutil.which("pg_ctl")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a database of a server that runs for these tests."""
    pytest.importorskip("psycopg", reason="pip install 'psycopg[binary]'")
    programs = _programs()
    if programs is None:
        pytest.skip(HOW)
    folder = Path("/tmp") / f"gumption-pg-{os.getpid()}"  # the path of a socket has to be short
    folder.mkdir(mode=0o700)
    user: dict[str, Any] = {}
    if os.getuid() == 0:  # it refuses to run as root
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid}

    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, **user)
        assert done.returncode == 0, done.stderr

    data = str(folder / "data")
    try:
        run(str(programs / "initdb"), "-D", data, "-U", "home", "-A", "trust", "-N", "--locale=C", "-E", "UTF8")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        with (folder / "log").open("w") as log:  # its output must not be a pipe, which it keeps open
            command = [str(programs / "pg_ctl"), "-D", data, "-o", options, "-w", "start"]
            done = subprocess.run(command, stdout=log, stderr=log, check=False, cwd=folder, **user)
        assert done.returncode == 0, (folder / "log").read_text()
        yield f"postgresql+psycopg://home@/postgres?host={folder}"
        run(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = tmp_path / "home" if request.param == "sqlite" else request.getfixturevalue("postgresql")
    kept = Store(place)
    yield kept
    for table in (tables.actions, tables.episodes, tables.answers, tables.people):
        kept.queue(sql.delete(table))
    kept.close()


def person(id: str, **more: Any) -> Any:
    return sql.insert(tables.people).values(id=id, began=1.0, seen=1.0, **more)


def episode(id: str, person: str) -> Any:
    return sql.insert(tables.episodes).values(id=id, person=person, world="w", settings={}, seed=2**62, began=1.0)


def action(episode: str, number: int, action: Any = None) -> Any:
    return sql.insert(tables.actions).values(episode=episode, number=number, action=action, at=1.5, received=2.5)


def test_what_was_written_is_read_after_the_store_is_opened_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    given = {"id": 'Ada "x"\n\u0000\U0001f600', "n": [1.5, None, True]}
    asyncio.run(store.write(person(ADA, name="<script>'; DROP TABLE people; --", given=given), episode("e" * 32, ADA)))
    store.close()
    store = Store(tmp_path)
    (row,) = store.read(sql.select(tables.people))
    assert (row.id, row.name, row.given, row.state) == (ADA, "<script>'; DROP TABLE people; --", given, "going")
    assert store.read(sql.select(tables.episodes.c.seed, tables.episodes.c.ended)) == [(2**62, None)]
    store.close()


def test_any_json_is_an_action(store: Store) -> None:
    given = [None, True, 0, -1.5e300, "", 'a\n\u0000"\U0001f600', [], {}, [{"a": [1]}]]
    asyncio.run(store.write(*(action("e" * 32, number, one) for number, one in enumerate(given, start=1))))
    rows = store.read(sql.select(tables.actions.c.action).order_by(tables.actions.c.number))
    assert [row.action for row in rows] == given


def test_writes_are_committed_together_and_one_bad_one_spoils_none(store: Store) -> None:
    async def write() -> list[Any]:
        good = [store.write(action("e" * 32, number)) for number in range(1, 51)]
        bad = store.write(person(ADA), action("e" * 32, 7))  # the number is taken
        return await asyncio.gather(*good, bad, store.write(action("e" * 32, 51)), return_exceptions=True)

    results = asyncio.run(write())
    assert [index for index, result in enumerate(results) if result is not None] == [50]
    assert isinstance(results[50], sql.exc.IntegrityError)
    assert len(store.read(sql.select(tables.actions))) == 51
    assert store.read(sql.select(tables.people)) == []  # all of a write, or nothing


@pytest.mark.slow
def test_a_thousand_waiting_writes_need_few_commits(store: Store) -> None:
    commits: list[sql.Connection] = []

    def count(connection: sql.Connection) -> None:
        commits.append(connection)

    sql.event.listen(sql.Engine, "commit", count)
    try:
        for one in [store.queue(action("e" * 32, number)) for number in range(1, 1001)]:
            one.result(30)
    finally:
        sql.event.remove(sql.Engine, "commit", count)
    assert 1 <= len(commits) <= 500  # also where the disk is faster than the thread that queues


def test_a_person_is_forgotten_whole_and_nobody_else(store: Store) -> None:
    async def both() -> None:
        for id, of in (("c" * 32, ADA), ("d" * 32, BOB)):
            answer = sql.insert(tables.answers).values(person=of, stage=1, name="age", value=7, at=1.0, received=1.0)
            await store.write(person(of, name=f"name {of}"), episode(id, of), action(id, 1), answer)
        await store.forget(ADA)

    asyncio.run(both())
    assert [row.id for row in store.read(sql.select(tables.people))] == [BOB]
    assert [row.id for row in store.read(sql.select(tables.episodes))] == ["d" * 32]
    assert [row.episode for row in store.read(sql.select(tables.actions))] == ["d" * 32]
    assert [row.person for row in store.read(sql.select(tables.answers))] == [BOB]


def test_what_was_forgotten_is_in_no_file(tmp_path: Path) -> None:
    store = Store(tmp_path)

    async def write() -> None:
        await store.write(person(ADA, name="Ada Lovelace of London"))
        await store.forget(ADA)

    asyncio.run(write())
    found = [path.name for path in tmp_path.iterdir() if b"Lovelace" in path.read_bytes()]
    store.close()
    assert (tmp_path / DATABASE).is_file()
    assert found == []


def test_a_second_server_is_kept_away(store: Store) -> None:
    program = f"from gumption.scripts.people.web.store import Store; Store({store.place!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "another" in done.stderr.splitlines()[-1]
    assert "InputError" in done.stderr.splitlines()[-1]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file; name a folder"):
        Store(tmp_path / "file")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / DATABASE).write_text("this is no database, but a text of some length" * 100)
    with pytest.raises(InputError, match="cannot be used as a database"):
        Store(tmp_path / "broken")


@pytest.mark.slow
def test_the_home_runs_on_postgresql(postgresql: str) -> None:
    with served(postgresql) as home:
        with home.page() as page:
            begun = page.ask("begin", world="wordcraft", seed=1)
            word = begun["view"]["choices"][0]["action"]
            assert page.act(begun["episode"], 1, word)["number"] == 1
        home.kill()
    with served(postgresql) as home, home.page() as page:
        again = page.ask("go_on", episode=begun["episode"])
        assert (again["number"], again["view"]["steps"]) == (1, 1)
        assert page.act(begun["episode"], 2, word)["view"]["over"]
