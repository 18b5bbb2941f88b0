"""A trained QASA becomes a folder of weights: its numbers in 16 bits, vectors in 8, words, settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from wherefrom.runtime.qasa import MODEL, WORDS
from wherefrom.systems.qasa.lists import PassageLists
from wherefrom.systems.qasa.network import QasaNetwork


def export_qasa(network: QasaNetwork, lists: PassageLists, longest: int, out: Path) -> None:
    """Write a folder that `runtime.qasa` reads; `longest` is how many words of a text the network was shown."""
    import tomli_w  # not where networks are only trained

    from wherefrom.train.quantize import eight_bits

    out.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, NDArray[Any]] = {
        name: tensor.detach().cpu().numpy().astype(numpy.float16) for name, tensor in network.state_dict().items()
    }
    arrays["vectors"], arrays["vectors_scale"] = eight_bits(lists.column("vectors"), axis=1, scales=numpy.float16)
    numpy.savez(out / MODEL, **arrays)  # type: ignore[arg-type]
    (out / WORDS).write_bytes(lists.column("words").tobytes())
    facts = {
        "attentive": network.attend is not None,
        "character_hidden": network.settings.character_hidden,
        "longest": longest,
        "precision": "fp16, vectors int8",
    }
    (out / "settings.toml").write_text(tomli_w.dumps(facts), encoding="utf-8")
