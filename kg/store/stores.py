"""The local store of quads, Oxigraph in memory or on disk. endpoint.py has the remote store.

Stores take and return pyoxigraph terms, and KnowledgeGraph uses only their methods.

Each fact is stored in its named graph, and once in the default graph, which other SPARQL clients query. A view of all
named graphs is no substitute: Oxigraph repeats a fact for each graph that has it (0.5.13), which would falsify counts
and joins.
"""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.writing import check_name, is_part, sole_writer, whole_folder, write_text
from gumption.kg.vocabulary import ABOUT, PREFIXES, Term, blank_nodes_named

from .answers import Answer, Rows
from .files import FactFile
from .limits import Limits, QueryProcess, refuse_addresses
from .quads import (
    ALONE,
    NODE,
    Dataset,
    Graphs,
    bare,
    forgetting,
    insertion,
    pattern,
    removal,
    renewal,
    thinning,
    with_copies,
)
from .sparql import syntax_error
from .worker import graph_term

if TYPE_CHECKING:
    import rdflib

_BUSY = "it is in use: close it there first, or open it with read_only=True"
_FORKED = (
    "was opened before this process was forked, and the engine works in no fork: open it in a process begun by "
    "multiprocessing.get_context('spawn')"
)
_first_process: list[int] = []  # id of the process that opened a folder; a fork lacks the engine's threads
MANY = 10_000  # number of quads from which new files on disk are faster than a transaction
OPENING = 10  # seconds within which a writer opens a folder
LARGE = 16 << 20  # least size in bytes of a file that is loaded at once into an empty store

_ABOUT = ox.NamedNode(ABOUT)
_UNNAMED = ox.DefaultGraph()


class LocalStore:
    """An Oxigraph store in memory (`path=None`) or in a folder, which a single process may open for writing at a time.

    EndpointStore has the same methods. Each raises InputError if the disk or the server fails.

    With `read_only` a folder is opened in its present state, also while other readers and a writer have it open. A
    folder to which another program has written is copied into memory, to renew the default graph there. Without
    `read_only` the folder is locked by `sole_writer`. A process made by `fork` cannot use a folder its parent opened.
    """

    batch = 100_000  # facts of a file per write: two quads of about 1 kB each

    def __init__(self, path: Path | None = None, read_only: bool = False, wait: float = 0) -> None:
        self._path = path
        self._dataset: rdflib.Dataset | None = None
        self._process: QueryProcess | None = None
        self._changed = self._stale = False
        self._opened_by = os.getpid()
        self._open: ox.Store | None = None
        united = noted = True
        with ExitStack() as lock:
            if path is None:
                self._open = ox.Store()
            else:
                check_folder(path, read_only)
                if not read_only:
                    lock.enter_context(sole_writer(path, wait=wait, busy=_BUSY))
                self._open, united, noted = open_folder(path, read_only, wait)
            if not united:
                if read_only:
                    self._path, folder, self._open = None, self._open, ox.Store()
                    self._open.bulk_extend(folder)
                self._renew(foreign=not noted)
            elif path is not None and not read_only:
                note_united(path)  # the engine has written a new CURRENT
            self._lock = lock.pop_all()

    @property
    def _quads(self) -> ox.Store:
        if self._open is None:
            raise InputError("this knowledge graph is closed: open it again")
        if self._path is not None and self._opened_by != os.getpid():
            raise InputError(f"the knowledge graph {self._path} {_FORKED}")
        if self._stale:
            self.renew()
        return self._open

    def graphs(self) -> Graphs:
        """Return the present graphs."""
        store = self._quads
        with engine_errors(self._path, "read"):
            names = sorted(g.value if isinstance(g, ox.NamedNode) else str(g) for g in store.named_graphs())
            named = [name for name in names if name != ABOUT]
        return Graphs(named, [], False, False, len(named) < len(names))

    def query(
        self, sparql: str, default: Sequence[str] | None = None, named: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> Answer:  # fmt: skip
        """Answer a query whose default graph is the union of `default`, and whose GRAPH ranges over `named`.

        "" in `default` is the store's own default graph. If both are None, the query's FROM clause decides, else the
        store's dataset.

        :param limits: None for queries of this package itself.
        :raises InputError: an answer beyond the limits.
        """
        store = self._quads
        try:
            if limits is not None and limits.given:
                return (limits.process or self._in_process()).query(sparql, default, named, limits)
            if limits is not None and not limits.allow_service:
                refuse_addresses(sparql, PREFIXES)
            seen: Any = None if default is None else [graph_term(name) for name in default]
            others: Any = None if named is None else [graph_term(name) for name in named]
            with engine_errors(self._path, "read"):
                answer = store.query(sparql, prefixes=PREFIXES, default_graph=seen, named_graphs=others)
        except SyntaxError as error:
            raise InputError(syntax_error(sparql, str(error)) or str(error)) from None
        if self._path is not None and isinstance(answer, ox.QuerySolutions):
            return Rows(answer, partial(engine_errors, self._path, "read"), own=False)
        return answer

    def union(self, by_name: bool) -> Dataset:
        """Return the dataset for a query over the union of all graphs and, with `by_name`, over the named graphs."""
        graphs = self.graphs() if by_name else None
        return ([""], graphs.named) if graphs and graphs.about else (None, None)

    def counts(self) -> dict[str, int]:
        """Return the number of facts of each graph that has facts."""
        return {name: number for name in self.graphs().named if (number := self.count(name))}

    def count(self, graph: str) -> int:
        """Return the number of facts of a graph or, for "", of the union."""
        return sum(1 for _ in self.match((None, None, None), graph))  # Oxigraph's COUNT never ends on a damaged block

    def match(self, terms: Sequence[Term | None], graph: str) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the facts of a graph, or of the union, with these terms as subject, predicate, object."""
        with engine_errors(self._path, "read"):
            for quad in self._quads.quads_for_pattern(*terms, graph_term(graph)):  # pyright: ignore
                yield quad.subject, quad.predicate, quad.object

    def facts(self, terms: Sequence[Term | None], graph: str, columns: str = "?s ?p ?o") -> ox.QuerySolutions | Rows:
        """As `match`, but return rows of terms."""
        where, columns = pattern(terms, columns)
        return self.select(f"SELECT {columns} {{ {where} }}", [graph] if graph else None)

    def select(self, sparql: str, default: Sequence[str] | None = None) -> ox.QuerySolutions | Rows:
        """Return the rows of a query of this package."""
        answer = self.query(sparql, default)
        assert isinstance(answer, (ox.QuerySolutions, Rows))
        return answer

    def present(self, facts: Sequence[ox.Quad]) -> list[ox.Quad]:
        """Return the facts that the store has, each once, in their order."""
        store = self._quads
        with engine_errors(self._path, "read"):
            return [fact for fact in dict.fromkeys(facts) if fact in store]

    def insert(self, facts: Sequence[ox.Quad]) -> int:
        """Add facts, also to the default graph. Return the number of new facts."""
        present = set(self.present(facts))
        new = [fact for fact in dict.fromkeys(facts) if fact not in present]
        self.change((), new)
        return len(new)

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        """Remove facts, and from the default graph the facts left in no graph. Return the number of removed facts."""
        present = self.present(facts)
        if present:
            self.change(present, ())
        return len(present)

    def change(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], updates: Sequence[str] = ()) -> None:
        """Remove facts, as `delete` does, add quads, as `insert` does, then run updates: all or nothing, at an endpoint
        in a single request."""
        if removed or updates:
            parts = [removal(removed, nodes=True)] if removed else []
            parts += [insertion(added, nodes=True)] if added else []
            with self._writing() as store:
                functions: Any = {ox.NamedNode(NODE): blank_nodes_named}
                store.update(" ;\n".join([*parts, *updates]), custom_functions=functions)
        elif len(added) < MANY:
            with self._writing() as store:
                store.extend(with_copies(added))
        else:
            with self._writing_at_once() as store:
                store.bulk_extend(with_copies(added))

    def load_first(self, file: FactFile) -> bool:
        """Add the facts of a large file and the statements about its graphs to an empty store. Return False if the file
        should be added in batches."""
        large = file.path.is_file() and file.path.stat().st_size >= LARGE
        if not large or not self._is_empty():
            return False
        with self._writing_at_once() as store:
            if not file.load_plain(store):
                store.bulk_extend(chain.from_iterable(map(with_copies, file.batches(self.batch))))
        return True

    def drop(self, graph: str) -> None:
        """Remove a graph, and from the default graph the facts left in no graph."""
        name: Any = graph_term(graph)
        facts = self._quads.quads_for_pattern(None, None, None, name)
        if isinstance(name, ox.BlankNode):  # no update can name it
            self.change(list(facts), ())
            return
        alone = self.graphs().named == [graph]
        with self._writing_at_once() as store:
            store.update(forgetting(str(name)) if alone else f"{forgetting(str(name))} ;\n{thinning(str(name))}")
            if alone:
                store.clear_graph(_UNNAMED)
            if self._path is not None:  # many small transactions are several times faster than a large one
                for quad in facts:
                    store.remove(quad)
            store.remove_graph(name)

    def renew(self) -> None:
        """Copy each fact into the default graph, and facts that were only there into a named graph."""
        self._renew(foreign=False)

    def _renew(self, *, foreign: bool) -> None:
        """Make the default graph the union of the named graphs. Its own facts go into the graph "default": all of them
        in a `foreign` store, else the facts in no other graph."""
        self._stale = False
        with self._writing() as store:
            store.update(renewal(only="" if foreign else ALONE))
        if self._path is not None:
            note_united(self._path)

    def dataset(self, read_only: bool) -> "rdflib.Dataset":
        """Return the quads as an rdflib Dataset."""
        if self._dataset is None:
            import rdflib

            from .datasets import FactStore

            self._dataset = rdflib.Dataset(
                store=FactStore(self.written_by_rdflib, self._quads, read_only), default_union=True
            )
        return self._dataset

    def written_by_rdflib(self) -> None:
        """Prepare for a change by rdflib, which writes to either the default graph or a named graph."""
        if not self._stale or self._opened_by != os.getpid():
            with self._writing() as store:
                if self._path is not None:
                    forget_united(self._path)
                store.update(bare())
            self._stale = True

    def close(self) -> None:
        """Close files, processes and connections; do nothing in a fork, because they belong to its parent."""
        if self._path is not None and self._opened_by != os.getpid():
            return
        if self._stale and self._open is not None:
            self.renew()
        self._forget_process()
        if self._dataset is not None:
            self._dataset.close()  # it also references the store, whose lock lasts until the last reference
        store, self._dataset, self._open = self._open, None, None
        if self._changed and store is not None and self._path is not None:
            with engine_errors(self._path, "write"):
                store.flush()  # see the end of this file
                note_united(self._path)
        del store  # releases the engine's lock
        self._lock.close()

    def _is_empty(self) -> bool:
        """Return whether the store has no quads."""
        with engine_errors(self._path, "read"):
            return next(self._quads.quads_for_pattern(None, None, None, None), None) is None

    @contextmanager
    def _writing(self) -> Iterator[ox.Store]:
        self._forget_process()
        self._changed = self._path is not None
        with engine_errors(self._path, "write"):
            yield self._quads

    @contextmanager
    def _writing_at_once(self) -> Iterator[ox.Store]:
        """As `_writing`, for changes in several transactions: after an error the union is renewed."""
        if self._path is not None:
            forget_united(self._path)
        try:
            with self._writing() as store:
                yield store
        except BaseException:
            self.renew()
            raise
        if self._path is not None:
            note_united(self._path)

    def _in_process(self) -> QueryProcess:
        """Return the process that answers limited queries on the present quads."""
        if self._process is None or not self._process.is_alive():
            self._forget_process()
            self._process = self.process()
        return self._process

    def process(self) -> QueryProcess:
        """Start a process that answers queries on the present quads."""
        return QueryProcess(self._path or self._quads)

    def _forget_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


# ---- Folders of graphs on disk: made, opened, or refused.
#
# The engine verifies the checksum of each block that it reads. Quads that are not in blocks yet are in a log, whose end
# it drops if a checksum is wrong. So a graph is flushed when it is closed: after that, reading a changed byte is an
# error.


_CURRENT = "CURRENT"  # a file in each folder of the engine
#: A second file: the content of CURRENT when the default graph was last the union of the others. The engine writes a
#: new CURRENT whenever a program opens the folder for writing, which reveals writes by other programs.
_UNITED = "gumption-union"


def is_united(path: Path) -> bool:
    """Return whether no other program has opened the folder for writing since `note_united`."""
    try:
        return (path / _UNITED).read_bytes() == (path / _CURRENT).read_bytes()
    except OSError:
        return False


def note_united(path: Path) -> None:
    """Record that the default graph is the union of the others."""
    with engine_errors(path, "write"):
        write_text(path / _UNITED, (path / _CURRENT).read_text(encoding="utf-8"))


def forget_united(path: Path) -> None:
    """Remove the record, before a change that an interruption could leave incomplete."""
    with engine_errors(path, "write"):
        write_text(path / _UNITED, "")


def check_folder(path: Path, read_only: bool) -> None:
    """Raise InputError for other content, no graph to read, or a fork of a process that opened a store."""
    check_name(path, "read" if read_only else "write")
    if path.is_file():
        raise InputError(f"{path} is a file: read it with KnowledgeGraph.load; a graph on disk is a folder")
    ours = (path / _CURRENT).exists()
    if not ours and path.is_dir() and not all(map(is_part, path.iterdir())):
        raise InputError(f"{path} holds other files and no knowledge graph: choose a new or an empty folder")
    if read_only and not ours:
        raise InputError(f"there is no knowledge graph at {path} to be read")
    if not _first_process:
        _first_process.append(os.getpid())
    if not read_only and _first_process != [os.getpid()]:
        raise InputError(f"{path} cannot be opened: another graph {_FORKED}")


def open_folder(path: Path, read_only: bool, wait: float) -> tuple[ox.Store, bool, bool]:
    """Open the store in a folder, or make it. Also return whether it `is_united`, and whether it was ever recorded.

    :param wait: seconds to wait for a program that has it open for writing without the lock of `sole_writer`.
    :raises InputError: a store that is in use or damaged.
    """
    begun = time.time()
    with engine_errors(path, "open"):
        if not read_only and not (path / _CURRENT).exists():
            # Made under another name, because the engine cannot open an incomplete folder.
            with whole_folder(path, replace=False) as beside:
                ox.Store(beside.resolve())
        while True:
            union = is_united(path), (path / _UNITED).exists()  # before the engine writes a new CURRENT
            try:
                # Resolved, because within a process the engine compares paths as text.
                return (ox.Store.read_only if read_only else ox.Store)(str(path.resolve())), *union
            except (OSError, RuntimeError) as error:
                # A writer that opens the folder at this moment may remove files.
                opening = "No such file" in str(error) and begun - (path / _CURRENT).stat().st_mtime < OPENING
                limit = 1 if read_only and opening else wait if "temporarily unavailable" in str(error) else 0
                if time.time() - begun >= limit:
                    raise
            time.sleep(0.05)


@contextmanager
def engine_errors(path: Path | None, what: str) -> Iterator[None]:
    """Turn errors of the engine into an InputError.

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
            text = _BUSY
        raise InputError(f"cannot {what} the knowledge graph {path or 'in memory'}: {text}") from None


@contextmanager
def undone_if_new(folder: Path) -> Iterator[None]:
    """After an InputError, remove the folder of a graph that was made in the block and is empty.

    The folder stays if another process holds it.
    """
    new = not folder.exists()
    try:
        yield
    except InputError:
        if new and (folder / _CURRENT).exists():
            with suppress(OSError, InputError), sole_writer(folder, wait=0):  # fails if another process holds it
                held = ox.Store(folder.resolve())
                if not len(held):
                    shutil.rmtree(folder.resolve())
        raise
