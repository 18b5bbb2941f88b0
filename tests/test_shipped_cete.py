"""The ranker of sentences that comes with wherefrom-lab: its files, and what it makes of sentences."""

from __future__ import annotations

import math
import re

import msgspec
import pytest

from contracts.stages import RankerContract
from wherefrom.data.examples import whole
from wherefrom.origin import file_hash
from wherefrom.rank.cete import CeteRanker, answer_sentences
from wherefrom.runtime.pairs import PairSession
from wherefrom.runtime.weights import SHIPPED, Weights
from wherefrom.stages import Ranker
from wherefrom.types import Question

FOLDER = SHIPPED / "cete"
HARBOUR = "Boats lie here in rows. The harbour opened in 1908. Its lighthouse was built by Ines Moreau. It is white."
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="these weights are in the source of wherefrom-lab")


@pytest.fixture(scope="module")
def session() -> PairSession:
    return PairSession(Weights.named("cete"), threads=1)


class TestShippedCete(RankerContract):
    @pytest.fixture
    def ranker(self, session: PairSession) -> Ranker:
        return CeteRanker(session, keep=20)


def test_the_files_are_those_that_were_measured() -> None:
    provenance = msgspec.json.decode((FOLDER / "provenance.json").read_bytes())
    assert {name: file_hash(FOLDER / name) for name in provenance["files"]} == provenance["files"]
    assert {file.name for file in FOLDER.iterdir()} == {*provenance["files"], "provenance.json"}
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 30e6
    content = b"".join((FOLDER / name).read_bytes() for name in ("model.onnx", "settings.toml", "provenance.json"))
    assert not re.search(rb"/(home|root|tmp|usr|opt|var|work)/|site-packages", content)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who built the lighthouse?", "Its lighthouse was built by Ines Moreau."),
        ("When did the harbour open?", "The harbour opened in 1908."),
        ("What colour is the lighthouse?", "It is white."),
    ],
)
def test_it_chooses_the_sentence_that_answers(session: PairSession, question: str, sentence: str) -> None:
    (chosen,) = answer_sentences(session, [Question("q", question)], [[whole("p", HARBOUR)]])
    assert chosen[0].passage.text[chosen[0].start : chosen[0].end] == sentence


@pytest.mark.parametrize("text", ["", " \n\t", "." * 3000, "灯台の鍵は時計の後ろにある。", "word " * 2000])
def test_awkward_texts_have_a_score(session: PairSession, text: str) -> None:
    ((logit,), (other,)) = session.score(["Who?", ""], [[text], [text]])
    assert math.isfinite(logit)
    assert math.isfinite(other)
