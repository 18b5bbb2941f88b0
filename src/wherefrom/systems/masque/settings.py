"""The settings of one training of Masque, PREAST-QA or style transfer; several vote where there are seeds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from wherefrom.errors import SettingsError
from wherefrom.systems.masque.network import MasqueSettings, encoder_only, masque
from wherefrom.systems.masque.style_transfer import StyleTransferSettings
from wherefrom.systems.masque.task import StyleTransferTaskSettings
from wherefrom.train.settings import LoopSettings
from wherefrom.train.writing.batches import WriterBatchSettings
from wherefrom.train.writing.task import PassageTaskSettings, word_settings
from wherefrom.write.marks import Marks

_WORDS = word_settings(Marks())
_WATCHED = 88  # examples that a training is watched by
_NOT_LEARNT = ("checkpoint_every", "report_every")  # settings of the loop that change nothing that is learnt

# 10 passages of at most 144 wordpieces, about the papers' 100 words; PREAST's batch and its share of answerable ones.
# Gold passages that were left out are not put back: with a quota others would be taken out, and a linear classifier
# would learn that nine passages mean no answer.
_BATCH = WriterBatchSettings(size=44, tokens=0, put_back=False, max_tokens=192, max_passage=144, max_question=40)
_LOOP = LoopSettings(
    seed=1,
    epochs=1,
    steps=700,
    precision="bf16",
    learning_rate=2.5e-4,
    warmup=0.12,
    decay="cosine",
    evaluate_every=700,  # once, at the end: every step before it is training
    evaluate_first=False,
    report_every=100,
    checkpoint_every=100_000,
)


@dataclass(frozen=True, slots=True)
class MasqueTraining:
    """One training; of the three networks the named one is trained."""

    network: Literal["masque", "preast", "transfer"] = "masque"
    masque: MasqueSettings = field(default_factory=lambda: masque(words=_WORDS))
    preast: MasqueSettings = field(default_factory=lambda: MasqueSettings(words=_WORDS))
    transfer: StyleTransferSettings = field(default_factory=lambda: StyleTransferSettings(words=_WORDS))
    decoder: bool = True  # without one it ranks and judges alone, with the loss weights of PREAST-QA's Table C.1
    synthetic: Literal["none", "selective", "all"] = "none"  # synthetic sentences to learn from; PREAST's NLG_aug(-)
    task: PassageTaskSettings = field(
        default_factory=lambda: PassageTaskSettings(_BATCH, valid_short=_WATCHED, valid_sentences=_WATCHED)
    )
    transfer_task: StyleTransferTaskSettings = field(
        default_factory=lambda: StyleTransferTaskSettings(valid_sentences=_WATCHED)
    )
    loop: LoopSettings = _LOOP
    seeds: tuple[int, ...] = ()  # in a row of a paper: a training with each of these, that vote; empty: loop.seed alone

    def __post_init__(self) -> None:
        if self.network == "transfer" and (self.synthetic != "none" or not self.decoder):
            raise SettingsError("network=transfer has a decoder, and is what makes synthetic sentences")

    @property
    def passage_network(self) -> MasqueSettings:
        """The network that reads passages."""
        chosen = self.preast if self.network == "preast" else self.masque
        return chosen if self.decoder else encoder_only(chosen)

    def with_seed(self, seed: int) -> MasqueTraining:
        return replace(self, loop=replace(self.loop, seed=seed), seeds=())

    def described(self) -> dict[str, Any]:
        """All that decides what is learnt and answered, for JSON."""
        transfer = self.network == "transfer"
        loop = self.loop.described(*_NOT_LEARNT)
        return {
            "network": asdict(self.transfer if transfer else self.passage_network),
            "task": asdict(self.transfer_task if transfer else self.task),
            "synthetic": self.synthetic,
            "loop": loop,
        }

    def fingerprint(self, start: MasqueTraining | None = None) -> str:
        """Twelve digits that trainings of the same settings share; `start`: what it starts from."""
        described = [self.described(), start.described() if start else None]
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:12]
