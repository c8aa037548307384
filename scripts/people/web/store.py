"""The data of players and participants in a database: SQLite in a folder that only its owner may read, or PostgreSQL.

One thread writes. It puts all waiting writes into one transaction and acknowledges them after the commit, so that
acknowledged data is on disk, whatever the number of players.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.writing import check_writable, is_part, sole_writer, write_errors

with extra("web", "the web home"):
    import sqlalchemy as sql
    from sqlalchemy import event
    from sqlalchemy.exc import SQLAlchemyError

DATABASE = "home.sqlite"  # in the folder
SCHEMA = 2  # the version of the tables; it grows when they change
_TABLES = sql.MetaData()
_ID = sql.String(32)

#: A person who plays or takes part in a study (`study` is its hash, "" outside a study). `key` is the sha256 of the
#: cookie, `place` the number of the participant from 0, `given` the identity by link or recruiting service; times are
#: in seconds since 1970.
people = sql.Table(
    "people", _TABLES,
    sql.Column("id", _ID, primary_key=True),
    sql.Column("study", sql.Text, nullable=False, default=""),
    sql.Column("place", sql.Integer),
    sql.Column("key", sql.String(64), index=True),
    sql.Column("name", sql.Text),
    sql.Column("given", sql.JSON),
    sql.Column("condition", sql.JSON),
    sql.Column("began", sql.Double, nullable=False),
    sql.Column("seen", sql.Double, nullable=False),
    sql.Column("state", sql.String(16), nullable=False, default="going"),
    sql.Column("stage", sql.Integer, nullable=False, default=0),
)  # fmt: skip
#: An episode; `stage` is the stage of a study, from 1 on, or 0; `result` is null until the episode has ended.
episodes = sql.Table(
    "episodes", _TABLES,
    sql.Column("id", _ID, primary_key=True),
    sql.Column("person", _ID, nullable=False, index=True),
    sql.Column("stage", sql.Integer, nullable=False, default=0),
    sql.Column("world", sql.Text, nullable=False),
    sql.Column("settings", sql.JSON, nullable=False),
    sql.Column("seed", sql.BigInteger, nullable=False),
    sql.Column("began", sql.Double, nullable=False),
    sql.Column("ended", sql.Double),
    sql.Column("result", sql.JSON),
)  # fmt: skip
#: The actions of an episode, numbered from 1. `step`: physics step in real time; `attempt`: number of the attempt at
#: the task, from 1; `state`: hash of the state before; `at`: the player's clock in ms since 1970; `received`: the
#: server's clock in seconds since 1970.
actions = sql.Table(
    "actions", _TABLES,
    sql.Column("episode", _ID, primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("action", sql.JSON, nullable=False),
    sql.Column("step", sql.BigInteger),
    sql.Column("attempt", sql.Integer, nullable=False, default=1),
    sql.Column("state", sql.String(16), nullable=False, default=""),
    sql.Column("at", sql.Double, nullable=False),
    sql.Column("received", sql.Double, nullable=False),
)  # fmt: skip
#: The helps given in an episode, numbered from 1. `after`: number of actions made before; `said`: the content shown and
#: the knowledge that it comes from; `at` and `received` as for actions.
helps = sql.Table(
    "helps", _TABLES,
    sql.Column("episode", _ID, primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("after", sql.Integer, nullable=False),
    sql.Column("said", sql.JSON, nullable=False),
    sql.Column("price", sql.Double, nullable=False),
    sql.Column("at", sql.Double, nullable=False),
    sql.Column("received", sql.Double, nullable=False),
)  # fmt: skip
#: The connections of participants of a study, a row for each open page. `left` is updated while the page is open.
connections = sql.Table(
    "connections", _TABLES,
    sql.Column("id", _ID, primary_key=True),
    sql.Column("person", _ID, nullable=False, index=True),
    sql.Column("came", sql.Double, nullable=False),
    sql.Column("left", sql.Double, nullable=False),
)  # fmt: skip
#: Answers to a study's questions.
answers = sql.Table(
    "answers", _TABLES,
    sql.Column("person", _ID, primary_key=True),
    sql.Column("stage", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("name", sql.String(100), primary_key=True),
    sql.Column("value", sql.JSON, nullable=False),
    sql.Column("at", sql.Double, nullable=False),
    sql.Column("received", sql.Double, nullable=False),
)  # fmt: skip


#: One row: the version of the tables.
versions = sql.Table("versions", _TABLES, sql.Column("schema", sql.Integer, primary_key=True, autoincrement=False))

_ZERO = time.time() - time.monotonic()


def now() -> float:
    """Return the seconds since 1970, by a clock that never goes back while the server runs, as time limits need."""
    return _ZERO + time.monotonic()


class _Write(NamedTuple):
    statements: Sequence[Any]
    kept: Future[None]


class Store:
    """The database, with the one thread that writes.

    :ivar place: the folder, or the address without its password.
    """

    def __init__(self, place: str | Path) -> None:
        """:param place: a folder, created if missing, or "postgresql+psycopg://USER@HOST/DATABASE".
        :raises InputError: not writable, no database of this kind or version, or in use by another server.
        """
        self._engine = postgresql(str(place)) if "://" in str(place) else _sqlite(Path(place))
        self.place = self._engine.url.render_as_string() if "://" in str(place) else str(place)
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        with ExitStack() as held:
            held.callback(self._engine.dispose)
            try:
                held.callback(_keep_others_away(self._engine, place))
                _make_tables(self._engine, self.place)
            except SQLAlchemyError as error:
                raise InputError(f"{self.place}: cannot be used as a database ({reason_of(error)})") from None
            self._held = held.pop_all()
        self._writer = threading.Thread(target=self._write_all, name="store", daemon=True)
        self._writer.start()

    def queue(self, *statements: Any) -> Future[None]:
        """Queue statements for execution in one transaction, after all earlier ones; the future is done at the commit.

        The future raises the error of the database.
        """
        kept: Future[None] = Future()
        self._queue.put(_Write(statements, kept))
        return kept

    async def write(self, *statements: Any) -> None:
        """Execute statements as `queue` does, and return after the commit."""
        await asyncio.wrap_future(self.queue(*statements))

    def read(self, statement: Any) -> list[Any]:
        """Return the rows of a query on the committed data."""
        with self._engine.connect() as connection:
            return list(connection.execute(statement))

    async def rows(self, statement: Any) -> list[Any]:
        """Return the rows of a query as `read` does, from another thread."""
        return await asyncio.to_thread(self.read, statement)

    async def forget(self, person: str, *then: Any) -> None:
        """Delete a person and all rows of this person.

        :param then: statements to execute in the same transaction.
        """
        mine = sql.select(episodes.c.id).where(episodes.c.person == person).scalar_subquery()
        await self.write(
            *(sql.delete(table).where(table.c.episode.in_(mine)) for table in (actions, helps)),
            *(sql.delete(table).where(table.c.person == person) for table in (episodes, answers, connections)),
            sql.delete(people).where(people.c.id == person),
            *then,
        )
        if self._engine.dialect.name == "sqlite":  # the write-ahead log still holds the deleted rows
            await self.rows(sql.text("PRAGMA wal_checkpoint(TRUNCATE)"))

    def close(self) -> None:
        """Execute the queued writes, and close the database."""
        if self._writer.is_alive():
            self._queue.put(None)
            self._writer.join()
        self._held.close()

    # ---- the thread

    def _write_all(self) -> None:
        over = False
        while not over:
            waiting = [self._queue.get()]
            while not self._queue.empty():
                waiting.append(self._queue.get())
            over = None in waiting
            writes = [one for one in waiting if one is not None]
            if not self._commit(writes) and len(writes) > 1:  # a failed write must not undo the others
                for one in writes:
                    self._commit([one])

    def _commit(self, writes: Sequence[_Write]) -> bool:
        """Commit the writes in one transaction; return whether it succeeded. A failed single write gets the error."""
        try:
            with self._engine.begin() as connection:
                for one in writes:
                    for statement in one.statements:
                        connection.execute(statement)
        except Exception as error:  # any error has to reach the waiting caller
            if len(writes) == 1:
                writes[0].kept.set_exception(error)
            return False
        for one in writes:
            one.kept.set_result(None)
        return True


def _sqlite(folder: Path) -> sql.Engine:
    if folder.is_file():
        raise InputError(f"{folder}: is a file; name a folder for what people do")
    check_writable(folder / DATABASE)
    files = [folder / f"{DATABASE}{ending}" for ending in ("", "-wal", "-shm")]
    with write_errors(folder):
        folder.resolve().mkdir(parents=True, exist_ok=True)
        if all(path in files or is_part(path) for path in folder.iterdir()):  # the folder holds nothing else
            folder.chmod(0o700)
        os.close(os.open(files[0], os.O_RDWR | os.O_CREAT, 0o600))
        for file in filter(Path.exists, files):  # SQLite creates -wal and -shm with the mode of the database
            file.chmod(0o600)
    engine = sql.create_engine(f"sqlite:///{folder / DATABASE}", connect_args={"timeout": 10})

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def postgresql(address: str) -> sql.Engine:
    """Return the engine of a PostgreSQL server; raise InputError for another address, or without the driver."""
    try:
        url = sql.make_url(address)
        if url.get_backend_name() != "postgresql":
            raise InputError(f"{address}: no such database is served; give a folder, or postgresql+psycopg://HOST/NAME")
        with extra("postgresql", "a PostgreSQL database"):
            return sql.create_engine(url, pool_pre_ping=True)
    except SQLAlchemyError as error:
        raise InputError(f"{address}: no address of a database ({reason_of(error)})") from None


def _make_tables(engine: sql.Engine, place: str) -> None:
    """Create the missing tables; raise InputError if the database has tables of another version."""
    begun = sql.inspect(engine).has_table(people.name)
    versions.create(engine, checkfirst=True)
    with engine.begin() as connection:
        found = connection.scalar(sql.select(versions.c.schema))
        if found is None and not begun:
            connection.execute(sql.insert(versions).values(schema=SCHEMA))
            found = SCHEMA
    if found != SCHEMA:
        raise InputError(
            f"{place}: its tables have version {found or 0}, and this gumption reads version {SCHEMA}; use the "
            "gumption that wrote them, or give another --data"
        )
    # The version is written first: if the server is killed here, the next start creates the tables.
    _TABLES.create_all(engine)


def reason_of(error: Exception) -> str:
    """Return the first line of a database error."""
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def _keep_others_away(engine: sql.Engine, place: str | Path) -> Callable[[], None]:
    """Lock the database against a second server, which would hold the same episodes in another state; return the
    function that unlocks it."""
    if engine.dialect.name == "sqlite":
        claim = ExitStack()
        claim.enter_context(sole_writer(Path(place), wait=0))
        return claim.close
    connection = engine.connect()
    if not connection.scalar(sql.text("SELECT pg_try_advisory_lock(71756)")):
        connection.close()
        raise InputError(f"{place}: another server uses it; stop that one, or give another --data")
    connection.commit()
    return connection.close
