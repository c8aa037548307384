"""Horn rules over binary relations, as data.

A rule `uncle(x, z) <= parent(x, y) & brother(y, z)` has a head and a body of one to three atoms; an atom is a relation
and two variables. The file that a person writes is JSON:

    {"rules": [
      {"symmetric": "combinesWith"},
      {"transitive": "greaterThan"},
      {"inverse": ["hypernym", "hyponym"]},
      {"composition": ["parent", "brother", "uncle"]},
      {"name": "heirs share", "head": "sibling(x, y)", "body": ["parent(x, z)", "parent(y, z)"]}
    ]}

An atom is text, or a list ["relation", "x", "y"] if the name of the relation does not fit into such a text. In a body,
"*(x, y)" stands for any relation of the facts that no atom of the rules names, the same relation in all of the body.
A body may also have the condition "x != y" on the two variables of the head. Any rule may have a "name", a "confidence"
in (0, 1] (1, certain, by default) and, for readers only, a "comment" and the "figures" with which it was mined.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from gumption.data.errors import InputError, located
from gumption.data.reading import read_json
from gumption.data.sealed import SHA256, write_sealed
from gumption.data.settings import checked
from gumption.kg.vocabulary import unknown_label

LONGEST = 3  # atoms in a body
_ATOM = re.compile(
    r"\s*(?P<relation>.*\S)\s*\(\s*(?P<subject>[^\s(),]+)\s*,\s*(?P<object>[^\s(),]+)\s*\)\s*", re.DOTALL
)
_CONDITION = re.compile(r"\s*([^\s(),]+)\s*!=\s*([^\s(),]+)\s*")
_VARIABLE = re.compile("[A-Za-z][A-Za-z0-9_]*")
ANY = "*"  # stands for any relation in an atom
MINED_FROM = "mined_from"  # key for the marks of the facts in a file of mined rules; see mining.py
_FOR_PEOPLE = ("comment", "figures")


@dataclass(frozen=True)
class Atom:
    """A relation between two variables: `Atom("parent", "x", "y")` is parent(x, y).

    :raises InputError: an empty relation, or a variable that is not an ASCII letter followed by letters and digits.
    """

    relation: str
    subject: str
    object: str

    def __post_init__(self) -> None:
        if not isinstance(self.relation, str) or not self.relation:
            raise InputError(f"an atom names a relation, not {self.relation!r}")
        for variable in self.variables:
            if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
                raise InputError(f"{variable!r} in an atom of {self.relation!r} is no variable: write x, y or who2")

    @property
    def variables(self) -> tuple[str, str]:
        return self.subject, self.object

    def __str__(self) -> str:
        return f"{self.relation}({self.subject}, {self.object})"


@dataclass(frozen=True)
class Rule:
    """A Horn rule: `head` holds if all atoms of `body` hold. The default `name` is the rule's text.

    :ivar distinct: the two variables of the head must be different entities, as in
        sibling(x, y) <= parent(x, z) & parent(y, z) & x != y.
    :ivar confidence: confidence of a fact that the rule entails from certain facts.
    :raises InputError: a body without atoms or with more than three, a variable of the head that the body lacks, atoms
        of the body that no common variables connect (a Cartesian product), a distinct head r(x, x), a confidence out of
        range.
    """

    head: Atom
    body: tuple[Atom, ...]
    name: str = ""
    distinct: bool = False
    confidence: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", tuple(self.body))
        if not 1 <= len(self.body) <= LONGEST:
            raise InputError(f"the body of a rule has one to {LONGEST} atoms, not {len(self.body)}")
        text = str(self)
        if self.head.relation == ANY:
            raise InputError(f"{text}: only the body of a rule can be of any relation, {ANY}")
        bound = {variable for atom in self.body for variable in atom.variables}
        if free := [variable for variable in self.head.variables if variable not in bound]:
            raise InputError(f"{text}: the variable {free[0]} of the head is not in the body")
        reached = set(self.body[0].variables)
        for _ in self.body:
            reached.update(*(atom.variables for atom in self.body if reached.intersection(atom.variables)))
        if reached != bound:
            raise InputError(f"{text}: the atoms of the body have to hang together by common variables")
        if self.distinct and self.head.subject == self.head.object:
            raise InputError(f"{text}: the rule never holds")
        if type(self.confidence) not in (int, float) or not 0 < self.confidence <= 1:
            raise InputError(f"{text}: its confidence is a number above 0 and at most 1, not {self.confidence!r}")
        object.__setattr__(self, "name", self.name or text)

    def __str__(self) -> str:
        return f"{self.head} <= {' & '.join([*map(str, self.body), *self.conditions])}"

    @property
    def conditions(self) -> tuple[str, ...]:
        """Return the conditions of the body other than its atoms."""
        return (f"{self.head.subject} != {self.head.object}",) if self.distinct else ()


def symmetric(relation: str) -> Rule:
    """Return the rule relation(y, x) <= relation(x, y)."""
    return Rule(Atom(relation, "y", "x"), (Atom(relation, "x", "y"),), f"symmetric({relation})")


def transitive(relation: str) -> Rule:
    """Return the rule relation(x, z) <= relation(x, y) & relation(y, z)."""
    body = Atom(relation, "x", "y"), Atom(relation, "y", "z")
    return Rule(Atom(relation, "x", "z"), body, f"transitive({relation})")


def inverse(first: str, second: str) -> tuple[Rule, Rule]:
    """Return two rules: second(y, x) <= first(x, y), and first(y, x) <= second(x, y)."""
    name = f"inverse({first}, {second})"
    there = Rule(Atom(second, "y", "x"), (Atom(first, "x", "y"),), name)
    return there, Rule(Atom(first, "y", "x"), (Atom(second, "x", "y"),), name)


def composition(first: str, second: str, head: str) -> Rule:
    """Return the rule head(x, z) <= first(x, y) & second(y, z)."""
    body = Atom(first, "x", "y"), Atom(second, "y", "z")
    return Rule(Atom(head, "x", "z"), body, f"composition({first}, {second}, {head})")


# Form in a file -> (number of its relations, function that makes the rules).
_FORMS: dict[str, tuple[int, Callable[..., Rule | tuple[Rule, ...]]]] = {
    "symmetric": (1, symmetric),
    "transitive": (1, transitive),
    "inverse": (2, inverse),
    "composition": (3, composition),
}


@checked
def read_rules(path: str | PathLike[str]) -> tuple[Rule, ...]:
    """Read the rules of a JSON file; raises InputError with the file and the wrong line or rule."""
    content = read_rule_file(path)
    with located(path):
        return rules_from_json(content)


def read_rule_file(path: str | PathLike[str]) -> Any:
    """Read the JSON of a file of rules. Users edit such files, so only `gumption verify` compares their sha256."""
    content = read_json(Path(path), advice='write {"rules": [...]}')
    return {key: content[key] for key in content if key != SHA256} if isinstance(content, dict) else content


@checked
def write_rules(path: str | PathLike[str], rules: Sequence[Rule]) -> None:
    """Write rules to a JSON file with its sha256. The file appears when it is complete."""
    write_sealed(Path(path), rules_to_json(rules))


def rules_from_json(content: Any) -> tuple[Rule, ...]:
    """Build the rules of a parsed file; InputError names the wrong rule by its number from 1."""
    known = isinstance(content, dict) and "rules" in content and set(content) <= {"rules", MINED_FROM}
    if not known or not isinstance(content["rules"], list):
        raise InputError('expected {"rules": [...]} and nothing else')
    rules: list[Rule] = []
    for number, entry in enumerate(content["rules"], start=1):
        with located(f"rule {number}"):
            rules += _rules_of_entry(entry)
    return tuple(rules)


def rules_to_json(rules: Sequence[Rule]) -> dict[str, Any]:
    """Convert rules to the content of a file, in short form if possible."""
    entries: list[dict[str, Any]] = []
    waiting = list(rules)
    while waiting:
        rule = waiting.pop(0)
        entry = _short(rule)
        first = rule.body[0].relation
        if waiting and first != ANY and (rule, waiting[0]) == inverse(first, rule.head.relation):
            entry = {"inverse": [first, rule.head.relation]}
            waiting.pop(0)
        entries.append(entry or rule_to_json(rule))
    return {"rules": entries}


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """Convert a rule to an entry of the file with head and body."""
    body = [*map(_atom_to_json, rule.body), *rule.conditions]
    entry: dict[str, Any] = {"head": _atom_to_json(rule.head), "body": body}
    entry |= {"confidence": rule.confidence} if rule.confidence < 1 else {}
    return entry if rule.name == str(rule) else {"name": rule.name, **entry}


def of_any(rules: Sequence[Rule], stated: Iterable[str]) -> list[Rule]:
    """Replace each rule that contains `ANY` by a rule for each stated relation that no rule names.

    :raises InputError: there is no such relation.
    """
    named = {atom.relation for rule in rules for atom in (rule.head, *rule.body)} - {ANY}
    free = sorted(set(stated) - named)
    if not free:
        raise InputError(f"the facts have no relation that {ANY} could stand for: the rules name all of them")
    made: list[Rule] = []
    for rule in rules:
        if all(atom.relation != ANY for atom in rule.body):
            made.append(rule)
            continue
        for relation in free:
            body = [Atom(relation, a.subject, a.object) if a.relation == ANY else a for a in rule.body]
            made.append(replace(rule, body=tuple(body), name="" if rule.name == str(rule) else rule.name))
    return made


def check_relations(rules: Sequence[Rule], known: Iterable[str]) -> None:
    """Raise InputError for a relation in a body that is neither in the graph nor can be entailed from it by rules."""
    reached = set(known)
    while new := {rule.head.relation for rule in rules if all(a.relation in reached for a in rule.body)} - reached:
        reached |= new
    for number, rule in enumerate(rules, start=1):
        for atom in rule.body:
            if atom.relation not in reached:
                others = sorted(reached.union(each.head.relation for each in rules) - {atom.relation})
                raise InputError(f"rule {number} ({rule.name}): {unknown_label('relation', atom.relation, others)}")


def _rules_of_entry(entry: Any) -> tuple[Rule, ...]:
    if not isinstance(entry, dict):
        raise InputError(f'expected an object such as {{"symmetric": "near"}}, got {entry!r}')
    keys = {key for key in entry if key not in _FOR_PEOPLE}
    name = entry.get("name", "")
    if not isinstance(name, str) or ("name" in entry and not name):
        raise InputError(f"the name of a rule is text, not {name!r}")
    figures, stated = entry.get("figures"), keys & {"name", "confidence"}
    if isinstance(figures, dict) and "confidence" in figures.keys() - keys:
        raise InputError("it has figures of mining and no confidence: mine the rules again, or add a confidence")
    form = next((form for form in _FORMS if keys - stated == {form}), None)
    if form is not None:
        many, make = _FORMS[form]
        given = [entry[form]] if isinstance(entry[form], str) else entry[form]
        if not isinstance(given, list) or len(given) != many or not all(isinstance(each, str) for each in given):
            raise InputError(f"{form} takes the names of {many} relation{'s' * (many > 1)}, got {entry[form]!r}")
        made = make(*given)
        rules = made if isinstance(made, tuple) else (made,)
    elif keys - stated == {"head", "body"}:
        if not isinstance(entry["body"], list):
            raise InputError(f"the body is a list of atoms, not {entry['body']!r}")
        rules = (_rule_from_json(entry["head"], entry["body"]),)
    else:
        raise InputError(
            f"expected one of {', '.join(_FORMS)}, or head and body (and perhaps name, confidence, "
            f"{', '.join(_FOR_PEOPLE)}); "
            f"found {', '.join(map(repr, entry)) or 'nothing'}"
        )
    confidence = entry.get("confidence", 1.0)
    return tuple(replace(rule, name=name or rule.name, confidence=confidence) for rule in rules)


def _rule_from_json(head: Any, body: list[Any]) -> Rule:
    atoms, conditions = [], []
    for each in body:
        condition = _CONDITION.fullmatch(each) if isinstance(each, str) else None
        if condition is None:
            atoms.append(_atom_from_json(each))
        else:
            conditions.append(condition)
    rule = Rule(_atom_from_json(head), tuple(atoms), distinct=bool(conditions))
    for condition in conditions:
        if set(condition.groups()) != set(rule.head.variables):
            raise InputError(f"{condition[0]!r}: only the variables of the head can be compared, {rule.conditions[0]}")
    return rule


def _short(rule: Rule) -> dict[str, Any] | None:
    relation = rule.head.relation
    if rule == symmetric(relation):
        return {"symmetric": relation}
    if rule == transitive(relation):
        return {"transitive": relation}
    parts = [atom.relation for atom in rule.body]
    if len(parts) == 2 and rule == composition(parts[0], parts[1], relation):
        return {"composition": [*parts, relation]}
    return None


def _atom_to_json(atom: Atom) -> Any:
    match = _ATOM.fullmatch(str(atom))
    plain = match is not None and match.groups() == (atom.relation, *atom.variables)
    return str(atom) if plain else [atom.relation, *atom.variables]


def _atom_from_json(value: Any) -> Atom:
    if isinstance(value, str):
        if match := _ATOM.fullmatch(value):
            return Atom(match["relation"], match["subject"], match["object"])
    elif isinstance(value, list) and len(value) == 3:
        return Atom(*value)
    raise InputError(f"{value!r} is no atom: write relation(x, y)")
