"""The tasks by name, curricula, and curricula as files, in TOML or JSON: the tasks in order, and tasks that the file
itself defines.

    success_threshold = 3
    tasks = ["micro7.*", "capital"]          # without it, the tasks of the file

    [[task]]                                 # what a task can be stands below
    name = "capital"
    requires = ["micro7.2"]
    pairs = {"capital of France." = "Paris."}
    wrong = "no, {answer};"

Nothing in a file is executed.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from graphlib import CycleError, TopologicalSorter
from itertools import product
from os import PathLike
from pathlib import Path
from random import Random
from string import Formatter
from typing import Annotated, Any, TypeAlias

from annotated_types import Ge, Le, Len

from gumption.data import InputError
from gumption.data.reading import read_json
from gumption.data.settings import Count, check, checked, checked_methods, shown, unknown

from .logic_tasks import hexadecimal_tasks, logic_tasks
from .mapping_tasks import LETTERS, each_key_once, filtered, load_words, mapping_tasks, text_tasks
from .mini_tasks import mini_tasks, production_tasks
from .suggested_tasks import small_world_tasks, suggested_tasks
from .task import DIGITS, STOP, Hidden, Rules, Solution, Task, stateless, told

# ---- The tasks by name, and curricula: an order of tasks and how many successes in a row end one.

SUCCESS_THRESHOLD = 5  # in the challenge


@checked_methods
@dataclass(frozen=True)
class Curriculum:
    """Tasks in the order in which they are learned.

    :ivar success_threshold: successes in a row that end a task.
    """

    name: str
    tasks: tuple[Task, ...]
    success_threshold: int = SUCCESS_THRESHOLD


@checked
@cache
def all_tasks(rules: Rules = Rules()) -> Mapping[str, Task]:  # noqa: B008  (frozen)
    """The tasks of the challenge by name, in the order of its curriculum: micro1 to micro20, mini0 to mini5."""
    words = load_words()
    tasks = [
        *mapping_tasks(words, rules),
        *text_tasks(words),
        *logic_tasks(words, filtered(words), rules),
        *mini_tasks(rules),
    ]
    return {task.name: task for task in tasks}


@checked
@cache
def known_tasks(rules: Rules = Rules()) -> Mapping[str, Task]:  # noqa: B008
    """All tasks by name: those of the challenge, then those that only other curricula have."""
    others = [*suggested_tasks(load_words()), *production_tasks(), *hexadecimal_tasks(), *small_world_tasks()]
    return {**all_tasks(rules), **{task.name: task for task in others}}


def find_task(name: str, tasks: Mapping[str, Task]) -> Task:
    """The task of a name.

    :raises InputError: there is none; with the nearest name.
    """
    if name not in tasks:
        raise InputError(unknown("the curriculum", name, tasks))
    return tasks[name]


def check_circles(tasks: Iterable[Task]) -> None:
    """:raises InputError: tasks require each other in a circle."""
    try:
        TopologicalSorter({task.name: task.requires for task in tasks}).prepare()
    except CycleError as error:
        raise InputError(f"tasks require each other in a circle: {' -> '.join(reversed(error.args[1]))}") from None


def check_order(tasks: Sequence[Task]) -> None:
    """Nothing is learned before what it requires, as far as that is in the curriculum, too.

    :raises InputError: a task comes before one that it requires.
    """
    names = [task.name for task in tasks]
    for place, task in enumerate(tasks):
        if late := [name for name in task.requires if name in names[place:]]:
            raise InputError(f"the curriculum has {task.name} before {late[0]}, which it requires")


@checked
def challenge(rules: Rules = Rules()) -> Curriculum:  # noqa: B008
    """The 46 tasks of the challenge."""
    return Curriculum("challenge", tuple(all_tasks(rules).values()))


@checked
def of_names(names: Iterable[str], rules: Rules = Rules()) -> Curriculum:  # noqa: B008
    """A curriculum of some of all tasks.

    :raises InputError: an unknown name, or none at all.
    """
    tasks = tuple(find_task(name, known_tasks(rules)) for name in names)
    if not tasks:
        raise InputError("a curriculum has at least one task")
    return Curriculum("-".join(task.name for task in tasks), tasks)


# ---- Texts with names in braces, such as "twice: {a}.", and what is drawn for a name. Nothing in them is executed.


Length: TypeAlias = Annotated[int, Ge(1), Le(1_000)]

_NAME = re.compile("[a-z][a-z0-9_]*")
_ALPHABETS = {"letters": LETTERS, "digits": DIGITS}


@dataclass(frozen=True)
class Template:
    """A text in pieces: each has a literal text and the name behind it, None behind the last."""

    pieces: tuple[tuple[str, str | None], ...]

    @classmethod
    def read(cls, text: str) -> "Template":
        """A template from a text; "{{" and "}}" are braces.

        :raises InputError: something else than a name is in braces, or the text is not in Latin-1.
        """
        check_latin(text)
        try:
            pieces = list(Formatter().parse(text))
        except ValueError as error:
            raise InputError(f"{text!r} has braces that do not fit: {error}; write {{{{ for a brace") from None
        for _, name, form, conversion in pieces:
            if name is not None and (form or conversion or not _NAME.fullmatch(name)):
                raise InputError(f"{text!r} has more than a name in braces: a name is of small letters, digits and _")
        return cls(tuple((literal, name) for literal, name, _, _ in pieces))

    @property
    def names(self) -> list[str]:
        """The names, each once, in order."""
        return list(dict.fromkeys(name for _, name in self.pieces if name is not None))

    @property
    def literal(self) -> str:
        """All that stands outside of braces."""
        return "".join(literal for literal, _ in self.pieces)

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with values for its names."""
        return "".join(literal + ("" if name is None else values[name]) for literal, name in self.pieces)

    def pattern(self, patterns: Mapping[str, str]) -> re.Pattern[str]:
        """Finds the values in a filled text, by a regular expression for each name."""
        parts: list[str] = []
        met: set[str] = set()
        for literal, name in self.pieces:
            parts.append(re.escape(literal))
            if name is not None:
                parts.append(f"(?P={name})" if name in met else f"(?P<{name}>{patterns[name]})")
                met.add(name)
        return re.compile("".join(parts), re.DOTALL)


@dataclass(frozen=True)
class Source:
    """What a value is drawn from.

    :ivar draw: one value. :ivar pattern: a regular expression for any value.
    :ivar texts: all that a value consists of: texts of a list, or the characters of an alphabet.
    :ivar number: how many values there are.
    """

    draw: Callable[[Random], str]
    pattern: str
    texts: Sequence[str]
    number: int

    def several(self, number: int, draw: Random) -> list[str]:
        """So many values that differ."""
        found: dict[str, None] = {}
        while len(found) < number:
            found[self.draw(draw)] = None
        return list(found)


def read_source(value: Any, words: Sequence[str]) -> Source:
    """A source as a file has it: a list of texts, "words", "letters", "digits", or a table with `from` one of these and
    `length` a number of characters, or the least and the most.

    :raises InputError: it is something else, or no word has the length.
    """
    table: Mapping[str, Any] = value if isinstance(value, Mapping) else {"from": value}
    for key in table:
        if key not in ("from", "length"):
            raise InputError(unknown("a source", key, ("from", "length")))
    kind: Any = table.get("from")
    if isinstance(kind, str) and kind in _ALPHABETS:
        return _of_alphabet(_ALPHABETS[kind], *_lengths(table.get("length", 1)))
    if isinstance(kind, str) and kind != "words":
        raise InputError(unknown("a source", kind, (*_ALPHABETS, "words")) + ", or a list of texts")
    options = words if kind == "words" else _options(kind)
    if "length" in table:
        least, most = _lengths(table["length"])
        options = [text for text in options if least <= len(text) <= most]
        if not options:
            raise InputError(f"nothing in the source has a length from {least} to {most}")
    pattern = "|".join(map(re.escape, sorted(options, key=len, reverse=True)))
    return Source(lambda draw: draw.choice(options), pattern, options, len(options))


def check_latin(text: str) -> None:
    """:raises InputError: a character is none of Latin-1, so that it is no byte."""
    if strange := [character for character in text if ord(character) > 255]:
        raise InputError(f"{shown(text)} has {strange[0]!r}, which is not in Latin-1: each character has to be a byte")


def _options(value: Any) -> Sequence[str]:
    options = check("a source", value, Annotated[list[str], Len(1)])
    for text in options:
        check_latin(text)
        if not text:
            raise InputError("a source has an empty text")
    if len(set(options)) < len(options):
        raise InputError(f"a source has {next(text for text in options if options.count(text) > 1)!r} twice")
    return options


def _lengths(value: Any) -> tuple[int, int]:
    least, most = check("length", value if isinstance(value, list) else (value, value), tuple[Length, Length])
    if least > most:
        raise InputError(f"length goes from {least} to {most}: the least comes first")
    return least, most


def _of_alphabet(alphabet: str, least: int, most: int) -> Source:
    return Source(
        lambda draw: "".join(draw.choice(alphabet) for _ in range(draw.randint(least, most))),
        f"[{alphabet}]{{{least},{most}}}",
        alphabet,
        sum(len(alphabet) ** length for length in range(least, most + 1)),
    )


# ---- A task from a table of a curriculum file: fixed pairs, a template, or a hidden mapping.
#
#     {name = "capital", pairs = {"capital of France." = "Paris."}}
#     {name = "twice", question = "twice: {a}.", answer = "{a}{a}.", draw = {a = {from = "letters", length = [1, 3]}}}
#     {name = "code", question = "code: {key}.", answer = "{value}.", keys = "words", values = "digits", number = 4}
#
# Of all of them: about, requires, fixed_length, tolerance as in `Task`, and right and wrong, what is said of an answer:
# one text or several, of which one is drawn, with {answer} and the names of the question in braces.


_COMMON = ("name", "about", "requires", "fixed_length", "tolerance", "right", "wrong")
_OF_KIND = {
    "pairs": ("pairs",),
    "draw": ("question", "answer", "draw"),
    "keys": ("question", "answer", "keys", "values", "number"),
}
_TRIES = 100  # questions that are drawn and read again, to see whether they can be read in one way only

Number = Annotated[int, Ge(2), Le(1_000)]
Text = Annotated[str, Len(1)]
Texts = Text | Annotated[list[Text], Len(1)]


class Table:
    """A table of a file, which says where a wrong value stands."""

    def __init__(self, place: str, content: Mapping[str, Any]) -> None:
        """:param place: "lesson.toml: task 'twice'"."""
        self.place, self.content = place, content

    @contextmanager
    def at(self, key: str) -> Iterator[None]:
        """Errors within name the key."""
        try:
            yield
        except InputError as error:
            raise InputError(f"{self.place}, key {key!r}: {error}") from None

    def get(self, key: str, hint: Any, default: Any = ...) -> Any:
        """A value, checked by an annotation.

        :raises InputError: it is something else, or missing where there is no default.
        """
        if key not in self.content:
            if default is ...:
                raise InputError(f"{self.place} lacks the key {key!r}")
            return default
        with self.at(key):
            return check(key, self.content[key], hint)

    def template(self, key: str) -> Template:
        """A template."""
        text: str = self.get(key, Text)
        with self.at(key):
            return Template.read(text)

    def known(self, keys: Sequence[str]) -> None:
        """:raises InputError: a key that is none of these."""
        for key in self.content:
            if key not in keys:
                raise InputError(f"{self.place}: {unknown('it', key, keys)}")


class _Feedback:
    """What is said of answers, by templates."""

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self._right, self._wrong = (
            self._read(table, key, default, names)
            for key, default in (("right", "good job! ;"), ("wrong", "wrong! {answer};"))
        )

    @staticmethod
    def _read(table: Table, key: str, default: str, names: Sequence[str]) -> list[Template]:
        texts: Any = table.get(key, Texts, default)
        templates: list[Template] = []
        with table.at(key):
            for text in [texts] if isinstance(texts, str) else texts:
                templates.append(Template.read(text))
                _check_names(templates[-1], ("answer", *names))
        return templates

    def solution(self, answer: str, values: Mapping[str, str], key: str | None = None) -> Solution:
        """The solution with this answer."""
        values = {**values, "answer": answer}
        right, wrong = (tuple(one.fill(values) for one in texts) for texts in (self._right, self._wrong))
        return Solution(answer, right, wrong, key=key)


def task_of_table(place: str, content: Mapping[str, Any], words: Sequence[str]) -> Task:
    """The task that a table tells of.

    :param place: the file and the task, for messages. :param words: what "words" stands for.
    :raises InputError: anything that is wrong with it, with the place and the key.
    """
    table = Table(place, content)
    kinds = [kind for kind in _OF_KIND if kind in content]
    if len(kinds) != 1:
        raise InputError(f"{place} has to have exactly one of the keys {', '.join(_OF_KIND)}")
    table.known((*_COMMON, *_OF_KIND[kinds[0]]))
    make = {"pairs": _of_pairs, "draw": partial(_of_template, words=words), "keys": partial(_of_mapping, words=words)}
    fixed: bool = table.get("fixed_length", bool, False)
    parts = make[kinds[0]](table, fixed)
    return Task(
        table.get("name", Text), table.get("about", str, ""), **parts, fixed_length=fixed,
        tolerance=table.get("tolerance", Count, 1), requires=tuple(table.get("requires", list[str], [])),
    )  # fmt: skip


def _of_pairs(table: Table, fixed: bool) -> dict[str, Any]:
    pairs: Mapping[str, str] = table.get("pairs", Annotated[Mapping[str, str], Len(1)])
    with table.at("pairs"):
        for question, answer in pairs.items():
            if not question or not answer:
                raise InputError("a question and an answer have at least one character")
            check_latin(question)
            check_latin(answer)
            _check_end(answer, answer, fixed)
    feedback = _Feedback(table, ())

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield draw.choice(list(pairs))

    def solve(question: str, hidden: Hidden) -> Solution:
        if question not in pairs:
            raise InputError(f"{shown(question)} is no question of this task")
        return feedback.solution(pairs[question], {}, question)

    return {
        "instances": stateless, "questions": questions, "solve": solve,
        "presumption": lambda hidden: each_key_once({"mapping": pairs}),
    }  # fmt: skip


def _of_template(table: Table, fixed: bool, words: Sequence[str]) -> dict[str, Any]:
    question, answer = table.template("question"), table.template("answer")
    sources: dict[str, Source] = {}
    with table.at("draw"):
        for name, value in table.get("draw", Annotated[Mapping[str, Any], Len(1)]).items():
            if name not in question.names:
                raise InputError(f"the variable {name!r} is not in the question")
            sources[name] = read_source(value, words)
    for key, template in (("question", question), ("answer", answer)):
        with table.at(key):
            _check_names(template, list(sources))
    with table.at("answer"):
        _check_template_end(answer, sources, fixed)
    feedback = _Feedback(table, list(sources))
    pattern = question.pattern({name: source.pattern for name, source in sources.items()})

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield question.fill({name: source.draw(draw) for name, source in sources.items()})

    def solve(asked: str, hidden: Hidden) -> Solution:
        found = pattern.fullmatch(asked)
        if found is None:
            raise InputError(f"{shown(asked)} is no question of this task")
        values = found.groupdict()
        return feedback.solution(answer.fill(values), values)

    with table.at("question"):
        _check_reading(question, sources, pattern)
    return {"instances": stateless, "questions": questions, "solve": solve}


def _of_mapping(table: Table, fixed: bool, words: Sequence[str]) -> dict[str, Any]:
    question, answer = table.template("question"), table.template("answer")
    number: int = table.get("number", Number)
    sources: dict[str, Source] = {}
    for name, key, template in (("key", "keys", question), ("value", "values", answer)):
        value = table.get(key, Any)
        with table.at(key):
            sources[name] = read_source(value, words)
        with table.at("question" if name == "key" else "answer"):
            if template.names != [name]:
                raise InputError(f"of a hidden mapping it has {{{name}}} in braces, and nothing else")
    with table.at("answer"):
        _check_template_end(answer, sources, fixed)
    if (most := sources["key"].number) < number:
        raise InputError(f"{table.place}, key 'keys': a mapping of {number} keys cannot be drawn from {most} texts")
    feedback = _Feedback(table, ("key", "value"))
    pattern = question.pattern({"key": ".+"})

    def instances(draw: Random) -> Iterator[Hidden]:
        while True:
            yield {"mapping": {key: sources["value"].draw(draw) for key in sources["key"].several(number, draw)}}

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            yield question.fill({"key": draw.choice(list(hidden["mapping"]))})

    def solve(asked: str, hidden: Hidden) -> Solution:
        found, mapping = pattern.fullmatch(asked), told(hidden, "mapping")
        key = found["key"] if found else None
        if key is None or key not in mapping:
            raise InputError(f"{shown(asked)} is no question about a key of the mapping: it has {', '.join(mapping)}")
        value = mapping[key] if fixed else mapping[key].removesuffix(STOP)
        return feedback.solution(answer.fill({"value": value}), {"key": key, "value": value}, key)

    return {"instances": instances, "questions": questions, "solve": solve, "presumption": each_key_once}


def _check_names(template: Template, names: Sequence[str]) -> None:
    """:raises InputError: a name of a template is none of these."""
    for name in template.names:
        if name not in names:
            raise InputError(f"the variable {{{name}}} is not defined; there are {', '.join(names)}")


def _check_template_end(answer: Template, sources: Mapping[str, Source], fixed: bool) -> None:
    """:raises InputError: an answer could do without a full stop at its end, or have a second one."""
    in_values = "".join(text for name in answer.names for text in sources[name].texts)
    literal, name = answer.pieces[-1]
    _check_end(answer.literal + in_values, literal if name is None else "", fixed)


def _check_end(text: str, end: str, fixed: bool) -> None:
    if not fixed and (not end.endswith(STOP) or text.count(STOP) > 1):
        raise InputError("an answer ends with its only full stop; write it, or set fixed_length = true")


def _check_reading(question: Template, sources: Mapping[str, Source], pattern: re.Pattern[str]) -> None:
    """:raises InputError: a question can be read with other values than those it was made of."""
    draw = Random(0)
    for _ in range(_TRIES):
        values = {name: source.draw(draw) for name, source in sources.items()}
        text = question.fill(values)
        found = pattern.fullmatch(text)
        if found is None or found.groupdict() != values:
            raise InputError(f"{text!r} can be read in two ways: put between the variables what none of them has")


# ---- The file


_FOLDER = Path(__file__).parent / "curricula"


def shipped_curricula() -> list[str]:
    """The names of the curricula that ship with gumption."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@checked
def load_curriculum(source: str | PathLike, rules: Rules = Rules()) -> Curriculum:  # noqa: B008  (frozen)
    """A curriculum that ships with gumption, by its name, or one from a file.

    :param source: "challenge", or a path that ends in .toml or .json.
    :raises InputError: there is none, or something in the file is wrong; with the file, the task and the key.
    """
    path = _FOLDER / f"{source}.toml" if source in shipped_curricula() else Path(source)
    if path.suffix not in (".toml", ".json"):
        raise InputError(
            unknown("the curricula that ship", str(source), shipped_curricula())
            + "; a path to another one ends in .toml or .json"
        )
    content = _read(path)
    if not isinstance(content, Mapping):
        raise InputError(f"{path} has to be a table with the keys tasks, task, success_threshold")
    table = Table(str(path), content)
    table.known(("tasks", "task", "success_threshold"))
    own = _own_tasks(table, path, load_words())
    tasks = _chosen(table, own, {**known_tasks(rules), **own})
    return Curriculum(path.stem, tasks, table.get("success_threshold", Count, SUCCESS_THRESHOLD))


def _read(path: Path) -> Any:
    if path.suffix == ".json":
        return read_json(path, advice="mend it")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid TOML ({error}); mend it") from None


def _own_tasks(table: Table, path: Path, words: Sequence[str]) -> dict[str, Task]:
    """The tasks that the file defines."""
    own: dict[str, Task] = {}
    for number, content in enumerate(table.get("task", list[Mapping[str, Any]], []), 1):
        name = content.get("name")
        place = f"{path}: task {name!r}" if isinstance(name, str) else f"{path}: task {number}"
        task = task_of_table(place, content, words)
        if task.name in own or task.name in known_tasks():
            raise InputError(f"{place}, key 'name': there is a task of this name already; choose another")
        own[task.name] = task
    for task in own.values():
        for name in task.requires:
            if name not in own and name not in known_tasks():
                problem = unknown("the curriculum", name, (*own, *known_tasks()))
                raise InputError(f"{path}: task {task.name!r}, key 'requires': {problem}")
    try:
        check_circles(own.values())
    except InputError as error:
        raise InputError(f"{path}, key 'requires': {error}") from None
    return own


def _chosen(table: Table, own: Mapping[str, Task], known: Mapping[str, Task]) -> tuple[Task, ...]:
    """The tasks of the curriculum in order."""
    names: list[str] = table.get("tasks", Annotated[list[str], Len(1)], list(own))
    with table.at("tasks"):
        if not names:
            raise InputError("a curriculum has at least one task")
        found: list[Task] = []
        for name in names:
            found += _matching(name, known)
        every = [task.name for task in found]
        if twice := [name for name in every if every.count(name) > 1]:
            raise InputError(f"{twice[0]} is in the curriculum twice")
        check_order(found)
    return tuple(found)


def _matching(name: str, known: Mapping[str, Task]) -> list[Task]:
    """The task of a name, or all that a pattern such as "micro5.*" fits."""
    if "*" not in name:
        return [find_task(name, known)]
    found = [task for each, task in known.items() if fnmatchcase(each, name)]
    if not found:
        raise InputError(f"no task has a name of the form {name!r}")
    return found


# ---- Whether an answer is right, and what may be said about it, outside of any stream.


@checked_methods
@dataclass(frozen=True)
class Verdict:
    """What is said of an answer.

    :ivar correct: whether it is right.
    :ivar feedbacks: each text that the task may send about it; {""} where it sends none.
    """

    correct: bool
    feedbacks: frozenset[str]


@checked
def judge(
    task: str, question: str, answer: str, mapping: Mapping[str, str] | None = None,
    context: Mapping[str, Any] | None = None, rules: Rules | None = None,
) -> Verdict:  # fmt: skip
    """The verdict on an answer to a question of a task, as `gumption/Gradual-v0` would give it.

    :param task: "micro5.7". :param question: as it is sent. :param answer: all that was said in answer to it.
    :param mapping: the instance's key -> answer, for tasks that hide one (micro2 to 6 and 15). A full stop at the end
        of an answer may be left out.
    :param context: what else an instance hides, by name: {"alphabet": "abc...", "answer": "a"} in micro1.
    :param rules: the default where it is None.
    :raises InputError: an unknown task, a question that it does not ask, or one that needs a mapping or a context.
    """
    rules = Rules() if rules is None else rules
    found = find_task(task, known_tasks(rules))
    hidden = dict(context or {}) | ({} if mapping is None else {"mapping": dict(mapping)})
    solution = found.solve(question, hidden)
    right = (found.cycle == "mini" and answer.endswith(solution.answer)) or solution.is_right(answer)
    texts = _texts(solution, right)
    if found.adaptive:
        texts += _texts(solution, True)
    return Verdict(right, frozenset(texts))


def _texts(solution: Solution, right: bool) -> list[str]:
    texts = solution.right if right else solution.wrong
    return [
        "".join(digits) + text
        for text in texts
        for number in solution.noise
        for digits in product(DIGITS, repeat=number)
    ] or [""]
