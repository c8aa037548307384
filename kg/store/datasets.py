"""Stores for rdflib: a local store, which calls its owner before each write, and an endpoint."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import pyoxigraph as ox
from oxrdflib import OxigraphStore
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from rdflib.query import Result

from gumption.data import InputError

from .limits import refuse_addresses


def _announced(name: str) -> Any:
    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        self.before_writing()
        return getattr(OxigraphStore, name)(self, *args, **keywords)

    method.__name__ = name
    return method


class FactStore(OxigraphStore):
    """The quads of a local store; `read_only` refuses writes."""

    def __init__(self, announce: Callable[[], None], quads: ox.Store, read_only: bool) -> None:
        super().__init__(store=quads)
        self._announce = announce
        self._read_only = read_only

    def before_writing(self) -> None:
        if self._read_only:
            raise InputError("this knowledge graph was opened read-only, and so is its rdflib dataset")
        self._announce()

    def query(self, query: Any, initNs: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(query, str):
            refuse_addresses(query, {**self._namespace_for_prefix, **initNs})
        return super().query(query, initNs, *arguments, **named)

    def update(self, update: Any, initNs: Any, *arguments: Any, **named: Any) -> None:
        self.before_writing()
        if isinstance(update, str):
            refuse_addresses(update, {**self._namespace_for_prefix, **initNs}, update=True)
        super().update(update, initNs, *arguments, **named)

    add = _announced("add")
    addN = _announced("addN")
    remove = _announced("remove")
    add_graph = _announced("add_graph")
    remove_graph = _announced("remove_graph")


# ---- An endpoint. rdflib's own class would follow redirects with the password, send one password to both addresses,
# and read answers of any length.


#: (query, protocol parameters for its dataset, accepted media types) -> body and media type of the answer.
Ask = Callable[[str, Mapping[str, str], str], tuple[bytes, str]]


class ReadableEndpoint(SPARQLStore):
    """An endpoint for queries."""

    def __init__(self, address: str, ask: Ask) -> None:
        super().__init__(address)
        self._ask = ask

    def _query(self, query: str, default_graph: Any = None, **_: Any) -> Result:
        dataset = {} if default_graph is None else {"default-graph-uri": str(default_graph)}
        body, media = self._ask(query, dataset, self.response_mime_types())
        return Result.parse(BytesIO(body), content_type=media)


class WritableEndpoint(SPARQLUpdateStore):
    """An endpoint for queries and updates."""

    def __init__(self, address: str, ask: Ask, change: Callable[[str], None]) -> None:
        super().__init__(address, address)
        self._ask, self._change = ask, change

    _query = ReadableEndpoint._query

    def _update(self, update: str) -> None:
        self._change(update)
