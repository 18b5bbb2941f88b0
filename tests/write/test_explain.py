"""How an answer was written: the same words, with shares that add up and the places that were looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")

from wherefrom.config import WriteSettings
from wherefrom.errors import NothingWritten, SettingsError
from wherefrom.runtime.weights import Weights
from wherefrom.runtime.writer import WriterSession
from wherefrom.types import Candidate, Hit, Passage, Question, Style
from wherefrom.write.explain import check_written, explained_by
from wherefrom.write.masque import MasqueWriter
from wherefrom.write.verbatim import VerbatimWriter

KING = Passage("0#0", "0", "The old King of 31 bridges walks to the town. He sleeps.", 0, 56, "The King")
DRAGON = Passage("1#0", "1", "A dragon eats 3,500 gold in the evening.", 0, 40)
QUESTION = Question("1", "how many bridges ?")
HITS = [Hit(KING, 1.0), Hit(DRAGON, 0.5)]
CANDIDATE = Candidate("31 bridges", KING, 16, 26, 1.0)


@pytest.fixture(scope="module")
def session(tiny_writer_weights: Path) -> WriterSession:
    return WriterSession(Weights(tiny_writer_weights), threads=1)


@pytest.mark.parametrize("beam", [1, 3])
def test_explains_the_very_answer_that_is_written(session: WriterSession, beam: int) -> None:
    writer = MasqueWriter(session, beam=beam)
    (answer,) = writer.write([QUESTION], [HITS], [[CANDIDATE]], [0.9], "sentence")
    counted = dict(writer.counts)
    explanation = writer.explain(QUESTION, HITS, [CANDIDATE], "sentence")
    assert explanation.words == answer.words
    assert explanation.question == QUESTION.text
    assert writer.counts == counted, "explaining is not answering"


def test_shares_are_by_source_and_add_up(session: WriterSession) -> None:
    explanation = MasqueWriter(session).explain(QUESTION, HITS, [CANDIDATE], "sentence")
    names = [source.name for source in explanation.sources]
    assert names == ["vocabulary", "question", "the reader's short answer", "passage 1: The King", "passage 2: 1"]
    assert [source.kind for source in explanation.sources] == ["vocabulary", "question", "answer", "passage", "passage"]
    for word, shares in zip(explanation.words, explanation.shares, strict=True):
        assert sum(shares) == pytest.approx(1.0, abs=1e-4)
        if word.source == "vocabulary":
            assert shares[0] == pytest.approx(word.share, abs=1e-4)
        elif word.source == "passage":  # the short answer's characters are its passage's
            assert shares[2] + shares[3] >= word.share - 1e-4
    number = [word.text for word in explanation.words].index("31")
    assert explanation.shares[number][2] > 0.5


def test_what_was_looked_at_are_words_of_the_texts(session: WriterSession) -> None:
    explanation = MasqueWriter(session).explain(QUESTION, HITS, [CANDIDATE], "sentence")
    by_source = [[seen.text for seen in explanation.seen if seen.source == number] for number in range(5)]
    assert by_source[0] == []
    assert by_source[1] == ["how", "many", "bridges", "?"]
    assert by_source[2] == ["31", "bridges"]
    assert by_source[3] == "The old King of 31 bridges walks to the town . He sleeps .".split()
    assert by_source[4] == "A dragon eats 3,500 gold in the evening .".split()
    assert all(len(row) == len(explanation.seen) for row in explanation.looked)
    assert all(weight >= -1e-6 for row in explanation.looked for weight in row)
    assert all(sum(row) <= 1.0 + 1e-4 for row in explanation.looked)
    number = [word.text for word in explanation.words].index("31")
    best = max(range(len(explanation.seen)), key=lambda place: explanation.looked[number][place])
    assert (explanation.seen[best].text, explanation.seen[best].source) == ("31", 2)


def test_a_short_answer_that_is_written_is_told_no_answer(session: WriterSession) -> None:
    explanation = MasqueWriter(session, short="write").explain(QUESTION, [Hit(DRAGON, 1.0)], [], "short")
    assert [source.kind for source in explanation.sources] == ["vocabulary", "question", "passage"]


def test_what_is_quoted_has_no_explanation(session: WriterSession) -> None:
    writer = MasqueWriter(session)
    text = "King of 31 bridges walks to the town"  # more than this network has learnt to tell
    at = KING.text.index(text)
    long = Candidate(text, KING, at, at + len(text), 1.0)
    cases: list[tuple[list[Hit], list[Candidate], Style]] = [
        (HITS, [CANDIDATE], "short"),
        (HITS, [CANDIDATE], "passage"),
        ([], [], "sentence"),
        (HITS, [long], "sentence"),
    ]
    for hits, candidates, style in cases:
        with pytest.raises(NothingWritten, match="this answer is quoted"):
            writer.explain(QUESTION, hits, candidates, style)
    with pytest.raises(NothingWritten, match="this writer quotes its answers"):
        explained_by(VerbatimWriter(), QUESTION, HITS, [CANDIDATE], "sentence")


@pytest.mark.parametrize(
    ("settings", "style", "message"),
    [
        (WriteSettings(kind="verbatim"), "sentence", r"write\.kind=verbatim .*use write\.kind=masque"),
        (WriteSettings(), "short", "style short is quoted.*use style sentence"),
        (WriteSettings(short="write"), "passage", "style passage is quoted"),
    ],
)
def test_says_why_nothing_is_written(settings: WriteSettings, style: Style, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        check_written(settings, style)
    check_written(WriteSettings(short="write"), "short")
    check_written(WriteSettings(), "sentence")
