"""QMSum: summaries of meetings around a query, with the turns that each summary rests on.

Zhong et al. 2021; 162 / 35 / 35 meetings. Every turn is a passage, titled with its speaker. A general query asks for
the whole meeting and labels no turns.
"""

from __future__ import annotations

from collections.abc import Iterator
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


class _Query(msgspec.Struct):
    query: str
    answer: str
    spans: list[tuple[int, int]] = msgspec.field(name="relevant_text_span", default_factory=list)  # both ends included


class _Meeting(msgspec.Struct):
    general_query_list: list[_Query]
    specific_query_list: list[_Query]
    meeting_transcripts: list[_Turn]
    meeting: str = ""  # not in the first release


def load(path: Path, split: str) -> Iterator[Example]:
    """QMSum, an example a query; `kind` is general or specific, `article` the meeting."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    ids = Ids()
    for place, meeting in json_records(path, _Meeting, strict=False):  # turn numbers are written as text: "14"
        name = ids.distinct(meeting.meeting or f"meeting-{place.number}")
        turns = tuple(
            Passage(f"{name}#{index}", name, turn.content, 0, len(turn.content), turn.speaker)
            for index, turn in enumerate(meeting.meeting_transcripts)
        )
        for kind, queries in (("general", meeting.general_query_list), ("specific", meeting.specific_query_list)):
            for number, query in enumerate(queries, start=1):
                yield Example(
                    Question(f"{name}-{kind}-{number}", query.query.strip()),
                    turns,
                    _relevant(query, len(turns), place),
                    summaries=(query.answer.strip(),),
                    kind=kind,
                    article=name,
                )


def _relevant(query: _Query, turns: int, place: RecordPlace) -> tuple[bool, ...]:
    labels = [False] * turns
    for first, last in query.spans:
        if not 0 <= first <= last < turns:
            raise place.fault(f"relevant_text_span: expected turns from 0 to {turns - 1}, not {first} to {last}")
        labels[first : last + 1] = [True] * (last + 1 - first)
    return tuple(labels) if query.spans else ()
