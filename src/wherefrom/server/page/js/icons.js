// Small drawings beside words, and what kind of file a document is.

const PATHS = {
  copy: "M9 9h11v12H9zM5 15V3h11",
  text: "M5 5h14M5 10h14M5 15h9",
  book: "M4 4h7a3 3 0 0 1 3 3v14a3 3 0 0 0-3-3H4zM20 4h-3a3 3 0 0 0-3 3",
  link: "M10 14a4 4 0 0 0 6 0l4-4a4 4 0 0 0-6-6l-2 2M14 10a4 4 0 0 0-6 0l-4 4a4 4 0 0 0 6 6l2-2",
  right: "M4 12l5 5L20 6",
  wrong: "M6 6l12 12M18 6L6 18",
  pencil: "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4",
  bin: "M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14",
  plus: "M12 5v14M5 12h14",
  filter: "M4 7h16M7 12h10M10 17h4",
};

/** A drawing that says nothing by itself: words stand beside it. */
export function icon(name) {
  const svg = document.getElementById("icon").content.firstElementChild.cloneNode(true);
  svg.firstElementChild.setAttribute("d", PATHS[name]);
  return svg;
}

/** What kind of file a document was read from, as a word on a badge: that of its suffix. */
export function badge(id) {
  const suffix = /\.([a-z0-9]{1,6})$/i.exec(id.replace(/\.[gx]z$/i, ""))?.[1] ?? "text";
  const label = document.createElement("span");
  label.className = "badge";
  label.textContent = /^\d/.test(suffix) ? "MAN" : suffix.toUpperCase();
  label.setAttribute("aria-hidden", "true"); // the file's name is read aloud
  return label;
}
