// The part of the library that is asked, and how: what stands under Filters, and in words below the box.

import { api } from "./api.js";
import { byId, make, plain } from "./dom.js";

const LISTS = ["folders", "types", "tags"];
const FIELDS = [...LISTS, "since", "until"];
const TYPES = ["pdf", "word", "slides", "sheets", "html", "markdown", "text", "mail", "man", "notebook", "pictures"];

export class Part {
  constructor() {
    this.box = document.querySelector(".more");
    const shut = (event) => this.box.contains(event.target) || (this.box.open = false);
    addEventListener("pointerdown", shut);
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.box.open = false;
      this.box.querySelector("summary").focus();
    });
    this.box.addEventListener("toggle", () => this.box.open && this.#offer());
    this.box.addEventListener("input", () => this.#tell());
    byId("part-clear").onclick = () => this.only({});
    byId("types-known").append(...TYPES.map((value) => make("option", { value })));
  }

  /** As the server takes it; empty where everything is asked. */
  get within() {
    const listed = (id) =>
      byId(id)
        .value.split(",")
        .map((each) => each.trim().replace(id === "types" ? /^\./ : /^$/, ""))
        .filter(Boolean);
    const part = {};
    for (const id of LISTS) if (listed(id).length) part[id] = listed(id);
    for (const id of ["since", "until"]) if (byId(id).value) part[id] = byId(id).value;
    return part;
  }

  /** Ask only this part from now on. */
  only(part) {
    for (const id of FIELDS) byId(id).value = [part[id] ?? []].flat().join(", ");
    this.#tell();
    byId("question").focus();
  }

  close() {
    this.box.open = false;
  }

  /** In words, where it stays in sight: nobody should wonder why something is not found. */
  #tell() {
    const { folders = [], types = [], tags = [], since, until } = this.within;
    const words = [
      folders.length ? `in ${folders.join(" or ")}` : "",
      types.length ? types.join(" or ") : "",
      tags.length ? `tagged ${tags.join(" and ")}` : "",
      since ? `since ${since}` : "",
      until ? `until ${until}` : "",
    ].filter(Boolean);
    byId("part-words").textContent = plain(words.join(", "));
    byId("part").hidden = !words.length;
  }

  /** The tags that there are. */
  async #offer() {
    const { tags } = await api.tags().catch(() => ({ tags: {} })); // then they can still be typed
    byId("tags-known").replaceChildren(...Object.keys(tags).map((value) => make("option", { value })));
  }
}
