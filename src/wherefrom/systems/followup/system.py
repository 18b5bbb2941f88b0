"""Trains what tells which whole question a follow-up means.

    OUT/train.npz, OUT/valid.npz    follow-ups made of real questions (`talks.py`), as the network sees their readings
    OUT/weights/                    the result: a folder for `runtime.followup`, which `features/meant.py` runs

Trained on SQuAD's training articles and NarrativeQA's training stories; measured on those of their validation parts,
and on whole questions of SQuAD's validation articles behind an unrelated turn, which are to be left alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

from wherefrom.errors import NotFound, SettingsError
from wherefrom.features.meant import FILE
from wherefrom.features.tags import Tagger
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import Weights
from wherefrom.systems.followup.about import Inputs
from wherefrom.systems.followup.material import FollowUpMaterial, Numbers, Places, RememberingTagger, material
from wherefrom.systems.followup.network import MeaningNetwork, listwise_loss
from wherefrom.systems.followup.talks import counted, talks, whole_questions
from wherefrom.train.stages import Facts, Say, Stage, needed

_FILES = (
    "squad/train-v1.1.json.xz",
    "squad/valid-v1.1.json.xz",
    "narrativeqa/qaps.csv.xz",
    "narrativeqa/summaries.csv.xz",
)
_SURE = (0.5, 0.6, 0.7, 0.8, 0.9)
_LEAST_SCALE = 0.05  # a feature that hardly ever changes is not blown up


@dataclass(frozen=True, slots=True)
class FollowUpSettings:
    """How many conversations are made, and how the network is trained."""

    train: int = 16_000  # conversations
    valid: int = 3_000
    whole: int = 500  # whole questions behind an unrelated turn
    width: int = 64
    dropout: float = 0.1
    epochs: int = 14
    batch: int = 256  # follow-ups
    learning_rate: float = 3e-3
    weight_decay: float = 0.02
    seed: int = 7

    def __post_init__(self) -> None:
        counts = (self.train, self.valid, self.whole, self.width, self.epochs, self.batch)
        if min(counts) < 1 or self.learning_rate <= 0:
            raise SettingsError("train, valid, whole, width, epochs, batch and learning_rate must be above 0")


DEFAULTS = FollowUpSettings()


def stages(settings: FollowUpSettings, inputs: Inputs, out: Path, say: Say) -> list[Stage]:
    """Minutes each, on two cores."""
    made, tagger = out / "material", Weights.named(inputs.tagger)

    def made_of() -> Facts:
        data = {name: file_hash(_there(inputs.data, name)) for name in _FILES}
        counts = {"train": settings.train, "valid": settings.valid, "whole": settings.whole}
        return {"data": data, "tagger": file_hash(tagger.file("tagger.npz")), **counts, "seed": settings.seed}

    def make(path: Path) -> Facts:
        path.mkdir()
        return save(path, settings, inputs.data, RememberingTagger(Tagger(tagger)), say)

    def fitted_of() -> Facts:
        needed(made, "material")
        return {name: file_hash(made / f"{name}.npz") for name in ("train", "valid", "whole")} | asdict(settings)

    return [
        Stage("material", made, made_of, make),
        Stage("fit", out / "weights", fitted_of, lambda path: fit(made, path, settings, say), weights=True),
    ]


def _there(data: Path, name: str) -> Path:
    for file in (data / name, data / name.removesuffix(".xz")):
        if file.exists():
            return file
    raise NotFound(f"{data / name} is not there; --data names the folder of datasets, such as $WHEREFROM_DATA")


def save(path: Path, settings: FollowUpSettings, data: Path, tagger: Tagger, say: Say) -> Facts:
    """Make conversations and write what the network sees of them."""
    facts: dict[str, Any] = {}
    for name, count in (("train", settings.train), ("valid", settings.valid)):
        made = talks(data, name, count, tagger, settings.seed)
        some = material(made, tagger, name, say)
        some.save(path / f"{name}.npz")
        without = sum(not some.gold[begin:end].any() for begin, end in _ranges(some))
        facts[name] = {"made": counted(made), "readings": len(some.gold), "without the right reading": without}
    whole = whole_questions(data, settings.whole, settings.seed)
    material(whole, tagger, "whole", say).save(path / "whole.npz")
    return facts


def _ranges(some: FollowUpMaterial) -> list[tuple[int, int]]:
    return list(zip(some.starts[:-1].tolist(), some.starts[1:].tolist(), strict=True))


def fit(made: Path, out: Path, settings: FollowUpSettings, say: Say) -> Facts:
    """Train on the one part and measure on the others."""
    train, valid, whole = (FollowUpMaterial.load(made / f"{name}.npz") for name in ("train", "valid", "whole"))
    torch.manual_seed(settings.seed)
    network = MeaningNetwork(train.seen.shape[1], settings.width, settings.dropout)
    network.mean.copy_(torch.from_numpy(train.seen.mean(axis=0)))
    network.scale.copy_(torch.from_numpy(numpy.maximum(train.seen.std(axis=0), _LEAST_SCALE)))
    ranges = numpy.array([pair for pair in _ranges(train) if train.gold[pair[0] : pair[1]].any()])
    steps = settings.epochs * (-(-len(ranges) // settings.batch))
    optimizer = torch.optim.AdamW(network.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.learning_rate, total_steps=steps, pct_start=0.2)
    generator = numpy.random.default_rng(settings.seed)
    for epoch in range(settings.epochs):
        network.train()
        losses = []
        for some in numpy.array_split(generator.permutation(ranges), steps // settings.epochs):
            loss = _loss(network, train, some)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        right = measured(valid, logits_of(network, valid))["right"]
        say(f"fit: epoch {epoch + 1} of {settings.epochs}, loss {numpy.mean(losses):.4f}, right on valid {right:.4f}")
    out.mkdir()
    saved = {name: value.numpy().astype(numpy.float16) for name, value in network.state_dict().items()}
    with (out / FILE).open("wb") as file:
        numpy.savez_compressed(file, **saved)
    return {"valid": measured(valid, logits_of(network, valid)), "whole questions": left_alone(whole, network)}


def _loss(network: MeaningNetwork, train: FollowUpMaterial, some: Places) -> torch.Tensor:
    lengths = some[:, 1] - some[:, 0]
    rows = numpy.concatenate([numpy.arange(begin, end) for begin, end in some])
    groups = torch.from_numpy(numpy.repeat(numpy.arange(len(some)), lengths))
    gold = torch.from_numpy(train.gold[rows].astype(numpy.float32))
    return listwise_loss(network(torch.from_numpy(train.seen[rows])), groups, gold, len(some))


def logits_of(network: MeaningNetwork, some: FollowUpMaterial) -> Numbers:
    network.eval()
    with torch.no_grad():
        logits: Numbers = network(torch.from_numpy(some.seen)).numpy()
    return logits


def measured(some: FollowUpMaterial, logits: Numbers) -> dict[str, Any]:
    """Shares of follow-ups that are understood as they are meant, and word F1, beside rules that know less."""
    chosen = numpy.array([begin + int(logits[begin:end].argmax()) for begin, end in _ranges(some)])
    typed = some.starts[:-1]
    plain = typed + some.simple
    follows = some.ways != "whole"
    rules = {"": chosen, "never rewriting": typed, "first reading of what is not whole": plain}
    figures: dict[str, Any] = {"follow-ups": int(follows.sum()), "whole": int((~follows).sum())}
    for name, places in rules.items():
        right = some.gold[places]
        shares = {
            "right": round(float(right.mean()), 4),
            "of follow-ups": round(float(right[follows].mean()), 4),
            "of whole questions": round(float(right[~follows].mean()), 4),
            "word F1 of follow-ups": round(float(some.overlap[places][follows].mean()), 4),
        }
        figures |= {name: shares} if name else shares
    figures["by way"] = {
        str(way): [int((some.ways == way).sum()), round(float(some.gold[chosen][some.ways == way].mean()), 4)]
        for way in sorted(set(some.ways.tolist()))
    }
    return figures


def left_alone(whole: FollowUpMaterial, network: MeaningNetwork) -> dict[str, Any]:
    """How many whole questions would be changed."""
    logits = logits_of(network, whole)
    changed = sum(int(logits[begin:end].argmax()) != 0 for begin, end in _ranges(whole))
    return {"questions": whole.count, "changed": changed, "share": round(changed / max(whole.count, 1), 4)}
