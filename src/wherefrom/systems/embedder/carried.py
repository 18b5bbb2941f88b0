"""Weights in eight bits, for machines that take no large files: a row of a matrix has a scale of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

_SCALE = ".scale"


def pack(state: Mapping[str, Tensor], path: Path) -> None:
    """A quarter of the size; what is rounded away is soon learnt again."""
    packed: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if tensor.dim() != 2:
            packed[name] = tensor.to(torch.float16).contiguous()
            continue
        scale = (tensor.float().abs().amax(dim=1, keepdim=True) / 127).clamp(min=1e-6)
        packed[name] = (tensor.float() / scale).round().to(torch.int8).contiguous()
        packed[name + _SCALE] = scale
    save_file(packed, path)


def unpacked(path: Path) -> dict[str, Tensor]:
    """The weights that `pack` has written."""
    packed = load_file(path)
    return {
        name: tensor.float() * packed[name + _SCALE] if name + _SCALE in packed else tensor.float()
        for name, tensor in packed.items()
        if not name.endswith(_SCALE)
    }
