// Files on their way into the library: sent one by one, each with its progress, its outcome and a way to stop it.

import { api, send } from "./api.js";
import { byId, count, make, named, plain } from "./dom.js";
import * as problems from "./problems.js";

const AT_ONCE = 2;
const LOOK_SECONDS = 1; // the server answers sooner when the job is done
const MOST_ROWS = 100; // finished ones beyond this are taken off the page

export class Uploads {
  #waiting = [];
  #running = 0;

  /** `changed` is called when the library has. */
  constructor(changed) {
    this.changed = changed;
    byId("files").addEventListener("change", (event) => {
      this.add(event.target.files);
      event.target.value = "";
    });
  }

  add(files) {
    for (const file of files) this.#waiting.push(new Upload(file.webkitRelativePath || file.name, file, this.changed));
    this.#next();
  }

  /** Go on telling of what was sent before the page was loaded. */
  async resume() {
    const { jobs } = await api.jobs();
    for (const job of jobs.filter(({ state, kind }) => kind === "upload" && ["queued", "running"].includes(state))) {
      new Upload(job.names.join(", "), null, this.changed).follow(job);
    }
  }

  #next() {
    while (this.#running < AT_ONCE && this.#waiting.length) {
      this.#running += 1;
      this.#waiting
        .shift()
        .send()
        .finally(() => {
          this.#running -= 1;
          this.#next();
        });
    }
  }
}

class Upload {
  #job = null;
  #sending = new AbortController();

  constructor(name, file, changed) {
    Object.assign(this, { name, file, changed });
    this.bar = make("progress", { max: "1", value: "0", "aria-label": `Progress of ${plain(name)}` });
    this.state = make("p", { class: "small", role: "status" }, "Waiting to be sent");
    this.trouble = make("div", { role: "alert" });
    this.button = make(
      "button",
      { type: "button", "aria-label": `Cancel ${plain(name)}`, onclick: () => this.#cancel() },
      "Cancel",
    );
    this.row = make(
      "li",
      { class: "upload" },
      make("div", { class: "head" }, named(name), this.button),
      this.bar,
      this.state,
      this.trouble,
    );
    byId("uploads").prepend(this.row);
    while (byId("uploads").children.length > MOST_ROWS && byId("uploads").lastChild.classList.contains("ended"))
      byId("uploads").lastChild.remove();
  }

  async send() {
    problems.clear(this.trouble);
    try {
      if (this.#sending.signal.aborted) return;
      const progressed = (part) => {
        this.bar.value = part / 2; // the other half is for reading it
        this.state.textContent = `Sending: ${Math.round(100 * part)} %`;
      };
      const job = await send(this.file, this.name, progressed, this.#sending.signal);
      await this.follow(job);
    } catch (problem) {
      if (problem.name === "AbortError") return this.#end("Cancelled: nothing was sent.");
      if (problem.status === 401 || problem.wait !== null) {
        this.state.textContent = "Not sent yet";
        return problems.show(this.trouble, problem, () => this.send());
      }
      this.#end(`Not taken: ${problem.detail}`, true);
    }
  }

  /** Tell how far the job is, until it has finished. */
  async follow(job) {
    this.#job = job;
    while (["queued", "running"].includes(job.state)) {
      this.#told(job);
      try {
        job = await api.job(job.id, LOOK_SECONDS);
      } catch (problem) {
        this.state.textContent = "Sent; how far it is cannot be told now";
        return problems.show(this.trouble, problem, () => this.follow(job));
      }
    }
    const { result } = job;
    if (job.state === "cancelled") this.#end("Cancelled.");
    else if (job.state === "failed")
      this.#end("It could not be read:", true, result?.failures ?? [{ name: this.name, reason: job.reason }]);
    else this.#end(outcome(result), false, [...result.failures, ...(result.warnings ?? [])]);
    this.changed();
  }

  #told({ state, progress }) {
    if (state === "queued") this.state.textContent = "Sent; waiting to be read";
    else if (progress?.waiting) this.state.textContent = `Waiting: ${progress.waiting}`;
    else if (progress?.bytes_in_all) {
      this.bar.value = 0.5 + progress.bytes / progress.bytes_in_all / 2;
      this.state.textContent = `Reading: ${count(progress.documents, "document")} so far`;
    } else this.state.textContent = "Reading";
  }

  async #cancel() {
    this.button.disabled = true;
    this.#sending.abort();
    problems.clear(this.trouble);
    if (!this.#job) return this.#end("Cancelled: nothing was sent.");
    try {
      await api.cancel(this.#job.id);
    } catch (problem) {
      problems.show(this.trouble, problem);
    }
  }

  #end(text, failed = false, failures = []) {
    this.bar.remove();
    this.button.remove();
    this.row.classList.add("ended");
    this.state.classList.toggle("failed", failed);
    this.state.textContent = text;
    const reasons = failures.map(({ name, reason }) =>
      make("li", { class: "failed" }, named(name), ": ", make("span", { dir: "auto" }, reason ?? "no reason is known")),
    );
    if (reasons.length) this.row.append(make("ul", { class: "small" }, ...reasons));
  }
}

function outcome({ added, replaced, unchanged, removed, passages }) {
  const parts = [
    added ? `${count(added, "document")} added` : "",
    replaced ? `${count(replaced, "document")} replaced` : "",
    unchanged ? `${count(unchanged, "document")} already there` : "",
    removed?.length ? `${count(removed.length, "document")} gone` : "",
  ].filter(Boolean);
  return `Done: ${parts.join(", ") || "nothing in it to add"}${passages ? ` (${count(passages, "passage")})` : ""}.`;
}
