// Draws what a world shows: {"kind": "text", text}, {"kind": "grid", rows: [[{text, colour, label}]]} or
// {"kind": "pixels", png: base64, width, height, alt}. Other kinds belong to the view of a world.

import { make } from "./elements.js";

const DRAWN = {
  text: ({ text }) => make("pre", { class: "drawn", tabindex: "0", role: "region", "aria-label": "The state in words" }, text),

  pixels: ({ png, width, height, alt }) =>
    make("img", { class: "drawn drawn-pixels", src: `data:image/png;base64,${png}`, width, height, alt: alt ?? "" }),

  grid({ rows }) {
    const cell = ({ text, colour, label }) => {
      const element = make("td", { "aria-label": label }, text);
      if (colour) element.style.backgroundColor = colour;
      return element;
    };
    const body = rows.map((row) => make("tr", {}, ...row.map(cell)));
    return make("div", { class: "scroll" }, make("table", { class: "drawn-grid" }, make("tbody", {}, ...body)));
  },
};

// Draw into the element, in place of what was there.
export function draw(element, drawing) {
  const drawn = DRAWN[drawing.kind];
  if (!drawn) throw new Error(`a page cannot draw ${drawing.kind}: the world has to bring a view.js for it`);
  element.replaceChildren(drawn(drawing));
}
