"""Articles dealt into halves and folds, and some of many evenly spread."""

from __future__ import annotations

from dataclasses import dataclass

from wherefrom.evaluate.halves import folds, halved
from wherefrom.evaluate.spread import evenly_spread


@dataclass(frozen=True, slots=True)
class Asked:
    article: str


def test_halves_are_of_whole_articles_about_equal_and_stay_the_same() -> None:
    questions = [Asked(f"article {n % 7}") for n in range(700)]
    half = halved(questions)
    assert 250 <= sum(question.article in half for question in questions) <= 450
    assert half == halved(list(reversed(questions)))
    assert halved([Asked("one")]) == {"one"}


def test_folds_are_about_equal_and_stay_the_same() -> None:
    articles = [f"article {n}" for n in range(13)]
    dealt = folds([*articles, *articles], 5)
    assert sorted(dealt) == sorted(articles)
    assert sorted(list(dealt.values()).count(fold) for fold in range(5)) == [2, 2, 3, 3, 3]
    assert dealt == folds(reversed(articles), 5)


def test_some_of_many_are_evenly_spread() -> None:
    assert evenly_spread("abcdefghij", 4) == ["a", "c", "f", "h"]
    assert evenly_spread([1, 2, 3], 3) == evenly_spread([1, 2, 3], 9) == evenly_spread([1, 2, 3], 0) == [1, 2, 3]
    assert evenly_spread([], 2) == []
