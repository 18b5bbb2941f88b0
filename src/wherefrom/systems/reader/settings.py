"""What a reader's settings file may say: its two trainings, the export and the measuring at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from wherefrom.errors import SettingsError
from wherefrom.evaluate.first_answers import MeasureSettings
from wherefrom.systems.reader.task import ReaderTaskSettings
from wherefrom.train import pretrained
from wherefrom.train.quantize import ExportPrecision, TableBits
from wherefrom.train.settings import LoopSettings


@dataclass(frozen=True, slots=True)
class ReaderTrainingSettings:
    """The teacher's training or the student's."""

    loop: LoopSettings
    task: ReaderTaskSettings
    encoder: str  # that it starts from: minilm, gte or mpnet

    def __post_init__(self) -> None:
        if self.encoder not in pretrained.INPUTS:
            raise SettingsError(f"encoder is {self.encoder!r}; there are {', '.join(pretrained.INPUTS)}")


@dataclass(frozen=True, slots=True)
class ReaderMaterialSettings:
    """What is learnt from."""

    more: bool = False  # near misses, other people's questions, yes and no, questions as typed, beside SQuAD


@dataclass(frozen=True, slots=True)
class ReaderExportSettings:
    """The network that is shipped."""

    precision: ExportPrecision = "int8"  # a quarter of the size of fp32 and twice as fast
    table_bits: TableBits = 8  # of a word's vector; 4 leave room for three more layers
    yes_no: bool = True  # whether it says yes and no; not where it was not trained to
    brevity: float = 0.0  # how much shorter spans are preferred: times log(tokens); `bench.brevity` finds it

    def __post_init__(self) -> None:
        if not 0.0 <= self.brevity < math.inf:
            raise SettingsError(f"export.brevity must be 0 or above, not {self.brevity}")


TEACHER = ReaderTrainingSettings(
    LoopSettings(
        seed=1,
        epochs=2,
        precision="bf16",
        learning_rate=5e-5,
        warmup=0.06,
        metric="score",
        report_every=100,
        checkpoint_every=5000,
        # The bias for distance stays as pretrained: its gradient costs as much as all of attention.
        group_rates={"encoder.": 4e-5, "encoder.distance.": 0.0},
    ),
    ReaderTaskSettings(negatives=1),
    "mpnet",
)
STUDENT = ReaderTrainingSettings(
    LoopSettings(
        seed=1,
        epochs=20,
        precision="bf16",
        learning_rate=5e-4,
        group_rates={"encoder.": 3e-4},
        warmup=0.03,
        metric="score",
        report_every=100,
        checkpoint_every=5000,
    ),
    ReaderTaskSettings(negatives=1, distillation=2.0, states=2.0, dropout=0.05),
    "minilm",
)


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """All of it."""

    material: ReaderMaterialSettings = field(default_factory=ReaderMaterialSettings)
    teacher: ReaderTrainingSettings = TEACHER
    student: ReaderTrainingSettings = STUDENT
    export: ReaderExportSettings = field(default_factory=ReaderExportSettings)
    measure: MeasureSettings = field(default_factory=MeasureSettings)
