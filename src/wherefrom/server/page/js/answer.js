// The answer word by word, and for each word the place it came from.

import { count, make, named, plain } from "./dom.js";
import { inDocument, quoted, rangesOf, tricky } from "./text.js";
import { linkTo } from "./viewer.js";

const SOURCES = {
  passage: "copied from a passage",
  question: "taken from your question",
  vocabulary: "the writer's own word",
};

/** Shows words as they come; `passages` is a map of those known so far, `placeOf` tells a passage's rank. */
export class AnswerView {
  constructor(question, passages, placeOf) {
    this.question = question;
    this.passages = passages;
    this.placeOf = placeOf;
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
    this.where = make("div", { class: "where" });
    this.told = make("div", {}, this.text, legend());
    const heading = make("h3", { id: "where-title" }, "Where it comes from");
    this.places = make("section", { class: "card", "aria-labelledby": "where-title" }, heading, this.where);
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
        onclick: show,
      },
      word.text,
    );
  }

  /** The last word of each stretch from one passage tells the passage's rank, as a footnote does. */
  #number() {
    const elements = this.text.querySelectorAll(".word");
    this.words.forEach((word, index) => {
      const place = word.source === "passage" ? this.placeOf(word.passage_id) : 0;
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
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.where.querySelector("a")?.click();
    }
  }

  /** Where one word comes from. */
  #show(index) {
    const word = this.words[index];
    this.text.querySelectorAll(".word").forEach((element, at) => element.classList.toggle("held", at === index));
    const share = `Share: ${Math.round(100 * word.share)} %`;
    const line = make("p", { id: "where-line" }, make("b", {}, named(word.text)), " is ");
    const passage = this.passages.get(word.passage_id);
    if (word.source === "passage" && passage) {
      const [exact] = inDocument([word], passage);
      line.append("from ", titled(passage), `, characters ${exact.start} to ${exact.end}. ${share}.`);
      const quote = quoted(passage.text, rangesOf(this.words, passage), word);
      this.where.replaceChildren(line, quote, opener(passage, [exact], "Open the document at this word"));
      quote.scrollTop = quote.querySelector("mark.exact").offsetTop - quote.clientHeight / 2;
    } else if (word.source === "question") {
      line.append(`${SOURCES.question}. ${share}.`);
      const range = word.start === null ? null : { start: word.start, end: word.end };
      this.where.replaceChildren(line, quoted(this.question, [], range));
    } else {
      line.append(`${SOURCES.vocabulary}: it stands in no passage. ${share}.`);
      this.where.replaceChildren(line, ...(this.restsOn.length ? this.#quotes() : []));
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
    this.where.replaceChildren(make("p", { id: "where-line" }, said), ...this.#quotes());
  }

  /** The passages that the answer rests on, with its words marked. */
  #quotes() {
    return this.evidence.flatMap((passage) => {
      const ranges = rangesOf([...this.words, ...this.restsOn], passage);
      const link = opener(passage, inDocument(ranges, passage), "Open the document here");
      return [make("p", {}, titled(passage)), quoted(passage.text, ranges), link];
    });
  }
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
