"""Rules that writing keeps to, for `decoding.write`: what may come from where."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from wherefrom.networks.pointer import CopySource, Step


class WholeWords:
    """Words with a guarded piece (digits, say) are copied whole: the very word stands in one of the sources.

    A word is a piece and the pieces that continue it ("19", "##84"). Guarded pieces never come from the vocabulary. A
    word that holds one goes on only as that word of a source goes on, from that very place, and ends only where a word
    of a source ends, so that no number is put together from two others or cut short.
    """

    def __init__(self, guarded: Tensor, continues: Tensor) -> None:
        """Both (words,): which pieces are guarded, and which continue a word."""
        self._guarded = guarded
        self._continues = continues

    def __call__(self, written: Tensor, step: Step, sources: Sequence[CopySource]) -> Step:
        by_row = [
            self._allowed(written[row], [source.rows(_only(row, written)) for source in sources])
            for row in range(len(written))
        ]
        vocabulary = torch.stack([allowed for allowed, _ in by_row])  # (rows, words)
        copied = [torch.stack([places[number] for _, places in by_row]) for number in range(len(sources))]
        return Step(
            step.vocabulary * vocabulary,
            tuple(part * allowed for part, allowed in zip(step.copied, copied, strict=True)),
        )

    def _allowed(self, written: Tensor, sources: Sequence[CopySource]) -> tuple[Tensor, list[Tensor]]:
        """What one row may write, (words,), and which places of each source it may copy, (places,)."""
        word = self._word(written)
        started = bool(self._guarded[word].any())  # a guarded word is under way
        ends = [_ends(source, word) for source in sources]
        goes_on = [
            _next(source, end) & self._continues[source.tokens[0]] for source, end in zip(sources, ends, strict=True)
        ]
        whole = not started or any(bool((end & ~_before(on)).any()) for end, on in zip(ends, goes_on, strict=True))
        vocabulary = ~self._guarded & torch.where(self._continues, not started, whole)
        places: list[Tensor] = []
        for source, on in zip(sources, goes_on, strict=True):
            tokens = source.tokens[0]
            free = ~self._guarded[tokens] & (not started)
            places.append(torch.where(self._continues[tokens], on | free, whole))
        return vocabulary, places

    def _word(self, written: Tensor) -> Tensor:
        """The pieces of the word under way."""
        starts = torch.nonzero(~self._continues[written]).flatten()
        return written[int(starts[-1]) :] if len(starts) else written


def _only(row: int, like: Tensor) -> Tensor:
    return torch.tensor([row], device=like.device)


def _ends(source: CopySource, word: Tensor) -> Tensor:
    """The places where the source has these pieces, one after the other, the last of them there: (places,)."""
    tokens, mask = source.tokens[0], source.mask[0]
    if len(word) == 0:
        return torch.zeros_like(mask)
    ends = (tokens == word[0]) & mask
    for piece in word[1:]:
        ends = _next(source, ends) & (tokens == piece)
    return ends


def _next(source: CopySource, places: Tensor) -> Tensor:
    """The places right after these, if they belong to the same text."""
    place, mask = source.place[0], source.mask[0]
    follows = functional.pad(place[1:] == place[:-1] + 1, (1, 0), value=False)
    return functional.pad(places[:-1], (1, 0), value=False) & follows & mask


def _before(places: Tensor) -> Tensor:
    """The places right before these."""
    return functional.pad(places[1:], (0, 1), value=False)
