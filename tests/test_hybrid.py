"""A library with a dense index: it follows by and by, survives what a writer suffers, and is asked beside BM25."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("faiss", reason="the dense index needs faiss: pip install 'wherefrom[dense]'")

from retrieve.tiny_embedder import write_embedder
from wherefrom import Library
from wherefrom.cli.index_command import command
from wherefrom.config import RetrieveSettings, RuntimeSettings, Settings
from wherefrom.errors import LibraryError
from wherefrom.retrieve.dense import DenseIndex
from wherefrom.retrieve.fuse import ByRank, ByScore, joined
from wherefrom.store import library as store_library
from wherefrom.types import Document, Filter, Hit, Passage, Question

TEXTS = {
    "cron": "The daemon examines the entries of its table every minute.",
    "roses": "Roses grow in the garden behind the harbour.",
    "ships": "Ships leave the harbour at dawn.",
    "bread": "Bread is baked before sunrise.",
}
MEANT = "scheduler checks"  # shares no word with what it means
ALIKE = [["scheduler", "daemon"], ["checks", "examines"]]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_embedder(tmp_path_factory.mktemp("weights") / "tiny", ALIKE)


def settings_with(weights: Path, **retrieve: object) -> Settings:
    wanted = RetrieveSettings(**{"kind": "hybrid", "match": "none", "respell": False, **retrieve})  # type: ignore[arg-type]
    return Settings(retrieve=wanted, runtime=RuntimeSettings(embedder=str(weights)))


def documents(*names: str) -> list[Document]:
    return [Document(name, TEXTS[name], name.title(), name) for name in names or TEXTS]


@pytest.fixture
def library(tmp_path: Path, weights: Path) -> Library:
    made = Library(tmp_path / "library", settings_with(weights))
    made.put(documents())
    return made


def ids(library: Library, question: str, within: Filter | None = None) -> list[str]:
    (hits,) = library.pipeline().retriever.retrieve([Question("", question, within)])
    return [hit.passage.document_id for hit in hits]


def test_a_passage_is_found_that_shares_no_word_with_the_question(library: Library) -> None:
    assert "cron" not in ids(library, MEANT)  # nothing is embedded yet, and that is no error
    reports: list[tuple[int, int]] = []
    assert library.build_index("dense", lambda *done: reports.append(done)) == 4
    assert reports == [(0, 4), (4, 4)]
    assert ids(library, MEANT)[0] == "cron"
    assert ids(library, "bread sunrise")[0] == "bread"


def test_what_is_put_later_is_found_by_its_words_at_once_and_embedded_when_that_is_asked_for(library: Library) -> None:
    library.build_index("dense")
    library.put([Document("late", "The watchman examines the daemon.", "", "late")])
    assert ids(library, "watchman")[0] == "late"
    assert library.check().problems == ()
    assert library.build_index("dense") == 5
    assert "late" in ids(library, MEANT)[:2]


def test_removed_and_replaced_documents_leave_it(library: Library) -> None:
    library.build_index("dense")
    library.remove(["cron"])
    library.put([Document("roses", "The scheduler checks nothing.", "", "roses")])
    found = ids(library, MEANT)
    assert "cron" not in found
    assert library._folder().index("dense").keys() <= library._folder().store.live_keys()
    assert library.build_index("dense") == 3
    assert ids(library, MEANT)[0] == "roses"
    assert library.check().problems == ()


def test_it_goes_on_where_it_was_interrupted(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_library, "_SLOW_BATCH", 1)

    def interrupted(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.build_index("dense", interrupted)
    assert len(library._folder().index("dense").keys()) == 2
    reports: list[tuple[int, int]] = []
    assert library.build_index("dense", lambda *done: reports.append(done)) == 4
    assert reports[0] == (2, 4)
    assert library.check().problems == ()


def test_a_writer_killed_between_index_and_seal_is_recovered_from(
    library: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, weights: Path
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(type(library._folder().local), "seal", _killed)
        with pytest.raises(KeyboardInterrupt):
            library.build_index("dense")
    again = Library(tmp_path / "library", settings_with(weights))
    assert again.build_index("dense") == 4
    assert again.check().problems == ()


def _killed(*_arguments: object, **_named: object) -> None:
    raise KeyboardInterrupt


def test_check_replaces_a_damaged_one_which_is_then_filled_again(library: Library) -> None:
    library.build_index("dense")
    (file,) = (library.path / "index").rglob("vectors.faiss")
    data = file.read_bytes()
    library.close()
    file.write_bytes(data[:-3] + bytes([data[-3] ^ 255]) + data[-2:])
    report = library.check()
    assert report.sound
    assert "wherefrom index dense" in report.problems[0].what
    assert library.build_index("dense") == 4
    assert ids(library, MEANT)[0] == "cron"


def test_other_weights_make_it_anew(library: Library, tmp_path: Path) -> None:
    library.build_index("dense")
    library.close()
    other = write_embedder(tmp_path / "other", width=32)
    changed = Library(library.path, settings_with(other))
    with pytest.raises(LibraryError, match="index dense"):
        ids(changed, MEANT)
    assert changed.build_index("dense") == 4
    assert changed._folder().index("dense").keys() == changed._folder().store.live_keys()


def test_a_filter_holds_for_both_indexes(library: Library) -> None:
    library.build_index("dense")
    assert set(ids(library, "harbour", Filter(folders=("ships",)))) == {"ships"}
    assert set(ids(library, MEANT, Filter(folders=("bread", "cron")))) <= {"bread", "cron"}


def test_without_an_index_the_error_says_how_to_get_one(tmp_path: Path, weights: Path) -> None:
    plain = Library(tmp_path / "plain")
    plain.put(documents())
    plain.close()
    with pytest.raises(LibraryError, match="wherefrom index dense"):
        ids(Library(plain.path, settings_with(weights)), MEANT)


def test_the_command_embeds_what_has_no_vector_yet(library: Library, weights: Path) -> None:
    library.close()
    arguments = ["dense", "--library", str(library.path), "--set", f"runtime.embedder={weights}"]
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "4 passages" in done.output
    again = CliRunner().invoke(command, [*arguments, "--json"], catch_exceptions=False)
    assert json.loads(again.output)["passages"] == 4


def hit(name: str, **features: float) -> Hit:
    return Hit(Passage(f"{name}#0", name, name, 0, len(name)), next(iter(features.values())), features)


def test_by_rank_adds_up_the_places() -> None:
    words = [hit("a", retrieve=9.0), hit("b", retrieve=5.0)]
    vectors = [hit("b", dense=0.8), hit("c", dense=0.7)]
    fused = ByRank().fused(Question("", ""), [words, vectors], 5)
    assert [each.passage.document_id for each in fused] == ["b", "a", "c"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert fused[0].features == {"retrieve": 5.0, "dense": 0.8, "fuse": fused[0].score}


def test_by_score_weighs_shares_and_cosines() -> None:
    words = [hit("a", retrieve=10.0), hit("b", retrieve=5.0)]
    vectors = [hit("b", dense=0.8), hit("c", dense=0.6)]
    fused = ByScore(None, 10.0, 2.0, 3).fused(Question("", ""), [words, vectors], 5)
    # b: 0.5 + 1.6; a: 1 + the least cosine of the list; c: 1.2
    assert [(each.passage.document_id, round(each.score, 6)) for each in fused] == [("a", 2.2), ("b", 2.1), ("c", 1.2)]
    assert ByScore(None, 10.0, 2.0, 3).fused(Question("", ""), [[], []], 5) == []


def test_what_a_full_list_of_words_lacks_may_be_as_good_as_its_last() -> None:
    words = [hit("a", retrieve=10.0), hit("b", retrieve=5.0)]
    vectors = [hit("c", dense=0.9), hit("b", dense=0.6)]
    fused = ByScore(None, 10.0, 2.0, 2).fused(Question("", ""), [words, vectors], 5)
    # c: 0.5 as b + 1.8; a: 1 + 1.2; b: 0.5 + 1.2
    assert [(each.passage.document_id, round(each.score, 6)) for each in fused] == [("c", 2.3), ("a", 2.2), ("b", 1.7)]


def test_joined_hits_keep_what_each_list_knows() -> None:
    (only,) = joined([[hit("a", retrieve=1.0)], [hit("a", dense=0.5)]])
    assert only.features == {"retrieve": 1.0, "dense": 0.5}


def test_the_index_is_laid_with_a_library_that_asks_for_it(library: Library) -> None:
    assert isinstance(library._folder().index("dense"), DenseIndex)
