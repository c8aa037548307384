// The pages of a study. The server says which stage comes; this draws it and sends the answers.
//
// A page that is left is kept in the browser until the server has it on disk, and sent again after a lost connection.

import { make, sentence } from "/pages/elements.js";
import { Player } from "/pages/player.js";
import { Connection, Kept, Session } from "/pages/session.js";
import { paragraphs, questionnaire } from "./questions.js";

const STATES = { online: "", offline: "Offline: connecting again. Nothing is lost.", taken: "This study goes on in another window." };
const TOLD_LEFT = [60, 30, 10]; // seconds of a task that are left, when this is said aloud
const AGAIN_AFTER = 5_000; // ms until the server is asked again for what it could not do
const content = document.getElementById("content");
const connection = new Connection();
const kept = new Kept();
let shown = null; // the stage that is drawn
let task = null; // {session, player, timer}

function tellState() {
  const place = document.getElementById("connection");
  place.dataset.state = connection.state === "online" ? "saved" : connection.state;
  place.textContent = STATES[connection.state];
}

// ---- One stage after the other

async function show(stage) {
  const scope = `study ${stage.study} ${stage.participant}`;
  if (stage.stages !== undefined) {
    await kept.drop(scope, -1, stage.stage - 1);
    // The present page was left here, and the server has not heard of it.
    for (const { value } of await kept.after(scope, stage.stage - 1)) connection.send(value);
  }
  const key = JSON.stringify([stage.kind, stage.stage, stage.episode, stage.over, stage.wrong]);
  if (shown?.key === key) return;
  shown = { ...stage, key, scope };
  closeTask();
  document.title = stage.title;
  document.getElementById("title").textContent = stage.title;
  progress(stage);
  const fresh = identityOfAddress();
  const draw = fresh ? join : DRAWN[stage.kind];
  content.replaceChildren(...draw(stage, fresh));
  content.removeAttribute("aria-busy");
  withdrawal(!fresh && stage.stage > 0 && stage.kind !== "refused");
  const heading = content.querySelector("h1");
  heading.tabIndex = -1;
  heading.focus();
  scrollTo(0, 0);
}

function progress({ stage, stages }) {
  const meter = document.getElementById("meter");
  meter.hidden = stages === undefined;
  if (meter.hidden) return;
  const bar = document.getElementById("progress");
  bar.max = stages - 1;
  bar.value = stage;
  document.getElementById("pages").textContent = `Page ${stage + 1} of ${stages}`;
}

// Leave the present stage. What cannot be sent now is sent when the connection is back.
async function leave(answers = {}) {
  const message = { type: "study_next", stage: shown.stage, answers, at: Date.now() };
  await kept.put(shown.scope, shown.stage, message);
  connection.send(message);
}

function refuse({ stage, reason, fields, tries_left: left }) {
  if (stage !== shown?.stage) return;
  kept.drop(shown.scope, stage);
  trouble(sentence(reason));
  for (const field of content.querySelectorAll("[data-question]")) {
    mark(field, fields.includes(field.dataset.question));
  }
  if (left !== null) content.querySelector("#tries").textContent = `Tries left: ${left}`;
  const again = content.querySelector("details");
  if (shown.kind === "quiz" && again) again.open = true;
  content.querySelector("[data-wrong] input, [data-wrong] textarea")?.focus();
}

function mark(field, wrong) {
  field.toggleAttribute("data-wrong", wrong);
  for (const input of field.querySelectorAll("input, textarea")) input.setAttribute("aria-invalid", String(wrong));
}

// A mark is about the answer that was sent: it goes when that is changed, and the reason with the last mark.
function unmark({ target }) {
  const field = target.closest("[data-wrong]");
  if (!field) return;
  mark(field, false);
  if (!content.querySelector("[data-wrong]")) content.querySelector("#trouble")?.remove();
}

function trouble(told) {
  content.querySelector("#trouble")?.remove();
  content.append(make("p", { class: "note bad narrow", id: "trouble", role: "alert" }, told));
}

// The server makes a world ready before the next page comes; a task that is shown tells it itself.
function wait(reason) {
  if (task || content.querySelector("#wait")) return;
  content.append(make("p", { class: "note narrow", id: "wait", role: "status" }, sentence(reason)));
}

const title = (told) => make("h1", {}, told);
const button = (told, onclick, attributes = {}) => make("button", { type: "button", onclick, ...attributes }, told);
const next = () => button("Next", () => leave(), { class: "main", id: "next" });
const row = (...children) => make("div", { class: "row" }, ...children);

// ---- Sign-in

// Who the address says it is: a personal link, or the parameters of a recruiting service.
function identityOfAddress() {
  const token = location.pathname.match(/^\/study\/s\/([^/]+)$/)?.[1];
  if (token) return { token: decodeURIComponent(token) };
  const given = Object.fromEntries(new URLSearchParams(location.search));
  return Object.keys(given).length ? given : null;
}

function join({ sign_in: signIn }, identity) {
  if (identity) {
    const told = "Press the button to begin, or to go on where you stopped.";
    return [title("Welcome"), make("p", {}, told), row(button("Begin or go on", () => signInWith(identity), { class: "main", id: "begin" }))];
  }
  if (signIn.by !== "name") {
    const told = "Open the personal link that you were given; this address alone leads to nobody's place.";
    return [title("Welcome"), make("p", { class: "note" }, told)];
  }
  const name = make("input", { id: "name", autocomplete: "off", maxlength: "100", required: true });
  const form = make(
    "form",
    { class: "stack narrow", onsubmit: (event) => (event.preventDefault(), signInWith({ name: name.value })) },
    make("div", { class: "field" }, make("label", { for: "name" }, "Your name, or the one you were given"), name),
    row(make("button", { class: "main", id: "begin" }, "Begin")),
  );
  return [title("Welcome"), form];
}

async function signInWith(identity) {
  const pressed = document.getElementById("begin");
  if (pressed.disabled) return; // a second click would be a second participant
  pressed.disabled = true;
  const response = await post("/study/join", identity);
  if (response) location.assign(response.next);
  else pressed.disabled = false;
}

async function post(path, body = {}) {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (response.ok) return answer;
    trouble(sentence(answer.reason));
  } catch {
    trouble("The server cannot be reached. Try it again in a moment.");
  }
  return null;
}

// ---- Consent, texts, questions

function consent(stage) {
  const agree = make("input", { type: "checkbox", id: "agree" });
  const take = (event) => {
    event.preventDefault();
    leave({ agree: agree.checked });
  };
  return [
    title("Before you begin"),
    make("div", { class: "stack narrow" }, ...paragraphs(stage.text)),
    make(
      "section",
      { class: "panel stack narrow", "aria-labelledby": "kept" },
      make("h2", { id: "kept" }, "What is kept of you"),
      make("ul", {}, ...stage.keeps.map((one) => make("li", {}, one))),
      make("p", { class: "small quiet" }, "It stays with those who run this study, on their own server. Nothing goes to anyone else."),
      make("p", { class: "small quiet" }, `Questions, and requests for deletion: ${stage.contact}.`),
    ),
    make(
      "details",
      { class: "narrow" },
      make("summary", {}, "Go on on another device"),
      make("p", {}, "Open this link there. Who has it can go on in your place, so keep it to yourself."),
      make("p", {}, make("code", { id: "own-link" }, new URL(stage.back, location.href).href)),
    ),
    make(
      "form",
      { class: "stack narrow", onsubmit: take },
      make("div", { class: "options", "data-question": "agree" }, make("label", { for: "agree" }, agree, make("span", {}, stage.agree))),
      row(make("button", { class: "main", id: "next" }, "Take part")),
    ),
  ];
}

const text = (stage) => [
  title(stage.stage === 1 ? "Instructions" : stage.heading || "Please read"),
  make("div", { class: "stack narrow" }, ...paragraphs(stage.text)),
  row(next()),
];

const plan = (stage) => [
  title(`${stage.name} ${stage.at} of ${stage.of}`),
  make("div", { class: "panel stack narrow" }, make("h2", {}, "Your goal"), ...paragraphs(stage.text)),
  asked(stage, "Begin the task"),
];

function quiz(stage) {
  const told = make("details", { class: "narrow", open: stage.wrong > 0 });
  const again = make("div", { class: "stack" }, ...stage.instructions.flatMap(paragraphs));
  told.append(make("summary", {}, "The instructions again"), again);
  const left = stage.tries_left === null ? null : make("p", { class: "quiet", id: "tries" }, `Tries left: ${stage.tries_left}`);
  return [title("Did we explain it well?"), told, left, asked(stage)].filter(Boolean);
}

const questions = (stage) => [title("Some questions"), asked(stage)];

// The form with a stage's questions. Each answer is sent when it is given, so that another device has it, too.
function asked(stage, told = "Next") {
  const save = (answers) =>
    connection.send({ type: "study_answer", stage: stage.stage, answers, at: Date.now() });
  const form = questionnaire(stage.questions, stage.answers, save);
  form.element.addEventListener("submit", (event) => {
    event.preventDefault();
    leave(form.answers());
  });
  form.element.append(row(make("button", { class: "main", id: "next" }, told)));
  return form.element;
}

// ---- Tasks

function play(stage) {
  const area = make("div", { "aria-busy": "true" });
  const session = new Session(connection, { world: stage.world, episode: stage.episode });
  const player = new Player(area, session, { view: stage.view, after: stage.feedback ? next() : null });
  task = { session, player };
  session.on("shown", ({ over }) => {
    if (over && !stage.feedback) connection.send({ type: "study_now" });
  });
  session.on("left", () => connection.send({ type: "study_quit", stage: stage.stage }));
  session.start();
  const parts = [title(`${stage.name} ${stage.at} of ${stage.of}`)];
  if (stage.left_s !== null && !stage.over) parts.push(...clock(stage.left_s));
  return [...parts, area];
}

// The time that is left, by a clock that no change of the device's time moves.
function clock(seconds) {
  const end = performance.now() + 1000 * seconds;
  const element = make("p", { class: "number", id: "clock", role: "timer" });
  const aloud = make("p", { class: "spoken", role: "status" });
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
    const told = `Time left: ${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    if (element.textContent !== told) element.textContent = told;
    if (TOLD_LEFT.includes(left)) aloud.textContent = `${left} seconds are left`;
    if (left > 0) return;
    clearInterval(task.timer);
    setTimeout(() => connection.send({ type: "study_now" }), 300); // the server's clock decides
  };
  task.timer = setInterval(tick, 250);
  tick();
  return [element, aloud];
}

function closeTask() {
  if (!task) return;
  clearInterval(task.timer);
  task.player.close();
  task.session.close();
  task = null;
}

// ---- Ends

const another = (stage) =>
  stage.again ? [row(button("Next participant on this computer", async () => (await post("/study/leave")) && location.assign("/study")))] : [];

const end = (stage) => [
  title("The end"),
  make("div", { class: "stack narrow" }, ...paragraphs(stage.text)),
  make(
    "div",
    { class: "panel stack narrow" },
    make("p", { class: "eyebrow" }, "Your completion code"),
    make("p", {}, make("code", { class: "code", id: "code" }, stage.code)),
    ...(stage.back ? [row(make("a", { class: "button main", href: stage.back }, "Go back to the recruiting service"))] : []),
  ),
  ...another(stage),
];

const refusedAtQuiz = (stage) => [
  title("The study ends here"),
  make("p", { class: "note" }, "Your answers to the questions about the instructions were not right, and no try is left. Thank you for your time."),
  ...another(stage),
];

const withdrawn = (stage) => [
  title("You have withdrawn"),
  make("p", { class: "note good" }, "All data of yours are deleted. What stays is that a participant with your number withdrew."),
  ...another(stage),
];

// The way out, at the foot of every page.
function withdrawal(open) {
  const place = document.getElementById("withdrawal");
  place.hidden = !open;
  const turn = (to, focused) => (place.replaceChildren(to), focused.focus()); // the button that was pressed is gone
  const ask = button("Withdraw from the study", () => turn(sure, question), { class: "plain", id: "withdraw" });
  const question = make("p", { tabindex: "-1" }, "All your data will be deleted at once, and you cannot go on. Do you want that?");
  const sure = make(
    "div",
    { class: "note warn stack", role: "group", "aria-label": "Withdraw" },
    question,
    row(
      button("Withdraw and delete my data", () => connection.send({ type: "study_withdraw" }), { id: "withdraw-now" }),
      button("Go on with the study", () => turn(ask, ask)),
    ),
  );
  place.replaceChildren(ask);
}

// What the server could not do is asked for again; a task tells by itself what became of it.
function fail(reason, kind, episode) {
  if (kind === "taken" || (task && episode)) return;
  trouble(sentence(reason));
  if (kind === "failed") setTimeout(() => connection.send({ type: "study_now" }), AGAIN_AFTER);
}

// ---- Begin

const DRAWN = { join, consent, text, plan, task: play, quiz, questions, end, refused: refusedAtQuiz, withdrawn };

content.addEventListener("input", unmark);
connection.on("open", () => connection.send({ type: "study_now" }));
connection.on("state", tellState);
connection.on("study_stage", (stage) => show(stage));
connection.on("study_refused", (refusal) => refuse(refusal));
connection.on("preparing", ({ reason }) => wait(reason));
connection.on("error", ({ reason, kind, episode }) => fail(reason, kind, episode));
tellState();
