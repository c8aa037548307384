"""A study as data: a TOML or JSON file, read into checked models.

The models are the reference of the format: each docstring explains the fields of one table of the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from gumption.data import InputError
from gumption.data.errors import did_you_mean
from gumption.data.reading import parse_json, read_text
from gumption.data.sealed import content_hash
from gumption.data.settings import shown, unknown

STUDIES = Path(__file__).parent / "studies"
#: How blocks, tasks or levels are ordered for a participant.
Order = Literal["fixed", "random", "latin square"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Line = Annotated[str, Field(min_length=1, max_length=300)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
#: The maximum number of tasks of a block for one participant.
MOST_TASKS = 1_000


class Part(BaseModel):
    """A table of the file. An unknown field is refused with a suggestion of the nearest known field."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    called: ClassVar[str] = "it"  # in messages

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: Any) -> Any:
        names = [field.alias or name for name, field in cls.model_fields.items()]
        for name in given if isinstance(given, dict) else ():
            if name not in names:
                raise ValueError(unknown(cls.called, name, names))
        return given


class Choice(Part):
    """A question with options.

    :ivar name: name of its column in the export; `text` is the question; `required`: an answer is needed to go on.
    :ivar right: the right option, in a quiz.
    """

    kind: Literal["choice"]
    name: Name
    text: Text
    options: list[Line] = Field(min_length=2, max_length=50)
    right: Line | None = None
    required: bool = True

    @model_validator(mode="after")
    def _options(self) -> Choice:
        if len(set(self.options)) < len(self.options):
            raise ValueError("options: the same option twice")
        if self.right is not None and self.right not in self.options:
            hint = did_you_mean(self.right, self.options, f"the options are {', '.join(self.options)}")
            raise ValueError(f"right: {self.right!r} is no option; {hint}")
        return self

    def check(self, value: Any) -> None:
        """:raises InputError: the answer is no option."""
        if value not in self.options:
            raise InputError(f"{self.name}: {shown(value)} is no option; choose one of {', '.join(self.options)}")


class Scale(Part):
    """A question answered on a scale of whole numbers.

    :ivar low, high: ends of the scale, with their labels in `low_label` and `high_label`.
    """

    kind: Literal["scale"]
    name: Name
    text: Text
    low: int = 1
    high: int = 7
    low_label: Annotated[str, Field(max_length=100)] = ""
    high_label: Annotated[str, Field(max_length=100)] = ""
    required: bool = True

    @model_validator(mode="after")
    def _ends(self) -> Scale:
        if not 1 <= self.high - self.low <= 100:
            raise ValueError(f"high: the scale from {self.low} to {self.high} has to have 2 to 101 points")
        return self

    def check(self, value: Any) -> None:
        """:raises InputError: the answer is no whole number of the scale."""
        if type(value) is not int or not self.low <= value <= self.high:
            raise InputError(f"{self.name}: {shown(value)} is not on the scale from {self.low} to {self.high}")


class Written(Part):
    """A question answered in words.

    :ivar longest: maximum number of characters of an answer; `lines` is the height of the text box.
    """

    kind: Literal["text"]
    name: Name
    text: Text
    longest: Annotated[int, Field(ge=1, le=10_000)] = 2_000
    lines: Annotated[int, Field(ge=1, le=30)] = 3
    required: bool = True

    def check(self, value: Any) -> None:
        """:raises InputError: the answer is no text, too long, or empty although required."""
        if not isinstance(value, str) or len(value) > self.longest:
            raise InputError(f"{self.name}: the answer is a text of at most {self.longest} letters")
        if self.required and not value.strip():
            raise InputError(f"{self.name}: the answer is empty")


Question = Annotated[Choice | Scale | Written, Field(discriminator="kind")]


class Consent(Part):
    """The consent page.

    :ivar text: paragraphs with blank lines between them.
    :ivar keeps: stored data about a participant in addition to the items that the page always lists.
    :ivar contact: the person to contact with questions or for deletion.
    :ivar agree: the label of the box to tick.
    """

    text: Text
    keeps: list[Line] = []
    contact: Line
    agree: Line = "I am at least 18 years old, I have read this, and I want to take part."


class Quiz(Part):
    """Questions with a right answer, placed after the practice; a wrong answer leads back to the instructions.

    :ivar tries: number of attempts, after which a participant may not go on; no limit where it is left out.
    """

    questions: list[Choice] = Field(min_length=1)
    tries: Annotated[int, Field(ge=1, le=100)] | None = None

    @field_validator("questions")
    @classmethod
    def _right(cls, questions: list[Choice]) -> list[Choice]:
        for question in questions:
            if question.right is None:
                raise ValueError(f"{question.name}: a question of the quiz has a `right` option")
        return questions


class Condition(Part):
    """A factor of the design.

    :ivar between: each participant gets one level; otherwise each gets all levels, in an `order`.
    :ivar levels: name of a level -> settings of the blocks that the condition acts on.
    """

    name: Name
    between: bool
    levels: dict[Name, dict[str, Any]] = Field(min_length=2)
    order: Order = "latin square"


class Help(Part):
    """Help from a knowledge graph, which participants may request at each choice.

    :ivar kg: the knowledge, as in `gumption train WORLD --kg`: train, full, a graph, the folder of a model, or a file
        of rules.
    :ivar rules: a file of rules, or the name of rules of the world, which are applied to the graph first.
    :ivar relations: the world's name of a relation -> the graph's; `map`: a file of `gumption kg map`.
    :ivar price: price of a help, subtracted from the reward of the task.
    :ivar at_most: maximum number of helps in a task; no limit where it is left out.
    """

    kg: Line
    rules: Line | None = None
    relations: dict[str, str] = {}
    map: Line | None = None
    price: Annotated[float, Field(ge=0, le=1_000)] = 0.0
    at_most: Annotated[int, Field(ge=1, le=1_000)] | None = None

    @property
    def terms(self) -> str:
        """The price and the maximum number, in words."""
        price = f"each costs {self.price:g} of the reward" if self.price else "free"
        return price if self.at_most is None else f"{price}, at most {self.at_most} in a task"


class Block(Part):
    """Tasks of one world.

    :ivar title: title on the page; `introduction` is a page of text before the first task.
    :ivar settings: settings of the world, the same for all tasks.
    :ivar tasks: number of tasks, which differ by their seed.
    :ivar drawn: the world draws the tasks, from the settings `tasks` and `number` and one seed for all tasks.
    :ivar each: in place of `tasks`, setting -> its value in each task, such as {"task": ["fishing/0", "curling/0"]}.
    :ivar sets: number of parts among which the tasks of `each` are dealt in turn; a participant plays one part.
    :ivar seed: seed of the tasks; where it is left out, every participant has a different seed.
    :ivar feedback: show after a task whether it was solved.
    :ivar time_limit_s: time limit of each task, in seconds.
    :ivar order: order of the tasks.
    :ivar before: questions before each task, when only its goal is shown.
    :ivar conditions: names of the conditions that act on the block; all conditions where the field is left out.
    :ivar help: help from a knowledge graph; no help where the table is left out.
    """

    name: Name
    title: Line
    introduction: Annotated[str, Field(max_length=20_000)] = ""
    world: Annotated[str, Field(min_length=1, max_length=60)]
    settings: dict[str, Any] = {}
    tasks: Annotated[int, Field(ge=1, le=MOST_TASKS)] | None = None
    drawn: bool = False
    each: dict[str, list[Any]] = {}
    sets: Annotated[int, Field(ge=1, le=MOST_TASKS)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**53)] | None = None
    feedback: bool = True
    time_limit_s: Seconds | None = None
    order: Order = "fixed"
    before: list[Question] = []
    conditions: list[str] | None = None
    help: Help | None = None

    @model_validator(mode="after")
    def _tasks(self) -> Block:
        if (self.tasks is None) == (not self.each):
            raise ValueError("tasks: give either the number of `tasks`, or what differs in `each`")
        if self.drawn and self.tasks is None:
            raise ValueError("drawn: give the number of `tasks` to draw")
        lengths = {name: len(values) for name, values in self.each.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise ValueError(f"each: the lists have different lengths: {told}")
        if self.each and not 1 <= self.count <= MOST_TASKS * self.sets:
            raise ValueError(f"each: it has {self.count} tasks; there can be 1 to {MOST_TASKS}")
        if self.sets > 1 and (not self.each or self.count % self.sets):
            raise ValueError(f"sets: {self.sets} parts of one size cannot be made of {self.count} tasks of `each`")
        _once("before", [question.name for question in self.before])
        return self

    @property
    def count(self) -> int:
        """The number of tasks in all parts together."""
        return self.tasks if self.tasks is not None else len(next(iter(self.each.values())))


class Recruiting(Part):
    """Parameters of the address to which a recruiting service sends participants.

    :ivar parameters: names of the parameters to store.
    :ivar identity: the parameter that identifies the participant, who continues after signing in again with it.
    """

    parameters: list[Name] = Field(min_length=1, max_length=10)
    identity: Name

    @model_validator(mode="after")
    def _identity(self) -> Recruiting:
        if self.identity not in self.parameters:
            hint = did_you_mean(self.identity, self.parameters, f"there are {', '.join(self.parameters)}")
            raise ValueError(f"identity: {self.identity!r} is none of the parameters; {hint}")
        return self


class End(Part):
    """The last page.

    :ivar code: the completion code of a recruiting service; where it is left out, each participant has a separate code.
    :ivar back: the address that leads back to the service.
    """

    text: Text
    code: Line | None = None
    back: Annotated[str, Field(pattern=r"^https://[^\s\"'<>]+$", max_length=500)] | None = None


class Published(Part):
    """A published result of people at the same tasks, which the report draws as a line.

    :ivar success: share of the tasks of `block` that were solved, from 0 to 1; `source` is the publication.
    """

    label: Line
    block: Name
    success: Annotated[float, Field(ge=0, le=1)]
    source: Line


class Study(Part):
    """A study.

    :ivar name: short name, for files; `title` is the title for participants.
    :ivar sign_in: by a typed name, by a personal link, or from a recruiting service.
    :ivar instructions: pages of text, paragraphs with blank lines between them.
    :ivar practice: blocks before the quiz, which are left out of all results.
    :ivar block_order: order of the blocks.
    :ivar questions: questions after the last block.
    :ivar dropped_after_s: seconds without activity after which a participant counts as dropped out.
    """

    called: ClassVar[str] = "a study"
    schema_: Literal[1] = Field(alias="schema")
    name: Name
    title: Line
    sign_in: Literal["name", "link", "recruiting"] = "name"
    consent: Consent
    instructions: list[Text] = Field(min_length=1)
    practice: list[Block] = []
    quiz: Quiz | None = None
    blocks: list[Block] = Field(min_length=1)
    block_order: Order = "fixed"
    conditions: list[Condition] = []
    questions: list[Question] = []
    end: End
    recruiting: Recruiting | None = None
    published: list[Published] = []
    dropped_after_s: Seconds = 3_600

    @model_validator(mode="after")
    def _together(self) -> Study:
        blocks = [block.name for block in self.all_blocks]
        _once("blocks", blocks)
        _once("conditions", [condition.name for condition in self.conditions])
        _once("questions", [question.name for question in self.questions])
        names = [condition.name for condition in self.conditions]
        for block in self.all_blocks:
            for name in block.conditions or ():
                if name not in names:
                    hint = did_you_mean(name, names, f"there are {', '.join(names) or 'none'}")
                    raise ValueError(f"blocks: {block.name}: conditions: no condition {name!r}; {hint}")
        for figure in self.published:
            if figure.block not in blocks:
                hint = did_you_mean(figure.block, blocks, f"there are {', '.join(blocks)}")
                raise ValueError(f"published: no block {figure.block!r}; {hint}")
        if (self.sign_in == "recruiting") != (self.recruiting is not None):
            raise ValueError('recruiting: the table [recruiting] and sign_in = "recruiting" belong together')
        return self

    @property
    def all_blocks(self) -> list[Block]:
        """The practice blocks, then the other blocks."""
        return [*self.practice, *self.blocks]

    @property
    def parameters(self) -> list[str]:
        """The parameters that a recruiting service sends; none for another way to sign in."""
        return [] if self.recruiting is None else self.recruiting.parameters

    @property
    def helped(self) -> bool:
        """Whether any block has help."""
        return any(block.help is not None for block in self.all_blocks)

    @cached_property
    def hash(self) -> str:
        """The sha256 of the content, in hexadecimal digits, which determines design and seeds.

        Fields with default values are left out, so that a new field in gumption does not change a running study.
        """
        return content_hash(self.model_dump(mode="json", exclude_defaults=True))

    def acting_on(self, block: Block) -> list[Condition]:
        """Return the conditions that act on a block."""
        return [one for one in self.conditions if block.conditions is None or one.name in block.conditions]


def _once(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{what}: the name {name!r} is there twice")


def shipped() -> list[str]:
    """Return the names of the studies that ship with gumption."""
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def find(name: str | Path) -> Path:
    """Return the path of a study: a file, or a study that ships, by its name.

    :raises InputError: neither a file nor a study that ships.
    """
    path = Path(name)
    if path.is_file():
        return path
    there = STUDIES / f"{name}.toml"
    if str(name) in shipped():
        return there
    hint = did_you_mean(name, shipped(), f"studies that ship: {', '.join(shipped())}")
    raise InputError(f"{name}: neither a study file nor a study that ships; {hint}")


def read(name: str | Path) -> Study:
    """Read a study from a TOML or JSON file, or a study that ships, by its name. Its worlds are not checked here.

    :raises InputError: no such file, or errors in it: one line for each field.
    """
    path = find(name)
    text = read_text(path)
    try:
        content = parse_json(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise InputError(f"{path}: not valid {kind} ({error})") from None
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        raise InputError("\n".join(_problems(path, error))) from None


def _problems(path: Path, error: ValidationError) -> Iterator[str]:
    """Yield a line for each problem: file, field, reason."""
    for problem in error.errors():
        place = ""
        for step in problem["loc"]:
            if step in ("choice", "scale", "text") and place.endswith("]"):
                continue  # the kind of a question, which pydantic adds after its index
            place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
        reason = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "missing":
            reason = "it is missing"
        elif problem["type"] != "value_error":
            reason = f"{reason[0].lower()}{reason[1:]}; it is {shown(problem['input'])}"
        yield f"{path}: {place}: {reason}" if place else f"{path}: {reason}"
