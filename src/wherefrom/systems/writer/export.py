"""A trained writer becomes a folder of weights: four graphs in 8 bits, one table of words, settings."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import tomli_w
import torch
from torch import Tensor

from wherefrom.errors import SettingsError, WherefromError
from wherefrom.systems.writer.flat import FlatBegin, FlatJudge, FlatModule, FlatRead, FlatStep, free_shapes
from wherefrom.systems.writer.network import SOURCES, WriterNetwork
from wherefrom.systems.writer.settings import WriterExport
from wherefrom.text import NUMBER_WORDS, sentences, words
from wherefrom.train.onnx import write_onnx
from wherefrom.train.quantize import eight_bits
from wherefrom.train.writing.batches import WriterBatchSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ENDINGS = frozenset(f"##{ending}" for ending in "s es ed d ing er ers est ly".split())
CLITICS = frozenset("s t re ve ll d m".split())  # of it's and don't
SIGNS = frozenset(".,;:!?'\"()-/%&’“”–—")
_MOSTLY_SMALL = 0.9  # of a word's uses inside of sentences must be in small letters
_OFTEN = 3  # uses that say anything at all


def export_writer(
    network: WriterNetwork,
    batch: WriterBatchSettings,
    tokenizer: Path,
    safe: Iterable[int],
    out: Path,
    settings: WriterExport | None = None,
) -> None:
    """Write the folder that `runtime.writer` runs; `safe` is what the vocabulary may write (`safe_words`)."""
    settings = settings or WriterExport()
    made, marks = network.settings, batch.marks
    styles = {name: getattr(marks, name, token) for name, token in made.words.styles.items()}
    if made.words.end != marks.end or made.words.styles != styles:
        raise SettingsError(
            f"the network's end and styles are {made.words.end}, {dict(made.words.styles)}, not {marks}"
        )
    if settings.max_written > made.longest_answer:
        raise SettingsError(f"max_written is {settings.max_written}; the network has {made.longest_answer} positions")
    out.mkdir(parents=True, exist_ok=True)
    if Path(settings.tokenizer).name == settings.tokenizer:
        shutil.copyfile(tokenizer, out / settings.tokenizer)
    elif (out / settings.tokenizer).read_bytes() != tokenizer.read_bytes():
        raise WherefromError(f"{out / settings.tokenizer} is another tokenizer than {tokenizer}; leave it out to copy")
    for name, module, example in graphs(network):
        names, shapes = (module.inputs, module.outputs), free_shapes(module, example)
        write_onnx(module, example, names, shapes, out / f"{name}.onnx", settings.precision)
    rows, scale = eight_bits(network.table().detach().float().numpy(), axis=1)
    numpy.save(out / "words.npy", rows)
    numpy.save(out / "words.scale.npy", scale.astype(numpy.float32))
    listed = network.pointer.support.listed.numpy()
    numpy.save(out / "vocabulary.npy", listed.astype(numpy.int32))
    numpy.save(out / "safe.npy", numpy.isin(listed, sorted({*safe, made.words.end})))
    described = {
        "max_tokens": batch.max_tokens,
        "max_question": batch.max_question,
        **asdict(settings),
        **asdict(marks),
        "sources": list(SOURCES),
        "decoder_layers": made.decoder_layers,
        "heads": made.heads,
        "width": made.width,
    }
    (out / "settings.toml").write_text(tomli_w.dumps(described), encoding="utf-8")


def graphs(network: WriterNetwork) -> Iterator[tuple[str, FlatModule, list[Tensor]]]:
    """Name, module and inputs of each graph; sizes that differ, so that the exporter takes none for another."""
    width, layers, heads = network.settings.width, network.settings.decoder_layers, network.settings.heads

    def yes(*shape: int) -> Tensor:
        return torch.ones(*shape, dtype=torch.bool)

    yield "encode", FlatRead(network), [torch.zeros(3, 8, width), yes(3, 8), torch.zeros(3, 8, dtype=torch.long)]
    yield "judge", FlatJudge(network), [torch.zeros(3, 5, width), yes(3, 5)]
    states = [torch.zeros(3, 4 + 3 * number, width) for number in range(len(SOURCES))]
    yield "begin", FlatBegin(network), states
    with torch.no_grad():
        begun = FlatBegin(network)(*states)
    own = [torch.zeros(layers, 3, heads, 6, width // heads) for _ in range(2)]
    parts = [part for state in states for part in (state.clone(), yes(*state.shape[:2]), torch.zeros(state.shape[:2]))]
    yield "step", FlatStep(network), [torch.zeros(3, 1, width), *own, *parts, *begun]


def safe_words(tokenizer: Tokenizer, texts: Iterable[str]) -> set[int]:
    """The words that may be written without a source: whole words that are nearly always in small letters, signs.

    Neither numbers nor names: these come from a passage or the question, or not at all. Pieces that continue a word
    are left out too, but for the endings of verbs and nouns, since a name can be put together from pieces.
    """
    small: Counter[str] = Counter()
    large: Counter[str] = Counter()
    for text in texts:
        starts = {start for start, _ in sentences(text)}
        for start, end in words(text):
            word = text[start:end]
            if word == word.lower():
                small[word] += 1
            elif start not in starts:
                large[word.lower()] += 1
    safe: set[int] = set()
    for piece, number in tokenizer.get_vocab().items():
        plain = piece in ENDINGS or piece in CLITICS or piece in SIGNS
        common = small[piece] >= max(_OFTEN, _MOSTLY_SMALL * (small[piece] + large[piece]))
        if plain or (common and piece.isascii() and piece.isalpha() and piece not in NUMBER_WORDS):
            safe.add(number)
    return safe


def texts_in(path: Path) -> Iterator[str]:
    """The texts of a file of JSON lines, as the writer's material has them, packed or not: with their capitals."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield from (str(row[name]) for name in ("question", "text") if name in row)
            yield from map(str, row.get("sentences", ()))
