"""RankQA at run time: its contract, what it looks at, and what it says when weights do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest

from contracts.material import GARDEN, HARBOUR, span
from contracts.stages import RerankerContract
from rerank.tiny_reranker import write
from wherefrom.errors import SettingsError
from wherefrom.features.tags import NER, POS, Tagged
from wherefrom.features.tokens import tokens
from wherefrom.rerank.rankqa import RankQAReranker, spans_marked
from wherefrom.runtime.weights import Weights, WeightsError
from wherefrom.stages import Reranker
from wherefrom.types import Question

QUESTIONS = [Question("", "How many kinds of rose are there?")]


class DigitsAreDates:
    """Tags every number as a date and all else as nothing; remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def tag(self, texts: Sequence[str]) -> list[Tagged]:
        self.shown += texts
        return [self._tagged(text) for text in texts]

    def _tagged(self, text: str) -> Tagged:
        spans = tokens(text)
        digits = [text[start:end].isdigit() for start, end in spans]
        pos = [POS.index("NUM" if digit else "NOUN") for digit in digits]
        ner = [NER.index("DATE" if digit else "O") for digit in digits]
        return Tagged(spans, numpy.array(pos, numpy.uint8), numpy.array(ner, numpy.uint8))


def reranker(folder: Path, weights: dict[str, float], **more: int) -> RankQAReranker:
    return RankQAReranker(Weights(write(folder, weights, **more)), DigitsAreDates(), "span")


class TestContract(RerankerContract):
    """RankQAReranker is a Reranker."""

    @pytest.fixture
    def reranker(self, tmp_path: Path) -> Reranker:
        return reranker(tmp_path, {"par_length": 0.3, "answer_length": -1.0, "ner_DATE": 2.0, "sum_span": 0.5})


CANDIDATES = [span(HARBOUR, "Ines Moreau", 0.9), span(GARDEN, "412 kinds", 0.7), span(GARDEN, "nine", 0.2)]


def test_the_network_decides(tmp_path: Path) -> None:
    (longest,) = reranker(tmp_path / "a", {"rank": 1.0}).rerank(QUESTIONS, [CANDIDATES])
    assert [candidate.text for candidate in longest] == ["nine", "412 kinds", "Ines Moreau"]
    (dates,) = reranker(tmp_path / "b", {"ner_DATE": 1.0}).rerank(QUESTIONS, [CANDIDATES])
    assert [candidate.text for candidate in dates] == ["412 kinds", "Ines Moreau", "nine"]  # ties: the reader's order


def test_the_readers_score_is_kept_beside_the_new_one(tmp_path: Path) -> None:
    (ranked,) = reranker(tmp_path, {"rank": 1.0}).rerank(QUESTIONS, [CANDIDATES])
    assert ranked[-1].features == {"read": 0.9, "rerank": 0.0}
    assert ranked[-1].score == 0.0


def test_candidates_behind_the_top_k_stay_behind(tmp_path: Path) -> None:
    (ranked,) = reranker(tmp_path, {"rank": 1.0}, top_k=2).rerank(QUESTIONS, [CANDIDATES])
    assert [candidate.text for candidate in ranked] == ["412 kinds", "Ines Moreau", "nine"]
    assert ranked[1].score > ranked[2].score


def test_only_the_sentences_around_candidates_are_tagged(tmp_path: Path) -> None:
    tagger = DigitsAreDates()
    spans_marked([*CANDIDATES, CANDIDATES[0]], tagger)
    assert tagger.shown == [
        "Its lighthouse was built by Ines Moreau.",
        "It holds 412 kinds of rose, because the soil is heavy.",
        "The garden opens at nine.",
    ]
    unneeded = DigitsAreDates()
    RankQAReranker(Weights(write(tmp_path, {"rank": 1.0})), unneeded, "span").rerank(QUESTIONS, [CANDIDATES])
    assert unneeded.shown == []


def test_weights_of_another_reader_are_refused(tmp_path: Path) -> None:
    other = RankQAReranker(Weights(write(tmp_path / "mine", {"rank": 1.0})), DigitsAreDates(), "sentence")
    with pytest.raises(SettingsError, match=r"mine was trained on candidates of read.kind span, not sentence; .*train"):
        other.rerank(QUESTIONS, [CANDIDATES])


@pytest.mark.parametrize("damage", ["no_array", "no_numpy", "unknown_feature", "no_file"])
def test_broken_weights_are_named(tmp_path: Path, damage: str) -> None:
    folder = write(tmp_path / "mine", {"rank": 1.0})
    if damage == "no_array":
        numpy.savez(folder / "model.npz", centre=numpy.zeros(1))
    elif damage == "no_numpy":
        (folder / "model.npz").write_bytes(b"nothing")
    elif damage == "unknown_feature":
        text = (folder / "settings.toml").read_text().replace('"rank"', '"rnak"')
        (folder / "settings.toml").write_text(text)
    else:
        (folder / "model.npz").unlink()
    with pytest.raises(WeightsError, match="mine"):
        RankQAReranker(Weights(folder), DigitsAreDates(), "span").rerank(QUESTIONS, [CANDIDATES])
