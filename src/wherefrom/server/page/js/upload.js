// Files on their way into the library: sent one by one, each with its progress, its outcome and a way to stop it.

import { api, send } from "./api.js";
import { byId, count, make, named, plain } from "./dom.js";
import * as problems from "./problems.js";
import { linkTo } from "./viewer.js";

const AT_ONCE = 2;
const LOOK_SECONDS = 1; // the server answers sooner when the job is done
const MOST_ROWS = 100; // finished ones beyond this are taken off the page

export class Uploads {
  #waiting = [];
  #running = 0;
  #all = []; // since the last time that none was on its way

  /** `changed` is called when the library has. */
  constructor(changed) {
    this.changed = changed;
    for (const id of ["files", "folder"])
      byId(id).addEventListener("change", (event) => {
        this.add(event.target.files);
        event.target.value = "";
      });
  }

  add(files) {
    if (this.#all.every((upload) => upload.over)) this.#all = [];
    for (const file of files) {
      const name = file.webkitRelativePath || file.name;
      if (!name.split("/").some((part) => part.startsWith("."))) this.#all.push(this.#queued(name, file)); // not hidden ones
    }
    this.#next();
  }

  #queued(name, file) {
    const upload = new Upload(name, file, (ended) => this.#ended(ended));
    this.#waiting.push(upload);
    return upload;
  }

  #ended({ report }) {
    this.#summarize();
    if (report.added || report.replaced || report.removed?.length) this.changed();
  }

  /** What became of all files together, where there are several. */
  #summarize() {
    const all = this.#all;
    const total = (what) => all.reduce((sum, upload) => sum + (upload.report[what] ?? 0), 0);
    const over = all.filter((upload) => upload.over).length;
    const [added, replaced, same] = ["added", "replaced", "unchanged"].map(total);
    const refused = all.filter((upload) => upload.refused).length;
    const parts = [
      `${over.toLocaleString("en")} of ${count(all.length, "file")} done`,
      added ? `${count(added, "document")} added` : "",
      replaced ? `${replaced.toLocaleString("en")} replaced` : "",
      same ? `${same.toLocaleString("en")} already there` : "",
      refused ? `${refused.toLocaleString("en")} not taken, and why stands below` : "",
    ];
    byId("uploads-summary").textContent = all.length > 1 ? `${parts.filter(Boolean).join(", ")}.` : "";
  }

  /** Go on telling of what was sent before the page was loaded. */
  async resume() {
    const { jobs } = await api.jobs();
    for (const job of jobs.filter(({ state, kind }) => kind === "upload" && ["queued", "running"].includes(state))) {
      new Upload(job.names.join(", "), null, (ended) => this.#ended(ended)).follow(job);
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
  over = false;
  refused = false;
  report = {};

  constructor(name, file, ended) {
    Object.assign(this, { name, file, ended });
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
      this.#end(`Not taken: ${problem.detail.replace(/^'.*' is not taken: /, "")}`, true);
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
    else {
      this.report = result;
      this.#end(outcome(result), false, [...result.failures, ...(result.warnings ?? [])]);
      if (result.added + result.replaced === 1) await this.#introduce();
    }
  }

  /** What the library made of one document, and the way to it. */
  async #introduce() {
    const part = await api.document(this.name, 0, 1).catch(() => null); // a file of records has none of its name
    if (!part) return;
    const facts = `, ${count(part.passages_in_all, "passage")} to answer from. `;
    this.state.append(" ", named(part.title || part.id), facts, make("a", { href: linkTo(part.id) }, "Open it"));
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
    this.over = true;
    this.refused = failed;
    this.bar.remove();
    this.button.remove();
    this.row.classList.add("ended");
    this.state.classList.toggle("failed", failed);
    this.state.textContent = text;
    const reasons = failures.map(({ name, reason }) =>
      make("li", { class: "failed" }, named(name), ": ", make("span", { dir: "auto" }, reason ?? "no reason is known")),
    );
    if (reasons.length) this.row.append(make("ul", { class: "small" }, ...reasons));
    this.ended(this);
  }
}

function outcome({ added, replaced, unchanged, removed, documents }) {
  const parts = [
    added ? `${count(added, "document")} added` : "",
    replaced ? `${count(replaced, "document")} replaced` : "",
    unchanged ? `${count(unchanged, "document")} already there` : "",
    removed?.length ? `${count(removed.length, "document")} gone` : "",
  ].filter(Boolean);
  const now = added + replaced > 1 ? ` The library has ${count(documents, "document")} now.` : "";
  return `Done: ${parts.join(", ") || "nothing in it to add"}.${now}`;
}
