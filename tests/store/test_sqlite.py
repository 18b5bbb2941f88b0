"""The SQLite store: the Store contract, staging, recovery, and what it finds wrong with itself."""

from __future__ import annotations

import re
import sqlite3
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.store import StoreContract
from wherefrom.errors import DiskFull, LibraryDamaged, LibraryError, LibraryForeign, LibraryTooNew
from wherefrom.store import schema
from wherefrom.store.rows import Misfit, byte_offsets
from wherefrom.store.sqlite import SQLiteStore
from wherefrom.types import Document, Place


def at_blank_lines(text: str, _: object = ()) -> list[tuple[int, int]]:
    spans = ((match.start(), match.end()) for match in re.finditer(r"\S(?:(?!\n\n).)*", text, re.DOTALL))
    return [(start, start + len(text[start:end].rstrip())) for start, end in spans]


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    store = SQLiteStore(tmp_path / "documents.sqlite", at_blank_lines)
    store.open(create=True)
    return store


class TestContract(StoreContract):
    """SQLiteStore is a Store."""


def test_staged_documents_are_invisible_until_published(store: SQLiteStore) -> None:
    store.put([Document("a", "old")])
    staged = store.stage([Document("a", "new one\n\nnew two"), Document("b", "added")])
    assert store.document("a") == Document("a", "old")
    assert store.document("b") is None
    assert store.passages_at(staged.keys) == {}
    assert store.counts() == (1, 1)
    store.publish(staged)
    assert [passage.text for passage in store.passages_at(staged.keys).values()] == ["new one", "new two", "added"]
    assert store.counts() == (2, 3)


def test_the_counts_that_are_noted_are_those_that_counting_gives(store: SQLiteStore) -> None:
    def counted() -> tuple[int, int]:
        with store._database.reading() as connection:
            return store._counted(connection)

    store.put([Document("a", "one\n\ntwo"), Document("b", "three")])
    store.put([Document("a", "one\n\ntwo\n\nthree"), Document("c", "four")])
    assert store.counts() == counted() == (3, 5)
    store.remove(["b", "b", "nowhere"])
    store.stage([Document("d", "never published")])
    store.recover()
    assert store.counts() == counted() == (2, 4)


def test_counts_are_counted_where_an_earlier_version_wrote_last(store: SQLiteStore) -> None:
    store.put([Document("a", "one\n\ntwo")])
    noted = store.meta("counts")
    store.put([Document("b", "three")])
    store.set_meta("counts", noted)  # of the change before the last
    assert store.counts() == (2, 3)
    store.put([Document("c", "four")])
    assert store.counts() == (3, 4)
    assert store.meta("counts") == [3, 3, 4]


def test_counting_after_a_change_does_not_read_all_documents(store: SQLiteStore) -> None:
    store.put([Document(str(number), "text") for number in range(50)])
    seen: list[str] = []
    with store._database.changing() as connection:
        connection.set_trace_callback(seen.append)
        store.put([Document("new", "text")])
        assert store.counts() == (51, 51)
        connection.set_trace_callback(None)
    assert not [statement for statement in seen if "count(*)" in statement]


def test_the_old_version_is_retired_until_the_indexes_have_dropped_it(store: SQLiteStore) -> None:
    first = store.stage([Document("a", "one\n\ntwo")])
    store.publish(first)
    second = store.stage([Document("a", "three")])
    store.publish(second)
    assert store.retired() == list(first.keys)
    store.forget(first.keys)
    assert store.retired() == []


def test_what_a_killed_writer_staged_is_cleared_and_its_keys_are_not_used_again(store: SQLiteStore) -> None:
    lost = store.stage([Document("a", "never published")])
    assert store.recover() == 1
    assert store.retired() == list(lost.keys)
    kept = store.stage([Document("a", "published")])
    assert not set(lost.keys) & set(kept.keys)


def test_an_error_while_staging_changes_nothing(store: SQLiteStore) -> None:
    store.put([Document("a", "old")])
    with pytest.raises(LibraryError, match=r"document 'bad' is not valid Unicode at character 3"):
        store.stage([Document("a", "new"), Document("bad", "abc\ud800")])
    assert store.document("a") == Document("a", "old")
    assert store.recover() == 0


def test_a_full_disk_is_told_and_leaves_what_was_there(store: SQLiteStore) -> None:
    store.put([Document("a", "kept")])
    (pages,) = store._database._connection("connection").execute("PRAGMA page_count").fetchone()
    store._database._connection("connection").execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(DiskFull, match="is full: make room"):
        store.put([Document("b", "x" * 1_000_000)])
    assert store.document("a") == Document("a", "kept")
    assert store.document("b") is None
    store._database._connection("connection").execute("PRAGMA max_page_count = 1000000")
    store.put([Document("b", "now it fits")])
    assert store.counts() == (2, 2)


def test_many_threads_read_while_one_writes(store: SQLiteStore) -> None:
    store.put([Document("a", "version 0")])
    wrong: list[str] = []

    def read() -> None:
        for _ in range(200):
            document = store.document("a")
            (passage,) = store.passages(["a#0"]) or [None]
            if document is None or not document.text.startswith("version") or passage is None:
                wrong.append(str(document))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for version in range(30):
        store.put([Document("a", f"version {version}")])
    for reader in readers:
        reader.join()
    assert wrong == []


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.lists(st.integers(0, 50), max_size=8))
def testbyte_offsets_cut_the_same_text_as_character_offsets(text: str, borders: list[int]) -> None:
    spans = [
        (min(a, b, len(text)), min(max(a, b), len(text))) for a, b in zip(borders[::2], borders[1::2], strict=False)
    ]
    offsets = byte_offsets(text, spans)
    for start, end in spans:
        assert text.encode()[offsets[start] : offsets[end]].decode() == text[start:end]


def test_text_that_changed_by_itself_is_noticed(store: SQLiteStore) -> None:
    store.put([Document("a", "one\n\ntwo"), Document("b", "fine")])
    assert list(store.misfits()) == []
    with sqlite3.connect(store.path) as other:
        other.execute("UPDATE document SET text = 'one\n\ntwu' WHERE id = 'a'")
    assert list(store.misfits()) == [Misfit("a", "", "its text is not the one that was written", text_right=False)]


def test_passages_that_do_not_fit_are_noticed(store: SQLiteStore) -> None:
    store.put([Document("a", "one\n\ntwo")])
    with sqlite3.connect(store.path) as other:
        other.execute("UPDATE passage SET byte_start = byte_start + 1 WHERE key = 1")
    assert list(store.misfits()) == [Misfit("a", "", "its passages are not those that were written", text_right=True)]


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "documents.sqlite"
    path.write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(LibraryDamaged, match="cannot be read as a database"):
        SQLiteStore(path, at_blank_lines).open(create=True)


def test_the_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "documents.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (address TEXT)")
    with pytest.raises(LibraryForeign, match="something else"):
        SQLiteStore(path, at_blank_lines).open(create=True)


def test_a_newer_format_is_refused(store: SQLiteStore) -> None:
    with sqlite3.connect(store.path) as other:
        other.execute(f"PRAGMA user_version = {schema.FORMAT + 1}")
    with pytest.raises(LibraryTooNew, match="Upgrade wherefrom"):
        SQLiteStore(store.path, at_blank_lines).open(create=False)


def test_dates_are_kept_and_go_with_their_documents(store: SQLiteStore) -> None:
    store.put([Document("a", "one", date="2024-05-31"), Document("b", "two")])
    assert store.dates(["a", "b", "c"]) == {"a": "2024-05-31"}
    document = store.document("a")
    assert document is not None
    assert document.date == "2024-05-31"
    store.put([Document("a", "one again")])
    assert store.dates(["a"]) == {}


def test_a_library_from_before_there_were_dates_gets_them(store: SQLiteStore) -> None:
    store.put([Document("a", "one", title="A")])
    with sqlite3.connect(store.path, isolation_level=None) as connection:
        for table in ("dated", "checksum", "index_file", "place", "tag"):
            connection.execute(f"DROP TABLE {table}")
        for table in ("feedback", "file", "meta"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN sum")
        connection.execute("PRAGMA user_version = 3")
    connection.close()
    store.close()
    store.open(create=True)
    assert store.document("a") == Document("a", "one", title="A")
    store.put([Document("b", "two", date="2024-05-31")])
    assert store.dates(["a", "b"]) == {"b": "2024-05-31"}


class TestUpgrade:
    """Older formats are brought up a step at a time, each step all or nothing."""

    def test_passes_through_every_format_in_between(self, store: SQLiteStore) -> None:
        connection = sqlite3.connect(store.path, isolation_level=None)
        steps = {
            schema.FORMAT: lambda c: c.execute("ALTER TABLE document ADD COLUMN language TEXT"),
            schema.FORMAT + 1: lambda c: c.execute("UPDATE document SET language = 'xx'"),
        }
        store.put([Document("a", "text")])
        passed = schema.upgrade(connection, steps, target=schema.FORMAT + 2)
        assert passed == [schema.FORMAT + 1, schema.FORMAT + 2]
        assert connection.execute("SELECT id, language FROM document").fetchall() == [("a", "xx")]
        assert schema.version(connection) == schema.FORMAT + 2
        connection.close()

    def test_a_step_that_fails_leaves_the_format_before_it(self, store: SQLiteStore) -> None:
        connection = sqlite3.connect(store.path, isolation_level=None)

        def failing(c: sqlite3.Connection) -> None:
            c.execute("DELETE FROM document")
            raise RuntimeError("the disk is full")

        store.put([Document("a", "text")])
        with pytest.raises(RuntimeError, match="disk is full"):
            schema.upgrade(connection, {schema.FORMAT: failing}, target=schema.FORMAT + 1)
        assert schema.version(connection) == schema.FORMAT
        assert connection.execute("SELECT id FROM document").fetchall() == [("a",)]
        connection.close()


def test_reading_passages_for_days_does_not_grow(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython's connections keep a note of every blob they have opened, so they are made anew."""
    monkeypatch.setattr("wherefrom.store.database._MOST_BLOBS", 500)
    staged = store.stage([Document(f"d{number}", f"text {number}") for number in range(50)])
    store.publish(staged)
    listing = store.documents()  # another statement of the same thread goes on meanwhile
    next(listing)
    tracemalloc.start()
    try:
        for _ in range(10):
            store.passages_at(staged.keys)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(100):
            assert len(store.passages_at(staged.keys)) == 50
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 100_000  # without it, 5,000 blobs leave 450,000 bytes
    assert len(list(listing)) == 49
    assert len(store._database._connections) == 2


PLACES = (Place(0, "page 1", 1), Place(5, "page 2", 2))


def test_places_are_kept_and_go_with_their_documents(store: SQLiteStore) -> None:
    store.put([Document("a", "one\n\ntwo", places=PLACES), Document("b", "three")])
    document = store.document("a")
    assert document is not None
    assert document.places == PLACES
    one, two = store.passages(["a#0", "a#1"])
    assert (one.places, two.places) == ((Place(0, "page 1", 1),), (Place(0, "page 2", 2),))
    store.put([Document("a", "one\n\ntwo")])
    assert store.places("a") == store.places("b") == store.places("c") == ()
    store.set_places("a", PLACES)
    assert store.places("a") == PLACES
    assert list(store.misfits()) == []


@pytest.mark.parametrize("starts", [(0, 0), (4, 2), (-1, 2), (0, 8)])
def test_places_outside_of_the_text_are_refused(store: SQLiteStore, starts: tuple[int, int]) -> None:
    places = tuple(Place(start, "page") for start in starts)
    with pytest.raises(LibraryError, match="the places of document 'a' must rise"):
        store.put([Document("a", "one\n\ntwo", places=places)])


@pytest.mark.parametrize(
    "damage", ["UPDATE place SET label = 'page 7' WHERE start = 5", "DELETE FROM place", "UPDATE place SET start = 3"]
)
def test_a_changed_place_is_no_longer_what_was_written(store: SQLiteStore, damage: str) -> None:
    store.put([Document("a", "one\n\ntwo", places=PLACES[1:])])
    with sqlite3.connect(store.path) as connection:
        connection.execute(damage)
    connection.close()
    (misfit,) = store.misfits()
    assert misfit.text_right


def test_a_library_from_before_there_were_places_has_none_and_reads_such_files_once_more(store: SQLiteStore) -> None:
    staged = store.stage([Document("a.pdf", "one"), Document("b.txt", "two")])
    store.publish(staged, files={"/a.pdf": b"1", "/a.HTML.gz": b"3", "/b.txt": b"2", "/map": b"4"})
    with sqlite3.connect(store.path, isolation_level=None) as connection:
        connection.execute("DROP TABLE place")
        connection.execute("DROP TABLE tag")
        connection.execute("PRAGMA user_version = 5")
    connection.close()
    store.close()
    assert store.document("a.pdf") == Document("a.pdf", "one")  # as one reads who may not write to it
    assert [passage.places for passage in store.passages(["a.pdf#0"])] == [()]
    assert store.places("a.pdf") == ()
    store.open(create=True)
    assert list(store.problems()) == []
    assert list(store.misfits()) == []
    assert [store.file_hash(source) for source in ("/a.pdf", "/a.HTML.gz", "/b.txt", "/map")] == [
        None,
        None,
        b"2",
        b"4",
    ]
    store.put([Document("a.pdf", "one", places=(Place(0, "page 1", 1),))])
    assert store.places("a.pdf") == (Place(0, "page 1", 1),)
