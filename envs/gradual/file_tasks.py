"""A task from a table of a curriculum file: fixed pairs, a template, or a hidden mapping.

    {name = "capital", pairs = {"capital of France." = "Paris."}}
    {name = "twice", question = "twice: {a}.", answer = "{a}{a}.", draw = {a = {from = "letters", length = [1, 3]}}}
    {name = "code", question = "code: {key}.", answer = "{value}.", keys = "words", values = "digits", number = 4}

Of all of them: about, requires, fixed_length, tolerance as in `Task`, and right and wrong, what is said of an answer:
one text or several, of which one is drawn, with {answer} and the names of the question in braces.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Annotated, Any

from annotated_types import Ge, Le, Len

from gumption.data import InputError
from gumption.data.settings import Count, check, unknown
from gumption.data.wording import shown

from .mapping_tasks import each_key_once
from .task import STOP, Hidden, Solution, Task, stateless, told
from .templates import Source, Template, check_latin, read_source

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
