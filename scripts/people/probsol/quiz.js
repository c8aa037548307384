// The questions that follow a goal, and the answers of the player.

import { make } from "/pages/elements.js";

// Show the questions in a dialog; `answer` is called with a list of ids for each.
export function ask(dialog, { discs, quiz }, answer) {
  const told = make("p", { class: "note warn", role: "alert", hidden: true });
  const fields = quiz.map(({ text, pair }, number) => {
    const choices = discs.map((disc) => {
      const input = make("input", { type: pair ? "checkbox" : "radio", name: `question ${number}`, value: disc.id });
      return make("label", {}, input, swatch(disc), `${disc.id} ${disc.name || disc.colour}`);
    });
    const legend = make("legend", {}, `${number + 1}. ${text}`);
    return make("fieldset", {}, legend, make("div", { class: "probsol-answers" }, ...choices));
  });
  const send = (event) => {
    event.preventDefault();
    const answers = fields.map((field) => [...field.querySelectorAll(":checked")].map((input) => input.value));
    const wrong = answers.findIndex((ids, k) => ids.length !== (quiz[k].pair ? 2 : 1));
    told.hidden = wrong < 0;
    if (wrong < 0) answer(answers);
    else told.textContent = `Question ${wrong + 1} asks for ${quiz[wrong].pair ? "two discs" : "a disc"}.`;
  };
  const title = make("h2", { id: "probsol-quiz-title" }, "The goal is reached. What have you found out?");
  const button = make("p", {}, make("button", { class: "main" }, "Answer"));
  dialog.replaceChildren(make("form", { class: "stack", onsubmit: send }, title, ...fields, told, button));
  dialog.show();
  dialog.querySelector("input").focus();
  dialog.scrollIntoView({ block: "nearest" });
}

export function swatch({ colour }) {
  const made = make("span", { class: "probsol-swatch", "aria-hidden": "true" });
  made.style.backgroundColor = colour;
  return made;
}
