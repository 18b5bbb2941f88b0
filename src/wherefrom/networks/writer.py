"""What every network that writes has: it reads into a memory once, then writes from it, all at once or step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from wherefrom.errors import SettingsError
from wherefrom.networks.decoder import Cache, RecurrentDecoder, TransformerDecoder
from wherefrom.networks.encoder import Encoder, EncoderSettings
from wherefrom.networks.passage_heads import PassageRanking, classification_loss, pair_loss, point_loss
from wherefrom.networks.pointer import CopySource, Mixture, PointerGenerator, Step, Support, generation_loss

MINILM = EncoderSettings("bert", words=30_522, width=384, layers=6, heads=12, inner=1536, positions=512, types=2)
"""The pretrained encoder whose wordpieces everything is written in."""


@dataclass(frozen=True, slots=True)
class WordpieceSettings:
    """The wordpieces and those among them that have a part to play; the defaults are BERT's uncased ones."""

    words: int = 30_522
    padding: int = 0
    unknown: int = 100
    classify: int = 101  # [CLS], in front of every passage
    end: int = 102  # [SEP], which ends an answer
    styles: Mapping[str, int] = field(default_factory=lambda: {"short": 1, "sentence": 2})  # what an answer begins with

    @property
    def never_written(self) -> tuple[int, ...]:
        """What the vocabulary may not write; [UNK] can still be copied, since its place tells what it stands for."""
        return (self.padding, self.unknown, self.classify, *self.styles.values())

    def style(self, name: str) -> int:
        """The first token of an answer in this style."""
        if name not in self.styles:
            raise SettingsError(f"{name} is not a style of this writer; it knows {', '.join(self.styles)}")
        return self.styles[name]


# What is read and written --------------------------------------------------------------------------------------------


class TokenSequences(NamedTuple):
    """Padded sequences, and what of them may be copied."""

    tokens: Tensor  # (batch, ..., length)
    mask: Tensor  # (batch, ..., length), true at real tokens
    copyable: Tensor  # (batch, ..., length), true where the decoder may look and copy
    types: Tensor | None = None  # (batch, ..., length), the encoder's token types

    def flat(self) -> TokenSequences:
        """The passages of all questions as one batch: (batch * K, length)."""
        types = None if self.types is None else self.types.flatten(0, 1)
        return TokenSequences(self.tokens.flatten(0, 1), self.mask.flatten(0, 1), self.copyable.flatten(0, 1), types)


class QuestionPassages(NamedTuple):
    """What is read: a question and K passages; a passage that is only padding has no true place in its mask."""

    question: Tensor  # (batch, J)
    question_mask: Tensor  # (batch, J)
    passages: TokenSequences  # (batch, K, L)
    relevant: Tensor | None = None  # (batch, K): labels, for a network that is given them
    answer: TokenSequences | None = None  # (batch, A): a short answer, for a network that reads one


class TargetAnswers(NamedTuple):
    """What should be written and judged."""

    target: Tensor  # (batch, steps): the answer's tokens and [end], padded
    mask: Tensor  # (batch, steps)
    style: Tensor  # (batch,): the token of its style
    answerable: Tensor  # (batch,)
    relevant: Tensor  # (batch, K)


class Memory(NamedTuple):
    """What was read."""

    sources: tuple[CopySource, ...]
    ranking: PassageRanking
    answerable: Tensor  # (batch,): the logit of P(a); 0 without a classifier
    real: Tensor  # (batch, K): which passages are not padding

    @property
    def beta(self) -> Tensor:
        """The weight of each passage, 0 for padding: (batch, K)."""
        return self.ranking.log_beta.exp() * self.real

    def rows(self, index: Tensor) -> Memory:
        """These rows of the batch, in this order."""
        pairs = self.ranking.pairs
        ranking = PassageRanking(
            self.ranking.score.index_select(0, index),
            self.ranking.log_beta.index_select(0, index),
            None if pairs is None else pairs.index_select(0, index),
        )
        sources = tuple(source.rows(index) for source in self.sources)
        return Memory(sources, ranking, self.answerable.index_select(0, index), self.real.index_select(0, index))

    def packed(self) -> Memory:
        """The same with fewer empty places; `CopySource.place` still tells where each token stood."""
        return self._replace(sources=tuple(source.packed() for source in self.sources))


# Networks ------------------------------------------------------------------------------------------------------------


class WritingNetwork(nn.Module):
    """A decoder and a pointer-generator over a memory; a subclass says how words are embedded and what is read."""

    decoder: TransformerDecoder | RecurrentDecoder
    pointer: PointerGenerator

    def embed_written(self, tokens: Tensor, first: int) -> Tensor:
        """What goes into the decoder, (batch, steps) to (batch, steps, embedding); the first one has place `first`."""
        raise NotImplementedError

    def table(self) -> Tensor:
        """The word embeddings, for an output that is tied to them: (words, embedding)."""
        raise NotImplementedError

    def decode_all(self, memory: Memory, written: Tensor) -> Mixture:
        """Every step of answers that are known, (batch, steps), each beginning with the token of its style."""
        states = self.decoder.all(self.embed_written(written, 0), memory.sources)
        keys = self.pointer.keys(memory.sources)
        mixture: Mixture = self.pointer(states, memory.sources, keys, self.table())
        return mixture

    def begin(self, memory: Memory) -> Cache:
        """A cache with nothing written."""
        like = memory.sources[0].states
        own = self.decoder.empty(len(like), like)
        return Cache(own, self.decoder.remember(memory.sources), self.pointer.keys(memory.sources))

    def decode_step(self, memory: Memory, cache: Cache, token: Tensor) -> tuple[Step, Cache]:
        """What comes after `token`, (batch,): the style's token first, then each that was written."""
        embedded = self.embed_written(token[:, None], self.decoder.written(cache.own))
        masks = [source.mask for source in memory.sources]
        states, own = self.decoder.step(embedded, cache.own, cache.given, masks)
        mixture = self.pointer(states, memory.sources, cache.keys, self.table())
        return self.pointer.step(mixture, memory.sources), cache._replace(own=own)

    def written_loss(self, memory: Memory, target: Tensor, mask: Tensor, style: Tensor, answerable: Tensor) -> Tensor:
        """The generation loss of the answers `target`, (batch, steps), [end] included; style: (batch,)."""
        mixture = self.decode_all(memory, shifted(target, style))
        log_probability, known = self.pointer.target_log_probability(mixture, memory.sources, target)
        return generation_loss(log_probability, known, mask, answerable)


class LossWeights(NamedTuple):
    """What each part of the loss counts."""

    generation: float
    ranking: float
    classification: float
    positive_label: float  # of ranking and classification; below 1 it is one-sided label smoothing


class PassageNetwork(WritingNetwork):
    """One that also ranks the passages it reads and judges whether they answer; `loss` trains all of it."""

    ranker: nn.Module | None
    classifier: Callable[[Tensor, Tensor], Tensor] | None
    words: WordpieceSettings
    writes = True  # false for a network without decoder

    def __init__(self, weights: LossWeights) -> None:
        super().__init__()
        self.weights = weights

    def encode(self, reading: QuestionPassages) -> Memory:
        """Read it all, rank the passages and judge whether there is an answer."""
        raise NotImplementedError

    def loss(self, reading: QuestionPassages, answers: TargetAnswers) -> tuple[Tensor, dict[str, Tensor]]:
        """gamma_gen L_gen + gamma_rnk L_rnk + gamma_cls L_cls (PREAST-QA Eq. 4.25), and its parts."""
        return self.loss_of(self.encode(reading), answers)

    def loss_of(self, memory: Memory, answers: TargetAnswers) -> tuple[Tensor, dict[str, Tensor]]:
        """The same, of what was read already: two styles of an answer need one reading."""
        parts: dict[str, Tensor] = {}
        if self.writes:
            parts["generation"] = self.written_loss(
                memory, answers.target, answers.mask, answers.style, answers.answerable
            )
        parts |= self.judging_losses(memory, answers.relevant, answers.answerable)
        return self.total(parts), parts

    def judging_losses(
        self, memory: Memory, relevant: Tensor, answerable: Tensor, labelled: Tensor | None = None
    ) -> dict[str, Tensor]:
        """The losses of ranking and classification; labelled: (batch,), examples whose labels are known."""
        real = memory.real if labelled is None else memory.real & labelled[:, None]
        positive = self.weights.positive_label
        parts: dict[str, Tensor] = {}
        if memory.ranking.pairs is not None:
            parts["ranking"] = pair_loss(memory.ranking.pairs, relevant, real)
        elif self.ranker is not None:
            parts["ranking"] = point_loss(memory.ranking.score, relevant, real, positive)
        if self.classifier is not None:
            parts["classification"] = classification_loss(memory.answerable, answerable, positive, labelled)
        return parts

    def total(self, parts: Mapping[str, Tensor]) -> Tensor:
        """The weighted sum of the parts."""
        total = torch.zeros((), device=next(self.parameters()).device)
        for name, part in parts.items():
            total = total + getattr(self.weights, name) * part
        return total


# Parts ---------------------------------------------------------------------------------------------------------------


def shifted(target: Tensor, style: Tensor) -> Tensor:
    """What the decoder has seen when it writes each token of the target: the style, then all but the last."""
    return torch.cat([style[:, None], target[:, :-1]], dim=1)


def passage_source(states: Tensor, passages: TokenSequences, log_beta: Tensor) -> CopySource:
    """All passages as one sequence, each place with its passage's log beta: (batch, K * L, ...)."""
    weight = log_beta[:, :, None].expand(-1, -1, states.shape[2]).flatten(1, 2)
    may_copy = (passages.copyable & passages.mask).flatten(1, 2)
    plain = CopySource.plain(states.flatten(1, 2), passages.tokens.flatten(1, 2), somewhere(may_copy))
    return plain._replace(weight=weight)


def somewhere(may_copy: Tensor) -> Tensor:
    """Where a source has nothing to copy its first place stands in, (batch, places).

    Attention needs a place to look at, the same one whatever the padding; [CLS] stands there, which is never written.
    """
    first = torch.arange(may_copy.shape[1], device=may_copy.device) == 0
    return may_copy | (first & ~may_copy.any(dim=1, keepdim=True))


def support(words: WordpieceSettings, vocabulary: int, common: Tensor | None, input_words: bool = False) -> Support:
    """The words P^v may write: so many of `common`, the commonest first, or all if `vocabulary` is 0; [end] always."""
    if not vocabulary:
        return Support(words.words, words.never_written)
    if common is None or len(common) < vocabulary:
        raise SettingsError(f"vocabulary is {vocabulary}: the network needs that many token ids, the commonest first")
    chosen = torch.cat([common[:vocabulary].long(), torch.tensor([words.end])])
    return Support(words.words, words.never_written, chosen, input_words)


def pretrained_encoder(settings: EncoderSettings, tuned: bool) -> Encoder:
    """An encoder; one that training leaves alone has no dropout and takes no gradient."""
    encoder = Encoder(settings if tuned else replace(settings, dropout=0.0, attention_dropout=0.0))
    return encoder.requires_grad_(tuned)
