// Questions as a form: choices, scales and texts.

import { make } from "/pages/elements.js";

// Paragraphs of a text, with blank lines between them.
export const paragraphs = (text) =>
  text
    .trim()
    .split(/\n\s*\n/)
    .map((one) => make("p", {}, one.replace(/\s+/g, " ")));

// questions: of a stage; answers: what is known; save({name: value}): called when an answer has changed.
// -> {element: a form, answers() -> {name: value}, null for what is open}
export function questionnaire(questions, answers, save) {
  const fields = questions.map((question) => FIELDS[question.kind](question, answers[question.name], save));
  const element = make("form", { class: "stack narrow", novalidate: true }, ...fields.map((field) => field.element));
  return { element, answers: () => Object.fromEntries(fields.map((field) => [field.name, field.value()])) };
}

const FIELDS = { choice, scale, text };

function choice({ name, text: asked, options, required }, given, save) {
  const [labels, value] = radios(name, options.map((option) => [option, option]), given, save);
  return { name, element: fieldset(name, asked, required, ...labels), value };
}

function scale({ name, text: asked, low, high, low_label: lowLabel, high_label: highLabel, required }, given, save) {
  const points = Array.from({ length: high - low + 1 }, (_, k) => [low + k, String(low + k)]);
  const [labels, value] = radios(name, points, given, save);
  const ends = [lowLabel && `${low}: ${lowLabel}`, highLabel && `${high}: ${highLabel}`].filter(Boolean).join(", ");
  const told = make("p", { class: "small quiet", hidden: !ends }, ends);
  return { name, element: fieldset(name, asked, required, told, make("div", { class: "row" }, ...labels)), value };
}

function fieldset(name, asked, required, ...parts) {
  const legend = make("legend", {}, asked, required ? null : " (you may leave this open)");
  return make("div", { class: "panel", "data-question": name }, make("fieldset", { class: "options" }, legend, ...parts));
}

// The labels of radio buttons, and a function that gives the chosen value.
function radios(name, options, given, save) {
  const inputs = options.map(([value], k) => {
    const input = make("input", { type: "radio", name, id: `${name}-${k}`, checked: value === given });
    input.addEventListener("change", () => save({ [name]: value }));
    return input;
  });
  const labels = options.map(([, label], k) => make("label", { for: `${name}-${k}` }, inputs[k], make("span", {}, label)));
  return [labels, () => options[inputs.findIndex((input) => input.checked)]?.[0] ?? null];
}

function text({ name, text: asked, longest, lines, required }, given, save) {
  const input = make("textarea", { id: `${name}-text`, rows: lines, maxlength: longest });
  input.value = given ?? "";
  input.addEventListener("change", () => save({ [name]: input.value }));
  const element = make(
    "div",
    { class: "panel field", "data-question": name },
    make("label", { for: `${name}-text` }, asked, required ? null : " (you may leave this open)"),
    input,
  );
  return { name, element, value: () => input.value || null };
}
