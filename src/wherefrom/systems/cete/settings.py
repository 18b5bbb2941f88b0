"""Every setting of CETE's making, beside its reason."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from wherefrom.errors import SettingsError
from wherefrom.train.settings import LoopSettings

Way = Literal["tuned", "features"]
EncoderName = Literal["minilm", "gte", "mpnet", "static"]
Layer = Literal["transformer", "none"]
Restriction = Literal["half", "clamp"]
Source = Literal["trecqa", "wikiqa", "yahoocqa", "semeval15", "semeval16", "semeval17", "squad"]
SOURCES: tuple[Source, ...] = get_args(Source)

# The thesis: Adam, batches of 8, 16 or 24, a rate of 1e-5 or 2e-5, chosen on dev; epochs are not said.
LOOP = LoopSettings(
    seed=1,
    epochs=3,
    learning_rate=2e-5,
    warmup=0.1,
    metric="map",
    evaluate_every=400,
    report_every=50,
    checkpoint_every=400,
    evaluate_first=False,
)


@dataclass(frozen=True, slots=True)
class MaterialSettings:
    """What is written into the material."""

    transfer_questions: int = 0  # of squad/train, evenly spread; 0 takes all 79,232
    vector_words: int = 60_000  # the most frequent words that get a vector, for encoder=static; numbers of 16 bits

    def __post_init__(self) -> None:
        if not 0 < self.vector_words < 1 << 16:
            raise SettingsError(f"material.vector_words must be from 1 to 65,535, not {self.vector_words}")
        if self.transfer_questions < 0:
            raise SettingsError(f"material.transfer_questions must be 0 or above, not {self.transfer_questions}")


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Which of the two networks, over which encoder."""

    way: Way = "tuned"  # question and candidate in one sequence; features: each alone, over frozen vectors
    encoder: EncoderName = "minilm"  # static: DrQA's 300 numbers a word, GloVe's beside those of its wordpieces
    layer: Layer = "transformer"  # features: one fresh layer each; none: the mean of the frozen vectors alone
    heads: int = 8  # features; the thesis: 8, and 6 over 300 numbers
    dropout: float = 0.2  # features; the fine-tuned encoders keep their own
    restriction: Restriction = "half"  # of the cosine to [0, 1]: (1 + cos) / 2 keeps order and gradient; clamp: max(0,)

    def __post_init__(self) -> None:
        if self.way == "tuned" and (self.encoder == "static" or self.layer == "none"):
            raise SettingsError("network.encoder=static and network.layer=none need network.way=features")
        if self.heads < 1 or not 0 <= self.dropout < 1:
            raise SettingsError("network.heads must be at least 1, and network.dropout from 0 to below 1")


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """What is shown, and in which batches."""

    sources: tuple[Source, ...] = ("trecqa", "wikiqa")  # that are learnt from
    answered: bool = False  # only questions that have both right and wrong candidates; the thesis takes all
    batch: int = 24  # pairs; the thesis: 8, 16 or 24
    max_question: int = 64  # wordpieces
    max_tokens: int = 192  # of a pair in one sequence, special tokens included; features: of a text
    valid_questions: int = 600  # of squad, held out to measure a transfer by; the others' dev parts count whole
    classify: int = 101  # token ids of BERT
    separate: int = 102
    padding: int = 0

    def __post_init__(self) -> None:
        if unknown := set(self.sources) - set(SOURCES):
            raise SettingsError(f"task.sources knows no {', '.join(sorted(unknown))}; there are {', '.join(SOURCES)}")
        if not self.sources:
            raise SettingsError("task.sources names nothing to learn from")
        for name in ("batch", "max_question", "valid_questions"):
            if getattr(self, name) < 1:
                raise SettingsError(f"task.{name} must be above 0, not {getattr(self, name)}")
        if self.max_tokens < self.max_question + 8:
            raise SettingsError("task.max_tokens leaves no room for a candidate behind task.max_question")


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """What is written for run time."""

    precision: Literal["fp32", "int8"] = "int8"
    table_bits: Literal[4, 8] = 8


@dataclass(frozen=True, slots=True)
class CeteSettings:
    """Every setting."""

    material: MaterialSettings = field(default_factory=MaterialSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    task: TaskSettings = field(default_factory=TaskSettings)
    loop: LoopSettings = LOOP
    export: ExportSettings = field(default_factory=ExportSettings)

    def __post_init__(self) -> None:
        if self.network.way == "features" and "squad" in self.task.sources:
            raise SettingsError("task.sources=squad is for network.way=tuned: nothing else is worth transferring")

    @property
    def learns(self) -> bool:
        """Whether there is anything to train: the mean of frozen vectors has no weights."""
        return self.network.layer != "none"

    @property
    def frozen(self) -> EncoderName | None:
        """The encoder whose states are worked out once; none where it is trained too, or where a table does."""
        return self.network.encoder if self.network.way == "features" and self.network.encoder != "static" else None

    def of(self, *sources: Source) -> CeteSettings:
        """The same, learning from these."""
        return replace(self, task=replace(self.task, sources=sources))

    def fingerprint(self, **more: Any) -> str:
        """Of all that decides what is learnt; names the folder of a row's training."""
        loop = self.loop.described("checkpoint_every")
        whole = {"network": asdict(self.network), "task": asdict(self.task), "loop": loop, **more}
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:12]
