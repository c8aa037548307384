"""Where a graph's quads are kept: what a store is, and the one of this machine, Oxigraph in memory or on disk.

Stores take and return pyoxigraph terms, and their methods are all that KnowledgeGraph uses. endpoint.py has the other
one, a remote SPARQL endpoint.

Each fact is stored twice: in its named graph, and in the graph UNION. SPARQL says that a union of graphs has each fact
once, but Oxigraph repeats a fact for each graph that has it (0.5.13), which would falsify counts and joins.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.vocabulary import PREFIXES

from .answers import Answer
from .limits import Limits, refuse_addresses
from .quads import Completion
from .query_process import QueryProcess
from .sparql import syntax_error
from .updates import insertion, removal

if TYPE_CHECKING:
    import rdflib

MANY = 10_000  # quads from which on new files on disk are quicker than a transaction


class Store(Protocol):
    """Quads, each in a named graph. Every method raises InputError where the place of the store fails."""

    batch: int  # facts of a file that are written at once
    near: bool  # whether many small queries cost no more than a big one
    stale: bool  # whether other programs' writes are known to be missing from UNION

    def query(
        self,
        sparql: str,
        default: Sequence[str] | None = None,
        named: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> Answer:
        """The answer to a query whose default graph is the union of `default`, and whose GRAPH ranges over `named`.

        Where both are None, they are what the query's FROM says, else what the store makes of them. InputError when
        the answer goes beyond the limits; None is for what this package asks itself.
        """
        ...

    def present(self, facts: Sequence[ox.Quad]) -> list[ox.Quad]:
        """Those that it has, each once, in their order."""
        ...

    def insert(self, facts: Sequence[ox.Quad]) -> int:
        """Add facts, also to UNION, and the labels of their names; how many of the facts were new."""
        ...

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        """Remove facts, also from UNION what no other graph has; how many there were."""
        ...

    def change(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], updates: Sequence[str] = ()) -> None:
        """Remove facts (also from UNION what no other graph has), add quads, then carry out updates: all or nothing.

        An endpoint gets one request, and whether it is carried out whole or in part is up to that endpoint.
        """
        ...

    def load(self, batches: Iterable[Sequence[ox.Quad]]) -> None:
        """Add quads; what is killed has added whole batches."""
        ...

    def dataset(self, read_only: bool) -> "rdflib.Dataset":
        """The same quads as an rdflib Dataset."""
        ...

    def close(self) -> None:
        """Let go of files, processes and connections."""
        ...


@contextmanager
def undone_if_new(folder: Path) -> Iterator[None]:
    """Take away the folder of a graph that is made within, where that ends with an InputError and nothing in it."""
    new = not folder.exists()
    try:
        yield
    except InputError:
        if new and (folder / "CURRENT").exists() and not len(ox.Store.read_only(str(folder.resolve()))):
            shutil.rmtree(folder)
        raise


class LocalStore:
    """An Oxigraph store in memory (`path=None`) or in a folder, which one process at a time may hold for writing.

    With `read_only` a folder is opened as it is now, beside other readers and a writer.
    """

    near = True
    batch = 100_000  # three quads or so of about 1 kB each while they are written

    def __init__(self, path: Path | None = None, read_only: bool = False) -> None:
        self.stale = False
        self._path = path
        self._dataset: rdflib.Dataset | None = None
        self._process: QueryProcess | None = None
        if path is not None and path.is_file():
            raise InputError(f"{path} is a file: read it with KnowledgeGraph.load; a graph on disk is a folder")
        if path is not None and path.is_dir() and any(path.iterdir()) and not (path / "CURRENT").exists():
            raise InputError(f"{path} holds other files and no knowledge graph: choose a new or an empty folder")
        if path is not None and read_only and not (path / "CURRENT").exists():
            raise InputError(f"there is no knowledge graph at {path} to be read")
        try:
            if path is None:
                self._open: ox.Store | None = ox.Store()
            elif read_only:
                self._open = ox.Store.read_only(str(path.resolve()))
            else:
                path.mkdir(parents=True, exist_ok=True)
                # Resolved, because within one process the lock is on the path as it is written.
                self._open = ox.Store(path.resolve())
        except OSError as error:
            lock = "lock" in str(error).lower()
            hint = "it is in use: close it there first, or open it with read_only=True" if lock else str(error)
            raise InputError(f"cannot open the knowledge graph {path}: {hint}") from None

    @property
    def _quads(self) -> ox.Store:
        if self._open is None:
            raise InputError("this knowledge graph is closed: open it again")
        return self._open

    def query(
        self,
        sparql: str,
        default: Sequence[str] | None = None,
        named: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> Answer:
        try:
            if limits is not None and limits.given:
                return self._in_process().query(sparql, default, named, limits)
            if limits is not None and not limits.service:
                refuse_addresses(sparql, PREFIXES)
            return self._quads.query(
                sparql,
                prefixes=PREFIXES,
                default_graph=None if default is None else [ox.NamedNode(iri) for iri in default],
                named_graphs=None if named is None else [ox.NamedNode(iri) for iri in named],
            )
        except SyntaxError as error:
            raise InputError(syntax_error(sparql, str(error)) or str(error)) from None

    def present(self, facts: Sequence[ox.Quad]) -> list[ox.Quad]:
        store = self._quads
        return [fact for fact in dict.fromkeys(facts) if fact in store]

    def insert(self, facts: Sequence[ox.Quad]) -> int:
        if len(facts) >= MANY:  # to count twice is quicker than to look each of them up
            names = {fact.graph_name for fact in facts}
            before = self._count(names)
            self.change((), Completion()(facts))
            return self._count(names) - before
        present = set(self.present(facts))
        new = [fact for fact in dict.fromkeys(facts) if fact not in present]
        self.change((), Completion()(new))
        return len(new)

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        present = self.present(facts)
        if present:
            self.change(present, ())
        return len(present)

    def change(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], updates: Sequence[str] = ()) -> None:
        with self._writing() as store:
            if removed or updates:
                parts = [removal(removed)] if removed else []
                parts += [insertion(added)] if added else []
                store.update(" ;\n".join([*parts, *updates]))
            elif len(added) < MANY:
                store.extend(added)
            else:
                store.bulk_extend(added)

    def load(self, batches: Iterable[Sequence[ox.Quad]]) -> None:
        for batch in batches:
            self.change((), batch)

    def dataset(self, read_only: bool) -> "rdflib.Dataset":
        if self._dataset is None:
            import rdflib

            from .rdflib_store import FactStore

            self._dataset = rdflib.Dataset(
                store=FactStore(self.written_by_rdflib, self._quads, read_only), default_union=True
            )
        return self._dataset

    def written_by_rdflib(self) -> None:
        """What rdflib writes is not in UNION."""
        self.stale = True
        self._forget_process()

    def close(self) -> None:
        self._forget_process()
        if self._dataset is not None:
            self._dataset.close()  # it also holds the store, and the store's lock goes with its last holder
        self._dataset = self._open = None

    def _count(self, graphs: Iterable[object]) -> int:
        names = " ".join(map(str, graphs))
        answer = self.query(f"SELECT (COUNT(*) AS ?n) {{ VALUES ?g {{ {names} }} GRAPH ?g {{ ?s ?p ?o }} }}")
        assert isinstance(answer, ox.QuerySolutions)
        return int(next(answer)["n"].value)

    @contextmanager
    def _writing(self) -> Iterator[ox.Store]:
        self._forget_process()
        try:
            yield self._quads
        except OSError as error:
            raise InputError(f"cannot write the knowledge graph {self._path or 'in memory'}: {error}") from None

    def _in_process(self) -> QueryProcess:
        """A process that has what this store has now."""
        if self._process is None or not self._process.is_alive():
            self._forget_process()
            self._process = QueryProcess(self._path or self._quads)
        return self._process

    def _forget_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None
