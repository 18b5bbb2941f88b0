"""POST /ask, /search and /summarize: what is told, in which order, and that it is the command line's trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from fastapi.testclient import TestClient

from server.conftest import DOCUMENTS, MakeClient, events_of
from wherefrom import Library
from wherefrom.types import Trace, joined

BODY = {"question": "Who serviced the boiler?"}


class TestAskForTheTraceAlone:
    def test_it_is_the_trace_that_python_gives(self, client: TestClient, library_path: Path) -> None:
        answered = client.post("/ask", json={**BODY, "stream": False})
        assert answered.status_code == 200
        trace = msgspec.json.decode(answered.content, type=Trace)
        direct = Library(library_path).ask(BODY["question"])
        assert trace.answer == direct.answer
        assert trace.hits == direct.hits
        assert trace.candidates == direct.candidates
        assert set(trace.timings) == set(direct.timings)

    def test_style_k_and_chance_are_heard(self, client: TestClient) -> None:
        body = {**BODY, "stream": False, "style": "passage", "k": 1, "min_chance": 0.0}
        trace = client.post("/ask", json=body).json()
        assert len(trace["hits"]) == 1
        assert trace["answer"]["text"] == "The boiler was serviced by Marta in May. It hums."
        declined = client.post("/ask", json={**body, "min_chance": 1.0}).json()
        assert declined["answer"]["text"] is None
        assert declined["answer"]["chance"] == trace["answer"]["chance"]

    def test_what_the_library_does_not_hold_is_declined(self, client: TestClient) -> None:
        trace = client.post("/ask", json={"question": "zebra migration?", "stream": False}).json()
        assert trace["answer"] == {
            "text": None,
            "style": "short",
            "chance": 0.0,
            "words": [],
            "evidence": [],
            "rests_on": [],
            "how": None,
            "reason": "",
            "disagrees": [],
            "gone": [],
        }

    def test_a_question_in_another_language_is_out_of_reach(self, client: TestClient) -> None:
        body = {"question": "Qui a réparé la chaudière ?", "min_chance": 0.0}
        answer = client.post("/ask", json={**body, "stream": False}).json()["answer"]
        assert answer["text"] is None
        assert answer["reason"] == "out of reach: questions in French are not supported (English only)"
        events = events_of(client.post("/ask", json=body).text)
        assert [name for name, _ in events] == ["hits", "hits", "candidates", "chance", "trace"]
        assert client.post("/search", json={"question": "Marta où est-elle et qui est-ce ?"}).json()["hits"]

    def test_reasons_where_they_are_wanted(self, client: TestClient) -> None:
        assert client.post("/ask", json={**BODY, "stream": False}).json()["why"] is None
        reasons = client.post("/ask", json={**BODY, "stream": False, "why": True, "min_chance": 1.0}).json()["why"]
        assert [step["stage"] for step in reasons["steps"]] == ["retrieve", "rank", "read", "judge", "write"]
        assert reasons["closing"].startswith("declined: ")
        assert "is below 1.00" in reasons["closing"]
        body = {**BODY, "expect": "Zoltan"}
        assert client.post("/ask", json={**body, "stream": False}).json()["why"]["lost"]["stage"] == "extraction"
        assert events_of(client.post("/ask", json=body).text)[-1][1]["why"]["lost"]["stage"] == "extraction"


class TestAskForEvents:
    def test_hits_candidates_chance_words_and_then_the_trace(self, client: TestClient) -> None:
        answered = client.post("/ask", json=BODY)
        assert answered.headers["content-type"].startswith("text/event-stream")
        events = events_of(answered.text)
        assert [name for name, _ in events] == ["hits", "hits", "candidates", "chance", "words", "trace"]
        assert [data["stage"] for name, data in events if name == "hits"] == ["retrieve", "rank"]
        last_events: dict[str, Any] = dict(events)
        trace = last_events["trace"]
        assert last_events["hits"] == {"stage": "rank", "hits": trace["hits"]}
        assert last_events["candidates"] == {"candidates": trace["candidates"]}
        assert last_events["chance"] == {"chance": trace["answer"]["chance"], "declined": False, "style": "short"}
        assert last_events["words"] == {"words": trace["answer"]["words"]}
        words = msgspec.convert(trace, Trace).answer.words  # type: ignore[union-attr]
        assert joined(words) == trace["answer"]["text"] == "Marta"

    def test_without_a_ranker_hits_come_once(self, client_with: MakeClient) -> None:
        from dataclasses import replace

        client = client_with(lambda pipeline: replace(pipeline, ranker=None))
        events = events_of(client.post("/ask", json=BODY).text)
        assert [name for name, _ in events] == ["hits", "candidates", "chance", "words", "trace"]
        assert events[0][1] == {"stage": "retrieve", "hits": events[-1][1]["hits"]}

    def test_declining_writes_no_words(self, client: TestClient) -> None:
        events = events_of(client.post("/ask", json={**BODY, "min_chance": 1.0}).text)
        assert [name for name, _ in events] == ["hits", "hits", "candidates", "chance", "trace"]
        assert events[3][1]["declined"] is True


def test_search_finds_and_does_not_answer(client: TestClient) -> None:
    trace = client.post("/search", json={"question": "roses", "k": 2}).json()
    assert [hit["passage"]["document_id"] for hit in trace["hits"]] == ["garden/roses.txt"]
    assert trace["answer"] is None
    assert trace["candidates"] == []


class TestSummarize:
    def test_it_is_the_trace_that_python_gives(self, client: TestClient, library_path: Path) -> None:
        body = {"question": "Who waters the roses?", "words": 30, "stream": False}
        trace = msgspec.json.decode(client.post("/summarize", json=body).content, type=Trace)
        direct = Library(library_path).summarize("Who waters the roses?", 30)
        assert trace.summary == direct.summary
        assert trace.summary is not None
        assert trace.summary.sentences
        assert trace.answer is None

    def test_sentences_come_one_by_one(self, client: TestClient) -> None:
        body = {"question": "Summarize the document.", "documents": ["garden/roses.txt"]}
        events = events_of(client.post("/summarize", json=body).text)
        names = [name for name, _ in events]
        assert names == ["hits", *["words"] * (len(names) - 2), "trace"]
        words = [word for name, data in events if name == "words" for word in data["words"]]
        summary = events[-1][1]["summary"]
        assert len(summary["sentences"]) == len(names) - 2 == 2
        assert "".join(word["space"] + word["text"] for word in words) == DOCUMENTS[1].text

    def test_nothing_on_it_is_said(self, client: TestClient) -> None:
        body = {"question": "How do zebras migrate?", "stream": False}
        summary = client.post("/summarize", json=body).json()["summary"]
        assert summary["sentences"] == []
        assert summary["reason"] == "nothing in these documents speaks of this"

    def test_a_document_that_is_not_there_is_named(self, client: TestClient) -> None:
        body = {"question": "Summarize it.", "documents": ["keys.txt", "gone.txt"]}
        refused = client.post("/summarize", json=body)
        assert refused.status_code == 404
        assert "gone.txt" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({}, "body.question"),
        ({"question": ""}, "body.question"),
        ({"question": "   "}, "body.question"),
        ({"question": "x" * 2001}, "body.question"),
        ({"question": 5}, "body.question"),
        ({"question": "a", "k": 0}, "body.k"),
        ({"question": "a", "k": "3"}, "body.k"),
        ({"question": "a", "style": "song"}, "body.style"),
        ({"question": "a", "min_chance": 1.5}, "body.min_chance"),
        ({"question": "a", "kk": 3}, "body.kk"),
    ],
)
def test_a_wrong_request_is_told_where(client: TestClient, wrong: dict[str, object], where: str) -> None:
    refused = client.post("/ask", json=wrong)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    assert problem["status"] == 422
    assert where in [error["where"] for error in problem["errors"]]
    assert where in problem["detail"]


@pytest.mark.parametrize(
    "body", [b'{"question": "\\ud800 half a character"}', b'{"question": "a", "min_chance": NaN}', b"{", b"\xff", b"[]"]
)
def test_hostile_json_is_refused_and_not_repeated(client: TestClient, body: bytes) -> None:
    refused = client.post("/ask", content=body, headers={"content-type": "application/json"})
    assert refused.status_code in (400, 422)
    assert refused.headers["content-type"] == "application/problem+json"
    assert "half a character" not in refused.text


def test_json_must_say_that_it_is_json(client: TestClient) -> None:
    """A form of another site can send text/plain without asking first."""
    refused = client.post("/ask", content=b'{"question": "a"}', headers={"content-type": "text/plain"})
    assert refused.status_code in (415, 422)


def test_any_text_is_a_safe_question(client: TestClient) -> None:
    for text in ('" OR 1=1 --', "*:*", "🦊" * 500, "a\x00b", "<script>alert(1)</script>", "(((("):
        assert client.post("/ask", json={"question": text, "stream": False}).status_code == 200


class TestWithin:
    """A part of the library is asked."""

    def test_only_that_part_is_looked_at(self, client: TestClient) -> None:
        body = {"question": "Who waters the roses behind the shed?", "min_chance": 0.0}
        (hit,) = client.post("/search", json={**body_without_chance(body), "within": {"folders": ["garden"]}}).json()[
            "hits"
        ]
        assert hit["passage"]["document_id"] == "garden/roses.txt"
        answered = client.post("/ask", json={**body, "stream": False, "within": {"types": ["md"]}}).json()
        assert {hit["passage"]["document_id"] for hit in answered["hits"]} <= {"boiler.md"}
        assert answered["question"]["within"]["types"] == ["md"]
        events = dict(events_of(client.post("/ask", json={**body, "within": {"folders": ["garden"]}}).text))
        assert events["trace"]["answer"]["text"] == "Ivo"

    def test_two_questions_of_one_batch_keep_to_their_parts(self, client: TestClient) -> None:
        everywhere = client.post("/search", json={"question": "the shed and the boiler and the key"}).json()["hits"]
        assert len(everywhere) == 3
        inside = client.post("/search", json={"question": "the shed", "within": {"folders": ["keys.txt"]}}).json()
        assert [hit["passage"]["document_id"] for hit in inside["hits"]] in ([], ["keys.txt"])

    def test_where_nothing_fits_that_is_not_found(self, client: TestClient) -> None:
        problem = client.post("/ask", json={**BODY, "within": {"folders": ["nowhere"]}})
        assert problem.status_code == 404
        assert problem.json()["detail"].startswith("no document of the library is in nowhere;")

    @pytest.mark.parametrize(
        "within",
        [
            {"folders": ["/home/somebody"]},
            {"folders": ["~"]},
            {"folders": ["C:\\x"]},
            {"since": "May"},
            {"types": [""]},
            {"colour": "red"},
        ],
    )
    def test_a_place_on_the_servers_disk_and_nonsense_are_refused(
        self, client: TestClient, within: dict[str, Any]
    ) -> None:
        assert client.post("/search", json={**BODY, "within": within}).status_code == 422


def body_without_chance(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "min_chance"}
