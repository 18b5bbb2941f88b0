"""The library folder: incremental, one writer and many readers, refusals in words, check and repair."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import (
    LibraryBusy,
    LibraryDamaged,
    LibraryError,
    LibraryForeign,
    LibraryMissing,
    LibraryTooNew,
    NotFound,
    PruneRefused,
    SettingsError,
)
from wherefrom.ingest.prune import Pruning
from wherefrom.store import schema
from wherefrom.types import Document, joined


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "boiler.md").write_text("# The boiler\n\nThe boiler was serviced by Marta in May.\n")
    (folder / "garden.txt").write_text("The garden\n\nRoses grow behind the shed.\n")
    return folder


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library")


def ids(library: Library) -> list[str]:
    return [document.id for document in library.documents()]


def ids_found(library: Library, text: str) -> list[str]:
    return [hit.passage.document_id for hit in library.search(text).hits]


class TestIngest:
    """Incremental ingest through the front door."""

    def test_answers_from_what_was_ingested_with_the_place_of_every_word(self, library: Library, notes: Path) -> None:
        library.ingest([notes])
        answer = library.ask("Who serviced the boiler?").answer
        assert answer is not None
        assert answer.text == "Marta"
        assert joined(answer.words) == answer.text
        document = library.document("boiler.md")
        (passage,) = answer.evidence
        for word in answer.words:
            assert word.start is not None
            assert word.end is not None
            assert document.text[passage.start + word.start : passage.start + word.end] == word.text

    def test_declines_when_nothing_fits(self, library: Library, notes: Path) -> None:
        library.ingest([notes])
        answer = library.ask("What is the capital of Mongolia?").answer
        assert answer is not None
        assert answer.text is None
        assert answer.declined
        assert answer.words == ()

    def test_unchanged_files_are_skipped_and_changed_ones_replaced(self, library: Library, notes: Path) -> None:
        first = library.ingest([notes])
        assert (first.added, first.replaced, first.unchanged) == (2, 0, 0)
        (notes / "garden.txt").write_text("The garden\n\nTulips grow behind the shed.\n")
        (notes / "new.txt").write_text("Something new about quokkas.\n")
        second = library.ingest([notes])
        assert (second.added, second.replaced, second.unchanged) == (1, 1, 1)
        assert ids_found(library, "tulips") == ["garden.txt"]
        assert ids_found(library, "roses") == []
        assert ids_found(library, "quokkas") == ["new.txt"]

    def test_a_failed_reading_leaves_the_old_version(self, library: Library, notes: Path) -> None:
        library.ingest([notes])
        (notes / "garden.txt").write_bytes(b"")
        report = library.ingest([notes])
        assert [(Path(failure.name).name, failure.reason) for failure in report.failures] == [
            ("garden.txt", "it is empty")
        ]
        assert ids_found(library, "roses") == ["garden.txt"]

    def test_one_bad_file_does_not_stop_the_others(self, library: Library, notes: Path) -> None:
        (notes / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing of use")
        (notes / "picture.gif").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
        report = library.ingest([notes, notes / "missing.txt"])
        assert report.added == 2
        assert sorted(Path(failure.name).name for failure in report.failures) == ["broken.pdf", "missing.txt"]
        assert [Path(name).name for name in report.ignored] == ["picture.gif"]

    def test_removed_documents_disappear_everywhere_and_come_back_when_ingested(
        self, library: Library, notes: Path
    ) -> None:
        library.ingest([notes])
        assert library.remove(["garden.txt", "nothing"]) == ["garden.txt"]
        assert ids(library) == ["boiler.md"]
        assert ids_found(library, "roses") == []
        with pytest.raises(NotFound, match=r"garden\.txt"):
            library.document("garden.txt")
        assert library.check(repair=False).problems == ()
        assert library.ingest([notes]).added == 1

    def test_records_of_a_jsonl_file_are_documents_of_their_own(self, library: Library, tmp_path: Path) -> None:
        file = tmp_path / "facts.jsonl"
        rows = [
            {"id": "a", "title": "A", "text": "Alpha bird."},
            {"id": "b", "text": "Beta bird."},
            {"text": "Gamma bird."},
        ]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        library.ingest([file])
        assert ids(library) == ["a", "b", "facts.jsonl:3"]
        rows[1]["text"] = "Delta bird."
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        report = library.ingest([file])
        assert (report.added, report.replaced, report.unchanged) == (0, 1, 2)
        assert ids_found(library, "delta") == ["b"]

    def test_a_bad_record_is_named_by_line_and_the_rest_is_kept(self, library: Library, tmp_path: Path) -> None:
        file = tmp_path / "facts.jsonl"
        file.write_text(
            '{"id": "a", "text": "Alpha."}\n{"id": "b"}\n{"id": "a", "text": "Again."}\n{"id": "c", "text": "C."}\n'
        )
        report = library.ingest([file])
        assert ids(library) == ["a", "c"]
        assert len(report.failures) == 2
        assert "facts.jsonl:2" in report.failures[0].name
        assert "the id 'a' was used before in the same file" in report.failures[1].reason

    def test_equal_names_in_two_folders_are_two_documents(self, library: Library, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "readme.txt").write_text(f"This is folder {name}.")
            library.ingest([tmp_path / name])
        assert ids(library) == ["readme.txt", "readme.txt~2"]
        (tmp_path / "two" / "readme.txt").write_text("This is folder two, again.")
        assert library.ingest([tmp_path / "two"]).replaced == 1
        assert library.document("readme.txt~2").text == "This is folder two, again."

    def test_an_id_taken_over_from_another_file_is_told(self, library: Library, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": "a", "text": f"From {name}."}) + "\n")
            report = library.ingest([tmp_path / f"{name}.jsonl"])
        assert report.taken_over == ("a",)
        assert library.document("a").text == "From two."

    def test_prune_removes_what_has_gone_from_the_folder_and_nothing_else(
        self, library: Library, notes: Path, tmp_path: Path
    ) -> None:
        other = tmp_path / "other.txt"
        other.write_text("Elsewhere.")
        rows = notes / "rows.jsonl"
        rows.write_text('{"id": "r1", "text": "One."}\n{"id": "r2", "text": "Two."}\n')
        library.ingest([notes, other])
        (notes / "garden.txt").unlink()
        other.unlink()
        rows.write_text('{"id": "r2", "text": "Two."}\n')
        report = library.ingest([notes], prune=True)
        assert report.removed == ("garden.txt", "r1")
        assert ids(library) == ["boiler.md", "other.txt", "r2"]

    @pytest.mark.parametrize("what", ["folder gone", "emptied", "most gone", "folder in its place", "file emptied"])
    def test_prune_of_what_is_not_mounted_removes_nothing(
        self, library: Library, notes: Path, tmp_path: Path, what: str
    ) -> None:
        rows = [{"id": f"r{number}", "text": f"Row {number}."} for number in range(9)]
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (notes / "shed.txt").write_text("The shed\n\nIt is green.\n")
        library.ingest([notes, tmp_path / "rows.jsonl"])
        before = ids(library)
        if what == "folder gone":
            shutil.rmtree(notes)
        elif what == "emptied":
            shutil.rmtree(notes)
            notes.mkdir()
        elif what == "most gone":
            (notes / "boiler.md").unlink()
            (notes / "garden.txt").unlink()
        elif what == "folder in its place":
            for file in notes.iterdir():
                file.unlink()
            (notes / "README").write_text("Mount the disk here.\n")
        else:
            (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0]) + "\n")
        with pytest.raises(PruneRefused, match=r"would remove \d of the (3|9) documents .* add --force"):
            library.ingest([notes, tmp_path / "rows.jsonl"], prune=True)
        assert set(ids(library)) >= set(before)
        report = library.ingest([notes, tmp_path / "rows.jsonl"], prune=True, force=True)
        assert len(report.removed) == {"most gone": 2, "file emptied": 8}.get(what, 3)

    def test_records_that_went_before_can_be_pruned_later(self, library: Library, tmp_path: Path) -> None:
        rows = tmp_path / "rows.jsonl"
        rows.write_text('{"id": "r1", "text": "One."}\n{"id": "r2", "text": "Two."}\n')
        library.ingest([rows])
        rows.write_text('{"id": "r2", "text": "Two."}\n')
        assert library.ingest([rows]).removed == ()
        assert library.ingest([rows], prune=True).removed == ("r1",)

    def test_what_cannot_be_seen_is_not_taken_for_gone(
        self, library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        library.ingest([notes])
        stat = Path.stat

        def hidden(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
            if self.name == "garden.txt":
                raise PermissionError(13, "Permission denied", str(self))
            return stat(self, follow_symlinks=follow_symlinks)

        monkeypatch.setattr("wherefrom.ingest.prune.Path.stat", hidden)
        assert Pruning(library._folder().store, [notes], force=False).gone(lambda _: False) == []

    def test_a_library_inside_the_folder_is_not_read(self, notes: Path) -> None:
        inside = Library(notes / "library")
        inside.ingest([notes])
        report = inside.ingest([notes])
        assert ids(inside) == ["boiler.md", "garden.txt"]
        assert report.unchanged == 2

    def test_small_batches_give_the_same_library(self, tmp_path: Path) -> None:
        file = tmp_path / "many.jsonl"
        file.write_text(
            "".join(json.dumps({"id": f"d{n}", "text": f"Bird number {n}. " * 30}) + "\n" for n in range(50))
        )
        whole, pieces = (
            Library(tmp_path / "whole"),
            Library(tmp_path / "pieces", resolve(overrides=["ingest.batch_passages=1"])),
        )
        whole.ingest([file])
        pieces.ingest([file])
        assert whole.documents() == pieces.documents()
        assert ids_found(whole, "bird number 7")[:1] == ids_found(pieces, "bird number 7")[:1] == ["d7"]


class TestOpening:
    """What is refused, and how."""

    def test_a_missing_library_says_how_to_make_one(self, library: Library) -> None:
        with pytest.raises(LibraryMissing, match="wherefrom ingest"):
            library.ask("anything")
        assert not library.path.exists()

    def test_a_foreign_folder_is_left_alone(self, tmp_path: Path, notes: Path) -> None:
        with pytest.raises(LibraryForeign, match="not a library"):
            Library(notes).ingest([notes])
        with pytest.raises(LibraryForeign, match="is a file"):
            Library(notes / "boiler.md").documents()
        assert sorted(path.name for path in notes.iterdir()) == ["boiler.md", "garden.txt"]

    @pytest.mark.parametrize("where", ["toml", "database"])
    def test_a_newer_library_is_refused(self, library: Library, notes: Path, where: str) -> None:
        library.ingest([notes])
        library.close()
        if where == "toml":
            path = library.path / "library.toml"
            path.write_text(path.read_text().replace(f"format = {schema.FORMAT}", "format = 99"))
        else:
            with sqlite3.connect(library.path / "documents.sqlite") as connection:
                connection.execute("PRAGMA user_version = 99")
        with pytest.raises(LibraryTooNew, match="format 99"):
            Library(library.path).ask("anything")

    def test_a_lost_database_is_told(self, library: Library, notes: Path) -> None:
        library.ingest([notes])
        library.close()
        (library.path / "documents.sqlite").unlink()
        with pytest.raises(LibraryDamaged, match="backup"):
            Library(library.path).documents()

    def test_a_garbled_database_is_told(self, library: Library, notes: Path) -> None:
        library.ingest([notes])
        library.close()
        (library.path / "documents.sqlite").write_bytes(b"garbage" * 1000)
        with pytest.raises(LibraryDamaged, match="cannot be read as a database"):
            Library(library.path).documents()

    def test_settings_that_are_lost_are_told_and_none_are_invented(self, library: Library, notes: Path) -> None:
        library.ingest([notes])
        library.close()
        with sqlite3.connect(library.path / "documents.sqlite") as connection:
            connection.execute("DELETE FROM meta WHERE name = 'settings'")
        for action in (Library.check, Library.documents):
            with pytest.raises(LibraryDamaged, match="has lost the settings it was made with; `wherefrom rescue"):
                action(Library(library.path))

    @pytest.mark.parametrize("number", ["9" * 20, "9" * 5000, "-1", "\u00b2", ""])
    def test_a_passage_whose_number_is_none_is_not_there(self, library: Library, notes: Path, number: str) -> None:
        library.ingest([notes])
        with pytest.raises(NotFound, match="there is no passage"):
            library.passage(f"boiler.md#{number}")

    def test_settings_that_shaped_the_passages_are_kept_and_cannot_change(self, tmp_path: Path, notes: Path) -> None:
        path = tmp_path / "library"
        Library(path, resolve(overrides=["split.words=50"])).ingest([notes])
        assert Library(path).settings().split.words == 50
        with pytest.raises(SettingsError, match=r"was made with split.words = 50.* to have 70, make a new library"):
            Library(path, resolve(overrides=["split.words=70"])).documents()
        saved = tomllib.loads((path / "library.toml").read_text())
        assert saved["settings"]["split"]["words"] == 50
        assert (saved["format"], saved["documents"]) == (schema.FORMAT, 2)

    def test_a_library_whose_making_was_cut_off_is_made_anew(self, library: Library, notes: Path) -> None:
        (library.path / "index" / "bm25").mkdir(parents=True)
        with pytest.raises(LibraryMissing):
            library.documents()
        assert library.ingest([notes]).added == 2

    def test_a_place_where_no_folder_can_be_is_named(self, notes: Path) -> None:
        with pytest.raises(LibraryError, match="cannot be opened"):
            Library(notes / "boiler.md" / "library").ingest([notes])

    def test_an_empty_library_knows_nothing(self, library: Library, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        library.ingest([tmp_path / "empty"])
        answer = library.ask("What is here?").answer
        assert answer is not None
        assert answer.declined
        assert library.documents() == []


class TestTogether:
    """One writer, many readers."""

    def test_a_second_writer_is_told_who_writes(self, library: Library, notes: Path) -> None:
        library.ingest([notes])
        code = (
            "import sys\nfrom wherefrom import Library\nlibrary = Library(sys.argv[1])\n"
            "with library._folder().writing():\n    print('ready', flush=True)\n    sys.stdin.readline()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(library.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout is not None
            assert other.stdin is not None
            assert other.stdout.readline() == "ready\n"
            with pytest.raises(LibraryBusy, match=f"process {other.pid}"):
                library.remove(["boiler.md"])
            assert ids_found(library, "boiler") == ["boiler.md"], "reading goes on while another process writes"
            other.stdin.write("\n")
            other.stdin.close()
        assert library.remove(["boiler.md"]) == ["boiler.md"]

    def test_a_reader_sees_what_another_process_has_added(self, library: Library, notes: Path, tmp_path: Path) -> None:
        library.ingest([notes])
        assert ids_found(library, "quokka") == []
        (notes / "quokka.txt").write_text("The quokka smiles.")
        subprocess.run(
            [sys.executable, "-m", "wherefrom", "ingest", "-q", "--library", str(library.path), str(notes)], check=True
        )
        assert ids_found(library, "quokka") == ["quokka.txt"]


class TestCheck:
    """Verify and repair."""

    @pytest.fixture
    def filled(self, library: Library, notes: Path) -> Library:
        library.ingest([notes])
        library.close()
        return library

    def test_a_sound_library_has_no_problems(self, filled: Library) -> None:
        assert filled.check().problems == ()

    @pytest.mark.parametrize(
        "damage",
        [
            "UPDATE index_file SET file = char(0) || file",
            "UPDATE document SET passages = 'many', live = 0",
            "UPDATE meta SET value = '\"much\"' WHERE name = 'changes'",
        ],
    )
    def test_rows_that_nobody_can_work_with_are_said_to_be_damaged(self, filled: Library, damage: str) -> None:
        with sqlite3.connect(filled.path / "documents.sqlite") as connection:
            connection.execute(damage)
        connection.close()
        for write in (lambda: filled.remove(["garden.txt"]), lambda: filled.build_index("bm25")):
            with pytest.raises(LibraryDamaged, match=r"`wherefrom (rescue|check)"):
                write()

    def test_what_is_wrong_with_a_call_is_no_damage(self, filled: Library) -> None:
        def report(*_: int) -> None:
            raise ValueError("of the caller")

        with pytest.raises(ValueError, match="of the caller"):
            filled.build_index("bm25", report)
        assert filled.check().sound

    @pytest.mark.parametrize("damage", ["gone", "emptied", "torn", "garbled"])
    def test_a_broken_index_is_built_anew(self, filled: Library, damage: str) -> None:
        index = filled.path / "index" / "bm25"
        if damage == "gone":
            shutil.rmtree(index)
        elif damage == "emptied":
            shutil.rmtree(index)
            filled._folder().indexes["bm25"].create()
            filled.close()
        else:
            for file in index.iterdir():
                if file.suffix in (".idx", ".term", ".fast", ".json", ".store"):
                    data = file.read_bytes()
                    file.write_bytes(data[: len(data) // 2] if damage == "torn" else bytes(len(data)))
        looked = filled.check(repair=False)
        assert not looked.sound
        assert any("index 'bm25'" in problem.what for problem in looked.problems)
        assert filled.check().sound
        assert filled.check().problems == ()
        assert ids_found(filled, "roses") == ["garden.txt"]

    def test_what_tantivy_panics_of_is_said_in_words_alone(
        self, filled: Library, capfd: pytest.CaptureFixture[str]
    ) -> None:
        for file in sorted((filled.path / "index" / "bm25").glob("*.fast")):
            whole = file.read_bytes()
            for at in range(0, len(whole), 2):
                file.unlink()  # not in place: it may still be mapped
                file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
                with suppress(LibraryDamaged), Library(filled.path) as library:
                    library.search("boiler")
            file.unlink()
            file.write_bytes(whole)
        assert "panicked" not in capfd.readouterr().err

    def test_passages_that_do_not_fit_are_cut_again(self, filled: Library) -> None:
        with sqlite3.connect(filled.path / "documents.sqlite") as connection:
            connection.execute("UPDATE passage SET end = end - 3")
        connection.close()
        result = filled.check()
        assert result.sound
        assert len(result.problems) >= 2
        assert filled.check().problems == ()

    def test_a_text_that_changed_by_itself_stays_wrong_until_its_file_is_ingested(
        self, filled: Library, notes: Path
    ) -> None:
        with sqlite3.connect(filled.path / "documents.sqlite") as connection:
            connection.execute("UPDATE document SET text = replace(text, 'Roses', 'Noses')")
        connection.close()
        result = filled.check()
        assert not result.sound
        assert [problem.what for problem in result.problems] == [
            f"document 'garden.txt': its text is not the one that was written; ingest its file again "
            f"({notes / 'garden.txt'}), or `wherefrom remove` it"
        ]

        assert filled.ingest([notes]).replaced == 1
        assert filled.check().problems == ()
        assert ids_found(filled, "roses") == ["garden.txt"]

    @pytest.mark.parametrize(
        "damage",
        [
            "UPDATE document SET text = replace(text, 'Roses', 'Noses')",
            "UPDATE document SET title = title || '!'",
            "UPDATE passage SET start = start + 1",
            "UPDATE passage SET section = 'elsewhere'",
            "DELETE FROM passage",
            "UPDATE document SET first = 77 WHERE id = 'garden.txt'",
            "DELETE FROM checksum",
        ],
    )
    def test_a_damaged_document_counts_as_changed(self, filled: Library, notes: Path, damage: str) -> None:
        """Without a check before: its file has the same bytes as ever."""
        with sqlite3.connect(filled.path / "documents.sqlite") as connection:
            connection.execute(damage)
        connection.close()
        assert filled.ingest([notes]).replaced in (1, 2)
        assert filled.check().sound
        assert filled.check().problems == ()
        assert ids_found(filled, "roses") == ["garden.txt"]

    @pytest.mark.parametrize("damage", ["gone", "cut", "a page", "its end", "its head", "zeros"])
    def test_changes_that_a_damaged_log_lost_are_told(self, filled: Library, notes: Path, damage: str) -> None:
        """The log of a writer that was killed is all that has the last changes."""
        code = (
            "import os, sys\nfrom wherefrom import Library\nfrom wherefrom.types import Document\n"
            "library = Library(sys.argv[1])\n"
            "library.put([Document(f'late{n}', 'A late text. ' * 90) for n in range(9)])\n"
            "library.remove(['late1'])\nlibrary.put([Document('last', 'The last text.')])\nos._exit(0)\n"
        )
        subprocess.run([sys.executable, "-c", code, str(filled.path)], check=True, timeout=60)
        log = filled.path / "documents.sqlite-wal"
        data = bytearray(log.read_bytes())
        at = {"a page": len(data) // 2, "its end": len(data) - 100, "its head": 17}.get(damage, 0)
        data[at] ^= 1
        if damage in ("gone", "cut"):
            data = data[: len(data) // 3] if damage == "cut" else bytearray()
        elif damage == "zeros":
            data[:4096] = bytes(4096)
        log.write_bytes(data)
        whole = shutil.copytree(filled.path, filled.path.with_name("copy"))
        looked = filled.check(repair=False)
        assert any("the last changes are lost" in problem.what for problem in looked.problems)
        filled.close()
        notes_of_rescue = Library(whole).rescue(whole.with_name("new")).notes
        assert any("ingest again what was changed last" in note for note in notes_of_rescue)
        assert not Library(whole).check().sound
        with Library(whole) as library:
            library.ingest([notes])
            assert library.check().problems == ()

    def test_library_toml_is_written_again(self, filled: Library) -> None:
        (filled.path / "library.toml").write_text("documents = 77\n")
        assert [problem.repaired for problem in filled.check().problems] == [True]
        assert tomllib.loads((filled.path / "library.toml").read_text())["documents"] == 2

    def test_looking_only_changes_nothing(self, filled: Library) -> None:
        (filled.path / "library.toml").unlink()
        assert [problem.repaired for problem in filled.check(repair=False).problems] == [False]
        assert not (filled.path / "library.toml").exists()


def test_documents_can_be_put_without_files(library: Library) -> None:
    library.put([Document("memo", "The key is under the mat.", "Memo")])
    answer = library.ask("Where is the key?").answer
    assert answer is not None
    assert answer.text == "under the mat"
    assert library.passages_of("memo")[0].text == "The key is under the mat."
    assert library.passage("memo#0").title == "Memo"


def test_a_passage_is_found_by_the_heading_it_stands_under(tmp_path: Path) -> None:
    filler = " ".join(f"Sentence number {number} speaks of ordinary matters." for number in range(40))
    text = f"# Manual\n\n{filler}\n\n## Frobnication\n\n{filler}\n\nTurn the red wheel twice and wait."
    (tmp_path / "manual.md").write_text(text)
    library = Library(tmp_path / "library")
    library.ingest([tmp_path / "manual.md"])
    hits = library.search("frobnication", k=10).hits
    last = next(hit.passage for hit in hits if "red wheel" in hit.passage.text)
    assert last.section == "Frobnication"
    assert "Frobnication" not in last.text
    assert library.passage(last.id).section == "Frobnication"
