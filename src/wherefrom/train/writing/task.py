"""Training to write: questions over several passages, answered in one or more styles.

Material comes from `corpus`, microbatches from `sampling`. A subclass says how its network reads a microbatch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy
import torch
from torch import Tensor

from wherefrom.evaluate.validation_answers import ValidationAnswer, token_scores
from wherefrom.networks.decoding import DecodingSettings, write
from wherefrom.networks.writer import Memory, PassageNetwork, QuestionPassages, WordpieceSettings
from wherefrom.origin import file_hash
from wherefrom.train.batching import LazyBatches, moved
from wherefrom.train.material import Numbers, evenly_spread
from wherefrom.train.task import TaskFacts
from wherefrom.train.writing.batches import WriterBatch, WriterBatchSettings, decoder_targets
from wherefrom.train.writing.material import WritingMaterial
from wherefrom.train.writing.sampling import WriterSampler
from wherefrom.write.marks import Marks, WrittenStyle

MaterialTexts = Mapping[str, Tensor]  # the material's, on a device
Writes = TypeVar("Writes", bound=PassageNetwork)


@dataclass(frozen=True, slots=True)
class PassageTaskSettings:
    """What a network sees in training, and what it is measured on meanwhile."""

    batch: WriterBatchSettings = field(default_factory=WriterBatchSettings)
    valid_passages: int = 10  # a question has in validation; with fewer, guesses from the answers would choose them
    valid_short: int = 320
    valid_sentences: int = 320
    valid_narrative: int = 0
    longest: int = 48  # tokens written at most in validation


def word_settings(marks: Marks, words: int = 30_522) -> WordpieceSettings:
    """The network's view of the marks."""
    return WordpieceSettings(
        words=words,
        padding=marks.padding,
        unknown=marks.unknown,
        classify=marks.classify,
        end=marks.end,
        styles={"short": marks.short, "sentence": marks.sentence, "narrative": marks.narrative},
    )


class PassageTask(Generic[Writes]):
    """Trains what `build` makes; `about`: what that is built of, `data`: files it learns from beside the material."""

    def __init__(
        self,
        name: str,
        material: WritingMaterial,
        settings: PassageTaskSettings,
        build: Callable[[], Writes],
        about: Mapping[str, Any],
        data: Mapping[str, Path] | None = None,
    ) -> None:
        self.name, self.material, self.settings = name, material, settings
        self._build, self._about, self._data = build, about, dict(data or {})
        self.sampler = WriterSampler(material, settings.batch)
        self.valid_sampler = WriterSampler(material, replace(settings.batch, passages=settings.valid_passages))

    def reading(self, texts: MaterialTexts, batch: WriterBatch) -> QuestionPassages:
        """What the network reads, question by question."""
        raise NotImplementedError

    def rows(self, model: Writes, memory: Memory, texts: MaterialTexts, batch: WriterBatch, given: Tensor) -> Memory:  # noqa: ARG002
        """The memory of each answer to be written; `given`: (rows,), those that are given their short answer."""
        return memory.rows(batch.row)

    # What the loop asks for.

    def facts(self) -> TaskFacts:
        files = {self.material.path.name: self.material.path, **self._data}
        settings = {**asdict(self.settings), "network": self._about}
        return TaskFacts(self.name, {name: file_hash(path) for name, path in files.items()}, settings)

    def model(self) -> Writes:
        return self._build()

    def batches(self, epoch: int, seed: int) -> LazyBatches[Any]:
        return self.sampler.batches(epoch, seed)

    def size(self, batch: Any) -> int:
        return len(batch.example)

    def loss(self, model: Writes, batch: Any) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        texts = self.material.on(batch.example.device)
        memory = model.encode(self.reading(texts, batch))
        parts: dict[str, Tensor] = {}
        if model.writes and len(batch.row):
            wanted = decoder_targets(texts, batch, self.settings.batch)
            rows = self.rows(model, memory, texts, batch, self.given(batch))
            parts["generation"] = model.written_loss(rows, wanted.targets, wanted.mask, batch.style, wanted.mask[:, 0])
        # Other datasets say nothing of relevance.
        parts |= model.judging_losses(memory, batch.relevant(), batch.answerable, batch.labelled)
        return model.total(parts), {name: part.detach() for name, part in parts.items()}

    def given(self, batch: WriterBatch) -> Tensor:
        """Which answers are written with their short answer given: (rows,)."""
        return torch.zeros(len(batch.row), dtype=torch.bool, device=batch.row.device)

    def evaluate(self, model: Writes) -> Mapping[str, float]:
        """Scores in wordpieces on some of the validation examples: see `token_scores`."""
        settings = self.settings
        counts: dict[WrittenStyle, int] = {
            "short": settings.valid_short,
            "sentence": settings.valid_sentences if model.writes else 0,
            "narrative": settings.valid_narrative if model.writes else 0,
        }
        scores: dict[str, float] = {}
        for style, most in counts.items():
            if most:
                examples = self.validation_examples(style, most)
                scores |= token_scores(list(self.answers(model, examples, style, put_back=style == "sentence")), style)
        return scores

    # Validation.

    def validation_examples(self, style: WrittenStyle, most: int = 0) -> Numbers:
        """Validation examples that have an answer in this style, or so many of them, evenly spread.

        Short: all of the ten-passage set, the unanswerable too.
        """
        wanted = self.material["valid"] == 1
        wanted &= self.material.of("narrativeqa" if style == "narrative" else "ten-passages")
        if style == "sentence":
            wanted &= numpy.diff(self.material["sentences_until"]) > 0
        examples = numpy.flatnonzero(wanted).tolist()
        return numpy.array(evenly_spread(examples, most or len(examples)), numpy.int64)

    @torch.no_grad()
    def answers(
        self,
        model: Writes,
        examples: Sequence[int] | Numbers,
        style: WrittenStyle,
        request: str = "",
        put_back: bool = False,
        given: bool = False,
        decoding: DecodingSettings | None = None,
    ) -> Iterator[ValidationAnswer]:
        """What the network writes about these examples, whether it can answer them, and how it ranks their passages.

        Not in the order of the examples. `given`: with the gold short answer. `request`: the name of it all; without
        one, the style.
        """
        device = next(model.parameters()).device
        decoding = decoding or DecodingSettings(max_tokens=self.settings.longest, provenance=False)
        texts = self.material.on(device)
        for batch in self.valid_sampler.given(examples, style, put_back):
            here = moved(batch, device)
            memory = model.encode(self.reading(texts, here))
            tokens: dict[int, tuple[int, ...]] = {}
            if model.writes and len(here.row):
                shown = torch.full((len(here.row),), given, device=device)
                rows = self.rows(model, memory, texts, here, shown)
                written = write(model, rows.packed(), here.style, model.words, decoding)
                tokens = {int(row): answer.tokens for row, answer in zip(batch.row, written, strict=True)}
            targets = dict(zip(batch.row.tolist(), batch.target.tolist(), strict=True))
            score, chance = memory.ranking.score.float().cpu(), torch.sigmoid(memory.answerable.float()).cpu()
            relevant = batch.relevant()
            for place, example in enumerate(batch.example.tolist()):
                real = memory.real[place].cpu()
                yield ValidationAnswer(
                    example=example,
                    request=request or style,
                    tokens=tokens.get(place),
                    target=tuple(self.material.text("target", targets[place])) if place in targets else None,
                    answerable=bool(batch.answerable[place]),
                    chance=float(chance[place]),
                    scores=tuple(score[place][real].tolist()),
                    relevant=tuple(relevant[place][real].tolist()),
                )
