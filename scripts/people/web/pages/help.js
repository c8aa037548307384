// Help from a knowledge graph, where the server offers it: what it says of each open choice, best first.
//
// Help of a session shows `view.help`: {price, at_most, used, said}; said is null until help is asked for, else
// [{action, label, score, facts: [{relation, fact, score, told}]}]. Where choices are not listed, `action` is there for
// a whole action alone; `score` is null where it ranks nothing.

import { make, plural } from "./elements.js";

export class Help {
  #session;
  #act;
  #ends;

  // act: makes an action, where one may be made.
  constructor(session, act) {
    this.#session = session;
    this.#act = act;
    this.told = make("p", { class: "spoken", role: "status" });
    this.parts = make("div", { class: "stack" });
    this.element = make("section", { class: "panel stack", id: "help", "aria-label": "Help", hidden: true }, this.parts, this.told);
    this.#ends = [session.on("helpless", (reason) => this.#tell(reason))];
  }

  close() {
    for (const end of this.#ends) end();
  }

  show({ help, over, choices }) {
    const heard = this.parts.contains(document.activeElement);
    this.element.hidden = !help || over;
    if (this.element.hidden) return;
    const heading = make("h2", { tabindex: "-1" }, help.said ? "What the graph says" : "Help from the graph");
    const told = make("p", { class: "small quiet" }, help.said ? `${order(help.said, choices)} ${spent(help)}` : offered(help, choices));
    const parts = help.said ? [said(help.said, this.#act)] : left(help) ? [this.#button(help)] : [];
    this.parts.replaceChildren(heading, told, ...parts);
    this.#tell("");
    if (heard) heading.focus(); // the button that was pressed is gone
  }

  #button({ price }) {
    const told = price ? `Ask, for ${figure(price)} of the reward` : "Ask the graph";
    return make("p", {}, make("button", { type: "button", id: "ask", onclick: () => this.#ask() }, told));
  }

  #ask() {
    this.#session.help();
    if (this.#session.asking) this.#tell("The graph is asked. It may still be loading, which takes a while; you can play on.");
  }

  #tell(text) {
    this.told.className = text ? "note reason" : "spoken"; // an element that is there already is heard when it changes
    if (this.told.textContent !== text) this.told.textContent = text;
  }
}

const figure = (number) => number.toLocaleString("en", { maximumFractionDigits: 3 });

const left = ({ at_most: most, used }) => most === null || used < most;

function offered({ price, at_most: most, used }, choices) {
  if (most !== null && used >= most) return `You have asked ${used} of ${most} times, which is all in this task.`;
  const which = choices.length ? "each choice that is open now" : "what can be done now";
  const what = `See what a knowledge graph says of ${which}.`;
  const cost = price ? `Each time costs ${figure(price)} of the reward.` : "It is free.";
  const more = most === null ? "" : ` You can ask ${plural(most - used, "time")}${used ? " more" : ""} in this task.`;
  return `${what} ${cost}${more}`;
}

const ranks = (said) => said.some(({ score }) => score !== null);

function order(said, choices) {
  if (!ranks(said)) return "The graph says what things do, not what is best for you.";
  return choices.length ? "Best first." : "The best that the graph knows of, best first.";
}

function spent({ price, at_most: most, used }) {
  const times = most === null ? plural(used, "time") : `${used} of ${plural(most, "time")}`;
  return `You have asked ${times}${price ? `, for ${figure(price * used)} of the reward` : ""}.`;
}

// The choices with the facts behind their scores. act: what a choice's button does; without it they are words alone.
export function said(choices, act = null) {
  const name = ({ action, label }) =>
    act && action !== undefined ? make("button", { type: "button", onclick: () => act(action) }, label) : make("span", {}, label);
  const scored = ranks(choices);
  const row = (choice) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, name(choice)),
      make("td", { class: "small" }, ...choice.facts.map((one) => fact(one, choice.facts.length > 1))),
      scored ? make("td", { class: "number" }, choice.facts.every(unknown) ? "-" : choice.score.toFixed(2)) : null,
    );
  const names = ["Choice", "Facts", ...(scored ? ["Score"] : [])].map((one) => make("th", { scope: "col" }, one));
  const caption = make("caption", { class: "spoken" }, "What the graph says of each choice");
  return make("table", {}, caption, make("thead", {}, make("tr", {}, ...names)), make("tbody", {}, ...choices.map(row)));
}

const unknown = ({ told }) => told === "unknown";

// A fact, and how likely it is; with its own score where that is one of several.
function fact({ fact: words, score, told }, scored) {
  if (told === "unknown") return make("p", { class: "quiet" }, `${words}: unknown`);
  const own = scored && told !== "stated" ? ` (${score.toFixed(2)})` : "";
  return make("p", {}, `${words}: `, make("strong", {}, told), own);
}
