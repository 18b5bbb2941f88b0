// The answer word by word, and for each word the place it came from.

import { count, make, named, plain } from "./dom.js";
import { badge } from "./icons.js";
import { inDocument, placeOf, quoted, rangesOf, tricky } from "./text.js";
import { linkTo } from "./viewer.js";

const SOURCES = {
  passage: "copied from a passage",
  question: "taken from your question",
  vocabulary: "the writer's own word",
};

const MANY = 40; // words of an answer that is read rather than seen: it is set smaller
const small = matchMedia("(max-width: 40rem)"); // as in style.css: a word's place then comes up from below

/** Shows words as they come; `passages` is a map of those known so far. */
export class AnswerView {
  constructor(question, passages, number) {
    this.question = question;
    this.passages = passages;
    this.words = [];
    this.evidence = [];
    this.restsOn = []; // what a bare Yes or No was decided by
    this.text = make("p", {
      class: "answer",
      dir: "auto",
      role: "group",
      "aria-label": "The answer, word by word: arrow keys move, Enter opens the document",
      onkeydown: (event) => this.#move(event),
    });
    this.line = make("p", { class: "where-line", id: `where-line-${number}` });
    this.extra = make("div");
    this.cards = make("ol", { class: "cards" });
    const away = make("button", { type: "button", class: "away", onclick: () => this.#away() }, "Close this");
    this.where = make("div", { class: "where" }, this.line, this.extra, this.cards);
    this.told = make("div", {}, this.text);
    const heading = make("h3", { id: `where-title-${number}` }, "Where it comes from");
    this.legend = make("ul", { class: "legend", "aria-label": "What the colours and lines mean" });
    const head = make("div", { class: "where-head" }, heading, this.legend, away);
    this.places = make(
      "section",
      { class: "places", "aria-labelledby": `where-title-${number}`, onkeydown: (event) => event.key === "Escape" && this.#away() },
      head,
      this.where,
    );
  }

  append(words) {
    for (const word of words) {
      const source = sourceOf(word);
      const before = this.words.at(-1);
      // Words from one place are one stretch, with one line under all of it.
      if (before && sourceOf(before) === source && before.passage_id === word.passage_id) this.run.append(word.space);
      else {
        this.run = make("span", { class: `run ${source}` });
        this.text.append(word.space, this.run);
      }
      this.run.append(this.#word(word, this.words.length));
      this.words.push(word);
    }
    this.text.classList.toggle("long", this.words.length > MANY);
    this.#number();
    this.#explain();
  }

  /** The finished answer counts where it differs from what came before. */
  finish(answer) {
    for (const passage of answer.evidence) this.passages.set(passage.id, passage);
    this.evidence = answer.evidence;
    this.restsOn = answer.rests_on ?? [];
    const others = (answer.disagrees ?? []).map(disagreement);
    this.told.querySelector(".disagrees")?.remove();
    if (others.length) this.told.append(make("div", { class: "disagrees" }, ...others));
    if (JSON.stringify(this.words) !== JSON.stringify(answer.words)) {
      this.words = [];
      this.text.replaceChildren();
      this.append(answer.words);
    }
    this.#number();
    this.#whole();
  }

  #word(word, index) {
    const show = () => this.#show(index);
    return make(
      "span",
      {
        class: `word ${sourceOf(word)}${tricky(word.text) ? " tricky" : ""}`,
        role: "button",
        tabindex: index === 0 ? "0" : "-1",
        "aria-describedby": this.line.id,
        onmouseenter: show,
        onfocus: show,
        onclick: (event) => {
          show();
          if (!small.matches) return;
          this.places.classList.add("sheet");
          event.currentTarget.scrollIntoView({ block: "start" }); // above what has come up
        },
      },
      word.text,
    );
  }

  /** What the lines mean that are there to be seen: one kind alone is told by the sentence below. */
  #explain() {
    const kinds = Object.keys(SOURCES).filter((kind) => this.words.some((word) => sourceOf(word) === kind));
    this.legend.hidden = kinds.length < 2;
    const keys = kinds.map((kind) => make("li", {}, make("span", { class: `key ${kind}` }, SOURCES[kind])));
    this.legend.replaceChildren(...keys);
  }

  /** The passages that words are from, in the order in which the answer comes to them: a source's number. */
  get #sources() {
    const ids = this.words.filter((word) => word.source === "passage").map((word) => word.passage_id);
    const decided = this.restsOn.map((word) => word.passage_id);
    return [...new Set([...ids, ...decided, ...this.evidence.map((passage) => passage.id)])]
      .map((id) => this.passages.get(id))
      .filter(Boolean);
  }

  /** The answer and its sources for the clipboard: each stretch with the number of the passage it is from. */
  get cited() {
    const sources = this.#sources;
    const numbers = new Map(sources.map((passage, at) => [passage.id, at + 1]));
    let text = "";
    let marked = "";
    this.words.forEach((word, index) => {
      text += word.space + word.text;
      marked += word.space + word.text;
      const number = word.source === "passage" && numbers.get(word.passage_id);
      if (number && this.words[index + 1]?.passage_id !== word.passage_id) marked += `[${number}]`;
    });
    const ranges = (passage) => rangesOf([...this.words, ...this.restsOn], passage);
    return { text, marked, sources: sources.map((passage) => ({ passage, ranges: ranges(passage) })) };
  }

  /** The last word of each stretch from one passage tells the source's number, as a footnote does. */
  #number() {
    const elements = this.text.querySelectorAll(".word");
    const ids = this.#sources.map((passage) => passage.id);
    this.words.forEach((word, index) => {
      const place = word.source === "passage" ? ids.indexOf(word.passage_id) + 1 : 0;
      const ends = this.words[index + 1]?.passage_id !== word.passage_id;
      elements[index].classList.toggle("joined", word.text.length < 25); // its number stays on its line
      if (place && ends) elements[index].dataset.mark = place;
      else delete elements[index].dataset.mark;
    });
  }

  #move(event) {
    const elements = [...this.text.querySelectorAll(".word")];
    const at = elements.indexOf(event.target);
    if (at < 0) return;
    const leftward = getComputedStyle(this.text).direction === "rtl" ? 1 : -1;
    const to = {
      ArrowLeft: at + leftward,
      ArrowRight: at - leftward,
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      Home: 0,
      End: elements.length - 1,
    }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      const next = elements[Math.max(0, Math.min(elements.length - 1, to))];
      elements[at].tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    } else if (event.key === "Escape") {
      this.#away();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      (this.cards.querySelector(".held a") ?? this.cards.querySelector("a"))?.click();
    }
  }

  /** Where one word comes from. */
  #show(index) {
    const word = this.words[index];
    this.text.querySelectorAll(".word").forEach((element, at) => element.classList.toggle("held", at === index));
    const part = Math.round(100 * word.share);
    const share = part < 100 ? ` Share: ${part} %.` : "";
    const passage = this.passages.get(word.passage_id);
    this.line.replaceChildren(make("b", {}, named(word.text)), " is ");
    this.extra.replaceChildren();
    if (word.source === "passage" && passage) {
      this.line.append("from ", titled(passage, word.start), `.${share}`);
      this.#lay(passage.id, word);
    } else if (word.source === "question") {
      this.line.append(`${SOURCES.question}.${share}`);
      const range = word.start === null ? null : { start: word.start, end: word.end };
      this.extra.append(quoted(this.question, [], range));
      this.#lay();
    } else {
      this.line.append(`${SOURCES.vocabulary}: it stands in no passage.${share}`);
      this.#lay();
    }
  }

  /** Before a word is chosen: all that the answer rests on. */
  #whole() {
    const others = this.words.filter((word) => word.source !== "passage").length;
    const sources = count(this.evidence.length, "passage");
    const said = this.restsOn.length
      ? "It stands in no passage, and was decided by the words that are marked here."
      : others
        ? `${count(this.words.length - others, "word is", "words are")} copied from ${sources}, ${count(others, "is", "are")} not.`
        : `Every word is copied from ${sources}.`;
    const hint = small.matches ? " Tap a word to see its place." : " Point at a word to see its place.";
    const rest = this.restsOn.length ? "" : hint;
    this.line.replaceChildren(said + rest);
    this.extra.replaceChildren();
    this.#lay();
  }

  /** A card a source, the answer's words marked in it; one may be held, at the place of one word. */
  #lay(held = null, exact = null) {
    const words = [...this.words, ...this.restsOn];
    const cards = this.#sources.map((passage, at) => {
      const chosen = passage.id === held;
      const ranges = rangesOf(words, passage);
      const aims = chosen ? inDocument([exact], passage) : inDocument(ranges, passage);
      const quote = quoted(passage.text, ranges, chosen ? exact : null);
      const link = opener(passage, aims, chosen ? "Open the document at this word" : "Open the document here");
      const name = named(passage.title || passage.document_id);
      const head = make("p", { class: "source-head" }, make("span", { class: "place" }, String(at + 1)), badge(passage.document_id), name);
      const section = make("p", { class: "muted small" }, ...whereabouts(passage, (chosen ? exact : ranges[0])?.start));
      return make("li", { class: `card source${chosen ? " held" : ""}` }, head, section, quote, link);
    });
    this.cards.replaceChildren(...cards);
    for (const quote of this.cards.querySelectorAll(".quote")) atMark(quote);
  }

  /** On a small screen: back to the answer alone. */
  #away() {
    if (!this.places.classList.contains("sheet")) return;
    this.places.classList.remove("sheet");
    this.text.querySelector('[tabindex="0"]')?.focus();
  }
}

const widths = new WeakMap();
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) if (widths.get(target) !== target.clientWidth) inSight(target);
});

/** Have the mark in sight, now and whenever there is another width for it. */
export function atMark(quote) {
  resized.observe(quote);
  inSight(quote);
}

/** Below whole lines: those of its paragraph, if it stands near its beginning. */
function inSight(quote) {
  widths.set(quote, quote.clientWidth);
  quote.style.maxHeight = "";
  const mark = quote.querySelector("mark.exact") ?? quote.querySelector("mark");
  if (mark) {
    const top = (element) => element.getBoundingClientRect().top - quote.getBoundingClientRect().top + quote.scrollTop;
    const line = parseFloat(getComputedStyle(quote).lineHeight) || 24;
    const paragraph = top(mark.closest("p, li, tr") ?? mark);
    const from = top(mark) - paragraph < 3 * line ? paragraph : top(mark) - 2 * line;
    // What is left may be less than fills the place: then the place is made as small as that.
    if (from > 1 && quote.scrollHeight - from < quote.clientHeight) quote.style.maxHeight = `${quote.scrollHeight - from}px`;
    quote.scrollTop = from;
  }
  quote.classList.toggle("goes-on", quote.scrollHeight > quote.clientHeight + quote.scrollTop + 2);
}

function sourceOf(word) {
  return word.source in SOURCES ? word.source : "vocabulary";
}

/** The file, and where in it the character `start` of the passage stands: its page, or the heading it is under. */
export function whereabouts(passage, start = 0) {
  const parts = [passage.title ? passage.document_id : "", placeOf(passage, start) || passage.section].filter(Boolean);
  return parts.flatMap((part, at) => (at ? [" · ", named(part)] : [named(part)]));
}

/** A source, and where in its file the character `start` of the passage stands. */
export function titled(passage, start = 0) {
  const title = make("span", {}, named(passage.title || passage.document_id));
  const place = placeOf(passage, start);
  if (passage.title) title.append(" (", named(passage.document_id), place && ", ", place && named(place), ")");
  else if (place) title.append(", ", named(place));
  return title;
}

export function opener(passage, ranges, text) {
  const label = `${text}: ${plain(passage.title || passage.document_id)}`;
  return make("p", {}, make("a", { href: linkTo(passage.document_id, ranges), "aria-label": label }, text));
}

/** What another source says instead. */
function disagreement({ text, passage, start, end, date, older }) {
  const age = `${older ? ", an older version" : ""}${date ? `, ${date.slice(0, 10)}` : ""}`;
  return make(
    "div",
    {},
    make("p", {}, "Another source says ", make("b", { dir: "auto" }, plain(text)), ": ", titled(passage, start), age, "."),
    opener(passage, inDocument([{ start, end }], passage), "Open that document here"),
  );
}
