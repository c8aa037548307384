"""An endpoint as a store of rdflib that asks through our own connections.

rdflib's own would follow redirects and take the password along, send one password to both addresses, and read
answers of any length.
"""

from io import BytesIO
from typing import TYPE_CHECKING, Any

from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from rdflib.query import Result

if TYPE_CHECKING:
    from .endpoint import EndpointStore


class ReadableEndpoint(SPARQLStore):
    """An endpoint that is only asked."""

    def __init__(self, endpoint: "EndpointStore") -> None:
        super().__init__(endpoint.query_url)
        self._endpoint = endpoint

    def _query(self, query: str, default_graph: Any = None, **_: Any) -> Result:
        dataset = {} if default_graph is None else {"default-graph-uri": str(default_graph)}
        body, media = self._endpoint.ask(query, dataset, self.response_mime_types())
        return Result.parse(BytesIO(body), content_type=media)


class WritableEndpoint(SPARQLUpdateStore):
    """An endpoint that is also changed."""

    def __init__(self, endpoint: "EndpointStore") -> None:
        super().__init__(endpoint.query_url, endpoint.query_url)
        self._endpoint = endpoint

    _query = ReadableEndpoint._query

    def _update(self, update: str) -> None:
        self._endpoint.change((), (), [update])
