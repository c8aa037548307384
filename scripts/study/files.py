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
#: How things are ordered for a participant.
Order = Literal["fixed", "random", "latin square"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Line = Annotated[str, Field(min_length=1, max_length=300)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
#: A file has no more tasks for one participant.
MOST_TASKS = 1_000


class Part(BaseModel):
    """A table of the file. A field that it does not have is refused with the nearest one."""

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

    :ivar name: of its column in the export; `text` is what is asked; `required` whether it can be left open.
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
        """:raises InputError: an answer that is no option."""
        if value not in self.options:
            raise InputError(f"{self.name}: {shown(value)} is no option; choose one of {', '.join(self.options)}")


class Scale(Part):
    """A question answered on a scale of whole numbers.

    :ivar low, high: its ends, with words for them in `low_label` and `high_label`.
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
        """:raises InputError: no whole number of the scale."""
        if type(value) is not int or not self.low <= value <= self.high:
            raise InputError(f"{self.name}: {shown(value)} is not on the scale from {self.low} to {self.high}")


class Written(Part):
    """A question answered in words.

    :ivar longest: letters of an answer, at most; `lines` is the height of the box.
    """

    kind: Literal["text"]
    name: Name
    text: Text
    longest: Annotated[int, Field(ge=1, le=10_000)] = 2_000
    lines: Annotated[int, Field(ge=1, le=30)] = 3
    required: bool = True

    def check(self, value: Any) -> None:
        """:raises InputError: no text, or one that is too long."""
        if not isinstance(value, str) or len(value) > self.longest:
            raise InputError(f"{self.name}: the answer is a text of at most {self.longest} letters")
        if self.required and not value.strip():
            raise InputError(f"{self.name}: the answer is empty")


Question = Annotated[Choice | Scale | Written, Field(discriminator="kind")]


class Consent(Part):
    """What a participant agrees to.

    :ivar text: paragraphs with blank lines between them.
    :ivar keeps: what is kept of a participant beside what the page lists by itself.
    :ivar contact: whom to ask, and whom to ask for deletion.
    :ivar agree: the label of the box that is ticked.
    """

    text: Text
    keeps: list[Line] = []
    contact: Line
    agree: Line = "I am at least 18 years old, I have read this, and I want to take part."


class Quiz(Part):
    """Questions with a right answer, asked after the practice; wrong answers lead back to the instructions.

    :ivar tries: attempts, after which a participant may not go on; without it there is no limit.
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

    :ivar between: each participant gets one level; else each gets all, in an `order`.
    :ivar levels: name of a level -> settings of the blocks that the condition acts on.
    """

    name: Name
    between: bool
    levels: dict[Name, dict[str, Any]] = Field(min_length=2)
    order: Order = "latin square"


class Help(Part):
    """Help from a knowledge graph, for which participants may ask at each choice.

    :ivar kg: the knowledge, as of `gumption train WORLD --kg`: train, full, a graph, the folder of a model, or a file
        of rules.
    :ivar rules: a file of rules, or the world's of this name, which are applied to the graph first.
    :ivar relations: the world's name of a relation -> the graph's; `map`: a file of `gumption kg map`.
    :ivar price: of a help; it is taken from the reward of the task.
    :ivar at_most: helps in a task; without it there is no limit.
    """

    kg: Line
    rules: Line | None = None
    relations: dict[str, str] = {}
    map: Line | None = None
    price: Annotated[float, Field(ge=0, le=1_000)] = 0.0
    at_most: Annotated[int, Field(ge=1, le=1_000)] | None = None

    @property
    def terms(self) -> str:
        """Price and number, in words."""
        price = f"each costs {self.price:g} of the reward" if self.price else "free"
        return price if self.at_most is None else f"{price}, at most {self.at_most} in a task"


class Block(Part):
    """Tasks of one world.

    :ivar title: what the page calls it; `introduction` is read before its first task.
    :ivar settings: of the world, the same for all tasks.
    :ivar tasks: how many tasks, which differ by their seed.
    :ivar drawn: the world draws the tasks: it is given the settings `tasks` and `number`, and one seed for all.
    :ivar each: in place of `tasks`, setting -> its value in each task, such as {"task": ["fishing/0", "curling/0"]}.
    :ivar sets: parts that the tasks of `each` are dealt to in turn; a participant plays one of the parts.
    :ivar seed: of the tasks; without it, every participant has a seed of their own.
    :ivar feedback: tell after a task whether it was solved.
    :ivar time_limit_s: of each task.
    :ivar order: of the tasks.
    :ivar before: questions before each task, when only its goal is shown.
    :ivar conditions: names of those that act on it; all of them where the field is left out.
    :ivar help: from a knowledge graph; none where the table is left out.
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
        """How many tasks there are, of all parts."""
        return self.tasks if self.tasks is not None else len(next(iter(self.each.values())))


class Recruiting(Part):
    """Parameters of the address that a recruiting service sends participants with.

    :ivar parameters: names of those that are kept.
    :ivar identity: the one that says who it is; a participant who comes again with it goes on.
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

    :ivar code: the completion code of a recruiting service; without it, each participant has a code of their own.
    :ivar back: the address that leads back to the service.
    """

    text: Text
    code: Line | None = None
    back: Annotated[str, Field(pattern=r"^https://[^\s\"'<>]+$", max_length=500)] | None = None


class Published(Part):
    """A published figure of people at the same tasks, for the report: a line in its plots.

    :ivar success: share of the tasks, from 0 to 1; `block` says of which block, `source` where it stands.
    """

    label: Line
    block: Name
    success: Annotated[float, Field(ge=0, le=1)]
    source: Line


class Study(Part):
    """A study.

    :ivar name: short, for files; `title` is what participants read.
    :ivar sign_in: by a name that the participant types; by a link, one a participant; or from a recruiting service.
    :ivar instructions: pages of text, paragraphs with blank lines between them.
    :ivar practice: blocks before the quiz, which no result counts.
    :ivar block_order: of the blocks.
    :ivar questions: asked after the last block.
    :ivar dropped_after_s: a participant who was not seen for so long has dropped out.
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
        """Those of the practice, then the others."""
        return [*self.practice, *self.blocks]

    @property
    def helped(self) -> bool:
        """Whether there is help in any block."""
        return any(block.help is not None for block in self.all_blocks)

    @cached_property
    def hash(self) -> str:
        """sha256 of the content, in hexadecimal digits. Design and seeds follow from it.

        Defaults are left out: a field that is new in gumption changes no study that is going on.
        """
        return content_hash(self.model_dump(mode="json", exclude_defaults=True))

    def acting_on(self, block: Block) -> list[Condition]:
        """The conditions that act on a block."""
        return [one for one in self.conditions if block.conditions is None or one.name in block.conditions]


def _once(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{what}: the name {name!r} is there twice")


def shipped() -> list[str]:
    """Names of the studies that ship."""
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def find(name: str | Path) -> Path:
    """The path of a study: a file, or a study that ships, by its name.

    :raises InputError: neither.
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
    """The study of a TOML or JSON file, or one that ships, by its name. Its worlds are not checked here.

    :raises InputError: no such file, or what is wrong in it: one line for each field.
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
    """A line for each problem: file, field, reason."""
    for problem in error.errors():
        place = ""
        for step in problem["loc"]:
            if step in ("choice", "scale", "text") and place.endswith("]"):
                continue  # the kind of a question, which pydantic names beside its number
            place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
        reason = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "missing":
            reason = "it is missing"
        elif problem["type"] != "value_error":
            reason = f"{reason[0].lower()}{reason[1:]}; it is {shown(problem['input'])}"
        yield f"{path}: {place}: {reason}" if place else f"{path}: {reason}"
