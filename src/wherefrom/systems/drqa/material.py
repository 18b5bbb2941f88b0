"""Training material for DrQA's reader: questions and passages as words, with tags and vectors, in one file of tensors.

Made once, from SQuAD and, if wanted, from questions whose passages were retrieved (`distant`); training then needs
neither the datasets nor a tagger. Words are numbered: 0 is none, 1 and on those that training questions use most, then
all others, the commonest first.

    passage_tokens, question_tokens   forms as written, text behind text; *_starts says where each text begins
    form_word, word_stem              the word in small letters of a form, the stem of a word
    passage_pos, passage_ner, passage_count   of every token: its tags, how often its word stands in the passage
    question, passage, valid, spans, spans_until   the examples: numbers of texts, first and last tokens of answers
    glove, pieces, word_pieces, word_pieces_until   what vectors are made of
    words, silent                     the words themselves as text; which of them do not count when answers are compared
"""

from __future__ import annotations

import json
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from safetensors.numpy import save_file

from wherefrom.data import squad
from wherefrom.data.examples import Example
from wherefrom.data.locating import occurrences
from wherefrom.errors import WherefromError
from wherefrom.features import tags
from wherefrom.features.forms import forms, stems
from wherefrom.features.tokens import tokens
from wherefrom.text import Span
from wherefrom.train.spacy_tags import Tagging
from wherefrom.train.word_vectors import Glove, Pieces
from wherefrom.types import Passage

# The tags in the order of the material: none, then spaCy's. White space is never a token of ours.
POS = ("", *(name for name in tags.POS if name != "SPACE"))
NER = ("", *sorted(name for name in tags.NER if name != "O"))
MOST_GOLDS = 8  # places of an answer that is found more than once
ARTICLES = frozenset(("a", "an", "the"))

Numbers = NDArray[Any]


@dataclass
class _Numbering:
    """Texts by number, in the order they come."""

    known: dict[str, int] = field(default_factory=lambda: {"": 0})

    def __call__(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known))


@dataclass
class _Texts:
    """Distinct texts as forms, one behind the other."""

    tokens: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    known: dict[str, int] = field(default_factory=dict)

    def add(self, text: str, forms_of: Callable[[], list[int]]) -> int:
        if text not in self.known:
            self.known[text] = len(self.known)
            self.tokens += forms_of()
            self.starts.append(len(self.tokens))
        return self.known[text]


class DrQAMaterial:
    """Collects examples and writes them."""

    def __init__(self) -> None:
        self._forms = _Numbering()
        self._questions, self._passages = _Texts(), _Texts()
        self._question: list[int] = []
        self._passage: list[int] = []
        self._valid: list[int] = []
        self._heeded: list[bool] = []  # whether its words count for which words come first
        self._spans: list[Span] = []
        self._until: list[int] = [0]
        self.left_out = 0

    def add(self, question: str, passage: Passage, answers: Sequence[Span], valid: bool, heeded: bool = True) -> None:
        """One question over one passage; `answers` are characters. Without an answer that touches a token: left out.

        Only words of `heeded` training questions are counted: which ones training tunes does not hang on the others.
        """
        places = tokens(passage.text)
        spans = list(dict.fromkeys(span for a, b in answers if (span := _touched(places, a, b))))[:MOST_GOLDS]
        words = tokens(question)
        if not spans or not words:
            self.left_out += 1
            return
        self._question.append(self._questions.add(question, lambda: self._numbers(question, words)))
        self._passage.append(self._passages.add(passage.text, lambda: self._numbers(passage.text, places)))
        self._valid.append(int(valid))
        self._heeded.append(heeded and not valid)
        self._spans += spans
        self._until.append(len(self._spans))

    def write(
        self, path: Path, tagging: Tagging, glove: Glove, pieces: Pieces, facts: Mapping[str, Any], also: int = 0
    ) -> dict[str, int]:
        """One safetensors file; `facts` go into its header. `also` so many of GloVe's commonest words are known."""
        written = list(self._forms.known)
        words = self._words(written, glove.words[:also])
        number = {word: place for place, word in enumerate(words)}
        stem_numbers = _Numbering()
        pos, ner = self._tags(tagging)
        piece_ids = [pieces.of(word) for word in words]
        tensors: dict[str, Numbers] = {
            "form_word": numpy.array([number[form.lower()] for form in written], numpy.int32),
            "word_stem": numpy.array([stem_numbers(stem) for stem in stems(words)], numpy.int32),
            "passage_pos": pos,
            "passage_ner": ner,
            "question": numpy.array(self._question, numpy.int32),
            "passage": numpy.array(self._passage, numpy.int32),
            "valid": numpy.array(self._valid, numpy.uint8),
            "spans": numpy.array(self._spans or [(0, 0)], numpy.int16),
            "spans_until": numpy.array(self._until, numpy.int32),
            "glove": _vectors(words, glove),
            "pieces": pieces.vectors.astype(numpy.float16),
            "word_pieces": numpy.array([piece for ids in piece_ids for piece in ids], numpy.int32),
            "word_pieces_until": numpy.cumsum([0, *map(len, piece_ids)], dtype=numpy.int32),
            "words": numpy.frombuffer("\n".join(words).encode(), numpy.uint8),
            "silent": numpy.array([_silent(word) for word in words], numpy.uint8),
        }
        for name, texts in (("question", self._questions), ("passage", self._passages)):
            tensors[f"{name}_tokens"] = numpy.array(texts.tokens, numpy.int32)
            tensors[f"{name}_starts"] = numpy.array(texts.starts, numpy.int32)
        tensors["passage_count"] = _counts(
            tensors["form_word"][tensors["passage_tokens"]], tensors["passage_starts"].tolist()
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {**facts, "pos": POS, "ner": NER}
        save_file(tensors, path, {"about": json.dumps(about)})  # one entry: several are written in no fixed order
        return {
            "examples": len(self._question),
            "passages": len(self._passages.known),
            "words": len(words),
            "words with a GloVe vector": int(numpy.any(tensors["glove"] != 0, 1).sum()),
            "left out": self.left_out,
        }

    def _numbers(self, text: str, places: Sequence[Span]) -> list[int]:
        return [self._forms(form.written) for form in forms(text, places)]

    def _words(self, written: Sequence[str], also: Sequence[str]) -> list[str]:
        """None, words of training questions by how many of them use them, then the others; equal counts by name."""
        in_questions = self._seen(self._questions, self._question, written)
        in_passages = self._seen(self._passages, self._passage, written)
        first = sorted(in_questions, key=lambda word: (-in_questions[word], word))
        rest = {form.lower() for form in written} | {word for word in also if "\n" not in word}
        rest -= {"", *first}
        return ["", *first, *sorted(rest, key=lambda word: (-in_passages[word], word))]

    def _seen(self, texts: _Texts, used: Sequence[int], written: Sequence[str]) -> Counter[str]:
        """How often words stand in the distinct texts of training examples."""
        seen: Counter[str] = Counter()
        wanted = {text for text, heeded in zip(used, self._heeded, strict=True) if heeded}
        for text in wanted:
            seen.update(written[form].lower() for form in texts.tokens[texts.starts[text] : texts.starts[text + 1]])
        return seen

    def _tags(self, tagging: Tagging) -> tuple[Numbers, Numbers]:
        pos, ner = (numpy.zeros(len(self._passages.tokens), numpy.uint8) for _ in range(2))
        pos_number, ner_number = ({name: place for place, name in enumerate(names)} for names in (POS, NER))
        at = 0
        for text, (parts, entities) in zip(self._passages.known, tagging(self._passages.known), strict=True):
            count = len(tokens(text))
            if not len(parts) == len(entities) == count:
                raise WherefromError(f"the tagger gave {len(parts)} tags for {count} tokens of {text[:60]!r}")
            pos[at : at + count] = [pos_number.get(name, 0) for name in parts]
            ner[at : at + count] = [ner_number.get(name, 0) for name in entities]
            at += count
        return pos, ner


def prepare(
    path: Path,
    data: Path,
    tagging: Tagging,
    glove: Glove,
    pieces: Pieces,
    facts: Mapping[str, Any],
    more: Iterable[Example] = (),
    asked_about: Iterable[Example] = (),
    also: int = 50_000,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, int]:
    """Write the material: SQuAD's training and validation parts, `more` examples for training alone.

    `asked_about` are such too, made from SQuAD's: the words that come first are those that they would be without them.
    """
    material = DrQAMaterial()
    for split in ("valid", "train"):
        report(f"squad, {split}")
        for example in squad.load(data / "squad", split):
            passage = example.passages[0]
            material.add(example.question.text, passage, places(example, passage), valid=split == "valid")
    for heeded, examples in ((True, more), (False, asked_about)):
        for example in examples:
            for passage in example.passages:
                material.add(example.question.text, passage, places(example, passage), valid=False, heeded=heeded)
    report("tags and vectors")
    return material.write(path, tagging, glove, pieces, facts, also)


def places(example: Example, passage: Passage) -> list[Span]:
    """The answers' characters in a passage; every occurrence where the dataset only knows the wording."""
    spans = [(span.start, span.end) for span in example.spans if span.passage_id == passage.id]
    if spans and all(span.sure for span in example.spans):
        return spans
    occurring = [(span.start, span.end) for answer in example.answers for span in occurrences(answer, passage)]
    return occurring or spans


def _touched(places: Sequence[Span], start: int, end: int) -> Span | None:
    """First and last token that overlap the characters from start to end."""
    touched = [number for number, (a, b) in enumerate(places) if a < end and b > start]
    return (touched[0], touched[-1]) if touched else None


def _vectors(words: Sequence[str], glove: Glove) -> Numbers:
    """(words, width) fp16; zeros where GloVe does not know a word."""
    number = {word: place for place, word in enumerate(glove.words)}
    vectors = numpy.zeros((len(words), glove.vectors.shape[1]), numpy.float16)
    for place, word in enumerate(words):
        if word in number:
            vectors[place] = glove.vectors[number[word]]
    return vectors


def _counts(words: Numbers, starts: Sequence[int]) -> Numbers:
    """For every token of the passages how often its word stands in its passage; 255 at most."""
    counts = numpy.zeros(len(words), numpy.uint8)
    for begin, end in pairwise(starts):
        _, inverse, times = numpy.unique(words[begin:end], return_inverse=True, return_counts=True)
        counts[begin:end] = numpy.minimum(times, 255)[inverse]
    return counts


def _silent(word: str) -> bool:
    """Articles and ASCII signs: what SQuAD's comparison of answers takes out."""
    return word in ARTICLES or all(letter in string.punctuation for letter in word)
