"""What tells well-formed sentences from garbled ones, with the shipped weights."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from wherefrom.features.fluency import FILE, Fluency, FluencyError, ToldAnswer, seen
from wherefrom.features.tags import Tagger
from wherefrom.runtime.weights import SHIPPED, Weights


@pytest.fixture(scope="module")
def fluency() -> Fluency:
    return Fluency(Weights.named("fluency"), Tagger(Weights.named("tagger")))


PAIRS = [
    (
        "When did the old mill burn down?",
        "1908",
        "The old mill burned down in 1908.",
        "The old mill burn down 1908 down in.",
    ),
    (
        "Who wrote the first report?",
        "Ann Lee",
        "Ann Lee wrote the first report.",
        "The first report wrote who Ann Lee.",
    ),
    (
        "how many bridges does the town have",
        "31",
        "The town has 31 bridges.",
        "The town have bridges 31 the bridges of.",
    ),
]


@pytest.mark.parametrize(("question", "answer", "good", "bad"), PAIRS)
def test_people_would_write_the_one_and_not_the_other(
    fluency: Fluency, question: str, answer: str, good: str, bad: str
) -> None:
    well, garbled = fluency.chances([ToldAnswer(question, answer, text) for text in (good, bad)])
    assert well > 0.5 > garbled


def test_together_as_one_by_one(fluency: Fluency) -> None:
    statement = [ToldAnswer(question, answer, text) for question, answer, *texts in PAIRS for text in texts]
    assert fluency.chances(statement) == pytest.approx([fluency.chances([each])[0] for each in statement], abs=1e-5)


def test_the_answer_is_seen_as_such() -> None:
    ((question, sentence),) = seen(
        [ToldAnswer("Who?", "the Red Fox", "A red fox did.")], Tagger(Weights.named("tagger"))
    )
    assert sentence.flags[:, 4].tolist() == [0, 1, 1, 0, 0]
    assert len(question.rows) == 2


def test_nothing_at_all_has_a_chance_too(fluency: Fluency) -> None:
    assert 0.0 <= fluency.chances([ToldAnswer("", "", "")])[0] <= 1.0


def test_it_is_small_and_quick(fluency: Fluency) -> None:
    assert (SHIPPED / "fluency" / FILE).stat().st_size < 1_000_000
    statement = ToldAnswer(*PAIRS[0][:3])
    fluency.chances([statement])
    times = []
    for _ in range(20):
        begin = time.process_time()
        fluency.chances([statement])
        times.append(time.process_time() - begin)
    assert min(times) < 0.005


def test_broken_weights_are_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(FluencyError, match="cannot be read"):
        Fluency(Weights(tmp_path), Tagger(Weights.named("tagger"))).chances([ToldAnswer("a", "b", "c")])
