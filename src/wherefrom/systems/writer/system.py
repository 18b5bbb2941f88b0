"""Makes the writer from the datasets: material, vocabulary, style transfer, synthetic sentences, writer, weights.

OUT/ten-passages/            the ten-passage set, unless another folder is named
OUT/pretrained/              the encoder that training starts from, unless another folder is named
OUT/material/                writer.safetensors: questions, passages, answers and sentences as tokens; texts beside it
OUT/common.json              what the vocabulary may write, the most needed first
OUT/transfer/                style transfer: given a short answer, it writes the sentence
OUT/synthetic.safetensors    a sentence for every training question that has none
OUT/writer/                  the writer's training
OUT/weights/                 the result: a folder for `runtime.writer`
OUT/report.json              how much of what is to be written can be copied
OUT/measured.json            what the result is worth alone
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from wherefrom.durable import write_text
from wherefrom.origin import file_hash
from wherefrom.systems.writer.about import Inputs
from wherefrom.systems.writer.settings import WriterSettings, WriterTraining
from wherefrom.systems.writer.task import WriterTask
from wherefrom.train import pretrained
from wherefrom.train.encoders import STUDENT, Encoders, Fetch
from wherefrom.train.loop import MODEL, trained
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, needed, training, write_json
from wherefrom.train.ten_passages import NOTE, ten_passages
from wherefrom.train.writing.material import load, with_synthetic
from wherefrom.train.writing.synthesis import save_sentences

DEFAULTS = WriterSettings()
MATERIAL = "writer.safetensors"


def stages(
    settings: WriterSettings, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> list[Stage]:
    """From the datasets to weights and figures; `fetch` gets the pretrained encoder."""
    return _Making(settings, inputs, out, say, fetch).stages()


class _Making:
    """One writer under way: a method a stage."""

    def __init__(self, settings: WriterSettings, inputs: Inputs, out: Path, say: Say, fetch: Fetch) -> None:
        self._settings, self._inputs, self._out, self._say = settings, inputs, out, say
        self._encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)
        self._ten_passages = inputs.ten_passages or out / "ten-passages"
        self._material = out / "material" / MATERIAL
        self._common = out / "common.json"
        self._synthetic = out / "synthetic.safetensors"

    def stages(self) -> list[Stage]:
        return [
            ten_passages(self._ten_passages, self._inputs.data, self._say),
            self._collect(),
            self._count_words(),
            self._train("transfer", self._settings.transfer, augmented=False),
            self._augment(),
            self._train("writer", self._settings.writer, augmented=True),
            self._export(),
            self._report(),
            self._measure(),
        ]

    def _collect(self) -> Stage:
        """Questions, passages, answers and sentences as tokens."""

        def made_of() -> Facts:
            from wherefrom.train.writing.corpus import data_files

            files = data_files(self._inputs.data)
            return {
                "data": {f"{file.parent.name}/{file.name}": file_hash(file) for file in files},
                "ten_passages": file_hash(needed(self._ten_passages / NOTE, "ten-passages")),
                "tokenizer": file_hash(self._tokenizer()),
            }

        def make(path: Path) -> Facts:
            from wherefrom.train.writing.corpus import prepare

            tokenizer = self._tokenizer()
            return prepare(self._inputs.data, self._ten_passages, tokenizer, path / MATERIAL, self._sayer("material"))

        return Stage("material", self._material.parent, made_of, make)

    def _count_words(self) -> Stage:
        """The words that are written without being copied."""

        def made_of() -> Facts:
            return {**self._learnt_from(), "tokenizer": file_hash(self._tokenizer())}

        def make(path: Path) -> Facts:
            from wherefrom.train.writing.vocabulary import vocabulary_order

            tokenizer, say = self._tokenizer(), self._sayer("vocabulary")
            order = vocabulary_order(self._material, self._inputs.data, tokenizer, say)
            write_text(path, json.dumps(order))
            return {"words": len(order), "written": self._settings.network.vocabulary}

        return Stage("vocabulary", self._common, made_of, make)

    def _train(self, name: str, settings: WriterTraining, augmented: bool) -> Stage:
        """Sentences from short answers, without passages; or all styles, from several passages."""

        def made_of() -> Facts:
            reader = self._inputs.reader
            return {
                **self._learnt_from(),
                "common": file_hash(needed(self._common, "vocabulary")),
                **({"synthetic": file_hash(needed(self._synthetic, "augment"))} if augmented else {}),
                "start": pretrained.INPUTS[STUDENT].sha256[MODEL] if reader is None else file_hash(reader),
                "network": asdict(self._settings.network),
                "task": asdict(settings.task),
            }

        def task() -> WriterTask:
            return self._task(settings, augmented)

        beside = {"settings.json": asdict(self._settings.network)}
        return training(name, self._out / name, task, settings.loop, made_of, self._inputs.device, self._say, beside)

    def _augment(self) -> Stage:
        """A sentence for every training question that has none; saved if it ends and holds its answer."""
        folder, tokens = self._out / "transfer", self._settings.synthesis_tokens

        def made_of() -> Facts:
            return {"transfer": file_hash(needed(folder / MODEL, "transfer")), **self._learnt_from()}

        def make(path: Path) -> Facts:
            settings = self._settings.transfer
            task = self._task(replace(settings, task=replace(settings.task, triple_tokens=tokens)), augmented=False)
            network = trained(task, folder, self._inputs.device)
            return save_sentences(path, task, network, network.words, paced("augment", self._say))

        return Stage("augment", self._synthetic, made_of, make)

    def _export(self) -> Stage:
        """The writer as graphs for run time, in 8 bits."""
        folder, settings, batch = self._out / "writer", self._settings.export, self._settings.writer.task.batch

        def made_of() -> Facts:
            weights = file_hash(needed(folder / MODEL, "writer"))
            return {"writer": weights, **self._learnt_from(), **asdict(settings)}

        def make(path: Path) -> Facts:
            from tokenizers import Tokenizer

            from wherefrom.evaluate.texts import texts_beside
            from wherefrom.systems.writer.export import export_writer, safe_words, texts_in

            plain = replace(self._settings.writer, task=replace(self._settings.writer.task, fused=False))
            network = trained(self._task(plain, augmented=True), folder)
            tokenizer = Tokenizer.from_file(str(self._tokenizer()))
            safe = safe_words(tokenizer, texts_in(texts_beside(self._material)))
            export_writer(network, batch, self._tokenizer(), safe, path, settings)
            return {"parameters": sum(part.numel() for part in network.parameters()), "safe_words": len(safe)}

        return Stage("export", self._out / "weights", made_of, make, weights=True)

    def _report(self) -> Stage:
        """How much of what is to be written can be copied."""

        def make(path: Path) -> None:
            from wherefrom.evaluate.texts import texts_beside
            from wherefrom.train.writing.report import alignment

            write_json(path, alignment(load(needed(self._material, "material")), texts_beside(self._material)))

        return Stage("report", self._out / "report.json", self._learnt_from, make, extra=True)

    def _measure(self) -> Stage:
        """What the exported writer is worth alone."""
        weights, settings = self._out / "weights", self._settings.measure

        def made_of() -> Facts:
            graph = file_hash(needed(weights / "step.onnx", "export"))
            return {"step": graph, **self._learnt_from(), **asdict(settings)}

        def make(path: Path) -> Facts:
            from wherefrom.systems.writer.measure import alone

            figures = alone(weights, self._material, settings, self._say)
            write_json(path, figures)
            return {name: scores["rouge_l"] for name, scores in figures.items()}

        return Stage("measure", self._out / "measured.json", made_of, make, extra=True)

    # Inside.

    def _learnt_from(self) -> Facts:
        return {"material": file_hash(needed(self._material, "material"))}

    def _task(self, settings: WriterTraining, augmented: bool) -> WriterTask:
        material = load(needed(self._material, "material"))
        if augmented:
            material = with_synthetic(material, needed(self._synthetic, "augment"))
        return WriterTask(
            material,
            self._settings.network,
            settings.task,
            json.loads(needed(self._common, "vocabulary").read_text(encoding="utf-8")),
            self._inputs.reader or self._encoders.of(STUDENT) / MODEL,
            {"synthetic": self._synthetic} if augmented else None,
        )

    def _sayer(self, stage: str) -> Say:
        return lambda line: self._say(f"{stage}: {line}")

    def _tokenizer(self) -> Path:
        return self._encoders.of(STUDENT) / "tokenizer.json"
