// The home page: the worlds and the runs that the server has.

import { make, playAddress, shortName } from "./elements.js";

const WHEN = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

function picture({ title, pictures }) {
  if (!pictures.light) return title[0];
  return make(
    "picture",
    {},
    make("source", { srcset: pictures.dark, media: "(prefers-color-scheme: dark)" }),
    make("img", { src: pictures.light, alt: "", width: 640, height: 400 }),
  );
}

function card(world) {
  const [first, ...others] = world.environments;
  return make(
    "li",
    { class: "panel world" },
    make("a", { class: "world-picture", href: playAddress(world.name), tabindex: "-1", "aria-hidden": "true" }, picture(world)),
    make(
      "div",
      { class: "world-text" },
      make("h3", {}, world.title),
      make("p", { class: "quiet" }, world.about),
      make(
        "p",
        { class: "row" },
        make("a", { class: "button main", href: playAddress(world.name) }, "Play", make("span", { class: "spoken" }, world.title)),
        ...others.map((id) => make("a", { class: "button", href: playAddress(world.name, id) }, shortName(id))),
      ),
    ),
  );
}

// titles: of the worlds, by their names.
function runs(list, titles) {
  if (!list.length) {
    return make(
      "p",
      { class: "note" },
      "There are no runs in this folder yet. ",
      make("code", {}, "gumption train WORLD"),
      " makes one; it is listed here when this page is loaded again.",
    );
  }
  const head = ["Run", "World", "State", "Changed"].map((name) => make("th", { scope: "col" }, name));
  const rows = list.map((run) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, run.name),
      make("td", {}, titles.get(run.world)),
      make("td", {}, run.state),
      make("td", {}, WHEN.format(1000 * run.changed)),
    ),
  );
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "runs-title" }, table);
}

async function show() {
  const worlds = document.getElementById("world-list");
  const found = document.getElementById("run-list");
  try {
    const answer = await fetch("/api/worlds");
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const home = await answer.json();
    worlds.replaceChildren(...home.worlds.map(card));
    found.replaceChildren(runs(home.runs, new Map(home.worlds.map(({ name, title }) => [name, title]))));
  } catch (error) {
    const told = `The worlds cannot be listed (${error.message}). Load this page again once the server runs.`;
    worlds.replaceWith(make("p", { class: "note bad", role: "alert" }, told));
  }
  worlds.removeAttribute("aria-busy");
  found.removeAttribute("aria-busy");
}

show();
