// A document with places in it marked; every place has an address: #/document/ID?at=120-140,200-210.

import { api } from "./api.js";
import { byId, count, make, named, plain } from "./dom.js";
import * as problems from "./problems.js";
import { cuts, joined, places } from "./text.js";

const PIECE = 2000; // characters that are laid out together
const MOST_PIECES = 1500;
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
  #shown = null; // the document in sight
  #marks = [];
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
    this.#loading?.abort();
    this.#loading = new AbortController();
    try {
      if (this.#shown?.id !== id) {
        this.#blank("Opening…");
        const found = await api.document(id, this.#loading.signal);
        this.#shown = found;
      }
      this.#show(this.#shown, ranges);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      this.#blank("No document");
      problems.show(byId("viewer-trouble"), problem, () => this.open({ id, ranges }, before));
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

  #show(found, ranges) {
    byId("viewer-title").textContent = plain(found.title || found.id);
    const marked = ranges.map(({ start, end }) => `${start} to ${end}`).join(", ");
    byId("viewer-facts").replaceChildren(
      named(found.id),
      `, ${count(found.passages.length, "passage")}`,
      marked ? `; marked: characters ${marked}` : "",
    );
    byId("viewer-text").replaceChildren(...pieces(found.text, ranges));
    // A mark may run over several pieces; each range is one place to go to.
    const all = [...byId("viewer-text").querySelectorAll("mark")];
    this.#marks = ranges.map((_, index) => all.find((mark) => Number(mark.dataset.range) === index)).filter(Boolean);
    byId("viewer-marks").hidden = this.#marks.length < 2;
    byId("viewer-text").scrollTop = 0;
    if (this.#marks.length) this.#go(0);
  }

  #go(to) {
    this.#at = (to + this.#marks.length) % this.#marks.length;
    byId("mark-number").textContent = `${this.#at + 1} of ${this.#marks.length}`;
    const mark = this.#marks[this.#at];
    for (const each of this.#marks) each.classList.toggle("exact", each === mark);
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

/** The text in pieces, the ranges (in characters) marked. */
function pieces(text, ranges) {
  const units = places(
    text,
    ranges.flatMap(({ start, end }) => [start, end]),
  ); // rising: the ranges are joined
  const borders = cuts(text, Math.max(PIECE, Math.ceil(text.length / MOST_PIECES)));
  let next = 0; // the first range that has not ended
  return borders.slice(1).map((to, index) => {
    const piece = make("div", { class: "piece", dir: "auto" });
    let at = borders[index];
    while (next < ranges.length && units[2 * next] < to) {
      const from = Math.max(at, units[2 * next]);
      const end = Math.min(to, units[2 * next + 1]);
      piece.append(text.slice(at, from), make("mark", { "data-range": String(next) }, text.slice(from, end)));
      at = end;
      if (units[2 * next + 1] > to) break;
      next += 1;
    }
    piece.append(text.slice(at, to));
    return piece;
  });
}
