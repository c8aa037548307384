"""SEGAR as triples: entity and factor types, what rules read and write, and what things afford.

The causal facts are read off the rules' hints, so that a person's own rule is in them as soon as it is defined.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from gumption.data.settings import Seed, checked
from gumption.envs.physics.builtin_rules import FIXED_RULES
from gumption.envs.physics.entities import TYPES, Entity
from gumption.envs.physics.factors import FACTORS, PARAMETERS, Factor
from gumption.envs.physics.rules import RULES, Rule

from .affordances import BALL, afforded, is_ours, kinds

SUBTYPE_OF, HAS_FACTOR = "subtypeOf", "hasFactor"
READS, WRITES, CAN_CHANGE, DEPENDS_ON = "reads", "writes", "canChange", "dependsOn"
Triple = tuple[str, str, str]


@checked
def facts(*, partition: Literal["train", "test", "all"], split_seed: Seed = 0) -> Iterator[Triple]:
    """The facts of the world, distinct and sorted.

    (type subtypeOf type) and (type hasFactor factor) of entities, (factor subtypeOf factor), (rule reads factor), (rule
    writes factor), (rule dependsOn parameter), (factor canChange factor) where a rule reads the one and writes the
    other, and (entity type affords... ball). Of what things afford "train" has four in five, drawn by the seed, and
    "test" the rest; all other facts are in "train".

    :param partition: "train", "test" or "all".
    """
    from random import Random

    known, afford = sorted({*_types(), *causal_facts(all_rules())}), sorted(_affordances())
    chosen = set(Random(split_seed).sample(afford, round(0.8 * len(afford))))
    if partition == "test":
        return iter([fact for fact in afford if fact not in chosen])
    return iter(sorted({*known, *(afford if partition == "all" else chosen)}))


def all_rules() -> list[Rule]:
    """The built-in rules, and those that a person has defined."""
    return list({**FIXED_RULES, **RULES}.values())


def causal_facts(rules: Iterable[Rule]) -> Iterator[Triple]:
    """Which factors each rule reads and writes, and so which can change which."""
    for rule in rules:
        read, written = sorted(_read(rule)), sorted({factor.__name__ for _, factor in rule.returns})
        yield from ((rule.name, READS, factor) for factor in read)
        yield from ((rule.name, WRITES, factor) for factor in written)
        for argument in rule.arguments:
            if not isinstance(argument, int):
                yield rule.name, DEPENDS_ON, argument.__name__
        yield from ((cause, CAN_CHANGE, effect) for cause in read for effect in written)


def _read(rule: Rule) -> set[str]:
    read = {factor.__name__ for pattern in rule.patterns for factor in pattern.factors}
    for pattern in rule.patterns:
        if pattern.entity_type is not None:
            read |= {factor.__name__ for factor in pattern.entity_type.all_factors}
    return read


def _types() -> Iterator[Triple]:
    for kind in filter(is_ours, TYPES.values()):
        for parent in kind.__bases__:
            if issubclass(parent, Entity):
                yield kind.__name__, SUBTYPE_OF, parent.__name__
        for factor in kind.all_factors:
            yield kind.__name__, HAS_FACTOR, factor.__name__
    for factor in filter(is_ours, [*FACTORS.values(), *PARAMETERS.values()]):
        for parent in factor.__bases__:
            if issubclass(parent, Factor) and parent is not Factor:
                yield factor.__name__, SUBTYPE_OF, parent.__name__


def _affordances() -> Iterator[Triple]:
    for kind in kinds():
        for effect in afforded(kind):
            yield kind.__name__, effect, BALL
