"""Messages of the socket: JSON texts, each with the version of this protocol and its type.

The page sends `begin`, `go_on`, `act`, `help` and `leave`; the server answers with `shown`, `refused`, `help_refused`,
`error`, in real time with `frame`, and with `preparing` before an answer that takes long. `gumption serve --schema`
prints their JSON schema.
"""

import json
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, field_validator

from gumption.data import InputError
from gumption.data.errors import did_you_mean
from gumption.data.reading import parse_json
from gumption.data.settings import LARGEST, shown

VERSION = 1
LONGEST = 64 * 1024  # bytes of a message
Id = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Whole = Annotated[int, Field(ge=0, le=LARGEST)]


class Message(BaseModel):
    """A message of either side; `v` is the version of the protocol."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    v: Literal[1] = VERSION


def by_type(*kinds: type[Message]) -> dict[str, type[Message]]:
    """Return type -> model of messages."""
    return {kind.model_fields["type"].default: kind for kind in kinds}


# ---- From the page.


class Begin(Message):
    """Begin an episode of a world; without a seed one is drawn."""

    type: Literal["begin"] = "begin"
    world: Annotated[str, Field(max_length=100)]
    settings: Annotated[dict[Annotated[str, Field(max_length=100)], JsonValue], Field(max_length=20)] = {}
    seed: Whole | None = None


class GoOn(Message):
    """Go on with an episode, after a reload or in another tab."""

    type: Literal["go_on"] = "go_on"
    episode: Id


class Clocked(Message):
    """A message with the time of the page's clock in ms, `at`."""

    at: float

    @field_validator("at", mode="before")
    @classmethod
    def _a_real_number(cls, value: Any) -> Any:
        return float(value) if type(value) is int and abs(value) < LARGEST else value


class Act(Clocked):
    """An action; actions of an episode have the numbers 1, 2, ... `step` is the physics step that the player saw, in
    real time."""

    type: Literal["act"] = "act"
    episode: Id
    number: Number
    action: JsonValue
    step: Whole | None = None


class Help(Clocked):
    """Asks for help at a choice. Helps of an episode have the numbers 1, 2, ...; `after` is the number of the latest
    action, 0 before the first."""

    type: Literal["help"] = "help"
    episode: Id
    number: Number
    after: Annotated[int, Field(ge=0, le=2**31 - 1)]


class Leave(Message):
    """The player leaves an episode, which can be gone on with."""

    type: Literal["leave"] = "leave"
    episode: Id


#: Messages that the server itself reads, by type; each `Part` adds its own.
FROM_PAGE: Mapping[str, type[Message]] = by_type(Begin, GoOn, Act, Help, Leave)

# ---- From the server.


class Shown(Message):
    """An episode as the player sees it. All actions up to `number` are on disk, and all helps that it tells of."""

    type: Literal["shown"] = "shown"
    episode: Id
    number: Annotated[int, Field(ge=0)]
    view: dict[str, Any]


class Refused(Message):
    """An action that was not taken; nothing of it was kept. `expected` is the number of the next one."""

    type: Literal["refused"] = "refused"
    episode: Id
    number: Number
    reason: str
    expected: Number


class HelpRefused(Message):
    """Help that was not given, and is not paid for. `expected` is the number of the next one."""

    type: Literal["help_refused"] = "help_refused"
    episode: Id
    number: Number
    after: int
    reason: str
    expected: Number


class Frame(Message):
    """The state of an episode in real time, at a physics step."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: Literal["frame"] = "frame"
    episode: Id
    step: Whole


class Error(Message):
    """What went wrong otherwise. Kinds: "bad" (the message was refused), "unknown" (no such episode of this person),
    "taken" (the episode goes on in another tab), "closed" (nobody may begin one here), "failed" (the server could not
    do it; the episode can be gone on with)."""

    type: Literal["error"] = "error"
    reason: str
    kind: Literal["bad", "unknown", "taken", "closed", "failed"] = "bad"
    episode: str | None = None


class Preparing(Message):
    """The answer has to wait, because the server makes a world ready; sent again and again until it comes."""

    type: Literal["preparing"] = "preparing"
    reason: str = "a world is being made ready; that takes up to a minute, once on this machine"


FROM_SERVER: Mapping[str, type[Message]] = by_type(Shown, Refused, HelpRefused, Frame, Error, Preparing)


def read(text: str | bytes, kinds: Mapping[str, type[Message]] = FROM_PAGE) -> Message:
    """Parse and return the message in a text frame.

    :param kinds: type -> its model.
    :raises InputError: no message of these kinds, or another version of the protocol.
    """
    if len(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text) > LONGEST:
        raise InputError(f"the message is longer than {LONGEST:,} bytes")
    try:
        given = parse_json(text)
    except ValueError as error:
        raise InputError(f"the message is no JSON ({error})") from None
    try:
        json.dumps(given, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise InputError("the message has half of a pair of surrogates, which is no character") from None
    except ValueError:
        raise InputError("the message has NaN or Infinity, which are no JSON") from None
    if not isinstance(given, dict):
        raise InputError(f"the message is {shown(given)}; it is an object with v and type")
    if given.get("v") != VERSION:
        raise InputError(f"the message has v {shown(given.get('v'))}; this server speaks {VERSION}: reload the page")
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in kinds:
        hint = did_you_mean(kind, kinds, f"there are {', '.join(kinds)}")
        raise InputError(f"the message has the type {shown(kind)}, which is none; {hint}")
    try:
        return kinds[kind].model_validate(given)
    except (ValidationError, RecursionError) as error:
        raise InputError(f"{kind}: {_told(error)}") from None


def _told(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "its brackets are nested too deep"
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"][:3])
    return f"{place}: {first['msg']}" if place else first["msg"]


def written(message: Mapping[str, Any]) -> str:
    """Return the JSON text of a message that is a plain dict, with the version added."""
    return json.dumps({"v": VERSION, **message}, allow_nan=False)


def schema(from_page: Mapping[str, type[Message]] = FROM_PAGE) -> dict[str, Any]:
    """Return the JSON schema of all messages: side ("page" or "server") -> schema."""

    def of(kinds: Mapping[str, type[Message]]) -> dict[str, Any]:
        either: Any = Annotated[reduce(or_, kinds.values()), Field(discriminator="type")]
        return TypeAdapter(either).json_schema()

    return {"page": of(from_page), "server": of(FROM_SERVER)}
