// The playing area of one episode: the drawing, the choices as buttons with number keys, a line to type where actions
// are typed, what was told, steps and reward, the state of the connection, and the end.
//
// A world's view.js may say `tells: true` in what its `mount` gives: it writes what was told, and why an action was
// refused, into its drawing itself.

import { draw } from "./drawing.js";
import { isShortcut, keyOf, make, on, plural, sentence } from "./elements.js";
import { Help } from "./help.js";

const STATES = {
  saved: () => "Saved",
  sending: () => "Sending",
  offline: (kept) => (kept ? `Offline: ${plural(kept, "action")} kept here` : "Offline: connecting again"),
  unkept: (kept) => `Not saved: the server cannot write now. ${plural(kept, "action")} kept here, and sent again`,
  taken: () => "Played in another window",
};
const PATIENCE = 400; // ms until "sending" is said; most actions are saved by then
const OPENING = 1_500; // ms until it is said that the world takes a while

export class Player {
  #session;
  #element;
  #view = null; // the world's own
  #help;
  #ends = [];
  #timer = 0;
  #opening;
  #after;
  #parts;
  #ready; // a promise of the world's view

  // view: the address of the world's view.js, or null for a world without one. after: the button with which a player
  // goes on from the end of an episode that the server has begun; null where nobody has to.
  constructor(element, session, { view = null, after = null } = {}) {
    this.#session = session;
    this.#after = after;
    this.#parts = parts(this);
    this.#help = new Help(session, (action) => this.act(action));
    const { drawing, told, end, trouble, choices, typed, figures, score, state, words, rules, fresh } = this.#parts;
    this.#element = element;
    element.setAttribute("aria-busy", "true"); // the empty parts are not seen before the episode is
    element.replaceChildren(
      make(
        "div",
        { class: "play" },
        make("section", { class: "stack", "aria-label": "The world" }, trouble, drawing, told, end, this.#help.element),
        make(
          "section",
          { class: "stack", "aria-label": "Your part" },
          make("div", { class: "panel stack" }, figures, score, state),
          choices,
          typed,
          rules,
          words,
          fresh,
        ),
      ),
    );
    this.#ends = [
      session.on("shown", (shown) => this.#show(shown)),
      session.on("refused", (reason) => this.#tell(reason, "warn")),
      session.on("failed", (reason) => this.#fail(reason)),
      session.on("preparing", (reason) => this.#wait(sentence(reason))),
      session.on("left", () => this.#leave()),
      session.on("state", (now) => this.#state(now)),
      on(document, "keydown", (event) => this.#key(event)),
    ];
    this.#ready = this.#mount(view);
    this.#state(session.state);
    const open = () => this.#parts.trouble.hasChildNodes() || this.#wait("The world is being opened.");
    this.#opening = setTimeout(open, OPENING);
  }

  close() {
    for (const end of this.#ends) end();
    clearTimeout(this.#timer);
    clearTimeout(this.#opening);
    this.#help.close();
    this.#view?.close();
  }

  #wait(told) {
    const { trouble } = this.#parts;
    if (this.#session.view || trouble.querySelector("[role=alert]")) return;
    if (!trouble.hasChildNodes()) trouble.append(make("p", { class: "note", role: "status" }));
    if (trouble.textContent !== told) trouble.firstChild.textContent = told;
  }

  async #mount(view) {
    if (!view) return;
    try {
      const { mount } = await import(view);
      this.#view = await mount(this.#parts.drawing, this.#session);
    } catch (error) {
      this.#fail(`the view of this world cannot be loaded: ${error.message}`);
    }
  }

  act(action) {
    const { view, pending, state } = this.#session;
    if (!view || view.over || pending || state === "taken") return false;
    this.#session.act(action);
    return true;
  }

  again() {
    this.#parts.trouble.replaceChildren();
    this.#session.again();
  }

  async #show(shown) {
    await this.#ready;
    const { drawing, choices, typed, words, rules, figures, fresh } = this.#parts;
    this.#parts.trouble.replaceChildren();
    this.#element.removeAttribute("aria-busy");
    if (this.#view) this.#view.show(shown);
    else draw(drawing, shown.drawing);
    this.#tell(shown.told);
    figures.steps.textContent = shown.steps.toLocaleString("en");
    const reward = readable(shown.reward);
    if (shown.steps && figures.reward.textContent !== reward) this.#parts.score.textContent = `Reward ${reward}`;
    figures.reward.textContent = reward;
    const own = shown.action === "own" && this.#view;
    choices.hidden = own || shown.over || !shown.choices.length;
    if (!choices.hidden) this.#choices(shown.choices);
    typed.hidden = own || shown.over || shown.action !== "typed";
    rules.hidden = !shown.rules;
    const lines = shown.rules.split("\n").filter((line) => line.trim());
    rules.lastChild.replaceChildren(...lines.map((line) => make("p", {}, line)));
    words.hidden = !shown.text || shown.drawing.kind === "text";
    words.lastChild.textContent = shown.text;
    this.#help.show(shown);
    fresh.hidden = shown.over || this.#session.given !== null;
    this.#end(shown);
  }

  #choices(choices) {
    const box = this.#parts.choices;
    const focused = [...box.children].indexOf(document.activeElement);
    const buttons = choices.map(({ action, label }, index) =>
      make("button", { type: "button", onclick: () => this.act(action) }, index < 10 ? key(index) : null, label),
    );
    box.replaceChildren(...buttons);
    if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)].focus();
  }

  #leave() {
    const anew = make("button", { type: "button", class: "main", onclick: () => this.again() }, "Begin anew");
    const told = make("p", {}, "You left this episode.");
    const given = this.#session.given !== null;
    this.#parts.trouble.replaceChildren(make("div", { class: "note stack" }, told, ...(given ? [] : [make("p", {}, anew)])));
    if (!given) anew.focus(); // the button that left is disabled
  }

  #end({ over, success, steps, reward }) {
    const { end } = this.#parts;
    const before = end.hidden;
    end.hidden = !over;
    if (!over || !before) return;
    const title = success ? "Solved" : success === false ? "Not solved" : "The episode is over";
    const told = `${plural(steps, "step")}, reward ${readable(reward)}.`;
    const again = make("button", { type: "button", class: "main", onclick: () => this.again() }, "Play again");
    const next = this.#session.given ? this.#after : again;
    end.className = `note stack ${success ? "good" : success === false ? "bad" : ""}`;
    end.setAttribute("aria-label", `${title}: ${told}`); // it is said before the button that gets the focus
    end.replaceChildren(make("h2", {}, title), make("p", {}, told), ...(next ? [make("p", {}, next)] : []));
    next?.focus();
  }

  #tell(text, kind = "") {
    const { told } = this.#parts;
    told.className = this.#view?.tells || !text ? "spoken" : `note reason ${kind}`; // heard, as it is always there
    if (told.textContent !== text) told.textContent = text;
  }

  // An episode that cannot be begun may have wrong settings in the address of the page.
  #fail(reason) {
    const name = this.#session.given ? "Try again" : "Begin anew";
    const anew = make("button", { type: "button", onclick: () => this.again() }, name);
    const usual = make("a", { class: "button", href: location.pathname }, "Play with the usual settings");
    const way = this.#session.view || !location.search ? anew : usual;
    this.#parts.trouble.replaceChildren(
      make("div", { class: "note bad stack", role: "alert" }, make("p", {}, sentence(reason)), make("p", {}, way)),
    );
  }

  #state(now) {
    const { state, trouble } = this.#parts;
    const say = () => {
      state.dataset.state = now;
      const told = STATES[now](this.#session.pending);
      if (state.textContent !== told) state.textContent = told;
    };
    clearTimeout(this.#timer);
    if (now === "sending" && state.dataset.state === "saved") this.#timer = setTimeout(say, PATIENCE);
    else say();
    if (now === "taken") {
      const take = make("button", { type: "button", class: "main", onclick: () => this.#session.take() }, "Play here");
      const told = "A newer window plays this episode. This one is stopped, so that no action is made twice.";
      trouble.replaceChildren(
        make("div", { class: "note warn stack", role: "alert" }, make("p", {}, told), make("p", {}, take)),
      );
    }
  }

  #key(event) {
    if (!/^[0-9]$/.test(event.key) || this.#parts.choices.hidden || !isShortcut(event)) return;
    const button = this.#parts.choices.children[(Number(event.key) + 9) % 10];
    if (button) {
      event.preventDefault();
      button.click();
    }
  }
}

// The elements, empty.
function parts(player) {
  const steps = make("dd", { id: "steps" });
  const reward = make("dd", { id: "reward" });
  const figures = make(
    "dl",
    { class: "play-figures" },
    make("div", {}, make("dt", {}, "Steps"), steps),
    make("div", {}, make("dt", {}, "Reward"), reward),
  );
  const input = make("input", { id: "typed", autocomplete: "off", spellcheck: "false", maxlength: "200" });
  const say = (event) => {
    event.preventDefault();
    if (player.act(input.value)) input.value = "";
  };
  const typed = make(
    "form",
    { class: "field", hidden: true, onsubmit: say },
    make("label", { for: "typed" }, "Your action"),
    input,
    make("div", { class: "row" }, make("button", { class: "main" }, "Send")),
  );
  const folded = (title, tag, attributes) =>
    make("details", { hidden: true }, make("summary", {}, title), make(tag, attributes));
  const rules = folded("Rules", "div", { class: "stack close small" });
  rules.open = matchMedia("(min-width: 56rem)").matches;
  return {
    drawing: make("div", { class: "panel", id: "drawing" }),
    told: make("p", { class: "spoken", id: "told", role: "status" }),
    end: make("div", { id: "end", role: "group", "aria-label": "The end", hidden: true }),
    trouble: make("div", { id: "trouble" }),
    choices: make("div", { class: "stack play-choices", role: "group", "aria-label": "Choices", hidden: true }),
    typed,
    figures: Object.assign(figures, { steps, reward }),
    score: make("p", { class: "spoken", id: "score", role: "status" }), // what changes is said aloud
    state: make("p", { class: "state", id: "state", role: "status" }),
    words: folded("In words", "pre", { class: "small", tabindex: "0" }),
    rules,
    fresh: make("button", { type: "button", class: "plain", hidden: true, onclick: () => player.again() }, "New episode"),
  };
}

const key = (index) => keyOf(String((index + 1) % 10));

const readable = (number) =>
  (Number(number.toPrecision(4)) + 0).toLocaleString("en", { maximumFractionDigits: 3 }).replace("-", "−");
