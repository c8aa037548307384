"""Options from the fields of a config: what they are called, take and say, and that no command's options drift."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, get_args

import pytest
import typer
import typer.main
from typer.testing import CliRunner

from gumption.agents.settings import WorldConfig
from gumption.agents.wordcraft.config import TrainConfig
from gumption.data import InputError
from gumption.envs import worlds
from gumption.scripts import apps as common
from gumption.scripts import cli
from gumption.scripts.apps import field_help, from_config
from gumption.scripts.worlds import command_of


@dataclass(frozen=True)
class Garden:
    """A garden.

    :ivar soil: "clay" or "sand", what the beds
        are made of.
    :ivar beds, rows: how many there are.
    :ivar fence: keep the deer out.
    :ivar gate: its colour, where it has one.
    :ivar plants: what grows.
    :ivar more: settings by name.
    """

    soil: str = "clay"
    beds: int = 3
    rows: int = 2
    share: float = 0.5
    fence: bool = True
    gate: str | None = None
    plants: tuple[str, ...] = ("kale", "peas")
    more: tuple[tuple[str, Any], ...] = ()
    tools: tuple[tuple[str, Any], ...] = (("spade", 2), ("brand", "oak"), ("sharp", True))
    place: str = "north"

    def __post_init__(self) -> None:
        if self.beds < 1:
            raise InputError(f"beds is {self.beds}; it is at least 1")


FLAGS = {"more": "set", "fence": "!open", "beds": "num-beds"}


def app_of(command: Callable[..., Any], **settings: Any) -> typer.Typer:
    app = typer.Typer(add_completion=False)
    app.command()(from_config(Garden, **settings)(command))
    return app


def made(*arguments: str, **settings: Any) -> Garden:
    """The config that a command gets."""
    got = []

    def dig(config: Garden) -> None:
        got.append(config)

    app = app_of(dig, **({"flags": FLAGS, "skip": ("place",)} | settings))
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None:
        raise result.exception
    return got[0]


def test_a_field_has_an_option_of_its_name_type_default_and_help() -> None:
    def dig(config: Garden) -> None: ...

    command = from_config(Garden)(dig)
    types = {name: get_args(each.annotation)[0] for name, each in inspect.signature(command).parameters.items()}
    options = typer.main.get_command(app_of(dig)).params
    told = {each.name: (*each.opts, types[each.name], each.default, each.help) for each in options}
    assert told == {
        "soil": ("--soil", str, "clay", '"clay" or "sand", what the beds are made of.'),
        "beds": ("--beds", int, 3, "How many there are."),
        "rows": ("--rows", int, 2, "How many there are."),
        "share": ("--share", float, 0.5, ""),
        "fence": ("--fence", bool, True, "Keep the deer out."),
        "gate": ("--gate", str | None, None, "Its colour, where it has one."),
        "plants": ("--plants", str, "kale,peas", "What grows."),
        "more": ("--more", list[str], [], "Settings by name."),
        "tools": ("--tools", list[str], ["spade=2", 'brand="oak"', "sharp=true"], ""),
        "place": ("--place", str, "north", ""),
    }
    assert list(told) == [field.name for field in fields(Garden)]


def test_help_of_a_class_without_a_docstring_is_none() -> None:
    assert field_help(type("Bare", (), {})) == {}


def test_without_options_the_config_is_the_default_one() -> None:
    assert made() == Garden()


def test_each_kind_of_value_reaches_its_field() -> None:
    arguments = ("--soil", "sand", "--num-beds", "5", "--share", "0.25", "--gate", "red", "--open")
    assert made(*arguments) == Garden(soil="sand", beds=5, share=0.25, gate="red", fence=False)
    assert made("--plants", " leek , ,dill").plants == ("leek", "dill")
    assert made("--plants", "").plants == ()


def test_pairs_that_are_given_replace_those_of_the_field() -> None:
    assert made("--soil", "sand").tools == Garden().tools
    assert made("--tools", "rake=1").tools == (("rake", 1),)


def test_a_switch_that_turns_a_field_off_is_off_at_first() -> None:
    assert made().fence
    assert not made("--open").fence


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("size=4", ("size", 4)),
        ("rate=1e-3", ("rate", 0.001)),
        ("dry=true", ("dry", True)),
        ("rows=[1, 2]", ("rows", [1, 2])),
        ("name=oak", ("name", "oak")),
        ('name="4"', ("name", "4")),
        ("sum=a=b", ("sum", "a=b")),
        ("name=", ("name", "")),
    ],
)
def test_pairs(text: str, pair: tuple[str, Any]) -> None:
    """Values are JSON where they can be read as such, and text otherwise."""
    assert made("--set", text).more == (pair,)
    assert made("--set", text, "--set", "last=1").more == (pair, ("last", 1))


@pytest.mark.parametrize("text", ["size", "=4", ""])
def test_what_is_no_pair_is_told(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}' is not NAME=VALUE"):
        made("--set", text)


def refused(arguments: Sequence[str], **settings: Any) -> bool:
    """Whether the options are not those of the command, which then ends with code 2."""
    with pytest.raises(SystemExit) as ended:
        made(*arguments, **settings)
    return ended.value.code == 2


def test_a_field_that_is_skipped_has_no_option_and_its_default() -> None:
    assert refused(["--place", "south"])
    assert made("--place", "south", skip=()).place == "south"
    assert made().place == "north"


def test_a_renamed_option_replaces_that_of_the_field() -> None:
    assert refused(["--beds", "2"])
    assert refused(["--fence"])
    assert refused(["--num-beds", "many"])


def test_a_config_that_is_refused_ends_before_the_command_begins() -> None:
    begun = []

    def dig(config: Garden) -> None:
        begun.append(config)

    result = CliRunner().invoke(app_of(dig), ["--beds", "0"])
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == "beds is 0; it is at least 1"
    assert begun == []
    assert CliRunner().invoke(app_of(dig), ["--beds", "1"]).exit_code == 0
    assert begun == [Garden(beds=1)]


def test_a_command_keeps_its_own_options_and_arguments() -> None:
    def dig(tool: str, config: Garden, depth: int = 1) -> None:
        print(tool, config.soil, depth)

    result = CliRunner().invoke(app_of(dig), ["spade", "--depth", "4", "--soil", "sand"])
    assert result.output == "spade sand 4\n"


def test_another_maker_of_the_config() -> None:
    def southern(**settings: Any) -> Garden:
        return Garden(place="south", **settings)

    assert made("--soil", "sand", make=southern) == Garden(soil="sand", place="south")


@pytest.mark.parametrize("kind", [TrainConfig, WorldConfig])
def test_no_two_options_of_a_training_share_their_help(kind: type[Any]) -> None:
    told = field_help(kind)
    assert set(told) == {field.name for field in fields(kind)} - {"world"}
    assert len(set(told.values())) == len(told)


@pytest.mark.parametrize("name", [world.name for world in worlds.WORLDS.values() if "train_command" in world.offers])
def test_train_has_an_option_for_each_field_of_its_config(name: str) -> None:
    world = worlds.find(name)
    kind = world.get("config")
    module = import_module(world.offers["train_command"].split(":")[0])
    flags = {**common.FLAGS, **getattr(module, "FLAGS", {})}
    wanted = {field.name: flags.get(field.name, field.name.replace("_", "-")) for field in fields(kind)}
    del wanted["world"]
    options = {option.name: option for option in command_of(world, "train_command").params}
    dials = {"names", "laws"}.intersection(options)  # of the world: a config may have them among its settings
    assert set(options) == {*wanted, *getattr(module, "OTHERS", ()), *dials, "run", "resume"}
    help_text = CliRunner().invoke(cli.app, ["train", name, "--help"], env={"COLUMNS": "200"}).output
    shown = {word for word in help_text.split() if word.startswith("--")}
    said = field_help(kind)
    for field, flag in wanted.items():
        on, _, off = flag.lstrip("!").partition("/--")
        assert (options[field].opts, options[field].secondary_opts) == ([f"--{on}"], [f"--{off}"] if off else [])
        assert f"--{on}" in shown
        assert options[field].default is not True, "a switch turns on what is off, or has a flag that begins with !"
        assert options[field].help == said.get(field, "")
    assert set(getattr(module, "FLAGS", {})) <= set(wanted), "each renamed flag is of a field"
    assert set(said) <= {field.name for field in fields(kind)}, "each sentence of the docstring is of a field"
