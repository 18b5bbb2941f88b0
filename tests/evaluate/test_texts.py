"""What was written in validation, scored on texts, and two trainings beside each other."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from wherefrom.errors import WherefromError
from wherefrom.evaluate.texts import (
    ReferenceTexts,
    all_scores,
    between_styles,
    groups_of,
    questions,
    text_differences,
    text_metrics,
    text_scores,
    texts_beside,
    validation_texts,
    written_texts,
)
from wherefrom.evaluate.validation_answers import ValidationAnswer

TEXTS = {
    number: ReferenceTexts(
        f"How many bridges has town {number}?", (f"{number}7",), (f"Town {number} has {number}7 bridges.",)
    )
    for number in (111, 112, 113, 116)
}


class Vocabulary(dict[str, int]):
    """Numbers words as they come, so that an answer's tokens can be spelled again."""

    def answer(self, request: str, example: int, text: str | None) -> ValidationAnswer:
        tokens = None if text is None else tuple(self.setdefault(word, len(self)) for word in text.split())
        chance = 0.9 if text else 0.2
        relevant = (False, text is not None)
        return ValidationAnswer(example, request, tokens, tokens, text is not None, chance, (0.1, 0.7), relevant)

    def spell(self, tokens: object) -> str:
        words = list(self)
        return " ".join(words[token] for token in tokens)  # type: ignore[attr-defined]


WORDS = Vocabulary()
ANSWERS = [
    WORDS.answer("short", 112, "1127"),
    WORDS.answer("short", 113, "9"),
    WORDS.answer("short", 111, None),
    WORDS.answer("sentence", 112, "town 112 has 1127 bridges."),
    WORDS.answer("sentence", 116, "people walk in the old town. people walk in the old town."),
    WORDS.answer("short of sentence", 112, "1127"),
    WORDS.answer("short of sentence", 116, "1167"),
]


def test_scores_by_request() -> None:
    scores = all_scores(ANSWERS, TEXTS, WORDS.spell)
    assert set(scores) == {"short", "sentence", "short of sentence", "passages"}
    short, sentence, passages = scores["short"], scores["sentence"], scores["passages"]
    assert (short.examples, short.metrics["em"], short.metrics["exact"]) == (2, 50, 50)
    assert sentence.metrics["exact"] == 50  # ROUGE-L of 1
    assert sentence.metrics["repeated_4_grams"] > 20  # one sentence says nearly all twice
    assert (set(sentence.by_keyword), set(sentence.by_type)) == ({"how"}, {"NUMERIC"})
    assert sentence.intervals["rouge_l"][1] == pytest.approx(100)
    assert "flipped" not in passages.metrics
    assert passages.metrics["map"] == passages.metrics["mrr"] == 1.0
    assert passages.metrics["answerable_f1"] == 100
    assert passages.curves["precision_recall"][0] == {"threshold": 0.9, "precision": 1.0, "recall": 1.0}


def test_capitals_of_the_gold_do_not_count() -> None:
    written = {112: "town 112 has 1127 bridges."}
    loud = {112: replace(TEXTS[112], sentences=("TOWN 112 HAS 1127 BRIDGES.",))}
    assert text_metrics("sentence", written, TEXTS)["rouge_l"] == pytest.approx(100)
    assert text_metrics("sentence", written, loud)["rouge_l"] == pytest.approx(100)


def test_a_text_is_scored_against_what_was_asked_for_or_something_else() -> None:
    written = {112: "1127"}
    assert text_metrics("short", written, TEXTS)["rouge_l"] == pytest.approx(100)
    assert 0 < text_metrics("short", written, TEXTS, "sentences")["rouge_l"] < 60
    assert text_metrics("given", written, TEXTS)["rouge_l"] == text_metrics("sentence", written, TEXTS)["rouge_l"] < 60


def test_stories_are_scored_as_narrativeqa_is() -> None:
    texts = {1: ReferenceTexts("What eats the dragon?", ("the gold",), ())}
    metrics = text_metrics("narrative", {1: "the gold"}, texts)
    assert metrics["meteor"] == pytest.approx(100 * (1 - 0.5 / 8))  # two words in one chunk
    assert "meteor" not in text_metrics("short", {1: "the gold"}, texts)


def test_one_training_is_better_than_another_by_so_much() -> None:
    one, other = {112: "1127", 113: "1137"}, {112: "1127", 113: "9"}
    better = text_differences("short", one, other, TEXTS)["f1"]
    assert (better.one, better.other, better.difference) == (100, 50, 50)
    assert better.interval == (0, 100)  # of two questions one is better by 100: some draws have it twice, some never
    same = text_differences("short", one, one, TEXTS)["rouge_l"]
    assert (same.difference, same.interval) == (0, (0, 0))


def test_decisions_that_change_with_the_order_of_passages_are_counted() -> None:
    shuffled = [WORDS.answer("shuffled", 112, None), WORDS.answer("shuffled", 113, "9")]
    shuffled.append(WORDS.answer("shuffled", 111, None))
    scores = all_scores([*ANSWERS, *shuffled], TEXTS, WORDS.spell)
    assert scores["passages"].metrics["flipped"] == pytest.approx(100 / 3)  # 112 was answerable at 0.9, now 0.2
    assert "shuffled" not in scores


def test_two_styles_of_one_answer() -> None:
    groups = {request: [a for a in ANSWERS if a.request == request] for request in ("sentence", "short of sentence")}
    styles = between_styles(*(written_texts(group, WORDS.spell) for group in groups.values()))
    assert styles == {"examples": 2, "zero_overlap": 50, "sentence_holds_short": 50}


def test_what_validation_does_not_have_cannot_be_scored() -> None:
    with pytest.raises(WherefromError, match="example 5 was answered"):
        text_scores("short", {5: "x"}, TEXTS)


def test_texts_of_validation_are_read(tmp_path: Path) -> None:
    line = {"question": "Who?", "answers": ["Ana", "ANA"], "references": 1, "sentences": ["Ana is."]}
    lines = [
        {**line, "example": 0, "valid": True, "held": [False]},
        {**line, "example": 1, "valid": False, "held": [True], "references": 0},
        {**line, "example": 2, "valid": False, "held": [False]},
    ]
    path = texts_beside(tmp_path / "writer.safetensors")
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(each) + "\n" for each in lines)
    texts = validation_texts(path)
    assert texts.keys() == {0, 1}  # what is never trained on
    assert texts[0].answers == ("Ana",)
    assert texts[1].answers == ("Ana", "ANA")  # they serve style transfer alone
    assert questions(path) == dict.fromkeys(range(3), "Who?")


def test_the_groups_of_a_question() -> None:
    assert groups_of("How many bridges are there?") == ("type Numeric", "keyword how")
    assert groups_of("Name the king.") == ("type Entity", "keyword other")
