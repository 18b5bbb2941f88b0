"""A transformer encoder that takes the published weights of MiniLM (a small BERT) or of MPNet.

The two differ in three places, each a number in `EncoderSettings`: BERT adds token types (`types`), MPNet adds a bias
for how far apart two tokens are (`buckets`) and starts counting positions at 2 (`first_position`).

BERT: Devlin et al. 2019, https://arxiv.org/abs/1810.04805.  MPNet: Song et al. 2020, https://arxiv.org/abs/2004.09297.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from wherefrom.errors import SettingsError, WherefromError

NEVER = -30_000.0
"""The logit of what may not be chosen: exp(NEVER) is exactly 0 in every precision, and unlike -inf it fits float16,
can be added to and leaves a row in which all is masked finite."""

MAX_DISTANCE = 128  # tokens further apart share the last bucket; fixed in MPNet's code, absent from its config.json

Family = Literal["bert", "mpnet"]


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """The size and kind of an encoder; `from_config` reads it from the file published beside the weights."""

    family: Family
    words: int  # rows of the word embedding
    width: int
    layers: int
    heads: int
    inner: int  # width inside the feed-forward block
    positions: int  # rows of the position embedding
    first_position: int = 0  # row of the first token; MPNet's is 2, after its padding index 1
    types: int = 0  # rows of the token type embedding: question and passage; 0 is none
    buckets: int = 0  # of relative position, half for each direction; 0 is none
    padding: int = 0  # token id of padding
    norm_epsilon: float = 1e-12
    dropout: float = 0.1
    attention_dropout: float = 0.1

    def __post_init__(self) -> None:
        for name in ("words", "width", "layers", "heads", "inner", "positions"):
            if getattr(self, name) < 1:
                raise SettingsError(f"encoder.{name} is {getattr(self, name)}; it must be at least 1")
        if self.width % self.heads:
            raise SettingsError(f"encoder.width {self.width} does not divide into encoder.heads {self.heads}")
        if self.buckets % 4:
            raise SettingsError(f"encoder.buckets is {self.buckets}; it must be a multiple of 4 (or 0 for none)")

    @property
    def max_tokens(self) -> int:
        """The longest sequence the position embedding covers."""
        return self.positions - self.first_position

    @classmethod
    def from_config(cls, path: Path) -> EncoderSettings:
        """Read the config.json of a BERT or MPNet model in Hugging Face's form."""
        try:
            config: Mapping[str, object] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SettingsError(f"{path} cannot be read as an encoder's config.json: {error}") from error
        return cls.from_mapping(config, str(path))

    @classmethod
    def from_mapping(cls, config: Mapping[str, object], source: str = "the configuration") -> EncoderSettings:
        """The settings in a parsed config.json; `source` is the name errors give it."""
        family = config.get("model_type")
        if family != "bert" and family != "mpnet":
            raise SettingsError(f"{source} describes a model of type {family!r}; only 'bert' and 'mpnet' are known")
        _expect(config, source, "hidden_act", "gelu")
        _expect(config, source, "position_embedding_type", "absolute")
        padding = _whole(config, source, "pad_token_id")
        return cls(
            family=family,
            words=_whole(config, source, "vocab_size"),
            width=_whole(config, source, "hidden_size"),
            layers=_whole(config, source, "num_hidden_layers"),
            heads=_whole(config, source, "num_attention_heads"),
            inner=_whole(config, source, "intermediate_size"),
            positions=_whole(config, source, "max_position_embeddings"),
            first_position=padding + 1 if family == "mpnet" else 0,
            types=_whole(config, source, "type_vocab_size") if family == "bert" else 0,
            buckets=_whole(config, source, "relative_attention_num_buckets") if family == "mpnet" else 0,
            padding=padding,
            norm_epsilon=_number(config, source, "layer_norm_eps"),
            dropout=_number(config, source, "hidden_dropout_prob"),
            attention_dropout=_number(config, source, "attention_probs_dropout_prob"),
        )


def _number(config: Mapping[str, object], source: str, name: str) -> float:
    value = config.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingsError(f"{source}: {name} must be a number, not {value!r}")
    return float(value)


def _whole(config: Mapping[str, object], source: str, name: str) -> int:
    value = config.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise SettingsError(f"{source}: {name} must be a whole number, not {value!r}")
    return value


def _expect(config: Mapping[str, object], source: str, name: str, only: str) -> None:
    if (value := config.get(name, only)) != only:
        raise SettingsError(f"{source}: {name} is {value!r}; this encoder knows only {only!r}")


class Encoder(nn.Module):
    """Token ids to one vector a token, each of which has seen all the others.

    Padding goes to the right. What is computed at padded places has no meaning, and changes nothing elsewhere.
    """

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__()
        self.settings = settings
        self.word = nn.Embedding(settings.words, settings.width, padding_idx=settings.padding)
        self.position = nn.Embedding(settings.positions, settings.width)
        # Not `self.type`: nn.Module has a method of that name.
        self.kind = nn.Embedding(settings.types, settings.width) if settings.types else None
        self.norm = nn.LayerNorm(settings.width, eps=settings.norm_epsilon)
        self.dropout = nn.Dropout(settings.dropout)
        self.distance = RelativePositionBias(settings) if settings.buckets else None
        self.layers = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.layers))
        self.apply(initialise)

    def forward(self, tokens: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        """`mask` is true at real tokens; `types` is 0 in the question and 1 in the passage (all 0 where not given)."""
        return self.states(tokens, mask, types)[-1]

    def states(self, tokens: Tensor, mask: Tensor, types: Tensor | None = None) -> list[Tensor]:
        """What goes into the first layer and what comes out of each: (batch, length, width) every one."""
        return self.states_of(self.word(tokens), mask, types)

    def states_of(self, words: Tensor, mask: Tensor, types: Tensor | None = None) -> list[Tensor]:
        """The same of words that were looked up already: (batch, length, width)."""
        states = [self.embed_words(words, types)]
        bias = self.attention_bias(mask.bool(), working_dtype(states[0]))  # (batch, 1 or heads, 1 or length, length)
        for layer in self.layers:
            states.append(layer(states[-1], bias))
        return states

    def embed(self, tokens: Tensor, types: Tensor | None) -> Tensor:
        """Words plus positions plus, where the encoder has them, types."""
        return self.embed_words(self.word(tokens), types)

    def embed_words(self, words: Tensor, types: Tensor | None) -> Tensor:
        """The same of words that were looked up already."""
        length = words.shape[1]
        if length > self.settings.max_tokens:
            raise WherefromError(
                f"a sequence of {length} tokens is too long; the encoder takes {self.settings.max_tokens}"
            )
        first = self.settings.first_position
        hidden = words + self.position.weight[first : first + length]  # (batch, length, width)
        if self.kind is not None:
            hidden = hidden + (self.kind.weight[0] if types is None else self.kind(types))
        embedded: Tensor = self.dropout(self.norm(hidden))
        return embedded

    def attention_bias(self, mask: Tensor, dtype: torch.dtype) -> Tensor:
        """What is added to every attention logit: NEVER at padding, plus MPNet's bias for distance.

        One tensor for all layers, already of the precision attention works in.
        """
        bias = torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, NEVER)  # (batch, length)
        bias = bias[:, None, None, :]  # (batch, 1, 1, length)
        if self.distance is not None:
            bias = bias + self.distance(mask.shape[1]).to(dtype)  # (batch, heads, length, length)
        return bias

    def fuse(self) -> None:
        """Compile the layers into fewer kernels: see `EncoderLayer.fuse`."""
        for layer in self.layers:
            assert isinstance(layer, EncoderLayer)
            layer.fuse()

    def keeping(self, layers: Sequence[int]) -> Encoder:
        """A copy made of these layers, in this order: shallower, or deeper where some come twice."""
        depth = self.settings.layers
        if wrong := [layer for layer in layers if not 0 <= layer < depth]:
            raise SettingsError(f"layers names layer {wrong[0]}; this encoder has layers 0 to {depth - 1}")
        kept = Encoder(replace(self.settings, layers=len(layers))).to(self.word.weight)
        state = {name: tensor for name, tensor in self.state_dict().items() if not name.startswith("layers.")}
        kept.load_state_dict(state, strict=False)
        kept.layers = nn.ModuleList(copy.deepcopy(self.layers[layer]) for layer in layers)
        return kept.train(self.training)


class EncoderLayer(nn.Module):
    """Attention, then two feed-forward maps; each added to its input and then normalised (post-norm)."""

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__()
        self.heads = settings.heads
        self.attention_dropout = settings.attention_dropout
        self.query_key_value = nn.Linear(settings.width, 3 * settings.width)  # one product is faster than three
        self.gather = nn.Linear(settings.width, settings.width)
        self.attention_norm = nn.LayerNorm(settings.width, eps=settings.norm_epsilon)
        self.widen = nn.Linear(settings.width, settings.inner)
        self.narrow = nn.Linear(settings.inner, settings.width)
        self.norm = nn.LayerNorm(settings.width, eps=settings.norm_epsilon)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        return self.digest(hidden, self.attend(hidden, bias))

    def attend(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """softmax(query . key / sqrt(width of a head) + bias) . value, in each head."""
        batch, length, width = hidden.shape
        query, key, value = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)  # (batch, heads, length, width of a head)
            for part in self.query_key_value(hidden).chunk(3, dim=-1)  # (batch, length, width)
        )
        dropout = self.attention_dropout if self.training else 0.0
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=dropout)
        # The clone fixes the order in memory, which differs from kernel to kernel; ONNX export stumbles over that.
        seen = seen.transpose(1, 2).clone(memory_format=torch.contiguous_format)  # (batch, length, heads, ...)
        return seen.view(batch, length, width)

    def digest(self, hidden: Tensor, seen: Tensor) -> Tensor:
        """What follows attention: the heads gathered, and the feed-forward maps."""
        hidden = self.attention_norm(hidden + self.dropout(self.gather(seen)))  # (batch, length, width)
        inner = functional.gelu(self.widen(hidden))  # (batch, length, inner)
        narrowed: Tensor = self.norm(hidden + self.dropout(self.narrow(inner)))  # (batch, length, width)
        return narrowed

    def fuse(self) -> None:
        """Compile what follows attention into few kernels; attention itself has better ones than a compiler finds."""
        self.digest = torch.compile(self.digest, dynamic=True)  # type: ignore[method-assign]


class RelativePositionBias(nn.Module):
    """MPNet's learned bias for the distance between two tokens, one number a head, shared by all layers."""

    bucket_of: Tensor

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__()
        self.reach = settings.max_tokens - 1  # the greatest distance there can be
        self.weight = nn.Parameter(torch.empty(settings.buckets, settings.heads).normal_(std=0.02))
        buckets = [relative_bucket(offset, settings.buckets) for offset in range(-self.reach, self.reach + 1)]
        self.register_buffer("bucket_of", torch.tensor(buckets), persistent=False)  # (2 * reach + 1,)

    def forward(self, length: int) -> Tensor:
        places = torch.arange(length, device=self.weight.device)
        offsets = places[None, :] - places[:, None]  # (length, length): where the key is, seen from the query
        bias = self.weight[self.bucket_of[offsets + self.reach]]  # (length, length, heads)
        return bias.permute(2, 0, 1)[None]  # (1, heads, length, length)


def relative_bucket(offset: int, buckets: int, max_distance: int = MAX_DISTANCE) -> int:
    """The bucket of a key `offset` tokens after the query (before it when negative), as in T5 and MPNet.

    With h = buckets / 2 a direction, the first h / 2 hold one distance each, the rest grow geometrically:
    bucket(d) = d for d < h/2, else min(h - 1, h/2 + floor(h/2 * log(2d/h) / log(2 max_distance/h))), and h more for
    keys after the query.

    The floor of the logarithms is taken with whole numbers, (2d/h)^(h/2) >= (2 max_distance/h)^k, so that no rounding
    moves a boundary from one device to another.
    """
    half = buckets // 2
    exact = half // 2
    distance = abs(offset)
    bucket = distance
    if distance >= exact:
        bucket = exact
        while bucket < half - 1 and _reaches(distance, bucket + 1 - exact, exact, max_distance):
            bucket += 1
    return bucket + (half if offset > 0 else 0)


def _reaches(distance: int, steps: int, exact: int, max_distance: int) -> bool:
    """Whether log(distance / exact) / log(max_distance / exact) * exact >= steps, without a logarithm."""
    return bool(distance**exact * exact**steps >= max_distance**steps * exact**exact)


def working_dtype(hidden: Tensor) -> torch.dtype:
    """The precision attention will be computed in: autocast's where it is on, else that of `hidden`."""
    device = hidden.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype


def initialise(module: nn.Module) -> None:
    """BERT's starting point: normal weights of deviation 0.02, no bias, padding at zero."""
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
        if module.padding_idx is not None:
            with torch.no_grad():
                module.weight[module.padding_idx].zero_()


# Published names -----------------------------------------------------------------------------------------------------

_EMBEDDINGS = {
    "word.weight": ("embeddings.word_embeddings.weight",),
    "position.weight": ("embeddings.position_embeddings.weight",),
    "norm.weight": ("embeddings.LayerNorm.weight",),
    "norm.bias": ("embeddings.LayerNorm.bias",),
}
_ONCE: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "bert": _EMBEDDINGS | {"kind.weight": ("embeddings.token_type_embeddings.weight",)},
    "mpnet": _EMBEDDINGS | {"distance.weight": ("encoder.relative_attention_bias.weight",)},
}
_IN_A_LAYER: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "bert": {
        "query_key_value": ("attention.self.query", "attention.self.key", "attention.self.value"),
        "gather": ("attention.output.dense",),
        "attention_norm": ("attention.output.LayerNorm",),
        "widen": ("intermediate.dense",),
        "narrow": ("output.dense",),
        "norm": ("output.LayerNorm",),
    },
    "mpnet": {
        "query_key_value": ("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        "gather": ("attention.attn.o",),
        "attention_norm": ("attention.LayerNorm",),
        "widen": ("intermediate.dense",),
        "narrow": ("output.dense",),
        "norm": ("output.LayerNorm",),
    },
}
_NOT_NEEDED = ("embeddings.position_ids", "pooler.")  # a range of numbers; a head of the pretraining task


def published_names(settings: EncoderSettings) -> dict[str, tuple[str, ...]]:
    """For each of our tensors the published ones it is made of, to be joined along the first dimension."""
    names = dict(_ONCE[settings.family])
    for layer in range(settings.layers):
        for ours, theirs in _IN_A_LAYER[settings.family].items():
            for part in ("weight", "bias"):
                names[f"layers.{layer}.{ours}.{part}"] = tuple(
                    f"encoder.layer.{layer}.{name}.{part}" for name in theirs
                )
    return names


def load_pretrained(encoder: Encoder, path: Path) -> None:
    """Fill `encoder` from a model.safetensors in Hugging Face's names, in any floating precision.

    Strict: a tensor that is missing, of another shape or of no use here is an error that names it.
    """
    try:
        published = load_file(path)
    except (OSError, SafetensorError) as error:
        raise WherefromError(f"{path} cannot be read as safetensors: {error}") from error
    names = published_names(encoder.settings)
    needed = [name for parts in names.values() for name in parts]
    _refuse(path, "lacks", [name for name in needed if name not in published])
    unknown = [name for name in published if name not in set(needed) and not name.startswith(_NOT_NEEDED)]
    _refuse(path, "holds what this encoder has no place for:", unknown)

    ours = encoder.state_dict()
    joined = {name: torch.cat([published[part] for part in parts]) for name, parts in names.items()}
    _refuse(
        path,
        "has other sizes than the settings say for",
        [
            f"{' + '.join(names[name])} {tuple(tensor.shape)} instead of {tuple(ours[name].shape)}"
            for name, tensor in joined.items()
            if tensor.shape != ours[name].shape
        ],
    )
    encoder.load_state_dict(joined, strict=True)


def _refuse(path: Path, what: str, names: Iterable[str]) -> None:
    if listed := sorted(names):
        more = f" and {len(listed) - 8} more" if len(listed) > 8 else ""
        raise WherefromError(f"{path} {what} {', '.join(listed[:8])}{more}")
