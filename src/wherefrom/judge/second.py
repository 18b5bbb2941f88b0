"""A second opinion on the reader's answer: how likely the writer network would give it, had it to answer itself.

The writer learnt to read apart from the reader and is wrong about other things. Where it would begin its own answer
with the same words, copied from the same place, the reader's answer is more often right. It is never shown that answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.runtime.writer import Short, WriterSession, WritingTask, passages_with
from wherefrom.types import Candidate, Hit, Question

NOTHING = (0.0, 0.0, 0.0, 0.0)
_BOUND = -12.0  # logs of a likelihood below this say no more
_SURE = 8.0  # so do logits beyond this


class SecondOpinion:
    """Looks at the `passages` best hits, the answer's own among them: those that a sentence would be written from."""

    def __init__(self, session: WriterSession, passages: int = 3) -> None:
        self._session = session
        self._passages = passages

    def signs(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[tuple[float, float, float, float]]:
        """Of each question's first candidate, as `signs.OF_SECOND` names them; NOTHING where there is none."""
        tasks = {
            place: self._task(question, question_hits, read[0])
            for place, (question, question_hits, read) in enumerate(zip(questions, hits, candidates, strict=True))
            if read
        }
        signs = [NOTHING] * len(questions)
        for place, weighed in zip(tasks, self._session.weigh(list(tasks.values())), strict=True):
            signs[place] = (
                max(weighed.first, _BOUND),
                max(weighed.mean, _BOUND),
                weighed.place,
                max(-_SURE, min(_SURE, weighed.answerable)),
            )
        return signs

    def _task(self, question: Question, hits: Sequence[Hit], answer: Candidate) -> WritingTask:
        passages = passages_with(hits, answer, self._passages)
        short = Short(passages.index(answer.passage), answer.start, answer.end)
        return WritingTask(question.text, tuple(passages), short)
