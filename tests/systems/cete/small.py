"""Questions about things in colours with candidate answers, and vectors of a few numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy

from systems.colours import tokenizer
from wherefrom.systems.cete.material import Candidates, PairsBuilder, word_columns, write_pairs
from wherefrom.train.word_vectors import Glove, Pieces

GLOVE = Glove(["red", "blue", "lamp"], numpy.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]], numpy.float32))
_THINGS = ("house", "boat", "tree", "lamp")
_COLOURS = ("red", "blue", "green", "grey")


def pieces() -> Pieces:
    made = tokenizer()
    table = numpy.random.default_rng(3).normal(size=(made.get_vocab_size(), 4)).astype(numpy.float32)
    return Pieces(made, table)


def builder() -> PairsBuilder:
    return PairsBuilder(tokenizer())


def candidates(number: int) -> Candidates:
    """What colour a thing is: one candidate names it, the others are about other things."""
    thing, colour = _THINGS[number % 4], _COLOURS[number // 4 % 4]
    texts = [f"The {other} is {colour if other == thing else 'grey'} here." for other in _THINGS]
    return Candidates(f"q{number}", f"what {thing} is there?", texts, [other == thing for other in _THINGS])


def write_material(path: Path, questions: int = 8) -> Path:
    """Questions of two sources, the same to learn from and to be measured on."""
    made = builder()
    for valid in (False, True):
        for number in range(questions):
            made.add("wikiqa" if number % 2 else "trecqa", valid, candidates(number))
    write_pairs(path, made, word_columns(made.selecting(), GLOVE, pieces(), 100))
    return path


def write_data(folder: Path) -> Path:
    """TREC-QA, WikiQA and SQuAD in their published files, two questions a part."""
    head = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    for name in ("trecqa", "wikiqa", "squad"):
        (folder / name).mkdir(parents=True)
    for split, trec in (("train", "train-all"), ("dev", "dev")):
        asked = [candidates(number) for number in (0, 5)]
        lines = [
            {
                "question": each.question,
                "candidates": [
                    {"sentence": text, "label": int(label)} for text, label in zip(each.texts, each.labels, strict=True)
                ],
            }
            for each in asked
        ]
        (folder / "trecqa" / f"{trec}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        rows = [
            f"{each.id}\t{each.question}\tD{each.id}\tSea\tD{each.id}-{place}\t{text}\t{int(label)}\n"
            for each in asked
            for place, (text, label) in enumerate(zip(each.texts, each.labels, strict=True))
        ]
        (folder / "wikiqa" / f"WikiQA-{split}.tsv").write_text(head + "".join(rows))
    for split in ("train", "valid"):
        context = "The lamp is red. The boat stands there. The tree grows here."
        questions = [
            {"id": f"{split}{place}", "question": f"what {word} is there?", "answers": [_answer(context, word)]}
            for place, word in enumerate(("red", "there"))
        ]
        article = {"title": "Sea", "paragraphs": [{"context": context, "qas": questions}]}
        (folder / "squad" / f"{split}-v1.1.json").write_text(json.dumps({"version": "1.1", "data": [article]}))
    return folder


def _answer(context: str, word: str) -> dict[str, object]:
    return {"text": word, "answer_start": context.index(word)}
