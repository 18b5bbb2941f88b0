"""A reader of a few thousand random numbers, exported as a real one is."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from wherefrom.judge.signs import NAMES
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import HeadSettings, ReaderNetwork
from wherefrom.systems.reader.export import to_onnx
from wherefrom.train.seeds import seed_everything

ENCODER = EncoderSettings("bert", 300, 16, 2, 2, 32, 128, types=2)
LETTERS = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
SETTINGS = "max_tokens = 96\nmax_question = 24\nwindow_overlap = 16\nclassify = 1\nseparate = 2\npadding = 0\n"
WEIGHTS = {"relevance": 1.0, "span": 0.2, "margin": 0.1, "coverage": 0.3}
JUDGE = {"bias": -1.0, "terms": {name: [WEIGHTS.get(name, 0.0), 0.0, 1.0] for name in NAMES}}


def tokenizer() -> Tokenizer:
    """Letters as tokens: any text has some, whatever its script."""
    vocabulary = {token: number for number, token in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", *LETTERS])}
    vocabulary |= {f"##{letter}": number for number, letter in enumerate(LETTERS, start=len(vocabulary))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def network() -> ReaderNetwork:
    seed_everything("tiny reader")
    network = ReaderNetwork(ENCODER, HeadSettings(inner=8)).eval()
    with torch.no_grad():
        for parameter in network.parameters():  # large enough for clear preferences
            parameter.mul_(4.0)
    return network


def write(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    to_onnx(network(), folder / "model.onnx")
    tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "settings.toml").write_text(SETTINGS)
    (folder / "judge.json").write_text(json.dumps(JUDGE))
    return folder
