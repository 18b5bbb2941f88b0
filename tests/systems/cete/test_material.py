"""CETE's material: pairs of datasets, and sentences of a paragraph of which one answers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tokenizers", reason="wordpieces are cut by tokenizers: pip install 'wherefrom[train]'")

import numpy

from systems.cete.small import GLOVE, builder, pieces, write_data
from wherefrom.data.examples import Example, GoldSpan, whole
from wherefrom.systems.cete.material import Candidates, gather, of_sentences, word_columns, write_pairs
from wherefrom.systems.cete.pairs import PairMaterial, sequences
from wherefrom.systems.cete.settings import MaterialSettings, TaskSettings
from wherefrom.types import Question

SMALL = TaskSettings(classify=1, separate=2)


def reading(text: str, answer: str, at: int) -> Example:
    passage = whole("p", text)
    span = GoldSpan("p", at, at + len(answer), answer)
    return Example(Question("q", "Where is the lamp?"), (passage,), (True,), answers=(answer,), spans=(span,))


def test_the_sentence_that_the_answer_stands_in_is_right_and_its_namesakes_are_left_out() -> None:
    text = "The lamp is red. The lamp stands here. Who sails here? The boat is blue."
    made = of_sentences(reading(text, "here", text.index("here")))
    assert made is not None
    assert made.texts == ["The lamp is red.", "The lamp stands here.", "The boat is blue."]
    assert made.labels == [False, True, False]


def test_a_paragraph_without_wrong_sentences_teaches_nothing() -> None:
    assert of_sentences(reading("The lamp stands here.", "here", 16)) is None


def test_an_answer_over_a_border_belongs_to_no_sentence() -> None:
    text = "The lamp is red. Who is there? The boat sails."
    assert of_sentences(reading(text, "red. Who", text.index("red. Who"))) is None


def test_texts_are_kept_once_and_come_back_by_their_numbers(tmp_path: Path) -> None:
    made = builder()
    made.add("wikiqa", False, Candidates("a", "who is there", ["The red lamp.", "The tree grows."], [True, False]))
    made.add("trecqa", True, Candidates("b", "who is there", ["The tree grows."], [False]))
    write_pairs(tmp_path / "pairs.safetensors", made, {})
    material = PairMaterial(tmp_path / "pairs.safetensors")
    assert material.texts == 3
    assert material.column("pair_text").tolist() == [1, 2, 2]
    (asked,) = material.questions(True)
    assert (asked.id, asked.source, list(asked.pairs)) == ("b", "trecqa", [2])
    assert material.training_pairs(TaskSettings(sources=("wikiqa",))).tolist() == [0, 1]
    tree = made.tokenizer.encode("The tree grows.", add_special_tokens=False).ids
    assert material.text(2).tolist() == tree


def test_only_questions_with_both_sorts_are_learnt_from_where_that_is_wanted(tmp_path: Path) -> None:
    made = builder()
    made.add("wikiqa", False, Candidates("a", "who", ["The lamp.", "The tree."], [False, False]))
    made.add("wikiqa", False, Candidates("b", "what", ["The boat.", "The tree."], [False, True]))
    write_pairs(tmp_path / "pairs.safetensors", made, {})
    material = PairMaterial(tmp_path / "pairs.safetensors")
    assert material.training_pairs(TaskSettings(sources=("wikiqa",))).tolist() == [0, 1, 2, 3]
    assert material.training_pairs(TaskSettings(sources=("wikiqa",), answered=True)).tolist() == [2, 3]


def test_a_sequence_is_cut_at_the_candidate(tmp_path: Path) -> None:
    made = builder()
    made.add("wikiqa", True, Candidates("a", "who is there", ["red " * 40, "the lamp"], [True, False]))
    write_pairs(tmp_path / "pairs.safetensors", made, {})
    batch = sequences(
        PairMaterial(tmp_path / "pairs.safetensors"),
        [0, 1],
        TaskSettings(classify=1, separate=2, max_question=2, max_tokens=16),
    )
    who, are, red, the, lamp = (made.tokenizer.token_to_id(word) for word in ("who", "is", "red", "the", "lamp"))
    assert batch.tokens[0].tolist() == [1, who, are, 2, *[red] * 11, 2]
    assert batch.tokens[1].tolist() == [1, who, are, 2, the, lamp, 2, *[0] * 9]
    assert batch.types[1].tolist() == [0, 0, 0, 0, 1, 1, 1, *[0] * 9]
    assert batch.mask.sum(1).tolist() == [16, 7]
    assert batch.labels.tolist() == [1, 0]


def test_a_words_vector_is_gloves_beside_the_mean_of_its_pieces() -> None:
    columns = word_columns(["Red lamp red", "xyz"], GLOVE, pieces(), most=2)
    assert columns["words"].tolist() == [0, 1, 0, 2]  # red is the most frequent; lamp before xyz; xyz got no place
    assert columns["words_until"].tolist() == [3, 4]
    own = pieces()
    red = [*GLOVE.vectors[0], *own.vectors[own.of("red")].mean(0)]
    assert columns["word_vectors"][0].tolist() == pytest.approx(red, abs=1e-3)
    assert not numpy.any(columns["word_vectors"][2])


def test_every_dataset_that_is_there_comes_in(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    rows = list(gather(data, MaterialSettings()))
    counts = {(source, valid): 0 for source, valid, _ in rows}
    for source, valid, _ in rows:
        counts[source, valid] += 1
    assert counts == {
        ("trecqa", False): 2,
        ("trecqa", True): 2,
        ("wikiqa", False): 2,
        ("wikiqa", True): 2,
        ("squad", False): 2,
        ("squad", True): 2,
    }
