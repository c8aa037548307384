// A terminal: the stream in rows of input, output and reward, a column a byte; below it the line to answer in.

import { loadStyle, make } from "/pages/elements.js";

const ROWS = 6; // of the latest bytes

export async function mount(element, session) {
  await loadStyle(new URL("style.css", import.meta.url));
  return new Terminal(element, session);
}

class Terminal {
  #session;
  #view = null;
  #watch;

  constructor(element, session) {
    this.#session = session;
    this.task = make("p", { class: "row apart quiet" });
    this.screen = make("div", { class: "stream-screen", tabindex: "0", role: "region", "aria-label": "The stream" });
    this.heard = make("p", { class: "spoken", role: "log" });
    this.input = make("input", { id: "answer", autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: "100" });
    this.form = make(
      "form",
      { class: "field", onsubmit: (event) => this.#say(event) },
      make("label", { for: "answer" }, "Your answer"),
      make("div", { class: "stream-line" }, this.input, make("button", { class: "main" }, "Say")),
      make("p", { class: "quiet small" }, "An empty answer is silence: one space."),
    );
    element.classList.add("stack");
    element.replaceChildren(this.task, this.screen, this.heard, this.form);
    this.#watch = new ResizeObserver(() => this.#view && this.#draw());
    this.#watch.observe(this.screen);
  }

  close() {
    this.#watch.disconnect();
  }

  show(view) {
    const before = this.#view?.drawing;
    const { drawing } = (this.#view = view);
    this.task.replaceChildren(
      make("span", {}, `${drawing.task}, task ${drawing.number} of ${drawing.tasks}`),
      make("span", { class: "number" }, `${drawing.right} of ${drawing.questions} answers right`),
    );
    this.form.hidden = view.over;
    if (!before) this.input.focus({ preventScroll: true });
    if (before) this.heard.textContent = `${rewardInWords(drawing.rewards)}. In: ${drawing.sent.slice(-64)}`;
    this.#draw();
  }

  // As many columns as there is room for. The last byte has no answer yet.
  #draw() {
    const { sent, said, rewards } = this.#view.drawing;
    const columns = Math.max(12, Math.floor((this.screen.clientWidth - 92) / this.#width()));
    const first = Math.max(0, sent.length - columns * ROWS);
    const blocks = [];
    for (let at = first; at < sent.length; at += columns) {
      const signs = rewards.slice(at, at + columns).map((reward) => (reward > 0 ? "+" : reward < 0 ? "−" : " "));
      blocks.push(
        make(
          "div",
          { class: "stream-block" },
          row("in", visible(sent.slice(at, at + columns)), "stream-in"),
          row("out", visible(said.slice(at, at + columns)), "stream-out"),
          row("reward", signs, "stream-reward"),
        ),
      );
    }
    this.screen.replaceChildren(...blocks);
    this.screen.scrollTop = this.screen.scrollHeight;
  }

  #width() {
    const probe = make("span", { class: "stream-probe", "aria-hidden": "true" }, "0".repeat(20));
    this.screen.append(probe);
    const width = probe.getBoundingClientRect().width / 20;
    probe.remove();
    return width || 10;
  }

  #say(event) {
    event.preventDefault();
    if (!this.#view || this.#view.over || this.#session.pending || this.#session.state === "taken") return;
    this.#session.act(this.input.value);
    this.input.value = "";
  }
}

function row(name, characters, style) {
  const signs = { "+": "stream-right", "−": "stream-wrong" };
  const cells = [...characters].map((one) =>
    name === "reward" && signs[one] ? make("b", { class: signs[one] }, one) : one,
  );
  return make("div", { class: style }, make("span", { class: "stream-name" }, name), make("span", { class: "stream-bytes" }, ...cells));
}

// A character a byte; those that cannot be seen become dots.
const visible = (text) => text.replace(/[\u0000-\u001f\u007f-\u00a0\u00ad]/g, "·");

function rewardInWords(rewards) {
  const latest = rewards.slice(-64);
  const right = latest.filter((reward) => reward > 0).length;
  const wrong = latest.filter((reward) => reward < 0).length;
  return `Lately rewarded ${right} times, punished ${wrong} times`;
}
