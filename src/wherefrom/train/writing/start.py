"""What networks that write start from: published weights of an encoder, or those of a trained reader."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import load_file

from wherefrom.errors import SettingsError
from wherefrom.networks.encoder import Encoder, load_pretrained
from wherefrom.train.checkpoint import saved_layers


def start_encoder(encoder: Encoder, weights: Path) -> None:
    """Fill an encoder from published weights, or from those of a trained reader network."""
    saved = load_file(weights)
    if "encoder.word.weight" not in saved:
        load_pretrained(encoder, weights)
        return
    if (layers := saved_layers(weights)) != encoder.settings.layers:
        raise SettingsError(
            f"{weights} has {layers} layers, the writer's encoder {encoder.settings.layers}: "
            f"name a reader of {encoder.settings.layers} layers (recipes/reader.toml makes one), or none"
        )
    own = {name.removeprefix("encoder."): tensor for name, tensor in saved.items() if name.startswith("encoder.")}
    encoder.load_state_dict({name: tensor.float() for name, tensor in own.items()}, strict=True)
