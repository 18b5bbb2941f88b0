// A document's text as it is read: headings, paragraphs, lists and tables, told by how the text is laid out.
// No character is left out or added, so that places stay where they are; what stands for layout alone is out of sight.

import { make } from "./dom.js";

const ITEM = /^(\s*)([-*•◦▪‣–] |\(?(?:\d{1,3}|[a-z])[.)] )/;
const HEADING = /^(?:[\p{Lu}\d]|\p{Lo})[^=<>{}$|\\]{0,99}$/u;
const NUMBERED = /^\d{1,2}(?:\.\d{1,2})*\.? \p{Lu}/u;
const CODE = /^(?:\$ | {4}|\t)/;
const MOST_COLUMNS = 12;

/** The stretch from `from` to `to` of a text, laid out; `marks` are {start, end, properties}, rising, all in UTF-16 units. */
export function laid(text, { from = 0, to = text.length, marks = [], heading = "h3" } = {}) {
  const nodes = [];
  const piece = (start, end) => marked(text, start, end, marks);
  let at = from;
  for (const { start, end } of blocks(text, from, to)) {
    if (start > at) nodes.push(text.slice(at, start));
    nodes.push(laidBlock(text, start, end, piece, marks, heading, end < text.length));
    at = end;
  }
  if (at < to) nodes.push(text.slice(at, to));
  return nodes;
}

/** Stretches between empty lines. */
export function blocks(text, from, to) {
  const found = [];
  const gap = /\n[^\S\n]*\n\s*/g;
  gap.lastIndex = from;
  let start = from;
  for (let match = gap.exec(text); match && match.index < to; match = gap.exec(text)) {
    if (match.index > start) found.push({ start, end: match.index });
    start = Math.min(to, match.index + match[0].length);
    while (start > match.index + 1 && /[^\S\n]/.test(text[start - 1])) start--; // the indent of the first line is its own
  }
  if (start < to) found.push({ start, end: to });
  return found;
}

/** [start, end] of each line, its end included in what follows. */
function linesOf(text, start, end) {
  const lines = [];
  for (let at = start; at < end; ) {
    const stop = text.indexOf("\n", at);
    const next = stop < 0 || stop >= end ? end : stop + 1;
    lines.push([at, next]);
    at = next;
  }
  return lines;
}

function laidBlock(text, start, end, piece, marks, heading, goesOn) {
  const lines = linesOf(text, start, end);
  const line = ([from, to]) => text.slice(from, to).replace(/\n$/, "");
  if (lines.length > 1 && lines.every((each) => line(each).includes(" | "))) {
    const rows = lines.map(([from, to]) => cellsOf(text, from, to));
    if (rows[0].length <= MOST_COLUMNS) return table(text, rows, piece, marks);
  }
  const only = lines.length === 1 && goesOn ? line(lines[0]).trim() : "";
  const words = only.split(" ").length;
  const named = only && HEADING.test(only) && !/[.,;:!…]$/.test(only) && words <= 14;
  if (named && (!ITEM.test(only) || (NUMBERED.test(only) && words <= 8)))
    return make(heading, { class: "heading", dir: "auto" }, ...piece(start, end));
  if (ITEM.test(line(lines[0]))) return list(text, lines, piece);
  if (lines.filter((each) => CODE.test(line(each))).length * 2 >= lines.length)
    return make("p", { class: "code", dir: "ltr" }, ...piece(start, end));
  return make("p", { dir: "auto" }, ...piece(start, end));
}

/** Items, each with the lines that go on with it. */
function list(text, lines, piece) {
  const items = [];
  for (const [from, to] of lines) {
    const match = ITEM.exec(text.slice(from, to));
    if (match) items.push({ from, to, indent: match[1].length, marker: match[0].length });
    else items.at(-1).to = to;
  }
  const rows = items.map(({ from, to, indent, marker }) => {
    const sign = make("span", { class: /\d|[a-z]/.test(text.slice(from, from + marker)) ? "number" : "dash" });
    sign.append(...piece(from, from + marker));
    const item = make("li", { dir: "auto" }, sign, ...piece(from + marker, to));
    item.style.marginInlineStart = `${Math.min(4, indent / 2) * 1.25}rem`;
    return item;
  });
  return make("ul", { class: "items" }, ...rows);
}

function cellsOf(text, from, to) {
  const cells = [];
  const end = text[to - 1] === "\n" ? to - 1 : to;
  let at = from;
  for (;;) {
    const bar = text.indexOf(" | ", at);
    if (bar < 0 || bar >= end) break;
    cells.push({ from: at, to: bar, gap: bar + 3 });
    at = bar + 3;
  }
  cells.push({ from: at, to: end, gap: to });
  return cells;
}

/** Rows; where each cell says again what its column is called, as `Remedy: level it`, it is said once, at the top. */
function table(text, rows, piece, marks) {
  const names = rows[0].map(({ from, to }) => `${text.slice(from, to)}: `);
  const repeats = ({ from }, at) => at > 0 && text.startsWith(names[at], from);
  const headed = rows.length > 1 && rows.slice(1).every((row) => row.slice(1).every((cell, at) => repeats(cell, at + 1)));
  const free = (from, to) => !marks.some(({ start, end }) => start < to && end > from);
  const cell = (tag) => (each, at) => {
    const skip = tag === "td" && headed && at > 0 ? names[at].length : 0;
    const element = make(tag, { dir: "auto", ...(tag === "th" ? { scope: "col" } : {}) });
    if (skip) element.append(make("span", { hidden: free(each.from, each.from + skip) }, ...piece(each.from, each.from + skip)));
    element.append(...piece(each.from + skip, each.to), make("span", { hidden: true }, text.slice(each.to, each.gap)));
    return element;
  };
  const row = (tag) => (cells) => make("tr", {}, ...cells.map(cell(tag)));
  const head = headed ? make("thead", {}, row("th")(rows[0])) : null;
  const body = make("tbody", {}, ...rows.slice(headed ? 1 : 0).map(row("td")));
  return make("div", { class: "table", tabindex: "0", role: "group", "aria-label": "A table" }, make("table", {}, head, body));
}

/** The characters from `start` to `end`, the marks among them as elements. */
function marked(text, start, end, marks) {
  const nodes = [];
  let at = start;
  for (const mark of marks) {
    if (mark.end <= at || mark.start >= end) continue;
    const from = Math.max(at, mark.start);
    const to = Math.min(end, mark.end);
    if (from > at) nodes.push(text.slice(at, from));
    nodes.push(make("mark", mark.properties ?? {}, text.slice(from, to)));
    at = to;
  }
  if (at < end) nodes.push(text.slice(at, end));
  return nodes;
}
