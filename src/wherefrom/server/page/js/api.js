// What the server is asked, and how it answers; whatever goes wrong becomes a Problem.

import { kept } from "./dom.js";

/** A refusal in the server's words (RFC 9457), or that it could not be reached. */
export class Problem extends Error {
  constructor(status, title, detail, { errors = [], wait = null, kind = "" } = {}) {
    super(detail);
    Object.assign(this, { status, title, detail, errors, wait, kind });
  }
}

const session = () => sessionStorage;
let key = kept.read(session, "key", "");

export function useKey(given) {
  key = given;
  kept.write(session, "key", given);
}

export const api = {
  ready: () => json("GET", "/ready"),
  examples: (limit) => json("GET", `/examples?limit=${limit}`),
  documents: (after) => json("GET", `/documents?limit=1000&after=${encodeURIComponent(after)}`),
  document: (id, start, characters, signal) =>
    json("GET", `/documents/${encodeURIComponent(id)}?start=${start}&characters=${characters}`, undefined, signal),
  page: (id, wanted, signal) => picture(`/originals/${encodeURIComponent(id)}?${new URLSearchParams(wanted)}`, signal),
  remove: (id) => json("DELETE", `/documents/${encodeURIComponent(id)}?wait=20`),
  jobs: () => json("GET", "/jobs?limit=20"),
  job: (id, seconds) => json("GET", `/jobs/${encodeURIComponent(id)}?wait=${seconds}`),
  cancel: (id) => json("DELETE", `/jobs/${encodeURIComponent(id)}?wait=5`),
  feedback: (said) => json("POST", "/feedback", said),
};

/** Where a question goes: a summary has a route of its own, which knows neither styles nor earlier turns. */
function wanted(asked) {
  if (asked.style !== "summary") return ["/ask", { ...asked, stream: true }];
  const { question, k, within } = asked;
  return ["/summarize", { question, ...(k ? { k } : {}), ...(within ? { within } : {}), stream: true }];
}

/** The events of an answer or a summary, as [name, data]. */
export async function* ask(asked, signal) {
  const response = await fetched("POST", ...wanted(asked), signal);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let last = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error) => Promise.reject(unreachable(error)));
    if (done) break;
    const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [name, data] = event(block);
      if (name === "error") throw told(data.status, data, null);
      last = name;
      yield [name, data];
    }
  }
  if (last !== "trace")
    throw new Problem(0, "The answer broke off", "The server ended before the answer did. Ask again.");
}

function event(block) {
  let name = "";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return [name, JSON.parse(data.join("\n"))];
}

/** Send one file; `progressed` is told the part that has gone. The job that takes it in. */
export function send(file, name, progressed, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not tell how much has gone
    const form = new FormData();
    form.append("files", file, name);
    request.open("POST", "/documents");
    if (key) request.setRequestHeader("Authorization", `Bearer ${key}`);
    request.upload.onprogress = (event) => event.lengthComputable && progressed(event.loaded / event.total);
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status < 300) resolve(body);
      else reject(told(request.status, body, request.getResponseHeader("Retry-After")));
    };
    request.onerror = () => reject(unreachable(new TypeError("network")));
    request.onabort = () => reject(new DOMException("cancelled", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

async function json(method, path, body, signal) {
  const response = await fetched(method, path, body, signal);
  return response.json().catch((error) => Promise.reject(unreachable(error)));
}

/** {blob, page, pages, top}: a page of a PDF file, and how far down its mark is. */
async function picture(path, signal) {
  const response = await fetched("GET", path, undefined, signal);
  const number = (name) => Number(response.headers.get(name));
  const blob = await response.blob().catch((error) => Promise.reject(unreachable(error)));
  return { blob, page: number("X-Page"), pages: number("X-Pages"), top: number("X-Mark-Top") };
}

async function fetched(method, path, body, signal) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, {
    method,
    headers,
    signal,
    credentials: "omit",
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error) => Promise.reject(unreachable(error)));
  if (response.ok) return response;
  throw told(response.status, parsed(await response.text()), response.headers.get("Retry-After"));
}

function told(status, body, wait) {
  const {
    title = `The server answered ${status}`,
    detail = "It does not say why.",
    errors = [],
    type = "",
  } = body ?? {};
  const seconds = Number(wait);
  return new Problem(status, title, detail, {
    errors: errors ?? [],
    wait: wait && seconds >= 0 ? seconds : null,
    kind: type.split(":").at(-1),
  });
}

function unreachable(error) {
  if (error.name === "AbortError" || error instanceof Problem) return error;
  return new Problem(0, "The server cannot be reached", "It does not answer. Is `wherefrom serve` still running?");
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
