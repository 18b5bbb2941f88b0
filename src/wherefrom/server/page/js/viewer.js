// A document with places in it marked; every place has an address: #/document/ID?at=120-140,200-210.

import { api } from "./api.js";
import { byId, count, make, named, plain } from "./dom.js";
import * as problems from "./problems.js";
import { cuts, joined, places } from "./text.js";

const PIECE = 2000; // characters that are laid out together
const WINDOW = 100_000; // characters that are loaded together: of a longer document a window is in sight
const OVERLAP = 300; // characters that two windows share, so that what their border cuts can be read
const beside = matchMedia("(min-width: 68rem)"); // as in style.css: it then stands beside the rest, else over it

export function linkTo(id, ranges = []) {
  const at = joined(ranges).map(({ start, end }) => `${start}-${end}`);
  return `#/document/${encodeURIComponent(id)}${at.length ? `?at=${at.join(",")}` : ""}`;
}

/** {id, ranges} of an address made by `linkTo`, or null. */
export function placeIn(hash) {
  const match = /^#\/document\/([^?]+)(?:\?at=([\d,-]+))?$/.exec(hash);
  if (!match) return null;
  try {
    const pairs = (match[2] ?? "").split(",").map((pair) => /^(\d{1,10})-(\d{1,10})$/.exec(pair));
    const ranges = pairs.filter(Boolean).map(([, start, end]) => ({ start: Number(start), end: Number(end) }));
    return { id: decodeURIComponent(match[1]), ranges: joined(ranges.filter(({ start, end }) => start < end)) };
  } catch {
    return null; // not an address of ours
  }
}

export class Viewer {
  #before = "#/";
  #opener = null;
  #loading = null;
  #shown = null; // the document in sight, or the window of it
  #ranges = [];
  #marks = []; // of each range the first mark; null where it is in no sight
  #at = 0;

  constructor() {
    byId("viewer-close").onclick = () => this.leave();
    byId("mark-before").onclick = () => this.#go(this.#at - 1);
    byId("mark-after").onclick = () => this.#go(this.#at + 1);
    byId("viewer").addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.leave();
    });
    beside.addEventListener("change", () => this.#cover());
  }

  get isOpen() {
    return !byId("viewer").hidden;
  }

  /** Back to where it was opened from. */
  leave() {
    location.hash = this.#before;
  }

  close() {
    if (!this.isOpen) return;
    this.#loading?.abort();
    byId("viewer").hidden = true;
    this.#cover();
    (this.#opener?.isConnected ? this.#opener : byId("main")).focus();
  }

  async open({ id, ranges }, before) {
    if (!this.isOpen) {
      this.#before = before;
      this.#opener = document.activeElement === document.body ? null : document.activeElement;
    }
    byId("viewer").hidden = false;
    this.#cover();
    problems.clear(byId("viewer-trouble"));
    byId("viewer-title").focus({ preventScroll: beside.matches });
    const at = ranges[0]?.start ?? 0;
    const shown = this.#shown;
    if (shown?.id !== id) this.#blank("Opening…");
    if (shown?.id === id && shown.start <= at && (at < shown.end || at >= shown.length)) return this.#show(shown, ranges);
    await this.#load(id, ranges, at < 0.75 * WINDOW ? 0 : at - WINDOW / 4);
  }

  /** Show the window of a document that begins at a character; whether that went well. */
  async #load(id, ranges, start) {
    this.#loading?.abort();
    this.#loading = new AbortController();
    try {
      const part = await api.document(id, start, WINDOW, this.#loading.signal);
      if (!part.text && part.length && start) return await this.#load(id, ranges, 0); // it has become shorter
      problems.clear(byId("viewer-trouble"));
      this.#show(part, ranges);
      return true;
    } catch (problem) {
      if (problem.name === "AbortError") return false;
      this.#blank("No document");
      problems.show(byId("viewer-trouble"), problem, () => this.#load(id, ranges, start));
      return false;
    }
  }

  /** The library has changed: read it anew next time. */
  forget() {
    this.#shown = null;
  }

  #blank(title) {
    this.#shown = null;
    byId("viewer-title").textContent = title;
    byId("viewer-facts").textContent = "";
    byId("viewer-marks").hidden = true;
    byId("viewer-text").replaceChildren();
  }

  #show(part, ranges) {
    this.#shown = part;
    this.#ranges = ranges;
    byId("viewer-title").textContent = plain(part.title || part.id);
    const marked = ranges.map(({ start, end }) => `${start} to ${end}`).join(", ");
    const whole = part.start === 0 && part.end === part.length;
    byId("viewer-facts").replaceChildren(
      named(part.id),
      `, ${count(part.passages_in_all, "passage")}`,
      marked ? `; marked: characters ${marked}` : "",
      whole ? "" : `; in sight: characters ${part.start} to ${part.end} of ${part.length.toLocaleString("en")}`,
    );
    byId("viewer-text").replaceChildren(
      ...this.#more("Text before", part.start > 0, Math.max(0, part.start + OVERLAP - WINDOW)),
      ...pieces(part.text, inside(ranges, part)),
      ...this.#more("Text behind", part.end < part.length, part.end - OVERLAP),
    );
    // A mark may run over several pieces; each range is one place to go to.
    const all = [...byId("viewer-text").querySelectorAll("mark")];
    this.#marks = ranges.map((_, index) => all.find((mark) => Number(mark.dataset.range) === index) ?? null);
    byId("viewer-marks").hidden = this.#marks.length < 2;
    byId("viewer-text").scrollTop = 0;
    const first = this.#marks.findIndex(Boolean);
    if (first >= 0) this.#mark(first);
  }

  /** A button for the window before or behind the one in sight, where there is one. */
  #more(label, there, start) {
    const { id } = this.#shown;
    const load = async () => (await this.#load(id, this.#ranges, start)) && byId("viewer-text").focus();
    return there ? [make("button", { type: "button", class: "more", onclick: load }, label)] : [];
  }

  async #go(to) {
    const next = (to + this.#marks.length) % this.#marks.length;
    const { id } = this.#shown;
    const { start } = this.#ranges[next];
    if (this.#marks[next] || (await this.#load(id, this.#ranges, Math.max(0, start - WINDOW / 4)))) this.#mark(next);
  }

  #mark(number) {
    this.#at = number;
    byId("mark-number").textContent = `${this.#at + 1} of ${this.#marks.length}`;
    const mark = this.#marks[number];
    if (!mark) return; // the document has changed, and ends before it
    for (const each of this.#marks.filter(Boolean)) each.classList.toggle("exact", each === mark);
    // Pieces out of sight have a guessed height until they are laid out, so look again where the mark is.
    let tries = 4;
    const scroll = () => {
      const box = byId("viewer-text");
      const off = mark.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
      if (Math.abs(off) > 1) box.scrollTop += off;
      if (--tries && mark.isConnected) requestAnimationFrame(scroll);
    };
    scroll();
  }

  /** On a narrow screen it covers the rest, which is then out of reach. */
  #cover() {
    const covers = this.isOpen && !beside.matches;
    for (const element of [byId("main"), document.querySelector(".top"), document.querySelector(".skip")])
      element.inert = covers;
    document.querySelector(".columns").classList.toggle("with-viewer", this.isOpen);
  }
}

/** Ranges of a document as ranges of the part in sight, each with its number; those out of sight are left out. */
function inside(ranges, { start, end }) {
  return ranges
    .map((range, number) => ({ number, start: Math.max(range.start, start) - start, end: Math.min(range.end, end) - start }))
    .filter((range) => range.start < range.end);
}

/** The text in pieces, the ranges (in characters) marked. */
function pieces(text, ranges) {
  const units = places(
    text,
    ranges.flatMap(({ start, end }) => [start, end]),
  ); // rising: the ranges are joined
  const borders = cuts(text, PIECE);
  let next = 0; // the first range that has not ended
  return borders.slice(1).map((to, index) => {
    const piece = make("div", { class: "piece", dir: "auto" });
    let at = borders[index];
    while (next < ranges.length && units[2 * next] < to) {
      const from = Math.max(at, units[2 * next]);
      const end = Math.min(to, units[2 * next + 1]);
      piece.append(text.slice(at, from), make("mark", { "data-range": String(ranges[next].number) }, text.slice(from, end)));
      at = end;
      if (units[2 * next + 1] > to) break;
      next += 1;
    }
    piece.append(text.slice(at, to));
    return piece;
  });
}
