"""The trainings of Masque, PREAST-QA and PREAST-QA's style transfer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from wherefrom.errors import WherefromError
from wherefrom.evaluate.validation_answers import ValidationAnswer, token_scores
from wherefrom.networks.decoding import DecodingSettings, write
from wherefrom.networks.writer import Memory, QuestionPassages, TokenSequences
from wherefrom.origin import file_hash
from wherefrom.systems.masque.network import MasqueNetwork, MasqueSettings
from wherefrom.systems.masque.style_transfer import StyleTransferNetwork, StyleTransferSettings, Triple, start_from
from wherefrom.train.batching import LazyBatches, moved
from wherefrom.train.task import TaskFacts
from wherefrom.train.writing.batches import (
    DecoderTargets,
    PaddedTexts,
    WriterBatch,
    WriterBatchSettings,
    decoder_targets,
    separate,
)
from wherefrom.train.writing.material import WritingMaterial, shuffled
from wherefrom.train.writing.start import start_encoder
from wherefrom.train.writing.task import MaterialTexts, PassageTask, PassageTaskSettings
from wherefrom.train.writing.transfer_batches import TransferBatch, TransferSampler, transferred

MOST = 1445  # questions of each kind that validation asks: as many as have a sentence


class MasqueTask(PassageTask[MasqueNetwork]):
    """Trains a `MasqueNetwork`; `start`: published weights of its encoder, whose words become its word vectors."""

    def __init__(
        self,
        material: WritingMaterial,
        network: MasqueSettings,
        settings: PassageTaskSettings,
        common: Sequence[int] = (),
        start: Path | None = None,
        data: Mapping[str, Path] | None = None,
    ) -> None:
        def build() -> MasqueNetwork:
            made = MasqueNetwork(network, torch.tensor(list(common)) if network.vocabulary else None)
            if start is not None:
                made.reader.load_vectors(word_vectors(start, network.embedding))
                if made.reader.pretrained is not None:
                    start_encoder(made.reader.pretrained, start)
            return made

        super().__init__("masque", material, settings, build, asdict(network), data)
        self.network = network

    def reading(self, texts: MaterialTexts, batch: WriterBatch) -> QuestionPassages:
        apart = separate(texts, batch, self.settings.batch)
        mask = apart.passages.mask & apart.real[..., None]
        return QuestionPassages(
            apart.question.tokens,
            apart.question.mask,
            TokenSequences(apart.passages.tokens, mask, apart.copyable),
            relevant=batch.relevant() if self.network.ranker == "gold" else None,
        )

    def validation_answers(self, model: MasqueNetwork) -> Iterator[ValidationAnswer]:
        """All that validation asks for."""
        questions = self.validation_examples("short", MOST)
        yield from self.answers(model, questions, "short")
        if self.network.classifier == "linear":  # whose decision may depend on the order of the passages
            probe = MasqueTask(shuffled(self.material), self.network, self.settings)
            nothing = DecodingSettings(max_tokens=1, provenance=False)
            yield from probe.answers(model, questions, "short", "shuffled", decoding=nothing)
        if not model.writes:
            return
        questions = self.validation_examples("sentence", MOST)
        yield from self.answers(model, questions, "sentence", put_back=True)
        # The same questions answered shortly, to compare the styles
        yield from self.answers(model, questions, "short", "short of sentence", put_back=True)
        if self.settings.valid_narrative:
            questions = self.validation_examples("narrative", MOST)
            yield from self.answers(model, questions, "narrative")
            # In the style of the other questions, as Masque (NLG) answers stories
            yield from self.answers(model, questions, "sentence", "narrative in sentences")


@dataclass(frozen=True, slots=True)
class StyleTransferTaskSettings:
    """What style transfer sees, and what it is measured on meanwhile."""

    batch: WriterBatchSettings = field(default_factory=lambda: WriterBatchSettings(tokens=16_384))
    reverse: float = 0.0  # share of the examples turned around: the sentence is read, the short answer written
    valid_sentences: int = 320
    longest: int = 48


class StyleTransferTask:
    """Trains a `StyleTransferNetwork`: question, short answer and passage meet, a sentence comes out.

    It starts from a trained Masque (`masque`), or from the word vectors of a published encoder (`start`).
    """

    def __init__(
        self,
        material: WritingMaterial,
        network: StyleTransferSettings,
        settings: StyleTransferTaskSettings,
        masque: Path | None = None,
        start: Path | None = None,
    ) -> None:
        self.settings, self.material, self.network = settings, material, network
        self._masque, self._start = masque, start
        self.transfer = TransferSampler(material, settings.batch)

    def facts(self) -> TaskFacts:
        files = {self.material.path.name: self.material.path} | ({"masque": self._masque} if self._masque else {})
        settings = {**asdict(self.settings), "network": asdict(self.network)}
        return TaskFacts("style transfer", {name: file_hash(path) for name, path in files.items()}, settings)

    def model(self) -> StyleTransferNetwork:
        network = StyleTransferNetwork(self.network)
        if self._masque is not None:
            start_from(network, load_file(self._masque))
        elif self._start is not None:
            with torch.no_grad():
                network.reader.word.weight.copy_(word_vectors(self._start, self.network.embedding))
        return network

    def batches(self, epoch: int, seed: int) -> LazyBatches[TransferBatch]:
        return self.transfer.batches(epoch, seed)

    def size(self, batch: TransferBatch) -> int:
        return len(batch.example)

    def loss(self, model: StyleTransferNetwork, batch: TransferBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        triple, wanted, style = self._directed(batch, self._reversed())
        loss = model.loss(triple, wanted.targets, wanted.mask, style)
        return loss, {"transfer" if style is batch.style else "reverse": loss.detach()}

    def evaluate(self, model: StyleTransferNetwork) -> Mapping[str, float]:
        scores = token_scores(list(self.answers(model, self.settings.valid_sentences)), "given")
        if self.settings.reverse:
            turned = self.answers(model, self.settings.valid_sentences, turned=True)
            scores |= token_scores(list(turned), "reverse")
        return scores

    @torch.no_grad()
    def answers(self, model: StyleTransferNetwork, most: int = 0, turned: bool = False) -> Iterator[ValidationAnswer]:
        """The sentences of validation as the network writes them; `turned`: the short answers of the sentences."""
        device = next(model.parameters()).device
        decoding = DecodingSettings(max_tokens=self.settings.longest, provenance=False)
        for batch in self.transfer.valid(most):
            triple, wanted, style = self._directed(moved(batch, device), turned)
            written = write(model, model.encode(triple).packed(), style, self.network.words, decoding)
            lengths = wanted.mask.sum(1).tolist()
            for example, answer, target, length in zip(
                batch.example.tolist(), written, wanted.targets.tolist(), lengths, strict=True
            ):
                request = "reverse" if turned else "given"
                yield ValidationAnswer(example, request, answer.tokens, tuple(target[: length - 1]), True, 1.0)

    def validation_answers(self, model: StyleTransferNetwork) -> Iterator[ValidationAnswer]:
        """All that validation asks for."""
        yield from self.answers(model)
        if self.settings.reverse:
            yield from self.answers(model, turned=True)

    def transfer_memory(self, model: StyleTransferNetwork, batch: TransferBatch) -> Memory:
        return model.encode(self._triple(batch))

    def _reversed(self) -> bool:
        return bool(self.settings.reverse) and float(torch.rand(())) < self.settings.reverse

    def _directed(self, batch: TransferBatch, turned: bool) -> tuple[Triple, DecoderTargets, Tensor]:
        """What is read and what is written, short to sentence or the other way around, and the token of its style."""
        triple = self._triple(batch)
        wanted = decoder_targets(self.material.on(batch.example.device), batch, self.settings.batch)
        if not turned:
            return triple, wanted, batch.style
        marks = self.settings.batch.marks
        sentence_mask = wanted.mask & (wanted.targets != marks.end)
        count = triple.answer_mask.sum(1, keepdim=True)
        tokens = torch.nn.functional.pad(triple.answer, (0, 1), value=marks.padding)
        place = torch.arange(tokens.shape[1], device=tokens.device)[None, :]
        targets = torch.where(place == count, marks.end, torch.where(place < count, tokens, marks.padding))
        style = torch.full_like(batch.style, marks.short)
        inputs = torch.cat([style[:, None], targets[:, :-1]], dim=1)
        sentence = wanted.targets.where(sentence_mask, marks.padding)
        turned_triple = triple._replace(answer=sentence, answer_mask=sentence_mask)
        return turned_triple, DecoderTargets(inputs, targets, place <= count), style

    def _triple(self, batch: TransferBatch) -> Triple:
        three = transferred(self.material.on(batch.example.device), batch, self.settings.batch)
        context = _somewhere(three.context)
        return Triple(
            three.question.tokens,
            three.question.mask,
            three.answer.tokens,
            three.answer.mask,
            context.tokens,
            context.mask,
        )


def word_vectors(weights: Path, width: int) -> Tensor:
    """The word embeddings of published weights in so many directions, those of most variance, of about GloVe's size."""
    saved = load_file(weights)
    for name in ("embeddings.word_embeddings.weight", "encoder.word.weight"):
        if name in saved:
            return _principal(saved[name].float(), width)
    raise WherefromError(f"{weights} holds no word embeddings")


def _principal(table: Tensor, width: int) -> Tensor:
    centred = table - table.mean(0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    components: Tensor = centred @ directions[:width].T
    return components * (0.4 / components.std())


def _somewhere(context: PaddedTexts) -> PaddedTexts:
    """Attention needs a place to look at: where there is no passage, a padding token stands in."""
    first = torch.arange(context.mask.shape[1], device=context.mask.device) == 0
    return PaddedTexts(context.tokens, context.mask | (first & ~context.mask.any(dim=1, keepdim=True)))
