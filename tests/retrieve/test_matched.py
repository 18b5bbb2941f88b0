"""Passages chosen by meaning among those that an index finds: the contract of a retriever, and what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.stages import RetrieverContract
from wherefrom.config import resolve
from wherefrom.features.matching import Matcher
from wherefrom.library import Library
from wherefrom.retrieve.matched import MatchedRetriever
from wherefrom.retrieve.retriever import IndexRetriever
from wherefrom.runtime.weights import Weights
from wherefrom.stages import Retriever
from wherefrom.types import Document, Question

DOCUMENTS = [
    Document("physician", "The physician's date of birth is 3 May 1950, as her passport says.", ""),
    *(Document(f"house-{n}", f"The doctor lives in house {n}, to date with a garden.", "") for n in range(30)),
    Document("twin-b", "The same sentence about zebras.", ""),
    Document("twin-a", "The same sentence about zebras.", ""),
]
BORN = Question("born", "what is the date when the doctor was born?")


def library(folder: Path, *overrides: str) -> Library:
    made = Library(folder / "library", resolve(overrides=["retrieve.k=5", *overrides]))
    made.put(DOCUMENTS)
    return made


class TestContract(RetrieverContract):
    """MatchedRetriever is a Retriever."""

    @pytest.fixture
    def retriever(self, tmp_path: Path) -> Retriever:
        retriever = library(tmp_path).pipeline().retriever
        assert isinstance(retriever, MatchedRetriever)
        return retriever

    @pytest.fixture
    def questions(self) -> list[Question]:
        texts = ["when was the doctor born?", "zebras", "roses OR (garden", "", "quokka", "灯台の高さは？"]
        return [Question(str(number), text) for number, text in enumerate(texts)]


def test_what_means_the_same_is_found_behind_what_has_the_same_words(tmp_path: Path) -> None:
    words, meaning = library(tmp_path / "words", "retrieve.match=none"), library(tmp_path / "meaning")
    (by_words,) = words.pipeline().retriever.retrieve([BORN])
    (by_meaning,) = meaning.pipeline().retriever.retrieve([BORN])
    assert "physician#0" not in [hit.passage.id for hit in by_words]
    assert "physician#0" in [hit.passage.id for hit in by_meaning]
    assert len(by_meaning) == 5


def test_both_scores_are_kept(tmp_path: Path) -> None:
    (hits,) = library(tmp_path).pipeline().retriever.retrieve([BORN])
    for hit in hits:
        assert hit.score == hit.features["match"]
        assert hit.features["retrieve"] > 0


def test_equal_passages_come_by_their_names(tmp_path: Path) -> None:
    (hits,) = library(tmp_path).pipeline().retriever.retrieve([Question("", "zebras")])
    assert [hit.passage.id for hit in hits[:2]] == ["twin-a#0", "twin-b#0"]


def test_without_weight_the_index_alone_decides(tmp_path: Path) -> None:
    made = library(tmp_path, "retrieve.match=none")
    index = made.pipeline().retriever
    assert isinstance(index, IndexRetriever)
    matched = MatchedRetriever(index, Matcher(Weights.named("matcher")), 5, 0.0)
    assert [hit.passage.id for hit in matched.retrieve([BORN])[0]] == [
        hit.passage.id for hit in index.retrieve([BORN])[0]
    ]


@pytest.mark.parametrize("setting", ["read.kind=drqa", "index.language=french", "retrieve.match=none"])
def test_other_readers_and_languages_are_left_alone(tmp_path: Path, setting: str) -> None:
    assert isinstance(library(tmp_path, setting).pipeline().retriever, IndexRetriever)


def test_a_text_under_many_names_takes_two_places(tmp_path: Path) -> None:
    """A manual page is installed under every name of its command; they kept all else out."""
    made = Library(tmp_path / "library", resolve(overrides=["retrieve.k=4"]))
    made.put([Document(f"alias-{n}", "The queue is looked at every 300 seconds.\n", "Mail") for n in range(6)])
    made.put([Document("other", "Once a queue is full, mail waits for 1000 seconds.", "Mail")])
    (hits,) = made.pipeline().retriever.retrieve([Question("1", "how often is the mail queue looked at?")])
    assert [hit.passage.document_id for hit in hits] == ["alias-0", "alias-1", "other"]
