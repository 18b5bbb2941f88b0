"""Filters: which documents fit, and that a filtered search gives what sifting everything by hand would."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import NotFound, SettingsError
from wherefrom.ingest.formats import PICTURES, SUFFIXES
from wherefrom.retrieve import bm25
from wherefrom.stages import Index, KeyRanges
from wherefrom.store.sqlite import SQLiteStore
from wherefrom.store.within import TYPES, in_words
from wherefrom.types import Document, Filter

DOCUMENTS = [
    Document("reports/a.pdf", "one", source="/disk/work/reports/a.pdf", date="2023-12-31T08:00:00Z"),
    Document("reports/b.md", "two", source="/disk/work/reports/b.md", date="2024-05-31"),
    Document("reports/old/c.md.gz", "three", source="/disk/work/reports/old/c.md.gz", date="2025-06-30T23:59:59Z"),
    Document("reports2/d.html", "four", source="/disk/work/reports2/d.html", date="2025-07-01"),
    Document("100%_sure/e.htm", "five", source="sent:100%_sure/e.htm"),
    Document("memo", "six"),
]


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    store = SQLiteStore(tmp_path / "documents.sqlite", lambda text, _: [(0, len(text))])
    store.open(create=True)
    store.put(DOCUMENTS)
    return store


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Filter(folders=("reports",)), "abc"),
        (Filter(folders=("./reports/",)), "abc"),
        (Filter(folders=("/disk/work/reports/old", "reports2")), "cd"),
        (Filter(folders=("reports\\old",)), "c"),
        (Filter(folders=("/",)), "abcd"),
        (Filter(folders=("reports/a.pdf",)), "a"),
        (Filter(folders=("100%_sure",)), "e"),
        (Filter(since="2024"), "bcd"),
        (Filter(since="2024-06"), "cd"),
        (Filter(until="2025-06"), "abc"),
        (Filter(until="2025-06-30"), "abc"),
        (Filter(until="2023"), "a"),
        (Filter(since="2024", until="2024"), "b"),
        (Filter(types=("pdf",)), "a"),
        (Filter(types=(".MD",)), "bc"),
        (Filter(types=("html",)), "de"),
        (Filter(types=("pdf", "markdown")), "abc"),
        (Filter(folders=("reports",), since="2024", types=("md",)), "bc"),
        (Filter(), "abcdem"),
    ],
    ids=lambda value: in_words(value) if isinstance(value, Filter) else "",
)
def test_which_documents_fit(store: SQLiteStore, part: Filter, expected: str) -> None:
    fitting = [facts.id for facts in store.documents(part=part)]
    assert sorted(id.rpartition("/")[2][0] for id in fitting) == list(expected)
    passages = store.passages_at(list(itertools.chain(*_keys(store.keys_within(part)))))
    assert sorted(passage.document_id for passage in passages.values()) == fitting


def _keys(within: KeyRanges) -> Iterator[range]:
    return map(range, within.firsts, within.stops)


@pytest.mark.parametrize("day", ["yesterday", "2024-13", "2024-5", "24", "2024-01-32", "٢٠٢٤", "2024-01-01T00:00"])
def test_what_is_no_date_is_said_to_be_none(store: SQLiteStore, day: str) -> None:
    with pytest.raises(SettingsError, match="is not a date; write a year, a month or a day"):
        store.keys_within(Filter(since=day))
    with pytest.raises(SettingsError, match="is not a date"):
        list(store.documents(part=Filter(until=day)))


def test_where_nothing_fits_that_is_said_with_the_whole_filter(store: SQLiteStore) -> None:
    with pytest.raises(NotFound, match=r"no document of the library is in x or y, since 2030 and of type pdf; `where"):
        store.keys_within(Filter(folders=("x", "y"), since="2030", types=("pdf",)))


def test_a_change_of_the_library_is_seen_at_once_by_whomever_it_was_made(store: SQLiteStore) -> None:
    part = Filter(folders=("reports",))
    assert len(store.keys_within(part)) == 3
    store.put([Document("reports/new.txt", "new")])
    assert len(store.keys_within(part)) == 4
    other = SQLiteStore(store.path, lambda text, _: [(0, len(text))])
    other.remove(["reports/new.txt", "reports/a.pdf"])
    assert len(store.keys_within(part)) == 2
    assert store.keys_within(part) is store.keys_within(part)  # and what has not changed is not looked up again


def test_every_named_type_is_one_that_is_read() -> None:
    named = {f".{suffix}" for name, suffixes in TYPES.items() for suffix in suffixes if name != "man"}
    assert named <= SUFFIXES.keys() | PICTURES
    assert {f".{suffix}" for suffix in TYPES["pictures"]} == PICTURES


# ------------------------------------------------------------------------------- equality with brute force

WORDS = [f"w{number}" for number in range(400)]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """3,000 passages in 600 documents of twelve folders, the folders' documents in a row and those of a type not."""
    chance = random.Random(7)
    library = Library(tmp_path_factory.mktemp("large") / "library", resolve(overrides=["retrieve.kind=tfidf"]))
    documents = []
    for number in range(600):
        text = "\n\n".join(" ".join(chance.choices(WORDS, range(400, 0, -1), k=40)) for _ in range(5))
        suffix = "pdf" if number % 50 == 0 else chance.choice(["md", "txt", "html"])
        id = f"folder{number // 50}/{number}.{suffix}"
        documents.append(Document(id, text, source=f"/d/{id}", date=f"20{10 + number % 15}-01-01"))
    library.put(documents)
    library.put(documents[5:15])  # whose keys are now others
    library.put([Document(each.id, each.text, "changed", each.source) for each in documents[100:300:3]])
    library.remove([each.id for each in documents[20:30]])
    return library


PARTS = [
    Filter(folders=("folder0",)),
    Filter(folders=("folder1", "folder7")),
    Filter(types=("pdf",)),
    Filter(types=("md", "html")),
    Filter(since="2018", types=("md",)),
    Filter(until="2023", types=("md", "html", "txt")),
    Filter(folders=("folder4/200.md", "folder4/200.txt", "folder4/200.html", "folder4/200.pdf")),
    Filter(since="2011"),
]


@pytest.mark.parametrize("kind", ["bm25", "tfidf"])
@pytest.mark.parametrize("part", PARTS, ids=in_words)
def test_the_best_within_are_those_that_sifting_everything_gives(large: Library, kind: str, part: Filter) -> None:
    index, store = large._folder().index(kind), large._folder().store
    within = store.keys_within(part)
    fitting = {facts.id for facts in large.documents(within=part)}
    for text in ("w0 w1 w2", "w300 w5 w390", "w17", "nowhere", ""):
        for k in (1, 10, 200):
            assert alike(index.search([text], k, within)[0], sifted(index, store, text, k, fitting)), (text, k)


def sifted(index: Index, store: SQLiteStore, text: str, k: int, fitting: set[str]) -> list[tuple[int, float]]:
    (everything,) = index.search([text], 100_000)
    passages = store.passages_at([key for key, _ in everything])
    return [(key, score) for key, score in everything if key in passages and passages[key].document_id in fitting][:k]


def alike(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> bool:
    """The same scores; the same keys, but for those whose scores differ by rounding alone."""
    scores, expected = dict(one), dict(other)
    if [score for _, score in one] != pytest.approx([score for _, score in other], rel=1e-5):
        return False
    last = min(expected.values(), default=0.0) * (1 + 1e-5)
    return all(scores[key] <= last for key in scores.keys() - expected.keys())


@pytest.mark.parametrize("limits", [(0, 10**9), (0, 0), (10**9, 0)], ids=["sifting", "naming keys", "ranges"])
def test_each_way_of_narrowing_bm25_is_exact(
    large: Library, limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bm25, "_FEW_RANGES", limits[0])
    monkeypatch.setattr(bm25, "_MOST_SIFTED", limits[1])
    index, store = large._folder().index("bm25"), large._folder().store
    for part in (Filter(folders=("folder3",)), Filter(types=("pdf",)), Filter(types=("md",), since="2015")):
        fitting = {facts.id for facts in large.documents(within=part)}
        narrowed = index.search(["w0 w40 w7"], 20, store.keys_within(part))[0]
        assert len(narrowed) > 5
        assert alike(narrowed, sifted(index, store, "w0 w40 w7", 20, fitting))


def test_no_key_at_all_finds_nothing(large: Library) -> None:
    for kind in ("bm25", "tfidf"):
        assert large._folder().index(kind).search(["w0"], 5, KeyRanges((), ())) == [[]]


def test_every_hit_of_a_filtered_question_fits_and_there_are_as_many_as_there_can_be(large: Library) -> None:
    hits = large.search("w0 w1 w2", 12, Filter(types=("pdf",))).hits
    assert len(hits) == 12
    assert all(hit.passage.document_id.endswith(".pdf") for hit in hits)
