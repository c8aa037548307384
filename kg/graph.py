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
SORTED = 20_000  # up to this number, `triples` sorts the facts


@checked_methods
class KnowledgeGraph:
    """Store facts `(subject, relation, object)`, three labels each, in named graphs.

    `KnowledgeGraph()` keeps them in memory, `KnowledgeGraph("runs/kg")` in that folder (Oxigraph; one process at a
    time), `KnowledgeGraph("http://host/query", update="http://host/update")` at a SPARQL 1.1 endpoint. All three have
    the same methods. vocabulary.py defines the IRI of a label, and the labels of other IRIs and of literals.

    A parameter `graph` is the name of a named graph; None stands for the union of all graphs, in which a fact of
    several graphs counts once. Facts that other programs put into the default graph of a folder or an endpoint form
    the graph "default". Other SPARQL clients see each fact of the union in the default graph.

    With `read_only`, every method that would change the graph raises InputError; a graph on disk is opened in its
    present state, also while another process writes to it. `timeout` (seconds) and `memory_limit` (megabytes) bound a
    `query`; at an endpoint they bound every request and the size of its answer. The address of an endpoint may contain
    a user and a password (`http://user:password@host/query`).

    `close()` or the end of a `with` block closes a graph on disk. It does not work in a process made by `fork`.

    :param wait: seconds to wait for another process that has the folder open for writing.
    :raises InputError: a location that cannot be opened; in every method, a server that is no SPARQL endpoint.
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
        self._files: dict[Path, str | None] = {}  # file that was read -> hash of its content
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
        """Open the graph at `location` (if None, a new graph in memory) and add the facts of a file, as `load_file`
        does with the other keywords. `path` may be the name of a graph that ships with the package.

        With `read_only`, the graph cannot be changed after that.
        """
        path = shipped_graph(str(path))
        file_format(Path(path))  # checked before a folder is made
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
        """Add the facts of a file. Return the number of new facts.

        The file's ending sets its format: .nt, .nq, .ttl, .trig, .n3, .rdf, .owl or .xml (RDF/XML), .jsonld, .tsv, .txt
        (as TSV) or .csv, also with .gz, .bz2 or .xz. Formulas of N3 are refused. A file without facts gives a Note.

        The file is read in pieces, so that memory stays bounded. The first large file in memory or on disk is written
        whole or not at all. Any other file is read twice: to detect its errors, then to write it in batches. After an
        interruption some batches are written, each whole; the same call adds the rest. At an endpoint the number
        includes facts that other programs add meanwhile.

        :param graph: the graph for facts that the file puts in no named graph; None stands for "default". The file's
            statements about graphs are added to the stored statements.
        :param skip_bad: the number of bad lines of N-Triples, N-Quads, TSV and CSV that may be left out; the warning
            SkippedLines reports them.
        :param columns: the columns of subject, relation, object and optionally graph in a TSV or CSV file, by the names
            in its header or by numbers from 1 on ("item,rel,3"). By default the file has exactly these columns, in this
            order, or in the order of a header with their names.
        :param header: whether the first line holds names. With None, a first line is refused if it looks like
            "subject,relation,object" or has three names none of which recurs in the first 1,000 lines.
        :param delimiter: the separator of cells in a CSV file or another table with CSV's quotes. With None, the comma,
            semicolon, tab or | that splits each of the first 20 rows into the same number of cells, three or more.
        :param base: the IRI that relative IRIs are resolved against; with None, the file's own IRI.
        :param context: a file to use for a context that JSON-LD names by its address; without it, that is refused.
        :raises InputError: a file that is missing or broken; the message has the line.
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
        """Return the number of new facts of a file, and whether it has no facts."""
        self._writable()
        if self._transaction is not None:
            raise InputError("a file cannot be loaded within a transaction: load it before or after")
        name = self._writable_name(DEFAULT_GRAPH if graph is None else graph)
        contexts = None if context is None else Path(context)
        file = FactFile(Path(path), name, skip_bad, TableLayout.of(**layout), base, contexts)
        # Hashed first, so that `save` detects a change made to the file while it is read.
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
        """Write the facts of all graphs or of one named graph, and the statements about these graphs, sorted.

        The file's ending sets its format: .nt, .nq, .ttl, .trig, .rdf (RDF/XML), .jsonld, .tsv, .txt (as TSV) or .csv,
        each also with .gz, .bz2 or .xz. Turtle, N-Triples and RDF/XML have no named graphs and hold the union. TSV and
        CSV cannot hold statements about graphs; these go into a second file, FILE.license. The file appears when it is
        complete. A file that was changed after this graph had read it is refused.

        :param labels: also write the rdfs:label of the entities and relations, for other programs.
        :param merge: first add the facts that the file holds now to this graph, even facts removed from this graph.
        :raises InputError: a file that was changed; a fact that the format cannot hold: triple terms in JSON-LD, TSV
            and CSV; in RDF/XML a relation whose IRI does not end in a name.
        """
        path, form = Path(path), file_format(Path(path), write=True)
        if merge and graph is not None:
            raise InputError(f"merge=True keeps all that {path} has: save all graphs, not only {graph!r}")
        # A new file needs no lock: it appears by a rename.
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

        They replace earlier statements under the same keys. Statements are stored apart from the facts, are not counted
        as facts, and are saved into files. store/files.py maps the keys to properties of Dublin Core.
        """
        self._writable()
        text = annotation_update(self._writable_name(name), about)
        if self._transaction is not None:
            self._transaction.updates.append(text)
        elif about:
            self._store.change((), (), [text])

    def annotations(self, name: str) -> dict[str, str]:
        """Return the statements about a named graph, sorted by key. Several texts under one key, from loaded files, are
        joined by "; "."""
        graph = f"<{label_to_iri(name, GRAPH)}>"
        rows = self._store.select(f"SELECT ?key ?text {{ GRAPH <{ABOUT}> {{ {graph} ?key ?text }} }}")
        return joined((row["key"].value, row["text"].value) for row in rows)

    def content_hash(self, graph: str | None = None) -> str:
        """Return the sha256 (hex) of the set of facts, the same in memory, on disk or at an endpoint.

        It hashes the number of facts and the sum of their sha256 modulo 2**256. This distinguishes contents but is no
        defence against forgery. The names of blank nodes make no difference.

        :raises InputError: as `arrays`; more than 500 connected blank nodes that look alike, or 10 seconds for them.
        """
        from .store.hashing import FactHash

        result = FactHash()
        self._store.facts(ALL, graph_name(graph)).serialize(result, format=ox.QueryResultsFormat.TSV)  # pyright: ignore
        if graph is not None and result.empty:
            self._check_name(graph)
        return result.hexdigest()

    def add(self, triples: Iterable[Triple], graph: str = DEFAULT_GRAPH) -> int:
        """Add facts to a named graph. Return the number of facts that were new to it.

        All facts are checked before the first is written. In memory and on disk all or none are written; at an endpoint
        in requests of 5,000. After an error, repeat the same call.

        :raises InputError: a row that is not three labels.
        """
        self._writable()
        with uncollected():
            name = self._writable_name(graph)
            facts = Quads()(checked_triples(triples), name)
            if self._transaction is not None:
                return self._transaction.change(facts, there=True)
            return self._store.insert(facts)

    def remove(self, triples: Iterable[Triple], graph: str | None = None) -> int:
        """Remove facts from a named graph, or from every graph. Return the number removed, counted per graph."""
        self._writable()
        rows = checked_triples(triples)
        names = set(self.graphs()) if graph is None else {graph}
        if self._transaction is not None and graph is None:
            names |= self._transaction.graphs
        make = Quads()
        facts = [quad for name in sorted(names) for quad in make(rows, self._writable_name(name))]
        if self._transaction is not None:
            return self._transaction.change(facts, there=False)
        return self._store.delete(facts)

    def drop(self, graph: str) -> int:
        """Remove a graph and the statements about it. Return its number of facts. On disk, a million take 30 s.

        :raises InputError: an unknown graph; a call within a transaction.
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
        """Make all changes of a `with` block at its end, or none if it ends with an exception.

        The counts that `add` and `remove` return take the block's changes into account; other methods do not see them
        before its end. In memory and on disk this is one transaction. An endpoint gets one update request, which most
        servers carry out whole or not at all (SPARQL 1.1 Update, section 2.2, recommends this but does not require it).
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

        Call it for an endpoint to which other programs have written. A folder that another program has opened is
        refreshed when it is opened for writing, and writes through `dataset` at the next use of this class. Programs
        that remove facts from a named graph must remove them from the default graph, too.
        """
        self._writable()
        self._store.renew()

    def triples(
        self, subject: str | Term | None = None, relation: str | Term | None = None,
        object: str | Term | None = None, graph: str | None = None,
    ) -> Iterator[Triple]:  # fmt: skip
        """Iterate over the facts that match these labels or terms of pyoxigraph, each once.

        Up to 20,000 facts are sorted; more come in no particular order, as the store yields them.
        """
        terms: list[Term | None] = [
            label_to_term(subject) if isinstance(subject, str) else subject,
            label_to_term(relation, RELATION) if isinstance(relation, str) else relation,
            object_to_term(object) if isinstance(object, str) else object,
        ]
        if isinstance(terms[0], ox.Literal | ox.Triple) or not isinstance(terms[1], ox.NamedNode | None):
            return iter(())  # RDF has no literal or triple as subject, and only IRIs as relations
        label, verb = cached(term_to_label), cached(partial(term_to_label, namespace=RELATION))
        facts = ((label(s), verb(p), label(o)) for s, p, o in self._store.match(terms, graph_name(graph)))
        first = list(islice(facts, SORTED))
        return iter(sorted(first)) if len(first) < SORTED else chain(first, facts)

    def arrays(self, graph: str | None = None) -> tuple[Vocabulary, np.ndarray]:
        """Return the facts as ids: a vocabulary of their sorted labels, and (n, 3) int64 rows in sorted order.

        :raises InputError: the name of a graph that has no facts while others have.
        """
        name = graph_name(graph)
        with uncollected():
            if isinstance(self._store, LocalStore):
                # One query a relation: a local store looks up each term that it returns; this saves a third of them.
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
        """Answer a SPARQL query over the union of all graphs, which holds each fact once.

        SELECT returns a list of dicts, variable -> label or value (None where unbound), sorted unless the query orders
        them; ASK a bool; CONSTRUCT and DESCRIBE a sorted list of label triples. The prefixes gum: (relations), ent:
        (entities), rdf:, rdfs: and prov: are declared. `GRAPH ?g { ... }` returns graphs by name; a query with FROM
        sees the graphs of that clause instead of the union.

        Each keyword binds a variable to a label: of a relation if the variable is a predicate in the query, of a graph
        if it follows GRAPH, else of an entity. A number or a bool is bound as a literal.

        At an endpoint a blank node is an IRI, `urn:gumption:blank:...`. If other programs write to the endpoint, name
        the graphs in the query, or call `refresh` to renew the union.

        :param timeout: in seconds; overrides the graph's timeout. In memory and on disk such a query runs in a separate
            process, which is killed after that time. The process copies a graph in memory (3 s for a million facts) and
            keeps the copy until the graph changes.
        :param memory_limit: in megabytes in addition to the graph's own memory (2,048 if only the time is limited).
        :param allow_service: whether SERVICE may query other servers; an endpoint applies its own rule.
        :param terms: return terms of pyoxigraph, which distinguish the entity `tea`, "tea" and "tea"@en.
        :param format: return bytes: rows or a bool as sparql-json, csv, tsv or xml in the formats of the SPARQL
            standard; facts as ttl, nt, rdf or jsonld.
        :raises InputError: a query that does not parse (with its line), an update, a keyword that is no variable of the
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
        """Answer a query in RDF terms and return the result of `read` on this answer.

        :param dataset: the IRIs of the graphs that the query sees without GRAPH and with it, in place of the union.
        """
        refuse_bomb(sparql)
        words = keywords(sparql)
        if dataset == (None, None) and "FROM" not in words:
            dataset = self._store.union("GRAPH" in words)
        try:
            # No variable holds the answer: rdflib's parser keeps its callers' frames alive, and Oxigraph's answers must
            # be freed in the thread that ran the query.
            return read(self._store.query(sparql, *dataset, limits=limits))
        except (OSError, RuntimeError) as error:
            raise InputError(f"the query could not be evaluated: {error}") from None

    def graphs(self) -> dict[str, int]:
        """Return the number of facts of each graph that has facts, by name, sorted."""
        counts = self._store.counts().items()
        return dict(sorted((term_to_label(graph_term(name), GRAPH), number) for name, number in counts))

    def __len__(self) -> int:
        """Return the number of facts in the union of all graphs."""
        return self._store.count("")

    def to_networkx(self, graph: str | None = None) -> "networkx.MultiDiGraph":
        """Return a directed multigraph of labels, an edge per fact; its key and `relation` are the relation."""
        import networkx

        vocabulary, ids = self.arrays(graph)
        result = networkx.MultiDiGraph()
        result.add_nodes_from(vocabulary.entities)
        for subject, relation, object_ in vocabulary.ids_to_triples(ids):
            result.add_edge(subject, object_, key=relation, relation=relation)
        return result

    @classmethod
    def from_networkx(cls, network: "networkx.Graph", graph: str = DEFAULT_GRAPH) -> Self:
        """Make a graph in memory with a fact for each edge of a networkx graph, or two for an undirected edge.
        networks.py defines their labels. A Note counts the rest, such as other attributes."""
        from .networks import network_facts

        facts, left_out = network_facts([network])
        if left_out:
            warnings.warn(f"left out: {left_out}", Note, stacklevel=2)
        made = cls()
        made.add(facts, graph)
        return made

    def to_triples_factory(self, graph: str | None = None) -> "TriplesFactory":
        """Return the facts as a PyKEEN TriplesFactory with the ids of `arrays`."""
        from .facts import triples_factory

        return triples_factory(*self.arrays(graph))

    @property
    def dataset(self) -> "rdflib.Dataset":
        """The store as an rdflib Dataset; with `read_only` it refuses changes. Facts written through it enter the union
        at the next use of this KnowledgeGraph."""
        return self._store.dataset(self._read_only)

    def process(self) -> Any:
        """Return a QueryProcess over the graph's present state (`Limits.process`); None for an endpoint."""
        return self._store.process() if isinstance(self._store, LocalStore) else None

    def close(self) -> None:
        """Close a graph on disk, so that another process can open it, or close the connections to an endpoint."""
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
        """Raise InputError if a graph has no facts while others have."""
        if (known := self.graphs()) and graph not in known:
            raise InputError(unknown_graph(graph, known))


class Transaction:
    """Collect facts to add to and to remove from a store; `commit` makes the changes in one step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._there: dict[ox.Quad, bool] = {}  # changed fact -> whether the store will hold it
        self.updates: list[str] = []

    def change(self, facts: Sequence[ox.Quad], *, there: bool) -> int:
        """Add facts, or remove them if not `there`. Return the number of facts that the store would not hold yet, or
        would hold."""
        distinct = list(dict.fromkeys(facts))
        stored = set(self._store.present([fact for fact in distinct if fact not in self._there]))
        changed = [fact for fact in distinct if self._there.get(fact, fact in stored) != there]
        self._there.update(dict.fromkeys(changed, there))
        return len(changed)

    @property
    def graphs(self) -> set[str]:
        """The labels of the graphs to which facts are added."""
        return {term_to_label(fact.graph_name, GRAPH) for fact, there in self._there.items() if there}

    def commit(self) -> None:
        """Make the changes."""
        removed = [fact for fact, there in self._there.items() if not there]
        added = [fact for fact, there in self._there.items() if there]
        if removed or added or self.updates:
            self._store.change(removed, added, self.updates)


# ---- The place of a graph as text: a file, a folder or an endpoint, with `#NAME` for a named graph of it


def is_address(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def shipped_graph(place: str) -> str:
    """Return the file of the graph that ships under this name; any other place unchanged."""
    if not place.isidentifier() and not place.replace("-", "").isalnum():
        return place
    entry = None if Path(place).exists() else manifest.shipped().get(place)
    return str(entry.path) if entry is not None and entry.file.startswith("graphs/") else place


def open_graph(
    source: str, *, update: str | None = None, read_only: bool = True, timeout: float | None = None, wait: float = 5,
    base: str | None = None,
) -> tuple[KnowledgeGraph, str | None]:  # fmt: skip
    """Open the graph at an existing file, folder or address, or a graph that ships under a name. Return it and the name
    after #, if any.

    With `read_only` a folder is read in its present state, also while another process writes to it.

    :param update: the address for updates if `source` is the address of an endpoint. :param base: as in `load_file`.
    :raises InputError: no graph at the place, no name after #, or a base without a file.
    """
    place, name = split_source(source)
    if is_address(place) or Path(place).is_dir() or update is not None:
        if base is not None:
            raise InputError(f"{place}: a base is for files with relative IRIs: leave it out")
        return KnowledgeGraph(place, update=update, read_only=read_only, timeout=timeout, wait=wait), name
    return KnowledgeGraph.load(place, read_only=read_only, timeout=timeout, base=base), name


def split_source(source: str) -> tuple[str, str | None]:
    """Return the file, folder or address of an existing graph, and the name after #, if any.

    :raises InputError: no graph at the place, or no name after #.
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
