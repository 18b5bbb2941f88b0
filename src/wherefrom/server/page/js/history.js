// The questions asked in this browser, kept there and nowhere else.

import { byId, clipped, kept, make, named } from "./dom.js";
import { inHundred } from "./chance.js";

const MOST = 50;
const LONGEST = 160; // characters of an answer: a passage is opened, not kept
const storage = () => localStorage;

export function remember(entry) {
  const older = read().filter(({ question }) => question !== entry.question);
  const short = { ...entry, answer: entry.answer === null ? null : clipped(entry.answer, LONGEST) };
  kept.write(storage, "history", [short, ...older].slice(0, MOST));
}

/** The list; `again` asks one of them once more. */
export function showHistory(again) {
  const entries = read();
  byId("history-clear").disabled = !entries.length;
  byId("history-clear").onclick = () => {
    kept.write(storage, "history", null);
    showHistory(again);
    byId("history-title").focus();
  };
  const rows = entries.map(({ question, answer, chance, style, when }) => {
    const what = make("div", { class: "what" }, named(question));
    what.append(make("span", { class: "muted small", dir: "auto" }, typeof answer === "string" ? clipped(answer, LONGEST) : "declined"));
    what.append(
      make(
        "span",
        { class: "muted small" },
        `${new Date(when).toLocaleString()}, ${style}, chance ${inHundred(chance)}`,
      ),
    );
    const button = make(
      "button",
      { type: "button", class: "tool", onclick: () => again(question, style), "aria-label": `Ask again: ${question}` },
      "Ask again",
    );
    return make("li", {}, what, button);
  });
  byId("history-list").replaceChildren(...(rows.length ? rows : [make("li", { class: "muted" }, "Nothing yet.")]));
}

/** Only entries that look like ours: other pages of this address may have written there. */
function read() {
  const entries = kept.read(storage, "history", []);
  return (Array.isArray(entries) ? entries : []).filter((entry) => typeof entry?.question === "string");
}
