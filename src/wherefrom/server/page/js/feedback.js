// Whether an answer was right: kept in the library, where it can be exported to train on.

import { api } from "./api.js";
import { make } from "./dom.js";
import { icon } from "./icons.js";
import * as problems from "./problems.js";

/** Buttons for a finished trace. */
export function feedback(trace, number) {
  const { answer } = trace;
  const status = make("span", { role: "status" });
  const trouble = make("div", { role: "alert" });
  const better = make("input", { type: "text", id: `better-${number}`, dir: "auto", maxlength: "2000", required: true });
  const form = make(
    "form",
    { class: "filter", hidden: true },
    make("label", { for: `better-${number}` }, answer.text === null ? "What is the answer?" : "What would be a better answer?"),
    better,
    make("p", { class: "buttons" }, make("button", { type: "submit" }, "Send")),
  );
  const send = async (verdict, text = null) => {
    problems.clear(trouble);
    try {
      await api.feedback({
        question: trace.question.text,
        verdict,
        answer: answer.text,
        better: text,
        style: answer.style,
        passages: trace.hits.map((hit) => hit.passage.id).slice(0, 100),
        evidence: answer.evidence.map((passage) => passage.id).slice(0, 100),
      });
      for (const button of buttons.querySelectorAll("button")) button.disabled = true;
      form.hidden = true;
      status.textContent = "Kept, thank you.";
    } catch (problem) {
      problems.show(trouble, problem, () => send(verdict, text));
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (better.value.trim()) send("wrong", better.value.trim());
  });
  const say = (drawn, text, onclick) => make("button", { type: "button", class: "tool", onclick }, icon(drawn), text);
  const open = () => {
    form.hidden = false;
    better.focus();
  };
  const buttons = make(
    "p",
    { class: "buttons", role: "group", "aria-label": "Was this right?" },
    make("span", { class: "muted" }, answer.text === null ? "Right not to answer?" : "Was this right?"),
    say("right", "Right", () => send("right")),
    say("wrong", "Wrong", () => send("wrong")),
    say("pencil", "I know better…", open),
    status,
  );
  return make("div", {}, buttons, form, trouble);
}
