"""Read networks of other programs as facts: graphs of networkx, and GraphML and GEXF files, which networkx reads.

A node's label is its `label` if every node has a distinct label, as in files of Gephi; else the node itself as text,
which in files is its id. An edge's relation is its `relation`, else its `label`, else its key if that is text (ids of
edges in files are ignored), else "relatedTo". An undirected edge becomes a fact in each direction. Other attributes,
and nodes without edges, are no facts.
"""

from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from gumption.data import InputError
from gumption.kg.vocabulary import Triple

if TYPE_CHECKING:
    from networkx import Graph

RELATION, LABEL, OTHERWISE = "relation", "label", "relatedTo"


class Network(NamedTuple):
    """
    :ivar triples: the facts, possibly with duplicates.
    :ivar left_out: a description of data that are no facts, for a Note; empty if nothing is left out.
    """

    triples: list[Triple]
    left_out: str


def network_facts(networks: "Iterable[Graph]", keys: bool = True) -> Network:
    """Return the facts of networkx graphs.

    :param keys: whether the keys of edges of a multigraph are relations.
    :raises InputError: an object that is no networkx graph; a node without a name, or two nodes of the same name.
    """
    import networkx

    triples: list[Triple] = []
    alone = attributes = weighted = 0
    for network in networks:
        if not isinstance(network, networkx.Graph):
            raise InputError(f"expected a graph of networkx, got {type(network).__name__}")
        labels, used = _labels(network)
        alone += sum(1 for _ in networkx.isolates(network))
        attributes += sum(not used.issuperset(data) for _, data in network.nodes(data=True))
        many = network.is_multigraph()
        shown: Any = {"keys": True} if many else {}
        usual = network.graph.get("edge_default", {})  # networkx's place for GraphML's defaults
        for subject, object_, *key, own in network.edges(data=True, **shown):
            if None in (subject, object_):
                raise InputError("an edge of the network has no source or no target")
            data = {**usual, **own}
            said = next((name for name in (RELATION, LABEL) if data.get(name) not in (None, "")), None)
            by_key = key[0] if keys and many and isinstance(key[0], str) and key[0] else OTHERWISE
            relation = by_key if said is None else str(data[said])
            weighted += any(name not in (said, "id") for name in data)
            triples.append((labels[subject], relation, labels[object_]))
            if not network.is_directed():
                triples.append((labels[object_], relation, labels[subject]))
    counts = {"nodes without edges": alone, "nodes' attributes": attributes, "edges' attributes": weighted}
    return Network(triples, ", ".join(f"{name} ({number:,})" for name, number in counts.items() if number))


def _labels(network: "Graph") -> tuple[dict[Any, str], frozenset[str]]:
    """Map nodes to labels; also return the attribute that holds the labels, if any."""
    given: dict[Any, str] = {node: text for node, text in network.nodes(data=LABEL) if isinstance(text, str) and text}
    if len(given) == len(network) == len(set(given.values())):
        return given, frozenset((LABEL,))
    labels = {node: str(node) for node in network}
    seen: set[str] = set()
    for node, label in labels.items():
        if not label or label in seen:
            raise InputError(f"the node {node!r} of the network has {'the name of another' if label else 'no name'}")
        seen.add(label)
    return labels, frozenset()


def read_network(stream: IO[bytes], ending: str) -> Network:
    """Read the facts of a whole file; networkx reads the first graph of a GEXF file, and all graphs of GraphML.

    :param stream: well-formed XML with harmless entities.
    :param ending: .graphml or .gexf.
    :raises SyntaxError: another kind of XML, or content that networkx cannot read, such as hyperedges.
    :raises InputError: as `network_facts`.
    """
    import networkx
    from networkx.readwrite.graphml import GraphMLReader

    reader, nested = GraphMLReader(), 0
    try:
        networks = [networkx.read_gexf(stream)] if ending == ".gexf" else list(reader(path=stream))
        if ending == ".graphml":
            nested = sum(1 for _ in reader.xml.iter(f"{{{reader.NS_GRAPHML}}}graph")) - len(networks)
    except (networkx.NetworkXException, KeyError, TypeError, ValueError, AttributeError) as error:
        raise SyntaxError(f"networkx cannot read this {ending} file: {error}") from None
    if nested:
        raise SyntaxError(
            "it has graphs within nodes, which networkx leaves out: move their nodes and edges to the top"
        )
    if not networks:
        raise SyntaxError(f"it has no graph: is it a {ending} file?")
    return network_facts(networks, keys=False)
