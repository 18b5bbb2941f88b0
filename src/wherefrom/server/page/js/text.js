// Characters and places: the server counts Unicode code points, JavaScript counts UTF-16 units.

import { make } from "./dom.js";
import { laid } from "./reading.js";

/** `text[start:end]` as the server counts. */
export function between(text, start, end) {
  const [from, to] = places(text, [start, end]);
  return text.slice(from, to);
}

/** The UTF-16 places of rising offsets; one walk over the text, and none where every character is one unit. */
export function places(text, offsets) {
  if (!/[\ud800-\udbff]/.test(text)) return offsets.map((offset) => Math.min(offset, text.length));
  let at = 0;
  let counted = 0;
  return offsets.map((offset) => {
    for (; counted < offset && at < text.length; counted++) at += text.codePointAt(at) > 0xffff ? 2 : 1;
    return at;
  });
}

/** Where the words of an answer stand in a passage: words that stand together there are one range. */
export function rangesOf(words, passage) {
  const ranges = [];
  let last = null;
  for (const word of words) {
    if (word.source !== "passage" || word.passage_id !== passage.id || word.start === null) {
      last = null;
      continue;
    }
    if (last && between(passage.text, last.end, word.start) === word.space) last.end = word.end;
    else ranges.push((last = { start: word.start, end: word.end }));
  }
  return joined(ranges);
}

/** Sorted, and without overlaps. */
export function joined(ranges) {
  const found = [];
  for (const range of [...ranges].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const last = found.at(-1);
    if (last && range.start < last.end) last.end = Math.max(last.end, range.end);
    else found.push({ ...range });
  }
  return found;
}

/** Ranges of a passage as ranges of its document. */
export function inDocument(ranges, passage) {
  return ranges.map(({ start, end }) => ({ start: passage.start + start, end: passage.start + end }));
}

/** Where in its file a character of a passage stands: "page 12"; empty where that is not known. */
export function placeOf(passage, start = 0) {
  return (passage.places ?? []).findLast((place) => place.start <= start)?.label ?? "";
}

const AROUND = 350; // characters shown on each side of a word in a long passage

/** A passage with ranges of it marked, and one of them as the exact place; long ones are cut around it. */
export function quoted(text, ranges, exact = null) {
  const about = exact ?? ranges[0] ?? { start: 0, end: 0 };
  const letters = Array.from(text);
  const { length } = letters;
  const cut = length > 3 * AROUND;
  const from = cut && about.start > AROUND ? wordFrom(letters, about.start - AROUND, about.start) : 0;
  const to = cut ? Math.min(length, about.end + AROUND) : length;
  const borders = new Set([from, to]);
  for (const { start, end } of exact ? [...ranges, exact] : ranges) borders.add(start).add(end);
  const offsets = [...borders].filter((border) => border >= from && border <= to).sort((a, b) => a - b);
  const units = places(text, offsets);
  const holds = ({ start, end }, at) => start <= at && at < end;
  const marks = [];
  for (let index = 0; index + 1 < offsets.length; index++) {
    const isExact = exact && holds(exact, offsets[index]);
    if (!isExact && !ranges.some((range) => holds(range, offsets[index]))) continue;
    marks.push({ start: units[index], end: units[index + 1], properties: isExact ? { class: "exact" } : {} });
  }
  const quote = make("blockquote", { class: "quote", dir: "auto", tabindex: "0", "aria-label": "The passage" });
  if (from > 0) quote.append("… ");
  quote.append(...laid(text, { from: units[0], to: units.at(-1), marks, heading: "p" }));
  if (to < length) quote.append(" …");
  return quote;
}

/** The first beginning of a word in a stretch, or its end. */
function wordFrom(letters, start, end) {
  let at = start;
  while (at < end && !/\s/.test(letters[at - 1])) at++;
  return at;
}

/** Whether a text could change the order of letters around it. */
export function tricky(text) {
  return /[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/.test(text);
}

/** Where a long text can be cut into pieces of about `size` units: behind empty lines, else line ends, else blanks. */
export function cuts(text, size, first = 0, last = text.length) {
  const found = [first];
  while (last - found.at(-1) > 2 * size) {
    const from = found.at(-1) + size;
    const window = text.slice(from, from + size);
    const [empty, line, space] = [window.indexOf("\n\n"), window.indexOf("\n"), window.search(/\s/)];
    let cut = from + (empty >= 0 ? empty + 2 : line >= 0 ? line + 1 : space >= 0 ? space + 1 : size);
    while (text[cut] === "\n") cut++;
    const unit = text.charCodeAt(cut);
    if (unit >= 0xdc00 && unit <= 0xdfff) cut++; // between the halves of one character
    found.push(Math.min(cut, last));
  }
  if (found.at(-1) < last) found.push(last);
  return found;
}
