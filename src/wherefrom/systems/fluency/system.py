"""Trains what tells well-formed sentences from garbled ones.

    OUT/material.npz    people's sentences and garbled ones, as the network sees them
    OUT/weights/        the result: a folder for `runtime.fluency`, which `features/fluency.py` runs

It is measured on questions that were held out: QA2D's validation rows and those on SQuAD's validation articles, and one
in ten of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits

from wherefrom.errors import NotFound, SettingsError
from wherefrom.features.fluency import FILE, FLAGS, SeenText, seen
from wherefrom.features.tags import Tagger
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import Weights
from wherefrom.systems.fluency.about import Inputs
from wherefrom.systems.fluency.material import FluencyRow, rows
from wherefrom.systems.fluency.network import FluencyNetwork, Texts
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, needed

PASSING = (0.98, 0.95, 0.9, 0.8)  # shares of human sentences that pass, for which garbled ones are counted
LEAST = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # chances
_FILES = (
    "qa2d/train.tsv.xz",
    "qa2d/valid.tsv.xz",
    "squad/valid-v1.1.json.xz",
    "full_sentence/vanilla/train.jsonl.xz",
    "full_sentence/vquanda/train.json.xz",
    "full_sentence/paraqa/train.json.xz",
)
_TAGGED = 256  # sentences at a time
_SCORED = 1024
_NEAR = 32  # batches' worth of sentences that are sorted by length


@dataclass(frozen=True, slots=True)
class FluencySettings:
    """What is made of each sentence, and how the network is trained."""

    ways: int = 3  # garbled sentences made of each human one
    width: int = 64
    layers: int = 3
    dropout: float = 0.1
    epochs: int = 6
    batch: int = 256
    learning_rate: float = 4e-3
    weight_decay: float = 0.01
    human: float = 2.0  # weight of a human sentence beside a garbled one, of which there are more
    seed: int = 7

    def __post_init__(self) -> None:
        if min(self.ways, self.width, self.layers, self.epochs, self.batch) < 1 or self.learning_rate <= 0:
            raise SettingsError("ways, width, layers, epochs, batch and learning_rate must be above 0")


DEFAULTS = FluencySettings()

_Ints = NDArray[numpy.int64]


def stages(settings: FluencySettings, inputs: Inputs, out: Path, say: Say) -> list[Stage]:
    """Minutes each."""
    material, tagger = out / "material.npz", Weights.named(inputs.tagger)

    def made_of() -> Facts:
        data = {name: file_hash(_there(inputs.data / name)) for name in _FILES}
        return {
            "data": data,
            "tagger": file_hash(tagger.file("tagger.npz")),
            "ways": settings.ways,
            "seed": settings.seed,
        }

    def make(path: Path) -> Facts:
        made = rows(inputs.data, settings.seed, settings.ways)
        save(path, made, Tagger(tagger), say)
        return {
            "sentences": len(made),
            "human": sum(row.well for row in made),
            "held out": sum(row.held_out for row in made),
        }

    def fitted_of() -> Facts:
        return {"material": file_hash(needed(material, "material")), **asdict(settings)}

    return [
        Stage("material", material, made_of, make),
        Stage("fit", out / "weights", fitted_of, lambda path: fit(material, path, settings, say), weights=True),
    ]


def _there(file: Path) -> Path:
    if not file.exists():
        raise NotFound(f"{file} is not there; --data names the folder of datasets, such as $WHEREFROM_DATA")
    return file


def save(path: Path, made: list[FluencyRow], tagger: Tagger, say: Say) -> None:
    """What the network sees of all of them: tokens one after another, and where each text ends."""
    report = paced("material: sentences tagged", say)
    texts: tuple[list[SeenText], list[SeenText]] = ([], [])
    for begin in range(0, len(made), _TAGGED):
        report(begin, len(made))
        for question, sentence in seen([row.statement for row in made[begin : begin + _TAGGED]], tagger):
            texts[0].append(question)
            texts[1].append(sentence)
    arrays: dict[str, NDArray[Any]] = {}
    for name, some in zip(("question", "sentence"), texts, strict=True):
        arrays[f"{name}_rows"] = numpy.concatenate([text.rows for text in some])
        arrays[f"{name}_flags"] = numpy.packbits(numpy.concatenate([text.flags for text in some]) > 0, axis=1)
        arrays[f"{name}_ends"] = numpy.cumsum([len(text.rows) for text in some])
    ways = sorted({row.way for row in made})
    with path.open("wb") as file:
        numpy.savez_compressed(
            file,
            well=numpy.array([row.well for row in made]),
            held_out=numpy.array([row.held_out for row in made]),
            way=numpy.array([ways.index(row.way) for row in made]),
            ways=numpy.array(ways),
            **arrays,  # type: ignore[arg-type]
        )


@dataclass(frozen=True, slots=True)
class _Packed:
    """Texts of one kind, tokens one after another."""

    rows: NDArray[numpy.int16]
    flags: NDArray[numpy.uint8]
    starts: _Ints
    lengths: _Ints

    @classmethod
    def of(cls, arrays: Any, name: str) -> _Packed:
        ends = arrays[f"{name}_ends"].astype(numpy.int64)
        starts = numpy.concatenate([[0], ends[:-1]])
        flags = numpy.unpackbits(arrays[f"{name}_flags"], axis=1, count=FLAGS)
        return cls(arrays[f"{name}_rows"], flags, starts, ends - starts)

    def texts(self, places: _Ints) -> Texts:
        """These texts, padded."""
        lengths = self.lengths[places]
        longest = int(lengths.max())
        mask = numpy.arange(longest)[None, :] < lengths[:, None]
        at = numpy.where(mask, self.starts[places][:, None] + numpy.arange(longest)[None, :], 0)
        return Texts(
            torch.from_numpy(self.rows[at].astype(numpy.int64)),
            torch.from_numpy(self.flags[at].astype(numpy.float32)),
            torch.from_numpy(mask.astype(numpy.float32)),
        )


def fit(material: Path, out: Path, settings: FluencySettings, say: Say) -> Facts:
    """Train on what is not held out, and measure on what is."""
    with numpy.load(material, allow_pickle=False) as arrays:
        sentences, questions = _Packed.of(arrays, "sentence"), _Packed.of(arrays, "question")
        well, held_out = arrays["well"], arrays["held_out"]
        way = arrays["ways"][arrays["way"]]
    torch.manual_seed(settings.seed)
    network = FluencyNetwork(settings.width, settings.layers, settings.dropout)
    train, held = numpy.flatnonzero(~held_out), numpy.flatnonzero(held_out)
    steps = settings.epochs * (len(train) // settings.batch + _NEAR)
    optimizer = torch.optim.AdamW(network.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.learning_rate, total_steps=steps, pct_start=0.1)
    generator = numpy.random.default_rng(settings.seed)
    truths = torch.from_numpy(well.astype(numpy.float32))
    for epoch in range(settings.epochs):
        network.train()
        losses = []
        for places in _batches(generator, train, sentences.lengths, settings.batch):
            wanted = truths[torch.from_numpy(places)]
            logits = network(sentences.texts(places), questions.texts(places))
            loss = binary_cross_entropy_with_logits(logits, wanted, weight=1 + (settings.human - 1) * wanted)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        scores = _scores(network, sentences, questions, held)
        area = _area(scores, well[held])
        say(f"fit: epoch {epoch + 1} of {settings.epochs}, loss {numpy.mean(losses):.4f}, AUC held out {area:.4f}")
    out.mkdir()
    saved = {name: value.numpy().astype(numpy.float16) for name, value in network.state_dict().items()}
    with (out / FILE).open("wb") as file:
        numpy.savez_compressed(file, **saved)
    return {"held out": measured(scores, well[held], way[held])}


def _batches(generator: numpy.random.Generator, places: _Ints, lengths: _Ints, size: int) -> Iterator[_Ints]:
    """Sentences of like length together, in another order every time."""
    mixed = generator.permutation(places)
    batches = []
    for begin in range(0, len(mixed), size * _NEAR):
        near = mixed[begin : begin + size * _NEAR]
        near = near[numpy.argsort(lengths[near], kind="stable")]
        batches += [near[start : start + size] for start in range(0, len(near), size)]
    for place in generator.permutation(len(batches)):
        yield batches[place]


def _scores(network: FluencyNetwork, sentences: _Packed, questions: _Packed, places: _Ints) -> NDArray[numpy.float64]:
    network.eval()
    with torch.no_grad():
        parts = [
            network(sentences.texts(some), questions.texts(some)).numpy()
            for some in numpy.array_split(places, max(1, len(places) // _SCORED))
        ]
    return numpy.concatenate(parts).astype(numpy.float64)


def _area(scores: NDArray[numpy.float64], well: NDArray[numpy.bool_]) -> float:
    """The chance that a human sentence scores above a garbled one: the area under the ROC curve."""
    ranks = numpy.empty(len(scores))
    ranks[numpy.argsort(scores, kind="stable")] = numpy.arange(1, len(scores) + 1)
    human, garbled = int(well.sum()), int((~well).sum())
    return float((ranks[well].sum() - human * (human + 1) / 2) / max(human * garbled, 1))


def measured(scores: NDArray[numpy.float64], well: NDArray[numpy.bool_], way: NDArray[Any]) -> dict[str, Any]:
    """The area under the ROC curve, and what thresholds let through and stop."""
    chances = 1 / (1 + numpy.exp(-numpy.clip(scores, -50, 50)))
    figures: dict[str, Any] = {
        "AUC": round(_area(scores, well), 4),
        "human": int(well.sum()),
        "garbled": int((~well).sum()),
    }
    figures["garbled stopped where so many human sentences pass"] = {
        str(share): round(float((scores[~well] < numpy.quantile(scores[well], 1 - share)).mean()), 4)
        for share in PASSING
    }
    figures["least chance"] = {
        str(least): {
            "human passing": round(float((chances[well] >= least).mean()), 4),
            "garbled stopped": round(float((chances[~well] < least).mean()), 4),
        }
        for least in LEAST
    }
    figures["stopped at 0.5"] = {
        str(name): round(float((chances[way == name] < 0.5).mean()), 4) for name in sorted(set(way.tolist()))
    }
    return figures
