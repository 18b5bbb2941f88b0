// Elements are made by calls and filled with text, never with markup: what a document says cannot become script.

/** An element; `properties` are attributes, or listeners as `onclick`; children are elements or texts. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** A title or a name that a document brought, apart from the text around it. */
export function named(text, properties = {}) {
  return make("bdi", { dir: "auto", ...properties }, plain(text));
}

/** On one line, without the characters that turn letters around or that are none: a name must not pass for another. */
export function plain(text) {
  return text.replace(/\s+/g, " ").replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

/** On one line and not longer than `most` characters. */
export function clipped(text, most) {
  const line = Array.from(plain(text));
  return line.length > most ? `${line.slice(0, most).join("").trimEnd()}…` : line.join("");
}

/** A part of 1 as a width: attributes named style are not allowed here, properties are. */
export function width(element, part) {
  element.style.width = `${100 * Math.min(1, Math.max(0, part))}%`;
  return element;
}

/** `one document`, `3 documents`. */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** What the browser keeps, which it may refuse to do. */
export const kept = {
  read(area, name, otherwise) {
    try {
      return JSON.parse(area().getItem(`wherefrom.${name}`)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  write(area, name, value) {
    try {
      if (value === null) area().removeItem(`wherefrom.${name}`);
      else area().setItem(`wherefrom.${name}`, JSON.stringify(value));
    } catch {
      // Forbidden or full: then it is not kept.
    }
  },
};
