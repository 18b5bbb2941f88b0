"""A reader network that teaches DrQA's: it reads the pieces of the same words.

BERT cuts text at the same places as `features.tokens`, and more: a word's pieces are inside it, so that a chance of a
piece is a chance of its word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import ReaderNetwork
from wherefrom.train.checkpoint import load_weights, saved_layers


class ReaderTeacher:
    """The network in a file of weights, as `train reader` leaves it in a training's folder."""

    longest = 512  # pieces of question and passage; what is further on gets no chance

    def __init__(self, path: Path, encoder: EncoderSettings, classify: int = 101, separate: int = 102) -> None:
        """`encoder` may have more or fewer layers than the weights: these tell."""
        self.path = path
        self._network = ReaderNetwork(replace(encoder, layers=saved_layers(path))).eval().requires_grad_(False)
        load_weights(self._network, path, without=("match.",))
        self._classify, self._separate = classify, separate

    @torch.no_grad()
    def chances(
        self,
        material: Mapping[str, Tensor],
        question: Tensor,
        question_lengths: Sequence[int],
        passage: Tensor,
        passage_lengths: Sequence[int],
        temperature: float,
    ) -> tuple[Tensor, Tensor]:
        """For every token of the passages the chance to be the start and the end: (batch, tokens) each.

        Questions and passages are words of the material, (batch, words).
        """
        device = passage.device
        self._network.to(device)
        question_pieces, _, question_length = _pieces(material, question, question_lengths)
        passage_pieces, word, read = _pieces(material, passage, passage_lengths)
        at = question_length + 2  # (batch, 1): where the passage begins, behind [CLS] question [SEP]
        last = at + read  # (batch, 1): the closing [SEP]
        place = torch.arange(min(self.longest, int(last.max()) + 1), device=device)[None]
        inside = (place >= at) & (place < last)

        def laid(pieces: Tensor, begin: Tensor | int) -> Tensor:
            return pieces.gather(1, (place - begin).clamp(0, pieces.shape[1] - 1).expand(len(pieces), -1))

        tokens = torch.where(inside, laid(passage_pieces, at), 0)
        tokens = torch.where((place >= 1) & (place <= question_length), laid(question_pieces, 1), tokens)
        tokens = torch.where((place == question_length + 1) | (place == last), self._separate, tokens)
        tokens = torch.where(place == 0, self._classify, tokens)
        mask = place <= last
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            output = self._network(tokens, mask, inside, ((place >= at) & mask).long())
        owner = torch.where(inside, laid(word, at), 0)

        def spread(logits: Tensor) -> Tensor:
            chance = torch.softmax((logits.float() / temperature).masked_fill(~inside, -torch.inf), -1)
            return torch.zeros(passage.shape, device=device).scatter_add_(1, owner, chance)

        return spread(output.start), spread(output.end)


def _pieces(material: Mapping[str, Tensor], words: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Words as pieces, (batch, pieces), the number of each piece's word in its text, and how many there are."""
    until = material["word_pieces_until"].long()
    real = torch.arange(words.shape[1], device=words.device) < torch.tensor(lengths, device=words.device)[:, None]
    counts = torch.where(real, until[words + 1] - until[words], 0)
    ends = counts.cumsum(1)  # (batch, words)
    total = ends[:, -1:]
    place = torch.arange(int(total.max()), device=words.device).expand(len(words), -1).contiguous()
    word = torch.searchsorted(ends, place, right=True).clamp(max=words.shape[1] - 1)
    first = (ends - counts).gather(1, word)
    piece = (until[words.gather(1, word)] + place - first).clamp(max=len(material["word_pieces"]) - 1)
    return material["word_pieces"][piece].long(), word, total
