"""One example of a dataset: a question, the passages given with it, and every kind of gold.

One type serves all scorers: each reads the golds it needs and leaves the others. An empty tuple means that
the dataset does not give this gold, or gives none for this question.
"""

from __future__ import annotations

from dataclasses import dataclass

from wherefrom.types import Passage, Question


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """A right answer at its place: `passage.text[start:end] == text`, in the passage of that id."""

    passage_id: str
    start: int
    end: int
    text: str
    sure: bool = True  # False: found by its wording, and it may stand elsewhere too


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its golds."""

    question: Question  # the id is unique in its split; the text is empty for plain summaries
    passages: tuple[Passage, ...] = ()  # what the dataset gives with the question, in its order; ids are unique
    relevant: tuple[bool, ...] = ()  # one a passage, whether it answers the question; () where unlabelled
    grades: tuple[int, ...] = ()  # one a passage, higher is better, where the labels have more than two levels
    answers: tuple[str, ...] = ()  # short answers, each of them right
    spans: tuple[GoldSpan, ...] = ()  # answers at their places
    patterns: tuple[str, ...] = ()  # regular expressions: an answer in which one of them matches is right
    sentences: tuple[str, ...] = ()  # well-formed answers, whole sentences that can be read without the question
    summaries: tuple[str, ...] = ()  # reference summaries, each by another hand; sentences on lines where known
    answerable: bool | None = None  # whether the passages answer the question; None: the dataset does not say
    kind: str = ""  # the dataset's own class of the question (query type, category, source)
    article: str = ""  # examples with the same article belong in the same split; "" if they are independent

    def __post_init__(self) -> None:
        texts = {passage.id: passage.text for passage in self.passages}
        if len(texts) != len(self.passages):
            raise ValueError(f"question {self.question.id}: two passages have the same id")
        for name in ("relevant", "grades"):
            labels = getattr(self, name)
            if labels and len(labels) != len(self.passages):
                raise ValueError(f"question {self.question.id}: {len(labels)} {name} for {len(self.passages)} passages")
        for span in self.spans:
            if texts.get(span.passage_id, "")[span.start : span.end] != span.text:
                raise ValueError(f"question {self.question.id}: {span.text!r} is not at {span.start} of its passage")


def whole(id: str, text: str, title: str = "") -> Passage:
    """A passage that is a document of its own, as datasets give them."""
    return Passage(id, id, text, 0, len(text), title)
