"""Questions with the passage that answers each, and passages that a search finds for it and that do not.

From SQuAD (as asked, and some as people type them), half of NQ-oracle, questions over manuals, and headings of
Wikipedia with what stands under them. All passages are cut as a library cuts them, with their headings above them.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor

from wherefrom.config import IndexSettings, IngestSettings, SplitSettings
from wherefrom.data import manuals, nqopen, squad
from wherefrom.data.examples import Example
from wherefrom.data.opening import split_file
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.systems.embedder.held_out import is_held_out
from wherefrom.systems.embedder.pairs import SOURCES
from wherefrom.train.progress import paced
from wherefrom.train.typed import keywords, misspelt
from wherefrom.types import Passage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from wherefrom.systems.embedder.system import CollectSettings

_SEED = 20
_SEARCHED = 40  # passages that a search gives, from which the negatives are taken
_FIRST = 2  # of them that are passed over for headings: they may stand under the same one
_MOST_TOKENS = 256
_MOST_QUESTION = 64
# A heading stands in a line of its own, with a full stop behind it; what is beneath it is a good deal longer.
_SECTION = re.compile(r"\n(?P<heading>[A-Z][^.\n]{2,60})\.\n+(?P<text>[^\n]{200,})")
_WIKIPEDIA = "wikipedia/*.txt.xz"

Report = Callable[[str], None]


@dataclass(slots=True)
class _Collected:
    """Passages by their text, and questions by the numbers of passages."""

    passages: dict[str, int] = field(default_factory=dict)
    questions: list[str] = field(default_factory=list)
    gold: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    valid: list[int] = field(default_factory=list)
    answers: list[tuple[str, ...]] = field(default_factory=list)
    given: list[list[int]] = field(default_factory=list)  # negatives that are known already

    def passage(self, text: str, heading: str) -> int:
        return self.passages.setdefault(f"{heading}\n{text}" if heading else text, len(self.passages))

    def add(
        self, source: str, question: str, gold: int, valid: bool, answers: Sequence[str] = (), given: Sequence[int] = ()
    ) -> None:
        self.questions.append(question)
        self.gold.append(gold)
        self.source.append(SOURCES.index(source))
        self.valid.append(int(valid))
        self.answers.append(tuple(answers))
        self.given.append(list(given))


def data_files(data: Path) -> list[Path]:
    """Every file that is read; one that is missing shows before the work begins."""
    return [
        *(split_file(data / "squad", split, squad.FILES) for split in ("train", "valid")),
        split_file(data / "nq_oracle", "train", nqopen.FILES),
        *sorted(data.glob(_WIKIPEDIA)),
    ]


def prepare(
    data: Path, over_manuals: Path | None, tokenizer: Tokenizer, settings: CollectSettings, out: Path, say: Report
) -> dict[str, int]:
    """Write all of it as tokens, and how many there are of each source."""
    chance = random.Random(_SEED)
    collected = _Collected()
    say("squad, nq")
    _add_squad(collected, data, settings, chance)
    for example in nqopen.load(data / "nq_oracle", "train"):
        (passage,) = example.passages
        gold = collected.passage(passage.text, passage.title)
        collected.add("nq", example.question.text, gold, is_held_out(example.question.id), example.answers)
    if over_manuals is not None:
        say("manuals")
        _add_manuals(collected, manuals.load(over_manuals))
    say("wikipedia")
    _add_wikipedia(collected, data, settings)
    negatives = _negatives(collected, settings, paced("pairs: searched", say))
    tensors = {
        **_columns("passage", _encoded(tokenizer, list(collected.passages), _MOST_TOKENS)),
        **_columns("question", _encoded(tokenizer, collected.questions, _MOST_QUESTION)),
        "gold": torch.tensor(collected.gold, dtype=torch.int32),
        "source": torch.tensor(collected.source, dtype=torch.int8),
        "valid": torch.tensor(collected.valid, dtype=torch.int8),
        "negatives": torch.from_numpy(negatives),
    }
    counts = {
        "passages": len(collected.passages),
        **{name: collected.source.count(number) for number, name in enumerate(SOURCES)},
    }
    save_file(tensors, out, {name: str(count) for name, count in counts.items()})
    return counts


def _add_squad(collected: _Collected, data: Path, settings: CollectSettings, chance: random.Random) -> None:
    for split in ("train", "valid"):
        examples = list(squad.load(data / "squad", split))
        if split == "valid":
            for example in examples:
                _pieces(collected, example.passages[0])  # all of them are searched
            examples = evenly_spread(examples, settings.squad_valid)
        for example in examples:
            pieces = _pieces(collected, example.passages[0])
            span = example.spans[0]
            gold = next((number for start, end, number in pieces if start <= span.start and span.end <= end), None)
            if gold is None:
                continue  # cut in two
            collected.add("squad", example.question.text, gold, split == "valid", example.answers)
            if split == "train" and chance.random() < settings.typed:
                text = example.question.text
                typed = keywords(text) if chance.random() < 0.5 else misspelt(text, chance)
                collected.add("typed", typed, gold, False, example.answers)


def _pieces(collected: _Collected, passage: Passage) -> list[tuple[int, int, int]]:
    """The passages that a library would cut a paragraph into, with their places in it."""
    from wherefrom.ingest.split import split

    return [
        (start, end, collected.passage(passage.text[start:end], passage.title.replace("_", " ")))
        for start, end in split(passage.text, SplitSettings())
    ]


def _add_manuals(collected: _Collected, examples: Iterable[Example]) -> None:
    for example in examples:
        first, *others = (collected.passage(each.text, _heading(each)) for each in example.passages)
        if example.answerable:
            answers = [span.text for span in example.spans]
            collected.add("manuals", example.question.text, first, manuals.is_held_out(example), answers, others)


def _heading(passage: Passage) -> str:
    return f"{passage.title}: {passage.section}" if passage.section and passage.title else passage.title


def _add_wikipedia(collected: _Collected, data: Path, settings: CollectSettings) -> None:
    """What stands first under each heading, evenly spread over all articles; and passages of none."""
    beneath: list[tuple[str, str, str]] = []  # heading, title, text
    others: list[tuple[str, str]] = []
    for number, (title, text) in enumerate(_articles(data, settings.files)):
        from wherefrom.ingest.split import split

        for match in _SECTION.finditer(text):
            start, end = split(match["text"], SplitSettings())[0]
            beneath.append((match["heading"], title, match["text"][start:end]))
        for place, (start, end) in enumerate(split(text, SplitSettings())):
            if (number + place) % 8 == 0:
                others.append((title, text[start:end]))
    for heading, title, text in evenly_spread(beneath, settings.headings):
        gold = collected.passage(text, title)  # without its heading, which would give it away
        collected.add("headings", f"{title} {heading}".lower(), gold, False)
    for heading, text in evenly_spread(others, settings.distractors):
        collected.passage(text, heading)


def _articles(data: Path, files: int) -> Iterator[tuple[str, str]]:
    from wherefrom.ingest.formats import read
    from wherefrom.ingest.outcome import Record

    for file in evenly_spread(sorted(data.glob(_WIKIPEDIA)), files):
        for outcome in read(file, IngestSettings()):
            if isinstance(outcome, Record):
                yield outcome.title, outcome.text


def _negatives(
    collected: _Collected, settings: CollectSettings, report: Callable[[int, int], None]
) -> NDArray[numpy.int32]:
    """For each question passages that BM25 finds and that do not hold its answer; -1 where there are too few."""
    from wherefrom.retrieve.bm25 import BM25Index

    texts = list(collected.passages)
    small = [text.lower() for text in texts]
    rows = numpy.full((len(collected.questions), settings.negatives), -1, numpy.int32)
    if not settings.negatives:
        return rows
    with tempfile.TemporaryDirectory() as folder:
        index = BM25Index(Path(folder) / "bm25", IndexSettings())
        index.create()
        for begin in range(0, len(texts), 20_000):
            index.put(range(begin, min(begin + 20_000, len(texts))), texts[begin : begin + 20_000])
        index.commit()
        for number, question in enumerate(collected.questions):
            if number % 500 == 0:
                report(number, len(rows))
            gold, answers = collected.gold[number], [answer.lower() for answer in collected.answers[number]]
            (hits,) = index.search([question], _SEARCHED)
            after = 0 if answers else _FIRST
            hard = [
                key for key, _ in hits[after:] if key != gold and not any(answer in small[key] for answer in answers)
            ]
            chosen = list(dict.fromkeys([*collected.given[number], *hard]))[: settings.negatives]
            rows[number, : len(chosen)] = chosen
        index.close()
    return rows


def _encoded(tokenizer: Tokenizer, texts: Sequence[str], most: int) -> list[list[int]]:
    rows: list[list[int]] = []
    for begin in range(0, len(texts), 4096):
        batch = tokenizer.encode_batch(list(texts[begin : begin + 4096]), add_special_tokens=False)
        rows += [each.ids[:most] for each in batch]
    return rows


def _columns(name: str, tokens: Sequence[Sequence[int]]) -> dict[str, Tensor]:
    starts = numpy.cumsum([0, *(len(each) for each in tokens)])
    joined = numpy.fromiter((token for each in tokens for token in each), numpy.int16, int(starts[-1]))  # 30,522 fit
    return {f"{name}_tokens": torch.from_numpy(joined), f"{name}_starts": torch.from_numpy(starts)}
