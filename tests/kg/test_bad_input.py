"""Whatever a graph or a fit is given in place of what it takes: one clear InputError, and nothing is changed."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.kg import ComplEx, KnowledgeGraph, Vocabulary, evaluate_ranking

NAN = float("nan")
FACTS = [("fire", "componentOf", "steam"), ("water", "componentOf", "steam"), ("steam", "componentOf", "train")]
ASK = "SELECT ?x WHERE { ?x gum:componentOf ?goal }"


def rubbish() -> Iterator[Any]:
    yield from FACTS
    yield 3


NO_FACTS = {
    "none": None,
    "number": 3,
    "text": "fire",
    "bytes": b"fire",
    "dict": {("fire", "componentOf", "steam"): 1},
    "pair": [("fire", "steam")],
    "four": [("fire", "componentOf", "steam", "x")],
    "one fact": ("fire", "componentOf", "steam"),
    "numbers": [(1, 2, 3)],
    "holes": [("fire", None, "steam")],
    "empty label": [("fire", "", "steam")],
    "sets": [{"fire", "componentOf", "steam"}],
    "generator": rubbish,
    "array": np.zeros((2, 3)),
    "class": int,
}
NO_TRIPLES = "expected (three labels|triples of labels)|it is a .*list of triples"
no_facts = pytest.mark.parametrize("wrong", NO_FACTS.values(), ids=NO_FACTS)


def given(wrong: Any) -> Any:
    return wrong() if inspect.isgeneratorfunction(wrong) else wrong


@pytest.fixture
def graph() -> KnowledgeGraph:
    graph = KnowledgeGraph()
    graph.add(FACTS, graph="kitchen")
    return graph


@no_facts
def test_what_is_no_fact_is_neither_added_nor_removed(graph: KnowledgeGraph, wrong: Any) -> None:
    for change in (graph.add, graph.remove):
        with pytest.raises(InputError, match=NO_TRIPLES):
            change(given(wrong))
    with pytest.raises(InputError, match=NO_TRIPLES), graph.transaction():
        graph.add(given(wrong))
    assert graph.graphs() == {"kitchen": 3}


@no_facts
def test_what_is_no_fact_is_not_learned_or_ranked(wrong: Any) -> None:
    for name in ("graph_or_triples", "valid", "known"):
        if name == "valid" and wrong is None:
            continue
        with pytest.raises(InputError, match=NO_TRIPLES):
            ComplEx.fit(**{"graph_or_triples": FACTS, "valid": FACTS, "epochs": 1, "rank": 2, name: given(wrong)})
    with pytest.raises(InputError, match=NO_TRIPLES):
        Vocabulary.from_triples(given(wrong))


@pytest.mark.parametrize(
    "arguments",
    [
        {"location": 3}, {"location": b"kg"}, {"location": ["kg"]}, {"update": 3}, {"read_only": 1},
        {"read_only": "no"}, {"timeout": "1"}, {"timeout": 0}, {"timeout": -1}, {"timeout": NAN},
        {"timeout": float("inf")}, {"timeout": 1e300}, {"timeout": True}, {"memory_limit": "much"},
        {"memory_limit": NAN}, {"memory_limit": 1e300}, {"memory_limit": 0},
    ],
    ids=str,
)  # fmt: skip
def test_a_graph_is_not_opened_with_what_is_wrong(arguments: dict[str, Any]) -> None:
    [name] = arguments
    with pytest.raises(InputError, match=f"^{name} is .*; it is "):
        KnowledgeGraph(**arguments)


@pytest.mark.parametrize(
    "wrong", [3, 1.5, True, b"x", ["x"], ("x",), {"x": 1}, NAN, object()], ids=lambda one: type(one).__name__
)
def test_labels_and_names_are_text(graph: KnowledgeGraph, wrong: Any) -> None:
    calls: list[tuple[Any, dict[str, Any]]] = [
        (graph.add, {"triples": FACTS, "graph": wrong}),
        (graph.remove, {"triples": FACTS, "graph": wrong}),
        (graph.drop, {"graph": wrong}),
        (graph.triples, {"subject": wrong}),
        (graph.triples, {"relation": wrong}),
        (graph.triples, {"object": wrong}),
        (graph.triples, {"graph": wrong}),
        (graph.arrays, {"graph": wrong}),
        (graph.to_networkx, {"graph": wrong}),
        (graph.to_triples_factory, {"graph": wrong}),
        (graph.content_hash, {"graph": wrong}),
        (graph.annotations, {"name": wrong}),
        (graph.annotate, {"name": wrong, "about": {}}),
        (graph.save, {"path": "x.nq", "graph": wrong}),
        (graph.load_file, {"path": "x.nq", "graph": wrong}),
        (graph.query, {"timeout": [wrong]}),
        (graph.query, {"memory_limit": [wrong]}),
        (graph.query, {"allow_service": [wrong]}),
    ]
    for call, arguments in calls:
        with pytest.raises(InputError, match=r"^\w+ is .*; it is "):
            call(*([ASK] if call.__name__ == "query" else []), **arguments)
    with pytest.raises(InputError, match=r"^sparql is .*; it is text"):
        graph.query(wrong)
    assert graph.graphs() == {"kitchen": 3}


@pytest.mark.parametrize(
    "wrong", [None, ["steam"], b"steam", {"x": 1}, NAN, object()], ids=lambda one: type(one).__name__
)
def test_a_variable_is_bound_to_a_label_or_a_number(graph: KnowledgeGraph, wrong: Any) -> None:
    with pytest.raises(InputError, match=r"^\?goal is .*; it is (text|a (finite )?number)"):
        graph.query(ASK, goal=wrong)
    assert graph.query(ASK, goal="steam") == [{"x": "fire"}, {"x": "water"}]
    assert graph.query(ASK, goal=3) == []


@pytest.mark.parametrize("about", [None, 3, "MIT", ["license"], {"license": 3}, {3: "MIT"}, {"license": None}], ids=str)
def test_what_is_said_about_a_graph_is_text(graph: KnowledgeGraph, about: Any) -> None:
    with pytest.raises(InputError):
        graph.annotate("kitchen", about)
    assert graph.annotations("kitchen") == {}


@pytest.mark.parametrize(
    "arguments",
    [
        {"skip_bad": -1}, {"skip_bad": 1.5}, {"skip_bad": "1"}, {"columns": 3}, {"columns": [1.5]}, {"columns": [None]},
        {"header": "yes"}, {"header": 1}, {"path": 3}, {"path": None}, {"path": ["x.tsv"]},
    ],
    ids=str,
)  # fmt: skip
def test_a_file_is_not_read_in_a_way_that_is_wrong(graph: KnowledgeGraph, tmp_path: Any, arguments: Any) -> None:
    (tmp_path / "x.tsv").write_text("a\tb\tc\n")
    [name] = arguments
    with pytest.raises(InputError, match=f"^{name} is .*; it is "):
        graph.load_file(**{"path": tmp_path / "x.tsv", **arguments})
    assert len(graph) == 3


@pytest.mark.parametrize(
    "name",
    [name for name, one in inspect.signature(ComplEx.fit).parameters.items() if one.default is not one.empty],
)
def test_each_argument_of_a_fit_is_checked(name: str) -> None:
    """By introspection, so that a new one is tried too: an object is nothing that any of them takes."""
    for wrong in (object(), 1j, NAN):
        with pytest.raises(InputError):
            ComplEx.fit(FACTS, **{"epochs": 1, "rank": 2, name: wrong})


def test_arguments_of_a_fit_are_of_their_kind() -> None:
    for name, wrong in (
        ("rank", 1.5), ("rank", True), ("rank", 2**64), ("epochs", "3"), ("epochs", 0), ("batch_size", None),
        ("learning_rate", "fast"), ("learning_rate", 0), ("n3", float("inf")), ("n3", -1), ("reciprocal", 1),
        ("seed", -1), ("seed", 2**64), ("seed", 0.0), ("patience", 0), ("word_dropout", 1), ("precision", None),
        ("checkpoint_seconds", "soon"), ("checkpoint", 3), ("progress", "yes"), ("graph", 3), ("device", 3),
    ):  # fmt: skip
        with pytest.raises(InputError, match=f"^{name} is .*; it (is|can be) "):
            ComplEx.fit(FACTS, **{"epochs": 1, "rank": 2, name: wrong})
    model = ComplEx.fit(FACTS, epochs=np.int64(1), rank=np.int32(2), n3=np.float32(0), seed=np.uint8(3))
    for asked in ({"k": 0}, {"k": 1.5}, {"k": 2**64}, {"subject": 3}, {"relation": 3}):
        with pytest.raises(InputError, match=f"^{next(iter(asked))} is "):
            model.predict(**{"subject": "fire", "relation": "componentOf", **asked})
    with pytest.raises(InputError, match=r"expected three labels"):
        model.score([("fire", "steam")])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"expected three labels"):
        evaluate_ranking(model, [("fire", "steam")])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"^memory is 0; it is a whole number, at least 1"):
        evaluate_ranking(model, FACTS, memory=0)
