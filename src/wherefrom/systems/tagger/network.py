"""The light tagger: hashed word features, three-token convolutions with residuals, two linear heads.

The form of spaCy's small models (hash embeddings, Serrà and Karatzoglou 2017; window encoder) with one embedding
table in place of four, and ReLU in place of maxout. `features.tags` runs it with numpy.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wherefrom.features.tags import NER, POS


@dataclass(frozen=True, slots=True)
class TaggerSettings:
    """The size of the network."""

    pos: int = len(POS)
    ner: int = len(NER)
    rows: int = 32_768  # of the table of features: 3 MB in 8 bits
    own_rows: int = 2  # the first rows of a token are the word's own, the others are shared with words like it
    width: int = 96
    layers: int = 4  # each sees one token further to both sides
    dropout: float = 0.1
    word_dropout: float = 0.1  # of a word's own rows: unseen words must do without


class TaggerNetwork(nn.Module):
    """Scores of every tag for every token."""

    def __init__(self, settings: TaggerSettings) -> None:
        super().__init__()
        self.settings = settings
        width = settings.width
        self.table = nn.Embedding(settings.rows, width)
        nn.init.normal_(self.table.weight, std=0.4)  # six of them add up to about 1
        self.glued = nn.Parameter(torch.zeros(width))
        self.first = nn.LayerNorm(width, bias=False)
        self.mix = nn.ModuleList(nn.Linear(3 * width, width) for _ in range(settings.layers))
        self.norm = nn.ModuleList(nn.LayerNorm(width, bias=False) for _ in range(settings.layers))
        self.dropout = nn.Dropout(settings.dropout)
        self.pos = nn.Linear(width, settings.pos)
        self.ner = nn.Linear(width, settings.ner)

    def forward(self, rows: Tensor, glued: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of parts of speech and of entities, (batch, length, tags) each.

        `rows` (batch, length, features) are those of the table; `glued` and `mask` (batch, length) say whether a token
        follows without a space, and whether it is one.
        """
        filled = mask.unsqueeze(-1)
        states = self._words(rows) + glued.unsqueeze(-1) * self.glued  # (batch, length, width)
        states = self.dropout(self.first(states)) * filled
        for mix, norm in zip(self.mix, self.norm, strict=True):
            before = nn.functional.pad(states, (0, 0, 1, 0))[:, :-1]
            after = nn.functional.pad(states, (0, 0, 0, 1))[:, 1:]
            mixed = torch.relu(mix(torch.cat((before, states, after), dim=-1)))
            states = norm(states + self.dropout(mixed)) * filled
        return self.pos(states), self.ner(states)

    def _words(self, rows: Tensor) -> Tensor:
        """The sum of the feature vectors; in training, some words go without their own."""
        features: Tensor = self.table(rows)  # (batch, length, features, width)
        if self.training and self.settings.word_dropout:
            kept = torch.rand(rows.shape[:-1], device=rows.device) >= self.settings.word_dropout
            weights = torch.ones(*rows.shape, 1, device=rows.device)
            weights[..., : self.settings.own_rows, 0] = kept.unsqueeze(-1).to(weights.dtype)
            features = features * weights
        return features.sum(dim=-2)
