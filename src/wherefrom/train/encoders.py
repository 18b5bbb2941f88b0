"""The published encoders as trainings use them: their shapes, maps between their vocabularies, a trained teacher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from wherefrom.networks.encoder import EncoderSettings
from wherefrom.networks.spans import ReaderNetwork, token_map
from wherefrom.origin import file_hash
from wherefrom.train import pretrained
from wherefrom.train.checkpoint import load_weights, saved_layers

STUDENT = "minilm"  # whose wordpieces all material is cut into
TEACHER = "mpnet"  # reads the same wordpieces through its own vocabulary

Fetch = Callable[[str, Path], Path]
"""Gives the folder of an encoder, by its name, below a folder of them all."""


@dataclass(frozen=True, slots=True)
class Teacher:
    """A trained reader that others learn from."""

    network: ReaderNetwork
    tokens: Tensor | None = None  # from the material's token ids to its own; None where they are the same
    sha256: str = ""  # of its weights

    def to(self, device: torch.device) -> Teacher:
        tokens = None if self.tokens is None else self.tokens.to(device)
        return replace(self, network=self.network.to(device), tokens=tokens)


@dataclass(frozen=True, slots=True)
class Encoders:
    """Encoders below one folder; one that is not there is fetched."""

    folder: Path
    fetch: Fetch = pretrained.fetch

    def of(self, name: str) -> Path:
        """The folder of one."""
        return self.fetch(name, self.folder)

    def settings(self, name: str) -> EncoderSettings:
        return EncoderSettings.from_config(self.of(name) / "config.json")

    def tokens(self, name: str) -> Tensor | None:
        """From the material's token ids to those of the encoder; None where they are the same."""
        if name == STUDENT:
            return None
        return token_map(pretrained.vocabulary(self.of(STUDENT)), pretrained.vocabulary(self.of(name)))

    def teacher(self, weights: Path, name: str = TEACHER) -> Teacher:
        """A trained reader over the encoder of this name, as deep as its weights; one without yes and no may teach."""
        network = ReaderNetwork(replace(self.settings(name), layers=saved_layers(weights)))
        load_weights(network, weights, lacking=("truth",))
        return Teacher(network.requires_grad_(False).eval(), self.tokens(name), file_hash(weights))
