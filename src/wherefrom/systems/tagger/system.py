"""The light tagger, taught by spaCy: label texts, train, write the weights, measure.

    python -m wherefrom.systems.tagger.system DATA OUT [--device cuda]

DATA holds `squad` and `wikipedia`. The result is OUT/weights. What is finished is not done again: labels come first and
alone need spaCy, so that the training can run on another machine, with torch and safetensors only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wherefrom.durable import write_text, write_whole
from wherefrom.errors import WherefromError
from wherefrom.features.tags import FILE, NER, POS, Tagger, glued_to_former, word_rows
from wherefrom.features.tokens import tokens
from wherefrom.origin import commit_of, file_hash
from wherefrom.runtime.weights import Weights
from wherefrom.systems.tagger.material import (
    PACKAGE,
    WHEEL,
    Labelled,
    Material,
    read_labels,
    training_texts,
    valid_texts,
    wikipedia_files,
    write_labels,
)
from wherefrom.systems.tagger.network import TaggerNetwork, TaggerSettings
from wherefrom.train.batching import LazyBatches, bucketed
from wherefrom.train.errors import TrainingError
from wherefrom.train.loop import fit, trained
from wherefrom.train.provenance import versions
from wherefrom.train.settings import LoopSettings
from wherefrom.train.task import TaskFacts

NETWORK = TaggerSettings(len(POS), len(NER))
LOOP = LoopSettings(
    seed=1,
    epochs=8,
    learning_rate=3e-3,
    warmup=0.05,
    weight_decay=0.01,
    metric="score",
    report_every=200,
    checkpoint_every=100_000,
)
TOKENS = 8_192  # of a microbatch, with padding
_UNKNOWN = -100  # the tag of padding: torch's losses pass over it


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything lies."""

    data: Path
    out: Path

    @property
    def train(self) -> Path:
        return self.out / "labels" / "train.jsonl.gz"

    @property
    def valid(self) -> Path:
        return self.out / "labels" / "valid.jsonl.gz"

    @property
    def facts(self) -> Path:
        return self.out / "labels" / "facts.json"

    @property
    def training(self) -> Path:
        return self.out / "training"

    @property
    def weights(self) -> Path:
        return self.out / "weights"


@dataclass(frozen=True, slots=True)
class TaggerBatch:
    """Texts of similar length, padded."""

    rows: Tensor  # (batch, length, features)
    glued: Tensor  # (batch, length)
    mask: Tensor  # (batch, length)
    pos: Tensor  # (batch, length), _UNKNOWN for padding
    ner: Tensor  # (batch, length), likewise


class _Encoded:
    """Labelled texts as numbers; words that repeat share their rows."""

    def __init__(self, labelled: Sequence[Labelled], rows: int) -> None:
        words: dict[str, int] = {}
        self.texts: list[tuple[NDArray[numpy.int32], NDArray[numpy.bool_]]] = []
        self.tags = [(numpy.array(text.pos), numpy.array(text.ner)) for text in labelled]
        for each in labelled:
            spans = tokens(each.text)
            if len(spans) != len(each.pos):
                raise TrainingError("the labels are of other tokens than ours; remove OUT/labels and label again")
            numbers = [words.setdefault(each.text[start:end], len(words)) for start, end in spans]
            self.texts.append((numpy.array(numbers, numpy.int32), numpy.array(glued_to_former(spans))))
        self._rows = torch.tensor([word_rows(word, rows) for word in words])  # (words, features)

    def batch(self, positions: Sequence[int]) -> TaggerBatch:
        length = max(len(self.texts[position][0]) for position in positions)
        numbers, glued, mask = (torch.zeros(len(positions), length, dtype=torch.long) for _ in range(3))
        pos, ner = (torch.full((len(positions), length), _UNKNOWN) for _ in range(2))
        for line, position in enumerate(positions):
            words, joined = self.texts[position]
            numbers[line, : len(words)] = torch.from_numpy(words)
            glued[line, : len(words)] = torch.from_numpy(joined)
            mask[line, : len(words)] = 1
            pos[line, : len(words)], ner[line, : len(words)] = map(torch.from_numpy, self.tags[position])
        return TaggerBatch(self._rows[numbers], glued.float(), mask.float(), pos, ner)


class TaggerTask:
    """Say the tags that spaCy said."""

    def __init__(self, places: Places, network: TaggerSettings = NETWORK, microbatch: int = TOKENS) -> None:
        self._places, self._network, self._microbatch = places, network, microbatch
        self._train = _Encoded(list(read_labels(places.train)), network.rows)
        self._valid = _Encoded(list(read_labels(places.valid)), network.rows)

    def facts(self) -> TaskFacts:
        files = {path.name: file_hash(path) for path in (self._places.train, self._places.valid)}
        return TaskFacts("tagger", files, {**asdict(self._network), "microbatch": self._microbatch})

    def model(self) -> TaggerNetwork:
        return TaggerNetwork(self._network)

    def batches(self, epoch: int, seed: int) -> LazyBatches[TaggerBatch]:
        return self._batches(self._train, epoch, seed)

    def size(self, batch: TaggerBatch) -> int:
        return int(batch.mask.sum())

    def loss(self, model: TaggerNetwork, batch: TaggerBatch) -> tuple[Tensor, Mapping[str, Tensor | float]]:
        pos, ner = model(batch.rows, batch.glued, batch.mask)
        losses = {
            "pos": nn.functional.cross_entropy(pos.flatten(0, 1), batch.pos.flatten(), ignore_index=_UNKNOWN),
            "ner": nn.functional.cross_entropy(ner.flatten(0, 1), batch.ner.flatten(), ignore_index=_UNKNOWN),
        }
        return losses["pos"] + losses["ner"], losses

    def evaluate(self, model: TaggerNetwork) -> Mapping[str, float]:
        device = next(model.parameters()).device
        tally = Agreement()
        batches = self._batches(self._valid, 0, 0)
        for number in range(len(batches)):
            batch = batches[number]
            pos, ner = model(batch.rows.to(device), batch.glued.to(device), batch.mask.to(device))
            there = batch.mask.bool()
            tally.add(
                pos.argmax(dim=-1).cpu()[there].numpy(),
                ner.argmax(dim=-1).cpu()[there].numpy(),
                batch.pos[there].numpy(),
                batch.ner[there].numpy(),
            )
        figures = tally.figures()
        return {**figures, "score": figures["pos_accuracy"] + figures["entity_f1"]}

    def _batches(self, encoded: _Encoded, epoch: int, seed: int) -> LazyBatches[TaggerBatch]:
        lengths = [len(words) for words, _ in encoded.texts]
        plan = bucketed(lengths, epoch=epoch, seed=seed, tokens=self._microbatch)
        return LazyBatches(plan, encoded.batch)


class Agreement:
    """How far tags agree with spaCy's, over many texts."""

    def __init__(self) -> None:
        self._tokens = self._pos = self._ner = self._both = 0
        self._found, self._gold, self._right = (numpy.zeros(len(NER), numpy.int64) for _ in range(3))  # by type

    def add(self, pos: NDArray[Any], ner: NDArray[Any], gold_pos: NDArray[Any], gold_ner: NDArray[Any]) -> None:
        self._tokens += len(gold_pos)
        self._pos += int((pos == gold_pos).sum())
        self._ner += int((ner == gold_ner).sum())
        self._both += int(((ner != 0) & (gold_ner != 0)).sum())
        self._found += numpy.bincount(ner, minlength=len(NER))
        self._gold += numpy.bincount(gold_ner, minlength=len(NER))
        self._right += numpy.bincount(ner[ner == gold_ner], minlength=len(NER))

    def figures(self) -> dict[str, float]:
        """Shares of tokens; `entity_f1` counts tokens of the right type, `entity_any_f1` those of any."""
        if not self._tokens:
            raise TrainingError("there is no token to measure on")
        found, gold, right = (int(counts[1:].sum()) for counts in (self._found, self._gold, self._right))
        return {
            "pos_accuracy": self._pos / self._tokens,
            "ner_accuracy": self._ner / self._tokens,
            "entity_precision": right / max(1, found),
            "entity_recall": right / max(1, gold),
            "entity_f1": 2 * right / max(1, found + gold),
            "entity_any_f1": 2 * self._both / max(1, found + gold),
        }

    def by_type(self) -> dict[str, float]:
        """F1 of the tokens of each type of entity."""
        both = numpy.maximum(1, self._found + self._gold)
        return dict(zip(NER[1:], (2 * self._right / both)[1:].tolist(), strict=True))


def label(places: Places, material: Material, processes: int) -> None:
    """Let spaCy tag the texts, unless it has."""
    if places.facts.exists():
        return
    data = [*sorted((places.data / "squad").glob("*-v1.1.json*")), *wikipedia_files(places.data)]
    facts = {
        "teacher": {"package": PACKAGE, "wheel": WHEEL},
        "material": asdict(material),
        "data": {f"{path.parent.name}/{path.name}": file_hash(path) for path in data},
        "texts": {
            "train": write_labels(places.train, training_texts(places.data, material), processes),
            "valid": write_labels(places.valid, valid_texts(places.data), processes),
        },
    }
    write_text(places.facts, json.dumps(facts, indent=2) + "\n")


def train(places: Places, device: str, loop: LoopSettings = LOOP, network: TaggerSettings = NETWORK) -> None:
    """Train and write OUT/weights, its figures not yet measured."""
    task = TaggerTask(places, network)
    for progress in fit(task, loop, places.training, device):
        print(progress, flush=True)
    export(trained(task, places.training), places.weights)


def export(network: TaggerNetwork, folder: Path) -> None:
    """Write the network for numpy: the table in 8 bits with a scale a row, all else in 16."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in network.state_dict().items():
        values = tensor.detach().cpu().float().numpy()
        if name == "table.weight":
            scale = numpy.maximum(numpy.abs(values).max(axis=1), 1e-8) / 127
            arrays["table"] = numpy.rint(values / scale[:, None]).astype(numpy.int8)
            arrays["table_scale"] = scale.astype(numpy.float16)
        else:
            arrays[name] = (values.T if _is_linear(name) else values).astype(numpy.float16)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / FILE, lambda unfinished: numpy.savez(unfinished, allow_pickle=False, **arrays))
    settings = network.settings
    write_text(
        folder / "settings.toml",
        f"rows = {settings.rows}\nwidth = {settings.width}\nlayers = {settings.layers}\n"
        f'precision = "int8 table, fp16"\npos = {json.dumps(POS)}\nner = {json.dumps(NER)}\n',
    )


def measure(places: Places) -> dict[str, Any]:
    """What the written weights agree with spaCy on in squad/valid, and how many tokens a core tags in a second."""
    labelled = list(read_labels(places.valid))
    tagger = Tagger(Weights(places.weights))
    tally = Agreement()
    started = time.process_time()  # of the processor: others may use it too
    tagged = [one for some in _in_hundreds([each.text for each in labelled]) for one in tagger.tag(some)]
    seconds = time.process_time() - started
    for one, gold in zip(tagged, labelled, strict=True):
        tally.add(one.pos, one.ner, numpy.array(gold.pos), numpy.array(gold.ner))
    count = sum(len(one.spans) for one in tagged)
    speed = {"tokens": count, "tokens_per_second": round(count / seconds)}
    return {**tally.figures(), "f1_by_type": tally.by_type(), **speed}


def write_provenance(places: Places, figures: Mapping[str, Any]) -> None:
    """Write OUT/weights/provenance.json: data, training and figures."""
    commit, changes = commit_of()
    training = json.loads((places.training / "provenance.json").read_text(encoding="utf-8"))
    content = {
        "model": "tagger",
        "labels": json.loads(places.facts.read_text(encoding="utf-8")),
        "training": training,
        "commit": commit,
        "uncommitted_changes": changes,
        "versions": {**versions(), "numpy": numpy.__version__},
        "files": {name: file_hash(places.weights / name) for name in (FILE, "settings.toml")},
        "squad_valid_against_spacy": figures,
    }
    write_text(places.weights / "provenance.json", json.dumps(content, indent=2) + "\n")


def _is_linear(name: str) -> bool:
    return name.startswith(("mix.", "pos.", "ner.")) and name.endswith(".weight")


def _in_hundreds(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), 100):
        yield texts[start : start + 100]


def main(arguments: Sequence[str] | None = None) -> int:
    """All of it."""
    parser = argparse.ArgumentParser(prog="python -m wherefrom.systems.tagger.system", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds squad and wikipedia")
    parser.add_argument("out", type=Path, help="where everything goes; the result is OUT/weights")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--processes", type=int, default=2, help="that label texts")
    given = parser.parse_args(arguments)
    places = Places(given.data, given.out)
    try:
        label(places, Material(), given.processes)
        train(places, given.device)
        figures = measure(places)
        write_provenance(places, figures)
    except WherefromError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
