"""Our writer: question and passage as one sequence through a pretrained transformer, then Masque's way of writing.

A pre-norm decoder copies by dot products from the question, a short answer and the passages: learns fastest on little
data. Given the short answer, it writes the sentence; without one, it finds the answer itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wherefrom.config import updated
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.networks.decoder import TransformerDecoder
from wherefrom.networks.encoder import NEVER, EncoderSettings
from wherefrom.networks.layers import Positions, start
from wherefrom.networks.passage_heads import MaxClassifier, PassageRanking, PointRanker
from wherefrom.networks.pointer import CopySource, PointerGenerator
from wherefrom.networks.writer import (
    MINILM,
    LossWeights,
    Memory,
    PassageNetwork,
    QuestionPassages,
    TokenSequences,
    WordpieceSettings,
    passage_source,
    pretrained_encoder,
    somewhere,
    support,
)

SOURCES = ("question", "answer", "passages")  # what the decoder looks at and copies from, in this order


@dataclass(frozen=True, slots=True)
class WriterNetworkSettings:
    """What the network is made of; it is as wide as its encoder, and writes with its word embeddings."""

    pretrained: EncoderSettings = MINILM
    words: WordpieceSettings = field(default_factory=WordpieceSettings)
    decoder_layers: int = 5
    heads: int = 8
    inner: int = 1024
    longest_answer: int = 128  # positions of the decoder
    vocabulary: int = 6000  # how many of the commonest words are written without being copied
    dropout: float = 0.1  # of what is added to a residual
    attention_dropout: float = 0.1
    embedding_dropout: float = 0.1
    positive_label: float = 0.9  # of ranking and classification; one-sided label smoothing
    generation_weight: float = 1.0
    ranking_weight: float = 0.5
    classification_weight: float = 0.1

    def __post_init__(self) -> None:
        for name in ("decoder_layers", "heads", "inner", "longest_answer", "vocabulary"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("dropout", "attention_dropout", "embedding_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be from 0 up to, not including, 1")
        if not 0 < self.positive_label <= 1:
            raise SettingsError(f"positive_label is {self.positive_label}; it must be above 0 and at most 1")
        if self.width % self.heads:
            raise SettingsError(f"width {self.width} does not divide into heads {self.heads}")
        if self.pretrained.words != self.words.words:
            raise SettingsError(f"pretrained has {self.pretrained.words} words, the network {self.words.words}")

    @property
    def width(self) -> int:
        return self.pretrained.width

    @classmethod
    def from_mapping(cls, saved: Mapping[str, Any]) -> WriterNetworkSettings:
        """The settings that `dataclasses.asdict` wrote down; those of a network with more choices are left out."""
        known = {each.name for each in fields(cls)}
        if saved.get("encoder", "joint") != "joint" or saved.get("answer_source") is False:
            raise SettingsError("these are settings of another network than the writer's")
        words, pretrained = WordpieceSettings(**saved["words"]), EncoderSettings(**saved["pretrained"])
        rest = {name: value for name, value in saved.items() if name in known - {"words", "pretrained"}}
        return updated(cls(pretrained, words, heads=1), rest)


class WriterNetwork(PassageNetwork):
    """`encode` gives a memory; `decode_all`, `begin` and `decode_step` write from it; `loss` trains all of it.

    A passage comes as `[CLS] question [SEP] passage [SEP]`, with or without a title, as the reader network takes it,
    the question's tokens standing from place 1 on; the short answer as `[CLS] question [SEP] answer [SEP]`. common:
    token ids, the commonest first.
    """

    def __init__(self, settings: WriterNetworkSettings, common: Tensor) -> None:
        super().__init__(
            LossWeights(
                settings.generation_weight,
                settings.ranking_weight,
                settings.classification_weight,
                settings.positive_label,
            )
        )
        self.settings, self.words = settings, settings.words
        width, sources = settings.width, len(SOURCES)
        self.reader = JointReader(settings.pretrained)
        self.ranker: PointRanker = PointRanker(width)
        self.classifier: MaxClassifier = MaxClassifier(width)
        self.decoder: TransformerDecoder = TransformerDecoder(
            width,
            width,
            settings.decoder_layers,
            settings.heads,
            settings.inner,
            sources,
            "pre",
            settings.dropout,
            settings.attention_dropout,
        )
        written = support(settings.words, settings.vocabulary, common)
        self.pointer = PointerGenerator(width, width, sources, "dot", written, tied=True)
        self.positions = Positions("learned", width, settings.longest_answer)
        self.embedding_norm = nn.LayerNorm(width)
        self.embedding_dropout = nn.Dropout(settings.embedding_dropout)
        pretrained = set(self.reader.pretrained.modules())
        for module in self.modules():
            if module not in pretrained:
                start(module, "normal")

    # Reading

    def encode(self, reading: QuestionPassages) -> Memory:
        if reading.answer is None:
            raise WherefromError("the writer reads a short answer, if only an empty one")
        batch, count, length = reading.passages.tokens.shape
        passages = self.reader(reading.passages.flat()).view(batch, count, length, -1)
        real = reading.passages.mask.any(dim=-1)  # (batch, K)
        ranking, answerable = self.judge(passages[:, :, 0], real)
        question = question_states(passages, reading.question.shape[1], ranking.log_beta, real)
        sources = (
            CopySource.plain(question, reading.question, reading.question_mask),
            self._answer_source(reading.answer),
            passage_source(passages, reading.passages, ranking.log_beta),
        )
        return Memory(sources, ranking, answerable, real)

    def with_answer(self, memory: Memory, answer: TokenSequences) -> Memory:
        """The same memory with other short answers to go by, (batch, A), read alone."""
        question, _, passages = memory.sources
        return memory._replace(sources=(question, self._answer_source(answer), passages))

    def judge(self, first: Tensor, real: Tensor) -> tuple[PassageRanking, Tensor]:
        """How relevant the passages are, and the logit of P(a), (batch,); first: (batch, K, width), of each [CLS]."""
        return self.ranker(first, real), self.classifier(first, real)

    def _answer_source(self, answer: TokenSequences) -> CopySource:
        return CopySource.plain(self.reader(answer), answer.tokens, somewhere(answer.copyable & answer.mask))

    # Writing

    def embed_written(self, tokens: Tensor, first: int) -> Tensor:
        return self.embed_words(self.reader.word(tokens), first)

    def embed_words(self, words: Tensor, first: int) -> Tensor:
        """The same of words that were looked up already: (batch, steps, embedding)."""
        embedded: Tensor = self.embedding_dropout(self.embedding_norm(self.positions(words, first)))
        return embedded

    def table(self) -> Tensor:
        return self.reader.word.weight


class JointReader(nn.Module):
    """Plain sequences through a pretrained encoder."""

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__()
        self.pretrained = pretrained_encoder(settings, tuned=True)

    @property
    def word(self) -> nn.Embedding:
        return self.pretrained.word

    def forward(self, sequences: TokenSequences) -> Tensor:
        """Their states: (batch, length, width)."""
        states: Tensor = self.pretrained(sequences.tokens, sequences.mask, sequences.types)
        return states


def question_states(passages: Tensor, length: int, log_beta: Tensor, real: Tensor) -> Tensor:
    """One state a question token: its states beside each passage, weighted by beta_k / sum beta.

    passages: (batch, K, L, width), the question standing from place 1 on; to (batch, length, width).
    """
    share = torch.softmax(log_beta.masked_fill(~real, NEVER), dim=1).to(passages.dtype)  # (batch, K)
    places = torch.arange(1, length + 1, device=passages.device).clamp(max=passages.shape[2] - 1)  # beyond is padding
    return torch.einsum("bk,bkjd->bjd", share, passages.index_select(2, places))


def loaded(trained: Path) -> WriterNetwork:
    """The network of a training's folder: `model.safetensors`, `settings.json`, and `common.json` there or above."""
    from safetensors.torch import load_file

    settings = WriterNetworkSettings.from_mapping(json.loads((trained / "settings.json").read_text(encoding="utf-8")))
    folder = trained if (trained / "common.json").exists() else trained.parent
    common = json.loads((folder / "common.json").read_text(encoding="utf-8"))
    network = WriterNetwork(settings, torch.tensor(common))
    try:
        network.load_state_dict(load_file(trained / "model.safetensors"))
    except RuntimeError as error:
        raise WherefromError(
            f"{trained / 'model.safetensors'} is of another network than settings.json: {error}"
        ) from None
    return network.eval()
