"""The And-Or grammar of Appendix B as a graph; draw it for the world or with an agent's learning (Fig. 2, b to d).

An Or node is one of several alternatives, an And node all of its parts, a Set node some of them. The spatial grammar
(Definition 10) leads from all panels to digits, the temporal grammar (Definition 12) from all options through lengths
to primitives. The causal grammar (Definition 14) has a root of all scenarios over panels and options, and joins a digit
with the options that use it up. Options that differ only in the order of their primitives share a node, since they have
the same effect (3.2). The grammar is the same in all four directions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.agents.plots import save_figure
from gumption.data.settings import checked
from gumption.envs.halma.knowledge_base import KnowledgeBases, primitives_of
from gumption.envs.halma.maze import ALL_COLOURS, DIRECTIONS, SHAPES
from gumption.envs.halma.rules import RULES, OptLen, Rules

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from networkx import DiGraph

HEIGHTS = {"scenarios": 6.8, "panels": 6.0, "panel": 5.2, "colour": 4.4, "digit": 3.4, "options": 2.9, "length": 2.4,
           "option": 1.2, "primitive": 0.0}  # fmt: skip
MARKS = {"or": ("o", "Or"), "set": ("D", "Set"), "terminal": ("8", "terminal")}  # options, the And nodes, are boxes
ROW_NAMES = {"digit": "digits", "length": "cells", "option": "options", "primitive": "primitives"}
_INKS = dict(zip(DIRECTIONS, ("#C62828", "#C86A00", "#A08000", "#2E7D32"), strict=True))  # colours of the directions
_UNKNOWN = "#D8D8D8"


@checked
def grammar(max_opt_len: OptLen = 5, rules: Rules = RULES) -> DiGraph:
    """Build the grammar of options of up to `max_opt_len` primitives whose length is a digit, at most 9 in the paper.

    Nodes are tuples (level, item): a level is one of HEIGHTS, and an option is the sorted indices of its primitives.
    Nodes have `kind`, "or", "and", "set" or "terminal", and `label`; edges have `relation`, "part" or "usedUpBy".
    """
    import networkx

    graph = networkx.DiGraph()

    def add(node: tuple[str, Any], kind: str, label: str, *whole: tuple[str, Any]) -> None:
        graph.add_node(node, kind=kind, label=label)
        graph.add_edges_from(((one, node) for one in whole), relation="part")

    scenarios, panels, panel, options = ("scenarios", ""), ("panels", ""), ("panel", ""), ("options", "")
    add(scenarios, "or", "all scenarios")
    add(panels, "or", "all panels")
    add(panel, "set", "panel", panels, scenarios)
    add(options, "or", "all options", scenarios)
    for colour in (*ALL_COLOURS, "hint"):
        add(("colour", colour), "or", colour, panel)
    for primitive, name in enumerate(rules.primitive_names):
        add(("primitive", primitive), "terminal", name)
    lengths = range(1, rules.side)
    for value in lengths:
        add(("digit", value), "terminal", str(value), *(("colour", colour) for colour in ALL_COLOURS))
        add(("length", value), "or", str(value), options)
        graph.add_edge(("digit", value), ("length", value), relation="usedUpBy")
    for shape in SHAPES:
        add(("digit", shape), "terminal", shape, ("colour", "hint"))
    for count in range(1, min(max_opt_len, len(lengths)) + 1):
        for bag in combinations_with_replacement(range(1, rules.count), count):
            if (length := int(rules.digits[list(bag)].sum())) in lengths:
                add(("option", bag), "and", "+".join(rules.primitive_names[part] for part in bag), ("length", length))
                parts = {*bag, *([0] if count < max_opt_len else [])}  # zeros fill up an option
                for part in sorted(parts):
                    graph.add_edge(("option", bag), ("primitive", part), relation="part")
    return graph


def learned(knowledge: KnowledgeBases, direction: int) -> dict[tuple[str, Any], int]:
    """Return visits by node, of the options that used up understood digits of a direction, and of the options' parts.

    Options of other directions, from literal knowledge bases, are left out: there is one grammar per direction.
    """
    visits: dict[tuple[str, Any], int] = {}
    for digit, type_, moved, code, count in knowledge.affordance_options.tolist():
        if type_ == moved == direction and knowledge.understood[digit, type_]:
            bag = tuple(sorted(primitives_of(code, knowledge.rules)))
            length = int(knowledge.rules.digits[list(bag)].sum())
            used = {("digit", digit), ("length", length), ("option", bag), *(("primitive", part) for part in bag)}
            for node in sorted(used, key=str):
                visits[node] = visits.get(node, 0) + count
    return visits


@checked
def plot_grammar(
    stem: str | os.PathLike[str],
    knowledge: KnowledgeBases | None = None,
    *,
    max_opt_len: OptLen = 5,
    rules: Rules = RULES,
    title: str = "",
) -> tuple[Path, Path]:
    """Write STEM.png and STEM.svg: the world's grammar; or with knowledge bases the part that an agent has learned, by
    direction, with its visits.

    :param max_opt_len, rules: of the world; an agent's knowledge has its own.
    """
    whole = grammar(max_opt_len, rules) if knowledge is None else grammar(knowledge.max_opt_len, knowledge.rules)

    def draw(figure: Figure) -> None:
        if knowledge is None:
            _draw(figure.subplots(), whole, None, "#333333")
            return
        levels = ("digit", "length", "option", "primitive")
        own = whole.subgraph([node for node in whole if node[0] in levels and node[1] not in SHAPES])
        for axis, (d, direction) in zip(figure.subplots(2, 2).ravel(), enumerate(DIRECTIONS), strict=True):
            visits = learned(knowledge, d)
            _draw(axis, own, visits, _INKS[direction])
            bags = [node for node in own if node[0] == "option"]
            digits = sum(node[0] == "digit" for node in visits)
            axis.set_title(
                f"{direction}: {digits} of {knowledge.rules.side - 1} digits understood, by "
                f"{sum(bag in visits for bag in bags)} of {len(bags)} options",
                fontsize=10,
            )

    return save_figure(draw, (15.0, 8.0) if knowledge is None else (22.0, 13.0), Path(stem), title)


def _draw(axis: Axes, graph: DiGraph, visits: Mapping[tuple[str, Any], int] | None, ink: str) -> None:
    """:param visits: visits of the highlighted nodes; None highlights all."""
    import networkx

    axis.set_axis_off()
    lit = {node for node in graph if visits is None or node in visits}
    where = _places(graph)
    edges = [(a, b, of, a in lit and b in lit) for a, b, of in graph.edges(data="relation")]
    for relation, style in (("part", "solid"), ("usedUpBy", "dashed")):
        for bright, colour, width in ((False, _UNKNOWN, 0.3), (True, ink, 0.6)):
            own = [(a, b) for a, b, of, shines in edges if (of, shines) == (relation, bright)]
            networkx.draw_networkx_edges(
                graph, where, own, ax=axis, arrows=False, style=style, edge_color=colour, width=width
            )
    for kind, (mark, name) in MARKS.items():
        nodes = [node for node, of in graph.nodes(data="kind") if of == kind and node[0] != "option"]
        border = [ink if node in lit else _UNKNOWN for node in nodes]
        if nodes:
            networkx.draw_networkx_nodes(
                graph, where, nodes, ax=axis, node_shape=mark, node_size=620, node_color="white", edgecolors=border,
                label=name if visits is None else None,
            )  # fmt: skip
    for node, label in graph.nodes(data="label"):
        colour = ink if node in lit else "#9A9A9A"
        option = node[0] == "option"
        box = {"boxstyle": "square,pad=0.3", "facecolor": "white", "edgecolor": colour, "linewidth": 0.8}
        count = f"  ({visits[node]:,})" if option and visits is not None and node in visits else ""
        axis.text(
            *where[node], f"{label}{count}", ha="center", va="center", fontsize=6, color=colour, zorder=4,
            rotation=90 if option else 0, bbox=box if option else None,
        )  # fmt: skip
    left = min(x for x, _ in where.values()) - 1.5
    for level, name in ROW_NAMES.items():
        axis.text(left, HEIGHTS[level], name, ha="right", va="center", fontsize=8)
    if visits is None:
        axis.plot([], [], "s", color="white", markeredgecolor=ink, markersize=12, label="And")
        axis.plot([], [], "--", color=ink, linewidth=0.8, label="a digit, and the options that use it up")
        axis.legend(loc="upper right", frameon=False, fontsize=8, markerscale=0.6)


def _places(graph: DiGraph) -> dict[tuple[str, Any], tuple[float, float]]:
    """Return node positions: each level is a row; options are placed under their length."""
    values = [node[1] for node in graph if node[0] == "length"]
    under = {value: [node for node in graph["length", value] if node[0] == "option"] for value in values}
    options = [node for value in values for node in sorted(under[value], key=lambda node: (len(node[1]), node[1]))]
    width = max(len(options), 20)
    places = {node: (float(i) * width / len(options), HEIGHTS["option"]) for i, node in enumerate(options)}
    for value in values:
        own = [places[node][0] for node in under[value]]
        x = float(np.mean(own)) if own else width * value / (len(values) + 1)
        places[("length", value)] = (x, HEIGHTS["length"])
        places[("digit", value)] = (x, HEIGHTS["digit"])
    for level in ("scenarios", "panels", "panel", "colour", "options", "primitive", "digit"):
        rest = [node for node in graph if node[0] == level and node not in places]
        for i, node in enumerate(rest):
            share = (i + 1) / (len(rest) + 1)
            x = width * share if level != "digit" else width * (1.04 + 0.06 * i)
            places[node] = (-0.05 * width if level == "options" else x, HEIGHTS[level])
    return places
