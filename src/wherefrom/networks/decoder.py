"""The decoder: what has been written so far, looking at several sources, becomes the state of the next step.

Two decoders with the same four methods: `all` for training, where the whole answer is known, and `empty`, `remember`
and `step` for writing one token after the other. Both ways give the same states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from wherefrom.networks.encoder import working_dtype
from wherefrom.networks.layers import Attention, FeedForward, KeyValue, NormPlace, causal_bias, mask_bias
from wherefrom.networks.pointer import CopySource


class Cache(NamedTuple):
    """What a step need not work out again."""

    own: tuple[Tensor, ...]  # of the tokens written so far; the batch is the second dimension
    given: tuple[Tensor, ...]  # keys and values of each source, layer by layer: (batch, heads, places, ...) each
    keys: tuple[Tensor, ...]  # of each source, for copying: (batch, places, width)

    def reordered(self, index: Tensor) -> Cache:
        """Other beginnings of the same answers: only what was written changes rows."""
        return self._replace(own=tuple(part.index_select(1, index) for part in self.own))

    def rows(self, index: Tensor) -> Cache:
        """These rows of the batch, in this order."""
        return Cache(
            tuple(part.index_select(1, index) for part in self.own),
            tuple(part.index_select(0, index) for part in self.given),
            tuple(part.index_select(0, index) for part in self.keys),
        )


class DecoderBlock(nn.Module):
    """Masked self-attention, one attention a source in their order, feed-forward (PREAST-QA Eq. 4.15 to 4.18).

    Each is added to its input; normalised after that (`post`, the sources) or before its map (`pre`, which trains
    without a long warm-up).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        inner: int,
        sources: int,
        norm: NormPlace,
        dropout: float,
        attention_dropout: float,
    ) -> None:
        super().__init__()
        self.norm_place = norm
        self.own = Attention(width, heads, attention_dropout)
        self.looks = nn.ModuleList(Attention(width, heads, attention_dropout) for _ in range(sources))
        self.feed = FeedForward(width, inner)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(sources + 2))
        self.dropout = nn.Dropout(dropout)

    def remember(self, sources: Sequence[CopySource]) -> list[KeyValue]:
        """The keys and values of each source."""
        keys_and_values: list[KeyValue] = []
        for look, source in zip(self.looks, sources, strict=True):
            assert isinstance(look, Attention)
            keys_and_values.append(look.remember(source.states))
        return keys_and_values

    def forward(
        self,
        hidden: Tensor,
        past: KeyValue | None,
        given: Sequence[KeyValue],
        own_bias: Tensor | None,
        biases: Sequence[Tensor],
    ) -> tuple[Tensor, KeyValue]:
        """hidden: (batch, steps, width), after the steps of `past`. Returns it, and what the next looks back at."""
        asking = self._before(0, hidden)
        back = self.own.remember(asking)
        if past is not None:
            back = KeyValue(torch.cat([past.key, back.key], dim=2), torch.cat([past.value, back.value], dim=2))
        hidden = self._after(0, hidden, self.own(asking, back, own_bias))
        for place, (look, seen, bias) in enumerate(zip(self.looks, given, biases, strict=True), start=1):
            hidden = self._after(place, hidden, look(self._before(place, hidden), seen, bias))
        last = len(self.norms) - 1
        return self._after(last, hidden, self.feed(self._before(last, hidden))), back

    def _before(self, place: int, hidden: Tensor) -> Tensor:
        return self.norms[place](hidden) if self.norm_place == "pre" else hidden

    def _after(self, place: int, hidden: Tensor, change: Tensor) -> Tensor:
        hidden = hidden + self.dropout(change)
        return self.norms[place](hidden) if self.norm_place == "post" else hidden


class TransformerDecoder(nn.Module):
    """A linear map to the width of the network, then blocks."""

    def __init__(
        self,
        incoming: int,
        width: int,
        layers: int,
        heads: int,
        inner: int,
        sources: int,
        norm: NormPlace,
        dropout: float,
        attention_dropout: float,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.enter = nn.Linear(incoming, width)
        self.blocks = nn.ModuleList(
            DecoderBlock(width, heads, inner, sources, norm, dropout, attention_dropout) for _ in range(layers)
        )
        self.leave = nn.LayerNorm(width) if norm == "pre" else nn.Identity()  # post-norm ends normalised already

    def all(self, embedded: Tensor, sources: Sequence[CopySource]) -> Tensor:
        """Every step at once: (batch, steps, incoming) to (batch, steps, width)."""
        hidden: Tensor = self.enter(embedded)
        own_bias = causal_bias(embedded.shape[1], working_dtype(hidden), hidden.device)
        biases = [mask_bias(source.mask, working_dtype(hidden)) for source in sources]
        for block in self.blocks:
            assert isinstance(block, DecoderBlock)
            hidden, _ = block(hidden, None, block.remember(sources), own_bias, biases)
        states: Tensor = self.leave(hidden)
        return states

    def empty(self, batch: int, like: Tensor) -> tuple[Tensor, ...]:
        """Nothing written yet: keys and values (layers, batch, heads, 0, width of a head)."""
        shape = (len(self.blocks), batch, self.heads, 0, self.enter.out_features // self.heads)
        return like.new_zeros(shape), like.new_zeros(shape)

    def remember(self, sources: Sequence[CopySource]) -> tuple[Tensor, ...]:
        """Keys and values of each source in turn, block after block: (batch, heads, places, width of a head) each.

        One tensor each: a step would copy the layers out of a common one, which costs as much as looking at them.
        """
        by_block = [block.remember(sources) for block in self.blocks if isinstance(block, DecoderBlock)]
        return tuple(part for block in by_block for seen in block for part in seen)

    def written(self, own: tuple[Tensor, ...]) -> int:
        """How many tokens were written: the place of the next."""
        return own[0].shape[3]

    def step(
        self, embedded: Tensor, own: tuple[Tensor, ...], given: tuple[Tensor, ...], masks: Sequence[Tensor]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The next state, (batch, 1, width); embedded: (batch, 1, incoming)."""
        hidden: Tensor = self.enter(embedded)
        biases = [mask_bias(mask, working_dtype(hidden)) for mask in masks]
        keys: list[Tensor] = []
        values: list[Tensor] = []
        for layer, block in enumerate(self.blocks):
            here = given[2 * layer * len(masks) :]
            seen = [KeyValue(here[2 * source], here[2 * source + 1]) for source in range(len(masks))]
            hidden, back = block(hidden, KeyValue(own[0][layer], own[1][layer]), seen, None, biases)
            keys.append(back.key)
            values.append(back.value)
        return self.leave(hidden), (torch.stack(keys), torch.stack(values))


class RecurrentDecoder(nn.Module):
    """One LSTM layer, then one attention a source: the decoder of Masque's comparison with RNNs (Table 3)."""

    def __init__(
        self, incoming: int, width: int, heads: int, sources: int, dropout: float, attention_dropout: float
    ) -> None:
        super().__init__()
        self.enter = nn.Linear(incoming, width)
        self.recurrent = nn.LSTM(width, width, batch_first=True)
        self.looks = nn.ModuleList(Attention(width, heads, attention_dropout) for _ in range(sources))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(sources))
        self.dropout = nn.Dropout(dropout)

    def all(self, embedded: Tensor, sources: Sequence[CopySource]) -> Tensor:
        """Every step at once: (batch, steps, incoming) to (batch, steps, width)."""
        hidden, _ = self.recurrent(self.enter(embedded))
        return self._look(hidden, self.remember(sources), [source.mask for source in sources])

    def empty(self, batch: int, like: Tensor) -> tuple[Tensor, ...]:
        """The LSTM's two states before anything is written: (1, batch, width)."""
        shape = (1, batch, self.enter.out_features)
        return like.new_zeros(shape), like.new_zeros(shape)

    def remember(self, sources: Sequence[CopySource]) -> tuple[Tensor, ...]:
        """Keys and values of each source in turn: (batch, heads, places, width of a head) each."""
        keys_and_values: list[Tensor] = []
        for look, source in zip(self.looks, sources, strict=True):
            assert isinstance(look, Attention)
            keys_and_values += look.remember(source.states)
        return tuple(keys_and_values)

    def written(self, _own: tuple[Tensor, ...]) -> int:
        """An LSTM does not count; it takes no positions either."""
        return 0

    def step(
        self, embedded: Tensor, own: tuple[Tensor, ...], given: tuple[Tensor, ...], masks: Sequence[Tensor]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The next state, (batch, 1, width); embedded: (batch, 1, incoming)."""
        hidden, (state, cell) = self.recurrent(self.enter(embedded), (own[0], own[1]))
        return self._look(hidden, given, masks), (state, cell)

    def _look(self, hidden: Tensor, given: tuple[Tensor, ...], masks: Sequence[Tensor]) -> Tensor:
        for place, (look, norm, mask) in enumerate(zip(self.looks, self.norms, masks, strict=True)):
            seen = KeyValue(given[2 * place], given[2 * place + 1])
            bias = mask_bias(mask, working_dtype(hidden))
            hidden = norm(hidden + self.dropout(look(hidden, seen, bias)))
        return hidden
