"""QUASAR-T: trivia questions with a hundred short (or twenty long) texts found for each in ClueWeb09.

Dhingra et al. 2017; 37,012 / 3,000 / 3,000 questions. As published: `questions/train_questions.json.gz` and
`contexts/short/train_contexts.json.gz`, JSON lines that run in step.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import DatasetError, Ids, choice
from wherefrom.data.locating import occurrences
from wherefrom.data.opening import Files, json_records, named_files, split_name
from wherefrom.types import Question

FILES: Files = {split: (f"{split}_questions.json", f"{split}_contexts.json") for split in ("train", "dev", "test")}
LENGTHS = ("short", "long")  # at most 200 or 2,048 characters


class _QuestionRecord(msgspec.Struct):
    uid: str
    question: str
    answer: str


class _ContextsRecord(msgspec.Struct):
    uid: str
    contexts: list[tuple[float, str]]  # retrieval score and text, best first


def load(path: Path, split: str, *, length: str = "short", pseudo: bool = False) -> Iterator[Example]:
    """QUASAR-T; nobody has labelled its texts.

    `pseudo` calls a text relevant if the answer stands in it, gives the places as spans that are not sure, and
    sets `answerable` by whether there is any (qasa 3.1.5 and Table 4.2).
    """
    choice("length", length, LENGTHS)
    split = split_name(split, FILES)
    questions = named_files(path, [f"questions/{split}_questions.json", f"{split}_questions.json"])[0]
    contexts = named_files(path, [f"contexts/{length}/{split}_contexts.json", f"{split}_contexts.json"])[0]
    return _examples(questions, contexts, pseudo)


def _examples(questions: Path, contexts: Path, pseudo: bool) -> Iterator[Example]:
    ids = Ids()
    for question_row, contexts_row in zip_longest(
        json_records(questions, _QuestionRecord), json_records(contexts, _ContextsRecord)
    ):
        if question_row is None or contexts_row is None:
            short, long = (questions, contexts) if question_row is None else (contexts, questions)
            raise DatasetError(f"{short} ends before {long}; expected a record for each of its")
        (place, question), (_, texts) = question_row, contexts_row
        if question.uid != texts.uid:
            raise place.fault(f"uid: expected {texts.uid!r} as in {contexts}, not {question.uid!r}")
        yield _example(ids.once(question.uid, place, "uid"), question, texts, pseudo)


def _example(id: str, question: _QuestionRecord, contexts: _ContextsRecord, pseudo: bool) -> Example:
    passages = tuple(whole(f"{id}#{index}", text) for index, (_, text) in enumerate(contexts.contexts))
    example = Example(Question(id, question.question), passages, answers=(question.answer,))
    if not pseudo:
        return example
    spans = tuple(span for passage in passages for span in occurrences(question.answer, passage))
    positive = {span.passage_id for span in spans}
    return Example(
        example.question,
        passages,
        tuple(passage.id in positive for passage in passages),
        answers=example.answers,
        spans=spans,
        answerable=bool(spans),
    )
