"""What every network that writes has: it reads into a memory once, then writes from it, all at once or step by step."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from wherefrom.networks.decoder import Cache, RecurrentDecoder, TransformerDecoder
from wherefrom.networks.passage_heads import Ranking
from wherefrom.networks.pointer import Mixture, PointerGenerator, Source, Step, generation_loss


class Memory(NamedTuple):
    """What was read."""

    sources: tuple[Source, ...]
    ranking: Ranking
    answerable: Tensor  # (batch,): the logit of P(a); 0 without a classifier
    real: Tensor  # (batch, K): which passages are not padding

    @property
    def beta(self) -> Tensor:
        """The weight of each passage, 0 for padding: (batch, K)."""
        return self.ranking.log_beta.exp() * self.real

    def rows(self, index: Tensor) -> Memory:
        """These rows of the batch, in this order."""
        pairs = self.ranking.pairs
        ranking = Ranking(
            self.ranking.score.index_select(0, index),
            self.ranking.log_beta.index_select(0, index),
            None if pairs is None else pairs.index_select(0, index),
        )
        sources = tuple(source.rows(index) for source in self.sources)
        return Memory(sources, ranking, self.answerable.index_select(0, index), self.real.index_select(0, index))

    def packed(self) -> Memory:
        """The same with fewer empty places; `Source.place` still tells where each token stood."""
        return self._replace(sources=tuple(source.packed() for source in self.sources))


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


def shifted(target: Tensor, style: Tensor) -> Tensor:
    """What the decoder has seen when it writes each token of the target: the style, then all but the last."""
    return torch.cat([style[:, None], target[:, :-1]], dim=1)
