"""Rules and facts drawn at random, and what they entail by trying every combination: the oracle of inference."""

import itertools
import math
from collections.abc import Collection, Iterator, Sequence

from hypothesis import strategies as st

from gumption.kg import KnowledgeGraph
from gumption.kg.rules.horn import Atom, Rule, composition, inverse, symmetric, transitive
from gumption.kg.rules.inference import Explanation

Triple = tuple[str, str, str]
Triples = set[Triple]

VARIABLES = st.sampled_from(["x", "y", "z", "w"])
RELATIONS = st.sampled_from(["r", "s", "t"])


@st.composite
def rules(draw: st.DrawFn, relations: st.SearchStrategy[str] = RELATIONS) -> Rule:
    """Any rule: chains, forks, triangles, loops and repeated atoms."""
    size = draw(st.integers(1, 3))
    body: list[Atom] = []
    bound: list[str] = []
    for _ in range(size):
        pair = [draw(st.sampled_from(bound)) if bound else draw(VARIABLES), draw(VARIABLES)]
        if draw(st.booleans()):
            pair.reverse()
        body.append(Atom(draw(relations), *pair))
        bound = sorted({*bound, *pair})
    head = Atom(draw(relations), draw(st.sampled_from(bound)), draw(st.sampled_from(bound)))
    distinct = head.subject != head.object and draw(st.booleans())
    return Rule(head, tuple(body), draw(st.sampled_from(["", "", "named"])), distinct)


SHORT = st.one_of(
    st.builds(lambda r: [symmetric(r)], RELATIONS),
    st.builds(lambda r: [transitive(r)], RELATIONS),
    st.builds(lambda r, s: list(inverse(r, s)), RELATIONS, RELATIONS),
    st.builds(lambda r, s, t: [composition(r, s, t)], RELATIONS, RELATIONS, RELATIONS),
)
RULE_SETS = st.lists(st.one_of(SHORT, st.lists(rules(), min_size=1, max_size=1)), min_size=1, max_size=4).map(
    lambda parts: list(itertools.chain(*parts))
)
ENTITIES = st.sampled_from("abcdef")
FACTS = st.sets(st.tuples(ENTITIES, RELATIONS, ENTITIES), max_size=12)
ANCHOR = {("a", "r", "a"), ("a", "s", "a"), ("a", "t", "a")}  # so that each relation is known to the graph


def applied(rule: Rule, known: Triples) -> Triples:
    """What one application entails, by trying every combination of facts."""
    return {fact for fact, _ in applications(rule, known)}


def applications(rule: Rule, known: Collection[Triple]) -> Iterator[tuple[Triple, tuple[Triple, ...]]]:
    """The head and the premises of each application."""
    for premises in itertools.product(*([t for t in known if t[1] == atom.relation] for atom in rule.body)):
        binding: dict[str, str] = {}
        pairs = [
            pair
            for atom, (s, _, o) in zip(rule.body, premises, strict=True)
            for pair in ((atom.subject, s), (atom.object, o))
        ]
        if all(binding.setdefault(variable, value) == value for variable, value in pairs):
            subject, object_ = binding[rule.head.subject], binding[rule.head.object]
            if subject != object_ or not rule.distinct:
                yield (subject, rule.head.relation, object_), premises


def closure(stated: Triples, rule_set: Sequence[Rule]) -> Triples:
    known = set(stated)
    while new := set().union(*(applied(rule, known) for rule in rule_set)) - known:
        known |= new
    return known


def best_proofs(stated: Triples, rule_set: Sequence[Rule]) -> dict[Triple, float]:
    """The confidence of the best proof of every fact, by raising confidences until none can be raised."""
    known, before = dict.fromkeys(stated, 1.0), None
    while known != before:
        before = dict(known)
        for rule in rule_set:
            for fact, premises in list(applications(rule, list(known))):
                confidence = rule.confidence * math.prod(known[premise] for premise in premises)
                if confidence > known.get(fact, 0.0) * (1 + 1e-9):
                    known[fact] = confidence
    return known


def graph_of(stated: Triples, name: str = "g") -> KnowledgeGraph:
    graph = KnowledgeGraph()
    graph.add(stated, graph=name)
    return graph


def check(explanation: Explanation, fact: tuple[str, str, str], stated: Triples, rule_set: Sequence[Rule]) -> None:
    """Each step is stated, or an application of its rule to earlier steps."""
    steps = explanation.steps
    assert steps[-1].fact == fact
    assert len({step.fact for step in steps}) == len(steps)
    for number, step in enumerate(steps):
        if step.rule is None:
            assert step.fact in stated
        else:
            assert all(premise < number for premise in step.premises)
            premises = {steps[premise].fact for premise in step.premises}
            assert any(step.fact in applied(rule, premises) for rule in rule_set if rule.name == step.rule)
