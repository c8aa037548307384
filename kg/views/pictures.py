"""Draw pictures of a graph: its statistics and an entity's neighbourhood as SVG or PNG, the latter also as HTML.

The same facts give the same bytes: fixed layout and ids, no dates or versions. The colours can be distinguished with
the common kinds of colour blindness (Okabe and Ito), line patterns in grey print. Labels are drawn literally, never as
mathematics or markup. matplotlib, networkx and plotly are imported when a picture is drawn.
"""

from __future__ import annotations

import html
import os
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gumption.data import InputError, Note
from gumption.data.errors import extra
from gumption.data.writing import check_ending, write_bytes
from gumption.kg.names import prefixed
from gumption.kg.vocabulary import Triple

from .analysis import GraphStatistics, Neighbourhood

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

ENDINGS = (".svg", ".png", ".html")  # for the picture of a neighbourhood
BARS = 25  # maximum number of relations in the picture of statistics
# Okabe-Ito without yellow; orange and sky blue are darkened, so that thin lines are visible on white.
COLOURS = ("#0072B2", "#D55E00", "#00805D", "#B0538A", "#B57B00", "#2F8FC4", "#444444")
Pattern = Literal["solid", "dashed", "dotted"]
PATTERNS: tuple[Pattern, ...] = ("solid", "dashed", "dotted")
REST: tuple[str, Pattern] = ("#A0A0A0", "solid")  # for further relations
CENTRE_FILL, NEAR_FILL, FAR_FILL = "#FFE9B8", "#FFFFFF", "#EFEFEF"
CENTRE_BORDER, BORDER = "#222222", "#7A7A7A"
DOT_FILL = "#444444"
DOT = 0.11  # inches, size of the dot of an n-ary fact
FONT_SIZE = 8.0  # points
FONT = "DejaVu Sans"
_CHARACTERS, _LINES = 16, 2  # maximum for the label in a box
_SPREAD = 0.16  # distance of lines between the same two boxes, as a share of their length
_BENDS = (0.0, 0.08, -0.08, 0.16, -0.16)  # tried in this order for a line that would pass behind boxes
_ROUNDS = 400  # maximum rounds of pushing boxes apart
_MARGIN = 0.12  # inches
_LEGEND_SIZE, _LEGEND_ROW, _LEGEND_LINE = 7.5, 0.17, 0.62
_ROLE_SIZE = 5.5
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "gumption",
    "svg.fonttype": "none",  # keep text as text: it can be searched and edited, and the file has a third of the size
    "font.size": 9.0,
    "font.family": FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw_neighbourhood(part: Neighbourhood, path: str | os.PathLike[str]) -> None:
    """Draw the neighbourhood of an entity to a .svg, .png or .html file.

    A node of an n-ary fact is a dot, with its roles on its lines. The HTML file works offline: it can zoom and pan,
    show facts under the pointer and hide relations. SVG and HTML hold labels as text; PNG has only the characters of
    DejaVu Sans, and a `Note` reports missing characters.

    :raises InputError: another ending, or a file that cannot be written.
    """
    path = Path(path)
    check_ending(path, ENDINGS)
    with _missing_characters(path):
        scene = Scene.of(part)
        if path.suffix == ".html":
            content = page(scene).encode()
        else:
            [content] = rendered(*_neighbourhood_figure(scene), path.suffix)
    write_bytes(path, content)


def draw_statistics(statistics: GraphStatistics, path: str | os.PathLike[str]) -> None:
    """Draw the numbers of facts of entities and relations to a .svg or .png file.

    The left side shows the share of entities with at least n facts, on two logarithmic axes; the right side shows the
    relations with most facts.

    :raises InputError: another ending, a graph without facts, or a file that cannot be written.
    """
    path = Path(path)
    check_ending(path, (".svg", ".png"))
    if not statistics.facts:
        raise InputError("there is nothing to draw: the graph has no facts")
    rows = min(len(statistics.relations), BARS)

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
        _draw_degrees(left, statistics)
        _draw_relations(right, statistics)

    with _missing_characters(path):
        [content] = rendered(draw, (8.6, max(3.2, 1.2 + 0.2 * rows)), path.suffix, layout="constrained")
    write_bytes(path, content)


# ---- The scene: positions and looks of boxes and lines, for every kind of picture.


@dataclass(frozen=True)
class Edge:
    """The facts of a relation between two entities, by their indices; `both` if there is a fact in each direction.

    :ivar bend: the line's bend to the left on its way from subject to object, as a share of its length.
    """

    subject: int
    object: int
    relation: str
    both: bool
    bend: float


@dataclass(frozen=True)
class Scene:
    """The layout of a neighbourhood. Lengths are inches, the centre is at (0, 0).

    :ivar labels: the texts in the boxes, at most two short lines each; empty for the dot of an n-ary fact.
    :ivar boxes: (n, 2) widths and heights.
    :ivar points: (n, 2) centres of the boxes, which do not overlap.
    """

    part: Neighbourhood
    labels: tuple[str, ...]
    boxes: np.ndarray
    points: np.ndarray
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, part: Neighbourhood) -> Scene:
        texts = ("" if entity in part.nodes else shown(entity, _CHARACTERS * _LINES) for entity in part.entities)
        wrapped = (textwrap.wrap(text, _CHARACTERS, max_lines=_LINES, placeholder="\u2026") or [text] for text in texts)
        labels = tuple(map("\n".join, wrapped))
        lines = [label.split("\n") for label in labels]
        widths = [max(map(text_width, each)) + 0.18 for each in lines]
        boxes = np.column_stack([widths, [len(each) * FONT_SIZE * 1.25 / 72 + 0.12 for each in lines]])
        boxes[[not label for label in labels]] = DOT
        edges = _edges(part)
        points = _layout(part, edges, boxes)
        return cls(part, labels, boxes, points, tuple(_around_boxes(edges, points, boxes)))

    @cached_property
    def looks(self) -> dict[str, tuple[str, Pattern]]:
        """Map relations to (colour, line pattern), sorted by number of facts, descending, then by label."""
        counts = Counter(relation for _, relation, _ in self.part.facts)
        order = sorted(counts, key=lambda relation: (-counts[relation], relation))
        known: list[tuple[str, Pattern]] = [(colour, pattern) for pattern in PATTERNS for colour in COLOURS]
        return {relation: known[rank] if rank < len(known) else REST for rank, relation in enumerate(order)}

    @property
    def caption(self) -> str:
        """The numbers of entities and facts that the picture shows, and of entities that it leaves out."""
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
        """Return whether the entity is the node of an n-ary fact."""
        return self.part.entities[index] in self.part.nodes

    def facts(self, edge: Edge) -> list[Triple]:
        """Return the one or two facts of an edge."""
        one, other = self.part.entities[edge.subject], self.part.entities[edge.object]
        there = (one, edge.relation, other)
        return [there, (other, edge.relation, one)] if edge.both else [there]


def curve(start: np.ndarray, end: np.ndarray, bend: float) -> np.ndarray:
    """Return (31, ..., 2) points along the quadratic Bezier curve between (..., 2) ends, matplotlib's arc3."""
    way = end - start
    control = (start + end) / 2 + 2 * bend * np.stack([-way[..., 1], way[..., 0]], axis=-1)
    t = np.linspace(0, 1, 31).reshape(-1, *(1,) * start.ndim)
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


def shown(label: str, characters: int) -> str:
    """Shorten a label to a line of printable characters, with an ellipsis at the end, or at the beginning of an IRI.

    A literal is shown without its datatype, an IRI with its prefix if that is known.
    """
    if label.startswith('"') and label.endswith(">"):
        label = label[: label.rindex('"') + 1]
    printable = (c if c.isprintable() or c.isspace() else "\ufffd" for c in prefixed(label))
    text = " ".join("".join(printable).split())
    if len(text) <= characters:
        return text
    if text.startswith(("http://", "https://", "urn:")):
        return "\u2026" + text[1 - characters :]
    return text[: characters - 1] + "\u2026"


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Return the width in inches of a line of text in the pictures' font."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, size=size, weight="bold")  # the widest weight in use
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def _edges(part: Neighbourhood) -> list[Edge]:
    """Return an edge for each relation between two entities; edges between the same entities bend apart."""
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
        # Seen from the other end, left is right.
        edges.append(Edge(s, o, r, s != o and (o, r, s) in facts, bend if s <= o else -bend))
    return edges


def _layout(part: Neighbourhood, edges: list[Edge], boxes: np.ndarray) -> np.ndarray:
    """Return (n, 2) centres: rings relaxed by Kamada and Kawai's springs (1989), then pushed apart."""
    import networkx

    size = len(part.entities)
    points = np.zeros((size, 2))
    if size > 1:
        network = networkx.Graph()
        network.add_nodes_from(range(size))
        network.add_edges_from((edge.subject, edge.object) for edge in edges)
        for hop in range(1, int(part.hops.max()) + 1):
            members = np.flatnonzero(part.hops == hop)
            # Rotated by a quarter of a step, because springs cannot leave a perfectly symmetric start.
            angles = 2 * np.pi * (np.arange(len(members)) + 0.25) / len(members)
            points[members] = hop * np.column_stack([np.cos(angles), np.sin(angles)])
        relaxed = networkx.kamada_kawai_layout(network, pos=dict(enumerate(points)))
        points = np.array([relaxed[entity] for entity in range(size)], dtype=np.float64)
        points -= points[0]
        points /= np.abs(points).max()
        # Scaled by the number of boxes, which are wider than high.
        points *= 0.42 * size**0.5 * np.array([1.25, 0.95]) + 0.55
    return np.round(_push_apart(points, boxes + 0.06), 3)


def _around_boxes(edges: list[Edge], points: np.ndarray, boxes: np.ndarray) -> list[Edge]:
    """Return the edges; bend a straight edge if it then passes behind fewer boxes."""
    straight = [index for index, edge in enumerate(edges) if edge.subject != edge.object and edge.bend == 0]
    ends = np.array([(edges[index].subject, edges[index].object) for index in straight], dtype=np.int64).reshape(-1, 2)
    behind = np.array([_behind(ends, bend, points, boxes) for bend in _BENDS])
    best = dict(zip(straight, behind.argmin(axis=0).tolist(), strict=True))
    return [replace(edge, bend=_BENDS[best[index]]) if index in best else edge for index, edge in enumerate(edges)]


def _behind(ends: np.ndarray, bend: float, points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return (E,) int64, the number of boxes that each line with this bend passes behind, without its (E, 2) ends."""
    rows = np.arange(len(ends))
    hidden = np.zeros((len(ends), len(points)), dtype=bool)
    for places in curve(points[ends[:, 0]], points[ends[:, 1]], bend):  # a point on each line
        hidden |= (np.abs(places[:, None] - points[None]) < boxes[None] / 2).all(axis=2)
    hidden[rows, ends[:, 0]] = hidden[rows, ends[:, 1]] = False
    return hidden.sum(axis=1)


def _push_apart(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Move overlapping boxes apart along the axis of smaller overlap; the first box stays at 0."""
    room = (boxes[:, None] + boxes[None]) / 2
    later = np.arange(len(points))[:, None] > np.arange(len(points))[None]
    for _ in range(_ROUNDS):
        apart = points[:, None] - points[None]
        missing = room - np.abs(apart)
        overlap = np.logical_and.reduce(missing > 1e-3, axis=2) & ~np.eye(len(points), dtype=bool)
        if not overlap.any():
            return points
        # Of two boxes at the same place, the later box moves right and up.
        side = np.where(apart != 0, np.sign(apart), np.where(later, 1.0, -1.0)[..., None])
        axis = missing.argmin(axis=2)[..., None] == np.arange(2)
        push = np.where(overlap[..., None] & axis, side * missing, 0.0).sum(axis=1)
        points = points + 0.6 * push / np.maximum(overlap.sum(axis=1), 1)[:, None]
        points -= points[0]
    return points * 1.02


# ---- SVG and PNG, with matplotlib.


def _neighbourhood_figure(scene: Scene) -> tuple[Callable[[Figure], None], tuple[float, float]]:
    """Return the function that draws the scene, and the figure's width and height in inches."""
    low = (scene.points - scene.boxes / 2).min(axis=0) - _MARGIN
    high = (scene.points + scene.boxes / 2).max(axis=0) + _MARGIN
    high[1] += 0.2 * any(edge.subject == edge.object for edge in scene.edges)  # a loop stands above its box
    entries = [(shown(relation, 40), look) for relation, look in scene.looks.items() if look != REST]
    if len(entries) < len(scene.looks):
        entries.append((f"{len(scene.looks) - len(entries)} others", REST))
    names = [name for name, _ in entries]
    column = _LEGEND_LINE + max((text_width(name, _LEGEND_SIZE) for name in names), default=0.0)
    width = max(high[0] - low[0], column + 2 * _MARGIN, text_width(scene.caption, _LEGEND_SIZE) + 2 * _MARGIN)
    columns = max(1, min(int((width - 2 * _MARGIN) / column), len(names)))
    below = _LEGEND_ROW * (-(-len(names) // columns) + 1) + 0.16
    middle = (low[0] + high[0]) / 2
    height = high[1] - low[1] + below

    def draw(figure: Figure) -> None:
        axis = figure.add_axes((0, below / height, 1, 1 - below / height))
        axis.set_axis_off()
        axis.set_xlim(middle - width / 2, middle + width / 2)
        axis.set_ylim(low[1], high[1])
        nodes = [_draw_box(axis, scene, index) for index in range(len(scene.labels))]
        for edge in scene.edges:
            _draw_edge(axis, scene, edge, nodes)
        _draw_legend(figure, entries, columns)
        figure.text(_MARGIN / width, 0.07 / height, scene.caption, size=_LEGEND_SIZE, color="#666666", parse_math=False)

    return draw, (width, height)


def _draw_box(axis: Axes, scene: Scene, index: int) -> FancyBboxPatch:
    from matplotlib.patches import FancyBboxPatch

    centre = index == 0
    width, height = scene.boxes[index]
    if scene.is_dot(index):
        side = width / 2**0.5  # side of the square within the circle
        dot = FancyBboxPatch(
            tuple(scene.points[index] - side / 2), side, side,
            boxstyle="circle,pad=0", facecolor=DOT_FILL, edgecolor="white", linewidth=0.5, zorder=4,
        )  # fmt: skip
        axis.add_patch(dot)
        return dot
    box = FancyBboxPatch(
        tuple(scene.points[index] - scene.boxes[index] / 2), width, height,
        boxstyle="round,pad=0,rounding_size=0.07",
        facecolor=CENTRE_FILL if centre else NEAR_FILL if scene.part.hops[index] == 1 else FAR_FILL,
        edgecolor=CENTRE_BORDER if centre else BORDER,
        linewidth=1.8 if centre else 0.7,
        zorder=4,
    )  # fmt: skip
    axis.add_patch(box)
    axis.text(
        float(scene.points[index, 0]), float(scene.points[index, 1]), scene.labels[index],
        size=FONT_SIZE, weight="bold" if centre else "normal", ha="center", va="center", linespacing=1.1,
        zorder=5, parse_math=False,
    )  # fmt: skip
    return box


def _draw_edge(axis: Axes, scene: Scene, edge: Edge, nodes: list[FancyBboxPatch]) -> None:
    from matplotlib.patches import FancyArrowPatch

    colour, pattern = scene.looks[edge.relation]
    at_centre = 0 in (edge.subject, edge.object)
    start, end = scene.points[[edge.subject, edge.object]]
    ends: dict[str, Any] = {"connectionstyle": f"arc3,rad={-2 * edge.bend:.3f}"}
    ends |= {"patchA": nodes[edge.subject], "patchB": nodes[edge.object]}
    if edge.subject == edge.object:
        top = start[1] + scene.boxes[edge.subject, 1] / 2
        start, end = (start[0] - 0.1, top), (start[0] + 0.1, top)
        ends = {"connectionstyle": f"arc3,rad={-2.2 - 4 * edge.bend:.3f}"}
    axis.add_patch(
        FancyArrowPatch(
            tuple(start), tuple(end), **ends, shrinkA=0, shrinkB=0, mutation_scale=1, color=colour, linestyle=pattern,
            arrowstyle="-" if edge.both else "-|>,head_length=5,head_width=2",
            linewidth=1.2 if at_centre else 0.7, alpha=1.0 if at_centre else 0.6, zorder=3 if at_centre else 2,
        )
    )  # fmt: skip
    if scene.is_dot(edge.subject) or scene.is_dot(edge.object):
        _write_role(axis, scene, edge, colour)


def _write_role(axis: Axes, scene: Scene, edge: Edge, colour: str) -> None:
    line = curve(scene.points[edge.subject], scene.points[edge.object], edge.bend)
    outside = np.ones(len(line), dtype=bool)
    for end in (edge.subject, edge.object):
        outside &= (np.abs(line - scene.points[end]) > scene.boxes[end] / 2).any(axis=1)
    free = np.flatnonzero(outside)
    at = int(free[len(free) // 2]) if len(free) else len(line) // 2
    before, after = line[max(at - 1, 0)], line[min(at + 1, len(line) - 1)]
    angle = float(np.degrees(np.arctan2(after[1] - before[1], after[0] - before[0])))
    axis.text(
        float(line[at, 0]), float(line[at, 1]), shown(edge.relation, 24), size=_ROLE_SIZE, color=colour,
        rotation=(angle + 90) % 180 - 90, rotation_mode="anchor", ha="center", va="center", zorder=3.5,
        parse_math=False, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.85},
    )  # fmt: skip


def _draw_legend(figure: Figure, entries: list[tuple[str, tuple[str, Pattern]]], columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour, linestyle=pattern) for _, (colour, pattern) in entries]
    width, height = figure.get_size_inches()
    corner = (_MARGIN / width, (_LEGEND_ROW + 0.1) / height)
    legend = figure.legend(
        handles, ["x"] * len(entries), loc="lower left", bbox_to_anchor=corner, ncols=columns,
        fontsize=_LEGEND_SIZE, frameon=False, handlelength=2.4, borderaxespad=0.0, borderpad=0.0, labelspacing=0.35,
        columnspacing=1.4,
    )  # fmt: skip
    # Set last, because matplotlib drops labels that begin with "_" and parses "$" as mathematics.
    for text, (name, _) in zip(legend.get_texts(), entries, strict=True):
        text.set_parse_math(False)
        text.set_text(name)


def _draw_degrees(axis: Axes, statistics: GraphStatistics) -> None:
    both = statistics.in_degree + statistics.out_degree
    for degree, label, colour, pattern in (
        (both, "either", COLOURS[6], "solid"),
        (statistics.out_degree, "subject", COLOURS[0], "dashed"),
        (statistics.in_degree, "object", COLOURS[1], "dotted"),
    ):
        values, counts = np.unique(degree, return_counts=True)
        share = counts[::-1].cumsum()[::-1] / len(degree)
        axis.step(values[values > 0], share[values > 0], where="pre", color=colour, linestyle=pattern, label=label)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("facts of an entity, at least")
    axis.set_ylabel("share of entities")
    axis.legend(title="the entity is", frameon=False, fontsize=8, title_fontsize=8)
    axis.grid(color="#E4E4E4", linewidth=0.6)
    axis.set_title("Degree", fontsize=10, loc="left")


def _draw_relations(axis: Axes, statistics: GraphStatistics) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    rows = statistics.relations[:BARS]
    places = range(len(rows))
    axis.barh(places, [row.facts for row in rows], color=COLOURS[0], height=0.68)
    for place, row in enumerate(rows):
        axis.annotate(f"{row.facts:,}", (row.facts, place), (3, 0), textcoords="offset points", va="center", size=7.5)
    axis.set_yticks(places, [shown(row.relation, 32) for row in rows], fontsize=8)
    for text in axis.get_yticklabels():
        text.set_parse_math(False)
    axis.set_ylim(max(len(rows), 7) - 0.4, -0.6)  # so that a few bars stay thin, at the top
    axis.set_xlim(0, 1.18 * rows[0].facts)
    axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.grid(axis="x", color="#E4E4E4", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_xlabel("facts")
    more = len(statistics.relations) - len(rows)
    axis.set_title(f"Relations, {more} smaller ones left out" if more else "Relations", fontsize=10, loc="left")


def rendered(
    draw: Callable[[Figure], None], size: tuple[float, float], *suffixes: str, layout: Any = None, dpi: int = 200
) -> list[bytes]:
    """Return the content of a file of each suffix, .png or .svg, with the same figure.

    :param draw: draws into the figure. :param size: in inches.
    """
    import matplotlib
    from matplotlib.figure import Figure

    metadata = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}
    contents = [BytesIO() for _ in suffixes]
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout=layout)
        draw(figure)
        for content, suffix in zip(contents, suffixes, strict=True):
            figure.savefig(content, format=suffix[1:], dpi=dpi, metadata=metadata[suffix])
    return [content.getvalue() for content in contents]


@contextmanager
def _missing_characters(path: Path) -> Iterator[None]:
    """Replace matplotlib's warnings of missing characters by one `Note` for PNG; SVG holds the text itself."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = [each for each in caught if "missing from font" in str(each.message)]
    for each in caught:
        if each not in missing:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if missing and path.suffix == ".png":
        warnings.warn(f"{path}: {FONT} lacks some characters of the labels; a .svg file has them", Note, stacklevel=4)


# ---- HTML with plotly, which parses tags and entities in texts, so that every label is escaped first. In the page its
# data is JSON without `<`, and the page's own texts are escaped as HTML.

_FACTS = 20  # maximum number of facts under the pointer
_BUTTONS = [["toImage", "pan2d", "zoom2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]]
_DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot"}
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
html, body {{ margin: 0; height: 100%; background: #fff; font-family: "DejaVu Sans", Verdana, sans-serif; }}
body {{ display: flex; flex-direction: column; }}
p {{ margin: 0; padding: 8px 14px; font-size: 13px; color: #444; }}
main {{ flex: 1; min-height: 0; }}
</style>
</head>
<body>
<p>{caption}</p>
<main>{figure}</main>
</body>
</html>
"""


def page(scene: Scene) -> str:
    """Return the HTML page of a scene, which includes plotly's program (about 4.8 MB).

    :raises InputError: plotly is not installed.
    """
    with extra("html", "an interactive picture (.html)"):
        import plotly.graph_objects as plotly

    figure = plotly.Figure([trace for relation in scene.looks for trace in _lines(scene, relation)])
    axis: dict[str, Any] = {"visible": False}
    low = (scene.points - scene.boxes / 2).min(axis=0) - 0.15
    high = (scene.points + scene.boxes / 2).max(axis=0) + 0.15
    figure.update_layout(
        template="none",
        xaxis={**axis, "range": [low[0], high[0]]},
        yaxis={**axis, "range": [low[1], high[1]], "scaleanchor": "x"},
        annotations=_boxes(scene),
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        dragmode="pan",
        hovermode="closest",
        hoverlabel={"align": "left", "bgcolor": "white", "font": {"size": 13, "color": "#222"}},
        legend={"title": {"text": "relation"}, "itemsizing": "constant", "y": 0.94},  # below the buttons,
    )
    shown_figure = figure.to_html(
        full_html=False, include_plotlyjs=True, div_id="neighbourhood",
        config={"scrollZoom": True, "displaylogo": False, "responsive": True, "modeBarButtons": _BUTTONS},
    )  # fmt: skip
    return _PAGE.format(
        title=html.escape(shown(scene.part.centre, 60)), caption=html.escape(scene.caption), figure=shown_figure
    )


def escaped(label: str) -> str:
    """Escape a label, so that plotly draws it literally."""
    return html.escape(shown(label, 200), quote=False)


def _boxes(scene: Scene) -> list[dict[str, Any]]:
    part = scene.part
    facts: list[list[str]] = [[] for _ in part.entities]
    place = {label: index for index, label in enumerate(part.entities)}
    for fact in part.facts:
        text = " ".join(map(escaped, fact))
        for entity in sorted({place[fact[0]], place[fact[2]]}):
            facts[entity].append(text)
    boxes = []
    for index, (label, hop) in enumerate(zip(part.entities, part.hops.tolist(), strict=True)):
        text = "\u25cf" if scene.is_dot(index) else "<br>".join(map(escaped, scene.labels[index].split("\n")))
        more = [f"and {len(facts[index]) - _FACTS} more facts"] if len(facts[index]) > _FACTS else []
        boxes.append(
            {
                "x": float(scene.points[index, 0]),
                "y": float(scene.points[index, 1]),
                "showarrow": False,
                "text": text if hop else f"<b>{text}</b>",
                "font": {"size": 12, "color": "#222"},
                "bgcolor": NEAR_FILL if hop == 1 else FAR_FILL if hop else CENTRE_FILL,
                "bordercolor": BORDER if hop else CENTRE_BORDER,
                "borderwidth": 0 if scene.is_dot(index) else 1 if hop else 2,
                "borderpad": 0 if scene.is_dot(index) else 3,
                "hovertext": "<br>".join([f"<b>{escaped(label)}</b>", *facts[index][:_FACTS], *more]),
            }
        )
    return boxes


def _lines(scene: Scene, relation: str) -> list[dict[str, Any]]:
    """Return the lines of a relation, each with a mark in the middle that shows its facts, an arrow for one direction.

    Lines that do not end at the centre are fainter.
    """
    colour, pattern = scene.looks[relation]
    centred = [edge for edge in scene.edges if edge.relation == relation and 0 in (edge.subject, edge.object)]
    edges = centred + [edge for edge in scene.edges if edge.relation == relation and edge not in centred]
    curves = [_curve(scene, edge) for edge in edges]
    middles = np.array([line[len(line) // 2] for line in curves])
    ahead = np.array([line[len(line) // 2 + 1] - line[len(line) // 2 - 1] for line in curves])
    common = {"type": "scatter", "name": escaped(relation), "legendgroup": escaped(relation), "showlegend": False}
    traces: list[dict[str, Any]] = [
        {
            **common,
            "mode": "lines",
            **_path(some),
            "line": {"color": colour, "width": width, "dash": _DASHES[pattern]},
            "opacity": opacity,
            "hoverinfo": "skip",
        }
        for some, width, opacity in ((curves[: len(centred)], 2.0, 1.0), (curves[len(centred) :], 1.2, 0.6))
        if some
    ]
    traces[0]["showlegend"] = True
    marks = {
        **common,
        "mode": "markers",
        "x": np.round(middles[:, 0], 4).tolist(),
        "y": np.round(middles[:, 1], 4).tolist(),
        "marker": {
            "color": colour,
            "opacity": 1,
            "size": [6 if edge.both else 9 for edge in edges],
            "symbol": ["circle" if edge.both else "triangle-up" for edge in edges],
            "angle": np.round(np.degrees(np.arctan2(ahead[:, 0], ahead[:, 1])), 1).tolist(),
        },
        "hoverinfo": "text",
        "hovertext": ["<br>".join(" ".join(map(escaped, fact)) for fact in scene.facts(edge)) for edge in edges],
    }
    return [*traces, marks]


def _path(curves: list[np.ndarray]) -> dict[str, list[float | None]]:
    """Return the curves as a single line with gaps."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for line in curves:
        xs += [*np.round(line[:, 0], 4).tolist(), None]
        ys += [*np.round(line[:, 1], 4).tolist(), None]
    return {"x": xs, "y": ys}


def _curve(scene: Scene, edge: Edge) -> np.ndarray:
    """Return (points, 2) along the line of an edge; a loop is a circle on top of its box."""
    if edge.subject != edge.object:
        return curve(scene.points[edge.subject], scene.points[edge.object], edge.bend)
    angle = np.linspace(-np.pi / 2, 1.5 * np.pi, 25)
    radius = 0.1 + 0.5 * abs(edge.bend)
    foot = scene.points[edge.subject] + np.array([0, scene.boxes[edge.subject, 1] / 4])
    return foot + radius * np.column_stack([np.cos(angle), 1 + np.sin(angle)])
