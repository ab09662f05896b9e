// The page: reads what is typed, asks the server after a pause, shows what comes back.
import { examples } from "./examples.js";
import { code, missing, requestOf, stateOf } from "./request.js";

const PAUSE_MS = 250;
const KINDS = { choice: "choice", noul: "yes / no", score: "score" };
const ADD_OPTION = { choice: "+ option", score: "+ level", noul: "" };
const STARTS = {
  choice: [["", ""], ["", ""]],
  noul: [["yes", ""], ["no", ""]],
  score: [["0", ""], ["1", ""], ["2", ""]],
};

const element = (id) => document.getElementById(id);
const base = new URL(".", document.location.href).href.replace(/\/$/, "");
let timer = 0;
let running = null;
let language = "curl";

// ---- questions ------------------------------------------------------------

function addQuestion(question, { focus = false } = {}) {
  const card = element("question-template").content.firstElementChild.cloneNode(true);
  card.dataset.type = question.type;
  if (question.family) card.dataset.family = question.family;
  card.classList.add(question.type);
  card.querySelector(".kind").textContent = KINDS[question.type];
  const name = card.querySelector(".name");
  name.value = question.name;
  const instructions = card.querySelector(".instructions");
  instructions.value = question.instructions;
  instructions.addEventListener("input", () => delete card.dataset.family); // another question, of no known family
  for (const option of question.options) addOption(card, option);
  const add = card.querySelector(".add-option");
  add.textContent = ADD_OPTION[question.type];
  add.hidden = question.type === "noul";
  add.addEventListener("click", () => {
    addOption(card, [String(card.querySelectorAll(".option").length), ""]).focus();
    renumber(card);
  });
  card.querySelector(".remove").addEventListener("click", () => {
    const next = card.nextElementSibling ?? card.previousElementSibling;
    card.remove();
    (next?.querySelector(".instructions") ?? element("add-choice")).focus();
    soon();
  });
  element("questions").append(card);
  fit(instructions);
  if (focus) instructions.focus();
  return card;
}

function addOption(card, [name, text]) {
  const type = card.dataset.type;
  const row = element("option-template").content.firstElementChild.cloneNode(true);
  const [nameField, textField] = [row.querySelector(".option-name"), row.querySelector(".option-text")];
  nameField.value = type === "choice" && /^\d+$/.test(name) ? "" : name;
  textField.value = text;
  const isFixed = type !== "choice";
  nameField.readOnly = isFixed;
  nameField.tabIndex = isFixed ? -1 : 0;
  if (type === "choice") nameField.placeholder = "option";
  if (type === "score") textField.placeholder = "what this level looks like";
  const remove = row.querySelector(".remove-option");
  remove.hidden = type === "noul";
  remove.addEventListener("click", () => {
    row.remove();
    renumber(card);
    card.querySelector(".add-option").focus();
    soon();
  });
  row.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || type === "noul") return;
    event.preventDefault();
    if (row.nextElementSibling) focusRow(row.nextElementSibling);
    else card.querySelector(".add-option").click();
  });
  card.querySelector(".options").append(row);
  return isFixed ? textField : nameField;
}

function focusRow(row) {
  const name = row.querySelector(".option-name");
  (name.readOnly ? row.querySelector(".option-text") : name).focus();
}

function renumber(card) {
  if (card.dataset.type !== "score") return;
  card.querySelectorAll(".option-name").forEach((field, level) => (field.value = String(level)));
}

function readCard(card) {
  return {
    name: card.querySelector(".name").value,
    type: card.dataset.type,
    family: card.dataset.family,
    instructions: card.querySelector(".instructions").value,
    options: [...card.querySelectorAll(".option")].map((row) => [
      row.querySelector(".option-name").value,
      row.querySelector(".option-text").value,
    ]),
  };
}

const cards = () => [...document.querySelectorAll(".question")];

function freshName(type) {
  const taken = new Set(cards().map((card) => card.querySelector(".name").value));
  let number = 1;
  while (taken.has(`${type}_${number}`)) number += 1;
  return `${type}_${number}`;
}

// ---- asking ---------------------------------------------------------------

function soon() {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE_MS);
  showCode();
  element("state-kind").textContent = stateOf(element("state").value).kind;
}

async function ask() {
  running?.abort();
  const request = requestOf(element("state").value, cards().map(readCard));
  for (const card of cards()) showMissing(card);
  if (!Object.keys(request.questions).length) {
    element("status").textContent = "";
    return;
  }
  const mine = new AbortController();
  running = mine;
  document.body.classList.add("stale");
  try {
    const headers = { "content-type": "application/json" };
    if (element("key").value) headers.authorization = `Bearer ${element("key").value}`;
    const started = performance.now();
    const response = await fetch(`${base}/v1/systemone`, {
      method: "POST", headers, body: JSON.stringify(request), signal: mine.signal,
    });
    const body = await response.json();
    if (mine !== running) return;
    if (response.ok) show(body, performance.now() - started);
    else refuse(response, body);
  } catch (error) {
    if (error.name !== "AbortError" && mine === running) problem("The server cannot be reached. It is tried again as you type.");
  }
}

function refuse(response, body) {
  if (response.status === 401) element("key-field").hidden = false;
  const detail = body.detail;
  const text = Array.isArray(detail)
    ? detail.map((item) => `${item.loc.slice(1).join(".")}: ${item.msg}`).join("; ")
    : (detail?.message ?? detail ?? `status ${response.status}`);
  problem(text);
  const wait = Number(response.headers.get("retry-after-ms"));
  if (response.status === 429 && wait) {
    clearTimeout(timer);
    timer = setTimeout(ask, wait);
  }
}

function problem(text) {
  element("problem").textContent = text;
  element("problem").hidden = !text;
  element("status").textContent = "";
}

// ---- showing --------------------------------------------------------------

function show(body, milliseconds) {
  problem("");
  document.body.classList.remove("stale");
  element("model-name").textContent = `${body.model} · ${body.x_bundle ?? ""}`;
  element("calibrated").hidden = false;
  element("calibrated").textContent = body.x_calibrated ? "calibrated" : "not calibrated";
  element("status").textContent = `${Math.round(milliseconds)} ms · ${body.usage.input_tokens} tokens`;
  const spoken = [];
  for (const card of cards()) {
    const answer = body.answers[card.querySelector(".name").value];
    if (answer && answer.type === card.dataset.type) spoken.push(showAnswer(card, answer));
  }
  element("spoken").textContent = spoken.join(". ");
}

function showAnswer(card, answer) {
  const rows = [...card.querySelectorAll(".option")];
  const shares = sharesOf(card, rows, answer);
  const top = Math.max(...shares.filter((share) => share !== null));
  rows.forEach((row, index) => {
    const share = shares[index];
    row.style.setProperty("--share", share ?? 0);
    row.classList.toggle("top-option", share !== null && share === top);
    row.querySelector(".share").textContent = share === null ? "" : percent(share);
  });
  const confidence = answer.confidence ?? answer.x_confidence;
  const outcome = card.querySelector(".outcome");
  outcome.hidden = false;
  outcome.querySelector("meter").value = confidence;
  outcome.querySelector("meter").textContent = percent(confidence);
  outcome.querySelector("output").textContent = confidence.toFixed(2);
  outcome.querySelector(".expected").textContent = answer.type === "score" ? `expected ${answer.score.toFixed(2)}` : "";
  const verdict = outcome.querySelector(".verdict");
  verdict.className = `verdict ${answer.x_verdict ?? ""}`;
  verdict.textContent = answer.x_verdict ?? "no threshold";
  verdict.title = answer.x_verdict ? "" : "The served model has no calibrated threshold for this kind of question.";
  const best = rows[shares.indexOf(top)];
  const label = best?.querySelector(answer.type === "score" ? ".option-text" : ".option-name").value;
  return `${card.querySelector(".name").value}: ${label}, ${percent(top)}, ${answer.x_verdict ?? "no threshold"}`;
}

function sharesOf(card, rows, answer) {
  if (answer.type === "noul") return [answer.noul, 1 - answer.noul];
  if (answer.type === "choice") return rows.map((row) => answer.probabilities[row.querySelector(".option-name").value] ?? null);
  let level = 0;
  return rows.map((row) => (row.querySelector(".option-text").value.trim() ? answer.probabilities[String(level++)] ?? null : null));
}

function showMissing(card) {
  const name = card.querySelector(".name").value;
  const isTaken = cards().some((other) => other !== card && other.querySelector(".name").value === name);
  const text = missing(readCard(card)) || (name ? "" : "Name the question.") || (isTaken ? "Another question has this name." : "");
  const place = card.querySelector(".problem");
  place.hidden = true;
  if (!text) return;
  card.querySelector(".outcome").hidden = true;
  for (const row of card.querySelectorAll(".option")) {
    row.style.setProperty("--share", 0);
    row.classList.remove("top-option");
    row.querySelector(".share").textContent = "";
  }
  place.textContent = text;
  place.hidden = card.contains(document.activeElement) && !card.querySelector(".instructions").value;
}

const percent = (share) => `${(share * 100).toFixed(1)} %`;

function fit(area) {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

function showCode() {
  const request = requestOf(element("state").value, cards().map(readCard));
  element("snippet").textContent = code[language](request, base, Boolean(element("key").value));
}

// ---- wiring ---------------------------------------------------------------

function load(example) {
  element("state").value = typeof example.state === "string" ? example.state : JSON.stringify(example.state, null, 2);
  element("questions").replaceChildren();
  for (const question of example.questions) addQuestion(question);
  soon();
}

for (const example of examples) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = example.title;
  button.addEventListener("click", () => load(example));
  element("examples").append(button);
}

for (const type of Object.keys(KINDS)) {
  element(`add-${type}`).addEventListener("click", () => {
    addQuestion({ name: freshName(type), type, instructions: "", options: STARTS[type] }, { focus: true });
    soon();
  });
}

const tabs = [...document.querySelectorAll('[role="tab"]')];
function select(tab) {
  for (const other of tabs) {
    other.setAttribute("aria-selected", String(other === tab));
    other.tabIndex = other === tab ? 0 : -1;
  }
  language = tab.id.replace("tab-", "");
  element("snippet").setAttribute("aria-labelledby", tab.id);
  showCode();
}
for (const tab of tabs) {
  tab.addEventListener("click", () => select(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    select(next);
    next.focus();
  });
}

element("copy").addEventListener("click", async () => {
  const text = element("snippet").textContent;
  try {
    await navigator.clipboard.writeText(text);
    element("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(element("snippet"));
    element("copy").textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => (element("copy").textContent = "Copy"), 2000);
});

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
function paint() {
  const wanted = element("theme").value;
  document.documentElement.dataset.theme = wanted === "auto" ? (prefersDark.matches ? "dark" : "light") : wanted;
}
element("theme").value = localStorage.getItem("forthwith-theme") ?? "auto";
element("theme").addEventListener("change", () => {
  localStorage.setItem("forthwith-theme", element("theme").value);
  paint();
});
prefersDark.addEventListener("change", paint);

document.addEventListener("input", (event) => {
  if (event.target.matches(".instructions")) fit(event.target);
  if (event.target.id !== "theme") soon();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    clearTimeout(timer);
    ask();
  }
});

paint();
load(examples[0]);
