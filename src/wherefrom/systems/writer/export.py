"""A trained writer becomes a folder of weights: four graphs in 8 bits, one table of words, settings, provenance.

    python -m wherefrom.systems.writer.export TRAINED TOKENIZER OUT --texts writer.texts.jsonl.gz ...

TRAINED holds `model.safetensors`, `settings.json` and, where the vocabulary is limited, `common.json`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import onnx
import tomli_w
import torch
from torch import Tensor

from wherefrom.errors import SettingsError, WherefromError
from wherefrom.networks.flat import FlatBegin, FlatJudge, FlatRead, FlatStep, to_onnx
from wherefrom.networks.masque import MasqueNetwork, MasqueSettings
from wherefrom.origin import file_hash
from wherefrom.text import NUMBER_WORDS, sentences, words
from wherefrom.train.quantize import ExportPrecision as Precision
from wherefrom.train.quantize import eight_bits, forget_origin, quantized
from wherefrom.write.marks import Marks

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ENDINGS = frozenset(f"##{ending}" for ending in "s es ed d ing er ers est ly".split())
CLITICS = frozenset("s t re ve ll d m".split())  # of it's and don't
SIGNS = frozenset(".,;:!?'\"()-/%&’“”–—")
_MOSTLY_SMALL = 0.9  # of a word's uses inside of sentences must be in small letters
_OFTEN = 3  # uses that say anything at all


@dataclass(frozen=True, slots=True)
class WriterExport:
    """How the network is to be run: as long as what it was trained on."""

    max_tokens: int = 256  # question, title and passage
    max_question: int = 64
    max_title: int = 24
    max_written: int = 64  # tokens of an answer
    marks: Marks = field(default_factory=Marks)
    precision: Precision = "int8"
    tokenizer: str = "tokenizer.json"  # where it lies, seen from the folder; copied there if it is in it


def export_writer(
    network: MasqueNetwork,
    tokenizer: Path,
    safe: Iterable[int],
    out: Path,
    provenance: Mapping[str, Any],
    settings: WriterExport | None = None,
) -> None:
    """Write the folder that `runtime.writer` runs; `safe` is what the vocabulary may write (`safe_words`)."""
    settings = settings or WriterExport()
    made, words = network.settings, network.settings.words
    marks = settings.marks
    expected = {name: token for name, token in made.words.style_tokens.items() if hasattr(marks, name)}
    if words.end != marks.end or expected != {name: getattr(marks, name) for name in expected}:
        raise SettingsError(f"the network's end and styles are {words.end}, {dict(words.style_tokens)}, not {marks}")
    if made.decoder_positions == "learned" and settings.max_written > made.longest_answer:
        raise SettingsError(f"max_written is {settings.max_written}; the network has {made.longest_answer} positions")
    out.mkdir(parents=True, exist_ok=True)
    if Path(settings.tokenizer).name == settings.tokenizer:
        shutil.copyfile(tokenizer, out / settings.tokenizer)
    elif (out / settings.tokenizer).read_bytes() != tokenizer.read_bytes():
        raise WherefromError(f"{out / settings.tokenizer} is another tokenizer than {tokenizer}; leave it out to copy")
    for name, module, example in graphs(network):
        whole = out / f"{name}.fp32.onnx"
        model = to_onnx(module, example).model_proto
        forget_origin(model)
        onnx.save(model, str(whole))
        if settings.precision == "int8":
            quantized(whole, out / f"{name}.onnx")
            whole.unlink()
        else:
            whole.replace(out / f"{name}.onnx")
    rows, scale = eight_bits(network.table().detach().float().numpy(), axis=1)
    numpy.save(out / "words.npy", rows)
    numpy.save(out / "words.scale.npy", scale.astype(numpy.float32))
    listed = network.pointer.support.listed
    written = listed[network.pointer.support.allowed[listed]] if not network.pointer.support.sliced else listed
    numpy.save(out / "vocabulary.npy", listed.numpy().astype(numpy.int32))
    may = {*safe, words.end} & set(written.tolist())
    numpy.save(out / "safe.npy", numpy.isin(listed.numpy(), sorted(may)))
    read = {
        **{name: value for name, value in asdict(settings).items() if name != "marks"},
        **asdict(marks),
        "sources": list(made.sources),
        "decoder_layers": made.decoder_layers,
        "heads": made.heads,
        "width": made.width,
    }
    (out / "settings.toml").write_text(tomli_w.dumps(read), encoding="utf-8")
    names = ("*.onnx", "*.npy", "settings.toml", "tokenizer.json")
    hashes = {file.name: file_hash(file) for name in names for file in sorted(out.glob(name))}
    (out / "provenance.json").write_text(json.dumps({**provenance, "files": hashes}, indent=2) + "\n", encoding="utf-8")


def graphs(network: MasqueNetwork) -> Iterator[tuple[str, Any, list[Tensor]]]:
    """Name, module and inputs of each graph; sizes that differ, so that the exporter takes none for another."""
    made = network.settings
    wide, width, layers, heads = made.table_width, made.width, made.decoder_layers, made.heads

    def yes(*shape: int) -> Tensor:
        return torch.ones(*shape, dtype=torch.bool)

    yield "encode", FlatRead(network), [torch.zeros(3, 8, wide), yes(3, 8), torch.zeros(3, 8, dtype=torch.long)]
    yield "judge", FlatJudge(network), [torch.zeros(3, 5, width), yes(3, 5)]
    places = [4 + 3 * number for number in range(len(made.sources))]
    states = [torch.zeros(3, count, width) for count in places]
    yield "begin", FlatBegin(network), states
    with torch.no_grad():
        begun = FlatBegin(network)(*states)
    own = [torch.zeros(layers, 3, heads, 6, width // heads) for _ in range(2)]
    parts = [part for state in states for part in (state.clone(), yes(*state.shape[:2]), torch.zeros(state.shape[:2]))]
    yield "step", FlatStep(network), [torch.zeros(3, 1, wide), *own, *parts, *begun]


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
    found: set[int] = set()
    for piece, number in tokenizer.get_vocab().items():
        plain = piece in ENDINGS or piece in CLITICS or piece in SIGNS
        common = small[piece] >= max(_OFTEN, _MOSTLY_SMALL * (small[piece] + large[piece]))
        if plain or (common and piece.isascii() and piece.isalpha() and piece not in NUMBER_WORDS):
            found.add(number)
    return found


def texts_in(path: Path) -> Iterator[str]:
    """The texts of a file of JSON lines, as the writer's material has them, packed or not: with their capitals."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield from (str(row[name]) for name in ("question", "text") if name in row)
            yield from map(str, row.get("sentences", ()))


def loaded(trained: Path) -> MasqueNetwork:
    """The network that a folder of `model.safetensors`, `settings.json` and perhaps `common.json` describes."""
    from safetensors.torch import load_file

    settings = MasqueSettings.from_mapping(json.loads((trained / "settings.json").read_text(encoding="utf-8")))
    common = trained / "common.json"
    chosen = torch.tensor(json.loads(common.read_text(encoding="utf-8"))) if common.exists() else None
    network = MasqueNetwork(settings, chosen)
    try:
        network.load_state_dict(load_file(trained / "model.safetensors"))
    except RuntimeError as error:
        raise WherefromError(
            f"{trained / 'model.safetensors'} is of another network than settings.json: {error}"
        ) from None
    return network.eval()


def main(arguments: Sequence[str]) -> None:
    from tokenizers import Tokenizer

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="texts with capitals, as JSON lines")
    parser.add_argument("--tokenizer-at", default="tokenizer.json", help="a tokenizer that is there already, from OUT")
    parser.add_argument("--max-tokens", type=int, default=WriterExport().max_tokens, help="of question and passage")
    parser.add_argument("--precision", choices=("int8", "fp32"), default="int8")
    parser.add_argument("--provenance", type=Path, help="JSON to keep beside the weights")
    given = parser.parse_args(arguments)
    network = loaded(given.trained)
    safe = safe_words(
        Tokenizer.from_file(str(given.tokenizer)), (text for path in given.texts for text in texts_in(path))
    )
    about = {} if given.provenance is None else json.loads(given.provenance.read_text(encoding="utf-8"))
    files = [given.trained / "model.safetensors", given.tokenizer, *given.texts]
    about["export"] = {
        "parameters": sum(part.numel() for part in network.parameters()),
        "network": asdict(network.settings),
        "safe_words": len(safe),
        "made_of": {file.name: file_hash(file) for file in files},
    }
    settings = WriterExport(given.max_tokens, precision=given.precision, tokenizer=given.tokenizer_at)
    export_writer(network, given.tokenizer, safe, given.out, about, settings)
    for path in sorted(given.out.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.3f} MB  {path.name}")
    print(f"{sum(path.stat().st_size for path in given.out.iterdir()) / 1e6:8.3f} MB  in all")


if __name__ == "__main__":
    main(sys.argv[1:])
