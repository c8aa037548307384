// The experimenter's page: the table of participants, the episodes of one of them step by step, links, the export.
//
// The token comes in the fragment of the address, which no browser sends, and stays in this tab.

import { draw } from "/pages/drawing.js";
import { make, plural, sentence } from "/pages/elements.js";
import { said } from "/pages/help.js";

const EVERY = 2_000; // ms between two looks at the table
const STATES = ["going", "done", "dropped out", "refused", "withdrawn"];
const byId = (id) => document.getElementById(id);
let token = location.hash.slice(1) || sessionStorage.getItem("token");
let chosen = null; // number of the participant whose episodes are shown
let timer = 0;

if (token) sessionStorage.setItem("token", token);
history.replaceState(null, "", location.pathname);

async function ask(path, options = {}) {
  const response = await fetch(path, { ...options, headers: { Authorization: `Bearer ${token}` } });
  if (response.ok) return response;
  const { reason } = await response.json();
  if (response.status === 401) sessionStorage.removeItem("token");
  throw Object.assign(new Error(reason), { status: response.status });
}

function trouble(error) {
  const told = error.status ? sentence(error.message) : "The server cannot be reached; trying it again.";
  byId("trouble").replaceChildren(make("p", { class: "note bad" }, told));
}

async function look() {
  clearTimeout(timer);
  try {
    show(await (await ask("/experimenter/table")).json());
    byId("trouble").replaceChildren();
  } catch (error) {
    trouble(error);
    if (error.status) return enter();
  }
  timer = setTimeout(look, EVERY);
}

function enter() {
  byId("entry").hidden = false;
  byId("desk").hidden = true;
}

byId("entry").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  sessionStorage.setItem("token", token);
  byId("entry").hidden = true;
  look();
});

// ---- The table

function show(table) {
  document.title = `${table.title} - experimenter`;
  byId("title").textContent = table.title;
  byId("hash").textContent = `Study ${table.hash}`;
  byId("desk").hidden = false;
  byId("links").hidden = table.sign_in !== "link";
  const count = (state) => table.participants.filter((one) => one.state === state).length;
  const told = STATES.filter(count).map((state) => `${count(state)} ${state}`);
  const counted = table.participants.length
    ? `${plural(table.participants.length, "participant")}: ${told.join(", ")}`
    : "Nobody has signed in yet.";
  if (byId("counts").textContent !== counted) byId("counts").textContent = counted; // what changes is said aloud
  byId("table").hidden = !table.participants.length;
  if (!byId("people").tHead) byId("people").replaceChildren(...head(table), make("tbody"));
  renew(byId("people").tBodies[0], table.participants.map((one) => line(one, table)));
}

// Put new rows in the place of old ones, cell by cell where a row stays, so that a reader does not lose its place.
function renew(body, rows) {
  for (const [k, row] of rows.entries()) {
    const before = body.rows[k];
    if (!before) body.append(row);
    else for (const [c, cell] of [...row.cells].entries()) if (before.cells[c].textContent !== cell.textContent) before.cells[c].textContent = cell.textContent;
  }
}

function head({ blocks }) {
  const names = ["Number", "State", "Condition", "Page", "Minutes", "Seen", ...Object.values(blocks).map(({ title }) => title)];
  return heads(names, "Participants, in the order of their coming");
}

const heads = (names, caption) => [
  make("caption", { class: "spoken" }, caption),
  make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)))),
];

function line(one, { blocks }) {
  const open = make(
    "button",
    { type: "button", class: "plain", "data-participant": one.participant, "aria-label": `Participant ${one.participant}`, onclick: () => choose(one.participant) },
    `${one.participant}`,
  );
  const condition = Object.entries(one.condition).map(([name, level]) => `${name} ${level}`).join(", ");
  const rates = Object.entries(blocks).map(([name, { tasks }]) => {
    const { done, solved } = one.blocks[name];
    return done ? `${done} of ${tasks}, ${Math.round((100 * solved) / done)} % solved` : `0 of ${tasks}`;
  });
  const cells = [
    one.state,
    condition || "-",
    `${one.page} (${one.stage + 1} of ${one.stages})`,
    one.minutes === null ? "-" : one.minutes.toFixed(1),
    one.seen_s === null ? "-" : ago(one.seen_s),
    ...rates,
  ];
  return make("tr", {}, make("th", { scope: "row" }, open), ...cells.map((cell) => make("td", { class: "number" }, cell)));
}

function ago(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}

// ---- One participant

async function choose(number) {
  chosen = number;
  try {
    const found = await (await ask(`/experimenter/participants/${number}`)).json();
    if (chosen === number) episodes(found);
  } catch (error) {
    trouble(error);
  }
}

function episodes({ participant, episodes: all, answers }) {
  const stand = make("div", { class: "stack", id: "replay" });
  const rows = all.map((one) => {
    const told = one.seconds === null ? "goes on" : `${one.success ? "solved" : "not solved"}, ${one.seconds.toFixed(1)} s`;
    const button = make("button", { type: "button", "aria-label": `Replay ${one.name}`, onclick: () => replay(stand, one) }, "Replay");
    return make("tr", {}, make("th", { scope: "row" }, one.name), make("td", {}, plural(one.actions, "action") + (one.helps ? `, ${plural(one.helps, "help")}` : "")), make("td", {}, told), make("td", {}, button));
  });
  const said = answers
    .filter(({ name }) => name !== "next")
    .map(({ page, name, value }) => make("li", {}, `${page}, ${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`));
  const heading = make("h2", { tabindex: "-1" }, `Participant ${participant}`);
  byId("one").replaceChildren(
    heading,
    all.length ? make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Episodes" }, make("table", {}, ...heads(["Task", "Actions", "Result", "Step by step"], "Episodes, in the order of the study"), make("tbody", {}, ...rows))) : make("p", { class: "quiet" }, "No task was begun yet."),
    stand,
    make("details", {}, make("summary", {}, plural(said.length, "answer")), make("ul", {}, ...said)),
  );
  heading.focus();
}

// An episode step by step: what the participant saw after each action.
async function replay(stand, { episode, name }) {
  const place = make("div", { class: "panel" });
  const told = make("p", { role: "status" });
  const help = make("div", { class: "stack" });
  const slider = make("input", { type: "range", min: "0", value: "0", "aria-label": "Action" });
  const step = async () => {
    try {
      const found = await (await ask(`/experimenter/replay/${episode}/${slider.value}`)).json();
      slider.max = found.steps;
      slider.setAttribute("aria-valuetext", `${found.step} of ${found.steps}`);
      const made = found.action === null ? "the beginning" : `${JSON.stringify(found.action)} after ${found.seconds.toFixed(1)} s`;
      const end = found.view.over ? (found.view.success ? "; solved" : "; not solved") : "";
      told.textContent = `Action ${found.step} of ${found.steps}: ${made}${end}`;
      help.replaceChildren(...helped(found));
      await picture(place, found);
    } catch (error) {
      trouble(error);
    }
  };
  const by = (count) => () => {
    slider.value = Number(slider.value) + count;
    step();
  };
  slider.addEventListener("input", step);
  const back = make("button", { type: "button", onclick: by(-1) }, "Back");
  const on = make("button", { type: "button", onclick: by(1) }, "Forward");
  stand.replaceChildren(make("h3", {}, name), told, make("div", { class: "row" }, back, on), slider, help, place);
  await step();
  on.focus();
}

// Where help was asked for, and what was shown of it at this step.
function helped({ helped: all, help }) {
  if (!all.length) return [];
  const told = make("p", { class: "quiet" }, `Help was asked for after ${all.length === 1 ? "action" : "actions"} ${all.join(", ")}.`);
  if (!help) return [told];
  const paid = help.price ? `It cost ${help.price} of the reward.` : "It was free.";
  const title = make("summary", {}, "Help was asked for here");
  return [told, make("details", { class: "panel", open: true }, title, make("p", { class: "small quiet" }, paid), said(help.choices))];
}

// Drawn by the world's own view where it has one. Its session takes no action.
async function picture(place, { view, view_file: file }) {
  if (!file) {
    draw(place, view.drawing);
    return;
  }
  if (place.dataset.file !== file) {
    place.dataset.file = file;
    const still = { view, pending: 0, state: "saved", act() {}, on: () => () => {}, leave() {} };
    place.view = await (await import(file)).mount(place, still);
    place.still = still;
  }
  place.still.view = view;
  place.view.show(view);
}

// ---- Links and the export

byId("links").addEventListener("click", async () => {
  const count = Number(prompt("How many further links?", "10"));
  if (!count) return;
  try {
    const { links } = await (await ask("/experimenter/links", { method: "POST", body: String(count) })).json();
    byId("made").value = links.join("\n");
    byId("made").hidden = false;
    byId("made").focus();
  } catch (error) {
    trouble(error);
  }
});

byId("export").addEventListener("click", async () => {
  try {
    const response = await ask("/experimenter/export");
    const name = /filename="(.+?)"/.exec(response.headers.get("Content-Disposition"))[1];
    const link = make("a", { href: URL.createObjectURL(await response.blob()), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    trouble(error);
  }
});

if (token) look();
else enter();
