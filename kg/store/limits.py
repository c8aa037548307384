"""What a query may take and do."""

from collections.abc import Mapping

from gumption.data import InputError
from gumption.data.settings import Count, Megabytes, Seconds, settings

from .worker import address_asked

MEMORY_LIMIT = 2_048  # megabytes, where a query is limited at all


@settings
class Limits:
    """What somebody else's query may take and do.

    :ivar timeout: seconds, None for as many as it needs.
    :ivar memory_limit: megabytes, None for no limit; where only the time is limited, MEMORY_LIMIT.
    :ivar allow_service: whether SERVICE may ask other servers.
    :ivar max_rows: rows or facts of an answer, None for as many as there are.
    :raises InputError: a limit that is not more than 0.
    """

    timeout: Seconds | None = None
    memory_limit: Megabytes | None = None
    allow_service: bool = False
    max_rows: Count | None = None

    @property
    def given(self) -> bool:
        """Whether there is a limit to keep."""
        return any(limit is not None for limit in (self.timeout, self.memory_limit, self.max_rows))

    @property
    def memory_bytes(self) -> int:
        """The memory in bytes."""
        return int((self.memory_limit or MEMORY_LIMIT) * 1_000_000)

    def otherwise(self, general: "Limits") -> "Limits":
        """These limits, and the general ones where nothing is said."""
        return Limits(
            general.timeout if self.timeout is None else self.timeout,
            general.memory_limit if self.memory_limit is None else self.memory_limit,
            self.allow_service,
            general.max_rows if self.max_rows is None else self.max_rows,
        )


def refuse_addresses(sparql: str, prefixes: Mapping[str, str], update: bool = False) -> None:
    """InputError for a query that asks another server, or an update that reads from one; SyntaxError for neither."""
    if address := address_asked(sparql, prefixes, update):
        raise InputError(refused_service(address))


def refused_service(address: str) -> str:
    """Why a query that asks another server is refused."""
    return (
        f"that asks another server, {address}: where a query may use SERVICE, allow it with query(..., "
        "allow_service=True), on the command line with --allow-service"
    )


def too_much(limits: Limits) -> str:
    """Why a query was stopped that took too much memory."""
    return (
        f"the query took more than {limits.memory_bytes / 1e6:,.0f} MB of memory and was stopped: ask for less, or "
        "allow more (memory_limit, on the command line --memory-limit)"
    )


def too_many(limits: Limits) -> str:
    """Why an answer of too many rows is refused."""
    return f"the answer has more than {limits.max_rows:,} rows: ask for less with LIMIT, and for the others with OFFSET"
