// The answer word by word, and for each word the place it came from.

import { count, make, named, plain } from "./dom.js";
import { inDocument, quoted, rangesOf, tricky } from "./text.js";
import { linkTo } from "./viewer.js";

const SOURCES = {
  passage: "copied from a passage",
  question: "taken from your question",
  vocabulary: "the writer's own word",
};

const small = matchMedia("(max-width: 40rem)"); // as in style.css: a word's place then comes up from below

/** Shows words as they come; `passages` is a map of those known so far. */
export class AnswerView {
  constructor(question, passages) {
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
    this.line = make("p", { id: "where-line" });
    this.extra = make("div");
    this.cards = make("ol", { class: "cards" });
    const away = make("button", { type: "button", class: "away", onclick: () => this.#away() }, "Close this");
    this.where = make("div", { class: "where" }, this.line, this.extra, this.cards);
    this.told = make("div", {}, this.text);
    const heading = make("h3", { id: "where-title" }, "Where it comes from");
    const head = make("div", { class: "where-head" }, heading, legend(), away);
    this.places = make(
      "section",
      { class: "places", "aria-labelledby": "where-title", onkeydown: (event) => event.key === "Escape" && this.#away() },
      head,
      this.where,
    );
  }

  append(words) {
    for (const word of words) {
      this.text.append(word.space, this.#word(word, this.words.length));
      this.words.push(word);
    }
    this.#number();
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
    const source = word.source in SOURCES ? word.source : "vocabulary";
    const show = () => this.#show(index);
    return make(
      "span",
      {
        class: `word ${source}${tricky(word.text) ? " tricky" : ""}`,
        role: "button",
        tabindex: index === 0 ? "0" : "-1",
        "aria-describedby": "where-line",
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
    const share = `Share: ${Math.round(100 * word.share)} %`;
    const passage = this.passages.get(word.passage_id);
    this.line.replaceChildren(make("b", {}, named(word.text)), " is ");
    this.extra.replaceChildren();
    if (word.source === "passage" && passage) {
      const [exact] = inDocument([word], passage);
      this.line.append("from ", titled(passage), `, characters ${exact.start} to ${exact.end}. ${share}.`);
      this.#lay(passage.id, word);
    } else if (word.source === "question") {
      this.line.append(`${SOURCES.question}. ${share}.`);
      const range = word.start === null ? null : { start: word.start, end: word.end };
      this.extra.append(quoted(this.question, [], range));
      this.#lay();
    } else {
      this.line.append(`${SOURCES.vocabulary}: it stands in no passage. ${share}.`);
      this.#lay();
    }
  }

  /** Before a word is chosen: all that the answer rests on. */
  #whole() {
    const others = this.words.filter((word) => word.source !== "passage").length;
    const copied = count(this.words.length - others, "word is", "words are");
    const rest = others ? `, ${count(others, "is", "are")} not` : "";
    const said = this.restsOn.length
      ? "It stands in no passage, and was decided by the words that are marked here."
      : `${copied} copied from ${count(this.evidence.length, "passage")}${rest}. Point at a word, or move to it, to see its place.`;
    this.line.replaceChildren(said);
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
      const head = make("p", { class: "source-head" }, make("span", { class: "place" }, String(at + 1)), titled(passage));
      const section = passage.section ? make("p", { class: "muted small" }, named(passage.section)) : null;
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

/** Have the mark in sight, with whole lines above it. */
function atMark(quote) {
  const mark = quote.querySelector("mark.exact") ?? quote.querySelector("mark");
  if (!mark) return;
  const line = parseFloat(getComputedStyle(quote).lineHeight) || 24;
  quote.scrollTop = Math.max(0, Math.floor((mark.offsetTop - quote.clientHeight / 3) / line) * line);
}

export function titled(passage) {
  const title = make("span", {}, named(passage.title || passage.document_id));
  if (passage.title) title.append(" (", named(passage.document_id), ")");
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
    make("p", {}, "Another source says ", make("b", { dir: "auto" }, plain(text)), ": ", titled(passage), age, "."),
    opener(passage, inDocument([{ start, end }], passage), "Open that document here"),
  );
}

function legend() {
  const sample = (source, meaning) => make("li", {}, make("span", { class: `key ${source}` }, meaning));
  const items = Object.entries(SOURCES).map(([source, meaning]) => sample(source, meaning));
  return make("ul", { class: "legend", "aria-label": "What the colours and lines mean" }, ...items);
}
