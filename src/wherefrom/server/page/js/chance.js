// How sure the answer is, said as what it means, and what is said where it declines.

import { clipped, make, named, width } from "./dom.js";
import { atMark, opener, whereabouts } from "./answer.js";
import { badge } from "./icons.js";
import { inDocument, quoted } from "./text.js";
import { linkTo } from "./viewer.js";

/** Never "100 in 100": nothing here is certain. */
export function inHundred(chance) {
  const share = Math.round(100 * chance);
  return share >= 100 ? "over 99 in 100" : share <= 0 ? "under 1 in 100" : `${share} in 100`;
}

/** A chance in words, with how it is painted. */
export function worth(chance) {
  if (chance >= 0.9) return { level: "good", words: "Very probably right" };
  if (chance >= 0.7) return { level: "good", words: "Probably right" };
  if (chance >= 0.4) return { level: "middling", words: "Right or wrong, better look" };
  return { level: "poor", words: "Probably wrong" };
}

/** How sure it is: words, what they mean, and a gauge with the least chance that is answered with marked on it. */
export function gauge(chance, needed) {
  const { level, words } = worth(chance);
  const share = inHundred(chance);
  const meter = make(
    "div",
    {
      class: `meter ${level}`,
      role: "meter",
      "aria-label": "Chance that the answer is right",
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": String(Math.round(100 * chance)),
      "aria-valuetext": `${share}: ${words}`,
    },
    width(make("div", { class: "fill" }), chance),
  );
  const need = make("div", { class: "need" });
  need.style.insetInlineStart = `calc(${100 * needed}% - 1px)`;
  meter.append(need);
  const meaning = `of 100 answers as sure as this, ${bare(chance)} are right`;
  const told = make("span", {}, make("b", {}, words), make("span", { class: "muted" }, ` – ${meaning}.`));
  return make("div", { class: "gauge" }, meter, told);
}

/** From which chance on it answers. */
export function threshold(needed) {
  return make("p", { class: "muted small" }, `It answers from ${inHundred(needed)} on: the line in the gauge.`);
}

/** That the question is one that nobody here can answer, and why. */
export function beyond(reason) {
  const words = make("p", {}, make("b", {}, "I can't answer that."), ` It is ${reason}.`);
  return make("div", { class: "card declined" }, words);
}

const MAY_BE = 0.35; // from which chance on the nearest answer is offered as one that may be right
const NEARBY = 4; // passages shown beside what it declines

/** What was nearest to an answer: never a table of contents. */
function nearestOf(candidates) {
  return candidates.find(({ passage }) => !isContents(passage.text));
}

/** The answer that it offers though it is not sure, if it does. */
export function offered(chance, candidates) {
  return chance >= MAY_BE ? nearestOf(candidates) : undefined;
}

/** Where it declines: the passages that come next, to look into. */
export function nearby(hits, candidates) {
  const shown = nearestOf(candidates)?.passage.id ?? hits.find((hit) => !isContents(hit.passage.text))?.passage.id;
  const seen = new Set(); // the same words in two files are shown once
  const others = hits
    .map((hit) => ({ ...hit.passage, snippet: clipped(hit.passage.text, 170) }))
    .filter(({ id, text, snippet }) => id !== shown && !isContents(text) && !seen.has(snippet) && seen.add(snippet));
  if (!others.length) return [];
  const row = (passage) => {
    const { document_id: id, title, start, end, snippet } = passage;
    const link = make("a", { href: linkTo(id, [{ start, end }]) }, named(title || id));
    const facts = make("p", { class: "muted small" }, ...whereabouts(passage));
    const head = make("p", { class: "source-head" }, badge(id), link);
    return make("li", {}, head, facts, make("p", { class: "small snippet", dir: "auto" }, snippet));
  };
  const list = make("ul", { class: "plain nearby" }, ...others.slice(0, NEARBY).map(row));
  return [make("section", { class: "places" }, make("h3", {}, "Passages that come near"), list)];
}

/** That it declines, in plain words, with what was nearest; `anyway` asks again whatever the chance. */
export function declined(chance, needed, candidates, hits, anyway) {
  const nearest = nearestOf(candidates);
  const passage = nearest?.passage ?? hits.find((hit) => !isContents(hit.passage.text))?.passage;
  const maybe = Boolean(nearest) && chance >= MAY_BE;
  const box = make("div", { class: "card declined" });
  const least = `I answer from ${inHundred(needed)} on`;
  const [verdict, why] = maybe
    ? ["I am not sure enough to call this an answer.", `Of 100 answers as doubtful as this, ${bare(chance)} are right; ${least}.`]
    : chance > 0
      ? ["Your documents do not answer this, as far as I can tell.", `The chance that they do is ${inHundred(chance)}; ${least}.`]
      : ["Your documents do not answer this, as far as I can tell.", "Nothing in them has to do with the words of the question."];
  box.append(make("p", {}, make("b", {}, verdict), " ", make("span", { class: "muted" }, why)));
  if (passage) {
    const range = nearest ? [{ start: nearest.start, end: nearest.end }] : [];
    box.append(make("h3", {}, maybe ? "It may be this" : "Nearest to it"));
    if (nearest && chance > 0) {
      const doubt = ` (${worth(chance).words.toLowerCase()})`;
      box.append(make("p", { class: "nearest" }, named(clipped(nearest.text, 200)), make("span", { class: "muted" }, doubt)));
    }
    const aim = nearest ? range : [{ start: 0, end: Array.from(passage.text).length }];
    const quote = quoted(passage.text, range);
    const name = named(passage.title || passage.document_id);
    const head = make("p", { class: "source-head" }, badge(passage.document_id), name);
    const facts = make("p", { class: "muted small" }, ...whereabouts(passage, range[0]?.start));
    const link = opener(passage, inDocument(aim, passage), "Open the document here");
    box.append(make("div", { class: "source" }, head, facts, quote, link));
    requestAnimationFrame(() => atMark(quote));
  }
  const act = make("button", { type: "button", onclick: anyway }, maybe ? "Take it as the answer" : "Answer all the same");
  if (candidates.length) box.append(make("p", { class: "buttons" }, act));
  if (!maybe) box.append(make("p", { class: "muted small" }, "Other words for the same thing may find more: those that your documents use."));
  return box;
}

/** The number alone of `inHundred`. */
function bare(chance) {
  return inHundred(chance).replace(" in 100", "");
}

/** A table of contents or an index: lines that end in the number of a page. It names things and tells nothing. */
export function isContents(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  const numbered = lines.filter((line) => /(\.\s*){4,}\d*\s*$|\s\d{1,4}\s*$/.test(line.slice(-60)));
  return lines.length >= 4 && numbered.length >= 0.6 * lines.length;
}
