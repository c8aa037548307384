"""A local store as one of rdflib's, which tells its owner before rdflib writes, so that the default graph can be made
anew after it."""

from collections.abc import Callable
from typing import Any

import pyoxigraph as ox
from oxrdflib import OxigraphStore

from gumption.data import InputError

from .limits import refuse_addresses


def _announced(name: str) -> Any:
    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        self.before_writing()
        return getattr(OxigraphStore, name)(self, *args, **keywords)

    method.__name__ = name
    return method


class FactStore(OxigraphStore):
    """The quads of a local store; with `read_only` nothing can be written."""

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
