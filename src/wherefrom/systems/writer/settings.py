"""The writer's settings: one network, trained twice, since style transfer is the writer's simpler half."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from wherefrom.systems.writer.network import WriterNetworkSettings
from wherefrom.systems.writer.task import WriterTaskSettings
from wherefrom.train.quantize import ExportPrecision
from wherefrom.train.settings import LoopSettings
from wherefrom.train.writing.batches import WriterBatchSettings
from wherefrom.train.writing.task import word_settings
from wherefrom.write.marks import Marks

# Their sentences are made of knowledge graphs and all alike: fewer of them leave more for those people wrote.
_SHARES = {"vanilla": 0.4, "vquanda": 0.5, "paraqa": 0.5}
_LOOP = LoopSettings(
    seed=1,
    precision="bf16",
    learning_rate=5e-4,
    group_rates={"reader.": 1.5e-4},
    warmup=0.06,
    decay="cosine",
    report_every=100,
    checkpoint_every=1000,
    evaluate_first=False,
)


@dataclass(frozen=True, slots=True)
class WriterTraining:
    """One of the two trainings: how it is fitted, and what it sees."""

    loop: LoopSettings
    task: WriterTaskSettings


def _transfer() -> WriterTraining:
    return WriterTraining(
        replace(_LOOP, steps=550, evaluate_every=550),
        WriterTaskSettings(
            WriterBatchSettings(quota=(), styles="every", shares=_SHARES),
            passages=False,
            triples=1.0,
            answer_given=1.0,
            valid_short=0,
            valid_sentences=640,
        ),
    )


def _writer() -> WriterTraining:
    return WriterTraining(
        replace(_LOOP, steps=3500, evaluate_every=3500),
        WriterTaskSettings(
            WriterBatchSettings(passages=5, tokens=51_200, styles="every", quota=(), shares=_SHARES, max_tokens=232),
            triples=1.0,
            valid_narrative=160,
        ),
    )


@dataclass(frozen=True, slots=True)
class WriterExport:
    """How the network is run, beside the lengths that it was trained with."""

    max_title: int = 24
    max_written: int = 64  # tokens of an answer
    precision: ExportPrecision = "int8"
    tokenizer: str = "tokenizer.json"  # where it lies, seen from the folder; copied there if it is in it


@dataclass(frozen=True, slots=True)
class WriterMeasure:
    """What the exported writer is measured on, alone."""

    most: int = 2000  # examples of each kind; 0: all
    passages: int = 3  # that a sentence is written from
    threads: int = 2


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """All of it."""

    network: WriterNetworkSettings = field(default_factory=lambda: WriterNetworkSettings(words=word_settings(Marks())))
    transfer: WriterTraining = field(default_factory=_transfer)
    synthesis_tokens: int = 65_536  # of a microbatch of sentences to be made
    writer: WriterTraining = field(default_factory=_writer)
    export: WriterExport = field(default_factory=WriterExport)
    measure: WriterMeasure = field(default_factory=WriterMeasure)
