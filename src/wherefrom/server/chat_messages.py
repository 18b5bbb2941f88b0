"""Messages of a chat client to turns of a conversation, and an answer with its sources back to a message.

    *Understood as: When did Marie Curie die?*          where that is not what was typed

    4 July 1934 [1]

    Sources:
    [1] Marie Curie (people/marie-curie.html)

A client sends such messages back with the next question: what was understood and answered is read out of them again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wherefrom.reasons import offered
from wherefrom.server.chat_shapes import ChatMessage, CitedReply, CitedSource
from wherefrom.types import Answer, Passage, Trace, Turn

LONGEST_QUESTION = 2000  # characters
_UNDERSTOOD = re.compile(r"^\*Understood as: (?P<question>[^\n]+)\*\n\n")
_SOURCES = re.compile(r"\n\nSources:\n(?P<list>\[1\][^\n]*(?:\n[^\n]*)*)$")
_FIRST = re.compile(r"^\[1\] (?P<title>.*?)(?: \([^()\n]*\))?$", re.MULTILINE)
_MARK = re.compile(r" ?\[\d+\]")
_UNKNOWN = "I don't know"
_BEYOND = "I can't answer that"


class BadMessages(ValueError):
    """Messages that hold no question; `where` is the parameter that is wrong."""

    def __init__(self, message: str, where: str = "messages") -> None:
        super().__init__(message)
        self.where = where


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """An earlier question as the client sends it back."""

    turn: Turn
    whole: bool  # the question is known to be whole: our own message said how it was understood


def asked_of(messages: Sequence[ChatMessage]) -> tuple[str, list[ChatTurn]]:
    """The question, and the turns before it, oldest first."""
    last = messages[-1]
    if last.role != "user":
        raise BadMessages(f"the last message must be the user's question, not of the role {last.role}")
    question = text_of(last)
    if not question.strip():
        raise BadMessages("the last message holds no text to answer")
    if len(question) > LONGEST_QUESTION:
        raise BadMessages(
            f"a question may have {LONGEST_QUESTION} characters, not {len(question)}; ask for less at once"
        )
    turns: list[ChatTurn] = []
    for place, message in enumerate(messages[:-1]):
        text = text_of(message) if message.role == "user" else ""
        if not text.strip() or len(text) > LONGEST_QUESTION:
            continue
        reply = messages[place + 1]
        turns.append(_turn(text.strip(), text_of(reply) if reply.role == "assistant" else ""))
    return question.strip(), turns


def text_of(message: ChatMessage) -> str:
    """The text of a message; other parts, such as pictures, are refused where they are the user's."""
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    others = {part.type for part in message.content} - {"text", "input_text", "output_text", "refusal"}
    if others and message.role == "user":
        raise BadMessages(f"questions are text; parts of the type {', '.join(sorted(others))} are not read")
    return "\n".join(part.text or "" for part in message.content)


def _turn(question: str, reply: str) -> ChatTurn:
    understood = _UNDERSTOOD.match(reply)
    rest = reply[understood.end() :] if understood else reply
    sources = _SOURCES.search(rest)
    text = rest[: sources.start()] if sources else rest
    first = _FIRST.match(sources["list"]) if sources else None
    answer = "" if text.startswith((_UNKNOWN, _BEYOND)) else _MARK.sub("", text).strip()
    turn = Turn(understood["question"] if understood else question, answer, first["title"] if first else "")
    return ChatTurn(turn, understood is not None)


def understood_line(question: str, typed: str) -> str:
    """What is said before an answer to a follow-up; empty where it was taken as it was typed."""
    return f"*Understood as: {question}*\n\n" if typed else ""


def reply_of(trace: Trace) -> tuple[str, CitedReply]:
    """The text behind `understood_line`, and the same in parts."""
    answer = trace.answer
    assert answer is not None
    sources = _sources(answer)
    cited = CitedReply(
        question=trace.question.text,
        typed=trace.question.typed,
        instead=list(trace.question.instead),
        answer=answer.text,
        chance=answer.chance,
        style=answer.style,
        reason=answer.reason,
        sources=sources,
    )
    if answer.reason:
        return f"{_BEYOND}: {answer.reason}.", cited
    if answer.text is None:
        nearest = list(dict.fromkeys(hit.passage.title or hit.passage.document_id for hit in trace.hits))[:3]
        near = f"\n\nNearest: {'; '.join(nearest)}" if nearest else ""
        if perhaps := offered(trace):
            source = perhaps.passage.title or perhaps.passage.document_id
            near = f"\n\nPerhaps, but too unsure to be called an answer: {perhaps.text} ({source})"
        return f"{_UNKNOWN}: nothing in this library seems to answer that.{near}", cited
    listed = "".join(f"\n[{source.number}] {_named(source)}" for source in sources)
    return marked(answer, sources) + (f"\n\nSources:{listed}" if listed else ""), cited


def marked(answer: Answer, sources: Sequence[CitedSource]) -> str:
    """The answer, with the number of its source behind each stretch of words."""
    numbers = {source.passage_id: source.number for source in sources}
    parts: list[str] = []
    for place, word in enumerate(answer.words):
        parts.append(word.space + word.text)
        number = numbers.get(word.passage_id or "") if word.source == "passage" else None
        following = answer.words[place + 1] if place + 1 < len(answer.words) else None
        if number and (following is None or following.passage_id not in (word.passage_id, None)):
            parts.append(f" [{number}]")
    text = "".join(parts)
    if answer.rests_on and sources:
        text += f" [{sources[0].number}]"
    return text if re.search(r"\[\d+\]", text) or not sources else f"{text} [1]"


def _named(source: CitedSource) -> str:
    file = f"{source.document_id}, {source.place}" if source.place else source.document_id
    return " ".join((f"{source.title} ({file})" if source.title else file).split())


def _sources(answer: Answer) -> list[CitedSource]:
    """The passages of the evidence, in the order in which the answer comes to them."""
    every = {passage.id: passage for passage in answer.evidence}
    order = [word.passage_id for word in (*answer.words, *answer.rests_on) if word.passage_id in every]
    passages = [every[id] for id in dict.fromkeys([*order, *every]) if id is not None]
    return [_source(number, passage, answer) for number, passage in enumerate(passages, start=1)]


def _source(number: int, passage: Passage, answer: Answer) -> CitedSource:
    quotes: list[tuple[int, int]] = []
    places = [
        (word.start, word.end)
        for word in (*answer.words, *answer.rests_on)
        if word.passage_id == passage.id and word.start is not None and word.end is not None
    ]
    for start, end in sorted(set(places)):
        if quotes and not passage.text[quotes[-1][1] : start].strip():
            quotes[-1] = (quotes[-1][0], max(end, quotes[-1][1]))
        else:
            quotes.append((start, end))
    return CitedSource(
        number=number,
        document_id=passage.document_id,
        title=passage.title,
        place=passage.place_of(*(quotes[0] if quotes else (0, 1))),
        passage_id=passage.id,
        text=passage.text,
        quotes=[
            {"text": passage.text[start:end], "start": passage.start + start, "end": passage.start + end}
            for start, end in quotes
        ],
    )
