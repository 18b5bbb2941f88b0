// What went wrong, in words, with what to do about it; where the server says when to come back, counted down.

import { useKey } from "./api.js";
import { byId, make } from "./dom.js";

const REMEDIES = {
  0: "Start it again, then try again.",
  401: "Give a key that the library knows.",
  403: "Ask whoever runs the server for a key that may write.",
  413: "Send fewer or smaller files at once.",
  415: "Send text, Markdown, HTML, PDF, Word or JSON lines.",
  429: "It goes on by itself when the time is over.",
  500: "Try again; if it comes back, tell whoever runs the server.",
  503: "It goes on by itself when the time is over.",
  504: "Ask again, or ask for fewer passages under “More”.",
};
const LONGEST_WAIT = 120; // seconds that are counted down; beyond, the person decides

/** Show a problem in `place`; `again` is what to try again, after the wait that the server asks for. */
export function show(place, problem, again = null) {
  if (problem.name === "AbortError") return;
  if (problem.status === 401) return void askForKey(again, () => shown(place, problem, again));
  shown(place, problem, again);
}

export function clear(place) {
  clearInterval(place.countdown);
  place.replaceChildren();
}

function shown(place, problem, again) {
  clear(place);
  const remedy =
    problem.wait === null && [429, 503].includes(problem.status) ? "Try again in a while." : REMEDIES[problem.status];
  const box = make("div", { class: "trouble" }, make("h2", {}, problem.title ?? "Something went wrong"));
  box.append(make("p", { dir: "auto" }, capital(problem.detail ?? String(problem))));
  if (problem.errors?.length > 1) {
    const each = problem.errors.map(({ where, what }) => make("li", { dir: "auto" }, `${where}: ${what}`));
    box.append(make("ul", {}, ...each));
  }
  if (remedy) box.append(make("p", {}, remedy));
  const buttons = make("p", { class: "buttons" });
  if (again)
    buttons.append(make("button", { type: "button", onclick: () => (clear(place), again()) }, "Try again now"));
  if (again && problem.wait !== null && problem.wait <= LONGEST_WAIT) countdown(place, buttons, problem.wait, again);
  buttons.append(make("button", { type: "button", onclick: () => clear(place) }, again ? "Leave it" : "Close"));
  box.append(buttons);
  place.append(box);
}

function countdown(place, buttons, seconds, again) {
  let left = Math.max(1, Math.ceil(seconds));
  // The seconds are not read aloud one by one: the alert has said it once.
  const clock = make("span", { class: "clock", "aria-hidden": "true" });
  const tell = () => (clock.textContent = `Trying again in ${left} s`);
  tell();
  buttons.append(make("span", { class: "unseen" }, `Trying again in ${left} seconds.`), clock);
  place.countdown = setInterval(() => {
    left -= 1;
    tell();
    if (left > 0) return;
    clear(place);
    again();
  }, 1000);
}

/** Have a key given, then go on; or not. */
export function askForKey(again, otherwise = () => {}) {
  const dialog = byId("key-dialog");
  const field = byId("key");
  byId("key-wrong").textContent = field.value ? "That key is not known here." : "";
  if (dialog.open) return;
  dialog.returnValue = "";
  dialog.addEventListener(
    "close",
    () => {
      if (dialog.returnValue !== "use" || !field.value.trim()) return otherwise();
      useKey(field.value.replace(/[^\x21-\x7e]/g, "")); // what a header cannot hold is in no key
      dispatchEvent(new Event("wherefrom-key"));
      again?.();
    },
    { once: true },
  );
  dialog.showModal();
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
