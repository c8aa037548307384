"""What is known of HALMA as triples of labels: the knowledge bases of a run, and the truth that they approach.

A digit is an entity that is named by what is seen of it, "red 5"; an option by its direction and its primitives, zeros
left out, "left 2+3". Binary facts, which rules apply to and models train on, in the graph `halma/RUN`:

    red 5       hasValue       5            seen: which digit it is, whatever its colour
    red 5       hasColour      red          seen
    red 5       greaterThan    red 3        understood: a pair in KB_S, KB_C or KB_A (types differ in KB_A only)
    red 5       affords        left 2+3     understood: the option used the digit up (KB_A)
    red 5       indicates      left         understood: options in this direction use the digit up (KB_A)
    left 2+3    hasDirection   left         the agent's own options, those that some digit affords
    left 2+3    hasPrimitives  dice 2+3

That the value 5 equals the dice 2+3 is not stated: it follows, by hasValue(x, v) & affords(x, o) & hasPrimitives(o, p).

Where it is known from stands in the graph `halma/RUN/evidence`, also what was met too rarely to count as understood:

    inequality:RUN:causality:red 5>red 3    hasGreater red 5, hasLesser red 3, hasGreaterType left, hasLesserType left,
                                            hasEvidence causality, hasVisits 7, hasDifference 2 (the option's length),
                                            and, where it is understood, inKnowledgeBase KB_C
    inequality:RUN:semantics:red 5>red 3    as above, without a difference; hasSightings 12 (see KnowledgeBases)
    inequality:RUN:affordance:red 5>up 3    as above; hasVisits is that of the digit that was used up less often
    use:RUN:red 5:left 2+3                  hasDigit red 5, hasOption left 2+3, hasVisits 4 (KB_A's evidence)

Counts are literals (xsd:integer). Nodes have the run in their names, so that the union of several runs' graphs keeps
their counts apart.
"""

# Binary relations.
GREATER_THAN, AFFORDS, INDICATES = "greaterThan", "affords", "indicates"
HAS_VALUE, HAS_COLOUR = "hasValue", "hasColour"
HAS_DIRECTION, HAS_PRIMITIVES = "hasDirection", "hasPrimitives"
# Roles of the nodes.
HAS_GREATER, HAS_LESSER = "hasGreater", "hasLesser"
HAS_GREATER_TYPE, HAS_LESSER_TYPE = "hasGreaterType", "hasLesserType"
HAS_EVIDENCE, IN_KNOWLEDGE_BASE = "hasEvidence", "inKnowledgeBase"
HAS_VISITS, HAS_SIGHTINGS, HAS_DIFFERENCE = "hasVisits", "hasSightings", "hasDifference"
HAS_DIGIT, HAS_OPTION = "hasDigit", "hasOption"

EVIDENCE = "/evidence"  # ends the name of the graph that says where a run's facts are known from
SEMANTICS, CAUSALITY, AFFORDANCE = "semantics", "causality", "affordance"
BASES = {SEMANTICS: "KB_S", CAUSALITY: "KB_C", AFFORDANCE: "KB_A"}

Triple = tuple[str, str, str]
