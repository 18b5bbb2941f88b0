"""QMSum: summaries of meetings around a query, with the turns that each summary rests on.

Zhong et al. 2021; 162 / 35 / 35 meetings. Every turn is a passage, titled with its speaker; or, where they are asked
for, every topic that people marked. A general query asks for the whole meeting and labels no turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example
from wherefrom.data.faults import Ids, RecordPlace
from wherefrom.data.opening import Files, json_records, split_file
from wherefrom.types import Passage, Question

FILES: Files = {split: (f"{split}.jsonl",) for split in ("train", "val", "test")}


class _Turn(msgspec.Struct):
    speaker: str
    content: str


class _Topic(msgspec.Struct):
    topic: str
    spans: list[tuple[int, int]] = msgspec.field(name="relevant_text_span", default_factory=list)


class _Query(msgspec.Struct):
    query: str
    answer: str
    spans: list[tuple[int, int]] = msgspec.field(name="relevant_text_span", default_factory=list)  # both ends included


class _Meeting(msgspec.Struct):
    general_query_list: list[_Query]
    specific_query_list: list[_Query]
    meeting_transcripts: list[_Turn]
    meeting: str = ""  # not in the first release
    topic_list: list[_Topic] = msgspec.field(default_factory=list)


def load(path: Path, split: str, *, topics: bool = False) -> Iterator[Example]:
    """QMSum, an example a query; `kind` is general or specific, `article` the meeting.

    With `topics` a passage is a topic, a paragraph a turn with its speaker before it, and no passage is labelled; turns
    between two topics are a passage of their own.
    """
    return _examples(split_file(path, split, FILES), topics)


def _examples(path: Path, topics: bool) -> Iterator[Example]:
    ids = Ids()
    for place, meeting in json_records(path, _Meeting, strict=False):  # turn numbers are written as text: "14"
        name = ids.distinct(meeting.meeting or f"meeting-{place.number}")
        turns = tuple(
            Passage(f"{name}#{index}", name, turn.content, 0, len(turn.content), turn.speaker)
            for index, turn in enumerate(meeting.meeting_transcripts)
        )
        passages = _topics(name, meeting, place) if topics else turns
        for kind, queries in (("general", meeting.general_query_list), ("specific", meeting.specific_query_list)):
            for number, query in enumerate(queries, start=1):
                yield Example(
                    Question(f"{name}-{kind}-{number}", query.query.strip()),
                    passages,
                    () if topics else _relevant(query.spans, len(turns), place),
                    summaries=(query.answer.strip(),),
                    kind=kind,
                    article=name,
                )


def _relevant(spans: Sequence[tuple[int, int]], turns: int, place: RecordPlace) -> tuple[bool, ...]:
    labels = [False] * turns
    for first, last in spans:
        if not 0 <= first <= last < turns:
            raise place.fault(f"relevant_text_span: expected turns from 0 to {turns - 1}, not {first} to {last}")
        labels[first : last + 1] = [True] * (last + 1 - first)
    return tuple(labels) if spans else ()


def _topics(name: str, meeting: _Meeting, place: RecordPlace) -> tuple[Passage, ...]:
    """Neighbouring turns of one topic together, or of none; of two topics that share a turn the later one has it."""
    turns = meeting.meeting_transcripts
    topic_of = [-1] * len(turns)
    for number, topic in enumerate(meeting.topic_list):
        for turn, marked in enumerate(_relevant(topic.spans, len(turns), place)):
            topic_of[turn] = number if marked else topic_of[turn]
    passages: list[Passage] = []
    for number, group in groupby(range(len(turns)), key=topic_of.__getitem__):
        text = "\n\n".join(f"{turns[turn].speaker}: {turns[turn].content}" for turn in group)
        title = meeting.topic_list[number].topic if number >= 0 else ""
        passages.append(Passage(f"{name}#{len(passages)}", name, text, 0, len(text), title))
    return tuple(passages)
