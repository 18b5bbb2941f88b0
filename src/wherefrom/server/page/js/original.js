// The pages of a PDF file as they are, drawn by the server, the place marked on them.

import { api } from "./api.js";
import { byId, make, plain } from "./dom.js";

const LARGER = 1.7; // times the width of the place they are shown in

export class Leaf {
  #document = null;
  #place = null;
  #page = 0;
  #loading = null;

  /** `failed` is told why a page cannot be shown. */
  constructor(failed) {
    this.failed = failed;
    byId("leaf-before").onclick = () => this.#turn(this.#page - 1);
    byId("leaf-after").onclick = () => this.#turn(this.#page + 1);
    byId("leaf-size").onclick = () => {
      const larger = byId("leaf-size").getAttribute("aria-pressed") !== "true";
      byId("leaf-size").setAttribute("aria-pressed", String(larger));
      this.#turn(this.#page);
    };
    byId("leaf").addEventListener("keydown", (event) => {
      const button = { ArrowLeft: "leaf-before", ArrowRight: "leaf-after" }[event.key];
      if (button && !byId(button).disabled && !this.#larger) byId(button).click();
    });
  }

  get #larger() {
    return byId("leaf-size").getAttribute("aria-pressed") === "true";
  }

  /** The page with this place on it, {start, end} in characters; null: the first. */
  show(document, place) {
    this.#document = document;
    this.#place = place;
    return this.#turn(place ? null : 1);
  }

  leave() {
    this.#loading?.abort();
    byId("leaf").replaceChildren();
  }

  async #turn(page) {
    this.#loading?.abort();
    const loading = (this.#loading = new AbortController());
    const room = byId("leaf").clientWidth || 600;
    const wide = room * (this.#larger ? LARGER : 1);
    const width = Math.round(Math.max(300, Math.min(2000, wide * Math.min(2, devicePixelRatio || 1))));
    const wanted = { width, ...(page === null ? {} : { page }), ...(this.#place ?? {}) };
    byId("leaf").setAttribute("aria-busy", "true");
    byId("leaf-number").textContent ||= "Drawing the page…";
    try {
      const drawn = await api.page(this.#document.id, wanted, loading.signal);
      const picture = await createImageBitmap(drawn.blob);
      if (loading !== this.#loading) return;
      this.#draw(drawn, picture, wide);
    } catch (problem) {
      if (problem.name !== "AbortError" && loading === this.#loading) this.failed(problem);
    }
  }

  #draw({ page, pages, top }, picture, wide) {
    this.#page = page;
    const name = plain(this.#document.title || this.#document.id);
    const canvas = make("canvas", { role: "img", "aria-label": `Page ${page} of ${pages} of ${name}; its words are under Text` });
    canvas.width = picture.width;
    canvas.height = picture.height;
    canvas.getContext("2d").drawImage(picture, 0, 0);
    canvas.style.width = `${wide}px`;
    byId("leaf").replaceChildren(canvas);
    byId("leaf").removeAttribute("aria-busy");
    byId("leaf-number").textContent = `Page ${page} of ${pages}`;
    byId("leaf-before").hidden = byId("leaf-after").hidden = pages < 2;
    byId("leaf-before").disabled = page <= 1;
    byId("leaf-after").disabled = page >= pages;
    const height = (picture.height / picture.width) * wide;
    byId("leaf").scrollTop = top > 0 ? Math.max(0, top * height - byId("leaf").clientHeight / 3) : 0;
  }
}
