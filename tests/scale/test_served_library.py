"""A library whose passages are searched on a Qdrant server answers as one that is searched on its own disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.qdrant import QdrantProcess

from retrieve.tiny_embedder import write_embedder
from wherefrom import Library
from wherefrom.config import Settings, resolve
from wherefrom.errors import LibraryDamaged, LibraryUnreachable
from wherefrom.types import Document, Filter, Question, Trace

SAMPLE = Path(__file__).parents[2] / "sample"
ANSWERED = 12  # questions that are answered in full; all are searched


def served(qdrant: QdrantProcess, *more: str) -> Settings:
    return resolve(overrides=["retrieve.kind=qdrant", f"retrieve.url={qdrant.url}", *more])


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, qdrant: QdrantProcess) -> Iterator[tuple[Library, Library]]:
    folder = tmp_path_factory.mktemp("sample")
    with Library(folder / "embedded") as embedded, Library(folder / "served", served(qdrant)) as scaled:
        for library in (embedded, scaled):
            assert library.ingest([SAMPLE / "library"]).failures == ()
        yield embedded, scaled


def found(library: Library, question: str) -> Trace:
    return library.pipeline().find_many([Question("", question)])[0]


def ids(library: Library, question: str) -> list[str]:
    return [hit.passage.document_id for hit in found(library, question).hits]


def questions() -> list[str]:
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def test_the_sample_library_gives_the_same_hits(both: tuple[Library, Library]) -> None:
    asked = [Question(str(number), text) for number, text in enumerate(questions())]
    embedded, scaled = (library.pipeline().find_many(asked) for library in both)
    for one, other in zip(embedded, scaled, strict=True):
        assert [hit.passage for hit in other.hits] == [hit.passage for hit in one.hits]
        assert [hit.score for hit in other.hits] == pytest.approx([hit.score for hit in one.hits], rel=1e-5)


def test_and_the_same_answers(both: tuple[Library, Library]) -> None:
    every = len(questions()) // ANSWERED
    for question in questions()[::every]:
        embedded, scaled = (library.ask(question).answer for library in both)
        assert embedded is not None
        assert scaled is not None
        assert (scaled.text, scaled.evidence) == (embedded.text, embedded.evidence)


def test_misspelt_words_are_put_right_by_the_servers_words(both: tuple[Library, Library]) -> None:
    question = "Who wrote down the memoires that Ibn Batutta dictated?"
    embedded, scaled = (found(library, question).question.text for library in both)
    assert scaled == embedded != question


def test_a_filter_narrows_it_alike(both: tuple[Library, Library]) -> None:
    within = Filter(types=("md",))
    for question in questions()[:10]:
        asked = [Question("", question, within)]
        embedded, scaled = ([hit.passage for hit in library.pipeline().find_many(asked)[0].hits] for library in both)
        assert scaled == embedded
        assert all(passage.document_id.endswith(".md") for passage in scaled)


def test_nothing_is_indexed_twice(both: tuple[Library, Library]) -> None:
    assert {path.name for path in (both[1].path / "index").iterdir()} == {"qdrant"}
    assert both[1].check().problems == ()


@pytest.fixture
def library(tmp_path: Path, qdrant: QdrantProcess) -> Iterator[Library]:
    with Library(tmp_path / "library", served(qdrant)) as library:
        library.put([Document(f"d{number}", f"The mark{number} is here.\n\nAnd more of it.") for number in range(5)])
        yield library


def test_documents_are_replaced_and_removed(library: Library) -> None:
    library.put([Document("d1", "Something else, of mark77.")])
    library.remove(["d2"])
    assert ids(library, "mark1") == []
    assert ids(library, "mark2") == []
    assert ids(library, "mark77") == ["d1"]
    assert library.check().problems == ()


def test_the_library_knows_where_its_server_is(library: Library) -> None:
    with Library(library.path, resolve(overrides=["retrieve.kind=qdrant"])) as again:
        again.put([Document("d9", "The mark9 is here.")])
        assert ids(again, "mark9") == ["d9"]
    assert ids(library, "mark9") == ["d9"]


def test_a_library_on_disk_gets_an_index_on_a_server_and_keeps_both(tmp_path: Path, qdrant: QdrantProcess) -> None:
    with Library(tmp_path / "library") as plain:
        plain.put([Document("d1", "The mark1 is here.")])
    with Library(tmp_path / "library", served(qdrant)) as library:
        assert library.build_index("qdrant") == 1
        library.put([Document("d2", "The mark2 is here.")])
        assert ids(library, "mark2") == ["d2"]
    with Library(tmp_path / "library") as plain:
        assert ids(plain, "mark2") == ["d2"]
        assert plain.check().problems == ()


def test_what_a_server_lost_the_next_writer_gives_it_again(library: Library) -> None:
    index = library._folder().indexes["qdrant"]
    lost = sorted(index.keys())[:2]
    index._request("POST", "/points/delete?wait=true", {"points": lost})  # type: ignore[attr-defined]
    index.refresh()
    with pytest.raises(LibraryDamaged, match="has lost passages"):
        found(library, "mark0")
    library.put([Document("d7", "The mark7 is here.")])
    assert ids(library, "mark0") == ["d0"]
    assert library.check().problems == ()


def test_check_gives_a_server_what_it_lost(library: Library) -> None:
    index = library._folder().indexes["qdrant"]
    lost = sorted(index.keys())[:2]
    index._request("POST", "/points/delete?wait=true", {"points": lost})  # type: ignore[attr-defined]
    report = library.check()
    assert [problem.what for problem in report.problems] == [
        "index 'qdrant': 2 passages are missing from it and 0 are too many"
    ]
    assert report.sound
    assert ids(library, "mark0") == ["d0"]


def test_check_makes_a_lost_collection_anew(library: Library) -> None:
    index = library._folder().indexes["qdrant"]
    index._request("DELETE", "")  # type: ignore[attr-defined]
    report = library.check()
    assert report.sound
    assert "no collection" in report.problems[0].what
    assert ids(library, "mark0") == ["d0"]
    assert library.check().problems == ()


def test_a_copied_library_gets_a_collection_of_its_own(library: Library, tmp_path: Path, qdrant: QdrantProcess) -> None:
    library.close()
    shutil.copytree(library.path, tmp_path / "copy")
    with Library(tmp_path / "copy", served(qdrant)) as copy:
        copy.put([Document("c", "The mark50 is here.")])
        with pytest.raises(LibraryDamaged, match="changed by another library"):
            library.put([Document("d", "The mark60 is here.")])
        assert library.check().sound
        library.put([Document("d", "The mark60 is here.")])
        assert (ids(library, "mark60"), ids(library, "mark50")) == (["d"], [])
        assert (ids(copy, "mark60"), ids(copy, "mark50")) == ([], ["c"])


def test_an_index_built_anew_leaves_no_collection_behind(library: Library, qdrant: QdrantProcess) -> None:
    import urllib.request

    def collections() -> set[str]:
        with urllib.request.urlopen(f"{qdrant.url}/collections") as reply:
            return {each["name"] for each in json.load(reply)["result"]["collections"]}

    before = collections()
    library.build_index("qdrant")
    after = collections()
    assert len(before - after) == len(after - before) == 1
    assert ids(library, "mark3") == ["d3"]


def test_a_server_that_dies_loses_nothing_and_is_asked_again_when_it_is_back(
    tmp_path: Path, own_qdrant: QdrantProcess
) -> None:
    with Library(tmp_path / "library", served(own_qdrant)) as library:
        library.put([Document("d1", "The mark1 is here.")])
        own_qdrant.kill()
        with pytest.raises(LibraryUnreachable, match="start it"):
            found(library, "mark1")
        with pytest.raises(LibraryUnreachable, match="nothing that was acknowledged is lost"):
            library.put([Document("d2", "The mark2 is here.")])
        own_qdrant.start()
        assert ids(library, "mark1") == ["d1"]
        assert ids(library, "mark2") == []
        library.put([Document("d2", "The mark2 is here.")])
        assert ids(library, "mark2") == ["d2"]
        assert library.check().problems == ()


def test_with_vectors_hits_come_by_words_and_by_meaning(tmp_path: Path, qdrant: QdrantProcess) -> None:
    with Library(tmp_path / "library", served(qdrant, "retrieve.dense=matcher", "retrieve.match=none")) as library:
        library.put([Document("car", "The automobile was repaired."), Document("sea", "Waves beat upon the shore.")])
        assert ids(library, "vehicle")[0] == "car"
        assert library.check().problems == ()


def test_with_an_embedder_of_ones_own(tmp_path: Path, qdrant: QdrantProcess) -> None:
    weights = write_embedder(tmp_path / "tiny", [["vehicle", "car"]])
    settings = served(qdrant, "retrieve.dense=embedder", "retrieve.match=none", f"runtime.embedder={weights}")
    with Library(tmp_path / "library", settings) as library:
        library.put([Document("car", "The car was repaired."), Document("sea", "Waves beat upon the shore.")])
        assert ids(library, "vehicle")[0] == "car"
        assert library.check().problems == ()


def test_a_backup_is_restored_to_a_server_and_a_collection_of_its_own(
    library: Library, tmp_path: Path, qdrant: QdrantProcess
) -> None:
    library.backup(tmp_path / "file.backup")
    restored, _ = Library.restore(tmp_path / "file.backup", tmp_path / "restored", settings=served(qdrant))
    assert restored.documents == 5
    library.remove(["d3"])
    with Library(tmp_path / "restored", served(qdrant)) as again:
        assert ids(again, "mark3") == ["d3"]
        assert again.check().problems == ()
    assert ids(library, "mark3") == []


def test_with_documents_in_postgresql_each_folder_has_a_collection(
    tmp_path: Path, qdrant: QdrantProcess, database: str
) -> None:
    settings = served(qdrant, "store.kind=postgres", f"store.url={database}")
    with Library(tmp_path / "one", settings) as one, Library(tmp_path / "other", settings) as other:
        one.put([Document(f"d{number}", f"The mark{number} is here.") for number in range(4)])
        assert ids(other, "mark2") == ["d2"]
        other.remove(["d2"])
        other.put([Document("d1", "Something else, of mark77.")])
        assert (ids(one, "mark2"), ids(one, "mark1"), ids(one, "mark77")) == ([], [], ["d1"])
        index = one._folder().indexes["qdrant"]
        index._request("POST", "/points/delete?wait=true", {"points": sorted(index.keys())[:1]})  # type: ignore[attr-defined]
        index.refresh()
        with pytest.raises(LibraryDamaged, match="has lost passages"):
            found(one, "mark0")
        assert one.check().sound
        assert ids(one, "mark0") == ids(other, "mark0") == ["d0"]
