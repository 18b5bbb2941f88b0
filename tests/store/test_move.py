"""Libraries are moved into a database and back: all of it, with every key, and nothing half done is a library."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.cli import main
from wherefrom.config import resolve
from wherefrom.errors import LibraryDamaged, LibraryError, LibraryForeign
from wherefrom.store import move as moving
from wherefrom.store.feedback import Feedback
from wherefrom.store.postgres import PostgresStore
from wherefrom.types import Document, Filter, Place

psycopg = pytest.importorskip("psycopg", reason="documents in PostgreSQL: pip install 'wherefrom[scale]'")

TEXT = "The boiler of number {} hums — 灯台 🚢.\n\n" + "It was serviced in May by Marta, who looked at it twice. " * 12


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Library]:
    """A library with a past: documents that were replaced and removed, tags, dates, places and a verdict."""
    with Library(tmp_path / "embedded") as library:
        library.put([Document(f"d{n}", TEXT.format(n), f"T{n}", "", "2024-05-01" * (n % 2)) for n in range(20)])
        library.put(
            [Document("d3", "Replaced."), Document("p", "One. Two.", places=(Place(0, "Page", 1), Place(5, "x")))]
        )
        library.remove(["d5", "d0"])
        library.tag(["d7", "p"], ["warm"])
        library.add_feedback(Feedback("Who?", "right", "Marta", given="2026-01-01"))
        (tmp_path / "a.md").write_text("# A file\n\nIt is read from disk.")
        library.ingest([tmp_path / "a.md"])
        library.build_index("tfidf")
        library.build_index("bm25")  # without what the scores owe to documents that are gone
        yield library


def over(path: Path, url: str) -> Library:
    return Library(path, resolve(overrides=["store.kind=postgres", f"store.url={url}"]))


def assert_same(one: Library, other: Library) -> None:
    assert one.documents() == other.documents()
    for facts in one.documents():
        assert one.document(facts.id) == other.document(facts.id)
        assert one.passages_of(facts.id) == other.passages_of(facts.id)
    assert [*one.feedback()] == [*other.feedback()]
    for words in ("number 7", "Marta in May", "read from disk"):
        assert one.search(words).hits == other.search(words).hits
    assert (
        one.search("Marta", within=Filter(tags=("warm",))).hits
        == other.search("Marta", within=Filter(tags=("warm",))).hits
    )
    store, theirs = one._folder().store, other._folder().store
    keys = sorted(store.live_keys())
    assert keys == sorted(theirs.live_keys()), "every passage has the key that it had"
    assert store.passages_at(keys) == theirs.passages_at(keys)
    assert store.file_hash(one.document("a.md").source) == theirs.file_hash(one.document("a.md").source)
    assert one.check().problems == other.check().problems == ()


def test_there_and_back_again_nothing_is_another(filled: Library, tmp_path: Path, database: str) -> None:
    steps: list[tuple[str, int, int]] = []
    report = filled.move(database, lambda *step: steps.append(step))
    assert (report.documents, report.already) == (20, 0)
    assert steps[-1] == ("documents verified", 20, 20)
    with over(tmp_path / "shared", database) as shared:
        assert_same(filled, shared)
        assert shared.move(str(tmp_path / "back")).documents == 20
        with Library(tmp_path / "back") as back:
            assert_same(shared, back)
            assert back.search("Marta", k=3).hits
            back.put([Document("new", "text")])
            shared.put([Document("new", "text")])
            (key,), (other,) = (
                {*each._folder().store.live_keys()} - {*filled._folder().store.live_keys()} for each in (back, shared)
            )
            assert key == other, "neither gives a key that was given before"
    assert filled.check().problems == ()


@pytest.mark.parametrize("backwards", [False, True])
def test_interrupted_it_goes_on_and_is_no_library_before_its_end(
    filled: Library, tmp_path: Path, database: str, backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_DOCUMENTS", 3)
    source, target = filled, database
    if backwards:
        filled.move(database)
        source, target = over(tmp_path / "shared", database), str(tmp_path / "back")

    def stop_at(seen: int) -> object:
        def report(_what: str, done: int, _total: int) -> None:
            if done >= seen:
                raise KeyboardInterrupt

        return report

    with pytest.raises(KeyboardInterrupt):
        source.move(target, stop_at(9))  # type: ignore[arg-type]
    if backwards:
        assert not (tmp_path / "back").exists()
    else:
        with pytest.raises(LibraryError, match=r"is not finished: the library at .* was being moved there"):
            over(tmp_path / "early", database).counts()
        with Library(tmp_path / "other") as other:
            other.put([Document("a", "text")])
            with pytest.raises(LibraryError, match="is not finished"):
                other.move(database)
    source.put([Document("d1", "Changed meanwhile."), Document("d2", "This too.")])
    source.remove(["d4"])
    report = source.move(target)
    assert (report.documents, report.already) == (19, 6), "of the first nine, one has gone and two have changed"
    source.build_index("bm25")  # without what the scores owe to documents that are gone
    with Library(tmp_path / "back") if backwards else over(tmp_path / "shared", database) as moved:
        assert_same(source, moved)
    source.close()


def test_what_is_in_the_way_stays(filled: Library, tmp_path: Path, database: str) -> None:
    with over(tmp_path / "shared", database) as shared:
        shared.put([Document("theirs", "text")])
        with pytest.raises(LibraryError, match=r"there is a library in .* already, which stays as it is"):
            filled.move(database)
        assert [facts.id for facts in shared.documents()] == ["theirs"]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP TABLE wherefrom")
    with pytest.raises(LibraryForeign, match="holds tables of something else"):
        filled.move(database)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").touch()
    with pytest.raises(LibraryError, match="there is something at"):
        filled.move(str(tmp_path / "full"))


def test_damage_is_not_moved(filled: Library, database: str) -> None:
    with sqlite3.connect(filled.path / "documents.sqlite") as connection:
        connection.execute("UPDATE document SET text = replace(text, 'Marta', 'Berta') WHERE id = 'd8'")
    with pytest.raises(LibraryDamaged, match="document 'd8': its text is not the one that was written"):
        filled.move(database)


def test_what_does_not_arrive_as_it_was_is_noticed(filled: Library, tmp_path: Path, database: str) -> None:
    store = PostgresStore(database, lambda *_: [])
    store.begin_filling(str(filled.path.absolute()))
    store.close()
    with psycopg.connect(database, autocommit=True) as connection:  # a server with a mind of its own
        connection.execute(
            "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN NEW.text = replace(convert_from(NEW.text, 'UTF8'), 'Marta', 'Berta')::bytea; RETURN NEW; END $$"
        )
        connection.execute("CREATE TRIGGER spoil BEFORE INSERT ON content FOR EACH ROW EXECUTE FUNCTION spoil()")
    with pytest.raises(LibraryDamaged, match="did not arrive as it was"):
        filled.move(database)
    with pytest.raises(LibraryError, match="is not finished"):
        over(tmp_path / "shared", database).counts()


def test_the_command_says_what_to_do_next_and_no_password(
    filled: Library, tmp_path: Path, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled.close()
    with_password = database.replace("@", ":s3cret@", 1)
    with pytest.raises(SystemExit) as left:
        main(["move", "--library", str(filled.path), "--to", with_password])
    assert left.value.code == 0
    shown = capsys.readouterr()
    assert "20 documents in" in shown.out
    assert "--set store.kind=postgres" in shown.out
    assert "s3cret" not in shown.out + shown.err
    with pytest.raises(SystemExit) as left:
        main(["move", "--library", str(filled.path), "--to", "postgres://me:s3cret@localhost:1/x"])
    shown = capsys.readouterr()
    assert left.value.code == 7
    assert "does not answer" in shown.err
    assert "s3cret" not in shown.out + shown.err
