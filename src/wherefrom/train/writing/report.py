"""How well the writer's targets can be copied: what a pointer-generator can hope for.

python -m wherefrom.train.writing.report MATERIAL.safetensors REPORT.json
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from safetensors.numpy import load_file

from wherefrom.metrics.tokens import rouge_tokens
from wherefrom.train.writing.corpus import SOURCES, texts_beside

LONG = (40, 64)  # pieces

Numbers = NDArray[Any]


def alignment(material: Mapping[str, Numbers], texts: Path) -> dict[str, Any]:
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
            "ten-passages": _answers(material, SOURCES.index("ten-passages")),
            "narrativeqa": _answers(material, SOURCES.index("narrativeqa")),
        },
        "sentences with their short answer": _containing(material, texts),
        "lengths": {
            "short": _lengths(material, "answer", _reference_answers(material, SOURCES.index("ten-passages"))),
            "narrative": _lengths(material, "answer", _reference_answers(material, SOURCES.index("narrativeqa"))),
            "sentence": _lengths(material, "sentence", numpy.arange(len(material["sentence_valid"]))),
        },
        "passages with weak labels": _weak(material),
    }


def main(arguments: list[str]) -> None:
    path, out = Path(arguments[0]), Path(arguments[1])
    found = alignment(load_file(path), texts_beside(path))
    out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    for name, part in found.items():
        print(f"\n{name}")
        for line in _lines(part):
            print(line)


def _counts(material: Mapping[str, Numbers]) -> dict[str, dict[str, int]]:
    """Examples, and targets by style, of each source."""
    found = {}
    sentences = numpy.diff(material["sentences_until"])
    for number, source in enumerate(SOURCES):
        for split, valid in (("train", 0), ("valid", 1)):
            mine = (material["source"] == number) & (material["valid"] == valid)
            held = numpy.repeat(mine, sentences) & (material["sentence_valid"] == 1)
            if mine.any():
                found[f"{source}, {split}"] = {
                    "examples": int(mine.sum()),
                    "answerable as given": int(material["answerable"][mine].sum()),
                    "gold passage known": int((material["gold"][mine] >= 0).sum()),
                    "short or narrative": int((material["references"][mine] > 0).sum()),
                    "with sentences": int((sentences[mine] > 0).sum()),
                    "sentences": int(sentences[mine].sum()),
                    "sentences held out": int(held.sum()),
                    "left out by NLG_aug(-)": int(material["descriptive"][mine].sum()),
                }
    return found


def _triples(material: Mapping[str, Numbers], held: bool, passage: bool) -> Numbers:
    known = material["gold"][material["triple_example"]] >= 0
    return numpy.flatnonzero(
        (material["sentence_valid"][material["triple_sentence"]] == int(held)) & (known == passage)
    )


def _sentences(material: Mapping[str, Numbers], triples: Numbers) -> dict[str, float]:
    """Shares of the sentences' pieces by where they could be copied from."""
    found: Counter[str] = Counter()
    text = _reader(material)
    for triple in triples.tolist():
        example, answer = int(material["triple_example"][triple]), int(material["triple_answer"][triple])
        gold = int(material["gold"][example])
        asked = set(text("question", int(material["question"][example])))
        told = set(text("passage", gold)) if gold >= 0 else set()
        begin, end = material["answer_context"][answer].tolist()
        near = set(text("passage", gold)[begin:end]) if gold >= 0 else set()
        said = set(text("answer", answer))
        sentence = text("sentence", int(material["triple_sentence"][triple]))
        found["pieces"] += len(sentence)
        found["sentences"] += 1
        for piece in sentence:
            found["from the question"] += piece in asked
            found["from the gold passage"] += piece in told
            found["from the sentences around the answer"] += piece in near
            found["from the short answer"] += piece in said
            found["from the gold passage alone"] += piece in told and piece not in asked
            found["from the vocabulary alone"] += not (piece in asked or piece in told or piece in said)
        found["whole sentences that can be copied"] += all(p in asked or p in told or p in said for p in sentence)
        found["but for their last piece"] += all(p in asked or p in told or p in said for p in sentence[:-1])
    per_sentence = ("whole sentences that can be copied", "but for their last piece")
    shares = {
        name: count / max(1, found["sentences" if name in per_sentence else "pieces"])
        for name, count in found.items()
        if name not in ("pieces", "sentences")
    }
    return {"sentences": found["sentences"], "pieces": found["pieces"], **_rounded(shares)}


def _answers(material: Mapping[str, Numbers], source: int) -> dict[str, float]:
    """Shares of the short answers' pieces by where they could be copied from."""
    found: Counter[str] = Counter()
    text = _reader(material)
    for example in numpy.flatnonzero(material["source"] == source).tolist():
        asked = set(text("question", int(material["question"][example])))
        gold = int(material["gold"][example])
        given = [gold] if gold >= 0 else [number for number in material["passages"][example].tolist() if number >= 0]
        told = {piece for number in given for piece in text("passage", number)}
        first = int(material["answers_until"][example])
        for answer in range(first, first + int(material["references"][example])):
            pieces = text("answer", answer)
            found["answers"] += 1
            found["pieces"] += len(pieces)
            found["spans of the gold passage"] += material["answer_span"][answer][0] >= 0
            found["from the passages"] += sum(piece in told for piece in pieces)
            found["from the question alone"] += sum(piece in asked and piece not in told for piece in pieces)
            found["from the vocabulary alone"] += sum(piece not in told and piece not in asked for piece in pieces)
    shares = {
        name: found[name] / max(1, found["pieces"])
        for name in ("from the passages", "from the question alone", "from the vocabulary alone")
    }
    shares["spans of the gold passage"] = found["spans of the gold passage"] / max(1, found["answers"])
    return {"answers": found["answers"], "pieces": found["pieces"], **_rounded(shares)}


def _containing(material: Mapping[str, Numbers], texts: Path) -> dict[str, dict[str, float]]:
    """How many sentences hold the short answer they were joined with: word for word, and by stems."""
    counts: dict[str, Counter[str]] = {}
    lines = _texts(texts)
    example, line = next(lines, (-1, {}))
    for triple in range(len(material["triple_example"])):
        while example < int(material["triple_example"][triple]):
            example, line = next(lines)
        answer = line["answers"][int(material["triple_answer"][triple]) - int(material["answers_until"][example])]
        place = int(material["triple_sentence"][triple]) - int(material["sentences_until"][example])
        found = counts.setdefault(line["source"], Counter())
        found["sentences"] += 1
        plain, stems = (
            [rouge_tokens(text, kind) for text in (line["sentences"][place], answer)] for kind in (None, "porter")
        )
        found["word for word"] += _runs(*plain)
        found["by stems"] += _runs(*stems)
        found["all stems, anywhere"] += set(stems[1]) <= set(stems[0])
    return {
        source: {
            "sentences": found["sentences"],
            **_rounded(
                {
                    name: found[name] / found["sentences"]
                    for name in ("word for word", "by stems", "all stems, anywhere")
                }
            ),
        }
        for source, found in counts.items()
    }


def _runs(sentence: tuple[str, ...], answer: tuple[str, ...]) -> bool:
    """Whether the answer's words stand in the sentence, one behind the other."""
    return any(sentence[at : at + len(answer)] == answer for at in range(len(sentence) - len(answer) + 1))


def _lengths(material: Mapping[str, Numbers], name: str, chosen: Numbers) -> dict[str, float]:
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


def _reference_answers(material: Mapping[str, Numbers], source: int) -> Numbers:
    example = numpy.repeat(numpy.arange(len(material["source"])), numpy.diff(material["answers_until"]))
    place = numpy.arange(len(example)) - material["answers_until"][example]
    return numpy.flatnonzero((material["source"][example] == source) & (place < material["references"][example]))


def _weak(material: Mapping[str, Numbers]) -> dict[str, float]:
    mine = material["source"] == SOURCES.index("narrativeqa")
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


def _reader(material: Mapping[str, Numbers]) -> Callable[[str, int], list[int]]:
    def text(name: str, number: int) -> list[int]:
        starts = material[f"{name}_starts"]
        found: list[int] = material[f"{name}_tokens"][starts[number] : starts[number + 1]].tolist()
        return found

    return text


def _texts(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield record["example"], record


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: round(float(share), 4) for name, share in shares.items()}


def _lines(part: Mapping[str, Any], indent: int = 2) -> Iterator[str]:
    for name, value in part.items():
        if isinstance(value, Mapping):
            yield f"{' ' * indent}{name}"
            yield from _lines(value, indent + 2)
        else:
            yield f"{' ' * indent}{name}: {value}"


if __name__ == "__main__":
    main(sys.argv[1:])
