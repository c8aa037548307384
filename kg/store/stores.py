"""The local store of quads, Oxigraph in memory or on disk. endpoint.py has the remote one.

Stores take and return pyoxigraph terms, and their methods are all that KnowledgeGraph uses.

Each fact is stored in its named graph, and once in the default graph, where clients that know nothing of gumption look.
A view of all named graphs would not do: Oxigraph repeats a fact for each graph that has it (0.5.13), which would
falsify counts and joins.
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
_first_process: list[int] = []  # that opened a folder: the threads of the engine are there, and in no fork of it
MANY = 10_000  # quads for which new files on disk are quicker than a transaction
OPENING = 10  # seconds after which a writer is done with opening a folder
LARGE = 16 << 20  # bytes of a file that is loaded at once into an empty store

_ABOUT = ox.NamedNode(ABOUT)
_UNNAMED = ox.DefaultGraph()


class LocalStore:
    """An Oxigraph store in memory (`path=None`) or in a folder, which one process at a time may hold for writing.

    EndpointStore has the same methods. Each raises InputError where the disk or the server fails.

    With `read_only` a folder is opened as it is now, beside other readers and a writer; one in which another program
    has written is copied into memory, where the default graph can be made the union of the others. Else it is locked as
    by `sole_writer`. A process made by `fork` cannot use a folder that its parent opened.
    """

    batch = 100_000  # facts of a file that are written at once: two quads of about 1 kB each

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
                note_united(path)  # the engine has written another CURRENT
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
        """The graphs as they are now."""
        store = self._quads
        with engine_errors(self._path, "read"):
            names = sorted(g.value if isinstance(g, ox.NamedNode) else str(g) for g in store.named_graphs())
            named = [name for name in names if name != ABOUT]
        return Graphs(named, [], False, False, len(named) < len(names))

    def query(
        self, sparql: str, default: Sequence[str] | None = None, named: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> Answer:  # fmt: skip
        """The answer to a query whose default graph is the union of `default`, and whose GRAPH ranges over `named`.

        "" among `default` is the store's own default graph. Where both are None, the query's FROM decides, else the
        store.

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
        """The dataset that shows the union of all graphs, and them `by_name`."""
        graphs = self.graphs() if by_name else None
        return ([""], graphs.named) if graphs and graphs.about else (None, None)

    def counts(self) -> dict[str, int]:
        """Graph with facts -> how many."""
        return {name: number for name in self.graphs().named if (number := self.count(name))}

    def count(self, graph: str) -> int:
        """How many facts a graph or, for "", the union has."""
        return sum(1 for _ in self.match((None, None, None), graph))  # Oxigraph's COUNT never ends on a damaged block

    def match(self, terms: Sequence[Term | None], graph: str) -> Iterator[tuple[Any, Any, Any]]:
        """The facts of a graph, or of the union, that have these terms as subject, predicate, object."""
        with engine_errors(self._path, "read"):
            for quad in self._quads.quads_for_pattern(*terms, graph_term(graph)):  # pyright: ignore
                yield quad.subject, quad.predicate, quad.object

    def facts(self, terms: Sequence[Term | None], graph: str, columns: str = "?s ?p ?o") -> ox.QuerySolutions | Rows:
        """As `match`, but rows of terms."""
        where, columns = pattern(terms, columns)
        return self.select(f"SELECT {columns} {{ {where} }}", [graph] if graph else None)

    def select(self, sparql: str, default: Sequence[str] | None = None) -> ox.QuerySolutions | Rows:
        """The rows of a query of this package."""
        answer = self.query(sparql, default)
        assert isinstance(answer, (ox.QuerySolutions, Rows))
        return answer

    def present(self, facts: Sequence[ox.Quad]) -> list[ox.Quad]:
        """Those that the store has, each once, in their order."""
        store = self._quads
        with engine_errors(self._path, "read"):
            return [fact for fact in dict.fromkeys(facts) if fact in store]

    def insert(self, facts: Sequence[ox.Quad]) -> int:
        """Add facts, also to the default graph; how many of them were new."""
        present = set(self.present(facts))
        new = [fact for fact in dict.fromkeys(facts) if fact not in present]
        self.change((), new)
        return len(new)

    def delete(self, facts: Sequence[ox.Quad]) -> int:
        """Remove facts, from the default graph those that no other graph has; how many there were."""
        present = self.present(facts)
        if present:
            self.change(present, ())
        return len(present)

    def change(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], updates: Sequence[str] = ()) -> None:
        """Remove facts, as `delete` does, add quads, as `insert` does, then carry out updates: all or nothing, at an
        endpoint in one request."""
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
        """Add the facts of a large file to an empty store, and what it keeps beside them; False where the file should
        come in batches."""
        large = file.path.is_file() and file.path.stat().st_size >= LARGE
        if not large or not self._is_empty():
            return False
        with self._writing_at_once() as store:
            if not file.load_plain(store):
                store.bulk_extend(chain.from_iterable(map(with_copies, file.batches(self.batch))))
        return True

    def drop(self, graph: str) -> None:
        """Remove a graph, and from the default graph the facts that no other graph has."""
        name: Any = graph_term(graph)
        facts = self._quads.quads_for_pattern(None, None, None, name)
        if isinstance(name, ox.BlankNode):  # which no update can name
            self.change(list(facts), ())
            return
        alone = self.graphs().named == [graph]
        with self._writing_at_once() as store:
            store.update(forgetting(str(name)) if alone else f"{forgetting(str(name))} ;\n{thinning(str(name))}")
            if alone:
                store.clear_graph(_UNNAMED)
            if self._path is not None:  # many transactions are several times faster than a large one
                for quad in facts:
                    store.remove(quad)
            store.remove_graph(name)

    def renew(self) -> None:
        """Copy each fact into the default graph, and those that were only there into a named graph."""
        self._renew(foreign=False)

    def _renew(self, *, foreign: bool) -> None:
        """Make the default graph the union of the named ones, among them "default" with its own facts: all of those of
        a `foreign` store, else those of no other graph."""
        self._stale = False
        with self._writing() as store:
            store.update(renewal(only="" if foreign else ALONE))
        if self._path is not None:
            note_united(self._path)

    def dataset(self, read_only: bool) -> "rdflib.Dataset":
        """The quads as an rdflib Dataset."""
        if self._dataset is None:
            import rdflib

            from .datasets import FactStore

            self._dataset = rdflib.Dataset(
                store=FactStore(self.written_by_rdflib, self._quads, read_only), default_union=True
            )
        return self._dataset

    def written_by_rdflib(self) -> None:
        """Prepare for a change by rdflib, which writes to the default graph or to a named one, not to both."""
        if not self._stale or self._opened_by != os.getpid():
            with self._writing() as store:
                if self._path is not None:
                    forget_united(self._path)
                store.update(bare())
            self._stale = True

    def close(self) -> None:
        """Close files, processes and connections; in a fork nothing, because they are its parent's."""
        if self._path is not None and self._opened_by != os.getpid():
            return
        if self._stale and self._open is not None:
            self.renew()
        self._forget_process()
        if self._dataset is not None:
            self._dataset.close()  # it holds the store, too, whose lock lasts as long as its last holder
        store, self._dataset, self._open = self._open, None, None
        if self._changed and store is not None and self._path is not None:
            with engine_errors(self._path, "write"):
                store.flush()  # see the end of this file
                note_united(self._path)
        del store  # which releases the engine's lock
        self._lock.close()

    def _is_empty(self) -> bool:
        """Whether it has no quads at all."""
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
        """As `_writing`, for changes in several transactions: after an interruption, the union is made anew."""
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
        """The process that answers limited queries, with the quads of now."""
        if self._process is None or not self._process.is_alive():
            self._forget_process()
            self._process = self.process()
        return self._process

    def process(self) -> QueryProcess:
        """A new process that answers queries on the quads of now."""
        return QueryProcess(self._path or self._quads)

    def _forget_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


# ---- Folders of graphs on disk: made whole, opened, or refused.
#
# The engine checks the checksum of each block that it reads; quads that are not in blocks yet stand in a log, whose end
# it drops where a checksum is wrong. So a graph is flushed when it is closed: after that a changed byte is an error as
# soon as it is read.


_CURRENT = "CURRENT"  # a file in each folder of the engine
#: Beside it: what CURRENT held when the default graph was last the union of the others. The engine writes another
#: CURRENT each time that a program opens the folder for writing, so that changes of other programs are seen.
_UNITED = "gumption-union"


def is_united(path: Path) -> bool:
    """Whether no other program has opened the folder for writing since `note_united`."""
    try:
        return (path / _UNITED).read_bytes() == (path / _CURRENT).read_bytes()
    except OSError:
        return False


def note_united(path: Path) -> None:
    """Note that the default graph is the union of the others."""
    with engine_errors(path, "write"):
        write_text(path / _UNITED, (path / _CURRENT).read_text(encoding="utf-8"))


def forget_united(path: Path) -> None:
    """Take the note back, before a change that an interruption could leave half done."""
    with engine_errors(path, "write"):
        write_text(path / _UNITED, "")


def check_folder(path: Path, read_only: bool) -> None:
    """Raise InputError for something else there, nothing there to read, or a fork of a process that opened a store."""
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
    """The store in a folder, which is made where there is none; whether it `is_united`, and whether it ever was noted.

    :param wait: seconds to wait for another program that has opened it for writing, without the lock of `sole_writer`.
    :raises InputError: a store that is in use or damaged.
    """
    begun = time.time()
    with engine_errors(path, "open"):
        if not read_only and not (path / _CURRENT).exists():
            # Made beside its place, because the engine cannot open a folder that it had only begun.
            with whole_folder(path, replace=False) as beside:
                ox.Store(beside.resolve())
        while True:
            union = is_united(path), (path / _UNITED).exists()  # before the engine writes another CURRENT
            try:
                # Resolved, because within one process the engine compares paths as they are written.
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
            text = _BUSY
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
            with suppress(OSError, InputError), sole_writer(folder, wait=0):  # else somebody holds it
                held = ox.Store(folder.resolve())
                if not len(held):
                    shutil.rmtree(folder.resolve())
        raise
