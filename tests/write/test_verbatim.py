"""The verbatim writer: its contract, and its four styles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.material import CANDIDATES, HITS, QUESTIONS, passage, span
from contracts.stages import WriterContract
from wherefrom.stages import Writer
from wherefrom.types import Answer, Style, joined
from wherefrom.write.verbatim import VerbatimWriter, copied_words


class TestContract(WriterContract):
    """VerbatimWriter is a Writer."""

    @pytest.fixture
    def writer(self) -> Writer:
        return VerbatimWriter()


def written(style: Style) -> Answer:
    return VerbatimWriter().write(QUESTIONS[:1], HITS[:1], CANDIDATES[:1], [0.8], style)[0]


def test_short_is_the_candidate_itself() -> None:
    answer = written("short")
    assert answer.text == "Ines Moreau"
    assert [(word.text, word.start, word.end) for word in answer.words] == [("Ines", 71, 75), ("Moreau", 76, 82)]


def test_sentence_is_the_sentence_around_it_with_what_it_speaks_of() -> None:
    quoted = written("sentence")
    assert quoted.text == "The harbour of Ostrava Bay opened in 1908. Its lighthouse was built by Ines Moreau."
    assert quoted.how == "quoted"


def test_quote_is_exact_and_says_that_it_is_a_quotation() -> None:
    answer = written("quote")
    assert answer.how == "quoted"
    assert answer.text == written("sentence").text
    texts = {each.id: each.text for each in answer.evidence}
    assert all(texts[word.passage_id or ""][word.start : word.end] == word.text for word in answer.words)


def test_sentence_takes_all_sentences_that_a_candidate_touches() -> None:
    text = passage("a#0", "One is here. Two is there. Three is gone.")
    (answer,) = VerbatimWriter().write(QUESTIONS[:1], [[]], [[span(text, "here. Two", 1.0)]], [0.5], "sentence")
    assert answer.text == "One is here. Two is there."


def test_passage_is_the_whole_passage() -> None:
    assert written("passage").text == HITS[0][0].passage.text


def test_every_word_is_wholly_copied() -> None:
    assert all(word.source == "passage" and word.share == 1.0 for word in written("passage").words)


@given(st.text(min_size=1))
def test_the_words_spell_the_text_whatever_it_is(text: str) -> None:
    whole = passage("a#0", text)
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    copied = copied_words(whole, start, end)
    assert joined(copied) == text[start:end]
    assert all(text[word.start : word.end] == word.text for word in copied)
