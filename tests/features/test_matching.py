"""How nearly words mean the same: by hand on made-up vectors, and the weights that are shipped."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from wherefrom.features.matching import FILE, SCALE, Matcher, MatcherError
from wherefrom.runtime.weights import Weights

WORDS = ("cron", "looks", "examines", "table", "the", "rose")


def folder(path: Path, vectors: list[list[float]], importance: list[float], worth: list[float]) -> Path:
    tokenizer = Tokenizer(WordPiece({word: number for number, word in enumerate(WORDS)} | {"?": 6}, unk_token="?"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    path.mkdir(exist_ok=True)
    tokenizer.save(str(path / "tokenizer.json"))
    numpy.savez(
        path / FILE,
        vectors=numpy.rint(numpy.array(vectors) * SCALE).astype(numpy.int8),
        importance=numpy.array(importance, numpy.float16),
        worth=numpy.array(worth, numpy.float16),
    )
    (path / "settings.toml").write_text("width = 2\n")
    return path


@pytest.fixture
def matcher(tmp_path: Path) -> Matcher:
    """cron lies along one axis, rose along the other; looks and examines are near each other."""
    vectors = [[1, 0], [0.6, 0.8], [0.8, 0.6], [0, 1], [0, -1], [0, 1], [0, 0]]
    return Matcher(Weights(folder(tmp_path / "matcher", vectors, [2, 1, 1, 1, 0, 1, 0], [1, 1, 0.5, 1, 1, 1, 0])))


def test_each_word_of_the_question_takes_the_nearest_of_the_passage(matcher: Matcher) -> None:
    # cron: max(1 * 1, 0.5 * 0.8) = 1, weight 2; looks: max(0.6, 0.5 * (0.48 + 0.48)) = 0.6, weight 1
    (score,) = matcher.scores("cron looks", ["the cron examines"])
    assert score == pytest.approx((2 * 1 + 0.6) / 3, abs=0.01)


def test_what_a_word_is_worth_lowers_it(matcher: Matcher) -> None:
    exact, worthless = matcher.scores("examines", ["looks", "examines"])
    assert exact == pytest.approx(0.96, abs=0.01)  # 0.6 * 0.8 + 0.8 * 0.6
    assert worthless == pytest.approx(0.5, abs=0.01)


def test_together_as_one_by_one(matcher: Matcher) -> None:
    texts = ["the rose", "cron cron table", "", "looks", "unheard"]
    assert matcher.scores("cron table", texts) == pytest.approx(
        [score for text in texts for score in matcher.scores("cron table", [text])]
    )


def test_without_words_nothing_is_near(matcher: Matcher) -> None:
    assert matcher.scores("", ["cron"]) == [0.0]
    assert matcher.scores("the", ["cron"]) == [0.0]  # it weighs nothing
    assert matcher.scores("cron", ["", ""]) == [0.0, 0.0]
    assert matcher.scores("cron", []) == []


def test_a_broken_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    broken = folder(tmp_path / "broken", [[1, 0]] * 7, [1] * 7, [1] * 7)
    (broken / FILE).write_bytes(b"PK nothing")
    with pytest.raises(MatcherError, match=r"matcher\.npz cannot be read .*install wherefrom again"):
        Matcher(Weights(broken)).scores("cron", ["table"])


def test_as_shipped_words_of_one_meaning_are_near() -> None:
    shipped = Matcher(Weights.named("matcher"))
    right, wrong, other = shipped.scores(
        "when was the doctor born?",
        ["The physician's date of birth is 3 May 1950.", "The doctor lives in a white house.", "Roses like rain."],
    )
    assert right > wrong > other
