"""Explanations: the writer's contract, two to five sentences of the documents' own, other styles left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.material import CANDIDATES, HITS, QUESTIONS, passage, span
from contracts.stages import WriterContract
from summarize.test_extractive import weights
from wherefrom.features.choosing import LEAST, MOST, WORDS
from wherefrom.features.telling import Teller
from wherefrom.features.worth import Selector, Worth
from wherefrom.stages import Writer
from wherefrom.types import Answer, Hit, Question, Word, joined
from wherefrom.write.explaining import ExplainingWriter
from wherefrom.write.verbatim import VerbatimWriter

DOUGH = passage(
    "bread.md#0",
    "Bread rises because yeast makes gas. The gas is trapped by gluten. Kneading the dough builds gluten. Warm dough "
    "rises faster than cold dough. Salt slows the yeast down. Ovens were built of clay once. Bakers get up early.",
)
WHY = Question("1", "Why does bread rise?")
YEAST = span(DOUGH, "yeast makes gas", 0.9)


def writer_of(folder: Path, **terms: float) -> ExplainingWriter:
    made = weights(folder / "made", **terms)
    return ExplainingWriter(VerbatimWriter(), Teller(Selector(made), Worth()))


def explained(writer: Writer, chance: float = 0.8) -> Answer:
    return writer.write([WHY], [[Hit(DOUGH, 1.0)]], [[YEAST]], [chance], "explain")[0]


class TestContract(WriterContract):
    """ExplainingWriter is a Writer."""

    @pytest.fixture
    def writer(self, tmp_path: Path) -> Writer:
        return writer_of(tmp_path, coverage=4.0)


def test_it_is_two_to_five_sentences_in_their_order_each_word_at_its_place(tmp_path: Path) -> None:
    answer = explained(writer_of(tmp_path, coverage=4.0))
    assert answer.text is not None
    assert (answer.how, answer.chance, answer.style) == ("quoted", 0.8, "explain")
    assert answer.text.startswith("Bread rises because yeast makes gas.")
    assert LEAST <= answer.text.count(".") <= MOST
    assert len(answer.text.split()) <= WORDS
    assert all(DOUGH.text[word.start : word.end] == word.text for word in answer.words)
    assert answer.evidence == (DOUGH,)


def test_it_is_two_sentences_at_least_where_there_are_two(tmp_path: Path) -> None:
    answer = explained(writer_of(tmp_path, coverage=4.0, least=0.99))
    assert answer.text is not None
    assert answer.text.count(".") == LEAST


def test_the_words_are_heard(tmp_path: Path) -> None:
    heard: list[tuple[int, tuple[Word, ...]]] = []
    writer = writer_of(tmp_path, coverage=4.0)
    (answer,) = writer.write(
        [WHY], [[Hit(DOUGH, 1.0)]], [[YEAST]], [0.8], "explain", lambda place, words: heard.append((place, words))
    )
    assert heard == [(0, answer.words)]


def test_a_passage_without_a_sentence_is_quoted_as_another_would(tmp_path: Path) -> None:
    bare = passage("bare.txt#0", "yeast gas")
    candidate = span(bare, "gas", 0.9)
    (answer,) = writer_of(tmp_path).write([WHY], [[Hit(bare, 1.0)]], [[candidate]], [0.8], "explain")
    assert (answer.text, answer.style) == ("yeast gas", "explain")


def test_other_styles_are_the_other_writer_s(tmp_path: Path) -> None:
    chances = [0.5] * len(QUESTIONS)
    for style in ("short", "sentence", "passage"):
        ours = writer_of(tmp_path).write(QUESTIONS, HITS, CANDIDATES, chances, style)  # type: ignore[arg-type]
        assert ours == VerbatimWriter().write(QUESTIONS, HITS, CANDIDATES, chances, style)  # type: ignore[arg-type]


def test_words_spell_the_text_across_documents(tmp_path: Path) -> None:
    other = passage("oven.md#0", "Heat makes bread rise in the oven. Steam keeps the crust of the bread soft.")
    (answer,) = writer_of(tmp_path, coverage=4.0).write(
        [WHY], [[Hit(DOUGH, 2.0), Hit(other, 1.0)]], [[YEAST]], [0.8], "explain"
    )
    assert joined(answer.words) == answer.text
    assert {each.id for each in answer.evidence} == {DOUGH.id, other.id}
    assert "\nHeat makes bread rise" in (answer.text or "")


def test_the_sentence_of_the_answer_is_told_whatever_it_is_worth(tmp_path: Path) -> None:
    writer = writer_of(tmp_path, coverage=4.0)
    kneading = span(DOUGH, "Kneading", 0.9)
    (answer,) = writer.write([WHY], [[Hit(DOUGH, 1.0)]], [[kneading]], [0.8], "explain")
    assert "Kneading the dough builds gluten." in (answer.text or "")
    assert "Kneading" not in (explained(writer).text or "")
