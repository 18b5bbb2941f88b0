"""DrQA's reader (Chen et al. 2017, section 3.2): two stacks of LSTMs and a bilinear score for every start and end.

p_i   = [E(p_i), exact match, POS, NER, TF, f_align(p_i)]             what a passage's token is
f_align(p_i) = sum_j a_ij E(q_j),   a_ij = softmax_j(g(E(p_i)) · g(E(q_j))),   g = ReLU(linear)
P, Q  = the outputs of all layers of a bidirectional LSTM, side by side, over p_1..n and over E(q_1..m)
q     = sum_j b_j Q_j,   b = softmax(w · Q_j)
start(i) = P_i W_s q,   end(i) = P_i W_e q
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from wherefrom.errors import SettingsError


@dataclass(frozen=True, slots=True)
class DrQASettings:
    """The network's shape; every feature of a token can be switched off to see what it is worth."""

    width: int = 300  # of a word's vector
    tuned: int = 1000  # the words 1 to `tuned`, those that questions use most, learn; all others keep their vectors
    hidden: int = 128  # of an LSTM, in each direction
    layers: int = 3
    dropout: float = 0.4  # of word vectors and of what goes into each layer
    pos_tags: int = 18
    ner_tags: int = 19
    exact: bool = True  # whether the token stands in the question: as it is, in small letters, by its stem
    pos: bool = True
    ner: bool = True
    tf: bool = True  # the token's share of the passage
    align: bool = True  # the question's words, weighted by how close they are to the token
    concat_layers: bool = True  # off: the last layer's output alone
    bidirectional: bool = True

    def __post_init__(self) -> None:
        for name in ("width", "hidden", "layers", "pos_tags", "ner_tags"):
            if getattr(self, name) < 1:
                raise SettingsError(f"network.{name} must be above 0, not {getattr(self, name)}")
        if self.tuned < 0 or not 0.0 <= self.dropout < 1.0:
            raise SettingsError("network.tuned must be 0 or above, and network.dropout at least 0 and below 1")

    @property
    def features(self) -> int:
        """How many numbers a token has beside its vectors."""
        return 3 * self.exact + self.pos_tags * self.pos + self.ner_tags * self.ner + self.tf

    @property
    def encoded(self) -> int:
        """How many numbers the LSTMs make of a token."""
        return self.hidden * (2 if self.bidirectional else 1) * (self.layers if self.concat_layers else 1)


class Logits(NamedTuple):
    """For every token of a passage; minus infinity at padding."""

    start: Tensor  # (batch, tokens)
    end: Tensor  # (batch, tokens)


class DrQANetwork(nn.Module):
    """Questions and passages as vectors in, a logit for every start and end out.

    Lengths are plain numbers: sequences are packed, so that padding never reaches an LSTM and a passage reads the same
    alone and beside longer ones.
    """

    def __init__(self, settings: DrQASettings) -> None:
        super().__init__()
        self.settings = settings
        self.tuned = nn.Embedding(settings.tuned + 1, settings.width)  # row 0, the unknown word, is never looked up
        self.closeness = nn.Linear(settings.width, settings.width) if settings.align else None
        given = settings.width * (2 if settings.align else 1) + settings.features
        self.passage = _Layers(given, settings)
        self.question = _Layers(settings.width, settings)
        self.weight = nn.Linear(settings.encoded, 1)
        self.start = nn.Linear(settings.encoded, settings.encoded)
        self.end = nn.Linear(settings.encoded, settings.encoded)
        self.dropout = nn.Dropout(settings.dropout)

    def vectors(self, words: Tensor, table: Tensor) -> Tensor:
        """(batch, tokens) -> (batch, tokens, width): from the table of all words, or learnt."""
        count = self.settings.tuned
        learnt = ((words > 0) & (words <= count))[..., None]
        return torch.where(learnt, self.tuned(words.clamp(max=count)), table[words].to(self.tuned.weight.dtype))

    def features(self, exact: Tensor, pos: Tensor, ner: Tensor, tf: Tensor) -> Tensor:
        """Those switched on, side by side: (batch, tokens, features). `exact` is (batch, tokens, 3)."""
        settings = self.settings
        parts = [exact.to(tf.dtype)] if settings.exact else []
        parts += [one_hot(pos.long(), settings.pos_tags).to(tf.dtype)] if settings.pos else []
        parts += [one_hot(ner.long(), settings.ner_tags).to(tf.dtype)] if settings.ner else []
        parts += [tf[..., None]] if settings.tf else []
        return torch.cat(parts, -1) if parts else tf.new_zeros(*tf.shape, 0)

    def forward(
        self,
        question: Tensor,
        question_lengths: Sequence[int],
        passage: Tensor,
        passage_lengths: Sequence[int],
        features: Tensor,
    ) -> Logits:
        """Vectors of the questions, (batch, words, width), of the passages, (batch, tokens, width), and features."""
        real = _mask(question, question_lengths)  # (batch, words)
        inside = _mask(passage, passage_lengths)  # (batch, tokens)
        question, passage = self.dropout(question), self.dropout(passage)
        parts = [passage, features]
        if self.closeness is not None:
            parts.append(self._aligned(self.closeness, passage, question, real))
        read = self.passage(torch.cat(parts, -1), passage_lengths)  # (batch, tokens, encoded)
        words = self.question(question, question_lengths)  # (batch, words, encoded)
        scores = self.weight(words).squeeze(-1).masked_fill(~real, -torch.inf)
        whole = (torch.softmax(scores, -1)[:, None] @ words).squeeze(1)  # (batch, encoded)
        start = (read @ self.start(whole)[..., None]).squeeze(-1)
        end = (read @ self.end(whole)[..., None]).squeeze(-1)
        return Logits(start.masked_fill(~inside, -torch.inf), end.masked_fill(~inside, -torch.inf))

    def _aligned(self, closeness: nn.Linear, passage: Tensor, question: Tensor, real: Tensor) -> Tensor:
        """f_align: (batch, tokens, width)."""
        scores = torch.relu(closeness(passage)) @ torch.relu(closeness(question)).transpose(1, 2)
        return torch.softmax(scores.masked_fill(~real[:, None], -torch.inf), -1) @ question


class _Layers(nn.Module):
    """LSTMs on top of each other, with dropout before each and after the last."""

    def __init__(self, given: int, settings: DrQASettings) -> None:
        super().__init__()
        both = 2 if settings.bidirectional else 1
        self.concat = settings.concat_layers
        self.dropout = nn.Dropout(settings.dropout)
        self.lstms = nn.ModuleList(
            nn.LSTM(
                settings.hidden * both if layer else given,
                settings.hidden,
                batch_first=True,
                bidirectional=settings.bidirectional,
            )
            for layer in range(settings.layers)
        )

    def forward(self, given: Tensor, lengths: Sequence[int]) -> Tensor:
        """(batch, tokens, given) -> (batch, tokens, encoded), zero at padding."""
        packed = pack_padded_sequence(given, torch.tensor(list(lengths)), batch_first=True, enforce_sorted=False)
        layers: list[Tensor] = []
        for lstm in self.lstms:
            packed, _ = lstm(_with(packed, self.dropout(packed.data)))
            layers.append(packed.data)
        joined = torch.cat(layers, -1) if self.concat else layers[-1]
        padded: Tensor
        padded, _ = pad_packed_sequence(
            _with(packed, self.dropout(joined)), batch_first=True, total_length=given.shape[1]
        )
        return padded


def _with(packed: PackedSequence, data: Tensor) -> PackedSequence:
    """The same sequences with other numbers."""
    return PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)


def _mask(texts: Tensor, lengths: Sequence[int]) -> Tensor:
    """(batch, tokens): true up to each text's length."""
    place = torch.arange(texts.shape[1], device=texts.device)
    return place < torch.tensor(list(lengths), device=texts.device)[:, None]


def span_loss(logits: Logits, starts: Tensor, ends: Tensor) -> Tensor:
    """-log P_start - log P_end, a mean over the batch; `starts` and `ends` are true at every right token.

    Where an answer stands in several places, P is the sum over them.
    """
    loss = torch.zeros((), device=logits.start.device)
    for scores, right in ((logits.start, starts), (logits.end, ends)):
        chances = torch.log_softmax(scores.float(), -1)
        loss = loss - torch.logsumexp(chances.masked_fill(~right, -torch.inf), -1).mean()
    return loss


def soft_loss(logits: Logits, starts: Tensor, ends: Tensor, temperature: float) -> Tensor:
    """T^2 times the cross-entropy of softmax(logits / T) against a teacher's chances, (batch, tokens) each.

    T^2 keeps the gradient's size as T grows (Hinton et al. 2015, https://arxiv.org/abs/1503.02531, section 2).
    """
    loss = torch.zeros((), device=logits.start.device)
    for scores, chances in ((logits.start, starts), (logits.end, ends)):
        known = torch.log_softmax(scores.float() / temperature, -1).masked_fill(chances == 0, 0.0)  # no 0 * infinity
        loss = loss - (chances * known).sum(-1).mean()
    return temperature**2 * loss
