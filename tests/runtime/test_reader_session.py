"""The reader at run time: parity with torch, windows, memory, stages over it, and broken weights."""

from __future__ import annotations

import json
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="a tiny network is made with torch: pip install 'wherefrom[train]'")
pytest.importorskip("onnxruntime", reason="networks run in onnxruntime: pip install 'wherefrom[train]'")

import numpy
import torch

from contracts.material import HITS, QUESTIONS, passage
from contracts.stages import JudgeContract, RankerContract, ReaderContract
from rerank.tiny_reranker import write as write_reranker
from runtime.preferring import check_preference
from runtime.tiny_reader import JUDGE, network
from wherefrom import Library
from wherefrom.build import build
from wherefrom.config import resolve
from wherefrom.features.overlap import Stems
from wherefrom.judge.calibrated import CalibratedJudge, between
from wherefrom.judge.signs import NAMES, features
from wherefrom.rank.reader import ReaderRanker
from wherefrom.read.span import SpanReader, best_spans, paragraphs
from wherefrom.runtime.reader import PassageReading, ReaderSession
from wherefrom.runtime.weights import Weights, WeightsError, sums_eight_bits_exactly
from wherefrom.stages import Judge, Ranker, Reader
from wherefrom.types import Candidate, Document, Hit, Question


@pytest.fixture(scope="session")
def weights(tiny_reader_weights: Path) -> Path:
    return tiny_reader_weights


@pytest.fixture
def session(weights: Path) -> ReaderSession:
    return ReaderSession(Weights(weights), threads=1)


class TestRanker(RankerContract):
    """ReaderRanker is a Ranker."""

    @pytest.fixture
    def ranker(self, session: ReaderSession) -> Ranker:
        return ReaderRanker(session, keep=20)


class TestReader(ReaderContract):
    """SpanReader is a Reader."""

    @pytest.fixture
    def reader(self, session: ReaderSession) -> Reader:
        return SpanReader(session, candidates=10, max_tokens=8, relevance=0.5)


class TestJudge(JudgeContract):
    """CalibratedJudge is a Judge; whom a random network prefers is not its fault."""

    @pytest.fixture
    def judge(self, session: ReaderSession) -> Judge:
        return CalibratedJudge(session)

    @pytest.mark.skip(reason="the tiny network is random: it prefers nothing")
    def test_prefers_a_question_that_the_passages_speak_of(self, judge: Judge) -> None: ...


def test_onnx_says_what_torch_says(session: ReaderSession) -> None:
    text = "the boat is red and the house is blue"
    ((reading,),) = session.read(["what is red?"], [[passage("p#0", text, "boats")]])
    windows: list[object] = []
    session._windows(0, "what is red?", "boats", text, windows)  # type: ignore[arg-type]
    (window,) = windows
    tokens = torch.tensor([window.tokens])  # type: ignore[attr-defined]
    inside = torch.zeros_like(tokens, dtype=torch.bool)
    inside[0, window.first : window.first + window.count] = True  # type: ignore[attr-defined]
    types = torch.zeros_like(tokens)
    types[0, window.tokens.index(2) + 1 :] = 1  # type: ignore[attr-defined]
    with torch.no_grad():
        expected = network()(tokens, torch.ones_like(inside), inside, types)
    assert reading.relevance == pytest.approx(float(expected.relevance), abs=1e-4)
    assert reading.no_answer == pytest.approx(float(expected.no_answer), abs=1e-4)
    numpy.testing.assert_allclose(reading.start, expected.start[inside].numpy(), atol=1e-4)
    numpy.testing.assert_allclose(reading.end, expected.end[inside].numpy(), atol=1e-4)


def test_long_passages_are_read_whole_in_windows(session: ReaderSession) -> None:
    text = " ".join(f"word{number}" for number in range(200))
    ((reading,),) = session.read(["where?"], [[passage("p#0", text)]])
    assert len(reading.spans) == len(reading.start) == len(reading.end)
    assert numpy.isfinite(reading.start).all()
    assert text[reading.spans[-1][0] : reading.spans[-1][1]] == "9"


AWKWARD = [
    ("", "a b"),
    ("why " * 1000, "a b c"),
    ("who?", ""),
    ("who?", "Yes"),
    ("灯台？", "灯台は高い。"),
    ("?", " \n "),
    ("a", "🚢"),
]


@pytest.mark.parametrize(("question", "text"), AWKWARD)
def test_awkward_pairs_give_candidates_in_place_or_none(session: ReaderSession, question: str, text: str) -> None:
    reader = SpanReader(session, candidates=3, max_tokens=5, relevance=0.5)
    (candidates,) = reader.read([Question("", question)], [[Hit(passage("p#0", text), 1.0)]])
    assert all(text[c.start : c.end] == c.text and c.text.strip() for c in candidates)


def test_one_pass_serves_ranking_reading_and_judging(session: ReaderSession, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    whole = session._run
    monkeypatch.setattr(session, "_run", lambda batch, *rest: passes.append(len(batch)) or whole(batch, *rest))
    ranked = ReaderRanker(session, keep=10).rank(QUESTIONS, HITS)
    paid = list(passes)
    read = SpanReader(session, 5, 8, 0.5).read(QUESTIONS, ranked)
    CalibratedJudge(session).judge(QUESTIONS, ranked, read)
    assert paid
    assert passes == paid


def test_spans_by_hand() -> None:
    start = numpy.array([0.0, 2.0, -1.0], numpy.float32)
    end = numpy.array([3.0, 0.0, 1.0], numpy.float32)
    assert best_spans(start, end, 2, 3) == [(0, 0, 3.0), (1, 2, 3.0), (1, 1, 2.0)]
    assert best_spans(start, end, 1, 9) == [(0, 0, 3.0), (1, 1, 2.0), (2, 2, 0.0)]


def test_no_span_runs_from_a_heading_into_the_text() -> None:
    text = "The boiler\n \nMarta serviced it.\nIt hums."
    spans = [(0, 3), (4, 10), (13, 18), (19, 27), (28, 30), (30, 31), (32, 34), (35, 39), (39, 40)]
    paragraph = paragraphs(text, spans)
    assert paragraph is not None
    assert paragraph.tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 1]
    assert paragraphs("Marta serviced it.\nIt hums.", [(0, 5)]) is None
    start = numpy.array([5.0, 0, 1, 0, 0, 0, 0, 0, 0], numpy.float32)
    end = numpy.array([0.0, 1, 5, 0, 0, 0, 0, 0, 0], numpy.float32)
    assert best_spans(start, end, 9, 1) == [(0, 2, 10.0)]
    assert best_spans(start, end, 9, 2, paragraph) == [(0, 1, 6.0), (2, 2, 6.0)]


def test_the_best_of_many_spans_are_those_of_a_full_sort() -> None:
    chance = numpy.random.default_rng(7)
    for _ in range(50):  # rounded, so that many spans have equal scores
        start, end = chance.normal(size=(2, 40)).round(1).astype(numpy.float32)
        spans = [(first, last) for first in range(40) for last in range(first, min(first + 6, 40))]
        ordered = sorted(spans, key=lambda span: (-(start[span[0]] + end[span[1]]), span))
        assert [span[:2] for span in best_spans(start, end, 6, 5)] == ordered[:5]


@pytest.mark.parametrize("brevity", [0.4, 1.5])
def test_shorter_spans_are_preferred_as_trying_all_says(brevity: float) -> None:
    chance = numpy.random.default_rng(8)
    paragraph = numpy.repeat([0, 1, 2], [9, 1, 15])
    for _ in range(50):
        start, end = chance.normal(size=(2, 25)).astype(numpy.float32)
        start[3] = end[7] = -numpy.inf  # tokens that no window has read
        wanted = {
            (first, last): float(start[first] + end[last]) - brevity * math.log(last - first + 1)
            for first in range(25)
            for last in range(first, min(first + 6, 25))
            if paragraph[first] == paragraph[last] and first != 3 and last != 7
        }
        ordered = sorted(wanted, key=lambda span: -wanted[span])
        raised = max(float(start[first] + end[last]) for first, last in wanted) - wanted[ordered[0]]
        for n in (1, 5, 999):
            best = best_spans(start, end, 6, n, paragraph, brevity)
            assert [span[:2] for span in best] == ordered[:n]
            assert [span[2] for span in best] == pytest.approx(
                [wanted[span] + raised for span in ordered[:n]], abs=1e-5
            )


def test_equal_spans_stay_in_order_where_shorter_ones_are_preferred() -> None:
    nothing = numpy.zeros(3, numpy.float32)
    best = best_spans(nothing, nothing, 2, 9, brevity=1.0)
    assert [span[:2] for span in best] == [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2)]
    assert [span[2] for span in best] == pytest.approx([0, 0, 0, -math.log(2), -math.log(2)])


def test_the_weights_say_how_much_and_the_settings_whether(weights: Path, tmp_path: Path) -> None:
    folder = tmp_path / "brief"
    shutil.copytree(weights, folder)
    (folder / "settings.toml").write_text("brevity = 2.0\n" + (weights / "settings.toml").read_text())
    hits = [[Hit(passage("p#0", "t h e b o a t s o f t h e b a y"), 1.0), Hit(passage("q#0", "b o a t s"), 1.0)]]

    def read(name: Path, switch: str) -> list[Candidate]:
        chosen = [f"runtime.reader={name}", f"read.brevity={switch}", "read.candidates=900", "rerank.kind=none"]
        (candidates,) = build(resolve(overrides=chosen), None).reader.read([Question("", "when?")], hits)
        return candidates

    plain, brief = read(weights, "true"), read(folder, "true")
    assert read(folder, "false") == plain  # the same scores, features and order
    assert all(c.features["read"] == c.score for c in plain)
    letters = [len(candidate.text.replace(" ", "")) for candidate in brief]  # each is a token and a word here
    assert [candidate.features["tokens"] for candidate in brief] == letters
    check_preference(brief, plain, 2.0)


def test_many_threads_read_what_one_does(weights: Path) -> None:
    questions = [f"what is {colour}?" for colour in "red blue green grey brown black white pink".split()]
    passages = [[passage(f"p#{n}", f"the boat number {n} is red and the house is blue " * n) for n in range(1, 6)]]
    alone = [ReaderSession(Weights(weights), threads=1).read([question], passages)[0] for question in questions]
    shared = ReaderSession(Weights(weights), threads=2)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda question: shared.read([question], passages)[0], questions))
    for one, other in zip(alone, together, strict=True):
        for ours, theirs in zip(one, other, strict=True):
            assert (ours.relevance, ours.no_answer) == pytest.approx((theirs.relevance, theirs.no_answer), abs=1e-5)
            numpy.testing.assert_allclose(ours.start, theirs.start, atol=1e-5)


def test_only_so_much_is_remembered(session: ReaderSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wherefrom.runtime.reader._REMEMBERED", 2)
    passages = [passage(f"p#{n}", f"boat {n}") for n in range(4)]
    assert len(session.read(["what?"], [passages])[0]) == 4
    assert sum(map(len, session._remembered.values())) == 4  # the next stages ask for all of them
    session.read(["who?", "where?"], [passages[:1], passages[1:2]])
    assert sum(map(len, session._remembered.values())) == 2


@pytest.mark.parametrize(
    ("listed", "exact"),
    [("flags : fma avx2", False), ("flags : avx2 avx512_vnni", True), ("flags : avx2 avx_vnni", True), (None, False)],
)
def test_8_bit_sums_are_trusted_only_where_the_processor_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str | None, exact: bool
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    if listed is not None:
        (tmp_path / "cpuinfo").write_text(listed)
    assert sums_eight_bits_exactly(tmp_path / "cpuinfo") is exact
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert sums_eight_bits_exactly(tmp_path / "cpuinfo")


def test_without_anything_read_there_are_no_features() -> None:
    assert features("who?", [], [], [], Stems("english")) is None


def reading(relevance: float, no_answer: float) -> PassageReading:
    nothing = numpy.zeros(0, numpy.float32)
    return PassageReading(relevance, no_answer, numpy.zeros((0, 2), numpy.int32), nothing, nothing)


def test_features_by_hand() -> None:
    first, second = passage("p#0", "Marta fixed the boiler in May."), passage("p#1", "The boiler hums.")
    hits = [Hit(first, 2.0), Hit(second, 1.0)]
    candidates = [
        Candidate("May", first, 26, 29, -0.5, {"span": -0.75}),
        Candidate("in May", first, 23, 29, -2.0, {"span": -2.5}),
        Candidate("hums", second, 11, 15, -3.0, {"span": -4.0}),
    ]
    stems = Stems("english")
    row = features("When was the boiler fixed?", hits, [reading(30.0, 1.0), reading(-2.0, 1.0)], candidates, stems)
    assert row is not None
    named = dict(zip(NAMES, row, strict=True))
    assert (named["relevance"], named["other relevance"]) == (12.0, -2.0)  # the first is bounded
    assert (named["span"], named["margin"]) == (pytest.approx(-0.75), 1.5)
    assert (named["same passage"], named["coverage"]) == (1.0, 1.0)  # `boiler` and `fixed` both stand near
    elsewhere = features("When was the boiler sold?", hits, [reading(0.0, 1.0), reading(1.0, 1.0)], candidates, stems)
    assert elsewhere is not None
    named = dict(zip(NAMES, elsewhere, strict=True))
    assert named["same passage"] == 0.0
    assert named["coverage"] == pytest.approx(math.log(3 / 2.5) / (math.log(3 / 2.5) + math.log(3 / 0.5)))


def test_an_answer_found_twice_is_not_doubted_for_it() -> None:
    once, again = passage("p#0", "Fixed in May."), passage("p#1", "It was in May, too.")
    both = [Candidate("May", once, 9, 12, -1.0, {"span": -1.0}), Candidate("May", again, 10, 13, -1.5, {"span": -1.5})]
    hits, readings = [Hit(once, 2.0), Hit(again, 1.0)], [reading(3.0, 1.0), reading(2.5, 1.0)]
    twice = features("When?", hits, readings, both, Stems("english"))
    alone = features("When?", hits[:1], readings[:1], both[:1], Stems("english"))
    assert twice is not None
    assert alone is not None
    assert twice[:2] == alone[:2] == (3.0, -6.0)
    assert twice[2] == pytest.approx(math.log(math.exp(-1.0) + math.exp(-1.5)))
    assert twice[3:6] == alone[3:6]


def test_chances_follow_the_knots_where_there_are_some(weights: Path, tmp_path: Path) -> None:
    assert between([(-1.0, 0.1), (1.0, 0.5), (3.0, 0.9)], 0.0) == pytest.approx(0.3)
    assert [between([(-1.0, 0.1), (1.0, 0.5)], logit) for logit in (-9.0, -1.0, 1.0, 9.0)] == [0.1, 0.1, 0.5, 0.5]
    assert between([(0.0, 0.4)], 5.0) == 0.4
    folder = tmp_path / "weights"
    shutil.copytree(weights, folder)
    (folder / "judge.json").write_text(json.dumps({**JUDGE, "knots": [[-1e6, 0.25], [1e6, 0.25]]}))
    judge = CalibratedJudge(ReaderSession(Weights(folder), threads=1))
    hits = [[Hit(passage("p#0", "the boat"), 1.0)]]
    candidates = [[Candidate("boat", hits[0][0].passage, 4, 8, 1.0)]]
    assert judge.judge([Question("", "what?")], hits, candidates) == [0.25]


def test_a_word_of_yes_or_no_has_a_chance_of_its_own(weights: Path, tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    shutil.copytree(weights, folder)
    word = {"bias": 1.5, "terms": {"sureness": [0.0, 0.0, 1.0]}}
    (folder / "judge.json").write_text(json.dumps({**JUDGE, "yes_no": word}))
    judge = CalibratedJudge(ReaderSession(Weights(folder), threads=1))
    hits = [[Hit(passage("p#0", "the boat"), 1.0)]] * 2
    candidates = [[Candidate("boat", hits[0][0].passage, 4, 8, 1.0)]] * 2
    questions = [Question("1", "Does the boat sail?"), Question("2", "what?")]
    says = judge.features(questions, hits, candidates)[0][NAMES.index("sureness")] > 0  # type: ignore[index]
    first, second = judge.judge(questions, hits, candidates)
    assert (first == pytest.approx(1 / (1 + math.exp(-1.5)))) == says
    assert second != pytest.approx(1 / (1 + math.exp(-1.5)))


def test_a_library_answers_through_the_network(weights: Path, tmp_path: Path) -> None:
    chosen = ["rank.kind=reader", "read.kind=span", "judge.kind=calibrated", f"runtime.reader={weights}"]
    library = Library(tmp_path / "library", resolve(overrides=chosen))
    library.put([Document("memo", "The key is under the mat.", "Memo"), Document("b", "Boats sail at dawn.")])
    trace = library.ask("Where is the key?", min_chance=0.0)
    assert trace.answer is not None
    assert trace.answer.text in "The key is under the mat."
    assert {"rank", "retrieve"} <= trace.hits[0].features.keys()
    assert 0.0 <= trace.answer.chance <= 1.0


def test_one_passage_gives_as_many_candidates_as_are_asked_for(session: ReaderSession) -> None:
    text = " ".join("theboatsofthebaysailatdawnandcomebackatdusk")  # each letter is a token, and here a word
    hits = [[Hit(passage("p#0", text), 1.0)]]
    for wanted in (5, 40):
        (candidates,) = SpanReader(session, wanted, max_tokens=8, relevance=0.5).read([Question("", "when?")], hits)
        assert len(candidates) == wanted
        assert len({(candidate.start, candidate.end) for candidate in candidates}) == wanted


def test_a_re_ranker_changes_the_answer_and_not_whether_there_is_one(weights: Path, tmp_path: Path) -> None:
    documents = [Document(f"{n}", f"Boat {n} sails at dawn with {n} hands and comes back at dusk.") for n in range(9)]
    chances, answers = {}, {}
    backwards = write_reranker(tmp_path / "backwards", {"rank": 1.0})
    for kind, folder in (("none", "rankqa"), ("auto", "rankqa"), ("vote", "rankqa"), ("rankqa", backwards)):
        chosen = [f"rerank.kind={kind}", f"rerank.weights={folder}", f"runtime.reader={weights}"]
        library = Library(tmp_path / kind, resolve(overrides=chosen))
        library.put(documents)
        trace = library.ask("Which boat sails at dawn?", min_chance=0.0)
        assert trace.answer is not None
        chances[kind], answers[kind] = trace.answer.chance, trace.answer.text
        assert len(trace.candidates) == (40 if kind == "rankqa" else 10)
        assert all(("rerank" in candidate.features) == (kind != "none") for candidate in trace.candidates)
    assert chances["none"] == pytest.approx(chances["vote"]) == pytest.approx(chances["rankqa"])
    assert (chances["auto"], answers["auto"]) == (chances["vote"], answers["vote"])
    assert answers["none"] != answers["rankqa"]


def test_a_library_loads_its_network_once(weights: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library", resolve(overrides=["read.kind=span", f"runtime.reader={weights}"]))
    library.put([Document("memo", "The key is under the mat.")])
    library.ask("Where is the key?")
    assert library.pipeline().reader is library.pipeline(k=3).reader is library.pipeline().reader


@pytest.mark.parametrize("damage", ["missing folder", "model", "tokenizer", "settings", "judge"])
def test_broken_weights_are_named_with_the_remedy(weights: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "weights"
    files = {"model": "model.onnx", "tokenizer": "tokenizer.json", "settings": "settings.toml", "judge": "judge.json"}
    if damage in files:
        shutil.copytree(weights, folder)
        (folder / files[damage]).write_bytes(b"broken [")
    session = ReaderSession(Weights(folder), threads=1)
    hits = [[Hit(passage("p#0", "the boat"), 1.0)]]

    def judged() -> list[float]:
        read = SpanReader(session, 3, 5, 0.5).read([Question("", "what?")], hits)
        return CalibratedJudge(session).judge([Question("", "what?")], hits, read)

    with pytest.raises(WeightsError, match="install wherefrom again"):
        judged()
