"""Networks of a few thousand numbers that write in the letters' wordpieces, and how they are trained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from train.letters import MARKS, VOCABULARY
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.systems.masque.network import MasqueSettings, masque
from wherefrom.systems.masque.style_transfer import StyleTransferSettings
from wherefrom.systems.writer.network import WriterNetworkSettings
from wherefrom.systems.writer.task import WriterTaskSettings
from wherefrom.train.writing.batches import WriterBatchSettings
from wherefrom.train.writing.task import PassageTaskSettings, word_settings

WORDS = word_settings(MARKS, len(dict.fromkeys(VOCABULARY)))
PRETRAINED = EncoderSettings(
    "bert",
    words=WORDS.words,
    width=16,
    layers=2,
    heads=2,
    inner=24,
    positions=96,
    types=2,
    dropout=0.0,
    attention_dropout=0.0,
)
_SMALL: dict[str, Any] = {
    "words": WORDS,
    "heads": 2,
    "inner": 24,
    "decoder_layers": 1,
    "attention_dropout": 0.0,
    "embedding_dropout": 0.0,
}
_APART: dict[str, Any] = {
    **_SMALL,
    "width": 16,
    "embedding": 12,
    "shared_layers": 1,
    "dropout": 0.0,
    "dual_dropout": 0.0,
}
_JUDGING: dict[str, Any] = {"pretrained": PRETRAINED, "positive_label": 1.0}

COMMON = list(range(9, 60))
WRITER = WriterNetworkSettings(**_SMALL, **_JUDGING, dropout=0.0, vocabulary=len(COMMON))
PREAST = MasqueSettings(**_APART, **_JUDGING, passage_layers=1, question_layers=1)
MASQUE = masque(
    **_APART, **_JUDGING, passage_layers=1, question_layers=1, highway_dropout=0.0, vocabulary=30, passages=4
)
TRANSFER = StyleTransferSettings(**_APART, passage_layers=(1, 1), question_layers=(1, 1), answer_layers=(1, 1))

BATCH = WriterBatchSettings(
    passages=3, max_tokens=90, max_passage=80, tokens=4000, marks=MARKS, title_dropout=0.0, quota=(), removed=0.0
)
TASK = PassageTaskSettings(BATCH, valid_passages=4, valid_short=4, valid_sentences=4, longest=6)
WRITER_TASK = WriterTaskSettings(
    replace(BATCH, styles="every"), valid_passages=4, valid_short=4, valid_sentences=4, longest=6
)
