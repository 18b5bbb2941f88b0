"""The TF-IDF index: the Index contract, its formula by hand, segments, processes, and damage."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.index import IndexContract
from wherefrom.config import LANGUAGES, IndexSettings
from wherefrom.errors import LibraryDamaged, LibraryError
from wherefrom.retrieve import tfidf
from wherefrom.retrieve.builders import Builders
from wherefrom.retrieve.ngrams import NGrams
from wherefrom.retrieve.tfidf import TfidfIndex
from wherefrom.stages import Index


class TestContract(IndexContract):
    """TfidfIndex is an Index."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Iterator[Callable[[], Index]]:
        opened: list[TfidfIndex] = []

        def index() -> TfidfIndex:
            opened.append(TfidfIndex(tmp_path / "tfidf", IndexSettings()))
            return opened[-1]

        yield index
        for one in opened:
            one.close()


def filled(path: Path, texts: list[str], settings: IndexSettings | None = None) -> TfidfIndex:
    index = TfidfIndex(path, settings or IndexSettings(), processes=1)
    index.create()
    index.put(range(len(texts)), texts)
    index.commit()
    return index


def idf(passages: int, holding: int) -> float:
    return math.log(1 + (passages - holding + 0.5) / (holding + 0.5))


def test_the_dot_product_is_that_of_the_formula(tmp_path: Path) -> None:
    """Sum over shared n-grams of log(1 + times in the question) idf * log(1 + times in the passage) idf."""
    index = filled(tmp_path, ["red red kite", "red fox", "grey owl", "brown owl"])
    (hits,) = index.search(["red kite"], 3, similarity="dot")
    once, twice = math.log(2), math.log(3)
    expected = {
        # shares "red", twice there, "kite", and the pair "red kite"; "red red" is not asked for
        0: once * twice * idf(4, 2) ** 2 + 2 * once * once * idf(4, 1) ** 2,
        1: once * once * idf(4, 2) ** 2,
    }
    assert dict(hits) == pytest.approx(expected, rel=1e-5)


def test_the_cosine_divides_by_both_lengths(tmp_path: Path) -> None:
    index = filled(tmp_path, ["red fox", "grey owl", "brown owl"], IndexSettings(ngrams=1))
    (hits,) = index.search(["red bee"], 3)
    red, fox, bee = idf(3, 1), idf(3, 1), idf(3, 0)
    assert dict(hits) == pytest.approx({0: red * red / (math.hypot(red, bee) * math.hypot(red, fox))}, rel=1e-5)


def test_a_passage_is_most_like_itself(tmp_path: Path) -> None:
    texts = ["The harbour was built of granite", "Granite is hard", "A harbour holds ships"]
    index = filled(tmp_path, texts)
    for key, text in enumerate(texts):
        best, score = index.search([text], 1)[0][0]
        assert (best, score) == (key, pytest.approx(1.0))


def test_words_in_a_row_count_for_more(tmp_path: Path) -> None:
    texts = ["the space race ended", "the race for space ended"]
    pairs = dict(filled(tmp_path / "pairs", texts).search(["space race"], 2)[0])
    single = dict(filled(tmp_path / "single", texts, IndexSettings(ngrams=1)).search(["space race"], 2)[0])
    assert pairs[0] > pairs[1]
    assert single[0] == pytest.approx(single[1])


def test_pairs_do_not_go_over_function_words_or_from_one_passage_to_the_next(tmp_path: Path) -> None:
    texts = ["house of cards", "red", "kite"]
    index = filled(tmp_path, texts)
    both, one = (index.search([text], 3, similarity="dot")[0] for text in ("house cards", "house"))
    assert both[0][1] == pytest.approx(2 * one[0][1])  # two words, no pair
    assert [score for _, score in index.search(["red kite"], 3, similarity="dot")[0]] == pytest.approx(
        [index.search(["red"], 1, similarity="dot")[0][0][1]] * 2
    )


def test_few_buckets_mean_collisions_and_no_crash(tmp_path: Path) -> None:
    texts = [" ".join(f"w{number}x{word}" for word in range(40)) for number in range(60)]
    index = filled(tmp_path, texts, IndexSettings(buckets=1024))
    assert {hits[0][0] for hits in index.search(texts, 1)} == set(range(60))
    assert len(index.search([texts[0]], 60)[0]) > 1, "nothing collides in 1,024 buckets?"


def test_function_words_find_nothing(tmp_path: Path) -> None:
    index = filled(tmp_path, ["what is the rose", "to be or not to be"])
    assert index.search(["what is it to be"], 2) == [[]]
    assert [key for key, _ in index.search(["what is the rose"], 2)[0]] == [0]


def test_finds_other_forms_of_a_word_and_other_spellings_of_a_letter(tmp_path: Path) -> None:
    index = filled(tmp_path, ["He was running a café", "nothing"])
    assert index.search(["runs"], 2)[0][0][0] == 0
    assert index.search(["CAFES"], 2)[0][0][0] == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_indexes_and_finds(tmp_path: Path, language: str) -> None:
    index = filled(tmp_path, ["Zebra 1908", "other"], IndexSettings(language=language))
    assert index.search(["zebra"], 2)[0][0][0] == 0


def some_texts(count: int, seed: int = 1) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(f"word{int(chance.paretovariate(0.7)) % 3000}" for _ in range(30)) for _ in range(count)]


def test_the_hashes_are_the_same_in_every_process() -> None:
    code = (
        "from wherefrom.retrieve.ngrams import NGrams\nfrom wherefrom.config import IndexSettings\n"
        "print(NGrams(IndexSettings()).counted(['The quick brown fox'])[0].tolist())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {f"{NGrams(IndexSettings()).counted(['The quick brown fox'])[0].tolist()}\n"}


def test_many_small_commits_give_the_scores_of_one(tmp_path: Path) -> None:
    """Segments are merged on the way; neither that nor the order of the puts is seen in a score."""
    texts = some_texts(400)
    whole = filled(tmp_path / "whole", texts)
    pieces = TfidfIndex(tmp_path / "pieces", IndexSettings(), processes=1)
    pieces.create()
    for start in range(0, 400, 8):
        pieces.put(range(start, start + 8), texts[start : start + 8])
        pieces.commit()
    segments = list((tmp_path / "pieces").glob("segment-*"))
    assert 1 < len(segments) < 25, "50 commits left more segments than merging should"
    assert pieces.keys() == set(range(400))
    for text in texts[::37]:
        one, other = whole.search([text], 10)[0], pieces.search([text], 10)[0]
        assert [key for key, _ in one] == [key for key, _ in other]
        assert [score for _, score in one] == pytest.approx([score for _, score in other], rel=1e-5)


@pytest.mark.parametrize("buckets", [1 << 20, 1 << 24, 1 << 32])
def test_lengths_are_the_same_however_they_are_added_up(tmp_path: Path, buckets: int) -> None:
    """Few buckets are counted in one array, many by sorting; the cosine of a text with itself is 1 either way."""
    texts = some_texts(60)
    index = TfidfIndex(tmp_path, IndexSettings(buckets=buckets), processes=1)
    index.create()
    for start in range(0, 60, 20):
        index.put(range(start, start + 20), texts[start : start + 20])
        index.commit()
    for key, text in enumerate(texts):
        assert index.search([text], 1)[0] == [(key, pytest.approx(1.0, abs=1e-5))]


def test_a_segment_with_much_removed_is_made_anew_and_forgets(tmp_path: Path) -> None:
    texts = some_texts(90)
    index = filled(tmp_path / "index", texts)
    index.remove(range(50))
    index.commit()
    kept = filled(tmp_path / "kept", texts[50:])
    one, other = index.search([texts[70]], 5)[0], kept.search([texts[70]], 5)[0]
    assert one == [(key + 50, score) for key, score in other], "what is gone still counts"
    index.remove(range(50, 90))
    index.commit()
    assert index.keys() == set()
    assert index.search([texts[70]], 5) == [[]]
    assert not list((tmp_path / "index").glob("segment-*"))


def test_a_key_removed_and_put_again_before_the_commit_is_there(tmp_path: Path) -> None:
    index = filled(tmp_path, ["red kite", "grey owl"])
    index.put([7], ["blue whale"])
    index.remove([0, 7])
    index.put([0], ["green frog"])
    index.commit()
    assert index.keys() == {0, 1}
    assert index.search(["kite", "whale"], 3) == [[], []]
    assert [key for key, _ in index.search(["frog"], 3)[0]] == [0]


def test_processes_build_what_one_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*some_texts(300), "a \ud800 surrogate"]
    alone = filled(tmp_path / "alone", texts)
    monkeypatch.setattr(tfidf, "_PIECE", 100)
    monkeypatch.setattr(tfidf, "_WORTH_PROCESSES", 50)
    index = TfidfIndex(tmp_path / "many", IndexSettings(), processes=2)
    index.create()
    index.put(range(len(texts)), texts)
    index.commit()
    assert len(list((tmp_path / "many").glob("segment-*"))) > 1
    for text in texts[::50]:
        one, other = alone.search([text], 10)[0], index.search([text], 10)[0]
        assert [key for key, _ in one] == [key for key, _ in other]
    index.close()


def test_a_process_that_cannot_write_is_told(tmp_path: Path) -> None:
    builders = Builders(IndexSettings(), 1)
    builders.build(tmp_path / "nowhere" / "segment", [1], ["red kite"])
    with pytest.raises(LibraryError, match="cannot be built"):
        builders.finished()
    builders.close()


def test_a_process_that_ends_is_told_and_the_next_commit_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfidf, "_PIECE", 10)
    index = TfidfIndex(tmp_path, IndexSettings(), processes=2)
    index.create()
    monkeypatch.setattr(tfidf, "_WORTH_PROCESSES", 2)
    index.put(range(10), some_texts(10))
    assert index._new is not None
    for process in index._new._builders._busy:
        process.kill()
    with pytest.raises(LibraryError, match="has ended"):
        index.commit()
    index.put([99], ["blue whale"])
    index.commit()
    assert index.keys() == {99}
    index.close()


def test_what_a_killed_writer_left_is_cleared_away(tmp_path: Path) -> None:
    index = filled(tmp_path, ["red kite"])
    (tmp_path / "segment-left").mkdir()
    (tmp_path / "segment-left" / "keys.bin").write_bytes(b"12345678")
    index.close()
    index.put([5], ["grey owl"])
    index.commit()
    assert index.keys() == {0, 5}
    assert not (tmp_path / "segment-left").exists()


def test_a_reader_keeps_its_view_while_segments_are_merged_under_it(tmp_path: Path) -> None:
    index = filled(tmp_path, ["red kite"])
    reader = TfidfIndex(tmp_path, IndexSettings())
    before = reader.search(["kite"], 5)
    for key in range(1, 20):
        index.put([key], [f"red kite number {key}"])
        index.commit()
    assert reader.search(["kite"], 5) == before
    reader.refresh()
    assert len(reader.search(["kite"], 50)[0]) == 20


def test_two_that_write_in_turn_keep_what_the_other_wrote(tmp_path: Path) -> None:
    one, other = filled(tmp_path, ["red kite"]), TfidfIndex(tmp_path, IndexSettings())
    for key in range(1, 7):
        writer = (one, other)[key % 2]
        assert len(writer.search(["kite"], 50)[0]) >= 1  # it reads in between, and so holds an old view
        writer.put([key], [f"red kite number {key}"])
        writer.commit()
    one.refresh()
    assert one.keys() == set(range(7))


@pytest.mark.parametrize("damage", ["torn", "garbled", "manifest", "lengths"])
def test_a_damaged_index_is_named_with_the_remedy(tmp_path: Path, damage: str) -> None:
    filled(tmp_path, some_texts(50)).close()
    (segment,) = tmp_path.glob("segment-*")
    if damage == "torn":
        file = segment / "places.bin"
        file.write_bytes(file.read_bytes()[:-3])
    elif damage == "garbled":
        file = segment / "times.bin"
        file.write_bytes(bytes(len(file.read_bytes())))
    elif damage == "lengths":
        next(tmp_path.glob("lengths-*")).write_bytes(bytes(200))
    else:
        (tmp_path / "index.json").write_text("{broken")
    with pytest.raises(LibraryDamaged, match="`wherefrom check` makes it anew"):
        TfidfIndex(tmp_path, IndexSettings()).keys()


def test_an_index_of_other_settings_is_refused(tmp_path: Path) -> None:
    filled(tmp_path, ["red kite"]).close()
    with pytest.raises(LibraryDamaged, match=r"ngrams 2.*wherefrom index tfidf"):
        TfidfIndex(tmp_path, IndexSettings(ngrams=3)).search(["red"], 1)
    assert json.loads((tmp_path / "index.json").read_text())["ngrams"] == 2
