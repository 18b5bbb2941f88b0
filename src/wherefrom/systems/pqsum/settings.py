"""The settings of PQSUM-WSL-DS, each beside its reason."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Literal

from wherefrom.errors import SettingsError
from wherefrom.systems.bertsum.network import BertsumSettings
from wherefrom.systems.bertsum.task import BertsumTaskSettings
from wherefrom.train.settings import LoopSettings

Weak = Literal["cete", "bertsum_ext", "bertsum_abs"]
Similarity = Literal["embedder", "words"]
Tested = Literal["stand-ins", "2005", "2006", "2007"]


@dataclass(frozen=True, slots=True)
class SetsSettings:
    """Which sets of documents there are, and of how many documents is learnt."""

    tested: Tested = "stand-ins"  # QMSum, SQuALITY and Wikipedia; or a year of DUC, the other two being learnt from
    document_words: int = 300  # a topic of a meeting or a story has thousands; 25 to 35 documents a set, as DUC has
    wikipedia: int = 200  # articles; three of ten are measured on
    measured: int = 0  # queries of each source, the first ones; 0: all
    documents: int = 4_000  # that are learnt from, as many of each source: three passes are the source's 12,500
    watched: int = 400  # other documents, whose loss decides which weights are kept
    seed: int = 1  # of their choice

    def __post_init__(self) -> None:
        if min(self.document_words, self.documents, self.watched) < 1:
            raise SettingsError("sets.document_words, sets.documents and sets.watched must be above 0")


def _loop() -> LoopSettings:
    """50 steps of 250 documents, as published; its warm-ups of thousands of steps would leave them without effect."""
    return LoopSettings(
        seed=1,
        steps=50,
        accumulate=2,
        learning_rate=0.1,
        group_rates={"encoder.": 0.002},
        decay="inverse-root",
        group_warmups={"": 200, "encoder.": 600},
        weight_decay=0.0,
        clip=0.0,
        precision="bf16",
        metric="loss_valid",
        goal="min",
        evaluate_every=10,
        report_every=10,
    )


@dataclass(frozen=True, slots=True)
class PqsumTraining:
    """One training and its measure; `weak`, `wsl`, `distant` and `trigram_block` are the source's ablations."""

    weak: Weak = "cete"  # what gives a document its weak reference: the ranker's best sentences, or BERTSUM as it comes
    weak_sentences: int = 3  # of those that are taken from the document
    wsl: bool = True  # learn from weak references; false ranks what `weak` gives of every document instead
    distant: bool = True  # each weak sentence is replaced by the most similar gold sentence
    similarity: Similarity = "embedder"  # RoBERTa tuned on MRPC in the source; words: cosine of stems
    trigram_block: bool = True  # no two sentences of a summary share three words in a row
    words: int = 250  # of a summary
    meeting_words: int = 100  # of one of QMSum, whose references have 71
    ranker: str = "cete"  # its weights: a name, or a folder
    embedder: str = "embedder"  # likewise
    sets: SetsSettings = field(default_factory=SetsSettings)
    network: BertsumSettings = field(default_factory=BertsumSettings)
    task: BertsumTaskSettings = field(
        default_factory=lambda: BertsumTaskSettings(
            batch=125, document_tokens=512, summary_tokens=100, target_tokens=128
        )
    )
    loop: LoopSettings = field(default_factory=_loop)
    together: int = 500  # documents that are written of in one batch; decides the speed alone

    def __post_init__(self) -> None:
        if min(self.weak_sentences, self.words, self.meeting_words, self.together) < 1:
            raise SettingsError("weak_sentences, words, meeting_words and together must be above 0")

    @property
    def ranks_sources(self) -> bool:
        """Whether nothing is written: the documents' own sentences are ranked."""
        return self.weak == "cete" and not self.wsl

    def words_of(self, source: str) -> int:
        """The budget of a summary."""
        return self.meeting_words if source == "qmsum" else self.words

    def fingerprint(self, **more: str) -> str:
        """Of all that decides what is written; names the folder of a row's training."""
        chosen = {"trigram_block", "words", "meeting_words", "together"}
        whole = {name: value for name, value in asdict(self).items() if name not in chosen}
        whole["loop"] = self.loop.described()
        return hashlib.sha256(json.dumps({**whole, **more}, sort_keys=True).encode()).hexdigest()[:12]
