"""The layers that the writing networks share: attention, blocks, dual attention, highway, positions, first weights.

Names as in the sources: Masque, Nishida et al. 2019, https://arxiv.org/abs/1901.02262, and PREAST-QA, a thesis that
builds on it. Masks are true at real tokens; what is computed at padded places has no meaning and changes nothing else.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import rnn
from torch.utils.checkpoint import checkpoint

from wherefrom.errors import WherefromError
from wherefrom.networks.encoder import NEVER, working_dtype

Initialisation = Literal["normal", "uniform"]
PositionKind = Literal["sinusoidal", "learned", "none"]
CopyKind = Literal["additive", "dot"]
NormPlace = Literal["post", "pre"]
Core = Literal["transformer", "rnn"]


# Masks ---------------------------------------------------------------------------------------------------------------


def mask_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to attention logits over these places: (batch, places) to (batch, 1, 1, places)."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, NEVER)[:, None, None, :]


def causal_bias(steps: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """NEVER above the diagonal, so that no step sees a later one: (1, 1, steps, steps)."""
    place = torch.arange(steps, device=device)
    later = place[None, :] > place[:, None]
    return torch.zeros(later.shape, dtype=dtype, device=device).masked_fill(later, NEVER)[None, None]


def masked_softmax(logits: Tensor, mask: Tensor, dim: int) -> Tensor:
    """softmax over the places where `mask` is true; where it is true nowhere, equal shares that mean nothing."""
    return torch.softmax(logits.masked_fill(~mask, NEVER), dim=dim)


def masked_max(values: Tensor, mask: Tensor, dim: int) -> Tensor:
    """The greatest of each feature over the places where `mask` is true; 0 where it is true nowhere."""
    greatest = values.masked_fill(~mask, NEVER).amax(dim=dim)
    return torch.where(mask.any(dim=dim), greatest, 0.0)


# Attention and blocks ------------------------------------------------------------------------------------------------


class KeyValue(NamedTuple):
    """What attention looks up: (batch, heads, places, width of a head) both."""

    key: Tensor
    value: Tensor


def attended(query: Tensor, seen: KeyValue, bias: Tensor | None, dropout: float) -> Tensor:
    """softmax(Q K^T / sqrt(width of a head)) V: (batch, heads, steps, width of a head).

    The fast kernels of a GPU take heads whose width divides by eight; Masque's 37 and 38 get zeros added.
    """
    if not query.is_cuda or query.shape[-1] % 8 == 0:
        return functional.scaled_dot_product_attention(query, *seen, attn_mask=bias, dropout_p=dropout)
    return attended_padded(query, seen, bias, dropout)


def attended_padded(query: Tensor, seen: KeyValue, bias: Tensor | None, dropout: float) -> Tensor:
    """The same, each head filled up with zeros to a multiple of eight."""
    width = query.shape[-1]
    query, key, value = (functional.pad(part, (0, -width % 8)) for part in (query, *seen))
    attended_to = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=bias, dropout_p=dropout, scale=1 / math.sqrt(width)
    )
    return attended_to[..., :width]


class Attention(nn.Module):
    """MHA(X, Y): softmax(Q K^T / sqrt(width of a head)) V in each head, gathered by W^o; Q from Y, K and V from X."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.gather = nn.Linear(width, width)

    def remember(self, states: Tensor) -> KeyValue:
        """The keys and values of a sequence (batch, places, width), worked out once however often it is looked at."""
        key, value = self.key_value(states).chunk(2, dim=-1)
        return KeyValue(self._in_heads(key), self._in_heads(value))

    def forward(self, asking: Tensor, seen: KeyValue, bias: Tensor | None) -> Tensor:
        """asking: (batch, steps, width); bias: (batch or 1, 1, steps or 1, places), or none."""
        batch, steps, width = asking.shape
        query = self._in_heads(self.query(asking))
        dropout = self.dropout if self.training else 0.0
        looked_up = attended(query, seen, bias, dropout)
        # The clone fixes the order in memory, which differs from kernel to kernel; ONNX export stumbles over that.
        looked_up = looked_up.transpose(1, 2).clone(memory_format=torch.contiguous_format)  # (batch, steps, heads, ...)
        gathered: Tensor = self.gather(looked_up.view(batch, steps, width))
        return gathered

    def _in_heads(self, states: Tensor) -> Tensor:
        batch, places, _ = states.shape
        return states.view(batch, places, self.heads, -1).transpose(1, 2)


class FeedForward(nn.Module):
    """FFN(x) = GELU(x W + b) W' + b'."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.widen = nn.Linear(width, inner)
        self.narrow = nn.Linear(inner, width)

    def forward(self, hidden: Tensor) -> Tensor:
        narrowed: Tensor = self.narrow(functional.gelu(self.widen(hidden)))
        return narrowed


class EncoderBlock(nn.Module):
    """H' = LN(MHA(H, H) + H), then LN(FFN(H') + H') (PREAST-QA Eq. 3.26 to 3.30)."""

    def __init__(self, width: int, heads: int, inner: int, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width, heads, attention_dropout)
        self.attention_norm = nn.LayerNorm(width)
        self.feed = FeedForward(width, inner)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """hidden: (batch, places, width); mask: (batch, places)."""
        bias = mask_bias(mask, working_dtype(hidden))
        seen = self.attention(hidden, self.attention.remember(hidden), bias)
        hidden = self.attention_norm(self.dropout(seen) + hidden)
        digested: Tensor = self.norm(self.dropout(self.feed(hidden)) + hidden)
        return digested


class RecurrentBlock(nn.Module):
    """A block whose feed-forward map is a BiLSTM: Masque's comparison with "RNNs and self-attentions" (Table 3).

    The source gives no more than that; a block for a block keeps depth and width as they are.
    """

    def __init__(self, width: int, heads: int, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width, heads, attention_dropout)
        self.attention_norm = nn.LayerNorm(width)
        self.recurrent = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        bias = mask_bias(mask, working_dtype(hidden))
        seen = self.attention(hidden, self.attention.remember(hidden), bias)
        hidden = self.attention_norm(self.dropout(seen) + hidden)
        lengths = mask.sum(dim=1).clamp(min=1).cpu()  # packed, so that the backward half starts at the last real token
        packed = rnn.pack_padded_sequence(hidden, lengths, batch_first=True, enforce_sorted=False)
        passed, _ = rnn.pad_packed_sequence(self.recurrent(packed)[0], batch_first=True, total_length=hidden.shape[1])
        digested: Tensor = self.norm(self.dropout(passed) + hidden)
        return digested


class EncoderStack(nn.Module):
    """A linear map to the width of the network (PREAST-QA 4.1.2), then blocks."""

    def __init__(
        self,
        incoming: int,
        width: int,
        layers: int,
        heads: int,
        inner: int,
        dropout: float,
        attention_dropout: float,
        core: Core = "transformer",
    ) -> None:
        super().__init__()
        self.enter = nn.Linear(incoming, width)
        self.blocks = nn.ModuleList(
            EncoderBlock(width, heads, inner, dropout, attention_dropout)
            if core == "transformer"
            else RecurrentBlock(width, heads, dropout, attention_dropout)
            for _ in range(layers)
        )

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(batch, places, incoming) to (batch, places, width)."""
        hidden: Tensor = self.enter(states)
        for block in self.blocks:
            hidden = block(hidden, mask)
        return hidden


class Highway(nn.Module):
    """y = g * ReLU(x W + b) + (1 - g) * x with the gate g = sigmoid(x W' + b'), some times over.

    Srivastava et al. 2015, https://arxiv.org/abs/1505.00387; two layers fuse word and contextual vectors in Masque.
    """

    def __init__(self, width: int, layers: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(layers))  # the map, and its gate
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        for both in self.maps:
            mapped, gate = both(states).chunk(2, dim=-1)
            gate = torch.sigmoid(gate)
            states = gate * self.dropout(functional.relu(mapped)) + (1 - gate) * states
        return states


# Dual attention ------------------------------------------------------------------------------------------------------


class Dual(NamedTuple):
    """What two sequences P and Q learn from each other, each of the place that it belongs to."""

    to_passage: Tensor  # A-bar = A Q, (batch, passages, L, width)
    to_passage_twice: Tensor  # A B-bar
    to_question: Tensor  # B-bar = B P, (batch, passages, J, width)
    to_question_twice: Tensor  # B A-bar


class DualAttention(nn.Module):
    """Passages and question fuse (PREAST-QA Eq. 4.2 to 4.11).

    U_lj = [P_l, Q_j, P_l * Q_j] . w,  A = softmax over j of U,  B = softmax over l of U^T.
    """

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(3 * width))
        self.dropout = nn.Dropout(dropout)
        nn.init.uniform_(self.weight, -1 / math.sqrt(width), 1 / math.sqrt(width))

    def forward(
        self, passages: Tensor, passage_mask: Tensor, question: Tensor, question_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """G^{q->p} (batch, K, L, 5 width) and G^{p->q} (batch, J, 5 width); for the question, the greatest over K.

        passages: (batch, K, L, width), question: (batch, J, width), and their masks without width.
        """
        dual = self.attend(passages, passage_mask, question, question_mask)
        real = passage_mask.any(dim=-1)[:, :, None, None]  # (batch, K, 1, 1)
        once = masked_max(dual.to_question, real, dim=1)  # (batch, J, width)
        twice = masked_max(dual.to_question_twice, real, dim=1)
        return (
            torch.cat([passages, added(passages, dual.to_passage, dual.to_passage_twice)], dim=-1),
            torch.cat([question, added(question, once, twice)], dim=-1),
        )

    def attend(self, passages: Tensor, passage_mask: Tensor, question: Tensor, question_mask: Tensor) -> Dual:
        """The four looks, passage by passage."""
        of_passage, of_question, of_product = self.weight.chunk(3)
        question = question[:, None]  # (batch, 1, J, width)
        alike = (
            (passages @ of_passage)[..., :, None]
            + (question @ of_question)[..., None, :]
            + (passages * of_product) @ question.transpose(-1, -2)
        )  # (batch, K, L, J)
        # The masks again behind the softmax: an empty sequence teaches nothing.
        in_question, in_passage = question_mask[:, None, None, :], passage_mask[:, :, None, :]
        look = self.dropout(masked_softmax(alike, in_question, dim=-1)) * in_question  # A
        back = self.dropout(masked_softmax(alike.transpose(-1, -2), in_passage, dim=-1)) * in_passage  # B
        to_passage, to_question = look @ question, back @ passages
        return Dual(to_passage, look @ to_question, to_question, back @ to_passage)


def added(own: Tensor, once: Tensor, twice: Tensor) -> Tensor:
    """[once, twice, once * own, twice * own]: what dual attention adds to a sequence's own states."""
    return torch.cat([once, twice, once * own, twice * own], dim=-1)


# Attention for copying -----------------------------------------------------------------------------------------------


class CopyAttention(nn.Module):
    """Where in a sequence to copy from.

    additive: e_i = w . tanh(W_m M_i + W_s s + b) (Masque section 3.4; the bias stands inside the tanh)
    dot:      e_i = (W_m M_i) . (W_s s + b) / sqrt(width), which trains about twice as fast
    """

    at_once = 2**26  # numbers in the largest tensor that additive attention makes before it takes turns: 256 MB

    def __init__(self, width: int, kind: CopyKind) -> None:
        super().__init__()
        self.kind = kind
        self.of_memory = nn.Linear(width, width, bias=False)
        self.of_state = nn.Linear(width, width)
        self.score = nn.Linear(width, 1, bias=False) if kind == "additive" else None

    def keys(self, memory: Tensor) -> Tensor:
        """W_m M, the same for every step: (batch, places, width)."""
        mapped: Tensor = self.of_memory(memory)
        return mapped

    def forward(self, states: Tensor, keys: Tensor) -> Tensor:
        """The logits e: states (batch, steps, width), keys (batch, places, width), to (batch, steps, places)."""
        asking = self.of_state(states)
        if self.score is None:
            logits: Tensor = asking @ keys.transpose(1, 2) / math.sqrt(asking.shape[-1])
            return logits
        if (steps := asking.shape[1]) == 1:
            return self._added_up(asking, keys)
        # (batch, steps, places, width) numbers are too many for long passages: a few steps at a time, made again
        # when the gradient needs them.
        at_once = max(1, self.at_once // keys.numel())
        if at_once >= steps:
            return self._added_up(asking, keys)
        turns = [
            checkpoint(self._added_up, some, keys, use_reentrant=False, preserve_rng_state=False)
            for some in asking.split(at_once, dim=1)
        ]
        return torch.cat(turns, dim=1)

    def _added_up(self, asking: Tensor, keys: Tensor) -> Tensor:
        assert self.score is not None
        scored: Tensor = self.score(torch.tanh(asking[:, :, None] + keys[:, None])).squeeze(-1)
        return scored


# Positions and first weights -----------------------------------------------------------------------------------------


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Sinusoidal positions (Vaswani et al. 2017): sin or cos of position / 10000^(2 floor(j/2) / width) for feature j.

    positions: (n,), to (n, width). Even features are sines, odd ones cosines of the same rate.
    """
    feature = torch.arange(width, device=positions.device)
    rate = torch.exp((feature // 2) * (-2 * math.log(10_000.0) / width))  # (width,)
    angle = positions[:, None].float() * rate
    return torch.where(feature % 2 == 0, torch.sin(angle), torch.cos(angle))


class Positions(nn.Module):
    """A vector for each place of a sequence, added to its words."""

    def __init__(self, kind: PositionKind, width: int, longest: int = 512) -> None:
        super().__init__()
        self.kind = kind
        self.width = width
        self.table = nn.Embedding(longest, width) if kind == "learned" else None  # `longest` bounds only these

    def forward(self, words: Tensor, first: int = 0) -> Tensor:
        """words: (..., places, width), the first of them at place `first`."""
        if self.kind == "none":
            return words
        if self.table is not None and (last := first + words.shape[-2]) > self.table.num_embeddings:
            raise WherefromError(f"{last} tokens are too many; the network has {self.table.num_embeddings} positions")
        places = torch.arange(first, first + words.shape[-2], device=words.device)
        added: Tensor = sinusoids(places, self.width) if self.table is None else self.table(places)
        return words + added


def start(module: nn.Module, kind: Initialisation) -> None:
    """First weights for one module; use as `network.apply(lambda part: start(part, kind))`.

    normal:  weights N(0, 0.02), biases 0 (Masque, appendix)
    uniform: weights and biases U(-1/sqrt(d), 1/sqrt(d)), d being the inputs of the layer (PREAST-QA 5.1.2)

    Normalisation starts at gain 1 and bias 0; embeddings N(0, 0.02), or N(0, 0.01) with `uniform`, as in the sources.
    """
    if isinstance(module, nn.Linear):
        _fill(module.weight, module.weight.shape[1], kind)
        if module.bias is not None:
            _fill_bias(module.bias, module.weight.shape[1], kind)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.02 if kind == "normal" else 0.01)
    elif isinstance(module, DualAttention):
        _fill(module.weight, module.weight.shape[0] // 3, kind)
    elif isinstance(module, nn.LSTM):
        for name, parameter in module.named_parameters():
            if name.startswith("weight"):
                _fill(parameter, module.hidden_size, kind)
            else:
                _fill_bias(parameter, module.hidden_size, kind)


def _fill(weight: Tensor, inputs: int, kind: Initialisation) -> None:
    if kind == "normal":
        nn.init.normal_(weight, std=0.02)
    else:
        nn.init.uniform_(weight, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs))


def _fill_bias(bias: Tensor, inputs: int, kind: Initialisation) -> None:
    if kind == "normal":
        nn.init.zeros_(bias)
    else:
        _fill(bias, inputs, kind)
