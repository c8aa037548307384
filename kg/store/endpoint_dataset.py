"""An endpoint as a store of rdflib that asks through our own connections.

rdflib's own would follow redirects and take the password along, send one password to both addresses, and read
answers of any length.
"""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from rdflib.query import Result

#: The query, the protocol's parameters for its dataset and what is accepted -> the answer's body and media type.
Ask = Callable[[str, Mapping[str, str], str], tuple[bytes, str]]


class ReadableEndpoint(SPARQLStore):
    """An endpoint that is only asked."""

    def __init__(self, address: str, ask: Ask) -> None:
        super().__init__(address)
        self._ask = ask

    def _query(self, query: str, default_graph: Any = None, **_: Any) -> Result:
        dataset = {} if default_graph is None else {"default-graph-uri": str(default_graph)}
        body, media = self._ask(query, dataset, self.response_mime_types())
        return Result.parse(BytesIO(body), content_type=media)


class WritableEndpoint(SPARQLUpdateStore):
    """An endpoint that is also changed."""

    def __init__(self, address: str, ask: Ask, change: Callable[[str], None]) -> None:
        super().__init__(address, address)
        self._ask, self._change = ask, change

    _query = ReadableEndpoint._query

    def _update(self, update: str) -> None:
        self._change(update)
