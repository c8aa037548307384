// Words as cards on a table. Two are mixed by dragging one onto the other, or by choosing one after the other with
// mouse, touch or keys: numbers for the first ten cards, arrows between cards, Enter or Space for the focused one.

import { isShortcut, keyOf, loadStyle, make, on, sentence } from "/pages/elements.js";

const APART = 6; // pixels of movement that make a press a drag

export async function mount(element, session) {
  await loadStyle(new URL("style.css", import.meta.url));
  return new Table(element, session);
}

class Table {
  tells = true;
  #session;
  #view = null;
  #drag = null;
  #sought = "";
  #ends = [];

  constructor(element, session) {
    this.#session = session;
    this.element = element;
    this.goal = make("div", { class: "words-goal" });
    this.bench = make("div", { class: "words-bench" });
    this.search = make("input", { id: "search", type: "search", autocomplete: "off", placeholder: "Find a thing" });
    this.searching = make("div", { class: "field", hidden: true });
    this.searching.append(make("label", { for: "search", class: "spoken" }, "Find a thing"), this.search);
    this.search.addEventListener("input", () => this.#seek(this.search.value));
    this.search.addEventListener("keydown", (event) => this.#chooseFound(event));
    this.cards = make("ul", { class: "words-table", "aria-label": "On the table" });
    element.classList.add("words");
    element.replaceChildren(this.goal, this.bench, this.searching, this.cards);
    this.#ends = [
      on(document, "keydown", (event) => this.#key(event)),
      session.on("refused", (reason) => this.#refused(reason)),
    ];
  }

  close() {
    for (const end of this.#ends) end();
  }

  #refused(reason) {
    this.show(this.#view);
    this.#showBench(this.#view, sentence(reason));
  }

  show(view) {
    const { drawing } = (this.#view = view);
    this.#showGoal(drawing, view);
    this.#showBench(view);
    const many = drawing.goal === null;
    this.searching.hidden = !many;
    this.cards.classList.toggle("words-many", many);
    const words = many ? [...drawing.table].sort() : drawing.table;
    const focused = document.activeElement?.dataset?.word;
    const old = new Map([...this.cards.children].map((item) => [item.firstChild.dataset.word, item]));
    this.cards.replaceChildren(...words.map((word, index) => old.get(word) ?? this.#card(word, many ? null : index)));
    for (const { firstChild: card } of this.cards.children) {
      const { word } = card.dataset;
      card.setAttribute("aria-pressed", String(drawing.selection.includes(word)));
      card.toggleAttribute("data-goal", word === drawing.goal);
      card.toggleAttribute("data-made", drawing.made.includes(word));
      card.disabled = view.over;
    }
    this.#seek(many ? this.#sought : "");
    if (focused && !view.over) this.#find(focused)?.focus();
  }

  #showGoal({ goal, known, total }, { over, success }) {
    if (goal !== null) {
      const made = over && success;
      this.goal.replaceChildren(
        make("span", { class: "eyebrow" }, made ? "You made" : "Make"),
        make("strong", { class: "words-wanted" }, goal),
      );
      this.goal.toggleAttribute("data-made", Boolean(made));
      return;
    }
    this.goal.replaceChildren(
      make("span", { class: "eyebrow" }, "Known things"),
      make("strong", { class: "number" }, `${known} of ${total}`),
      make("progress", { max: total, value: known, "aria-label": "Known things" }),
    );
  }

  // The pair that is being mixed, and what the latest pair made.
  #showBench({ drawing: { selection, last, made }, over, told: said }, refused = "") {
    const place = (word) => make("span", { class: word ? "words-place words-full" : "words-place" }, word ?? "choose one");
    const [first] = selection;
    const pair = make("p", { class: "row" }, place(first), make("span", { class: "quiet" }, "+"), place());
    const text = refused || (over && said) || last;
    const [, parts, product, more] = text.match(/^(.+? makes )([^.;]+)(.*)$/) ?? [null, text];
    const told = text
      ? make("p", { class: "words-last" }, parts, product ? make("strong", {}, product) : "", more)
      : make("p", { class: "words-last quiet" }, "Drag one card onto another, or choose two.");
    told.toggleAttribute("data-made", made.length > 0 && Boolean(last));
    this.bench.replaceChildren(...(over ? [] : [pair]), told);
  }

  #card(word, index) {
    const key = index !== null && index < 10 ? keyOf(String((index + 1) % 10)) : null;
    const card = make("button", { type: "button", class: "words-card", "data-word": word }, key, make("span", {}, word));
    card.addEventListener("pointerdown", (event) => this.#press(event, card));
    card.addEventListener("click", () => this.#drag?.moved || this.#choose(word));
    return make("li", {}, card);
  }

  // A second choice may follow while the first is on its way: cards keep their places.
  #choose(...words) {
    const { over, drawing } = this.#view;
    const open = 2 - drawing.selection.length - this.#session.pending;
    if (over || words.length > open || this.#session.state === "taken") return;
    for (const word of words) this.#session.act(word);
    const chosen = [...drawing.selection, ...words];
    for (const { firstChild: card } of this.cards.children) {
      if (chosen.includes(card.dataset.word)) card.setAttribute("aria-pressed", "true");
    }
  }

  // ---- dragging

  #press(event, card) {
    if (event.button || card.disabled) return;
    const drag = (this.#drag = { card, x: event.clientX, y: event.clientY, moved: false, over: null });
    const move = (now) => this.#move(drag, now);
    const stop = (now) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
      this.#release(drag, now.type === "pointerup");
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  }

  #move(drag, { clientX, clientY }) {
    const [x, y] = [clientX - drag.x, clientY - drag.y];
    if (!drag.moved && Math.hypot(x, y) < APART) return;
    drag.moved = true;
    drag.card.classList.add("words-dragged");
    drag.card.style.transform = `translate(${x}px, ${y}px)`;
    const under = document.elementsFromPoint(clientX, clientY).find((one) => one !== drag.card && one.matches(".words-card"));
    if (under !== drag.over) {
      drag.over?.classList.remove("words-target");
      under?.classList.add("words-target");
      drag.over = under ?? null;
    }
  }

  #release(drag, dropped) {
    drag.card.classList.remove("words-dragged");
    drag.card.style.transform = "";
    drag.over?.classList.remove("words-target");
    if (dropped && drag.over) this.#drop(drag.card.dataset.word, drag.over.dataset.word);
    setTimeout(() => (this.#drag = null)); // after the click that the release makes
  }

  // A word that was chosen before is one of the pair in any case.
  #drop(dragged, onto) {
    const [chosen] = this.#view.drawing.selection;
    if (!chosen) this.#choose(dragged, onto);
    else if (chosen === dragged) this.#choose(onto);
    else if (chosen === onto) this.#choose(dragged);
  }

  // ---- keys and the search

  #find(word) {
    return [...this.cards.querySelectorAll(".words-card")].find((card) => card.dataset.word === word);
  }

  #key(event) {
    if (!isShortcut(event) || this.#view?.over) return;
    const cards = [...this.cards.querySelectorAll("li:not([hidden]) .words-card")];
    if (/^[0-9]$/.test(event.key) && this.#view.drawing.goal !== null) {
      const card = cards[(Number(event.key) + 9) % 10];
      if (!card) return;
      event.preventDefault();
      card.focus();
      card.click();
      return;
    }
    const at = cards.indexOf(document.activeElement);
    if (at < 0 || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const columns = getComputedStyle(this.cards).gridTemplateColumns.split(" ").length;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    cards[at + step]?.focus();
  }

  #seek(text) {
    this.#sought = text;
    const sought = text.trim().toLowerCase();
    for (const item of this.cards.children) item.hidden = !item.firstChild.dataset.word.toLowerCase().includes(sought);
  }

  // Enter in the search field chooses the word that is found, where it is the only one or the exact one.
  #chooseFound(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const found = [...this.cards.querySelectorAll("li:not([hidden]) .words-card")].map((card) => card.dataset.word);
    const word = found.find((one) => one === this.search.value.trim().toLowerCase()) ?? (found.length === 1 ? found[0] : null);
    if (!word) return;
    this.search.value = "";
    this.#seek("");
    this.#choose(word);
  }
}
