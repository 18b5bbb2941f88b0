"""The retriever over an index and a store: its contract, and an index that lags behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from contracts.stages import RetrieverContract
from wherefrom.library import Library
from wherefrom.retrieve.retriever import IndexRetriever
from wherefrom.stages import KeyRanges, Retriever
from wherefrom.types import Document, Passage, Question

DOCUMENTS = [
    Document("harbour", "The harbour has a lighthouse of granite.", "Harbour"),
    Document("garden", "Roses grow in the garden behind the harbour.", "Garden"),
    Document("twin-b", "The same sentence about zebras.", ""),
    Document("twin-a", "The same sentence about zebras.", ""),
]


class TestContract(RetrieverContract):
    """IndexRetriever is a Retriever."""

    @pytest.fixture
    def retriever(self, tmp_path: Path) -> Retriever:
        library = Library(tmp_path / "library")
        library.put(DOCUMENTS)
        return library.pipeline().retriever

    @pytest.fixture
    def questions(self) -> list[Question]:
        texts = ["Where is the lighthouse?", "zebras", "roses OR (garden", "", "quokka"]
        return [Question(str(number), text) for number, text in enumerate(texts)]


class LaggingIndex:
    """An index that still holds keys 1 to 30, of which the store has dropped all up to 25."""

    def search(self, texts: Sequence[str], k: int, within: KeyRanges | None) -> list[list[tuple[int, float]]]:
        return [[(key, 100.0 - key) for key in range(1, 31)][:k] for _ in texts]


class StoreOfFew:
    def passages_at(self, keys: Sequence[int]) -> dict[int, Passage]:
        return {key: Passage(f"d#{key}", "d", "text", 0, 4) for key in keys if key > 25}


def test_keys_that_the_store_has_dropped_do_not_crowd_out_others() -> None:
    retriever = IndexRetriever("retrieve", LaggingIndex, StoreOfFew(), 3)  # type: ignore[arg-type]
    (hits,) = retriever.retrieve([Question("", "any")])
    assert [hit.passage.id for hit in hits] == ["d#26", "d#27", "d#28"]


def test_fewer_than_k_when_the_library_has_no_more() -> None:
    retriever = IndexRetriever("retrieve", LaggingIndex, StoreOfFew(), 50)  # type: ignore[arg-type]
    (hits,) = retriever.retrieve([Question("", "any")])
    assert len(hits) == 5
