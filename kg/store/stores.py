"""Stores of quads: their protocol, and the local one, Oxigraph in memory or on disk. endpoint.py has the remote one.

Stores take and return pyoxigraph terms, and their methods are all that KnowledgeGraph uses.

Each fact is stored in its named graph, and once in the default graph, where clients that know nothing of gumption look.
A union of the named graphs would not do: Oxigraph repeats a fact for each graph that has it (0.5.13), which would
falsify counts and joins. Many facts that come first into a local store are its base: a graph that is not copied.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.writing import check_name, whole_folder
from gumption.kg.vocabulary import ABOUT, DEFAULT_GRAPH, GRAPH, LABELS, PREFIXES, RESERVED, label_to_iri

from . import quads
from .answers import Answer, Rows
from .files import FactFile
from .limits import Limits, QueryProcess, refuse_addresses
from .quads import Completion, label_quad, unnamed
from .sparql import syntax_error

if TYPE_CHECKING:
    import rdflib

MANY = 10_000  # quads for which new files on disk are quicker than a transaction
BASE_FACTS = 100_000  # the first facts of a store, if they are so many, make their graph its base
BASE_BYTES = 16 << 20  # of a file with about so many facts

_LABELS, _ABOUT, _BASE = ox.NamedNode(LABELS), ox.NamedNode(ABOUT), ox.NamedNode(quads.BASE)
_UNNAMED = ox.DefaultGraph()


class Store(Protocol):
    """Quads, each in a named graph. Every method raises InputError where the disk or the server fails.

    :ivar batch: facts of a file that are written at once.
    :ivar near: whether many small queries cost no more than a big one.
    :ivar stale: whether rdflib has written facts that are not in the default graph yet.
    """

    batch: int
    near: bool
    stale: bool

    def query(
        self, sparql: str, default: Sequence[str] | None = None, named: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> Answer:  # fmt: skip
        """The answer to a query whose default graph is the union of `default`, and whose GRAPH ranges over `named`.

        "" among the IRIs of `default` is the store's own default graph. Where both are None, the query's FROM decides,
        else the store.

        :param limits: None for queries of this package itself.
        :raises InputError: an answer beyond the limits.
        """
        ...

    def present(self, facts: Sequence[ox.Quad]) -> list[ox.Quad]:
        """Those that the store has, each once, in their order."""
        ...

    def insert(self, facts: Sequence[ox.Quad]) -> int:
        """Add facts, also to the default graph, and the labels of their names; how many of the facts were new."""
        ...

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        """Remove facts, from the default graph those that no other graph has; how many there were."""
        ...

    def change(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], updates: Sequence[str] = ()) -> None:
        """Remove facts, as `delete` does, add quads, then carry out updates: all or nothing, at an endpoint in one
        request."""
        ...

    def merged(self, ours: bool) -> bool:
        """Whether the default graph shows the facts of all graphs, those with labels included.

        :param ours: whether there are graphs of gumption.
        """
        ...

    def load_first(self, file: FactFile) -> bool:
        """Add the facts of a large file to a store without any, and what it keeps beside them; all or nothing.

        False, and nothing is added, where the file should come in batches.
        """
        ...

    def adopt(self, graphs: Iterable[str], unnamed: bool, merged: bool) -> None:
        """Label other programs' graphs as ours and copy them into the default graph.

        :param unnamed: the default graph is one of them.
        :param merged: the default graph shows the facts of the others, too.
        """
        ...

    def drop(self, graph: str) -> None:
        """Remove a graph, and from the default graph the facts that no other graph has."""
        ...

    def renew(self) -> None:
        """Copy each fact into the default graph, and those that were only there into a named graph."""
        ...

    def dataset(self, read_only: bool) -> "rdflib.Dataset":
        """The quads as an rdflib Dataset."""
        ...

    def close(self) -> None:
        """Close files, processes and connections."""
        ...


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
        self._changed = False
        self._open: ox.Store | None = ox.Store() if path is None else open_folder(path, read_only)

    @property
    def _quads(self) -> ox.Store:
        if self._open is None:
            raise InputError("this knowledge graph is closed: open it again")
        return self._open

    def query(
        self, sparql: str, default: Sequence[str] | None = None, named: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> Answer:  # fmt: skip
        try:
            if limits is not None and limits.given:
                return self._in_process().query(sparql, default, named, limits)
            if limits is not None and not limits.allow_service:
                refuse_addresses(sparql, PREFIXES)
            seen: list[Any] | None = (
                None if default is None else [ox.NamedNode(iri) if iri else _UNNAMED for iri in default]
            )
            others: list[Any] | None = None if named is None else [ox.NamedNode(iri) for iri in named]
            with engine_errors(self._path, "read"):
                answer = self._quads.query(sparql, prefixes=PREFIXES, default_graph=seen, named_graphs=others)
        except SyntaxError as error:
            raise InputError(syntax_error(sparql, str(error)) or str(error)) from None
        if self._path is not None and isinstance(answer, ox.QuerySolutions):
            return Rows(answer, partial(engine_errors, self._path, "read"), own=False)
        return answer

    def present(self, facts: Sequence[ox.Quad]) -> list[ox.Quad]:
        store = self._quads
        with engine_errors(self._path, "read"):
            return [fact for fact in dict.fromkeys(facts) if fact in store]

    def insert(self, facts: Sequence[ox.Quad]) -> int:
        if len(facts) >= BASE_FACTS and self._is_empty():
            distinct = dict.fromkeys(facts)
            self._load_first([list(distinct)])
            return len(distinct)
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
            base = self._base()
            added, withdrawn = self._beside_base(base, removed, added)
            if removed or withdrawn or updates:
                parts = [quads.removal(removed, base)] if removed else []
                parts += [quads.withdrawal(withdrawn)] if withdrawn else []
                parts += [quads.insertion(added)] if added else []
                store.update(" ;\n".join([*parts, *updates]))
            elif len(added) < MANY:
                store.extend(added)
            else:
                store.bulk_extend(added)

    def merged(self, ours: bool) -> bool:
        return False

    def load_first(self, file: FactFile) -> bool:
        large = file.path.is_file() and file.path.stat().st_size >= BASE_BYTES
        if not large or not self._is_empty():
            return False
        with self._writing() as store:
            if not file.load_plain(store, [_base_quad(file.name)]):
                self._load_first(file.batches(self.batch))
        return True

    def _load_first(self, batches: Iterable[Sequence[ox.Quad]]) -> None:
        """Add quads to an empty store, whose first graph becomes its base."""
        complete = Completion()
        names: dict[object, None] = {}

        def labelled() -> Iterator[ox.Quad]:
            for batch in batches:
                facts = [quad for quad in batch if quad.graph_name != _ABOUT]
                names.update(dict.fromkeys(fact.graph_name for fact in facts))
                yield from batch
                yield from complete.labels(facts, graphs=False)

        with self._writing() as store:
            store.bulk_extend(labelled())
            graphs = [name for name in names if isinstance(name, ox.NamedNode)]
            for name in graphs[1:]:
                facts = unnamed(store.quads_for_pattern(None, None, None, name))
                store.bulk_extend(f for f in facts if ox.Quad(f.subject, f.predicate, f.object, graphs[0]) not in store)
            # Labels come last: after an interruption, a graph without one is read as another program's.
            store.extend([label_quad(name, GRAPH) for name in graphs] + [_base_quad(name) for name in graphs[:1]])

    def adopt(self, graphs: Iterable[str], unnamed: bool, merged: bool) -> None:
        with self._writing() as store:
            if unnamed:
                name = ox.NamedNode(label_to_iri(DEFAULT_GRAPH, GRAPH))
                facts = store.quads_for_pattern(None, None, None, _UNNAMED)
                store.bulk_extend(ox.Quad(f.subject, f.predicate, f.object, name) for f in facts)
                store.add(label_quad(name, GRAPH))
            for graph in graphs:
                store.update(quads.adoption(graph))

    def drop(self, graph: str) -> None:
        name, base = ox.NamedNode(graph), self._base()
        kept = {*map(ox.NamedNode, RESERVED), name, base}
        others = [each for each in self._quads.named_graphs() if each not in kept]
        with self._writing() as store:
            # First: after an interruption, what is left of a graph without a label is read as another program's.
            store.update(quads.forgetting(graph))
            if name == base:
                for other in others:  # their facts that the base shared
                    facts = unnamed(store.quads_for_pattern(None, None, None, other))
                    store.bulk_extend(f for f in facts if ox.Quad(f.subject, f.predicate, f.object, base) in store)
            elif others or store.query(f"ASK {{ ?s ?p ?o MINUS {{ GRAPH {name} {{ ?s ?p ?o }} }} }}"):
                store.update(quads.thinning(graph))
            else:
                store.clear_graph(_UNNAMED)  # it has this graph's facts alone
            if self._path is not None:  # many transactions are several times faster than a large one
                for quad in store.quads_for_pattern(None, None, None, name):
                    store.remove(quad)
            store.remove_graph(name)

    def renew(self) -> None:
        with self._writing() as store:
            store.update(quads.renewal())

    def dataset(self, read_only: bool) -> "rdflib.Dataset":
        if self._dataset is None:
            import rdflib

            from .datasets import FactStore

            self._dataset = rdflib.Dataset(
                store=FactStore(self.written_by_rdflib, self._quads, read_only), default_union=True
            )
        return self._dataset

    def written_by_rdflib(self) -> None:
        """To be called before rdflib writes, which writes to the default graph or to a named one, not to both."""
        if not self.stale:
            self.stale = True
            with self._writing() as store:
                store.update(quads.bare())

    def close(self) -> None:
        self._forget_process()
        if self._dataset is not None:
            self._dataset.close()  # it holds the store, too, whose lock lasts as long as its last holder
        store, self._dataset, self._open = self._open, None, None
        if self._changed and store is not None:
            with engine_errors(self._path, "write"):
                store.flush()  # see the end of this file

    def _is_empty(self) -> bool:
        """Whether it has no quads at all."""
        with engine_errors(self._path, "read"):
            return next(self._quads.quads_for_pattern(None, None, None, None), None) is None

    def _base(self) -> ox.NamedNode | None:
        """The graph whose facts are not copied into the default graph."""
        found = next(self._quads.quads_for_pattern(None, _BASE, None, _LABELS), None)
        return None if found is None else found.subject  # pyright: ignore[reportReturnType]

    def _beside_base(
        self, base: ox.NamedNode | None, removed: Sequence[ox.Quad], added: Sequence[ox.Quad]
    ) -> tuple[Sequence[ox.Quad], list[ox.Quad]]:
        """The quads to add, without copies of the base's facts; and the copies to take away, of facts that join the
        base."""
        if base is None:
            return added, []
        store = self._quads
        removed_from_base = set(unnamed(fact for fact in removed if fact.graph_name == base))
        added_to_base = dict.fromkeys(unnamed(quad for quad in added if quad.graph_name == base))

        def in_base(fact: ox.Quad) -> bool:
            if fact in added_to_base:
                return True
            return fact not in removed_from_base and ox.Quad(fact.subject, fact.predicate, fact.object, base) in store

        kept = [quad for quad in added if quad.graph_name != _UNNAMED or not in_base(quad)]
        if next(store.quads_for_pattern(None, None, None, _UNNAMED), None) is None:
            return kept, []
        return kept, [fact for fact in added_to_base if fact in store]

    @contextmanager
    def _writing(self) -> Iterator[ox.Store]:
        self._forget_process()
        self._changed = self._path is not None
        with engine_errors(self._path, "write"):
            yield self._quads

    def _in_process(self) -> QueryProcess:
        """The process that answers limited queries, with the quads of now."""
        if self._process is None or not self._process.is_alive():
            self._forget_process()
            self._process = QueryProcess(self._path or self._quads)
        return self._process

    def _forget_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


def _base_quad(name: ox.NamedNode) -> ox.Quad:
    return ox.Quad(name, _BASE, ox.Literal(True), _LABELS)


# ---- Folders of graphs on disk: made whole, opened, or refused.
#
# The engine checks the checksum of each block that it reads; quads that are not in blocks yet stand in a log, whose end
# it drops where a checksum is wrong. So a graph is flushed when it is closed: after that a changed byte is an error as
# soon as it is read.


_CURRENT = "CURRENT"  # a file in each folder of the engine


def open_folder(path: Path, read_only: bool) -> ox.Store:
    """The store in a folder, which is made where there is none.

    :raises InputError: something else there, nothing there to read, a store that is in use or damaged.
    """
    check_name(path)
    if path.is_file():
        raise InputError(f"{path} is a file: read it with KnowledgeGraph.load; a graph on disk is a folder")
    ours = (path / _CURRENT).exists()
    if not ours and path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} holds other files and no knowledge graph: choose a new or an empty folder")
    if read_only and not ours:
        raise InputError(f"there is no knowledge graph at {path} to be read")
    with engine_errors(path, "open"):
        if read_only:
            return ox.Store.read_only(str(path.resolve()))
        if not ours:
            _make(path.resolve() if path.is_symlink() else path)
        # Resolved, because within one process the engine compares paths as they are written.
        return ox.Store(path.resolve())


def _make(path: Path) -> None:
    """An empty store; made beside its place, because the engine cannot open a folder that it had only begun."""
    try:
        with whole_folder(path, replace=False) as beside:
            ox.Store(beside.resolve())
    except InputError:
        if not (path / _CURRENT).exists():  # else another process was quicker
            raise


@contextmanager
def engine_errors(path: Path | None, what: str) -> Iterator[None]:
    """Errors of the engine become an InputError.

    :param what: the verb for its message: read, write or open.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        text = " ".join(str(error).split())
        broken = "Corruption" in text or "No such file" in text or "Column family" in text
        if isinstance(error, RuntimeError) and not broken:
            raise  # a query that cannot be evaluated
        if broken:
            text += "; the folder is damaged: restore it from a copy, or make the graph anew"
        elif what == "open" and "lock" in text.lower():
            text = "it is in use: close it there first, or open it with read_only=True"
        raise InputError(f"cannot {what} the knowledge graph {path or 'in memory'}: {text}") from None


@contextmanager
def undone_if_new(folder: Path) -> Iterator[None]:
    """Remove the folder of a graph that was made within and is empty, after an InputError.

    It stays where another process, which was quicker to make it, holds it.
    """
    new = not folder.exists()
    try:
        yield
    except InputError:
        if new and (folder / _CURRENT).exists():
            with suppress(OSError):  # somebody else holds it
                held = ox.Store(folder.resolve())
                if not len(held):
                    shutil.rmtree(folder)
        raise


# ---- Transactions


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
        """The IRIs of the graphs that get facts."""
        return {str(fact.graph_name)[1:-1] for fact, there in self._there.items() if there}

    @property
    def changed(self) -> bool:
        """Whether any fact is added or removed."""
        return bool(self._there)

    def commit(self) -> None:
        """Make the changes."""
        removed = [fact for fact, there in self._there.items() if not there]
        added = [fact for fact, there in self._there.items() if there]
        if removed or added or self.updates:
            self._store.change(removed, Completion()(added), self.updates)

    def _set(self, facts: Sequence[ox.Quad], there: bool) -> int:
        distinct = list(dict.fromkeys(facts))
        stored = set(self._store.present([fact for fact in distinct if fact not in self._there]))
        changed = [fact for fact in distinct if self._there.get(fact, fact in stored) != there]
        self._there.update(dict.fromkeys(changed, there))
        return len(changed)
