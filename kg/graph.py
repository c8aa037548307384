"""KnowledgeGraph: facts as triples of labels in named graphs, in memory, on disk or at a SPARQL endpoint."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError, Note, manifest
from gumption.data.settings import NonNegative, checked_methods
from gumption.data.tables import TableLayout
from gumption.data.writing import check_name, file_sha256, sole_writer

from .store.answers import FACTS, ROWS, Answer, plain, serialized, to_arrays
from .store.files import LABELS, FactFile, annotation_update, file_format, joined, write_facts
from .store.limits import Limits
from .store.quads import ALL, Dataset, Quads, cached, graph_name, uncollected
from .store.sparql import bind, is_update, keywords, label_terms, refuse_bomb
from .store.stores import LocalStore, undone_if_new
from .store.worker import graph_term
from .vocabulary import (
    ABOUT,
    DEFAULT_GRAPH,
    GRAPH,
    RELATION,
    Term,
    Triple,
    Vocabulary,
    checked_triples,
    label_to_iri,
    label_to_term,
    object_to_term,
    term_to_label,
    unknown_graph,
    unknown_label,
)

if TYPE_CHECKING:
    import networkx
    import rdflib
    from pykeen.triples import TriplesFactory

    from .store.endpoint import EndpointStore

T = TypeVar("T")
Store: TypeAlias = "LocalStore | EndpointStore"
SORTED = 20_000  # up to so many facts come sorted


@checked_methods
class KnowledgeGraph:
    """Facts `(subject, relation, object)`, three labels each, in named graphs.

    `KnowledgeGraph()` keeps them in memory, `KnowledgeGraph("runs/kg")` in that folder (Oxigraph; one process at a
    time), `KnowledgeGraph("http://host/query", update="http://host/update")` at a SPARQL 1.1 endpoint. The methods are
    the same for all three. vocabulary.py says how labels become IRIs, and how facts with other IRIs and with literals
    look as labels.

    Where a method takes `graph`, it is a graph's name, and None stands for the union of all graphs, in which a fact
    of several graphs counts once. Facts that other programs put into the default graph of a folder or an endpoint are
    the graph "default". Other SPARQL clients find each fact of the union in the default graph.

    With `read_only`, every method that would change the graph raises InputError; a graph on disk is then opened as it
    is at that moment, also while another process writes to it. A `query` may take `timeout` seconds and `memory_limit`
    megabytes; at an endpoint they hold for every request and the size of its answer. A user and a password for an
    endpoint stand in its address (`http://user:password@host/query`).

    A graph on disk is closed by `close()` or at the end of a `with` block, and works in no process made by `fork`.

    :param wait: seconds to wait for another process that has the folder open for writing.
    :raises InputError: a location that cannot be opened; every method, when an endpoint does not answer as one.
    """

    def __init__(
        self,
        location: str | os.PathLike[str] | None = None,
        *,
        update: str | None = None,
        read_only: bool = False,
        timeout: float | None = None,
        memory_limit: float | None = None,
        wait: NonNegative = 5,
    ) -> None:
        address = location if isinstance(location, str) and is_address(location) else None
        if update is not None and address is None:
            raise InputError(f"update={update!r} goes with the http address of an endpoint, not with {location!r}")
        self._read_only = read_only
        self._limits = Limits(timeout, memory_limit)
        self._transaction: Transaction | None = None
        self._files: dict[Path, str | None] = {}  # that were read -> hash of their content
        self._store: Store
        if address is None:
            self._store = LocalStore(None if location is None else Path(location), read_only, wait)
        else:
            from .store.endpoint import EndpointStore

            self._store = EndpointStore(address, update, self._limits)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], location: str | os.PathLike[str] | None = None, *,
        update: str | None = None, read_only: bool = False, timeout: float | None = None, graph: str | None = None,
        wait: NonNegative = 5, **how: Any,
    ) -> Self:  # fmt: skip
        """A graph at `location` (a new one in memory if None) with the facts of a file added, as `load_file` does with
        the other keywords; the name of a graph that ships stands for its file.

        With `read_only`, nothing can be added after that.
        """
        path = shipped_graph(str(path))
        file_format(Path(path))  # before a folder is made
        with undone_if_new(Path(location or ".")):
            loaded = cls(location, update=update, timeout=timeout, wait=wait)
            try:
                loaded._load(path, graph, **how)
            except InputError:
                loaded.close()
                raise
        loaded._read_only = read_only
        return loaded

    def load_file(
        self, path: str | os.PathLike[str], graph: str | None = None, *, skip_bad: int = 0,
        columns: str | Sequence[str | int] | None = None, header: bool | None = None, delimiter: str | None = None,
        base: str | None = None, context: str | os.PathLike[str] | None = None,
    ) -> int:  # fmt: skip
        """Add the facts of a file; how many were new.

        Its ending is its format: .nt, .nq, .ttl, .trig, .n3, .rdf, .owl or .xml (RDF/XML), .jsonld, .tsv, .txt (as TSV)
        or .csv, each also with .gz, .bz2 or .xz. Formulas of N3 are refused. A file without facts gives a Note.

        The file is read in pieces, so that memory stays bounded. The first large file in memory or on disk is written
        at once or not at all. Any other one is read twice: to find its errors, then to write it in batches. After an
        interruption some batches are there, each whole, and the same call adds the rest. At an endpoint that others
        write to, their facts are counted too.

        :param graph: of the facts that the file puts in no named graph, "default" where it is None. The file's
            statements about graphs are added to those that are there.
        :param skip_bad: how many bad lines of N-Triples, N-Quads, TSV and CSV may be left out, of which a SkippedLines
            warns.
        :param columns: the columns of subject, relation, object and perhaps graph in a TSV or CSV file, by the names in
            its header or by numbers from 1 on ("item,rel,3"). Without it these are all its columns, in this order or,
            after a header with their names, in that order.
        :param header: whether the first line holds names; where it is None, a first line is refused that looks like
            "subject,relation,object", or has three names of which none comes again in the first 1,000 lines.
        :param delimiter: what separates the cells of a CSV file, or of another table with CSV's quotes; where it is
            None, the comma, semicolon, tab or | that gives each of the first 20 rows the same three cells or more.
        :param base: the IRI that relative IRIs are resolved against, the file's own where it is None.
        :param context: the file in place of a context that JSON-LD names by its address; without it, that is refused.
        :raises InputError: a file that is missing or broken, with the line.
        """
        new, empty = self._load(
            path, graph, skip_bad=skip_bad, base=base, context=context, columns=columns, header=header,
            delimiter=delimiter,
        )  # fmt: skip
        if empty:
            warnings.warn(f"{path} has no facts", Note, stacklevel=2)
        return new

    def _load(
        self, path: str | os.PathLike[str], graph: str | None, *, skip_bad: int = 0, base: str | None = None,
        context: str | os.PathLike[str] | None = None, **layout: Any,
    ) -> tuple[int, bool]:  # fmt: skip
        """How many facts of a file were new, and whether it has none."""
        self._writable()
        if self._transaction is not None:
            raise InputError("a file cannot be loaded within a transaction: load it before or after")
        name = self._writable_name(DEFAULT_GRAPH if graph is None else graph)
        contexts = None if context is None else Path(context)
        file = FactFile(Path(path), name, skip_bad, TableLayout.of(**layout), base, contexts)
        # First: what is written while the file is read counts as a change.
        content = file_sha256(file.path) if file.path.is_file() else None
        with uncollected():
            before = 0
            if not self._store.load_first(file):
                file.check()
                before = sum(self.graphs().values())
                self._add_batches(file)
        self._files[file.path.resolve()] = content
        file.warn()
        return sum(self.graphs().values()) - before, file.empty

    def save(
        self, path: str | os.PathLike[str], graph: str | None = None, *, labels: bool = False, merge: bool = False
    ) -> None:
        """Write the facts, all or those of one named graph, and the statements about their graphs, sorted.

        The file's ending is its format: .nt, .nq, .ttl, .trig, .rdf (RDF/XML), .jsonld, .tsv, .txt (as TSV) or .csv,
        each also with .gz, .bz2 or .xz. Turtle, N-Triples and RDF/XML have no named graphs and hold the union. TSV and
        CSV have no place for statements about graphs, which then stand beside them in FILE.license. The file appears
        when it is complete. One that was changed after this graph had read it is refused.

        :param labels: state the rdfs:label of the entities and relations, too, for other programs.
        :param merge: add the facts that the file has now to this graph first, also those that were removed here.
        :raises InputError: a file that was changed; a fact that the format cannot hold: triple terms in JSON-LD, TSV
            and CSV; in RDF/XML a relation whose IRI ends in no name.
        """
        path, form = Path(path), file_format(Path(path), write=True)
        if merge and graph is not None:
            raise InputError(f"merge=True keeps all that {path} has: save all graphs, not only {graph!r}")
        # A new file needs no lock: it appears at once.
        with sole_writer(path) if merge or path.is_file() else nullcontext(), uncollected():
            before, now = self._files.get(path.resolve()), file_sha256(path) if path.is_file() else None
            if now not in (None, before):
                if merge:
                    self._load(path, None)
                    before = now
                elif before is not None:
                    change = "was changed after this graph had read it"
                    raise InputError(f"{path} {change}: load it again, or save with merge=True, which adds its facts")
            names = list(self.graphs()) if graph is None else [graph]
            about = {name: said for name in names if (said := self.annotations(name))}
            apart = graph is not None or form.names_graphs
            facts: dict[str, list[Triple]] = {}
            for name, source in {name: name for name in names}.items() if apart else [(DEFAULT_GRAPH, None)]:
                vocabulary, ids = self.arrays(source)
                facts[name] = vocabulary.ids_to_triples(ids)
            write_facts(path, facts, about, labels)
            if before is not None:
                self._files[path.resolve()] = file_sha256(path)

    def annotate(self, name: str, about: Mapping[str, str]) -> None:
        """State something about a named graph: source, license, attribution, title, ... -> text.

        Earlier statements under the same keys are replaced. Statements are kept beside the facts, not counted among
        them, and saved into files. store/files.py maps the keys to properties of Dublin Core.
        """
        self._writable()
        text = annotation_update(self._writable_name(name), about)
        if self._transaction is not None:
            self._transaction.updates.append(text)
        elif about:
            self._store.change((), (), [text])

    def annotations(self, name: str) -> dict[str, str]:
        """The statements about a named graph, sorted by key. Several texts under one key, from files that were loaded,
        are joined by "; "."""
        graph = f"<{label_to_iri(name, GRAPH)}>"
        rows = self._store.select(f"SELECT ?key ?text {{ GRAPH <{ABOUT}> {{ {graph} ?key ?text }} }}")
        return joined((row["key"].value, row["text"].value) for row in rows)

    def content_hash(self, graph: str | None = None) -> str:
        """sha256 (hex) of the set of facts: the same for the same facts in memory, on disk or at an endpoint.

        It hashes the number of facts and the sum of their own sha256 modulo 2**256: enough to tell contents apart, but
        no defence against forgery. The names of blank nodes make no difference.

        :raises InputError: as `arrays`; more than 500 connected blank nodes that look alike, or 10 seconds for them.
        """
        from .store.hashing import FactHash

        result = FactHash()
        self._store.facts(ALL, graph_name(graph)).serialize(result, format=ox.QueryResultsFormat.TSV)  # pyright: ignore
        if graph is not None and result.empty:
            self._check_name(graph)
        return result.hexdigest()

    def add(self, triples: Iterable[Triple], graph: str = DEFAULT_GRAPH) -> int:
        """Add facts to a named graph; how many of them it did not have yet.

        All are checked before the first is written. In memory and on disk they are written at once or not at all; at
        an endpoint in requests of 5,000, so that after an error the same call can be made again.

        :raises InputError: a row that is not three labels.
        """
        self._writable()
        with uncollected():
            name = self._writable_name(graph)
            facts = Quads()(checked_triples(triples), name)
            if self._transaction is not None:
                return self._transaction.add(facts)
            return self._store.insert(facts)

    def remove(self, triples: Iterable[Triple], graph: str | None = None) -> int:
        """Remove facts from a named graph, or from each one that has them; how many there were, counted per graph."""
        self._writable()
        rows = checked_triples(triples)
        names = set(self.graphs()) if graph is None else {graph}
        if self._transaction is not None and graph is None:
            names |= self._transaction.graphs
        make = Quads()
        facts = [quad for name in sorted(names) for quad in make(rows, self._writable_name(name))]
        if self._transaction is not None:
            return self._transaction.remove(facts)
        return self._store.delete(facts)

    def drop(self, graph: str) -> int:
        """Remove a graph and the statements about it; how many facts it had. On disk, a million take half a minute.

        :raises InputError: a graph that is not there; within a transaction.
        """
        self._writable()
        if self._transaction is not None:
            raise InputError("a graph cannot be dropped within a transaction")
        name = graph_name(self._writable_name(graph))
        if not (number := self._store.count(name)):
            raise InputError(unknown_graph(graph, self.graphs()))
        self._store.drop(name)
        return number

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Make the changes of a `with` block at its end and at once, and none of them when it ends with an exception.

        The counts that `add` and `remove` return take the block's changes into account; other methods do not see them
        before its end. In memory and on disk that is one transaction. An endpoint gets one update request, which most
        servers carry out whole or not at all (SPARQL 1.1 Update, section 2.2, only says that they should).
        """
        self._writable()
        if self._transaction is not None:
            raise InputError("a transaction is under way already: they do not nest")
        changes = self._transaction = Transaction(self._store)
        try:
            yield self
        finally:
            self._transaction = None
        changes.commit()

    def refresh(self) -> None:
        """Make the default graph the union of the named graphs again, and its other facts the graph "default".

        Needed at an endpoint where other programs have written. A folder is looked through when it is opened for
        writing, if another program has opened it; what was written through `dataset` when this class is used next.
        Facts that other programs remove from a named graph they have to remove from the default graph, too.
        """
        self._writable()
        self._store.renew()

    def triples(
        self, subject: str | Term | None = None, relation: str | Term | None = None,
        object: str | Term | None = None, graph: str | None = None,
    ) -> Iterator[Triple]:  # fmt: skip
        """The facts with the given labels, or terms of pyoxigraph, each once.

        Up to 20,000 come sorted; more come in no particular order, without waiting for the last.
        """
        terms: list[Term | None] = [
            label_to_term(subject) if isinstance(subject, str) else subject,
            label_to_term(relation, RELATION) if isinstance(relation, str) else relation,
            object_to_term(object) if isinstance(object, str) else object,
        ]
        if isinstance(terms[0], ox.Literal | ox.Triple) or not isinstance(terms[1], ox.NamedNode | None):
            return iter(())  # no fact has one there
        label, verb = cached(term_to_label), cached(partial(term_to_label, namespace=RELATION))
        facts = ((label(s), verb(p), label(o)) for s, p, o in self._store.match(terms, graph_name(graph)))
        first = list(islice(facts, SORTED))
        return iter(sorted(first)) if len(first) < SORTED else chain(first, facts)

    def arrays(self, graph: str | None = None) -> tuple[Vocabulary, np.ndarray]:
        """The facts as ids: a vocabulary of their sorted labels, and (n, 3) int64 rows in sorted order.

        :raises InputError: the name of a graph that has no facts while others have.
        """
        name = graph_name(graph)
        with uncollected():
            if isinstance(self._store, LocalStore):
                # By relation: a local store looks up each term that it answers with, and this spares a third.
                relations = [row["p"] for row in self._store.facts(ALL, name, "DISTINCT ?p")]
                answers = ((str(term), self._store.facts((None, term, None), name, "?s ?o")) for term in relations)
                vocabulary, ids = to_arrays(answers)
            else:
                vocabulary, ids = to_arrays([(None, self._store.facts(ALL, name))])
        if graph is not None and not len(ids):
            self._check_name(graph)
        return vocabulary, ids

    def query(
        self, sparql: str, /, *, timeout: float | None = None, memory_limit: float | None = None,
        allow_service: bool = False, terms: bool = False, format: str | None = None, **labels: str | float,
    ) -> Any:  # fmt: skip
        """The answer to a SPARQL query over the union of all graphs, in which each fact is once.

        SELECT gives a list of dicts, variable -> label or value (None where unbound), sorted unless the query orders
        them; ASK a bool; CONSTRUCT and DESCRIBE a sorted list of label triples. The prefixes gum: (relations), ent:
        (entities), rdf:, rdfs: and prov: are declared. `GRAPH ?g { ... }` gives graphs by name; a query with FROM sees
        the graphs of that clause instead of the union.

        Each keyword binds a variable to a label: that of a relation where the variable is a predicate in the query,
        of a graph where it follows GRAPH, else of an entity. A number or a bool is bound as a literal.

        At an endpoint a blank node is an IRI, `urn:gumption:blank:...`. Where other programs have written there, a
        query names its graphs, or `refresh` makes the union.

        :param timeout: in seconds, before that of the graph. In memory and on disk such a query runs in a process of
            its own, which is killed when it takes more; it gets a copy of a graph in memory (3 s for a million facts)
            and keeps it until the graph changes.
        :param memory_limit: in megabytes beyond the graph's own (2,048 where only the time is limited).
        :param allow_service: whether SERVICE may ask other servers; an endpoint decides for itself.
        :param terms: give terms of pyoxigraph, which tell the entity `tea`, "tea" and "tea"@en apart.
        :param format: give bytes: of rows or of a yes or no sparql-json, csv, tsv or xml, as the SPARQL standard has
            them; of facts ttl, nt, rdf or jsonld.
        :raises InputError: a query that does not parse, with its line, an update, a keyword that is no variable of the
            query, SERVICE, brackets nested too deep, an answer beyond the limits.
        """
        refuse_bomb(sparql)
        if is_update(sparql):
            raise InputError(
                "that is an update, and a query only reads: change the graph with add, remove, load_file or annotate"
            )
        limits = Limits(timeout, memory_limit, allow_service).otherwise(self._limits)
        text = bind(sparql, label_terms(sparql, labels)) if labels else sparql
        if format is not None:
            formats = ROWS | FACTS
            if format not in formats:
                raise InputError(f"{unknown_label('format', format, formats)} (there are: {', '.join(formats)})")
            return self.answer(text, limits, partial(serialized, form=formats[format]))
        return self.answer(text, limits, partial(plain, ordered="ORDER" in keywords(text), terms=terms))

    def answer(self, sparql: str, limits: Limits, read: Callable[[Answer], T], dataset: Dataset = (None, None)) -> T:
        """What `read` makes of the answer in RDF terms.

        :param dataset: the IRIs of the graphs that the query sees without GRAPH and with it, in place of the union.
        """
        refuse_bomb(sparql)
        words = keywords(sparql)
        if dataset == (None, None) and "FROM" not in words:
            dataset = self._store.union("GRAPH" in words)
        try:
            # The answer has no name here: rdflib's parser keeps its callers' frames alive, and Oxigraph's answers have
            # to be freed in the thread that asked.
            return read(self._store.query(sparql, *dataset, limits=limits))
        except (OSError, RuntimeError) as error:
            raise InputError(f"the query could not be evaluated: {error}") from None

    def graphs(self) -> dict[str, int]:
        """The name of each graph with facts -> how many, sorted by name."""
        counts = self._store.counts().items()
        return dict(sorted((term_to_label(graph_term(name), GRAPH), number) for name, number in counts))

    def __len__(self) -> int:
        """How many facts the union of all graphs has."""
        return self._store.count("")

    def to_networkx(self, graph: str | None = None) -> "networkx.MultiDiGraph":
        """The facts as a directed multigraph: labels as nodes, one edge a fact, its key and `relation` the relation."""
        import networkx

        vocabulary, ids = self.arrays(graph)
        result = networkx.MultiDiGraph()
        result.add_nodes_from(vocabulary.entities)
        for subject, relation, object_ in vocabulary.ids_to_triples(ids):
            result.add_edge(subject, object_, key=relation, relation=relation)
        return result

    @classmethod
    def from_networkx(cls, network: "networkx.Graph", graph: str = DEFAULT_GRAPH) -> Self:
        """A graph in memory with a fact for each edge of a graph of networkx, or two for an undirected edge;
        networks.py says which labels they have. A Note counts what is no fact, such as other attributes."""
        from .networks import network_facts

        facts, left_out = network_facts([network])
        if left_out:
            warnings.warn(f"left out: {left_out}", Note, stacklevel=2)
        made = cls()
        made.add(facts, graph)
        return made

    def to_triples_factory(self, graph: str | None = None) -> "TriplesFactory":
        """The facts as a PyKEEN TriplesFactory with the ids of `arrays`."""
        from .facts import triples_factory

        return triples_factory(*self.arrays(graph))

    @property
    def dataset(self) -> "rdflib.Dataset":
        """The store as an rdflib Dataset, which with `read_only` refuses changes. Facts written through it are in the
        union when this KnowledgeGraph is used next."""
        return self._store.dataset(self._read_only)

    def process(self) -> Any:
        """A QueryProcess that answers queries on the graph as it is now (`Limits.process`); None for an endpoint."""
        return self._store.process() if isinstance(self._store, LocalStore) else None

    def close(self) -> None:
        """Close a graph on disk, so that another process can open it, or the connections to an endpoint."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add_batches(self, file: FactFile) -> None:
        written = 0
        for batch in file.batches(self._store.batch):
            try:
                self._store.change((), batch)
            except InputError as error:
                raise InputError(
                    f"{error} ({written} quads of the file were written before; the same call can be made again)"
                ) from None
            written += len(batch)

    def _writable(self) -> None:
        if self._read_only:
            raise InputError("this knowledge graph was opened read-only: open it without read_only=True to change it")

    def _writable_name(self, graph: str) -> str:
        if label_to_iri(graph, GRAPH) in (ABOUT, LABELS):
            raise InputError(f"the graph {graph!r} is reserved: choose another name")
        return graph

    def _check_name(self, graph: str) -> None:
        """InputError where a graph has no facts while others have."""
        if (known := self.graphs()) and graph not in known:
            raise InputError(unknown_graph(graph, known))


class Transaction:
    """Facts to add to and to remove from a store; `commit` does it in one step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._there: dict[ox.Quad, bool] = {}  # changed fact -> whether it will be there
        self.updates: list[str] = []

    def add(self, facts: Sequence[ox.Quad]) -> int:
        """How many of these facts would not be there."""
        return self._set(facts, there=True)

    def remove(self, facts: Sequence[ox.Quad]) -> int:
        """How many of these facts would be there."""
        return self._set(facts, there=False)

    @property
    def graphs(self) -> set[str]:
        """The labels of the graphs that get facts."""
        return {term_to_label(fact.graph_name, GRAPH) for fact, there in self._there.items() if there}

    def commit(self) -> None:
        """Make the changes."""
        removed = [fact for fact, there in self._there.items() if not there]
        added = [fact for fact, there in self._there.items() if there]
        if removed or added or self.updates:
            self._store.change(removed, added, self.updates)

    def _set(self, facts: Sequence[ox.Quad], there: bool) -> int:
        distinct = list(dict.fromkeys(facts))
        stored = set(self._store.present([fact for fact in distinct if fact not in self._there]))
        changed = [fact for fact in distinct if self._there.get(fact, fact in stored) != there]
        self._there.update(dict.fromkeys(changed, there))
        return len(changed)


# ---- The place of a graph as one word: a file, a folder or an endpoint, `#NAME` for one graph of it


def is_address(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def shipped_graph(place: str) -> str:
    """The file of the graph that ships under this name; any other place as it is."""
    if not place.isidentifier() and not place.replace("-", "").isalnum():
        return place
    entry = None if Path(place).exists() else manifest.shipped().get(place)
    return str(entry.path) if entry is not None and entry.file.startswith("graphs/") else place


def open_graph(
    source: str, *, update: str | None = None, read_only: bool = True, timeout: float | None = None, wait: float = 5,
    base: str | None = None,
) -> tuple[KnowledgeGraph, str | None]:  # fmt: skip
    """The graph at a file, folder or address that exists, or the one that ships under a name, and the name after #, if
    any.

    With `read_only` a folder is read as it is, also while another process writes to it.

    :param update: the address for updates, where `source` is that of an endpoint. :param base: as of `load_file`.
    :raises InputError: nothing there, a name that is missing after #, or a base where there is no file.
    """
    place, name = split_source(source)
    if is_address(place) or Path(place).is_dir() or update is not None:
        if base is not None:
            raise InputError(f"{place}: a base is for files with relative IRIs: leave it out")
        return KnowledgeGraph(place, update=update, read_only=read_only, timeout=timeout, wait=wait), name
    return KnowledgeGraph.load(place, read_only=read_only, timeout=timeout, base=base), name


def split_source(source: str) -> tuple[str, str | None]:
    """The file, folder or address of a graph that exists, and the name after #, if any.

    :raises InputError: nothing there, or a name that is missing.
    """
    if not is_address(source):
        check_name(Path(source), "read")
    place, mark, name = (source, "", "") if Path(source).exists() else source.partition("#")
    if mark and not name:
        raise InputError(f"{source}: the name of a graph is missing after #")
    place = shipped_graph(place)
    if not is_address(place) and (not Path(place).exists() or (Path(place).is_dir() and not os.listdir(place))):
        raise InputError(f"there is no graph at {place}: make one with `gumption kg build`")
    return place, name or None
