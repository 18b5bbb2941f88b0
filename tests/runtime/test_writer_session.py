"""The writer's session: one pass for ranking, judging and writing; an answer alone is as beside others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")

import numpy

from wherefrom.errors import SettingsError
from wherefrom.runtime import writer
from wherefrom.runtime.copying import PASSAGE
from wherefrom.runtime.search import SearchSettings
from wherefrom.runtime.weights import Weights, WeightsError
from wherefrom.runtime.writer import Short, WriterSession, WritingTask, WrittenAnswers
from wherefrom.types import Passage

SETTINGS = SearchSettings(max_tokens=16)


def passage(number: int, text: str, title: str = "") -> Passage:
    return Passage(f"{number}#0", str(number), text, 0, len(text), title)


KING = passage(0, "The old King of 31 bridges walks to the town.", "Town")
DRAGON = passage(1, "A dragon eats 3,500 gold in the evening.")
QUESTIONS = ["where is king ?", "who eats gold ?", "how many bridges ?", "what"]
TASKS = [
    WritingTask(QUESTIONS[0], (KING, DRAGON), Short(0, 8, 12)),
    WritingTask(QUESTIONS[1], (DRAGON,), Short(0, 2, 8)),
    WritingTask(QUESTIONS[2], (DRAGON, KING), Short(1, 16, 26)),
    WritingTask(QUESTIONS[3], (KING,)),
]


@pytest.fixture
def session(tiny_writer_weights: Path) -> WriterSession:
    return WriterSession(Weights(tiny_writer_weights), threads=2)


class Counting(WriterSession):
    """Counts the sequences that are really read."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights, 2)
        self.read = 0

    def _pass(self, batch: Any) -> Any:
        self.read += len(batch)
        return super()._pass(batch)


def pieces_of(session: WriterSession, answers: WrittenAnswers) -> list[str]:
    return [session.piece(copied.token) for copied in answers.written[0].tokens]


def same(one: WrittenAnswers, other: WrittenAnswers) -> None:
    assert [w.tokens for w in one.written] == [w.tokens for w in other.written]
    for a, b in zip(one.written, other.written, strict=True):
        assert a.score == b.score
        assert (a.places == b.places).all()


def test_writes_what_it_has_learnt(session: WriterSession) -> None:
    answers = session.write(TASKS, "sentence", SETTINGS)
    assert pieces_of(session, answers[0]) == ["the", "story", "is", "king", "."]
    assert pieces_of(session, answers[1]) == ["the", "story", "is", "dragon", "."]
    assert pieces_of(session, answers[2]) == ["the", "story", "is", "3", "##1", "bridges", "."]
    assert all(written.ended for answer in answers[:3] for written in answer.written)


def test_every_token_is_at_its_place_and_its_shares_add_up(session: WriterSession) -> None:
    for task, answers in zip(TASKS, session.write(TASKS, "sentence", SETTINGS), strict=True):
        for written in answers.written:
            numpy.testing.assert_allclose(written.vocabulary + written.places.sum(axis=1), 1.0, atol=1e-5)
            for copied in written.tokens:
                assert 0.0 <= copied.share <= 1.0
                if copied.place is None:
                    continue
                at = copied.place
                text = (
                    task.passages[answers.places.passage[at]].text if answers.places.passage[at] >= 0 else task.question
                )
                characters = text[answers.places.start[at] : answers.places.end[at]]
                assert characters.lower() == session.piece(copied.token).removeprefix("##")


def test_the_short_answers_words_stand_in_its_passage(session: WriterSession) -> None:
    (answers,) = session.write(TASKS[2:3], "sentence", SETTINGS)
    at = answers.written[0].tokens[3].place
    assert at is not None
    assert answers.places.passage[at] == 1
    assert answers.places.start[at] == KING.text.index("31")


@pytest.mark.parametrize("beam", [1, 3])
def test_an_answer_alone_is_as_beside_others(tiny_writer_weights: Path, beam: int) -> None:
    settings = SearchSettings(beam=beam, max_tokens=16)
    together = WriterSession(Weights(tiny_writer_weights), 2).write(TASKS, "sentence", settings)
    for task, answers in zip(TASKS, together, strict=True):
        alone = WriterSession(Weights(tiny_writer_weights), 1).write([task], "sentence", settings)[0]
        same(alone, answers)


def test_a_passage_reads_the_same_alone_and_beside_others(tiny_writer_weights: Path) -> None:
    together = WriterSession(Weights(tiny_writer_weights), 2).judge(QUESTIONS, [[KING, DRAGON]] * 4)
    for question, judged in zip(QUESTIONS, together, strict=True):
        for number, one in enumerate((KING, DRAGON)):
            (alone,) = WriterSession(Weights(tiny_writer_weights), 1).judge([question], [[one]])
            assert alone.relevance[0] == judged.relevance[number]


def test_a_pass_is_paid_once(tiny_writer_weights: Path) -> None:
    session = Counting(Weights(tiny_writer_weights))
    session.judge(QUESTIONS[:1], [[KING, DRAGON]])
    assert session.read == 2
    session.judge(QUESTIONS[:1], [[KING, DRAGON]])
    assert session.read == 2
    session.write(TASKS[:1], "sentence", SETTINGS)
    assert session.read == 3  # the short answer
    session.write(TASKS[:1], "short", SearchSettings(beam=2, max_tokens=4))
    assert session.read == 3


def test_only_so_much_is_remembered(session: WriterSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_REMEMBERED", 2)
    session.judge(QUESTIONS[:2], [[KING, DRAGON]] * 2)
    assert len(session._remembered) == 4  # the next stages ask for all of them
    session.judge(QUESTIONS[:1], [[KING]])
    assert len(session._remembered) == 2


def test_a_long_passage_is_read_around_the_answer(session: WriterSession) -> None:
    long = passage(2, "the river walks " * 60 + "to the blue Queen " + "in the evening " * 60)
    start = long.text.index("Queen")
    (answers,) = session.write([WritingTask(QUESTIONS[0], (long,), Short(0, start, start + 5))], "sentence", SETTINGS)
    assert pieces_of(session, answers) == ["the", "story", "is", "queen", "."]
    places = answers.places
    shown = places.start[(places.source == PASSAGE)]
    assert shown.min() < start < shown.max()


@pytest.mark.parametrize(
    "task",
    [
        WritingTask("", (KING,)),
        WritingTask("?", (KING,), Short(0, 0, 3)),
        WritingTask("what " * 300, (KING, DRAGON), Short(1, 2, 8)),
        WritingTask("what", (passage(3, ""),)),
        WritingTask("what", (passage(3, ""), KING), Short(1, 8, 12)),
        WritingTask(
            "what", tuple(passage(number, f"king {number} of the town") for number in range(30)), Short(4, 0, 4)
        ),
        WritingTask("塔は？", (passage(3, "塔は赤い。 北の町"),), Short(0, 0, 3)),
        WritingTask("what", (passage(3, "[SEP] [CLS] king [PAD] [unused1]"),), Short(0, 0, 5)),
    ],
    ids=["no question", "a sign", "long question", "empty passage", "one empty", "thirty", "another script", "marks"],
)
@pytest.mark.parametrize("style", ["sentence", "short"])
def test_whatever_is_asked_something_is_written(session: WriterSession, task: WritingTask, style: str) -> None:
    (answers,) = session.write([task], style, SETTINGS)
    for written in answers.written:
        assert written.tokens
        assert numpy.isfinite(written.score)
        forbidden = {0, *range(2, 6), 7, 8}
        assert forbidden.isdisjoint(copied.token for copied in written.tokens)


def test_no_passages_no_judgement(session: WriterSession) -> None:
    assert session.judge([], []) == []
    (judged,) = session.judge(["what"], [[]])
    assert judged.relevance == ()
    assert judged.answerable == 0.0
    assert session.write([], "sentence", SETTINGS) == []


def test_an_unknown_style_is_named(session: WriterSession) -> None:
    with pytest.raises(SettingsError, match="poem is not a style of this writer; it knows short, sentence, narrative"):
        session.write(TASKS[:1], "poem", SETTINGS)


class TestWeights:
    def copied(self, folder: Path, out: Path) -> Path:
        out.mkdir()
        for path in folder.iterdir():
            (out / path.name).write_bytes(path.read_bytes())
        return out

    def test_missing_ones_are_named(self, tiny_writer_weights: Path, tmp_path: Path) -> None:
        folder = self.copied(tiny_writer_weights, tmp_path / "w")
        (folder / "words.npy").unlink()
        with pytest.raises(WeightsError, match=r"words\.npy is missing"):
            WriterSession(Weights(folder), 1).judge(["what"], [[KING]])

    @pytest.mark.parametrize("content", [b"", b"no numbers", b"\x93NUMPY\x01\x00"])
    def test_broken_ones_are_named(self, tiny_writer_weights: Path, tmp_path: Path, content: bytes) -> None:
        folder = self.copied(tiny_writer_weights, tmp_path / "w")
        (folder / "words.npy").write_bytes(content)
        with pytest.raises(WeightsError, match=r"words\.npy cannot be read"):
            WriterSession(Weights(folder), 1).judge(["what"], [[KING]])

    def test_are_not_read_before_they_are_needed(self, tmp_path: Path) -> None:
        session = WriterSession(Weights(tmp_path / "nothing here"), 1)
        with pytest.raises(WeightsError, match=r"settings\.toml is missing"):
            session.judge(["what"], [[KING]])


class TestWeighing:
    def test_what_it_would_write_itself_is_likeliest(self, session: WriterSession) -> None:
        """It has learnt to say "a dragon ." to everything."""
        own, other = (WritingTask(QUESTIONS[0], (KING, DRAGON), short) for short in (Short(1, 0, 8), Short(0, 8, 12)))
        likely, unlikely = session.weigh([own, other])
        assert likely.first > -0.1
        assert likely.mean > -0.1 > -5.0 > unlikely.mean
        assert 0.0 <= unlikely.place < likely.place <= 1.0
        assert likely.answerable == unlikely.answerable

    def test_is_the_likelihood_of_what_is_written(self, session: WriterSession) -> None:
        (written,) = session.write([WritingTask(QUESTIONS[0], (KING, DRAGON))], "short", SETTINGS)
        (weighed,) = session.weigh([WritingTask(QUESTIONS[0], (KING, DRAGON), Short(1, 0, 8))])
        assert pieces_of(session, written)[:2] == ["a", "dragon"]
        of_all = 4 * written.written[0].score  # "a dragon ." and the end
        assert 2 * weighed.mean == pytest.approx(of_all, abs=0.01)
        assert 2 * weighed.mean > of_all

    def test_alone_is_as_beside_others(self, session: WriterSession) -> None:
        tasks = [task for task in TASKS if task.short]
        assert [session.weigh([task])[0] for task in tasks] == session.weigh(tasks)

    def test_an_answer_that_no_token_stands_for_is_unlikely(self, session: WriterSession) -> None:
        (weighed,) = session.weigh([WritingTask(QUESTIONS[0], (KING,), Short(0, 3, 3))])
        assert weighed.first == weighed.mean < -12.0
        assert weighed.place == 0.0

    def test_shares_what_was_read_with_the_sentence(self, tiny_writer_weights: Path) -> None:
        session = Counting(Weights(tiny_writer_weights))
        session.weigh(TASKS[:1])
        before = session.read
        session.write(TASKS[:1], "sentence", SETTINGS)
        assert session.read == before + 1  # the short answer alone, which is shown now
