"""Every setting of DrQA's making, beside its reason."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from wherefrom.errors import SettingsError
from wherefrom.evaluate.first_answers import MeasureSettings
from wherefrom.systems.drqa.network import DrQASettings
from wherefrom.train.settings import LoopSettings

Bits = Literal[8, 16]
VectorKind = Literal["glove", "pieces", "both"]

# Chen et al. 2017 train with Adamax and clip the gradient; warm-up, decay and averaging of weights are ours.
LOOP = LoopSettings(
    seed=1,
    epochs=16,
    optimizer="adamax",
    learning_rate=2e-3,
    weight_decay=0.0,
    clip=10.0,
    warmup=0.02,
    decay="linear",
    final_rate=0.02,
    ema=0.998,
    metric="f1",
    report_every=200,
    checkpoint_every=1000,
    evaluate_first=False,
)


@dataclass(frozen=True, slots=True)
class DrQATaskSettings:
    """What the reader sees and what it is asked for."""

    vectors: VectorKind = "both"  # GloVe's 100 numbers, MiniLM's wordpieces, or both side by side
    batch: int = 64  # examples of a microbatch
    max_tokens: int = 400  # of a passage in training; an answer further on is not trained on
    max_question: int = 60
    max_span: int = 15  # tokens of an answer
    distillation: float = 0.0  # weight of a teacher's starts and ends beside the gold ones; 0 trains on gold alone
    temperature: float = 2.0  # of the teacher: 1.5 to 2 shows its second guesses
    valid_questions: int = 0  # evaluated on, evenly spread; 0 takes all

    def __post_init__(self) -> None:
        for name in ("batch", "max_tokens", "max_question", "max_span", "temperature"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"task.{name} must be above 0, not {getattr(self, name)}")
        if self.distillation < 0 or self.valid_questions < 0:
            raise SettingsError("task.distillation and task.valid_questions must be 0 or above")


@dataclass(frozen=True, slots=True)
class WordSettings:
    """What is known of words, and how many passages are looked at for questions that come without."""

    pieces: int = 200  # numbers of a wordpiece's vector; with GloVe's 100 they are 300, as many as Chen et al. have
    also: int = 50_000  # of GloVe's commonest words are known, whether SQuAD has them or not
    retrieved: int = 30  # passages looked at for a question of distant supervision


@dataclass(frozen=True, slots=True)
class DistantSettings:
    """Which retrieved passages are believed."""

    passages: int = 5  # of a question, those that share most words with it
    least: int = 25  # characters of a passage; Chen et al.
    most: int = 1500
    longest: int = 15  # tokens of an answer
    shared: int = 1  # content words, by their stems, that question and passage have in common at least

    def __post_init__(self) -> None:
        if min(self.passages, self.longest) < 1 or not 0 <= self.least <= self.most or self.shared < 0:
            raise SettingsError("distant: passages and longest must be above 0, 0 <= least <= most, and shared >= 0")


@dataclass(frozen=True, slots=True)
class DrQAExportSettings:
    """What is shipped."""

    most_words: int = 80_000  # that keep GloVe's vector, 100 bytes each; all others have their pieces
    bits: Bits = 16  # of the network's weights; 8 leave room for a wider one
    brevity: float = 0.0  # how much shorter spans are preferred: times log(tokens); `bench.brevity` finds it

    def __post_init__(self) -> None:
        if not 0.0 <= self.brevity < math.inf:
            raise SettingsError(f"export.brevity must be 0 or above, not {self.brevity}")


@dataclass(frozen=True, slots=True)
class DrQARecipe:
    """All of it."""

    network: DrQASettings = field(default_factory=DrQASettings)
    loop: LoopSettings = LOOP
    task: DrQATaskSettings = field(default_factory=DrQATaskSettings)
    material: WordSettings = field(default_factory=WordSettings)
    distant: DistantSettings = field(default_factory=DistantSettings)
    export: DrQAExportSettings = field(default_factory=DrQAExportSettings)
    measure: MeasureSettings = field(default_factory=MeasureSettings)
