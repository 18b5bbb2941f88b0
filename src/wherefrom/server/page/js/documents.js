// The documents of the library: fifty at a time, found by title or name, removed when that is confirmed.

import { api } from "./api.js";
import { byId, count, make, named, plain } from "./dom.js";
import { badge, icon } from "./icons.js";
import * as problems from "./problems.js";
import { linkTo } from "./viewer.js";

const ROWS = 50;
const MOST = 20_000; // read without being asked: a list of more takes a while

export class Documents {
  #documents = [];
  #found = [];
  #inAll = 0;
  #after = ""; // null: all are read
  #page = 0;
  #loading = null;
  #stale = true;

  /** `changed` is called when a document has gone. */
  constructor(changed) {
    this.changed = changed;
    byId("filter").addEventListener("input", () => this.#filter());
    byId("page-before").onclick = () => this.#turn(-1);
    byId("page-after").onclick = () => this.#turn(1);
    const list = byId("documents-list");
    list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      const links = [...list.querySelectorAll("a")];
      const row = event.target.closest("li");
      const next = links[links.findIndex((link) => row?.contains(link)) + step];
      if (next) {
        event.preventDefault();
        next.focus();
      }
    });
  }

  /** The library has changed: read the list again, now if it is in sight. */
  refresh(inSight) {
    this.#stale = true;
    if (inSight) this.show();
  }

  async show() {
    if (!this.#stale) return;
    this.#stale = false;
    await this.#load(MOST, true);
  }

  /** Read on, or anew, until so many are there. */
  async #load(most, anew = false) {
    const turn = (this.#loading = Symbol("the newest wins"));
    problems.clear(byId("documents-trouble"));
    let documents = anew ? [] : this.#documents;
    let after = anew ? "" : this.#after;
    try {
      do {
        const some = await api.documents(after);
        if (turn !== this.#loading) return;
        documents = documents.concat(some.documents);
        after = some.next;
        this.#documents = documents;
        this.#after = after;
        this.#inAll = some.documents_in_all;
        this.#filter(true);
      } while (after !== null && documents.length < most);
    } catch (problem) {
      this.#stale = true;
      problems.show(byId("documents-trouble"), problem, () => this.#load(most, anew));
    }
  }

  #filter(stay = false) {
    const wanted = byId("filter").value.trim().toLowerCase();
    const holds = ({ title, id, tags }) => [title, id, ...(tags ?? [])].join("\n").toLowerCase().includes(wanted);
    this.#found = wanted ? this.#documents.filter(holds) : this.#documents;
    const last = Math.max(0, Math.ceil(this.#found.length / ROWS) - 1);
    this.#page = stay ? Math.min(this.#page, last) : 0;
    this.#draw();
  }

  #turn(step) {
    this.#page += step;
    this.#draw();
    byId("documents-list").querySelector("a")?.focus();
  }

  #draw() {
    const from = this.#page * ROWS;
    const some = this.#found.slice(from, from + ROWS);
    byId("documents-list").replaceChildren(...some.map((document) => this.#row(document)));
    const pages = Math.max(1, Math.ceil(this.#found.length / ROWS));
    byId("pages").hidden = pages < 2;
    byId("page-before").disabled = this.#page === 0;
    byId("page-after").disabled = this.#page + 1 >= pages;
    byId("page-number").textContent = `Page ${this.#page + 1} of ${pages}`;
    const told =
      this.#inAll === 0
        ? "The library is empty. Add files above: each is read at once, and can be asked about when it is in."
        : `${count(this.#found.length, "document")} of ${this.#inAll.toLocaleString("en")}.`;
    byId("documents-count").textContent = told;
    if (this.#after !== null && this.#documents.length >= MOST) {
      const read = make("button", { type: "button", onclick: () => this.#load(Infinity) }, "Read the rest of the list");
      byId("documents-count").append(` Only ${this.#documents.length.toLocaleString("en")} are listed yet. `, read);
    }
  }

  #row(document) {
    const name = document.title || document.id;
    const what = make("div", { class: "what" }, make("a", { href: linkTo(document.id) }, named(name)));
    const facts = make("span", { class: "muted small" }, named(document.id));
    facts.append(`, ${count(document.passages, "passage")}, ${count(document.characters, "character")}`);
    for (const tag of document.tags ?? []) facts.append(" ", named(tag, { class: "tag" }));
    if (document.gone) facts.append(" ", make("span", { class: "tag gone" }, "its file is gone"));
    what.append(facts);
    const remove = make(
      "button",
      { type: "button", class: "tool", "aria-label": `Remove ${plain(name)}`, onclick: () => this.#confirm(document) },
      icon("bin"),
      "Remove",
    );
    return make("li", {}, badge(document.id), what, remove);
  }

  #confirm(document) {
    const dialog = byId("remove-dialog");
    byId("remove-name").textContent = plain(document.title ? `${document.title} (${document.id})` : document.id);
    dialog.returnValue = "";
    dialog.addEventListener("close", () => dialog.returnValue === "remove" && this.#remove(document), { once: true });
    dialog.showModal();
  }

  async #remove(document) {
    byId("documents-count").textContent = "Removing…";
    try {
      const job = await api.remove(document.id);
      if (job.state === "failed")
        throw Object.assign(new Error(job.reason), { title: "It was not removed", detail: job.reason });
      await this.#load(MOST, true);
      byId("documents-title").focus();
      this.changed();
    } catch (problem) {
      this.#draw();
      problems.show(byId("documents-trouble"), problem, () => this.#remove(document));
    }
  }
}
