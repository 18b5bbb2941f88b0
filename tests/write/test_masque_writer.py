"""The writing writer: its contract, what it keeps to, and what it does where the network does not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnxruntime", reason="networks run in onnxruntime")

from contracts.stages import WriterContract
from wherefrom.errors import SettingsError
from wherefrom.runtime.weights import Weights
from wherefrom.runtime.writer import WriterSession
from wherefrom.stages import Writer
from wherefrom.types import Answer, Candidate, Hit, Passage, Question, Style, Word, joined
from wherefrom.write.masque import MasqueWriter
from wherefrom.write.verbatim import VerbatimWriter


def passage(number: int, text: str) -> Passage:
    return Passage(f"{number}#0", str(number), text, 0, len(text))


KING = passage(0, "The old King of 31 bridges walks to the town. He sleeps.")
DRAGON = passage(1, "A dragon eats 3,500 gold in the evening.")
QUESTION = Question("1", "how many bridges ?")


def span(passage: Passage, text: str) -> Candidate:
    start = passage.text.index(text)
    return Candidate(text, passage, start, start + len(text), 1.0)


def hits(*passages: Passage) -> list[Hit]:
    return [Hit(passage, 1.0) for passage in passages]


@pytest.fixture(scope="module")
def session(tiny_writer_weights: Path) -> WriterSession:
    return WriterSession(Weights(tiny_writer_weights), threads=2)


@pytest.fixture
def writer(session: WriterSession) -> MasqueWriter:
    return MasqueWriter(session)


def written(
    writer: Writer, candidate: Candidate | None, *passages: Passage, style: Style = "sentence", question: str = ""
) -> Answer:
    asked_question = Question("", question) if question else QUESTION
    (answer,) = writer.write([asked_question], [hits(*passages)], [[candidate] if candidate else []], [0.7], style)
    return answer


class TestContract(WriterContract):
    @pytest.fixture
    def writer(self, session: WriterSession) -> Writer:
        return MasqueWriter(session)


class TestContractWithShortAnswersWritten(WriterContract):
    @pytest.fixture
    def writer(self, session: WriterSession) -> Writer:
        return MasqueWriter(session, passages=1, beam=2, short="write")


def test_a_sentence_tells_the_readers_answer(writer: MasqueWriter) -> None:
    answer = written(writer, span(KING, "31 bridges"), KING, DRAGON)
    assert answer.text == "The story is 31 bridges."
    assert answer.chance == 0.7
    assert answer.evidence == (KING,)
    sources = [word.source for word in answer.words]
    assert sources == ["vocabulary", "vocabulary", "vocabulary", "passage", "passage", "vocabulary"]
    number, bridges = answer.words[3:5]
    assert KING.text[number.start : number.end] == "31"
    assert KING.text[bridges.start : bridges.end] == "bridges"
    assert number.share > 0.9
    assert writer.counts == {"written": 1, "quoted": 0}


def test_copied_names_keep_their_capitals(writer: MasqueWriter) -> None:
    assert written(writer, span(KING, "King"), KING).text == "The story is King."


def test_a_passage_and_a_short_answer_are_quoted(writer: MasqueWriter) -> None:
    for style in ("short", "passage"):
        arguments = ([QUESTION], [hits(KING)], [[span(KING, "31 bridges")]], [0.7], style)
        assert writer.write(*arguments) == VerbatimWriter().write(*arguments)  # type: ignore[arg-type]


def test_a_short_answer_can_be_written(session: WriterSession) -> None:
    answer = written(MasqueWriter(session, short="write"), span(KING, "31 bridges"), DRAGON, style="short")
    assert answer.text == "A dragon."
    assert answer.evidence == (DRAGON,)


def test_what_is_told_freely_shares_a_word_with_the_answer_or_quotes_it(
    session: WriterSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    styles: list[str] = []
    write = WriterSession.write

    def heard(self: WriterSession, tasks: Any, style: str, *more: Any) -> Any:
        styles.append(style)
        assert all(task.short is None for task in tasks)
        return write(self, tasks, "short", *more)  # which the tiny network has learnt: the first of the dragon's words

    monkeypatch.setattr(WriterSession, "write", heard)
    told = written(MasqueWriter(session), span(DRAGON, "dragon"), DRAGON, style="free")
    assert (told.text, told.how) == ("A dragon.", "written")
    assert set(styles) == {"narrative"}
    quoted = written(MasqueWriter(session), span(DRAGON, "3,500 gold"), DRAGON, style="free")
    assert (quoted.text, quoted.how) == ("3,500 gold", "quoted")


def test_a_sentence_that_only_says_the_question_again_is_not_told(writer: MasqueWriter) -> None:
    told = written(writer, span(KING, "31 bridges"), KING, question="The story is 31 bridges?")
    assert told.how == "quoted"


def test_the_candidates_passage_is_always_read(session: WriterSession) -> None:
    others = [passage(number, f"the town {number}") for number in range(2, 9)]
    answer = written(MasqueWriter(session, passages=2), span(KING, "31 bridges"), *others, KING)
    assert answer.text == "The story is 31 bridges."
    alone = written(MasqueWriter(session, passages=1), span(KING, "31 bridges"), *others, KING)
    assert alone.text == "The story is 31 bridges."


def test_without_a_candidate_it_writes_from_the_passages(writer: MasqueWriter) -> None:
    answer = written(writer, None, KING, DRAGON)
    assert answer.text
    assert {word.source for word in answer.words} <= {"passage", "question", "vocabulary"}


def test_an_answer_that_the_network_does_not_tell_is_quoted(writer: MasqueWriter) -> None:
    """It has learnt to copy five tokens; these are more."""
    candidate = span(KING, "King of 31 bridges walks to the town")
    answer = written(writer, candidate, KING)
    assert answer.text == "The old King of 31 bridges walks to the town."
    assert all(word.source == "passage" and word.share == 1.0 for word in answer.words)
    assert writer.counts == {"quoted": 1}


class Strange(WriterSession):
    """Takes every word of the vocabulary for safe."""

    @property
    def _vocabulary(self):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        import numpy

        known = WriterSession._vocabulary.func(self)  # type: ignore[attr-defined]
        return replace(known, safe=numpy.isin(known.words, [15, 16, 17, 18, 19, 20]))


def test_what_does_not_keep_to_its_sources_is_not_told(tiny_writer_weights: Path) -> None:
    """Without `the`, `story` and `is` the network has to say something else; whatever it is, it holds no new name."""
    writer = MasqueWriter(Strange(Weights(tiny_writer_weights), 1))
    answer = written(writer, span(KING, "31 bridges"), KING, DRAGON)
    assert answer.text is not None
    assert "31 bridges" in answer.text


def test_words_are_heard_as_they_are_written(writer: MasqueWriter) -> None:
    streamed: dict[int, list[Word]] = {}
    questions = [Question("", "who ?"), QUESTION, QUESTION]
    candidates = [[], [span(KING, "31 bridges")], [span(DRAGON, "dragon")]]

    def stream(place: int, words: tuple[Word, ...]) -> None:
        streamed.setdefault(place, []).extend(words)

    all_hits = [[], hits(KING), hits(DRAGON)]
    answers = writer.write(questions, all_hits, candidates, [0.0, 0.9, 0.9], "sentence", stream)
    assert 0 not in streamed
    for place in (1, 2):
        words = answers[place].words
        assert streamed[place] == list(words[: len(streamed[place])])
        assert len(streamed[place]) == len(words) - 1  # the last is told with the whole


BAD = {
    "one passage": ([passage(0, "king")], "what ?"),
    "thirty passages": ([passage(number, f"The king of {number} bridges.") for number in range(30)], "what ?"),
    "an empty passage": ([passage(0, "king"), passage(1, "")], "what ?"),
    "only spaces": ([passage(0, "king"), passage(1, " \n ")], "what ?"),
    "another script": ([passage(0, "灯台は明治に建てられた。 king"), passage(1, "Маяк построен.")], "灯台は？"),
    "a question of one word": ([KING], "bridges"),
    "a question of 300 words": ([KING], "how many bridges " * 100),
    "no question": ([KING], " "),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("style", ["short", "sentence", "passage"])
def test_bad_input_is_answered_all_the_same(session: WriterSession, name: str, style: Style) -> None:
    passages, question = BAD[name]
    writer = MasqueWriter(session, short="write")
    candidate = span(passages[0], passages[0].text[-4:])
    answer = written(writer, candidate, *passages, style=style, question=question)
    assert answer.text
    assert joined(answer.words) == answer.text
    by_id = {passage.id: passage for passage in answer.evidence}
    for word in answer.words:
        if word.source == "passage":
            assert word.passage_id is not None
            assert by_id[word.passage_id].text[word.start : word.end].lower() == word.text.lower()


def test_nothing_to_write_from_is_no_answer(writer: MasqueWriter) -> None:
    for passages in ((), (passage(0, ""),), (passage(0, " "), passage(1, "\n"))):
        answer = written(writer, None, *passages)
        assert answer.text is None
        assert answer.words == ()


def test_an_unknown_style_is_named(writer: MasqueWriter) -> None:
    with pytest.raises(SettingsError, match="limerick is not a style"):
        written(writer, span(KING, "King"), KING, style="limerick")  # type: ignore[arg-type]


def numbers_of(words: Sequence[Word]) -> list[str]:
    return [word.text for word in words if any(map(str.isdigit, word.text))]


def test_numbers_are_those_of_the_passages(writer: MasqueWriter) -> None:
    for number in (7, 31, 408, 2999):
        town = passage(5, f"The town of {number} bridges.")
        answer = written(writer, span(town, str(number)), town, KING)
        assert numbers_of(answer.words) == [str(number)]
