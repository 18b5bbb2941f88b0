// Why this answer won: the passages and the candidates in their order, with the score that each stage gave.

import { make, named, plain, width } from "./dom.js";
import { between, inDocument } from "./text.js";
import { linkTo } from "./viewer.js";

// Stages name their scores; those not known here are shown under their own names.
const KNOWN = {
  retrieve: ["Words in common", "how many words, and how rare ones, the passage shares with the question (BM25)"],
  bm25: ["Words in common", "how many words, and how rare ones, the passage shares with the question (BM25)"],
  tfidf: ["Word pairs", "how many words and pairs of words the passage shares with the question"],
  dense: ["Like meaning", "how near the passage's meaning is to the question's"],
  fuse: ["Found by several", "how high the passage stands in several searches together"],
  rank: ["Rank", "how well the passage fits the question, read together with it; the order is by this"],
  relevance: ["Relevance", "how sure the network is that this passage answers the question; below 0: rather not"],
  span: ["These words", "how probable the network finds exactly these words among all words of all passages"],
  read: ["As an answer", "what the reader gives these words as an answer; the order is by this"],
  rerank: ["Second look", "the order after a second look at the answers"],
  match: ["Like meaning", "how nearly the passage's words mean what the question's words mean"],
  null_margin: ["Ahead of “not here”", "how far the network prefers these words to saying that the passage does not answer"],
  own_passage: ["Within its passage", "how probable the network finds these words among those of their own passage"],
  tokens: ["Length", "how many pieces of words it has"],
};
const FEW = 5; // shown before the rest is asked for

/** The part of the page about it; `answered` are the ids of the passages that the answer is from. */
export function explained(hits, candidates, answered, declines = false) {
  const names = [...new Set([...hits, ...candidates].flatMap((each) => Object.keys(each.features)))];
  const box = make("div", {});
  const story = told(hits, candidates);
  if (story && !declines) box.append(make("p", {}, ...story));
  if (candidates.length) {
    const scales = scalesOf(candidates);
    box.append(
      make("h3", {}, "Answers it chose from"),
      list(
        candidates.map((candidate, at) => candidateRow(candidate, at, scales)),
        3,
      ),
    );
  }
  if (hits.length) {
    const scales = scalesOf(hits);
    box.append(
      make("h3", {}, "Passages it read, best first"),
      list(
        hits.map((hit, at) => hitRow(hit, at, scales, answered)),
        FEW,
      ),
    );
  }
  if (names.length) {
    const toggle = make("button", { type: "button", "aria-pressed": "false" }, "Show the scores");
    toggle.addEventListener("click", () => {
      const shown = box.classList.toggle("with-scores");
      toggle.setAttribute("aria-pressed", String(shown));
    });
    box.prepend(make("p", { class: "buttons" }, toggle));
    box.append(meanings(names));
  }
  return box;
}

/** In words: where the best passage stood at first and where it stands now, and how far the best answer is ahead. */
function told(hits, candidates) {
  const best = candidates[0];
  if (!best) return null;
  const story = [];
  const place = hits.findIndex((hit) => hit.passage.id === best.passage.id);
  const found = placeBy(hits, place, "retrieve") || placeBy(hits, place, "bm25");
  if (place >= 0 && found) {
    story.push(`By its words, its passage was ${ordinal(found)} of ${hits.length}`);
    if (hits[place].features.rank !== undefined) story.push(`; ranked, it is ${ordinal(place + 1)}`);
    story.push(". ");
  }
  const bare = ({ text }) => text.replace(/[^\p{L}\p{N}]+/gu, " ").trim().toLowerCase();
  const other = candidates.find((candidate) => !` ${bare(best)} `.includes(` ${bare(candidate)} `));
  if (other) story.push("The next best answer that says something else is “", named(shortened(other.text, 60)), "”.");
  else story.push("There was no other answer to choose from.");
  return story;
}

function placeBy(hits, place, name) {
  const own = hits[place]?.features[name];
  return own === undefined ? 0 : 1 + hits.filter((hit) => (hit.features[name] ?? -Infinity) > own).length;
}

function hitRow(hit, at, scales, answered) {
  const { passage } = hit;
  const link = make(
    "a",
    { href: linkTo(passage.document_id, [{ start: passage.start, end: passage.end }]) },
    named(passage.title || passage.document_id),
  );
  const head = make("div", { class: "head" }, make("span", {}, make("span", { class: "place" }, `${at + 1}.`), link));
  if (answered.has(passage.id)) head.append(make("b", { class: "small" }, "the answer is from here"));
  const text = make("p", { class: "small", dir: "auto" }, shortened(passage.text, 180));
  return make("li", {}, head, text, scores(hit, scales));
}

function candidateRow(candidate, at, scales) {
  const { passage } = candidate;
  const link = make(
    "a",
    { href: linkTo(passage.document_id, inDocument([candidate], passage)) },
    named(shortened(candidate.text, 160)),
  );
  const from = make("span", { class: "muted small" }, named(passage.title || passage.document_id));
  return make(
    "li",
    {},
    make("div", { class: "head" }, make("span", {}, make("span", { class: "place" }, `${at + 1}.`), link), from),
    scores(candidate, scales),
  );
}

/** Each score with a bar that shows it beside those of the others. */
function scores(each, scales) {
  const grid = make("dl", { class: "scores" });
  for (const [name, value] of Object.entries(each.features)) {
    const { least, most } = scales[name];
    const part = most > least ? 0.04 + (0.96 * (value - least)) / (most - least) : 1;
    const bar = make("dd", { class: "bar", "aria-hidden": "true" }, width(make("div", { class: "fill" }), part));
    grid.append(make("dt", {}, friendly(name)), bar, make("dd", {}, worded(name, value)));
  }
  return grid;
}

function scalesOf(all) {
  const scales = {};
  for (const { features } of all) {
    for (const [name, value] of Object.entries(features)) {
      const scale = (scales[name] ??= { least: Infinity, most: -Infinity });
      scale.least = Math.min(scale.least, value);
      scale.most = Math.max(scale.most, value);
    }
  }
  return scales;
}

function meanings(names) {
  const details = make("details", { class: "meaning-of" }, make("summary", {}, "What the scores mean"));
  const terms = make("dl", { class: "meaning small" });
  for (const name of names) {
    const meaning = Object.hasOwn(KNOWN, name) ? KNOWN[name][1] : "a score that this page does not know by name";
    terms.append(make("dt", {}, friendly(name)), make("dd", {}, `${meaning} (`, make("code", {}, plain(name)), ")"));
  }
  details.append(
    terms,
    make("p", { class: "small muted" }, "A bar shows a score beside the others of its list: the best is full."),
  );
  return details;
}

function list(rows, few) {
  const ordered = make("ol", { class: "ranked" }, ...rows.slice(0, few));
  if (rows.length <= few) return ordered;
  const box = make("div", {}, ordered);
  const more = make("button", { type: "button" }, `Show all ${rows.length}`);
  more.addEventListener("click", () => {
    ordered.append(...rows.slice(few));
    more.remove();
    rows[few].querySelector("a").focus();
  });
  box.append(more);
  return box;
}

function friendly(name) {
  return Object.hasOwn(KNOWN, name) ? KNOWN[name][0] : plain(name).replace(/_/g, " ");
}

/** The logarithm of a probability as the probability, any other score as a number. */
function worded(name, value) {
  return name === "span" && value <= 0 ? `${number(100 * Math.exp(value))} %` : number(value);
}

function number(value) {
  const size = Math.abs(value);
  return value.toLocaleString("en", { maximumFractionDigits: size >= 100 ? 0 : size >= 10 ? 1 : 2 });
}

function ordinal(place) {
  if (place === 1) return "first";
  const ends = { 1: "st", 2: "nd", 3: "rd" };
  return `${place}${(place % 100 > 10 && place % 100 < 14 ? null : ends[place % 10]) ?? "th"}`;
}

function shortened(text, most) {
  return Array.from(text).length > most ? `${between(text, 0, most)}…` : text;
}

export function timed(timings) {
  const names = {
    retrieve: "finding",
    rank: "ranking",
    read: "reading",
    rerank: "looking again",
    judge: "judging",
    write: "writing",
  };
  const each = Object.entries(timings).map(
    ([name, seconds]) => `${names[name] ?? plain(name)} ${number(1000 * seconds)} ms`,
  );
  return each.length ? `Time: ${each.join(", ")}.` : "";
}
