"""The settings of Masque and of what came from it: every ablation of the sources is one of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.layers import CopyKind, Core, Initialisation, NormPlace, PositionKind
from wherefrom.networks.passage_heads import ClassifierKind, RankerKind

MINILM = EncoderSettings("bert", words=30_522, width=384, layers=6, heads=12, inner=1536, positions=512, types=2)
"""The pretrained encoder whose wordpieces everything is written in."""


@dataclass(frozen=True, slots=True)
class WordSettings:
    """The wordpieces and those among them that have a part to play; the defaults are BERT's uncased ones."""

    words: int = 30_522
    padding: int = 0
    unknown: int = 100
    classify: int = 101  # [CLS], in front of every passage
    end: int = 102  # [SEP], which ends an answer
    styles: Mapping[str, int] | None = None  # name to first token; none: short and sentence, as two unused pieces

    @property
    def style_tokens(self) -> Mapping[str, int]:
        """The token that an answer of each style starts with."""
        return {"short": 1, "sentence": 2} if self.styles is None else self.styles

    @property
    def never_written(self) -> tuple[int, ...]:
        """What the vocabulary may not write; [UNK] can still be copied, since its place tells what it stands for."""
        return (self.padding, self.unknown, self.classify, *self.style_tokens.values())

    def style(self, name: str) -> int:
        """The first token of an answer in this style."""
        if name not in self.style_tokens:
            raise SettingsError(f"{name} is not a style of this writer; it knows {', '.join(self.style_tokens)}")
        return self.style_tokens[name]


@dataclass(frozen=True, slots=True)
class MasqueSettings:
    """What the network is made of. The defaults are PREAST-QA's; see `masque`, `preast` and `joint`."""

    # Reading
    encoder: Literal["separate", "joint"] = "separate"  # dual attention, or question and passage as one sequence
    embedder: Literal["words", "contextual"] = "words"  # separate: word vectors, or those fused with `pretrained`
    pretrained: EncoderSettings | None = None  # of the contextual embedder or of the joint encoder
    tune_pretrained: bool = True  # whether training changes it
    words: WordSettings = field(default_factory=WordSettings)
    embedding: int = 300  # width of the word vectors
    positions: PositionKind = "sinusoidal"  # of question and passages (separate)
    shared_layers: int = 3
    passage_layers: int = 5
    question_layers: int = 2
    # Judging the passages
    ranker: RankerKind = "pair"  # gold: labels; given: logits of a reader from outside
    p2p: bool = True  # pair: a block across passages
    pair_mirror: bool = False  # pair: read r_ki for i > k off r_ik
    classifier: ClassifierKind = "max"
    passages: int = 10  # linear: the most passages
    # Writing
    decoder_layers: int = 8  # 0: no decoder, an encoder-only model
    decoder_norm: NormPlace = "post"
    decoder_positions: PositionKind = "sinusoidal"
    decoder_embedding_norm: bool = False  # normalise word + position, as BERT does
    decoder_highway: bool = False  # a highway of its own over the words written
    longest_answer: int = 128  # rows of learned decoder positions
    copy: CopyKind = "additive"
    answer_source: bool = False  # joint: a reader's short answer is a further source
    vocabulary: int = 0  # how many of the commonest words P^v writes; 0: all
    input_words: bool = False  # P^v also writes words of the input
    tie_embeddings: bool = False  # W2 is the word embedding
    # Sizes
    width: int = 296
    heads: int = 8
    inner: int = 256
    core: Core = "transformer"
    # Training
    dropout: float = 0.0  # of what is added to a residual
    attention_dropout: float = 0.3
    dual_dropout: float = 0.3
    embedding_dropout: float = 0.1
    highway_dropout: float = 0.0
    initialisation: Initialisation = "uniform"
    positive_label: float = 0.9  # of ranking and classification; one-sided label smoothing
    generation_weight: float = 1.0
    ranking_weight: float = 0.265
    classification_weight: float = 0.1

    def __post_init__(self) -> None:
        for name in ("embedding", "width", "heads", "inner", "passages", "longest_answer"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("shared_layers", "passage_layers", "question_layers", "decoder_layers", "vocabulary"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least 0")
        for name in ("dropout", "attention_dropout", "dual_dropout", "embedding_dropout", "highway_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be from 0 up to, not including, 1")
        if not 0 < self.positive_label <= 1:
            raise SettingsError(f"positive_label is {self.positive_label}; it must be above 0 and at most 1")
        if self.width % self.heads:
            raise SettingsError(f"width {self.width} does not divide into heads {self.heads}")
        self._check_parts()

    def _check_parts(self) -> None:
        needs = "encoder=joint" if self.encoder == "joint" else "embedder=contextual"
        needed = self.encoder == "joint" or self.embedder == "contextual"
        if needed and self.pretrained is None:
            raise SettingsError(f"{needs} needs the settings of a pretrained encoder (pretrained)")
        if not needed and self.pretrained is not None:
            raise SettingsError("pretrained is for encoder=joint or embedder=contextual")
        if self.pretrained is not None and self.pretrained.words != self.words.words:
            raise SettingsError(f"pretrained has {self.pretrained.words} words, the network {self.words.words}")
        if self.answer_source and self.encoder != "joint":
            raise SettingsError("answer_source needs encoder=joint; a style transfer network reads an answer otherwise")
        if self.core == "rnn" and (self.encoder == "joint" or self.width % 2 or self.decoder_positions != "none"):
            raise SettingsError("core=rnn needs encoder=separate, an even width and decoder_positions=none")

    @property
    def table_width(self) -> int:
        """Width of the word embeddings; a joint network writes with those of its encoder."""
        return self.pretrained.width if self.encoder == "joint" and self.pretrained is not None else self.embedding

    @property
    def sources(self) -> tuple[str, ...]:
        """What the decoder looks at and copies from, in this order."""
        return ("question", "answer", "passages") if self.answer_source else ("question", "passages")

    @classmethod
    def from_mapping(cls, saved: Mapping[str, Any]) -> MasqueSettings:
        """The settings that `dataclasses.asdict` wrote down."""
        values = dict(saved)
        if values.get("pretrained") is not None:
            values["pretrained"] = EncoderSettings(**values["pretrained"])
        values["words"] = WordSettings(**values["words"])
        return cls(**values)


def masque(**changes: Any) -> MasqueSettings:
    """Masque as its authors trained it; MiniLM plays the part of ELMo.

    ELMo gave the decoder contextual states of what was written; MiniLM looks both ways and cannot. The words written
    pass a highway of their own and get positions instead.
    """
    settings = MasqueSettings(
        embedder="contextual",
        pretrained=MINILM,
        tune_pretrained=False,
        positions="none",
        ranker="point",
        classifier="linear",
        decoder_highway=True,
        vocabulary=5000,
        input_words=True,
        tie_embeddings=True,
        width=304,
        dropout=0.3,
        attention_dropout=0.3,
        dual_dropout=0.0,
        embedding_dropout=0.0,
        highway_dropout=0.3,
        initialisation="normal",
        ranking_weight=0.5,
    )
    return replace(settings, **changes)


def preast(**changes: Any) -> MasqueSettings:
    """PREAST-QA: pair ranker, max classifier, word vectors with positions."""
    return replace(MasqueSettings(), **changes)


def joint(**changes: Any) -> MasqueSettings:
    """One sequence through MiniLM and a pre-norm decoder that copies by dot products: learns fastest on little data."""
    settings = MasqueSettings(
        encoder="joint",
        pretrained=MINILM,
        ranker="point",
        classifier="max",
        decoder_layers=6,
        decoder_norm="pre",
        decoder_positions="learned",
        decoder_embedding_norm=True,
        copy="dot",
        tie_embeddings=True,
        width=384,
        heads=8,
        inner=1024,
        dropout=0.1,
        attention_dropout=0.1,
        dual_dropout=0.0,
        embedding_dropout=0.1,
        initialisation="normal",
        ranking_weight=0.5,
    )
    return replace(settings, **changes)


def encoder_only(settings: MasqueSettings) -> MasqueSettings:
    """The same without decoder, with the weights of PREAST-QA's Table C.1."""
    ranking = 0.53 if settings.ranker == "pair" else 1.0
    return replace(settings, decoder_layers=0, generation_weight=0.0, ranking_weight=ranking, classification_weight=0.2)


PRESETS = {"masque": masque, "preast": preast, "joint": joint}
