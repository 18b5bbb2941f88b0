"""Masque: reads a question with several passages, says which are relevant and whether one answers, and writes it.

Masque: Nishida et al. 2019, https://arxiv.org/abs/1901.02262. PREAST-QA is the same network with other settings; every
ablation of the two is one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wherefrom.errors import SettingsError, WherefromError
from wherefrom.networks.decoder import RecurrentDecoder, TransformerDecoder
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.layers import (
    Core,
    DualAttention,
    EncoderBlock,
    EncoderStack,
    Highway,
    Initialisation,
    Positions,
    start,
)
from wherefrom.networks.passage_heads import (
    LinearClassifier,
    MaxClassifier,
    PairRanker,
    PassageRanking,
    PointRanker,
    all_alike,
    from_labels,
)
from wherefrom.networks.pointer import CopySource, PointerGenerator
from wherefrom.networks.writer import (
    MINILM,
    LossWeights,
    Memory,
    PassageNetwork,
    QuestionPassages,
    WordpieceSettings,
    passage_source,
    pretrained_encoder,
    support,
)

RankerKind = Literal["point", "pair", "none", "gold"]  # gold: labels
ClassifierKind = Literal["linear", "max", "none"]
PlainPositions = Literal["sinusoidal", "none"]
SOURCES = ("question", "passages")  # what the decoder looks at and copies from


@dataclass(frozen=True, slots=True)
class MasqueSettings:
    """What the network is made of. The defaults are PREAST-QA's; `masque` has Masque's."""

    # Reading
    contextual: bool = False  # word vectors are fused with those of `pretrained`
    pretrained: EncoderSettings = MINILM
    tune_pretrained: bool = True  # whether training changes it
    words: WordpieceSettings = field(default_factory=WordpieceSettings)
    embedding: int = 300  # width of the word vectors
    positions: PlainPositions = "sinusoidal"  # of question and passages
    shared_layers: int = 3
    passage_layers: int = 5
    question_layers: int = 2
    # Judging the passages
    ranker: RankerKind = "pair"
    p2p: bool = True  # pair: a block across passages
    pair_mirror: bool = False  # pair: read r_ki for i > k off r_ik
    classifier: ClassifierKind = "max"
    passages: int = 10  # linear: the most passages
    any_place: bool = False  # linear: where training shows fewer passages, they take any of the places
    # Writing
    decoder_layers: int = 8  # 0: no decoder, an encoder-only model
    decoder_positions: PlainPositions = "sinusoidal"
    decoder_highway: bool = False  # a highway of its own over the words written
    decoder_norm: bool = False  # words written are normalised before they get positions: the highway leaves them an rms
    # of 0.11 beside 0.71 of the sinusoids, so that the decoder hardly sees what it wrote last
    vocabulary: int = 0  # how many of the commonest words P^v writes; 0: all
    input_words: bool = False  # P^v also writes words of the input
    tie_embeddings: bool = False  # W2 is the word embedding
    # Sizes
    width: int = 296
    heads: int = 8
    inner: int = 256
    core: Core = "transformer"
    # Training
    dropout: float = 0.0  # of what is added to a residual
    attention_dropout: float = 0.3
    dual_dropout: float = 0.3
    embedding_dropout: float = 0.1
    highway_dropout: float = 0.0
    initialisation: Initialisation = "uniform"
    positive_label: float = 0.9  # of ranking and classification; one-sided label smoothing
    generation_weight: float = 1.0
    ranking_weight: float = 0.265
    classification_weight: float = 0.1

    def __post_init__(self) -> None:
        for name in ("embedding", "width", "heads", "inner", "passages"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("shared_layers", "passage_layers", "question_layers", "decoder_layers", "vocabulary"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least 0")
        for name in ("dropout", "attention_dropout", "dual_dropout", "embedding_dropout", "highway_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be from 0 up to, not including, 1")
        if not 0 < self.positive_label <= 1:
            raise SettingsError(f"positive_label is {self.positive_label}; it must be above 0 and at most 1")
        if self.width % self.heads:
            raise SettingsError(f"width {self.width} does not divide into heads {self.heads}")
        if self.contextual and self.pretrained.words != self.words.words:
            raise SettingsError(f"pretrained has {self.pretrained.words} words, the network {self.words.words}")
        if self.core == "rnn" and (self.width % 2 or self.decoder_positions != "none"):
            raise SettingsError("core=rnn needs an even width and decoder_positions=none")


def masque(**changes: Any) -> MasqueSettings:
    """Masque as its authors trained it; MiniLM plays the part of ELMo.

    ELMo gave the decoder contextual states of what was written; MiniLM looks both ways and cannot. The words written
    pass a highway of their own and get positions instead.
    """
    settings = MasqueSettings(
        contextual=True,
        tune_pretrained=False,
        positions="none",
        ranker="point",
        classifier="linear",
        decoder_highway=True,
        vocabulary=5000,
        input_words=True,
        tie_embeddings=True,
        width=304,
        dropout=0.3,
        dual_dropout=0.0,
        embedding_dropout=0.0,
        highway_dropout=0.3,
        initialisation="normal",
        ranking_weight=0.5,
    )
    return replace(settings, **changes)


def encoder_only(settings: MasqueSettings) -> MasqueSettings:
    """The same without decoder, with the weights of PREAST-QA's Table C.1."""
    ranking = 0.53 if settings.ranker == "pair" else 1.0
    return replace(settings, decoder_layers=0, generation_weight=0.0, ranking_weight=ranking, classification_weight=0.2)


class MasqueNetwork(PassageNetwork):
    """`encode` gives a memory; `decode_all`, `begin` and `decode_step` write from it; `loss` trains all of it.

    A passage comes as `[CLS] passage`. common: token ids, the commonest first, where `vocabulary` limits what may be
    written.
    """

    def __init__(self, settings: MasqueSettings, common: Tensor | None = None) -> None:
        super().__init__(
            LossWeights(
                settings.generation_weight,
                settings.ranking_weight,
                settings.classification_weight,
                settings.positive_label,
            )
        )
        self.settings, self.words = settings, settings.words
        self.writes = settings.decoder_layers > 0
        self.reader = SeparateReader(settings)
        self.ranker = _ranker(settings)
        self.classifier = _classifier(settings)
        if self.writes:
            self.decoder = _decoder(settings)
            self.pointer = PointerGenerator(
                settings.width,
                settings.embedding,
                len(SOURCES),
                "additive",
                support(settings.words, settings.vocabulary, common, settings.input_words),
                settings.tie_embeddings,
            )
            width = settings.embedding
            self.highway = Highway(width, dropout=settings.highway_dropout) if settings.decoder_highway else None
            self.written_norm = nn.LayerNorm(width) if settings.decoder_norm else None
            self.positions = Positions(settings.decoder_positions, width)
        self.embedding_dropout = nn.Dropout(settings.embedding_dropout)
        pretrained = set(self.reader.pretrained.modules()) if self.reader.pretrained is not None else set()
        for module in self.modules():
            if module not in pretrained:
                start(module, settings.initialisation)

    def encode(self, reading: QuestionPassages) -> Memory:
        question, passages = self.reader(reading)
        real = reading.passages.mask.any(dim=-1)  # (batch, K)
        first = passages[:, :, 0]  # (batch, K, width), of each [CLS]
        ranking = self._rank(first, real, reading.relevant)
        answerable = torch.zeros(len(real), device=real.device)
        if self.classifier is not None:
            answerable = self.classifier(first, real)
        sources = (
            CopySource.plain(question, reading.question, reading.question_mask),
            passage_source(passages, reading.passages, ranking.log_beta),
        )
        return Memory(sources, ranking, answerable, real)

    def _rank(self, first: Tensor, real: Tensor, relevant: Tensor | None) -> PassageRanking:
        if self.ranker is not None:
            ranking: PassageRanking = self.ranker(first, real)
            return ranking
        if self.settings.ranker == "none":
            return all_alike(real)
        if relevant is None:
            raise WherefromError("ranker=gold needs the passages' relevance to be given")
        return from_labels(relevant, real)

    def embed_written(self, tokens: Tensor, first: int) -> Tensor:
        words = self.reader.word(tokens)
        if self.highway is not None:
            words = self.highway(words)
        if self.written_norm is not None:
            words = self.written_norm(words)
        embedded: Tensor = self.embedding_dropout(self.positions(words, first))
        return embedded

    def table(self) -> Tensor:
        return self.reader.word.weight


class SeparateReader(nn.Module):
    """Embed, shared blocks, dual attention, blocks of the passages' and of the question's own."""

    def __init__(self, settings: MasqueSettings) -> None:
        super().__init__()
        width = settings.width
        self.word = nn.Embedding(settings.words.words, settings.embedding)
        self.positions = Positions(settings.positions, settings.embedding)
        self.pretrained = None
        self.highway = None
        embedded = settings.embedding
        if settings.contextual:
            self.pretrained = pretrained_encoder(settings.pretrained, settings.tune_pretrained)
            embedded += settings.pretrained.width
            self.highway = Highway(embedded, dropout=settings.highway_dropout)
        self.tuned = settings.tune_pretrained
        self.embedding_dropout = nn.Dropout(settings.embedding_dropout)

        def stack(incoming: int, layers: int) -> EncoderStack:
            return EncoderStack(
                incoming,
                width,
                layers,
                settings.heads,
                settings.inner,
                settings.dropout,
                settings.attention_dropout,
                settings.core,
            )

        self.shared = stack(embedded, settings.shared_layers)
        self.dual = DualAttention(width, settings.dual_dropout)
        self.of_passage = stack(5 * width, settings.passage_layers)
        self.of_question = stack(5 * width, settings.question_layers)

    def forward(self, reading: QuestionPassages) -> tuple[Tensor, Tensor]:
        """M^q (batch, J, width) and M^p (batch, K, L, width)."""
        batch, passages, length = reading.passages.tokens.shape
        tokens, mask = reading.passages.tokens.flatten(0, 1), reading.passages.mask.flatten(0, 1)
        of_passage = self.shared(self.embed(tokens, mask), mask)  # (batch * K, L, width)
        of_question = self.shared(self.embed(reading.question, reading.question_mask), reading.question_mask)
        to_passage, to_question = self.dual(
            of_passage.view(batch, passages, length, -1), reading.passages.mask, of_question, reading.question_mask
        )
        states = self.of_passage(to_passage.flatten(0, 1), mask).view(batch, passages, length, -1)
        return self.of_question(to_question, reading.question_mask), states

    def embed(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Word vectors with positions, fused with contextual ones where there are any: (batch, length, ...)."""
        embedded: Tensor = self.positions(self.word(tokens))
        if self.pretrained is not None and self.highway is not None:
            with torch.set_grad_enabled(self.tuned and torch.is_grad_enabled()):
                context = self.pretrained(tokens, mask)
            embedded = self.highway(torch.cat([embedded, context], dim=-1))
        dropped: Tensor = self.embedding_dropout(embedded)
        return dropped

    def load_vectors(self, vectors: Tensor) -> None:
        """Start from these word vectors, (words, embedding)."""
        if vectors.shape != self.word.weight.shape:
            raise SettingsError(
                f"the vectors are {tuple(vectors.shape)}, the network's {tuple(self.word.weight.shape)}"
            )
        with torch.no_grad():
            self.word.weight.copy_(vectors)


def _ranker(settings: MasqueSettings) -> nn.Module | None:
    if settings.ranker == "point":
        return PointRanker(settings.width)
    if settings.ranker == "pair":
        across = EncoderBlock(
            settings.width, settings.heads, settings.inner, settings.dropout, settings.attention_dropout
        )
        return PairRanker(settings.width, across if settings.p2p else None, settings.pair_mirror)
    return None


def _classifier(settings: MasqueSettings) -> Callable[[Tensor, Tensor], Tensor] | None:
    if settings.classifier == "linear":
        return LinearClassifier(settings.width, settings.passages, settings.any_place)
    return MaxClassifier(settings.width) if settings.classifier == "max" else None


def _decoder(settings: MasqueSettings) -> TransformerDecoder | RecurrentDecoder:
    embedding, width, heads, sources = settings.embedding, settings.width, settings.heads, len(SOURCES)
    dropouts = settings.dropout, settings.attention_dropout
    if settings.core == "rnn":
        return RecurrentDecoder(embedding, width, heads, sources, *dropouts)
    return TransformerDecoder(
        embedding, width, settings.decoder_layers, heads, settings.inner, sources, "post", *dropouts
    )
