"""QASA's network (Nguyen 2019, section 3.1): words and letters, a shared BiLSTM, attention that knows the question.

Texts are places in a list of the distinct words of a microbatch, so that a word is spelt once. Lengths are of real
words; what stands behind them changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import rnn

from wherefrom.networks.layers import masked_softmax
from wherefrom.runtime.plain_words import LETTERS
from wherefrom.systems.qasa.settings import QasaNetworkSettings


@dataclass(frozen=True, slots=True)
class WordTexts:
    """Texts as places among words: (texts, length), and how many are real, (texts,)."""

    words: Tensor
    lengths: Tensor


class QasaNetwork(nn.Module):
    """s(question, passage), higher for the passage that answers."""

    def __init__(self, width: int, settings: QasaNetworkSettings) -> None:
        """`width` is that of the frozen vectors."""
        super().__init__()
        self.settings = settings
        encoded, both = settings.encoding, 2 * settings.hidden
        self.character = nn.Embedding(len(LETTERS) + 1, settings.character, padding_idx=0)
        self.spelling = nn.LSTM(settings.character, settings.character_hidden, batch_first=True, bidirectional=True)
        self.context = nn.LSTM(
            width + 2 * settings.character_hidden, settings.hidden, batch_first=True, bidirectional=True
        )
        self.condense = nn.Linear(both, settings.condensed)  # W1
        self.question = nn.Linear(settings.condensed, encoded)  # W2
        attentive = settings.passage_encoder == "attentive"
        self.attend = nn.Linear(both + encoded, settings.attention) if attentive else None
        self.weigh = nn.Linear(settings.attention, 1) if attentive else None
        self.shorten = None if attentive else nn.Linear(both, settings.condensed)  # kickout: W1 of its own
        self.passage = nn.Linear(both if attentive else settings.condensed, encoded)
        self.compare = nn.Linear(4 * encoded, settings.scoring)
        self.judge = nn.Linear(settings.scoring, 1)
        self.dropout = nn.Dropout(settings.dropout)
        self.dropout_inputs = nn.Dropout(settings.dropout_inputs)
        self.apply(_glorot)
        for lstm in (self.spelling, self.context):
            _remembering(lstm, settings.forget)

    def embed(self, vectors: Tensor, letters: Tensor, counts: Tensor) -> Tensor:
        """e^t and e^c side by side (Eq. 3.1, 3.2): vectors (words, width), letters (words, longest), 0 behind each."""
        packed = rnn.pack_padded_sequence(
            self.character(letters), counts.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        _, (last, _) = self.spelling(packed)  # (2, words, units): each direction's last
        spelt = torch.cat([last[0], last[1]], dim=-1) * (counts > 0)[:, None]
        embedded: Tensor = self.dropout_inputs(torch.cat([vectors, spelt], dim=-1))
        return embedded

    def encode_question(self, words: Tensor, texts: WordTexts) -> Tensor:
        """q = W2 ReLU(W1 h + b1) + b2, h being the last states of both directions (Eq. 3.3 to 3.7): (texts, l)."""
        _, last = self._contextual(words, texts)
        hidden = functional.relu(self.condense(self.dropout_inputs(last)))
        encoded: Tensor = self.question(self.dropout(hidden))
        return encoded

    def encode_passage(self, words: Tensor, texts: WordTexts, question: Tensor) -> Tensor:
        """d, by attention that has read the question (Eq. 3.8 to 3.14); question: (texts, l), each passage's own."""
        states, last = self._contextual(words, texts)  # (texts, length, 2 z), (texts, 2 z)
        if self.attend is None or self.weigh is None:
            assert self.shorten is not None
            alone: Tensor = self.passage(self.dropout(functional.relu(self.shorten(self.dropout_inputs(last)))))
            return alone
        aware = self.dropout_inputs(torch.cat([states, question[:, None].expand(-1, states.shape[1], -1)], dim=-1))
        logits = self.weigh(self.dropout(functional.relu(self.attend(aware))))[..., 0]  # (texts, length)
        real = torch.arange(states.shape[1], device=states.device) < texts.lengths.clamp(min=1)[:, None]
        shares = masked_softmax(logits, real, dim=1)
        summed = torch.einsum("tl,tlw->tw", shares, states)
        encoded: Tensor = self.passage(self.dropout_inputs(summed))
        return encoded

    def score(self, question: Tensor, passage: Tensor) -> Tensor:
        """s = w ReLU(W [q, d, q * d, |q - d|] + b) + b (Eq. 3.15 to 3.17): (pairs, l) both, to (pairs,)."""
        both = torch.cat([question, passage, question * passage, (question - passage).abs()], dim=-1)
        scores: Tensor = self.judge(self.dropout(functional.relu(self.compare(self.dropout_inputs(both)))))[..., 0]
        return scores

    def forward(self, words: Tensor, questions: WordTexts, passages: WordTexts, group: Tensor) -> Tensor:
        """words: (distinct, width), as `embed` gives them; group: (passages,), the question of each."""
        encoded = self.encode_question(words, questions)[group]
        return self.score(encoded, self.encode_passage(words, passages, encoded))

    def _contextual(self, words: Tensor, texts: WordTexts) -> tuple[Tensor, Tensor]:
        """The shared BiLSTM: states (texts, length, 2 z), and the last of both directions (texts, 2 z)."""
        packed = rnn.pack_padded_sequence(
            words[texts.words], texts.lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        passed, (last, _) = self.context(packed)
        states, _ = rnn.pad_packed_sequence(passed, batch_first=True, total_length=texts.words.shape[1])
        return states, torch.cat([last[0], last[1]], dim=-1)


def margin_loss(scores: Tensor, group: Tensor, positive: Tensor, margin: float) -> Tensor:
    """The mean of max(0, margin - s+ + s-) over each question's positives with each of its negatives (Eq. 3.18)."""
    pairs = (group[:, None] == group[None]) & positive[:, None] & ~positive[None]  # (positive, negative)
    losses = functional.relu(margin - scores[:, None] + scores[None])
    return (losses * pairs).sum() / pairs.sum().clamp(min=1)


def _glorot(module: nn.Module) -> None:
    """Weights by Glorot's normal; biases 0."""
    for name, parameter in module.named_parameters(recurse=False):
        if parameter.dim() > 1:
            nn.init.xavier_normal_(parameter)
        else:
            nn.init.zeros_(parameter)
        if isinstance(module, nn.Embedding) and name == "weight":
            with torch.no_grad():
                parameter[0] = 0.0


def _remembering(lstm: nn.LSTM, bias: float) -> None:
    """Forget gates begin with a bias: with none they keep half of a cell at each word, and nothing after ten."""
    with torch.no_grad():
        for name, parameter in lstm.named_parameters():
            if name.startswith("bias_ih"):
                parameter[lstm.hidden_size : 2 * lstm.hidden_size] = bias
