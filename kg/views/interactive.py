"""The surroundings of an entity as one HTML page that works without a network: zoom, pan, facts under the pointer.

plotly reads some markup in the texts it draws (tags, entities), so every label is escaped before it gets there; in the
page its data is JSON in which `<` cannot occur, and the page's own texts are escaped as HTML.
"""

import html
from typing import Any

import numpy as np

from gumption.data.extras import extra

from .scene import BORDER, CENTRE_BORDER, CENTRE_FILL, FAR_FILL, NEAR_FILL, Edge, Scene, curve, shown

_FACTS = 20  # under the pointer
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
    """The HTML page of a scene; plotly's program (about 4.8 MB) is part of it.

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
    """A label as plotly draws it to the letter: its tags, entities and line breaks are those of HTML."""
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
                "hovertext": _hover(label, facts[index]),
            }
        )
    return boxes


def _hover(label: str, facts: list[str]) -> str:
    more = [f"and {len(facts) - _FACTS} more facts"] if len(facts) > _FACTS else []
    return "<br>".join([f"<b>{escaped(label)}</b>", *facts[:_FACTS], *more])


def _lines(scene: Scene, relation: str) -> list[dict[str, Any]]:
    """The lines of a relation, and in the middle of each a mark with its facts, an arrow where it has one direction.

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
    """Curves as one line that is interrupted between them."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for line in curves:
        xs += [*np.round(line[:, 0], 4).tolist(), None]
        ys += [*np.round(line[:, 1], 4).tolist(), None]
    return {"x": xs, "y": ys}


def _curve(scene: Scene, edge: Edge) -> np.ndarray:
    """(points, 2) along the line of an edge; that of a loop is a circle that stands on its box."""
    if edge.subject != edge.object:
        return curve(scene.points[edge.subject], scene.points[edge.object], edge.bend)
    angle = np.linspace(-np.pi / 2, 1.5 * np.pi, 25)
    radius = 0.1 + 0.5 * abs(edge.bend)
    foot = scene.points[edge.subject] + np.array([0, scene.boxes[edge.subject, 1] / 4])
    return foot + radius * np.column_stack([np.cos(angle), 1 + np.sin(angle)])
