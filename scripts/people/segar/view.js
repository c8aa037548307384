// The table from above. A push is an arrow that is pulled from the ball with mouse or finger, or set by two sliders or
// by keys: left and right turn it, up and down make it longer and shorter, Enter pushes, the space bar waits.

import { isShortcut, keyOf, loadStyle, make, on, shapes } from "/pages/elements.js";

const REACH = 0.35; // of the side of the table: the arrow of the strongest push
const TURN = 15; // degrees of a key press
const STRONGER = 10; // per cent of a key press

export async function mount(element, session) {
  await loadStyle(new URL("style.css", import.meta.url));
  return new Pull(element, session);
}

class Pull {
  #session;
  #view = null;
  #pulling = false;
  #end = () => {};

  constructor(element, session) {
    this.#session = session;
    this.left = make("p", { class: "quiet number" });
    this.picture = make("img", { class: "pull-picture", draggable: "false", width: "720", height: "720" });
    this.marks = shapes(100, "", "pull-over");
    this.arrow = shapes(100, '<g><path class="pull-edge"/><path class="pull-line"/></g>', "pull-over pull-arrow");
    this.table = make("div", { class: "pull-table" }, this.picture, this.marks, this.arrow);
    this.legend = make("ul", { class: "pull-legend small", "aria-label": "On the table" });
    this.direction = this.#slider("direction", "Direction", { min: 0, max: 345, step: TURN, value: 45 }, (value) => `${value}°`);
    this.strength = this.#slider("strength", "Strength", { min: 0, max: 100, step: STRONGER, value: 50 }, (value) => `${value} %`);
    this.push = make("button", { type: "button", class: "main", onclick: () => this.#act(this.#vector()) }, "Push", keyOf("Enter"));
    this.wait = make("button", { type: "button", onclick: () => this.#act([0, 0]) }, "Wait", keyOf("Space"));
    element.classList.add("stack");
    element.replaceChildren(
      this.left,
      this.table,
      this.legend,
      make("div", { class: "pull-sliders" }, this.direction.field, this.strength.field),
      make("div", { class: "row" }, this.push, this.wait),
    );
    this.table.addEventListener("pointerdown", (event) => this.#begin(event));
    this.#end = on(document, "keydown", (event) => this.#key(event));
  }

  close() {
    this.#end();
  }

  #slider(id, name, range, told) {
    const input = make("input", { id, type: "range", ...range });
    const output = make("output", { for: id, class: "number" });
    const say = () => {
      output.textContent = told(input.value);
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => {
      say();
      this.#draw();
    });
    say();
    const head = make("div", { class: "row apart" }, make("label", { for: id }, name), output);
    const set = (value) => {
      input.value = value;
      say();
    };
    return { field: make("div", { class: "field" }, head, input), input, set };
  }

  show(view) {
    const { drawing } = (this.#view = view);
    this.left.textContent = `${drawing.left} pushes or waits left`;
    this.picture.src = `data:image/png;base64,${drawing.png}`;
    this.picture.alt = drawing.alt;
    const kinds = new Map(drawing.things.map(({ name, colour }) => [name, colour]));
    this.legend.replaceChildren(...[...kinds].map(([name, colour]) => make("li", {}, swatch(name, colour), name)));
    const text = ({ name, place: [x, y] }) => `<text x="${100 * x}" y="${100 - 100 * y}">${mark(name)}</text>`;
    this.marks.innerHTML = drawing.things.filter(({ place }) => String(place) !== String(drawing.start)).map(text).join("");
    for (const control of [this.push, this.wait, this.direction.input, this.strength.input]) control.disabled = view.over;
    this.#draw();
  }

  // The push [x, y] of the sliders, x to the right and y up.
  #vector() {
    const angle = (Number(this.direction.input.value) * Math.PI) / 180;
    const length = (Number(this.strength.input.value) / 100) * (this.#view?.drawing.strongest ?? 0);
    return [length * Math.cos(angle), length * Math.sin(angle)].map((part) => Number(part.toFixed(4)));
  }

  #draw(push = this.#vector()) {
    const { start, strongest } = this.#view?.drawing ?? {};
    const length = Math.hypot(...push);
    this.arrow.toggleAttribute("hidden", !start || !length || this.#view.over);
    if (!start || !length) return;
    const [x, y] = [100 * start[0], 100 * (1 - start[1])];
    const shown = (100 * REACH * length) / strongest;
    const turn = (-Math.atan2(push[1], push[0]) * 180) / Math.PI;
    const group = this.arrow.firstElementChild;
    group.setAttribute("transform", `translate(${x} ${y}) rotate(${turn})`);
    const end = Math.max(shown, 4);
    for (const line of group.querySelectorAll("path")) line.setAttribute("d", `M0 0H${end - 2}M${end - 4} -2.6 ${end} 0 ${end - 4} 2.6`);
  }

  // The push that an arrow from the ball to the pointer makes; where the ball cannot be seen, from the middle.
  #pulled({ clientX, clientY }) {
    const { start, strongest } = this.#view.drawing;
    const box = this.picture.getBoundingClientRect();
    const [x0, y0] = start ?? [0.5, 0.5];
    const x = (clientX - box.left) / box.width - x0;
    const y = 1 - (clientY - box.top) / box.height - y0;
    const share = Math.min(1, Math.hypot(x, y) / REACH);
    const angle = Math.atan2(y, x);
    this.direction.set((Math.round((angle * 180) / Math.PI) + 360) % 360);
    this.strength.set(Math.round(100 * share));
    return [strongest * share * Math.cos(angle), strongest * share * Math.sin(angle)].map((part) => Number(part.toFixed(4)));
  }

  #begin(event) {
    if (event.button || !this.#view || this.#view.over) return;
    event.preventDefault();
    this.table.setPointerCapture(event.pointerId);
    this.#draw(this.#pulled(event));
    const move = (now) => this.#draw(this.#pulled(now));
    const stop = (now) => {
      this.table.removeEventListener("pointermove", move);
      this.table.removeEventListener("pointerup", stop);
      this.table.removeEventListener("pointercancel", stop);
      if (now.type === "pointerup") this.#act(this.#pulled(now));
    };
    this.table.addEventListener("pointermove", move);
    this.table.addEventListener("pointerup", stop);
    this.table.addEventListener("pointercancel", stop);
  }

  #act(push) {
    if (!this.#view || this.#view.over || this.#session.pending || this.#session.state === "taken") return;
    this.#session.act(push);
  }

  #key(event) {
    if (!isShortcut(event) || !this.#view || this.#view.over) return;
    const slider = event.target.closest("input[type=range]");
    const turn = { ArrowLeft: TURN, ArrowRight: -TURN }[event.key];
    const stronger = { ArrowUp: STRONGER, ArrowDown: -STRONGER }[event.key];
    if (turn && !slider) this.direction.set((Number(this.direction.input.value) + turn + 360) % 360);
    else if (stronger && !slider) this.strength.set(Number(this.strength.input.value) + stronger);
    else if (event.key === "Enter" && !event.target.closest("button, a, summary")) this.#act(this.#vector());
    else if (event.key === " " && !event.target.closest("button, a, summary")) this.#act([0, 0]);
    else return;
    event.preventDefault();
    this.#draw();
  }
}

// Two letters for those who cannot tell the colours apart: "goal tile" -> "GT", "bumper" -> "Bu".
function mark(name) {
  const [first, second] = name.match(/\b[a-z]/g);
  return second ? `${first}${second}`.toUpperCase() : first.toUpperCase() + name[1];
}

function swatch(name, colour) {
  const drawn = make("span", { class: "pull-swatch", "aria-hidden": "true" }, mark(name));
  drawn.style.backgroundColor = colour;
  return drawn;
}
