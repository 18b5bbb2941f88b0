"""Passages for a summary: what is named in the question, and where nothing is, pieces of the whole document."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.stages import RetrieverContract
from wherefrom.config import resolve
from wherefrom.library import Library
from wherefrom.retrieve.summary import SummaryRetriever
from wherefrom.stages import Retriever
from wherefrom.types import Document, Filter, Question

LONG = Document(
    "minutes.txt", "\n\n".join(f"Item {n}. " + f"We spoke of matter {n} for a while. " * 12 for n in range(20))
)
SHORT = Document("zebras.txt", "Zebras live in herds. They sleep standing.")


@pytest.fixture
def made(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library", resolve(overrides=["summarize.passages=6"]))
    library.put([LONG, SHORT])
    return library


class TestContract(RetrieverContract):
    """SummaryRetriever is a Retriever."""

    @pytest.fixture
    def retriever(self, made: Library) -> Retriever:
        retriever = made.pipeline().summary_retriever
        assert isinstance(retriever, SummaryRetriever)
        return retriever

    @pytest.fixture
    def questions(self) -> list[Question]:
        return [
            Question(str(number), text) for number, text in enumerate(["zebras in herds", "matter 7", "", "quokka"])
        ]


def test_what_names_nothing_gets_the_document_in_even_steps(made: Library) -> None:
    hits = made.summary_hits("Summarize the whole document.", ["minutes.txt"])
    places = sorted(hit.passage.start for hit in hits)
    assert len(hits) == 6
    assert {hit.passage.document_id for hit in hits} == {"minutes.txt"}
    assert places[0] == 0
    steps = [after - before for before, after in zip(places, places[1:], strict=False)]
    assert max(steps) < 2 * min(steps)
    assert all(hit.score == 0.0 for hit in hits)


def test_a_named_document_gives_passages_even_where_few_share_a_word(made: Library) -> None:
    hits = made.summary_hits("How do zebras sleep?", ["minutes.txt", "zebras.txt"])
    assert hits[0].passage.document_id == "zebras.txt"
    assert len(hits) == 6
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_without_a_name_only_what_shares_a_word_is_a_hit(made: Library) -> None:
    assert {hit.passage.document_id for hit in made.summary_hits("How do zebras sleep?")} == {"zebras.txt"}
    assert len(made.summary_hits("Give me an overview.")) == 6


def test_a_filter_narrows_it(made: Library) -> None:
    hits = made.summary_hits("Summarize everything.", within=Filter(folders=("zebras.txt",)))
    assert {hit.passage.document_id for hit in hits} == {"zebras.txt"}
