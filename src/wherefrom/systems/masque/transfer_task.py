"""PREAST-QA's own style transfer: question, short answer and passage meet in dual attention; a sentence comes out.

The other way, one network for everything, is a joint writer with a source for answers: see `writer`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from wherefrom.evaluate.token_scores import Said, token_scores
from wherefrom.networks.decoding import DecodingSettings, write
from wherefrom.networks.masque import MasqueNetwork, MasqueSettings
from wherefrom.networks.writer import Memory
from wherefrom.origin import file_hash
from wherefrom.systems.masque.style_transfer import StyleTransferNetwork, StyleTransferSettings, Triple, start_from
from wherefrom.train.batching import LazyBatches, moved
from wherefrom.train.task import TaskFacts
from wherefrom.train.writing.batches import Decoded, Texts, WriterBatchSettings, decoded
from wherefrom.train.writing.material import Material
from wherefrom.train.writing.transfer_batches import TransferBatch, TransferSampler, transferred


@dataclass(frozen=True, slots=True)
class StyleTransferTaskSettings:
    """What style transfer sees, and what it is measured on meanwhile."""

    batch: WriterBatchSettings = field(default_factory=lambda: WriterBatchSettings(tokens=16_384))
    reverse: float = 0.0  # share of the examples turned around: the sentence is read, the short answer written
    valid_sentences: int = 320
    longest: int = 48


class StyleTransferTask:
    """Trains a `StyleTransferNetwork`; `masque`: weights and settings of a trained Masque to start from."""

    def __init__(
        self,
        material: Material,
        network: StyleTransferSettings,
        settings: StyleTransferTaskSettings | None = None,
        masque: tuple[Path, MasqueSettings] | None = None,
        vectors: Tensor | None = None,
    ) -> None:
        self.settings = settings or StyleTransferTaskSettings()
        self.material = material
        self.network = network
        self._masque = masque
        self._vectors = vectors
        self.transfer = TransferSampler(material, self.settings.batch)

    def facts(self) -> TaskFacts:
        data = {self.material.path.name: file_hash(self.material.path)}
        settings = asdict(self.settings)
        settings["batch"]["shares"] = {str(source): share for source, share in self.settings.batch.shares.items()}
        start = {"from_masque": file_hash(self._masque[0])} if self._masque else {}
        return TaskFacts("style transfer", {**data, **start}, {**settings, "network": asdict(self.network)})

    def model(self) -> StyleTransferNetwork:
        network = StyleTransferNetwork(self.network)
        if self._vectors is not None:
            with torch.no_grad():
                network.reader.word.weight.copy_(self._vectors)
        if self._masque is not None:
            weights, settings = self._masque
            masque = MasqueNetwork(settings)
            masque.load_state_dict({name: tensor.float() for name, tensor in load_file(weights).items()}, strict=False)
            start_from(network, masque)
        return network

    def batches(self, epoch: int, seed: int) -> LazyBatches[TransferBatch]:
        return self.transfer.batches(epoch, seed)

    def size(self, batch: TransferBatch) -> int:
        return len(batch.example)

    def loss(self, model: StyleTransferNetwork, batch: TransferBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        material = self.material.on(batch.example.device)
        said = decoded(material, batch, self.settings.batch)
        triple = self._triple(material, batch)
        if self.settings.reverse and float(torch.rand(())) < self.settings.reverse:
            triple, said, style = self._turned(triple, said, batch)
            loss = model.loss(triple, said.targets, said.mask, style)
            return loss, {"reverse": loss.detach()}
        loss = model.loss(triple, said.targets, said.mask, batch.style)
        return loss, {"transfer": loss.detach()}

    def evaluate(self, model: StyleTransferNetwork) -> Mapping[str, float]:
        found = token_scores(list(self.say(model, self.settings.valid_sentences)), "told")
        if self.settings.reverse:
            found |= token_scores(list(self.say(model, self.settings.valid_sentences, turned=True)), "reverse")
        return found

    @torch.no_grad()
    def say(self, model: StyleTransferNetwork, most: int = 0, turned: bool = False) -> Iterator[Said]:
        """The sentences of validation as the network writes them; `turned`: the short answers of the sentences."""
        device = next(model.parameters()).device
        material = self.material.on(device)
        decoding = DecodingSettings(max_tokens=self.settings.longest, provenance=False)
        for ready in self.transfer.valid(most):
            batch = moved(ready, device)
            triple, style = self._triple(material, batch), batch.style
            said = decoded(material, batch, self.settings.batch)
            if turned:
                triple, said, style = self._turned(triple, said, batch)
            memory: Memory = model.encode(triple)
            for example, answer, target, mask in zip(
                batch.example.tolist(),
                write(model, memory.packed(), style, self.network.words, decoding),
                said.targets.tolist(),
                said.mask.sum(1).tolist(),
                strict=True,
            ):
                yield Said(
                    example,
                    "short" if turned else "sentence",
                    answer.tokens,
                    tuple(target[: mask - 1]),
                    True,
                    1.0,
                    (),
                    (),
                )

    def synthesise(self, model: StyleTransferNetwork) -> Iterator[tuple[int, tuple[int, ...], bool]]:
        """A sentence for every training example with an answer and none: example, tokens, whether it ended."""
        device = next(model.parameters()).device
        material = self.material.on(device)
        decoding = DecodingSettings(max_tokens=self.settings.batch.max_target, provenance=False, block_ngrams=4)
        for batch in self.transfer.answers(self.transfer.to_synthesise()):
            here = moved(batch, device)
            with torch.no_grad():
                memory = model.encode(self._triple(material, here))
                written = write(model, memory.packed(), here.style, self.network.words, decoding)
            for example, answer in zip(batch.example.tolist(), written, strict=True):
                yield example, answer.tokens, answer.ended

    def _triple(self, material: Mapping[str, Tensor], batch: TransferBatch) -> Triple:
        three = transferred(material, batch, self.settings.batch)
        context = _somewhere(three.context)
        return Triple(
            three.question.tokens,
            three.question.mask,
            three.answer.tokens,
            three.answer.mask,
            context.tokens,
            context.mask,
        )

    def _turned(self, triple: Triple, said: Decoded, batch: TransferBatch) -> tuple[Triple, Decoded, Tensor]:
        """Sentence to short: what was to be written is read, and the other way around."""
        marks = self.settings.batch.marks
        sentence_mask = said.mask & (said.targets != marks.end)
        count = triple.answer_mask.sum(1, keepdim=True)
        tokens = torch.nn.functional.pad(triple.answer, (0, 1), value=marks.padding)
        place = torch.arange(tokens.shape[1], device=tokens.device)[None, :]
        targets = torch.where(place == count, marks.end, torch.where(place < count, tokens, marks.padding))
        mask = place <= count
        style = torch.full_like(batch.style, marks.short)
        inputs = torch.cat([style[:, None], targets[:, :-1]], dim=1)
        turned = triple._replace(answer=said.targets.where(sentence_mask, marks.padding), answer_mask=sentence_mask)
        return turned, Decoded(inputs, targets, mask), style


def _somewhere(context: Texts) -> Texts:
    """Attention needs a place to look at: where there is no passage, a padding token stands in."""
    first = torch.arange(context.mask.shape[1], device=context.mask.device) == 0
    return Texts(context.tokens, context.mask | (first & ~context.mask.any(dim=1, keepdim=True)))
