// A document with places in it marked; every place has an address: #/document/ID?at=120-140,200-210.

import { api } from "./api.js";
import { byId, make, named, plain } from "./dom.js";
import { Leaf } from "./original.js";
import * as problems from "./problems.js";
import { laid } from "./reading.js";
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
  #at = 0;
  #asText = false; // what the person chose last
  #leaf = new Leaf((problem) => this.#pageless(problem));

  /** `about` is called with a document that alone is to be asked. */
  constructor(about) {
    byId("viewer-ask").onclick = () => about(this.#shown.id);
    byId("viewer-close").onclick = () => this.leave();
    byId("mark-before").onclick = () => this.#go(this.#at - 1);
    byId("mark-after").onclick = () => this.#go(this.#at + 1);
    byId("as-page").onclick = () => this.#choose(false);
    byId("as-text").onclick = () => this.#choose(true);
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
    this.#leaf.leave();
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
  async #load(id, ranges, start, mark = 0) {
    this.#loading?.abort();
    this.#loading = new AbortController();
    try {
      const part = await api.document(id, start, WINDOW, this.#loading.signal);
      if (!part.text && part.length && start) return await this.#load(id, ranges, 0); // it has become shorter
      problems.clear(byId("viewer-trouble"));
      this.#show(part, ranges, mark);
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
    byId("viewer-ask-place").hidden = true;
    byId("viewer-marks").hidden = true;
    byId("viewer-kinds").hidden = true;
    byId("viewer-page").hidden = true;
    byId("viewer-text").hidden = false;
    byId("viewer-text").replaceChildren();
  }

  #show(part, ranges, mark = 0) {
    const whole = part.start === 0 && part.end === part.length;
    this.#shown = part;
    this.#ranges = ranges;
    byId("viewer-title").textContent = plain(part.title || part.id);
    byId("viewer-ask-place").hidden = !/^[^/\\~:,][^:\\,]*$/.test(part.id); // others cannot be told in a filter
    byId("viewer-facts").replaceChildren(
      named(part.id),
      whole ? "" : `; in sight: characters ${part.start} to ${part.end} of ${part.length.toLocaleString("en")}`,
    );
    byId("viewer-text").replaceChildren(
      ...this.#more("Text before", part.start > 0, Math.max(0, part.start + OVERLAP - WINDOW)),
      ...pieces(part, ranges),
      ...this.#more("Text behind", part.end < part.length, part.end - OVERLAP),
    );
    byId("viewer-kinds").hidden = !part.original;
    this.#at = mark;
    this.#choose(this.#asText || !part.original, false);
  }

  /** A button for the window before or behind the one in sight, where there is one. */
  #more(label, there, start) {
    const { id } = this.#shown;
    const load = async () => (await this.#load(id, this.#ranges, start, this.#at)) && byId("viewer-text").focus();
    return there ? [make("button", { type: "button", class: "more-text", onclick: load }, label)] : [];
  }

  /** As text, or as the page that was printed. */
  #choose(asText, byHand = true) {
    if (byHand) this.#asText = asText;
    byId("as-page").setAttribute("aria-pressed", String(!asText));
    byId("as-text").setAttribute("aria-pressed", String(asText));
    byId("viewer-page").hidden = asText;
    byId("viewer-text").hidden = !asText;
    byId("viewer-marks").hidden = this.#ranges.length < 2;
    if (!asText) byId("leaf-number").textContent = "";
    if (byHand && this.#ranges.length) this.#go(this.#at);
    else this.#mark();
  }

  /** The page cannot be shown: its text can, and why is told. */
  #pageless(problem) {
    if (problem.status !== 404) return problems.show(byId("viewer-trouble"), problem, () => this.#choose(false));
    byId("viewer-kinds").hidden = true;
    this.#choose(true, false);
    byId("viewer-facts").append(`. Its text: ${problem.detail}.`);
  }

  /** To one of the marked places, which may be in another window. */
  async #go(to) {
    const next = (to + this.#ranges.length) % this.#ranges.length;
    const { start } = this.#ranges[next];
    const { id, start: from, end, length } = this.#shown;
    const there = (from <= start && start < end) || start >= length || byId("viewer-text").hidden;
    if (!there) return void this.#load(id, this.#ranges, Math.max(0, start - WINDOW / 4), next);
    this.#at = next;
    this.#mark();
  }

  /** Have the chosen place in sight. */
  #mark() {
    const number = this.#ranges.length;
    byId("mark-number").textContent = `${this.#at + 1} of ${number}`;
    if (!byId("viewer-page").hidden) return void this.#leaf.show(this.#shown, this.#ranges[this.#at] ?? null);
    const box = byId("viewer-text");
    box.scrollTop = 0;
    let first = null;
    for (const mark of box.querySelectorAll("mark")) {
      const held = Number(mark.dataset.range) === this.#at;
      mark.classList.toggle("exact", held && number > 1);
      if (held) first ??= mark;
    }
    if (!first) return; // none, or the document has changed and ends before it
    // Pieces out of sight have a guessed height until they are laid out, so look again where the mark is.
    let tries = 4;
    const scroll = () => {
      const off = first.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
      if (Math.abs(off) > 1) box.scrollTop += off;
      if (--tries && first.isConnected) requestAnimationFrame(scroll);
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

/** The text of a part of a document in pieces, the ranges (in characters of the whole) marked. */
function pieces({ text, start, end }, ranges) {
  const inside = ranges
    .map((range, number) => ({ number, start: Math.max(range.start, start) - start, end: Math.min(range.end, end) - start }))
    .filter((range) => range.start < range.end);
  const units = places(
    text,
    inside.flatMap((range) => [range.start, range.end]),
  ); // rising: the ranges are joined
  const marks = inside.map(({ number }, at) => ({
    start: units[2 * at],
    end: units[2 * at + 1],
    properties: { "data-range": String(number) },
  }));
  const borders = cuts(text, PIECE);
  return borders
    .slice(1)
    .map((to, index) => make("div", { class: "piece" }, ...laid(text, { from: borders[index], to, marks })));
}
