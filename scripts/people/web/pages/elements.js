// Elements of the pages, and names and addresses that several pages write.

// An element with attributes and children; text is set as text, never as HTML. `on...` attributes are handlers.
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (attribute.startsWith("on")) element.addEventListener(attribute.slice(2), value);
    else if (value === true) element.setAttribute(attribute, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(attribute, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// The key of a button, for those who see it; its name is said without.
export const keyOf = (name) => make("kbd", { "aria-hidden": "true" }, name);

// A square drawing of SVG shapes, which no screen reader tells.
export function shapes(side, content, name = "") {
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [attribute, value] of Object.entries({ viewBox: `0 0 ${side} ${side}`, "aria-hidden": "true", class: name }))
    drawn.setAttribute(attribute, value);
  drawn.innerHTML = content;
  return drawn;
}

// Listen to an event; a function that ends it.
export function on(target, type, handler, options) {
  target.addEventListener(type, handler, options);
  return () => target.removeEventListener(type, handler, options);
}

// Load the stylesheet of a world's view, once; resolves when it applies.
export function loadStyle(url) {
  const href = String(url);
  if ([...document.styleSheets].some((sheet) => sheet.href === href)) return Promise.resolve();
  return new Promise((resolve) => {
    const link = make("link", { rel: "stylesheet", href, onload: resolve, onerror: resolve });
    document.head.append(link);
  });
}

// Whether people point with a finger here: a page then names touches in place of clicks, keys and wheels.
export const touched = () => matchMedia("(pointer: coarse)").matches;

// Whether a key press is meant for the page: not typed into a field, and no command of the browser.
export function isShortcut(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return false;
  return !event.target.closest?.("input:not([type=range]), select, textarea, [contenteditable]");
}

// "gumption/NAME-v0" -> "NAME"
export const shortName = (id) => id.replace(/^.*\//, "").replace(/-v\d+$/, "");

export const playAddress = (world, env) =>
  `/play/${encodeURIComponent(world)}${env ? `?env=${encodeURIComponent(env)}` : ""}`;

// What a server says, as a sentence: "no such thing" -> "No such thing."
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".");

export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
