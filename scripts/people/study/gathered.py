"""Read the data of a study, also while its server writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.errors import extra

with extra("web", "a study"):
    import sqlalchemy as sql
    from sqlalchemy.exc import SQLAlchemyError

from gumption.scripts.people.web import store as tables

from .export import Participant, participants
from .files import Study

#: The tables that `participants` takes, after the study, in the order of its parameters.
TABLES = (tables.people, tables.episodes, tables.actions, tables.answers, tables.helps, tables.connections)


def read_rows(place: str | Path) -> list[list[Any]]:
    """Return all rows of each of `TABLES`, read in one transaction.

    :param place: the folder, or the address of a PostgreSQL server.
    :raises InputError: there is no such database, or it cannot be read.
    """
    if "://" in str(place):
        engine = tables.postgresql(str(place))
    else:
        path = Path(place) / tables.DATABASE
        if not path.is_file():
            raise InputError(f"{place}: holds no data of a study; name the --data folder of `gumption study serve`")
        engine = sql.create_engine(f"sqlite:///file:{path.absolute()}?mode=ro&uri=true")
    try:
        with engine.execution_options(isolation_level="SERIALIZABLE").begin() as connection:
            return [list(connection.execute(sql.select(table))) for table in TABLES]
    except SQLAlchemyError as error:
        raise InputError(f"{place}: cannot be read as a database ({tables.reason_of(error)})") from None
    finally:
        engine.dispose()


def gathered(study: Study, place: str | Path) -> list[Participant]:
    """Return the participants of a study with all their stored data.

    :raises InputError: as `read_rows`, or the database holds participants of other studies only.
    """
    rows = read_rows(place)
    found = participants(study, *rows)
    if rows[0] and not found:
        raise InputError(
            f"{place}: its participants are of another study, or of this one before its file was changed; give the "
            "file as it was"
        )
    return found
