"""Libraries whose documents are in PostgreSQL: they answer as others do, and folders on several machines agree."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack.private_postgres import PrivatePostgres

from wherefrom import Library
from wherefrom.config import Settings, resolve, to_mapping
from wherefrom.errors import (
    LibraryDamaged,
    LibraryError,
    LibraryForeign,
    LibraryMissing,
    LibraryUnreachable,
    NotFound,
    SettingsError,
)
from wherefrom.types import Document, Filter, Question

psycopg = pytest.importorskip("psycopg", reason="documents in PostgreSQL: pip install 'wherefrom[scale]'")

SAMPLE = Path(__file__).parents[2] / "sample"
ASKED_WHOLE = 5  # of the sample's questions; the passages are compared for all of them


@pytest.fixture
def opened() -> Iterator[list[Library]]:
    libraries: list[Library] = []
    yield libraries
    for library in libraries:
        library.close()


def shared(path: Path, url: str, opened: list[Library], *more: str) -> Library:
    opened.append(Library(path, resolve(overrides=["store.kind=postgres", f"store.url={url}", *more])))
    return opened[-1]


def ids(library: Library, words: str) -> list[str]:
    return [hit.passage.id for hit in library.search(words).hits]


def test_the_sample_is_answered_as_from_a_folder(tmp_path: Path, database: str, opened: list[Library]) -> None:
    embedded = Library(tmp_path / "embedded")
    opened.append(embedded)
    both = embedded, shared(tmp_path / "shared", database, opened)
    for library in both:
        library.ingest([SAMPLE / "library"], tags=["sample"])
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["question"] for line in lines]
    questions = [Question(str(number), text) for number, text in enumerate(texts)]
    first, second = ([trace.hits for trace in each.pipeline().find_many(questions)] for each in both)
    assert first == second, "the same passages with the same scores"
    assert len({hits[0].passage.id for hits in first if hits}) > 50
    for text in texts[: 24 * ASKED_WHOLE : 24]:
        assert embedded.ask(text).answer == both[1].ask(text).answer
    for look in (
        lambda each: each.documents(),
        lambda each: each.counts(),
        lambda each: each.tags(),
        lambda each: each.documents(within=Filter(types=("pdf",))),
        lambda each: [each.document(facts.id) for facts in each.documents()],
        lambda each: [each.passages_of(facts.id) for facts in each.documents()],
    ):
        assert look(both[0]) == look(both[1])
    again = both[1].ingest([SAMPLE / "library"])
    assert (again.added, again.replaced, again.unchanged) == (0, 0, 60)
    assert both[1].check().problems == ()


def test_a_second_folder_follows_what_the_first_one_does(tmp_path: Path, database: str, opened: list[Library]) -> None:
    first = shared(tmp_path / "first", database, opened)
    first.put([Document("a", "The boiler hums."), Document("b", "The kettle sings.")])
    second = shared(tmp_path / "second", database, opened)
    assert ids(second, "boiler") == ["a#0"], "it is made, and filled from the database"
    first.put([Document("a", "The stove glows."), Document("c", "A boiler again.")])
    assert (ids(second, "boiler"), ids(second, "stove")) == (["c#0"], ["a#0"])
    second.remove(["c"])
    assert (ids(first, "boiler"), ids(first, "kettle")) == ([], ["b#0"])
    second.tag(["b"], ["warm"])
    assert [hit.passage.id for hit in first.search("the kettle", within=Filter(tags=("warm",))).hits] == ["b#0"]
    with pytest.raises(NotFound):
        first.search("kettle", within=Filter(tags=("cold",)))
    assert first.build_index("tfidf") == 2
    assert first.check().problems == second.check().problems == ()
    assert (tmp_path / "second" / "library.toml").exists()


def test_a_folder_remembers_its_database_and_takes_no_other(
    tmp_path: Path, database: str, postgres: PrivatePostgres, opened: list[Library]
) -> None:
    shared(tmp_path / "one", database, opened, "split.words=50", "split.overlap=5").put([Document("a", "text")])
    plain = Library(tmp_path / "one")
    opened.append(plain)
    assert plain.counts() == (1, 1), "without a word of where its documents are"
    assert plain.settings().split.words == 50
    assert plain.settings().store.kind == "postgres"
    postgres.execute("CREATE SCHEMA elsewhere")
    try:
        other = postgres.url(schema="elsewhere")
        shared(tmp_path / "two", other, opened).put([Document("b", "text")])
        with pytest.raises(LibraryForeign, match="those of another database"):
            shared(tmp_path / "one", other, opened).counts()
        with pytest.raises(SettingsError, match=r"made with split\.words = 50"):
            shared(tmp_path / "three", database, opened, "split.words=60").counts()
    finally:
        postgres.execute("DROP SCHEMA elsewhere CASCADE")


def test_what_is_not_there_is_told(tmp_path: Path, database: str, opened: list[Library]) -> None:
    with pytest.raises(LibraryMissing, match="there is no library in postgresql://"):
        shared(tmp_path / "new", database, opened).counts()
    assert not (tmp_path / "new").exists()
    Library(tmp_path / "embedded").put([Document("a", "text")])
    with pytest.raises(LibraryForeign, match="has its documents in its folder"):
        shared(tmp_path / "embedded", database, opened).make()
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("not ours")
    with pytest.raises(LibraryForeign, match="is not a library and is not empty"):
        shared(tmp_path / "letters", database, opened).make()
    with pytest.raises(SettingsError, match=r"add store\.kind=postgres"):
        Library(tmp_path / "x", resolve(overrides=[f"store.url={database}"])).counts()
    with pytest.raises(SettingsError, match=r"needs store\.url"):
        Library(tmp_path / "x", resolve(overrides=["store.kind=postgres"])).counts()


def test_a_password_is_in_nothing_that_is_kept_or_shown(tmp_path: Path, database: str, opened: list[Library]) -> None:
    with_password = database.replace("@", ":s3cret@", 1)
    settings = resolve(overrides=["store.kind=postgres", f"store.url={with_password}"])
    assert "s3cret" not in f"{settings}{to_mapping(settings)}"
    shared(tmp_path / "library", with_password, opened).put([Document("a", "text")])
    assert not [file for file in (tmp_path / "library").rglob("*") if file.is_file() and b"s3cret" in file.read_bytes()]
    with psycopg.connect(database) as connection:
        (kept,) = connection.execute("SELECT string_agg(value, '') FROM meta").fetchone() or ("",)
    assert "s3cret" not in kept
    assert to_mapping(Settings())["store"] == {"kind": "sqlite", "url": ""}


def test_writers_from_two_folders_at_once(tmp_path: Path, database: str, opened: list[Library]) -> None:
    libraries = [shared(tmp_path / name, database, opened) for name in ("one", "two")]
    libraries[0].make()
    failures: list[BaseException] = []

    def fill(number: int) -> None:
        try:
            for round in range(4):
                file = tmp_path / f"rows-{number}-{round}.jsonl"
                rows = [
                    {"id": f"{number}-{round}-{n}", "text": f"Mark{number}x{round}x{n} is here."} for n in range(10)
                ]
                file.write_text("\n".join(map(json.dumps, rows)))
                libraries[number].ingest([file])
                libraries[number].remove([f"{number}-{round}-0"])
        except BaseException as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [threading.Thread(target=fill, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for library in libraries:
        assert library.counts() == (72, 72)
        assert ids(library, "Mark0x3x5") == ["0-3-5#0"]
        assert ids(library, "Mark1x0x9") == ["1-0-9#0"]
        assert ids(library, "Mark1x0x0") == []
        assert library.check().problems == ()


def test_a_database_that_was_put_back_is_followed_back(tmp_path: Path, database: str, opened: list[Library]) -> None:
    library = shared(tmp_path / "library", database, opened)
    library.put([Document("a", "The boiler hums.")])
    library.put([Document("b", "The kettle sings.")])
    with psycopg.connect(database, autocommit=True) as connection:  # to before the second, and something else since
        for table in ("document", "content", "passage", "checksum", "change"):
            key = {"document": "key", "change": "number"}.get(table, "document")
            connection.execute(f"DELETE FROM {table} WHERE {key} = 2")  # type: ignore[arg-type, unused-ignore]
        connection.execute("UPDATE wherefrom SET next_key = 2, next_document = 2")
    other = shared(tmp_path / "other", database, opened)
    other.put([Document("c", "The lamp glows.")])
    assert other.counts() == (2, 2)
    assert (ids(library, "kettle"), ids(library, "lamp")) == ([], ["c#0"]), "the key of b is now that of c"
    assert library.check().problems == ()


def test_a_broken_index_is_made_anew_and_a_lost_folder_too(
    tmp_path: Path, database: str, opened: list[Library]
) -> None:
    library = shared(tmp_path / "library", database, opened)
    library.put([Document("a", "The boiler hums.")])
    (segment, *_) = [file for file in (tmp_path / "library" / "index" / "bm25").iterdir() if file.suffix == ".term"]
    segment.write_bytes(b"x" + segment.read_bytes())
    with pytest.raises(LibraryDamaged, match="`wherefrom check` makes it anew"):
        library.put([Document("b", "The kettle sings.")])
    library.close()
    (problem,) = library.check().problems
    assert problem.repaired
    assert "files are not what was written" in problem.what
    assert (ids(library, "boiler"), ids(library, "kettle")) == (["a#0"], ["b#0"])
    assert library.check().problems == ()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE content SET text = 'The boiler sums.' WHERE document = 1")
        connection.execute("INSERT INTO content VALUES (99, 'astray')")
    report = library.check()
    assert not report.sound
    assert any("1 texts belong to no document" in problem.what for problem in report.problems)


def test_questions_go_on_when_the_database_is_back(
    tmp_path: Path, database: str, postgres: PrivatePostgres, opened: list[Library]
) -> None:
    library = shared(tmp_path / "library", database, opened)
    library.put([Document("a", "The boiler hums.")])
    postgres.kill()
    try:
        for action in (lambda: library.search("boiler"), lambda: library.put([Document("b", "The kettle sings.")])):
            with pytest.raises(LibraryUnreachable, match="nothing that was acknowledged is lost"):
                action()
    finally:
        postgres.start()
    assert ids(library, "boiler") == ["a#0"]
    library.put([Document("b", "The kettle sings.")])
    assert ids(library, "kettle") == ["b#0"]


def test_a_backup_of_it_is_one_like_any_other(tmp_path: Path, database: str, opened: list[Library]) -> None:
    library = shared(tmp_path / "library", database, opened)
    library.put([Document("a", "The boiler — hums. 灯台", "T", "/a.md", "2024-01-01"), Document("b", "")])
    library.tag(["a"], ["warm"])
    library.backup(tmp_path / "notes.backup")
    Library.restore(tmp_path / "notes.backup", tmp_path / "restored")
    restored = Library(tmp_path / "restored")
    opened.append(restored)
    assert restored.documents() == library.documents()
    assert (restored.document("a"), ids(restored, "boiler")) == (library.document("a"), ["a#0"])


def test_what_rescue_is_not_for_is_told(tmp_path: Path, database: str, opened: list[Library]) -> None:
    library = shared(tmp_path / "library", database, opened)
    library.make()
    with pytest.raises(LibraryError, match="database"):
        library.rescue(tmp_path / "new")
