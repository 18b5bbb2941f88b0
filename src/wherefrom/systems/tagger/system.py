"""The light tagger, taught by spaCy: labels, training, weights, figures.

OUT/labels/          texts with spaCy's tags; they alone need spaCy
OUT/training/        the training, which needs torch and safetensors only, so that it can run on another machine
OUT/weights/         the result: a folder for `runtime.tagger`
OUT/measured.json    how far it agrees with spaCy on squad, valid
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from wherefrom.origin import file_hash
from wherefrom.systems.contract import Say, Stage
from wherefrom.systems.tagger.about import Inputs
from wherefrom.systems.tagger.material import (
    TRAIN,
    VALID,
    LabelSettings,
    training_texts,
    valid_texts,
    wikipedia_files,
    write_labels,
)
from wherefrom.systems.tagger.network import TaggerSettings
from wherefrom.systems.tagger.task import TaggerTask
from wherefrom.train.loop import MODEL, trained
from wherefrom.train.settings import LoopSettings
from wherefrom.train.spacy_tags import MODEL as SPACY_MODEL
from wherefrom.train.spacy_tags import WHEEL, Tagging, spacy_tags
from wherefrom.train.stages import Facts, needed, training, write_json

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


@dataclass(frozen=True, slots=True)
class TaggerRecipe:
    """Every setting."""

    material: LabelSettings = field(default_factory=LabelSettings)
    network: TaggerSettings = field(default_factory=TaggerSettings)
    loop: LoopSettings = LOOP
    microbatch: int = 8192  # tokens, with padding


DEFAULTS = TaggerRecipe()


def stages(settings: TaggerRecipe, inputs: Inputs, out: Path, say: Say, tagging: Tagging | None = None) -> list[Stage]:
    """`tagging` labels texts: spaCy."""
    labels, folder, weights = out / "labels", out / "training", out / "weights"

    def data() -> Facts:
        files = [*sorted((inputs.data / "squad").glob("*-v1.1.json*")), *wikipedia_files(inputs.data)]
        return {
            "teacher": {"package": SPACY_MODEL, "wheel": WHEEL},
            "material": asdict(settings.material),
            "data": {f"{path.parent.name}/{path.name}": file_hash(path) for path in files},
        }

    def label(path: Path) -> Facts:
        tagged = tagging or partial(spacy_tags, processes=inputs.processes)
        path.mkdir()
        texts = {TRAIN: training_texts(inputs.data, settings.material), VALID: valid_texts(inputs.data)}
        return {"texts": {name: write_labels(path / name, some, tagged) for name, some in texts.items()}}

    def labelled() -> Facts:
        return {name: file_hash(needed(labels / name, "labels")) for name in (TRAIN, VALID)}

    def task() -> TaggerTask:
        return TaggerTask(labels, settings.network, settings.microbatch)

    def export(path: Path) -> None:
        from wherefrom.systems.tagger.export import export_tagger

        export_tagger(trained(task(), folder), path)

    def measure(path: Path) -> Facts:
        from wherefrom.systems.tagger.export import agreement

        figures = agreement(weights, labels / VALID)
        write_json(path, figures)
        return figures

    return [
        Stage("labels", labels, data, label),
        training(
            "training",
            folder,
            task,
            settings.loop,
            lambda: {**labelled(), "network": asdict(settings.network), "microbatch": settings.microbatch},
            inputs.device,
            say,
        ),
        Stage(
            "export", weights, lambda: {"training": file_hash(needed(folder / MODEL, "training"))}, export, weights=True
        ),
        Stage(
            "measure",
            out / "measured.json",
            lambda: {**labelled(), "weights": file_hash(needed(weights / "tagger.npz", "export"))},
            measure,
        ),
    ]
