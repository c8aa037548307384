"""The W3C's tests of SPARQL queries, 1.0 and 1.1: gumption passes each one that plain Oxigraph passes."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pyoxigraph as ox
import pytest
import rdflib
from rdflib.collection import Collection

from gumption.kg import KnowledgeGraph
from gumption.kg.store.limits import Limits
from tests.kg.store.drawn_rdf import OWN, isomorphic

#: Test that only Oxigraph passes -> why that is so.
PERMITTED = {"sparql11/subquery/subquery02": "its data is read against the IRI of its own file, not of the web page"}

SUITES = {
    "dawg-data-r2": ("http://www.w3.org/2001/sw/DataAccess/tests/data-r2/", "manifest-evaluation.ttl"),
    "sparql11": ("http://www.w3.org/2009/sparql/docs/tests/data-sparql11/", "manifest-all.ttl"),
}
MF, QT, RS = (
    rdflib.Namespace(f"http://www.w3.org/2001/sw/DataAccess/tests/{name}#")
    for name in ("test-manifest", "test-query", "result-set")
)
RESULTS = {".srx": ox.QueryResultsFormat.XML, ".srj": ox.QueryResultsFormat.JSON}
FROM = re.compile(r"^\s*FROM\s+(?:NAMED\s+)?<([^>]*)>", re.MULTILINE | re.IGNORECASE)
# They sort strings, numbers and IRIs among each other, for which SPARQL defines no order.
TIES = ("plus-1", "plus-2")

Answer = bool | list[dict[str, Any]] | list[ox.Triple]


@dataclass(frozen=True)
class Case:
    """
    :ivar default, named: files of the two parts of the dataset, each with its IRI.
    :ivar given: whether the dataset is that of the manifest, not of the query.
    """

    name: str
    query: str
    default: list[tuple[Path, str]]
    named: list[tuple[Path, str]]
    given: bool
    result: tuple[Path, str]
    lax: bool


def cases(folder: Path) -> Iterator[Case]:
    for suite, (root, top) in SUITES.items():

        def local(iri: object, suite: str = suite, root: str = root) -> tuple[Path, str]:
            return folder / suite / str(iri).removeprefix(root), str(iri)

        index = rdflib.Graph().parse(folder / suite / top, publicID=root + top)
        for manifest in Collection(index, index.value(rdflib.URIRef(root + top), MF.include)):
            if not local(manifest)[0].exists():  # it is about other things than answers to queries
                continue
            graph = rdflib.Graph().parse(local(manifest)[0], publicID=str(manifest), format="turtle")
            for test in Collection(graph, next(graph.objects(None, MF.entries))):
                if (test, rdflib.RDF.type, MF.QueryEvaluationTest) in graph:
                    action = graph.value(test, MF.action)
                    path, base = local(graph.value(action, QT.query))
                    query = path.read_text(encoding="utf-8")
                    default, named = (
                        sorted(map(local, graph.objects(action, part))) for part in (QT.data, QT.graphData)
                    )
                    own = dict.fromkeys(urljoin(base, iri) for iri in FROM.findall(query))
                    yield Case(
                        f"{suite}/{path.parent.name}/{str(test).rpartition('#')[2]}", f"BASE <{base}>\n{query}",
                        default, named or ([] if default else list(map(local, own))), bool(default or named),
                        local(graph.value(test, MF.result)),
                        graph.value(test, MF.resultCardinality) == MF.LaxCardinality,
                    )  # fmt: skip


# ---- Answers


def read(answer: Any) -> Answer:
    if isinstance(answer, ox.QueryBoolean):
        return bool(answer)
    if isinstance(answer, ox.QueryTriples | ox.QuadParser | list):
        return [ox.Triple(each.subject, each.predicate, each.object) for each in answer]
    names = getattr(answer, "names", None) or [variable.value for variable in answer.variables]
    return [{name: row[name] for name in names} for row in answer]


def expected(path: Path, base: str) -> tuple[Answer, bool]:
    """The right answer, and whether the order of its rows may count."""
    if path.suffix in RESULTS:
        return read(ox.parse_query_results(path.read_bytes(), RESULTS[path.suffix])), True
    form = ox.RdfFormat.from_extension(path.suffix[1:])
    quads = list(ox.parse(path.read_bytes(), form, base_iri=base))

    def values(property_: str, subject: object = None) -> list[Any]:
        iri = str(RS[property_])
        return [q.object for q in quads if q.predicate.value == iri and subject in (None, q.subject)]

    if booleans := values("boolean"):
        return booleans[0].value == "true", False
    if not values("resultVariable"):
        return [quad.triple for quad in quads], False
    numbers = {row: int(number.value) for row in values("solution") for number in values("index", row)}
    rows = [
        {values("variable", binding)[0].value: values("value", binding)[0] for binding in values("binding", row)}
        for row in sorted(values("solution"), key=lambda row: numbers.get(row, 0))
    ]
    return rows, bool(numbers)


def right(case: Case, answer: Answer) -> bool:
    wanted, counts = expected(*case.result)
    if isinstance(wanted, bool) or isinstance(answer, bool):
        return wanted is answer
    ordered = counts and re.search(r"\bORDER\s+BY\b", case.query, re.IGNORECASE) and not case.name.endswith(TIES)
    columns = sorted({name for row in [*wanted, *answer] if isinstance(row, dict) for name in row})

    def terms(answer: list[Any]) -> list[Any]:
        rows = [
            tuple(row) if isinstance(row, ox.Triple) else tuple(row.get(name) for name in columns) for row in answer
        ]
        if ordered:
            return [(ox.Literal(number), *row) for number, row in enumerate(rows)]
        return list(dict.fromkeys(rows)) if case.lax else rows

    return isomorphic(terms(wanted), terms(answer))


# ---- The two engines


def oxigraph(case: Case) -> Answer:
    store = ox.Store()
    for path, iri in case.default:
        store.load(path=path, base_iri=iri)
    for path, iri in case.named:
        store.load(path=path, base_iri=iri, to_graph=ox.NamedNode(iri))
    return read(store.query(case.query))


def gumption(case: Case) -> Answer:
    with KnowledgeGraph() as graph:
        for path, _ in case.default:
            graph.load_file(path)
        for path, iri in case.named:
            graph.load_file(path, iri)
        dataset = ([OWN], [iri for _, iri in case.named]) if case.given else (None, None)
        return graph.answer(case.query, Limits(timeout=30), read, dataset)


def passes(engine: Callable[[Case], Answer], case: Case) -> bool:
    try:
        return right(case, engine(case))
    except Exception:
        return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_gumption_passes_what_oxigraph_passes(shared_data):
    folder = shared_data / "w3c_sparql"
    if not folder.is_dir():
        pytest.skip(f"no tests of the W3C at {folder}")
    passed = [case for case in cases(folder) if passes(oxigraph, case)]
    assert len(passed) > 390
    assert {case.name for case in passed if not passes(gumption, case)} == set(PERMITTED)
