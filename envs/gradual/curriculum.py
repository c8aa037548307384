"""Hold the tasks by name, and read curricula from TOML or JSON files: tasks in order, and tasks defined by the file.

    success_threshold = 3
    tasks = ["micro7.*", "capital"]          # without it, the tasks of the file

    [[task]]                                 # for the kinds of tasks see below
    name = "capital"
    requires = ["micro7.2"]
    pairs = {"capital of France." = "Paris."}
    wrong = "no, {answer};"

Nothing in a file is executed.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
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

from gumption.data.errors import InputError, located
from gumption.data.modules import of_module
from gumption.data.reading import read_json
from gumption.data.settings import Count, check, checked, checked_methods, refuse_unknown, shown, unknown

from .dials import Shuffled, named, unlawful
from .micro_tasks import (
    LETTERS,
    SEQUENCES,
    SYNONYMS,
    each_key_once,
    filtered,
    load_words,
    logic_tasks,
    mapping_tasks,
    text_tasks,
)
from .mini_tasks import mini_tasks, production_tasks
from .other_tasks import hexadecimal_tasks, small_world_tasks, suggested_tasks
from .task import DIGITS, STOP, Hidden, Rules, Solution, Task, about_keys, drawn, repeated, stateless, told

# ---- The tasks by name, and curricula.

SUCCESS_THRESHOLD = 5  # in the challenge


@checked_methods
@dataclass(frozen=True)
class Curriculum:
    """Hold tasks in the order in which an agent learns them.

    :ivar success_threshold: successes in a row that end a task.
    """

    name: str
    tasks: tuple[Task, ...]
    success_threshold: int = SUCCESS_THRESHOLD


@checked
@cache
def all_tasks(rules: Rules = Rules()) -> Mapping[str, Task]:  # noqa: B008  (frozen)
    """Return the tasks of the challenge by name, in curriculum order: micro1 to micro20, mini0 to mini5."""
    words = load_words()
    few, shuffled = filtered(words), shuffled_words()
    if rules.names == "shuffled":
        free = shuffled.free(words)
        words, few = tuple(map(free.__getitem__, words)), tuple(map(free.__getitem__, few))
    tasks = [
        *mapping_tasks(words, rules),
        *text_tasks(words, rules),
        *logic_tasks(words, few, rules),
        *mini_tasks(rules),
    ]
    if rules.laws == "counterfactual":
        tasks = [unlawful(task, frozenset(shuffled.there)) for task in tasks]
    if rules.names != "real":
        tasks = named(tasks, rules.names, shuffled)
    return {task.name: task for task in tasks}


@cache
def shuffled_words() -> Shuffled:
    """Return the exchange of the words that have a meaning in the tasks."""
    synonyms = [synonym for row in SYNONYMS.values() for synonym in row]
    return Shuffled(synonyms, list(dict.fromkeys(word for sequence in SEQUENCES for word in sequence)))


@checked
@cache
def known_tasks(rules: Rules = Rules()) -> Mapping[str, Task]:  # noqa: B008
    """Return all tasks by name: first the challenge's, then tasks only of other curricula."""
    others = [*suggested_tasks(load_words()), *production_tasks(), *hexadecimal_tasks(), *small_world_tasks()]
    return {**all_tasks(rules), **{task.name: task for task in others}}


def find_task(name: str, tasks: Mapping[str, Task]) -> Task:
    """Return the task of a name; InputError with the nearest name if it is unknown."""
    if name not in tasks:
        raise InputError(unknown("the curriculum", name, tasks))
    return tasks[name]


@checked
def challenge(rules: Rules = Rules()) -> Curriculum:  # noqa: B008
    """Return the curriculum of the 46 tasks of the challenge."""
    return Curriculum("challenge", tuple(all_tasks(rules).values()))


@checked
def of_names(names: Iterable[str], rules: Rules = Rules()) -> Curriculum:  # noqa: B008
    """Return a curriculum of the named tasks; "module:name" names your own tasks, see `at_place`.

    :raises InputError: an unknown name, or no name.
    """
    known = known_tasks(rules)
    tasks = [task for name in names for task in (at_place(name).tasks if ":" in name else [find_task(name, known)])]
    if not tasks:
        raise InputError("a curriculum has at least one task")
    return Curriculum("-".join(task.name for task in tasks), tuple(tasks))


@checked
def at_place(place: str) -> Curriculum:
    """Import the tasks at "module:name": a `Curriculum`, a `Task`, a list of tasks, or a function that returns these.

    :raises InputError: no such module or name, or an object of another kind.
    """
    given = (Curriculum, Task, list, tuple)
    what = "curriculum, task or function"
    found = of_module(place, "tasks", lambda one: isinstance(one, given) or callable(one), what)
    if not isinstance(found, given):
        found = found()
    if isinstance(found, Curriculum):
        return found
    tasks = (found,) if isinstance(found, Task) else found
    if not isinstance(tasks, (list, tuple)) or not tasks or not all(isinstance(task, Task) for task in tasks):
        raise InputError(f"tasks {place} is {shown(found)}; it is a Curriculum, a Task or a list of tasks")
    return Curriculum(place.partition(":")[2], tuple(tasks))


# ---- Templates: texts with names in braces, such as "twice: {a}."; and sources from which the values are drawn.

Length: TypeAlias = Annotated[int, Ge(1), Le(1_000)]

_NAME = re.compile("[a-z][a-z0-9_]*")
_ALPHABETS = {"letters": LETTERS, "digits": DIGITS}


def check_template(text: str) -> str:
    """Check that a text is a template, and return it. "{{" and "}}" are literal braces.

    :raises InputError: braces hold more than a name, or the text is not in Latin-1.
    """
    check_latin(text)
    try:
        pieces = list(Formatter().parse(text))
    except ValueError as error:
        raise InputError(f"{text!r} has braces that do not fit: {error}; write {{{{ for a brace") from None
    for _, name, form, conversion in pieces:
        if name is not None and (form or conversion or not _NAME.fullmatch(name)):
            raise InputError(f"{text!r} has more than a name in braces: a name is of small letters, digits and _")
    return text


def pieces_of(template: str) -> list[tuple[str, str | None]]:
    """Split a template into its literal texts, each with the name after it, None after the last."""
    return [(literal, name) for literal, name, _, _ in Formatter().parse(template)]


def names_of(template: str) -> list[str]:
    """Return the names in a template, each once, in order."""
    return list(dict.fromkeys(name for _, name in pieces_of(template) if name is not None))


def pattern_of(template: str, patterns: Mapping[str, str]) -> re.Pattern[str]:
    """Compile a pattern that extracts the values from a filled template, by a regular expression for each name."""
    parts: list[str] = []
    met: set[str] = set()
    for literal, name in pieces_of(template):
        parts.append(re.escape(literal))
        if name is not None:
            parts.append(f"(?P={name})" if name in met else f"(?P<{name}>{patterns[name]})")
            met.add(name)
    return re.compile("".join(parts), re.DOTALL)


@dataclass(frozen=True)
class Source:
    """Hold a source of values.

    :ivar draw: draws a value. :ivar pattern: a regular expression for all values.
    :ivar texts: the values of a list, or the characters of an alphabet. :ivar number: number of different values.
    """

    draw: Callable[[Random], str]
    pattern: str
    texts: Sequence[str]
    number: int


def read_source(value: Any, words: Sequence[str]) -> Source:
    """Read a source of a file: a list of texts, "words", "letters", "digits", or a table. A table has such a source as
    `from`, and as `length` a number of characters, or the least and the greatest number.

    :raises InputError: another value, or no word has the length.
    """
    table: Mapping[str, Any] = value if isinstance(value, Mapping) else {"from": value}
    refuse_unknown("a source", table, ("from", "length"))
    kind: Any = table.get("from")
    least, most = _lengths(table.get("length", 1))
    if isinstance(kind, str) and kind in _ALPHABETS:
        alphabet = _ALPHABETS[kind]
        return Source(
            lambda draw: "".join(draw.choice(alphabet) for _ in range(draw.randint(least, most))),
            f"[{alphabet}]{{{least},{most}}}",
            alphabet,
            sum(len(alphabet) ** length for length in range(least, most + 1)),
        )
    if isinstance(kind, str) and kind != "words":
        raise InputError(unknown("a source", kind, (*_ALPHABETS, "words")) + ", or a list of texts")
    options = words if kind == "words" else _options(kind)
    if "length" in table:
        options = [text for text in options if least <= len(text) <= most]
        if not options:
            raise InputError(f"nothing in the source has a length from {least} to {most}")
    pattern = "|".join(map(re.escape, sorted(options, key=len, reverse=True)))
    return Source(lambda draw: draw.choice(options), pattern, options, len(options))


def check_latin(text: str) -> None:
    """:raises InputError: a character is not in Latin-1, so that it does not fit in a byte."""
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


# ---- A task from a table of a curriculum file: fixed pairs, a template, or a hidden mapping.
#
#     {name = "capital", pairs = {"capital of France." = "Paris."}}
#     {name = "twice", question = "twice: {a}.", answer = "{a}{a}.", draw = {a = {from = "letters", length = [1, 3]}}}
#     {name = "code", question = "code: {key}.", answer = "{value}.", keys = "words", values = "digits", number = 4}
#
# All kinds may have about, requires, fixed_length and tolerance as in `Task`. They may have right and wrong, the
# feedback on an answer: a text, or a list to draw from, with {answer} and the names of the question in braces.

_COMMON = ("name", "about", "requires", "fixed_length", "tolerance", "right", "wrong")
_OF_KIND = {
    "pairs": ("pairs",),
    "draw": ("question", "answer", "draw"),
    "keys": ("question", "answer", "keys", "values", "number"),
}

Number = Annotated[int, Ge(2), Le(1_000)]
Text = Annotated[str, Len(1)]
Texts = Text | Annotated[list[Text], Len(1)]


#: Makes a solution from an answer, the values of the names in the feedback, and the key.
Solved: TypeAlias = Callable[[str, Mapping[str, str], str | None], Solution]


@dataclass(frozen=True)
class Table:
    """Hold a table of a file. Its errors begin with its place, such as "lesson.toml: task 'twice'"."""

    place: str
    content: Mapping[str, Any]

    def at(self, key: str) -> AbstractContextManager[None]:
        """Prefix errors raised in the block with place and key."""
        return located(f"{self.place}, key {key!r}")

    def get(self, key: str, hint: Any, default: Any = ...) -> Any:
        """Return a value; InputError if the annotation does not fit it, or it is missing without a default."""
        if key not in self.content:
            if default is ...:
                raise InputError(f"{self.place} lacks the key {key!r}")
            return default
        with self.at(key):
            return check(key, self.content[key], hint)

    def template(self, key: str) -> str:
        """Return a template; InputError if the value is not a template."""
        text: str = self.get(key, Text)
        with self.at(key):
            return check_template(text)

    def known(self, keys: Sequence[str]) -> None:
        """:raises InputError: a key that is not in `keys`."""
        for key in self.content:
            if key not in keys:
                raise InputError(f"{self.place}: {unknown('it', key, keys)}")


def _feedback(table: Table, names: Sequence[str]) -> Solved:
    """Return a function that makes solutions with the table's feedback."""
    forms: list[list[str]] = []
    for key, default in (("right", "good job! ;"), ("wrong", "wrong! {answer};")):
        texts: Any = table.get(key, Texts, default)
        forms.append([texts] if isinstance(texts, str) else texts)
        with table.at(key):
            for text in forms[-1]:
                _check_names(check_template(text), ("answer", *names))

    def solution(answer: str, values: Mapping[str, str], key: str | None) -> Solution:
        values = {**values, "answer": answer}
        right, wrong = (tuple(text.format_map(values) for text in texts) for texts in forms)
        return Solution(answer, right, wrong, key=key)

    return solution


def task_of_table(place: str, content: Mapping[str, Any], words: Sequence[str]) -> Task:
    """Make the task of a table; InputError with the place and the key if the table is wrong."""
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
    solution = _feedback(table, ())

    def solve(question: str, hidden: Hidden) -> Solution:
        if question not in pairs:
            raise InputError(f"{shown(question)} is no question of this task")
        return solution(pairs[question], {}, question)

    return {
        "instances": stateless, "questions": repeated(lambda draw: draw.choice(list(pairs))), "solve": solve,
        "presumption": lambda hidden: each_key_once({"mapping": pairs}),
    }  # fmt: skip


def _of_template(table: Table, fixed: bool, words: Sequence[str]) -> dict[str, Any]:
    question, answer = table.template("question"), table.template("answer")
    sources: dict[str, Source] = {}
    with table.at("draw"):
        for name, value in table.get("draw", Annotated[Mapping[str, Any], Len(1)]).items():
            if name not in names_of(question):
                raise InputError(f"the variable {name!r} is not in the question")
            sources[name] = read_source(value, words)
    for key, template in (("question", question), ("answer", answer)):
        with table.at(key):
            _check_names(template, list(sources))
    with table.at("answer"):
        _check_template_end(answer, sources, fixed)
    solution = _feedback(table, list(sources))
    pattern = pattern_of(question, {name: source.pattern for name, source in sources.items()})

    def values_drawn(draw: Random) -> dict[str, str]:
        return {name: source.draw(draw) for name, source in sources.items()}

    def solve(asked: str, hidden: Hidden) -> Solution:
        found = pattern.fullmatch(asked)
        if found is None:
            raise InputError(f"{shown(asked)} is no question of this task")
        values = found.groupdict()
        return solution(answer.format_map(values), values, None)

    draw = Random(0)
    for _ in range(100):
        values = values_drawn(draw)
        text = question.format_map(values)
        found = pattern.fullmatch(text)
        if found is None or found.groupdict() != values:
            with table.at("question"):
                raise InputError(f"{text!r} can be read in two ways: put between the variables what none of them has")
    questions = repeated(lambda draw: question.format_map(values_drawn(draw)))
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
            if names_of(template) != [name]:
                raise InputError(f"of a hidden mapping it has {{{name}}} in braces, and nothing else")
    with table.at("answer"):
        _check_template_end(answer, sources, fixed)
    if (most := sources["key"].number) < number:
        raise InputError(f"{table.place}, key 'keys': a mapping of {number} keys cannot be drawn from {most} texts")
    solution = _feedback(table, ("key", "value"))
    pattern = pattern_of(question, {"key": ".+"})

    def mapping(draw: Random) -> Hidden:
        keys: dict[str, None] = {}
        while len(keys) < number:
            keys[sources["key"].draw(draw)] = None
        return {"mapping": {key: sources["value"].draw(draw) for key in keys}}

    def solve(asked: str, hidden: Hidden) -> Solution:
        found, mapping = pattern.fullmatch(asked), told(hidden, "mapping")
        key = found["key"] if found else None
        if key is None or key not in mapping:
            raise InputError(f"{shown(asked)} is no question about a key of the mapping: it has {', '.join(mapping)}")
        value = mapping[key] if fixed else mapping[key].removesuffix(STOP)
        return solution(answer.format(value=value), {"key": key, "value": value}, key)

    return {
        "instances": drawn(mapping), "questions": about_keys(lambda key, draw: question.format(key=key)),
        "solve": solve, "presumption": each_key_once,
    }  # fmt: skip


def _check_names(template: str, names: Sequence[str]) -> None:
    for name in names_of(template):
        if name not in names:
            raise InputError(f"the variable {{{name}}} is not defined; there are {', '.join(names)}")


def _check_template_end(answer: str, sources: Mapping[str, Source], fixed: bool) -> None:
    pieces = pieces_of(answer)
    texts = [literal for literal, _ in pieces] + [text for name in names_of(answer) for text in sources[name].texts]
    literal, name = pieces[-1]
    _check_end("".join(texts), literal if name is None else "", fixed)


def _check_end(text: str, end: str, fixed: bool) -> None:
    """:raises InputError: an answer might lack its full stop, or have a full stop before its end."""
    if not fixed and (not end.endswith(STOP) or text.count(STOP) > 1):
        raise InputError("an answer ends with its only full stop; write it, or set fixed_length = true")


# ---- The file

_FOLDER = Path(__file__).parent / "curricula"


def shipped_curricula() -> list[str]:
    """Return the names of the curricula that ship with gumption."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@checked
def load_curriculum(source: str | PathLike, rules: Rules = Rules()) -> Curriculum:  # noqa: B008  (frozen)
    """Load a curriculum that ships with gumption, or read a file.

    :param source: its name, such as "challenge", or a path that ends in .toml or .json.
    :raises InputError: it does not exist, or the file is wrong; the message names the file, the task and the key.
    """
    path = _FOLDER / f"{source}.toml" if source in shipped_curricula() else Path(source)
    if path.suffix not in (".toml", ".json"):
        raise InputError(
            unknown("the curricula that ship", str(source), shipped_curricula())
            + "; a path to another one ends in .toml or .json"
        )
    table = read_table(path)
    table.known(("tasks", "task", "success_threshold"))
    own = _own_tasks(table, load_words())
    known = {**known_tasks(rules), **own}
    names: list[str] = table.get("tasks", Annotated[list[str], Len(1)], list(own))
    with table.at("tasks"):
        tasks = [task for name in names for task in _matching(name, known)]
        chosen = [task.name for task in tasks]
        if not chosen:
            raise InputError("a curriculum has at least one task")
        for place, task in enumerate(tasks):
            if task.name in chosen[:place]:
                raise InputError(f"{task.name} is in the curriculum twice")
        for place, task in enumerate(tasks):
            if late := [name for name in task.requires if name in chosen[place:]]:
                raise InputError(f"the curriculum has {task.name} before {late[0]}, which it requires")
    return Curriculum(path.stem, tuple(tasks), table.get("success_threshold", Count, SUCCESS_THRESHOLD))


def read_table(path: Path) -> Table:
    """Read a table from a .json file or a TOML file; InputError if the content is neither, or not a table."""
    content = read_json(path) if path.suffix == ".json" else _read_toml(path)
    if not isinstance(content, Mapping):
        raise InputError(f"{path} has to be a table with names and values, and it is {shown(content)}")
    return Table(str(path), content)


def _read_toml(path: Path) -> Any:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid TOML ({error}); mend it") from None


def _own_tasks(table: Table, words: Sequence[str]) -> dict[str, Task]:
    """Make the tasks that the file defines, by name."""
    path = table.place
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
        TopologicalSorter({task.name: task.requires for task in own.values()}).prepare()
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise InputError(f"{path}, key 'requires': tasks require each other in a circle: {circle}") from None
    return own


def _matching(name: str, known: Mapping[str, Task]) -> list[Task]:
    """Return the task of a name, or all tasks that match a pattern such as "micro5.*"."""
    if "*" not in name:
        return [find_task(name, known)]
    found = [task for each, task in known.items() if fnmatchcase(each, name)]
    if not found:
        raise InputError(f"no task has a name of the form {name!r}")
    return found


# ---- Verdicts on answers outside of any stream.


@checked_methods
@dataclass(frozen=True)
class Verdict:
    """Hold whether an answer is right, and all possible feedback texts; {""} for no feedback."""

    correct: bool
    feedbacks: frozenset[str]


@checked
def judge(
    task: str, question: str, answer: str, mapping: Mapping[str, str] | None = None,
    context: Mapping[str, Any] | None = None, rules: Rules | None = None,
) -> Verdict:  # fmt: skip
    """Judge an answer to a question of a task, as in `gumption/Gradual-v0`.

    :param task: its name. :param answer: all bytes of the agent in reply to the question.
    :param mapping: the instance's key -> answer, for tasks with a hidden mapping (micro2 to 6 and 15). Answers may omit
        their final full stop.
    :param context: other hidden data of the instance, by name: {"alphabet": "abc...", "answer": "a"} in micro1.
    :param rules: None for the default.
    :raises InputError: an unknown task, a question of another task, or a missing mapping or context.
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
