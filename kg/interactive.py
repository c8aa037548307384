"""The surroundings of an entity as one HTML page that works without a network: zoom, pan, facts under the pointer.

plotly reads some markup in the texts it draws (tags, entities), so every label is escaped before it gets there; in the
page its data is JSON in which `<` cannot occur, and the page's own texts are escaped as HTML.
"""

import html
from typing import Any

import numpy as np

from .scene import BORDER, CENTRE_BORDER, CENTRE_FILL, FAR_FILL, NEAR_FILL, Edge, Scene, shown

_FACTS = 20  # under the pointer
_POINTS = 15  # of a bent line
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
    """The HTML page of a scene; plotly's program (about 4.8 MB) is part of it."""
    import plotly.graph_objects as plotly

    figure = plotly.Figure([trace for relation in scene.looks for trace in _lines(scene, relation)] + [_nodes(scene)])
    axis: dict[str, Any] = {"visible": False}
    low = (scene.points - scene.boxes / 2).min(axis=0) - 0.15
    high = (scene.points + scene.boxes / 2).max(axis=0) + 0.15
    figure.update_layout(
        template="none",
        xaxis={**axis, "range": [low[0], high[0]]},
        yaxis={**axis, "range": [low[1], high[1]], "scaleanchor": "x"},
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        dragmode="pan",
        hovermode="closest",
        hoverlabel={"align": "left", "bgcolor": "white", "font": {"size": 13, "color": "#222"}},
        legend={"title": {"text": "relation"}, "itemsizing": "constant"},
    )
    shown_figure = figure.to_html(
        full_html=False, include_plotlyjs=True, div_id="neighbourhood",
        config={"scrollZoom": True, "displaylogo": False, "responsive": True},
    )  # fmt: skip
    return _PAGE.format(
        title=html.escape(shown(scene.part.centre, 60)), caption=html.escape(scene.caption), figure=shown_figure
    )


def escaped(label: str) -> str:
    """A label as plotly draws it to the letter: its tags, entities and line breaks are those of HTML."""
    return html.escape(shown(label, 200), quote=False)


def _nodes(scene: Scene) -> dict[str, Any]:
    part = scene.part
    facts: list[list[str]] = [[] for _ in part.entities]
    place = {label: index for index, label in enumerate(part.entities)}
    for fact in part.facts:
        text = " ".join(map(escaped, fact))
        for entity in sorted({place[fact[0]], place[fact[2]]}):
            facts[entity].append(text)
    fills = [CENTRE_FILL if hop == 0 else NEAR_FILL if hop == 1 else FAR_FILL for hop in part.hops.tolist()]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "showlegend": False,
        "x": scene.points[:, 0].tolist(),
        "y": scene.points[:, 1].tolist(),
        "text": ["<br>".join(map(escaped, label.split("\n"))) for label in scene.labels],
        "textposition": "top center",
        "textfont": {"size": 12, "color": "#222"},
        "hoverinfo": "text",
        "hovertext": [_hover(label, lines) for label, lines in zip(part.entities, facts, strict=True)],
        "marker": {
            "size": [18] + [11] * (len(fills) - 1),
            "color": fills,
            "line": {"width": [2.5] + [1.2] * (len(fills) - 1), "color": [CENTRE_BORDER] + [BORDER] * (len(fills) - 1)},
        },
    }


def _hover(label: str, facts: list[str]) -> str:
    more = [f"and {len(facts) - _FACTS} more facts"] if len(facts) > _FACTS else []
    return "<br>".join([f"<b>{escaped(label)}</b>", *facts[:_FACTS], *more])


def _lines(scene: Scene, relation: str) -> list[dict[str, Any]]:
    """The lines of a relation, and in the middle of each a mark with its facts, an arrow where it has one direction."""
    colour, pattern = scene.looks[relation]
    edges = [edge for edge in scene.edges if edge.relation == relation]
    curves = [_curve(scene, edge) for edge in edges]
    gap = np.full((1, 2), np.nan)
    path = np.concatenate([piece for curve in curves for piece in (curve, gap)])
    middles = np.array([curve[len(curve) // 2] for curve in curves])
    ahead = np.array([curve[len(curve) // 2 + 1] - curve[len(curve) // 2 - 1] for curve in curves])
    common = {"type": "scatter", "name": escaped(relation), "legendgroup": escaped(relation)}
    return [
        {
            **common,
            "mode": "lines",
            "x": [None if np.isnan(x) else round(x, 4) for x in path[:, 0].tolist()],
            "y": [None if np.isnan(y) else round(y, 4) for y in path[:, 1].tolist()],
            "line": {"color": colour, "width": 1.4, "dash": _DASHES[pattern]},
            "hoverinfo": "skip",
        },
        {
            **common,
            "mode": "markers",
            "showlegend": False,
            "x": np.round(middles[:, 0], 4).tolist(),
            "y": np.round(middles[:, 1], 4).tolist(),
            "marker": {
                "color": colour,
                "size": [6 if edge.both else 10 for edge in edges],
                "symbol": ["circle" if edge.both else "arrow" for edge in edges],
                "angle": np.round(np.degrees(np.arctan2(ahead[:, 0], ahead[:, 1])), 1).tolist(),
            },
            "hoverinfo": "text",
            "hovertext": ["<br>".join(" ".join(map(escaped, fact)) for fact in scene.facts(edge)) for edge in edges],
        },
    ]


def _curve(scene: Scene, edge: Edge) -> np.ndarray:
    """(points, 2) along a line: a quadratic Bezier curve as matplotlib's arc3 is, and a small round for a loop."""
    start, end = scene.points[[edge.subject, edge.object]]
    if edge.subject == edge.object:
        angle = np.linspace(-np.pi / 2, 1.5 * np.pi, _POINTS)[:, None]
        radius = 0.14 + 0.5 * abs(edge.bend)
        return start + (0, radius) + radius * np.hstack([np.cos(angle), np.sin(angle)])
    way = end - start
    control = (start + end) / 2 + 2 * edge.bend * np.array([-way[1], way[0]])
    t = np.linspace(0, 1, _POINTS)[:, None]
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
