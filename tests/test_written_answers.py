"""Sentences written over a library: settings, one session for all stages, words as they come."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")

from wherefrom import Library
from wherefrom.build import build
from wherefrom.config import Settings, resolve
from wherefrom.errors import NothingWritten, SettingsError
from wherefrom.judge.masque import MasqueJudge
from wherefrom.rank.masque import MasqueRanker
from wherefrom.runtime.weights import SHIPPED, WeightsError
from wherefrom.types import Document, Hit, Passage, Question, Word
from wherefrom.write.explaining import ExplainingWriter
from wherefrom.write.masque import MasqueWriter

QUESTION = "Who serviced the boiler?"
DOCUMENTS = [
    Document("boiler.md", "The boiler was serviced by Marta in May. It hums.", "The boiler"),
    Document("garden/roses.txt", "Roses grow behind the shed. Ivo waters them on Mondays.", "The garden"),
]


@pytest.fixture
def settings(tiny_writer_weights: Path) -> Settings:
    """The tiny network knows one sentence, which passes no check."""
    return resolve(overrides=["write.kind=masque", "write.check=false", f"runtime.writer={tiny_writer_weights}"])


@pytest.fixture
def library(settings: Settings, tmp_path: Path) -> Library:
    filled = Library(tmp_path / "library", settings)
    filled.put(DOCUMENTS)
    return filled


def test_the_reader_answers_and_the_writer_tells_it(library: Library) -> None:
    answer = library.ask(QUESTION, "sentence").answer
    assert answer is not None
    assert answer.text == "The story is Marta."
    assert [(word.text, word.source) for word in answer.words][3] == ("Marta", "passage")
    short = library.ask(QUESTION).answer
    assert short is not None
    assert short.text == "Marta"


def test_what_does_not_pass_the_check_is_quoted_and_never_heard(library: Library, tiny_writer_weights: Path) -> None:
    checking = Library(library.path, resolve(overrides=[f"runtime.writer={tiny_writer_weights}"]))
    streamed: list[Word] = []
    with checking:
        answer = checking.ask(QUESTION, "sentence", heard=lambda _, words: streamed.extend(words)).answer
    assert answer is not None
    assert answer.text == "The boiler was serviced by Marta in May."
    assert answer.how == "quoted"
    assert not streamed
    assert {folder.name for folder in checking.pipeline().weights} >= {"fluency", "tagger"}
    written = library.ask(QUESTION, "sentence").answer
    assert written is not None
    assert written.how == "written"


def test_words_come_as_they_are_written(library: Library) -> None:
    streamed: list[Word] = []
    trace = library.ask(QUESTION, "sentence", heard=lambda _, words: streamed.extend(words))
    assert trace.answer is not None
    assert tuple(streamed) == trace.answer.words[: len(streamed)]
    assert len(streamed) >= 3


def test_what_is_declined_is_not_written(library: Library) -> None:
    streamed: list[Word] = []
    trace = library.ask(QUESTION, "sentence", min_chance=1.0, heard=lambda _, words: streamed.extend(words))
    assert trace.answer is not None
    assert trace.answer.text is None
    assert 0.5 < trace.answer.chance < 1.0
    assert not streamed


def test_how_an_answer_was_written_is_explained(library: Library) -> None:
    trace = library.ask(QUESTION, "sentence")
    assert trace.answer is not None
    assert library.explain(trace).words == trace.answer.words


def test_what_was_not_written_cannot_be_explained(library: Library, tmp_path: Path) -> None:
    declined = library.ask(QUESTION, "sentence", min_chance=1.0)
    with pytest.raises(NothingWritten, match=r"no answer \(chance 0\.\d\d\).*min_chance"):
        library.explain(declined)
    with pytest.raises(SettingsError, match=r"style short is quoted.*use style sentence"):
        library.explain(library.ask(QUESTION))
    decided = library.ask("Did Marta service the boiler in May?", "sentence", min_chance=0.0)
    assert decided.answer is not None
    assert decided.answer.text is not None
    assert decided.answer.text.startswith("Yes: The boiler was serviced by Marta in May.")
    with pytest.raises(NothingWritten, match="a Yes or No and a quotation"):
        library.explain(decided)
    quoting = Library(library.path, resolve(overrides=["write.kind=verbatim"]))
    with quoting, pytest.raises(SettingsError, match=r"write\.kind=verbatim"):
        quoting.explain(quoting.ask(QUESTION, "sentence"))


def test_all_stages_share_one_session(tiny_writer_weights: Path) -> None:
    overrides = [
        "rank.kind=masque",
        "read.kind=sentence",
        "judge.kind=masque",
        "write.kind=masque",
        "write.yes_no=false",
        "write.check=false",
    ]
    pipeline = build(resolve(overrides=[*overrides, f"runtime.writer={tiny_writer_weights}"]), None)
    assert isinstance(pipeline.ranker, MasqueRanker)
    assert isinstance(pipeline.judge, MasqueJudge)
    assert isinstance(pipeline.writer, ExplainingWriter)
    writer = pipeline.writer.other
    assert isinstance(writer, MasqueWriter)
    assert pipeline.ranker._session is pipeline.judge._session is writer._session
    assert pipeline.weights == (tiny_writer_weights, SHIPPED / "selector")
    passages = [Passage(d.id, d.id, d.text, 0, len(d.text), d.title) for d in DOCUMENTS]
    hits = [Hit(passage, 0.0) for passage in passages]
    (trace,) = pipeline.answer_many([Question("", QUESTION)], [hits], "sentence", min_chance=0.0)
    assert trace.answer is not None
    assert trace.answer.text
    assert set(trace.timings) == {"rank", "read", "judge", "write"}


def test_the_folders_of_both_networks_are_known(settings: Settings, tiny_writer_weights: Path) -> None:
    assert build(settings, None).weights == (
        SHIPPED / "reader",
        tiny_writer_weights,
        SHIPPED / "yes-no",
        SHIPPED / "selector",
    )


def test_missing_weights_are_named_when_they_are_needed(tmp_path: Path) -> None:
    missing = f"runtime.writer={tmp_path / 'none'}"
    settings = resolve(overrides=["write.kind=masque", "judge.second=false", missing])
    with Library(tmp_path / "library", settings) as library:
        library.put(DOCUMENTS)
        short = library.ask(QUESTION).answer  # is quoted: needs no weights
        assert short is not None
        assert short.text == "Marta"
        with pytest.raises(WeightsError, match=r"settings\.toml is missing"):
            library.ask(QUESTION, "sentence")


@pytest.mark.parametrize("override", ["write.passages=0", "write.beam=0", "write.short=say", "write.kind=masqe"])
def test_settings_that_make_no_sense_are_named(override: str) -> None:
    with pytest.raises(SettingsError, match=override.split("=")[0]):
        resolve(overrides=[override])


class TestCommandLine:
    def ask(self, library: Library, tiny_writer_weights: Path, *more: str) -> list[str]:
        return [
            sys.executable,
            "-m",
            "wherefrom",
            "ask",
            QUESTION,
            "--style",
            "sentence",
            "--library",
            str(library.path),
            "--set",
            "write.check=false",
            "--set",
            f"runtime.writer={tiny_writer_weights}",
            *more,
        ]

    def test_shows_where_the_copied_words_stand(self, library: Library, tiny_writer_weights: Path) -> None:
        command = self.ask(library, tiny_writer_weights)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[0] == "The story is Marta."
        assert lines[1].endswith("attested 0.50")  # of story and Marta
        assert "The boiler was serviced by «Marta» in May." in done.stdout

    def test_draws_how_it_was_written(self, library: Library, tiny_writer_weights: Path, tmp_path: Path) -> None:
        file = tmp_path / "written.svg"
        command = self.ask(library, tiny_writer_weights, "--picture", str(file))
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("The story is Marta.\n")
        assert f"wrote {file}" in done.stdout
        assert "Marta: the reader&#x27;s short answer, " in file.read_text()
        json = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60).stdout
        assert json.startswith("{")
        assert "wrote" not in json

    @pytest.mark.parametrize(
        ("more", "code", "message"),
        [
            (("--style", "short"), 2, "style short is quoted"),
            (("--style", "passage"), 2, "style passage is quoted"),
            (("--set", "write.kind=verbatim"), 2, "write.kind=verbatim quotes"),
            (("--min-chance", "1"), 1, "there is no answer (chance "),
            (("--picture", "written.png"), 2, "must end in .svg"),
            (("--picture", "no/such/place.svg"), 2, "there is no folder"),
        ],
    )
    def test_where_nothing_is_written_there_is_no_picture(
        self,
        library: Library,
        tiny_writer_weights: Path,
        tmp_path: Path,
        more: tuple[str, ...],
        code: int,
        message: str,
    ) -> None:
        file = tmp_path / "written.svg"
        command = self.ask(library, tiny_writer_weights, "--picture", str(file), *more)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == code
        assert message in done.stderr
        assert "Traceback" not in done.stderr
        assert not file.exists()

    def test_shows_words_once_to_people(self, library: Library, tiny_writer_weights: Path) -> None:
        ours, theirs = pty.openpty()
        command = self.ask(library, tiny_writer_weights)
        with subprocess.Popen(command, stdout=theirs, stdin=subprocess.DEVNULL) as running:
            os.close(theirs)
            shown = b""
            while True:
                try:
                    part = os.read(ours, 4096)
                except OSError:  # Linux ends a terminal so
                    break
                if not part:
                    break
                shown += part
            assert running.wait(60) == 0
        os.close(ours)
        plain = shown.decode().replace("\x1b[1m", "").replace("\x1b[0m", "")
        assert plain.startswith("The story is Marta.")
        assert plain.count("The story is") == 1
