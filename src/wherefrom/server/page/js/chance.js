// The chance that the answer is right, as a gauge, and what is said where it declines.

import { make, width } from "./dom.js";
import { opener, titled } from "./answer.js";
import { inDocument, quoted } from "./text.js";

export function inHundred(chance) {
  return `${Math.round(100 * chance)} in 100`;
}

/** A gauge with the smallest chance that is answered with marked on it. */
export function gauge(chance, needed) {
  const level = chance >= 0.7 ? "good" : chance >= 0.4 ? "middling" : "poor";
  const words = { good: "it probably is", middling: "it may be, or not", poor: "it probably is not" }[level];
  const meter = make(
    "div",
    {
      class: `meter ${level}`,
      role: "meter",
      "aria-label": "Chance that the answer is right",
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": String(Math.round(100 * chance)),
      "aria-valuetext": `${inHundred(chance)}: ${words}`,
    },
    width(make("div", { class: "fill" }), chance),
  );
  const need = make("div", { class: "need" });
  need.style.insetInlineStart = `calc(${100 * needed}% - 1px)`;
  meter.append(need);
  const told = make(
    "span",
    {},
    "Chance that the answer is right: ",
    make("b", {}, inHundred(chance)),
    ` (${words}). `,
  );
  told.append(make("span", { class: "muted" }, `It answers from ${inHundred(needed)} on: the line in the gauge.`));
  return make("div", { class: "gauge" }, meter, told);
}

/** That the question is one that nobody here can answer, and why. */
export function beyond(reason) {
  const words = make("p", {}, make("b", {}, "I can't answer that."), ` It is ${reason}.`);
  return make("div", { class: "card declined" }, words);
}

/** That it declines, in plain words, with what was nearest; `anyway` asks again whatever the chance. */
export function declined(chance, needed, candidates, hits, anyway) {
  const box = make("div", { class: "card declined" });
  const why =
    chance > 0
      ? `The chance that it does is ${inHundred(chance)}, and I answer from ${inHundred(needed)} on.`
      : "Nothing in it has to do with the words of the question.";
  box.append(make("p", {}, make("b", {}, "The library does not answer this, as far as I can tell."), ` ${why}`));
  const nearest = candidates[0] ?? (hits[0] && { passage: hits[0].passage, start: 0, end: 0 });
  if (nearest) {
    const range = [{ start: nearest.start, end: nearest.end }];
    box.append(
      make("h3", {}, "Nearest to it"),
      make("p", {}, titled(nearest.passage)),
      quoted(nearest.passage.text, range),
    );
    box.append(opener(nearest.passage, inDocument(range, nearest.passage), "Open the document here"));
  }
  if (candidates.length)
    box.append(make("p", {}, make("button", { type: "button", onclick: anyway }, "Answer all the same")));
  return box;
}
