"""The BM25 index: the Index contract, its formula, and languages."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.index import IndexContract
from wherefrom.config import LANGUAGES, IndexSettings
from wherefrom.errors import LibraryDamaged
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.stages import Index


class TestContract(IndexContract):
    """BM25Index is an Index."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[], Index]:
        return lambda: BM25Index(tmp_path / "bm25", IndexSettings())


def filled(path: Path, texts: list[str], language: str = "english") -> BM25Index:
    index = BM25Index(path, IndexSettings(language=language))
    index.create()
    index.put(range(len(texts)), texts)
    index.commit()
    return index


def test_scores_are_those_of_the_formula(tmp_path: Path) -> None:
    """idf = ln(1 + (N - n + 1/2) / (n + 1/2)); tf part = f (k1 + 1) / (f + k1 (1 - b + b len / mean))."""
    texts = ["red red kite", "red fox", "grey fox runs far"]
    (hits,) = filled(tmp_path, texts).search(["red"], 3)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = {
        0: idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 3)),
        1: idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3)),
    }
    assert dict(hits) == pytest.approx(expected, rel=1e-5)


def test_a_word_asked_twice_counts_twice(tmp_path: Path) -> None:
    index = filled(tmp_path, ["red kite", "grey fox"])
    ((_, once),) = index.search(["kite"], 1)[0]
    ((_, twice),) = index.search(["kite kite"], 1)[0]
    assert twice == pytest.approx(2 * once)


def test_finds_other_forms_of_a_word_and_other_spellings_of_a_letter(tmp_path: Path) -> None:
    index = filled(tmp_path, ["He was running a café", "nothing"])
    assert index.search(["runs"], 2)[0][0][0] == 0
    assert index.search(["CAFES"], 2)[0][0][0] == 0


def test_function_words_alone_still_find(tmp_path: Path) -> None:
    index = filled(tmp_path, ["to be or not to be", "a rose"])
    assert index.search(["to be or not to be"], 2)[0][0][0] == 0


def test_function_words_beside_others_do_not(tmp_path: Path) -> None:
    index = filled(tmp_path, ["what is the of and", "a rose"])
    assert [key for key, _ in index.search(["what is the rose"], 2)[0]] == [1]


def test_scripts_without_spaces_are_found_by_a_part(tmp_path: Path) -> None:
    index = filled(tmp_path, ["東京は日本の首都です", "ship", "大阪は西にある"])
    assert [key for key, _ in index.search(["首都"], 3)[0]] == [0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_indexes_and_finds(tmp_path: Path, language: str) -> None:
    index = filled(tmp_path, ["Zebra 1908", "other"], language)
    assert index.search(["zebra"], 2)[0][0][0] == 0


def test_a_damaged_index_is_named_with_the_remedy(tmp_path: Path) -> None:
    filled(tmp_path, ["red kite"]).close()
    (tmp_path / "meta.json").write_text("{broken")
    with pytest.raises(LibraryDamaged, match="`wherefrom check` makes it anew"):
        BM25Index(tmp_path, IndexSettings()).search(["red"], 1)
