"""The settings of one training of QR-BERTSUM-TL; the names of the ablations are the source's."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from wherefrom.errors import SettingsError
from wherefrom.systems.bertsum.material import FOLDS
from wherefrom.systems.bertsum.network import BertsumSettings
from wherefrom.systems.bertsum.task import BertsumTaskSettings
from wherefrom.train.settings import LoopSettings

Data = Literal["debatepedia", "qa2d"]


def _loop(steps: int, encoder: int, decoder: int, rate: float = 0.1) -> LoopSettings:
    """Two warm-ups, each with its inverse root: 0.002 for the encoder, 0.1 for the rest, as published."""
    return LoopSettings(
        seed=1,
        steps=steps,
        learning_rate=rate,
        group_rates={"encoder.": 0.02 * rate},
        decay="inverse-root",
        group_warmups={"": decoder, "encoder.": encoder},
        weight_decay=0.0,
        beta2=0.999,
        clip=0.0,
        precision="bf16",
        metric="loss_valid",
        goal="min",
        evaluate_every=max(1, steps // 6),
        evaluate_first=False,
        report_every=100,
    )


@dataclass(frozen=True, slots=True)
class GenericSettings:
    """The summaries without a query that come first."""

    news: int = 10_000  # articles, beside XSum's sample
    news_times: int = 3  # how often news is read while an encyclopedia's stretch is read once
    wikipedia: int = 120_000  # stretches of articles, each told by one of its own sentences
    batch: int = 128
    tokens: int = 300  # of a document


@dataclass(frozen=True, slots=True)
class BertsumTraining:
    """One training."""

    transfer: bool = True  # pretraining on generic summaries
    finetune: bool = True  # tuning on query-focused ones
    query: bool = True  # the query stands before the document
    extract_first: bool = False  # EXT-ABS: the encoder learns to extract before it learns to write
    data: Data = "debatepedia"  # what is tuned and tested on
    fold: int = 0  # of Debatepedia's ten
    passage_tokens: int = 256  # of QA2D's passages, half of which are longer than the 100 of Debatepedia's documents
    generic: GenericSettings = field(default_factory=GenericSettings)
    network: BertsumSettings = field(default_factory=BertsumSettings)
    task: BertsumTaskSettings = field(default_factory=BertsumTaskSettings)
    # Fewer steps than the source's 30,000 and 60,000 of 140 and 500: its data is ten to twenty times ours.
    extraction: LoopSettings = field(default_factory=lambda: _loop(1200, 500, 500))
    pretraining: LoopSettings = field(default_factory=lambda: _loop(3200, 2000, 1000))
    # The same highest rate as with the source's warm-ups of 6,000 and 2,000: three times as much unlearns everything.
    tuning: LoopSettings = field(default_factory=lambda: _loop(600, 600, 200, 0.03))  # on Debatepedia
    answering: LoopSettings = field(default_factory=lambda: _loop(1800, 600, 200, 0.03))  # on QA2D

    def __post_init__(self) -> None:
        if not 0 <= self.fold < FOLDS:
            raise SettingsError(f"fold is from 0 to {FOLDS - 1}, not {self.fold}")
        if self.data not in get_args(Data):
            raise SettingsError(f"data is one of {', '.join(get_args(Data))}, not {self.data}")
        if self.fold and self.data != "debatepedia":
            raise SettingsError(f"{self.data} is not cut into folds: leave fold at 0")
        if not (self.transfer or self.finetune):
            raise SettingsError("transfer=false and finetune=false together leave nothing to train")

    @property
    def tuned_by(self) -> LoopSettings:
        return self.tuning if self.data == "debatepedia" else self.answering

    @property
    def focused(self) -> BertsumTaskSettings:
        """How the documents around a query are put together."""
        if self.data == "debatepedia":
            return self.task
        return replace(self.task, document_tokens=self.passage_tokens)

    def before_tuning(self) -> dict[str, Any]:
        """All that decides what the pretraining learns. No query is read in it, so both masks are one."""
        network = asdict(replace(self.network, mask="bidirectional"))
        facts = {"network": network, "task": asdict(self.task), "generic": asdict(self.generic)}
        loops = {"pretraining": _learnt(self.pretraining)}
        if self.extract_first:
            loops["extraction"] = _learnt(self.extraction)
        return {**facts, "loops": loops}

    def described(self) -> dict[str, Any]:
        """All that decides what is learnt and how it is tested."""
        own = {"network": asdict(self.network), "task": asdict(self.focused), "query": self.query}
        own |= {"data": self.data, "fold": self.fold}
        if self.transfer:
            own["before"] = self.before_tuning()
        if self.finetune:
            own["loop"] = _learnt(self.tuned_by)
        return own


def fingerprint(facts: dict[str, Any]) -> str:
    """A short name for them."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def _learnt(loop: LoopSettings) -> dict[str, Any]:
    return loop.described("checkpoint_every")
