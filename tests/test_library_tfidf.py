"""A library with a second index: built when asked for, kept up to date by every writer, checked and repaired."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.stages import RetrieverContract
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import LibraryBusy, LibraryDamaged, LibraryError, SettingsError
from wherefrom.stages import Retriever
from wherefrom.types import Document, Question

TFIDF = ["retrieve.kind=tfidf", "rank.kind=none"]
DOCUMENTS = [
    Document("harbour", "The harbour has a lighthouse of granite.", "Harbour"),
    Document("garden", "Roses grow in the garden behind the harbour.", "Garden"),
    Document("twin-b", "The same sentence about zebras.", ""),
    Document("twin-a", "The same sentence about zebras.", ""),
]


def tfidf(path: Path, *overrides: str) -> Library:
    return Library(path, resolve(overrides=[*TFIDF, *overrides]))


def ids_found(library: Library, text: str) -> list[str]:
    return [hit.passage.document_id for hit in library.search(text).hits]


class TestContract(RetrieverContract):
    """The retriever over the TF-IDF index is a Retriever."""

    @pytest.fixture
    def retriever(self, tmp_path: Path) -> Retriever:
        library = tfidf(tmp_path / "library")
        library.put(DOCUMENTS)
        return library.pipeline().retriever

    @pytest.fixture
    def questions(self) -> list[Question]:
        texts = ["Where is the lighthouse?", "zebras", "roses OR (garden", "", "quokka"]
        return [Question(str(number), text) for number, text in enumerate(texts)]


@pytest.fixture
def plain(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library")
    library.put(DOCUMENTS)
    return library


def test_a_library_without_the_index_says_how_to_build_it(plain: Library) -> None:
    with pytest.raises(LibraryError, match=r"has no tfidf index; `wherefrom index tfidf --library .*` builds it"):
        tfidf(plain.path).search("zebras")


def test_a_library_made_for_it_has_both_indexes(tmp_path: Path) -> None:
    tfidf(tmp_path / "library").put(DOCUMENTS)
    assert ids_found(tfidf(tmp_path / "library"), "granite") == ["harbour"]
    assert ids_found(Library(tmp_path / "library"), "granite") == ["harbour"]


def test_once_built_it_follows_every_change_whoever_makes_it(plain: Library) -> None:
    asking = tfidf(plain.path)
    reported: list[tuple[int, int]] = []
    assert tfidf(plain.path).build_index("tfidf", lambda *done: reported.append(done)) == 4
    assert reported[-1] == (4, 4)
    assert ids_found(asking, "granite") == ["harbour"]
    plain.put([Document("harbour", "The harbour has a lighthouse of basalt.", "Harbour")])  # opened before it was built
    plain.put([Document("quokka", "The quokka smiles.", "")])
    plain.remove(["garden"])
    assert ids_found(asking, "granite") == []
    assert ids_found(asking, "basalt") == ["harbour"]
    assert ids_found(asking, "quokka") == ["quokka"]
    assert ids_found(asking, "roses") == []
    assert asking.check(repair=False).problems == ()


def test_a_lost_or_broken_index_is_repaired_and_the_other_left_alone(plain: Library) -> None:
    plain.build_index("tfidf")
    plain.close()
    next((plain.path / "index" / "tfidf").glob("segment-*/keys.bin")).write_bytes(b"")
    library = tfidf(plain.path)
    looked = library.check(repair=False)
    assert ["index 'tfidf'" in problem.what for problem in looked.problems] == [True]
    assert library.check().sound
    assert library.check().problems == ()
    assert ids_found(library, "zebras") == ["twin-a", "twin-b"]


def test_repairing_one_index_does_not_leave_removed_passages_in_the_other(plain: Library) -> None:
    plain.build_index("tfidf")
    shutil.rmtree(plain.path / "index" / "bm25")
    with pytest.raises(LibraryDamaged, match="wherefrom check"):
        plain.remove(["garden"])
    plain._folder().store.remove(["garden"])  # as if killed here: let go, one index broken, the other not told yet
    library = tfidf(plain.path)
    assert library.check().sound
    assert library.check().problems == ()
    assert ids_found(library, "roses") == []


def test_an_index_whose_folder_was_deleted_is_no_longer_kept(plain: Library) -> None:
    plain.build_index("tfidf")
    shutil.rmtree(plain.path / "index" / "tfidf")
    plain.put([Document("quokka", "The quokka smiles.", "")])
    assert plain.check().problems == ()
    with pytest.raises(LibraryError, match="has no tfidf index"):
        tfidf(plain.path).search("quokka")


def test_building_is_writing(plain: Library) -> None:
    with plain._folder().writing(), pytest.raises(LibraryBusy):
        tfidf(plain.path).build_index("tfidf")


def test_an_index_nobody_knows_is_refused(plain: Library) -> None:
    with pytest.raises(SettingsError, match="there is no dense2 index; there are bm25, dense, qdrant, tfidf"):
        plain.build_index("dense2")


def test_dot_and_cosine_are_settings(tmp_path: Path) -> None:
    library = tfidf(tmp_path / "library")
    library.put(
        [
            Document("short", "Zebra.", ""),
            Document("long", "Zebra zebra zebra, and then lions, tigers, apes, bears, wolves, owls and much more.", ""),
            Document("other", "Nothing to see.", ""),
        ]
    )
    assert ids_found(library, "zebra") == ["short", "long"]
    assert ids_found(tfidf(library.path, "retrieve.similarity=dot"), "zebra") == ["long", "short"]


def test_its_size_is_fixed_with_the_library(tmp_path: Path) -> None:
    tfidf(tmp_path / "library", "index.ngrams=3", "index.buckets=4096").put(DOCUMENTS)
    manifest = json.loads((tmp_path / "library" / "index" / "tfidf" / "index.json").read_text())
    assert (manifest["ngrams"], manifest["buckets"]) == (3, 4096)
    assert tfidf(tmp_path / "library").settings().index.ngrams == 3
    with pytest.raises(SettingsError, match=r"was made with index\.ngrams = 3"):
        tfidf(tmp_path / "library", "index.ngrams=1").search("zebras")


@pytest.mark.parametrize(
    "setting", ["index.ngrams=0", "index.ngrams=9", "index.buckets=10", "retrieve.similarity=sine"]
)
def test_sizes_that_make_no_sense_are_refused(setting: str) -> None:
    with pytest.raises(SettingsError, match=setting.partition("=")[0]):
        resolve(overrides=[setting])


def test_the_command_builds_and_tells(plain: Library) -> None:
    plain.close()

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "wherefrom", *arguments, "--library", str(plain.path)],
            capture_output=True,
            text=True,
            timeout=60,
            env=dict(os.environ),
        )

    missing = run("search", "zebras", "--set", "retrieve.kind=tfidf")
    assert (missing.returncode, "wherefrom index tfidf" in missing.stderr) == (3, True)
    built = run("index", "tfidf")
    assert built.returncode == 0
    assert built.stdout.startswith("The tfidf index has 4 passages; ")
    assert json.loads(run("index", "tfidf", "--json").stdout)["passages"] == 4
    assert "zebras" in run("search", "zebras", "--set", "retrieve.kind=tfidf").stdout
    assert run("index", "dense2").returncode == 2
