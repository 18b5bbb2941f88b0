// An answer for elsewhere: plain with its sources, as Markdown, as BibTeX, and the question's address.

import { byId, clipped, make, plain } from "./dom.js";
import { icon } from "./icons.js";
import { between, inDocument, placeOf } from "./text.js";

/** Buttons for a finished answer; `cited` is what `AnswerView` tells of it. */
export function copying(question, style, cited) {
  const status = make("span", { role: "status" });
  const button = (drawn, text, name, made) => {
    const copy = async () => (status.textContent = (await copied(made())) ? "Copied." : "");
    return make("button", { type: "button", class: "tool", "aria-label": name, title: name, onclick: copy }, icon(drawn), text);
  };
  const buttons = cited
    ? [
        button("copy", "Copy", "Copy", () => asText(question, cited)),
        button("text", "Markdown", "Copy as Markdown", () => asMarkdown(question, cited)),
        button("book", "BibTeX", "Copy as BibTeX", () => asBibtex(cited)),
      ]
    : [];
  const link = button("link", "Link", "Copy a link", () => addressOf(question, style));
  return make("p", { class: "buttons", role: "group", "aria-label": "Take it elsewhere" }, ...buttons, link, status);
}

/** What asks the same question again, wherever this page is opened. */
export function addressOf(question, style) {
  const asked = new URLSearchParams({ q: question, ...(style ? { style } : {}) });
  return `${location.href.split("#")[0]}#/ask?${asked}`;
}

/** {question, style} of an address made by `addressOf`, or null. */
export function askedIn(hash) {
  if (!hash.startsWith("#/ask?")) return null;
  const asked = new URLSearchParams(hash.slice(6));
  const question = (asked.get("q") ?? "").trim().slice(0, 2000);
  return question ? { question, style: asked.get("style") } : null;
}

export function asText(question, { marked, sources }) {
  const each = sources.map((source, at) => `[${at + 1}] ${told(source)}\n    “${quote(source)}”`);
  return [question, "", marked, "", ...each].join("\n");
}

export function asMarkdown(question, { marked, sources }) {
  const escaped = (text) => text.replace(/[\\`*_[\]<>#|~]/g, "\\$&");
  const noted = escaped(marked).replace(/\\\[(\d+)\\\]/g, "[^$1]");
  const each = sources.map((source, at) => `[^${at + 1}]: ${escaped(told(source))}: “${escaped(quote(source))}”`);
  return [`**${escaped(question)}**`, "", noted, "", ...each].join("\n");
}

export function asBibtex({ sources }) {
  const field = (text) => plain(text).replace(/\\/g, "\\textbackslash ").replace(/[{}#$%&_~^]/g, "\\$&");
  return sources
    .map((source, at) => {
      const { passage } = source;
      const key = plain(passage.document_id).replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "") || "source";
      const page = /^page (\d+)/.exec(placeOf(passage, source.ranges[0]?.start))?.[1];
      const year = /^\d{4}/.exec(passage.date ?? "")?.[0];
      const lines = [
        `  title = {{${field(passage.title || passage.document_id)}}}`,
        `  howpublished = {${field(passage.document_id)}}`,
        `  note = {${field(places(source))}: \`\`${field(quote(source))}''}`,
        ...(page ? [`  pages = {${page}}`] : []),
        ...(year ? [`  year = {${year}}`] : []),
      ];
      return `@misc{${key}-${at + 1},\n${lines.join(",\n")}\n}`;
    })
    .join("\n\n");
}

function told(source) {
  const { title, document_id: id } = source.passage;
  return plain(`${title ? `${title} (${id})` : id}, ${places(source)}`);
}

function places({ passage, ranges }) {
  const all = ranges.length ? ranges : [{ start: 0, end: Array.from(passage.text).length }];
  const place = placeOf(passage, all[0].start);
  return `${place && `${place}, `}characters ${inDocument(all, passage)
    .map(({ start, end }) => `${start}–${end}`)
    .join(", ")}`;
}

function quote({ passage, ranges }) {
  const texts = ranges.map(({ start, end }) => between(passage.text, start, end));
  return clipped(texts.length ? texts.join(" … ") : passage.text, 400);
}

/** Whether it is in the clipboard; where a browser refuses, it is shown to be copied by hand. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    byId("copy-text").value = text;
    byId("copy-dialog").showModal();
    byId("copy-text").select();
    return false;
  }
}
