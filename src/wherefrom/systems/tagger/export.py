"""A trained tagger becomes a folder of weights for numpy, and what they agree with spaCy on."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from wherefrom.features.tags import FILE, NER, POS, Tagger
from wherefrom.runtime.weights import Weights
from wherefrom.systems.tagger.material import read_labels
from wherefrom.systems.tagger.network import TaggerNetwork
from wherefrom.systems.tagger.task import Agreement
from wherefrom.train.quantize import eight_bits


def export_tagger(network: TaggerNetwork, folder: Path) -> None:
    """The table in 8 bits with a scale a row, all else in 16."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in network.state_dict().items():
        values = tensor.detach().cpu().float().numpy()
        if name == "table.weight":
            arrays["table"], scale = eight_bits(values, axis=1)
            arrays["table_scale"] = scale.ravel().astype(numpy.float16)
        else:
            arrays[name] = (values.T if _is_linear(name) else values).astype(numpy.float16)
    folder.mkdir(parents=True)
    numpy.savez(folder / FILE, allow_pickle=False, **arrays)
    settings = network.settings
    (folder / "settings.toml").write_text(
        f"rows = {settings.rows}\nwidth = {settings.width}\nlayers = {settings.layers}\n"
        f'precision = "int8 table, fp16"\npos = {json.dumps(POS)}\nner = {json.dumps(NER)}\n',
        encoding="utf-8",
    )


def agreement(weights: Path, labels: Path) -> dict[str, Any]:
    """How far the written weights say what spaCy says, and how many tokens a core tags in a second."""
    labelled = list(read_labels(labels))
    texts = [each.text for each in labelled]
    tagger = Tagger(Weights(weights))
    tally = Agreement()
    started = time.process_time()  # of the processor: others may use it too
    tagged = [one for start in range(0, len(texts), 100) for one in tagger.tag(texts[start : start + 100])]
    seconds = time.process_time() - started
    for one, gold in zip(tagged, labelled, strict=True):
        tally.add(one.pos, one.ner, numpy.array(gold.pos), numpy.array(gold.ner))
    count = sum(len(one.spans) for one in tagged)
    speed = {"tokens": count, "tokens_per_second": round(count / seconds)}
    return {**tally.figures(), "f1_by_type": tally.by_type(), **speed}


def _is_linear(name: str) -> bool:
    return name.startswith(("mix.", "pos.", "ner.")) and name.endswith(".weight")
