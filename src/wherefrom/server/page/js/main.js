// Starts the page: which part is in sight, light or dark, and what the library is.

import { api } from "./api.js";
import { Asking } from "./ask.js";
import { askedIn } from "./copying.js";
import { Documents } from "./documents.js";
import { byId, count } from "./dom.js";
import { showHistory } from "./history.js";
import * as problems from "./problems.js";
import { Uploads } from "./upload.js";
import { placeIn, Viewer } from "./viewer.js";

const VIEWS = { "#/": "ask", "#/documents": "documents", "#/history": "history" };

const asking = new Asking();
const viewer = new Viewer((id) => askAbout(id));
const documents = new Documents(() => changed());
const uploads = new Uploads(() => changed());
let view = "#/";
let settling = 0;
let known = () => {};
const configured = new Promise((resolve) => (known = resolve)); // which styles there are

/** Something was added or has gone: at once in the lists, a moment later in the examples, which take asking. */
function changed() {
  viewer.forget();
  documents.refresh(view === "#/documents");
  look();
  clearTimeout(settling);
  settling = setTimeout(() => examples().catch(() => asking.examples([])), 2000);
}

/** The first ones soon, the rest when they have been tried, which the server does for some seconds at a time. */
async function examples() {
  let shown = -1;
  for (const limit of [2, 6, 6, 6]) {
    const { questions } = await api.examples(limit);
    asking.examples(questions);
    if (limit === 6 && (questions.length === 6 || questions.length === shown)) return;
    shown = questions.length;
  }
}

/** Show the part that the address names. Addresses that are not ours, such as the skip link's, change nothing. */
function route(first = false) {
  const hash = location.hash || "#/";
  const place = placeIn(hash);
  const asked = askedIn(hash);
  if (asked) {
    // Its words stay out of the browser's own history from here on.
    history.replaceState(null, "", "#/");
    viewer.close();
    askAgain(asked.question, asked.style);
  } else if (place) {
    see(view, false);
    viewer.open(place, view);
  } else if (Object.hasOwn(VIEWS, hash)) {
    const opened = viewer.isOpen;
    viewer.close();
    see(hash, !first && !(opened && hash === view));
  }
}

function see(hash, focus) {
  view = hash;
  for (const section of document.querySelectorAll("[data-view]")) section.hidden = section.dataset.view !== VIEWS[hash];
  for (const link of document.querySelectorAll("[data-to]")) {
    if (link.dataset.to === VIEWS[hash]) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const title = byId(`${VIEWS[hash]}-title`);
  document.title = hash === "#/" ? "wherefrom" : `${title.textContent} – wherefrom`;
  if (focus) title.focus();
  if (hash === "#/documents") documents.show();
  if (hash === "#/history") showHistory(askAgain);
}

async function askAgain(question, style) {
  location.hash = "#/";
  see("#/", false);
  await configured;
  asking.ask(question, style);
  byId("question").focus();
}

/** Back to the question, which is then asked of one document. */
function askAbout(id) {
  viewer.close();
  history.pushState(null, "", "#/");
  see("#/", false);
  asking.about(id);
}

/** What the library is; the page can be used meanwhile. */
async function look() {
  try {
    const ready = await api.ready();
    byId("library").textContent = ready.documents
      ? `${count(ready.documents, "document")}, ${count(ready.passages, "passage")}. Answers are made from them alone.`
      : "The library is empty.";
    asking.configure(ready);
    problems.clear(byId("trouble"));
    return ready;
  } catch (problem) {
    problems.show(byId("trouble"), problem, start);
    return null;
  }
}

async function start() {
  const ready = await look();
  if (!ready) return;
  known();
  performance.mark("interactive");
  const greet = async () => {
    await Promise.all([examples(), uploads.resume()]);
  };
  // Without a key nobody is asked for one until something needs it.
  greet().catch((problem) => problem.status === 401 || problems.show(byId("trouble"), problem));
}

/** A slash leads to the question from wherever no text is typed. */
function shortcut(event) {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, textarea, select") || byId("main").inert) return;
  event.preventDefault();
  if (view !== "#/") history.pushState(null, "", "#/");
  viewer.close();
  see("#/", false);
  byId("question").focus();
  byId("question").select();
}

// ------------------------------------------------------------------------------------------- light or dark

const THEMES = { system: "system", light: "light", dark: "dark" };

function theme(step) {
  const names = Object.keys(THEMES);
  const now = document.documentElement.dataset.theme ?? "system";
  const chosen = names[(names.indexOf(now) + step) % names.length];
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  byId("theme-name").textContent = `Theme: ${THEMES[chosen]}`;
  if (!step) return;
  try {
    if (chosen === "system") localStorage.removeItem("wherefrom.theme");
    else localStorage.setItem("wherefrom.theme", chosen);
  } catch {
    // Storage can be forbidden; then it lasts until the page is left.
  }
}

// ------------------------------------------------------------------------------------------- drag and drop

function dropping() {
  const over = byId("drop-here");
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    over.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) over.hidden = true;
  });
  addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    over.hidden = true;
    const files = [...event.dataTransfer.files];
    location.hash = "#/documents";
    uploads.add(files);
  });
}

byId("theme").onclick = () => theme(1);
theme(0);
dropping();
addEventListener("keydown", shortcut);
addEventListener("hashchange", () => route());
addEventListener("wherefrom-key", () => start());
route(true);
start();
