"""A network for pairs of a few thousand random numbers, exported as a real one is."""

from __future__ import annotations

from pathlib import Path

import torch

from runtime.tiny_reader import tokenizer
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.systems.cete.export import export_cete
from wherefrom.systems.cete.network import PairNetwork
from wherefrom.systems.cete.settings import ExportSettings, TaskSettings
from wherefrom.train.seeds import seed_everything

ENCODER = EncoderSettings("bert", 300, 16, 2, 2, 32, 128, types=2)
TASK = TaskSettings(max_tokens=64, max_question=24, classify=1, separate=2)


def network() -> PairNetwork:
    seed_everything("tiny pairs")
    made = PairNetwork(ENCODER).eval()
    with torch.no_grad():
        for parameter in made.parameters():  # large enough for clear preferences
            parameter.mul_(4.0)
    return made


def write(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer().save(str(folder / "letters.json"))
    export_cete(network(), folder, folder / "letters.json", TASK, ExportSettings())
    return folder
