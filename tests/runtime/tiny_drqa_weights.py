"""DrQA's reader of a few hundred random numbers, exported as a real one is."""

from __future__ import annotations

from pathlib import Path

import torch

from runtime.tiny_reader import tokenizer
from train import tiny_drqa
from wherefrom.systems.drqa.export import export_drqa
from wherefrom.systems.drqa.network import DrQANetwork, DrQASettings
from wherefrom.systems.drqa.task import DrQATask
from wherefrom.train.checkpoint import save_weights
from wherefrom.train.seeds import seed_everything


def write(folder: Path, settings: DrQASettings = tiny_drqa.NETWORK) -> tuple[Path, DrQANetwork, Path]:
    """The folder of weights, the network in it, and the material."""
    folder.mkdir(parents=True, exist_ok=True)
    material = tiny_drqa.write(folder / "material.safetensors")
    seed_everything("tiny drqa")
    network = DrQATask(material, settings).model().eval()
    with torch.no_grad():
        for parameter in network.parameters():  # large enough for clear preferences
            parameter.mul_(2.0)
    save_weights(folder / "network.safetensors", network, {})
    (folder / "tokenizer.json").write_text(tokenizer().to_str())
    export_drqa(
        folder / "network.safetensors", material, folder / "tokenizer.json", folder / "drqa", network.settings, "both"
    )
    return folder / "drqa", network, material
