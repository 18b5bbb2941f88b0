"""How well what is to be written can be copied: what a pointer-generator can hope for."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy

from wherefrom.metrics.tokens import rouge_tokens
from wherefrom.train.material import Numbers
from wherefrom.train.writing.material import WritingMaterial
from wherefrom.train.writing.sources import SOURCES

LONG = (40, 64)  # pieces


def alignment(material: WritingMaterial, texts: Path) -> dict[str, Any]:
    """Counts and shares, by what they are of; all of it JSON."""
    return {
        "examples": _counts(material),
        "sentences": {
            name: _sentences(material, chosen)
            for name, chosen in (
                ("train, with passage", _triples(material, held=False, passage=True)),
                ("train, without passage", _triples(material, held=False, passage=False)),
                ("valid, with passage", _triples(material, held=True, passage=True)),
                ("valid, without passage", _triples(material, held=True, passage=False)),
            )
        },
        "short answers": {
            "ten-passages": _answers(material, "ten-passages"),
            "narrativeqa": _answers(material, "narrativeqa"),
        },
        "sentences with their short answer": _containing(material, texts),
        "lengths": {
            "short": _lengths(material, "answer", _reference_answers(material, "ten-passages")),
            "narrative": _lengths(material, "answer", _reference_answers(material, "narrativeqa")),
            "sentence": _lengths(material, "sentence", numpy.arange(len(material["sentence_valid"]))),
        },
        "passages with weak labels": _weak(material),
    }


def _counts(material: WritingMaterial) -> dict[str, dict[str, int]]:
    """Examples, and targets by style, of each source."""
    counts = {}
    sentences = numpy.diff(material["sentences_until"])
    for source in SOURCES:
        for split, valid in (("train", 0), ("valid", 1)):
            mine = material.of(source) & (material["valid"] == valid)
            held = numpy.repeat(mine, sentences) & (material["sentence_valid"] == 1)
            if mine.any():
                counts[f"{source}, {split}"] = {
                    "examples": int(mine.sum()),
                    "answerable as given": int(material["answerable"][mine].sum()),
                    "gold passage known": int((material["gold"][mine] >= 0).sum()),
                    "short or narrative": int((material["references"][mine] > 0).sum()),
                    "with sentences": int((sentences[mine] > 0).sum()),
                    "sentences": int(sentences[mine].sum()),
                    "sentences held out": int(held.sum()),
                    "left out by NLG_aug(-)": int(material["descriptive"][mine].sum()),
                }
    return counts


def _triples(material: WritingMaterial, held: bool, passage: bool) -> Numbers:
    known = material["gold"][material["triple_example"]] >= 0
    return numpy.flatnonzero(
        (material["sentence_valid"][material["triple_sentence"]] == int(held)) & (known == passage)
    )


def _sentences(material: WritingMaterial, triples: Numbers) -> dict[str, float]:
    """Shares of the sentences' pieces by where they could be copied from."""
    counts: Counter[str] = Counter()
    text = material.text
    for triple in triples.tolist():
        example, answer = int(material["triple_example"][triple]), int(material["triple_answer"][triple])
        gold = int(material["gold"][example])
        question = set(text("question", int(material["question"][example])))
        passage = set(text("passage", gold)) if gold >= 0 else set()
        begin, end = material["answer_context"][answer].tolist()
        near = set(text("passage", gold)[begin:end]) if gold >= 0 else set()
        short = set(text("answer", answer))
        sentence = text("sentence", int(material["triple_sentence"][triple]))
        counts["pieces"] += len(sentence)
        counts["sentences"] += 1
        anywhere = question | passage | short
        for piece in sentence:
            counts["from the question"] += piece in question
            counts["from the gold passage"] += piece in passage
            counts["from the sentences around the answer"] += piece in near
            counts["from the short answer"] += piece in short
            counts["from the gold passage alone"] += piece in passage and piece not in question
            counts["from the vocabulary alone"] += piece not in anywhere
        counts["whole sentences that can be copied"] += anywhere.issuperset(sentence)
        counts["but for their last piece"] += anywhere.issuperset(sentence[:-1])
    per_sentence = ("whole sentences that can be copied", "but for their last piece")
    shares = {
        name: count / max(1, counts["sentences" if name in per_sentence else "pieces"])
        for name, count in counts.items()
        if name not in ("pieces", "sentences")
    }
    return {"sentences": counts["sentences"], "pieces": counts["pieces"], **_rounded(shares)}


def _answers(material: WritingMaterial, source: str) -> dict[str, float]:
    """Shares of the short answers' pieces by where they could be copied from."""
    counts: Counter[str] = Counter()
    text = material.text
    for example in numpy.flatnonzero(material.of(source)).tolist():
        question = set(text("question", int(material["question"][example])))
        gold = int(material["gold"][example])
        given = [gold] if gold >= 0 else [number for number in material["passages"][example].tolist() if number >= 0]
        passage = {piece for number in given for piece in text("passage", number)}
        first = int(material["answers_until"][example])
        for answer in range(first, first + int(material["references"][example])):
            pieces = text("answer", answer)
            counts["answers"] += 1
            counts["pieces"] += len(pieces)
            counts["spans of the gold passage"] += material["answer_span"][answer][0] >= 0
            counts["from the passages"] += sum(piece in passage for piece in pieces)
            counts["from the question alone"] += sum(piece in question and piece not in passage for piece in pieces)
            counts["from the vocabulary alone"] += sum(piece not in passage | question for piece in pieces)
    shares = {
        name: counts[name] / max(1, counts["pieces"])
        for name in ("from the passages", "from the question alone", "from the vocabulary alone")
    }
    shares["spans of the gold passage"] = counts["spans of the gold passage"] / max(1, counts["answers"])
    return {"answers": counts["answers"], "pieces": counts["pieces"], **_rounded(shares)}


def _containing(material: WritingMaterial, texts: Path) -> dict[str, dict[str, float]]:
    """How many sentences hold the short answer they were joined with: word for word, and by stems."""
    by_source: dict[str, Counter[str]] = {}
    lines = _texts(texts)
    example, line = next(lines, (-1, {}))
    for triple in range(len(material["triple_example"])):
        while example < int(material["triple_example"][triple]):
            example, line = next(lines)
        answer = line["answers"][int(material["triple_answer"][triple]) - int(material["answers_until"][example])]
        place = int(material["triple_sentence"][triple]) - int(material["sentences_until"][example])
        counts = by_source.setdefault(line["source"], Counter())
        counts["sentences"] += 1
        plain, stems = (
            [rouge_tokens(text, kind) for text in (line["sentences"][place], answer)] for kind in (None, "porter")
        )
        counts["word for word"] += _runs(*plain)
        counts["by stems"] += _runs(*stems)
        counts["all stems, anywhere"] += set(stems[1]) <= set(stems[0])
    return {
        source: {
            "sentences": counts["sentences"],
            **_rounded(
                {
                    name: counts[name] / counts["sentences"]
                    for name in ("word for word", "by stems", "all stems, anywhere")
                }
            ),
        }
        for source, counts in by_source.items()
    }


def _runs(sentence: tuple[str, ...], answer: tuple[str, ...]) -> bool:
    """Whether the answer's words stand in the sentence, one behind the other."""
    return any(sentence[at : at + len(answer)] == answer for at in range(len(sentence) - len(answer) + 1))


def _lengths(material: WritingMaterial, name: str, chosen: Numbers) -> dict[str, float]:
    lengths = numpy.diff(material[f"{name}_starts"])[chosen]
    if not len(lengths):
        return {"targets": 0}
    shares = {f"longer than {most} pieces": float((lengths > most).mean()) for most in LONG}
    return {
        "targets": len(lengths),
        "mean": round(float(lengths.mean()), 2),
        "longest": int(lengths.max()),
        **{f"quantile {share}": float(numpy.quantile(lengths, share)) for share in (0.5, 0.9, 0.99)},
        **_rounded(shares),
    }


def _reference_answers(material: WritingMaterial, source: str) -> Numbers:
    example = numpy.repeat(numpy.arange(len(material["source"])), numpy.diff(material["answers_until"]))
    place = numpy.arange(len(example)) - material["answers_until"][example]
    return numpy.flatnonzero(material.of(source)[example] & (place < material["references"][example]))


def _weak(material: WritingMaterial) -> dict[str, float]:
    mine = material.of("narrativeqa")
    marked = material["weak"][mine].sum(1)
    given = (material["passages"][mine] >= 0).sum(1)
    shares = {
        "questions with a marked passage": float((marked > 0).mean()) if mine.any() else 0.0,
        "passages marked": float(marked.sum() / max(1, given.sum())),
    }
    return {
        "questions": int(mine.sum()),
        "passages a question": round(float(given.mean()), 2) if mine.any() else 0.0,
        **_rounded(shares),
    }


def _texts(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield record["example"], record


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: round(float(share), 4) for name, share in shares.items()}
