"""MS MARCO question answering, v2.1 and v1.1: real search queries with about ten passages each.

Three layouts carry the same records: v2.1 as published is one JSON object of columns (`{"query": {"0": ...}}`),
v1.1 and the converted v2.1 are JSON lines, and samples are a JSON list. Lines are streamed; a column file has to
be held in memory as bytes (about its own size), but its records are made one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import DatasetError, Ids, RecordPlace, choice
from wherefrom.data.opening import Files, decoded, json_records, open_bytes, read_bytes, readable, split_file
from wherefrom.types import Question

FILES: Files = {
    "train": ("train_v2.1.json", "train_v2.1.jsonl", "train_v1.1.json"),
    "dev": ("dev_v2.1.json", "dev_v2.1.jsonl", "dev_v1.1.json"),
    "eval": ("eval_v2.1_public.json", "eval_public_v2.1.json", "eval_v2.1_public.jsonl", "test_public_v1.1.json"),
    "sample": ("ms_marco_sample.json",),
}
TEN_PASSAGES: Files = {"train": ("train.jsonl",), "valid": ("valid.jsonl",)}  # ours, by `wherefrom data ten-passages`
NO_ANSWER = "No Answer Present."
SUBSETS = ("ALL", "ANS", "NLG")  # all queries; those with an answer; those with a well-formed answer

_COLUMN_START = re.compile(rb'\s*\{\s*"\w+"\s*:\s*\{\s*"\d+"\s*:')  # {"answers": {"0":
_RUNS = re.compile(r"_{2,}|[?!]{2,}")


class _Passage(msgspec.Struct):
    passage_text: str
    is_selected: int | None = None  # the eval files hide it
    title: str = ""  # MS MARCO has none; the ten-passage set may


class _Passages(msgspec.Struct):
    """The passages of a query in columns, as the samples have them."""

    passage_text: list[str]
    is_selected: list[int] | None = None


class _Record(msgspec.Struct):
    query_id: int | str
    query: str
    passages: list[_Passage] | _Passages
    query_type: str = ""
    answers: list[str] | None = None  # None in the eval files
    well_formed: list[str] | str = msgspec.field(name="wellFormedAnswers", default_factory=list)


_COLUMNS = ("query_id", "query", "passages", "query_type", "answers", "wellFormedAnswers")
_NEEDED = ("query_id", "query", "passages")


def load(path: Path, split: str, *, clean: bool = False, subset: str = "ALL") -> Iterator[Example]:
    """MS MARCO; `sentences` are the well-formed answers, `kind` is the query type.

    With `clean`, as preast-qa 5.1.1: an answer without a selected passage, or a selected passage without an
    answer, drops the query; repeated passages and answers are taken once; runs of `_`, and of `?` and `!`, in the
    query shrink to their first mark. `subset` keeps the queries of one of the nested sets ALL, ANS and NLG.
    """
    choice("subset", subset, SUBSETS)
    return _examples(split_file(path, split, FILES), clean, subset)


def load_ten_passages(path: Path, split: str, *, subset: str = "ALL") -> Iterator[Example]:
    """The ten-passage set that `wherefrom data ten-passages` builds; its labels need no cleaning."""
    choice("subset", subset, SUBSETS)
    return _examples(split_file(path, split, TEN_PASSAGES), clean=False, subset=subset)


def _examples(path: Path, clean: bool, subset: str) -> Iterator[Example]:
    ids = Ids()
    for place, record in _records(path):
        example = _example(record, ids.once(str(record.query_id), place, "query_id"), place)
        if clean:
            example = _deduplicated(example)
            if example.relevant and any(example.relevant) != bool(example.answers):
                continue
        if (subset == "ANS" and not example.answers) or (subset == "NLG" and not example.sentences):
            continue
        yield example


def _example(record: _Record, id: str, place: RecordPlace) -> Example:
    texts, selected = _passages(record, place)
    answers = _present(record.answers or [])
    return Example(
        Question(id, record.query),
        tuple(
            whole(f"{id}#{index}", text, title)
            for index, (text, title) in enumerate(zip(texts, _titles(record), strict=True))
        ),
        selected,
        answers=answers,
        sentences=_present(_well_formed(record, place)),
        answerable=None if record.answers is None else bool(answers),
        kind=record.query_type.lower(),
    )


def _passages(record: _Record, place: RecordPlace) -> tuple[list[str], tuple[bool, ...]]:
    if isinstance(record.passages, _Passages):
        texts, labels = record.passages.passage_text, record.passages.is_selected
        if labels is not None and len(labels) != len(texts):
            raise place.fault(f"passages.is_selected: expected {len(texts)} labels, not {len(labels)}")
        known = labels or []
    else:
        texts = [passage.passage_text for passage in record.passages]
        known = [passage.is_selected for passage in record.passages if passage.is_selected is not None]
        if known and len(known) != len(texts):
            raise place.fault(f"passages: expected is_selected on all {len(texts)}, found it on {len(known)}")
    for label in known:
        if label not in (0, 1):
            raise place.fault(f"passages.is_selected: expected 0 or 1, not {label}")
    return texts, tuple(label == 1 for label in known)


def _titles(record: _Record) -> list[str]:
    if isinstance(record.passages, _Passages):
        return [""] * len(record.passages.passage_text)
    return [passage.title for passage in record.passages]


def _well_formed(record: _Record, place: RecordPlace) -> list[str]:
    """The list; the official files write an empty one as the text `[]`."""
    if isinstance(record.well_formed, list):
        return record.well_formed
    if record.well_formed.strip() not in ("[]", ""):
        raise place.fault(f"wellFormedAnswers: expected a list or the text '[]', not {record.well_formed!r}")
    return []


def _present(answers: list[str]) -> tuple[str, ...]:
    return tuple(answer for answer in answers if answer.strip() and answer.strip() != NO_ANSWER)


def _deduplicated(example: Example) -> Example:
    """Each passage and answer once, a passage being selected if any of its copies is; the query without runs."""
    selected: dict[str, bool] = {}
    for index, passage in enumerate(example.passages):
        label = bool(example.relevant) and example.relevant[index]
        selected[passage.text] = selected.get(passage.text, False) or label
    id = example.question.id
    return replace(
        example,
        question=Question(id, _RUNS.sub(lambda run: run[0][0], example.question.text)),
        passages=tuple(whole(f"{id}#{index}", text) for index, text in enumerate(selected)),
        relevant=tuple(selected.values()) if example.relevant else (),
        answers=tuple(dict.fromkeys(example.answers)),
        sentences=tuple(dict.fromkeys(example.sentences)),
    )


# Layouts.


def _records(path: Path) -> Iterator[tuple[RecordPlace, _Record]]:
    with readable(path), open_bytes(path) as handle:
        in_columns = _COLUMN_START.match(handle.read(4096)) is not None
    return _column_records(path) if in_columns else json_records(path, _Record)


def _column_records(path: Path) -> Iterator[tuple[RecordPlace, _Record]]:
    whole_file = decoded(read_bytes(path), dict[str, msgspec.Raw], path)
    for name in _NEEDED:
        if name not in whole_file:
            raise DatasetError(f"{path}: expected a column {name}; there are {', '.join(whole_file)}")
    columns = {name: decoded(whole_file[name], dict[str, msgspec.Raw], path) for name in _COLUMNS if name in whole_file}
    decoder = msgspec.json.Decoder(_Record)
    for number, key in enumerate(columns["query"], start=1):
        place = RecordPlace(path, number, "record")
        for name, column in columns.items():
            if key not in column:
                raise place.fault(f"{name}: expected an entry {key!r}, as in the column query")
        fields = (b'"%s":%s' % (name.encode(), bytes(column[key])) for name, column in columns.items())
        yield place, decoded(b"{" + b",".join(fields) + b"}", decoder, place)
