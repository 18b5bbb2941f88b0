"""What an asker's settings file may say: its training, how it asks, and what is written of that."""

from __future__ import annotations

from dataclasses import dataclass, field

from wherefrom.systems.asker.network import QuestionDecoderSettings
from wherefrom.systems.asker.task import AskerTaskSettings
from wherefrom.train.settings import LoopSettings

LOOP = LoopSettings(
    seed=1,
    epochs=6,
    precision="bf16",
    learning_rate=5e-4,
    group_rates={"encoder.": 1e-4},
    warmup=0.06,
    metric="loss",
    goal="min",
    report_every=100,
    checkpoint_every=5000,
    evaluate_first=False,
)


@dataclass(frozen=True, slots=True)
class AskingSettings:
    """How questions are drawn, and which are kept."""

    seed: int = 1
    batch: int = 1024
    shortest_passage: int = 48  # tokens
    shortest: int = 5  # tokens of a question
    temperature: float = 0.9
    nucleus: float = 0.95  # only the likeliest tokens that together have this chance are drawn
    relevance: float = 0.5  # the least that the teacher must think of the pair
    others: int = 4  # passages beside the one asked about, of those retrieved together with it
    most: int = 0  # passages to ask about; 0 is all
    again: int = 0  # more questions about each of SQuAD's training passages


@dataclass(frozen=True, slots=True)
class AskedSquadSettings:
    """The questions in SQuAD's format."""

    retrieved: bool = False  # those about passages of the ten-passage set too


@dataclass(frozen=True, slots=True)
class AskerSettings:
    """All of it."""

    loop: LoopSettings = LOOP
    task: AskerTaskSettings = field(default_factory=AskerTaskSettings)
    network: QuestionDecoderSettings = field(default_factory=QuestionDecoderSettings)
    asking: AskingSettings = field(default_factory=AskingSettings)
    squad: AskedSquadSettings = field(default_factory=AskedSquadSettings)
