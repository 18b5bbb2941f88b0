"""The index on a Qdrant server: the Index contract, and that it finds what the index on this disk finds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import accumulate, pairwise
from pathlib import Path

import numpy
import pytest
from bench.filters import ranges
from bench.qdrant import QdrantProcess
from numpy.typing import NDArray

from contracts.index import IndexContract
from wherefrom.config import IndexSettings
from wherefrom.errors import LibraryDamaged, LibraryUnreachable, SettingsError
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.retrieve.qdrant import QdrantIndex
from wherefrom.stages import Index, KeyRanges, ServedIndex

Make = Callable[..., QdrantIndex]
Hits = Sequence[tuple[int, float]]


@pytest.fixture
def make(tmp_path: Path, qdrant: QdrantProcess) -> Iterator[Make]:
    """Opens the same index anew each time, or another in a folder of this name."""
    with ExitStack() as closing:

        def make(folder: str = "qdrant", url: str = qdrant.url, **more: object) -> QdrantIndex:
            index = QdrantIndex(tmp_path / folder, IndexSettings(), url, **more)  # type: ignore[arg-type]
            closing.callback(index.close)
            return index

        yield make


class TestContract(IndexContract):
    """QdrantIndex is an Index."""

    @pytest.fixture
    def make(self, make: Make) -> Callable[[], Index]:
        return make


def made_texts(seed: int, texts: int, words: tuple[int, int]) -> list[str]:
    chance = random.Random(seed)
    often = list(accumulate(1 / (number + 3) for number in range(400)))
    return [
        " ".join(chance.choices([f"w{number}" for number in range(400)], cum_weights=often, k=chance.randrange(*words)))
        for _ in range(texts)
    ]


def assert_same(served: Hits, embedded: Hits) -> None:
    """The same scores, and the same keys, but for those whose scores differ by no more than 32 bits tell."""
    assert [score for _, score in served] == pytest.approx([score for _, score in embedded], rel=2e-5)
    last = embedded[-1][1] * (1 + 4e-5) if embedded else 0.0
    assert {key for key, score in served if score > last} == {key for key, score in embedded if score > last}
    for (_, before), (_, after) in pairwise(served):
        assert before >= after


@pytest.fixture
def both(make: Make, tmp_path: Path) -> Iterator[tuple[QdrantIndex, BM25Index]]:
    """The same made passages in both: short ones, then many that are three times as long, put in several commits."""
    served, embedded = make(), BM25Index(tmp_path / "bm25", IndexSettings())
    key = 0
    for index in (served, embedded):
        index.create()
        key = 0
        for seed, count, words in ((1, 30, (3, 30)), (2, 300, (20, 90)), (3, 300, (30, 120))):
            index.put(range(key, key + count), made_texts(seed, count, words))
            index.commit()
            key += count
    yield served, embedded
    embedded.close()


def test_finds_what_the_embedded_index_finds_with_the_same_scores(both: tuple[QdrantIndex, BM25Index]) -> None:
    served, embedded = both
    questions = made_texts(9, 40, (1, 9))
    for question in questions:
        for k in (1, 10, 100):
            assert_same(served.search([question], k)[0], embedded.search([question], k)[0])


@pytest.mark.parametrize("shape", ["one range", "every third", "scattered", "nothing", "other words"])
def test_a_part_of_the_keys_is_searched_as_in_the_embedded_index(
    both: tuple[QdrantIndex, BM25Index], shape: str
) -> None:
    served, embedded = both
    chance = random.Random(5)
    part: KeyRanges = {
        "one range": ranges(range(40, 90)),
        "every third": ranges(range(0, 630, 3)),
        "scattered": ranges(sorted(chance.sample(range(630), 150))),
        "nothing": KeyRanges((), ()),
        "other words": ranges(range(0, 630, 7)),
    }[shape]
    for question in made_texts(9, 15, (1, 4)):
        expected = embedded.search([question], 10, part)[0]
        assert_same(served.search([question], 10, part)[0], expected)


def test_more_ranges_than_the_server_is_told_are_sifted(make: Make) -> None:
    served = make()
    served.create()
    served.put(range(1000), ["a quokka" if key % 2 else "a quokka and a wombat" for key in range(1000)])
    served.commit()
    (hits,) = served.search(["wombat quokka"], 5, ranges(range(1, 1000, 2)))
    assert [key for key, _ in hits] == [1, 3, 5, 7, 9]


def test_removed_passages_no_longer_count(make: Make, tmp_path: Path) -> None:
    """tantivy counts them until it merges; here the scores are those of an index that never had them."""
    served, fresh = make(), make("fresh")
    texts = made_texts(4, 60, (5, 40))
    served.create()
    served.put(range(60), texts)
    served.commit()
    served.remove(range(20, 60))
    served.commit()
    fresh.create()
    fresh.put(range(20), texts[:20])
    fresh.commit()
    for question in made_texts(9, 10, (1, 5)):
        assert_same(served.search([question], 10)[0], fresh.search([question], 10)[0])
    assert served.frequency("w1") == fresh.frequency("w1")


def test_short_passages_that_are_all_gone_when_the_mean_has_grown(make: Make) -> None:
    """There is nothing left then whose weights were to be made anew."""
    index = make()
    index.create()
    index.put([1, 2], ["red kite", "red fox"])
    index.commit()
    index.remove([1, 2])
    index.commit()
    index.put([3], ["a red wolf in the long grass of the northern plains"])
    index.commit()
    assert [key for key, _ in index.search(["red"], 5)[0]] == [3]


def test_knows_words_as_the_embedded_index_does(both: tuple[QdrantIndex, BM25Index]) -> None:
    served, embedded = both
    assert served.term("Wombats") == embedded.term("Wombats")
    assert served.frequency("w7") == embedded.frequency("w7") > 0
    assert served.frequency("nothing") == 0
    assert dict(served.beginning("w1", 500)) == dict(embedded.beginning("w1", 500))
    assert len(served.beginning("w1", 5)) == 5


def test_what_a_killed_writer_left_is_not_seen_and_cleared_away(make: Make) -> None:
    writer = make()
    writer.create()
    writer.put([1], ["red kite"])
    writer.commit()
    writer.put([2, 3], ["red fox", "grey fox"])
    writer.remove([1])
    writer.close()  # killed before it committed
    other = make()
    assert [key for key, _ in other.search(["red fox"], 5)[0]] == [1]
    assert other.keys() == {1}
    other.put([], [])
    other.commit()
    other.put([4], ["grey wolf"])
    other.commit()
    assert [key for key, _ in other.search(["red fox wolf"], 5)[0]] == [1, 4]
    assert other.frequency("fox") == 0
    assert other.keys() == {1, 4}


def test_killed_after_the_commit_and_before_the_old_ones_were_taken(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make()
    writer.create()
    writer.put([1, 2], ["red kite", "red fox"])
    writer.commit()
    writer.remove([1])
    with monkeypatch.context() as patch:
        patch.setattr(QdrantIndex, "_take_dropped", lambda self: None)
        writer.commit()
    writer.close()
    other = make()
    assert [key for key, _ in other.search(["red"], 5)[0]] == [2]
    assert other.keys() == {2}
    assert not other.behind()


def test_a_server_that_lost_passages_is_noticed_and_given_them_again(make: Make) -> None:
    index = make()
    texts = dict(enumerate(made_texts(1, 50, (5, 40))))
    index.create()
    index.put(list(texts), list(texts.values()))
    index.commit()
    before = index.search(["w1 w2 w3"], 20)
    index._request("POST", "/points/delete?wait=true", {"points": [3, 4, 5]})
    reader = make()
    with pytest.raises(LibraryDamaged, match="has lost passages"):
        reader.search(["w1"], 5)
    assert reader.behind()
    assert reader.catch_up(set(texts), lambda keys: ((key, texts[key]) for key in sorted(keys))) == 3
    assert not reader.behind()
    assert reader.search(["w1 w2 w3"], 20) == before


def test_two_copies_of_an_index_do_not_write_into_each_other(make: Make, tmp_path: Path) -> None:
    import shutil

    first = make()
    first.create()
    first.put([1], ["red kite"])
    first.commit()
    first.close()
    shutil.copytree(tmp_path / "qdrant", tmp_path / "copy")
    copy = make("copy")
    copy.put([2], ["grey fox"])
    copy.commit()
    for act in (lambda: first.search(["kite"], 1), lambda: first.put([2], ["wolf"]), first.erase, first.keys):
        with pytest.raises(LibraryDamaged, match="changed by another library"):
            act()
    assert [key for key, _ in copy.search(["fox"], 1)[0]] == [2]


def test_a_collection_that_is_gone_is_an_error_with_the_remedy(make: Make) -> None:
    index = make()
    index.create()
    index.put([1], ["red kite"])
    index.commit()
    index._request("DELETE", "")
    with pytest.raises(LibraryDamaged, match=r"no collection .*`wherefrom check`"):
        make().search(["kite"], 1)


def test_a_server_that_is_away_is_named_with_the_remedy(make: Make) -> None:
    make().create()
    with pytest.raises(LibraryUnreachable, match=r"Qdrant server at http://127.0.0.1:9 .*retrieve.url"):
        make(url="http://127.0.0.1:9").search(["kite"], 1)


def test_what_is_no_address_is_refused(make: Make) -> None:
    make().create()
    with pytest.raises(SettingsError, match="http://HOST:PORT"):
        make(url="localhost:6333").search(["kite"], 1)


def test_is_a_served_index(make: Make) -> None:
    assert isinstance(make(), ServedIndex)


class Letters:
    """An embedder of the test's own: how often each of eight letters stands in a text."""

    width = 8
    identity = "letters 1"

    def vectors(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        return numpy.array([[text.count(letter) + 0.01 for letter in "abcdefgh"] for text in texts], numpy.float32)


def test_meaning_is_found_by_cosine_and_ranks_are_fused(make: Make) -> None:
    chance = random.Random(3)
    texts = [" ".join(chance.choices(["abba", "cede", "fed", "gag", "hah", "dad", "bee"], k=6)) for _ in range(80)]
    index = make(dense="letters", embedder=lambda _: Letters())
    index.create()
    index.put(range(80), texts)
    index.commit()
    question = "cede gag"
    vectors, wanted = Letters().vectors(texts), Letters().vectors([question])[0]
    cosines = vectors @ wanted / numpy.linalg.norm(vectors, axis=1) / numpy.linalg.norm(wanted)
    (near,) = index.search_meaning([question], 10)
    assert [score for _, score in near] == pytest.approx(sorted(cosines.tolist(), reverse=True)[:10], abs=1e-5)
    (words,) = index.search([question], 80)
    (fused,) = index.search_both([question], 80, pool=80)
    by_meaning = {key: rank for rank, (key, _) in enumerate(index.search_meaning([question], 80)[0])}
    by_words = {key: rank for rank, (key, _) in enumerate(words)}
    best = fused[0][0]
    assert fused[0][1] == pytest.approx(
        sum(1 / (2 + ranks[best]) for ranks in (by_meaning, by_words) if best in ranks), rel=0.2
    )
    part = ranges(range(20, 40))
    assert {key for key, _ in index.search_both([question], 20, part)[0]} == set(range(20, 40))
    assert index.search_both([""], 5) == [[]]


def test_vectors_of_other_weights_are_refused(make: Make) -> None:
    class Others(Letters):
        identity = "letters 2"

    index = make(dense="letters", embedder=lambda _: Letters())
    index.create()
    index.put([1], ["abba"])
    index.commit()
    with pytest.raises(SettingsError, match="letters 2"):
        make(embedder=lambda _: Others()).search_both(["abba"], 1)
    plain = make("plain")
    plain.create()
    with pytest.raises(SettingsError, match="has no vectors"):
        plain.search_both(["abba"], 1)
