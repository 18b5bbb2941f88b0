"""TREC-QA: factoid questions of TREC 8-13 with candidate sentences, labelled right or wrong.

Wang et al. 2007. Three forms of the same data: JSON lines, the pseudo-XML of the jacana package (Yao et al. 2013),
and rows of question, answer, label. The published dev and test counts (1,148 and 1,517 candidates) leave out sentences
of more than 40 words; files that keep them give those counts with `max_words=40`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from wherefrom.data.detokenize import detokenized
from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import Ids, RecordPlace
from wherefrom.data.opening import Files, json_records, split_file, starts_with, text_lines
from wherefrom.data.pairs import binary, candidates, from_tsv, mixed
from wherefrom.types import Question

FILES: Files = {
    "train-all": ("train-all.jsonl", "train2393.cleanup.xml", "TRAIN-ALL.xml", "trec[rc]_train.tsv"),
    "train": ("train.jsonl", "train-less-than-40.manual-edit.xml", "TRAIN.xml"),
    "dev": ("dev.jsonl", "dev-less-than-40.manual-edit.xml", "DEV.xml", "trec[rc]_valid.tsv"),
    "test": ("test.jsonl", "test-less-than-40.manual-edit.xml", "TEST.xml", "trec[rc]_test.tsv"),
}


class _Candidate(msgspec.Struct):
    sentence: str
    label: int


class _Record(msgspec.Struct):
    question: str
    candidates: list[_Candidate]


def load(
    path: Path, split: str, *, clean: bool = False, max_words: int | None = None, detokenize: bool = False
) -> Iterator[Example]:
    """TREC-QA; `clean` drops questions whose candidates are all right or all wrong, after `max_words`.

    A question all of whose candidates are longer than `max_words` stays, with none.
    """
    file = split_file(path, split, FILES)
    if starts_with(file, b"{"):
        examples = _from_lines(file)
    elif starts_with(file, b"<"):
        examples = _from_jacana(file)
    else:
        examples = from_tsv(file, "trecqa")
    return _selected(examples, clean, max_words, detokenize)


def _selected(examples: Iterator[Example], clean: bool, max_words: int | None, detokenize: bool) -> Iterator[Example]:
    for example in examples:
        if max_words is not None:
            example = _shortened(example, max_words)
        if clean and not mixed(example):
            continue
        yield _printed(example) if detokenize else example


def _shortened(example: Example, max_words: int) -> Example:
    short = [index for index, passage in enumerate(example.passages) if len(passage.text.split()) <= max_words]
    return replace(
        example,
        passages=tuple(example.passages[index] for index in short),
        relevant=tuple(example.relevant[index] for index in short),
    )


def _printed(example: Example) -> Example:
    return replace(
        example,
        question=Question(example.question.id, detokenized(example.question.text)),
        passages=tuple(whole(passage.id, detokenized(passage.text)) for passage in example.passages),
    )


def _from_lines(path: Path) -> Iterator[Example]:
    for number, (place, record) in enumerate(json_records(path, _Record), start=1):
        labels = [binary(candidate.label, place) for candidate in record.candidates]
        texts = [candidate.sentence for candidate in record.candidates]
        yield candidates(f"trecqa-{number}", record.question, texts, labels)


_OPENING = re.compile(r"<QApairs id='([^']*)'>")
_BLOCK = re.compile(r"<(question|positive|negative)>")


def _from_jacana(path: Path) -> Iterator[Example]:
    """Blocks of lines; of each block the first line counts, words between tabs (the others are its analysis).

    It only looks like XML: the text has bare `&` and tags such as `<num>`.
    """
    ids = Ids()
    lines = ((place, line.strip()) for place, line in text_lines(path))
    for place, line in lines:
        match = _OPENING.fullmatch(line)
        if match is None:
            raise place.fault(f"expected <QApairs id='...'>, not {line[:80]!r}")
        yield _jacana_question(ids.distinct(match[1]), lines, place)


def _jacana_question(id: str, lines: Iterator[tuple[RecordPlace, str]], begin: RecordPlace) -> Example:
    question: str | None = None
    texts: list[str] = []
    labels: list[bool] = []
    for place, line in lines:
        if line == "</QApairs>":
            if question is None:
                raise begin.fault(f"QApairs {id!r}: expected a <question>")
            return candidates(id, question, texts, labels)
        block = _BLOCK.fullmatch(line)
        if block is None:
            raise place.fault(f"expected <question>, <positive>, <negative> or </QApairs>, not {line[:80]!r}")
        text = _first_line(lines, block[1], place)
        if block[1] == "question":
            question = text
        else:
            texts.append(text)
            labels.append(block[1] == "positive")
    raise begin.fault(f"QApairs {id!r}: expected </QApairs> before the file ends")


def _first_line(lines: Iterator[tuple[RecordPlace, str]], block: str, begin: RecordPlace) -> str:
    first: str | None = None
    for _, line in lines:
        if line == f"</{block}>":
            if first is None:
                raise begin.fault(f"<{block}>: expected a line of words")
            return " ".join(first.split())
        first = line if first is None else first
    raise begin.fault(f"<{block}>: expected </{block}> before the file ends")
