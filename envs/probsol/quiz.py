"""Questions of a quiz and their true answers (ProbSol, B.3: Concept and Theory Knowledge Constraint).

A question asks for discs with a property, {"ask": "mass", "which": "largest"}, or for two discs that share a property,
{"ask": "pair", "same": "magnetism"}. SPARQL queries compute the answers from a KnowledgeGraph of the discs' properties,
with the boundaries at the CHECK that opened the quiz. `tasks` imports this module, so a task has the type Any here.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, Any, NoReturn

from gumption.data import InputError
from gumption.data.errors import did_you_mean
from gumption.data.settings import shown
from gumption.envs.memory import Triple

from .magnets import BOUNDARIES

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

HAS_MASS, HAS_MAGNETISM, HAS_POLARITY, HAS_BOUNDARY = "hasMass", "hasMagnetism", "hasPolarity", "hasBoundary"
HEAVIER_THAN, STRONGER_THAN, SAME_POLARITY = COMPARED = "heavierThan", "strongerThan", "samePolarity"
HAS_QUESTION, ASKS_FOR, ASKS_WHICH, ASKS_SAME = "hasQuestion", "asksFor", "asksWhich", "asksSame"
HAS_ANSWER, HAS_MEMBER = "hasAnswer", "hasMember"
PROPERTIES = ("mass", "magnetism", "boundary")
PAIR, SAME = "pair", ("mass", "magnetism", "polarity", "boundary")
SMALLEST, LARGEST = "smallest", "largest"
DIPOLE = "dipole"
#: The relation of a property in facts about one disc, and in facts that compare two.
_HAS = {"mass": HAS_MASS, "magnetism": HAS_MAGNETISM, "boundary": HAS_BOUNDARY}
_MORE = {"mass": HEAVIER_THAN, "magnetism": STRONGER_THAN}
_EQUAL = (
    "SELECT ?x ?y WHERE { ?x gum:%s ?p . ?y gum:%s ?q . FILTER (?x != ?y) "
    "FILTER NOT EXISTS { ?x gum:%s ?y } FILTER NOT EXISTS { ?y gum:%s ?x } }"
)
_PAIRS = {
    **{name: _EQUAL % (_HAS[name], _HAS[name], more, more) for name, more in _MORE.items()},
    "polarity": f"SELECT ?x ?y WHERE {{ ?x gum:{SAME_POLARITY} ?y }}",
    "boundary": f"SELECT ?x ?y WHERE {{ ?x gum:{HAS_BOUNDARY} ?b . ?y gum:{HAS_BOUNDARY} ?b . FILTER (?x != ?y) }}",
}


def disc_label(task: Any, id: str) -> str:
    """Return the label of a disc in a graph, such as "fishing/0:a"."""
    return f"{task.name}:{id}"


def property_facts(task: Any, theta: Sequence[int] | None = None) -> Iterator[Triple]:
    """Yield the properties of the discs of a task, and the comparisons of discs.

    (disc hasMass CLASS), (disc hasMagnetism CLASS), (disc hasPolarity +, - or dipole), for dipoles (disc hasBoundary
    NAME); (a heavierThan b) and (a strongerThan b) by the numbers of the classes; (a samePolarity b).

    :param theta: degrees of each disc, 0 to 315; None for the degrees at the start.
    """
    for k, disc in enumerate(task.objects):
        label = disc_label(task, disc.id)
        yield label, HAS_MASS, disc.mass
        yield label, HAS_MAGNETISM, disc.magnetism
        yield label, HAS_POLARITY, disc.polarity
        if disc.polarity == DIPOLE:
            degrees = (disc.boundary if theta is None else theta[k]) % 180
            yield label, HAS_BOUNDARY, next(name for name, angle in BOUNDARIES.items() if angle == degrees)
    for one, other in permutations(task.objects, 2):
        pair = disc_label(task, one.id), disc_label(task, other.id)
        if task.masses[one.mass] > task.masses[other.mass]:
            yield pair[0], HEAVIER_THAN, pair[1]
        if task.magnetisms[one.magnetism] > task.magnetisms[other.magnetism]:
            yield pair[0], STRONGER_THAN, pair[1]
        if one.polarity == other.polarity:
            yield pair[0], SAME_POLARITY, pair[1]


def quiz_facts(task: Any) -> Iterator[Triple]:
    """Yield the questions of a task and their true answers.

    (task hasQuestion q), (q asksFor mass, magnetism, boundary or pair), (q asksWhich WHICH) or (q asksSame WHAT), and
    (q hasAnswer disc), or for a pair (q hasAnswer p), (p hasMember disc) twice. Questions about boundaries have no
    answers here, because these depend on how the player turns the discs.
    """
    for k, question in enumerate(task.quiz):
        label = f"{task.name}/question {k}"
        yield task.name, HAS_QUESTION, label
        yield label, ASKS_FOR, question["ask"]
        if question["ask"] == PAIR:
            yield label, ASKS_SAME, question["same"]
        else:
            yield label, ASKS_WHICH, question["which"]
        if "boundary" in question.values():
            continue
        for m, answer in enumerate(sorted(map(sorted, right_answers(task, question)))):
            if question["ask"] != PAIR:
                yield label, HAS_ANSWER, disc_label(task, answer[0])
                continue
            pair = f"{label}/pair {m}"
            yield label, HAS_ANSWER, pair
            yield from ((pair, HAS_MEMBER, disc_label(task, id)) for id in answer)


def right_answers(task: Any, question: Mapping[str, str], theta: Sequence[int] | None = None) -> set[frozenset[str]]:
    """Return the right answers to a question, each a set of one id, or of the two ids of a pair; `theta` as in
    `property_facts`."""
    graph = _graph(tuple(property_facts(task, theta)))
    which = question.get("which", "")
    if question["ask"] == PAIR:
        rows = graph.query(_PAIRS[question["same"]])
    elif which in (SMALLEST, LARGEST):
        more = _MORE[question["ask"]]
        beyond = f"?x gum:{more} ?y" if which == SMALLEST else f"?y gum:{more} ?x"
        has = _HAS[question["ask"]]
        rows = graph.query(f"SELECT ?x WHERE {{ ?x gum:{has} ?kind FILTER NOT EXISTS {{ {beyond} }} }}")
    else:
        rows = graph.query(f"SELECT ?x WHERE {{ ?x gum:{_HAS[question['ask']]} ?kind }}", kind=which)
    ids = {disc_label(task, id): id for id in task.ids}
    return {frozenset(ids[label] for label in row.values()) for row in rows}


@lru_cache(maxsize=64)
def _graph(facts: tuple[Triple, ...]) -> "KnowledgeGraph":
    from gumption.kg import KnowledgeGraph

    graph = KnowledgeGraph()
    graph.add(facts, graph="discs")
    return graph


def read_question(given: Any, task: Any, where: str) -> Mapping[str, str]:
    """Check and return a question of a task file.

    :param where: the file and the field, "mine.json: quiz[0]".
    :raises InputError: not a question, or a question without a right answer.
    """
    if not isinstance(given, Mapping):
        raise InputError(f'{where}: is {shown(given)}; it is an object such as {{"ask": "mass", "which": "largest"}}')
    ask = choice(f"{where}.ask", given.get("ask"), (*PROPERTIES, PAIR))
    field = "same" if ask == PAIR else "which"
    for name in given:
        if name not in ("ask", field):
            raise InputError(f"{where}.{name}: a question for {ask} has 'ask' and {field!r} only")
    classes = {"mass": task.masses, "magnetism": task.magnetisms, "boundary": BOUNDARIES}
    known = SAME if ask == PAIR else (*classes[ask], *((SMALLEST, LARGEST) if ask in _MORE else ()))
    question = {"ask": ask, field: choice(f"{where}.{field}", given.get(field), known)}
    if "boundary" in question.values():
        dipoles, needed = sum(disc.polarity == DIPOLE for disc in task.objects), 2 if ask == PAIR else 1
        if dipoles < needed:
            have = f"there {'is' if dipoles == 1 else 'are'} {dipoles or 'none'}"
            fault = f"only dipoles have a boundary; the question needs {needed} of them, and {have}"
            raise InputError(f"{where}.{field}: {fault}")
    elif not right_answers(task, question):
        lacks = "no two discs have an equal" if ask == PAIR else f"no disc has the {ask}"
        raise InputError(f"{where}.{field}: {lacks} {question[field]!r}; a question has a right answer")
    return question


def choice(where: str, value: Any, choices: Sequence[str]) -> str:
    """Return the value if it is among the choices; else raise InputError with the nearest choice."""
    if not isinstance(value, str) or value not in choices:
        hint = did_you_mean(value, choices, f"it can be {', '.join(choices)}")
        raise InputError(f"{where}: is {shown(value)}; {hint}")
    return value


def questions(task: Any) -> list[dict[str, Any]]:
    """Return the questions of a task as in its file, each with a readable "text"."""
    return [{**question, "text": _text(question)} for question in task.quiz]


def _text(question: Mapping[str, str]) -> str:
    if question["ask"] == PAIR:
        return f"Which two discs have the same {question['same']}?"
    which = question["which"]
    if which in (SMALLEST, LARGEST):
        return f"Which disc has the {which} {question['ask']}?"
    if question["ask"] == "boundary":
        return f"Which disc has the boundary {which}?"
    return f"Which disc is of {which} {question['ask']}?"


def is_right(task: Any, answers: Any, theta: Sequence[int]) -> bool:
    """Return whether the answer to each question names at least one disc, and no wrong disc.

    :param answers: a list of ids for each question, exactly two ids for a pair.
    :param theta: degrees of each disc at CHECK.
    :raises InputError: not one list for each question, an id that no disc has, or not two discs for a pair.
    """

    def fail(reason: str) -> NoReturn:
        raise InputError(f"answers: {reason}")

    if not isinstance(answers, list | tuple) or any(not isinstance(ids, list | tuple) for ids in answers):
        fail(f"is {shown(answers)}; it is a list of ids for each question")
    if len(answers) != len(task.quiz):
        fail(f"has {len(answers)} lists; it is a list of ids for each of the {len(task.quiz)} questions")
    for k, (question, ids) in enumerate(zip(task.quiz, answers, strict=True)):
        for id in ids:
            if id not in task.ids:
                fail(f"question {k} names {shown(id)}, which is no disc; there are {', '.join(task.ids)}")
        if question["ask"] == PAIR and (len(ids) != 2 or ids[0] == ids[1]):
            fail(f"question {k} asks for a pair, which is two discs; it names {', '.join(ids) or 'none'}")
    for question, ids in zip(task.quiz, answers, strict=True):
        named = {frozenset(ids)} if question["ask"] == PAIR else {frozenset([id]) for id in ids}
        if not named or not named <= right_answers(task, question, theta):
            return False
    return True
