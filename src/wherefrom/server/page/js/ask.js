// Ask a question and show what comes back, as it comes.

import { ask } from "./api.js";
import { AnswerView } from "./answer.js";
import { beyond, declined, gauge, inHundred, threshold } from "./chance.js";
import { copying } from "./copying.js";
import { byId, clipped, count, make, named } from "./dom.js";
import { feedback } from "./feedback.js";
import { remember } from "./history.js";
import * as problems from "./problems.js";
import { explained, timed } from "./why.js";

const STYLES = { short: "a few words", sentence: "a sentence", passage: "a passage" };
const MOST_EARLIER = 20; // questions of this tab that stay at hand below the answer

export class Asking {
  #running = null;
  #ready = { styles: [], style: "short", min_chance: 0 };
  #trip = null;
  #earlier = [];

  constructor() {
    byId("ask-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    byId("question").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      byId("ask-form").requestSubmit();
    });
    byId("stop").onclick = () => this.#running?.abort();
    byId("ask-form").addEventListener("invalid", () => (document.querySelector(".more").open = true), true);
    byId("question").addEventListener("input", () => this.#offer(byId("question").value === ""));
  }

  /** What /ready says: the styles there are, and the settings in force. */
  configure(ready) {
    this.#ready = ready;
    const choices = ready.styles.map((style) => {
      const radio = make("input", { type: "radio", name: "style", value: style, checked: style === ready.style });
      return make("label", {}, radio, STYLES[style] ?? style);
    });
    byId("styles").replaceChildren(byId("styles").querySelector("legend"), ...choices);
    byId("min-chance").placeholder = String(Math.round(100 * ready.min_chance));
  }

  examples(questions) {
    const chip = (question) =>
      make("button", { type: "button", dir: "auto", onclick: () => this.ask(question) }, question);
    byId("examples")
      .querySelector("ul")
      .replaceChildren(...questions.map((question) => make("li", {}, chip(question))));
    this.#offer(byId("question").value === "");
  }

  /** Examples are for an empty box; a focus inside them is not lost. */
  #offer(wanted) {
    const place = byId("examples");
    if (!wanted && place.contains(document.activeElement)) byId("question").focus();
    place.hidden = !wanted || !place.querySelector("li");
  }

  /** Ask what is in the form, or a question given. */
  async ask(question = null, style = null, least = null) {
    if (question !== null) byId("question").value = question;
    if (style !== null) for (const radio of document.getElementsByName("style")) radio.checked = radio.value === style;
    const asked = this.#asked();
    if (least !== null) asked.min_chance = least;
    if (!asked.question) return byId("question").focus();
    this.#running?.abort();
    const running = (this.#running = new AbortController());
    const trip = new Trip(asked, asked.min_chance ?? this.#ready.min_chance, () =>
      this.ask(asked.question, asked.style, 0),
    );
    this.#offer(false);
    problems.clear(byId("ask-trouble"));
    byId("stop").hidden = false;
    byId("progress").textContent = "Looking for passages…";
    byId("said").textContent = "";
    this.#see(trip);
    try {
      for await (const [name, data] of ask(asked, running.signal)) {
        if (running !== this.#running) return;
        trip[name]?.(data);
      }
    } catch (problem) {
      if (running !== this.#running) return;
      byId("progress").textContent = problem.name === "AbortError" ? "Stopped." : "";
      problems.show(byId("ask-trouble"), problem, () => this.ask(question, style, least));
    } finally {
      if (running === this.#running) byId("stop").hidden = true;
    }
  }

  /** One answer in sight, those before it a line each below. */
  #see(trip) {
    const others = [this.#trip, ...this.#earlier].filter(
      (each) => each && each !== trip && each.done && each.asked.question !== trip.asked.question,
    );
    this.#trip = trip;
    this.#earlier = others.slice(0, MOST_EARLIER);
    byId("result").replaceChildren(trip.element);
    byId("result").hidden = false;
    const back = (each) => {
      this.#running?.abort();
      this.#see(each);
      byId("asked").focus();
    };
    const rows = this.#earlier.map((each) => {
      const question = make("button", { type: "button", class: "quiet", onclick: () => back(each) }, named(each.asked.question));
      return make("li", {}, question, make("span", { class: "muted small", dir: "auto" }, clipped(each.done, 120)));
    });
    byId("earlier").querySelector("ol").replaceChildren(...rows);
    byId("earlier").hidden = !rows.length;
  }

  #asked() {
    const asked = { question: byId("question").value.trim() };
    const style = document.querySelector("input[name=style]:checked")?.value;
    if (style) asked.style = style;
    if (byId("k").value) asked.k = byId("k").valueAsNumber;
    if (byId("min-chance").value) asked.min_chance = byId("min-chance").valueAsNumber / 100;
    return asked;
  }
}

/** One question's trip; a method for each event that the server sends. */
class Trip {
  #hits = [];
  #candidates = [];
  #passages = new Map();
  #answer = null;

  constructor(asked, needed, anyway) {
    Object.assign(this, { asked, needed, anyway });
    this.done = ""; // what it came to, once it has
    this.told = make("div", { class: "told" });
    this.chancePlace = make("div");
    this.wherePlace = make("div");
    this.actsPlace = make("div", { class: "acts" });
    this.whyPlace = make("div");
    this.timePlace = make("p", { class: "muted small" });
    this.foldName = make("span", {}, "Passages found");
    this.fold = make("details", { class: "how", hidden: true }, make("summary", {}, this.foldName));
    this.fold.append(this.whyPlace, this.timePlace);
    this.element = make(
      "section",
      { "aria-labelledby": "asked" },
      make("h2", { class: "asked", id: "asked", tabindex: "-1" }, named(asked.question)),
      this.told,
      this.chancePlace,
      this.wherePlace,
      this.actsPlace,
      this.fold,
    );
  }

  hits({ hits }) {
    this.#hits = hits;
    for (const { passage } of hits) this.#passages.set(passage.id, passage);
    byId("progress").textContent = hits.length
      ? `${count(hits.length, "passage")} found; reading them…`
      : "No passage was found.";
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
      this.#answer = new AnswerView(this.asked.question, this.#passages);
      this.told.replaceChildren(this.#answer.told);
      this.wherePlace.replaceChildren(this.#answer.places);
    }
    this.#answer.append(words);
  }

  /** The whole, which counts where it differs from what came before. */
  trace(trace) {
    const { answer } = trace;
    this.#hits = trace.hits;
    this.#candidates = trace.candidates;
    this.chancePlace.replaceChildren(...(answer.text === null ? [] : [gauge(answer.chance, this.needed)]));
    if (answer.reason) this.told.replaceChildren(beyond(answer.reason));
    else if (answer.text === null) this.#decline(answer.chance);
    else {
      if (!this.#answer) this.words({ words: [] });
      this.#answer.finish(answer);
    }
    this.#why(new Set(answer.evidence.map((passage) => passage.id)), answer.text === null);
    const cited = answer.text === null ? null : this.#answer.cited;
    this.actsPlace.replaceChildren(feedback(trace), copying(this.asked.question, this.asked.style, cited));
    this.timePlace.textContent = timed(trace.timings);
    if (answer.text !== null) this.timePlace.before(threshold(this.needed));
    this.done = answer.text ?? "declined";
    byId("progress").textContent = answer.text === null ? "Declined." : "Answered.";
    byId("said").textContent =
      answer.text === null
        ? answer.reason || "The library does not answer this, as far as I can tell."
        : `Answer: ${answer.text} Chance ${inHundred(answer.chance)}.`;
    remember({
      question: this.asked.question,
      style: answer.style,
      answer: answer.text,
      chance: answer.chance,
      when: Date.now(),
    });
  }

  #decline(chance) {
    this.told.replaceChildren(declined(chance, this.needed, this.#candidates, this.#hits, this.anyway));
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
