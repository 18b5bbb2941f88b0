"""Explanations: two to five sentences that answer how, why, which or what is different, each quoted where it stands.

The default for the style `explain`, over any other writer, to which it leaves the other styles. Every sentence is one
of the documents' own, in their order; nothing is put between them but white space. The statement that holds the
reader's answer is one of them, and its document comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wherefrom.features.choosing import in_reading_order
from wherefrom.features.statements import Statement, holding, quoted
from wherefrom.features.telling import Teller
from wherefrom.stages import OnWords, Writer
from wherefrom.types import Answer, Candidate, Hit, Question, Style, Word, joined
from wherefrom.write.explain import Explanation, explained_by


class ExplainingWriter:
    """Quotes the statements most worth telling."""

    def __init__(self, other: Writer, teller: Teller) -> None:
        self.other = other
        self._teller = teller

    def write(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        chances: Sequence[float],
        style: Style,
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        if style != "explain":
            return self.other.write(questions, hits, candidates, chances, style, on_words)
        answers = []
        for place, (question, own, chance) in enumerate(zip(questions, hits, chances, strict=True)):
            answer = self._explained(question.text, own, candidates[place], chance)
            if on_words is not None and answer.words:
                on_words(place, answer.words)
            answers.append(answer)
        return answers

    def explain(
        self, question: Question, hits: Sequence[Hit], candidates: Sequence[Candidate], style: Style
    ) -> Explanation:
        """How the other writer wrote it."""
        return explained_by(self.other, question, hits, candidates, style)

    def _explained(self, question: str, hits: Sequence[Hit], candidates: Sequence[Candidate], chance: float) -> Answer:
        if not candidates:
            return Answer(None, "explain", chance)
        chosen_ones = self.choice(question, hits, candidates[0])
        if not chosen_ones:  # the passages hold no sentence, as a list of single words does not
            (quotation,) = self.other.write([Question("", question)], [hits], [candidates], [chance], "sentence")
            return replace(quotation, style="explain")
        words: list[Word] = []
        for place, each in enumerate(chosen_ones):
            first, *rest = quoted(each)
            space = "" if not place else _between(chosen_ones[place - 1], each)
            words += [replace(first, space=space), *rest]
        evidence = tuple({each.passage.id: each.passage for each in chosen_ones}.values())
        return Answer(joined(tuple(words)), "explain", chance, tuple(words), evidence, how="quoted")

    def choice(self, question: str, hits: Sequence[Hit], answer: Candidate) -> list[Statement]:
        """The statements of the explanation, in the order of the documents, that of the answer first."""
        weighed = self._teller.weighed(question, hits)
        pool, leading = weighed.statements, holding(weighed.statements, answer)
        return [pool[at] for at in in_reading_order(pool, self._teller.explanation(weighed, leading), leading)]


def _between(one: Statement, other: Statement) -> str:
    """White space between two statements: what is no prose, or stands elsewhere, begins a line."""
    prose = one.kind == other.kind == "sentence"
    return " " if prose and one.passage.document_id == other.passage.document_id else "\n"
