"""A network that asks: it picks words of a passage and writes a question that they answer.

It serves training alone: questions about passages that nobody has asked about, for a reader's teacher to answer
(Alberti et al. 2019, https://arxiv.org/abs/1906.05416, make questions and keep those that a reader answers).

The encoder reads `[CLS] passage [SEP]`, twice: once to say which words make an answer, then with these marked by their
type. The decoder writes words of the vocabulary or copies those of the passage (See et al. 2017,
https://arxiv.org/abs/1704.04368): P(w) = g softmax(V)_w + (1 - g) sum of the attention on w.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import NEVER, Encoder, EncoderSettings, initialise


@dataclass(frozen=True, slots=True)
class QuestionDecoderSettings:
    """The decoder, and what it may write."""

    layers: int = 4
    longest: int = 32  # tokens of a question
    longest_answer: int = 12  # tokens
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if min(self.layers, self.longest, self.longest_answer) < 1:
            raise SettingsError("asker: layers, longest and longest_answer must be at least 1")


class AskerNetwork(nn.Module):
    """An encoder, two heads for the answer, a decoder for the question."""

    def __init__(self, encoder: EncoderSettings, settings: QuestionDecoderSettings | None = None) -> None:
        super().__init__()
        self.settings = settings or QuestionDecoderSettings()
        width = encoder.width
        self.encoder = Encoder(encoder)
        self.first = nn.Linear(width, 1)
        self.last = nn.Linear(width, width)  # of the first token: what the last one should look like
        self.position = nn.Embedding(self.settings.longest + 1, width)
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(
                width, encoder.heads, 4 * width, self.settings.dropout, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(self.settings.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.write = nn.Linear(width, width)
        self.bias = nn.Parameter(torch.zeros(encoder.words))
        self.copy = nn.Linear(width, width)
        self.gate = nn.Linear(width, 1)
        for part in (self.first, self.last, self.position, self.write, self.copy, self.gate):
            initialise(part)

    def read(self, tokens: Tensor, mask: Tensor, answer: Tensor | None = None) -> Tensor:
        """States of the passage, (batch, length, width); `answer` is true at the answer's tokens."""
        types = torch.zeros_like(tokens) if answer is None else answer.long()
        states: Tensor = self.encoder(tokens, mask, types)
        return states

    def starts(self, states: Tensor, passage: Tensor) -> Tensor:
        """Logits of where an answer may begin: (batch, length); `passage` is true at the passage's tokens."""
        logits: Tensor = self.first(states).float().squeeze(-1)
        return logits.masked_fill(~passage, NEVER)

    def ends(self, states: Tensor, passage: Tensor, start: Tensor) -> Tensor:
        """Logits of where an answer that begins at `start`, (batch,), may end: (batch, length)."""
        wanted = self.last(states[torch.arange(len(start), device=start.device), start])  # (batch, width)
        fit = torch.einsum("bw,blw->bl", wanted, states).float() / states.shape[-1] ** 0.5
        place = torch.arange(states.shape[1], device=states.device)[None]
        near = (place >= start[:, None]) & (place < start[:, None] + self.settings.longest_answer)
        ends: Tensor = fit.masked_fill(~(passage & near), NEVER)
        return ends

    def log_chances(self, states: Tensor, mask: Tensor, tokens: Tensor, written: Tensor, wanted: Tensor) -> Tensor:
        """log P of `wanted`, (batch, steps), each behind what is `written` before it, (batch, steps).

        `states` are the passage's with the answer marked, `tokens` and `mask` its tokens: (batch, length, ...).
        Only the wanted tokens' chances are put together: those of the whole vocabulary take most of a step otherwise.
        """
        hidden = self._decoded(states, mask, written)
        generated, copied, gate = self._sources(hidden, states, mask)
        there = tokens[:, None] == wanted[:, :, None]  # (batch, steps, length)
        from_passage = (copied * there).sum(-1).clamp(min=1e-9)
        from_words = generated.gather(2, wanted[:, :, None]).squeeze(2) - torch.logsumexp(generated, -1)
        return torch.logaddexp(
            functional.logsigmoid(gate) + from_words, functional.logsigmoid(-gate) + torch.log(from_passage)
        )

    def following(self, states: Tensor, mask: Tensor, tokens: Tensor, written: Tensor) -> Tensor:
        """The chances of the token behind `written`, (batch, words)."""
        hidden = self._decoded(states, mask, written)[:, -1:]
        generated, copied, gate = self._sources(hidden, states, mask)
        chance = torch.softmax(generated, -1)[:, 0] * torch.sigmoid(gate)
        return chance.scatter_add(1, tokens, copied[:, 0] * torch.sigmoid(-gate))

    def _decoded(self, states: Tensor, mask: Tensor, written: Tensor) -> Tensor:
        """The decoder's states behind each token that is written: (batch, steps, width)."""
        steps = written.shape[1]
        hidden = self.encoder.word(written) + self.position.weight[:steps]
        later = torch.ones(steps, steps, dtype=torch.bool, device=written.device).triu(1)
        for layer in self.layers:
            hidden = layer(hidden, states, tgt_mask=later, memory_key_padding_mask=~mask)
        normed: Tensor = self.norm(hidden)
        return normed

    def _sources(self, hidden: Tensor, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of the vocabulary, (batch, steps, words); chances of the passage's tokens; the gate's logit."""
        generated = functional.linear(self.write(hidden), self.encoder.word.weight).float() + self.bias
        attention = torch.einsum("bsw,blw->bsl", self.copy(hidden), states).float() / states.shape[-1] ** 0.5
        copied = torch.softmax(attention.masked_fill(~mask[:, None], NEVER), -1)  # (batch, steps, length)
        return generated, copied, self.gate(hidden).float().squeeze(-1)
