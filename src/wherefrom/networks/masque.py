"""Masque: reads a question with several passages, says which are relevant and whether one answers, and writes it.

Masque: Nishida et al. 2019, https://arxiv.org/abs/1901.02262. PREAST-QA is the same with other settings. The `joint`
encoder, question and passage as one sequence through a pretrained transformer, is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from wherefrom.errors import SettingsError, WherefromError
from wherefrom.networks.decoder import RecurrentDecoder, TransformerDecoder
from wherefrom.networks.encoder import NEVER, Encoder, EncoderSettings
from wherefrom.networks.layers import DualAttention, EncoderBlock, EncoderStack, Highway, Positions, start
from wherefrom.networks.masque_settings import (
    PRESETS,
    MasqueSettings,
    WordSettings,
    encoder_only,
    joint,
    masque,
    preast,
)
from wherefrom.networks.passage_heads import (
    LinearClassifier,
    MaxClassifier,
    PairRanker,
    PointRanker,
    Ranking,
    all_alike,
    classification_loss,
    from_labels,
    from_logits,
    pair_loss,
    point_loss,
)
from wherefrom.networks.pointer import PointerGenerator, Source, Support
from wherefrom.networks.writer import Memory, WritingNetwork

__all__ = [
    "PRESETS",
    "Answers",
    "MasqueNetwork",
    "MasqueSettings",
    "Reading",
    "Sequences",
    "WordSettings",
    "encoder_only",
    "joint",
    "masque",
    "preast",
]


class Sequences(NamedTuple):
    """Padded sequences that a pretrained encoder reads together with a question, and what of them may be copied."""

    tokens: Tensor  # (batch, ..., length)
    mask: Tensor  # (batch, ..., length), true at real tokens
    copyable: Tensor  # (batch, ..., length), true where the decoder may look and copy
    types: Tensor | None = None  # (batch, ..., length), the encoder's token types

    def flat(self) -> Sequences:
        """The passages of all questions as one batch: (batch * K, length)."""
        types = None if self.types is None else self.types.flatten(0, 1)
        return Sequences(self.tokens.flatten(0, 1), self.mask.flatten(0, 1), self.copyable.flatten(0, 1), types)


class Reading(NamedTuple):
    """What is read: a question and K passages; a passage that is only padding has no true place in its mask.

    separate: a passage is `[CLS] passage`. joint: it is `[CLS] question [SEP] passage [SEP]`, with or without a title,
    as the reader network takes it, the question's tokens standing from place 1 on.
    """

    question: Tensor  # (batch, J)
    question_mask: Tensor  # (batch, J)
    passages: Sequences  # (batch, K, L)
    given: Tensor | None = None  # (batch, K): labels for ranker=gold, a reader's logits for ranker=given
    answer: Sequences | None = None  # (batch, A): `[CLS] question [SEP] short answer [SEP]`, for answer_source


class Answers(NamedTuple):
    """What should have been said."""

    target: Tensor  # (batch, steps): the answer's tokens and [end], padded
    mask: Tensor  # (batch, steps)
    style: Tensor  # (batch,): the token of its style
    answerable: Tensor  # (batch,)
    relevant: Tensor  # (batch, K)


class MasqueNetwork(WritingNetwork):
    """`encode` gives a memory; `decode_all`, `begin` and `decode_step` write from it; `loss` trains all of it.

    common: token ids, the commonest first, where `vocabulary` limits what may be written.
    """

    def __init__(self, settings: MasqueSettings, common: Tensor | None = None) -> None:
        super().__init__()
        self.settings = settings
        self.reader = JointReader(settings) if settings.encoder == "joint" else SeparateReader(settings)
        self.ranker = _ranker(settings)
        self.classifier = _classifier(settings)
        if settings.decoder_layers:
            self.decoder = _decoder(settings)
            self.pointer = PointerGenerator(
                settings.width,
                settings.table_width,
                len(settings.sources),
                settings.copy,
                support(settings.words, settings.vocabulary, settings.input_words, common),
                settings.tie_embeddings,
            )
            width = settings.table_width
            self.highway = Highway(width, dropout=settings.highway_dropout) if settings.decoder_highway else None
            self.positions = Positions(settings.decoder_positions, width, settings.longest_answer)
            self.embedding_norm = nn.LayerNorm(width) if settings.decoder_embedding_norm else nn.Identity()
        self.embedding_dropout = nn.Dropout(settings.embedding_dropout)
        pretrained = set(self.reader.pretrained.modules()) if self.reader.pretrained is not None else set()
        for module in self.modules():
            if module not in pretrained:
                start(module, settings.initialisation)

    # Reading

    def encode(self, reading: Reading) -> Memory:
        """Read it all, rank the passages and judge whether there is an answer."""
        question, passages, answer = self.reader(reading)
        return self._remember(reading, question, passages, answer)

    def remember(self, reading: Reading, passages: Tensor, answer: Tensor | None = None) -> Memory:
        """The memory of what the joint encoder's twin has read already: its states (batch, K, L, ...), (batch, A, ...).

        A reader network with the same encoder need not read the same passages twice.
        """
        if not isinstance(self.reader, JointReader):
            raise WherefromError("only a joint network can take up states that another encoder has read")
        adapted = None if answer is None else self.reader.adapt(answer)
        return self._remember(reading, None, self.reader.adapt(passages), adapted)

    def _remember(self, reading: Reading, question: Tensor | None, passages: Tensor, answer: Tensor | None) -> Memory:
        """question: (batch, J, width), or none where it is read off the passages; passages: (batch, K, L, width)."""
        real = reading.passages.mask.any(dim=-1)  # (batch, K)
        ranking, answerable = self.judge(passages[:, :, 0], real, reading.given)
        if question is None:
            question = question_states(passages, reading.question.shape[1], ranking.log_beta, real)
        sources = [Source.plain(question, reading.question, reading.question_mask)]
        if self.settings.answer_source:
            if reading.answer is None or answer is None:
                raise WherefromError("this network was built with answer_source; it needs a short answer to read")
            sources.append(answer_source(answer, reading.answer))
        sources.append(passage_source(passages, reading.passages, ranking.log_beta))
        return Memory(tuple(sources), ranking, answerable, real)

    def told(self, memory: Memory, answer: Sequences) -> Memory:
        """The same memory with other short answers to go by, (batch, A), read alone."""
        if not isinstance(self.reader, JointReader) or not self.settings.answer_source:
            raise WherefromError("only a joint network with answer_source can be told a short answer")
        question, _, passages = memory.sources
        return memory._replace(sources=(question, answer_source(self.reader.read(answer), answer), passages))

    def judge(self, first: Tensor, real: Tensor, given: Tensor | None = None) -> tuple[Ranking, Tensor]:
        """How relevant the passages are, and the logit of P(a), (batch,); first: (batch, K, width), of each [CLS]."""
        answerable = torch.zeros(len(real), device=real.device)
        if self.classifier is not None:
            answerable = self.classifier(first, real)
        return self._rank(first, real, given), answerable

    def _rank(self, first: Tensor, real: Tensor, given: Tensor | None) -> Ranking:
        kind = self.settings.ranker
        if self.ranker is not None:
            ranking: Ranking = self.ranker(first, real)
            return ranking
        if kind == "none":
            return all_alike(real)
        if given is None:
            raise WherefromError(f"ranker={kind} needs the passages' relevance to be given")
        return from_labels(given, real) if kind == "gold" else from_logits(given.float(), real)

    # Writing

    def embed_written(self, tokens: Tensor, first: int) -> Tensor:
        return self.embed_words(self.reader.word(tokens), first)

    def embed_words(self, words: Tensor, first: int) -> Tensor:
        """The same of words that were looked up already: (batch, steps, embedding)."""
        if self.highway is not None:
            words = self.highway(words)
        embedded: Tensor = self.embedding_dropout(self.embedding_norm(self.positions(words, first)))
        return embedded

    def table(self) -> Tensor:
        return self.reader.word.weight

    # Learning

    def loss(self, reading: Reading, answers: Answers) -> tuple[Tensor, dict[str, Tensor]]:
        """gamma_gen L_gen + gamma_rnk L_rnk + gamma_cls L_cls (PREAST-QA Eq. 4.25), and its parts."""
        return self.loss_of(self.encode(reading), answers)

    def loss_of(self, memory: Memory, answers: Answers) -> tuple[Tensor, dict[str, Tensor]]:
        """The same, of what was read already: two styles of an answer need one reading."""
        settings = self.settings
        parts: dict[str, Tensor] = {}
        total = torch.zeros((), device=answers.target.device)
        if settings.decoder_layers and settings.generation_weight:
            parts["generation"] = self.written_loss(
                memory, answers.target, answers.mask, answers.style, answers.answerable
            )
            total = total + settings.generation_weight * parts["generation"]
        if settings.ranker == "pair":
            assert memory.ranking.pairs is not None
            parts["ranking"] = pair_loss(memory.ranking.pairs, answers.relevant, memory.real)
        elif settings.ranker == "point":
            parts["ranking"] = point_loss(memory.ranking.score, answers.relevant, memory.real, settings.positive_label)
        if "ranking" in parts:
            total = total + settings.ranking_weight * parts["ranking"]
        if self.classifier is not None:
            parts["classification"] = classification_loss(
                memory.answerable, answers.answerable, settings.positive_label
            )
            total = total + settings.classification_weight * parts["classification"]
        return total, parts


# Readers -------------------------------------------------------------------------------------------------------------


class SeparateReader(nn.Module):
    """Masque's own: embed, shared blocks, dual attention, blocks of the passages' and of the question's own."""

    def __init__(self, settings: MasqueSettings) -> None:
        super().__init__()
        width = settings.width
        self.word = nn.Embedding(settings.words.words, settings.embedding)
        self.positions = Positions(settings.positions, settings.embedding, 512)
        self.pretrained = None
        self.highway = None
        embedded = settings.embedding
        if settings.pretrained is not None:
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

    def forward(self, reading: Reading) -> tuple[Tensor, Tensor, None]:
        """M^q (batch, J, width) and M^p (batch, K, L, width)."""
        batch, passages, length = reading.passages.tokens.shape
        tokens, mask = reading.passages.tokens.flatten(0, 1), reading.passages.mask.flatten(0, 1)
        of_passage = self.shared(self.embed(tokens, mask), mask)  # (batch * K, L, width)
        of_question = self.shared(self.embed(reading.question, reading.question_mask), reading.question_mask)
        to_passage, to_question = self.dual(
            of_passage.view(batch, passages, length, -1), reading.passages.mask, of_question, reading.question_mask
        )
        found = self.of_passage(to_passage.flatten(0, 1), mask).view(batch, passages, length, -1)
        return self.of_question(to_question, reading.question_mask), found, None

    def embed(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Word vectors with positions, fused with contextual ones where there are any: (batch, length, ...)."""
        embedded: Tensor = self.positions(self.word(tokens))
        if self.pretrained is not None and self.highway is not None:
            with torch.set_grad_enabled(self.tuned and torch.is_grad_enabled()):
                context = self.pretrained(tokens, mask)
            embedded = self.highway(torch.cat([embedded, context], dim=-1))
        dropped: Tensor = self.embedding_dropout(embedded)
        return dropped

    def load_vectors(self, vectors: Tensor, known: Tensor) -> None:
        """Start from these word vectors, (words, embedding), where `known` is true; others stay N(0, 0.01)."""
        if vectors.shape != self.word.weight.shape:
            raise SettingsError(
                f"the vectors are {tuple(vectors.shape)}, the network's {tuple(self.word.weight.shape)}"
            )
        with torch.no_grad():
            nn.init.normal_(self.word.weight, std=0.01)
            self.word.weight[known] = vectors[known].to(self.word.weight)


class JointReader(nn.Module):
    """Question and passage as one sequence, through a pretrained encoder."""

    def __init__(self, settings: MasqueSettings) -> None:
        super().__init__()
        assert settings.pretrained is not None
        self.pretrained = pretrained_encoder(settings.pretrained, settings.tune_pretrained)
        self.tuned = settings.tune_pretrained
        same = settings.pretrained.width == settings.width
        self.adapt: nn.Module = nn.Identity() if same else nn.Linear(settings.pretrained.width, settings.width)

    @property
    def word(self) -> nn.Embedding:
        return self.pretrained.word

    def forward(self, reading: Reading) -> tuple[None, Tensor, Tensor | None]:
        """M^p (batch, K, L, width) and, if one was given, the short answer's states (batch, A, width).

        The question has states in every passage; `question_states` makes one of them.
        """
        batch, count, length = reading.passages.tokens.shape
        passages = self.read(reading.passages.flat())
        answer = None if reading.answer is None else self.read(reading.answer)
        return None, passages.view(batch, count, length, -1), answer

    def read(self, sequences: Sequences) -> Tensor:
        """The states of plain sequences: (batch, length, width)."""
        with torch.set_grad_enabled(self.tuned and torch.is_grad_enabled()):
            hidden = self.pretrained(sequences.tokens, sequences.mask, sequences.types)
        adapted: Tensor = self.adapt(hidden)
        return adapted


def pretrained_encoder(settings: EncoderSettings, tuned: bool) -> Encoder:
    """An encoder; one that training leaves alone has no dropout and takes no gradient."""
    encoder = Encoder(settings if tuned else replace(settings, dropout=0.0, attention_dropout=0.0))
    return encoder.requires_grad_(tuned)


def question_states(passages: Tensor, length: int, log_beta: Tensor, real: Tensor) -> Tensor:
    """One state a question token: its states beside each passage, weighted by beta_k / sum beta.

    passages: (batch, K, L, width), the question standing from place 1 on; to (batch, length, width).
    """
    share = torch.softmax(log_beta.masked_fill(~real, NEVER), dim=1).to(passages.dtype)  # (batch, K)
    places = torch.arange(1, length + 1, device=passages.device).clamp(max=passages.shape[2] - 1)  # beyond is padding
    return torch.einsum("bk,bkjd->bjd", share, passages.index_select(2, places))


def answer_source(states: Tensor, answer: Sequences) -> Source:
    """The short answer as a source."""
    return Source.plain(states, answer.tokens, somewhere(answer.copyable & answer.mask))


def passage_source(states: Tensor, passages: Sequences, log_beta: Tensor) -> Source:
    """All passages as one sequence, each place with its passage's log beta: (batch, K * L, ...)."""
    weight = log_beta[:, :, None].expand(-1, -1, states.shape[2]).flatten(1, 2)
    may_copy = (passages.copyable & passages.mask).flatten(1, 2)
    plain = Source.plain(states.flatten(1, 2), passages.tokens.flatten(1, 2), somewhere(may_copy))
    return plain._replace(weight=weight)


def somewhere(may_copy: Tensor) -> Tensor:
    """Where a source has nothing to copy its first place stands in, (batch, places).

    Attention needs a place to look at, the same one whatever the padding; [CLS] stands there, which is never written.
    """
    first = torch.arange(may_copy.shape[1], device=may_copy.device) == 0
    return may_copy | (first & ~may_copy.any(dim=1, keepdim=True))


# Parts by their settings ---------------------------------------------------------------------------------------------


def support(words: WordSettings, vocabulary: int, input_words: bool, common: Tensor | None) -> Support:
    """The words P^v may write; [end] always."""
    if not vocabulary:
        return Support(words.words, words.never_written)
    if common is None or len(common) < vocabulary:
        raise SettingsError(f"vocabulary is {vocabulary}: the network needs that many token ids, the commonest first")
    chosen = torch.cat([common[:vocabulary].long(), torch.tensor([words.end])])
    return Support(words.words, words.never_written, chosen, input_words)


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
        return LinearClassifier(settings.width, settings.passages)
    return MaxClassifier(settings.width) if settings.classifier == "max" else None


def _decoder(settings: MasqueSettings) -> TransformerDecoder | RecurrentDecoder:
    sources = len(settings.sources)
    if settings.core == "rnn":
        return RecurrentDecoder(
            settings.table_width, settings.width, settings.heads, sources, settings.dropout, settings.attention_dropout
        )
    return TransformerDecoder(
        settings.table_width,
        settings.width,
        settings.decoder_layers,
        settings.heads,
        settings.inner,
        sources,
        settings.decoder_norm,
        settings.dropout,
        settings.attention_dropout,
    )
