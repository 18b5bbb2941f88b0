"""What QASA ranks highest, for DrQA's reader: to be trained on, and to be asked about.

OUT/readings/train.json   as SQuAD is: of the 50 best passages of a training question those that hold an answer
OUT/readings/dev.jsonl    a line a dev question: id, question, answers, and its 50 best passages
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy

from wherefrom.data.examples import Example
from wherefrom.data.locating import occurrences
from wherefrom.metrics.answers import exact_match, token_f1, token_recall
from wherefrom.runtime.plain_words import plain_words
from wherefrom.systems.qasa.lists import Numbers
from wherefrom.types import Hit, Passage, Question

if TYPE_CHECKING:
    from wherefrom.stages import Reader

TRAIN, DEV = "train.json", "dev.jsonl"
_READ = 16  # questions at a time


def best_passages(
    retrieved: Iterable[tuple[Example, Sequence[Passage]]],
    scores: Sequence[Sequence[float] | Numbers],
    prefilter: bool,
    length: int,
    most: int,
) -> Iterator[tuple[Example, list[Passage]]]:
    """Each question with the passages that the network ranks highest; `scores` are those of its list."""
    for number, (example, passages) in enumerate(retrieved):
        question_words = set(plain_words(example.question.text))
        kept = [
            passage for passage in passages[:length] if not prefilter or question_words & set(plain_words(passage.text))
        ]
        own = numpy.asarray(scores[number])
        if len(own) != len(kept):
            raise ValueError(
                f"question {example.question.id} had {len(own)} passages when the lists were made, and has {len(kept)} "
                "now: name the library that they were made of, or make them again"
            )
        yield example, [kept[place] for place in numpy.argsort(-own, kind="stable")[:most]]


def write_training(path: Path, readings: Iterable[tuple[Example, Sequence[Passage]]]) -> int:
    """SQuAD's form; gives how many passages there are."""
    articles: list[dict[str, Any]] = []
    for example, passages in readings:
        for place, passage in enumerate(passages):
            spans = sorted({(span.start, span.text) for text in example.answers for span in occurrences(text, passage)})
            if spans:
                answers = [{"text": text, "answer_start": start} for start, text in spans]
                question = {
                    "id": f"{example.question.id}#{place}",
                    "question": example.question.text,
                    "answers": answers,
                }
                paragraph = {"context": passage.text, "qas": [question]}
                articles.append({"title": f"{passage.title} {example.question.id}#{place}", "paragraphs": [paragraph]})
    path.write_text(json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False), encoding="utf-8")
    return len(articles)


def write_dev(path: Path, readings: Iterable[tuple[Example, Sequence[Passage]]]) -> int:
    """A line a question; gives how many there are."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for example, passages in readings:
            own = [{"id": each.id, "title": each.title, "text": each.text} for each in passages]
            asking = {"id": example.question.id, "question": example.question.text, "answers": list(example.answers)}
            file.write(json.dumps({**asking, "passages": own}, ensure_ascii=False) + "\n")
            count += 1
    return count


def read_dev(path: Path, reader: Reader) -> dict[str, float]:
    """EM, F1 and recall (the thesis's Eq. 4.2) of the reader's first answers, as shares."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    answers: list[str] = []
    for begin in range(0, len(lines), _READ):
        part = lines[begin : begin + _READ]
        hits = [
            [
                Hit(Passage(each["id"], each["id"], each["text"], 0, len(each["text"]), each["title"]), 0.0)
                for each in own
            ]
            for own in (line["passages"] for line in part)
        ]
        candidates = reader.read([Question(line["id"], line["question"]) for line in part], hits)
        answers += [each[0].text if each else "" for each in candidates]
    golds = [line["answers"] for line in lines]
    measures = {"em": exact_match, "f1": token_f1, "recall": token_recall}
    return {
        name: fmean(measure(answer, gold) for answer, gold in zip(answers, golds, strict=True))
        for name, measure in measures.items()
    }
