"""Questions with candidate answers as columns of numbers: OUT/pairs.safetensors.

pieces, pieces_until        wordpieces of every distinct text, one behind the other, and where each text ends
words, words_until          the same texts as words, by their vectors; nothing without GloVe
word_vectors                (words, 300); the last row is that of all words without one
spellings                   the words, a line each
pair_question, pair_text    text numbers of a pair; the pairs of a question follow each other
pair_label, pair_short      whether it answers; whether it has at most 40 words, as the published counts want
question_until              where each question's pairs end
question_source, question_valid   by `SOURCES`; whether it is of the dev part
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from wherefrom.data import semeval, squad, trecqa, wikiqa, yahoocqa
from wherefrom.data.examples import Example
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.features.tokens import tokens
from wherefrom.origin import file_hash
from wherefrom.systems.cete.settings import SOURCES, MaterialSettings, Source
from wherefrom.text import sentences
from wherefrom.train.stages import Facts
from wherefrom.train.word_vectors import Glove, Pieces

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Numbers = NDArray[Any]
Report = Callable[[int, int], None]

SHORT = 40  # words of a candidate that TREC-QA's published counts keep
_FOLDERS: dict[Source, str] = {
    "trecqa": "trecqa",
    "wikiqa": "wikiqa",
    "yahoocqa": "yahoocqa",
    "semeval15": "semeval",
    "semeval16": "semeval",
    "semeval17": "semeval",
    "squad": "squad",
}
_NEEDED: tuple[Source, ...] = ("trecqa", "wikiqa")  # the others are taken where they are there


@dataclass(frozen=True, slots=True)
class Candidates:
    """A question and its candidate answers."""

    id: str
    question: str
    texts: Sequence[str]
    labels: Sequence[bool]


def gather(data: Path, settings: MaterialSettings) -> Iterator[tuple[Source, bool, Candidates]]:
    """All questions that there are, each with its source and whether it is of the part to measure on."""
    for source in SOURCES:
        if source not in _NEEDED and not (data / _FOLDERS[source]).exists():
            continue
        if source == "squad":
            for valid, split in ((False, "train"), (True, "valid")):
                examples = list(squad.load(data / "squad", split))
                for example in evenly_spread(examples, settings.transfer_questions):
                    if made := of_sentences(example):
                        yield source, valid, made
            continue
        for valid, examples_of in _parts(source, data / _FOLDERS[source]):
            for example in examples_of:
                texts = [passage.text for passage in example.passages]
                if texts:
                    yield source, valid, Candidates(example.question.id, example.question.text, texts, example.relevant)


def _parts(source: Source, folder: Path) -> Iterator[tuple[bool, Iterable[Example]]]:
    """The training and the dev part; SemEval has none to train on."""
    if source == "trecqa":
        yield False, trecqa.load(folder, "train-all")
        yield True, trecqa.load(folder, "dev")
    elif source == "wikiqa":
        yield False, wikiqa.load(folder, "train")
        yield True, wikiqa.load(folder, "dev")
    elif source == "yahoocqa":
        yield False, yahoocqa.load(folder, "train")
        yield True, yahoocqa.load(folder, "dev")
    else:
        load = {"semeval15": semeval.load_2015, "semeval16": semeval.load_2016, "semeval17": semeval.load_2017}[source]
        yield True, load(folder, "valid")


def of_sentences(example: Example) -> Candidates | None:
    """A reading question over the sentences of its paragraph: right is the one that the answer stands in.

    Others that have the answer's words too are left out, as nobody knows whether they answer. None where the answer
    crosses a border, or where nothing but right sentences is left.
    """
    if not example.spans:
        return None
    gold = example.spans[0]
    passage = next(each for each in example.passages if each.id == gold.passage_id)
    texts: list[str] = []
    labels: list[bool] = []
    for start, end in sentences(passage.text):
        text = passage.text[start:end]
        right = start <= gold.start and gold.end <= end
        if right or gold.text.lower() not in text.lower():
            texts.append(text)
            labels.append(right)
    if not any(labels) or all(labels):
        return None
    return Candidates(example.question.id, example.question.text, texts, labels)


@dataclass(slots=True)
class PairsBuilder:
    """Collects questions; each distinct text is kept once."""

    tokenizer: Tokenizer
    texts: dict[str, int] = field(default_factory=dict)
    pair_question: list[int] = field(default_factory=list)
    pair_text: list[int] = field(default_factory=list)
    pair_label: list[bool] = field(default_factory=list)
    question_until: list[int] = field(default_factory=list)
    question_source: list[int] = field(default_factory=list)
    question_valid: list[bool] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)  # of dev questions alone: the scores name them
    _selecting: int = 0  # texts before the first of squad's

    def add(self, source: Source, valid: bool, candidates: Candidates) -> None:
        number = self._number(candidates.question)
        for text, label in zip(candidates.texts, candidates.labels, strict=True):
            self.pair_question.append(number)
            self.pair_text.append(self._number(text))
            self.pair_label.append(label)
        self.question_until.append(len(self.pair_text))
        self.question_source.append(SOURCES.index(source))
        self.question_valid.append(valid)
        self.ids.append(candidates.id if valid else "")
        if source != "squad":
            self._selecting = len(self.texts)

    def selecting(self) -> list[str]:
        """The texts up to the last of an answer selection: squad's, which come behind them, need no words."""
        return [*self.texts][: self._selecting]

    def _number(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def columns(self) -> dict[str, Numbers]:
        """All but the words' vectors."""
        texts = list(self.texts)
        short = numpy.array([len(text.split()) <= SHORT for text in texts], bool)
        pair_text = numpy.array(self.pair_text, numpy.int32)
        pieces = [encoding.ids for encoding in self.tokenizer.encode_batch(texts, add_special_tokens=False)]
        return {
            "pieces": _flat(pieces),
            "pieces_until": _ends(pieces),
            "pair_question": numpy.array(self.pair_question, numpy.int32),
            "pair_text": pair_text,
            "pair_label": numpy.array(self.pair_label, numpy.uint8),
            "pair_short": short[pair_text].astype(numpy.uint8) if texts else numpy.zeros(0, numpy.uint8),
            "question_until": numpy.array(self.question_until, numpy.int64),
            "question_source": numpy.array(self.question_source, numpy.uint8),
            "question_valid": numpy.array(self.question_valid, numpy.uint8),
        }


def word_columns(texts: Sequence[str], glove: Glove, pieces: Pieces, most: int) -> dict[str, Numbers]:
    """The texts as words, and a vector for each of the `most` frequent: GloVe's beside the mean of its wordpieces'."""
    cut = [[text[start:end].lower() for start, end in tokens(text)] for text in texts]
    counts = Counter(word for text in cut for word in text)
    kept = sorted(counts, key=lambda word: (-counts[word], word))[:most]
    numbers = {word: number for number, word in enumerate(kept)}
    known = {word: number for number, word in enumerate(glove.words)}
    table = numpy.zeros((len(kept) + 1, glove.vectors.shape[1] + pieces.vectors.shape[1]), numpy.float32)
    wide = glove.vectors.shape[1]
    for word, number in numbers.items():
        if word in known:
            table[number, :wide] = glove.vectors[known[word]]
        if own := pieces.of(word):
            table[number, wide:] = pieces.vectors[own].mean(0)
    rows = [[numbers.get(word, len(kept)) for word in text] for text in cut]  # all of them below 65,536
    return {
        "words": _flat(rows),
        "words_until": _ends(rows),
        "word_vectors": table.astype(numpy.float16),
        "spellings": numpy.frombuffer("\n".join(kept).encode(), numpy.uint8).copy(),
    }


def write_pairs(path: Path, builder: PairsBuilder, more: dict[str, Numbers]) -> Facts:
    """The file, and what it counts."""
    from safetensors.numpy import save_file

    columns = {**builder.columns(), **more}
    about = {"sources": list(SOURCES), "ids": builder.ids}
    save_file(columns, path, metadata={"about": json.dumps(about)})
    sources = numpy.repeat(columns["question_source"], numpy.diff(columns["question_until"], prepend=0))
    valid = numpy.repeat(columns["question_valid"], numpy.diff(columns["question_until"], prepend=0))
    counts: dict[str, Any] = {"texts": len(builder.texts)}
    for number, source in enumerate(SOURCES):
        for part, is_valid in (("train", 0), ("dev", 1)):
            questions = (columns["question_source"] == number) & (columns["question_valid"] == is_valid)
            if questions.any():
                pairs = (sources == number) & (valid == is_valid)
                right = int(columns["pair_label"][pairs].sum())
                counts[f"{source} {part}"] = {
                    "questions": int(questions.sum()),
                    "pairs": int(pairs.sum()),
                    "right": right,
                }
    return counts


def data_hashes(data: Path) -> dict[str, str]:
    """Of the files that material is made of."""
    folders = sorted({data / _FOLDERS[source] for source in SOURCES if (data / _FOLDERS[source]).is_dir()})
    files = [file for folder in folders for file in sorted(folder.iterdir()) if file.is_file()]
    return {f"{file.parent.name}/{file.name}": file_hash(file) for file in files}


def _flat(rows: Sequence[Sequence[int]]) -> Numbers:
    return numpy.fromiter((number for row in rows for number in row), numpy.uint16, sum(map(len, rows)))


def _ends(rows: Sequence[Sequence[int]]) -> Numbers:
    return numpy.cumsum([len(row) for row in rows], dtype=numpy.int64)
