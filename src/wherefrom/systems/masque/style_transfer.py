"""Style transfer: an answer in one style, with its question and passage, is written again in another style.

PREAST-QA section 4.3 turns short answers into sentences. The style token alone says what is wanted, so the same network
learns the way back, sentence to short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from wherefrom.errors import SettingsError
from wherefrom.networks.decoder import TransformerDecoder
from wherefrom.networks.layers import DualAttention, EncoderStack, Initialisation, Positions, added, start
from wherefrom.networks.passage_heads import all_alike
from wherefrom.networks.pointer import CopySource, PointerGenerator
from wherefrom.networks.writer import Memory, WordpieceSettings, WritingNetwork, support

SOURCES = ("question", "answer", "passage")


@dataclass(frozen=True, slots=True)
class StyleTransferSettings:
    """What the network is made of; the defaults are PREAST-QA's."""

    words: WordpieceSettings = field(default_factory=WordpieceSettings)
    embedding: int = 300
    fusions: int = 2  # how often the three sequences meet; 1 costs 1.5 ROUGE-L (reported)
    shared_layers: int = 3
    passage_layers: tuple[int, int] = (3, 2)  # after the first fusion, after the second; with one fusion, all after it
    question_layers: tuple[int, int] = (1, 1)
    answer_layers: tuple[int, int] = (3, 2)
    decoder_layers: int = 8
    vocabulary: int = 0  # how many of the commonest words P^v writes; 0: all
    width: int = 296
    heads: int = 8
    inner: int = 256
    dropout: float = 0.0
    attention_dropout: float = 0.3
    dual_dropout: float = 0.3
    embedding_dropout: float = 0.1
    initialisation: Initialisation = "uniform"

    def __post_init__(self) -> None:
        if self.fusions not in (1, 2):
            raise SettingsError(f"fusions is {self.fusions}; it must be 1 or 2")
        if self.width % self.heads:
            raise SettingsError(f"width {self.width} does not divide into heads {self.heads}")
        if self.decoder_layers < 1:
            raise SettingsError(f"decoder_layers is {self.decoder_layers}; it must be at least 1")

    def layers(self, name: str) -> tuple[int, ...]:
        """How many blocks a sequence passes after each fusion."""
        both: tuple[int, int] = getattr(self, f"{name}_layers")
        return both if self.fusions == 2 else (sum(both),)


class Triple(NamedTuple):
    """What is read: a question, an answer in some style and the passage it came from, (batch, length) each."""

    question: Tensor
    question_mask: Tensor
    answer: Tensor
    answer_mask: Tensor
    passage: Tensor
    passage_mask: Tensor


class Fusion(nn.Module):
    """Dual attention on (p, q), (p, e) and (q, e), each with its own w; every sequence hears from the two others.

    [H, G', G''] with 4 width for each G, without the H it starts with (PREAST-QA Eq. 4.38 to 4.46 print it thrice; a
    linear map follows, so once says the same): (batch, length, 9 width).
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.passage_question = DualAttention(width, dropout)
        self.passage_answer = DualAttention(width, dropout)
        self.question_answer = DualAttention(width, dropout)

    def forward(self, states: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """By the names of `SOURCES`: (batch, length, width) to (batch, length, 9 width)."""
        fused: dict[str, list[Tensor]] = {name: [states[name]] for name in SOURCES}
        for one, other, attention in (
            ("passage", "question", self.passage_question),
            ("passage", "answer", self.passage_answer),
            ("question", "answer", self.question_answer),
        ):
            # One passage each: the dimension of passages comes and goes.
            dual = attention.attend(states[one][:, None], masks[one][:, None], states[other], masks[other])
            once, twice, back, back_twice = (part.squeeze(1) for part in dual)
            fused[one].append(added(states[one], once, twice))
            fused[other].append(added(states[other], back, back_twice))
        return {name: torch.cat(parts, dim=-1) for name, parts in fused.items()}


class TripleReader(nn.Module):
    """Embed, shared blocks, then once or twice: fusion, and blocks of each sequence's own."""

    def __init__(self, settings: StyleTransferSettings) -> None:
        super().__init__()
        self.word = nn.Embedding(settings.words.words, settings.embedding)
        self.positions = Positions("sinusoidal", settings.embedding)
        self.embedding_dropout = nn.Dropout(settings.embedding_dropout)
        width = settings.width

        def stack(incoming: int, layers: int) -> EncoderStack:
            return EncoderStack(
                incoming, width, layers, settings.heads, settings.inner, settings.dropout, settings.attention_dropout
            )

        self.shared = stack(settings.embedding, settings.shared_layers)
        self.fusions = nn.ModuleList(Fusion(width, settings.dual_dropout) for _ in range(settings.fusions))
        self.own = nn.ModuleList(
            nn.ModuleDict({name: stack(9 * width, settings.layers(name)[turn]) for name in SOURCES})
            for turn in range(settings.fusions)
        )

    def forward(self, triple: Triple) -> dict[str, Tensor]:
        """The states of each sequence by its name: (batch, length, width)."""
        tokens = {"question": triple.question, "answer": triple.answer, "passage": triple.passage}
        masks = {"question": triple.question_mask, "answer": triple.answer_mask, "passage": triple.passage_mask}
        states = {name: self.shared(self.embed(tokens[name], 0), masks[name]) for name in SOURCES}
        for fusion, own in zip(self.fusions, self.own, strict=True):
            assert isinstance(own, nn.ModuleDict)
            fused = fusion(states, masks)
            states = {name: own[name](fused[name], masks[name]) for name in SOURCES}
        return states

    def embed(self, tokens: Tensor, first: int) -> Tensor:
        """Word vectors with positions, for what is read and what is written alike."""
        embedded: Tensor = self.embedding_dropout(self.positions(self.word(tokens), first))
        return embedded


class StyleTransferNetwork(WritingNetwork):
    """`encode` reads a triple; `decode_all`, `begin` and `decode_step` write from it; `loss` trains it.

    common: token ids, the commonest first, where `vocabulary` limits what may be written.
    """

    def __init__(self, settings: StyleTransferSettings, common: Tensor | None = None) -> None:
        super().__init__()
        self.settings = settings
        self.reader = TripleReader(settings)
        self.decoder = TransformerDecoder(
            settings.embedding,
            settings.width,
            settings.decoder_layers,
            settings.heads,
            settings.inner,
            len(SOURCES),
            "post",
            settings.dropout,
            settings.attention_dropout,
        )
        self.pointer = PointerGenerator(
            settings.width,
            settings.embedding,
            len(SOURCES),
            "additive",
            support(settings.words, settings.vocabulary, common),
        )
        for module in self.modules():
            start(module, settings.initialisation)

    def encode(self, triple: Triple) -> Memory:
        """Read all three; there is one passage, and an answer to be had."""
        states = self.reader(triple)
        sources = (
            CopySource.plain(states["question"], triple.question, triple.question_mask),
            CopySource.plain(states["answer"], triple.answer, triple.answer_mask),
            CopySource.plain(states["passage"], triple.passage, triple.passage_mask),
        )
        real = torch.ones_like(triple.passage_mask[:, :1])
        return Memory(sources, all_alike(real), torch.zeros(len(real), device=real.device), real)

    def embed_written(self, tokens: Tensor, first: int) -> Tensor:
        return self.reader.embed(tokens, first)

    def table(self) -> Tensor:
        return self.reader.word.weight

    def loss(self, triple: Triple, target: Tensor, mask: Tensor, style: Tensor) -> Tensor:
        """-1/N sum 1/T^v sum over known tokens of log P(y_t) (PREAST-QA Eq. 4.56).

        target, mask: (batch, steps), [end] included; style: (batch,), the token of the style to be written.
        """
        return self.written_loss(self.encode(triple), target, mask, style, torch.ones_like(mask[:, 0]))


def start_from(network: StyleTransferNetwork, masque: Mapping[str, Tensor]) -> list[str]:
    """Start with the layers it has in common with a trained Masque; returns the names of the tensors taken.

    These are the word vectors, the shared blocks, the decoder and its pointer-generator, less what has to do with the
    answer that is read. Networks of other sizes have little in common: word vectors and shared blocks must fit.
    """
    ours = network.state_dict()
    taken = {
        name: masque[twin].float()
        for name in ours
        if (twin := masque_name(name)) in masque and masque[twin].shape == ours[name].shape
    }
    if not torch.equal(network.pointer.support.listed, masque["pointer.support.listed"]):
        taken.pop("pointer.output.weight", None)  # its rows are other words
    needed = [name for name in ours if name.startswith(("reader.word.", "reader.shared."))]
    if lost := [name for name in needed if name not in taken]:
        raise SettingsError(f"the Masque to start from has no {lost[0]} of size {tuple(ours[lost[0]].shape)}")
    network.load_state_dict(taken, strict=False)
    return sorted(taken)


def masque_name(name: str) -> str:
    """What a tensor of the style transfer network is called in a Masque; "" where it has no twin there.

    A Masque looks at question and passages, this network at question, answer and passage: the last is Masque's second.
    """
    parts = name.split(".")
    if name.startswith(("reader.fusions.", "reader.own.", "pointer.parts.", "pointer.support.")):
        return ""
    if parts[:2] == ["decoder", "blocks"]:
        if parts[3] == "looks":
            return _renumbered(parts, 4, {"0": "0", "2": "1"})
        if parts[3] == "norms":  # self, question, answer, passage, feed-forward
            return _renumbered(parts, 4, {"0": "0", "1": "1", "3": "2", "4": "3"})
    if parts[:2] == ["pointer", "copy"]:
        return _renumbered(parts, 2, {"0": "0", "2": "1"})
    return name


def _renumbered(parts: list[str], at: int, numbers: Mapping[str, str]) -> str:
    return ".".join([*parts[:at], numbers[parts[at]], *parts[at + 1 :]]) if parts[at] in numbers else ""
