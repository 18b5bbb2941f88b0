"""OpenAI's chat interface: completions, chunks, models, errors; and OpenAI's own client, where it is installed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from server.conftest import MakeClient
from server.stages import FailingReader
from server.test_engine import running
from wherefrom import Library
from wherefrom.pipeline import Pipeline
from wherefrom.server.app import create_app
from wherefrom.server.chat_messages import asked_of
from wherefrom.server.chat_shapes import ChatMessage

PATH = "/v1/chat/completions"
BOILER = {"role": "user", "content": "Who serviced the boiler?"}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "wherefrom", "messages": list(messages) or [BOILER], **more}


def chunks_of(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


class TestCompletions:
    def test_the_answer_stands_with_its_numbered_sources(self, client: TestClient) -> None:
        answered = client.post(PATH, json=body()).json()
        (choice,) = answered["choices"]
        assert choice["message"]["role"] == "assistant"
        assert choice["message"]["content"] == "Marta [1]\n\nSources:\n[1] The boiler (boiler.md)"
        assert choice["finish_reason"] == "stop"
        (source,) = answered["wherefrom"]["sources"]
        assert [(quote["text"], quote["start"], quote["end"]) for quote in source["quotes"]] == [("Marta", 27, 32)]
        assert answered["wherefrom"]["answer"] == "Marta"
        assert answered["object"] == "chat.completion"
        assert answered["id"].startswith("chatcmpl-")

    def test_usage_counts_wordpieces_of_what_came_and_went(self, client: TestClient) -> None:
        one = client.post(PATH, json=body()).json()["usage"]
        two = client.post(PATH, json=body({"role": "system", "content": "Be kind to people."}, BOILER)).json()["usage"]
        assert one["prompt_tokens"] == 5  # who serviced the boiler ?
        assert two["prompt_tokens"] == one["prompt_tokens"] + 5
        assert one["total_tokens"] == one["prompt_tokens"] + one["completion_tokens"]

    def test_a_refusal_says_plainly_that_the_library_does_not_know(self, client: TestClient) -> None:
        answered = client.post(PATH, json=body({"role": "user", "content": "What do zebras eat?"})).json()
        assert answered["choices"][0]["message"]["content"].startswith("I don't know: nothing in this library")
        assert answered["wherefrom"]["answer"] is None
        foreign = client.post(PATH, json=body({"role": "user", "content": "Qui a réparé la chaudière ?"})).json()
        assert foreign["choices"][0]["message"]["content"].startswith("I can't answer that: out of reach")

    def test_messages_are_a_conversation(self, client: TestClient) -> None:
        first = client.post(PATH, json=body({"role": "user", "content": "Who waters the roses?"})).json()
        reply = first["choices"][0]["message"]
        messages = [
            {"role": "user", "content": "Who waters the roses?"},
            reply,
            {"role": "user", "content": "and where do they grow?"},
        ]
        answered = client.post(PATH, json=body(*messages)).json()
        content = answered["choices"][0]["message"]["content"]
        assert content.startswith("*Understood as: Where do the roses grow?*\n\nbehind the shed [1]")
        assert answered["wherefrom"]["typed"] == "and where do they grow?"

    def test_parts_of_text_are_read_and_pictures_refused(self, client: TestClient) -> None:
        parts = [{"type": "text", "text": "Who serviced"}, {"type": "text", "text": "the boiler?"}]
        assert client.post(PATH, json=body({"role": "user", "content": parts})).json()["wherefrom"]["answer"] == "Marta"
        picture = [{"type": "image_url", "image_url": {"url": "data:,"}}]
        refused = client.post(PATH, json=body({"role": "user", "content": picture}))
        assert refused.status_code == 400
        assert "image_url are not read" in refused.json()["error"]["message"]

    def test_the_model_names_the_style_and_options_narrow(self, client: TestClient) -> None:
        whole = client.post(PATH, json={**body(), "model": "wherefrom-passage"}).json()
        assert whole["wherefrom"]["answer"] == "The boiler was serviced by Marta in May. It hums."
        part = {"style": "short", "k": 2, "min_chance": 0.0, "within": {"folders": ["garden"]}}
        roses = {"role": "user", "content": "Who waters the roses on Mondays?"}
        sources = client.post(PATH, json=body(roses, wherefrom=part)).json()["wherefrom"]["sources"]
        assert {source["document_id"] for source in sources} == {"garden/roses.txt"}
        elsewhere = {"style": "short", "within": {"folders": ["keys.txt"]}}
        assert client.post(PATH, json=body(roses, wherefrom=elsewhere)).json()["wherefrom"]["answer"] is None

    def test_what_shapes_free_text_changes_nothing(self, client: TestClient) -> None:
        more = {"temperature": 0.2, "max_tokens": 5, "stop": ["x"], "seed": 1, "user": "me", "tools": [], "n": 1}
        assert client.post(PATH, json=body(**more)).json()["wherefrom"]["answer"] == "Marta"


class TestChunks:
    def test_they_add_up_to_the_completion(self, client: TestClient) -> None:
        whole = client.post(PATH, json=body()).json()
        answered = client.post(PATH, json=body(stream=True, stream_options={"include_usage": True}))
        assert answered.headers["content-type"].startswith("text/event-stream")
        *chunks, last = chunks_of(answered.text)
        assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
        text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
        assert text == whole["choices"][0]["message"]["content"]
        assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
        assert chunks[-1]["wherefrom"] == whole["wherefrom"]
        assert (last["choices"], last["usage"]) == ([], whole["usage"])
        assert len({chunk["id"] for chunk in [*chunks, last]}) == 1

    def test_a_follow_up_is_said_as_understood_before_it_is_answered(self, client: TestClient) -> None:
        messages = [{"role": "user", "content": "Who waters the roses?"}, {"role": "assistant", "content": "Ivo"}]
        asked = body(*messages, {"role": "user", "content": "and where do they grow?"})
        whole = client.post(PATH, json=asked).json()["choices"][0]["message"]["content"]
        chunks = chunks_of(client.post(PATH, json={**asked, "stream": True}).text)
        assert chunks[1]["choices"][0]["delta"]["content"] == "*Understood as: Where do the roses grow?*\n\n"
        assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == whole

    def test_what_goes_wrong_in_the_middle_is_sent_as_an_error(self, client_with: MakeClient) -> None:
        def failing(pipeline: Pipeline) -> Pipeline:
            from dataclasses import replace

            return replace(pipeline, reader=FailingReader(pipeline.reader))

        question = {"role": "user", "content": "Will the boiler explode?"}
        text = client_with(failing).post(PATH, json=body(question, stream=True)).text
        last = json.loads(text.strip().split("\n\n")[-1].removeprefix("data: "))
        assert last["error"]["type"] == "server_error"
        assert "[DONE]" not in text


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "status", "code", "param"),
        [
            ({"model": "gpt-4o"}, 404, "model_not_found", None),
            ({"messages": []}, 400, "invalid", "messages"),
            ({"messages": [{"role": "user", "content": " "}]}, 400, "invalid_messages", "messages"),
            ({"messages": [{"role": "assistant", "content": "Hello"}]}, 400, "invalid_messages", "messages"),
            ({"messages": [{"role": "user", "content": "x" * 2001}]}, 400, "invalid_messages", "messages"),
            ({"messages": [{"role": "wizard", "content": "Hello"}]}, 400, "invalid", "messages.0.role"),
            ({"n": 2}, 400, "unsupported_parameter", "n"),
            ({"logprobs": True}, 400, "unsupported_parameter", "logprobs"),
            ({"response_format": {"type": "json_object"}}, 400, "unsupported_parameter", "response_format"),
            ({"wherefrom": {"style": "poem"}}, 400, "invalid", "wherefrom.style"),
            ({"wherefrom": {"within": {"folders": ["nowhere"]}}}, 404, "not_found", None),
        ],
    )
    def test_they_have_openais_form(
        self, client: TestClient, change: dict[str, Any], status: int, code: str, param: str | None
    ) -> None:
        answered = client.post(PATH, json={**body(), **change})
        assert answered.status_code == status
        error = answered.json()["error"]
        assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, param)
        assert error["message"]

    def test_other_addresses_and_methods_too(self, client: TestClient) -> None:
        assert client.post("/v1/embeddings", json={}).json()["error"]["code"] == "no_such_place"
        assert client.get(PATH).json()["error"]["code"] == "method_not_allowed"
        assert client.post(PATH, content=b"{", headers={"Content-Type": "application/json"}).json()["error"]["type"]

    def test_keys_are_bearers_and_reading_ones_suffice(self, client_with: MakeClient) -> None:
        client = client_with()
        keys = client.app.state.server.keys  # type: ignore[attr-defined]
        secret = keys.add("chat", "read")
        refused = client.post(PATH, json=body(), headers={"Authorization": "Bearer wf_wrong"})
        assert refused.status_code == 401
        assert refused.json()["error"]["type"] == "authentication_error"
        assert client.post(PATH, json=body(), headers={"Authorization": f"Bearer {secret}"}).status_code == 200
        assert client.get("/v1/models", headers={"Authorization": f"Bearer {secret}"}).status_code == 200


def test_models_are_the_styles(client: TestClient) -> None:
    listed = client.get("/v1/models").json()
    assert [model["id"] for model in listed["data"]] == [
        "wherefrom",
        "wherefrom-short",
        "wherefrom-sentence",
        "wherefrom-quote",
        "wherefrom-passage",
        "wherefrom-explain",
        "wherefrom-free",
    ]
    assert client.get("/v1/models/wherefrom-short").json()["object"] == "model"
    assert client.get("/v1/models/other").json()["error"]["code"] == "model_not_found"


def test_replies_are_read_back_into_turns() -> None:
    sources = "Sources:\n[1] Marie (Curie) (a.html, p. 2)\n[2] b"
    ours = f"*Understood as: When did Marie Curie die?*\n\n4 July [1] 1934 [2]\n\n{sources}"
    messages = [
        ChatMessage(role="system", content="Be brief."),
        ChatMessage(role="user", content="and when did she die?"),
        ChatMessage(role="assistant", content=ours),
        ChatMessage(role="user", content="who else?"),
        ChatMessage(role="assistant", content="I don't know: nothing in this library seems to answer that."),
        ChatMessage(role="user", content="why?"),
    ]
    question, turns = asked_of(messages)
    assert question == "why?"
    assert [(each.turn.question, each.turn.answer, each.turn.title, each.whole) for each in turns] == [
        ("When did Marie Curie die?", "4 July 1934", "Marie (Curie)", True),
        ("who else?", "", "", False),
    ]


def test_openais_own_client_talks_to_it(made_library: Any) -> None:
    openai = pytest.importorskip("openai", reason="OpenAI's client is not installed")
    with Library(made_library) as library, running(create_app(library)) as address:
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
        assert "wherefrom" in [model.id for model in client.models.list()]
        done = client.chat.completions.create(model="wherefrom", messages=[BOILER], temperature=0)
        assert done.choices[0].message.content.startswith("Marta [1]")
        assert done.usage.prompt_tokens == 5
        assert done.wherefrom["sources"][0]["document_id"] == "boiler.md"
        stream = client.chat.completions.create(
            model="wherefrom", messages=[BOILER], stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices).startswith(
            "Marta [1]"
        )
        assert chunks[-1].usage.total_tokens == done.usage.total_tokens
        with pytest.raises(openai.NotFoundError, match="there is no model"):
            client.chat.completions.create(model="gpt-4o", messages=[BOILER])
        with pytest.raises(openai.BadRequestError, match="n is not supported"):
            client.chat.completions.create(model="wherefrom", messages=[BOILER], n=2)
        client.close()
