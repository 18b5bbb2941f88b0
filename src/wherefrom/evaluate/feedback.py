"""What people said of answers, as training examples in the layout of the ten-passage set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from wherefrom.data.locating import occurrences
from wherefrom.data.msmarco import NO_ANSWER
from wherefrom.features.querytype import query_type
from wherefrom.store.feedback import Feedback


@dataclass
class FeedbackTally:
    """How many verdicts became examples, and why the others did not."""

    examples: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, why: str) -> dict[str, Any] | None:
        """No example, and the reason counted."""
        self.left_out[why] = self.left_out.get(why, 0) + 1
        return None


def examples(verdicts: Iterable[Feedback], tally: FeedbackTally) -> Iterator[dict[str, Any]]:
    """One row an example, as `data.msmarco.load_ten_passages` reads them.

    A right answer, or the better one in place of a wrong one, is gold in those passages that hold it; a right
    "I don't know" is a question that its passages do not answer. A verdict that teaches nothing is left out.
    """
    for feedback in verdicts:
        row = _row(feedback, tally)
        if row is not None:
            tally.examples += 1
            yield row


def _row(feedback: Feedback, tally: FeedbackTally) -> dict[str, Any] | None:
    if not feedback.passages:
        return tally.leave_out("no passages came with it")
    if feedback.better is not None:
        gold = feedback.better
    elif feedback.verdict == "wrong":
        return tally.leave_out("it was wrong, and nobody said what is right")
    elif feedback.answer is None:
        return _example_row(feedback, None, set())
    else:
        gold = feedback.answer
    holding = {passage.id for passage in feedback.passages if any(True for _ in occurrences(gold, passage))}
    quoted = holding & set(feedback.evidence)
    selected = quoted if quoted and feedback.better is None else holding
    if not selected:
        return tally.leave_out("the right answer stands in none of its passages")
    return _example_row(feedback, gold, selected)


def _example_row(feedback: Feedback, gold: str | None, selected: set[str]) -> dict[str, Any]:
    sentence = gold is not None and feedback.style == "sentence" and feedback.better is None
    return {
        "query_id": feedback.number,
        "query": feedback.question,
        "query_type": query_type(feedback.question),
        "passages": [
            {"is_selected": int(passage.id in selected), "passage_text": passage.text, "url": passage.id}
            for passage in feedback.passages
        ],
        "answers": [NO_ANSWER if gold is None else gold],
        "wellFormedAnswers": [gold] if sentence else [],
        "source_id": f"feedback {feedback.number} {feedback.given} {feedback.who}".strip(),
    }
