"""MS MARCO in its three layouts, cleaned and not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from dataset_checks import json_lines, sound, text

from wherefrom.data import msmarco
from wherefrom.data.faults import DatasetError
from wherefrom.errors import SettingsError


def record(id: int, **changes: Any) -> dict[str, Any]:
    passages = [
        {"is_selected": 0, "passage_text": f"Rain falls on {id}.", "url": "http://a.example"},
        {"is_selected": 1, "passage_text": f"Snow falls on {id} ☃.", "url": "http://b.example"},
    ]
    return {
        "answers": [f"Snow on {id}"],
        "passages": passages,
        "query": f"what falls on {id}",
        "query_id": id,
        "query_type": "DESCRIPTION",
        "wellFormedAnswers": [f"Snow falls on {id}."],
    } | changes


def columns(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """v2.1 as published: a column a field, rows by number."""
    return {name: {str(row): record[name] for row, record in enumerate(records)} for name in records[0]}


RECORDS = [
    record(7),
    record(8, answers=["No Answer Present."], wellFormedAnswers="[]"),
    record(9, answers=["Snow", "Sleet"], wellFormedAnswers=[], query_type="ENTITY"),
]


def test_all_layouts_give_the_same_examples(tmp_path: Path) -> None:
    text(tmp_path / "columns.json", json.dumps(columns(RECORDS)))
    text(tmp_path / "indented.json", json.dumps(columns(RECORDS), indent=1))
    json_lines(tmp_path / "lines.json", RECORDS)
    text(tmp_path / "list.json", json.dumps(RECORDS, indent=2))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(json.dumps(columns(RECORDS)).encode()))
    in_columns = [
        passages
        | {
            "passages": {
                key: [passage[key] for passage in passages["passages"]] for key in ("is_selected", "passage_text")
            }
        }
        for passages in RECORDS
    ]
    json_lines(tmp_path / "sample.json", in_columns)
    first, *others = (sound(lambda file=file: msmarco.load(file, "")) for file in sorted(tmp_path.iterdir()))
    assert len(others) == 5
    assert all(other == first for other in others)


def test_what_a_record_becomes(tmp_path: Path) -> None:
    json_lines(tmp_path / "train_v2.1.json", RECORDS)
    answered, unanswered, many = sound(lambda: msmarco.load(tmp_path, "train"))
    assert (answered.question.id, answered.question.text, answered.kind) == ("7", "what falls on 7", "description")
    assert (answered.answers, answered.sentences, answered.answerable) == (("Snow on 7",), ("Snow falls on 7.",), True)
    assert answered.relevant == (False, True)
    assert answered.passages[1].text == "Snow falls on 7 ☃."
    assert (unanswered.answers, unanswered.sentences, unanswered.answerable) == ((), (), False)
    assert (many.answers, many.sentences, many.kind) == (("Snow", "Sleet"), (), "entity")


def test_eval_files_hide_the_golds(tmp_path: Path) -> None:
    hidden = {name: value for name, value in record(7).items() if name not in ("answers", "wellFormedAnswers")}
    hidden["passages"] = [{"passage_text": "Rain."}]
    json_lines(tmp_path / "eval_v2.1_public.json", [hidden])
    for clean in (False, True):
        (example,) = sound(lambda clean=clean: msmarco.load(tmp_path, "eval", clean=clean))
        assert (example.answers, example.relevant, example.answerable) == ((), (), None)


def test_v1_writes_no_answer_as_an_empty_list(tmp_path: Path) -> None:
    old = {name: value for name, value in record(7, answers=[]).items() if name != "wellFormedAnswers"}
    json_lines(tmp_path / "dev_v1.1.json", [old])
    (example,) = sound(lambda: msmarco.load(tmp_path, "dev"))
    assert (example.answers, example.answerable) == ((), False)


def test_subsets_are_nested(tmp_path: Path) -> None:
    json_lines(tmp_path / "dev_v2.1.json", RECORDS)
    ids = {
        subset: [example.question.id for example in msmarco.load(tmp_path, "dev", subset=subset)]
        for subset in ("ALL", "ANS", "NLG")
    }
    assert ids == {"ALL": ["7", "8", "9"], "ANS": ["7", "9"], "NLG": ["7"]}
    with pytest.raises(SettingsError, match="subset knows no 'NLF'; did you mean NLG"):
        msmarco.load(tmp_path, "dev", subset="NLF")


def test_cleaning_drops_contradictions_and_repetitions(tmp_path: Path) -> None:
    repeated = [
        {"is_selected": 0, "passage_text": "Snow."},
        {"is_selected": 0, "passage_text": "Rain."},
        {"is_selected": 1, "passage_text": "Snow."},
    ]
    unselected = [{"is_selected": 0, "passage_text": "Rain."}]
    json_lines(
        tmp_path / "train_v2.1.json",
        [
            record(1, passages=repeated, answers=["Snow", "Snow"], wellFormedAnswers=["It snows.", "It snows."]),
            record(2, passages=unselected),  # an answer, and no passage that gives it
            record(3, answers=["No Answer Present."], wellFormedAnswers="[]"),  # a passage that gives no answer
            record(4, passages=unselected, answers=["No Answer Present."], wellFormedAnswers="[]"),
            record(5, query="____ is snow??? really!! a_b what?!?!"),
        ],
    )
    assert len(list(msmarco.load(tmp_path, "train"))) == 5
    once, unanswered, quiet = sound(lambda: msmarco.load(tmp_path, "train", clean=True))
    assert [passage.text for passage in once.passages] == ["Snow.", "Rain."]
    assert (once.relevant, once.answers, once.sentences) == ((True, False), ("Snow",), ("It snows.",))
    assert (unanswered.question.id, unanswered.answerable) == ("4", False)
    assert quiet.question.text == "_ is snow? really! a_b what?"


def lines(*records: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, records))


SELECTED = {"is_selected": 1, "passage_text": "a"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lines(record(1), record(1)), r"line 2: query_id '1' came before"),
        (lines(record(1, wellFormedAnswers="none")), r"line 1: wellFormedAnswers: expected a list or the text '\[\]'"),
        (lines(record(1, passages=[SELECTED | {"is_selected": 2}])), "is_selected: expected 0 or 1, not 2"),
        (lines(record(1, passages=[SELECTED, {"passage_text": "b"}])), "expected is_selected on all 2, found it on 1"),
        (lines(record(1, passages={"is_selected": [0], "passage_text": ["a", "b"]})), "expected 2 labels, not 1"),
        (lines(record(1, query=None)), r"Expected `str`, got `null` - at `\$\.query`"),
        (lines(record(1))[:-9], "line 1: Input data was truncated"),
        (lines({"query": {"0": "q"}, "query_id": {"0": 1}}), "expected a column passages; there are query, query_id"),
        (lines(columns(RECORDS) | {"answers": {"0": ["a"], "1": ["b"]}}), "record 3: answers: expected an entry '2'"),
        (lines(columns([record(1), record(2, query=5)])), r"record 2: Expected `str`, got `int` - at `\$\.query`"),
    ],
)
def test_wrong_files_say_what_and_where(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        list(msmarco.load(text(tmp_path / "train_v2.1.json", content), "train"))
