"""BERTSUM with a query: an encoder with a [CLS] a sentence, an extractive head over these, a Transformer decoder.

Liu and Lapata 2019, https://arxiv.org/abs/1908.08345; the query before the document, and what of the two sees what, is
QR-BERTSUM's. Query and document are one sequence:

    [CLS] query [SEP] [CLS] sentence [SEP] [CLS] sentence [SEP] ...

with the token types 0 and 1 in turn, a sentence after the other. A plain softmax writes: nothing is copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.errors import SettingsError
from wherefrom.networks.decoder import TransformerDecoder
from wherefrom.networks.encoder import NEVER, Encoder, EncoderSettings, initialise, working_dtype
from wherefrom.networks.layers import EncoderStack, Positions
from wherefrom.networks.pointer import CopySource
from wherefrom.networks.writer import MINILM

Mask = Literal["bidirectional", "qd"]


@dataclass(frozen=True, slots=True)
class BertsumSettings:
    """The size of it; the source has BERT's base size, ours MiniLM's (MPNet has no token types)."""

    encoder: EncoderSettings = field(default_factory=lambda: MINILM)
    mask: Mask = "bidirectional"  # qd: no token of the query sees the document
    decoder_layers: int = 6
    decoder_inner: int = 1024  # 2,048 beside BERT's 768
    sentence_layers: int = 2  # of the extractive head, over the sentences
    dropout: float = 0.1
    smoothing: float = 0.1  # of the labels

    def __post_init__(self) -> None:
        if min(self.decoder_layers, self.decoder_inner, self.sentence_layers) < 1:
            raise SettingsError("decoder_layers, decoder_inner and sentence_layers must be above 0")
        if self.encoder.types < 2:
            raise SettingsError("the encoder needs two token types, as MiniLM has them: sentences take turns")


class QueryDocuments(NamedTuple):
    """What is read, padded on the right."""

    tokens: Tensor  # (batch, length)
    mask: Tensor  # (batch, length), true at real tokens
    types: Tensor  # (batch, length): 0 and 1, sentence by sentence
    query: Tensor  # (batch, length), true at the query's tokens, its [CLS] and [SEP] included
    sentences: Tensor  # (batch, sentences): where each sentence's [CLS] stands
    sentence_mask: Tensor  # (batch, sentences)


def attention_mask(query: Tensor, mask: Tensor, kind: Mask) -> Tensor:
    """Which token (row) may see which (column): (batch, length, length).

    qd: M_ij forbids i of the query to see j of the document; all else sees all that is real.
    """
    real = mask[:, None, :].expand(-1, mask.shape[1], -1)
    if kind == "bidirectional":
        return real
    return real & ~(query[:, :, None] & ~query[:, None, :])


class BertsumNetwork(nn.Module):
    """`extract` scores sentences; `loss_of` and `next_logits` write."""

    def __init__(self, settings: BertsumSettings, begin: int, padding: int) -> None:
        super().__init__()
        self.settings, self.begin, self.padding = settings, begin, padding
        of, width = settings, settings.encoder.width
        self.encoder = Encoder(settings.encoder)
        self.sentences = EncoderStack(
            width, width, of.sentence_layers, settings.encoder.heads, of.decoder_inner, of.dropout, of.dropout
        )
        self.salience = nn.Linear(width, 1)
        self.words = nn.Embedding(settings.encoder.words, width, padding_idx=padding)
        self.positions = Positions("sinusoidal", width)
        self.decoder = TransformerDecoder(
            width, width, of.decoder_layers, settings.encoder.heads, of.decoder_inner, 1, "pre", of.dropout, of.dropout
        )
        for module in (self.sentences, self.salience, self.words, self.decoder):
            module.apply(initialise)

    def take_words(self) -> None:
        """The decoder's words begin as the encoder's."""
        self.words.load_state_dict(self.encoder.word.state_dict())

    def read(self, given: QueryDocuments) -> Tensor:
        """The states of all tokens: (batch, length, width)."""
        hidden = self.encoder.embed(given.tokens, given.types)
        seen = attention_mask(given.query, given.mask, self.settings.mask)
        dtype = working_dtype(hidden)
        bias = torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill(~seen, NEVER)[:, None]
        for layer in self.encoder.layers:
            hidden = layer(hidden, bias)
        return hidden

    def extract(self, given: QueryDocuments) -> Tensor:
        """The logit of each sentence that it is of the summary; NEVER at padding: (batch, sentences)."""
        states = self.read(given)
        index = given.sentences[..., None].expand(-1, -1, states.shape[-1])
        over = self.sentences(states.gather(1, index), given.sentence_mask)
        logits: Tensor = self.salience(over).squeeze(-1).masked_fill(~given.sentence_mask, NEVER)
        return logits

    def next_logits(self, states: Tensor, mask: Tensor, written: Tensor) -> Tensor:
        """The logits after every written token, the first of which begins the summary: (batch, steps, words)."""
        steps = self.decoder.all(self.positions(self.words(written)), [_source(states, mask)])
        return functional.linear(steps, self.words.weight)

    def remember(self, states: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """What every step looks at of the states, worked out once."""
        return self.decoder.remember([_source(states, mask)])

    def step(
        self, token: Tensor, own: tuple[Tensor, ...], given: tuple[Tensor, ...], mask: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The logits after one more token, (rows, words), and what the next step needs of it; token: (rows, 1)."""
        embedded = self.positions(self.words(token), self.decoder.written(own))
        states, own = self.decoder.step(embedded, own, given, [mask])
        return functional.linear(states[:, -1], self.words.weight), own

    def writing_loss(self, given: QueryDocuments, target: Tensor) -> Tensor:
        """Cross-entropy with smoothed labels, a mean over the target's tokens; target: (batch, steps), padded."""
        start = torch.full_like(target[:, :1], self.begin)
        logits = self.next_logits(self.read(given), given.mask, torch.cat([start, target[:, :-1]], dim=1))
        return functional.cross_entropy(
            logits.flatten(0, 1).float(),
            target.flatten(),
            ignore_index=self.padding,
            label_smoothing=self.settings.smoothing,
        )

    def extraction_loss(self, given: QueryDocuments, labels: Tensor) -> Tensor:
        """Binary cross-entropy, a mean over the sentences; labels: (batch, sentences)."""
        losses = functional.binary_cross_entropy_with_logits(self.extract(given).float(), labels, reduction="none")
        real: Tensor = given.sentence_mask.float()
        return (losses * real).sum() / real.sum().clamp(min=1.0)


def _source(states: Tensor, mask: Tensor) -> CopySource:
    return CopySource.plain(states, torch.zeros(mask.shape, dtype=torch.long, device=mask.device), mask)


@torch.no_grad()
def beam_search(
    network: BertsumNetwork, given: QueryDocuments, end: int, forbidden: tuple[int, ...], beam: int, most: int
) -> list[tuple[int, ...]]:
    """The likeliest summary of each row, of at most `most` tokens, without [SEP].

    The score is the plain sum of log-likelihoods: the source names no length penalty and no blocking of repeats.
    """
    states = network.read(given)
    batch, device = len(given.tokens), given.tokens.device
    rows = torch.arange(batch, device=device).repeat_interleave(beam)
    mask = given.mask[rows]
    seen = tuple(part[rows] for part in network.remember(states, given.mask))
    own = network.decoder.empty(batch * beam, seen[0])
    written = torch.full((batch * beam, 1), network.begin, device=device)
    total = torch.full((batch, beam), float(NEVER), device=device)
    total[:, 0] = 0.0  # all beginnings are equal at first: only one counts
    ended = torch.zeros(batch * beam, dtype=torch.bool, device=device)
    for _ in range(most):
        logits, own = network.step(written[:, -1:], own, seen, mask)
        gain = logits.float().log_softmax(dim=-1)  # (rows, words)
        gain[:, list(forbidden)] = NEVER
        only_end = torch.full_like(gain, NEVER)
        only_end[:, end] = 0.0
        gain = torch.where(ended[:, None], only_end, gain)
        words = gain.shape[-1]
        total, order = (total[:, :, None] + gain.view(batch, beam, words)).flatten(1).topk(beam, dim=1)
        parent = (torch.arange(batch, device=device)[:, None] * beam + order // words).flatten()
        token = (order % words).flatten()
        written = torch.cat([written[parent], token[:, None]], dim=1)
        own = tuple(part.index_select(1, parent) for part in own)
        ended = ended[parent] | (token == end)
        if bool(ended.all()):
            break
    best = written.view(batch, beam, -1)[:, 0, 1:].tolist()  # the first of a beam is the likeliest
    return [tuple(row[: row.index(end)] if end in row else row) for row in best]
