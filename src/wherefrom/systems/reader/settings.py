"""What a reader's settings file may say: its trainings, the export, the judge and the measuring at the end."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from wherefrom.config import read_toml, updated
from wherefrom.errors import SettingsError
from wherefrom.systems.asker import task as asking
from wherefrom.systems.asker.network import AskerSettings
from wherefrom.systems.asker.task import AskerTaskSettings, AskingSettings
from wherefrom.systems.judge.system import JudgeFitSettings
from wherefrom.systems.reader import run as reader_run
from wherefrom.systems.reader.export import Precision
from wherefrom.systems.reader.run import Recipe
from wherefrom.systems.reader.task import ReaderTaskSettings
from wherefrom.train.quantize import TableBits
from wherefrom.train.settings import LoopSettings

DEFAULT = Path(__file__).parent / "recipes" / "reader.toml"  # of the reader that comes with wherefrom


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """The teacher's training or the student's; the encoder it starts from is not a matter of settings."""

    loop: LoopSettings
    task: ReaderTaskSettings

    @classmethod
    def of(cls, recipe: Recipe) -> TrainingSettings:
        return cls(recipe.loop, recipe.task)


@dataclass(frozen=True, slots=True)
class AskerTrainingSettings:
    """The training of a network that asks; what it asks the student learns from too."""

    use: bool = False  # the stages asker and asked; they want --start
    loop: LoopSettings = asking.LOOP
    task: AskerTaskSettings = field(default_factory=AskerTaskSettings)


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """The network that is shipped."""

    precision: Precision = "int8"  # a quarter of the size of fp32 and twice as fast
    table_bits: TableBits = 8  # of a word's vector; 4 leave room for three more layers
    brevity: float = 0.0  # how much shorter spans are preferred: times log(tokens); `bench.brevity` finds it

    def __post_init__(self) -> None:
        if not 0.0 <= self.brevity < math.inf:
            raise SettingsError(f"export.brevity must be 0 or above, not {self.brevity}")


@dataclass(frozen=True, slots=True)
class MeasureSettings:
    """Exact match and F1 of the exported network on SQuAD's validation part, each question with its paragraph."""

    questions: int = 2000  # evenly spread, a minute or two; 0 takes all
    threads: int = 2

    def __post_init__(self) -> None:
        if self.questions < 0 or self.threads < 1:
            raise SettingsError("measure.questions must be 0 or above, and measure.threads above 0")


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """All of it; the defaults are the recipes of `reader_run`."""

    teacher: TrainingSettings = field(default_factory=lambda: TrainingSettings.of(reader_run.TEACHER))
    student: TrainingSettings = field(default_factory=lambda: TrainingSettings.of(reader_run.STUDENT))
    asker: AskerTrainingSettings = field(default_factory=AskerTrainingSettings)
    asking: AskingSettings = field(default_factory=AskingSettings)
    export: ExportSettings = field(default_factory=ExportSettings)
    judge: JudgeFitSettings = field(default_factory=JudgeFitSettings)
    measure: MeasureSettings = field(default_factory=MeasureSettings)

    def teacher_recipe(self) -> Recipe:
        return replace(reader_run.TEACHER, loop=self.teacher.loop, task=self.teacher.task)

    def student_recipe(self) -> Recipe:
        return replace(reader_run.STUDENT, loop=self.student.loop, task=self.student.task)


def reader_settings(toml: Path = DEFAULT, base: ReaderSettings | None = None) -> ReaderSettings:
    """The settings in a TOML file; a name that is not a setting is an error that says what was meant."""
    return updated(base or ReaderSettings(), read_toml(toml), str(toml))


def plain(section: LoopSettings | ReaderTaskSettings | AskerTaskSettings | AskerSettings) -> dict[str, Any]:
    """A section as JSON gives it back: keys are text, tuples are lists."""
    read: dict[str, Any] = json.loads(json.dumps(asdict(section)))
    return read
