"""Pictures: the same facts give the same bytes, nothing overlaps, and hostile labels stay text."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gumption.data import InputError
from gumption.kg import Vocabulary
from gumption.kg.views.analysis import Neighbourhood, graph_statistics, neighbourhood
from gumption.kg.views.pictures import COLOURS, PATTERNS, REST, Scene, curve, draw_neighbourhood, draw_statistics, shown

STEAM = [
    ("fire", "componentOf", "steam"),
    ("water", "componentOf", "steam"),
    ("fire", "combinesWith", "water"),
    ("water", "combinesWith", "fire"),
    ("fire", "combinesWith", "fire"),
    ("steam", "componentOf", "cloud"),
    ("steam", "combinesWith", "air"),
    ("air", "combinesWith", "steam"),
]
CENTRE = "a_$x^$ & <b>bold</b>"
HOSTILE = [
    (CENTRE, "_hidden$r$", "<img src=x onerror=alert(1)>"),
    (CENTRE, "<script>alert(2)</script>", "two\nlines\x00\x07"),
    ("</script><script>alert(3)</script>", "%{meta[0]}", CENTRE),
    (CENTRE, "knows", '<a href="javascript:alert(4)">click</a>'),
    (CENTRE, "says", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    (CENTRE, "sees", "http://example.org/a/rather/long/path/to/some/Thing"),
    (CENTRE, "loops", CENTRE),
]
DRAW = """
import sys
from test_pictures import STEAM, part_of, statistics_of
from gumption.kg.views.pictures import draw_neighbourhood, draw_statistics
for ending in ("svg", "png", "html"):
    draw_neighbourhood(part_of(STEAM, "steam"), f"{sys.argv[1]}.{ending}")
draw_statistics(statistics_of(STEAM), f"{sys.argv[1]}-statistics.svg")
"""
NODES = st.sampled_from([*"abcdefgh", "a somewhat longer label", "x" * 60])
FACTS = st.lists(st.tuples(NODES, st.sampled_from("rst"), NODES), min_size=1, max_size=40)


def part_of(triples, centre: str, hops: int = 2, room: int = 60) -> Neighbourhood:
    vocabulary = Vocabulary.from_triples(triples)
    return neighbourhood(vocabulary, np.unique(vocabulary.triples_to_ids(triples), axis=0), centre, hops, room)


def statistics_of(triples):
    vocabulary = Vocabulary.from_triples(triples)
    return graph_statistics(vocabulary, np.unique(vocabulary.triples_to_ids(triples), axis=0))


def svg_texts(path: Path) -> set[str]:
    root = ElementTree.parse(path).getroot()
    return {"".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")}


class Page(HTMLParser):
    """The tags of a page, the text outside of scripts and styles, and the scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.links: list[str | None] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "action", "onerror", "onload")]

    def handle_data(self, data):
        if self.tags[-1:] == ["script"]:
            self.scripts.append(data)
        elif self.tags[-1:] != ["style"]:
            self.text += data


def figure_of(page: Page) -> tuple[list[dict], dict]:
    """Data and layout as they stand in the script that draws."""
    (script,) = [script for script in page.scripts if "Plotly.newPlot(" in script and len(script) < 1_000_000]
    decoder = json.JSONDecoder()
    start = script.index("[", script.index("Plotly.newPlot("))
    data, end = decoder.raw_decode(script, start)
    layout, _ = decoder.raw_decode(script, script.index("{", end))
    return data, layout


def texts_of(data: list[dict], layout: dict) -> list[str]:
    """All strings that plotly draws."""
    found = [trace["name"] for trace in data]
    found += [text for trace in data for text in trace.get("hovertext", [])]
    return found + [box[key] for box in layout["annotations"] for key in ("text", "hovertext")]


def test_every_kind_of_file_is_written_whole_and_alone(tmp_path):
    for name in ("made/steam.svg", "made/steam.png", "made/steam.html"):
        draw_neighbourhood(part_of(STEAM, "steam"), tmp_path / name)
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["steam.html", "steam.png", "steam.svg"]
    texts = svg_texts(tmp_path / "made/steam.svg")
    assert {"fire", "water", "steam", "cloud", "air", "combinesWith", "componentOf"} <= texts
    assert "5 entities and 8 facts within 1 hop of steam" in texts
    with Image.open(tmp_path / "made/steam.png") as image:
        colours = {f"#{r:02X}{g:02X}{b:02X}" for _, (r, g, b) in image.convert("RGB").getcolors(1 << 24) or []}
    assert {*COLOURS[:2], "#FFE9B8"} <= colours  # both relations, and the centre that is marked


@pytest.mark.slow
def test_same_facts_same_bytes_in_another_process(tmp_path):
    for ending in ("svg", "png", "html"):
        draw_neighbourhood(part_of(STEAM[::-1], "steam"), tmp_path / f"here.{ending}")
    draw_statistics(statistics_of(STEAM[::-1]), tmp_path / "here-statistics.svg")
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([sys.executable, "-c", DRAW, str(tmp_path / "there")], env=environment, check=True)
    for name in (".svg", ".png", ".html", "-statistics.svg"):
        assert (tmp_path / f"here{name}").read_bytes() == (tmp_path / f"there{name}").read_bytes(), name


def test_hostile_labels_are_text_in_svg(tmp_path):
    draw_neighbourhood(part_of(HOSTILE, CENTRE), tmp_path / "x.svg")
    texts = svg_texts(tmp_path / "x.svg")  # it parses: no control character, no open tag
    assert {"_hidden$r$", "<script>alert(2)</script>", "%{meta[0]}", '"5"'} <= texts
    assert "two lines\ufffd\ufffd" in texts
    assert "<img src=x onerr" in texts  # the first line of its box
    assert any("$x^$" in text for text in texts)
    assert any(text.endswith("/Thing") for text in texts)
    tags = {element.tag.split("}")[1] for element in ElementTree.parse(tmp_path / "x.svg").getroot().iter()}
    assert not tags & {"script", "img", "a", "image", "foreignObject"}


def test_hostile_labels_are_text_in_html(tmp_path):
    draw_neighbourhood(part_of(HOSTILE, CENTRE), tmp_path / "x.html")
    page = Page((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert set(page.tags) == {"html", "head", "meta", "title", "style", "body", "p", "main", "div", "script"}
    assert page.links == []  # nothing is fetched, nothing is run
    assert f"within 1 hop of {CENTRE}" in page.text
    data, layout = figure_of(page)
    texts = texts_of(data, layout)
    # plotly's own markup is all that is left of "<"; everything else is escaped.
    assert {tag for text in texts for tag in re.findall("<[^>]*>?", text)} == {"<b>", "</b>", "<br>"}
    assert any("&lt;img src=x onerror=alert(1)&gt;" in text for text in texts)
    assert any("a_$x^$ &amp; &lt;b&gt;bold&lt;/b&gt;" in text for text in texts)
    # Texts that fill in "%{...}" are not used: what is drawn is the label.
    assert not any(key in trace for trace in data for key in ("hovertemplate", "texttemplate"))
    assert {name for trace in data if trace["showlegend"] for name in [trace["name"]]} >= {"%{meta[0]}", "_hidden$r$"}


def test_the_page_tells_the_facts_and_toggles_whole_relations(tmp_path):
    draw_neighbourhood(part_of(STEAM, "steam"), tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text(encoding="utf-8")
    data, layout = figure_of(Page(text))
    groups = {trace["legendgroup"] for trace in data}
    assert groups == {"combinesWith", "componentOf"}
    for group in groups:
        assert sum(trace["showlegend"] for trace in data if trace["legendgroup"] == group) == 1
    hovers = {text for trace in data for text in trace.get("hovertext", [])}
    assert "fire componentOf steam" in hovers
    assert "steam combinesWith air<br>air combinesWith steam" in hovers
    boxes = {box["text"]: box["hovertext"] for box in layout["annotations"]}
    assert boxes["<b>steam</b>"].split("<br>")[0] == "<b>steam</b>"
    assert boxes["cloud"] == "<b>cloud</b><br>steam componentOf cloud"
    assert "https://cdn" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_many_facts_under_the_pointer_are_cut():
    from gumption.kg.views.pictures import page

    _, layout = figure_of(Page(page(Scene.of(part_of([("hub", "r", f"n{i:02}") for i in range(30)], "hub")))))
    lines = layout["annotations"][0]["hovertext"].split("<br>")
    assert (len(lines), lines[-1]) == (22, "and 10 more facts")


@settings(max_examples=40, deadline=None)
@given(FACTS)
def test_boxes_do_not_overlap_and_every_fact_has_a_line(triples):
    part = part_of(triples, triples[0][0])
    scene = Scene.of(part)
    room = (scene.boxes[:, None] + scene.boxes[None]) / 2
    overlap = (np.abs(scene.points[:, None] - scene.points[None]) < room - 1e-9).all(axis=2)
    assert not (overlap & ~np.eye(len(overlap), dtype=bool)).any()
    assert scene.points[0].tolist() == [0, 0]
    assert sorted(fact for edge in scene.edges for fact in scene.facts(edge)) == list(part.facts)
    # Lines between the same two entities do not cover each other: their middles differ.
    middles = [
        tuple(np.round(curve(*scene.points[[edge.subject, edge.object]], edge.bend)[15], 4).tolist())
        for edge in scene.edges
        if edge.subject != edge.object
    ]
    pairs = [tuple(sorted((edge.subject, edge.object))) for edge in scene.edges if edge.subject != edge.object]
    assert len(set(zip(pairs, middles, strict=True))) == len(middles)


def test_a_node_of_an_n_ary_fact_is_a_dot_with_its_roles(tmp_path):
    triples = [("n1", "uses", "fire"), ("n1", "uses", "water"), ("n1", "gives", "steam"), ("fire", "meets", "water")]
    vocabulary = Vocabulary.from_triples(triples)
    ids = np.unique(vocabulary.triples_to_ids(triples), axis=0)
    part = neighbourhood(vocabulary, ids, "steam", 1, 60, nodes=["n1"])
    scene = Scene.of(part)
    assert scene.labels[part.entities.index("n1")] == ""
    draw_neighbourhood(part, tmp_path / "x.svg")
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    texts = ["".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]
    # Along the lines and in the legend; the relation of two parties is in the legend only.
    assert [texts.count(text) for text in ("uses", "gives", "meets", "n1")] == [3, 2, 1, 0]
    assert "3 entities, 1 fact and 1 n-ary fact (dots) within 1 hop of steam" in texts
    draw_neighbourhood(part, tmp_path / "x.html")
    data, layout = figure_of(Page((tmp_path / "x.html").read_text(encoding="utf-8")))
    (dot,) = [box for box in layout["annotations"] if box["text"] == "\u25cf"]
    assert dot["hovertext"].split("<br>")[1:] == ["n1 gives steam", "n1 uses fire", "n1 uses water"]
    assert "n1 gives steam" in {text for trace in data for text in trace.get("hovertext", [])}


def test_a_line_goes_around_a_box_in_its_way():
    # A chain lies straight: what joins its ends would pass behind its middle.
    scene = Scene.of(part_of([("a", "r", "b"), ("a", "r", "c"), ("b", "s", "c")], "a"))
    for edge in scene.edges:
        line = curve(*scene.points[[edge.subject, edge.object]], edge.bend)
        (other,) = {0, 1, 2} - {edge.subject, edge.object}
        assert not (np.abs(line - scene.points[other]) < scene.boxes[other] / 2).all(axis=1).any()


def test_relations_beyond_the_known_looks_are_grey(tmp_path):
    count = len(COLOURS) * len(PATTERNS)
    triples = [("hub", f"r{i:02}", f"n{i:02}") for i in range(count + 2)] + [("hub", "r30", "most")]
    triples += [("hub", "most", f"n{i:02}") for i in range(5)]
    part = part_of(triples, "hub", hops=1)
    looks = Scene.of(part).looks
    assert looks["most"] == (COLOURS[0], "solid")  # most facts first
    assert looks["r00"] == (COLOURS[1], "solid")
    assert list(looks.values()).count(REST) == 4
    assert len(set(looks.values())) == count + 1
    draw_neighbourhood(part, tmp_path / "x.svg")
    texts = svg_texts(tmp_path / "x.svg")
    assert {"most", "r00", "r19", "4 others"} <= texts
    assert "r20" not in texts


def test_characters_that_the_font_lacks(tmp_path, recwarn):
    part = part_of([("\u706b", "r", "\u84b8\u6c17")], "\u706b")
    draw_neighbourhood(part, tmp_path / "x.svg")
    draw_neighbourhood(part, tmp_path / "x.html")
    assert {"\u706b", "\u84b8\u6c17"} <= svg_texts(tmp_path / "x.svg")
    # What earlier tests left to the garbage collector may be told of at any time.
    assert not [told for told in recwarn if told.category is not ResourceWarning]
    draw_neighbourhood(part, tmp_path / "x.png")
    (told,) = (told for told in recwarn if told.category is not ResourceWarning)
    assert "x.png: DejaVu Sans lacks some characters of the labels; a .svg file has them" in str(told.message)


def test_what_did_not_fit_is_told():
    part = part_of([("hub", "r", f"n{i:02}") for i in range(30)], "hub", room=10)
    assert Scene.of(part).caption == "10 entities and 9 facts within 1 hop of hub; 21 more left out"


def test_an_entity_alone_is_drawn(tmp_path):
    draw_neighbourhood(part_of([("self", "r", "self")], "self"), tmp_path / "one.svg")
    assert svg_texts(tmp_path / "one.svg") == {"self", "r", "1 entity and 1 fact within 0 hops of self"}


def test_long_labels_are_shortened():
    assert shown("short", 10) == "short"
    assert shown("x" * 11, 10) == "x" * 9 + "\u2026"
    assert shown("http://example.org/Thing", 10) == "\u2026org/Thing"
    assert shown('"5"^^<http://www.w3.org/2001/XMLSchema#integer>', 10) == '"5"'
    assert shown("a\tb\n c\x00", 10) == "a b c\ufffd"


@pytest.mark.slow
def test_statistics_are_drawn_with_labels_as_text(tmp_path):
    triples = HOSTILE + [("hub", f"r{i:02}", f"n{j}") for i in range(30) for j in range(2)]
    draw_statistics(statistics_of(triples), tmp_path / "s.svg")
    texts = svg_texts(tmp_path / "s.svg")
    assert "Relations, 12 smaller ones left out" in texts
    assert "r00" in texts
    draw_statistics(statistics_of(HOSTILE), tmp_path / "h.svg")
    assert {"_hidden$r$", "<script>alert(2)</script>", "Degree"} <= svg_texts(tmp_path / "h.svg")
    draw_statistics(statistics_of(HOSTILE), tmp_path / "h.png")
    with Image.open(tmp_path / "h.png") as image:
        assert image.width > 1000


def test_bad_input_leaves_nothing(tmp_path):
    part = part_of(STEAM, "steam")
    with pytest.raises(InputError, match=r"cannot write .*x\.pdf: choose a name that ends in \.svg or \.png or \.html"):
        draw_neighbourhood(part, tmp_path / "x.pdf")
    with pytest.raises(InputError, match=r"choose a name that ends in \.svg or \.png$"):
        draw_statistics(statistics_of(STEAM), tmp_path / "x.html")
    with pytest.raises(InputError, match="nothing to draw: the graph has no facts"):
        draw_statistics(graph_statistics(Vocabulary((), ()), np.empty((0, 3), dtype=np.int64)), tmp_path / "x.svg")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        draw_neighbourhood(part, tmp_path / "file" / "x.svg")
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*taken\.svg"):
        draw_neighbourhood(part, tmp_path / "taken.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken.svg"]


def test_importing_pictures_imports_no_drawing():
    program = (
        "import sys, gumption.kg.views.pictures, gumption.kg.views.pictures;"
        "print(sorted({'matplotlib', 'plotly', 'networkx', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
