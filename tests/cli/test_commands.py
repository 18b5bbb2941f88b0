"""The command line as people and programs use it, in processes of its own."""

from __future__ import annotations

import functools
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.types import Document, Place

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def write_notes(folder: Path) -> Path:
    folder.mkdir()
    (folder / "boiler.md").write_text("# The boiler\n\nThe boiler was serviced by Marta in May.\n")
    (folder / "garden.txt").write_text("The garden\n\nRoses grow behind the shed. It is small.\n")
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_notes(tmp_path / "notes")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs `wherefrom ...` on a library of its own, with output piped."""
    return functools.partial(run_on, tmp_path / "library")


def run_on(library: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wherefrom", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "WHEREFROM_LIBRARY": str(library), **environment},
    )


@pytest.fixture(scope="session")
def library_of_notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copied before it is used."""
    folder = tmp_path_factory.mktemp("filled")
    assert run_on(folder / "library", "ingest", str(write_notes(folder / "notes"))).returncode == 0
    return folder / "library"


@pytest.fixture
def filled(run: Run, notes: Path, library_of_notes: Path, tmp_path: Path) -> Run:
    shutil.copytree(library_of_notes, tmp_path / "library")
    return run


class TestSummarize:
    def test_tells_sentences_with_the_numbers_of_their_sources(self, filled: Run) -> None:
        done = filled("summarize", "Summarize the document.", "garden.txt", "--words", "20")
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[0] == "Roses grow behind the shed. [1]"  # "It is small." says too little by itself
        assert lines[-1].startswith("[1] The garden (garden.txt), characters ")

    def test_json_is_the_trace(self, filled: Run) -> None:
        trace = json.loads(filled("summarize", "Where do roses grow?", "--json").stdout)
        (sentence, *_) = trace["summary"]["sentences"]
        (evidence,) = sentence["evidence"]
        assert all(evidence["text"][word["start"] : word["end"]] == word["text"] for word in sentence["words"])
        assert trace["answer"] is None

    def test_says_that_there_is_nothing_and_which_document_is_missing(self, filled: Run) -> None:
        nothing = filled("summarize", "How do zebras migrate?")
        assert nothing.returncode == 0
        assert nothing.stdout.startswith("There is nothing to summarize. Nothing in these documents speaks of this.")
        missing = filled("summarize", "Summarize it.", "gone.txt")
        assert missing.returncode == 5
        assert "gone.txt" in missing.stderr


class TestAsk:
    def test_tells_answer_source_offsets_and_highlight(self, filled: Run) -> None:
        done = filled("ask", "Who serviced the boiler?")
        assert done.returncode == 0
        lines = done.stdout.splitlines()
        assert lines[0] == "Marta"
        assert "from The boiler (boiler.md), characters 39 to 44:" in lines
        assert "The boiler was serviced by «Marta» in May." in done.stdout
        assert "\x1b" not in done.stdout

    def test_the_place_in_the_file_is_that_of_the_answer(self, run: Run, tmp_path: Path) -> None:
        text = "The boiler hums. The boiler was serviced by Marta in May. The boiler is red."
        places = (Place(0, "page 11", 11), Place(text.index("serviced"), "page 12", 12))
        with Library(tmp_path / "library") as library:
            library.put([Document("manual.pdf", text, "Manual", places=places)])
        asked = run("ask", "Who serviced the boiler?").stdout.splitlines()
        assert "from Manual (manual.pdf, page 12), characters 44 to 49:" in asked
        (line,) = run("search", "boiler").stdout.splitlines()
        assert line.split("\t")[-1] == "page 11"
        assert "manual.pdf#0, page 11 to page 12, characters 0 to 76" in run("show", "manual.pdf#0").stdout
        trace = json.loads(run("ask", "--json", "Who serviced the boiler?").stdout)
        assert trace["hits"][0]["passage"]["places"][1] == {"start": 32, "label": "page 12", "number": 12}

    def test_a_yes_or_no_shows_what_it_rests_on(self, filled: Run) -> None:
        done = filled("ask", "--min-chance", "0", "Do roses grow behind the shed?")
        lines = done.stdout.splitlines()
        assert lines[0] == "Yes"
        assert ", of Yes 0." in lines[1]
        assert "from The garden (garden.txt), characters" in done.stdout
        assert "shed" in done.stdout

    def test_prints_the_trace_as_json(self, filled: Run) -> None:
        trace = json.loads(filled("ask", "--json", "Who serviced the boiler?").stdout)
        assert set(trace) == {"question", "hits", "candidates", "answer", "summary", "timings", "why"}
        answer = trace["answer"]
        assert answer["text"] == "Marta"
        assert 0.5 <= answer["chance"] <= 1.0
        passage = {evidence["id"]: evidence for evidence in answer["evidence"]}
        spelled = ""
        for word in answer["words"]:
            assert passage[word["passage_id"]]["text"][word["start"] : word["end"]] == word["text"]
            spelled += word["space"] + word["text"]
        assert spelled == answer["text"]
        assert trace["hits"][0]["passage"]["document_id"] == "boiler.md"

    def test_says_that_it_does_not_know(self, filled: Run) -> None:
        done = filled("ask", "What is the capital of Mongolia?")
        assert done.returncode == 0
        assert done.stdout.startswith("I don't know.")
        assert json.loads(filled("ask", "--json", "What is the capital of Mongolia?").stdout)["answer"]["text"] is None

    def test_styles(self, filled: Run) -> None:
        question = "Where do roses grow?"
        assert filled("ask", question, "--style", "sentence").stdout.startswith("Roses grow behind the shed.\n")
        whole = filled("ask", question, "--style", "passage").stdout
        assert whole.startswith("The garden\n\nRoses grow behind the shed. It is small.\n")
        assert whole.count("Roses grow behind the shed.") == 1
        assert whole.endswith("\nfrom The garden (garden.txt), characters 0 to 52\n")
        wrong = filled("ask", question, "--style", "rhyme")
        assert wrong.returncode == 2
        assert "rhyme" in wrong.stderr

    def test_the_chance_that_is_asked_for_can_be_set(self, filled: Run) -> None:
        assert filled("ask", "Who serviced the boiler?", "--min-chance", "1").stdout.startswith("I don't know.")
        assert filled("ask", "Who serviced the boiler?", "--set", "judge.min_chance=1").stdout.startswith("I don't")

    @pytest.mark.parametrize(
        "question", ["", " ", '"AND ( OR -', "🦜🦜", "a:b^2~", "why? " * 2000, "--", "[bold]x[/bold] \x1b[31m"]
    )
    def test_any_question_is_safe(self, filled: Run, question: str) -> None:
        done = filled("ask", "--json", "--", question)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["answer"]["style"] == "short"

    def test_why_tells_each_step_and_what_to_try(self, filled: Run) -> None:
        lines = filled("ask", "--why", "--min-chance", "1", "Who serviced the boiler?").stdout.splitlines()
        assert [line.split()[0] for line in lines if line[:1].isalpha()][2:-1] == [
            "retrieve",
            "rank",
            "read",
            "judge",
            "write",
        ]
        assert lines[-1].startswith("declined: the best answer's chance 0.")
        assert 'for "Marta"' in lines[-1]

    def test_the_step_that_lost_an_expected_answer_is_named(self, filled: Run) -> None:
        question = "Who serviced the boiler?"
        assert (
            filled("ask", "--expect", "Zoltan", question)
            .stdout.splitlines()[-1]
            .startswith('expected "Zoltan": lost in extraction; it is not in the library')
        )
        trace = json.loads(filled("ask", "--json", "--min-chance", "1", "--expect", "Marta", question).stdout)
        assert trace["why"]["lost"]["stage"] == "judging"

    def test_a_question_in_another_language_is_out_of_reach(self, filled: Run) -> None:
        question = "Wer hat den Kessel gewartet?"
        done = filled("ask", "--min-chance", "0", question)
        assert done.returncode == 0
        assert done.stdout == (
            "I can't answer that: out of reach: questions in German are not supported (English only).\n"
        )
        trace = json.loads(filled("ask", "--json", "--min-chance", "0", question).stdout)
        assert (trace["answer"]["text"], trace["answer"]["chance"], trace["candidates"]) == (None, 0.0, [])
        assert trace["answer"]["reason"].startswith("out of reach: questions in German")
        assert "out of reach" in filled("ask", "--why", question).stdout.splitlines()[-1]
        tried = filled("ask", "--json", "--set", "judge.english_only=false", question)
        assert json.loads(tried.stdout)["answer"]["reason"] == ""

    def test_another_source_that_says_otherwise_is_told(self, filled: Run, tmp_path: Path) -> None:
        for version, name in (("1.0", "Marta"), ("2.0", "Ines")):
            text = f"# Pump manual {version}\n\nThe pump in the cellar was last painted by {name}, who has the key.\n"
            (tmp_path / f"pump-{version}.md").write_text(text)
        filled("ingest", *(str(file) for file in sorted(tmp_path.glob("pump-*.md"))))
        lines = filled("ask", "--min-chance", "0.1", "Who painted the pump?").stdout.splitlines()
        assert lines[0] == "Ines"
        assert lines[-1].startswith("another source says Marta: Pump manual 1.0 (pump-1.0.md), an older version, 20")

    def test_words_of_a_question_need_no_quotes(self, filled: Run) -> None:
        assert "Marta" in filled("ask", "who", "serviced", "the", "boiler").stdout


class TestSearch:
    def test_lines_are_plain_and_tab_separated(self, filled: Run) -> None:
        (line,) = filled("search", "roses").stdout.splitlines()
        score, passage, title, text, place = line.split("\t")
        assert 0 < float(score) < 1  # the chance that the passage answers
        assert (passage, title) == ("garden.txt#0", "The garden")
        assert place == ""
        assert text.startswith("The garden Roses grow")

    def test_k_limits_the_hits(self, filled: Run) -> None:
        trace = json.loads(filled("search", "--json", "-k", "1", "the boiler in the garden").stdout)
        assert len(trace["hits"]) == 1
        assert trace["answer"] is None

    def test_nothing_found_is_no_error(self, filled: Run) -> None:
        done = filled("search", "quokka")
        assert (done.returncode, done.stdout) == (0, "")
        assert "Nothing found" in done.stderr


class TestListShowRemove:
    def test_list_as_lines_and_as_an_array(self, filled: Run) -> None:
        assert [line.split("\t")[:2] for line in filled("list").stdout.splitlines()] == [
            ["boiler.md", "The boiler"],
            ["garden.txt", "The garden"],
        ]
        documents = json.loads(filled("list", "--json").stdout)
        assert [document["id"] for document in documents] == ["boiler.md", "garden.txt"]
        assert documents[0]["passages"] == 1
        assert documents[0]["source"].endswith("boiler.md")

    def test_show_a_document_or_a_passage(self, filled: Run) -> None:
        assert "serviced by Marta" in filled("show", "boiler.md").stdout
        passage = json.loads(filled("show", "--json", "boiler.md#0").stdout)
        document = json.loads(filled("show", "--json", "boiler.md").stdout)
        assert document["text"][passage["start"] : passage["end"]] == passage["text"]
        assert "characters 0 to 52" in filled("show", "--passages", "boiler.md").stdout

    def test_what_is_not_there_is_named(self, filled: Run) -> None:
        for arguments in (("show", "nothing.md"), ("show", "boiler.md#7"), ("remove", "nothing.md")):
            done = filled(*arguments)
            assert done.returncode == 5
            assert arguments[1] in done.stderr
            assert "Traceback" not in done.stderr

    def test_remove_takes_what_is_there_and_names_what_is_not(self, filled: Run) -> None:
        done = filled("remove", "boiler.md", "nothing.md")
        assert done.returncode == 5
        assert done.stdout == "removed boiler.md\n"
        assert "nothing.md" in done.stderr
        assert [line.split("\t")[0] for line in filled("list").stdout.splitlines()] == ["garden.txt"]


class TestIngest:
    def test_ends_with_a_summary(self, run: Run, notes: Path) -> None:
        done = run("ingest", str(notes))
        assert "2 added, 0 replaced, 0 unchanged" in done.stdout
        assert "The library now holds 2 documents in 2 passages." in done.stdout

    def test_names_what_it_could_not_read_and_returns_1(self, run: Run, notes: Path) -> None:
        (notes / "broken.docx").write_bytes(b"not a zip")
        (notes / "empty.txt").write_bytes(b"")
        done = run("ingest", str(notes), str(notes / "missing.md"))
        assert done.returncode == 1
        for name in ("broken.docx", "empty.txt: it is empty", "missing.md: it is not there"):
            assert name in done.stderr
        assert "2 added, 0 replaced, 0 unchanged, 3 not read" in done.stdout
        report = json.loads(run("ingest", "--json", str(notes)).stdout)
        assert len(report["failures"]) == 2

    def test_a_document_in_another_language_is_taken_with_a_warning(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "kessel.txt").write_text(
            "Der Kessel wurde im Mai von Marta gewartet. Er steht im Keller neben der Treppe, und der Schlüssel liegt "
            "auf dem Regal. Wenn das Wasser nicht warm wird, muss man ihn neu starten."
        )
        done = run("ingest", str(tmp_path / "kessel.txt"))
        assert done.returncode == 0
        assert "kessel.txt: it seems to be in German, which cannot be asked about (English only)" in done.stderr
        assert "1 added" in done.stdout
        (tmp_path / "kessel.txt").write_text(
            "Der Kessel ist neu und er steht nicht mehr im Keller, wie man mit Blick "
            "auf den Plan sieht, sondern auf dem Dach, und das Wasser wird nun auch im Winter sehr warm."
        )
        quiet = run("ingest", "--set", "ingest.warn_language=false", str(tmp_path / "kessel.txt"))
        assert "German" not in quiet.stderr

    def test_a_file_that_is_too_large_is_named_with_the_setting(self, run: Run, notes: Path) -> None:
        (notes / "large.txt").write_text("word " * 50_000)
        done = run("ingest", str(notes), "--set", "ingest.max_megabytes=0.1")
        assert done.returncode == 1
        assert "large.txt" in done.stderr
        assert "ingest.max_megabytes" in done.stderr

    def test_interrupted_it_keeps_what_was_acknowledged_and_goes_on_later(
        self, run: Run, tmp_path: Path, notes: Path
    ) -> None:
        file = tmp_path / "many.jsonl"
        file.write_text("".join(json.dumps({"id": f"d{n}", "text": f"Bird {n}. " * 300}) + "\n" for n in range(2000)))
        library = tmp_path / "interrupted"
        arguments = ["ingest", "--library", str(library), "--set", "ingest.batch_passages=50", str(file)]
        with subprocess.Popen(
            [sys.executable, "-m", "wherefrom", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and child.poll() is None:
                if (library / "library.toml").exists() and len(run("list", "--library", str(library)).stdout) > 100:
                    break
            child.send_signal(signal.SIGINT)
            _, output = child.communicate(timeout=30)
        assert child.returncode == 130, output
        assert "interrupted" in output
        assert "Traceback" not in output
        kept = len(run("list", "--library", str(library)).stdout.splitlines())
        assert 0 < kept < 2000
        report = json.loads(run("ingest", "--json", "--library", str(library), str(file)).stdout)
        assert report["unchanged"] == kept
        assert report["documents"] == 2000


class TestLibraryErrors:
    def test_a_missing_library_returns_3(self, run: Run) -> None:
        done = run("ask", "anything")
        assert done.returncode == 3
        assert "there is no library at" in done.stderr
        assert "wherefrom ingest" in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_foreign_folder_returns_3(self, run: Run, notes: Path) -> None:
        assert run("ingest", str(notes), "--library", str(notes)).returncode == 3

    def test_the_option_may_stand_before_or_after_the_command(self, filled: Run, tmp_path: Path, notes: Path) -> None:
        other = str(tmp_path / "other")
        assert filled("--library", other, "ingest", str(notes / "garden.txt")).returncode == 0
        assert len(filled("list", "--library", other).stdout.splitlines()) == 1
        assert len(filled("list").stdout.splitlines()) == 2

    def test_check_repairs_and_says_so(self, filled: Run, tmp_path: Path) -> None:
        for file in (tmp_path / "library" / "index" / "bm25").iterdir():
            file.unlink()
        looked = filled("check", "--no-repair")
        assert looked.returncode == 1
        assert "wrong" in looked.stdout
        assert filled("ask", "roses?").returncode == 3
        mended = filled("check")
        assert mended.returncode == 0
        assert "repaired" in mended.stdout
        assert filled("check").stdout == "The library is sound: 2 documents in 2 passages.\n"
        assert json.loads(filled("check", "--json").stdout)["sound"] is True


class TestConfig:
    def test_prints_toml_that_can_be_read_back(self, run: Run, tmp_path: Path) -> None:
        toml = tmp_path / "settings.toml"
        toml.write_text(run("config", "--set", "split.words=70").stdout)
        assert run("config", "--settings", str(toml), "split.words").stdout == "70\n"
        assert json.loads(run("config", "--json", "--settings", str(toml)).stdout)["split"]["words"] == 70

    def test_mistakes_return_2_and_suggest(self, run: Run) -> None:
        for arguments in (("config", "--set", "split.wrds=1"), ("config", "split.wrds")):
            done = run(*arguments)
            assert done.returncode == 2
            assert "did you mean split.words?" in done.stderr

    def test_shows_what_the_library_was_made_with(self, run: Run, notes: Path) -> None:
        run("ingest", str(notes), "--set", "split.words=60")
        assert run("config", "split.words").stdout == "60\n"


def test_unknown_commands_and_options_return_2(run: Run) -> None:
    done = run("serach", "x")
    assert done.returncode == 2
    assert "did you mean search?" in done.stderr
    assert run("search", "--nope", "x").returncode == 2
    assert run().returncode == 2


def test_version(run: Run) -> None:
    import wherefrom

    assert run("--version").stdout == f"wherefrom, version {wherefrom.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(run: Run, shell: str) -> None:
    assert "_WHEREFROM_COMPLETE" in run("completion", shell).stdout


def test_document_ids_are_completed(filled: Run) -> None:
    done = filled(_WHEREFROM_COMPLETE="bash_complete", COMP_WORDS="wherefrom show bo", COMP_CWORD="2")
    assert done.stdout.split(",") == ["plain", "boiler.md\n"]


def test_people_get_colours_and_tables(filled: Run, tmp_path: Path) -> None:
    """Under a terminal the same commands print escapes and headings."""

    def under_terminal(*arguments: str) -> str:
        main, terminal = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "wherefrom", *arguments],
            stdout=terminal,
            stderr=terminal,
            env={**os.environ, "WHEREFROM_LIBRARY": str(tmp_path / "library"), "TERM": "xterm", "COLUMNS": "100"},
        ):
            os.close(terminal)
            output = b""
            while True:
                try:
                    piece = os.read(main, 4096)
                except OSError:
                    break
                if not piece:
                    break
                output += piece
        os.close(main)
        return output.decode()

    assert "\x1b[" in under_terminal("ask", "Who serviced the boiler?")
    assert "passages" in under_terminal("list")
    assert "2 documents" in under_terminal("list")


def test_a_closed_pipe_is_met_without_a_word(filled: Run, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "wherefrom", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "WHEREFROM_LIBRARY": str(tmp_path / "library")},
    ) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.stderr is not None
        output = child.stderr.read()
        child.wait(30)
    assert output == b""
