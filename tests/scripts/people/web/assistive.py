"""People who use a page by its keys alone, or hear it: what they reach, and what they are told."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

MOST_STOPS = 150
#: Whether the focus can be seen: an outline around the element, or around what stands for it.
_SEEN = """one => {
  const outlined = (each) => {
    const { outlineStyle, outlineWidth } = each ? getComputedStyle(each) : { outlineStyle: "none" };
    return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  };
  const box = one.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && (outlined(one) || outlined(one.closest("label")));
}"""
#: What can be used, by the paths of the elements; of radio buttons with one name one is reached, and its keys the rest.
_USABLE = """() => {
  const usable = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const names = new Set();
  const place = (each) => [...each.parentElement.children].indexOf(each);
  const path = (each) => each === document.body ? "" : `${path(each.parentElement)} ${place(each)}`;
  return [...document.querySelectorAll(usable)].filter((one) => {
    if (one.disabled || one.tabIndex < 0 || !one.checkVisibility({ visibilityProperty: true })) return false;
    if (one.type !== "radio") return true;
    const first = !names.has(one.name);
    names.add(one.name);
    return first;
  }).map((one) => [one.type === "radio" ? `radio ${one.name}` : path(one), one.outerHTML.slice(0, 120)]);
}"""
_HERE = """() => {
  const one = document.activeElement;
  const place = (each) => [...each.parentElement.children].indexOf(each);
  const path = (each) => each === document.body ? "" : `${path(each.parentElement)} ${place(each)}`;
  return one === document.body ? null : one.type === "radio" ? `radio ${one.name}` : path(one);
}"""
#: Keeps what live regions say: regions that change, and alerts that come with their text.
_LISTEN = """() => {
  window.heard = [];
  const live = "[role=status], [role=alert], [aria-live=polite], [aria-live=assertive]";
  const say = (region) => {
    const told = region.textContent.trim();
    if (told && window.heard.at(-1) !== told) window.heard.push(told);
  };
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      const one = target.nodeType === 1 ? target : target.parentElement;
      const region = one?.closest(live);
      if (region) say(region);
      for (const node of addedNodes) {
        if (node.nodeType !== 1) continue;
        for (const alert of [node, ...node.querySelectorAll("*")]) if (alert.matches("[role=alert]")) say(alert);
      }
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""
NAMED = {
    "button", "link", "textbox", "searchbox", "checkbox", "radio", "slider", "spinbutton", "combobox", "listbox",
    "progressbar", "img", "image", "group", "radiogroup", "region", "table", "timer", "navigation", "application",
}  # fmt: skip


def reach(page: "Page", selector: str, back: bool = False) -> None:
    """Press Tab until an element has the focus, which is seen at every stop."""
    for _ in range(MOST_STOPS):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
        see_focus(page)
    raise AssertionError(f"Tab does not lead to {selector}")


def see_focus(page: "Page") -> None:
    """The focus is seen, where something has it."""
    if page.evaluate("document.activeElement !== document.body"):
        focused = page.locator(":focus")
        assert focused.evaluate(_SEEN), focused.evaluate("one => one.outerHTML.slice(0, 200)")


def walk(page: "Page") -> None:
    """All that can be used is reached by Tab, forwards and backwards, and nothing keeps the focus."""
    for key in ("Tab", "Shift+Tab"):
        page.evaluate("document.activeElement.blur()")
        wanted = dict(page.evaluate(_USABLE))
        reached: list[str] = []
        for _ in range(MOST_STOPS):
            page.keyboard.press(key)
            see_focus(page)
            here = page.evaluate(_HERE)
            if here is not None:
                assert here not in reached[-1:], f"the focus stays at {wanted.get(here, here)}"
                reached.append(here)
            if set(wanted) <= set(reached):
                break
        lost = {path: wanted[path] for path in set(wanted).difference(reached)}
        assert not lost, f"{key} does not lead to {lost}"


def listen(page: "Page") -> Callable[[], list[str]]:
    """Hear what is said from now on; the function gives it so far."""
    page.evaluate(_LISTEN)
    return lambda: page.evaluate("window.heard")


def check_tree(page: "Page") -> None:
    """Headings come in their order, each control has a name, tables have headers, and no label stands alone."""
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter((one) => one.checkVisibility())"
        ".map((one) => [Number(one.tagName[1]), one.textContent.trim()])"
    )
    assert [level for level, _ in levels].count(1) == 1, levels
    assert levels[0][0] == 1, levels
    for (before, _), (level, text) in pairwise(levels):
        assert text, levels
        assert level <= before + 1, levels
    for node in tree(page):
        role = node["role"]["value"]
        if role in NAMED and not node["ignored"] and not _nameless(role, node):
            assert node["name"]["value"].strip(), (role, node)
    tables = page.evaluate(
        "[...document.querySelectorAll('table')].filter((one) => one.checkVisibility()).map((table) => ({"
        "columns: Math.max(0, ...[...table.tBodies].flatMap((body) => [...body.rows].map((row) => row.cells.length))),"
        "heads: table.tHead ? table.tHead.querySelectorAll('th[scope=col], td').length : 0,"
        "rows: [...table.tBodies].flatMap((body) => [...body.rows]).every((row) => row.querySelector('th[scope=row]')),"
        "html: table.outerHTML.slice(0, 200)}))"
    )
    for table in tables:
        assert table["heads"] >= table["columns"], table
        assert table["rows"], table


def tree(page: "Page") -> list[dict[str, Any]]:
    """The nodes of the accessibility tree, as a screen reader gets them."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [node for node in nodes if "role" in node and "name" in node]


def _nameless(role: str, node: dict[str, Any]) -> bool:
    """Groups that need no name: those of HTML itself, such as `details`."""
    return role in ("group", "img", "image") and not any(one["name"] == "focusable" for one in node["properties"])
