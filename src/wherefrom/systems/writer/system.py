"""Makes the writer from the datasets: material, vocabulary, style transfer, synthetic sentences, writer, weights.

    OUT/ten-passages/            the ten-passage set, unless another folder is named
    OUT/writer.safetensors       the material: questions, passages, answers and sentences as tokens
    OUT/common.json              what the vocabulary may write, the most needed first
    OUT/transfer/                style transfer: told a short answer, it writes the sentence
    OUT/synthetic.safetensors    a sentence for every training question that has none
    OUT/writer/                  the writer's training
    OUT/weights/                 the result: a folder for `runtime.writer`

Every stage leaves its result whole or not at all and is skipped when it is there; trainings go on where they were
interrupted. A stage does not notice that an earlier one was made anew: remove what should be made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import torch

from wherefrom.config import read_toml, updated
from wherefrom.durable import write_text, write_whole
from wherefrom.networks.masque import MasqueSettings, joint
from wherefrom.systems.writer import vocabulary as writer_vocabulary
from wherefrom.train import pretrained
from wherefrom.train.loop import MODEL, PROVENANCE, fit, trained
from wherefrom.train.making import BuildTenPassages, needed, put_in_place, read_json, run_stages, ten_passages
from wherefrom.train.progress import paced
from wherefrom.train.settings import LoopSettings
from wherefrom.train.writing.batches import WriterBatchSettings
from wherefrom.train.writing.corpus import prepare, texts_beside
from wherefrom.train.writing.material import PARAQA, VANILLA, VQUANDA, load, save_synthetic, with_synthetic
from wherefrom.train.writing.task import WriterTask, WriterTaskSettings, synthesise, word_settings, worth_keeping

_Item = TypeVar("_Item")
Stage = Literal["material", "vocabulary", "transfer", "augment", "writer", "export"]
STAGES: tuple[Stage, ...] = get_args(Stage)
DEFAULT = Path(__file__).parent / "recipes" / "writer.toml"  # of the writer that comes with wherefrom

_NETWORK = joint(
    answer_source=True, decoder_layers=5, vocabulary=6000, words=word_settings(WriterBatchSettings().marks)
)
# Their sentences are made of knowledge graphs and all alike: fewer of them leave more for those people wrote.
_SHARES = {VANILLA: 0.4, VQUANDA: 0.5, PARAQA: 0.5}
_LOOP = LoopSettings(
    seed=1,
    precision="bf16",
    learning_rate=5e-4,
    group_rates={"reader.": 1.5e-4},
    warmup=0.06,
    decay="cosine",
    report_every=100,
    checkpoint_every=1000,
    evaluate_first=False,
)


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """One of the two trainings: how it is fitted, and what it sees."""

    loop: LoopSettings
    task: WriterTaskSettings


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """All of it; one network for both trainings, since style transfer is the writer's simpler half."""

    transfer: TrainingSettings = field(
        default_factory=lambda: TrainingSettings(
            replace(_LOOP, steps=550, evaluate_every=550),
            WriterTaskSettings(
                WriterBatchSettings(quota=None, styles="every", shares=_SHARES),
                passages=False,
                triples=1.0,
                told=1.0,
                valid_short=0,
                valid_sentences=640,
            ),
        )
    )
    writer: TrainingSettings = field(
        default_factory=lambda: TrainingSettings(
            replace(_LOOP, steps=3500, evaluate_every=3500),
            WriterTaskSettings(
                WriterBatchSettings(
                    passages=5, tokens=51_200, styles="every", quota=None, removed=0.15, shares=_SHARES, max_tokens=232
                ),
                triples=1.0,
                told=0.8,
                valid_narrative=160,
            ),
        )
    )
    synthesis_tokens: int = 65_536  # of a microbatch of sentences to be made


def writer_settings(toml: Path = DEFAULT) -> WriterSettings:
    """The settings in a TOML file; a name that is not a setting is an error that says what was meant."""
    return updated(WriterSettings(), read_toml(toml), str(toml))


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything lies."""

    data: Path  # the folder of datasets
    out: Path
    ten_passages: Path
    pretrained: Path
    reader: Path | None = None  # a trained reader's weights to start from; none: MiniLM as it was published

    @property
    def material(self) -> Path:
        return self.out / "writer.safetensors"

    @property
    def common(self) -> Path:
        return self.out / "common.json"

    @property
    def transfer(self) -> Path:
        return self.out / "transfer"

    @property
    def synthetic(self) -> Path:
        return self.out / "synthetic.safetensors"

    @property
    def writer(self) -> Path:
        return self.out / "writer"

    @property
    def weights(self) -> Path:
        return self.out / "weights"


class WriterMaker:
    """One writer under way: a method a stage."""

    def __init__(
        self,
        settings: WriterSettings,
        places: Places,
        build_ten_passages: BuildTenPassages,
        device: str = "cpu",
        say: Callable[[str], None] = print,
        fetch: Callable[[str, Path], Path] = pretrained.fetch,
        network: MasqueSettings = _NETWORK,
    ) -> None:
        self._settings, self._places, self._device, self._say = settings, places, device, say
        self._build_ten_passages, self._fetch, self._network = build_ten_passages, fetch, network

    def make(self, stages: Sequence[Stage] = STAGES) -> None:
        """Run stages, in their order."""
        made: dict[Stage, Callable[[], None]] = {
            "material": self.material,
            "vocabulary": self.vocabulary,
            "transfer": self.transfer,
            "augment": self.augment,
            "writer": self.writer,
            "export": self.export,
        }
        run_stages(made, stages, self._places.out)

    # Stages.

    def material(self) -> None:
        """Questions, passages, answers and sentences as tokens; the ten-passage set too, if it is not there."""
        places = self._places
        if places.material.exists():
            self._say("material: already made")
            return
        ten_passages(self._build_ten_passages, places.data, places.ten_passages, self._say)
        places.out.mkdir(parents=True, exist_ok=True)
        counts = prepare(
            places.data,
            places.ten_passages,
            self._tokenizer(),
            places.material,
            lambda line: self._say(f"material: {line}"),
        )
        self._say("material: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))

    def vocabulary(self) -> None:
        """The words that are written without being copied."""
        places = self._places
        if places.common.exists():
            self._say("vocabulary: already made")
            return
        order = writer_vocabulary.made(needed(places.material, "material"), places.data, self._tokenizer())
        write_text(places.common, json.dumps(order))
        self._say(f"vocabulary: {self._network.vocabulary:,} words of {len(order):,} may be written uncopied")

    def transfer(self) -> None:
        """Sentences from short answers: the writer's network, without its passages."""
        self._train("transfer", self._places.transfer, self._settings.transfer, None)

    def augment(self) -> None:
        """A sentence for every training question that has none; kept if it ends and holds its answer."""
        places = self._places
        if places.synthetic.exists():
            self._say("augment: already made")
            return
        needed(places.transfer / MODEL, "transfer")
        large = replace(self._settings.transfer.task, triple_tokens=self._settings.synthesis_tokens)
        task = self._task(replace(self._settings.transfer, task=large), None)
        total = len(task.transfer.to_synthesise())
        report = paced("augment", self._say)
        made = synthesise(task, trained(task, places.transfer, self._device))
        with torch.autocast(torch.device(self._device).type, torch.bfloat16, enabled=self._device != "cpu"):
            examples, kept, _ = worth_keeping(_counted(made, lambda done: report(done, total)), task.material)
        write_whole(places.synthetic, lambda path: save_synthetic(path, examples, kept))
        self._say(f"augment: {total:,} sentences written, {len(kept):,} kept: they end and hold their answer")

    def writer(self) -> None:
        """All styles, from several passages."""
        synthetic = needed(self._places.synthetic, "augment")
        self._train("writer", self._places.writer, self._settings.writer, synthetic)

    def export(self) -> None:
        """The writer as graphs for run time, in 8 bits."""
        from tokenizers import Tokenizer

        from wherefrom.systems.writer.export import WriterExport, export_writer, safe_words, texts_in

        places = self._places
        task = self._task(self._settings.writer, needed(places.synthetic, "augment"))
        needed(places.writer / MODEL, "writer")
        network = trained(task, places.writer)
        safe = safe_words(Tokenizer.from_file(str(self._tokenizer())), texts_in(texts_beside(places.material)))
        provenance: dict[str, Any] = {
            "model": "writer",
            "writer": read_json(places.writer / PROVENANCE),
            "transfer": read_json(places.transfer / PROVENANCE),
        }
        with put_in_place(places.weights) as fresh:
            batch = self._settings.writer.task.batch
            export_writer(
                network,
                self._tokenizer(),
                safe,
                fresh,
                provenance,
                WriterExport(max_tokens=batch.max_tokens, max_question=batch.max_question),
            )
        self._say(f"export: {places.weights}")

    # Inside.

    def _train(self, stage: Stage, folder: Path, settings: TrainingSettings, synthetic: Path | None) -> None:
        if read_json(folder / PROVENANCE).get("finished") and (folder / MODEL).exists():
            self._say(f"{stage}: already trained")
            return
        task = self._task(settings, synthetic)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "settings.json", json.dumps(asdict(task.network), indent=1) + "\n")
        torch.set_float32_matmul_precision("high")
        torch.backends.cuda.enable_cudnn_sdp(False)  # see writer_run
        self._say(f"{stage}: training in {folder} on {self._device}")
        for progress in fit(task, settings.loop, folder, self._device):
            self._say(str(progress))

    def _task(self, settings: TrainingSettings, synthetic: Path | None) -> WriterTask:
        places = self._places
        material = load(needed(places.material, "material"))
        common = json.loads(needed(places.common, "vocabulary").read_text(encoding="utf-8"))
        start = places.reader or self._fetch("minilm", places.pretrained) / "model.safetensors"
        return WriterTask(
            with_synthetic(material, synthetic) if synthetic else material,
            self._network,
            settings.task,
            common,
            start,
            data={"synthetic": synthetic} if synthetic else None,
        )

    def _tokenizer(self) -> Path:
        return self._fetch("minilm", self._places.pretrained) / "tokenizer.json"


def _counted(items: Iterable[_Item], report: Callable[[int], None]) -> Iterator[_Item]:
    for done, item in enumerate(items, start=1):
        yield item
        report(done)
