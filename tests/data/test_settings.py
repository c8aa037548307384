"""The one way to check settings: what is taken, what is refused, and in which words."""

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, Lt, MultipleOf
from typing_extensions import TypeAliasType

from gumption.data import InputError
from gumption.data.settings import Count, InnerShare, Positive, Share, check, checked, checked_methods, settings

NAN, INF = float("nan"), float("inf")


class Shed:
    """What a settings class may hold that is no plain value."""


@settings
class Garden:
    """A garden."""

    beds: Count = 3
    share: Share = 0.5
    slope: float = 0.0
    soil: Literal["clay", "sand"] = "clay"
    gate: Literal["red", "blue"] | None = None
    fence: bool = True
    plants: tuple[str, ...] = ("kale",)
    tools: tuple[tuple[str, Any], ...] = ()
    map: str | PathLike[str] | Shed | None = None
    tell: Callable[[str], None] | None = field(default=None, repr=False)
    rows: Annotated[int, Ge(8), MultipleOf(8)] | None = None

    def __post_init__(self) -> None:
        if self.beds == 13:
            raise InputError("thirteen beds bring bad luck")


@settings
class Orchard(Garden):
    """A garden with trees."""

    trees: Count = 1


@settings
class Bed:
    """A bed, whose length has no default."""

    length: Positive
    label: str = ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"beds": 0}, "beds is 0; it is a whole number, at least 1"),
        ({"beds": -1}, "beds is -1; it is a whole number, at least 1"),
        ({"beds": 1.5}, "beds is 1.5; it is a whole number, at least 1"),
        ({"beds": 2.0}, "beds is 2.0; it is a whole number, at least 1"),
        ({"beds": True}, "beds is True; it is a whole number, at least 1"),
        ({"beds": "3"}, "beds is '3'; it is a whole number, at least 1"),
        ({"beds": None}, "beds is None; it is a whole number, at least 1"),
        ({"beds": np.float64(2)}, "beds is np.float64(2.0); it is a whole number, at least 1"),
        ({"beds": np.array([2])}, "beds is array([2]); it is a whole number, at least 1"),
        ({"beds": 2**63}, "beds is 9223372036854775808; it is a whole number below 2**63"),
        ({"beds": 10**5000}, "beds is a whole number of 16610 bits; it is a whole number below 2**63"),
        ({"share": 1.1}, "share is 1.1; it is a number from 0 to 1"),
        ({"share": NAN}, "share is nan; it is a finite number from 0 to 1"),
        ({"share": np.float32(-1)}, "share is np.float32(-1.0); it is a number from 0 to 1"),
        ({"share": "half"}, "share is 'half'; it is a number from 0 to 1"),
        ({"share": False}, "share is False; it is a number from 0 to 1"),
        ({"slope": INF}, "slope is inf; it is a finite number"),
        ({"slope": 10**400}, "slope is a whole number of 1329 bits; it is a number"),
        ({"soil": "clya"}, "soil is 'clya'; it can be clay, sand"),
        ({"soil": 3}, "soil is 3; it can be clay, sand"),
        ({"soil": None}, "soil is None; it can be clay, sand"),
        ({"gate": "green"}, "gate is 'green'; it can be red, blue, None"),
        ({"fence": 1}, "fence is 1; it is True or False"),
        ({"fence": "yes"}, "fence is 'yes'; it is True or False"),
        ({"plants": "kale"}, "plants is 'kale'; it is a tuple of text"),
        ({"plants": ("kale", 3)}, "plants is ('kale', 3); it is a tuple of text"),
        ({"tools": {"rake": 1}}, "tools is {'rake': 1}; it is a tuple of pairs"),
        ({"tools": (("rake", 1, 2),)}, "tools is (('rake', 1, 2),); it is a tuple of pairs"),
        ({"map": 3}, "map is 3; it is text or a path or a Shed or None"),
        ({"tell": "me"}, "tell is 'me'; it is a function or None"),
        ({"rows": 12}, "rows is 12; it is a whole number, at least 8, a multiple of 8 or None"),
        ({"beds": 13}, "thirteen beds bring bad luck"),
        ({"soul": "clay"}, "Garden has no 'soul'; did you mean 'soil'?"),
        ({"x": 1}, "Garden has no 'x'; it has beds, fence, gate, map, plants, rows, share, slope, soil, tell, tools"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as told:
        Garden(**given)
    assert str(told.value) == message
    assert told.value.__cause__ is None
    with pytest.raises(InputError) as again:
        replace(Garden(), **given)
    assert str(again.value) == message


def test_positions_are_checked_like_names() -> None:
    assert Garden(4, 0.25) == Garden(beds=4, share=0.25)
    for arguments in ((0,), (1, 2)):
        with pytest.raises(InputError, match=r"^(beds|share) is"):
            Garden(*arguments)
    with pytest.raises(InputError, match="Bed takes each of its 2 fields once"):
        Bed(1, "a", "b")  # pyright: ignore[reportCallIssue]
    with pytest.raises(InputError, match="Bed takes each of its 2 fields once"):
        Bed(1, length=2)  # pyright: ignore[reportCallIssue]
    with pytest.raises(InputError, match=r"^Bed needs length: it is a number above 0$"):
        Bed()  # pyright: ignore[reportCallIssue]


def test_a_value_of_many_lines_is_told_in_one() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    for value, shown in (("a\nb" * 99, r"'a\\nba"), (np.zeros((50, 50)), r"array\(\[\[0"), (Loud(), "a Loud;")):
        with pytest.raises(InputError, match=f"^beds is {shown}") as told:
            Garden(beds=value)  # pyright: ignore[reportArgumentType]
        assert "\n" not in str(told.value)
        assert len(str(told.value)) < 140


def test_what_is_taken() -> None:
    garden = Garden(
        beds=np.int64(4), share=1, slope=np.float32(0.5), fence=np.bool_(False), plants=["leek", "dill"],  # pyright: ignore
        tools=[["rake", [1, 2]]], map=Path("garden.svg"), rows=np.uint8(16),
    )  # fmt: skip
    values = {each.name: getattr(garden, each.name) for each in fields(garden)}
    assert values == {
        "beds": 4, "share": 1.0, "slope": 0.5, "soil": "clay", "gate": None, "fence": False,
        "plants": ("leek", "dill"), "tools": (("rake", [1, 2]),), "map": Path("garden.svg"), "tell": None, "rows": 16,
    }  # fmt: skip
    assert {name: type(values[name]) for name in ("beds", "share", "slope", "fence", "rows")} == {
        "beds": int, "share": int, "slope": float, "fence": bool, "rows": int,
    }  # fmt: skip
    shed = Shed()
    assert Garden(map=shed).map is shed
    assert Garden(tell=print).tell is print


def test_it_is_a_frozen_dataclass() -> None:
    garden = Garden(beds=4)
    assert garden == Garden(beds=4) != Garden()
    assert hash(garden) == hash(Garden(beds=4))
    assert asdict(garden)["beds"] == 4
    assert replace(garden, beds=5) == Garden(beds=5)
    assert pickle.loads(pickle.dumps(garden)) == garden
    assert repr(Bed(1)) == "Bed(length=1, label='')"
    with pytest.raises(FrozenInstanceError):
        garden.beds = 5  # pyright: ignore[reportAttributeAccessIssue]


def test_a_subclass_checks_the_fields_of_both() -> None:
    assert Orchard(4, trees=2).beds == 4
    for given in ({"beds": 0}, {"trees": 0}, {"beds": 13}):
        with pytest.raises(InputError):
            Orchard(**given)  # pyright: ignore[reportArgumentType]


@checked
def dig(
    depth: InnerShare,
    tool: Literal["spade", "fork"] = "spade",
    *,
    times: "Count | None" = None,
    where: str | Shed = "",
    beds: Sequence[int] = (),
    later: "Nowhere | None" = None,  # noqa: F821  # pyright: ignore
    wide: Annotated[float, Gt(0), Le(2)] = 1,
    deep: Annotated[float, Lt(2)] = 1,
) -> tuple[Any, ...]:
    """Dig."""
    return depth, tool, times, where, beds, later, wide, deep


def test_arguments_are_checked_by_their_annotations() -> None:
    shed = Shed()
    later = type("Nowhere", (), {})()
    given = dig(np.float64(0.5), times=np.int8(2), where=shed, beds=[3], later=later)
    assert given == (0.5, "spade", 2, shed, [3], later, 1, 1)
    for arguments, named, message in (
        ((1,), {}, "depth is 1; it is a number between 0 and 1"),
        ((0.5, "hand"), {}, "tool is 'hand'; it can be spade, fork"),
        ((0.5,), {"times": 0}, "times is 0; it is a whole number, at least 1 or None"),
        ((0.5,), {"where": 3}, "where is 3; it is text or a Shed"),
        ((0.5,), {"later": 4}, "later is 4; it is a Nowhere or None"),
        ((0.5,), {"beds": 3}, "beds is 3; it is a list, each a whole number"),
        ((0.5,), {"beds": "3"}, "beds is '3'; it is a list, each a whole number"),
        ((0.5,), {"beds": [3, "4"]}, "beds is [3, '4']; it is a list, each a whole number"),
        ((0.5,), {"wide": 0}, "wide is 0; it is a number above 0 and at most 2"),
        ((0.5,), {"deep": 2}, "deep is 2; it is a number, below 2"),
    ):
        with pytest.raises(InputError) as told:
            dig(*arguments, **named)
        assert str(told.value) == message
    assert dig.__name__ == "dig"
    with pytest.raises(TypeError, match="depth"):
        dig()  # pyright: ignore[reportCallIssue]


class Watered(Protocol):
    litres: int

    def pour(self) -> None: ...


class Can:
    litres = 3

    def pour(self) -> None: ...


@checked_methods
class Row:
    def __init__(self, plants: Iterable[str], bed: Bed | None = None) -> None:
        self.plants = plants

    def __call__(self, path: str | PathLike[str]) -> Any:
        return path

    def pairs(self, given: Iterable[tuple[str, str]]) -> Any:
        return given

    def rows(self, given: Iterable[Iterable[int]]) -> Any:
        return given

    def water(self, can: Watered) -> Any:
        return can

    @staticmethod
    def ask(tell: Callable[[str], None], table: np.ndarray) -> Any:
        return tell, table

    @classmethod
    def many(cls, *beds: Bed, **more: int) -> Any:
        return beds, more


def test_methods_are_checked_and_members_too() -> None:
    row, table, pairs = Row(["leek"]), np.zeros(2), iter([("leek", "dill")])
    assert Row(each for each in ("leek", "dill")).plants == ["leek", "dill"]
    assert list(Row(np.array(["leek", "dill"])).plants) == ["leek", "dill"]
    assert row.pairs(pairs) is pairs, "rows are read by who takes them"
    assert row.rows(iter([(1, 2), iter([np.int64(3)])])) == [(1, 2), [3]]
    assert row.ask(print, table) == (print, table)
    can = Can()
    assert row.water(can) is can
    assert row.many(3, plants="x") == ((3,), {"plants": "x"})
    assert row("plan.svg") == "plan.svg"
    for call, arguments, message in (
        (Row, ("leek",), "plants is 'leek'; it is a list of text"),
        (Row, ([3],), "plants is [3]; it is a list of text"),
        (Row, ({"leek": 1},), "plants is {'leek': 1}; it is a list of text"),
        (Row, ((), 3), "bed is 3; it is a Bed or None"),
        (row, (3,), "path is 3; it is text or a path"),
        (row, ("",), "path is ''; no file can have that name"),
        (row, ("a\0b",), "path is 'a\\x00b'; no file can have that name"),
        (row, ("\ud800",), "path is '\\ud800'; no file can have that name"),
        (row.pairs, ("leek",), "given is 'leek'; it is a list of pairs"),
        (row.rows, ([1],), "given is [1]; it is a list, each a list, each a whole number"),
        (row.water, (3,), "can is 3; it is a Watered"),
        (row.ask, (3, table), "tell is 3; it is a function"),
        (row.ask, (print, [0.0]), "table is [0.0]; it is an array"),
    ):
        with pytest.raises(InputError) as told:
            call(*arguments)
        assert str(told.value) == message


def test_nothing_is_imported_for_a_class_that_checks_nothing() -> None:
    """Help and completion import classes and make none."""
    code = (
        "import sys\nfrom gumption.data.settings import Count, settings\n"
        "@settings\nclass Garden:\n    beds: Count = 3\n"
        "print(sorted({'pydantic', 'numpy'} & set(sys.modules)))\nGarden()\nprint('pydantic' in sys.modules)\n"
        "Garden(4)\nprint('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["[]", "False", "True", ""]


T = TypeVar("T", bound=np.generic)
Array = TypeAliasType("Array", np.ndarray[Any, np.dtype[T]], type_params=(T,))


class Counted(Protocol[T]):
    """Has a member, as NumPy's protocols in ArrayLike."""

    def count(self, value: T, /) -> int: ...


def test_an_alias_by_a_type_statement_is_read_through() -> None:
    """From NumPy 2.5 on ArrayLike and NDArray are such aliases, and protocols with parameters stand in them."""

    @checked
    def mean(values: Array[np.float64] | Sequence[float]) -> float:
        return float(np.mean(values))

    assert mean(np.ones(3)) == mean([1.0]) == 1.0
    with pytest.raises(InputError, match="values is 'a'"):
        mean("a")  # pyright: ignore[reportArgumentType]
    assert check("it", [1, 2], Counted[np.int64]) == [1, 2]
    with pytest.raises(InputError, match="it is 5"):
        check("it", 5, Counted[np.int64])
