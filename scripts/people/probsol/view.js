// ProbSol in the browser: the table, its controls by mouse, touch and keys, limits and time, the quiz, and the table in
// words. The server runs the physics; this page draws its frames and sends actions by name.

import { loadStyle, make, on, plural, sentence, touched } from "/pages/elements.js";

import { Motion, read } from "./motion.js";
import { ask, swatch } from "./quiz.js";
import { centre, GRID, gridPoint, isOpen, Layout, Painter, RADIUS, SIDE } from "./table.js";
import { changes, describe, discName, whereabouts } from "./words.js";

const NARROW = 520; // px of the page, below which the side bar lies below the table
const REACH = 6; // px around a disc where a click still means it
const NOTCH = 40; // of a wheel's turn, for 45 degrees
const TURN_EVERY = 90; // ms
const STILL_EVERY = 500; // ms between pictures where motion is reduced
const TOLD = { action_number: "Actions", trial_time: "Trial time", solve_time: "Total time", action_time: "Since last action" };
const ENDS = {
  trials: "no trial is left",
  quiz: "an answer is wrong",
  max_actions: "no action is left",
  action_number: "there were more actions than the limit",
  action_time: "an action took longer than the limit",
  trial_time: "the trial took longer than the limit",
  solve_time: "the task took longer than the limit",
};
// What can be done next, in the words of the input at hand.
const WITH_MOUSE = {
  grab: "Click a disc to grab it",
  begin: "Click a disc to grab it; right click one on the table to hold it where it lies.",
  holds: "Click a disc on the table to hold it. Switch Hold off to grab.",
  hand: (id) => `${id} is in your hand. Click a point to place it, right click to hold it there, or a cell to store it.`,
  held: (id) => `You hold ${id}. Turn it with the wheel; right click lets go; click it to take it in hand.`,
};
const WITH_FINGER = {
  grab: "Tap a disc to grab it",
  begin: "Tap a disc to grab it; with Hold switched on, one on the table is held where it lies.",
  holds: "Tap a disc on the table to hold it. Switch Hold off to grab.",
  hand: (id, holds) => `${id} is in your hand. Tap a point to ${holds ? "hold it there" : "place it"}, or a cell to store it.`,
  held: (id, holds) => `You hold ${id}. The buttons turn it and let go of it${holds ? "" : "; tap it to take it in hand"}.`,
};
const KEYS = [
  ["Arrows", "move the cursor; with Shift by five"],
  ["B", "go to the side bar and back"],
  ["N", "go to the next disc"],
  ["Enter or G", "grab a disc, place or store the one in hand"],
  ["H", "hold a disc there, or let go of it"],
  ["L, R", "turn the held disc to the left, to the right"],
  ["C", "check"],
  ["X", "quit"],
  ["I", "hear what lies at the cursor and where all discs are"],
];

export async function mount(element, session) {
  await loadStyle(new URL("./style.css", import.meta.url));
  return new Table(element, session);
}

class Table {
  tells = true; // what was told stands under the table
  #session;
  #motion = new Motion();
  #painter;
  #layout = null;
  #drawing = null;
  #episode = null;
  #told = ""; // what the last action came to, until the next one
  #known = []; // the discs as they were last told in words
  #pointer = null; // {x, y} in px of the picture
  #cursor = null; // {column, row} or {cell}, once a key has moved it
  #queue = []; // what was done before the last action was answered
  #holds = false; // whether a click holds, for those without a right button
  #wheel = 0;
  #turned = 0;
  #frame = 0;
  #painted = 0;
  #moved = false;
  #acted = 0; // the step of the last action
  #speech = 0;
  #parts;
  #ends;

  constructor(element, session) {
    this.#session = session;
    this.#parts = parts(this);
    const { goal, figures, canvas, result, hint, buttons, quiz, discs, keys, tasks, sure, spoken } = this.#parts;
    element.replaceChildren(
      make("div", { class: "probsol" }, goal, figures, canvas, result, hint, buttons, quiz, discs, keys, tasks, sure, spoken),
    );
    this.#painter = new Painter(canvas);
    const resized = new ResizeObserver(() => this.#arrange());
    resized.observe(element);
    const timer = setInterval(() => this.#tellFigures(), 200);
    this.#ends = [
      session.on("frame", (frame) => this.#take(frame)),
      session.on("refused", (reason) => this.#refused(reason)),
      session.on("state", (state) => this.#connected(state === "saved" || state === "sending")),
      on(canvas, "pointermove", (event) => this.#point(event)),
      on(canvas, "pointerleave", () => this.#point(null)),
      on(canvas, "click", (event) => this.#click(event, this.#holds)),
      on(canvas, "contextmenu", (event) => this.#click(event, true)),
      on(canvas, "wheel", (event) => this.#roll(event), { passive: false }),
      on(canvas, "keydown", (event) => this.#key(event)),
      on(canvas, "focus", () => this.#draw()),
      on(canvas, "blur", () => this.#draw()),
      on(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.#draw()),
      () => resized.disconnect(),
      () => clearInterval(timer),
      () => cancelAnimationFrame(this.#frame),
    ];
  }

  close() {
    for (const end of this.#ends) end();
  }

  // ---- what the server tells

  show({ drawing, told }) {
    this.#told = drawing.end || !told ? "" : sentence(told);
    const fresh = this.#episode !== this.#session.episode;
    this.#episode = this.#session.episode;
    this.#drawing = drawing;
    this.#acted = drawing.frame.step - drawing.limits.action_time.value * 60;
    if (fresh) {
      this.#motion = new Motion();
      this.#known = drawing.frame.discs.map((data, k) => ({ ...drawing.discs[k], ...read(data) }));
      this.#parts.goal.textContent = drawing.goal;
      this.#tasks();
    }
    this.#take(drawing.frame);
    const { frame } = this.#session;
    if (fresh && frame?.trial === drawing.frame.trial && frame.step > drawing.frame.step) this.#take(frame); // before this view
    this.#arrange();
    this.#quiz();
    this.#result();
    this.#goOn();
  }

  #take(frame) {
    if (!this.#drawing) return;
    this.#motion.add(frame);
    this.#tellFigures();
    this.#tellDiscs(!frame.moves);
    this.#moved = frame.moves;
    this.#controls();
    this.#draw();
  }

  // ---- the state

  // The discs with their names: as they are drawn, or as the newest frame has them.
  #discs(drawn = false) {
    const smooth = drawn && !reduced();
    const states = this.#motion.discs({ smooth });
    return this.#drawing.discs.map((disc, k) => ({ ...disc, ...states[k] }));
  }

  get #inHand() {
    return this.#discs().find((disc) => disc.state === "grabbed" || disc.state === "held");
  }

  get #open() {
    const frame = this.#motion.newest;
    return Boolean(frame) && !frame.waits && !frame.over && !this.#session.left;
  }

  // ---- actions

  // Do something once all actions before it are answered, since it depends on what they came to.
  #do(something) {
    if (this.#session.pending) this.#queue.push(something);
    else something();
  }

  #goOn() {
    while (this.#queue.length && !this.#session.pending) this.#queue.shift()();
  }

  // Time stands still while nobody is connected.
  #connected(whether) {
    if (!whether) this.#motion.stop();
    if (this.#motion.newest) this.#controls();
    this.#goOn();
  }

  #refused(reason) {
    this.#queue = [];
    this.#told = reason;
    this.#controls();
    this.#draw();
  }

  #act(...action) {
    if (!this.#open) return;
    this.#told = "";
    this.#session.act(action, { step: Math.round(this.#motion.step()) });
  }

  // Grab, place or store; take up the disc that is held, or let go of it.
  #main(place) {
    const hand = this.#inHand;
    if (!hand) {
      const disc = this.#at(place);
      if (disc) this.#act("grab", disc.id);
      else this.#hint(words().grab);
    } else if (hand.state === "held") {
      if (this.#at(place)?.id === hand.id) this.#act("take_up");
      else this.#act("put_down");
    } else if (place.cell !== undefined) {
      this.#act("store", place.cell);
    } else if (place.point) {
      this.#act("place", ...place.point);
    }
  }

  // Hold a disc where it lies, or the one in hand at a point; let go of the held one.
  #hold(place) {
    const hand = this.#inHand;
    if (!hand) {
      const disc = this.#at(place);
      if (disc) this.#act("hold", disc.id);
      else this.#hint("Choose a disc on the table to hold it.");
    } else if (hand.state === "held") {
      this.#act("put_down");
    } else if (place.point) {
      this.#act("hold_at", ...place.point);
    }
  }

  turn(by) {
    this.#do(() => {
      if (this.#inHand?.state === "held") this.#act("turn", by);
      else this.#hint("Only a held disc can be turned.");
    });
  }

  check() {
    this.#do(() => this.#act("check"));
  }

  letGo() {
    this.#do(() => this.#inHand?.state === "held" && this.#act("put_down"));
  }

  toggleHold() {
    this.#holds = !this.#holds;
    this.#controls();
  }

  quit() {
    if (this.#open) this.#parts.sure.showModal();
  }

  leave() {
    this.#session.leave();
    this.#controls();
    this.#parts.goal.scrollIntoView({ block: "center" });
  }

  answer(answers) {
    this.#do(() => this.#session.act(["answer", ...answers], { step: this.#motion.newest.step }));
  }

  // ---- places

  // {cell} or {point, x, y} of a place in px of the picture; {} for none.
  #place({ x, y }) {
    const layout = this.#layout;
    const cell = layout.cellAt(x, y);
    if (cell !== null) return { cell };
    const [tx, ty] = [x - layout.left, y];
    if (tx < 0 || tx > SIDE || ty < 0 || ty > SIDE) return {};
    return { point: gridPoint(tx, ty), x: tx, y: ty };
  }

  // The disc at a place, as it is seen.
  #at(place) {
    const discs = this.#discs(true);
    if (place.cell !== undefined) return discs.find((disc) => disc.state === "stored" && disc.cell === place.cell);
    if (!place.point) return undefined;
    const away = (disc) => Math.hypot(disc.x - place.x, disc.y - place.y);
    const near = discs.filter((disc) => disc.x !== undefined && away(disc) < RADIUS + REACH);
    return near.sort((one, other) => away(one) - away(other))[0];
  }

  #cursorPlace() {
    if (this.#cursor.cell !== undefined) return { cell: this.#cursor.cell };
    const [x, y] = centre(this.#cursor.column, this.#cursor.row);
    return { point: [this.#cursor.column, this.#cursor.row], x, y };
  }

  // ---- mouse and touch

  #picture(event) {
    const box = this.#parts.canvas.getBoundingClientRect();
    const scale = this.#layout.width / box.width;
    return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
  }

  #point(event) {
    if (!this.#layout) return;
    this.#pointer = event && event.pointerType !== "touch" ? this.#picture(event) : null;
    if (this.#pointer) this.#cursor = null;
    this.#draw();
  }

  #click(event, holds) {
    event.preventDefault();
    if (!this.#layout || !this.#open) return;
    const place = this.#place(this.#picture(event));
    this.#do(() => (holds ? this.#hold(place) : this.#main(place)));
  }

  #roll(event) {
    if (this.#inHand?.state !== "held") return;
    event.preventDefault();
    this.#wheel += event.deltaY * (event.deltaMode ? 20 : 1);
    if (Math.abs(this.#wheel) < NOTCH || performance.now() - this.#turned < TURN_EVERY) return;
    this.#turned = performance.now();
    this.turn(this.#wheel < 0 ? 1 : -1);
    this.#wheel = 0;
  }

  // ---- keys

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !this.#layout) return;
    const step = event.shiftKey ? 5 : 1;
    const done = {
      ArrowLeft: () => this.#move(-step, 0),
      ArrowRight: () => this.#move(step, 0),
      ArrowUp: () => this.#move(0, -step),
      ArrowDown: () => this.#move(0, step),
      b: () => this.#cross(),
      n: () => this.#next(event.shiftKey ? -1 : 1),
      Enter: () => this.#press(false),
      " ": () => this.#press(false),
      g: () => this.#press(false),
      h: () => this.#press(true),
      l: () => this.turn(1),
      r: () => this.turn(-1),
      c: () => this.check(),
      x: () => this.quit(),
      i: () => this.#inform(),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!done) return;
    event.preventDefault();
    done();
  }

  #press(holds) {
    if (!this.#cursor) this.#setCursor(this.#start());
    const place = this.#cursorPlace();
    this.#do(() => (holds ? this.#hold(place) : this.#main(place)));
  }

  #start() {
    return { column: GRID / 2, row: GRID / 2 };
  }

  // Move the cursor; over the edge next to it into the side bar, and back.
  #move(dx, dy) {
    const layout = this.#layout;
    if (!this.#cursor) return this.#setCursor(this.#start());
    if (this.#cursor.cell === undefined) {
      const [column, row] = [this.#cursor.column + dx, this.#cursor.row + dy];
      if (!layout.narrow && column < 0 && this.#cursor.column === 0) {
        const beside = Math.min(Math.floor((this.#cursor.row * layout.rows) / GRID), layout.cells - 1);
        return this.#setCursor({ cell: beside });
      }
      if (layout.narrow && row >= GRID && this.#cursor.row === GRID - 1) return this.#setCursor({ cell: 0 });
      const inside = (each) => Math.min(Math.max(each, 0), GRID - 1);
      return this.#setCursor({ column: inside(column), row: inside(row) });
    }
    const [across, down] = layout.narrow ? [1, layout.columns] : [layout.rows, 1];
    const cell = this.#cursor.cell + Math.sign(dx) * across + Math.sign(dy) * down;
    if (cell >= 0 && cell < layout.cells) return this.#setCursor({ cell });
    if (layout.narrow ? dy < 0 : dx > 0) return this.#cross();
    return undefined;
  }

  #cross() {
    const { cell } = this.#cursor ?? {};
    if (cell === undefined) return this.#setCursor({ cell: 0 });
    const middle = Math.min(Math.floor(((cell % this.#layout.rows) + 0.5) * (GRID / this.#layout.rows)), GRID - 1);
    return this.#setCursor(this.#layout.narrow ? { column: GRID / 2, row: GRID - 1 } : { column: 0, row: middle });
  }

  // Put the cursor on the next disc, by id.
  #next(by) {
    const discs = this.#discs().filter((disc) => disc.state !== "grabbed");
    if (!discs.length) return;
    const here = this.#cursor && this.#at(this.#cursorPlace());
    const k = here ? discs.findIndex((disc) => disc.id === here.id) + by : 0;
    const disc = discs[(k + discs.length) % discs.length];
    if (disc.state === "stored") return this.#setCursor({ cell: disc.cell });
    const [column, row] = gridPoint(disc.x, disc.y);
    return this.#setCursor({ column, row });
  }

  #setCursor(cursor) {
    this.#cursor = cursor;
    this.#pointer = null;
    this.#draw();
    this.#speak(this.#atCursor(), 120);
  }

  #atCursor() {
    const hand = this.#inHand;
    const free = hand?.state === "grabbed" && this.#cursor.cell === undefined;
    const open = free ? isOpen(this.#drawing, this.#discs(), [this.#cursor.column, this.#cursor.row]) : null;
    return describe(this.#drawing, this.#discs(), this.#cursor, open);
  }

  #inform() {
    const all = this.#discs().map((disc) => `${discName(disc)}: ${whereabouts(this.#drawing, disc)}`);
    this.#speak([...(this.#cursor ? [this.#atCursor()] : []), ...all].join(". "));
  }

  // ---- words

  #speak(text, after = 0) {
    clearTimeout(this.#speech);
    this.#speech = setTimeout(() => {
      this.#parts.spoken.textContent = text;
    }, after);
  }

  #hint(text, kind = "") {
    const { hint } = this.#parts;
    hint.className = `probsol-hint note small ${kind}`;
    hint.textContent = text + (/[.?!]$/.test(text) || !text ? "" : "."); // a small letter may be a disc's
    hint.hidden = !text;
  }

  // Tell what changed: at once what the player did, and once all is at rest what moved.
  #tellDiscs(still) {
    const now = this.#discs();
    const moving = (disc, k) => disc.state === "placed" && this.#known[k].state === "placed";
    const told = still ? now : now.map((disc, k) => (moving(disc, k) ? this.#known[k] : disc));
    const changed = changes(this.#drawing, this.#known, told);
    this.#known = told;
    if (changed.length) this.#speak((still && this.#moved ? "At rest. " : "") + changed.join(". "));
    if (!changed.length && this.#parts.rows.childElementCount === now.length) return;
    this.#parts.rows.replaceChildren(
      ...now.map((disc) => {
        const what = make("th", { scope: "row" }, swatch(disc), ` ${discName(disc)}`);
        return make("tr", {}, what, make("td", {}, whereabouts(this.#drawing, disc)));
      }),
    );
  }

  #tellFigures() {
    const [drawing, frame] = [this.#drawing, this.#motion.newest];
    if (!frame) return;
    const { limits, before } = drawing;
    const trial_time = this.#motion.told() / 60;
    const values = { trial_time, solve_time: before + trial_time, action_number: frame.actions };
    values.action_time = trial_time - this.#acted / 60;
    const figures = [["Trial", `${frame.trial}${limits.trial_number.limit === null ? "" : ` of ${limits.trial_number.limit}`}`]];
    for (const [name, title] of Object.entries(TOLD)) {
      const { limit } = limits[name];
      if (limit === null && name === "action_time") continue;
      if (limit === null && name === "solve_time" && !before) continue;
      const [write, value] = [name.endsWith("time") ? clock : String, values[name]];
      const state = limit === null ? null : value > limit ? "broken" : value >= 0.8 * limit ? "near" : null;
      figures.push([title, limit === null ? write(value) : `${write(value)} of ${write(limit)}`, state]);
    }
    figures.push(["Table", frame.moves ? "moving" : "at rest"]);
    if (frame.rate !== undefined) figures.push(["Solution rate", frame.rate.toFixed(3)]);
    const written = JSON.stringify(figures);
    if (written === this.#parts.figures.written) return;
    this.#parts.figures.written = written;
    this.#parts.figures.replaceChildren(
      ...figures.map(([title, value, state]) =>
        make("div", { "data-limit": state }, make("dt", {}, title), make("dd", {}, value, mark(state))),
      ),
    );
  }

  // Buttons that are of use now, and what can be done next.
  #controls() {
    const frame = this.#motion.newest;
    const hand = this.#inHand;
    const held = hand?.state === "held";
    const { left, right, free, hold, check, quit } = this.#parts;
    left.disabled = right.disabled = free.disabled = !held || !this.#open;
    check.disabled = Boolean(hand) || !this.#open;
    hold.setAttribute("aria-pressed", this.#holds);
    hold.disabled = quit.disabled = !this.#open;
    if (["offline", "taken"].includes(this.#session.state)) this.#hint("Not connected: time stands still.", "warn");
    else if (this.#told) this.#hint(this.#told, "warn");
    else if (this.#session.left) this.#hint("You left this task.");
    else if (frame.over) this.#hint("");
    else if (frame.waits) this.#hint("The goal is reached. Answer the questions below.");
    else if (held) this.#hint(words().held(hand.id, this.#holds));
    else if (hand) this.#hint(words().hand(hand.id, this.#holds));
    else this.#hint(this.#holds ? words().holds : words().begin);
  }

  #quiz() {
    const { quiz } = this.#parts;
    const { end, quiz: questions } = this.#drawing;
    if (end || !questions.length) quiz.close();
    else if (!quiz.open) ask(quiz, this.#drawing, (answers) => this.answer(answers));
  }

  // ---- the end

  #result() {
    const { result, buttons } = this.#parts;
    const { end, solved, frame, families, task } = this.#drawing;
    result.hidden = !end;
    buttons.hidden = Boolean(end);
    if (!end) return;
    const time = clock(this.#drawing.before + frame.step / 60);
    const told = solved
      ? `Solved in trial ${frame.trial} by ${plural(frame.actions, "action")}, after ${time}.`
      : `Not solved: ${ENDS[end] ?? end}, after ${time}.`;
    const family = Object.values(families).find((names) => names.includes(task)) ?? [];
    const next = this.#forOneself && family[family.indexOf(task) + 1];
    result.className = `note row apart ${solved ? "good" : "bad"}`;
    result.replaceChildren(
      make("span", {}, told),
      ...(next ? [make("a", { class: "button", href: this.#address(next) }, "Next task")] : []),
    );
  }

  // Whether a person plays for themselves, and no study decides what comes next.
  get #forOneself() {
    return location.pathname.startsWith("/play/");
  }

  #address(task) {
    const address = new URL(location.href);
    address.searchParams.set("task", task);
    return address;
  }

  // ---- other tasks, where a person plays for themselves

  #tasks() {
    const { tasks } = this.#parts;
    const { families, task } = this.#drawing;
    tasks.hidden = !this.#forOneself;
    if (tasks.hidden) return;
    const rows = Object.entries(families).map(([family, names]) => {
      const links = names.map((name) => {
        const number = name.slice(name.indexOf("/") + 1);
        const attributes = { "aria-label": `${family} ${number}`, "aria-current": name === task ? "page" : null };
        return make("a", { href: this.#address(name), ...attributes }, number);
      });
      return make("div", {}, make("p", { class: "small quiet" }, family), make("div", { class: "row" }, ...links));
    });
    tasks.lastChild.replaceChildren(...rows);
  }

  // ---- the picture

  #arrange() {
    if (!this.#drawing) return;
    const { canvas } = this.#parts;
    this.#layout = new Layout(this.#drawing.cells, canvas.parentElement.clientWidth < NARROW);
    canvas.style.aspectRatio = `${this.#layout.width} / ${this.#layout.height}`;
    this.#draw();
  }

  #draw() {
    if (!this.#frame && this.#layout) this.#frame = requestAnimationFrame((now) => this.#paint(now));
  }

  #paint(now) {
    this.#frame = 0;
    const moves = this.#motion.moves();
    if (moves) this.#draw();
    if (moves && reduced() && now - this.#painted < STILL_EVERY) return;
    this.#painted = now;
    this.#painter.paint(this.#layout, this.#drawing, this.#discs(true), this.#marks());
  }

  #marks() {
    const { canvas } = this.#parts;
    const hand = this.#inHand;
    const cursor = document.activeElement === canvas ? this.#cursor : null;
    const place = this.#pointer ? this.#place(this.#pointer) : cursor ? this.#cursorPlace() : {};
    const hover = this.#open ? { cell: place.cell, disc: hand?.state === "grabbed" ? undefined : this.#at(place)?.id } : {};
    const ghost =
      hand?.state === "grabbed" && place.point && this.#open
        ? { disc: hand, point: place.point, open: isOpen(this.#drawing, this.#discs(), place.point) }
        : null;
    canvas.style.cursor = hover.disc ? "pointer" : "";
    return { hover, ghost, cursor };
  }
}

function parts(table) {
  const button = (text, action, attributes = {}) => make("button", { type: "button", onclick: action, ...attributes }, text);
  const left = button("Turn left", () => table.turn(1));
  const right = button("Turn right", () => table.turn(-1));
  const free = button("Let go", () => table.letGo());
  const hold = button("Hold", () => table.toggleHold(), { title: touched() ? null : "A click then holds, as a right click does" });
  const check = button("Check", () => table.check(), { class: "main", id: "check" });
  const quit = button("Quit", () => table.quit(), { id: "quit" });
  const buttons = make(
    "div",
    { class: "probsol-buttons", role: "group", "aria-label": "Actions" },
    hold,
    left,
    right,
    free,
    make("span", { class: "probsol-end" }, check, quit),
  );
  const canvas = make("canvas", {
    class: "probsol-table",
    id: "table",
    tabindex: "0",
    role: "application",
    "aria-label": "The table. Arrow keys move a cursor; the keys are listed below.",
  });
  const rows = make("tbody");
  const discs = make(
    "details",
    {},
    make("summary", {}, "Where the discs are"),
    make("div", { class: "scroll" }, make("table", { class: "small", id: "discs" }, rows)),
  );
  const listed = KEYS.flatMap(([key, told]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, told)]);
  const keys = make(
    "details",
    {},
    make("summary", {}, "Keys"),
    make("dl", { class: "probsol-keys small" }, ...listed),
  );
  const tasks = make(
    "details",
    { hidden: true },
    make("summary", {}, "Other tasks"),
    make("div", { class: "probsol-tasks" }),
  );
  const sure = make("dialog", { class: "panel", "aria-labelledby": "probsol-quit-title" });
  const leave = () => {
    sure.close();
    table.leave();
  };
  sure.append(
    make(
      "div",
      { class: "stack" },
      make("h2", { id: "probsol-quit-title" }, "Quit this task?"),
      make("p", {}, "It then counts as not solved."),
      make("div", { class: "row" }, button("Quit", leave, { class: "main" }), button("Go on", () => sure.close())),
    ),
  );
  return {
    goal: make("p", { class: "probsol-goal" }),
    figures: make("dl", { class: "probsol-figures", "aria-label": "Limits and time" }),
    result: make("div", { role: "status", hidden: true }),
    canvas, hint: make("p", { class: "probsol-hint note small" }), buttons, left, right, free, hold, check, quit,
    quiz: make("dialog", { class: "probsol-quiz", "aria-labelledby": "probsol-quiz-title" }),
    discs, rows, keys, tasks,
    sure, spoken: make("div", { class: "spoken", role: "status" }),
  }; // prettier-ignore
}

const words = () => (touched() ? WITH_FINGER : WITH_MOUSE);

const mark = (state) => (state === "broken" ? " (broken)" : state === "near" ? " (near)" : "");

// "1:05"
function clock(seconds) {
  const whole = Math.floor(seconds + 1e-6);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

const reduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
