// The thread: questions, each with its answer as it comes, the newest at the top.

import { ask } from "./api.js";
import { byId, make } from "./dom.js";
import { icon } from "./icons.js";
import { Part } from "./part.js";
import * as problems from "./problems.js";
import { progress, Turn } from "./turn.js";

const STYLES = {
  short: "a few words",
  sentence: "a sentence",
  quote: "a quotation",
  passage: "a passage",
  explain: "some sentences",
  free: "own words",
  summary: "a summary",
};
const MOST_TURNS = 30; // that stay on the page
const SENT_TURNS = 6; // with a question: a follow-up hardly ever reaches further back

export class Asking {
  #running = null;
  #ready = { styles: [], style: "short", min_chance: 0, documents: 0 };
  #thread = []; // the newest first
  #part = new Part();

  constructor() {
    byId("more-icon").append(icon("filter"));
    byId("afresh").append(icon("plus"), make("span", { class: "wide" }, " New thread"));
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
    byId("afresh").onclick = () => this.#afresh();
    byId("ask-form").addEventListener("invalid", () => (document.querySelector(".more").open = true), true);
    byId("ask-form").addEventListener("submit", () => this.#part.close());
    byId("question").addEventListener("input", () => this.#offer());
  }

  /** What /ready says: the styles there are, and the settings in force. */
  configure(ready) {
    const first = !this.#ready.styles.length;
    this.#ready = ready;
    byId("empty").hidden = ready.documents > 0;
    byId("min-chance").placeholder = String(Math.round(100 * ready.min_chance));
    if (!first) return;
    const choices = [...ready.styles, "summary"].map((style) => {
      const radio = make("input", { type: "radio", name: "style", value: style, checked: style === ready.style });
      return make("label", {}, radio, make("span", {}, STYLES[style] ?? style));
    });
    byId("styles").replaceChildren(byId("styles").querySelector("legend"), ...choices);
  }

  examples(questions) {
    const chip = (question) =>
      make("button", { type: "button", dir: "auto", onclick: () => this.ask(question) }, question);
    byId("examples")
      .querySelector("ul")
      .replaceChildren(...questions.map((question) => make("li", {}, chip(question))));
    this.#offer();
  }

  /** Examples are for an empty box before the first question; a focus inside them is not lost. */
  #offer() {
    const wanted = byId("question").value === "" && !this.#thread.length;
    const place = byId("examples");
    if (!wanted && place.contains(document.activeElement)) byId("question").focus();
    place.hidden = !wanted || !place.querySelector("li");
  }

  /** Ask what is in the form, or a question given. */
  async ask(question = null, style = null, least = null, alone = false) {
    if (question !== null) byId("question").value = question;
    if (style !== null) for (const radio of document.getElementsByName("style")) radio.checked = radio.value === style;
    const asked = this.#asked();
    if (least !== null) asked.min_chance = least;
    if (!asked.question) return byId("question").focus();
    const turns = alone ? [] : this.#turns(asked.question);
    if (turns.length) asked.turns = turns;
    this.#running?.abort();
    const running = (this.#running = new AbortController());
    const turn = new Turn(asked, asked.min_chance ?? this.#ready.min_chance, {
      anyway: () => this.ask(asked.question, asked.style, 0),
      edit: (text) => this.#edit(text),
      afresh: (text) => this.ask(text, asked.style, null, true), // as it stands
    });
    problems.clear(byId("ask-trouble"));
    byId("stop").hidden = false;
    progress("Looking for passages…");
    byId("said").textContent = "";
    this.#see(turn);
    this.#offer();
    try {
      for await (const [name, data] of ask(asked, running.signal)) {
        if (running !== this.#running) return;
        turn[name]?.(data);
      }
      // The box is for the next question; one that was not answered is there to be put otherwise.
      if (turn.answered && byId("question").value.trim() === asked.question) byId("question").value = "";
    } catch (problem) {
      if (running !== this.#running) return;
      progress(problem.name === "AbortError" ? "Stopped." : "");
      problems.show(byId("ask-trouble"), problem, () => this.ask(asked.question, asked.style ?? null, least));
    } finally {
      if (running === this.#running) byId("stop").hidden = true;
    }
  }

  /** The newest turn whole, those before it a line each; what came to nothing, or is asked again, goes. */
  #see(turn) {
    const others = this.#thread.filter((each) => each.done && each.asked.question !== turn.asked.question);
    for (const each of others) each.foldUp(true);
    this.#thread = [turn, ...others].slice(0, MOST_TURNS);
    this.#draw();
  }

  /** What a follow-up may refer to: the turns before it, oldest first. The server keeps none. */
  #turns(question) {
    const others = this.#thread.filter((each) => each.done && each.asked.question !== question);
    return others.slice(0, SENT_TURNS).map((each) => each.earlier).reverse();
  }

  #draw() {
    byId("thread").replaceChildren(...this.#thread.map((turn) => turn.element));
    byId("asking").classList.toggle("fresh", !this.#thread.length);
    byId("afresh").hidden = !this.#thread.length;
    byId("question").placeholder = this.#thread.length ? "Ask a follow-up" : "Ask about your documents";
  }

  #afresh() {
    this.#running?.abort();
    this.#running = null;
    this.#thread = [];
    progress("");
    byId("stop").hidden = true;
    byId("question").value = "";
    problems.clear(byId("ask-trouble"));
    this.#draw();
    this.#offer();
    byId("question").focus();
  }

  /** The next questions are for one document alone. */
  about(id) {
    this.#part.only({ folders: [id] });
  }

  #edit(text) {
    byId("question").value = text;
    byId("question").focus();
    byId("question").select();
  }

  #asked() {
    const asked = { question: byId("question").value.trim() };
    const style = document.querySelector("input[name=style]:checked")?.value;
    if (style) asked.style = style;
    if (byId("k").value) asked.k = byId("k").valueAsNumber;
    const { within } = this.#part;
    if (Object.keys(within).length) asked.within = within;
    if (byId("min-chance").value) asked.min_chance = byId("min-chance").valueAsNumber / 100;
    return asked;
  }
}
