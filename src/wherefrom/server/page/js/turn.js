// One question of the thread and all that is known of its answer, as it comes.

import { AnswerView } from "./answer.js";
import { beyond, declined, gauge, inHundred, threshold } from "./chance.js";
import { copying } from "./copying.js";
import { byId, clipped, count, make, named } from "./dom.js";
import { feedback } from "./feedback.js";
import { remember } from "./history.js";
import { explained, timed } from "./why.js";

let turns = 0; // ids on the page are told apart by the number of their turn

/** A method for each event that the server sends. */
export class Turn {
  #hits = [];
  #candidates = [];
  #passages = new Map();
  #answer = null;

  /** `acts` are {anyway, edit, afresh}: ask again whatever the chance; put the question back into the box; ask another. */
  constructor(asked, needed, acts) {
    Object.assign(this, { asked, needed, acts, number: ++turns });
    this.done = ""; // what it came to, once it has
    this.told = make("div", { class: "told" });
    this.chancePlace = make("div");
    this.wherePlace = make("div", { class: "beside" });
    this.actsPlace = make("div", { class: "acts" });
    this.whyPlace = make("div");
    this.timePlace = make("p", { class: "muted small" });
    this.foldName = make("span", {}, "Passages found");
    this.fold = make("details", { class: "how", hidden: true }, make("summary", {}, this.foldName));
    this.fold.append(this.whyPlace, this.timePlace);
    this.heading = make("h2", { class: "asked", id: `asked-${this.number}`, tabindex: "-1" }, named(asked.question));
    const edit = make("button", { type: "button", class: "quiet small", onclick: () => acts.edit(asked.question) }, "Edit");
    edit.setAttribute("aria-label", `Edit the question: ${asked.question}`);
    this.understoodPlace = make("p", { class: "understood small", hidden: true });
    this.line = make("button", { type: "button", class: "quiet line", hidden: true, "aria-expanded": "false" });
    this.line.addEventListener("click", () => this.foldUp(this.body.hidden === false));
    this.body = make(
      "div",
      { class: "turn-body" },
      make("div", {}, this.told, this.chancePlace),
      this.wherePlace,
      this.actsPlace,
      this.fold,
    );
    this.element = make(
      "article",
      { class: "turn", "aria-labelledby": `asked-${this.number}` },
      make("div", { class: "turn-head" }, this.heading, edit),
      this.understoodPlace,
      this.line,
      this.body,
    );
  }

  /** How a follow-up was understood, where that is not what was typed, and what else it may have meant. */
  understood(text, instead = []) {
    this.meant = text || this.asked.question;
    if (!text || text === this.asked.question) return;
    const again = (words, question) =>
      make("button", { type: "button", class: "quiet small", onclick: () => this.acts.afresh(question) }, words);
    const others = instead.map((other) => again(other, other));
    this.understoodPlace.hidden = false;
    const alone = this.asked.turns?.length ? [again("Ask it as typed", this.asked.question)] : []; // else it is spelling
    this.understoodPlace.replaceChildren("Understood as: ", named(text), " ", ...others, ...alone);
  }

  /** What a question after this one may refer to. */
  get earlier() {
    return { question: this.meant ?? this.asked.question, answer: this.text ?? null, title: this.title ?? "" };
  }

  /** A line with the answer in place of all of it, for turns that are over; or all of it again. */
  foldUp(folded) {
    this.body.hidden = folded;
    this.line.hidden = false;
    this.line.setAttribute("aria-expanded", String(!folded));
    this.line.replaceChildren(folded ? named(clipped(this.done, 140)) : "Show less");
    this.element.classList.toggle("folded", folded);
  }

  hits({ hits, understood, instead }) {
    this.#hits = hits;
    if (understood) this.understood(understood, instead);
    for (const { passage } of hits) this.#passages.set(passage.id, passage);
    progress(hits.length ? `${count(hits.length, "passage")} found; reading them…` : "No passage was found.");
    this.#why(new Set());
  }

  candidates({ candidates }) {
    this.#candidates = candidates;
    for (const { passage } of candidates) this.#passages.set(passage.id, passage);
    this.#why(new Set());
  }

  chance({ chance, declined: declines }) {
    if (declines) this.#decline(chance);
    else this.chancePlace.replaceChildren(gauge(chance, this.needed));
  }

  words({ words }) {
    if (!this.#answer) {
      this.#answer = new AnswerView(this.asked.question, this.#passages, this.number);
      this.told.replaceChildren(this.#answer.told);
      this.wherePlace.replaceChildren(this.#answer.places);
    }
    this.#answer.append(words);
  }

  /** The whole, which counts where it differs from what came before. */
  trace(trace) {
    const answer = trace.answer ?? summarized(trace.summary);
    this.#hits = trace.hits;
    this.#candidates = trace.candidates;
    if (trace.question.typed) this.understood(trace.question.text, trace.question.instead);
    this.text = answer.text;
    this.title = (answer.evidence[0]?.title ?? "").slice(0, 1000);
    this.chancePlace.replaceChildren(...(answer.text === null || !trace.answer ? [] : [gauge(answer.chance, this.needed)]));
    if (answer.reason && !trace.answer) this.told.replaceChildren(nothing(answer.reason));
    else if (answer.reason) this.told.replaceChildren(beyond(answer.reason));
    else if (answer.text === null) this.#decline(answer.chance);
    else {
      if (!this.#answer) this.words({ words: [] });
      this.#answer.finish(answer);
    }
    this.#why(new Set(answer.evidence.map((passage) => passage.id)), answer.text === null);
    const cited = answer.text === null ? null : this.#answer.cited;
    const acts = [copying(this.asked.question, this.asked.style, cited)];
    this.actsPlace.replaceChildren(...acts, ...(trace.answer ? [feedback(trace, this.number)] : []));
    this.timePlace.textContent = timed(trace.timings);
    if (answer.text !== null && trace.answer) this.timePlace.before(threshold(this.needed));
    this.done = answer.text ?? (answer.reason ? "Out of reach." : "Not answered by these documents.");
    progress(answer.text === null ? "Declined." : "Answered.", true);
    byId("said").textContent =
      answer.text === null
        ? answer.reason || "Your documents do not answer this, as far as I can tell."
        : trace.answer
          ? `Answer: ${answer.text} Chance ${inHundred(answer.chance)}.`
          : `Summary: ${answer.text}`;
    remember({
      question: this.asked.question,
      style: answer.style,
      answer: answer.text,
      chance: answer.chance,
      when: Date.now(),
    });
    this.answered = answer.text !== null;
  }

  #decline(chance) {
    this.told.replaceChildren(declined(chance, this.needed, this.#candidates, this.#hits, this.acts.anyway));
    this.wherePlace.replaceChildren();
  }

  #why(answered, declines = false) {
    this.fold.hidden = !this.#hits.length;
    this.foldName.textContent = declines
      ? "What was looked at"
      : this.#candidates.length
        ? "How this answer was found"
        : `${count(this.#hits.length, "passage")} found`;
    this.whyPlace.replaceChildren(explained(this.#hits, this.#candidates, answered, declines));
  }
}

/** That there is no summary, and why. */
function nothing(reason) {
  const words = make("p", {}, make("b", {}, "There is nothing to summarize."), ` It seems that ${reason}.`);
  return make("div", { class: "card declined" }, words);
}

/** A summary as an answer is shown; what it lacks is told in its place. */
function summarized({ sentences, reason }) {
  const words = sentences.flatMap(({ words: [first, ...rest], space }) => [{ ...first, space }, ...rest]);
  const text = words.map((word) => word.space + word.text).join("");
  const evidence = [...new Map(sentences.flatMap((each) => each.evidence).map((each) => [each.id, each])).values()];
  const none = { rests_on: [], disagrees: [], gone: [], how: "quoted", chance: 0, style: "summary" };
  return { ...none, text: sentences.length ? text : null, words, evidence, reason: sentences.length ? "" : reason };
}

/** How far the newest question is; out of sight, but still read aloud, when there is something else to look at. */
export function progress(text, over = false) {
  byId("progress").textContent = text;
  byId("progress").classList.toggle("unseen", over || !text);
}
