"""What a query may take and do."""

from collections.abc import Mapping
from dataclasses import dataclass

from gumption.data import InputError

from .worker import address_asked

MEMORY_LIMIT = 2_048  # megabytes, where a query is limited at all
MOST = 1_000_000_000  # of any limit: clocks of the system take no more seconds, and a time of 30 years is no limit


@dataclass(frozen=True)
class Limits:
    """What somebody else's query may take and do.

    :ivar timeout: seconds, None for as many as it needs.
    :ivar memory: megabytes, None for no limit; where only the time is limited, MEMORY_LIMIT.
    :ivar service: whether SERVICE may ask other servers.
    :ivar rows: rows or facts of an answer, None for as many as there are.
    :raises InputError: a limit that is not more than 0, or not finite.
    """

    timeout: float | None = None
    memory: float | None = None
    service: bool = False
    rows: int | None = None

    def __post_init__(self) -> None:
        given = [("timeout", self.timeout, "seconds"), ("memory_limit", self.memory, "megabytes")]
        for name, value, unit in [*given, ("max_rows", self.rows, "rows")]:
            if value is not None and not 0 < value <= MOST:
                most = "" if value <= MOST else f" and at most {MOST:,}; without a limit leave it out"
                raise InputError(f"{name}={value}: it has to be more than 0 {unit}{most}")

    @property
    def given(self) -> bool:
        """Whether there is a limit to keep."""
        return any(limit is not None for limit in (self.timeout, self.memory, self.rows))

    @property
    def memory_bytes(self) -> int:
        """The memory in bytes."""
        return int((self.memory or MEMORY_LIMIT) * 1_000_000)

    def otherwise(self, general: "Limits") -> "Limits":
        """These limits, and the general ones where nothing is said."""
        return Limits(
            general.timeout if self.timeout is None else self.timeout,
            general.memory if self.memory is None else self.memory,
            self.service,
            general.rows if self.rows is None else self.rows,
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
    return f"the answer has more than {limits.rows:,} rows: ask for less with LIMIT, and for the others with OFFSET"
