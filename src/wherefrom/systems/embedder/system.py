"""Makes the embedder.

OUT/pairs.safetensors     questions, the passages that answer them, and passages that a search finds and that do not
OUT/earlier.safetensors   the reader's weights, in eight bits as torch takes them
OUT/gte.safetensors       gte-small likewise, to be carried to another machine; and the encoder, where it is another
OUT/lessons.safetensors   what the reader and gte-small say of the pairs
OUT/start.safetensors     of an embedder without layers: a vector for every wordpiece, what gte-small says of it alone
OUT/training/             the training
OUT/light.safetensors     the trained weights in 16 bits, to be brought home from another machine
OUT/weights/              the result: a folder for `runtime.embedder`
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from wherefrom.features.matching import FILE as MATCHER
from wherefrom.networks.encoder import Encoder, EncoderSettings, load_pretrained
from wherefrom.origin import file_hash
from wherefrom.runtime.reader import FIRST
from wherefrom.runtime.weights import Weights
from wherefrom.systems.contract import Say, Stage
from wherefrom.systems.embedder.about import Inputs
from wherefrom.systems.embedder.carried import pack, unpacked
from wherefrom.systems.embedder.network import EmbedderNetwork, EncodedNetwork, WordsNetwork
from wherefrom.systems.embedder.pairs import PairColumns
from wherefrom.systems.embedder.task import EmbedderTask, EmbedderTaskSettings
from wherefrom.train import pretrained
from wherefrom.train.encoders import Encoders, Fetch
from wherefrom.train.given import named
from wherefrom.train.loop import MODEL
from wherefrom.train.progress import paced
from wherefrom.train.settings import LoopSettings
from wherefrom.train.stages import Facts, needed, training

GTE = "gte"
_CLASSIFY, _SEPARATE = 101, 102
_AT_A_TIME = 512

LOOP = LoopSettings(
    seed=1,
    steps=4000,
    learning_rate=1e-4,
    group_rates={"scale": 1e-2},
    weight_decay=0.01,
    warmup=0.06,
    precision="bf16",
    metric="score",
    evaluate_every=1000,
    report_every=100,
    checkpoint_every=1000,
)


@dataclass(frozen=True, slots=True)
class CollectSettings:
    """What is collected of the datasets: see `collect.prepare`."""

    headings: int = 40_000  # of Wikipedia, with what stands under them
    distractors: int = 20_000  # passages of Wikipedia that belong to no question
    files: int = 0  # of Wikipedia that are read; 0 is all of them
    negatives: int = 7  # of each question, by BM25; 0 saves the searches
    typed: float = 0.15  # share of SQuAD's questions that come a second time, as people type them
    squad_valid: int = 1_000  # questions held out to measure by


@dataclass(frozen=True, slots=True)
class EmbedderRecipe:
    """Every setting."""

    encoder: str = GTE  # what it starts from: gte or minilm
    layers: tuple[int, ...] = (0, 5, 11)  # of the encoder, that are kept; none: a sum of vectors, without a transformer
    width: int = 384  # without layers: of a vector
    begin: Literal["gte", "matcher"] = "gte"  # without layers: what gte-small says of each wordpiece, or the matcher's
    max_tokens: int = 192  # of a passage that are read
    table_bits: Literal[4, 8] = 4  # of the table of words
    collect: CollectSettings = field(default_factory=CollectSettings)
    loop: LoopSettings = LOOP
    task: EmbedderTaskSettings = field(default_factory=EmbedderTaskSettings)


DEFAULTS = EmbedderRecipe()


def stages(
    settings: EmbedderRecipe, inputs: Inputs, out: Path, say: Say, fetch: Fetch = pretrained.fetch
) -> list[Stage]:
    """PairColumns and export at home, the rest on a GPU: three layers in some minutes."""
    encoders = Encoders(inputs.pretrained or out / "pretrained", fetch)
    pairs, lessons, start = (out / f"{name}.safetensors" for name in ("pairs", "lessons", "start"))
    folder, earlier = out / "training", out / "earlier.safetensors"
    task = replace(settings.task, bounded=bool(settings.layers))
    taught = inputs.reader is not None or bool(task.structure)

    light = out / "light.safetensors"

    def network_of() -> EmbedderNetwork:
        return _of_layers(settings, encoders, inputs.gte) if settings.layers else _without_layers(start)

    def learnt() -> Path:
        """The trained weights, or what was brought home of them."""
        return folder / MODEL if (folder / MODEL).exists() else needed(light, "training")

    def lighten(path: Path) -> None:
        state = load_file(needed(folder / MODEL, "training"))
        save_file({name: tensor.to(torch.float16) for name, tensor in state.items()}, path)

    def task_of() -> EmbedderTask:
        return EmbedderTask(needed(pairs, "pairs"), network_of, task, needed(lessons, "lessons") if taught else None)

    def trained_of() -> Facts:
        files = [pairs, *([lessons] if taught else []), *([start] if not settings.layers else [])]
        hashes = {path.name: file_hash(needed(path, path.stem)) for path in files}
        return {**hashes, "encoder": settings.encoder, "layers": list(settings.layers), "task": asdict(task)}

    def export(path: Path) -> None:
        from wherefrom.systems.embedder.export import export_encoded, export_words

        network = network_of()
        network.load_state_dict({name: tensor.float() for name, tensor in load_file(learnt()).items()})
        network.eval()
        if isinstance(network, WordsNetwork):
            export_words(network, path, settings.max_tokens)
        else:
            export_encoded(network, path, settings.max_tokens, "int8", settings.table_bits)

    return [
        _collected(settings.collect, inputs, pairs, encoders, say),
        *_dequantized(inputs.reader, earlier),
        _carried(out / "gte.safetensors", settings.encoder, encoders),
        *([_listened(settings, inputs, pairs, earlier, lessons, encoders, say)] if taught else []),
        *([_begun(settings, start, pairs, encoders, say)] if not settings.layers else []),
        training("training", folder, task_of, settings.loop, trained_of, inputs.device, say),
        Stage("light", light, lambda: {"training": file_hash(needed(folder / MODEL, "training"))}, lighten, extra=True),
        Stage(
            "export",
            out / "weights",
            lambda: {"training": file_hash(learnt()), "table_bits": settings.table_bits},
            export,
            weights=True,
        ),
    ]


def _collected(settings: CollectSettings, inputs: Inputs, pairs: Path, encoders: Encoders, say: Say) -> Stage:
    """The questions and passages as tokens."""

    def made_of() -> Facts:
        from wherefrom.systems.embedder.collect import data_files

        files = [*data_files(inputs.data), *([] if inputs.manuals is None else [named(inputs.manuals, "--manuals")])]
        tokenizer = pretrained.INPUTS[GTE].sha256["vocab.txt"]
        hashes = {f"{file.parent.name}/{file.name}": file_hash(file) for file in files}
        return {"data": hashes, "wordpieces": tokenizer, "collect": asdict(settings)}

    def make(path: Path) -> Facts:
        from tokenizers import Tokenizer

        from wherefrom.systems.embedder.collect import prepare

        tokenizer = pretrained.unbounded(Tokenizer.from_file(str(encoders.of(GTE) / "tokenizer.json")))
        return prepare(inputs.data, inputs.manuals, tokenizer, settings, path, lambda line: say(f"pairs: {line}"))

    return Stage("pairs", pairs, made_of, make)


def _dequantized(reader: Path | None, made: Path) -> list[Stage]:
    """A folder of exported weights as weights that torch can take."""
    if reader is None:
        return []
    model = reader / "model.onnx"

    def make(path: Path) -> Facts:
        from wherefrom.train.dequantize import dequantized

        tensors = {
            name: torch.from_numpy(numpy.array(value, numpy.float32)) for name, value in dequantized(model).items()
        }
        pack(tensors, path)
        return {"parameters": len(tensors)}

    def made_of() -> Facts:
        first = model.with_name(FIRST)  # of a reader that skims
        return {"model": file_hash(named(model, "--reader")), **({"first": file_hash(first)} if first.exists() else {})}

    return [Stage("earlier", made, made_of, make)]


def _listened(
    settings: EmbedderRecipe, inputs: Inputs, pairs: Path, earlier: Path, lessons: Path, encoders: Encoders, say: Say
) -> Stage:
    """What larger networks say."""

    def made_of() -> Facts:
        reader = {} if inputs.reader is None else {"reader": file_hash(needed(earlier, "earlier"))}
        return {"pairs": file_hash(needed(pairs, "pairs")), **reader, "structure": bool(settings.task.structure)}

    def make(path: Path) -> Facts:
        from wherefrom.systems.embedder.lessons import answering, near

        columns, made = PairColumns(pairs), dict[str, Tensor]()
        if settings.task.structure:
            report = paced("lessons: passages", say)
            made["vectors"] = near(
                columns, _whole(GTE, encoders, inputs.gte), settings.max_tokens, inputs.device, report
            )
        if inputs.reader is not None:
            whole = _whole(GTE, encoders, inputs.gte).settings
            encoder = replace(whole, layers=_layers_of(earlier))
            made["reader"] = answering(columns, earlier, encoder, inputs.device, paced("lessons: pairs", say))
        save_file(made, path)
        return {name: len(tensor) for name, tensor in made.items()}

    return Stage("lessons", lessons, made_of, make)


def _begun(settings: EmbedderRecipe, start: Path, pairs: Path, encoders: Encoders, say: Say) -> Stage:
    """A vector for every wordpiece; the rarer, the longer."""

    def made_of() -> Facts:
        begun = pretrained.INPUTS[GTE].sha256["model.safetensors"] if settings.begin == GTE else _matcher_hash()
        return {"begin": begun, "pairs": file_hash(needed(pairs, "pairs")), "width": settings.width}

    def make(path: Path) -> Facts:
        whole = wordpieces_alone(encoders, settings.width, say) if settings.begin == GTE else _matchers(settings.width)
        vectors = torch.nn.functional.normalize(whole, dim=-1)
        columns = PairColumns(pairs)
        held = torch.zeros(len(vectors))
        for passage in range(columns.passages):
            held[numpy.unique(columns.tokens("passage", passage))] += 1
        rarity = torch.log((columns.passages + 1) / (held + 1)).clamp(min=0.1)
        save_file({"vectors": vectors * rarity[:, None] / 10}, path)
        return {
            "wordpieces": len(vectors),
            **({"pretrained": pretrained.described(GTE)} if settings.begin == GTE else {}),
        }

    return Stage("start", start, made_of, make)


def _matcher_hash() -> str:
    return file_hash(Weights.named("matcher").file(MATCHER))


def _matchers(width: int) -> Tensor:
    """The shipped matcher's vectors, which know what means nearly the same, beside random ones, which know it apart."""
    with Weights.named("matcher").file(MATCHER).open("rb") as file, numpy.load(file, allow_pickle=False) as arrays:
        known = torch.from_numpy(arrays["vectors"].astype(numpy.float32))
    known = torch.nn.functional.normalize(known, dim=-1)[:, :width]
    apart = torch.randn(len(known), width - known.shape[1], generator=torch.Generator().manual_seed(1))
    return torch.cat([known, 0.7 * torch.nn.functional.normalize(apart, dim=-1)], dim=1)


def wordpieces_alone(encoders: Encoders, width: int, say: Say) -> Tensor:
    """What gte-small says of each wordpiece between [CLS] and [SEP], on the main axes of all: (wordpieces, width)."""
    settings = encoders.settings(GTE)
    encoder = Encoder(settings)
    load_pretrained(encoder, encoders.of(GTE) / "model.safetensors")
    encoder.eval()
    report = paced("start", say)
    states = []
    with torch.inference_mode():
        for begin in range(0, settings.words, _AT_A_TIME):
            report(begin, settings.words)
            alone = torch.arange(begin, min(begin + _AT_A_TIME, settings.words))
            tokens = torch.stack([torch.full_like(alone, _CLASSIFY), alone, torch.full_like(alone, _SEPARATE)], dim=1)
            states.append(encoder(tokens, torch.ones_like(tokens, dtype=torch.bool)).mean(dim=1))
    whole = torch.cat(states).double()
    whole = whole - whole.mean(dim=0)
    _, _, axes = torch.linalg.svd(whole, full_matrices=False)
    vectors: Tensor = (whole @ axes[: min(width, settings.width)].T).float().contiguous()
    return vectors


def _without_layers(start: Path) -> EmbedderNetwork:
    return WordsNetwork(load_file(needed(start, "start"))["vectors"])


def _of_layers(settings: EmbedderRecipe, encoders: Encoders, carried: Path | None) -> EmbedderNetwork:
    """Some layers of a pretrained encoder."""
    beside = None if carried is None else carried.with_name(f"{settings.encoder}.safetensors")
    return EncodedNetwork(_whole(settings.encoder, encoders, beside).keeping(settings.layers))


def _whole(name: str, encoders: Encoders, carried: Path | None) -> Encoder:
    """A pretrained encoder, from its own weights or from those that were carried here."""
    if carried is None:
        encoder = Encoder(encoders.settings(name))
        load_pretrained(encoder, encoders.of(name) / "model.safetensors")
        return encoder
    state = unpacked(named(carried, "--gte"))
    with carried.with_suffix(".json").open(encoding="utf-8") as file:
        settings = EncoderSettings.from_mapping(json.load(file), str(carried))
    encoder = Encoder(settings)
    encoder.load_state_dict(state)
    return encoder


def _carried(path: Path, encoder: str, encoders: Encoders) -> Stage:
    """gte-small in eight bits, with its configuration beside it; and so the encoder that is trained."""
    names = sorted({GTE, encoder})

    def make(out: Path) -> Facts:
        for name in names:
            beside = path.with_name(f"{name}.safetensors")
            pack(_whole(name, encoders, None).state_dict(), out if beside == path else beside)
            shutil.copyfile(encoders.of(name) / "config.json", beside.with_suffix(".json"))
        return {"pretrained": pretrained.described(*names)}

    def made_of() -> Facts:
        return {name: pretrained.INPUTS[name].sha256["model.safetensors"] for name in names}

    return Stage("carried", path, made_of, make, extra=True)


def _layers_of(weights: Path) -> int:
    """How deep a packed reader is."""
    return 1 + max(int(name.split(".")[2]) for name in unpacked(weights) if name.startswith("encoder.layers."))
