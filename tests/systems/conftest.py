"""A tiny reader that several systems' tests go on from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from systems.making import TinyReader


@pytest.fixture(scope="session")
def tiny_reader(tmp_path_factory: pytest.TempPathFactory) -> TinyReader:
    """One whose making was interrupted in the material, in the teacher's training and between its exports."""
    for module in ("torch", "tokenizers", "onnxruntime", "onnxscript"):
        pytest.importorskip(module, reason="training needs the extra: pip install 'wherefrom[train]'")
    import torch

    from systems.making import Listening, TinyReader
    from train.tiny_inputs import write_data, write_pretrained
    from wherefrom.systems.reader.about import Inputs

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("reader")
    out = folder / "out"
    inputs = Inputs(
        data=write_data(folder / "data"),
        ten_passages=out / "ten-passages",
        pretrained=write_pretrained(folder / "pretrained"),
    )
    reader = TinyReader(inputs, out)
    for word in ("material: quoref", "teacher: step 4/6", "export: made"):
        with pytest.raises(KeyboardInterrupt):
            reader.make(say=Listening(word))
    return replace(reader, said=tuple(reader.make()))
