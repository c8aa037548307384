// The panel as a table of coloured digits; a direction by button or arrow key, primitives by button or number key.

import { isShortcut, keyOf, loadStyle, make, on, plural, shapes } from "/pages/elements.js";

const DIRECTIONS = ["left", "up", "right", "down"];
const ARROWS = { left: "←", up: "↑", right: "→", down: "↓" };
// On the direction that is chosen Enter moves, as elsewhere.
const PRESSED_BY_ENTER = "button:not([data-way][aria-pressed=true]), a, summary";
const SHAPES = {
  circle: '<circle cx="12" cy="12" r="9"/>',
  triangle: '<path d="M12 2 22 20H2z"/>',
  square: '<path d="M3 3h18v18H3z"/>',
  pentagon: '<path d="m12 2 10 7.5-3.8 12H5.8L2 9.5z"/>',
};

export async function mount(element, session) {
  await loadStyle(new URL("style.css", import.meta.url));
  return new Panel(element, session);
}

class Panel {
  #session;
  #view = null;
  #direction = null;
  #parts = [];
  #end = () => {};

  constructor(element, session) {
    this.#session = session;
    this.place = make("p", { class: "row apart quiet" });
    this.panel = make("div", { class: "halma-panel" });
    this.directions = make("div", { class: "halma-ways", role: "group", "aria-label": "Direction" });
    for (const direction of DIRECTIONS) {
      const face = [make("span", { "aria-hidden": "true" }, ARROWS[direction]), make("span", {}, direction)];
      const turn = () => this.#turn(direction);
      this.directions.append(
        make("button", { type: "button", "data-way": direction, "aria-pressed": "false", onclick: turn }, ...face),
      );
    }
    this.primitives = make("div", { class: "row", role: "group", "aria-label": "Numbers that add up to the move" });
    this.sum = make("p", { class: "halma-sum", role: "status" });
    this.go = make("button", { type: "button", class: "main", onclick: () => this.#move() }, "Move", keyOf("Enter"));
    this.back = make("button", { type: "button", onclick: () => this.#shorten() }, "Take back");
    element.classList.add("stack");
    element.replaceChildren(
      this.place,
      this.panel,
      make("div", { class: "halma-choice" }, this.directions, make("div", { class: "stack" }, this.primitives, this.sum,
        make("div", { class: "row" }, this.go, this.back))),
    );
    this.#end = on(document, "keydown", (event) => this.#key(event));
  }

  close() {
    this.#end();
  }

  show(view) {
    const { drawing } = (this.#view = view);
    this.place.replaceChildren(
      make("span", {}, `Trial ${drawing.trial} of ${drawing.trials}`),
      make("span", {}, view.over ? "" : `${plural(drawing.moves, "move")} in this trial`),
    );
    this.#showPanel(drawing);
    const buttons = drawing.primitives.map(({ name }) =>
      make("button", { type: "button", class: "halma-part", onclick: () => this.#add(name) }, name),
    );
    if (this.primitives.children.length !== buttons.length) this.primitives.replaceChildren(...buttons);
    if (!drawing.stopped) this.#direction = null;
    this.#parts = [];
    this.#showChoice();
  }

  #showPanel({ panel, hint }) {
    const cell = (about, direction) => {
      const found = panel.find((one) => one.about === about && one.direction === direction);
      if (!found) return make("td", {}, make("span", { class: "spoken" }, "nothing"));
      const size = found.values.every(Number.isInteger) ? "halma-digit" : "halma-digit halma-code";
      const digits = found.values.map((value) => make("span", { class: size }, String(value)));
      for (const digit of digits) digit.style.color = found.look ?? "";
      return make("td", { class: `halma-${found.colour}` }, ...digits, make("span", { class: "halma-colour" }, found.colour));
    };
    const head = DIRECTIONS.map((direction) =>
      make("th", { scope: "col" }, make("span", { "aria-hidden": "true" }, ARROWS[direction]), ` ${direction}`),
    );
    const row = (name, about) =>
      make("tr", {}, make("th", { scope: "row" }, name), ...DIRECTIONS.map((direction) => cell(about, direction)));
    const table = make(
      "table",
      {},
      make("caption", { class: "spoken" }, "The panel: distances by direction"),
      make("thead", {}, make("tr", {}, make("td", {}), ...head)),
      make("tbody", {}, row("way", "wall"), row("goal", "goal")),
    );
    this.panel.replaceChildren(table, hint ? shape(hint) : make("p", { class: "halma-hint" }, "no hint here"));
  }

  #turn(direction) {
    this.#direction = direction;
    this.#showChoice();
  }

  #add(name) {
    if (this.#view && this.#parts.length < this.#view.drawing.most) this.#parts.push(name);
    this.#showChoice();
  }

  #shorten() {
    this.#parts.pop();
    this.#showChoice();
  }

  #showChoice() {
    const { drawing, over } = this.#view;
    for (const button of this.directions.children) {
      button.setAttribute("aria-pressed", String(button.dataset.way === this.#direction));
      button.disabled = over;
    }
    const full = this.#parts.length >= drawing.most;
    for (const button of this.primitives.children) button.disabled = over || full;
    const digits = new Map(drawing.primitives.map(({ name, digit }) => [name, digit]));
    const sum = this.#parts.reduce((total, name) => total + digits.get(name), 0);
    const parts = this.#parts.length ? `${this.#parts.join(" + ")}${this.#parts.length > 1 ? ` = ${sum}` : ""}` : "";
    const open = over ? "" : "Choose a direction and numbers";
    this.sum.textContent = [this.#direction, parts].filter(Boolean).join(" ") || open;
    this.go.disabled = over || !this.#direction || !this.#parts.length;
    this.back.disabled = over || !this.#parts.length;
  }

  #move() {
    if (this.go.disabled || this.#session.pending || this.#session.state === "taken") return;
    this.#session.act({ direction: this.#direction, primitives: this.#parts });
  }

  #key(event) {
    if (!isShortcut(event) || !this.#view || this.#view.over) return;
    const direction = event.key.startsWith("Arrow") && event.key.slice(5).toLowerCase();
    const names = this.#view.drawing.primitives.map(({ name }) => name);
    if (direction) this.#turn(direction);
    else if (names.includes(event.key)) this.#add(event.key);
    else if (event.key === "Backspace") this.#shorten();
    else if (event.key === "Enter" && !event.target.closest(PRESSED_BY_ENTER)) this.#move();
    else return;
    event.preventDefault();
  }
}

function shape(hint) {
  const drawn = hint in SHAPES ? [shapes(24, SHAPES[hint])] : []; // an anonymous shape looks like nothing that is known
  return make("p", { class: "halma-hint" }, ...drawn, `hint: ${hint}`);
}
