"""What `/v1/chat/completions` and `/v1/models` take and give, as OpenAI's clients expect it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from wherefrom.server.shapes import Passages, Within
from wherefrom.types import STYLES, Style

MODEL = "wherefrom"
MODELS = (MODEL, *(f"{MODEL}-{style}" for style in STYLES))
MOST_MESSAGES = 400  # of a conversation; the last few questions are looked at

_Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
_Short = Annotated[str, StringConstraints(max_length=200)]


class ContentPart(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    type: _Short
    text: str | None = None


class ChatMessage(BaseModel):
    """Of `system` and `tool` messages nothing is read: answers come from the library alone."""

    model_config = ConfigDict(extra="allow", strict=True)

    role: _Role
    content: str | list[ContentPart] | None = None


class ChatOptions(BaseModel):
    """What this server knows beyond OpenAI's parameters; `extra_body={"wherefrom": {...}}` in OpenAI's client."""

    model_config = ConfigDict(extra="forbid", strict=True)

    style: Style | None = None
    k: Passages | None = None
    min_chance: float | None = Field(None, ge=0.0, le=1.0, allow_inf_nan=False)
    within: Within | None = None


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A conversation whose last message is the question.

    Parameters that shape free text (temperature, max_tokens, stop, seed, tools ...) change nothing here and are
    ignored; those that demand what there is not are refused.
    """

    model_config = ConfigDict(
        extra="allow",
        strict=True,
        json_schema_extra={
            "examples": [
                {"model": MODEL, "messages": [{"role": "user", "content": "When did Iceland become a republic?"}]}
            ]
        },
    )

    model: _Short
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    wherefrom: ChatOptions | None = None


class ReplyMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class ReplyChoice(BaseModel):
    index: int = 0
    message: ReplyMessage
    finish_reason: Literal["stop"] = "stop"
    logprobs: None = None


class TokenUsage(BaseModel):
    """In wordpieces of our own networks: of all messages as they were sent, and of the reply."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class CitedSource(BaseModel):
    """One numbered source; `quotes` are the characters of the document that the answer rests on."""

    number: int
    document_id: str
    title: str
    place: str = Field(description="In its file: page, slide, sheet and row, headings; empty where none is known.")
    passage_id: str
    text: str
    quotes: list[dict[str, Any]] = Field(description="text, start, end: `document[start:end] == text`.")


class CitedReply(BaseModel):
    """What OpenAI's format has no place for."""

    question: str = Field(description="As it was understood.")
    typed: str = Field(description="The follow-up as it was typed; empty where it is the question.")
    instead: list[str] = Field(description="Other meanings of it that were tried.")
    answer: str | None = Field(description="Without numbers and sources; null where the library does not know.")
    chance: float
    style: Style
    reason: str
    sources: list[CitedSource]


class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ReplyChoice]
    usage: TokenUsage
    system_fingerprint: str
    wherefrom: CitedReply


class ModelOut(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["wherefrom"] = "wherefrom"


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelOut]


class ChatErrorBody(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class ChatError(BaseModel):
    """An error as OpenAI's clients read it."""

    error: ChatErrorBody
