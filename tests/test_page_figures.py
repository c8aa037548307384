"""Each figure that a page tells of a saved result is the one that the result has.

Convention: a comment after a paragraph says where its figures are from, in their order, one a line or parted by ";":

    <!-- figures
    98 % = saved("segar-gates", "graph and learning, gates-2", "test_success")
    0.73 = "paper: Figure 3"
    two seeds = seeds("segar-gates") == {2}
    -->

The right side is Python. `saved(NAME, ROW, PATH)` is a figure of a row of the saved results, `rows(NAME, WORDS)` the
rows whose names have these words, `seeds` how many runs they have, `results(NAME)` the whole file, `counts(NAME)` those
of a recipe book in the manifest of the data, `sensible(SOURCE)` a share of its blind reading; expressions combine them.
A comparison that is true stands behind "above 90 %", and behind words of the text. A text in quotes says what no saved
result has, and begins with one of `ELSEWHERE`. An indented line goes on with the one above it.

A comment covers the text since the comment before it, or since its heading. Where a section is called Results, shows a
saved table or has such a comment, each figure with a "%" or a decimal point needs a source. Generated tables and code
have none: other tests compare and run them.

These comments are to go: prose then states a result only if a generated table of its page holds it, and a figure of a
paper stands in a sentence with its citation. tests/measures.py counts the figures of each page that break this rule.
"""

import json
import re
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import pytest

from gumption.data.blind_reading import READING, drawn_of, outcome, read_reading
from gumption.data.manifest import path, shipped
from tests.bench.tables import KINDS, PAGES, RESULTS

REPOSITORY = Path(__file__).resolve().parents[1]
#: A figure of the document, a setting, what a command of the page makes again, what other code came to, and what was
#: measured once and not saved, as the page must say.
ELSEWHERE = ("paper: ", "setting: ", "command: ", "other code: ", "once: ")
NOT_SAVED = "not saved"  # the words of the page beside a figure of "once"
FIGURE = re.compile(r"(?<![\w.,/-])[-−]?(?:\d[\d,]*)?\.?\d+(?: ?%)?(?![\w/]|\.\d|,\d)")
COMMENT = re.compile(r"<!-- figures:?\s(.*?)-->", re.DOTALL)
#: What is compared or run elsewhere: code, generated parts, names in code, targets of links.
COMPARED = re.compile(
    r"^```.*?^```$|<!-- (?!figures|end)[^>]*? -->\n.*?<!-- end -->|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE
)
SHOWN = re.compile(rf"<!-- ({KINDS}): ")
GENERATED = re.compile(r"<!-- (?!figures|end)[^>]*? -->\n(.*?)<!-- end -->", re.DOTALL)
CITED = re.compile(r"\bet al\.|\bpapers?\b|\b(?:19|20)\d\d\)", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.:;?])\s+(?=\W*[A-Z])|\n\s*\n")
LEVEL = re.compile(r"95 %(?= (?:bootstrap )?(?:confidence )?interval)")  # no result


class Source(NamedTuple):
    figure: str
    source: str


@cache
def results(name: str) -> Any:
    """The saved file of a folder of scripts/papers/results."""
    [path] = (RESULTS / name).glob("*.json")
    return json.loads(path.read_text(encoding="utf-8"))


def saved(name: str, row: str, path: str) -> Any:
    """A figure of a row: of a summary over seeds its mean, or interquartile mean; of a bench its figure.

    :param row: the condition, or what a bench measures.
    :param path: keys from the row to the figure, parted by "/".
    """
    whole = results(name)
    rows = whole["rows"] if "rows" in whole else [one for case in whole["cases"].values() for one in case]
    [found] = [one for one in rows if one.get("condition", one.get("what")) == row]
    for key in path.split("/"):
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found.get("mean", found.get("iqm", found)) if isinstance(found, dict) else found


def rows(name: str, words: str = "") -> list[Any]:
    """The rows whose condition has these words."""
    return [row for row in results(name)["rows"] if words in row["condition"]]


def seeds(name: str, words: str = "") -> set[int]:
    """How many runs these rows have."""
    return {len(row["seeds"]) for row in rows(name, words)}


def counts(name: str) -> dict[str, int]:
    """The counts of a shipped recipe book."""
    return shipped()[name].counts


@cache
def sensible(source: str) -> float:
    """The share of a source's recipes that the kept reading of the book calls sensible."""
    drawn = drawn_of(path("commonsense"))
    found = outcome(drawn, read_reading(READING, drawn))[source]
    return found["sensible"] / sum(found.values())


NAMES = {
    **{one.__name__: one for one in (counts, saved, results, rows, seeds, sensible)},
    **{one.__name__: one for one in (abs, all, any, len, max, mean, median, min, set, sorted, sum, zip)},
}


def sections(text: str) -> list[tuple[str, str]]:
    """(heading, text) of each section of the second level."""
    parts = re.split(r"^## (.*)$", re.sub(r"^```.*?^```$", _blank, text, flags=re.DOTALL | re.MULTILINE), flags=re.M)
    return list(zip(["", *parts[1::2]], parts[::2], strict=True))


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def told(text: str) -> list[tuple[str, list[Source]]]:
    """The prose of a section with the sources of its figures; the last part has none."""
    parts = COMMENT.split(text)
    return [(part, _sources(given)) for part, given in zip(parts[::2], [*parts[1::2], ""], strict=True)]


def _sources(given: str) -> list[Source]:
    whole = re.sub(r"\n[ \t]+", " ", given)
    lines = [line.strip() for line in re.split(r"\n|;", whole) if line.strip()]
    return [Source(*map(str.strip, line.split("=", 1))) for line in lines]


def outside_tables(text: str) -> list[str]:
    """The figures of a page's results that no generated table of it holds, in sentences that cite no paper."""
    held = {figure[0].rstrip("% ") for table in GENERATED.findall(text) for figure in FIGURE.finditer(table)}
    figures = []
    for heading, section in sections(text):
        if heading.startswith("Results") or any(mark.search(section) for mark in (SHOWN, COMMENT)):
            prose = LEVEL.sub("", COMPARED.sub(_blank, COMMENT.sub("", section)))
            plain = [sentence for sentence in SENTENCE.split(prose) if not CITED.search(sentence)]
            figures += [figure[0] for sentence in plain for figure in FIGURE.finditer(sentence)]
    return [figure for figure in figures if must_have_a_source(figure) and figure.rstrip("% ") not in held]


def must_have_a_source(figure: str) -> bool:
    return "%" in figure or "." in figure


def faults(prose: str, sources: list[Source], required: bool = True) -> list[str]:
    """What is wrong with the figures of a part of a page."""
    prose = COMPARED.sub(_blank, prose)
    found, at, wrong = list(FIGURE.finditer(prose)), 0, []
    covered = set()
    words = " ".join(prose.split())
    for figure, source in sources:
        if not FIGURE.fullmatch(figure):
            wrong += [] if figure in words else [f"{figure} = {source}: the page does not tell {figure!r}"]
            wrong += [f"{figure} = {source}: {fault}" for fault in fault_of_words(source)]
            continue
        place = next((k for k in range(at, len(found)) if found[k][0] == figure), None)
        if place is None:
            wrong.append(f"{figure} = {source}: the page does not tell {figure}, or not in this place")
            continue
        covered.add(place)
        at = place + 1
        wrong += [f"{figure} = {source}: {fault}" for fault in fault_of(figure, source, prose)]
    if required:
        open_ = [one[0] for k, one in enumerate(found) if k not in covered and must_have_a_source(one[0])]
        wrong += [f"{figure} has no source: name it in a comment after its paragraph" for figure in open_]
    return wrong


def fault_of(figure: str, source: str, prose: str) -> list[str]:
    if source.startswith('"'):
        if not source.strip('"').startswith(ELSEWHERE):
            return [f"a text in quotes begins with one of {ELSEWHERE}"]
        return ["the page does not say that it is not saved"] if "once: " in source and NOT_SAVED not in prose else []
    try:
        value = worked_out(source)
    except Exception as error:  # whatever a mistaken expression raises
        return [f"it cannot be worked out: {type(error).__name__}: {error}"]
    if isinstance(value, bool):
        return [] if value else ["the saved result says otherwise"]
    digits = figure.replace("%", "").replace(",", "").replace("−", "-").strip()
    scale, places = 100 if "%" in figure else 1, len(digits.partition(".")[2])
    if abs(float(digits) - scale * value) <= 0.5 * 10**-places + 1e-9:
        return []
    return [f"the saved result has {scale * value:.{places + 2}f}"]


def fault_of_words(source: str) -> list[str]:
    try:
        return [] if worked_out(source) is True else ["the saved result says otherwise"]
    except Exception as error:  # whatever a mistaken expression raises
        return [f"it cannot be worked out: {type(error).__name__}: {error}"]


def worked_out(source: str) -> Any:
    return eval(source, {"__builtins__": {}, **NAMES})


@pytest.mark.parametrize("page", PAGES)
def test_the_figures_of_a_page_are_those_of_the_saved_results(page: str) -> None:
    text, wrong = (REPOSITORY / page).read_text(encoding="utf-8"), []
    for heading, section in sections(text):
        required = heading.startswith("Results") or any(one.search(section) for one in (SHOWN, COMMENT))
        for prose, sources in told(section):
            wrong += [f"{page}, {heading}: {fault}" for fault in faults(prose, sources, required)]
    assert wrong == [], "\n".join(wrong)


def one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"condition": "a", "success": {"iqm": 0.668, "per_seed": [0.5, 0.8]}, "steps": 45972}]
    monkeypatch.setitem(NAMES, "results", lambda name: {"rows": rows})
    monkeypatch.setitem(globals(), "results", lambda name: {"rows": rows})


def test_a_wrong_missing_or_unsaved_figure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one_row(monkeypatch)
    right = [
        Source("66.8 %", 'saved("x", "a", "success")'),
        Source("0.5", 'min(saved("x", "a", "success/per_seed"))'),
        Source("45,972", 'saved("x", "a", "steps")'),
    ]
    prose = "It solves 66.8 % (0.5 at least) in 45,972 steps of 3 runs; `--rate 0.1` is code."
    assert faults(prose, right) == []
    assert faults(prose, right[:1]) == ["0.5 has no source: name it in a comment after its paragraph"]
    assert faults(prose, right[:1], required=False) == []
    [wrong] = faults(prose.replace("66.8", "67.8"), [Source("67.8 %", right[0].source), *right[1:]])
    assert wrong.endswith("the saved result has 66.800")
    [gone] = faults(prose, [right[1], right[0], right[2]])[:1]
    assert gone.endswith("the page does not tell 66.8 %, or not in this place")
    assert fault_of("0.7", 'saved("x", "b", "success")', "")[0].startswith("it cannot be worked out: ValueError")
    assert fault_of("60 %", 'saved("x", "a", "success") > .6', "above 60 %") == []
    claims = [Source("at least half", "rows('x')[0]['success']['iqm'] > .5"), Source("most", "1 > 2")]
    assert [fault.split(": ")[1] for fault in faults("It solves at least half.", claims)] == [
        "the page does not tell 'most'",
        "the saved result says otherwise",
    ]
    assert fault_of("70 %", 'saved("x", "a", "success") > .7', "above 70 %") == ["the saved result says otherwise"]


def test_what_no_saved_result_has_is_called_so() -> None:
    assert fault_of("92 %", '"once: tables"', "It was 92 % (measured once, not saved).") == []
    assert fault_of("92 %", '"once: tables"', "It was 92 %.") == ["the page does not say that it is not saved"]
    assert fault_of("92 %", '"paper: Table 1"', "The paper has 92 %.") == []
    assert fault_of("92 %", '"it just is"', "It was 92 %.")[0].startswith("a text in quotes begins with one of")


def test_sections_and_their_comments_are_read() -> None:
    code, results_ = (
        "```bash\n## no heading 0.5\n```\n",
        "## Results\n\nOne 0.5.\n<!-- figures: 0.5 = 1/2 -->\nTwo .7.\n",
    )
    page = f"# World\n\nText.\n\n{code}\n{results_}"
    [_, (heading, section)] = sections(page)
    (first, sources), (second, none) = told(section)
    assert (heading, sources, none) == ("Results", [Source("0.5", "1/2")], [])
    assert "One 0.5." in first
    assert faults(second, none) == [".7 has no source: name it in a comment after its paragraph"]
    generated = "<!-- results: x -->\n| 0.9 |\n<!-- end -->\n"
    assert faults(generated, []) == []
    assert faults("| rule | 0.9 |\n", [])[0].startswith("0.9 has no source"), "a table that nobody generates"


def test_a_result_that_no_table_holds_is_seen() -> None:
    table = "<!-- results: x -->\n| player | 66.8 % (0.5 to 0.7) |\n<!-- end -->\n"
    prose = "It solves 66.8 %, at least 0.5, by `--rate 0.1`; the 95 % interval is wide. Jiang et al. have 70.1 %. "
    page = f"# World\n\nAbout 0.1.\n\n## Results\n\n{prose}Others solve 12.5 %.\n\n| hand-made | 0.9 |\n\n{table}"
    assert outside_tables(page) == ["12.5 %", "0.9"]
