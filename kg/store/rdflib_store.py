"""Stores of rdflib that tell their owner before rdflib writes, so that the default graph can be made anew after it."""

from collections.abc import Callable
from typing import Any

import pyoxigraph as ox
from oxrdflib import OxigraphStore
from rdflib.plugins.stores.sparqlstore import SPARQLUpdateStore

from gumption.data import InputError


def _announced(name: str) -> Any:
    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        self.before_writing()
        inherited = OxigraphStore if isinstance(self, OxigraphStore) else SPARQLUpdateStore
        return getattr(inherited, name)(self, *args, **keywords)

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

    add = _announced("add")
    addN = _announced("addN")
    remove = _announced("remove")
    update = _announced("update")
    add_graph = _announced("add_graph")
    remove_graph = _announced("remove_graph")


class EndpointFacts(SPARQLUpdateStore):
    """The quads of an endpoint."""

    def __init__(self, announce: Callable[[], None], *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.before_writing = announce

    add = _announced("add")
    addN = _announced("addN")
    remove = _announced("remove")
    update = _announced("update")
    add_graph = _announced("add_graph")
    remove_graph = _announced("remove_graph")
