"""Summaries in the documents' own words: the contract, where each word stands, and when nothing is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest

from contracts.material import HITS, QUESTIONS, passage
from contracts.stages import SummarizerContract
from wherefrom.errors import WherefromError
from wherefrom.features.telling import CHANCE, SIGNS, Teller
from wherefrom.features.worth import FILE, NAMES, PURPOSES, Selector, SelectorError, Worth
from wherefrom.runtime.weights import Weights
from wherefrom.stages import Summarizer
from wherefrom.summarize.extractive import LITTLE, NOTHING, ExtractiveSummarizer
from wherefrom.types import Hit, Passage, Question, Summary, joined

BOAT = passage(
    "boat.md#0", "The boat is painted blue. It was built in Leith in 1911.\n\n- two oars of ash wood\n- one old anchor"
)
COAST = passage("coast.md#0", "The coast is steep. Boats land in the blue cove alone.")
ABOUT_BOATS = Question("1", "What colour is the boat?")
BOAT_HITS = [Hit(BOAT, 2.0), Hit(COAST, 1.0)]


def weights(folder: Path, least: float = 0.0, bias: float = 0.0, **terms: float) -> Weights:
    """A selector whose score is the logistic function of these features, and a chance of 1/2 but for `bias`."""
    hidden = numpy.zeros((len(NAMES), len(terms) or 1), numpy.float32)
    for column, name in enumerate(terms):
        hidden[NAMES.index(name.replace("_", " ")), column] = 1.0
    out = numpy.array([list(terms.values()) or [0.0]] * len(PURPOSES), numpy.float32).T
    ones, zeros = numpy.ones(len(NAMES), numpy.float32), numpy.zeros(len(NAMES), numpy.float32)
    folder.mkdir(exist_ok=True)
    with (folder / FILE).open("wb") as file:
        numpy.savez(
            file,
            names=numpy.array(NAMES),
            centre=zeros,
            scale=ones,
            hidden=hidden,
            hidden_bias=numpy.zeros(hidden.shape[1], numpy.float32),
            out=out,
            out_bias=numpy.zeros(len(PURPOSES), numpy.float32),
            least=numpy.full(len(PURPOSES), least, numpy.float32),
        )
    line = {"bias": bias, "terms": {name: [0.0, 0.0, 1.0] for name in SIGNS}}
    (folder / CHANCE).write_text(json.dumps(line))
    return Weights(folder)


def summarizer_of(made: Weights, min_chance: float = 0.0) -> ExtractiveSummarizer:
    return ExtractiveSummarizer(Teller(Selector(made), Worth()), made, 0.3, min_chance)


def summary_of_boats(made: Weights, words: int = 100, min_chance: float = 0.0) -> Summary:
    return summarizer_of(made, min_chance).summarize([ABOUT_BOATS], [BOAT_HITS], words)[0]


class TestContract(SummarizerContract):
    """ExtractiveSummarizer is a Summarizer."""

    @pytest.fixture
    def summarizer(self, tmp_path: Path) -> Summarizer:
        return summarizer_of(weights(tmp_path / "made", coverage=4.0))


class TestContractAsShipped(SummarizerContract):
    """So it is with the weights that come with wherefrom."""

    @pytest.fixture
    def summarizer(self) -> Summarizer:
        return summarizer_of(Weights.named("selector"))


def test_a_batch_equals_one_by_one(tmp_path: Path) -> None:
    summarizer = summarizer_of(weights(tmp_path / "made", coverage=4.0))
    one_by_one = [
        summarizer.summarize([question], [hits], 30)[0] for question, hits in zip(QUESTIONS, HITS, strict=True)
    ]
    assert summarizer.summarize(QUESTIONS, HITS, 30) == one_by_one


def test_every_word_says_where_it_stands_and_the_words_spell_the_sentence(tmp_path: Path) -> None:
    summary = summary_of_boats(weights(tmp_path / "made", coverage=4.0))
    assert summary.sentences
    for sentence in summary.sentences:
        (evidence,) = sentence.evidence
        assert joined(sentence.words) == sentence.text
        assert all(evidence.text[word.start : word.end] == word.text for word in sentence.words)
        assert all(word.source == "passage" and word.passage_id == evidence.id for word in sentence.words)


def test_the_order_is_that_of_the_documents_and_space_tells_them_apart(tmp_path: Path) -> None:
    summary = summary_of_boats(weights(tmp_path / "made", coverage=4.0))
    assert summary.text == (
        "The boat is painted blue. It was built in Leith in 1911.\ntwo oars of ash wood\n\n"
        "The coast is steep. Boats land in the blue cove alone."
    )
    assert [sentence.space for sentence in summary.sentences] == ["", " ", "\n", "\n\n", " "]


def test_what_holds_the_question_s_words_is_told_first_where_there_is_little_room(tmp_path: Path) -> None:
    assert summary_of_boats(weights(tmp_path / "made", coverage=4.0), words=5).text == "The boat is painted blue."


def test_little_is_said_to_be_little(tmp_path: Path) -> None:
    made = weights(tmp_path / "made", coverage=4.0)
    assert summary_of_boats(made, 100).reason == LITTLE
    assert summary_of_boats(made, 20).reason == ""


def test_nothing_is_told_where_the_documents_seem_not_to_speak_of_it(tmp_path: Path) -> None:
    made = weights(tmp_path / "made", bias=-2.0, coverage=4.0)
    declined = summary_of_boats(made, min_chance=0.3)
    assert (declined.sentences, declined.reason) == ((), NOTHING)
    assert declined.chance == pytest.approx(0.1192, abs=1e-4)
    assert declined.declined
    assert summary_of_boats(made, min_chance=0.1).sentences
    (general,) = summarizer_of(made, 0.3).summarize([Question("", "Summarize the document.")], [BOAT_HITS], 50)
    assert general.sentences, "what names nothing is not asked whether it is spoken of"
    assert general.chance is None


def test_weights_of_another_version_are_refused_in_words(tmp_path: Path) -> None:
    made = weights(tmp_path / "made")
    with numpy.load(made.folder / FILE) as arrays:
        older = {name: arrays[name] for name in arrays}
    numpy.savez(made.folder / FILE, **{**older, "names": older["names"][:-1]})
    with pytest.raises(SelectorError, match=r"looks at other things.*wherefrom train selector"):
        summary_of_boats(Weights(made.folder))


def test_a_line_that_is_none_is_refused_in_words(tmp_path: Path) -> None:
    made = weights(tmp_path / "made")
    (made.folder / CHANCE).write_text('{"bias": 1}')
    with pytest.raises(WherefromError, match=r"speaks\.json is not a fitted line"):
        summary_of_boats(made)


class CountingReader:
    """Reads nothing; counts what it is given."""

    def __init__(self) -> None:
        self.passages: list[int] = []

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[list[None]]:
        self.passages += [len(own) for own in passages]
        return [[None] * len(own) for own in passages]


def test_the_network_reads_the_first_passages_once_and_none_where_nothing_is_named(tmp_path: Path) -> None:
    made, reader = weights(tmp_path / "made", coverage=4.0), CountingReader()
    teller = Teller(Selector(made), Worth(), reader, read=1)  # type: ignore[arg-type]
    first = teller.weighed(ABOUT_BOATS.text, BOAT_HITS)
    assert teller.weighed(ABOUT_BOATS.text, BOAT_HITS) is first
    assert reader.passages == [1]
    teller.weighed("Summarize the document.", BOAT_HITS)
    assert reader.passages == [1]
    changed = [Hit(passage("boat.md#0", "Another text stands here now."), 2.0)]
    assert teller.weighed(ABOUT_BOATS.text, changed).statements != first.statements
