"""The pointer-generator: the next word is written from the vocabulary or copied from one of several sequences.

P(y) = lambda_v P^v(y) + sum over sources s of lambda_s sum over places i with x_i = y of alpha_si

(Masque section 3.4, PREAST-QA Eq. 4.19 to 4.24 and 4.54). Every token here is a wordpiece with an id, so the extended
vocabulary of an example has no new ids; what the sources mean by it remains as the support of P^v: a word outside
comes by copying alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import NEVER
from wherefrom.networks.layers import CopyAttention, CopyKind


class CopySource(NamedTuple):
    """A sequence that the decoder looks at and copies from."""

    states: Tensor  # (batch, places, width)
    tokens: Tensor  # (batch, places)
    mask: Tensor  # (batch, places), true where it may look and copy
    weight: Tensor  # (batch, places): log beta of the place's passage; 0 in other sequences
    place: Tensor  # (batch, places): where the token stood in what was given, K passages of length L counted through

    @classmethod
    def plain(cls, states: Tensor, tokens: Tensor, mask: Tensor) -> CopySource:
        """A sequence without passages: nothing weighs more, all stands where it stood."""
        place = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
        return cls(states, tokens, mask, torch.zeros_like(tokens, dtype=torch.float32), place)

    def rows(self, index: Tensor) -> CopySource:
        """These rows of the batch, in this order."""
        return CopySource(*(part.index_select(0, index) for part in self))

    def packed(self) -> CopySource:
        """Without its masked places, as far as the fullest row allows.

        Several passages padded to one length leave many empty places, which every step would look at.
        """
        fullest = max(1, int(self.mask.sum(dim=1).max()))
        order = torch.argsort((~self.mask).int(), dim=1, stable=True)[:, :fullest]  # (batch, fullest)
        states = self.states.gather(1, order[..., None].expand(-1, -1, self.states.shape[-1]))
        return CopySource(states, *(part.gather(1, order) for part in self[1:]))


class Mixture(NamedTuple):
    """All that P(y) is made of, in logarithms, for every step of every row."""

    vocabulary: Tensor  # (batch, steps, rows of the vocabulary), logits of P^v; NEVER outside its support
    copied: tuple[Tensor, ...]  # log alpha of each source, (batch, steps, places)
    parts: Tensor  # log lambda, (batch, steps, 1 + sources), the vocabulary's first


class Step(NamedTuple):
    """One step's probability by where it comes from; all of it adds up to one."""

    vocabulary: Tensor  # lambda_v P^v, (batch, words)
    copied: tuple[Tensor, ...]  # lambda_s alpha_s of each source, (batch, places)


class Shares(NamedTuple):
    """Where a written token came from; adds up to one."""

    vocabulary: Tensor  # (batch,)
    copied: tuple[Tensor, ...]  # of each source, (batch, places)


class Support(nn.Module):
    """The words that P^v may write: all of them, or the commonest and, with `input_words`, those of the sources.

    Masque: 5,000 common words and the input's. PREAST-QA: the whole fixed vocabulary. `never` are words without a
    place in an answer (padding, [UNK], [CLS], style tokens), which at best are copied.
    """

    allowed: Tensor  # (words,)
    row_of: Tensor  # (words,): where a word's logit stands, -1 for nowhere
    listed: Tensor  # (rows,): the words that have a logit
    may_come_in: Tensor  # (words,): what the input may bring in

    def __init__(
        self, words: int, never: Sequence[int], common: Tensor | None = None, input_words: bool = False
    ) -> None:
        super().__init__()
        self.words = words
        self.input_words = input_words
        allowed = torch.zeros(words, dtype=torch.bool)
        if common is None:
            allowed[:] = True
        else:
            allowed[common] = True
        allowed[list(never)] = False
        may_come_in = torch.ones(words, dtype=torch.bool)
        may_come_in[list(never)] = False
        # Few words need few logits, unless the input may bring in others.
        self.sliced = common is not None and not input_words
        listed = torch.nonzero(allowed).flatten() if self.sliced else torch.arange(words)
        if len(listed) == 0:
            raise SettingsError("vocabulary: no word is left that could be written")
        row_of = torch.full((words,), -1).index_copy(0, listed, torch.arange(len(listed)))
        self.register_buffer("allowed", allowed)
        self.register_buffer("may_come_in", may_come_in)
        self.register_buffer("row_of", row_of)
        self.register_buffer("listed", listed)

    @property
    def rows(self) -> int:
        """How many logits P^v has."""
        return len(self.listed)

    def masked(self, logits: Tensor, sources: Sequence[CopySource]) -> Tensor:
        """NEVER at words outside the support: (batch, steps, rows)."""
        if self.sliced:
            return logits
        allowed = self.allowed[None]  # (1, words)
        if self.input_words:
            counts = torch.zeros(len(logits), self.words, dtype=torch.int, device=logits.device)
            for source in sources:
                counts = counts.scatter_add(1, source.tokens, source.mask.int())
            allowed = allowed | ((counts > 0) & self.may_come_in)  # (batch, words)
        return logits.masked_fill(~allowed[:, None], NEVER)

    def spread(self, probability: Tensor) -> Tensor:
        """From rows to words: (batch, rows) to (batch, words), 0 where there is no row."""
        if not self.sliced:
            return probability
        with_none = torch.cat([probability, torch.zeros_like(probability[:, :1])], dim=1)  # (batch, rows + 1)
        return with_none.index_select(1, torch.where(self.row_of < 0, self.rows, self.row_of))


class PointerGenerator(nn.Module):
    """P^v = softmax((s W1 + b1) W2), one copy attention a source, lambda = softmax([s, c_1, ..., c_n] W + b)."""

    def __init__(
        self, width: int, embedding: int, sources: int, copy: CopyKind, support: Support, tied: bool = False
    ) -> None:
        super().__init__()
        self.support = support
        self.inner = nn.Linear(width, embedding)  # W1
        self.output = None if tied else nn.Linear(embedding, support.rows, bias=False)  # W2, or the word embeddings
        self.copy = nn.ModuleList(CopyAttention(width, copy) for _ in range(sources))
        self.parts = nn.Linear((1 + sources) * width, 1 + sources)

    def keys(self, sources: Sequence[CopySource]) -> tuple[Tensor, ...]:
        """What copying looks up, the same for every step: (batch, places, width) of each source."""
        keys: list[Tensor] = []
        for attention, source in zip(self.copy, sources, strict=True):
            assert isinstance(attention, CopyAttention)
            keys.append(attention.keys(source.states))
        return tuple(keys)

    def forward(
        self, states: Tensor, sources: Sequence[CopySource], keys: Sequence[Tensor], table: Tensor | None = None
    ) -> Mixture:
        """states: (batch, steps, width); keys from `keys`; table: word embeddings (words, embedding), where tied."""
        return self.mixed(states, sources, keys, self._logits(states, sources, table))

    def mixed(self, states: Tensor, sources: Sequence[CopySource], keys: Sequence[Tensor], logits: Tensor) -> Mixture:
        """The same with the logits of P^v given: (batch, steps, rows)."""
        copied: list[Tensor] = []
        contexts = [states]
        for attention, source, key in zip(self.copy, sources, keys, strict=True):
            alpha = combined_attention(attention(states, key), source.weight, source.mask)  # (batch, steps, places)
            copied.append(alpha)
            contexts.append(alpha.exp().to(source.states.dtype) @ source.states)  # c, (batch, steps, width)
        parts = self.parts(torch.cat(contexts, dim=-1)).float()
        empty = [torch.zeros_like(parts[:, 0, 0], dtype=torch.bool), *(~source.mask.any(dim=1) for source in sources)]
        parts = parts.masked_fill(torch.stack(empty, dim=-1)[:, None], NEVER)  # nothing is copied from an empty source
        return Mixture(logits, tuple(copied), torch.log_softmax(parts, dim=-1))

    def _logits(self, states: Tensor, sources: Sequence[CopySource], table: Tensor | None) -> Tensor:
        logits = functional.linear(self.inner(states), self.rows(table))
        return self.support.masked(logits.float(), sources)

    def rows(self, table: Tensor | None) -> Tensor:
        """W2, a row for each word that has a logit, its own or of the word embeddings: (rows, embedding)."""
        if self.output is not None:
            return self.output.weight
        assert table is not None, "tied output needs the word embeddings"
        return table[self.support.listed] if self.support.sliced else table

    def step(self, mixture: Mixture, sources: Sequence[CopySource]) -> Step:
        """The probabilities of a mixture of one step."""
        step = self.step_rows(mixture, sources)
        return step._replace(vocabulary=self.support.spread(step.vocabulary))

    def step_rows(self, mixture: Mixture, sources: Sequence[CopySource]) -> Step:
        """The same with the vocabulary's part by rows, `Support.listed`: (batch, rows)."""
        parts = mixture.parts[:, 0].exp()  # (batch, 1 + sources)
        copied = tuple(
            parts[:, 1 + place, None] * alpha[:, 0].exp() * source.mask
            for place, (alpha, source) in enumerate(zip(mixture.copied, sources, strict=True))
        )
        return Step(parts[:, :1] * torch.softmax(mixture.vocabulary[:, 0], dim=-1), copied)

    def target_log_probability(
        self, mixture: Mixture, sources: Sequence[CopySource], target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """log P of the target tokens, and which of them can be written at all: (batch, steps) both.

        Only the target's own probability is gathered; no distribution over the words is made of the copied parts.
        """
        row = self.support.row_of[target]  # (batch, steps)
        logit = mixture.vocabulary.gather(-1, row.clamp(min=0)[..., None]).squeeze(-1)
        written = torch.where(row >= 0, logit - torch.logsumexp(mixture.vocabulary, dim=-1), NEVER)
        by_source = [written]
        known = self.support.allowed[target]
        for alpha, source in zip(mixture.copied, sources, strict=True):
            same = (target[:, :, None] == source.tokens[:, None]) & source.mask[:, None]  # (batch, steps, places)
            by_source.append(torch.logsumexp(alpha.masked_fill(~same, NEVER), dim=-1))
            known = known | same.any(dim=-1)
        return torch.logsumexp(mixture.parts + torch.stack(by_source, dim=-1), dim=-1), known


def combined_attention(logits: Tensor, weight: Tensor, mask: Tensor) -> Tensor:
    """log of alpha_i beta_k(i) / sum_j alpha_j beta_k(j) (PREAST-QA Eq. 4.21): the softmax of e + log beta.

    logits: (batch, steps, places); weight: log beta of each place, (batch, places).
    """
    logits = logits.float() + weight.float()[:, None]
    return torch.log_softmax(logits.masked_fill(~mask[:, None], NEVER), dim=-1)


def generation_loss(log_probability: Tensor, known: Tensor, mask: Tensor, answerable: Tensor) -> Tensor:
    """-1/N_ans sum over answerable examples of 1/T^v sum over known tokens of log P(y_t) (PREAST-QA Eq. 4.28).

    T^v counts the tokens that can be written at all. Examples without a token that counts are left out; 0 if there is
    none. log_probability, known, mask: (batch, steps); answerable: (batch,).
    """
    counts = known & mask & answerable.bool()[:, None]
    total = torch.where(counts, log_probability, 0.0).sum(dim=1)
    tokens = counts.sum(dim=1)
    return -(total / tokens.clamp(min=1)).sum() / (tokens > 0).sum().clamp(min=1)


def dense(step: Step, sources: Sequence[CopySource]) -> Tensor:
    """P over the words: (batch, words)."""
    total = step.vocabulary
    for probability, source in zip(step.copied, sources, strict=True):
        total = total.scatter_add(1, source.tokens, probability.to(total.dtype))
    return total


def shares(step: Step, sources: Sequence[CopySource], token: Tensor) -> Shares:
    """What part of P(token) came from the vocabulary and from each place of each source; token: (batch,)."""
    written = step.vocabulary.gather(1, token[:, None]).squeeze(1)  # (batch,)
    copied = [
        probability * (source.tokens == token[:, None])
        for probability, source in zip(step.copied, sources, strict=True)
    ]
    total = written + torch.stack([part.sum(dim=1) for part in copied]).sum(dim=0) if copied else written
    # A token of no probability at all (forced by a rule) is the vocabulary's.
    some = total > 0
    safe = torch.where(some, total, 1.0)
    return Shares(torch.where(some, written / safe, 1.0), tuple(part / safe[:, None] for part in copied))
