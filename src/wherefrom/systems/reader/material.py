"""Training material for the reader: questions, passages and answers as tokens, in one file of tensors.

Made once, from SQuAD, the ten-passage set, Quoref, NQ with oracle passages and WikiQA; training then needs neither
the datasets nor a tokenizer. Nothing of the validation articles is in the training part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherefrom.data import manuals, nqopen, qa2d, quoref, squad, wikiqa
from wherefrom.data.examples import Example, whole
from wherefrom.data.locating import occurrences
from wherefrom.data.opening import split_file
from wherefrom.evaluate.ten_passages import passage_of, rows_of, wikipedia_files, wikipedia_titles
from wherefrom.origin import file_hash
from wherefrom.runtime.reader import MOST_TITLE, heading
from wherefrom.systems.reader.more import add_more, more_files
from wherefrom.train.material import MOST_PASSAGE_TOKENS, SOURCES
from wherefrom.train.pretrained import unbounded
from wherefrom.types import Passage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MOST_GOLDS = 8  # places of an answer that is found more than once


@dataclass
class _Texts:
    """Distinct texts as tokens, one behind the other."""

    tokens: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    known: dict[str, int] = field(default_factory=dict)

    def add(self, key: str, tokens: Sequence[int]) -> int:
        if key not in self.known:
            self.known[key] = len(self.starts) - 1
            self.tokens += tokens
            self.starts.append(len(self.tokens))
        return self.known[key]


@dataclass
class _Rows:
    """Examples as columns of numbers."""

    question: list[int] = field(default_factory=list)
    gold: list[int] = field(default_factory=list)  # passage, or -1 where nothing answers
    valid: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)  # first and last token of the answer
    spans_until: list[int] = field(default_factory=lambda: [0])
    others: list[int] = field(default_factory=list)  # passages that do not answer
    others_until: list[int] = field(default_factory=lambda: [0])
    truth: list[int] = field(default_factory=list)  # 1 for yes, 0 for no, -1 where neither is asked for


class MaterialBuilder:
    """Collects examples and writes them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._questions, self._titles, self._passages = _Texts(), _Texts(), _Texts()
        self._passage_titles: list[int] = []
        self._offsets: dict[int, list[tuple[int, int]]] = {}
        self._rows = _Rows()
        self.left_out = 0

    def add(
        self,
        source: str,
        question: str,
        gold: Passage | None,
        answers: Iterable[tuple[int, int]],
        others: Iterable[Passage],
        valid: bool,
        truth: bool | None = None,
    ) -> None:
        """One question; `answers` are characters of the gold passage. One that no token span holds is left out.

        A question that asks for yes or no has a `truth` and no span; so may one that is only held out to be judged.
        """
        spans: list[tuple[int, int]] = []
        passage = -1
        if gold is not None:
            answers = list(answers)
            tokens, offsets, shift = self._cut(gold, answers)
            spans = [span for a, b in answers if (span := _tokens_of(offsets, a, b)) is not None][:MOST_GOLDS]
            if not spans and truth is None and not (valid and not answers):
                self.left_out += 1
                return
            passage = self._passage(f"{gold.id} {shift}", heading(gold), tokens)
        rows = self._rows
        rows.question.append(self._questions.add(question, self._encoded(question)))
        rows.gold.append(passage)
        rows.valid.append(int(valid))
        rows.source.append(SOURCES.index(source))
        rows.truth.append(-1 if truth is None else int(truth))
        rows.spans += spans
        rows.spans_until.append(len(rows.spans))
        for other in others:
            known = self._passages.known.get(f"{other.id} 0")
            if known is None:  # most passages are retrieved for many questions
                known = self._passage(f"{other.id} 0", heading(other), self._encoded(other.text)[:MOST_PASSAGE_TOKENS])
            rows.others.append(known)
        rows.others_until.append(len(rows.others))

    def write(self, path: Path, facts: dict[str, str]) -> dict[str, int]:
        """One safetensors file; `facts` go into its header."""
        import numpy
        from safetensors.numpy import save_file

        rows = self._rows
        tensors: dict[str, numpy.ndarray[Any, Any]] = {
            "question": numpy.array(rows.question, numpy.int32),
            "gold": numpy.array(rows.gold, numpy.int32),
            "valid": numpy.array(rows.valid, numpy.uint8),
            "source": numpy.array(rows.source, numpy.uint8),
            "truth": numpy.array(rows.truth, numpy.int8),
            "spans": numpy.array(rows.spans or [(0, 0)], numpy.int16),
            "spans_until": numpy.array(rows.spans_until, numpy.int32),
            "others": numpy.array(rows.others, numpy.int32),
            "others_until": numpy.array(rows.others_until, numpy.int32),
            "passage_title": numpy.array(self._passage_titles, numpy.int32),
        }
        for name, texts in (("question", self._questions), ("title", self._titles), ("passage", self._passages)):
            tensors[f"{name}_tokens"] = numpy.array(texts.tokens, numpy.int16)  # wordpiece ids stay below 32,768
            tensors[f"{name}_starts"] = numpy.array(texts.starts, numpy.int32)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, path, {"about": json.dumps(facts)})  # one entry: several are written in no fixed order
        return {"examples": len(rows.question), "passages": len(self._passage_titles), "left out": self.left_out}

    def _encoded(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _passage(self, key: str, title: str, tokens: Sequence[int]) -> int:
        before = len(self._passages.starts)
        number = self._passages.add(key, tokens)
        if len(self._passages.starts) > before:
            self._passage_titles.append(self._titles.add(title, self._encoded(title)[:MOST_TITLE]))
        return number

    def _cut(self, gold: Passage, answers: Sequence[tuple[int, int]]) -> tuple[list[int], list[tuple[int, int]], int]:
        """The gold passage's tokens with their characters; a long one is cut so that its first answer stays in."""
        encoding = self._tokenizer.encode(gold.text, add_special_tokens=False)
        begin = 0
        if len(encoding.ids) > MOST_PASSAGE_TOKENS and answers:
            first = _tokens_of(encoding.offsets, *answers[0])
            if first is not None:
                begin = max(0, min(first[0] - MOST_PASSAGE_TOKENS // 2, len(encoding.ids) - MOST_PASSAGE_TOKENS))
        stop = begin + MOST_PASSAGE_TOKENS
        return encoding.ids[begin:stop], encoding.offsets[begin:stop], begin


def data_files(data: Path, more: bool = False) -> list[Path]:
    """Every file that the reader is made of; one that is missing shows before the work begins."""
    files = [split_file(data / "squad", split, squad.FILES) for split in ("train", "valid")]
    files += [split_file(data / "qa2d", split, qa2d.FILES) for split in ("train", "valid")]
    files.append(split_file(data / "more_reading", "train", quoref.FILES))
    files.append(split_file(data / "nq_oracle", "train", nqopen.FILES))
    files.append(split_file(data / "wikiqa", "train", wikiqa.FILES))
    return [*files, *wikipedia_files(data), *(more_files(data) if more else ())]


def _tokens_of(offsets: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int] | None:
    """First and last token that overlap the characters from start to end."""
    touched = [number for number, (a, b) in enumerate(offsets) if a < end and b > start]
    return (touched[0], touched[-1]) if touched else None


def prepare(
    data: Path,
    ten_passages: Path,
    tokenizer_file: Path,
    out: Path,
    report: Callable[[str], None] = lambda _: None,
    more: bool = False,
    wordnet: Path | None = None,
) -> dict[str, int]:
    """Write the reader's material: `data` is the folder of datasets, `ten_passages` what `wherefrom data` built.

    With `more` come near misses, other people's questions, yes and no; `wordnet` is the folder of WordNet's files.
    """
    from tokenizers import Tokenizer

    tokenizer = unbounded(Tokenizer.from_file(str(tokenizer_file)))
    material = MaterialBuilder(tokenizer)
    titles = dict(wikipedia_titles(data))
    for split in ("valid", "train"):
        report(f"squad and ten-passages, {split}")
        rows = {row["source_id"]: row for row in rows_of(ten_passages / f"{split}.jsonl.gz")}
        for example in squad.load(data / "squad", split):
            _add_squad(material, example, rows[example.question.id], titles, split == "valid")
    report("quoref, nq, wikiqa")
    for source, examples in (
        ("quoref", quoref.load(data / "more_reading")),
        ("nq", nqopen.load(data / "nq_oracle", "train")),
    ):
        for example in examples:
            _add_located(material, source, example)
    for example in wikiqa.load(data / "wikiqa", "train"):
        if not any(example.relevant):
            others = [whole(passage.id, passage.text, passage.title) for passage in example.passages[:10]]
            material.add("wikiqa", example.question.text, None, (), others, valid=False)
    if more:
        add_more(material, data, wordnet, report)
    facts = {
        "tokenizer_sha256": file_hash(tokenizer_file),
        "ten_passages": (ten_passages / "ten-passages.json").read_text(encoding="utf-8"),
    }
    return material.write(out, facts)


def prepare_manuals(
    file: Path, tokenizer_file: Path, out: Path, report: Callable[[str], None] = lambda _: None
) -> dict[str, int]:
    """Write material of questions over manuals; a fifth of the documents is held out, for the judge to be fitted on."""
    from tokenizers import Tokenizer

    material = MaterialBuilder(unbounded(Tokenizer.from_file(str(tokenizer_file))))
    report(str(file))
    for example in manuals.load(file):
        first, *others = example.passages
        valid = manuals.is_held_out(example)
        if not example.answerable:
            material.add("manuals", example.question.text, None, (), (first,), valid)
            continue
        truth = None if example.spans else example.answers[0] == "yes"
        places = [(span.start, span.end) for span in example.spans]
        material.add("manuals", example.question.text, first, places, others, valid, truth)
    return material.write(out, {"tokenizer_sha256": file_hash(tokenizer_file), "manuals": file_hash(file)})


def _add_squad(
    material: MaterialBuilder, example: Example, row: dict[str, Any], titles: dict[str, str], valid: bool
) -> None:
    """The question over its whole paragraph, and over the ten retrieved passages, gold among them or not."""
    ten = [passage_of(passage, titles) for passage in row["passages"]]
    right = [bool(passage["is_selected"]) for passage in row["passages"]]
    others = [passage for passage, gold in zip(ten, right, strict=True) if not gold]
    paragraph = example.passages[0]
    material.add("squad", example.question.text, paragraph, _places(example, paragraph), others, valid)
    gold = next((passage for passage, selected in zip(ten, right, strict=True) if selected), None)
    if gold is None:
        material.add("ten-passages", example.question.text, None, (), others, valid)
    else:
        material.add("ten-passages", example.question.text, gold, _occurrences(example, gold), others, valid)


def _places(example: Example, paragraph: Passage) -> list[tuple[int, int]]:
    """The answer's characters; every occurrence where the dataset only knows the wording."""
    spans = [(span.start, span.end) for span in example.spans]
    if all(span.sure for span in example.spans):
        return spans
    return _occurrences(example, paragraph) or spans


def _occurrences(example: Example, passage: Passage) -> list[tuple[int, int]]:
    return [(span.start, span.end) for answer in example.answers for span in occurrences(answer, passage)]


def _add_located(material: MaterialBuilder, source: str, example: Example) -> None:
    for passage, right in zip(example.passages, example.relevant, strict=True):
        if right and (places := _occurrences(example, passage)):
            material.add(source, example.question.text, passage, places, (), valid=False)
