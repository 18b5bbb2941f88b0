"""The writers' trainings, one at a time: fit, then say what validation asks for, or write synthetic sentences.

    python -m wherefrom.systems.masque.run fit --material M --common C.json --start ENCODER --out RUN --preset joint
    python -m wherefrom.systems.masque.run say --out RUN ... --said RUN/said.jsonl
    python -m wherefrom.systems.masque.run augment --out RUN ... --synthetic-out S.safetensors

Needs torch and safetensors only, so that it runs on a bare GPU machine. Interrupted, the same command goes on. What is
said is scored on texts by `writer_texts`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from wherefrom.durable import write_text, write_whole
from wherefrom.errors import SettingsError, WherefromError
from wherefrom.evaluate.token_scores import Said
from wherefrom.networks.decoding import DecodingSettings
from wherefrom.networks.masque import MasqueSettings, encoder_only
from wherefrom.networks.masque_settings import PRESETS
from wherefrom.systems.masque.style_transfer import StyleTransferSettings
from wherefrom.systems.masque.transfer_task import StyleTransferTask, StyleTransferTaskSettings
from wherefrom.train.loop import Progress, fit, trained
from wherefrom.train.settings import LoopSettings
from wherefrom.train.writing.batches import WriterBatchSettings
from wherefrom.train.writing.material import Material, load, save_synthetic, shuffled, with_synthetic
from wherefrom.train.writing.task import WriterTask, WriterTaskSettings, synthesise, word_settings, worth_keeping

LOOP = LoopSettings(
    seed=1,
    epochs=1,
    precision="bf16",
    learning_rate=5e-4,
    warmup=0.06,
    decay="cosine",
    report_every=100,
    checkpoint_every=1000,
)


def network_settings(preset: str, changes: Mapping[str, Any], without_decoder: bool) -> MasqueSettings:
    """A preset with changes, in the words of the material."""
    batch = WriterBatchSettings()
    settings = replace(PRESETS[preset](**changes), words=word_settings(batch.marks))
    return encoder_only(settings) if without_decoder else settings


def task_settings(changes: Mapping[str, Any]) -> WriterTaskSettings:
    """The task's settings from JSON: `batch` is a table of its own."""
    values = dict(changes)
    batch = dict(values.pop("batch", {}))
    if "shares" in batch:
        batch["shares"] = {int(source): share for source, share in batch["shares"].items()}
    if batch.get("quota"):
        batch["quota"] = tuple(batch["quota"])
    if batch.get("size"):
        batch["tokens"] = 0
    return WriterTaskSettings(batch=WriterBatchSettings(**batch), **values)


def principal(table: Tensor, width: int) -> Tensor:
    """The word vectors in so many directions, those of most variance, at about the size of GloVe's."""
    centred = table.float() - table.float().mean(0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    found: Tensor = centred @ directions[:width].T
    return found * (0.4 / found.std())


def word_table(start: Path) -> Tensor:
    """The word embeddings of pretrained weights."""
    found = load_file(start)
    for name in ("embeddings.word_embeddings.weight", "encoder.word.weight"):
        if name in found:
            return found[name]
    raise WherefromError(f"{start} holds no word embeddings")


def material_of(options: argparse.Namespace) -> Material:
    material = load(options.material)
    if options.synthetic:
        material = with_synthetic(material, options.synthetic, options.descriptive)
    return material


def writer_task(options: argparse.Namespace) -> WriterTask:
    """Masque, PREAST-QA or the joint writer."""
    network = network_settings(options.preset, json.loads(options.network), options.encoder_only)
    vectors = None
    if network.encoder == "separate":
        vectors = principal(word_table(options.vectors or options.start), network.embedding)
    common = json.loads(options.common.read_text(encoding="utf-8"))
    data = {"synthetic": options.synthetic} if options.synthetic else {}
    return WriterTask(
        material_of(options),
        network,
        task_settings(json.loads(options.task)),
        common if network.vocabulary else (),
        options.start if network.pretrained is not None else None,
        vectors,
        data,
    )


def transfer_task(options: argparse.Namespace) -> StyleTransferTask:
    """PREAST-QA's style transfer."""
    changes = json.loads(options.network)
    network = StyleTransferSettings(words=word_settings(WriterBatchSettings().marks), **changes)
    masque = None
    if options.masque:
        saved = json.loads((options.masque / "settings.json").read_text(encoding="utf-8"))
        masque = (options.masque / "model.safetensors", MasqueSettings.from_mapping(saved))
    given = dict(json.loads(options.task))
    batch = WriterBatchSettings(**{"tokens": 16_384, **given.pop("batch", {})})
    vectors = principal(word_table(options.vectors or options.start), network.embedding) if masque is None else None
    return StyleTransferTask(
        load(options.material), network, StyleTransferTaskSettings(batch=batch, **given), masque, vectors
    )


def say(options: argparse.Namespace, task: WriterTask) -> Iterator[tuple[str, Said]]:
    """All that validation asks for, each with the name of how it was asked."""
    model = trained(task, options.out, options.device)
    precision = torch.autocast(torch.device(options.device).type, torch.bfloat16, enabled=options.device != "cpu")
    with precision:
        asked = task.asked("short", options.most)
        yield from (("short", said) for said in task.say(model, asked, "short"))
        if task.network.classifier == "linear":  # whose decision may depend on the order of the passages
            probe = WriterTask(shuffled(task.material), task.network, task.settings)
            nothing = DecodingSettings(max_tokens=1, provenance=False)
            yield from (("shuffled", said) for said in probe.say(model, asked, "short", decoding=nothing))
        if not task.network.decoder_layers:
            return
        sentences = task.asked("sentence", options.most)
        yield from (("sentence", said) for said in task.say(model, sentences, "sentence", put_back=True))
        # The same questions answered shortly, to compare the styles
        yield from (("short of sentence", said) for said in task.say(model, sentences, "short", put_back=True))
        if task.network.answer_source:
            yield from (("told", said) for said in task.say(model, sentences, "sentence", put_back=True, told=True))
        if task.settings.valid_narrative:
            asked = task.asked("narrative", options.most)
            yield from (("narrative", said) for said in task.say(model, asked, "narrative"))
            # In the style of the other questions, as Masque (NLG) answers stories
            yield from (("narrative in sentences", said) for said in task.say(model, asked, "sentence"))


def main(arguments: Sequence[str] | None = None) -> None:
    try:
        run(arguments)
    except WherefromError as error:
        sys.exit(str(error))


def run(
    arguments: Sequence[str] | None = None, report: Callable[[str], None] = lambda line: print(line, flush=True)
) -> None:
    """One stage, as the command line asks for it."""
    parser = argparse.ArgumentParser(prog="python -m wherefrom.systems.masque.run")
    parser.add_argument("stage", choices=("fit", "say", "augment"))
    parser.add_argument("--material", type=Path, required=True)
    parser.add_argument("--common", type=Path, help="token ids in the order of writer_vocabulary")
    parser.add_argument("--start", type=Path, help="weights of the encoder to start from")
    parser.add_argument("--vectors", type=Path, help="weights whose word embeddings become word vectors")
    parser.add_argument("--synthetic", type=Path, help="sentences that style transfer wrote")
    parser.add_argument("--descriptive", action="store_true", help="all of them, also for descriptive questions")
    parser.add_argument("--preset", choices=(*PRESETS, "transfer"), default="joint")
    parser.add_argument("--masque", type=Path, help="transfer: the run of a Masque to start from")
    parser.add_argument("--encoder-only", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--network", default="{}", help="settings of the network to change, as JSON")
    parser.add_argument("--task", default="{}", help="settings of the task to change, as JSON")
    parser.add_argument("--loop", default="{}", help="settings of the loop to change, as JSON")
    parser.add_argument("--most", type=int, default=0, help="say: questions at most; 0: all")
    parser.add_argument("--said", type=Path, help="say: the file to write")
    parser.add_argument("--synthetic-out", type=Path, help="augment: the file to write")
    options = parser.parse_args(arguments)
    torch.set_float32_matmul_precision("high")
    # It plans anew for every length, and its gradients were once not numbers
    torch.backends.cuda.enable_cudnn_sdp(False)
    _run(options, report)


def _run(options: argparse.Namespace, report: Callable[[str], None]) -> None:
    task = transfer_task(options) if options.preset == "transfer" else writer_task(options)
    if options.stage == "fit":
        options.out.mkdir(parents=True, exist_ok=True)
        write_text(options.out / "settings.json", json.dumps(asdict(task.network), indent=1) + "\n")
        loop = replace(LOOP, **json.loads(options.loop))
        reports: Iterator[Progress]
        if isinstance(task, WriterTask):
            reports = fit(task, loop, options.out, options.device)
        else:
            reports = fit(task, loop, options.out, options.device)
        for progress in reports:
            report(str(progress))
    elif options.stage == "say":
        if options.said is None:
            raise SettingsError("say needs --said, the file to write")
        write_whole(options.said, lambda path: _write_said(path, _said(options, task)))
    else:
        if options.synthetic_out is None:
            raise SettingsError("augment needs --synthetic-out, the file to write")
        report(_augmented(options, task))


def _write_said(path: Path, said: Iterator[tuple[str, Said]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for asked, one in said:
            file.write(json.dumps({"asked": asked, **asdict(one)}) + "\n")


def _said(options: argparse.Namespace, task: WriterTask | StyleTransferTask) -> Iterator[tuple[str, Said]]:
    if isinstance(task, WriterTask):
        yield from say(options, task)
        return
    model = trained(task, options.out, options.device)
    yield from (("told", said) for said in task.say(model))
    if task.settings.reverse:
        yield from (("reverse", said) for said in task.say(model, turned=True))


def _augmented(options: argparse.Namespace, task: WriterTask | StyleTransferTask) -> str:
    """Keeps sentences that end and hold their short answer."""
    if isinstance(task, WriterTask):
        made = synthesise(task, trained(task, options.out, options.device))
    else:
        made = task.synthesise(trained(task, options.out, options.device))
    with torch.autocast(torch.device(options.device).type, torch.bfloat16, enabled=options.device != "cpu"):
        examples, kept, seen = worth_keeping(made, task.material)
    save_synthetic(options.synthetic_out, examples, kept)
    return f"{seen} sentences written, {len(kept)} kept: they end and hold their answer"


if __name__ == "__main__":
    main()
