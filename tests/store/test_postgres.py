"""The PostgreSQL store: the Store contract, writers at once, the log of changes, and errors in the user's words."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack.private_postgres import PrivatePostgres

from contracts.store import StoreContract
from store.test_sqlite import at_blank_lines
from wherefrom.errors import (
    LibraryBusy,
    LibraryError,
    LibraryForeign,
    LibraryTooNew,
    LibraryUnreachable,
    NotFound,
    SettingsError,
)
from wherefrom.store import postgres_schema as schema
from wherefrom.store.postgres import PostgresStore, Reached
from wherefrom.store.rows import Misfit
from wherefrom.types import Document, Filter, Place

psycopg = pytest.importorskip("psycopg", reason="documents in PostgreSQL: pip install 'wherefrom[scale]'")


_OPENED: list[PostgresStore] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Connections that nobody closes are warned of."""
    yield
    while _OPENED:
        _OPENED.pop().close()


def at(url: str) -> PostgresStore:
    _OPENED.append(PostgresStore(url, at_blank_lines))
    return _OPENED[-1]


def another(database: str) -> PostgresStore:
    store = at(database)
    assert store.open()
    return store


@pytest.fixture
def store(database: str) -> PostgresStore:
    store = at(database)
    store.open(facts={})
    return store


def spoilt(database: str, statement: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(statement)


class TestStoreContract(StoreContract):
    """PostgresStore is a Store."""


def test_a_filter_is_ranges_of_keys_as_in_the_other_store(store: PostgresStore) -> None:
    store.put(
        [
            Document("reports/a.md", "one\n\ntwo", source="/home/me/reports/a.md", date="2024-05-01"),
            Document("reports/b.PDF", "three", source="/home/me/reports/b.PDF", date="2025-01-01"),
            Document("c.txt.gz", "four", source="", date=""),
            Document("x", "five", source="/home/me/x.pdf"),
        ]
    )
    store.tag(["x"], ["Tax "])
    for part, keys in {
        Filter(folders=("reports",)): {1, 2, 3},
        Filter(folders=("/home/me",)): {1, 2, 3, 5},
        Filter(types=("pdf",)): {3, 5},
        Filter(types=("text",)): {4},
        Filter(since="2024-06"): {3},
        Filter(until="2024"): {1, 2},
        Filter(tags=("tax",)): {5},
    }.items():
        within = store.keys_within(part)
        assert {key for key in range(10) if key in within} == keys, part
    with pytest.raises(NotFound, match="no document of the library is of type doc"):
        store.keys_within(Filter(types=("doc",)))
    assert [facts.id for facts in store.documents(part=Filter(types=("pdf",)))] == ["reports/b.PDF", "x"]
    store.tag(["c.txt.gz"], ["tax"])
    assert 4 in store.keys_within(Filter(tags=("tax",))), "what was kept of a filter is looked at anew"


def test_listings_are_in_the_same_order_as_in_the_other_store(store: PostgresStore) -> None:
    ids = ["b", "a", "Z", "é", "_", "aa", "ä/1", "10", "9"]
    store.put([Document(id, "text") for id in ids])
    assert [facts.id for facts in store.documents()] == sorted(ids)
    assert [facts.id for facts in store.documents(after="a", limit=2)] == ["aa", "b"]


def test_everything_beside_the_text_is_kept(store: PostgresStore) -> None:
    places = (Place(0, "Intro", None), Place(6, "Page 2", 2))
    store.put([Document("a", "First.\n\nSecond.", "T", "/a.pdf", "2024-01-02", places)], {"/a.pdf": b"12"})
    assert store.document("a") == Document("a", "First.\n\nSecond.", "T", "/a.pdf", "2024-01-02", places)
    assert store.passages(["a#1"])[0].places == (Place(0, "Page 2", 2),)
    assert (store.file_hash("/a.pdf"), store.with_source("/a.pdf"), store.counts()) == (b"12", ["a"], (1, 2))
    store.set_places("a", places[:1])
    store.set_dates({"a": "2025-01-01"})
    assert (store.places("a"), store.dates(["a", "b"])) == (places[:1], {"a": "2025-01-01"})
    assert list(store.misfits()) == []
    assert list(store.problems()) == []
    assert store.add_feedback("now", "{}") == 1
    assert list(store.feedback()) == [(1, "now", "{}")]
    text = store.text("a")
    assert text is not None
    assert "".join(text.pieces(3, 12)) == "st.\n\nSeco"
    assert [span.id for span in text.spans(0, 100)] == ["a#0", "a#1"]
    assert list(text.places(0, 100)) == list(places[:1])
    store.remove(["a"])
    assert store.file_hash("/a.pdf") is None
    with pytest.raises(NotFound, match="was replaced or removed while it was read"):
        list(text.pieces(0, 5))


def test_keys_are_never_given_again(store: PostgresStore, database: str) -> None:
    store.put([Document("a", "one\n\ntwo")])
    with pytest.raises(LibraryError, match="NUL"):
        store.put([Document("b\0", "three")])
    store.remove(["a"])
    other = another(database)
    other.put([Document("a", "four")])
    (key,) = store.live_keys()
    assert key > 3, "those of the batch that failed are gone too"


def test_many_writers_at_once_lose_nothing(store: PostgresStore, database: str) -> None:
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        own = another(database)
        try:
            for round in range(8):
                own.put([Document(f"w{writer}-{n}", f"mark {writer} {round} {n}\n\nmore") for n in range(5)])
                own.put(
                    [Document(f"shared{n}", f"by {writer} in {round}") for n in (range(4), range(3, -1, -1))[round % 2]]
                )
            own.remove([f"w{writer}-0"])
        except BaseException as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    behind, seen, gone = Reached(), set[int](), set[int]()
    while any(thread.is_alive() for thread in threads) or behind != store.reached():
        news = store.news(behind, 20)  # as a folder does that follows
        assert news is not None
        seen |= {key for key, _, _ in store.passages_of(news.documents)}
        gone |= {key for first, count in news.retired for key in range(first, first + count)}
        behind = news.reached
    assert not failures
    assert store.counts() == (4 * 4 + 4, 4 * 4 * 2 + 4)
    assert seen - gone == store.live_keys(), "who follows the changes misses none, in whatever order they were made"
    assert {store.document(f"w{writer}-3").text for writer in range(4)} == {  # type: ignore[union-attr]
        f"mark {writer} 7 3\n\nmore" for writer in range(4)
    }
    assert list(store.misfits()) == []
    assert list(store.problems()) == []


def test_an_id_that_another_file_took_meanwhile_is_not_taken_from_it(store: PostgresStore, database: str) -> None:
    other = another(database)
    with store.noting():
        assert store.facts("notes.md") is None  # so that this file may have the id
        other.put([Document("notes.md", "theirs", source="/theirs/notes.md")])
        with pytest.raises(LibraryBusy, match=r"another writer has brought in 'notes.md' from /theirs/notes.md"):
            store.put([Document("notes.md", "ours", source="/ours/notes.md")])
        other.put([Document("mine.md", "old", source="/ours/mine.md")])
        store.facts("mine.md")
        store.put([Document("mine.md", "new", source="/ours/mine.md")])
        store.put([Document("mine.md", "newer", source="/ours/mine.md")])
    assert store.document("notes.md") == Document("notes.md", "theirs", source="/theirs/notes.md")


def test_news_of_another_history_are_none(store: PostgresStore) -> None:
    store.put([Document("a", "one")])
    assert store.news(Reached(1, "0011"), 10) is None, "the same number of another database"
    assert store.news(Reached(9, "0011"), 10) is None, "the database is older than the folder"
    news = store.news(Reached(), 10)
    assert news is not None
    assert (len(news.documents), news.reached, news.more) == (1, store.reached(), 0)


def test_what_changes_by_itself_is_noticed(store: PostgresStore, database: str) -> None:
    store.put([Document("a", "one\n\ntwo", "T", "/a"), Document("b", "three", "", "/b"), Document("c", "four")])
    spoilt(database, "UPDATE content SET text = 'eno\n\ntwo' WHERE document = 1")
    spoilt(database, "UPDATE passage SET stop = stop - 1 WHERE document = 2")
    assert list(store.misfits()) == [
        Misfit("a", "/a", "its text is not the one that was written", text_right=False),
        Misfit("b", "/b", "its passages are not those that were written", text_right=True),
    ]
    store.put([Document("a", "one\n\ntwo"), Document("b", "three")])
    assert list(store.misfits()) == []
    store.tag(["a"], ["tax"])
    spoilt(database, "UPDATE tag SET name = 'sax'")
    spoilt(database, "DELETE FROM content WHERE document = (SELECT key FROM document WHERE id = 'b')")
    spoilt(database, "ALTER TABLE dated ADD COLUMN more TEXT")
    text = "\n".join(store.problems())
    assert "1 rows of the table 'tag' are not what was written" in text
    assert "1 documents have no text" in text
    assert "its tables are not what was laid" in text


class TestOpening:
    def test_an_empty_database_is_none_until_it_is_made(self, database: str) -> None:
        store = at(database)
        assert not store.open()
        assert store.open(facts={"settings": {"split": {"words": 3}}})
        assert another(database).meta("settings") == {"split": {"words": 3}}

    def test_a_foreign_one_is_refused_and_stays_as_it_is(self, database: str) -> None:
        spoilt(database, "CREATE TABLE theirs (a INTEGER)")
        with pytest.raises(LibraryForeign, match="holds tables of something else"):
            at(database).open(facts={})

    def test_a_newer_format_is_refused_by_those_who_have_it_open_too(self, store: PostgresStore, database: str) -> None:
        spoilt(database, f"UPDATE wherefrom SET format = {schema.FORMAT + 1}")
        for look in (another, lambda _: store.version()):
            with pytest.raises(LibraryTooNew, match="Upgrade wherefrom"):
                look(database)

    def test_an_older_format_is_brought_up_step_by_step(self, store: PostgresStore, database: str) -> None:
        def add(connection: schema.Connection) -> None:
            connection.execute("CREATE TABLE added (a INTEGER)")

        def fail(_: schema.Connection) -> None:
            raise RuntimeError("no")

        steps = {schema.FORMAT: add, schema.FORMAT + 1: fail}
        with psycopg.connect(database, autocommit=True) as connection:
            with pytest.raises(RuntimeError):
                schema.upgrade(connection, steps, schema.FORMAT + 2)
            (format,) = connection.execute("SELECT format FROM wherefrom").fetchone() or ()
            assert format == schema.FORMAT + 1, "the step before the one that failed is kept"
            assert schema.upgrade(connection, {schema.FORMAT + 1: lambda _: None}, schema.FORMAT + 2) == [
                schema.FORMAT + 2
            ]

    @pytest.mark.parametrize(
        ("url", "message"),
        [
            ("postgres://me:s3cret@localhost:1/notes", r"me@localhost:1/notes does not answer \(.*refused"),
            ("postgres://me:s3cret@/no?host=/nowhere", "does not answer"),
            ("postgres://me:s3%zzcret@host/notes", "is no URL of a database"),
        ],
    )
    def test_whatever_is_wrong_is_told_without_the_password(self, url: str, message: str) -> None:
        with pytest.raises((LibraryUnreachable, SettingsError), match=message) as caught:
            at(url).open()
        assert "s3cret" not in f"{caught.value}{caught.value.__cause__}"

    def test_a_database_that_is_not_there_is_named(self, postgres: PrivatePostgres) -> None:
        with pytest.raises(LibraryError, match=r"there is no database .*nothing.*createdb"):
            at(postgres.url("nothing")).open()

    def test_a_wrong_password_is_told_and_not_shown(self, postgres: PrivatePostgres) -> None:
        rules = postgres.folder / "data" / "pg_hba.conf"
        before = rules.read_text()
        postgres.execute("CREATE ROLE guarded LOGIN PASSWORD 'right-one'")
        try:
            rules.write_text("local all guarded scram-sha-256\n" + before)
            postgres.execute("SELECT pg_reload_conf()")
            url = re.sub("//[a-z]+@", "//guarded:wr0ng@", postgres.url())
            with pytest.raises(LibraryError, match="the user or the password is wrong") as caught:
                eventually_refused(url)
            assert "wr0ng" not in str(caught.value)
        finally:
            rules.write_text(before)
            postgres.execute("SELECT pg_reload_conf()", "DROP ROLE guarded")

    def test_who_may_only_read_can_read(self, postgres: PrivatePostgres, store: PostgresStore, database: str) -> None:
        store.put([Document("a", "one")])
        (schema_name,) = re.findall(r"test_\w+", database)
        postgres.execute(
            "CREATE ROLE reader LOGIN",
            f"GRANT USAGE ON SCHEMA {schema_name} TO reader",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema_name} TO reader",
        )
        try:
            reader = another(re.sub("//[a-z]+@", "//reader@", database))
            assert (reader.writable, store.writable, reader.counts()) == (False, True, (1, 1))
            with pytest.raises(LibraryError, match="may not do that"):
                reader.put([Document("b", "two")])
        finally:
            postgres.execute("DROP OWNED BY reader", "DROP ROLE reader")


def eventually_refused(url: str) -> None:
    """The new rules hold an instant after they were read."""
    for _ in range(100):
        at(url).open()


def test_a_server_that_was_killed_is_told_and_used_again_when_it_is_back(
    postgres: PrivatePostgres, store: PostgresStore
) -> None:
    store.put([Document("a", "one")])
    postgres.kill()
    try:
        with pytest.raises(LibraryUnreachable, match="nothing that was acknowledged is lost"):
            store.counts()
    finally:
        postgres.start()
    assert store.counts() == (1, 1)
    store.put([Document("b", "two")])
    assert (store.counts(), list(store.problems())) == ((2, 2), [])


def test_nothing_is_needed_of_it_where_it_is_not_used(tmp_path: Path) -> None:
    from wherefrom import Library

    with Library(tmp_path / "library") as library:
        library.put([Document("a", "one")])
        assert library.counts() == (1, 1)
