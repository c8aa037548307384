"""Where the surroundings of an entity are drawn: boxes, lines and their looks, for every kind of picture alike."""

import textwrap
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from gumption.kg.vocabulary import Triple

from .analysis import Neighbourhood

# Okabe-Ito without yellow; orange and sky blue darkened until a thin line of them stands out from white.
COLOURS = ("#0072B2", "#D55E00", "#00805D", "#B0538A", "#B57B00", "#2F8FC4", "#444444")
Pattern = Literal["solid", "dashed", "dotted"]
PATTERNS: tuple[Pattern, ...] = ("solid", "dashed", "dotted")
REST: tuple[str, Pattern] = ("#A0A0A0", "solid")  # of the relations for which no look is left
CENTRE_FILL, NEAR_FILL, FAR_FILL = "#FFE9B8", "#FFFFFF", "#EFEFEF"
CENTRE_BORDER, BORDER = "#222222", "#7A7A7A"
DOT_FILL = "#444444"
DOT = 0.11  # inches, of the dot that stands for an n-ary fact

FONT_SIZE = 8.0  # points
FONT = "DejaVu Sans"
_CHARACTERS, _LINES = 16, 2  # of a label in its box
_SPREAD = 0.16  # between lines that join the same two boxes, as a share of their length
_BENDS = (0.0, 0.08, -0.08, 0.16, -0.16)  # tried for a line that would pass behind boxes, in this order
_ROUNDS = 400  # of pushing boxes apart


@dataclass(frozen=True)
class Edge:
    """All facts with one relation between two entities, which are places in the list; `both` means in both directions.

    `bend` is how far the line bows to the left of its way from subject to object, as a share of its length.
    """

    subject: int
    object: int
    relation: str
    both: bool
    bend: float


@dataclass(frozen=True)
class Scene:
    """A neighbourhood with everything in its place. Lengths are inches, the centre is at (0, 0).

    :ivar labels: what stands in the boxes, at most two short lines each; `boxes` (n, 2) their widths and heights. A
        node of an n-ary fact is a dot without a label.
    :ivar points: (n, 2) centres of the boxes, which do not overlap.
    """

    part: Neighbourhood
    labels: tuple[str, ...]
    boxes: np.ndarray
    points: np.ndarray
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, part: Neighbourhood) -> "Scene":
        labels = tuple("" if entity in part.nodes else _label(entity) for entity in part.entities)
        boxes = _box_sizes(labels)
        edges = _edges(part)
        points = _layout(part, edges, boxes)
        return cls(part, labels, boxes, points, tuple(_around_boxes(edges, points, boxes)))

    @cached_property
    def looks(self) -> dict[str, tuple[str, Pattern]]:
        """Relation -> (colour, line pattern); relations with most facts in the picture first, then by label."""
        counts = Counter(relation for _, relation, _ in self.part.facts)
        order = sorted(counts, key=lambda relation: (-counts[relation], relation))
        known: list[tuple[str, Pattern]] = [(colour, pattern) for pattern in PATTERNS for colour in COLOURS]
        return {relation: known[rank] if rank < len(known) else REST for rank, relation in enumerate(order)}

    @property
    def caption(self) -> str:
        """What the picture shows, and how much did not fit."""
        nodes, hops = len(self.part.nodes), int(self.part.hops.max())
        entities = len(self.part.entities) - nodes
        facts = sum(s not in self.part.nodes and o not in self.part.nodes for s, _, o in self.part.facts)
        told = [f"{entities} {'entity' if entities == 1 else 'entities'}"]
        told += [f"{facts} fact{'' if facts == 1 else 's'}"] * (facts > 0 or not nodes)
        told += [f"{nodes} n-ary fact{'' if nodes == 1 else 's'} (dots)"] * (nodes > 0)
        text = (
            f"{', '.join(told[:-1])} and {told[-1]} within {hops} hop{'' if hops == 1 else 's'} of "
            f"{shown(self.part.centre, 40)}"
        )
        return f"{text}; {self.part.left_out} more left out" if self.part.left_out else text

    def is_dot(self, index: int) -> bool:
        """Whether the entity stands for an n-ary fact."""
        return self.part.entities[index] in self.part.nodes

    def facts(self, edge: Edge) -> list[Triple]:
        """The one or two facts that an edge stands for."""
        one, other = self.part.entities[edge.subject], self.part.entities[edge.object]
        there = (one, edge.relation, other)
        return [there, (other, edge.relation, one)] if edge.both else [there]


def curve(start: np.ndarray, end: np.ndarray, bend: float) -> np.ndarray:
    """(31, ..., 2) points along the quadratic Bezier curve between (..., 2) ends: the one matplotlib calls arc3."""
    way = end - start
    control = (start + end) / 2 + 2 * bend * np.stack([-way[..., 1], way[..., 0]], axis=-1)
    t = np.linspace(0, 1, 31).reshape(-1, *(1,) * start.ndim)
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


def shown(label: str, characters: int) -> str:
    """A label as one line of printable characters, with an ellipsis where it is longer.

    Of a literal the text is kept and its datatype left out; of an IRI that is too long the end is kept.
    """
    if label.startswith('"') and label.endswith(">"):
        label = label[: label.rindex('"') + 1]
    text = " ".join("".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in label).split())
    if len(text) <= characters:
        return text
    if text.startswith(("http://", "https://", "urn:")):
        return "\u2026" + text[1 - characters :]
    return text[: characters - 1] + "\u2026"


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Inches that a line of text takes in the font of the pictures."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, size=size, weight="bold")  # the widest that is drawn
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def _label(label: str) -> str:
    text = shown(label, _CHARACTERS * _LINES)
    return "\n".join(textwrap.wrap(text, _CHARACTERS, max_lines=_LINES, placeholder="\u2026")) or text


def _box_sizes(labels: tuple[str, ...]) -> np.ndarray:
    lines = [label.split("\n") for label in labels]
    widths = [max(map(text_width, each)) + 0.18 for each in lines]
    boxes = np.column_stack([widths, [len(each) * FONT_SIZE * 1.25 / 72 + 0.12 for each in lines]])
    boxes[[not label for label in labels]] = DOT
    return boxes


def _edges(part: Neighbourhood) -> list[Edge]:
    """One line for each relation between two entities. Those between the same two are bent apart."""
    place = {label: index for index, label in enumerate(part.entities)}
    facts = {(place[s], r, place[o]) for s, r, o in part.facts}
    single = sorted((s, o, r) for s, r, o in facts if s <= o or (o, r, s) not in facts)
    between = Counter((min(s, o), max(s, o)) for s, o, _ in single)
    drawn: Counter[tuple[int, int]] = Counter()
    edges = []
    for s, o, r in single:
        pair = (min(s, o), max(s, o))
        bend = _SPREAD * (drawn[pair] - (between[pair] - 1) / 2)
        drawn[pair] += 1
        # Seen from the other end a line bows to the other side.
        edges.append(Edge(s, o, r, s != o and (o, r, s) in facts, bend if s <= o else -bend))
    return edges


def _layout(part: Neighbourhood, edges: list[Edge], boxes: np.ndarray) -> np.ndarray:
    """(n, 2) centres: Kamada and Kawai's springs (1989) from rings around the centre, then overlaps pushed apart."""
    import networkx

    size = len(part.entities)
    points = np.zeros((size, 2))
    if size > 1:
        network = networkx.Graph()
        network.add_nodes_from(range(size))
        network.add_edges_from((edge.subject, edge.object) for edge in edges)
        rings = networkx.kamada_kawai_layout(network, pos=dict(enumerate(_rings(part.hops))))
        points = np.array([rings[entity] for entity in range(size)], dtype=np.float64)
        points -= points[0]
        points /= np.abs(points).max()
        # Room for each box in the mean, wider than high as the boxes are.
        points *= 0.42 * size**0.5 * np.array([1.25, 0.95]) + 0.55
    return np.round(_push_apart(points, boxes + 0.06), 3)


def _around_boxes(edges: list[Edge], points: np.ndarray, boxes: np.ndarray) -> list[Edge]:
    """The edges, a straight one bent where it then passes behind fewer boxes of others."""
    straight = [index for index, edge in enumerate(edges) if edge.subject != edge.object and edge.bend == 0]
    ends = np.array([(edges[index].subject, edges[index].object) for index in straight], dtype=np.int64).reshape(-1, 2)
    behind = np.array([_behind(ends, bend, points, boxes) for bend in _BENDS])
    best = dict(zip(straight, behind.argmin(axis=0).tolist(), strict=True))
    return [replace(edge, bend=_BENDS[best[index]]) if index in best else edge for index, edge in enumerate(edges)]


def _behind(ends: np.ndarray, bend: float, points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """(E,) int64: behind how many boxes other than their (E, 2) ends lines with this bend pass."""
    rows = np.arange(len(ends))
    hidden = np.zeros((len(ends), len(points)), dtype=bool)
    for places in curve(points[ends[:, 0]], points[ends[:, 1]], bend):  # one place on each line
        hidden |= (np.abs(places[:, None] - points[None]) < boxes[None] / 2).all(axis=2)
    hidden[rows, ends[:, 0]] = hidden[rows, ends[:, 1]] = False
    return hidden.sum(axis=1)


def _rings(hops: np.ndarray) -> np.ndarray:
    points = np.zeros((len(hops), 2))
    for hop in range(1, int(hops.max()) + 1):
        members = np.flatnonzero(hops == hop)
        # A quarter of a step off the axes: springs do not get away from a perfectly symmetric start.
        angles = 2 * np.pi * (np.arange(len(members)) + 0.25) / len(members)
        points[members] = hop * np.column_stack([np.cos(angles), np.sin(angles)])
    return points


def _push_apart(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Move boxes that overlap along the axis where less is missing; the first one stays at 0."""
    room = (boxes[:, None] + boxes[None]) / 2
    later = np.arange(len(points))[:, None] > np.arange(len(points))[None]
    for _ in range(_ROUNDS):
        apart = points[:, None] - points[None]
        missing = room - np.abs(apart)
        overlap = np.logical_and.reduce(missing > 1e-3, axis=2) & ~np.eye(len(points), dtype=bool)
        if not overlap.any():
            return points
        # Of two at the same place the later one goes right and up.
        side = np.where(apart != 0, np.sign(apart), np.where(later, 1.0, -1.0)[..., None])
        axis = missing.argmin(axis=2)[..., None] == np.arange(2)
        push = np.where(overlap[..., None] & axis, side * missing, 0.0).sum(axis=1)
        points = points + 0.6 * push / np.maximum(overlap.sum(axis=1), 1)[:, None]
        points -= points[0]
    return points * 1.02
